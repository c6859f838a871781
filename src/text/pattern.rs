//! Patterns from a configuration, compiled.
//!
//! A pattern's size limit is counted in states of its automaton, derived from the pattern itself and never from the
//! bytes an engine needs for them: those depend on the width of a pointer, so one platform would reject a configuration
//! that another accepts. The cost of matching is counted too, in steps: bytes of text times the states that one byte
//! can advance. It is never measured in time, so a budget ends at the same byte everywhere.

use alloc::{format, string::String, vec, vec::Vec};
use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast, ClassSetItem, Flag, parse::ParserBuilder};
use regex_syntax::hir::{Class, Hir, HirKind, translate::Translator};

/// Deepest nesting of groups in a pattern: compiling recurses, and a component's stack is small.
const NEST: u32 = 50;
/// Maximum number of states of a pattern; ordinary ones have a hundred.
const STATES: u32 = 8192;
/// States of an ASCII class, and of any other class in addition to four for every five of its ranges: roughly what the
/// engine needs, in units of a one-letter state. `\w` comes to six hundred.
const NARROW: u32 = 2;
const WIDE: u32 = 12;
const TOO_LARGE: &str = "too large once its repetitions are written out";
/// The parser's own wording.
const NO_PROPERTY: &str = "not a regular expression: Unicode property not found";
/// Size limit given to the engine, in bytes. No pattern within [`STATES`] reaches it on any platform: with 64-bit
/// pointers they need about a quarter of a megabyte.
const BYTES: usize = 4 * 1024 * 1024;

/// Steps per byte of a non-ASCII class: only one of its states is active at a time, but many ranges are tried in it.
const TRIED: u32 = 4;
/// Steps that all patterns together may take on one text, of 8 KB or more and on an empty one. The worst patterns spent
/// 50 ms of processor time on them in a release build for x86-64 (2026-11-23).
const MOST_STEPS: usize = 1 << 22;
const LEAST_STEPS: usize = 1 << 19;
/// Steps that each byte of text adds, up to [`MOST_STEPS`].
const STEPS_OF_BYTE: usize = (MOST_STEPS - LEAST_STEPS) / 8192;

/// A compiled pattern and its cost.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) regex: Regex,
    /// Maximum number of steps that one byte of text takes.
    steps: usize,
    /// For each of the 256 byte values, whether it can occur in a match.
    bytes: Vec<bool>,
}

impl Pattern {
    /// Maximum number of steps that scanning this many bytes takes.
    pub(crate) fn cost(&self, bytes: usize) -> usize {
        self.steps.saturating_mul(bytes)
    }

    /// How far the search for a match that ends at `end` has looked: no match begins after `end`, and extending one
    /// goes no further than the first byte that cannot occur in a match.
    pub(crate) fn looked_at(&self, text: &str, end: usize) -> usize {
        let mut rest = text.as_bytes().iter().skip(end);
        let more = rest.position(|byte| !self.bytes.get(usize::from(*byte)).is_some_and(|within| *within));
        more.map_or(text.len(), |more| end.saturating_add(more).saturating_add(1))
    }

    /// How many bytes can be scanned with this many steps.
    pub(crate) fn reach(&self, steps: usize) -> usize {
        steps / self.steps.max(1)
    }
}

/// The steps that several patterns share on one text. For each pattern still to come, the cost of one full scan is
/// reserved, or an equal share of all steps if that is less; the rest is first come, first served.
pub(crate) struct Steps {
    left: usize,
    put_by: usize,
    even: usize,
    bytes: usize,
}

impl Steps {
    pub(crate) fn of<'a>(text: &str, patterns: impl ExactSizeIterator<Item = &'a Pattern>) -> Self {
        let bytes = text.len();
        let left = bytes.saturating_mul(STEPS_OF_BYTE).saturating_add(LEAST_STEPS).min(MOST_STEPS);
        let even = left / patterns.len().max(1);
        let put_by = patterns.map(|pattern| pattern.cost(bytes).min(even)).sum();
        Self { left, put_by, even, bytes }
    }

    /// Calls `take` with the steps that the next pattern may use; it subtracts those it has used.
    pub(crate) fn share<T>(&mut self, pattern: &Pattern, take: impl FnOnce(&mut usize) -> T) -> T {
        self.put_by = self.put_by.saturating_sub(pattern.cost(self.bytes).min(self.even));
        let mut left = self.left.saturating_sub(self.put_by);
        let taken = take(&mut left);
        self.left = self.put_by.saturating_add(left);
        taken
    }
}

/// Compiles a pattern.
///
/// # Errors The reason, in words: the pattern is malformed, ignores case beyond ASCII, uses a Unicode property, or has
/// more than 8,192 states once its repetitions are expanded.
pub(crate) fn compile(pattern: &str) -> Result<Pattern, String> {
    // The parser prints the pattern with a caret over several lines; the last line says what is wrong.
    let malformed = |text: String| {
        let line = text.lines().last().unwrap_or_default().trim();
        format!("not a regular expression: {}", line.strip_prefix("error: ").unwrap_or(line))
    };
    let written = ParserBuilder::new().nest_limit(NEST).build().parse(pattern);
    let written = written.map_err(|error| malformed(format!("{error}")))?;
    ast::visit(&written, Unsupported)?;
    let parsed = Translator::new().translate(pattern, &written);
    let parsed = parsed.map_err(|error| malformed(format!("{error}")))?;
    if states(&parsed) > STATES {
        return Err(TOO_LARGE.into());
    }
    // What has been parsed and is not too large can be built.
    let regex = RegexBuilder::new(pattern).nest_limit(NEST).size_limit(BYTES).build().map_err(|_| TOO_LARGE)?;
    let steps = usize::try_from(moved(&parsed)).unwrap_or(usize::MAX);
    let mut bytes = vec![false; 256];
    within(&parsed, &mut bytes);
    Ok(Pattern { regex, steps, bytes })
}

/// Rejects ignoring the case of non-ASCII letters, and Unicode properties. Their tables are larger than everything else
/// that patterns need, so the modules are built without them. A native build may have them because another crate does,
/// and must not accept what the modules reject.
struct Unsupported;

impl ast::Visitor for Unsupported {
    type Output = ();
    type Err = String;

    fn finish(self) -> Result<(), String> {
        Ok(())
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), String> {
        let flags = match part {
            Ast::Flags(set) => Some(&set.flags),
            Ast::Group(group) => group.flags(),
            _ => None,
        };
        let state = |flag| flags.and_then(|flags| flags.flag_state(flag));
        if state(Flag::CaseInsensitive) == Some(true) && state(Flag::Unicode) != Some(false) {
            return Err("case is ignored in ASCII alone: write `(?i-u:error)` for `(?i)error`".into());
        }
        if matches!(part, Ast::ClassUnicode(_)) { Err(NO_PROPERTY.into()) } else { Ok(()) }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), String> {
        if matches!(item, ClassSetItem::Unicode(_)) { Err(NO_PROPERTY.into()) } else { Ok(()) }
    }
}

/// Marks the bytes that can occur in a match, and possibly some other non-ASCII ones.
fn within(pattern: &Hir, bytes: &mut [bool]) {
    let mut mark = |first: u8, last: u8| {
        if let Some(marked) = bytes.get_mut(usize::from(first)..=usize::from(last)) {
            marked.fill(true);
        }
    };
    match pattern.kind() {
        HirKind::Literal(text) => text.0.iter().for_each(|byte| mark(*byte, *byte)),
        HirKind::Class(Class::Bytes(class)) => class.iter().for_each(|range| mark(range.start(), range.end())),
        HirKind::Class(Class::Unicode(class)) => {
            for range in class.iter() {
                // In UTF-8 a non-ASCII character has a first byte, which depends on the script, and continuation bytes,
                // which may be any.
                let first = |sign: char| sign.encode_utf8(&mut [0; 4]).bytes().next().unwrap_or_default();
                mark(first(range.start()), first(range.end()));
                if !range.end().is_ascii() {
                    mark(0x80, 0xbf);
                }
            }
        }
        kind => kind.subs().iter().for_each(|part| within(part, bytes)),
    }
}

/// Maximum number of states that one byte of text can advance: every byte of a literal, one of a class, and all that is
/// passed through on the way to them.
fn moved(pattern: &Hir) -> u32 {
    let sum = |parts: &[Hir]| parts.iter().fold(0_u32, |sum, part| sum.saturating_add(moved(part)).saturating_add(1));
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(text) => u32::try_from(text.0.len()).unwrap_or(u32::MAX),
        HirKind::Class(Class::Unicode(class)) if !class.is_ascii() => TRIED,
        HirKind::Class(_) => 1,
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min).max(1);
            // An optional part has an extra state for skipping it.
            let optional = u32::from(repeated.max != Some(repeated.min));
            moved(&repeated.sub).saturating_add(optional).saturating_mul(times)
        }
        HirKind::Capture(group) => moved(&group.sub).saturating_add(3),
        HirKind::Concat(parts) => parts.iter().fold(0_u32, |sum, part| sum.saturating_add(moved(part))),
        HirKind::Alternation(parts) => sum(parts),
    }
}

/// How many states the automaton of a pattern has: approximate, but the same on every platform.
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
    use super::{LEAST_STEPS, MOST_STEPS, Steps, compile};
    use alloc::format;
    use regex::RegexBuilder;

    /// The highest repetition count that fits.
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

    /// A native build has the tables if another crate enables them; the modules never have them.
    #[test]
    fn properties_of_unicode_are_refused_everywhere() {
        for pattern in [r"\p{L}+", r"\PN", r"[a\p{Greek}]", r"x|(\pL)", r"[^\d--\p{Nd}]"] {
            assert_eq!(compile(pattern).unwrap_err(), super::NO_PROPERTY, "{pattern}");
        }
        assert!(compile(r"[\d\w]\s").is_ok());
    }

    #[test]
    fn what_a_byte_costs_is_told_by_the_pattern() {
        for (pattern, steps) in [
            ("build-[0-9]+", 8),
            (r"\d{4}", 16),
            ("x{2,4}", 8),
            ("(?:ab|cd)", 6),
            ("(x{1,50}){1,20}y", 2081),
            ("x{8000}", 8000),
        ] {
            assert_eq!(compile(pattern).unwrap().steps, steps, "{pattern}");
        }
    }

    #[test]
    fn a_search_ends_where_no_match_goes_on() {
        for (pattern, text, end, looked_at) in [
            (r"\d+", "17 18", 2, 3),
            ("build-[0-9]+", "build-17bud, build", 8, 12),
            (r"\w+", "añb c", 1, 5),
            (r"\d+", "7é8", 1, 2),
            ("[a-z]+", "añb c", 1, 2),
            ("(?s)x.*y|x", "xxx\nxx", 1, 6),
            (".+", "xxx\nxx", 1, 4),
            ("^x$|y", "xxy", 3, 3),
        ] {
            assert_eq!(compile(pattern).unwrap().looked_at(text, end), looked_at, "{pattern}");
        }
    }

    #[test]
    fn patterns_share_the_steps_of_a_text() {
        let patterns = ["x", "y", "(?:x{1,40}){1,40}y"].map(|pattern| compile(pattern).unwrap());
        let [first, second, large] = &patterns;
        let text = "x".repeat(10_000);
        let steps = |patterns: [&crate::text::pattern::Pattern; 3]| Steps::of(&text, patterns.into_iter());
        let mut cheap = steps([first, second, large]);
        let taken = cheap.share(first, core::mem::take);
        assert_eq!(taken, MOST_STEPS - 10_000 - MOST_STEPS / 3, "all but what is put by");
        assert_eq!(cheap.share(second, core::mem::take), 10_000, "a look at everything");
        assert_eq!(cheap.share(large, core::mem::take), MOST_STEPS / 3, "an even part");
        let mut greedy = steps([large, first, second]);
        assert_eq!(greedy.share(large, |left| core::mem::replace(left, 7)), MOST_STEPS - 20_000);
        assert_eq!(greedy.share(first, |left| *left), 10_007, "what was not needed is the others'");
        assert_eq!(Steps::of("", [first].into_iter()).left, LEAST_STEPS);
    }

    #[test]
    fn what_is_too_large_is_told_by_the_pattern() {
        for (part, expected) in [("x", 8192), ("[a-z]", 4096), ("é", 4096), (".", 630), ("(ab|cd)", 1170)] {
            let written = |times: usize| format!("{part}{{{times}}}");
            let ours = most(|times| compile(&written(times)).is_ok());
            assert_eq!(ours, expected, "{part}");
            // What a 64-bit engine fits into a quarter of a megabyte, within a factor of two.
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
        for cases in ["(?i)error", "x(?i:error)", "(?is)error", "(?-u)(?i)error"] {
            assert_eq!(
                message(cases),
                "case is ignored in ASCII alone: write `(?i-u:error)` for `(?i)error`",
                "{cases}"
            );
        }
        assert!(compile("(?i-u:error) in .*").unwrap().regex.is_match("ERROR in ü"));
        assert!(compile("[(?i)]x(?s-i:.)(?P<i>i)").is_ok());
        assert_eq!(message("a(b"), "not a regular expression: unclosed group");
        assert!(message(&"(".repeat(500)).starts_with("not a regular expression: "));
    }
}
