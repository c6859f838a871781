//! Catches: one question put to a search or a model again and again in slightly other words.
//! Must not catch: a batch that fills one template with new names, the next page of a search, a question that moves on.
//! Idea: what people see as "searching in circles": wordings differ, so no comparison of calls finds them. Words are
//! compared as sets, and anything really new — a number, a quarter of new words, a new filler — makes it another
//! question.

use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, Told, confidence, named};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Call, Ring};
use crate::text::{Key, combine, has_digit, printable, prose, word_hashes};
use alloc::{format, vec::Vec};
use serde::{Deserialize, Serialize};

/// Pairs of agent and tool watched at once.
const TOOLS: usize = 4;
/// Requests compared with.
const REQUESTS: usize = 6;
/// A longer request is a document: what differs in it may lie anywhere.
const WORDS: usize = 48;
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
}

impl Request {
    fn of(call: &Call, text: &str, step: u64) -> Option<Self> {
        let mut words = Vec::new();
        for word in word_hashes(text) {
            if words.len() == WORDS {
                return None;
            }
            if !words.contains(&word) {
                words.push(word);
            }
        }
        Some(Self { words, step, round: call.round })
    }

    /// Whether this asks what an earlier request asked, in other words.
    fn rewords(&self, before: &Self) -> bool {
        let shared = self.words.iter().filter(|word| before.words.contains(word)).count();
        let (few, many) = (self.words.len().min(before.words.len()), self.words.len().max(before.words.len()));
        let new = self.words.len() - shared;
        let number = self.words.iter().any(|word| has_digit(*word) && !before.words.contains(word));
        shared * 100 >= few * 60
            && shared * 100 >= many * 40
            && new * 4 <= self.words.len()
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
    const SEES: Facts = Facts::CALL;
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Call(call, payload) = fact else { return None };
        let request = Request::of(call, prose(payload)?, cx.run.steps)?;
        let mut tool =
            state.tools.take(|known| known.tool == call.tool && known.agent == call.agent).unwrap_or_else(|| Tool {
                tool: call.tool,
                agent: call.agent,
                requests: Ring::default(),
                rewordings: Streak::default(),
            });
        // The very same words are another rule's.
        let same = tool.requests.iter().any(|before| before.words == request.words);
        let reworded = !same && tool.requests.iter().any(|before| request.rewords(before));
        if reworded {
            tool.rewordings.add(cx.here, call.onset);
        } else if !same {
            tool.rewordings.halve();
        }
        tool.requests.push(request, REQUESTS);
        let count = tool.rewordings.times;
        let signal = (reworded && cx.limits.reached(count, 1)).then(|| {
            let name = printable(&call.name, 48);
            tool.rewordings.signal(Told {
                kind: "same-words",
                identity: combine("reworded-request", &[tool.tool, tool.agent]),
                count,
                confidence: confidence(350, 70, count),
                signature: named(&name, '~', combine("tool", &[tool.tool, tool.agent])),
                message: format!("`{name}` was asked nearly the same thing again in other words, {count} times"),
                instead: "Work with the answers that are there, or ask for one thing that none of them contains.",
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
                    && tool.requests.iter().all(|request| request.words.len() <= WORDS)
            })
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::Script;

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
