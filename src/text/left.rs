//! How many problems, failures or errors an answer says are left.
//!
//! A falling count is progress, however similar the answers are.

use super::ends::{head, tail};
use super::frame::frame;
use super::mask::{byte_before, end_of_digits};
use super::scan::each_number;
use super::words::is_in;
use crate::codec::codec;

/// Bytes at the end of a text, or at the beginning of JSON, in which a count is looked for.
const END: usize = 400;

/// A count of what is left, and the frame of what is counted: `12 errors`, `Found 3 problems in 2 files`; both 0 for
/// none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Left {
    count: u32,
    of: u32,
}
codec!(struct Left { count, of });

impl Left {
    /// The count of what is wrong, or left, in a field of JSON.
    pub(crate) fn field(answer: &str) -> Option<Self> {
        fielded(answer, NAMES)
    }

    /// The same, or else of what is wrong in the last line that has one.
    pub(crate) fn wrong(answer: &str) -> Option<Self> {
        Self::field(answer).or_else(|| wrong_in(tail(answer, END)))
    }

    /// The same; without any, the first count of the last line that has one.
    pub(crate) fn of(answer: &str) -> Self {
        let told = |line| Some(Self { count: counted(line)?, of: frame(line) });
        let last = || tail(answer, END).lines().rev().find_map(told);
        Self::wrong(answer).or_else(last).unwrap_or_default()
    }

    /// The number of matches a search reports in its first line or in a field of JSON.
    pub(crate) fn found(answer: &str) -> Self {
        fielded(answer, FOUND).unwrap_or_else(|| Self::of(answer.lines().next().unwrap_or_default()))
    }

    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// Whether fewer of the same thing are left than in an earlier answer.
    pub(crate) const fn is_less(&self, before: &Self) -> bool {
        self.of != 0 && self.of == before.of && self.count < before.count
    }

    /// This count, or an earlier one of the same thing if that was lower.
    pub(crate) fn fewest(&self, before: &Self) -> Self {
        Self { count: if self.of == before.of { self.count.min(before.count) } else { self.count }, ..*self }
    }
}

/// Words that name a limit.
const LIMITS: [&str; 9] =
    ["at least", "at most", "exceed", "limit", "max", "minim", "too long", "too many", "too short"];
/// Digits of a group: `1,504`.
const GROUP: usize = 3;

/// How far something is beyond a limit, as an error says in its first bytes, in a clause with two numbers:
/// `memory at 1,504/1,375 chars`, `312 characters, the limit is 280`. It gets less as a text is shortened.
pub(crate) fn beyond(error: &str) -> Option<u32> {
    let text = head(error, END);
    let bytes = text.as_bytes();
    let mut clause = Clause::default();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_digit() {
            at = clause.number(bytes, at);
            continue;
        }
        let ends = matches!(byte, b'\n' | b'"' | b';') || *byte == b'.' && bytes.get(at + 1) == Some(&b' ');
        if ends {
            if let Some(beyond) = clause.beyond(text, at) {
                return Some(beyond);
            }
            clause = Clause { begin: at, ..Clause::default() };
        }
        at += 1;
    }
    clause.beyond(text, at)
}

/// A clause with its first two numbers.
#[derive(Default)]
struct Clause {
    begin: usize,
    numbers: usize,
    amounts: [Amount; 2],
}

/// A number, also one with groups of digits.
#[derive(Clone, Copy, Default)]
struct Amount {
    value: u64,
    start: usize,
    end: usize,
}

impl Clause {
    /// Takes in the number that begins at `start`; returns where it ends.
    fn number(&mut self, bytes: &[u8], start: usize) -> usize {
        let (mut value, mut end) = (0_u64, start);
        loop {
            let till = end_of_digits(bytes, end);
            for digit in bytes.get(end..till).unwrap_or_default() {
                value = value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            }
            end = till;
            if bytes.get(end) != Some(&b',') || end_of_digits(bytes, end + 1) != end + 1 + GROUP {
                break;
            }
            end += 1;
        }
        if let Some(amount) = self.amounts.get_mut(self.numbers) {
            *amount = Amount { value, start, end };
        }
        self.numbers += 1;
        end
    }

    /// By how much its numbers differ, if it has two of them and one is a limit.
    fn beyond(&self, text: &str, end: usize) -> Option<u32> {
        let [first, second] = self.amounts;
        if self.numbers != 2 || first.value == second.value || first.is_time(text) || second.is_time(text) {
            return None;
        }
        let share = || text.get(first.end..second.start) == Some("/") && first.value > second.value;
        let named = || {
            let clause = text.get(self.begin..end).unwrap_or_default().to_ascii_lowercase();
            LIMITS.iter().any(|limit| clause.contains(limit))
        };
        (share() || named()).then(|| small(first.value.abs_diff(second.value)))
    }
}

impl Amount {
    /// Whether it is a duration: `30 s`, `500 ms`.
    fn is_time(&self, text: &str) -> bool {
        let unit = text.get(self.end..).unwrap_or_default().trim_start().as_bytes();
        let letters = unit.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let unit = unit.get(..letters).unwrap_or_default();
        matches!(unit, b"s" | b"ms" | b"h") || begins(unit, OTHERS)
    }
}

/// Names of fields that count what is left.
const NAMES: &str = "errors failed failing failures invalid issues left mismatches missing pending problems rejected \
    remaining unresolved violations warnings";

/// Names of fields that count what was found.
const FOUND: &str = "count hits matches numfound total totalcount totalhits";

/// The value of the first JSON field with one of these names: `"rejected": 412`.
fn fielded(json: &str, names: &str) -> Option<Left> {
    let mut rest = Some(head(json, END)).filter(|json| json.trim_start().starts_with('{'))?;
    loop {
        let (_, behind) = rest.split_once('"')?;
        let (name, behind) = behind.split_once('"')?;
        rest = behind;
        let Some(value) = behind.trim_start().strip_prefix(':').map(str::trim_start) else { continue };
        let digits = end_of_digits(value.as_bytes(), 0);
        if digits > 0
            && is_in(names, name)
            && let Some(count) = value.get(..digits).and_then(|number| number.parse().ok())
        {
            return Some(Left { count: small(count), of: frame(name) });
        }
    }
}

/// Beginnings of words that are not problems: units of time and successes.
const OTHERS: &[&[u8]] = &[b"hou", b"mil", b"min", b"pas", b"sec", b"suc"];
/// Letters that a counted word has at least.
const LETTERS: usize = 3;

/// Numbers up to this are kept exactly.
const EXACT: u64 = 1 << 24;

/// A number in four bytes: above [`EXACT`] in steps of 256, so that a falling number of free bytes still falls.
fn small(number: u64) -> u32 {
    u32::try_from(number.min(EXACT) + number.saturating_sub(EXACT) / 256).unwrap_or(u32::MAX)
}

/// Beginnings of words for what is wrong, in `3 tests failed` and `Failures: 11`.
const WRONG: &[&[u8]] = &[
    b"error",
    b"fail",
    b"finding",
    b"issue",
    b"mismatch",
    b"missing",
    b"problem",
    b"unresolved",
    b"violation",
    b"vulnerab",
];
/// Words between a number and one of those.
const BETWEEN: usize = 2;

/// Whether a text begins with one of the words of a list.
fn begins(text: &[u8], ways: &[&[u8]]) -> bool {
    let first = text.first().map(u8::to_ascii_lowercase);
    let begins = |way: &&[u8]| text.get(..way.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(way));
    ways.iter().any(|way| way.first().copied() == first && begins(way))
}

/// A whole number in a text, and what it counts: what follows it after a blank.
struct Number<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

impl<'a> Number<'a> {
    fn value(&self) -> Option<u32> {
        self.text.get(self.start..self.end)?.parse().ok().map(small)
    }

    fn before(&self) -> &'a [u8] {
        self.text.as_bytes().get(..self.start).unwrap_or_default()
    }

    fn of(&self) -> Option<&'a [u8]> {
        let of = self.text.as_bytes().get(self.end..)?.strip_prefix(b" ")?;
        let counts = matches!(byte_before(self.text.as_bytes(), self.start), b'\n' | b' ' | b'(' | b'[' | b'*' | b'=');
        counts.then_some(of)
    }

    /// Whether it counts what is wrong: `3 tests failed`, `2 previous errors`, the 9 of `9 of 40 tests failed`.
    fn is_of_wrong(&self) -> bool {
        let names_wrong = |of: &[u8]| {
            let part = of.strip_prefix(b"of ").and_then(|of| of.get(end_of_digits(of, 0)..));
            names_wrong(part.map_or(of, <[u8]>::trim_ascii_start)) && !self.before().ends_with(b"of ")
        };
        self.of().is_some_and(names_wrong) || is_label(self.before())
    }

    /// Whether a word for what it counts follows.
    fn is_of_something(&self) -> bool {
        let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
        self.of()
            .is_some_and(|of| of.get(..LETTERS).is_some_and(|word| word.iter().all(is_letter)) && !begins(of, OTHERS))
    }
}

/// What the numbers of the last line that has some count as wrong, added up: `87 tests, 11 failures, 2 errors`.
fn wrong_in(text: &str) -> Option<Left> {
    let mut last: Option<(usize, u32)> = None;
    each_number(text.as_bytes(), |start, end| {
        let number = Number { text, start, end };
        if number.is_of_wrong()
            && let Some(value) = number.value()
        {
            let line = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
            let sum = last.filter(|(before, _)| *before == line).map_or(0, |(_, sum)| sum);
            last = Some((line, value.saturating_add(sum)));
        }
    });
    let (line, count) = last?;
    Some(Left { count, of: frame(text.get(line..)?.lines().next()?) })
}

/// The first number of a line that is followed by the word for what it counts.
fn counted(line: &str) -> Option<u32> {
    let mut first = None;
    each_number(line.as_bytes(), |start, end| {
        let number = Number { text: line, start, end };
        if first.is_none() && number.is_of_something() {
            first = number.value();
        }
    });
    first
}

/// Whether one of the first words of a clause names something wrong: `failed`, `previous errors`.
fn names_wrong(clause: &[u8]) -> bool {
    let mut rest = clause;
    for _ in 0..=BETWEEN {
        if begins(rest, WRONG) {
            return true;
        }
        let is_end = |byte: &u8| matches!(byte, b'\n' | b' ' | b',' | b';' | b'.' | b':' | b'|' | b'(' | b')');
        match rest.iter().position(is_end).and_then(|end| rest.get(end..)) {
            Some([b' ', next @ ..]) if !next.first().is_none_or(u8::is_ascii_digit) => rest = next,
            _ => return false,
        }
    }
    false
}

/// Whether what stands before a number is a label for what is wrong: `Failures: 11`.
fn is_label(before: &[u8]) -> bool {
    let end = before.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    let Some(label) = before.get(..end).and_then(|before| before.strip_suffix(b":")) else {
        return false;
    };
    let is_joint = |byte: &u8| !byte.is_ascii_alphabetic() && !matches!(byte, b'-' | b'_');
    let start = label.iter().rposition(is_joint).map_or(0, |end| end + 1);
    // `error: 404` is a status.
    let word = label.get(start..).unwrap_or_default();
    begins(word, WRONG) && !word.eq_ignore_ascii_case(b"error")
}

#[cfg(test)]
mod tests {
    use super::{Left, beyond};

    #[test]
    fn how_far_beyond_a_limit() {
        for (error, far) in [
            ("Replacement would put memory at 1,504/1,375 chars. Shorten the new content.", 129),
            (r#"{"success":false,"error":"note at 1,393/1,375 chars"}"#, 18),
            ("Notice too long: 312 characters, the limit is 280", 32),
            ("subject must be at most 72 characters, got 80", 8),
            ("ValueError: body has 12 words; at least 20 words are required, not 12", 8),
            ("maximum context length is 8192 tokens, but 9000 were requested", 808),
        ] {
            assert_eq!(beyond(error), Some(far), "{error}");
        }
        for error in [
            "Rate limit exceeded: 100 requests, retry after 12 s",
            "line 12, column 40: unexpected token",
            "timeout of 30000 ms exceeded at attempt 3",
            "limit exceeded",
            "quay 3/4 is closed",
            "error 413: 12 MB exceed the limit of 10 MB",
            "at most 72 characters, got 72",
        ] {
            assert_eq!(beyond(error), None, "{error}");
        }
    }

    #[test]
    fn fewer_of_the_same() {
        let less = |now: &str, before: &str| Left::of(now).is_less(&Left::of(before));
        for (now, before) in [
            ("Found 12 errors in 3 files.", "Found 40 errors in 3 files."),
            ("=== 5 failed, 20 passed in 0.31s ===", "=== 6 failed, 19 passed in 0.12s ==="),
            (
                "test result: FAILED. 9 passed; 4 failed; 0 ignored",
                "test result: FAILED. 8 passed; 5 failed; 0 ignored",
            ),
            ("a warning\n7 problems (7 errors)\n\n", "two warnings\n9 problems (9 errors)"),
            ("could not compile due to 2 previous errors", "could not compile due to 24 previous errors"),
            ("87 tests completed, 9 failed", "87 tests completed, 11 failed"),
            ("Ran 212 rules on 31 files: 4 findings.", "Ran 212 rules on 31 files: 11 findings."),
            ("found 3 high severity vulnerabilities", "found 9 high severity vulnerabilities"),
            ("9 of 40 tests failed", "11 of 40 tests failed"),
            (
                "30 tests completed, 2 failed\n\nBUILD FAILED in 9s\n4 actionable tasks: 2 executed",
                "30 tests completed, 5 failed\n\nBUILD FAILED in 8s\n3 actionable tasks: 2 executed",
            ),
            ("87 examples, 2 failures", "87 examples, 3 failures"),
            ("2 doctests, 41 tests, 3 failures, 1 excluded", "2 doctests, 41 tests, 5 failures, 1 excluded"),
            (
                "61 runs, 140 assertions, 2 failures, 0 errors, 0 skips",
                "61 runs, 140 assertions, 1 failures, 4 errors, 0 skips",
            ),
            (
                "Executed 30 tests, with 2 failures (0 unexpected) in 1.5 (1.6) seconds",
                "Executed 30 tests, with 4 failures (0 unexpected) in 1.4 (1.5) seconds",
            ),
            ("Tests run: 52, Failures: 3, Errors: 0, Skipped: 1", "Tests run: 52, Failures: 2, Errors: 4, Skipped: 1"),
            (
                "Failed!  - Failed:     4, Passed:    48, Skipped:     0, Total:    52",
                "Failed!  - Failed:     9, Passed:    43, Skipped:     0, Total:    52",
            ),
            ("closed with 6981963612 bytes left", "closed with 7654923960 bytes left"),
            (
                r#"{"run":"9f","rows":58211,"rejected": 131,"by":{"zip":41}}"#,
                r#"{"run":"1c","rows":58211,"rejected": 224,"by":{"iban":64}}"#,
            ),
            ("closed with 9600 bytes left", "closed with 7654923960 bytes left"),
        ] {
            assert!(less(now, before), "{now}");
            assert!(!less(before, now) && !less(now, now), "{now}");
        }
        let found = |now: &str, before: &str| Left::found(now).is_less(&Left::found(before));
        assert!(found(r#"{"total": 118, "hits": []}"#, r#"{"total": 301, "hits": []}"#) && found("3 hits", "9 hits"));
        // Other things, no count, a duration.
        assert!(!less("2 warnings left", "9 errors left"));
        assert!(!less(r#"{"errors":2}"#, r#"{"warnings":9}"#) && !less(r#"{"rows":2}"#, r#"{"rows":9}"#));
        assert!(!less("all is well", "9 errors"));
        for (now, before) in [
            ("  left: 3\n right: 7", "  left: 5\n right: 7"),
            ("error: 404", "error: 503"),
            ("retries left: 4", "3 left"),
            ("x-failed: 2", "x-ratelimit-remaining: 9"),
        ] {
            assert_eq!((Left::wrong(now).is_none(), Left::wrong(before).is_none()), (true, true), "{now}");
        }
        assert!(!less("done in 2 s", "done in 9 s"));
        assert!(!less("failed in 2 seconds", "failed in 9 seconds"));
    }
}
