//! The family of stalls: turns and iterations that change nothing. Each rule is a [`Row`] in a file of its own.
//! Counting is done in `state/workflow.rs`; what a stall leads to (the halt record, the `onStall` policy, the suggested
//! actions) is implemented here.

use crate::model::{Body, Config, HaltReason, Level, OnStall, Recommendation};
use crate::rules::identical_output::IDENTICAL_OUTPUT;
use crate::rules::oscillation::OSCILLATION;
use crate::rules::streak::capped_confidence;
use crate::rules::unchanged_diff::UNCHANGED_DIFF;
use crate::rules::unchanged_failures::UNCHANGED_FAILURES;
use crate::rules::{Cx, Extra, Fact, Facts, HostAdvice, Limits, Outlook, Rule, Signal, SignalParts, View};
use crate::state::{Flow, Onset, Ring, ScopeKeys, Sighting, Task, Unchanged};
use crate::text::{Key, combine, key};
use alloc::{string::String, string::ToString, vec::Vec};
use smol_str::SmolStr;

/// What can be done about a loop, in the words of the seed document.
const ACTIONS: [&str; 4] =
    ["switch to interactive", "spawn reconciliation node", "tighten context pack", "update docs contract"];

pub(super) fn actions() -> impl Iterator<Item = String> {
    ACTIONS.iter().map(ToString::to_string)
}

/// A rule of the family.
pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) about: &'static str,
    pub(super) unit: &'static str,
    pub(super) gate: u32,
    /// The largest evidence kept about a task, in the run's [`Workflow`](crate::state::Workflow).
    pub(super) most: fn(&Task) -> u32,
    /// What a turn, delivery or progress report shows about the task, which has already counted it.
    pub(super) see: for<'t> fn(&Body, &'t Task, &Cx<'_>) -> Option<Stall<'t>>,
}

/// A stall that a rule has found.
pub(super) struct Stall<'a> {
    pub(super) kind: &'static str,
    /// Key of what repeats.
    pub(super) key: Key,
    pub(super) count: u32,
    pub(super) period: Option<u32>,
    pub(super) onset: Onset,
    pub(super) sightings: &'a Ring<Sighting>,
    /// Printable name of what repeats.
    pub(super) signature: SmolStr,
    /// A sentence without its full stop.
    pub(super) message: String,
    pub(super) instead: &'static str,
    pub(super) reason: HaltReason,
}

impl<'a> Stall<'a> {
    /// A stall of something that stays unchanged; the texts are still to be set.
    pub(super) fn of(kind: &'static str, same: &'a Unchanged) -> Self {
        Self {
            kind,
            key: same.key,
            count: same.count,
            period: None,
            onset: same.onset,
            sightings: &same.sightings,
            signature: SmolStr::default(),
            message: String::new(),
            instead: "",
            reason: HaltReason::Stalled,
        }
    }
}

impl Row {
    fn observe(&self, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Event(event) = fact else { return None };
        let task = cx.flow.task()?;
        stalled((self.see)(&event.body, task, cx)?, task, cx)
    }
}

macro_rules! rows {
    ($($name:ident = $row:expr),*) => {$(
        pub(crate) struct $name;

        impl Rule for $name {
            const ID: &'static str = $row.id;
            const ABOUT: &'static str = $row.about;
            const UNIT: &'static str = $row.unit;
            const LIMITS: Limits = Limits::gate($row.gate);
            const OUTLIVES_EVIDENCE: bool = true;
            const SEES: Facts = Facts::REPORT;
            type State = ();

            fn observe((): &mut (), fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
                $row.observe(fact, cx)
            }

            fn outlook_of((): &(), whose: &ScopeKeys, flow: &Flow<'_>, view: &View<'_>) -> Outlook {
                outlook(flow.most(whose, $row.most), view)
            }
        }
    )*};
}

rows! {
    IdenticalOutput = IDENTICAL_OUTPUT, Oscillation = OSCILLATION, UnchangedDiff = UNCHANGED_DIFF,
    UnchangedFailures = UNCHANGED_FAILURES
}

/// The level that replaces a gate, according to `onStall`.
const fn instead(gate: Level, config: &Config) -> Level {
    match config.on_stall {
        OnStall::SpawnReviewer | OnStall::RetryWithNewProvider => Level::Block,
        OnStall::Pause | OnStall::SwitchToInteractive => gate,
    }
}

/// The outlook of a stall.
fn outlook(count: u32, view: &View<'_>) -> Outlook {
    let outlook = view.of(count);
    let next = view.limits.next(count).map(|(level, _)| level);
    let gated = |level| if next == Some(Level::Gate) { instead(level, view.config) } else { level };
    Outlook { next: outlook.next.map(|(level, threshold)| (gated(level), threshold)), ..outlook }
}

/// The signal of a stall whose count reaches a threshold. A gate is replaced according to `onStall`.
fn stalled(stall: Stall<'_>, task: &Task, cx: &Cx<'_>) -> Option<Signal> {
    let (level, threshold) = cx.limits.level(stall.count, 1)?;
    let recommendation = match cx.config.on_stall {
        OnStall::Pause => Recommendation::Escalate,
        OnStall::SwitchToInteractive => Recommendation::SwitchToInteractive,
        OnStall::SpawnReviewer => Recommendation::SpawnReviewer,
        OnStall::RetryWithNewProvider => Recommendation::RetryWithNewProvider,
    };
    let asked = if level == Level::Gate { instead(level, cx.config) } else { level };
    let actions: Vec<String> = actions().collect();
    // A nudge is only advice; from a block on, the loop is halted, if only so that somebody looks at it.
    let halted = level >= Level::Block;
    let records = halted.then(|| task.record(stall.reason, &actions, cx.run.now)).into_iter().collect();
    let told = SignalParts {
        kind: stall.kind,
        identity: combine("stall", &[key("kind", stall.kind.as_bytes()), stall.key, task.key()]),
        count: stall.count,
        confidence: capped_confidence((700, 45, 6), stall.count),
        signature: stall.signature,
        message: stall.message,
        instead: stall.instead,
        recommendation,
        halt_reason: stall.reason,
    };
    Some(Signal {
        period: stall.period,
        ask: (asked != level).then_some(asked),
        extra: Extra { threshold: Some(threshold), ..HostAdvice { actions, records, ..HostAdvice::default() }.into() },
        ..told.signal(stall.onset, stall.sightings.iter().copied().collect())
    })
}
