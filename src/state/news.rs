//! Which steps of a task bring something new: a kind of call not made lately, an outcome that differs from the latest
//! of its kind, a figure that keeps falling by the same amount, or another value entered into one field of a form after
//! another. The same answer with other figures is not new.

use super::pairing::{Call, Step};
use super::ring::Ring;
use crate::codec::codec;
use crate::model::ToolResult;
use crate::text::{Figures, beyond, combine, enters, first_row, frame, head, heading, mark, tail, trimmed};

/// Kinds of calls remembered.
const KINDS: usize = 12;
/// The part of an excess by which the next attempt has to be nearer.
const NEARER: u32 = 8;
/// Lines of an answer that form its heading, and the bytes of it that are read.
const HEAD: usize = 3;
const HEAD_BYTES: usize = 256;
/// Bits that count how often in a row a figure fell, and the width of the digest of the amount.
const OFTEN: u16 = 3;
const AMOUNT: u32 = u16::BITS - OFTEN.count_ones();

#[derive(Clone, Debug, Default)]
pub(crate) struct News {
    /// The most recent last.
    kinds: Ring<LatestOutcome>,
    excess: Excess,
}
codec!(struct News { kinds, excess });

/// How far the latest attempts at one thing are beyond a limit: a text that is too long is shortened until it fits.
#[derive(Clone, Copy, Debug, Default)]
struct Excess {
    /// 16 bits each of the tool with its agent, and of the error; 0 for none.
    tool: u16,
    error: u16,
    /// The least excess so far; `u32::MAX` if none is known.
    least: u32,
}
codec!(struct Excess { tool, error, least });

/// The latest outcome of a kind of call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LatestOutcome {
    /// Hash of the tool, the agent and the arguments without their figures.
    pub(crate) kind: u32,
    pub(crate) call: u32,
    /// Odd for an error: its root. Even for an answer: its first lines without their figures, as the next page has
    /// another heading.
    pub(crate) sign: u32,
    /// 16 bits of the `sign` of the latest outcome that differed.
    other: u16,
    /// The sum of the whole numbers in its first lines; for errors, the fewest that were left.
    pub(crate) sum: u32,
    /// How often in a row `sum` has fallen, and above those bits a digest of the amount.
    fell: u16,
}
codec!(struct LatestOutcome { kind, call, sign, other, sum, fell });

/// The outcome of a call, and that of the one of its kind before it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kin {
    /// Mark of the first lines of its answer without their figures.
    pub(crate) head: u32,
    pub(crate) now: LatestOutcome,
    pub(crate) before: Option<LatestOutcome>,
}

impl Kin {
    /// Whether the latest call of its kind was the very same.
    pub(crate) fn is_same_call(&self) -> bool {
        self.before.is_some_and(|before| before.call == self.now.call)
    }

    /// By how much the figures at the head of its answer have grown if it is the latest call of its kind again, with the
    /// same words in its first lines; otherwise 0.
    pub(crate) fn grown(&self) -> u32 {
        let before = self.before.filter(|_| self.is_same_call() && self.is_alike());
        before.map_or(0, |before| self.now.sum.saturating_sub(before.sum))
    }

    /// Whether they have fallen.
    pub(crate) fn fell(&self) -> bool {
        self.is_same_call() && self.is_alike() && self.before.is_some_and(|before| self.now.sum < before.sum)
    }

    /// Whether the latest call of its kind failed for the same root cause, or got an answer with the same heading but
    /// for figures.
    pub(crate) fn is_alike(&self) -> bool {
        self.before.is_some_and(|before| before.sign == self.now.sign)
    }
}

impl LatestOutcome {
    fn of(step: &Step, call: &Call, result: &ToolResult, salt: u64) -> (Self, u32) {
        let kind = mark(combine("stagnation", &[step.tool, step.agent, call.frame.into()]));
        let answer = result.output.as_str();
        let start = beginning(answer);
        let error = step.facts.class.and_then(|_| step.error(result, salt));
        let head = heading(start, HEAD);
        let (sign, sum) = match error {
            Some(root) => (mark(root) | 1, 0),
            None => ((head ^ page(call, answer)) & !1, Figures::of(start).sum),
        };
        (Self { kind, call: mark(call.key), sign, other: 0, sum, fell: 0 }, head)
    }

    pub(crate) const fn is_error(&self) -> bool {
        self.sign & 1 == 1
    }
}

/// A mark folded to 16 bits; 0 for none.
const fn half(mark: u32) -> u16 {
    (mark ^ mark >> 16) as u16
}

/// What tells one page of a view from the next beside its heading: the words at the end of a long one, since a scrolled
/// list keeps its heading, and the first row of a list; 0 for anything else.
fn page(call: &Call, answer: &str) -> u32 {
    if !call.asks.shows() {
        return 0;
    }
    let end = tail(answer, HEAD_BYTES);
    first_row(beginning(answer)) ^ if answer.len() < 2 * HEAD_BYTES { 0 } else { frame(end) }
}

/// The first [`HEAD_BYTES`] bytes of an answer, at a character boundary.
pub(crate) fn beginning(answer: &str) -> &str {
    head(answer, HEAD_BYTES)
}

/// Whether the first lines of an answer that are compared are all of it.
pub(crate) fn is_short(answer: &str) -> bool {
    answer.len() <= HEAD_BYTES && answer.lines().count() <= HEAD
}

impl News {
    /// Takes in a step, and notes on it what it brought compared with those before it. `entered` is the agent's latest
    /// kind of call that entered another value into a field. If `counts`, the errors of a first failure are counted as
    /// well.
    pub(crate) fn step(&mut self, step: &mut Step, result: &ToolResult, entered: &mut u16, counts: bool, salt: u64) {
        let Some(call) = step.call.as_ref().filter(|call| !call.is_thought(step, result)) else { return };
        let (mut now, head) = LatestOutcome::of(step, call, result, salt);
        let before = self.kinds.take(|known| known.kind == now.kind);
        let alike = before.filter(|before| before.sign == now.sign);
        // Alternates with another outcome.
        let swings = before.is_some_and(|before| before.other != 0 && before.other == half(now.sign));
        now.other = before.map_or(0, |before| if alike.is_some() { before.other } else { half(before.sign) });
        // Fewer errors are fewer, whichever comes first.
        if now.is_error() && (counts || before.is_some_and(|before| before.is_error())) {
            now.sum = step.wrong(result);
        }
        if let Some(before) = before.filter(|before| before.is_error() && now.is_error()) {
            step.fewer = now.sum != 0 && now.sum < before.sum;
            now.sum = if before.sum == 0 || now.sum == 0 { now.sum.max(before.sum) } else { now.sum.min(before.sum) };
        } else if let Some(before) = alike {
            let by = before.sum.saturating_sub(now.sum);
            let short = ((by ^ by >> AMOUNT) as u16) << OFTEN.count_ones();
            now.fell = if by == 0 { 0 } else { short | ((before.fell & OFTEN) + 1).min(OFTEN) };
        }
        step.fewer |= self.is_nearer(step, result, &now, before.is_some_and(|before| before.call == now.call));
        // By the same amount again, or for the third time in a row.
        let falls = alike.is_some_and(|before| {
            now.fell != 0 && (now.fell & !OFTEN == before.fell & !OFTEN || now.fell & OFTEN == OFTEN)
        });
        // An empty result, or a failure without a message, brings nothing new.
        let empty = step.facts.negative || step.facts.failed && trimmed(&result.output).is_empty();
        let tells = before.is_some() || !empty;
        // The next field of a form, after another one: a record is entered. A single field may be one in which one
        // value after another is tried.
        let mut entered = || {
            let filled = !step.facts.failed && before.is_none_or(|before| before.call != now.call);
            filled && enters(&call.name) && {
                let before = core::mem::replace(entered, half(now.kind));
                before != 0 && before != *entered
            }
        };
        step.is_news = alike.is_none() && !swings && tells || falls || step.fewer || entered();
        self.kinds.push(now, KINDS);
        step.kin = Kin { head, now, before };
    }

    /// Whether an attempt exceeds the limit that its error names by clearly less than those before, of which the first
    /// is not looked at.
    fn is_nearer(&mut self, step: &Step, result: &ToolResult, now: &LatestOutcome, same_call: bool) -> bool {
        if same_call {
            return false;
        }
        let tool = half(mark(combine("news/excess", &[step.tool, step.agent])));
        if !now.is_error() {
            if self.excess.tool == tool {
                self.excess = Excess::default();
            }
            return false;
        }
        let error = half(now.sign);
        let known = (self.excess.tool, self.excess.error) == (tool, error);
        let far = if known { beyond(&result.output).unwrap_or(u32::MAX) } else { u32::MAX };
        let before = if known { self.excess.least } else { u32::MAX };
        self.excess = Excess { tool, error, least: before.min(far) };
        before != u32::MAX && far <= before - before.div_ceil(NEARER)
    }

    pub(super) fn fits(&self) -> bool {
        self.kinds.len() <= KINDS
    }
}
