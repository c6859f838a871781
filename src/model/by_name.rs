//! Maps by name.

use crate::text::sorted;
use alloc::{string::String, vec, vec::Vec};
use core::{fmt, iter::Map, marker::PhantomData, ops::Index, slice};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// A map from names to values, in the order of the names' bytes: a sorted list. The maps of the model hold dozens of
/// names at most, and a B-tree would be compiled anew for each type of value (3 KB of the module). Many names are
/// best collected at once: inserted one by one in reverse order, each moves all others.
///
/// ```
/// use loopwarden::model::ByName;
///
/// let mut limits = ByName::from([("write".to_string(), 3), ("read".to_string(), 5)]);
/// limits.insert("read".to_string(), 7);
/// assert_eq!((limits["read"], limits.get("list")), (7, None));
/// assert!(limits.keys().eq(["read", "write"]));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ByName<V>(Vec<(String, V)>);

impl<V> ByName<V> {
    /// Creates an empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The map of entries whose names are in order, each once.
    ///
    /// # Errors The entries, if they are not.
    pub(crate) fn of_sorted(entries: Vec<(String, V)>) -> Result<Self, Vec<(String, V)>> {
        if entries.is_sorted_by(|(before, _), (name, _)| before < name) { Ok(Self(entries)) } else { Err(entries) }
    }

    /// The map of entries in any order; of a name that occurs several times, the last value counts.
    fn of(entries: Vec<(String, V)>) -> Self {
        Self::of_sorted(entries).unwrap_or_else(|entries| {
            let (names, mut values): (Vec<_>, Vec<_>) =
                entries.into_iter().map(|(name, value)| (name, Some(value))).unzip();
            let mut map = Self::new();
            for (name, at) in sorted(names.into_iter().zip(0_usize..).collect()) {
                let Some(value) = values.get_mut(at).and_then(Option::take) else { continue };
                match map.0.last_mut() {
                    Some((known, before)) if *known == name => *before = value,
                    _ => map.0.push((name, value)),
                }
            }
            map
        })
    }

    /// Number of names.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no names.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Index of a name, or where it belongs.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_str().cmp(name))
    }

    /// The value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&V> {
        let at = self.place(name).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// The value of a name, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        let at = self.place(name).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// Whether a name has a value.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Gives a name a value and returns the one that it had.
    pub fn insert(&mut self, name: String, value: V) -> Option<V> {
        match self.place(&name) {
            Ok(at) => self.0.get_mut(at).map(|(_, known)| core::mem::replace(known, value)),
            Err(at) => {
                self.0.insert(at, (name, value));
                None
            }
        }
    }

    /// Removes a name and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        let at = self.place(name).ok()?;
        Some(self.0.remove(at).1)
    }

    /// Removes all names.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All names and values, by name.
    pub fn iter(&self) -> <&Self as IntoIterator>::IntoIter {
        self.into_iter()
    }

    /// All names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &String> + Clone {
        self.0.iter().map(|(name, _)| name)
    }

    /// All values, by name.
    pub fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// All values, by name, to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &V) -> bool) {
        self.0.retain(|(name, value)| keep(name, value));
    }
}

impl<V: Default> ByName<V> {
    /// The value of a name, to change it; a default one if it had none.
    pub fn or_default(&mut self, name: &str) -> &mut V {
        let at = self.place(name).unwrap_or_else(|at| {
            self.0.insert(at, (name.into(), V::default()));
            at
        });
        #[expect(clippy::indexing_slicing, reason = "found or inserted")]
        &mut self.0[at].1
    }
}

impl<V: fmt::Debug> fmt::Debug for ByName<V> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self).finish()
    }
}

impl<V> Default for ByName<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> Index<&str> for ByName<V> {
    type Output = V;

    /// # Panics
    /// If the name has no value, as `BTreeMap` does.
    fn index(&self, name: &str) -> &V {
        #[expect(clippy::expect_used, reason = "what indexing means")]
        self.get(name).expect("no value of this name")
    }
}

impl<V> FromIterator<(String, V)> for ByName<V> {
    fn from_iter<I: IntoIterator<Item = (String, V)>>(entries: I) -> Self {
        Self::of(entries.into_iter().collect())
    }
}

impl<V> Extend<(String, V)> for ByName<V> {
    fn extend<I: IntoIterator<Item = (String, V)>>(&mut self, entries: I) {
        for (name, value) in entries {
            self.insert(name, value);
        }
    }
}

impl<V, const N: usize> From<[(String, V); N]> for ByName<V> {
    fn from(entries: [(String, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<V> IntoIterator for ByName<V> {
    type Item = (String, V);
    type IntoIter = vec::IntoIter<(String, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, V> IntoIterator for &'a ByName<V> {
    type Item = (&'a String, &'a V);
    type IntoIter = Map<slice::Iter<'a, (String, V)>, fn(&'a (String, V)) -> (&'a String, &'a V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl<V: Serialize> Serialize for ByName<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for ByName<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

struct Entries<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
    type Value = ByName<V>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<ByName<V>, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(ByName::of(map))
    }
}

#[cfg(feature = "schema")]
impl<V: schemars::JsonSchema> schemars::JsonSchema for ByName<V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        Described::<V>::schema_name()
    }

    fn schema_id() -> alloc::borrow::Cow<'static, str> {
        Described::<V>::schema_id()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Described::<V>::json_schema(generator)
    }
}

/// What describes a [`ByName`] in a schema.
#[cfg(feature = "schema")]
type Described<V> = alloc::collections::BTreeMap<String, V>;

#[cfg(test)]
mod tests {
    use super::ByName;
    use alloc::{collections::BTreeMap, string::String, vec::Vec};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_an_ordered_map(changes in prop::collection::vec(("[a-cé]{0,2}", 0..9_u8, 0..6_u8), 0..40)) {
            let (mut map, mut expected) = (ByName::new(), BTreeMap::<String, u8>::new());
            for (name, value, change) in changes {
                match change {
                    0 => prop_assert_eq!(map.or_default(&name), expected.entry(name.clone()).or_default()),
                    1 => prop_assert_eq!(map.remove(&name), expected.remove(&name)),
                    2 => {
                        map.retain(|known, _| *known > *name);
                        expected.retain(|known, _| *known > name);
                    }
                    _ => prop_assert_eq!(map.insert(name.clone(), value), expected.insert(name.clone(), value)),
                }
                prop_assert_eq!(map.get(&name), expected.get(&name));
                prop_assert_eq!(map.get_mut(&name), expected.get_mut(&name));
                prop_assert_eq!(map.contains_key(&name), expected.contains_key(&name));
                prop_assert_eq!((map.len(), map.is_empty()), (expected.len(), expected.is_empty()));
            }
            prop_assert!(map.iter().eq(&expected) && map.keys().eq(expected.keys()) && map.values().eq(expected.values()));
            prop_assert_eq!(&map, &expected.clone().into_iter().rev().collect());
            prop_assert_eq!(alloc::format!("{map:?}"), alloc::format!("{expected:?}"));
            let text = serde_json::to_string(&map).unwrap();
            prop_assert_eq!(&text, &serde_json::to_string(&expected).unwrap());
            prop_assert_eq!(&serde_json::from_str::<ByName<u8>>(&text).unwrap(), &map);
            prop_assert_eq!(map.into_iter().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn other_json_is_refused() {
        for text in ["[]", "null", "3", r#""a""#, r#"{"a": "b"}"#] {
            assert!(serde_json::from_str::<ByName<u8>>(text).is_err(), "{text}");
        }
    }
}
