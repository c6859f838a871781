//! What a harness wraps around a tool's output: content blocks, the streams of a process, an exit code above or below
//! it.
//!
//! The same answer must compare equal whichever harness passes it on. An envelope is opened only if every field of it
//! is known: one field more may be part of the answer.

use super::ends;
use super::lines::trimmed;
use super::scan::holds;
use super::words::same;
use crate::model::{Outcome, ToolResult};
use alloc::{borrow::Cow, format, string::String, vec::Vec};
use serde_json::{Map, Value};

/// Nested envelopes opened, at most.
const DEEPEST: usize = 3;

/// Fields allowed beside content blocks: none adds anything to those.
const OF_BLOCKS: [&str; 5] = ["_meta", "isError", "is_error", "structuredContent", "type"];
/// Fields with the exit code of a process.
const CODES: [&str; 4] = ["exitCode", "exit_code", "return_code", "returncode"];
/// Fields allowed beside the streams of a process: how long it took, and flags that nothing unusual happened.
const BESIDE_STREAMS: [&str; 12] = [
    "duration",
    "durationMs",
    "duration_ms",
    "duration_seconds",
    "elapsed",
    "interrupted",
    "isImage",
    "noOutputExpected",
    "success",
    "timedOut",
    "timed_out",
    "wall_time",
];
/// Labels of the lines above an output that describe the process.
const LABELS: &str = "chunk id|exit code|original token count|total output lines|wall time";
/// Beginnings of a line above or below an output that holds only an exit code.
const EXITED: &str = "Command completed with exit code|Command finished with exit code|Exit code:|\
    Process exited with code|The command completed with exit code|exit code:|exit code|exit status|exit=|exit:|exit|\
    exited with code";
/// The first letters of lines that may stand above an output.
const HEADS: [[u8; 4]; 9] = [*b"chun", *b"comm", *b"exit", *b"obse", *b"orig", *b"proc", *b"the ", *b"tota", *b"wall"];
/// Length limit in bytes of a line above or below an output.
const LINE: usize = 256;
/// Beginnings of a line below an output that tells where the process ran.
const WHERE: [&str; 2] = ["Current working directory:", "Python interpreter:"];

/// The contents of an envelope.
struct Unwrapped<'a> {
    output: Cow<'a, str>,
    code: Option<i32>,
    failed: bool,
}

/// A result without its envelopes; `None` if there are none.
pub(crate) fn opened(result: &ToolResult) -> Option<ToolResult> {
    let mut found = open(&result.output)?;
    for _ in 1..DEEPEST {
        let Some(inner) = open(&found.output) else { break };
        let (code, failed) = (inner.code.or(found.code), inner.failed || found.failed);
        found = Unwrapped { output: Cow::Owned(inner.output.into_owned()), code, failed };
    }
    // What the host reports itself takes precedence.
    let outcome = if found.failed && result.outcome == Outcome::Ok { Outcome::Error } else { result.outcome };
    Some(ToolResult {
        outcome,
        exit_code: result.exit_code.or(found.code),
        ..with_output(result, found.output.into_owned())
    })
}

/// A copy of `result` with another output.
pub(crate) fn with_output(result: &ToolResult, output: String) -> ToolResult {
    ToolResult {
        call_id: result.call_id.clone(),
        tool: result.tool.clone(),
        outcome: result.outcome,
        output,
        digest: result.digest.clone(),
        exit_code: result.exit_code,
        error_class: result.error_class.clone(),
        details: result.details.clone(),
        state: result.state.clone(),
    }
}

fn open(output: &str) -> Option<Unwrapped<'_>> {
    let text = trimmed(output);
    match text.as_bytes() {
        [b'{', .., b'}'] => in_json(text),
        [b'<', ..] => in_tags(text),
        [.., b']'] => in_list(text).or_else(|| above_footer(text)).or_else(|| below_heading(text)),
        [b'"', .., b'"'] => {
            let Value::String(output) = serde_json::from_str(text).ok()? else { return None };
            Some(Unwrapped { output: Cow::Owned(output), code: None, failed: false })
        }
        _ => below_heading(text).or_else(|| fenced(text)),
    }
}

/// Content blocks, or the streams of a process, as JSON.
fn in_json(text: &str) -> Option<Unwrapped<'_>> {
    // Most objects are no envelope, as their first field's name tells.
    let first = text.split('"').nth(1)?;
    let known = |name: &str| {
        matches!(name, "content" | "metadata" | "output" | "stderr" | "stdout")
            || [&OF_BLOCKS[..], &CODES, &BESIDE_STREAMS].iter().any(|list| list.contains(&name))
    };
    if !known(first) {
        return None;
    }
    let Value::Object(fields) = serde_json::from_str(text).ok()? else { return None };
    blocks(&fields).or_else(|| streams(&fields))
}

/// `[{"type": "text", "text": …}]`
fn in_list(text: &str) -> Option<Unwrapped<'static>> {
    // Most lists hold other things, as their first field's name tells.
    let known = |name| matches!(name, "annotations" | "text" | "type");
    if !text.starts_with("[{") || !text.split('"').nth(1).is_some_and(known) {
        return None;
    }
    let Value::Array(blocks) = serde_json::from_str(text).ok()? else { return None };
    Some(Unwrapped { output: Cow::Owned(joined(&blocks)?), code: None, failed: false })
}

/// The text of content blocks, if all of them are plain text blocks.
fn joined(blocks: &[Value]) -> Option<String> {
    let texts = blocks.iter().map(|block| {
        let block = block.as_object().filter(|block| block.get("type").is_some_and(|kind| kind == "text"))?;
        block.get("text")?.as_str()
    });
    let texts = texts.collect::<Option<Vec<&str>>>()?;
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// `{"content": [{"type": "text", "text": …}], "isError": false}`
fn blocks(fields: &Map<String, Value>) -> Option<Unwrapped<'static>> {
    let output = joined(fields.get("content")?.as_array()?)?;
    let mut others = fields.keys().filter(|name| *name != "content");
    if !others.all(|name| OF_BLOCKS.contains(&name.as_str())) {
        return None;
    }
    let failed = ["isError", "is_error"].iter().any(|name| fields.get(*name) == Some(&Value::Bool(true)));
    Some(Unwrapped { output: Cow::Owned(output), code: None, failed })
}

/// `{"stdout": …, "stderr": …, "exit_code": 0}`, `{"output": …, "metadata": {"exit_code": 0}}`
fn streams(fields: &Map<String, Value>) -> Option<Unwrapped<'static>> {
    let mut code = None;
    let mut written: Vec<&str> = Vec::new();
    let within = fields.get("metadata").map(|metadata| metadata.as_object()).unwrap_or_default();
    for (name, value) in fields.iter().chain(within.into_iter().flatten()) {
        match (name.as_str(), value) {
            ("stdout" | "stderr" | "output", Value::String(text)) => written.push(text),
            ("metadata", Value::Object(_)) => {}
            (name, Value::Number(number)) if CODES.contains(&name) => {
                code = Some(i32::try_from(number.as_i64()?).ok()?);
            }
            ("success", Value::Bool(true)) | (_, Value::Bool(false) | Value::Null) => {
                BESIDE_STREAMS.contains(&name.as_str()).then_some(())?;
            }
            (name, Value::Number(_)) if BESIDE_STREAMS.contains(&name) => {}
            _ => return None,
        }
    }
    // A text with nothing beside it is a field like any other.
    if written.is_empty() || fields.len() == 1 {
        return None;
    }
    let parts: Vec<&str> = written.into_iter().filter(|text| !text.trim().is_empty()).collect();
    Some(Unwrapped { output: Cow::Owned(parts.join("\n")), code, failed: false })
}

/// `<returncode>0</returncode><output>…</output>`
fn in_tags(text: &str) -> Option<Unwrapped<'_>> {
    let mut rest = text;
    let mut code = None;
    for tag in ["returncode", "exit_code"] {
        if let Some((number, after)) = element(rest, tag) {
            code = Some(number.trim().parse().ok()?);
            rest = after.trim_start();
        }
    }
    let (output, after) = element(rest, "output")?;
    after.trim().is_empty().then_some(Unwrapped { output: Cow::Borrowed(output.trim()), code, failed: false })
}

/// The contents of the tag that a text begins with, and what follows it.
fn element<'a>(text: &'a str, tag: &str) -> Option<(&'a str, &'a str)> {
    let inside = text.strip_prefix('<')?.strip_prefix(tag)?.strip_prefix('>')?;
    // The last closing tag, since the output may contain the same tag.
    let end = if tag == "output" {
        ends::split_last(inside, "</").map(|(before, _)| before.len())
    } else {
        inside.find("</")
    }?;
    let (inside, closing) = inside.split_at_checked(end)?;
    Some((inside, closing.strip_prefix("</")?.strip_prefix(tag)?.strip_prefix('>')?))
}

/// Bytes within which a fence must begin.
const FENCE: usize = 512;
/// Length limit in bytes of a fence's name.
const FENCE_NAME: usize = 80;

/// The untrusted text inside a tag whose name holds an id, so that the text cannot close it.
fn fenced(text: &str) -> Option<Unwrapped<'_>> {
    let near = ends::head(text, FENCE);
    let start = holds(near.as_bytes(), b'<').then(|| near.find('<'))??;
    let name = near.get(start + 1..)?.split_once('>')?.0;
    let is_id = |part: &str| {
        part.len() >= 8
            && part.bytes().all(|byte| byte.is_ascii_hexdigit())
            && part.bytes().any(|byte| byte.is_ascii_digit())
    };
    if name.len() > FENCE_NAME || !name.split(['-', '_', ' ', '=', '"']).any(is_id) {
        return None;
    }
    let (_, inside) = text.split_once(&format!("<{name}>\n"))?;
    let (inside, _) = inside.split_once(&format!("</{name}>"))?;
    Some(Unwrapped { output: Cow::Borrowed(inside.trim_end()), code: None, failed: false })
}

/// What follows `Exit code: 0`, `Wall time: 0.3 seconds`, `Output:`, or `Observation:`.
fn below_heading(text: &str) -> Option<Unwrapped<'_>> {
    if !HEADS.contains(&text.as_bytes().first_chunk::<4>()?.map(|byte| byte | 32)) {
        return None;
    }
    let head = text.get(..12)?;
    if same(head, "observation:") {
        let output = text.get(12..).unwrap_or_default().trim_start();
        return Some(Unwrapped { output: Cow::Borrowed(output), code: None, failed: false });
    }
    let (mut rest, mut code) = (text, None);
    loop {
        let near = ends::head(rest, LINE);
        let end = near.find('\n').or((near.len() == rest.len()).then_some(rest.len()))?;
        let (line, after) = (near.get(..end)?.trim_end(), rest.get(end + 1..).unwrap_or_default());
        if line == "Output:" {
            // Without another line above it, the heading is the tool's own.
            return (rest.len() < text.len()).then_some(Unwrapped {
                output: Cow::Borrowed(after),
                code,
                failed: false,
            });
        }
        match exited(line) {
            Some(number) => code = Some(number),
            None => {
                let (label, _) = line.split_once(':')?;
                LABELS.split('|').any(|known| same(known, label)).then_some(())?;
            }
        }
        if after.is_empty() {
            return None;
        }
        rest = after;
    }
}

/// What precedes lines such as `[The command completed with exit code 0.]`.
fn above_footer(text: &str) -> Option<Unwrapped<'_>> {
    let (mut rest, mut code) = (text, None);
    while let Some((before, line)) = last_line(rest) {
        let Some(line) = line.trim_start().strip_prefix('[').and_then(|line| line.strip_suffix(']')) else { break };
        match exited(line) {
            Some(number) => code = Some(number),
            None if WHERE.iter().any(|start| line.starts_with(start)) => {}
            None => break,
        }
        rest = before;
    }
    code.map(|code| Unwrapped { output: Cow::Borrowed(rest.trim_end()), code: Some(code), failed: false })
}

fn last_line(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let near = ends::tail(text, LINE);
    let from = text.len() - near.len();
    match near.rfind('\n') {
        Some(end) => text.split_at_checked(from + end),
        None => (from == 0 && !text.is_empty()).then_some(("", text)),
    }
}

/// The exit code, if a line states nothing else.
fn exited(line: &str) -> Option<i32> {
    let rest = EXITED.split('|').find_map(|start| line.strip_prefix(start))?;
    rest.trim().trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use serde_json::json;

    fn open(output: &str) -> Option<(Outcome, Option<i32>, String)> {
        let result = ToolResult { output: output.into(), ..ToolResult::default() };
        opened(&result).map(|opened| (opened.outcome, opened.exit_code, opened.output))
    }

    #[test]
    fn what_harnesses_put_around_an_answer() {
        let said = "berth 7 is free\nberth 9 too";
        let blocks = |failed: bool| json!({"content": [{"type": "text", "text": said}], "isError": failed}).to_string();
        let process = |code: i32| json!({"stdout": said, "stderr": "", "exit_code": code}).to_string();
        for (output, outcome, code) in [
            (blocks(false), Outcome::Ok, None),
            (blocks(true), Outcome::Error, None),
            (json!([{"type": "text", "text": said}]).to_string(), Outcome::Ok, None),
            (json!([{"text": said, "type": "text", "annotations": null}]).to_string(), Outcome::Ok, None),
            (process(0), Outcome::Ok, Some(0)),
            (process(3), Outcome::Ok, Some(3)),
            (json!({"returncode": 1, "stdout": "", "stderr": said}).to_string(), Outcome::Ok, Some(1)),
            (
                json!({"output": said, "metadata": {"exit_code": 0, "duration_seconds": 0.4}}).to_string(),
                Outcome::Ok,
                Some(0),
            ),
            (
                json!({"stdout": said, "stderr": "", "interrupted": false, "isImage": false}).to_string(),
                Outcome::Ok,
                None,
            ),
            (format!("Exit code: 2\nWall time: 0.3 seconds\nOutput:\n{said}"), Outcome::Ok, Some(2)),
            (
                format!("Chunk ID: 7c2f\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\n{said}"),
                Outcome::Ok,
                Some(0),
            ),
            (format!("Observation: {said}"), Outcome::Ok, None),
            (format!("OBSERVATION:\n{said}"), Outcome::Ok, None),
            (format!("<returncode>0</returncode>\n<output>\n{said}\n</output>"), Outcome::Ok, Some(0)),
            (format!("<output>{said}</output>"), Outcome::Ok, None),
            (format!("{said}\n[The command completed with exit code 0.]"), Outcome::Ok, Some(0)),
            (format!("{said}\n[exit 0]"), Outcome::Ok, Some(0)),
            (format!("{said}\n\n[exit status 2]"), Outcome::Ok, Some(2)),
            (
                format!("{said}\n[Current working directory: /srv]\n[Command finished with exit code 1]"),
                Outcome::Ok,
                Some(1),
            ),
            (format!("Observation: {}", process(0)), Outcome::Ok, Some(0)),
        ] {
            assert_eq!(open(&output), Some((outcome, code, said.to_string())), "{output}");
        }
        // A list under a heading.
        assert_eq!(open("Exit code: 0\nOutput:\n[]"), Some((Outcome::Ok, Some(0), "[]".to_string())));
        // A list above a footer.
        let list = r#"[{"text":"a","at":1}]"#;
        let footed = format!("{list}\n[The command completed with exit code 0.]");
        assert_eq!(open(&footed), Some((Outcome::Ok, Some(0), list.to_string())));
        let silent = "<returncode>0</returncode>\n<output>\n</output>";
        assert_eq!(open(silent), Some((Outcome::Ok, Some(0), String::new())));
        assert_eq!(open("[Command finished with exit code 0]"), Some((Outcome::Ok, Some(0), String::new())));
    }

    #[test]
    fn what_the_host_says_stands() {
        let result = ToolResult {
            output: r#"{"content":[{"type":"text","text":"gone"}],"isError":true}"#.into(),
            outcome: Outcome::Timeout,
            exit_code: Some(9),
            state: Some("s".into()),
            ..ToolResult::default()
        };
        assert_eq!(opened(&result), Some(ToolResult { output: "gone".into(), ..result.clone() }));
    }

    #[test]
    fn answers_of_their_own() {
        for output in [
            "",
            "ok",
            "{}",
            "[]",
            "<p>free</p>",
            "<output>free</output> until noon",
            "<returncode>none</returncode><output>free</output>",
            "Output:\nfree",
            "Exit code: 0",
            "Exit code: 0\nfree",
            "Wall time: 3 seconds\nBerth: 7\nOutput:\nfree",
            "free\n[see berth 7]",
            "[1, 2]",
            "free\n[Current working directory: /srv]",
            r#"[{"type":"text"}]"#,
            r#"[{"type":"text","text":"free"},{"type":"image","data":"free"}]"#,
            r#"[{"type":"text","text":"free"}"#,
            r#"[{"berth":7}]"#,
            r#"{"content":"free"}"#,
            r#"{"content":[]}"#,
            r#"{"content":[{"type":"text","text":"free"}],"berth":7}"#,
            r#"{"content":[{"type":"image","data":"free"}]}"#,
            r#"{"output":"free"}"#,
            r#"{"output":"free","berth":7}"#,
            r#"{"stdout":"free","stderr":"","interrupted":true}"#,
            r#"{"stdout":"free","stderr":7}"#,
            r#"{"stdout":"free","stderr":""#,
            r#"{"success":true}"#,
            r#"{"exit_code":0}"#,
        ] {
            assert_eq!(open(output), None, "{output}");
        }
    }
}
