//! Catches: messages that ask for, promise or confirm the same thing in other words while nobody acts: experts asking each
//! other for what none of them has, a desk that demands a number which the caller has lost, one apology after the other.
//! Must not catch: a dialogue in which the user keeps bringing something new, one question after the other of a form, a
//! round of reports, closing words, answers to a user who doubts what was just looked up.
//! Idea: words are an action where there is no other. They go round in circles when they share their object, hold hardly a
//! word that was not said before, and nothing was done in between; what a user newly names is progress.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation, Role};
use crate::rules::streak::{Streak, Told, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal};
use crate::state::{Onset, Ring, Sighting, Step};
use crate::text::{Asks, Goal, Key, Vocabulary, combine};
use crate::tuned;
use alloc::{boxed::Box, format};

/// Messages compared with.
const MESSAGES: usize = 5;
/// Lighter messages say too little.
const LIGHTEST: u32 = 6;
/// What a repeat adds, in twelfths.
const WHOLE: u32 = 12;
/// A chain is told of where one message in so many brought no news.
const STALE: u32 = 5;
/// Messages after a result that are about the result.
const ABOUT_IT: u32 = 2;

pub(crate) struct StaleTalk;

/// Only where somebody spoke.
#[derive(Clone, Debug, Default)]
pub(crate) struct State(Option<Box<Talk>>);
codec!(struct State(_));

#[derive(Clone, Debug, Default)]
struct Talk {
    messages: Ring<Said>,
    words: Vocabulary,
    /// The user named something since the latest message.
    news: bool,
    /// Messages since the latest result; none where there was no result yet.
    since: Option<u32>,
}
codec!(struct Talk { messages, words, news, since });

#[derive(Clone, Debug)]
struct Said {
    goal: Goal,
    points: u32,
    times: u32,
    /// Those of the chain that brought no news.
    stale: u32,
    /// What the first message of the chain was about.
    chain: Key,
    sighting: Sighting,
    onset: Onset,
}
codec!(struct Said { goal, points, times, stale, chain, sighting, onset });

impl Talk {
    /// The weight of the words that were not said before, and whether one of them names something.
    fn learn(&mut self, goal: &Goal) -> (u32, bool) {
        let (mut fresh, mut named) = (0, false);
        for (word, weight) in goal.parts() {
            if self.words.learn(word) {
                fresh += weight;
                named |= Goal::names(weight);
            }
        }
        (fresh, named)
    }

    /// Somebody did something. What came to nothing takes only half of the evidence: who tries in vain and goes on asking is
    /// no further.
    fn acted(&mut self, step: &Step) {
        // Whoever hands a thing on has only talked.
        if step.call.as_ref().is_some_and(|call| call.asks == Asks::Handover) {
            return;
        }
        let changed = step.call.as_ref().is_some_and(|call| call.mutates && !step.facts.failed);
        if changed || !step.facts.failed && !step.facts.negative && !step.facts.wordless {
            self.messages.clear();
            self.since = Some(0);
        } else {
            self.messages.iter_mut().for_each(|said| said.points /= 2);
        }
    }

    fn says(&mut self, text: &str, cx: &Cx<'_>) -> Option<Signal> {
        let goal = Goal::of(text, core::iter::empty());
        let (fresh, named) = self.learn(&goal);
        self.since = self.since.map(|since| since.saturating_add(1));
        let about_it = self.since.is_some_and(|since| since <= ABOUT_IT);
        if goal.weight() < LIGHTEST || text.len() > tuned::TALK_LONGEST.get() as usize || about_it {
            return None;
        }
        let mut leaves = if core::mem::take(&mut self.news) { tuned::TALK_USER_NEWS.get() } else { WHOLE };
        if named || fresh * 100 > goal.weight() * tuned::TALK_FRESH.get() {
            leaves = leaves.min(tuned::TALK_NEWS.get());
        }
        let mut best: Option<(u32, &Said)> = None;
        for before in self.messages.iter() {
            let kinship = goal.kinship(&before.goal);
            let related = kinship.alike >= tuned::TALK_ALIKE.get() || kinship.within >= tuned::TALK_WITHIN.get();
            if kinship.refilled || !related {
                continue;
            }
            let base = (kinship.alike.max(kinship.within / 2) / 3).min(WHOLE);
            let points = before.points.saturating_add(base * leaves / WHOLE);
            if best.is_none_or(|(most, _)| points >= most) {
                best = Some((points, before));
            }
        }
        let mut news = leaves < WHOLE;
        let (points, times, stale, chain) = best.map_or((0, 1, 0, goal.key() ^ cx.salt), |(points, before)| {
            let (times, stale) = (before.times.saturating_add(1), before.stale.saturating_add(u32::from(!news)));
            // Who says something new is not who is told, nor whoever speaks where most did.
            news |= stale.saturating_mul(STALE) < times;
            let most = cx.limits.nudge.saturating_sub(1).max(before.points);
            (if news { points.min(most) } else { points }, times, stale, before.chain)
        });
        self.messages.push(Said { goal, points, times, stale, chain, sighting: cx.here, onset: cx.onset }, MESSAGES);
        if times == 1 || news || !cx.limits.reached(points, 1) {
            return None;
        }
        let same = self.messages.iter().filter(|said| said.chain == chain).map(|said| (said.sighting, said.onset));
        let identity: Key = combine("stale-talk", &[chain]);
        Some(Streak::of(same).signal(Told {
            kind: "nobody-acts",
            identity,
            count: points,
            confidence: confidence(300, 14, points),
            signature: cx.named("talk", '~', identity),
            message: format!(
                "{times} messages are about the same thing, hold hardly a new word, and nothing was done in between"
            ),
            instead: "Do what is talked about, or say that it cannot be had and go on in another way.",
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::Stalled,
        }))
    }
}

impl Rule for StaleTalk {
    const ID: &'static str = "stale-talk";
    const ABOUT: &'static str = "Messages about one thing with hardly a new word, while nobody acts.";
    const UNIT: &'static str = "points";
    const LIMITS: Limits = Limits::ladder(20, 0, 0, 0);
    const OUTLIVES_EVIDENCE: bool = true;
    const IN_LANE: bool = true;
    const SEES: Facts = Facts::MESSAGE.and(Facts::HEARD).and(Facts::STEP);
    type State = State;

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, _) => {
                if let Some(talk) = &mut state.0 {
                    talk.acted(step);
                }
            }
            Fact::Heard(message) if message.role == Role::User => {
                let talk = state.0.get_or_insert_default();
                let (_, named) = talk.learn(&Goal::of(&message.text, core::iter::empty()));
                talk.news |= named;
            }
            _ => {
                let (_, message) = fact.spoken()?;
                return state.0.get_or_insert_default().says(&message.text, cx);
            }
        }
        None
    }

    fn standing(state: &State) -> u32 {
        state.0.iter().flat_map(|talk| talk.messages.iter()).map(|said| said.points).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.0.iter().all(|talk| {
            talk.messages.len() <= MESSAGES && talk.messages.iter().all(|said| said.goal.fits()) && talk.words.fits()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{Played, events, says};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stale-talk";

    fn dialogue(lines: &[(&str, &str)]) -> Played {
        let heard = |text: &str| format!(r#"{{"type":"message","role":"user","text":"{text}"}}"#);
        let lines: Vec<String> = lines.iter().flat_map(|(said, answer)| [says(said), heard(answer)]).collect();
        events("{}", &lines)
    }

    #[test]
    fn a_slot_that_stays_empty() {
        dialogue(&[
            ("Please send me the booking code so that I can look into it.", "I lost it."),
            ("I need the booking code to look into it.", "As I said, it is lost."),
            ("Please send the booking code so that I can look into it.", "It is gone."),
            ("Please send me the booking code, I need it to look into it.", "No."),
        ])
        .strongest(RULE, Nudge);
        // The user names something each time.
        dialogue(&[
            ("Please send me the booking code so that I can look into it.", "It was for Oslo in May."),
            ("I need the booking code to look into it.", "My name is Ines Albers."),
            ("Please send the booking code so that I can look into it.", "I paid by Visa 4411."),
            ("Please send me the booking code, I need it to look into it.", "It went via Riga."),
        ])
        .expect(RULE, &[]);
    }

    #[test]
    fn a_form_is_no_loop() {
        dialogue(&[
            ("Which size of boots do you take?", "A 42."),
            ("Which colour of boots would you like?", "Green."),
            ("Where shall the parcel be sent to?", "Home."),
            ("How would you like to pay for it?", "By invoice."),
        ])
        .expect(RULE, &[]);
    }

    #[test]
    fn whoever_acts_is_not_only_talking() {
        let text = says("I need the tide table of the harbour before the depth can be found.");
        let other = says("The depth can be found as soon as the tide table of the harbour is there, I need it.");
        let call = r#"{"type":"tool-call","tool":"look","args":{"at":"shelf"}}"#;
        let result = r#"{"type":"tool-result","tool":"look","outcome":"ok","output":"empty"}"#;
        events("{}", [&*text, &other, &text, &other]).strongest(RULE, Nudge);
        events("{}", [&*text, call, result, &other, call, result, &text, call, result, &other]).expect(RULE, &[]);
    }
}
