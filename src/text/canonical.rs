//! Calls and structured values to the bytes that are compared.
//!
//! Two calls are the same if they ask for the same thing, however the arguments are spelled: key order, absent or
//! empty, `1.0` or `1`, `./a//b/` or `a/b`, another rationale or another time limit. Such tolerance is safe because an
//! equal outcome is required as well. Key order never comes from the map (it depends on features of `serde_json` that
//! any other crate may enable), and numbers are doubles as in RFC 8785, because a JavaScript host has nothing else.

use super::digest::{Key, salted};
use super::digits::{MOST as DIGITS, digits};
use super::mask::{HIGH, ONES};
use super::target::asks_nothing;
use super::words::{Sieve, is_name_in};
use crate::model::ToolCall;
use crate::text::sorted;
use alloc::{string::String, vec::Vec};
use core::cell::OnceCell;
use core::fmt::Write;
use serde_json::{Map, Number, Value};

/// The keys of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallKey {
    /// The canonical call.
    pub(crate) key: Key,
    /// The call as made: only key order and number format are normalised, and the host's own exclusions applied.
    pub(crate) raw: Key,
}

impl CallKey {
    /// Keys of a call that is compared byte for byte.
    pub(crate) const fn exact(key: Key) -> Self {
        Self { key, raw: key }
    }
}

/// Top-level fields that tell why, not what: they count only if there is nothing else.
const RATIONALE: &str = "actionrisk brief description explanation intent intention justification monologue purpose \
    rationale reason reasoning safetyrisk securityrisk summary taskprogress thinking thought thoughts toolaction \
    toolcalldescription toolsummary why";

/// Fields of [`RATIONALE`] that are the payload itself, such as an event's title, where no field of [`PAYLOADS`] is
/// present.
const TITLES: &str = "description summary";
/// A field of [`RATIONALE`] that is the payload if the call also says who is to do it: what that one is briefed about.
const BRIEF: &str = "brief";
const GIVEN_TO: &str = "assignee recipient worker";
/// Fields that tell what is to be run, read, asked or written.
const PAYLOADS: &str = "action cmd code command content file filepath input path pattern prompt q query script sql \
    text url";

/// Top-level fields that tell how, or identify a single request.
const MECHANICS: &str = "attempt attemptnumber callid correlationid idempotencykey invocationid nonce noop \
    requestid requestuuid retry retrycount spanid timeout timeoutinmilliseconds timeoutinseconds \
    timeoutmilliseconds timeoutms timeouts timeoutsec timeoutsecond timeoutseconds timeoutsecs timestamp toolcallid \
    traceid ts waitforprevioustools";

/// Nesting beyond which values are cut. The doors reject such depths long before; this bounds the recursion in any
/// case.
const MAX_DEPTH: usize = 128;

/// The keys of a call. `ignore` and `identity` are the tool's `ignoreArgs` and `identityArgs`; `buffer` is reused.
///
/// The host's `identity` of the call replaces the arguments. Otherwise only the `identity` fields count, if any are
/// given, without those in `ignore`. Without `identity` fields, rationale, time limits and request ids are ignored as
/// long as something else remains. No arguments, `null`, `{}` and blank text are equal.
pub(crate) fn call_key(
    call: &ToolCall,
    ignore: &[String],
    identity: &[String],
    salt: u64,
    buffer: &mut String,
) -> CallKey {
    if let Some(own) = &call.identity {
        return CallKey::exact(tagged("call-identity", salt, &call.tool, own, buffer));
    }
    if let Some(text) = call.raw_args.as_deref().filter(|text| !text.trim().is_empty()) {
        let key = tagged("call-text", salt, &call.tool, text.trim(), buffer);
        return CallKey { key, raw: tagged("call-text", salt, &call.tool, text, buffer) };
    }
    begin(&call.tool, buffer);
    let start = buffer.len();
    let mut writer = Writer { out: buffer, lenient: true, altered: false };
    match &call.args {
        Some(Value::Object(map)) => writer.arguments(map, ignore, identity),
        Some(value) => {
            writer.value(value, 0);
        }
        None => {}
    }
    let altered = writer.altered;
    let canonical = salted("call", salt, buffer.as_bytes());
    if altered {
        buffer.truncate(start);
        let mut writer = Writer { out: buffer, lenient: false, altered: false };
        match &call.args {
            // Fields that the host excludes do not count here either.
            Some(Value::Object(map)) if !(ignore.is_empty() && identity.is_empty()) => {
                writer.object(map, 0, |name| {
                    let named = |names: &[String]| names.iter().any(|own| own == name);
                    !named(ignore) && (identity.is_empty() || named(identity))
                });
            }
            args => {
                writer.value(args.as_ref().unwrap_or(&Value::Null), 0);
            }
        }
    }
    let raw = if altered { salted("call", salt, buffer.as_bytes()) } else { canonical };
    CallKey { key: canonical, raw }
}

/// The arguments of `call`, and whether they are canonical JSON; `buffer` must be as [`call_key`] has just left it.
pub(crate) fn arguments<'a>(call: &'a ToolCall, buffer: &'a mut String) -> (&'a str, bool) {
    match (&call.args, &call.raw_args) {
        (Some(args), _) => {
            if call.identity.is_some() || call.raw_args.is_some() {
                begin(&call.tool, buffer);
                canonical_json(args, buffer);
            }
            (buffer.get(call.tool.len() + 1..).unwrap_or_default(), true)
        }
        (None, Some(raw)) => (raw, false),
        (None, None) => ("", true),
    }
}

/// The arguments of a call if they are an object.
pub(super) fn named_arguments(call: &ToolCall) -> Option<&Map<String, Value>> {
    call.args.as_ref()?.as_object()
}

/// Whether a field tells why something is done, not what.
pub(super) fn is_rationale(name: &str) -> bool {
    const SIEVE: Sieve = Sieve::of(&[RATIONALE]);
    SIEVE.passes_name(name) && is_name_in(RATIONALE, name)
}

/// Appends `value` with sorted keys and normalised numbers; nothing is dropped.
pub(crate) fn canonical_json(value: &Value, buffer: &mut String) {
    Writer { out: buffer, lenient: false, altered: false }.value(value, 0);
}

/// Appends a number in its normalised form.
pub(super) fn number(number: &Number, buffer: &mut String) {
    Writer { out: buffer, lenient: false, altered: false }.number(number);
}

/// Appends a text as a JSON string.
pub(super) fn quoted(text: &str, buffer: &mut String) {
    Writer { out: buffer, lenient: false, altered: false }.quoted(text);
}

/// Whether lists and objects in `value` are nested at most `limit` deep; a scalar has depth 0. The recursion stops at
/// `limit`, whatever the value's own depth.
pub(crate) fn depth_within(value: &Value, limit: usize) -> bool {
    match value {
        Value::Array(items) => limit > 0 && items.iter().all(|item| depth_within(item, limit - 1)),
        Value::Object(map) => limit > 0 && map.values().all(|item| depth_within(item, limit - 1)),
        _ => true,
    }
}

/// Bytes of room from which a buffer is not kept for the next event.
const ROOM: usize = 256 * 1024;

/// Empties a buffer that is reused. One that grew for a huge text would otherwise be kept as long as its detector.
pub(super) fn empty(buffer: &mut String) {
    if buffer.capacity() > ROOM {
        *buffer = String::new();
    }
    buffer.clear();
}

fn begin(tool: &str, buffer: &mut String) {
    empty(buffer);
    buffer.push_str(tool);
    buffer.push('\0');
}

fn tagged(domain: &str, salt: u64, tool: &str, text: &str, buffer: &mut String) -> Key {
    begin(tool, buffer);
    buffer.push_str(text);
    salted(domain, salt, buffer.as_bytes())
}

/// Appends canonical JSON in one pass.
struct Writer<'a> {
    out: &'a mut String,
    /// Drop what is empty and simplify paths and URLs; otherwise everything is written as it is.
    lenient: bool,
    /// Whether anything was dropped or simplified.
    altered: bool,
}

impl Writer<'_> {
    /// Appends the arguments of a call, with their top-level fields filtered.
    fn arguments(&mut self, map: &Map<String, Value>, ignore: &[String], identity: &[String]) {
        const SIEVE: Sieve = Sieve::of(&[MECHANICS, RATIONALE]);
        let start = self.out.len();
        // Each is asked of all names at most once, however many names there are.
        let (given, payload) = (OnceCell::new(), OnceCell::new());
        let has =
            |known: &OnceCell<bool>, names: &str| *known.get_or_init(|| map.keys().any(|name| is_name_in(names, name)));
        let is_payload = |name: &str| {
            (is_name_in(TITLES, name) || name == BRIEF && has(&given, GIVEN_TO)) && !has(&payload, PAYLOADS)
        };
        // A field that says why or how is left out unless nothing remains without it: then it is the payload.
        for level in 0..3 {
            let wrote = self.object(map, 0, |name| {
                if !identity.is_empty() {
                    return identity.iter().any(|own| own == name) && !ignore.iter().any(|own| own == name);
                }
                let why = || is_name_in(RATIONALE, name) && !is_payload(name);
                let dropped =
                    SIEVE.passes_name(name) && (level < 2 && is_name_in(MECHANICS, name) || level < 1 && why());
                !dropped && !ignore.iter().any(|own| own == name)
            });
            if wrote || !identity.is_empty() {
                return;
            }
            self.out.truncate(start);
        }
    }

    /// Appends a value and returns whether anything was appended.
    fn value(&mut self, value: &Value, depth: usize) -> bool {
        match value {
            Value::Null if self.lenient => return self.nothing(),
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) => self.number(number),
            Value::String(text) if text.is_empty() && self.lenient => return self.nothing(),
            Value::String(text) => self.string(text),
            Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => self.out.push('…'),
            Value::Array(items) => return self.array(items, depth),
            Value::Object(map) => return self.object(map, depth, |_| true),
        }
        true
    }

    /// Positions in a list count: an empty item among others is kept as `null`, and a list of only empty items is
    /// empty.
    fn array(&mut self, items: &[Value], depth: usize) -> bool {
        let start = self.out.len();
        let mut any = false;
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            let wrote = self.value(item, depth + 1);
            if !wrote {
                self.out.push_str("null");
            }
            any |= wrote;
        }
        self.out.push(']');
        self.finish(start, any)
    }

    fn object(&mut self, map: &Map<String, Value>, depth: usize, counts: impl Fn(&str) -> bool) -> bool {
        let start = self.out.len();
        self.out.push('{');
        let mut any = false;
        let mut last: Option<&String> = None;
        for (name, value) in map {
            if last.is_some_and(|last| last >= name) {
                // The map has another order: start again with sorted names.
                self.out.truncate(start + 1);
                any = false;
                let names = sorted(map.keys().collect::<Vec<_>>());
                for (name, value) in names.into_iter().filter_map(|name| map.get_key_value(name)) {
                    any |= self.field(name, value, depth, any, &counts);
                }
                break;
            }
            last = Some(name);
            any |= self.field(name, value, depth, any, &counts);
        }
        self.out.push('}');
        self.finish(start, any)
    }

    fn field(&mut self, name: &str, value: &Value, depth: usize, comma: bool, counts: impl Fn(&str) -> bool) -> bool {
        if !counts(name) {
            self.altered = true;
            return false;
        }
        let start = self.out.len();
        if comma {
            self.out.push(',');
        }
        self.quoted(name);
        self.out.push(':');
        let wrote = self.value(value, depth + 1);
        if !wrote {
            self.out.truncate(start);
        }
        wrote
    }

    /// If lenient, removes a list or object that turned out empty, which equals an absent one.
    fn finish(&mut self, start: usize, any: bool) -> bool {
        if any || !self.lenient {
            return true;
        }
        self.out.truncate(start);
        self.nothing()
    }

    /// Notes that something empty was left out.
    fn nothing(&mut self) -> bool {
        self.altered = true;
        false
    }

    fn string(&mut self, text: &str) {
        if self.lenient && is_unresolved_path(text) {
            self.altered = true;
            self.out.push('"');
            resolve_path(text, self.out);
            self.out.push('"');
        } else if let Some(short) = without_busters(text).filter(|_| self.lenient) {
            self.altered = true;
            self.quoted(&short);
        } else {
            self.quoted(text);
        }
    }

    /// Only the escapes that JSON requires: distinct texts must stay distinct, and this must be fast.
    fn quoted(&mut self, text: &str) {
        self.out.push('"');
        let mut rest = text;
        while let Some(at) = escape(rest.as_bytes()) {
            let Some((plain, tail)) = rest.split_at_checked(at) else { break };
            self.out.push_str(plain);
            let mut tail = tail.chars();
            match tail.next() {
                Some('\n') => self.out.push_str("\\n"),
                Some(control) if control < ' ' => {
                    self.out.push_str("\\u00");
                    self.hex_digit(control as u32 >> 4);
                    self.hex_digit(control as u32 & 15);
                }
                Some(escaped) => {
                    self.out.push('\\');
                    self.out.push(escaped);
                }
                None => {}
            }
            rest = tail.as_str();
        }
        self.out.push_str(rest);
        self.out.push('"');
    }

    fn integer(&mut self, integer: i64) {
        if integer < 0 {
            self.out.push('-');
        }
        self.out.push_str(digits(integer.unsigned_abs(), &mut [0; DIGITS]));
    }

    fn hex_digit(&mut self, digit: u32) {
        self.out.extend(char::from_digit(digit, 16));
    }

    /// Integers within ±2^53 are written as such, everything else as the nearest double in its shortest form.
    fn number(&mut self, number: &Number) {
        const EXACT: i64 = 1 << 53;
        let integer = number.as_i64().filter(|integer| (-EXACT..=EXACT).contains(integer));
        let integer = integer.or_else(|| {
            let double = number.as_f64()?;
            // The cast saturates, so only a whole number within the range survives the round trip.
            let whole = double as i64;
            ((-EXACT..=EXACT).contains(&whole) && whole as f64 == double).then_some(whole)
        });
        match integer {
            Some(integer) => self.integer(integer),
            None => {
                // Only with `arbitrary_precision` can a number exceed every double or be spelled other than in the
                // shortest form.
                let double = number.as_f64().and_then(Number::from_f64);
                // INVARIANT: writing to a `String` does not fail.
                let _ = write!(self.out, "{}", double.as_ref().unwrap_or(number));
            }
        }
    }
}

/// The index of the first byte that JSON escapes, eight bytes at a time. Not inlined on Wasm, where code size matters.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline)]
pub(super) fn escape(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        if let Some(place) = escape_in(u64::from_le_bytes(*word)) {
            return Some(at * 8 + place);
        }
    }
    // The remainder is read as the last eight bytes, of which the earlier ones are known to be plain, or in two halves
    // that may overlap.
    let last = match (bytes.last_chunk(), bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        _ if rest.is_empty() => return None,
        (Some(last), ..) => u64::from_le_bytes(*last),
        (_, Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        _ => return rest.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')),
    };
    let place = escape_in(last)?;
    Some(if bytes.len() < 8 && place < 4 { place } else { bytes.len() + place - 8 })
}

/// [`escape`] of eight bytes.
#[inline]
const fn escape_in(word: u64) -> Option<usize> {
    // Sets the high bit of every ASCII byte that is a control character, a quote or a backslash. Borrows may mark a
    // byte above such a one wrongly, but never the lowest.
    let below = word.wrapping_sub(ONES * 0x20);
    let (quote, slash) = ((word ^ (ONES * 0x22)).wrapping_sub(ONES), (word ^ (ONES * 0x5c)).wrapping_sub(ONES));
    let marks = (below | quote | slash) & !word & HIGH;
    if marks == 0 { None } else { Some(marks.trailing_zeros() as usize / 8) }
}

/// Whether there is a slash, sixteen bytes at a time; the last sixteen may overlap those before.
fn holds_slash(bytes: &[u8]) -> bool {
    let is_slash = |found: bool, byte: &u8| found | (*byte == b'/');
    match bytes.last_chunk::<16>() {
        Some(last) => {
            bytes.as_chunks::<16>().0.iter().any(|bytes| bytes.iter().fold(false, is_slash))
                || last.iter().fold(false, is_slash)
        }
        None => bytes.contains(&b'/'),
    }
}

/// A URL without its cache-busting parameters; `None` if there are none.
fn without_busters(text: &str) -> Option<String> {
    if !text.starts_with("http") || text.bytes().any(|byte| byte.is_ascii_whitespace()) {
        return None;
    }
    let (page, query) = text.split_once('?').filter(|(page, _)| page.contains("://"))?;
    let mut short = String::from(page);
    for parameter in query.split('&').filter(|parameter| !asks_nothing(parameter)) {
        short.push(if short.len() == page.len() { '?' } else { '&' });
        short.push_str(parameter);
    }
    (short.len() < text.len()).then_some(short)
}

/// Whether `text` looks like a path with a simpler spelling: no blanks, quotes or scheme, but `./`, `//`, `..` or a
/// trailing `/`.
fn is_unresolved_path(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() > 1024 || !holds_slash(bytes) {
        return false;
    }
    let Some(first_slash) = bytes.iter().position(|byte| *byte == b'/') else { return false };
    let awkward = text.ends_with('/') && text.len() > 1
        || text.starts_with("./")
        || bytes.get(first_slash..).unwrap_or_default().windows(2).any(|pair| matches!(pair, b"//" | b"/."));
    awkward
        && !text.contains("://")
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"/._-~@+=,%#*?{}[]:".contains(byte))
}

/// Appends `path` without `.`, empty and `name/..` components and without a trailing `/`.
pub(crate) fn resolve_path(path: &str, out: &mut String) {
    let absolute = path.starts_with('/');
    let start = out.len();
    if absolute {
        out.push('/');
    }
    let root = out.len();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                let written = out.get(root..).unwrap_or_default();
                let last = written.rsplit('/').next().unwrap_or_default();
                match last {
                    "" if absolute => {}
                    "" | ".." => join(out, root, ".."),
                    _ => {
                        let keep = written.rfind('/').unwrap_or(0);
                        out.truncate(root + keep);
                    }
                }
            }
            name => join(out, root, name),
        }
    }
    if out.len() == start {
        out.push('.');
    }
}

fn join(out: &mut String, root: usize, part: &str) {
    if out.len() > root {
        out.push('/');
    }
    out.push_str(part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(args: Value) -> ToolCall {
        ToolCall { tool: "t".into(), args: Some(args), ..ToolCall::default() }
    }

    fn keys(call: &ToolCall) -> CallKey {
        call_key(call, &[], &[], 0, &mut String::new())
    }

    proptest::proptest! {
        #[test]
        fn the_first_escape_is_found(text in "[ -~é\\x00-\\x1f\\x7f]{0,40}|[ a-z!#é]{0,40}[\"\\\\\n!#][ -~]{0,20}") {
            let bytes = text.as_bytes();
            let expected = bytes.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
            proptest::prop_assert_eq!(escape(bytes), expected, "{:?}", text);
        }
    }

    #[test]
    fn the_same_call_however_it_is_spelled() {
        let deep = |leaf: Value| json!({"a": {"b": [leaf, 1]}});
        for (left, right, same) in [
            (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), true),
            (json!({"a": 1, "b": null, "c": "", "d": [], "e": {}}), json!({"a": 1}), true),
            (json!({"a": {"b": [{"c": ""}]}, "d": 1}), json!({"d": 1}), true),
            (json!({"a": 0}), json!({}), false),
            (json!({"a": false}), json!({}), false),
            (json!({"a": " "}), json!({}), false),
            (json!({"a": [null, "x"]}), json!({"a": ["x"]}), false),
            (json!({"a": [null, "x"]}), json!({"a": ["", "x"]}), true),
            (json!({"a": 1.0}), json!({"a": 1}), true),
            (json!({"a": -0.0}), json!({"a": 0}), true),
            (json!({"a": 1.5}), json!({"a": 1}), false),
            (json!({"a": "1"}), json!({"a": 1}), false),
            (json!({"a": 9_007_199_254_740_993_u64}), json!({"a": 9_007_199_254_740_992_u64}), true),
            (json!({"a": 9_007_199_254_740_993_u64}), json!({"a": 9_007_199_254_740_994_u64}), false),
            (json!({"a": u64::MAX}), json!({"a": 18_446_744_073_709_551_615.0}), true),
            (json!({"a": i64::MIN}), json!({"a": -9_223_372_036_854_775_808.0}), true),
            (json!({"a": 1e300}), json!({"a": 1e301}), false),
            (deep(json!(1)), deep(json!(1.0)), true),
            (deep(json!("x")), deep(json!("y")), false),
            (json!({"p": "./a//b/"}), json!({"p": "a/b"}), true),
            (json!({"p": "/a/x/../b"}), json!({"p": "/a/b"}), true),
            (json!({"p": "../a"}), json!({"p": "a"}), false),
            (json!({"p": "a//b c"}), json!({"p": "a/b c"}), false),
            (json!({"u": "https://x.test//a"}), json!({"u": "https://x.test/a"}), false),
            (json!({"u": "https://x.test/a?cb=1"}), json!({"u": "https://x.test/a?_=2&utm_source=b"}), true),
            (json!({"u": "https://x.test/a?q=1&cb=1&p=2"}), json!({"u": "https://x.test/a?q=1&p=2"}), true),
            (json!({"u": "https://x.test/a?q=1"}), json!({"u": "https://x.test/a?q=2"}), false),
            (json!({"u": "https://x.test/a?from=1790000000"}), json!({"u": "https://x.test/a?from=1790000001"}), false),
            (json!({"u": "see https://x.test/a?cb=1"}), json!({"u": "see https://x.test/a?cb=2"}), false),
            (json!({"p": "/"}), json!({"p": "."}), false),
            (json!("x"), json!(["x"]), false),
            (json!({"a\"": "b"}), json!({"a": "\"b"}), false),
            (json!({"a": "x\ny"}), json!({"a": "x\\ny"}), false),
        ] {
            let (a, b) = (keys(&call(left.clone())), keys(&call(right.clone())));
            assert_eq!(a.key == b.key, same, "{left} {right}");
            assert!(a.key == b.key || a.raw != b.raw, "{left} {right}: raw is at least as strict");
        }
    }

    #[test]
    fn raw_keeps_what_canonical_drops() {
        for (left, right, same) in [
            (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), true),
            (json!({"a": 1.0}), json!({"a": 1}), true),
            (json!({"a": 1, "b": null}), json!({"a": 1}), false),
            (json!({"a": "./x"}), json!({"a": "x"}), false),
            (json!({"a": 1, "timeout": 5}), json!({"a": 1, "timeout": 6}), false),
        ] {
            assert_eq!(keys(&call(left.clone())).raw == keys(&call(right.clone())).raw, same, "{left} {right}");
        }
    }

    #[test]
    fn reasons_and_mechanics_count_only_alone() {
        for (left, right, same) in [
            (json!({"q": "x", "description": "one"}), json!({"q": "x", "description": "two"}), true),
            (json!({"q": "x", "timeout_ms": 5, "requestId": "a"}), json!({"q": "x", "timeout": 9}), true),
            (json!({"q": "x", "description": "one"}), json!({"q": "y", "description": "one"}), false),
            (json!({"description": "one"}), json!({"description": "two"}), false),
            (json!({"description": "one", "timeout": 1}), json!({"description": "one", "timeout": 2}), true),
            (json!({"description": "one", "q": ""}), json!({"description": "two", "q": ""}), false),
            // A title, and a text to be written.
            (json!({"summary": "Ana", "attendees": ["Bo"]}), json!({"summary": "Ben", "attendees": ["Bo"]}), false),
            (json!({"issue": 7, "description": "one"}), json!({"issue": 7, "description": "two"}), false),
            (json!({"assignee": "ida", "brief": "one"}), json!({"assignee": "ida", "brief": "two"}), false),
            (json!({"port": 7, "brief": "one"}), json!({"port": 7, "brief": "two"}), true),
            (
                json!({"worker": "ida", "text": "x", "brief": "one"}),
                json!({"worker": "ida", "text": "x", "brief": "two"}),
                true,
            ),
            (json!({"command": "ls", "summary": "one"}), json!({"command": "ls", "summary": "two"}), true),
            (json!({"timeout": 1}), json!({"timeout": 2}), false),
            (json!({"in": {"timeout": 1}}), json!({"in": {"timeout": 2}}), false),
        ] {
            assert_eq!(keys(&call(left.clone())).key == keys(&call(right.clone())).key, same, "{left} {right}");
        }
    }

    #[test]
    fn the_host_decides_first() {
        let one = call(json!({"path": "a", "note": 1}));
        let two = call(json!({"path": "a", "note": 2}));
        let names = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect::<Vec<_>>();
        let mut buffer = String::new();
        let mut same = |ignore: &[&str], identity: &[&str]| {
            call_key(&one, &names(ignore), &names(identity), 0, &mut buffer).key
                == call_key(&two, &names(ignore), &names(identity), 0, &mut buffer).key
        };
        assert!(!same(&[], &[]));
        assert!(same(&["note"], &[]));
        assert!(same(&[], &["path"]));
        assert!(!same(&[], &["note"]));
        assert!(!same(&["path"], &[]));
        let own = |args: Value, identity: &str| ToolCall { identity: Some(identity.into()), ..call(args) };
        assert_eq!(keys(&own(json!(1), "k")), keys(&own(json!(2), "k")));
        assert_ne!(keys(&own(json!(1), "k")), keys(&own(json!(1), "l")));
        assert_ne!(keys(&own(json!("k"), "k")).key, keys(&call(json!("k"))).key);
    }

    #[test]
    fn no_arguments_are_one() {
        let none = ToolCall { tool: "t".into(), ..ToolCall::default() };
        let raw = |text: &str| ToolCall { raw_args: Some(text.into()), ..none.clone() };
        let key = keys(&none).key;
        for call in [call(json!({})), call(json!(null)), call(json!({"a": null})), call(json!("")), raw(""), raw(" \n")]
        {
            assert_eq!(keys(&call).key, key, "{call:?}");
        }
        assert_ne!(keys(&ToolCall { tool: "u".into(), ..none.clone() }).key, key);
        assert_eq!(keys(&raw("{oops ")).key, keys(&raw(" {oops")).key);
        assert_ne!(keys(&raw("{oops ")).raw, keys(&raw(" {oops")).raw);
        assert_ne!(keys(&raw("1")).key, keys(&call(json!(1))).key);
    }

    #[test]
    fn paths() {
        for (path, expected) in [
            ("./", "."),
            ("a/./b", "a/b"),
            ("a/..", "."),
            ("a/../..", ".."),
            ("../../a", "../../a"),
            ("/..", "/"),
            ("/../a/", "/a"),
            ("//", "/"),
            ("a//b///", "a/b"),
            ("a/b/../../c", "c"),
            ("~/x/../y", "~/y"),
            ("日本/../語/", "語"),
        ] {
            let mut out = String::from("kept ");
            resolve_path(path, &mut out);
            assert_eq!(out.strip_prefix("kept "), Some(expected), "{path}");
        }
    }

    #[test]
    fn depth_ends_the_recursion() {
        let mut value = json!(1);
        for _ in 0..120 {
            value = json!([value]);
        }
        assert!(depth_within(&value, 120));
        assert!(!depth_within(&value, 119));
        assert!(
            depth_within(&json!({"a": [1]}), 2) && !depth_within(&json!({"a": [1]}), 1) && depth_within(&json!(1), 0)
        );
        for _ in 0..500 {
            value = json!({"a": value});
        }
        assert!(!depth_within(&value, 120));
        assert_ne!(keys(&call(value)).key, 0);
    }
}
