//! OpenHands event logs: actions and observations that name their `cause` (its server), and events with a `kind` (its
//! software-agent SDK). Bookkeeping events are skipped.

use super::FormatReader;
use super::content::{self, arguments, at, code, content_text, failed, is_true, output_text, string, text, text_at};
use super::out::{Lists, Out, Part};
use super::pieces::Piece;
use super::usage::{Usage, micros};
use crate::model::{Context, HostKind, Outcome, Role, ToolResult};
use alloc::{
    borrow::{Cow, ToOwned},
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use serde_json::{Map, Value};

/// Fields of an action's arguments that do not affect what the tool does.
const NO_ARGUMENTS: [&str; 12] = [
    "thought",
    "thoughts",
    "hidden",
    "blocking",
    "confirmation_state",
    "is_confirmed",
    "security_risk",
    "action_risk",
    "keep_prompt",
    "kernel_init_code",
    "translated_ipython_code",
    "browsergym_send_msg_to_user",
];

/// Fields of an event itself: in 2024 an action's own fields were on the same level.
const EVENT: [&str; 11] = [
    "action",
    "id",
    "timestamp",
    "source",
    "message",
    "cause",
    "timeout",
    "tool_call_metadata",
    "llm_metrics",
    "images_urls",
    "wait_for_response",
];

/// The exit code of a command that has not ended.
const NOT_ENDED: i32 = -1;

/// Actions that are bookkeeping.
const NO_ACTIONS: [&str; 9] =
    ["recall", "change_agent_state", "null", "condensation_request", "pause", "resume", "stop", "send_pr", "push"];

#[derive(Default)]
pub(super) struct Reader {
    /// Call ids by action id.
    calls: BTreeMap<String, String>,
    /// Tool of the previous call, in logs whose events have no ids.
    unnamed: Option<String>,
    /// Agents that a task was delegated to, innermost last.
    delegates: Vec<String>,
    /// Usage of each answer by its id, if the log lists it separately from its events.
    answers: BTreeMap<String, Usage>,
    /// Answers whose usage was reported, as each of their calls repeats it.
    answered: BTreeSet<String>,
    /// Usage of all answers together, if nothing has it for each; and what has been reported (`told`).
    in_all: Usage,
    told: Usage,
    /// Whether events carry cumulative usage.
    counted: bool,
}

impl FormatReader for Reader {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        out.walk(document, Lists::First(&["history", "trajectory", "events", "items"]), |out, part| match part {
            Part::Head(map) => *self = Self::of(&map),
            Part::Entry(map) => self.event(out, &map),
        });
        let left = self.in_all.beyond(&mut self.told);
        out.spent_in_all(out.run.clone(), left);
    }
}

impl Reader {
    fn of(head: &Map<String, Value>) -> Self {
        let metrics = head.get("metrics");
        let listed = metrics.and_then(|metrics| metrics.get("token_usages")).and_then(Value::as_array);
        let mut answers: BTreeMap<String, Usage> = BTreeMap::new();
        for answer in listed.into_iter().flatten() {
            if let Some(id) = content::id(answer.get("response_id")) {
                answers.entry(id).or_default().add(Usage::of(Some(answer)));
            }
        }
        Self { answers, in_all: accumulated(metrics), ..Self::default() }
    }

    /// Records the usage in an event: cumulative for the run, or of the answer that it is a part of.
    fn spends(&mut self, out: &mut Out, context: &Context, map: &Map<String, Value>) {
        let so_far = accumulated(map.get("llm_metrics"));
        if !so_far.is_nothing() {
            self.counted = true;
            return out.spends(context, so_far.beyond(&mut self.told));
        }
        let response = map.get("tool_call_metadata").and_then(|metadata| metadata.get("model_response"));
        let id = response.and_then(|response| content::id(response.get("id")));
        let id = id.or_else(|| string(map, "llm_response_id"));
        let Some(id) = id.filter(|id| !self.counted && self.answered.insert(id.clone())) else { return };
        let own = Usage::of(response.and_then(|response| response.get("usage")));
        let usage = self.answers.remove(&id).unwrap_or(own);
        self.told.add(usage);
        out.spends(context, usage);
    }

    fn event(&mut self, out: &mut Out, map: &Map<String, Value>) {
        let mut context = out.context();
        context.at = out.time("timestamp", map.get("timestamp"));
        context.agent = self.delegates.last().cloned();
        self.spends(out, &context, map);
        if let Some(Value::String(kind)) = map.get("kind") {
            if kind == "ConversationStateUpdateEvent" {
                let so_far = of_all_models(map);
                return out.spent(&context, so_far.beyond(&mut self.told));
            }
            return sdk_event(out, context, kind, map);
        }
        match (map.get("action"), map.get("observation")) {
            (Some(Value::String(action)), _) => self.action(out, context, action, map),
            (_, Some(Value::String(observation))) => self.observation(out, context, observation, map),
            (None, None) => out.fail("action", "an action or an observation", None),
            (Some(Value::Null) | None, other) => out.fail("observation", "the name of the observation", other),
            (other, _) => out.fail("action", "the name of the action", other),
        }
    }

    fn action(&mut self, out: &mut Out, mut context: Context, action: &str, map: &Map<String, Value>) {
        let args = match map.get("args") {
            Some(Value::Object(args)) => Cow::Borrowed(args),
            Some(_) => Cow::Owned(Map::new()),
            None => {
                let flat = map.iter().filter(|(key, _)| !EVENT.contains(&key.as_str()));
                Cow::Owned(flat.map(|(key, value)| (key.clone(), value.clone())).collect())
            }
        };
        let content = text(&args, "content").or_else(|| text(map, "message")).unwrap_or_default();
        // In logs without a source, a message that waits for no answer was written by the user.
        let by_user = text(map, "source")
            .map_or(map.get("wait_for_response") == Some(&Value::Bool(false)), |source| source == "user");
        match action {
            "message" if by_user => {
                out.end_round();
                return out.message(&context, Role::User, None, content);
            }
            "system" => return out.message(&context, Role::System, None, content),
            "condensation" => return out.host(&context, HostKind::Compaction, None),
            _ if NO_ACTIONS.contains(&action) => return,
            _ => {}
        }
        // The calls of one answer share its id.
        let response = map.get("tool_call_metadata").and_then(|metadata| text_at(metadata, &["model_response", "id"]));
        context.round = response.map(str::to_owned).or_else(|| content::id(map.get("id"))).or_else(|| {
            out.end_round();
            Some(out.round())
        });
        match action {
            "message" => out.message(&context, Role::Assistant, None, content),
            "finish" | "reject" => {
                let last = ["final_thought", "thought"].iter().find_map(|key| written(&args, key));
                out.message(&context, Role::Assistant, None, last.unwrap_or(content));
            }
            _ => self.call(out, &context, action, &args, map),
        }
    }

    fn call(
        &mut self,
        out: &mut Out,
        context: &Context,
        action: &str,
        args: &Map<String, Value>,
        map: &Map<String, Value>,
    ) {
        let thinks = action == "think";
        if let Some(thought) = written(args, "thought").filter(|_| !thinks) {
            out.message(context, Role::Assistant, None, thought);
        }
        let metadata = map.get("tool_call_metadata").unwrap_or(&Value::Null);
        let id = content::id(map.get("id"));
        let call_id = text_at(metadata, &["tool_call_id"]).map(str::to_owned).or_else(|| id.clone());
        let tool = match (action, text(args, "agent")) {
            ("delegate", Some(agent)) => {
                // Bounded, as a log may delegate endlessly.
                if self.delegates.len() < 64 {
                    self.delegates.push(agent.to_owned());
                }
                ["delegate:", agent].concat()
            }
            _ => text_at(metadata, &["function_name"]).unwrap_or(action).to_owned(),
        };
        self.unnamed = id.is_none().then(|| tool.clone());
        if let (Some(id), Some(call_id)) = (id, &call_id) {
            self.calls.insert(id, call_id.clone());
        }
        let mut told = args.clone();
        if !thinks {
            told.retain(|key, value| !NO_ARGUMENTS.contains(&key.as_str()) && !value.is_null());
        }
        out.call(context, tool, Some(&Value::Object(told)), call_id);
    }

    fn observation(&mut self, out: &mut Out, mut context: Context, observation: &str, map: &Map<String, Value>) {
        if matches!(observation, "agent_state_changed" | "null" | "recall") {
            return;
        }
        if observation == "delegate" {
            self.delegates.pop();
            context.agent = self.delegates.last().cloned();
        }
        let output = match map.get("content").or_else(|| map.get("message")) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            other => return out.fail("content", "text", other),
        };
        let extras = map.get("extras").unwrap_or(&Value::Null);
        let named = text_at(map.get("tool_call_metadata").unwrap_or(&Value::Null), &["tool_call_id"]);
        let cause = content::id(map.get("cause"));
        let call_id = named.map(str::to_owned).or_else(|| self.calls.get(&cause.clone()?).cloned());
        let unnamed = self.unnamed.take().filter(|_| call_id.is_none() && cause.is_none());
        if call_id.is_none() && unnamed.is_none() {
            // The host's response to an answer that was not a call.
            if observation == "error" && !output.is_empty() {
                out.not_executed(&context, output);
            }
            return;
        }
        let exit_code = at(extras, &["metadata", "exit_code"]).or_else(|| extras.get("exit_code"));
        let exit_code = code(exit_code.or_else(|| map.get("exit_code")));
        let suffix = text_at(extras, &["metadata", "suffix"]).unwrap_or_default();
        let timed_out =
            exit_code == Some(NOT_ENDED) && (suffix.contains("timed out") || suffix.contains("no new output"));
        let outcome = match observation {
            "error" => failed(&output),
            "user_rejected" => Outcome::Denied,
            _ if timed_out || is_true(extras, "timeout") => Outcome::Timeout,
            _ if is_true(extras, "error") => Outcome::Error,
            // Editors report errors as text.
            _ if output.starts_with("ERROR:") => Outcome::Error,
            _ => Outcome::Ok,
        };
        let exit_code = exit_code.filter(|code| *code != NOT_ENDED);
        out.result(
            &context,
            ToolResult { call_id, tool: unnamed, outcome, output, exit_code, ..ToolResult::default() },
        );
    }
}

/// Cumulative usage.
fn accumulated(metrics: Option<&Value>) -> Usage {
    let cost_micros = micros(metrics.and_then(|metrics| metrics.get("accumulated_cost")));
    let tokens = Usage::of(metrics.and_then(|metrics| metrics.get("accumulated_token_usage"))).tokens;
    Usage { tokens, cost_micros }
}

/// Usage over all models of the SDK, from the state of a conversation.
fn of_all_models(map: &Map<String, Value>) -> Usage {
    let value = map.get("value").unwrap_or(&Value::Null);
    let models = value.get("usage_to_metrics").or_else(|| at(value, &["stats", "usage_to_metrics"]));
    let mut sum = Usage::default();
    for metrics in models.and_then(Value::as_object).into_iter().flat_map(Map::values) {
        sum.add(accumulated(Some(metrics)));
    }
    sum
}

/// Arguments without what the SDK asks of the model with every call: a risk assessment and a summary. A tool whose only
/// argument is `summary` keeps it.
fn without_summary(args: Option<Value>) -> Value {
    let (parsed, raw) = arguments(args.as_ref());
    match parsed {
        Some(Value::Object(mut map)) => {
            map.remove("security_risk");
            if map.len() > 1 {
                map.remove("summary");
            }
            Value::Object(map)
        }
        Some(other) => other,
        None => raw.map_or(Value::Null, Value::String),
    }
}

/// The text under a key, if it is not empty.
fn written<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    text(map, key).filter(|text| !text.is_empty())
}

/// An event of the SDK.
fn sdk_event(out: &mut Out, mut context: Context, kind: &str, map: &Map<String, Value>) {
    let call_id = content::id(map.get("tool_call_id"));
    let tool = string(map, "tool_name");
    let of_answer = || string(map, "llm_response_id").or_else(|| string(map, "id"));
    match kind {
        "SystemPromptEvent" => {
            let prompt = map.get("system_prompt").map(|prompt| prompt.get("text").unwrap_or(prompt));
            out.said(&context, Role::System, "system_prompt", prompt);
        }
        "MessageEvent" => {
            let message = map.get("llm_message").unwrap_or(&Value::Null);
            let role = if text(map, "source").or_else(|| text_at(message, &["role"])) == Some("user") {
                out.end_round();
                Role::User
            } else {
                context.round = of_answer();
                Role::Assistant
            };
            out.said(&context, role, "llm_message.content", message.get("content"));
        }
        "ActionEvent" => {
            context.round = of_answer();
            out.reasoning(&context, text(map, "reasoning_content"));
            out.said(&context, Role::Assistant, "thought", map.get("thought"));
            let Some(tool) = tool else {
                return out.fail("tool_name", "the name of the tool", map.get("tool_name"));
            };
            out.call(&context, tool, Some(&sdk_arguments(map)), call_id.or_else(|| content::id(map.get("id"))));
        }
        "ObservationEvent" => {
            let call_id = call_id.or_else(|| content::id(map.get("action_id")));
            let observed = sdk_observation(map.get("observation").unwrap_or(&Value::Null));
            out.result(&context, ToolResult { call_id, tool, ..observed });
        }
        "AgentErrorEvent" => {
            let output = string(map, "error").unwrap_or_default();
            if call_id.is_some() {
                let outcome = failed(&output);
                out.result(&context, ToolResult { call_id, tool, outcome, output, ..ToolResult::default() });
            } else if !output.is_empty() {
                out.not_executed(&context, output);
            }
        }
        "UserRejectObservation" => {
            let output = string(map, "rejection_reason").unwrap_or_default();
            let (outcome, call_id) = (Outcome::Denied, call_id.or_else(|| content::id(map.get("action_id"))));
            out.result(&context, ToolResult { call_id, tool, outcome, output, ..ToolResult::default() });
        }
        "Condensation" => out.host(&context, HostKind::Compaction, None),
        "PauseEvent" | "InterruptEvent" => out.host(&context, HostKind::Intervention, Some("interrupt")),
        _ => {}
    }
}

/// The arguments of a call as the model wrote them if they can be parsed, otherwise as the SDK understood them.
fn sdk_arguments(map: &Map<String, Value>) -> Value {
    let call = map.get("tool_call").unwrap_or(&Value::Null);
    let written = call.get("arguments").or_else(|| at(call, &["function", "arguments"]));
    without_summary(match (map.get("action"), written) {
        (_, Some(written)) if arguments(Some(written)).0.is_some() => Some(written.clone()),
        (Some(Value::Object(action)), _) => {
            let mut action = action.clone();
            action.remove("kind");
            Some(Value::Object(action))
        }
        (_, written) => written.cloned(),
    })
}

/// The result of a call.
fn sdk_observation(observation: &Value) -> ToolResult {
    let output = match ["content", "output", "error"].iter().find_map(|key| observation.get(*key)) {
        Some(output @ (Value::Array(_) | Value::String(_))) => content_text(output).unwrap_or_default(),
        _ => output_text(Some(observation)),
    };
    let outcome = if is_true(observation, "timeout") {
        Outcome::Timeout
    } else if is_true(observation, "is_error") || observation.get("error").is_some_and(Value::is_string) {
        failed(&output)
    } else {
        Outcome::Ok
    };
    let exit_code = code(at(observation, &["metadata", "exit_code"]).or_else(|| observation.get("exit_code")));
    ToolResult { outcome, output, exit_code: exit_code.filter(|code| *code != NOT_ENDED), ..ToolResult::default() }
}
