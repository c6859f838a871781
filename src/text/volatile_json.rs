//! Output that is JSON -> canonical JSON without its volatile fields.
//!
//! In structured output a field's name says what it is: times, durations, request and process ids change with every
//! answer and carry no meaning. Other values are kept whole, because an id that is content (`id`, `orderId: 17`, a
//! commit) distinguishes one page of a listing from the next. But texts lose what light masking removes from any text,
//! and times are removed whatever they are called. An answer that is entirely volatile (when was this lease renewed?)
//! is kept as it is.

mod skim;

pub(super) use skim::skim;

use super::answer::{AnswerMeaning, SHORT};
use super::lines::trimmed;
use super::mask::{Span, Strength, is_volatile, normalise};
use super::states::{is_under_way, is_waiting_state};
use super::tape::{Node, Read, SHORTEST_EPOCH, Tag, Tape};
use super::words::{Sieve, is_in, is_name_in, same, same_end};
use alloc::{string::String, vec::Vec};

/// Bytes above which output is compared as text.
const LONGEST: usize = 64 * 1024;

/// Values of a list that are read for a state.
const VALUES: usize = 4;

/// Names of flags that are false until something is over.
const ENDS: &str = "complete completed done finished iscomplete isdone isfinished isready ready";

/// Whether a field of this name holds the state of what was asked about.
fn names_state(name: &str) -> bool {
    STATE_ENDS.iter().any(|end| same_end(name, end)) || is_name_in(STATES, name)
}

/// Whether a text says that its field has no value.
fn is_nothing(text: &str) -> bool {
    text.is_empty() || is_in("n/a no none null", text)
}

/// Names of lists whose emptiness is a negative answer.
const LISTS: &str = "data documents edges entries files hits issues items matches nodes records references result \
    results rows values";

/// Names of texts extracted from something: an answer in which one of them is empty, with nothing else, found none.
const TEXTS: &str = "answer caption content text transcript transcription";

/// Names under which a page says where the next one is: an empty page in between is not a negative answer.
const NEXT: &str = "continuationtoken cursor endcursor next nextcursor nextlink nextpage nextpagetoken nexttoken";

/// Names of numbers for which 0 is a negative answer.
const COUNTS: &str = "characters chars count found hits matches nummatches numresults resultcount results total \
    totalcount totalhits totalresults";

/// Names of objects that wrap the results; an empty object of any other name is part of a result.
const WRAPS: &str = "body data hits meta output page pagination payload response result results search";

/// Names under which an answer reports its state or progress.
const STATES: &str = "approval health progress";
/// Names under which it says what keeps it from making progress.
const KEEPS: &str = "blockedby blockedreason blocker errorreason failurereason holdreason lasterror lastfailure";
/// The ends of names of states (`jobStatus`, `provisioning_state`), and names of messages.
const STATE_ENDS: [&str; 5] = ["phase", "stage", "state", "status", "step"];
const MESSAGES: &str = "detail error estado etat info message msg reason result";

/// How much of something is done, by the numbers of an object: `"done": 5, "total": 100`, `"percent": 5`.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    part: Option<u32>,
    whole: Option<u32>,
}

impl Share {
    /// Names of what is done, of it in percent, and of all that there is to do.
    const PARTS: &str = "completed done finished imported loaded processed uploaded";
    const PERCENTS: &str = "percent percentage progress";
    const WHOLES: &str = "of total totalcount";

    /// Takes in a field that is a number.
    fn take(&mut self, name: &str, number: &str) {
        const NAMES: Sieve = Sieve::of(&[Share::PARTS, Share::PERCENTS, Share::WHOLES]);
        if !NAMES.passes_name(name) {
            return;
        }
        let value = number.split('.').next().and_then(|whole| whole.parse().ok());
        if is_name_in(Self::WHOLES, name) {
            self.whole = value;
        } else if is_name_in(Self::PARTS, name) {
            self.part = value;
        } else if is_name_in(Self::PERCENTS, name) {
            (self.part, self.whole) = (value, Some(100));
        }
    }

    fn is_partial(self) -> bool {
        self.part.zip(self.whole).is_some_and(|(part, whole)| part < whole)
    }
}

/// Whether an output looks like JSON and is short enough to be compared as such.
pub(super) fn is_json(text: &str) -> bool {
    let text = trimmed(text);
    let looks = text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']');
    looks && text.len() <= LONGEST
}

/// Maximum number of objects that an answer may be wrapped in.
const WRAPPINGS: usize = 2;

/// A JSON answer without its volatile parts.
pub(super) struct Answer<'a> {
    read: Read<'a>,
    /// What it says.
    pub(super) says: AnswerMeaning,
}

/// Buffers that are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    tape: Tape,
    text: String,
}

impl<'a> Answer<'a> {
    /// Reads `text` if it is an object or a list; `None` if it is to be compared as text, including when all of it is
    /// volatile.
    pub(super) fn read(text: &'a str, buffers: &'a mut Buffers) -> Option<Self> {
        if is_json(text) { Self::of(text.trim(), buffers) } else { None }
    }

    /// The same for any value.
    pub(super) fn of(text: &'a str, buffers: &'a mut Buffers) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let Buffers { tape, text: buffer } = buffers;
        let mut read = tape.read(text)?;
        let mut says = AnswerMeaning::default();
        judge(&read, 0, &mut says, buffer, 0);
        says.negative |= lacks_text(&read);
        says.waiting |= text.len() <= SHORT && goes_on(&read);
        (mask(&mut read, buffer) > 0).then_some(Self { read, says: says.settled() })
    }

    /// Whether its values all say that there is nothing: empty lists and texts, zeros, `null`, `false`.
    pub(super) fn is_hollow(&self) -> bool {
        is_hollow(&self.read)
    }

    /// Appends the canonical form; adds to `numbers` where digits are in it.
    pub(super) fn write(&mut self, out: &mut String, numbers: &mut Vec<Span>) {
        self.read.write(0, false, out, numbers);
    }

    /// Appends it as text without JSON's own quotes: the remaining ones are what the answer itself quotes.
    pub(super) fn write_text(&mut self, out: &mut String) {
        self.read.write(0, true, out, &mut Vec::new());
    }
}

/// Whether a state anywhere in an answer is one in progress, such as that of one of several parts. An entry of a list of
/// things to do is `in_progress` for as long as somebody works on it.
fn goes_on(read: &Read<'_>) -> bool {
    read.nodes().any(|value| {
        value.tag == Tag::Text && {
            let (name, state) = (read.name(value), read.text(value));
            names_state(name) && is_waiting_state(state) && !(same(name, "status") && same_end(state, "progress"))
        }
    })
}

fn is_hollow(read: &Read<'_>) -> bool {
    let mut fields = read.children(0);
    core::iter::from_fn(|| fields.next(read)).all(|at| {
        let value = read.node(at);
        match value.tag {
            _ if value.is_gone() => true,
            Tag::List | Tag::Object | Tag::Null => read.is_empty(at),
            Tag::Number => matches!(read.text(value), "0" | "0.0"),
            Tag::Text => read.text(value).is_empty(),
            Tag::False => true,
            Tag::True | Tag::Time => false,
        }
    })
}

/// Whether an object has a field for a text, and all of its fields are empty.
fn lacks_text(read: &Read<'_>) -> bool {
    if read.node(0).tag != Tag::Object || !is_hollow(read) {
        return false;
    }
    let mut fields = read.children(0);
    core::iter::from_fn(|| fields.next(read)).any(|at| {
        let value = read.node(at);
        value.tag == Tag::Text && is_name_in(TEXTS, read.name(value))
    })
}

/// Masks what is volatile in the values that carry content by their names; returns how many of them still do.
fn mask(read: &mut Read<'_>, buffer: &mut String) -> usize {
    let (mut left, mut index) = (read.meant(), 0);
    while let Some(at) = read.doubtful(index) {
        index += 1;
        let node = read.node(at);
        let is_time = if node.tag == Tag::Number {
            let is_time = is_epoch(read, node);
            if is_time {
                read.mark_time(at);
            }
            is_time
        } else {
            is_volatile(read.text(node)) && mask_text(read, at, buffer)
        };
        left -= usize::from(is_time);
    }
    left
}

/// Masks what is volatile in a text; whether all of it is a time.
fn mask_text(read: &mut Read<'_>, at: u32, buffer: &mut String) -> bool {
    buffer.clear();
    let masked = normalise(read.text(read.node(at)), Strength::Light, buffer);
    let is_time = matches!(buffer.as_str(), "<time>" | "<duration>");
    if masked.masked > 0 && (masked.letters >= 4 || is_time) {
        read.replace(at, buffer);
    }
    is_time
}

/// Seconds, milli-, micro- or nanoseconds since 1970, for the years 2014 to 2039.
fn is_epoch(read: &Read<'_>, node: Node) -> bool {
    const SECONDS: core::ops::Range<u64> = 1_400_000_000..2_200_000_000;
    let text = read.text(node);
    // Too small if it is short and has no exponent.
    if text.len() < SHORTEST_EPOCH && (Read::is_plain(node) || !text.bytes().any(|byte| matches!(byte, b'e' | b'E'))) {
        return false;
    }
    let Some(number) = read.number(node) else { return false };
    // The cast saturates and drops the fraction.
    let whole = number.as_u64().or_else(|| number.as_f64().map(|double| double as u64)).unwrap_or(0);
    [1, 1_000, 1_000_000, 1_000_000_000].iter().any(|unit| SECONDS.contains(&(whole / unit)))
}

/// Reads what an answer says from its own fields and those of what it wraps.
fn judge(read: &Read<'_>, at: u32, says: &mut AnswerMeaning, buffer: &mut String, depth: usize) {
    says.negative |= depth == 0 && read.is_empty(at);
    if depth == 0 && read.node(at).tag == Tag::List {
        // The values of a query: `["creating", null]`.
        let mut values = read.children(at);
        for _ in 0..VALUES {
            let Some(value) = values.next(read).map(|at| read.node(at)) else { break };
            says.waiting |= value.tag == Tag::Text && is_waiting_state(read.text(value));
        }
    }
    if read.node(at).tag != Tag::Object {
        return;
    }
    let fields = read.children(at);
    let (mut all, mut full) = (fields, false);
    while let Some(at) = all.next(read) {
        let value = read.node(at);
        full |= match value.tag {
            Tag::List => !read.is_empty(at),
            Tag::Text => is_name_in(NEXT, read.name(value)) && !read.text(value).is_empty(),
            _ => false,
        };
    }
    let (mut fields, mut share) = (fields, Share::default());
    while let Some(at) = fields.next(read) {
        let value = read.node(at);
        let name = read.name(value);
        if value.tag == Tag::Number {
            share.take(name, read.text(value));
        }
        match value.tag {
            Tag::List if !full && read.is_empty(at) => says.negative |= is_name_in(LISTS, name),
            Tag::Number if !full && read.text(value) == "0" => says.negative |= is_name_in(COUNTS, name),
            Tag::False => {
                says.negative |= matches!(name, "exists" | "found");
                says.waiting |= is_name_in(ENDS, name);
            }
            Tag::True => says.waiting |= is_under_way(name),
            Tag::Text if is_name_in(MESSAGES, name) => {
                buffer.clear();
                normalise(read.text(value), Strength::Light, buffer);
                let inner = super::answer::says(buffer);
                says.negative |= inner.negative;
                says.waiting |= inner.waiting;
                says.certainly_waiting |= inner.certainly_waiting;
            }
            Tag::Text if names_state(name) => says.waiting |= is_waiting_state(read.text(value)),
            Tag::Text if is_name_in(KEEPS, name) => says.stuck |= !is_nothing(read.text(value)),
            Tag::Object if depth < WRAPPINGS => {
                let negative = says.negative;
                judge(read, at, says, buffer, depth + 1);
                says.negative = negative || says.negative && is_name_in(WRAPS, name);
            }
            _ => {}
        }
    }
    says.waiting |= share.is_partial();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Option<String> {
        let mut buffers = Buffers::default();
        let mut answer = Answer::read(text, &mut buffers)?;
        let mut out = String::new();
        answer.write(&mut out, &mut Vec::new());
        Some(out)
    }

    #[test]
    fn volatile_fields_go() {
        for (text, expected) in [
            (r#"{"b":1, "a":[1.0]}"#, r#"{"a":[1],"b":1}"#),
            (
                r#"{"ok":true,"timestamp":5,"created_at":"x","updatedAt":"y","tookMs":3,"durationSeconds":1}"#,
                r#"{"ok":true}"#,
            ),
            (
                r#"{"ok":true,"total_latency":1,"elapsed":2,"requestId":"a","rate_limit_remaining":3,"cwd":"/x","etag":"e"}"#,
                r#"{"ok":true}"#,
            ),
            // An id of the answer itself is removed if it looks random.
            (r#"{"ok":true,"rid":"88e56fc1","op":"3edd62","run":"60a5b73e","rev":7}"#, r#"{"ok":true}"#),
            (r#"{"op":"add","run":"r-17","ref":"main"}"#, r#"{"op":"add","ref":"main","run":"r-17"}"#),
            (r#"[{"a":1,"in":{"pid":4,"execution_count":7,"b":2}}]"#, r#"[{"a":1,"in":{"b":2}}]"#),
            (
                r#"{"format":"x","at":"y","stat":"z","items":3,"terms":4}"#,
                r#"{"at":"y","format":"x","items":3,"stat":"z","terms":4}"#,
            ),
            (r#"{"id":7,"orderId":17,"userId":"u1","name":"n"}"#, r#"{"id":7,"name":"n","orderId":17,"userId":"u1"}"#),
            (r#"{"taskId":"f81d4fae7dec","name":"n"}"#, r#"{"name":"n"}"#),
            (r#"{"jsonrpc":"2.0","id":9,"result":"r"}"#, r#"{"jsonrpc":"2.0","result":"r"}"#),
            (
                r#"{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","n":1}"#,
                r#"{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","n":1}"#,
            ),
            (
                r#"{"msg":"done in 1.2s at 12:01:01","n":"12:01:01"}"#,
                r#"{"msg":"done in <duration> at <time>","n":"<time>"}"#,
            ),
            (
                r#"{"mtime":1760000002,"c":1760000002.5,"n":1000000001}"#,
                r#"{"c":"<time>","mtime":"<time>","n":1000000001}"#,
            ),
            ("[]", "[]"),
            ("{}", "{}"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn text_stays_text() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        let long = alloc::format!("[{}1]", "1,".repeat(40_000));
        for text in [
            "",
            "x",
            "12",
            "[1] 4121",
            "{oops}",
            "[2026-07-26] started",
            r#"{"renewedAt":"x"}"#,
            r#"{"renewTime":"2026-07-26T12:01:01Z"}"#,
            &deep,
            &long,
        ] {
            assert_eq!(canonical(text), None, "{text:.40}");
        }
    }

    #[test]
    fn answers_say() {
        for (text, negative, waiting) in [
            ("[]", true, false),
            ("{}", true, false),
            (r#"{"results":[],"query":"x"}"#, true, false),
            (r#"{"total":0}"#, true, false),
            (r#"{"total":0,"items":[1]}"#, false, false),
            (r#"{"errors":[],"ok":true}"#, false, false),
            (r#"{"errorCount":0}"#, false, false),
            (r#"{"message":"User not found"}"#, true, false),
            (r#"{"data":{"items":[]}}"#, true, false),
            (r#"{"status":"IN_PROGRESS"}"#, false, true),
            (r#"{"job":{"state":"queued"}}"#, false, true),
            (r#"{"status":"done","title":"pending"}"#, false, false),
            (r#"{"state":"queued","blocked_reason":"no quota left"}"#, false, false),
            (r#"{"state":"queued","blocked_reason":"none"}"#, false, true),
            (r#"{"state":"queued","blocked_reason":null}"#, false, true),
        ] {
            let mut buffers = Buffers::default();
            let answer = Answer::read(text, &mut buffers).expect("an answer");
            assert_eq!((answer.says.negative, answer.says.waiting), (negative, waiting), "{text}");
        }
    }

    /// Reference implementation by the library's tree, value by value.
    fn slowly(text: &str) -> Option<String> {
        let mut tree = serde_json::from_str(text).ok()?;
        // Of several fields with one name each counts, but the tree has only the last.
        let left = pruned(&mut tree);
        let mut out = String::new();
        super::super::canonical::canonical_json(&tree, &mut out);
        (left > 0).then_some(out)
    }

    fn pruned(value: &mut serde_json::Value) -> usize {
        use super::super::fields::{EnvelopeFields, FieldMeaning, NameFeatures};
        use super::super::tape::is_drawn;
        use serde_json::Value;
        match value {
            Value::Number(number) => {
                let whole = number.as_u64().or_else(|| number.as_f64().map(|double| double as u64)).unwrap_or(0);
                let units = [1, 1_000, 1_000_000, 1_000_000_000];
                if !units.iter().any(|unit| (1_400_000_000..2_200_000_000).contains(&(whole / unit))) {
                    return 1;
                }
                *value = "<time>".into();
                0
            }
            Value::String(text) => {
                let mut out = String::new();
                let masked = normalise(text, Strength::Light, &mut out);
                let is_time = masked.masked > 0 && matches!(out.as_str(), "<time>" | "<duration>");
                if masked.masked > 0 && (masked.letters >= 4 || is_time) {
                    *text = out;
                }
                usize::from(!is_time)
            }
            Value::Array(items) if !items.is_empty() => items.iter_mut().map(pruned).sum(),
            Value::Object(fields) if !fields.is_empty() => {
                let mut parts = EnvelopeFields::default();
                fields.keys().for_each(|name| parts.add(NameFeatures::of(name).part));
                let drawn = |id: &Value, short: bool| id.as_str().is_some_and(|id| is_drawn(id, short));
                fields.retain(|name, value| {
                    let goes = match NameFeatures::of(name).named {
                        FieldMeaning::Volatile => true,
                        FieldMeaning::Id => drawn(value, false),
                        FieldMeaning::Doing => drawn(value, true),
                        FieldMeaning::Content => false,
                    };
                    !(goes || parts.wrap() && NameFeatures::of(name).part.numbers())
                });
                fields.values_mut().map(pruned).sum()
            }
            _ => 1,
        }
    }

    /// A JSON text generated from `seed`: names that repeat and names that do not, some of them separated by white
    /// space.
    fn drawn(seed: &mut u64, depth: usize, out: &mut String) {
        use alloc::format;
        const NAMES: [&str; 20] = [
            "id",
            "name",
            "created",
            "jsonrpc",
            "object",
            "role",
            "content",
            "created_at",
            "tookMs",
            "requestId",
            "a",
            "ab",
            "sevenby",
            "eightbyt",
            "nine bytes",
            "a name of many bytes",
            "x1",
            "é",
            "taskId",
            "n\\u0041me",
        ];
        const TEXTS: [&str; 12] = [
            "",
            "plain words",
            "part-17",
            "2026-07-26T12:01:01Z",
            "took 1.2s at 12:01:01",
            "f81d4fae7dec11d0",
            "tmpab12cd",
            "a\\nb 5",
            "pid 4711 gone",
            "日本 12",
            "\\u0031",
            "request id: ab12cd34ef",
        ];
        let mut below = |limit: u64| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 33) % limit
        };
        let kind = below(if depth == 0 { 6 } else { 10 });
        match kind {
            0 => out.push_str(["true", "false", "null"][below(3) as usize]),
            1 | 2 => out.push_str(&format!("{}", below(100_000))),
            3 => out.push_str(["1760000002", "17.5e8", "-0", "1e3", "12345678901234567890", "0.1"][below(6) as usize]),
            4 | 5 => out.push_str(&format!("\"{}\"", TEXTS[below(12) as usize])),
            6 | 7 => {
                let count = below(6);
                out.push('[');
                for item in 0..count {
                    out.push_str(if item > 0 { "," } else { "" });
                    drawn(seed, depth - 1, out);
                }
                out.push(']');
            }
            _ => {
                // Consecutive names, so that objects are alike.
                let (count, from, blank) = (below(7), below(20), below(8) == 0);
                let many = below(40) == 0;
                out.push('{');
                for item in 0..count + if many { 90 } else { 0 } {
                    out.push_str(if item > 0 { "," } else { "" });
                    out.push_str(if blank { "\n  " } else { "" });
                    let name = NAMES[((from + item) % 20) as usize];
                    // No name twice, as in the tree.
                    if item < 20 {
                        out.push_str(&format!("\"{name}\""))
                    } else {
                        out.push_str(&format!("\"k{item}\""))
                    }
                    out.push_str(if blank { " : " } else { ":" });
                    drawn(seed, depth - 1, out);
                }
                out.push('}');
            }
        }
    }

    #[test]
    fn as_the_tree_is_pruned() {
        let (mut buffers, mut seed) = (Buffers::default(), 1);
        for _ in 0..1_500 {
            let mut text = String::from("[");
            for item in 0..3 {
                text.push_str(if item > 0 { ", " } else { "" });
                drawn(&mut seed, 4, &mut text);
            }
            text.push(']');
            // Knowing the names of earlier documents makes no difference.
            let own = Answer::of(&text, &mut buffers).map(|mut answer| {
                let (mut out, mut numbers) = (String::new(), Vec::new());
                answer.write(&mut out, &mut numbers);
                for (index, byte) in out.bytes().enumerate() {
                    let told = numbers.iter().any(|(from, to)| (*from..*to).contains(&index));
                    assert!(!byte.is_ascii_digit() || told, "a digit at {index} of {out}");
                }
                out
            });
            assert_eq!(own, slowly(&text), "{text}");
        }
    }
}
