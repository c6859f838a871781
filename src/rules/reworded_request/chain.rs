//! Requests that share a goal, and what came of them.
//!
//! Every request is compared with the latest ones of the run, whoever made them and whatever tool or agent they were
//! put to. A rewording is worth up to [`WHOLE`] points: more the closer the two are, less if something came of the last
//! one.

use crate::codec::codec;
use crate::model::ToolResult;
use crate::rules::Cx;
use crate::rules::asked::NewlyAsked;
use crate::state::{Occurrence, Onset, Ring, Sighting, Step};
use crate::text::{Asks, Effect, Goal, Key, Kinship, Left, Moved, Vocabulary, has_digit};
use crate::tuned;
use alloc::vec::Vec;

/// Results whose state is kept.
const STATES: usize = 16;
/// Answers kept, to tell one that was given before.
const ANSWERS: usize = 16;
/// Least weight of a request to be compared: lighter ones say too little.
const LIGHTEST: u32 = 6;
/// Most points of a rewording, if nothing came of the last request.
pub(super) const WHOLE: u32 = 12;
/// Fewest requests of a chain to be reported: asking once more in other words is what everybody does.
const FEWEST: u32 = 3;
/// Words of an answer that are looked at.
const WORDS: usize = 200;
/// Fewest words of which the share of new ones says something.
const FEW: usize = 4;

#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    requests: Ring<PastRequest>,
    states: Ring<KnownState>,
    answers: Ring<Key>,
    words: Vocabulary,
    asked: NewlyAsked,
    /// A request has no result yet.
    waiting: bool,
    /// What the latest result brought.
    came: RequestOutcome,
    /// The number of hits that the latest answer reports.
    hits: Left,
    /// The fewest problems that an answer said are left.
    left: Left,
    /// The hits are fewer than before by at least a quarter.
    fewer: bool,
    /// The latest result was a failure that waiting may resolve.
    busy: bool,
}
codec!(struct Chain { requests, states, answers, words, asked, waiting, came, hits, left, fewer, busy });

#[derive(Clone, Debug)]
struct PastRequest {
    goal: Goal,
    call: Key,
    /// Mark of the tool, or of the two agents.
    tool: u32,
    points: u32,
    /// Requests of the chain so far, including this one.
    times: u32,
    mutations: u64,
    round: Option<Key>,
    /// Sequence number of the chain's first request.
    chain: u64,
    seen: Occurrence,
}
codec!(struct PastRequest { goal, call, tool, points, times, mutations, round, chain, seen });

#[derive(Clone, Debug)]
struct KnownState {
    tool: Key,
    state: Effect,
}
codec!(struct KnownState { tool, state });

/// What came of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    #[default]
    None,
    Failed,
    /// It failed in another way than before.
    Otherwise,
    Nothing,
    Waiting,
    /// An answer that was given before.
    Same,
    /// Place and figures are as before, after the same action.
    Unmoved,
    /// Place and figures are as before, after another action.
    Acted,
    /// A place that had been left is shown again.
    Back,
    /// A place that was not seen before.
    Elsewhere,
    /// The same place with other figures.
    Moved,
    /// Other figures without a place: a growing count if the request is the same, else an answer like any other.
    Counted,
    /// A text with hardly a new word.
    Stale,
    /// A text with new words.
    Text,
    /// Another agent was asked, and its answer is not reported.
    Untold,
    /// A text about what the request newly asks.
    Answered,
}
codec!(enum RequestOutcome {
    None: 0, Failed: 1, Otherwise: 2, Nothing: 3, Waiting: 4, Same: 5, Unmoved: 6, Acted: 7, Back: 8, Elsewhere: 9,
    Moved: 10, Counted: 11, Stale: 12, Text: 13, Untold: 14, Answered: 15,
});

impl RequestOutcome {
    /// How much of a rewording's points it leaves, in twelfths.
    fn leaves(self) -> u32 {
        match self {
            Self::None | Self::Failed | Self::Nothing | Self::Same | Self::Unmoved => 12,
            Self::Stale => tuned::CAME_STALE.get(),
            Self::Acted | Self::Back | Self::Untold => tuned::CAME_ACTED.get(),
            Self::Text | Self::Counted | Self::Otherwise => tuned::CAME_TEXT.get(),
            Self::Elsewhere => tuned::CAME_ELSEWHERE.get(),
            Self::Waiting | Self::Answered => 3,
            Self::Moved => tuned::CAME_MOVED.get(),
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::None => "without an answer in between",
            Self::Failed => "after a failure",
            Self::Otherwise => "after a different failure",
            Self::Nothing => "after an answer that nothing was found",
            Self::Waiting => "although the answer was to wait",
            Self::Same => "after an answer that had been given before",
            Self::Unmoved => "although the place and figures of the last result had not changed",
            Self::Acted => "after another action that changed nothing",
            Self::Back => "after a return to an earlier place",
            Self::Elsewhere => "after a new place",
            Self::Moved => "although the place or figures of the last result had changed",
            Self::Counted => "after different figures",
            Self::Stale => "after an answer with hardly any new words",
            Self::Text => "after an answer",
            Self::Untold => "without a measured step forward",
            Self::Answered => "after an answer about what was newly asked for",
        }
    }
}

/// A request as it is made.
pub(super) struct NewRequest<'a> {
    pub(super) goal: &'a Goal,
    /// Equal for identical requests.
    pub(super) call: Key,
    /// Mark of the tool it is put to, or of the two agents.
    pub(super) tool: u32,
    /// What that mark would be of a request the other way round, if this one names nothing; otherwise 0.
    pub(super) answers: u32,
    pub(super) round: Option<Key>,
    pub(super) onset: Onset,
    /// It is put to another agent, whose answer is not reported.
    pub(super) untold: bool,
    /// New mutations before it that may have changed the answer.
    pub(super) mutations: u64,
    /// Nothing was done for a while before it, or it looks at something that changes by itself.
    pub(super) paused: bool,
    /// It is put in natural language, to something that may answer anything.
    pub(super) prose: bool,
}

/// A request that rewords earlier ones.
pub(super) struct Reworded {
    pub(super) points: u32,
    pub(super) times: u32,
    pub(super) chain: u64,
    pub(super) kinship: Kinship,
    pub(super) came: RequestOutcome,
    pub(super) seen: Vec<(Sighting, Onset)>,
}

impl Chain {
    /// Adds a request; the evidence, if it is at least the third of its chain.
    pub(super) fn asks(&mut self, asking: &NewRequest<'_>, cx: &Cx<'_>) -> Option<Reworded> {
        let NewRequest { goal, call, tool, answers, round, onset, untold, mutations, paused, prose } = *asking;
        let came = if untold { RequestOutcome::Untold } else { self.came };
        let leaves = if self.waiting && !untold { 3 } else { came.leaves() };
        // If something came of the last request, a list that gets shorter is worked off, and a search narrowed.
        let gained = matches!(
            came,
            RequestOutcome::Moved
                | RequestOutcome::Elsewhere
                | RequestOutcome::Back
                | RequestOutcome::Counted
                | RequestOutcome::Acted
                | RequestOutcome::Text
                | RequestOutcome::Stale
                | RequestOutcome::Answered
        ) && !self.waiting;
        self.waiting |= !untold;
        if goal.weight() < LIGHTEST {
            return None;
        }
        // Work that is handed out piece by piece comes back in the same words each time.
        let is_new = |latest: &PastRequest| latest.times == 1 && goal.shared(&latest.goal).is_none();
        if self.requests.last().is_some_and(|latest| untold && latest.tool == answers && is_new(latest)) {
            return None;
        }
        let mut best: Option<(u32, &PastRequest, Kinship)> = None;
        for before in self.requests.iter() {
            if round.is_some() && before.round == round {
                continue;
            }
            let Some(kinship) = goal.shared(&before.goal) else { continue };
            // An identical request after a pause, after an answer that says to wait, or with other figures each time is
            // a poll.
            let polls = before.call == call
                && (paused || came == RequestOutcome::Counted || came == RequestOutcome::Waiting && !prose);
            let changed = before.mutations != mutations;
            // Fewer hits each time are a search that narrows; a draft that grows is a new one each time.
            let narrowed = self.fewer && before.call != call || untold && goal.grows(&before.goal);
            // An identical request after a failure that waiting may resolve is a retry.
            let retries = before.call == call && self.busy;
            let base = if changed || polls || narrowed || retries { 0 } else { base(&kinship, gained) };
            // A question put to several sources once each was put to none of them twice, and one that failed was not
            // put to its source.
            let within = || self.requests.iter().filter(|other| other.chain == before.chain);
            let twice = |one: &PastRequest| within().filter(|other| other.tool == one.tool).count() > 1;
            let answered = kinship.alike < 100 && !matches!(came, RequestOutcome::Failed | RequestOutcome::Otherwise);
            let again = within().any(|other| other.tool == tool) || answered && within().any(twice);
            let base = if untold || again { base } else { base / 3 };
            let points = before.points.saturating_add(base * leaves / WHOLE);
            if base > 0 && best.as_ref().is_none_or(|(most, _, _)| points >= *most) {
                best = Some((points, before, kinship));
            }
        }
        let (points, times, chain, kinship) = best
            .map_or((0, 1, cx.here.seq, Kinship::default()), |(points, before, kinship)| {
                (points, before.times.saturating_add(1), before.chain, kinship)
            });
        let asked = PastRequest {
            goal: goal.clone(),
            call,
            tool,
            points,
            times,
            mutations,
            round,
            chain,
            seen: Occurrence::new(cx.here, onset),
        };
        self.requests.push(asked, tuned::REQUESTS_KEPT.get() as usize);
        (times >= FEWEST).then(|| Reworded {
            points,
            times,
            chain,
            kinship,
            came,
            seen: self.requests.iter().filter(|asked| asked.chain == chain).map(|asked| asked.seen.get()).collect(),
        })
    }

    /// Learns the words of a request, which are no news in its answer.
    pub(super) fn learns(&mut self, words: &[u32]) {
        self.asked.asks(words, |word| self.words.learn(word));
    }

    /// Records what a result brought.
    pub(super) fn came(&mut self, step: &Step, result: &ToolResult) {
        // Results of other work say nothing about requests, and without requests there is nothing to compare.
        let asked = step.call.as_ref().is_some_and(|call| call.asks != Asks::Nothing);
        if self.requests.len() == 0 || !self.waiting && !asked {
            return;
        }
        let facts = &step.facts;
        self.waiting = false;
        self.busy = facts.failed && step.transient(result);
        let answered = self.asked.is_answered(step.words(result));
        let news = self.news(step.words(result));
        let answer = facts.class.unwrap_or(facts.light);
        let known = self.answers.iter().any(|known| *known == answer);
        if !known {
            self.answers.push(answer, ANSWERS);
        }
        let hits = Left::found(&result.output);
        self.fewer = hits.is_less(&self.hits) && hits.count().saturating_mul(4) <= self.hits.count().saturating_mul(3);
        self.hits = hits;
        // What is left is worked off, whatever is asked for.
        if let Some(left) = Left::field(&result.output) {
            if left.is_less(&self.left) {
                self.requests.clear();
            }
            self.left = left.fewest(&self.left);
        }
        let state = step.effect(result);
        let (mut unmoved, mut acted, mut tells, mut seen) = (false, false, state.place != 0, false);
        let mut latest = 0;
        for known in self.states.iter().filter(|known| known.tool == step.tool) {
            let moved = state.moved(&known.state);
            tells |= moved != Moved::Unknown;
            unmoved |= moved == Moved::No && known.state.act == state.act;
            acted |= moved == Moved::No;
            seen |= known.state.place == state.place;
            latest = known.state.place;
        }
        self.came = if facts.failed {
            // A different error is something learned.
            if known { RequestOutcome::Failed } else { RequestOutcome::Otherwise }
        } else if facts.waiting {
            RequestOutcome::Waiting
        } else if facts.negative {
            RequestOutcome::Nothing
        } else if known {
            RequestOutcome::Same
        } else if unmoved {
            RequestOutcome::Unmoved
        } else if acted {
            RequestOutcome::Acted
        } else if tells && state.place == 0 && latest == 0 {
            if news { RequestOutcome::Counted } else { RequestOutcome::Stale }
        } else if tells && latest == state.place {
            RequestOutcome::Moved
        } else if tells {
            if seen { RequestOutcome::Back } else { RequestOutcome::Elsewhere }
        } else if news {
            RequestOutcome::Text
        } else {
            RequestOutcome::Stale
        };
        if answered && matches!(self.came, RequestOutcome::Elsewhere | RequestOutcome::Text | RequestOutcome::Counted) {
            self.came = RequestOutcome::Answered;
        }
        self.states.push(KnownState { tool: step.tool, state: state.clone() }, STATES);
    }

    /// Whether the words of a text say something new; from now on they are known.
    fn news(&mut self, words: &[u32]) -> bool {
        let (mut all, mut new, mut figure) = (0_usize, 0_usize, false);
        for word in words.iter().copied().take(WORDS) {
            all += 1;
            if self.words.learn(word) {
                new += 1;
                figure |= has_digit(word);
            }
        }
        all >= FEW && (new * tuned::ANSWER_NEWS.get() as usize >= all || figure)
    }

    pub(super) fn points(&self) -> u32 {
        self.requests.iter().map(|asked| asked.points).max().unwrap_or(0)
    }

    pub(super) fn fits(&self) -> bool {
        self.requests.len() <= tuned::REQUESTS_KEPT.get() as usize
            && self.requests.iter().all(|asked| asked.goal.fits())
            && self.states.len() <= STATES
            && self.states.iter().all(|known| known.state.fits())
            && self.answers.len() <= ANSWERS
            && self.words.fits()
            && self.asked.fits()
    }
}

/// Points of a request with this kinship to an earlier one, before [`RequestOutcome::leaves`]; `gained` tells whether something
/// came of the last request.
fn base(kinship: &Kinship, gained: bool) -> u32 {
    if kinship.refilled || kinship.plus && kinship.minus || (kinship.minus || kinship.cut) && gained {
        return 0;
    }
    let beyond = kinship.alike.saturating_sub(tuned::REWORDED_FROM.get());
    let base = (beyond / tuned::REWORDED_STEP.get()).min(WHOLE);
    if kinship.plus { base * tuned::REWORDED_PLUS.get() / WHOLE } else { base }
}
