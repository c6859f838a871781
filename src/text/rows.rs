//! The rows of a text as it streams: whether they come round, whatever number each begins with.
//!
//! A row is the words of a line, its numbers aside. It is known where it came among the latest and has no figures that
//! were not together in one before, but for a number that counts on: an id, the place in a list. As long as all rows
//! are known, those that came since the first of them are said again. What stands once more in a text (a refrain, the
//! head of another file) is not, nor is a row between two like it: tables have many such.

use super::novelty::{Drift, Heard};
use crate::codec::codec;
use alloc::vec::Vec;

/// Places of rows that are known, four in each: hardly a longer lap is seen.
const PLACES: usize = 16;
/// Rows among which another like it says nothing.
const NEAR: u32 = 2;
/// Words of rows that are said again to a point.
const WORDS: u32 = 6;
/// Words from which a row is a sentence, and how much less than one that is said again it counts with other figures.
const SENTENCE: u32 = 6;
const FIGURED: u32 = 4;
/// Fours of rows' figures that are known.
const FIGURES: usize = 32;
/// By how much the hash of a word rises where the number at its end counts on: within its last digit, its last two, its
/// last three; from 9 to 10, from 99 to 100.
const COUNTS_ON: [u32; 5] = [1, 22, 673, 1510, 46_801];

#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// Of each of the latest rows half of its hash, and behind that the low half of when it came, the newest of a place
    /// first.
    known: Vec<[u32; 4]>,
    /// Rows that came, those apart that are the one before again.
    came: u16,
    figures: Heard,
    /// The word with the number that counts on, or may.
    counter: u32,
    row: Row,
    /// Rows in a row that were known, and the words of those that came since the first of them, those of sentences with
    /// other figures a quarter each.
    run: u32,
    words: u32,
    /// Characters before them, and before this row.
    offset: u64,
    start: u64,
}
codec!(struct Rows { known, came, figures, counter, row, run, words, offset, start });

/// The row that is being said.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    hash: u32,
    words: u32,
    numbers: u32,
    /// The first of its words with a number.
    number: u32,
    counts_on: bool,
    /// Of the others.
    figures: u32,
    /// A full stop stands behind the last word.
    stops: bool,
}
codec!(struct Row { hash, words, numbers, number, counts_on, figures, stops });

fn mixed(hash: u32, word: u32) -> u32 {
    (hash ^ word).wrapping_mul(0x9e37_79b1).rotate_left(15)
}

impl Rows {
    /// Takes in a word, by its hash, which has a digit in it where it is a `number`; some are `light`.
    #[inline]
    pub(super) fn word(&mut self, word: u32, number: bool, light: bool) {
        let row = &mut self.row;
        let said = if number { 1 } else { word };
        row.hash = mixed(row.hash, said);
        row.stops = false;
        if number {
            self.number(word);
        } else {
            row.words += u32::from(!light);
        }
    }

    fn number(&mut self, word: u32) {
        let row = &mut self.row;
        row.numbers += 1;
        if !row.counts_on && COUNTS_ON.contains(&word.wrapping_sub(self.counter)) {
            (row.counts_on, self.counter) = (true, word);
            return;
        }
        row.figures = mixed(row.figures, word);
        if row.number == 0 {
            row.number = word;
        }
    }

    /// A full stop stands behind the latest word.
    #[inline]
    pub(super) fn stops(&mut self) {
        self.row.stops = true;
    }

    /// A line ends, behind so many characters; what comes round, if this row does.
    #[inline(never)]
    pub(super) fn ends(&mut self, characters: u64) -> Option<Drift> {
        let row = core::mem::take(&mut self.row);
        let start = core::mem::replace(&mut self.start, characters);
        if !row.counts_on && row.number != 0 {
            self.counter = row.number;
        }
        if row.words == 0 {
            return None;
        }
        let ago = self.ago(row.hash);
        let is_new = row.figures != 0 && self.figures.learn(row.figures, FIGURES);
        let sentence = row.stops && row.number != 0 && row.words >= SENTENCE && row.words * 2 >= row.numbers * 5;
        let Some(ago) = ago.filter(|_| sentence || !is_new) else {
            (self.run, self.words) = (0, 0);
            return None;
        };
        if self.run == 0 {
            self.offset = start;
        }
        let again = !is_new && (NEAR..self.run).contains(&ago.into());
        self.run = self.run.saturating_add(u32::from(sentence || ago != 0));
        let words = row.words * if again { FIGURED } else { u32::from(sentence) };
        self.words = self.words.saturating_add(words);
        (words != 0).then(|| self.drift())
    }

    /// How many rows ago one came, if that is known: 0 where it is the one before again.
    fn ago(&mut self, hash: u32) -> Option<u16> {
        if self.known.len() != PLACES {
            self.known.resize(PLACES, [0; 4]);
        }
        let place = self.known.get_mut(hash as usize % PLACES)?;
        let known = place.iter_mut().find(|known| (**known ^ hash) >> 16 == 0);
        let ago = known.as_ref().map(|known| self.came.wrapping_sub(**known as u16));
        if ago != Some(0) {
            self.came = self.came.wrapping_add(1);
            let now = hash & 0xffff_0000 | u32::from(self.came);
            if let Some(known) = known {
                *known = now;
            } else {
                let [first, second, third, _] = *place;
                *place = [now, first, second, third];
            }
        }
        ago
    }

    /// What comes round.
    pub(super) fn drift(&self) -> Drift {
        Drift { blocks: 0, points: self.words / (WORDS * FIGURED), offset: self.offset, rows: self.run }
    }

    pub(super) fn fits(&self) -> bool {
        let known = self.known.is_empty() || self.known.len() == PLACES;
        known && self.figures.fits(FIGURES) && self.row.words.max(self.row.numbers) <= u32::MAX / 8
    }
}

#[cfg(test)]
mod tests {
    use super::super::novelty::Novelty;
    use alloc::{format, string::String};

    /// How many rows of a text come round at its end, and what that counts.
    fn round(text: &str) -> (u32, u32) {
        let mut novelty = Novelty::default();
        novelty.feed(text);
        let round = novelty.rows.drift();
        (round.rows, round.points)
    }

    fn rows(count: usize, row: impl Fn(usize) -> String) -> String {
        (0..count).map(|n| row(n) + "\n").collect()
    }

    const BIRDS: [&str; 5] = ["grey heron", "little tern", "reed bunting", "bittern", "marsh harrier"];

    #[test]
    fn rows_that_come_round() {
        let bird = |n: usize| BIRDS[n % 5];
        let lists = [
            rows(30, |n| format!("{}. {}", n + 1, bird(n))),
            rows(130, |n| format!("bird-{n}: {}", bird(n))),
            rows(30, |n| format!(r#"  {{"id": {}, "name": "{}", "seen": {}}},"#, n + 995, bird(n), n * n % 7)),
            rows(40, |n| format!("| {} | {} |", bird(n * n / 3), ["rare", "common"][n % 2])),
            // A function of four lines under ever other names.
            rows(80, |n| {
                let fourth = |at: usize| ["    check(reed)?;", "    check(tide)?;", "}"][at];
                if n % 4 == 0 { format!("fn visit_{}(log: &Log) {{", n / 4) } else { fourth(n % 4 - 1).into() }
            }),
            // Sentences under ever other figures.
            rows(40, |n| {
                let birds = 12 + n * n % 31;
                let more = if n % 7 == 3 { ", rain or shine" } else { "" };
                format!("{}. Count at least {birds} of the small birds on the outer bank{more}.", n + 1)
            }),
            rows(40, |n| format!("第{n}天傍晚在外滩的芦苇丛里慢慢数到了{}只小鸟然后回家。", 12 + n * n % 31)),
            rows(60, |n| {
                format!("{}、{}", n + 1, ["蒼鷺は葦の間に立つ", "小鰺刺は砂に卵を産む", "大葭切は朝から鳴く"][n % 3])
            }),
        ];
        for list in lists {
            let (rows, points) = round(&list);
            assert!(rows > 20 && points >= 5, "{rows} {points} {list}");
            assert_eq!(round(&format!("{list}7. avocet, not seen so far\n")), (0, 0));
        }
    }

    #[test]
    fn rows_that_say_something() {
        let header = "// Copyright of the harbour office\n// To be used on the quay only\n// and by its crew\n\n";
        for text in [
            // One row, or two by turns, is how tables look.
            rows(60, |n| format!("| svc-{n} | running | 0 restarts |")),
            rows(60, |n| format!("| {} | open |", ["north", "south"][n % 2])),
            // Other figures in the same rows.
            rows(60, |n| format!("| {n} | {} | {} |", BIRDS[n % 5], n * 7919)),
            // The same head of one file after the other, and refrains.
            (0..12).map(|n| format!("{header}fn berth_{}() {{}}\n", char::from(b'a' + n))).collect(),
            (0..12)
                .map(|n| format!("the {n}{} went out\nhey and over\nhaul her in\nlads, haul\n", char::from(b'a' + n)))
                .collect(),
            rows(64, |n| {
                format!(
                    "<rect x='{}' y='{}' fill='{}'/>",
                    n % 8 * 10,
                    n / 8 * 10,
                    ["red", "sand", "teal"][n * n % 5 % 3]
                )
            }),
            // Figures in few words, and what is no sentence.
            rows(60, |n| format!("Count {n}: {} birds on the outer bank at {} m, wind {}.", n * n % 31, n % 5, n % 7)),
            rows(60, |n| format!("count('outer bank', where => 'by the lock', birds => 'small', day => {n});")),
            rows(3000, |n| format!("{n}")),
            rows(200, |n| format!("{} x {} = {}", n / 20, n % 20, n / 20 * (n % 20))),
        ] {
            assert!(round(&text).1 <= 1, "{:?} {text}", round(&text));
        }
        let fortnight = rows(14, |n| format!("Day {n}: walk {} km along the outer bank and count birds.", n + 3));
        assert!(round(&fortnight).1 <= 6, "{:?}", round(&fortnight));
    }

    #[test]
    fn where_they_began() {
        let before = rows(20, |n| format!("{} of {}", BIRDS[n % 5], char::from(b'a' + n as u8)));
        let list = rows(30, |n| format!("{}. {}", n + 1, BIRDS[n % 5]));
        let mut novelty = Novelty::default();
        novelty.feed(&format!("{before}{list}"));
        // From the second lap on.
        let lap = list.find("6. ").unwrap() + before.len();
        assert_eq!(novelty.rows.drift().offset as usize, lap);
    }
}
