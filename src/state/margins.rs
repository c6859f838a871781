//! Lines that a harness writes at the head or the foot of every answer: `Step 12/50`, `<system_warning>Token usage:
//! 4711/20000`.
//!
//! Such a line differs each time, so no answer would ever repeat. Words do not give it away: a job's progress and an
//! agent's spending read alike. What does is that it is always there and always changes, whatever was called: the same
//! line but for its figures after [`KINDS`] kinds of calls, in [`ANSWERS`] answers in a row. A status polled over and
//! over is one kind of call, and looking at a score does not change it.

use crate::codec::codec;
use crate::text::{Edge, edges};

/// Answers in a row with a line before it is taken for the harness's.
const ANSWERS: u8 = 4;
/// Different kinds of calls it must have followed.
const KINDS: usize = 3;
/// Cap of [`Margin::seen`]: answers without an established line until it is forgotten.
const MOST: u8 = 8;

/// The two ends of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Margins {
    head: Margin,
    foot: Margin,
}
codec!(struct Margins { head, foot });

/// A line that may be the harness's.
#[derive(Clone, Copy, Debug, Default)]
struct Margin {
    /// Hash of the line without its figures.
    shape: u32,
    /// Hash of the line as it last read.
    line: u32,
    /// Answers with it, less those without it.
    seen: u8,
    /// Kinds of the calls it followed; 0 for an unused place.
    kinds: [u32; KINDS],
}
codec!(struct Margin { shape, line, seen, kinds });

impl Margin {
    fn first(Edge { shape, line, .. }: Edge, kind: u32) -> Self {
        Self { shape, line, seen: 1, kinds: core::array::from_fn(|place| if place == 0 { kind } else { 0 }) }
    }

    /// Takes in the line at this end of an answer, and tells whether it is the harness's.
    fn sees(&mut self, edge: Option<Edge>, kind: u32) -> bool {
        match edge {
            Some(edge) if edge.shape == self.shape && edge.line != self.line => {
                self.seen = self.seen.saturating_add(1).min(MOST);
                if let Some(free) = self.kinds.iter_mut().find(|known| **known == 0 || **known == kind) {
                    *free = kind;
                }
                self.line = edge.line;
            }
            _ => {
                self.seen = self.seen.saturating_sub(1);
                if self.seen == 0 {
                    *self = edge.filter(|edge| !edge.alone).map_or_else(Self::default, |edge| Self::first(edge, kind));
                }
            }
        }
        let known = self.seen >= ANSWERS && self.kinds.iter().all(|kind| *kind != 0);
        known && edge.is_some_and(|edge| edge.shape == self.shape)
    }
}

impl Margins {
    /// An answer to a call of this kind without the harness's lines; `None` if there are none.
    pub(crate) fn within<'a>(&mut self, answer: &'a str, kind: u32, salt: u64) -> Option<&'a str> {
        let [head, foot] = edges(answer, salt);
        let (above, below) = (self.head.sees(head, kind), self.foot.sees(foot, kind));
        if !above && !below {
            return None;
        }
        let mut rest = answer.trim();
        if above {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest.trim_start());
        }
        if below {
            rest = rest.rsplit_once('\n').map_or("", |(rest, _)| rest.trim_end());
        }
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::Margins;
    use alloc::{format, string::String, vec::Vec};

    /// What is left of the last of these answers, each given with its kind of call.
    fn left(answers: &[(u32, &str)]) -> Option<String> {
        let mut margins = Margins::default();
        answers.iter().fold(None, |_, (kind, answer)| margins.within(answer, *kind, 0).map(Into::into))
    }

    #[test]
    fn lines_under_whatever_was_called() {
        for (last, rest) in [("the list\nStep 4/50", "the list"), ("Step 4/50", "")] {
            let answers = [(1, "a file\nStep 1/50"), (2, "a row\n\nStep 2/50"), (3, "ok\nStep 3/50"), (1, last)];
            assert_eq!(left(&answers).as_deref(), Some(rest), "{last}");
        }
        let heads = [(1, "(7 left)\na"), (2, "(6 left)\nb\nc"), (3, "(5 left)\n\nd"), (2, "(4 left)\ne\n(4 left)")];
        assert_eq!(left(&heads).as_deref(), Some("e\n(4 left)"));
    }

    #[test]
    fn lines_of_the_answers() {
        let one_kind =
            [(1, "job a\nStep 1/50"), (1, "job a\nStep 2/50"), (1, "job a\nStep 3/50"), (1, "job a\nStep 4/50")];
        let two_kinds =
            [(1, "job a\nStep 1/50"), (2, "job b\nStep 2/50"), (1, "job a\nStep 3/50"), (2, "job b\nStep 4/50")];
        let rests = [(1, "won\nscore 1"), (2, "a field\nscore 1"), (3, "a map\nscore 1"), (1, "won\nscore 2")];
        let others = [(1, "a\nStep 1/50"), (2, "b\nStep 2/50"), (3, "nothing"), (1, "c\nStep 4/50")];
        let lines = [(1, "page 1"), (2, "page 2"), (3, "page 3"), (4, "page 4")];
        for answers in [one_kind, two_kinds, rests, others, lines] {
            assert_eq!(left(&answers), None, "{answers:?}");
        }
    }

    #[test]
    fn it_may_be_missing_now_and_then() {
        let mut answers: Vec<_> = [1, 2, 3, 1, 2, 3].into_iter().zip(["1", "2", "3", "4", "5", "6"]).collect();
        let texts: Vec<String> = answers.iter().map(|(_, number)| format!("answer\n{number} tokens used")).collect();
        answers.iter_mut().zip(&texts).for_each(|(answer, text)| answer.1 = text);
        answers.extend([(3, "none"), (1, "answer\n9 tokens used")]);
        assert_eq!(left(&answers).as_deref(), Some("answer"));
    }
}
