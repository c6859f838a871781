//! Reads values of the model such that errors name the offending field.
//!
//! serde reports what is wrong but not where. Instead of tracking the path on every read (which would triple the code
//! that reads the model), the place is searched for once an error has occurred: a field whose removal changes the error
//! is the offending one or contains it, unless it is required and read earlier. The search is independent of types, so
//! that it is compiled only once.

use crate::json::tree::Tree;
use crate::model::{Error, ErrorCode};
use crate::text::meant;
use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Fields or items examined per level; an offending one beyond them is not named.
const LOOKED_AT: usize = 256;
/// Bytes of a string that are kept when looking for an error.
const TEXT: usize = 256;

/// Reads a value of the model. An error names the path of the offending field, starting with `prefix`.
pub(super) fn typed<T: DeserializeOwned>(value: Value, code: ErrorCode, prefix: &str) -> Result<T, Error> {
    read::<T>(&value).map_err(|message| blame(value, message, &|value| read::<T>(value).err(), code, prefix))
}

#[inline(never)]
fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(Tree(value)).map_err(|error| error.to_string())
}

/// Turns `message` into an error that names its field. `read` reads the value again and returns what is wrong with it.
#[inline(never)]
pub(super) fn blame(
    mut value: Value,
    message: String,
    read: &dyn Fn(&Value) -> Option<String>,
    code: ErrorCode,
    prefix: &str,
) -> Error {
    shorten(&mut value);
    // With shorter strings the message may be shorter, or theoretically there may be none.
    let message = read(&value).unwrap_or(message);
    let mut path = culprit(&mut value, &message, read);
    let missing = named(&message, "missing field `");
    if let Some((name, _)) = missing {
        path.push(Step::Field(name.to_string()));
    }
    let field = written(prefix, &path);
    let is_value = message.starts_with("unknown variant");
    let (opening, what) = if is_value { ("unknown variant `", "value") } else { ("unknown field `", "field") };
    let error = match missing.or_else(|| named(&message, opening)) {
        Some((_, rest)) if missing.is_some() => Error::new(code, format!("missing field{rest}")),
        Some((name, rest)) => {
            let known = || rest.split('`').skip(1).step_by(2);
            let told = match meant(name, known) {
                Some(meant) => {
                    // Enum values are few enough to list them all.
                    let (all, mark) = if is_value { (rest, ';') } else { ("", ',') };
                    format!("unknown {what}{all}{mark} did you mean `{meant}`?")
                }
                None => format!("unknown {what}{rest}"),
            };
            let error = Error::new(code, told);
            if is_value { error.with(name) } else { error }
        }
        None => Error::new(code, plain(message)),
    };
    if field.is_empty() { error } else { error.at(field) }
}

/// serde's names of expected types, in JSON terms.
const EXPECTED: [(&str, &str); 9] = [
    ("a boolean", "true or false, without quotes"),
    ("a map", "an object"),
    ("a sequence", "a list"),
    ("f64", "a number"),
    ("i32", "a whole number from -2147483648 to 4294967295"),
    ("i64", TIME),
    ("u16", "a whole number from 0 to 65535"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number from 0 to 18446744073709551615"),
];

/// The description of `at`, the only field of type `i64`.
const TIME: &str = "milliseconds since 1970 as a whole number";

/// serde's names of actual types, in JSON terms.
const THERE: [(&str, &str); 4] =
    [(" floating point", " number"), (" integer", " number"), (" map", " an object"), (" sequence", " a list")];

/// Rewrites one of serde's messages in JSON terms.
fn plain(mut message: String) -> String {
    const OPENING: &str = ", expected ";
    let mut is_number = false;
    if let Some((begin, rest)) = message.split_once(':')
        && let Some((word, known)) = THERE.iter().find(|(word, _)| rest.starts_with(word))
    {
        is_number = *known == " number";
        message = format!("{begin}:{known}{}", rest.get(word.len()..).unwrap_or_default());
    }
    let quoted = message.strip_prefix("invalid type: string \"");
    let is_quoted = quoted.is_some_and(|text| text.starts_with(|first: char| first.is_ascii_digit()));
    let Some(at) = message.rfind(OPENING).map(|at| at + OPENING.len()) else { return message };
    let expected = message.get(at..).unwrap_or_default();
    let known = EXPECTED.iter().find(|(word, _)| *word == expected).map(|(_, known)| *known);
    if let Some(known) = known.or_else(|| expected.starts_with("struct ").then_some("an object")) {
        let switch = expected == "struct RuleConfig" && message.contains("boolean");
        message.truncate(at);
        message.push_str(known);
        if switch {
            message.push_str(": `{\"enabled\": false}` switches a rule off");
        }
        if is_number && known == TIME && message.contains('.') {
            message.push_str("; round it, or multiply seconds by 1000");
        } else if is_quoted && known.contains("number") {
            let is_date = known == TIME && message.contains('-');
            message.push_str(if is_date { "; convert it with `Date.parse`" } else { ", without quotes" });
        }
    } else if is_number && expected == "a string" {
        message.push_str(": put it in quotes");
    }
    message
}

/// The name in a message that begins with `opening`, and the rest after it.
fn named<'a>(message: &'a str, opening: &str) -> Option<(&'a str, &'a str)> {
    message.strip_prefix(opening)?.split_once('`')
}

#[derive(Clone, Debug)]
enum Step {
    Field(String),
    Item(usize),
}

fn written(prefix: &str, path: &[Step]) -> String {
    let mut field = prefix.trim_end_matches('.').to_string();
    for step in path {
        match step {
            Step::Field(name) if field.is_empty() => field.push_str(name),
            Step::Field(name) => field = format!("{field}.{name}"),
            Step::Item(index) => field = format!("{field}[{index}]"),
        }
    }
    field
}

/// The path to the innermost field or item that `message` is about.
fn culprit(root: &mut Value, message: &str, read: &dyn Fn(&Value) -> Option<String>) -> Vec<Step> {
    let mut path = Vec::new();
    let unknown = named(message, "unknown field `").map(|(name, _)| name);
    let is_unknown = |step: &Step| matches!(step, Step::Field(name) if Some(name.as_str()) == unknown);
    loop {
        let mut steps: Vec<Step> = match at(root, &path) {
            Some(Value::Object(fields)) => fields.keys().take(LOOKED_AT).cloned().map(Step::Field).collect(),
            Some(Value::Array(items)) => (0..items.len().min(LOOKED_AT)).map(Step::Item).collect(),
            _ => return path,
        };
        if let Some(index) = steps.iter().position(is_unknown) {
            steps.swap(0, index);
        }
        // The last of the required fields that are read before the error occurs.
        let mut latest = None;
        let mut guilty = None;
        for step in steps {
            match without(root, &path, &step, |root| read(root)) {
                None => {}
                Some(Some(other)) if other == message => {}
                // One level down, another field may be the first one missing, which says nothing about this one.
                Some(Some(other)) if message.starts_with("missing") && other.starts_with("missing") => {}
                Some(Some(other)) if is_missing(&step, &other) => {
                    // Of two missing fields, the error names the one that is read first.
                    let is_later = latest.as_ref().is_none_or(|before| {
                        let both = without(root, &path, &step, |root| without(root, &path, before, |root| read(root)));
                        both.flatten().flatten().is_some_and(|other| is_missing(before, &other))
                    });
                    if is_later {
                        latest = Some(step);
                    }
                }
                Some(_) => {
                    guilty = Some(step);
                    break;
                }
            }
        }
        match guilty.or(latest) {
            Some(step) => path.push(step),
            None => return path,
        }
    }
}

/// Whether `message` says that this field is missing.
fn is_missing(step: &Step, message: &str) -> bool {
    let missing = named(message, "missing field `").map(|(name, _)| name);
    matches!(step, Step::Field(name) if Some(name.as_str()) == missing)
}

/// What `look` returns while a field or an item of the node at `path` is removed.
fn without<T>(root: &mut Value, path: &[Step], step: &Step, look: impl FnOnce(&mut Value) -> T) -> Option<T> {
    let taken = take(at(root, path)?, step)?;
    let seen = look(root);
    put_back(at(root, path)?, step, taken);
    Some(seen)
}

fn at<'a>(root: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(root, |node, step| match step {
        Step::Field(name) => node.get_mut(name),
        Step::Item(index) => node.get_mut(index),
    })
}

/// Removes and returns a field or an item.
fn take(node: &mut Value, step: &Step) -> Option<Value> {
    match step {
        Step::Field(name) => node.as_object_mut()?.remove(name),
        Step::Item(index) => node.as_array_mut().filter(|items| *index < items.len()).map(|items| items.remove(*index)),
    }
}

fn put_back(node: &mut Value, step: &Step, taken: Value) {
    match step {
        Step::Field(name) => {
            if let Some(fields) = node.as_object_mut() {
                fields.insert(name.clone(), taken);
            }
        }
        Step::Item(index) => {
            if let Some(items) = node.as_array_mut() {
                items.insert((*index).min(items.len()), taken);
            }
        }
    }
}

/// Truncates long strings, so that the search is cheap however large the input is.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => text.truncate(text.floor_char_boundary(TEXT)),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::json::{config, decision, event, graph};
    use alloc::{format, string::String};

    #[test]
    fn errors_of_a_decision_name_their_field() {
        for (text, field) in [
            (r#"{"decision":"exempt","rule":"cycle","signature":"a","until":"x"}"#, "decision.until"),
            (r#"{"decision":"exempt","rule":5,"signature":"a"}"#, "decision.rule"),
            (r#"{"decision":"exempt","rule":"cycle","signature":"a","zeal":1}"#, "decision.zeal"),
            (r#"{"decision":"exempt","rule":"cycle"}"#, "decision.signature"),
            (r#"{"decision":"perhaps"}"#, "decision.decision"),
            (r#"{"decision":5}"#, "decision.decision"),
            ("{}", "decision.decision"),
            ("[]", "decision"),
        ] {
            assert_eq!(decision(text).unwrap_err().field.as_deref(), Some(field), "{text}");
        }
    }

    #[test]
    fn errors_name_their_field() {
        let long = format!(r#"{{"type":"tool-result","outcome":"ok","output":"{}","tool":[]}}"#, "x".repeat(100_000));
        for (text, field, message) in [
            (r#"{"type":"tool-call"}"#, "tool", "missing field"),
            (
                r#"{"type":"tool-call","tool":5}"#,
                "tool",
                "invalid type: number `5`, expected a string: put it in quotes",
            ),
            (r#"{"type":"tool-call","tool":"t","arg":{}}"#, "arg", "unknown field, did you mean `args`?"),
            (r#"{"type":"tool-call","tool":"t","nonsense":{}}"#, "nonsense", "unknown field, expected one of"),
            (r#"{"type":"tool-call","tool":"t","timestamp":1}"#, "timestamp", "unknown field, did you mean `at`?"),
            (r#"{"type":"tool-call","toolName":"t"}"#, "toolName", "unknown field, did you mean `tool`?"),
            (
                r#"{"type":"tool-call","tool":"t","step":-1}"#,
                "step",
                "invalid value: number `-1`, expected a whole number from 0 to 18446744073709551615",
            ),
            (
                r#"{"type":"tool-call","tool":"t","step":1.5}"#,
                "step",
                "invalid type: number `1.5`, expected a whole number from 0 to 18446744073709551615",
            ),
            (r#"{"type":"tool-call","tool":{}}"#, "tool", "invalid type: an object, expected a string"),
            (
                r#"{"type":"tool-result","outcome":"ok","output":"x","exitCode":1.5}"#,
                "exitCode",
                "invalid type: number `1.5`, expected a whole number from -2147483648 to 4294967295",
            ),
            (
                r#"{"type":"progress","filesCreated":"a.ts"}"#,
                "filesCreated",
                "expected a boolean, a count from 0 to 4294967295 or a list of strings",
            ),
            (r#"{"type":"tool-call","tool":[", expected u64"]}"#, "tool", "invalid type: a list, expected a string"),
            (
                r#"{"type":"tool-call","tool":"t","at":"now"}"#,
                "at",
                "invalid type: string \"now\", expected milliseconds since 1970 as a whole number",
            ),
            (
                r#"{"type":"tool-call","tool":"t","at":"2026-11-27T15:00:00.000Z"}"#,
                "at",
                "invalid type: string \"2026-11-27T15:00:00.000Z\", expected milliseconds since 1970 as a whole number; convert it with `Date.parse`",
            ),
            (
                r#"{"type":"tool-call","tool":"t","at":"1797000000000"}"#,
                "at",
                "invalid type: string \"1797000000000\", expected milliseconds since 1970 as a whole number, without quotes",
            ),
            (
                r#"{"type":"tool-call","tool":"t","at":1797000000.5}"#,
                "at",
                "invalid type: number `1797000000.5`, expected milliseconds since 1970 as a whole number; round it, or multiply seconds by 1000",
            ),
            (r#"{"type":"tool-call","tool":"t","at":1e400}"#, "at", "number out of range at line 1 column"),
            (
                r#"{"type":"tool-call","tool":"t","args":{"at":[-1e400]}}"#,
                "args",
                "number out of range at line 1 column",
            ),
            (r#"{"type":"tool-call","tool":"t","labels":{"a":1}}"#, "labels.a", "invalid type"),
            (r#"{"type":"message","role":"assistant","text":null}"#, "text", "missing field: it is null"),
            (r#"{"type":"collaboration","from":"a","to":null,"request":"r"}"#, "to", "missing field: it is null"),
            (r#"{"type":"tool-call","tool":"t","zeal":1}"#, "zeal", "unknown field"),
            (
                r#"{"type":"tool-result","outcome":"success","output":""}"#,
                "outcome",
                "unknown value, expected one of `ok`, `error`, `denied`, `invalid`, `unknown-tool`, `not-executed`, `timeout`; did you mean `ok`?",
            ),
            (r#"{"type":"tool-call","tool":"t","runId":"a"}"#, "runId", "unknown field, did you mean `run`?"),
            (
                r#"{"type":"message","role":"robot","text":""}"#,
                "role",
                "unknown value, expected one of `assistant`, `user`, `system`",
            ),
            (r#"{"type":"message","role":"user","content":"a"}"#, "content", "unknown field, did you mean `text`?"),
            (
                r#"{"type":"tool-result","outcome":"ok","content":""}"#,
                "content",
                "unknown field, did you mean `output`?",
            ),
            (
                r#"{"type":"tool-result","tool":"t","status":"error"}"#,
                "status",
                "unknown field, did you mean `outcome`?",
            ),
            (r#"{"type":"tool_call"}"#, "type", "unknown event type, did you mean `tool-call`?"),
            (r#"{"type":"tool_use"}"#, "type", "unknown event type, did you mean `tool-call`?"),
            (r#"{"type":"function_call_output"}"#, "type", "unknown event type, did you mean `tool-result`?"),
            (r#"{"type":"assistant"}"#, "type", "unknown event type, did you mean `message`?"),
            (
                r#"{"type":"tool-call","tool":"t","tool_call_id":"a"}"#,
                "tool_call_id",
                "unknown field, did you mean `callId`?",
            ),
            (r#"{"type":"tool-call","tool":"t","params":{}}"#, "params", "unknown field, did you mean `args`?"),
            (r#"{"type":"tool-call","tool":"t","session-id":"a"}"#, "session-id", "unknown field, did you mean `run`?"),
            (
                r#"{"type":"tool-result","tool":"t","isError":true}"#,
                "isError",
                "unknown field, did you mean `outcome`?",
            ),
            (r#"{"type":"tool-result","tool":"t","code":1}"#, "code", "unknown field, did you mean `exitCode`?"),
            (r#"{"type":"message","role":"user","body":"a"}"#, "body", "unknown field, did you mean `text`?"),
            (r#"{"type":"toolCall"}"#, "type", "unknown event type, did you mean `tool-call`?"),
            (r#"{"type":"telephone"}"#, "type", "unknown event type, expected one of tool-call, "),
            (
                r#"{"type":"message","role":"User","text":""}"#,
                "role",
                "unknown value, expected one of `assistant`, `user`, `system`; did you mean `user`?",
            ),
            (
                r#"{"type":"tool-call","tool":"t","at":1e30}"#,
                "at",
                "invalid type: number `1e+30`, expected milliseconds since 1970 as a whole number",
            ),
            (r#"{"type":"progress","tests":{"failing":-1}}"#, "tests.failing", "invalid value: number `-1`"),
            (r#"{"type":"progress","tests":{"failingIds":["a",2]}}"#, "tests.failingIds[1]", "invalid type"),
            (r#"{"type":"progress","checklist":{"done":1}}"#, "checklist.total", "missing field"),
            (r#"{"type":"progress","checklist":{"done":1,"total":2,"x":3}}"#, "checklist.x", "unknown field"),
            (r#"{"type":"progress","checklist":{"done":1,"total":null}}"#, "checklist.total", "invalid type: null"),
            (r#"{"type":"collaboration","from":"a","to":"b","request":5}"#, "request", "invalid type: number `5`"),
            (r#"{"type":"tool-result","outcome":"ok","output":"","state":[]}"#, "state", "invalid type: a list"),
            (r#"{"type":"output","text":"x","at":"y","tokens":-1}"#, "at", "invalid type: string"),
            (r#"{"type":"attempt","status":"done","blockers":"none"}"#, "blockers", "invalid type"),
            (&long, "tool", "invalid type: a list"),
        ] {
            let error = event(text).unwrap_err();
            assert_eq!(error.field.as_deref(), Some(field), "{error}");
            assert!(error.message.starts_with(message) && error.message.len() < 500, "{error}");
        }
    }

    #[test]
    fn errors_in_a_graph_name_their_field() {
        for (edge, field) in [
            (r#"{"from":"a","to":5}"#, "graph.edges[1].to"),
            (r#"{"from":5,"to":"a"}"#, "graph.edges[1].from"),
            (r#"{"from":"a"}"#, "graph.edges[1].to"),
        ] {
            let text = format!(r#"{{"nodes":["a"],"edges":[{{"from":"a","to":"a"}},{edge}]}}"#);
            assert_eq!(graph(&text).unwrap_err().field.as_deref(), Some(field), "{text}");
        }
    }

    #[test]
    fn errors_in_the_configuration_name_their_field() {
        for (text, field) in [
            (r#"{"rules":{"cycle":{"nudge":3},"repeated-call":{"block":"9"}}}"#, "rules.repeated-call.block"),
            (r#"{"tools":{"a.b":{"ignoreArgs":["x",null]}}}"#, "tools.a.b.ignoreArgs[1]"),
            (r#"{"patterns":{"signatures":[{"pattern":"x"}]}}"#, "patterns.signatures[0].signature"),
            (r#"{"budgets":{"maxIterations":1.5}}"#, "budgets.maxIterations"),
        ] {
            assert_eq!(config(text).unwrap_err().field.as_deref(), Some(field), "{text}");
        }
    }

    #[test]
    fn errors_in_the_configuration_say_what_is_expected() {
        for (text, told) in [
            (
                r#"{"preset":"sensitiv"}"#,
                "`preset`: unknown value, expected one of `balanced`, `sensitive`, `conservative`; did you mean `sensitive`? Got `sensitiv`",
            ),
            (
                r#"{"mode":"Shadow"}"#,
                "`mode`: unknown value, expected `enforce` or `shadow`; did you mean `shadow`? Got `Shadow`",
            ),
            (r#"{"mode":"quiet"}"#, "`mode`: unknown value, expected `enforce` or `shadow`, got `quiet`"),
            (
                r#"{"budgets":{"maxIterations":1e30}}"#,
                "`budgets.maxIterations`: invalid type: number `1e+30`, expected a whole number from 0 to 4294967295",
            ),
            (
                r#"{"prices":{"millionTokens":2.5}}"#,
                "`prices.millionTokens`: invalid type: number `2.5`, expected a string: put it in quotes",
            ),
            (
                r#"{"rules":{"repeated-call":{"nudge":"3"}}}"#,
                "`rules.repeated-call.nudge`: invalid type: string \"3\", expected a whole number from 0 to 4294967295, without quotes",
            ),
            (
                r#"{"rules":{"repeated-call":false}}"#,
                "`rules.repeated-call`: invalid type: boolean `false`, expected an object: `{\"enabled\": false}` switches a rule off",
            ),
            (r#"{"patterns":{"volatile":[{}]}}"#, "`patterns.volatile[0]`: invalid type: an object, expected a string"),
            (r#"{"patterns":{"volatile":"x"}}"#, "`patterns.volatile`: invalid type: string \"x\", expected a list"),
        ] {
            assert_eq!(format!("{}", config(text).unwrap_err()), format!("invalid-config: {told}"), "{text}");
        }
    }

    #[test]
    fn a_crowd_of_fields_is_bounded() {
        let crowd: String = (0..5000).map(|n| format!(r#""tool{n:04}":{{}},"#)).collect();
        let error = config(&format!(r#"{{"tools":{{{crowd}"zzz":{{"polling":1}}}}}}"#)).unwrap_err();
        assert_eq!(error.field.as_deref(), Some("tools"));
    }
}
