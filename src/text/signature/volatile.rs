//! Parts of text that change from run to run.

use alloc::string::String;

/// Replaces dates, times, durations, UUIDs, `0x…`, digests and long numbers by `#`; everything else stays as it is.
pub(super) fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut inside_word = false;
    while let Some(c) = rest.chars().next() {
        if !inside_word
            && c.is_ascii_hexdigit()
            && let Some(after) = volatile(rest)
        {
            out.push('#');
            inside_word = true; // what directly follows, as in `12ms)`, does not start another one
            rest = after;
            continue;
        }
        out.push(c);
        inside_word = c.is_alphanumeric() || c == '_' || (inside_word && c == '.');
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    out
}

/// What follows the volatile part that a text starts with; `None` if it starts with none.
fn volatile(text: &str) -> Option<&str> {
    date_time(text).or_else(|| clock(text)).or_else(|| duration(text)).or_else(|| {
        if let Some(hex) = text.strip_prefix("0x") {
            let width = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
            return hex.get(width..).filter(|rest| width > 3 && !continues(rest));
        }
        // No digest is longer, and a line of hyphens must not be read again from each hyphen.
        let width = text.bytes().take(130).take_while(|b| b.is_ascii_hexdigit() || *b == b'-').count();
        let (word, rest) = text.split_at_checked(width)?;
        let uuid = word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
        let plain = !word.contains('-');
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let digest = plain && width >= 7 && digits > 0 && digits < width;
        let epoch = plain && width >= 10 && digits == width;
        ((uuid || digest || epoch) && !continues(rest)).then_some(rest)
    })
}

fn continues(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn number(text: &str, digits: core::ops::RangeInclusive<usize>) -> Option<&str> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(count..).filter(|_| digits.contains(&count))
}

/// Whether a text begins with a moment, as lines that programs log do: `[2026-01-02 12:34:56] [INFO] …`.
pub(crate) fn is_logged(text: &str) -> bool {
    let text = text.trim_start_matches(['[', ' ']);
    date_time(text).or_else(|| clock(text)).is_some()
}

/// `2026-01-02`, alone or followed by a time and a zone.
fn date_time(text: &str) -> Option<&str> {
    let rest = number(text, 4..=4)?.strip_prefix(['-', '/'])?;
    let rest = number(number(rest, 2..=2)?.strip_prefix(['-', '/'])?, 2..=2)?;
    let time = rest.strip_prefix(['T', ' ', '_']).and_then(clock);
    Some(time.unwrap_or(rest)).filter(|rest| !continues(rest))
}

/// `12:34:56`, with fraction and zone.
fn clock(text: &str) -> Option<&str> {
    let rest = number(number(text, 1..=2)?.strip_prefix(':')?, 2..=2)?;
    let rest = number(rest.strip_prefix(':')?, 2..=2)?;
    let rest = rest.strip_prefix(['.', ',']).and_then(|rest| number(rest, 1..=9)).unwrap_or(rest);
    let zone = rest.strip_prefix('Z').or_else(|| {
        let rest = number(rest.strip_prefix(['+', '-'])?, 2..=4)?;
        Some(rest.strip_prefix(':').and_then(|rest| number(rest, 2..=2)).unwrap_or(rest))
    });
    Some(zone.unwrap_or(rest)).filter(|rest| !continues(rest))
}

/// `3s`, `1.25 ms`, `2m 3.5s`, `0.01 seconds`.
fn duration(text: &str) -> Option<&str> {
    let mut rest = time_span(text)?;
    for _ in 0..3 {
        match time_span(rest.strip_prefix(' ').unwrap_or(rest)) {
            Some(after) => rest = after,
            None => break,
        }
    }
    Some(rest)
}

/// A number and its unit.
fn time_span(text: &str) -> Option<&str> {
    const UNITS: &str = "milliseconds microseconds millis seconds minutes second minute hours secs mins hour sec min \
    hrs ms us µs μs ns s m h";
    let rest = number(text, 1..=12)?;
    let rest = rest.strip_prefix(['.', ',']).and_then(|rest| number(rest, 1..=12)).unwrap_or(rest);
    let close = rest.strip_prefix(' ').unwrap_or(rest);
    let unit = UNITS
        .split(' ')
        .find(|unit| close.strip_prefix(*unit).is_some_and(|rest| !rest.starts_with(char::is_alphabetic)))?;
    // `5 m` and `5 h` are rarely durations.
    if close.len() != rest.len() && matches!(unit, "m" | "h") {
        return None;
    }
    close.strip_prefix(unit)
}
