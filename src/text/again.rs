//! A cache of what was read of the latest results: a loop brings the same result of the same call again and again, and
//! reading a result is most of an event's cost.

use super::digest::{Key, combine, salted};
use super::echo::Echo;
use super::late::Late;
use super::outcome::{Empty, OutcomeFacts};
use crate::model::ToolResult;
use alloc::vec::Vec;

/// Results cached: as many as a long lap has.
const KEPT: usize = 32;

/// A ring of result keys and the facts read of each. Not part of a snapshot: reading a result again gives the same
/// facts.
#[derive(Clone, Debug)]
pub(crate) struct ReadCache {
    keys: [Key; KEPT],
    facts: Vec<OutcomeFacts>,
    /// Index of the oldest entry, the next to be replaced once the cache is full.
    oldest: usize,
}

impl Default for ReadCache {
    fn default() -> Self {
        Self { keys: [0; KEPT], facts: Vec::new(), oldest: 0 }
    }
}

impl ReadCache {
    /// The key of everything the facts depend on; `head` and `raw` are the keys of what accompanies the output and of
    /// the output itself. `None` if the result has details, or if the arguments its error may repeat are not kept as
    /// text.
    pub(super) fn key(
        tool: &str,
        result: &ToolResult,
        quiet: Empty,
        echo: Option<&Late<Echo>>,
        salt: u64,
        (head, raw): (Key, Key),
    ) -> Option<Key> {
        if result.details.is_some() {
            return None;
        }
        let [tool, said, class] = Self::words(tool, result, echo, salt)?;
        let code = result.exit_code.map_or(0, |code| 1 << 32 | u64::from(code.cast_unsigned()));
        Some(combine("outcome/again", &[head, raw, tool, said, class, code << 2 | quiet as u64]))
    }

    /// The keys of the tool, of the arguments an error may repeat, and of the host's error class. These come from
    /// outside, and a crafted collision would have one result read as another, so all are salted.
    fn words(tool: &str, result: &ToolResult, echo: Option<&Late<Echo>>, salt: u64) -> Option<[Key; 3]> {
        let said = match echo {
            Some(echo) => echo.text_key(salt)?,
            None => 0,
        };
        let class = result.error_class.as_deref().map_or(0, |class| salted("again/class", salt, class.as_bytes()));
        Some([salted("again/tool", salt, tool.as_bytes()), said, class])
    }

    pub(super) fn get(&self, key: Key) -> Option<OutcomeFacts> {
        let place = self.keys.iter().position(|known| *known == key)?;
        self.facts.get(place).copied()
    }

    pub(super) fn put(&mut self, key: Key, facts: OutcomeFacts) {
        if self.facts.len() < KEPT {
            if self.facts.is_empty() {
                self.facts.reserve_exact(KEPT);
            }
            if let Some(place) = self.keys.get_mut(self.facts.len()) {
                *place = key;
            }
            self.facts.push(facts);
            return;
        }
        if let (Some(place), Some(known)) = (self.keys.get_mut(self.oldest), self.facts.get_mut(self.oldest)) {
            (*place, *known) = (key, facts);
        }
        self.oldest = (self.oldest + 1) % KEPT;
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{Scratch, glance, outcome};
    use super::super::volatile::Volatile;
    use super::*;
    use crate::model::Outcome;
    use alloc::{format, string::ToString};

    #[test]
    fn what_is_remembered_is_what_would_be_read() {
        let args: [Option<&str>; 4] = [None, Some(""), Some(r#"{"path":"part-7.ts"}"#), Some(r#"{"path":"other.rs"}"#)];
        let outputs = ["", "part-7.ts: no such file", "nothing found", r#"{"error":"no user part-7.ts"}"#];
        let mut cases = Vec::new();
        for output in outputs {
            for outcome in [Outcome::Ok, Outcome::Error, Outcome::Denied] {
                for exit_code in [None, Some(0), Some(1), Some(-1)] {
                    for error_class in [None, Some("Missing".to_string())] {
                        let (output, error_class) = (output.to_string(), error_class.clone());
                        cases.push(ToolResult { output, outcome, exit_code, error_class, ..ToolResult::default() });
                    }
                }
            }
        }
        let mut scratch = Scratch::default();
        // Each result is read twice in a row, and again in the next round, once it has been evicted.
        for round in 0..3 {
            for (tool, silent) in [("read", Empty::Nothing), ("write", Empty::List)] {
                for result in &cases {
                    for args in &args {
                        let echo = args.map(|args| Late::of(args, true));
                        let read = |scratch: &mut Scratch| {
                            let (glance, volatile) =
                                (glance(result, &Volatile::default(), scratch), Volatile::default());
                            outcome(tool, result, silent, echo.as_ref(), &volatile, (&glance, false), scratch)
                        };
                        let anew = read(&mut Scratch::default());
                        assert_eq!((read(&mut scratch), read(&mut scratch)), (anew, anew), "{round} {tool} {result:?}");
                    }
                }
            }
        }
        let known = |echo: &Late<Echo>| {
            ReadCache::key("t", &ToolResult::default(), Empty::Nothing, Some(echo), 0, (1, 2)).is_some()
        };
        assert!(known(&Late::of("{}", true)) && !known(&Late::of(&format!("{:5000}", 1), true)));
    }

    #[test]
    fn whatever_a_stranger_writes_is_under_the_salt() {
        let result = ToolResult { error_class: Some("Missing".to_string()), ..ToolResult::default() };
        let echo = Late::of(r#"{"pin":"493027"}"#, true);
        let words = |salt| ReadCache::words("login", &result, Some(&echo), salt).unwrap();
        for (one, other) in [(0, 1), (1, 2), (0, 0x5eed_5a17)] {
            for (part, (one, other)) in words(one).iter().zip(words(other)).enumerate() {
                assert_ne!(*one, other, "part {part} is the same under two salts");
            }
        }
    }
}
