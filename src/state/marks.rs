use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The latest of what was only seen: four bytes of each key, of which two are alike once in 10^7 looks at a window of 128.
/// In one piece, so that a look is a few instructions and a snapshot a copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    marks: Vec<u32>,
    /// Where the oldest is, once there is no more room.
    oldest: usize,
}

impl Marks {
    /// Appends, in the place of the oldest where there are `cap` already.
    pub(crate) fn push(&mut self, mark: u32, cap: usize) {
        if self.marks.len() < cap {
            // Little by little: most runs are short.
            if self.marks.len() == self.marks.capacity() {
                self.marks.reserve_exact(self.marks.len().clamp(8, 32).min(cap - self.marks.len()));
            }
            self.marks.push(mark);
        } else {
            if let Some(oldest) = self.marks.get_mut(self.oldest) {
                *oldest = mark;
            }
            self.oldest = (self.oldest + 1) % self.marks.len().max(1);
        }
    }

    pub(crate) fn holds(&self, mark: u32) -> bool {
        self.marks.contains(&mark)
    }

    pub(crate) fn len(&self) -> usize {
        self.marks.len()
    }
}

impl Serialize for Marks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (late, early) = self.marks.split_at_checked(self.oldest).unwrap_or((&self.marks, &[]));
        let bytes: Vec<u8> = early.iter().chain(late).flat_map(|mark| mark.to_le_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Marks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = <&[u8]>::deserialize(deserializer)?;
        let (marks, rest) = bytes.as_chunks::<4>();
        if rest.is_empty() {
            Ok(Self { marks: marks.iter().map(|mark| u32::from_le_bytes(*mark)).collect(), oldest: 0 })
        } else {
            Err(D::Error::custom("half a mark"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn keeps_the_latest() {
        let mut marks = Marks::default();
        (0..200).for_each(|mark| marks.push(mark, 128));
        assert_eq!((marks.len(), marks.holds(71), marks.holds(72), marks.holds(199)), (128, false, true, true));
        // A restored one goes on in the same order.
        let bytes = postcard::to_allocvec(&marks).unwrap();
        assert_eq!(bytes.len(), 2 + 4 * 128);
        let mut restored: Marks = postcard::from_bytes(&bytes).unwrap();
        for marks in [&mut marks, &mut restored] {
            marks.push(200, 128);
            assert!(!marks.holds(72) && marks.holds(73) && marks.holds(200));
        }
        assert_eq!(postcard::to_allocvec(&marks).unwrap(), postcard::to_allocvec(&restored).unwrap());
        assert!(postcard::from_bytes::<Marks>(&[3, 1, 2, 3]).is_err());
    }
}
