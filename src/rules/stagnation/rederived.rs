//! One figure that comes out again, whatever query, program or sum computes it; or several at once, whatever was
//! changed in between.
//!
//! A revenue is summed up, grouped, joined and added up from its parts, and is the same each time. Such a figure is
//! long and has a fraction, so that it does not recur by chance, and the answers say hardly anything else. Figures that
//! one look shows again after other calls and other figures in between have been brought back: a basket that is filled and
//! emptied between two limits.

use super::{Stuck, TROUBLE};
use crate::codec::codec;
use crate::model::HaltReason;
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal};
use crate::state::{Call, Step};
use crate::text::{Edit, Strength, combine, frame, key, mark, normalise};
use alloc::{boxed::Box, format, string::String, vec::Vec};

/// Bytes up to which an answer says hardly anything but its figures.
const SHORT: usize = 256;
/// The same for figures that were brought back.
const STATE: usize = 600;
/// Digits, without zeros at the ends, from which a figure does not recur by chance.
const DIGITS: usize = 6;
/// The same for a share, a figure below 1, which counts half.
const SHARE: usize = 4;
/// Digits, without zeros at the end, from which a whole number alone does not, and bytes that may stand behind it.
const COUNT: usize = 7;
const BESIDE: usize = 32;
/// The same for several figures together.
const SEVERAL: usize = 8;

/// Present once an answer has held such a figure.
#[derive(Clone, Debug, Default)]
pub(super) struct Rederived(Option<Box<Figures>>);
codec!(struct Rederived(_));

/// The latest figure, and the one before it: now and then two are shown beside each other.
#[derive(Clone, Debug, Default)]
struct Figures {
    latest: Figure,
    before: Figure,
    /// Something else was called since an answer held figures.
    moved: bool,
}
codec!(struct Figures { latest, before, moved });

/// Such a figure, and the calls that came to it.
#[derive(Clone, Debug, Default)]
struct Figure {
    figure: u32,
    call: u32,
    /// It is a share or a count, which counts half.
    share: bool,
    /// Something was written since: a check after a change may well come to the same.
    edited: bool,
    /// It was brought back.
    back: bool,
    points: u32,
    seen: Streak,
}
codec!(struct Figure { figure, call, share, edited, back, points, seen });

/// Which figures an answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    /// A single long one.
    One,
    /// A single one below 1, or a long whole number.
    Share,
    /// More than one.
    Several,
}

impl Rederived {
    /// Records a step; true if it came to the figure that another call had come to, or shows figures that were brought
    /// back.
    pub(super) fn took(&mut self, step: &Step, call: &Call, answer: &str, salt: u64) -> bool {
        if call.edit != Edit::No && !step.facts.failed {
            self.0.iter_mut().for_each(|known| (known.latest.edited, known.before.edited) = (true, true));
        }
        if let Some(known) = self.0.as_mut().filter(|known| known.latest.call != mark(call.key)) {
            known.moved = true;
        }
        if call.polling || step.facts.failed || answer.len() > if call.mutates { SHORT } else { STATE } {
            return false;
        }
        if telling(answer).is_none() {
            return false;
        }
        // Durations and times of day are other figures each time.
        let mut masked = String::new();
        normalise(answer, Strength::Light, &mut masked);
        let Some((digits, told)) = telling(&masked) else { return false };
        let several = told == Telling::Several;
        // Several at once do not recur by chance, whatever was changed; those of different things are told apart by the
        // words around them.
        let short = answer.len() <= SHORT;
        if !several && (call.mutates || !short) {
            return false;
        }
        let said = if several { frame(&masked).into() } else { 0 };
        let figure = mark(combine("stagnation/figure", &[key("figure", digits.as_bytes()), said, salt])).max(1);
        let Figures { latest, before, moved } = &mut **self.0.get_or_insert_default();
        let moved = core::mem::take(moved);
        let other = latest.figure != figure;
        let shown = latest.call;
        if other {
            core::mem::swap(latest, before);
        }
        if latest.figure != figure {
            *latest = Figure { figure, ..Figure::default() };
        }
        let last = core::mem::replace(&mut latest.call, mark(call.key));
        let same_call = last == latest.call;
        // The same look has shown other figures since: two looks in turn at what stays the same bring nothing back.
        let brought_back = other && moved && same_call && shown == last && !call.mutates;
        let again = brought_back || short && last != 0 && !same_call;
        latest.share = told == Telling::Share;
        latest.back |= brought_back;
        if again {
            let worth = if latest.share { TROUBLE / 2 } else { TROUBLE };
            let edited = core::mem::take(&mut latest.edited);
            latest.points = latest.points.saturating_add(if edited { worth / 2 } else { worth });
            latest.seen.add(step.sighting, step.onset);
        }
        again
    }

    pub(super) fn points(&self) -> u32 {
        self.0.as_ref().map_or(0, |known| {
            let Figures { latest, before, .. } = &**known;
            // Two that are brought back in turn are one way of getting nowhere.
            latest.points.saturating_add(if latest.back && before.back { before.points } else { 0 })
        })
    }

    pub(super) fn signal(&self, cx: &Cx<'_>) -> Option<Signal> {
        let known = &self.0.as_ref()?.latest;
        let found = Stuck {
            kind: "same-figure",
            name: "figure",
            what: combine("stagnation/figure", &[known.figure.into()]),
            points: self.points(),
            message: format!(
                "the same result came out {} times, to the last digit, whatever was called or changed in between",
                known.seen.times.saturating_add(1)
            ),
            instead: "Accept it and go on, or find out why your changes do not affect it.",
            halt_reason: HaltReason::Stalled,
        };
        Some(found.signal(&known.seen, cx))
    }
}

/// The digits of a text's figures with a fraction: of a single long one, of all of them if there are several, or of a
/// lone share; without separators and without zeros at the ends.
fn telling(text: &str) -> Option<(String, Telling)> {
    let (mut all, mut long, mut share) = (Vec::<String>::new(), Vec::new(), false);
    for word in text.split(|char: char| !(char.is_ascii_digit() || matches!(char, '.' | ',' | '\''))) {
        let word = word.trim_matches(['.', ',', '\'']);
        let Some((whole, fraction)) = word.rsplit_once(['.', ',']) else { continue };
        // Grouped in threes to its end, it is a whole number; grouped otherwise, an address or a version.
        let grouped = whole.split(['.', ',', '\'']).skip(1).all(|group| group.len() == 3);
        let point = word.contains('.') && whole.bytes().all(|byte| byte.is_ascii_digit());
        if fraction.len() == 3 && !point || !grouped {
            continue;
        }
        let digits: String = word.chars().filter(char::is_ascii_digit).collect();
        let digits = digits.trim_matches('0');
        if digits.len() >= DIGITS && fraction.len() != 3 && !long.iter().any(|known| known == digits) {
            long.push(String::from(digits));
        }
        share = whole == "0" && digits.len() >= SHARE;
        all.push(digits.into());
    }
    if all.is_empty() {
        return lone(text).map(|count| (count.into(), Telling::Share));
    }
    match long.as_slice() {
        [_] if all.iter().all(|digits| long.contains(digits)) => long.pop().map(|only| (only, Telling::One)),
        _ if all.len() == 1 => all.pop().filter(|_| share).map(|only| (only, Telling::Share)),
        _ => {
            let several = all.len() > 1 && all.iter().map(String::len).sum::<usize>() >= SEVERAL;
            several.then(|| (all.concat(), Telling::Several))
        }
    }
}

/// A long whole number that is all or nearly all of a text, such as what a query counts.
fn lone(text: &str) -> Option<&str> {
    let text = text.trim();
    let (number, rest) = text.split_at_checked(text.bytes().take_while(u8::is_ascii_digit).count())?;
    let ends = rest.is_empty() || rest.starts_with([' ', '\n']) && rest.len() <= BESIDE;
    (ends && number.trim_end_matches('0').len() >= COUNT && !rest.contains(|char: char| char.is_ascii_digit()))
        .then_some(number)
}

#[cfg(test)]
mod tests {
    use super::{Telling, telling};

    #[test]
    fn figures_that_tell() {
        for text in
            ["418227.90", "net\n---\n418,227.90\n(1 row)", "np.float64(418227.9)", "418.227,90 EUR", "418'227.90"]
        {
            assert_eq!(telling(text), Some(("4182279".into(), Telling::One)), "{text}");
        }
        assert_eq!(telling("1204332\n(exact)"), Some(("1204332".into(), Telling::Share)));
        for text in [
            "418227",
            "1204000",
            "1204332 of 1300417",
            "id 1204332",
            "2026-07-01",
            "12:30:05",
            "1,284,331",
            "0.5",
            "10.0.4.11",
            "99.10",
            "0.41 s and 0.52 s",
        ] {
            assert_eq!(telling(text), None, "{text}");
        }
        for text in ["fit 00:41\nMAE 141.872  RMSE 203.115  R2 0.6120", "MAE 141.872, RMSE 203.115, R2 0.612"] {
            assert_eq!(telling(text), Some(("141872203115612".into(), Telling::Several)), "{text}");
        }
        assert_eq!(telling("net 418227.90, late 0.21"), Some(("418227921".into(), Telling::Several)));
        assert_eq!(telling("1284331.07 and 412006.55"), Some(("12843310741200655".into(), Telling::Several)));
        assert_eq!(telling("AUC: 0.7312 of 12 folds"), Some(("7312".into(), Telling::Share)));
        assert_eq!(telling("0.731"), None);
    }
}
