//! Catches: the same call with the same outcome, over and over, with or without other calls in between.
//! Must not catch: polls whose answer changes, checks re-run after a new edit, batches, paging, copies of a call
//! within one parallel round, waiting at a reasonable pace.
//! Idea: a repeat is the same call with the same outcome, and is worth points; only something new is progress. Weights
//! and thresholds were measured on recorded runs (`docs/detection.md`).
//!
//! A repeat is worth the least of what applies ([`Entry::worth`]):
//! - 3 right after the previous occurrence, 2 with other steps in between, 1 with a new mutation in between (0 if the
//!   call succeeds: a check that keeps passing). One less if the outcomes are equal only after masking; at most 1 if
//!   long outcomes differ in digits only.
//! - By the time since the previous occurrence ([`Entry::most_by_clock`]): at most 1 after a minute; after ten seconds
//!   (2 after five) where waiting is expected; after five seconds (2 before) if the answer says to wait; after twenty
//!   seconds (2 after ten) for a read-only call with nothing in between.
//! - At most 1 after a pause where waiting is expected, or after a sleep, two seconds or a growing wait if waiting may
//!   resolve what the result reports ([`Entry::was_waited_for`]).
//! - 1 if an answer of several words differs only in a few of them and in figures that have both risen and fallen. This
//!   is advisory only.
//! - 1 for keys and gestures that are merely acknowledged. If something new was seen since, 0, and their points so far
//!   are halved: only a look shows what they did.
//! - 0 if it is no repetition ([`Entry::recurs`]): it acts, and something new was seen since; an image that nothing
//!   identifies, with steps in between; a statement that changed as many rows as its limit; fewer errors than before;
//!   an index between new pages. 0 as well if the agent waits for something else.
//!
//! A different outcome halves the points, or clears them if something was waited for, and is never flagged itself. If
//! the agent does something for the first time between two occurrences (opens the next row, then closes it with the
//! same key), a successful call may be part of each piece of work, so the finding is advisory only. So is one about
//! looks a minute or more apart where waiting is expected.

use crate::codec::{Codec, Reader, codec};
use crate::model::{HaltReason, Outcome, Recommendation, ToolResult};
use crate::rules::streak::capped_confidence;
use crate::rules::{Cx, Fact, Facts, Limits, Outlook, Rule, Signal, SignalParts, View, foreseen, outcome_words};
use crate::state::{Call, Latest, Marked, Onset, Packed, Ring, Step, Time, WAITED, is_short, short_mark};
use crate::text::{
    Asks, Empty, Key, OutcomeFacts, Sketch, combine, ends, mark, may_change, number, passes, printable, progress,
};
use alloc::{borrow::Cow, boxed::Box, vec::Vec};

/// Calls kept at once, and as many custom events.
const ENTRIES: usize = 32;
/// Calls with a changing answer that are kept at once.
const MOVING: usize = 8;
/// Points of a repeat right after the previous occurrence: the most that a repeat is worth.
const ADJACENT: u32 = 3;
/// Milliseconds between two occurrences of any call from which the later one counts as waited for.
const PATIENT: i64 = 60_000;
/// The same of a read-only call, whatever else is done in between: the agent wakes up, looks at several things, and
/// sleeps again.
const ASLEEP: i64 = 600_000;
/// Milliseconds between two occurrences of a read-only call from which it counts as waited for, if waiting may resolve
/// what its result reports.
const HELD: u32 = 2_000;
/// Bytes from which an answer is content of its own, a page, rather than a short reply.
const PAGE: usize = 200;
/// Lines with figures from which an answer is a list of them.
const ROWS: usize = 5;
/// Letters and digits in a row from which they may be the digest of an image.
const DIGEST: usize = 16;
/// Milliseconds of a second. A clock that shows whole seconds is less than one off.
const SECOND: u32 = 1_000;
/// Milliseconds below which a gap is too short to be a growing wait (a backoff).
const GROWING: u32 = 1_000;

pub(crate) struct RepeatedCall;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    entries: Packed<Entry>,
    /// Custom events, kept apart so that many of them do not evict the calls; few runs have any.
    customs: Option<Box<Packed<Entry>>>,
    /// Calls that were repeated and got a different answer; few runs have any.
    moving: Option<Box<Ring<ChangingAnswer>>>,
}
codec!(struct State { entries, customs, moving });

/// The latest answer of a call whose answer differed from the previous one.
#[derive(Clone, Debug)]
struct ChangingAnswer {
    /// [`Entry::whole`].
    call: Key,
    loose: u32,
    /// The call had collected points for equal answers before they began to change, so it is no poll.
    stood: bool,
    words: Sketch,
}
codec!(struct ChangingAnswer { call, loose, stood, words });

/// A call of one agent that may repeat.
#[derive(Clone, Debug)]
struct Entry {
    call: Key,
    agent: Key,
    points: Points,
    /// Occurrences since the onset, without those in [`Points::others`].
    times: u32,
    likeness: Likeness,
    flags: Flags,
    /// Number of the latest occurrence's step ([`Step::index`]).
    index: u64,
    mutations: u64,
    at: Time,
    /// Milliseconds between the latest two occurrences; 0 if unknown.
    gap: u32,
    /// Key of its round; 0 for none.
    round: Key,
    onset: Onset,
    sightings: Latest,
}
codec!(struct Entry {
    call, agent, points, times, likeness, flags, index, mutations, at, gap, round, onset, sightings,
});

/// The points of a call: all of them, those of repeats between which the agent did something new (`busy`), and how
/// often a different outcome came in between (`others`), with a bit for whether equal outcomes [varied](Points::varies).
#[derive(Clone, Copy, Debug, Default)]
struct Points {
    all: u32,
    busy: u16,
    others: u16,
}

impl Points {
    const VARIES: u16 = 1 << 15;

    const fn others(self) -> u16 {
        self.others & !Self::VARIES
    }

    const fn note_other(&mut self) {
        if self.others() < Self::VARIES - 1 {
            self.others += 1;
        }
    }

    /// Whether outcomes that count as equal differed, in a time or an id.
    const fn varies(self) -> bool {
        self.others & Self::VARIES != 0
    }

    const fn note_varies(&mut self, varies: bool) {
        if varies {
            self.others |= Self::VARIES;
        }
    }
}

/// As one number, which takes few bytes while `busy` and `others` are 0.
impl Codec for Points {
    const SIZE: usize = 8;

    fn put(&self, to: &mut Vec<u8>) {
        (u64::from(self.others) << 48 | u64::from(self.busy) << 32 | u64::from(self.all)).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let all = u64::take(from);
        Self { all: all as u32, busy: (all >> 32) as u16, others: (all >> 48) as u16 }
    }
}

/// What outcomes are compared by: the marks of the keys in [`OutcomeFacts`].
#[derive(Clone, Copy, Debug)]
struct Likeness {
    exact: u32,
    light: u32,
    /// 0 for none.
    shape: u32,
}

impl Likeness {
    fn of(facts: &OutcomeFacts) -> Self {
        Self { exact: mark(facts.exact), light: mark(facts.light), shape: facts.shape.map_or(0, mark) }
    }
}

/// Most long outputs are compared byte for byte only (`text/glance.rs`): the three marks are equal then, and two of
/// them take a byte each.
impl Codec for Likeness {
    const SIZE: usize = 12;

    fn put(&self, to: &mut Vec<u8>) {
        let Self { exact, light, shape } = *self;
        exact.put(to);
        (if light == exact { 0 } else { light }).put(to);
        (if shape == exact { 1 } else { shape }).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let [exact, light, shape] = core::array::from_fn(|_| u32::take(from));
        Self { exact, light: if light == 0 { exact } else { light }, shape: if shape == 1 { exact } else { shape } }
    }
}

/// What is known of the latest occurrence, in one byte: the position of its outcome in [`Outcome::ALL`]; whether it
/// failed; whether waiting is expected, which triples the thresholds; whether the call is work, that is, changes
/// something, has a target or searches, as opposed to a thought written down; whether it opened a page; and whether its
/// answers move.
#[derive(Clone, Copy, Debug)]
struct Flags(u8);
codec!(struct Flags(_));

impl Flags {
    const PATIENT: u8 = 1;
    const FAILED: u8 = 2;
    /// The lowest of the outcome's three bits.
    const OUTCOME: u32 = 2;
    const WORK: u8 = 32;
    const OPENED: u8 = 64;
    const MOVES: u8 = 128;

    /// `alone`: nothing else was done since the previous occurrence. `waited`: that was so long ago as when something is
    /// being watched.
    fn of(step: &Step, call: &Call, result: Option<&ToolResult>, alone: bool, waited: bool) -> Self {
        let failed = step.facts.failed;
        let page = !call.mutates && call.target.is_some() && result.is_some_and(|result| result.output.len() >= PAGE);
        let stays = result.filter(|_| call.watches && !failed).and_then(|result| may_change(&result.output));
        let waits = if failed {
            step.is_waited_out()
        } else {
            (alone || step.paused()) && stays == Some(true) || (waited || step.watches()) && stays != Some(false)
        };
        let patient = call.polling || step.facts.waiting || waits;
        let work = call.mutates || call.target.is_some() || matches!(call.asks, Asks::Search | Asks::Record);
        let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
        let flags = flag(page, Self::OPENED) | flag(work, Self::WORK) | flag(failed, Self::FAILED);
        Self((step.outcome as u8) << Self::OUTCOME | flags | flag(patient, Self::PATIENT))
    }

    fn outcome(self) -> Outcome {
        Outcome::ALL.get(usize::from(self.0 >> Self::OUTCOME & 7)).copied().unwrap_or_default()
    }

    const fn failed(self) -> bool {
        self.0 & Self::FAILED != 0
    }

    const fn patient(self) -> bool {
        self.0 & Self::PATIENT != 0
    }

    /// Whether its answers were seen to change while nothing else was done: the agent then waits for the next change.
    const fn moves(self) -> bool {
        self.0 & Self::MOVES != 0
    }

    const fn note_patient(&mut self, patient: bool) {
        if patient {
            self.0 |= Self::PATIENT;
        }
    }

    const fn note_moves(&mut self, moves: bool) {
        if moves {
            self.0 |= Self::MOVES;
        }
    }

    const fn work(self) -> bool {
        self.0 & Self::WORK != 0
    }

    const fn opened(self) -> bool {
        self.0 & Self::OPENED != 0
    }
}

impl Marked for Entry {
    fn mark(&self) -> u32 {
        mark(self.call)
    }
}

impl Entry {
    fn is_of(&self, call: Key, agent: Key) -> bool {
        self.call == call && self.agent == agent
    }

    fn first(step: &Step, call: &Call, result: Option<&ToolResult>) -> Self {
        let mut sightings = Latest::default();
        sightings.push(step.sighting);
        Self {
            call: call.key,
            agent: step.agent,
            points: Points::default(),
            times: 1,
            likeness: Likeness::of(&step.facts),
            flags: Flags::of(step, call, result, false, false),
            index: step.index,
            mutations: step.mutations_after(),
            at: step.at.into(),
            gap: 0,
            round: call.round.unwrap_or(0),
            onset: step.onset,
            sightings,
        }
    }

    /// Whether the agent has made a call for the first time since the latest occurrence, one that succeeded and that
    /// `counts` accepts. False for a step that failed.
    fn new_between(&self, step: &Step, entries: &Packed<Self>, counts: &dyn Fn(&Self) -> bool) -> bool {
        let new = |other: &Self| {
            let first = other.agent == self.agent && other.index > self.index && other.times == 1;
            first && counts(other) && !other.flags.failed()
        };
        !step.facts.failed && step.previous > self.index && entries.iter().any(|other| new(&other))
    }

    /// Whether something new was seen since the latest occurrence. News of the occurrence's own round does not count:
    /// that call was made before the occurrence was answered.
    fn sees_news(&self, step: &Step) -> bool {
        let at_once = self.round != 0 && step.news_round == short_mark(self.round);
        step.news > self.index && !at_once && !step.facts.failed
    }

    /// Whether it is an index: a page that the agent returns to between new pages that it opens.
    fn leads_on(&self, step: &Step, call: &Call, entries: &Packed<Self>) -> bool {
        !call.mutates && self.flags.opened() && self.new_between(step, entries, &|other| other.flags.opened())
    }

    /// Points that a further occurrence adds; `None` if its outcome differs.
    fn worth(&self, step: &Step, call: &Call, result: Option<&ToolResult>) -> Option<u32> {
        let facts = &step.facts;
        let (now, before) = (Likeness::of(facts), &self.likeness);
        let (exact, light) = (now.exact == before.exact, now.light == before.light);
        // Other figures in row after row are other data.
        let near = facts.shape.is_some() && now.shape == before.shape;
        if !light && !exact && (!near || !call.mutates && result.is_some_and(|result| lists_figures(&result.output))) {
            return None;
        }
        // A countdown: `10 seconds left`, `9 seconds left`.
        let counts_down = || step.is_news && step.kin.fell() && result.is_some_and(|result| is_short(&result.output));
        if light && !exact && !facts.failed && counts_down() {
            return Some(0);
        }
        let between = step.previous > self.index && !facts.failed;
        let lasted = step.onset.at.until(step.at).unwrap_or(0);
        // The agent only lets time pass between looks at something else: it waits for that.
        if between && (step.idles || self.flags.patient() && lasted >= WAITED) {
            return Some(0);
        }
        let mut points = if step.mutations_before() > self.mutations {
            u32::from(facts.failed)
        } else if !facts.failed && (call.idles || result.is_some_and(|result| call.steers(result))) {
            1
        } else if step.previous == self.index {
            ADJACENT
        } else {
            2
        };
        if !exact {
            let same = light || call.makes_another();
            points = if same { points.saturating_sub(1) } else { points.min(1) };
        }
        let most = if self.was_waited_for(step, call, result) { 1 } else { ADJACENT };
        Some(points.min(most).min(self.most_by_clock(step, call)))
    }

    /// The most that an occurrence is worth, given the time since the previous one.
    fn most_by_clock(&self, step: &Step, call: &Call) -> u32 {
        let facts = &step.facts;
        let says_wait = facts.waiting && !facts.failed;
        let most = if says_wait { 2 } else { ADJACENT };
        let Some(waited) = self.at.until(step.at) else { return most };
        // Something else that is looked at made progress meanwhile.
        if waited >= PATIENT && step.news > self.index && !call.mutates {
            return 0;
        }
        // An agent that only looks, and does nothing else for longer than a turn takes, waits for something.
        let asks = matches!(call.asks, Asks::Search | Asks::Prose);
        // One without arguments cannot ask for anything else.
        let found = || !facts.negative || call.asks_nothing();
        let looks = !call.mutates && !asks && step.previous == self.index && found();
        let (long, short) = match () {
            () if says_wait => (WAITED / 4, WAITED / 4),
            () if self.flags.patient() => (WAITED / 2, WAITED / 4),
            () if looks => (WAITED, WAITED / 2),
            () => (PATIENT, PATIENT),
        };
        match () {
            () if waited >= long => 1,
            () if waited >= short => 2,
            () => most,
        }
    }

    /// Whether the agent has waited for what this occurrence reports: by a pause, a sleep, or a gap half as long again
    /// as the previous one.
    fn was_waited_for(&self, step: &Step, call: &Call, result: Option<&ToolResult>) -> bool {
        let facts = &step.facts;
        let excused =
            if facts.failed { step.is_waited_out() } else { facts.waiting || self.flags.patient() || step.watches() };
        if step.paused() && !call.mutates && excused {
            return true;
        }
        let Some(result) = result else { return false };
        // Overload and network failures call for waiting, and short waits for longer ones each time. If the agent only
        // looks and does nothing else, the clock alone shows that it waits.
        let gap = self.gap(step);
        let brief = facts.failed || result.output.len() < PAGE;
        let held = step.slept || gap >= HELD && step.previous == self.index && !call.mutates;
        let grows = self.gap > 0 && gap >= GROWING && u64::from(gap) * 2 >= u64::from(self.gap) * 3;
        brief && held && step.transient(result) || facts.failed && grows && passes(&result.output)
    }

    /// Whether a short answer differs by a clock only: its figures have grown by as many seconds, or milliseconds, as
    /// have passed since the previous one, and none of them says how far something is.
    fn ticks(&self, step: &Step, call: &Call, answer: &str) -> bool {
        let (gap, grown) = (self.gap(step), step.kin.grown());
        let clock = |unit: u32| grown.saturating_mul(unit).abs_diff(gap) < SECOND;
        let waited = i64::from(gap) >= WAITED / 2;
        waited
            && is_short(answer)
            && progress(answer) == 0
            && !call.mutates
            && !step.facts.failed
            && [SECOND, 1].into_iter().any(clock)
    }

    fn gap(&self, step: &Step) -> u32 {
        let gap = self.at.until(step.at).unwrap_or(0);
        u32::try_from(gap.max(0)).unwrap_or(u32::MAX)
    }

    /// Identifies the call together with its agent.
    const fn whole(&self) -> Key {
        self.call ^ self.agent.rotate_left(17)
    }

    /// Points for answers in which only a small part moved.
    fn loose(&self, moving: Option<&Ring<ChangingAnswer>>) -> u32 {
        let known = moving.and_then(|moving| moving.iter().find(|known| known.call == self.whole()));
        known.map_or(0, |known| known.loose)
    }

    /// Whether a different answer is the previous one except for a small moving part; its sketch is kept for the next
    /// comparison. Never after a wait or a new mutation, nor for an answer that failed or says to wait: those may well
    /// change little each time.
    fn moves_a_part(
        &mut self,
        step: &Step,
        result: &ToolResult,
        moving: &mut Option<Box<Ring<ChangingAnswer>>>,
    ) -> bool {
        let waited = self.at.is_past(WAITED, step.at);
        let whole = self.whole();
        let known = moving.as_mut().and_then(|moving| moving.take(|known| known.call == whole));
        if waited || step.mutations_before() != self.mutations || step.facts.failed || step.facts.waiting {
            return false;
        }
        let mut words = Sketch::of(&result.output);
        let little = known.as_ref().is_some_and(|known| known.words.differs_little(&mut words));
        let stood = self.points.all > 0 || known.as_ref().is_some_and(|known| known.stood);
        self.flags.note_moves(known.is_some() && !little && !stood && step.previous == self.index);
        let loose = known.map_or(0, |known| known.loose);
        let loose = if little { loose.saturating_add(1) } else { loose / 2 };
        moving.get_or_insert_default().push(ChangingAnswer { call: whole, loose, stood, words }, MOVING);
        little
    }

    /// Records a further occurrence; true if its outcome differs from the previous one. A custom event has no `result`.
    fn recurs(
        &mut self,
        step: &Step,
        call: &Call,
        result: Option<&ToolResult>,
        entries: &Packed<Self>,
        moving: &mut Option<Box<Ring<ChangingAnswer>>>,
    ) -> bool {
        let mut ticks = false;
        let worth = self.worth(step, call, result).or_else(|| {
            ticks = result.is_some_and(|result| self.ticks(step, call, &result.output));
            self.flags.note_moves(ticks);
            ticks.then_some(1)
        });
        let worth = worth.or_else(|| {
            // Another page of a view may differ in its heading only: whether a view moved is up to `no-effect`.
            let result = result.filter(|_| !call.asks.shows())?;
            let little = self.moves_a_part(step, result, moving);
            // A first-time call in between may be why the figures differ, unless its own answers move too.
            let stands = |other: &Self| !moving.iter().any(|all| all.iter().any(|known| known.call == other.whole()));
            (little && !self.new_between(step, entries, &stands)).then_some(1)
        });
        let pictured = step.previous > self.index && call.asks == Asks::Picture && result.is_some_and(unseen);
        let seen = self.sees_news(step);
        let steered = seen && result.is_some_and(|result| call.steers(result));
        // The same call is no repetition if something new was seen each time.
        let differs = call.quiet != Empty::Nothing && Likeness::of(&step.facts).exact != self.likeness.exact;
        let gets_on = steered || seen && (differs || acts(call, result));
        let full = result.is_some_and(|result| step.leaves_more(result));
        let nothing = pictured || gets_on || full || step.fewer || self.leads_on(step, call, entries);
        // A count may happen to grow like a clock.
        let busy = ticks
            || result.is_some() && worth.is_some() && self.new_between(step, entries, &|other| other.flags.work());
        if steered {
            self.points.all /= 2;
        }
        self.again(step, call, result, worth.map(|points| if nothing { 0 } else { points }), busy);
        worth.is_none()
    }

    /// Updates the entry: `worth` is the occurrence's points, `None` if its outcome differs; `busy` tells whether the
    /// agent did something new in between.
    fn again(&mut self, step: &Step, call: &Call, result: Option<&ToolResult>, worth: Option<u32>, busy: bool) {
        // Figures that changed over a pause, while nothing was done, count as answers that move.
        let figures = step.paused()
            && !call.mutates
            && !step.facts.failed
            && self.likeness.light != Likeness::of(&step.facts).light;
        let (gap, moves) = (self.gap(step), self.flags.moves() || worth.is_some() && figures);
        let alone = step.previous == self.index;
        // What changes something does not wait, however slow the agent is.
        let waited = !call.mutates && i64::from(gap) >= if alone { PATIENT } else { ASLEEP };
        let mut flags = Flags::of(step, call, result, alone, waited);
        flags.note_moves(moves);
        match worth {
            Some(points) => {
                // What has been waited for is waited for still, or the points so far would weigh three times as much.
                flags.note_patient(self.flags.patient() && !flags.failed() && self.points.all >= ADJACENT);
                if busy {
                    self.points.busy = self.points.busy.saturating_add(points as u16);
                }
                self.points.all = self.points.all.saturating_add(points);
                self.points.note_varies(self.likeness.exact != Likeness::of(&step.facts).exact);
                self.times = self.times.saturating_add(1);
                self.sightings.push(step.sighting);
            }
            None => {
                self.points.all /= 2;
                self.points.busy /= 2;
                self.points.note_other();
                // Nothing is left, or what was waited for has arrived or made progress: start over.
                if self.points.all == 0 || self.flags.patient() {
                    *self = Self::first(step, call, result);
                    self.flags.note_moves(moves);
                    return;
                }
                self.sightings.push(step.sighting);
            }
        }
        self.likeness = Likeness::of(&step.facts);
        self.flags = flags;
        self.index = step.index;
        self.mutations = step.mutations_after();
        self.at = step.at.into();
        self.gap = gap;
        self.round = call.round.unwrap_or(0);
    }

    /// What thresholds are multiplied by: more looks at something that is waited for are in order.
    const fn scale(&self) -> u32 {
        if self.flags.patient() || self.flags.moves() { 3 } else { 1 }
    }

    /// Whether the finding is advisory only: the block threshold would not be reached without the `loose` points for
    /// answers with a moving part and those of repeats between which the agent did something new; or the agent waits,
    /// looking once a minute or less often.
    fn is_told(&self, loose: u32, limits: &Limits) -> bool {
        // Looking once a minute at something that is still in progress is how to wait.
        if self.flags.patient() && !self.flags.failed() && i64::from(self.gap) >= PATIENT {
            return limits.nudge != 0;
        }
        let block = limits.block.saturating_mul(self.scale());
        // Only while they are more than half: something new at first does not excuse identical laps later on.
        let busy = u32::from(self.points.busy);
        let soft = loose.saturating_add(if busy * 2 > self.points.all { busy } else { 0 });
        soft > 0 && limits.nudge != 0 && self.points.all.saturating_sub(soft) < block
    }

    fn outlook(&self, loose: u32, view: &View<'_>) -> Outlook {
        let limits = view.limits.times(self.scale());
        if self.is_told(loose, view.limits) {
            view.advisory(&limits, self.points.all)
        } else {
            view.with(&limits, self.points.all)
        }
    }

    /// The signal, if a threshold is reached; `loose` of the points are for answers with a moving part.
    fn signal(&self, call: &Call, custom: bool, loose: u32, cx: &Cx<'_>) -> Option<Signal> {
        let scale = self.scale();
        if !cx.limits.reached_scaled(self.points.all, scale) {
            return None;
        }
        let tool = printable(&call.name, 48);
        let others = u32::from(self.points.others());
        let times = number(self.times.saturating_add(others));
        let each = match others {
            0 => Cow::Borrowed("each time"),
            1 => "all but once".into(),
            _ => ["all but ", &number(others), " times"].concat().into(),
        };
        let varied = if self.points.varies() { ", apart from figures, times or ids" } else { "" };
        let message = if custom {
            ["`", &tool, "` occurred ", &times, " times with the same key, and with the same outcome ", &each, varied]
                .concat()
        } else {
            let came = outcome_words(self.flags.outcome(), self.flags.failed());
            ["`", &tool, "` was called ", &times, " times with the same arguments and gave ", came, " ", &each, varied]
                .concat()
        };
        let words = SignalParts {
            kind: "unchanged-outcome",
            identity: combine("repeated-call", &[self.call, self.agent]),
            count: self.points.all,
            confidence: confidence(self.points.all),
            signature: cx.named(&tool, '#', self.call),
            message,
            instead: if custom {
                "Find out what keeps the outcome as it is and change that, or reach the goal in another way."
            } else if scale > 1 && i64::from(self.gap) >= PATIENT {
                "Find out whether what you are waiting for is still alive, or stop waiting."
            } else if scale > 1 {
                "Wait longer between looks (after five minutes without any call, one is not refused), or find out whether it is still alive."
            } else if self.flags.failed() {
                "Read what the outcome says and change what it complains about, or reach the goal with another tool."
            } else {
                "Use the answer you already have or do what it asks for, or ask for something it does not contain."
            },
            recommendation: Recommendation::ChangeApproach,
            halt_reason: if self.flags.failed() { HaltReason::RepeatedError } else { HaltReason::Stalled },
        };
        let signal = words.signal(self.onset, self.sightings.iter().copied().collect());
        Some(foreseen(Signal { scale, ..signal }, ADJACENT, self.is_told(loose, cx.limits), cx))
    }
}

/// Whether a call acts rather than asks: its answer is an acknowledgement, equal for one thing after another. Calls
/// that end the work do not count: work ends once.
fn acts(call: &Call, result: Option<&ToolResult>) -> bool {
    let acknowledges = || match call.quiet {
        Empty::Nothing => false,
        Empty::Blank => true,
        Empty::All | Empty::List | Empty::Null => result.is_some_and(|result| result.output.len() < PAGE),
    };
    (call.mutates || call.asks.shows() || call.target.is_none() && acknowledges()) && !ends(&call.name)
}

/// Whether a text lists figures: several of its lines hold one.
fn lists_figures(text: &str) -> bool {
    let holds = |line: &&str| line.bytes().any(|byte| byte.is_ascii_digit());
    text.lines().filter(holds).nth(ROWS - 1).is_some()
}

/// Whether a result may be a different image each time: nothing in it identifies the image.
fn unseen(result: &ToolResult) -> bool {
    let told = result.digest.is_some() || result.state.is_some() || result.details.is_some();
    let mut words = result.output.split(|char: char| !char.is_alphanumeric());
    !told && result.output.len() < PAGE && words.all(|word| word.len() < DIGEST)
}

/// Confidence in per mille: 696 at six points, and at most 980, from twenty-four on.
fn confidence(points: u32) -> u16 {
    capped_confidence((600, 16, 24), points).min(980)
}

impl Rule for RepeatedCall {
    const ID: &'static str = "repeated-call";
    const ABOUT: &'static str = "The same call with the same outcome, in a row or with other work in between.";
    const UNIT: &'static str = "points";
    const LIMITS: Limits = Limits::ladder(6, 12, 24, 32);
    const MAX_WINDOW: u32 = 256;
    const SEES: Facts = Facts::CALL.and(Facts::STEP).and(Facts::CUSTOM);
    const LOOKS_AHEAD: bool = true;
    type State = State;

    fn ahead(state: &State, call: &Call, cx: &Cx<'_>) -> Option<Signal> {
        let entry = state.entries.find(mark(call.key), |entry| entry.is_of(call.key, call.agent))?;
        // The distance is counted as if the call ran now.
        if cx.run.steps.saturating_add(1).saturating_sub(entry.index) > u64::from(cx.limits.window) {
            return None;
        }
        entry.signal(call, false, entry.loose(state.moving.as_deref()), cx)
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let window = u64::from(cx.limits.window);
        match fact {
            Fact::Step(step, _) | Fact::Custom(step) => {
                let custom = matches!(fact, Fact::Custom(_));
                let State { entries, customs, moving } = state;
                let entries = if custom { &mut **customs.get_or_insert_default() } else { entries };
                let call = step.call.as_ref()?;
                let result = if let Fact::Step(_, result) = fact { Some(*result) } else { None };
                // A different outcome is flagged no more than a first occurrence.
                let mut is_another = false;
                let entry = match entries.take_out(mark(call.key), |entry| entry.is_of(call.key, step.agent)) {
                    Some(entry) if step.index.saturating_sub(entry.index) > window => Entry::first(step, call, result),
                    // Copies of a call within one round are one decision of the agent.
                    Some(entry) if entry.round != 0 && Some(entry.round) == call.round => entry,
                    Some(mut entry) => {
                        is_another = entry.recurs(step, call, result, entries, moving);
                        entry
                    }
                    None => Entry::first(step, call, result),
                };
                let loose = if custom { 0 } else { entry.loose(moving.as_deref()) };
                let signal = if is_another { None } else { entry.signal(call, custom, loose, cx) };
                entries.push(&entry, ENTRIES);
                signal
            }
            _ => None,
        }
    }

    fn outlook(state: &State, view: &View<'_>) -> Outlook {
        let window = u64::from(view.limits.window);
        let recent = |entry: &Entry| view.steps.saturating_add(1).saturating_sub(entry.index) <= window;
        let customs = state.customs.iter().flat_map(|customs| customs.iter()).filter(recent);
        let calls = state.entries.iter().filter(recent);
        let calls = calls.map(|entry| entry.outlook(entry.loose(state.moving.as_deref()), view));
        Outlook::of_all(calls.chain(customs.map(|entry| entry.outlook(0, view))))
    }

    fn fits(state: &State) -> bool {
        state.entries.len() <= ENTRIES
            && state.customs.iter().all(|customs| customs.len() <= ENTRIES)
            && state.moving.iter().all(|moving| moving.len() <= MOVING && moving.iter().all(|known| known.words.fits()))
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge, Observe};
    use crate::rules::testing::{Script, alone, events, pair, step};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "repeated-call";

    #[test]
    fn in_a_row() {
        let levels = [
            (5, Nudge),
            (6, Observe),
            (7, Observe),
            (8, Observe),
            (9, Block),
            (10, Block),
            (11, Block),
            (12, Block),
            (13, Block),
            (14, Block),
            (15, Block),
            (16, Block),
            (17, Halt),
        ];
        Script::new(r#"{"rules":{"repeated-error":{"enabled":false}}}"#)
            .play("a:x a:x a:x a:x a:x a:x a:x a:x a:x")
            .expect(RULE, &levels);
    }

    #[test]
    fn a_form_for_one_record_after_another() {
        let form = |opens: &str, fields: &[&str], sends: [&str; 2], value: &dyn Fn(usize) -> usize| {
            let click =
                |button: &str, answer: &str| step("", "page_click", &format!(r#"{{"button":"{button}"}}"#), answer);
            let record = |turn: usize| {
                let entered = fields.iter().map(|field| {
                    let args = format!(r#"{{"field":"{field}","text":"No. {}"}}"#, value(turn));
                    step("", "page_type", &args, &format!("Typed into {field}"))
                });
                let mut record = Vec::from([click(opens, "A blank form is shown")]);
                record.extend(entered);
                record.push(click(sends[0], sends[1]));
                record
            };
            events("{}", (0..12).flat_map(record).flatten())
        };
        let barge = |value: &dyn Fn(usize) -> usize| form("Add barge", &["berth", "draught"], ["Moor", "Saved"], value);
        barge(&|turn| 100 + 7 * turn).expect(RULE, &[]);
        barge(&|_| 107).strongest(RULE, Block);
        // One value after another is tried.
        form("Unlock", &["code"], ["Open", "The gate is locked"], &|turn| 100 + 7 * turn).strongest(RULE, Block);
    }

    #[test]
    fn a_clock_in_an_answer_is_no_progress() {
        // Looks that are 13 to 17 seconds apart; a call and its result take two of them.
        let looks = |times: usize, answer: &dyn Fn(usize) -> String| {
            let (mut script, mut at) = (String::new(), 0);
            for turn in 0..times {
                let pause = 11 + turn * turn % 5;
                at += pause + 2;
                script += &format!("@{pause} job:{} ", answer(at));
            }
            Script::new("{}").play(&script)
        };
        let look = |answer: &dyn Fn(usize) -> String| looks(24, answer);
        let held = |at: usize| format!("held_{}_on_quay_7", 340 + at);
        assert_eq!(look(&held).found(RULE).first(), Some(&(37, Nudge)));
        // It never blocks, since a count may happen to grow as fast.
        looks(48, &held).strongest(RULE, Nudge);
        look(&|at| format!("held_{}_on_quay_7", at * 1000)).strongest(RULE, Nudge);
        // One that says how far something is, is no clock; nor is one in a long answer, which may tell more below.
        look(&|at| format!("crate_{at}_of_5000_is_aboard")).expect(RULE, &[]);
        let stages = ["loaded", "lashed", "weighed", "sealed", "cleared"];
        let below = |at: usize| format!("held_{at}_on_quay_7_{}{}", "while_".repeat(50), stages[at % 5]);
        look(&below).expect(RULE, &[]);
        // Something else grows, or faster, or slower.
        for grows in [|at| at * 5 / 6, |at| at * 5 / 4, |at| at / 15, |at| at + at / 5] {
            look(&|at| format!("held_{}_on_quay_7", 340 + grows(at))).expect(RULE, &[]);
        }
    }

    #[test]
    fn refused_and_made_again() {
        // The ninth call halts whether the host runs them (above) or refuses them from the sixth on.
        let ran = "a:x a:x a:x a:x a:x ";
        let play = |rest: &str| Script::new("{}").play(&(String::from(ran) + rest));
        let refused = [(5, Nudge), (6, Observe), (7, Observe), (8, Observe), (9, Block), (10, Block), (12, Block)];
        let halted = [&refused[..], &[(14, Block), (16, Halt), (18, Halt)]].concat();
        play("a~ a~ a~ a~ a~").expect(RULE, &halted);
        // Other calls in between change nothing, nor does a check before the call.
        play("a~ b:1 a~ c:2 a~ d:3 ?a").last(RULE, Halt);
        play("a~ a~ ?a").last(RULE, Block);
        // Some refused, some run: those that ran count by their outcome.
        play("a~ a:x ?a").last(RULE, Block);
        play("a~ a:x a~ ?a").last(RULE, Halt);
        // Copies within a round are one attempt; a new change makes the next call a new attempt.
        play("#1 a~ a~ a~ a~ a~").strongest(RULE, Block);
        play("#1 a~ #2 a~ #3 a~ #4 a~").last_but_one(RULE, Halt);
        play("a~ *1 a~ *2 a~ *3 a~ *4 a~").strongest(RULE, Block);
        // A human's message starts a new evidence window.
        play("a~ a~ a~ | a:x ?a").last_silent(RULE);
        // In shadow mode nothing is refused, or not because of the verdict.
        let shadow = Script::new(r#"{"mode":"shadow"}"#).play(&"a:x ".repeat(9));
        let would_be = shadow.found(RULE).last().copied();
        assert_eq!(would_be, Some((17, Halt)));
        assert_eq!(shadow.found(RULE).iter().filter(|(_, level)| *level == Halt).count(), 1);
        // Below a block there is no refusal to insist against, and without a rung above it the level stays.
        Script::new("{}").play("a:x a:x a:x a~ a~ a~ a~ a~ a~").strongest(RULE, Nudge);
        let no_halt = r#"{"rules":{"repeated-call":{"halt":0}}}"#;
        Script::new(no_halt).play(&(String::from(ran) + &"a~ ".repeat(9))).strongest(RULE, Block);
    }

    #[test]
    fn with_other_work_between() {
        // Four times with one other call between each is a nudge; three times is not yet.
        Script::new("{}").play("a:x b:1 a:x c:2 a:x d:3").expect(RULE, &[]);
        Script::new("{}").play("a:x b:1 a:x c:2 a:x d:3 a:x").strongest(RULE, Nudge);
    }

    /// Calls with their answers: tool, arguments, answer.
    fn calls(calls: impl IntoIterator<Item = (&'static str, String, String)>) -> crate::rules::testing::Played {
        events("{}", calls.into_iter().flat_map(|(tool, args, answer)| pair(tool, &args, "ok", &answer)))
    }

    #[test]
    fn pictures_that_nobody_described() {
        let seen = |between: bool, picture: &'static str| {
            let rounds = (0..12).flat_map(move |at| {
                let click = format!(r#"{{"action":"left_click","coordinate":[{},{}]}}"#, at * 31, at * 17);
                let look = ("computer", r#"{"action":"screenshot"}"#.into(), picture.into());
                [between.then(|| ("computer", click, "ok".into())), Some(look)]
            });
            calls(rounds.flatten())
        };
        seen(true, "[image]").expect(RULE, &[]);
        seen(true, "Screenshot taken").expect(RULE, &[]);
        // The same image by its digest; nothing done in between.
        seen(true, "[image 8f14e45fceea167a]").strongest(RULE, Block);
        seen(false, "[image]").last(RULE, Halt);
    }

    #[test]
    fn a_page_between_those_it_leads_to() {
        let page = |name: &str| format!("{name}: {}", "berths, tides, tolls and pilots of the harbour. ".repeat(6));
        let get =
            |path: String, text: String| ("fetch", format!(r#"{{"url":"https://harbour.example/{path}"}}"#), text);
        let walk = |pages: usize| {
            calls((0..16).flat_map(move |at| {
                let name = format!("{}", at % pages);
                [get("list".into(), page("list")), get(name.clone(), page(&name))]
            }))
        };
        walk(16).expect(RULE, &[]);
        walk(2).strongest(RULE, Halt);
    }

    /// Findings on a call made thirty times, `gap` milliseconds apart: the occurrence and the level.
    fn watched(gap: usize, answer: impl Fn(usize) -> String) -> Vec<(usize, crate::model::Level)> {
        let mut detector = crate::json::detector("{}").unwrap();
        let mut found = Vec::new();
        for n in 0..30 {
            let at = 1_760_000_000_000 + gap * n;
            let head = format!(r#""tool":"board","at":{at}"#);
            for event in [
                format!(r#"{{"type":"tool-call",{head},"args":{{"of":"harbour"}}}}"#),
                format!(r#"{{"type":"tool-result",{head},"outcome":"ok","output":"{}"}}"#, answer(n)),
            ] {
                let verdict = detector.record(&crate::json::event(&event).unwrap()).unwrap();
                found.extend(
                    verdict.findings.iter().filter(|finding| finding.rule == RULE).map(|finding| (n, finding.level)),
                );
            }
        }
        found
    }

    #[test]
    fn a_part_of_the_answer_moves() {
        let words = ["kestrel", "gravel", "lantern", "orchard", "violin", "saddle", "pepper", "marble", "anchor"];
        let tip = |n: usize| format!("Two parcels wait at the office by the gate. Word of this hour: {}", words[n % 9]);
        let told = watched(2_000, tip);
        // The second answer differs; six after it that differ little add up to a nudge, and never to a block.
        assert_eq!(told.first(), Some(&(7, Nudge)));
        assert!(told.iter().all(|(_, level)| *level <= Nudge), "{told:?}");
        // Not after a wait, nor for a state in a few words or a different text each time.
        assert_eq!(watched(30_000, tip), []);
        assert_eq!(watched(2_000, |n| format!("stage: {}", words[n % 9])), []);
        let other = |n: usize| {
            (0..12).map(|at| format!("{}{} ", words[(n + at) % 9], words[(n * 7 + at * 5) % 9])).collect::<String>()
        };
        assert_eq!(watched(2_000, other), []);
    }

    #[test]
    fn a_part_of_every_piece_of_work() {
        let rows =
            ["ash", "bay", "cay", "dew", "elm", "fen", "gar", "hay", "ivy", "jay", "kay", "lea", "may", "nab", "oak"];
        let work = |rows: &[&str]| rows.iter().map(|row| format!("open/={row}:{row} back:list ")).collect::<String>();
        // Each row is a new one: a nudge, and never a block.
        Script::new("{}").play(&work(&rows)).strongest(RULE, Nudge);
        // The same rows over and over are no new work, nor are failing rows, another agent's rows or noted thoughts.
        let known = work(&rows[..2]).repeat(7);
        Script::new("{}").play(&known).strongest(RULE, Halt);
        let fails = |row: &&str| format!("open/={row}!{row} back:list ");
        Script::new("{}").play(&rows.iter().map(fails).collect::<String>()).strongest(RULE, Halt);
        let other = |row: &&str| format!("^1 open/={row}:{row} ^2 back:list ");
        Script::new("{}").play(&rows.iter().map(other).collect::<String>()).strongest(RULE, Halt);
        let thought = |row: &&str| format!("think/{row}:noted back:list ");
        Script::new("{}").play(&rows.iter().map(thought).collect::<String>()).strongest(RULE, Halt);
    }

    #[test]
    fn after_new_edits() {
        // A failing check re-run after each of six new edits is a nudge at the seventh; after five it is not.
        Script::new("{}").play("a!x *1 a!x *2 a!x *3 a!x *4 a!x *5 a!x").expect(RULE, &[]);
        Script::new(&alone(RULE)).play("a!x *1 a!x *2 a!x *3 a!x *4 a!x *5 a!x *6 a!x").strongest(RULE, Nudge);
        // A check that keeps passing is no loop at all.
        Script::new("{}").play("a:x *1 a:x *2 a:x *3 a:x *4 a:x *5 a:x *6 a:x *7 a:x *8 a:x").expect(RULE, &[]);
        // The same edit again is nothing new.
        Script::new(&alone(RULE)).play("a!x *1 a!x *1 a!x *1 a!x *1 a!x").strongest(RULE, Nudge);
    }

    #[test]
    fn a_changed_outcome_halves() {
        Script::new("{}").play("a:x a:x a:y a:y a:z a:z a:w a:w").expect(RULE, &[]);
        Script::new("{}").play("a:p1 a:p2 a:p3 a:p4 a:p5 a:p6 a:p7 a:p8").expect(RULE, &[]);
    }

    #[test]
    fn honest_repetition() {
        // Other arguments, a minute's wait, a human's message, a tool declared to poll.
        Script::new("{}").play("a:x b:x c:x d:x e:x f:x").expect(RULE, &[]);
        Script::new("{}").play("a:x @61 a:x @61 a:x @61 a:x @61 a:x @61 a:x").expect(RULE, &[]);
        Script::new("{}").play("a:x a:x | a:x a:x").expect(RULE, &[]);
        Script::new(r#"{"tools":{"re*":{"polling":true}}}"#).play("a:x a:x a:x a:x a:x a:x").expect(RULE, &[]);
    }

    #[test]
    fn statements_that_reach_their_limit() {
        let statement = "DELETE FROM tides WHERE id IN (SELECT id FROM tides WHERE day < '2020' LIMIT 1000)";
        let of = |answer: &'static str, times: usize| {
            let args = [
                ("execute_sql", format!(r#"{{"sql":"{statement}"}}"#)),
                ("bash", format!(r#"{{"command":"psql -d harbour -c \"{statement}\""}}"#)),
            ];
            args.map(|(tool, args)| calls((0..times).map(|_| (tool, args.clone(), String::from(answer)))))
        };
        of("DELETE 1000", 12).iter().for_each(|played| played.expect(RULE, &[]));
        of("DELETE 0", 5).iter().for_each(|played| played.strongest(RULE, Block));
    }

    #[test]
    fn waiting_as_told() {
        let polled = |pause: &str, times: usize| {
            let config = r#"{"tools":{"re*":{"polling":true}}}"#;
            Script::new(config).play(&alloc::format!("a:x {pause} ").repeat(times))
        };
        // At most one point each from ten seconds on and two from five, with tripled thresholds.
        polled("@10", 18).expect(RULE, &[]);
        polled("@10", 19).last(RULE, Nudge);
        polled("@5", 9).expect(RULE, &[]);
        polled("@5", 10).last(RULE, Nudge);
        polled("@1", 7).last(RULE, Nudge);
        // An answer that says to wait: at most two points each.
        let waits = |pause: &str, times: usize| Script::new("{}").play(&format!("a:building {pause} ").repeat(times));
        waits("@5", 18).expect(RULE, &[]);
        waits("@5", 19).last(RULE, Nudge);
        waits("@1", 9).expect(RULE, &[]);
        waits("@1", 10).last(RULE, Nudge);
    }

    #[test]
    fn looks_at_a_state() {
        let looks = |tool: &'static str, args: &'static str, answer: &'static str, times: usize| {
            calls((0..times).map(move |_| (tool, String::from(args), String::from(answer))))
        };
        // The tool's name or the program shows a state that may change by itself: the seventh look is flagged.
        for (tool, args) in [("ride_status", r#"{"ride":7}"#), ("bash", r#"{"command":"squeue -j 8"}"#)] {
            looks(tool, args, "driver 3 min away", 6).expect(RULE, &[]);
            looks(tool, args, "driver 3 min away", 7).last(RULE, Nudge);
            // A final state does not change by itself.
            looks(tool, args, "the ride was cancelled", 3).last(RULE, Nudge);
        }
        looks("bash", r#"{"command":"git status"}"#, "On branch main", 3).last(RULE, Nudge);
        // Something else is done in between.
        let between = (0..4).flat_map(|at| {
            [("ride_status", "{}", String::from("driver 3 min away")), ("call_driver", "{}", format!("no answer {at}"))]
        });
        calls(between.map(|(tool, args, answer)| (tool, args.into(), answer))).strongest(RULE, Nudge);
    }

    #[test]
    fn looks_apart() {
        // A read-only call with nothing in between: a repeat is worth one point from twenty seconds on, two from ten.
        let paced = |pause: &str, times: usize| Script::new("{}").play(&format!("a:x {pause} ").repeat(times));
        paced("@20", 6).expect(RULE, &[]);
        paced("@20", 7).last(RULE, Nudge);
        paced("@10", 3).expect(RULE, &[]);
        paced("@10", 4).last(RULE, Nudge);
        paced("@5", 3).last(RULE, Nudge);
    }

    #[test]
    fn pauses() {
        let times = |script: &str, times: usize| Script::new("{}").play(&script.repeat(times));
        // A minute in which nothing was done, also before a look that fails.
        for look in ["a:x @60 ", "a!x @60 "] {
            times(look, 18).expect(RULE, &[]);
        }
        times("a:x @60 ", 19).last(RULE, Nudge);
        times("a!x @60 ", 19).last(RULE, Nudge);
        // Ten seconds if waiting may resolve the failure; two if something was changed before.
        times("a!503_unavailable @12 ", 18).expect(RULE, &[]);
        let after = |count: usize| ["*1 ", &"a!503_unavailable @3 ".repeat(count)].concat();
        Script::new("{}").play(&after(18)).expect(RULE, &[]);
        Script::new("{}").play(&after(19)).last(RULE, Nudge);
        Script::new(&alone(RULE)).play(&"a!503_unavailable @3 ".repeat(7)).last(RULE, Nudge);
    }

    #[test]
    fn a_change_after_a_refusal_may_be_tried_once() {
        let then = |script: &str| Script::new("{}").play(&["a!x a!x a!x a!x a!x a~ ", script].concat());
        then("?a").last(RULE, Block);
        then("*1 ?a").last(RULE, Observe);
        // Nor is the first one refused, if its result was blocked before the change.
        Script::new("{}").play("a!x a!x a!x a!x a!x ?a").last(RULE, Block);
        Script::new("{}").play("a!x a!x a!x a!x a!x *1 ?a").last(RULE, Observe);
        Script::new("{}").play("a!x a!x a!x a!x a!x *1 a!x ?a").last(RULE, Block);
        // Once for each change; a change that was made before is none.
        then("*1 a!x ?a").last(RULE, Block);
        then("*1 a!x a~ *2 ?a").last(RULE, Observe);
        then("*1 a!x a~ *1 ?a").last(RULE, Block);
        // What comes of it counts, so an agent that changes one thing after the other in vain is halted all the same.
        let in_vain: String = (0..30).map(|at| format!("*{at} a!x a~ ")).collect();
        then(&in_vain).strongest(RULE, Halt);
    }

    #[test]
    fn a_look_after_a_long_pause_is_not_refused() {
        let blocked = "a!503_unavailable @3 ".repeat(16);
        let then = |script: &str| Script::new("{}").play(&[&blocked, script].concat());
        then("?a").last(RULE, Block);
        then("@240 ?a").last(RULE, Block);
        then("@300 ?a").last(RULE, Observe);
        // After it was refused again and again, too; and each further look after such a pause. Sooner ones are refused.
        then("a~ @300 ?a").last(RULE, Observe);
        let looks = then(&"@400 a!503_unavailable ".repeat(30));
        assert!(looks.found(RULE).iter().all(|(at, level)| *at < 32 || *level <= Nudge), "{:?}", looks.found(RULE));
        then("@400 a!503_unavailable a!503_unavailable ?a").last(RULE, Block);
        // A sleep is a pause, also without a clock; a change that is made again is not a look.
        let look = || pair("read", r#"{"path":"a"}"#, "error", "503 unavailable");
        let slept = |seconds: usize| {
            let sleep = pair("bash", &format!(r#"{{"command":"sleep {seconds}"}}"#), "ok", "");
            let again = look().into_iter().take(1);
            events("{}", (0..16).flat_map(|_| look()).chain(sleep).chain(again))
        };
        slept(200).last(RULE, Block);
        slept(300).last(RULE, Observe);
        let written = Script::new("{}").play(&["*1 ".repeat(8), String::from("@900 *1")].concat());
        assert!(written.found(RULE).contains(&(16, Block)), "{:?}", written.found(RULE));
    }

    #[test]
    fn what_was_waited_for() {
        // It arrives: that is not flagged, and what came before it no longer counts.
        for times in [5, 9, 17] {
            let waited = format!("{}a:live a:live", "a:building @6 ".repeat(times));
            Script::new("{}").play(&waited).expect(RULE, &[]);
        }
        let steps = format!("{}{}a:live", "a:queued @2 ".repeat(8), "a:building @2 ".repeat(8));
        Script::new("{}").play(&steps).expect(RULE, &[]);
        // A different outcome is not flagged itself; its first repeat is, with the number of all occurrences.
        let played = Script::new("{}").play("a:x a:x a:x a:x a:x a:x a:y a:y");
        let told: Vec<usize> = played.found(RULE).iter().map(|(at, _)| *at).collect();
        assert!(!told.contains(&13) && told.contains(&15), "{told:?}");
        let messages = played.findings(RULE);
        let message = &messages.last().unwrap().message;
        assert!(
            message.ends_with("called 8 times with the same arguments and gave the same answer all but once"),
            "{message}"
        );
    }

    #[test]
    fn synthetic_messages_end_nothing() {
        Script::new("{}").play("a:x a:x ~ a:x").strongest(RULE, Nudge);
    }

    #[test]
    fn judged_before_the_call_runs() {
        Script::new("{}").play("a:x a:x a:x a:x a:x ?a").last(RULE, Block);
        Script::new("{}").play("a:x a:x a:x a:x a:x ?b").last_silent(RULE);
    }

    #[test]
    fn custom_events() {
        let custom = |key: &str, outcome: &str| {
            let outcome = if outcome.is_empty() { String::new() } else { format!(r#","outcome":"{outcome}""#) };
            format!(r#"{{"type":"custom","name":"state","key":"{key}"{outcome}}}"#)
        };
        let play = |script: &str| {
            let (mut all, pairs) = (Vec::new(), script.split_whitespace().map(|token| token.split_once(':').unwrap()));
            all.extend(pairs.map(|(key, outcome)| custom(key, outcome)));
            events("{}", all)
        };
        let levels = [(2, Nudge), (3, Observe), (4, Block), (5, Block), (6, Block), (7, Block), (8, Halt)];
        play("a:x a:x a:x a:x a:x a:x a:x a:x a:x").expect(RULE, &levels);
        // Without an outcome, nothing is known to be equal: one point less each.
        play("a: a: a:").expect(RULE, &[]);
        play("a: a: a: a:").expect(RULE, &[(3, Nudge)]);
        // Other keys, other outcomes, outcomes that say to wait.
        play("a:x b:x c:x d:x e:x f:x").expect(RULE, &[]);
        play("a:1 a:2 a:3 a:4 a:5 a:6").expect(RULE, &[]);
        play("a:pending a:pending a:pending a:pending").expect(RULE, &[]);
        // Custom events that report a failure or nothing found are no tool calls to other rules.
        let told = play("a:nothing_found b:nothing_found c:error d:error e:denied f:denied g:not_found");
        for rule in ["negative-answers", "repeated-error", "denied-call", "same-answer", "empty-handed"] {
            told.expect(rule, &[]);
        }
        // Custom events between the calls neither separate nor evict them; the calls are some forty seconds apart.
        let mut mixed = Vec::new();
        for lap in 0..7 {
            mixed.extend(pair("read", r#"{"path":"a"}"#, "ok", "the same text"));
            mixed.extend((0..40).map(|n| custom(&format!("page-{lap}-{n}"), "read")));
        }
        events("{}", mixed).expect(RULE, &[(253, Nudge)]);
    }

    #[test]
    fn a_relapse_gets_no_fresh_budget() {
        // Nudged, then different answers until no points are left, then a relapse: the next rung is reached at once.
        Script::new("{}").play("a:x a:x a:x a:1 a:2 a:3 a:y a:y a:y").last(RULE, Block);
    }
}
