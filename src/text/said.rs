use crate::codec::codec;
use crate::text::{Key, case::lower, ends::head, mark, salted, sorted, words::spaced};
use alloc::{string::String, vec::Vec};

/// Words from which small figures make no difference: "Done with 3" is an answer, a sentence with a counter is a
/// refrain.
const SENTENCE: usize = 4;
/// Maximum number of digits of a counter: a larger figure, such as a price, is what the sentence is about.
const COUNTER: usize = 2;
/// Letters from which a text is long, and bytes of a long text that are compared: only its letters, ignoring case.
const LONG: usize = 100;
const COMPARED: usize = 4000;

/// A message in a comparable form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ComparedMessage {
    /// Key of the text without differences in blanks and, in sentences, counters; for a long text, of its letters only.
    pub(crate) key: Key,
    pub(crate) long: bool,
}

/// The comparable form of a message; `None` if it is blank.
pub(crate) fn said(text: &str, salt: u64) -> Option<ComparedMessage> {
    let sentence = spaced(text).nth(SENTENCE - 1).is_some() && !calculates(text);
    let mut said = String::with_capacity(text.len());
    let mut length = 0usize;
    for word in spaced(text) {
        let mut number = false;
        let counts = word.chars().filter(char::is_ascii_digit).count() <= COUNTER;
        for character in word.chars() {
            let digit = sentence && counts && character.is_ascii_digit();
            if !(digit && number) {
                said.push(if digit { '#' } else { character });
                length += 1;
            }
            number = digit;
        }
        said.push(' ');
        length += 1;
    }
    let long = text.chars().filter(|char| char.is_alphabetic()).nth(LONG - 1).is_some();
    if long {
        said.clear();
        let mut gap = false;
        for character in head(text, COMPARED).chars() {
            if character.is_alphabetic() {
                said.push(lower(character));
            } else if !gap {
                said.push(' ');
            }
            gap = !character.is_alphabetic();
        }
    }
    let domain = if long { "said/long" } else { "said" };
    (length != 0).then(|| ComparedMessage { key: salted(domain, salt, said.as_bytes()), long })
}

/// Sentences of a long text that are kept, at most, and at least; and the letters from which one counts.
const MOST: usize = 24;
const FEWEST: usize = 4;
const TELLS: usize = 12;

/// Marks of the different sentences and lines of a long text, by their letters, ignoring case, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sentences(Vec<u32>);
codec!(struct Sentences(_));

impl Sentences {
    pub(crate) fn of(text: &str, salt: u64) -> Self {
        let (mut letters, mut sentences) = (String::new(), Vec::new());
        for char in head(text, COMPARED).chars().chain(['\n']) {
            if char.is_alphabetic() {
                letters.push(lower(char));
            } else if matches!(char, '\n' | '.' | '!' | '?' | '。' | '！' | '？') {
                if letters.len() >= TELLS {
                    sentences.push(mark(salted("said/sentence", salt, letters.as_bytes())));
                }
                letters.clear();
            }
        }
        // The smallest marks are a sample of all of them, wherever they stand.
        let mut sentences = sorted(sentences);
        sentences.dedup();
        sentences.truncate(MOST);
        Self(sentences)
    }

    /// Whether at least two thirds of the sentences of both are the same.
    pub(crate) fn nearly(&self, other: &Self) -> bool {
        let (fewer, more) = if self.0.len() < other.0.len() { (&self.0, &other.0) } else { (&other.0, &self.0) };
        let shared = fewer.iter().filter(|sentence| more.contains(sentence)).count();
        fewer.len() >= FEWEST && shared * 3 >= more.len() * 2
    }

    pub(crate) const fn fits(&self) -> bool {
        self.0.len() <= MOST
    }
}

/// Whether a text multiplies or divides: `8 × 9`. Its figures are what it is about, however small.
fn calculates(text: &str) -> bool {
    text.char_indices().filter(|(_, sign)| matches!(sign, '×' | '÷')).any(|(at, sign)| {
        let before = text.get(..at).unwrap_or_default().trim_end_matches(' ');
        let after = text.get(at + sign.len_utf8()..).unwrap_or_default().trim_start_matches(' ');
        let digit = |char: char| char.is_ascii_digit();
        before.ends_with(digit) && after.starts_with(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::{ComparedMessage, Sentences};
    use alloc::format;
    use alloc::string::String;

    fn said(text: &str) -> Option<ComparedMessage> {
        super::said(text, 0)
    }

    #[test]
    fn what_is_the_same() {
        let same = |left: &str, right: &str| said(left) == said(right);
        assert!(same("I will  try\nagain 7", " I will try again 12 "));
        assert!(!same("We can go down to 5400 kroner", "We can go down to 5300 kroner"));
        assert!(!same("step 7 done", "step 8 done"));
        assert!(!same("Right! And what is 8 × 6, please?", "Right! And what is 7 × 9, please?"));
        assert!(same("This is attempt 3 of 10, x=1", "This is attempt 4 of 10, x=2"));
        assert!(!same("I will try again", "i will try again"));
        assert_eq!(said(" \n\t"), None);
        assert!(said(&"word ".repeat(40)).is_some_and(|said| said.long));
        assert!(said(&"word ".repeat(20)).is_some_and(|said| !said.long));
        let long = |number: usize| format!("{number}. {}", "Then I will look at the same file again, ".repeat(4));
        assert_eq!(said(&long(1)), said(&long(27).to_uppercase()));
    }

    #[test]
    fn texts_that_are_nearly_the_same() {
        let report = |first: &str, rest: [&str; 4]| Sentences::of(&format!("{first}\n- {}", rest.join("\n- ")), 7);
        let rest = ["the quay is swept", "the crane is oiled", "the lamps are lit", "the ropes are coiled"];
        let one = report("Everything is done now.", rest);
        assert!(one.nearly(&report("All work is finished!", rest.map(|line| line.trim()))));
        assert!(!one.nearly(&report("All work is finished!", ["the quay is wet", rest[1], rest[2], rest[3]])));
        // Too little to compare, and lines that say nothing.
        assert!(!Sentences::of("The quay is swept. Done.", 7).nearly(&Sentences::of("The quay is swept. Done.", 7)));
        assert!(!Sentences::of(&"Done. ".repeat(40), 7).nearly(&Sentences::of(&"Done. ".repeat(40), 7)));
        assert_ne!(one, Sentences::default());
        // One long beginning, and a sentence said over and over.
        let under = |word: &str| {
            let of = |what: &str, word: &str| {
                (0..30).map(|at| format!("{what} {word}{}. ", "x".repeat(at))).collect::<String>()
            };
            Sentences::of(&(of("the heading of all", "") + &of("a sentence of its own about", word)), 7)
        };
        assert!(!under("ropes").nearly(&under("lamps")));
        let other = "The mole is long. The pier is short. The buoy is red. The gate is shut.";
        assert!(!Sentences::of(&"The quay is swept. ".repeat(4), 7).nearly(&Sentences::of(other, 7)));
    }
}
