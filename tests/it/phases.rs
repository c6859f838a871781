//! Phases and transitions through the public API: every mechanism, message and worked example of the document about
//! loop prevention, and the definition of oscillation that replaces its palindromes.

use loopwarden::model::{
    Body, Context, Decision, Event, Level, Recommendation, ResetReason, Scope, Transition, Verdict,
};
use loopwarden::{Detector, json};

/// The events of transitions such as `implement→test`; `→plan` enters a phase from nowhere.
fn events(task: &str, transitions: &str) -> Vec<String> {
    let event = |transition: &str| {
        let (from, to) = transition.split_once('→').unwrap();
        let from = if from.is_empty() { String::new() } else { format!(r#""from":"{from}","#) };
        format!(r#"{{"type":"transition","task":"{task}",{from}"to":"{to}"}}"#)
    };
    transitions.split_whitespace().map(event).collect()
}

fn record(detector: &mut Detector, task: &str, transitions: &str) -> Vec<Verdict> {
    let events = events(task, transitions);
    events.iter().map(|event| detector.record(&json::event(event).unwrap()).unwrap()).collect()
}

fn check(detector: &Detector, task: &str, transition: &str) -> Verdict {
    detector.check(&json::event(&events(task, transition)[0]).unwrap()).unwrap()
}

/// The number, from 1, of the first transition that is refused, and the reason.
fn refused(config: &str, transitions: &str) -> Option<(usize, String)> {
    let verdicts = record(&mut json::detector(config).unwrap(), "issue", transitions);
    let index = verdicts.iter().position(|verdict| verdict.level >= Level::Block)?;
    Some((index + 1, verdicts[index].findings[0].message.to_string()))
}

const ISSUE_123: &str = "→implement implement→test test→test test→test test→test test→test test→test";
const TEST_FIVE: &str = r#"{"phases":{"phases":{"test":{"maxVisits":5}}}}"#;
const ISSUE_456: &str = "implement→test test→fix fix→test test→fix fix→test test→fix fix→test test→fix fix→test \
                         test→fix fix→test";
const NO_CYCLES: &str = r#"{"phases":{"cycleDetectionEnabled":false}}"#;
const ISSUE_789: &str = "plan→implement implement→test test→fix fix→implement implement→test test→fix fix→implement";

#[test]
fn issue_123_visits() {
    let (at, message) = refused(TEST_FIVE, ISSUE_123).unwrap();
    assert_eq!((at, message.as_str()), (7, "Phase 'test' exceeded max_visits (5) with 5 visits"));
    // The last visit allowed is announced, and then made.
    let verdicts = record(&mut json::detector(TEST_FIVE).unwrap(), "Issue-123", ISSUE_123);
    let levels: Vec<_> = verdicts.iter().map(|verdict| verdict.level).collect();
    use Level::{Continue, Gate, Nudge};
    assert_eq!(levels, [Continue, Continue, Continue, Continue, Continue, Nudge, Gate]);
    let gate = &verdicts[6];
    assert_eq!(gate.label.as_deref(), Some("ashep-hitl:loop-prevention"));
    assert_eq!(gate.recommendation, Recommendation::Escalate);
    assert_eq!(gate.findings[0].signature, "test");
    assert!(verdicts[5].label.is_none());
}

#[test]
fn issue_456_transitions() {
    let (at, message) = refused(NO_CYCLES, ISSUE_456).unwrap();
    assert_eq!((at, message.as_str()), (11, "Transition fix→test exceeded max_transitions (5) with 5 occurrences"));
    // With no exhausted way back, the rule applies literally: made five times, refused the sixth.
    let on = ISSUE_456.replace("test→fix fix→test", "test→fix fix→lint lint→test");
    assert_eq!(on.split_whitespace().count(), 16);
    let next = on + " test→fix";
    let (at, message) = refused(NO_CYCLES, &next).unwrap();
    assert_eq!((at, message.as_str()), (17, "Transition test→fix exceeded max_transitions (5) with 5 occurrences"));
}

#[test]
fn issue_789_cycle() {
    let (at, message) = refused("{}", ISSUE_789).unwrap();
    let expected = "Oscillating cycle detected: implement→test→fix→implement→test→fix";
    assert_eq!((at, message.as_str()), (7, expected));
    assert_eq!(refused(NO_CYCLES, ISSUE_789), None);
    assert_eq!(refused(r#"{"phases":{"cycleDetectionLength":2}}"#, ISSUE_789), None);
}

#[test]
fn oscillation() {
    let cases = [
        ("fix→test test→fix fix→test test→fix", 4, "fix→test→fix→test"),
        ("A→B B→C C→B B→A A→B B→C C→B", 7, "A→B→C→B→A→B→C→B"),
        (
            "plan→implement implement→review review→plan plan→implement implement→review review→plan",
            6,
            "plan→implement→review→plan→implement→review",
        ),
    ];
    for (transitions, at, walk) in cases {
        let expected = (at, format!("Oscillating cycle detected: {walk}"));
        assert_eq!(refused("{}", transitions), Some(expected), "{transitions}");
    }
    let honest = [
        // One rework, also of two phases in a row.
        "implement→test test→implement implement→test test→deploy",
        "A→B B→C C→B B→A A→B B→C C→D",
        // The document's palindrome, read literally, would refuse each of these.
        "A→B B→A A→B",
        "A→B B→C C→C C→B B→A",
    ];
    for transitions in honest {
        assert_eq!(refused("{}", transitions), None, "{transitions}");
    }
}

/// The definition again, on transitions instead of phases: whether the last one closes a cycle.
fn oscillates(transitions: &[(char, char)], distinct: usize) -> bool {
    let last = &transitions[transitions.len().saturating_sub(10)..];
    (2..=5).any(|period| {
        let twice = |length: usize| {
            last.len() >= length && {
                let tail = &last[last.len() - length..];
                tail[period..].iter().zip(tail).all(|(later, earlier)| later == earlier)
            }
        };
        let lap = &last[last.len().saturating_sub(period)..];
        let mut phases: Vec<char> = lap.iter().flat_map(|(from, to)| [*from, *to]).collect();
        phases.sort_unstable();
        phases.dedup();
        // Out and back: reversed, the lap is the same lap from another start.
        let back: Vec<_> = lap.iter().rev().map(|(from, to)| (*to, *from)).collect();
        let turns = (0..period).any(|start| {
            let rotated: Vec<_> = back.iter().cycle().skip(start).take(period).copied().collect();
            rotated == lap
        });
        phases.len() <= distinct && (twice(2 * period) || (period >= 4 && twice(2 * period - 1) && turns))
    })
}

#[test]
fn every_short_walk_is_judged_by_the_definition() {
    let config = r#"{"phases":{"maxVisitsDefault":0,"maxTransitionsDefault":0,"cycleDetectionLength":3}}"#;
    let (mut found, mut silent) = (0, 0);
    // Every walk of nine transitions between four phases, each step to one of the three other phases.
    for number in 0..3_usize.pow(9) {
        // A third of them is enough, as all of their prefixes are judged too.
        if number % 3 != 1 {
            continue;
        }
        let mut detector = json::detector(config).unwrap();
        let mut transitions: Vec<(char, char)> = Vec::new();
        let (mut at, mut rest) = ('A', number);
        for _ in 0..9 {
            let others: Vec<char> = "ABCD".chars().filter(|phase| *phase != at).collect();
            let next = others[rest % 3];
            rest /= 3;
            let body = Transition { from: Some(at.into()), to: next.into() };
            let event = Event { body: Body::Transition(body), context: Context::default() };
            transitions.push((at, next));
            at = next;
            let refused = detector.record(&event).unwrap().level == Level::Gate;
            assert_eq!(refused, oscillates(&transitions, 3), "{transitions:?}");
            if refused { found += 1 } else { silent += 1 }
        }
    }
    assert!(found > 1000 && silent > 10 * found, "{found} {silent}");
}

#[test]
fn a_check_refuses_and_a_record_counts() {
    let mut detector = json::detector(TEST_FIVE).unwrap();
    record(&mut detector, "Issue-123", "→implement implement→test test→test test→test test→test test→test");
    let before = detector.snapshot();
    for _ in 0..3 {
        let verdict = check(&detector, "Issue-123", "test→test");
        assert_eq!(verdict.level, Level::Gate);
        assert_eq!(verdict.findings[0].message, "Phase 'test' exceeded max_visits (5) with 5 visits");
    }
    assert_eq!(check(&detector, "Issue-123", "test→fix").level, Level::Continue);
    assert_eq!(check(&detector, "Issue-124", "→test").level, Level::Continue);
    assert_eq!(detector.snapshot(), before);
    // A refused transition that the host makes anyway has happened.
    record(&mut detector, "Issue-123", "test→test");
    let verdict = check(&detector, "Issue-123", "test→test");
    assert_eq!(verdict.findings[0].message, "Phase 'test' exceeded max_visits (5) with 6 visits");
}

#[test]
fn defaults_and_overrides() {
    let enter = |phase: &str, times: usize| format!("→{phase} ").repeat(times);
    let (at, message) = refused("{}", &enter("debug", 12)).unwrap();
    assert_eq!((at, message.as_str()), (11, "Phase 'debug' exceeded max_visits (10) with 10 visits"));
    let config = r#"{"phases":{"maxVisitsDefault":4,"phases":{"deploy":{"maxVisits":2},"iterate":{"maxVisits":0}}}}"#;
    assert_eq!(refused(config, &enter("deploy", 3)).unwrap().0, 3);
    assert_eq!(refused(config, &enter("review", 5)).unwrap().0, 5);
    assert_eq!(refused(config, &enter("iterate", 50)), None);
    assert_eq!(refused(r#"{"phases":{"enabled":false}}"#, &enter("debug", 50)), None);
}

#[test]
fn every_destination_is_counted_apart() {
    let mut detector =
        json::detector(r#"{"phases":{"maxTransitionsDefault":2,"cycleDetectionEnabled":false}}"#).unwrap();
    let verdicts = record(&mut detector, "t", "test→deploy →test test→fix-bugs →test test→review →test test→deploy");
    assert!(verdicts.iter().all(|verdict| verdict.level <= Level::Nudge));
    assert_eq!(check(&detector, "t", "test→deploy").level, Level::Gate);
    assert_eq!(check(&detector, "t", "test→review").level, Level::Nudge);
    // Other tasks have counts of their own.
    assert_eq!(check(&detector, "u", "test→deploy").level, Level::Continue);
}

#[test]
fn escalation_to_a_human() {
    let last = |config: &str| record(&mut json::detector(config).unwrap(), "t", ISSUE_789).pop().unwrap();
    let gate = last(r#"{"phases":{"hitlLabel":"needs-human"}}"#);
    assert_eq!((gate.level, gate.label.as_deref()), (Level::Gate, Some("needs-human")));
    let block = last(r#"{"phases":{"triggerHitl":false}}"#);
    assert_eq!((block.level, block.label), (Level::Block, None));
    assert_eq!(last(r#"{"attended":false}"#).level, Level::Halt);
    assert_eq!(last(r#"{"attended":false,"unattendedLevel":"block"}"#).level, Level::Block);
}

#[test]
fn what_a_human_has_cleared_does_not_block_again() {
    let scope = Scope { task: Some("t".into()), ..Scope::default() };
    let clear: [fn(&mut Detector, &Scope); 4] = [
        |detector, scope| detector.acknowledge(scope, &Decision::Continue).map(drop).unwrap(),
        |detector, _| detector.acknowledge(&Scope::default(), &Decision::Continue).map(drop).unwrap(),
        |detector, scope| drop(detector.reset(scope, ResetReason::TaskCompleted)),
        |detector, scope| drop(detector.reset(scope, ResetReason::HumanIntervention)),
    ];
    for clear in clear {
        for (config, transitions, next) in [
            (TEST_FIVE, ISSUE_123, "test→test"),
            (NO_CYCLES, ISSUE_456, "test→fix"),
            ("{}", ISSUE_789, "implement→test"),
        ] {
            let mut detector = json::detector(config).unwrap();
            record(&mut detector, "t", transitions);
            assert_eq!(check(&detector, "t", next).level, Level::Gate);
            clear(&mut detector, &scope);
            assert_eq!(check(&detector, "t", next).level, Level::Continue);
            assert!(detector.status(&scope).phases.is_empty());
            // It is armed again.
            assert!(record(&mut detector, "t", transitions).iter().any(|verdict| verdict.level == Level::Gate));
        }
    }
}

#[test]
fn a_users_message_clears_nothing() {
    let mut detector = json::detector(TEST_FIVE).unwrap();
    record(&mut detector, "t", ISSUE_123);
    detector.record(&json::event(r#"{"type":"message","role":"user","text":"go on"}"#).unwrap()).unwrap();
    assert_eq!(check(&detector, "t", "test→test").level, Level::Gate);
}

#[test]
fn metrics_count_what_was_refused() {
    let mut detector = json::detector(TEST_FIVE).unwrap();
    record(&mut detector, "a", ISSUE_123);
    record(&mut detector, "b", &ISSUE_123.replace("implement", "build"));
    record(&mut detector, "c", ISSUE_789);
    let metrics = detector.metrics();
    assert_eq!((metrics.phase_visits_blocked, metrics.transitions_blocked, metrics.cycles_detected), (2, 0, 1));
    assert_eq!(metrics.hitl_triggered, 3);
    let mut detector = json::detector(NO_CYCLES).unwrap();
    record(&mut detector, "a", ISSUE_456);
    assert_eq!((detector.metrics().transitions_blocked, detector.metrics().hitl_triggered), (1, 1));
    // Shadow mode refuses nothing.
    let mut shadow = json::detector(r#"{"mode":"shadow"}"#).unwrap();
    let verdicts = record(&mut shadow, "c", ISSUE_789);
    assert_eq!((verdicts[6].level, verdicts[6].would_be), (Level::Observe, Some(Level::Gate)));
    assert_eq!((shadow.metrics().cycles_detected, shadow.metrics().hitl_triggered), (0, 0));
}

#[test]
fn status_shows_the_walk_and_the_visits() {
    let mut detector = json::detector("{}").unwrap();
    record(&mut detector, "t", "→plan plan→implement implement→test test→implement");
    record(&mut detector, "u", "→plan");
    let status = detector.status(&Scope::default());
    assert_eq!(status.phases.len(), 2);
    let standing = &status.phases["t"];
    assert_eq!(standing.walk.as_deref(), Some("plan → implement → test → implement"));
    let visits: Vec<_> = standing.visits.iter().map(|(phase, visits)| (phase.as_str(), *visits)).collect();
    assert_eq!(visits, [("implement", 2), ("plan", 1), ("test", 1)]);
    let restored = Detector::restore(&detector.snapshot()).unwrap();
    assert_eq!(restored.status(&Scope::default()), status);
    assert_eq!(detector.status(&Scope { task: Some("u".into()), ..Scope::default() }).phases.len(), 1);
}

#[test]
fn an_exempt_phase_goes_on() {
    let mut detector = json::detector(TEST_FIVE).unwrap();
    let finding = record(&mut detector, "t", ISSUE_123).pop().unwrap().findings.remove(0);
    let exempt = Decision::Exempt {
        rule: finding.rule.as_str().into(),
        signature: finding.signature.as_str().into(),
        until: None,
    };
    detector.acknowledge(&Scope::default(), &exempt).unwrap();
    assert_eq!(check(&detector, "t", "test→test").level, Level::Continue);
}

#[test]
fn memory_is_bounded() {
    let mut detector = json::detector("{}").unwrap();
    let mut sizes = Vec::new();
    for round in 0..3 {
        for number in 0..200 {
            let task = format!("task-{round}-{number}-{}", "x".repeat(500));
            record(&mut detector, &task, &format!("→a a→b b→phase-{round}-{number}-{}", "y".repeat(500)));
        }
        sizes.push(detector.snapshot().len());
    }
    // Numbers grow by a few bytes; collections do not grow.
    assert!(sizes[2].abs_diff(sizes[1]) < 4096 && sizes[2] < 120_000, "{sizes:?}");
    assert!(Detector::restore(&detector.snapshot()).is_ok());
}
