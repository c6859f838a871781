//! JSON values as input for serde: the model's derives are compiled only for this deserialiser.
//!
//! `serde_json` also accepts lists for structs and objects for enums. That doubles the code for every type of the
//! model, and no schema allows it.

use alloc::string::String;
use core::{fmt, slice};
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
    value::BorrowedStrDeserializer,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Map, Number, Value, map};

/// A JSON value to deserialise.
#[derive(Clone, Copy)]
pub(super) struct Tree<'de>(pub(super) &'de Value);

impl Tree<'_> {
    /// The error that the value is not of the expected type.
    #[cold]
    #[inline(never)]
    fn instead_of(self, expected: &dyn Expected) -> Error {
        let unexpected = match self.0 {
            Value::Null => Unexpected::Unit,
            Value::Bool(value) => Unexpected::Bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => Unexpected::Unsigned(number),
                (_, Some(number)) => Unexpected::Signed(number),
                _ => Unexpected::Float(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        };
        Error::invalid_type(unexpected, expected)
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, Error> {
    match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => visitor.visit_u64(number),
        (_, Some(number)) => visitor.visit_i64(number),
        _ => visitor.visit_f64(number.as_f64().unwrap_or_default()),
    }
}

fn visit_items<'de, V: Visitor<'de>>(items: &'de [Value], visitor: V) -> Result<V::Value, Error> {
    visitor.visit_seq(Items(items.iter()))
}

fn visit_fields<'de, V: Visitor<'de>>(fields: &'de Map<String, Value>, visitor: V) -> Result<V::Value, Error> {
    visitor.visit_map(Fields { fields: fields.iter(), value: &Value::Null })
}

/// Passes a struct's fields in declaration order as a list in which some may be absent. The look-up in the object is
/// compiled once here, whereas derived code for maps compares field names separately for every struct.
pub(super) fn visit_struct<'de, V: Visitor<'de>>(
    fields: &'de Map<String, Value>,
    names: &'static [&'static str],
    visitor: V,
) -> Result<V::Value, Error> {
    let mut fields = Struct { fields, names: names.iter(), absent: None };
    visitor.visit_seq(&mut fields).map_err(|error| fields.absent.map_or(error, Error::missing_field))
}

/// Generates methods for values of a single kind.
macro_rules! only {
    ($($kind:pat => $visit:expr, $visitor:ident: $($method:ident($($ignored:ty),*))*;)*) => {$($(
        fn $method<V: Visitor<'de>>(self, $(_: $ignored,)* $visitor: V) -> Result<V::Value, Error> {
            match self.0 {
                $kind => $visit,
                _ => Err(self.instead_of(&$visitor)),
            }
        }
    )*)*};
}

impl<'de> Deserializer<'de> for Tree<'de> {
    type Error = Error;

    only! {
        Value::Null => visitor.visit_unit(), visitor: deserialize_unit() deserialize_unit_struct(&'static str);
        Value::Bool(value) => visitor.visit_bool(*value), visitor: deserialize_bool();
        Value::Number(number) => visit_number(number, visitor), visitor:
            deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_u8() deserialize_u16()
            deserialize_u32() deserialize_u64() deserialize_f32() deserialize_f64();
        Value::String(text) => visitor.visit_borrowed_str(text), visitor:
            deserialize_char() deserialize_str() deserialize_string() deserialize_identifier() deserialize_bytes()
            deserialize_byte_buf();
        Value::Array(items) => visit_items(items, visitor), visitor:
            deserialize_seq() deserialize_tuple(usize) deserialize_tuple_struct(&'static str, usize);
        Value::Object(fields) => visit_fields(fields, visitor), visitor: deserialize_map();
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Value::Object(fields) = self.0 else { return Err(self.instead_of(&visitor)) };
        known(fields, name, names)?;
        visit_struct(fields, names, visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => visit_number(number, visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visit_items(items, visitor),
            Value::Object(fields) => visit_fields(fields, visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(text) => {
                let case = IntoDeserializer::<Error>::into_deserializer(case(text, variants)?);
                case.deserialize_enum(name, variants, visitor)
            }
            _ => Err(self.instead_of(&"a string")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

struct Items<'de>(slice::Iter<'de, Value>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|item| seed.deserialize(Tree(item))).transpose()
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// Structs read from objects that may have other fields.
const AMONG_OTHERS: [&str; 3] = ["Labels", "Checkpoint", "Context"];

/// Rejects a field that the named struct does not have.
fn known(fields: &Map<String, Value>, name: &str, names: &'static [&'static str]) -> Result<(), Error> {
    match fields.keys().find(|field| !names.contains(&field.as_str())) {
        Some(unknown) if !AMONG_OTHERS.contains(&name) => Err(Error::unknown_field(unknown, names)),
        _ => Ok(()),
    }
}

/// The index of the enum variant with this name.
fn case(text: &str, variants: &'static [&'static str]) -> Result<u32, Error> {
    let known = variants.iter().zip(0..).find(|(variant, _)| **variant == text);
    known.map(|(_, index)| index).ok_or_else(|| Error::unknown_variant(text, variants))
}

struct Struct<'de> {
    fields: &'de Map<String, Value>,
    names: slice::Iter<'static, &'static str>,
    /// The latest field, if the object does not have it.
    absent: Option<&'static str>,
}

impl<'de> Struct<'de> {
    #[inline(never)]
    fn value(&mut self) -> Option<&'de Value> {
        let name = self.names.next()?;
        let value = self.fields.get(*name);
        self.absent = if value.is_none() { Some(name) } else { None };
        value
    }
}

impl<'de> SeqAccess<'de> for &mut Struct<'de> {
    type Error = Error;

    /// Not inlined, so that it is compiled once per type rather than once per field. An absent field is `None` if it is
    /// an `Option`; otherwise the derived code uses its default or, if it has none, returns an error.
    #[inline(never)]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        match self.value() {
            Some(value) => seed.deserialize(Tree(value)).map(Some),
            None => Ok(seed.deserialize(Absent).ok()),
        }
    }
}

/// An absent value: deserialises as `None` for an `Option`, and as an error otherwise.
struct Absent;

impl<'de> Deserializer<'de> for Absent {
    type Error = NotThere;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NotThere> {
        Err(NotThere)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotThere> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq
        tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[derive(Debug)]
struct NotThere;

impl fmt::Display for NotThere {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl core::error::Error for NotThere {}

impl serde::de::Error for NotThere {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

struct Fields<'de> {
    fields: map::Iter<'de>,
    value: &'de Value,
}

impl<'de> Fields<'de> {
    /// The next field's name. Not inlined, so that it is compiled only once.
    #[inline(never)]
    fn name(&mut self) -> Option<&'de str> {
        let (name, value) = self.fields.next()?;
        self.value = value;
        Some(name)
    }
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.name() else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    /// Not inlined, so that it is compiled once per type rather than once per field.
    #[inline(never)]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(Tree(self.value))
    }
}
