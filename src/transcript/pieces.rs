//! Splits JSON text without parsing it, so that a broken entry does not cost the whole document, every entry has a line
//! number, and of a long document only one entry at a time is held as values.
//!
//! Nothing is validated here: each piece is parsed by its reader.

use super::content;
use crate::{
    json,
    model::{Error, ErrorCode},
};
use alloc::{format, string::String, vec::Vec};
use serde_json::{Map, Value};

/// The text of a JSON value, and the line it begins on, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) line: u32,
    pub(super) text: &'a str,
}

/// The contents of a list or an object.
pub(super) struct Inside<'a> {
    /// Line it begins on.
    line: u32,
    /// The pieces; those of an object with their keys, unescaped as written.
    pub(super) pieces: Vec<(&'a str, Piece<'a>)>,
    /// Whether the closing bracket is present.
    pub(super) closed: bool,
}

impl Inside<'_> {
    /// Line of the last piece.
    pub(super) fn last_line(&self) -> u32 {
        self.pieces.last().map_or(self.line, |(_, last)| last.line)
    }
}

impl<'a> Piece<'a> {
    pub(super) fn is_list(self) -> bool {
        self.text.starts_with('[')
    }

    pub(super) fn is_object(self) -> bool {
        self.text.starts_with('{')
    }

    /// Parses the piece; errors carry the position in the whole text.
    pub(super) fn value(self) -> Result<Value, Error> {
        json::value(self.text).map_err(|mut error| {
            if let Some((what, place)) = error.message.rsplit_once(" at line ")
                && let Some((line, column)) = place.split_once(' ')
                && let Ok(line) = line.parse::<u32>()
                && line > 1
            {
                error.message = format!("{what} at line {} {column}", self.line.saturating_add(line - 1));
            }
            error
        })
    }

    /// Parses a piece that must be an object.
    pub(super) fn object(self) -> Result<Map<String, Value>, Error> {
        match self.value()? {
            Value::Object(map) => Ok(map),
            other => Err(Error::new(ErrorCode::InvalidEvent, "expected an object").with(other)),
        }
    }

    /// The elements of a list, or the members of an object.
    pub(super) fn inside(self) -> Inside<'a> {
        let mut inside = Inside { line: self.line, pieces: Vec::new(), closed: false };
        let (keyed, end) = match self.text.as_bytes().first() {
            Some(b'{') => (true, b'}'),
            Some(b'[') => (false, b']'),
            _ => return inside,
        };
        let mut cut = Cut { whole: self, keyed, key: "", start: 1, line: self.line, counted: 0 };
        let mut scan = Scan { text: self.text, at: 1, depth: 0 };
        loop {
            let next = scan.next();
            if next.is_some() && scan.depth > 0 {
                continue;
            }
            let (at, byte) = match next {
                Some((at, b':')) => {
                    if keyed && cut.key.is_empty() {
                        cut.key_ends(at);
                    }
                    continue;
                }
                // A closing bracket of the other kind is surplus, and part of a broken piece.
                Some((at, byte)) if byte == b',' || byte == end => (at, Some(byte)),
                Some(_) => continue,
                None => (self.text.len(), None),
            };
            match cut.piece_ends(at, &mut inside.pieces) {
                Some(resume) => scan = Scan { text: self.text, at: resume, depth: 0 },
                None if byte == Some(b',') => {}
                None => {
                    inside.closed = byte.is_some();
                    return inside;
                }
            }
        }
    }
}

/// Cuts a list or an object into pieces.
struct Cut<'a> {
    whole: Piece<'a>,
    keyed: bool,
    key: &'a str,
    start: usize,
    line: u32,
    /// Offset up to which line ends were counted.
    counted: usize,
}

impl<'a> Cut<'a> {
    fn key_ends(&mut self, at: usize) {
        let key = self.whole.text.get(self.start..at).unwrap_or_default().trim();
        self.key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
        self.start = at + 1;
    }

    /// Ends the piece at an offset. A broken element of a list ends before the next line that begins like it; then the
    /// offset to continue from is returned.
    fn piece_ends(&mut self, at: usize, pieces: &mut Vec<(&'a str, Piece<'a>)>) -> Option<usize> {
        let raw = self.whole.text.get(self.start..at).unwrap_or_default();
        let text = raw.trim();
        let begins = self.start + raw.len() - raw.trim_start().len();
        let line = self.line_of(begins);
        let mut resume = None;
        let mut piece = Piece { line, text };
        if !self.keyed
            && let Some(length) = self.broken_off(begins, text)
        {
            piece.text = text.get(..length).unwrap_or(text).trim_end().trim_end_matches(',');
            resume = Some(begins + length);
        }
        if !text.is_empty() {
            pieces.push((self.key, piece));
        }
        self.key = "";
        self.start = resume.unwrap_or(at + 1);
        resume
    }

    /// Length of a broken element that spans several lines; `None` if it is not broken.
    fn broken_off(&self, begins: usize, text: &str) -> Option<usize> {
        if !text.starts_with('{') || !text.contains('\n') {
            return None;
        }
        let before = self.whole.text.get(..begins)?;
        let indent = before.get(before.rfind('\n')? + 1..)?;
        if !indent.trim().is_empty() {
            return None;
        }
        let mut offset = text.find('\n')? + 1;
        let next = loop {
            let line = text.get(offset..)?;
            if line.strip_prefix(indent).is_some_and(|line| line.starts_with('{')) {
                break offset;
            }
            offset += line.find('\n')? + 1;
        };
        json::value(text).is_err().then_some(next)
    }

    fn line_of(&mut self, offset: usize) -> u32 {
        let between = self.whole.text.get(self.counted..offset).unwrap_or_default();
        self.line = self.line.saturating_add(line_ends(between));
        self.counted = self.counted.max(offset);
        self.line
    }
}

/// The documents of a text: single lines, documents of several lines, or a mixture. Blank lines are skipped.
pub(super) struct Documents<'a> {
    whole: usize,
    rest: &'a str,
    line: u32,
}

impl<'a> Documents<'a> {
    /// The documents of a text that begins on `line`.
    pub(super) const fn new(text: &'a str, line: u32) -> Self {
        Self { whole: text.len(), rest: text, line }
    }

    /// Offset and line at which the rest begins.
    pub(super) const fn place(&self) -> (usize, u32) {
        (self.whole - self.rest.len(), self.line)
    }

    /// Whether there is another document.
    pub(super) fn more(&self) -> bool {
        !self.rest.trim_start().is_empty()
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        while !self.rest.is_empty() {
            let rest = self.rest;
            let (first, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let trimmed = first.trim();
            if trimmed.is_empty() {
                (self.rest, self.line) = (after, self.line.saturating_add(1));
                continue;
            }
            let begins = first.len() - first.trim_start().len();
            let (piece, next) = match goes_on(trimmed, after).then(|| rest.get(begins..)).flatten() {
                Some(whole) => {
                    let length = Scan { text: whole, at: 0, depth: 0 }.value_ends().unwrap_or(whole.len());
                    whole.split_at_checked(length).unwrap_or((whole, ""))
                }
                None => (trimmed, after),
            };
            let piece = Piece { line: self.line, text: piece.trim_end() };
            let read = rest.get(..rest.len() - next.len()).unwrap_or_default();
            self.line = self.line.saturating_add(line_ends(read));
            self.rest = next;
            return Some(piece);
        }
        None
    }
}

/// Whether a document that begins with this line continues on the next; a truncated line does not.
fn goes_on(line: &str, after: &str) -> bool {
    if !line.starts_with(['{', '[']) {
        return false;
    }
    let mut scan = Scan { text: line, at: 0, depth: 0 };
    let mut last = b' ';
    while let Some((_, byte)) = scan.next() {
        last = byte;
        if scan.depth == 0 {
            return false;
        }
    }
    let Some(next) = after.lines().find(|line| !line.trim().is_empty()) else { return false };
    // After a complete value comes a comma or a bracket, unlike in the words of a log. No string spans lines, and after
    // a comma in an object comes a key.
    let expects_more = line.ends_with(['{', '[', ',', ':']);
    let begins = next.trim_start();
    let fits = if expects_more {
        begins.starts_with(|char: char| char.is_ascii_digit() || r#"{["-}]"#.contains(char))
            || content::begins(begins, &["true", "false", "null"])
    } else {
        begins.starts_with([',', '}', ']'])
    };
    !scan.in_text() && fits && (!next.starts_with('{') || line.starts_with('[') || last == b'[')
}

fn line_ends(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

/// Scans the brackets, commas and colons of JSON text; an unclosed string ends with its line.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// Open brackets after the last byte returned.
    depth: usize,
}

impl Scan<'_> {
    fn next(&mut self) -> Option<(usize, u8)> {
        loop {
            let at = self.at;
            let byte = *self.text.as_bytes().get(at)?;
            self.at = at + 1;
            match byte {
                b'"' => self.skip_text(),
                b'{' | b'[' => {
                    self.depth += 1;
                    return Some((at, byte));
                }
                b'}' | b']' => {
                    let outside = self.depth == 0;
                    self.depth = self.depth.saturating_sub(1);
                    // The bracket that closes a piece belongs to it.
                    if outside || self.depth == 0 {
                        return Some((at, if outside { byte } else { b'x' }));
                    }
                }
                b',' | b':' => return Some((at, byte)),
                _ => {}
            }
        }
    }

    fn skip_text(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' => self.at += 2,
                b'\n' => return,
                _ => self.at += 1,
            }
        }
        // Past the end: the string is not closed.
        self.at = bytes.len() + 1;
    }

    fn in_text(&self) -> bool {
        self.at > self.text.len()
    }

    /// Offset at which the value that begins here ends; `None` if it does not end.
    fn value_ends(mut self) -> Option<usize> {
        while self.next().is_some() {
            if self.depth == 0 {
                return Some(self.at);
            }
        }
        None
    }
}
