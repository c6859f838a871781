//! Streaks of turns, and of what the host does about them.

use super::{One, Row, Words};
use crate::model::{Body, Channel, HaltReason, HostKind, Outcome, Recommendation};
use crate::rules::phases::is_about_phases;
use crate::rules::{Fact, Facts, Limits};
use crate::state::{Sighting, agent_of};
use crate::text::{combine, key, printable};
use alloc::format;

/// Maximum number of steps between two compactions for the second to count.
const STEPS: u64 = 3;

/// Catches: a model that answers with nothing, again and again.
/// Must not catch: the blank text that accompanies a call; a single empty answer that a retry fixes.
/// Idea: hosts retry empty answers, and nobody counts the retries.
pub(super) const BLANK_TURNS: Row = Row {
    id: "blank-turns",
    about: "Answers without text and without a call, in a row.",
    unit: "turns in a row",
    limits: Limits::ladder(3, 5, 9, 0),
    budget: None,
    sees: Facts::CALL.and(Facts::STEP).and(Facts::MESSAGE).and(Facts::DELTA),
    kept: 8,
    mixed: false,
    kind: "blank",
    confidence: (750, 25, 9),
    instead: "Shorten the context or ask again in different words; another model may answer.",
    recommendation: Recommendation::RetryWithNewProvider,
    halt_reason: HaltReason::Stalled,
    heeds: |streaks, fact| streaks.len() > 0 || fact.agent_message().is_some(),
    see: |streaks, fact, cx| {
        let (owner, channel, text) = match fact {
            Fact::Call(call, _) => {
                streaks.retain(|entry| entry.owner != call.agent);
                return None;
            }
            Fact::Step(step, _) => {
                streaks.retain(|entry| entry.owner != step.agent);
                return None;
            }
            Fact::Event(event) => match &event.body {
                // A delta can end a streak but is never part of one.
                Body::Delta(_) if streaks.len() == 0 => return None,
                Body::Delta(delta) => (agent_of(&event.context), delta.channel, &delta.text),
                _ => {
                    let (event, message) = fact.agent_message()?;
                    (agent_of(&event.context), message.channel, &message.text)
                }
            },
            _ => return None,
        };
        // Reasoning is no answer.
        if channel.unwrap_or_default() == Channel::Reasoning {
            return None;
        }
        if !text.trim().is_empty() {
            streaks.retain(|entry| entry.owner != owner);
            return None;
        }
        fact.agent_message()?;
        let sighting = Sighting { key: key("rule", b"blank-turns"), ..cx.here };
        Some(One { owner, sighting, ..One::here(cx) })
    },
    tell: |entry, _, count, _| {
        let began = key("onset", &entry.streak.onset().events.to_le_bytes());
        let message = format!("{count} answers in a row were blank and made no call");
        Words::new(combine("blank-turns", &[entry.owner, began]), "blank-turns".into(), message)
    },
};

/// Catches: a hook that will not let the agent stop, and an agent that can do nothing about it.
/// Must not catch: a hook that refuses, and an agent that then continues to work.
/// Idea: unless a tool returns something between two refusals, the third will be like the first.
pub(super) const HOOK_LOOP: Row = Row {
    id: "hook-loop",
    about: "Hooks refusing again and again without a result in between.",
    unit: "refusals",
    limits: Limits::ladder(3, 6, 12, 0),
    budget: None,
    sees: Facts::STEP.and(Facts::HOST).and(Facts::SYNTHETIC),
    kept: 1,
    mixed: false,
    kind: "refused-again",
    confidence: (700, 20, 12),
    instead: "Say what the hook asks for and what prevents it, and ask for help with that.",
    recommendation: Recommendation::Escalate,
    halt_reason: HaltReason::Stalled,
    heeds: |streaks, fact| streaks.len() > 0 || fact.host().is_some(),
    see: |streaks, fact, cx| {
        // A call that a hook denied has done nothing.
        if let Fact::Step(step, _) = fact
            && step.outcome != Outcome::Denied
        {
            streaks.clear();
        }
        let host = fact.host().filter(|host| host.kind == HostKind::HookBlock)?;
        // Hosts report that they enforced a refused transition in the same way; that is not a hook's refusal.
        if host.name.as_deref().is_some_and(is_about_phases) {
            return None;
        }
        let sighting = Sighting { key: key("rule", b"hook-loop"), ..cx.here };
        Some(One { sighting, name: host.name.as_deref().unwrap_or_default(), ..One::here(cx) })
    },
    tell: |_, one, count, _| {
        let hook = printable(one.name, 48);
        let named = if hook.is_empty() { "Hooks".into() } else { format!("The hook `{hook}`") };
        let message = format!("{named} refused {count} times without anything being done in between");
        Words::new(key("rule", b"hook-loop"), format!("hook:{hook}").into(), message)
    },
};

/// Catches: a context that is compacted again right after a compaction.
/// Must not catch: a long run that is compacted every now and then.
/// Idea: if the context is full again within three steps, the compaction made no room, and the next will make none
/// either.
pub(super) const COMPACTION_LOOP: Row = Row {
    id: "compaction-loop",
    about: "The context compacted again at most three steps after the last compaction.",
    unit: "compactions",
    limits: Limits::ladder(3, 5, 8, 0),
    budget: None,
    sees: Facts::HOST.and(Facts::SYNTHETIC),
    kept: 1,
    mixed: false,
    kind: "no-room-made",
    confidence: (700, 30, 8),
    instead: "Find what fills the context, and read or load less of it at once.",
    recommendation: Recommendation::Escalate,
    halt_reason: HaltReason::Stalled,
    heeds: |_, fact| fact.host().is_some(),
    see: |streaks, fact, cx| {
        fact.host().filter(|host| host.kind == HostKind::Compaction)?;
        let anew = streaks.last().is_none_or(|entry| cx.run.steps.saturating_sub(entry.mark) > STEPS);
        let sighting = Sighting { key: key("rule", b"compaction-loop"), ..cx.here };
        Some(One { anew, mark: cx.run.steps, sighting, ..One::here(cx) })
    },
    tell: |_, _, count, _| {
        let message = format!("The context was compacted {count} times with at most {STEPS} steps in between");
        Words::new(key("rule", b"compaction-loop"), "compaction-loop".into(), message)
    },
};

#[cfg(test)]
mod tests {
    mod blank_turns {
        use crate::model::Level::{Block, Halt, Nudge};
        use crate::rules::testing::{delta, events, says};
        use core::iter::repeat_n;

        const RULE: &str = "blank-turns";

        #[test]
        fn every_rung_is_reached() {
            for (times, level) in [(3, Nudge), (5, Block), (9, Halt)] {
                events("{}", repeat_n(says(" \n"), times)).last(RULE, level);
            }
            events("{}", repeat_n(says(""), 2)).expect(RULE, &[]);
        }

        #[test]
        fn an_answer_or_a_call_ends_it() {
            let blank = says("");
            let call = r#"{"type":"tool-call","tool":"read"}"#;
            for end in
                [call, &says("Here it is."), &delta("Here"), r#"{"type":"message","role":"user","text":"hello?"}"#]
            {
                events("{}", [&blank, &blank, end, &blank, &blank]).expect(RULE, &[]);
            }
            let retry = r#"{"type":"failure","source":"host","message":"empty answer, retrying"}"#;
            let thought = r#"{"type":"message","role":"assistant","channel":"reasoning","text":"hm"}"#;
            for other in [retry, thought, &delta(""), &blank.replacen('{', r#"{"agent":"b","#, 1)] {
                events("{}", [&blank, other, &blank, &blank]).last(RULE, Nudge);
            }
            events("{}", repeat_n([blank.as_str(), call], 20).flatten()).expect(RULE, &[]);
        }
    }

    mod hook_loop {
        use crate::model::Level::{Block, Halt, Nudge};
        use crate::rules::testing::{events, says};
        use core::iter::repeat_n;

        const RULE: &str = "hook-loop";
        const REFUSAL: &str = r#"{"type":"host","kind":"hook-block","name":"Stop"}"#;

        #[test]
        fn every_rung_is_reached() {
            for (times, level) in [(3, Nudge), (6, Block), (12, Halt)] {
                events("{}", repeat_n(REFUSAL, times)).last(RULE, level);
            }
            events("{}", repeat_n(REFUSAL, 2)).expect(RULE, &[]);
        }

        #[test]
        fn only_work_ends_it() {
            let call = r#"{"type":"tool-call","tool":"read"}"#;
            let denied = r#"{"type":"tool-result","tool":"read","outcome":"denied","output":""}"#;
            let done = r#"{"type":"tool-result","tool":"read","outcome":"ok","output":"x"}"#;
            events("{}", [REFUSAL, &says("All is done."), REFUSAL, call, denied, REFUSAL]).last(RULE, Nudge);
            events("{}", [REFUSAL, REFUSAL, call, done, REFUSAL, REFUSAL]).expect(RULE, &[]);
            events("{}", repeat_n([REFUSAL, call, done], 20).flatten()).expect(RULE, &[]);
        }
    }

    mod compaction_loop {
        use crate::model::Level::{Block, Halt, Nudge};
        use crate::rules::testing::{events, pair};
        use alloc::{format, string::String, vec::Vec};

        const RULE: &str = "compaction-loop";
        const COMPACTION: &str = r#"{"type":"host","kind":"compaction"}"#;

        fn with_steps(compactions: usize, steps: usize) -> Vec<String> {
            let step = |n: usize| pair("read", &format!(r#"{{"path":"{n}"}}"#), "ok", &format!("{n}"));
            (0..compactions)
                .flat_map(|n| [COMPACTION.into()].into_iter().chain((0..steps).flat_map(move |m| step(n * 100 + m))))
                .collect()
        }

        #[test]
        fn every_rung_is_reached() {
            for steps in [0, 1, 3] {
                for (times, level) in [(3, Nudge), (5, Block), (8, Halt)] {
                    events("{}", with_steps(times, steps)).strongest(RULE, level);
                }
                events("{}", with_steps(2, steps)).expect(RULE, &[]);
            }
        }

        #[test]
        fn work_between_makes_it_ordinary() {
            events("{}", with_steps(20, 4)).expect(RULE, &[]);
            let mut late = with_steps(2, 3);
            late.extend(with_steps(1, 4));
            late.extend(with_steps(2, 3));
            events("{}", late).expect(RULE, &[(14, Nudge)]);
        }
    }
}
