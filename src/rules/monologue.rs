//! Catches: an agent that says the same thing again and again, either without any result in between, or as the same
//! long text around its work.
//! Must not catch: short remarks around work ("Let me look."); answers that differ in more than a counter; an agent
//! that hands out work in the same words while the others report news; "Waiting." after each piece of news from the
//! host; the same answer to a heartbeat every few minutes; one remark on page after page of something long; the set
//! phrases of a chair who says much else, or of a program that tells of one item after another.
//! Of an agent that says one long text after another, two of which two thirds of the sentences are the same are one text.
//! Idea: a text that is repeated although nothing happened in between cannot have been an answer to anything new.
//!
//! Without a result or another agent's news in between, every occurrence counts, unless three new texts that name
//! something come before each. With work in between, only long texts
//! count, however far apart: the third time is nudged and the fourth blocked, or the sixth if the work brought
//! something new at least every other time; what comes every quarter of an hour, or less often, begins anew. If it did
//! so each time, or if the agent said four new texts between any two of them, every other occurrence counts; if the
//! work consists of looks that each show something new, or of gestures, which show nothing, none is blocked.

use crate::codec::codec;
use crate::model::{Channel, HaltReason, Recommendation};
use crate::rules::news::{HEARTBEAT, HostWords, SILENCE, rests};
use crate::rules::streak::capped_confidence;
use crate::rules::{Cx, Fact, Facts, Limits, Outlook, Rule, Signal, SignalParts, View, advisory};
use crate::state::{Latest, Onset, Ring, Sighting, Step, agent_of};
use crate::text::{Goal, Key, Sentences, combine, said};
use alloc::{boxed::Box, format};

/// Texts remembered over all agents; the one not heard for longest is dropped.
const TEXTS: usize = 16;
/// Occurrences with work in between, and the evidence they are worth.
const AROUND_WORK: [(u32, u32); 3] = [(8, 9), (4, 5), (3, 3)];
/// Number of occurrences from which a refrain is blocked although the work makes progress.
const REFRAIN: u32 = 6;
/// New texts of an agent between any two occurrences of a text from which that is a set phrase.
const OTHERS: u32 = 4;
/// New texts of an agent since a text was said, each of which names something, that show that it tells of its work and
/// says this one at each step.
const NARRATED: u32 = 3;
/// Long texts remembered beyond [`TEXTS`], by their onset and counts only.
const OLDER: usize = 48;

pub(crate) struct Monologue;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    texts: Ring<Text>,
    heard: HostWords,
    /// Present once a long text was said.
    long: Option<Box<LongTexts>>,
}
codec!(struct State { texts, heard, long });

#[derive(Clone, Debug, Default)]
struct LongTexts {
    /// Those that have not been heard for a while.
    older: Ring<OlderText>,
    /// The latest one, until something else happens than that its agent speaks.
    latest: Option<LongText>,
}
codec!(struct LongTexts { older, latest });

/// A long text as others that hardly differ from it are compared with it.
#[derive(Clone, Debug)]
struct LongText {
    /// Key of the agent and the channel.
    speaker: Key,
    /// Of the first of these texts.
    key: Key,
    sentences: Sentences,
}
codec!(struct LongText { speaker, key, sentences });

/// A long text that has not been heard for a while.
#[derive(Clone, Copy, Debug)]
struct OlderText {
    agent: Key,
    key: Key,
    times: u32,
    busy: u32,
    else_said: u32,
    apart: bool,
    onset: Onset,
}
codec!(struct OlderText { agent, key, times, busy, else_said, apart, onset });

impl State {
    /// Takes out what is known of a text.
    fn take(&mut self, key: Key) -> Option<Text> {
        if let Some(text) = self.texts.take(|text| text.key == key) {
            return Some(text);
        }
        let older = self.long.as_mut()?.older.take(|text| text.key == key)?;
        let OlderText { agent, key, times, busy, else_said, apart, onset } = older;
        Some(Text { times, busy, else_said, apart, fresh: true, looks: false, ..Text::new(agent, key, true, onset) })
    }

    /// The key of a long text: that of the latest one, if the same agent has said nearly the same.
    fn nearly(&mut self, speaker: Key, key: Key, text: &str, salt: u64) -> Key {
        let sentences = Sentences::of(text, salt);
        let latest = &mut self.long.get_or_insert_default().latest;
        let same = latest.take().filter(|latest| latest.speaker == speaker && latest.sentences.nearly(&sentences));
        let key = same.map_or(key, |same| same.key);
        *latest = Some(LongText { speaker, key, sentences });
        key
    }

    /// The next long text is compared with none.
    fn ends_long(&mut self) {
        if let Some(long) = &mut self.long {
            long.latest = None;
        }
    }

    fn keep(&mut self, text: Text) {
        if self.texts.len() >= TEXTS
            && let Some(Text { agent, key, long: true, times, busy, else_said, apart, onset, .. }) =
                self.texts.remove(0)
        {
            let older = OlderText { agent, key, times, busy, else_said, apart, onset };
            self.long.get_or_insert_default().older.push(older, OLDER);
        }
        self.texts.push(text, TEXTS);
    }
}

#[derive(Clone, Debug, Default)]
struct Text {
    agent: Key,
    key: Key,
    long: bool,
    /// All occurrences; those after work that brought something new; and whether there was such work since the latest.
    times: u32,
    busy: u32,
    fresh: bool,
    /// New texts that the same agent has said since; and whether there were at least [`OTHERS`] between any two
    /// occurrences so far.
    else_said: u32,
    apart: bool,
    /// Those of them that name something, counted only of a text that was repeated.
    named: u32,
    /// Results since the latest occurrence; and whether every result so far was a look that showed something new, with
    /// at least one between any two occurrences.
    results: u32,
    looks: bool,
    /// Occurrences since the latest result.
    idle: u32,
    /// Onset of the first occurrence, and of the first since the latest result.
    onset: Onset,
    idle_onset: Onset,
    sightings: Latest,
}
codec!(struct Text { agent, key, long, times, busy, fresh, else_said, apart, named, results, looks, idle, onset, idle_onset, sightings });

impl Text {
    /// A text that is said for the first time.
    fn new(agent: Key, key: Key, long: bool, onset: Onset) -> Self {
        Self { agent, key, long, looks: true, apart: true, onset, idle_onset: onset, ..Self::default() }
    }

    fn is_said(&mut self, sighting: Sighting, onset: Onset) {
        self.looks &= self.times == 0 || self.results > 0;
        self.apart &= self.times == 0 || self.else_said >= OTHERS;
        let narrates = self.named >= NARRATED;
        (self.results, self.else_said, self.named) = (0, 0, 0);
        self.times = self.times.saturating_add(1);
        self.busy = self.busy.saturating_add(core::mem::take(&mut self.fresh).into());
        if rests(SILENCE, self.onset.at, onset.at, self.times) {
            (self.times, self.busy, self.onset) = (1, 0, onset);
        }
        self.idle = self.idle.saturating_add(1);
        if self.idle == 1 || narrates || rests(HEARTBEAT, self.idle_onset.at, onset.at, self.idle) {
            (self.idle, self.idle_onset) = (1, onset);
        }
        self.sightings.push(sighting);
    }

    fn signal(&self, said: Key, cx: &Cx<'_>) -> Option<Signal> {
        let count = self.count();
        if !cx.limits.reached(count) {
            return None;
        }
        let idle = self.idle >= self.around_work();
        let (kind, times, between) = if idle {
            ("nothing-between", self.idle, "no result came in between")
        } else {
            ("around-work", self.times, "whatever results came in between")
        };
        let signal = SignalParts {
            kind,
            identity: self.key,
            count,
            confidence: capped_confidence((if idle { 700 } else { 600 }, 30, 9), count),
            signature: cx.named("said", '#', said),
            message: format!("The agent said the same thing {times} times; {between}"),
            instead: "Do the next thing instead of announcing it, or say what prevents it.",
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::Stalled,
        }
        .signal(if idle { self.idle_onset } else { self.onset }, self.sightings.iter().copied().collect());
        Some(if self.is_refrain() { advisory(signal, cx) } else { signal })
    }

    /// The occurrences that count: of remarks on work that each time brought something new, and of set phrases among
    /// other texts, every other.
    fn weight(&self) -> u32 {
        let gets_on = self.looks || self.apart || self.busy.saturating_add(1) >= self.times;
        if gets_on { self.times / 2 } else { self.times }
    }

    /// The evidence of the occurrences with work in between.
    fn around_work(&self) -> u32 {
        let weight = self.weight();
        let reached = AROUND_WORK.iter().find(|(least, _)| self.long && weight >= *least);
        reached.map_or(0, |(_, count)| *count)
    }

    fn count(&self) -> u32 {
        self.idle.max(self.around_work())
    }

    /// A refrain around work that makes progress: advice only, for a while.
    fn is_refrain(&self) -> bool {
        let gets_on = self.looks || self.weight() < REFRAIN && self.busy.saturating_mul(2) >= self.times;
        gets_on && self.idle < self.around_work()
    }
}

impl Rule for Monologue {
    const ID: &'static str = "monologue";
    const ABOUT: &'static str =
        "The agent saying the same text without a result in between, or the same long text around its work.";
    const UNIT: &'static str = "times";
    const LIMITS: Limits = Limits::ladder(3, 5, 9, 0);
    const OF_TEXT: bool = true;
    const SEES: Facts = Facts::MESSAGE.and(Facts::STEP).and(Facts::HOST).and(Facts::SYNTHETIC);
    type State = State;

    #[inline]
    fn heeds(state: &State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        state.texts.len() > 0 || !matches!(fact, Fact::Step(..))
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let news = state.heard.is_news(fact, cx.salt);
        if matches!(fact, Fact::Step(..) | Fact::Synthetic(_)) || fact.host().is_some() {
            state.ends_long();
        }
        if news || matches!(fact, Fact::Step(..)) {
            // Whoever made the call: agents work for each other.
            let is_news = news || matches!(fact, Fact::Step(step, _) if step.is_news);
            // What a gesture led to is not told.
            let steers = |step: &Step, result| step.call.as_ref().is_some_and(|call| call.steers(result));
            let looks = matches!(fact, Fact::Step(step, result)
                if step.is_news && step.looks() || !step.facts.failed && steers(step, result));
            for text in state.texts.iter_mut() {
                (text.idle, text.fresh) = (0, text.fresh || is_news);
                text.looks &= looks;
                text.results = text.results.saturating_add(1);
            }
            return None;
        }
        let (event, message) = fact.agent_message()?;
        let said = said(&message.text, cx.salt)?;
        let agent = agent_of(&event.context);
        let channel = match message.channel.unwrap_or_default() {
            Channel::Text => 0,
            Channel::Reasoning => 1,
        };
        let key = combine("monologue", &[said.key, agent, channel]);
        let speaker = combine("monologue/speaker", &[agent, channel]);
        let key = if said.long { state.nearly(speaker, key, &message.text, cx.salt) } else { key };
        let known = state.take(key);
        if known.is_none() {
            let names = state.texts.iter().any(|text| text.agent == agent && text.times > 1)
                && Goal::of(&message.text).parts().any(|(_, weight)| Goal::names(weight));
            // A new text from another agent is a response; one it has said before is not.
            for text in state.texts.iter_mut() {
                if text.agent != agent {
                    text.idle = 0;
                } else if channel == 0 {
                    text.else_said = text.else_said.saturating_add(1);
                    text.named = text.named.saturating_add(names.into());
                }
            }
        }
        if state.long.as_ref().and_then(|long| long.latest.as_ref()).is_some_and(|latest| latest.speaker != speaker) {
            state.ends_long();
        }
        let mut text = known.unwrap_or_else(|| Text::new(agent, key, said.long, cx.onset));
        text.is_said(Sighting { key: said.key, ..cx.here }, cx.onset);
        let signal = text.signal(said.key, cx);
        state.keep(text);
        signal
    }

    fn outlook(state: &State, view: &View<'_>) -> Outlook {
        Outlook::of_all(state.texts.iter().map(|text| {
            if text.is_refrain() { view.advisory(view.limits, text.count()) } else { view.of(text.count()) }
        }))
    }

    fn fits(state: &State) -> bool {
        state.heard.fits()
            && state.texts.len() <= TEXTS
            && state
                .long
                .iter()
                .all(|long| long.older.len() <= OLDER && long.latest.iter().all(|latest| latest.sentences.fits()))
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::{alone, events, pair, says};
    use alloc::{format, string::String, vec, vec::Vec};
    use core::iter::repeat_n;

    const RULE: &str = "monologue";
    const CALL: &str = r#"{"type":"tool-call","tool":"read","args":{"path":"a"}}"#;
    const WORK: &str = r#"{"type":"tool-result","tool":"read","outcome":"ok","output":"x"}"#;

    fn around_work(text: &str, times: usize) -> Vec<String> {
        (0..times).flat_map(|_| vec![says(text), CALL.into(), WORK.into()]).collect()
    }

    #[test]
    fn a_chair_has_set_phrases() {
        let phrase =
            "Order, order! One speaker at a time, and to the point, or the lamp goes out for both of you. ".repeat(3);
        let say = |agent: &str, text: &str| {
            format!(r#"{{"type":"message","role":"assistant","agent":"{agent}","text":"{text}"}}"#)
        };
        let [woods, parts] = [
            ["ash", "birch", "cedar", "elm", "fir", "larch", "oak", "pine"],
            ["beams", "chains", "doors", "lamps", "masts", "planks", "ropes", "steps"],
        ];
        let round = |chair: &str, topics: usize, at: usize| -> Vec<String> {
            let topic = |of: usize| say(chair, &format!("Next, the {} of {}.", parts[of], woods[at]));
            let reply = |of: usize| say("bo", &format!("The master sends {} for the {}.", woods[at], parts[of]));
            let spoken = (0..topics).flat_map(|of| [topic(of), reply(of)]);
            spoken.chain([say("chair", &phrase), reply(7)]).collect()
        };
        let rounds = |chair: &str, topics: usize, count: usize| {
            (0..count).flat_map(|at| round(chair, topics, at)).collect::<Vec<_>>()
        };
        events("{}", rounds("chair", 4, 4)).expect(RULE, &[]);
        events("{}", rounds("chair", 4, 6)).strongest(RULE, Nudge);
        // What was said long before a phrase is repeated is no reason to say it again.
        let late = round("chair", 8, 0)
            .into_iter()
            .chain(round("chair", 8, 1))
            .chain((0..3).flat_map(|at| round("chair", 0, at)));
        events("{}", late.collect::<Vec<String>>()).strongest(RULE, Block);
        // Somebody else says the rest, or there is less of it, or none.
        events("{}", rounds("vice", 4, 4)).strongest(RULE, Block);
        events("{}", rounds("chair", 2, 4)).strongest(RULE, Block);
        events("{}", rounds("chair", 0, 4)).strongest(RULE, Block);
    }

    #[test]
    fn gestures_show_nothing() {
        let remark =
            says(&"The page went down by one screen. Next I go down again to see what else there is. ".repeat(3));
        let step = |tool: &str, said: &str| pair(tool, r#"{"down":true}"#, "ok", said);
        let times = |tool: &str, said: &str, times: usize| -> Vec<String> {
            (0..times).flat_map(|_| [vec![remark.clone()], step(tool, said).into()].concat()).collect()
        };
        let scrolls = |count: usize| times("page_scroll", "Scrolled down the page by one screen", count);
        events(r#"{"rules":{"repeated-call":{"enabled":false}}}"#, scrolls(5)).expect(RULE, &[]);
        events(r#"{"rules":{"repeated-call":{"enabled":false}}}"#, scrolls(6)).expect(RULE, &[(15, Nudge)]);
        events("{}", times("look", "A mole, a lamp and the sea.", 3)).strongest(RULE, Nudge);
        // One that fails tells that.
        let failed = |count: usize| -> Vec<String> {
            let fails = || pair("page_scroll", r#"{"down":true}"#, "error", "Error: a dialog covers the page");
            (0..count).flat_map(|_| [vec![remark.clone()], fails().into()].concat()).collect()
        };
        events("{}", failed(4)).strongest(RULE, Block);
    }

    #[test]
    fn every_rung_is_reached() {
        let text = says("I will now open the app.");
        for (times, level) in [(3, Nudge), (5, Block), (9, Halt)] {
            events("{}", repeat_n(&text, times)).last(RULE, level);
        }
        events("{}", repeat_n(&text, 2)).expect(RULE, &[]);
        let long = "I will look at the same file again. ".repeat(6);
        for (times, level) in [(3, Nudge), (4, Block), (8, Halt)] {
            let mut around = around_work(&long, times - 1);
            events("{}", &around).findings(RULE).iter().for_each(|finding| assert!(finding.level < level));
            around.push(says(&long));
            events("{}", &around).last(RULE, level);
        }
    }

    #[test]
    fn long_texts_that_hardly_differ() {
        let lines = [
            "The quay is swept from end to end",
            "the crane is oiled and tried",
            "all of the lamps are lit",
            "the ropes are coiled in the shed",
            "the gate is shut for the night",
        ];
        let begins =
            ["Everything is done", "All of the work is done", "The evening's work is finished", "That was all of it"];
        let report = |at: usize| says(&format!("{}. {}.", begins[at], lines.join(". ")));
        events("{}", (0..2).map(report)).expect(RULE, &[]);
        events("{}", (0..3).map(report)).expect(RULE, &[(2, Nudge)]);
        // What is done in between is reported on.
        events("{}", (0..4).flat_map(|at| [report(at), CALL.into(), WORK.into()])).expect(RULE, &[]);
        // A reviewer asks for another version each time.
        let review = |at: usize| {
            let remark = ["Shorter, please.", "Warmer, please.", "Add the date.", "Without the crane."][at];
            says(remark).replacen('{', r#"{"agent":"reviewer","#, 1)
        };
        events("{}", (0..4).flat_map(|at| [report(at), review(at)])).expect(RULE, &[]);
        // The same beginning, and another report each time.
        let other = |at: usize| {
            let line = |line: &str| format!("{line} by {}", ["Ada", "Bo", "Cy", "Di"][at]);
            says(&format!("{}. {}.", begins[0], lines.map(line).join(". ")))
        };
        events("{}", (0..4).map(other)).expect(RULE, &[]);
    }

    #[test]
    fn a_call_without_a_result_is_no_answer() {
        let text = says("I will now open the app.");
        events("{}", [&text, CALL, &text, CALL, &text]).last(RULE, Nudge);
    }

    #[test]
    fn others_between() {
        let (a, b) = (says("First I will check the cache."), says("Then I will check the log."));
        events(&alone(RULE), [&a, &b, &a, &b, &a]).last(RULE, Nudge);
        let other = a.replacen('{', r#"{"agent":"b","#, 1);
        events("{}", [&a, &other, &a, &other]).expect(RULE, &[]);
    }

    #[test]
    fn agents_that_answer_each_other() {
        let hand_over = says("The next speaker is the surfer.");
        let answer =
            |n| says(&format!("I found page {}.", ["a", "b", "c", "d"][n])).replacen('{', r#"{"agent":"b","#, 1);
        events("{}", (0..4).flat_map(|n| [hand_over.clone(), answer(n)])).expect(RULE, &[]);
        events("{}", (0..4).flat_map(|_| [hand_over.clone(), answer(0)])).strongest(RULE, Nudge);
    }

    #[test]
    fn news_of_the_host_between() {
        let jobs = ["the linter", "the unit tests", "the browser tests", "the documentation", "the benchmark"];
        let news = |n: usize| {
            format!(
                r#"{{"type":"message","role":"user","synthetic":true,"text":"A task in the background has ended: {} of part {}"}}"#,
                jobs[n % jobs.len()],
                ["a", "b", "c"][n / jobs.len()]
            )
        };
        let waits = |n: usize| [news(n), says("Waiting for the others to end.")];
        events("{}", (0..15).flat_map(waits)).expect(RULE, &[]);
        events("{}", (0..9).flat_map(|_| waits(0))).last(RULE, Halt);
    }

    #[test]
    fn counters_make_no_difference_in_sentences() {
        let count = |n| says(&format!("Still waiting for build {n} to end."));
        events("{}", (1..4).map(count)).last(RULE, Nudge);
        events("{}", (1..9).map(|n| says(&format!("step {n} done")))).expect(RULE, &[]);
    }

    #[test]
    fn a_program_tells_of_one_item_after_another() {
        let ships = ["Adele", "Berta", "Clio", "Dora", "Elsa", "Frida", "Greta", "Hilda"];
        let lines: [fn(&str) -> String; 3] = [
            |ship| format!("Opening the page of the {ship}."),
            |ship| format!("The {ship} is entered."),
            |ship| format!("A letter to the {ship} is sealed."),
        ];
        let tells = |count: usize| {
            let item = |ship: &&str| -> Vec<String> {
                lines[..count]
                    .iter()
                    .map(|line| says(&line(ship)))
                    .chain([says("Waiting for the ink to dry.")])
                    .collect()
            };
            events("{}", ships.iter().flat_map(item).collect::<Vec<_>>())
        };
        tells(3).expect(RULE, &[]);
        tells(1).last(RULE, Block);
        // Ever new remarks that name nothing tell of no work.
        let doubts =
            ["perhaps the", "maybe this", "or that", "then again the", "after all some", "at last a", "and yet one"];
        let idle = |at: usize| {
            let doubt = |what: &str| says(&format!("{} {what} is wrong.", doubts[at]));
            ["nib", "ink", "sheet"].map(doubt).into_iter().chain([says("Waiting for the ink to dry.")])
        };
        events("{}", (0..7).flat_map(idle).collect::<Vec<_>>()).last(RULE, Block);
    }

    #[test]
    fn honest_talk() {
        events("{}", around_work("Let me look at the file.", 30)).expect(RULE, &[]);
        let human = r#"{"type":"message","role":"user","text":"and now?"}"#;
        let text = says("Done, anything else?");
        events("{}", [&text, human, &text, human, &text, human, &text]).expect(RULE, &[]);
        events("{}", repeat_n(text.replacen('{', r#"{"synthetic":true,"#, 1), 9)).expect(RULE, &[]);
    }
}
