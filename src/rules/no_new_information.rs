//! Catches: questions in natural language whose answers contain nothing new; parts of a few files or pages that
//! are read again and again, cut differently each time ([`looks`]).
//! Must not catch: answers with new words or numbers; one thing after another that is asked about, with answers about
//! each; short acknowledgements; anything but natural language (on code and commands this measure fires on most healthy
//! runs); a file that is read on, or read again before it is changed.
//! Idea: a searcher depends on the novelty of the answer, not of the question.

mod looks;

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation, ToolResult};
use crate::rules::asked::NewlyAsked;
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts};
use crate::state::{Call, Ring, Step};
use crate::text::{Asks, Key, combine, has_digit, is_begun, printable};
use alloc::{format, vec, vec::Vec};
use looks::Looks;

const INSTEAD: &str = "Write down what is known by now and what exactly is missing, and ask only for that.";
/// Maximum number of agents followed at once.
const AGENTS: usize = 8;
/// Minimum number of words in an answer.
const FEWEST_WORDS: u32 = 12;
/// A new number in an answer of at least this many words is not news.
const NUMBERS: u32 = 32;
/// Size of the table of words, a list of pairs; a word's hash picks its pair.
const PLACES: usize = 1024;

pub(crate) struct NoNewInformation;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    known: Words,
    asked: NewlyAsked,
    agents: Ring<Agent>,
    looks: Looks,
}
codec!(struct State { known, asked, agents, looks });

#[derive(Clone, Debug)]
struct Agent {
    agent: Key,
    tool: Key,
    round: Option<Key>,
    answers: Streak,
}
codec!(struct Agent { agent, tool, round, answers });

/// Words of recent answers. If more than two words share a pair, the oldest is forgotten and seems new when it comes
/// again: the rule errs towards silence.
#[derive(Clone, Debug, Default)]
struct Words(Vec<u32>);
codec!(struct Words(_));

impl Words {
    /// Remembers a word; returns true if it was not known.
    fn learn(&mut self, word: u32) -> bool {
        if self.0.is_empty() {
            self.0 = vec![0; PLACES];
        }
        let pair = (word >> 8) as usize % (PLACES / 2) * 2;
        let Some([newer, older]) = self.0.get_mut(pair..pair + 2) else { return true };
        if *newer == word || *older == word {
            return false;
        }
        *older = *newer;
        *newer = word;
        true
    }
}

impl State {
    /// Handles the result of a look.
    fn looked(&mut self, step: &Step, call: &Call, result: &ToolResult, cx: &Cx<'_>) -> Option<Signal> {
        let (stale, count) = self.looks.took(step, call, result, cx.salt)?;
        cx.limits.reached(count).then(|| {
            let name = printable(&call.name, 48);
            // Whatever is read.
            let looks = |whose| combine("no-new-information/looks", &[whose]);
            let message =
                format!("`{name}` read what had been read before {} times, and hardly any line was new", stale.times);
            stale.signal(SignalParts {
                kind: "nothing-new",
                identity: looks(step.agent),
                count,
                confidence: confidence(350, 50, count),
                signature: cx.named(&name, '0', looks(step.tool)),
                message,
                instead: INSTEAD,
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Stalled,
            })
        })
    }

    /// Handles the answer to a question.
    fn answered(&mut self, step: &Step, call: &Call, result: &ToolResult, cx: &Cx<'_>) -> Option<Signal> {
        if step.facts.failed {
            return None;
        }
        let (mut words, mut new, mut numbers) = (0_u32, 0_u32, 0_u32);
        for word in step.words(result).iter().copied() {
            words += 1;
            if self.known.learn(word) {
                new += 1;
                numbers += u32::from(has_digit(word));
            }
        }
        if words < FEWEST_WORDS {
            return None;
        }
        // Hit counts and durations change by themselves.
        let told = self.asked.is_answered(step.words(result));
        if numbers > 0 && numbers.max(new - numbers) * NUMBERS > words
            || new * 10 >= words
            || step.facts.waiting
            || told
        {
            self.agents.retain(|known| known.agent != step.agent);
            return None;
        }
        // What says only that the work has begun is no answer yet.
        if is_begun(&result.output) {
            return None;
        }
        let new = || Agent { agent: step.agent, tool: step.tool, round: None, answers: Streak::default() };
        let known = self.agents.renew(AGENTS, |known| known.agent == step.agent, new)?;
        if known.tool != step.tool {
            *known = new();
        }
        if call.round.is_none() || known.round != call.round {
            known.answers.add(step.sighting, step.onset);
            known.round = call.round;
        }
        let count = known.answers.times;
        cx.limits.reached(count).then(|| {
            let name = printable(&call.name, 48);
            known.answers.signal(SignalParts {
                kind: "nothing-new",
                identity: combine("no-new-information", &[known.tool, known.agent]),
                count,
                confidence: confidence(350, 50, count),
                signature: cx.named(&name, '0', known.tool),
                message: format!("the last {count} answers of `{name}` contained hardly any new words"),
                instead: INSTEAD,
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Stalled,
            })
        })
    }
}

/// Whether a call asks for something in natural language.
fn is_question(call: &Call) -> bool {
    call.asks == Asks::Prose && !call.mutates
}

impl Rule for NoNewInformation {
    const ID: &'static str = "no-new-information";
    const ABOUT: &'static str =
        "Questions whose answers contain no new words, or parts of a few things read over and over.";
    const UNIT: &'static str = "answers in a row";
    const LIMITS: Limits = Limits::ladder(4, 0, 0, 0);
    const SEES: Facts = Facts::CALL.and(Facts::STEP);
    type State = State;

    #[inline]
    fn heeds(_: &State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        match fact {
            Fact::Call(call, _) => is_question(call),
            Fact::Step(step, _) => step.looks(),
            _ => false,
        }
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Call(call, payload) if is_question(call) => {
                // Words that an answer repeats from its question are not new.
                state.asked.asks(payload.words(), |word| state.known.learn(word));
                None
            }
            Fact::Step(step, result) => {
                let call = step.call.as_ref().filter(|call| !call.mutates)?;
                if call.asks == Asks::Prose {
                    state.answered(step, call, result, cx)
                } else {
                    state.looked(step, call, result, cx)
                }
            }
            _ => None,
        }
    }

    fn standing(state: &State) -> u32 {
        state.agents.iter().map(|agent| agent.answers.times).max().unwrap_or(0).max(state.looks.standing())
    }

    fn fits(state: &State) -> bool {
        state.agents.len() <= AGENTS
            && state.asked.fits()
            && state.looks.fits()
            && (state.known.0.is_empty() || state.known.0.len() == PLACES)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{Played, Script, events, pair};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "no-new-information";
    const SAME: &str = "several_old_words_which_say_nothing_new_to_anybody_at_all_again_and_again";

    #[test]
    fn table() {
        let ask = |times: usize| {
            let asked = ["what_now", "what_else", "any_more", "tell_again", "and_then", "why_so"];
            let lines = asked.iter().take(times).map(|asked| alloc::format!("ask/{asked}:{SAME} "));
            lines.collect::<alloc::string::String>()
        };
        // The first answer is new.
        Script::new("{}").play(&ask(4)).expect(RULE, &[]);
        Script::new("{}").play(&ask(5)).expect(RULE, &[(9, Nudge)]);
        let number = ask(6).replacen("_new_", "_new_42_", 4).replacen("_42_", "_43_", 2);
        Script::new("{}").play(&number).expect(RULE, &[]);
        Script::new("{}").play(&ask(6).replace("ask/", "bash/")).expect(RULE, &[]);
        // Answers too short to tell.
        Script::new("{}").play(&ask(6).replace(SAME, "fine")).expect(RULE, &[]);
    }

    #[test]
    fn answers_that_repeat_their_question() {
        const ASKED: [&str; 7] = [
            "which ferries carry horses",
            "may a mare be shipped",
            "stables on board of a packet",
            "transport of ponies by water",
            "fare for a foal and its mother",
            "ships with a ramp for cattle",
            "hay and straw during a crossing",
        ];
        let hits = |at: usize| {
            let rank = |place: usize| format!("0.{}", 900 - 7 * at - 40 * place);
            format!(
                "asked {}, 3 hits: {} Harbour dues and tolls of the northern ports, {} Timetable of the steam packets in winter, {} Rules for passengers with luggage and bicycles",
                ASKED[at],
                rank(0),
                rank(1),
                rank(2),
            )
        };
        let ask = |answer: &dyn Fn(usize) -> String| {
            let step = |at: usize| pair("search", &format!(r#"{{"query":"{}"}}"#, ASKED[at]), "ok", &answer(at));
            events("{}", (0..ASKED.len()).flat_map(step))
        };
        ask(&hits).strongest(RULE, Nudge);
        // Each answer has something of its own.
        let own = ["Oslo", "Bergen", "Odda", "Narvik", "Vardø", "Tromsø", "Bodø"];
        let found = |at: usize| {
            format!("{} and the shipping office of {1}, opposite {1}house, {1}gate and {1}bridge", hits(at), own[at])
        };
        ask(&found).expect(RULE, &[]);
    }

    /// The lines `from` to `to` of a survey, read by `tool`.
    fn read(tool: &str, from: usize, to: usize) -> [String; 2] {
        let lines: Vec<String> =
            (from..to).map(|at| format!("{at}: pile {} stands in {} fathoms", at * 7, at * 31 % 17)).collect();
        let args = format!(r#"{{"path":"survey.txt","from":{from},"to":{to}}}"#);
        pair(tool, &args, "ok", &lines.join("\\n"))
    }

    fn reading(parts: impl IntoIterator<Item = (usize, usize)>) -> Played {
        events("{}", parts.into_iter().flat_map(|(from, to)| read("read_file", from, to)))
    }

    #[test]
    fn parts_of_one_thing() {
        // Back and forth over the same two hundred lines.
        let parts = |times: usize| (0..times).map(|at| (at * 37 % 150, at * 37 % 150 + 60 + at % 3));
        reading(parts(40)).strongest(RULE, Nudge);
        // From beginning to end, and then a few places once more.
        reading((0..40).map(|at| (at * 50, at * 50 + 60))).expect(RULE, &[]);
        reading((0..12).map(|at| (at * 50, at * 50 + 60)).chain(parts(6))).expect(RULE, &[]);
        // Three things in turn, each cut differently each time.
        let things = parts(120).enumerate().map(|(at, (from, to))| {
            let name = ["survey.txt", "tides.txt", "wrecks.txt"][at % 3];
            read("read_file", from, to).map(|line| line.replace("survey.txt", name).replace("pile", name))
        });
        events("{}", things.flatten()).strongest(RULE, Nudge);
        // Something new is looked at, or something changed, in between.
        for between in ["other.txt", "third.txt"] {
            let look = |(from, to): (usize, usize)| {
                let [call, result] = read("read_file", from, to);
                let new = |line: String| line.replace("survey.txt", between).replace("pile", &format!("wreck {from}"));
                let [other, answer] = read("read_file", from, to).map(new);
                [call, result, other, answer]
            };
            events("{}", parts(40).flat_map(look)).expect(RULE, &[]);
        }
        let mended = parts(40).flat_map(|(from, to)| {
            let args = format!(r#"{{"path":"survey.txt","line":{from}}}"#);
            [read("read_file", from, to), pair("edit_file", &args, "ok", "done")].concat()
        });
        events("{}", mended).expect(RULE, &[]);
    }
}
