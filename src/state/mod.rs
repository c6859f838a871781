//! Bounded memory: what is kept of a run, and the store of runs.
//!
//! No payload is kept: keys (hashes) and short signatures only. Every collection here has a cap, and
//! [`Run::fits`] lets a restored snapshot be refused where it exceeds one.

mod graph;
mod pairing;
mod ring;
mod snapshot;
mod store;
mod workflow;

pub(crate) use graph::{Cycle, Graph, node_key};
pub(crate) use pairing::{Call, Matched, Pairing, Step, agent};
pub(crate) use ring::Ring;
use snapshot::json_text;
pub(crate) use snapshot::{open, seal};
pub(crate) use store::{Forgotten, Store};
pub(crate) use workflow::{Flow, Moment, Task, Workflow};

use crate::model::{Context, Finding, Level};
use crate::policy::Ladder;
use crate::rules::{Facts, States};
use crate::text::Key;
use serde::{Deserialize, Serialize};

/// Mutations remembered, to tell a new change from one made before.
const MUTATIONS: usize = 128;
/// Findings kept for reports and status.
const FINDINGS: usize = 8;
/// Readings of failing tests kept for the progress trend.
const TREND: usize = 8;

/// What a run had consumed when something happened: the difference to now is what has been spent since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Onset {
    /// The event's sequence number.
    pub(crate) seq: u64,
    /// Events of the run before it.
    pub(crate) events: u64,
    pub(crate) tokens: u64,
    pub(crate) cost_micros: u64,
    pub(crate) at: Option<i64>,
}

/// One event as evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sighting {
    pub(crate) seq: u64,
    pub(crate) step: Option<u64>,
    /// Key of what was compared; only a digest of it leaves.
    pub(crate) key: Key,
}

/// Everything kept of one run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Events recorded.
    pub(crate) events: u64,
    /// Calls that got an outcome.
    pub(crate) steps: u64,
    /// Sequence number of the latest event, for eviction.
    pub(crate) touched: u64,
    /// Newest event time seen, in milliseconds since the Unix epoch.
    pub(crate) now: Option<i64>,
    /// Event time of the first event that carried one.
    pub(crate) started: Option<i64>,
    /// Tokens and cost told so far; `None` until an event tells them.
    pub(crate) tokens: Option<u64>,
    pub(crate) cost_micros: Option<u64>,
    /// New mutations so far: successful changes that were not among the latest [`MUTATIONS`].
    pub(crate) new_mutations: u64,
    mutations: Ring<Key>,
    pub(crate) pairing: Pairing,
    /// Iterations counted in each of the ways a host may show them.
    pub(crate) iterations: Iterations,
    pub(crate) trend: Ring<u32>,
    /// Turns, deliveries and progress, seen as a workflow.
    pub(crate) workflow: Workflow,
    pub(crate) rules: States,
    pub(crate) ladder: Ladder,
    /// Level of the latest verdict.
    pub(crate) level: Level,
    /// Strongest level since the last reset.
    pub(crate) peak: Level,
    /// Event time of the first finding at `nudge` or above since the last reset.
    pub(crate) detected_at: Option<i64>,
    /// The latest finding of every loop, newest last.
    #[serde(with = "json_text")]
    pub(crate) findings: alloc::vec::Vec<Finding>,
    /// A human said stop.
    pub(crate) stopped: bool,
}

/// Iterations of the agent loop, counted in each of the ways a host may show them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Iterations {
    pub(crate) outputs: u32,
    pub(crate) turns: u32,
    pub(crate) turn_starts: u32,
    pub(crate) rounds: u32,
    last_round: Option<Key>,
}

impl Iterations {
    /// The largest of the counts: a host that shows iterations in two ways does not count them twice.
    pub(crate) fn count(&self) -> u32 {
        self.outputs.max(self.turns).max(self.turn_starts).max(self.rounds)
    }

    pub(crate) fn round(&mut self, round: Option<Key>) {
        if round.is_some() && round != self.last_round {
            self.rounds = self.rounds.saturating_add(1);
            self.last_round = round;
        }
    }
}

impl Run {
    /// A copy that is good for one judgement of an event that such facts may come of: what is neither shown to a rule nor
    /// told in a verdict stays behind, so that looking ahead costs no copy of everything.
    pub(crate) fn probe(&self, facts: Facts) -> Self {
        Self {
            events: self.events,
            steps: self.steps,
            touched: self.touched,
            now: self.now,
            started: self.started,
            tokens: self.tokens,
            cost_micros: self.cost_micros,
            new_mutations: self.new_mutations,
            mutations: self.mutations.clone(),
            pairing: self.pairing.probe(facts),
            iterations: self.iterations,
            trend: Ring::default(),
            workflow: self.workflow.clone(),
            rules: self.rules.only(facts),
            ladder: self.ladder.clone(),
            level: self.level,
            peak: self.peak,
            detected_at: self.detected_at,
            findings: alloc::vec::Vec::new(),
            stopped: self.stopped,
        }
    }

    /// Counts an event in and moves time forward, never backwards.
    pub(crate) fn enter(&mut self, seq: u64, context: &Context) {
        self.events = self.events.saturating_add(1);
        self.touched = seq;
        if let Some(at) = context.at {
            self.started.get_or_insert(at);
            self.now = Some(self.now.map_or(at, |now| now.max(at)));
        }
    }

    /// Where the run stands, as the possible onset of a loop at the current event.
    pub(crate) fn onset(&self) -> Onset {
        Onset {
            seq: self.touched,
            events: self.events.saturating_sub(1),
            tokens: self.tokens.unwrap_or(0),
            cost_micros: self.cost_micros.unwrap_or(0),
            at: self.now,
        }
    }

    /// Remembers a successful change; true when it was not made before among the latest ones.
    pub(crate) fn mutation(&mut self, key: Key) -> bool {
        let new = !self.mutations.iter().any(|known| *known == key);
        self.mutations.push(key, MUTATIONS);
        if new {
            self.new_mutations = self.new_mutations.saturating_add(1);
        }
        new
    }

    pub(crate) fn reading(&mut self, failing: u32) {
        self.trend.push(failing, TREND);
    }

    /// Drops the evidence of the tool, text and stream rules, as a human's message does. Budgets, the ladder's
    /// memory and exemptions stay.
    pub(crate) fn forget_evidence(&mut self) {
        self.rules.forget();
        self.pairing.forget();
    }

    /// Re-arms every rule: evidence, what is kept about the task and the ladder's memory go; budgets, seen call ids and
    /// exemptions stay.
    pub(crate) fn start_over(&mut self, task: Key) {
        self.forget_evidence();
        self.rules.forget_task(task);
        self.workflow.forget_task(task);
        self.ladder.rearm();
        self.findings.clear();
        self.level = Level::Continue;
        self.peak = Level::Continue;
        self.detected_at = None;
    }

    /// Starts the run over with nothing but its tasks' counters of loops and the workflow that it declared, which is no
    /// evidence.
    pub(crate) fn restart(&mut self) {
        let (rules, workflow) = (self.rules.only_loops(), self.workflow.fresh());
        *self = Self { rules, workflow, now: self.now, touched: self.touched, ..Self::default() };
    }

    /// Keeps the latest finding of each loop.
    pub(crate) fn keep(&mut self, finding: &Finding) {
        self.findings.retain(|known| known.rule != finding.rule || known.signature != finding.signature);
        if self.findings.len() >= FINDINGS {
            self.findings.remove(0);
        }
        self.findings.push(finding.clone());
    }

    /// Whether every collection is within its cap: what a restored snapshot must satisfy.
    pub(crate) fn fits(&self) -> bool {
        self.mutations.len() <= MUTATIONS
            && self.trend.len() <= TREND
            && self.findings.len() <= FINDINGS
            && self.pairing.fits()
            && self.workflow.fits()
            && self.rules.fit()
            && self.ladder.fits()
    }
}
