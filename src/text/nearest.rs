use alloc::vec::Vec;

/// Maximum number of edits between a typo and the word that was meant.
const MISTAKES: usize = 3;
/// Bytes of the longest word that may be a typo.
const LONGEST: usize = 64;

/// Names of fields, their values and event types here, each with those they have in other systems, in lower case and
/// without separators.
const OTHER_NAMES: &str = "\
agent agentname author from sender
args arguments input parameters params toolinput
assistant ai model
at date time timestamp ts
callId id toolcallid tooluseid
collaboration delegation handoff
delta chunk token
error exception failed failure
exitCode code exit returncode
message assistant system text user
not-executed blocked cancelled skipped
ok success
outcome error iserror status success
output content response result stdout
run conversationid runid session sessionid threadid
text body content message
tool function functionname name toolname
tool-call functioncall tool tooluse
tool-result functioncalloutput response result
user human";

/// The known word that another one was most likely meant to be: what other systems call by that word, or else the
/// [`nearest`].
pub(crate) fn meant<'a, K: Iterator<Item = &'a str>>(word: &str, known: impl Fn() -> K) -> Option<&'a str> {
    let mut bare = word.to_ascii_lowercase();
    bare.retain(|char| char != '_' && char != '-');
    let other = OTHER_NAMES.lines().find_map(|line| {
        let (name, others) = line.split_once(' ')?;
        let name = known().find(|known| *known == name)?;
        others.split(' ').any(|other| other == bare).then_some(name)
    });
    other.or_else(|| nearest(word, known()))
}

/// The known word that a mistyped one was most likely meant to be: the one at the smallest edit distance, if that is
/// small for its length.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let edits = known.into_iter().map(|name| (edits(word, name), name));
    let (edits, name) = edits.min_by_key(|(edits, _)| *edits)?;
    (edits <= MISTAKES && edits * 2 < name.chars().count().max(2)).then_some(name)
}

/// The Levenshtein distance of two words, in characters.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (begun, of_a) in a.chars().enumerate() {
        let mut diagonal = begun;
        let mut left = begun + 1;
        for (slot, of_b) in row.iter_mut().zip(core::iter::once(None).chain(b.chars().map(Some))) {
            let Some(of_b) = of_b else {
                *slot = left;
                continue;
            };
            let changed = diagonal + usize::from(of_a != of_b);
            diagonal = *slot;
            left = changed.min(*slot + 1).min(left + 1);
            *slot = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{edits, nearest};

    #[test]
    fn edits_are_counted() {
        let cases = [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("kitten", "sitting", 3),
            ("nugde", "nudge", 2),
        ];
        for (a, b, wanted) in cases {
            assert_eq!(edits(a, b), wanted, "{a} {b}");
            assert_eq!(edits(b, a), wanted, "{b} {a}");
        }
    }

    #[test]
    fn a_typing_mistake_has_one_answer_and_nonsense_has_none() {
        let known = ["repeated-call", "repeated-error", "cycle", "halt", "at"];
        let cases = [
            ("repeated-cal", Some("repeated-call")),
            ("repeatd-eror", Some("repeated-error")),
            ("cicle", Some("cycle")),
            ("hlat", None),
            ("hal", Some("halt")),
            ("xy", None),
            ("something-else", None),
        ];
        for (word, wanted) in cases {
            assert_eq!(nearest(word, known), wanted, "{word}");
        }
        assert_eq!(nearest(&"a".repeat(10_000), known), None);
    }
}
