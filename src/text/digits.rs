//! Whole numbers in decimal without the formatting machinery: lists are full of them, and so is guidance.

use smol_str::SmolStr;

/// Digits of `u64::MAX`.
pub(crate) const MOST: usize = 20;

/// The decimal digits of a number, written at the end of `room`.
pub(crate) fn digits(number: u64, room: &mut [u8; MOST]) -> &str {
    let mut rest = number;
    let mut length = 0;
    for digit in room.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        length += 1;
        if rest == 0 {
            break;
        }
    }
    core::str::from_utf8(room.get(MOST - length..).unwrap_or_default()).unwrap_or_default()
}

/// The decimal digits of a number as an owned string.
pub(crate) fn number(number: impl Into<u64>) -> SmolStr {
    SmolStr::new(digits(number.into(), &mut [0; MOST]))
}

#[cfg(test)]
mod tests {
    use super::number;
    use alloc::string::ToString;

    #[test]
    fn as_the_standard_library_writes_them() {
        for one in [0, 1, 9, 10, 99, 100, 65_535, u64::MAX / 10, u64::MAX] {
            assert_eq!(number(one), one.to_string());
        }
    }
}
