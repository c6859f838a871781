//! Names of the fields of a JSON answer: what each tells of its value.
//!
//! The objects of a list have the same fields, mostly in the same order, and so have the next answers of a tool. So a name
//! is looked at once, and expected again behind the one that it stood behind the last time: one compare of eight bytes tells
//! that it stands there. Names that are known are numbered, and each knows how many of the others sort before it, so that
//! the fields of an object are put in order without comparing any.

use super::words::{listed, listed_name, name_words};
use alloc::{string::String, vec::Vec};

/// Words that make a field volatile wherever they stand in its name.
const VOLATILE_WORDS: [&str; 12] = [
    "duration",
    "durations",
    "elapsed",
    "etag",
    "latencies",
    "latency",
    "nonce",
    "pid",
    "timestamp",
    "timestamps",
    "uptime",
    "uuid",
];

/// Last words that do, after another: `created_at`, `tookMs`.
const VOLATILE_ENDS: [&str; 3] = ["at", "ms", "ns"];

/// Whole names that do.
const VOLATILE_NAMES: [&str; 26] = [
    "calculatedid",
    "callid",
    "correlationid",
    "cwd",
    "eventid",
    "executioncount",
    "executionid",
    "invocationid",
    "logid",
    "messageid",
    "operationid",
    "processid",
    "ratelimit",
    "requestid",
    "responseid",
    "runid",
    "sessionid",
    "spanid",
    "systemfingerprint",
    "threadid",
    "timetaken",
    "took",
    "toolcallid",
    "traceid",
    "transactionid",
    "workingdirectory",
];

/// What a field's name tells of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    Volatile,
    /// An id: it goes where it looks drawn, not counted, for a short or plain number is content.
    Id,
    Content,
}

/// What is known of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) named: Named,
    /// There are digits in it.
    pub(super) digits: bool,
    /// Its part in a message's wrapper.
    pub(super) part: Parts,
}

impl Told {
    /// A name that tells nothing.
    #[inline]
    pub(super) fn is_plain(self) -> bool {
        self.named == Named::Content && self.part == Parts(0)
    }

    pub(super) fn of(name: &str) -> Self {
        Self { named: named(name), digits: name.bytes().any(|byte| byte.is_ascii_digit()), part: Parts::of(name) }
    }
}

fn named(name: &str) -> Named {
    if listed_name(&VOLATILE_NAMES, name) {
        return Named::Volatile;
    }
    let mut words = name_words(name);
    let first = words.next().unwrap_or_default();
    let (mut last, mut second) = ("", "");
    if listed(&VOLATILE_WORDS, first) {
        return Named::Volatile;
    }
    for word in words {
        if second.is_empty() {
            second = word;
        }
        if listed(&VOLATILE_WORDS, word) {
            return Named::Volatile;
        }
        last = word;
    }
    let limits_rate = first.eq_ignore_ascii_case("rate") && second.to_ascii_lowercase().starts_with("limit");
    if limits_rate || listed(&VOLATILE_ENDS, last) {
        Named::Volatile
    } else if last.eq_ignore_ascii_case("id") {
        Named::Id
    } else {
        Named::Content
    }
}

/// Names of a message's wrapper that are in an object, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts(u8);

impl Parts {
    const ID: u8 = 1;
    const CREATED: u8 = 1 << 1;
    const JSONRPC: u8 = 1 << 2;
    const OBJECT: u8 = 1 << 3;
    const ROLE: u8 = 1 << 4;
    const CONTENT: u8 = 1 << 5;

    fn of(name: &str) -> Self {
        Self(match name {
            "id" => Self::ID,
            "created" => Self::CREATED,
            "jsonrpc" => Self::JSONRPC,
            "object" => Self::OBJECT,
            "role" => Self::ROLE,
            "content" => Self::CONTENT,
            _ => 0,
        })
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether these make an object a message's wrapper: its `id` numbers the message, and tells nothing of what it carries.
    pub(super) fn wrap(self) -> bool {
        let has = |parts: u8| self.0 & parts == parts;
        // Without either nothing depends on it.
        (has(Self::ID) || has(Self::CREATED))
            && (has(Self::JSONRPC) || has(Self::OBJECT | Self::CREATED) || has(Self::ROLE | Self::CONTENT))
    }

    /// Whether a name is one that goes from a wrapper.
    pub(super) fn numbers(name: &str) -> bool {
        Self::of(name).0 & (Self::ID | Self::CREATED) != 0
    }
}

/// Names that are numbered.
pub(super) const MOST: usize = 64;
/// Bytes of a name that is kept: what is longer is no field but a key of its own.
const LONGEST: usize = 64;
/// The number of a name that is not kept.
pub(super) const UNKNOWN: u32 = u32::MAX;
/// Levels of nesting whose objects have an expected first field of their own.
const LEVELS: usize = 8;

/// Names that were looked at already.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    known: Vec<Known>,
    /// What an object began with the last time, by level.
    first: [u32; LEVELS],
    /// There were more than are kept: the next document begins with none.
    full: bool,
}

/// A name that stands where it is expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// Bytes of the name.
    pub(super) length: usize,
    pub(super) told: Told,
    /// The name that is expected behind it.
    pub(super) next: u32,
}

#[derive(Clone, Debug)]
struct Known {
    /// The name, and behind it its quotation mark and a colon.
    quoted: String,
    /// The first eight bytes of that, and which of them there are; the last eight where there are so many.
    begins: u64,
    mask: u64,
    ends: u64,
    told: Told,
    /// How many of the known names sort before it.
    rank: u32,
    /// The name that stood behind it the last time.
    next: u32,
}

impl Known {
    fn name(&self) -> &str {
        self.quoted.get(..self.quoted.len() - 2).unwrap_or_default()
    }
}

/// The first eight bytes of a name with what stands behind it, and which of them there are.
fn beginning(name: &str) -> (u64, u64) {
    let (mut bytes, mut mask) = ([0; 8], [0; 8]);
    for ((byte, mask), from) in bytes.iter_mut().zip(&mut mask).zip(name.bytes().chain(*b"\":")) {
        (*byte, *mask) = (from, u8::MAX);
    }
    (u64::from_le_bytes(bytes), u64::from_le_bytes(mask))
}

impl Names {
    /// Begins another document, in which every name that it meets keeps its number.
    pub(super) fn begin(&mut self) {
        if core::mem::take(&mut self.full) {
            self.known.clear();
        }
    }

    /// The name that an object on this level is expected to begin with.
    pub(super) fn first(&self, level: usize) -> u32 {
        self.first.get(level % LEVELS).copied().unwrap_or(UNKNOWN)
    }

    /// The name that is expected behind one.
    pub(super) fn after(&self, name: u32) -> u32 {
        self.known.get(name as usize).map_or(UNKNOWN, |known| known.next)
    }

    /// Notes that a name stood behind another, or first in an object on this level where that is none that is kept.
    pub(super) fn follow(&mut self, before: u32, level: usize, name: u32) {
        let place = match before {
            UNKNOWN => self.first.get_mut(level % LEVELS),
            _ => self.known.get_mut(before as usize).map(|known| &mut known.next),
        };
        if let Some(place) = place {
            *place = name;
        }
    }

    /// Whether a name, its quotation mark and a colon stand where `rest` begins, and what is known of it.
    #[inline]
    pub(super) fn stands(&self, name: u32, rest: &[u8]) -> Option<Expected> {
        let known = self.known.get(name as usize)?;
        let length = known.quoted.len();
        let chunk = |bytes: &[u8]| bytes.first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
        let same = match chunk(rest) {
            Some(begins) if begins & known.mask != known.begins => false,
            Some(_) if length <= 8 => true,
            // The last eight bytes, of which some may be the first ones.
            Some(_) if length <= 16 => rest.get(length - 8..).and_then(chunk) == Some(known.ends),
            _ => rest.get(..length) == Some(known.quoted.as_bytes()),
        };
        same.then_some(Expected { length: length - 2, told: known.told, next: known.next })
    }

    /// The number of a name in which nothing is escaped, and what it tells; it is kept where there is room.
    pub(super) fn look(&mut self, name: &str) -> (u32, Told) {
        let (begins, mask) = beginning(name);
        let same = |known: &Known| known.begins == begins && known.mask == mask && known.name() == name;
        if let Some(at) = self.known.iter().position(same) {
            // INVARIANT: there are 64 at most.
            return (at as u32, self.known.get(at).map_or_else(|| Told::of(name), |known| known.told));
        }
        let told = Told::of(name);
        let number = self.known.len() as u32;
        self.full |= self.known.len() >= MOST;
        if self.full || name.len() > LONGEST {
            return (UNKNOWN, told);
        }
        let mut rank = 0;
        for known in &mut self.known {
            if known.name() < name {
                rank += 1;
            } else {
                known.rank += 1;
            }
        }
        let mut quoted = String::with_capacity(name.len() + 2);
        quoted.push_str(name);
        quoted.push_str("\":");
        let ends = quoted.as_bytes().last_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk));
        self.known.push(Known { quoted, begins, mask, ends, told, rank, next: number + 1 });
        (number, told)
    }

    /// How many of the known names sort before one.
    #[inline]
    pub(super) fn rank(&self, name: u32) -> u32 {
        self.known.get(name as usize).map_or(0, |known| known.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::assert_sorted;
    use super::*;
    use alloc::format;

    #[test]
    fn lists_are_sorted() {
        for list in [&VOLATILE_WORDS[..], &VOLATILE_ENDS, &VOLATILE_NAMES] {
            assert_sorted(list);
        }
    }

    #[test]
    fn a_name_is_known_where_it_stands() {
        let mut names = Names::default();
        for name in ["", "a", "six by", "sevenby", "fourteen bytes", "fifteen bytes .", "a name of many bytes", "é"] {
            let (number, _) = names.look(name);
            assert_eq!(names.look(name).0, number);
            for (rest, stands) in [
                (format!("{name}\":1"), true),
                (format!("{name}\": and more than eight bytes"), true),
                (format!("{name}\" :1 and more"), false),
                (format!("{name}x\":1"), false),
                (format!("{name}x\": and more than eight bytes"), false),
                (name.into(), false),
            ] {
                let found = names.stands(number, rest.as_bytes());
                assert_eq!(found.map(|found| found.length), stands.then_some(name.len()), "{name}: {rest}");
            }
        }
        assert!(names.stands(UNKNOWN, b"\"").is_none());
    }

    #[test]
    fn ranks_are_the_order_of_names() {
        let mut names = Names::default();
        let all: Vec<String> = (0..MOST).map(|n| format!("{}-{}", n * 37 % MOST, "x".repeat(n % 11))).collect();
        for name in &all {
            names.look(name);
        }
        let mut sorted: Vec<&String> = all.iter().collect();
        sorted.sort_unstable();
        for (rank, name) in sorted.into_iter().enumerate() {
            let (number, _) = names.look(name);
            assert_eq!(names.rank(number), rank as u32, "{name}");
        }
        // One more is none of them, and the next document begins anew.
        assert_eq!(names.look("one more").0, UNKNOWN);
        assert_ne!(names.look(&all[3]).0, UNKNOWN);
        names.begin();
        assert_eq!(names.look("one more").0, 0);
        assert_eq!(names.look(&"x".repeat(LONGEST + 1)).0, UNKNOWN);
    }
}
