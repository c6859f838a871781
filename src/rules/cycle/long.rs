//! Laps of any length: a walk that is started over and over, with nothing new on it.
//!
//! The latest steps of each agent are kept as two bytes each, together with how often and when those that recurred did,
//! so that a lap of [`RECENT`] steps is found however long the run was before. A stretch in which hardly a step is new,
//! and which contains every step of a whole lap, is on its third pass. Order does not matter, and a few new steps do no
//! harm; many new steps make it a batch that shares the same preparations.
//!
//! For longer laps, samples are kept of the steps that are no longer among the latest: a quarter of them, a sixteenth,
//! and so on, the latest [`SAMPLE`] of each. Whether a step is sampled depends on the step alone, so that each lap
//! yields the same ones, and even a lap of a thousand steps has a handful. A stretch of such laps only looks at the
//! steps that its sample would contain.

use super::row::Row;
use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Outlook, Signal, SignalParts, View, advisory};
use crate::state::{Call, Latest, Onset, Ring, Step};
use crate::text::{Key, OutcomeFacts, combine, mark, number, printable};
use crate::tuned;
use alloc::{boxed::Box, vec::Vec};

/// Maximum number of agents followed at once.
const AGENTS: usize = 4;
/// Steps kept of an agent, the longest lap followed without samples; two bytes each, as every run has them.
const RECENT: usize = 72;
/// Number of samples of older steps, each a quarter as dense as the one before, and the steps kept of each.
const SAMPLES: u32 = 4;
const SAMPLE: usize = 12;
/// Number of kept steps that must be older than one found in a sample.
const BEYOND: usize = 4;
/// Maximum number of recurring steps kept; only few runs have any.
const PLACES: usize = 96;
/// Maximum credit for recurring steps.
const MOST: u32 = 24;
/// Number of consecutive steps that must have recurred before a lap counts.
const BEGUN: u32 = 3;
/// Minimum number of letters in an answer that shows what was looked at, rather than a stock reply.
const WORTH_SEEING: u32 = 24;

#[derive(Clone, Debug, Default)]
pub(super) struct Long {
    agents: Ring<Walker>,
}
codec!(struct Long { agents });

#[derive(Clone, Debug, Default)]
struct Walker {
    agent: Key,
    /// Its steps so far, and the number of the latest that changed something.
    steps: u32,
    changed: u32,
    /// Marks of the latest steps, two bytes each, oldest first.
    recent: Vec<u8>,
    /// The same for the sampled steps.
    before: Vec<u8>,
    again: Ring<RecurringStep>,
    /// Only present if steps recurred: among the latest, and in a sample.
    stretch: Option<Box<Stretch>>,
    far: Option<Box<Stretch>>,
}
codec!(struct Walker { agent, steps, changed, recent, before, again, stretch, far });

/// A step that recurred with the same outcome.
#[derive(Clone, Copy, Debug, Default)]
struct RecurringStep {
    mark: u32,
    /// Number of the latest such step, and how often it came.
    last: u32,
    times: u32,
}
codec!(struct RecurringStep { mark, last, times });

/// A part of the walk in which hardly a step was new.
#[derive(Clone, Debug, Default)]
struct Stretch {
    /// The sparsest sample that its steps were found in; 0 for the latest steps.
    sample: u32,
    start: u32,
    /// Mark of its first step.
    first: u32,
    credit: u32,
    /// Recurring steps in a row within it, and the laps they have completed.
    begun: u32,
    laps: u32,
    /// Counts of the two steps before the latest.
    lately: (u32, u32),
    period: u32,
    /// The agent's new mutations before it, and now; low halves of the counters.
    mutations: u32,
    now: u32,
    onset: Onset,
    sightings: Latest,
    row: Row,
}
codec!(struct Stretch { sample, start, first, credit, begun, laps, lately, period, mutations, now, onset, sightings, row });

/// Identifies a call and its outcome among the steps of a run. Collides with one of the latest steps in two of a
/// thousand cases, which is worth one point of evidence.
fn mark_of(call: &Call, facts: &OutcomeFacts) -> [u8; 2] {
    // Looking at the same target with the same answer is the same step, however the call is phrased.
    let looks = !call.mutates && !facts.negative && !facts.failed && facts.letters >= WORTH_SEEING;
    let what = call.target.filter(|_| looks).unwrap_or(call.key);
    let [one, two, three, four] = (mark(what) ^ mark(facts.light).rotate_left(9)).to_le_bytes();
    [one ^ three, two ^ four]
}

/// The marks, if `mark` is among them. It rarely is, and this check can be vectorised.
fn held(known: &[[u8; 2]], mark: [u8; 2]) -> Option<core::slice::Iter<'_, [u8; 2]>> {
    let mark = u16::from_le_bytes(mark);
    known.iter().fold(false, |held, known| held | (u16::from_le_bytes(*known) == mark)).then(|| known.iter())
}

/// The sparsest sample that a step belongs to, by the lower byte of its mark; 0 for none.
fn sample_of(mark: &[u8]) -> u32 {
    mark.first().map_or(0, |low| low.trailing_zeros() / 2)
}

impl Walker {
    /// How many steps ago the same step was made, among the latest.
    fn ago(&self, mark: [u8; 2]) -> Option<u32> {
        let (known, _) = self.recent.as_chunks();
        let ago = held(known, mark)?.rev().position(|known| *known == mark)?;
        u32::try_from(ago + 1).ok()
    }

    /// Position of the oldest step of a sample, if the sample is full.
    fn oldest(&self, sample: u32) -> Option<usize> {
        let (mut oldest, mut kept) = (None, 0);
        for (at, known) in self.before.chunks_exact(2).enumerate() {
            if sample_of(known) == sample {
                oldest = oldest.or(Some(at));
                kept += 1;
            }
        }
        oldest.filter(|_| kept >= SAMPLE)
    }

    /// Moves the oldest of the latest steps into the samples, or drops it.
    fn leaves(&mut self) {
        let Some(mark) = self.recent.first_chunk::<2>().copied() else { return };
        self.recent.drain(..2);
        let (sample, key) = (sample_of(&mark), u32::from(u16::from_le_bytes(mark)));
        if sample == 0 || self.again.iter().any(|place| place.mark == key) {
            return;
        }
        if let Some(oldest) = self.oldest(sample) {
            self.before.drain(oldest * 2..oldest * 2 + 2);
        }
        self.before.extend(mark);
    }

    /// The densest sample that reaches back to the step and well beyond it: a step near the end of a sample may be in
    /// it in one lap and missing in the next.
    fn found(&self, mark: [u8; 2]) -> Option<u32> {
        let (known, _) = self.before.as_chunks();
        let at = held(known, mark)?.position(|known| *known == mark)?;
        (1..=sample_of(&mark)).find(|sample| {
            let of = |marks: &[u8]| marks.chunks_exact(2).filter(|known| sample_of(known) == *sample).count();
            of(&self.before) < SAMPLE || self.before.get(..at * 2).is_some_and(|older| of(older) >= BEYOND)
        })
    }

    fn step(&mut self, step: &Step, mark: [u8; 2]) {
        self.steps = self.steps.saturating_add(1);
        let (now, key) = (self.steps, u32::from(u16::from_le_bytes(mark)));
        if !step.facts.failed && step.call.as_ref().is_some_and(|call| call.mutates) {
            self.changed = now;
        }
        let known = self.again.take(|place| place.mark == key);
        let known =
            known.or_else(|| Some(RecurringStep { mark: key, last: now.saturating_sub(self.ago(mark)?), times: 1 }));
        let found = if known.is_none() { self.found(mark) } else { None };
        if self.recent.len() >= RECENT * 2 {
            self.leaves();
        }
        self.recent.extend(mark);
        if known.is_none() {
            Stretch::strays(&mut self.stretch);
        }
        let sampled = self.far.as_ref().is_some_and(|far| far.sample <= sample_of(&mark));
        let Some(RecurringStep { last, times, .. }) =
            known.or(found.map(|_| RecurringStep { mark: key, last: 0, times: 1 }))
        else {
            if sampled {
                Stretch::strays(&mut self.far);
            }
            return;
        };
        let times = times.saturating_add(1);
        self.again.push(RecurringStep { mark: key, last: now, times }, PLACES);
        if known.is_some() {
            let stretch = self.stretch.get_or_insert_default();
            stretch.goes_on(step, [key, now, last, times]);
            stretch.row.took(step, key, (last >= self.changed).then(|| now.saturating_sub(last)));
        }
        if let Some(sample) = found {
            let far = self.far.get_or_insert_default();
            far.sample = far.sample.max(sample);
        }
        let beyond = now.saturating_sub(last) as usize > RECENT;
        if let Some(far) = self.far.as_mut().filter(|_| beyond && (sampled || found.is_some())) {
            far.goes_on(step, [key, now, last, times]);
        }
    }

    fn stretches(&self) -> impl Iterator<Item = &Stretch> {
        [&self.stretch, &self.far].into_iter().flatten().map(|stretch| &**stretch)
    }
}

impl Stretch {
    /// A new step; too many of them end the stretch.
    fn strays(stretch: &mut Option<Box<Self>>) {
        let left = stretch.as_ref().and_then(|stretch| stretch.credit.checked_sub(tuned::LAP_NEW.get()));
        match (stretch, left) {
            (Some(stretch), Some(left)) => {
                stretch.credit = left;
                stretch.row.ends();
            }
            (stretch, _) => *stretch = None,
        }
    }

    #[inline(never)]
    fn goes_on(&mut self, step: &Step, [mark, now, last, times]: [u32; 4]) {
        if self.start == 0 {
            (self.start, self.first) = (now, mark);
            (self.mutations, self.onset) = (step.own.before as u32, step.onset);
        }
        self.credit = self.credit.saturating_add(1).min(MOST);
        let period = now.saturating_sub(last);
        if period > 1 {
            self.sightings.push(step.sighting);
        }
        if times < 3 || last < self.start || period < tuned::LAP_SHORTEST.get() {
            self.begun = 0;
            return;
        }
        self.begun = self.begun.saturating_add(1);
        // Ignore steps that occur twice in a lap, and so recur more often.
        let (one, two) = self.lately;
        (self.laps, self.lately) = (times.min(one).min(two), (two, times));
        self.period = period;
    }

    /// Laps that were completed or begun; each new change in between takes one off.
    fn laps(&self) -> u32 {
        if self.begun < BEGUN {
            return 0;
        }
        self.laps.saturating_sub(self.now.wrapping_sub(self.mutations))
    }

    fn signal(&self, agent: Key, tool: &str, cx: &Cx<'_>) -> Option<Signal> {
        let laps = self.laps();
        let row = self.row.told().filter(|(_, row)| *row > laps);
        let count = row.map_or(laps, |(_, row)| row);
        if !cx.limits.reached(count) {
            return None;
        }
        let tool = printable(tool, 48);
        let (kind, first, name, message) = if let Some((row, _)) = row {
            let steps = number(row.many);
            let came = "`, had all been made shortly before, with the same outcomes";
            (
                "known-steps",
                row.first.into(),
                "row",
                ["The latest ", &steps, " steps, including `", &tool, came].concat(),
            )
        } else {
            let (steps, times) = (number(self.period), number(laps));
            let walked = ["`, was repeated ", &times, " times, and hardly any step was new"].concat();
            (
                "long-lap",
                self.first.into(),
                "lap",
                ["A round of about ", &steps, " steps, including `", &tool, &walked].concat(),
            )
        };
        let mut signal = Streak::default().signal(SignalParts {
            kind,
            identity: combine(kind, &[agent, first]),
            count,
            confidence: confidence(500, 50, count),
            signature: cx.named(name, '#', combine(kind, &[first])),
            message,
            instead: "Write down what this round has shown, then do something else.",
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::Oscillating,
        });
        (signal.period, signal.onset) = match row {
            Some((row, _)) => (None, row.onset),
            None => (Some(self.period), self.onset),
        };
        signal.sightings = self.sightings.iter().copied().collect();
        // The route is the same, but not every step of it.
        Some(advisory(signal, cx))
    }
}

/// The call of a step that belongs to a walk: steps that wait for something do not.
fn walked(step: &Step) -> Option<&Call> {
    step.call.as_ref().filter(|call| !call.polling && !step.facts.waiting)
}

impl Long {
    /// Takes in the next step.
    pub(super) fn step(&mut self, step: &Step) {
        let Some(call) = walked(step) else { return };
        let agent = step.agent;
        let new = || Walker { agent, ..Walker::default() };
        if let Some(walker) = self.agents.renew(AGENTS, |walker| walker.agent == agent, new) {
            walker.step(step, mark_of(call, &step.facts));
            let stretches = [&mut walker.stretch, &mut walker.far].into_iter().flatten();
            stretches.for_each(|stretch| stretch.now = step.own.after as u32);
        }
    }

    /// The signal for the agent of the step taken in last.
    pub(super) fn signal(&self, step: &Step, cx: &Cx<'_>) -> Option<Signal> {
        let (call, walker) = (walked(step)?, self.agents.last()?);
        walker.stretches().find_map(|stretch| stretch.signal(walker.agent, &call.name, cx))
    }

    pub(super) fn outlook(&self, view: &View<'_>) -> Outlook {
        let laps = |walker: &Walker| walker.stretches().map(|stretch| stretch.laps().max(stretch.row.laps())).max();
        Outlook::of_all(self.agents.iter().filter_map(laps).map(|laps| view.advisory(view.limits, laps)))
    }

    pub(super) fn fits(&self) -> bool {
        self.agents.len() <= AGENTS
            && self.agents.iter().all(|walker| {
                walker.recent.len() <= RECENT * 2
                    && walker.again.len() <= PLACES
                    && walker.before.len() <= SAMPLE * SAMPLES as usize * 2
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

    /// A lap of this many look-ups.
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
        // One step is new, two have different outcomes or neighbours, two have changed places.
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
        for steps in [90, 130, 200, 300, 700] {
            let one = day.clone() + &lap(steps);
            Script::new(ALONE).play(&(one.clone() + &lap(steps))).expect(RULE, &[]);
            Script::new(ALONE).play(&(one + &lap(steps).repeat(2))).strongest(RULE, Nudge);
        }
    }

    #[test]
    fn long_ways_that_share_a_part() {
        // Days with the same morning round of forty steps, the same checks now and then, and different work.
        let day = |day: usize| -> String {
            let work = |at: usize| (0..9).map(|n| format!("look/d{day}a{at}n{n}:d{day}a{at}n{n} ")).collect::<String>();
            lap(40) + &(0..20).map(|at| work(at) + "look/status:clean ").collect::<String>()
        };
        Script::new(ALONE).play(&(0..5).map(day).collect::<String>()).expect(RULE, &[]);
        // The same route with different answers.
        let answers = |lap: usize| (0..150).map(|n| format!("look/l{n}:lap{lap}n{n} ")).collect::<String>();
        Script::new(ALONE).play(&(0..4).map(answers).collect::<String>()).expect(RULE, &[]);
    }

    #[test]
    fn what_only_looks_like_laps() {
        // The same preparations for different things, changing answers, a new change in each lap, a second look at
        // everything.
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

    /// Two agents taking turns at two tasks: one walks laps, the other makes progress.
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
