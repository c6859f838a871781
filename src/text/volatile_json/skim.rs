//! What a long JSON object says, without reading all of it: only its own fields and those of what it wraps are looked
//! at, and everything else is skipped.

use super::super::answer::{AnswerMeaning, says};
use super::super::late::first_of;
use super::super::scan::{BLOCK, block, brackets};
use super::super::states::{is_under_way, is_waiting_state};
use super::super::words::is_name_in;
use super::{COUNTS, ENDS, KEEPS, LISTS, MESSAGES, NEXT, Share, WRAPPINGS, WRAPS, is_nothing, names_state};

/// What the object that is the whole text says; `None` if that needs a full read.
pub(in super::super) fn skim(text: &str) -> Option<AnswerMeaning> {
    let (mut skim, mut said) = (Skim { text, at: 0 }, AnswerMeaning::default());
    (skim.next()? == b'{').then_some(())?;
    skim.object(0, &mut said)?;
    skim.next().is_none().then_some(said.settled())
}

/// Prefix parity: each bit says whether the number of bits set up to and including it is odd.
const fn sums(bits: u64) -> u64 {
    let bits = bits ^ bits << 1;
    let bits = bits ^ bits << 2;
    let bits = bits ^ bits << 4;
    let bits = bits ^ bits << 8;
    let bits = bits ^ bits << 16;
    bits ^ bits << 32
}

struct Skim<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Skim<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Returns the next non-blank byte and moves past it.
    fn next(&mut self) -> Option<u8> {
        let blanks = self.rest().iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.at += blanks + 1;
        self.text.as_bytes().get(self.at - 1).copied()
    }

    /// Skips a string whose opening quote has been read; the inner `Option` is the string, `None` if it contains
    /// escapes.
    fn quoted(&mut self) -> Option<Option<&'a str>> {
        let (from, mut plain) = (self.at, true);
        loop {
            self.at += first_of(self.rest(), [b'"', b'\\'])? + 1;
            if self.text.as_bytes().get(self.at - 1) == Some(&b'"') {
                return Some(self.text.get(from..self.at - 1).filter(|_| plain));
            }
            plain = false;
            self.at += 1;
        }
    }

    /// Skips the contents and the closing bracket of a list or an object; whether it was empty.
    fn within(&mut self) -> Option<bool> {
        let first = self.rest().iter().find(|byte| !byte.is_ascii_whitespace())?;
        let empty = matches!(first, b']' | b'}');
        let bytes = self.text.as_bytes();
        // Whether this block begins after a backslash, or inside a string; and the number of open brackets.
        let (mut escaped, mut quoted, mut around) = (0, 0, 1_u32);
        loop {
            let [quotes, mut slashes, opens, closes] = brackets(&block(bytes, self.at)?);
            let mut after = escaped;
            escaped = 0;
            slashes &= !after;
            while slashes != 0 {
                let slash = slashes & slashes.wrapping_neg();
                after |= slash << 1;
                escaped |= slash >> (BLOCK - 1);
                slashes &= !(slash | slash << 1);
            }
            let inside = sums(quotes & !after) ^ quoted;
            quoted = 0_u64.wrapping_sub(inside >> (BLOCK - 1));
            let (opens, mut closes) = (opens & !inside, closes & !inside);
            // Brackets are counted one by one only if the last open one may be closed in this block.
            if closes.count_ones() < around {
                around = around + opens.count_ones() - closes.count_ones();
            } else {
                let mut counted = 0;
                while closes != 0 {
                    let close = closes & closes.wrapping_neg();
                    closes &= closes - 1;
                    let now = (opens & (close - 1)).count_ones();
                    around = around + now - counted - 1;
                    counted = now;
                    if around == 0 {
                        self.at += close.trailing_zeros() as usize + 1;
                        return Some(empty);
                    }
                }
                around += opens.count_ones() - counted;
            }
            self.at += BLOCK;
        }
    }

    /// Reads what an object says whose opening bracket has been read.
    fn object(&mut self, depth: usize, says: &mut AnswerMeaning) -> Option<()> {
        let (mut full, mut nothing) = (false, false);
        let (mut first, mut share) = (true, Share::default());
        loop {
            match self.next()? {
                b'}' if first => break,
                b'"' => {}
                _ => return None,
            }
            first = false;
            let name = self.quoted()??;
            (self.next()? == b':').then_some(())?;
            match self.next()? {
                b'"' => {
                    let text = self.quoted()?;
                    // A string with escapes is not empty.
                    full |= text != Some("") && is_name_in(NEXT, name);
                    told(name, text, says)?;
                }
                b'[' => {
                    let empty = self.within()?;
                    full |= !empty;
                    nothing |= empty && is_name_in(LISTS, name);
                }
                b'{' if depth < WRAPPINGS => {
                    let negative = says.negative;
                    self.object(depth + 1, says)?;
                    says.negative = negative || says.negative && is_name_in(WRAPS, name);
                }
                b'{' => {
                    self.within()?;
                }
                byte => {
                    let more = self.rest().iter().position(|byte| b",}] \t\r\n".contains(byte))?;
                    let counts = matches!(byte, b'0' | b'-') && is_name_in(COUNTS, name);
                    // Zero has many forms.
                    (!counts || byte == b'0' && more == 0).then_some(())?;
                    nothing |= counts;
                    match byte {
                        b'f' => {
                            says.negative |= matches!(name, "exists" | "found");
                            says.waiting |= is_name_in(ENDS, name);
                        }
                        b't' => says.waiting |= is_under_way(name),
                        b'n' => {}
                        _ => share.take(name, self.text.get(self.at - 1..self.at + more)?),
                    }
                    self.at += more;
                }
            }
            match self.next()? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        says.negative |= nothing && !full;
        says.waiting |= share.is_partial();
        Some(())
    }
}

/// Reads what a string says under its field's name; `None` if it has escapes and would have to be read.
fn told(name: &str, text: Option<&str>, says_all: &mut AnswerMeaning) -> Option<()> {
    if is_name_in(MESSAGES, name) {
        let inner = says(text?);
        says_all.negative |= inner.negative;
        says_all.waiting |= inner.waiting;
        says_all.certainly_waiting |= inner.certainly_waiting;
    } else if names_state(name) {
        says_all.waiting |= is_waiting_state(text?);
    } else if is_name_in(KEEPS, name) {
        says_all.stuck |= !is_nothing(text?);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::{Answer, Buffers};
    use super::*;
    use alloc::string::{String, ToString};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2..3_i32).prop_map(Value::from),
            (-2.0..2.0).prop_map(Value::from),
            "(running|pending|done|no results|ok|a\"b|x\\\\y|still running|\\{|\\]|0)".prop_map(Value::from),
        ];
        let name = "(status|state|message|error|items|results|total|done|percent|count|found|exists|name|data|a|b)";
        leaf.prop_recursive(5, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((name, inner), 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn what_is_stepped_over() {
        // Brackets, quotes and backslashes at every position in a block.
        for length in 0..200 {
            let fill = "x".repeat(length);
            for text in ["]", "\\\"]", "\\\\", "\\\\\\\"}", "{[\\\\\\\\"] {
                for list in [
                    alloc::format!(r#"[["{fill}{text}",[]],{{"{text}{fill}":"{fill}"}}]"#),
                    alloc::format!(r#"{{"x":{{"{fill}":[["{text}{fill}{text}"]]}}}}"#),
                ] {
                    serde_json::from_str::<Value>(&list).unwrap();
                    let all = alloc::format!(
                        r#"{{"a":{{"b":{{"c":{list}}}}},"status":"running","list":{list},"found":false}}"#
                    );
                    let says = AnswerMeaning { negative: true, waiting: true, ..AnswerMeaning::default() };
                    assert_eq!(skim(&all), Some(says), "{all}");
                    assert_eq!(skim(all.strip_suffix('}').unwrap()), None, "{all}");
                }
            }
        }
    }

    #[test]
    fn whole_objects_alone() {
        for text in [r#"{"a":1}"#, " {\n \"a\" : { \"b\" : [ 1, \"]\" ] } , \"status\":\"done\"} ", "{}"] {
            assert_eq!(skim(text), Some(AnswerMeaning::default()), "{text}");
        }
        for text in ["", "[]", "{", r#"{"a":1"#, r#"{"a" 1}"#, r#"{"a":1}}"#, r#"{"a":1},{}"#, r#"{"a":"x}"#, r"{a:1}"]
        {
            assert_eq!(skim(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn says_what_reading_it_says(fields in prop::collection::vec(("[a-z]{0,2}", value()), 0..3), own in value(), pretty: bool) {
            // Of short answers, all states are read.
            let mut all = json!({"name": "content", "id": "words", "more": "x".repeat(600)});
            for (name, value) in fields {
                all[name] = value;
            }
            if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
                all.extend(own);
            }
            let text: String = if pretty { serde_json::to_string_pretty(&all).unwrap() } else { all.to_string() };
            let mut buffers = Buffers::default();
            if let (Some(skimmed), Some(answer)) = (skim(&text), Answer::read(&text, &mut buffers)) {
                prop_assert_eq!(skimmed, answer.says, "{}", text);
            }
        }

        #[test]
        fn any_text_is_survived(text in "[{}\\[\\]\":,\\\\a0 \né]{0,60}") {
            let _ = skim(&text);
        }
    }
}
