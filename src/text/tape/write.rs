//! The canonical form of a document that was read, copied from the source wherever it is already canonical.

use super::super::canonical::{number as canonical_number, quoted};
use super::super::mask::{Span, first_digit};
use super::super::shapes::{FIELDS, Written};
use super::{GONE, Node, OWN, PLAIN, Read, Tag, VERBATIM, parsed};
use alloc::{string::String, vec::Vec};

impl Read<'_> {
    /// Appends a value, as `text` without any quoting or as canonical JSON; for JSON it adds to `numbers` where digits
    /// are.
    pub(in super::super) fn write(&mut self, at: u32, text: bool, out: &mut String, numbers: &mut Vec<Span>) {
        let node = self.node(at);
        match node.tag {
            Tag::Null => out.push_str("null"),
            Tag::True => out.push_str("true"),
            Tag::False => out.push_str("false"),
            Tag::Time => out.push_str(if text { "<time>" } else { "\"<time>\"" }),
            Tag::Number => {
                let (start, number) = (out.len(), self.text(node));
                if node.is(PLAIN) {
                    out.push_str(number);
                } else if let Some(number) = parsed(number) {
                    canonical_number(&number, out);
                }
                if !text {
                    numbers.push((start, out.len()));
                }
            }
            Tag::Text => self.write_text(node, text, out, numbers),
            Tag::List => self.write_list(at, text, out, numbers),
            Tag::Object => self.write_object(at, text, out, numbers),
        }
    }

    fn write_text(&self, node: Node, text: bool, out: &mut String, numbers: &mut Vec<Span>) {
        let start = out.len();
        if text {
            out.push_str(self.text(node));
            return;
        }
        if node.is(OWN) {
            quoted(self.text(node), out);
        } else {
            // What is without escapes in the source needs none: it is copied together with its quotation marks.
            out.push_str(self.text.get(node.from as usize - 1..node.to as usize + 1).unwrap_or_default());
        }
        if !node.is(PLAIN) {
            note_digits(start, out, numbers);
        }
    }

    fn write_list(&mut self, at: u32, text: bool, out: &mut String, numbers: &mut Vec<Span>) {
        if !text {
            out.push('[');
        }
        let mut children = self.children(at);
        let mut first = true;
        while let Some(item) = children.next(self) {
            if !text && !core::mem::replace(&mut first, false) {
                out.push(',');
            }
            self.write(item, text, out, numbers);
            if text {
                out.push_str(", ");
            }
        }
        if !text {
            out.push(']');
        }
    }

    /// Writes the fields sorted by name; of several with one name, the last.
    fn write_object(&mut self, at: u32, text: bool, out: &mut String, numbers: &mut Vec<Span>) {
        if !text {
            out.push('{');
        }
        let node = self.node(at);
        let sorted = self.shapes.sorted(node.shape);
        if sorted.is_empty() {
            self.write_unsorted(at, text, out, numbers);
        } else {
            // The index of each field's value, if they do not simply follow one another.
            let mut places = [0; FIELDS];
            let simple = node.from == at + 1 + node.to;
            if !simple {
                let mut children = self.children(at);
                for place in &mut places {
                    let Some(value) = children.next(self) else { break };
                    *place = value;
                }
            }
            let mut first = true;
            for field in sorted {
                let value = match places.get(usize::from(field.place)) {
                    Some(value) if !simple => *value,
                    _ => at + 1 + u32::from(field.place),
                };
                let node = self.node(value);
                if node.is(GONE) {
                    continue;
                }
                let verbatim = node.is(VERBATIM) && field.back != 0;
                match (verbatim, text) {
                    (true, true) => self.write_plainly(node, *field, out),
                    (true, false) => self.write_verbatim(node, *field, first, out, numbers),
                    (false, _) => self.write_field(value, node, (first, text), out, numbers),
                }
                first = false;
            }
        }
        if !text {
            out.push('}');
        }
    }

    /// The same for an object without a stored shape.
    #[inline(never)]
    fn write_unsorted(&mut self, at: u32, text: bool, out: &mut String, numbers: &mut Vec<Span>) {
        let base = self.tape.fields.len();
        let mut children = self.children(at);
        while let Some(value) = children.next(self) {
            let node = self.node(value);
            if !node.is(GONE) {
                self.insert(base, begins(self.name(node)), value);
            }
        }
        let end = self.tape.fields.len();
        for index in base..end {
            let Some((_, value)) = self.tape.fields.get(index).copied() else { break };
            self.write_field(value, self.node(value), (index == base, text), out, numbers);
        }
        self.tape.fields.truncate(base);
    }

    #[inline(never)]
    fn write_field(
        &mut self,
        at: u32,
        value: Node,
        (first, text): (bool, bool),
        out: &mut String,
        numbers: &mut Vec<Span>,
    ) {
        if text {
            out.push_str(self.name(value));
            out.push_str(": ");
            self.write(at, text, out, numbers);
            out.push_str("; ");
            return;
        }
        if !first {
            out.push(',');
        }
        self.write_name(value, out, numbers);
        out.push(':');
        self.write(at, text, out, numbers);
    }

    /// Appends a field that is canonical in the source, name and value at once, together with the comma before it if
    /// there is one.
    #[inline(always)]
    fn write_verbatim(&self, value: Node, field: Written, first: bool, out: &mut String, numbers: &mut Vec<Span>) {
        let mark = u32::from(value.tag == Tag::Text);
        let comma = field.comma & !first;
        if !first && !comma {
            out.push(',');
        }
        let from = value.from - mark - u32::from(field.back) - u32::from(comma);
        out.push_str(self.text.get(from as usize..(value.to + mark) as usize).unwrap_or_default());
        let end = out.len();
        match value.tag {
            Tag::Number => numbers.push((end - (value.to - value.from) as usize, end)),
            Tag::Text if !value.is(PLAIN) => {
                let text = self.text.as_bytes().get(value.from as usize..value.to as usize).unwrap_or_default();
                let digit = first_digit(text).unwrap_or_default();
                numbers.push((end - 1 - text.len() + digit, end));
            }
            _ => {}
        }
    }

    /// Appends as text a field whose name and value are canonical in the source.
    #[inline(always)]
    fn write_plainly(&self, value: Node, field: Written, out: &mut String) {
        let colon = (value.from - u32::from(value.tag == Tag::Text)) as usize - 1;
        // `back` counts both quotation marks and the colon.
        let name = colon + 2 - usize::from(field.back);
        out.push_str(self.text.get(name..colon - 1).unwrap_or_default());
        out.push_str(": ");
        out.push_str(self.text.get(value.from as usize..value.to as usize).unwrap_or_default());
        out.push_str("; ");
    }

    fn write_name(&self, value: Node, out: &mut String, numbers: &mut Vec<Span>) {
        let start = out.len();
        quoted(self.name(value), out);
        note_digits(start, out, numbers);
    }

    /// Inserts a field in its place among those from `base` on. Objects with many fields mostly have them in order, or
    /// nearly.
    fn insert(&mut self, base: usize, begins: u64, value: u32) {
        let known = self.tape.fields.get(base..).unwrap_or_default();
        let name = |value: u32| self.name(self.node(value));
        let order = |(other, at): &(u64, u32)| other.cmp(&begins).then_with(|| name(*at).cmp(name(value)));
        // Few fields are searched from the end, where most belong.
        let place = if known.len() <= FEW || known.last().is_none_or(|last| order(last).is_lt()) {
            known.len() - known.iter().rev().take_while(|entry| order(entry).is_ge()).count()
        } else {
            known.partition_point(|entry| order(entry).is_lt())
        };
        let same = known.get(place).is_some_and(|entry| order(entry).is_eq());
        match self.tape.fields.get_mut(base + place) {
            Some(entry) if same => *entry = (begins, value),
            _ => self.tape.fields.insert(base + place, (begins, value)),
        }
    }
}

/// Notes where the first digit is in what was written from `start` on; escapes contain digits too.
#[inline]
fn note_digits(start: usize, out: &str, numbers: &mut Vec<Span>) {
    if let Some(digit) = out.as_bytes().get(start..).and_then(first_digit) {
        numbers.push((start + digit, out.len()));
    }
}

/// The first eight bytes of a name, for comparing them at once.
fn begins(name: &str) -> u64 {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
    u64::from_be_bytes(bytes)
}

/// Up to this many fields are sorted by linear search.
const FEW: usize = 8;
