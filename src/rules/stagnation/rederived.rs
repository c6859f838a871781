//! One figure that comes out again, by whatever query, program or sum it is got.
//!
//! A revenue is summed up, grouped, joined and added up from its parts, and is the same each time. Such a figure is long and has a
//! fraction, so that it does not come about by chance, and its answers say hardly anything else.

use super::{Found, TROUBLE};
use crate::codec::codec;
use crate::model::HaltReason;
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Step};
use crate::text::{Edit, combine, key, mark};
use alloc::{boxed::Box, format, string::String};

/// Bytes of an answer that says hardly anything else.
const SHORT: usize = 160;
/// Digits of a figure that tells itself from others, those at its end that are 0 aside.
const DIGITS: usize = 6;

/// Only where such a figure was told.
#[derive(Clone, Debug, Default)]
pub(super) struct Rederived(Option<Box<Figure>>);
codec!(struct Rederived(_));

/// The latest such figure, and the calls in a row that came to it without anything written in between.
#[derive(Clone, Debug, Default)]
struct Figure {
    figure: u32,
    call: u32,
    seen: Streak,
}
codec!(struct Figure { figure, call, seen });

impl Rederived {
    /// Takes a step in, and tells whether it came to the figure that another call had come to.
    pub(super) fn took(&mut self, step: &Step, call: &Call, answer: &str, salt: u64) -> bool {
        if call.edit != Edit::No && !step.facts.failed {
            self.0 = None;
        }
        if call.mutates || call.polling || step.facts.failed || answer.len() > SHORT {
            return false;
        }
        let Some(digits) = telling(answer) else { return false };
        let figure = mark(combine("stagnation/figure", &[key("figure", digits.as_bytes()), salt])).max(1);
        let mut known = self.0.take().filter(|known| known.figure == figure).unwrap_or_default();
        let again = known.figure != 0 && known.call != mark(call.key);
        (known.figure, known.call) = (figure, mark(call.key));
        if again {
            known.seen.add(step.sighting, step.onset);
        }
        self.0 = Some(known);
        again
    }

    pub(super) fn points(&self) -> u32 {
        self.0.as_ref().map_or(0, |known| known.seen.times.saturating_mul(TROUBLE))
    }

    pub(super) fn told(&self, cx: &Cx<'_>) -> Option<Signal> {
        let known = self.0.as_ref()?;
        let found = Found {
            kind: "same-figure",
            name: "figure",
            what: combine("stagnation/figure", &[known.figure.into()]),
            points: self.points(),
            message: format!("the same figure came out {} times, each time got in another way", known.seen.times + 1),
            instead: "Take the figure as it is and go on with what it is for.",
            halt_reason: HaltReason::Stalled,
        };
        Some(found.told(&known.seen, cx))
    }

    pub(super) fn fits(&self) -> bool {
        self.0.as_ref().is_none_or(|known| known.seen.fits())
    }
}

/// The digits of the only long figure with a fraction in a text, without what groups them and without those at its end that are 0.
fn telling(text: &str) -> Option<String> {
    let mut only: Option<String> = None;
    for word in text.split(|char: char| !(char.is_ascii_digit() || matches!(char, '.' | ',' | '\''))) {
        let word = word.trim_matches(['.', ',', '\'']);
        let Some((whole, fraction)) = word.rsplit_once(['.', ',']) else { continue };
        // What is grouped in threes to its end is whole, and what is grouped otherwise an address or a version.
        let grouped = whole.split(['.', ',', '\'']).skip(1).all(|group| group.len() == 3);
        if fraction.len() == 3 || !grouped {
            continue;
        }
        let digits: String = word.chars().filter(char::is_ascii_digit).collect();
        let digits = digits.trim_matches('0');
        if digits.len() >= DIGITS {
            match &only {
                Some(known) if known != digits => return None,
                _ => only = Some(digits.into()),
            }
        }
    }
    only
}

#[cfg(test)]
mod tests {
    use super::telling;

    #[test]
    fn figures_that_tell() {
        for text in [
            "418227.90",
            "net\n---\n418,227.90\n(1 row)\nTime: 88.412 ms",
            "np.float64(418227.9)",
            "418.227,90 EUR",
            "418'227.90",
        ] {
            assert_eq!(telling(text).as_deref(), Some("4182279"), "{text}");
        }
        for text in
            ["418227", "2026-07-01", "12:30:05", "1,284,331", "0.5", "10.0.4.11", "1284331.07 and 412006.55", "99.10"]
        {
            assert_eq!(telling(text), None, "{text}");
        }
    }
}
