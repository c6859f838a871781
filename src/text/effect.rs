//! What an action changed, according to its result: the address and the figures that recur in every result of the tool.
//!
//! A page reports its address and scroll position, a shop the number of items in the cart, a deployment how many
//! replicas are ready. The effect of the action is whether those moved; the text around them is other people's. Which
//! figures are the state is not known beforehand, so figures are compared if they follow the same word in both results.

use super::ends::head;
use super::frame::frame;
use super::words::{begins_address, find, hashed as hash, hashed_word};
use crate::codec::codec;
use alloc::{string::String, vec::Vec};

/// Figures kept per result, at most.
pub(crate) const FIGURES: usize = 12;
/// Bytes at the beginning of a result that are searched for its state.
const HEAD: usize = 2500;
/// Lines searched, not counting blank ones.
const LINES: usize = 10;
/// Leading lines whose figures are the state, in addition to the line with the address.
const FIGURED: usize = 3;
/// Length in bytes up to which all lines of a result count.
const SHORT: usize = 400;
/// Bytes by which a result without an address must grow to show more of a list.
const MORE: u32 = 40;
/// It must also grow by one part in so many of its former length.
const GROWS: u32 = 10;
/// Bytes read of a line.
const LINE: usize = 800;
/// Characters kept of the first sentence, which tells what was done.
const ACT: usize = 200;
/// Lines from which a result counts as a view.
const VIEW: usize = 8;
/// Bytes of a view that are compared.
const VIEWED: usize = 8 * 1024;
/// Minimum number of the eight groups of [`State::lines`] that two looks at the same view share.
const SHARED: u32 = 6;
/// Consecutive hexadecimal digits from which a run of them names a session.
const SESSION: usize = 12;

/// The state after an action, according to its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Hash of the first address, and of the first heading of a page's view; 0 without an address.
    pub(crate) place: u32,
    /// Hash of the first sentence.
    pub(crate) act: u32,
    /// Hashes of a word and of the figure that follows it, in order.
    figures: Vec<(u32, u32)>,
    /// Length of the result in bytes.
    length: u32,
    /// MinHash of its lines: the smallest hash byte of each of eight groups; 0 without an address or for fewer than
    /// [`VIEW`] lines.
    lines: u64,
}
codec!(struct State { place, act, figures, length, lines });

/// How the state compares with that after an earlier action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// The results have too little in common to tell.
    Unknown,
    /// Another address, another figure or a longer list.
    Yes,
    /// Address and figures are unchanged.
    No,
}

impl State {
    /// Reads the state from a result.
    pub(crate) fn of(output: &str) -> Self {
        let length = u32::try_from(output.len()).unwrap_or(u32::MAX);
        let figured = if output.len() > SHORT { FIGURED } else { LINES };
        let whole = output;
        let output = head(output, HEAD);
        let lines = output.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES);
        let mut state = Self { length, ..Self::default() };
        let mut told = false;
        for (index, line) in lines.enumerate() {
            let line = head(line, LINE);
            if !told && !introduces(line) {
                told = true;
                // Structured data has no sentence that tells what was done.
                let data = line.starts_with(['{', '[']);
                let sentence = if data { "" } else { line.split_once(". ").map_or(line, |(first, _)| first) };
                state.act = hash(sentence.chars().take(ACT).filter(|char| !char.is_whitespace()));
            }
            let before = state.place;
            state.read(line, index < figured);
            if index >= figured && before == 0 && state.place != 0 {
                state.read(line, true);
            }
            if index >= figured && state.place != 0 {
                break;
            }
        }
        // Compared only between results with the same address.
        if state.place != 0 {
            state.place = (state.place ^ headed(output)) | 1;
            state.lines = min_hash(whole);
        }
        state
    }

    fn read(&mut self, line: &str, figures: bool) {
        if !figures && (self.place != 0 || !line.contains("://")) {
            return;
        }
        let mut rest = line;
        // The previous word, and the three before it.
        let (mut word, mut before) = (None, [""; 3]);
        while let Some(start) = find(rest, |char| char.is_alphanumeric() || matches!(char, '\'' | '[')) {
            let Some((_, tail)) = rest.split_at_checked(start) else { return };
            if let Some(end) = quoted(tail) {
                // A title is the name of a place, not its address.
                rest = tail.get(end..).unwrap_or_default();
                continue;
            }
            let address = begins_address(tail);
            let end = if address {
                find(tail, |char| char.is_whitespace() || matches!(char, ')' | ']' | '>' | '"' | '\'' | '#'))
            } else {
                find(tail, |char| !(char.is_alphanumeric() || char == '.' || char == '_'))
            };
            let end = end.unwrap_or(tail.len()).max(tail.chars().next().map_or(1, char::len_utf8));
            let Some((token, after)) = tail.split_at_checked(end) else { return };
            rest = if address {
                after.trim_start_matches(|char: char| !char.is_whitespace() && char != ')' && char != '"')
            } else {
                after
            };
            if address {
                if self.place == 0 {
                    self.place = without_sessions(token) | 1;
                }
                continue;
            }
            let token = token.trim_end_matches('.');
            if token.starts_with(|char: char| char.is_ascii_digit()) {
                // A leading HTTP status tells how the request went, not the state.
                let status = word.is_none() && matches!(token.as_bytes(), [b'2'..=b'5', b'0'..=b'9', b'0'..=b'9']);
                if figures && !status {
                    self.figure(word.unwrap_or_default(), token);
                }
            } else {
                // `at the top` is a position too, where other results tell how far down they are.
                if figures && matches!((before, word), ([.., "at"], Some("the"))) && matches!(token, "bottom" | "top") {
                    self.figure(before[1], token);
                }
                before = [before[1], before[2], word.unwrap_or_default()];
                word = Some(token);
            }
        }
    }

    /// Adds a figure and the word before it.
    fn figure(&mut self, word: &str, figure: &str) {
        if self.figures.len() < FIGURES {
            self.figures.push((hashed_word(word, usize::MAX), hash(figure.chars())));
        }
    }

    /// Whether the state moved since an earlier result of the same tool.
    pub(crate) fn moved(&self, before: &Self) -> Moved {
        if self.place != before.place {
            return if self.place == 0 || before.place == 0 { Moved::Unknown } else { Moved::Yes };
        }
        let more = self.length.saturating_sub(before.length);
        if self.place == 0 && more >= MORE && more >= before.length / GROWS {
            return Moved::Yes;
        }
        let (mut shared, mut taken) = (0, 0_u32);
        for (word, figure) in &self.figures {
            let mut left = before.figures.iter().enumerate().filter(|(at, _)| taken >> at & 1 == 0);
            let Some((at, (_, known))) = left.find(|(_, (known, _))| known == word) else { continue };
            taken |= 1 << at;
            if known != figure {
                return Moved::Yes;
            }
            shared += 1;
        }
        // A page that was scrolled has the same address, and other lines.
        if self.place != 0 && shared == 0 && self.shows_more(before) {
            return Moved::Yes;
        }
        // Without shared figures there is no state; one shared among many that are not is a coincidence.
        let fewer = self.figures.len().min(before.figures.len());
        if self.place != 0 || shared * 2 > fewer { Moved::No } else { Moved::Unknown }
    }

    /// Whether both results are views and many lines of one are not in the other.
    fn shows_more(&self, before: &Self) -> bool {
        let shared = self.lines.to_le_bytes().iter().zip(before.lines.to_le_bytes()).filter(|&(&a, b)| a == b).count();
        self.lines != 0 && before.lines != 0 && u32::try_from(shared).unwrap_or(0) < SHARED
    }

    pub(crate) fn fits(&self) -> bool {
        self.figures.len() <= FIGURES
    }
}

/// How the view of a page names a heading.
const HEADING: &str = "heading \"";

/// Hash of the first heading in the view of a page; 0 for none. A calendar has the same address whatever it shows.
fn headed(view: &str) -> u32 {
    let heading = view.split_once(HEADING).and_then(|(_, rest)| rest.split('"').next());
    heading.map_or(0, |heading| hash(heading.chars()))
}

/// Whether a line only introduces what follows and names no action: a Markdown heading or a code fence.
fn introduces(line: &str) -> bool {
    line.starts_with("```") || line.starts_with('#') && line.trim_start_matches('#').starts_with(' ')
}

/// [`State::lines`] of a result. Numbers are ignored, because scrolling renumbers the elements of a page.
fn min_hash(output: &str) -> u64 {
    let mut groups = [u8::MAX; 8];
    let mut count = 0;
    for line in head(output, VIEWED).lines().map(str::trim).filter(|line| !line.is_empty()) {
        count += 1;
        let [group, byte, ..] = frame(line).wrapping_mul(0x9e37_79b1).to_be_bytes();
        if let Some(least) = groups.get_mut(usize::from(group & 7)) {
            *least = byte.min(*least);
        }
    }
    if count < VIEW { 0 } else { u64::from_le_bytes(groups) }
}

/// Length in bytes of the quotation or bracketed title that a text begins with; 1 if it is not closed.
fn quoted(text: &str) -> Option<usize> {
    let close = match text.chars().next()? {
        '\'' => '\'',
        '[' => ']',
        _ => return None,
    };
    Some(text.char_indices().skip(1).find(|(_, char)| *char == close).map_or(1, |(at, _)| at + 1))
}

/// Hash of an address without session ids.
fn without_sessions(address: &str) -> u32 {
    let mut kept = String::with_capacity(address.len());
    for run in address.split_inclusive(|char: char| !char.is_ascii_hexdigit()) {
        let digits = run.trim_end_matches(|char: char| !char.is_ascii_hexdigit());
        let is_session = digits.len() >= SESSION;
        kept.push_str(if is_session { "#" } else { digits });
        kept.push_str(run.get(digits.len()..).unwrap_or_default());
    }
    hash(kept.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(later: &str, before: &str) -> Moved {
        State::of(later).moved(&State::of(before))
    }

    #[test]
    fn what_moves() {
        let page = |n: u32, text: &str| alloc::format!("Address: https://a.example/b\nShowing page {n} of 9.\n{text}");
        assert_eq!(moved(&page(2, "x"), &page(1, "x")), Moved::Yes);
        assert_eq!(moved(&page(2, "an advert of 7 kayaks"), &page(2, "x")), Moved::No);
        let other = page(2, "x").replace("example/b", "example/c");
        assert_eq!(moved(&other, &page(2, "x")), Moved::Yes);
        let cart = |n: u32, text: &str| alloc::format!("Clicked #add. Cart: {n} items. Today: {text}");
        assert_eq!(moved(&cart(0, "Malta from 39"), &cart(0, "kayaks")), Moved::No);
        assert_eq!(moved(&cart(1, "kayaks"), &cart(0, "kayaks")), Moved::Yes);
        let json = |y: u32, notice: &str| {
            alloc::format!(r#"{{"url":"https://a.example/b","scrollY":{y},"notice":"{notice}"}}"#)
        };
        assert_eq!(moved(&json(0, "from 39"), &json(0, "new")), Moved::No);
        assert_eq!(moved(&json(600, "new"), &json(0, "new")), Moved::Yes);
        let stands =
            |at: &str| alloc::format!("See [it](https://a.example/b). It shows 9% and is positioned {at} of the page.");
        let [top, down] = ["at the top", "8% down from the top"].map(stands);
        assert_eq!(moved(&down, &top), Moved::Yes);
        assert_eq!(moved(&stands("at the bottom"), &top), Moved::Yes);
        assert_eq!(moved(&top, &top), Moved::No);
        assert_eq!(moved(&down, &down), Moved::No);
    }

    #[test]
    fn a_page_that_is_scrolled() {
        let names = ["ash", "birch", "cedar", "elm", "fir", "holly", "larch", "oak", "pine", "rowan", "willow", "yew"];
        let page = |from: usize, advert: &str| {
            let rows: alloc::vec::Vec<_> =
                (from..from + 6).map(|n| alloc::format!("[{n}] {}", names[n % 12])).collect();
            alloc::format!("Scrolled.\nAddress: https://a.example/b\nTabs:\n{advert}\n{}\nend", rows.join("\n"))
        };
        assert_eq!(moved(&page(6, "kayaks"), &page(0, "kayaks")), Moved::Yes);
        assert_eq!(moved(&page(0, "bees"), &page(0, "kayaks")), Moved::No);
        assert_eq!(moved(&page(0, "kayaks").replace("[0] ", "[9] "), &page(0, "kayaks")), Moved::No);
    }

    #[test]
    fn what_was_done_stands_below_headings() {
        let ran = |what: &str| alloc::format!("### Code\n```js\n// Click {what}\n```\n- URL: https://a.example/b");
        assert_ne!(State::of(&ran("Friday")).act, State::of(&ran("Saturday")).act);
        assert_eq!(State::of(&ran("Friday")).act, State::of("// Click Friday. And more").act);
    }

    #[test]
    fn what_tells_no_state() {
        assert_eq!(moved("It was built in 1931.", "Nobody knows."), Moved::Unknown);
        assert_eq!(moved("", ""), Moved::Unknown);
        assert_eq!(moved("see https://a.example", "nothing"), Moved::Unknown);
    }

    #[test]
    fn sessions_and_titles() {
        let page = |id: &str, title: &str| {
            alloc::format!("Opened [{title}](https://a.example/{id}/b). It shows 10% of the page.")
        };
        assert_eq!(moved(&page("0123456789abcdef", "Top 5"), &page("fedcba9876543210", "Top 9")), Moved::No);
        assert_eq!(State::of(&page("a", "x")).act, State::of(&page("a", "x")).act);
    }

    proptest::proptest! {
        #[test]
        fn any_output(one in "\\PC{0,120}|[a-f0-9:/.'\\[\\] \n]{0,200}") {
            let state = State::of(&one);
            proptest::prop_assert!(state.fits());
            proptest::prop_assert!(state.moved(&state) != Moved::Yes);
        }
    }
}
