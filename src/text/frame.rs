//! What stays of a call when its figures and the names with figures in them go: `kubectl delete pod shop-6c9d-wq2` and the same of
//! `shop-6c9d-x7k` are one frame.

/// Bytes of the arguments that are looked at.
const LONGEST: usize = 2048;

/// What a byte is of a word, whatever its case; [`DIGIT`], or 0 for what is of none.
const FOLDED: [u8; 256] = {
    let mut folded = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let own = byte as u8;
        if let Some(of) = folded.split_at_mut(byte).1.first_mut() {
            *of = match own {
                b'0'..=b'9' => DIGIT,
                b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'.' | 0x80.. => own.to_ascii_lowercase(),
                _ => 0,
            };
        }
        byte += 1;
    }
    folded
};
const DIGIT: u8 = 1;

/// Digest of the words in a call's arguments, in their order and whatever their case, without those that hold a digit.
pub(crate) fn frame(arguments: &str) -> u32 {
    const SEED: u32 = 0x811c_9dc5;
    let (mut sum, mut word, mut digit) = (SEED, SEED, false);
    let mut end = |word: u32, digit: bool| {
        if word != SEED && !digit {
            sum = (sum.rotate_left(5) ^ word).wrapping_mul(0x2c1b_3c6d);
        }
    };
    let bytes = arguments.as_bytes();
    for byte in bytes.get(..LONGEST).unwrap_or(bytes) {
        match FOLDED.get(usize::from(*byte)).copied().unwrap_or(0) {
            0 => {
                end(word, digit);
                (word, digit) = (SEED, false);
            }
            DIGIT => digit = true,
            folded => word = (word ^ u32::from(folded)).wrapping_mul(0x0100_0193),
        }
    }
    end(word, digit);
    sum
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn figures_and_names_go() {
        let one = r#"{"command":"kubectl -n shop delete pod shop-6c9d-wq2 --now"}"#;
        for other in [
            r#"{"command":"kubectl -n shop delete pod shop-7f1a-x7k --now"}"#,
            r#"{"command":"kubectl -n Shop delete pod 12 --now"}"#,
        ] {
            assert_eq!(frame(one), frame(other), "{other}");
        }
        for other in [
            r#"{"command":"kubectl -n shop delete pod shop-web --now"}"#,
            r#"{"command":"kubectl -n shop get pod shop-6c9d-wq2 --now"}"#,
            r#"{"command":"kubectl delete pod -n shop shop-6c9d-wq2 --now"}"#,
            "",
        ] {
            assert_ne!(frame(one), frame(other), "{other}");
        }
        assert_eq!(frame(r#"{"pose":[0.412,-0.188]}"#), frame(r#"{"pose":[0.4131,-0.1871]}"#));
    }
}
