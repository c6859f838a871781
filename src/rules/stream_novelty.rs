//! Catches: text that goes round in circles without repeating itself exactly: the same thoughts over and over in
//! slightly other words; a few sentences by turns; the same rows of a list or table under ever new numbers.
//! Must not catch: lists with a common beginning, tables, markup and code (their words count a quarter), long reports,
//! counting, text that names something new in the same frame (songs, notes on each member of a class), rows with other
//! figures.
//! Idea: what separates a drifting loop from honest text is how many of its word triples are new, and whether it names
//! anything new; for rows, whether all of them were there before, including those since the first repeated one.

use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::capped_confidence;
use crate::rules::streams::{Listener, Streams, WHOLE, channel_words};
use crate::rules::{Cx, Extra, Fact, Facts, Limits, Rule, Signal, SignalParts};
use crate::state::Sighting;
use crate::text::{BLOCK_WORDS, Key, Novelty, combine, key};
use alloc::{format, vec};

pub(crate) struct StreamNovelty;

impl Listener for Novelty {
    fn digest(&self) -> Key {
        Self::digest(self)
    }

    fn fits(&self) -> bool {
        Self::fits(self)
    }
}

impl Rule for StreamNovelty {
    const ID: &'static str = "stream-novelty";
    const ABOUT: &'static str = "Text that goes round in circles in slightly different words or with different numbers, judged while it streams.";
    const UNIT: &'static str = "blocks of 64 words in a row (up to five for one that says nothing); or groups of words in recurring lines and sentences";
    const LIMITS: Limits = Limits::ladder(10, 20, 40, 0);
    const OF_TEXT: bool = true;
    const SEES: Facts = Streams::<Novelty>::SEES;
    type State = Streams<Novelty>;

    #[inline]
    fn heeds(state: &Self::State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        state.heeds(fact)
    }

    fn observe(state: &mut Self::State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let heard = state.hear(fact, cx, WHOLE, |novelty, text| {
            Some(novelty.feed(text)).filter(|drift| cx.limits.reached(drift.points))
        })?;
        let drift = heard.what;
        let channel = channel_words(heard.channel);
        // No two texts drift alike, so a loop is identified by where in its task it began.
        let began = key("stream", &heard.onset.events.to_le_bytes());
        let identity = combine("stream-novelty", &[began, heard.agent, key("channel", channel.as_bytes())]);
        let (kind, message) = if drift.rows > 0 {
            let rows = drift.rows;
            (
                "known-rows",
                format!("The last {rows} lines of the {channel} had all been in it before, apart from their numbers"),
            )
        } else {
            let words = drift.blocks.saturating_mul(BLOCK_WORDS);
            (
                "few-new-words",
                format!("The last {words} words of the {channel} say little that had not been said in it before"),
            )
        };
        let told = SignalParts {
            kind,
            identity,
            count: drift.points,
            confidence: capped_confidence((700, 5, 40), drift.points),
            signature: cx.named(channel, '%', began),
            message,
            instead: if drift.rows > 0 {
                "End the list, and say how many different entries there are."
            } else {
                "Write down in one sentence what is decided and what is open, and act on the first open point."
            },
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::Stalled,
        };
        Some(Signal {
            extra: Extra { onset_offset: Some(drift.offset), ..Extra::default() },
            ..told.signal(heard.onset, vec![Sighting { key: began, ..cx.here }])
        })
    }

    fn standing(state: &Self::State) -> u32 {
        state.listeners().map(|novelty| novelty.drift().points).max().unwrap_or(0)
    }

    fn fits(state: &Self::State) -> bool {
        state.fits()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge, Observe};
    use crate::rules::testing::{delta, events, says};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stream-novelty";

    /// Twenty words, a few of them new each time.
    fn musing(n: usize) -> String {
        format!(
            "So the writer must flush {n} times, then the writer must flush again, and x{} the writer must flush. ",
            n * 37 % 101
        )
    }

    fn musings(count: usize) -> String {
        (0..count).map(musing).collect()
    }

    #[test]
    fn every_rung_is_reached() {
        let text = musings(200);
        let played = events("{}", text.split_inclusive(' ').map(delta));
        let levels: Vec<_> = played.findings(RULE).iter().map(|finding| (finding.count, finding.level)).collect();
        assert_eq!(levels[..2], [(10, Nudge), (10, Observe)]);
        for (count, level) in [(20, Block), (40, Halt)] {
            // A block that counts twice may step over the threshold.
            let (first, _) = levels.iter().find(|(_, given)| *given == level).unwrap();
            assert!((count..=count + 1).contains(first), "{first}");
        }
    }

    #[test]
    fn where_it_began() {
        let before: String = (0..300).map(|n| format!("{} ", n * 7919)).collect();
        let text = format!("{before}{}", musings(60));
        let played = events("{}", [says(&text)]);
        let offset = played.findings(RULE)[0].onset_offset.unwrap() as usize;
        // Accurate to the block in which it began, and one more that is still new.
        assert!((before.len()..before.len() + 128 * 8 * 2).contains(&offset), "{offset} after {}", before.len());
    }

    #[test]
    fn honest_text() {
        let prefix = "- projects/my-google-cloud-project-12345/locations/us-central1/services/svc-";
        events("{}", [says(&(0..60).map(|n| format!("{prefix}{}\n", n * 7)).collect::<String>())]).expect(RULE, &[]);
        events("{}", [says(&(0..3000).map(|n| format!("{n}\n")).collect::<String>())]).expect(RULE, &[]);
        events("{}", [says(&musings(30))]).expect(RULE, &[]);
        let row = |n| format!("| svc-{n} | running | 0 restarts | 2 of 2 ready | node pool a |\n");
        events("{}", [says(&(0..80).map(row).collect::<String>())]).expect(RULE, &[]);
        let entry =
            |n| format!("<url><loc>https://harbour.example/berth/{n}</loc><changefreq>weekly</changefreq></url>\n");
        events("{}", [says(&(0..120).map(entry).collect::<String>())]).expect(RULE, &[]);
    }

    #[test]
    fn a_turn_ends_the_stream() {
        let call = || r#"{"type":"tool-call","tool":"read"}"#.into();
        let part = musings(30);
        events("{}", [delta(&part), call(), delta(&part), call(), delta(&part)]).expect(RULE, &[]);
        events("{}", [delta(&part), delta(&part)]).strongest(RULE, Block);
    }

    #[test]
    fn a_message_that_was_streamed_is_not_another_loop() {
        let text = musings(60);
        events("{}", [delta(&text), says(&text)]).expect(RULE, &[(0, Nudge), (1, Observe)]);
    }
}
