//! Drafts of one text that come back by turns: warm, sober, warm again, as two readers want it.
//!
//! No two of them need be the same: what tells is that each is nearly the one before last, and not the last one, or that it
//! shares three quarters of its words with the former and hardly half with the latter.

use super::{INSTEAD, Stuck};
use crate::codec::codec;
use crate::model::HaltReason;
use crate::rules::streak::Streak;
use crate::rules::{Cx, Payload, Signal};
use crate::state::Call;
use crate::text::{Words, combine, mark};
use alloc::{boxed::Box, format};

/// Points for a draft that comes back.
const BACK: u32 = 4;

#[derive(Clone, Debug, Default)]
pub(super) struct Drafts {
    /// Mark of the tool and of what it wrote to; 0 for nothing.
    thing: u32,
    /// Present once it has written there again.
    latest: Option<Box<Latest>>,
}
codec!(struct Drafts { thing, latest });

#[derive(Clone, Debug, Default)]
struct Latest {
    /// The words of the last draft, and of the one before.
    last: Words,
    before: Words,
    /// Drafts in a row that came back.
    back: Streak,
}
codec!(struct Latest { last, before, back });

impl Latest {
    const fn points(&self) -> u32 {
        self.back.times.saturating_mul(BACK)
    }
}

impl Drafts {
    /// A text is about to be written; the signal, if drafts of it have come back often enough.
    pub(super) fn writes(&mut self, call: &Call, payload: &Payload<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let texts = payload.args.as_ref()?.as_object()?.values().filter_map(|value| value.as_str());
        let text = texts.max_by_key(|text| text.len())?;
        let thing = mark(combine("stagnation/draft", &[call.tool, call.target.unwrap_or(0)]));
        if self.thing != thing {
            *self = Self { thing, latest: None };
            return None;
        }
        let (words, _) = Words::shown(text);
        if words.is_empty() {
            return None;
        }
        let latest = self.latest.get_or_insert_default();
        let (last, before) = (&latest.last, &latest.before);
        let other = words.alike(before) && !words.akin(last) || words.nearly(before) && !words.nearly(last);
        let back = other && !before.is_empty();
        if !back && words.nearly(last) {
            latest.last = words;
            return None;
        }
        latest.before = core::mem::replace(&mut latest.last, words);
        if !back {
            latest.back = Streak::default();
            return None;
        }
        latest.back.add(cx.here, call.onset);
        if !cx.limits.reached(latest.points(), 1) {
            return None;
        }
        let times = latest.back.times;
        let found = Stuck {
            kind: "undone-change",
            name: "draft",
            what: combine("stagnation/drafts", &[thing.into()]),
            points: latest.points(),
            message: format!(
                "{times} times in a row, what was written was the draft before last in nearly the same words"
            ),
            instead: INSTEAD,
            halt_reason: HaltReason::Oscillating,
        };
        Some(found.signal(&latest.back, cx))
    }

    pub(super) fn points(&self) -> u32 {
        self.latest.as_ref().map_or(0, |latest| latest.points())
    }

    pub(super) fn fits(&self) -> bool {
        self.latest.as_ref().is_none_or(|latest| latest.last.fits() && latest.before.fits())
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Nudge;
    use crate::rules::testing::{Played, events, step};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stagnation";
    const WARM: &str = "come aboard and let the wind carry you past lighthouses and seals to the bright village";
    const SOBER: &str = "sailings at nine and three from april on, return fare four crowns, dogs travel without charge";

    /// Drafts written to a file each, with a look at it after each.
    fn play(drafts: &[(&str, String)]) -> Played {
        let steps = drafts.iter().flat_map(|(path, text)| {
            let args = format!(r#"{{"path":"{path}","content":"{text}"}}"#);
            let written = step("ann", "write_file", &args, "written");
            let read = step("ann", "read_file", &format!(r#"{{"path":"{path}"}}"#), text);
            written.into_iter().chain(read)
        });
        let lines: Vec<String> = steps.collect();
        events("{}", &lines)
    }

    fn drafts(order: &str) -> Vec<(&'static str, String)> {
        let verbs = ["today", "gladly", "again", "soon", "now", "always", "surely", "freely", "together", "early"];
        let draft = |(at, kind): (usize, char)| {
            let own = verbs[at % verbs.len()];
            match kind {
                'w' => ("ferry.md", format!("{WARM} {own}")),
                's' => ("ferry.md", format!("{SOBER} {own}")),
                'o' => ("fares.md", format!("{SOBER} {own}")),
                // Another text each time.
                _ => (
                    "ferry.md",
                    verbs
                        .iter()
                        .map(|verb| format!("{verb}{} ", ["a", "b", "c", "d", "e", "f", "g", "h", "i", "k"][at]))
                        .collect(),
                ),
            }
        };
        order.chars().enumerate().map(draft).collect()
    }

    #[test]
    fn drafts_by_turns() {
        play(&drafts("wswswsws")).strongest(RULE, Nudge);
        // Taken back once or twice, revised, two files in turn, a new text each time.
        for order in ["wsws", "wwwwwwww", "wowowowo", "nnnnnnnn", "wswnswsn"] {
            play(&drafts(order)).expect(RULE, &[]);
        }
    }
}
