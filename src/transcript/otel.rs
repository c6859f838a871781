//! Spans of OpenTelemetry's GenAI conventions: OTLP/JSON (`resourceSpans`, whole or one export a line), and plain spans
//! as the SDKs' exporters print them. Names that OpenInference, the AI SDK and Pydantic AI used before are known too.
//!
//! A span is written when it ends, so events are put in the order of time. A call that was recorded without its
//! arguments is like no other call: telling them all alike would see loops where there is only a setting.

use super::content::{self, arguments, at, content_text, failed, output_text, text_at};
use super::out::Out;
use super::pieces::Piece;
use super::{Reads, unexpected};
use crate::model::{Body, Channel, Context, Event, Message, Outcome, Role, ToolCall, ToolResult, TraceEvent};
use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

/// Keys whose lists hold spans, or what holds spans.
pub(super) const CONTAINERS: [&str; 6] =
    ["resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "resource_spans", "scope_spans", "spans"];

const TOOL: [&str; 3] = ["gen_ai.tool.name", "ai.toolCall.name", "tool.name"];
const CALL_ID: [&str; 3] = ["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id"];
const ARGUMENTS: [&str; 4] = ["gen_ai.tool.call.arguments", "ai.toolCall.args", "tool_arguments", "input.value"];
const RESULT: [&str; 4] = ["gen_ai.tool.call.result", "ai.toolCall.result", "tool_response", "output.value"];

/// A span is told of when it ends, so none can be read before all are there.
#[derive(Default)]
pub(super) struct Spans(Vec<Span>);

impl Reads for Spans {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        collect(out, document, &mut self.0, 0);
    }

    fn end(&mut self, out: &mut Out) {
        // Without a time a span stays where it is written.
        if self.0.iter().all(|span| span.start.is_some()) {
            self.0.sort_by_key(|span| span.start);
        }
        Reader::new(&self.0).read(out, &self.0);
    }
}

struct Span {
    line: u32,
    id: String,
    parent: String,
    trace: String,
    /// Nanoseconds since the epoch.
    start: Option<i64>,
    end: Option<i64>,
    kind: Kind,
    attributes: Map<String, Value>,
    /// What went wrong, where something did.
    error: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tool,
    Model,
    Agent,
    Other,
}

/// Finds the spans in a piece: it is one, or holds lists of them.
fn collect(out: &mut Out, piece: Piece<'_>, spans: &mut Vec<Span>, depth: u32) {
    // As deep as resources, scopes and spans go, twice.
    if depth > 8 {
        return;
    }
    let inside = piece.inside();
    let failures = out.transcript.errors.len();
    let mut container = piece.is_list();
    for (key, inner) in &inside.pieces {
        if piece.is_list() {
            collect(out, *inner, spans, depth + 1);
        } else if CONTAINERS.contains(key) && inner.is_list() {
            container = true;
            collect(out, *inner, spans, depth + 1);
        }
    }
    if container {
        if !inside.closed && out.transcript.errors.len() == failures {
            out.cut_off(inside.pieces.last().map_or(piece.line, |(_, last)| last.line));
        }
        return;
    }
    match piece.object() {
        Ok(map) => match span(piece.line, &map) {
            Ok(span) => spans.push(span),
            Err((field, found)) => out.transcript.fail(piece.line, unexpected(field, "an id", found)),
        },
        Err(error) => out.transcript.fail(piece.line, error),
    }
}

fn span(line: u32, map: &Map<String, Value>) -> Result<Span, (&'static str, Option<&Value>)> {
    let whole = |paths: [&[&str]; 3]| {
        paths.iter().find_map(|path| {
            let (first, rest) = path.split_first()?;
            at(map.get(*first)?, rest).filter(|found| !found.is_null())
        })
    };
    let name = |paths| content::id(whole(paths));
    let found = whole([&["spanId"], &["span_id"], &["context", "span_id"]]);
    let id = content::id(found).ok_or(("spanId", found))?;
    let attributes = attributes(map.get("attributes"));
    let status = map.get("status");
    let failed = status.is_some_and(|status| {
        let code = status.get("code").or_else(|| status.get("status_code")).or(Some(status));
        matches!(code.and_then(Value::as_str), Some("STATUS_CODE_ERROR" | "ERROR" | "Error"))
            || code.and_then(Value::as_i64) == Some(2)
    });
    let kind = attributes.get("error.type").and_then(Value::as_str);
    let exception = content::list(map, "events").iter().find_map(|event| {
        Some(self::attributes(event.get("attributes")).get("exception.message")?.as_str()?.to_owned())
    });
    let message = status.and_then(|status| status.get("message").or_else(|| status.get("description"))?.as_str());
    let error = (failed || kind.is_some()).then(|| {
        let text = message.filter(|text| !text.is_empty()).map(str::to_owned).or(exception);
        text.or_else(|| kind.map(str::to_owned)).unwrap_or_default()
    });
    Ok(Span {
        line,
        id,
        parent: name([&["parentSpanId"], &["parent_id"], &["parent_span_id"]]).unwrap_or_default(),
        trace: name([&["traceId"], &["trace_id"], &["context", "trace_id"]]).unwrap_or_default(),
        start: nanos(whole([&["startTimeUnixNano"], &["start_time"], &["startTime"]])),
        end: nanos(whole([&["endTimeUnixNano"], &["end_time"], &["endTime"]])),
        kind: kind_of(map, &attributes),
        attributes,
        error,
    })
}

fn kind_of(map: &Map<String, Value>, attributes: &Map<String, Value>) -> Kind {
    let given = |key: &str| attributes.get(key).and_then(Value::as_str);
    let name = map.get("name").and_then(Value::as_str).unwrap_or_default();
    match given("gen_ai.operation.name").or_else(|| given("openinference.span.kind")) {
        Some("execute_tool" | "TOOL") => Kind::Tool,
        Some("chat" | "text_completion" | "generate_content" | "LLM") => Kind::Model,
        Some("invoke_agent" | "create_agent" | "AGENT") => Kind::Agent,
        _ if name == "ai.toolCall"
            || name.starts_with("execute_tool ")
            || attributes.contains_key("gen_ai.tool.name") =>
        {
            Kind::Tool
        }
        _ => Kind::Other,
    }
}

/// Attributes as a map: in OTLP/JSON they are a list of keys with typed values.
fn attributes(given: Option<&Value>) -> Map<String, Value> {
    match given {
        Some(Value::Object(map)) => map.clone(),
        Some(Value::Array(list)) => list
            .iter()
            .filter_map(|pair| Some((pair.get("key")?.as_str()?.to_owned(), any_value(pair.get("value")?, 0))))
            .collect(),
        _ => Map::new(),
    }
}

fn any_value(value: &Value, depth: u32) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|map| map.iter().next()) else { return value.clone() };
    let inside = |inner: &Value| inner.get("values").and_then(Value::as_array).cloned().unwrap_or_default();
    match kind.as_str() {
        // Deeper than JSON can be written that is accepted.
        _ if depth > 120 => Value::Null,
        "arrayValue" => inside(inner).iter().map(|value| any_value(value, depth + 1)).collect(),
        "kvlistValue" => Value::Object(
            inside(inner)
                .iter()
                .filter_map(|pair| {
                    Some((pair.get("key")?.as_str()?.to_owned(), any_value(pair.get("value")?, depth + 1)))
                })
                .collect(),
        ),
        // 64-bit integers are written as text.
        "intValue" => match inner.as_str().and_then(|text| text.parse::<i64>().ok()) {
            Some(number) => number.into(),
            None => inner.clone(),
        },
        _ => inner.clone(),
    }
}

/// Nanoseconds from a count of them, a pair of seconds and nanoseconds, or a date and time.
fn nanos(stamp: Option<&Value>) -> Option<i64> {
    match stamp? {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => match text.parse::<i64>() {
            Ok(nanos) => Some(nanos),
            Err(_) => super::time::millis(text)?.checked_mul(1_000_000),
        },
        Value::Array(pair) => {
            let (seconds, nanos) = (pair.first()?.as_i64()?, pair.get(1)?.as_i64()?);
            seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
        }
        _ => None,
    }
}

struct Reader<'a> {
    by_id: BTreeMap<&'a str, &'a Span>,
    /// Whether calls have spans of their own; otherwise the messages tell of them.
    tools: bool,
    /// Whether models have spans of their own; otherwise those of agents tell what was said.
    chats: bool,
    /// The newest answer of a model, by trace.
    models: BTreeMap<&'a str, &'a str>,
    /// Messages told already, by run: each request repeats the conversation.
    told: BTreeSet<(String, u64)>,
    /// Time and event.
    events: Vec<(Option<i64>, u32, TraceEvent)>,
}

impl<'a> Reader<'a> {
    fn new(spans: &'a [Span]) -> Self {
        Self {
            by_id: spans.iter().map(|span| (span.id.as_str(), span)).collect(),
            tools: spans.iter().any(|span| span.kind == Kind::Tool),
            chats: spans.iter().any(|span| span.kind == Kind::Model),
            models: BTreeMap::new(),
            told: BTreeSet::new(),
            events: Vec::new(),
        }
    }

    fn read(mut self, out: &mut Out, spans: &'a [Span]) {
        for span in spans {
            let context = self.context(span);
            match span.kind {
                Kind::Tool => self.tool(out, span, context),
                Kind::Model => self.model(span, &context),
                Kind::Agent if !self.chats => self.model(span, &context),
                Kind::Agent | Kind::Other => {}
            }
        }
        if self.events.iter().all(|(at, ..)| at.is_some()) {
            self.events.sort_by_key(|(at, ..)| *at);
        }
        for (_, line, event) in self.events {
            out.transcript.push(line, event);
        }
    }

    fn context(&self, span: &Span) -> Context {
        let of = |span: &Span, key: &str| span.attributes.get(key).and_then(Value::as_str).map(str::to_owned);
        let mut agent = of(span, "gen_ai.agent.name").or_else(|| of(span, "gen_ai.agent.id"));
        let mut conversation = of(span, "gen_ai.conversation.id");
        let mut above = span;
        // As deep as agents call agents.
        for _ in 0..64 {
            if agent.is_some() && conversation.is_some() {
                break;
            }
            match self.by_id.get(above.parent.as_str()) {
                Some(parent) => above = parent,
                None => break,
            }
            agent = agent.or_else(|| of(above, "gen_ai.agent.name")).or_else(|| of(above, "gen_ai.agent.id"));
            conversation = conversation.or_else(|| of(above, "gen_ai.conversation.id"));
        }
        let run = conversation.or_else(|| Some(span.trace.clone()).filter(|trace| !trace.is_empty()));
        Context { run, agent, ..Context::default() }
    }

    fn push(&mut self, nanos: Option<i64>, line: u32, context: &Context, body: Body) {
        let context = Context { at: nanos.map(|nanos| nanos / 1_000_000), ..context.clone() };
        self.events.push((nanos, line, TraceEvent { event: Event { body, context }, pending: false }));
    }

    fn tool(&mut self, out: &mut Out, span: &Span, context: Context) {
        let given =
            |keys: &[&str]| keys.iter().find_map(|key| span.attributes.get(*key).filter(|value| !value.is_null()));
        let tool = match given(&TOOL) {
            Some(Value::String(tool)) => tool.clone(),
            other => {
                return out.transcript.fail(span.line, unexpected("gen_ai.tool.name", "the name of a tool", other));
            }
        };
        let call_id = Some(content::id(given(&CALL_ID)).unwrap_or_else(|| span.id.clone()));
        let (args, raw_args) = arguments(given(&ARGUMENTS));
        let identity = (given(&ARGUMENTS).is_none()).then(|| span.id.clone());
        let round = self.models.get(span.trace.as_str()).map(|model| (*model).to_owned());
        let called = Context { round, ..context.clone() };
        let call =
            ToolCall { tool: tool.clone(), args, raw_args, call_id: call_id.clone(), identity, ..ToolCall::default() };
        self.push(span.start, span.line, &called, Body::ToolCall(call));
        let output = output_text(given(&RESULT));
        let (outcome, output) = match &span.error {
            None => (Outcome::Ok, output),
            Some(error) => {
                let kind = span.attributes.get("error.type").and_then(Value::as_str).unwrap_or_default();
                let output = if output.is_empty() { error.clone() } else { output };
                let slow = kind.to_ascii_lowercase().contains("timeout");
                (if slow { Outcome::Timeout } else { failed(&output) }, output)
            }
        };
        // An output that was not recorded is no empty one.
        let details = given(&RESULT).is_none().then(|| json!({ "spanId": span.id }));
        let result = ToolResult { call_id, tool: Some(tool), outcome, output, details, ..ToolResult::default() };
        self.push(span.end.or(span.start), span.line, &context, Body::ToolResult(result));
    }

    fn model(&mut self, span: &'a Span, context: &Context) {
        // An agent's whole run is no round.
        if span.kind == Kind::Model {
            self.models.insert(&span.trace, &span.id);
        }
        let inputs = messages(span, "gen_ai.input.messages");
        let outputs = messages(span, "gen_ai.output.messages");
        for (of_model, list) in [(false, inputs), (true, outputs)] {
            let nanos = if of_model { span.end.or(span.start) } else { span.start };
            for message in list {
                self.message(span, nanos, context, &message, of_model);
            }
        }
    }

    fn message(&mut self, span: &Span, nanos: Option<i64>, context: &Context, message: &Value, of_model: bool) {
        let role = match text_at(message, &["role"]) {
            Some("user") => Role::User,
            Some("system" | "developer") => Role::System,
            _ => Role::Assistant,
        };
        let round = (of_model && span.kind == Kind::Model).then(|| span.id.clone());
        let context = Context { round, ..context.clone() };
        let run = context.run.clone().unwrap_or_default();
        let parts = match message.get("parts").or_else(|| message.get("content")) {
            Some(Value::Array(parts)) => parts.clone(),
            Some(Value::String(text)) => alloc::vec![Value::String(text.clone())],
            _ => return,
        };
        // The finish reason stands only beside an output: the parts alone are what later inputs repeat.
        let digest =
            xxh3_64((crate::json::to_string(&parts) + text_at(message, &["role"]).unwrap_or_default()).as_bytes());
        let known = !self.told.insert((run, digest));
        // What the model says again is said again; what a request repeats is not.
        if known && !of_model {
            return;
        }
        for part in &parts {
            let said = |key: &str| part.get(key).and_then(content_text);
            match text_at(part, &["type"]) {
                Some("tool_call") if !self.tools => {
                    let (args, raw_args) = arguments(part.get("arguments"));
                    let (tool, call_id) =
                        (content::id(part.get("name")).unwrap_or_default(), content::id(part.get("id")));
                    let call = ToolCall { tool, args, raw_args, call_id, ..ToolCall::default() };
                    self.push(nanos, span.line, &context, Body::ToolCall(call));
                }
                Some("tool_call_response") if !self.tools => {
                    let answer = part.get("response").or_else(|| part.get("result"));
                    let outcome = answer.map_or(Outcome::Ok, content::told);
                    let (call_id, output) = (content::id(part.get("id")), output_text(answer));
                    let result = ToolResult { call_id, outcome, output, ..ToolResult::default() };
                    self.push(nanos, span.line, &context, Body::ToolResult(result));
                }
                Some("tool_call" | "tool_call_response") => {}
                kind => {
                    let channel = (kind == Some("reasoning")).then_some(Channel::Reasoning);
                    let text = part.as_str().map(str::to_owned).or_else(|| said("content")).or_else(|| said("text"));
                    if let Some(text) = text.filter(|text| !text.is_empty()) {
                        let message = Message { role, channel, text, digest: None };
                        self.push(nanos, span.line, &context, Body::Message(message));
                    }
                }
            }
        }
    }
}

/// A list of messages in an attribute: structured, or as JSON text.
fn messages(span: &Span, key: &str) -> Vec<Value> {
    let given = match span.attributes.get(key) {
        Some(Value::String(text)) => crate::json::value(text).unwrap_or(Value::Null),
        Some(other) => other.clone(),
        None => Value::Null,
    };
    match given {
        Value::Array(list) => list,
        _ => Vec::new(),
    }
}
