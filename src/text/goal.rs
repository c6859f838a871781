//! What a request is about, whatever its wording: names, numbers, paths and the longer words, weighted.
//!
//! Wordings differ, their object does not, so only a set of weighted word stems is kept of a text. What names something
//! (a number, an address, a proper name) weighs most, a short word least, the shortest nothing. Two requests share a
//! goal if most of that weight is shared; whether *another* object fills the same frame, a template was refilled or a
//! list got shorter is determined separately.

use super::case::lower_text;
use super::ends::head;
use super::words::{begins_address, dense, find, has_figure, hashed, hashed_word, same};
use super::{Key, combine};
use crate::codec::codec;
use crate::tuned;
use alloc::{format, string::String, vec::Vec};

/// Distinct words kept per text, at most.
pub(crate) const MOST: usize = 64;
/// Bytes read of a text.
const LONGEST: usize = 1600;
/// Characters of a stem: endings vary with the sentence.
const STEM: usize = 6;
/// Weight of a word that names something.
const OBJECT: u32 = 3;
/// The bits of a kept word that hold its weight.
const WEIGHT: u32 = 3;
/// Percentage of capitalised words inside sentences above which capitals name nothing: some languages and all titles
/// have many.
const CAPITALS: usize = 40;

/// The object of a request, in comparable form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Goal {
    /// Hashes of the stems, each once, in the order of the text; the lowest two bits are the weight.
    words: Vec<u32>,
    /// The sum of the weights.
    weight: u32,
}
codec!(struct Goal { words, weight });

/// How a request relates to an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinship {
    /// Shared weight in per cent of that of both together.
    pub(crate) alike: u32,
    /// Shared weight in per cent of that of the lighter one.
    pub(crate) within: u32,
    /// The later one names something that the earlier one does not.
    pub(crate) plus: bool,
    /// The earlier one names something that the later one does not.
    pub(crate) minus: bool,
    /// They differ in one place only, where each has something of its own.
    pub(crate) refilled: bool,
    /// One is the other with one more part: a list that gets shorter, a search that narrows.
    pub(crate) cut: bool,
}

/// A word of a text.
struct Word<'a> {
    text: &'a str,
    address: bool,
    /// It continues a sentence: no punctuation that ends or opens one stands before it.
    inside: bool,
    /// It is a tag, `<query>`, or a label at the beginning of a later line, `query: …`.
    form: bool,
}

/// The words of a text: addresses as a whole, words with their inner dots, dashes and slashes, single characters of
/// scripts without blanks between words.
struct Words<'a> {
    rest: &'a str,
    first: bool,
}

fn words(text: &str) -> Words<'_> {
    Words { rest: text, first: true }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    /// Called in many places.
    #[inline(never)]
    fn next(&mut self) -> Option<Word<'a>> {
        let start = find(self.rest, char::is_alphanumeric)?;
        let (gap, tail) = self.rest.split_at_checked(start)?;
        let first = core::mem::take(&mut self.first);
        let ends = || gap.contains(['.', '!', '?', ':', '\n', '"', '“', '。', '！', '？', '：']);
        let inside = !first && (gap == " " || !ends());
        let address = begins_address(tail);
        let length = if address {
            tail.find(|char: char| char.is_whitespace() || matches!(char, ')' | ']' | '>' | '\'' | '"'))
                .unwrap_or(tail.len())
        } else {
            length(tail)
        };
        let (word, after) = tail.split_at_checked(length)?;
        self.rest = after;
        let form =
            gap.ends_with(['<', '/']) && after.starts_with('>') || gap.ends_with('\n') && after.starts_with(": ");
        let text = if address { word.trim_end_matches(['.', ',', ';', ':', '!', '?']) } else { word };
        Some(Word { text, address, inside, form })
    }
}

/// Length in bytes of the word that a text begins with.
fn length(text: &str) -> usize {
    let plain = text.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let joins = |byte: &u8| matches!(byte, b'\'' | b'.' | b'-' | b'/' | b'@' | b'_');
    if plain > 0 && text.as_bytes().get(plain).is_none_or(|next| next.is_ascii() && !joins(next)) {
        return plain;
    }
    let mut chars = text.char_indices().peekable();
    let mut end = 0;
    while let Some((at, char)) = chars.next() {
        if dense(char) {
            return if end == 0 { at + char.len_utf8() } else { at };
        }
        if char.is_alphanumeric() {
            end = at + char.len_utf8();
            continue;
        }
        let joins = matches!(char, '\'' | '’' | '.' | '-' | '/' | '@' | '_');
        if !joins || !chars.peek().is_some_and(|(_, next)| next.is_alphanumeric() && !dense(*next)) {
            return at;
        }
    }
    end
}

/// The hash of a text, as it is kept.
fn hash(text: &str) -> u32 {
    kept(hashed(text.chars()))
}

/// The hash of a word's first `most` characters, ignoring case.
fn hash_of(word: &str, most: usize) -> u32 {
    kept(hashed_word(word, most))
}

/// Reduces a hash to 19 bits above the two of the weight: three bytes in a snapshot, and enough for at most 64 words
/// per goal.
const fn kept(hash: u32) -> u32 {
    hash & 0x1f_ffff & !WEIGHT
}

/// A value beside the text, as one object: the same text for eight recipients is a list. A shared database or row limit
/// does not make two requests alike and so weighs nothing; a shared recipient or agent does.
pub(crate) fn beside(name: &str, value: &str) -> u32 {
    hash(&format!("{name}={value}")) | if matches!(name, "agent" | "to") { OBJECT } else { 0 }
}

/// Up to `most` things that a text names, independent of language: files without their folders, identifiers, words with
/// a digit. Bare numbers do not count: they are amounts.
pub(crate) fn named_things(text: &str, most: usize) -> Vec<u32> {
    let text = clipped(text);
    let mut found: Vec<u32> = Vec::new();
    let mut words = words(text);
    let mut before = "";
    while let Some(word) = words.next() {
        // Skips the fields of JSON, and the place that was searched.
        let place = same(core::mem::replace(&mut before, word.text), "in");
        if place || words.rest.starts_with("\":") {
            continue;
        }
        let name = word.text.rsplit('/').next().unwrap_or_default();
        let letters = name.contains(char::is_alphabetic);
        let marked = name.contains(['.', '_']) || name.contains(char::is_numeric);
        let hump = name.chars().skip(1).any(char::is_uppercase) && name.contains(char::is_lowercase);
        let hash = hash_of(name, usize::MAX);
        if letters && (marked || hump || name.len() < word.text.len()) && !found.contains(&hash) {
            found.push(hash);
            if found.len() == most {
                break;
            }
        }
    }
    found
}

/// The stems of a text's words, hashed as in a goal, without words with a digit and ASCII words of up to three letters.
pub(crate) fn plain_words(text: &str) -> impl Iterator<Item = u32> {
    let plain = words(clipped(text)).map(|word| word.text).filter(|word| !has_figure(word));
    let long = plain.filter(|word| word.chars().nth(3).is_some() || !word.is_ascii());
    long.map(|word| hash_of(word, STEM))
}

/// The words of a text with a digit, each with its hash as in a goal.
pub(crate) fn figures(text: &str) -> impl Iterator<Item = (u32, &str)> {
    let marked = words(clipped(text)).map(|word| word.text).filter(|word| has_figure(word));
    marked.map(|word| (hash_of(word, usize::MAX), word))
}

/// Length limit in bytes of a quotation that names something.
const QUOTED: usize = 48;

/// The short texts in double quotation marks, each as one thing.
pub(crate) fn quoted(text: &str) -> impl Iterator<Item = u32> {
    let inside = clipped(text).split(['"', '“', '”']).skip(1).step_by(2);
    let short = inside.filter(|thing| thing.len() <= QUOTED && thing.contains(char::is_alphanumeric));
    short.map(|thing| hash(&format!("\"{}", lower_text(thing))))
}

/// The part of a text that is read.
fn clipped(text: &str) -> &str {
    head(text, LONGEST)
}

/// The words of a text that a goal keeps, as text for explanations, each with its hash.
pub(crate) fn goal_words(text: &str) -> Vec<(u32, String)> {
    let text = clipped(text);
    // Behind another word, so that its capital counts.
    let kept = words(text).filter_map(|word| {
        let goal = Goal::of(&format!("x {}", word.text));
        goal.words.first().map(|hash| (*hash, word.text.into()))
    });
    kept.collect()
}

impl Goal {
    /// The goal of a text.
    pub(crate) fn of(text: &str) -> Self {
        Self::with(text, &mut core::iter::empty())
    }

    /// The goal of a text and of the values `beside` it.
    pub(crate) fn with(text: &str, beside: &mut dyn Iterator<Item = u32>) -> Self {
        let text = clipped(text);
        let mut found: Vec<(u32, bool)> = Vec::new();
        let (mut capitals, mut inner) = (0_usize, 0_usize);
        for word in words(text).filter(|word| !word.form) {
            let bare = word.text.strip_suffix('s').and_then(|own| own.strip_suffix(['\'', '’']));
            let low = bare.unwrap_or(word.text);
            let Some(initial) = low.chars().next() else { continue };
            let digit = has_figure(low);
            let (letters, hump) = if low.is_ascii() {
                (low.len(), low.bytes().skip(1).any(|byte| byte.is_ascii_uppercase()))
            } else {
                (low.chars().count(), low.chars().skip(1).any(char::is_uppercase))
            };
            let capital = initial.is_uppercase() && word.inside;
            if word.inside && !digit && !word.address {
                inner += 1;
                capitals += usize::from(initial.is_uppercase());
            }
            let sure = word.address || digit || hump;
            if !sure && !capital && letters <= 3 && !dense(initial) && initial.is_ascii() {
                continue;
            }
            let whole = word.address || digit;
            let stem = hash_of(low, if whole { usize::MAX } else { STEM });
            let weight = if sure {
                OBJECT
            } else if letters >= STEM || dense(initial) {
                2
            } else {
                1
            };
            if let Some((known, named)) = found.iter_mut().find(|(known, _)| *known & !WEIGHT == stem) {
                *known = stem | (*known & WEIGHT).max(weight);
                *named |= capital;
            } else if found.len() == MOST {
                break;
            } else {
                found.push((stem | weight, capital));
            }
        }
        let named = capitals * 100 <= inner * CAPITALS;
        let mut words: Vec<u32> =
            found.into_iter().map(|(word, capital)| if capital && named { word | OBJECT } else { word }).collect();
        for word in beside {
            if words.len() < MOST && !words.iter().any(|known| *known & !WEIGHT == word & !WEIGHT) {
                words.push(word);
            }
        }
        let weight = words.iter().map(|word| word & WEIGHT).sum();
        Self { words, weight }
    }

    /// Whether this weighs at least a sixth more than an earlier one.
    pub(crate) const fn grows(&self, before: &Self) -> bool {
        self.weight.saturating_mul(6) >= before.weight.saturating_mul(7)
    }

    pub(crate) const fn weight(&self) -> u32 {
        self.weight
    }

    /// The words and their weights.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (u32, u32)> {
        self.words.iter().map(|word| (word & !WEIGHT, word & WEIGHT))
    }

    /// A key of the words and their weights, in order.
    pub(crate) fn key(&self) -> Key {
        let words: Vec<Key> = self.words.iter().map(|word| Key::from(*word)).collect();
        combine("goal", &words)
    }

    /// Whether a word of this weight names something.
    pub(crate) const fn names(weight: u32) -> bool {
        weight == OBJECT
    }

    pub(crate) fn fits(&self) -> bool {
        self.words.len() <= MOST
    }

    /// The words that are (`there`) or are not in the other goal, with their weights.
    pub(crate) fn parts_in(&self, other: &Self, there: bool) -> Vec<(u32, u32)> {
        self.parts().filter(|(word, _)| other.find(*word).is_some() == there).collect()
    }

    fn find(&self, word: u32) -> Option<u32> {
        self.words.iter().find(|known| *known & !WEIGHT == word & !WEIGHT).copied()
    }

    /// Whether something is named here that is not in the other.
    fn names_more(&self, other: &Self) -> bool {
        self.words.iter().any(|word| matches!(word & WEIGHT, 0 | OBJECT) && other.find(*word).is_none())
    }

    /// The weight and the number of the words that both share.
    fn overlap(&self, before: &Self) -> (u32, usize) {
        // Most words occur in only one of the two; a 64-bit filter rejects nearly all of them.
        let bit = |word: u32| 1_u64 << (word >> 2 & 63);
        let own = self.words.iter().fold(0, |bits, word| bits | bit(*word));
        let known = before.words.iter().filter(|word| own & bit(**word) != 0);
        let both = known.filter_map(|known| Some((self.find(*known)? & WEIGHT).min(known & WEIGHT)));
        both.fold((0, 0), |(weight, words), each| (weight + each, words + 1))
    }

    /// How this request relates to an earlier one.
    pub(crate) fn kinship(&self, before: &Self) -> Kinship {
        let (overlap, words) = self.overlap(before);
        self.told_apart(before, words, self.likeness(before, overlap))
    }

    /// [`Goal::kinship`], if both share most of their weight.
    pub(crate) fn shared(&self, before: &Self) -> Option<Kinship> {
        let (overlap, words) = self.overlap(before);
        let likeness = self.likeness(before, overlap);
        Self::shares(&likeness).then(|| self.told_apart(before, words, likeness))
    }

    fn likeness(&self, before: &Self, overlap: u32) -> Kinship {
        let percent = |of: u32| overlap.saturating_mul(100).checked_div(of).unwrap_or(0);
        let alike = percent(self.weight.saturating_add(before.weight).saturating_sub(overlap));
        Kinship { alike, within: percent(self.weight.min(before.weight)), ..Kinship::default() }
    }

    /// Completes `likeness` with the differences; `words` is the number of shared words.
    fn told_apart(&self, before: &Self, words: usize, likeness: Kinship) -> Kinship {
        Kinship {
            plus: self.names_more(before),
            minus: before.names_more(self),
            refilled: self.refills(before, words),
            cut: self.shortens(before, words) || before.shortens(self, words),
            ..likeness
        }
    }

    /// The lengths of the common head and, of the remaining words, of the common tail.
    fn around(&self, before: &Self) -> (usize, usize) {
        let same = |(left, right): &(&u32, &u32)| **left & !WEIGHT == **right & !WEIGHT;
        let shorter = self.words.len().min(before.words.len());
        let head = self.words.iter().zip(&before.words).take_while(same).count();
        let tails = self.words.iter().rev().zip(before.words.iter().rev());
        (head, tails.take(shorter.saturating_sub(head)).take_while(same).count())
    }

    /// Whether this is the earlier one without one part, whatever its words: the names in a long list are too many to
    /// count as names. A part of little weight is a courtesy.
    fn shortens(&self, before: &Self, shared: usize) -> bool {
        if self.words.len() != shared || before.words.len() <= shared {
            return false;
        }
        let (head, tail) = self.around(before);
        let part = before.words.iter().skip(head).take(before.words.len() - shared);
        head + tail >= shared && part.map(|word| word & WEIGHT).sum::<u32>() >= OBJECT
    }

    /// Whether both fill the same template differently.
    fn refills(&self, before: &Self, shared: usize) -> bool {
        if self.words.len() == shared || before.words.len() == shared {
            return false;
        }
        let (head, tail) = self.around(before);
        head + tail >= shared
    }

    /// Whether both share most of their weight.
    pub(crate) fn shares(kinship: &Kinship) -> bool {
        kinship.alike >= tuned::GOAL_ALIKE.get()
            || kinship.within >= tuned::GOAL_WITHIN.get() && kinship.alike >= tuned::GOAL_WITHIN_ALIKE.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(text: &str) -> Goal {
        Goal::of(text)
    }

    #[test]
    fn in_quotation_marks() {
        let count = |text: &str| quoted(text).count();
        assert_eq!(count(r#"What is the word for "quay", and for “rope”?"#), 2);
        assert_eq!(count(r#"It's "", and "--""#), 0);
        assert_eq!(count(&format!("\"{}\"", "long ".repeat(12))), 0);
        assert_eq!(quoted("\"Quay\"").next(), quoted("a \"quay\"").next());
    }

    #[test]
    fn a_part_more() {
        let houses = |from: usize| {
            let all = ["Villa Aurora", "Haus Lindenhof", "Casa Verde", "Rosegarth Hall"];
            format!("Check the winter hours of {} and note them", all[from..].join(", "))
        };
        let cut = |one: &str, other: &str| goal(one).kinship(&goal(other)).cut;
        assert!(cut(&houses(1), &houses(0)) && cut(&houses(0), &houses(1)));
        assert!(!cut(&houses(0), &houses(0)));
        // A courtesy, and parts in two places.
        assert!(!cut("find a quiet hotel near the station", "please find a quiet hotel near the station"));
        assert!(!cut("the winter hours of the hall", "the monthly winter hours of the hall on the northern shore"));
    }

    #[test]
    fn what_a_text_names() {
        let things = |text: &str| named_things(text, 8);
        assert_eq!(things("Could not find data/quay_plan.csv"), things("Paths with Quay_plan.csv: []"));
        assert_ne!(things("no quay_plan.csv"), things("no quay_map.csv"));
        assert!(things("Found 0 of 20 files in the harbour.").is_empty());
        assert_eq!(named_things("a.b c.d e.f", 2).len(), 2);
    }

    fn kin(later: &str, before: &str) -> Kinship {
        goal(later).kinship(&goal(before))
    }

    #[test]
    fn wording_does_not_matter() {
        let kinship = kin(
            "Find out on the Aldgate Observatory's official website when it was founded.",
            "Please visit the official website of the Aldgate Observatory and find its founding year.",
        );
        assert!(Goal::shares(&kinship) && !kinship.plus && !kinship.minus && !kinship.refilled, "{kinship:?}");
        let kinship = kin("请到青岚博物馆官方网站查一下它的成立年份。", "请在官方网站上查找青岚博物馆的成立年份。");
        assert!(Goal::shares(&kinship) && !kinship.plus, "{kinship:?}");
    }

    #[test]
    fn another_object_in_the_same_frame() {
        let kinship = kin("Who composed the music of the film Stalker?", "Who composed the music of the film Solaris?");
        assert!(kinship.plus && kinship.minus && kinship.refilled, "{kinship:?}");
        let kinship = kin("rain in may 2022 at the harbour", "rain at the harbour in may 2021");
        assert!(kinship.plus && kinship.minus, "{kinship:?}");
        // Where every noun is capitalised, capitals name nothing, but the template still tells them apart.
        let kinship = kin(
            "Bitte suche auf der Seite des Stadtarchivs Wangen das Baujahr des Rathauses heraus.",
            "Bitte suche auf der Seite des Stadtarchivs Lindau das Baujahr des Rathauses heraus.",
        );
        assert!(!kinship.plus && kinship.refilled, "{kinship:?}");
    }

    #[test]
    fn what_stands_beside_is_an_object() {
        let one = Goal::with("please confirm the meeting tomorrow", &mut [beside("to", "ana")].into_iter());
        let other = Goal::with("please confirm the meeting tomorrow", &mut [beside("to", "ben")].into_iter());
        let kinship = other.kinship(&one);
        assert!(kinship.plus && kinship.minus);
        assert_eq!(one.kinship(&one), Kinship { alike: 100, within: 100, ..Kinship::default() });
    }

    #[test]
    fn words_of_a_text() {
        let words = |text| words(text).map(|word| word.text).collect::<Vec<_>>();
        assert_eq!(
            words("See https://a.b/c?d=1. Then v1.2-rc of the_thing's end."),
            ["See", "https://a.b/c?d=1", "Then", "v1.2-rc", "of", "the_thing's", "end"]
        );
        assert_eq!(words("a天气b"), ["a", "天", "气", "b"]);
        assert_eq!(words("--'. /"), [""; 0]);
    }

    #[test]
    fn bounded() {
        let many: alloc::string::String = (0..400).map(|n| alloc::format!("w{n} ")).collect();
        let goal = goal(&many);
        assert!(goal.fits() && goal.words.len() == MOST);
    }

    proptest::proptest! {
        #[test]
        fn any_text(one in "\\PC{0,200}", other in "\\PC{0,200}") {
            let (one, other) = (goal(&one), goal(&other));
            let kinship = one.kinship(&other);
            proptest::prop_assert!(kinship.alike <= 100 && kinship.within <= 100);
            proptest::prop_assert_eq!(one.kinship(&one).plus, false);
        }
    }
}
