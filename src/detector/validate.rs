//! Validation of events beyond what the model's types enforce.

use crate::model::{Body, Collaboration, Context, Error, ErrorCode, Event, Progress, ToolCall, ToolResult};
use crate::rules::LONGEST_NAME;
use crate::text::{self, LONGEST_EMBEDDING};
use alloc::{format, string::String};
use serde_json::Value;

/// Levels of nesting allowed in arguments and other free-form JSON.
pub(crate) const DEPTH: usize = 120;

/// Whether a name exceeds [`LONGEST_NAME`] characters.
pub(super) fn is_long(name: &str) -> bool {
    name.len() > LONGEST_NAME && name.chars().count() > LONGEST_NAME
}

/// Whether a name is empty or blank.
pub(crate) fn is_blank(name: &str) -> bool {
    name.trim_ascii().is_empty()
}

fn fail(field: &str, message: &str) -> Result<(), Error> {
    Err(Error::new(ErrorCode::InvalidEvent, message).at(field))
}

/// The latest time of an event, in milliseconds since 1970: the end of the year 9999. The earliest is as long before
/// 1970. Today's time in microseconds is later, and would make every pause look a thousand times longer.
const LATEST: u64 = 253_402_300_799_999;

/// Rejects times and steps that the state cannot hold.
#[inline]
pub(super) fn in_range(context: &Context) -> Result<(), Error> {
    if let Some(at) = context.at.filter(|at| at.unsigned_abs() > LATEST) {
        let message = if at > 0 {
            "expected milliseconds since 1970, and a year before 10000: divide microseconds by 1000"
        } else {
            "expected milliseconds since 1970, at least -253402300799999"
        };
        return Err(Error::new(ErrorCode::InvalidEvent, message).at("at").with(at));
    }
    // The state keeps the number plus one.
    if context.step == Some(u64::MAX) {
        return fail("step", "expected a number less than 18446744073709551615");
    }
    Ok(())
}

/// Rejects contradictions, numbers and times out of range, names that are too long and excessive nesting.
pub(super) fn validate(event: &Event) -> Result<(), Error> {
    in_range(&event.context)?;
    let Context { run, agent, task, parent_task, .. } = &event.context;
    let names = [("run", run), ("agent", agent), ("task", task), ("parentTask", parent_task)];
    if names.iter().any(|(_, name)| name.as_ref().is_some_and(|name| name.len() > LONGEST_NAME)) {
        for (field, name) in names {
            short(field, name.as_ref())?;
        }
    }
    match &event.body {
        Body::Transition(transition) => {
            short("from", transition.from.as_ref())?;
            short("to", Some(&transition.to))
        }
        Body::ToolCall(call) => tool_call(call),
        Body::ToolResult(result) => tool_result(result),
        Body::Turn(turn) => shallow("structuredOutput", turn.structured_output.as_ref()),
        Body::Progress(progress) => self::progress(progress),
        Body::Evaluation(evaluation) if evaluation.confidence.is_some_and(|confidence| confidence > 1000) => {
            fail("confidence", "expected 0 to 1000 per mille")
        }
        Body::Collaboration(collaboration) => embedding(collaboration),
        _ => Ok(()),
    }
}

fn short(field: &str, name: Option<&String>) -> Result<(), Error> {
    match name {
        Some(name) if is_long(name) => fail(field, &format!("expected at most {LONGEST_NAME} characters")),
        _ => Ok(()),
    }
}

fn named(tool: &str) -> Result<(), Error> {
    if is_blank(tool) { fail("tool", "expected a name") } else { Ok(()) }
}

fn shallow(field: &str, value: Option<&Value>) -> Result<(), Error> {
    match value {
        Some(value) if !text::depth_within(value, DEPTH) => fail(field, &format!("nested deeper than {DEPTH} levels")),
        _ => Ok(()),
    }
}

fn tool_call(call: &ToolCall) -> Result<(), Error> {
    named(&call.tool)?;
    if call.args.is_some() && call.raw_args.is_some() {
        return fail("rawArgs", "contradicts args: give one of the two");
    }
    shallow("args", call.args.as_ref())
}

/// A call with its arguments parsed, if they came as the text of a JSON object, as model APIs send them.
pub(super) fn parsed(call: &ToolCall) -> Option<ToolCall> {
    let text = match (&call.args, &call.raw_args) {
        (Some(Value::String(text)), None) | (None, Some(text)) => text,
        _ => return None,
    };
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let args = serde_json::from_str(text).ok().filter(|args| text::depth_within(args, DEPTH))?;
    Some(ToolCall { args: Some(args), raw_args: None, ..call.clone() })
}

fn tool_result(result: &ToolResult) -> Result<(), Error> {
    result.tool.as_deref().map_or(Ok(()), named)?;
    shallow("details", result.details.as_ref())
}

fn progress(progress: &Progress) -> Result<(), Error> {
    let coverage = progress.tests.as_ref().and_then(|tests| tests.coverage);
    if coverage.is_some_and(|coverage| !(0.0..=100.0).contains(&coverage)) {
        return fail("tests.coverage", "expected a percentage from 0 to 100");
    }
    if progress.checklist.is_some_and(|checklist| checklist.done > checklist.total) {
        return fail("checklist.done", "more than there are in all");
    }
    Ok(())
}

fn embedding(asking: &Collaboration) -> Result<(), Error> {
    let Some(embedding) = asking.embedding.as_deref() else { return Ok(()) };
    if embedding.iter().any(|number| !number.is_finite()) {
        return fail("embedding", "expected finite numbers");
    }
    if !(1..=LONGEST_EMBEDDING).contains(&embedding.len()) {
        let message = format!("expected 1 to {LONGEST_EMBEDDING} numbers");
        return fail("embedding", &message).map_err(|error| error.with(embedding.len()));
    }
    if embedding.iter().all(|number| *number == 0.0) {
        return fail("embedding", "zeros alone have no direction to compare");
    }
    Ok(())
}
