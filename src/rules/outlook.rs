//! Where a rule stands: what it holds of the thing that is furthest up its ladder, and what comes next for that.
//!
//! Thresholds are not the same for everything that a rule looks at: waiting is given more, a tool has its own, and what
//! is only told never comes to a block. What is said here has to be what [`Rule::observe`](super::Rule::observe) then
//! does; `tests/it/status.rs` holds the two against each other.

use crate::model::{Config, Level};
use crate::rules::Limits;

/// What a rule may ask of its surroundings when it tells where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// The rule's thresholds.
    pub(crate) limits: &'a Limits,
    pub(crate) config: &'a Config,
    /// Steps of the task, as in [`RunView`](super::RunView).
    pub(crate) steps: u64,
}

/// Evidence, and what comes next for what it is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outlook {
    pub(crate) count: u32,
    /// The level that it has come to.
    pub(super) reached: Option<Level>,
    /// The next level and its threshold.
    pub(crate) next: Option<(Level, u32)>,
    /// There is none because it is only told.
    pub(crate) only_told: bool,
}

impl View<'_> {
    /// So much evidence of something to which the rule's thresholds apply as they are.
    pub(crate) fn of(&self, count: u32) -> Outlook {
        self.with(self.limits, count)
    }

    /// The same with thresholds of its own.
    pub(crate) fn with(&self, limits: &Limits, count: u32) -> Outlook {
        let config = self.config;
        let given = |level| if level == Level::Gate && !config.attended { config.unattended_level } else { level };
        let next = limits.next(count).map(|(level, threshold)| (given(level), threshold));
        Outlook { count, reached: limits.level(count, 1).map(|(level, _)| level), next, only_told: false }
    }

    /// The same where it is advice, however much there is: [`only_told`](super::only_told).
    pub(crate) fn told(&self, limits: &Limits, count: u32) -> Outlook {
        let outlook = self.with(&limits.only_told(), count);
        let more = limits.nudge != 0 && limits.rung_above(Level::Nudge).is_some();
        Outlook { only_told: more && outlook.next.is_none(), ..outlook }
    }
}

impl Outlook {
    /// The one that is further up, and of its way to what comes next.
    pub(crate) fn furthest(self, other: Self) -> Self {
        let order = |outlook: &Self| {
            let way = outlook.next.map_or(0, |(_, threshold)| per_mille(outlook.count, threshold));
            (outlook.reached, way, outlook.count)
        };
        if order(&other) > order(&self) { other } else { self }
    }

    /// The furthest of all; none where there is nothing.
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
        // Eight of nine are nearer to it than two of three, although more are missing than of none.
        assert_eq!(view.of(2).furthest(waiting), waiting);
        assert_eq!(view.of(0).furthest(view.with(&limits.times(3), 1)).count, 1);
        assert_eq!(waiting.furthest(view.of(3)), view.of(3));
        let told = view.told(&limits, 7);
        assert_eq!((told.next, told.only_told), (None, true));
        assert_eq!(view.told(&limits, 2).next, Some((Level::Nudge, 3)));
        assert_eq!(told.furthest(view.of(4)), view.of(4));
        // Where nothing is told, it is refused after all.
        let refused = Limits { nudge: 0, ..limits };
        assert_eq!(view.told(&refused, 4).next, Some((Level::Block, 5)));
        assert_eq!(Outlook::of_all([view.of(1), told, waiting].into_iter()), told);
        let unattended = Config { attended: false, ..Config::default() };
        let gate = Limits { gate: 4, ..Limits::ladder(3, 0, 0, 0) };
        let view = View { limits: &gate, config: &unattended, steps: 0 };
        assert_eq!(view.of(3).next, Some((Level::Halt, 4)));
    }
}
