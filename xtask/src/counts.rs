//! Numbers of tests, from the output of test runners.

use std::iter::Sum;
use std::ops::Add;

/// Tests by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
}

impl Counts {
    /// The summary lines of `cargo test`, one per test binary, added up.
    pub(crate) fn of_cargo(output: &str) -> Self {
        output
            .lines()
            .filter_map(|line| line.trim().strip_prefix("test result: ")?.split_once(". "))
            .map(|(_, rest)| {
                let number = |unit: &str| -> u32 {
                    let mut parts = rest.split(';').map(str::trim);
                    parts.find_map(|part| part.strip_suffix(unit)?.trim().parse().ok()).unwrap_or_default()
                };
                Self { passed: number(" passed"), failed: number(" failed"), skipped: number(" ignored") }
            })
            .sum()
    }

    /// The summary lines of `node --test`, in either of its usual forms (`ℹ pass 3`, `# pass 3`), added up.
    pub(crate) fn of_node(output: &str) -> Self {
        let mut counts = Self::default();
        for line in output.lines() {
            let line = line.trim();
            let Some(rest) = line.strip_prefix("ℹ ").or_else(|| line.strip_prefix("# ")) else { continue };
            let Some((unit, number)) = rest.split_once(' ') else { continue };
            let Ok(number) = number.parse::<u32>() else { continue };
            match unit {
                "pass" => counts.passed += number,
                "fail" | "cancelled" => counts.failed += number,
                "skipped" | "todo" => counts.skipped += number,
                _ => {}
            }
        }
        counts
    }
}

impl Counts {
    /// The summary of Python's `unittest`: `Ran 6 tests in 1.2s`, then `OK (skipped=1)` or `FAILED (errors=2)`.
    pub(crate) fn of_unittest(output: &str) -> Self {
        let lines = || output.lines().map(str::trim);
        let ran = lines()
            .filter_map(|line| line.strip_prefix("Ran ")?.split_once(" test"))
            .filter_map(|(number, _)| number.parse::<u32>().ok())
            .sum::<u32>();
        let detail = |unit: &str| -> u32 {
            let verdicts = lines().filter_map(|line| line.strip_prefix("FAILED (").or(line.strip_prefix("OK (")));
            let parts = verdicts.flat_map(|line| line.trim_end_matches(')').split(", "));
            parts.filter_map(|part| part.strip_prefix(unit)?.strip_prefix('=')?.parse::<u32>().ok()).sum()
        };
        let (failed, skipped) = (detail("failures") + detail("errors"), detail("skipped"));
        Self { passed: ran.saturating_sub(failed + skipped), failed, skipped }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unittest_prints_a_total_and_what_did_not_pass() {
        let counts = |output| Counts::of_unittest(output);
        assert_eq!(counts("Ran 6 tests in 1.204s\n\nOK\n"), Counts { passed: 6, ..Counts::default() });
        assert_eq!(counts("Ran 1 test in 0.1s\n\nOK (skipped=1)\n"), Counts { skipped: 1, ..Counts::default() });
        let failed = "Ran 9 tests in 2.0s\n\nFAILED (failures=2, errors=1, skipped=1)\n";
        assert_eq!(counts(failed), Counts { passed: 5, failed: 3, skipped: 1 });
    }

    #[test]
    fn cargo_prints_one_closing_line_per_binary() {
        let output = "running 3 tests\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            the test result: ok. 9 passed\n\
            test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.21s\n";
        assert_eq!(Counts::of_cargo(output), Counts { passed: 7, failed: 2, skipped: 1 });
    }

    #[test]
    fn node_prints_a_line_per_count() {
        let spec =
            "ℹ tests 8\nℹ suites 0\nℹ pass 5\nℹ fail 1\nℹ cancelled 1\nℹ skipped 1\nℹ todo 0\nℹ duration_ms 9.5\n";
        let tap = "ok 1 - x\n# tests 2\n# pass 2\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n# pass it on\n";
        assert_eq!(Counts::of_node(spec), Counts { passed: 5, failed: 2, skipped: 1 });
        assert_eq!(Counts::of_node(tap), Counts { passed: 2, failed: 0, skipped: 0 });
    }

    #[test]
    fn nothing_counts_nothing() {
        assert_eq!(Counts::of_cargo("error: could not compile"), Counts::default());
        assert_eq!(Counts::of_node("npm error Missing script"), Counts::default());
    }
}
