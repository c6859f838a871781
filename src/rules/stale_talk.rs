//! Catches: messages that ask for, promise or confirm the same thing in other words while nobody acts: experts asking
//! each other for what none of them has, a desk that demands a number which the caller has lost, or has given three
//! times already; a fix that is announced again although the user says that nothing has changed, or the host tells of
//! the same error each time; one apology after another; farewells without end; work that desks hand to and fro, each
//! with another reason; an agent that is started again and again, and reports each time that it is blocked.
//! Must not catch: a dialogue in which the user keeps bringing something new, the questions of a form one after
//! another, a round of reports, closing words, answers to a user who doubts what was just looked up, a lead that hands
//! out one piece of work after another, agents who agree before they act, as they did before; errors that the host
//! tries again itself.
//! Idea: if nothing else is done, words are the only action. They go in circles if they are about the same thing, hold
//! hardly a new word, and nothing was done in between; what a user newly names is progress. Handing work on is only
//! talk ([`custody`]), and agents who keep answering each other without naming anything have nothing to say ([`chat`]).
//! A user who repeats a value or a whole message was not heard ([`answered`]), and one who says in message after
//! message that nothing has changed was not helped. Report after report with hardly a new word tells nothing
//! ([`reports`]).

mod answered;
mod chat;
mod custody;
mod reports;
mod values;

use crate::codec::codec;
use crate::model::{Body, Collaboration, Event, HaltReason, Recommendation, Role};
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Payload, Rule, Signal, SignalParts};
use crate::state::{Call, Occurrence, Recent, Ring, Step, Time, agent_key};
use crate::text::{
    Asks, Goal, Key, Left, Vocabulary, combine, complains, counts_steps, dense, figures, first_mark, frame, head, mark,
    mistake, plain_words, quoted, root_line, salted, trimmed,
};
use crate::tuned;
use alloc::{boxed::Box, format, vec::Vec};
use answered::Answered;
use chat::Chat;
use custody::Custody;
use reports::Reports;

/// Latest messages that a new one is compared with.
const MESSAGES: usize = 5;
/// Least weight of a message to be compared: lighter ones say too little.
const LIGHTEST: u32 = 6;
/// Latest messages of the user that are remembered, to tell a question that is asked once more.
const QUESTIONS: usize = 8;
/// Fewest words of a message to be compared.
const FEWEST: usize = 4;
/// Most points of a repeat.
const WHOLE: u32 = 12;
/// A chain is reported only if at least one in so many of its messages brought no news.
const STALE: u32 = 5;
/// Stands for the user among the 16-bit marks of agents.
const BY_USER: u16 = 1;
/// The bit, in the mark of an agent who has brought news, that says that it was a report.
const REPORT: u16 = 1;
/// Bytes from which a repeated message is a demand: shorter ones greet, agree, or say to go on.
const DEMAND: usize = 40;
/// Bytes up to which messages that differ only in figures are the same.
const FRAMED: usize = 2048;
/// Messages after a result that are taken to be about it.
const ABOUT_IT: u32 = 2;

/// Bytes of the host's answer within which an error begins.
const BEGINNING: usize = 400;

/// Milliseconds without a word after which talk begins anew: a reminder every half hour is no repetition.
const SILENCE: i64 = 900_000;
/// Most messages before an action that can become the accepted pace of talk.
const PACE: u32 = 12;

/// Bytes of the longest label before a message.
const LABEL: usize = 60;

/// Bytes from which code in a message is a piece of work.
const PIECE: usize = 80;

/// Speaking agents from which they are a group.
const GROUP: usize = 3;

/// One way of going in circles.
struct Circle {
    kind: &'static str,
    /// Points of each occurrence.
    points: u32,
    /// The message before and after the number of occurrences.
    said: [&'static str; 2],
    instead: &'static str,
}

/// The points of a message depend on how much of it was said before.
const NOBODY_ACTS: Circle = Circle {
    kind: "nobody-acts",
    points: 0,
    said: ["", " messages are about the same thing and contain hardly any new words, and nothing was done in between"],
    instead: "Do what is being discussed, or say that it cannot be had and go on in another way.",
};
const HANDED: Circle = Circle {
    kind: "handed-to-and-fro",
    points: 4,
    said: ["the work came back ", " times to where it had been, and nothing was done or found in between"],
    instead: "Let one agent decide with what is known, or ask the user for what is missing.",
};
const NOT_HEARD: Circle = Circle {
    kind: "not-heard",
    points: 10,
    said: ["the user has given the same value ", " times more, and nothing was done with it"],
    instead: "Use what the user has already written, or say why it cannot be used.",
};
const NOT_HELPED: Circle = Circle {
    kind: "not-helped",
    points: 7,
    said: ["the user has said ", " times in a row that nothing has changed, or told of the same error again"],
    instead: "Look at the actual state before the next change.",
};
const ASKED_AGAIN: Circle = Circle {
    kind: "asked-again",
    points: 7,
    said: ["the same message was written to the agent ", " times more, and nothing new was done or answered"],
    instead: "Do what the message asks for, or say what prevents it.",
};
const REFUSED: Circle = Circle {
    kind: "refused-again",
    points: 7,
    said: ["the host told of the same error after ", " answers in a row, and no call was made in between"],
    instead: "Look at the actual state before answering in the same way again.",
};
const PARROT: Circle = Circle {
    kind: "said-again",
    points: 7,
    said: ["the user was answered in the same words ", " times more, and nothing was done"],
    instead: "Do what the user asks for with what is known, or say what cannot be done.",
};
const REPORTED: Circle = Circle {
    kind: "reported-again",
    points: 7,
    said: ["", " reports in a row contain hardly any new words, and nothing was done"],
    instead: "Say what is missing, or end the conversation.",
};
const ONLY_THOUGHT: Circle = Circle {
    kind: "only-thought",
    points: 2,
    said: ["", " thoughts were noted down in a row, and nothing was said or done"],
    instead: "Make the next call, or answer with what is known.",
};
const NOTHING_NAMED: Circle = Circle {
    kind: "nothing-named",
    points: 2,
    said: ["", " short messages went back and forth, none of them named anything new, and nothing was done"],
    instead: "End the conversation, or let one agent do the next step without asking.",
};

pub(crate) struct StaleTalk;

/// Present once somebody has spoken or handed work over.
#[derive(Clone, Debug, Default)]
pub(crate) struct State(Option<Box<Talk>>);
codec!(struct State(_));

#[derive(Clone, Debug, Default)]
struct Talk {
    messages: Ring<PastMessage>,
    words: Vocabulary,
    /// Mark of who has brought news since the latest message; 0 for nobody.
    news: u16,
    /// Messages since the latest result; `None` before the first one.
    since: Option<u32>,
    /// Messages since the latest action.
    talked: u32,
    /// The most messages before an action so far, at most [`PACE`]: as many are accepted again.
    pace: u32,
    /// Marks of the agents who have spoken, at most [`GROUP`].
    speakers: Vec<u16>,
    custody: Custody,
    chat: Option<Box<Chat>>,
    answered: Answered,
    /// The user has spoken since the latest message.
    asked: bool,
    /// Messages of the user in a row that say that nothing has changed.
    unhelped: Streak,
    /// Mark of the latest message of an agent.
    latest: u32,
    /// How often in a row the user was answered with the same message.
    parrot: Option<Box<Streak>>,
    reports: Option<Box<Reports>>,
    /// Thoughts noted down in a row.
    thoughts: Option<Box<Streak>>,
    /// Mark of the user's latest message; its frame, if it is no short one; and the error it tells of, or 0.
    heard: u32,
    framed: u32,
    told: u32,
    /// Frame of what the host said last; and the error that it told of last.
    hosted: u32,
    refused: Option<Box<Refused>>,
    /// Marks of the user's latest messages.
    questions: Recent<QUESTIONS>,
    /// A call has come to a result since; and one was made whose result has not come.
    called: bool,
    pending: bool,
    /// How often the user repeated a message although no call was made.
    demands: Streak,
    /// When somebody last spoke.
    at: Time,
}
codec!(struct Talk {
    messages, words, news, since, talked, pace, speakers, custody, chat, answered, asked, unhelped, latest, parrot, reports, thoughts, heard, framed, told, hosted, refused, questions, called, pending, demands, at,
});

/// An error that the host tells of in answer to an agent's messages.
#[derive(Clone, Debug, Default)]
struct Refused {
    error: u32,
    /// [`Talk::talked`] when the error was last told.
    talked: u32,
    /// The host has said something else since.
    clear: bool,
    times: Streak,
}
codec!(struct Refused { error, talked, clear, times });

#[derive(Clone, Debug)]
struct PastMessage {
    goal: Goal,
    /// Mark of the agent; 0 if it has no name.
    speaker: u16,
    points: u32,
    times: u32,
    /// Messages of the chain that brought no news.
    stale: u32,
    /// Key of what the first message of the chain was about.
    chain: Key,
    seen: Occurrence,
}
codec!(struct PastMessage { goal, speaker, points, times, stale, chain, seen });

/// What a text says that was not said before.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// The weight of the new words.
    fresh: u32,
    /// One of them names something.
    named: bool,
    /// One of them is a figure.
    counts: bool,
    /// The text is long and fresh, as reports, plans and code are.
    report: bool,
}

impl News {
    fn is_fresh(&self, goal: &Goal) -> bool {
        self.fresh * 100 > goal.weight() * tuned::TALK_FRESH.get()
    }
}

impl Talk {
    /// What a text says that was not said before; from now on it is known.
    fn learn(&mut self, text: &str, goal: &Goal) -> News {
        let mut news = News::default();
        let mut named = Vec::new();
        for (word, weight) in goal.parts() {
            if self.words.learn(word) {
                news.fresh += weight;
                if Goal::names(weight) {
                    named.push(word);
                }
            }
        }
        news.counts = figures(text).any(|(figure, _)| named.contains(&figure));
        news.named = !named.is_empty();
        // Quoted text, such as a title or a word that is asked for, names something.
        for thing in quoted(text) {
            news.named |= self.words.learn(thing);
        }
        news.report = text.len() > tuned::TALK_LONGEST.get() as usize && news.is_fresh(goal);
        news
    }

    /// Somebody did something. An action in vain only halves the evidence: trying in vain and asking on is no progress.
    fn acted(&mut self, step: &Step, output: &str) {
        let call = step.call.as_ref();
        let in_vain = step.facts.failed || step.facts.negative || step.facts.wordless;
        let hands_over = call.is_some_and(|call| call.asks == Asks::Handover);
        let changed = !hands_over && !step.facts.failed && call.is_some_and(|call| call.mutates);
        // Acknowledgements and repeated looks bring nothing new if only their figures differ.
        let again = call.is_some_and(|call| self.custody.looks_again(call.key));
        let waits = hands_over || again || self.answered.again().times > 0;
        let known = waits && !in_vain && !self.words.learn_all(plain_words(output));
        // Looking again at what is not there, or is known, is no action.
        if changed || !again || !(in_vain || known) {
            self.chat = None;
        }
        if changed || !(in_vain || known && (hands_over || again)) {
            self.custody.ends();
        }
        (self.called, self.pending, self.refused, self.reports) = (true, false, None, None);
        if changed {
            self.demands.clear();
        }
        if hands_over {
            return;
        }
        self.parrot = None;
        if changed || !(in_vain || known) {
            self.answered.ends();
        }
        if changed || !in_vain {
            self.messages.clear();
            self.since = Some(0);
            self.pace = self.pace.max(core::mem::take(&mut self.talked).min(PACE));
        } else {
            if self.asked {
                // What came of the user's request is reported next, whatever it is.
                self.since = Some(0);
            }
            // An answer without words may hold a new figure.
            if !step.facts.failed && self.words.learn_all(figures(output).map(|(figure, _)| figure)) {
                self.messages.clear();
                self.answered.ends();
                self.since = Some(0);
            }
            self.messages.iter_mut().for_each(|said| said.points /= 2);
        }
    }

    /// A call is made, which is an action even if no result is logged, unless it only notes down a thought. Numbered
    /// thoughts get on.
    fn calls(&mut self, call: &Call, payload: &Payload<'_>, cx: &Cx<'_>) -> Option<Signal> {
        self.pending |= !call.thinks;
        if !call.thinks || custody::numbered(payload) {
            self.thoughts = None;
            return None;
        }
        let thoughts = self.thoughts.get_or_insert_default();
        thoughts.add(cx.here, cx.onset);
        ONLY_THOUGHT.signal(thoughts, cx)
    }

    /// Work is handed over.
    fn hands_over(&mut self, call: &Payload<'_>, cx: &Cx<'_>) -> Option<Signal> {
        self.thoughts = None;
        for said in custody::said(call) {
            if self.learn(&said, &Goal::of(&said, core::iter::empty())).report {
                self.custody.ends();
            }
            if self.custody.counts(&said, cx.salt) {
                self.custody.names();
            }
            if self.custody.gets_on(&said) {
                // The next part of the work will be talked about as well.
                self.custody.ends();
                self.custody.names();
            }
        }
        self.custody.goes(custody::place(call, cx.salt), cx.run.elsewhere, cx.here, cx.onset);
        HANDED.signal(self.custody.returns(), cx)
    }

    /// An agent asks another one. If it was asked itself before, it hands on what it was asked for.
    fn asks_another(&mut self, asked: &Collaboration, cx: &Cx<'_>) -> Option<Signal> {
        let goal = Goal::of(&asked.request, core::iter::empty());
        let news = self.learn(&asked.request, &goal);
        let [from, to] = [&asked.from, &asked.to].map(|agent| custody::with(agent_key(agent), cx.salt));
        if news.report || !self.custody.had(from) {
            self.custody.ends();
        }
        let delivers = custody::delivers(&asked.request);
        if self.custody.counts(&asked.request, cx.salt) || news.named || delivers {
            self.custody.names();
        } else if news.fresh * 3 > goal.weight() * 2 {
            self.custody.reworded();
        }
        if delivers {
            self.messages.clear();
        }
        if self.custody.gets_on(&asked.request) {
            self.custody.ends();
        }
        self.custody.goes(to, cx.run.elsewhere, cx.here, cx.onset);
        HANDED.signal(self.custody.returns(), cx)
    }

    /// The host says something on behalf of the user: if it names something new, the talk about it starts over.
    fn hears_host(&mut self, text: &str) {
        if self.learn(text, &Goal::of(text, core::iter::empty())).named {
            self.messages.clear();
        }
    }

    /// The host says something in answer to an agent: if it tells of an error, the first one stands for the answer.
    fn answers(&mut self, text: &str, cx: &Cx<'_>) -> Option<Signal> {
        // What differs in more than figures is news to who asks again.
        let hosted = frame(text);
        if core::mem::replace(&mut self.hosted, hosted) != hosted {
            self.demands.clear();
        }
        if let Some(reports) = &mut self.reports {
            reports.hears_host(hosted);
        }
        // Deeper in a text, as in a prompt, errors are only mentioned; what the host tries again itself was no answer's.
        let beginning = head(text, BEGINNING);
        let tells = self.talked > 0 && !self.asked && error_line(beginning).is_some() && !beginning.contains("etrying");
        let Some(line) = error_line(text).filter(|_| tells) else {
            if let Some(refused) = &mut self.refused {
                refused.clear = true;
            }
            return None;
        };
        // Fewer of what is wrong, or the same of something else, is progress; another place need not be.
        let error =
            combine("talk/error", &[frame(line).into(), Left::wrong(text).map_or(0, |left| left.count().into())]);
        let error = mark(error ^ cx.salt).max(1);
        let refused = self.refused.get_or_insert_default();
        match self.talked.saturating_sub(refused.talked) {
            0 if refused.error != 0 => return None,
            1..=ABOUT_IT if refused.error == error => {}
            _ => refused.times.clear(),
        }
        (refused.error, refused.talked, refused.clear) = (error, self.talked, false);
        refused.times.add(cx.here, cx.onset);
        REFUSED.signal(&refused.times, cx)
    }

    /// What an agent has said before is of no importance any more.
    #[inline(never)]
    fn begins_anew(&mut self) {
        self.messages.clear();
        self.answered.ends();
        (self.chat, self.parrot, self.reports, self.refused) = (None, None, None, None);
    }

    /// Somebody speaks. After a long silence, no evidence counts but of who holds the work.
    fn speaks(&mut self, at: Time) {
        if self.at.is_past(SILENCE, at.get()) {
            self.begins_anew();
            self.unhelped.clear();
            self.demands.clear();
            (self.heard, self.framed, self.told, self.latest, self.news) = (0, 0, 0, 0, 0);
        }
        self.thoughts = None;
        self.at = at;
    }

    /// The user speaks.
    fn hears(&mut self, text: &str, cx: &Cx<'_>) -> Option<Signal> {
        self.speaks(cx.onset.at);
        let goal = Goal::of(text, core::iter::empty());
        let heard = self.learn(text, &goal);
        let named = heard.named;
        let fresh = heard.is_fresh(&goal);
        let heard = mark(salted("talk/heard", cx.salt, trimmed(text).as_bytes()));
        let again = core::mem::replace(&mut self.heard, heard) == heard;
        let framed = match text.len() {
            ..DEMAND => 0,
            DEMAND..=FRAMED => frame(text),
            _ => heard,
        };
        let alike = core::mem::replace(&mut self.framed, framed) == framed && framed != 0;
        let told = error_line(text).filter(|_| framed != 0).map_or(0, |line| mark(mistake(line, cx.salt)));
        let same_error = core::mem::replace(&mut self.told, told) == told && told != 0;
        if (named || fresh) && !alike {
            self.parrot = None;
        }
        // Other figures may be another question.
        if !again {
            self.reports = None;
        }
        if named {
            self.news = BY_USER;
            self.custody.ends();
        }
        self.asked = true;
        (self.chat, self.refused) = (None, None);
        if complains(text) || same_error {
            self.unhelped.add(cx.here, cx.onset);
        } else {
            self.unhelped.clear();
        }
        if self.questions.met(heard) && !again {
            // A question that is asked once more is answered once more.
            self.news = BY_USER;
        } else {
            self.answered.hears(text, fresh, cx);
        }
        let idle = !core::mem::take(&mut self.called) && !self.pending;
        if !again {
            self.demands.clear();
        } else if idle && text.len() >= DEMAND && (self.since.is_some() || !self.speakers.is_empty()) {
            self.demands.add(cx.here, cx.onset);
        }
        let demanded = if again && idle { ASKED_AGAIN.signal(&self.demands, cx) } else { None };
        let not_heard = || NOT_HEARD.signal(self.answered.again(), cx);
        demanded.or_else(not_heard).or_else(|| NOT_HELPED.signal(&self.unhelped, cx))
    }

    /// An agent's message as a part of a chat; the signal, if they keep answering each other and name nothing.
    fn chats(&mut self, text: &str, goal: &Goal, said: News, cx: &Cx<'_>) -> Option<Signal> {
        // Without letter case, names cannot be told from other words.
        let cased = || text.chars().any(|char| char.is_lowercase() || char.is_uppercase());
        let named = said.named || said.fresh.saturating_mul(chat::NAMES) > goal.weight() && !cased();
        if cx.agent == 0 || named || text.len() > chat::LONGEST {
            self.chat = None;
            return None;
        }
        let chat = self.chat.get_or_insert_default();
        chat.goes_on([goal.weight(), said.fresh], cx);
        NOTHING_NAMED.signal(chat.idle()?, cx)
    }

    /// An agent speaks.
    fn says(&mut self, text: &str, cx: &Cx<'_>) -> Option<Signal> {
        self.speaks(cx.onset.at);
        if core::mem::take(&mut self.pending) {
            self.begins_anew();
            self.since = Some(0);
        }
        // An answer with which the host was content, or none of it at all, ends the errors.
        let before = self.talked;
        self.refused = self
            .refused
            .take()
            .filter(|refused| before.saturating_sub(refused.talked) < if refused.clear { 1 } else { ABOUT_IT });
        let text = unlabelled(text);
        let goal = Goal::of(text, core::iter::empty());
        let said = self.learn(text, &goal);
        if said.counts || said.report {
            self.custody.ends();
        } else if said.named {
            self.custody.names();
        }
        // Where no tool writes files, code in a message is the work.
        if said.fresh > 0 && code_in(text) > 0 {
            self.messages.clear();
        }
        if said.named {
            self.demands.clear();
        }
        self.answered.asks(text, cx.salt);
        let answers = core::mem::take(&mut self.asked);
        // `Next speaker Ida` is said before every turn, and `Waiting.` after every piece of news.
        let few = text.split(' ').nth(FEWEST - 1).is_none();
        let brief = few && text.is_ascii();
        if said.fresh > 0 {
            self.parrot = None;
        }
        let latest = mark(salted("talk/latest", cx.salt, trimmed(text).as_bytes()));
        let parrots =
            core::mem::replace(&mut self.latest, latest) == latest && answers && (!few || text.contains(dense));
        if parrots {
            self.parrot.get_or_insert_default().add(cx.here, cx.onset);
        }
        self.since = self.since.map(|since| since.saturating_add(1));
        self.talked = self.talked.saturating_add(1);
        let about_it = self.since.is_some_and(|since| since <= ABOUT_IT);
        let chat = self.chats(text, &goal, said, cx);
        if text.len() >= reports::SHORTEST {
            self.reports.get_or_insert_default();
        }
        let reported = self.reports.as_mut().and_then(|reports| reports.says(text, said.named, cx));
        let reported = reported.and_then(|again| REPORTED.signal(again, cx));
        let parrot = self.parrot.as_ref().filter(|_| parrots).and_then(|parrot| PARROT.signal(parrot, cx));
        let told = parrot.or(chat).or(reported);
        // Among agents, a report is news to the next, and so is a figure that one of them gives in a few words.
        let own = if cx.agent == 0 { 0 } else { (mark(cx.agent) as u16 & !REPORT).max(REPORT << 1) };
        if self.speakers.len() < GROUP && !self.speakers.contains(&own) {
            self.speakers.push(own);
        }
        let brings = if said.report && own != 0 {
            own | REPORT
        } else if said.counts && text.len() <= chat::LONGEST {
            own
        } else {
            0
        };
        if goal.weight() < LIGHTEST || brief || text.len() > tuned::TALK_LONGEST.get() as usize || about_it {
            self.news = if self.news == 0 { brings } else { self.news };
            return told;
        }
        let before = core::mem::replace(&mut self.news, brings);
        // A report does not excuse saying the very same once more.
        let by_other = before != 0 && before & !REPORT != own && (before & REPORT == 0 || said.fresh > 0);
        let excused = before == BY_USER || by_other;
        let mut leaves = if excused { tuned::TALK_USER_NEWS.get() } else { WHOLE };
        if said.named || said.is_fresh(&goal) {
            leaves = leaves.min(tuned::TALK_NEWS.get());
        }
        self.follows(goal, own, leaves, cx).or(told)
    }

    /// Adds a message to the chain that it continues; `leaves` is how many twelfths of its points news leaves over.
    fn follows(&mut self, goal: Goal, speaker: u16, leaves: u32, cx: &Cx<'_>) -> Option<Signal> {
        let mut best: Option<(u32, &PastMessage)> = None;
        for before in self.messages.iter() {
            let kinship = goal.kinship(&before.goal);
            let related = kinship.alike >= tuned::TALK_ALIKE.get() || kinship.within >= tuned::TALK_WITHIN.get();
            if kinship.refilled || !related {
                continue;
            }
            let base = (kinship.alike.max(kinship.within / 2) / 3).min(WHOLE);
            // In a group, each member says once what all agree upon.
            let agrees = self.speakers.len() >= GROUP && before.speaker != speaker;
            let base = if agrees { base / 2 } else { base };
            let points = before.points.saturating_add(base * leaves / WHOLE);
            if best.is_none_or(|(most, _)| points >= most) {
                best = Some((points, before));
            }
        }
        let mut news = leaves < WHOLE;
        let (points, times, stale, chain) = best.map_or((0, 1, 0, goal.key() ^ cx.salt), |(points, before)| {
            let (times, stale) = (before.times.saturating_add(1), before.stale.saturating_add(u32::from(!news)));
            // A message with news is not flagged, nor one of a chain in which nearly all messages had some.
            news |= stale.saturating_mul(STALE) < times;
            let most = cx.limits.nudge.saturating_sub(1).max(before.points);
            (if news { points.min(most) } else { points }, times, stale, before.chain)
        });
        self.messages
            .push(PastMessage { goal, speaker, points, times, stale, chain, seen: Occurrence::now(cx) }, MESSAGES);
        if times == 1 || news || self.talked <= self.pace || !cx.limits.reached(points, 1) {
            return None;
        }
        let same = self.messages.iter().filter(|said| said.chain == chain).map(|said| said.seen.get());
        let identity = combine("stale-talk", &[chain]);
        Some(NOBODY_ACTS.tell(&Streak::of(same), identity, times, points, cx))
    }
}

/// A message without a label in brackets that counts the agent's steps: `[step 4, state ACT]`.
fn unlabelled(text: &str) -> &str {
    let text = text.trim_start();
    let label = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    label.filter(|(label, _)| label.len() <= LABEL && counts_steps(label)).map_or(text, |(_, text)| text.trim_start())
}

/// The line that tells what error a text is about.
fn error_line(text: &str) -> Option<&str> {
    root_line(text).or_else(|| first_mark(text))
}

/// Bytes of the pieces of code that a text holds.
fn code_in(text: &str) -> usize {
    text.split("```").skip(1).step_by(2).map(str::len).filter(|bytes| *bytes >= PIECE).sum()
}

impl Circle {
    fn worth(&self, streak: &Streak) -> u32 {
        streak.times.saturating_mul(self.points)
    }

    fn signal(&self, streak: &Streak, cx: &Cx<'_>) -> Option<Signal> {
        let count = self.worth(streak);
        if count == 0 || !cx.limits.reached(count, 1) {
            return None;
        }
        // Identified by where in its task it began, since neither words nor calls are equal.
        let identity = combine(self.kind, &[streak.onset().events ^ cx.salt]);
        Some(self.tell(streak, identity, streak.times, count, cx))
    }

    fn tell(&self, streak: &Streak, identity: Key, times: u32, count: u32, cx: &Cx<'_>) -> Signal {
        let [before, after] = self.said;
        streak.signal(SignalParts {
            kind: self.kind,
            identity,
            count,
            confidence: confidence(300, 14, count),
            signature: cx.named("talk", '~', identity),
            message: format!("{before}{times}{after}"),
            instead: self.instead,
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::Stalled,
        })
    }
}

impl Rule for StaleTalk {
    const ID: &'static str = "stale-talk";
    const ABOUT: &'static str =
        "Messages about one thing with hardly any new words, or work handed back and forth, while nobody acts.";
    const UNIT: &'static str = "points";
    const LIMITS: Limits = Limits::ladder(20, 0, 0, 0);
    const OF_TEXT: bool = true;
    const OUTLIVES_EVIDENCE: bool = true;
    const IN_LANE: bool = true;
    const SEES: Facts = Facts::MESSAGE
        .and(Facts::USER_MESSAGE)
        .and(Facts::CALL)
        .and(Facts::STEP)
        .and(Facts::NOT_RUN)
        .and(Facts::SYNTHETIC)
        .and(Facts::REPORT);
    type State = State;

    #[inline]
    fn heeds(state: &State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        match fact {
            Fact::Call(call, _) => call.asks == Asks::Handover || call.thinks || state.0.is_some(),
            Fact::Step(..) => state.0.is_some(),
            _ => true,
        }
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Call(call, payload) => {
                if call.asks == Asks::Handover {
                    return state.0.get_or_insert_default().hands_over(payload, cx);
                }
                let talk = if call.thinks { state.0.get_or_insert_default() } else { state.0.as_mut()? };
                return talk.calls(call, payload, cx);
            }
            Fact::Step(step, result) => {
                let thought = step.call.as_ref().is_some_and(|call| call.thinks);
                if let Some(talk) = state.0.as_mut().filter(|talk| talk.thoughts.is_none() || !thought) {
                    talk.acted(step, &result.output);
                }
            }
            Fact::NotRun(..) => {
                if let Some(talk) = &mut state.0 {
                    talk.pending = false;
                }
            }
            Fact::Event(Event { body: Body::Collaboration(asked), .. }) if cx.config.collaboration.enabled => {
                return state.0.get_or_insert_default().asks_another(asked, cx);
            }
            Fact::Synthetic(Event { body: Body::Message(message), .. }) if message.role != Role::Assistant => {
                let talk = state.0.as_mut()?;
                talk.hears_host(&message.text);
                return talk.answers(&message.text, cx);
            }
            Fact::Event(Event { body: Body::Message(message), .. }) if message.role == Role::System => {
                return state.0.as_mut()?.answers(&message.text, cx);
            }
            Fact::UserMessage(message) => {
                return state.0.get_or_insert_default().hears(&message.text, cx);
            }
            _ => {
                let (_, message) = fact.agent_message()?;
                return state.0.get_or_insert_default().says(&message.text, cx);
            }
        }
        None
    }

    fn standing(state: &State) -> u32 {
        let Some(talk) = &state.0 else { return 0 };
        // As much talk as came before earlier actions is not told of yet.
        let messages = talk.messages.iter().filter(|_| talk.talked > talk.pace);
        let talked = messages.map(|said| said.points).max().unwrap_or(0);
        talked
            .max(HANDED.worth(talk.custody.returns()))
            .max(NOT_HEARD.worth(talk.answered.again()))
            .max(talk.chat.as_ref().and_then(|chat| chat.idle()).map_or(0, |idle| NOTHING_NAMED.worth(idle)))
            .max(NOT_HELPED.worth(&talk.unhelped))
            .max(talk.refused.as_ref().map_or(0, |refused| REFUSED.worth(&refused.times)))
            .max(ASKED_AGAIN.worth(&talk.demands))
            .max(talk.parrot.as_ref().map_or(0, |parrot| PARROT.worth(parrot)))
            .max(talk.reports.as_ref().map_or(0, |reports| REPORTED.worth(reports.again())))
            .max(talk.thoughts.as_ref().map_or(0, |thoughts| ONLY_THOUGHT.worth(thoughts)))
    }

    fn fits(state: &State) -> bool {
        state.0.iter().all(|talk| {
            talk.messages.len() <= MESSAGES
                && talk.speakers.len() <= GROUP
                && talk.messages.iter().all(|said| said.goal.fits())
                && talk.words.fits()
                && talk.custody.fits()
                && talk.chat.iter().all(|chat| chat.fits())
                && talk.answered.fits()
                && talk.reports.iter().all(|reports| reports.fits())
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Nudge, Observe};
    use crate::rules::testing::{Played, events, pair, says};
    use alloc::{format, string::String, vec, vec::Vec};

    const RULE: &str = "stale-talk";

    fn dialogue(lines: &[(&str, &str)]) -> Played {
        let heard = |text: &str| format!(r#"{{"type":"message","role":"user","text":"{text}"}}"#);
        let lines: Vec<String> = lines.iter().flat_map(|(said, answer)| [says(said), heard(answer)]).collect();
        events("{}", &lines)
    }

    #[test]
    fn labels_that_count_steps() {
        use super::unlabelled;
        for labelled in ["[step 4, state ACT] Read the log.", " [Turn 12]  Read the log.", "Read the log."] {
            assert_eq!(unlabelled(labelled), "Read the log.");
        }
        // What a label names is a part of the message.
        for named in ["[Ticket 4711] solved", "[src/quay.rs] read", "[Ada] yes", "[step 4 is open"] {
            assert_eq!(unlabelled(named), named);
        }
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
    fn a_cure_that_does_not_help() {
        let cures = ["Mended: the list lies higher.", "That is corrected.", "Now it is settled.", "Done for good."];
        let with = |answers: [&'static str; 4]| {
            let lines: Vec<(&str, &str)> = cures.iter().copied().zip(answers).collect();
            dialogue(&lines)
        };
        with(["No, still under the picture.", "Reloaded, still hidden.", "No change.", "Nope."])
            .expect(RULE, &[(5, Nudge), (7, Observe)]);
        with(["Still hidden.", "Reloaded, still hidden.", "Yes! And the times in bold.", "Still thin."])
            .expect(RULE, &[]);
    }

    #[test]
    fn patches_that_the_host_refuses() {
        let told = |role: &str, text: &str| format!(r#"{{"type":"message","role":"{role}","text":"{text}"}}"#);
        let patches =
            ["A new patch for the mole.", "The lamps in other order.", "Whole file at once.", "Once more, shorter."];
        let refused = |at: usize| {
            let count = told("system", &format!("{at}2 lines read, {at} kept"));
            let error = told("system", &format!("Error: the patch does not apply at line {at}7 of quay.txt"));
            [count, error, told("system", "Error: see the manual of patches")]
        };
        let run = |between: &dyn Fn(usize) -> Vec<String>| {
            let turn = |(at, patch): (usize, &&str)| [vec![says(patch)], refused(at).to_vec(), between(at)].concat();
            let lines: Vec<String> = patches.iter().enumerate().flat_map(turn).collect();
            events("{}", &lines)
        };
        // The first error after each patch counts, at the third event of a turn.
        run(&|_| Vec::new()).expect(RULE, &[(10, Nudge), (14, Observe)]);
        // Somebody does something about it, or the user speaks.
        run(&|at| Vec::from(pair("look", &format!(r#"{{"line":{at}}}"#), "ok", "a line of it"))).expect(RULE, &[]);
        run(&|at| vec![told("user", &format!("take lamp {at} instead"))]).expect(RULE, &[]);
        // A prompt that is repeated before each turn may mention errors.
        let prompt = told("system", &format!("{}Error: stop at the first one.", "Keep to the quay. ".repeat(60)));
        let prompted = patches.iter().cycle().take(8).flat_map(|patch| [says(patch), prompt.clone()]);
        let found = events("{}", prompted.collect::<Vec<String>>());
        assert!(found.findings(RULE).iter().all(|told| told.kind != "refused-again"));
        // Another error, fewer of what is wrong, or a success in between is progress.
        let quiet = |answers: [&[&str]; 4]| {
            let turn = |(patch, answers): (&&str, &&[&str])| {
                let answers = answers.iter().map(|answer| told("system", answer));
                [says(patch)].into_iter().chain(answers).collect::<Vec<_>>()
            };
            let lines: Vec<String> = patches.iter().zip(&answers).flat_map(turn).collect();
            events("{}", lines).expect(RULE, &[]);
        };
        quiet([
            &["Error: no rope on deck"],
            &["Error: no hull on deck"],
            &["Error: no keel on deck"],
            &["Error: no mast on deck"],
        ]);
        quiet([
            &["Error: name 'sail' is not defined"],
            &["Error: name 'oars' is not defined"],
            &["Error: name 'bell' is not defined"],
            &["Error: name 'helm' is not defined"],
        ]);
        quiet([
            &["19 errors in the log"],
            &["16 errors in the log"],
            &["13 errors in the log"],
            &["9 errors in the log"],
        ]);
        let missed = "Error: the search block was not found";
        quiet([&[missed], &["The edit is applied"], &[missed], &["The edit is applied", missed]]);
    }

    #[test]
    fn errors_before_an_answer() {
        let told = |role: &str, text: &str| format!(r#"{{"type":"message","role":"{role}","text":"{text}"}}"#);
        let [host, user] = [told("system", "Error: the press is out of ink"), told("user", "Print the almanac.")];
        let lines =
            [&*user, &host, &says("Here it is in two columns."), &host, &says("Here it is in one column."), &host];
        events("{}", lines).expect(RULE, &[]);
    }

    /// What agents say in turn.
    fn talk(agents: &[&str], lines: &[&str]) -> Played {
        let said = |(line, agent): (&&str, &&str)| {
            format!(r#"{{"type":"message","role":"assistant","agent":"{agent}","text":"{line}"}}"#)
        };
        let lines: Vec<String> = lines.iter().zip(agents.iter().cycle()).map(said).collect();
        events("{}", &lines)
    }

    #[test]
    fn agents_that_thank_each_other() {
        let thanks = [
            "Thank you for the good work!",
            "It was good work, thank you!",
            "A pleasure, and thanks again.",
            "The pleasure was mine, thanks.",
            "Have a good evening, then!",
            "You too, have a good one!",
            "Thanks, the same to you.",
            "And to you, with thanks!",
            "A good evening, thank you!",
            "Thank you, good evening!",
            "With pleasure, and thanks!",
        ];
        talk(&["mate", "cook"], &thanks).strongest(RULE, Nudge);
        talk(&["mate", "cook", "pilot"], &thanks).strongest(RULE, Nudge);
        // Each agent speaks once.
        let crew = ["ann", "bob", "cat", "dan", "eve", "fin", "gus", "hal", "ida", "jon", "kim"];
        talk(&crew, &thanks).expect(RULE, &[]);
        // By a single agent, it is a monologue.
        talk(&["mate"], &thanks).expect(RULE, &[]);
        // Each has something to add.
        let ideas = [
            "Perhaps with lanterns along the mole?",
            "Or torches, held by children.",
            "Children get tired; rather the choir.",
            "Then singing, and the bells afterwards.",
            "Bells wake the babies, drums would do.",
            "Drums need dry weather.",
            "Under an awning they stay dry.",
            "Canvas is expensive, sails are not.",
            "Old sails could be borrowed.",
            "From the museum, that owes us favours.",
            "Favours are better than money.",
        ];
        talk(&["mate", "cook"], &ideas).expect(RULE, &[]);
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

    /// Handovers by desks in turn, each with its reason and its acknowledgement.
    fn handed(tool: &str, to: &[&str], reasons: &[&str], between: impl Fn(usize) -> Vec<String>) -> Played {
        let mut lines = Vec::new();
        for (at, reason) in reasons.iter().enumerate() {
            let from = to[(at + to.len() - 1) % to.len()];
            let next = to[at % to.len()];
            lines.push(format!(
                r#"{{"type":"tool-call","tool":"{tool}","agent":"{from}","args":{{"case":77,"to":"{next}","why":"{reason}"}}}}"#
            ));
            lines.push(format!(
                r#"{{"type":"tool-result","tool":"{tool}","agent":"{from}","outcome":"ok","output":"given to {next}, hop {at}, slip q{at}7c"}}"#
            ));
            lines.extend(between(at));
        }
        events("{}", &lines)
    }

    const EXCUSES: [&str; 9] = [
        "the sail was cut by them, so they decide",
        "a torn seam is sewn where it was rigged",
        "nobody rigs before the cloth is paid",
        "paying is up to whoever signs the order",
        "an order is signed once the seam is judged",
        "judging seams was never part of rigging",
        "without a verdict no cloth leaves the loft",
        "lofts give no verdict on foreign work",
        "foreign work goes back where it came from",
    ];

    #[test]
    fn work_that_comes_back_each_time_with_another_reason() {
        let nothing = |_| Vec::new();
        for tool in ["transfer", "handoff", "pass_on"] {
            handed(tool, &["rigging", "loft"], &EXCUSES, nothing).strongest(RULE, Nudge);
        }
        handed("handoff", &["rigging", "loft", "office"], &EXCUSES, nothing).strongest(RULE, Nudge);
        // Looking at the same card again is no progress, however its counters move.
        let looks = |at: usize| {
            let card = format!("case 77 open, read {at} times, last at 10:{:02}", at + 20);
            Vec::from(pair("get_card", r#"{"case":77}"#, "ok", &card))
        };
        handed("handoff", &["rigging", "loft"], &EXCUSES, looks).strongest(RULE, Nudge);
    }

    #[test]
    fn work_that_gets_on_between_handovers() {
        const STAGES: [&str; 9] =
            ["measured", "ordered", "delivered", "trimmed", "pinned", "sewn", "pressed", "hoisted", "signed"];
        let expect_none = |between: &dyn Fn(usize) -> String| {
            let result = |at| Vec::from(pair("get_card", r#"{"case":77}"#, "ok", &between(at)));
            handed("handoff", &["rigging", "loft"], &EXCUSES, result).expect(RULE, &[]);
        };
        // Another stage each time; something new was looked at, changed, named by one of them, reported by the user.
        expect_none(&|at| format!("the sail is {}", STAGES[at]));
        let call = |tool: &str, at: usize| Vec::from(pair(tool, &format!(r#"{{"seam":{at}}}"#), "ok", "seam done"));
        handed("handoff", &["rigging", "loft"], &EXCUSES, |at| call("inspect", at)).expect(RULE, &[]);
        handed("handoff", &["rigging", "loft"], &EXCUSES, |_| call("update_card", 1)).expect(RULE, &[]);
        handed("handoff", &["rigging", "loft"], &EXCUSES, |at| {
            Vec::from([says(&format!("Seam B{at} holds 40 kilos."))])
        })
        .expect(RULE, &[]);
        let heard = |at| Vec::from([format!(r#"{{"type":"message","role":"user","text":"And seam C{at}?"}}"#)]);
        handed("handoff", &["rigging", "loft"], &EXCUSES, heard).expect(RULE, &[]);
        // Those who get it do it as tasks of their own, and somewhere else than in the case.
        let elsewhere = |at: usize, task: &str| {
            let call = pair("inspect", &format!(r#"{{"seam":{at}}}"#), "ok", "seam done");
            Vec::from(call.map(|line| line.replacen('{', &format!(r#"{{"agent":"{task}","task":"{task}","#), 1)))
        };
        handed("handoff", &["rigging", "loft"], &EXCUSES, |at| elsewhere(at, ["rigging", "loft"][at % 2]))
            .expect(RULE, &[]);
        handed("handoff", &["rigging", "loft"], &EXCUSES, |_| elsewhere(1, "loft")).strongest(RULE, Nudge);
        // A case that is passed along four desks, and back to two of them.
        let desks = ["intake", "loft", "rigging", "office"];
        handed("handoff", &desks, &EXCUSES[..6], |_| Vec::new()).expect(RULE, &[]);
    }

    #[test]
    fn work_handed_over_as_a_task_while_calls_name_none() {
        let handed = |card: &dyn Fn(usize) -> String| {
            let mut lines = Vec::new();
            for (at, reason) in EXCUSES.iter().cycle().take(14).enumerate() {
                let [from, to] = if at % 2 == 0 { ["loft", "rigging"] } else { ["rigging", "loft"] };
                lines.push(format!(
                    r#"{{"type":"collaboration","agent":"{from}","from":"{from}","to":"{to}","task":"W-3","request":"{reason}"}}"#
                ));
                lines.extend(pair("get_card", r#"{"case":77}"#, "ok", &card(at)));
            }
            events("{}", &lines)
        };
        // Only the figures of what is looked at move, or something else is seen each time.
        handed(&|at| format!("case 77 open, read {at} times, last at 10:{:02}", at + 20)).strongest(RULE, Nudge);
        let seen = [
            "seam", "cloth", "grommet", "batten", "clew", "luff", "leech", "foot", "tack", "head", "reef", "sheet",
            "hank", "cringle",
        ];
        handed(&|at| format!("the {} is mended", seen[at])).expect(RULE, &[]);
    }

    #[test]
    fn rounds_that_the_user_ordered() {
        let debate = |order: &str| {
            let user = format!(r#"{{"type":"message","role":"user","text":"{order}"}}"#);
            let asked = EXCUSES.iter().cycle().take(14).enumerate().map(|(at, reason)| {
                let [from, to] = if at % 2 == 0 { ["for", "against"] } else { ["against", "for"] };
                format!(r#"{{"type":"collaboration","from":"{from}","to":"{to}","request":"{reason}"}}"#)
            });
            events("{}", [user].into_iter().chain(asked).collect::<Vec<_>>())
        };
        debate("Who decides about the sail? Ask both.").strongest(RULE, Nudge);
        debate("Who decides about the sail? Debate it, eight rounds each.").expect(RULE, &[]);
    }

    #[test]
    fn a_moderator_whose_speakers_have_something_to_say() {
        const TOPICS: [&str; 6] = ["herring", "lanterns", "pilots", "tolls", "dredging", "ferries"];
        let things =
            ["quay", "mast", "tide", "rope", "crane", "berth", "buoy", "hull", "keel", "sail", "deck", "cabin"];
        let speech = |about: &str| {
            things.map(|thing| format!("{thing}{about} long before any other {thing} of theirs")).join(", ")
        };
        let rounds = |topic: &dyn Fn(usize) -> &'static str| {
            let said = |agent: &str, text: &str| {
                format!(r#"{{"type":"message","role":"assistant","agent":"{agent}","text":"{text}"}}"#)
            };
            let round = |(at, about): (usize, &&str)| {
                let asks = format!(
                    "Now the candidate of the {} pier has five minutes to tell the whole harbour what ought to be done \
                     about {}, and everybody else listens without a word.",
                    topic(at + 1),
                    topic(at)
                );
                [said("host", &asks), said("south", &speech(about))]
            };
            events("{}", TOPICS.iter().enumerate().flat_map(round).collect::<Vec<_>>())
        };
        rounds(&|at| TOPICS[at % TOPICS.len()]).expect(RULE, &[]);
        // The very same words each time, whatever is answered.
        rounds(&|_| "anything").strongest(RULE, Nudge);
    }

    #[test]
    fn a_question_that_the_user_asks_once_more() {
        let questions = [
            ("How many boats lie at the northern pier today?", "There are three boats at the northern pier."),
            ("Which of the lanterns are out at the moment?", "No lantern is out at the moment, all are lit."),
            ("Is the plate SE-4471 in the book?", "The plate SE-4471 was not found in the book."),
        ];
        let asked = |(question, answer): &(&str, &str)| {
            [format!(r#"{{"type":"message","role":"user","text":"{question}"}}"#), says(answer)]
        };
        let lines: Vec<String> = questions.iter().cycle().take(12).flat_map(asked).collect();
        events("{}", &lines).expect(RULE, &[]);
    }

    #[test]
    fn one_prompt_before_each_step() {
        let prompt =
            r#"{"type":"message","role":"user","text":"Choose exactly one order for the crane, and nothing else."}"#;
        let with = |answers: [&str; 5]| {
            let turns = answers.iter().flat_map(|answer| [prompt.into(), says(answer)]);
            events("{}", turns.collect::<Vec<String>>())
        };
        let orders = [
            "Lift crate 71 to deck 2.",
            "Swing to bollard 19.",
            "Lower the hook of boom 4.",
            "Fetch the grab from shed 12.",
            "Load coal into barge 16.",
        ];
        with(orders).expect(RULE, &[]);
        with(["I see.", "Understood.", "I see.", "Understood.", "I see."]).expect(RULE, &[(6, Nudge), (8, Observe)]);
        // Without a name, but the host tells something new each time, or only counts.
        let hosted = |told: &dyn Fn(usize) -> String| {
            let host = |at: usize| format!(r#"{{"type":"message","role":"system","text":"{}"}}"#, told(at));
            let turns = (0..5).flat_map(|at| [prompt.into(), says(["I see.", "Understood."][at % 2]), host(at)]);
            events("{}", turns.collect::<Vec<String>>())
        };
        let signals = ["a red flag", "two short blasts", "the lantern swings", "no answer", "the gate is open"];
        hosted(&|at| format!("Seen from the crane: {}.", signals[at])).expect(RULE, &[]);
        hosted(&|at| format!("Seen for {at} s by {at}2 eyes.")).strongest(RULE, Nudge);
        // Ever new excuses name nothing.
        let excuses = [
            "Certainly, I will take care of that shortly.",
            "My apologies for the delay, that slipped through.",
            "Of course, right away, as agreed.",
            "Sorry about that, it comes next.",
            "Yes, that is being dealt with now.",
        ];
        with(excuses).strongest(RULE, Nudge);
        // Nothing is answered, or nothing but one and the same.
        let silent = |times: usize| {
            let lines = core::iter::once(says("I am at the crane.")).chain(vec![prompt.into(); times]);
            events("{}", lines.collect::<Vec<String>>())
        };
        silent(3).expect(RULE, &[]);
        silent(5).strongest(RULE, Nudge);
        let user = |at: usize| format!(r#"{{"type":"message","role":"user","text":"Crate {at} is on the quay."}}"#);
        let waits = |answer: &str| (0..9).flat_map(|at| [user(at), says(answer)]).collect::<Vec<_>>();
        events("{}", waits("Waiting.")).expect(RULE, &[]);
    }

    #[test]
    fn a_value_that_the_user_has_to_give_again() {
        dialogue(&[
            ("Under which number is the boat registered?", "It is SE-4471."),
            ("Thank you! May I have the registration?", "SE-4471, as I wrote."),
            ("So that a berth can be found: what does the plate on the stern say?", "It says SE-4471."),
            ("Wonderful. Which boat is it about?", "For the fourth time: SE-4471"),
        ])
        .strongest(RULE, Nudge);
        // Looking the same thing up in between is still not hearing.
        let asks = ["Which boat?", "Its number, please?", "And the plate?", "What is written on the stern?"];
        let looked_up = |answer: &dyn Fn(usize) -> String| {
            let mut lines = Vec::new();
            for (at, asks) in asks.iter().cycle().take(8).enumerate() {
                let user = r#"{"type":"message","role":"user","text":"SE-4471"}"#.into();
                lines.extend([says(asks), user]);
                lines.extend(pair("boats", r#"{"plate":"SE-4471"}"#, "ok", &answer(at)));
            }
            events("{}", &lines)
        };
        looked_up(&|at| format!("Berth free, query {at}a7")).strongest(RULE, Nudge);
        let found = ["paid", "moored", "insured", "rigged", "leased", "painted", "surveyed", "sold"];
        looked_up(&|at| format!("The boat is {}", found[at])).expect(RULE, &[]);
    }

    #[test]
    fn values_that_are_given_for_a_reason() {
        // Another value each time, a choice between two, a long story, several messages in a row that nobody asked for.
        dialogue(&[
            ("Which boat is it about?", "SE-4471"),
            ("It is not in the book. Is there another plate?", "Then SE-4472, it was my brother's."),
            ("Nor is that one. Which others are there?", "SE-4471 or else SE-4480."),
            ("No. And from the years before?", "SE-4472 and SE-4490, as far as I know."),
        ])
        .expect(RULE, &[]);
        let story = "My SE-4471 lay beside the pier when the ferry came in and the swell broke the line at its bow. It \
                     drifted against the mole, and nobody was there to hold it off.";
        let told = [("What happened?", story), ("How?", story), ("When?", story), ("Who saw it?", story)];
        dialogue(&told[..3]).expect(RULE, &[]);
        // Told for the fourth time, and answered with words alone.
        dialogue(&told).expect(RULE, &[(7, Nudge)]);
        let messages =
            [r#"{"type":"message","role":"user","text":"The boat SE-4471 is adrift beside the northern pier."}"#; 8];
        events("{}", messages).expect(RULE, &[]);
        let user = r#"{"type":"message","role":"user","text":"SE-4471"}"#;
        events("{}", [user; 8]).expect(RULE, &[]);
    }

    #[test]
    fn farewells_without_end() {
        let farewells = [
            "Goodbye then, and many thanks for the pleasant crossing!",
            "Thanks to yourself, the crossing was most pleasant!",
            "Pleasant winds, and goodbye to everybody on board!",
        ];
        let lines: Vec<String> = farewells.iter().cycle().take(9).map(|text| says(text)).collect();
        events("{}", &lines).strongest(RULE, Nudge);
    }
}
