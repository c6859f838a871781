//! Which steps of a task bring something new: a kind of call that was not made lately, an outcome that is another one
//! than the latest of its kind, a figure that falls by the same again. An acknowledgement of something that only has
//! other figures is none.

use super::pairing::{Call, Step};
use super::ring::Ring;
use crate::codec::codec;
use crate::model::ToolResult;
use crate::text::{Figures, Left, combine, frame, heading, mark, trimmed};

/// Kinds of calls that are known.
const KINDS: usize = 12;
/// Lines that a heading is in, and the bytes of them that are read.
const HEAD: usize = 3;
const HEAD_BYTES: usize = 256;
/// Bits of how often in a row a figure has fallen, and of by how much.
const OFTEN: u16 = 3;
const AMOUNT: u32 = u16::BITS - OFTEN.count_ones();

#[derive(Clone, Debug, Default)]
pub(crate) struct News {
    /// The one that came last at the end.
    kinds: Ring<Came>,
}
codec!(struct News { kinds });

/// What a kind of call came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Came {
    /// The tool, the agent and the arguments without their figures.
    pub(crate) kind: u32,
    pub(crate) call: u32,
    /// The root of an error, which is odd; of an answer the first lines without their figures, which is even: a page
    /// that was turned has another heading.
    pub(crate) sign: u32,
    /// Half of the same of the latest that was another one.
    other: u16,
    /// The sum of the whole numbers in its first lines, and by how much it has fallen; of an error the fewest that were
    /// left.
    pub(crate) sum: u32,
    /// How often in a row it has fallen, and behind that a digest of by how much.
    fell: u16,
}
codec!(struct Came { kind, call, sign, other, sum, fell });

/// What a call came to, and what the one of its kind before it did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Kin {
    /// A mark of the first lines of its answer without their figures.
    pub(crate) head: u32,
    pub(crate) now: Came,
    pub(crate) before: Option<Came>,
}

impl Kin {
    /// Whether the same call was made before, as the latest of its kind.
    pub(crate) fn is_same_call(&self) -> bool {
        self.before.is_some_and(|before| before.call == self.now.call)
    }

    /// Whether the latest of its kind failed at the same root, or got an answer with the same heading but for its
    /// figures.
    pub(crate) fn is_alike(&self) -> bool {
        self.before.is_some_and(|before| before.sign == self.now.sign)
    }
}

impl Came {
    fn of(step: &Step, call: &Call, result: &ToolResult, salt: u64) -> (Self, u32) {
        let kind = mark(combine("stagnation", &[step.tool, step.agent, call.frame.into()]));
        let answer = result.output.as_str();
        let start = beginning(answer);
        let error = step.facts.class.and_then(|_| step.error(result, salt));
        let head = heading(start, HEAD);
        let (sign, sum) = match error {
            Some(root) => (mark(root) | 1, 0),
            None => ((head ^ foot(call, answer)) & !1, Figures::of(start).sum),
        };
        (Self { kind, call: mark(call.key), sign, other: 0, sum, fell: 0 }, head)
    }

    pub(crate) const fn is_error(&self) -> bool {
        self.sign & 1 == 1
    }
}

/// Half of a mark; 0 for none.
const fn half(mark: u32) -> u16 {
    (mark ^ mark >> 16) as u16
}

/// The words at the end of what a long view shows: a list that was scrolled has the same heading.
fn foot(call: &Call, answer: &str) -> u32 {
    if !call.asks.shows() || answer.len() < 2 * HEAD_BYTES {
        return 0;
    }
    frame(answer.get(answer.ceil_char_boundary(answer.len() - HEAD_BYTES)..).unwrap_or_default())
}

/// The first bytes of an answer.
pub(crate) fn beginning(answer: &str) -> &str {
    answer.get(..answer.floor_char_boundary(HEAD_BYTES)).unwrap_or_default()
}

impl News {
    /// Takes a step in, and notes in it what it and those before it brought.
    pub(crate) fn step(&mut self, step: &mut Step, result: &ToolResult, salt: u64) {
        let Some(call) = step.call.as_ref().filter(|call| !call.is_thought(step, result)) else { return };
        let (mut now, head) = Came::of(step, call, result, salt);
        let before = self.kinds.take(|known| known.kind == now.kind);
        let alike = before.filter(|before| before.sign == now.sign);
        // By turns with another one.
        let swings = before.is_some_and(|before| before.other != 0 && before.other == half(now.sign));
        now.other = before.map_or(0, |before| if alike.is_some() { before.other } else { half(before.sign) });
        // Fewer errors are fewer, whatever the first of them is.
        if let Some(before) = before.filter(|before| before.is_error() && now.is_error()) {
            now.sum = Left::of(&result.output).count();
            step.fewer = now.sum != 0 && now.sum < before.sum;
            now.sum = if before.sum == 0 || now.sum == 0 { now.sum.max(before.sum) } else { now.sum.min(before.sum) };
        } else if let Some(before) = alike {
            let by = before.sum.saturating_sub(now.sum);
            let short = ((by ^ by >> AMOUNT) as u16) << OFTEN.count_ones();
            now.fell = if by == 0 { 0 } else { short | ((before.fell & OFTEN) + 1).min(OFTEN) };
        }
        // By the same again, or for the third time in a row.
        let falls = alike.is_some_and(|before| {
            now.fell != 0 && (now.fell & !OFTEN == before.fell & !OFTEN || now.fell & OFTEN == OFTEN)
        });
        // That nothing was found, or went wrong without a word, is none.
        let empty = step.facts.negative || step.facts.failed && trimmed(&result.output).is_empty();
        let tells = before.is_some() || !empty;
        step.is_news = alike.is_none() && !swings && tells || falls || step.fewer;
        self.kinds.push(now, KINDS);
        step.kin = Kin { head, now, before };
    }

    pub(super) fn fits(&self) -> bool {
        self.kinds.len() <= KINDS
    }
}
