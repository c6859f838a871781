//! The figures that somebody has given lately.

use crate::codec::codec;
use crate::state::Ring;
use crate::text::{case::lower_text, combine, figures, mark, salted};

/// Values read of a text, and kept: with those of names, the bare numbers.
const VALUES: usize = 8;
const KEPT: usize = 2 * VALUES;

#[derive(Clone, Debug, Default)]
pub(super) struct Values(Ring<u32>);
codec!(struct Values(_));

/// Whether a text gives values that are known (`old`), the one that was given last (`last`), and new ones (`new`).
pub(super) struct Given {
    pub(super) old: bool,
    pub(super) last: bool,
    pub(super) new: bool,
}

impl Values {
    /// Records the values that a text gives, of at least `shortest` characters each. If much else in it is `fresh`,
    /// known shorter numbers say nothing.
    pub(super) fn take(&mut self, text: &str, shortest: usize, fresh: bool, salt: u64) -> Given {
        let mut given = Given { old: false, last: false, new: false };
        let last = self.0.last().copied();
        for number in numbers(text, shortest, salt).take(VALUES) {
            self.0.met(number, KEPT);
        }
        let all = values(text, shortest, salt).map(|value| (value, true));
        for (value, tells) in all.chain(counted(text, shortest, salt).map(|value| (value, !fresh))).take(VALUES) {
            let known = self.0.met(value, KEPT);
            given.old |= known && tells;
            given.last |= last == Some(value) && tells;
            given.new |= !known;
        }
        given
    }

    /// Whether a text gives a known value, or the number of one beside another name.
    pub(super) fn holds(&self, text: &str, shortest: usize, salt: u64) -> bool {
        let mut given = values(text, shortest, salt).chain(numbers(text, shortest, salt));
        self.0.len() > 0 && given.any(|value| self.0.iter().any(|known| *known == value))
    }

    pub(super) fn fits(&self) -> bool {
        self.0.len() <= KEPT
    }
}

/// The values that a text gives, of at least `shortest` characters each. Four digits that may be a year are part of a
/// date and no value by themselves.
fn values(text: &str, shortest: usize, salt: u64) -> impl Iterator<Item = u32> {
    let is_year = |word: &str| word.len() == 4 && word.parse().is_ok_and(|year: u32| (1900..2100).contains(&year));
    let long = figures(text).filter(move |(_, word)| word.chars().count() >= shortest && !is_year(word));
    long.take(VALUES).map(move |(figure, _)| mark(combine("value", &[figure.into(), salt])))
}

/// The bare shorter numbers of a text that names stand beside.
fn numbers(text: &str, shortest: usize, salt: u64) -> impl Iterator<Item = u32> {
    named(text, shortest).map(move |(_, number)| mark(salted("value/number", salt, number.as_bytes())))
}

/// The shorter numbers that it gives, each with the name beside it: `10 June`, `gate 4`.
fn counted(text: &str, shortest: usize, salt: u64) -> impl Iterator<Item = u32> {
    named(text, shortest).map(move |(name, number)| {
        let name = salted("value/name", salt, lower_text(name).as_bytes());
        mark(combine("value/counted", &[name, salted("value/number", salt, number.as_bytes())]))
    })
}

/// The names beside these numbers, and the numbers.
fn named(text: &str, shortest: usize) -> impl Iterator<Item = (&str, &str)> {
    let words = || text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty());
    let names = move |word: &&str| word.chars().nth(shortest - 1).is_some() && word.chars().all(char::is_alphabetic);
    let around = core::iter::once("").chain(words()).zip(words()).zip(words().skip(1).chain(core::iter::once("")));
    around.filter_map(move |((before, number), after)| {
        let counts = number.len() < shortest && number.bytes().all(|byte| byte.is_ascii_digit());
        let name = [after, before].into_iter().find(names).filter(|_| counts)?;
        Some((name, number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_are_no_values() {
        let given = |text| values(text, 3, 0).count();
        assert_eq!(given("on 9 May 2027, not in 1999"), 0);
        assert_eq!(given("20kg, the 19th, gate 1405, order 2100 and 20270"), 5);
    }
}
