//! A binary encoding of events in one buffer, by which JavaScript passes the types that make up nearly every run.
//!
//! A message is an event type followed by fields in any order, each a field number and a value. Texts are UTF-8 with a
//! length prefix; arguments are tagged values with lengths and counts. Whatever this encoding does not cover (other
//! types, labels, unknown fields, values out of range) is passed as JSON text: [`Scratch::read`] returns `None`, and
//! the caller takes that path, which also words the errors. Both paths give the same event.
//!
//! Each event is decoded in place of the previous one of its type, so that a series of similar events allocates
//! nothing.

use crate::json;
use crate::model::{Body, Channel, Context, Delta, Event, Message, Outcome, Output, Role, ToolCall, ToolResult};
use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use serde_json::{Map, Value};

/// Levels of nesting accepted; more than JSON text may have.
const DEPTH: u32 = 128;

/// Number of event types covered; a type is its index in [`Scratch`].
const KINDS: usize = 5;

/// Field numbers, the same as in `js/src/wire.ts`.
mod field {
    pub(super) const RUN: u8 = 0;
    pub(super) const TASK: u8 = 1;
    pub(super) const PARENT_TASK: u8 = 2;
    pub(super) const AGENT: u8 = 3;
    pub(super) const ROUND: u8 = 4;
    pub(super) const AT: u8 = 5;
    pub(super) const STEP: u8 = 6;
    pub(super) const SYNTHETIC: u8 = 7;
    pub(super) const TOOL: u8 = 8;
    pub(super) const ARGS: u8 = 9;
    pub(super) const RAW_ARGS: u8 = 10;
    pub(super) const CALL_ID: u8 = 11;
    pub(super) const TARGET: u8 = 12;
    pub(super) const IDENTITY: u8 = 13;
    pub(super) const READ_ONLY: u8 = 14;
    pub(super) const IDEMPOTENT: u8 = 15;
    pub(super) const OUTCOME: u8 = 16;
    pub(super) const OUTPUT: u8 = 17;
    pub(super) const DIGEST: u8 = 18;
    pub(super) const EXIT_CODE: u8 = 19;
    pub(super) const ERROR_CLASS: u8 = 20;
    pub(super) const DETAILS: u8 = 21;
    pub(super) const STATE: u8 = 22;
    pub(super) const ROLE: u8 = 23;
    pub(super) const CHANNEL: u8 = 24;
    pub(super) const TEXT: u8 = 25;
    pub(super) const TOKENS: u8 = 26;
    pub(super) const COST_MICROS: u8 = 27;
}

/// Value tags, the same as in `js/src/wire.ts`.
mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    /// An integer that fits a double exactly.
    pub(super) const INTEGER: u8 = 3;
    /// Any other number, as JSON text.
    pub(super) const NUMBER: u8 = 4;
    pub(super) const TEXT: u8 = 5;
    pub(super) const LIST: u8 = 6;
    pub(super) const OBJECT: u8 = 7;
}

const ROLES: [Role; 3] = [Role::Assistant, Role::User, Role::System];
const CHANNELS: [Channel; 2] = [Channel::Text, Channel::Reasoning];

/// The latest event of each type, reused for the next one.
#[derive(Debug)]
pub struct Scratch([Event; KINDS]);

impl Default for Scratch {
    fn default() -> Self {
        let bodies = [
            Body::ToolCall(ToolCall::default()),
            Body::ToolResult(ToolResult::default()),
            Body::Delta(Delta::default()),
            Body::Message(Message { role: Role::Assistant, channel: None, text: String::new(), digest: None }),
            Body::Output(Output::default()),
        ];
        Self(bodies.map(|body| Event { body, context: Context::default() }))
    }
}

impl Scratch {
    /// Decodes a message. Returns `None` if it is malformed or needs the JSON path.
    pub fn read(&mut self, message: &[u8]) -> Option<&Event> {
        let (kind, rest) = message.split_first()?;
        let event = self.0.get_mut(usize::from(*kind))?;
        let mut reader = Reader { rest };
        let mut seen = 0_u32;
        while let Some((id, rest)) = reader.rest.split_first() {
            reader.rest = rest;
            seen |= 1_u32.checked_shl(u32::from(*id))?;
            reader.field(*id, event)?;
        }
        forget(event, |id| seen & (1 << id) == 0).then_some(event)
    }
}

/// Clears fields that the previous event had and this one does not, according to `absent`. Returns whether all required
/// fields are present.
fn forget(event: &mut Event, absent: impl Fn(u8) -> bool) -> bool {
    /// Resets the slots of absent fields.
    macro_rules! empty {
        ($($slot:expr => $id:ident),* $(,)?) => {$(
            if absent(field::$id) {
                $slot = Default::default();
            }
        )*};
    }
    let Event { body, context } = event;
    empty! {
        context.at => AT, context.run => RUN, context.task => TASK, context.parent_task => PARENT_TASK,
        context.agent => AGENT, context.round => ROUND, context.step => STEP, context.synthetic => SYNTHETIC,
        context.tokens => TOKENS, context.cost_micros => COST_MICROS,
    }
    match body {
        Body::ToolCall(call) => {
            empty! {
                call.args => ARGS, call.raw_args => RAW_ARGS, call.call_id => CALL_ID, call.target => TARGET,
                call.identity => IDENTITY, call.read_only => READ_ONLY, call.idempotent => IDEMPOTENT,
            }
            !absent(field::TOOL)
        }
        Body::ToolResult(result) => {
            empty! {
                result.call_id => CALL_ID, result.tool => TOOL, result.digest => DIGEST, result.exit_code => EXIT_CODE,
                result.error_class => ERROR_CLASS, result.details => DETAILS, result.state => STATE,
            }
            !absent(field::OUTCOME) && !absent(field::OUTPUT)
        }
        Body::Delta(delta) => {
            empty! { delta.channel => CHANNEL }
            !absent(field::TEXT)
        }
        Body::Message(message) => {
            empty! { message.channel => CHANNEL, message.digest => DIGEST }
            !absent(field::ROLE) && !absent(field::TEXT)
        }
        Body::Output(_) => !absent(field::TEXT),
        _ => false,
    }
}

/// The rest of a message.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads a field's value into its slot. Returns `None` if events of this type have no such field.
    fn field(&mut self, id: u8, event: &mut Event) -> Option<()> {
        let Event { body, context } = event;
        match (id, body) {
            (field::RUN, _) => self.option(&mut context.run),
            (field::TASK, _) => self.option(&mut context.task),
            (field::PARENT_TASK, _) => self.option(&mut context.parent_task),
            (field::AGENT, _) => self.option(&mut context.agent),
            (field::ROUND, _) => self.option(&mut context.round),
            (field::AT, _) => self.put(&mut context.at, Self::integer),
            (field::STEP, _) => self.put(&mut context.step, Self::count),
            (field::TOKENS, _) => self.put(&mut context.tokens, Self::count),
            (field::COST_MICROS, _) => self.put(&mut context.cost_micros, Self::count),
            (field::SYNTHETIC, _) => {
                context.synthetic = self.flag()?;
                Some(())
            }
            (field::TOOL, Body::ToolCall(call)) => self.string(&mut call.tool),
            (field::ARGS, Body::ToolCall(call)) => self.json(&mut call.args),
            (field::RAW_ARGS, Body::ToolCall(call)) => self.option(&mut call.raw_args),
            (field::CALL_ID, Body::ToolCall(call)) => self.option(&mut call.call_id),
            (field::TARGET, Body::ToolCall(call)) => self.option(&mut call.target),
            (field::IDENTITY, Body::ToolCall(call)) => self.option(&mut call.identity),
            (field::READ_ONLY, Body::ToolCall(call)) => self.put(&mut call.read_only, Self::flag),
            (field::IDEMPOTENT, Body::ToolCall(call)) => self.put(&mut call.idempotent, Self::flag),
            (field::CALL_ID, Body::ToolResult(result)) => self.option(&mut result.call_id),
            (field::TOOL, Body::ToolResult(result)) => self.option(&mut result.tool),
            (field::OUTCOME, Body::ToolResult(result)) => {
                result.outcome = self.one_of(&Outcome::ALL)?;
                Some(())
            }
            (field::OUTPUT, Body::ToolResult(result)) => self.text_of(&mut result.output),
            (field::DIGEST, Body::ToolResult(result)) => self.option(&mut result.digest),
            (field::EXIT_CODE, Body::ToolResult(result)) => {
                self.put(&mut result.exit_code, |reader| json::exit_code(reader.integer()?))
            }
            (field::ERROR_CLASS, Body::ToolResult(result)) => self.option(&mut result.error_class),
            (field::DETAILS, Body::ToolResult(result)) => self.json(&mut result.details),
            (field::STATE, Body::ToolResult(result)) => self.option(&mut result.state),
            (field::ROLE, Body::Message(message)) => {
                message.role = self.one_of(&ROLES)?;
                Some(())
            }
            (field::CHANNEL, Body::Message(message)) => self.put(&mut message.channel, |it| it.one_of(&CHANNELS)),
            (field::TEXT, Body::Message(message)) => self.string(&mut message.text),
            (field::DIGEST, Body::Message(message)) => self.option(&mut message.digest),
            (field::CHANNEL, Body::Delta(delta)) => self.put(&mut delta.channel, |it| it.one_of(&CHANNELS)),
            (field::TEXT, Body::Delta(delta)) => self.string(&mut delta.text),
            (field::TEXT, Body::Output(output)) => self.string(&mut output.text),
            _ => None,
        }
    }

    fn put<T>(&mut self, slot: &mut Option<T>, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<()> {
        *slot = Some(read(self)?);
        Some(())
    }

    fn string(&mut self, slot: &mut String) -> Option<()> {
        let text = self.text()?;
        slot.clear();
        slot.push_str(text);
        Some(())
    }

    fn option(&mut self, slot: &mut Option<String>) -> Option<()> {
        self.string(slot.get_or_insert_default())
    }

    /// Any JSON value; `null` means absent.
    fn json(&mut self, slot: &mut Option<Value>) -> Option<()> {
        let value = slot.get_or_insert_default();
        self.value(value, false, 0)?;
        if value.is_null() {
            *slot = None;
        }
        Some(())
    }

    /// A string, or any other value as JSON text.
    fn text_of(&mut self, slot: &mut String) -> Option<()> {
        if let Some((&tag::TEXT, rest)) = self.rest.split_first() {
            self.rest = rest;
            return self.string(slot);
        }
        let mut value = Value::Null;
        self.value(&mut value, true, 0)?;
        *slot = json::to_string(&value);
        Some(())
    }

    /// Reads a value in place of an earlier one, reusing its memory where both have the same shape. `fresh`: there is
    /// none to reuse.
    fn value(&mut self, slot: &mut Value, fresh: bool, depth: u32) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        match self.byte()? {
            tag::NULL => *slot = Value::Null,
            tag::FALSE => *slot = Value::Bool(false),
            tag::TRUE => *slot = Value::Bool(true),
            tag::INTEGER => *slot = Value::from(self.integer()?),
            tag::NUMBER => *slot = Value::Number(self.text()?.parse().ok()?),
            tag::TEXT => match slot {
                Value::String(text) => self.string(text)?,
                _ => *slot = Value::String(self.text()?.to_string()),
            },
            tag::LIST => self.list(slot, fresh, depth)?,
            tag::OBJECT => self.object(slot, fresh, depth)?,
            _ => return None,
        }
        Some(())
    }

    fn list(&mut self, slot: &mut Value, fresh: bool, depth: u32) -> Option<()> {
        let count = self.length()?;
        if !slot.is_array() {
            *slot = Value::Array(Vec::new());
        }
        let items = slot.as_array_mut()?;
        items.truncate(count);
        for item in items.iter_mut() {
            self.value(item, fresh, depth + 1)?;
        }
        // Every item takes at least one byte, so a count that is too large fails at the end of the message.
        for _ in items.len()..count {
            let mut item = Value::Null;
            self.value(&mut item, true, depth + 1)?;
            items.push(item);
        }
        Some(())
    }

    fn object(&mut self, slot: &mut Value, fresh: bool, depth: u32) -> Option<()> {
        let count = self.length()?;
        if fresh || !slot.is_object() {
            *slot = Value::Object(Map::new());
        }
        let start = self.rest;
        let fields = slot.as_object_mut()?;
        self.fields(fields, count, fresh, depth)?;
        // The earlier value had keys that this one lacks: read again into an empty object.
        if !fresh && fields.len() != count {
            self.rest = start;
            fields.clear();
            self.fields(fields, count, true, depth)?;
        }
        Some(())
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, count: usize, fresh: bool, depth: u32) -> Option<()> {
        for _ in 0..count {
            let key = self.text()?;
            if let Some(value) = fields.get_mut(key) {
                self.value(value, fresh, depth + 1)?;
            } else {
                let mut value = Value::Null;
                self.value(&mut value, true, depth + 1)?;
                fields.insert(key.to_string(), value);
            }
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*byte)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn one_of<T: Copy>(&mut self, cases: &[T]) -> Option<T> {
        cases.get(usize::from(self.byte()?)).copied()
    }

    /// An integer, 8 bytes little-endian.
    fn integer(&mut self) -> Option<i64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(i64::from_le_bytes(*bytes))
    }

    fn count(&mut self) -> Option<u64> {
        u64::try_from(self.integer()?).ok()
    }

    fn length(&mut self) -> Option<usize> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = self.length()?;
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        core::str::from_utf8(text).ok()
    }
}

#[cfg(any(test, fuzzing))]
pub mod write;

#[cfg(test)]
mod tests;
