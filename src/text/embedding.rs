//! A request's embedding, kept small and compared without floating-point arithmetic.
//!
//! Every number becomes a fixed-point integer from the bits of its IEEE 754 encoding: the largest exponent of the list
//! is the common scale (a cosine is independent of scale), and mantissas are shifted to it and rounded. Only integer
//! operations are applied, so every platform gets the same integers, sums and answers; there is no rounding mode, fused
//! multiplication or summation order to disagree on. The cosine is compared with the threshold by cross-multiplying
//! squares: `dot² · 10⁶ > threshold² · |a|² · |b|²`, in 128 bits.
//!
//! Up to [`FINE`] numbers keep 15 bits each. Longer lists keep 7 bits and a scale per [`BLOCK`], so that a few large
//! numbers do not cost the many small ones their precision: the error of the cosine stays below half a per cent (see
//! the tests), and 1,536 numbers take 1.6 KB.

use crate::codec::codec;
use alloc::vec::Vec;

/// Longest list that is accepted, in numbers.
pub(crate) const LONGEST: usize = 4096;
/// Longest list that is kept at 15 bits per number.
const FINE: usize = 256;
/// Numbers of a longer list that share a scale.
const BLOCK: usize = 16;
/// The lowest scale of a block, as a power of two below that of the list: smaller numbers become 0.
const DEEPEST: u8 = 40;

/// A quantised embedding.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Embedding {
    /// 15 bits and a sign per number.
    Fine(Vec<i16>),
    /// 7 bits and a sign per number, and how far, in powers of two, the scale of each block is below that of the list.
    Coarse(Vec<i8>, Vec<u8>),
}
codec!(enum Embedding { Fine(first): 0, Coarse(first, second): 1 });

impl Embedding {
    /// `None` if there is no direction: an empty list, only zeros, or a number that is not finite.
    pub(crate) fn of(numbers: &[f64]) -> Option<Self> {
        let scale = numbers.iter().map(|number| Double::of(*number).exponent).max()?;
        if !numbers.iter().all(|number| number.is_finite())
            || numbers.iter().all(|number| Double::of(*number).mantissa == 0)
        {
            return None;
        }
        if numbers.len() <= FINE {
            let fixed = numbers.iter().map(|number| Double::of(*number).fixed(scale, 15));
            return Some(Self::Fine(fixed.map(|number| i16::try_from(number).unwrap_or(i16::MAX)).collect()));
        }
        let (mut fixed, mut depths) = (Vec::with_capacity(numbers.len()), Vec::new());
        for block in numbers.chunks(BLOCK) {
            let largest = block.iter().map(|number| Double::of(*number).exponent).max().unwrap_or(scale);
            let depth = u8::try_from(scale.saturating_sub(largest)).unwrap_or(DEEPEST).min(DEEPEST);
            let own = scale.saturating_sub(depth.into());
            let block = block.iter().map(|number| Double::of(*number).fixed(own, 7));
            fixed.extend(block.map(|number| i8::try_from(number).unwrap_or(i8::MAX)));
            depths.push(depth);
        }
        Some(Self::Coarse(fixed, depths))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Fine(numbers) => numbers.len(),
            Self::Coarse(numbers, _) => numbers.len(),
        }
    }

    /// Bytes of memory on the heap.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Fine(numbers) => numbers.len() * 2,
            Self::Coarse(numbers, depths) => numbers.len() + depths.len(),
        }
    }

    /// The signs of 64 numbers at even distances, from the lowest bit on: negative ones are 0. Never 0 itself.
    pub(crate) fn signs(&self) -> u64 {
        let bit = |index: usize| {
            let at = index * self.len() / 64;
            let negative = match self {
                Self::Fine(numbers) => numbers.get(at).is_some_and(|number| *number < 0),
                Self::Coarse(numbers, _) => numbers.get(at).is_some_and(|number| *number < 0),
            };
            u64::from(!negative) << index
        };
        (0..64).map(bit).fold(0, |signs, bit| signs | bit).max(1)
    }

    /// Whether the cosine is above `per_mille` thousandths; never for different lengths.
    pub(crate) fn alike(&self, other: &Self, per_mille: u32) -> bool {
        match (self, other) {
            (Self::Fine(a), Self::Fine(b)) => {
                let dot = |a: &[i16], b: &[i16]| i128::from(product(a, b));
                a.len() == b.len() && above(dot(a, b), dot(a, a), dot(b, b), per_mille)
            }
            (Self::Coarse(a, of_a), Self::Coarse(b, of_b)) => {
                let (a, b) = ((a.as_slice(), of_a.as_slice()), (b.as_slice(), of_b.as_slice()));
                a.0.len() == b.0.len() && above(blocks(a, b), blocks(a, a), blocks(b, b), per_mille)
            }
            _ => false,
        }
    }
}

/// A double taken apart: `±mantissa · 2^exponent`.
#[derive(Clone, Copy)]
struct Double {
    negative: bool,
    mantissa: u64,
    exponent: i64,
}

impl Double {
    fn of(number: f64) -> Self {
        const MANTISSA: u32 = 52;
        let bits = number.to_bits();
        let stored = (bits >> MANTISSA) & 0x7ff;
        let fraction = bits & ((1 << MANTISSA) - 1);
        // A subnormal number has no hidden bit and the exponent of the smallest normal one; it is shifted up to have
        // both.
        let mantissa = if stored == 0 { fraction } else { fraction | 1 << MANTISSA };
        let up = if mantissa == 0 { 0 } else { mantissa.leading_zeros() - (63 - MANTISSA) };
        let exponent = if mantissa == 0 { i64::MIN } else { i64::try_from(stored.max(1)).unwrap_or(0) - i64::from(up) };
        Self { negative: bits >> 63 == 1, mantissa: mantissa << up, exponent }
    }

    /// The number as an integer of `bits` bits and a sign, with 2^(scale + 1) as full scale.
    fn fixed(self, scale: i64, bits: u32) -> i64 {
        let shift = i64::from(53 - bits).saturating_add(scale.saturating_sub(self.exponent));
        let full = (1_u64 << bits) - 1;
        let magnitude = if shift > 54 { 0 } else { ((self.mantissa + (1 << (shift - 1))) >> shift).min(full) };
        // INVARIANT: at most 15 bits.
        let magnitude = i64::try_from(magnitude).unwrap_or(0);
        if self.negative { -magnitude } else { magnitude }
    }
}

/// At most 4,096 products of 30 bits: 42 bits.
fn product<T: Copy + Into<i64>>(a: &[T], b: &[T]) -> i64 {
    a.iter().zip(b).fold(0_i64, |sum, (a, b)| sum.saturating_add((*a).into() * (*b).into()))
}

/// The dot product of two lists of blocks: at most 256 products of 18 bits, each shifted by at most 80 bits.
fn blocks((a, of_a): (&[i8], &[u8]), (b, of_b): (&[i8], &[u8])) -> i128 {
    let pairs = a.chunks(BLOCK).zip(of_a).zip(b.chunks(BLOCK).zip(of_b));
    pairs.fold(0, |sum: i128, ((a, of_a), (b, of_b))| {
        let shift = 2 * u32::from(DEEPEST) - u32::from((*of_a).min(DEEPEST)) - u32::from((*of_b).min(DEEPEST));
        sum.saturating_add(i128::from(product(a, b)) << shift)
    })
}

/// Whether `both² · 10⁶` exceeds `per_mille² · a · b`. All three are shifted down alike to 50 bits, so that the
/// products fit.
fn above(both: i128, a: i128, b: i128, per_mille: u32) -> bool {
    let widest = both.unsigned_abs().max(a.unsigned_abs()).max(b.unsigned_abs());
    let shift = (128 - widest.leading_zeros()).saturating_sub(50);
    let wide = |number: i128| number.unsigned_abs() >> shift;
    let threshold = u128::from(per_mille);
    both > 0 && wide(both) * wide(both) * 1_000_000 > threshold * threshold * wide(a) * wide(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &[f64], b: &[f64], per_mille: u32) -> bool {
        Embedding::of(a).unwrap().alike(&Embedding::of(b).unwrap(), per_mille)
    }

    /// One large number and many small ones, at a cosine of `per_mille`, in any order.
    #[test]
    fn the_edge_of_long_lists() {
        for length in [257_u32, 1536, 3072, 4096] {
            for (per_mille, expected) in [(840, false), (845, false), (855, true), (860, true)] {
                let cosine = f64::from(per_mille) / 1000.0;
                let rest = ((1.0 - cosine * cosine) / f64::from(length - 1)).sqrt();
                let mut one = alloc::vec![0.0; length as usize];
                let mut two = alloc::vec![rest; length as usize];
                for at in [0, 7, length as usize - 1] {
                    (one[at], two[at]) = (1.0, cosine);
                    assert_eq!(alike(&one, &two, 850), expected, "{length} {per_mille} {at}");
                    (one[at], two[at]) = (0.0, rest);
                }
                // Spread evenly, and scaled.
                let side = ((1.0 - cosine * cosine) / f64::from(length)).sqrt();
                let mean = cosine / f64::from(length).sqrt();
                let even: Vec<f64> =
                    (0..length).map(|at| mean + if at % 2 == 0 { side } else { -side }).map(|x| x * 77.0).collect();
                if length % 2 == 0 {
                    assert_eq!(alike(&alloc::vec![1.0; length as usize], &even, 850), expected, "{length} {per_mille}");
                }
            }
        }
    }

    #[test]
    fn table() {
        for (a, b, expected) in [
            (&[1.0, 0.0][..], &[1.0, 0.0][..], true),
            (&[1.0, 0.0], &[0.0, 1.0], false),
            (&[1.0, 0.0], &[-1.0, 0.0], false),
            (&[1.0, 0.0], &[0.86, 0.510_294_0], true),
            (&[1.0, 0.0], &[0.851, 0.525_165_0], true),
            (&[1.0, 0.0], &[0.849, 0.528_393_0], false),
            (&[1.0, 0.0], &[0.84, 0.542_586_0], false),
            // Scale does not matter.
            (&[1e-300, 2e-300], &[1e300, 2e300], true),
            (&[5e-324, 5e-324], &[1.0, 1.0], true),
            (&[1.0, 1e-30], &[1.0, -1e-30], true),
            // Different lengths are never alike; the detector rejects them earlier.
            (&[1.0], &[1.0, 0.0], false),
        ] {
            assert_eq!(alike(a, b, 850), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn what_has_no_direction() {
        for numbers in [&[][..], &[0.0, -0.0], &[f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!(Embedding::of(numbers), None, "{numbers:?}");
        }
    }

    #[test]
    fn the_integers_are_the_same_for_ever() {
        let quantised = Embedding::of(&[1.0, -0.5, 0.333, 1.999_999, 0.0]).unwrap();
        assert_eq!(quantised, Embedding::Fine(alloc::vec![16384, -8192, 5456, 32767, 0]));
    }

    /// Pseudo-random vectors whose cosine is spread around the threshold: only within half a per cent of it may the
    /// coarse form err.
    #[test]
    fn coarse_is_close() {
        let mut seed = 7_u64;
        let mut random = || {
            let mut sum = 0.0;
            for _ in 0..4 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sum += (seed >> 40) as f64 / f64::from(1 << 24) - 0.5;
            }
            sum
        };
        for length in [257, 384, 768, 1536, 3072] {
            for mix in 1..40 {
                let a: Vec<f64> = (0..length).map(|_| random()).collect();
                let b: Vec<f64> = a.iter().map(|a| a + random() * f64::from(mix) / 30.0).collect();
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                let cosine = dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
                if (cosine - 0.85).abs() > 0.005 {
                    assert_eq!(alike(&a, &b, 850), cosine > 0.85, "{length} {cosine}");
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_numbers_are_survived(a in proptest::collection::vec(proptest::num::f64::ANY, 0..40)) {
            if let Some(embedding) = Embedding::of(&a) {
                proptest::prop_assert!(embedding.alike(&embedding, 850));
            }
        }
    }
}
