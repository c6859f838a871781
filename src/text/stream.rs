//! Text as it streams: exact repetition, found in O(1) per byte with bounded memory.
//!
//! Everything here is a function of the text alone and never of how it was cut into chunks. Text is compared as UTF-8
//! bytes, which repeat exactly where its characters do, and reported in characters (Unicode scalar values).
//!
//! How a period is found: a small table remembers where n-grams of 12 bytes were last seen. A gram seen again proposes
//! the distance as a period; comparing backwards tells how long it has already held, and from then on one comparison
//! per byte tells whether it still does. Repeats inside a long unit propose their own short distance, so there are two
//! trackers: one follows any proposal of up to 256 characters, the other first requires a match of 48 bytes and goes up
//! to 1,024 characters (both limits for a script of three bytes per character). A long unit made of very few different
//! characters may be recognised some copies late, and its onset is then reported late by as much.
//!
//! The digits directly at the beginning of a line are all treated as equal, because a list whose items repeat keeps
//! counting. So is the white space after a run longer than any layout has: a model that never ends its answer mixes
//! line ends and indentation.

use crate::codec::codec;
use crate::text::scan::each;
use crate::text::{Key, combine, key};
use alloc::vec::Vec;

/// Bytes of a gram.
const GRAM: usize = 12;
/// Bytes that must match before the long tracker follows a proposal.
const LONG_MATCH: usize = 48;
/// Bytes of a match that are enough for any distance.
const MOST_MATCH: usize = 192;
/// Longest periods in bytes: 256 and 1,024 characters of three bytes, more if characters are shorter.
const SHORT_PERIOD: usize = 768;
const LONG_PERIOD: usize = 3072;
/// Bytes kept for comparing backwards: the longest period and a little of the copy before it.
const WINDOW: usize = LONG_PERIOD + 256;
/// Bytes processed at once.
const CHUNK: usize = 512;
/// Slots of the gram table. Only every [`STRIDE`]th gram is entered, but every one is looked up: each period is still
/// proposed, and the table reaches as far back as one eight times its size.
const GRAMS: usize = 128;
const STRIDE: u64 = 8;
/// Bytes of all grams that begin in a stride.
const SPAN: usize = STRIDE as usize + GRAM - 1;
/// Bytes of backward comparison allowed per byte of text.
const CREDIT: u64 = 4;
/// Maximum number of leading digits of a line that are treated as equal.
const NUMBER: usize = 9;
/// White-space characters in a row after which further ones are treated as equal.
const BLANKS: usize = 64;
/// Divisor for characters in structured text, which are weaker evidence.
const STRUCTURED: u64 = 4;

/// The kind of a Markdown line, as far as its beginning has been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Line {
    #[default]
    Start,
    /// One or two fence characters.
    Marks(u8, u8),
    /// A closing fence, unless something follows.
    Closing(u8),
    Bullet,
    Number,
    Dot,
    List,
    Row,
    Text,
    /// It begins with a tag or a bracket.
    Markup,
    /// A comma; what follows tells whether it separates values. Behind text, a digit does not: `600,000`, `2,4 %`.
    Comma,
    Clause,
    /// Values separated by commas without blanks.
    Values,
    /// The start of a line below a line of values, and such a line as far as it may be another one: its first number,
    /// and the rest up to a comma.
    Below,
    Figure,
    Presumed,
}
codec!(enum Line {
    Start: 0, Marks(first, second): 1, Closing(first): 2, Bullet: 3, Number: 4, Dot: 5, List: 6, Row: 7, Text: 8, Markup: 9,
    Comma: 10, Values: 11, Below: 12, Figure: 13, Presumed: 14, Clause: 15,
});

/// The position in a Markdown text: in a fence, a table row, a list item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The character of the open fence; 0 outside.
    fence: u8,
    line: Line,
}
codec!(struct Layout { fence, line });

impl Layout {
    /// Advances by one byte; for a non-ASCII character any of its bytes will do.
    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) {
        if byte == b'\n' {
            if matches!(self.line, Line::Closing(_)) {
                self.fence = 0;
            }
            self.line = if self.line == Line::Values { Line::Below } else { Line::Start };
        } else if !self.is_settled() || byte == b',' && matches!(self.line, Line::Text | Line::Presumed) {
            self.head(byte);
        }
    }

    /// Whether only the end of the line can change it.
    #[inline]
    pub(crate) fn is_settled(self) -> bool {
        matches!(self.line, Line::Text | Line::Row | Line::List | Line::Markup | Line::Values | Line::Presumed)
    }

    /// Advances by many bytes; returns the number of characters, and how many of them are in blocks.
    fn advance(&mut self, bytes: &[u8]) -> (u64, u64) {
        if self.is_settled() && !bytes.contains(&b'\n') {
            let count = characters(bytes) as u64;
            return (count, if self.is_block() { count } else { 0 });
        }
        let (mut all, mut block) = (0, 0);
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            let count;
            if byte != b'\n' && self.is_settled() {
                // Nothing changes before the end of the line.
                let (line, after) = rest.split_at(line_length(rest).min(rest.len()));
                count = characters(line) as u64;
                rest = after;
            } else {
                self.byte(byte);
                count = u64::from(starts_character(byte));
                rest = after;
            }
            all += count;
            block += if self.is_block() { count } else { 0 };
        }
        (all, block)
    }

    fn head(&mut self, byte: u8) {
        let blank = matches!(byte, b' ' | b'\t' | b'\r');
        let below = self.line == Line::Below;
        let line = if below { Line::Start } else { self.line };
        self.line = match line {
            Line::Start if blank || byte == b'>' => Line::Start,
            Line::Start if self.fence != 0 => {
                if byte == self.fence {
                    Line::Marks(byte, 1)
                } else {
                    Line::Text
                }
            }
            Line::Start => match byte {
                b'`' | b'~' => Line::Marks(byte, 1),
                b'|' => Line::Row,
                b'<' | b'(' | b'[' | b'{' => Line::Markup,
                b'-' | b'*' | b'+' => Line::Bullet,
                b'0'..=b'9' => Line::Number,
                _ => Line::Text,
            },
            Line::Marks(mark, 1) if byte == mark => Line::Marks(mark, 2),
            Line::Marks(mark, _) if byte == mark && self.fence == 0 => {
                self.fence = mark;
                Line::Text
            }
            Line::Marks(mark, _) if byte == mark => Line::Closing(mark),
            Line::Closing(mark) if blank || byte == mark => Line::Closing(mark),
            Line::Number if byte.is_ascii_digit() => Line::Number,
            Line::Number if matches!(byte, b'.' | b')') => Line::Dot,
            Line::Bullet | Line::Dot if blank => Line::List,
            Line::Text if byte == b',' => Line::Clause,
            Line::Clause if byte.is_ascii_digit() => Line::Text,
            Line::Number | Line::Figure | Line::Presumed if byte == b',' => Line::Comma,
            Line::Comma | Line::Clause if !blank => Line::Values,
            Line::Figure if byte.is_ascii_digit() => Line::Figure,
            Line::Figure => Line::Presumed,
            _ => Line::Text,
        };
        self.line = match self.line {
            Line::Start if below => Line::Below,
            Line::Number if below => Line::Figure,
            Line::Text if below => Line::Presumed,
            other => other,
        };
    }

    /// In a fence or a table row, where repetition is normal.
    #[inline]
    pub(crate) fn is_block(self) -> bool {
        self.fence != 0 || self.line == Line::Row
    }

    /// In running text: not in a fence, a table row, markup, values or the number of a list item.
    #[inline]
    pub(crate) fn is_prose(self) -> bool {
        !(self.is_block() || matches!(self.line, Line::Number | Line::Markup) || self.is_values())
    }

    /// Among values separated by commas, outside fences: they recur in ever other combinations.
    #[inline]
    pub(crate) fn is_values(self) -> bool {
        self.fence == 0 && matches!(self.line, Line::Values | Line::Figure | Line::Presumed)
    }

    /// In a fence, a table row, a list item (including its number) or a line of markup, where few words are new.
    #[inline]
    pub(crate) fn is_structured(self) -> bool {
        self.is_block() || matches!(self.line, Line::List | Line::Number | Line::Markup)
    }
}

/// A stretch of text in which every character equals the one a period earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repetition {
    /// Characters of the repeating unit.
    pub(crate) period: u32,
    /// Characters covered, including the first copy; those in fences, table rows and rulers count a quarter.
    pub(crate) covered: u32,
    /// Characters before the second copy: from here on every character equals the one a period earlier.
    pub(crate) offset: u64,
    /// Key of the repeating unit, the same for all its rotations.
    pub(crate) unit: Key,
    /// Lines of it begin with numbers, which need not repeat.
    pub(crate) numbered: bool,
}

/// A period that holds.
#[derive(Clone, Copy, Debug)]
struct Lock {
    /// In bytes.
    period: u32,
    /// Characters before the first copy.
    start: u64,
    /// Characters covered, outside and inside blocks.
    plain: u64,
    block: u64,
    /// Computed only once the stretch is long enough to matter.
    unit: Option<Unit>,
}
codec!(struct Lock { period, start, plain, block, unit });

#[derive(Clone, Copy, Debug)]
struct Unit {
    characters: u32,
    /// What its characters count: some units repeat in honest text as well.
    worth: Worth,
    numbered: bool,
    key: Key,
}
codec!(struct Unit { characters, worth, numbered, key });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worth {
    Whole,
    /// Rulers, or numbered lines that are all alike.
    Quarter,
    /// Numbers only, one per line, which may be different each time.
    Nothing,
}
codec!(enum Worth { Whole: 0, Quarter: 1, Nothing: 2 });

impl Lock {
    /// Characters it counts as evidence.
    const fn covered(&self, unit: Unit) -> u64 {
        match unit.worth {
            Worth::Whole => self.plain.saturating_add(self.block / STRUCTURED),
            Worth::Quarter => self.plain.saturating_add(self.block) / STRUCTURED,
            Worth::Nothing => 0,
        }
    }

    /// The stretch as evidence, if it covers at least `floor` characters; `text` must end with its last byte.
    fn repetition(&mut self, text: &[u8], floor: u32) -> Option<Repetition> {
        if self.plain.saturating_add(self.block / STRUCTURED) < u64::from(floor) {
            return None;
        }
        let unit = match self.unit {
            Some(unit) => unit,
            None => *self.unit.insert(unit(text, self.period as usize)?),
        };
        let covered = self.covered(unit);
        (covered >= u64::from(floor)).then_some(Repetition {
            period: unit.characters,
            covered: u32::try_from(covered).unwrap_or(u32::MAX),
            offset: self.start.saturating_add(u64::from(unit.characters)),
            unit: unit.key,
            numbered: unit.numbered,
        })
    }
}

/// The unit that repeats in the last `period` bytes of a text, which may hold several copies of it.
fn unit(text: &[u8], period: usize) -> Option<Unit> {
    let mut period = period;
    // A lock may have begun with a multiple of the period.
    let mut divisor = 2;
    while divisor <= period {
        if period.is_multiple_of(divisor) && repeats(text, period, period / divisor)? {
            period /= divisor;
        } else {
            divisor += 1;
        }
    }
    let copy = text.get(text.len().checked_sub(period)?..)?;
    // A character has at most three bytes after its first, so this contains every character of the unit whole.
    let around = text.get(text.len().saturating_sub(period + 3)..)?;
    let whole = || around.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    let ruler = whole().next().is_some() && whole().all(is_ruling);
    // From the beginning of a line, wherever the copy is cut.
    let lines = copy.iter().filter(|byte| **byte == b'\n').count();
    let begin = copy.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (mut leads, mut numbered, mut says) = (lines > 0, false, false);
    for byte in copy.iter().cycle().skip(begin).take(period) {
        leads = *byte == b'\n' || leads && *byte == b'0';
        numbered |= leads && *byte == b'0';
        says |= !leads && (byte.is_ascii_alphanumeric() || !byte.is_ascii());
    }
    Some(Unit {
        characters: u32::try_from(characters(copy)).unwrap_or(u32::MAX),
        worth: match () {
            () if numbered && !says => Worth::Nothing,
            () if ruler || numbered && lines == 1 => Worth::Quarter,
            () => Worth::Whole,
        },
        numbered,
        key: key("stream-unit", &least_rotation(copy)),
    })
}

/// Whether the last `length` bytes have this period.
fn repeats(text: &[u8], length: usize, period: usize) -> Option<bool> {
    let last = text.get(text.len().checked_sub(length)?..)?;
    Some(last.get(period..)? == last.get(..last.len().checked_sub(period)?)?)
}

/// Characters that rulers are drawn with.
fn is_ruling(character: char) -> bool {
    matches!(character, ' ' | '-' | '=' | '_' | '*' | '~' | '#' | '+' | '.' | '|' | '·' | '•')
        || matches!(character, '\u{2010}'..='\u{2015}' | '\u{2500}'..='\u{259f}')
}

fn characters(bytes: &[u8]) -> usize {
    // At most 128 at once, so that the count fits a byte, which vectorises at full width.
    bytes.chunks(128).map(|few| few.iter().map(|byte| u8::from(starts_character(*byte))).sum::<u8>() as usize).sum()
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether a text contains [`BLANKS`] white-space characters in a row.
fn holds_blanks(text: &[u8]) -> bool {
    let mut from = 0;
    while let Some(row) = text.get(from..from + BLANKS) {
        let Some(last) = row.iter().rposition(|byte| !is_blank(byte)) else { return true };
        from += last + 1;
    }
    false
}

#[inline(never)]
fn blank_alike(before: &[u8], text: &mut [u8]) {
    let mut row = before.iter().rev().take(BLANKS).take_while(|byte| is_blank(byte)).count();
    for byte in text {
        if !is_blank(byte) {
            row = 0;
        } else if row < BLANKS {
            row += 1;
        } else {
            *byte = b'\n';
        }
    }
}

/// The number of bytes before the first line end.
fn line_length(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<16>();
    let without = blocks.iter().take_while(|block| block.iter().fold(true, |none, byte| none & (*byte != b'\n')));
    let passed = 16 * without.count();
    passed + bytes.iter().skip(passed).take_while(|byte| **byte != b'\n').count()
}

#[inline]
fn starts_character(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// The lexicographically least rotation, so that a unit has one key wherever it is cut. Linear time.
fn least_rotation(unit: &[u8]) -> Vec<u8> {
    let length = unit.len();
    let at = |index: usize| unit.get(index % length.max(1));
    let (mut best, mut other, mut same) = (0, 1, 0);
    while best < length && other < length && same < length {
        let order = at(best + same).cmp(&at(other + same));
        if order.is_eq() {
            same += 1;
            continue;
        }
        if order.is_gt() {
            best += same + 1;
        } else {
            other += same + 1;
        }
        if best == other {
            other += 1;
        }
        same = 0;
    }
    unit.iter().cycle().skip(best.min(other)).take(length).copied().collect()
}

/// The tracker of exact periods in one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Periods {
    /// The latest bytes, with numbers and long white space normalised.
    tail: Vec<u8>,
    /// Bytes and characters so far.
    total: u64,
    characters: u64,
    /// Bytes up to the end of the latest non-ASCII character.
    wide: u64,
    /// Bytes of backward comparison spent.
    spent: u64,
    /// Byte position before which proposals are ignored.
    wait: u64,
    /// By the hash of a gram: 16 further bits of the hash as a tag, and the stride in which it was last entered.
    grams: Vec<u32>,
    layout: Layout,
    short: Option<Lock>,
    long: Option<Lock>,
}
codec!(struct Periods { tail, total, characters, wide, spent, wait, grams, layout, short, long });

impl Periods {
    /// Reads the next chunk of text. Calls `found` for every stretch of at least `floor` characters that ended in this
    /// chunk or continues after it; it may be called twice for one stretch.
    pub(crate) fn feed(&mut self, text: &str, floor: u32, mut found: impl FnMut(Repetition)) {
        if self.grams.len() != GRAMS {
            self.grams.resize(GRAMS, 0);
        }
        for chunk in text.as_bytes().chunks(CHUNK) {
            if self.tail.len() + chunk.len() > WINDOW + CHUNK {
                self.tail.drain(..self.tail.len().saturating_sub(WINDOW));
            }
            let from = self.tail.len();
            self.tail.extend_from_slice(chunk);
            self.blank_alike(from);
            self.number_alike(from);
            self.scan(from, floor, &mut found);
        }
        for lock in [&mut self.short, &mut self.long].into_iter().flatten() {
            lock.repetition(&self.tail, floor).map(&mut found);
        }
    }

    /// Makes all numbers at the beginning of lines equal, from `from` on, which is where the layout stands.
    #[inline]
    fn number_alike(&mut self, from: usize) {
        let text = self.tail.get(from..).unwrap_or_default();
        let goes_on = matches!(self.layout.line, Line::Start | Line::Number | Line::Below | Line::Figure);
        let mut numbered = goes_on && text.first().is_some_and(u8::is_ascii_digit);
        if text.contains(&b'\n') {
            each(text, b'\n', &mut |end| numbered |= text.get(end + 1).is_some_and(u8::is_ascii_digit));
        }
        if numbered {
            self.number_alike_by_line(from);
        }
    }

    #[inline(never)]
    fn number_alike_by_line(&mut self, from: usize) {
        let mut layout = self.layout;
        let (before, text) = self.tail.split_at_mut(from);
        // A number may have begun in the chunk before.
        let begun = before.iter().rev().take(NUMBER).take_while(|byte| byte.is_ascii_digit()).count();
        let ahead = before.len() - begun;
        let starts = if ahead == 0 { self.total == begun as u64 } else { before.get(ahead - 1) == Some(&b'\n') };
        // Digits that may still belong to a number; none once something else has come.
        let mut left = if starts { NUMBER - begun } else { 0 };
        for byte in text {
            layout.byte(*byte);
            if *byte == b'\n' {
                left = NUMBER;
            } else if left > 0 && matches!(layout.line, Line::Number | Line::Figure) {
                *byte = b'0';
                left -= 1;
            } else {
                left = 0;
            }
        }
    }

    /// Makes all white space after [`BLANKS`] characters in a row equal, from `from` on.
    #[inline]
    fn blank_alike(&mut self, from: usize) {
        let (before, text) = self.tail.split_at_mut(from);
        let goes_on = text.first().is_some_and(is_blank) && before.last().is_some_and(is_blank);
        if goes_on || holds_blanks(text) {
            blank_alike(before, text);
        }
    }

    /// Processes the bytes of the tail from `from` on.
    fn scan(&mut self, from: usize, floor: u32, found: &mut impl FnMut(Repetition)) {
        let mut from = from;
        // How far the periods hold in this tail.
        let mut short = self.short.map(|lock| holds(&self.tail, from, lock.period));
        let mut long = self.long.map(|lock| holds(&self.tail, from, lock.period));
        while from < self.tail.len() {
            let end = self.tail.len().min(short.unwrap_or(usize::MAX)).min(long.unwrap_or(usize::MAX));
            // While a long match holds, nothing better can be proposed.
            let proposal = self.propose(from, end, self.long.is_none());
            let next = proposal.map_or(end, |(index, _)| index + 1);
            self.pass(from, next);
            from = next;
            if let Some((_, distance)) = proposal {
                if self.follow(from, distance) {
                    short = self.short.map(|lock| holds(&self.tail, from, lock.period));
                    long = self.long.map(|lock| holds(&self.tail, from, lock.period));
                }
            } else if from < self.tail.len() {
                let text = self.tail.get(..from).unwrap_or_default();
                for (lock, until) in [(&mut self.short, &mut short), (&mut self.long, &mut long)] {
                    if *until == Some(from)
                        && let Some(mut broken) = lock.take()
                    {
                        *until = None;
                        broken.repetition(text, floor).map(&mut *found);
                    }
                }
            }
        }
    }

    /// Enters the grams that end from `from` up to `end`. If `seek`, stops at the first one that was seen before at a
    /// usable distance, and returns the index of its last byte and that distance.
    fn propose(&mut self, from: usize, end: usize, seek: bool) -> Option<(usize, usize)> {
        let grams = <&mut [u32; GRAMS]>::try_from(self.grams.as_mut_slice()).ok()?;
        let start = from.max(GRAM - 1);
        let bytes = self.tail.get(start - (GRAM - 1)..end)?;
        // `from` is the current position of the stream.
        let first = self.total.saturating_add((start - from) as u64);
        if !seek {
            // Only the grams to be entered need hashing.
            let skipped = (first.next_multiple_of(STRIDE) - first) as usize;
            let entered = bytes.get(skipped..).unwrap_or_default().array_windows::<GRAM>().step_by(STRIDE as usize);
            for (position, gram) in (first.next_multiple_of(STRIDE)..).step_by(STRIDE as usize).zip(entered) {
                let (slot, tag) = place(gram);
                if let Some(slot) = grams.get_mut(slot) {
                    *slot = entry(tag, position);
                }
            }
            return None;
        }
        let mut offset = 0;
        while let Some(rest) = bytes.get(offset..).filter(|rest| rest.len() >= GRAM) {
            let position = first.wrapping_add(offset as u64);
            let within = (position % STRIDE) as usize;
            let whole = rest.first_chunk::<SPAN>();
            let run = STRIDE as usize - within;
            let is_new = within == 0 && whole.is_some_and(|stride| enter_new(grams, stride, entry(0, position)));
            if !is_new {
                let windows = rest.get(..run + GRAM - 1).unwrap_or(rest).array_windows::<GRAM>();
                for (step, gram) in windows.enumerate() {
                    let position = position.wrapping_add(step as u64);
                    let (slot, tag) = place(gram);
                    let Some(slot) = grams.get_mut(slot) else { continue };
                    let known = *slot;
                    if position.is_multiple_of(STRIDE) {
                        *slot = entry(tag, position);
                    }
                    if is_tagged(known, tag) && position >= self.wait {
                        let entered = u64::from(known & 0xffff) * STRIDE;
                        let distance = (position.wrapping_sub(entered) % (STRIDE << 16)) as usize;
                        if (1..=LONG_PERIOD).contains(&distance) {
                            return Some((start + offset + step, distance));
                        }
                    }
                }
            }
            offset += run;
        }
        None
    }

    /// Advances over bytes in which every tracked period holds.
    fn pass(&mut self, from: usize, next: usize) {
        let bytes = self.tail.get(from..next).unwrap_or_default();
        let (characters, block) = self.layout.advance(bytes);
        self.total = self.total.saturating_add(bytes.len() as u64);
        self.characters = self.characters.saturating_add(characters);
        if !bytes.is_ascii() {
            self.wide = self.total;
        }
        for lock in [&mut self.short, &mut self.long].into_iter().flatten() {
            lock.plain = lock.plain.saturating_add(characters - block);
            lock.block = lock.block.saturating_add(block);
        }
    }

    /// Follows a period proposed at the end of the first `end` bytes of the tail, if it has held for long enough.
    fn follow(&mut self, end: usize, distance: usize) -> bool {
        let seen = self.tail.get(..end).unwrap_or_default();
        let affordable = self.total.saturating_mul(CREDIT).saturating_add(WINDOW as u64).saturating_sub(self.spent);
        let matched = matched(seen, distance, usize::try_from(affordable).unwrap_or(usize::MAX));
        self.spent = self.spent.saturating_add(matched as u64);
        // The longer the distance, the more often a phrase recurs by chance.
        let enough = (distance / 8).min(MOST_MATCH);
        let short = self.short.is_none() && distance <= SHORT_PERIOD && matched >= enough.max(GRAM);
        let long = matched >= enough.max(LONG_MATCH);
        if !long {
            let wanted = if self.short.is_none() { enough.max(GRAM) } else { enough.max(LONG_MATCH) };
            self.wait = self.total.saturating_add(wanted.saturating_sub(matched) as u64);
        }
        if !short && !long {
            return false;
        }
        let covered = distance + matched;
        self.spent = self.spent.saturating_add(covered as u64 / 8);
        // In ASCII every byte is a character.
        let count = if self.total.saturating_sub(self.wide) >= covered as u64 {
            covered as u64
        } else {
            seen.get(end.saturating_sub(covered)..).map_or(0, characters) as u64
        };
        let (plain, block) = if self.layout.is_block() { (0, count) } else { (count, 0) };
        let start = self.characters.saturating_sub(count);
        let lock = Lock { period: distance as u32, start, plain, block, unit: None };
        if short {
            self.short = Some(lock);
        }
        if long {
            self.long = Some(lock);
        }
        true
    }

    /// Characters covered by the longest ongoing repetition; 0 as long as there are no more than two copies.
    pub(crate) fn covered(&self) -> u32 {
        let covered = [self.short, self.long].into_iter().flatten().filter_map(|lock| {
            let covered = lock.plain.saturating_add(lock.block / STRUCTURED);
            (covered > u64::from(lock.unit?.characters).saturating_mul(2)).then_some(covered)
        });
        covered.max().map_or(0, |covered| u32::try_from(covered).unwrap_or(u32::MAX))
    }

    /// Every ongoing repetition of more than two copies: the characters of its unit and those it covers.
    pub(crate) fn going_on(&self) -> impl Iterator<Item = (u32, u32)> {
        [self.short, self.long].into_iter().flatten().filter_map(|lock| {
            let unit = lock.unit?;
            let covered = lock.covered(unit);
            let goes_on = covered > u64::from(unit.characters).saturating_mul(2);
            goes_on.then(|| (unit.characters, u32::try_from(covered).unwrap_or(u32::MAX)))
        })
    }

    /// A digest of the end and the length of the text, whatever chunks it came in.
    pub(crate) fn digest(&self) -> Key {
        let end = self.tail.get(self.tail.len().saturating_sub(WINDOW)..).unwrap_or_default();
        combine("stream", &[key("stream", end), self.total])
    }

    /// Whether a restored state respects its bounds.
    pub(crate) fn fits(&self) -> bool {
        let locks = [self.short, self.long];
        self.tail.len() <= WINDOW + CHUNK
            && (self.tail.len() as u64..1 << 60).contains(&self.total)
            && (self.grams.is_empty() || self.grams.len() == GRAMS)
            && locks.iter().flatten().all(|lock| (1..=LONG_PERIOD).contains(&(lock.period as usize)))
    }
}

/// The first index from `from` on at which a period does not hold; the length of the text if it holds throughout.
fn holds(text: &[u8], from: usize, period: u32) -> usize {
    let earlier = from.checked_sub(period as usize).and_then(|from| text.get(from..)).unwrap_or_default();
    let later = text.get(from..).unwrap_or_default();
    from + later.iter().zip(earlier).take_while(|(byte, before)| byte == before).count()
}

/// How many bytes at the end of a text equal those `distance` before; at most `affordable` are compared.
fn matched(text: &[u8], distance: usize, affordable: usize) -> usize {
    let Some(earlier) = text.len().checked_sub(distance).and_then(|length| text.get(..length)) else { return 0 };
    let limit = affordable.min(WINDOW.saturating_sub(distance));
    let pairs = text.iter().rev().zip(earlier.iter().rev()).take(limit);
    pairs.take_while(|(byte, before)| byte == before).count()
}

/// Enters the first gram of a stride, unless one of its grams seems to have been seen before; returns whether it did.
/// Nearly all text takes this path, so the loop has no branch that depends on it.
#[inline]
fn enter_new(grams: &mut [u32; GRAMS], stride: &[u8; SPAN], entry: u32) -> bool {
    let (mut first, mut is_new) = (None, true);
    for gram in stride.array_windows::<GRAM>() {
        let (slot, tag) = place(gram);
        let Some(known) = grams.get_mut(slot) else { continue };
        is_new &= !is_tagged(*known, tag);
        if first.is_none() {
            first = Some((slot, *known));
            *known = tag | entry;
        }
    }
    if !is_new
        && let Some((slot, before)) = first
        && let Some(known) = grams.get_mut(slot)
    {
        *known = before;
    }
    is_new
}

/// The slot of a gram in the table, and its tag in the upper half of an entry.
#[inline]
fn place(gram: &[u8; GRAM]) -> (usize, u32) {
    let hash = gram_hash(gram);
    ((hash >> 57) as usize % GRAMS, (hash >> 25) as u32 & 0xffff_0000)
}

/// An entry of the table: the tag of a gram, and the stride in which it was seen.
#[inline]
const fn entry(tag: u32, position: u64) -> u32 {
    tag | (position / STRIDE) as u32 & 0xffff
}

#[inline]
const fn is_tagged(entry: u32, tag: u32) -> bool {
    (entry ^ tag) >> 16 == 0
}

#[inline]
fn gram_hash(gram: &[u8; GRAM]) -> u64 {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *gram;
    let head = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    let rest = u64::from(u32::from_le_bytes([i, j, k, l]));
    head.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ rest.wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::{BLANKS, GRAM, LONG_PERIOD, Layout, MOST_MATCH, Periods, Repetition, WINDOW, least_rotation};
    use alloc::{format, string::String, vec::Vec};
    use proptest::prelude::*;

    /// The strongest stretch that any of the chunks yields.
    fn strongest(pieces: &[&str]) -> Option<Repetition> {
        let mut periods = Periods::default();
        let mut strongest: Option<Repetition> = None;
        for piece in pieces {
            periods.feed(piece, 60, |found| {
                if strongest.is_none_or(|known| {
                    (found.covered, known.period, known.offset) > (known.covered, found.period, found.offset)
                }) {
                    strongest = Some(found);
                }
            });
            assert!(periods.fits());
        }
        strongest
    }

    #[test]
    fn rotations_have_one_key() {
        for unit in ["abc", "aab", "banana", "x", "请稍等", "abab"] {
            let expected = least_rotation(unit.as_bytes());
            let mut sorted: Vec<Vec<u8>> = (0..unit.len())
                .map(|cut| [&unit.as_bytes()[cut..], &unit.as_bytes()[..cut]].concat())
                .inspect(|rotation| assert_eq!(least_rotation(rotation), expected))
                .collect();
            sorted.sort();
            assert_eq!(sorted[0], expected);
        }
    }

    #[test]
    fn layout() {
        let block_at_end = |text: &str| {
            let mut layout = Layout::default();
            text.bytes().for_each(|byte| layout.byte(byte));
            (layout.is_block(), layout.is_structured())
        };
        let (plain, list, block) = ((false, false), (false, true), (true, true));
        let cases = [
            ("plain `code` and ~~struck~~", plain),
            ("```rust\nlet", block),
            ("```rust\nlet\n```\ntext", plain),
            ("~~~\n```\ntext", block),
            ("```\n```python\nx", block),
            ("> ```\n> x", block),
            ("| a", block),
            ("| a\nb", plain),
            ("- item", list),
            ("12. item", list),
            ("3) item", list),
            ("--- ruler", plain),
            ("**bold**", plain),
            ("2026 was", plain),
            ("``not a fence", plain),
        ];
        for (text, expected) in cases {
            assert_eq!(block_at_end(text), expected, "{text}");
        }
    }

    #[test]
    fn lists_that_are_numbered_on() {
        let list = |trees: &[&str], from: usize| -> String {
            (from..from + 60).map(|n| format!("{n}. {}\n", trees[n % trees.len()])).collect()
        };
        let found = strongest(&[&list(&["fir", "elm", "ash", "oak"], 20)]).unwrap();
        assert!(found.numbered && found.period == 32 && found.covered == 480, "{found:?}");
        // A single repeated item counts a quarter: sixty lines that say that all is well.
        let found = strongest(&[&list(&["all is well"], 20)]).unwrap();
        assert!(found.numbered && found.covered == 60 * 16 / 4, "{found:?}");
        // Rows of figures repeat, except for the first figure.
        let rows: String = (20..80).map(|n| format!("{n} 7 7 0 7\n")).collect();
        assert!(strongest(&[&rows]).is_some_and(|found| found.numbered && found.covered == 60 * 11 / 4), "{rows}");
        assert_eq!(strongest(&[&(20..80).map(|n| format!("{n}\n")).collect::<String>()]), None);
        // In a fence numbers are compared as they are.
        assert_eq!(strongest(&[&format!("```\n{}", list(&["fir", "elm"], 20))]), None);
    }

    #[test]
    fn blanks_without_end() {
        // Line ends and indentation in no order.
        let blanks = |count: usize| -> String {
            (0..count).map(|n| ["\n", "  ", "\n    ", "\t", "\r\n"][n * n % 11 % 5]).collect()
        };
        let long = blanks(400);
        let found = strongest(&["{\"tide\": \"low\"", &long]).unwrap();
        assert!(found.period == 1 && found.covered as usize + BLANKS + GRAM >= long.len(), "{found:?}");
        // As much white space as a layout has.
        assert_eq!(strongest(&["tide", &blanks(20), "low"]), None);
    }

    #[test]
    fn memory_and_looking_back_are_bounded() {
        // Many overlapping repetitions: Fibonacci words.
        let (mut word, mut next) = (String::from("a"), String::from("ab"));
        while next.len() < 200_000 {
            let longer = format!("{next}{word}");
            word = core::mem::replace(&mut next, longer);
        }
        let mut periods = Periods::default();
        periods.feed(&next, 480, |_| {});
        assert!(periods.fits() && periods.tail.len() <= WINDOW + 512);
        assert!(periods.spent <= periods.total * 5 + WINDOW as u64, "{} of {}", periods.spent, periods.total);
    }

    /// Text with stretches of repetition, in several scripts and layouts.
    fn text() -> impl Strategy<Value = String> {
        let unit = prop_oneof![
            "[a-c]{1,4}",
            "[a-z ,.]{5,120}",
            "[a-z\n|`#-]{5,200}",
            "[请稍等我正在处理é🙂。]{1,90}",
            Just(String::from("```\n")),
            Just(String::from("| a | b |\n")),
            Just(String::from("17. fir\n")),
            "[0-9]{1,14}[ .)\n]",
            "[ \n\t]{1,90}",
        ];
        let part = (unit, 1..60usize).prop_map(|(unit, times)| unit.repeat(times));
        prop::collection::vec(part, 1..5).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn any_cut_tells_the_same(text in text(), sizes in prop::collection::vec(1..700usize, 1..20)) {
            let characters: Vec<char> = text.chars().collect();
            let mut pieces: Vec<String> = Vec::new();
            let mut rest = characters.as_slice();
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break }
                let (piece, others) = rest.split_at((*size).min(rest.len()));
                pieces.push(piece.iter().collect());
                rest = others;
            }
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(strongest(&[&text]), strongest(&pieces));
        }

        #[test]
        fn a_period_is_found_and_true(before in "[a-z ]{0,300}", unit in "[a-z ]{1,300}|[\u{4e00}-\u{8fff}]{20,900}|[请稍等我正在处理。]{20,900}", copies in 8..20usize) {
            let characters = unit.chars().count();
            prop_assume!(characters * copies >= 480 && unit.len() <= LONG_PERIOD);
            let text: Vec<char> = before.chars().chain(unit.repeat(copies).chars()).collect();
            let found = strongest(&[&text.iter().collect::<String>()]);
            let Some(found) = found else { return Err(TestCaseError::fail("nothing found")) };
            let (period, offset) = (found.period as usize, found.offset as usize);
            prop_assert_eq!(characters % period, 0);
            // A long unit of nine different characters repeats phrases within itself and may be recognised some copies
            // late.
            let late = if period > 256 && unit.contains('请') { copies - 4 } else { 1 };
            // A chance proposal that does not hold delays the next one by as many bytes as it was short of.
            let latest = before.chars().count() + late * period + MOST_MATCH;
            prop_assert!(offset <= latest, "{offset} instead of {latest} at period {period}");
            let repeated = &text[offset..];
            prop_assert!(repeated.iter().eq(&text[offset - period..text.len() - period]));
        }
    }
}
