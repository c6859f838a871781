//! Sorting with little code: the standard library's sorts are tuned for many items and compiled for every type.

use alloc::{collections::BinaryHeap, vec::Vec};

/// The items in ascending order.
pub(crate) fn sorted<T: Ord>(items: Vec<T>) -> Vec<T> {
    BinaryHeap::from(items).into_sorted_vec()
}

/// Sorts items in place; items that do not belong behind each other keep their order.
///
/// For lists with a small bound, most of which have two or three items.
pub(crate) fn sort_few<T>(items: &mut [T], belongs_behind: impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        for at in (1..=end).rev() {
            match items.get(at - 1..=at) {
                Some([before, item]) if belongs_behind(before, item) => items.swap(at - 1, at),
                _ => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{sort_few, sorted};
    use alloc::vec::Vec;

    #[test]
    fn as_the_standard_library_does_it() {
        for seed in 0..200_u32 {
            let mut few: Vec<(u32, u32)> = (0..seed % 17).map(|at| ((seed * 31 + at * at * 7) % 5, at)).collect();
            let mut expected = few.clone();
            expected.sort_by_key(|(key, _)| core::cmp::Reverse(*key));
            sort_few(&mut few, |one, other| one.0 < other.0);
            assert_eq!(few, expected);
            expected.sort_unstable();
            assert_eq!(sorted(few), expected);
        }
    }
}
