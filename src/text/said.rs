use crate::text::{Key, key};
use alloc::string::String;

/// Words from which digits make no difference: "Done with 3" is an answer, a sentence with a counter is a refrain.
const SENTENCE: usize = 4;
/// Characters from which a text is long.
const LONG: usize = 160;

/// A message as something comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// Blanks and, in sentences, digits aside.
    pub(crate) key: Key,
    pub(crate) long: bool,
}

/// What was said; nothing where the text is blank.
pub(crate) fn said(text: &str) -> Option<Said> {
    let sentence = text.split_whitespace().nth(SENTENCE - 1).is_some();
    let mut said = String::with_capacity(text.len());
    let mut length = 0usize;
    for word in text.split_whitespace() {
        let mut number = false;
        for character in word.chars() {
            let digit = sentence && character.is_ascii_digit();
            if !(digit && number) {
                said.push(if digit { '#' } else { character });
                length += 1;
            }
            number = digit;
        }
        said.push(' ');
        length += 1;
    }
    (length != 0).then(|| Said { key: key("said", said.as_bytes()), long: length > LONG })
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn what_is_the_same() {
        let same = |left: &str, right: &str| said(left) == said(right);
        assert!(same("I will  try\nagain 7", " I will try again 1234 "));
        assert!(!same("step 7 done", "step 8 done"));
        assert!(!same("I will try again", "i will try again"));
        assert_eq!(said(" \n\t"), None);
        assert!(said(&"word ".repeat(40)).is_some_and(|said| said.long));
        assert!(said(&"word ".repeat(20)).is_some_and(|said| !said.long));
    }
}
