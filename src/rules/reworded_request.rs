//! Catches: one question put to a search or a model again and again in slightly other words; the same where it is put to
//! nobody, by a program that prints what it was given.
//! Must not catch: a batch that fills one template with new names, the next page of a search, a question that moves on.
//! Idea: what people see as "searching in circles": wordings differ, so no comparison of calls finds them. Words are
//! compared as sets, and anything really new — a number, a quarter of new words, a new filler — makes it another
//! question.

use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence, named};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Call, Ring};
use crate::text::{Asks, Key, combine, has_digit, printable, prose, reads_as_prose, word_hashes};
use alloc::{format, vec::Vec};
use serde::{Deserialize, Serialize};

/// Pairs of agent and tool watched at once.
const TOOLS: usize = 4;
/// Requests compared with.
const REQUESTS: usize = 6;
/// A longer request is a document: what differs in it may lie anywhere.
const WORDS: usize = 48;
/// The same for words that a call only gave back: such requests are written out, and their wording moves more.
const OWN_WORDS: usize = 96;
/// Steps after which a similar request is a new start.
const NEAR: u64 = 3;

pub(crate) struct RewordedRequest;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct State {
    tools: Ring<Tool>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Tool {
    tool: Key,
    agent: Key,
    requests: Ring<Request>,
    rewordings: Streak,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Request {
    /// Hashes of the words, each once, in order.
    words: Vec<u32>,
    step: u64,
    round: Option<Key>,
    /// What the call itself had said came back.
    own: bool,
}

impl Request {
    fn of(call: &Call, text: &str, own: bool, step: u64) -> Option<Self> {
        let mut words = Vec::new();
        let most = if own { OWN_WORDS } else { WORDS };
        for word in word_hashes(text) {
            if words.len() == most {
                return None;
            }
            if !words.contains(&word) {
                words.push(word);
            }
        }
        Some(Self { words, step, round: call.round, own })
    }

    /// Whether this asks what an earlier request asked, in other words.
    fn rewords(&self, before: &Self) -> bool {
        let shared = self.words.iter().filter(|word| before.words.contains(word)).count();
        let (few, many) = (self.words.len().min(before.words.len()), self.words.len().max(before.words.len()));
        let new = self.words.len() - shared;
        let number = self.words.iter().any(|word| has_digit(*word) && !before.words.contains(word));
        shared * 100 >= few * 60
            && shared * 100 >= many * 40
            && new * (if self.own { 3 } else { 4 }) <= self.words.len()
            && !number
            && self.step.saturating_sub(before.step) <= NEAR
            && (self.round.is_none() || self.round != before.round)
            && !self.refills(before, shared)
    }

    /// Whether both are one template, filled with something else.
    fn refills(&self, before: &Self, shared: usize) -> bool {
        let pairs = || self.words.iter().zip(&before.words);
        let head = pairs().take_while(|(left, right)| left == right).count();
        let tails = self.words.iter().rev().zip(before.words.iter().rev());
        let tail = tails.take_while(|(left, right)| left == right).count();
        head + tail >= shared && self.words.len() > shared && before.words.len() > shared
    }
}

impl Rule for RewordedRequest {
    const ID: &'static str = "reworded-request";
    const ABOUT: &'static str = "One question again and again in slightly other words.";
    const UNIT: &'static str = "rewordings";
    const LIMITS: Limits = Limits::ladder(3, 0, 0, 0);
    const SEES: Facts = Facts::CALL.and(Facts::STEP);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let (call, onset, sighting, request) = match fact {
            Fact::Call(call, payload) if call.asks == Asks::Prose => {
                (*call, call.onset, cx.here, Request::of(call, prose(payload)?, false, cx.run.steps)?)
            }
            Fact::Step(step, result) => {
                let call = step.call.as_ref().filter(|call| call.asks == Asks::Nothing && !call.mutates)?;
                let own = step.facts.echo && reads_as_prose(&result.output);
                let request = own.then(|| Request::of(call, &result.output, true, cx.run.steps))??;
                (call, step.onset, step.sighting, request)
            }
            _ => return None,
        };
        let own = request.own;
        let key = if own { combine("own-words", &[call.tool]) } else { call.tool };
        let known = state.tools.take(|known| known.tool == key && known.agent == call.agent);
        let mut tool = known.unwrap_or_else(|| Tool {
            tool: key,
            agent: call.agent,
            requests: Ring::default(),
            rewordings: Streak::default(),
        });
        // The very same words are another rule's.
        let same = tool.requests.iter().any(|before| before.words == request.words);
        let reworded = !same && tool.requests.iter().any(|before| request.rewords(before));
        if reworded {
            tool.rewordings.add(sighting, onset);
        } else if !same {
            tool.rewordings.halve();
        }
        tool.requests.push(request, REQUESTS);
        let count = tool.rewordings.times;
        let signal = (reworded && cx.limits.reached(count, 1)).then(|| {
            let name = printable(&call.name, 48);
            let (kind, message, instead) = if own {
                (
                    "own-words",
                    format!("`{name}` gave back a request that it had been given, reworded {count} times, and nobody answered it"),
                    "Call a tool or an agent that can act on the request: writing it down asks nobody.",
                )
            } else {
                (
                    "same-words",
                    format!("`{name}` was asked nearly the same thing again in other words, {count} times"),
                    "Work with the answers that are there, or ask for one thing that none of them contains.",
                )
            };
            tool.rewordings.signal(Told {
                kind,
                identity: combine("reworded-request", &[tool.tool, tool.agent]),
                count,
                confidence: confidence(350, 70, count),
                signature: named(&name, '~', combine("tool", &[tool.tool, tool.agent])),
                message,
                instead,
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Stalled,
            })
        });
        state.tools.push(tool, TOOLS);
        signal
    }

    fn standing(state: &State) -> u32 {
        state.tools.iter().map(|tool| tool.rewordings.times).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.tools.len() <= TOOLS
            && state.tools.iter().all(|tool| {
                tool.requests.len() <= REQUESTS
                    && tool.rewordings.fits()
                    && tool.requests.iter().all(|request| request.words.len() <= OWN_WORDS)
            })
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{Played, Script, events};
    use alloc::{format, vec::Vec};

    const RULE: &str = "reworded-request";

    #[test]
    fn table() {
        let twice = "find/quiet_cheap_hotel_near_station:1 find/cheap_quiet_hotel_near_station:2 ";
        let thrice = alloc::string::String::from(twice) + "find/hotel_near_station_quiet_cheap_room:3 ";
        Script::new("{}").play(&thrice).expect(RULE, &[]);
        let four = thrice + "find/room_in_cheap_hotel_quiet_near_station:4";
        Script::new("{}").play(&four).expect(RULE, &[(6, Nudge)]);
        // Work between, another tool, the very same words.
        Script::new("{}").play(&four.replace(' ', " a:1 b:2 c:3 d:4 ")).expect(RULE, &[]);
        Script::new("{}").play(&four.replacen("find", "look", 2)).expect(RULE, &[]);
        Script::new("{}").play(&"find/quiet_cheap_hotel:1 ".repeat(4)).expect(RULE, &[]);
    }

    /// Programs that print the texts, each with `print` for the code around it.
    fn printed(texts: &[&str], print: &str) -> Played {
        let lines: Vec<_> = texts
            .iter()
            .flat_map(|text| {
                let code = format!(r#"task = ('{text}')\\n{print}(task)"#);
                [
                    format!(r#"{{"type":"tool-call","tool":"python","args":{{"code":"{code}"}}}}"#),
                    format!(r#"{{"type":"tool-result","tool":"python","outcome":"ok","output":"Logs: {text}"}}"#),
                ]
            })
            .collect();
        events("{}", &lines)
    }

    #[test]
    fn asking_nobody() {
        let ask = [
            "Please find out for us when the town library opens on public holidays and tell the opening hours",
            "Please find the opening hours of the town library on public holidays and tell us when it opens",
            "Tell us please the opening hours of the town library and when it opens on public holidays",
            "For public holidays please tell us when the town library opens and find the opening hours",
        ];
        printed(&ask, "print").expect(RULE, &[(7, Nudge)]);
        printed(&ask[..3], "print").expect(RULE, &[]);
        // Another request each time, and one that is answered.
        let other = [
            "Please find out for us when the town library opens on public holidays",
            "List every museum near the river that lets children in without a ticket",
            "How many bridges were built there before the war and which are left today",
            "Write down the names of all architects who worked for the harbour company",
        ];
        printed(&other, "print").expect(RULE, &[]);
        let code = ask.map(|text| format!("+ {}", text.replace(' ', "_ = (")));
        printed(&code.each_ref().map(|text| text.as_str()), "print").expect(RULE, &[]);
    }

    #[test]
    fn another_question_each_time() {
        Script::new("{}")
            .play("f/is_the_film_Alien_shown_tonight:1 f/is_the_film_Brazil_shown_tonight:2 f/is_the_film_Casino_shown_tonight:3 f/is_the_film_Dune_shown_tonight:4")
            .expect(RULE, &[]);
        Script::new("{}")
            .play(
                "f/rain_in_may_2021_Paris:1 f/rain_Paris_in_may_2022:2 f/may_2023_rain_Paris:3 f/Paris_rain_may_2024:4",
            )
            .expect(RULE, &[]);
        Script::new("{}")
            .play("f/history_of_steam_engines:1 f/who_built_the_first_steam_engine:2 f/railway_accidents_by_country:3")
            .expect(RULE, &[]);
    }
}
