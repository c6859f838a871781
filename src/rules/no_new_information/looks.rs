//! Parts of one thing that are read again and again, cut differently each time.
//!
//! No two calls and no two answers are the same; what repeats is their lines. A look counts if hardly any of its lines
//! are new, and twice if it shows most of all known lines again. Looking at or changing something else in between
//! starts over.

use crate::codec::codec;
use crate::model::ToolResult;
use crate::rules::streak::Streak;
use crate::state::{Call, Ring, Step};
use crate::text::{Key, salted};
use alloc::vec::Vec;

/// Maximum number of agents followed at once.
const AGENTS: usize = 2;
/// Lines remembered, and lines read per look.
const LINES: usize = 768;
const OF_A_LOOK: usize = 256;
/// Minimum number of lines for a look to be part of a text, and minimum bytes of a line that means anything.
const FEWEST: usize = 4;
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
    target: Key,
    /// The latest call; 0 before the first.
    call: Key,
    /// New mutations that the latest call may have seen, including its own.
    mutations: u64,
    /// Marks of lines, oldest first; empty before the second look.
    lines: Vec<u16>,
    points: u32,
    stale: Streak,
}
codec!(struct Look { agent, target, call, mutations, lines, points, stale });

impl Looks {
    /// Takes in a result. If it is a look with hardly a new line, returns the streak of such looks and its worth in
    /// answers.
    pub(super) fn took(&mut self, step: &Step, call: &Call, result: &ToolResult, salt: u64) -> Option<(&Streak, u32)> {
        let target = call.target?;
        if step.facts.failed || call.polling {
            return None;
        }
        let (agent, mutations) = (step.agent, step.mutations_after());
        let first = || Look { agent, target, mutations, ..Look::default() };
        let look = self.0.renew(AGENTS, |look| look.agent == agent, first)?;
        if (look.target, look.mutations) != (target, mutations) {
            *look = first();
        }
        // Repeats of one call are another rule's.
        let before = core::mem::replace(&mut look.call, call.key);
        if before == 0 || before == call.key || !look.learn(&result.output, salt) {
            return None;
        }
        look.stale.add(step.sighting, step.onset);
        Some((&look.stale, look.worth()))
    }

    pub(super) fn standing(&self) -> u32 {
        self.0.iter().map(Look::worth).max().unwrap_or(0)
    }

    pub(super) fn fits(&self) -> bool {
        self.0.len() <= AGENTS && self.0.iter().all(|look| look.lines.len() <= LINES && look.stale.fits())
    }
}

impl Look {
    const fn worth(&self) -> u32 {
        self.points / ANSWER
    }

    /// Remembers the lines of a text; returns whether hardly any was new.
    fn learn(&mut self, text: &str, salt: u64) -> bool {
        let lines = text.lines().map(content).filter(|line| line.len() >= SHORTEST).take(OF_A_LOOK);
        let (mut all, mut new) = (0, Vec::new());
        for line in lines.map(|line| salted("line", salt, line.as_bytes()) as u16) {
            all += 1;
            if !self.lines.contains(&line) && !new.contains(&line) {
                new.push(line);
            }
        }
        if all < FEWEST {
            return false;
        }
        let stale = new.len() * NEWS < all;
        if stale {
            let whole = all * 2 > self.lines.len();
            self.points = self.points.saturating_add(if whole { WHOLE } else { PART });
        } else {
            (self.points, self.stale) = (0, Streak::default());
        }
        let dropped = (self.lines.len() + new.len()).saturating_sub(LINES);
        self.lines.drain(..dropped);
        self.lines.append(&mut new);
        stale
    }
}

/// A line without its number and margins.
fn content(line: &str) -> &str {
    let line = line.trim();
    line.trim_start_matches(|char: char| char.is_ascii_digit() || matches!(char, ':' | '|' | '\t' | ' ' | '→' | '-'))
}
