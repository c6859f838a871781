//! The error at the root of a long output, and whether two programs are one.

use super::canonical::canonical_json;
use super::digest::Key;
use super::nature::mistake;
use super::words::listed;
use crate::codec::codec;
use crate::model::ToolCall;
use alloc::{string::String, vec::Vec};

/// Lines at the end and at the beginning of an output that may hold the root.
const LAST: usize = 3;
const FIRST: usize = 2;
/// Characters of a line that are compared, and the fewest letters that say something.
const LINE: usize = 240;
const LETTERS: usize = 4;
/// Bytes of an output that are looked at from either end.
const END: usize = 3000;
/// Words that mark an error by themselves.
const MARKS: [&str; 4] = ["error", "exception", "failed", "fatal"];
/// Different tokens kept of a call, and bytes of it that are looked at.
const TOKENS: usize = 256;
const BYTES: usize = 4000;

/// Key of the error at the root of an output: the last line that is marked as one, whatever line numbers, paths, values
/// and logs stand around it.
pub(crate) fn root_error(output: &str) -> Option<Key> {
    let tail = output.get(output.ceil_char_boundary(output.len().saturating_sub(END))..).unwrap_or_default();
    let head = output.get(..output.floor_char_boundary(END)).unwrap_or_default();
    let said = |line: &&str| !line.is_empty() && !line.starts_with('<');
    let last = || tail.lines().rev().map(str::trim).filter(said).take(LAST);
    let marked = last().find(|line| is_marked(line));
    let marked =
        marked.or_else(|| head.lines().map(str::trim).filter(said).take(FIRST).filter(|line| is_marked(line)).last());
    let line = marked?;
    let line = line.get(..line.floor_char_boundary(LINE)).unwrap_or_default();
    let letters = line.chars().filter(|char| char.is_alphabetic()).count();
    // What begins with a figure is a listing.
    (letters >= LETTERS && !line.starts_with(|char: char| char.is_ascii_digit())).then(|| mistake(line))
}

fn is_marked(line: &str) -> bool {
    line.split(|char: char| !char.is_alphanumeric() && char != '_')
        .any(|word| word.ends_with("Error") || word.ends_with("Exception") || listed(&MARKS, word))
}

/// The tokens of what a call was given, with how often each stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    counts: Vec<(u32, u32)>,
    all: u32,
}
codec!(struct Tokens { counts, all });

impl Tokens {
    pub(crate) fn of(call: &ToolCall) -> Self {
        let mut text = String::new();
        match (&call.args, &call.raw_args) {
            (Some(args), _) => canonical_json(args, &mut text),
            (None, Some(raw)) => text.push_str(raw),
            (None, None) => {}
        }
        let mut tokens = Self::default();
        let text = text.get(..text.floor_char_boundary(BYTES)).unwrap_or_default();
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            let word = char.is_alphanumeric() || char == '_';
            let length = if word {
                rest.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(rest.len())
            } else {
                char.len_utf8()
            };
            let Some((token, after)) = rest.split_at_checked(length) else { break };
            rest = after;
            if !char.is_whitespace() {
                tokens.add(token);
            }
        }
        tokens
    }

    fn add(&mut self, token: &str) {
        let hash = token.chars().fold(0x811c_9dc5_u32, |hash, char| (hash ^ u32::from(char)).wrapping_mul(0x0100_0193));
        match self.counts.binary_search_by_key(&hash, |(known, _)| *known) {
            Ok(at) => {
                if let Some((_, count)) = self.counts.get_mut(at) {
                    *count = count.saturating_add(1);
                }
            }
            Err(_) if self.counts.len() == TOKENS => return,
            Err(at) => self.counts.insert(at, (hash, 1)),
        }
        self.all = self.all.saturating_add(1);
    }

    /// Tokens that both hold, in per cent of the middle of both.
    pub(crate) fn alike(&self, other: &Self) -> usize {
        let mut shared = 0_u64;
        for (token, count) in &self.counts {
            if let Ok(at) = other.counts.binary_search_by_key(token, |(known, _)| *known) {
                shared += u64::from(other.counts.get(at).map_or(0, |(_, known)| *known.min(count)));
            }
        }
        let both = u64::from(self.all) + u64::from(other.all);
        usize::try_from((shared * 200).checked_div(both).unwrap_or(100)).unwrap_or(100)
    }

    pub(crate) fn fits(&self) -> bool {
        self.counts.len() <= TOKENS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tokens(code: &str) -> Tokens {
        Tokens::of(&ToolCall { tool: "run".into(), args: Some(json!({ "code": code })), ..ToolCall::default() })
    }

    #[test]
    fn roots() {
        let root = root_error;
        let trace = "Traceback:\n  File \"/a/b.py\", line 3\nKeyError: 'region'";
        assert!(root(trace).is_some());
        assert_eq!(root(trace), root("log\nlog\nTraceback:\n  File \"/c/d.py\", line 71\nKeyError: 'shop'\n\n"));
        assert_ne!(root(trace), root("Traceback:\nTypeError: 'region'"));
        assert_eq!(root("all is well"), None);
        assert!(root("fatal: all is lost").is_some());
        assert_eq!(root("12 lines with an error"), None);
        assert_eq!(root("<html> error"), None);
        assert_eq!(root(""), None);
    }

    #[test]
    fn programs() {
        let program = "table = load('sales.csv')\nout = totals(table, by='region')\nprint(out)";
        assert_eq!(tokens(program).alike(&tokens(program)), 100);
        assert!(tokens(program).alike(&tokens(&program.replace("out", "result"))) >= 70);
        assert!(tokens(program).alike(&tokens("import os\nfor name in os.listdir('.'): print(name)")) < 70);
        let long: String = (0..2000).map(|n| alloc::format!("x{n} ")).collect();
        assert!(tokens(&long).fits());
    }
}
