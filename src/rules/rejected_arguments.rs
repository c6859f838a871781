//! Catches: repeated calls that a tool rejects for their arguments, or that name a tool which does not exist.
//! Must not catch: one slip and its correction, errors of the program that a tool runs, refusals by a person.
//! Idea: a call that never got as far as doing anything teaches nothing about the task, only how to make the call; an
//! agent that gets it wrong twice is guessing. In recorded runs, the largest family of the loops that people mark.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation, ToolResult};
use crate::rules::streak::{Streak, confidence};
use crate::rules::windows::{After, Row, Window, windows};
use crate::rules::{Cx, Facts, Limits, Outlook, Signal, SignalParts, advisory, elsewhere, foreseen, many};
use crate::state::{Call, Occurrence, Ring, Step};
use crate::text::{Key, Refusal, combine, mark, printable};
use alloc::format;

/// How many of the latest steps are searched for rejections by several tools.
const STEPS: u64 = 12;
/// Rejections that count as one if each has a message that none before it had: the agent fixes one complaint after the
/// other.
const MENDED: u32 = 6;

windows!(RejectedArguments = REJECTED_ARGUMENTS of Outing, Latest);

const REJECTED_ARGUMENTS: Row<Outing, Latest> = Row {
    id: "rejected-arguments",
    about: "Calls rejected because of their arguments, or calls of tools that do not exist.",
    unit: "rejections",
    limits: Limits::ladder(2, 4, 8, 8),
    sees: Facts::CALL.and(Facts::STEP),
    tools: 8,
    kept: 32,
    set: true,
    ahead,
    called: |_, _, _| {},
    heeds: |_, _| true,
    see,
    holds: |window, latest, view| {
        let told = |(count, said): (u32, bool)| if said { view.advisory(view.limits, count) } else { view.of(count) };
        let own = [Kind::Arguments, Kind::UnknownTool].into_iter().map(|kind| window.rejections(kind));
        Outlook::of_all(own.chain(by_several(latest)).map(told))
    },
    fits: |state| state.more.len() <= STEPS as usize,
};

/// The rejections among the latest [`STEPS`] steps, by any tool.
type Latest = Ring<Rejection>;

/// One call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Outing {
    /// Set if the call was rejected and the rejection still counts.
    rejected: Option<Rejected>,
    round: Option<Key>,
    /// Mark of its target; 0 for none.
    target: u32,
    seen: Occurrence,
}
codec!(struct Outing { rejected, round, target, seen });

/// A rejected call.
#[derive(Clone, Copy, Debug)]
struct Rejected {
    kind: Kind,
    /// Marks of the call and of the class of the rejection's message; 0 for none.
    call: u32,
    said: u32,
    by_host: bool,
}
codec!(struct Rejected { kind, call, said, by_host });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Arguments,
    UnknownTool,
}
codec!(enum Kind { Arguments: 0, UnknownTool: 1 });

#[derive(Clone, Debug)]
pub(crate) struct Rejection {
    step: u64,
    tool: Key,
    target: u32,
    by_host: bool,
    seen: Occurrence,
}
codec!(struct Rejection { step, tool, target, by_host, seen });

impl Kind {
    fn of(step: &Step) -> Option<Self> {
        match step.facts.refusal? {
            Refusal::Arguments => Some(Self::Arguments),
            Refusal::UnknownTool => Some(Self::UnknownTool),
            Refusal::Denied => None,
        }
    }
}

impl Window<Outing> {
    /// Records a call; false if an equal rejection of the same round is already known.
    fn took(&mut self, step: &Step, rejected: Option<Kind>, window: usize) -> bool {
        let (target, round) = (step.target(), step.round());
        if rejected.is_none() && !step.facts.failed && target != 0 {
            // The call works now, as far as this target goes.
            self.seen.iter_mut().filter(|call| call.target == target).for_each(|call| call.rejected = None);
        }
        // The calls of a round were made before any of them was answered: they are one mistake.
        let told = |outing: &Outing| outing.round == round && outing.rejected.map(|known| known.kind) == rejected;
        if round.is_some() && rejected.is_some() && self.seen.iter().any(told) {
            return false;
        }
        let rejected = rejected.map(|kind| Rejected {
            kind,
            call: step.call.as_ref().map_or(0, |call| mark(call.key)),
            said: step.facts.class.map_or(0, mark),
            by_host: step.facts.by_host,
        });
        let seen = step.occurrence();
        self.seen.push(Outing { rejected, round, target, seen }, window);
        true
    }

    fn same(&self, kind: Kind) -> impl Iterator<Item = (&Outing, Rejected)> + Clone {
        let rejected = self.seen.iter().filter_map(|call| Some((call, call.rejected?)));
        rejected.filter(move |(_, rejected)| rejected.kind == kind)
    }

    /// How many rejections count, and whether they are advisory only: rejections by servers, worded like a host's, for
    /// ever new targets are a search.
    fn rejections(&self, kind: Kind) -> (u32, bool) {
        let same = self.same(kind);
        let told = elsewhere(same.clone().map(|(call, rejected)| (!rejected.by_host).then_some(call.target)));
        let count = many(same.clone().count());
        let said = || same.clone().map(|(_, rejected)| rejected.said);
        let moves = kind == Kind::Arguments
            && said().enumerate().all(|(at, said_now)| said().take(at).all(|before| before != said_now));
        (if moves { count.div_ceil(MENDED) } else { count }, told)
    }

    fn signal(&self, (key, name): (Key, &str), kind: Kind, cx: &Cx<'_>) -> Option<Signal> {
        let (count, said) = self.rejections(kind);
        if !cx.limits.reached(count) {
            return None;
        }
        let tool = printable(name, 48);
        let (case, message, instead) = match kind {
            Kind::Arguments => (
                "same-tool",
                format!("`{tool}` rejected {count} calls because of their arguments"),
                "Read the tool's description again and pass only the fields it names, or use another tool.",
            ),
            Kind::UnknownTool => (
                "unknown-tool",
                format!("`{tool}` was called {count} times and does not exist here"),
                "Choose from the tools that are offered in this run.",
            ),
        };
        let signal = Streak::of(self.same(kind).map(|(call, _)| call.seen.get())).signal(SignalParts {
            kind: case,
            identity: combine("rejected-arguments", &[self.tool]),
            count,
            confidence: confidence(700, 60, count),
            signature: cx.named(&tool, '!', key),
            message,
            instead,
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::RepeatedError,
        });
        Some(foreseen(signal, 1, said, cx))
    }
}

/// The evidence of rejections by several tools, and whether it is advisory only: up to eight, two count as one by a
/// single tool; from the ninth on, each counts in full.
fn by_several(latest: &Latest) -> Option<(u32, bool)> {
    let times = many(latest.len());
    let first = latest.iter().next()?;
    if latest.iter().all(|seen| seen.tool == first.tool) {
        return None;
    }
    let count = if times <= 8 { times / 2 } else { times.saturating_sub(4) };
    Some((count, elsewhere(latest.iter().map(|seen| (!seen.by_host).then_some(seen.target)))))
}

fn across(latest: &Latest, cx: &Cx<'_>) -> Option<Signal> {
    let (count, said) = by_several(latest)?;
    let times = latest.len();
    cx.limits.reached(count).then(|| {
        let signal = Streak::of(latest.iter().map(|rejection| rejection.seen.get())).signal(SignalParts {
            kind: "several-tools",
            identity: combine("rejected-arguments", &[0]),
            count,
            confidence: confidence(700, 60, count),
            signature: "several tools".into(),
            message: format!(
                "several tools rejected {times} of the last {STEPS} calls because of how they were called"
            ),
            instead: "Read one tool's description, make one complete call of that tool, and go on from its answer.",
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::RepeatedError,
        });
        if said { advisory(signal, cx) } else { signal }
    })
}

/// Other arguments deserve a chance; another call of a tool that does not exist does not.
fn ahead(window: &Window<Outing>, call: &Call, cx: &Cx<'_>) -> Option<Signal> {
    let rejected = window.seen.iter().rev().filter_map(|seen| seen.rejected);
    let alike = rejected.into_iter().find(|rejected| match rejected.kind {
        Kind::Arguments => rejected.call == mark(call.key),
        Kind::UnknownTool => true,
    });
    window.signal((call.tool, &call.name), alike?.kind, cx)
}

fn see(
    window: &mut Window<Outing>,
    latest: &mut Latest,
    step: &Step,
    result: &ToolResult,
    cx: &Cx<'_>,
    after: &mut After,
) -> Option<Signal> {
    *after = After::Newest;
    let rejected = Kind::of(step);
    let rejected = if window.took(step, rejected, cx.limits.window as usize) { rejected } else { None };
    latest.retain(|seen| seen.step.saturating_add(STEPS) > step.index);
    let kind = rejected?;
    let (target, by_host, seen) = (step.target(), step.facts.by_host, step.occurrence());
    latest.push(Rejection { step: step.index, tool: step.tool, target, by_host, seen }, STEPS as usize);
    match (window.signal((step.tool, step.name(result)), kind, cx), across(latest, cx)) {
        (Some(own), Some(across)) => Some(if across.count > own.count { across } else { own }),
        (own, across) => own.or(across),
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::Script;

    const RULE: &str = "rejected-arguments";

    #[test]
    fn refused_and_made_again() {
        // As many refused calls halt the run as calls that run.
        Script::new("{}").play("a%invalid a%invalid a%invalid a%invalid a~ a~ a~").strongest(RULE, Block);
        Script::new("{}").play("a%invalid a%invalid a%invalid a%invalid a~ a~ a~ a~").last_but_one(RULE, Halt);
    }

    #[test]
    fn table() {
        // One slip is no loop; arguments do not matter, nor does work in between.
        Script::new("{}").play("a%invalid a:x").expect(RULE, &[]);
        Script::new("{}").play("a%invalid b%invalid").expect(RULE, &[(3, Nudge)]);
        Script::new("{}").play("a%invalid b:x c:y d%invalid").last(RULE, Nudge);
        Script::new("{}").play("a%invalid b%invalid c%invalid d%invalid").last(RULE, Block);
        Script::new("{}")
            .play("a%invalid b%invalid c%invalid d%invalid e%invalid f%invalid g%invalid h%invalid")
            .last(RULE, Halt);
        // A round is one mistake.
        Script::new("{}").play("#1 a%invalid b%invalid c%invalid d%invalid").expect(RULE, &[]);
        Script::new("{}").play("#1 a%invalid b%invalid #2 c%invalid").last(RULE, Nudge);
        // The first one is out of the window.
        Script::new("{}").play("a%invalid b:1 c:2 d:3 e:4 f:5 g:6 h:7 i%invalid").expect(RULE, &[]);
    }

    #[test]
    fn other_failures_are_none() {
        Script::new("{}").play("a!x b!x c!x d!x").expect(RULE, &[]);
        Script::new("{}").play("a%denied a%denied a%timeout a%timeout").expect(RULE, &[]);
        Script::new("{}").play("a%invalid | b%invalid").expect(RULE, &[]);
    }

    #[test]
    fn unknown_tools() {
        Script::new("{}").play("a%unknown-tool b%unknown-tool").last(RULE, Nudge);
        Script::new("{}").play("a%unknown-tool b%unknown-tool c%unknown-tool d%unknown-tool ?z").last(RULE, Block);
        Script::new("{}").play("a%invalid b%invalid c%invalid d%invalid ?z").last_silent(RULE);
        Script::new("{}").play("a%invalid b%invalid c%invalid d%invalid ?d").last(RULE, Block);
    }

    #[test]
    fn several_tools() {
        Script::new("{}").play("one/a%invalid two/a%invalid three/a%invalid").expect(RULE, &[]);
        Script::new("{}").play("one/a%invalid two/a%invalid three/a%invalid four/a%invalid").last(RULE, Nudge);
        let rotating = "one/a%invalid two/a%invalid three/a%invalid four/a%invalid five/a%invalid six/a%invalid ";
        Script::new("{}").play(&rotating.repeat(2)).strongest(RULE, Halt);
    }
}
