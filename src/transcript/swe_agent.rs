//! Trajectories of SWE-agent (`.traj`) and mini-swe-agent.
//!
//! A trajectory is a list of steps with `action` and `observation`; if there is only a `history` of messages, that is
//! read. mini-swe-agent writes only messages: the action is the single shell block of an assistant message, or a field
//! beside it, and the observation is the next message.

use super::FormatReader;
use super::content::{self, begins, code, content_text, flag, list, number_after, string, text, text_at, told};
use super::openai;
use super::out::{Lists, Out, Part};
use super::pieces::Piece;
use super::swe_command::{self, Command};
use super::usage::{Usage, micros};
use crate::model::{Context, Outcome, Role, ToolResult};
use alloc::{borrow::ToOwned, collections::VecDeque, string::String};
use serde_json::{Map, Value, json};

impl FormatReader for Reader {
    fn document(&mut self, out: &mut Out, document: Piece<'_>) {
        // A bare list of messages is mini-swe-agent's if its answers look like it.
        self.mini |= document.text.contains("<returncode>");
        out.walk(document, Lists::First(&["trajectory", "history", "messages"]), |out, part| match part {
            Part::Head(map) => {
                let format = text(&map, "trajectory_format").unwrap_or_default();
                let info = map.get("info");
                let mini = format.starts_with("mini") || info.is_some_and(|info| info.get("mini_version").is_some());
                let in_all = Usage::of(info.and_then(|info| info.get("model_stats")));
                *self = Self { mini, in_all, ..Self::default() };
            }
            Part::Entry(map) if map.contains_key("observation") && !map.contains_key("role") => self.step(out, &map),
            Part::Entry(map) => self.message(out, &map),
        });
        let left = core::mem::take(&mut self.in_all).beyond(&mut self.told);
        out.spent_in_all(out.run.clone(), left);
    }
}

/// Reads steps, or a list of messages.
#[derive(Default)]
pub(super) struct Reader {
    /// Unanswered calls of the last assistant message, with id and tool.
    calls: VecDeque<(Option<String>, Option<String>)>,
    /// Whether the last message was the assistant's.
    spoke: bool,
    mini: bool,
    /// The file shown in the editor's window.
    open: Option<String>,
    /// The file that the previous command opens, if it succeeds.
    opening: Option<String>,
    /// Usage of the whole run, and what was reported with its messages.
    in_all: Usage,
    told: Usage,
}

impl Reader {
    /// A step: thought, action and observation.
    fn step(&mut self, out: &mut Out, map: &Map<String, Value>) {
        let context = out.context();
        out.end_round();
        let called = out.in_round(&context);
        let acts = text(map, "action").is_none_or(|action| !action.trim().is_empty());
        // The whole response is a message only if nothing was called; otherwise it repeats the call.
        let said = |key| text(map, key).filter(|text| !text.trim().is_empty());
        if let Some(thought) = said("thought").or_else(|| said("response").filter(|_| !acts)) {
            out.message(&called, Role::Assistant, None, thought.trim());
        }
        let observed = match map.get("observation") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            other => return out.fail("observation", "text", other),
        };
        match map.get("action") {
            Some(Value::String(action)) if action.trim().is_empty() => {
                if !observed.is_empty() {
                    out.not_executed(&context, observed);
                }
            }
            Some(Value::String(action)) => {
                let tool = self.command(out, &called, action, None);
                self.answered(out, &context, ToolResult { tool: Some(tool), ..ToolResult::default() }, observed);
            }
            other => out.fail("action", "the text of the action", other),
        }
    }

    /// Writes the call of a command; returns the name of its tool.
    fn command(&mut self, out: &mut Out, context: &Context, action: &str, call_id: Option<String>) -> String {
        let action = action.trim();
        let own = (!self.mini).then(|| swe_command::command(action, self.open.as_deref())).flatten();
        self.opening = None;
        let (tool, args) = match own {
            Some(Command { tool, args }) => {
                if matches!(tool, "open" | "create") {
                    self.opening = string(&args, "path");
                }
                (tool, Value::Object(args))
            }
            None => ("bash", json!({ "command": action })),
        };
        out.call(context, tool.to_owned(), Some(&args), call_id);
        tool.to_owned()
    }

    /// Writes the result of a command.
    fn answered(&mut self, out: &mut Out, context: &Context, result: ToolResult, observed: String) {
        let starts = |with: &[&str]| begins(observed.trim_start(), with);
        let shell = matches!(result.tool.as_deref(), None | Some("bash"));
        let outcome = if starts(&["EXECUTION TIMED OUT", "COMMAND TIMED OUT", "The command '", "The last command"])
            && (observed.contains("TIMED OUT")
                || observed.contains("timed out")
                || observed.contains("cancelled because"))
        {
            Outcome::Timeout
        } else if starts(&["Operation '"]) && observed.contains("is not supported by this environment") {
            Outcome::Denied
        } else if !shell && swe_command::was_refused(&observed) {
            Outcome::Error
        } else {
            told(&Value::String(observed.clone()))
        };
        if let Some(opening) = self.opening.take().filter(|_| outcome == Outcome::Ok) {
            self.open = Some(opening);
        }
        out.result(context, ToolResult { outcome, output: observed, ..result });
    }
}

/// Reading a list of messages.
impl Reader {
    fn message(&mut self, out: &mut Out, map: &Map<String, Value>) {
        // The demonstration is not part of the agent's run.
        if flag(map, "is_demo") || text(map, "message_type") == Some("demonstration") {
            return;
        }
        let mut context = out.context();
        context.agent = text(map, "agent").filter(|agent| *agent != "main" && *agent != "primary").map(str::to_owned);
        context.at = out.time("extra.timestamp", map.get("extra").and_then(|extra| extra.get("timestamp")));
        match map.get("role") {
            Some(Value::String(role)) => match role.as_str() {
                "system" => out.said(&context, Role::System, "content", map.get("content")),
                "assistant" => {
                    self.assistant(out, context, map);
                    self.spoke = true;
                }
                "user" | "tool" => {
                    self.answer(out, &context, map);
                    self.spoke = false;
                }
                _ => {}
            },
            other => out.fail("role", "the role of the message", other),
        }
    }

    fn assistant(&mut self, out: &mut Out, mut context: Context, map: &Map<String, Value>) {
        out.end_round();
        context.round = Some(out.round());
        self.calls.clear();
        let extra = map.get("extra").unwrap_or(&Value::Null);
        let mut usage = Usage::of(extra.get("response").and_then(|response| response.get("usage")));
        usage.cost_micros = usage.cost_micros.or_else(|| micros(extra.get("cost")));
        self.told.add(usage);
        out.spends(&context, usage);
        let content = map.get("content").and_then(content_text).unwrap_or_default();
        let block = self.mini.then(|| shell_block(&content)).flatten();
        // The call is not part of the message.
        let said = match (text(map, "thought"), block) {
            (Some(thought), _) => thought.to_owned(),
            (None, Some(block)) => content.replacen(block.whole, "", 1),
            (None, None) => content.clone(),
        };
        if !said.trim().is_empty() {
            out.message(&context, Role::Assistant, None, said.trim());
        }
        let written = extra.get("actions").and_then(Value::as_array);
        if !list(map, "tool_calls").is_empty() {
            openai::calls(out, &context, map);
            self.calls.extend(list(map, "tool_calls").iter().map(|call| (content::id(call.get("id")), None)));
        } else if let Some(actions) = written {
            for action in actions {
                let (id, action) = (content::id(action.get("tool_call_id")), action.get("command").unwrap_or(action));
                if let Some(action) = action.as_str() {
                    let tool = self.command(out, &context, action, id.clone());
                    self.calls.push_back((id, Some(tool)));
                }
            }
        } else if let Some(action) = text(map, "action").or_else(|| block.map(|block| block.action)) {
            let tool = self.command(out, &context, action, None);
            self.calls.push_back((None, Some(tool)));
        }
    }

    fn answer(&mut self, out: &mut Out, context: &Context, map: &Map<String, Value>) {
        let Some(content) = map.get("content").and_then(content_text) else {
            return out.fail("content", "text or a list of blocks", map.get("content"));
        };
        out.end_round();
        let id = content::id(map.get("tool_call_id"))
            .or_else(|| list(map, "tool_call_ids").first().and_then(|id| content::id(Some(id))));
        let call = match &id {
            Some(id) => self.calls.iter().position(|(other, _)| other.as_ref() == Some(id)),
            None => (!self.calls.is_empty()).then_some(0),
        };
        let observed = text(map, "message_type") == Some("observation") || text(map, "role") == Some("tool");
        match call.and_then(|index| self.calls.remove(index)) {
            Some((call_id, tool)) => {
                let extra = map.get("extra");
                let exit_code = code(extra.and_then(|extra| extra.get("returncode")))
                    .or_else(|| number_after(&content, "<returncode>"));
                let raw = extra.and_then(|extra| text_at(extra, &["raw_output"]));
                let result = ToolResult { call_id, tool, exit_code, ..ToolResult::default() };
                self.answered(out, context, result, raw.map_or(content, str::to_owned));
            }
            // The answer to a message without an action says what was wrong with it.
            None if observed || (self.spoke && self.mini) => out.not_executed(context, content),
            None => out.message(context, Role::User, None, content),
        }
    }
}

/// The call in an assistant's message.
#[derive(Clone, Copy)]
struct Block<'a> {
    /// Including its fences.
    whole: &'a str,
    action: &'a str,
}

/// The shell block of a message; `None` if there are several, which are not run.
fn shell_block(content: &str) -> Option<Block<'_>> {
    const OPENINGS: [&str; 3] = ["```bash\n", "```mswea_bash_command\n", "```sh\n"];
    let mut found = OPENINGS.iter().flat_map(|open| content.match_indices(open));
    let (start, open) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let inside = content.get(start + open.len()..)?;
    let (action, _) = inside.split_once("\n```")?;
    let whole = content.get(start..start + open.len() + action.len() + "\n```".len())?;
    Some(Block { whole, action })
}
