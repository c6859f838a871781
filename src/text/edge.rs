//! The first and the last line of an answer, compared apart from their numbers.

use super::digest::{mark, salted};
use super::lines::{Lines, first_line, trimmed};
use super::scan::each_number;

/// Length limit in bytes of such a line.
const LONGEST: usize = 160;

/// A line at one end of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// Half of the key of the line with its numbers masked.
    pub(crate) shape: u32,
    /// Half of the key of the line as it is.
    pub(crate) line: u32,
    /// It is the answer's only line.
    pub(crate) alone: bool,
}

impl Edge {
    fn of(line: &str, alone: bool, salt: u64) -> Option<Self> {
        let bytes = line.as_bytes();
        if bytes.len() > LONGEST {
            return None;
        }
        if !bytes.iter().any(u8::is_ascii_alphabetic) {
            return None;
        }
        let (mut shape, mut length, mut copied) = ([0; LONGEST], 0, 0);
        let mut write = |text: &[u8]| {
            if let Some(room) = shape.get_mut(length..length + text.len()) {
                room.copy_from_slice(text);
            }
            length += text.len();
        };
        each_number(bytes, |start, end| {
            write(bytes.get(copied..start).unwrap_or_default());
            write(b"#");
            copied = end;
        });
        if copied == 0 {
            return None;
        }
        write(bytes.get(copied..)?);
        let shape = shape.get(..length)?;
        Some(Self { shape: mark(salted("edge/shape", salt, shape)), line: mark(salted("edge", salt, bytes)), alone })
    }
}

/// The first and the last line, if they hold both letters and digits. JSON objects and lists have none.
pub(crate) fn edges(answer: &str, salt: u64) -> [Option<Edge>; 2] {
    let text = trimmed(answer);
    let list = || text.strip_prefix('[').is_some_and(|inside| !inside.starts_with(|char: char| char.is_alphabetic()));
    if text.starts_with('{') && text.ends_with('}') || text.ends_with(']') && list() {
        return [None; 2];
    }
    let (first, _) = first_line(text);
    let last = Lines(text).next_back().unwrap_or_default();
    let alone = first.len() == text.len();
    [Edge::of(first.trim_end(), alone, salt), Edge::of(last.trim_start(), alone, salt)]
}
