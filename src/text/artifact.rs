//! Progress artefacts to keys: patches, documents and sets of failing tests, each without its volatile parts.

use crate::text::{Key, combine, salted, sorted};
use alloc::{string::String, vec::Vec};

/// Key of a patch, ignoring times, blob ids and mail headers. Everything else, digests included, is compared as it is.
/// 0 for an empty patch.
pub(crate) fn patch(text: &str, salt: u64) -> Key {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines().peekable();
    let mut old_file = false;
    while let Some(line) = lines.next() {
        let line = line.trim_end();
        // A removed line may look like a file header, but a real header's two lines are adjacent.
        let head = line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if head || (old_file && line.starts_with("+++ ")) {
            out.push_str(file_head(line));
        } else if !is_metadata(line) {
            without_times(line, &mut out);
        }
        out.push('\n');
        old_file = head;
    }
    let text = out.trim();
    if text.is_empty() { 0 } else { salted("patch", salt, text.as_bytes()) }
}

/// `--- a/file` of `--- a/file<tab>2026-01-05 10:00:00`, also with blanks in place of the tab.
fn file_head(line: &str) -> &str {
    let line = line.split('\t').next().unwrap_or(line);
    let mut kept = line;
    while let Some((rest, word)) = kept.rsplit_once(' ') {
        let time = word.starts_with(|char: char| char.is_ascii_digit() || matches!(char, '+' | '-'))
            && word.chars().all(|char| char.is_ascii_digit() || matches!(char, ':' | '-' | '.' | '+' | 'T' | 'Z'));
        if !time {
            break;
        }
        kept = rest;
    }
    kept.trim_end()
}

/// Whether a patch line names blobs, commits or dates. Content never matches: it begins with a sign or a blank.
fn is_metadata(line: &str) -> bool {
    let commit = |rest: &str| {
        let id = rest.split(' ').next().unwrap_or_default();
        id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'.')
    };
    ["index ", "From ", "commit "].iter().any(|start| line.strip_prefix(start).is_some_and(commit))
        || ["Date: ", "AuthorDate: ", "CommitDate: "].iter().any(|start| line.starts_with(start))
}

/// Appends `line` with every ISO date and time replaced by `<time>`; a date without a time of day stays.
fn without_times(line: &str, out: &mut String) {
    let mut rest = line;
    let mut before = false;
    while let Some(char) = rest.chars().next() {
        let length = if before { 0 } else { time_length(rest) };
        let (part, after) = rest.split_at_checked(length.max(char.len_utf8())).unwrap_or((rest, ""));
        out.push_str(if length == 0 { part } else { "<time>" });
        before = char.is_ascii_digit();
        rest = after;
    }
}

/// Length in bytes of the ISO date and time at the start of `text`, such as `2026-01-05T10:00:00.5Z`; 0 if there is
/// none.
fn time_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let fits = |pattern: &[u8], at: usize| {
        pattern.iter().zip(at..).all(|(kind, at)| match (kind, bytes.get(at)) {
            (b'0', Some(byte)) => byte.is_ascii_digit(),
            (b'T', Some(byte)) => matches!(byte, b'T' | b't' | b' '),
            (kind, byte) => Some(kind) == byte,
        })
    };
    if !fits(b"0000-00-00T00:00", 0) {
        return 0;
    }
    let mut at = 16;
    if fits(b":00", at) {
        at += 3;
        if fits(b".0", at) {
            at += 1;
            at += bytes.iter().skip(at).take_while(|byte| byte.is_ascii_digit()).count();
        }
    }
    match bytes.get(at) {
        Some(b'Z' | b'z') => at + 1,
        Some(b'+' | b'-') if fits(b"00:00", at + 1) => at + 6,
        Some(b'+' | b'-') if fits(b"0000", at + 1) => at + 5,
        Some(b' ') if matches!(bytes.get(at + 1), Some(b'+' | b'-')) && fits(b"0000", at + 2) => at + 6,
        _ => at,
    }
}

/// Key of a Markdown document, ignoring white space. 0 for an empty one.
pub(crate) fn document(text: &str, salt: u64) -> Key {
    let text: String = text.chars().filter(|char| !char.is_whitespace()).collect();
    if text.is_empty() { 0 } else { salted("document", salt, text.as_bytes()) }
}

/// Key and size of a set of failing tests, ignoring order and duplicates.
pub(crate) fn failing_tests(ids: &[String], salt: u64) -> (Key, u32) {
    let mut keys: Vec<Key> = sorted(ids.iter().map(|id| salted("test", salt, id.trim().as_bytes())).collect());
    keys.dedup();
    (combine("failing-tests", &keys), u32::try_from(keys.len()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::ToString};

    #[test]
    fn what_changes_by_itself_in_a_patch_does_not_count() {
        let patch_at = |time: &str, blob: &str, line: &str| {
            patch(
                &format!(
                    "diff --git a/x.rs b/x.rs\nindex {blob}..0badcafe 100644\n--- a/x.rs\t{time}\n+++ b/x.rs\t{time}\n\
                 @@ -1 +1 @@\n-old\n+{line}\n"
                ),
                0,
            )
        };
        let first = patch_at("2026-01-05 10:00:00.000000000 +0100", "1234567", "new");
        assert_eq!(first, patch_at("2026-01-05 11:30:07.000000000 +0100", "89abcde", "new"));
        assert_ne!(first, patch_at("2026-01-05 10:00:00.000000000 +0100", "1234567", "newer"));
        let mail = |id: &str, date: &str| {
            patch(&format!("From {id} Mon Sep 17 00:00:00 2001\nDate: {date}\nSubject: x\n\n-a\n+b\n"), 0)
        };
        assert_eq!(mail("1234567890", "Mon, 5 Jan 2026"), mail("abcdef0123", "Tue, 6 Jan 2026"));
    }

    #[test]
    fn times_in_the_content_do_not_count_and_other_numbers_do() {
        for (one, other, same) in [
            ("+at 2026-01-05T10:00:00Z", "+at 2026-01-05T10:00:01Z", true),
            ("+at 2026-01-05 10:00:00.25+01:00 ok", "+at 2026-02-05 10:00 ok", true),
            ("--- a/x 2026-01-05 10:00:00\n+++ b/x 2026-01-05 10:00:00\n+a", "--- a/x\n+++ b/x\n+a", true),
            ("-a\r\n+b\r\n", "-a\n+b\n\n", true),
            ("+version = 3", "+version = 4", false),
            ("+due 2026-01-05", "+due 2026-01-06", false),
            ("+index of things", "+index of other things", false),
            ("-- 1 note", "-- 2 note", false),
            ("+id 12026-01-05T10:00", "+id 12026-01-05T10:01", false),
            ("d0", "d1", false),
            ("+größe 1", "+größe 2", false),
        ] {
            assert_eq!(patch(one, 0) == patch(other, 0), same, "{one} / {other}");
        }
        assert_eq!(patch(" \n\n", 0), 0);
    }

    #[test]
    fn documents_and_sets() {
        assert_eq!(document("# A\n\n- b\n", 0), document("#A\n -  b", 0));
        assert_ne!(document("# A", 0), document("# B", 0));
        assert_eq!(document(" \n", 0), 0);
        let set = |ids: &[&str]| failing_tests(&ids.iter().map(ToString::to_string).collect::<Vec<_>>(), 0);
        assert_eq!(set(&["b", "a"]), set(&["a", " b ", "a"]));
        assert_ne!(set(&["a"]), set(&["a", "b"]));
        assert_eq!(failing_tests(&[], 0).1, 0);
    }
}
