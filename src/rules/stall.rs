//! What the rules about stalls share: the halt record, the policy and the document's suggestions.

use crate::model::{Config, HaltReason, Level, OnStall, Recommendation};
use crate::rules::{Advice, Cx, Extra, Outlook, Signal, View};
use crate::state::{Onset, Ring, Sighting, Task};
use crate::text::{Key, combine, key};
use alloc::{string::String, string::ToString, vec::Vec};
use smol_str::SmolStr;

/// What can be done about a loop, in the words of the seed document.
const ACTIONS: [&str; 4] =
    ["switch to interactive", "spawn reconciliation node", "tighten context pack", "update docs contract"];

pub(super) fn actions() -> impl Iterator<Item = String> {
    ACTIONS.iter().map(ToString::to_string)
}

/// What one of the signals of a stall has found.
pub(super) struct Stall<'a> {
    pub(super) kind: &'static str,
    /// What repeats.
    pub(super) key: Key,
    pub(super) count: u32,
    pub(super) period: Option<u32>,
    pub(super) onset: Onset,
    pub(super) sightings: &'a Ring<Sighting>,
    /// What repeats, printable.
    pub(super) signature: SmolStr,
    /// A sentence without its full stop.
    pub(super) message: String,
    pub(super) instead: &'static str,
    pub(super) reason: HaltReason,
}

/// The level that a stall gets where its rung is a gate: what `onStall` says, or what a gate is.
const fn instead(gate: Level, config: &Config) -> Level {
    match config.on_stall {
        OnStall::SpawnReviewer | OnStall::RetryWithNewProvider => Level::Block,
        OnStall::Pause | OnStall::SwitchToInteractive => gate,
    }
}

/// Where a stall stands.
pub(super) fn outlook(count: u32, view: &View<'_>) -> Outlook {
    let outlook = view.of(count);
    let next = view.limits.next(count).map(|(level, _)| level);
    let gated = |level| if next == Some(Level::Gate) { instead(level, view.config) } else { level };
    Outlook { next: outlook.next.map(|(level, threshold)| (gated(level), threshold)), ..outlook }
}

/// The signal of a stall, where its count reaches a threshold. A gate becomes what `onStall` says.
pub(super) fn stalled(stall: Stall<'_>, task: &Task, cx: &Cx<'_>) -> Option<Signal> {
    let (level, threshold) = cx.limits.level(stall.count, 1)?;
    let recommendation = match cx.config.on_stall {
        OnStall::Pause => Recommendation::Escalate,
        OnStall::SwitchToInteractive => Recommendation::SwitchToInteractive,
        OnStall::SpawnReviewer => Recommendation::SpawnReviewer,
        OnStall::RetryWithNewProvider => Recommendation::RetryWithNewProvider,
    };
    let asked = if level == Level::Gate { instead(level, cx.config) } else { level };
    let actions: Vec<String> = actions().collect();
    // A nudge is advice; from a block on the loop is halted, if only for someone to look at it.
    let halted = level >= Level::Block;
    let records = halted.then(|| task.record(stall.reason, &actions, cx.run.now)).into_iter().collect();
    Some(Signal {
        kind: stall.kind,
        identity: combine("stall", &[key("kind", stall.kind.as_bytes()), stall.key, task.key()]),
        count: stall.count,
        scale: 1,
        period: stall.period,
        onset: stall.onset,
        sightings: stall.sightings.iter().copied().collect(),
        confidence: u16::try_from(700 + stall.count.min(6) * 45).unwrap_or(1000),
        signature: stall.signature,
        advice: Advice { what: None, instead: stall.instead, recommendation, halt_reason: stall.reason },
        ask: (asked != level).then_some(asked),
        extra: Extra { threshold: Some(threshold), actions, records, ..Extra::default() },
        message: stall.message,
    })
}
