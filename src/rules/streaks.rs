//! The family of streaks: the same thing in a row (a call, a tool, an agent or the run) until something ends it.
//!
//! A rule of the family is a [`Row`]: how facts affect its streaks, and what it reports. Counting, bounds, snapshots
//! and signals are shared code. To add a rule: its row in one of the files below, its name in `rows!` here, its place
//! in the order of checks (`registry!`), and its cases.

mod calls;
mod failures;
mod turns;

use crate::codec::codec;
use crate::model::{HaltReason, Level, Recommendation};
use crate::rules::streak::{Streak, capped_confidence};
use crate::rules::{Budget, Cx, Fact, Facts, Limits, Outlook, Rule, Signal, SignalParts, View, advisory};
use crate::state::{Flow, Onset, Ring, ScopeKeys, Sighting};
use crate::text::{Key, mark};
use alloc::{borrow::Cow, string::String};
use calls::{BLIND_REPEAT, CALL_FLOOD, REMADE_CHANGE, UNANSWERED_CALL};
use failures::{CONSECUTIVE_ERRORS, FAILING_TARGET, FAILURE_STREAK};
use smol_str::SmolStr;
use turns::{BLANK_TURNS, COMPACTION_LOOP, HOOK_LOOP};

/// By how much the thresholds above a nudge are multiplied for failures on ever other targets.
const ELSEWHERE: u32 = 4;
/// One in this many calls that grow longer and end differently each time still counts as evidence.
const GROWN: u32 = 3;

/// A rule of the family.
pub(super) struct Row {
    pub(super) id: &'static str,
    pub(super) about: &'static str,
    pub(super) unit: &'static str,
    pub(super) limits: Limits,
    pub(super) budget: Option<Budget>,
    pub(super) sees: Facts,
    /// Maximum number of streaks kept at once.
    pub(super) kept: usize,
    /// Only streaks with different parts are evidence: several error classes, or several calls.
    pub(super) mixed: bool,
    pub(super) kind: &'static str,
    /// Parameters of [`capped_confidence`] for the confidence, which is capped at 980 if it grows.
    pub(super) confidence: (u32, u32, u32),
    pub(super) instead: &'static str,
    pub(super) recommendation: Recommendation,
    pub(super) halt_reason: HaltReason,
    /// Whether a fact may concern the existing streaks; a cheap check.
    pub(super) heeds: fn(&Streaks, &Fact<'_>) -> bool,
    /// Applies a fact: it may end streaks, and the returned occurrence is added to one.
    pub(super) see: for<'f> fn(&mut Streaks, &'f Fact<'f>, &Cx<'_>) -> Option<One<'f>>,
    pub(super) tell: fn(&Entry, &One<'_>, u32, &Cx<'_>) -> Words,
}

/// One more occurrence in a streak.
pub(super) struct One<'f> {
    /// Whose streak it is, and of what; 0 if there is only one.
    pub(super) owner: Key,
    pub(super) key: Key,
    /// What has to stay the same; a change starts the streak over.
    pub(super) what: Key,
    /// What may change, which makes the streak mixed; 0 for none.
    pub(super) part: u32,
    /// Starts the streak over.
    pub(super) anew: bool,
    /// Stored until the next occurrence; what it means is up to the row.
    pub(super) mark: u64,
    /// Length of the call's arguments; 0 if it is irrelevant. An agent that adds what each error asks for makes
    /// progress.
    pub(super) size: u16,
    /// Mark of the call's target; 0 for none. A streak over ever new targets is advice only.
    pub(super) target: u32,
    /// All occurrences in one round count as one.
    pub(super) round: Option<Key>,
    pub(super) sighting: Sighting,
    pub(super) onset: Onset,
    pub(super) name: &'f str,
    /// Key whose digest is shown in the signature.
    pub(super) shown: Key,
    pub(super) scale: u16,
    /// Whether this is evidence; otherwise the streak merely continues.
    pub(super) counts: bool,
}

/// The texts of a signal.
pub(super) struct Words {
    pub(super) identity: Key,
    pub(super) signature: SmolStr,
    pub(super) message: String,
    /// What the agent is told, if it differs from the message.
    pub(super) what: Option<String>,
}

impl Words {
    pub(super) fn new(identity: Key, signature: SmolStr, message: String) -> Self {
        Self { identity, signature, message, what: None }
    }
}

/// A rule's streaks, newest last.
pub(crate) type Streaks = Ring<Entry>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    pub(super) owner: Key,
    pub(super) key: Key,
    pub(super) what: Key,
    /// Mark of the round of the latest evidence; 0 for none.
    pub(super) round: u32,
    pub(super) mark: u64,
    pub(super) part: u32,
    /// Factor on all thresholds.
    scale: u16,
    /// Bit set of recent targets.
    targets: u32,
    /// Number of occurrences without a new target.
    without_new_target: u16,
    /// Length of the longest call.
    size: u16,
    /// Bit set of the parts; 0 until a second part occurs.
    parts: u32,
    pub(super) streak: Streak,
}
codec!(struct Entry { owner, key, what, round, mark, part, scale, targets, without_new_target, size, parts, streak });

impl One<'_> {
    /// An occurrence at this event, with nothing that distinguishes it from others.
    pub(super) fn here(cx: &Cx<'_>) -> Self {
        Self {
            owner: 0,
            key: 0,
            what: 0,
            part: 0,
            anew: false,
            mark: 0,
            size: 0,
            target: 0,
            round: None,
            sighting: cx.here,
            onset: cx.onset,
            name: "",
            shown: 0,
            scale: 1,
            counts: true,
        }
    }

    fn begins(&self) -> Entry {
        Entry { owner: self.owner, key: self.key, what: self.what, ..Entry::default() }
    }

    fn is_of(&self, entry: &Entry) -> bool {
        entry.owner == self.owner && entry.key == self.key
    }
}

impl Entry {
    /// Whether most targets were new. Half is enough, as some share a bit by chance.
    fn is_elsewhere(&self) -> bool {
        u32::from(self.without_new_target).saturating_mul(2) < self.streak.times
    }

    /// Whether a call is longer than any before and has a new part, except every third time ([`GROWN`]).
    fn gets_on(&mut self, one: &One<'_>) -> bool {
        let longest = self.size;
        self.size = longest.max(one.size);
        if self.part == 0 || one.part == 0 || self.parts == 0 && one.part == self.part {
            return false;
        }
        let bit = |part: u32| 1_u32.rotate_left(part);
        let known = self.parts | bit(self.part);
        self.parts = known | bit(one.part);
        let grows = one.size > longest && longest != 0 && known != self.parts;
        grows && !known.count_ones().is_multiple_of(GROWN)
    }

    fn take(&mut self, one: &One<'_>) {
        (self.mark, self.scale) = (one.mark, one.scale);
        let round = one.round.map_or(0, mark);
        if !self.gets_on(one) && one.counts && (round == 0 || self.round != round) {
            self.streak.add(one.sighting, one.onset);
            self.round = round;
            let bit = 1_u32.rotate_left(one.target);
            let new = one.target != 0 && self.targets & bit == 0;
            // With half of the bits set, too many targets would collide.
            self.targets = if self.targets.count_ones() >= 16 { bit } else { self.targets | bit };
            self.without_new_target = self.without_new_target.saturating_add(u16::from(!new));
        }
        self.part = if self.part == 0 { one.part } else { self.part };
    }
}

impl Row {
    pub(super) fn observe<'f>(&self, streaks: &mut Streaks, fact: &'f Fact<'f>, cx: &Cx<'_>) -> Option<Signal> {
        let one = (self.see)(streaks, fact, cx)?;
        let entry = streaks.renew(self.kept, |entry| one.is_of(entry), || one.begins())?;
        if one.anew || entry.what != one.what {
            *entry = one.begins();
        }
        entry.take(&one);
        if !one.counts {
            return None;
        }
        self.signal(entry, self.count(entry), &one, cx)
    }

    /// The amount of evidence.
    fn count(&self, entry: &Entry) -> u32 {
        if self.mixed && entry.parts == 0 { 0 } else { entry.streak.times }
    }

    fn signal(&self, entry: &Entry, count: u32, one: &One<'_>, cx: &Cx<'_>) -> Option<Signal> {
        if !cx.limits.reached_scaled(count, one.scale.into()) {
            return None;
        }
        let words = (self.tell)(entry, one, count, cx);
        let mut signal = entry.streak.signal(SignalParts {
            kind: self.kind,
            identity: words.identity,
            count,
            confidence: capped_confidence(self.confidence, count).min(if self.confidence.1 == 0 { 1000 } else { 980 }),
            signature: words.signature,
            message: words.message,
            instead: self.instead,
            recommendation: self.recommendation,
            halt_reason: self.halt_reason,
        });
        signal.scale = one.scale.into();
        if let Some(what) = words.what {
            signal.advice.what = Some(Cow::Owned(what));
        }
        if !entry.is_elsewhere() {
            return Some(signal);
        }
        // A search or a batch: only a very long one is refused.
        let far = cx.limits.level(count, signal.scale.saturating_mul(ELSEWHERE));
        if let Some((level, threshold)) = far.filter(|(level, _)| *level >= Level::Block) {
            (signal.ask, signal.extra.threshold) = (Some(level), Some(threshold));
            return Some(signal);
        }
        Some(advisory(signal, cx))
    }

    pub(super) fn outlook(&self, streaks: &Streaks, view: &View<'_>) -> Outlook {
        Outlook::of_all(streaks.iter().map(|entry| {
            let (limits, count) = (view.limits.times(entry.scale.into()), self.count(entry));
            if !entry.is_elsewhere() {
                return view.with(&limits, count);
            }
            let long = limits.times(ELSEWHERE);
            view.with(&Limits { nudge: limits.nudge, ..long }, count)
        }))
    }

    pub(super) fn fits(&self, streaks: &Streaks) -> bool {
        streaks.len() <= self.kept
    }
}

/// Implements the rules that the rows describe.
macro_rules! rows {
    ($($name:ident = $row:ident),* $(,)?) => {$(
        pub(crate) struct $name;

        impl Rule for $name {
            const ID: &'static str = $row.id;
            const ABOUT: &'static str = $row.about;
            const UNIT: &'static str = $row.unit;
            const LIMITS: Limits = $row.limits;
            // A budget belongs to the whole run.
            const IN_LANE: bool = $row.budget.is_none();
            const SEES: Facts = $row.sees;
            const BUDGET: Option<Budget> = $row.budget;
            type State = Streaks;

            #[inline]
            fn heeds(streaks: &Streaks, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
                ($row.heeds)(streaks, fact)
            }

            fn observe(streaks: &mut Streaks, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
                $row.observe(streaks, fact, cx)
            }

            fn outlook(streaks: &Streaks, view: &View<'_>) -> Outlook {
                $row.outlook(streaks, view)
            }

            fn outlook_of(streaks: &Streaks, whose: &ScopeKeys, _: &Flow<'_>, view: &View<'_>) -> Outlook {
                let whole = !Self::IN_LANE && *whose == ScopeKeys::default();
                if whole { $row.outlook(streaks, view) } else { Outlook::default() }
            }

            fn fits(streaks: &Streaks) -> bool {
                $row.fits(streaks)
            }
        }
    )*};
}

rows! {
    CallFlood = CALL_FLOOD, UnansweredCall = UNANSWERED_CALL, BlindRepeat = BLIND_REPEAT, RemadeChange = REMADE_CHANGE,
    FailureStreak = FAILURE_STREAK, FailingTarget = FAILING_TARGET, ConsecutiveErrors = CONSECUTIVE_ERRORS,
    BlankTurns = BLANK_TURNS, HookLoop = HOOK_LOOP, CompactionLoop = COMPACTION_LOOP
}
