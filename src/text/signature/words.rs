//! Parts of text that the scanners share: error classes, positions, files, slugs, lists.

use super::volatile::mask;
use crate::text::{
    case::lower_text,
    ends::{behind_last, head, split_last},
    words::spaced,
};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of characters of a signature.
pub(super) const LONGEST: usize = 120;
/// Maximum number of characters of one test or error in a signature.
const LONGEST_ITEM: usize = 48;

/// Class and message of `Class: message`, `Class [CODE]: message`, `pkg.Class: message` or a class alone, at the start
/// of a line.
pub(super) fn headline(line: &str) -> Option<(&str, &str)> {
    let mut line = line;
    for prefix in ["Caused by: ", "Uncaught ", "Unhandled ", "Exception in thread "] {
        line = line.strip_prefix(prefix).unwrap_or(line);
    }
    if line.starts_with('"') {
        line = line.split_once("\" ").map_or(line, |(_, rest)| rest); // the thread's name
    }
    let end = line.find([':', ' ', '(']).unwrap_or(line.len());
    let (word, rest) = line.split_at_checked(end)?;
    let class = class_name(word)?;
    if rest.is_empty() {
        return Some((class, ""));
    }
    if let Some(message) = rest.strip_prefix(':') {
        return Some((class, message.trim()));
    }
    let (code, message) = rest.strip_prefix(" [")?.split_once("]: ")?;
    (!code.contains(' ')).then_some((class, message))
}

/// The first name of an error class in a text.
pub(crate) fn error_class(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| class_name(word.trim_end_matches(':')))
}

/// The last segment of a dotted name if it is spelled like an error class.
pub(in crate::text) fn class_name(word: &str) -> Option<&str> {
    const ENDS: [&str; 7] = ["Error", "Exception", "Fault", "Failure", "Interrupt", "Exit", "Timeout"];
    let last = word.rsplit(['.', '$', '/']).next()?;
    let last = behind_last(last, "::");
    let named = last.starts_with(|c: char| c.is_ascii_uppercase())
        && last.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && ENDS.iter().any(|end| last.ends_with(end));
    let plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'$' | b'/' | b':'));
    (named && plain && last.len() <= LONGEST_ITEM).then_some(last)
}

/// The part of a message that tells two errors of one class apart.
pub(super) fn detail(message: &str) -> String {
    for nothing in ["null", "undefined"] {
        if message.find("of ").and_then(|at| message.get(at..)).is_some_and(|tail| {
            tail.match_indices("of ").any(|(at, _)| {
                tail.get(at + 3..)
                    .and_then(|rest| rest.strip_prefix(nothing))
                    .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
            })
        }) {
            return nothing.to_owned();
        }
    }
    let message = message.lines().next().unwrap_or_default();
    let (words, quoted) = parts(message, 5);
    let mut all: Vec<&str> = Vec::new();
    if !words.is_empty() {
        all.push(&words);
    }
    all.extend(quoted.iter().take(2).map(String::as_str));
    shortened(&all.join("-"))
}

/// The first words outside quotes as a slug, and each quoted part as a slug; volatile parts are left out.
pub(super) fn parts(message: &str, most_words: usize) -> (String, Vec<String>) {
    let masked = mask(head(message, 600));
    let mut plain = String::new();
    let mut quoted = Vec::new();
    let mut rest = masked.as_str();
    let mut before = ' ';
    while let Some(open) = rest.chars().next() {
        let after = rest.get(open.len_utf8()..).unwrap_or_default();
        let close = match open {
            '\'' | '"' => Some(open),
            '`' => Some('`'),
            '‘' => Some('’'),
            '“' => Some('”'),
            _ => None,
        };
        // An apostrophe inside a word does not open a quote; a quote opened by ` may be closed by an apostrophe: `foo'.
        let end = close.filter(|_| !before.is_alphanumeric() && before != ')').and_then(|close| {
            after.char_indices().find_map(|(at, c)| {
                let next = after.get(at + c.len_utf8()..).and_then(|rest| rest.chars().next());
                let closes = c == close || (open == '`' && c == '\'');
                (closes && !next.is_some_and(char::is_alphanumeric)).then_some((at, c.len_utf8()))
            })
        });
        match end {
            Some((at, width)) => {
                let inside = after.get(..at).unwrap_or_default();
                let key = if inside.contains(['/', '\\']) { file_key(inside) } else { slug(&mut spaced(inside), 6) };
                if !key.is_empty() {
                    quoted.push(shortened(&key));
                }
                plain.push(' ');
                before = ' ';
                rest = after.get(at + width..).unwrap_or_default();
            }
            None => {
                plain.push(open);
                before = open;
                rest = after;
            }
        }
    }
    (slug(&mut spaced(&plain), most_words), quoted)
}

/// Lower-case words joined with `-`, at most `most`; positions (`line 12`, `position 3`) and masked parts are left out.
pub(super) fn slug(words: &mut dyn Iterator<Item = &str>, most: usize) -> String {
    let mut slug = String::new();
    let mut taken = 0;
    let mut position = false;
    for word in words {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let digits = word.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b',' | b'.' | b'-'));
        if taken == most {
            break;
        }
        if word.is_empty() || (digits && (position || word.len() > 4)) {
            continue;
        }
        let lower = lower_text(word);
        position = matches!(
            lower.as_str(),
            "line" | "lines" | "column" | "col" | "position" | "offset" | "row" | "port" | "pid"
        );
        let piece: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '/'))
            .filter(|piece| !piece.is_empty())
            .collect();
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&piece.join("-"));
        taken += 1;
    }
    slug
}

/// `path:12`, `path:12:5`, `path(12,5)` or `path(12)` at the start of a text: the path, and what follows the position.
pub(in crate::text) fn location(text: &str) -> Option<(&str, &str)> {
    let drive = text.as_bytes().get(1) == Some(&b':') && text.starts_with(|c: char| c.is_ascii_alphabetic());
    let from = if drive { 2 } else { 0 };
    let end = from + text.get(from..)?.find([':', '(', ' ', '\t'])?;
    let path = text.get(..end).filter(|path| has_extension(path))?;
    let mut rest = text.get(end..)?;
    if let Some(inside) = rest.strip_prefix('(') {
        let (numbers, rest) = inside.split_once(')')?;
        return numbers.bytes().all(|b| b.is_ascii_digit() || b == b',').then_some((path, rest));
    }
    let mut numbers = 0;
    while let Some(after) = rest.strip_prefix(':') {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            break;
        }
        numbers += 1;
        rest = after.get(digits..)?;
    }
    (numbers > 0).then_some((path, rest))
}

/// Whether a word is spelled like a file name: a dot and an extension of one to five ASCII letters and digits.
pub(super) fn has_extension(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        (1..=5).contains(&extension.len())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
            && extension.starts_with(|c: char| c.is_ascii_lowercase())
            && stem.chars().any(char::is_alphanumeric)
    }) && !word.contains(char::is_whitespace)
        && !word.contains("://")
}

/// The last two components of a path, without directories that change from run to run: a file occurs under many roots.
pub(in crate::text) fn file_key(path: &str) -> String {
    let mut parts = path.trim_matches(['"', '\'', '`']).rsplit(['/', '\\']).filter(|part| !part.is_empty());
    let name = parts.next().unwrap_or_default();
    match parts.next() {
        Some(parent) if !matches!(parent, "." | "..") && !parent.ends_with(':') && !passing(parent) => {
            format!("{parent}/{name}")
        }
        _ => name.to_owned(),
    }
}

/// Whether a directory looks like it was made for one run: `tmpab12cd`, `pytest-of-u`, `7f3a9c1e`, `20260102`.
fn passing(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    ["tmp", "temp", "pytest-", "."].iter().any(|start| name.starts_with(start))
        || digits >= 6
        || (digits >= 2 && name.len() >= 8 && !name.contains('.') && !name.contains('_'))
}

pub(super) fn strip_timing(name: &str) -> &str {
    let Some((head, last)) = name.rsplit_once(' ') else { return name };
    if let Some((head, inside)) = name.strip_suffix(')').and_then(|name| split_last(name, " (")) {
        return if mask(inside) == "#" { head } else { name };
    }
    if mask(last) == "#" { head } else { name }
}

pub(super) fn joined(parts: &[&str]) -> String {
    let mut all = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !all.is_empty() {
            all.push('-');
        }
        all.push_str(part);
    }
    all
}

/// `kind:COUNT-first,second` and a digest of the others, if any. The items must be sorted.
pub(super) fn listed(kind: &str, items: Vec<String>) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let mut distinct: Vec<&str> = items.iter().map(String::as_str).collect();
    distinct.dedup();
    let (shown, others) = distinct.split_at_checked(2).unwrap_or((&distinct, &[]));
    let mut signature = format!("{kind}:{}-{}", items.len(), shown.join(","));
    if !others.is_empty() {
        signature.push_str(&format!(",+{}", digest(&others.join("\n"))));
    }
    Some(signature)
}

fn digest(text: &str) -> String {
    format!("{:04x}", xxh3_64(text.as_bytes()) & 0xffff)
}

/// The end of a long name, where names differ, after a digest of the whole.
pub(super) fn shortened(name: &str) -> String {
    let length = name.chars().count();
    if length <= LONGEST_ITEM {
        return name.to_owned();
    }
    let tail: String = name.chars().skip(length - (LONGEST_ITEM - 5)).collect();
    format!("{}~{tail}", digest(name))
}

/// One printable line of at most [`LONGEST`] characters; a longer one is cut and ends with a digest.
pub(super) fn sealed(text: &str) -> String {
    let text = hyphenated(text);
    if text.chars().count() <= LONGEST {
        return text;
    }
    let head: String = text.chars().take(LONGEST - 5).collect();
    format!("{head}~{}", digest(&text))
}

/// Runs of white space as `-`; characters that do not print are left out.
pub(super) fn hyphenated(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            if !blank {
                out.push('-');
            }
            blank = true;
        } else if prints(c) {
            out.push(c);
            blank = false;
        }
    }
    out
}

/// Whether a character is neither a control character nor one that hides or reorders its neighbours.
pub(super) fn prints(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
        && !matches!(c, '\u{e0000}'..='\u{e007f}')
}
