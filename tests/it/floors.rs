//! The detector's score, compared with reference rules of the kind that agents ship with, and without each of its
//! rules.
//!
//! `cargo test --test it floors -- --nocapture` prints the tables. `LOOPWARDEN_SCENARIOS=FILE` adds a scenario file
//! from outside the project. All figures are for the default configuration: scenarios with a configuration of their
//! own, or that require a stronger level than `nudge`, are left out.

use crate::labelled::{Labelled, Reached, labelled_corpus, labelled_file, reached};
use crate::reference::{Reference, alarm};
use loopwarden::rules;
use std::env;
use std::path::Path;

/// A rule's results on a set of scenarios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Score {
    /// Loops with an alarm, at any event.
    caught: usize,
    /// Loops with an alarm by the event that the scenario requires.
    in_time: usize,
    loops: usize,
    false_alarms: usize,
    honest: usize,
}

impl Score {
    fn add(&mut self, scenario: &Labelled, alarm: Option<usize>) {
        if !scenario.is_loop {
            self.honest += 1;
            self.false_alarms += usize::from(alarm.is_some());
            return;
        }
        self.loops += 1;
        self.caught += usize::from(alarm.is_some());
        let wanted = scenario.raw.expect_at.unwrap_or(usize::MAX);
        self.in_time += usize::from(alarm.is_some_and(|at| at <= wanted));
    }

    fn of<'a>(scenarios: impl IntoIterator<Item = &'a Labelled>, alarm: impl Fn(&Labelled) -> Option<usize>) -> Self {
        let mut score = Self::default();
        for scenario in scenarios {
            score.add(scenario, alarm(scenario));
        }
        score
    }

    fn row(&self, name: &str) -> String {
        let Self { caught, in_time, loops, false_alarms, honest } = self;
        format!(
            "{name:<22} caught {caught:>3} of {loops}, {in_time:>3} of them in time; false {false_alarms:>3} of {honest}"
        )
    }
}

fn by_default(scenario: &Labelled) -> bool {
    scenario.raw.config.is_none() && scenario.raw.min_level.is_none()
}

/// The sets of scenarios that are scored separately.
fn sets() -> Vec<(String, Vec<Labelled>)> {
    let (field, own): (Vec<_>, Vec<_>) =
        labelled_corpus().into_iter().filter(by_default).partition(|scenario| scenario.file.starts_with("field-"));
    let mut sets = vec![("field reports".to_owned(), field), ("the rest of the corpus".to_owned(), own)];
    if let Some(path) = env::var_os("LOOPWARDEN_SCENARIOS") {
        let path = Path::new(&path);
        let mut more = labelled_file(path);
        more.retain(by_default);
        sets.push((path.display().to_string(), more));
    }
    sets
}

fn nudge(reached: &Reached) -> Option<usize> {
    reached.nudge.as_ref().map(|(at, _)| *at)
}

fn block(reached: &Reached) -> Option<usize> {
    reached.block.as_ref().map(|(at, _)| *at)
}

#[test]
fn no_reference_rule_does_better() {
    for (name, scenarios) in sets() {
        let ours = Score::of(&scenarios, |scenario| nudge(&reached(&scenario.events, "")));
        println!("{name}\n  {}", ours.row("loopwarden, nudge"));
        println!(
            "  {}",
            Score::of(&scenarios, |scenario| block(&reached(&scenario.events, ""))).row("loopwarden, block")
        );
        for rule in Reference::ALL {
            let theirs = Score::of(&scenarios, |scenario| alarm(rule, &scenario.events));
            println!("  {}", theirs.row(rule.name()));
            assert!(
                ours.caught >= theirs.caught && ours.in_time >= theirs.in_time,
                "{name}: {} catches more",
                rule.name()
            );
            assert!(ours.false_alarms <= theirs.false_alarms, "{name}: {} has fewer false alarms", rule.name());
            // A baseline that catches nothing would hold whatever the detector did.
            assert!(theirs.caught > 0, "{name}: {} is not what it is named after", rule.name());
        }
    }
}

/// The score on the scenarios from field reports, for which nothing had been tuned, must not decline. What each missed
/// one lacks is noted in its file as `knownMiss`.
#[test]
fn the_field_reports_keep_their_score() {
    let scenarios: Vec<Labelled> =
        labelled_corpus().into_iter().filter(|scenario| scenario.file.starts_with("field-")).collect();
    let config = |scenario: &Labelled| scenario.raw.config.clone().unwrap_or_default();
    let nudges = Score::of(&scenarios, |scenario| nudge(&reached(&scenario.events, &config(scenario))));
    let blocks = Score::of(&scenarios, |scenario| block(&reached(&scenario.events, &config(scenario))));
    println!("{}\n{}", nudges.row("nudge"), blocks.row("block"));
    assert_eq!((nudges.loops, nudges.honest), (129, 115));
    assert!(nudges.in_time >= 120 && nudges.caught >= 122 && nudges.false_alarms <= 4, "{nudges:?}");
    assert!(blocks.caught >= 90 && blocks.false_alarms <= 1, "{blocks:?}");
}

/// The worth of each rule: the loops missed, and the false alarms avoided, if only this rule is off.
#[test]
fn every_rule_is_worth_something() {
    let mut worth = 0;
    for (name, scenarios) in sets() {
        println!("{name}: rule switched off | loops no longer nudged | no longer blocked | false alarms gone");
        let whole: Vec<Reached> = scenarios.iter().map(|scenario| reached(&scenario.events, "")).collect();
        for rule in rules() {
            let config = format!(r#"{{"rules":{{"{}":{{"enabled":false}}}}}}"#, rule.id);
            let (mut nudges, mut blocks, mut gone) = (Vec::new(), 0, 0);
            for (scenario, with) in scenarios.iter().zip(&whole) {
                // Without a finding of this rule, turning it off changes nothing.
                if !with.rules.contains(rule.id) {
                    continue;
                }
                let without = reached(&scenario.events, &config);
                if scenario.is_loop {
                    if nudge(with).is_some() && nudge(&without).is_none() {
                        nudges.push(scenario.raw.id.as_str());
                    }
                    blocks += usize::from(block(with).is_some() && block(&without).is_none());
                } else {
                    gone += usize::from(nudge(with).is_some() && nudge(&without).is_none());
                }
            }
            if nudges.len() + blocks + gone > 0 {
                println!("  {:<22} {:>3} {blocks:>3} {gone:>3}  {}", rule.id, nudges.len(), nudges.join(" "));
            }
            worth += nudges.len();
        }
    }
    assert!(worth >= 40, "only {worth} loops depend on one rule");
}
