//! What kind of failure a message describes: one that waiting may resolve, one that only a person can, or any other.

use super::digest::{Key, mark, salted};
use super::ends::{clip_to, head};
use super::mask::{Strength, normalise};
use super::words::{Lexicon, NO_JOINT, each_run, entry, is_in, place_in, same};
use crate::codec::codec;
use crate::model::{ErrorType, Failure};
use alloc::string::String;

/// Bytes of each end of a message that enter its class.
const END: usize = 800;
/// Words of a message that are read.
pub(super) const WORDS: usize = 64;
/// Words from the start among which a number may be an HTTP status; further in it is a line number or a count.
const STATUS_WORDS: usize = 8;

/// How a failure can be resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// By doing something else.
    Ordinary,
    /// By waiting: overload, rate limits, timeouts, the network.
    Transient,
    /// By a person: quota, billing, credentials.
    Permanent,
}
codec!(enum Nature { Ordinary: 0, Transient: 1, Permanent: 2 });

/// Words that say that waiting may help, in order, separated by `|`: each alone or, if others follow it here, only
/// behind one of those, as in `timed out`.
const TRANSIENT: &str = "aborted connection|closed connection|connect cannot not t|down slow|econnrefused|econnreset|\
    enotfound|error connection|etimedout|gateway|limit rate|limited rate|lock acquire get state|loss packet|many too|\
    network|out timed|overload|overloaded|rate request|ratelimit|ratelimited|ratelimiterror|ratelimitexceeded|\
    refused connection|reply empty|requestlimitexceeded|reset connection|response no|route no|slowdown|temporarily|\
    throttled|throttling|throttlingexception|timeout|toomanyrequests|unavailable|up starting";

/// The same for words that say that it takes a person.
const PERMANENT: &str = "balance credit insufficient|billing|credential|credentials|credits insufficient|\
    error authentication|expired token|failed authentication|funds insufficient|key api|limit monthly spending usage|\
    quota|required payment|subscription|suspended|token access|unauthenticated|unauthorised|unauthorized";

/// HTTP statuses: the first three need a person, the others only time.
const STATUSES: &str = "401 402 403 429 500 502 503 504 529";

/// The words that say something by themselves or together with the word before.
pub(super) static TELLING: Lexicon =
    Lexicon::of(&["minute second", STATUSES]).with_beginnings(TRANSIENT, 0).with_beginnings(PERMANENT, 0);

/// The nature of a failure: as the host states it, else as the message reads. [`Nature::Permanent`] wins over
/// [`Nature::Transient`], except where the message names a quota per minute or second, which refills by itself.
pub(crate) fn nature(failure: &Failure) -> Nature {
    match failure.error_type {
        Some(ErrorType::Authentication) => return Nature::Permanent,
        Some(ErrorType::Syntax | ErrorType::Runtime | ErrorType::Logic | ErrorType::Dependency) => {
            return Nature::Ordinary;
        }
        Some(ErrorType::Network | ErrorType::Timeout | ErrorType::Resource | ErrorType::Unknown) | None => {}
    }
    match (failure.error_type, of_message(&failure.message)) {
        (Some(ErrorType::Network | ErrorType::Timeout), Nature::Ordinary) => Nature::Transient,
        (_, nature) => nature,
    }
}

/// The nature of a failure judged by its message alone.
pub(crate) fn of_message(message: &str) -> Nature {
    let (mut told, mut words, mut last) = (NatureWords::default(), 0, "");
    each_run::<NO_JOINT>(message, |from, to| {
        let word = message.get(from..to).unwrap_or_default();
        if TELLING.may_hold(message.as_bytes().get(from..).unwrap_or_default(), to - from) {
            told.tells(words, last, word);
        }
        last = word;
        words += 1;
        words < WORDS
    });
    told.nature()
}

/// What the words of a message have said so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NatureWords {
    transient: bool,
    permanent: bool,
    soon: bool,
}

impl NatureWords {
    /// Takes a word that may say something and the one before it; `words` is the number of words before it.
    #[inline(never)]
    pub(super) fn tells(&mut self, words: usize, before: &str, word: &str) {
        let says = |list| entry(list, word).is_some_and(|behind| behind.is_empty() || is_in(behind, before));
        self.transient |= says(TRANSIENT);
        self.permanent |= says(PERMANENT);
        self.soon |= same(before, "per") && (same(word, "minute") || same(word, "second"));
        if words < STATUS_WORDS
            && let Some(status) = place_in(STATUSES, word)
        {
            self.transient |= status >= 3;
            self.permanent |= status < 3;
        }
    }

    pub(super) const fn nature(&self) -> Nature {
        match (self.permanent, self.transient, self.soon) {
            (true, _, false) => Nature::Permanent,
            (true, _, true) | (false, true, _) => Nature::Transient,
            (false, false, _) => Nature::Ordinary,
        }
    }
}

/// Bytes of a result that are read to see whether waiting may help.
const READ: usize = 800;

/// Whether what a message tells of may be resolved by waiting.
pub(crate) fn passes(message: &str) -> bool {
    of_message(beginning(message)) == Nature::Transient
}

/// Whether a failed result says that the call itself waited until its time was up:
/// `timed out waiting for the condition`.
pub(crate) fn waited(output: &str) -> bool {
    beginning(output).contains("imed out waiting")
}

/// The part of an output that is read for its nature.
pub(super) fn beginning(output: &str) -> &str {
    head(output, READ)
}

/// The class of a message, whatever produced it: equal for messages that differ only in numbers, names and paths.
pub(crate) fn mistake(message: &str, salt: u64) -> Key {
    let mut normal = String::new();
    let (first, last) = clip_to(message, END);
    normalise(first, Strength::Heavy, &mut normal);
    normalise(last, Strength::Heavy, &mut normal);
    salted("class", salt, normal.as_bytes())
}

/// The mark of a message without what changes by itself; its figures are kept.
pub(crate) fn told(message: &str, salt: u64) -> u32 {
    let mut normal = String::new();
    normalise(message, Strength::Light, &mut normal);
    mark(salted("told", salt, normal.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::super::words::assert_sorted;
    use super::*;

    #[test]
    fn natures() {
        use Nature::{Ordinary, Permanent, Transient};
        for (message, expected) in [
            ("429 rate limited, retry after 2s", Transient),
            ("HTTP 503 Service Unavailable", Transient),
            ("Request timed out.", Transient),
            ("read ECONNRESET", Transient),
            ("An error occurred (SlowDown): Please reduce your request rate.", Transient),
            ("An error occurred (ThrottlingException) when calling the Invoke operation", Transient),
            ("429 monthly usage limit reached, resets in 16 days", Permanent),
            ("You exceeded your current quota, please check your plan and billing details", Permanent),
            ("Quota exceeded: 60 requests per minute", Transient),
            ("401 Unauthorized", Permanent),
            ("Incorrect API key provided", Permanent),
            ("prompt is too long", Ordinary),
            ("AssertionError: expected 200, got a page of 12 lines on line 503", Ordinary),
            ("", Ordinary),
        ] {
            let failure = Failure { message: message.into(), ..Failure::default() };
            assert_eq!(nature(&failure), expected, "{message}");
        }
        let told =
            |error_type| Failure { message: "it broke".into(), error_type: Some(error_type), ..Failure::default() };
        assert_eq!(nature(&told(ErrorType::Timeout)), Transient);
        assert_eq!(nature(&told(ErrorType::Authentication)), Permanent);
        assert_eq!(nature(&told(ErrorType::Logic)), Ordinary);
    }

    #[test]
    fn lists_are_sorted() {
        assert_sorted(TRANSIENT);
        assert_sorted(PERMANENT);
    }

    #[test]
    fn classes() {
        assert_eq!(mistake("line 3: no such file 'a.rs'", 0), mistake("line 9: no such file 'b.rs'", 0));
        assert_ne!(mistake("no such file", 0), mistake("no such function", 0));
    }
}
