//! Lower case.

use alloc::string::String;

/// The upper-case characters beyond ASCII: the first of a range, how much further its last one is, and what is added to
/// each for lower case. Where that is 1, upper and lower case alternate, and the range holds every second character.
#[rustfmt::skip]
const UPPER: [(u32, u8, i32); 188] = [
    (0xc0, 22, 32), (0xd8, 6, 32), (0x100, 46, 1), (0x130, 0, -199), (0x132, 4, 1), (0x139, 14, 1), (0x14a, 44, 1),
    (0x178, 0, -121), (0x179, 4, 1), (0x181, 0, 210), (0x182, 2, 1), (0x186, 0, 206), (0x187, 0, 1), (0x189, 1, 205),
    (0x18b, 0, 1), (0x18e, 0, 79), (0x18f, 0, 202), (0x190, 0, 203), (0x191, 0, 1), (0x193, 0, 205), (0x194, 0, 207),
    (0x196, 0, 211), (0x197, 0, 209), (0x198, 0, 1), (0x19c, 0, 211), (0x19d, 0, 213), (0x19f, 0, 214), (0x1a0, 4, 1),
    (0x1a6, 0, 218), (0x1a7, 0, 1), (0x1a9, 0, 218), (0x1ac, 0, 1), (0x1ae, 0, 218), (0x1af, 0, 1), (0x1b1, 1, 217),
    (0x1b3, 2, 1), (0x1b7, 0, 219), (0x1b8, 0, 1), (0x1bc, 0, 1), (0x1c4, 0, 2), (0x1c5, 0, 1), (0x1c7, 0, 2),
    (0x1c8, 0, 1), (0x1ca, 0, 2), (0x1cb, 16, 1), (0x1de, 16, 1), (0x1f1, 0, 2), (0x1f2, 2, 1), (0x1f6, 0, -97),
    (0x1f7, 0, -56), (0x1f8, 38, 1), (0x220, 0, -130), (0x222, 16, 1), (0x23a, 0, 10795), (0x23b, 0, 1),
    (0x23d, 0, -163), (0x23e, 0, 10792), (0x241, 0, 1), (0x243, 0, -195), (0x244, 0, 69), (0x245, 0, 71),
    (0x246, 8, 1), (0x370, 2, 1), (0x376, 0, 1), (0x37f, 0, 116), (0x386, 0, 38), (0x388, 2, 37), (0x38c, 0, 64),
    (0x38e, 1, 63), (0x391, 16, 32), (0x3a3, 8, 32), (0x3cf, 0, 8), (0x3d8, 22, 1), (0x3f4, 0, -60), (0x3f7, 0, 1),
    (0x3f9, 0, -7), (0x3fa, 0, 1), (0x3fd, 2, -130), (0x400, 15, 80), (0x410, 31, 32), (0x460, 32, 1), (0x48a, 52, 1),
    (0x4c0, 0, 15), (0x4c1, 12, 1), (0x4d0, 94, 1), (0x531, 37, 48), (0x10a0, 37, 7264), (0x10c7, 0, 7264),
    (0x10cd, 0, 7264), (0x13a0, 79, 38864), (0x13f0, 5, 8), (0x1c89, 0, 1), (0x1c90, 42, -3008), (0x1cbd, 2, -3008),
    (0x1e00, 148, 1), (0x1e9e, 0, -7615), (0x1ea0, 94, 1), (0x1f08, 7, -8), (0x1f18, 5, -8), (0x1f28, 7, -8),
    (0x1f38, 7, -8), (0x1f48, 5, -8), (0x1f59, 0, -8), (0x1f5b, 0, -8), (0x1f5d, 0, -8), (0x1f5f, 0, -8),
    (0x1f68, 7, -8), (0x1f88, 7, -8), (0x1f98, 7, -8), (0x1fa8, 7, -8), (0x1fb8, 1, -8), (0x1fba, 1, -74),
    (0x1fbc, 0, -9), (0x1fc8, 3, -86), (0x1fcc, 0, -9), (0x1fd8, 1, -8), (0x1fda, 1, -100), (0x1fe8, 1, -8),
    (0x1fea, 1, -112), (0x1fec, 0, -7), (0x1ff8, 1, -128), (0x1ffa, 1, -126), (0x1ffc, 0, -9), (0x2126, 0, -7517),
    (0x212a, 0, -8383), (0x212b, 0, -8262), (0x2132, 0, 28), (0x2160, 15, 16), (0x2183, 0, 1), (0x24b6, 25, 26),
    (0x2c00, 47, 48), (0x2c60, 0, 1), (0x2c62, 0, -10743), (0x2c63, 0, -3814), (0x2c64, 0, -10727), (0x2c67, 4, 1),
    (0x2c6d, 0, -10780), (0x2c6e, 0, -10749), (0x2c6f, 0, -10783), (0x2c70, 0, -10782), (0x2c72, 0, 1),
    (0x2c75, 0, 1), (0x2c7e, 1, -10815), (0x2c80, 98, 1), (0x2ceb, 2, 1), (0x2cf2, 0, 1), (0xa640, 44, 1),
    (0xa680, 26, 1), (0xa722, 12, 1), (0xa732, 60, 1), (0xa779, 2, 1), (0xa77d, 0, -35332), (0xa77e, 8, 1),
    (0xa78b, 0, 1), (0xa78d, 0, -42280), (0xa790, 2, 1), (0xa796, 18, 1), (0xa7aa, 0, -42308), (0xa7ab, 0, -42319),
    (0xa7ac, 0, -42315), (0xa7ad, 0, -42305), (0xa7ae, 0, -42308), (0xa7b0, 0, -42258), (0xa7b1, 0, -42282),
    (0xa7b2, 0, -42261), (0xa7b3, 0, 928), (0xa7b4, 14, 1), (0xa7c4, 0, -48), (0xa7c5, 0, -42307),
    (0xa7c6, 0, -35384), (0xa7c7, 2, 1), (0xa7cb, 0, -42343), (0xa7cc, 14, 1), (0xa7dc, 0, -42561), (0xa7f5, 0, 1),
    (0xff21, 25, 32), (0x10400, 39, 40), (0x104b0, 35, 40), (0x10570, 10, 39), (0x1057c, 14, 39), (0x1058c, 6, 39),
    (0x10594, 1, 39), (0x10c80, 50, 64), (0x10d50, 21, 32), (0x118a0, 31, 32), (0x16e40, 31, 32), (0x16ea0, 24, 27),
    (0x1e900, 33, 34),
];

/// A character in lower case, always a single one: as `char::to_lowercase`, except that a capital `I` with a dot
/// becomes a plain `i`. The standard library's table is 12 KB of a module; this one is 2.
#[inline]
pub(crate) fn lower(char: char) -> char {
    if char.is_ascii() { char.to_ascii_lowercase() } else { lower_wide(char) }
}

fn lower_wide(char: char) -> char {
    let code = u32::from(char);
    let before = UPPER.partition_point(|(first, ..)| *first <= code);
    let Some((first, further, added)) = before.checked_sub(1).and_then(|at| UPPER.get(at)) else { return char };
    let distance = code.saturating_sub(*first);
    let upper = distance <= u32::from(*further) && (*added != 1 || distance.is_multiple_of(2));
    if upper { code.checked_add_signed(*added).and_then(char::from_u32).unwrap_or(char) } else { char }
}

/// A text in lower case, character by character.
pub(crate) fn lower_text(text: &str) -> String {
    text.chars().map(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::{lower, lower_text};

    /// For every character; a newer standard library may know more capitals.
    #[test]
    fn as_the_standard_library_does_it() {
        let same_unicode = char::UNICODE_VERSION == (17, 0, 0);
        for char in '\0'..=char::MAX {
            let (ours, theirs) = (lower(char), char.to_lowercase().next());
            assert!(Some(ours) == theirs || (ours == char && !same_unicode), "{char}: {ours}, {theirs:?}");
        }
        assert_eq!(lower_text("ÄÖÜ ŁÓDŹ ΟΔΟΣ ЁЖ İSTANBUL 東京 ＡＢ Ǆ"), "äöü łódź οδοσ ёж istanbul 東京 ａｂ ǆ");
    }
}
