use crate::codec::{Codec, Reader};
use alloc::vec::Vec;

/// The latest items, oldest first. The cap is the caller's, so that a window can be configured.
///
/// They are contiguous, and dropping the oldest moves the rest: no window has more than a few hundred items, most have
/// a dozen, so this is one copy of memory in use anyway, whereas a circular buffer would make every rule walk two
/// slices.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ring<T>(Vec<T>);

impl<T: Codec> Codec for Ring<T> {
    /// The size of a circular buffer, so that how many runs fit into `memory.maxBytes` does not depend on the layout.
    const SIZE: usize = 32;

    #[inline]
    fn heap(&self) -> usize {
        self.0.heap()
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        Self(Vec::take(from))
    }
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Ring<T> {
    /// Gives back the room for more items.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Appends, dropping the oldest items beyond `cap`.
    pub(crate) fn push(&mut self, item: T, cap: usize) {
        while self.0.len() >= cap.max(1) {
            self.0.remove(0);
        }
        // Grow by half and never beyond the cap: most windows of most runs stay short.
        let len = self.0.len();
        if len == self.0.capacity() {
            self.0.reserve_exact((len / 2).max(1).min(cap.saturating_sub(len)));
        }
        self.0.push(item);
    }

    /// Whether any item matches. All are looked at, without an early exit, so that the compiler can vectorise it.
    #[inline]
    pub(crate) fn holds(&self, matches: impl Fn(&T) -> bool) -> bool {
        self.0.iter().fold(false, |holds, item| holds | matches(item))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn iter(&self) -> core::slice::Iter<'_, T> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> core::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }

    /// The item `back` places before the newest: `nth_back(0)` is the newest.
    pub(crate) fn nth_back(&self, back: usize) -> Option<&T> {
        self.0.len().checked_sub(back + 1).and_then(|index| self.0.get(index))
    }

    pub(crate) fn nth_back_mut(&mut self, back: usize) -> Option<&mut T> {
        self.0.len().checked_sub(back + 1).and_then(|index| self.0.get_mut(index))
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.0.last()
    }

    /// Removes and returns the first item that matches.
    pub(crate) fn take(&mut self, matches: impl FnMut(&T) -> bool) -> Option<T> {
        let index = self.0.iter().position(matches)?;
        self.remove(index)
    }

    /// Makes the matching item, or else a `new` one, the newest; the oldest beyond `cap` are dropped. Nothing is moved
    /// if it was the newest already.
    pub(crate) fn renew(
        &mut self,
        cap: usize,
        matches: impl Fn(&T) -> bool,
        new: impl FnOnce() -> T,
    ) -> Option<&mut T> {
        if !self.last().is_some_and(&matches) {
            let item = self.take(&matches).unwrap_or_else(new);
            self.push(item, cap);
        }
        self.nth_back_mut(0)
    }

    /// Makes an item the newest, and tells whether it was there before; the oldest beyond `cap` are dropped.
    pub(crate) fn met(&mut self, item: T, cap: usize) -> bool
    where
        T: PartialEq,
    {
        let known = self.take(|known| *known == item).is_some();
        self.push(item, cap);
        known
    }

    /// Drops the older half, rounded up; returns how many.
    pub(crate) fn halve(&mut self) -> u64 {
        let dropped = self.0.len().div_ceil(2);
        self.0.drain(..dropped);
        dropped as u64
    }

    /// Appends, dropping the oldest items beyond `cap`; returns how many were dropped.
    pub(crate) fn push_counted(&mut self, item: T, cap: usize) -> u64 {
        let over = (self.0.len() + 1).saturating_sub(cap.max(1));
        self.push(item, cap);
        over as u64
    }

    /// Drops the items that do not match.
    pub(crate) fn retain(&mut self, matches: impl FnMut(&T) -> bool) {
        self.0.retain(matches);
    }

    pub(crate) fn remove(&mut self, index: usize) -> Option<T> {
        (index < self.0.len()).then(|| self.0.remove(index))
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn keeps_the_latest_items() {
        let mut ring = Ring::default();
        for item in 0..5 {
            ring.push(item, 3);
        }
        assert_eq!(ring.iter().copied().collect::<alloc::vec::Vec<_>>(), [2, 3, 4]);
        assert_eq!(ring.nth_back(0), Some(&4));
        assert_eq!(ring.nth_back(2), Some(&2));
        assert_eq!(ring.nth_back(3), None);
    }

    #[test]
    fn what_is_renewed_is_the_newest() {
        let mut ring = Ring::default();
        for (item, expected) in [(1, &[1][..]), (2, &[1, 2]), (1, &[2, 1]), (1, &[2, 1]), (3, &[1, 3])] {
            assert_eq!(ring.renew(2, |known| *known == item, || item), Some(&mut item.clone()));
            assert!(ring.iter().eq(expected), "{ring:?}");
        }
    }

    #[test]
    fn what_goes_is_counted() {
        let mut ring = Ring::default();
        let lost: u64 = (0..5).map(|item| ring.push_counted(item, 3)).sum();
        assert_eq!((lost, ring.len()), (2, 3));
        assert_eq!((ring.halve(), ring.len(), ring.last()), (2, 1, Some(&4)));
        assert_eq!((ring.halve(), ring.halve(), ring.len()), (1, 0, 0));
    }

    #[test]
    fn a_smaller_cap_drops_the_surplus() {
        let mut ring = Ring::default();
        (0..8).for_each(|item| ring.push(item, 8));
        ring.push(8, 2);
        assert_eq!(ring.len(), 2);
    }
}
