//! Patterns that a configuration gives, compiled.
//!
//! How large one may become is counted in states of its automaton as they are told by the pattern, never in the bytes that
//! an engine takes for them: those depend on the width of a pointer, and a configuration that one platform takes another
//! would refuse.

use alloc::{format, string::String};
use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Groups within groups that a pattern may have: compiling recurses, and a component's stack is small.
const NEST: u32 = 50;
/// States that a pattern may have; ordinary ones have a hundred.
const STATES: u32 = 8192;
/// Those of a class of ASCII, and of another one beside four for five of its ranges: about what the engine takes of each, in
/// states of a letter. `\w` is six hundred.
const NARROW: u32 = 2;
const WIDE: u32 = 12;
/// Bytes that no pattern with so many states needs, on any platform: with 64 bits it is a quarter of a megabyte.
const BYTES: usize = 4 * 1024 * 1024;

/// Compiles a pattern.
///
/// # Errors
/// In words: it is malformed, or has more than 8,192 states once its repetitions are written out.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    // The parser draws the pattern with a caret over several lines; its last line says what is wrong.
    let malformed = |text: String| {
        let line = text.lines().last().unwrap_or_default().trim();
        format!("not a regular expression: {}", line.strip_prefix("error: ").unwrap_or(line))
    };
    let parsed = ParserBuilder::new().nest_limit(NEST).build().parse(pattern);
    let parsed = parsed.map_err(|error| malformed(format!("{error}")))?;
    if states(&parsed) > STATES {
        return Err("too large once its repetitions are written out".into());
    }
    let regex = RegexBuilder::new(pattern).nest_limit(NEST).size_limit(BYTES).build();
    regex.map_err(|error| malformed(format!("{error}")))
}

/// How many states the automaton of a pattern has, roughly and everywhere alike.
fn states(pattern: &Hir) -> u32 {
    let sum = |parts: &[Hir]| parts.iter().fold(0_u32, |sum, part| sum.saturating_add(states(part)));
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(text) => u32::try_from(text.0.len()).unwrap_or(u32::MAX),
        HirKind::Class(Class::Unicode(class)) if !class.is_ascii() => {
            let ranges = u32::try_from(class.ranges().len()).unwrap_or(u32::MAX);
            WIDE.saturating_add(ranges.saturating_mul(4) / 5)
        }
        HirKind::Class(_) => NARROW,
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min).max(1);
            states(&repeated.sub).saturating_mul(times)
        }
        HirKind::Capture(group) => states(&group.sub).saturating_add(2),
        HirKind::Concat(parts) => sum(parts),
        HirKind::Alternation(parts) => sum(parts).saturating_add(1),
    }
}

#[cfg(test)]
mod tests {
    use super::compile;
    use alloc::format;
    use regex::RegexBuilder;

    /// The most times that a part may be repeated.
    fn most(fits: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (0, 40_000);
        while low + 1 < high {
            let middle = usize::midpoint(low, high);
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    #[test]
    fn what_is_too_large_is_told_by_the_pattern() {
        for (part, expected) in [("x", 8192), ("[a-z]", 4096), ("é", 4096), (".", 630), ("(ab|cd)", 1170)] {
            let written = |times: usize| format!("{part}{{{times}}}");
            let ours = most(|times| compile(&written(times)).is_ok());
            assert_eq!(ours, expected, "{part}");
            // What an engine of 64 bits made of a quarter of a megabyte, within a factor of two.
            let engine = |times: usize| RegexBuilder::new(&written(times)).size_limit(256 * 1024).build().is_ok();
            let theirs = most(engine);
            assert!(ours <= theirs * 2 && theirs <= ours * 2, "{part}: {theirs}");
        }
        let message = |pattern: &str| compile(pattern).unwrap_err();
        for large in [r"\w{1,1000}", "(?:x{1,200}y){1,200}", "((x{99}){99}){99}", r"[\w-]{20}"] {
            assert_eq!(message(large), "too large once its repetitions are written out", "{large}");
        }
        for usual in
            [r"\w+-\w+-\w+@\w+\.\w+", r"run [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", r"(?s)x.*y|x", r"\d{4}-\d\d"]
        {
            assert!(compile(usual).is_ok(), "{usual}");
        }
        assert_eq!(message("a(b"), "not a regular expression: unclosed group");
        assert!(message(&"(".repeat(500)).starts_with("not a regular expression: "));
    }
}
