//! Everyday work is left alone, however a harness wraps tool results.
//!
//! Each row is one kind of work, done on one thing after another. A dozen of them are done in each of the wrappings
//! that harnesses put around results, with and without edits in between; words such as `error` and `failed` occur in
//! nearly every healthy wrapping. In all of them, the same call failing in the same wrapping is a loop.

use crate::kit::{detector, record};
use crate::labelled::{labelled_corpus, reached};
use loopwarden::model::{Body, Event, Level, Outcome, ToolResult};
use serde_json::{Value, json};

/// Things that are worked on.
const THINGS: [&str; 16] = [
    "anchor", "beacon", "canvas", "davit", "ensign", "fender", "gangway", "halyard", "icebox", "jackstay", "keel",
    "lantern", "mast", "nozzle", "oar", "pennant",
];

/// Tool, arguments and answer; each time `{w}` is another thing, `{n}` another number, and `{v}` another word about it.
const WORK: [[&str; 3]; 67] = [
    ["read_file", r#"{"path":"src/{w}.rs"}"#, "pub fn {w}() -> u32 {\n    {n}\n}"],
    ["read_file", r#"{"path":"docs/{w}.md","limit":40}"#, "# {w}\nThe {v} of it weighs {n} kilos."],
    ["write_file", r#"{"path":"out/{w}.txt","content":"{v} {n}"}"#, "Wrote out/{w}.txt"],
    ["write_file", r#"{"path":"out/{w}.txt","content":"{v} {n}"}"#, "File written successfully"],
    ["edit_file", r#"{"path":"src/{w}.rs","old":"{v}","new":"{n}"}"#, "1 replacement, no errors"],
    ["bash", r#"{"command":"cargo test {w}"}"#, "running {n} tests\ntest result: ok. {n} passed; 0 failed"],
    ["bash", r#"{"command":"pytest tests/test_{w}.py"}"#, "===== {n} passed, 0 failed in 1.{n}s ====="],
    ["bash", r#"{"command":"npm test -- {w}"}"#, "Tests: 0 failed, {n} passed, {n} total\nSnapshots: 0 total"],
    ["bash", r#"{"command":"eslint src/{w}.ts"}"#, "0 errors, 0 warnings"],
    ["bash", r#"{"command":"tsc --noEmit -p {w}"}"#, "Found 0 errors. Watching for file changes."],
    ["bash", r#"{"command":"grep -c error logs/{w}.log"}"#, "{n}"],
    ["bash", r#"{"command":"git show --stat {w}"}"#, "{w}: fix the error of {v}\n {n} files changed"],
    ["bash", r#"{"command":"wc -l data/{w}.csv"}"#, "{n} data/{w}.csv"],
    ["bash", r#"{"command":"convert {w}.png -resize 50% small/{w}.png"}"#, ""],
    ["bash", r#"{"command":"mkdir -p build/{w}"}"#, ""],
    ["bash", r#"{"command":"curl -s https://harbour.example/{w}"}"#, "<html><title>{w}</title><p>{v} {n}</p></html>"],
    ["run_tests", r#"{"suite":"{w}"}"#, "{n} passed, 0 failed, 0 errors"],
    ["run_tests", r#"{"suite":"{w}"}"#, "OK ({n} tests, 0 failures, 0 errors)"],
    ["lint", r#"{"file":"src/{w}.ts"}"#, "no problems found"],
    ["lint", r#"{"file":"src/{w}.ts"}"#, "errors: none"],
    ["build", r#"{"target":"{w}"}"#, "Build of {w} succeeded: 0 errors, {n} modules"],
    ["compile", r#"{"unit":"{w}"}"#, "done without any error"],
    ["validate", r#"{"record":"{w}"}"#, "{w}: valid, no failed rule"],
    ["validate_address", r#"{"street":"{w} road","number":{n}}"#, "address is valid"],
    ["send_email", r#"{"to":"{w}@pier.example","subject":"Berth {n}"}"#, "Email sent"],
    ["send_message", r#"{"channel":"{w}","text":"The {v} is ready"}"#, "delivered"],
    ["create_issue", r#"{"title":"Check the {w}","body":"{v}"}"#, "Created issue {n}"],
    ["update_record", r#"{"id":{n},"field":"state","value":"{v}"}"#, "updated"],
    ["update_record", r#"{"id":{n},"value":"{v}"}"#, "1 row affected, errors=0"],
    ["delete_file", r#"{"path":"tmp/{w}"}"#, "deleted"],
    ["upload", r#"{"file":"{w}.pdf"}"#, "Upload complete, 0 failed"],
    ["download", r#"{"url":"https://harbour.example/{w}.zip"}"#, "saved {w}.zip ({n} kB)"],
    ["translate", r#"{"text":"the {w}","to":"de"}"#, "das {v}"],
    ["classify", r#"{"text":"{w} and {v}"}"#, "spam"],
    ["sentiment", r#"{"review":"The {w} was {v}"}"#, "positive"],
    ["extract", r#"{"page":{n}}"#, "name: {w}, sum: {n}"],
    ["ocr", r#"{"image":"scan_{n}.png"}"#, "Invoice {n}, {w}, paid"],
    ["get_weather", r#"{"town":"{w}"}"#, "{n} degrees, {v}"],
    ["get_price", r#"{"article":"{w}"}"#, "{n}.00"],
    ["geocode", r#"{"address":"{w} street {n}"}"#, "53.{n}, 9.{n}"],
    ["http_get", r#"{"url":"https://api.harbour.example/{w}"}"#, "{\"name\":\"{w}\",\"weight\":{n}}"],
    ["http_get", r#"{"url":"https://api.harbour.example/{w}"}"#, "{\"items\":[\"{w}\"],\"error\":null}"],
    ["http_post", r#"{"url":"https://api.harbour.example/book","body":"{w}"}"#, "{\"id\":{n},\"errors\":[]}"],
    ["query", r#"{"sql":"SELECT * FROM boats WHERE name = '{w}'"}"#, "{w} | {n}"],
    ["query", r#"{"sql":"UPDATE boats SET length = {n} WHERE name = '{w}'"}"#, "UPDATE 1"],
    ["web_search", r#"{"query":"{w} of old boats"}"#, "{w}: what it is for. The {v} explained in {n} steps."],
    ["search_code", r#"{"pattern":"fn {w}"}"#, "src/{w}.rs:{n}: fn {w}()"],
    ["find_files", r#"{"glob":"**/{w}*"}"#, "src/{w}.rs\nsrc/{w}/mod.rs"],
    ["list_dir", r#"{"path":"src/{w}"}"#, "mod.rs\n{w}.rs\n{v}.rs"],
    ["click", r#"{"element":"row {n}"}"#, "Row {n} opened: {w}, {v}"],
    ["fill", r#"{"field":"{w}","value":"{v}"}"#, "The form is shown. Fields are filled, nothing was sent so far."],
    [
        "select_option",
        r#"{"field":"{w}","value":"{n}"}"#,
        "The form is shown. Fields are filled, nothing was sent so far.",
    ],
    [
        "navigate",
        r#"{"url":"https://harbour.example/{w}"}"#,
        "{w}: {v}, {n} berths. Imprint. Privacy. Error log. Help.",
    ],
    ["python", r#"{"code":"print(total('{w}'))"}"#, "{n}"],
    ["python", r#"{"code":"plot('{w}')\nsave('{w}.png')"}"#, ""],
    ["execute_code", r#"{"code":"check('{w}')"}"#, "All assertions hold, 0 failed"],
    ["memory_store", r#"{"key":"{w}","value":"{v} {n}"}"#, "stored"],
    ["memory_get", r#"{"key":"{w}"}"#, "{v} {n}"],
    ["book_berth", r#"{"boat":"{w}","night":{n}}"#, "booked, reference B{n}"],
    ["transfer_money", r#"{"to":"{w}","sum":{n}}"#, "transferred"],
    ["resize_image", r#"{"image":"{w}.png","width":{n}}"#, "ok"],
    ["tag", r#"{"photo":"{w}.jpg","tag":"{v}"}"#, "ok"],
    ["scan", r#"{"host":"{w}.harbour.example"}"#, "found 0 vulnerabilities"],
    ["check_links", r#"{"page":"{w}.html"}"#, "{n} links checked, no broken links found"],
    ["check_licence", r#"{"package":"{w}"}"#, "MIT"],
    ["render_page", r#"{"page":"{w}"}"#, "rendered in {n} ms"],
    ["scan_page", r#"{"page":{n},"dpi":300}"#, "scanned in {n} ms"],
];

/// A harness's wrappings of a success and of a failure: `{}` is the tool's text, `{n}` another number each time.
const WRAPPINGS: [[&str; 2]; 21] = [
    ["{}", "Error: {}"],
    [
        r#"{"content":[{"type":"text","text":"{}"}],"isError":false}"#,
        r#"{"content":[{"type":"text","text":"{}"}],"isError":true}"#,
    ],
    [r#"{"ok":true,"error":null,"data":"{}"}"#, r#"{"ok":false,"error":"{}","data":null}"#],
    [r#"{"status":"success","errors":[],"result":"{}"}"#, r#"{"status":"failed","errors":["{}"],"result":null}"#],
    [r#"{"stdout":"{}","stderr":"","exit_code":0}"#, r#"{"stdout":"","stderr":"{}","exit_code":1}"#],
    [r#"{"success":true,"message":"{}","error":""}"#, r#"{"success":false,"message":"","error":"{}"}"#],
    ["Exit code: 0\nWall time: 0.{n} seconds\nOutput:\n{}", "Exit code: 1\nWall time: 0.{n} seconds\nOutput:\n{}"],
    ["Observation: {}", "Observation: Error: {}"],
    ["<returncode>0</returncode>\n<output>\n{}\n</output>", "<returncode>1</returncode>\n<output>\n{}\n</output>"],
    ["{}\n[The command completed with exit code 0.]", "{}\n[The command completed with exit code 1.]"],
    ["{}\n(0 failed, no error)", "{}\n(1 failed, see the error)"],
    [
        "<tool_result><status>success</status><error></error><data>{}</data></tool_result>",
        "<tool_result><status>error</status><error>{}</error><data></data></tool_result>",
    ],
    ["status: success\nerror: ~\ndata: {}", "status: failed\nerror: {}\ndata: ~"],
    [
        "Tool executed successfully.\nResult: {}\nIf the result is an error, change your arguments and try again.",
        "Tool execution failed.\nResult: {}\nIf the result is an error, change your arguments and try again.",
    ],
    [
        "{}\n\nTokens: 18234 of 200000 used. Errors so far: 0. Failed calls so far: 0.",
        "{}\n\nTokens: 18234 of 200000 used. Errors so far: 1. Failed calls so far: 1.",
    ],
    [
        "{\"jsonrpc\":\"2.0\",\"id\":{n},\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{}\"}],\"isError\":false}}",
        "{\"jsonrpc\":\"2.0\",\"id\":{n},\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{}\"}],\"isError\":true}}",
    ],
    [
        "{\"request_id\":\"9f1c\",\"took_ms\":{n},\"warnings\":[],\"failed\":0,\"has_error\":false,\"payload\":\"{}\"}",
        "{\"request_id\":\"9f1c\",\"took_ms\":{n},\"warnings\":[],\"failed\":1,\"has_error\":true,\"payload\":\"{}\"}",
    ],
    ["✓ done (exit 0)\n{}", "✗ failed (exit 1)\n{}"],
    [
        "[stdout]\n{}\n[stderr]\nWarning: the error reporter is not configured\n[exit 0]",
        "[stdout]\n\n[stderr]\nWarning: the error reporter is not configured\n{}\n[exit 1]",
    ],
    [
        "STDOUT:\n{}\n\nSTDERR:\n(node:4711) ExperimentalWarning: error hooks are experimental\n(Use `node --trace-warnings ...` to show where the warning was created)",
        "STDOUT:\n\nSTDERR:\n(node:4711) ExperimentalWarning: error hooks are experimental\n{}",
    ],
    [
        "Shell ready, no errors\n----\n{}\n----\nWhen a command has failed, read its output with care.",
        "Shell ready, 1 error\n----\n{}\n----\nWhen a command has failed, read its output with care.",
    ],
];

fn wrapped(wrapping: &str, said: &str, at: usize) -> String {
    let wrapping = wrapping.replace("{n}", &number(at));
    if wrapping.contains("\"{}\"") {
        return wrapping.replace("\"{}\"", &Value::from(said).to_string());
    }
    wrapping.replace("{}", said)
}

/// A template filled in for the given item of work.
fn filled(template: &str, at: usize) -> String {
    let thing = THINGS[at % THINGS.len()];
    let other = THINGS[(at * 7 + 3) % THINGS.len()];
    template.replace("{w}", thing).replace("{v}", other).replace("{n}", &number(at))
}

fn number(at: usize) -> String {
    (at * 37 + 11).to_string()
}

/// The strongest level reached in a dozen laps over some kinds of work, and the rules that fired; there may be a
/// message or a note between the laps.
fn worked(rows: &[[&str; 3]], wrapping: &str, between: Option<&str>) -> (Level, Vec<String>) {
    let mut detector = detector("{}");
    let (mut level, mut rules) = (Level::Continue, Vec::new());
    let mut take = |event: Value| {
        let verdict = record(&mut detector, event);
        level = level.max(verdict.level);
        rules.extend(verdict.findings.iter().map(|finding| finding.rule.to_string()));
    };
    for at in 0..12 {
        for [tool, args, answer] in rows {
            let args: Value = serde_json::from_str(&filled(args, at)).unwrap();
            take(json!({"type": "tool-call", "tool": tool, "args": args}));
            let output = wrapped(wrapping, &filled(answer, at), at);
            take(json!({"type": "tool-result", "tool": tool, "outcome": "ok", "output": output}));
        }
        match between {
            Some("note") => {
                let change = json!({"path": format!("notes/{at}.md"), "content": filled("{w} is done: {v}", at + 5)});
                take(json!({"type": "tool-call", "tool": "write_note", "args": change}));
                let output = wrapped(wrapping, "saved", at);
                take(json!({"type": "tool-result", "tool": "write_note", "outcome": "ok", "output": output}));
            }
            Some(role) => {
                let text = filled("The {w} is done, the {v} comes next.", at);
                take(json!({"type": "message", "role": role, "text": text}));
            }
            None => {}
        }
    }
    rules.sort();
    rules.dedup();
    (level, rules)
}

#[test]
fn work_on_one_thing_after_the_other() {
    let mut told = Vec::new();
    for row in &WORK {
        for [wrapping, _] in &WRAPPINGS {
            for between in [None, Some("note")] {
                let (level, rules) = worked(&[*row], wrapping, between);
                if level > Level::Observe {
                    told.push(format!("{level:?} {rules:?} {between:?}: {row:?} in {wrapping}"));
                }
            }
        }
    }
    assert!(told.is_empty(), "{} of {}:\n{}", told.len(), WORK.len() * WRAPPINGS.len() * 2, told.join("\n"));
}

#[test]
fn laps_of_work_on_one_thing_after_the_other() {
    let (mut told, mut all) = (Vec::new(), 0);
    for first in 0..WORK.len() {
        for turn in 0..6 {
            let rows = [first, first * 5 + turn * 13 + 1, first * 11 + turn * 7 + 2, first * 17 + turn * 29 + 3];
            let rows = rows.map(|row| WORK[row % WORK.len()]);
            let [wrapping, _] = WRAPPINGS[(first + turn) % WRAPPINGS.len()];
            let between = [None, Some("user"), Some("assistant"), Some("note")][(first + turn / 3) % 4];
            let (level, rules) = worked(&rows[..2 + turn % 3], wrapping, between);
            all += 1;
            if level > Level::Observe {
                told.push(format!("{level:?} {rules:?} {between:?}: {:?} in {wrapping}", &rows[..2 + turn % 3]));
            }
        }
    }
    assert!(told.is_empty(), "{} of {all}:\n{}", told.len(), told.join("\n"));
}

/// The strongest level that six equal calls reach.
fn repeated(row: &[&str; 3], wrapping: &str, outcome: &str, said: &str) -> Level {
    let mut detector = detector("{}");
    let [tool, args, _] = row;
    let args: Value = serde_json::from_str(&filled(args, 3)).unwrap();
    let mut level = Level::Continue;
    for at in 0..6 {
        level = level.max(record(&mut detector, json!({"type": "tool-call", "tool": tool, "args": args})).level);
        let output = wrapped(wrapping, said, at);
        let result = json!({"type": "tool-result", "tool": tool, "outcome": outcome, "output": output});
        level = level.max(record(&mut detector, result).level);
    }
    level
}

#[test]
fn the_same_answer_and_the_same_failure_in_every_wrapping() {
    for (turn, [healthy, failing]) in WRAPPINGS.iter().enumerate() {
        for row in WORK.iter().skip(turn % 3).step_by(3) {
            let level = repeated(row, failing, "error", "the lock of the ledger is held by another desk");
            assert!(level >= Level::Block, "{level:?}: {row:?} in {failing}");
            let level = repeated(row, healthy, "ok", &filled(row[2], 3));
            assert!(level >= Level::Nudge, "{level:?}: {row:?} in {healthy}");
        }
    }
}

/// An agent's spending as hosts report it in every answer.
const SPENDING: [&str; 6] = [
    "Step {n}/5000\n{}",
    "{}\n\nTokens: {n} of 200000 used. Errors so far: 0.",
    "{}\n(context left: {n} tokens)",
    "{}\n<system_warning>Token usage: {n}/900000</system_warning>",
    "[cost so far: 0.{n} USD]\n{}",
    "Observation: {}\n[Wall time of the run {n} s]",
];

/// A line that differs each time hides no loop once it has been seen with different calls.
#[test]
fn lines_that_are_always_there() {
    for wrapping in SPENDING {
        for (turn, row) in WORK.iter().enumerate() {
            let mut detector = detector("{}");
            let mut take = |tool: &str, args: &str, said: &str, at: usize| {
                let args: Value = serde_json::from_str(&filled(args, 3)).unwrap();
                let call = record(&mut detector, json!({"type": "tool-call", "tool": tool, "args": args})).level;
                let output = wrapped(wrapping, said, at);
                let result = json!({"type": "tool-result", "tool": tool, "outcome": "ok", "output": output});
                call.max(record(&mut detector, result).level)
            };
            for at in 0..5 {
                let [tool, args, answer] = WORK[(turn + 7 * at + 3) % WORK.len()];
                take(tool, args, &format!("{} {}", filled(answer, at), THINGS[at]), at);
            }
            let level = (5..12).map(|at| take(row[0], row[1], &filled(row[2], 3), at)).max();
            assert!(level >= Some(Level::Nudge), "{level:?}: {row:?} in {wrapping}");
        }
    }
}

/// The first or last line may be all that changes, and an agent's spending reads like a job's progress: if seen with
/// only one kind of call, it is not stripped.
#[test]
fn progress_in_the_first_or_the_last_line() {
    let told = [
        "Step {n}/5000\nmodel: resnet, data: photos of the harbour",
        "Iteration {n} of 5000\nmodel: resnet, data: photos of the harbour",
        "Turn {n} of 5000\nplayers: Ida and Ole, board 9 by 9",
        "the crawl of the harbour's pages goes on\ntotal cost {n} of 5000 used",
        "the harbour's pages are taken in\n{n} of 5000 tokens used",
        "the harbour's pages are taken in\n(context left: {n} %)",
    ];
    for status in told {
        for (tool, args) in [
            ("bash", json!({"command": "cat run7/status.txt"})),
            ("get_job_status", json!({"job": "7"})),
            ("read_file", json!({"path": "run7/status.txt"})),
        ] {
            let mut detector = detector("{}");
            for at in 0..12 {
                let call = json!({"type": "tool-call", "tool": tool, "args": args, "at": 30_000 * at});
                let output = wrapped(status, "", at);
                let result = json!({"type": "tool-result", "tool": tool, "outcome": "ok", "output": output});
                for event in [call, result] {
                    let verdict = record(&mut detector, event);
                    assert!(verdict.level <= Level::Observe, "{:?}: {tool}, {status}", verdict.level);
                }
            }
        }
    }
}

/// An envelope around the output of a process with an exit code.
type Envelope = fn(&str, i32) -> String;

/// Envelopes, and whether they contain the exit code.
const ENVELOPES: [(Envelope, bool); 7] = [
    (|said, code| json!({"content": [{"type": "text", "text": said}], "isError": code != 0}).to_string(), false),
    (|said, code| json!({"stdout": said, "stderr": "", "exit_code": code}).to_string(), true),
    (|said, code| json!({"output": said, "metadata": {"exit_code": code, "duration_seconds": 0.4}}).to_string(), true),
    (|said, code| format!("Exit code: {code}\nWall time: 0.{} seconds\nOutput:\n{said}", said.len() % 9), true),
    (|said, _| format!("Observation: {said}"), false),
    (|said, code| format!("<returncode>{code}</returncode>\n<output>\n{said}\n</output>"), true),
    (|said, code| format!("{said}\n[The command completed with exit code {code}.]"), true),
];

/// The events with every result changed.
fn with_results(events: &[(Event, bool)], change: impl Fn(&mut ToolResult)) -> Vec<(Event, bool)> {
    let mut events = events.to_vec();
    for (event, _) in &mut events {
        if let Body::ToolResult(result) = &mut event.body {
            change(result);
        }
    }
    events
}

#[test]
fn every_scenario_of_the_corpus_in_every_envelope() {
    let (mut differ, mut compared) = (Vec::new(), 0);
    for scenario in labelled_corpus() {
        let config = scenario.raw.config.as_deref().unwrap_or_default();
        let code = |result: &ToolResult| result.exit_code.unwrap_or(i32::from(result.outcome == Outcome::Error));
        let plain = [false, true].map(|with_code| {
            let events = with_results(&scenario.events, |result| {
                result.output = result.output.trim().into();
                result.exit_code = with_code.then(|| code(result)).or(result.exit_code);
            });
            (reached(&events, config), events)
        });
        for (number, (envelope, with_code)) in ENVELOPES.iter().enumerate() {
            let (expected, events) = &plain[usize::from(*with_code)];
            let wrapped = with_results(events, |result| result.output = envelope(&result.output, code(result)));
            compared += 1;
            if reached(&wrapped, config) != *expected {
                differ.push(format!("{} in envelope {number}", scenario.raw.id));
            }
        }
    }
    assert!(differ.is_empty(), "{} of {compared} differ:\n{}", differ.len(), differ.join("\n"));
}
