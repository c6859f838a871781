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
mod circles;
mod custody;
mod refused;
mod reports;
mod values;

use crate::codec::codec;
use crate::model::{Body, Collaboration, Event, Role};
use crate::rules::news::SILENCE;
use crate::rules::streak::Streak;
use crate::rules::{Cx, Fact, Facts, Limits, Payload, Rule, Signal};
use crate::state::{Call, Occurrence, Recent, Ring, Step, Time, agent_key};
use crate::text::{
    Asks, Goal, Key, Vocabulary, combine, complains, counts_steps, dense, error_class, figures, first_mark, frame,
    head, is_logged, mark, mistake, plain_words, quoted, root_line, salted, trimmed,
};
use crate::tuned;
use alloc::{boxed::Box, vec::Vec};
use answered::Answered;
use chat::Chat;
use circles::{ASKED_AGAIN, HANDED, NOBODY_ACTS, NOT_HEARD, NOT_HELPED, NOTHING_NAMED, ONLY_THOUGHT, PARROT};
use custody::Custody;
use refused::Refused;
use reports::Reports;

/// Latest messages that a new one is compared with.
const MESSAGES: usize = 5;
/// Least weight of a message to be compared: lighter ones say too little.
const LIGHTEST: u32 = 6;
/// Latest messages of the user that are remembered, to tell a question that is asked once more.
const QUESTIONS: usize = 8;
/// Fewest words of a message to be compared.
const FEWEST: usize = 4;
/// Points of a repeat: three are told of. And of one in a group by another of its members.
const REPEAT: u32 = 9;
const AGREED: u32 = 5;
/// Most bytes of a vote: what a member of a group says that has not spoken lately.
const VOTE: usize = 48;
/// Into how many parts points are divided where news leaves some of them over.
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
/// Bytes of a message within which the user names the class of an error.
const SHOWN: usize = 400;
/// Messages after a result that are taken to be about it.
const ABOUT_IT: u32 = 2;

/// Most messages before an action that can become the accepted pace of talk.
const PACE: u32 = 12;

/// Bytes of the longest label before a message.
const LABEL: usize = 60;

/// Bytes from which code in a message is a piece of work.
const PIECE: usize = 80;

/// Speaking agents from which they are a group.
const GROUP: usize = 3;

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
    /// Messages since the latest action; and those of the user since an agent last spoke or acted.
    talked: u32,
    unanswered: u32,
    /// The most messages before an action so far, at most [`PACE`]: as many are accepted again.
    pace: u32,
    /// Marks of the agents who have spoken, at most [`GROUP`].
    speakers: Vec<u16>,
    custody: Custody,
    chat: Option<Box<Chat>>,
    answered: Answered,
    /// The user has spoken since the latest message; and has repeated a long prompt to the letter.
    asked: bool,
    prompted: bool,
    /// Messages of the user in a row that say that nothing has changed.
    unhelped: Streak,
    /// Mark of the latest message of an agent; and of it without its first figure, or 0.
    latest: u32,
    uncounted: u32,
    /// How often in a row the user was answered with the same message.
    parrot: Option<Box<Streak>>,
    reports: Option<Box<Reports>>,
    /// Thoughts noted down in a row.
    thoughts: Option<Box<Streak>>,
    /// Mark of the user's latest message; its frame, if it is no short one; and the error it tells of, or 0.
    heard: u32,
    framed: u32,
    told: u32,
    /// Mark of the class of error that the user's latest message names first, or 0.
    class: u32,
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
    messages, words, news, since, talked, unanswered, pace, speakers, custody, chat, answered, asked, prompted, unhelped, latest, uncounted, parrot, reports, thoughts, heard, framed, told, class, hosted, refused, questions, called, pending, demands, at,
});

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
        (self.called, self.pending, self.refused, self.reports, self.unanswered) = (true, false, None, None, 0);
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
            if self.learn(&said, &Goal::of(&said)).report {
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
        let goal = Goal::of(&asked.request);
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
        if self.learn(text, &Goal::of(text)).named {
            self.messages.clear();
        }
    }

    /// The host says something in answer to an agent, or to the user: if it tells of an error, the first one stands for
    /// the answer.
    fn answers(&mut self, text: &str, cx: &Cx<'_>) -> Option<Signal> {
        // What differs in more than figures is news to who asks again.
        let hosted = frame(text);
        if core::mem::replace(&mut self.hosted, hosted) != hosted {
            self.demands.clear();
            self.parrot = None;
        }
        if let Some(reports) = &mut self.reports {
            reports.hears_host(hosted);
        }
        let exact = self.talked == 0 || self.unanswered > 0;
        let Some(error) = Refused::told(text, exact, cx.salt) else {
            self.refused.iter_mut().for_each(|refused| refused.clears());
            return None;
        };
        let refused = self.refused.get_or_insert_default();
        refused.again(error, self.talked.saturating_add(self.unanswered), cx)
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
            (self.heard, self.framed, self.told, self.class, self.latest, self.uncounted, self.news) =
                Default::default();
        }
        self.thoughts = None;
        self.at = at;
    }

    /// The user speaks.
    fn hears(&mut self, text: &str, cx: &Cx<'_>) -> Option<Signal> {
        self.speaks(cx.onset.at);
        let goal = Goal::of(text);
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
        let class = error_class(head(text, SHOWN));
        let class = class.map_or(0, |class| mark(salted("talk/class", cx.salt, class.as_bytes())));
        let same_class = core::mem::replace(&mut self.class, class) == class && class != 0;
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
        self.prompted = again && text.len() >= reports::SHORTEST;
        self.chat = None;
        if self.unanswered == 0 {
            self.refused = None;
        }
        let unanswered = self.unanswered;
        self.unanswered = unanswered.saturating_add(1);
        // A few words before an error of the same class: `Still: TypeError …`.
        let lead = || same_class && text.trim_start().lines().next().is_some_and(complains);
        if complains(text) || same_error || lead() {
            // Nobody could help in between.
            if unanswered == 0 {
                self.unhelped.add(cx.here, cx.onset);
            }
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
        // An answer with which the host was content, or none of it at all, ends the errors; and so does one to the user.
        let (before, to_user) = (self.talked, core::mem::take(&mut self.unanswered) > 0);
        self.refused = self.refused.take().filter(|refused| !to_user && refused.stands(before));
        // What a program logs is no talk.
        if is_logged(text) {
            return None;
        }
        let text = unlabelled(text);
        let goal = Goal::of(text);
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
        let latest = mark(salted("talk/latest", cx.salt, trimmed(text).as_bytes()));
        let uncounted = uncounted(trimmed(text), cx.salt);
        // To a long prompt that is repeated to the letter, a counter makes no other answer.
        let counts = core::mem::replace(&mut self.uncounted, uncounted) == uncounted && uncounted != 0;
        let same = core::mem::replace(&mut self.latest, latest) == latest || self.prompted && counts;
        if said.fresh > 0 && !same {
            self.parrot = None;
        }
        let parrots = same && answers && (!few || text.contains(dense));
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
        self.follows(goal, own, text.len() <= VOTE, leaves, cx).or(told)
    }

    /// Adds a message to the chain that it continues; `leaves` is how many twelfths of its points news leaves over.
    fn follows(&mut self, goal: Goal, speaker: u16, few: bool, leaves: u32, cx: &Cx<'_>) -> Option<Signal> {
        let votes = few && !self.messages.iter().any(|said| said.speaker == speaker);
        let mut best: Option<(u32, &PastMessage)> = None;
        for before in self.messages.iter() {
            let kinship = goal.kinship(&before.goal);
            let related = kinship.alike >= tuned::TALK_ALIKE.get() || kinship.within >= tuned::TALK_WITHIN.get();
            if kinship.refilled || !related {
                continue;
            }
            // In a group, each member says once what all agree upon.
            let agrees = self.speakers.len() >= GROUP && before.speaker != speaker;
            let worth = match agrees {
                true if votes => 0,
                true => AGREED,
                false => REPEAT,
            };
            let points = before.points.saturating_add(worth * leaves / WHOLE);
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
        if times == 1 || news || self.talked <= self.pace || !cx.limits.reached(points) {
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

/// The mark of a text without its first figure; 0 if it has none.
fn uncounted(text: &str, salt: u64) -> u32 {
    let digit = |char: char| char.is_ascii_digit();
    let Some((before, rest)) = text.split_once(digit) else { return 0 };
    let parts = [before, rest.trim_start_matches(digit)].map(|part| salted("talk/latest", salt, part.as_bytes()));
    mark(combine("talk/uncounted", &parts)).max(1)
}

/// The line that tells what error a text is about.
fn error_line(text: &str) -> Option<&str> {
    root_line(text).or_else(|| first_mark(text))
}

/// Bytes of the pieces of code that a text holds.
fn code_in(text: &str) -> usize {
    text.split("```").skip(1).step_by(2).map(str::len).filter(|bytes| *bytes >= PIECE).sum()
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
                // Before anybody has spoken, only an error matters.
                if state.0.is_none() && Refused::told(&message.text, true, cx.salt).is_none() {
                    return None;
                }
                return state.0.get_or_insert_default().answers(&message.text, cx);
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
            .max(talk.refused.as_ref().map_or(0, |refused| refused.worth()))
            .max(ASKED_AGAIN.worth(&talk.demands))
            .max(talk.parrot.as_ref().map_or(0, |parrot| PARROT.worth(parrot)))
            .max(talk.reports.as_ref().map_or(0, |reports| reports.worth()))
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
mod tests;
