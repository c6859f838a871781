//! Lanes: the state of the rules about calls, texts and streams, one for each task that events name.
//!
//! Evidence about calls belongs to one task: what an agent does at another neither hides a loop nor creates one. The
//! lane of the current event lies in the run itself, and most runs never have another; the others are parked beside it.
//! Parked lanes are bounded by the bytes they take, and the heaviest is dropped first: a loop takes little.

use super::news::News;
use super::outputs::Outputs;
use super::{Marks, Ring, Step};
use crate::codec::{Codec, Reader, Weighed, codec, encode};
use crate::rules::States;
use crate::text::{Key, combine, mark};
use alloc::{boxed::Box, sync::Arc, vec::Vec};

/// Mutations remembered, to tell a new change from a repeated one.
const MUTATIONS: usize = 42;
/// Agents with counters, besides the one that acted last.
const WORKERS: usize = 7;
/// Lanes parked at once; the least recently active is dropped first.
const LANES: usize = 32;
/// Bytes that parked lanes may take together in a snapshot: for each, 1 KB of rule state and the counters of an agent.
const LANE_BYTES: usize = LANES * (1024 + 24);
/// Most bytes by which an event is assumed to grow a lane, plus so many for each byte of a text, up to a length.
const GROWTH: usize = 2 * 1024;
const GROWTH_OF_TEXT: usize = 4;
const LONGEST_TEXT: usize = 4 * 1024;

/// The counters of a lane.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// Calls with an outcome.
    pub(crate) steps: u64,
    /// Custom events.
    pub(crate) customs: u32,
    /// Successful changes so far that were not among the latest [`MUTATIONS`].
    pub(crate) new_mutations: u32,
    mutations: Marks,
    /// Long outputs seen.
    pub(crate) outputs: Outputs,
    pub(crate) news: News,
    /// The agent that acted last, and others before it.
    pub(crate) worker: Worker,
    others: Option<Box<Ring<Worker>>>,
}
codec!(struct Counted { steps, customs, new_mutations, mutations, outputs, news, worker, others });

/// Mark (32-bit hash) of an agent; 0 if events name none.
fn agent_mark(agent: Key) -> u32 {
    if agent == 0 { 0 } else { mark(agent) }
}

/// Whose changes may have affected the outcome of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Only its own agent's.
    #[default]
    Own,
    /// Also what others have written, since it runs or checks something.
    Written,
    /// Anybody's, since others do the work.
    All,
}
codec!(enum Visibility { Own: 0, Written: 1, All: 2 });

/// The counters of one agent. Step and event numbers are the low bits of those they are compared with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worker {
    /// Its mark; 0 if events name none.
    agent: u32,
    /// New mutations it made, and how many of them wrote nothing that a program may read.
    mutations: u32,
    unwritten: u16,
    /// Index in the lane of its latest step, and of its latest step with news, with a mark of that step's round; 0 for
    /// none.
    latest: u32,
    pub(crate) news: u32,
    pub(crate) round: u16,
    /// The number among its own events of the one after its latest call, 0 for none, and how many calls came directly
    /// before that call.
    called: u16,
    batch: u8,
    /// Flags: [`ANSWERED`], [`LONG`], [`LONGER`] and [`LONGEST`]; in the bits of [`SLEEPS`], the steps left to which a
    /// sleep applies.
    state: u8,
    /// Distance from its latest step that did more than pass time to its latest step.
    idled: u16,
    /// Low half of the kind of its latest call that entered another value into a field; 0 for none.
    pub(crate) entered: u16,
    /// When a call of any agent last got an outcome: the low 32 bits of the milliseconds, 0 if unknown.
    answered: u32,
}
codec!(struct Worker { agent, mutations, unwritten, latest, news, round, called, batch, state, idled, entered, answered });

/// What is known about an agent when its call gets an outcome.
pub(crate) struct Turn {
    /// Its step before; if this one does more than pass time, the latest that did so too.
    pub(crate) previous: u64,
    pub(crate) slept: bool,
    /// Its counters before this step.
    pub(crate) worker: Worker,
}

/// Mask of the steps left of a sleep, and the initial value: the sleeping step and the next.
const SLEEPS: u8 = 3;
const SLEEP: u8 = 2;
/// At least one of its latest calls got an outcome.
const ANSWERED: u8 = 4;
/// The call slept at least [`PAUSE`], at least [`LONG_PAUSE`], at least [`LONGEST_PAUSE`].
const LONG: u8 = 8;
const LONGER: u8 = 16;
const LONGEST: u8 = 32;
/// Milliseconds of a pause longer than most turns take, and of one during which much may happen.
pub(crate) const PAUSE: u32 = 10_000;
pub(crate) const LONG_PAUSE: u32 = 60_000;
/// Milliseconds of a pause after which a look at something is not refused, whatever came before.
pub(crate) const LONGEST_PAUSE: u32 = 300_000;
/// Milliseconds after which a repeated call counts as having waited for something.
pub(crate) const WAITED: i64 = 20_000;

impl Worker {
    /// Its current step brought something new.
    pub(crate) fn brought_news(&mut self, step: &Step) {
        let round = step.call.as_ref().and_then(|call| call.round);
        (self.news, self.round) = (low(step.index), round.map_or(0, short_mark));
    }

    /// Whether its event number `own` comes directly after its latest call, which is not answered yet.
    const fn goes_on(&self, own: u64) -> bool {
        self.state & ANSWERED == 0 && self.called != 0 && own as u16 == self.called
    }

    /// Its event number `own` is a call that sleeps for `sleeps` milliseconds, 0 for none.
    fn calls(&mut self, own: u64, sleeps: i64) {
        self.batch = if self.goes_on(own) { self.batch.saturating_add(1) } else { 0 };
        self.called = (own as u16).wrapping_add(1);
        if sleeps == 0 {
            self.state &= !ANSWERED;
        } else {
            self.state = SLEEP;
            for (pause, flag) in [(PAUSE, LONG), (LONG_PAUSE, LONGER), (LONGEST_PAUSE, LONGEST)] {
                self.state |= if sleeps >= pause.into() { flag } else { 0 };
            }
        }
    }

    /// The round of a call, by its number among the agent's events. If the host names no rounds, consecutive calls made
    /// before any was answered form one.
    fn round_of(&self, own: u64) -> Option<Key> {
        let first = self.called.wrapping_sub(self.batch.into());
        let of_batch = self.batch > 0 && (own as u16).wrapping_add(1).wrapping_sub(first) <= self.batch.into();
        of_batch.then(|| combine("round", &[self.agent.into(), first.into()]))
    }
}

/// A 16-bit mark of a round; 0 is none.
pub(crate) fn short_mark(round: Key) -> u16 {
    mark(round) as u16
}

/// The low 32 bits of a time in milliseconds, never 0.
fn low_of_time(at: i64) -> u32 {
    (at as u32).max(1)
}

/// The low 32 bits of a number.
const fn low(number: u64) -> u32 {
    number as u32
}

impl Counted {
    /// The counters of the agent that acts now; a forgotten agent starts afresh.
    pub(crate) fn turn_to(&mut self, agent: Key) -> &mut Worker {
        let agent = agent_mark(agent);
        if self.worker.agent != agent {
            let known = self.others.as_mut().and_then(|others| others.take(|other| other.agent == agent));
            let known = known.unwrap_or(Worker { agent, ..Worker::default() });
            let next = Worker { answered: self.worker.answered, ..known };
            let before = core::mem::replace(&mut self.worker, next);
            if before.called != 0 || before.latest != 0 {
                self.others.get_or_insert_default().push(before, WORKERS);
            }
        }
        &mut self.worker
    }

    /// An agent's event number `own` is a call that sleeps for `sleeps` milliseconds, 0 for none.
    pub(crate) fn calls(&mut self, agent: Key, own: u64, sleeps: i64) {
        self.turn_to(agent).calls(own, sleeps);
    }

    /// An agent's event number `own` is the host's own: calls before and after it may be one round.
    pub(crate) fn passes(&mut self, agent: Key, own: u64) {
        let agent = agent_mark(agent);
        let others = self.others.iter_mut().flat_map(|others| others.iter_mut());
        let mut all = core::iter::once(&mut self.worker).chain(others);
        if let Some(worker) = all.find(|worker| worker.agent == agent && worker.goes_on(own)) {
            (worker.called, worker.batch) = ((own as u16).wrapping_add(1), worker.batch.saturating_add(1));
        }
    }

    /// The round of an agent's call if its host names none.
    pub(crate) fn round_of(&mut self, agent: Key, own: u64) -> Option<Key> {
        self.turn_to(agent).round_of(own)
    }

    /// Milliseconds before this time in which no call of the task got an outcome, or during which the agent slept; 0 if
    /// unknown.
    pub(crate) fn pause(&self, agent: Key, at: Option<i64>) -> u32 {
        let answered = self.worker.answered;
        let clock = at.filter(|_| answered != 0).map_or(0, |at| low_of_time(at).wrapping_sub(answered));
        // A clock that was set back says nothing.
        let clock = if clock > u32::MAX / 2 { 0 } else { clock };
        let state = self.of(agent).map_or(0, |worker| worker.state);
        clock.max(match state {
            _ if state & SLEEPS == 0 => 0,
            _ if state & LONGEST != 0 => LONGEST_PAUSE,
            _ if state & LONGER != 0 => LONG_PAUSE,
            _ if state & LONG != 0 => PAUSE,
            _ => 0,
        })
    }

    /// The counters of an agent, unless it was forgotten.
    fn of(&self, agent: Key) -> Option<&Worker> {
        let agent = agent_mark(agent);
        let others = self.others.iter().flat_map(|others| others.iter());
        core::iter::once(&self.worker).chain(others).find(|worker| worker.agent == agent)
    }

    /// An agent's call got an outcome; `idles` if it only passed time.
    pub(crate) fn step(&mut self, agent: Key, at: Option<i64>, idles: bool) -> Turn {
        self.steps = self.steps.saturating_add(1);
        let steps = low(self.steps);
        let worker = self.turn_to(agent);
        let before = *worker;
        let acted = before.latest.saturating_sub(before.idled.into());
        let left = before.state & SLEEPS;
        worker.latest = steps;
        worker.state = left.saturating_sub(1) | before.state & (LONG | LONGER | LONGEST) | ANSWERED;
        worker.idled = if idles { u16::try_from(steps.wrapping_sub(acted)).unwrap_or(u16::MAX) } else { 0 };
        worker.answered = at.map_or(0, low_of_time);
        Turn { previous: if idles { before.latest } else { acted }.into(), slept: left > 0, worker: before }
    }

    /// Records a successful change; true if it is not among the latest ones.
    pub(crate) fn mutation(&mut self, key: Key, agent: Key, writes: bool) -> bool {
        let change = mark(key);
        let new = !self.mutations.holds(change);
        self.mutations.push(change, MUTATIONS);
        if !new {
            return false;
        }
        self.new_mutations = self.new_mutations.saturating_add(1);
        let worker = self.turn_to(agent);
        worker.mutations = worker.mutations.saturating_add(1);
        worker.unwritten = worker.unwritten.saturating_add((!writes).into());
        true
    }

    /// New mutations that a call of the current agent may have seen.
    pub(crate) fn seen(&self, sees: Visibility) -> u64 {
        let others = self.others.iter().flat_map(|others| others.iter());
        match sees {
            Visibility::Own => self.worker.mutations.into(),
            Visibility::Written => {
                let unwritten = others.fold(0, |sum, other| other.unwritten.saturating_add(sum));
                self.new_mutations.saturating_sub(unwritten.into()).into()
            }
            Visibility::All => self.new_mutations.into(),
        }
    }

    /// New mutations made by an agent itself.
    pub(crate) fn mutations_of(&self, agent: Key) -> u64 {
        self.of(agent).map_or(0, |worker| worker.mutations.into())
    }

    /// Whether a change was made before, with another one since.
    pub(crate) fn remakes(&self, key: Key) -> bool {
        let mark = mark(key);
        self.mutations.latest() != Some(mark) && self.mutations.holds(mark)
    }

    /// The counters that a call is judged by; no call is compared with outputs.
    pub(super) fn before_call(&self) -> Self {
        Self {
            mutations: self.mutations.clone(),
            others: self.others.clone(),
            outputs: Outputs::default(),
            news: News::default(),
            ..*self
        }
    }

    pub(crate) fn fits(&self) -> bool {
        self.others.iter().all(|others| others.len() <= WORKERS)
            && self.mutations.len() <= MUTATIONS
            && self.outputs.fits()
            && self.news.fits()
    }
}

/// Whose a lane is, and how much it holds.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// 0 if events name no task.
    task: Key,
    /// The parent task; 0 for none.
    parent: Key,
    /// Event time of the latest event.
    at: Option<i64>,
    /// Upper bound on its encoded bytes.
    weight: u32,
    /// Something was added since it was last weighed.
    grown: bool,
    /// It may contain evidence.
    heard: bool,
}
codec!(struct Lane { task, parent, at, weight, grown, heard });

impl Lane {
    fn is_of(&self, task: Key) -> bool {
        self.task == task || (task != 0 && self.parent == task)
    }

    fn grow(&mut self, text: usize) {
        let bytes = GROWTH + GROWTH_OF_TEXT * text.min(LONGEST_TEXT);
        self.weight = self.weight.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        (self.grown, self.heard) = (true, true);
    }
}

#[derive(Clone, Debug, Default)]
struct Parked {
    lane: Lane,
    counted: Counted,
    /// State of the rules that keep evidence by lane; the others are empty here. Shared, since `check` copies a run but
    /// needs only one lane.
    rules: Weighed<Shared>,
}

/// Copy-on-write.
#[derive(Clone, Debug, Default)]
struct Shared(Arc<States>);

impl Codec for Shared {
    const SIZE: usize = 8;

    fn heap(&self) -> usize {
        States::SIZE + self.0.heap()
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.0.put_lane(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        Self(Arc::new(States::take_lane(from)))
    }
}

codec!(struct Parked { lane, counted, rules });

impl Parked {
    /// Its exact encoded size in bytes.
    fn weigh(&mut self) -> usize {
        if self.lane.grown {
            self.lane.grown = false;
            self.lane.weight = u32::try_from(encode(self).len()).unwrap_or(u32::MAX);
        }
        self.lane.weight as usize
    }
}

/// The lanes of a run in which an event named a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    /// The current lane, whose evidence is in the run itself.
    here: Lane,
    /// The most recently active is last.
    parked: Ring<Parked>,
    /// Calls with an outcome in lanes that were dropped.
    gone: u64,
    /// Lanes dropped to make room.
    lost: u64,
}
codec!(struct Lanes { here, parked, gone, lost });

/// A run's lanes; `None` until an event names a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks(Option<Box<Lanes>>);
codec!(struct Tasks(_));

/// The evidence of the current lane, which lies in the run.
pub(crate) struct CurrentLane<'a> {
    pub(crate) counted: &'a mut Counted,
    pub(crate) rules: &'a mut States,
}

impl Tasks {
    /// Task of the current lane; 0 for none.
    pub(crate) fn here(&self) -> Key {
        self.0.as_ref().map_or(0, |lanes| lanes.here.task)
    }

    /// For judging a call of `task` on a copy: lanes of which only that of the task is left, its counters, and the
    /// evidence that it is compared with, `None` for a new lane. The other lanes are counted, but not kept.
    pub(crate) fn before_call<'a>(
        &'a self,
        counted: &'a Counted,
        rules: &'a States,
        task: Key,
    ) -> (Self, Counted, Option<&'a States>) {
        if self.0.is_none() && task == 0 {
            return (Self(None), counted.before_call(), Some(rules));
        }
        let (here, parked) = match &self.0 {
            Some(lanes) if lanes.here.task == task => (Some((&lanes.here, counted, rules)), None),
            Some(lanes) => (None, lanes.parked.iter().find(|parked| parked.lane.task == task)),
            None => (None, None),
        };
        let of_parked = parked.map(|parked| (&parked.lane, &parked.counted, &*parked.rules.0));
        let (lane, own, evidence) = match here.or(of_parked) {
            Some((lane, counted, rules)) => (*lane, counted.before_call(), Some(rules)),
            None => (Lane { task, ..Lane::default() }, Counted::default(), None),
        };
        let all = self.steps().saturating_add(counted.steps);
        let lanes = Lanes { here: lane, gone: all.saturating_sub(own.steps), ..Lanes::default() };
        (Self(Some(Box::new(lanes))), own, evidence)
    }

    /// Whether the lane of a task has been idle.
    pub(crate) fn any_idle(&self, idle: impl Fn(Option<i64>) -> bool) -> bool {
        self.0.iter().flat_map(|lanes| lanes.all()).any(|lane| lane.task != 0 && idle(lane.at))
    }

    /// Whether any event named a task, so that the current lane may not be the one of task 0.
    pub(crate) fn are_several(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the lane of a task is current or parked.
    pub(crate) fn knows(&self, task: Key) -> bool {
        match &self.0 {
            Some(lanes) => lanes.here.task == task || lanes.parked.iter().any(|parked| parked.lane.task == task),
            None => task == 0,
        }
    }

    /// Makes the lane of a task current. `text` is the length in bytes of the current event's text.
    pub(crate) fn enter(
        &mut self,
        here: CurrentLane<'_>,
        task: Key,
        parent: Option<Key>,
        now: Option<i64>,
        text: usize,
    ) {
        if task == 0 && self.0.is_none() {
            return;
        }
        let lanes = self.0.get_or_insert_with(|| {
            let mut lanes = Box::<Lanes>::default();
            // How much it already holds is unknown.
            (lanes.here.weight, lanes.here.grown, lanes.here.heard) = (u32::MAX, true, true);
            lanes
        });
        if lanes.here.task != task {
            lanes.change(here, task);
        }
        lanes.here.parent = parent.filter(|parent| *parent != task).unwrap_or(lanes.here.parent);
        lanes.here.at = now.or(lanes.here.at);
        lanes.here.grow(text);
    }

    /// Every task with a lane, and 0 last; entering them in this order leaves the order of the lanes unchanged.
    pub(crate) fn all(&self) -> Vec<Key> {
        let named = self.0.iter().flat_map(|lanes| lanes.all()).map(|lane| lane.task).filter(|task| *task != 0);
        named.chain(core::iter::once(0)).collect()
    }

    /// A new change in a subtask also counts for its parent.
    pub(crate) fn changed(&mut self) {
        let Some(lanes) = self.0.as_mut() else { return };
        let whole = lanes.here.parent;
        for parked in lanes.parked.iter_mut().filter(|parked| whole != 0 && parked.lane.task == whole) {
            parked.counted.new_mutations = parked.counted.new_mutations.saturating_add(1);
        }
    }

    /// Ends the evidence from before a step forward, in the lanes of a task and its parent, or in all for task 0.
    pub(crate) fn advance(&mut self, here: &mut States, task: Key, parent: Option<Key>) {
        let forward = |lane: &Lane| task == 0 || lane.task == task || Some(lane.task) == parent;
        let Some(lanes) = self.0.as_mut() else {
            if task == 0 {
                here.advance();
            }
            return;
        };
        if forward(&lanes.here) {
            here.advance();
        }
        for parked in lanes.parked.iter_mut().filter(|parked| forward(&parked.lane)) {
            parked.rules.change(|rules| Arc::make_mut(&mut rules.0).advance());
            parked.lane.grown = true;
        }
    }

    /// Drops from the parked lanes what a human's message ends.
    pub(crate) fn forget_evidence(&mut self, prompted: bool) {
        for parked in self.0.iter_mut().flat_map(|lanes| lanes.parked.iter_mut()) {
            parked.rules.change(|rules| Arc::make_mut(&mut rules.0).forget(prompted));
            parked.lane.grown = true;
        }
    }

    /// Drops the lanes of a task and its subtasks, or all lanes.
    pub(crate) fn drop_task(&mut self, here: CurrentLane<'_>, task: Option<Key>) {
        let Some(lanes) = self.0.as_mut() else {
            if task.is_none_or(|task| task == 0) {
                here.rules.forget_lane();
            }
            return;
        };
        lanes.drop_if(here, |lane| task.is_none_or(|task| lane.is_of(task)));
    }

    /// Drops the idle lanes, except that of task 0, which is the run's.
    pub(crate) fn drop_idle(&mut self, here: CurrentLane<'_>, idle: impl Fn(Option<i64>) -> bool) {
        let Some(lanes) = self.0.as_mut() else { return };
        lanes.drop_if(here, |lane| lane.task != 0 && idle(lane.at));
    }

    /// Calls with an outcome in all lanes but the current one.
    pub(crate) fn steps(&self) -> u64 {
        self.0.iter().fold(0, |sum, lanes| {
            lanes
                .parked
                .iter()
                .fold(lanes.gone.saturating_add(sum), |sum, parked| sum.saturating_add(parked.counted.steps))
        })
    }

    /// The evidence of every lane, with its task and parent task.
    pub(crate) fn evidence<'a>(
        &'a self,
        here: &'a States,
        counted: &'a Counted,
    ) -> impl Iterator<Item = (Key, Key, &'a States, &'a Counted)> {
        let (task, parent) = self.0.as_ref().map_or((0, 0), |lanes| (lanes.here.task, lanes.here.parent));
        let parked = self.0.iter().flat_map(|lanes| lanes.parked.iter());
        let parked = parked.map(|parked| (parked.lane.task, parked.lane.parent, &*parked.rules.0, &parked.counted));
        core::iter::once((task, parent, here, counted)).chain(parked)
    }

    pub(crate) fn take_lost(&mut self) -> u64 {
        self.0.as_mut().map_or(0, |lanes| core::mem::take(&mut lanes.lost))
    }

    pub(crate) fn fits(&self) -> bool {
        self.0.iter().all(|lanes| {
            // Twice the cap, since the growth by an event is only estimated.
            let kept = lanes.parked.iter().map(|parked| encode(parked).len()).fold(0, usize::saturating_add);
            lanes.parked.len() <= LANES
                && kept <= 2 * LANE_BYTES
                && lanes.parked.iter().all(|parked| parked.counted.fits() && parked.rules.0.fit())
        })
    }
}

impl Lanes {
    fn all(&self) -> impl Iterator<Item = &Lane> {
        self.parked.iter().map(|parked| &parked.lane).chain(core::iter::once(&self.here))
    }

    fn change(&mut self, here: CurrentLane<'_>, task: Key) {
        let known = self.parked.take(|parked| parked.lane.task == task);
        let fresh = || Parked { lane: Lane { task, ..Lane::default() }, ..Parked::default() };
        let mut other = known.unwrap_or_else(fresh);
        core::mem::swap(&mut self.here, &mut other.lane);
        core::mem::swap(here.counted, &mut other.counted);
        other.counted.outputs.park();
        other.rules.change(|rules| here.rules.swap_lane(Arc::make_mut(&mut rules.0)));
        if other.lane.heard {
            self.parked.push(other, usize::MAX);
            self.make_room();
        }
    }

    fn make_room(&mut self) {
        let weights = self.parked.iter().map(|parked| parked.lane.weight as usize);
        // The weight of a lane is an estimate, and may be as large as a number gets.
        let mut held = weights.fold(0, usize::saturating_add);
        if held > LANE_BYTES {
            held = self.parked.iter_mut().map(Parked::weigh).fold(0, usize::saturating_add);
        }
        while self.parked.len() > LANES || held > LANE_BYTES {
            let heaviest = if held > LANE_BYTES {
                let weights = self.parked.iter().map(|parked| parked.lane.weight).enumerate();
                weights.rev().max_by_key(|(_, weight)| *weight).map_or(0, |(index, _)| index)
            } else {
                0
            };
            let Some(gone) = self.parked.remove(heaviest) else { break };
            self.gone = self.gone.saturating_add(gone.counted.steps);
            self.lost = self.lost.saturating_add(1);
            held = held.saturating_sub(gone.lane.weight as usize);
        }
    }

    fn drop_if(&mut self, here: CurrentLane<'_>, gone: impl Fn(&Lane) -> bool) {
        let steps = self.parked.iter().filter(|parked| gone(&parked.lane)).map(|parked| parked.counted.steps);
        self.gone = steps.fold(self.gone, u64::saturating_add);
        self.parked.retain(|parked| !gone(&parked.lane));
        if gone(&self.here) {
            here.rules.forget_lane();
            // Without a task, the counters are the run's.
            if self.here.task != 0 {
                self.gone = self.gone.saturating_add(core::mem::take(here.counted).steps);
                self.here.heard = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::adversary::{self, Run};
    use super::*;
    use crate::json;
    use crate::model::Scope;

    #[test]
    fn pauses_and_steps_that_only_let_time_pass() {
        let at = |ms: i64| Some(1_797_000_000_000 + ms);
        let mut counted = Counted::default();
        assert_eq!(counted.pause(1, at(5)), 0);
        counted.step(1, at(0), false);
        // Also for another agent and over days, but not without a time or after the clock was set back.
        for (ms, pause) in [(0, 0), (1_999, 1_999), (60_000, 60_000), (900_000_000, 900_000_000), (-30_000, 0)] {
            assert_eq!(counted.pause(2, at(ms)), pause, "{ms}");
            assert_eq!(counted.pause(1, at(ms)), pause, "{ms}");
        }
        assert_eq!(counted.pause(1, None), 0);
        counted.step(1, None, false);
        assert_eq!(counted.pause(1, at(90)), 0);

        // A sleep stands between two looks without separating them.
        let mut counted = Counted::default();
        let mut turn = |sleeps: i64, idles: bool| {
            let pause = counted.pause(1, None);
            counted.calls(1, counted.steps, sleeps);
            let Turn { previous, slept, .. } = counted.step(1, None, idles);
            (previous, slept, pause)
        };
        assert_eq!(turn(0, false), (0, false, 0));
        assert_eq!(turn(30_000, true), (1, true, 0));
        assert_eq!(turn(0, false), (1, true, PAUSE));
        assert_eq!(turn(0, false), (3, false, 0));
        assert_eq!(turn(90_000, true), (4, true, 0));
        assert_eq!(turn(2_000, true), (5, true, LONG_PAUSE));
        assert_eq!(turn(0, false), (4, true, 0));
    }

    #[test]
    fn lanes_weigh_no_less_than_they_take() {
        for kind in [Run::Busy, Run::Full] {
            let mut detector = json::detector(adversary::CONFIG).unwrap();
            let mut most = 0;
            for (number, event) in adversary::events(kind).take(900).enumerate() {
                detector.record(&event).unwrap();
                if number % 97 != 0 {
                    continue;
                }
                let run = detector.run(&Scope::default()).unwrap();
                let lanes = run.lanes.0.as_ref().unwrap();
                let parked: Vec<usize> = lanes.parked.iter().map(|parked| encode(parked).len()).collect();
                for (parked, taken) in lanes.parked.iter().zip(&parked) {
                    assert!(*taken <= parked.lane.weight as usize, "{kind:?}, event {number}: {taken} bytes");
                }
                most = most.max(parked.iter().sum());
            }
            assert!((LANE_BYTES / 4..=LANE_BYTES).contains(&most), "{kind:?}: {most} bytes");
        }
    }
}
