//! What agents and small tools say in words: errors, counts of failing tests, searches, edits.

use super::{
    traces::Thrown,
    words::{class_name, detail, file_key, has_extension, headline, location, parts, shortened, slug},
};
use crate::text::{
    ends::{head, tail},
    words::spaced,
};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

/// A line that begins with `Error:`, `fatal:` or an error class.
pub(super) fn stated_error(lines: &[&str]) -> Option<String> {
    lines.iter().find_map(|line| {
        let line = line.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '[').trim_end();
        if let Some((class, message)) = headline(line)
            && class != "Error"
            && !message.is_empty()
        {
            return Some(thrown(class, message));
        }
        let (word, message) = line.split_once(':')?;
        let word = word.trim_start_matches("npm ").to_ascii_lowercase();
        if !matches!(word.as_str(), "error" | "fatal" | "fatal error" | "uncaught error") {
            return None;
        }
        let message = message.trim();
        let first = message.split([' ', ':']).next().unwrap_or_default();
        let code = first.len() > 3 && first.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        let code = code
            && [": ", " - "].iter().any(|mark| message.get(first.len()..).is_some_and(|rest| rest.starts_with(mark)));
        let class = class_name(first).or(code.then_some(first));
        match class {
            Some(class) => {
                let rest = message.get(first.len()..).unwrap_or_default();
                Some(thrown(class, rest.trim_start_matches([' ', ':', '-'])))
            }
            None if message.chars().any(char::is_alphabetic) => Some(thrown("", message)),
            None => None,
        }
    })
}

/// An error class followed by `: message` inside a sentence; not `except KeyError:`.
pub(super) fn mentioned_error(lines: &[&str]) -> Option<String> {
    const HANDLED: [&str; 5] = ["except", "catch", "raise", "throw", "class"];
    lines.iter().find_map(|line| {
        line.match_indices(": ").find_map(|(at, _)| {
            let (head, message) = line.split_at_checked(at)?;
            // Classes are short; a line of thousands of colons must not be walked back from each.
            let head = tail(head, 128);
            let start = head.rfind(|c: char| c.is_whitespace() || c == '(' || c == '`').map_or(0, |at| at + 1);
            let class = class_name(head.get(start..)?)?;
            let before = spaced(head.get(..start)?).next_back().unwrap_or_default();
            let message = message.get(2..)?.trim();
            (!message.is_empty() && !HANDLED.contains(&before)).then(|| thrown(class, message))
        })
    })
}

fn thrown(class: &str, message: &str) -> String {
    let (message, file) = placed(message);
    Thrown { class: class.to_owned(), detail: detail(message), file }.signature()
}

/// Splits ` at auth.ts:45`, ` in auth.ts` or ` (auth.ts:45)` off a message.
fn placed(message: &str) -> (&str, String) {
    for (at, separator) in message.match_indices([' ', '(']) {
        let after = message.get(at + separator.len()..).unwrap_or_default();
        let bracketed = separator == "(";
        let place = ["at ", "in "].iter().find_map(|word| after.strip_prefix(word));
        let Some(place) = place.or(bracketed.then_some(after)) else { continue };
        let place = head(place, 256);
        let word = place.split([' ', ',', ')']).next().unwrap_or_default().trim_end_matches('.');
        let path = location(word).map_or(word, |(path, _)| path);
        if has_extension(path) {
            return (message.get(..at).unwrap_or_default(), file_key(path));
        }
    }
    (message, String::new())
}

/// `2 failed: auth.test.ts - login test timeout, logout test assertion`, `3 tests failing - auth, login, logout`,
/// `2 failed, 5 passed`, `Failures: 2`. A count of 0 is a pass; `3 failed attempts` is not about tests.
pub(super) fn stated_failures(lines: &[&str]) -> Option<String> {
    lines.iter().find_map(|line| {
        if !line.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"fail")) {
            return None;
        }
        let lower = line.to_ascii_lowercase();
        lower.match_indices("fail").find_map(|(at, _)| {
            let before = lower.get(..at)?;
            let mut words = spaced(before).rev().peekable();
            let of_tests = words.next_if(|word| matches!(*word, "test" | "tests")).is_some();
            if !before.ends_with(char::is_whitespace) {
                return None;
            }
            let number = |word: &str| word.trim_start_matches(|c: char| !c.is_alphanumeric()).parse::<u32>().ok();
            let mut count = words.next().and_then(number);
            if words.next_if_eq(&"of").is_some() {
                count = words.next().and_then(number);
            }
            let rest = line.get(at..)?;
            let word_end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let (word, rest) = rest.split_at_checked(word_end)?;
            let word = word.to_ascii_lowercase();
            if !matches!(word.as_str(), "fail" | "fails" | "failed" | "failing" | "failure" | "failures") {
                return None;
            }
            let Some(count) = count else {
                // `Tests failed: 3, passed: 9`, `Tests run: 12, Failures: 3`
                let after = rest.strip_prefix(": ").filter(|_| of_tests || word == "failures")?;
                let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
                let count = digits.parse::<u32>().ok().filter(|count| *count > 0)?;
                return Some(format!("test-fail:{count}"));
            };
            if count == 0 {
                return None;
            }
            let next = rest.trim_start();
            let ends = next.is_empty()
                || next.starts_with(|c: char| c.is_ascii_punctuation())
                || ["in ", "and "].iter().any(|word| next.starts_with(word));
            if !ends && !of_tests {
                return None;
            }
            let names = [": ", " - ", " – ", " — "].iter().find_map(|mark| rest.strip_prefix(mark));
            let Some(names) = names.filter(|names| names.contains(char::is_alphabetic)) else {
                return Some(format!("test-fail:{count}"));
            };
            let (file, names) = match names.split_once(" - ") {
                Some((file, names)) if has_extension(file.trim()) => (Some(file_key(file.trim())), names),
                _ => (None, names),
            };
            let slugs = names.split(',').map(|name| {
                let mut words = spaced(name).filter(|word| !matches!(*word, "test" | "tests" | "and"));
                shortened(&slug(&mut words, 6))
            });
            let slugs: Vec<String> = slugs.filter(|slug| !slug.is_empty()).take(2).collect();
            let slugs = slugs.join(",");
            Some(match file {
                Some(file) => format!("{file}:{slugs}"),
                None => format!("test-fail:{count}-{slugs}"),
            })
        })
    })
}

/// `Searched GitHub for 'oauth2 refresh token', found 3 patterns...`
pub(super) fn stated_search(lines: &[&str]) -> Option<String> {
    const VERBS: [&str; 7] = ["searched", "searching", "googled", "grepped", "queried", "search results", "web search"];
    lines.iter().take(40).find_map(|line| {
        let line = line.trim().trim_start_matches("I ").trim_start_matches("I've ");
        let lower = line.to_ascii_lowercase();
        let verb = VERBS.iter().find(|verb| lower.starts_with(*verb))?;
        let rest = line.get(verb.len()..)?;
        let rest = rest.split_once(" for ").map(|(_, query)| query).or_else(|| rest.strip_prefix(": "))?;
        let (_, quoted) = parts(rest, 0);
        let query = match quoted.into_iter().next() {
            Some(query) => query,
            None => {
                let words = rest.split([',', '.', ';', ':', '(']).next().unwrap_or_default();
                slug(&mut spaced(words), 6)
            }
        };
        (!query.is_empty()).then(|| format!("search:{}", shortened(&query)))
    })
}

/// `Modified auth.ts line 45-52, added null check for user.profile`
pub(super) fn stated_edit(lines: &[&str]) -> Option<String> {
    const DONE: [&str; 14] = [
        "modified",
        "changed",
        "updated",
        "fixed",
        "edited",
        "created",
        "wrote",
        "rewrote",
        "refactored",
        "patched",
        "deleted",
        "removed",
        "renamed",
        "improved",
    ];
    const ACTS: [&str; 22] = [
        "added",
        "removed",
        "fixed",
        "updated",
        "changed",
        "refactored",
        "implemented",
        "renamed",
        "rewrote",
        "replaced",
        "moved",
        "introduced",
        "extracted",
        "deleted",
        "improved",
        "simplified",
        "handled",
        "wrapped",
        "corrected",
        "adjusted",
        "restored",
        "reverted",
    ];
    let listed = |words: &[&str], word: &str| words.contains(&word.to_ascii_lowercase().as_str());
    lines.iter().take(200).find_map(|line| {
        if !line.contains('.') {
            return None;
        }
        let words: Vec<&str> = spaced(line).collect();
        let bare = |at: usize| {
            words.get(at).map(|word| word.trim_matches(['`', '\'', '"', ',', '.', ':', ';', '(', ')', '*']))
        };
        let (at, path) = (0..words.len()).find_map(|at| {
            if !listed(&DONE, bare(at)?) {
                return None;
            }
            let filler =
                (1..=2).take_while(|by| bare(at + by).is_some_and(|word| listed(&["the", "file", "in"], word))).count();
            let path = bare(at + 1 + filler)?;
            has_extension(path).then_some((at + 1 + filler, path))
        })?;
        let act = (at + 1..words.len()).find(|at| bare(*at).is_some_and(|word| listed(&ACTS, word)));
        let object = act.map(|at| {
            let mut object: Vec<&str> = Vec::new();
            for (index, word) in words.iter().enumerate().skip(at + 1) {
                if listed(&["for", "to", "in", "on", "from", "with", "and", "so", "that"], word) {
                    break;
                }
                if !listed(&["a", "an", "the", "some", "missing"], word) {
                    object.push(bare(index).unwrap_or_default());
                }
                if word.ends_with([',', '.', ';', ':', ')']) || object.len() == 4 {
                    break;
                }
            }
            slug(&mut object.into_iter(), 4)
        });
        // Without a verb of the list, what follows tells two edits of a file apart.
        let rest = || {
            let words = (at + 1..words.len()).filter_map(bare);
            slug(
                &mut words.filter(|word| !listed(&["a", "an", "the", "to", "by", "and", "so", "that", "with"], word)),
                6,
            )
        };
        let object = object.filter(|object| !object.is_empty()).unwrap_or_else(rest);
        let object = if object.is_empty() { "modified".to_owned() } else { object };
        Some(format!("{}:{}", file_key(path), shortened(&object)))
    })
}
