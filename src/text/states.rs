//! What an answer about the state of something says: whether it is in progress, may still change, or is over.

use super::lines::trimmed;
use super::words::{is_in, is_name_in, name_words, same, same_end};

/// Values of a status field that mean something is still in progress, apart from words that name the activity
/// ([`is_under_way`]).
const WAITING_STATES: &str =
    "accepted asynclaunched dispatched enqueued inprogress intransit launched notready queued scheduled submitted";
/// Words that look like an activity but are not one, or name one that does not end by itself.
const NOT_UNDER_WAY: &str = "anything conflicting crashing erroring everything existing failing flapping following \
    hanging incoming listening missing morning nothing outstanding something warning";
/// Words that reverse a following waiting word: nothing pending, done waiting, the processing of data.
pub(super) const ENDED: &str = "0 after completed done finished isn't no non not nothing the without zero";
/// Bytes of the shortest word that names an activity (`loading`), and maximum number of words and bytes of a state.
const UNDER_WAY: usize = 7;
const STATE_WORDS: usize = 4;
const STATE: usize = 40;

/// Whether the value of a status field means that something is still in progress.
pub(super) fn is_waiting_state(value: &str) -> bool {
    // `running (5%)`, `queued, position 3`
    let (state, _) = value.split_once([',', '(']).unwrap_or((value, ""));
    let state = state.trim_end();
    is_name_in(WAITING_STATES, state) || is_under_way(state)
}

/// Words that say how far something is.
const PARTLY: &str = "complete completed done finished processed progress";

/// Whether a few words say that a part is done: `5% done`, `uploading 3 of 9`.
pub(super) fn is_partly_done(text: &str) -> bool {
    if text.len() > STATE {
        return false;
    }
    let mut words = text.split(|char: char| !char.is_alphanumeric() && char != '%').filter(|word| !word.is_empty());
    let (mut told, mut partly, mut before) = (false, false, None);
    while let Some(word) = words.next() {
        told |= is_in(PARTLY, word) || is_under_way(word);
        let number: Option<u32> = word.trim_end_matches('%').parse().ok();
        let percent = word.ends_with('%');
        partly |= percent && number.or_else(|| before.filter(|_| word == "%")).is_some_and(|share| share < 100);
        if word == "of" {
            let whole = words.next().and_then(|word| word.parse().ok());
            partly |= before.zip(whole).is_some_and(|(part, whole): (u32, u32)| part < whole);
        }
        before = number;
    }
    told && partly
}

/// Whether a few words describe a state in progress: `Starting...`, `CREATE_IN_PROGRESS`, `still warming up`.
pub(super) fn is_under_way(text: &str) -> bool {
    if text.len() > STATE {
        return false;
    }
    let words = || text.split([' ', '_', '-']).map(|word| word.trim_matches(['.', '…', '"', '\'']));
    let plain = || words().all(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let goes_on = |word: &str| word.len() >= UNDER_WAY && same_end(word, "ing") && !is_in(NOT_UNDER_WAY, word);
    // `JOB_STATE_RUNNING`.
    let constant = text.contains('_') && !text.bytes().any(|byte| byte.is_ascii_lowercase());
    let last = || words().next_back().filter(|_| constant);
    // `still warming up`, `Starting server`.
    let begins = || words().find(|word| !is_in("currently is now still", word));
    let progress = || words().any(|word| same(word, "in")) && words().any(|word| same(word, "progress"));
    words().count() <= STATE_WORDS
        && (begins().is_some_and(goes_on) || last().is_some_and(goes_on) || progress())
        && plain()
        && !words().any(|word| is_in(ENDED, word))
}

/// Words for final states: nothing follows by itself.
const FINAL: &str = "aborted backoff blocked broken canceled cancelled closed complete completed crashed declined denied disabled done down \
    ended error evicted exited expired failed failure fault faulty finished invalid killed missing offline oomkilled \
    paused rejected required requires restarting stopped stuck succeeded success suspended terminated unauthorized \
    unavailable unknown unreachable";
/// Words that mean something is wrong with the request itself: it cannot succeed, whatever else is in progress.
const HOPELESS: &str = "badconstraints crashloopbackoff createcontainerconfigerror dependencyneversatisfied errimagepull imagepullbackoff \
    invalidaccount invalidimagename invalidqos partitionnodelimit partitiontimelimit";
/// Words for states that change by themselves, even if another part is over, and words before them that deny it.
const GOES_ON: &str = "enqueued inprogress pending progress queued running";
const NONE: &str = "0 no none not";
/// Last words in the names of JSON fields that hold a state.
const STATES: &str = "condition conclusion detail details error event exit hint info message msg note outcome phase reason result stage \
    state states status text verdict";
/// Maximum number of bytes of an answer that is read for a state.
const STATE_ANSWER: usize = 1200;

/// Whether an answer says that a bisection has narrowed its search.
pub(crate) fn narrows(answer: &str) -> bool {
    ["Bisecting: ", "Testing changeset "].iter().any(|said| answer.starts_with(said))
}

/// Whether an answer about the state of something says that it cannot succeed.
pub(crate) fn is_hopeless(answer: &str) -> bool {
    answer.len() <= STATE_ANSWER && words_on(answer).any(|(word, _)| is_in(HOPELESS, word))
}

/// Whether an answer lists steps of which some are ticked off and others have only begun, as the GitHub command line
/// does: `✓ build`, `* deploy`.
fn has_open_steps(answer: &str) -> bool {
    ['✓', '*'].into_iter().all(|mark| answer.lines().any(|line| line.trim_start().starts_with(mark)))
}

/// Whether what an answer describes may still change by itself. `None` if the answer is too long to be about a state.
pub(crate) fn may_change(answer: &str) -> Option<bool> {
    if answer.len() > STATE_ANSWER {
        return None;
    }
    if is_hopeless(answer) {
        return Some(false);
    }
    if is_partly_done(answer) || has_open_steps(answer) {
        return Some(true);
    }
    // In JSON objects names say nothing, and values only if their field is named as a state.
    let start = trimmed(answer);
    let objects = start.starts_with(['{', '[']) && start.contains(['"', '\'']);
    let (mut before, mut told, mut over) = ("", !start.starts_with('{') || !objects, false);
    // `"status": "success"` next to the requested data is about the request.
    let (mut served, mut data) = (false, false);
    for (word, behind) in words_on(answer) {
        let value = value_in(behind);
        let is = |said: &str| value.is_some_and(|value| begins_with(value, said));
        // `"running": false`.
        if is_in(GOES_ON, word) && !is_in(NONE, before) && !["0", "false", "no", "null"].into_iter().any(is) {
            return Some(true);
        }
        if objects && value.is_some() && behind.starts_with(['"', '\'']) {
            told = name_words(word).last().is_some_and(|last| is_in(STATES, last));
            // `"completed": true`.
            over |= is_in(FINAL, word) && is("true");
            data |= word == "data";
        } else if told && before == "status" && word == "success" {
            served = true;
        } else {
            over |= told && is_in(FINAL, word);
        }
        before = word;
    }
    Some(!(over || served && !data))
}

/// The runs of ASCII letters and digits in an answer, each with the text after it.
fn words_on(answer: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = answer;
    core::iter::from_fn(move || {
        let from = rest.bytes().position(|byte| byte.is_ascii_alphanumeric())?;
        let on = rest.get(from..)?;
        let length = on.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let (word, behind) = on.split_at_checked(length)?;
        rest = behind;
        Some((word, behind))
    })
}

/// The value of a field, from the text after its name.
fn value_in(behind: &str) -> Option<&str> {
    let closed = behind.trim_start_matches(['"', '\'']).trim_start();
    let value = closed.strip_prefix([':', '='])?;
    Some(value.trim_start().trim_start_matches(['"', '\'']))
}

/// Whether a value begins with this word or number, and not with a longer one.
fn begins_with(value: &str, word: &str) -> bool {
    let goes_on = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-');
    value.strip_prefix(word).is_some_and(|rest| !rest.starts_with(goes_on))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_done() {
        for text in ["5% done", "50 % complete", "uploading 3 of 9", "5 of 100 done", "charging 41 %", "Progress: 5%"] {
            assert!(is_partly_done(text), "{text}");
            assert_eq!(may_change(text), Some(true), "{text}");
        }
        for text in ["100% done", "9 of 9 done", "humidity 53 %", "page 3 of 20", "done in 5 s", "5 of them done", ""] {
            assert!(!is_partly_done(text), "{text}");
        }
        for value in ["running (5%)", "queued, position 3", "processing"] {
            assert!(is_waiting_state(value), "{value}");
        }
        assert!(!is_waiting_state("done, after queueing") && !is_waiting_state("(queued)"));
    }

    #[test]
    fn states_that_may_change() {
        const STEPS: &str = "JOBS\n✓ tests in 3m33s\n* deploy to the quay\n- notice of failure in 0s\ncompleted";
        assert_eq!((may_change(STEPS), may_change(&STEPS.replace('*', "✓"))), (Some(true), Some(false)));
        for answer in ["jan | success\nfeb | running", "{\"running\":true,\"lastExit\":\"failed\"}"] {
            assert_eq!(may_change(answer), Some(true), "{answer}");
        }
        for answer in
            ["{\"dir\":\"down\",\"door\":\"closed\",\"floor\":4}", "{\"completed\":false,\"failed\":0,\"failures\":[]}"]
        {
            assert_eq!(may_change(answer), Some(true), "{answer}");
        }
        for answer in [
            "a-1 Running\na-2 ImagePullBackOff",
            "{\"jobStatus\":\"FAILED\"}",
            "{\"status\":{\"phase\":\"Succeeded\"}}",
            "{\"Running\":false,\"Status\":\"stopped\"}",
            "running: 0, failed: 3",
            "0 running, 3 failed",
        ] {
            assert_eq!(may_change(answer), Some(false), "{answer}");
        }
        for answer in ["players 3 of 4", "{\"turn\":\"black\"}", "", "Driver: on the way"] {
            assert_eq!(may_change(answer), Some(true), "{answer}");
        }
        for answer in
            ["job 7: failed", "CrashLoopBackOff", "{\"state\":\"FAILED\"}", "needs a signature, which is required"]
        {
            assert_eq!(may_change(answer), Some(false), "{answer}");
        }
        // That a request was served says nothing about what it asks for.
        let served = |more: &str| may_change(&["{\"status\":\"success\"", more, "}"].concat());
        assert_eq!(served(r#","data":{"flow":["4.1"]}"#), Some(true));
        for more in ["", r#","job":7"#, r#","data":{"state":"failed"}"#, r#","data":{"done":true}"#] {
            assert_eq!(served(more), Some(false), "{more}");
        }
        assert_eq!(may_change(&"word ".repeat(300)), None);
    }
}
