//! Catches: text that repeats itself exactly, with a period of 1 to 1,024 characters (3,072 in ASCII): while it
//! streams, and in whole messages.
//! Must not catch: code, tables and rulers, which repeat by nature (they count a quarter); a line said three times;
//! lists with a common beginning; short runs in scripts without blanks.
//! Idea: an exact period has no honest look-alikes once there is enough of it, so it can be judged while the text is
//! still streaming; how much is enough was measured on long honest messages.

use crate::model::{Conventions, HaltReason, Level, Recommendation};
use crate::rules::streak::capped_confidence;
use crate::rules::streams::{Listener, Streams, WHOLE, channel_words};
use crate::rules::{Cx, Extra, Fact, Facts, Limits, Outlook, Rule, Signal, SignalParts, View, rungs};
use crate::state::Sighting;
use crate::text::{Key, Periods, Repetition, combine};
use alloc::{format, vec};

/// Characters from which a repeated unit counts as long.
const LONG: u32 = 100;

pub(crate) struct StreamPeriod;

impl Listener for Periods {
    fn digest(&self) -> Key {
        Self::digest(self)
    }

    fn fits(&self) -> bool {
        Self::fits(self)
    }
}

/// Copies of a unit of `period` characters that a rung requires in addition to its threshold in characters; long units
/// need fewer.
fn copies(rung: Level, period: u32) -> u32 {
    match (rung, period < LONG) {
        (Level::Nudge, true) => 6,
        (Level::Nudge, false) => 4,
        (Level::Block | Level::Gate, true) => 10,
        (Level::Block | Level::Gate, false) => 5,
        (_, true) => 16,
        (_, false) => 8,
    }
}

/// Thresholds for a unit of `period` characters: at least what the required copies cover.
fn limits_of(period: u32, limits: &Limits, conventions: &Conventions) -> Limits {
    let of = |rung: Level, threshold: u32| {
        let copies = if conventions.stream_copies == 0 { copies(rung, period) } else { conventions.stream_copies };
        if threshold == 0 { 0 } else { threshold.max(copies.saturating_mul(period)) }
    };
    Limits {
        nudge: of(Level::Nudge, limits.nudge),
        block: of(Level::Block, limits.block),
        gate: of(Level::Gate, limits.gate),
        halt: of(Level::Halt, limits.halt),
        ..*limits
    }
}

/// Whether a unit of `period` characters is longer than the configuration counts.
const fn is_too_long(period: u32, conventions: &Conventions) -> bool {
    conventions.stream_passage != 0 && period > conventions.stream_passage
}

/// The characters covered, capped below every rung that requires more copies.
fn weigh(found: &Repetition, limits: &Limits, conventions: &Conventions) -> u32 {
    if is_too_long(found.period, conventions) {
        return 0;
    }
    let asked = rungs(&limits_of(found.period, limits, conventions));
    let lacking = rungs(limits).into_iter().zip(asked).filter(|(_, (_, asked))| found.covered < *asked);
    lacking.map(|((_, threshold), _)| threshold.saturating_sub(1)).fold(found.covered, u32::min)
}

/// Covered characters from which any rung can be reached; [`u32::MAX`] if all are off.
fn floor(limits: &Limits) -> u32 {
    // A rung that is off, 0, wraps to the largest number.
    rungs(limits)
        .into_iter()
        .fold(u32::MAX, |least, (_, threshold)| least.min(threshold.wrapping_sub(1)))
        .saturating_add(1)
}

impl Rule for StreamPeriod {
    const ID: &'static str = "stream-period";
    const ABOUT: &'static str = "Text that repeats itself exactly, judged while it streams.";
    const UNIT: &'static str = "characters";
    const LIMITS: Limits = Limits::ladder(480, 960, 2000, 0);
    const OF_TEXT: bool = true;
    const SEES: Facts = Streams::<Periods>::SEES;
    type State = Streams<Periods>;

    #[inline]
    fn heeds(state: &Self::State, fact: &Fact<'_>, _: &Cx<'_>) -> bool {
        state.heeds(fact)
    }

    fn observe(state: &mut Self::State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let floor = floor(cx.limits);
        let whole = usize::try_from(floor).map_or(WHOLE, |floor| floor.min(WHOLE));
        let heard = state.hear(fact, cx, whole, |periods, text| {
            let mut strongest: Option<(u32, Repetition)> = None;
            periods.feed(text, floor, |found| {
                let count = weigh(&found, cx.limits, &cx.config.conventions);
                // At equal evidence, the earlier onset wins.
                if strongest.is_none_or(|(most, known)| (count, known.offset) > (most, found.offset)) {
                    strongest = Some((count, found));
                }
            });
            let over = cx.config.conventions.stream_tail && periods.covered() == 0;
            strongest.filter(|(count, _)| !over && cx.limits.reached(*count))
        })?;
        let (count, found) = heard.what;
        let copies = found.covered / found.period.max(1);
        let channel = channel_words(heard.channel);
        let numbers = if found.numbered { " apart from the numbers of its lines" } else { "" };
        let message = format!(
            "The {channel} repeats a passage of {} characters word for word{numbers}, {copies} times",
            found.period
        );
        let unit = found.unit ^ cx.salt;
        Some(Signal {
            period: Some(found.period),
            extra: Extra { onset_offset: Some(found.offset), ..Extra::default() },
            ..SignalParts {
                kind: "exact-period",
                identity: combine("stream-period", &[found.unit, heard.agent]),
                count,
                confidence: capped_confidence((800, 10, 19), copies),
                signature: cx.named(channel, '~', unit),
                message,
                instead: "Cut the text where it starts to repeat, and go on with something new.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Stalled,
            }
            .signal(heard.onset, vec![Sighting { key: unit, ..cx.here }])
        })
    }

    fn outlook(state: &Self::State, view: &View<'_>) -> Outlook {
        let conventions = &view.config.conventions;
        let going_on = state.listeners().flat_map(Periods::going_on);
        let counts = going_on.filter(|(period, _)| !is_too_long(*period, conventions));
        Outlook::of_all(
            counts.map(|(period, covered)| view.with(&limits_of(period, view.limits, conventions), covered)),
        )
    }

    fn fits(state: &Self::State) -> bool {
        state.fits()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge, Observe};
    use crate::rules::testing::{Played, delta, events, says};
    use alloc::{format, string::String, vec::Vec};

    const RULE: &str = "stream-period";

    /// The text, streamed in pieces of `size` characters.
    fn streamed(text: &str, size: usize) -> Played {
        let characters: Vec<char> = text.chars().collect();
        events("{}", characters.chunks(size).map(|piece| delta(&piece.iter().collect::<String>())))
    }

    fn whole(text: &str) -> Played {
        events("{}", [says(text)])
    }

    /// Honest text without any repetition, of `words` words.
    fn prose(words: usize, seed: usize) -> String {
        (0..words).map(|n| format!("w{} ", (n + 1) * 7919 + seed * 104_729)).collect()
    }

    /// A unit of exactly `length` characters that has no shorter period.
    fn unit(length: usize) -> String {
        prose(length, length).chars().take(length - 1).chain(['\n']).collect()
    }

    #[test]
    fn every_rung_is_reached_at_its_characters_and_copies() {
        // Length of the unit, and how many copies reach nudge, block and halt.
        let table = [
            (1, 480, 960, 2000),
            (11, 44, 88, 182),
            (80, 6, 12, 25),
            (99, 6, 10, 21),
            (100, 5, 10, 20),
            (120, 4, 8, 17),
            (200, 4, 5, 10),
            (300, 4, 5, 8),
            (1000, 4, 5, 8),
            (1024, 4, 5, 8),
        ];
        for (length, nudge, block, halt) in table {
            let unit = unit(length);
            for (copies, level) in [(nudge, Nudge), (block, Block), (halt, Halt)] {
                let text = format!("{}{}", prose(30, 1), unit.repeat(copies));
                whole(&text).last(RULE, level);
                let fewer = format!("{}{}", prose(30, 1), unit.repeat(copies - 1));
                let before = whole(&fewer).findings(RULE).first().map(|finding| finding.level);
                assert!(before < Some(level), "{length} characters, {copies} copies");
            }
        }
        whole(&unit(3100).repeat(8)).expect(RULE, &[]);
    }

    #[test]
    fn copies_and_length_of_a_passage_can_be_set() {
        let config = r#"{"conventions":{"streamCopies":10,"streamPassage":250},"rules":{"stream-period":{"nudge":340,"block":0,"halt":0}}}"#;
        for (length, copies, level) in [(50, 9, None), (50, 10, Some(Nudge)), (250, 10, Some(Nudge)), (251, 10, None)] {
            let played = events(config, [says(&unit(length).repeat(copies))]);
            assert_eq!(played.findings(RULE).first().map(|finding| finding.level), level, "{length} x {copies}");
        }
    }

    #[test]
    fn what_is_over_need_not_be_found() {
        let (looping, recovered) = ("I am done. ".repeat(60), format!("{}{}", "I am done. ".repeat(60), prose(40, 3)));
        let tail = r#"{"conventions":{"streamTail":true}}"#;
        events(tail, [says(&looping)]).last(RULE, Nudge);
        events(tail, [says(&recovered)]).expect(RULE, &[]);
        events("{}", [says(&recovered)]).last(RULE, Nudge);
    }

    #[test]
    fn a_message_as_short_as_the_lowest_rung_is_listened_to() {
        let low = r#"{"rules":{"stream-period":{"nudge":120}}}"#;
        events(low, [says(&"I am done. ".repeat(11))]).last(RULE, Nudge);
        events("{}", [says(&"I am done. ".repeat(11))]).expect(RULE, &[]);
    }

    #[test]
    fn the_ladder_follows_the_stream() {
        let played = streamed(&"I am done. ".repeat(200), 10);
        let levels: Vec<_> = played.findings(RULE).iter().map(|finding| finding.level).collect();
        assert_eq!((levels[0], levels[1]), (Nudge, Observe));
        let first = |level| levels.iter().position(|given| *given == level);
        assert!(first(Block) < first(Halt) && first(Halt).is_some());
        assert_eq!(played.findings(RULE).len(), 220 - 47, "from the 48th piece on");
    }

    #[test]
    fn the_onset_is_where_the_second_copy_begins() {
        for (before, unit) in [("Well then:", "the same words again, "), ("好的，", "请稍等，我正在处理。"), ("", "x")]
        {
            for size in [1, 7, 400] {
                let played = streamed(&format!("{before}{}", unit.repeat(600)), size);
                let finding = *played.findings(RULE).last().unwrap();
                let (before, period) = (before.chars().count() as u64, unit.chars().count() as u64);
                assert_eq!((finding.onset_seq, finding.onset_offset), (0, Some(before + period)), "{unit}");
                assert_eq!(finding.period, Some(period as u32));
            }
        }
    }

    #[test]
    fn inner_repeats_of_a_long_unit() {
        let unit = format!("{}{}\n{}{}\n", "-".repeat(60), prose(8, 1), "-".repeat(60), prose(9, 2));
        whole(&unit.repeat(4)).last(RULE, Nudge);
        let unit = format!("{}{}", "go on, ".repeat(40), prose(12, 3));
        whole(&unit.repeat(6)).last(RULE, Block);
    }

    #[test]
    fn scripts_without_blanks() {
        whole(&"✅完了しました".repeat(150)).last(RULE, Block);
        whole(&"👩‍👩‍👧‍👦".repeat(69)).last(RULE, Nudge);
        // A reduplication, a refrain, a chant: ordinary in every language.
        whole(&format!("{}{}{}", "哈".repeat(60), prose(80, 4), "谢谢".repeat(40))).expect(RULE, &[]);
    }

    #[test]
    fn blocks_count_a_quarter() {
        let line = "import os\n";
        whole(&format!("```python\n{}", line.repeat(60))).expect(RULE, &[]);
        whole(&format!("```python\n{}", line.repeat(200))).last(RULE, Nudge);
        whole(&format!("```python\n{}", line.repeat(900))).last(RULE, Halt);
        whole(&format!("```python\nx = 1\n```\n{}", line.repeat(60))).last(RULE, Nudge);
        whole(&format!("```\n```python\n{}", line.repeat(60))).expect(RULE, &[]);
        let row = "| 0 | 0 | 0 | 0 |\n";
        whole(&row.repeat(60)).expect(RULE, &[]);
        whole(&row.repeat(120)).last(RULE, Nudge);
        for ruler in ["-", "=", "─", "- ", "·"] {
            whole(&ruler.repeat(1200 / ruler.chars().count())).expect(RULE, &[]);
            whole(&ruler.repeat(2000)).strongest(RULE, if ruler == "- " { Block } else { Nudge });
        }
        whole(&"!".repeat(600)).last(RULE, Nudge);
    }

    #[test]
    fn honest_text() {
        whole(&prose(4000, 5)).expect(RULE, &[]);
        let prefix = "- projects/my-project-12345/locations/us-central1/services/svc-";
        whole(&(0..90).map(|n| format!("{prefix}{}\n", n * 7)).collect::<String>()).expect(RULE, &[]);
        whole(&(0..900).map(|n| format!("{n}\n")).collect::<String>()).expect(RULE, &[]);
        whole(&format!("{}\n", prose(60, 6)).repeat(3)).expect(RULE, &[]);
    }

    #[test]
    fn a_turn_ends_the_stream() {
        let half = || (0..24).map(|_| delta("I am done. "));
        let between = |event: &str| events("{}", half().chain([event.into()]).chain(half()));
        between(r#"{"type":"delta","channel":"reasoning","text":"hm"}"#).strongest(RULE, Nudge);
        for event in [
            r#"{"type":"message","role":"assistant","text":"Done."}"#,
            r#"{"type":"message","role":"user","text":"go on"}"#,
            r#"{"type":"message","role":"user","text":"go on","synthetic":true}"#,
            r#"{"type":"tool-call","tool":"read","args":{"path":"a"}}"#,
            r#"{"type":"host","kind":"turn-start"}"#,
        ] {
            between(event).expect(RULE, &[]);
        }
        between(r#"{"type":"tool-call","tool":"read","agent":"other"}"#).strongest(RULE, Nudge);
    }

    #[test]
    fn a_message_that_was_streamed_is_not_another_loop() {
        let text = "I am done. ".repeat(60);
        let pieces = text.as_bytes().chunks(11).map(|piece| delta(core::str::from_utf8(piece).unwrap()));
        let played = events("{}", pieces.clone().chain([says(&text)]));
        played.strongest(RULE, Nudge);
        played.last(RULE, Observe);
        // Said once more, it is another one.
        events("{}", pieces.chain([says(&text), says(&text)])).last(RULE, Block);
    }

    #[test]
    fn the_host_made_it() {
        let synthetic = r#"{"type":"delta","synthetic":true,"text":"I am done. "}"#;
        events("{}", core::iter::repeat_n(synthetic, 200)).expect(RULE, &[]);
    }

    #[test]
    fn thresholds_are_the_users() {
        let early = r#"{"rules":{"stream-period":{"nudge":100,"block":200,"halt":0}}}"#;
        events(early, [says(&"so it goes ".repeat(50))]).last(RULE, Block);
        events(early, [delta(&"so it goes ".repeat(10))]).last(RULE, Nudge);
    }
}
