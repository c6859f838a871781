//! Findings as they are kept until somebody reads them: numbers and keys, no digests and no JSON text.

use crate::model::{Evidence, Finding, Level, Scope, Wasted};
use crate::rules::{RULES, Signal};
use crate::state::Sighting;
use crate::text::evidence;
use alloc::{string::String, string::ToString, vec::Vec};
use serde::{Deserialize, Serialize};

/// Characters kept of a name that is part of a scope.
const NAME: usize = 96;
/// Sightings kept of a finding, and bytes of any of its texts. Rules stay well below.
const SIGHTINGS: usize = 64;
const TEXT: usize = 4096;

/// A finding that was given at `nudge` or above.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    /// Index in [`RULES`].
    rule: u8,
    level: Level,
    kind: String,
    signature: String,
    message: String,
    /// Task, parent task and agent: the run is the one it is kept in.
    names: [Option<String>; 3],
    count: u32,
    threshold: u32,
    period: Option<u32>,
    onset_seq: u64,
    onset_offset: Option<u64>,
    last_seq: u64,
    confidence: u16,
    wasted: (u64, Option<u64>, Option<u64>, Option<u64>),
    sightings: Vec<Sighting>,
}

impl Found {
    pub(crate) fn new(finding: &Finding, signal: &Signal) -> Self {
        let name = |name: &Option<String>| name.as_ref().map(|name| name.chars().take(NAME).collect());
        let index = RULES.iter().position(|rule| rule.id == finding.rule).and_then(|index| u8::try_from(index).ok());
        let (scope, wasted) = (&finding.scope, &finding.wasted);
        Self {
            // INVARIANT: the finding is one of a rule, and there are fewer than 256.
            rule: index.unwrap_or(u8::MAX),
            level: finding.level,
            kind: finding.kind.clone(),
            signature: finding.signature.clone(),
            message: finding.message.clone(),
            names: [&scope.task, &scope.parent_task, &scope.agent].map(name),
            count: finding.count,
            threshold: finding.threshold,
            period: finding.period,
            onset_seq: finding.onset_seq,
            onset_offset: finding.onset_offset,
            last_seq: finding.last_seq,
            confidence: finding.confidence,
            wasted: (wasted.events, wasted.tokens, wasted.cost_micros, wasted.milliseconds),
            sightings: signal.sightings.clone(),
        }
    }

    /// Whether both are about the same loop.
    pub(crate) fn is_about(&self, other: &Self) -> bool {
        self.rule == other.rule && self.signature == other.signature
    }

    /// The finding as it was given, of the run of that name.
    pub(crate) fn read(&self, run: Option<&String>) -> Finding {
        let [task, parent_task, agent] = self.names.clone();
        let (events, tokens, cost_micros, milliseconds) = self.wasted;
        let sighting = |seen: &Sighting| Evidence {
            seq: seen.seq,
            step: seen.step.get(),
            digest: evidence(seen.key),
            excerpt: None,
        };
        Finding {
            rule: RULES.get(usize::from(self.rule)).map_or("", |rule| rule.id).to_string(),
            kind: self.kind.clone(),
            level: self.level,
            scope: Scope { run: run.cloned(), task, parent_task, agent },
            count: self.count,
            threshold: self.threshold,
            period: self.period,
            onset_seq: self.onset_seq,
            onset_offset: self.onset_offset,
            last_seq: self.last_seq,
            confidence: self.confidence,
            signature: self.signature.clone(),
            evidence: self.sightings.iter().map(sighting).collect(),
            wasted: Wasted { events, tokens, cost_micros, milliseconds },
            message: self.message.clone(),
        }
    }

    pub(crate) fn fits(&self) -> bool {
        let short = |text: &String| text.len() <= TEXT;
        usize::from(self.rule) < RULES.len()
            && [&self.kind, &self.signature, &self.message].into_iter().all(short)
            && self.names.iter().flatten().all(|name| name.len() <= NAME * 4)
            && self.sightings.len() <= SIGHTINGS
    }
}
