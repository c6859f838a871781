//! Compilers, linkers and linters: error code, what the message names, file.

use super::words::{file_key, has_extension, joined, listed, location, parts, shortened};
use crate::text::{ends::split_last, sorted};
use alloc::{string::String, vec::Vec};

/// Maximum number of errors of one output that are told apart.
const MOST_ITEMS: usize = 256;

pub(super) fn diagnostics(lines: &[&str]) -> Option<String> {
    let mut items: Vec<String> = Vec::new();
    let mut linted = "";
    for (index, raw) in lines.iter().enumerate() {
        if items.len() >= MOST_ITEMS {
            break;
        }
        let line = raw.trim();
        let item = rustc(line, lines.get(index + 1..).unwrap_or_default())
            .or_else(|| located(line))
            .or_else(|| unlinked(line))
            .or_else(|| eslint(raw, linted));
        match item {
            Some(item) => items.push(item),
            None if !line.is_empty() && !line.contains(' ') && has_extension(line) => linted = line,
            None => {}
        }
    }
    // Not deduplicated: going from five of the same error to four is progress.
    listed("build-fail", sorted(items))
}

/// `error[E0308]: mismatched types` with `--> src/lib.rs:3:5` below; `error: …` without a code only counts with it.
fn rustc(line: &str, below: &[&str]) -> Option<String> {
    let rest = line.strip_prefix("error")?;
    let (code, message) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("]: ")?,
        None => ("", rest.strip_prefix(": ")?),
    };
    let place = below.iter().take_while(|line| !line.is_empty()).take(4);
    let place = place.map(|line| line.trim_start()).find_map(|line| line.strip_prefix("--> "));
    let file = place.and_then(location).map(|(path, _)| file_key(path));
    match file {
        Some(file) => Some(diagnostic(code, message, &file)),
        None => (!code.is_empty()).then(|| diagnostic(code, message, "")),
    }
}

/// `main.c:3:5: error: …`, `a.ts(3,5): error TS2322: …`, `a.ts:3:5 - error TS2322: …`, `A.java:3: error: …`,
/// `./main.go:3:5: …`.
fn located(line: &str) -> Option<String> {
    let (path, rest) = location(line)?;
    let file = file_key(path);
    let rest = rest.trim_start_matches([':', ' ', '-']);
    if path.ends_with(".go") && !rest.is_empty() && line.contains(": ") && !line.contains(" +0x") {
        return Some(diagnostic("", rest.strip_prefix("error: ").unwrap_or(rest), &file));
    }
    let rest = rest.strip_prefix("fatal ").unwrap_or(rest).strip_prefix("error")?;
    let (code, message) = rest.split_once(':')?;
    let code = code.trim_matches(['[', ']', ' ']);
    (!code.contains(' ')).then(|| diagnostic(code, message, &file))
}

/// The symbol a linker could not find: ``undefined reference to `name'``.
fn unlinked(line: &str) -> Option<String> {
    let (_, symbol) = line.split_once("undefined reference to ")?;
    let symbol = symbol.trim_matches(['`', '\'', '‘', '’', '"', ' ']);
    Some(joined(&["undefined", &shortened(symbol)]))
}

/// `  3:5  error  message  rule` below the line that names the file.
fn eslint(raw: &str, file: &str) -> Option<String> {
    if file.is_empty() || !raw.starts_with(' ') {
        return None;
    }
    let (place, rest) = raw.trim_start().split_once(' ')?;
    let (line, column) = place.split_once(':')?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let message = rest.trim_start().strip_prefix("error ").filter(|_| number(line) && number(column))?;
    let (message, rule) = split_last(message.trim(), "  ").unwrap_or((message, ""));
    Some(diagnostic(rule.trim(), message, &file_key(file)))
}

/// Error code, the first quoted part of the message (its words if there is no code), and file.
fn diagnostic(code: &str, message: &str, file: &str) -> String {
    let (words, quoted) = parts(message, if code.is_empty() { 5 } else { 0 });
    let quoted = quoted.first().map_or("", String::as_str);
    let quoted = if words.ends_with(quoted) { "" } else { quoted };
    joined(&[code, &words, quoted, file])
}
