//! Shapes of JSON objects: which fields one has, in which order, and what stands between their values.
//!
//! The objects of a list, and the successive answers of a tool, mostly differ only in their values. So the text between
//! two values (comma, name, colon and blanks) is stored as a *step* that follows the step before it, and is expected
//! where it was found the last time: one comparison of sixteen bytes then reads all of it, and what the name says of
//! its value is known. Steps form a tree, so the last step of an object determines all of its fields and their sorted
//! order, which is computed once.

use super::fields::{FieldMeaning, NameFeatures};
use alloc::{string::String, vec::Vec};

/// The root step, at which objects begin: no field yet.
pub(super) const START: u16 = 0;
/// No stored step.
pub(super) const NONE: u16 = u16::MAX;

/// Maximum number of steps stored.
const MOST: usize = 384;
/// Maximum number of fields of an object that are stored.
pub(super) const FIELDS: usize = 64;
/// Maximum number of bytes of a step's text: a longer name is a key of its own rather than a field name.
const LONGEST: usize = 128;
/// Maximum number of steps that may follow a step; at the start, where every object passes, more are allowed.
const BRANCHES: usize = 8;
const BRANCHES_AT_START: usize = 24;

/// The shapes seen so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    /// The first is [`Step::START`].
    steps: Vec<Step>,
    /// The texts of all steps, concatenated.
    texts: String,
    /// The sorted fields of each shape that an object has ended with, concatenated.
    sorted: Vec<Written>,
    /// Something did not fit: cleared before the next document.
    full: bool,
}

/// A field after others: the text between the previous value (or the start of the object) and its own value.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The first sixteen bytes of the text, and masks of those that exist.
    begins: [u64; 2],
    masks: [u64; 2],
    /// Byte ranges of the text and of the name in it, in `texts`.
    text: (u32, u32),
    name: (u32, u32),
    told: NameFeatures,
    tells: bool,
    /// How it is written.
    written: Written,
    /// Fields of an object up to and including this one.
    fields: u8,
    /// The step most recently added after this one, and the one added before this one after the same parent.
    child: u16,
    sibling: u16,
    /// The step that last followed this one, and the step that last began an object in its value.
    next: u16,
    inside: u16,
    before: u16,
    sorted: SortedFields,
}

/// The fields of a shape by name, without the volatile ones.
#[derive(Clone, Copy, Debug)]
enum SortedFields {
    /// No object has ended here yet.
    Unknown,
    /// A name occurs twice.
    Never,
    /// Start and length of its part of `Shapes::sorted`.
    At(u32, u8),
}

/// How a field of a shape is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// The field's place in its object.
    pub(super) place: u8,
    /// Bytes of the name with its quotes and the colon, directly before the value; 0 if canonical JSON would write them
    /// differently.
    pub(super) back: u8,
    /// A comma precedes the name.
    pub(super) comma: bool,
}

/// A step that was found where it was looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedStep {
    /// Bytes of its text.
    pub(super) length: usize,
    /// Its name says something about its value.
    pub(super) tells: bool,
    /// The step that is expected after it.
    pub(super) next: u16,
}

impl Step {
    const START: Self = Self {
        begins: [0; 2],
        masks: [u64::MAX; 2],
        text: (0, 0),
        name: (0, 0),
        told: NameFeatures::NOTHING,
        tells: false,
        written: Written { place: 0, back: 0, comma: false },
        fields: 0,
        child: NONE,
        sibling: NONE,
        next: NONE,
        inside: NONE,
        before: NONE,
        sorted: SortedFields::At(0, 0),
    };
}

/// The first sixteen bytes of a text, and masks of those that exist.
fn beginning(text: &str) -> ([u64; 2], [u64; 2]) {
    let (mut bytes, mut mask) = ([0; 16], [0; 16]);
    for ((byte, mask), from) in bytes.iter_mut().zip(&mut mask).zip(text.bytes()) {
        (*byte, *mask) = (from, u8::MAX);
    }
    (halves(bytes), halves(mask))
}

#[inline]
fn halves(bytes: [u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(bytes);
    [both as u64, (both >> 64) as u64]
}

impl Shapes {
    /// Starts another document.
    pub(super) fn begin(&mut self) {
        if core::mem::take(&mut self.full) {
            self.steps.clear();
            self.texts.clear();
            self.sorted.clear();
        }
        if self.steps.is_empty() {
            self.steps.push(Step::START);
        }
    }

    fn step(&self, step: u16) -> Option<&Step> {
        self.steps.get(usize::from(step))
    }

    /// The step that an object in the value of step `within` is expected to begin with; [`START`] stands for the
    /// document.
    #[inline]
    pub(super) fn first(&self, within: u16) -> u16 {
        match self.step(within) {
            Some(step) => step.inside,
            // In a field that is not stored, the first step of the latest object.
            None => self.step(START).map_or(NONE, |start| start.next),
        }
    }

    /// Records that `step` came after `before`; at the start of an object, also that it began one in the value of
    /// `within`.
    fn expect(&mut self, before: u16, within: u16, step: u16) {
        if let Some(before) = self.steps.get_mut(usize::from(before)) {
            before.next = step;
        }
        if before == START
            && let Some(within) = self.steps.get_mut(usize::from(within))
        {
            within.inside = step;
        }
    }

    /// Whether the text of a step is at the beginning of `rest`, and what is known of the step.
    #[inline]
    pub(super) fn stands(&self, step: u16, rest: &[u8]) -> Option<ExpectedStep> {
        let known = self.step(step)?;
        let length = (known.text.1 - known.text.0) as usize;
        let begins = |bytes: [u64; 2]| {
            bytes[0] & known.masks[0] == known.begins[0] && bytes[1] & known.masks[1] == known.begins[1]
        };
        let same = match rest.first_chunk() {
            Some(chunk) if !begins(halves(*chunk)) => false,
            Some(_) if length <= 16 => true,
            _ => rest.get(..length) == self.texts.as_bytes().get(known.text.0 as usize..known.text.1 as usize),
        };
        // Followed by more blanks, it is a different step.
        let same = same && rest.get(length).is_some_and(|byte| *byte > b' ');
        same.then_some(ExpectedStep { length, tells: known.tells, next: known.next })
    }

    /// What the name of a step's field says.
    pub(super) fn told(&self, step: u16) -> NameFeatures {
        self.step(step).map_or(NameFeatures::NOTHING, |step| step.told)
    }

    /// The step after `before` whose text is at the beginning of `rest`; it is expected there from now on.
    pub(super) fn other(&mut self, before: u16, within: u16, rest: &[u8]) -> Option<(u16, ExpectedStep)> {
        let mut step = self.step(before)?.child;
        while step != NONE {
            if let Some(found) = self.stands(step, rest) {
                self.expect(before, within, step);
                return Some((step, found));
            }
            step = self.step(step)?.sibling;
        }
        None
    }

    /// Adds a step after a stored one, with its text and the range of the name in it. [`NONE`] if there is no room.
    pub(super) fn add(
        &mut self,
        before: u16,
        within: u16,
        text: &str,
        name: (usize, usize),
        told: NameFeatures,
    ) -> u16 {
        let Some(parent) = self.step(before).copied() else { return NONE };
        if self.steps.len() >= MOST || text.len() > LONGEST || usize::from(parent.fields) >= FIELDS {
            self.full |= self.steps.len() >= MOST;
            return NONE;
        }
        let most = if before == START { BRANCHES_AT_START } else { BRANCHES };
        let mut branches = core::iter::successors(self.step(parent.child), |step| self.step(step.sibling));
        if branches.nth(most - 1).is_some() {
            // If names are keys, there will always be others.
            self.full = true;
            return NONE;
        }
        let (begins, masks) = beginning(text);
        let from = self.texts.len() as u32;
        self.texts.push_str(text);
        // INVARIANT: texts are short and few.
        let place = |at: usize| from + at as u32;
        let canonical = !told.digits && text.ends_with("\":") && name.1 + 2 == text.len();
        let number = self.steps.len() as u16;
        self.steps.push(Step {
            begins,
            masks,
            text: (from, place(text.len())),
            name: (place(name.0), place(name.1)),
            told,
            tells: !told.is_plain(),
            written: Written {
                place: parent.fields,
                back: if canonical { (name.1 - name.0 + 3) as u8 } else { 0 },
                comma: text.as_bytes().get(name.0.wrapping_sub(2)) == Some(&b','),
            },
            fields: parent.fields + 1,
            child: NONE,
            sibling: parent.child,
            next: NONE,
            inside: NONE,
            before,
            sorted: SortedFields::Unknown,
        });
        if let Some(parent) = self.steps.get_mut(usize::from(before)) {
            parent.child = number;
        }
        self.expect(before, within, number);
        number
    }

    /// The shape of an object that ended with this step; [`NONE`] if its fields have to be sorted each time.
    #[inline]
    pub(super) fn shape(&mut self, last: u16) -> u16 {
        match self.step(last).map(|step| step.sorted) {
            Some(SortedFields::At(..)) => last,
            Some(SortedFields::Unknown) => self.sort(last),
            Some(SortedFields::Never) | None => NONE,
        }
    }

    #[inline(never)]
    fn sort(&mut self, last: u16) -> u16 {
        // Indexed by place.
        let mut fields = [NONE; FIELDS];
        let mut at = last;
        while let Some(step) = self.step(at).filter(|_| at != START) {
            if let Some(field) = fields.get_mut(usize::from(step.fields) - 1) {
                *field = at;
            }
            at = step.before;
        }
        let named = |field: &Written| fields.get(usize::from(field.place)).map_or("", |field| self.name(*field));
        let mut sorted = Vec::new();
        for field in &fields {
            let Some(step) = self.step(*field) else { break };
            if step.told.named == FieldMeaning::Volatile {
                continue;
            }
            let behind = sorted.partition_point(|other| named(other) < self.name(*field));
            if sorted.get(behind).is_some_and(|other| named(other) == self.name(*field)) {
                self.settle(last, SortedFields::Never);
                return NONE;
            }
            sorted.insert(behind, step.written);
        }
        // INVARIANT: an object has at most 64 fields, and there are few objects.
        let settled = SortedFields::At(self.sorted.len() as u32, sorted.len() as u8);
        self.sorted.extend_from_slice(&sorted);
        self.settle(last, settled);
        last
    }

    fn settle(&mut self, last: u16, sorted: SortedFields) {
        if let Some(step) = self.steps.get_mut(usize::from(last)) {
            step.sorted = sorted;
        }
    }

    /// The fields of a shape, sorted by name, without the volatile ones.
    pub(super) fn sorted(&self, shape: u16) -> &[Written] {
        match self.step(shape).map(|step| step.sorted) {
            Some(SortedFields::At(from, length)) => {
                self.sorted.get(from as usize..from as usize + usize::from(length)).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// The name of a step's field.
    pub(super) fn name(&self, step: u16) -> &str {
        let name = self.step(step).map(|step| step.name).unwrap_or_default();
        self.texts.get(name.0 as usize..name.1 as usize).unwrap_or_default()
    }
}

#[cfg(test)]
impl Shapes {
    /// Shapes without room for another one, now and later.
    pub(super) fn without_room() -> Self {
        let mut shapes = Self::default();
        shapes.steps.resize(MOST, Step::START);
        shapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, string::ToString};

    /// Adds a field as a text would contain it after others.
    fn add(shapes: &mut Shapes, before: u16, name: &str) -> u16 {
        let begin = if before == START { "\"" } else { ",\"" };
        let text = format!("{begin}{name}\":");
        let at = (begin.len(), begin.len() + name.len());
        shapes.add(before, START, &text, at, NameFeatures::of(name))
    }

    #[test]
    fn a_step_is_known_where_it_stands() {
        let mut shapes = Shapes::default();
        shapes.begin();
        for name in ["", "a", "four", "fiveb", "twelve bytes", "thirteen byte", "a name of many bytes", "é"] {
            for (before, begin) in [(START, "\""), (shapes.first(START), ",\"")] {
                let step = add(&mut shapes, before, name);
                if step == NONE {
                    continue;
                }
                assert_eq!(shapes.name(step), name);
                for (rest, stands) in [
                    (format!("{begin}{name}\":1"), true),
                    (format!("{begin}{name}\":\"and more than sixteen bytes"), true),
                    (format!("{begin}{name}\": 1 and more than sixteen bytes"), false),
                    (format!("{begin}{name}\" :1 and more than sixteen bytes"), false),
                    (format!("{begin}{name}x\":1 and more than sixteen bytes"), false),
                    (format!("{begin}x{name}\":1 and more than sixteen bytes"), false),
                    (format!("{begin}{name}\":"), false),
                    (name.to_string(), false),
                ] {
                    let found = shapes.stands(step, rest.as_bytes());
                    let length = begin.len() + name.len() + 2;
                    assert_eq!(found.map(|found| found.length), stands.then_some(length), "{name}: {rest}");
                }
            }
        }
        assert!(shapes.stands(NONE, b"\"").is_none());
    }

    #[test]
    fn fields_are_sorted_once() {
        let mut shapes = Shapes::default();
        shapes.begin();
        let mut last = START;
        let names: Vec<String> = (0..FIELDS).map(|n| format!("{}-{}", n * 37 % FIELDS, "x".repeat(n % 11))).collect();
        for name in &names {
            last = add(&mut shapes, last, name);
            assert_ne!(last, NONE, "{name}");
        }
        assert_eq!(add(&mut shapes, last, "one more"), NONE);
        let shape = shapes.shape(last);
        let mut sorted: Vec<u8> = (0..FIELDS as u8).collect();
        sorted.sort_unstable_by_key(|place| &names[usize::from(*place)]);
        let places = |shapes: &Shapes, shape| shapes.sorted(shape).iter().map(|field| field.place).collect::<Vec<_>>();
        assert_eq!(places(&shapes, shape), sorted);
        // A volatile field is left out, and a name that occurs twice rules out sorting.
        let mut last = START;
        for name in ["b", "tookMs", "a"] {
            last = add(&mut shapes, last, name);
        }
        let shape = shapes.shape(last);
        assert_eq!(places(&shapes, shape), [2, 0]);
        let last = add(&mut shapes, last, "b");
        assert_eq!((shapes.shape(last), shapes.shape(last)), (NONE, NONE));
    }

    #[test]
    fn what_is_full_begins_anew() {
        let mut shapes = Shapes::default();
        shapes.begin();
        let mut kept = 0;
        for number in 0..MOST {
            let mut before = START;
            for field in 0..40 {
                before = add(&mut shapes, before, &format!("{number}.{field}"));
                kept += usize::from(before != NONE);
                if before == NONE {
                    break;
                }
            }
        }
        assert!(kept < MOST && shapes.full);
        assert_eq!(add(&mut shapes, START, "another"), NONE);
        shapes.begin();
        assert_eq!(add(&mut shapes, START, "another"), 1);
    }
}
