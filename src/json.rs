//! The JSON interface: every operation of the [`Detector`] over JSON text.
//!
//! Events, verdicts, configuration, status, metrics and the JSON report conform to the published schemas. Lone
//! surrogates in `\u` escapes become U+FFFD (as whenever JavaScript strings are encoded as UTF-8), the last of several
//! duplicate keys wins, and integers outside 64 bits become the nearest double.

mod diagnose;
mod goals;
mod read;
mod tree;
mod typed;

use crate::detector::{DEPTH, Detector};
use crate::model::{
    Checkpoint, Config, Decision, Error, ErrorCode, Event, Expectation, Graph, Level, Profile, ReportFormat,
    ResetReason, Scenario, Scope, TraceEvent,
};
use crate::profiles;
use crate::text::{nearest, split_last};
use crate::write::written;
use alloc::{borrow::Cow, format, string::String, string::ToString, vec::Vec};
pub use diagnose::{in_force, normalise};
pub use goals::goals;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use typed::typed;

#[cfg(any(feature = "js", fuzzing, test))]
pub(crate) use read::exit_code;

/// Creates a detector from a configuration document; blank text means the recommended configuration.
///
/// # Errors
/// `invalid-json` or `invalid-config`, naming the field.
pub fn detector(config: &str) -> Result<Detector, Error> {
    Detector::new(self::config(config)?)
}

/// Parses a configuration document without validating its thresholds. It may contain `$schema`, for editors; the field
/// is ignored.
///
/// # Errors
/// `invalid-json` or `invalid-config`, naming the field.
pub fn config(text: &str) -> Result<Config, Error> {
    if text.trim().is_empty() {
        return Ok(Config::default());
    }
    config_from(value_of("config", text)?, "")
}

/// Parses a configuration and applies it on top of the profiles it extends.
fn config_from(value: Value, path: &str) -> Result<Config, Error> {
    let mut document = object(value, ErrorCode::InvalidConfig, path)?;
    if path.is_empty() {
        document.remove("$schema");
    }
    let base = match document.remove("extends") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::String(name)) => profile(&name, &format!("{path}extends"))?,
        Some(Value::Array(names)) => {
            let mut base = Map::new();
            for (index, name) in names.into_iter().enumerate() {
                let field = format!("{path}extends[{index}]");
                let Value::String(name) = name else { return Err(no_name(&field, name)) };
                lay_over(&mut base, profile(&name, &field)?);
            }
            base
        }
        Some(other) => return Err(no_name(&format!("{path}extends"), other)),
    };
    let mut whole = base;
    lay_over(&mut whole, document);
    typed(Value::Object(whole), ErrorCode::InvalidConfig, path)
}

fn no_list() -> Error {
    Error::new(ErrorCode::InvalidEvent, "expected a list of events")
}

fn no_name(field: &str, value: Value) -> Error {
    let message = "expected the name of a detector, or a list of names";
    Error::new(ErrorCode::InvalidConfig, message).at(field).with(to_string(&value))
}

/// A profile's document, applied on top of the profile that it extends itself.
fn profile(name: &str, field: &str) -> Result<Map<String, Value>, Error> {
    let Some(profile) = Profile::named(name) else {
        let known = || Profile::ALL.iter().map(|profile| profile.name());
        let message = match nearest(name, known()) {
            Some(meant) => format!("unknown detector, did you mean `{meant}`?"),
            None => format!("unknown detector, expected one of {}", known().collect::<Vec<_>>().join(", ")),
        };
        return Err(Error::new(ErrorCode::InvalidConfig, message).at(field).with(name));
    };
    let mut document = object(value(profiles::text(profile))?, ErrorCode::InvalidConfig, field)?;
    match document.remove("extends") {
        Some(Value::String(name)) => {
            let mut base = self::profile(&name, field)?;
            lay_over(&mut base, document);
            Ok(base)
        }
        _ => Ok(document),
    }
}

/// Merges `over` into `base`, recursively for objects. A `null` leaves the value of `base` in place.
fn lay_over(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (name, value) in over {
        match (base.get_mut(&name), value) {
            (Some(Value::Object(base)), Value::Object(over)) => lay_over(base, over),
            (Some(_), Value::Null) => {}
            (_, value) => {
                base.insert(name, value);
            }
        }
    }
}

/// Resolves `extends`: fields that differ from their defaults override the profiles.
pub(crate) fn extended(mut config: Config) -> Result<Config, Error> {
    let Some(extends) = config.extends.take() else { return Ok(config) };
    let mut base = Map::new();
    for named in extends.profiles() {
        lay_over(&mut base, profile(named.name(), "extends")?);
    }
    let own = config_text(&config);
    if !own.is_empty() {
        lay_over(&mut base, object(value(&own)?, ErrorCode::InvalidConfig, "")?);
    }
    typed(Value::Object(base), ErrorCode::InvalidConfig, "")
}

/// Parses an event.
///
/// # Errors
/// `invalid-json`, `unknown-event` or `invalid-event`, naming the field.
pub fn event(text: &str) -> Result<Event, Error> {
    read::event(object(value_of("event", text)?, ErrorCode::InvalidEvent, "")?, "")
}

/// Parses a line of a trace: an event that may have `pending: true`.
///
/// # Errors
/// The same as [`event`].
pub fn trace_event(text: &str) -> Result<TraceEvent, Error> {
    trace_event_from(value_of("event", text)?, "")
}

/// Parses a line of a scenario file.
///
/// # Errors
/// `invalid-json`, or the error of the offending part with the path of that part as prefix of its field.
pub fn scenario(text: &str) -> Result<Scenario, Error> {
    /// The keys read here besides `events` and `config`; others are ignored.
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Labels {
        id: String,
        expect: Option<Expectation>,
        expect_at: Option<u32>,
        #[serde(default)]
        first_at: bool,
        min_level: Option<Level>,
        #[serde(default)]
        checkpoints: Vec<Checkpoint>,
        success: Option<bool>,
    }
    let mut map = object(value_of("scenario", text)?, ErrorCode::InvalidEvent, "scenario")?;
    let events = match map.remove("events") {
        Some(Value::Array(events)) => events
            .into_iter()
            .enumerate()
            .map(|(index, value)| trace_event_from(value, &format!("events[{index}].")))
            .collect::<Result<Vec<_>, _>>()?,
        Some(_) => return Err(no_list().at("events")),
        None => return Err(Error::new(ErrorCode::InvalidEvent, "missing field").at("events")),
    };
    let config = match map.remove("config") {
        None | Some(Value::Null) => None,
        Some(value) => Some(config_from(value, "config.")?),
    };
    let labels: Labels = typed(Value::Object(map), ErrorCode::InvalidEvent, "")?;
    Ok(Scenario {
        id: labels.id,
        events,
        config,
        expect: labels.expect,
        expect_at: labels.expect_at,
        first_at: labels.first_at,
        min_level: labels.min_level,
        checkpoints: labels.checkpoints,
        success: labels.success,
    })
}

/// [`Detector::record`] with JSON text.
///
/// # Errors
/// The same as [`event`] and [`Detector::record`].
pub fn record(detector: &mut Detector, event: &str) -> Result<String, Error> {
    Ok(to_string(&detector.record(&self::event(event)?)?))
}

/// [`Detector::check`] with JSON text.
///
/// # Errors
/// The same as [`event`] and [`Detector::check`].
pub fn check(detector: &Detector, event: &str) -> Result<String, Error> {
    Ok(to_string(&detector.check(&self::event(event)?)?))
}

/// [`Detector::declare_graph`] with JSON text.
///
/// # Errors
/// The same as [`graph`], [`scope`] and [`Detector::declare_graph`].
pub fn declare_graph(detector: &mut Detector, scope: &str, graph: &str) -> Result<(), Error> {
    let graph = self::graph(graph)?;
    detector.declare_graph(&self::scope(scope)?, &graph)
}

/// Parses a workflow graph.
///
/// # Errors
/// `invalid-json` or `invalid-argument`, naming the field.
pub fn graph(text: &str) -> Result<Graph, Error> {
    typed(value_of("graph", text)?, ErrorCode::InvalidArgument, "graph.")
}

/// Parses a scope; blank text means the default scope.
///
/// # Errors
/// `invalid-json` or `invalid-argument`, naming the field.
pub fn scope(text: &str) -> Result<Scope, Error> {
    if text.trim().is_empty() {
        return Ok(Scope::default());
    }
    typed(
        Value::Object(object(value_of("scope", text)?, ErrorCode::InvalidArgument, "scope")?),
        ErrorCode::InvalidArgument,
        "scope.",
    )
}

/// [`Detector::status`] with JSON text.
///
/// # Errors
/// The same as [`scope`].
pub fn status(detector: &Detector, scope: &str) -> Result<String, Error> {
    Ok(to_string(&detector.status(&self::scope(scope)?)))
}

/// [`Detector::reset`] with JSON text; `reason` is the bare kebab-case word. Returns the list of records.
///
/// # Errors
/// The same as [`scope`]; `invalid-argument` at `reason`.
pub fn reset(detector: &mut Detector, scope: &str, reason: &str) -> Result<String, Error> {
    let reason: ResetReason = word(reason, "reason")?;
    Ok(to_string(&detector.reset(&self::scope(scope)?, reason)))
}

/// [`Detector::acknowledge`] with JSON text. Returns the list of records.
///
/// # Errors
/// The same as [`scope`], [`decision`] and [`Detector::acknowledge`].
pub fn acknowledge(detector: &mut Detector, scope: &str, decision: &str) -> Result<String, Error> {
    Ok(to_string(&detector.acknowledge(&self::scope(scope)?, &self::decision(decision)?)?))
}

/// Parses a human's answer at a gate.
///
/// # Errors
/// `invalid-json` or `invalid-argument`, naming the field.
pub fn decision(text: &str) -> Result<Decision, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Kind {
        Continue,
        Stop,
        Exempt,
    }
    #[derive(Deserialize)]
    struct Exemption {
        rule: String,
        signature: String,
        until: Option<i64>,
    }
    const CODE: ErrorCode = ErrorCode::InvalidArgument;
    let mut map = object(value_of("decision", text)?, CODE, "decision")?;
    let kind = map.remove("decision").ok_or_else(|| Error::new(CODE, "missing field").at("decision.decision"))?;
    Ok(match typed(kind, CODE, "decision.decision")? {
        // Further fields are ignored.
        Kind::Continue => Decision::Continue,
        Kind::Stop => Decision::Stop,
        Kind::Exempt => {
            let Exemption { rule, signature, until } = typed(Value::Object(map), CODE, "decision.")?;
            Decision::Exempt { rule, signature, until }
        }
    })
}

/// [`Detector::report`] with JSON text; `format` is `markdown` or `json`.
///
/// # Errors
/// The same as [`scope`]; `invalid-argument` at `format`.
pub fn report(detector: &Detector, scope: &str, format: &str) -> Result<String, Error> {
    let scope = self::scope(scope)?;
    Ok(match word(format, "format")? {
        ReportFormat::Markdown => detector.report_markdown(&scope),
        ReportFormat::Json => to_string(&detector.report(&scope)),
    })
}

/// [`Detector::metrics`] as JSON text.
#[must_use]
pub fn metrics(detector: &Detector) -> String {
    to_string(&detector.metrics())
}

/// Serialises a value of the model as JSON text.
#[must_use]
pub fn to_string(value: &impl Serialize) -> String {
    written(value)
}

fn trace_event_from(value: Value, path: &str) -> Result<TraceEvent, Error> {
    let mut map = object(value, ErrorCode::InvalidEvent, path)?;
    let pending = match map.remove("pending") {
        None => false,
        Some(Value::Bool(pending)) => pending,
        Some(other) => {
            let error = Error::new(ErrorCode::InvalidEvent, "expected true or false");
            return Err(error.at(format!("{path}pending")).with(to_string(&other)));
        }
    };
    Ok(TraceEvent { event: read::event(map, path)?, pending })
}

/// Serialises a configuration for [`config`] to read: only the fields that differ from their defaults.
pub(crate) fn config_text(config: &Config) -> String {
    let default = Config::default();
    if *config == default {
        return String::new();
    }
    // Via JSON text, because that serialiser exists anyway. INVARIANT: what was just written can be read.
    let value = |config: &Config| value(&to_string(config)).unwrap_or_default();
    let mut changed = value(config);
    leave_out(&mut changed, &value(&default));
    to_string(&changed)
}

/// Removes from `value` everything that is the same in `default`.
fn leave_out(value: &mut Value, default: &Value) {
    let (Value::Object(fields), Value::Object(defaults)) = (value, default) else { return };
    fields.retain(|name, field| {
        let same = defaults.get(name).map(|default| {
            let same = default == field;
            leave_out(field, default);
            same
        });
        same != Some(true)
    });
}

/// Parses JSON text. Lone surrogates are repaired; they are looked for only in text that cannot be parsed.
pub(crate) fn value(text: &str) -> Result<Value, Error> {
    let parsed = serde_json::from_str(text).or_else(|_| serde_json::from_str(&repair_surrogates(text)));
    parsed.map_err(|error| unreadable(text, &error))
}

/// The error for text that is not JSON or that exceeds what is accepted.
#[cold]
#[inline(never)]
fn unreadable(text: &str, error: &serde_json::Error) -> Error {
    let message = error.to_string();
    let (told, end) = if let Some(place) = message.strip_prefix("recursion limit exceeded") {
        (format!("nested deeper than {DEPTH} levels{place}"), usize::MAX)
    } else if message.starts_with("number out of range") {
        // The column can only be used as an offset if the text is a single line.
        (message, if error.line() == 1 { error.column() } else { 0 })
    } else {
        return no_json(text, error);
    };
    let told = Error::new(ErrorCode::InvalidJson, told);
    match field_at(text, end) {
        Some(field) => told.at(field),
        None => told,
    }
}

/// [`value`], with the name of the document in the error.
#[inline(never)]
fn value_of(what: &str, text: &str) -> Result<Value, Error> {
    value(text).map_err(|mut error| {
        if error.message.starts_with(NO_JSON) {
            error.message = format!("{what} is {}", error.message);
        }
        error
    })
}

const NO_JSON: &str = "not JSON: ";

/// Beginnings of the parser's messages, and plain wording for them.
const SYNTAX: [(&str, &str); 6] = [
    ("EOF", "the text ends too early"),
    ("expected ident", "expected a value"),
    ("expected value", "expected a value"),
    ("key must", "expected a name in double quotes"),
    ("trailing characters", "expected nothing more"),
    ("trailing comma", "expected more after the comma"),
];

/// The error for text that is not JSON: where it goes wrong, and the word or character there.
#[cold]
#[inline(never)]
fn no_json(text: &str, error: &serde_json::Error) -> Error {
    let said = error.to_string();
    let said = split_last(&said, " at line ").map_or(said.as_str(), |(message, _)| message);
    let what = SYNTAX.iter().find(|(begin, _)| said.starts_with(begin)).map_or(said, |(_, what)| what);
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let at = error.column().saturating_sub(1).min(line.len());
    let in_word = |byte: &&u8| byte.is_ascii_alphanumeric();
    let (before, rest) = line.as_bytes().split_at_checked(at).unwrap_or_default();
    let ahead = rest.iter().take_while(in_word).count();
    // The whole word is shown, even if it is wrong only from its second letter on.
    let back = if ahead == 0 { 0 } else { before.iter().rev().take_while(in_word).count() };
    let begin = at.saturating_sub(back);
    let found = line.get(begin..at.saturating_add(ahead.max(1))).unwrap_or_default();
    let message = format!("{NO_JSON}{what} at line {} column {}", error.line(), begin.saturating_add(1));
    let error = Error::new(ErrorCode::InvalidJson, message);
    let is_told = what != SYNTAX[0].1 && found.bytes().all(|byte| byte.is_ascii_graphic()) && !found.is_empty();
    if is_told { error.with(found) } else { error }
}

/// The top-level field that contains the byte at `end`, or an earlier one that first exceeds the nesting limit.
fn field_at(text: &str, end: usize) -> Option<&str> {
    let (mut depth, mut from, mut latest, mut field) = (0_usize, None, None, None);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match (byte, from) {
            (b'\\', Some(_)) => _ = bytes.next(),
            (b'"', Some(begin)) => (latest, from) = (text.get(begin..at), None),
            (_, Some(_)) => {}
            (b'"', None) => from = Some(at + 1),
            (b':', None) if depth == 1 => field = latest,
            (b'{' | b'[', None) => depth += 1,
            (b'}' | b']', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH || at >= end {
            break;
        }
    }
    field
}

fn object(value: Value, code: ErrorCode, path: &str) -> Result<Map<String, Value>, Error> {
    match value {
        Value::Object(map) => Ok(map),
        other => {
            let field = path.trim_end_matches('.');
            let whole = match code {
                _ if !field.is_empty() => "",
                ErrorCode::InvalidConfig => "the configuration: ",
                ErrorCode::InvalidEvent => "the event: ",
                _ => "",
            };
            let error = Error::new(code, [whole, "expected an object"].concat()).with(to_string(&other));
            Err(if field.is_empty() { error } else { error.at(field) })
        }
    }
}

fn word<T: DeserializeOwned>(text: &str, field: &str) -> Result<T, Error> {
    typed(Value::String(text.to_string()), ErrorCode::InvalidArgument, "").map_err(|error| error.at(field).with(text))
}

/// Replaces every `\u` escape of a lone surrogate with U+FFFD. JavaScript can produce such escapes, but they stand for
/// no valid text.
fn repair_surrogates(text: &str) -> Cow<'_, str> {
    let mut repaired: Option<String> = None;
    let mut copied = 0;
    let mut from = 0;
    let escape = |at: usize| -> Option<u16> {
        (text.get(at..at + 2)? == "\\u").then_some(())?;
        u16::from_str_radix(text.get(at + 2..at + 6)?, 16).ok()
    };
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('\\')).map(|found| from + found) {
        from = at
            + match escape(at) {
                Some(0xD800..=0xDBFF) if matches!(escape(at + 6), Some(0xDC00..=0xDFFF)) => 12,
                Some(0xD800..=0xDFFF) => {
                    let out = repaired.get_or_insert_with(|| String::with_capacity(text.len()));
                    out.push_str(text.get(copied..at).unwrap_or_default());
                    out.push_str("\\ufffd");
                    copied = at + 6;
                    6
                }
                Some(_) => 6,
                // The escaped character may be several bytes long.
                None => 1 + text.get(at + 1..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8),
            };
    }
    match repaired {
        Some(mut out) => {
            out.push_str(text.get(copied..).unwrap_or_default());
            Cow::Owned(out)
        }
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::repair_surrogates;
    use alloc::format;

    #[test]
    fn half_a_pair_becomes_a_replacement_character() {
        for (text, expected) in [
            (r#"{"a":"plain"}"#, r#"{"a":"plain"}"#),
            (r"\n\ud83d\ude00\t", r"\n\ud83d\ude00\t"),
            (r"x\ud83dy\ude00z", r"x\ufffdy\ufffdz"),
            (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\\ud83d \\\ud83d", r"\\ud83d \\\ufffd"),
            (r"\ud83", r"\ud83"),
            // An invalid escape is skipped as a whole; the parser rejects it.
            ("é\\é\\ud83d", "é\\é\\ufffd"),
            ("\\", "\\"),
            ("", ""),
        ] {
            assert_eq!(repair_surrogates(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_told_in_words() {
        for (text, told) in [
            ("nope", "config is not JSON: expected a value at line 1 column 1, got `nope`"),
            ("{no", "config is not JSON: expected a name in double quotes at line 1 column 2, got `no`"),
            ("{\n  \"mode\": shadow\n}", "config is not JSON: expected a value at line 2 column 11, got `shadow`"),
            ("{\"é\": nope}", "config is not JSON: expected a value at line 1 column 8, got `nope`"),
            ("{\"mode\" 1}", "config is not JSON: expected `:` at line 1 column 9, got `1`"),
            (
                "{\"mode\":\"shadow\",}",
                "config is not JSON: expected more after the comma at line 1 column 18, got `}`",
            ),
            ("{} x", "config is not JSON: expected nothing more at line 1 column 4, got `x`"),
            ("{\"mode\":", "config is not JSON: the text ends too early at line 1 column 8"),
        ] {
            let error = super::config(text).unwrap_err();
            assert_eq!(format!("{error}"), format!("invalid-json: {told}"), "{text}");
        }
        assert_eq!(
            super::event("{").unwrap_err().message,
            "event is not JSON: the text ends too early at line 1 column 1"
        );
        assert!(super::scope("{").unwrap_err().message.starts_with("scope is not JSON"));
        assert!(super::value("{").unwrap_err().message.starts_with("not JSON"));
    }
}
