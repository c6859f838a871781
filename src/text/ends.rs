//! The head and the tail of a text, cut at character boundaries.

/// Length in bytes above which a text is compared by its two ends and a digest of the middle.
pub(crate) const CLIP_ABOVE: usize = 8 * 1024;

/// At most the first `most` bytes of a text. Not inlined on Wasm, where code size matters.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline)]
pub(crate) fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default()
}

/// At most the last `most` bytes of a text.
#[cfg_attr(target_family = "wasm", inline(never))]
#[cfg_attr(not(target_family = "wasm"), inline)]
pub(crate) fn tail(text: &str, most: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(most))..).unwrap_or_default()
}

/// The first and the last 4 KB of a text longer than 8 KB; otherwise the whole text and an empty tail.
pub(crate) fn clip(text: &str) -> (&str, &str) {
    clip_to(text, CLIP_ABOVE / 2)
}

/// The first and the last `half` bytes of a text longer than both; otherwise the whole text and an empty tail.
pub(crate) fn clip_to(text: &str, half: usize) -> (&str, &str) {
    if text.len() <= half.saturating_mul(2) { (text, "") } else { (head(text, half), tail(text, half)) }
}

/// The texts on either side of the last occurrence of a separator. The standard library's search from the end takes 3 KB
/// of code.
#[cfg_attr(target_family = "wasm", inline(never))]
pub(crate) fn split_last<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let at = text.as_bytes().windows(separator.len().max(1)).rposition(|found| found == separator.as_bytes())?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}

/// What follows the last occurrence of a separator: the whole text if there is none.
pub(crate) fn behind_last<'a>(text: &'a str, separator: &str) -> &'a str {
    split_last(text, separator).map_or(text, |(_, last)| last)
}

#[cfg(test)]
mod tests {
    use super::{behind_last, clip, clip_to, split_last};

    proptest::proptest! {
        #[test]
        fn separators_are_found_as_the_standard_library_does(text in "[_:é]{0,9}", separator in "_{1,2}|: ?|é_") {
            proptest::prop_assert_eq!(split_last(&text, &separator), text.rsplit_once(&*separator));
            proptest::prop_assert_eq!(Some(behind_last(&text, &separator)), text.rsplit(&*separator).next());
        }
    }

    #[test]
    fn clips_on_character_boundaries() {
        assert_eq!(clip("short"), ("short", ""));
        let long = "é".repeat(5000);
        let (head, tail) = clip(&long);
        assert_eq!((head.len(), tail.len()), (4096, 4096));
        let odd = alloc::format!("x{long}");
        let (head, tail) = clip(&odd);
        assert!(head.len() <= 4096 && tail.len() <= 4096 && head.len() > 4090 && tail.len() > 4090);
        assert_eq!(clip_to("abcdef", 2), ("ab", "ef"));
    }
}
