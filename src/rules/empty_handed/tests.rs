use super::EmptyHanded;
use crate::model::Level::Nudge;
use crate::rules::Rule;
use crate::rules::testing::{Script, events, pair};
use alloc::{format, vec::Vec};

const RULE: &str = EmptyHanded::ID;

/// The indices of the events at which a judge is asked.
fn asked(script: &str) -> Vec<usize> {
    let played = Script::new("{}").play(script);
    played.expect(RULE, &[]);
    played.asked().into_iter().map(|(index, _)| index).collect()
}

#[test]
fn a_judge_is_asked_about_a_hunt() {
    assert!(asked("a- b- c-").is_empty());
    assert_eq!(asked("a- b- c- d-"), [7]);
    // Once per that many attempts.
    assert_eq!(asked("a- b- c- d- e- f- g- h-"), [7, 15]);
    // Some attempts yield something.
    assert_eq!(asked("a- b:1 c- d- e:2 f-"), [11]);
    assert!(asked("a- b:1 c:2 d- e:3 f:4 g- h:5 i:6 j-").is_empty());
    // Different errors; and one repeated error, which is `repeated-error`'s.
    assert_eq!(asked("a!one b!two c!three d!four e!five f!six"), [11]);
    assert!(asked("a!x b!x c!x d!x e!x f!x g!x h!x").is_empty());
    // Any tool.
    assert_eq!(asked("look/a- grep/b- find/c- read/d-"), [7]);
}

#[test]
fn what_is_no_hunt() {
    for script in [
        // The same attempt again.
        "a- a- a- a- a- a- a-",
        // One round is one decision.
        "#1 a- b- c- d- e- f-",
        // An error after a new change is a test.
        "a!one *1 b!two *2 c!three *3 d!four *4 e!five *5 f!six *6 g!seven",
        // A silent shell command has done what it was told.
        "bash/a. bash/b. bash/c. bash/d. bash/e. bash/f.",
        "*1 *2 *3 *4 *5 *6 *7",
        // A human's message, another agent.
        "a- b- | c- d-",
        "^1 a- b- ^2 c- d-",
    ] {
        assert!(asked(script).is_empty(), "{script}");
    }
    let polling = r#"{"tools":{"re*":{"polling":true}}}"#;
    assert!(Script::new(polling).play("a- b- c- d- e-").asked().is_empty());
    let off = r#"{"rules":{"empty-handed":{"enabled":false}}}"#;
    assert!(Script::new(off).play("a- b- c- d- e-").asked().is_empty());
}

#[test]
fn the_answer_counts() {
    let four = "a- b- c- d- ";
    for (answers, expected) in [
        ("+e:stalled", &[(8, Nudge)][..]),
        ("+e:regressing", &[(8, Nudge)]),
        ("+e:progressing", &[]),
        ("+e:external", &[]),
        // The same judgement again, also in other words, and a contradiction with no more confidence.
        ("+e:stalled +e:stalled,900", &[(8, Nudge)]),
        ("+e:stalled +e:regressing,900", &[(8, Nudge)]),
        ("+e:progressing +e:stalled", &[]),
        // A contradiction with more confidence.
        ("+e:progressing +e:stalled,900", &[(9, Nudge)]),
        ("+e:stalled +e:progressing,900", &[(8, Nudge)]),
        // A few steps later; and too late.
        ("e:1 f:2 +e:stalled", &[(12, Nudge)]),
        ("e:1 f:2 g:3 h:4 i:5 j:6 k:7 l:8 +e:stalled", &[]),
        ("| +e:stalled", &[]),
    ] {
        Script::new("{}").play(&format!("{four}{answers}")).expect(RULE, expected);
    }
    Script::new("{}").play("+e:stalled a- b- c- +e:stalled").expect(RULE, &[]);
    // Stuck again is reported again.
    let again = format!("{four}+e:stalled {four}+e:stalled").replacen(
        "d- +e:stalled a- b- c- d-",
        "d- +e:stalled e- f- g- h-",
        1,
    );
    Script::new("{}").play(&again).expect(RULE, &[(8, Nudge), (17, Nudge)]);
}

#[test]
fn a_judge_who_sees_progress_is_asked_half_as_often() {
    let asked = |script: &str| -> Vec<usize> {
        Script::new("{}").play(script).asked().into_iter().map(|(index, _)| index).collect()
    };
    assert_eq!(asked("a- b- c- d- +e:progressing e- f- g- h- i- j- k- l-"), [7, 24]);
    assert_eq!(asked("a- b- c- d- +e:stalled e- f- g- h-"), [7, 16]);
    assert_eq!(asked("a- b- c- d- +e:progressing +e:stalled,900 e- f- g- h-"), [7, 17]);
}

#[test]
fn the_question_tells_figures_and_no_payload() {
    let script = "look/secret:1 look/b- look/c- grep/d!broken grep/e- look/f-";
    let played = Script::new("{}").play(script);
    let (_, question) = played.asked()[0];
    assert_eq!(
        question,
        "Of the latest 6 attempts, 5 different ones came to nothing: 4 found nothing, 1 failed; 1 achieved something. \
         Tools: `look` (3), `grep` (2). Since event 2. \
         Is the work progressing, stalled, regressing, or held up by something external?"
    );
    let open = Script::new(r#"{"privacy":{"payloads":"excerpt"}}"#).play(script);
    assert!(open.asked()[0].1.contains("\"no results found\""), "{}", open.asked()[0].1);
}

#[test]
fn its_own_words_back_are_nothing() {
    let lines = |answer: fn(usize) -> &'static str| -> Vec<_> {
        let call = |at: usize| {
            let code =
                format!("plan{at} = 'ask the librarian for the old map of the harbour, page {at}'; print(plan{at})");
            pair("python", &format!(r#"{{"code":"{code}"}}"#), "ok", answer(at))
        };
        (0..4).flat_map(call).collect()
    };
    let own = events("{}", lines(|_| "ask the librarian for the old map of the harbour"));
    assert_eq!(own.asked().len(), 1);
    assert!(own.asked()[0].1.contains("4 returned only what the call itself contained"));
    let answered = events("{}", lines(|_| "the librarian says that the map was lent to a museum abroad in spring"));
    assert!(answered.asked().is_empty());
}
