//! Whether a call changes anything, and what kind of call it is.
//!
//! Progress requires a change, so a read-only call must not pass for one. The configuration takes precedence, then the
//! host's `readOnly` hint; otherwise the tool's name decides, and for a shell the command line. An agent's own notes
//! (to-do lists, plans) are no change.

use super::canonical::{is_rationale, named_arguments};
use super::digest::{Key, combine, key, mark};
use super::mask::has_known_extension;
use super::named::ToolName;
use super::outcome::Empty;
use super::programs::{is_shell, leading, line_filters, line_mutates, line_writes, script_mutates};
use super::request::Asks;
use super::sql::changes_table;
use super::target::names_place;
use super::waits::{asks_health, awaits_output, shows_state};
use super::words::any_in;
use crate::codec::codec;
use crate::model::ToolCall;
use alloc::{borrow::Cow, vec::Vec};
use serde_json::Value;

/// Whether `call` changes something: as configured, else by hint, command line, script, name or SQL statement.
pub(crate) fn mutates(call: &ToolCall, named: &ToolName, configured: Option<bool>) -> bool {
    if let Some(configured) = configured {
        return configured;
    }
    // Hosts copy `false` from servers that said nothing, so only `true` is a statement.
    if call.read_only == Some(true) {
        return false;
    }
    if let Some(command) = command(call, named) {
        // A shell that offers its programs as tools: `edit` with `edit 13:13 …`.
        let own =
            || !named.shell && named.says() == Some(true) && command.split_whitespace().next() == Some(&*call.tool);
        return line_mutates(&command) || own();
    }
    if named.notes || awaits_output(call) {
        return false;
    }
    if let Some(script) = script(call, named) {
        return script_mutates(script);
    }
    named.says().unwrap_or(false) || !named.search && changes_table(call)
}

/// The emptiest answer that still is a success. A call that changes something or looks for problems may return nothing;
/// a call that asks for something may not.
pub(crate) fn quiet(call: &ToolCall, named: &ToolName, mutates: bool, asks: Asks) -> Empty {
    let looks = || call.read_only == Some(true) || named.says() == Some(false);
    if mutates && changes_table(call) {
        Empty::All
    } else if mutates || named.complains && named.verb != Some(false) {
        Empty::List
    } else if named.shell {
        // A search that prints nothing has found nothing.
        let finds = || command(call, named).is_some_and(|line| line_filters(&line));
        if asks == Asks::Search || finds() { Empty::Nothing } else { Empty::Blank }
    } else if matches!(asks, Asks::Nothing | Asks::View | Asks::Gesture) && (named.checks || !looks()) {
        Empty::Null
    } else if named.opens && names_a_file(call) {
        // What is in a file is often left out of a log.
        Empty::Blank
    } else {
        Empty::Nothing
    }
}

/// Whether a call or one of its arguments is named after a file.
fn names_a_file(call: &ToolCall) -> bool {
    let fields = call.args.as_ref().and_then(Value::as_object).into_iter().flat_map(|map| map.keys());
    any_in("file", &call.tool) || fields.clone().any(|name| any_in("file path", name))
}

/// The command line of a call: what a shell is given, or the `command` of any other tool that reads like one. A program
/// with its arguments as a list is joined by blanks.
pub(crate) fn command<'a>(call: &'a ToolCall, named: &ToolName) -> Option<Cow<'a, str>> {
    let shell = named.shell;
    if shell && let Some(text) = &call.raw_args {
        return Some(Cow::Borrowed(text));
    }
    match call.args.as_ref()? {
        Value::String(line) if shell => Some(Cow::Borrowed(line)),
        Value::Object(map) => {
            // Few tools other than shells have such an argument.
            if !shell && !map.keys().any(|name| name.starts_with('c')) {
                return None;
            }
            let names: &[&str] =
                if shell { &["command", "cmd", "script", "input", "code"] } else { &["command", "cmd"] };
            let line = names.iter().find_map(|name| match map.get(*name)? {
                Value::String(line) => Some(Cow::Borrowed(line.as_str())),
                Value::Array(words) => joined(words),
                _ => None,
            })?;
            (shell || line.trim().contains(char::is_whitespace)).then_some(line)
        }
        _ => None,
    }
}

/// `["ls", "-l"]` as a line; for `["bash", "-lc", "…"]`, the inner line.
fn joined(words: &[Value]) -> Option<Cow<'_, str>> {
    let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
    match words.as_slice() {
        [] => None,
        [shell, flags, line] if is_shell(shell) && flags.starts_with('-') => Some(Cow::Borrowed(line)),
        words => Some(Cow::Owned(words.join(" "))),
    }
}

/// A program in a language other than the shell's.
fn script<'a>(call: &'a ToolCall, named: &ToolName) -> Option<&'a str> {
    let map = named_arguments(call)?;
    if named.verb.is_some() || !named.language {
        return None;
    }
    ["code", "script", "source", "input"].iter().find_map(|name| map.get(*name)?.as_str())
}

/// Length in bytes of the arguments from which an edit is specific enough that repeating it is hardly meant for another
/// reason.
const CONTENT: usize = 48;

/// Whether a call that changes something contains the change itself, such as an edit or a file's content, so that the
/// same call is the same change. The result of a build, a deployment or a copy depends on what was changed before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Edit {
    #[default]
    No,
    /// Sets a short value.
    Brief,
    /// Writes content.
    Whole,
    /// Writes to a file, but tells only which: two such edits need not be the same.
    Untold,
}
codec!(enum Edit { No: 0, Brief: 1, Whole: 2, Untold: 3 });

/// What kind of edit a call that changes something is; `arguments` are its arguments as text.
pub(crate) fn edit(call: &ToolCall, named: &ToolName, arguments: &str) -> Edit {
    let edits = if named.shell {
        command(call, named).is_some_and(|line| line_writes(&line))
    } else {
        named.edits || named.action.edits
    };
    match edits {
        false => Edit::No,
        true if holds_change(call) => {
            if arguments.len() < CONTENT {
                Edit::Brief
            } else {
                Edit::Whole
            }
        }
        true if !named.shell && names_file(call) => Edit::Untold,
        true => Edit::Brief,
    }
}

/// Whether the arguments hold more than a place and why something is done there.
fn holds_change(call: &ToolCall) -> bool {
    let beside = |name: &str, value: &Value| {
        is_rationale(name) || names_place(name) && value.as_str().is_some_and(|place| !place.contains('\n'))
    };
    named_arguments(call).is_none_or(|args| args.iter().any(|(name, value)| !beside(name, value)))
}

/// Whether one of the arguments is the path of a file, or a rationale that tells one.
fn names_file(call: &ToolCall) -> bool {
    let names = |name: &str, value: &str| {
        names_place(name) && value.contains(['/', '.', '\\'])
            || is_rationale(name)
                && value
                    .split_whitespace()
                    .any(|word| has_known_extension(word.trim_matches(|char: char| !char.is_alphanumeric())))
    };
    named_arguments(call)
        .is_some_and(|args| args.iter().any(|(name, value)| value.as_str().is_some_and(|value| names(name, value))))
}

/// The kind of a call, by its tool and for a shell by its program; and whether it shows the state of something that
/// changes by itself.
pub(crate) fn kind(call: &ToolCall, named: &ToolName, tool: Key) -> (u32, bool) {
    let line = if named.shell { command(call, named) } else { None };
    let (program, shows) = match line.as_deref().and_then(leading) {
        Some((name, first)) => {
            let asks = || line.as_deref().is_some_and(asks_health);
            (key("program", name.as_bytes()), shows_state(name, first) || asks())
        }
        None => (0, false),
    };
    (kind_of(tool, program), named.watches || shows)
}

/// The kind of a tool's calls, or of those that run a program; `program` is that program's key, or 0.
pub(crate) fn kind_of(tool: Key, program: Key) -> u32 {
    mark(combine("kind", &[tool, program]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutates(call: &ToolCall, configured: Option<bool>) -> bool {
        super::mutates(call, &ToolName::of_call(call), configured)
    }
    use serde_json::json;

    fn call(tool: &str, args: Value) -> ToolCall {
        ToolCall { tool: tool.into(), args: Some(args), ..ToolCall::default() }
    }

    #[test]
    fn names_and_actions() {
        for (tool, args, expected) in [
            ("write_file", json!({}), true),
            ("editFile", json!({}), true),
            ("mcp__github__create_issue", json!({}), true),
            ("mcp__update-server__list_issues", json!({}), false),
            ("fs.remove", json!({}), true),
            ("str_replace_editor", json!({"command": "str_replace", "path": "a"}), true),
            ("str_replace_editor", json!({"command": "view", "path": "a"}), false),
            ("search_replace", json!({"file_path": "a", "old_string": "b", "new_string": "c"}), true),
            ("find_and_replace", json!({"file": "a", "find": "b", "with": "c"}), true),
            ("http_request", json!({"method": "POST"}), true),
            ("http_request", json!({"method": "GET"}), false),
            ("book_flight", json!({}), true),
            ("get_book", json!({}), false),
            ("get_post", json!({}), false),
            ("call_service", json!({"service": "turn_off", "entity": "lamp"}), true),
            ("call_service", json!({"service": "get_forecasts"}), false),
            ("logs", json!({"service": "checkout"}), false),
            ("get_logs", json!({"service": "checkout"}), false),
            ("list_updates", json!({}), false),
            ("search", json!({"command": "update"}), true),
            ("query", json!({"sql": "UPDATE boats SET length = 9 WHERE name = 'Ida'"}), true),
            ("execute_sql", json!({"statement": " insert into boats values (1)"}), true),
            ("query", json!({"sql": "with x as (select a from boats) select a from x"}), false),
            ("query", json!({"sql": "with x as (select a from boats for update) select a from x"}), false),
            ("psql", json!({"sql": "with x as (select a from boats limit 9) update boats b set c = 1 from x"}), true),
            ("psql", json!({"sql": "UPDATE boats AS b SET c = 1"}), true),
            ("ask", json!({"question": "Update the page and set it in bold"}), false),
            ("web_search", json!({"query": "create table syntax"}), false),
            ("bookshelf", json!({}), false),
            ("settings", json!({}), false),
            ("click", json!({}), false),
            ("TodoWrite", json!({}), false),
            ("update_plan", json!({}), false),
            ("apply_patch", json!("*** Begin Patch"), true),
            ("execute_python", json!({"code": "open('a','w').write('x')"}), true),
            ("execute_python", json!({"code": "p.open('w')"}), true),
            ("execute_python", json!({"code": "print(open('a').read())"}), false),
        ] {
            let call = call(tool, args);
            assert_eq!(mutates(&call, None), expected, "{call:?}");
            assert!(mutates(&call, Some(true)) && !mutates(&call, Some(false)));
            assert!(!mutates(&ToolCall { read_only: Some(true), ..call.clone() }, None));
            assert_eq!(mutates(&ToolCall { read_only: Some(false), ..call }, None), expected);
        }
    }

    #[test]
    fn shells() {
        let line = |args: Value| command(&call("bash", args), &ToolName::of("bash")).map(Cow::into_owned);
        assert_eq!(line(json!({"command": "ls -l"})).as_deref(), Some("ls -l"));
        assert_eq!(line(json!({"cmd": ["bash", "-lc", "ls | wc"]})).as_deref(), Some("ls | wc"));
        assert_eq!(line(json!({"cmd": ["rm", "a"]})).as_deref(), Some("rm a"));
        assert_eq!(line(json!("ls")).as_deref(), Some("ls"));
        assert_eq!(line(json!({"path": "ls"})), None);
        assert_eq!(command(&call("editor", json!({"command": "view"})), &ToolName::of("editor")), None);
        assert!(command(&call("sandbox", json!({"command": "ls -l"})), &ToolName::of("sandbox")).is_some());
    }

    #[test]
    fn what_an_empty_answer_means() {
        let quiet = |tool: &str, args: Value| {
            let call = call(tool, args);
            let named = ToolName::of_call(&call);
            quiet(&call, &named, super::mutates(&call, &named, None), super::super::asks(&call, &named))
        };
        let path = || json!({"path": "a"});
        for (tool, most) in [
            ("lint", Empty::List),
            ("write_file", Empty::List),
            ("run_tests", Empty::List),
            ("resize", Empty::Null),
            ("check_hull", Empty::Null),
            ("bash", Empty::Blank),
            ("list_tests", Empty::Nothing),
            ("read_file", Empty::Blank),
            ("read", Empty::Blank),
            ("get_file_errors", Empty::Nothing),
            ("find_berth", Empty::Nothing),
            ("web_search", Empty::Nothing),
        ] {
            assert_eq!(quiet(tool, path()), most, "{tool}");
        }
        assert_eq!(quiet("read_mail", json!({"box": "in"})), Empty::Nothing);
        assert_eq!(quiet("orders", json!({"query": "which are open for the harbour"})), Empty::Nothing);
        let mut told = call("orders", path());
        told.read_only = Some(true);
        assert_eq!(super::quiet(&told, &ToolName::of("orders"), false, Asks::Nothing), Empty::Nothing);
    }

    #[test]
    fn calls_that_hold_their_change() {
        let holds = |tool: &str, args: Value| {
            let text = serde_json::to_string(&args).unwrap();
            let call = call(tool, args);
            edit(&call, &ToolName::of_call(&call), &text) == Edit::Whole
        };
        for line in [
            "sed -i 's/port: 8080/port: 9090/' deploy/values.yaml",
            "cd app && sed -i.bak -e 's/a/b/' config.toml && make",
            "cat > notes/plan.md <<'EOF'\n# Plan\nEOF",
            "echo 'max_depth = 3' >> settings.toml && cargo build",
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.rs\n+let b = 2;\n*** End Patch\nEOF",
            "apply_patch *** Begin Patch\n*** Update File: a.rs\n+let b = 2;\n*** End Patch",
            "cd app && git apply <<'EOF'\n--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n+b\nEOF",
            "text_editor insert notes/plan.md --insert_line 4 --new_str '# What is left of the plan'",
        ] {
            assert!(holds("bash", json!({ "command": line })), "{line}");
        }
        let place = "payments/src/main/java/com/example/payouts/Handler.java";
        assert!(holds("edit", json!({"path": place, "new_text": "x"})));
        let untold = |tool: &str, args: Value| {
            let call = call(tool, args);
            edit(&call, &ToolName::of_call(&call), "{}") == Edit::Untold
        };
        assert!(untold(
            "edit_file",
            json!({"path": "src/main.rs", "description": "Keys that are too long are refused"})
        ));
        for summary in ["Edit file: d:\\quay\\src\\Berth.tsx", "Edited `src/Lamp.tsx`.", "Edit the lamp (Lamp.tsx)"] {
            assert!(untold("edit_file", json!({ "summary": summary })), "{summary}");
        }
        for args in [
            json!({}),
            json!({"summary": "Edit the berth"}),
            json!({"path": "main"}),
            json!({"path": "a.rs", "old": "b"}),
        ] {
            assert!(!untold("edit_file", args.clone()), "{args}");
        }
        // What was changed is only told.
        assert!(!holds("edit", json!({"path": place, "summary": "keys that are too long are refused"})));
        for line in [
            "sed -n '10,40p' src/very/long/path/of/a/file.rs",
            "make clean && make -j4 all > build.log 2>&1 && tail build.log",
            "cp -r dist/assets /srv/www/assets && systemctl restart nginx",
            "echo done > x",
            "git apply fixes/of/the/evening.patch && make all && make install",
        ] {
            assert!(!holds("bash", json!({ "command": line })), "{line}");
        }
        assert!(holds("edit_file", json!({"path": "src/main.rs", "old": "let a = 1;", "new": "let a = 2;"})));
        assert!(holds(
            "str_replace_editor",
            json!({"command": "str_replace", "path": "a.rs", "old_str": "a()", "new_str": "b()"})
        ));
        assert!(!holds("set_light", json!({"on": true})));
        assert!(!holds("deploy", json!({"service": "shop", "version": "2.14.0", "environment": "staging"})));
    }
}
