use super::*;
use alloc::{borrow::ToOwned, string::ToString, vec};
use proptest::prelude::*;

fn claude(lines: &[&str]) -> Transcript {
    read(&lines.join("\n"), Some(Format::ClaudeCode))
}

/// Whether the error says that the whole file contains no events.
fn says_nothing(found: &LineError) -> bool {
    found.error.message.contains("tells of a message") || found.error.message.contains("of no known kind")
}

/// The events of Claude Code lines as JSON; asserts that there are no errors.
#[track_caller]
fn events(lines: &[&str]) -> Vec<String> {
    let transcript = claude(lines);
    let told = transcript.errors.iter().filter(|found| !says_nothing(found));
    assert_eq!(told.collect::<Vec<_>>(), [] as [&LineError; 0], "{lines:#?}");
    transcript.events.iter().map(crate::json::to_string).collect()
}

#[track_caller]
fn table(rows: &[(&str, &[&str])]) {
    for (line, expected) in rows {
        assert_eq!(events(&[line]), *expected, "{line}");
    }
}

/// `line:code:field` of every error.
fn failures(transcript: &Transcript) -> Vec<String> {
    let show = |found: &LineError| {
        let field = found.error.field.as_deref().unwrap_or("-");
        format!("{}:{}:{field}", found.line, found.error.code.name())
    };
    transcript.errors.iter().filter(|found| !says_nothing(found)).map(show).collect()
}

#[test]
fn a_turn_with_a_call_and_its_result() {
    let lines = [
        r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s1","isSidechain":false,"timestamp":"2026-01-02T03:04:05.000Z","cwd":"/srv/shop","version":"2.1.0","message":{"role":"user","content":"Fix the cart test"}}"#,
        r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s1","timestamp":"2026-01-02T03:04:06.500Z","requestId":"req_1","message":{"id":"msg_1","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"Run it first.","signature":"x"}]}}"#,
        r#"{"type":"assistant","uuid":"a2","parentUuid":"a1","sessionId":"s1","timestamp":"2026-01-02T03:04:06.600Z","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"I will run the test."}]}}"#,
        r#"{"type":"assistant","uuid":"a3","parentUuid":"a2","sessionId":"s1","timestamp":"2026-01-02T03:04:06.700Z","message":{"id":"msg_1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"npm test"}}]}}"#,
        r#"{"type":"user","uuid":"u2","parentUuid":"a3","sessionId":"s1","timestamp":"2026-01-02T03:04:09.000Z","toolUseResult":"Error: Exit code 1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"Exit code 1\n1 failing"}]}}"#,
    ];
    assert_eq!(
        events(&lines),
        [
            r#"{"type":"message","role":"user","text":"Fix the cart test","at":1767323045000,"run":"s1"}"#,
            r#"{"type":"message","role":"assistant","channel":"reasoning","text":"Run it first.","at":1767323046500,"run":"s1","round":"msg_1"}"#,
            r#"{"type":"message","role":"assistant","text":"I will run the test.","at":1767323046600,"run":"s1","round":"msg_1"}"#,
            r#"{"type":"tool-call","tool":"Bash","args":{"command":"npm test"},"callId":"toolu_1","at":1767323046700,"run":"s1","round":"msg_1"}"#,
            r#"{"type":"tool-result","callId":"toolu_1","tool":"Bash","outcome":"error","output":"Exit code 1\n1 failing","exitCode":1,"at":1767323049000,"run":"s1"}"#,
        ]
    );
    assert_eq!(claude(&lines).lines, [1, 2, 3, 4, 5]);
    // Whatever is read is a valid trace event.
    for event in events(&lines) {
        assert!(crate::json::trace_event(&event).is_ok(), "{event}");
    }
}

#[test]
fn outcomes() {
    let outcome = |content: &str, is_error: bool, host: &str| {
        let content = serde_json::to_string(content).unwrap();
        let line = format!(
            r#"{{"type":"user","toolUseResult":{host},"message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":{content},"is_error":{is_error}}}]}}}}"#
        );
        let transcript = claude(&[&line]);
        match &transcript.events[0].event.body {
            crate::model::Body::ToolResult(result) => (result.outcome.name(), result.exit_code),
            other => panic!("{other:?}"),
        }
    };
    let rows = [
        ("done", false, "null", ("ok", None)),
        ("1 failing", false, r#"{"stdout":"1 failing","interrupted":false,"exitCode":0}"#, ("ok", Some(0))),
        ("Exit code 2\nmake: *** [all] Error 2", true, "null", ("error", Some(2))),
        ("Error: Exit code 127\nsh: tset: not found", true, "null", ("error", Some(127))),
        ("Exit code 1", false, "null", ("ok", None)),
        ("<tool_use_error>File has not been read yet.</tool_use_error>", true, "null", ("error", None)),
        ("<tool_use_error>String to replace not found</tool_use_error>", false, "null", ("error", None)),
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            true,
            r#""User rejected tool use""#,
            ("denied", None),
        ),
        ("Permission for this tool use was denied.", true, "null", ("denied", None)),
        ("Claude requested permissions to write to /etc/hosts", true, "null", ("denied", None)),
        ("PreToolUse:Bash hook error: [guard.sh]: not on main", true, "null", ("denied", None)),
        ("[Request interrupted by user for tool use]", true, "null", ("not-executed", None)),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", true, "null", ("not-executed", None)),
        ("partial", false, r#"{"interrupted":true}"#, ("not-executed", None)),
        ("<tool_use_error>InputValidationError: Read failed</tool_use_error>", true, "null", ("invalid", None)),
        ("<tool_use_error>Error: No such tool available: Raed</tool_use_error>", true, "null", ("unknown-tool", None)),
        ("Exit code 143\nCommand timed out after 2m 0s", true, "null", ("timeout", Some(143))),
        ("Command timed out after 2m 0.0s", true, "null", ("timeout", None)),
        // Texts about a refusal are not refusals.
        ("grep: The user doesn't want to proceed with this tool use", true, "null", ("error", None)),
        ("The user doesn't want to proceed with this tool use", false, "null", ("ok", None)),
        ("Command timed out after 2m 0s", false, "null", ("ok", None)),
    ];
    for (content, is_error, host, expected) in rows {
        assert_eq!(outcome(content, is_error, host), expected, "{content}");
    }
}

#[test]
fn outputs() {
    let output = |content: &str| {
        let line = format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t"{content}}}]}}}}"#
        );
        match &claude(&[&line]).events[0].event.body {
            crate::model::Body::ToolResult(result) => result.output.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(output(""), "");
    assert_eq!(output(r#","content":null"#), "");
    assert_eq!(output(r#","content":[]"#), "");
    assert_eq!(output(r#","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#), "a\nb");
    assert_eq!(
        output(
            r#","content":"1\tlet x;\n\n<system-reminder>\nmind it\n</system-reminder>\n<system-reminder>x</system-reminder>\n""#
        ),
        "1\tlet x;"
    );
    assert_eq!(output(r#","content":"a </system-reminder>""#), "a </system-reminder>");
    let shot = |data: &str| {
        output(&format!(r#","content":[{{"type":"image","source":{{"type":"base64","data":"{data}"}}}}]"#))
    };
    assert!(shot("AAAA").starts_with("[image "));
    assert_eq!(shot("AAAA"), shot("AAAA"));
    assert_ne!(shot("AAAA"), shot("AAAB"));
    assert_eq!(output(r#","content":[{"type":"tool_reference","tool_name":"x"},7]"#), "[tool_reference]\n[block]");
}

#[test]
fn what_a_human_wrote_and_what_the_host_wrote() {
    let rows = [
        ("Fix it", "", false),
        ("why does <b>this</b> fail?", "", false),
        ("see <command-name> in the docs", "", false),
        ("<tickets> are broken", "", false),
        ("<system-reminder>todo list is empty</system-reminder>\nplease go on", "", false),
        ("<ide_opened_file>a.ts</ide_opened_file> explain", "", false),
        ("", "", false),
        ("<system-reminder>todo list is empty</system-reminder>\n", "", true),
        (
            "<command-name>/clear</command-name>\n  <command-message>clear</command-message>\n<command-args></command-args>",
            "",
            true,
        ),
        ("<local-command-stdout>ok</local-command-stdout>", "", true),
        ("<local-command-stdout>cut", "", true),
        ("<teammate-message from=\"x\">hi</teammate-message>", "", true),
        ("Caveat: The messages below were generated by the user while running local commands.", "", true),
        ("This session is being continued from a previous conversation that ran out of context.", "", true),
        ("Base directory for this skill", r#""isMeta":true,"#, true),
        ("Look at the cart", r#""isSidechain":true,"#, true),
        ("build finished", r#""origin":{"kind":"task-notification"},"#, true),
        ("typed", r#""origin":{"kind":"human"},"promptSource":"typed","#, false),
    ];
    for (text, extra, synthetic) in rows {
        let text = serde_json::to_string(text).unwrap();
        for content in [text.clone(), format!(r#"[{{"type":"text","text":{text}}}]"#)] {
            let line = format!(r#"{{"type":"user",{extra}"message":{{"content":{content}}}}}"#);
            let transcript = claude(&[&line]);
            assert_eq!(transcript.events.len(), 1, "{line}");
            assert_eq!(transcript.events[0].event.context.synthetic, synthetic, "{line}");
        }
    }
    table(&[
        (
            r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}}"#,
            &[r#"{"type":"host","kind":"intervention","name":"interrupt"}"#],
        ),
        (
            r#"{"type":"user","isMeta":true,"message":{"content":"Stop hook feedback:\n- tests fail"}}"#,
            &[
                r#"{"type":"host","kind":"hook-block","name":"Stop"}"#,
                r#"{"type":"message","role":"user","text":"Stop hook feedback:\n- tests fail","synthetic":true}"#,
            ],
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"image","source":{"type":"url"}},{"type":"text","text":"like this"}]}}"#,
            &[
                r#"{"type":"message","role":"user","text":"[image]"}"#,
                r#"{"type":"message","role":"user","text":"like this"}"#,
            ],
        ),
    ]);
}

#[test]
fn the_assistant() {
    table(&[
        (
            r#"{"type":"assistant","message":{"content":"plain"}}"#,
            &[r#"{"type":"message","role":"assistant","text":"plain"}"#],
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"(no content)"}]}}"#,
            &[r#"{"type":"message","role":"assistant","text":""}"#],
        ),
        (
            r#"{"type":"assistant","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}}"#,
            &[r#"{"type":"message","role":"assistant","text":"API Error: 529","synthetic":true}"#],
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":""},{"type":"redacted_thinking","data":"x"},{"type":"fallback"}]}}"#,
            &[],
        ),
        (
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}},{"type":"tool_use","id":"t2","name":"Read"}]}}"#,
            &[
                r#"{"type":"tool-call","tool":"Read","args":{},"callId":"t1","round":"m"}"#,
                r#"{"type":"tool-call","tool":"Read","callId":"t2","round":"m"}"#,
            ],
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Read","input":{"__unparsedToolInput":{"raw":"{\"a\": 1,2}","len":10}}}]}}"#,
            &[r#"{"type":"tool-call","tool":"Read","rawArgs":"{\"a\": 1,2}","callId":"t"}"#],
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"server_tool_use","id":"w","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"w","content":[{"type":"web_search_result","title":"X"}]}]}}"#,
            &[
                r#"{"type":"tool-call","tool":"web_search","args":{"query":"x"},"callId":"w"}"#,
                r#"{"type":"tool-result","callId":"w","tool":"web_search","outcome":"ok","output":"[web_search_result]"}"#,
            ],
        ),
    ]);
}

#[test]
fn sub_agents_sessions_and_repeated_lines() {
    table(&[
        (
            r#"{"type":"assistant","sessionId":"s","isSidechain":true,"agentId":"a7","message":{"content":"found"}}"#,
            &[r#"{"type":"message","role":"assistant","text":"found","run":"s","agent":"a7"}"#],
        ),
        (
            r#"{"type":"assistant","isSidechain":true,"message":{"content":"found"}}"#,
            &[r#"{"type":"message","role":"assistant","text":"found","agent":"sidechain"}"#],
        ),
        (
            r#"{"type":"assistant","session_id":"s","parent_tool_use_id":"toolu_9","message":{"content":"found"}}"#,
            &[r#"{"type":"message","role":"assistant","text":"found","run":"s","agent":"toolu_9"}"#],
        ),
    ]);
    let line = r#"{"type":"user","uuid":"u1","message":{"content":"once"}}"#;
    assert_eq!(events(&[line, line]).len(), 1);
}

#[test]
fn compaction_retries_and_bookkeeping() {
    let boundary = r#"{"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":155025}}"#;
    let summary =
        r#"{"type":"user","isCompactSummary":true,"message":{"content":"This session is being continued …"}}"#;
    let compaction = r#"{"type":"host","kind":"compaction","name":"auto"}"#;
    assert_eq!(events(&[boundary, summary]), [compaction]);
    assert_eq!(events(&[summary]), [r#"{"type":"host","kind":"compaction"}"#]);
    assert_eq!(events(&[boundary, summary, boundary, summary]).len(), 2);
    table(&[
        (
            r#"{"type":"system","subtype":"api_error","retryAttempt":2,"maxRetries":10}"#,
            &[r#"{"type":"host","kind":"retry","name":"api-error","detail":"2"}"#],
        ),
        (r#"{"type":"system","subtype":"turn_duration","durationMs":88947}"#, &[]),
        (r#"{"type":"summary","summary":"Cart","leafUuid":"x"}"#, &[]),
        (r#"{"type":"file-history-snapshot","snapshot":{}}"#, &[]),
        (r#"{"type":"progress","data":{},"uuid":"p"}"#, &[]),
        (r#"{"type":"queue-operation","operation":"enqueue"}"#, &[]),
    ]);
}

#[test]
fn broken_lines_are_numbered_and_the_rest_goes_on() {
    let text = "\u{feff}{\"type\":\"user\",\"message\":{\"content\":\"a\"}}\r\n\r\n{\"type\":\"user\",\"mess\r\n   \r\n[1]\r\nnull\r\n{\"type\":\"user\",\"message\":{\"content\":\"b\"}}\r\n{\"type\":\"assistant\",\"mes";
    let transcript = read(text, None);
    assert_eq!(transcript.format, Format::ClaudeCode);
    assert_eq!(transcript.lines, [1, 7]);
    assert_eq!(
        failures(&transcript),
        ["3:invalid-json:-", "5:invalid-event:-", "6:invalid-event:-", "8:invalid-json:-"]
    );
    assert!(transcript.errors.iter().all(|found| !found.error.message.contains("line 1")), "{:?}", transcript.errors);
}

/// A line without its last bracket, whatever the harness or the shell wrote after it.
#[test]
fn what_stands_behind_a_cut_line_goes_on() {
    let user = |text: &str| format!(r#"{{"type":"message","role":"user","text":"{text}"}}"#);
    let cut = |line: &str| line.strip_suffix('}').unwrap().to_owned();
    let call = r#"{"type":"tool-call","tool":"ls","args":{"all":true}}"#;
    for broken in [cut(&user("a")), cut(call), "[1,2".into(), r#"{"type":"message","synthetic":tru"#.into()] {
        for words in ["Killed", "npm warn deprecated", "node:internal/process", "  at line 3", "Terminated: 15", ""] {
            let text = [&*user("x"), &broken, words, &user("y"), &user("z")].join("\n");
            let transcript = read(&text, Some(Format::Trace));
            assert_eq!(transcript.events.len(), 3, "{text}");
            assert_eq!(transcript.lines, [1, 4, 5], "{text}");
            assert!(transcript.errors.iter().all(|found| matches!(found.line, 2 | 3)), "{text}");
            assert!(transcript.errors.len() > usize::from(!words.is_empty()), "{text}: {:?}", transcript.errors);
        }
    }
    // A value on several lines is one document, whatever its layout.
    for whole in [
        "{\n\"type\":\"message\"\n,\n\"role\":\n\"user\",\"text\":\"x\"\n}",
        "{\"type\":\"message\",\"role\":\"user\"\n,\"text\":\"x\"}",
        "{\"type\":\"message\",\"role\":\"user\",\n  \"text\": \"x\"\n}",
        "{\"type\":\"message\",\"role\":\"user\",\"text\":\"x\"\n}",
    ] {
        let text = [whole, &user("y")].join("\n");
        assert_eq!(read(&text, Some(Format::Trace)).events.len(), 2, "{text}");
    }
}

#[test]
fn wrong_types_are_named() {
    let rows: [(&str, &[&str]); 16] = [
        (r"{}", &["1:invalid-event:type"]),
        (r#"{"type":7}"#, &["1:invalid-event:type"]),
        (r#"{"type":"user"}"#, &["1:invalid-event:message"]),
        (r#"{"type":"user","message":"x"}"#, &["1:invalid-event:message"]),
        (r#"{"type":"user","message":{}}"#, &["1:invalid-event:message.content"]),
        (r#"{"type":"assistant","message":{"content":7}}"#, &["1:invalid-event:message.content"]),
        (
            r#"{"type":"assistant","message":{"content":[7,null]}}"#,
            &["1:invalid-event:message.content[0]", "1:invalid-event:message.content[1]"],
        ),
        (r#"{"type":"user","message":{"content":["x"]}}"#, &["1:invalid-event:message.content[0]"]),
        (
            r#"{"type":"user","message":{"content":[{"type":"text","text":{}}]}}"#,
            &["1:invalid-event:message.content[0].text"],
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"text"}]}}"#,
            &["1:invalid-event:message.content[0].text"],
        ),
        (
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":1}]}}"#,
            &["1:invalid-event:message.content[0].name"],
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":[]}]}}"#,
            &["1:invalid-event:message.content[0].tool_use_id"],
        ),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":{}}]}}"#,
            &["1:invalid-event:message.content[0].content"],
        ),
        (r#"{"type":"system","subtype":7,"compactMetadata":[]}"#, &[]),
        (r#"{"type":"user","timestamp":"yesterday","message":{"content":"kept"}}"#, &["1:invalid-event:timestamp"]),
        (
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x","is_error":"yes"}]}}"#,
            &["1:invalid-event:message.content[0].is_error"],
        ),
    ];
    for (line, expected) in rows {
        assert_eq!(failures(&claude(&[line])), *expected, "{line}");
    }
    let kept = claude(&[rows[14].0]);
    assert_eq!(kept.events.len(), 1, "a message without a usable time is still a message");
    // Optional fields of the wrong type are left out of the event.
    let odd = r#"{"type":"assistant","uuid":1,"sessionId":{},"isSidechain":"yes","agentId":3,"timestamp":null,"message":{"id":7,"model":[],"content":[{"type":"tool_use","id":null,"name":"x","input":[1]}]}}"#;
    assert_eq!(events(&[odd]), [r#"{"type":"tool-call","tool":"x","args":[1]}"#]);
}

/// Every value at every place of a line: never a panic, and whatever is read is a valid trace event.
#[test]
fn any_value_anywhere() {
    let template = r#"{"type":@,"uuid":@,"sessionId":@,"session_id":@,"parent_tool_use_id":@,"timestamp":@,"isMeta":@,"isSidechain":@,"agentId":@,"isCompactSummary":@,"isApiErrorMessage":@,"origin":@,"subtype":@,"retryAttempt":@,"compactMetadata":@,"toolUseResult":@,"message":{"id":@,"model":@,"content":[{"type":@,"text":@,"thinking":@,"id":@,"name":@,"input":@,"tool_use_id":@,"content":@,"is_error":@,"source":@}]}}"#;
    let values = [
        "null",
        "true",
        "0",
        "-1",
        "1e300",
        r#""""#,
        r#""x""#,
        r#""user""#,
        r#""assistant""#,
        r#""system""#,
        r#""text""#,
        r#""tool_use""#,
        r#""tool_result""#,
        r#""compact_boundary""#,
        r#""<tool_use_error>""#,
        r#""<tick""#,
        "[]",
        "{}",
        "[[]]",
        r#"{"kind":1,"raw":2,"data":3}"#,
        r#"{"__unparsedToolInput":{"raw":null}}"#,
        r#"[{"type":7,"text":8}]"#,
    ];
    let places = template.matches('@').count();
    for kind in [r#""user""#, r#""assistant""#, r#""system""#] {
        for block in [r#""text""#, r#""thinking""#, r#""tool_use""#, r#""tool_result""#, r#""image""#] {
            for place in 0..places {
                for value in values {
                    let mut at = 0;
                    let mut line = String::new();
                    for c in template.chars() {
                        if c != '@' {
                            line.push(c);
                            continue;
                        }
                        let default = match at {
                            0 => kind,
                            18 => block,
                            // Text, reasoning, id, name and call id: the fields a block needs.
                            19..=22 | 24 => r#""t""#,
                            _ => "null",
                        };
                        line.push_str(if at == place { value } else { default });
                        at += 1;
                    }
                    let transcript = claude(&[&line]);
                    assert_eq!(transcript.events.len(), transcript.lines.len());
                    for event in &transcript.events {
                        let event = crate::json::to_string(event);
                        assert!(crate::json::trace_event(&event).is_ok(), "{line}\n{event}");
                    }
                }
            }
        }
    }
}

#[test]
fn times_in_numbers() {
    for (stamp, at) in [
        ("1767323045", 1_767_323_045_000),
        ("1767323045.678", 1_767_323_045_678),
        ("1767323045678", 1_767_323_045_678),
        ("1767323045678.5", 1_767_323_045_678),
        ("0.5", 500),
        ("-1", -1_000),
        ("-1.5", -1_500),
        ("-0.25", -250),
    ] {
        let line = format!(r#"{{"type":"user","timestamp":{stamp},"message":{{"content":"a"}}}}"#);
        assert_eq!(claude(&[&line]).events[0].event.context.at, Some(at), "{stamp}");
    }
}

#[test]
fn huge_and_deep_lines() {
    let text = "x".repeat(8_000_000);
    let huge = format!(r#"{{"type":"user","message":{{"content":"{text}"}}}}"#);
    let deep = format!(r#"{{"type":"user","message":{{"content":{}1{}}}}}"#, "[".repeat(200_000), "]".repeat(200_000));
    let transcript = claude(&[&huge, &deep, &"[".repeat(1_000_000)]);
    assert_eq!(transcript.lines, [1]);
    assert_eq!(failures(&transcript), ["2:invalid-json:message", "3:invalid-json:-"]);
}

#[test]
fn traces() {
    let text = "{\"type\":\"message\",\"role\":\"user\",\"text\":\"go\"}\n\n{\"type\":\"tool-call\",\"tool\":\"ls\",\"pending\":true}\n{\"type\":\"tool-cal\",\"tool\":\"ls\"}\n{\"type\":\"output\",\"txt\":\"x\"}\n{\"type\":\"output\",\"text\":\"x\"}\n";
    let transcript = read(text, None);
    assert_eq!(transcript.format, Format::Trace);
    assert_eq!(transcript.lines, [1, 3, 6]);
    assert!(transcript.events[1].pending);
    assert_eq!(failures(&transcript), ["4:unknown-event:type", "5:invalid-event:txt"]);
}

#[test]
fn one_scenario_is_a_trace_and_several_are_not() {
    let one = r#"{"id":"a","events":[{"type":"output","text":"x"},{"type":"output","text":"y","pending":true}],"expect":"loop"}"#;
    let transcript = read(one, None);
    assert_eq!((transcript.lines.as_slice(), transcript.errors.len()), ([1, 1].as_slice(), 0));
    assert!(transcript.events[1].pending);
    let several = read(&[one, "", one, one].join("\n"), None);
    assert_eq!(several.events.len(), 2);
    assert_eq!(failures(&several), ["3:invalid-event:-"]);
    assert!(several.errors[0].error.message.contains("`eval`"));
    let wrong = read(r#"{"id":"a","events":[{"type":"outptu","text":"x"}]}"#, None);
    assert_eq!(failures(&wrong), ["1:unknown-event:events[0].type"]);
    assert_eq!(failures(&read(r#"{"id":"a","events":7}"#, None)), ["1:invalid-event:events"]);
}

#[test]
fn the_format_is_recognised() {
    let rows = [
        ("", Format::Trace),
        ("not json", Format::Trace),
        (r#"{"type":"nothing-known"}"#, Format::Trace),
        (r#"{"type":"progress","goal":"ship"}"#, Format::Trace),
        (r#"{"type":"progress","sessionId":"s","data":{}}"#, Format::ClaudeCode),
        (r#"{"type":"summary","summary":"x","leafUuid":"y"}"#, Format::ClaudeCode),
        (r#"{"type":"system","subtype":"init","session_id":"s"}"#, Format::ClaudeCode),
        (r#"{"type":"assistant","message":{"content":"x"}}"#, Format::ClaudeCode),
        (
            "{broken\n{\"type\":\"file-history-snapshot\"}\n{\"type\":\"user\",\"message\":{\"content\":\"x\"}}",
            Format::ClaudeCode,
        ),
        ("{broken\n{\"type\":\"output\"}", Format::Trace),
        (r#"{"id":"a","events":[]}"#, Format::Trace),
    ];
    for (text, expected) in rows {
        assert_eq!(read(text, None).format, expected, "{text}");
    }
    let forced = read(r#"{"type":"output","text":"x"}"#, Some(Format::ClaudeCode));
    assert_eq!((forced.format, forced.events.len()), (Format::ClaudeCode, 0));
}

#[test]
fn the_string_door() -> Result<(), Error> {
    let text = "{\"type\":\"output\",\"text\":\"x\"}\n{\"type\":\"output\"}\n";
    let expected = r#"{"format":"trace","events":[{"type":"output","text":"x"}],"lines":[1],"errors":[{"line":2,"error":{"code":"invalid-event","message":"missing field","field":"text"}}]}"#;
    for format in [None, Some("trace")] {
        assert_eq!(read_json(text, format)?, expected);
    }
    let claude = read_json(r#"{"type":"user","message":{"content":"x"}}"#, Some("claude-code"))?;
    assert!(claude.starts_with(r#"{"format":"claude-code","events":[{"type":"message""#), "{claude}");
    let error = read_json(text, Some("xml")).unwrap_err();
    assert_eq!(
        (error.code, error.field.as_deref(), error.value.as_deref()),
        (ErrorCode::InvalidArgument, Some("format"), Some("xml"))
    );
    for format in Format::ALL {
        let name = crate::json::to_string(&format);
        assert_eq!(Format::named(name.trim_matches('"')), Some(format));
        let empty = read_json("", Some(name.trim_matches('"')))?;
        assert_eq!(empty, format!(r#"{{"format":{name},"events":[],"lines":[],"errors":[]}}"#));
    }
    Ok(())
}

/// Words that make random JSON look like one of the formats.
fn word() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "type",
        "role",
        "content",
        "parts",
        "messages",
        "tool_calls",
        "toolCalls",
        "function",
        "name",
        "args",
        "arguments",
        "user",
        "assistant",
        "tool",
        "model",
        "gemini",
        "ai",
        "human",
        "data",
        "lc",
        "kwargs",
        "id",
        "call_id",
        "action",
        "observation",
        "cause",
        "extras",
        "kind",
        "ActionEvent",
        "ObservationEvent",
        "source",
        "timestamp",
        "history",
        "trajectory",
        "resourceSpans",
        "scopeSpans",
        "spans",
        "attributes",
        "key",
        "value",
        "stringValue",
        "traceId",
        "spanId",
        "gen_ai.operation.name",
        "execute_tool",
        "gen_ai.tool.name",
        "functionCall",
        "functionResponse",
        "response",
        "function_call",
        "function_call_output",
        "output",
        "status",
        "error",
        "state",
        "output-error",
        "tool-x",
        "toolCallId",
        "events",
        "output",
        "text",
        "event.name",
        "gemini_cli.tool_call",
        "function_name",
    ])
    .prop_map(str::to_owned)
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 96, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((word(), inner), 0..6).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

/// What holds of every transcript: each event and error has a line of the text, and whatever is read is a valid trace
/// event.
fn sound(text: &str, transcript: &Transcript) -> Result<(), TestCaseError> {
    let last = u32::try_from(text.split('\n').count()).unwrap();
    prop_assert_eq!(transcript.events.len(), transcript.lines.len());
    let lines = transcript.lines.iter().copied().chain(transcript.errors.iter().map(|found| found.line));
    for line in lines {
        prop_assert!((1..=last).contains(&line), "line {} of {}", line, last);
    }
    // Spans are ordered by time, and results moved behind their calls.
    let moves = |event: &TraceEvent| matches!(event.event.body, crate::model::Body::ToolResult(_));
    if transcript.format != Format::OpenTelemetry {
        let lines = transcript.lines.iter().zip(&transcript.events).filter(|(_, event)| !moves(event));
        prop_assert!(lines.map(|(line, _)| line).is_sorted());
    }
    for event in &transcript.events {
        let event = crate::json::to_string(event);
        prop_assert!(crate::json::trace_event(&event).is_ok(), "{}", event);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_is_a_transcript(text in any::<String>()) {
        for format in Format::ALL.map(Some).into_iter().chain([None]) {
            sound(&text, &read(&text, format))?;
        }
    }

    #[test]
    fn any_json_is_a_transcript(values in proptest::collection::vec(any_json(), 1..6), pretty in any::<bool>(), cut in any::<u16>()) {
        let show = |value: &Value| if pretty { format!("{value:#}") } else { value.to_string() };
        let whole = values.iter().map(show).collect::<Vec<_>>().join("\n");
        let end = (0..=usize::from(cut) % (whole.len() + 1)).rev().find(|end| whole.is_char_boundary(*end)).unwrap();
        for text in [whole.as_str(), whole.get(..end).unwrap_or_default()] {
            for format in Format::ALL.map(Some).into_iter().chain([None]) {
                sound(text, &read(text, format))?;
            }
        }
    }

    /// A broken line costs only itself, in every line-based format.
    #[test]
    fn a_broken_line_costs_one_error(values in proptest::collection::vec(any_json(), 1..6), at in any::<prop::sample::Index>()) {
        let lines: Vec<String> = values.iter().map(Value::to_string).collect();
        let place = at.index(lines.len() + 1);
        let mut broken = lines.clone();
        broken.insert(place, r#"{"type": "user", "content": "cut o"#.to_owned());
        for format in Format::ALL {
            // One scenario ends a trace.
            if format == Format::Trace && lines.iter().any(|line| line.contains("events")) {
                continue;
            }
            let [whole, broken] = [&lines, &broken].map(|lines| read(&lines.join("\n"), Some(format)));
            let told = |transcript: &Transcript| transcript.errors.iter().filter(|found| !says_nothing(found)).count();
            prop_assert_eq!(told(&broken), told(&whole) + 1);
            prop_assert_eq!(broken.events.len(), whole.events.len());
        }
    }
}

/// However a text is split, its parts add up to the whole.
#[test]
fn a_text_that_comes_in_pieces() {
    let lines = |count: usize| {
        let line = |at: usize| match at % 5 {
            0 => format!(r#"{{"type":"tool-call","tool":"t{at}","args":{{"a":"ä{at}"}}}}"#),
            1 => "{broken".to_owned(),
            2 => String::new(),
            _ => format!(r#"{{"type":"output","text":"line {at}"}}"#),
        };
        (0..count).map(line).collect::<Vec<_>>().join("\n")
    };
    let chat = |count: usize| {
        let message = |at: usize| format!("  {{\"role\": \"user\",\n   \"content\": \"number {at}\"}}");
        format!("{{\"messages\": [\n{}\n]}}", (0..count).map(message).collect::<Vec<_>>().join(",\n"))
    };
    let session = |at: usize| {
        format!(
            r#"{{"type":"system","subtype":"compact_boundary","sessionId":"s","uuid":"{at}"}}
{{"type":"user","isCompactSummary":true,"sessionId":"s","uuid":"{at}b","message":{{"content":"so far"}}}}"#
        )
    };
    let span = |at: usize| {
        format!(
            r#"{{"traceId":"t","spanId":"{at}","name":"execute_tool","startTimeUnixNano":"{}","endTimeUnixNano":"99999","attributes":{{"gen_ai.tool.name":"x"}}}}"#,
            1000 - at
        )
    };
    let texts = [
        lines(3),
        format!("\u{feff}{}\r\n", lines(40)),
        lines(230),
        chat(40),
        format!("{}\n{}", chat(3), chat(4)),
        (0..9).map(session).collect::<Vec<_>>().join("\n"),
        (0..9).map(span).collect::<Vec<_>>().join("\n"),
        format!("{}\n{}\n", r#"{"id":"a","events":[{"type":"output","text":"x"}]}"#, r#"{"id":"b","events":[]}"#),
        "[\n".to_owned(),
        String::new(),
    ];
    for text in &texts {
        let whole = read(text, None);
        for size in [1, 7, 64, 1000, 1 << 20] {
            let mut reader = Reader::new(None);
            let mut parts = Vec::new();
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let mut end = size.min(rest.len());
                while !rest.is_char_boundary(end) {
                    end += 1;
                }
                let (piece, after) = rest.split_at(end);
                parts.push(reader.feed(piece));
                rest = after;
            }
            parts.push(reader.finish());
            let format = parts.last().and_then(|part| part.format);
            assert_eq!(format, Some(whole.format), "{size}: {text}");
            let events: Vec<_> = parts.iter().flat_map(|part| part.events.clone()).collect();
            let lines: Vec<_> = parts.iter().flat_map(|part| part.lines.clone()).collect();
            let errors: Vec<_> = parts.iter().flat_map(|part| part.errors.clone()).collect();
            assert_eq!((events, lines, errors), (whole.events.clone(), whole.lines.clone(), whole.errors.clone()));
        }
    }
}

/// Events are handed out before the end.
#[test]
fn a_long_text_is_not_kept() {
    let mut reader = Reader::new(None);
    let mut events = 0;
    for at in 0..5000 {
        let part = reader.feed(&format!("{{\"type\":\"output\",\"text\":\"line {at}\"}}\n"));
        events += part.events.len();
    }
    assert!(events > 4990, "{events}");
    assert_eq!(events + reader.finish().events.len(), 5000);
}

/// With large entries, events are handed out before there are thousands of them.
#[test]
fn a_text_of_large_entries_is_not_kept() {
    let content = "word ".repeat(1200);
    let entry = |at: usize| format!("{{\"role\":\"user\",\"content\":\"{at} {content}\"}}\n");
    let mut reader = Reader::new(Some(Format::OpenAi));
    let (mut events, mut kept, mut most) = (0, 0, 0);
    for at in 0..1200 {
        kept += 1;
        let part = reader.feed(&entry(at));
        kept -= part.events.len();
        most = most.max(kept);
        events += part.events.len();
    }
    // At 2 MB, but no fewer events than the least in a window.
    assert!((512..=514).contains(&most), "{most}");
    assert_eq!(events + reader.finish().events.len(), 1200);
}

#[test]
fn a_call_without_a_name_is_told_all_the_same() {
    let text = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":" ","input":{}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"no such tool","is_error":true}]}}"#;
    let transcript = read(text, Some(Format::ClaudeCode));
    let tools: Vec<Option<&str>> = transcript
        .events
        .iter()
        .map(|traced| match &traced.event.body {
            crate::model::Body::ToolCall(call) => Some(call.tool.as_str()),
            crate::model::Body::ToolResult(result) => result.tool.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(tools, [Some("unknown"), None]);
}
