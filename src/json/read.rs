//! Reads an event from its object, which holds the fields of two structs: [`Context`] and that of the event's type.

use super::{
    to_string,
    tree::{Tree, visit_struct},
    typed::blame,
};
use crate::model::{
    Attempt, Body, Collaboration, Context, Custom, Delivery, Delta, Error, ErrorCode, Evaluation, Event, Failure, Host,
    Message, Output, Progress, ToolCall, ToolResult, Transition, Turn,
};
use crate::text::meant;
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

/// Builds an event from its flat object: the context's fields, `type`, and the fields of that type. Errors name the
/// field, with `path` before it.
pub(super) fn event(mut fields: Map<String, Value>, path: &str) -> Result<Event, Error> {
    let kind = match fields.remove("type") {
        Some(Value::String(kind)) => kind,
        Some(other) => {
            let error = Error::new(ErrorCode::InvalidEvent, "expected the name of an event type");
            return Err(error.at(format!("{path}type")).with(to_string(&other)));
        }
        None => return Err(Error::new(ErrorCode::InvalidEvent, "missing field").at(format!("{path}type"))),
    };
    if kind == "tool-result" {
        as_declared(&mut fields);
    }
    let free = free_field(&kind).and_then(|name| fields.remove(name));
    let fields = Value::Object(fields);
    match event_of(&kind, &fields) {
        Some(Ok(mut event)) => {
            if let Some(slot) = free_slot(&mut event.body) {
                *slot = free.filter(|value| !value.is_null());
            }
            Ok(event)
        }
        Some(Err(error)) => Err(invalid(&kind, fields, &error, path)),
        None => Err(unknown(&kind, path)),
    }
}

/// Brings a result into the form of the model: an output that is no string becomes JSON text, and an exit code given as
/// an unsigned number is wrapped.
fn as_declared(fields: &mut Map<String, Value>) {
    if let Some(output) = fields.get_mut("output").filter(|output| !output.is_string()) {
        *output = Value::String(to_string(output));
    }
    if let Some(code) = fields.get_mut("exitCode")
        && let Some(signed) = code.as_i64().and_then(exit_code)
    {
        *code = signed.into();
    }
}

/// The exit code that a whole number stands for: signed, or unsigned as Windows has it (`0xC0000005`).
pub(crate) fn exit_code(code: i64) -> Option<i32> {
    i32::try_from(code).ok().or_else(|| u32::try_from(code).ok().map(u32::cast_signed))
}

/// The field of an event type that takes any value. It may be large, so that it is moved into the event.
fn free_field(kind: &str) -> Option<&'static str> {
    match kind {
        "tool-call" => Some("args"),
        "tool-result" => Some("details"),
        "turn" => Some("structuredOutput"),
        _ => None,
    }
}

/// Where the value of [`free_field`] belongs.
fn free_slot(body: &mut Body) -> Option<&mut Option<Value>> {
    match body {
        Body::ToolCall(call) => Some(&mut call.args),
        Body::ToolResult(result) => Some(&mut result.details),
        Body::Turn(turn) => Some(&mut turn.structured_output),
        _ => None,
    }
}

/// The error for fields that do not form an event of their type.
#[cold]
#[inline(never)]
fn invalid(kind: &str, fields: Value, error: &serde_json::Error, path: &str) -> Error {
    let read = |fields: &Value| Some(event_of(kind, fields)?.err()?.to_string());
    let mut error = blame(fields, error.to_string(), &read, ErrorCode::InvalidEvent, path);
    // Texts and names of the event itself that cannot be `null` are required.
    let own = error.field.as_deref().and_then(|field| field.strip_prefix(path)).unwrap_or(".");
    if error.message == "invalid type: null, expected a string" && !own.contains(['.', '[']) {
        error.message = "missing field: it is null".to_string();
    }
    error
}

/// The error for an event type that does not exist.
#[cold]
#[inline(never)]
fn unknown(kind: &str, path: &str) -> Error {
    let told = match meant(kind, || TYPES.into_iter()) {
        Some(meant) => format!("unknown event type, did you mean `{meant}`?"),
        None => format!("unknown event type, expected one of {}", TYPES.join(", ")),
    };
    Error::new(ErrorCode::UnknownEvent, told).at(format!("{path}type")).with(kind)
}

/// Generates the list of event types and the reading of their bodies.
macro_rules! types {
    ($($name:literal => $body:ident),* $(,)?) => {
        const TYPES: [&str; [$($name),*].len()] = [$($name),*];

        /// Reads an event without its `type`. `None` if there is no such type.
        fn event_of(kind: &str, fields: &Value) -> Option<Result<Event, serde_json::Error>> {
            // The body is read first, as that rejects unknown fields.
            let body = match kind {
                $($name => $body::deserialize(OfType(fields)).map(Body::$body),)*
                _ => return None,
            };
            Some(body.and_then(|body| Ok(Event { body, context: Context::deserialize(Tree(fields))? })))
        }
    };
}

types! {
    "tool-call" => ToolCall, "tool-result" => ToolResult, "message" => Message, "delta" => Delta, "output" => Output,
    "failure" => Failure, "progress" => Progress, "evaluation" => Evaluation, "collaboration" => Collaboration,
    "attempt" => Attempt, "transition" => Transition, "turn" => Turn, "delivery" => Delivery, "host" => Host,
    "custom" => Custom,
}

/// The context's fields, of which the error about an unknown field lists the first [`LISTED`].
const CONTEXT: [&str; 11] =
    ["at", "run", "agent", "task", "parentTask", "round", "step", "synthetic", "tokens", "costMicros", "labels"];
const LISTED: usize = 7;

/// An event's object as input for the struct of its type: fields of [`Context`] are passed over.
struct OfType<'de>(&'de Value);

impl<'de> Deserializer<'de> for OfType<'de> {
    type Error = serde_json::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let Value::Object(fields) = self.0 else { return Tree(self.0).deserialize_struct(name, names, visitor) };
        let known = |name: &str| names.contains(&name) || CONTEXT.contains(&name);
        if let Some(name) = fields.keys().find(|name| !known(name)) {
            let names: Vec<_> =
                names.iter().chain(CONTEXT.iter().take(LISTED)).map(|name| format!("`{name}`")).collect();
            return Err(Self::Error::custom(format!("unknown field `{name}`, expected one of {}", names.join(", "))));
        }
        visit_struct(fields, names, visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        Tree(self.0).deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use crate::json::{event, to_string, value};
    use crate::model::{Body, Context, Event};
    use alloc::format;

    /// One event of every type with every field it may have.
    const WHOLE: [&[&str]; 15] = [
        &[
            r#""type":"tool-call""#,
            r#""tool":"t""#,
            r#""args":{"b":[1,null,{"c":0.1}],"a":"\u00e9\n"}"#,
            r#""rawArgs":"{""#,
            r#""callId":"1""#,
            r#""target":"a.rs""#,
            r#""identity":"i""#,
            r#""readOnly":true"#,
            r#""idempotent":false"#,
        ],
        &[
            r#""type":"tool-result""#,
            r#""callId":"1""#,
            r#""tool":"t""#,
            r#""outcome":"unknown-tool""#,
            r#""output":"x""#,
            r#""digest":"d""#,
            r#""exitCode":-1"#,
            r#""errorClass":"e""#,
            r#""details":[1.5e3]"#,
            r#""state":"s""#,
        ],
        &[r#""type":"message""#, r#""role":"user""#, r#""channel":"reasoning""#, r#""text":"x""#, r#""digest":"d""#],
        &[r#""type":"delta""#, r#""channel":"text""#, r#""text":"😀""#],
        &[r#""type":"output""#, r#""text":"x""#],
        &[
            r#""type":"failure""#,
            r#""message":"m""#,
            r#""errorType":"network""#,
            r#""location":"l""#,
            r#""stackTrace":"s""#,
            r#""source":"s""#,
        ],
        &[
            r#""type":"progress""#,
            r#""tests":{"failing":1,"total":2,"failingIds":["a"],"coverage":81.13}"#,
            r#""diff":"d""#,
            r#""docs":"d""#,
            r#""checklist":{"done":1,"total":2}"#,
            r#""filesCreated":true"#,
            r#""dependenciesAdded":3"#,
            r#""codeWritten":["a"]"#,
            r#""goal":"g""#,
        ],
        &[r#""type":"evaluation""#, r#""verdict":"stalled""#, r#""reasoning":"r""#, r#""confidence":900"#],
        &[
            r#""type":"collaboration""#,
            r#""from":"a""#,
            r#""to":"b""#,
            r#""request":"r""#,
            r#""embedding":[0.1,1.0,-2e-7]"#,
        ],
        &[
            r#""type":"attempt""#,
            r#""status":"in-progress""#,
            r#""blockers":["b"]"#,
            r#""completedWork":[]"#,
            r#""session":"s""#,
        ],
        &[r#""type":"transition""#, r#""from":"a""#, r#""to":"b""#],
        &[
            r#""type":"turn""#,
            r#""node":"n""#,
            r#""finalMessage":"m""#,
            r#""structuredOutput":{}"#,
            r#""durationMs":3"#,
        ],
        &[r#""type":"delivery""#, r#""from":"a""#, r#""to":"b""#, r#""edge":"e""#],
        &[r#""type":"host""#, r#""kind":"run-start""#, r#""name":"n""#, r#""detail":"d""#],
        &[r#""type":"custom""#, r#""name":"n""#, r#""key":"k""#, r#""outcome":"o""#],
    ];
    const COMMON: [&str; 11] = [
        r#""at":-5"#,
        r#""run":"r""#,
        r#""task":"t""#,
        r#""parentTask":"p""#,
        r#""agent":"a""#,
        r#""round":"1""#,
        r#""step":7"#,
        r#""synthetic":true"#,
        r#""tokens":1"#,
        r#""costMicros":2"#,
        r#""labels":{"a":"b"}"#,
    ];

    #[test]
    fn every_field_is_read() {
        for fields in WHOLE {
            for text in [format!("{{{}}}", fields.join(",")), format!("{{{},{}}}", COMMON.join(","), fields.join(","))]
            {
                let read = to_string(&event(&text).unwrap());
                assert_eq!(value(&read).unwrap(), value(&text).unwrap(), "{text}");
            }
        }
    }

    #[test]
    fn every_field_of_the_context_is_listed() {
        let text = || Some("x".into());
        let whole = Context {
            at: Some(1),
            run: text(),
            task: text(),
            parent_task: text(),
            agent: text(),
            round: text(),
            step: Some(1),
            synthetic: true,
            tokens: Some(1),
            cost_micros: Some(1),
            labels: [("a".into(), "b".into())].into_iter().collect(),
        };
        let whole = value(&to_string(&whole)).unwrap();
        let mut listed = super::CONTEXT;
        listed.sort_unstable();
        assert!(whole.as_object().unwrap().keys().eq(listed), "{whole}");
    }

    fn body(fields: &str) -> Body {
        event(&format!("{{{fields}}}")).unwrap_or_else(|error| panic!("{fields}: {error}")).body
    }

    #[test]
    fn null_is_an_absent_field() {
        let names = COMMON.map(|field| field.split_once(':').unwrap().0);
        let text = format!(r#"{{"type":"output","text":"x",{}:null}}"#, names.join(":null,"));
        assert!(matches!(event(&text), Ok(Event { context, .. }) if context == Context::default()));
        let Body::ToolCall(call) = body(r#""type":"tool-call","tool":"t","args":null"#) else { panic!() };
        assert_eq!(call.args, None);
    }

    #[test]
    fn results_have_further_forms() {
        for (output, text) in [("null", "null"), ("\"x\"", "x"), (r#"{"b":1,"a":[2.50]}"#, r#"{"a":[2.5],"b":1}"#)] {
            for (code, signed) in [("null", None), ("-1", Some(-1)), ("3221225477", Some(-1_073_741_819))] {
                let fields = format!(r#""type":"tool-result","outcome":"ok","output":{output},"exitCode":{code}"#);
                let Body::ToolResult(result) = body(&fields) else { panic!() };
                assert_eq!((result.output.as_str(), result.exit_code), (text, signed), "{fields}");
            }
        }
        assert!(event(r#"{"type":"tool-result","outcome":"ok","output":"","exitCode":4294967296}"#).is_err());
    }

    #[test]
    fn the_last_of_duplicate_fields_wins() {
        let fields = r#""type":"output","type":"delta","text":5,"text":"a","text":"b""#;
        assert!(matches!(body(fields), Body::Delta(delta) if delta.text == "b"));
    }

    #[test]
    fn numbers_are_read_exactly() {
        for text in
            ["81.13", "0.1", "1e23", "5e-324", "179769313486231570000000000000000e276", "2.2250738585072011e-308"]
        {
            let Body::Progress(progress) = body(&format!(r#""type":"progress","tests":{{"coverage":{text}}}"#)) else {
                panic!()
            };
            assert_eq!(progress.tests.and_then(|tests| tests.coverage), text.parse().ok());
        }
    }

    #[test]
    fn a_list_is_no_object() {
        for fields in [r#""tests":[]"#, r#""tests":[1,2]"#, r#""checklist":[1,2]"#] {
            assert!(event(&format!(r#"{{"type":"progress",{fields}}}"#)).is_err(), "{fields}");
        }
        body(r#""type":"progress","tests":null,"checklist":null"#);
    }
}
