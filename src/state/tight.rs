//! An onset and a sighting in as few bytes as possible: windows hold hundreds of them, and most of their numbers are
//! small.

use super::{Latest, Maybe, Onset, Sighting, Time};
use crate::codec::{Codec, Reader};
use crate::rules::Cx;
use alloc::{boxed::Box, vec::Vec};

/// Numbers in an onset and a sighting, and the bytes that hold their lengths, half a byte each.
const NUMBERS: usize = 9;
const LENGTHS: usize = NUMBERS.div_ceil(2);
/// Bytes in total: enough unless times, costs and event numbers are all large.
const ROOM: usize = 39;

/// An onset and a sighting; each number without its leading zero bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tight([u8; ROOM]);

/// Masks that keep the given number of bytes of a word, from 8 on all of them.
const KEPT: [u64; 16] = {
    let mut kept = [u64::MAX; 16];
    let (mut rest, mut bits) = (kept.as_mut_slice(), 0);
    while let Some((first, more)) = rest.split_first_mut() {
        if bits < u64::BITS {
            *first = (1 << bits) - 1;
        }
        (rest, bits) = (more, bits + 8);
    }
    kept
};

impl Tight {
    fn of(onset: &Onset, sighting: &Sighting) -> Option<Self> {
        let Onset { seq, events, own, tokens, cost_micros, at } = *onset;
        let numbers = [
            seq,
            events,
            events.wrapping_sub(own),
            tokens,
            cost_micros,
            at.0.0,
            sighting.seq.wrapping_sub(seq),
            sighting.step.0,
            sighting.key,
        ];
        let mut bytes = [0; LENGTHS + NUMBERS * 8];
        let (mut lengths, mut end) = (0_u64, LENGTHS);
        // `try_for_each` since a `for` loop would not be unrolled; most numbers are zeros, which the branch skips.
        numbers.into_iter().zip(0_u32..).try_for_each(|(number, index)| {
            if number != 0 {
                // Always write eight bytes, as a single store; the surplus is zeros and is overwritten by the next
                // number.
                *bytes.get_mut(end..)?.first_chunk_mut()? = number.to_le_bytes();
                let length = 8 - number.leading_zeros() / 8;
                lengths |= u64::from(length) << (4 * index);
                end += length as usize;
            }
            Some(())
        })?;
        *bytes.first_chunk_mut()? = *lengths.to_le_bytes().first_chunk::<LENGTHS>()?;
        bytes.first_chunk().filter(|_| end <= ROOM).map(|bytes| Self(*bytes))
    }

    fn get(&self) -> (Onset, Sighting) {
        let mut bytes = [0; ROOM + 8];
        bytes.iter_mut().zip(self.0).for_each(|(to, from)| *to = from);
        let word =
            |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word));
        let (mut numbers, mut lengths, mut end) = ([0; NUMBERS], word(0), LENGTHS);
        for number in &mut numbers {
            let length = lengths & 15;
            *number = word(end) & KEPT.get(length as usize).copied().unwrap_or(0);
            end += length as usize;
            lengths >>= 4;
        }
        let [seq, events, others, tokens, cost_micros, at, later, step, key] = numbers;
        let own = events.wrapping_sub(others);
        let onset = Onset { seq, events, own, tokens, cost_micros, at: Time(Maybe(at)) };
        (onset, Sighting { seq: seq.wrapping_add(later), step: Maybe(step), key })
    }
}

/// One event as evidence, and as a possible onset of a loop.
#[derive(Clone, Debug)]
pub(crate) struct Occurrence(Single);

#[derive(Clone, Debug)]
enum Single {
    Tight(Tight),
    Wide(Box<(Onset, Sighting)>),
}

impl Default for Occurrence {
    fn default() -> Self {
        Self(Single::Tight(Tight([0; ROOM])))
    }
}

impl Occurrence {
    /// What happens now.
    pub(crate) fn now(cx: &Cx<'_>) -> Self {
        Self::new(cx.here, cx.onset)
    }

    pub(crate) fn new(sighting: Sighting, onset: Onset) -> Self {
        Self(match Tight::of(&onset, &sighting) {
            Some(tight) => Single::Tight(tight),
            None => Single::Wide(Box::new((onset, sighting))),
        })
    }

    pub(crate) fn get(&self) -> (Sighting, Onset) {
        let (onset, sighting) = match &self.0 {
            Single::Tight(tight) => tight.get(),
            Single::Wide(wide) => **wide,
        };
        (sighting, onset)
    }

    pub(crate) fn sighting(&self) -> Sighting {
        self.get().0
    }

    pub(crate) fn onset(&self) -> Onset {
        self.get().1
    }

    /// Upper bound on its encoded bytes.
    pub(crate) fn weight(&self) -> usize {
        let (sighting, onset) = self.get();
        sighting.weight() + onset.weight()
    }
}

impl Codec for Occurrence {
    const SIZE: usize = size_of::<u64>() * 5;

    #[inline]
    fn heap(&self) -> usize {
        match &self.0 {
            Single::Tight(_) => 0,
            Single::Wide(wide) => wide.heap(),
        }
    }

    fn put(&self, to: &mut Vec<u8>) {
        let (sighting, onset) = self.get();
        sighting.put(to);
        onset.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let sighting = Codec::take(from);
        Self::new(sighting, Codec::take(from))
    }
}

/// When something was first seen, and its latest occurrences. A single occurrence needs no heap memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occurrences(Times);

#[derive(Clone, Debug, Default)]
enum Times {
    #[default]
    Never,
    Single(Tight),
    Several(Box<Several>),
}

#[derive(Clone, Debug, Default)]
struct Several {
    onset: Onset,
    latest: Latest,
}

impl Occurrences {
    /// Adds an occurrence; `onset` is used only for the first one.
    pub(crate) fn push(&mut self, sighting: Sighting, onset: Onset) {
        match &mut self.0 {
            Times::Never => self.0 = Times::once(onset, sighting),
            Times::Single(tight) => {
                let (onset, before) = tight.get();
                self.0 = Times::of(onset, &[before, sighting]);
            }
            Times::Several(more) => more.latest.push(sighting),
        }
    }

    /// Moves the onset; the occurrences stay.
    pub(crate) fn begin(&mut self, onset: Onset) {
        let once = match &mut self.0 {
            Times::Never => return,
            Times::Single(tight) => tight.get().1,
            Times::Several(more) => {
                more.onset = onset;
                // A single occurrence that was too wide with the old onset may fit now, and a restored one would be
                // packed.
                let mut latest = more.latest.iter();
                let (Some(one), None) = (latest.next(), latest.next()) else { return };
                *one
            }
        };
        self.0 = Times::once(onset, once);
    }

    pub(crate) fn onset(&self) -> Onset {
        match &self.0 {
            Times::Never => Onset::default(),
            Times::Single(tight) => tight.get().0,
            Times::Several(more) => more.onset,
        }
    }

    /// The latest occurrences, oldest first.
    pub(crate) fn latest(&self) -> Vec<Sighting> {
        match &self.0 {
            Times::Never => Vec::new(),
            Times::Single(tight) => alloc::vec![tight.get().1],
            Times::Several(more) => more.latest.iter().copied().collect(),
        }
    }
}

impl Times {
    fn once(onset: Onset, seen: Sighting) -> Self {
        Tight::of(&onset, &seen).map_or_else(|| Self::of(onset, &[seen]), Self::Single)
    }

    #[cold]
    fn of(onset: Onset, seen: &[Sighting]) -> Self {
        let mut latest = Latest::default();
        seen.iter().for_each(|sighting| latest.push(*sighting));
        Self::Several(Box::new(Several { onset, latest }))
    }
}

impl Codec for Occurrences {
    const SIZE: usize = size_of::<u64>() * 5;

    #[inline]
    fn heap(&self) -> usize {
        match &self.0 {
            Times::Never | Times::Single(_) => 0,
            Times::Several(more) => 16 + Onset::SIZE + Latest::SIZE + more.latest.heap(),
        }
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.onset().put(to);
        match &self.0 {
            Times::Never => Latest::default().put(to),
            Times::Single(tight) => {
                1_u64.put(to);
                tight.get().1.put(to);
            }
            Times::Several(more) => more.latest.put(to),
        }
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let onset: Onset = Codec::take(from);
        let latest: Latest = Codec::take(from);
        let mut all = latest.iter();
        Self(match (all.next(), all.next()) {
            // An onset without an occurrence is not written by us.
            (None, _) => Times::Never,
            (Some(one), None) => Times::once(onset, *one),
            _ => {
                drop(all);
                Times::Several(Box::new(Several { onset, latest }))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decode, encode};
    use alloc::format;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift)
    }

    fn onset() -> impl Strategy<Value = Onset> {
        (number(), number(), number(), number(), number(), any::<Option<i64>>()).prop_map(
            |(seq, events, own, tokens, cost_micros, at)| Onset {
                seq,
                events,
                own,
                tokens,
                cost_micros,
                at: at.into(),
            },
        )
    }

    fn sighting() -> impl Strategy<Value = Sighting> {
        (0..u64::MAX, any::<Option<u64>>(), any::<u64>()).prop_map(|(seq, step, key)| Sighting {
            seq,
            step: step.into(),
            key,
        })
    }

    #[test]
    fn what_is_ordinary_takes_no_memory_of_its_own() {
        assert!(size_of::<Occurrence>() <= Occurrence::SIZE && size_of::<Occurrences>() <= Occurrences::SIZE);
        let at = Some(1_790_000_000_000);
        let onset =
            Onset { seq: 70_000, events: 9_000, own: 300, tokens: 900_000, cost_micros: 2_000_000, at: at.into() };
        let sighting = Sighting { seq: 70_003, step: Some(400).into(), key: u64::MAX };
        let occurrence = Occurrence::new(sighting, onset);
        assert_eq!((occurrence.get(), occurrence.heap()), ((sighting, onset), 0));
        let mut seen = Occurrences::default();
        seen.push(sighting, onset);
        assert_eq!((seen.onset(), seen.latest(), seen.heap()), (onset, alloc::vec![sighting], 0));
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(onset in onset(), all in proptest::collection::vec(sighting(), 1..8)) {
            let one = all[0];
            let occurrence = Occurrence::new(one, onset);
            prop_assert_eq!(occurrence.get(), (one, onset));
            let bytes = encode(&occurrence);
            prop_assert_eq!(&bytes, &encode(&(one, onset)));
            prop_assert_eq!(decode::<Occurrence>(&bytes).map(|taken| taken.get()), Some((one, onset)));
            let (mut seen, mut latest, mut onset) = (Occurrences::default(), Latest::default(), onset);
            for (index, sighting) in all.iter().enumerate() {
                seen.push(*sighting, onset);
                latest.push(*sighting);
                if index % 3 == 0 {
                    onset.seq ^= 5;
                    seen.begin(onset);
                }
                let bytes = encode(&seen);
                prop_assert_eq!(&bytes, &encode(&(onset, latest.clone())));
                let taken: Occurrences = decode(&bytes).unwrap();
                prop_assert_eq!(format!("{taken:?}"), format!("{seen:?}"));
                prop_assert_eq!((taken.onset(), taken.latest()), (onset, latest.iter().copied().collect::<Vec<_>>()));
            }
        }
    }
}
