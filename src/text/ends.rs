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

#[cfg(test)]
mod tests {
    use super::{clip, clip_to};

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
