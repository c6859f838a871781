//! Where a rule stands: the evidence about whatever is furthest up its ladder, and the level that comes next for it.
//!
//! Thresholds are not the same for everything a rule looks at: they are higher where waiting is expected, a tool may
//! have its own, and advisory findings never reach a block. What is predicted here has to match what
//! [`Rule::observe`](super::Rule::observe) then does; `tests/it/status.rs` compares the two.

use crate::model::{Config, Level};
use crate::rules::Limits;

/// The context in which a rule reports its outlook.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// The rule's thresholds.
    pub(crate) limits: &'a Limits,
    pub(crate) config: &'a Config,
    /// Steps of the task, as in [`RunView`](super::RunView).
    pub(crate) steps: u64,
}

/// Amount of evidence about one thing, and the level that comes next for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outlook {
    pub(crate) count: u32,
    /// The level reached so far.
    pub(super) reached: Option<Level>,
    /// The next level and its threshold; `None` if there is none.
    pub(crate) next: Option<(Level, u32)>,
    /// There is no next level because the findings are advisory.
    pub(crate) advisory: bool,
}

impl View<'_> {
    /// The outlook for `count` pieces of evidence under the rule's own thresholds.
    pub(crate) fn of(&self, count: u32) -> Outlook {
        self.with(self.limits, count)
    }

    /// The same under other thresholds.
    pub(crate) fn with(&self, limits: &Limits, count: u32) -> Outlook {
        let config = self.config;
        let given = |level| if level == Level::Gate && !config.attended { config.unattended_level } else { level };
        let next = limits.next(count).map(|(level, threshold)| (given(level), threshold));
        Outlook { count, reached: limits.level(count, 1).map(|(level, _)| level), next, advisory: false }
    }

    /// The same for advisory findings, see [`advisory`](super::advisory).
    pub(crate) fn advisory(&self, limits: &Limits, count: u32) -> Outlook {
        let outlook = self.with(&limits.advisory(), count);
        let more = limits.nudge != 0 && limits.rung_above(Level::Nudge).is_some();
        Outlook { advisory: more && outlook.next.is_none(), ..outlook }
    }
}

impl Outlook {
    /// The outlook that has reached the higher level; at the same level, the one that is proportionally closer to the
    /// next.
    pub(crate) fn furthest(self, other: Self) -> Self {
        let order = |outlook: &Self| {
            let way = outlook.next.map_or(0, |(_, threshold)| per_mille(outlook.count, threshold));
            (outlook.reached, way, outlook.count)
        };
        if order(&other) > order(&self) { other } else { self }
    }

    /// Replaces it by another one that is further. Never inlined: there is a call for every rule.
    #[inline(never)]
    pub(crate) fn add(&mut self, other: Self) {
        *self = self.furthest(other);
    }

    /// The furthest of all; the default if there are none.
    pub(crate) fn of_all(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), Self::furthest)
    }
}

fn per_mille(count: u32, of: u32) -> u64 {
    u64::from(count).saturating_mul(1000).checked_div(of.into()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Outlook, View};
    use crate::model::{Config, Level};
    use crate::rules::Limits;

    #[test]
    fn what_is_furthest_up_is_told_of() {
        let (limits, config) = (Limits::ladder(3, 5, 9, 0), Config::default());
        let view = View { limits: &limits, config: &config, steps: 0 };
        assert_eq!(view.of(2).next, Some((Level::Nudge, 3)));
        assert_eq!(view.of(9).next, None);
        let waiting = view.with(&limits.times(3), 8);
        assert_eq!(waiting.next, Some((Level::Nudge, 9)));
        // Eight of nine is closer than two of three, although both lack one.
        assert_eq!(view.of(2).furthest(waiting), waiting);
        assert_eq!(view.of(0).furthest(view.with(&limits.times(3), 1)).count, 1);
        assert_eq!(waiting.furthest(view.of(3)), view.of(3));
        let told = view.advisory(&limits, 7);
        assert_eq!((told.next, told.advisory), (None, true));
        assert_eq!(view.advisory(&limits, 2).next, Some((Level::Nudge, 3)));
        assert_eq!(told.furthest(view.of(4)), view.of(4));
        // Without a nudge there is no advice, and the block applies.
        let refused = Limits { nudge: 0, ..limits };
        assert_eq!(view.advisory(&refused, 4).next, Some((Level::Block, 5)));
        assert_eq!(Outlook::of_all([view.of(1), told, waiting].into_iter()), told);
        let unattended = Config { attended: false, ..Config::default() };
        let gate = Limits { gate: 4, ..Limits::ladder(3, 0, 0, 0) };
        let view = View { limits: &gate, config: &unattended, steps: 0 };
        assert_eq!(view.of(3).next, Some((Level::Halt, 4)));
    }
}
