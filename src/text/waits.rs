//! How long a call waits according to itself, how long an answer asks to wait, and which calls look at something that
//! changes by itself and so is waited for.

use super::canonical::named_arguments;
use super::ends::head;
use super::mask::end_of_digits;
use super::mutation::command;
use super::named::{ToolName, own_name};
use super::words::{any_in, is_in, name_words, same, same_start};
use crate::model::ToolCall;
use alloc::string::String;
use serde_json::Value;

/// Words in arguments that say how long a call waits.
const WAITS: &str = "backoff cooldown delay pause retry sleep wait";
/// Words in the names of arguments in milliseconds.
const MILLISECONDS: &str = "millis milliseconds ms";

/// Words in the names of arguments in minutes, and in hours.
const MINUTES: &str = "min mins minute minutes";
const HOURS: &str = "hour hours hr hrs";

/// How long a call waits before it acts, in milliseconds, if an argument says so.
pub(crate) fn backoff(call: &ToolCall) -> Option<i64> {
    let map = named_arguments(call)?;
    let waits = |(name, value): &(&String, &Value)| value.is_u64() && any_in(WAITS, name);
    map.iter().filter(waits).find_map(|(name, value)| milliseconds(name, value))
}

/// Words in answers that introduce how long to wait, and within how many words, with this one, that must follow.
const LATER: &str = "again retry retryafter retrying wait";
const UNTIL: usize = 4;
/// Bytes of an answer that are searched for it.
const ANSWER: usize = 600;
/// The longest wait that an answer may ask for, in milliseconds.
const LONGEST_WAIT: i64 = 3_600_000;

/// How long an answer asks to wait before the next try, in milliseconds: `retry-after: 8`, `try again in 500 ms`.
pub(crate) fn asked_wait(answer: &str) -> Option<i64> {
    let answer = head(answer, ANSWER);
    let mut words = answer.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    let (mut left, mut unit) = (0_usize, None);
    while let Some(word) = words.next() {
        if is_in(LATER, word) {
            (left, unit) = (UNTIL, None);
            continue;
        }
        left = left.saturating_sub(1);
        if left == 0 {
            continue;
        }
        let digits = end_of_digits(word.as_bytes(), 0);
        let Some((number, behind)) = word.split_at_checked(digits).filter(|_| digits > 0) else {
            unit = length(word).or(unit);
            continue;
        };
        let behind = if behind.is_empty() { words.peek().copied().unwrap_or_default() } else { behind };
        let unit = length(behind).or(unit).unwrap_or(1000);
        return number
            .parse()
            .ok()
            .map(|number: i64| number.saturating_mul(unit))
            .filter(|wait| (1..=LONGEST_WAIT).contains(wait));
    }
    None
}

/// The length of a unit of time in milliseconds.
fn length(unit: &str) -> Option<i64> {
    let is = |short: &str, words: &str| same(short, unit) || is_in(words, unit);
    match () {
        () if is("ms", MILLISECONDS) => Some(1),
        () if is("s", "sec second seconds secs") => Some(1000),
        () if is("m", MINUTES) => Some(60_000),
        () if is("h", HOURS) => Some(3_600_000),
        () => None,
    }
}

/// The length of time that a text states and nothing else, in milliseconds: `4m`, `30 seconds`.
fn stated(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at_checked(end_of_digits(text.as_bytes(), 0))?;
    number.parse::<i64>().ok()?.checked_mul(length(unit.trim())?)
}

/// The length of time given by an argument, in milliseconds; seconds unless the argument or its name says otherwise.
fn milliseconds(name: &str, value: &Value) -> Option<i64> {
    let number = match value {
        Value::String(text) => match stated(text) {
            Some(length) => return Some(length),
            None => text.parse().ok()?,
        },
        value => i64::try_from(value.as_u64()?).ok()?,
    };
    Some(number.saturating_mul(match () {
        () if any_in(MILLISECONDS, name) => 1,
        () if any_in(MINUTES, name) => 60_000,
        () if any_in(HOURS, name) => 3_600_000,
        () => 1000,
    }))
}

/// Milliseconds from which a call that waits according to itself is meant to be repeated.
const LONG_WAIT: i64 = 4_000;
/// The same where an argument says so; pages are loaded with shorter waits as well.
const LONG_WAIT_OF_A_LOOK: i64 = 10_000;
/// Milliseconds from which a call that waits is meant to outlast a transient error.
const SHORT_WAIT: i64 = 1_000;
/// Words in the names of tools that wait.
pub(super) const SLEEPERS: &str = "delay pause sleep wait";

/// Words that may accompany them in the name of a tool that does nothing else.
const SPANS: &str = "for minutes ms seconds some time until";

/// Whether an argument of this name says how long a call waits before it answers: `wait_s`, `waitSeconds`.
fn says_wait(name: &str) -> bool {
    same_start(name, "wait") && name_words(name).last().is_some_and(|last| length(last).is_some())
}

/// Whether a tool of this name does nothing but wait: `sleep`, `wait_seconds`, `browser_wait_for`, `rig.wait`.
fn only_waits(tool: &str) -> bool {
    let own = own_name(tool);
    let waits = |word: &str| is_in(SLEEPERS, word) || is_in(SPANS, word) || same(word, "browser");
    own.ends_with("sleep") || name_words(own).all(waits)
}

/// Words of reading tools that look for something to arrive.
pub(super) const ARRIVES: &str = "email mail mails sms";
/// Words of tools that report the state of something that changes by itself.
pub(super) const WATCHERS: &str = "alive gmail health imap inbox kubectl mailbox monitor ping poll \
    progress queue readiness ready state status track tracking uptime wait watch";

/// Whether a program with this first argument reports the state of something that changes by itself; some programs do
/// so only with certain subcommands.
pub(super) fn shows_state(program: &str, first: Option<&str>) -> bool {
    let subcommands = match program {
        "dig" | "host" | "lpq" | "lpstat" | "nc" | "nslookup" | "pg_isready" | "pgrep" | "ping" | "qstat"
        | "squeue" => {
            return true;
        }
        "docker" => "inspect ps",
        "gh" => "pr run",
        "kubectl" => "get rollout",
        "systemctl" => "is-active is-system-running status",
        "zpool" => "status",
        _ => return false,
    };
    first.is_some_and(|first| subcommands.split(' ').any(|one| one == first))
}

/// Paths at which services report their health.
const HEALTH: [&str; 5] = ["/health", "/livez", "/ping", "/ready", "/status"];

/// Whether a command line asks a service for its health: `curl -s localhost:8080/health`.
pub(super) fn asks_health(line: &str) -> bool {
    ["curl", "wget", "http "].iter().any(|program| line.contains(program))
        && HEALTH.iter().any(|path| line.contains(path))
}

/// Maximum number of bytes of code that waits for what a process prints.
const LINE_OF_CODE: usize = 400;
/// Maximum number of bytes of a line that does nothing but wait.
const LINE_OF_WAIT: usize = 24;

/// Whether a call only waits for what a running process prints: it writes nothing to its input, directly or in a line
/// of code (`await tools.write_stdin({session_id: 7, chars: ""})`).
pub(super) fn awaits_output(call: &ToolCall) -> bool {
    const WRITES: &str = "write_stdin";
    let Some(arguments) = named_arguments(call) else { return false };
    if call.tool.ends_with(WRITES) {
        return arguments.get("chars").and_then(Value::as_str) == Some("");
    }
    let code = || arguments.values().next().and_then(Value::as_str);
    arguments.len() == 1
        && code().is_some_and(|code| {
            let writes = code.len() <= LINE_OF_CODE && code.contains('{') && code.contains(WRITES);
            writes && (code.contains("chars:\"\"") || code.contains("chars: \"\""))
        })
}

/// How long a call waits before it does what it is for, according to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    No,
    /// Long enough to outlast a transient failure.
    Short,
    /// So long that it is meant to be repeated.
    Long,
    /// It waits and does nothing else.
    Only,
}

/// Whether a call says that it waits, and for how many milliseconds: a tool that sleeps, a command line with a `sleep`
/// in it, or a look with a long wait (`wait_s: 60`).
pub(crate) fn waits(call: &ToolCall, named: &ToolName) -> (Waits, i64) {
    if action_line(call).is_some_and(idles) {
        return (Waits::Only, SHORT_WAIT);
    }
    if awaits_output(call) {
        return (Waits::Long, 0);
    }
    let (length, only) = if let Some(line) = command(call, named) {
        let length = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
        (sleeps(&line), line.trim().strip_prefix("sleep ").is_some_and(length))
    } else if named.sleeps {
        let arguments = named_arguments(call);
        let lengths = arguments.into_iter().flatten().filter_map(|(name, value)| milliseconds(name, value));
        // With other arguments, the tool may wait and then show something.
        let plain = arguments.is_none_or(|arguments| {
            arguments.iter().all(|(name, value)| value.is_number() || milliseconds(name, value).is_some())
        });
        (lengths.max().unwrap_or(0), plain && only_waits(&call.tool))
    } else {
        let Some(map) = named_arguments(call) else { return (Waits::No, 0) };
        let waits = |(name, value): &(&String, &Value)| value.is_u64() && says_wait(name);
        let length = map.iter().filter(waits).filter_map(|(name, value)| milliseconds(name, value)).max();
        // Waiting for a page to load is normal, and shorter.
        let awaits = !named.interface && named.says() != Some(true);
        (length.filter(|length| awaits && *length >= LONG_WAIT_OF_A_LOOK).unwrap_or(0), false)
    };
    match length {
        _ if only && length >= if named.interface { LONG_WAIT_OF_A_LOOK } else { SHORT_WAIT } => (Waits::Only, length),
        _ if length >= LONG_WAIT => (Waits::Long, length),
        _ if length >= SHORT_WAIT => (Waits::Short, length),
        _ => (Waits::No, 0),
    }
}

/// What a call is told to do in one line, if that is its only argument.
fn action_line(call: &ToolCall) -> Option<&str> {
    let arguments = named_arguments(call)?;
    let (name, value) = arguments.iter().next().filter(|_| arguments.len() == 1)?;
    value.as_str().filter(|_| matches!(name.as_str(), "action" | "command" | "input"))
}

/// Whether a line only lets time pass in a game or a simulation: `wait`, `wait1`, `wait for 3 turns`, `z`.
fn idles(line: &str) -> bool {
    let line = line.trim();
    let mut words = line.split(' ');
    let first = words.next().unwrap_or_default().trim_end_matches(|char: char| char.is_ascii_digit());
    let plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    line.len() <= LINE_OF_WAIT && (same(first, "wait") || same(line, "z")) && words.all(plain)
}

/// What a command line does before it starts something in the background, `serve & sleep 5`: a single command, or a
/// group such as `(sleep 60; stop)`. Without that, all of it.
fn ahead_of_background(line: &str) -> &str {
    let bytes = line.as_bytes();
    // `a && b`, `2>&1`, `|&` and `&>` are something else, and so is an `&` in a word.
    let joins = |at: usize, joined: &[u8]| bytes.get(at).is_some_and(|byte| joined.contains(byte));
    let starts = line.match_indices('&').map(|(at, _)| at).find(|at| {
        let in_a_word = || bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
        *at > 0 && !joins(at - 1, b"&><|") && !joins(at + 1, b"&>") && !in_a_word()
    });
    let Some(until) = starts.map(|at| head(line, at).trim_end()) else { return line };
    let begins = match until.strip_suffix([')', '}']) {
        Some(group) => group.rfind(['(', '{']),
        None => until.rfind([';', '\n', '(']),
    };
    head(line, begins.unwrap_or(0))
}

/// The longest sleep in a command line, in milliseconds: `sleep 30`, `sleep 1m`, `sleep 2h`. What is given to something
/// that the line starts in the background is no wait of its own.
fn sleeps(line: &str) -> i64 {
    let line = ahead_of_background(line);
    let lengths = line.match_indices("sleep ").map(|(at, found)| {
        let alone =
            line.get(..at).is_some_and(|before| !before.ends_with(|char: char| char.is_alphanumeric() || char == '_'));
        let rest = line.get(at + found.len()..).unwrap_or_default();
        let digits = end_of_digits(rest.as_bytes(), 0);
        let number: i64 = rest.get(..digits).and_then(|number| number.parse().ok()).unwrap_or(0);
        let unit = match rest.as_bytes().get(digits) {
            Some(b'm') => 60_000,
            Some(b'h') => 3_600_000,
            Some(b'd') => 86_400_000,
            _ => 1000,
        };
        if alone { number.saturating_mul(unit) } else { 0 }
    });
    lengths.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn units_of_sleep() {
        let lengths = [
            ("sleep 5; make", 5_000),
            ("sleep 2m", 120_000),
            ("sleep 1h && make", 3_600_000),
            ("sleep 1d", 86_400_000),
            ("sleep 9 && make", 9_000),
            ("make 2>&1 | tail -4; sleep 9", 9_000),
            ("curl 'http://quay/?a=1&b=2'; sleep 9", 9_000),
            ("make &> log; sleep 9", 9_000),
            ("serve --port 80 & sleep 9; curl quay", 0),
            ("(serve > log 2>&1 &) ; sleep 9", 0),
            ("nohup serve > log 2>&1 &\nsleep 9; cat log", 0),
            ("sleep 9; serve &", 9_000),
            ("sleep 300 & ./unload.sh", 0),
            ("(sleep 60; kill $!) & ./unload.sh", 0),
            ("make; sleep 9; (sleep 60; kill $!) & ./unload.sh", 9_000),
        ];
        for (line, length) in lengths {
            assert_eq!(sleeps(line), length, "{line}");
        }
    }

    #[test]
    fn what_waits_for_long() {
        for (tool, args, expected) in [
            ("bash", json!({"command": "sleep 30 && kubectl get job import"}), true),
            ("bash", json!({"command": "make; sleep 1m"}), true),
            ("bash", json!({"command": "sleep 2; make"}), false),
            ("bash", json!({"command": "grep oversleep 30"}), false),
            ("bash", json!({"command": "sleep"}), false),
            ("bash", json!({"command": "sleep 2"}), true),
            ("bash", json!({"command": "sleep 2;./unload.sh"}), false),
            ("bash", json!({"command": "sleep 2\n./unload.sh"}), false),
            ("write_stdin", json!({"session_id": 7, "chars": ""}), true),
            ("write_stdin", json!({"session_id": 7, "chars": "y"}), false),
            ("exec", json!({"input": "text(await tools.write_stdin({session_id:7,chars:\"\"}))"}), true),
            ("exec", json!({"input": "text(await tools.write_stdin({session_id:7,chars:\"y\"}))"}), false),
            ("sleep", json!({"seconds": 30}), true),
            ("sleep", json!({"seconds": 3}), true),
            ("sleep_for", json!({"duration": "4m"}), true),
            ("wait", json!({"for": "30 seconds"}), true),
            ("wait", json!({"for": "30 barges"}), false),
            ("sleep", json!({"seconds": "30"}), true),
            ("wait", json!({"for": "99999999999999999h"}), false),
            ("check_inbox", json!({"wait_s": "60"}), false),
            ("browser_wait", json!({"timeMs": 30_000}), true),
            ("browser_wait", json!({"timeMs": 3_000}), false),
            ("mcp__playwright__browser_wait_for", json!({"time": 30}), true),
            ("wait", json!({"ids": ["a", "b"], "timeout_ms": 900}), false),
            ("wait", json!({"seconds": 2}), true),
            ("wait_for_reply", json!({"seconds": 2}), false),
            ("wait", json!({}), false),
            ("check_inbox", json!({"wait_s": 60}), true),
            ("run_command", json!({"WaitMsBeforeAsync": 9000}), false),
            ("run_command", json!({"wait": true}), false),
            ("wait_seconds", json!({"seconds": 2}), true),
            ("waitForTime", json!({"time": 2}), true),
            ("wait_for_berth", json!({"seconds": 2}), false),
            ("await_review", json!({"id": 300}), false),
            ("get_job", json!({"job": 300}), false),
            ("remote", json!({"host": "quay-4", "cmd": "sleep 60"}), true),
            ("play", json!({"action": "wait1"}), true),
            ("play", json!({"command": "wait for 3 turns"}), true),
            ("play", json!({"input": "Z"}), true),
            ("play", json!({"action": "waitress"}), false),
            ("play", json!({"action": "wait; open gate"}), false),
            ("play", json!({"action": "wait", "who": "pilot"}), false),
        ] {
            let call = ToolCall { tool: tool.into(), args: Some(args), ..ToolCall::default() };
            let (waits, _) = waits(&call, &ToolName::of(tool));
            assert_eq!(matches!(waits, Waits::Long | Waits::Only), expected, "{call:?}");
        }
    }

    #[test]
    fn what_an_answer_asks_for() {
        for (answer, expected) in [
            ("HTTP 503 Service Unavailable; retry-after: 8", Some(8_000)),
            ("429 Too Many Requests. Retry-After: 120", Some(120_000)),
            ("Rate limit reached, please try again in 500ms", Some(500)),
            ("try again in 2 minutes", Some(120_000)),
            (r#"{"error":"busy","retry_after_ms":250}"#, Some(250)),
            ("Too many requests: retry after 1 hour.", Some(3_600_000)),
            ("Quota used up, try again in 2 hours.", None),
            ("wait 5 sec before the next one", Some(5_000)),
            ("Retry-After: 90000", None),
            ("Retry-After: 0", None),
            ("please try again later", None),
            ("503 after 3 tries", None),
            ("retry", None),
            ("", None),
        ] {
            assert_eq!(asked_wait(answer), expected, "{answer}");
        }
    }
}
