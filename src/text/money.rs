//! Amounts of money, without floating point.

/// A decimal number such as `0.0125` or `1.25e-2` in millionths, truncated; `None` if it is not one, is negative or too
/// large.
pub(crate) fn millionths(text: &str) -> Option<u64> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_number = !whole.is_empty() && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !is_number {
        return None;
    }
    // Number of digits up to the millionths.
    let before = i32::try_from(whole.len()).ok()?.checked_add(exponent)?.checked_add(6)?;
    let Ok(before) = usize::try_from(before) else { return Some(0) };
    // More digits than any amount has.
    if before > 40 {
        return None;
    }
    let mut digits = whole.bytes().chain(fraction.bytes()).chain(core::iter::repeat(b'0')).take(before);
    digits.try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit.saturating_sub(b'0'))))
}

/// The cost of `tokens` tokens in millionths, at `price` millionths per million tokens; rounded down, saturating.
pub(crate) fn cost_of(tokens: u64, price: u64) -> u64 {
    // In parts: a division of 128 bits takes a kilobyte of a module.
    const MILLION: u64 = 1_000_000;
    let (millions, rest) = (tokens / MILLION, tokens % MILLION);
    let part = rest * (price / MILLION) + rest * (price % MILLION) / MILLION;
    millions.saturating_mul(price).saturating_add(part)
}

#[cfg(test)]
mod tests {
    use super::{cost_of, millionths};

    #[test]
    fn tokens_at_a_price() {
        for (tokens, price, cost) in [
            (0, 2_500_000, 0),
            (1, 2_500_000, 2),
            (1_000_000, 2_500_000, 2_500_000),
            (1800, 3_000_000, 5400),
            (u64::MAX, 1_000_000, u64::MAX),
            (1_999_999, u64::MAX - 1, u64::MAX),
            (999_999, u64::MAX, 18_446_725_626_965_477_905),
            (u64::MAX, u64::MAX, u64::MAX),
        ] {
            assert_eq!(cost_of(tokens, price), cost, "{tokens} at {price}");
        }
    }

    #[test]
    fn money_without_floating_point() {
        for (text, micros) in [
            ("0", Some(0)),
            ("1", Some(1_000_000)),
            ("0.0125", Some(12_500)),
            ("1.25e-2", Some(12_500)),
            ("2.4999999e-7", Some(0)),
            ("3e-05", Some(30)),
            ("12.3456789", Some(12_345_678)),
            ("1.5e3", Some(1_500_000_000)),
            ("1e300", None),
            ("-1", None),
            ("NaN", None),
            ("", None),
            (".5", None),
        ] {
            assert_eq!(millionths(text), micros, "{text}");
        }
    }
}
