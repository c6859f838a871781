//! Reading an event straight from its JSON text, without a tree of values between.
//!
//! One visitor takes the fields of every type, whatever comes first, and they are put together in the end. It answers
//! `None` where it is not sure: for text that is wrong, and for what only the slow reader understands (half a surrogate
//! pair, an enum written as an object). The slow reader then says what it is, or what is wrong and where.

use crate::model::{
    Attempt, Body, Checklist, Collaboration, Context, Custom, Delivery, Delta, Evaluation, Event, Failure, Host,
    Marker, Message, Output, Progress, Tests, ToolCall, ToolResult, Transition, Turn,
};
use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use serde::de::{
    Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor,
    value::{Error as WordError, StrDeserializer},
};
use serde_json::Value;

/// An event and, of a line of a trace, whether it is about to happen; `None` where the slow reader must be asked.
pub(super) fn event(text: &str, trace: bool) -> Option<(Event, bool)> {
    let mut fields = Fields::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    (&mut reader).deserialize_map(&mut fields).ok()?;
    reader.end().ok()?;
    if !trace && fields.seen & bit(Field::Pending) != 0 {
        return None;
    }
    let pending = fields.pending;
    Some((fields.into_event()?, pending))
}

const fn bit(field: Field) -> u128 {
    1 << field as u32
}

/// The fields of all types of event: names, slots and what they hold.
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
        }

        /// What was read. `seen` has a bit for every field that was there, even if it said `null`.
        #[derive(Default)]
        struct Fields {
            seen: u128,
            $($slot: $type,)*
        }

        impl Fields {
            fn read<'de, A: MapAccess<'de>>(&mut self, field: Field, map: &mut A) -> Result<(), A::Error> {
                match field {
                    $(Field::$variant => self.$slot = map.next_value()?,)*
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
    Labels "labels" labels: Option<BTreeMap<String, String>>,
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
    ExitCode "exitCode" exit_code: Option<i32>,
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
    Tests "tests" tests: Option<Tests>,
    Diff "diff" diff: Option<String>,
    Docs "docs" docs: Option<String>,
    Checklist "checklist" checklist: Option<Checklist>,
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

impl<'de> Visitor<'de> for &mut Fields {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key_seed(Name)? {
            // Of a field that is there twice the last one counts.
            self.seen |= bit(field);
            self.read(field, &mut map)?;
        }
        Ok(())
    }
}

/// The name of a field.
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

/// A text, or the JSON text of what is none.
#[derive(Default)]
struct AsText(String);

impl<'de> Deserialize<'de> for AsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            other => other.to_string(),
        }))
    }
}

/// The case of an enum.
fn word<T: DeserializeOwned>(name: &str) -> Option<T> {
    T::deserialize(StrDeserializer::<WordError>::new(name)).ok()
}

/// What events of every type may have.
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

impl Fields {
    fn into_event(self) -> Option<Event> {
        /// A body of the fields it may have; an event with others is none.
        macro_rules! body {
            ($body:ident { $($slot:ident: $field:ident = $value:expr),* $(,)? }) => {{
                const KNOWN: u128 = COMMON | bits(&[$(Field::$field),*]);
                if self.seen & !KNOWN != 0 {
                    return None;
                }
                Body::$body($body { $($slot: $value),* })
            }};
        }
        let has = |field| self.seen & bit(field) != 0;
        let body = match self.kind.as_str() {
            "tool-call" => body!(ToolCall {
                tool: Tool = self.tool?,
                args: Args = self.args,
                raw_args: RawArgs = self.raw_args,
                call_id: CallId = self.call_id,
                target: Target = self.target,
                identity: Identity = self.identity,
                read_only: ReadOnly = self.read_only,
                idempotent: Idempotent = self.idempotent,
            }),
            "tool-result" => body!(ToolResult {
                call_id: CallId = self.call_id,
                tool: Tool = self.tool,
                outcome: Outcome = word(&self.outcome?)?,
                output: Output = has(Field::Output).then_some(self.output.0)?,
                digest: Digest = self.digest,
                exit_code: ExitCode = self.exit_code,
                error_class: ErrorClass = self.error_class,
                details: Details = self.details,
                state: State = self.state,
            }),
            "message" => body!(Message {
                role: Role = word(&self.role?)?,
                channel: Channel = case(self.channel)?,
                text: Text = self.text?,
                digest: Digest = self.digest,
            }),
            "delta" => body!(Delta { channel: Channel = case(self.channel)?, text: Text = self.text? }),
            "output" => body!(Output { text: Text = self.text? }),
            "failure" => body!(Failure {
                message: Message = self.message?,
                error_type: ErrorType = case(self.error_type)?,
                location: Location = self.location,
                stack_trace: StackTrace = self.stack_trace,
                source: Source = self.source,
            }),
            "progress" => body!(Progress {
                tests: Tests = self.tests,
                diff: Diff = self.diff,
                docs: Docs = self.docs,
                checklist: Checklist = self.checklist,
                files_created: FilesCreated = self.files_created,
                dependencies_added: DependenciesAdded = self.dependencies_added,
                code_written: CodeWritten = self.code_written,
                goal: Goal = self.goal,
            }),
            "evaluation" => body!(Evaluation {
                verdict: Verdict = word(&self.verdict?)?,
                reasoning: Reasoning = self.reasoning,
                confidence: Confidence = self.confidence,
            }),
            "collaboration" => body!(Collaboration {
                from: From = self.from?,
                to: To = self.to?,
                request: Request = self.request?,
                embedding: Embedding = self.embedding,
            }),
            "attempt" => body!(Attempt {
                status: Status = word(&self.status?)?,
                blockers: Blockers = self.blockers,
                completed_work: CompletedWork = self.completed_work,
                session: Session = self.session,
            }),
            "transition" => body!(Transition { from: From = self.from, to: To = self.to? }),
            "turn" => body!(Turn {
                node: Node = self.node?,
                final_message: FinalMessage = self.final_message,
                structured_output: StructuredOutput = self.structured_output,
                duration_ms: DurationMs = self.duration_ms,
            }),
            "delivery" => body!(Delivery { from: From = self.from?, to: To = self.to?, edge: Edge = self.edge }),
            "host" => body!(Host {
                kind: Kind = word(&self.host_kind?)?,
                name: Name = self.name,
                detail: Detail = self.detail
            }),
            "custom" => {
                body!(Custom { name: Name = self.name?, key: Key = self.key?, outcome: Outcome = self.outcome })
            }
            _ => return None,
        };
        let context = Context {
            at: self.at,
            run: self.run,
            task: self.task,
            parent_task: self.parent_task,
            agent: self.agent,
            round: self.round,
            step: self.step,
            synthetic: self.synthetic.unwrap_or_default(),
            tokens: self.tokens,
            cost_micros: self.cost_micros,
            labels: self.labels.unwrap_or_default(),
        };
        Some(Event { body, context })
    }
}

/// The case of an enum that may be absent; `None` where there is no such case.
#[expect(clippy::option_option, reason = "absent is a case, unknown is none")]
fn case<T: DeserializeOwned>(name: Option<String>) -> Option<Option<T>> {
    match name {
        Some(name) => word(&name).map(Some),
        None => Some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::event;
    use crate::json::{event_from, object, trace_event_from, value};
    use crate::model::ErrorCode;
    use alloc::{format, string::String, vec::Vec};
    use proptest::prelude::*;

    /// One of every type, with every field it may have.
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
        /// What the quick way reads is what the slow way reads: fields taken out, put in from elsewhere, in another order,
        /// twice, with values that they may not have.
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
            // Most fields stay, so that many events are right.
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
}
