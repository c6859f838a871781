//! Output that is JSON -> canonical JSON without its volatile fields.
//!
//! In structured output a field's name tells what it is: times, durations, request and process ids change with every
//! answer and mean nothing. Other values are kept whole — an id that is content (`id`, `orderId: 17`, a commit) tells
//! one page of a listing from the next —, except that texts lose what light masking takes from any text, and times go
//! whatever they are called. An answer that is nothing but volatile (when was this lease renewed?) is kept as it is.

use super::answer::{Says, WAITING_STATES};
use super::mask::{Span, Strength, is_volatile, normalise};
use super::tape::{Node, Read, Tag, Tape};
use super::words::{listed, listed_name, name_words};
use alloc::{string::String, vec::Vec};

/// Longer output is compared as text.
const LONGEST: usize = 64 * 1024;

/// Words that make a field volatile wherever they stand in its name.
const VOLATILE_WORDS: [&str; 12] = [
    "duration",
    "durations",
    "elapsed",
    "etag",
    "latencies",
    "latency",
    "nonce",
    "pid",
    "timestamp",
    "timestamps",
    "uptime",
    "uuid",
];

/// Last words that do, after another: `created_at`, `tookMs`.
const VOLATILE_ENDS: [&str; 3] = ["at", "ms", "ns"];

/// Whole names that do.
const VOLATILE_NAMES: [&str; 26] = [
    "calculatedid",
    "callid",
    "correlationid",
    "cwd",
    "eventid",
    "executioncount",
    "executionid",
    "invocationid",
    "logid",
    "messageid",
    "operationid",
    "processid",
    "ratelimit",
    "requestid",
    "responseid",
    "runid",
    "sessionid",
    "spanid",
    "systemfingerprint",
    "threadid",
    "timetaken",
    "took",
    "toolcallid",
    "traceid",
    "transactionid",
    "workingdirectory",
];

/// Names of lists whose emptiness is a negative answer.
const LISTS: [&str; 15] = [
    "data",
    "documents",
    "edges",
    "entries",
    "files",
    "hits",
    "issues",
    "items",
    "matches",
    "nodes",
    "records",
    "references",
    "results",
    "rows",
    "values",
];

/// Names of numbers whose being 0 is one.
const COUNTS: [&str; 12] = [
    "count",
    "found",
    "hits",
    "matches",
    "nummatches",
    "numresults",
    "resultcount",
    "results",
    "total",
    "totalcount",
    "totalhits",
    "totalresults",
];

/// Names under which an answer says how far it is, or what was wrong.
const STATES: [&str; 6] = ["jobstatus", "phase", "progress", "state", "status", "taskstatus"];
const MESSAGES: [&str; 7] = ["detail", "error", "info", "message", "msg", "reason", "result"];

/// A JSON answer without what is volatile in it.
pub(super) struct Answer<'a> {
    read: Read<'a>,
    /// What it says.
    pub(super) says: Says,
}

/// Buffers for the next answer, and the names of fields that were looked at already.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    tape: Tape,
    names: Names,
    text: String,
}

impl<'a> Answer<'a> {
    /// Reads `text` where it is an object or a list; `None` where it is to be compared as text, which it also is where
    /// nothing but volatile parts is in it.
    pub(super) fn read(text: &'a str, buffers: &'a mut Buffers) -> Option<Self> {
        let text = text.trim();
        let looks = text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']');
        if looks && text.len() <= LONGEST { Self::of(text, buffers) } else { None }
    }

    /// The same for any value, however long.
    pub(super) fn of(text: &'a str, buffers: &'a mut Buffers) -> Option<Self> {
        let Buffers { tape, names, text: buffer } = buffers;
        let mut read = tape.read(text)?;
        let mut says = Says::default();
        judge(&read, 0, &mut says, buffer, 0);
        (prune(&mut read, 0, buffer, names) > 0).then_some(Self { read, says })
    }

    /// Appends the canonical form; adds to `numbers` where digits are in it.
    pub(super) fn write(&mut self, out: &mut String, numbers: &mut Vec<Span>) {
        self.read.write::<false>(0, out, numbers);
    }

    /// Appends the same as text: quotes are for what the answer quotes, not for JSON's own strings.
    pub(super) fn write_text(&mut self, out: &mut String) {
        self.read.write::<true>(0, out, &mut Vec::new());
    }
}

/// Removes what is volatile; how many values that mean something are left.
fn prune(read: &mut Read<'_>, at: u32, buffer: &mut String, names: &mut Names) -> usize {
    let node = read.node(at);
    match node.tag {
        // That there is nothing means something, unless pruning made it so.
        _ if read.is_empty(at) => 1,
        Tag::Null | Tag::True | Tag::False | Tag::Time => 1,
        Tag::Number if is_epoch(read, node) => {
            if let Some(node) = read.node_mut(at) {
                node.tag = Tag::Time;
            }
            0
        }
        Tag::Number => 1,
        Tag::Text if Read::is_plain(node) || !is_volatile(read.text(node)) => 1,
        Tag::Text => {
            buffer.clear();
            let masked = normalise(read.text(node), Strength::Light, buffer);
            let time = matches!(buffer.as_str(), "<time>" | "<duration>");
            if masked.masked > 0 && (masked.letters >= 4 || time) {
                read.replace(at, buffer);
            }
            usize::from(!time)
        }
        Tag::List => {
            let (mut children, mut left) = (read.children(at), 0);
            while let Some(item) = children.next(read) {
                left += if is_content(read.node(item)) { 1 } else { prune(read, item, buffer, names) };
            }
            left
        }
        Tag::Object => {
            let envelope = is_envelope(read, at);
            let (mut children, mut left) = (read.children(at), 0);
            while let Some(name) = children.next(read) {
                if !has_volatile_name(read, name, envelope, names) {
                    let content = is_content(read.node(name + 1));
                    left += if content { 1 } else { prune(read, name + 1, buffer, names) };
                } else if let Some(field) = read.node_mut(name) {
                    field.gone = true;
                }
            }
            left
        }
    }
}

/// Whether a value is told to mean something without a look at its text: most are.
fn is_content(node: Node) -> bool {
    match node.tag {
        Tag::Null | Tag::True | Tag::False | Tag::Time => true,
        Tag::Number => Read::is_plain(node) && Read::length(node) < SHORTEST_EPOCH,
        // Nothing volatile is without digits.
        Tag::Text => Read::is_plain(node),
        Tag::List | Tag::Object => false,
    }
}

/// Characters of a number that may be a time.
const SHORTEST_EPOCH: usize = 10;

/// Seconds, milli-, micro- or nanoseconds since 1970, of the years 2014 to 2039.
fn is_epoch(read: &Read<'_>, node: Node) -> bool {
    const SECONDS: core::ops::Range<u64> = 1_400_000_000..2_200_000_000;
    let text = read.text(node);
    // Short and without an exponent it is too small.
    if text.len() < SHORTEST_EPOCH && (Read::is_plain(node) || !text.bytes().any(|byte| matches!(byte, b'e' | b'E'))) {
        return false;
    }
    let Some(number) = read.number(node) else { return false };
    // The cast saturates and cuts off the fraction.
    let whole = number.as_u64().or_else(|| number.as_f64().map(|double| double as u64)).unwrap_or(0);
    [1, 1_000, 1_000_000, 1_000_000_000].iter().any(|unit| SECONDS.contains(&(whole / unit)))
}

/// A message's wrapper: its `id` numbers the message, and tells nothing of what it carries.
fn is_envelope(read: &Read<'_>, at: u32) -> bool {
    let (mut id, mut created, mut jsonrpc, mut object, mut role, mut content) =
        (false, false, false, false, false, false);
    let mut children = read.children(at);
    while let Some(name) = children.next(read) {
        let node = read.node(name);
        // By the length first: nearly every name is none of them.
        if !matches!(Read::length(node), 2 | 4 | 6 | 7) {
            continue;
        }
        let name = read.text(node);
        match name.len() {
            2 => id |= name == "id",
            4 => role |= name == "role",
            6 => object |= name == "object",
            7 => {
                created |= name == "created";
                jsonrpc |= name == "jsonrpc";
                content |= name == "content";
            }
            _ => {}
        }
    }
    // Without either nothing depends on it.
    (id || created) && (jsonrpc || object && created || role && content)
}

/// What a field's name tells of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Volatile,
    /// An id: it goes where it looks drawn, not counted, for a short or plain number is content.
    Id,
    Content,
}

/// Names that were looked at already: the objects of a list have the same fields, mostly in the same order, and so have
/// the next answers of a tool.
#[derive(Clone, Debug, Default)]
struct Names {
    known: Vec<Known>,
    /// Where the next name is expected.
    next: usize,
}

#[derive(Clone, Debug)]
struct Known {
    /// The first eight bytes, which tell most names.
    begins: u64,
    name: String,
    named: Named,
}

impl Names {
    /// With more, it begins anew.
    const MOST: usize = 64;

    fn look(&mut self, begins: u64, name: &str) -> Named {
        let same = |known: &Known| {
            known.begins == begins && known.name.len() == name.len() && (name.len() <= 8 || known.name == name)
        };
        let expected = self.known.get(self.next).filter(|known| same(known)).map(|_| self.next);
        if let Some(at) = expected.or_else(|| self.known.iter().position(same)) {
            self.next = if at + 1 == self.known.len() { 0 } else { at + 1 };
            return self.known.get(at).map_or(Named::Content, |known| known.named);
        }
        let named = named(name);
        if self.known.len() >= Self::MOST {
            self.known.clear();
        }
        // What is longer is no field but a key of its own.
        if name.len() <= LONGEST_NAME {
            self.known.push(Known { begins, name: name.into(), named });
        }
        self.next = 0;
        named
    }
}

/// Bytes of a name that is remembered.
const LONGEST_NAME: usize = 64;

fn has_volatile_name(read: &Read<'_>, at: u32, envelope: bool, names: &mut Names) -> bool {
    let node = read.node(at);
    let name = read.text(node);
    envelope && matches!(name, "id" | "created")
        || match names.look(read.begins(node), name) {
            Named::Volatile => true,
            Named::Id => {
                let value = read.node(at + 1);
                value.tag == Tag::Text && is_drawn(read.text(value))
            }
            Named::Content => false,
        }
}

fn named(name: &str) -> Named {
    if listed_name(&VOLATILE_NAMES, name) {
        return Named::Volatile;
    }
    let mut words = name_words(name);
    let first = words.next().unwrap_or_default();
    let (mut last, mut second) = ("", "");
    if listed(&VOLATILE_WORDS, first) {
        return Named::Volatile;
    }
    for word in words {
        if second.is_empty() {
            second = word;
        }
        if listed(&VOLATILE_WORDS, word) {
            return Named::Volatile;
        }
        last = word;
    }
    let limits_rate = first.eq_ignore_ascii_case("rate") && second.to_ascii_lowercase().starts_with("limit");
    if limits_rate || listed(&VOLATILE_ENDS, last) {
        Named::Volatile
    } else if last.eq_ignore_ascii_case("id") {
        Named::Id
    } else {
        Named::Content
    }
}

/// Whether an id looks like a random one.
fn is_drawn(id: &str) -> bool {
    id.len() >= 12
        && id.bytes().any(|byte| byte.is_ascii_digit())
        && id.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !id.contains(char::is_whitespace)
}

/// Reads what an answer says from its own fields and those of what it wraps.
fn judge(read: &Read<'_>, at: u32, says: &mut Says, buffer: &mut String, depth: usize) {
    says.negative |= depth == 0 && read.is_empty(at);
    if read.node(at).tag != Tag::Object {
        return;
    }
    let fields = read.children(at);
    let (mut all, mut full) = (fields, false);
    while let Some(name) = all.next(read) {
        full |= read.node(name + 1).tag == Tag::List && !read.is_empty(name + 1);
    }
    let mut fields = fields;
    while let Some(field) = fields.next(read) {
        let (name, at) = (read.text(read.node(field)), field + 1);
        let value = read.node(at);
        match value.tag {
            Tag::List if !full && read.is_empty(at) => says.negative |= listed_name(&LISTS, name),
            Tag::Number if !full && read.text(value) == "0" => says.negative |= listed_name(&COUNTS, name),
            Tag::False => says.negative |= matches!(name, "found" | "exists"),
            Tag::Text if listed_name(&STATES, name) => {
                says.waiting |= listed_name(&WAITING_STATES, read.text(value));
            }
            Tag::Text if listed_name(&MESSAGES, name) => {
                buffer.clear();
                normalise(read.text(value), Strength::Light, buffer);
                let inner = super::answer::says(buffer);
                says.negative |= inner.negative;
                says.waiting |= inner.waiting;
                says.certainly_waiting |= inner.certainly_waiting;
            }
            Tag::Object if depth < 2 => judge(read, at, says, buffer, depth + 1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::assert_sorted;
    use super::*;

    fn canonical(text: &str) -> Option<String> {
        let mut buffers = Buffers::default();
        let mut answer = Answer::read(text, &mut buffers)?;
        let mut out = String::new();
        answer.write(&mut out, &mut Vec::new());
        Some(out)
    }

    #[test]
    fn lists_are_sorted() {
        for list in [&VOLATILE_WORDS[..], &VOLATILE_ENDS, &VOLATILE_NAMES, &LISTS, &COUNTS, &STATES, &MESSAGES] {
            assert_sorted(list);
        }
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
        ] {
            let mut buffers = Buffers::default();
            let answer = Answer::read(text, &mut buffers).expect("an answer");
            assert_eq!((answer.says.negative, answer.says.waiting), (negative, waiting), "{text}");
        }
    }
}
