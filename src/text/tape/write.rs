//! The canonical form of a document that was read, copied from the source wherever it is already canonical.

use super::super::canonical::{number as canonical_number, quoted};
use super::super::mask::{Span, first_digit};
use super::{GONE, Node, OWN, PLAIN, Read, Tag, parsed};
use alloc::{string::String, vec::Vec};

impl Read<'_> {
    /// Appends a value, as `text` without any quoting or as canonical JSON; for JSON it adds to `numbers` where digits
    /// are.
    #[inline]
    pub(in super::super) fn write(&mut self, at: u32, text: bool, out: &mut String, numbers: &mut Vec<Span>) {
        let node = self.node(at);
        match node.tag {
            Tag::Text => self.write_text(node, text, out, numbers),
            Tag::List => self.write_list(at, text, out, numbers),
            Tag::Object => self.write_object(at, text, out, numbers),
            _ => self.write_word(node, text, out, numbers),
        }
    }

    fn write_word(&self, node: Node, text: bool, out: &mut String, numbers: &mut Vec<Span>) {
        match node.tag {
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
            _ => out.push_str("null"),
        }
    }

    #[inline]
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

    #[inline(never)]
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
    #[inline(never)]
    fn write_object(&mut self, at: u32, text: bool, out: &mut String, numbers: &mut Vec<Span>) {
        if !text {
            out.push('{');
        }
        let base = self.tape.fields.len();
        let mut children = self.children(at);
        while let Some(value) = children.next(self) {
            let node = self.node(value);
            if !node.is(GONE) {
                self.insert(base, self.named(node).map_or(0, |name| name.begins), value);
            }
        }
        let end = self.tape.fields.len();
        for index in base..end {
            let Some((_, value)) = self.tape.fields.get(index).copied() else { break };
            if text {
                out.push_str(self.name(self.node(value)));
                out.push_str(": ");
                self.write(value, text, out, numbers);
                out.push_str("; ");
            } else {
                if index > base {
                    out.push(',');
                }
                self.write_name(self.node(value), out, numbers);
                self.write(value, text, out, numbers);
            }
        }
        self.tape.fields.truncate(base);
        if !text {
            out.push('}');
        }
    }

    /// Appends the name of the field with this value, and a colon.
    #[inline]
    fn write_name(&self, value: Node, out: &mut String, numbers: &mut Vec<Span>) {
        let Some(name) = self.named(value) else { return };
        let start = out.len();
        if name.escaped {
            quoted(self.tape.name(name), out);
            out.push(':');
        } else {
            out.push_str(self.tape.texts.get(name.from as usize..name.to as usize).unwrap_or_default());
        }
        if name.told.digits || name.escaped {
            note_digits(start, out, numbers);
        }
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

/// Up to this many fields are sorted by linear search.
const FEW: usize = 8;
