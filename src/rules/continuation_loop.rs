//! Catches: a host that keeps telling the agent to continue, and an agent that answers with text alone every time.
//! A system message that comes again before anybody has spoken or acted was answered with nothing.
//! Must not catch: continuations after which the agent works; news that the host passes on, such as the end of a
//! background task, which the agent may acknowledge and go on waiting; a heartbeat every few minutes; agents who
//! discuss among themselves what the host says.
//! Idea: a prompt that nobody wrote gets an answer that nobody reads; only a call shows that the agent is working. If a
//! host does not mark its prompts synthetic, a repeated system message is taken for the prompt, until a different one
//! follows.

use crate::codec::codec;
use crate::model::{Body, Channel, Event, HaltReason, HostKind, Recommendation, Role};
use crate::rules::news::{HEARTBEAT, HostWords, WORDS, rests};
use crate::rules::streak::capped_confidence;
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts};
use crate::state::{Latest, Onset, Sighting};
use crate::text::{combine, key, mark, said};
use alloc::format;
use smol_str::SmolStr;

/// Messages from other agents after an answer that are put down to parallel work; with more, the agents are talking to
/// each other.
const OTHERS: u32 = 1;

pub(crate) struct ContinuationLoop;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The onset of the host's prompt that has not been answered yet.
    prompted: Option<Onset>,
    answers: u32,
    onset: Onset,
    sightings: Latest,
    heard: HostWords,
    /// Mark of the system message, not marked synthetic, that the answers respond to; 0 if they respond to the host's
    /// own prompts.
    told: u32,
    /// Mark of the agent that answered last, and how often others have spoken since.
    speaker: u32,
    others: u32,
}
codec!(struct State { prompted, answers, onset, sightings, heard, told, speaker, others });

impl State {
    /// Forgets the answers; those counted next respond to the message `told`.
    fn start_over(&mut self, told: u32) {
        *self = Self { heard: core::mem::take(&mut self.heard), told, ..Self::default() };
    }

    /// One more of the host's prompts was answered without a call.
    fn answered(&mut self, prompted: Onset, cx: &Cx<'_>) -> Option<Signal> {
        self.answers = self.answers.saturating_add(1);
        if self.answers == 1 || rests(HEARTBEAT, self.onset.at, prompted.at, self.answers) {
            (self.answers, self.onset, self.sightings) = (1, prompted, Latest::default());
        }
        let identity = key("rule", ContinuationLoop::ID.as_bytes());
        self.sightings.push(Sighting { key: identity, ..cx.here });
        let count = self.answers;
        cx.limits.reached(count).then(|| {
            SignalParts {
                kind: "text-alone",
                identity,
                count,
                confidence: capped_confidence((650, 30, 10), count),
                signature: SmolStr::new_static(ContinuationLoop::ID),
                message: format!(
                    "{count} prompts from the host were answered with text only, or not at all, without a call"
                ),
                instead: "Make the next call, or say plainly which decision or information is missing.",
                recommendation: Recommendation::Escalate,
                halt_reason: HaltReason::Stalled,
            }
            .signal(self.onset, self.sightings.iter().copied().collect())
        })
    }
}

/// Whether a system message may demand something of the agent, rather than log what the host does.
fn demands(text: &str) -> bool {
    text.split_whitespace().nth(WORDS - 1).is_some() && !text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a system message only counts what the host does, as in `Round 7 of 30 (night watch)`: a figure among a few
/// words.
fn is_count(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit()) && text.split_whitespace().nth(WORDS).is_none()
}

/// A system message that is not marked synthetic, and the mark of it and of the agent that it is for, ignoring counters in
/// its text.
fn reminds<'a>(fact: &Fact<'a>, cx: &Cx<'_>) -> Option<(&'a str, u32)> {
    match fact {
        Fact::Event(Event { body: Body::Message(message), .. }) if message.role == Role::System => {
            let told = |key| mark(combine("continuation-loop/told", &[key, cx.agent])).max(1);
            said(&message.text, cx.salt).map(|said| (message.text.as_str(), told(said.key)))
        }
        _ => None,
    }
}

/// Whether the host told the agent to continue.
fn prompts(fact: &Fact<'_>) -> bool {
    let says = match fact {
        Fact::Synthetic(event) => {
            matches!(&event.body, Body::Message(message) if message.role != Role::Assistant)
        }
        _ => false,
    };
    says || fact.host().is_some_and(|host| host.kind == HostKind::Continuation)
}

impl Rule for ContinuationLoop {
    const ID: &'static str = "continuation-loop";
    const ABOUT: &'static str = "The host's own prompts answered with text only, without a call.";
    const UNIT: &'static str = "answers";
    const LIMITS: Limits = Limits::ladder(4, 6, 10, 0);
    const OF_TEXT: bool = true;
    const SEES: Facts = Facts::CALL.and(Facts::STEP).and(Facts::MESSAGE).and(Facts::HOST).and(Facts::SYNTHETIC);
    type State = State;

    #[inline]
    fn heeds(state: &State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        let goes_on = state.answers > 0 || state.prompted.is_some();
        goes_on || !matches!(fact, Fact::Call(..) | Fact::Step(..))
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        if state.heard.is_news(fact, cx.salt) || matches!(fact, Fact::Call(..) | Fact::Step(..)) {
            state.start_over(state.told);
            return None;
        }
        if let Some((text, told)) = reminds(fact, cx).filter(|(text, _)| !is_count(text)) {
            // If the host has prompts of its own, a system message is not one of them.
            let host_prompts = state.told == 0 && state.answers > 0;
            if told != state.told && !host_prompts {
                state.start_over(told);
            }
            if told != state.told {
                return None;
            }
            // Said once more before anybody spoke or acted: the answer was empty.
            let prompted = state.prompted.replace(cx.onset);
            // What is only inferred is told of, and no more.
            let counts = demands(text) && state.answers < cx.limits.nudge;
            return prompted.filter(|_| counts).and_then(|prompted| state.answered(prompted, cx));
        }
        if prompts(fact) {
            state.told = 0;
            state.prompted.get_or_insert(cx.onset);
            return None;
        }
        let (_, message) = fact.agent_message()?;
        if message.channel.unwrap_or_default() == Channel::Reasoning {
            return None;
        }
        let speaker = mark(cx.agent);
        let Some(prompted) = state.prompted.take() else {
            if state.answers > 0 && speaker != state.speaker {
                state.others = state.others.saturating_add(1);
            }
            if state.others > OTHERS {
                state.start_over(state.told);
            }
            return None;
        };
        (state.speaker, state.others) = (speaker, 0);
        state.answered(prompted, cx)
    }

    fn standing(state: &State) -> u32 {
        state.answers
    }

    fn fits(state: &State) -> bool {
        state.heard.fits()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::{Played, events, says};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "continuation-loop";
    const PROMPT: &str = r#"{"type":"message","role":"system","synthetic":true,"text":"Please continue."}"#;
    const HOST: &str = r#"{"type":"host","kind":"continuation"}"#;

    /// Prompts, each answered in different words.
    fn answered(prompts: &[&str], times: usize) -> Vec<String> {
        let answer =
            |n: usize| says(&format!("{} is what I would do then.", ["this", "that", "nothing"][n % 3].repeat(n + 1)));
        (0..times).flat_map(|n| prompts.iter().map(|prompt| (*prompt).into()).chain([answer(n)])).collect()
    }

    fn play(prompts: &[&str], times: usize) -> Played {
        events("{}", answered(prompts, times))
    }

    #[test]
    fn every_rung_is_reached() {
        for prompts in [&[PROMPT][..], &[HOST], &[HOST, PROMPT]] {
            for (times, level) in [(4, Nudge), (6, Block), (10, Halt)] {
                play(prompts, times).last(RULE, level);
            }
            play(prompts, 3).expect(RULE, &[]);
        }
    }

    #[test]
    fn empty_answers_leave_no_trace() {
        let told = |text: &str| format!(r#"{{"type":"message","role":"system","text":"{text}"}}"#);
        let demand = told("Every answer must hold exactly one call of a tool.");
        events("{}", core::iter::repeat_n(&demand, 5)).last(RULE, Nudge);
        events("{}", core::iter::repeat_n(&demand, 20)).strongest(RULE, Nudge);
        events("{}", core::iter::repeat_n(&demand, 4)).expect(RULE, &[]);
        // The same order for one agent after another.
        let order = |at: usize| demand.replacen('{', &format!(r#"{{"agent":"{at}","#), 1);
        events("{}", (0..20).map(order)).expect(RULE, &[]);
        // What the host logs, in few words or with figures, and what comes between calls.
        events("{}", core::iter::repeat_n(told("Request was sent."), 20)).expect(RULE, &[]);
        events("{}", (0..20).map(|at| told(&format!("The file was read in {at} steps, without errors."))))
            .expect(RULE, &[]);
        let call = r#"{"type":"tool-call","tool":"read","args":{"path":"a"}}"#;
        events("{}", core::iter::repeat_n([&demand, call], 9).flatten()).expect(RULE, &[]);
    }

    #[test]
    fn news_is_no_prompt() {
        let jobs = ["the linter", "the unit tests", "the browser tests", "the documentation", "the benchmark"];
        let news = |n: usize| {
            let job = jobs[n % jobs.len()];
            format!(
                r#"{{"type":"message","role":"user","synthetic":true,"text":"A task in the background has ended: {job}, attempt {}, says {}"}}"#,
                ["one", "two", "three"][n / jobs.len()],
                ["all is well", "two things are wrong"][n % 2]
            )
        };
        let waits = |n: usize| [news(n), says("Waiting for the others.")];
        events("{}", (0..15).flat_map(waits)).expect(RULE, &[]);
        // Repeated content is no news, and neither is a synonymous order.
        events("{}", (0..15).flat_map(|_| waits(3))).last(RULE, Halt);
        let order = |n: usize| {
            let text = ["Go on.", "Keep going!", "Please continue.", "Carry on now."][n % 4];
            [format!(r#"{{"type":"message","role":"user","synthetic":true,"text":"{text}"}}"#), says("I will.")]
        };
        events("{}", (0..10).flat_map(order)).last(RULE, Halt);
    }

    #[test]
    fn what_the_system_says_again() {
        let remind = |text: &str| format!(r#"{{"type":"message","role":"system","text":"{text}"}}"#);
        let answer =
            |n: usize| says(&format!("{}, that is the plan.", ["first", "then", "at last", "or"][n % 4].repeat(n + 1)));
        let play = |text: fn(usize) -> String, times: usize| {
            events("{}", (0..times).flat_map(|n| [remind(&text(n)), answer(n)]))
        };
        let nothing = |n: usize| format!("Nothing was called in the last turn ({n}). Call a tool or end.");
        play(nothing, 4).last(RULE, Nudge);
        play(nothing, 6).last(RULE, Block);
        play(nothing, 3).expect(RULE, &[]);
        // New content each time. Heartbeats are covered by the corpus.
        let news = |n: usize| format!("The {} is there.", ["tug", "pilot", "crane", "barge"][n % 4].repeat(n + 1));
        play(news, 12).expect(RULE, &[]);
        // A wrapper that only counts its rounds demands nothing.
        let round = |n: usize| format!("Round {n} of 30 (night watch)");
        play(round, 12).expect(RULE, &[]);
        let told = |n: usize| [remind(&round(n)), remind(&nothing(n)), answer(n)];
        events("{}", (0..4).flat_map(told)).last(RULE, Nudge);
        // Besides the host's own prompts, it ends nothing.
        let both = |n: usize| [remind(&news(n)), PROMPT.into(), answer(n)];
        events("{}", (0..6).flat_map(both)).last(RULE, Block);
    }

    #[test]
    fn what_is_none() {
        play(&[], 20).expect(RULE, &[]);
        play(&[r#"{"type":"message","role":"user","text":"go on"}"#], 20).expect(RULE, &[]);
        let call = r#"{"type":"tool-call","tool":"read"}"#;
        let mut worked = answered(&[PROMPT], 3);
        worked.push(call.into());
        worked.extend(answered(&[PROMPT], 3));
        events("{}", worked).expect(RULE, &[]);
    }
}
