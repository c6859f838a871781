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

/// By the first byte: nearly every word that is looked for is in no list, and most lists have a word or two a letter.
fn holds(list: &[&str], folded: &[u8]) -> bool {
    let Some(first) = folded.first() else { return false };
    let begins = |entry: &&str| entry.as_bytes().first() == Some(first);
    let from = list.partition_point(|entry| entry.as_bytes().first() < Some(first));
    let alike = list.get(from..).unwrap_or_default().iter().take_while(|entry| begins(entry));
    alike.into_iter().any(|entry| entry.as_bytes() == folded)
}

/// A byte of a word, and one that may be: what is not ASCII must be decoded.
const PART: u8 = 1;
const WIDE: u8 = 2;

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
const fn parts(joint: u8) -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = if byte >= 128 {
            WIDE
        } else if (byte as u8).is_ascii_alphanumeric() || byte as u8 == joint {
            PART
        } else {
            0
        };
        byte += 1;
    }
    table
}

/// The words of a text, from where to where: runs of letters, digits and one more ASCII character.
#[derive(Clone)]
pub(super) struct Runs<'a, const JOINT: u8> {
    text: &'a str,
    at: usize,
}

/// Words that `JOINT` does not end.
pub(super) fn runs<const JOINT: u8>(text: &str) -> Runs<'_, JOINT> {
    Runs { text, at: 0 }
}

/// Words of letters and digits alone: a digit joins what is joined anyway.
pub(super) const NO_JOINT: u8 = b'0';

impl<const JOINT: u8> Runs<'_, JOINT> {
    const PARTS: [u8; 256] = parts(JOINT);

    /// Bytes of the letter or digit beyond ASCII that stands at a place.
    #[cold]
    fn letter(&self, at: usize) -> Option<usize> {
        let character = self.text.get(at..)?.chars().next()?;
        character.is_alphanumeric().then(|| character.len_utf8())
    }
}

impl<const JOINT: u8> Iterator for Runs<'_, JOINT> {
    type Item = (usize, usize);

    /// The next word. Only what is not ASCII has to be decoded.
    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        let bytes = self.text.as_bytes();
        let class = |byte: u8| Self::PARTS.get(usize::from(byte)).copied().unwrap_or(0);
        let mut at = self.at;
        // The bytes that continue a character are stepped over one by one: none of them begins a word.
        loop {
            let class = class(*bytes.get(at)?);
            if class == PART || class == WIDE && self.letter(at).is_some() {
                break;
            }
            at += 1;
        }
        let start = at;
        while let Some(byte) = bytes.get(at).copied() {
            let class = class(byte);
            if class == PART {
                at += 1;
            } else if let Some(length) = (class == WIDE).then(|| self.letter(at)).flatten() {
                at += length;
            } else {
                break;
            }
        }
        self.at = at;
        Some((start, at))
    }
}

/// For every letter that words of some lists begin with, modulo 32, their lengths, a bit each, and the same for the last
/// letters: most words of a text are in no list, and are told so by one look or two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sieve {
    first: [u32; 32],
    last: [u32; 32],
}

impl Sieve {
    #[expect(clippy::indexing_slicing, reason = "evaluated at compile time: an index out of range would not build")]
    pub(super) const fn of(lists: &[&[&str]]) -> Self {
        let mut sieve = Self { first: [0; 32], last: [0; 32] };
        let mut list = 0;
        while list < lists.len() {
            let mut entry = 0;
            while entry < lists[list].len() {
                let word = lists[list][entry].as_bytes();
                sieve.first[(word[0] & 31) as usize] |= 1 << (word.len() & 31);
                sieve.last[(word[word.len() - 1] & 31) as usize] |= 1 << (word.len() & 31);
                entry += 1;
            }
            list += 1;
        }
        sieve
    }

    /// Whether `word` may be in a list; false where it is in none.
    #[inline]
    pub(super) fn passes(&self, word: &str) -> bool {
        let [first, last] = [word.as_bytes().first(), word.as_bytes().last()].map(|byte| byte.copied().unwrap_or(0));
        let lengths = |by: &[u32; 32], byte: u8| by.get(usize::from(byte & 31)).copied().unwrap_or(0);
        (lengths(&self.first, first) & lengths(&self.last, last)) >> (word.len() & 31) & 1 == 1
    }

    /// The same for a name in which letters and digits alone count: it may be longer by what does not.
    #[inline]
    pub(super) fn passes_name(&self, name: &str) -> bool {
        let Some(first) = name.bytes().find(u8::is_ascii_alphanumeric) else { return false };
        let lengths = self.first.get(usize::from(first & 31)).copied().unwrap_or(0);
        lengths & ((2 << name.len().min(30)) - 1) != 0
    }
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
    fn runs_of_letters_and_digits() {
        for (text, expected) in [
            ("", &[][..]),
            (" -", &[]),
            ("snake_case don't x1", &["snake_case", "don", "t", "x1"]),
            ("größe—日本 ¿é?", &["größe", "日本", "é"]),
            ("✅a✅", &["a"]),
        ] {
            let words = runs::<b'_'>(text).filter_map(|(from, to)| text.get(from..to));
            assert_eq!(words.collect::<Vec<_>>(), expected, "{text}");
        }
        assert_eq!(runs::<b'\''>("don't").count(), 1);
    }

    #[test]
    fn sieves_hold_back_nothing_that_is_listed() {
        const LISTS: [&[&str]; 2] = [&["requestid", "timeout"], &["a"]];
        let sieve = Sieve::of(&LISTS);
        for word in ["requestid", "TimeOut", "A"] {
            assert!(sieve.passes(word) && sieve.passes_name(word), "{word}");
        }
        assert!(sieve.passes_name("request_id") && sieve.passes_name("-Request-ID"));
        assert!(!sieve.passes("time") && !sieve.passes("") && !sieve.passes_name("path") && !sieve.passes_name("_"));
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
