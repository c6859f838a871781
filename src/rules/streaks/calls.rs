//! Streaks of calls, whatever their results.

use super::{One, Row, Words};
use crate::model::{HaltReason, Recommendation};
use crate::rules::{Fact, Facts, Limits};
use crate::text::{Edit, combine, printable};
use alloc::format;

/// Catches: one parallel round full of copies of the same call.
/// Must not catch: batches over different targets; a copy or two, which models make by mistake.
/// Idea: a cap on turns does not see a loop within a single turn, and the unit of all other rules is the round.
pub(super) const CALL_FLOOD: Row = Row {
    id: "call-flood",
    about: "Copies of one call within one round.",
    unit: "copies",
    limits: Limits::ladder(4, 8, 16, 0),
    budget: None,
    sees: Facts::CALL,
    kept: 16,
    mixed: false,
    kind: "one-round",
    confidence: (560, 40, 11),
    instead: "Make the call once and use its answer.",
    recommendation: Recommendation::ChangeApproach,
    halt_reason: HaltReason::Stalled,
    heeds: |_, fact| matches!(fact, Fact::Call(call, _) if call.round.is_some()),
    see: |streaks, fact, cx| {
        let Fact::Call(call, _) = fact else { return None };
        let round = call.round?;
        // An agent's next round ends its previous one.
        if streaks.last().is_some_and(|last| last.owner == call.agent && last.mark != round) {
            streaks.retain(|entry| entry.owner != call.agent);
        }
        let (owner, key) = (call.agent, combine("copies", &[call.key, round]));
        let (name, onset) = (call.name.as_str(), call.onset);
        Some(One { owner, key, mark: round, onset, name, shown: call.key, ..One::here(cx) })
    },
    tell: |entry, one, count, cx| {
        let tool = printable(one.name, 48);
        let message = format!("`{tool}` was called {count} times with the same arguments in one round");
        Words::new(combine("call-flood", &[one.shown, entry.owner]), cx.named(&tool, '#', one.shown), message)
    },
};

/// Milliseconds in which calls are made at once, where no rounds are reported.
const MOMENT: i64 = 200;
/// New calls since a call was made twice that show that the agent gets on, where no results are recorded.
const NEW_CALLS: usize = 3;

/// Catches: a call that is repeated although it never gets a result.
/// Must not catch: copies within one parallel round or at one moment; a call that was answered or turned away in the
/// meantime, or that is made again after an edit; calls among ever new ones where no results are recorded at all.
/// Idea: an agent whose results get lost asks again for ever; the fault is the harness's, and only the host can fix it.
pub(super) const UNANSWERED_CALL: Row = Row {
    id: "unanswered-call",
    about: "The same call again and again although it is never answered.",
    unit: "calls",
    limits: Limits::ladder(3, 5, 9, 0),
    budget: None,
    sees: Facts::CALL.and(Facts::STEP).and(Facts::NOT_RUN),
    kept: 16,
    mixed: false,
    kind: "no-result",
    confidence: (500, 50, 10),
    instead: "Go on without this result, and say that the tool does not answer.",
    recommendation: Recommendation::Escalate,
    halt_reason: HaltReason::Stalled,
    heeds: |streaks, fact| streaks.len() > 0 || matches!(fact, Fact::Call(..)),
    see: |streaks, fact, cx| {
        let answered = match fact {
            Fact::Call(call, _) => {
                let (owner, key, scale) = (call.agent, call.key, if call.polling { 3 } else { 1 });
                let (name, onset) = (call.name.as_str(), call.onset);
                // A change of its own may be why it is made again: one that was answered, or for a look one that was not.
                // And where no result was ever recorded, new calls show that the agent gets on.
                let mark = cx.run.own_mutations << 1 | u64::from(call.mutates);
                let (mut anew, mut new, mut changed) = (false, 0, false);
                for entry in streaks.iter().rev().filter(|entry| entry.owner == owner) {
                    let once = entry.streak.times == 1;
                    if entry.key == key {
                        changed |= entry.mark >> 1 != mark >> 1;
                        anew = changed || cx.run.steps == 0 && !once && new >= NEW_CALLS;
                        break;
                    }
                    changed |= entry.mark & 1 == 1 && !call.mutates;
                    new += usize::from(once);
                }
                // Nobody waits for an answer between calls of one moment.
                let moment = || Some(combine("moment", &[onset.at.get()?.div_euclid(MOMENT).cast_unsigned()]));
                let round = call.round.or_else(moment);
                return Some(One { owner, key, mark, onset, round, name, shown: key, scale, anew, ..One::here(cx) });
            }
            Fact::Step(step, _) => step.call.as_ref(),
            Fact::NotRun(call, _) => *call,
            _ => return None,
        };
        match answered {
            Some(call) => streaks.retain(|entry| entry.key != call.key || entry.owner != call.agent),
            // A result without a known call may belong to any of them.
            None => streaks.clear(),
        }
        None
    },
    tell: |entry, one, count, cx| {
        let tool = printable(one.name, 48);
        let message = format!("`{tool}` was called {count} times with the same arguments and never answered");
        Words::new(combine("unanswered-call", &[entry.key, entry.owner]), cx.named(&tool, '#', one.shown), message)
    },
};

/// Catches: one call, byte for byte, a hundred times in a row although its outcome keeps changing.
/// Must not catch: polling and stepping of ordinary length.
/// Idea: a changed outcome is progress, but not indefinitely.
pub(super) const BLIND_REPEAT: Row = Row {
    id: "blind-repeat",
    about: "The same call, byte for byte, again and again without a break, whatever its outcome.",
    unit: "calls in a row",
    limits: Limits::ladder(100, 0, 0, 0),
    budget: None,
    sees: Facts::STEP.and(Facts::CUSTOM),
    kept: 8,
    mixed: false,
    kind: "changing-outcome",
    confidence: (600, 0, 0),
    instead: "Say what outcome you are waiting for, and wait longer between calls or stop waiting.",
    recommendation: Recommendation::ChangeApproach,
    halt_reason: HaltReason::Stalled,
    heeds: |_, _| true,
    see: |_, fact, cx| {
        let (step, owner) = match fact {
            Fact::Step(step, _) => (step, step.agent),
            // A streak of its own: what the host reports between two calls of the agent does not separate them.
            Fact::Custom(step) => (step, combine("custom", &[step.agent])),
            _ => return None,
        };
        let call = step.call.as_ref()?;
        let (what, sighting, onset) = (call.raw, step.sighting, step.onset);
        let scale = if call.polling { 3 } else { 1 };
        let (name, round, shown) = (call.name.as_str(), call.round, call.key);
        let mark = u64::from(matches!(fact, Fact::Custom(_)));
        Some(One { owner, what, mark, round, sighting, onset, name, shown, scale, ..One::here(cx) })
    },
    tell: |entry, one, count, cx| {
        let tool = printable(one.name, 48);
        let (did, what) = if one.mark != 0 { ("came", "key") } else { ("was called", "arguments") };
        let message = format!("`{tool}` {did} {count} times in a row with the same {what}; its outcome keeps changing");
        Words::new(combine("blind-repeat", &[entry.what, entry.owner]), cx.named(&tool, '#', one.shown), message)
    },
};

/// Catches: the same edit made again and again, each time after another edit has undone it: two states, each with an
/// error of its own.
/// Must not catch: builds, deployments and copies after each edit; an edit that is reverted once; an edit that failed.
/// Idea: only something new is progress. In runs that reached their goal, hardly any change is made a third time.
pub(super) const REMADE_CHANGE: Row = Row {
    id: "remade-change",
    about: "The same change made again after others that undid it.",
    unit: "times again",
    limits: Limits::ladder(2, 0, 0, 0),
    budget: None,
    sees: Facts::STEP,
    kept: 8,
    mixed: false,
    kind: "same-change",
    confidence: (400, 60, 8),
    instead: "Find one change that serves both sides, or say which of the two has to give way.",
    recommendation: Recommendation::ChangeApproach,
    halt_reason: HaltReason::Oscillating,
    heeds: |_, fact| matches!(fact, Fact::Step(step, _) if step.remade),
    see: |_, fact, cx| {
        let Fact::Step(step, _) = fact else { return None };
        let call = step.call.as_ref().filter(|call| step.remade && call.edit == Edit::Whole && !call.polling)?;
        let (owner, key, round) = (call.agent, call.key, call.round);
        let (sighting, onset, name) = (step.sighting, step.onset, call.name.as_str());
        (!step.facts.negative).then(|| One { owner, key, sighting, onset, name, round, shown: key, ..One::here(cx) })
    },
    tell: |entry, one, count, cx| {
        let tool = printable(one.name, 48);
        let times = count.saturating_add(1);
        let message = format!("`{tool}` made the same change {times} times, and other changes undid it in between");
        Words::new(combine("remade-change", &[entry.key, entry.owner]), cx.named(&tool, '#', one.shown), message)
    },
};

#[cfg(test)]
mod tests {
    mod remade_change {
        use crate::model::Level::Nudge;
        use crate::rules::testing::{Played, events, pair};
        use alloc::format;

        const RULE: &str = "remade-change";

        fn edits(edits: &[(&str, &str, &str)]) -> Played {
            let edit = |(old, new, outcome): &(&str, &str, &str)| {
                let args = format!(r#"{{"path":"src/rates.rs","old":"{old}","new":"{new}"}}"#);
                pair("edit_file", &args, outcome, "edited")
            };
            events("{}", edits.iter().flat_map(edit))
        }

        #[test]
        fn table() {
            let (there, back, failed) =
                (("floor()", "round()", "ok"), ("round()", "floor()", "ok"), ("floor()", "round()", "error"));
            edits(&[there, back, there, back]).expect(RULE, &[]);
            edits(&[there, back, there, back, there]).expect(RULE, &[(9, Nudge)]);
            let other = ("ceil()", "round()", "ok");
            edits(&[there, other, back, there, other, there]).expect(RULE, &[(11, Nudge)]);
            edits(&[failed, back, failed, other, failed]).expect(RULE, &[]);
            edits(&[there, there, there, there]).expect(RULE, &[]);
        }
    }

    mod call_flood {
        use crate::model::Level::{Block, Halt, Nudge};
        use crate::rules::testing::Script;

        const RULE: &str = "call-flood";

        #[test]
        fn table() {
            Script::new("{}").play("#1 a> a> a>").expect(RULE, &[]);
            Script::new("{}").play("#1 a> b> a> a> a>").expect(RULE, &[(4, Nudge)]);
            Script::new("{}").play("#1 a> a> a> a> a> a> a> a>").last(RULE, Block);
            Script::new("{}").play("#1 a> a> a> a> a> a> a> a> a> a> a> a> a> a> a> a>").last(RULE, Halt);
            // Another round, no rounds at all, different calls.
            Script::new("{}").play("#1 a> a> a> #2 a>").expect(RULE, &[]);
            Script::new("{}").play("a> a> a> a>").expect(RULE, &[]);
            Script::new("{}").play("#1 a> b> c> d> e> f>").expect(RULE, &[]);
        }
    }

    mod unanswered_call {
        use crate::model::Level::{Block, Halt, Nudge};
        use crate::rules::testing::Script;

        const RULE: &str = "unanswered-call";

        #[test]
        fn table() {
            Script::new("{}").play("a> a>").expect(RULE, &[]);
            Script::new("{}").play("a> a> a>").expect(RULE, &[(2, Nudge)]);
            Script::new("{}").play("a> a> a> a> a>").last(RULE, Block);
            Script::new("{}").play("a> a> a> a> a> a> a> a> a>").last(RULE, Halt);
            // Another call in between changes nothing; a result ends the streak, and so does a human's message.
            Script::new("{}").play("a> look/b:x a> look/c:x a>").last(RULE, Nudge);
            Script::new("{}").play("a> a:x a> a:x a>").expect(RULE, &[]);
            Script::new("{}").play("a> a%not-executed a> a>").expect(RULE, &[]);
            Script::new("{}").play("a> a> | a>").expect(RULE, &[]);
            Script::new("{}").play("a> b> c> d>").expect(RULE, &[]);
            // Made again after changes that are not answered either.
            Script::new("{}").play("a> write/b> a> write/c> a> write/d> a>").expect(RULE, &[]);
            Script::new("{}").play("a> write/b> a> a> a>").last(RULE, Nudge);
            Script::new(r#"{"tools":{"read":{"polling":true}}}"#).play("a> a> a> a>").expect(RULE, &[]);
        }

        #[test]
        fn where_no_results_are_recorded() {
            // The menu is opened again after new clicks elsewhere, but not after one or two, nor after known ones.
            Script::new("{}").play("a> b> a> c> d> e> a> f> g> h> a>").expect(RULE, &[]);
            Script::new("{}").play("a> b> a> c> d> a>").last(RULE, Nudge);
            let lap = "a> b> c> d> e> ";
            Script::new("{}").play(&(lap.repeat(2) + "a>")).last(RULE, Nudge);
            // If others are answered, a call that is not stays unanswered.
            Script::new("{}").play("a> look/b:x a> look/c:x look/d:x look/e:x a>").last(RULE, Nudge);
        }
    }

    mod blind_repeat {
        use crate::model::Level::Nudge;
        use crate::rules::testing::{Script, alone};
        use alloc::{format, string::String};

        #[test]
        fn table() {
            let changing: String = (0..100).map(|n| format!("a:v{n}v ")).collect();
            Script::new(&alone("blind-repeat")).play(&changing).expect("blind-repeat", &[(199, Nudge)]);
            let interrupted = changing.replacen("a:v50v", "b:v50v", 1);
            Script::new("{}").play(&interrupted).expect("blind-repeat", &[]);
            let polled = r#"{"tools":{"read":{"polling":true}}}"#;
            Script::new(polled).play(&changing).expect("blind-repeat", &[]);
            let early = r#"{"rules":{"blind-repeat":{"nudge":3,"block":5}}}"#;
            Script::new(early).play("a:1 a:2 a:3").strongest("blind-repeat", Nudge);
        }
    }
}
