//! Spans of OpenTelemetry's GenAI conventions: OTLP/JSON (`resourceSpans`, whole or one export per line), and plain
//! spans as printed by the exporters of SDKs. The names used by OpenInference, OpenLLMetry, the AI SDK and Pydantic AI
//! are recognised too, and so are the forms in which Phoenix, Langfuse and LangSmith keep spans (`spans.rs`).
//!
//! A span is written when it ends, so events are ordered by time. A call recorded without its arguments is unlike any
//! other: treating such calls as equal would report loops where recording is merely switched off.

use super::content::{self, arguments, at, content_text, failed, is_true, output_text, text, text_at};
use super::out::{self, Out};
use super::pieces::Piece;
use super::usage::{Usage, count, micros};
use super::{FormatReader, logs, monocle, spans, unexpected};
use crate::model::{
    Body, Channel, Context, Error, ErrorCode, Event, Message, Outcome, Role, ToolCall, ToolResult, TraceEvent,
};
use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet, VecDeque},
    format,
    string::String,
    vec::Vec,
};
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::xxh3_64;

const INPUT: &str = "gen_ai.input.messages";
const OUTPUT: &str = "gen_ai.output.messages";

/// Keys of lists of spans, or of containers of spans.
pub(super) const CONTAINERS: [&str; 11] = [
    "resourceSpans",
    "scopeSpans",
    "instrumentationLibrarySpans",
    "resource_spans",
    "scope_spans",
    "spans",
    "resourceLogs",
    "scopeLogs",
    "logRecords",
    "resource_logs",
    "scope_logs",
];

/// Keys of lists in the API responses of tracing tools.
const LISTS: [&str; 6] = ["observations", "runs", "data", "post", "patch", "traces"];

/// Keys of the child runs or spans of a run or span.
const CHILDREN: [&str; 2] = ["child_runs", "child_spans"];

const TOOL: [&str; 4] = ["gen_ai.tool.name", "ai.toolCall.name", "tool.name", "traceloop.entity.name"];
const CALL_ID: [&str; 4] = ["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id"];
const ARGUMENTS: [&str; 6] = [
    "gen_ai.tool.call.arguments",
    "ai.toolCall.args",
    "tool_arguments",
    "tool.parameters",
    "input.value",
    "traceloop.entity.input",
];
const RESULT: [&str; 5] =
    ["gen_ai.tool.call.result", "ai.toolCall.result", "tool_response", "output.value", "traceloop.entity.output"];

/// A span is written when it ends, so none can be read before all are there.
#[derive(Default)]
pub(super) struct Spans {
    read: Vec<Span>,
    /// LangSmith runs by id: the start of a run is posted, and its end comes as a patch.
    runs: Vec<(u32, Map<String, Value>)>,
    known: BTreeMap<String, usize>,
    logs: logs::Logs,
}

impl FormatReader for Spans {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        collect(out, document, self, 0);
    }

    fn end(&mut self, out: &mut Out) {
        for (line, run) in core::mem::take(&mut self.runs) {
            self.add(out, line, &spans::run(&run));
        }
        core::mem::take(&mut self.logs).join(&mut self.read);
        let spans = &mut self.read;
        // Without times, spans stay in file order.
        if spans.iter().all(|span| span.start.is_some()) {
            spans.sort_by_key(|span| span.start);
        }
        Reader::new(spans).read(out, spans);
        if let (Some(first), 0) = (spans.first(), out.count()) {
            out.transcript.fail(first.line, Error::new(ErrorCode::InvalidEvent, nothing_told(spans)));
        }
    }
}

impl Spans {
    /// Takes a record: a span, or the form of another tool.
    fn take(&mut self, out: &mut Out, line: u32, map: Map<String, Value>) {
        let id = spans::run_id(&map);
        let known = id.as_ref().and_then(|id| self.known.get(id)).copied();
        if let Some((_, run)) = known.and_then(|index| self.runs.get_mut(index)) {
            // In either order: what is empty in one is in the other.
            for (key, value) in map {
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                if !empty || !run.contains_key(&key) {
                    run.insert(key, value);
                }
            }
        } else if spans::is_run(&map) || (id.is_some() && map.contains_key("dotted_order")) {
            self.known.extend(id.map(|id| (id, self.runs.len())));
            self.runs.push((line, map));
        } else if logs::is_one(&map) {
            self.logs.take(line, &map);
        } else {
            self.add(out, line, spans::plain(&map).as_ref().unwrap_or(&map));
        }
    }

    fn add(&mut self, out: &mut Out, line: u32, map: &Map<String, Value>) {
        match span(line, map) {
            Ok(span) => self.read.push(span),
            Err((field, found)) => out.transcript.fail(line, unexpected(field, "an id", found)),
        }
    }
}

/// The message for spans without any events.
fn nothing_told(spans: &[Span]) -> String {
    let of = |kind: Kind| spans.iter().filter(|span| span.kind == kind).count();
    let (models, agents) = (of(Kind::Model), of(Kind::Agent));
    let without =
        if models + agents > 0 { "; those of models and agents were recorded without their messages" } else { "" };
    format!(
        "{} spans: {} of tools, {models} of models, {agents} of agents, {} of no known kind (`gen_ai.operation.name`, `openinference.span.kind` or `span_kind` would tell){without}",
        spans.len(),
        of(Kind::Tool),
        of(Kind::Other),
    )
}

pub(super) struct Span {
    pub(super) line: u32,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) parent: String,
    pub(super) trace: String,
    /// Nanoseconds since the epoch.
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) kind: Kind,
    pub(super) attributes: Map<String, Value>,
    /// The error message, if the span failed; may be empty.
    pub(super) error: Option<String>,
}

impl Span {
    /// Whether the name is that of a tool rather than of the operation.
    fn named_after_tool(&self) -> bool {
        !self.name.is_empty() && self.name != "execute_tool" && self.name != "ai.toolCall"
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tool,
    Model,
    Agent,
    Other,
}

/// Finds the spans in a piece, which is a span or contains lists of them. API responses and batches may themselves be
/// in a list.
fn collect(out: &mut Out, piece: Piece<'_>, spans: &mut Spans, depth: u32) {
    // Twice the depth of resources, scopes and spans.
    if depth > 8 {
        return;
    }
    let inside = piece.inside();
    let failures = out.transcript.errors.len();
    let mut container = piece.is_list();
    for (key, inner) in &inside.pieces {
        if piece.is_list() {
            collect(out, *inner, spans, depth + 1);
        } else if (CONTAINERS.contains(key) || (depth <= 1 && LISTS.contains(key))) && inner.is_list() {
            container = true;
            collect(out, *inner, spans, depth + 1);
        } else if CHILDREN.contains(key) && inner.is_list() {
            collect(out, *inner, spans, depth + 1);
        }
    }
    if container {
        if !inside.closed && out.transcript.errors.len() == failures {
            out.cut_off(inside.last_line());
        }
        return;
    }
    match piece.object() {
        // A telemetry file also contains metrics and resources.
        Ok(map) if is_no_span(&map) => {}
        Ok(map) => spans.take(out, piece.line, map),
        Err(error) => out.transcript.fail(piece.line, error),
    }
}

fn is_no_span(map: &Map<String, Value>) -> bool {
    const OTHERS: [&str; 4] = ["resourceMetrics", "scopeMetrics", "dataPoints", "descriptor"];
    OTHERS.iter().any(|key| map.contains_key(*key))
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
    let found = found.or_else(|| whole([&["context", "spanId"], &["spanContext", "spanId"], &["context.span_id"]]));
    let id = content::id(found).ok_or(("spanId", found))?;
    let mut attributes = attributes(map.get("attributes"));
    if attributes.is_empty() {
        attributes = self::attributes(map.get("span_attributes"));
    }
    // Tables of spans have a column per attribute.
    for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        if let Some(name) = key.strip_prefix("attributes.") {
            attributes.entry(name).or_insert_with(|| value.clone());
        }
    }
    let error = error_of(map, &attributes);
    for event in content::list(map, "events") {
        said_in_event(&mut attributes, event);
    }
    monocle::complete(&mut attributes, content::list(map, "events"));
    Ok(Span {
        line,
        id,
        name: name_of(map).to_owned(),
        parent: name([&["parentSpanId"], &["parent_id"], &["parent_span_id"]])
            .or_else(|| name([&["parentId"], &["parentSpanContext", "spanId"], &["parent", "span_id"]]))
            .unwrap_or_default(),
        trace: name([&["traceId"], &["trace_id"], &["context", "trace_id"]])
            .or_else(|| name([&["context", "traceId"], &["spanContext", "traceId"], &["context.trace_id"]]))
            .unwrap_or_default(),
        start: nanos(whole([&["startTimeUnixNano"], &["start_time"], &["startTime"]]).or_else(|| map.get("timestamp"))),
        end: nanos(whole([&["endTimeUnixNano"], &["end_time"], &["endTime"]])),
        kind: kind_of(map, &attributes),
        error,
        attributes,
    })
}

/// The error message of a span, if it failed; may be empty.
fn error_of(map: &Map<String, Value>, attributes: &Map<String, Value>) -> Option<String> {
    let status = map.get("status");
    let code = status.map(|status| status.get("code").or_else(|| status.get("status_code")).unwrap_or(status));
    let codes = [code, map.get("status_code"), map.get("statusCode")];
    let failed = codes.into_iter().flatten().any(|code| match code {
        Value::String(code) => {
            matches!(code.to_ascii_uppercase().as_str(), "STATUS_CODE_ERROR" | "ERROR" | "STATUSCODE.ERROR")
        }
        code => code.as_i64() == Some(2),
    });
    let exception = content::list(map, "events").iter().find_map(|event| {
        let told = self::attributes(event.get("attributes"));
        Some(lookup(&told, "exception.message").or_else(|| event.get("message"))?.as_str()?.to_owned())
    });
    let kind = text(attributes, "error.type");
    let message = status.and_then(|status| status.get("message").or_else(|| status.get("description"))?.as_str());
    let message = message.filter(|text| !text.is_empty());
    let message = message.or_else(|| ["status_message", "statusMessage"].iter().find_map(|key| text(map, key)));
    let message = message.filter(|text| !text.is_empty()).map(str::to_owned);
    (failed || kind.is_some()).then(|| message.or(exception).or(kind.map(str::to_owned)).unwrap_or_default())
}

fn name_of(map: &Map<String, Value>) -> &str {
    ["name", "span_name"].iter().find_map(|key| text(map, key)).unwrap_or_default()
}

fn kind_of(map: &Map<String, Value>, attributes: &Map<String, Value>) -> Kind {
    let given = |key: &str| lookup(attributes, key).and_then(Value::as_str);
    let name = name_of(map);
    let column = ["span_kind", "spanKind", "kind"].iter().find_map(|key| text(map, key));
    let told = given("gen_ai.operation.name").or_else(|| given("openinference.span.kind"));
    let told = told
        .or_else(|| given("traceloop.span.kind"))
        .or_else(|| monocle::kind(attributes))
        .or(column)
        .unwrap_or_default();
    match told.to_ascii_lowercase().as_str() {
        "execute_tool" | "tool" => Kind::Tool,
        "chat" | "text_completion" | "generate_content" | "llm" => Kind::Model,
        "invoke_agent" | "create_agent" | "agent" => Kind::Agent,
        _ if is_tool(name, attributes) => Kind::Tool,
        _ if matches!(name, "ai.generateText.doGenerate" | "ai.streamText.doStream") => Kind::Model,
        _ if given("llm.request.type") == Some("chat") => Kind::Model,
        _ => Kind::Other,
    }
}

/// Whether a span is a tool's, by its name or attributes.
pub(super) fn is_tool(name: &str, attributes: &Map<String, Value>) -> bool {
    name == "ai.toolCall"
        || name.starts_with("execute_tool ")
        || lookup(attributes, "openinference.span.kind").and_then(Value::as_str) == Some("TOOL")
        || lookup(attributes, "gen_ai.operation.name").and_then(Value::as_str) == Some("execute_tool")
        || ["gen_ai.tool.name", "ai.toolCall.name"].iter().any(|key| attributes.contains_key(*key))
}

/// An attribute by its full name, or by its name as a path.
pub(super) fn lookup<'a>(attributes: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    let nested = || {
        let (first, rest) = key.split_once('.')?;
        rest.split('.').try_fold(attributes.get(first)?, |value, key| value.get(key))
    };
    attributes.get(key).or_else(nested).filter(|value| !value.is_null())
}

/// Adds the message in a span event: instrumentations before the current conventions recorded messages that way.
pub(super) fn said_in_event(attributes: &mut Map<String, Value>, event: &Value) {
    let name = event.get("name").and_then(Value::as_str).unwrap_or_default();
    let told = self::attributes(event.get("attributes"));
    let text_of = |key: &str| told.get(key).cloned();
    let (list, role) = match name {
        "gen_ai.user.message" => (INPUT, "user"),
        "gen_ai.system.message" => (INPUT, "system"),
        "gen_ai.assistant.message" => (INPUT, "assistant"),
        "gen_ai.tool.message" => (INPUT, "tool"),
        "gen_ai.choice" => (OUTPUT, "assistant"),
        "gen_ai.content.prompt" => (INPUT, "user"),
        "gen_ai.content.completion" => (OUTPUT, "assistant"),
        "gen_ai.client.inference.operation.details" => {
            for key in [INPUT, OUTPUT] {
                if let Some(value) = text_of(key) {
                    attributes.entry(key).or_insert(value);
                }
            }
            return;
        }
        _ => return,
    };
    let whole = ["message", "gen_ai.prompt", "gen_ai.completion"].iter().find_map(|key| text_of(key));
    let said = match whole {
        Some(Value::String(text)) => crate::json::value(&text).unwrap_or(Value::String(text)),
        Some(value) => value,
        None => {
            let mut message = told.clone();
            message.insert("role".to_owned(), role.into());
            for key in ["tool_calls", "content"] {
                if let Some(Value::String(text)) = message.get(key)
                    && let Ok(parsed @ (Value::Array(_) | Value::Object(_))) = crate::json::value(text)
                {
                    message.insert(key.to_owned(), parsed);
                }
            }
            if role == "tool" && !message.contains_key("tool_call_id") {
                message.insert("tool_call_id".to_owned(), told.get("id").cloned().unwrap_or_default());
            }
            Value::Object(message)
        }
    };
    let messages = spans::conversation(&said, role, 0);
    if let Value::Array(known) = attributes.entry(list).or_insert_with(|| Value::Array(Vec::new())) {
        known.extend(messages);
    }
}

/// Attributes as a map; OTLP/JSON has a list of keys with typed values.
pub(super) fn attributes(given: Option<&Value>) -> Map<String, Value> {
    match given {
        Some(Value::Object(map)) => map.clone(),
        // Some APIs return them as JSON text.
        Some(Value::String(text)) => match crate::json::value(text) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        },
        Some(Value::Array(list)) => list
            .iter()
            .filter_map(|pair| Some((pair.get("key")?.as_str()?.to_owned(), any_value(pair.get("value")?, 0))))
            .collect(),
        _ => Map::new(),
    }
}

pub(super) fn any_value(value: &Value, depth: u32) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|map| map.iter().next()) else { return value.clone() };
    let inside = |inner: &Value| inner.get("values").and_then(Value::as_array).cloned().unwrap_or_default();
    match kind.as_str() {
        // Deeper than any JSON that is accepted.
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
        // 64-bit integers are written as strings.
        "intValue" => match inner.as_str().and_then(|text| text.parse::<i64>().ok()) {
            Some(number) => number.into(),
            None => inner.clone(),
        },
        _ => inner.clone(),
    }
}

/// Nanoseconds from a number of them, a pair of seconds and nanoseconds, or a date-time.
pub(super) fn nanos(stamp: Option<&Value>) -> Option<i64> {
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
    /// Whether calls have spans of their own; otherwise they are taken from messages.
    tools: bool,
    /// Whether models have spans of their own; otherwise messages are taken from agent spans.
    chats: bool,
    /// Spans that enclose a model span and repeat its messages.
    around: BTreeSet<&'a str>,
    /// The latest model span, by trace.
    models: BTreeMap<&'a str, &'a str>,
    /// Messages already reported, by run, since each request repeats the conversation.
    told: BTreeSet<(String, u64)>,
    /// Ids of calls in messages that wait for an answer, by run and tool, since not every answer has the id.
    open: BTreeMap<(String, String), VecDeque<String>>,
    /// Time in nanoseconds, line, and event.
    events: Vec<(Option<i64>, u32, TraceEvent)>,
    /// Usage of answers without an event, with the end time and the run.
    spent: Vec<(Option<i64>, Option<String>, Usage)>,
}

impl<'a> Reader<'a> {
    fn new(spans: &'a [Span]) -> Self {
        let by_id: BTreeMap<_, _> = spans.iter().map(|span| (span.id.as_str(), span)).collect();
        let mut around = BTreeSet::new();
        for span in spans.iter().filter(|span| span.kind == Kind::Model) {
            let mut above = span.parent.as_str();
            // As deep as agents call agents; above a known span everything is known.
            for _ in 0..64 {
                match by_id.get(above) {
                    Some(parent) if around.insert(parent.id.as_str()) => above = &parent.parent,
                    _ => break,
                }
            }
        }
        Self {
            by_id,
            around,
            tools: spans.iter().any(|span| span.kind == Kind::Tool),
            chats: spans.iter().any(|span| span.kind == Kind::Model),
            models: BTreeMap::new(),
            told: BTreeSet::new(),
            open: BTreeMap::new(),
            events: Vec::new(),
            spent: Vec::new(),
        }
    }

    fn read(mut self, out: &mut Out, spans: &'a [Span]) {
        for span in spans {
            let context = self.context(span);
            match span.kind {
                Kind::Tool => self.tool(out, span, context),
                Kind::Model if self.around.contains(span.id.as_str()) => {}
                Kind::Model => self.model(span, &context),
                Kind::Agent if !self.chats => self.model(span, &context),
                Kind::Agent | Kind::Other => {}
            }
        }
        if self.events.iter().all(|(at, ..)| at.is_some()) {
            self.events.sort_by_key(|(at, ..)| *at);
        }
        for (ended, run, usage) in core::mem::take(&mut self.spent) {
            // An answer without an event was followed by a call, or was the last.
            let here = |event: &TraceEvent| event.event.context.run == run;
            let follows = |at: &Option<i64>| ended.is_none() || *at >= ended;
            let next = self.events.iter().position(|(at, _, event)| here(event) && follows(at));
            let index = next.or_else(|| self.events.iter().rposition(|(_, _, event)| here(event)));
            if let Some((_, _, event)) = index.and_then(|index| self.events.get_mut(index)) {
                usage.tell(&mut event.event.context);
            }
        }
        for (_, line, event) in self.events {
            out.transcript.push(line, event);
        }
    }

    fn context(&self, span: &Span) -> Context {
        let of = |span: &Span, key: &str| lookup(&span.attributes, key).and_then(Value::as_str).map(str::to_owned);
        let of_conversation = |span: &Span| of(span, "gen_ai.conversation.id").or_else(|| of(span, "session.id"));
        let mut agent = of(span, "gen_ai.agent.name").or_else(|| of(span, "gen_ai.agent.id"));
        let mut conversation = of_conversation(span);
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
            conversation = conversation.or_else(|| of_conversation(above));
        }
        let run = conversation.or_else(|| Some(span.trace.clone()).filter(|trace| !trace.is_empty()));
        Context { run, agent, ..Context::default() }
    }

    fn push(&mut self, nanos: Option<i64>, line: u32, context: &Context, mut body: Body) {
        out::name(&mut body);
        let context = Context { at: nanos.map(|nanos| nanos / 1_000_000), ..context.clone() };
        self.events.push((nanos, line, TraceEvent { event: Event { body, context }, pending: false }));
    }

    fn tool(&mut self, out: &mut Out, span: &Span, context: Context) {
        let given = |keys: &[&str]| keys.iter().find_map(|key| lookup(&span.attributes, key));
        let tool = match given(&TOOL) {
            Some(Value::String(tool)) => tool.clone(),
            // The span itself is named after its tool.
            None if span.named_after_tool() => span.name.trim_start_matches("execute_tool ").to_owned(),
            other => {
                return out.transcript.fail(span.line, unexpected("gen_ai.tool.name", "the name of a tool", other));
            }
        };
        let call_id = Some(content::id(given(&CALL_ID)).unwrap_or_else(|| span.id.clone()));
        let (mut asked, mut answered) = (given(&ARGUMENTS), given(&RESULT));
        // Redacted values were not recorded. An empty object can be all there was, but not on both sides.
        let tells_nothing = |value: &Value| is_blank(value) || is_redacted(value);
        if asked.is_none_or(tells_nothing) && answered.is_none_or(tells_nothing) {
            (asked, answered) = (None, None);
        }
        (asked, answered) = (asked.filter(|value| !is_redacted(value)), answered.filter(|value| !is_redacted(value)));
        let (args, raw_args) = arguments(asked);
        let identity = asked.is_none().then(|| span.id.clone());
        let round = self.models.get(span.trace.as_str()).map(|model| (*model).to_owned());
        let called = Context { round, ..context.clone() };
        let call =
            ToolCall { tool: tool.clone(), args, raw_args, call_id: call_id.clone(), identity, ..ToolCall::default() };
        self.push(span.start, span.line, &called, Body::ToolCall(call));
        let output = output_text(answered);
        let (outcome, output) = match &span.error {
            None => (Outcome::Ok, output),
            Some(error) => {
                let kind = text(&span.attributes, "error.type").unwrap_or_default();
                let output = if output.is_empty() { error.clone() } else { output };
                let slow = kind.to_ascii_lowercase().contains("timeout");
                (if slow { Outcome::Timeout } else { failed(&output) }, output)
            }
        };
        // An output that was not recorded differs from an empty one.
        let details = answered.is_none().then(|| json!({ "spanId": span.id }));
        let result = ToolResult { call_id, tool: Some(tool), outcome, output, details, ..ToolResult::default() };
        self.push(span.end.or(span.start), span.line, &context, Body::ToolResult(result));
    }

    fn model(&mut self, span: &'a Span, context: &Context) {
        // An agent's whole run is not a round.
        if span.kind == Kind::Model {
            self.models.insert(&span.trace, &span.id);
        }
        let inputs = messages(span, INPUT);
        let outputs = joined(messages(span, OUTPUT));
        let usage = used(&span.attributes);
        let before = self.events.len();
        for (of_model, list) in [(false, inputs), (true, outputs)] {
            let nanos = if of_model { span.end.or(span.start) } else { span.start };
            for message in list {
                self.message(span, nanos, context, &message, of_model);
            }
        }
        if usage.is_nothing() {
            return;
        }
        let mut new = self.events.iter_mut().skip(before);
        match new.find(|(_, _, event)| out::is_of_model(&event.event.body) && event.event.context.round.is_some()) {
            Some((_, _, event)) => usage.tell(&mut event.event.context),
            None => self.spent.push((span.end.or(span.start), context.run.clone(), usage)),
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
        // Without the finish reason, which only an output has; later inputs repeat just the parts.
        let digest =
            xxh3_64((crate::json::to_string(&parts) + text_at(message, &["role"]).unwrap_or_default()).as_bytes());
        let known = !self.told.insert((run.clone(), digest));
        // A model that repeats itself is recorded again; a request that repeats a message is not.
        if known && !of_model {
            return;
        }
        for part in &parts {
            let body = match text_at(part, &["type"]) {
                Some("tool_call" | "tool_call_response") if self.tools => None,
                Some("tool_call") => Some(Body::ToolCall(self.called(&run, part))),
                Some("tool_call_response") => Some(Body::ToolResult(self.answered(&run, part))),
                kind => {
                    let channel = (kind == Some("reasoning")).then_some(Channel::Reasoning);
                    let said = |key: &str| part.get(key).and_then(content_text);
                    let text = part.as_str().map(str::to_owned).or_else(|| said("content")).or_else(|| said("text"));
                    let text = text.filter(|text| !text.is_empty());
                    text.map(|text| Body::Message(Message { role, channel, text, digest: None }))
                }
            };
            if let Some(body) = body {
                self.push(nanos, span.line, &context, body);
            }
        }
    }

    /// A call in a model's message.
    fn called(&mut self, run: &str, part: &Value) -> ToolCall {
        let (args, raw_args) = arguments(part.get("arguments"));
        let (tool, call_id) = (content::id(part.get("name")).unwrap_or_default(), content::id(part.get("id")));
        if let Some(id) = &call_id {
            self.open.entry((run.to_owned(), tool.clone())).or_default().push_back(id.clone());
        }
        ToolCall { tool, args, raw_args, call_id, ..ToolCall::default() }
    }

    /// A result in a message.
    fn answered(&mut self, run: &str, part: &Value) -> ToolResult {
        let answer = part.get("response").or_else(|| part.get("result"));
        let failed = is_true(part, "is_error");
        let outcome = if failed { Outcome::Error } else { answer.map_or(Outcome::Ok, content::told) };
        let tool = text_at(part, &["name"]).map(str::to_owned);
        let waiting = tool.as_ref().and_then(|tool| self.open.get_mut(&(run.to_owned(), tool.clone())));
        let call_id = match (content::id(part.get("id")), waiting) {
            (None, Some(waiting)) => waiting.pop_front(),
            (Some(id), Some(waiting)) => {
                waiting.retain(|open| *open != id);
                Some(id)
            }
            (id, None) => id,
        };
        ToolResult { call_id, tool, outcome, output: output_text(answer), ..ToolResult::default() }
    }
}

/// The messages of one answer with consecutive texts joined, since some record every streamed chunk.
fn joined(messages: Vec<Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::with_capacity(messages.len());
    for message in messages {
        match (joined.last_mut().and_then(text_of), text_of(&mut message.clone())) {
            (Some(before), Some(text)) => before.push_str(text),
            _ => joined.push(message),
        }
    }
    joined
}

/// The text of an assistant message that has nothing else.
fn text_of(message: &mut Value) -> Option<&mut String> {
    if text_at(message, &["role"]) != Some("assistant") {
        return None;
    }
    match message.get_mut("parts")?.as_array_mut()?.as_mut_slice() {
        [part] if text_at(part, &["type"]) == Some("text") => match part.get_mut("content")? {
            Value::String(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Usage of a model's answer under the names of each convention.
fn used(attributes: &Map<String, Value>) -> Usage {
    let first = |keys: &[&str]| keys.iter().find_map(|key| count(lookup(attributes, key)));
    let total = first(&[
        "gen_ai.usage.total_tokens",
        "llm.usage.total_tokens",
        "llm.token_count.total",
        "ai.usage.totalTokens",
    ]);
    let input = first(&[
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
        "ai.usage.inputTokens",
        "ai.usage.promptTokens",
        "llm.usage.prompt_tokens",
    ]);
    let output = first(&[
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
        "ai.usage.outputTokens",
        "ai.usage.completionTokens",
        "llm.usage.completion_tokens",
    ]);
    let parts = (input.is_some() || output.is_some()).then(|| input.unwrap_or(0).saturating_add(output.unwrap_or(0)));
    let cost = ["gen_ai.usage.cost", "gen_ai.usage.total_cost", "llm.cost.total", "operation.cost"];
    let cost_micros = cost.iter().find_map(|key| micros(lookup(attributes, key)));
    Usage { tokens: total.or(parts), cost_micros }
}

/// Whether a value is empty.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => matches!(text.trim(), "" | "{}" | "[]" | "null"),
        _ => false,
    }
}

/// Whether a value is only a redaction marker.
fn is_redacted(value: &Value) -> bool {
    const WORDS: [&str; 4] = ["redacted", "masked", "hidden", "removed"];
    let Value::String(text) = value else { return false };
    let word = text.trim().trim_matches(|char: char| !char.is_ascii_alphanumeric());
    word.len() < text.trim().len() && WORDS.iter().any(|redacted| word.eq_ignore_ascii_case(redacted))
}

/// The messages of a span: structured, as JSON text, or in attributes with numbered names.
fn messages(span: &Span, key: &str) -> Vec<Value> {
    let (role, lists, whole): (_, [&str; 2], _) = if key == INPUT {
        ("user", ["llm.input_messages", "gen_ai.prompt"], ["ai.prompt.messages", "gen_ai.prompt"])
    } else {
        ("assistant", ["llm.output_messages", "gen_ai.completion"], ["ai.response.text", "gen_ai.completion"])
    };
    let parsed = |key: &str| match lookup(&span.attributes, key) {
        Some(Value::String(text)) => crate::json::value(text).unwrap_or_else(|_| Value::String(text.clone())),
        Some(other) => other.clone(),
        None => Value::Null,
    };
    match parsed(key) {
        // Plain text is not of these conventions.
        Value::String(_) | Value::Null => {}
        given => return spans::conversation(&given, role, 0),
    }
    let listed = lists.iter().map(|prefix| spans::listed(&span.attributes, prefix)).find(|list| !list.is_empty());
    if let Some(list) = listed {
        return list.iter().filter_map(|message| spans::message(message, role)).collect();
    }
    let mut messages: Vec<Value> = whole.iter().flat_map(|key| spans::conversation(&parsed(key), role, 0)).collect();
    if key == OUTPUT {
        messages.extend(spans::conversation(&parsed("ai.response.toolCalls"), role, 0));
    }
    messages
}
