//! A run seen as a workflow: the cost of each node's turns, the iterations of each cycle, and what changed meanwhile.
//!
//! Everything is counted per task; a subtask counts for its parent. A node's outputs are compared with its own earlier
//! ones, artifacts and tests with those of the task's last iteration. A measured step forward (fewer failing tests,
//! more items of a checklist done) ends all evidence of a stall. Otherwise each kind of evidence stands on its own: a
//! new patch does not reset repeated outputs, nor do new outputs reset an unchanged patch. Patch and documents are one
//! artifact each, and a new state of one excuses an unchanged other. An outside judge's `progressing` ends the evidence
//! in artifacts and tests.

use crate::codec::{codec, length};
use crate::model::{Body, Checklist, CycleStatus, EvaluationVerdict, Event, HaltReason, Progress, Record, Tests, Turn};
use crate::state::graph::{Cycle, Graph, node_key};
use crate::state::standing::trend;
use crate::state::{KEY_BYTES, Onset, Ring, ScopeKeys, Sighting, TASKS};
use crate::text::{
    FailureFacts, Key, canonical_json, combine, document, evidence, failing_tests, patch, printable, salted,
};
use alloc::{format, string::String, string::ToString, vec, vec::Vec};

/// Nodes counted per task, and per run.
const NODES: usize = 256;
/// Nodes per task whose outputs are compared.
const VOICES: usize = 16;
/// Cycles counted per task.
const CYCLES: usize = 64;
/// Characters kept of the name of a node that is in no graph.
const NAME: usize = 48;
/// Digests of each kind kept as evidence.
const EVIDENCE: usize = 5;
/// Artifact states remembered, to tell a new one from one that came back.
const ARTIFACTS: usize = 8;
/// Readings of failing tests kept for a trend.
const TREND: usize = 8;
/// Counts of failing tests kept within a streak, to tell a fall from a swing.
const SWING: usize = 16;

/// Whether an event is about a workflow.
pub(crate) fn is_of_a_workflow(body: &Body) -> bool {
    match body {
        Body::Turn(_) | Body::Delivery(_) | Body::Progress(_) | Body::Failure(_) | Body::Collaboration(_) => true,
        Body::Evaluation(evaluation) => evaluation.verdict == EvaluationVerdict::Progressing,
        _ => false,
    }
}

/// What the run provides about the current event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) here: Sighting,
    pub(crate) onset: Onset,
    /// Iterations of the run, as shown by outputs, rounds and turn starts.
    pub(crate) iterations: u32,
    /// Key of the task, or of its parent; 0 for none.
    pub(crate) task: Key,
    pub(crate) cost_micros: Option<u64>,
    /// The detector's salt, for keys of reported content.
    pub(crate) salt: u64,
}

/// The workflow of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workflow {
    declared: Option<Graph>,
    learned: Graph,
    /// The most recently active is last.
    tasks: Ring<Task>,
    /// Turns and costs of the nodes over the whole run.
    nodes: Ring<Node>,
    /// Nodes, voices and cycles of tasks that were dropped to make room.
    lost: u64,
}
codec!(struct Workflow { declared, learned, tasks, nodes, lost });

/// A workflow with the graph in force.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow<'a> {
    pub(crate) graph: &'a Graph,
    tasks: &'a Ring<Task>,
    nodes: &'a Ring<Node>,
}

/// The counters of one task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Task {
    key: Key,
    /// Failures so far; if nothing else shows iterations, each ends one.
    failures: u32,
    flows: bool,
    /// The cycle that was last active.
    active: Option<Key>,
    nodes: Ring<Node>,
    cycles: Ring<Laps>,
    voices: Ring<Voice>,
    pub(crate) diff: Artifact,
    pub(crate) docs: Artifact,
    pub(crate) failing: Failing,
    checklist: Option<Checklist>,
    /// Evidence: keys of the latest sets of failing tests and node outputs.
    sets: Ring<Key>,
    outputs: Ring<Key>,
}
codec!(struct Task {
    key, failures, flows, active, nodes, cycles, voices, diff, docs, failing, checklist, sets, outputs,
});

/// Turns of a node, with their time and cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    key: Key,
    /// Set if the graph did not know the node at its first turn.
    name: Option<String>,
    pub(crate) turns: u32,
    pub(crate) runtime_ms: u64,
    pub(crate) cost_micros: u64,
    /// Onset of the first turn.
    pub(crate) onset: Onset,
    pub(crate) latest: Sighting,
}
codec!(struct Node { key, name, turns, runtime_ms, cost_micros, onset, latest });

impl Node {
    /// Counts a turn; returns how many other nodes were dropped to make room.
    fn count(nodes: &mut Ring<Self>, turn: &Turn, known: bool, moment: &Moment) -> u64 {
        let key = node_key(&turn.node);
        let mut node = nodes.take(|node| node.key == key).unwrap_or_else(|| Self {
            key,
            name: (!known).then(|| printable(&turn.node, NAME).into_owned()),
            onset: moment.onset,
            ..Self::default()
        });
        node.turns = node.turns.saturating_add(1);
        node.runtime_ms = node.runtime_ms.saturating_add(turn.duration_ms.unwrap_or(0));
        node.cost_micros = node.cost_micros.saturating_add(moment.cost_micros.unwrap_or(0));
        node.latest = Sighting { key, ..moment.here };
        nodes.push_counted(node, NODES)
    }

    /// Upper bound on its encoded bytes.
    fn weight(&self) -> usize {
        let name = self.name.as_ref().map_or(0, String::len);
        let figures = 8 + length(self.runtime_ms) + length(self.cost_micros);
        KEY_BYTES + name + figures + self.onset.weight() + self.latest.weight()
    }

    fn fits(&self) -> bool {
        self.name.as_ref().is_none_or(|name| name.len() <= NAME * 4)
    }
}

/// The iterations of a cycle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Laps {
    key: Key,
    pub(crate) iterations: u32,
    trend: Ring<u32>,
    halted: Option<HaltReason>,
    pub(crate) onset: Onset,
    pub(crate) latest: Sighting,
}
codec!(struct Laps { key, iterations, trend, halted, onset, latest });

/// The outputs of one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Voice {
    node: Key,
    pub(crate) message: Unchanged,
    pub(crate) structured: Unchanged,
    pub(crate) message_flips: Flips,
    pub(crate) structured_flips: Flips,
}
codec!(struct Voice { node, message, structured, message_flips, structured_flips });

impl Voice {
    fn fits(&self) -> bool {
        self.message.fits() && self.structured.fits() && self.message_flips.fits() && self.structured_flips.fits()
    }
}

/// A streak of the same thing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unchanged {
    pub(crate) key: Key,
    pub(crate) count: u32,
    /// Iteration of the latest occurrence; 0 if unknown.
    lap: u32,
    pub(crate) onset: Onset,
    pub(crate) sightings: Ring<Sighting>,
}
codec!(struct Unchanged { key, count, lap, onset, sightings });

impl Unchanged {
    /// Adds an occurrence; within the same iteration it replaces the last one.
    fn again(&mut self, lap: u32, moment: &Moment, key: Key) {
        if lap == 0 || lap != self.lap || self.count == 0 {
            self.count = self.count.saturating_add(1);
        }
        self.lap = lap;
        self.key = key;
        self.sightings.push(Sighting { key, ..moment.here }, EVIDENCE);
    }

    /// Starts a new streak with a first occurrence.
    fn restart(&mut self, lap: u32, moment: &Moment, key: Key) {
        *self = Self { onset: moment.onset, ..Self::default() };
        self.again(lap, moment, key);
    }

    fn see(&mut self, lap: u32, moment: &Moment, key: Key) {
        if self.count != 0 && self.key == key {
            self.again(lap, moment, key);
        } else {
            self.restart(lap, moment, key);
        }
    }

    fn weight(&self) -> usize {
        KEY_BYTES + 11 + self.onset.weight() + self.sightings.iter().map(Sighting::weight).sum::<usize>()
    }

    fn fits(&self) -> bool {
        self.sightings.len() <= EVIDENCE
    }
}

/// Alternation between two things.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flips {
    last: Key,
    before: Key,
    /// How many of the latest values alternate.
    alternating: u32,
    pub(crate) onset: Onset,
    last_onset: Onset,
    pub(crate) sightings: Ring<Sighting>,
}
codec!(struct Flips { last, before, alternating, onset, last_onset, sightings });

impl Flips {
    fn see(&mut self, moment: &Moment, key: Key) {
        if self.alternating == 0 || key == self.last {
            self.alternating = 1;
            self.onset = moment.onset;
        } else if self.alternating >= 2 && key == self.before {
            self.alternating = self.alternating.saturating_add(1);
        } else {
            self.alternating = 2;
            self.onset = self.last_onset;
        }
        self.before = self.last;
        self.last = key;
        self.last_onset = moment.onset;
        self.sightings.push(Sighting { key, ..moment.here }, EVIDENCE);
    }

    /// Complete laps, each of two values.
    pub(crate) fn laps(&self) -> u32 {
        self.alternating / 2
    }

    /// Key of the two values, in either order.
    pub(crate) fn pair(&self) -> Key {
        combine("flips", &[self.last.min(self.before), self.last.max(self.before)])
    }

    fn weight(&self) -> usize {
        let onsets = self.onset.weight() + self.last_onset.weight();
        2 * KEY_BYTES + 6 + onsets + self.sightings.iter().map(Sighting::weight).sum::<usize>()
    }

    fn fits(&self) -> bool {
        self.sightings.len() <= EVIDENCE
    }
}

/// What an iteration produces: the patch, or the documents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Artifact {
    pub(crate) streak: Unchanged,
    pub(crate) flips: Flips,
    /// States seen, the newest last, to tell a new one from one that came back.
    known: Ring<Key>,
    /// Evidence: keys of the latest states.
    latest: Ring<Key>,
}
codec!(struct Artifact { streak, flips, known, latest });

impl Artifact {
    /// Takes in a state; true if it is new.
    fn see(&mut self, lap: u32, moment: &Moment, key: Key) -> bool {
        self.latest.push(key, EVIDENCE);
        // Until something was produced, nothing can stay unchanged: reading comes before writing.
        if self.known.len() == 0 && key == 0 {
            return false;
        }
        let new = key != 0 && !self.known.iter().any(|known| *known == key);
        if new {
            self.known.push(key, ARTIFACTS);
        }
        self.streak.see(lap, moment, key);
        self.flips.see(moment, key);
        new
    }

    /// There was progress: the current state begins a new streak.
    fn restart(&mut self) {
        self.streak = Unchanged::default();
        self.flips = Flips::default();
    }

    /// The other artifact is new in this iteration, which excuses this one for being unchanged. `carried` is this one's
    /// state in the same event, if any.
    fn excuse(&mut self, lap: u32, moment: &Moment, carried: Option<Key>) {
        match carried.filter(|_| self.streak.count != 0) {
            Some(key) => self.streak.restart(lap, moment, key),
            None if lap != 0 && self.streak.lap == lap => self.streak.count = self.streak.count.min(1),
            None => self.streak = Unchanged::default(),
        }
    }

    fn weight(&self) -> usize {
        self.streak.weight() + self.flips.weight() + KEY_BYTES * (self.known.len() + self.latest.len())
    }

    fn fits(&self) -> bool {
        self.streak.fits() && self.flips.fits() && self.known.len() <= ARTIFACTS && self.latest.len() <= EVIDENCE
    }
}

/// Failing tests that do not decrease.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failing {
    pub(crate) streak: Unchanged,
    /// Whether the same tests failed throughout.
    pub(crate) same: bool,
    pub(crate) latest: u32,
    total: Option<u32>,
    coverage: Option<u32>,
    set: Option<Key>,
    /// Counts of failing tests in this streak.
    figures: Ring<u32>,
}
codec!(struct Failing { streak, same, latest, total, coverage, set, figures });

impl Failing {
    /// Takes in a reading; `ids` are the key and the number of the failing tests. True if it is a step forward.
    fn see(&mut self, lap: u32, moment: &Moment, tests: &Tests, ids: Option<(Key, u32)>) -> bool {
        let Some(failing) = tests.failing.or(ids.map(|(_, size)| size)) else { return false };
        let set = ids.map(|(set, _)| set);
        let key = set.unwrap_or_else(|| salted("failing", moment.salt, &failing.to_le_bytes()));
        if self.streak.count == 0 {
            self.begin(lap, moment, tests, key, failing, set);
            return false;
        }
        // Falling back to a count that this streak has already had is a swing.
        let fewer = failing < self.latest && !self.figures.iter().any(|figure| *figure == failing);
        let rarer = match (self.total, tests.total) {
            // The very same tests still fail, however many others there are by now.
            _ if set.is_some() && set == self.set => false,
            (Some(before), Some(total)) => {
                failing <= self.latest
                    && u64::from(failing) * u64::from(before) < u64::from(self.latest) * u64::from(total)
            }
            _ => false,
        };
        let covered = self.coverage.zip(tests.coverage_hundredths()).is_some_and(|(before, now)| now > before);
        if fewer || rarer || covered || failing == 0 {
            self.begin(lap, moment, tests, key, failing, set);
            return true;
        }
        self.same &= set.is_some() && set == self.set;
        self.streak.again(lap, moment, key);
        self.note(tests, failing, set);
        false
    }

    fn begin(&mut self, lap: u32, moment: &Moment, tests: &Tests, key: Key, failing: u32, set: Option<Key>) {
        *self = Self { same: set.is_some(), ..Self::default() };
        // Passing tests do not stall, however often.
        if failing != 0 {
            self.streak.restart(lap, moment, key);
        }
        self.note(tests, failing, set);
    }

    fn note(&mut self, tests: &Tests, failing: u32, set: Option<Key>) {
        self.latest = failing;
        self.total = tests.total;
        self.coverage = tests.coverage_hundredths();
        self.set = set;
        self.figures.push(failing, SWING);
    }
}

impl Task {
    /// The iteration the task is in, from 1; 0 if nothing shows iterations, so that every reading is one.
    ///
    /// Turns are counted by the busiest node: what two nodes leave unchanged in one lap of a cycle is one reading.
    fn lap(&self, moment: &Moment) -> u32 {
        let turns = self.most_turns();
        if turns != 0 {
            turns
        } else if self.flows {
            self.most_laps().saturating_add(1)
        } else if moment.iterations != 0 {
            moment.iterations
        } else {
            self.failures
        }
    }

    /// Counts a turn; returns how many nodes and voices were dropped to make room.
    fn turn(&mut self, turn: &Turn, cycle: Option<&Cycle>, known_node: bool, moment: &Moment) -> u64 {
        self.flows = true;
        let name = node_key(&turn.node);
        let mut lost = Node::count(&mut self.nodes, turn, known_node, moment);
        if let Some(cycle) = cycle {
            self.active = Some(cycle.key);
        }
        let message = turn.final_message.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let message = message.map(|text| salted("final-message", moment.salt, text.as_bytes()));
        let structured = turn.structured_output.as_ref().map(|value| {
            let mut text = String::new();
            canonical_json(value, &mut text);
            salted("structured-output", moment.salt, text.as_bytes())
        });
        let output = match (message, structured) {
            (None, None) => return lost,
            (Some(key), None) | (None, Some(key)) => key,
            (Some(message), Some(structured)) => combine("output", &[message, structured]),
        };
        self.outputs.push(output, EVIDENCE);
        let known = self.voices.take(|voice| voice.node == name);
        let mut voice = known.unwrap_or_else(|| Voice { node: name, ..Voice::default() });
        if let Some(message) = message {
            voice.message.see(0, moment, message);
            voice.message_flips.see(moment, message);
        }
        if let Some(structured) = structured {
            voice.structured.see(0, moment, structured);
            voice.structured_flips.see(moment, structured);
        }
        lost += self.voices.push_counted(voice, VOICES);
        lost
    }

    /// Counts a delivery; returns how many other cycles were dropped to make room.
    fn delivery(&mut self, cycle: Option<&Cycle>, closes: bool, moment: &Moment) -> u64 {
        self.flows = true;
        let Some(cycle) = cycle else { return 0 };
        self.active = Some(cycle.key);
        let mut laps = self.take_or_begin(cycle.key, moment);
        if closes {
            laps.iterations = laps.iterations.saturating_add(1);
            laps.latest = Sighting { key: cycle.key, ..moment.here };
        }
        self.cycles.push_counted(laps, CYCLES)
    }

    /// Takes in a progress report; whether it is a step forward.
    fn progress(&mut self, progress: &Progress, moment: &Moment) -> bool {
        let lap = self.lap(moment);
        let mut forward = false;
        let first = self.checklist.is_none() && progress.checklist.is_some_and(|now| now.done > 0);
        if let Some(tests) = &progress.tests {
            let ids = tests.failing_ids.as_deref().map(|ids| failing_tests(ids, moment.salt));
            forward |= self.failing.see(lap, moment, tests, ids);
            if let Some((set, _)) = ids {
                self.sets.push(set, EVIDENCE);
            }
            if let (Some(failing), Some(active)) = (tests.failing.or(ids.map(|(_, size)| size)), self.active) {
                let mut laps = self.take_or_begin(active, moment);
                laps.trend.push(failing, TREND);
                self.cycles.push(laps, CYCLES);
            }
        }
        if let Some(checklist) = progress.checklist {
            if self.checklist.is_some_and(|before| checklist.done > before.done) {
                forward = true;
                self.keep_failing(moment);
            }
            self.checklist = Some(checklist);
        }
        if forward {
            self.voices.clear();
            self.diff.restart();
            self.docs.restart();
        }
        self.artifacts(progress, lap, moment);
        forward || first
    }

    /// The tests that fail now are where the next step starts.
    fn keep_failing(&mut self, moment: &Moment) {
        self.failing.streak.count = self.failing.streak.count.min(1);
        self.failing.streak.onset = moment.onset;
    }

    fn artifacts(&mut self, progress: &Progress, lap: u32, moment: &Moment) {
        let diff = progress.diff.as_deref().map(|text| patch(text, moment.salt));
        let docs = progress.docs.as_deref().map(|text| document(text, moment.salt));
        let new_diff = diff.is_some_and(|diff| self.diff.see(lap, moment, diff));
        let new_docs = docs.is_some_and(|docs| self.docs.see(lap, moment, docs));
        match (new_diff, new_docs) {
            (true, false) => self.docs.excuse(lap, moment, docs),
            (false, true) => self.diff.excuse(lap, moment, diff),
            _ => {}
        }
    }

    /// An outside judge says that the task makes progress.
    fn judged_to_progress(&mut self, moment: &Moment) {
        self.diff.restart();
        self.docs.restart();
        self.keep_failing(moment);
    }

    fn take(&mut self, cycle: Key) -> Option<Laps> {
        self.cycles.take(|laps| laps.key == cycle)
    }

    fn take_or_begin(&mut self, cycle: Key, moment: &Moment) -> Laps {
        self.take(cycle).unwrap_or_else(|| Laps { key: cycle, onset: moment.onset, ..Laps::default() })
    }

    pub(crate) fn key(&self) -> Key {
        self.key
    }

    /// Length of the longest streak of identical outputs of a node. With the three below, this is how far the workflow
    /// rules are.
    pub(crate) fn most_identical(&self) -> u32 {
        self.voices.iter().map(|voice| voice.message.count.max(voice.structured.count)).max().unwrap_or(0)
    }

    pub(crate) fn most_flips(&self) -> u32 {
        let voices = self.voices.iter().map(|voice| voice.message_flips.laps().max(voice.structured_flips.laps()));
        voices.chain([self.diff.flips.laps(), self.docs.flips.laps()]).max().unwrap_or(0)
    }

    pub(crate) fn most_turns(&self) -> u32 {
        self.nodes.iter().map(|node| node.turns).max().unwrap_or(0)
    }

    pub(crate) fn most_laps(&self) -> u32 {
        self.cycles.iter().map(|laps| laps.iterations).max().unwrap_or(0)
    }

    /// The counters of a node, after its turn.
    pub(crate) fn node(&self, name: &str) -> Option<&Node> {
        let key = node_key(name);
        self.nodes.iter().rev().find(|node| node.key == key)
    }

    /// The outputs of a node, after its turn.
    pub(crate) fn voice(&self, name: &str) -> Option<&Voice> {
        let key = node_key(name);
        self.voices.iter().rev().find(|voice| voice.node == key)
    }

    pub(crate) fn laps(&self, cycle: &Cycle) -> Option<&Laps> {
        self.cycles.iter().find(|laps| laps.key == cycle.key)
    }

    /// The turns of a cycle's nodes combined: time, cost, the first onset and the latest sighting.
    pub(crate) fn spent(&self, cycle: &Cycle) -> Node {
        let members = self.nodes.iter().filter(|node| cycle.members.contains(&node.key));
        let mut spent: Option<Node> = None;
        for node in members {
            let sum = spent.get_or_insert_with(|| Node { onset: node.onset, ..Node::default() });
            sum.runtime_ms = sum.runtime_ms.saturating_add(node.runtime_ms);
            sum.cost_micros = sum.cost_micros.saturating_add(node.cost_micros);
            if node.onset.seq < sum.onset.seq {
                sum.onset = node.onset;
            }
            if node.latest.seq >= sum.latest.seq {
                sum.latest = node.latest;
            }
        }
        spent.unwrap_or_default()
    }

    /// Id of the cycle that was last active; a task without one is a cycle of its own.
    pub(crate) fn cycle_id(&self) -> String {
        evidence(self.active.unwrap_or_else(|| combine("implicit-cycle", &[self.key]))).into()
    }

    pub(crate) fn is_on_a_cycle(&self) -> bool {
        self.active.is_some()
    }

    /// The record of a halt.
    pub(crate) fn record(&self, reason: HaltReason, actions: &[String], at: Option<i64>) -> Record {
        Record::LoopHalted {
            cycle_id: self.cycle_id(),
            halt_reason: reason,
            diff_hashes: shown(&self.diff.latest),
            docs_hashes: shown(&self.docs.latest),
            failing_test_signatures: shown(&self.sets),
            output_hashes: shown(&self.outputs),
            suggested_actions: actions.to_vec(),
            timestamp: at,
        }
    }

    /// Upper bound on its encoded bytes.
    fn weight(&self) -> usize {
        let laps = |laps: &Laps| KEY_BYTES + 8 + 5 * laps.trend.len() + laps.onset.weight() + laps.latest.weight();
        let voice = |voice: &Voice| {
            let flips = voice.message_flips.weight() + voice.structured_flips.weight();
            KEY_BYTES + voice.message.weight() + voice.structured.weight() + flips
        };
        let keys = KEY_BYTES * (2 + self.sets.len() + self.outputs.len());
        let failing = self.failing.streak.weight() + 5 * self.failing.figures.len() + 40;
        self.nodes.iter().map(Node::weight).sum::<usize>()
            + self.cycles.iter().map(laps).sum::<usize>()
            + self.voices.iter().map(voice).sum::<usize>()
            + self.diff.weight()
            + self.docs.weight()
            + failing
            + keys
            + 40
    }

    fn fits(&self) -> bool {
        self.nodes.len() <= NODES
            && self.nodes.iter().all(Node::fits)
            && self.cycles.len() <= CYCLES
            && self.cycles.iter().all(|laps| laps.trend.len() <= TREND)
            && self.voices.len() <= VOICES
            && self.voices.iter().all(Voice::fits)
            && self.diff.fits()
            && self.docs.fits()
            && self.failing.streak.fits()
            && self.failing.figures.len() <= SWING
            && [&self.sets, &self.outputs].iter().all(|keys| keys.len() <= EVIDENCE)
    }
}

impl<'a> Flow<'a> {
    /// The task that the current turn, delivery or progress report belongs to.
    pub(crate) fn task(&self) -> Option<&'a Task> {
        self.tasks.last()
    }

    /// The counters of a node over the whole run.
    pub(crate) fn node_of_run(&self, key: Key) -> Option<&'a Node> {
        self.nodes.iter().rev().find(|node| node.key == key)
    }

    /// The largest value of `of` over the tasks in a scope; 0 if there are none.
    pub(crate) fn most(&self, whose: &ScopeKeys, of: impl Fn(&Task) -> u32) -> u32 {
        self.tasks.iter().filter(|task| whose.has_task(task.key)).map(of).max().unwrap_or(0)
    }

    /// The state of a task, if it has any.
    pub(crate) fn of(&self, task: Key) -> Option<&'a Task> {
        self.tasks.iter().find(|known| known.key == task)
    }

    /// The cycle that the current turn or delivery goes through.
    pub(crate) fn cycle(&self, event: &Event) -> Option<&'a Cycle> {
        match &event.body {
            Body::Turn(turn) => self.graph.cycle_of(node_key(&turn.node)),
            Body::Delivery(delivery) => {
                let (from, to) = (node_key(&delivery.from), node_key(&delivery.to));
                self.graph.cycle_through(from, to, delivery.edge.as_deref())
            }
            _ => None,
        }
    }
}

/// What a node has used of its budgets.
#[derive(Clone, Debug)]
pub(crate) struct NodeUsage {
    pub(crate) name: String,
    /// Whether the default budget applies to it.
    pub(crate) bound: bool,
    pub(crate) turns: u32,
    /// Turns and milliseconds over the whole run.
    pub(crate) of_run: (u32, u64),
}

/// Digests as shown in a status and a record.
#[inline(never)]
fn shown(keys: &Ring<Key>) -> Vec<String> {
    keys.iter().map(|key| evidence(*key).into()).collect()
}

impl Workflow {
    /// The workflow with the graph in force: the run's own, else the configured one, else the learned one.
    pub(crate) fn flow<'a>(&'a self, configured: Option<&'a Graph>) -> Flow<'a> {
        Flow {
            graph: self.declared.as_ref().or(configured).unwrap_or(&self.learned),
            tasks: &self.tasks,
            nodes: &self.nodes,
        }
    }

    /// Replaces the graph. Counters of cycles that it also has continue.
    pub(crate) fn declare(&mut self, graph: Graph) {
        for task in self.tasks.iter_mut() {
            let mut kept = Ring::default();
            for laps in task.cycles.iter().filter(|laps| graph.has_cycle(laps.key)) {
                kept.push(laps.clone(), CYCLES);
            }
            task.cycles = kept;
            task.active = task.active.filter(|active| graph.has_cycle(*active));
        }
        self.declared = Some(graph);
    }

    pub(crate) fn is_declared(&self) -> bool {
        self.declared.is_some()
    }

    /// The workflow of a run that starts over: a declared graph is not evidence and stays.
    pub(crate) fn fresh(&mut self) -> Self {
        Self { declared: self.declared.take(), ..Self::default() }
    }

    /// Takes in an event [of a workflow](is_of_a_workflow); whether it reports a step forward.
    pub(crate) fn observe(&mut self, event: &Event, configured: Option<&Graph>, moment: &Moment) -> bool {
        if self.declared.is_none() && configured.is_none() {
            self.learn(event);
        }
        if matches!(event.body, Body::Collaboration(_)) {
            return false;
        }
        let known = self.tasks.take(|task| task.key == moment.task);
        let mut task = known.unwrap_or_else(|| Task { key: moment.task, ..Task::default() });
        let flow = self.flow(configured);
        let cycle = flow.cycle(event);
        let (mut lost, mut forward) = (0, false);
        match &event.body {
            Body::Turn(turn) => {
                let known = !flow.graph.name(node_key(&turn.node)).is_empty();
                lost = task.turn(turn, cycle, known, moment) + Node::count(&mut self.nodes, turn, known, moment);
            }
            Body::Delivery(delivery) => {
                let closes = cycle.is_some_and(|cycle| cycle.driver == node_key(&delivery.to));
                lost = task.delivery(cycle, closes, moment);
            }
            Body::Progress(progress) => forward = task.progress(progress, moment),
            // An external failure does not end an iteration of the work.
            Body::Failure(failure) => {
                task.failures =
                    task.failures.saturating_add(u32::from(!FailureFacts::of(failure, moment.salt).external));
            }
            Body::Evaluation(_) => task.judged_to_progress(moment),
            _ => {}
        }
        self.tasks.push(task, TASKS);
        self.lost = self.lost.saturating_add(lost);
        forward
    }

    fn learn(&mut self, event: &Event) {
        let (from, to, edge) = match &event.body {
            Body::Delivery(delivery) => (&delivery.from, &delivery.to, delivery.edge.as_deref()),
            Body::Collaboration(collaboration) => (&collaboration.from, &collaboration.to, None),
            _ => return,
        };
        let before = self.learned.cycles().to_vec();
        if !self.learned.learn(from, to, edge) {
            return;
        }
        // The edges of a learned cycle existed all along: a cycle that turns out to be larger keeps the iterations of
        // its busiest known part.
        for cycle in self.learned.cycles().iter().filter(|cycle| !before.contains(cycle)) {
            let part = |old: &&Cycle| old.members.iter().all(|member| cycle.members.contains(member));
            let parts: Vec<Key> = before.iter().filter(part).map(|old| old.key).collect();
            for task in self.tasks.iter_mut() {
                let known = task.cycles.iter().filter(|laps| parts.contains(&laps.key));
                if let Some(most) = known.max_by_key(|laps| laps.iterations).cloned() {
                    task.cycles.push(Laps { key: cycle.key, ..most }, CYCLES);
                }
                if task.active.is_some_and(|active| parts.contains(&active)) {
                    task.active = Some(cycle.key);
                }
            }
        }
        let graph = &self.learned;
        for task in self.tasks.iter_mut() {
            let gone: Vec<Key> =
                task.cycles.iter().map(|laps| laps.key).filter(|laps| !graph.has_cycle(*laps)).collect();
            for key in gone {
                task.take(key);
            }
            task.active = task.active.filter(|active| graph.has_cycle(*active));
        }
    }

    /// Upper bound on the encoded bytes of all that is counted for tasks.
    pub(crate) fn weight(&self) -> usize {
        self.tasks.iter().map(Task::weight).sum::<usize>() + self.nodes.iter().map(Node::weight).sum::<usize>()
    }

    #[cfg(test)]
    pub(crate) fn graph_bytes(&self) -> usize {
        crate::codec::encode(&self.declared).len() + crate::codec::encode(&self.learned).len()
    }

    /// Drops only the counters of a task.
    pub(crate) fn drop_task(&mut self, task: Key) {
        self.tasks.retain(|known| known.key != task);
    }

    /// Drops the older half of the parts of tasks; returns how many.
    pub(crate) fn shed(&mut self) -> u64 {
        let halves = |task: &mut Task| task.nodes.halve() + task.voices.halve() + task.cycles.halve();
        let parts: u64 = self.tasks.iter_mut().map(halves).sum();
        // The budgets that nodes have used are forgotten last.
        if parts == 0 { self.nodes.halve() } else { parts }
    }

    /// Parts of tasks dropped at their caps since the last call.
    pub(crate) fn take_lost(&mut self) -> u64 {
        core::mem::take(&mut self.lost)
    }

    /// Drops the counters of a task, or of all for 0. The turns that its nodes have used are given back only if a
    /// `human` asked.
    pub(crate) fn forget_task(&mut self, task: Key, human: bool) {
        // Task 0 stands for the run as a whole.
        let named = |known: &Task| task == 0 || known.key == task;
        if human {
            let tasks = &self.tasks;
            let took = |node: &Node| {
                tasks.iter().filter(|known| named(known)).any(|task| task.nodes.iter().any(|own| own.key == node.key))
            };
            self.nodes.retain(|node| task != 0 && !took(node));
        }
        self.tasks.retain(|known| !named(known));
    }

    /// Notes why the cycle of a record was halted.
    pub(crate) fn halted(&mut self, records: &[Record]) {
        for record in records {
            let Record::LoopHalted { cycle_id, halt_reason, .. } = record else { continue };
            if let Some(task) = self.tasks.iter_mut().next_back()
                && let Some(active) = task.active.filter(|active| evidence(*active) == *cycle_id)
            {
                let mut laps = task.take(active).unwrap_or_else(|| Laps { key: active, ..Laps::default() });
                laps.halted = Some(*halt_reason);
                task.cycles.push(laps, CYCLES);
            }
        }
    }

    /// Evidence of a task as lines of a report: digests, oldest first.
    pub(crate) fn evidence(&self, task: Key) -> Vec<String> {
        let Some(task) = self.tasks.iter().find(|known| known.key == task).filter(|task| task.flows) else {
            return Vec::new();
        };
        let lists = [
            ("Diffs", &task.diff.latest),
            ("Documents", &task.docs.latest),
            ("Failing tests", &task.sets),
            ("Outputs", &task.outputs),
        ];
        let shown = |(name, keys): (&str, &Ring<Key>)| {
            let digests: Vec<String> = keys.iter().map(|key| format!("`{}`", evidence(*key))).collect();
            format!("{name}: {}", digests.join(", "))
        };
        let mut lines = vec![format!("Cycle: `{}`", task.cycle_id())];
        lines.extend(lists.into_iter().filter(|(_, keys)| keys.len() != 0).map(shown));
        lines
    }

    /// Every cycle of the graph in force with the state of a task, or of the last active one if none is named. `limit`
    /// is the most iterations allowed; 0 for no limit.
    pub(crate) fn cycles(&self, configured: Option<&Graph>, task: Option<Key>, limit: u32) -> Vec<CycleStatus> {
        let flow = self.flow(configured);
        let named = task.is_some();
        let task = task.map_or_else(|| flow.task(), |task| flow.of(task));
        let status = |cycle: &Cycle| {
            let laps = task.and_then(|task| task.laps(cycle));
            let active = task.filter(|task| task.active == Some(cycle.key));
            let list = |of: fn(&Task) -> &Ring<Key>| active.map(of).map(shown).unwrap_or_default();
            let figures: Vec<u32> = laps.iter().flat_map(|laps| laps.trend.iter().copied()).collect();
            let iterations = laps.map_or(0, |laps| laps.iterations);
            let of = if limit == 0 { String::new() } else { format!("/{limit}") };
            CycleStatus {
                cycle_id: cycle.id(),
                nodes: cycle.members.iter().map(|member| flow.graph.name(*member).to_string()).collect(),
                driver: flow.graph.name(cycle.driver).to_string(),
                badge: format!("Loop {iterations}{of}"),
                iterations,
                iterations_left: (limit != 0).then(|| limit.saturating_sub(iterations)),
                trend: trend(&figures),
                last_halt_reason: laps.and_then(|laps| laps.halted),
                diff_hashes: list(|task| &task.diff.latest),
                docs_hashes: list(|task| &task.docs.latest),
                failing_test_signatures: list(|task| &task.sets),
                output_hashes: list(|task| &task.outputs),
            }
        };
        // A declared workflow applies to every task; of a learned one, a task has the cycles that it went through.
        let has = |cycle: &&Cycle| {
            !named
                || flow.graph.is_declared()
                || task.is_some_and(|task| task.laps(cycle).is_some() || task.active == Some(cycle.key))
        };
        flow.graph.cycles().iter().filter(has).map(status).collect()
    }

    /// Turns of every node that a budget may apply to, by name, in a task or else in the whole run, and what the run as
    /// a whole has used.
    pub(crate) fn nodes(&self, configured: Option<&Graph>, task: Option<Key>) -> Vec<NodeUsage> {
        let flow = self.flow(configured);
        let nodes = task.map_or(Some(&self.nodes), |task| flow.of(task).map(|task| &task.nodes));
        let taken = |name: &str, key: Key, bound: bool| {
            let own = nodes.and_then(|nodes| nodes.iter().find(|node| node.key == key));
            let turns = own.map_or(0, |node| node.turns);
            let all = flow.node_of_run(key).map_or((0, 0), |node| (node.turns, node.runtime_ms));
            NodeUsage { name: name.to_string(), bound, turns, of_run: all }
        };
        let its_own = task.and_then(|task| flow.of(task));
        let has = |key: Key| {
            let turned = nodes.is_some_and(|nodes| nodes.iter().any(|node| node.key == key));
            let laps = || flow.graph.cycles().iter().filter(|cycle| cycle.members.contains(&key));
            turned || laps().any(|cycle| its_own.is_some_and(|task| task.laps(cycle).is_some()))
        };
        let of_graph = flow.graph.nodes().filter(|(key, _)| task.is_none() || flow.graph.is_declared() || has(*key));
        let of_graph = of_graph.map(|(key, name)| taken(name, key, flow.graph.binds(key)));
        let others = nodes.into_iter().flat_map(|nodes| nodes.iter()).filter_map(|node| {
            let name = node.name.as_ref().filter(|_| flow.graph.name(node.key).is_empty())?;
            Some(taken(name, node.key, false))
        });
        of_graph.chain(others).collect()
    }

    pub(crate) fn fits(&self) -> bool {
        self.declared.as_ref().is_none_or(|graph| graph.is_declared() && graph.fits())
            && !self.learned.is_declared()
            && self.learned.fits()
            && self.tasks.len() <= TASKS
            && self.tasks.iter().all(Task::fits)
            && self.nodes.len() <= NODES
            && self.nodes.iter().all(Node::fits)
    }
}
