//! Claude Code sessions: one JSON object per line, in the order of writing.
//!
//! `user` and `assistant` lines have a `message` whose `content` is a string or a list of blocks; one assistant turn is
//! written as several lines with the same `message.id`. Tool results are blocks of `user` lines, as is much that no
//! human wrote: command wrappers, reminders, hook feedback, compaction summaries, prompts of sub-agents. Other types of
//! lines are bookkeeping. The vendor does not document the format, so unknown types and fields are skipped silently; a
//! known field of the wrong type is an error.

use super::content::{flag, string, text};
use super::out::{Lists, Out, Part};
use super::pieces::Piece;
use super::usage::{Usage, micros};
use super::{FormatReader, anthropic};
use crate::model::{Body, Context, Host, HostKind};
use alloc::{
    borrow::ToOwned,
    collections::{BTreeMap, BTreeSet},
    string::{String, ToString},
};
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_64;

#[derive(Default)]
pub(super) struct Reader {
    /// Digests of the ids of lines read, as continued sessions repeat lines.
    seen: BTreeSet<u64>,
    /// Number of events at the last compaction boundary: it and the summary that follows are one compaction.
    compacted: Option<usize>,
    /// Usage reported so far for an answer, by the digest of its id: each of its lines repeats the figures, and only
    /// the last has the final ones.
    used: BTreeMap<u64, Usage>,
}

impl FormatReader for Reader {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        out.walk(document, Lists::All(&["loglines"]), |out, part| {
            if let Part::Entry(map) = part {
                self.line(out, &map);
            }
        });
    }
}

impl Reader {
    fn line(&mut self, out: &mut Out, map: &Map<String, Value>) {
        if let Some(uuid) = text(map, "uuid")
            && !self.seen.insert(xxh3_64(uuid.as_bytes()))
        {
            return;
        }
        match map.get("type") {
            Some(Value::String(kind)) => match kind.as_str() {
                "user" => self.user(out, map),
                "assistant" => self.assistant(out, map),
                "result" => result(out, map),
                "system" => self.system(out, map),
                "attachment" => attachment(out, map),
                _ => {}
            },
            other => out.fail("type", "the type of the line", other),
        }
    }

    fn user(&mut self, out: &mut Out, map: &Map<String, Value>) {
        if flag(map, "isCompactSummary") {
            if self.compacted.take() != Some(out.count()) {
                host(out, map, HostKind::Compaction, None, None);
            }
            return;
        }
        let context = context(out, map);
        let by_host = flag(map, "isMeta")
            || context.agent.is_some()
            || map
                .get("origin")
                .and_then(|origin| origin.get("kind"))
                .and_then(Value::as_str)
                .is_some_and(|kind| kind != "human");
        if let Some(message) = message(out, map) {
            in_message(out, |out| {
                anthropic::user(out, &context, message.get("content"), by_host, map.get("toolUseResult"));
            });
        }
    }

    fn assistant(&mut self, out: &mut Out, map: &Map<String, Value>) {
        let mut context = context(out, map);
        let Some(message) = message(out, map) else { return };
        context.round = string(message, "id");
        // Texts that the host attributes to the assistant, such as API errors.
        context.synthetic = flag(map, "isApiErrorMessage") || text(message, "model") == Some("<synthetic>");
        let mut usage = Usage::of(message.get("usage"));
        usage.cost_micros = usage.cost_micros.or_else(|| micros(map.get("costUSD")));
        if let Some(id) = &context.round {
            usage = usage.beyond(self.used.entry(xxh3_64(id.as_bytes())).or_default());
        }
        out.spends(&context, usage);
        in_message(out, |out| anthropic::assistant(out, &context, message.get("content")));
    }

    fn system(&mut self, out: &mut Out, map: &Map<String, Value>) {
        match text(map, "subtype") {
            Some("compact_boundary") => {
                let metadata = map.get("compactMetadata").or_else(|| map.get("compact_metadata"));
                let trigger = metadata.and_then(|metadata| metadata.get("trigger")).and_then(Value::as_str);
                host(out, map, HostKind::Compaction, trigger, None);
                self.compacted = Some(out.count());
            }
            Some("api_error") => {
                let attempt = map.get("retryAttempt").and_then(Value::as_u64).map(|attempt| attempt.to_string());
                host(out, map, HostKind::Retry, Some("api-error"), attempt);
            }
            _ => {}
        }
    }
}

/// A queued message delivered in the middle of the agent's turn: a task notification, or what a human wrote meanwhile.
/// All other attachments are reminders.
fn attachment(out: &mut Out, map: &Map<String, Value>) {
    let Some(Value::Object(queued)) = map.get("attachment") else { return };
    let Some(prompt) = queued.get("prompt").filter(|_| text(queued, "type") == Some("queued_command")) else { return };
    let kind = queued.get("origin").and_then(|origin| origin.get("kind")).and_then(Value::as_str);
    let by_host = flag(queued, "isMeta")
        || text(queued, "commandMode").is_some_and(|mode| mode != "prompt")
        || kind.is_some_and(|kind| kind != "human");
    let context = context(out, map);
    let length = out.path.len();
    out.path.push_str("attachment.prompt.");
    anthropic::user(out, &context, Some(prompt), by_host, None);
    out.path.truncate(length);
}

/// The last line of a headless run; only this one has the cost.
fn result(out: &mut Out, map: &Map<String, Value>) {
    let cost_micros = micros(map.get("total_cost_usd").or_else(|| map.get("cost_usd")));
    let run = context(out, map).run;
    out.spent_in_all(run, Usage { tokens: None, cost_micros });
}

fn message<'a>(out: &mut Out, map: &'a Map<String, Value>) -> Option<&'a Map<String, Value>> {
    match map.get("message") {
        Some(Value::Object(message)) => Some(message),
        other => {
            out.fail("message", "an object", other);
            None
        }
    }
}

/// Errors within name fields of the message.
fn in_message(out: &mut Out, read: impl FnOnce(&mut Out)) {
    let length = out.path.len();
    out.path.push_str("message.");
    read(out);
    out.path.truncate(length);
}

fn host(out: &mut Out, map: &Map<String, Value>, kind: HostKind, name: Option<&str>, detail: Option<String>) {
    let context = context(out, map);
    out.push(&context, Body::Host(Host { kind, name: name.map(str::to_owned), detail }));
}

/// Run, agent and time; the lines of a sub-agent share the session's run.
fn context(out: &mut Out, map: &Map<String, Value>) -> Context {
    let agent = match (flag(map, "isSidechain"), text(map, "parent_tool_use_id")) {
        (true, _) => Some(text(map, "agentId").unwrap_or("sidechain")),
        (false, parent) => parent,
    };
    Context {
        at: out.time("timestamp", map.get("timestamp")),
        run: text(map, "sessionId").or_else(|| text(map, "session_id")).map(str::to_owned),
        agent: agent.map(str::to_owned),
        ..Context::default()
    }
}
