//! Catches: repeated calls that a person or a policy has refused.
//! Must not catch: a tool's own errors; a call that was eventually allowed; two different requests that were both
//! refused.
//! Idea: a refusal is an answer. Asking for the same thing again wears out the person who answers; asking the same tool
//! for something else may be what was wanted, so that takes one more refusal.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation, ToolResult};
use crate::rules::streak::{Streak, confidence};
use crate::rules::windows::{After, Row, Window, windows};
use crate::rules::{Cx, Facts, Limits, Signal, SignalParts, elsewhere, foreseen, many};
use crate::state::{Occurrence, Step};
use crate::text::{Key, Refusal, combine, printable};
use alloc::format;

windows!(DeniedCall = DENIED_CALL of Denial);

const DENIED_CALL: Row<Denial> = Row {
    id: "denied-call",
    about: "Calls made again after a person or a policy refused them.",
    unit: "refusals",
    limits: Limits::ladder(2, 3, 5, 0),
    sees: Facts::CALL.and(Facts::STEP),
    tools: 8,
    // Refusals since the tool last succeeded.
    kept: 8,
    set: false,
    // Only a call that was itself refused is known to be refused again.
    ahead: |window, call, cx| {
        let refused = window.seen.iter().any(|denial| denial.call == Some(call.key));
        if refused { signal(window, (call.tool, &call.name), Some(call.key), cx) } else { None }
    },
    called: |(), _, _| {},
    heeds: |state, step| state.tools.len() > 0 || step.facts.refusal == Some(Refusal::Denied),
    see,
    holds: |window, (), view| {
        let count = count(window, window.seen.last().and_then(|denial| denial.call));
        if search(window) { view.advisory(view.limits, count) } else { view.of(count) }
    },
    fits: |_| true,
};

#[derive(Clone, Debug)]
pub(crate) struct Denial {
    call: Option<Key>,
    round: Option<Key>,
    /// Mark of the target; 0 for none.
    target: u32,
    by_host: bool,
    seen: Occurrence,
}
codec!(struct Denial { call, round, target, by_host, seen });

/// If the wording is a server's rather than the host's and the targets are ever new, it is a search: advice only.
fn search(window: &Window<Denial>) -> bool {
    elsewhere(window.seen.iter().map(|denial| (!denial.by_host).then_some(denial.target)))
}

/// The evidence about one call: its own refusals, or all refusals of the tool minus one.
fn count(window: &Window<Denial>, call: Option<Key>) -> u32 {
    let own = window.seen.iter().filter(|denial| call.is_some() && denial.call == call).count();
    many(own.max(window.seen.len().saturating_sub(1)))
}

fn see(
    window: &mut Window<Denial>,
    (): &mut (),
    step: &Step,
    result: &ToolResult,
    cx: &Cx<'_>,
    after: &mut After,
) -> Option<Signal> {
    if step.facts.refusal != Some(Refusal::Denied) {
        // Only a success clears the refusals.
        *after = match (step.facts.failed, window.seen.len()) {
            (false, _) => After::Dropped,
            (true, 0) => After::Same,
            (true, _) => After::Newest,
        };
        return None;
    }
    let (key, round) = (step.call.as_ref().map(|call| call.key), step.round());
    // Parallel calls refused together count as one refusal.
    let at_once = round.is_some() && window.seen.last().is_some_and(|denial| denial.round == round);
    if !at_once {
        let (target, by_host, seen) = (step.target(), step.facts.by_host, step.occurrence());
        window.seen.push(Denial { call: key, round, target, by_host, seen }, DENIED_CALL.kept as usize);
    }
    *after = After::Newest;
    signal(window, (step.tool, step.name(result)), key, cx)
}

fn signal(window: &Window<Denial>, (key, name): (Key, &str), call: Option<Key>, cx: &Cx<'_>) -> Option<Signal> {
    let count = count(window, call);
    cx.limits.reached(count).then(|| {
        let tool = printable(name, 48);
        let signal = Streak::of(window.seen.iter().map(|denial| denial.seen.get())).signal(SignalParts {
            kind: "refused-again",
            identity: combine("denied-call", &[window.tool]),
            count,
            confidence: confidence(750, 70, count),
            signature: cx.named(&tool, '!', key),
            message: format!("`{tool}` was refused {} times by a person or a policy", window.seen.len()),
            instead: "Take the refusal as an answer: ask what would be allowed, or reach the goal without this tool.",
            recommendation: Recommendation::UnblockAuthority,
            halt_reason: HaltReason::RepeatedError,
        });
        foreseen(signal, 1, search(window), cx)
    })
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::Script;

    const RULE: &str = "denied-call";

    #[test]
    fn refused_and_made_again() {
        // Calls repeated after a block count like executed ones towards the halt.
        Script::new("{}").play("a%denied a%denied a%denied a~").strongest(RULE, Block);
        Script::new("{}").play("a%denied a%denied a%denied a~ a~").last_but_one(RULE, Halt);
    }

    #[test]
    fn table() {
        Script::new("{}").play("a%denied b%denied").expect(RULE, &[]);
        Script::new("{}").play("a%denied a%denied").expect(RULE, &[(3, Nudge)]);
        Script::new("{}").play("a%denied b%denied c%denied").expect(RULE, &[(5, Nudge)]);
        Script::new("{}").play("a%denied a%denied a%denied").last(RULE, Block);
        Script::new("{}").play("a%denied a%denied a%denied a%denied a%denied").last(RULE, Halt);
        // Eventually allowed; a failure of the tool itself settles nothing.
        Script::new("{}").play("a%denied a:x a%denied").expect(RULE, &[]);
        Script::new("{}").play("a%denied b!x a%denied").last(RULE, Nudge);
        Script::new("{}").play("a%denied | a%denied").expect(RULE, &[]);
    }

    #[test]
    fn judged_before_the_call_runs() {
        Script::new("{}").play("a%denied a%denied a%denied ?a").last(RULE, Block);
        Script::new("{}").play("a%denied a%denied a%denied ?b").last_silent(RULE);
    }
}
