//! Whether a user says that nothing has changed, or repeats an earlier remark.

use super::words::{is_in, same, spaced};

/// Length limit in bytes of a message that is only a complaint.
const LONGEST: usize = 120;
/// Words that express it alone.
const UNCHANGED: &str = "ainda already bereits nope still todavia todavía toujours unchanged";
/// Pairs of words that express it together, one per line.
const TOGETHER: &str = "as before\nas said\ngià detto\ni said\ni told\nimmer noch\nkeine änderung\nmême erreur\nno change\nno changes\n\
no difference\nno effect\nnoch immer\nnot fixed\nnothing changed\nsame error\nsame problem\nschon gesagt\nsigue igual\nsin cambios";

/// Whether a short message says that the problem persists, or that it was reported before. A question does not count:
/// it asks for something.
pub(crate) fn complains(message: &str) -> bool {
    if message.len() > LONGEST || message.contains('?') {
        return false;
    }
    let (mut before, mut starts) = ("", true);
    let mut tokens = spaced(message).peekable();
    while let Some(token) = tokens.next() {
        let word = token.trim_matches(|char: char| !char.is_alphanumeric());
        let ends = token.ends_with(['.', '!', ',', ';']) || tokens.peek().is_none();
        let is_pair = |pair: &str| pair.split_once(' ').is_some_and(|(one, two)| same(before, one) && same(word, two));
        let together = || TOGETHER.lines().any(is_pair);
        // `Same light.` and `It is the same.`, but not `the same for Bob`.
        let alone = || (starts || ends) && same(word, "same") && !tokens.clone().any(|next| same(next, "for"));
        if is_in(UNCHANGED, word) || together() || alone() {
            return true;
        }
        (before, starts) = (word, ends);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{TOGETHER, complains};

    #[test]
    fn lists_are_in_order() {
        assert!(TOGETHER.lines().is_sorted());
    }

    #[test]
    fn who_says_that_nothing_has_changed() {
        for message in [
            "No, still under the crane.",
            "Reloaded. Still hidden!",
            "no change",
            "Same dark lamp.",
            "Off and on. It is the same.",
            "As I said, it is off.",
            "I told you that",
            "I have done this already.",
            "Immer noch dunkel.",
            "Toujours pareil.",
            "Nope.",
        ] {
            assert!(complains(message), "{message}");
        }
        for message in [
            "Now the next one, please.",
            "Please do the same for the lamp of the stairs.",
            "The same again for deck two, for Bob",
            "Is it still possible to come by ferry?",
            "Change no lamp but this one.",
            "Make it darker.",
            "",
        ] {
            assert!(!complains(message), "{message}");
        }
        assert!(!complains(&"It is still dark. ".repeat(8)));
    }
}
