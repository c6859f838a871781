//! What agents and small tools state in words: errors, counts of failing tests, searches, edits.

use super::{
    traces::Thrown,
    words::{class_name, detail, file_key, has_extension, headline, location, parts, shortened, slug},
};
use crate::text::{
    ends::{head, tail},
    words::{is_in, same, spaced},
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
            // Classes are short; a line of thousands of colons must not be scanned back from each.
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
        lower.match_indices("fail").find_map(|(at, _)| counted_failures(lower.get(..at)?, line.get(at..)?))
    })
}

/// What a word beginning with `fail` says together with the text before it, which is in lower case.
fn counted_failures(before: &str, rest: &str) -> Option<String> {
    // First, since a word is looked for as far back as the last blank.
    if !before.ends_with(char::is_whitespace) {
        return None;
    }
    let mut words = spaced(before).rev().peekable();
    let of_tests = words.next_if(|word| matches!(*word, "test" | "tests")).is_some();
    let number = |word: &str| word.trim_start_matches(|c: char| !c.is_alphanumeric()).parse::<u32>().ok();
    let mut count = words.next().and_then(number);
    if words.next_if_eq(&"of").is_some() {
        count = words.next().and_then(number);
    }
    let word_end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (word, rest) = rest.split_at_checked(word_end)?;
    if !is_in("fail failed failing fails failure failures", word) {
        return None;
    }
    let Some(count) = count else {
        // `Tests failed: 3, passed: 9`, `Tests run: 12, Failures: 3`
        let after = rest.strip_prefix(": ").filter(|_| of_tests || same(word, "failures"))?;
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
    let names = names.filter(|names| names.contains(char::is_alphabetic));
    Some(names.map_or_else(|| format!("test-fail:{count}"), |names| named_failures(count, names)))
}

/// A count of failures and their names, after the file they are in, if it is named.
fn named_failures(count: u32, names: &str) -> String {
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
    match file {
        Some(file) => format!("{file}:{slugs}"),
        None => format!("test-fail:{count}-{slugs}"),
    }
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

/// Verbs that say that a file was edited.
const DONE: &str =
    "changed created deleted edited fixed improved modified patched refactored removed renamed rewrote updated wrote";
/// Verbs that say what was done in it.
const ACTS: &str = "added adjusted changed corrected deleted extracted fixed handled implemented improved introduced \
    moved refactored removed renamed replaced restored reverted rewrote simplified updated wrapped";
/// Words that end the object of such a verb, words left out of it, and words left out if no known verb is found.
const BEHIND: &str = "and for from in on so that to with";
const ARTICLES: &str = "a an missing some the";
const SMALL: &str = "a an and by so that the to with";

/// `Modified auth.ts line 45-52, added null check for user.profile`
pub(super) fn stated_edit(lines: &[&str]) -> Option<String> {
    lines.iter().take(200).filter(|line| line.contains('.')).find_map(|line| {
        let words: Vec<&str> = spaced(line).collect();
        let (path, behind) = (0..words.len()).find_map(|at| edited_file(words.get(at..)?))?;
        let act = behind.iter().position(|word| is_in(ACTS, bare(word)));
        let object = act.and_then(|act| behind.get(act + 1..)).map(acted_upon).filter(|object| !object.is_empty());
        // Without a known verb, the words after the path tell two edits of a file apart.
        let rest = || slug(&mut behind.iter().map(|word| bare(word)).filter(|word| !is_in(SMALL, word)), 6);
        let object = object.unwrap_or_else(rest);
        let object = if object.is_empty() { "modified" } else { &object };
        Some(format!("{}:{}", file_key(path), shortened(object)))
    })
}

/// A word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(['`', '\'', '"', ',', '.', ':', ';', '(', ')', '*'])
}

/// The file that was edited, if the first of these words says so, and the words after its name.
fn edited_file<'a, 'w>(words: &'w [&'a str]) -> Option<(&'a str, &'w [&'a str])> {
    let (verb, behind) = words.split_first()?;
    if !is_in(DONE, bare(verb)) {
        return None;
    }
    let fillers = behind.iter().take(2).take_while(|word| is_in("file in the", bare(word))).count();
    let (path, behind) = behind.get(fillers..)?.split_first()?;
    let path = bare(path);
    has_extension(path).then_some((path, behind))
}

/// The first words after a verb: what was added, removed or changed.
fn acted_upon(words: &[&str]) -> String {
    let mut object: Vec<&str> = Vec::new();
    for word in words.iter().take_while(|word| !is_in(BEHIND, word)) {
        if !is_in(ARTICLES, word) {
            object.push(bare(word));
        }
        if word.ends_with([',', '.', ';', ':', ')']) || object.len() == 4 {
            break;
        }
    }
    slug(&mut object.into_iter(), 4)
}
