//! Catches: one question put to a search or a model over and over in other words; the same put to nobody, by a program
//! that prints what it was given; one message sent to the same place over and over.
//! Must not catch: a batch that fills one template with new names, the next page of a search, a question that moves on,
//! an identical question after a pause, one text sent to many, messages that the user orders one by one, one question
//! put to several sources once each.
//! Idea: what people see as "searching in circles": wordings differ, so no comparison of calls finds it. Compared are
//! what the requests are *about* and what came of each: another object in the same frame, a list that gets shorter and
//! a page that moves are honest work; the same object with nothing new is not.

mod chain;

use crate::codec::codec;
use crate::model::{Body, Collaboration, Event, HaltReason, Recommendation};
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Payload, Rule, Signal, SignalParts};
use crate::state::{Call, Onset, PAUSE, Ring, Sighting, Visibility, agent_key};
use crate::text::{Asks, Edit, Goal, Key, beside, combine, mark, printable, reads_as_prose, salted, sent};
use alloc::{boxed::Box, format};
use chain::{Chain, NewRequest, Reworded};

/// Pairs of agent and tool watched at once for requests that are only written down, or of agent and place for messages.
const TOOLS: usize = 4;
/// Texts kept per pair for comparison.
const REQUESTS: usize = 6;
/// Steps within which a similar written request counts as a rewording.
const NEAR: u64 = 3;
/// Points of each rewording that was only written down or sent.
const WRITTEN: u32 = 4;
/// Least weight of a message to be compared.
const MESSAGE: u32 = 8;
/// Shared weight from which two messages say the same, in percent of the lighter one …
const WITHIN: u32 = 45;
/// … and of both together.
const ALIKE: u32 = 25;

pub(crate) struct RewordedRequest;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Present once something has been asked in words.
    chain: Option<Box<Chain>>,
    tools: Ring<RequestSource>,
}
codec!(struct State { chain, tools });

/// Requests that a program only wrote down, or messages sent to one place.
#[derive(Clone, Debug)]
struct RequestSource {
    /// The tool; for messages, together with the place they are sent to.
    tool: Key,
    agent: Key,
    requests: Ring<Request>,
    rewordings: Streak,
}
codec!(struct RequestSource { tool, agent, requests, rewordings });

#[derive(Clone, Debug)]
struct Request {
    goal: Goal,
    step: u64,
    round: Option<Key>,
}
codec!(struct Request { goal, step, round });

/// A kind of text that is said again in other words.
struct TextKind {
    kind: &'static str,
    /// What the message says after the tool's name, and after the number of times.
    said: [&'static str; 2],
    instead: &'static str,
    /// Whether a text says what an earlier one says.
    rewords: fn(&Request, &Request) -> bool,
    /// Identical texts are left to other rules.
    other: bool,
}

const OWN_WORDS: TextKind = TextKind {
    kind: "own-words",
    said: ["returned a request that it had been given, reworded", "times, and nobody answered it"],
    instead: "Call a tool or an agent that can act on the request: writing it down does not ask anyone.",
    rewords: |written, before| {
        written.goal.shared(&before.goal).is_some_and(|kinship| !kinship.refilled)
            && written.step.saturating_sub(before.step) <= NEAR
    },
    other: true,
};

const SENT_AGAIN: TextKind = TextKind {
    kind: "sent-again",
    said: ["sent the same thing to the same place", "times more, in the same or in other words"],
    instead: "Check whether it has arrived, and wait for an answer or tell the user.",
    rewords: |sent, before| {
        let kinship = sent.goal.kinship(&before.goal);
        let alike = kinship.within >= WITHIN && kinship.alike >= ALIKE;
        alike && sent.goal.weight() >= MESSAGE && !kinship.plus && !kinship.refilled
    },
    other: false,
};

impl State {
    /// A call that may ask for something.
    fn calls(&mut self, call: &Call, payload: &Payload<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let goal = payload.goal()?;
        // Another agent sees everybody's changes.
        let mutations = if call.sees == Visibility::All { cx.run.new_mutations } else { cx.run.own_mutations };
        let asking = NewRequest {
            goal,
            call: call.key,
            tool: mark(call.tool),
            answers: 0,
            round: call.round,
            onset: call.onset,
            untold: false,
            mutations,
            paused: call.watches || call.pause >= PAUSE,
            prose: call.asks == Asks::Prose,
        };
        let chain = self.chain.get_or_insert_default();
        chain.learns(payload.words());
        asked(chain, &asking, &call.name, cx)
    }

    /// One agent asks another.
    fn asks_another(&mut self, request: &Collaboration, cx: &Cx<'_>) -> Option<Signal> {
        let way = |from: &str, to: &str| mark(combine("way", &[agent_key(from), agent_key(to)]));
        let names = Goal::of(&request.request).parts().any(|(_, weight)| Goal::names(weight));
        // The same question to several agents is a round of questions.
        let goal = Goal::with(&request.request, &mut core::iter::once(beside("to", &request.to)));
        let asking = NewRequest {
            goal: &goal,
            call: salted("collaboration", cx.salt, request.request.as_bytes()),
            tool: way(&request.from, &request.to),
            answers: if names { 0 } else { way(&request.to, &request.from) },
            round: None,
            onset: cx.onset,
            untold: true,
            mutations: cx.run.new_mutations,
            paused: false,
            prose: true,
        };
        asked(self.chain.get_or_insert_default(), &asking, &request.to, cx)
    }

    /// Records a text that a call only gave back, or that it sends; `tool` identifies the texts it is compared with.
    fn said(
        &mut self,
        again: &TextKind,
        call: &Call,
        tool: Key,
        goal: Goal,
        seen: (Sighting, Onset),
        cx: &Cx<'_>,
    ) -> Option<Signal> {
        let request = Request { goal, step: cx.run.steps, round: call.round };
        let agent = call.agent;
        let new = || RequestSource { tool, agent, requests: Ring::default(), rewordings: Streak::default() };
        let asker = self.tools.renew(TOOLS, |known| known.tool == tool && known.agent == agent, new)?;
        let same = asker.requests.iter().any(|before| before.goal == request.goal);
        let at_once = |before: &Request| request.round.is_some() && request.round == before.round;
        let rewords = |before: &Request| !at_once(before) && (again.rewords)(&request, before);
        let reworded = !(same && again.other) && asker.requests.iter().any(rewords);
        if reworded {
            asker.rewordings.add(seen.0, seen.1);
        } else if !same {
            asker.rewordings.halve();
        }
        asker.requests.push(request, REQUESTS);
        let (times, count) = (asker.rewordings.times, asker.rewordings.times.saturating_mul(WRITTEN));
        (reworded && cx.limits.reached(count)).then(|| {
            let name = printable(&call.name, 48);
            let [before, behind] = again.said;
            asker.rewordings.signal(SignalParts {
                kind: again.kind,
                identity: combine("reworded-request", &[combine("own-words", &[tool]), call.agent]),
                count,
                confidence: confidence(350, 14, count),
                signature: cx.named(&name, '~', combine("own-words", &[tool])),
                message: format!("`{name}` {before} {times} {behind}"),
                instead: again.instead,
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Stalled,
            })
        })
    }
}

/// Adds a request to the chain; the signal, if it rewords earlier ones often enough.
fn asked(chain: &mut Chain, asking: &NewRequest<'_>, of: &str, cx: &Cx<'_>) -> Option<Signal> {
    let Reworded { points, times, chain, kinship, came, seen } = chain.asks(asking, cx)?;
    if !cx.limits.reached(points) {
        return None;
    }
    let name = printable(of, 48);
    let identity = combine("reworded-request", &[chain]);
    let moving = if kinship.plus { "names more than" } else { "names nothing that was not in" };
    let words = if kinship.alike < 100 { ", in different words" } else { "" };
    Some(Streak::of(seen.into_iter()).signal(SignalParts {
        kind: "same-goal",
        identity,
        count: points,
        confidence: confidence(350, 14, points),
        signature: cx.named(&name, '~', identity),
        message: format!(
            "`{name}` was asked for the same thing {times} times{words}: {} % of the latest request is in an earlier one, it {moving} that one, and it comes {}",
            kinship.alike,
            came.words(),
        ),
        instead: "Work with the answers you have, or ask for one thing that none of them contains.",
        recommendation: Recommendation::ChangeApproach,
        halt_reason: HaltReason::Stalled,
    }))
}

impl Rule for RewordedRequest {
    const ID: &'static str = "reworded-request";
    const ABOUT: &'static str = "Requests for one thing in different words although nothing new comes of them, or one message sent again and again.";
    const UNIT: &'static str = "points";
    const LIMITS: Limits = Limits::ladder(9, 0, 0, 0);
    const SEES: Facts = Facts::CALL.and(Facts::STEP).and(Facts::REPORT).and(Facts::USER_MESSAGE);
    type State = State;

    #[inline]
    fn heeds(state: &State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        match fact {
            Fact::Call(call, _) => {
                if call.mutates {
                    call.edit == Edit::No
                } else {
                    !call.polling && !call.asks.plans()
                }
            }
            Fact::Step(step, _) => state.chain.is_some() || step.facts.echo,
            _ => true,
        }
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Call(call, payload) => {
                if call.mutates {
                    let (goal, place) = sent(payload)?;
                    let tool = combine("sent", &[call.tool, place]);
                    return state.said(&SENT_AGAIN, call, tool, goal, (cx.here, call.onset), cx);
                }
                if call.polling { None } else { state.calls(call, payload, cx) }
            }
            // Whether anything came of the requests of a task that has no calls is not known.
            Fact::Event(Event { body: Body::Collaboration(asked), .. })
                if cx.config.collaboration.enabled && (cx.task == 0 || cx.run.steps > 0) =>
            {
                state.asks_another(asked, cx)
            }
            Fact::Step(step, result) => {
                // Fewer errors are left: asking again helps.
                if step.fewer {
                    state.chain = None;
                }
                if let Some(chain) = &mut state.chain {
                    chain.came(step, result);
                }
                let call = step.call.as_ref().filter(|call| call.asks == Asks::Nothing && !call.mutates)?;
                if !step.facts.echo || !reads_as_prose(&result.output) {
                    return None;
                }
                let goal = Goal::of(&result.output);
                state.said(&OWN_WORDS, call, call.tool, goal, (step.sighting, step.onset), cx)
            }
            // A user's message may order the next text of this kind.
            Fact::UserMessage(_) => {
                state.tools.clear();
                None
            }
            _ => None,
        }
    }

    fn standing(state: &State) -> u32 {
        let written = state.tools.iter().map(|tool| tool.rewordings.times.saturating_mul(WRITTEN)).max().unwrap_or(0);
        written.max(state.chain.as_ref().map_or(0, |chain| chain.points()))
    }

    fn fits(state: &State) -> bool {
        state.chain.iter().all(|chain| chain.fits())
            && state.tools.len() <= TOOLS
            && state
                .tools
                .iter()
                .all(|tool| tool.requests.len() <= REQUESTS && tool.requests.iter().all(|request| request.goal.fits()))
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{Played, Script, events, pair};
    use alloc::format;

    const RULE: &str = "reworded-request";

    #[test]
    fn table() {
        let twice = "find/quiet_cheap_hotel_near_station:1 find/cheap_quiet_hotel_near_station:2 ";
        let thrice = alloc::string::String::from(twice) + "find/hotel_near_station_quiet_cheap_room:3 ";
        Script::new("{}").play(&thrice).expect(RULE, &[]);
        let four = thrice + "find/room_in_cheap_hotel_quiet_near_station:4";
        Script::new("{}").play(&four).expect(RULE, &[(6, Nudge)]);
        // Whatever comes in between and whichever tool is asked; a change in between makes it another question.
        Script::new("{}").play(&four.replace(' ', " a:1 b:2 c:3 d:4 ")).strongest(RULE, Nudge);
        Script::new("{}").play(&four.replacen("find", "look", 2)).strongest(RULE, Nudge);
        Script::new("{}").play(&four.replacen(' ', " *1 ", 2)).expect(RULE, &[]);
        // Identical words while the figures change: the agent waits.
        Script::new("{}").play("count/rows_imported_since_yesterday_morning:10 count/rows_imported_since_yesterday_morning:20 count/rows_imported_since_yesterday_morning:30 count/rows_imported_since_yesterday_morning:40").expect(RULE, &[]);
    }

    /// Programs that print one of the texts each; `print` is the code around it.
    fn printed(texts: &[&str], print: &str) -> Played {
        let program = |text: &&str| {
            let args = format!(r#"{{"code":"task = ('{text}')\\n{print}(task)"}}"#);
            pair("python", &args, "ok", &format!("Logs: {text}"))
        };
        events("{}", texts.iter().flat_map(program))
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
        // A different request each time, and text that does not read as prose.
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
