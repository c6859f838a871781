//! The output of `codex exec --json`: threads, turns, and items that start, change and complete.

use super::content::{begins, code, id, output_text, present, string, text};
use super::out::Out;
use super::usage::Usage;
use crate::model::{Context, HostKind, Outcome, Role, ToolResult};
use alloc::{borrow::ToOwned, collections::BTreeSet, format, string::String};
use serde_json::{Map, Value, json};

/// Whether an entry is such a line.
pub(super) fn is_one(map: &Map<String, Value>) -> bool {
    match text(map, "type") {
        Some("thread.started") => map.contains_key("thread_id"),
        Some("turn.completed") => map.contains_key("usage"),
        Some("item.started" | "item.updated" | "item.completed") => map.get("item").is_some_and(Value::is_object),
        _ => false,
    }
}

/// The items that have started.
#[derive(Default)]
pub(super) struct Items {
    begun: bool,
    called: BTreeSet<String>,
    /// Number of the current thread, as each thread restarts its item ids.
    threads: usize,
}

impl Items {
    /// Takes a line. Returns its item if that is one of the Responses API; `None` for other lines.
    pub(super) fn line<'a>(&mut self, out: &mut Out, map: &'a Map<String, Value>) -> Option<&'a Map<String, Value>> {
        let context = out.context();
        match text(map, "type")? {
            "thread.started" => {
                out.run = id(map.get("thread_id"));
                out.end_round();
                self.threads += 1;
                self.called.clear();
            }
            "turn.started" => out.end_round(),
            "turn.completed" => out.spent(&context, Usage::of(map.get("usage"))),
            "turn.failed" => out.host(&context, HostKind::Intervention, Some("turn-failed")),
            kind @ ("item.started" | "item.completed") => {
                let item = map.get("item")?.as_object()?;
                return self.item(out, &context, kind == "item.completed", item);
            }
            _ => {}
        }
        None
    }

    /// Whether this is a line of such output, once any was recognised.
    pub(super) fn takes(&mut self, map: &Map<String, Value>) -> bool {
        self.begun |= is_one(map);
        self.begun && text(map, "type").is_some_and(|kind| begins(kind, &["thread.", "turn.", "item."]))
    }

    fn item<'a>(
        &mut self,
        out: &mut Out,
        context: &Context,
        ended: bool,
        item: &'a Map<String, Value>,
    ) -> Option<&'a Map<String, Value>> {
        let said = text(item, "text");
        let (tool, args) = match text(item, "type")? {
            "agent_message" | "assistant_message" if ended => {
                let context = out.in_round(context);
                out.said(&context, Role::Assistant, "item.text", item.get("text"));
                return None;
            }
            "reasoning" if ended && said.is_some() => {
                let context = out.in_round(context);
                out.reasoning(&context, said);
                return None;
            }
            "command_execution" => ("shell".to_owned(), json!({ "command": item.get("command") })),
            "file_change" => ("apply_patch".to_owned(), json!({ "changes": item.get("changes") })),
            "mcp_tool_call" | "collab_tool_call" => {
                let tool = text(item, "tool").unwrap_or_default();
                let tool = text(item, "server").map_or_else(|| tool.to_owned(), |server| format!("{server}.{tool}"));
                (tool, item.get("arguments").or_else(|| item.get("prompt")).cloned().unwrap_or_default())
            }
            "web_search" => ("web_search".to_owned(), json!({ "query": item.get("query") })),
            "agent_message" | "assistant_message" | "reasoning" | "todo_list" | "error" => return None,
            _ => return ended.then_some(item),
        };
        let call_id = format!("{}:{}", self.threads, id(item.get("id"))?);
        if self.called.insert(call_id.clone()) {
            // The query of a search is known only when it has completed.
            if !ended && tool == "web_search" {
                self.called.remove(&call_id);
                return None;
            }
            let context = out.in_round(context);
            out.call(&context, tool, Some(&args), Some(call_id.clone()));
        }
        if ended {
            out.result(context, result(item, call_id));
            out.end_round();
        }
        None
    }
}

/// The result of an item.
fn result(item: &Map<String, Value>, call_id: String) -> ToolResult {
    let error = present(item, &["error"]).map(text_of);
    let output = string(item, "aggregated_output");
    let output = output.or(error.clone()).unwrap_or_else(|| output_text(present(item, &["result"])));
    let exit_code = code(item.get("exit_code"));
    let outcome = match text(item, "status") {
        Some("declined") => Outcome::Denied,
        _ if error.is_some() => Outcome::Error,
        // Exit codes are judged by the core.
        Some("failed") if exit_code.is_none() => Outcome::Error,
        _ => Outcome::Ok,
    };
    // A search or a file change has no output recorded, so its result must differ from all others.
    let details =
        (output.is_empty() && exit_code.is_none() && outcome == Outcome::Ok).then(|| json!({ "item": call_id }));
    ToolResult { call_id: Some(call_id), outcome, output, exit_code, details, ..ToolResult::default() }
}

fn text_of(error: &Value) -> String {
    error.get("message").and_then(Value::as_str).map_or_else(|| output_text(Some(error)), str::to_owned)
}
