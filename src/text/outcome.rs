//! What a call led to, in a comparable form.
//!
//! Outcomes are compared at three levels: byte for byte; with what changes by itself masked; and, if they are long,
//! with digits masked as well. An error is also compared by its class: the kind of mistake, whatever the arguments
//! were.

use super::again::ReadCache;
use super::answer::{AnswerMeaning, nothing_in, says};
use super::canonical::{canonical_json, empty};
use super::class::{CLASS_END, Class, LETTERS_OF_ERROR, class, letters_outside_tags};
use super::digest::{Digests, Key, combine, salted};
use super::echo::Echo;
use super::ends::{CLIP_ABOVE, clip, clip_to};
use super::figures::digits_masked;
use super::frame::{first_row, frame};
use super::glance::sketch;
use super::late::Late;
use super::lines::trimmed;
use super::mask::{LETTERS_COUNTED, Span, Strength, normalise, normalise_light};
use super::named::Names;
use super::refusal::{Refusal, refusal};
use super::root::Marks;
use super::volatile::Volatile;
use super::volatile_json::{Answer, Buffers, is_json};
use crate::codec::codec;
use crate::model::{Outcome, ToolResult};
use alloc::{string::String, vec::Vec};
use core::fmt::Write;

/// What is known about a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutcomeFacts {
    /// Equal for results that are equal byte for byte.
    pub(crate) exact: Key,
    /// Equal for results that differ only in what changes by itself; always equal where `exact` is.
    pub(crate) light: Key,
    /// Equal for results of at least [`SHAPE_WORDS`] words that differ only in that and in digits. `None` for shorter
    /// results, for those that report progress (`42 %`, `3/10`, `3 of 10`), and for lists whose rows are named by numbers.
    pub(crate) shape: Option<Key>,
    /// The class of an error; `None` for successes and negative answers.
    pub(crate) class: Option<Key>,
    /// The same, independent of the tool: for comparing tools that fail in the same way.
    pub(crate) mistake: Option<Key>,
    /// Why the call was rejected before it did anything, if it was.
    pub(crate) refusal: Option<Refusal>,
    /// The host itself rejected the call; the text of an output may be anybody's.
    pub(crate) by_host: bool,
    /// The call failed, by its outcome or by its exit code.
    pub(crate) failed: bool,
    /// The answer is that there is nothing: a success that says so or is empty, or a failure that says nothing.
    pub(crate) negative: bool,
    /// A success without a word outside tags: blank or figures only.
    pub(crate) wordless: bool,
    /// The answer is to wait.
    pub(crate) waiting: bool,
    /// Waiting may resolve the failure.
    pub(crate) transient: bool,
    /// Letters outside masked tokens, counted up to [`LETTERS_COUNTED`].
    pub(crate) letters: u32,
    /// A success that contains hardly a word but the call's own; set by the caller, which knows the call.
    pub(crate) echo: bool,
    /// The marks of a failed result.
    pub(crate) marks: Option<Marks>,
}

impl OutcomeFacts {
    /// Makes the outcome unequal to every other one.
    pub(crate) fn differ(&mut self, number: Key) {
        self.light = combine("outcome/other", &[self.light, number]);
        (self.exact, self.shape) = (self.light, None);
    }

    /// Gives a short answer that merely acknowledges a shape, although it has few words: its figures and ids name what
    /// was made, which is another thing each time.
    pub(crate) fn acknowledged_as(&mut self, answer: &str) {
        if self.shape.is_none() && answer.len() <= ACKNOWLEDGEMENT {
            self.shape = Some(combine("outcome/acknowledged", &[frame(answer).into()]));
        }
    }
}

/// Bytes of the longest answer that merely acknowledges.
const ACKNOWLEDGEMENT: usize = 240;

/// Letters below which a result is little more than figures and has no shape.
const LETTERS_OF_SHAPE: u32 = 24;
/// Words below which a result has no shape: short results with different digits are different.
pub(crate) const SHAPE_WORDS: usize = 16;

/// Letters outside masked tokens below which what is masked is the answer, and the unmasked text is compared.
const LETTERS_TO_MASK: u32 = 4;

/// Maximum number of bytes of an answer that is only a zero.
const ZERO: usize = 16;
/// Buffers that outlive a call, so that in steady state judging an event allocates nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    /// For [`call_key`](super::call_key).
    pub(crate) call: String,
    /// What the tools' names reveal.
    pub(crate) names: Names,
    pub(crate) digests: Digests,
    head: String,
    whole: String,
    light: Light,
    json: Buffers,
    /// How often a user's pattern exceeded its steps, until the caller takes the count.
    pub(crate) cut_short: u32,
    /// A result belonged to no call, until the caller takes this.
    pub(crate) without_call: bool,
    /// The detector's salt.
    pub(crate) salt: u64,
    class: Class,
    again: ReadCache,
}

impl Scratch {
    pub(crate) fn salted(salt: u64) -> Self {
        Self { salt, ..Self::default() }
    }

    /// Separate buffers for judging one call of the tool with this key.
    pub(crate) fn aside(&self, tool: Key) -> Self {
        Self {
            call: String::with_capacity(512),
            names: self.names.only(tool),
            digests: self.digests.clone(),
            ..Self::salted(self.salt)
        }
    }
}

/// What is known of a result before it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glance {
    failed: bool,
    head: Key,
    raw: Key,
    /// Digest of what lies between the ends of a long text.
    middle: Option<Key>,
    /// The details are compared instead of the output; they are in [`Scratch::whole`].
    details: bool,
    /// [`OutcomeFacts::exact`].
    pub(crate) exact: Key,
    /// Equal for outputs that differ only in what changes by itself or in digits. `None` if the output must be read at
    /// once.
    pub(crate) sketch: Option<u32>,
    /// If there is a sketch: what the output says, if it is JSON.
    json: Option<AnswerMeaning>,
}

/// A first look at a result, before [`outcome`] reads it.
pub(crate) fn glance(result: &ToolResult, volatile: &Volatile, scratch: &mut Scratch) -> Glance {
    let salt = scratch.salt;
    let exit_code = result.exit_code.filter(|code| *code != 0);
    let failed = match result.outcome {
        Outcome::Ok => exit_code.is_some(),
        Outcome::NotExecuted => false,
        Outcome::Error | Outcome::Denied | Outcome::Invalid | Outcome::UnknownTool | Outcome::Timeout => true,
    };
    let head = head_key(result, exit_code, salt, &mut scratch.head);
    let details = result.details.as_ref().filter(|details| !details.is_null() && result.output.trim().is_empty());
    let text = match details {
        Some(details) => {
            empty(&mut scratch.whole);
            canonical_json(details, &mut scratch.whole);
            scratch.whole.as_str()
        }
        None => result.output.as_str(),
    };
    let (first, last) = clip(text);
    let middle = text.get(first.len()..text.len() - last.len()).filter(|middle| !middle.is_empty());
    let middle = middle.map(|middle| salted("output/middle", salt, middle.as_bytes()));
    let raw = match middle {
        Some(middle) => {
            let [first, last] = [first, last].map(|end| salted("output", salt, end.as_bytes()));
            combine("output/parts", &[first, middle, last])
        }
        None => salted("output", salt, text.as_bytes()),
    };
    let exact = combine("outcome/exact", &[head, raw]);
    let may_wait = details.is_none() && volatile.is_empty();
    let told = if may_wait { sketch(text, head, failed, salt) } else { None };
    let (sketch, json) = told.map_or((None, None), |(sketch, json)| (Some(sketch), json));
    Glance { failed, head, raw, middle, details: details.is_some(), exact, sketch, json }
}

/// What is compared of a text after masking.
struct Compared {
    light: Key,
    shape: Option<Key>,
    letters: u32,
}

/// Buffers for masking.
#[derive(Clone, Debug, Default)]
struct Light {
    text: String,
    other: String,
    /// Where numbers are in `text`.
    numbers: Vec<Span>,
}

impl Light {
    /// Masks the ends of a text, or the JSON it is, and digests them.
    fn compare(
        &mut self,
        (first, last): (&str, &str),
        answer: Option<&mut Answer<'_>>,
        Glance { failed, head, raw, middle, .. }: &Glance,
        (volatile, salt, cut_short): (&Volatile, u64, &mut u32),
    ) -> Compared {
        let Self { text: light, other, numbers } = self;
        light.clear();
        numbers.clear();
        let mut letters = 0;
        let is_json = answer.is_some();
        if let Some(answer) = answer {
            if volatile.is_empty() {
                answer.write(light, numbers);
            } else {
                other.clear();
                answer.write(other, numbers);
                light.push_str(&volatile.apply(other, cut_short));
                numbers.clear();
                numbers.push((0, light.len()));
            }
            // Names of empty fields say nothing.
            letters = if !failed && answer.is_hollow() { 0 } else { super::mask::letters(light) };
        } else {
            // The middle is compared byte for byte: masking megabytes would cost more than it reveals.
            for end in [first, last] {
                letters += normalise_light(&volatile.apply(end, cut_short), light, numbers).letters;
            }
            letters = letters.min(LETTERS_COUNTED);
        }
        // JSON has been masked value by value.
        let comparable = is_json || letters >= LETTERS_TO_MASK;
        let middle = middle.filter(|_| !is_json).unwrap_or(0);
        let light_digest = salted("output/light", salt, light.as_bytes());
        let light_text = if comparable { light_digest } else { *raw };

        other.clear();
        let long = is_long(light) && letters >= LETTERS_OF_SHAPE && first_row(first) == 0;
        let shape = (long && !digits_masked(light, numbers, other)).then(|| {
            // Without numbers the shape is the text.
            let shape = if numbers.is_empty() { light_digest } else { salted("output/light", salt, other.as_bytes()) };
            combine("outcome/shape", &[*head, shape, middle])
        });
        Compared { light: combine("outcome", &[*head, light_text, middle]), shape, letters }
    }
}

/// The ends of an output that was left unread, or all of it if it is JSON.
#[derive(Clone, Debug)]
pub(super) struct KeptText {
    glance: Glance,
    salt: u64,
    text: String,
    /// Where the second end begins.
    split: usize,
}

impl KeptText {
    /// `None` if the text is too long to be kept; `room` is a string whose allocation may be reused.
    pub(super) fn of(text: &str, glance: &Glance, salt: u64, mut room: String) -> Option<Self> {
        let (first, last) = if is_json(text) { (text, "") } else { clip(text) };
        let length = first.len() + last.len();
        if length > CLIP_ABOVE {
            return None;
        }
        room.clear();
        if room.capacity() > 2 * length {
            room = String::new();
        }
        room.push_str(first);
        room.push_str(last);
        Some(Self { glance: *glance, salt, text: room, split: first.len() })
    }

    pub(super) fn length(&self) -> usize {
        self.text.len()
    }

    pub(super) fn into_room(self) -> String {
        self.text
    }

    /// [`OutcomeFacts::light`] and [`OutcomeFacts::shape`], as [`outcome`] would have computed them.
    pub(super) fn read(&self) -> (Key, Option<Key>) {
        let ends = self.text.split_at_checked(self.split).unwrap_or_default();
        let mut json = Buffers::default();
        let mut answer = if ends.1.is_empty() { Answer::read(&self.text, &mut json) } else { None };
        let patterns = (&Volatile::default(), self.salt, &mut 0);
        let compared = Light::default().compare(ends, answer.as_mut(), &self.glance, patterns);
        (compared.light, compared.shape)
    }
}

/// Reads a result of `tool` that [`glance`] has looked at. `echo` holds the words of the call's arguments that its
/// error may repeat. An answer no fuller than `quiet` is not a negative answer to this call. Of a result that is `left`
/// unread, only byte equality and what its ends say are known.
pub(crate) fn outcome(
    tool: &str,
    result: &ToolResult,
    quiet: Empty,
    echo: Option<&Late<Echo>>,
    volatile: &Volatile,
    (glance, left): (&Glance, bool),
    scratch: &mut Scratch,
) -> OutcomeFacts {
    let Glance { failed, head, raw, .. } = *glance;
    // A successful result that is left unread is cheap to judge: not worth caching.
    let key = if volatile.is_empty() && (failed || !left) {
        let keys = (head, combine("output/left", &[raw, left.into()]));
        ReadCache::key(tool, result, quiet, echo.filter(|_| failed), scratch.salt, keys)
    } else {
        None
    };
    if let Some(facts) = key.and_then(|key| scratch.again.get(key)) {
        return facts;
    }
    let facts = read(tool, result, quiet, echo, volatile, (glance, left), scratch);
    if let Some(key) = key {
        scratch.again.put(key, facts);
    }
    facts
}

/// [`outcome`] without the cache.
#[inline]
fn read(
    tool: &str,
    result: &ToolResult,
    quiet: Empty,
    echo: Option<&Late<Echo>>,
    volatile: &Volatile,
    (glance, left): (&Glance, bool),
    scratch: &mut Scratch,
) -> OutcomeFacts {
    let Glance { failed, details, exact, .. } = *glance;
    let Scratch { whole, light, json, class: buffers, cut_short, salt, .. } = scratch;
    let salt = *salt;
    let text = if details { whole.as_str() } else { result.output.as_str() };
    let mut answer = match (left, details) {
        (true, _) => None,
        (_, true) => Answer::of(text, json),
        (_, false) => Answer::read(text, json),
    };
    let compared = if left {
        Compared { light: exact, shape: Some(exact), letters: LETTERS_COUNTED }
    } else {
        light.compare(clip(text), answer.as_mut(), glance, (volatile, salt, cut_short))
    };
    let Compared { light: light_key, shape, letters } = compared;
    let said_in_json = if left { glance.json } else { answer.as_ref().map(|answer| answer.says) };
    let is_json = said_in_json.is_some();
    let said = said_in_json.unwrap_or_else(|| says(if left { text } else { &light.text }));
    let zero = || quiet == Empty::Nothing && is_zero(&result.output);
    let in_lines = !failed && !said.negative && (!is_json && nothing_in(&result.output) || zero());
    let wordless = letters < LETTERS_COUNTED && letters_outside_tags(text) < LETTERS_OF_ERROR;
    let said = AnswerMeaning { negative: said.negative || in_lines, ..said };
    let (class, silent) = if failed {
        class(tool, result, answer.as_mut(), letters, echo, (volatile, salt, cut_short), buffers)
    } else {
        (None, false)
    };
    let (refusal, may_pass) = if failed { refusal(tool, result) } else { (None, false) };
    OutcomeFacts {
        exact,
        light: light_key,
        shape,
        class: class.map(|(own, _)| own),
        mistake: class.map(|(_, shared)| shared),
        refusal,
        by_host: matches!(result.outcome, Outcome::Invalid | Outcome::UnknownTool | Outcome::Denied),
        failed,
        negative: if failed { silent } else { is_negative(result.outcome, Empty::of(text), quiet, said) },
        wordless: !failed && wordless && !is_json && !details,
        transient: failed && said.waiting || may_pass,
        waiting: if failed { said.certainly_waiting } else { said.waiting },
        letters,
        echo: false,
        marks: failed.then(|| Marks::of(&result.output)),
    }
}

/// Whether a text has at least [`SHAPE_WORDS`] words, counted by its blanks, one block at a time.
fn is_long(text: &str) -> bool {
    let mut blanks = 0;
    text.as_bytes().chunks(64).any(|block| {
        let here = block.iter().fold(0_u8, |blanks, byte| blanks + u8::from(*byte == b' '));
        blanks += usize::from(here);
        blanks + 1 >= SHAPE_WORDS
    })
}

/// What [`outcome`] compares of an output, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedText {
    /// The text behind [`OutcomeFacts::light`].
    pub(crate) light: String,
    /// The text behind [`OutcomeFacts::shape`].
    pub(crate) shape: Option<String>,
    /// The text behind [`OutcomeFacts::class`].
    pub(crate) heavy: String,
}

/// Explains to people why two outputs are equal: slower than [`outcome`], and never used while judging events.
pub(crate) fn seen(text: &str, volatile: &Volatile) -> ComparedText {
    let mut buffer = String::new();
    let mut json = Buffers::default();
    let mut answer = Answer::read(text, &mut json);
    let mut light = String::new();
    let (mut letters, mut middle) = (0, "");
    if let Some(answer) = &mut answer {
        answer.write(&mut buffer, &mut Vec::new());
        light.push_str(&volatile.apply(&buffer, &mut 0));
        letters = if answer.is_hollow() { 0 } else { super::mask::letters(&light) };
    } else {
        let (first, last) = clip(text);
        middle = text.get(first.len()..text.len() - last.len()).unwrap_or_default();
        letters += normalise(&volatile.apply(first, &mut 0), Strength::Light, &mut light).letters;
        light.push_str(middle);
        letters += normalise(&volatile.apply(last, &mut 0), Strength::Light, &mut light).letters;
    }
    let mut digitless = String::new();
    let progresses = digits_masked(&light, &[(0, light.len())], &mut digitless);
    let long = is_long(&light) && letters >= LETTERS_OF_SHAPE;
    // The middle of a clipped text counts byte for byte, digits included.
    let shape = (long && !progresses && first_row(text) == 0 && middle.is_empty()).then_some(digitless);

    let is_json = answer.is_some();
    let own = answer.as_mut().map(|answer| {
        buffer.clear();
        answer.write_text(&mut buffer);
        buffer.as_str()
    });
    let (first, last) = clip_to(own.unwrap_or(text), CLASS_END);
    let mut heavy = String::new();
    for end in [first, last] {
        normalise(&volatile.apply(end, &mut 0), Strength::Heavy, &mut heavy);
    }
    if !is_json && letters < LETTERS_TO_MASK {
        light.clear();
        light.push_str(text);
    }
    ComparedText { light, shape, heavy }
}

/// The key of everything in a result except its text.
fn head_key(result: &ToolResult, exit_code: Option<i32>, salt: u64, buffer: &mut String) -> Key {
    buffer.clear();
    buffer.push_str(result.outcome.name());
    if let Some(code) = exit_code {
        // INVARIANT: writing to a `String` does not fail.
        let _ = write!(buffer, "\0exit {code}");
    }
    for (name, value) in [("\0digest ", &result.digest), ("\0state ", &result.state)] {
        if let Some(value) = value {
            buffer.push_str(name);
            buffer.push_str(value);
        }
    }
    salted("outcome/head", salt, buffer.as_bytes())
}

/// How empty an answer is, by how strongly that says that nothing was found. For a call: the emptiness up to which its
/// answer is an ordinary success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Empty {
    /// The answer is not empty. For a call: its answer is its purpose, so any empty one is negative.
    #[default]
    Nothing,
    /// Blank: how a shell says that all went well.
    Blank,
    /// `null`, `None`, `{}`: what a tool with nothing to say answers.
    Null,
    /// `[]`: no items of what was asked for, or no complaints.
    List,
    /// For a call only: returned rows are not its purpose, so no answer of it is negative.
    All,
}
codec!(enum Empty { Nothing: 0, Blank: 1, Null: 2, List: 3, All: 4 });

impl Empty {
    fn of(text: &str) -> Self {
        match trimmed(text) {
            "" => Self::Blank,
            "null" | "None" | "{}" => Self::Null,
            "[]" => Self::List,
            _ => Self::Nothing,
        }
    }
}

fn is_negative(outcome: Outcome, empty: Empty, quiet: Empty, said: AnswerMeaning) -> bool {
    outcome == Outcome::Ok && if empty == Empty::Nothing { said.negative && quiet != Empty::All } else { empty > quiet }
}

/// Whether an answer is the number 0 and nothing else: `0`, `[(0,)]`.
fn is_zero(answer: &str) -> bool {
    answer.len() <= ZERO && answer.contains('0') && answer.bytes().all(|byte| b"0[](), \r\n\t".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use serde_json::{Value, json};

    /// Reads a result in full.
    fn outcome(
        tool: &str,
        result: &ToolResult,
        quiet: Empty,
        echo: Option<&Late<Echo>>,
        volatile: &Volatile,
        scratch: &mut Scratch,
    ) -> OutcomeFacts {
        let glance = glance(result, volatile, scratch);
        super::outcome(tool, result, quiet, echo, volatile, (&glance, false), scratch)
    }

    #[test]
    fn a_status_is_another_error_with_another_message() {
        let class = |message: &str, id: u32| {
            facts(&failed(&format!(
                "HTTP 422\n{{\"message\":\"{message}\",\"total\":\"48.00\",\"rid\":\"9753ee2b{id:02}\"}}"
            )))
            .class
        };
        assert!(class("unknown voucher", 1).is_some());
        assert_eq!(class("unknown voucher", 1), class("unknown voucher", 72));
        assert_ne!(class("unknown voucher", 1), class("voucher expired", 1));
        let class = |text: &str| facts(&failed(text)).class;
        for (one, other) in [
            (r#"404 {"error":"no such path"}"#, r#"401 {"error":"header missing"}"#),
            (r#"API error: {"error":{"message":"too long"}}"#, r#"API error: {"error":{"message":"no key"}}"#),
        ] {
            assert_ne!(class(one), class(other), "{one}");
        }
        assert_eq!(class(r#"404 {"error":"no berth 7"}"#), class(r#"410 {"error":"no berth 9"}"#));
        assert_eq!(class("HTTP 502 Bad Gateway\n<html>"), class("HTTP 502 Bad Gateway\n<html>"));
    }

    #[test]
    fn figures_alone_have_no_shape() {
        let shape = |text: &str| facts(&ok(text)).shape;
        let board = |first: u32| format!("{first} 0 2 0 | 0 4 0 0 | 8 2 0 0 | 16 8 2 0  sum 68");
        assert_eq!(shape(&board(2)), None);
        let row = |first: u32| {
            format!("{first} pilots are on watch at the quay, and there are no tugs out at sea this evening")
        };
        assert!(shape(&row(2)).is_some());
        assert_eq!(shape(&row(2)), shape(&row(5)));
    }

    #[test]
    fn nothing_but_a_zero_is_negative() {
        for text in ["0", "[(0,)]", " 0\n"] {
            assert!(facts(&ok(text)).negative, "{text}");
        }
        for text in ["10", "[(0, 1)]", "0 of 3 left", "0.00000000000000000"] {
            assert!(!facts(&ok(text)).negative, "{text}");
        }
        let quiet = outcome("t", &ok("0"), Empty::Blank, None, &Volatile::default(), &mut Scratch::default());
        assert!(!quiet.negative);
    }

    fn ok(output: &str) -> ToolResult {
        ToolResult { output: output.into(), ..ToolResult::default() }
    }

    fn failed(output: &str) -> ToolResult {
        ToolResult { outcome: Outcome::Error, ..ok(output) }
    }

    fn facts(result: &ToolResult) -> OutcomeFacts {
        outcome("t", result, Empty::Nothing, None, &Volatile::default(), &mut Scratch::default())
    }

    /// How alike two results are: exact 3, light 2, shape 1, else 0.
    fn alike(left: &ToolResult, right: &ToolResult) -> u32 {
        let (left, right) = (facts(left), facts(right));
        if left.exact == right.exact {
            assert!(left == right);
            3
        } else if left.light == right.light {
            2
        } else {
            u32::from(left.shape.is_some() && left.shape == right.shape)
        }
    }

    #[test]
    fn tags_around_nothing_say_nothing() {
        let empty = "<returncode>1</returncode>\n<output>\n</output>";
        assert!(facts(&failed(empty)).negative && facts(&failed(empty)).class.is_none());
        for text in
            ["<returncode>1</returncode><output>no such file</output>", "expected a < b", "<missing attribute x>"]
        {
            assert!(facts(&failed(text)).class.is_some(), "{text}");
        }
    }

    #[test]
    fn how_alike_two_outputs_are() {
        let words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen";
        let long = |tail: &str| format!("{words} {tail}");
        for (left, right, expected) in [
            ("ok", "ok", 3),
            ("", "", 3),
            ("ok", "ok ", 0),
            ("fine here", "fine  here\n", 2),
            ("done at 12:01:01", "done at 12:02:05", 2),
            ("2026-07-26T12:01:01Z", "2026-07-26T12:02:01Z", 0),
            ("ticket number 1", "ticket number 2", 0),
            ("line one 1", "line two 1", 0),
            (&long("at 1"), &long("at 2"), 1),
            (&long("42 %"), &long("43 %"), 0),
            (&long("3/10"), &long("4/10"), 0),
            (&long("step 3 of 10"), &long("step 4 of 10"), 0),
            (&long("on 2026/07/01"), &long("on 2026/07/02"), 1),
            ("{\"b\":1,\"a\":\"text\"}", "{\"a\":\"text\", \"b\":1.0}", 2),
            ("{\"ok\":true,\"timestamp\":1}", "{\"ok\":true,\"timestamp\":2}", 2),
            ("{\"renewTime\":\"2026-07-26T12:01:01Z\"}", "{\"renewTime\":\"2026-07-26T12:02:01Z\"}", 2),
            ("{\"n\":1}", "{\"n\":2}", 0),
        ] {
            assert_eq!(alike(&ok(left), &ok(right)), expected, "{left} | {right}");
        }
        assert_eq!(alike(&ok("x"), &failed("x")), 0);
        assert_eq!(alike(&ok("some text"), &ToolResult { exit_code: Some(0), ..ok("some text") }), 3);
        assert_eq!(alike(&ok("some text"), &ToolResult { exit_code: Some(1), ..ok("some text") }), 0);
    }

    #[test]
    fn what_is_seen_is_what_is_compared() {
        let words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen";
        let outputs = [
            "",
            "ok",
            "12:01:01",
            "12:01:02",
            "done at 12:01:01",
            "done at 12:02:05",
            "File 'a.txt' not found",
            "file 'b c.txt' not found",
            "{\"ok\":true,\"timestamp\":1}",
            "{\"ok\":true,\"timestamp\":2}",
            "{\"error\":\"no user 'a'\",\"requestId\":\"1\"}",
            "{\"error\":\"no user 'b'\",\"requestId\":\"2\"}",
        ];
        let mut outputs: Vec<String> = outputs.into_iter().map(String::from).collect();
        for tail in ["at 1", "at 2", "42 %", "43 %", "took 1.2s", "took 1.3s"] {
            outputs.push(format!("{words} {tail}"));
            outputs.push(format!("{}{tail}", "head ".repeat(2000)));
        }
        for (left, right) in outputs.iter().flat_map(|left| outputs.iter().map(move |right| (left, right))) {
            let (a, b) = (seen(left, &Volatile::default()), seen(right, &Volatile::default()));
            let (ok_a, ok_b) = (facts(&ok(left)), facts(&ok(right)));
            assert_eq!(a.light == b.light, ok_a.light == ok_b.light, "{left} | {right}");
            if a.shape.is_some() && b.shape.is_some() {
                assert_eq!(a.shape == b.shape, ok_a.shape == ok_b.shape, "{left} | {right}");
            }
            let classes = (facts(&failed(left)).class, facts(&failed(right)).class);
            if let (Some(one), Some(other)) = classes {
                assert_eq!(a.heavy == b.heavy, one == other, "{left} | {right}");
            }
        }
    }

    #[test]
    fn the_middle_of_a_long_output_counts_to_the_byte() {
        let output =
            |middle: &str, tail: &str| ok(&format!("{}{middle}{}{tail}", "head ".repeat(1000), "tail ".repeat(1000)));
        assert_eq!(alike(&output("x", "took 1.2s"), &output("x", "took 1.3s")), 2);
        assert_eq!(alike(&output("x", "took 1.2s"), &output("y", "took 1.2s")), 0);
        assert_eq!(alike(&output("12:01:01", ""), &output("12:01:02", "")), 0);
    }

    #[test]
    fn what_a_host_adds() {
        let clipped = |digest: &str| ToolResult { digest: Some(digest.into()), ..ok("the start") };
        assert_eq!(alike(&clipped("a"), &clipped("a")), 3);
        assert_eq!(alike(&clipped("a"), &clipped("b")), 0);
        let state = |state: &str| ToolResult { state: Some(state.into()), ..ok("saved") };
        assert_eq!(alike(&state("a"), &state("b")), 0);
        assert_eq!(alike(&clipped("a"), &ToolResult { state: Some("a".into()), ..ok("the start") }), 0);
        let details = |output: &str, details: Value| ToolResult { details: Some(details), ..ok(output) };
        assert_eq!(alike(&details("saved", json!({"n": 1})), &details("saved", json!({"n": 2}))), 3);
        assert_eq!(alike(&details(" ", json!({"n": 1})), &details(" ", json!({"n": 2}))), 0);
        assert_eq!(alike(&details("", json!({"n": 1, "tookMs": 1})), &details("", json!({"n": 1, "tookMs": 2}))), 2);
    }

    #[test]
    fn errors_have_a_class() {
        let class = |tool: &str, result: &ToolResult| {
            outcome(tool, result, Empty::Nothing, None, &Volatile::default(), &mut Scratch::default()).class
        };
        for (left, right, same) in [
            ("File 'a.txt' not found", "file 'b c.txt' not found", true),
            ("cannot open src/a.rs:12", "cannot open lib/b.rs:140", true),
            (
                "{\"error\":\"no user 'a'\",\"requestId\":\"1\"}",
                "{\"error\":\"no user 'b'\",\"requestId\":\"2\"}",
                true,
            ),
            ("{\"error\":\"no user\"}", "{\"error\":\"no order\"}", false),
            (
                "column \"renewed_on\" does not exist\nLINE 1: select renewed_on, title from ...\n               ^",
                "column \"renewal\" does not exist\nLINE 2: where renewal is null\n              ^",
                true,
            ),
            ("permission denied", "no such file", false),
        ] {
            let (a, b) = (class("t", &failed(left)), class("t", &failed(right)));
            assert!(a.is_some() && b.is_some());
            assert_eq!(a == b, same, "{left} | {right}");
            assert_ne!(a, class("u", &failed(left)), "another tool, another class");
        }
        let own = |class: &str, output: &str| ToolResult { error_class: Some(class.into()), ..failed(output) };
        assert_eq!(class("t", &own("E1", "a text")), class("t", &own("E1", "another")));
        assert_ne!(class("t", &own("E1", "a text")), class("t", &own("E2", "a text")));
        assert!(class("t", &own("E1", "")).is_some());
        assert_eq!(class("t", &ok("a text")), None);
        assert_eq!(class("t", &ToolResult { outcome: Outcome::NotExecuted, ..ok("skipped") }), None);
        let ends = |tail: &str| failed(&format!("{}{}", "word ".repeat(1000), tail));
        assert_ne!(class("t", &ends("one")), class("t", &ends("two")));
    }

    #[test]
    fn failures_and_negative_answers() {
        let exit = |code: i32, output: &str| ToolResult { exit_code: Some(code), ..ok(output) };
        let of = |outcome: Outcome, output: &str| ToolResult { outcome, ..ok(output) };
        for (result, expected) in [
            // (failed, negative, has a class)
            (ok("fine"), (false, false, false)),
            (ok(""), (false, true, false)),
            (ok("[]"), (false, true, false)),
            (ok("File not found"), (false, true, false)),
            (exit(0, "fine"), (false, false, false)),
            (exit(1, ""), (true, true, false)),
            (exit(1, " 1\n"), (true, true, false)),
            (exit(2, "grep: bad option"), (true, false, true)),
            (of(Outcome::Error, ""), (true, true, false)),
            (of(Outcome::Error, "not found"), (true, false, true)),
            (of(Outcome::Denied, ""), (true, false, true)),
            (of(Outcome::Timeout, ""), (true, false, true)),
            (of(Outcome::UnknownTool, ""), (true, false, true)),
            (of(Outcome::Invalid, "x must be a number"), (true, false, true)),
            (of(Outcome::NotExecuted, ""), (false, false, false)),
        ] {
            let facts = facts(&result);
            assert_eq!((facts.failed, facts.negative, facts.class.is_some()), expected, "{result:?}");
        }
        let silent = outcome("bash", &ok(""), Empty::Blank, None, &Volatile::default(), &mut Scratch::default());
        assert!(!silent.negative);
    }

    #[test]
    fn waiting() {
        for (result, expected) in [
            (ok("still running"), true),
            (ok("{\"status\":\"queued\"}"), true),
            (ok("[10%] Building CXX object"), true),
            (failed("Timeout while waiting for selector"), false),
            (failed("deployment is still in progress"), true),
            (ok("all done"), false),
        ] {
            assert_eq!(facts(&result).waiting, expected, "{result:?}");
        }
    }

    #[test]
    fn user_patterns() {
        let volatile = Volatile::compile(&["build-[a-z]+".into(), "v\\d+".into()]).expect("patterns");
        let light =
            |text: &str| outcome("t", &ok(text), Empty::Nothing, None, &volatile, &mut Scratch::default()).light;
        assert_eq!(light("made build-abc v1 here"), light("made build-xyz v22 here"));
        assert_ne!(light("made build-abc here"), light("made other here"));
        assert_eq!(light("{\"made\":\"build-abc\"}"), light("{\"made\":\"build-xyz\"}"));
    }

    proptest::proptest! {
        #[test]
        fn any_output_is_survived(output in "[ \\x00-\\x7fé日]{0,60}", code in proptest::option::of(0..3i32)) {
            let mut scratch = Scratch::default();
            let result = ToolResult { exit_code: code, ..ok(&output) };
            let first = outcome("t", &result, Empty::Nothing, None, &Volatile::default(), &mut scratch);
            proptest::prop_assert_eq!(first, outcome("t", &result, Empty::Nothing, None, &Volatile::default(), &mut scratch));
        }
    }
}
