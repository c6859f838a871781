//! The figures that somebody gave lately.

use crate::codec::codec;
use crate::state::Ring;
use crate::text::{combine, figures, mark};

/// Values that are remembered.
const VALUES: usize = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Values(Ring<u32>);
codec!(struct Values(_));

/// Whether a text gives values that are known, and others.
pub(super) struct Given {
    pub(super) old: bool,
    pub(super) new: bool,
}

impl Values {
    /// What a text gives, of so many characters at least.
    pub(super) fn take(&mut self, text: &str, shortest: usize, salt: u64) -> Given {
        let mut given = Given { old: false, new: false };
        for (figure, _) in figures(text).filter(|(_, characters)| *characters >= shortest).take(VALUES) {
            let value = mark(combine("value", &[figure.into(), salt]));
            let known = self.0.take(|known| *known == value).is_some();
            self.0.push(value, VALUES);
            given.old |= known;
            given.new |= !known;
        }
        given
    }

    pub(super) fn fits(&self) -> bool {
        self.0.len() <= VALUES
    }
}
