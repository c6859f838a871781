//! What a call said in its arguments, kept as text until somebody asks what is in it.
//!
//! Hardly a result needs the words of its call: an error does, and a short answer to a question. So a waiting call
//! keeps the text itself, in memory alone and shared by whoever may ask, and a snapshot holds what would have been read
//! of it.

use super::digest::{Key, combine, salted};
use super::mask::{HIGH, ONES};
use crate::codec::{Codec, Reader};
use alloc::{borrow::Cow, string::String, sync::Arc, vec::Vec};

/// Longer arguments are read at once: what waits is bounded.
const LONGEST: usize = 4096;

/// The arguments of a call, as they are compared.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    text: Arc<str>,
    /// The text is canonical JSON rather than what the model wrote.
    json: bool,
}

impl Said {
    /// The text as a whole.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Shows `take` every string in it that at most `depth` lists and objects surround, keys left out, in order.
    pub(super) fn strings(&self, depth: usize, mut take: impl FnMut(&str)) {
        if !self.json {
            return take(&self.text);
        }
        let mut rest: &str = &self.text;
        let mut around = 0_usize;
        while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'[' | b'{' | b']' | b'}')) {
            let (_, from) = rest.split_at_checked(at).unwrap_or_default();
            let mut after = from.chars();
            match after.next() {
                Some('"') => {}
                Some('[' | '{') => around += 1,
                _ => around = around.saturating_sub(1),
            }
            rest = after.as_str();
            if !from.starts_with('"') {
                continue;
            }
            let (text, tail) = quoted(rest);
            rest = tail;
            if around <= depth && !rest.starts_with(':') {
                take(&text);
            }
        }
    }
}

/// The string that a text begins with, whose opening mark is gone, and what stands behind its closing one.
fn quoted(text: &str) -> (Cow<'_, str>, &str) {
    let mut own: Option<String> = None;
    let mut rest = text;
    while let Some(at) = first_of(rest.as_bytes(), [b'"', b'\\']) {
        let Some((plain, tail)) = rest.split_at_checked(at) else { break };
        let mut tail = tail.chars();
        if tail.next() == Some('"') {
            let text = match own {
                Some(mut own) => {
                    own.push_str(plain);
                    Cow::Owned(own)
                }
                None => Cow::Borrowed(plain),
            };
            return (text, tail.as_str());
        }
        // What is escaped takes no less where it stands.
        let own = own.get_or_insert_with(|| String::with_capacity(rest.len().min(LONGEST)));
        own.push_str(plain);
        match tail.next() {
            Some('n') => own.push('\n'),
            Some('u') => {
                let (digits, after) = tail.as_str().split_at_checked(4).unwrap_or_default();
                own.extend(u32::from_str_radix(digits, 16).ok().and_then(char::from_u32));
                tail = after.chars();
            }
            escaped => own.extend(escaped),
        }
        rest = tail.as_str();
    }
    (Cow::Borrowed(rest), "")
}

/// Where the first of two bytes is; eight at a time.
pub(super) fn first_of(bytes: &[u8], [one, other]: [u8; 2]) -> Option<usize> {
    // The high bit of every byte that is zero, and perhaps of some above the first.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let (chunks, rest) = bytes.as_chunks();
    for (index, chunk) in chunks.iter().enumerate() {
        let word = u64::from_le_bytes(*chunk);
        let found = zeros(word ^ (ONES * u64::from(one))) | zeros(word ^ (ONES * u64::from(other)));
        if found != 0 {
            return Some(8 * index + found.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|byte| *byte == one || *byte == other)?;
    Some(8 * chunks.len() + at)
}

/// What may be read of a call's arguments.
pub(crate) trait Reads: Clone + Default {
    fn read(said: &Said) -> Self;
}

/// Something that is read of a call's arguments when it is asked for.
#[derive(Clone, Debug)]
pub(crate) enum Late<T> {
    Unread(Said),
    /// And how long the text was that it was read of, if it was kept for a while: a restored value counts for as much.
    Read(T, u16),
}

impl<T: Default> Default for Late<T> {
    fn default() -> Self {
        Self::read(T::default())
    }
}

impl<T> Late<T> {
    /// What was read at once.
    pub(crate) fn read(read: T) -> Self {
        Self::Read(read, 0)
    }
}

impl<T: Reads> Late<T> {
    /// What is in a call's arguments: canonical JSON, or what the model wrote.
    pub(crate) fn of(text: &str, json: bool) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        let said = Said { text: text.into(), json };
        if text.len() > LONGEST { Self::read(T::read(&said)) } else { Self::Unread(said) }
    }

    /// Something else in the same arguments; nothing where they were too long to be kept.
    pub(crate) fn beside<U>(&self) -> Option<Late<U>> {
        match self {
            Self::Unread(said) => Some(Late::Unread(said.clone())),
            Self::Read(..) => None,
        }
    }

    pub(crate) fn get(&self) -> Cow<'_, T> {
        match self {
            Self::Unread(said) => Cow::Owned(T::read(said)),
            Self::Read(read, _) => Cow::Borrowed(read),
        }
    }

    /// The key of the text under a salt, where the text was kept.
    pub(super) fn text_key(&self, salt: u64) -> Option<Key> {
        match self {
            Self::Unread(said) => {
                Some(combine("said", &[salted("said", salt, said.text.as_bytes()), said.json.into()]))
            }
            Self::Read(..) => None,
        }
    }

    /// Whether a restored value holds what `fits` asks.
    pub(crate) fn fits(&self, fits: impl Fn(&T) -> bool) -> bool {
        match self {
            Self::Unread(_) => true,
            Self::Read(read, length) => usize::from(*length) <= LONGEST && fits(read),
        }
    }
}

impl<T> Late<T> {
    /// Bytes of the arguments; 0 where they were too long to be kept.
    pub(crate) fn length(&self) -> u16 {
        match self {
            Self::Unread(said) => u16::try_from(said.text.len()).unwrap_or(u16::MAX),
            Self::Read(_, length) => *length,
        }
    }
}

/// What it may take: the text, and what is read of it.
impl<T: Reads + Codec> Codec for Late<T> {
    const SIZE: usize = 24 + T::SIZE;

    #[inline]
    fn heap(&self) -> usize {
        match self.length() {
            0 => self.get().heap(),
            length => 256 + usize::from(length),
        }
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.length().put(to);
        self.get().put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let length = u16::take(from);
        Self::Read(T::take(from), length)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Echo, Tokens, canonical_json};
    use super::*;
    use crate::codec::{decode, encode};
    use crate::model::ToolCall;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn canonical(value: &Value) -> String {
        let mut text = String::new();
        canonical_json(value, &mut text);
        text
    }

    /// The strings of a value, as a walk through the tree finds them.
    fn walked(value: &Value, depth: usize, found: &mut Vec<String>) {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(items) if depth > 0 => items.iter().for_each(|item| walked(item, depth - 1, found)),
            Value::Object(map) if depth > 0 => {
                let mut fields: Vec<_> = map.iter().collect();
                fields.sort_by_key(|(name, _)| *name);
                fields.into_iter().for_each(|(_, item)| walked(item, depth - 1, found));
            }
            _ => {}
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "[a-c \n\"\\\\\\x00-\\x1f]{0,40}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec(("[a-e\":\\\\é]{0,4}", inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn strings_of_arguments() {
        let value = json!({"b": ["x", {"y": "z\n\"\\\u{1}é"}], "a": "1", "c": [[["deep"]]]});
        let mut found = Vec::new();
        Said { text: canonical(&value).into(), json: true }.strings(3, |text| found.push(String::from(text)));
        assert_eq!(found, ["1", "x", "z\n\"\\\u{1}é"]);
    }

    proptest! {
        #[test]
        fn the_first_of_two(bytes in prop::collection::vec(prop_oneof![Just(1_u8), 0x7f..0x83_u8, 0..4_u8], 0..40)) {
            for pair in [[0, 1], [0x80, 2], [0x81, 0x7f], [3, 3]] {
                prop_assert_eq!(first_of(&bytes, pair), bytes.iter().position(|byte| pair.contains(byte)));
            }
        }

        #[test]
        fn a_text_holds_what_the_tree_holds(value in value()) {
            let said = Said { text: canonical(&value).into(), json: true };
            for depth in 0..5 {
                let (mut found, mut expected) = (Vec::new(), Vec::new());
                said.strings(depth, |text| found.push(String::from(text)));
                walked(&value, depth, &mut expected);
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn late_is_what_at_once_would_have_been(value in value()) {
            let text = canonical(&value);
            let call = ToolCall { args: Some(value), ..ToolCall::default() };
            let (echo, tokens) = (Late::<Echo>::of(&text, true), Late::<Tokens>::of(&text, true));
            prop_assert_eq!(tokens.get().into_owned(), Tokens::of(&call));
            // A snapshot in between changes nothing.
            let restored: Late<Echo> = decode(&encode(&echo)).unwrap();
            prop_assert_eq!(restored.get(), echo.get());
        }
    }
}
