//! Values as JSON text: the model's derives are compiled only for this serialiser.
//!
//! Output is byte for byte the same as `serde_json`'s. Each primitive is written by one function that is not inlined,
//! whereas those of `serde_json` are inlined into the derived code of every type.

use alloc::string::String;
use core::fmt::{Error, Write};
use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Number;

/// Bytes for which room is reserved: a verdict without findings.
const ROOM: usize = 128;

/// Serialises a value. Never fails.
pub(crate) fn written(value: &impl Serialize) -> String {
    let mut text = Text(String::with_capacity(ROOM));
    // INVARIANT: all keys of the model are strings and its `Serialize` impls do not fail, so this is never an error.
    if value.serialize(&mut text).is_err() {
        text.0.clear();
    }
    text.0
}

struct Text(String);

impl Text {
    #[inline(never)]
    fn put(&mut self, text: &str) {
        self.0.push_str(text);
    }

    #[inline(never)]
    fn quoted(&mut self, text: &str) {
        self.0.push('"');
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            let (plain, special) = rest.split_at_checked(at).unwrap_or_default();
            self.0.push_str(plain);
            let mut characters = special.chars();
            match characters.next() {
                Some('\n') => self.0.push_str("\\n"),
                Some('\r') => self.0.push_str("\\r"),
                Some('\t') => self.0.push_str("\\t"),
                Some('\u{8}') => self.0.push_str("\\b"),
                Some('\u{c}') => self.0.push_str("\\f"),
                Some(quoted @ ('"' | '\\')) => {
                    self.0.push('\\');
                    self.0.push(quoted);
                }
                Some(control) => self.number(format_args!("\\u{:04x}", u32::from(control))),
                None => {}
            }
            rest = characters.as_str();
        }
        self.0.push_str(rest);
        self.0.push('"');
    }

    #[inline(never)]
    fn number(&mut self, number: core::fmt::Arguments<'_>) {
        // INVARIANT: writing to a `String` does not fail.
        let _ = self.0.write_fmt(number);
    }

    /// Starts the next item of a list or object that begins with `open`.
    #[inline(never)]
    fn next(&mut self, open: char) {
        if !self.0.ends_with(open) {
            self.0.push(',');
        }
    }
}

/// A list or object being written, with its closing brackets.
struct Container<'t> {
    text: &'t mut Text,
    end: &'static str,
}

impl<'t> Container<'t> {
    fn new(text: &'t mut Text, begin: &str, end: &'static str) -> Result<Self, Error> {
        text.put(begin);
        Ok(Self { text, end })
    }

    /// A list or object nested in an object whose only field is the name of an enum variant.
    fn of(text: &'t mut Text, variant: &str, begin: &str, end: &'static str) -> Result<Self, Error> {
        text.put("{");
        text.quoted(variant);
        text.put(":");
        Self::new(text, begin, end)
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.text.next('[');
        value.serialize(&mut *self.text)
    }

    fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.name(name);
        value.serialize(&mut *self.text)
    }

    #[inline(never)]
    fn name(&mut self, name: &str) {
        self.text.next('{');
        self.text.quoted(name);
        self.text.put(":");
    }

    fn close(self) -> Result<(), Error> {
        self.text.put(self.end);
        Ok(())
    }
}

macro_rules! numbers {
    ($($method:ident: $number:ty),*) => {$(
        fn $method(self, number: $number) -> Result<(), Error> {
            self.number(format_args!("{number}"));
            Ok(())
        }
    )*};
}

impl<'t> Serializer for &'t mut Text {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Container<'t>;
    type SerializeTuple = Container<'t>;
    type SerializeTupleStruct = Container<'t>;
    type SerializeTupleVariant = Container<'t>;
    type SerializeMap = Container<'t>;
    type SerializeStruct = Container<'t>;
    type SerializeStructVariant = Container<'t>;

    numbers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_u8: u8,
        serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.put(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_f32(self, number: f32) -> Result<(), Error> {
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<(), Error> {
        match Number::from_f64(number) {
            Some(number) => self.number(format_args!("{number}")),
            None => self.put("null"),
        }
        Ok(())
    }

    fn serialize_char(self, character: char) -> Result<(), Error> {
        self.quoted(character.encode_utf8(&mut [0; 4]));
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Result<(), Error> {
        self.quoted(text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Error> {
        self.collect_seq(bytes)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.put("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut open = Container::new(self, "{", "}")?;
        open.field(variant, value)?;
        open.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Container<'t>, Error> {
        Container::new(self, "[", "]")
    }

    fn serialize_tuple(self, _: usize) -> Result<Container<'t>, Error> {
        Container::new(self, "[", "]")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Container<'t>, Error> {
        Container::new(self, "[", "]")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Container<'t>, Error> {
        Container::of(self, variant, "[", "]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Container<'t>, Error> {
        Container::new(self, "{", "}")
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Container<'t>, Error> {
        Container::new(self, "{", "}")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Container<'t>, Error> {
        Container::of(self, variant, "{", "}}")
    }
}

macro_rules! items {
    ($($of:ident: $method:ident),*) => {$(
        impl $of for Container<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )*};
}

items! {
    SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
}

macro_rules! fields {
    ($($of:ident),*) => {$(
        impl $of for Container<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        }
    )*};
}

fields! { SerializeStruct, SerializeStructVariant }

impl SerializeMap for Container<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, name: &T) -> Result<(), Error> {
        self.text.next('{');
        name.serialize(&mut *self.text)?;
        self.text.put(":");
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(&mut *self.text)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use super::written;
    use alloc::{
        collections::BTreeMap,
        string::{String, ToString},
        vec,
        vec::Vec,
    };
    use proptest::prelude::*;
    use serde::Serialize;
    use serde_json::{Value, json};

    #[derive(Serialize)]
    enum Case {
        Plain,
        Of(i8),
        Pair(u8, char),
        Named { at: Option<bool>, text: &'static str },
    }

    #[derive(Serialize)]
    struct Every {
        cases: Vec<Case>,
        nothing: (),
        #[serde(flatten)]
        more: BTreeMap<String, f64>,
        bytes: [u8; 2],
    }

    #[test]
    fn as_serde_json_writes_it() {
        let cases =
            || vec![Case::Plain, Case::Of(-1), Case::Pair(2, '"'), Case::Named { at: None, text: "\u{1}\n\u{7f}é" }];
        let numbers = [("a", 1.0), ("b", 1e23), ("c", -0.0), ("d", f64::NAN), ("e", 5e-324)];
        for cases in [cases(), Vec::new()] {
            let more = numbers.map(|(name, number)| (name.into(), number)).into();
            let every = Every { cases, nothing: (), more, bytes: [0, 255] };
            assert_eq!(written(&every), serde_json::to_string(&every).unwrap());
        }
        let value = json!({"": [], "a": {}, "b": [[], {}, "[", "{"], "c": [1, u64::MAX, i64::MIN, 0.1, null, true]});
        assert_eq!(written(&value), value.to_string());
    }

    proptest! {
        #[test]
        fn any_text_is_quoted(text in "\\PC*|[\\x00-\\x40\\\\]*") {
            prop_assert_eq!(written(&text), Value::from(text.as_str()).to_string());
        }
    }
}
