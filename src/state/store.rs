use crate::model::{Context, Memory, Scope};
use crate::state::Run;
use crate::text::{Key, key};
use alloc::{borrow::Cow, boxed::Box, collections::BTreeMap};
use serde::{Deserialize, Serialize};

/// The runs, by the key of their name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Store {
    /// Boxed: a leaf of the tree has room for eleven of them.
    runs: BTreeMap<Key, Box<Run>>,
}

/// Runs forgotten while another was made room for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forgotten {
    pub(crate) evicted: u64,
    pub(crate) collected: u64,
}

/// Key of a run's name; the default run has none.
fn run_key(run: Option<&str>) -> Key {
    run.map_or(0, |run| key("run", run.as_bytes()))
}

/// Whether a run has been idle for so long that it is forgotten.
fn idle(run: &Run, at: Option<i64>, memory: &Memory) -> bool {
    match (run.now, at) {
        (Some(last), Some(at)) => u64::try_from(at.saturating_sub(last)).is_ok_and(|idle| idle > memory.idle_ms),
        _ => false,
    }
}

impl Store {
    pub(crate) fn len(&self) -> usize {
        self.runs.len()
    }

    pub(crate) fn get(&self, scope: &Scope) -> Option<&Run> {
        self.runs.get(&run_key(scope.run.as_deref())).map(Box::as_ref)
    }

    pub(crate) fn get_mut(&mut self, scope: &Scope) -> Option<&mut Run> {
        self.runs.get_mut(&run_key(scope.run.as_deref())).map(Box::as_mut)
    }

    pub(crate) fn remove(&mut self, scope: &Scope) -> Option<Run> {
        self.runs.remove(&run_key(scope.run.as_deref())).map(|run| *run)
    }

    /// The run an event falls into, as `record` would find it: a forgotten or unknown one is fresh.
    pub(crate) fn peek(&self, context: &Context, memory: &Memory) -> Cow<'_, Run> {
        match self.runs.get(&run_key(context.run.as_deref())) {
            Some(run) if !idle(run, context.at, memory) => Cow::Borrowed(run),
            _ => Cow::Owned(Run::default()),
        }
    }

    /// The run an event falls into, made where there is none; others are forgotten to make room.
    pub(crate) fn enter(&mut self, context: &Context, memory: &Memory) -> (&mut Run, Forgotten) {
        let key = run_key(context.run.as_deref());
        let mut forgotten = Forgotten::default();
        match self.runs.get_mut(&key) {
            Some(run) if idle(run, context.at, memory) => {
                **run = Run::default();
                forgotten.collected = 1;
            }
            Some(_) => {}
            None => {
                // Only a new run looks at the others, so that an event costs the same however many there are.
                let before = self.runs.len();
                self.runs.retain(|_, run| !idle(run, context.at, memory));
                forgotten.collected = (before - self.runs.len()) as u64;
                while self.runs.len() >= memory.max_runs.max(1) as usize {
                    let oldest = self.runs.iter().min_by_key(|(_, run)| run.touched).map(|(key, _)| *key);
                    let Some(oldest) = oldest else { break };
                    self.runs.remove(&oldest);
                    forgotten.evicted += 1;
                }
            }
        }
        (self.runs.entry(key).or_default(), forgotten)
    }

    pub(crate) fn fits(&self, memory: &Memory) -> bool {
        self.runs.len() <= memory.max_runs as usize && self.runs.values().all(|run| run.fits())
    }
}
