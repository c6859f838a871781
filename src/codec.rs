//! Bytes of the state: what a snapshot is made of.
//!
//! Fields in their order, without names or tags; numbers take as many bytes as they need. Whoever reads asks for what
//! must come next and always gets a value: where the bytes do not hold one, the [`Reader`] is spoilt, gives nothing but
//! zeros from then on, and what it made is thrown away in the end. So a field is read without a way back, whatever the
//! bytes are, and all the checking is in one place.

mod model;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Items that room is made for before any of them was read.
const ROOM: usize = 256;

/// What can be written into bytes and read from them.
pub(crate) trait Codec: Sized {
    /// Bytes of the value itself, at least as many as it takes on any platform: [`Self::heap`] says what it holds
    /// beside them.
    const SIZE: usize;

    /// Bytes on the heap that it holds, as [`Weighed`] counts them: by what is in it and not by what room was made for,
    /// so that a restored value holds as many, on every platform.
    #[inline]
    fn heap(&self) -> usize {
        0
    }

    /// Appends the value.
    fn put(&self, to: &mut Vec<u8>);

    /// Takes a value off; any, where there is none.
    fn take(from: &mut Reader<'_>) -> Self;

    /// Appends items one after the other.
    fn put_all<'a>(items: impl Iterator<Item = &'a Self>, to: &mut Vec<u8>)
    where
        Self: 'a,
    {
        for item in items {
            item.put(to);
        }
    }

    /// Takes so many items off.
    fn take_all(count: usize, from: &mut Reader<'_>) -> Vec<Self> {
        let mut items = Vec::with_capacity(count.min(ROOM));
        while items.len() < count && from.sound {
            items.push(Self::take(from));
        }
        items
    }
}

/// Bytes that one allocation takes beside what was asked for.
const ALLOCATION: usize = 16;

/// Bytes on the heap of so many items in a row, and of what they hold.
#[inline]
fn held<'a, T: Codec + 'a>(count: usize, items: impl Iterator<Item = &'a T>) -> usize {
    if count == 0 {
        return 0;
    }
    items.fold(ALLOCATION + count * T::SIZE, |held, item| held + item.heap())
}

/// [`Codec::SIZE`] of a field.
pub(crate) const fn size<S, T: Codec>(_: fn(&S) -> &T) -> usize {
    T::SIZE
}

/// What is changed seldom and looked at often, with what it holds on the heap.
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

    /// The only way to change it.
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

/// A value's bytes.
pub(crate) fn encode(value: &impl Codec) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.put(&mut bytes);
    bytes
}

/// The value that the bytes are, and nothing else.
pub(crate) fn decode<T: Codec>(bytes: &[u8]) -> Option<T> {
    let mut from = Reader { rest: bytes, sound: true, raw: 0 };
    let value = T::take(&mut from);
    (from.sound && from.rest.is_empty()).then_some(value)
}

/// The value that bytes begin with, whose texts are a host's as they are, and what stands behind it.
pub(crate) fn first<T: Codec>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let mut from = Reader { rest: bytes, sound: true, raw: 1 };
    let value = T::take(&mut from);
    from.sound.then_some((value, from.rest))
}

/// What is left to read.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    sound: bool,
    /// How many of what is being read may hold texts with control characters.
    raw: u8,
}

impl<'a> Reader<'a> {
    /// Notes that the bytes do not hold what was asked for.
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

    /// A value, and the bytes that it was read from; nothing where they do not hold one.
    pub(crate) fn with_bytes<T: Codec>(&mut self) -> Option<(T, &'a [u8])> {
        let before = self.rest;
        let value = T::take(self);
        Some((value, before.get(..before.len() - self.rest.len())?)).filter(|_| self.sound)
    }

    /// So many bytes; none where there are fewer.
    pub(crate) fn bytes(&mut self, count: usize) -> &'a [u8] {
        if let Some((bytes, rest)) = self.rest.split_at_checked(count) {
            self.rest = rest;
            return bytes;
        }
        self.spoil();
        &[]
    }

    /// A number, see [`put_number`].
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
        // Of two to eight bytes the first ones hold all of it; of nine the first holds nothing.
        let word = if more < 8 { self.rest } else { next }.first_chunk();
        match (word, next.get(more as usize..)) {
            (Some(word), Some(rest)) => {
                self.rest = rest;
                let word = u64::from_be_bytes(*word);
                if more < 8 { word >> (56 - 8 * more) & u64::MAX >> (57 - 7 * more) } else { word }
            }
            // At the very end.
            _ => {
                let high = u64::from(first & 0x7f_u8.checked_shr(more).unwrap_or(0));
                self.rest = next;
                self.bytes(more as usize).iter().fold(high, |number, byte| (number << 8) | u64::from(*byte))
            }
        }
    }

    /// What is read up to the matching [`Self::plain`] may hold a host's texts as they are; what was made printable may
    /// not hold control characters, since it is shown without another look.
    #[inline]
    pub(crate) fn raw(&mut self, raw: bool) {
        self.raw = self.raw.saturating_add(u8::from(raw));
    }

    #[inline]
    pub(crate) fn plain(&mut self, raw: bool) {
        self.raw = self.raw.saturating_sub(u8::from(raw));
    }

    /// A text; control characters in [`Self::raw`] alone.
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

    /// How many items follow: not more than there are bytes left, because none takes less than one.
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

/// A number in one byte up to 7 bits, in two up to 14 and so on, at most nine: the first begins with a one for each
/// that follows, the others hold it, the highest bits first.
#[inline(never)]
fn put_number(number: u64, to: &mut Vec<u8>) {
    // Most numbers are one byte, for which there is room.
    if number < 0x80 && to.len() < to.capacity() {
        to.push(number as u8);
    } else {
        put_long(number, to);
    }
}

/// The same of a number of more than one byte, or where there is no room.
#[inline(never)]
fn put_long(number: u64, to: &mut Vec<u8>) {
    // Of the others most are two bytes.
    if (0x80..1 << 14).contains(&number) {
        return to.extend_from_slice(&(number as u16 | 1 << 15).to_be_bytes());
    }
    let more = length(number) - 1;
    let end = to.len() + 1 + more;
    match 7_usize.checked_sub(more) {
        // Eight bytes are written whatever it takes: that is one store.
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

/// Bytes that a number takes.
pub(crate) const fn length(number: u64) -> usize {
    match (70 - (number | 1).leading_zeros() as usize) / 7 {
        10 => 9,
        length => length,
    }
}

/// The memory of what remembers nothing; no item of a sequence, as it takes no byte.
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
        let (low, high) = (from.byte(), from.byte());
        Self::from_le_bytes([low, high])
    }
}

/// Folded at 0, so that what is near it is small.
impl Codec for i64 {
    const SIZE: usize = 8;

    fn put(&self, to: &mut Vec<u8>) {
        put_number(((self << 1) ^ (self >> 63)).cast_unsigned(), to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let folded = from.number();
        (folded >> 1).cast_signed() ^ -(folded & 1).cast_signed()
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

/// Counted with each that shares it: a restored one is alone with it.
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

impl<K: Codec + Ord, T: Codec> Codec for BTreeMap<K, T> {
    const SIZE: usize = 24;

    #[inline]
    fn heap(&self) -> usize {
        // A node has room for eleven.
        let nodes = if self.is_empty() { 0 } else { 1 + self.len() / 5 };
        self.iter().fold(nodes * (ALLOCATION + 128 + 11 * (K::SIZE + T::SIZE)), |held, (name, value)| {
            held + name.heap() + value.heap()
        })
    }

    fn put(&self, to: &mut Vec<u8>) {
        put_number(self.len() as u64, to);
        for (name, value) in self {
            name.put(to);
            value.put(to);
        }
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let count = from.count();
        let mut map = Self::new();
        for _ in 0..count {
            // One that is there twice is one of which a snapshot would be another.
            if map.insert(K::take(from), T::take(from)).is_some() {
                from.spoil();
            }
        }
        map
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

/// The bytes of a type, field by field: `codec!(struct Name { fields })`, or `codec!(enum Name { Variant: number })`
/// with the number that tells the variants apart, from 0. A field or a variant left out does not compile. `raw` behind
/// it: it may hold a host's texts as they are.
macro_rules! codec {
    (@raw raw) => { true };
    (@raw) => { false };
    (struct $name:ident $(<$($of:ident),+>)? { $($field:ident),* $(,)? } $($raw:ident)?) => {
        impl $(<$($of: $crate::codec::Codec),+>)? $crate::codec::Codec for $name $(<$($of),+>)? {
            const SIZE: usize = {
                let size = (0 $(+ $crate::codec::size(|value: &Self| &value.$field))*).next_multiple_of(8);
                assert!(size_of::<Self>() <= size);
                size
            };

            #[inline]
            fn heap(&self) -> usize {
                0 $(+ $crate::codec::Codec::heap(&self.$field))*
            }

            fn put(&self, to: &mut ::alloc::vec::Vec<u8>) {
                let Self { $($field),* } = self;
                $($crate::codec::Codec::put($field, to);)*
            }

            fn take(from: &mut $crate::codec::Reader<'_>) -> Self {
                const RAW: bool = $crate::codec::codec!(@raw $($raw)?);
                from.raw(RAW);
                let taken = Self { $($field: $crate::codec::Codec::take(from)),* };
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
                // What a variant holds: 39 bytes a part.
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
        texts: BTreeMap<String, Vec<u64>>,
        shapes: Vec<Option<Box<Shape>>>,
        pair: [u64; 2],
    }
    codec!(struct Everything { numbers, signed, flag, texts, shapes, pair });

    fn everything() -> Everything {
        Everything {
            numbers: (255, 65_535, u32::MAX),
            signed: (-128, -32_768, i64::MIN),
            flag: Some(None),
            texts: BTreeMap::from([
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
        assert_eq!(decode::<BTreeMap<u64, u64>>(&[2, 1, 1, 1, 1]), None);
        // A count that nothing can be behind makes no room.
        assert_eq!(decode::<Vec<u64>>(&encode(&u64::MAX)), None);
    }

    proptest! {
        #[test]
        fn any_number_is_itself(number in any::<u64>(), shift in 0..64_u32, signed in any::<i64>()) {
            let number = number >> shift;
            prop_assert_eq!(decode(&encode(&number)), Some(number));
            prop_assert_eq!(encode(&number).len(), length(number));
            // With others behind it.
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
