//! Words: of names, for the lists that know verbs and fields.

/// The words of an identifier, as written: `camelCase`, `PascalCase`, `HTTPServer`, `snake_case`, `kebab-case`, dotted
/// and slashed names all come apart; digits stay with the word before them.
pub(crate) fn name_words(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    core::iter::from_fn(move || {
        rest = rest.trim_start_matches(|char: char| !char.is_alphanumeric());
        let mut chars = rest.char_indices().peekable();
        let (_, mut before) = chars.next()?;
        let mut end = rest.len();
        while let Some((at, char)) = chars.next() {
            let next_is_lower = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            let hump = char.is_uppercase() && (!before.is_uppercase() || next_is_lower);
            if hump || !char.is_alphanumeric() {
                end = at;
                break;
            }
            before = char;
        }
        let (word, tail) = rest.split_at_checked(end)?;
        rest = tail;
        Some(word)
    })
}

/// Whether `word`, whatever its ASCII case, is in `list`, which is sorted and lower-case.
pub(crate) fn listed(list: &[&str], word: &str) -> bool {
    list.binary_search_by(|entry| entry.bytes().cmp(word.bytes().map(|byte| byte.to_ascii_lowercase()))).is_ok()
}

/// Whether `name` is in `list` once case, `_`, `-`, `.` and blanks are gone: `requestId`, `request_id` and `Request-ID`
/// are one name. `list` is sorted, lower-case and without separators.
pub(crate) fn listed_name(list: &[&str], name: &str) -> bool {
    let folded = || name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase());
    list.binary_search_by(|entry| entry.bytes().cmp(folded())).is_ok()
}

/// For tests of word lists: binary search needs order.
#[cfg(test)]
pub(crate) fn assert_sorted(list: &[&str]) {
    for pair in list.windows(2) {
        assert!(pair[0] < pair[1], "{:?} stands before {:?}", pair[0], pair[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn names_come_apart() {
        for (name, expected) in [
            ("", &[][..]),
            ("__", &[]),
            ("bash", &["bash"]),
            ("read_file", &["read", "file"]),
            ("TodoWrite", &["Todo", "Write"]),
            ("editFile2", &["edit", "File2"]),
            ("HTTPServerGet", &["HTTP", "Server", "Get"]),
            ("mcp__git-hub__create_issue", &["mcp", "git", "hub", "create", "issue"]),
            ("fs.writeFile", &["fs", "write", "File"]),
            ("größeÄndern", &["größe", "Ändern"]),
        ] {
            assert_eq!(name_words(name).collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn lists_ignore_case_and_separators() {
        let list = ["requestid", "timeout"];
        assert_sorted(&list);
        assert!(listed(&list, "TimeOut") && !listed(&list, "time-out") && !listed(&list, "time"));
        for name in ["requestId", "request_id", "Request-ID", "timeout"] {
            assert!(listed_name(&list, name), "{name}");
        }
        assert!(!listed_name(&list, "requestIds") && !listed_name(&list, "id") && !listed_name(&list, ""));
    }
}
