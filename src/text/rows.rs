//! The rows of a text as it streams: whether they recur, whatever number each begins with.
//!
//! A row is the words of a line without its numbers. It is known if it was among the latest rows and its figures have
//! occurred together in an earlier row, leaving aside a number that counts on, such as an id or the place in a list.
//! While all rows are known, those since the first of them count as repeated. A row that occurs only once more (a
//! refrain, the header of another file) does not count, nor does one that recurs at every row or every other row: many
//! tables have such.

use super::novelty::{Drift, KnownWords};
use crate::codec::codec;
use alloc::vec::Vec;

/// Sets of four in the table of known rows; a lap longer than the 64 rows is rarely seen.
const PLACES: usize = 16;
/// A row that recurs with fewer other rows in between says nothing.
const NEAR: u32 = 2;
/// Words of repeated rows per point.
const WORDS: u32 = 6;
/// Words from which a row is a sentence, and the factor by which a sentence with other figures counts less than a
/// repeated row.
const SENTENCE: u32 = 6;
const FIGURED: u32 = 4;
/// Sets of four in the table of rows' figures.
const FIGURES: usize = 32;
/// By how much the hash of a word rises when the number at its end is incremented: in its last digit, in its last two,
/// in its last three; from a bare 9 to 10, and from 99 to 100.
const COUNTS_ON: [u32; 5] = [1, 22, 673, 1510, 46_801];

#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// The latest rows, each as the high half of its hash and, in the low half, its sequence number; the newest entry
    /// of a set comes first.
    known: Vec<[u32; 4]>,
    /// Sequence number of the latest row, wrapping; a row equal to the one before does not advance it.
    came: u16,
    figures: KnownWords,
    /// The hash of the word with the number that counts on, or may.
    counter: u32,
    row: Row,
    /// Consecutive known rows; and the words of those since the first of them, times [`FIGURED`] for repeated rows and
    /// once for sentences with other figures.
    run: u32,
    words: u32,
    /// Characters before the first of them, and before this row.
    offset: u64,
    start: u64,
}
codec!(struct Rows { known, came, figures, counter, row, run, words, offset, start });

/// The row being read.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    hash: u32,
    words: u32,
    numbers: u32,
    /// The hash of its first word with a number that does not count on.
    number: u32,
    counts_on: bool,
    /// Digest of its other numbers.
    figures: u32,
    /// A full stop follows its last word.
    stops: bool,
}
codec!(struct Row { hash, words, numbers, number, counts_on, figures, stops });

fn mixed(hash: u32, word: u32) -> u32 {
    (hash ^ word).wrapping_mul(0x9e37_79b1).rotate_left(15)
}

impl Rows {
    /// Takes a word by its hash; `number` if it contains a digit. A `light` word is not counted.
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

    /// A full stop follows the latest word.
    #[inline]
    pub(super) fn stops(&mut self) {
        self.row.stops = true;
    }

    /// Ends a line at this number of characters; returns the drift if this row adds to it.
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

    /// How many other rows have come since this one last did, and records it. 0 if it equals the row before, `None` if
    /// it is not known.
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

    /// The current drift of recurring rows.
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

    /// How many rows of a text recur at its end, and how many points they score.
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
            // Sentences with ever other figures.
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
            // A single row, or two taking turns: tables look like this.
            rows(60, |n| format!("| svc-{n} | running | 0 restarts |")),
            rows(60, |n| format!("| {} | open |", ["north", "south"][n % 2])),
            // Different figures in the same rows.
            rows(60, |n| format!("| {n} | {} | {} |", BIRDS[n % 5], n * 7919)),
            // The same header in one file after the other, and refrains.
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
            // Figures with few words, and rows that are not sentences.
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
