//! The runs of a detector: found by name, and forgotten in constant time however many there are.
//!
//! Runs lie in slots. Two linked lists through them, the least recently used first, give the order in which they are
//! forgotten: clean runs before those with a loop, so that a crowd of new runs does not push a looping one out.

use crate::codec::{Codec, Reader, codec};
use crate::model::{Context, Level, Memory, Scope};
use crate::state::{Run, is_idle};
use crate::text::{Key, key};
use alloc::{borrow::Cow, boxed::Box, collections::BTreeMap, vec::Vec};

/// Idle runs that a new run may collect from each list; more than one, so that a crowd goes as fast as it came.
const COLLECTED_AT_ONCE: usize = 8;
/// A looping run is kept ahead of clean ones for this many events per allowed run without one of its own; after that
/// its host is presumed gone.
const KEPT: u64 = 64;
/// Bytes a run takes besides its contents: itself, its slot, its index entry and spare capacity.
const RUN: usize = <Run as Codec>::SIZE + 192;
/// Bytes that no run exceeds, whatever comes (`tests/bounds.rs`); a snapshot with a larger one is forged.
const FULLEST: u64 = 1 << 20;
/// Default bound on the bytes of all runs: the larger of this and so many bytes per allowed run.
const BYTES: u64 = 256 * 1024 * 1024;
const BYTES_OF_RUN: u64 = 16 * 1024;
/// No slot.
const NONE: u32 = u32::MAX;

/// The runs, by the key of their name.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    index: BTreeMap<Key, u32>,
    slots: Vec<Slot>,
    /// Clean runs, and runs with a loop.
    lists: [List; 2],
    clock: Clock,
    /// Bytes of all runs together, as last weighed.
    bytes: u64,
    /// Slot of the run that was asked for last.
    at_hand: u32,
    /// The current run may have changed since it was weighed; however large it is, all runs fit.
    stale: bool,
}

#[derive(Clone, Debug)]
struct Slot {
    key: Key,
    run: Box<Run>,
    /// Bytes it takes, as last weighed.
    bytes: u64,
    list: usize,
    older: u32,
    newer: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    oldest: u32,
    newest: u32,
}

/// The time that at least two runs agree upon: a single clock that is days ahead says nothing about the others.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    agreed: Option<i64>,
    /// The run with the newest time, and that time.
    ahead: Option<(Key, i64)>,
}
codec!(struct Clock { agreed, ahead });

/// Runs forgotten to make room for another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forgotten {
    pub(crate) evicted: u64,
    pub(crate) collected: u64,
}

/// Key of a run's name; 0 for the default run.
fn run_key(run: Option<&str>) -> Key {
    run.map_or(0, |run| key("run", run.as_bytes()))
}

/// Whether a run has been idle long enough to be forgotten.
fn idle(run: &Run, at: Option<i64>, memory: &Memory) -> bool {
    is_idle(run.now, at, memory.idle_ms)
}

/// Whether it is forgotten then: one that a human has ended stays ended.
fn ends(run: &Run, at: Option<i64>, memory: &Memory) -> bool {
    !run.stopped && idle(run, at, memory)
}

/// Bytes that a run takes; the same on every platform, and before and after a snapshot.
fn weigh(run: &Run) -> u64 {
    (RUN + run.heap()) as u64
}

/// Bytes that all runs may take together.
fn most_bytes(memory: &Memory) -> u64 {
    memory.max_bytes.unwrap_or_else(|| BYTES.max(BYTES_OF_RUN.saturating_mul(memory.max_runs.into())))
}

/// The list that a run belongs to: 1 for a run with a loop, a stopped one or one with a declared workflow, else 0.
fn list_of(run: &Run) -> usize {
    usize::from(run.standings.peak() >= Level::Nudge || run.stopped || run.workflow.is_declared())
}

impl Clock {
    fn see(&mut self, run: Key, at: Option<i64>) {
        let Some(at) = at else { return };
        match self.ahead {
            Some((known, newest)) if known != run => {
                self.agreed = self.agreed.max(Some(at.min(newest)));
                if at > newest {
                    self.ahead = Some((run, at));
                }
            }
            Some((_, newest)) => self.ahead = Some((run, at.max(newest))),
            None => self.ahead = Some((run, at)),
        }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self {
            index: BTreeMap::new(),
            slots: Vec::new(),
            lists: [List { oldest: NONE, newest: NONE }; 2],
            clock: Clock::default(),
            bytes: 0,
            at_hand: NONE,
            stale: false,
        }
    }
}

impl Store {
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Bytes that all runs take together.
    pub(crate) fn bytes(&self) -> u64 {
        let stale = self.slot(self.at_hand).filter(|_| self.stale);
        stale.map_or(self.bytes, |slot| self.bytes_beside(slot).saturating_add(weigh(&slot.run)))
    }

    /// Bytes that all other runs take.
    fn bytes_beside(&self, slot: &Slot) -> u64 {
        self.bytes.saturating_sub(slot.bytes)
    }

    /// Makes a run current; the previous one is weighed first if that was deferred.
    fn take_to_hand(&mut self, at: u32) {
        if self.stale && self.at_hand != at {
            self.weigh_at_hand();
        }
        self.at_hand = at;
    }

    fn slot(&self, at: u32) -> Option<&Slot> {
        self.slots.get(at as usize)
    }

    fn slot_mut(&mut self, at: u32) -> Option<&mut Slot> {
        self.slots.get_mut(at as usize)
    }

    fn find(&self, run: Option<&str>) -> Option<&Run> {
        self.index.get(&run_key(run)).and_then(|at| self.slot(*at)).map(|slot| &*slot.run)
    }

    pub(crate) fn get(&self, scope: &Scope) -> Option<&Run> {
        self.find(scope.run.as_deref())
    }

    pub(crate) fn get_mut(&mut self, scope: &Scope) -> Option<&mut Run> {
        let at = *self.index.get(&run_key(scope.run.as_deref()))?;
        self.take_to_hand(at);
        self.slot_mut(at).map(|slot| &mut *slot.run)
    }

    pub(crate) fn remove(&mut self, scope: &Scope) {
        if let Some(at) = self.index.get(&run_key(scope.run.as_deref())) {
            self.forget(*at);
        }
    }

    /// The run an event belongs to, as `record` would find it: a fresh one if it is unknown or idle.
    pub(crate) fn peek(&self, context: &Context, memory: &Memory) -> Cow<'_, Run> {
        match self.find(context.run.as_deref()) {
            Some(run) if !ends(run, context.at, memory) => Cow::Borrowed(run),
            _ => Cow::Owned(Run::default()),
        }
    }

    /// The run an event belongs to, created if it is unknown; others are forgotten to make room.
    pub(crate) fn enter(&mut self, context: &Context, seq: u64, memory: &Memory) -> (Option<&mut Run>, Forgotten) {
        let key = run_key(context.run.as_deref());
        self.clock.see(key, context.at);
        let mut forgotten = Forgotten::default();
        let at = match self.index.get(&key) {
            Some(at) => {
                let at = *at;
                if let Some(slot) = self.slot_mut(at)
                    && ends(&slot.run, context.at, memory)
                {
                    *slot.run = Run::default();
                    forgotten.collected = 1;
                }
                if !self.is_newest(at) {
                    self.unlink(at);
                    self.link(at);
                }
                at
            }
            None => {
                // Only a new run looks at others, and only at a few, so that an event costs the same however many there
                // are.
                forgotten = self.make_room(seq, memory);
                let at = self.place(key, Box::default());
                self.link(at);
                at
            }
        };
        self.take_to_hand(at);
        // INVARIANT: `at` is a slot.
        let run = self.slots.get_mut(at as usize).map(|slot| &mut *slot.run);
        (run, forgotten)
    }

    /// Whether a run is where it belongs: the newest of its list.
    fn is_newest(&self, at: u32) -> bool {
        self.slot(at).is_some_and(|slot| {
            slot.list == list_of(&slot.run) && self.lists.get(slot.list).is_some_and(|list| list.newest == at)
        })
    }

    /// The run an event belongs to, if it is the current one and needs no lookup, move or collection; `None` otherwise,
    /// with nothing changed.
    pub(crate) fn again(&mut self, context: &Context, memory: &Memory) -> Option<&mut Run> {
        let slot = self.slots.get_mut(self.at_hand as usize)?;
        let list = list_of(&slot.run);
        let is_newest = self.lists.get(list).is_some_and(|list| list.newest == self.at_hand);
        if !is_newest || slot.key != run_key(context.run.as_deref()) || ends(&slot.run, context.at, memory) {
            return None;
        }
        self.clock.see(slot.key, context.at);
        Some(&mut slot.run)
    }

    /// Whether the recorded weights are what the runs weigh.
    #[cfg(test)]
    pub(crate) fn is_weighed(&self) -> bool {
        let is_stale = |at: usize| self.stale && at == self.at_hand as usize;
        let mut slots = self.slots.iter().enumerate();
        slots.all(|(at, slot)| is_stale(at) || slot.bytes == weigh(&slot.run))
            && self.bytes == self.slots.iter().map(|slot| slot.bytes).sum::<u64>()
            && self.bytes() == self.slots.iter().map(|slot| weigh(&slot.run)).sum::<u64>()
    }

    fn make_room(&mut self, seq: u64, memory: &Memory) -> Forgotten {
        let mut forgotten = Forgotten::default();
        let most = memory.max_runs.max(1) as usize;
        for list in [0, 1] {
            for _ in 0..COLLECTED_AT_ONCE {
                let oldest = self.lists.get(list).map_or(NONE, |list| list.oldest);
                match self.slot(oldest) {
                    Some(slot) if ends(&slot.run, self.clock.agreed, memory) => {
                        self.forget(oldest);
                        forgotten.collected += 1;
                    }
                    // It goes last, and does not keep the others.
                    Some(slot) if idle(&slot.run, self.clock.agreed, memory) => {
                        self.unlink(oldest);
                        self.link(oldest);
                    }
                    _ => break,
                }
            }
        }
        while self.len() >= most {
            let Some(gone) = self.next_to_go(seq, memory, NONE) else { break };
            self.forget(gone);
            forgotten.evicted += 1;
        }
        forgotten
    }

    /// Makes room if all runs take too much after the current one has changed. That one goes last, and starts afresh if
    /// it alone exceeds the bound. It is weighed only if that can make a difference: there is nearly always room for
    /// the largest possible run, and the same run changes again and again.
    pub(crate) fn settle(&mut self, seq: u64, memory: &Memory) -> Forgotten {
        let mut forgotten = Forgotten::default();
        // Only the current run has changed since there was room for it at any size.
        if self.stale {
            return forgotten;
        }
        let most = most_bytes(memory);
        let others = self.slot(self.at_hand).map_or(self.bytes, |slot| self.bytes_beside(slot));
        self.stale = others.saturating_add(FULLEST) <= most;
        if self.stale {
            return forgotten;
        }
        self.weigh_at_hand();
        while self.bytes > most {
            match self.next_to_go(seq, memory, self.at_hand) {
                Some(gone) => self.forget(gone),
                None => {
                    let Some(slot) = self.slots.get_mut(self.at_hand as usize) else { break };
                    if slot.run.events == 0 {
                        break;
                    }
                    *slot.run = Run::default();
                    self.weigh_at_hand();
                }
            }
            forgotten.evicted += 1;
        }
        forgotten
    }

    fn weigh_at_hand(&mut self) {
        self.stale = false;
        if let Some(slot) = self.slots.get_mut(self.at_hand as usize) {
            let before = core::mem::replace(&mut slot.bytes, weigh(&slot.run));
            self.bytes = self.bytes.saturating_sub(before).saturating_add(slot.bytes);
        }
    }

    /// The next run to forget, other than `spared`: the least recently used clean one, or one with a loop if there is
    /// no other or its host is presumed gone.
    fn next_to_go(&mut self, seq: u64, memory: &Memory, spared: u32) -> Option<u32> {
        loop {
            let [clean, looping] = self.lists.map(|list| match self.slot(list.oldest) {
                Some(slot) if list.oldest == spared => slot.newer,
                _ => list.oldest,
            });
            let left = self
                .slot(looping)
                .is_some_and(|slot| seq.saturating_sub(slot.run.touched) > KEPT.saturating_mul(memory.max_runs.into()));
            match self.slot(clean) {
                // Something was found in it since it was put into this list.
                Some(slot) if list_of(&slot.run) != slot.list => {
                    self.unlink(clean);
                    self.link(clean);
                }
                Some(_) if !left => return Some(clean),
                _ => return (looping != NONE).then_some(looping),
            }
        }
    }

    /// Puts a run into a slot, in no list yet.
    fn place(&mut self, key: Key, run: Box<Run>) -> u32 {
        // INVARIANT: there are at most 10^6 runs.
        let at = u32::try_from(self.slots.len()).unwrap_or(NONE);
        let bytes = weigh(&run);
        self.bytes = self.bytes.saturating_add(bytes);
        self.slots.push(Slot { key, run, bytes, list: 0, older: NONE, newer: NONE });
        self.index.insert(key, at);
        at
    }

    /// Makes a run the newest of its list.
    fn link(&mut self, at: u32) {
        let Some(list) = self.slot(at).map(|slot| list_of(&slot.run)) else { return };
        self.link_in(list, at);
    }

    fn link_in(&mut self, list: usize, at: u32) {
        let newest = self.lists.get(list).map_or(NONE, |list| list.newest);
        if let Some(slot) = self.slot_mut(at) {
            (slot.list, slot.older, slot.newer) = (list, newest, NONE);
        }
        self.follow(list, newest, at);
        self.precede(list, NONE, at);
    }

    /// Takes a run out of its list.
    fn unlink(&mut self, at: u32) {
        let Some((list, older, newer)) = self.slot(at).map(|slot| (slot.list, slot.older, slot.newer)) else { return };
        self.follow(list, older, newer);
        self.precede(list, newer, older);
    }

    /// Sets what follows `older`, or the head of the list if that is no slot.
    fn follow(&mut self, list: usize, older: u32, next: u32) {
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = next,
            None => self.lists.get_mut(list).into_iter().for_each(|list| list.oldest = next),
        }
    }

    /// Sets what precedes `newer`, or the tail of the list if that is no slot.
    fn precede(&mut self, list: usize, newer: u32, previous: u32) {
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = previous,
            None => self.lists.get_mut(list).into_iter().for_each(|list| list.newest = previous),
        }
    }

    /// Forgets a run; the last slot moves into its place.
    fn forget(&mut self, at: u32) {
        self.unlink(at);
        if at as usize >= self.slots.len() {
            return;
        }
        let forgotten = self.slots.swap_remove(at as usize);
        self.index.remove(&forgotten.key);
        self.bytes = self.bytes.saturating_sub(forgotten.bytes);
        if self.at_hand == at {
            (self.at_hand, self.stale) = (NONE, false);
        } else if self.at_hand as usize == self.slots.len() {
            self.at_hand = at;
        }
        if let Some((key, list, older, newer)) = self.slot(at).map(|slot| (slot.key, slot.list, slot.older, slot.newer))
        {
            self.index.insert(key, at);
            self.follow(list, older, at);
            self.precede(list, newer, at);
        }
    }

    /// The runs of a list, the least recently used first.
    fn listed(&self, list: List) -> impl Iterator<Item = &Slot> {
        core::iter::successors(self.slot(list.oldest), |slot| self.slot(slot.newer))
    }

    pub(crate) fn fits(&self, memory: &Memory) -> bool {
        self.len() <= memory.max_runs as usize
            && self.bytes <= most_bytes(memory)
            && self.slots.iter().all(|slot| slot.bytes <= FULLEST && slot.run.fits())
    }
}

/// Runs are encoded in the order of their lists.
impl Codec for Store {
    const SIZE: usize = 0;

    fn put(&self, to: &mut Vec<u8>) {
        self.clock.put(to);
        for list in self.lists {
            (self.listed(list).count() as u64).put(to);
            for slot in self.listed(list) {
                slot.key.put(to);
                slot.run.put(to);
            }
        }
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let mut store = Self { clock: Codec::take(from), ..Self::default() };
        for list in [0, 1] {
            for _ in 0..from.count() {
                let key = Codec::take(from);
                if store.index.contains_key(&key) {
                    from.spoil();
                    break;
                }
                let at = store.place(key, Codec::take(from));
                store.link_in(list, at);
            }
        }
        store
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decode, encode};
    use alloc::{format, string::String, vec};

    fn memory(max_runs: u32) -> Memory {
        Memory { max_runs, idle_ms: 1000, ..Memory::default() }
    }

    struct Crowd {
        store: Store,
        memory: Memory,
        seq: u64,
        forgotten: (u64, u64),
    }

    impl Crowd {
        fn new(max_runs: u32) -> Self {
            Self { store: Store::default(), memory: memory(max_runs), seq: 0, forgotten: (0, 0) }
        }

        fn event(&mut self, run: &str, at: Option<i64>) -> &mut Run {
            let context = Context { run: Some(run.into()), at, ..Context::default() };
            self.seq += 1;
            let (run, forgotten) = self.store.enter(&context, self.seq, &self.memory);
            self.forgotten.0 += forgotten.evicted;
            self.forgotten.1 += forgotten.collected;
            let run = run.unwrap();
            run.enter(self.seq, &context, self.memory.idle_ms);
            run
        }

        fn knows(&self, run: &str) -> bool {
            self.store.find(Some(run)).is_some_and(|run| run.events > 0)
        }

        /// Links are consistent in both directions, and every run is in one list.
        fn check(&self) {
            let mut listed = 0;
            for (number, list) in self.store.lists.iter().enumerate() {
                let mut before = NONE;
                let mut at = list.oldest;
                while let Some(slot) = self.store.slot(at) {
                    assert_eq!((slot.older, slot.list, self.store.index.get(&slot.key)), (before, number, Some(&at)));
                    listed += 1;
                    (before, at) = (at, slot.newer);
                }
                assert_eq!(list.newest, before);
            }
            assert_eq!((listed, self.store.slots.len()), (self.store.len(), self.store.len()));
        }
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut crowd = Crowd::new(3);
        for run in ["a", "b", "c", "a", "d"] {
            crowd.event(run, None);
            crowd.check();
        }
        let known: String = ["a", "b", "c", "d"].into_iter().filter(|run| crowd.knows(run)).collect();
        assert_eq!((known.as_str(), crowd.forgotten), ("acd", (1, 0)));
    }

    #[test]
    fn a_crowd_does_not_push_a_loop_out() {
        let mut crowd = Crowd::new(16);
        crowd.event("loop", None).stopped = true;
        for run in 0..500 {
            crowd.event(&format!("run-{run}"), None);
            crowd.check();
        }
        assert!(crowd.knows("loop") && crowd.knows("run-499") && !crowd.knows("run-100"));
        assert_eq!((crowd.store.len(), crowd.forgotten), (16, (485, 0)));
        // One whose host is gone goes in the end.
        for run in 0..1000 {
            crowd.event(&format!("more-{run}"), None);
        }
        assert!(!crowd.knows("loop"));
        crowd.check();
    }

    #[test]
    fn where_all_loop_the_oldest_goes() {
        let mut crowd = Crowd::new(4);
        for run in 0..20 {
            crowd.event(&format!("{run}"), None).stopped = true;
            crowd.check();
        }
        let known: Vec<bool> = (14..20).map(|run| crowd.knows(&format!("{run}"))).collect();
        assert_eq!(known, [false, false, true, true, true, true]);
    }

    #[test]
    fn one_clock_ahead_collects_nobody() {
        let mut crowd = Crowd::new(100);
        for run in 0..20 {
            crowd.event(&format!("{run}"), Some(run));
        }
        crowd.event("ahead", Some(200_000));
        crowd.event("new", Some(30));
        assert_eq!((crowd.store.len(), crowd.forgotten), (22, (0, 0)));
        // Two clocks that agree set the time, and a crowd goes as fast as it came.
        for run in 0..4 {
            crowd.event(&format!("late-{run}"), Some(200_001));
            crowd.check();
        }
        // Idle runs behind the one whose clock was ahead wait for their turn.
        assert_eq!((crowd.store.len(), crowd.forgotten), (6, (0, 20)));
    }

    #[test]
    fn a_run_is_idle_by_its_own_clock() {
        let mut crowd = Crowd::new(4);
        crowd.event("a", Some(0));
        assert_eq!(crowd.event("a", Some(1000)).events, 2);
        assert_eq!(crowd.event("a", Some(2001)).events, 1);
        assert_eq!(crowd.forgotten, (0, 1));
    }

    #[test]
    fn a_run_that_was_ended_stays_ended() {
        let mut crowd = Crowd::new(8);
        crowd.event("ended", Some(0)).stopped = true;
        for run in ["a", "b"] {
            crowd.event(run, Some(1)).workflow.declare(crate::state::Graph::default());
        }
        for run in 0..4 {
            crowd.event(&format!("late-{run}"), Some(200_000));
            crowd.check();
        }
        assert!(crowd.knows("ended") && !crowd.knows("a") && !crowd.knows("b"));
        let ended = crowd.event("ended", Some(400_000));
        assert!((ended.stopped, ended.events) == (true, 2));
    }

    #[test]
    fn a_snapshot_keeps_the_order() {
        let mut crowd = Crowd::new(8);
        for run in ["a", "b", "c", "d", "b"] {
            crowd.event(run, Some(5)).stopped = run == "c";
        }
        let bytes = encode(&crowd.store);
        crowd.store = decode(&bytes).unwrap();
        crowd.check();
        assert_eq!(encode(&crowd.store), bytes);
        crowd.memory.max_runs = 3;
        crowd.event("e", Some(6));
        let known: String = ["a", "b", "c", "d", "e"].into_iter().filter(|run| crowd.knows(run)).collect();
        assert_eq!(known, "bce");
        let twice = (Clock::default(), [vec![(1_u64, Box::<Run>::default())], vec![(1, Box::default())]]);
        assert!(decode::<Store>(&encode(&twice)).is_none());
    }
}
