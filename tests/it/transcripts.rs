//! Recorded runs in the formats of other programs: what is read from them, the errors for broken ones, and that the
//! loop in each sample of `tests/transcripts` is found.

use loopwarden::model::{Config, Level};
use loopwarden::transcript::{Format, Transcript, read};
use loopwarden::{Detector, json};
use serde_json::Value;
use std::path::Path;

fn sample(name: &str) -> String {
    let path = Path::new("tests/transcripts").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The strongest verdict on a run, and its rule.
fn strongest(transcript: &Transcript) -> (Level, String) {
    let mut detector = Detector::new(Config::default()).unwrap();
    let mut found = (Level::Continue, String::new());
    for event in &transcript.events {
        let verdict = detector.record(&event.event).unwrap();
        if verdict.level > found.0 {
            found = (verdict.level, verdict.findings[0].rule.to_string());
        }
    }
    found
}

/// Summaries of events: type, actor and outcome.
fn short(transcript: &Transcript) -> Vec<String> {
    let show = |event: &loopwarden::model::TraceEvent| {
        let map: Value = serde_json::from_str(&json::to_string(&event.event)).unwrap();
        let text =
            |key: &str| map.get(key).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let keys = [
            "agent",
            "round",
            "role",
            "channel",
            "tool",
            "args",
            "rawArgs",
            "callId",
            "outcome",
            "exitCode",
            "output",
            "text",
            "kind",
            "name",
            "synthetic",
        ];
        let fields: Vec<_> = keys.iter().filter_map(|key| Some(format!("{key}={}", text(key)?))).collect();
        format!("{} {}", text("type").unwrap(), fields.join(" "))
    };
    transcript.events.iter().map(show).collect()
}

/// `line:field` of every error.
fn errors(transcript: &Transcript) -> Vec<String> {
    let show = |found: &loopwarden::transcript::LineError| {
        format!("{}:{}", found.line, found.error.field.as_deref().unwrap_or(found.error.code.name()))
    };
    transcript.errors.iter().map(show).collect()
}

#[track_caller]
fn reads(text: &str, format: Format, events: &[&str], wrong: &[&str]) {
    let transcript = read(text, None);
    assert_eq!(transcript.format, format);
    assert_eq!(short(&transcript), events, "{:?}", transcript.errors);
    assert_eq!(errors(&transcript), wrong);
    assert_eq!(short(&read(text, Some(format))), events, "named instead of recognised");
}

#[test]
fn the_loop_of_every_sample_is_found() {
    let rows = [
        ("debugging-session.jsonl", Format::ClaudeCode, "repeated-error"),
        ("openai-chat.json", Format::OpenAi, "repeated-error"),
        ("openai-responses.jsonl", Format::OpenAi, "repeated-error"),
        ("anthropic-messages.json", Format::Anthropic, "repeated-error"),
        ("ai-sdk-ui.json", Format::AiSdk, "repeated-call"),
        ("langchain-serialised.json", Format::LangChain, "reworded-request"),
        ("langchain-stored.jsonl", Format::LangChain, "repeated-error"),
        ("swe-agent.traj", Format::SweAgent, "repeated-error"),
        ("mini-swe-agent.traj.json", Format::SweAgent, "repeated-error"),
        ("openhands.json", Format::OpenHands, "repeated-call"),
        ("openhands-sdk.jsonl", Format::OpenHands, "repeated-error"),
        ("gemini-cli-session.json", Format::GeminiCli, "repeated-error"),
        ("opentelemetry-otlp.json", Format::OpenTelemetry, "repeated-call"),
        ("opentelemetry-spans.jsonl", Format::OpenTelemetry, "repeated-call"),
    ];
    let mut found = Vec::new();
    for (name, format, _) in rows {
        let text = sample(name);
        let transcript = read(&text, None);
        assert_eq!(transcript.format, format, "{name}");
        assert_eq!(transcript.errors, [], "{name}");
        assert!(transcript.lines.iter().all(|line| (1..=text.lines().count()).contains(&(*line as usize))), "{name}");
        let (level, rule) = strongest(&transcript);
        assert!(level >= Level::Nudge, "{name}: {level:?} {rule}");
        found.push((name, format, rule));
    }
    assert_eq!(found, rows.map(|(name, format, rule)| (name, format, rule.to_owned())));
}

#[test]
fn openai() {
    let text = r#"[
  {"role": "developer", "content": "Be brief."},
  {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
  {"role": "assistant", "content": null, "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{\"path\": \"src\"}"}},
    {"id": "b", "type": "function", "function": {"name": "ls", "arguments": "{\"path\": "}}
  ]},
  {"role": "tool", "tool_call_id": "a", "content": "a.rs"},
  {"role": "tool", "tool_call_id": "b", "content": "{\"error\": \"no path\"}"},
  {"role": "assistant", "content": "x", "tool_calls": [{"id": "c"}},
  {"role": "critic", "content": "?"},
  {"content": "whose?"},
  17,
  {"role": "assistant", "content": 7},
  {"role": "assistant", "content": "Exit code 1", "function_call": {"name": "old", "arguments": ""}},
  {"role": "function", "name": "old", "content": "Error: no"}
]
"#;
    reads(
        text,
        Format::OpenAi,
        &[
            "message role=system text=Be brief.",
            "message role=user text=Look.\n[image_url c4a60ab824c912a1]",
            r#"tool-call round=1 tool=ls args={"path":"src"} callId=a"#,
            r#"tool-call round=1 tool=ls rawArgs={"path":  callId=b"#,
            "tool-result tool=ls callId=a outcome=ok output=a.rs",
            r#"tool-result tool=ls callId=b outcome=error output={"error": "no path"}"#,
            "message round=3 role=assistant text=Exit code 1",
            "tool-call round=3 tool=old callId=#1",
            "tool-result tool=old callId=#1 outcome=error output=Error: no",
        ],
        &["10:invalid-json", "12:[7].role", "13:invalid-event", "14:[9].content"],
    );
}

#[test]
fn calls_of_the_wrong_type_are_errors_of_their_line() {
    let text = r#"{"role":"user","content":"Look."}
{"role":"assistant","tool_calls":{"id":"a","function":{"name":"ls","arguments":"{}"}}}
{"role":"assistant","tool_calls":[{"id":"b","function":{"name":"ls","arguments":"{}"}},{"id":"c","function":{"nam":"ls"}}]}
"#;
    reads(
        text,
        Format::OpenAi,
        &["message role=user text=Look.", "tool-call round=2 tool=ls args={} callId=b"],
        &["2:tool_calls", "3:tool_calls[1].function.name"],
    );
}

#[test]
fn openai_responses() {
    let text = r#"{"type":"message","role":"user","content":"Go."}
{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Think."}],"encrypted_content":"x"}
{"type":"function_call","call_id":"a","name":"ls","arguments":"{}"}
{"type":"function_call","call_id":"b","name":7}
{"type":"function_call
{"type":"local_shell_call","call_id":"s","id":"ls_1","status":"completed","action":{"type":"exec","command":["ls"]}}
{"type":"function_call_output","call_id":"a","output":"Exit code: 2\nOutput:\nls: no"}
{"type":"local_shell_call_output","call_id":"s","output":[{"type":"input_text","text":"a.rs"}]}
{"type":"web_search_call","id":"w","status":"failed","action":{"type":"search","query":"x"}}
{"type":"mcp_call","id":"m","name":"ask","arguments":"{\"q\":1}","error":"down","output":null}
{"type":"something_new","id":"n"}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}
"#;
    reads(
        text,
        Format::OpenAi,
        &[
            "message role=user text=Go.",
            "message round=1 role=assistant channel=reasoning text=Think.",
            "tool-call round=1 tool=ls args={} callId=a",
            r#"tool-call round=1 tool=local_shell args={"command":["ls"],"type":"exec"} callId=s"#,
            "tool-result tool=ls callId=a outcome=ok exitCode=2 output=Exit code: 2\nOutput:\nls: no",
            "tool-result tool=local_shell callId=s outcome=ok output=a.rs",
            r#"tool-call round=2 tool=web_search args={"query":"x","type":"search"} callId=w"#,
            "tool-result tool=web_search callId=w outcome=error output=",
            r#"tool-call round=2 tool=ask args={"q":1} callId=m"#,
            "tool-result tool=ask callId=m outcome=error output=down",
            "message round=2 role=assistant text=Done.",
        ],
        &["4:name", "5:invalid-json"],
    );
}

#[test]
fn requests_repeat_their_conversation() {
    let line = |messages: &[&str]| format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","));
    let messages = [
        r#"{"role":"system","content":"s"}"#,
        r#"{"role":"user","content":"a"}"#,
        r#"{"role":"assistant","content":"b"}"#,
        r#"{"role":"user","content":"c"}"#,
    ];
    let other = [r#"{"role":"system","content":"s"}"#, r#"{"role":"user","content":"z"}"#];
    let text = [line(&messages[..2]), line(&messages), line(&other)].join("\n");
    let transcript = read(&text, None);
    let runs: Vec<_> =
        transcript.events.iter().map(|event| event.event.context.run.as_deref().unwrap_or("-")).collect();
    assert_eq!(runs, ["1", "1", "1", "1", "2", "2"]);
    assert_eq!(transcript.lines, [1, 1, 2, 2, 3, 3]);
}

#[test]
fn anthropic() {
    let text = r#"{"system": "s", "messages": [
  {"role": "user", "content": "Go."},
  {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, {"type": "tool_use", "id": "a", "name": "ls", "input": {}}, {"type": "tool_use", "id": "b", "name": "ls", "input": {"x": 1}}]},
  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}, {"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": "no"}, {"type": "tool_result", "content": "whose?"}]},
  {"role": "assistant", "content": [{"type": "text", "text": [
  },
  {"role": "assistant", "content": [{"type": "hologram"}, {"type": "text", "text": "Done."}, 7]},
  {"role": "user"}
], "max_tokens": 100}
"#;
    reads(
        text,
        Format::Anthropic,
        &[
            "message role=system text=s",
            "message role=user text=Go.",
            "message round=1 role=assistant channel=reasoning text=Hm.",
            "tool-call round=1 tool=ls args={} callId=a",
            r#"tool-call round=1 tool=ls args={"x":1} callId=b"#,
            "tool-result tool=ls callId=a outcome=ok output=",
            "tool-result tool=ls callId=b outcome=error output=no",
            "message round=2 role=assistant text=Done.",
        ],
        &[
            "4:messages[2].content[2].tool_use_id",
            "5:invalid-json",
            "7:messages[4].content[2]",
            "8:messages[5].content",
        ],
    );
}

#[test]
fn ai_sdk() {
    let text = r#"{"id":"1","role":"user","parts":[{"type":"text","text":"Go."},{"type":"data-mood","data":1}]}
{"id":"2","role":"assistant","parts":[{"type":"step-start"},{"type":"reasoning","text":"Hm."},{"type":"tool-ls","toolCallId":"a","state":"output-available","input":{"p":1},"output":{"files":[]}},{"type":"dynamic-tool","toolName":"rm","toolCallId":"b","state":"output-denied","input":{},"approval":{"id":"x","approved":false,"reason":"no"}},{"type":"step-start"},{"type":"tool-ls","toolCallId":"c","state":"output-error","rawInput":"{p","errorText":"Invalid input for tool ls: x"},{"type":"tool-ls","toolCallId":"d","state":"input-streaming","input":{}},{"type":"tool-ls","toolCallId":"e","state":"approval-requested","input":{},"approval":{"id":"y"}},{"type":"text","text":"Done."}]}
{"id":"3","role":"assistant","parts":[{"text":"typeless"},{"type":"dynamic-tool","toolCallId":"f","state":"input-available","input":{}}]}
{"id":"4","parts":[]}
{"role":"assistant","content":[{"type":"tool-call","toolCallId":"g","toolName":"ls","input":{}}]}
{"role":"tool","content":[{"type":"tool-result","toolCallId":"g","toolName":"ls","output":{"type":"error-text","value":"Error: down"}}]}
"#;
    reads(
        text,
        Format::AiSdk,
        &[
            "message role=user text=Go.",
            "message round=1 role=assistant channel=reasoning text=Hm.",
            r#"tool-call round=1 tool=ls args={"p":1} callId=a"#,
            "tool-call round=1 tool=rm args={} callId=b",
            r#"tool-result tool=ls callId=a outcome=ok output={"files":[]}"#,
            "tool-result tool=rm callId=b outcome=denied output=no",
            "tool-call round=2 tool=ls rawArgs={p callId=c",
            "tool-call round=2 tool=ls args={} callId=e",
            "message round=2 role=assistant text=Done.",
            "tool-result tool=ls callId=c outcome=invalid output=Invalid input for tool ls: x",
            "tool-call round=4 tool=ls args={} callId=g",
            "tool-result tool=ls callId=g outcome=error output=Error: down",
        ],
        &["3:parts[0]", "3:parts[1].toolName", "4:role"],
    );
}

#[test]
fn langchain() {
    let text = r#"[
  {"type": "human", "content": "Go."},
  {"type": "ai", "content": [{"type": "text", "text": "I will."}], "tool_calls": [{"name": "ls", "args": {"p": 1}, "id": "a"}], "invalid_tool_calls": [{"name": "rm", "args": "{p", "id": "b", "error": "bad"}]},
  {"type": "tool", "content": "fine", "tool_call_id": "a", "status": "success"},
  {"type": "tool", "content": "Error: Invalid parameters", "tool_call_id": "b", "status": "error"},
  {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"], "kwargs": {"content": "", "additional_kwargs": {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]}}},
  {"type": "remove", "id": "x"},
  {"type": 5, "content": "?"},
  {"writer": {"messages": [{"type": "ai", "content": "Done."}]}},
  {"type": "ai", "content": "cut
]
"#;
    reads(
        text,
        Format::LangChain,
        &[
            "message role=user text=Go.",
            "message round=1 role=assistant text=I will.",
            r#"tool-call round=1 tool=ls args={"p":1} callId=a"#,
            "tool-call round=1 tool=rm rawArgs={p callId=b",
            "tool-result tool=ls callId=a outcome=ok output=fine",
            "tool-result tool=rm callId=b outcome=invalid output=Error: Invalid parameters",
            "tool-call round=2 tool=ls args={} callId=c",
            "message agent=writer round=3 role=assistant text=Done.",
        ],
        &["8:[6].type", "10:invalid-json"],
    );
}

#[test]
fn swe_agent() {
    let text = r#"{"environment": "swe_main", "trajectory": [
  {"action": "open a.py", "observation": "1: x", "thought": "Look.", "response": "Look."},
  {"action": "", "observation": "Your output was not formatted correctly.", "thought": "", "response": "Hm."},
  {"action": "make test\n", "observation": "EXECUTION TIMED OUT", "thought": "", "response": ""},
  {"action": 7, "observation": "x", "thought": ""},
  {"action": "vim", "observation": "Operation 'vim' is not supported by this environment.", "thought": ""}
]}
"#;
    reads(
        text,
        Format::SweAgent,
        &[
            "message round=1 role=assistant text=Look.",
            r#"tool-call round=1 tool=open args={"path":"a.py"} callId=#1"#,
            "tool-result tool=open callId=#1 outcome=ok output=1: x",
            "message round=2 role=assistant text=Hm.",
            "tool-result outcome=not-executed output=Your output was not formatted correctly.",
            r#"tool-call round=3 tool=bash args={"command":"make test"} callId=#2"#,
            "tool-result tool=bash callId=#2 outcome=timeout output=EXECUTION TIMED OUT",
            r#"tool-call round=5 tool=bash args={"command":"vim"} callId=#3"#,
            "tool-result tool=bash callId=#3 outcome=denied output=Operation 'vim' is not supported by this environment.",
        ],
        &["5:trajectory[3].action"],
    );
    let mini = r#"{"trajectory_format":"mini-swe-agent-1","info":{"exit_status":"Submitted"},"messages":[
{"role":"user","content":"Fix it."},
{"role":"assistant","content":"Two.\n```bash\nls\n```\n```bash\npwd\n```"},
{"role":"user","content":"Please give exactly one action."},
{"role":"assistant","content":"","extra":{"actions":[{"command":"ls","tool_call_id":"a"}]}},
{"role":"tool","tool_call_id":"a","content":"shown","extra":{"returncode":1,"raw_output":"no"}},
{"role":"exit","content":"Submitted"},
"#;
    reads(
        mini,
        Format::SweAgent,
        &[
            "message role=user text=Fix it.",
            "message round=1 role=assistant text=Two.\n```bash\nls\n```\n```bash\npwd\n```",
            "tool-result outcome=not-executed output=Please give exactly one action.",
            r#"tool-call round=2 tool=bash args={"command":"ls"} callId=a"#,
            "tool-result tool=bash callId=a outcome=ok exitCode=1 output=no",
        ],
        &["7:invalid-json"],
    );
}

#[test]
fn openhands() {
    let text = r#"{"id":0,"source":"user","action":"message","args":{"content":"Go."},"timestamp":"2026-02-05T08:00:00.5"}
{"id":1,"source":"agent","action":"run","args":{"command":"ls","thought":"Look."}}
{"id":2,"source":"agent","cause":1,"observation":"run","content":"no","extras":{"metadata":{"exit_code":2}}}
{"id":3,"source":"agent","action":"delegate","args":{"agent":"BrowsingAgent","inputs":{"task":"x"}}}
{"id":4,"source":"agent","action":"browse","args":{"url":"u"}}
{"id":5,"source":"agent","cause":4,"observation":"browse","content":"ERROR: 404","extras":{"error":true}}
{"id":6,"source":"agent","cause":3,"observation":"delegate","content":"done","extras":{}}
{"id":7,"source":"agent","action":"run","args":{"command":"top"}}
{"id":8,"source":"agent","cause":7,"observation":"run","content":"","extras":{"metadata":{"exit_code":-1,"suffix":"[The command timed out after 30 seconds.]"}}}
{"id":9,"observation":"error","content":"Missing required argument","extras":{}}
{"id":10,"source":"agent","action":"condensation","args":{}}
{"id":11,"observation":"hologram","content":"x","extras":{}}
{"id":12,"source":"agent","action":"run","args":
{"id":13,"source":"agent"}
{"id":14,"source":"agent","action":3}
{"id":15,"source":"agent","action":"run","args":{"command":"rm"},"timestamp":"soon"}
{"id":16,"source":"user","cause":15,"observation":"user_rejected","content":"no","extras":{}}
"#;
    reads(
        text,
        Format::OpenHands,
        &[
            "message role=user text=Go.",
            "message round=1 role=assistant text=Look.",
            r#"tool-call round=1 tool=run args={"command":"ls"} callId=1"#,
            "tool-result tool=run callId=1 outcome=ok exitCode=2 output=no",
            r#"tool-call round=3 tool=delegate:BrowsingAgent args={"agent":"BrowsingAgent","inputs":{"task":"x"}} callId=3"#,
            r#"tool-call agent=BrowsingAgent round=4 tool=browse args={"url":"u"} callId=4"#,
            "tool-result agent=BrowsingAgent tool=browse callId=4 outcome=error output=ERROR: 404",
            "tool-result tool=delegate:BrowsingAgent callId=3 outcome=ok output=done",
            r#"tool-call round=7 tool=run args={"command":"top"} callId=7"#,
            "tool-result tool=run callId=7 outcome=timeout output=",
            "tool-result outcome=not-executed output=Missing required argument",
            "host kind=compaction",
            r#"tool-call round=15 tool=run args={"command":"rm"} callId=15"#,
            "tool-result tool=run callId=15 outcome=denied output=no",
        ],
        &["13:invalid-json", "14:action", "15:action", "16:timestamp"],
    );
    assert_eq!(read(text, None).events[0].event.context.at, Some(1_770_278_400_500));
}

#[test]
fn gemini_cli() {
    // A recording as lines: a message is repeated when its call has ended.
    let text = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-02-06T09:00:00.000Z","kind":"subagent"}
{"id":"u","timestamp":"2026-02-06T09:00:00.000Z","type":"user","content":[{"text":"Go."}]}
{"id":"g","timestamp":"2026-02-06T09:00:01.000Z","type":"gemini","content":"I will.","toolCalls":[{"id":"a","name":"ls","args":{},"status":"executing"},{"id":"b","name":"rm","args":{},"status":"cancelled","result":[{"functionResponse":{"response":{"error":"User did not allow tool call"}}}]}]}
{"id":"g","timestamp":"2026-02-06T09:00:01.000Z","type":"gemini","content":"I will.","toolCalls":[{"id":"a","name":"ls","args":{},"status":"success","result":[{"functionResponse":{"response":{"output":"Output: x\nExit Code: 2"}}}]},{"id":"b","name":"rm","args":{},"status":"cancelled"}]}
{"$set":{"lastUpdated":"2026-02-06T09:00:02.000Z"}}
{"id":"x","type":"hologram"}
{"id":"y"}
{"id":"z","type":"gemini","content":7}
{"id":"g2","type":"gemini","content":"","toolCalls":[{"id":"c"}]}
{"id":"i","type":"info","content":"Request cancelled."}
{"id":"
"#;
    reads(
        text,
        Format::GeminiCli,
        &[
            "message agent=s role=user text=Go.",
            "message agent=s round=g role=assistant text=I will.",
            "tool-call agent=s round=g tool=ls args={} callId=a",
            "tool-call agent=s round=g tool=rm args={} callId=b",
            "tool-result agent=s tool=rm callId=b outcome=denied output=User did not allow tool call",
            "tool-result agent=s tool=ls callId=a outcome=ok exitCode=2 output=Output: x\nExit Code: 2",
            "host agent=s kind=intervention name=interrupt",
        ],
        &["7:type", "8:content", "9:toolCalls", "11:invalid-json"],
    );
    let checkpoint = r#"[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[{"text":"Hm.","thought":true},{"functionCall":{"name":"ls","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"error":"no"}}}]},{"role":"model"}]"#;
    reads(
        checkpoint,
        Format::GeminiCli,
        &[
            "message role=user text=Go.",
            "message round=1 role=assistant channel=reasoning text=Hm.",
            "tool-call round=1 tool=ls args={} callId=#1",
            "tool-result tool=ls callId=#1 outcome=error output=no",
        ],
        &["1:[3].parts"],
    );
    let prompts =
        r#"[{"sessionId":"s","messageId":0,"type":"user","message":"Go.","timestamp":"2026-02-06T09:00:00.000Z"}]"#;
    reads(prompts, Format::GeminiCli, &["message role=user text=Go."], &[]);
    // Telemetry is a sequence of multi-line documents.
    let record =
        |attributes: &str| format!("{{\n  \"hrTime\": [1, 2],\n  \"attributes\": {{\n    {attributes}\n  }}\n}}\n");
    let telemetry = [
        record(r#""event.name": "gemini_cli.user_prompt", "prompt": "Go.""#),
        record(r#""event.name": "gemini_cli.tool_call", "function_name": "ls", "function_args": "{}", "success": false, "decision": "reject""#),
        record(r#""event.name": "gemini_cli.tool_call", "function_args": "{}""#),
        record(r#""event.name": "gemini_cli.chat_compression""#),
    ]
    .concat();
    reads(
        &telemetry,
        Format::GeminiCli,
        &[
            "message role=user text=Go.",
            "tool-call tool=ls args={} callId=#1",
            "tool-result tool=ls callId=#1 outcome=denied output=",
            "host kind=compaction",
        ],
        &["13:attributes.function_name"],
    );
}

#[test]
fn opentelemetry() {
    let span = |id: &str, start: u32, attributes: &str, more: &str| {
        format!(
            r#"{{"traceId":"t","spanId":"{id}","startTimeUnixNano":"{start}000000000","endTimeUnixNano":"{}500000000","attributes":[{attributes}]{more}}}"#,
            start
        )
    };
    let text =
        |key: &str, value: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":{}}}}}"#, json::to_string(&value));
    let tool = |name: &str, more: &str| {
        [text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", name), more.to_owned()].join(",")
    };
    let call = [text("gen_ai.tool.call.id", "a"), text("gen_ai.tool.call.arguments", r#"{"p":1}"#)].join(",");
    let chat = [
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.input.messages", r#"[{"role":"user","parts":[{"type":"text","content":"Go."}]}]"#),
        text("gen_ai.output.messages", r#"[{"role":"assistant","parts":[{"type":"text","content":"I will."},{"type":"tool_call","id":"a","name":"ls","arguments":{}}],"finish_reason":"tool_call"}]"#),
    ]
    .join(",");
    let spans = [
        span(
            "3",
            3,
            &tool("rm", &text("error.type", "TimeoutError")),
            r#","parentSpanId":"0","status":{"code":2,"message":"too slow"}"#,
        ),
        span("2", 2, &tool("ls", &call), r#","parentSpanId":"0""#),
        span("1", 1, &chat, r#","parentSpanId":"0""#),
        r#"{"traceId":"t","spanId":"#.to_owned(),
        r#"{"traceId":"t","name":"no id"}"#.to_owned(),
        span("4", 4, &text("gen_ai.operation.name", "execute_tool"), ""),
        span(
            "0",
            0,
            &[text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.agent.name", "Scout")].join(","),
            "",
        ),
    ];
    let document = format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[\n{}\n]}}]}}]}}\n", spans.join(",\n"));
    reads(
        &document,
        Format::OpenTelemetry,
        &[
            "message agent=Scout role=user text=Go.",
            "message agent=Scout round=1 role=assistant text=I will.",
            r#"tool-call agent=Scout round=1 tool=ls args={"p":1} callId=a"#,
            "tool-result agent=Scout tool=ls callId=a outcome=ok output=",
            "tool-call agent=Scout round=1 tool=rm callId=3",
            "tool-result agent=Scout tool=rm callId=3 outcome=timeout output=too slow",
        ],
        &["5:invalid-json", "6:spanId", "7:gen_ai.tool.name"],
    );
    assert_eq!(read(&document, None).lines, [4, 4, 3, 3, 2, 2]);
    // Without tool spans, calls are taken from the messages.
    reads(
        &span("1", 1, &chat, ""),
        Format::OpenTelemetry,
        &[
            "message role=user text=Go.",
            "message round=1 role=assistant text=I will.",
            "tool-call round=1 tool=ls args={} callId=a",
        ],
        &[],
    );
}

#[test]
fn calls_recorded_without_arguments_are_no_loop() {
    let span = |n: u32| {
        format!(
            r#"{{"trace_id":"t","span_id":"{n}","name":"execute_tool read","start_time":"2026-02-06T09:00:{n:02}Z","end_time":"2026-02-06T09:00:{n:02}Z","attributes":{{"gen_ai.operation.name":"execute_tool","gen_ai.tool.name":"read"}}}}"#
        )
    };
    let transcript = read(&(10..40).map(span).collect::<Vec<_>>().join("\n"), None);
    assert_eq!(transcript.events.len(), 60);
    assert_eq!(strongest(&transcript), (Level::Continue, String::new()));
}

#[test]
fn a_trace_may_be_a_list_or_a_scenario_in_several_lines() {
    let list =
        "[\n{\"type\":\"output\",\"text\":\"a\"},\n{\"type\":\"output\"},\n{\"type\":\"output\",\"text\":\"b\"}\n]\n";
    let transcript = read(list, None);
    assert_eq!((transcript.format, &transcript.lines[..]), (Format::Trace, [2, 4].as_slice()));
    assert_eq!(errors(&transcript), ["3:text"]);
    let scenario = "{\n  \"id\": \"a\",\n  \"events\": [\n    {\"type\": \"output\", \"text\": \"a\"},\n    {\"type\": \"output\", \"text\": \"b\"}\n  ]\n}\n";
    let transcript = read(scenario, None);
    assert_eq!((transcript.format, &transcript.lines[..]), (Format::Trace, [4, 5].as_slice()));
}
