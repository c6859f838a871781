//! RFC 3339 date-times, parsed by hand: session files use one fixed form, and a date library would add calendars, time
//! zones and formatting to the wasm build.

/// Parses `2026-01-02T03:04:05.678Z` into milliseconds since the Unix epoch. The fraction is optional and truncated to
/// milliseconds; an offset such as `+01:00` may replace the `Z`.
pub(super) fn millis(text: &str) -> Option<i64> {
    let mut rest = text;
    let year = field(&mut rest, 4, 0..=9999)?;
    let month = field(separator(&mut rest, "-")?, 2, 1..=12)?;
    let day = field(separator(&mut rest, "-")?, 2, 1..=31)?;
    if day > days_in_month(year, month) {
        return None;
    }
    let hour = field(separator(&mut rest, "Tt ")?, 2, 0..=23)?;
    let minute = field(separator(&mut rest, ":")?, 2, 0..=59)?;
    let second = field(separator(&mut rest, ":")?, 2, 0..=60)?; // 60: a leap second
    let mut thousandths = 0;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, after) = fraction.split_at_checked(digits)?;
        if digits.is_empty() {
            return None;
        }
        thousandths = digits.bytes().chain(*b"00").take(3).fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        rest = after;
    }
    let offset = match rest {
        "Z" | "z" => 0,
        _ => {
            let sign = if rest.starts_with('-') { -1 } else { 1 };
            let hours = field(separator(&mut rest, "+-")?, 2, 0..=23)?;
            let minutes = field(separator(&mut rest, ":")?, 2, 0..=59)?;
            if !rest.is_empty() {
                return None;
            }
            sign * (hours * 60 + minutes)
        }
    };
    let minutes = days_since_epoch(year, month, day) * 24 * 60 + hour * 60 + minute - offset;
    Some((minutes * 60 + second) * 1000 + thousandths)
}

fn separator<'a, 'b>(rest: &'a mut &'b str, one_of: &str) -> Option<&'a mut &'b str> {
    *rest = rest.strip_prefix(|c| one_of.contains(c))?;
    Some(rest)
}

fn field(rest: &mut &str, width: usize, range: core::ops::RangeInclusive<i64>) -> Option<i64> {
    let (digits, after) = rest.split_at_checked(width)?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    *rest = after;
    digits.parse().ok().filter(|value| range.contains(value))
}

fn leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Leap days of all full years before this one, counted from year 0; 1970-01-01 is day 719,528.
    let before = year - 1;
    let years = year * 365 + if year > 0 { before / 4 - before / 100 + before / 400 + 1 } else { 0 };
    let months: i64 = (1..month).map(|month| days_in_month(year, month)).sum();
    years + months + day - 1 - 719_528
}

#[cfg(test)]
mod tests {
    use super::millis;

    #[test]
    fn instants() {
        let rows = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:00.001Z", Some(1)),
            ("1969-12-31T23:59:59.999Z", Some(-1)),
            ("2000-02-29T12:00:00Z", Some(951_825_600_000)),
            ("2026-01-02T03:04:05.678Z", Some(1_767_323_045_678)),
            ("2026-01-02T03:04:05.6Z", Some(1_767_323_045_600)),
            ("2026-01-02T03:04:05.678999999Z", Some(1_767_323_045_678)),
            ("2026-01-02T04:04:05.678+01:00", Some(1_767_323_045_678)),
            ("2026-01-01T21:34:05.678-05:30", Some(1_767_323_045_678)),
            ("2026-01-02 03:04:05z", Some(1_767_323_045_000)),
            ("2016-12-31T23:59:60Z", Some(1_483_228_800_000)),
            ("0000-01-01T00:00:00Z", Some(-62_167_219_200_000)),
            ("9999-12-31T23:59:59.999Z", Some(253_402_300_799_999)),
            ("2026-02-29T00:00:00Z", None),
            ("1900-02-29T00:00:00Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-02T24:00:00Z", None),
            ("2026-01-02T03:04:05", None),
            ("2026-01-02T03:04:05.Z", None),
            ("2026-01-02T03:04:05+0100", None),
            ("2026-01-02T03:04:05Zx", None),
            ("2026-1-2T03:04:05Z", None),
            ("+026-01-02T03:04:05Z", None),
            ("２026-01-02T03:04:05Z", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(millis(text), expected, "{text}");
        }
    }
}
