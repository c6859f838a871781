//! The figures that somebody gave lately.

use crate::codec::codec;
use crate::state::Ring;
use crate::text::{combine, figures, mark};

/// Values that are remembered.
const VALUES: usize = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Values(Ring<u32>);
codec!(struct Values(_));

/// Whether a text gives values that are known, the very one that was given last, and others.
pub(super) struct Given {
    pub(super) old: bool,
    pub(super) last: bool,
    pub(super) new: bool,
}

impl Values {
    /// What a text gives, of so many characters at least.
    pub(super) fn take(&mut self, text: &str, shortest: usize, salt: u64) -> Given {
        let mut given = Given { old: false, last: false, new: false };
        let last = self.0.last().copied();
        for value in values(text, shortest, salt) {
            let known = self.0.take(|known| *known == value).is_some();
            self.0.push(value, VALUES);
            given.old |= known;
            given.last |= last == Some(value);
            given.new |= !known;
        }
        given
    }

    /// Whether a text gives one that is known.
    pub(super) fn holds(&self, text: &str, shortest: usize, salt: u64) -> bool {
        self.0.len() > 0 && values(text, shortest, salt).any(|value| self.0.iter().any(|known| *known == value))
    }

    pub(super) fn fits(&self) -> bool {
        self.0.len() <= VALUES
    }
}

/// What a text gives, of so many characters at least.
fn values(text: &str, shortest: usize, salt: u64) -> impl Iterator<Item = u32> {
    let long = figures(text).filter(move |(_, characters)| *characters >= shortest);
    long.take(VALUES).map(move |(figure, _)| mark(combine("value", &[figure.into(), salt])))
}
