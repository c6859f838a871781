//! Forms of logs found in public repositories but not in the vendors' documentation. All texts here are made up, in the
//! form of real ones.

use crate::kit::verdict;
use loopwarden::json;
use loopwarden::model::{Body, Level, Outcome, Role};
use loopwarden::transcript::{Format, Transcript, read};
use serde_json::{Value, json};

#[track_caller]
fn sound(text: &str, format: Format) -> Transcript {
    let transcript = read(text, None);
    assert_eq!(transcript.format, format);
    assert_eq!(transcript.errors, []);
    for event in &transcript.events {
        json::event(&json::to_string(&event.event)).unwrap();
    }
    transcript
}

fn lines(values: impl IntoIterator<Item = Value>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}

/// For each event, its run and what happened: `name(args)`, `=output`, `!output` of a failure, `"said"`, `~thought`.
fn story(transcript: &Transcript) -> Vec<String> {
    let show = |event: &loopwarden::model::TraceEvent| {
        let run = event.event.context.run.clone().unwrap_or_default();
        let what = match &event.event.body {
            Body::ToolCall(call) => {
                let args = call.args.as_ref().map(ToString::to_string).or(call.raw_args.clone());
                format!("{}({})#{}", call.tool, args.unwrap_or_default(), call.call_id.clone().unwrap_or_default())
            }
            Body::ToolResult(result) => {
                let mark = if result.outcome == Outcome::Ok { '=' } else { '!' };
                format!("{mark}{}#{}", result.output, result.call_id.clone().unwrap_or_default())
            }
            Body::Message(said) if said.channel.is_some() => format!("~{}", said.text),
            Body::Message(said) if said.role == Role::Assistant => format!("\"{}\"", said.text),
            Body::Message(said) => format!("{:?}: {}", said.role, said.text),
            other => format!("{other:?}"),
        };
        if run.is_empty() { what } else { format!("{run} {what}") }
    };
    transcript.events.iter().map(show).collect()
}

#[track_caller]
fn is_a_loop(transcript: &Transcript, rule: &str) {
    let (level, rules) = verdict(transcript);
    assert!(level >= Level::Nudge && rules.iter().any(|found| found == rule), "{level:?} {rules:?}");
}

#[track_caller]
fn is_quiet(transcript: &Transcript) {
    assert_eq!(verdict(transcript), (Level::Continue, Vec::new()));
}

// LangGraph -----------------------------------------------------------------------------------------------------------

/// The messages of a thread that asks again and again for the weather in a town.
fn messages(town: &str, times: usize) -> Vec<Value> {
    let mut all =
        vec![json!({ "type": "human", "id": format!("{town}-0"), "content": format!("Is it warm in {town}?") })];
    for n in 0..times {
        all.push(json!({
            "type": "ai", "id": format!("{town}-a{n}"), "content": "",
            "additional_kwargs": { "reasoning_content": format!("Round {n}.") },
            "tool_calls": [{ "name": "weather", "args": { "town": town }, "id": format!("{town}-c{n}") }],
        }));
        all.push(json!({
            "type": "tool", "id": format!("{town}-t{n}"), "name": "weather", "tool_call_id": format!("{town}-c{n}"),
            "content": "no station", "status": "success",
        }));
    }
    all
}

#[test]
fn the_state_of_a_thread() {
    let state = json!({
        "values": { "messages": messages("Bergen", 1), "title": "Weather" },
        "next": [], "metadata": { "step": 3 }, "checkpoint": { "thread_id": "t-7", "checkpoint_ns": "" },
    });
    for text in [state.to_string(), serde_json::to_string_pretty(&state).unwrap()] {
        assert_eq!(
            story(&sound(&text, Format::LangChain)),
            [
                "t-7 User: Is it warm in Bergen?",
                "t-7 ~Round 0.",
                r#"t-7 weather({"town":"Bergen"})#Bergen-c0"#,
                "t-7 =no station#Bergen-c0",
            ]
        );
    }
    // Every event has the line of its message.
    let pretty = sound(&serde_json::to_string_pretty(&state).unwrap(), Format::LangChain);
    assert!(pretty.lines.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(pretty.lines[3] > pretty.lines[0]);
}

#[test]
fn a_history_of_states_tells_each_message_once() {
    let at = |town: &str, thread: &str, shown: usize| {
        json!({ "values": { "messages": &messages(town, 4)[..shown] }, "next": ["model"],
                "config": { "configurable": { "thread_id": thread, "checkpoint_id": shown } } })
    };
    // The API returns the newest first; two threads alternate.
    let newest_first =
        json!([at("Oslo", "one", 9), at("Turku", "two", 3), at("Oslo", "one", 5), at("Turku", "two", 1)]);
    let oldest_first = lines([
        at("Oslo", "one", 1),
        at("Turku", "two", 1),
        at("Oslo", "one", 5),
        at("Turku", "two", 3),
        at("Oslo", "one", 9),
    ]);
    for text in [newest_first.to_string(), oldest_first] {
        let transcript = sound(&text, Format::LangChain);
        let of = |run: &str| story(&transcript).into_iter().filter(|line| line.starts_with(run)).collect::<Vec<_>>();
        assert_eq!(of("one").len(), 1 + 3 * 4);
        assert_eq!(of("two").len(), 1 + 3);
        is_a_loop(&transcript, "repeated-call");
    }
    // A checkpoint as stored.
    let stored = json!({ "checkpoint": { "channel_values": { "messages": messages("Vaasa", 1) } }, "metadata": {} });
    assert_eq!(story(&sound(&stored.to_string(), Format::LangChain)).len(), 4);
    // A truncated state is reported, and its beginning is read.
    let whole = json!({ "values": { "messages": messages("Kemi", 2) } }).to_string();
    let cut = read(whole.get(..whole.len() - 60).unwrap(), None);
    assert_eq!(cut.format, Format::LangChain);
    assert!(!cut.errors.is_empty() && cut.events.len() >= 4);
}

#[test]
fn graphs_that_stream_at_once() {
    let chunk = |graph: &str, id: &str, text: &str, call: Value| {
        let chunks = if call.is_null() { json!([]) } else { json!([call]) };
        json!([[graph], [
            { "lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessageChunk"],
              "kwargs": { "id": id, "content": text, "tool_call_chunks": chunks } },
            { "langgraph_node": "agent", "langgraph_step": 1, "langgraph_checkpoint_ns": graph },
        ]])
    };
    let answer = |graph: &str, call: &str, text: &str| {
        json!([[graph], [
            { "lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"],
              "kwargs": { "id": format!("{call}-t"), "content": text, "tool_call_id": call } },
            { "langgraph_node": "tools", "langgraph_step": 2, "langgraph_checkpoint_ns": graph },
        ]])
    };
    let call = |index: usize, id: Value, name: Value, args: &str| json!({ "index": index, "id": id, "name": name, "args": args });
    let told = [
        chunk("north", "m1", "Let me ", Value::Null),
        chunk("south", "m2", "", call(0, json!("s1"), json!("search"), "{\"q\":")),
        chunk("north", "m1", "look.", call(0, json!("n1"), json!("open"), "{\"page\":")),
        chunk("south", "m2", "", call(0, Value::Null, Value::Null, "\"tin\"}")),
        chunk("north", "m1", "", call(1, json!("n2"), json!("open"), "{\"page\":")),
        chunk("north", "m1", "", call(0, Value::Null, Value::Null, "4}")),
        chunk("north", "m1", "", call(1, Value::Null, Value::Null, "5}")),
        answer("south", "s1", "two mines"),
        answer("north", "n2", "page five"),
        answer("north", "n1", "page four"),
        chunk("south", "m3", "There are two.", Value::Null),
    ];
    for text in [lines(told.clone()), json!(told).to_string()] {
        assert_eq!(
            story(&sound(&text, Format::LangChain)),
            [
                r#"search({"q":"tin"})#s1"#,
                "=two mines#s1",
                "\"Let me look.\"",
                r#"open({"page":4})#n1"#,
                r#"open({"page":5})#n2"#,
                "=page five#n2",
                "=page four#n1",
                "\"There are two.\"",
            ]
        );
    }
    // A single graph has no path.
    let alone = lines(told.iter().filter(|pair| pair[0][0] == "south").map(|pair| pair[1].clone()));
    assert_eq!(story(&sound(&alone, Format::LangChain)).len(), 3);
}

// Tracing tools -------------------------------------------------------------------------------------------------------

#[test]
fn batches_of_langsmith_in_a_list() {
    let post = |n: usize| {
        json!({
            "id": format!("r{n}"), "trace_id": "t", "dotted_order": format!("2026031{n}T100000000000Zr{n}"), "name": "fetch",
            "run_type": "tool", "start_time": format!("2026-03-01T10:00:0{n}.000000"), "inputs": { "input": "{\"url\":\"/a\"}" },
        })
    };
    let patch = |n: usize| {
        json!({
            "id": format!("r{n}"), "trace_id": "t", "dotted_order": format!("2026031{n}T100000000000Zr{n}"),
            "end_time": format!("2026-03-01T10:00:0{n}.500000"), "outputs": { "output": "gone" },
        })
    };
    let batches = json!([{ "post": [post(1)] }, { "patch": [patch(1)], "post": [post(2)] }, { "post": [post(3)] }, { "patch": [patch(2), patch(3)] }]);
    let transcript = sound(&batches.to_string(), Format::OpenTelemetry);
    assert_eq!(transcript.events.len(), 6);
    is_a_loop(&transcript, "repeated-call");
}

fn observation(n: usize, kind: &str, name: &str, input: Value, output: Value) -> Value {
    json!({
        "id": format!("o{n}"), "traceId": "t", "parentObservationId": "root", "type": kind, "name": name,
        "startTime": format!("2026-03-01T10:00:{n:02}.000Z"), "endTime": format!("2026-03-01T10:00:{n:02}.400Z"),
        "input": input, "output": output, "level": "DEFAULT",
    })
}

#[test]
fn what_gives_a_tools_message_is_a_tool() {
    let answer = |call: &str, status: &str| json!({ "type": "tool", "name": "stock", "tool_call_id": call, "content": "none left", "status": status });
    let node = observation(2, "SPAN", "tools", json!({}), json!({ "messages": [answer("c1", "success")] }));
    let trace = json!({ "trace": { "id": "t" }, "observations": [
        observation(1, "SPAN", "stock", json!({ "article": 7 }), answer("c1", "success")),
        node,
        observation(3, "SPAN", "stock", json!({ "article": 8 }), json!({
            "lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"],
            "kwargs": { "name": "stock", "tool_call_id": "c2", "content": "no such article", "status": "error" } })),
    ] });
    assert_eq!(
        story(&sound(&trace.to_string(), Format::OpenTelemetry)),
        ["t stock({\"article\":7})#c1", "t =none left#c1", "t stock({\"article\":8})#c2", "t !no such article#c2"]
    );
}

#[test]
fn messages_as_callbacks_write_them() {
    let definition =
        json!({ "role": "tool", "content": { "type": "function", "function": { "name": "stock", "parameters": {} } } });
    let asked = json!({ "role": "assistant", "content": "", "additional_kwargs": { "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": "stock", "arguments": { "article": 7 } } },
        { "id": "c2", "type": "function", "function": { "name": "stock", "arguments": { "article": 9 } } },
    ] } });
    let user = json!({ "role": "user", "content": "What is left?" });
    // The role of an answer is the name of its tool.
    let told = |text: &str| json!({ "role": "stock", "content": text, "additional_kwargs": {} });
    let trace = json!({ "observations": [
        observation(1, "GENERATION", "ChatModel", json!([user, definition]), asked.clone()),
        observation(2, "GENERATION", "ChatModel", json!([user, asked, told("two"), told("five"), definition]),
                    json!({ "role": "assistant", "content": "Two and five." })),
    ] });
    assert_eq!(
        story(&sound(&trace.to_string(), Format::OpenTelemetry)),
        [
            "t User: What is left?",
            "t stock({\"article\":7})#c1",
            "t stock({\"article\":9})#c2",
            "t =two#c1",
            "t =five#c2",
            "t \"Two and five.\"",
        ]
    );
}

#[test]
fn the_pieces_of_an_answer_are_one() {
    let pieces: Vec<Value> = "It is far , very far , and far away , so far"
        .split(' ')
        .map(|word| json!({ "role": "assistant", "content": format!(" {word}") }))
        .collect();
    let trace = json!({ "observations": [
        observation(1, "GENERATION", "chat", json!([{ "role": "user", "content": "How far?" }]), json!(pieces)),
    ] });
    let transcript = sound(&trace.to_string(), Format::OpenTelemetry);
    assert_eq!(story(&transcript)[1], "t \" It is far , very far , and far away , so far\"");
    assert_eq!(transcript.events.len(), 2);
    is_quiet(&transcript);
}

#[test]
fn spans_of_monocle() {
    let span = |n: usize, kind: &str, name: &str, input: Value, output: Value| {
        json!({
            "name": "framework.call", "context": { "trace_id": "t", "span_id": format!("s{n}") }, "parent_id": null,
            "kind": "SpanKind.INTERNAL", "status": { "status_code": "OK" },
            "start_time": format!("2026-03-01T10:00:{n:02}.000000Z"), "end_time": format!("2026-03-01T10:00:{n:02}.900000Z"),
            "attributes": { "span.type": kind, "entity.1.name": name },
            "events": [{ "name": "data.input", "attributes": { "input": input } },
                       { "name": "data.output", "attributes": { "response": output } },
                       { "name": "metadata", "attributes": { "total_tokens": 12 } }],
        })
    };
    let run =
        |state: &str| json!(format!("{{'command': 'make', 'runtime': ToolRuntime(state={{'messages': [{state}]}})}}"));
    let mut spans = vec![
        span(1, "inference.framework", "model", json!(["{\"user\": \"Build it.\"}"]), json!("{\"ai\": \"I will.\"}")),
        span(2, "inference.modelapi", "model", json!(["{\"user\": \"Build it.\"}"]), json!("{\"ai\": \"I will.\"}")),
    ];
    for n in [3, 5, 7] {
        spans.push(span(n, "agentic.tool.invocation", "shell", run(&"word ".repeat(n)), json!("no makefile")));
        spans.push(span(n + 1, "inference.framework", "model", json!([]), json!("{\"ai\": \"\"}")));
    }
    let transcript = sound(&json!(spans).to_string(), Format::OpenTelemetry);
    let told = story(&transcript);
    assert_eq!(told[..3], ["t User: Build it.", "t \"I will.\"", "t shell({'command': 'make'})#s3"]);
    assert_eq!(told.len(), 8);
    assert_eq!(transcript.events[1].event.context.tokens, Some(12));
    is_a_loop(&transcript, "repeated-call");
}

#[test]
fn spans_within_spans() {
    let leaf = |n: usize| {
        json!({
            "trace_id": "t", "span_id": format!("s{n}"), "parent_span_id": "root", "span_name": "calculator", "span_kind": "Internal",
            "timestamp": format!("2026-03-01T10:00:{n:02}.000000Z"), "duration": "PT1S", "status_code": "Unset", "child_spans": [],
            "span_attributes": { "openinference.span.kind": "TOOL", "tool.name": "calculator", "input.value": "{\"sum\":\"1+1\"}", "output.value": "2" },
        })
    };
    let trace = json!({ "trace_id": "t", "spans": [{
        "trace_id": "t", "span_id": "root", "span_name": "main", "span_kind": "Internal", "timestamp": "2026-03-01T10:00:00.000000Z",
        "span_attributes": {}, "child_spans": [leaf(1), leaf(2)],
    }] });
    let both = json!({ "traces": [trace] });
    for text in [trace.to_string(), both.to_string()] {
        let told = story(&sound(&text, Format::OpenTelemetry));
        assert_eq!(told[..2], ["t calculator({\"sum\":\"1+1\"})#s1", "t =2#s1"]);
        assert_eq!(told.len(), 4);
    }
}

// OpenAI --------------------------------------------------------------------------------------------------------------

#[test]
fn codex_without_a_screen() {
    let item = |kind: &str, item: Value| json!({ "type": kind, "item": item });
    let command = |n: usize, status: &str, output: &str, code: Value| {
        json!({
            "id": format!("item_{n}"), "type": "command_execution", "command": "bash -lc 'cargo test'", "aggregated_output": output,
            "exit_code": code, "status": status,
        })
    };
    let thread = |name: &str, times: usize| {
        let mut all = vec![
            json!({ "type": "thread.started", "thread_id": name }),
            json!({ "type": "turn.started" }),
            item("item.completed", json!({ "id": "item_0", "type": "reasoning", "text": "Run the tests." })),
        ];
        for n in 1..=times {
            all.push(item("item.started", command(n, "in_progress", "", Value::Null)));
            all.push(item("item.completed", command(n, "failed", "1 failed", json!(101))));
        }
        all.extend([
            item("item.completed", json!({ "id": "item_20", "type": "file_change", "status": "completed", "changes": [{ "path": "a.rs", "kind": "update" }] })),
            item("item.completed", json!({ "id": "item_21", "type": "mcp_tool_call", "server": "docs", "tool": "find", "arguments": { "q": name }, "result": { "content": [{ "type": "text", "text": "nothing" }] }, "error": null, "status": "completed" })),
            item("item.completed", json!({ "id": "item_22", "type": "mcp_tool_call", "server": "docs", "tool": "open", "arguments": {}, "error": { "message": "no page" }, "status": "failed" })),
            item("item.completed", json!({ "id": "item_23", "type": "todo_list", "items": [] })),
            item("item.completed", json!({ "id": "item_24", "type": "agent_message", "text": "Done." })),
            json!({ "type": "turn.completed", "usage": { "input_tokens": 90, "cached_input_tokens": 40, "output_tokens": 10 } }),
        ]);
        all
    };
    let transcript = sound(&lines(thread("one", 1)), Format::OpenAi);
    assert_eq!(
        story(&transcript),
        [
            "one ~Run the tests.",
            r#"one shell({"command":"bash -lc 'cargo test'"})#1:item_1"#,
            "one =1 failed#1:item_1",
            r#"one apply_patch({"changes":[{"kind":"update","path":"a.rs"}]})#1:item_20"#,
            "one =#1:item_20",
            r#"one docs.find({"q":"one"})#1:item_21"#,
            "one =nothing#1:item_21",
            "one docs.open({})#1:item_22",
            "one !no page#1:item_22",
            "one \"Done.\"",
        ]
    );
    assert_eq!(transcript.events.iter().filter_map(|event| event.event.context.tokens).sum::<u64>(), 100);
    is_quiet(&transcript);
    // A resumed thread restarts its item numbers.
    let both: Vec<Value> = thread("one", 1).into_iter().chain(thread("two", 2)).chain(thread("one", 1)).collect();
    is_quiet(&sound(&lines(both), Format::OpenAi));
    is_a_loop(&sound(&lines(thread("one", 4)), Format::OpenAi), "repeated-call");
}

#[test]
fn a_chat_models_answer_in_chunks() {
    let chunk = |id: &str, delta: Value, finish: Value| {
        json!({
            "id": id, "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        })
    };
    let call = |index: usize, id: Value, name: Value, args: &str| json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": args } }] });
    let told = lines([
        chunk("x", json!({ "role": "assistant", "content": "On " }), Value::Null),
        chunk("y", call(0, json!("k"), json!("count"), "{\"of\":"), Value::Null),
        chunk("x", json!({ "content": "it." }), json!("stop")),
        chunk("y", call(1, json!("l"), json!("count"), ""), Value::Null),
        chunk("y", call(0, Value::Null, Value::Null, "\"hens\"}"), Value::Null),
        chunk("y", call(1, Value::Null, Value::Null, "{\"of\":\"cows\"}"), json!("tool_calls")),
        json!({ "id": "y", "object": "chat.completion.chunk", "choices": [], "usage": { "prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8 } }),
        json!({ "role": "tool", "tool_call_id": "k", "content": "12" }),
        json!({ "role": "tool", "tool_call_id": "l", "content": "3" }),
    ]);
    let transcript = sound(&told, Format::OpenAi);
    assert_eq!(
        story(&transcript),
        ["\"On it.\"", "count({\"of\":\"hens\"})#k", "count({\"of\":\"cows\"})#l", "=12#k", "=3#l"]
    );
    assert_eq!(transcript.events[1].event.context.tokens, Some(8));
}

#[test]
fn records_of_runs_in_a_list() {
    let run = |task: usize, times: usize| {
        let mut messages = vec![json!({ "role": "user", "content": format!("Cancel order {task}.") })];
        for n in 0..times {
            messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": format!("c{n}"), "type": "function",
                "function": { "name": "cancel", "arguments": format!("{{\"order\":{task}}}") } }] }));
            messages.push(json!({ "role": "tool", "tool_call_id": format!("c{n}"), "name": "cancel", "content": "Error: not found" }));
        }
        json!({ "task_id": task, "reward": 0.0, "info": { "task": {} }, "traj": messages, "trial": 0 })
    };
    let transcript = sound(&json!([run(3, 1), run(5, 2), run(8, 1)]).to_string(), Format::OpenAi);
    let told = story(&transcript);
    assert_eq!(told.len(), 3 + 5 + 3);
    assert!(told[0].starts_with("3 ") && told[3].starts_with("5 ") && told[10].starts_with("8 "));
    is_quiet(&transcript);
    is_a_loop(&sound(&json!([run(3, 1), run(5, 6)]).to_string(), Format::OpenAi), "repeated-call");
    let requests =
        json!([{ "model": "m", "messages": run(1, 1)["traj"] }, { "model": "m", "messages": run(1, 2)["traj"] }]);
    assert_eq!(story(&sound(&requests.to_string(), Format::OpenAi)).len(), 5);
}

// AI SDK --------------------------------------------------------------------------------------------------------------

#[test]
fn a_message_of_the_ai_sdk_in_pieces() {
    let step = |n: usize| {
        [
            json!({ "type": "start-step" }),
            json!({ "type": "reasoning-start", "id": "r" }),
            json!({ "type": "reasoning-delta", "id": "r", "delta": "Look " }),
            json!({ "type": "text-start", "id": "t" }),
            json!({ "type": "reasoning-delta", "id": "r", "delta": "it up." }),
            json!({ "type": "text-delta", "id": "t", "delta": "One moment." }),
            json!({ "type": "reasoning-end", "id": "r" }),
            json!({ "type": "tool-input-start", "toolCallId": format!("c{n}"), "toolName": "find" }),
            json!({ "type": "tool-input-delta", "toolCallId": format!("c{n}"), "inputTextDelta": "{" }),
            json!({ "type": "tool-input-available", "toolCallId": format!("c{n}"), "toolName": "find", "input": { "name": "Ada" } }),
            json!({ "type": "tool-output-available", "toolCallId": format!("c{n}"), "output": "…", "preliminary": true }),
            json!({ "type": "tool-output-available", "toolCallId": format!("c{n}"), "output": { "rows": 0 } }),
            json!({ "type": "finish-step" }),
        ]
    };
    let all = |steps: usize| -> Vec<Value> {
        let begin = [json!({ "type": "start", "messageId": "m" })];
        begin.into_iter().chain((0..steps).flat_map(step)).chain([json!({ "type": "finish" })]).collect()
    };
    for text in [lines(all(1)), json!(all(1)).to_string()] {
        assert_eq!(
            story(&sound(&text, Format::AiSdk)),
            ["~Look it up.", "\"One moment.\"", r#"find({"name":"Ada"})#c0"#, r#"={"rows":0}#c0"#]
        );
    }
    is_a_loop(&sound(&lines(all(4)), Format::AiSdk), "repeated-call");
    // Not every writer repeats the arguments.
    let streamed = lines([
        json!({ "type": "start" }),
        json!({ "type": "tool-input-start", "toolCallId": "a", "toolName": "warm" }),
        json!({ "type": "tool-input-delta", "toolCallId": "a", "inputTextDelta": "{\"at\":" }),
        json!({ "type": "tool-input-start", "toolCallId": "b", "toolName": "late" }),
        json!({ "type": "tool-input-delta", "toolCallId": "b", "inputTextDelta": "{}" }),
        json!({ "type": "tool-input-delta", "toolCallId": "a", "inputTextDelta": "\"sea\"}" }),
        json!({ "type": "tool-output-available", "toolCallId": "b", "output": "no" }),
        json!({ "type": "tool-output-available", "toolCallId": "a", "output": "yes" }),
    ]);
    assert_eq!(story(&sound(&streamed, Format::AiSdk)), [r#"warm({"at":"sea"})#a"#, "late({})#b", "=no#b", "=yes#a"]);
    // The log may end before there is an answer.
    let (unanswered, _) = streamed.split_once(r#"{"output""#).unwrap();
    assert_eq!(story(&sound(unanswered, Format::AiSdk)), [r#"warm({"at":"sea"})#a"#, "late({})#b"]);
    // A call that is broken off is not made, and what comes late for a whole one says nothing.
    let broken = lines([
        json!({ "type": "start" }),
        json!({ "type": "tool-input-available", "toolCallId": "a", "toolName": "warm", "input": {} }),
        json!({ "type": "tool-input-delta", "toolCallId": "a", "inputTextDelta": "{}" }),
        json!({ "type": "tool-input-start", "toolCallId": "b", "toolName": "late" }),
        json!({ "type": "abort" }),
    ]);
    assert_eq!(story(&sound(&broken, Format::AiSdk)), ["warm({})#a"]);
    let failed = lines([
        json!({ "type": "start-step" }),
        json!({ "type": "tool-input-error", "toolCallId": "a", "toolName": "find", "input": "{", "errorText": "no JSON" }),
        json!({ "type": "tool-input-available", "toolCallId": "b", "toolName": "open", "input": {} }),
        json!({ "type": "tool-output-error", "toolCallId": "b", "errorText": "closed" }),
        json!({ "type": "tool-input-available", "toolCallId": "d", "toolName": "sell", "input": {} }),
        json!({ "type": "tool-output-denied", "toolCallId": "d" }),
    ]);
    let outcomes: Vec<Outcome> = sound(&failed, Format::AiSdk)
        .events
        .iter()
        .filter_map(|event| match &event.event.body {
            Body::ToolResult(result) => Some(result.outcome),
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [Outcome::Invalid, Outcome::Error, Outcome::Denied]);
}

#[test]
fn messages_that_a_program_keeps_in_records() {
    let told = lines([
        json!({ "id": 0, "message": { "role": "user", "content": "Sum it up." } }),
        json!({ "id": 1, "message": { "role": "assistant", "content": [{ "type": "tool-call", "toolCallId": "c", "toolName": "sum", "input": { "of": "sales" } }] } }),
        json!({ "id": 2, "message": { "role": "tool", "content": [{ "type": "tool-result", "toolCallId": "c", "toolName": "sum", "output": { "type": "error-text", "value": "no such table" } }] } }),
    ]);
    assert_eq!(
        story(&sound(&told, Format::AiSdk)),
        ["User: Sum it up.", r#"sum({"of":"sales"})#c"#, "!no such table#c"]
    );
}

// Others --------------------------------------------------------------------------------------------------------------

#[test]
fn a_session_of_claude_code_as_one_document() {
    let session = json!({ "loglines": [
        { "type": "user", "timestamp": "2026-03-01T10:00:00.000Z", "message": { "role": "user", "content": "Tidy up." } },
        { "type": "assistant", "timestamp": "2026-03-01T10:00:01.000Z", "message": { "role": "assistant", "content": [
            { "type": "tool_use", "id": "u", "name": "Bash", "input": { "command": "ls" } }] } },
        { "type": "user", "timestamp": "2026-03-01T10:00:02.000Z", "message": { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "u", "content": "a b" }] } },
    ] });
    assert_eq!(
        story(&sound(&session.to_string(), Format::ClaudeCode)),
        ["User: Tidy up.", r#"Bash({"command":"ls"})#u"#, "=a b#u"]
    );
}

#[test]
fn other_records_with_data_are_no_messages() {
    let foreign = lines([
        json!({ "type": "session.start", "data": { "content": "hello" } }),
        json!({ "type": "user.message", "data": { "content": "hello" } }),
    ]);
    assert_ne!(read(&foreign, None).format, Format::LangChain);
}

#[test]
fn a_label_is_no_root_of_an_error() {
    let edit = |n: usize, old: &str, output: &str| {
        [
            json!({ "type": "tool-call", "tool": "editor", "callId": n.to_string(), "args": { "command": "replace", "path": "/srv/tax/rates.c", "old": old, "new": "return rate;" } }),
            json!({ "type": "tool-result", "tool": "editor", "callId": n.to_string(), "outcome": "error", "output": format!("ERROR:\n{output}") }),
        ]
    };
    let told = |outputs: [&str; 3]| {
        lines(
            outputs
                .iter()
                .zip(["rate = 1;", "rate = 1 ;", "rate  = 1;"])
                .enumerate()
                .flat_map(|(n, (output, old))| edit(n, old, output)),
        )
    };
    // Different errors show progress.
    is_quiet(&read(&told(["`old` is required", "the text was not found", "the text stands there twice"]), None));
    is_a_loop(&read(&told(["the text was not found"; 3]), None), "resubmission");
}
