//! Whether an error rejected the call before it did anything: because of its arguments, because there is no such tool,
//! or because somebody denied it.
//!
//! The host knows best and says so in the outcome. For hosts that only report `error` the text is read for pairs of
//! words (`missing required`, `unexpected keyword argument`) near its beginning. What a program that the tool ran
//! prints is about the program, so the output of tools that run code is never read for bad arguments.

use super::named::ToolName;
use super::nature::{Nature, NatureWords, TELLING, WORDS, beginning, of_message, passes};
use super::scan::holds;
use super::words::{Lexicon, Sieve, each_run, is_in, same};
use crate::model::{Outcome, ToolResult};

/// Why a call was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its arguments do not fit the tool.
    Arguments,
    /// There is no such tool.
    UnknownTool,
    /// A user or a policy denied it or has not approved it.
    Denied,
}

/// Maximum number of words that may stand between two words that belong together.
const NEAR: usize = 3;

const FAULTS: &str = "additional extra malformed missing required undefined unexpected unknown unrecognised \
    unrecognized unsupported";

/// What a tool is given, in the terms of validators.
const GIVEN: &str = "args argument arguments field fields json keyword kwargs param parameter parameters params \
    properties property";

const DECIDERS: &str = "administrator human operator owner policy user";

const REFUSED: &str = "blocked declined denied disallowed forbidden prohibited refused rejected";

/// Why the call that this failed result answers was rejected, if it was, and whether waiting may resolve the failure.
pub(super) fn refusal(tool: &str, result: &ToolResult) -> (Option<Refusal>, bool) {
    let told = match result.outcome {
        Outcome::Invalid => Some(Refusal::Arguments),
        Outcome::UnknownTool => Some(Refusal::UnknownTool),
        Outcome::Denied => Some(Refusal::Denied),
        Outcome::Error if result.exit_code.is_none() => {
            let (found, nature) = read(&result.output);
            let found = found.filter(|found| *found == Refusal::Denied || !ToolName::of(tool).runs_code());
            return (found, nature == Nature::Transient);
        }
        Outcome::Ok | Outcome::Error | Outcome::NotExecuted | Outcome::Timeout => None,
    };
    (told, passes(&result.output))
}

/// Reads the words of an error once for both questions: whether it rejects the call, and what its beginning says of the
/// failure's nature.
fn read(text: &str) -> (Option<Refusal>, Nature) {
    let message = beginning(text);
    // An apostrophe is part of a word here, but not in [`of_message`].
    let joined = holds(message.as_bytes(), b'\'');
    let told_until = if joined { 0 } else { message.len() };
    let mut heard = RefusalWords::default();
    each_run::<b'\''>(text, |from, to| {
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        if to > message.len() || SAYING.may_hold(rest, to - from) {
            heard.word(text, from, to, told_until);
        }
        if let Some(oldest) = heard.before.get_mut(heard.words % (NEAR + 1)) {
            *oldest = (from, to);
        }
        heard.words += 1;
        heard.words < WORDS
    });
    (heard.refusal, if joined { of_message(message) } else { heard.told.nature() })
}

/// What the words of an error have said so far.
#[derive(Default)]
struct RefusalWords {
    words: usize,
    /// Byte ranges of the latest words, in a ring: the next to be overwritten first.
    before: [(usize, usize); NEAR + 1],
    refusal: Option<Refusal>,
    told: NatureWords,
}

impl RefusalWords {
    /// Takes a word that may say something; it counts for the failure's nature if it begins before `told_until`.
    #[inline(never)]
    fn word(&mut self, text: &str, from: usize, to: usize, told_until: usize) {
        let word = |(from, to): (usize, usize)| text.get(from..to).unwrap_or_default();
        let back = |words| self.before.get((self.words + NEAR - words) % (NEAR + 1)).copied().unwrap_or_default();
        let newest_first: [_; NEAR + 1] = core::array::from_fn(back);
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        if self.refusal.is_none() && LAST_WORDS.may_hold(rest, to - from) {
            self.refusal = ends(word((from, to)), &newest_first.map(word));
        }
        let to = to.min(told_until);
        if from < to && TELLING.may_hold(rest, to - from) {
            let [before, ..] = newest_first;
            self.told.tells(self.words, word(before), word((from, to)));
        }
    }
}

/// The words of both lists.
static SAYING: Lexicon = LAST_WORDS.or(&TELLING);

/// The last words of what [`ends`] recognises.
static LAST_WORDS: Lexicon = Lexicon::of(&[
    "missing schema inputvalidationerror tool found approval required approved",
    GIVEN,
    DECIDERS,
    REFUSED,
]);

/// What a word and those before it, newest first, say together.
fn ends(word: &str, before: &[&str; NEAR + 1]) -> Option<Refusal> {
    const GIVES: Sieve = Sieve::of(&[GIVEN]);
    let is = same;
    let given = |word: &str| GIVES.passes_name(word) && is_in(GIVEN, word);
    let near = |matches: &dyn Fn(&str) -> bool| before.iter().any(|word| matches(word));
    let [last, second, third, _] = before;
    if given(word) {
        // `Invalid argument` alone is what operating systems say about a file.
        let invalid = near(&|word| is(word, "invalid")) && !is(word, "argument") && !is(word, "field");
        if invalid || near(&|word| is_in(FAULTS, word)) {
            return Some(Refusal::Arguments);
        }
    }
    if is(word, "missing") && near(&given) {
        return Some(Refusal::Arguments);
    }
    if is(word, "schema") && near(&|word| is(word, "match") || is(word, "violates") || is(word, "validate")) {
        return Some(Refusal::Arguments);
    }
    if is(word, "InputValidationError") {
        return Some(Refusal::Arguments);
    }
    if is(word, "tool") && (is(last, "unknown") || is(last, "such") && is(second, "no") || is(last, "nonexistent")) {
        return Some(Refusal::UnknownTool);
    }
    if is(word, "found") && is(last, "not") && near(&|word| is(word, "tool")) {
        return Some(Refusal::UnknownTool);
    }
    let refused = |word: &str| is_in(REFUSED, word);
    let decided = (is(last, "by") && refused(second) || is(last, "the") && is(second, "by") && refused(third))
        && is_in(DECIDERS, word)
        || refused(word) && (is_in(DECIDERS, last) || is_in(DECIDERS, second) && is(last, "has"));
    let approval = is(word, "approval") && (is(last, "requires") || is(last, "awaiting") || is(last, "pending"))
        || is(word, "required") && is(last, "approval")
        || is(word, "approved") && is(last, "not");
    (decided || approval).then_some(Refusal::Denied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        use Refusal::{Arguments, Denied, UnknownTool};
        for (text, expected) in [
            ("TypeError: forward() got an unexpected keyword argument 'page'", Some(Arguments)),
            ("f() missing 1 required positional argument: 'x'", Some(Arguments)),
            ("invalid arguments: missing old_string", Some(Arguments)),
            ("The required parameter `file_path` is missing", Some(Arguments)),
            ("Invalid JSON in tool call", Some(Arguments)),
            ("data does not match the schema", Some(Arguments)),
            ("Parameter 'path' is missing", Some(Arguments)),
            ("InputValidationError: Read failed", Some(Arguments)),
            ("Unknown tool: foo", Some(UnknownTool)),
            ("no such tool `foo`", Some(UnknownTool)),
            ("Tool foo_bar not found", Some(UnknownTool)),
            ("The user rejected this edit", Some(Denied)),
            ("Denied by the user.", Some(Denied)),
            ("This command requires approval", Some(Denied)),
            ("Access denied for user 'root'@'localhost'", None),
            ("[Errno 22] Invalid argument", None),
            ("Permission denied", None),
            ("No such file or directory", None),
            ("404 page not found", None),
            ("String to replace not found in file", None),
            ("assertion failed: left == right", None),
            ("", None),
        ] {
            assert_eq!(read(text).0, expected, "{text}");
        }
    }

    /// Reference implementation: two passes, each over its own words.
    fn slowly(text: &str) -> (Option<Refusal>, Nature) {
        let (mut left, mut found) = (WORDS, None);
        let mut before = [""; NEAR + 1];
        each_run::<b'\''>(text, |from, to| {
            let word = text.get(from..to).unwrap_or_default();
            found = ends(word, &before);
            before.rotate_right(1);
            before[0] = word;
            left -= 1;
            found.is_none() && left > 0
        });
        (found, of_message(beginning(text)))
    }

    proptest::proptest! {
        #[test]
        fn both_are_read_in_one_walk(
            words in proptest::collection::vec(
                "(missing|argument|the|user|rejected|by|tool|not|found|connection|refused|timed|out|quota|per|minute|429|don't|'name'|'|it's|timeout'|'unavailable|Größe|[a-z]{1,9})[ .:,—']{1,2}",
                0..160,
            ),
            quiet in 0..900_usize,
        ) {
            let text = alloc::format!("{}{}", "x ".repeat(quiet / 2 * usize::from(quiet > 700)), words.concat());
            proptest::prop_assert_eq!(read(&text), slowly(&text), "{}", text);
            let long = alloc::format!("{} {}", "y".repeat(quiet), words.concat());
            proptest::prop_assert_eq!(read(&long), slowly(&long), "{}", long);
        }
    }

    #[test]
    fn the_host_knows_best() {
        let result = |outcome, exit_code| ToolResult {
            outcome,
            exit_code,
            output: "unexpected keyword argument 'x'".into(),
            ..ToolResult::default()
        };
        assert_eq!(refusal("t", &result(Outcome::Invalid, None)).0, Some(Refusal::Arguments));
        assert_eq!(refusal("t", &result(Outcome::Error, None)).0, Some(Refusal::Arguments));
        assert_eq!(refusal("t", &result(Outcome::Error, Some(1))).0, None);
        assert_eq!(refusal("python", &result(Outcome::Error, None)).0, None);
        assert_eq!(refusal("t", &result(Outcome::Timeout, None)).0, None);
    }
}
