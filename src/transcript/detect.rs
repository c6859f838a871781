//! Detects the format of a text from its first entries.

use super::content::{list, text, text_at};
use super::pieces::Piece;
use super::{Format, ai_sdk_stream, codex_exec, devtools, langgraph, logs, openai_chunks, otel, spans};
use crate::json;
use crate::model::ErrorCode;
use alloc::{borrow::ToOwned, string::String, vec::Vec};
use serde_json::{Map, Value};

/// Documents looked at, and entries in each of their lists.
pub(super) const LOOKED_AT: usize = 100;

/// Elements of a top-level list that are searched for lists themselves, as they may be documents.
const LOOKED_INTO: usize = 3;

/// Members of a document longer than this, in bytes, are not parsed for detection.
const SMALL: usize = 4096;

/// Names of lists that hold entries, over all formats.
const LISTS: &str = "messages trajectory history clientHistory contents input items events output choices runs \
    observations steps data post patch traces traj loglines";

/// Whether an entry looks like one of a format.
type Sign = fn(&Map<String, Value>) -> bool;

/// The checks for each format, in order: the first that matches an entry decides, so formats whose entries could also
/// pass for another's come first.
const SIGNS: [(Format, Sign); 11] = [
    (Format::OpenTelemetry, open_telemetry),
    (Format::GeminiCli, gemini_cli),
    (Format::SweAgent, swe_agent),
    (Format::OpenHands, open_hands),
    (Format::LangChain, lang_chain),
    (Format::AiSdk, ai_sdk),
    (Format::Anthropic, anthropic),
    (Format::OpenAi, open_ai),
    (Format::ClaudeCode, claude_code),
    (Format::Trace, scenario),
    (Format::Trace, trace),
];

/// The format of the first distinctive entry. Ambiguous messages are taken for OpenAI's, anything else for a trace.
pub(super) fn detect(documents: &[Piece<'_>]) -> Format {
    let mut messages = false;
    for document in documents.iter().take(LOOKED_AT) {
        if langgraph::is_tuple(*document) || langgraph::is_state(*document) {
            return Format::LangChain;
        }
        for map in samples(*document) {
            if let Some((format, _)) = SIGNS.iter().find(|(_, sign)| sign(&map)) {
                return *format;
            }
            messages |= is_text(&map, "role") && map.contains_key("content");
        }
    }
    if messages { Format::OpenAi } else { Format::Trace }
}

/// A document without its long members, and the first entries of its lists.
fn samples(document: Piece<'_>) -> Vec<Map<String, Value>> {
    let mut samples = Vec::new();
    if document.is_object() {
        let mut head = Map::new();
        for (key, piece) in document.inside().pieces {
            let value = match piece.text.len() {
                0..=SMALL => piece.value().ok(),
                _ if piece.is_list() => Some(Value::Array(Vec::new())),
                _ if piece.is_object() => Some(Value::Object(Map::new())),
                _ => Some(Value::String(Default::default())),
            };
            let Some(value) = value else {
                // A list with a broken entry in it is still a list.
                if piece.is_list() {
                    head.insert(key.to_owned(), Value::Array(Vec::new()));
                }
                continue;
            };
            head.insert(key.to_owned(), value);
        }
        samples.push(head);
    }
    let lists = document.inside().pieces.into_iter().filter(|(key, piece)| is_list_name(key) && piece.is_list());
    let lists = if document.is_list() { alloc::vec![document] } else { lists.map(|(_, piece)| piece).collect() };
    let mut looked_into = 0;
    for list in lists {
        for (_, entry) in list.inside().pieces.into_iter().take(LOOKED_AT) {
            let entries = if entry.is_list() { entry.inside().pieces } else { alloc::vec![("", entry)] };
            samples.extend(entries.into_iter().filter_map(|(_, entry)| entry.object().ok()));
            if document.is_list() && looked_into < LOOKED_INTO {
                looked_into += 1;
                samples.extend(entries_of(entry));
            }
        }
    }
    samples
}

/// The first entries of an element that is not an entry itself but a document with lists of them.
fn entries_of(element: Piece<'_>) -> Vec<Map<String, Value>> {
    if !element.is_object() {
        return Vec::new();
    }
    let members = element.inside().pieces;
    if members.iter().any(|(key, _)| matches!(*key, "type" | "role")) {
        return Vec::new();
    }
    let lists = members.into_iter().filter(|(key, piece)| is_list_name(key) && piece.is_list());
    lists
        .flat_map(|(_, list)| list.inside().pieces.into_iter().take(3))
        .filter_map(|(_, entry)| entry.object().ok())
        .collect()
}

/// Whether a list of this name holds entries.
fn is_list_name(name: &str) -> bool {
    LISTS.split(' ').any(|known| known == name)
}

fn is_text(map: &Map<String, Value>, key: &str) -> bool {
    text(map, key).is_some()
}

fn word<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    text(map, key).unwrap_or_default()
}

fn has_any(map: &Map<String, Value>, keys: &[&str]) -> bool {
    keys.iter().any(|key| map.contains_key(*key))
}

/// Whether a block of the content has one of these types.
fn block_of(map: &Map<String, Value>, key: &str, types: &[&str]) -> bool {
    list(map, key).iter().any(|block| text_at(block, &["type"]).is_some_and(|kind| types.contains(&kind)))
}

fn open_telemetry(map: &Map<String, Value>) -> bool {
    let id = has_any(map, &["spanId", "span_id", "traceId", "context.span_id"])
        || ["context", "spanContext"]
            .iter()
            .any(|key| map.get(*key).is_some_and(|context| context.get("span_id").or(context.get("spanId")).is_some()));
    otel::CONTAINERS.iter().any(|key| map.get(*key).is_some_and(Value::is_array))
        || (id && has_any(map, &["attributes", "startTimeUnixNano", "span_kind", "spanKind"]))
        || spans::is_one(map)
        || (logs::is_one(map) && !gemini_cli(map))
}

fn gemini_cli(map: &Map<String, Value>) -> bool {
    let telemetry = |attributes: &Value| {
        let name = attributes.get("event.name").and_then(Value::as_str);
        name.is_some_and(|name| name.starts_with("gemini_cli."))
    };
    let function = |part: &Value| part.get("functionCall").or_else(|| part.get("functionResponse")).is_some();
    has_any(map, &["projectHash", "$rewindTo", "$set"])
        || (has_any(map, &["sessionId"]) && map.contains_key("messageId") && is_text(map, "message"))
        || map.get("attributes").is_some_and(telemetry)
        || word(map, "type") == "gemini"
        || (word(map, "role") == "model" && map.contains_key("parts"))
        || list(map, "parts").iter().any(function)
        || (word(map, "role") == "user" && !list(map, "parts").is_empty() && !typed(list(map, "parts")))
}

fn swe_agent(map: &Map<String, Value>) -> bool {
    let info = |info: &Value| info.get("mini_version").or_else(|| info.get("exit_status")).is_some();
    word(map, "trajectory_format").starts_with("mini-swe-agent")
        || (map.get("info").is_some_and(info) && has_any(map, &["trajectory", "history", "messages"]))
        || (is_text(map, "action") && is_text(map, "observation") && has_any(map, &["thought", "response", "state"]))
        || (is_text(map, "message_type") && is_text(map, "role") && map.contains_key("content"))
        // mini-swe-agent's observations in a bare list of messages.
        || (is_text(map, "role") && word(map, "content").trim_start().starts_with("<returncode>"))
}

fn open_hands(map: &Map<String, Value>) -> bool {
    const KINDS: [&str; 6] = [
        "SystemPromptEvent",
        "MessageEvent",
        "ActionEvent",
        "ObservationEvent",
        "AgentErrorEvent",
        "ConversationStateUpdateEvent",
    ];
    // Before 2025, the fields of actions and observations were at the top level.
    const FLAT: [&str; 8] = [
        "action_risk",
        "is_confirmed",
        "wait_for_response",
        "images_urls",
        "keep_prompt",
        "command_id",
        "thought",
        "exit_code",
    ];
    const ACTIONS: [&str; 9] =
        ["run", "run_ipython", "read", "write", "edit", "browse", "browse_interactive", "delegate", "finish"];
    KINDS.contains(&word(map, "kind"))
        || (is_text(map, "action") && has_any(map, &["args", "source"]))
        || (is_text(map, "observation") && has_any(map, &["extras", "cause", "source"]))
        || ((is_text(map, "action") || is_text(map, "observation")) && has_any(map, &FLAT))
        || (!has_any(map, &["type", "role"]) && ACTIONS.contains(&word(map, "action")))
}

fn lang_chain(map: &Map<String, Value>) -> bool {
    const MESSAGES: [&str; 8] = ["human", "ai", "tool", "system", "function", "chat", "remove", "generic"];
    const TYPES: [&str; 11] = [
        "human",
        "ai",
        "tool",
        "HumanMessage",
        "AIMessage",
        "ToolMessage",
        "SystemMessage",
        "HumanMessageChunk",
        "AIMessageChunk",
        "FunctionMessage",
        "ToolMessageChunk",
    ];
    let held = |key: &str| map.get(key).is_some_and(|inner| inner.get("content").is_some());
    let called = |call: &Value| call.get("args").is_some();
    let node = |node: &Value| node.get("messages").and_then(Value::as_array).is_some();
    (map.contains_key("lc") && map.contains_key("kwargs"))
        || (MESSAGES.contains(&word(map, "type")) && held("data"))
        || (TYPES.contains(&word(map, "type")) && map.contains_key("content"))
        || list(map, "tool_calls").iter().any(called)
        || map.contains_key("invalid_tool_calls")
        || (!map.is_empty() && !has_any(map, &["type", "role"]) && map.values().all(node))
}

/// Whether any part has a type, which parts of Gemini's API have not.
fn typed(parts: &[Value]) -> bool {
    parts.iter().any(|part| part.get("type").is_some())
}

fn ai_sdk(map: &Map<String, Value>) -> bool {
    devtools::is_one(map)
        || ai_sdk_stream::is_one(map)
        || super::ai_sdk::kept(map).is_some_and(ai_sdk)
        || is_text(map, "role")
            && (typed(list(map, "parts"))
                || map.get("toolInvocations").is_some_and(Value::is_array)
                || block_of(
                    map,
                    "content",
                    &["tool-call", "tool-result", "tool-approval-request", "tool-approval-response"],
                ))
}

fn anthropic(map: &Map<String, Value>) -> bool {
    const BLOCKS: [&str; 6] =
        ["tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result"];
    matches!(word(map, "role"), "user" | "assistant")
        && (block_of(map, "content", &BLOCKS) || (word(map, "type") == "message" && map.contains_key("stop_reason")))
}

fn open_ai(map: &Map<String, Value>) -> bool {
    const ITEMS: [&str; 3] = ["function_call", "custom_tool_call", "item_reference"];
    const LINES: [&str; 4] = ["session_meta", "response_item", "event_msg", "turn_context"];
    let kind = word(map, "type");
    let function = |call: &Value| call.get("function").or_else(|| call.get("custom")).is_some();
    (LINES.contains(&kind) && map.contains_key("payload"))
        || codex_exec::is_one(map)
        || openai_chunks::is_one(map)
        || ITEMS.contains(&kind)
        || (kind.starts_with("response.") && has_any(map, &["response", "item", "sequence_number"]))
        || kind.ends_with("_call_output")
        || (kind.ends_with("_call") && is_text(map, "id"))
        || (kind == "reasoning" && has_any(map, &["summary", "encrypted_content"]))
        || (kind == "message" && is_text(map, "role") && map.contains_key("content") && !map.contains_key("text"))
        || list(map, "tool_calls").iter().any(function)
        || (is_text(map, "role") && map.contains_key("function_call"))
        || matches!(word(map, "role"), "developer" | "tool" | "function")
        || matches!(word(map, "object"), "response" | "chat.completion")
}

fn claude_code(map: &Map<String, Value>) -> bool {
    // `progress` and `system` lines occur in several formats, the threading keys in only one.
    const THREADING: [&str; 5] = ["sessionId", "session_id", "parentUuid", "leafUuid", "isSidechain"];
    let kind = word(map, "type");
    (!kind.is_empty() && has_any(map, &THREADING))
        || (matches!(kind, "user" | "assistant") && map.get("message").is_some_and(Value::is_object))
}

/// Many programs write documents with a list of this name; a scenario's contains our events.
fn scenario(map: &Map<String, Value>) -> bool {
    match map.get("events") {
        Some(Value::Array(events)) => events.iter().all(|event| event.as_object().is_some_and(trace)),
        // If it is not a list, the error about it only helps the author of a scenario.
        Some(_) => map.contains_key("id"),
        None => false,
    }
}

fn trace(map: &Map<String, Value>) -> bool {
    is_text(map, "type")
        && !json::trace_event(&json::to_string(map)).is_err_and(|error| error.code == ErrorCode::UnknownEvent)
}
