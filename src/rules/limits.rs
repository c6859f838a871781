use crate::model::{Error, Level, Preset, RuleConfig};
use crate::rules::settings::invalid;
use crate::rules::{Description, rungs};
use alloc::{format, string::String};

/// The thresholds of one rule: the evidence at which each rung of the ladder is reached, 0 for never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) enabled: bool,
    pub(crate) nudge: u32,
    pub(crate) block: u32,
    pub(crate) gate: u32,
    pub(crate) halt: u32,
    /// How far the rule looks back, in the rule's own unit; 0 if it has no window.
    pub(crate) window: u32,
}

impl Limits {
    /// Thresholds for nudge, block and halt.
    pub(crate) const fn ladder(nudge: u32, block: u32, halt: u32, window: u32) -> Self {
        Self { enabled: true, nudge, block, gate: 0, halt, window }
    }

    /// A threshold for a gate only.
    pub(crate) const fn gate(gate: u32) -> Self {
        Self { gate, ..Self::configured() }
    }

    /// No thresholds: something else in the configuration sets them.
    pub(crate) const fn configured() -> Self {
        Self::ladder(0, 0, 0, 0)
    }

    /// The strongest rung that `count` reaches, with its threshold multiplied by `scale`.
    pub(crate) fn level(&self, count: u32, scale: u32) -> Option<(Level, u32)> {
        let reached = |threshold: u32| threshold != 0 && count >= threshold.saturating_mul(scale);
        let strongest = rungs(self).into_iter().rev().find(|(_, threshold)| reached(*threshold));
        strongest.map(|(level, threshold)| (level, threshold.saturating_mul(scale)))
    }

    /// Whether `count` reaches any rung.
    pub(crate) fn reached(&self, count: u32) -> bool {
        self.reached_scaled(count, 1)
    }

    /// Whether `count` reaches any rung with its threshold multiplied by `scale`.
    pub(crate) fn reached_scaled(&self, count: u32, scale: u32) -> bool {
        self.level(count, scale).is_some()
    }

    /// The weakest rung that `count` has not reached, with its threshold.
    pub(crate) fn next(&self, count: u32) -> Option<(Level, u32)> {
        rungs(self).into_iter().find(|(_, threshold)| *threshold != 0 && count < *threshold)
    }

    /// All thresholds multiplied by `scale`, for calls where waiting is expected.
    pub(crate) fn times(&self, scale: u32) -> Self {
        let [nudge, block, gate, halt] =
            [self.nudge, self.block, self.gate, self.halt].map(|threshold| threshold.saturating_mul(scale));
        Self { nudge, block, gate, halt, ..*self }
    }

    /// All non-zero thresholds raised by `by`, because the user has ordered work that repeats that often.
    pub(crate) fn raised(&self, by: u32) -> Self {
        let raised = |threshold: u32| if threshold == 0 { 0 } else { threshold.saturating_add(by) };
        let [nudge, block, gate, halt] = [self.nudge, self.block, self.gate, self.halt].map(raised);
        Self { nudge, block, gate, halt, ..*self }
    }

    /// Without the rungs above a nudge, for findings that are only ever advice; unchanged if there is no nudge.
    pub(crate) fn advisory(&self) -> Self {
        if self.nudge == 0 { *self } else { Self { block: 0, gate: 0, halt: 0, ..*self } }
    }

    /// The weakest configured rung above `level`.
    pub(crate) fn rung_above(&self, level: Level) -> Option<Level> {
        rungs(self).into_iter().find(|(rung, threshold)| *threshold != 0 && *rung > level).map(|(rung, _)| rung)
    }

    /// Scales the balanced thresholds for a preset, keeping them distinct and within `reach`.
    pub(crate) fn preset(self, preset: Preset, reach: u32) -> Self {
        let scaled = |threshold: u32| match preset {
            Preset::Balanced => threshold,
            Preset::Sensitive => threshold - threshold / 3,
            Preset::Conservative => threshold.saturating_add(threshold.div_ceil(2)),
        };
        let mut limits = self;
        let mut floor = 2;
        for threshold in [&mut limits.nudge, &mut limits.block, &mut limits.gate, &mut limits.halt] {
            if *threshold != 0 {
                let wanted = scaled(*threshold).max(floor);
                // Drop a rung that the window cannot hold, rather than keep one that silently never fires.
                *threshold = if wanted <= reach {
                    wanted
                } else if floor <= reach {
                    reach
                } else {
                    0
                };
                floor = floor.max(threshold.saturating_add(1));
            }
        }
        limits
    }

    /// Applies the user's settings.
    pub(crate) fn overridden(mut self, config: &RuleConfig) -> Self {
        let set = |to: &mut u32, from: Option<u32>| *to = from.unwrap_or(*to);
        self.enabled = config.enabled.unwrap_or(self.enabled);
        set(&mut self.nudge, config.nudge);
        set(&mut self.block, config.block);
        set(&mut self.gate, config.gate);
        set(&mut self.halt, config.halt);
        set(&mut self.window, config.window);
        self
    }

    /// Rejects settings of a rule that contradict each other, can never be reached or have no effect. `user` are those
    /// that were given at `path`.
    pub(crate) fn validate(&self, rule: &Description, user: &RuleConfig, path: &str) -> Result<(), Error> {
        let fail = |message: String| Err(invalid(&format!("{path}.window"), &message).with(self.window));
        if rule.max_window == 0 {
            if self.window != 0 {
                return fail(format!("the rule {} has no window", rule.id));
            }
        } else if self.window == 0 || self.window > rule.max_window {
            return fail(format!("expected 1 to {}", rule.max_window));
        }
        let reach = (rule.reach)(self.window);
        let beyond = || match reach {
            0 => format!("has no effect: the rule {} has no thresholds of its own", rule.id),
            _ => format!("can never be reached: with window {} at most {reach} {} add up", self.window, rule.unit),
        };
        self.validate_rungs(reach, beyond, user, path)
    }

    /// Rejects thresholds that fire at once, contradict each other or are above `most`, which the message `beyond` is
    /// for. `user` are the settings that were given at `path`.
    pub(crate) fn validate_rungs(
        &self,
        most: u32,
        beyond: impl Fn() -> String,
        user: &RuleConfig,
        path: &str,
    ) -> Result<(), Error> {
        let fail = |level: Level, threshold: u32, message: &str| {
            Err(invalid(&format!("{path}.{}", level.name()), message).with(threshold))
        };
        let mut weaker: Option<(Level, u32)> = None;
        for (level, threshold) in rungs(self).into_iter().filter(|(_, threshold)| *threshold != 0) {
            if threshold == 1 {
                return fail(level, 1, "1 would fire on the first occurrence, expected 0 or at least 2");
            }
            if threshold > most {
                return fail(level, threshold, &beyond());
            }
            if let Some((below, value)) = weaker
                && threshold <= value
            {
                // Blame the threshold that the user gave, not the default.
                return if user.rung(level).is_none() && user.rung(below).is_some() {
                    fail(below, value, &format!("must be below {} ({threshold})", level.name()))
                } else {
                    fail(level, threshold, &format!("must be above {} ({value})", below.name()))
                };
            }
            weaker = Some((level, threshold));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;
    use crate::model::{Level, Preset, RuleConfig};
    use crate::rules::{RULES, description};

    #[test]
    fn presets_keep_rungs_distinct() {
        for reach in 2..20 {
            let limits = Limits::ladder(3, 5, 9, 0).preset(Preset::Conservative, reach);
            let rungs: alloc::vec::Vec<_> =
                [limits.nudge, limits.block, limits.halt].into_iter().filter(|rung| *rung != 0).collect();
            assert!(
                rungs.is_sorted_by(|one, other| one < other) && rungs.iter().all(|rung| *rung <= reach),
                "{limits:?}"
            );
        }
    }

    #[test]
    fn the_strongest_rung_reached_counts() {
        let limits = Limits::ladder(3, 5, 9, 32);
        let cases = [
            (2, 1, None),
            (3, 1, Some(Level::Nudge)),
            (8, 1, Some(Level::Block)),
            (9, 1, Some(Level::Halt)),
            (8, 3, None),
            (9, 3, Some(Level::Nudge)),
            (26, 3, Some(Level::Block)),
            (27, 3, Some(Level::Halt)),
        ];
        for (count, scale, level) in cases {
            assert_eq!(limits.level(count, scale).map(|(level, _)| level), level, "{count} × {scale}");
        }
    }

    #[test]
    fn every_rule_is_valid_under_every_preset() {
        for rule in RULES {
            for preset in [Preset::Balanced, Preset::Sensitive, Preset::Conservative] {
                let limits = rule.limits.preset(preset, (rule.reach)(rule.limits.window));
                limits.validate(rule, &RuleConfig::default(), rule.id).unwrap();
            }
        }
    }

    #[test]
    fn contradictions_and_unreachable_thresholds_are_named() {
        let cycle = description("cycle").unwrap();
        let error = |config: RuleConfig| {
            cycle.limits.overridden(&config).validate(cycle, &config, "rules.cycle").unwrap_err().field.unwrap()
        };
        assert_eq!(error(RuleConfig { block: Some(2), ..RuleConfig::default() }), "rules.cycle.block");
        assert_eq!(error(RuleConfig { nudge: Some(1), ..RuleConfig::default() }), "rules.cycle.nudge");
        // The threshold that was given is blamed, not the default; if both were given, the stronger one.
        assert_eq!(error(RuleConfig { nudge: Some(500), ..RuleConfig::default() }), "rules.cycle.nudge");
        assert_eq!(error(RuleConfig { nudge: Some(7), block: Some(6), ..RuleConfig::default() }), "rules.cycle.block");
        assert_eq!(error(RuleConfig { window: Some(9999), ..RuleConfig::default() }), "rules.cycle.window");
        let error_rule = description("repeated-error").unwrap();
        let unreachable = RuleConfig { halt: Some(9), ..RuleConfig::default() };
        let limits = error_rule.limits.overridden(&unreachable);
        let error = limits.validate(error_rule, &unreachable, "rules.repeated-error").unwrap_err();
        assert!(error.message.starts_with("can never be reached"), "{error}");
    }
}
