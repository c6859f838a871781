//! What the user declares to change by itself: patterns whose matches do not make two outputs differ.

use super::pattern::{self, Pattern, Steps};
use crate::model::{Error, ErrorCode};
use alloc::{borrow::Cow, format, string::String, vec::Vec};

/// The user's patterns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Volatile {
    patterns: Vec<Pattern>,
}

impl Volatile {
    const MOST: usize = 32;
    /// Maximum number of characters of a pattern.
    const LONGEST: usize = 1024;
    /// Bytes from its beginning within which a match is certain to be found whole.
    const REACH: usize = 192;

    /// Compiles `patterns.volatile`.
    ///
    /// # Errors `invalid-config` naming `patterns.volatile` for more than 32 patterns, or `patterns.volatile[i]` for
    /// one that is longer than 1,024 characters, matches empty text, or is rejected by [`pattern::compile`].
    pub(crate) fn compile(patterns: &[String]) -> Result<Self, Error> {
        if patterns.len() > Self::MOST {
            let error = Error::new(ErrorCode::InvalidConfig, "more than 32 patterns").at("patterns.volatile");
            return Err(error.with(patterns.len()));
        }
        let compile = |(index, pattern): (usize, &String)| {
            let refuse = |message: String| {
                Error::new(ErrorCode::InvalidConfig, message).at(format!("patterns.volatile[{index}]")).with(pattern)
            };
            if pattern.chars().count() > Self::LONGEST {
                return Err(refuse("longer than 1,024 characters".into()));
            }
            let compiled = pattern::compile(pattern).map_err(&refuse)?;
            if compiled.regex.is_match("") {
                return Err(refuse("matches empty text, and so everywhere".into()));
            }
            Ok(compiled)
        };
        Ok(Self { patterns: patterns.iter().enumerate().map(compile).collect::<Result<_, _>>()? })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// `text` with the matches of every pattern replaced, leftmost first; without patterns, `text` itself. A match is
    /// searched for within [`Self::REACH`] bytes of where it begins, and the patterns share a limited number of
    /// [`Steps`]: what is left when a pattern has used up its share stays as it is, which is counted in `cut_short`.
    pub(crate) fn apply<'a>(&self, text: &'a str, cut_short: &mut u32) -> Cow<'a, str> {
        let mut steps = Steps::of(text, self.patterns.iter());
        self.patterns.iter().fold(Cow::Borrowed(text), |text, pattern| {
            match steps.share(pattern, |left| Self::replaced(pattern, &text, left, cut_short)) {
                None => text,
                Some(replaced) => Cow::Owned(replaced),
            }
        })
    }

    /// `text` with the matches of one pattern replaced; `None` if there are none.
    fn replaced(pattern: &Pattern, text: &str, left: &mut usize, cut_short: &mut u32) -> Option<String> {
        let (mut out, mut kept, mut at) = (None::<String>, 0, 0);
        // No match that begins at or after `at` ends before this.
        let mut ahead = 0;
        while at < text.len() {
            // A match may also be cut off by the end of the window, so the window is twice as wide as a match may be
            // long.
            let end = text.floor_char_boundary(at.saturating_add(2 * Self::REACH));
            let next = text.floor_char_boundary(at.saturating_add(Self::REACH));
            if end < ahead {
                at = next;
                continue;
            }
            let most = pattern.cost(end - at);
            if *left < most {
                *cut_short = cut_short.saturating_add(1);
                break;
            }
            let found = text.get(..end).and_then(|window| pattern.regex.find_at(window, at));
            let seen = found.map_or(end, |found| pattern.looked_at(text, found.end()).min(end));
            *left -= pattern.cost(seen.saturating_sub(at)).min(most);
            match found {
                // A match that ends where the window does may continue after it.
                Some(found) if found.end() == end && end < text.len() && found.start() > at => at = found.start(),
                Some(found) if found.start() < next || end == text.len() => {
                    let out = out.get_or_insert_default();
                    out.push_str(text.get(kept..found.start()).unwrap_or_default());
                    out.push_str("<volatile>");
                    kept = found.end();
                    // No pattern matches an empty text, but some have empty matches inside others.
                    at = if found.is_empty() { text.ceil_char_boundary(kept + 1) } else { kept };
                }
                Some(found) => at = found.start(),
                None if end == text.len() => break,
                None => {
                    // For matches far apart, one scan ahead costs half as much as covering everything in overlapping
                    // windows.
                    at = next;
                    let far = text.floor_char_boundary(at.saturating_add(pattern.reach(*left)));
                    let first = text.get(..far).and_then(|near| pattern.regex.shortest_match_at(near, at));
                    ahead = first.unwrap_or(far);
                    *left -= pattern.cost(ahead.saturating_sub(at)).min(*left);
                    if first.is_none() {
                        *cut_short = cut_short.saturating_add(u32::from(far < text.len()));
                        break;
                    }
                }
            }
        }
        out.map(|mut out| {
            out.push_str(text.get(kept..).unwrap_or_default());
            out
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    #[test]
    fn patterns_take_one_pass_and_so_many_steps() {
        let pattern = |pattern: &str| Volatile::compile(&[pattern.into()]).unwrap();
        let expected =
            |pattern: &str, text: &str| Regex::new(pattern).unwrap().replace_all(text, "<volatile>").into_owned();
        let applied = |volatile: &Volatile, text: &str| {
            let mut cut_short = 0;
            (volatile.apply(text, &mut cut_short).into_owned(), cut_short)
        };
        // As expected in texts of any length: adjacent, at either end, and with characters of several bytes.
        for text in ["", "17", "a 17 b 17", "17 é 4711 ü", &"ten 10 ".repeat(1_000), &"é9".repeat(9_000)] {
            let (masked, cut_short) = applied(&pattern(r"\d+"), text);
            if cut_short == 0 {
                assert_eq!(masked, expected(r"\d+", text));
            }
            assert_eq!(cut_short, 0, "{} bytes", text.len());
        }
        for (expression, text) in [(r"\d+$", "1 2 3 "), (r"^\d+", "17 18 "), (r"(?m)^id: .*$", "id: a b\nname: c\n")] {
            let text = text.repeat(300);
            assert_eq!(applied(&pattern(expression), &text), (expected(expression, &text), 0), "{expression}");
        }
        // Every character begins a match attempt that would scan the whole rest.
        let (masked, cut_short) = applied(&pattern("(?s)x.*y|x"), &"x".repeat(8192));
        assert_eq!(cut_short, 1);
        assert!(masked.starts_with("<volatile><volatile>") && masked.ends_with("xxx"));
    }

    #[test]
    fn the_steps_of_patterns_are_bounded_by_their_states() {
        let compile = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|pattern| String::from(*pattern)).collect();
            Volatile::compile(&patterns).unwrap()
        };
        let cut_short = |volatile: &Volatile, text: &str| {
            let mut cut_short = 0;
            volatile.apply(text, &mut cut_short);
            cut_short
        };
        // Made to be expensive: what a byte costs decides, not how the pattern is written.
        let text = "x".repeat(8192);
        for pattern in
            ["(x{1,50}){1,20}y", "((x?){30}){30}y", "x{1,4000}y", "(?:[xy]|[xz]|x){1,400}y", r"(?m)(?:^|x){1,900}y"]
        {
            assert_eq!(cut_short(&compile(&[pattern]), &text), 1, "{pattern}");
            assert_eq!(cut_short(&compile(&[pattern]), &"x".repeat(60)), 0, "{pattern}: a short text is searched");
            // A pattern after it still gets its share.
            let volatile = compile(&[pattern, r"x+"]);
            assert!(!volatile.apply(&"x".repeat(2000), &mut 0).contains('x'), "{pattern}");
        }
        // The maximum number of ordinary patterns, on a log of 8 KB in which some match on every line.
        let ordinary = [
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
            r"build-[0-9]+",
            r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
            r"\w+@\w+\.\w+",
            r"took \d+ ms",
            r"(?m)^pid: .*$",
            r"req_[A-Za-z0-9]{8,}",
            r"\$[0-9]+\.[0-9]{2}",
        ];
        let line =
            "2026-11-22T10:00:00 build-17 of 3f2a9c1e-aaaa-bbbb-cccc-0123456789ab took 12 ms, $3.50, req_Ab3dE6gH9\n";
        let log = line.repeat(8192 / line.len());
        let mut many = ordinary.to_vec();
        for _ in 0..3 {
            many.extend(ordinary.iter().skip(3).chain(&["request [0-9]+", "trace=[0-9a-f]+", "session=[^ ]+"]));
        }
        assert_eq!(many.len(), Volatile::MOST);
        let masked = |volatile: &Volatile, text: &str| {
            let mut cut_short = 0;
            (volatile.apply(text, &mut cut_short).into_owned(), cut_short)
        };
        let expected =
            "<volatile> <volatile> of <volatile> <volatile>, <volatile>, <volatile>\n".repeat(8192 / line.len());
        assert!(masked(&compile(&ordinary), &log) == (expected.clone(), 0));
        assert!(masked(&compile(&many), &log) == (expected, 0));
        // A number in every three bytes.
        let numbers = "17,".repeat(8192 / 3);
        assert_eq!(masked(&compile(&[r"\d+"]), &numbers), ("<volatile>,".repeat(8192 / 3), 0));
    }

    #[test]
    fn what_is_refused() {
        assert!(matches!(Volatile::default().apply("x", &mut 0), Cow::Borrowed("x")));
        for (patterns, field) in [
            (&["fine", "(open"][..], "patterns.volatile[1]"),
            (&["x*"], "patterns.volatile[0]"),
            (&["(\\w{100}){100}"], "patterns.volatile[0]"),
            (&["x"; 33], "patterns.volatile"),
        ] {
            let patterns: Vec<String> = patterns.iter().map(|pattern| String::from(*pattern)).collect();
            let error = Volatile::compile(&patterns).expect_err("refused");
            assert_eq!((error.code, error.field.as_deref()), (ErrorCode::InvalidConfig, Some(field)), "{error}");
        }
        let long = Volatile::compile(&["x".repeat(1025)]).expect_err("refused");
        assert_eq!(long.message, "longer than 1,024 characters");
    }
}
