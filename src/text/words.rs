//! Words: of names, for the lists that know verbs and fields.

/// The words of an identifier, as written: `camelCase`, `PascalCase`, `HTTPServer`, `snake_case`, `kebab-case`, dotted
/// and slashed names all come apart; digits stay with the word before them. Only ASCII letters have humps.
pub(crate) fn name_words(name: &str) -> impl Iterator<Item = &str> {
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let mut rest = name;
    core::iter::from_fn(move || {
        let start = rest.bytes().position(in_word)?;
        let bytes = rest.as_bytes().get(start..)?;
        let ends = |pair: &[u8]| match pair {
            [before, byte, after @ ..] => {
                let next_is_lower = after.first().is_some_and(u8::is_ascii_lowercase);
                let hump = byte.is_ascii_uppercase() && (!before.is_ascii_uppercase() || next_is_lower);
                hump || !in_word(*byte)
            }
            _ => false,
        };
        let length = (1..bytes.len()).find(|at| bytes.get(at - 1..).is_some_and(ends)).unwrap_or(bytes.len());
        let (word, tail) = rest.get(start..)?.split_at_checked(length)?;
        rest = tail;
        Some(word)
    })
}

/// Bytes of the longest word that a list may hold.
const LONGEST: usize = 32;

/// Whether `word`, whatever its ASCII case, is in `list`, which is sorted and lower-case.
pub(crate) fn listed(list: &[&str], word: &str) -> bool {
    let mut folded = [0; LONGEST];
    // What is longer is in no list.
    let Some(folded) = folded.get_mut(..word.len()) else { return false };
    folded.copy_from_slice(word.as_bytes());
    folded.make_ascii_lowercase();
    holds(list, folded)
}

/// Whether `name` is in `list` once case, `_`, `-`, `.` and blanks are gone: `requestId`, `request_id` and `Request-ID`
/// are one name. `list` is sorted, lower-case and without separators.
pub(crate) fn listed_name(list: &[&str], name: &str) -> bool {
    let mut folded = [0; LONGEST];
    let mut length = 0;
    for byte in name.bytes().filter(u8::is_ascii_alphanumeric) {
        let Some(place) = folded.get_mut(length) else { return false };
        *place = byte.to_ascii_lowercase();
        length += 1;
    }
    holds(list, folded.get(..length).unwrap_or_default())
}

fn holds(list: &[&str], folded: &[u8]) -> bool {
    list.binary_search_by(|entry| entry.as_bytes().cmp(folded)).is_ok()
}

/// For tests of word lists: binary search needs order.
#[cfg(test)]
pub(crate) fn assert_sorted(list: &[&str]) {
    for word in list {
        assert!(word.len() <= LONGEST && listed(list, word), "{word:?} cannot be found");
    }
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
            ("größeÄndern_x", &["größeÄndern", "x"]),
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
