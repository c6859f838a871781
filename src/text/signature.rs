//! What an output says, in one short line: which tests fail, which error stopped it where, what was edited or searched.
//!
//! Two runs with the same failure give the same signature (no timings, line numbers or temporary paths; lists are
//! sorted where tools print them in any order); another failing test, error class or file gives a different one. For
//! any other output it is the first 50 characters. The golden rows are in the tests, from the specification.
//!
//! All scanners are hand-written single passes over a clipped copy, so that megabytes of log cost as much as 32 KiB.

mod compilers;
mod runners;
mod stated;
mod traces;
mod volatile;
mod words;

pub(super) use self::words::{class_name, file_key, location};
use self::{
    compilers::diagnostics,
    runners::failing_tests,
    stated::{mentioned_error, stated_edit, stated_error, stated_failures, stated_search},
    traces::trace,
    volatile::mask,
    words::{hyphenated, prints, sealed},
};
pub(crate) use self::{volatile::is_logged, words::error_class};
use super::{
    case::lower_text,
    ends::{clip_to, head},
    pattern::{self, Pattern, Steps},
    results::failing_in_output,
    terminal::sequence_end,
};
use crate::model::{Error, ErrorCode, SignaturePattern};
use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

/// Bytes read at either end: runners report failures first or last, compilers first.
const CLIP: usize = 16 * 1024;
/// Characters of the signature of an output that nothing else is known about.
const FALLBACK: usize = 50;

const MAX_PATTERNS: usize = 32;
const MAX_PATTERN: usize = 1024;
/// Maximum number of characters of a user's signature template, and of groups it may insert: they bound what a match
/// can expand to.
const MAX_TEMPLATE: usize = 256;
const MAX_GROUPS: usize = 16;

/// The built-in signature of an output.
#[cfg(test)]
fn signature(output: &str) -> String {
    built_in(&clean(output))
}

/// The user's signature patterns, tried before the built-in ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signatures {
    patterns: Vec<(Pattern, String)>,
}

impl Signatures {
    /// Compiles the patterns of a configuration.
    ///
    /// # Errors
    /// `invalid-config` at `patterns.signatures` for more than 32, or at the pattern or template that is too long or
    /// does not compile.
    pub(crate) fn compile(patterns: &[SignaturePattern]) -> Result<Self, Error> {
        let wrong = |message: String, field: String| Error::new(ErrorCode::InvalidConfig, message).at(field);
        if patterns.len() > MAX_PATTERNS {
            let message = format!("expected at most {MAX_PATTERNS} patterns");
            return Err(wrong(message, "patterns.signatures".to_owned()).with(patterns.len()));
        }
        let mut compiled = Vec::with_capacity(patterns.len());
        for (index, SignaturePattern { pattern: text, signature }) in patterns.iter().enumerate() {
            let field = format!("patterns.signatures[{index}].pattern");
            if text.is_empty() || text.chars().count() > MAX_PATTERN {
                return Err(wrong(format!("expected 1 to {MAX_PATTERN} characters"), field).with(text));
            }
            let pattern = pattern::compile(text).map_err(|message| wrong(message, field).with(text))?;
            if signature.trim().is_empty()
                || signature.chars().count() > MAX_TEMPLATE
                || signature.matches('$').count() > MAX_GROUPS
            {
                let message = format!("expected 1 to {MAX_TEMPLATE} characters and at most {MAX_GROUPS} groups");
                return Err(wrong(message, format!("patterns.signatures[{index}].signature")).with(signature));
            }
            compiled.push((pattern, signature.clone()));
        }
        Ok(Self { patterns: compiled })
    }

    /// The signature of an output: one printable line of at most 120 characters, empty only for an output with nothing
    /// printable. The user's patterns come first; one that matched but expands to nothing printable is passed over.
    #[cfg(test)]
    fn signature(&self, output: &str) -> String {
        self.read(output, &mut 0).0
    }

    /// The signature of an output, and how many tests it says fail. A pattern that would take too many [`Steps`] is
    /// matched against the beginning of the output only, which is counted in `cut_short`.
    pub(crate) fn read(&self, output: &str, cut_short: &mut u32) -> (String, Option<u32>) {
        let text = clean(output);
        let mut steps = Steps::of(&text, self.patterns.iter().map(|(pattern, _)| pattern));
        let user = self.patterns.iter().find_map(|(pattern, template)| {
            let seen = steps.share(pattern, |left| {
                let seen = head(&text, pattern.reach(*left));
                *left -= pattern.cost(seen.len()).min(*left);
                seen
            });
            *cut_short = cut_short.saturating_add(u32::from(seen.len() < text.len()));
            let captures = pattern.regex.captures(seen)?;
            let mut expanded = String::new();
            captures.expand(template, &mut expanded);
            Some(sealed(expanded.trim())).filter(|signature| !signature.is_empty())
        });
        (user.unwrap_or_else(|| built_in(&text)), failing_in_output(&text))
    }
}

fn built_in(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let found = failing_tests(&lines)
        .or_else(|| diagnostics(&lines))
        .or_else(|| trace(&lines))
        .or_else(|| stated_error(&lines))
        .or_else(|| stated_failures(&lines))
        .or_else(|| stated_search(&lines))
        .or_else(|| stated_edit(&lines))
        .or_else(|| mentioned_error(&lines));
    found.map_or_else(|| fallback(text), |signature| sealed(&signature))
}

/// The first 50 characters in lower case, with white space as `-` and volatile parts masked. Masking comes before
/// cutting: otherwise a duration one digit longer would move the end.
fn fallback(text: &str) -> String {
    let head: String = text.chars().take(8 * FALLBACK).collect();
    let cut: String = mask(&head).chars().take(FALLBACK).collect();
    hyphenated(&lower_text(&cut))
}

/// The head and tail of an output without terminal sequences, with lines ended by `\n`.
fn clean(output: &str) -> String {
    let mut text = String::with_capacity(output.len().min(2 * CLIP) + 1);
    let (first, last) = clip_to(output, CLIP);
    append_clean(&mut text, first);
    if !last.is_empty() {
        text.push('\n');
        append_clean(&mut text, last);
    }
    text
}

fn append_clean(out: &mut String, text: &str) {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\u{1b}' => {
                let end = sequence_end(text.as_bytes(), at);
                while chars.next_if(|(at, _)| *at < end).is_some() {}
            }
            '\r' if chars.peek().is_some_and(|(_, next)| *next == '\n') => {}
            '\r' => out.push('\n'),
            '\n' | '\t' => out.push(c),
            c if prints(c) => out.push(c),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
