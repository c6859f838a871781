//! Parts of one thing that are read again and again, each time cut in another way.
//!
//! No two calls are the same, and no two answers; what repeats is their lines. A look counts where hardly a line of it
//! was not in an earlier one, twice where most of all that is known came again, and something else looked at or changed
//! in between begins anew.

use crate::codec::codec;
use crate::model::ToolResult;
use crate::rules::streak::Streak;
use crate::state::{Call, Ring, Step};
use crate::text::{Key, salted};
use alloc::vec::Vec;

/// Agents whose looks are remembered at once.
const AGENTS: usize = 2;
/// Lines remembered, and lines of one look that are looked at.
const LINES: usize = 768;
const OF_A_LOOK: usize = 256;
/// Lines without which a look is no part of a text, and bytes of a line that says something.
const FEWEST: usize = 4;
const SHORTEST: usize = 4;
/// A look is news where more than one line in so many is new.
const NEWS: usize = 20;
/// Points of a look at a part with hardly a new line, and at most of what is known; whoever reads on overlaps with what
/// he has read.
const PART: u32 = 1;
const WHOLE: u32 = 2;
/// Points that are worth as much as an answer.
const ANSWER: u32 = 2;

#[derive(Clone, Debug, Default)]
pub(super) struct Looks(Ring<Look>);
codec!(struct Looks(_));

/// What one agent has looked at lately.
#[derive(Clone, Debug, Default)]
struct Look {
    agent: Key,
    target: Key,
    /// 0 before the first.
    call: Key,
    /// New mutations of the run at that time.
    mutations: u64,
    /// Marks of lines, the oldest first; none before the second look.
    lines: Vec<u16>,
    points: u32,
    stale: Streak,
}
codec!(struct Look { agent, target, call, mutations, lines, points, stale });

impl Looks {
    /// Takes in what came of a call; the looks in a row that brought hardly a new line, and what they are worth in
    /// answers, where it was one of them.
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
        // The same call is another rule's.
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

    /// Remembers the lines of a text: whether hardly one was new.
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

/// A line without its number and its margins.
fn content(line: &str) -> &str {
    let line = line.trim();
    line.trim_start_matches(|char: char| char.is_ascii_digit() || matches!(char, ':' | '|' | '\t' | ' ' | '→' | '-'))
}
