//! JSON text as a tape: its values in the order in which they stand there, each with where its text is.
//!
//! Outputs in JSON are read to be compared, not to be kept: a tape needs no allocation per value, and its buffers serve
//! for the next output. What it accepts is what `serde_json` accepts. What a field's name tells is known while it is read:
//! what goes is marked at once, and what may be volatile is noted, so that nobody walks through all the values for it.

use super::canonical::{escape, number as canonical_number, quoted};
use super::fields::{MOST, Named, Names, Parts, Told, UNKNOWN};
use super::mask::{HIGH, ONES, Span, digits_of, end_of_digits, first_digit};
use alloc::{string::String, vec::Vec};
use serde_json::Number;

/// Levels of nesting that are read.
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
    /// What was a number, and a time.
    Time,
}

/// A value, or the name of a field: its value follows it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Node {
    pub(super) tag: Tag,
    /// The text is in the tape's own buffer: it had escapes, or was masked.
    own: bool,
    /// A number that is written as it stands; of a text that there are no digits in it; of an object that all of its names
    /// are numbered.
    plain: bool,
    /// A field that is not written.
    gone: bool,
    from: u32,
    to: u32,
    /// The node behind this one and all that is in it; of a name its number.
    next: u32,
}

/// The values of a text.
#[derive(Clone, Debug, Default)]
pub(super) struct Tape {
    nodes: Vec<Node>,
    /// Texts that do not stand in the source as they are.
    own: String,
    /// Fields of the objects that are being written, by name.
    fields: Vec<(u64, u32)>,
    /// Values that mean something, as far as their names tell.
    meant: usize,
    /// Those of them, in their order, whose text may be volatile.
    doubtful: Vec<u32>,
}

impl Tape {
    /// Reads a whole document; none where `text` is not one.
    pub(super) fn read<'a>(&'a mut self, text: &'a str, names: &'a mut Names) -> Option<Read<'a>> {
        self.nodes.clear();
        self.own.clear();
        self.fields.clear();
        self.meant = 0;
        self.doubtful.clear();
        names.begin();
        // Places are kept in 32 bits, and a longer text is none that anybody compares.
        u32::try_from(text.len()).ok()?;
        let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, tape: self, names };
        reader.value(DEPTH)?;
        reader.blanks();
        (reader.at == text.len()).then_some(())?;
        Some(Read { text, tape: self, names })
    }

    fn node(&self, at: usize) -> Node {
        self.nodes.get(at).copied().unwrap_or_default()
    }

    /// Takes a field out, of whose value so many of the values that mean something are, and which are doubtful.
    fn drop_field(&mut self, name: usize, meant: usize) {
        if let Some(field) = self.nodes.get_mut(name) {
            field.gone = true;
        }
        self.meant = self.meant.saturating_sub(meant);
        let (from, to) = (name as u32 + 1, self.node(name + 1).next);
        let (first, behind) =
            (self.doubtful.partition_point(|value| *value < from), self.doubtful.partition_point(|value| *value < to));
        self.doubtful.drain(first..behind);
    }

    /// How many of the values from one on mean something: of a list or an object those in it.
    fn meaning(&self, at: usize) -> usize {
        let node = self.node(at);
        if !matches!(node.tag, Tag::List | Tag::Object) || node.to == 0 {
            return 1;
        }
        let (mut at, end, mut meaning) = (at + 1, node.next as usize, 0);
        while at < end {
            if node.tag == Tag::Object {
                at += 1;
                if self.node(at - 1).gone {
                    at = self.node(at).next as usize;
                    continue;
                }
            }
            meaning += self.meaning(at);
            at = self.node(at).next as usize;
        }
        meaning
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    tape: &'a mut Tape,
    names: &'a mut Names,
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
    fn push(&mut self, tag: Tag, own: bool, plain: bool, span: (usize, usize)) {
        // Every place in a text, and with it every node, fits: `Tape::read` sees to it.
        let next = self.tape.nodes.len() as u32 + 1;
        self.tape.nodes.push(Node { tag, own, plain, gone: false, from: span.0 as u32, to: span.1 as u32, next });
    }

    #[inline]
    fn value(&mut self, depth: usize) -> Option<()> {
        self.blanks();
        match self.byte() {
            b'"' => {
                let (_, plain) = self.string()?;
                self.means(!plain);
            }
            b'{' => self.object(depth)?,
            b'[' => self.list(depth)?,
            b't' => self.word("true", Tag::True)?,
            b'f' => self.word("false", Tag::False)?,
            b'n' => self.word("null", Tag::Null)?,
            _ => self.number()?,
        }
        Some(())
    }

    /// Notes that the value that was just read means something, unless it turns out to be a time.
    #[inline]
    fn means(&mut self, doubtful: bool) {
        self.tape.meant += 1;
        if doubtful {
            self.tape.doubtful.push(self.tape.nodes.len() as u32 - 1);
        }
    }

    fn word(&mut self, word: &str, tag: Tag) -> Option<()> {
        self.bytes.get(self.at..)?.starts_with(word.as_bytes()).then_some(())?;
        let start = self.at;
        self.at += word.len();
        self.push(tag, false, true, (start, self.at));
        self.means(false);
        Some(())
    }

    #[inline(never)]
    fn list(&mut self, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.at += 1;
        let index = self.tape.nodes.len();
        self.push(Tag::List, false, true, (0, 0));
        let mut length = 0;
        self.blanks();
        while self.byte() != b']' {
            if length > 0 {
                self.comma()?;
            }
            self.value(depth)?;
            length += 1;
            self.blanks();
        }
        self.close(index, length, true)
    }

    #[inline(never)]
    fn object(&mut self, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.at += 1;
        let index = self.tape.nodes.len();
        self.push(Tag::Object, false, true, (0, 0));
        let (mut length, mut numbered, mut parts) = (0, true, Parts::default());
        let (mut before, mut expected) = (UNKNOWN, self.names.first(depth));
        self.blanks();
        while self.byte() != b'}' {
            if length > 0 {
                self.comma()?;
            }
            (self.byte() == b'"').then_some(())?;
            let name = self.tape.nodes.len();
            length += 1;
            let start = self.at + 1;
            let told = if let Some(known) = self.names.stands(expected, self.bytes.get(start..)?) {
                // Its quotation mark and its colon stand behind it.
                self.push_name(expected, !known.told.digits, (start, start + known.length));
                self.at = start + known.length + 2;
                (before, expected) = (expected, known.next);
                known.told
            } else {
                let (number, told) = self.other_name()?;
                self.names.follow(before, depth, number);
                (before, expected) = (number, self.names.after(number));
                numbered &= number != UNKNOWN;
                self.blanks();
                (self.byte() == b':').then_some(())?;
                self.at += 1;
                told
            };
            let meant = self.tape.meant;
            self.value(depth)?;
            if !told.is_plain() {
                parts.add(told.part);
                let goes = match told.named {
                    Named::Content => false,
                    Named::Volatile => true,
                    Named::Id => {
                        let value = self.tape.node(name + 1);
                        value.tag == Tag::Text && is_drawn(self.read_text(value))
                    }
                };
                if goes {
                    self.tape.drop_field(name, self.tape.meant - meant);
                }
            }
            self.blanks();
        }
        self.close(index, length, numbered)?;
        if parts.wrap() {
            self.unwrap(index);
        }
        Some(())
    }

    fn comma(&mut self) -> Option<()> {
        (self.byte() == b',').then_some(())?;
        self.at += 1;
        self.blanks();
        Some(())
    }

    /// Ends a list or an object; its length is counted in values.
    fn close(&mut self, index: usize, length: u32, plain: bool) -> Option<()> {
        self.at += 1;
        // That there is nothing means something.
        self.tape.meant += usize::from(length == 0);
        let next = u32::try_from(self.tape.nodes.len()).ok()?;
        let node = self.tape.nodes.get_mut(index)?;
        (node.to, node.next, node.plain) = (length, next, plain);
        Some(())
    }

    /// Takes out of a message's wrapper what numbers the message.
    #[cold]
    fn unwrap(&mut self, index: usize) {
        let (mut name, end) = (index + 1, self.tape.node(index).next as usize);
        while name < end {
            let field = self.tape.node(name);
            if !field.gone && Parts::numbers(self.read_text(field)) {
                self.tape.drop_field(name, self.tape.meaning(name + 1));
            }
            name = self.tape.node(name + 1).next as usize;
        }
    }

    /// The text of a name or a text that was read.
    fn read_text(&self, node: Node) -> &str {
        let source = if node.own { self.tape.own.as_str() } else { self.text };
        source.get(node.from as usize..node.to as usize).unwrap_or_default()
    }

    #[inline]
    fn push_name(&mut self, number: u32, plain: bool, span: (usize, usize)) {
        let (from, to) = (span.0 as u32, span.1 as u32);
        self.tape.nodes.push(Node { tag: Tag::Text, own: false, plain, gone: false, from, to, next: number });
    }

    /// A field's name that is not the expected one: its number and what it tells.
    #[inline(never)]
    fn other_name(&mut self) -> Option<(u32, Told)> {
        let (own, _) = self.string()?;
        let node = self.tape.nodes.last().copied()?;
        let (number, told) = if own {
            (UNKNOWN, Told::of(self.read_text(node)))
        } else {
            self.names.look(self.text.get(node.from as usize..node.to as usize)?)
        };
        self.tape.nodes.last_mut()?.next = number;
        Some((number, told))
    }

    /// A text or a name; whether it is one in the tape's own buffer, and whether it is plain.
    #[inline]
    fn string(&mut self) -> Option<(bool, bool)> {
        self.at += 1;
        let start = self.at;
        let (length, digit) = plain(self.bytes.get(start..)?)?;
        self.at = start + length;
        if self.byte() == b'"' {
            self.push(Tag::Text, false, !digit, (start, self.at));
            self.at += 1;
            return Some((false, !digit));
        }
        self.escaped_string(start)
    }

    /// The same of one in which something is escaped, from where it begins and up to where that is.
    #[inline(never)]
    fn escaped_string(&mut self, start: usize) -> Option<(bool, bool)> {
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
        self.push(Tag::Text, true, false, (from, self.tape.own.len()));
        Some((true, false))
    }

    /// The character that an escape stands for.
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

    #[inline]
    fn digits(&mut self) -> usize {
        let start = self.at;
        self.at = end_of_digits(self.bytes, start);
        self.at - start
    }

    fn number(&mut self) -> Option<()> {
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
            // There are numbers beyond every double.
            parsed(self.text.get(start..self.at)?)?;
        }
        simple &= !(leading_zero && self.at - start > 1);
        self.push(Tag::Number, false, simple, (start, self.at));
        self.means(!simple || self.at - start >= SHORTEST_EPOCH);
        Some(())
    }
}

/// Characters of a number that may be a time.
pub(super) const SHORTEST_EPOCH: usize = 10;

/// Whether an id looks like a random one.
fn is_drawn(id: &str) -> bool {
    id.len() >= 12
        && id.bytes().any(|byte| byte.is_ascii_digit())
        && id.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !id.contains(char::is_whitespace)
}

/// Integers of fewer characters are written as they stand; only zero may have a sign that goes.
const SIMPLE: usize = 16;

/// How many bytes stand before the first that ends a JSON string, or escapes something in it, and whether there is a
/// digit among them. Eight at a time.
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
    names: &'a Names,
}

impl Read<'_> {
    pub(super) fn node(&self, at: u32) -> Node {
        self.tape.node(at as usize)
    }

    /// Values that mean something, as far as the names of their fields tell.
    pub(super) fn meant(&self) -> usize {
        self.tape.meant
    }

    /// The texts and numbers among them, one by one, that may be volatile.
    pub(super) fn doubtful(&self, index: usize) -> Option<u32> {
        self.tape.doubtful.get(index).copied()
    }

    /// Notes that a number is a time.
    pub(super) fn is_time(&mut self, at: u32) {
        if let Some(node) = self.tape.nodes.get_mut(at as usize) {
            node.tag = Tag::Time;
        }
    }

    /// Whether a text is known to have no digits in it.
    pub(super) fn is_plain(node: Node) -> bool {
        node.plain
    }

    /// The text of a name, a text or a number.
    pub(super) fn text(&self, node: Node) -> &str {
        let source = if node.own { self.tape.own.as_str() } else { self.text };
        source.get(node.from as usize..node.to as usize).unwrap_or_default()
    }

    /// The first eight bytes of a name, to be compared at once.
    fn begins(&self, node: Node) -> u64 {
        let (source, length) =
            (if node.own { self.tape.own.as_bytes() } else { self.text.as_bytes() }, (node.to - node.from) as usize);
        let rest = source.get(node.from as usize..).unwrap_or_default();
        let bytes = rest.first_chunk().copied().unwrap_or_else(|| {
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            bytes
        });
        // What stands behind a shorter one is none of it.
        u64::from_be_bytes(bytes) & !u64::MAX.checked_shr(u32::try_from(8 * length).unwrap_or(u32::MAX)).unwrap_or(0)
    }

    /// Puts another text in the place of one.
    pub(super) fn replace(&mut self, at: u32, text: &str) {
        let from = self.tape.own.len();
        self.tape.own.push_str(text);
        let to = self.tape.own.len();
        if let (Some(node), Ok(from), Ok(to)) = (self.tape.nodes.get_mut(at as usize), from.try_into(), to.try_into()) {
            (node.own, node.plain, node.from, node.to) = (true, false, from, to);
        }
    }

    /// Where the values of a list or an object are: of an object's fields where the names are.
    pub(super) fn children(&self, at: u32) -> Children {
        let node = self.node(at);
        let left = if matches!(node.tag, Tag::List | Tag::Object) { node.to } else { 0 };
        Children { next: at + 1, left, named: u32::from(node.tag == Tag::Object) }
    }

    /// Whether a value is `null`, or a list or an object with nothing in it.
    pub(super) fn is_empty(&self, at: u32) -> bool {
        let node = self.node(at);
        node.tag == Tag::Null || matches!(node.tag, Tag::List | Tag::Object) && node.to == 0
    }

    /// The integer or number that a value is.
    pub(super) fn number(&self, node: Node) -> Option<Number> {
        (node.tag == Tag::Number).then(|| parsed(self.text(node)))?
    }

    /// Appends a value: with `PLAIN` as text in which nothing is quoted, else as canonical JSON. Adds to `numbers` where
    /// digits are.
    pub(super) fn write<const PLAIN: bool>(&mut self, at: u32, out: &mut String, numbers: &mut Vec<Span>) {
        let node = self.node(at);
        match node.tag {
            Tag::Null => out.push_str("null"),
            Tag::True => out.push_str("true"),
            Tag::False => out.push_str("false"),
            Tag::Time => out.push_str(if PLAIN { "<time>" } else { "\"<time>\"" }),
            Tag::Number => {
                let (start, text) = (out.len(), self.text(node));
                if node.plain {
                    out.push_str(text);
                } else if let Some(number) = parsed(text) {
                    canonical_number(&number, out);
                }
                numbers.push((start, out.len()));
            }
            Tag::Text => {
                self.write_text::<PLAIN>(node, out, numbers);
            }
            Tag::List => self.write_list::<PLAIN>(at, out, numbers),
            Tag::Object => self.write_object::<PLAIN>(at, out, numbers),
        }
    }

    fn write_text<const PLAIN: bool>(&self, node: Node, out: &mut String, numbers: &mut Vec<Span>) {
        let (text, start) = (self.text(node), out.len());
        if PLAIN {
            out.push_str(text);
        } else if node.own {
            quoted(text, out);
        } else {
            // What stands in the source without an escape needs none: it is written together with its quotation marks.
            out.push_str(self.text.get(node.from as usize - 1..node.to as usize + 1).unwrap_or_default());
        }
        // Of what was written: escapes have digits too.
        if !node.plain
            && let Some(digit) = out.as_bytes().get(start..).and_then(first_digit)
        {
            numbers.push((start + digit, out.len()));
        }
    }

    fn write_list<const PLAIN: bool>(&mut self, at: u32, out: &mut String, numbers: &mut Vec<Span>) {
        if !PLAIN {
            out.push('[');
        }
        let mut children = self.children(at);
        let mut first = true;
        while let Some(item) = children.next(self) {
            if !PLAIN && !core::mem::replace(&mut first, false) {
                out.push(',');
            }
            self.write::<PLAIN>(item, out, numbers);
            if PLAIN {
                out.push_str(", ");
            }
        }
        if !PLAIN {
            out.push(']');
        }
    }

    /// Fields by name; of several of one name the last.
    fn write_object<const PLAIN: bool>(&mut self, at: u32, out: &mut String, numbers: &mut Vec<Span>) {
        if !self.node(at).plain {
            return self.write_unnumbered::<PLAIN>(at, out, numbers);
        }
        if !PLAIN {
            out.push('{');
        }
        // By rank: where each name is, and a bit for each that there is.
        let (mut places, mut there) = ([0; MOST], 0_u64);
        let mut children = self.children(at);
        while let Some(name) = children.next(self) {
            let field = self.node(name);
            let rank = self.names.rank(field.next) as usize;
            if !field.gone
                && let Some(place) = places.get_mut(rank)
            {
                *place = name;
                there |= 1 << rank;
            }
        }
        let mut first = true;
        while there != 0 {
            let name = places.get(there.trailing_zeros() as usize).copied().unwrap_or_default();
            there &= there - 1;
            self.write_field::<PLAIN>(name, core::mem::replace(&mut first, false), out, numbers);
        }
        if !PLAIN {
            out.push('}');
        }
    }

    /// The same, of an object that has a name without a number.
    fn write_unnumbered<const PLAIN: bool>(&mut self, at: u32, out: &mut String, numbers: &mut Vec<Span>) {
        let base = self.tape.fields.len();
        let mut children = self.children(at);
        while let Some(name) = children.next(self) {
            let node = self.node(name);
            if !node.gone {
                self.insert(base, self.begins(node), name);
            }
        }
        let end = self.tape.fields.len();
        if !PLAIN {
            out.push('{');
        }
        for index in base..end {
            let Some((_, name)) = self.tape.fields.get(index).copied() else { break };
            self.write_field::<PLAIN>(name, index == base, out, numbers);
        }
        if !PLAIN {
            out.push('}');
        }
        self.tape.fields.truncate(base);
    }

    #[inline]
    fn write_field<const PLAIN: bool>(&mut self, name: u32, first: bool, out: &mut String, numbers: &mut Vec<Span>) {
        if !PLAIN && !first {
            out.push(',');
        }
        if !PLAIN && self.write_as_it_stands(name, out, numbers) {
            return;
        }
        self.write_text::<PLAIN>(self.node(name), out, numbers);
        out.push_str(if PLAIN { ": " } else { ":" });
        self.write::<PLAIN>(name + 1, out, numbers);
        if PLAIN {
            out.push_str("; ");
        }
    }

    /// Appends a field that is written as it stands in the source, name and value at once; false where it is not.
    fn write_as_it_stands(&self, name: u32, out: &mut String, numbers: &mut Vec<Span>) -> bool {
        let (field, value) = (self.node(name), self.node(name + 1));
        // Of a text the quotation marks as well.
        let marks = u32::from(value.tag == Tag::Text);
        let as_it_stands = match value.tag {
            Tag::Text => true,
            Tag::Null | Tag::True | Tag::False | Tag::Number => value.plain,
            Tag::List | Tag::Object | Tag::Time => false,
        };
        let beside = field.to + 2 + marks == value.from;
        if !(as_it_stands && beside && field.plain && !field.own && !value.own) {
            return false;
        }
        let text = self.text.get(field.from as usize - 1..(value.to + marks) as usize).unwrap_or_default();
        out.push_str(text);
        let end = out.len();
        let start = end - (value.to - value.from + 2 * marks) as usize;
        let digit = match value.tag {
            Tag::Number => Some(0),
            Tag::Text if !value.plain => out.as_bytes().get(start..).and_then(first_digit),
            _ => None,
        };
        if let Some(digit) = digit {
            numbers.push((start + digit, end));
        }
        true
    }

    /// Puts a field in its place among those from `base` on. Objects with many fields mostly have them in order, or
    /// nearly.
    fn insert(&mut self, base: usize, begins: u64, name: u32) {
        let known = self.tape.fields.get(base..).unwrap_or_default();
        let text = |name: u32| self.text(self.node(name));
        let order = |(other, at): &(u64, u32)| other.cmp(&begins).then_with(|| text(*at).cmp(text(name)));
        // Few fields are looked through from the end, where most belong.
        let place = if known.len() <= FEW || known.last().is_none_or(|last| order(last).is_lt()) {
            known.len() - known.iter().rev().take_while(|entry| order(entry).is_ge()).count()
        } else {
            known.partition_point(|entry| order(entry).is_lt())
        };
        let same = known.get(place).is_some_and(|entry| order(entry).is_eq());
        match self.tape.fields.get_mut(base + place) {
            Some(entry) if same => *entry = (begins, name),
            _ => self.tape.fields.insert(base + place, (begins, name)),
        }
    }
}

/// Fields that are sorted by looking at each.
const FEW: usize = 8;

/// The places of the values in a list, or of the names in an object.
#[derive(Clone, Copy)]
pub(super) struct Children {
    next: u32,
    left: u32,
    named: u32,
}

impl Children {
    pub(super) fn next(&mut self, read: &Read<'_>) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let at = self.next;
        self.next = read.node(at + self.named).next;
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
        let (mut tape, mut names) = (Tape::default(), Names::default());
        let own = tape.read(text, &mut names).map(|mut read| {
            let mut out = String::new();
            let mut numbers = Vec::new();
            read.write::<false>(0, &mut out, &mut numbers);
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
        let (mut tape, mut names) = (Tape::default(), Names::default());
        let mut out = String::new();
        let mut read = tape.read(r#"{"b":["x",1.0],"a":"say \"y\""}"#, &mut names).expect("a document");
        read.write::<true>(0, &mut out, &mut Vec::new());
        assert_eq!(out, "a: say \"y\"; b: x, 1, ; ");
    }

    proptest::proptest! {
        #[test]
        fn any_text(text in r#"[\[\]{}:,"0-9a-e.\\u+\- \n]{0,40}"#) {
            let (own, tree) = both(&text);
            proptest::prop_assert_eq!(own, tree);
        }

        #[test]
        fn any_document(numbers in proptest::collection::vec(proptest::num::f64::ANY, 0..4), names in proptest::collection::vec("[a-c\\x00-\\x7fé]{0,10}", 0..6)) {
            // A name that tells of something else than content is left out of what is compared, which the tree does not know.
            proptest::prop_assume!(names.iter().all(|name| Told::of(name).is_plain()));
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
