//! The arguments of a call, kept as text until a feature of them is needed.
//!
//! Few results need the words of their call: errors do, and short answers to a question. So a pending call keeps the
//! text itself, in memory only and shared by all features, and a snapshot holds what would have been read from it.

use super::digest::{Key, combine, salted};
use super::mask::{HIGH, ONES};
use crate::codec::{Codec, Reader};
use alloc::{borrow::Cow, string::String, sync::Arc, vec::Vec};

/// Length in bytes above which arguments are read at once, which bounds what a pending call keeps.
const LONGEST: usize = 4096;

/// The arguments of a call, in the form in which they are compared.
#[derive(Clone, Debug)]
pub(crate) struct CallArguments {
    text: Arc<str>,
    /// The text is canonical JSON rather than what the model wrote.
    json: bool,
}

impl CallArguments {
    /// The whole text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Calls `take` with every string nested in at most `depth` lists and objects, in order and without keys; text that
    /// is not JSON is one string.
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

/// The string whose opening quotation mark precedes `text`, and what follows its closing one.
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
        // The unescaped string is no longer than the escaped one.
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

/// The index of the first of two bytes, eight at a time.
pub(super) fn first_of(bytes: &[u8], [one, other]: [u8; 2]) -> Option<usize> {
    // The high bit of every zero byte, and possibly of bytes above the first one.
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

/// A feature of a call's arguments.
pub(crate) trait CallFeature: Clone + Default {
    fn read(said: &CallArguments) -> Self;
}

/// A feature of a call's arguments that is computed when first needed.
#[derive(Clone, Debug)]
pub(crate) enum Late<T> {
    Unread(CallArguments),
    /// The feature, and the length of the text it was read from, 0 if that was never kept: a restored value counts for
    /// as much memory.
    Read(T, u16),
}

impl<T: Default> Default for Late<T> {
    fn default() -> Self {
        Self::read(T::default())
    }
}

impl<T> Late<T> {
    /// A feature that was computed at once.
    pub(crate) fn read(read: T) -> Self {
        Self::Read(read, 0)
    }
}

impl<T: CallFeature> Late<T> {
    /// A feature of a call's arguments; `json` is whether they are canonical JSON rather than what the model wrote.
    pub(crate) fn of(text: &str, json: bool) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        let said = CallArguments { text: text.into(), json };
        if text.len() > LONGEST { Self::read(T::read(&said)) } else { Self::Unread(said) }
    }

    /// Another feature of the same arguments; `None` if their text is not kept.
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

    /// The key of the text under a salt, if it is kept.
    pub(super) fn text_key(&self, salt: u64) -> Option<Key> {
        match self {
            Self::Unread(said) => {
                Some(combine("said", &[salted("said", salt, said.text.as_bytes()), said.json.into()]))
            }
            Self::Read(..) => None,
        }
    }

    /// Whether a restored value passes `fits` and its length is within bounds.
    pub(crate) fn fits(&self, fits: impl Fn(&T) -> bool) -> bool {
        match self {
            Self::Unread(_) => true,
            Self::Read(read, length) => usize::from(*length) <= LONGEST && fits(read),
        }
    }
}

impl<T> Late<T> {
    /// Length of the arguments in bytes; 0 if they were too long to be kept.
    pub(crate) fn length(&self) -> u16 {
        match self {
            Self::Unread(said) => u16::try_from(said.text.len()).unwrap_or(u16::MAX),
            Self::Read(_, length) => *length,
        }
    }
}

/// `heap` is an upper bound for the text and what may be read from it.
impl<T: CallFeature + Codec> Codec for Late<T> {
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

    /// The strings of a value, found by walking the tree.
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
        CallArguments { text: canonical(&value).into(), json: true }.strings(3, |text| found.push(String::from(text)));
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
            let said = CallArguments { text: canonical(&value).into(), json: true };
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
