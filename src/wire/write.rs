//! The encoder of `js/src/wire.ts` in Rust, for tests and the fuzzer.

use super::{KINDS, field, tag};
use alloc::{format, vec, vec::Vec};
use serde_json::Value;

pub(crate) const TYPES: [&str; KINDS] = ["tool-call", "tool-result", "delta", "message", "output"];
pub(crate) const OUTCOMES: [&str; 7] = ["ok", "error", "denied", "invalid", "unknown-tool", "not-executed", "timeout"];

fn text(text: &str, out: &mut Vec<u8>) -> Option<()> {
    out.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
    out.extend(text.as_bytes());
    Some(())
}

fn count(length: usize, out: &mut Vec<u8>) -> Option<()> {
    out.extend(u32::try_from(length).ok()?.to_le_bytes());
    Some(())
}

fn free(value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Null => out.push(tag::NULL),
        Value::Bool(flag) => out.push(if *flag { tag::TRUE } else { tag::FALSE }),
        Value::Number(number) => match number.as_i64().filter(|it| it.unsigned_abs() < 1 << 53) {
            Some(number) => {
                out.push(tag::INTEGER);
                out.extend(number.to_le_bytes());
            }
            None => {
                out.push(tag::NUMBER);
                text(&format!("{number}"), out)?;
            }
        },
        Value::String(string) => {
            out.push(tag::TEXT);
            text(string, out)?;
        }
        Value::Array(items) => {
            out.push(tag::LIST);
            count(items.len(), out)?;
            items.iter().try_for_each(|item| free(item, out))?;
        }
        Value::Object(fields) => {
            out.push(tag::OBJECT);
            count(fields.len(), out)?;
            for (key, value) in fields {
                text(key, out)?;
                free(value, out)?;
            }
        }
    }
    Some(())
}

/// Encodes an event; `None` if JavaScript passes it as JSON text.
pub fn message(event: &Value) -> Option<Vec<u8>> {
    let index = |names: &[&str], value: &Value| {
        let name = value.as_str()?;
        u8::try_from(names.iter().position(|it| *it == name)?).ok()
    };
    let mut out = vec![index(&TYPES, event.get("type")?)?];
    for (key, value) in event.as_object()? {
        let id = match key.as_str() {
            "type" => continue,
            "run" => field::RUN,
            "task" => field::TASK,
            "parentTask" => field::PARENT_TASK,
            "agent" => field::AGENT,
            "round" => field::ROUND,
            "at" => field::AT,
            "step" => field::STEP,
            "tokens" => field::TOKENS,
            "costMicros" => field::COST_MICROS,
            "synthetic" => field::SYNTHETIC,
            "tool" => field::TOOL,
            "args" => field::ARGS,
            "rawArgs" => field::RAW_ARGS,
            "callId" => field::CALL_ID,
            "target" => field::TARGET,
            "identity" => field::IDENTITY,
            "readOnly" => field::READ_ONLY,
            "idempotent" => field::IDEMPOTENT,
            "outcome" => field::OUTCOME,
            "output" => field::OUTPUT,
            "digest" => field::DIGEST,
            "exitCode" => field::EXIT_CODE,
            "errorClass" => field::ERROR_CLASS,
            "details" => field::DETAILS,
            "state" => field::STATE,
            "role" => field::ROLE,
            "channel" => field::CHANNEL,
            "text" => field::TEXT,
            _ => return None,
        };
        out.push(id);
        match key.as_str() {
            "at" | "step" | "exitCode" | "tokens" | "costMicros" => out.extend(value.as_i64()?.to_le_bytes()),
            "synthetic" | "readOnly" | "idempotent" => out.push(u8::from(value.as_bool()?)),
            "outcome" => out.push(index(&OUTCOMES, value)?),
            "role" => out.push(index(&["assistant", "user", "system"], value)?),
            "channel" => out.push(index(&["text", "reasoning"], value)?),
            "args" | "details" | "output" => free(value, &mut out)?,
            _ => text(value.as_str()?, &mut out)?,
        }
    }
    Some(out)
}
