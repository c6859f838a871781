//! What the names of a JSON answer's fields tell about their values.

use super::words::{Sieve, is_in, is_name_in, name_words};

/// Words that make a field volatile wherever they occur in its name.
const VOLATILE_WORDS: &str = "duration durations elapsed etag latencies latency nonce pid timestamp timestamps \
    uptime uuid";

/// Words that do as the last of several: `created_at`, `tookMs`.
const VOLATILE_ENDS: &str = "at ms ns";

/// Whole names that do.
const VOLATILE_NAMES: &str = "calculatedid callid cfray correlationid cwd eventid executioncount executionid \
    invocationid logid messageid ms operationid processid ratelimit requestid responseid rev revision runid \
    servedby sessionid spanid systemfingerprint threadid timetaken took toolcallid traceid transactionid \
    workingdirectory";

/// Whole names for the request or run that produced the answer: their values are random even when short.
const DOINGS: &str = "correlation op operation opid ref reference req reqid request rid run trace txid txn";

/// What a field's name tells about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldMeaning {
    /// Masked in any case.
    Volatile,
    /// An id: masked if it looks random rather than counted, for a short or plain number is content.
    Id,
    /// The answer's own id: masked if it looks random or is hexadecimal.
    Doing,
    /// Part of the answer.
    Content,
}

/// The features of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameFeatures {
    pub(super) named: FieldMeaning,
    /// It contains digits.
    pub(super) digits: bool,
    /// Its role in a message envelope.
    pub(super) part: EnvelopeFields,
}

impl NameFeatures {
    pub(super) fn of(name: &str) -> Self {
        Self {
            named: named(name),
            digits: name.bytes().any(|byte| byte.is_ascii_digit()),
            part: EnvelopeFields::of(name),
        }
    }
}

pub(super) fn named(name: &str) -> FieldMeaning {
    const NAMES: Sieve = Sieve::of(&[VOLATILE_NAMES, DOINGS]);
    const WORDS: Sieve = Sieve::of(&[VOLATILE_WORDS]);
    if NAMES.passes_name(name) {
        if is_name_in(VOLATILE_NAMES, name) {
            return FieldMeaning::Volatile;
        }
        if is_name_in(DOINGS, name) {
            return FieldMeaning::Doing;
        }
    }
    let is_volatile = |word: &str| WORDS.passes_name(word) && is_in(VOLATILE_WORDS, word);
    let mut words = name_words(name);
    let first = words.next().unwrap_or_default();
    let (mut last, mut second) = ("", "");
    if is_volatile(first) {
        return FieldMeaning::Volatile;
    }
    for word in words {
        if second.is_empty() {
            second = word;
        }
        if is_volatile(word) {
            return FieldMeaning::Volatile;
        }
        last = word;
    }
    let limits_rate = first.eq_ignore_ascii_case("rate") && second.to_ascii_lowercase().starts_with("limit");
    if limits_rate || is_in(VOLATILE_ENDS, last) {
        FieldMeaning::Volatile
    } else if last.eq_ignore_ascii_case("id") {
        FieldMeaning::Id
    } else {
        FieldMeaning::Content
    }
}

/// The names of a message envelope's fields that an object has, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EnvelopeFields(u8);

impl EnvelopeFields {
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

    /// Whether these make an object a message envelope: its `id` numbers the message and tells nothing about the
    /// contents.
    pub(super) fn wrap(self) -> bool {
        let has = |parts: u8| self.0 & parts == parts;
        // Without `id` or `created` there is nothing to mask.
        (has(Self::ID) || has(Self::CREATED))
            && (has(Self::JSONRPC) || has(Self::OBJECT | Self::CREATED) || has(Self::ROLE | Self::CONTENT))
    }

    /// Whether a field of this name is masked in an envelope.
    pub(super) fn numbers(self) -> bool {
        self.0 & (Self::ID | Self::CREATED) != 0
    }
}
