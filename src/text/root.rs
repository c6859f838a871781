//! The error at the root of a long output, and how similar two programs are.

use super::canonical::canonical_json;
use super::ends;
use super::late::{CallArguments, CallFeature};
use super::lines::{Lines, first_line, trimmed};
use super::mask::Span;
use super::scan::{BLOCK, MARKED, holds_mark, padded, unmarked_line_ends};
use super::words::{Sum, has_figure, is_in, runs, same_start, spaced};
use crate::codec::codec;
use crate::model::ToolCall;
use alloc::{string::String, vec::Vec};
use serde_json::Value;

/// Lines at the end and at the beginning of an output that may hold the root.
const LAST: usize = 4;
const FIRST: usize = 2;
/// Bytes of a line that are compared, and the fewest letters a line needs to say something.
const LINE: usize = 240;
const LETTERS: usize = 4;
/// Minimum number of bytes of a date or a time.
const DATED: usize = 8;
/// Bytes of an output that are read at either end.
const END: usize = 3000;
/// Words that mark an error by themselves.
const MARKS: &str = "error exception failed fatal";
/// Labels of a number of failed tests.
const FAILED: &str = "fail failed failing failures";
/// Words that negate a mark within the next two words: `0 failed`, `no error`, `without any error`.
const DENY: &str = "0 no not without zero";
/// Words that turn the mark before them into a topic: `Error handling`, `error pages`.
const TOPICS: &str = "boundaries boundary budget codes correction guide \
    handler handlers handling messages pages rates reporting";
/// Words after which the rest of a line reports no error that has occurred: `if the result is an error`,
/// `Warning: the error log is full`.
const ASIDE: &str = "debug hint if info note unless warn warning when whenever";
/// Values that say that the mark before them did not occur: `error: null`, `failed=0`.
const NOTHING: &str = "0 false nil no none null ~";
/// Distinct tokens kept of a call, and bytes of it that are read.
const TOKENS: usize = 256;
const BYTES: usize = 4000;

/// The root error of an output: the last line marked as an error. Two errors are the same whatever line numbers, paths,
/// values and log lines surround them. JSON is not searched: harnesses write the fields `isError` and `error` into
/// every answer.
pub(crate) fn root_line(output: &str) -> Option<&str> {
    if is_json(output) || is_plainly_unmarked(output.as_bytes()) { None } else { marked_line(output) }
}

/// [`root_line`] without its fast checks.
fn marked_line(output: &str) -> Option<&str> {
    let (head, tail) = (ends::head(output, END), ends::tail(output, END));
    let said = |line: &&str| !line.is_empty() && !line.starts_with('<');
    if let Some(item) = first_listed(Lines(head).map(trimmed).filter(said)) {
        return Some(item);
    }
    // A label on a line of its own says nothing: the error is the line after it.
    let mut after = None;
    let mut marked = None;
    let (mut counted, mut exited) = (false, None);
    for line in Lines(tail).rev().map(trimmed).filter(said).take(LAST) {
        // `1 failed, 6 passed` counts errors reported above it, and a command that failed has said above why.
        if ends_with_status(line) && is_marked(line) {
            exited = exited.or(Some(line));
        } else if names_error(line) {
            marked = Some(if is_label(line) { after.unwrap_or(line) } else { line });
            break;
        }
        counted |= counts(line) && is_marked(line) || exits(line) || counts_failing(line);
        after = Some(line);
    }
    let marked = marked.or_else(|| {
        let mut lines = Lines(head).map(trimmed).filter(said);
        let first: [Option<&str>; FIRST + 1] = core::array::from_fn(|_| lines.next());
        first.windows(2).rev().find_map(|pair| match pair {
            [Some(line), next] if is_marked(line) && !counts(line) => {
                Some(next.filter(|_| is_label(line)).unwrap_or(line))
            }
            _ => None,
        })
    });
    // The errors that were counted are further up.
    let amid = || Lines(head).map(trimmed).find(|line| names_error(line) || is_not_ok(line));
    let line = marked.or_else(|| (counted || exited.is_some()).then(amid).flatten()).or(exited);
    let line = line.or_else(|| Lines(head).map(trimmed).find(|line| is_numbered(line)))?;
    let line = ends::head(line, LINE);
    (letters(line) >= LETTERS).then(|| undated(line))
}

/// The first item of a list of errors that a text begins with, under a label: the lines around it are the same for
/// every such list.
fn first_listed<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    lines.by_ref().take(FIRST).find(|line| is_label(line))?;
    let item = lines.next()?.strip_prefix(['-', '*', '•'])?.trim_start();
    Some(ends::head(item, LINE)).filter(|item| letters(item) >= LETTERS)
}

fn letters(line: &str) -> usize {
    line.chars().filter(|char| char.is_alphabetic()).count()
}

/// Whether a line begins with a figure and so counts or lists something; timestamps of a log line are skipped.
fn counts(line: &str) -> bool {
    undated(line).starts_with(|char: char| char.is_ascii_digit())
}

/// Whether a line reports an error rather than how many there are.
fn names_error(line: &str) -> bool {
    is_marked(line) && !counts(line) && !counts_failing(line) || names_failing(line)
}

/// Whether a line names a failing test, in the words of a test runner: `--- FAIL: TestTax`, `(fail) adds tax`,
/// `FAIL cart.test.ts: expected 3, got 4`.
fn names_failing(line: &str) -> bool {
    let named = |rest: &str| rest.starts_with([' ', '\t']) && (rest.contains(": ") || rest.contains(" > "));
    line.starts_with("(fail) ") || line.starts_with("--- FAIL: ") || line.strip_prefix("FAIL").is_some_and(named)
}

/// Whether a line of the Test Anything Protocol names a failing test: `not ok 3 - adds tax`.
fn is_not_ok(line: &str) -> bool {
    line.strip_prefix("not ok ").is_some_and(|test| {
        let aside = ["# TODO", "# SKIP"].iter().any(|aside| test.contains(aside));
        test.starts_with(|char: char| char.is_ascii_digit()) && !aside
    })
}

/// Whether a line names a failing test by number, as ExUnit does: `2) test adds tax (CartTest)`.
fn is_numbered(line: &str) -> bool {
    let test = line.trim_start_matches(|char: char| char.is_ascii_digit()).strip_prefix(") test ");
    test.is_some_and(|test| test.ends_with(')')) && counts(line)
}

/// Whether a line says that tests failed without naming one: `FAIL shop/cart 0.004s`, `# fail 1`, `failed: 1`, `1 fail`.
fn counts_failing(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace().filter(|word| !matches!(*word, "#" | "ℹ"));
    let [first, second, third] = core::array::from_fn(|_| words.next());
    let is_count = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()) && word.bytes().any(|byte| byte != b'0');
    match (first, second, third) {
        (Some("FAIL"), ..) => true,
        (Some(label), Some(count), None) if is_count(count) => is_in(FAILED, label.trim_end_matches(':')),
        (Some(count), Some("fail"), None) => is_count(count),
        _ => false,
    }
}

/// Whether a line says that a part of what ran exited with an error: `- exit code: 1`.
fn exits(line: &str) -> bool {
    let code = line.trim_start_matches(['-', '*', ' ']).strip_prefix("exit code: ");
    code.is_some_and(|code| code != "0" && code.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a line reports a command's exit status and what was run, not why it failed: `process "make" did not complete:
/// exit code: 2`, `Command 'gcc' returned non-zero exit status 1.`
fn ends_with_status(line: &str) -> bool {
    let line = line.trim_end_matches(['.', ')']);
    let status = line.trim_end_matches(|char: char| char.is_ascii_digit());
    let said = status.trim_end_matches([' ', ':']);
    status.len() < line.len() && (said.ends_with("exit code") || said.ends_with("exit status"))
}

/// A fast check of both ends of an output: `true` if none of the lines that may hold the root is marked, as is usual.
fn is_plainly_unmarked(output: &[u8]) -> bool {
    // Backwards, until the last lines have been covered.
    let (mut from, mut width, mut lines) = (output.len(), MARKED, 0);
    while lines < LAST && output.len() - from < END {
        from = from.saturating_sub(width);
        width = BLOCK;
        let Some(said) = said_lines(output, from) else { return false };
        if from == 0 {
            return true;
        }
        lines += said;
    }
    // Forwards, until the first lines that are read for marks have been covered.
    let (mut at, mut lines) = (0, usize::from(output.first().is_some_and(|first| says(*first))));
    while lines <= FIRST && at < from.min(END) {
        let Some(said) = said_lines(output, at) else { return false };
        (at, lines) = (at + BLOCK, lines + said);
    }
    true
}

/// How many lines in the block at `at` follow a line end and begin with neither a blank nor a tag; `None` if the block
/// contains a mark.
fn said_lines(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let last;
    let block = match rest.first_chunk::<MARKED>() {
        Some(block) => block,
        None => {
            last = padded(rest);
            &last
        }
    };
    let (mut ends, mut lines) = (unmarked_line_ends(block)?, 0);
    while ends != 0 {
        let next = block.get(ends.trailing_zeros() as usize + 1);
        lines += usize::from(next.is_some_and(|next| says(*next)));
        ends &= ends - 1;
    }
    Some(lines)
}

/// Whether a line beginning with this byte says something.
const fn says(first: u8) -> bool {
    first.is_ascii_graphic() && first != b'<'
}

/// A line without the number of a build's step and the seconds since it began: `#9 7.305 error: …`.
fn unstepped(line: &str) -> &str {
    let number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let behind = |line: &'_ str| {
        let (step, rest) = line.strip_prefix('#')?.split_once(' ')?;
        number(step).then(|| line.len() - rest.len())
    };
    let Some(rest) = behind(line).and_then(|from| line.get(from..)) else { return line };
    match rest.split_once(' ') {
        Some((seconds, said)) if number(seconds) && seconds.contains('.') => said.trim_start(),
        _ => rest,
    }
}

/// A line without the date and the time at its beginning.
fn undated(line: &str) -> &str {
    let mut rest = unstepped(line);
    while let Some((word, after)) = rest.split_once(' ') {
        let dated = word.starts_with(|char: char| char.is_ascii_digit())
            && word.len() >= DATED
            && word.bytes().all(|byte| byte.is_ascii_digit() || b"-:/.,TZ+".contains(&byte));
        if !dated {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

/// The first line of an output that is marked as an error, or the one that it introduces: `CMake Error at tide.cmake:7:`.
pub(crate) fn first_mark(output: &str) -> Option<&str> {
    let head = ends::head(output, END);
    let line = || {
        let mut lines = head.lines().map(str::trim);
        let marked = lines.find(|line| is_marked(line) && !counts_failing(line))?;
        let introduced = if marked.ends_with(':') { lines.find(|line| !line.is_empty()) } else { None };
        Some(introduced.unwrap_or(marked))
    };
    holds_mark(head.as_bytes()).then(line).flatten()
}

/// The byte range of [`root_line`] in an output.
pub(crate) fn root_place(output: &str) -> Option<Span> {
    let line = root_line(output)?;
    let from = line.as_ptr().addr().checked_sub(output.as_ptr().addr())?;
    Some((from, from + line.len()))
}

/// What is marked as an error in a failed output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    /// The whole output has neither a [`root_line`] nor a [`first_mark`]: cheaper than computing both.
    pub(crate) unmarked: bool,
    /// The byte range of [`root_line`].
    pub(crate) root: Option<Span>,
}

impl Marks {
    pub(super) fn of(output: &str) -> Self {
        let unmarked = output.len() <= END && !holds_mark(output.as_bytes());
        Self { unmarked, root: if unmarked { None } else { root_place(output) } }
    }
}

/// Whether a line is a mark with hardly anything else, such as `ERROR:` and `Failed examples:`.
fn is_label(line: &str) -> bool {
    let Some(label) = line.strip_suffix(':') else { return false };
    let mut words = label.split_ascii_whitespace();
    let plain = || label.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b' ');
    let marks = |word: &str| is_in(MARKS, word) || word.eq_ignore_ascii_case("errors");
    words.next().is_some_and(marks) && words.nth(1).is_none() && plain()
}

/// Whether an output looks like a JSON object or a list of objects, lists or strings, judging by its brackets:
/// `[error] no berth [7]` is a log line. A log of objects, one in each line, is text.
fn is_json(output: &str) -> bool {
    let output = trimmed(output);
    let list = || output.strip_prefix('[').is_some_and(|inside| inside.trim_start().starts_with(['{', '[', '"']));
    output.starts_with('{') && output.ends_with('}') && !is_json_log(output) || output.ends_with(']') && list()
}

/// Whether the first two lines of an output that begins with a bracket are objects.
fn is_json_log(output: &str) -> bool {
    let (first, rest) = first_line(ends::head(output, END));
    trimmed(first).ends_with('}') && rest.is_some_and(|rest| rest.starts_with('{'))
}

/// Bytes compared of a line that is not marked as an error.
const PLAIN: usize = 120;

/// The beginnings of the first and the last line of a failed text that hold words, unless the last only
/// tells an exit status: what a program says that failed without marking any line as an error.
pub(crate) fn unmarked_lines(output: &str) -> Option<(&str, &str)> {
    let says = |line: &&str| line.chars().filter(|char| char.is_alphabetic()).nth(LETTERS - 1).is_some();
    if is_json(output) {
        return None;
    }
    let last = Lines(ends::tail(output, END)).rev().map(trimmed).find(says)?;
    let first = Lines(ends::head(output, END)).map(trimmed).find(says)?;
    let words = || last.split(|char: char| !char.is_alphanumeric());
    let status = last.len() <= PLAIN && words().any(|word| is_in("exit exited", word));
    (!status).then(|| (ends::head(first, PLAIN), ends::head(last, PLAIN)))
}

/// JSON fields that hold an error, those that hold a status, and those that say whether something succeeded.
const WRONG: &str = "err error error_message errormessage errors exception failure";
const STANDS: &str = "code outcome phase reason result state status status_code verdict";
const SUCCESS: &str = "ok succeeded success";
/// Beginnings of words that say that something failed.
const ILL: &str = "aborted denied error fail forbidden invalid refused rejected";
/// Maximum number of bytes of JSON that is searched, and its levels of nesting.
const JSON: usize = 8 * 1024;
const LEVELS: usize = 4;

/// Whether a JSON answer reports a problem, whatever the call's outcome: a field holds an error, or a status is a
/// failure.
pub(crate) fn tells_trouble(output: &str) -> bool {
    let value = || serde_json::from_str::<Value>(output).ok();
    output.len() <= JSON && is_json(output) && value().is_some_and(|value| is_trouble(&value, LEVELS))
}

/// Maximum number of bytes of an answer that says of itself that the call failed: it holds a reason and no data.
const REPLY: usize = 600;

/// Whether a short JSON answer says that the call did not succeed: `{"ok": false, "message": …}`.
pub(crate) fn denies_success(output: &str) -> bool {
    let output = trimmed(output);
    if !output.starts_with('{') || output.len() > REPLY || !output.contains("false") {
        return false;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(output) else { return false };
    SUCCESS.split(' ').any(|name| fields.get(name) == Some(&Value::Bool(false)))
}

/// Top-level fields of an answer that hold a verdict: flags that something passes, and words for the decision; and
/// beginnings of words for a rejection.
const PASSES: &str = "accepted allowed approved pass passed valid";
const DECIDES: &str = "decision event outcome result state status verdict";
const REJECTED: &str = "abgelehnt abgewiesen declined denegad denied forbidden negad odrzuc rechaz recusad refus \
    reject rejei rejet rifiut";

fn refuses(word: &str) -> bool {
    !word.contains(' ') && REJECTED.split(' ').any(|start| same_start(word, start))
}

/// Fewest words of a text that says that something is rejected and why.
const REASON: usize = 4;

/// What an answer says if it is a verdict that something is rejected, or an error: all of it if it is JSON, or what
/// follows the colon in `request 7: rejected - the berth is taken`. Without a reason, such a text may acknowledge what was decided.
pub(crate) fn rejection(output: &str) -> Option<&str> {
    if !output.starts_with('{') {
        let mut said = output.match_indices(": ").filter_map(|(at, colon)| output.get(at + colon.len()..));
        let begins = |said: &&str| said.split([' ', '.', ',', ';', '\n']).next().is_some_and(refuses);
        let counts =
            |said: &&str| spaced(said).nth(1).is_some_and(|next| next.starts_with(|char: char| char.is_ascii_digit()));
        return said.find(begins).filter(|said| spaced(said).count() >= REASON && !counts(said));
    }
    // Reading all of an answer is expensive.
    if !output.contains("false") && !output.split('"').any(|part| refuses(part) || is_in(WRONG, part)) {
        return None;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(output) else { return None };
    let rejected = fields.iter().any(|(name, value)| match value {
        Value::Bool(passes) => !passes && is_in(PASSES, name),
        Value::String(word) => is_in(DECIDES, name) && refuses(word) || is_in(WRONG, name) && letters(word) > LETTERS,
        _ => false,
    });
    rejected.then_some(output)
}

/// Pod states of an orchestrator's tables in which nothing runs.
const DOWN: &str = "crashloopbackoff errimagepull imagepullbackoff oomkilled";

/// What spreadsheet cells show instead of a value, after `#`.
const CELLS: &str = "CALC! DIV/0! N/A NAME? NULL! NUM! REF! SPILL! VALUE!";

/// Where the title of an HTML page begins.
const TITLE: &str = "<title>";

/// The title of a page about an HTTP error, without its status: `Forbidden` for `403 Forbidden`.
fn status_page(head: &str) -> Option<&str> {
    let (_, rest) = head.split_once(TITLE)?;
    let (title, _) = rest.split_once('<')?;
    let [b'4' | b'5', b'0'..=b'9', b'0'..=b'9', b' ', ..] = title.as_bytes() else { return None };
    title.get(4..)
}

/// What shows that something is not running or has no value: the first such state in a table, `#` for any cell without
/// a value, or the title of a page about an HTTP error.
pub(crate) fn down(output: &str) -> Option<&str> {
    let head = ends::head(output, END);
    let cell = |(at, _)| head.get(at + 1..).is_some_and(|rest| CELLS.split(' ').any(|cell| rest.starts_with(cell)));
    let word = head.split(|char: char| !char.is_alphanumeric()).find(|word| is_in(DOWN, word));
    word.or_else(|| head.match_indices('#').any(cell).then_some("#")).or_else(|| status_page(head))
}

fn is_trouble(value: &Value, levels: usize) -> bool {
    let Some(levels) = levels.checked_sub(1) else { return false };
    match value {
        Value::Array(items) => items.iter().any(|item| is_trouble(item, levels)),
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let nothing = match value {
                Value::Null | Value::Bool(false) => true,
                Value::Number(number) => number.as_u64() == Some(0),
                Value::String(text) => text.is_empty() || is_in(NOTHING, text),
                Value::Array(items) => items.is_empty(),
                Value::Object(fields) => fields.is_empty(),
                Value::Bool(true) => false,
            };
            let ill = |text: &str| {
                let begins = |word: &str| ILL.split(' ').any(|ill| same_start(word, ill));
                text.len() <= LINE && text.split(|char: char| !char.is_alphabetic()).any(begins)
            };
            is_in(WRONG, name) && !nothing
                || is_in(STANDS, name)
                    && (value.as_str().is_some_and(ill)
                        || value.as_u64().is_some_and(|code| (400..600).contains(&code)))
                || is_in(SUCCESS, name) && *value == Value::Bool(false)
                || is_trouble(value, levels)
        }),
        _ => false,
    }
}

fn is_marked(line: &str) -> bool {
    // Code that would raise an error has not raised one.
    if ["raise ", "throw ", "except ", "catch "].iter().any(|code| line.starts_with(code)) {
        return false;
    }
    // Fast path: every marking word contains a mark, and hardly any line does.
    if !holds_mark(line.as_bytes()) {
        return false;
    }
    let (mut before, mut aside) = ([""; 2], false);
    runs::<b'_'>(line).any(|(from, to)| {
        let word = line.get(from..to).unwrap_or_default();
        let named = word.ends_with("Error") || word.ends_with("Exception");
        let marks = named || !aside && is_in(MARKS, word);
        let topic = || {
            // `error handling request: timed out` reports an error.
            let behind = line.get(to..).unwrap_or_default().strip_prefix([' ', '-']).unwrap_or_default();
            let next = behind.split(|char: char| !char.is_ascii_alphabetic()).next().unwrap_or_default();
            is_in(TOPICS, next) && !behind.contains(':')
        };
        let denied = || before.iter().any(|word| is_in(DENY, word)) || is_none(line, from, to) || topic();
        let marked = marks && !denied();
        aside |= word.ends_with("Warning") || is_in(ASIDE, word);
        // `60:0: error` begins with a position; `0 errors` is a count.
        let place = line.as_bytes().get(to) == Some(&b':');
        before = [before[1], if place { "" } else { word }];
        marked
    })
}

/// Whether the text around a mark says that there is no error: a value (`error: none`), a field name (`"error": …`), a
/// kind in parentheses (`(error)`).
fn is_none(line: &str, from: usize, to: usize) -> bool {
    let (ahead, behind) = (line.get(..from).unwrap_or_default(), line.get(to..).unwrap_or_default());
    if ahead.ends_with('(') && behind.starts_with(')') || ahead.ends_with('"') && behind.starts_with("\":") {
        return true;
    }
    let Some(value) = behind.trim_start().strip_prefix([':', '=']) else { return false };
    let value = value.split([',', ';', ')']).next().unwrap_or_default().trim().trim_end_matches('.');
    is_in(NOTHING, value) || matches!(value, "[]" | "{}" | "\"\"" | "''")
}

/// Bytes from which a word names something.
const NAMES: usize = 4;

/// The tokens of a call's arguments, as sorted hashes, each with its number of occurrences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    counts: Vec<(u32, u32)>,
    all: u32,
}
codec!(struct Tokens { counts, all });

impl Tokens {
    /// The tokens of a call's arguments.
    pub(crate) fn of(call: &ToolCall) -> Self {
        let mut text = String::new();
        match (&call.args, &call.raw_args) {
            (Some(args), _) => canonical_json(args, &mut text),
            (None, Some(raw)) => text.push_str(raw),
            (None, None) => {}
        }
        Self::of_text(&text)
    }

    fn of_text(text: &str) -> Self {
        let text = ends::head(text, BYTES);
        let mut tokens = Self::default();
        each_token(text, |hash| tokens.add(hash));
        tokens
    }

    /// Only the first [`TOKENS`] distinct ones and their repetitions count.
    fn add(&mut self, hash: u32) {
        match self.counts.binary_search_by_key(&hash, |(known, _)| *known) {
            Ok(at) => {
                if let Some((_, count)) = self.counts.get_mut(at) {
                    *count = count.saturating_add(1);
                }
            }
            Err(_) if self.counts.len() == TOKENS => return,
            Err(at) => self.counts.insert(at, (hash, 1)),
        }
        self.all = self.all.saturating_add(1);
    }

    /// Shared tokens in percent of the mean token count of both (the Sørensen–Dice coefficient); 100 if both are empty.
    pub(crate) fn alike(&self, other: &Self) -> usize {
        let mut shared = 0_u64;
        for (token, count) in &self.counts {
            if let Ok(at) = other.counts.binary_search_by_key(token, |(known, _)| *known) {
                shared += u64::from(other.counts.get(at).map_or(0, |(_, known)| *known.min(count)));
            }
        }
        let both = u64::from(self.all) + u64::from(other.all);
        usize::try_from((shared * 200).checked_div(both).unwrap_or(100)).unwrap_or(100)
    }

    /// Whether a text, such as an error, says a word of some length, or a figure, that these tokens have and the `other`
    /// ones have not.
    pub(crate) fn adds(&self, other: &Self, text: &str) -> bool {
        let holds = |tokens: &Self, hash| tokens.counts.binary_search_by_key(&hash, |(known, _)| *known).is_ok();
        let mut adds = false;
        for (from, to) in runs::<b'_'>(text) {
            let word = text.get(from..to).filter(|word| word.len() >= NAMES || has_figure(word));
            each_token(word.unwrap_or_default(), |hash| adds |= holds(self, hash) && !holds(other, hash));
        }
        adds
    }

    pub(crate) fn fits(&self) -> bool {
        self.counts.len() <= TOKENS
    }
}

impl CallFeature for Tokens {
    fn read(said: &CallArguments) -> Self {
        Self::of_text(said.text())
    }
}

/// Passes the hash of every token to `take`: a word of letters, digits and `_`, or any other non-blank character.
fn each_token(text: &str, mut take: impl FnMut(u32)) {
    let mut word = None;
    let mut step = |char: u32, in_word: bool, blank: bool| {
        if in_word {
            word = Some(word.unwrap_or(Sum::EMPTY).and(char));
            return;
        }
        if let Some(Sum(hash)) = word.take() {
            take(hash);
        }
        if !blank {
            take(Sum::EMPTY.and(char).0);
        }
    };
    let mut rest = text;
    while !rest.is_empty() {
        let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        let (plain, tail) = rest.split_at_checked(ascii).unwrap_or_default();
        for byte in plain.bytes() {
            let blank = matches!(byte, 9..=13 | b' ');
            step(u32::from(byte), byte.is_ascii_alphanumeric() || byte == b'_', blank);
        }
        let mut chars = tail.chars();
        if let Some(char) = chars.next() {
            step(u32::from(char), char.is_alphanumeric(), char.is_whitespace());
        }
        rest = chars.as_str();
    }
    step(u32::from(' '), false, true);
}

#[cfg(test)]
mod tests {
    use super::super::nature::mistake;
    use super::*;
    use serde_json::json;

    fn tokens(code: &str) -> Tokens {
        Tokens::of(&ToolCall { tool: "run".into(), args: Some(json!({ "code": code })), ..ToolCall::default() })
    }

    #[test]
    fn tests_by_number_and_what_a_mark_introduces() {
        let of_test = |name: &str| {
            alloc::format!(
                "..F\n\n  1) test {name} (RiverTest)\n     test/river_test.exs:20\n     Assertion with == failed\n     left:  nil\n\nFinished in 0.05 seconds\n3 tests, 1 failure\n\nRandomized with seed 391200\n"
            )
        };
        assert_eq!(root_line(&of_test("rises in spring")), Some("1) test rises in spring (RiverTest)"));
        let missing = |name: &str| {
            alloc::format!(
                "CMake Error at /usr/share/Find.cmake:230 (message):\n  Could NOT find {name}\nCall Stack (most recent call first):\n  cmake/river.cmake:7 (find_package)\n\n-- Configuring incomplete, errors occurred!\n"
            )
        };
        assert_eq!(first_mark(&missing("TIDE")), Some("Could NOT find TIDE"));
    }

    #[test]
    fn answers_that_say_no() {
        for (answer, denies, rejects) in [
            (r#"{"ok": false, "message": "the berth is taken"}"#, true, false),
            (r#"{"code":57,"success":false}"#, true, false),
            ("\n{\"succeeded\": false}\n", true, false),
            (r#"{"ok": true, "free": false}"#, false, false),
            (r#"{"last": {"ok": false}}"#, false, false),
            (r#"{"ok": "false"}"#, false, false),
            (r#"{"ok": false"#, false, false),
            (r#"[{"ok": false}]"#, false, false),
            (r#"{"accepted": false}"#, false, true),
            (r#"{"status": "Rejected"}"#, false, true),
            (r#"{"status": "abgelehnt", "meldung": "der Platz ist vergeben"}"#, false, true),
            (r#"{"estado": "x", "status": "rechazada"}"#, false, true),
            (r#"{"status": "refusé"}"#, false, true),
            (r#"{"status": "rejects are kept"}"#, false, false),
            (r#"{"note": "rejected"}"#, false, false),
            (r#"{"status": "negotiated"}"#, false, false),
            ("request 7: rejected - the berth is taken", false, true),
            ("Antrag 7: abgelehnt, der Platz ist vergeben", false, true),
            ("Antrag 7: abgelehnt.", false, false),
            ("request 7: the berth is taken, so it was rejected", false, false),
            ("rejected: 0", false, false),
            ("import: rejected 0, accepted 100", false, false),
        ] {
            assert_eq!((denies_success(answer), rejection(answer).is_some()), (denies, rejects), "{answer}");
        }
        assert!(!denies_success(&alloc::format!(r#"{{"ok": false, "rows": "{}"}}"#, "row ".repeat(200))));
    }

    #[test]
    fn roots() {
        let root = |text: &str| root_line(text).map(|line| mistake(line, 0));
        let trace = "Traceback:\n  File \"/a/b.py\", line 3\nKeyError: 'region'";
        assert!(root(trace).is_some());
        assert_eq!(root(trace), root("log\nlog\nTraceback:\n  File \"/c/d.py\", line 71\nKeyError: 'shop'\n\n"));
        assert_ne!(root(trace), root("Traceback:\nTypeError: 'region'"));
        assert_eq!(root("all is well"), None);
        assert!(root("fatal: all is lost").is_some());
        assert!(root(&alloc::format!("{} was a VALUEERROR, FATAL", "word ".repeat(40))).is_some());
        assert_eq!(root("infallible xcel exceptions errors failedly"), None);
        assert_eq!(root("12 lines with an error"), None);
        // A label alone says nothing.
        assert_ne!(root("ERROR:\nno text to replace was given"), root("ERROR:\nthe text stands there twice"));
        assert_eq!(root("ERROR:\nno text to replace was given"), root("ERROR:\n\nno text to replace was given"));
        assert_ne!(root("Error:\nno such cell\nit is\nall gone"), root("Error:\nno such row\nit is\nall gone"));
        assert!(root("ERROR:").is_some());
        assert_eq!(root("<html> error"), None);
        // Errors that are denied, in words, by a value or as a field name; and errors that are not.
        for healthy in [
            "test result: ok. 12 passed; 0 failed",
            "done without any error",
            "errors: none, warnings: 2\nerror: null",
            "41 links, failed=0",
            "look at the log (error)",
            "  \"error\": \"\"",
            r#"{"ok": true, "error": null, "data": "the error of the beacon"}"#,
            "[\n  \"fatal\"\n]",
            "If the result is an error, look at the log",
            "Warning: the error reporter is not configured",
            "(node:7) ExperimentalWarning: error hooks may change",
            "When a command has failed, read on",
            "error: ~",
            "Error handling guide",
            "the error-pages of the harbour",
        ] {
            assert_eq!(root(healthy), None, "{healthy}");
        }
        for failing in [
            "[error] no such berth [7]",
            "error handling request: the tide is out",
            "no such berth, error",
            "error: no such berth",
            "passed: 3; 2 failed",
            "Error: 0 of 3 berths",
            "error: nothing is known if the berth is gone",
            "when the gate was opened: BerthError",
            "../quay.build:60:0: ERROR: no such berth",
        ] {
            assert!(root(failing).is_some(), "{failing}");
        }
        assert_eq!(root(""), None);

        // Test runners that write no word for an error.
        let go = |test: &str| {
            alloc::format!(
                "--- FAIL: {test} (0.00s)\n    cart_test.go:12: got 4, want 3\nFAIL\nexit status 1\nFAIL\tshop/cart\t0.004s"
            )
        };
        assert!(root(&go("TestTax")).is_some() && root(&go("TestTax")) == root(&go("TestTax").replace("0.00", "0.31")));
        assert_ne!(root(&go("TestTax")), root(&go("TestTotal")));
        let bun = |test: &str| alloc::format!("(fail) {test} [0.2ms]\n 12 pass\n 1 fail\nRan 13 tests across 1 file.");
        assert!(root(&bun("adds tax")).is_some() && root(&bun("adds tax")) != root(&bun("adds up")));
        let tap = |test: &str| alloc::format!("ok 1 - starts\nnot ok 2 - {test}\n# tests 2\n# pass 1\n# fail 1");
        assert!(root(&tap("adds tax")).is_some() && root(&tap("adds tax")) != root(&tap("adds up")));
        assert!(root("FAIL cart.test.ts: expected 3 got 4").is_some());
        let counted = |test: &str| alloc::format!("ok 1 - starts\nnot ok 2 - {test}\n1..2\n# failed 1");
        assert!(root(&counted("adds tax")).is_some() && root(&counted("adds tax")) != root(&counted("adds up")));
        assert_eq!(super::first_mark(&counted("adds tax")), None);
        // A command that failed, and the error above it.
        let build = |run: &str, seconds: &str| {
            alloc::format!(
                "#9 {seconds} Collecting quay\n#9 {seconds}   Error: tide.h not found.\n#9 {seconds}   Please install it.\n\
                 failed to solve: process \"{run}\" did not complete successfully: exit code: 1"
            )
        };
        assert!(root(&build("make", "1.42")).is_some());
        assert_eq!(super::root_line(&build("make", "1.42")), super::root_line(&build("make -j4 quay", "6.907")));
        let alone = "error: process \"make\" ended with exit code 2";
        assert_eq!(super::root_line(alone), Some(alone));
        for fine in [
            "PASS\nok  \tshop/cart\t0.004s",
            " 13 pass\n 0 fail\nRan 13 tests across 1 file.",
            "ok 1 - starts\nnot ok 2 - adds tax # TODO later\n# tests 2\n# pass 1\n# fail 0",
            "FAIL\tshop/cart\t0.004s",
            "the checks may fail\nnobody knows why",
        ] {
            assert_eq!(root(fine), None, "{fine}");
        }
    }

    #[test]
    fn what_is_down() {
        let page = "<html><head><title>403 Forbidden</title></head><body>Ray 4f1</body></html>";
        assert_eq!(down(page), Some("Forbidden"));
        assert_eq!(down("NAME  STATUS\nquay-1  CrashLoopBackOff"), Some("CrashLoopBackOff"));
        // Whatever is wrong with a cell, it has no value.
        assert_eq!(down("| D |\n| #N/A |"), down("| D |\n| 7 |\n| #REF! |"));
        assert!(down("{\"display\":\"#NAME?\"}").is_some());
        for healthy in ["| D |\n| 7.10 |", "issue #N12, N/A", "<title>Harbour</title>", "# NAME?", "#"] {
            assert_eq!(down(healthy), None, "{healthy}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_plainly_unmarked_has_no_root(
            parts in proptest::collection::vec(
                "(Error: |fatal |failed|no exception|xCept|<|[a-z]{1,12} |[0-9]{1,4}|é|\n|\n\n| \n|\n<p> |\r\n){1,3}|[a-z ]{20,90}\n|\n[a-z ]{200,400}",
                0..40,
            ),
        ) {
            let text = parts.concat();
            proptest::prop_assert_eq!(root_line(&text), marked_line(&text), "{}", text);
        }
    }

    #[test]
    fn programs() {
        let program = "table = load('sales.csv')\nout = totals(table, by='region')\nprint(out)";
        assert_eq!(tokens(program).alike(&tokens(program)), 100);
        assert!(tokens(program).alike(&tokens(&program.replace("out", "result"))) >= 70);
        assert!(tokens(program).alike(&tokens("import os\nfor name in os.listdir('.'): print(name)")) < 70);
        // In any script; a word continues across a change of script.
        assert_eq!(Tokens::of_text("größe_1 天气 + größe_1").alike(&Tokens::of_text("天气+größe_1,größe_1")), 88);
        let long: String = (0..2000).map(|n| alloc::format!("x{n} ")).collect();
        assert!(tokens(&long).fits());
    }
}
