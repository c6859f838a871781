//! Parts of things that are read again and again, cut differently each time.
//!
//! No two calls and no two answers are the same; what repeats is their lines. A look at something that was looked at
//! before counts if hardly any of its lines are new, and twice if it shows most of what is known of the same thing again.
//! Something new halves what was counted; a change starts over.

use crate::codec::codec;
use crate::model::ToolResult;
use crate::rules::streak::Streak;
use crate::state::{Call, Recent, Ring, Step};
use crate::text::{Key, mark, salted};
use alloc::{vec, vec::Vec};

/// Maximum number of agents followed at once.
const AGENTS: usize = 2;
/// Things looked at lately.
const PLACES: usize = 8;
/// Lines read per look.
const OF_A_LOOK: usize = 256;
/// Minimum number of lines for a look to be part of a text, and minimum bytes of a line that means anything.
const FEWEST: usize = 3;
const SHORTEST: usize = 4;
/// A look is news if more than one in this many lines is new.
const NEWS: usize = 20;
/// Points of a look with hardly a new line, and of one that shows most of the known lines again. Reading on overlaps
/// with what was read.
const PART: u32 = 1;
const WHOLE: u32 = 2;
/// Points that are worth one answer.
const ANSWER: u32 = 2;

#[derive(Clone, Debug, Default)]
pub(super) struct Looks(Ring<Look>);
codec!(struct Looks(_));

/// What one agent has looked at recently.
#[derive(Clone, Debug, Default)]
struct Look {
    agent: Key,
    /// Mark of the latest target, and of the latest call; 0 before the first.
    target: u32,
    call: u32,
    /// Low half of the number of new mutations that the latest call may have seen, including its own.
    mutations: u32,
    places: Recent<PLACES>,
    lines: Lines,
    /// Lines of the latest target that were new.
    own: u16,
    points: u32,
    stale: Streak,
}
codec!(struct Look { agent, target, call, mutations, places, lines, own, points, stale });

/// Bits of a half of [`Lines`], and the lines in it from which the other half is begun.
const BITS: u32 = 4096;
const FULL: u16 = 512;

/// Lines seen, in two Bloom filters: the older one is dropped when the newer one is full. Empty before the first line.
#[derive(Clone, Debug, Default)]
struct Lines {
    /// The newer half first.
    bits: Vec<u32>,
    /// Lines in the newer half.
    held: u16,
}
codec!(struct Lines { bits, held });

impl Lines {
    /// Of a half, and of both.
    const WORDS: usize = (BITS / u32::BITS) as usize;
    const ALL: usize = 2 * Self::WORDS;

    /// Remembers a line; true if it was not known.
    #[inline(never)]
    fn learn(&mut self, line: Key) -> bool {
        if self.bits.is_empty() {
            self.bits = vec![0; Self::ALL];
        }
        let bits = [line as u32 % BITS, (line >> 32) as u32 % BITS]
            .map(|bit| ((bit / u32::BITS) as usize, 1 << (bit % u32::BITS)));
        let (newer, older) = self.bits.split_at_mut(Self::WORDS);
        let has = |half: &[u32]| bits.iter().all(|(at, bit)| half.get(*at).is_some_and(|word| word & bit != 0));
        if has(newer) {
            return false;
        }
        let new = !has(older);
        if self.held >= FULL {
            older.copy_from_slice(newer);
            newer.fill(0);
            self.held = 0;
        }
        self.held += 1;
        for (at, bit) in bits {
            if let Some(word) = newer.get_mut(at) {
                *word |= bit;
            }
        }
        new
    }

    fn fits(&self) -> bool {
        matches!(self.bits.len(), 0 | Self::ALL) && self.held <= FULL
    }
}

impl Looks {
    /// Takes in a result. If it is a look with hardly a new line, returns the streak of such looks and its worth in
    /// answers.
    pub(super) fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, salt: u64) -> Option<(&Streak, u32)> {
        let target = call.target?;
        if step.facts.failed || call.polling {
            return None;
        }
        let (agent, target) = (step.agent, mark(target));
        let look = self.0.renew(AGENTS, |look| look.agent == agent, || Look { agent, ..Look::default() })?;
        let mutations = step.mutations_after() as u32;
        if look.mutations != mutations {
            *look = Look { agent, mutations, ..Look::default() };
        }
        if core::mem::replace(&mut look.target, target) != target {
            look.own = 0;
        }
        // Repeats of one call are another rule's.
        let (asks, call) = (call.asks, mark(call.key));
        let repeats = core::mem::replace(&mut look.call, call) == call;
        let cut = !step.kin.is_same_call() && !asks.shows();
        if !look.places.met(target) || repeats || !look.learn(&result.output, cut, salt) {
            return None;
        }
        look.stale.add(step.sighting, step.onset);
        Some((&look.stale, look.worth()))
    }

    pub(super) fn standing(&self) -> u32 {
        self.0.iter().map(Look::worth).max().unwrap_or(0)
    }

    pub(super) fn fits(&self) -> bool {
        self.0.len() <= AGENTS && self.0.iter().all(|look| look.lines.fits())
    }
}

impl Look {
    const fn worth(&self) -> u32 {
        self.points / ANSWER
    }

    /// Remembers the lines of a text; returns whether hardly any was new. `cut` tells whether another call than before
    /// cut them out of a text.
    fn learn(&mut self, text: &str, cut: bool, salt: u64) -> bool {
        let lines = text.lines().map(content).filter(|line| line.len() >= SHORTEST).take(OF_A_LOOK);
        let (mut all, mut new) = (0, 0);
        for line in lines {
            all += 1;
            new += usize::from(self.lines.learn(salted("line", salt, line.as_bytes())));
        }
        if all < FEWEST {
            return false;
        }
        let stale = new * NEWS < all;
        self.own = self.own.saturating_add(new as u16);
        if stale {
            let whole = if self.own == 0 { cut && new == 0 } else { all * 2 > self.own.into() };
            self.points = self.points.saturating_add(if whole { WHOLE } else { PART });
        } else {
            self.points /= 2;
            self.stale.halve();
        }
        stale
    }
}

/// A line without its number, its margins, and the `$` with which `cat -A` shows its end.
fn content(line: &str) -> &str {
    let line = line.trim().trim_end_matches('$').trim_end();
    line.trim_start_matches(|char: char| char.is_ascii_digit() || matches!(char, ':' | '|' | '\t' | ' ' | '→' | '-'))
}
