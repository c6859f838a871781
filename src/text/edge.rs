//! The first and the last line of an answer, told by what is not a figure in them.

use super::digest::{mark, salted};
use super::mask::{end_of_digits, first_digit};

/// Bytes of such a line at most.
const LONGEST: usize = 160;

/// A line at one end of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The line without its figures.
    pub(crate) shape: u32,
    pub(crate) line: u32,
    /// There is nothing else.
    pub(crate) alone: bool,
}

impl Edge {
    fn of(line: &str, alone: bool, salt: u64) -> Option<Self> {
        let bytes = line.as_bytes();
        if bytes.len() > LONGEST {
            return None;
        }
        let first = first_digit(bytes)?;
        if !bytes.iter().any(u8::is_ascii_alphabetic) {
            return None;
        }
        let (mut shape, mut length, mut at) = ([0; LONGEST], 0, 0);
        while let (Some(byte), Some(free)) = (bytes.get(at), shape.get_mut(length)) {
            let end = if at < first { at } else { end_of_digits(bytes, at) };
            *free = if end > at { b'#' } else { *byte };
            (length, at) = (length + 1, end.max(at + 1));
        }
        let shape = shape.get(..length).unwrap_or_default();
        Some(Self { shape: mark(salted("edge/shape", salt, shape)), line: mark(salted("edge", salt, bytes)), alone })
    }
}

/// The first and the last line, where there are figures in them. Objects and lists have no lines.
pub(crate) fn edges(answer: &str, salt: u64) -> [Option<Edge>; 2] {
    let text = answer.trim();
    let list = || text.strip_prefix('[').is_some_and(|inside| !inside.starts_with(|char: char| char.is_alphabetic()));
    if text.starts_with('{') && text.ends_with('}') || text.ends_with(']') && list() {
        return [None; 2];
    }
    let first = text.split('\n').next().unwrap_or_default();
    let last = text.rsplit('\n').next().unwrap_or_default();
    let alone = first.len() == text.len();
    [Edge::of(first.trim_end(), alone, salt), Edge::of(last.trim_start(), alone, salt)]
}
