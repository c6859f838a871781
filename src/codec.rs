//! The binary encoding of the state, which snapshots consist of.
//!
//! Fields are written in order, without names or tags; numbers have variable length. Reading is infallible: each field
//! is asked for in turn and always yields a value. If the bytes do not hold one, the [`Reader`] is marked as spoilt and
//! yields only zeros from then on, and the result is discarded at the end. So no reading code has to handle errors,
//! whatever the bytes are, and validity is checked in one place.

mod model;

use crate::model::ByName;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Items for which room is reserved before any of them has been read.
const ROOM: usize = 256;

/// A type that can be encoded and decoded.
pub(crate) trait Codec: Sized {
    /// Bytes of the value itself, at least as many as on any platform, without its heap data ([`Self::heap`]).
    const SIZE: usize;

    /// Bytes of its heap data, as counted by [`Weighed`]: by content rather than capacity, so that a restored value
    /// counts the same, on every platform.
    #[inline]
    fn heap(&self) -> usize {
        0
    }

    /// Appends the value.
    fn put(&self, to: &mut Vec<u8>);

    /// Reads a value. Yields an arbitrary one if there is none, and spoils the reader.
    fn take(from: &mut Reader<'_>) -> Self;

    /// Appends several items.
    fn put_all<'a>(items: impl Iterator<Item = &'a Self>, to: &mut Vec<u8>)
    where
        Self: 'a,
    {
        for item in items {
            item.put(to);
        }
    }

    /// Reads `count` items.
    fn take_all(count: usize, from: &mut Reader<'_>) -> Vec<Self> {
        let mut items = Vec::with_capacity(count.min(ROOM));
        while items.len() < count && from.sound {
            items.push(Self::take(from));
        }
        items
    }
}

/// Overhead in bytes of one allocation.
const ALLOCATION: usize = 16;

/// Heap bytes of `count` items in a row, with their own heap data.
#[inline]
fn held<'a, T: Codec + 'a>(count: usize, items: impl Iterator<Item = &'a T>) -> usize {
    if count == 0 {
        return 0;
    }
    items.fold(ALLOCATION + count * T::SIZE, |held, item| held + item.heap())
}

/// [`Codec::SIZE`] of a field, inferred from its accessor.
pub(crate) const fn size<S, T: Codec>(_: fn(&S) -> &T) -> usize {
    T::SIZE
}

/// A value that rarely changes, with a cached heap size that is often asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weighed<T> {
    value: T,
    heap: usize,
}

impl<T: Codec> Weighed<T> {
    pub(crate) fn new(value: T) -> Self {
        let heap = value.heap();
        Self { value, heap }
    }

    /// Changes the value. This is the only way to do so, to keep the size up to date.
    pub(crate) fn change<R>(&mut self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.value);
        self.heap = self.value.heap();
        result
    }
}

impl<T> core::ops::Deref for Weighed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Codec> Codec for Weighed<T> {
    const SIZE: usize = T::SIZE + 8;

    fn heap(&self) -> usize {
        self.heap
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.value.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        Self::new(T::take(from))
    }
}

/// Encodes a value.
pub(crate) fn encode(value: &impl Codec) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.put(&mut bytes);
    bytes
}

/// Decodes a value. Returns `None` unless the bytes are exactly one.
pub(crate) fn decode<T: Codec>(bytes: &[u8]) -> Option<T> {
    let mut from = Reader { rest: bytes, sound: true, raw: 0 };
    let value = T::take(&mut from);
    (from.sound && from.rest.is_empty()).then_some(value)
}

/// Decodes the value that the bytes begin with, whose texts may contain control characters. Also returns the remaining
/// bytes.
pub(crate) fn first<T: Codec>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let mut from = Reader { rest: bytes, sound: true, raw: 1 };
    let value = T::take(&mut from);
    from.sound.then_some((value, from.rest))
}

/// The bytes left to read.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    sound: bool,
    /// Nesting depth of [`Self::raw`] types being read, in which texts may contain control characters.
    raw: u8,
}

impl<'a> Reader<'a> {
    /// Marks the input as invalid.
    #[cold]
    pub(crate) fn spoil(&mut self) {
        self.sound = false;
        self.rest = &[];
    }

    pub(crate) fn byte(&mut self) -> u8 {
        if let Some((byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            return *byte;
        }
        self.spoil();
        0
    }

    /// A value and the bytes that it was read from; `None` if they are invalid.
    pub(crate) fn with_bytes<T: Codec>(&mut self) -> Option<(T, &'a [u8])> {
        let before = self.rest;
        let value = T::take(self);
        Some((value, before.get(..before.len() - self.rest.len())?)).filter(|_| self.sound)
    }

    /// The next `count` bytes; empty, with the reader spoilt, if there are fewer.
    pub(crate) fn bytes(&mut self, count: usize) -> &'a [u8] {
        if let Some((bytes, rest)) = self.rest.split_at_checked(count) {
            self.rest = rest;
            return bytes;
        }
        self.spoil();
        &[]
    }

    /// The next bytes of a fixed number; zeros, with the reader spoilt, if there are fewer.
    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        self.bytes(N).first_chunk().copied().unwrap_or([0; N])
    }

    /// A number as written by [`put_number`].
    #[inline(never)]
    pub(crate) fn number(&mut self) -> u64 {
        let Some((first, next)) = self.rest.split_first() else {
            self.spoil();
            return 0;
        };
        if *first < 0x80 {
            self.rest = next;
            return (*first).into();
        }
        let more = first.leading_ones();
        // A number of two to eight bytes fits the first word; in one of nine, the first byte holds none of it.
        let word = if more < 8 { self.rest } else { next }.first_chunk();
        match (word, next.get(more as usize..)) {
            (Some(word), Some(rest)) => {
                self.rest = rest;
                let word = u64::from_be_bytes(*word);
                if more < 8 { word >> (56 - 8 * more) & u64::MAX >> (57 - 7 * more) } else { word }
            }
            // Fewer than eight bytes are left.
            _ => {
                let high = u64::from(first & 0x7f_u8.checked_shr(more).unwrap_or(0));
                self.rest = next;
                self.bytes(more as usize).iter().fold(high, |number, byte| (number << 8) | u64::from(*byte))
            }
        }
    }

    /// If `raw`, texts read up to the matching [`Self::plain`] may be a host's own. All other texts have been made
    /// printable and may not contain control characters, because they are shown without further checks.
    #[inline]
    pub(crate) fn raw(&mut self, raw: bool) {
        self.raw = self.raw.saturating_add(u8::from(raw));
    }

    #[inline]
    pub(crate) fn plain(&mut self, raw: bool) {
        self.raw = self.raw.saturating_sub(u8::from(raw));
    }

    /// A text; without control characters except within [`Self::raw`].
    fn text(&mut self) -> &'a str {
        let count = self.count();
        match core::str::from_utf8(self.bytes(count)) {
            Ok(text) if self.raw != 0 || !text.chars().any(char::is_control) => text,
            _ => {
                self.spoil();
                ""
            }
        }
    }

    /// The number of items that follow: at most the number of bytes left, because no item takes less than one.
    pub(crate) fn count(&mut self) -> usize {
        match usize::try_from(self.number()) {
            Ok(count) if count <= self.rest.len() => count,
            _ => {
                self.spoil();
                0
            }
        }
    }
}

fn put_text(text: &str, to: &mut Vec<u8>) {
    put_number(text.len() as u64, to);
    to.extend_from_slice(text.as_bytes());
}

/// Writes a number in one byte for up to 7 bits, two for up to 14 and so on, nine at most. The leading one bits of the
/// first byte count the bytes that follow; the remaining bits hold the number, the most significant first.
#[inline(never)]
fn put_number(number: u64, to: &mut Vec<u8>) {
    // Fast path: most numbers take one byte, and there is room for it.
    if number < 0x80 && to.len() < to.capacity() {
        to.push(number as u8);
    } else {
        put_long(number, to);
    }
}

/// [`put_number`] for longer numbers, or if the buffer has to grow.
#[inline(never)]
fn put_long(number: u64, to: &mut Vec<u8>) {
    // Most of these take two bytes.
    if (0x80..1 << 14).contains(&number) {
        return to.extend_from_slice(&(number as u16 | 1 << 15).to_be_bytes());
    }
    let more = length(number) - 1;
    let end = to.len() + 1 + more;
    match 7_usize.checked_sub(more) {
        // Always writes eight bytes, as that is a single store, and cuts off the excess.
        Some(free) => {
            let begins = u64::from(!(0xff_u8 >> more)) << 56;
            to.extend_from_slice(&(number << (8 * free) | begins).to_be_bytes());
            to.truncate(end);
        }
        None => {
            let [one, two, three, four, five, six, seven, eight] = number.to_be_bytes();
            to.extend_from_slice(&[0xff, one, two, three, four, five, six, seven, eight]);
        }
    }
}

/// Bytes that [`put_number`] writes for a number.
pub(crate) const fn length(number: u64) -> usize {
    match (70 - (number | 1).leading_zeros() as usize) / 7 {
        10 => 9,
        length => length,
    }
}

/// The state of rules without any. Not usable as an item of a sequence, because it takes no byte.
impl Codec for () {
    const SIZE: usize = 0;

    fn put(&self, _: &mut Vec<u8>) {}

    fn take(_: &mut Reader<'_>) -> Self {}
}

impl Codec for u64 {
    const SIZE: usize = 8;

    fn put(&self, to: &mut Vec<u8>) {
        put_number(*self, to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        from.number()
    }
}

macro_rules! small {
    ($($number:ty),*) => {$(
        impl Codec for $number {
            const SIZE: usize = size_of::<Self>();

            fn put(&self, to: &mut Vec<u8>) {
                put_number(u64::from(*self), to);
            }

            fn take(from: &mut Reader<'_>) -> Self {
                Self::try_from(from.number()).unwrap_or_else(|_| {
                    from.spoil();
                    0
                })
            }
        }
    )*};
}

small!(u16, u32);

impl Codec for u8 {
    const SIZE: usize = 1;

    fn put(&self, to: &mut Vec<u8>) {
        to.push(*self);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        from.byte()
    }

    fn take_all(count: usize, from: &mut Reader<'_>) -> Vec<Self> {
        from.bytes(count).to_vec()
    }
}

impl Codec for i8 {
    const SIZE: usize = 1;

    fn put(&self, to: &mut Vec<u8>) {
        to.push(self.cast_unsigned());
    }

    fn take(from: &mut Reader<'_>) -> Self {
        from.byte().cast_signed()
    }
}

impl Codec for i16 {
    const SIZE: usize = 2;

    fn put(&self, to: &mut Vec<u8>) {
        to.extend(self.to_le_bytes());
    }

    fn take(from: &mut Reader<'_>) -> Self {
        Self::from_le_bytes(from.array())
    }
}

/// Zigzag encoding, in which numbers close to 0 are small.
pub(crate) const fn fold(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

/// The number that [`fold`] has encoded.
pub(crate) const fn unfold(folded: u64) -> i64 {
    (folded >> 1).cast_signed() ^ -(folded & 1).cast_signed()
}

impl Codec for i64 {
    const SIZE: usize = 8;

    fn put(&self, to: &mut Vec<u8>) {
        put_number(fold(*self), to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        unfold(from.number())
    }
}

impl Codec for bool {
    const SIZE: usize = 1;

    fn put(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn take(from: &mut Reader<'_>) -> Self {
        match from.byte() {
            0 => false,
            1 => true,
            _ => {
                from.spoil();
                false
            }
        }
    }
}

impl Codec for String {
    const SIZE: usize = 24;

    #[inline]
    fn heap(&self) -> usize {
        if self.is_empty() { 0 } else { ALLOCATION + self.len() }
    }

    fn put(&self, to: &mut Vec<u8>) {
        put_text(self, to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        from.text().into()
    }
}

impl<T: Codec> Codec for Option<T> {
    const SIZE: usize = T::SIZE + 8;

    #[inline]
    fn heap(&self) -> usize {
        self.as_ref().map_or(0, T::heap)
    }

    fn put(&self, to: &mut Vec<u8>) {
        to.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.put(to);
        }
    }

    fn take(from: &mut Reader<'_>) -> Self {
        bool::take(from).then(|| T::take(from))
    }
}

impl<T: Codec> Codec for Box<T> {
    const SIZE: usize = 8;

    #[inline]
    fn heap(&self) -> usize {
        ALLOCATION + T::SIZE + (**self).heap()
    }

    fn put(&self, to: &mut Vec<u8>) {
        (**self).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        Self::new(T::take(from))
    }
}

/// Counted in full by each owner, because a restored value is not shared.
impl<T: Codec> Codec for Arc<T> {
    const SIZE: usize = 8;

    #[inline]
    fn heap(&self) -> usize {
        ALLOCATION + 16 + T::SIZE + (**self).heap()
    }

    fn put(&self, to: &mut Vec<u8>) {
        (**self).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        Self::new(T::take(from))
    }
}

impl<T: Codec> Codec for Vec<T> {
    const SIZE: usize = 24;

    #[inline]
    fn heap(&self) -> usize {
        held(self.len(), self.iter())
    }

    fn put(&self, to: &mut Vec<u8>) {
        put_number(self.len() as u64, to);
        T::put_all(self.iter(), to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let count = from.count();
        T::take_all(count, from)
    }
}

impl<T: Codec, const N: usize> Codec for [T; N] {
    const SIZE: usize = N * T::SIZE;

    #[inline]
    fn heap(&self) -> usize {
        self.iter().fold(0, |held, item| held + item.heap())
    }

    fn put(&self, to: &mut Vec<u8>) {
        T::put_all(self.iter(), to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        core::array::from_fn(|_| T::take(from))
    }
}

impl<T: Codec> Codec for ByName<T> {
    const SIZE: usize = 24;

    #[inline]
    fn heap(&self) -> usize {
        // Room is doubled.
        let room = if self.is_empty() { 0 } else { ALLOCATION + (2 * self.len()).max(4) * (String::SIZE + T::SIZE) };
        self.iter().fold(room, |held, (name, value)| held + name.heap() + value.heap())
    }

    fn put(&self, to: &mut Vec<u8>) {
        put_number(self.len() as u64, to);
        for (name, value) in self {
            name.put(to);
            value.put(to);
        }
    }

    fn take(from: &mut Reader<'_>) -> Self {
        // In any other order, the map would not be encoded to the same bytes again.
        Self::of_sorted(Vec::take(from)).unwrap_or_else(|_| {
            from.spoil();
            Self::new()
        })
    }
}

impl<A: Codec, B: Codec> Codec for (A, B) {
    const SIZE: usize = (A::SIZE + B::SIZE).next_multiple_of(8);

    #[inline]
    fn heap(&self) -> usize {
        self.0.heap() + self.1.heap()
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        (A::take(from), B::take(from))
    }
}

impl<A: Codec, B: Codec, C: Codec> Codec for (A, B, C) {
    const SIZE: usize = (A::SIZE + B::SIZE + C::SIZE).next_multiple_of(8);

    #[inline]
    fn heap(&self) -> usize {
        self.0.heap() + self.1.heap() + self.2.heap()
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
        self.1.put(to);
        self.2.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        (A::take(from), B::take(from), C::take(from))
    }
}

/// Implements [`Codec`] field by field: `codec!(struct Name { fields })`, or `codec!(enum Name { Variant: number })`
/// with discriminants from 0 on. A missing field or variant is a compile error. A trailing `raw` means that the texts
/// may be a host's own, with control characters. Fields after a semicolon are derived from others: they are not written,
/// and read as their defaults.
macro_rules! codec {
    (@raw raw) => { true };
    (@raw) => { false };
    (struct $name:ident $(<$($of:ident),+>)? {
        $($field:ident),* $(,)? $(; $($derived:ident),* $(,)?)?
    } $($raw:ident)?) => {
        impl $(<$($of: $crate::codec::Codec),+>)? $crate::codec::Codec for $name $(<$($of),+>)? {
            const SIZE: usize = {
                let size = (0
                    $(+ $crate::codec::size(|value: &Self| &value.$field))*
                    $($(+ $crate::codec::size(|value: &Self| &value.$derived))*)?)
                .next_multiple_of(8);
                assert!(size_of::<Self>() <= size);
                size
            };

            #[inline]
            fn heap(&self) -> usize {
                0 $(+ $crate::codec::Codec::heap(&self.$field))*
            }

            fn put(&self, to: &mut ::alloc::vec::Vec<u8>) {
                let Self { $($field,)* $($($derived: _,)*)? } = self;
                $($crate::codec::Codec::put($field, to);)*
            }

            fn take(from: &mut $crate::codec::Reader<'_>) -> Self {
                const RAW: bool = $crate::codec::codec!(@raw $($raw)?);
                from.raw(RAW);
                let taken = Self {
                    $($field: $crate::codec::Codec::take(from),)*
                    $($($derived: Default::default(),)*)?
                };
                from.plain(RAW);
                taken
            }
        }
    };
    (struct $name:ident $(<$of:ident>)? (_)) => {
        impl $(<$of: $crate::codec::Codec>)? $crate::codec::Codec for $name $(<$of>)? {
            const SIZE: usize = $crate::codec::size(|value: &Self| &value.0);

            #[inline]
            fn heap(&self) -> usize {
                $crate::codec::Codec::heap(&self.0)
            }

            fn put(&self, to: &mut ::alloc::vec::Vec<u8>) {
                $crate::codec::Codec::put(&self.0, to);
            }

            fn take(from: &mut $crate::codec::Reader<'_>) -> Self {
                Self($crate::codec::Codec::take(from))
            }
        }
    };
    (enum $name:ident {
        $first:ident $(($($part:ident),*))?: 0 $(, $variant:ident $(($($of:ident),*))?: $number:literal)* $(,)?
    }) => {
        impl $crate::codec::Codec for $name {
            const SIZE: usize = {
                // 39 bytes for each part of a variant.
                let size = 1 $($(+ { _ = stringify!($part); 39 })*)? $($($(+ { _ = stringify!($of); 39 })*)?)*;
                assert!(size_of::<Self>() <= size);
                size
            };

            #[inline]
            fn heap(&self) -> usize {
                match self {
                    Self::$first $(($($part),*))? => 0 $($(+ $crate::codec::Codec::heap($part))*)?,
                    $(Self::$variant $(($($of),*))? => 0 $($(+ $crate::codec::Codec::heap($of))*)?,)*
                }
            }

            fn put(&self, to: &mut ::alloc::vec::Vec<u8>) {
                match self {
                    Self::$first $(($($part),*))? => {
                        to.push(0);
                        $($($crate::codec::Codec::put($part, to);)*)?
                    }
                    $(Self::$variant $(($($of),*))? => {
                        to.push($number);
                        $($($crate::codec::Codec::put($of, to);)*)?
                    })*
                }
            }

            fn take(from: &mut $crate::codec::Reader<'_>) -> Self {
                match from.byte() {
                    $($number => Self::$variant $(($({
                        let $of = $crate::codec::Codec::take(from);
                        $of
                    }),*))?,)*
                    other => {
                        if other != 0 {
                            from.spoil();
                        }
                        Self::$first $(($({
                            let $part = $crate::codec::Codec::take(from);
                            $part
                        }),*))?
                    }
                }
            }
        }
    };
}
pub(crate) use codec;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;
    use proptest::prelude::*;

    #[derive(Debug, Default, PartialEq)]
    enum Shape {
        #[default]
        None,
        Round(u32),
        Named(String, i64),
    }
    codec!(enum Shape { None: 0, Round(radius): 1, Named(name, turn): 2 });

    #[derive(Debug, Default, PartialEq)]
    struct Everything {
        numbers: (u8, u16, u32),
        signed: (i8, i16, i64),
        flag: Option<Option<bool>>,
        texts: ByName<Vec<u64>>,
        shapes: Vec<Option<Box<Shape>>>,
        pair: [u64; 2],
    }
    codec!(struct Everything { numbers, signed, flag, texts, shapes, pair });

    #[derive(Debug, Default, PartialEq)]
    struct Share {
        part: u64,
        whole: u64,
        rate: u64,
    }
    codec!(struct Share { part, whole; rate });

    fn everything() -> Everything {
        Everything {
            numbers: (255, 65_535, u32::MAX),
            signed: (-128, -32_768, i64::MIN),
            flag: Some(None),
            texts: ByName::from([
                ("é".to_string(), vec![0, 127, 128, 16_383, 16_384, (1 << 56) - 1, 1 << 56]),
                (String::new(), vec![]),
            ]),
            shapes: Vec::from([Shape::Named("x".into(), -1), Shape::None, Shape::Round(7)].map(Box::new).map(Some)),
            pair: [u64::MAX, 1 << 56],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(decode(&encode(&everything())), Some(everything()));
        assert_eq!(decode(&encode(&Everything::default())), Some(Everything::default()));
    }

    #[test]
    fn what_is_derived_is_not_written() {
        let bytes = encode(&Share { part: 1, whole: 2, rate: 500 });
        assert_eq!(bytes, [1, 2]);
        assert_eq!(decode(&bytes), Some(Share { part: 1, whole: 2, rate: 0 }));
    }

    #[test]
    fn numbers_take_what_they_need() {
        let lengths = [(127, 1), (128, 2), (16_383, 2), (16_384, 3), ((1 << 56) - 1, 8), (1 << 56, 9), (u64::MAX, 9)];
        for (number, bytes) in lengths {
            assert_eq!((encode(&number).len(), length(number)), (bytes, bytes), "{number}");
        }
    }

    #[test]
    fn what_is_cut_short_or_too_long_is_nothing() {
        let mut bytes = encode(&everything());
        for cut in 0..bytes.len() {
            assert_eq!(decode::<Everything>(&bytes[..cut]), None, "{cut}");
        }
        bytes.push(0);
        assert_eq!(decode::<Everything>(&bytes), None);
    }

    #[test]
    fn what_no_value_has_is_refused() {
        assert_eq!(decode::<bool>(&[2]), None);
        assert_eq!(decode::<Shape>(&[3]), None);
        assert_eq!(decode::<u16>(&encode(&65_536_u64)), None);
        assert_eq!(decode::<String>(&[1, 255]), None);
        assert_eq!(decode::<ByName<u64>>(&[2, 1, b'a', 1, 1, b'a', 1]), None);
        assert_eq!(decode::<ByName<u64>>(&[2, 1, b'b', 1, 1, b'a', 1]), None);
        // An impossible count reserves no memory.
        assert_eq!(decode::<Vec<u64>>(&encode(&u64::MAX)), None);
    }

    proptest! {
        #[test]
        fn any_number_is_itself(number in any::<u64>(), shift in 0..64_u32, signed in any::<i64>()) {
            let number = number >> shift;
            prop_assert_eq!(decode(&encode(&number)), Some(number));
            prop_assert_eq!(encode(&number).len(), length(number));
            // With other values after it.
            let several = (number, (!number, (signed, number)));
            prop_assert_eq!(decode(&encode(&several)), Some(several));
            prop_assert_eq!(decode(&encode(&(signed >> shift))), Some(signed >> shift));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Some(value) = decode::<Everything>(&bytes) {
                prop_assert_eq!(decode(&encode(&value)), Some(value));
            }
        }
    }
}
