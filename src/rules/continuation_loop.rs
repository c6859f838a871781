//! Catches: a host that tells the agent to go on and an agent that answers with text alone, over and over.
//! Must not catch: continuations after which the agent works; news that the host passes on, such as the end of a task
//! in the background, which the agent may well acknowledge and go on waiting; a heartbeat every few minutes; agents who
//! talk among each other about what the host tells.
//! Idea: a prompt that nobody wrote gets an answer that nobody reads; only a call shows that the agent goes on. A host
//! that does not call its prompts synthetic is known by a message of the system that comes again, and was no prompt
//! where another one comes.

use crate::codec::codec;
use crate::model::{Body, Channel, Event, HaltReason, HostKind, Recommendation, Role};
use crate::rules::news::{Heard, rests};
use crate::rules::streak::sure;
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, Told};
use crate::state::{Latest, Onset, Sighting};
use crate::text::{key, mark, said};
use alloc::format;
use smol_str::SmolStr;

/// Messages of others behind an answer that agents have who run beside each other, and do not talk among each other.
const OTHERS: u32 = 1;

pub(crate) struct ContinuationLoop;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The host's prompt that waits for an answer.
    prompted: Option<Onset>,
    answers: u32,
    onset: Onset,
    sightings: Latest,
    heard: Heard,
    /// Mark of the message of the system that the answers are to, where it is not called synthetic; 0 where the host's
    /// own prompts are.
    told: u32,
    /// A mark of who answered last, and how often others have spoken since the prompt.
    speaker: u32,
    others: u32,
}
codec!(struct State { prompted, answers, onset, sightings, heard, told, speaker, others });

impl State {
    /// Forgets the answers; what is counted next is answers to that message.
    fn start_over(&mut self, told: u32) {
        *self = Self { heard: core::mem::take(&mut self.heard), told, ..Self::default() };
    }
}

/// A message of the system that is not called synthetic, without its counters.
fn reminds(fact: &Fact<'_>, salt: u64) -> Option<u32> {
    match fact {
        Fact::Event(Event { body: Body::Message(message), .. }) if message.role == Role::System => {
            said(&message.text, salt).map(|said| mark(said.key).max(1))
        }
        _ => None,
    }
}

/// Whether the host told the agent to go on.
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
    const ABOUT: &'static str = "The host's own prompts answered by text alone.";
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
        if let Some(told) = reminds(fact, cx.salt) {
            // Beside prompts that the host calls its own it is none.
            let host_prompts = state.told == 0 && state.answers > 0;
            if told != state.told && !host_prompts {
                state.start_over(told);
            }
            if told == state.told {
                state.prompted.get_or_insert(cx.onset);
            }
            return None;
        }
        if prompts(fact) {
            state.told = 0;
            state.prompted.get_or_insert(cx.onset);
            return None;
        }
        let (_, message) = fact.spoken()?;
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
        state.answers = state.answers.saturating_add(1);
        if state.answers == 1 || rests(state.onset.at, prompted.at, state.answers) {
            (state.answers, state.onset, state.sightings) = (1, prompted, Latest::default());
        }
        let identity = key("rule", Self::ID.as_bytes());
        state.sightings.push(Sighting { key: identity, ..cx.here });
        let count = state.answers;
        if !cx.limits.reached(count, 1) {
            return None;
        }
        let message = format!("{count} prompts of the host were answered by text alone, without a call");
        Some(
            Told {
                kind: "text-alone",
                identity,
                count,
                confidence: sure((650, 30, 10), count),
                signature: SmolStr::new_static(Self::ID),
                message,
                instead: "Make the next call, or say plainly which decision or information is missing.",
                recommendation: Recommendation::Escalate,
                halt_reason: HaltReason::Stalled,
            }
            .signal(state.onset, state.sightings.iter().copied().collect()),
        )
    }

    fn standing(state: &State) -> u32 {
        state.answers
    }

    fn fits(state: &State) -> bool {
        state.sightings.fits() && state.heard.fits()
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

    /// Prompts, each answered in other words.
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
        // What was heard before is no news, and neither is another word for the same.
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
        // News each time. What a heartbeat is to it is in the corpus.
        let news = |n: usize| format!("The {} is there.", ["tug", "pilot", "crane", "barge"][n % 4].repeat(n + 1));
        play(news, 12).expect(RULE, &[]);
        // Beside the host's own prompts it ends nothing.
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
