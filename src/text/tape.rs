//! JSON text as a tape: its values in source order, each with the position of its text.
//!
//! Outputs in JSON are read to be compared, not to be kept: a tape needs no allocation per value, and its buffers are
//! reused for the next output. It accepts what `serde_json` accepts. What a field's name says is known while reading:
//! volatile fields are marked at once and possibly volatile values are noted, so that no second pass over all values is
//! needed.

use super::canonical::escape;
use super::fields::{EnvelopeFields, FieldMeaning, NameFeatures};
use super::mask::{HIGH, ONES, digits_of, end_of_digits};
use alloc::{string::String, vec::Vec};
use serde_json::Number;

mod write;

/// Deepest nesting that is read.
const DEPTH: usize = 127;

/// What a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tag {
    #[default]
    Null,
    True,
    False,
    Number,
    Text,
    List,
    Object,
    /// What was a number, and is a time.
    Time,
}

/// A value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Node {
    pub(super) tag: Tag,
    /// Some of the bits below.
    flags: u8,
    /// The byte range of its text, without quotation marks. Of a list or an object: the index of the node after it, and
    /// how many values it has.
    from: u32,
    to: u32,
    /// Of a field's value, the index of its name; else [`NAMELESS`].
    name: u32,
}

/// The text is in the tape's own buffer: it had escapes or was masked.
const OWN: u8 = 1;
/// A number that is already canonical; a text without digits or escapes.
const PLAIN: u8 = 1 << 1;
/// The value of a field that is left out.
const GONE: u8 = 1 << 2;

/// Not the value of a field.
const NAMELESS: u32 = u32::MAX;

impl Node {
    fn is(self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    fn is_nest(self) -> bool {
        matches!(self.tag, Tag::List | Tag::Object)
    }

    /// The index of the node after the one at `at` and everything in it.
    fn next(self, at: usize) -> usize {
        if self.is_nest() { self.from as usize } else { at + 1 }
    }

    pub(super) fn is_gone(self) -> bool {
        self.is(GONE)
    }
}

/// The name of a field.
#[derive(Clone, Copy, Debug)]
struct Name {
    /// Its byte range in `texts`, where it stands as in canonical JSON: in quotation marks, with a colon.
    from: u32,
    to: u32,
    /// In the source it has escapes, which canonical JSON may need too.
    escaped: bool,
    /// Its first eight bytes, for comparing them at once.
    begins: u64,
    told: NameFeatures,
    /// The name that last followed it.
    next: u32,
}

/// The values of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Tape {
    nodes: Vec<Node>,
    /// Texts that differ from the source.
    own: String,
    /// Names of fields, of earlier documents too: the first [`DISTINCT`] once each, the others as often as they occur.
    names: Vec<Name>,
    /// Their texts, concatenated.
    texts: String,
    /// The fields of the objects being written, sorted by name.
    fields: Vec<(u64, u32)>,
    /// How many values carry content, judging by the names of their fields.
    meant: usize,
    /// The texts and numbers among them that may be volatile, in order.
    doubtful: Vec<u32>,
}

impl Tape {
    /// Reads a whole document; `None` if `text` is not valid JSON.
    pub(super) fn read<'a>(&'a mut self, text: &'a str) -> Option<Read<'a>> {
        self.nodes.clear();
        self.own.clear();
        if self.names.len() > DISTINCT || self.texts.len() > TEXTS {
            self.names.clear();
            self.texts.clear();
        }
        self.fields.clear();
        self.meant = 0;
        self.doubtful.clear();
        // Positions have 32 bits; nobody compares longer texts.
        u32::try_from(text.len()).ok()?;
        let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, tape: self, latest: NAMELESS };
        reader.blanks();
        reader.value(DEPTH, NAMELESS)?;
        reader.blanks();
        (reader.at == text.len()).then_some(())?;
        Some(Read { text, tape: self })
    }

    fn node(&self, at: usize) -> Node {
        self.nodes.get(at).copied().unwrap_or_default()
    }

    /// The text of a string or number read from `source`.
    fn text<'t>(&'t self, source: &'t str, node: Node) -> &'t str {
        let source = if node.is(OWN) { self.own.as_str() } else { source };
        source.get(node.from as usize..node.to as usize).unwrap_or_default()
    }

    fn name(&self, name: Name) -> &str {
        self.texts.get(name.from as usize + 1..name.to as usize - 2).unwrap_or_default()
    }

    /// Leaves out the field with this value, which contains `meant` values with content, and forgets the doubtful ones
    /// in it.
    fn drop_field(&mut self, value: usize, meant: usize) {
        let Some(node) = self.nodes.get_mut(value) else { return };
        node.flags |= GONE;
        self.meant = self.meant.saturating_sub(meant);
        let (from, to) = (value as u32, node.next(value) as u32);
        let (first, behind) =
            (self.doubtful.partition_point(|value| *value < from), self.doubtful.partition_point(|value| *value < to));
        self.doubtful.drain(first..behind);
    }

    /// How many values with content a value has: of a list or an object, those in it.
    fn meaning(&self, at: usize) -> usize {
        let node = self.node(at);
        if !node.is_nest() || node.to == 0 {
            return 1;
        }
        let (mut at, mut meaning) = (at + 1, 0);
        while at < node.from as usize {
            let value = self.node(at);
            meaning += if value.is_gone() { 0 } else { self.meaning(at) };
            at = value.next(at);
        }
        meaning
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    tape: &'a mut Tape,
    /// The name read before this.
    latest: u32,
}

impl Reader<'_> {
    #[inline]
    fn byte(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    fn blanks(&mut self) {
        // Compact JSON has none.
        if self.byte() <= b' ' {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r')).count();
        }
    }

    #[inline]
    fn push(&mut self, tag: Tag, flags: u8, span: (usize, usize), name: u32) {
        // Every position in the text, and so every index of a node, fits: `Tape::read` has checked its length.
        self.tape.nodes.push(Node { tag, flags, from: span.0 as u32, to: span.1 as u32, name });
    }

    /// Reads the value that begins here; `name` is that of its field.
    #[inline(never)]
    fn value(&mut self, depth: usize, name: u32) -> Option<()> {
        match self.byte() {
            b'"' => {
                let plain = self.any_string(name)?;
                self.means(!plain);
            }
            b'{' => self.object(depth, name)?,
            b'[' => self.list(depth, name)?,
            b't' => self.word("true", Tag::True, name)?,
            b'f' => self.word("false", Tag::False, name)?,
            b'n' => self.word("null", Tag::Null, name)?,
            _ => self.any_number(name)?,
        }
        Some(())
    }

    /// Counts the value just read as content; a `doubtful` one may turn out to be volatile.
    #[inline]
    fn means(&mut self, doubtful: bool) {
        self.tape.meant += 1;
        if doubtful {
            self.tape.doubtful.push(self.tape.nodes.len() as u32 - 1);
        }
    }

    #[inline]
    fn word(&mut self, word: &str, tag: Tag, name: u32) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word.as_bytes()).then_some(())?;
        let start = self.at;
        self.at += word.len();
        self.push(tag, PLAIN, (start, self.at), name);
        self.means(false);
        Some(())
    }

    #[inline(never)]
    fn list(&mut self, depth: usize, name: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.at += 1;
        let index = self.tape.nodes.len();
        self.push(Tag::List, 0, (0, 0), name);
        let mut length = 0;
        self.blanks();
        while self.byte() != b']' {
            if length > 0 {
                self.comma()?;
            }
            self.value(depth, NAMELESS)?;
            length += 1;
            self.blanks();
        }
        self.close(index, length)
    }

    #[inline(never)]
    fn object(&mut self, depth: usize, name: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.at += 1;
        let index = self.tape.nodes.len();
        self.push(Tag::Object, 0, (0, 0), name);
        let (mut length, mut parts) = (0, EnvelopeFields::default());
        self.blanks();
        while self.byte() != b'}' {
            if length > 0 {
                self.comma()?;
            }
            let (name, told) = self.name()?;
            self.blanks();
            (self.byte() == b':').then_some(())?;
            self.at += 1;
            self.blanks();
            length += 1;
            let (value, meant) = (self.tape.nodes.len(), self.tape.meant);
            // The most common kinds of values are read without a call.
            match self.byte() {
                b'"' => {
                    let plain = self.string(name)?;
                    self.means(!plain);
                }
                b'0'..=b'9' => self.number(name)?,
                _ => self.value(depth, name)?,
            }
            parts.add(told.part);
            let goes = match told.named {
                FieldMeaning::Content => false,
                FieldMeaning::Volatile => true,
                named @ (FieldMeaning::Id | FieldMeaning::Doing) => {
                    let value = self.tape.node(value);
                    value.tag == Tag::Text && is_drawn(self.tape.text(self.text, value), named == FieldMeaning::Doing)
                }
            };
            if goes {
                self.tape.drop_field(value, self.tape.meant - meant);
            }
            self.blanks();
        }
        self.close(index, length)?;
        if parts.wrap() {
            self.unwrap(index);
        }
        Some(())
    }

    /// Reads the name of a field. The objects of a list mostly have the same fields in the same order, so each name is
    /// expected after the one that it last followed.
    fn name(&mut self) -> Option<(u32, NameFeatures)> {
        let names = &self.tape.names;
        let expected = names.get(self.latest as usize).map_or(0, |latest| latest.next);
        if let Some(known) = names.get(expected as usize).filter(|known| !known.escaped) {
            // With its quotation marks.
            let quoted = self.tape.texts.get(known.from as usize..known.to as usize - 1)?;
            if self.bytes.get(self.at..)?.starts_with(quoted.as_bytes()) {
                self.at += quoted.len();
                self.latest = expected;
                return Some((expected, known.told));
            }
        }
        self.other_name()
    }

    /// Reads a name that is not the expected one.
    #[inline(never)]
    fn other_name(&mut self) -> Option<(u32, NameFeatures)> {
        (self.byte() == b'"').then_some(())?;
        // Read like a value, and removed again.
        self.any_string(NAMELESS)?;
        let read = self.tape.nodes.pop()?;
        let tape = &mut *self.tape;
        let source = if read.is(OWN) { &tape.own } else { self.text };
        let name = source.get(read.from as usize..read.to as usize)?;
        let begins = begins(name);
        let same = |known: &Name| known.begins == begins && tape.name(*known) == name;
        let index = tape.names.iter().take(DISTINCT).position(same).unwrap_or_else(|| {
            let from = tape.texts.len() as u32;
            tape.texts.push('"');
            tape.texts.push_str(name);
            tape.texts.push_str("\":");
            let (to, told) = (tape.texts.len() as u32, NameFeatures::of(name));
            tape.names.push(Name { from, to, escaped: read.is(OWN), begins, told, next: NAMELESS });
            tape.names.len() - 1
        });
        let told = tape.names.get(index)?.told;
        // No document has more names than bytes.
        let index = index as u32;
        if let Some(latest) = tape.names.get_mut(self.latest as usize) {
            latest.next = index;
        }
        self.latest = index;
        Some((index, told))
    }

    fn comma(&mut self) -> Option<()> {
        (self.byte() == b',').then_some(())?;
        self.at += 1;
        self.blanks();
        Some(())
    }

    /// Ends a list or an object with `length` values.
    fn close(&mut self, index: usize, length: u32) -> Option<()> {
        self.at += 1;
        // Being empty is content.
        self.tape.meant += usize::from(length == 0);
        let next = u32::try_from(self.tape.nodes.len()).ok()?;
        let node = self.tape.nodes.get_mut(index)?;
        (node.from, node.to) = (next, length);
        Some(())
    }

    /// Leaves out the fields of a message's wrapper that number the message.
    #[cold]
    fn unwrap(&mut self, index: usize) {
        let (mut at, end) = (index + 1, self.tape.node(index).from as usize);
        while at < end {
            let value = self.tape.node(at);
            if !value.is_gone() && self.tape.names.get(value.name as usize).is_some_and(|name| name.told.part.numbers())
            {
                self.tape.drop_field(at, self.tape.meaning(at));
            }
            at = value.next(at);
        }
    }

    /// Reads a string; returns whether it is plain, without digits and escapes.
    #[inline(always)]
    fn string(&mut self, name: u32) -> Option<bool> {
        self.at += 1;
        let start = self.at;
        let (length, digit) = plain(self.bytes.get(start..)?)?;
        self.at = start + length;
        if self.byte() == b'"' {
            self.push(Tag::Text, if digit { 0 } else { PLAIN }, (start, self.at), name);
            self.at += 1;
            return Some(!digit);
        }
        self.escaped_string(start, name)
    }

    /// The same, where inlining does not pay.
    #[inline(never)]
    fn any_string(&mut self, name: u32) -> Option<bool> {
        self.string(name)
    }

    /// The rest of a string with escapes, from the first escape on; `start` is where its text begins.
    #[inline(never)]
    fn escaped_string(&mut self, start: usize, name: u32) -> Option<bool> {
        let from = self.tape.own.len();
        let mut copied = start;
        while self.byte() == b'\\' {
            self.tape.own.push_str(self.text.get(copied..self.at)?);
            let character = self.escaped()?;
            self.tape.own.push(character);
            copied = self.at;
            self.at += escape(self.bytes.get(self.at..)?)?;
        }
        (self.byte() == b'"').then_some(())?;
        self.tape.own.push_str(self.text.get(copied..self.at)?);
        self.at += 1;
        self.push(Tag::Text, OWN, (from, self.tape.own.len()), name);
        Some(false)
    }

    /// Reads an escape and returns the character that it stands for.
    fn escaped(&mut self) -> Option<char> {
        let kind = *self.bytes.get(self.at + 1)?;
        self.at += 2;
        Some(match kind {
            b'"' | b'\\' | b'/' => char::from(kind),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.unit()?;
                if !(0xd800..0xe000).contains(&first) {
                    return char::from_u32(first);
                }
                (first < 0xdc00 && self.bytes.get(self.at..self.at + 2)? == b"\\u").then_some(())?;
                self.at += 2;
                let second = self.unit()?.checked_sub(0xdc00).filter(|second| *second < 0x400)?;
                return char::from_u32(0x10000 + ((first - 0xd800) << 10) + second);
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    }

    #[inline(never)]
    fn digits(&mut self) -> usize {
        let start = self.at;
        self.at = end_of_digits(self.bytes, start);
        self.at - start
    }

    /// Reads a short non-negative integer, as most numbers are, or any other number.
    #[inline(always)]
    fn number(&mut self, name: u32) -> Option<()> {
        let (start, first) = (self.at, self.byte());
        let end = end_of_digits(self.bytes, start);
        let length = end - start;
        let goes_on = matches!(self.bytes.get(end), Some(b'.' | b'e' | b'E'));
        // Only a lone zero may begin with 0; a sign is not a digit.
        if goes_on || length >= SIMPLE || length == 0 || first == b'0' && length > 1 {
            return self.any_number(name);
        }
        self.at = end;
        self.push(Tag::Number, PLAIN, (start, end), name);
        self.means(length >= SHORTEST_EPOCH);
        Some(())
    }

    /// Reads any number.
    #[inline(never)]
    fn any_number(&mut self, name: u32) -> Option<()> {
        let start = self.at;
        self.at += usize::from(self.byte() == b'-');
        let leading_zero = self.byte() == b'0';
        let whole = self.digits();
        (whole == 1 || whole > 1 && !leading_zero).then_some(())?;
        let mut simple = self.at - start < SIMPLE;
        if self.byte() == b'.' {
            self.at += 1;
            simple = false;
            (self.digits() > 0).then_some(())?;
        }
        if matches!(self.byte(), b'e' | b'E') {
            self.at += 1;
            simple = false;
            self.at += usize::from(matches!(self.byte(), b'+' | b'-'));
            (self.digits() > 0).then_some(())?;
        }
        if !simple {
            // Some numbers are too large for a double.
            parsed(self.text.get(start..self.at)?)?;
        }
        simple &= !(leading_zero && self.at - start > 1);
        self.push(Tag::Number, if simple { PLAIN } else { 0 }, (start, self.at), name);
        self.means(!simple || self.at - start >= SHORTEST_EPOCH);
        Some(())
    }
}

/// Minimum number of characters of a number that may be a time.
pub(super) const SHORTEST_EPOCH: usize = 10;

/// Whether an id looks randomly generated; with `short`, six hexadecimal digits are enough.
pub(super) fn is_drawn(id: &str, short: bool) -> bool {
    let has = |class: fn(&u8) -> bool| id.as_bytes().iter().any(class);
    has(u8::is_ascii_digit)
        && (id.len() >= 12 && has(u8::is_ascii_alphabetic) && !id.contains(char::is_whitespace)
            || short && id.len() >= 6 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Number of names that are stored once; where names are keys, there will always be others.
const DISTINCT: usize = 64;
/// Bytes of names that are kept for the next document.
const TEXTS: usize = 2048;

/// The first eight bytes of a name.
fn begins(name: &str) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    u64::from_be_bytes(bytes)
}

/// Characters below which an integer is written as it stands, except for `-0`.
const SIMPLE: usize = 16;

/// The number of bytes before the first that ends a JSON string or begins an escape, and whether there is a digit among
/// them. Eight bytes at a time.
#[inline]
fn plain(bytes: &[u8]) -> Option<(usize, bool)> {
    let (mut at, mut digits) = (0, 0);
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        let seven = word & !HIGH;
        let is = |byte: u8| !((seven ^ (ONES * u64::from(byte))) + (ONES * 0x7f));
        let control = !(seven + ONES * 0x60);
        let stop = (control | is(b'"') | is(b'\\')) & !word & HIGH;
        let digit = digits_of(word);
        if stop != 0 {
            let before = (stop & stop.wrapping_neg()) - 1;
            return Some((at + stop.trailing_zeros() as usize / 8, digits | digit & before != 0));
        }
        digits |= digit;
        at += 8;
    }
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'))?;
    let digit = rest.iter().take(end).any(u8::is_ascii_digit);
    Some((at + end, digits != 0 || digit))
}

fn parsed(text: &str) -> Option<Number> {
    serde_json::from_str(text).ok()
}

/// A document that was read.
pub(super) struct Read<'a> {
    text: &'a str,
    tape: &'a mut Tape,
}

impl Read<'_> {
    pub(super) fn node(&self, at: u32) -> Node {
        self.tape.node(at as usize)
    }

    /// All values, in the order of the text.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Node> {
        self.tape.nodes.iter().copied()
    }

    /// How many values carry content, judging by the names of their fields.
    pub(super) fn meant(&self) -> usize {
        self.tape.meant
    }

    /// The text or number with this index among those that may be volatile.
    pub(super) fn doubtful(&self, index: usize) -> Option<u32> {
        self.tape.doubtful.get(index).copied()
    }

    /// Marks a number as a time.
    pub(super) fn mark_time(&mut self, at: u32) {
        if let Some(node) = self.tape.nodes.get_mut(at as usize) {
            node.tag = Tag::Time;
        }
    }

    /// Whether a text is known to have no digits.
    pub(super) fn is_plain(node: Node) -> bool {
        node.is(PLAIN)
    }

    /// The text of a string or a number.
    pub(super) fn text(&self, node: Node) -> &str {
        self.tape.text(self.text, node)
    }

    /// The name of a field, given its value.
    pub(super) fn name(&self, node: Node) -> &str {
        self.named(node).map_or("", |name| self.tape.name(name))
    }

    fn named(&self, node: Node) -> Option<Name> {
        self.tape.names.get(node.name as usize).copied()
    }

    /// Replaces the text of a value.
    pub(super) fn replace(&mut self, at: u32, text: &str) {
        let from = self.tape.own.len();
        self.tape.own.push_str(text);
        let to = self.tape.own.len();
        if let (Some(node), Ok(from), Ok(to)) = (self.tape.nodes.get_mut(at as usize), from.try_into(), to.try_into()) {
            node.flags = node.flags & !PLAIN | OWN;
            (node.from, node.to) = (from, to);
        }
    }

    /// The indices of the values in a list or an object.
    pub(super) fn children(&self, at: u32) -> Children {
        let node = self.node(at);
        Children { next: at + 1, left: if node.is_nest() { node.to } else { 0 } }
    }

    /// Whether a value is `null`, or an empty list or object.
    pub(super) fn is_empty(&self, at: u32) -> bool {
        let node = self.node(at);
        node.tag == Tag::Null || node.is_nest() && node.to == 0
    }

    /// The value of a number.
    pub(super) fn number(&self, node: Node) -> Option<Number> {
        (node.tag == Tag::Number).then(|| parsed(self.text(node)))?
    }
}

/// An iterator over the indices of the values in a list or an object.
#[derive(Clone, Copy)]
pub(super) struct Children {
    next: u32,
    left: u32,
}

impl Children {
    pub(super) fn next(&mut self, read: &Read<'_>) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let at = self.next;
        self.next = read.node(at).next(at as usize) as u32;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::canonical::canonical_json;
    use alloc::string::ToString;
    use serde_json::Value;

    /// Canonical JSON by the tape, and by the library's tree.
    fn both(text: &str) -> (Option<String>, Option<String>) {
        let mut tape = Tape::default();
        let own = tape.read(text).map(|mut read| {
            let mut out = String::new();
            let mut numbers = Vec::new();
            read.write(0, false, &mut out, &mut numbers);
            for (index, byte) in out.bytes().enumerate() {
                let told = numbers.iter().any(|(from, to)| (*from..*to).contains(&index));
                assert!(!byte.is_ascii_digit() || told, "a digit at {index} of {out}");
            }
            out
        });
        let tree = serde_json::from_str::<Value>(text).ok().map(|value| {
            let mut out = String::new();
            canonical_json(&value, &mut out);
            out
        });
        (own, tree)
    }

    #[test]
    fn as_the_tree_says() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        for text in [
            "",
            " ",
            "null",
            "tru",
            "true",
            "truee",
            " [ ] ",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "[1]x",
            "-",
            "-0",
            "-1",
            "01",
            "1.",
            "1.5",
            "-0.0",
            "1e5",
            "1E+2",
            "1e-7",
            "1e999",
            "-1e999",
            "0.1e1",
            ".5",
            "+1",
            "9007199254740993",
            "123456789012345",
            "1234567890123456",
            "12345678901234567890123",
            "[1.0,2.50,100000000000000000000]",
            r#""""#,
            r#""a\"b\\c\/d\b\f\n\r\tA""#,
            r#""\u00e9\ud83d\ude00""#,
            r#""\ud83d""#,
            r#""\ud83dx""#,
            r#""\ude00""#,
            r#""\u12""#,
            r#""\x""#,
            "\"a\nb\"",
            "\"é日\"",
            "\"open",
            r#"{"b":1,"a":2,"b":3}"#,
            r#"{"abcdefgh2":1,"abcdefgh1":{"z":[],"y":null}}"#,
            r#"{"a":1,"":2,"aa":3,"ab\n":4,"é":5,"abcdefghi":6,"abcdefgh":7}"#,
            r#"[{"n":"x9","m":[true,false,null,{"k":"\u0001"}]}]"#,
            &deep(127),
            &deep(128),
        ] {
            let (own, tree) = both(text);
            assert_eq!(own, tree, "{text:.60}");
        }
    }

    #[test]
    fn as_plain_text() {
        let mut tape = Tape::default();
        let mut out = String::new();
        let mut read = tape.read(r#"{"b":["x",1.0],"a":"say \"y\""}"#).expect("a document");
        read.write(0, true, &mut out, &mut Vec::new());
        assert_eq!(out, "a: say \"y\"; b: x, 1, ; ");
    }

    /// The canonical form, how many values carry content, and the same as text.
    fn canonical(text: &str, tape: &mut Tape) -> Option<(String, usize, String)> {
        let mut read = tape.read(text)?;
        let (mut out, mut plain, mut numbers) = (String::new(), String::new(), Vec::new());
        read.write(0, false, &mut out, &mut numbers);
        for (index, byte) in out.bytes().enumerate() {
            let told = numbers.iter().any(|(from, to)| (*from..*to).contains(&index));
            assert!(!byte.is_ascii_digit() || told, "a digit at {index} of {out}");
        }
        read.write(0, true, &mut plain, &mut Vec::new());
        let meant = read.tape.meaning(0);
        assert_eq!(read.meant(), meant, "{text}");
        Some((out, meant, plain))
    }

    /// A field of the objects in a list: its name, its value, and its layout.
    type Drawn = (u8, u8, u8);

    /// A list of objects like the first one, each with some of its fields changed, separated by the white space of
    /// `blanks`.
    fn alike(fields: &[Drawn], changes: &[(u8, Drawn)], blanks: u8) -> String {
        const NAMES: [&str; 18] = [
            "id",
            "name",
            "name",
            "b",
            "a",
            "created",
            "jsonrpc",
            "tookMs",
            "taskId",
            "n\\u0041me",
            "n2",
            "é",
            "",
            "a name that has more than sixteen bytes",
            "eightby",
            "fourteen bytes",
            "owner",
            "items",
        ];
        const VALUES: [&str; 16] = [
            "1",
            "-0",
            "0",
            "12.50",
            "1760000002",
            "true",
            "null",
            "\"\"",
            "\"plain words of some length\"",
            "\"part-17\"",
            "\"f81d4fae7dec11d0\"",
            "\"a\\nb 5\"",
            "[]",
            "{}",
            "[1,{\"b\":2,\"a\":[{\"b\":2,\"a\":1}]},\"x\"]",
            "{\"name\":\"n\",\"id\":7,\"b\":{\"b\":1,\"a\":2}}",
        ];
        const BLANKS: [(&str, &str); 4] = [("", ""), ("", " "), ("\n    ", " "), (" ", "\t")];
        let object = |fields: &[Drawn]| {
            let mut out = String::from("{");
            for (index, (name, value, blank)) in fields.iter().enumerate() {
                let (before, behind) = BLANKS[usize::from(if *blank < 8 { *blank % 4 } else { blanks % 4 })];
                out.push_str(if index > 0 { "," } else { "" });
                let (name, value) = (NAMES[usize::from(*name) % 18], VALUES[usize::from(*value) % 16]);
                out.push_str(&alloc::format!("{before}\"{name}\":{behind}{value}"));
            }
            out + if blanks % 4 == 2 { "\n}" } else { "}" }
        };
        let mut objects = alloc::vec![object(fields)];
        for (place, (name, value, blank)) in changes {
            let mut fields = fields.to_vec();
            let at = usize::from(*place) % (fields.len() + 1);
            match (place % 5, fields.get(at).copied()) {
                // One field more, one less, a different one, only its value.
                (0, _) | (_, None) => fields.insert(at, (*name, *value, *blank)),
                (1, _) => drop(fields.remove(at)),
                (2, _) => fields[at] = (*name, *value, *blank),
                (3, _) => fields.rotate_left(at),
                (_, Some((name, _, blank))) => fields[at] = (name, *value, blank),
            }
            objects.push(object(&fields));
        }
        alloc::format!("[{}]", objects.join(","))
    }

    proptest::proptest! {
        #[test]
        fn objects_that_are_alike(
            fields in proptest::collection::vec(proptest::prelude::any::<Drawn>(), 0..8),
            changes in proptest::collection::vec(proptest::prelude::any::<(u8, Drawn)>(), 0..12),
            blanks in 0..4_u8,
        ) {
            let text = alike(&fields, &changes, blanks);
            let mut tape = Tape::default();
            let first = canonical(&text, &mut tape);
            proptest::prop_assert!(first.is_some(), "{}", text);
            // Neither what the buffers held before nor names that are stored each time make a difference.
            proptest::prop_assert_eq!(&first, &canonical(&text, &mut tape));
            let keys: String = (0..DISTINCT).map(|key| alloc::format!("\"key {key}\":0,")).collect();
            let many = canonical(&alloc::format!("[{{{keys}\"last\":0}},{text}]"), &mut tape);
            let (first, many) = (first.unwrap_or_default(), many.unwrap_or_default());
            proptest::prop_assert_eq!(first.1 + DISTINCT + 1, many.1);
            proptest::prop_assert!(many.0.ends_with(&(first.0 + "]")));
            proptest::prop_assert!(many.2.ends_with(&(first.2 + ", ")));
        }

        #[test]
        fn any_text(text in r#"[\[\]{}:,"0-9a-e.\\u+\- \n]{0,40}"#) {
            let (own, tree) = both(&text);
            proptest::prop_assert_eq!(own, tree);
        }

        #[test]
        fn any_document(numbers in proptest::collection::vec(proptest::num::f64::ANY, 0..4), names in proptest::collection::vec("[a-c\\x00-\\x7fé]{0,10}", 0..6)) {
            // A field whose name says that it is not content is left out of the comparison, which the tree does not
            // know.
            let says = |name: &String| {
                let told = NameFeatures::of(name);
                told.named != FieldMeaning::Content || told.part != EnvelopeFields::default()
            };
            proptest::prop_assume!(!names.iter().any(says));
            let mut map = serde_json::Map::new();
            for (index, name) in names.iter().enumerate() {
                let number = numbers.get(index).copied().unwrap_or(index as f64);
                map.insert(name.clone(), serde_json::json!([number, name, {name.clone(): index}]));
            }
            let text = Value::Object(map).to_string();
            let (own, tree) = both(&text);
            proptest::prop_assert!(own.is_some());
            proptest::prop_assert_eq!(own, tree);
        }
    }
}
