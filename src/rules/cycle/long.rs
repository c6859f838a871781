//! Laps of any length: a walk is begun again and again, and nothing on it is new.
//!
//! What an agent has done since the run began is kept as a sketch: of the latest steps all, of those before them the ones
//! whose marks are the highest, which is a fair sample of whatever a run did. A stretch in which hardly a step is new, with
//! every step of a whole lap in it, is gone through for the third time. Order does not matter, and a few steps that are new
//! do no harm; many are a batch that passes the same preparations.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence};
use crate::rules::{Cx, Signal};
use crate::state::{Call, Latest, Onset, Ring, Step};
use crate::text::{Key, combine, evidence, mark, printable};
use crate::tuned;
use alloc::{format, vec::Vec};

/// Agents whose steps are watched at once.
const AGENTS: usize = 4;
/// Steps kept of an agent, and of those how many of its latest ones at least.
const PLACES: usize = 160;
const RECENT: u32 = 104;
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
    places: Vec<Place>,
    /// Marks up to this one may have been forgotten.
    floor: u32,
    stretch: Option<Stretch>,
}
codec!(struct Walker { agent, steps, places, floor, stretch });

/// What was done, and what came of it the last time.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    call: u32,
    outcome: u32,
    /// Number of the step, and how often that outcome came.
    last: u32,
    times: u32,
}
codec!(struct Place { call, outcome, last, times });

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

impl Walker {
    fn place(&mut self, call: u32) -> Option<&mut Place> {
        self.places.iter_mut().find(|place| place.call == call)
    }

    /// Makes room for a step: of those that are not recent, the one with the lowest mark goes.
    fn keep(&mut self, place: Place) {
        if self.places.len() < PLACES {
            self.places.push(place);
            return;
        }
        let oldest = self.steps.saturating_sub(RECENT);
        let aged = self.places.iter_mut().filter(|place| place.last < oldest);
        if let Some(gone) = aged.min_by_key(|place| place.call) {
            self.floor = self.floor.max(gone.call);
            *gone = place;
        }
    }

    fn step(&mut self, step: &Step, call: u32) {
        self.steps = self.steps.saturating_add(1);
        let (now, outcome) = (self.steps, mark(step.facts.light));
        let Some(place) = self.place(call) else {
            // Of what may have been forgotten nobody knows whether it is new.
            if call > self.floor {
                self.stretch = self.stretch.take().and_then(Stretch::strays);
            }
            self.keep(Place { call, outcome, last: now, times: 1 });
            return;
        };
        let last = core::mem::replace(&mut place.last, now);
        if place.outcome != outcome {
            // The world has moved on: neither something new that was done nor the same again.
            (place.outcome, place.times) = (outcome, 1);
            return;
        }
        place.times = place.times.saturating_add(1);
        let times = place.times;
        let stretch = self.stretch.get_or_insert_with(|| Stretch {
            start: now,
            first: call,
            mutations: step.mutations_before,
            onset: step.onset,
            ..Stretch::default()
        });
        stretch.goes_on(step, now, last, times);
    }
}

impl Stretch {
    /// A step that is new; `None` where there are too many.
    fn strays(self) -> Option<Self> {
        let credit = self.credit.checked_sub(tuned::LAP_NEW.get())?;
        Some(Self { credit, ..self })
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
                signature: format!("lap#{}", evidence(combine("long-lap", &[first.into()])).get(..8).unwrap_or_default()),
                message: format!(
                    "A round of about {period} steps, `{tool}` among them, was walked {laps} times, and hardly a step of it was new"
                ),
                instead: "Write down what the round has shown, and do something that none of its steps has done.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Oscillating,
            });
            signal.period = Some(period);
            signal
        })
    }
}

impl Long {
    /// Takes the next step.
    pub(super) fn step(&mut self, step: &Step, cx: &Cx<'_>) -> Option<Signal> {
        let patient = |call: &Call| call.polling || step.facts.waiting || cx.config.conventions.blind_cycles;
        let call = step.call.as_ref().filter(|call| !patient(call))?;
        let known = self.agents.take(|walker| walker.agent == step.agent);
        let mut walker = known.unwrap_or_else(|| Walker { agent: step.agent, ..Walker::default() });
        walker.step(step, mark(call.key));
        let stretch = walker.stretch.as_ref();
        let signal = stretch.and_then(|stretch| stretch.signal(walker.agent, &call.name, cx));
        self.agents.push(walker, AGENTS);
        signal
    }

    /// What a call is a part of that is about to be made again.
    pub(super) fn goes_on(&self, call: &Call, cx: &Cx<'_>) -> Option<Signal> {
        let walker = self.agents.iter().find(|walker| walker.agent == call.agent)?;
        let (stretch, key) = (walker.stretch.as_ref()?, mark(call.key));
        let again = |place: &Place| place.call == key && place.last >= stretch.start;
        walker.places.iter().any(again).then(|| stretch.signal(walker.agent, &call.name, cx))?
    }

    pub(super) fn laps(&self) -> u32 {
        let begun = self.agents.iter().filter_map(|walker| walker.stretch.as_ref());
        begun.filter(|stretch| stretch.begun >= BEGUN).map(|stretch| stretch.laps).max().unwrap_or(0)
    }

    pub(super) fn fits(&self) -> bool {
        self.agents.len() <= AGENTS
            && self.agents.iter().all(|walker| {
                walker.places.len() <= PLACES && walker.stretch.iter().all(|stretch| stretch.sightings.fits())
            })
    }
}

#[cfg(test)]
mod tests {
    use crate::json;
    use crate::model::Level::{self, Block, Halt, Nudge};
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
        for steps in [15, 24, 50, 100, 150] {
            Script::new(ALONE).play(&lap(steps).repeat(2)).expect(RULE, &[]);
            // Three steps into the third lap.
            let begun = lap(steps).repeat(2) + &lap(3);
            let played = Script::new(ALONE).play(&begun);
            played.last(RULE, Nudge);
            assert_eq!(played.findings(RULE).len(), 1, "{steps}");
            Script::new(ALONE).play(&(lap(steps).repeat(4) + &lap(3))).last(RULE, Block);
        }
        Script::new(ALONE).play(&(lap(15).repeat(8) + &lap(3))).last(RULE, Halt);
    }

    #[test]
    fn nearly_the_same_lap() {
        // One of nine steps is new, one of fifteen has another outcome, two have changed places.
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
        Script::new(ALONE).play(&(day.clone() + &lap(50).repeat(3))).strongest(RULE, Nudge);
        Script::new(ALONE).play(&(day + &lap(130).repeat(3))).strongest(RULE, Nudge);
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
        assert!(levels(61).contains(&Block));
    }
}
