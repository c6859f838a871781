//! Logs as tools really write them: cases that once made a healthy session look stuck, or hid a loop. All texts here
//! are made up, in the form of real ones.

use crate::kit::verdict;
use loopwarden::json;
use loopwarden::model::{Body, Level, Outcome, ToolCall, ToolResult};
use loopwarden::transcript::{Format, Transcript, read};
use serde_json::{Value, json};

#[track_caller]
fn sound(text: &str, format: Format) -> Transcript {
    let transcript = read(text, None);
    assert_eq!(transcript.format, format);
    assert_eq!(transcript.errors, []);
    transcript
}

#[track_caller]
fn is_quiet(transcript: &Transcript) {
    assert_eq!(verdict(transcript), (Level::Continue, Vec::new()));
}

#[track_caller]
fn is_a_loop(transcript: &Transcript, rule: &str) {
    let (level, rules) = verdict(transcript);
    assert!(level >= Level::Nudge && rules.iter().any(|found| found == rule), "{level:?} {rules:?}");
}

fn calls(transcript: &Transcript) -> Vec<&ToolCall> {
    transcript
        .events
        .iter()
        .filter_map(|event| match &event.event.body {
            Body::ToolCall(call) => Some(call),
            _ => None,
        })
        .collect()
}

fn results(transcript: &Transcript) -> Vec<&ToolResult> {
    transcript
        .events
        .iter()
        .filter_map(|event| match &event.event.body {
            Body::ToolResult(result) => Some(result),
            _ => None,
        })
        .collect()
}

fn outcomes(transcript: &Transcript) -> Vec<Outcome> {
    results(transcript).iter().map(|result| result.outcome).collect()
}

fn lines(values: impl IntoIterator<Item = Value>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}

// Claude Code ---------------------------------------------------------------------------------------------------------

fn claude(kind: &str, n: usize, content: &Value) -> Value {
    json!({
        "type": kind, "uuid": format!("{kind}-{n}"), "sessionId": "s", "isSidechain": false,
        "timestamp": format!("2026-03-01T10:{:02}:{:02}.000Z", n / 60, n % 60),
        "message": { "role": kind, "id": format!("msg_{n}"), "content": content },
    })
}

fn notification(id: &str, status: &str, summary: &str, result: &str) -> String {
    format!(
        "<task-notification>\n<task-id>{id}</task-id>\n<tool-use-id>toolu_{id}</tool-use-id>\n<output-file>/tmp/{id}.out</output-file>\n<status>{status}</status>\n<summary>{summary}</summary>\n<result>{result}</result>\n</task-notification>"
    )
}

#[test]
fn news_of_background_tasks_is_no_order_to_go_on() {
    // A dozen tasks end one after another; the agent waits for the rest, in the same words or in others.
    for wait in [|_| "Waiting.".to_owned(), |n: usize| format!("{} still to come.", ["Three", "Some", "A few"][n % 3])]
    {
        let told = (0..12).flat_map(|n| {
            let news = notification(&format!("b{n}"), "completed", "Background command ended (exit code 0)", "");
            [
                claude("user", 2 * n, &news.into()),
                claude("assistant", 2 * n + 1, &json!([{ "type": "text", "text": wait(n) }])),
            ]
        });
        is_quiet(&sound(&lines(told), Format::ClaudeCode));
    }
    // Delivered to the agent in the middle of a turn.
    let queued = (0..12).flat_map(|n| {
        let attachment = json!({
            "type": "attachment", "uuid": format!("q{n}"), "sessionId": "s",
            "attachment": { "type": "queued_command", "commandMode": "task-notification",
                "prompt": notification(&format!("c{n}"), "completed", &format!("Agent {n} ended"), "All is well.") },
        });
        [attachment, claude("assistant", n, &json!([{ "type": "text", "text": "Waiting." }]))]
    });
    is_quiet(&sound(&lines(queued), Format::ClaudeCode));
    // Other news from the host, each with new content.
    let names = ["the parser", "the printer", "the linter", "the server", "the client", "the docs", "the build"];
    let other = (0..14).flat_map(|n| {
        let text = format!(
            "<teammate-message from=\"{}\">I have read what you sent about {} and begin with part {} now.</teammate-message>",
            ["ada", "grace"][n / 7], names[n % 7], ["one", "two"][n / 7]
        );
        [claude("user", 2 * n, &text.into()), claude("assistant", 2 * n + 1, &"Waiting.".into())]
    });
    is_quiet(&sound(&lines(other), Format::ClaudeCode));
    // An instruction remains an instruction.
    let ordered = (0..12).flat_map(|n| {
        let mut order = claude("user", 2 * n, &"Please go on with the work that is left.".into());
        order["isMeta"] = true.into();
        [order, claude("assistant", 2 * n + 1, &format!("I will do {} next.", ["this", "that"][n % 2]).into())]
    });
    is_a_loop(&sound(&lines(ordered), Format::ClaudeCode), "continuation-loop");
}

#[test]
fn a_notification_is_a_result_of_its_own() {
    let told = [
        notification("a", "completed", "Tests ended", "12 passed"),
        notification("b", "failed", "Tests ended", "2 failed"),
        "<task-notification><task-id>c</task-id>The build says hello</task-notification>".to_owned(),
    ];
    let transcript = sound(
        &lines(told.iter().enumerate().map(|(n, text)| claude("user", n, &text.as_str().into()))),
        Format::ClaudeCode,
    );
    let shown: Vec<_> = results(&transcript).iter().map(|result| (result.outcome, result.output.as_str())).collect();
    assert_eq!(
        shown,
        [
            (Outcome::Ok, "completed\nTests ended\n12 passed"),
            (Outcome::Error, "failed\nTests ended\n2 failed"),
            (Outcome::Ok, "<task-id>c</task-id>The build says hello"),
        ]
    );
    // A human's message about one is a human's message.
    let quoted = claude("user", 0, &"<task-notification>x</task-notification> what does this mean?".into());
    assert!(results(&sound(&lines([quoted]), Format::ClaudeCode)).is_empty());
}

#[test]
fn what_a_human_wrote_meanwhile_is_a_humans() {
    let queued = |mode: &str| {
        json!({ "type": "attachment", "sessionId": "s", "attachment":
            { "type": "queued_command", "commandMode": mode, "prompt": "and the other file too" } })
    };
    let transcript = sound(&lines([queued("prompt"), queued("bash")]), Format::ClaudeCode);
    let synthetic: Vec<_> = transcript.events.iter().map(|event| event.event.context.synthetic).collect();
    assert_eq!(synthetic, [false, true]);
}

#[test]
fn a_result_that_was_written_first_finds_its_call() {
    let call = |id: &str| json!([{ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": id } }]);
    let result = |id: &str| json!([{ "type": "tool_result", "tool_use_id": id, "content": "x" }]);
    let text = lines([
        claude("assistant", 0, &call("a")),
        claude("user", 1, &result("b")),
        claude("user", 2, &result("a")),
        claude("assistant", 3, &call("b")),
    ]);
    let transcript = sound(&text, Format::ClaudeCode);
    assert_eq!(transcript.lines, [1, 3, 4, 2]);
    let pairs: Vec<_> =
        results(&transcript).iter().map(|r| (r.call_id.clone().unwrap(), r.tool.clone().unwrap())).collect();
    assert_eq!(pairs, [("a".into(), "Read".into()), ("b".into(), "Read".into())]);
}

// SWE-agent -----------------------------------------------------------------------------------------------------------

fn trajectory(steps: impl IntoIterator<Item = (String, String)>) -> String {
    let steps: Vec<_> = steps
        .into_iter()
        .map(|(action, observation)| json!({ "action": action, "observation": observation, "thought": "", "response": format!("```\n{action}\n```"), "state": "{}" }))
        .collect();
    json!({ "environment": "swe_main", "trajectory": steps }).to_string()
}

#[test]
fn edits_of_swe_agent_are_changes() {
    let failing =
        || ("python test.py".to_owned(), "Traceback (most recent call last):\nAssertionError: 1 != 2".to_owned());
    let editors: [fn(usize) -> String; 3] = [
        |n| format!("str_replace_editor str_replace /w/a.py --old_str 'x = {n}' --new_str 'x = {}'", n + 1),
        |n| format!("edit {n}:{n}\n    return {}\nend_of_edit", n * 7),
        |n| format!("insert 'print({n})' {n}"),
    ];
    for edit in editors {
        let cycle = (0..6).flat_map(|n| {
            let seen = format!("Traceback (most recent call last):\nAssertionError: {} != 2", n * 3 + 5);
            [(edit(n), format!("The file has been edited. Here is line {n}")), ("python test.py".to_owned(), seen)]
        });
        is_quiet(&sound(&trajectory(cycle), Format::SweAgent));
    }
    let transcript = sound(
        &trajectory([
            ("open src/a.py".into(), "[File: src/a.py (3 lines total)]".into()),
            (editors[1](2), "ok".into()),
        ]),
        Format::SweAgent,
    );
    assert_eq!(
        calls(&transcript)[1].args,
        Some(json!({ "start_line": 2, "end_line": 2, "replacement_text": "    return 14", "path": "src/a.py" }))
    );
    is_a_loop(&sound(&trajectory((0..5).map(|_| failing())), Format::SweAgent), "repeated-call");
}

#[test]
fn failed_edits_of_swe_agent_are_failures() {
    let edit =
        |n: usize| format!("str_replace_editor str_replace /w/a.py --old_str '{}' --new_str 'y'", "x".repeat(n + 1));
    let texts = [
        "No replacement was performed, old_str `x` did not appear verbatim in /w/a.py.",
        "File already exists at: /w/a.py. Cannot overwrite files using command `create`.",
        "The path /w/a.py does not exist. Please provide a valid path.",
        "The parent directory /w does not exist. Please create it first.",
    ];
    let transcript =
        sound(&trajectory(texts.iter().enumerate().map(|(n, text)| (edit(n), (*text).to_owned()))), Format::SweAgent);
    assert_eq!(outcomes(&transcript), [Outcome::Error; 4]);
    // With successful looks in between.
    let looked = (0..6).flat_map(|n| {
        let look = (format!("str_replace_editor view /w/a.py --view_range {n} 9"), format!("{n}: def f():"));
        [(edit(n), texts[0].to_owned()), look]
    });
    is_a_loop(&sound(&trajectory(looked), Format::SweAgent), "repeated-error");
    // A program's own output does not count.
    let printed = sound(&trajectory([("cat notes.txt".into(), texts[2].to_owned())]), Format::SweAgent);
    assert_eq!(outcomes(&printed), [Outcome::Ok]);
}

#[test]
fn call_markup_is_nothing_said() {
    let paging = (0..12).map(|n| {
        (
            "scroll_down".to_owned(),
            format!("[File: /w/a.py (900 lines total)]\n({} more lines above)\nline {}", n * 90, n * 17),
        )
    });
    let transcript = sound(&trajectory(paging), Format::SweAgent);
    assert!(transcript.events.iter().all(|event| !matches!(event.event.body, Body::Message(_))));
    is_quiet(&transcript);
}

#[test]
fn a_bare_list_of_mini_swe_agent_has_calls() {
    let ask = |n: usize| json!({ "role": "assistant", "content": format!("THOUGHT: part {n}\n\n```bash\ncat part{n}.txt\n```") });
    let answer = |n: usize| json!({ "role": "user", "content": format!("<returncode>{}</returncode>\n<output>\nsaid {n}\n</output>", n % 2) });
    let mut messages =
        vec![json!({ "role": "system", "content": "s" }), json!({ "role": "user", "content": "Fix it." })];
    messages.extend((0..3).flat_map(|n| [ask(n), answer(n)]));
    let transcript = sound(&Value::Array(messages).to_string(), Format::SweAgent);
    assert_eq!(calls(&transcript).len(), 3);
    let codes: Vec<_> = results(&transcript).iter().map(|result| result.exit_code).collect();
    assert_eq!(codes, [Some(0), Some(1), Some(0)]);
    let said = transcript.events.iter().filter_map(|event| match &event.event.body {
        Body::Message(message) if event.event.context.round.is_some() => Some(message.text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), ["THOUGHT: part 0", "THOUGHT: part 1", "THOUGHT: part 2"]);
}

// Rationale -----------------------------------------------------------------------------------------------------------

fn sdk(n: usize, tool: &str, args: &Value, output: &str) -> [Value; 2] {
    let call =
        json!({ "id": format!("call_{n}"), "name": tool, "arguments": args.to_string(), "origin": "completion" });
    [
        json!({ "kind": "ActionEvent", "id": format!("a{n}"), "source": "agent", "tool_name": tool, "tool_call_id": format!("call_{n}"),
            "tool_call": call, "action": { "kind": "Action" }, "thought": [], "llm_response_id": format!("r{n}") }),
        json!({ "kind": "ObservationEvent", "id": format!("o{n}"), "source": "environment", "tool_name": tool, "tool_call_id": format!("call_{n}"),
            "action_id": format!("a{n}"), "observation": { "kind": "Observation", "content": [{ "type": "text", "text": output }] } }),
    ]
}

const WHY: [&str; 8] = [
    "Look at the tests first",
    "See what is in there",
    "Check the file once more",
    "Read it again to be sure",
    "Have another look at it",
    "Make certain of the content",
    "Find out what it says",
    "Go over it a last time",
];

#[test]
fn a_text_about_a_call_does_not_hide_its_repeats() {
    for key in ["summary", "intent", "beweggrund", "what_this_is_for"] {
        let run = (0..8).flat_map(|n| {
            let args = json!({ "command": "cat a.txt", key: WHY[n], "security_risk": "LOW" });
            sdk(n, "terminal", &args, "the same as before")
        });
        is_a_loop(&sound(&lines(run), Format::OpenHands), "repeated-call");
    }
    // In every call of several tools.
    let message = |n: usize| {
        let (tool, arg) = [("look_up", "where"), ("count", "what")][usize::from(n == 0)];
        [
            json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": format!("c{n}"), "type": "function",
                "function": { "name": tool, "arguments": json!({ arg: "shelf", "step_aim": WHY[n] }).to_string() } }] }),
            json!({ "role": "tool", "tool_call_id": format!("c{n}"), "content": "empty shelf, as it was" }),
        ]
    };
    is_a_loop(&sound(&lines((0..8).flat_map(message)), Format::OpenAi), "repeated-call");
}

#[test]
fn what_a_tool_acts_on_is_no_rationale() {
    let search = |n: usize| {
        [
            json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": format!("c{n}"), "type": "function",
                "function": { "name": (["web", "docs"][n % 2]), "arguments": json!({ "query": WHY[n], "limit": 5 }).to_string() } }] }),
            json!({ "role": "tool", "tool_call_id": format!("c{n}"), "content": format!("{} results about {}", n + 2, WHY[n]) }),
        ]
    };
    let transcript = sound(&lines((0..8).flat_map(search)), Format::OpenAi);
    assert!(calls(&transcript).iter().all(|call| call.args.as_ref().unwrap().get("query").is_some()));
}

// Spans ---------------------------------------------------------------------------------------------------------------

#[test]
fn an_error_is_an_error_in_every_dialect() {
    fn at(n: usize) -> String {
        format!("2026-03-01T10:00:{:02}.000Z", n + 10)
    }
    let phoenix = |n: usize| {
        json!({ "id": format!("x{n}"), "name": "fetch_page", "context": { "trace_id": "t", "span_id": format!("s{n}") },
            "span_kind": "TOOL", "parent_id": null, "start_time": at(n), "end_time": at(n), "status_code": "ERROR",
            "status_message": "ConnectionError: no route", "events": [],
            "attributes": { "input.value": json!({ "page": n }).to_string(), "tool.name": "fetch_page" } })
    };
    let table = |n: usize| {
        json!({ "name": "fetch_page", "span_kind": "TOOL", "parent_id": null, "start_time": at(n), "end_time": at(n),
            "status_code": "ERROR", "status_message": "ConnectionError: no route", "context.span_id": format!("s{n}"),
            "context.trace_id": "t", "attributes.input.value": json!({ "page": n }).to_string(), "attributes.tool.name": "fetch_page" })
    };
    let nested = |n: usize| {
        json!({ "name": "fetch_page", "context": { "traceId": "t", "spanId": format!("s{n}") }, "spanKind": "tool", "startTime": at(n),
            "endTime": at(n), "statusCode": "ERROR", "statusMessage": "ConnectionError: no route",
            "attributes": json!({ "tool": { "name": "fetch_page" }, "input": { "value": json!({ "page": n }).to_string() } }).to_string() })
    };
    let langfuse = |n: usize| {
        json!({ "id": format!("s{n}"), "traceId": "t", "type": "TOOL", "name": "fetch_page", "startTime": at(n), "endTime": at(n),
            "parentObservationId": null, "level": "ERROR", "statusMessage": "ConnectionError: no route",
            "input": json!({ "page": n }).to_string(), "output": null, "metadata": {} })
    };
    let langsmith = |n: usize| {
        json!({ "id": format!("s{n}"), "trace_id": "t", "run_type": "tool", "name": "fetch_page", "start_time": at(n), "end_time": at(n),
            "parent_run_id": null, "dotted_order": format!("2026{n}"), "error": "ConnectionError: no route", "inputs": { "page": n },
            "outputs": null, "events": [{ "name": "start", "time": at(n) }, { "name": "end", "time": at(n) }] })
    };
    for dialect in [phoenix, table, nested, langfuse, langsmith] as [fn(usize) -> Value; 5] {
        for text in [lines((0..4).map(dialect)), json!({ "data": (0..4).map(dialect).collect::<Vec<_>>() }).to_string()]
        {
            let transcript = sound(&text, Format::OpenTelemetry);
            assert_eq!(outcomes(&transcript), [Outcome::Error; 4], "{text}");
            assert!(results(&transcript).iter().all(|result| result.output == "ConnectionError: no route"));
            assert!(calls(&transcript).iter().all(|call| call.tool == "fetch_page" && call.args.is_some()));
            assert!(transcript.events.iter().all(|event| event.event.context.at.is_some()));
            is_a_loop(&transcript, "repeated-error");
        }
    }
}

#[test]
fn models_of_other_tools_say_what_they_say() {
    let span = |id: &str, n: usize, rest: Value| {
        let mut span = json!({ "id": id, "trace_id": "t", "traceId": "t", "parent_run_id": null, "parentObservationId": null,
            "start_time": format!("2026-03-01T10:00:{n:02}Z"), "startTime": format!("2026-03-01T10:00:{n:02}Z") });
        span.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        span
    };
    let answer = json!({ "generations": [[{ "text": "Let me look.", "message": { "lc": 1, "type": "constructor", "id": ["langchain", "schema", "AIMessage"],
        "kwargs": { "content": "Let me look.", "tool_calls": [{ "name": "ls", "args": { "path": "." }, "id": "c1" }] } } }]] });
    let langsmith = [span(
        "1",
        1,
        json!({ "run_type": "llm", "name": "ChatModel", "outputs": answer,
        "inputs": { "messages": [[{ "lc": 1, "type": "constructor", "id": ["HumanMessage"], "kwargs": { "content": "Go." } }]] } }),
    )];
    let langfuse = [span(
        "1",
        1,
        json!({ "type": "GENERATION", "name": "model", "level": "DEFAULT",
        "input": json!([{ "role": "user", "content": "Go." }]).to_string(),
        "output": { "role": "assistant", "content": "Let me look.", "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "ls", "arguments": "{\"path\":\".\"}" } }] } }),
    )];
    let openinference = json!({ "spanId": "1", "traceId": "t", "startTimeUnixNano": "1000000000", "attributes": [
        { "key": "openinference.span.kind", "value": { "stringValue": "LLM" } },
        { "key": "llm.input_messages.0.message.role", "value": { "stringValue": "user" } },
        { "key": "llm.input_messages.0.message.content", "value": { "stringValue": "Go." } },
        { "key": "llm.output_messages.0.message.role", "value": { "stringValue": "assistant" } },
        { "key": "llm.output_messages.0.message.content", "value": { "stringValue": "Let me look." } },
        { "key": "llm.output_messages.0.message.tool_calls.0.tool_call.id", "value": { "stringValue": "c1" } },
        { "key": "llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "value": { "stringValue": "ls" } },
        { "key": "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", "value": { "stringValue": "{\"path\":\".\"}" } },
    ] });
    let openllmetry = json!({ "spanId": "1", "traceId": "t", "startTimeUnixNano": "1000000000", "attributes": [
        { "key": "llm.request.type", "value": { "stringValue": "chat" } },
        { "key": "gen_ai.prompt.0.role", "value": { "stringValue": "user" } },
        { "key": "gen_ai.prompt.0.content", "value": { "stringValue": "Go." } },
        { "key": "gen_ai.completion.0.role", "value": { "stringValue": "assistant" } },
        { "key": "gen_ai.completion.0.content", "value": { "stringValue": "Let me look." } },
        { "key": "gen_ai.completion.0.tool_calls.0.id", "value": { "stringValue": "c1" } },
        { "key": "gen_ai.completion.0.tool_calls.0.name", "value": { "stringValue": "ls" } },
        { "key": "gen_ai.completion.0.tool_calls.0.arguments", "value": { "stringValue": "{\"path\":\".\"}" } },
    ] });
    let by_events = json!({ "spanId": "1", "traceId": "t", "startTimeUnixNano": "1000000000",
        "attributes": [{ "key": "gen_ai.operation.name", "value": { "stringValue": "chat" } }],
        "events": [
            { "name": "gen_ai.user.message", "attributes": [{ "key": "content", "value": { "stringValue": "Go." } }] },
            { "name": "gen_ai.choice", "attributes": [{ "key": "message", "value": { "stringValue":
                json!({ "role": "assistant", "content": "Let me look.", "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "ls", "arguments": "{\"path\":\".\"}" } }] }).to_string() } }] },
        ] });
    for text in [
        lines(langsmith),
        lines(langfuse),
        lines([openinference.clone()]),
        lines([openllmetry]),
        lines([by_events]),
        json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [openinference] }] }] }).to_string(),
    ] {
        let transcript = sound(&text, Format::OpenTelemetry);
        let said = transcript.events.iter().filter_map(|event| match &event.event.body {
            Body::Message(message) => Some(message.text.as_str()),
            _ => None,
        });
        assert_eq!(said.collect::<Vec<_>>(), ["Go.", "Let me look."], "{text}");
        let called: Vec<_> = calls(&transcript)
            .iter()
            .map(|call| (call.tool.clone(), call.args.clone(), call.call_id.clone()))
            .collect();
        assert_eq!(called, [("ls".to_owned(), Some(json!({ "path": "." })), Some("c1".to_owned()))], "{text}");
    }
}

#[test]
fn a_span_around_a_models_says_nothing_of_its_own() {
    let span = |id: &str, parent: Value, n: usize| {
        json!({ "id": id, "traceId": "t", "type": "GENERATION", "name": "m", "parentObservationId": parent, "level": "DEFAULT",
            "startTime": format!("2026-03-01T10:00:{n:02}Z"), "endTime": format!("2026-03-01T10:00:{n:02}Z"),
            "input": null, "output": "The weather is fine today, as it was." })
    };
    let transcript = sound(
        &lines([span("1", Value::Null, 1), span("2", "1".into(), 2), span("3", "2".into(), 3)]),
        Format::OpenTelemetry,
    );
    assert_eq!(transcript.events.len(), 1);
    // As held by the SDK.
    let held = json!({ "name": "ai.toolCall", "spanContext": { "traceId": "t", "spanId": "1" }, "startTime": [1_772_000_000, 5], "endTime": [1_772_000_001, 5],
        "attributes": { "ai.toolCall.name": "ls", "ai.toolCall.args": "{}", "ai.toolCall.result": "a" }, "status": { "code": 0 } });
    assert_eq!(outcomes(&sound(&lines([held]), Format::OpenTelemetry)), [Outcome::Ok]);
}

#[test]
fn a_file_that_tells_nothing_says_so_and_why() {
    let span = json!({ "spanId": "1", "traceId": "t", "startTimeUnixNano": "1", "name": "GET /", "attributes": [{ "key": "http.method", "value": { "stringValue": "GET" } }] });
    let transcript = read(&lines([span.clone(), span]), None);
    assert_eq!((transcript.format, transcript.events.len()), (Format::OpenTelemetry, 0));
    let said: Vec<_> = transcript.errors.iter().map(|found| found.error.message.as_str()).collect();
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("2 spans: 0 of tools, 0 of models, 0 of agents, 2 of no known kind"), "{said:?}");
    let summary = read(r#"{"type":"summary","summary":"x","leafUuid":"y"}"#, None);
    assert!(
        summary.errors[0].error.message.contains("nothing in 1 document tells of a message"),
        "{:?}",
        summary.errors
    );
}

#[test]
fn a_document_with_events_is_not_always_a_scenario() {
    let run = json!({ "id": "r", "run_type": "chain", "trace_id": "t", "start_time": "2026-03-01T10:00:00Z", "events": [{ "name": "start" }],
        "child_runs": [{ "id": "c", "run_type": "tool", "name": "ls", "trace_id": "t", "start_time": "2026-03-01T10:00:01Z",
            "inputs": { "input": "{'path': '.'}" }, "events": [],
            "outputs": { "output": { "type": "tool", "content": "a.txt", "tool_call_id": "call_7", "status": "success" } } }] });
    let transcript = sound(&run.to_string(), Format::OpenTelemetry);
    assert_eq!(results(&transcript)[0].output, "a.txt");
    assert_eq!(results(&transcript)[0].call_id.as_deref(), Some("call_7"));
}

// Others --------------------------------------------------------------------------------------------------------------

#[test]
fn old_logs_and_metrics_of_gemini_cli() {
    let prompts = json!([{ "sessionId": 1_750_000_000_000_i64, "messageId": 0, "type": "user", "message": "Go.", "timestamp": "2026-03-01T10:00:00.000Z" }]);
    let transcript = sound(&prompts.to_string(), Format::GeminiCli);
    assert_eq!(transcript.events[0].event.context.run.as_deref(), Some("1750000000000"));
    let telemetry = [
        json!({ "hrTime": [1, 2], "attributes": { "event.name": "gemini_cli.tool_call", "function_name": "ls", "function_args": "{}", "success": true } }),
        json!({ "descriptor": { "name": "gemini_cli.tool.call.count" }, "dataPointType": 3, "dataPoints": [{ "value": 1 }] }),
        json!({ "resource": { "attributes": {} }, "scopeMetrics": [] }),
    ];
    let pretty: String = telemetry.iter().map(|record| format!("{record:#}\n")).collect();
    assert_eq!(sound(&pretty, Format::GeminiCli).events.len(), 2);
}

#[test]
fn a_refusal_of_gemini_cli_is_denied() {
    let told = |text: &str| {
        let call = json!({ "id": "c", "name": "run_shell_command", "args": {}, "status": "cancelled",
            "result": [{ "functionResponse": { "id": "c", "name": "run_shell_command", "response": { "error": text } } }] });
        json!({ "sessionId": "s", "projectHash": "p", "messages": [{ "id": "g", "type": "gemini", "content": "", "toolCalls": [call] }] }).to_string()
    };
    for (text, expected) in [
        ("[Operation Cancelled] Reason: User denied execution.", Outcome::Denied),
        ("[Operation Cancelled] Reason: User did not allow tool call", Outcome::Denied),
        ("[Operation Cancelled] Reason: User cancelled the operation.", Outcome::NotExecuted),
    ] {
        assert_eq!(outcomes(&sound(&told(text), Format::GeminiCli)), [expected], "{text}");
    }
}

#[test]
fn openhands_of_2024() {
    let text = lines([json!({ "instance_id": "x", "history": [
        { "content": "Fix it.", "images_urls": null, "wait_for_response": false, "action": "message", "action_risk": null },
        { "command": "cat LICENSE", "thought": "Look.", "keep_prompt": true, "action": "run", "is_confirmed": "confirmed", "action_risk": null },
        { "content": "MIT", "command_id": -1, "command": "cat LICENSE", "exit_code": 1, "observation": "run" },
        { "code": "print(1)", "thought": "", "action": "run_ipython", "kernel_init_code": "x" },
        { "content": "1", "code": "print(1)", "observation": "run_ipython" },
        { "outputs": {}, "thought": "Done.", "action": "finish" },
    ] })]);
    let transcript = sound(&text, Format::OpenHands);
    let called: Vec<_> =
        calls(&transcript).iter().map(|call| (call.tool.clone(), call.args.clone().unwrap())).collect();
    assert_eq!(
        called,
        [("run".into(), json!({ "command": "cat LICENSE" })), ("run_ipython".into(), json!({ "code": "print(1)" }))]
    );
    let answered: Vec<_> = results(&transcript)
        .iter()
        .map(|r| (r.tool.clone().unwrap(), r.output.clone(), r.exit_code, r.call_id.is_some()))
        .collect();
    assert_eq!(answered, [("run".into(), "MIT".into(), Some(1), true), ("run_ipython".into(), "1".into(), None, true)]);
    let short = lines([
        json!({ "action": "run", "command": "ls" }),
        json!({ "observation": "run", "content": "a", "exit_code": 0 }),
    ]);
    assert_eq!(results(&sound(&short, Format::OpenHands)).len(), 1);
}

#[test]
fn requests_of_several_agents_take_turns() {
    // Two conversations of six calls, whose requests are logged alternately, each with everything before it.
    let message = |who: &str, n: usize| {
        [
            json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": format!("{who}{n}"), "type": "function", "function": { "name": "read", "arguments": json!({ "part": format!("{who}{n}") }).to_string() } }] }),
            json!({ "role": "tool", "tool_call_id": format!("{who}{n}"), "content": format!("{who} {n}") }),
        ]
    };
    let request = |who: &str, upto: usize| {
        let mut messages = vec![
            json!({ "role": "system", "content": format!("You are {who}.") }),
            json!({ "role": "user", "content": "Go." }),
        ];
        messages.extend((0..upto).flat_map(|n| message(who, n)));
        // The cache marker moves on.
        messages.last_mut().unwrap()["cache_control"] = json!({ "type": "ephemeral" });
        json!({ "model": "m", "messages": messages })
    };
    let log = lines((0..=6).flat_map(|upto| [request("ada", upto), request("grace", upto)]));
    let transcript = sound(&log, Format::OpenAi);
    assert_eq!((calls(&transcript).len(), results(&transcript).len()), (12, 12));
    is_quiet(&transcript);
}

#[test]
fn codex_says_how_calls_ended() {
    let item = |payload: Value| json!({ "timestamp": "2026-03-01T10:00:00.000Z", "type": "response_item", "payload": payload });
    let output = |text: &str| {
        [
            item(json!({ "type": "function_call", "call_id": text, "name": "shell", "arguments": "{}" })),
            item(json!({ "type": "function_call_output", "call_id": text, "output": text })),
        ]
    };
    let rows = [
        ("aborted by user after 2.4s", Outcome::NotExecuted),
        ("patch rejected by user", Outcome::Denied),
        ("exec command rejected by user", Outcome::Denied),
        ("unsupported call: shel", Outcome::UnknownTool),
        ("failed to parse function arguments: missing field `command`", Outcome::Invalid),
        ("{\"output\":\"aborted by user after 1s\",\"metadata\":{\"exit_code\":1}}", Outcome::NotExecuted),
        ("all is well", Outcome::Ok),
    ];
    let mut told =
        vec![json!({ "timestamp": "2026-03-01T10:00:00.000Z", "type": "session_meta", "payload": { "id": "s" } })];
    told.extend(rows.iter().flat_map(|(text, _)| output(text)));
    told.push(item(
        json!({ "type": "web_search_call", "status": "completed", "action": { "type": "search", "query": "x" } }),
    ));
    let transcript = sound(&lines(told), Format::OpenAi);
    let mut expected: Vec<_> = rows.iter().map(|(_, outcome)| *outcome).collect();
    expected.push(Outcome::Ok);
    assert_eq!(outcomes(&transcript), expected);
    assert_eq!(results(&transcript).last().unwrap().tool.as_deref(), Some("web_search"));
    // Searches whose results were not recorded are not equal.
    let searched = (0..9).map(|_| {
        item(json!({ "type": "web_search_call", "status": "completed", "action": { "type": "search", "query": "x" } }))
    });
    is_quiet(&sound(&lines(searched), Format::OpenAi));
}

#[test]
fn devtools_of_the_ai_sdk() {
    let prompt = |upto: usize| {
        let mut messages = vec![json!({ "role": "user", "content": [{ "type": "text", "text": "Go." }] })];
        messages.extend((0..upto).flat_map(|n| [
            json!({ "role": "assistant", "content": [{ "type": "tool-call", "toolCallId": format!("c{n}"), "toolName": "ls", "input": { "path": "." } }] }),
            json!({ "role": "tool", "content": [{ "type": "tool-result", "toolCallId": format!("c{n}"), "toolName": "ls", "output": { "type": "error-text", "value": "no such folder" } }] }),
        ]));
        json!({ "prompt": messages, "tools": [] }).to_string()
    };
    let step = |n: usize| {
        json!({ "id": format!("s{n}"), "run_id": "r", "step_number": n, "type": "generate", "model_id": "m", "started_at": format!("2026-03-01T10:00:0{n}.000Z"),
        "input": prompt(n), "error": null, "output": json!({ "content": [{ "type": "tool-call", "toolCallId": format!("c{n}"), "toolName": "ls", "input": "{\"path\":\".\"}" }] }).to_string() })
    };
    let text = format!(
        "{:#}",
        json!({ "runs": [{ "id": "r", "started_at": "x" }], "steps": (0..6).map(step).collect::<Vec<_>>() })
    );
    let transcript = sound(&text, Format::AiSdk);
    assert_eq!((calls(&transcript).len(), results(&transcript).len()), (6, 5));
    assert!(transcript.events.iter().all(|event| event.event.context.run.as_deref() == Some("r")));
    is_a_loop(&transcript, "repeated-call");
}

#[test]
fn what_lang_graph_streams() {
    let ai = |n: usize| json!({ "type": "ai", "id": format!("m{n}"), "content": "", "tool_calls": [{ "name": "ls", "args": { "path": n }, "id": format!("c{n}") }] });
    let tool = |n: usize| json!({ "type": "tool", "id": format!("t{n}"), "content": "a.txt", "tool_call_id": format!("c{n}"), "status": "error" });
    let updates = (0..3).flat_map(|n| {
        [
            json!(["updates", { "agent": { "messages": [ai(n)] } }]),
            json!(["updates", { "tools": { "messages": [tool(n)] } }]),
        ]
    });
    let graphs = (0..3).flat_map(|n| {
        [
            json!([["sub:1"], "updates", { "agent": { "messages": [ai(n)] } }]),
            json!([[], "updates", { "tools": { "messages": [tool(n)] } }]),
        ]
    });
    let all = |upto: usize| (0..upto).flat_map(|n| [ai(n), tool(n)]).collect::<Vec<_>>();
    let values = (0..4).map(|upto| json!(["values", { "messages": all(upto) }]));
    let chunk = |n: usize, name: Value, args: &str| {
        json!(["messages", [{ "type": "AIMessageChunk", "id": format!("m{n}"), "content": "",
        "tool_call_chunks": [{ "name": name, "args": args, "id": format!("c{n}"), "index": 0 }] }, { "langgraph_node": "agent" }]])
    };
    let messages = (0..3).flat_map(|n| {
        [
            chunk(n, "ls".into(), ""),
            chunk(n, Value::Null, "{\"path\":"),
            chunk(n, Value::Null, &format!("{n}}}")),
            json!(["messages", [tool(n), {}]]),
        ]
    });
    let both = (0..3).flat_map(|n| {
        [
            json!(["values", { "messages": all(n + 1) }]),
            json!(["updates", { "agent": { "messages": [ai(n)] } }]),
            json!(["updates", { "tools": { "messages": [tool(n)] } }]),
        ]
    });
    for text in [
        lines(updates.clone()),
        Value::Array(updates.collect()).to_string(),
        lines(graphs),
        lines(values),
        lines(messages),
        lines(both),
    ] {
        let transcript = sound(&text, Format::LangChain);
        let args: Vec<_> = calls(&transcript).iter().map(|call| call.args.clone().unwrap()).collect();
        assert_eq!(args, [json!({ "path": 0 }), json!({ "path": 1 }), json!({ "path": 2 })], "{text}");
        assert_eq!(outcomes(&transcript), [Outcome::Error; 3], "{text}");
    }
}

#[test]
fn an_answer_of_the_responses_interface_alone() {
    let response = json!({ "id": "resp_1", "object": "response", "status": "completed", "model": "m", "instructions": "Be brief.", "tools": [], "output": [
        { "type": "reasoning", "id": "rs_1", "summary": [] },
        { "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": "{}" },
        { "type": "message", "id": "msg_1", "role": "assistant", "content": [{ "type": "output_text", "text": "Looking." }] },
    ] });
    for text in [
        response.to_string(),
        format!("{response:#}"),
        lines([json!({ "type": "response.completed", "response": response })]),
    ] {
        let transcript = sound(&text, Format::OpenAi);
        assert_eq!(calls(&transcript).len(), 1, "{text}");
    }
}

#[test]
fn whatever_is_read_the_door_accepts() {
    let texts = [
        trajectory([("open a.py".into(), "x".into())]),
        lines([json!(["updates", { "a": { "messages": [{ "type": "ai", "content": "x" }] } }])]),
    ];
    for text in texts {
        for event in &read(&text, None).events {
            let event = json::to_string(event);
            assert!(json::trace_event(&event).is_ok(), "{event}");
        }
    }
}

/// LangSmith runs as sent to its API: the start of a run is posted, and its end comes as a patch.
#[test]
fn langsmith_batches_are_put_together() {
    let call = |n: u64, city: &str| {
        let stamp = |seconds: u64| format!("2026-03-02T09:00:{:02}.000000", n * 2 + seconds);
        let post = json!({"id": format!("run-{n}"), "trace_id": "t", "dotted_order": format!("2026{n}"), "parent_run_id": "root",
            "name": "forecast", "run_type": "tool", "start_time": stamp(0), "inputs": {"input": json!({"city": city}).to_string()}});
        let patch = json!({"id": format!("run-{n}"), "trace_id": "t", "dotted_order": format!("2026{n}"),
            "end_time": stamp(1), "outputs": {"output": "no such station"}, "error": null});
        (post, patch)
    };
    let root = json!({"id": "root", "trace_id": "t", "dotted_order": "2026", "name": "agent", "run_type": "chain", "start_time": "2026-03-02T09:00:00.000000", "inputs": {}});
    let pairs: Vec<(Value, Value)> = (0..6).map(|n| call(n, "Ulm")).collect();
    let mut text = json!({"post": [root], "patch": []}).to_string();
    for (post, patch) in &pairs {
        text += &format!("\n{}\n{}", json!({"post": [post]}), json!({"post": [], "patch": [patch]}));
    }
    let transcript = sound(&text, Format::OpenTelemetry);
    assert_eq!((calls(&transcript).len(), results(&transcript).len()), (6, 6));
    assert!(calls(&transcript).iter().all(|call| call.args == Some(json!({"city": "Ulm"}))));
    assert!(results(&transcript).iter().all(|result| result.output == "no such station"));
    is_a_loop(&transcript, "repeated-call");
    // JavaScript uses milliseconds, and a patch may identify its run by its `dotted_order` alone.
    let id = "0b0f8a52-6d4e-4b39-8d0c-5f1f6c1f0a11";
    let place = format!("20260302T090000000000Z{id}");
    let batch = json!({
        "post": [{"id": id, "trace_id": id, "dotted_order": place, "name": "ChatModel", "run_type": "llm", "start_time": 1_772_442_000_000_u64,
            "inputs": {"messages": [{"role": "user", "content": "Hello"}]}, "outputs": {}}],
        "patch": [{"trace_id": id, "dotted_order": place, "end_time": 1_772_442_001_000_u64,
            "outputs": {"choices": [{"message": {"role": "assistant", "content": "Good day."}}], "usage_metadata": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}}}]});
    let transcript = sound(&batch.to_string(), Format::OpenTelemetry);
    let told: Vec<_> =
        transcript.events.iter().map(|event| (event.event.context.at, event.event.context.tokens)).collect();
    assert_eq!(told, [(Some(1_772_442_000_000), None), (Some(1_772_442_001_000), Some(11))]);
    // The same in one document, with the patches first.
    let (posts, patches): (Vec<Value>, Vec<Value>) = pairs.into_iter().unzip();
    let whole = json!({"post": posts, "patch": patches}).to_string();
    assert_eq!(calls(&sound(&whole, Format::OpenTelemetry)).len(), 6);
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Log records of instrumentations: a model's messages, with or without spans.
#[test]
fn otlp_logs_tell_messages() {
    let record = |at: u64, name: &str, body: Value| {
        json!({"timeUnixNano": (1_772_000_000_000_000_000 + at * 1_000_000_000).to_string(), "eventName": name, "severityNumber": 9,
            "body": body, "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": format!("00f067aa0ba902b{at}"), "attributes": [attribute("gen_ai.system", "x")]})
    };
    let said = |role: &str, text: &str| json!({"kvlistValue": {"values": [attribute("role", role), attribute("content", text)]}});
    let choice = json!({"kvlistValue": {"values": [
        {"key": "index", "value": {"intValue": "0"}},
        {"key": "message", "value": {"kvlistValue": {"values": [attribute("role", "assistant"), attribute("content", "Warm.")]}}}]}});
    let logs = json!({"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"scope": {"name": "x"}, "logRecords": [
        record(1, "gen_ai.user.message", said("user", "How is it in Ulm?")),
        record(1, "gen_ai.choice", choice.clone()),
        record(2, "gen_ai.user.message", said("user", "And in Jena?")),
        record(2, "gen_ai.choice", choice),
        record(3, "some.other.event", json!({"stringValue": "disk is nearly full"}))]}]}]});
    let transcript = sound(&logs.to_string(), Format::OpenTelemetry);
    let texts: Vec<&str> = transcript
        .events
        .iter()
        .filter_map(|event| match &event.event.body {
            Body::Message(message) => Some(message.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["How is it in Ulm?", "Warm.", "And in Jena?", "Warm."]);
}

/// Coding agents log their calls as events, with numbers and flags as text.
#[test]
fn otlp_logs_tell_the_calls_of_coding_agents() {
    for (agent, named) in [("claude_code", "tool_parameters"), ("codex", "arguments")] {
        let record = |n: u64| {
            json!({"timeUnixNano": (1_772_000_000_000_000_000 + n * 5_000_000_000).to_string(), "severityNumber": 9,
                "body": {"stringValue": format!("{agent}.tool_result")}, "attributes": [
                    attribute("event.name", &format!("{agent}.tool_result")), attribute("session.id", "s-1"), attribute("tool_name", "Bash"),
                    attribute("success", "false"), attribute("error", "make: *** No rule to make target"), attribute("duration_ms", "250"),
                    attribute(named, r#"{"command":"make docs"}"#)]})
        };
        let request = |n: u64| {
            json!({"timeUnixNano": (1_772_000_000_000_000_000 + n * 5_000_000_000 - 1_000_000_000).to_string(), "severityNumber": 9, "body": {"stringValue": format!("{agent}.api_request")}, "attributes": [
            attribute("event.name", &format!("{agent}.api_request")), attribute("session.id", "s-1"), attribute("input_tokens", "12"), attribute("output_tokens", "8"),
            attribute("cache_read_tokens", "980"), attribute("cost_usd", "0.0125")]})
        };
        let records: Vec<Value> = (1..6).flat_map(|n| [request(n), record(n)]).collect();
        let logs = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]});
        let transcript = sound(&logs.to_string(), Format::OpenTelemetry);
        assert_eq!((calls(&transcript).len(), results(&transcript).len()), (5, 5));
        assert!(results(&transcript).iter().all(|result| result.outcome == Outcome::Error));
        assert!(transcript.events.iter().all(|event| event.event.context.run.as_deref() == Some("s-1")));
        let spent = transcript
            .events
            .iter()
            .filter_map(|event| event.event.context.tokens.zip(event.event.context.cost_micros));
        assert_eq!(spent.collect::<Vec<_>>(), [(1000, 12_500); 5]);
        is_a_loop(&transcript, "repeated-call");
    }
}

/// Redacted payloads are not the same thing repeated.
#[test]
fn redacted_payloads_are_no_loop() {
    for (input, output) in
        [("{}", "{}"), ("__REDACTED__", "__REDACTED__"), ("[REDACTED]", ""), ("{}", ""), ("\"__REDACTED__\"", "{}")]
    {
        let span = |n: u64| {
            json!({"name": "lookup_order", "span_kind": "TOOL", "status_code": "OK", "start_time": format!("2026-03-02T09:00:{n:02}+00:00"), "end_time": format!("2026-03-02T09:00:{n:02}+00:00"),
                "context": {"trace_id": "t", "span_id": format!("s{n}")}, "parent_id": null,
                "attributes": {"openinference.span.kind": "TOOL", "tool.name": "lookup_order", "input.value": input, "output.value": output}})
        };
        let text: String = (0..30).map(|n| format!("{}\n", span(n))).collect();
        let transcript = sound(&text, Format::OpenTelemetry);
        assert_eq!((calls(&transcript).len(), results(&transcript).len()), (30, 30));
        is_quiet(&transcript);
    }
    // A tool without arguments that always answers the same is a loop.
    let span = |n: u64| {
        json!({"span_id": format!("s{n}"), "trace_id": "t", "name": "execute_tool status", "start_time": format!("2026-03-02T09:00:{n:02}Z"), "end_time": format!("2026-03-02T09:00:{n:02}Z"),
            "attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "status", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "queue is empty"}})
    };
    let text: String = (0..12).map(|n| format!("{}\n", span(n))).collect();
    is_a_loop(&sound(&text, Format::OpenTelemetry), "repeated-call");
}

/// A long log is read in windows, which must not separate a call without an id from its result.
#[test]
fn pairs_without_ids_hold_across_windows() {
    for before in 0..3 {
        let mut text = String::new();
        for n in 0..before {
            text += &format!("{}\n", json!({"role": "user", "content": format!("Go {n}")}));
        }
        for n in 0..5000 {
            text += &format!(
                "{}\n",
                json!({"role": "assistant", "content": null, "function_call": {"name": "look", "arguments": json!({"n": n}).to_string()}})
            );
            text += &format!("{}\n", json!({"role": "function", "name": "look", "content": format!("found {n}")}));
        }
        let transcript = sound(&text, Format::OpenAi);
        let mut open = None;
        let mut pairs = 0;
        for event in &transcript.events {
            match &event.event.body {
                Body::ToolCall(call) => open = call.call_id.clone(),
                Body::ToolResult(result) => {
                    assert!(result.call_id.is_some() && result.call_id == open, "{result:?}");
                    pairs += 1;
                }
                _ => {}
            }
        }
        assert_eq!(pairs, 5000);
    }
}
