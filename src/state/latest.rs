use super::Sighting;
use alloc::vec::Vec;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The latest occurrences of a loop, oldest first. The first one, which most never go beyond, takes no memory of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Latest {
    older: Vec<Sighting>,
    newest: Option<Sighting>,
}

impl Latest {
    /// Occurrences kept.
    pub(crate) const MOST: usize = 5;

    /// Appends, dropping the oldest.
    pub(crate) fn push(&mut self, sighting: Sighting) {
        if let Some(last) = self.newest.replace(sighting) {
            if self.older.len() >= Self::MOST - 1 {
                self.older.remove(0);
            }
            if self.older.len() == self.older.capacity() {
                self.older.reserve_exact(1);
            }
            self.older.push(last);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.older.len() + usize::from(self.newest.is_some())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Sighting> {
        self.older.iter().chain(&self.newest)
    }

    pub(crate) fn fits(&self) -> bool {
        self.len() <= Self::MOST
    }
}

impl Serialize for Latest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut items = serializer.serialize_seq(Some(self.len()))?;
        for sighting in self.iter() {
            serde::ser::SerializeSeq::serialize_element(&mut items, sighting)?;
        }
        serde::ser::SerializeSeq::end(items)
    }
}

impl<'de> Deserialize<'de> for Latest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut older = Vec::<Sighting>::deserialize(deserializer)?;
        let newest = older.pop();
        if older.is_empty() {
            older = Vec::new();
        }
        Ok(Self { older, newest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_latest_in_order() {
        let mut latest = Latest::default();
        for seq in 0..9 {
            latest.push(Sighting { seq, ..Sighting::default() });
            let kept: Vec<u64> = latest.iter().map(|sighting| sighting.seq).collect();
            assert_eq!(kept, (seq.saturating_sub(4)..=seq).collect::<Vec<_>>());
            let bytes = postcard::to_allocvec(&latest).unwrap();
            assert_eq!(postcard::from_bytes::<Latest>(&bytes).unwrap(), latest);
        }
        assert!(latest.fits() && Latest::default().fits());
    }
}
