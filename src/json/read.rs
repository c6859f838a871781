//! Reads an event directly from its JSON text, without an intermediate tree of values.
//!
//! One visitor collects the fields of all types in any order, and the event is assembled at the end. For invalid text
//! and for lone surrogates, this fast path gives up and returns `None`. The text is then parsed into a tree with
//! repaired surrogates, which is serialised and read again ([`event_of`]); if its fields do not form an event, the tree
//! is used to find the offending field.

use super::{to_string, tree::Tree};
use crate::model::{
    Attempt, Body, ByName, Checklist, Collaboration, Context, Custom, Delivery, Delta, Evaluation, Event, Failure,
    Host, Marker, Message, Output, Progress, Tests, ToolCall, ToolResult, Transition, Turn,
};
use crate::text::split_last;
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor,
    value::StrDeserializer,
};
use serde_json::{Map, Value};

/// An event and, for a line of a trace, whether it is pending; `None` if the slow path has to decide.
pub(super) fn event(text: &str, trace: bool) -> Option<(Event, bool)> {
    let mut fields = Fields::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    (&mut reader).deserialize_map(&mut fields).ok()?;
    reader.end().ok()?;
    if !trace && fields.seen & bit(Field::Pending) != 0 {
        return None;
    }
    let pending = fields.pending;
    Some((fields.into_event().ok()?, pending))
}

/// Checks that `kind` is an event type. The error lists all types.
pub(super) fn types(kind: &str) -> Result<(), String> {
    if known(kind).is_some() { Ok(()) } else { Err(KINDS.join(", ")) }
}

/// Builds an event of a known type from its other fields. Errors are worded as serde would.
pub(super) fn event_of(kind: &str, map: &Map<String, Value>) -> Result<Event, String> {
    let (own, all) = known(kind).unwrap_or_default();
    for name in map.keys() {
        let known = Field::named(name).is_some_and(|field| all & !NOT_HERE & bit(field) != 0);
        if !known {
            let names: Vec<_> = own.iter().chain(CONTEXT).map(|field| format!("`{}`", field.name())).collect();
            return Err(format!("unknown field `{name}`, expected one of {}", names.join(", ")));
        }
    }
    let mut fields = Fields { kind: kind.to_string(), ..Fields::default() };
    // Via JSON text, because that reader exists anyway.
    serde_json::Deserializer::from_str(&to_string(map)).deserialize_map(&mut fields).map_err(|error| said(&error))?;
    let seen = fields.seen;
    fields.into_event().map_err(|wrong| match wrong {
        FieldError::Missing(field) if seen & bit(field) != 0 => format!("missing field `{}`: it is null", field.name()),
        FieldError::Missing(field) => format!("missing field `{}`", field.name()),
        FieldError::Word(message) => message,
        FieldError::Else => "no event".to_string(),
    })
}

/// An error's message without its position in the text.
#[inline(never)]
pub(super) fn said(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    if error.line() > 0 {
        text.truncate(split_last(&text, " at line ").map_or(text.len(), |(message, _)| message.len()));
    }
    text
}

/// Why the fields do not form an event.
enum FieldError {
    /// A required field is missing or `null`.
    Missing(Field),
    /// Not a variant of the enum; the message.
    Word(String),
    /// There are fields of other types, or no such type.
    Else,
}

const fn bit(field: Field) -> u128 {
    1 << field as u32
}

/// The fields of all event types: names, slots and types.
macro_rules! fields {
    ($($variant:ident $name:literal $slot:ident: $type:ty,)*) => {
        #[derive(Clone, Copy)]
        enum Field { $($variant),* }

        impl Field {
            fn named(name: &str) -> Option<Self> {
                Some(match name {
                    $($name => Self::$variant,)*
                    _ => return None,
                })
            }

            const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        /// The fields read so far. `seen` has a bit for every field present, even if `null`.
        #[derive(Default)]
        struct Fields {
            seen: u128,
            $($slot: $type,)*
        }

        impl Fields {
            fn read<'de, A: MapAccess<'de>>(&mut self, field: Field, map: &mut A) -> Result<(), A::Error> {
                match field {
                    $(Field::$variant => self.$slot = next(map)?,)*
                }
                Ok(())
            }
        }
    };
}

fields! {
    Type "type" kind: String,
    At "at" at: Option<i64>,
    Run "run" run: Option<String>,
    Task "task" task: Option<String>,
    ParentTask "parentTask" parent_task: Option<String>,
    Agent "agent" agent: Option<String>,
    Round "round" round: Option<String>,
    Step "step" step: Option<u64>,
    Synthetic "synthetic" synthetic: Option<bool>,
    Labels "labels" labels: Option<ByName<String>>,
    Pending "pending" pending: bool,
    Tool "tool" tool: Option<String>,
    Args "args" args: Option<Value>,
    RawArgs "rawArgs" raw_args: Option<String>,
    CallId "callId" call_id: Option<String>,
    Target "target" target: Option<String>,
    Identity "identity" identity: Option<String>,
    ReadOnly "readOnly" read_only: Option<bool>,
    Idempotent "idempotent" idempotent: Option<bool>,
    Outcome "outcome" outcome: Option<String>,
    Output "output" output: AsText,
    Digest "digest" digest: Option<String>,
    ExitCode "exitCode" exit_code: Option<ExitCode>,
    ErrorClass "errorClass" error_class: Option<String>,
    Details "details" details: Option<Value>,
    State "state" state: Option<String>,
    Role "role" role: Option<String>,
    Channel "channel" channel: Option<String>,
    Text "text" text: Option<String>,
    Message "message" message: Option<String>,
    ErrorType "errorType" error_type: Option<String>,
    Location "location" location: Option<String>,
    StackTrace "stackTrace" stack_trace: Option<String>,
    Source "source" source: Option<String>,
    Tests "tests" tests: Nested<Tests>,
    Diff "diff" diff: Option<String>,
    Docs "docs" docs: Option<String>,
    Checklist "checklist" checklist: Nested<Checklist>,
    FilesCreated "filesCreated" files_created: Option<Marker>,
    DependenciesAdded "dependenciesAdded" dependencies_added: Option<Marker>,
    CodeWritten "codeWritten" code_written: Option<Marker>,
    Goal "goal" goal: Option<String>,
    Verdict "verdict" verdict: Option<String>,
    Reasoning "reasoning" reasoning: Option<String>,
    Confidence "confidence" confidence: Option<u16>,
    From "from" from: Option<String>,
    To "to" to: Option<String>,
    Request "request" request: Option<String>,
    Embedding "embedding" embedding: Option<Vec<f64>>,
    Status "status" status: Option<String>,
    Blockers "blockers" blockers: Vec<String>,
    CompletedWork "completedWork" completed_work: Vec<String>,
    Session "session" session: Option<String>,
    Node "node" node: Option<String>,
    FinalMessage "finalMessage" final_message: Option<String>,
    StructuredOutput "structuredOutput" structured_output: Option<Value>,
    Tokens "tokens" tokens: Option<u64>,
    CostMicros "costMicros" cost_micros: Option<u64>,
    DurationMs "durationMs" duration_ms: Option<u64>,
    Edge "edge" edge: Option<String>,
    Kind "kind" host_kind: Option<String>,
    Name "name" name: Option<String>,
    Detail "detail" detail: Option<String>,
    Key "key" key: Option<String>,
}

/// Reads the next value. A function of its own, so that it is compiled once per type rather than once per field.
#[inline(never)]
fn next<'de, T: Deserialize<'de>, A: MapAccess<'de>>(map: &mut A) -> Result<T, A::Error> {
    map.next_value()
}

impl<'de> Visitor<'de> for &mut Fields {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key_seed(Name)? {
            // The last of duplicate fields wins.
            self.seen |= bit(field);
            self.read(field, &mut map)?;
        }
        Ok(())
    }
}

/// Reads the name of a field.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Field;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Field, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Field;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a field")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Field, E> {
        Field::named(name).ok_or_else(|| E::custom("unknown"))
    }
}

/// A string, or any other value as JSON text.
#[derive(Default)]
struct AsText(String);

impl<'de> Deserialize<'de> for AsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            other => to_string(&other),
        }))
    }
}

/// An optional object, read through [`Tree`], which unlike `serde_json` does not accept a list of fields.
struct Nested<T>(Option<T>);

impl<T> Default for Nested<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Nested<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Option::deserialize(Tree(&value)).map(Self).map_err(D::Error::custom)
    }
}

/// The enum variant with this name.
fn word<T: DeserializeOwned>(name: &str) -> Result<T, FieldError> {
    T::deserialize(StrDeserializer::<serde_json::Error>::new(name)).map_err(|error| FieldError::Word(error.to_string()))
}

/// A required field.
fn there<T>(value: Option<T>, field: Field) -> Result<T, FieldError> {
    value.ok_or(FieldError::Missing(field))
}

/// A required enum variant.
fn named<T: DeserializeOwned>(name: Option<String>, field: Field) -> Result<T, FieldError> {
    word(&there(name, field)?)
}

/// An optional enum variant.
fn case<T: DeserializeOwned>(name: Option<String>) -> Result<Option<T>, FieldError> {
    name.map(|name| word(&name)).transpose()
}

/// An exit code; Windows gives some as unsigned numbers, which are wrapped.
struct ExitCode(i32);

impl ExitCode {
    fn of(code: i64) -> Option<Self> {
        exit_code(code).map(Self)
    }
}

/// The exit code that a whole number stands for: signed, or unsigned as Windows has it (`0xC0000005`).
pub(crate) fn exit_code(code: i64) -> Option<i32> {
    i32::try_from(code).ok().or_else(|| u32::try_from(code).ok().map(u32::cast_signed))
}

impl<'de> Deserialize<'de> for ExitCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = ExitCode;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("i32")
            }

            fn visit_i64<E: serde::de::Error>(self, code: i64) -> Result<ExitCode, E> {
                ExitCode::of(code).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(code), &self))
            }

            fn visit_u64<E: serde::de::Error>(self, code: u64) -> Result<ExitCode, E> {
                let known = i64::try_from(code).ok().and_then(ExitCode::of);
                known.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Unsigned(code), &self))
            }
        }
        deserializer.deserialize_i32(Number)
    }
}

/// The context fields listed in the error about an unknown field.
const CONTEXT: &[Field] =
    &[Field::At, Field::Run, Field::Agent, Field::Task, Field::ParentTask, Field::Round, Field::Step];

/// Fields allowed in events of every type.
const COMMON: u128 = bits(&[
    Field::Type,
    Field::At,
    Field::Run,
    Field::Task,
    Field::ParentTask,
    Field::Agent,
    Field::Round,
    Field::Step,
    Field::Synthetic,
    Field::Tokens,
    Field::CostMicros,
    Field::Labels,
    Field::Pending,
]);

const fn bits(fields: &[Field]) -> u128 {
    let mut set = 0;
    let mut rest = fields;
    while let [first, more @ ..] = rest {
        set |= bit(*first);
        rest = more;
    }
    set
}

/// Fields that are not allowed when an event is built from a map, because they have already been removed from it.
const NOT_HERE: u128 = bits(&[Field::Type, Field::Pending]);

/// The event types: the fields of each, and how its body is built from them.
macro_rules! types {
    (|$fields:ident| $($name:literal => $body:ident { $($slot:ident: $field:ident = $value:expr),* $(,)? },)*) => {
        const KINDS: &[&str] = &[$($name),*];

        /// The fields specific to a type, and all that it may have.
        fn known(kind: &str) -> Option<(&'static [Field], u128)> {
            Some(match kind {
                $($name => {
                    const OWN: &[Field] = &[$(Field::$field),*];
                    const ALL: u128 = COMMON | bits(OWN);
                    (OWN, ALL)
                })*
                _ => return None,
            })
        }

        impl Fields {
            #[inline(never)]
            fn into_event(self) -> Result<Event, FieldError> {
                let $fields = self;
                let context = Context {
                    at: $fields.at,
                    run: $fields.run,
                    task: $fields.task,
                    parent_task: $fields.parent_task,
                    agent: $fields.agent,
                    round: $fields.round,
                    step: $fields.step,
                    synthetic: $fields.synthetic.unwrap_or_default(),
                    tokens: $fields.tokens,
                    cost_micros: $fields.cost_micros,
                    labels: $fields.labels.unwrap_or_default(),
                };
                let all = known(&$fields.kind).map_or(0, |(_, all)| all);
                if $fields.seen & !all != 0 {
                    return Err(FieldError::Else);
                }
                let body = match $fields.kind.as_str() {
                    $($name => Body::$body($body { $($slot: $value),* }),)*
                    _ => return Err(FieldError::Else),
                };
                Ok(Event { body, context })
            }
        }
    };
}

types! {
    |fields|
    "tool-call" => ToolCall {
        tool: Tool = there(fields.tool, Field::Tool)?,
        args: Args = fields.args,
        raw_args: RawArgs = fields.raw_args,
        call_id: CallId = fields.call_id,
        target: Target = fields.target,
        identity: Identity = fields.identity,
        read_only: ReadOnly = fields.read_only,
        idempotent: Idempotent = fields.idempotent,
    },
    "tool-result" => ToolResult {
        call_id: CallId = fields.call_id,
        tool: Tool = fields.tool,
        outcome: Outcome = named(fields.outcome, Field::Outcome)?,
        output: Output = there((fields.seen & bit(Field::Output) != 0).then_some(fields.output.0), Field::Output)?,
        digest: Digest = fields.digest,
        exit_code: ExitCode = fields.exit_code.map(|code| code.0),
        error_class: ErrorClass = fields.error_class,
        details: Details = fields.details,
        state: State = fields.state,
    },
    "message" => Message {
        role: Role = named(fields.role, Field::Role)?,
        channel: Channel = case(fields.channel)?,
        text: Text = there(fields.text, Field::Text)?,
        digest: Digest = fields.digest,
    },
    "delta" => Delta { channel: Channel = case(fields.channel)?, text: Text = there(fields.text, Field::Text)? },
    "output" => Output { text: Text = there(fields.text, Field::Text)? },
    "failure" => Failure {
        message: Message = there(fields.message, Field::Message)?,
        error_type: ErrorType = case(fields.error_type)?,
        location: Location = fields.location,
        stack_trace: StackTrace = fields.stack_trace,
        source: Source = fields.source,
    },
    "progress" => Progress {
        tests: Tests = fields.tests.0,
        diff: Diff = fields.diff,
        docs: Docs = fields.docs,
        checklist: Checklist = fields.checklist.0,
        files_created: FilesCreated = fields.files_created,
        dependencies_added: DependenciesAdded = fields.dependencies_added,
        code_written: CodeWritten = fields.code_written,
        goal: Goal = fields.goal,
    },
    "evaluation" => Evaluation {
        verdict: Verdict = named(fields.verdict, Field::Verdict)?,
        reasoning: Reasoning = fields.reasoning,
        confidence: Confidence = fields.confidence,
    },
    "collaboration" => Collaboration {
        from: From = there(fields.from, Field::From)?,
        to: To = there(fields.to, Field::To)?,
        request: Request = there(fields.request, Field::Request)?,
        embedding: Embedding = fields.embedding,
    },
    "attempt" => Attempt {
        status: Status = named(fields.status, Field::Status)?,
        blockers: Blockers = fields.blockers,
        completed_work: CompletedWork = fields.completed_work,
        session: Session = fields.session,
    },
    "transition" => Transition { from: From = fields.from, to: To = there(fields.to, Field::To)? },
    "turn" => Turn {
        node: Node = there(fields.node, Field::Node)?,
        final_message: FinalMessage = fields.final_message,
        structured_output: StructuredOutput = fields.structured_output,
        duration_ms: DurationMs = fields.duration_ms,
    },
    "delivery" => Delivery { from: From = there(fields.from, Field::From)?, to: To = there(fields.to, Field::To)?, edge: Edge = fields.edge },
    "host" => Host {
        kind: Kind = named(fields.host_kind, Field::Kind)?,
        name: Name = fields.name,
        detail: Detail = fields.detail
    },
    "custom" => Custom { name: Name = there(fields.name, Field::Name)?, key: Key = there(fields.key, Field::Key)?, outcome: Outcome = fields.outcome },
}

#[cfg(test)]
mod tests {
    use super::event;
    use crate::json::{event_from, object, trace_event_from, value};
    use crate::model::ErrorCode;
    use alloc::{format, string::String, vec::Vec};
    use proptest::prelude::*;

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
            r#""embedding":[0.1,1,-2e-7]"#,
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
    const COMMON: [&str; 12] = [
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
        r#""pending":true"#,
    ];
    const ODD: [&str; 22] = [
        "null",
        "true",
        "0",
        "-0",
        "-1",
        "1.0",
        "1e400",
        "18446744073709551616",
        "4294967296",
        "65536",
        "\"\"",
        "\"ok\"",
        "[]",
        "[null]",
        "{}",
        r#"{"ok":null}"#,
        r#"{"failing":1,"failing":2}"#,
        r#""\ud800""#,
        r#""\ud83d\ude00\u0000""#,
        "[1,2]",
        r#"{"a":1,"a":2}"#,
        "0.1000000000000000055511151231257827",
    ];

    fn slow(text: &str, trace: bool) -> Option<(crate::model::Event, bool)> {
        let value = value(text).ok()?;
        if trace {
            let read = trace_event_from(value, "").ok()?;
            return Some((read.event, read.pending));
        }
        Some((event_from(object(value, ErrorCode::InvalidEvent, "").ok()?, "").ok()?, false))
    }

    #[test]
    fn every_type_is_read_the_quick_way() {
        for fields in WHOLE {
            for (text, trace) in [
                (format!("{{{}}}", fields.join(",")), false),
                (format!("{{{},{}}}", COMMON.join(","), fields.join(",")), true),
            ] {
                let read = event(&text, trace);
                assert!(read.is_some(), "{text}");
                assert_eq!(read, slow(&text, trace), "{text}");
            }
        }
    }

    proptest! {
        /// The fast path agrees with the slow one for events with fields removed, added from other types, reordered,
        /// duplicated, or given invalid values.
        #[test]
        fn quick_and_slow_agree(
            kind in 0..WHOLE.len(),
            keep in any::<u32>(),
            more in prop::collection::vec((0..WHOLE.len(), any::<prop::sample::Index>()), 0..2),
            common in any::<u16>(),
            odd in prop::collection::vec((any::<prop::sample::Index>(), 0..ODD.len()), 0..3),
            swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..4),
            trace in any::<bool>(),
        ) {
            let chosen = |all: &[&'static str], mask: u32| -> Vec<String> {
                all.iter().enumerate().filter(|(bit, _)| mask & (1 << bit) != 0).map(|(_, field)| (*field).into()).collect()
            };
            // Most fields are kept, so that many events are valid.
            let mut fields = chosen(WHOLE[kind], keep | keep >> 8 | 1);
            fields.extend(chosen(&COMMON, u32::from(common)));
            fields.extend(more.iter().map(|(kind, at)| String::from(*at.get(WHOLE[*kind]))));
            for (at, with) in odd {
                let at = at.index(fields.len());
                let name = fields[at].split_once(':').unwrap().0;
                fields[at] = format!("{name}: {}", ODD[with]);
            }
            for (one, other) in swaps {
                let (one, other) = (one.index(fields.len()), other.index(fields.len()));
                fields.swap(one, other);
            }
            let text = format!("{{{}}}", fields.join(" , "));
            if let Some(read) = event(&text, trace) {
                prop_assert_eq!(Some(read), slow(&text, trace), "{}", text);
            }
        }
    }

    #[test]
    fn numbers_are_read_exactly() {
        for text in
            ["81.13", "0.1", "1e23", "5e-324", "179769313486231570000000000000000e276", "2.2250738585072011e-308"]
        {
            let line = format!(r#"{{"type":"progress","tests":{{"coverage":{text}}}}}"#);
            let read = |read: Option<(crate::model::Event, bool)>| match read.map(|(event, _)| event.body) {
                Some(crate::model::Body::Progress(progress)) => progress.tests.and_then(|tests| tests.coverage),
                _ => None,
            };
            let exact = text.parse::<f64>().unwrap();
            assert_eq!(read(event(&line, false)), Some(exact));
            assert_eq!(read(slow(&line, false)), Some(exact));
        }
    }

    #[test]
    fn what_is_no_event_is_none() {
        for text in
            ["", "[]", "5", "{", r#"{"type":"delta","text":"x"} x"#, r#"{"type":"delta","text":"x","pending":true}"#]
        {
            assert_eq!(event(text, false), None, "{text}");
        }
    }

    #[test]
    fn a_list_is_no_object() {
        for fields in [r#""tests":[]"#, r#""tests":[1,2]"#, r#""checklist":[1,2]"#] {
            let text = format!(r#"{{"type":"progress",{fields}}}"#);
            assert_eq!((event(&text, false), slow(&text, false)), (None, None), "{text}");
        }
        let none = r#"{"type":"progress","tests":null,"checklist":null}"#;
        assert!(event(none, false).is_some());
        assert_eq!(event(none, false), slow(none, false));
    }
}
