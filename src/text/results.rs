//! What a text says about test results: how many tests fail, how many pass, how much is covered.

use super::ends::tail;
use super::words::same_start;

/// Numbers written out in words, as in summaries; the index is the value.
const NUMERALS: [&str; 13] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// How many tests fail according to the latest summary in an output: `4 failed: a.test.ts - …`,
/// `Tests: 4 failed, 9 passed`, `test result: FAILED. 3 passed; 2 failed`, `FAILED (failures=2)`, `# fail 3`,
/// `3/12 tests failed`. `None` if no line is a summary; names of tests are not. The `test result:` lines of several
/// packages are added up.
pub(crate) fn failing_in_output(text: &str) -> Option<u32> {
    let (mut latest, mut packages) = (None, None::<u32>);
    for line in text.lines() {
        // Lines as long as a bundle are not summaries.
        if line.len() > 1024 || !line.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"fail")) {
            continue;
        }
        let lower = line.trim().to_ascii_lowercase();
        // These count files, or name a single test.
        let is_of_files = ["test suites", "test files", "suites:", "files:"].iter().any(|head| lower.starts_with(head));
        let is_name = ["failed ", "fail "].iter().any(|head| lower.starts_with(head)) && lower.contains("::");
        if is_of_files || is_name {
            continue;
        }
        let Some(count) = failing(&lower) else { continue };
        if lower.starts_with("test result:") {
            packages = Some(packages.unwrap_or(0).saturating_add(count));
        } else {
            latest = Some(count);
        }
    }
    packages.or(latest)
}

/// Bytes at the end of an output in which a summary is looked for.
const SUMMARY: usize = 400;

/// Whether tests passed and none failed, according to the end of an output: `24 passed in 1.1s`,
/// `test result: ok. 3 passed; 0 failed`, `41 tests, 0 failures`, Go's `ok  pkg/path 0.2s`, a final `OK`,
/// `BUILD SUCCESSFUL`. `None` if it says neither.
pub(crate) fn all_pass(text: &str) -> Option<bool> {
    let text = text.trim_end();
    let end = tail(text, SUMMARY);
    // Fast path: hardly any output says so.
    let mut four = 0;
    let tells = end.bytes().any(|byte| {
        four = four << 8 | u32::from(byte | 0x20);
        [*b"pass", *b"fail", *b"succ"].map(u32::from_be_bytes).contains(&four)
    });
    if !tells && !end.lines().any(|line| same_start(line, "ok")) {
        return None;
    }
    let mut pass = false;
    for line in end.lines() {
        let lower = line.trim().to_ascii_lowercase();
        let failing = failing(&lower);
        let wrong = lower.contains("error") && ![" 0 errors", "errors: 0"].iter().any(|none| lower.contains(none));
        if failing.is_some_and(|count| count > 0) || lower.starts_with("fail") || wrong {
            return Some(false);
        }
        let go =
            || line.starts_with("ok ") && line.split_whitespace().nth(1).is_some_and(|package| package.contains('/'));
        // `OK` by itself acknowledges anything.
        let ok = || lower == "ok" && (end.contains("test") || end.contains("spec"));
        let counted = failing == Some(0) && lower.starts_with(|char: char| char.is_ascii_digit());
        pass |= counted || ok() || lower.starts_with("ok (") || lower.contains("build success");
        pass |= passing(&lower).is_some() || go();
    }
    pass.then_some(true)
}

/// The runs between blanks, parentheses and equals signs, each with the word in it.
fn words(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let runs = text.split(|char: char| char.is_whitespace() || matches!(char, '=' | '(' | ')'));
    runs.map(|run| (run, run.trim_matches(|char: char| !char.is_alphanumeric()))).filter(|(_, word)| !word.is_empty())
}

/// How many tests fail according to a lower-case text: `3 tests failing`, `2 failed`, `failures: 4`, `failures=4`,
/// `3 of 12 tests failed`.
pub(crate) fn failing(lower: &str) -> Option<u32> {
    if !lower.contains("fail") {
        return None;
    }
    let is_fail = |word: &str| matches!(word, "failing" | "failed" | "failures" | "failure" | "fail" | "fails");
    let (mut number, mut since): (Option<u32>, usize) = (None, 0);
    let mut tests = lower.contains("test") || lower.contains("spec");
    let (mut pending, mut of) = (false, false);
    for (run, word) in words(lower) {
        // Of `3 of 12` and `3/12`, the first number is the count.
        let first = word.split_once('/').filter(|(_, all)| all.parse::<u32>().is_ok()).map_or(word, |(part, _)| part);
        if let Some(count) = numeral(first) {
            if pending {
                return Some(count);
            }
            if !core::mem::take(&mut of) {
                // `Tests run: 12, Failures: 3`: a number before a comma does not count what follows the comma.
                number = Some(count).filter(|_| !run.ends_with([',', ';']));
            }
            since = 0;
            continue;
        }
        of = word == "of" && number.is_some() && since == 0;
        if of || word == "out" {
            continue;
        }
        let of_tests = matches!(word, "test" | "tests" | "spec" | "specs");
        let said = matches!(word, "failures" | "failing")
            || (word == "failed" && tests)
            || (word == "fail" && lower.starts_with('#'))
            || (pending && of_tests);
        // A word before punctuation does not announce the number after it.
        pending = said && !run.ends_with(['.', ',', ';', '!']);
        if is_fail(word) {
            let near = number.filter(|_| since <= 1);
            if let Some(count) = near
                && (tests || matches!(word, "failing" | "failed" | "failures"))
            {
                return Some(count);
            }
        }
        if number.is_some() && of_tests {
            tests = true;
        } else {
            since += 1;
        }
    }
    None
}

/// How many tests pass according to a lower-case text: `5 passed`, `12 tests passing`, `passed: 9`.
pub(crate) fn passing(lower: &str) -> Option<u32> {
    let (mut number, mut pending) = (None, false);
    for (run, word) in words(lower) {
        if let Ok(count) = word.parse::<u32>() {
            if pending {
                return Some(count);
            }
            number = Some(count).filter(|_| !run.ends_with([',', ';']));
        } else if matches!(word, "passed" | "passing" | "pass" | "passes") {
            if number.is_some() {
                return number;
            }
            pending = run.ends_with([':', '=']) || lower.contains("passed=");
        } else if !matches!(word, "test" | "tests" | "spec" | "specs") {
            (number, pending) = (None, false);
        }
    }
    None
}

/// The coverage that a lower-case text reports, in hundredths of a percent.
pub(crate) fn coverage(lower: &str) -> Option<u32> {
    if !lower.contains("coverage") && !lower.contains("covered") {
        return None;
    }
    let words = lower.split(|c: char| c.is_whitespace() || matches!(c, '=' | '(' | ')' | ',' | ':' | '|'));
    words.filter_map(|word| hundredths(word.trim_end_matches(['.', ';']).strip_suffix('%')?)).next()
}

/// A decimal from 0 to 100 in hundredths, rounded to the nearest. Parsed by hand because the library's float parser
/// brings a table of ten kilobytes that hardly compresses.
fn hundredths(decimal: &str) -> Option<u32> {
    let (whole, part) = decimal.split_once('.').unwrap_or((decimal, ""));
    if whole.len() + part.len() == 0 || !whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digit = |place: usize| part.as_bytes().get(place).map_or(0, |byte| u32::from(byte - b'0'));
    let whole: u32 = if whole.is_empty() { 0 } else { whole.parse().ok().filter(|whole| *whole <= 100)? };
    let beyond = whole == 100 && part.bytes().any(|byte| byte != b'0');
    (!beyond).then(|| whole * 100 + digit(0) * 10 + digit(1) + u32::from(digit(2) >= 5))
}

fn numeral(word: &str) -> Option<u32> {
    let written = || NUMERALS.iter().position(|numeral| *numeral == word).and_then(|number| u32::try_from(number).ok());
    word.parse().ok().or_else(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_all_pass() {
        for text in [
            "24 passed in 1.12s",
            "collected 31 items\n\n========= 31 passed, 2 skipped in 1.15s =========\n",
            "test result: ok. 12 passed; 0 failed; 1 ignored",
            "ok  \tquay.example/tide\t0.412s\nok  \tquay.example/tide/lru\t(cached)",
            "Ran 7 tests in 0.002s\n\nOK",
            "Tests:       9 passed, 9 total\nTime:        1.2 s",
            "  12 passing (40ms)",
            "Finished in 0.4 seconds\n41 tests, 0 failures",
            "9 runs, 18 assertions, 0 failures, 0 errors, 0 skips",
            "OK (9 tests, 31 assertions)",
            "> Task :quay:test\n\nBUILD SUCCESSFUL in 24s\n5 actionable tasks: 4 executed, 1 up-to-date",
            "[INFO] BUILD SUCCESS",
        ] {
            assert_eq!(all_pass(text), Some(true), "{text}");
        }
        for text in [
            "",
            "1 failed, 23 passed in 1.1s",
            "FAIL quay.example/tide\nok  \tquay.example/lock\t0.2s",
            "12 passing\n1 failing",
            "41 tests, 3 failures",
            "the transfer of 0 failures succeeded",
            "the ship passed the lock",
            "ok then",
            "OK",
            "PEAK=182.9\nOVERSHOOT=2.9\nOK",
            "Error: 3 passed by",
            "24 passed in 1.12s\nerror: could not write the report",
        ] {
            assert_ne!(all_pass(text), Some(true), "{text}");
        }
    }

    #[test]
    fn failing_tests_of_outputs() {
        for (output, expected) in [
            ("4 failed: auth.test.ts - login test timeout, logout test assertion", Some(4)),
            ("Running tests... 2 failed: auth.test.ts - login test timeout", Some(2)),
            ("3 tests failing - auth, login, logout", Some(3)),
            ("three tests failing - auth, login, logout", Some(3)),
            ("3 of 12 tests failed", Some(3)),
            ("3 out of 12 tests failed", Some(3)),
            ("3/12 tests failed", Some(3)),
            ("Failed tests: 3", Some(3)),
            ("Tests failed: 3, passed: 9", Some(3)),
            ("Test Suites: 1 failed, 2 passed, 3 total\nTests:       4 failed, 9 passed, 13 total", Some(4)),
            (" Test Files  1 failed (1)\n      Tests  3 failed | 10 passed (13)", Some(3)),
            ("FAILED tests/a.py::test_x - assert 2 == 3\n==== 6 failed, 5 passed in 0.12s ====", Some(6)),
            ("test result: FAILED. 3 passed; 2 failed; 0 ignored\n\ntest result: FAILED. 1 passed; 5 failed;", Some(7)),
            ("Ran 5 tests in 0.1s\n\nFAILED (failures=2, errors=1)", Some(2)),
            ("Tests run: 12, Failures: 3, Errors: 0", Some(3)),
            ("  9 passing (20ms)\n  3 failing", Some(3)),
            ("# tests 10\n# pass 7\n# fail 3", Some(3)),
            ("10 examples, 3 failures", Some(3)),
            ("70% tests passed, 3 tests failed out of 10", Some(3)),
            ("all 12 tests passed", None),
            ("the build failed after 20 minutes", None),
        ] {
            assert_eq!(failing_in_output(output), expected, "{output}");
        }
    }

    #[test]
    fn passing_tests_and_coverage() {
        for (text, expected) in [
            ("2 failed, 5 passed", Some(5)),
            ("tests failed: 3, passed: 9", Some(9)),
            ("9 passing (20ms)", Some(9)),
            ("test result: failed. 3 passed; 2 failed", Some(3)),
            ("the build passed", None),
        ] {
            assert_eq!(passing(text), expected, "{text}");
        }
        for (text, expected) in [
            ("coverage: 75.5%", Some(7_550)),
            ("coverage 75 %", None),
            ("3 failed, coverage is 60%, wanted 80%", Some(6_000)),
            ("75% of lines covered", Some(7_500)),
            ("done to 75%", None),
            ("coverage 250%", None),
            ("coverage: 100%", Some(10_000)),
            ("coverage: 100.00%", Some(10_000)),
            ("coverage: 100.001%", None),
            ("coverage: 99.996%", Some(10_000)),
            ("coverage: 75.124%, was 75.13%", Some(7_512)),
            ("coverage: 075.5%", Some(7_550)),
            ("coverage: .5%", Some(50)),
            ("coverage: 5.%", Some(500)),
            ("coverage: 7.5.1% then 8%", Some(800)),
            ("coverage: %, .% and 1e1%", None),
            ("coverage: 99999999999%", None),
        ] {
            assert_eq!(coverage(text), expected, "{text}");
        }
    }
}
