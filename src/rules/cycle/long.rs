//! Laps of any length: a walk is begun again and again, and nothing on it is new.
//!
//! Of an agent's latest steps two bytes each are kept, and of those that came round how often and when, so that a lap of
//! [`RECENT`] steps is seen however long the run was before. A stretch in which hardly a step is new, with every step of a
//! whole lap in it, is gone through for the third time. Order does not matter, and a few steps that are new do no harm; many
//! are a batch that passes the same preparations.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence};
use crate::rules::{Cx, Signal, only_told};
use crate::state::{Call, Latest, Onset, Ring, Step};
use crate::text::{Key, combine, mark, printable};
use crate::tuned;
use alloc::{boxed::Box, format, vec::Vec};

/// Agents whose steps are watched at once.
const AGENTS: usize = 4;
/// Steps kept of an agent, the longest lap: in few bytes, since every run has them.
const RECENT: usize = 72;
/// Steps that came round, which only few runs have.
const PLACES: usize = 96;
/// Steps that are not new of which at most so many are remembered.
const MOST: u32 = 24;
/// Steps of a lap that must have come round before it counts.
const BEGUN: u32 = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct Long {
    agents: Ring<Walker>,
}
codec!(struct Long { agents });

#[derive(Clone, Debug, Default)]
struct Walker {
    agent: Key,
    /// Its steps so far.
    steps: u32,
    /// Marks of the latest ones, two bytes each, the oldest first.
    recent: Vec<u8>,
    again: Ring<Place>,
    /// Only where steps came round.
    stretch: Option<Box<Stretch>>,
}
codec!(struct Walker { agent, steps, recent, again, stretch });

/// A step that came round with the same outcome.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    mark: u32,
    /// Number of the step, and how often it came.
    last: u32,
    times: u32,
}
codec!(struct Place { mark, last, times });

/// A part of the walk in which hardly a step was new.
#[derive(Clone, Debug, Default)]
struct Stretch {
    start: u32,
    /// What it began with.
    first: u32,
    credit: u32,
    /// Steps in a row that came round within it, and the lap that they are a part of.
    begun: u32,
    laps: u32,
    /// How often the two before the latest of them came.
    lately: (u32, u32),
    period: u32,
    mutations: u64,
    onset: Onset,
    sightings: Latest,
}
codec!(struct Stretch { start, first, credit, begun, laps, lately, period, mutations, onset, sightings });

/// What tells a call and its outcome from the others of a run. Two in a thousand steps are taken for one of the latest
/// though they are none, which is one point of the evidence.
fn mark_of(call: &Call, outcome: Key) -> u16 {
    let [one, two, three, four] = (mark(call.key) ^ mark(outcome).rotate_left(9)).to_le_bytes();
    u16::from_le_bytes([one ^ three, two ^ four])
}

impl Walker {
    /// How many steps ago one was made, of the latest ones.
    fn ago(&self, mark: u16) -> Option<u32> {
        let ago = self.recent.rchunks_exact(2).position(|known| known == mark.to_le_bytes())?;
        u32::try_from(ago + 1).ok()
    }

    fn step(&mut self, step: &Step, mark: u16) {
        self.steps = self.steps.saturating_add(1);
        let (now, key) = (self.steps, u32::from(mark));
        let known = self.again.take(|place| place.mark == key);
        let known = known.or_else(|| Some(Place { mark: key, last: now.saturating_sub(self.ago(mark)?), times: 1 }));
        if self.recent.len() >= RECENT * 2 {
            self.recent.drain(..2);
        }
        self.recent.extend(mark.to_le_bytes());
        let Some(Place { last, times, .. }) = known else {
            if self.stretch.as_mut().is_some_and(|stretch| !stretch.strays()) {
                self.stretch = None;
            }
            return;
        };
        let times = times.saturating_add(1);
        self.again.push(Place { mark: key, last: now, times }, PLACES);
        let stretch = self.stretch.get_or_insert_default();
        if stretch.start == 0 {
            (stretch.start, stretch.first) = (now, key);
            (stretch.mutations, stretch.onset) = (step.mutations_before, step.onset);
        }
        stretch.goes_on(step, now, last, times);
    }
}

impl Stretch {
    /// A step that is new; false where there are too many.
    fn strays(&mut self) -> bool {
        let credit = self.credit.checked_sub(tuned::LAP_NEW.get());
        self.credit = credit.unwrap_or(0);
        credit.is_some()
    }

    fn goes_on(&mut self, step: &Step, now: u32, last: u32, times: u32) {
        self.credit = self.credit.saturating_add(1).min(MOST);
        let period = now.saturating_sub(last);
        if times < 3 || last < self.start || period < tuned::LAP_SHORTEST.get() {
            self.begun = 0;
            return;
        }
        self.begun = self.begun.saturating_add(1);
        // What stands twice in a lap comes round too often.
        let (one, two) = self.lately;
        (self.laps, self.lately) = (times.min(one).min(two), (two, times));
        self.period = period;
        self.sightings.push(step.sighting);
    }

    /// Laps that were gone through or begun; one less for each new change on the way.
    fn laps(&self, cx: &Cx<'_>) -> u32 {
        if self.begun < BEGUN {
            return 0;
        }
        let news = cx.run.new_mutations.saturating_sub(self.mutations);
        self.laps.saturating_sub(u32::try_from(news).unwrap_or(u32::MAX))
    }

    fn signal(&self, agent: Key, tool: &str, cx: &Cx<'_>) -> Option<Signal> {
        let laps = self.laps(cx);
        let Self { period, first, .. } = *self;
        cx.limits.reached(laps, 1).then(|| {
            let seen = self.sightings.iter().map(|sighting| (*sighting, self.onset));
            let tool = printable(tool, 48);
            let mut signal = Streak::of(seen).signal(Told {
                kind: "long-lap",
                identity: combine("long-lap", &[agent, first.into()]),
                count: laps,
                confidence: confidence(500, 50, laps),
                signature: cx.named("lap", '#', combine("long-lap", &[first.into()])),
                message: format!(
                    "A round of about {period} steps, `{tool}` among them, was walked {laps} times, and hardly a step of it was new"
                ),
                instead: "Write down what the round has shown, and do something that none of its steps has done.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Oscillating,
            });
            signal.period = Some(period);
            // The way is the same, and not every step of it.
            only_told(signal, cx)
        })
    }
}

impl Long {
    /// Takes the next step.
    pub(super) fn step(&mut self, step: &Step, cx: &Cx<'_>) -> Option<Signal> {
        let patient = |call: &Call| call.polling || step.facts.waiting;
        let call = step.call.as_ref().filter(|call| !patient(call))?;
        let known = self.agents.take(|walker| walker.agent == step.agent);
        let mut walker = known.unwrap_or_else(|| Walker { agent: step.agent, ..Walker::default() });
        walker.step(step, mark_of(call, step.facts.light));
        let stretch = walker.stretch.as_ref();
        let signal = stretch.and_then(|stretch| stretch.signal(walker.agent, &call.name, cx));
        self.agents.push(walker, AGENTS);
        signal
    }

    pub(super) fn laps(&self) -> u32 {
        let begun = self.agents.iter().filter_map(|walker| walker.stretch.as_ref());
        begun.filter(|stretch| stretch.begun >= BEGUN).map(|stretch| stretch.laps).max().unwrap_or(0)
    }

    pub(super) fn fits(&self) -> bool {
        self.agents.len() <= AGENTS
            && self.agents.iter().all(|walker| {
                walker.recent.len() <= RECENT * 2
                    && walker.again.len() <= PLACES
                    && walker.stretch.iter().all(|stretch| stretch.sightings.fits())
            })
    }
}

#[cfg(test)]
mod tests {
    use crate::json;
    use crate::model::Level::{self, Nudge};
    use crate::rules::testing::{Script, events};
    use crate::{Detector, model::Verdict};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "cycle";
    const ALONE: &str = r#"{"rules":{"repeated-call":{"enabled":false},"same-answer":{"enabled":false}}}"#;

    /// A lap of so many look-ups.
    fn lap(steps: usize) -> String {
        (0..steps).map(|n| format!("look/l{n}:found{n} ")).collect()
    }

    #[test]
    fn laps_of_every_length() {
        for steps in [15, 24, 50, 72] {
            Script::new(ALONE).play(&lap(steps).repeat(2)).expect(RULE, &[]);
            // Three steps into the third lap.
            let begun = lap(steps).repeat(2) + &lap(3);
            let played = Script::new(ALONE).play(&begun);
            played.last(RULE, Nudge);
            assert_eq!(played.findings(RULE).len(), 1, "{steps}");
            Script::new(ALONE).play(&lap(steps).repeat(6)).strongest(RULE, Nudge);
        }
    }

    #[test]
    fn nearly_the_same_lap() {
        // One step is new, two have another outcome or stand beside another one, two have changed places.
        let noisy = |lap: usize| -> String {
            let step = |n: usize| match n {
                7 => format!("look/l8:found8 look/new{lap}:x{lap} "),
                8 => String::from("look/l7:found7 "),
                16 => format!("look/l16:found{lap} look/odd{lap}:y "),
                n => format!("look/l{n}:found{n} "),
            };
            (0..24).map(step).collect()
        };
        let three: String = (0..3).map(noisy).collect();
        Script::new(ALONE).play(&three).strongest(RULE, Nudge);
        let two: String = (0..2).map(noisy).collect();
        Script::new(ALONE).play(&two).expect(RULE, &[]);
    }

    #[test]
    fn whatever_the_day_was_before() {
        let day: String = (0..420).map(|n| format!("look/d{n}:{n} ")).collect();
        Script::new(ALONE).play(&day).expect(RULE, &[]);
        Script::new(ALONE).play(&(day.clone() + &lap(70).repeat(3))).strongest(RULE, Nudge);
        // Further back nothing is known.
        Script::new(ALONE).play(&(day + &lap(90).repeat(4))).expect(RULE, &[]);
    }

    #[test]
    fn what_only_looks_like_laps() {
        // The same preparations for other things, answers that change, a new change in each lap, one more look at all of it.
        let batch = |prepared: usize, new: usize| -> String {
            let one = |at: usize| (0..new).map(|n| format!("look/n{at}_{n}:{at}x{n} ")).collect::<String>();
            (0..6).map(|at| lap(prepared) + &one(at)).collect()
        };
        Script::new(ALONE).play(&batch(4, 8)).expect(RULE, &[]);
        Script::new(ALONE).play(&batch(12, 6)).expect(RULE, &[]);
        let watched: String =
            (0..6).flat_map(|at| (0..15).map(move |n| format!("look/l{n}:at{at}found{n} "))).collect();
        Script::new(ALONE).play(&watched).expect(RULE, &[]);
        let changed: String = (0..6).map(|at| format!("*{at} ") + &lap(15)).collect();
        Script::new(ALONE).play(&changed).expect(RULE, &[]);
        Script::new(ALONE).play(&(lap(15) + "| " + &lap(15) + "| " + &lap(15))).expect(RULE, &[]);
        let patient = r#"{"tools":{"look":{"polling":true}},"rules":{"repeated-call":{"enabled":false}}}"#;
        Script::new(patient).play(&lap(15).repeat(8)).expect(RULE, &[]);
    }

    /// Two agents at two tasks in turns: one walks laps, the other gets on.
    fn interleaved(laps: usize) -> Vec<String> {
        let mut all = Vec::new();
        let mut put = |who: &str, at: String, found: String| {
            let head = format!(r#""agent":"{who}","task":"of-{who}","tool":"look""#);
            all.push(format!(r#"{{"type":"tool-call",{head},"args":{{"at":"{at}"}}}}"#));
            all.push(format!(r#"{{"type":"tool-result",{head},"outcome":"ok","output":"{found}"}}"#));
        };
        for n in 0..laps * 47 {
            put("walker", format!("l{}", n % 47), format!("found {}", n % 47));
            put("worker", format!("w{n}"), format!("other {n}"));
        }
        all
    }

    #[test]
    fn beside_another_agent_at_another_task() {
        events(ALONE, interleaved(3)).strongest(RULE, Nudge);
        events(ALONE, interleaved(2)).expect(RULE, &[]);
    }

    #[test]
    fn a_snapshot_changes_nothing() {
        let all = interleaved(5);
        let levels = |every: usize| -> Vec<Level> {
            let mut detector = json::detector(ALONE).unwrap();
            let record = |(at, event): (usize, &String)| {
                let verdict: Verdict = detector.record(&json::event(event).unwrap()).unwrap();
                if at % every == 0 {
                    detector = Detector::restore(&detector.snapshot()).unwrap();
                }
                verdict.level
            };
            all.iter().enumerate().map(record).collect()
        };
        assert_eq!(levels(61), levels(usize::MAX));
        assert!(levels(61).contains(&Nudge));
    }
}
