//! Usage as reported by each log, compared with an independent count: every token once, on the answer that used it, and
//! cost only where it is reported. All texts here are made up, in the form of real ones.

use loopwarden::model::{Body, Config, Context, Event, Role};
use loopwarden::transcript::{Format, Transcript, read};
use loopwarden::{Detector, json as core_json};
use serde_json::{Value, json};

/// For every event with usage: its kind, tokens, and cost in millionths.
fn told(transcript: &Transcript) -> Vec<(String, u64, u64)> {
    let told = transcript.events.iter().filter_map(|traced| {
        let Context { tokens, cost_micros, .. } = &traced.event.context;
        let kind = match &traced.event.body {
            Body::ToolCall(call) => call.tool.clone(),
            Body::Message(message) if message.role == Role::Assistant => message.text.clone(),
            other => other.name().to_owned(),
        };
        (tokens.is_some() || cost_micros.is_some()).then(|| (kind, tokens.unwrap_or(0), cost_micros.unwrap_or(0)))
    });
    told.collect()
}

#[track_caller]
fn tells(text: &str, format: Format, expected: &[(&str, u64, u64)]) {
    let transcript = read(text, None);
    assert_eq!(transcript.errors, []);
    assert_eq!(transcript.format, format);
    let told = told(&transcript);
    let told: Vec<(&str, u64, u64)> = told.iter().map(|(kind, tokens, cost)| (kind.as_str(), *tokens, *cost)).collect();
    assert_eq!(told, expected);
}

fn lines(values: &[Value]) -> String {
    values.iter().map(|value| format!("{value}\n")).collect()
}

/// A line of Claude Code.
fn claude(id: &str, block: Value, usage: Value) -> Value {
    let n = format!("{id}-{block}");
    let message = json!({"id": id, "type": "message", "role": "assistant", "content": [block], "usage": usage});
    json!({"type": "assistant", "uuid": n, "sessionId": "s", "message": message})
}

#[test]
fn claude_code_repeats_the_use_of_an_answer_with_each_of_its_blocks() {
    let usage = |output: u64| {
        json!({"input_tokens": 3, "cache_creation_input_tokens": 120, "cache_read_input_tokens": 15_000,
            "output_tokens": output, "server_tool_use": {"web_search_requests": 0}})
    };
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": id, "input": {}});
    let text = lines(&[
        // The first lines are written while the answer is still streaming.
        claude("m1", json!({"type": "thinking", "thinking": "", "signature": "x"}), usage(2)),
        claude("m1", json!({"type": "text", "text": "Looking."}), usage(2)),
        claude("m1", call("ls"), usage(2)),
        claude("m1", call("cat"), usage(88)),
        claude("m2", call("rm"), usage(10)),
        // A continued session repeats its lines.
        claude("m2", call("rm"), usage(10)),
    ]);
    tells(&text, Format::ClaudeCode, &[("Looking.", 15_125, 0), ("cat", 86, 0), ("rm", 15_133, 0)]);
}

#[test]
fn claude_code_sub_agents_spend_their_own() {
    let mut lines_: Vec<Value> = Vec::new();
    for (n, agent) in [None, Some("a1"), None, Some("a2"), Some("a1")].into_iter().enumerate() {
        let usage = json!({"input_tokens": 10_u64.pow(u32::try_from(n).unwrap()), "output_tokens": 0});
        let mut line = claude(&format!("m{n}"), json!({"type": "thinking", "thinking": ""}), usage.clone());
        let mut more = claude(
            &format!("m{n}"),
            json!({"type": "tool_use", "id": n.to_string(), "name": format!("t{n}"), "input": {}}),
            usage,
        );
        for line in [&mut line, &mut more] {
            if let Some(agent) = agent {
                line["isSidechain"] = true.into();
                line["agentId"] = agent.into();
            }
        }
        lines_.extend([line, more]);
    }
    // First the part of each answer without an event, then the calls.
    let silent: Vec<Value> = lines_.iter().step_by(2).cloned().collect();
    let calls: Vec<Value> = lines_.iter().skip(1).step_by(2).cloned().collect();
    let transcript = read(&lines(&[silent, calls].concat()), None);
    let mut by_agent = std::collections::BTreeMap::new();
    for traced in &transcript.events {
        let Context { agent, tokens, .. } = traced.event.context.clone();
        *by_agent.entry(agent.unwrap_or_default()).or_insert(0) += tokens.unwrap_or(0);
    }
    assert_eq!(by_agent, [(String::new(), 101), ("a1".to_owned(), 10_010), ("a2".to_owned(), 1000)].into());
}

#[test]
fn claude_code_without_a_screen_tells_money_in_the_end() {
    let text = lines(&[
        claude("m1", json!({"type": "text", "text": "Done."}), json!({"input_tokens": 5, "output_tokens": 6})),
        json!({"type": "result", "subtype": "success", "session_id": "s", "total_cost_usd": 0.0731, "usage": {"input_tokens": 5, "output_tokens": 6}}),
    ]);
    tells(&text, Format::ClaudeCode, &[("Done.", 11, 73_100)]);
}

#[test]
fn codex_counts_a_session_and_tells_it_again_and_again() {
    let count = |session: u64, last: u64| {
        let usage = |total: u64| json!({"input_tokens": total - 9, "cached_input_tokens": 0, "output_tokens": 9, "total_tokens": total});
        json!({"timestamp": "2026-05-01T10:00:00.000Z", "type": "event_msg", "payload": {"type": "token_count",
            "info": {"total_token_usage": usage(session), "last_token_usage": usage(last), "model_context_window": 258_400}}})
    };
    let limits = json!({"timestamp": "2026-05-01T10:00:00.000Z", "type": "event_msg",
        "payload": {"type": "token_count", "info": null, "rate_limits": {"primary": {"used_percent": 1.0}}}});
    let item =
        |payload: Value| json!({"timestamp": "2026-05-01T10:00:00.000Z", "type": "response_item", "payload": payload});
    let call = |id: &str| item(json!({"type": "function_call", "name": id, "call_id": id, "arguments": "{}"}));
    let output = |id: &str| item(json!({"type": "function_call_output", "call_id": id, "output": "ok"}));
    let text = lines(&[
        json!({"timestamp": "2026-05-01T10:00:00.000Z", "type": "session_meta", "payload": {"id": "s"}}),
        limits.clone(),
        item(json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]})),
        call("one"),
        call("two"),
        // The session continues another, which had used 50,000.
        count(51_000, 1000),
        output("one"),
        output("two"),
        limits.clone(),
        count(51_000, 1000),
        call("three"),
        output("three"),
        count(53_500, 2500),
        limits,
        item(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]})),
        count(53_700, 200),
    ]);
    tells(&text, Format::OpenAi, &[("Hm.", 1000, 0), ("three", 2500, 0), ("Done.", 200, 0)]);
}

#[test]
fn bodies_of_interfaces() {
    let answer = json!({"role": "assistant", "content": "Hi.", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let text = lines(&[
        json!({"id": "c1", "object": "chat.completion", "choices": [{"index": 0, "message": answer, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42, "prompt_tokens_details": {"cached_tokens": 32}}}),
        json!({"id": "c2", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Bye."}}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 3, "total_tokens": 53}}),
    ]);
    tells(&text, Format::OpenAi, &[("Hi.", 42, 0), ("Bye.", 53, 0)]);

    let responses = json!({"id": "r1", "object": "response", "output": [
        {"type": "reasoning", "id": "x", "summary": []},
        {"type": "function_call", "id": "y", "call_id": "c", "name": "f", "arguments": "{}"}],
        "usage": {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 4, "total_tokens": 11}});
    tells(&responses.to_string(), Format::OpenAi, &[("f", 11, 0)]);

    let answer = json!({"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi."}, {"type": "tool_use", "id": "a", "name": "f", "input": {}}],
        "usage": {"input_tokens": 9, "cache_read_input_tokens": 100, "output_tokens": 1}});
    tells(
        &lines(&[json!({"role": "user", "content": [{"type": "text", "text": "Go."}]}), answer]),
        Format::Anthropic,
        &[("Hi.", 110, 0)],
    );

    // Usage beside a whole conversation is that of all of it.
    let whole = json!({"messages": [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "One."}, {"role": "user", "content": "On."}, {"role": "assistant", "content": "Two."}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20}});
    tells(&whole.to_string(), Format::OpenAi, &[("Two.", 120, 0)]);
    let last = read(&whole.to_string(), None).events.pop().unwrap();
    assert_eq!(last.event.context.labels["spent"], "whole run");
}

#[test]
fn gemini_writes_a_message_again_with_the_same_figures() {
    let message = |status: &str, tokens: Value| {
        json!({"id": "g1", "timestamp": "2026-05-01T10:00:00.000Z", "type": "gemini", "content": "Listing.", "tokens": tokens,
            "toolCalls": [{"id": "c", "name": "ls", "args": {}, "status": status, "result": [{"functionResponse": {"response": {"output": "a"}}}]}]})
    };
    let tokens = json!({"input": 900, "output": 30, "cached": 512, "thoughts": 12, "tool": 0, "total": 942});
    let head = json!({"sessionId": "s", "projectHash": "h", "startTime": "2026-05-01T10:00:00.000Z"});
    let text = lines(&[
        head,
        message("executing", Value::Null),
        message("executing", tokens.clone()),
        message("success", tokens),
    ]);
    // The figures arrived after the message: they go to its call, or to the agent's next event.
    let transcript = read(&text, None);
    assert_eq!(transcript.format, Format::GeminiCli);
    assert_eq!(transcript.events.iter().filter_map(|traced| traced.event.context.tokens).sum::<u64>(), 942);

    let api = json!({"attributes": {"event.name": "gemini_cli.api_response", "session.id": "s", "event.timestamp": "2026-05-01T10:00:00.000Z",
        "input_token_count": 10, "output_token_count": 2, "cached_content_token_count": 8, "thoughts_token_count": 3, "total_token_count": 15}});
    let call = json!({"attributes": {"event.name": "gemini_cli.tool_call", "session.id": "s", "event.timestamp": "2026-05-01T10:00:01.000Z",
        "function_name": "ls", "function_args": {}, "success": true}});
    tells(&lines(&[api, call]), Format::GeminiCli, &[("ls", 15, 0)]);
}

#[test]
fn openhands_counts_in_three_ways() {
    let action = |id: u64, more: Value| {
        let mut action =
            json!({"id": id, "source": "agent", "action": "run", "args": {"command": format!("step {id}")}});
        action.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        action
    };
    let so_far = |tokens: u64, cost: f64| json!({"llm_metrics": {"accumulated_cost": cost, "accumulated_token_usage": {"prompt_tokens": tokens, "completion_tokens": 1, "cache_read_tokens": 7}}});
    let history = json!([action(1, so_far(99, 0.01)), action(2, so_far(99, 0.01)), action(3, so_far(249, 0.0125))]);
    tells(&history.to_string(), Format::OpenHands, &[("run", 100, 10_000), ("run", 150, 2_500)]);

    let answer = |id: &str, call: u64, usage: Value| json!({"tool_call_metadata": {"tool_call_id": format!("c{call}"), "function_name": "execute_bash", "model_response": {"id": id, "usage": usage}}});
    let usage = |total: u64| json!({"prompt_tokens": total - 1, "completion_tokens": 1, "total_tokens": total});
    let history = json!([
        action(1, answer("r1", 1, usage(40))),
        action(2, answer("r1", 2, usage(40))),
        action(3, answer("r2", 3, usage(60)))
    ]);
    tells(&history.to_string(), Format::OpenHands, &[("execute_bash", 40, 0), ("execute_bash", 60, 0)]);

    // Beside the events: usage of each answer by its id, and the rest as a whole.
    let metrics = json!({"accumulated_cost": 0.5, "token_usages": [
        {"model": "m", "prompt_tokens": 10, "completion_tokens": 2, "response_id": "r1"},
        {"model": "m", "prompt_tokens": 20, "completion_tokens": 4, "response_id": "r2"}],
        "accumulated_token_usage": {"prompt_tokens": 35, "completion_tokens": 6}});
    let history = json!([action(1, answer("r1", 1, Value::Null)), action(2, answer("r2", 2, Value::Null))]);
    let run = json!({"instance_id": "i", "history": history, "metrics": metrics});
    tells(&run.to_string(), Format::OpenHands, &[("execute_bash", 12, 0), ("execute_bash", 24 + 5, 500_000)]);

    // The SDK reports each of its models separately, beside the events.
    let act = |id: &str| {
        json!({"id": id, "kind": "ActionEvent", "timestamp": "2026-05-01T10:00:00", "source": "agent", "thought": [], "tool_name": "terminal",
        "tool_call_id": id, "llm_response_id": id, "action": {"kind": "TerminalAction", "command": id}})
    };
    let state = |main: u64, condenser: u64| {
        json!({"id": format!("s{main}{condenser}"), "kind": "ConversationStateUpdateEvent", "source": "environment", "timestamp": "2026-05-01T10:00:00", "key": "stats",
        "value": {"usage_to_metrics": {"default": {"accumulated_cost": 0.0, "accumulated_token_usage": {"prompt_tokens": main, "completion_tokens": 0}},
            "condenser": {"accumulated_cost": 0.0, "accumulated_token_usage": {"prompt_tokens": condenser, "completion_tokens": 0}}}}})
    };
    let text = lines(&[act("a"), state(10, 0), state(10, 0), act("b"), state(30, 5)]);
    let transcript = read(&text, None);
    let told: Vec<u64> = transcript.events.iter().filter_map(|traced| traced.event.context.tokens).collect();
    assert_eq!(told, [10, 25]);
}

#[test]
fn swe_agents_tell_the_whole_or_each_answer() {
    let step = |n: u64| json!({"action": format!("ls {n}"), "observation": "x", "response": "", "thought": format!("Step {n}."), "state": "{}"});
    let run = json!({"trajectory": [step(1), step(2)], "info": {"model_stats": {"instance_cost": 1.25, "tokens_sent": 9000, "tokens_received": 100, "api_calls": 2}}});
    tells(&run.to_string(), Format::SweAgent, &[("tool-result", 9100, 1_250_000)]);

    let answer = |n: u64| {
        json!({"role": "assistant", "content": format!("Step {n}.\n```bash\nls {n}\n```"),
        "extra": {"response": {"usage": {"prompt_tokens": 100 * n, "completion_tokens": n, "total_tokens": 101 * n}}, "cost": 0.001}})
    };
    let result = json!({"role": "user", "content": "<returncode>0</returncode>\n<output>\na\n</output>"});
    let run = json!({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Go."}, answer(1), result, answer(2), result],
        "info": {"mini_version": "1.0", "model_stats": {"instance_cost": 0.002, "api_calls": 2}}, "trajectory_format": "mini-swe-agent-1"});
    tells(&run.to_string(), Format::SweAgent, &[("Step 1.", 101, 1000), ("Step 2.", 202, 1000)]);
}

#[test]
fn lang_chain_and_lang_smith() {
    let message = |n: u64, usage: Value| {
        json!({"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessage"],
        "kwargs": {"id": format!("m{n}"), "content": "", "tool_calls": [{"name": format!("t{n}"), "args": {}, "id": format!("c{n}")}], "usage_metadata": usage}})
    };
    let usage =
        json!({"input_tokens": 30, "output_tokens": 4, "total_tokens": 34, "input_token_details": {"cache_read": 20}});
    let provider = json!({"type": "ai", "content": "Hi.", "response_metadata": {"token_usage": {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11}}});
    tells(
        &json!([message(1, usage.clone()), provider]).to_string(),
        Format::LangChain,
        &[("t1", 34, 0), ("Hi.", 11, 0)],
    );

    let chunk = |text: &str, usage: Value| json!(["messages", [{"type": "AIMessageChunk", "id": "x", "content": text, "usage_metadata": usage}, {}]]);
    let stream = lines(&[
        chunk("He", json!({"input_tokens": 12, "output_tokens": 0, "total_tokens": 12})),
        chunk("llo", Value::Null),
        chunk("", json!({"input_tokens": 0, "output_tokens": 3, "total_tokens": 3})),
    ]);
    tells(&stream, Format::LangChain, &[("Hello", 15, 0)]);

    // A chain repeats the usage of its models.
    let run = |id: &str, parent: Value, kind: &str, more: Value| {
        let mut run = json!({"id": id, "trace_id": "t", "parent_run_id": parent, "run_type": kind, "name": id,
            "start_time": "2026-05-01T10:00:00.000000", "end_time": "2026-05-01T10:00:01.000000", "inputs": {}, "outputs": {}});
        run.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run
    };
    let answer = json!({"outputs": {"generations": [[{"text": "Hi.", "message": {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": {"content": "Hi.", "usage_metadata": usage}}}]]}});
    let text = lines(&[
        run("chain", Value::Null, "chain", json!({"total_tokens": 134, "total_cost": 0.002})),
        run(
            "told",
            json!("chain"),
            "llm",
            json!({"total_tokens": 100, "prompt_tokens": 90, "completion_tokens": 10, "total_cost": "0.0015", "outputs": {"messages": [{"role": "assistant", "content": "Told."}]}}),
        ),
        run("within", json!("chain"), "llm", answer),
    ]);
    let transcript = read(&text, None);
    assert_eq!(transcript.format, Format::OpenTelemetry);
    let sum = told(&transcript).iter().fold((0, 0), |sum, (_, tokens, cost)| (sum.0 + tokens, sum.1 + cost));
    assert_eq!(sum, (134, 1500));
}

#[test]
fn spans_in_every_dialect() {
    let span = |id: u64, attributes: Value| json!({"span_id": id.to_string(), "trace_id": "t", "name": "chat", "start_time": format!("2026-05-01T10:00:0{id}Z"), "end_time": format!("2026-05-01T10:00:0{id}Z"), "attributes": attributes});
    let agent = json!({"span_id": "0", "trace_id": "t", "name": "invoke_agent", "start_time": "2026-05-01T10:00:00Z", "end_time": "2026-05-01T10:01:00Z",
        "attributes": {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 999_999}});
    let text = lines(&[
        agent,
        span(
            1,
            json!({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 1, "gen_ai.usage.cache_read.input_tokens": 8,
            "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": "One."}]}]}),
        ),
        // Recorded without its messages: the call that follows carries the usage.
        span(
            2,
            json!({"gen_ai.operation.name": "chat", "gen_ai.usage.prompt_tokens": 20, "gen_ai.usage.completion_tokens": 2}),
        ),
        span(
            3,
            json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ls", "gen_ai.tool.call.arguments": "{}", "gen_ai.tool.call.result": "a"}),
        ),
        span(
            4,
            json!({"openinference.span.kind": "LLM", "llm.token_count.prompt": 30, "llm.token_count.completion": 3, "llm.token_count.total": 33, "llm.cost.total": 0.25,
            "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "Four."}),
        ),
        span(
            5,
            json!({"gen_ai.operation.name": "chat", "ai.usage.promptTokens": 40, "ai.usage.completionTokens": 4, "ai.response.text": "Five."}),
        ),
        span(
            6,
            json!({"gen_ai.operation.name": "chat", "llm.usage.total_tokens": "55", "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Six."}),
        ),
    ]);
    let expected = [("One.", 11, 0), ("ls", 22, 0), ("Four.", 33, 250_000), ("Five.", 44, 0), ("Six.", 55, 0)];
    tells(&text, Format::OpenTelemetry, &expected);

    let observation = |id: u64, more: Value| {
        let mut made = json!({"id": id.to_string(), "traceId": "t", "type": "GENERATION", "name": "g", "startTime": format!("2026-05-01T10:00:0{id}.000Z"), "endTime": format!("2026-05-01T10:00:0{id}.500Z"),
            "input": [{"role": "user", "content": format!("Question {id}")}], "output": {"role": "assistant", "content": format!("Answer {id}")}});
        made.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        made
    };
    let text = json!([
        observation(
            1,
            json!({"usage": {"input": 10, "output": 2, "total": 12, "unit": "TOKENS"}, "calculatedTotalCost": 0.004})
        ),
        observation(
            2,
            json!({"usageDetails": {"input": 5, "output": 1, "cache_read_input_tokens": 4}, "costDetails": {"total": 0.001}})
        ),
        observation(3, json!({"promptTokens": 7, "completionTokens": 8, "totalTokens": 15})),
    ]);
    tells(
        &text.to_string(),
        Format::OpenTelemetry,
        &[("Answer 1", 12, 4000), ("Answer 2", 10, 1000), ("Answer 3", 15, 0)],
    );
}

#[test]
fn the_ai_sdk() {
    let part = json!({"type": "tool-ls", "toolCallId": "a", "state": "output-available", "input": {}, "output": "x"});
    let text = json!([
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Go."}]},
        {"id": "2", "role": "assistant", "metadata": {"model": "m", "totalUsage": {"inputTokens": 80, "outputTokens": 8, "totalTokens": 88}}, "parts": [{"type": "step-start"}, part]},
        {"id": "3", "role": "assistant", "metadata": {"totalTokens": 12}, "parts": [{"type": "text", "text": "Done."}]}
    ]);
    tells(&text.to_string(), Format::AiSdk, &[("ls", 88, 0), ("Done.", 12, 0)]);

    let step = |n: u64, usage: Value| {
        json!({"id": n, "run_id": "r", "step_number": n, "type": "generate", "started_at": "2026-05-01T10:00:00.000Z",
        "input": json!({"prompt": [{"role": "user", "content": [{"type": "text", "text": "Go."}]}]}).to_string(),
        "output": json!({"content": [{"type": "tool-call", "toolCallId": n.to_string(), "toolName": format!("t{n}"), "input": "{}"}]}).to_string(),
        "usage": usage.to_string()})
    };
    let text = json!({"runs": [{"id": "r", "started_at": "2026-05-01T10:00:00.000Z"}], "steps": [
        step(1, json!({"inputTokens": {"total": 30, "noCache": 30}, "outputTokens": {"total": 3}})),
        step(2, json!({"inputTokens": 40, "outputTokens": 4, "totalTokens": 44}))]});
    tells(&text.to_string(), Format::AiSdk, &[("t1", 33, 0), ("t2", 44, 0)]);
}

#[test]
fn a_finding_says_what_its_loop_has_cost() {
    let mut detector = Detector::new(Config::default()).unwrap();
    let mut tell = |text: Value| {
        let event: Event = core_json::event(&text.to_string()).unwrap();
        detector.record(&event).unwrap()
    };
    let mut wasted = Vec::new();
    tell(
        json!({"type": "message", "role": "assistant", "text": "I read the file first.", "tokens": 5000, "costMicros": 90_000}),
    );
    for _ in 0..5 {
        tell(json!({"type": "tool-call", "tool": "search", "args": {"q": "x"}, "tokens": 700, "costMicros": 1200}));
        let verdict =
            tell(json!({"type": "tool-result", "tool": "search", "outcome": "error", "output": "Error: nothing here"}));
        wasted.extend(verdict.findings.first().map(|finding| (finding.wasted.tokens, finding.wasted.cost_micros)));
    }
    // Since the loop began: the first call was not wasted yet, and nothing before it was.
    assert_eq!(wasted.last().unwrap(), &(Some(4 * 700), Some(4 * 1200)), "{wasted:?}");
}

#[test]
fn tokens_cost_what_the_user_says_where_no_money_is_told() {
    let run = |config: &str, money: Option<u64>| {
        let mut detector = core_json::detector(config).unwrap();
        let mut last = None;
        for _ in 0..3 {
            let call = json!({"type": "tool-call", "tool": "read", "args": {"path": "a.rs"}, "tokens": 1801, "costMicros": money});
            let result = json!({"type": "tool-result", "tool": "read", "outcome": "error", "output": "no such file"});
            for event in [call, result] {
                last = Some(detector.record(&core_json::event(&event.to_string()).unwrap()).unwrap());
            }
        }
        let finding = &last.unwrap().findings[0];
        let report = detector.report(&loopwarden::model::Scope::default());
        assert_eq!(serde_json::to_value(&report).unwrap()["findings"][0]["wasted"], json!(finding.wasted));
        (finding.wasted.tokens, finding.wasted.cost_micros)
    };
    // What came after the first call. 1801 tokens at 2.50 per million are 4502.5 millionths, rounded down for each
    // event.
    let priced = r#"{"prices":{"millionTokens":"2.50"}}"#;
    assert_eq!(run("{}", None), (Some(3602), None));
    assert_eq!(run(priced, None), (Some(3602), Some(2 * 4502)));
    // A cost reported by an event takes precedence, even 0.
    assert_eq!(run(priced, Some(7)), (Some(3602), Some(14)));
    assert_eq!(run(priced, Some(0)), (Some(3602), Some(0)));
    assert_eq!(run(r#"{"prices":{"millionTokens":"0"}}"#, None), (Some(3602), Some(0)));
    // A snapshot includes the price.
    let detector = core_json::detector(priced).unwrap();
    assert_eq!(
        Detector::restore(&detector.snapshot()).unwrap().config().prices.million_tokens.as_deref(),
        Some("2.50")
    );
}
