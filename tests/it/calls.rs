//! The rules about calls as a host sees them: what is checked before a call runs, what settles it, and whose it is.

use crate::kit::{detector, record};
use loopwarden::model::{Level, Recommendation, Verdict};
use loopwarden::{Detector, json};

/// The rules of a verdict's findings, with their levels.
fn found(verdict: &Verdict) -> Vec<(&str, Level)> {
    verdict.findings.iter().map(|finding| (finding.rule.as_str(), finding.level)).collect()
}

const CALL: &str = r#"{"type":"tool-call","tool":"deploy","args":{"stage":"production"}}"#;

#[test]
fn a_refused_call_is_refused_before_a_person_is_asked_again() {
    let mut detector = detector("{}");
    for _ in 0..3 {
        record(&mut detector, CALL);
        record(&mut detector, r#"{"type":"tool-result","tool":"deploy","outcome":"denied","output":""}"#);
    }
    let verdict = detector.check(&json::event(CALL).unwrap()).unwrap();
    assert_eq!(found(&verdict).first(), Some(&("denied-call", Level::Block)));
    assert_eq!(verdict.recommendation, Recommendation::UnblockAuthority);
    let other = CALL.replace("production", "staging");
    assert_eq!(detector.check(&json::event(&other).unwrap()).unwrap().level, Level::Continue);
}

#[test]
fn an_answer_of_the_hosts_own_settles_a_call() {
    let mut detector = detector("{}");
    for _ in 0..6 {
        assert_eq!(record(&mut detector, CALL).level, Level::Continue);
        let cached = r#"{"type":"tool-result","tool":"deploy","outcome":"ok","output":"cached","synthetic":true}"#;
        assert_eq!(record(&mut detector, cached).level, Level::Continue);
    }
}

#[test]
fn a_call_that_never_ran_is_no_outcome() {
    let mut detector = detector("{}");
    let rejected =
        |text: &str| format!(r#"{{"type":"tool-result","tool":"deploy","outcome":"not-executed","output":"{text}"}}"#);
    // Without text from the harness there is nothing to report.
    for _ in 0..8 {
        record(&mut detector, CALL);
        assert_eq!(record(&mut detector, rejected("")).level, Level::Continue);
    }
    let mut strongest = Level::Continue;
    for _ in 0..30 {
        record(&mut detector, CALL);
        let verdict = record(&mut detector, rejected("exactly one action, please"));
        assert!(found(&verdict).iter().all(|(rule, _)| *rule == "harness-rejection"));
        strongest = strongest.max(verdict.level);
    }
    assert_eq!(strongest, Level::Nudge);
}

#[test]
fn results_that_do_not_say_whose_they_are() {
    let mut detector = detector("{}");
    for turn in 0..5 {
        let call = CALL.replacen('{', r#"{"agent":"planner","#, 1);
        assert_eq!(record(&mut detector, &call).level, Level::Continue, "{turn}");
        let result =
            format!(r#"{{"type":"tool-result","tool":"deploy","outcome":"ok","output":"stage {turn} is up"}}"#);
        assert_eq!(record(&mut detector, &result).level, Level::Continue, "{turn}");
    }
}

#[test]
fn findings_name_no_arguments() {
    let mut detector = detector("{}");
    let secret = r#"{"type":"tool-call","tool":"ask_expert","args":{"question":"the password is hunter2 or not"}}"#;
    let refused =
        r#"{"type":"tool-result","tool":"ask_expert","outcome":"invalid","output":"unexpected argument hunter2"}"#;
    for _ in 0..8 {
        record(&mut detector, secret);
        let verdict = record(&mut detector, refused);
        assert!(!json::to_string(&verdict).contains("hunter2"));
    }
    assert!(!String::from_utf8_lossy(&detector.snapshot()).contains("hunter2"));
}

#[test]
fn a_snapshot_goes_on_where_it_was_taken() {
    let events: Vec<String> = (0..24)
        .map(|turn| match turn % 4 {
            0 => CALL.to_string(),
            1 => r#"{"type":"tool-result","tool":"deploy","outcome":"denied","output":""}"#.to_string(),
            2 => format!(r#"{{"type":"tool-call","tool":"ask","args":{{"query":"old words in turn {turn}"}}}}"#),
            _ => r#"{"type":"failure","message":"503 overloaded","task":"t"}"#.to_string(),
        })
        .collect();
    let mut straight = detector("{}");
    let mut restored = detector("{}");
    for event in &events {
        restored = Detector::restore(&restored.snapshot()).unwrap();
        assert_eq!(record(&mut straight, event), record(&mut restored, event));
    }
}

#[test]
fn a_result_that_fits_no_call_names_its_tool() {
    let mut detector = detector("{}");
    let mut last = Verdict::default();
    for id in 0..3 {
        let made = format!(r#"{{"type":"tool-call","tool":"deploy","callId":"a{id}","args":{{"n":{id}}}}}"#);
        record(&mut detector, made);
        last = record(
            &mut detector,
            format!(
                r#"{{"type":"tool-result","tool":"deploy","callId":"b{id}","outcome":"error","output":"no such stage"}}"#
            ),
        );
    }
    let finding = &last.findings[0];
    assert_eq!(finding.rule, "repeated-error");
    assert!(finding.message.starts_with("`deploy` failed 3 times"), "{}", finding.message);
    assert!(last.guidance.unwrap().contains("`deploy`"));
}

#[test]
fn a_failing_target_is_told_by_the_tool_that_was_last_at_it() {
    let mut detector = detector("{}");
    let mut last = Verdict::default();
    for tool in ["read", "list", "stat", "open"] {
        record(&mut detector, format!(r#"{{"type":"tool-call","tool":"{tool}","args":{{"path":"/gone"}}}}"#));
        let result = format!(r#"{{"type":"tool-result","tool":"{tool}","outcome":"error","output":"no such device"}}"#);
        last = record(&mut detector, result);
    }
    let message = &last.findings.iter().find(|finding| finding.rule == "failing-target").unwrap().message;
    assert_eq!(message, "the target of this `open` call failed 4 times in the same way");
}

#[test]
fn an_equal_request_is_not_said_to_be_in_other_words() {
    let told = |asks: [&str; 4]| {
        let mut detector = detector("{}");
        let answers = ["I will look at it soon", "Maybe tomorrow then", "Not yet done here", "Working on that bit"];
        let messages = asks.iter().zip(answers).filter_map(|(ask, answer)| {
            let call = format!(r#"{{"type":"tool-call","tool":"ask_writer","args":{{"request":"{ask}"}}}}"#);
            let found = record(&mut detector, call).findings;
            let result = format!(r#"{{"type":"tool-result","tool":"ask_writer","outcome":"ok","output":"{answer}"}}"#);
            record(&mut detector, result);
            found.into_iter().find(|finding| finding.rule == "reworded-request").map(|finding| finding.message.clone())
        });
        messages.last().unwrap()
    };
    let equal = told(["Please rewrite the second paragraph so that it names the harbour company"; 4]);
    assert!(equal.contains(" times: 100 % "), "{equal}");
    let reworded = told([
        "Please rewrite the second paragraph so that it names the harbour company",
        "Rewrite the second paragraph so that the harbour company is named in it",
        "The second paragraph should name the harbour company, please rewrite it so",
        "So that the harbour company is named, rewrite the second paragraph and no other once more",
    ]);
    assert!(reworded.contains(", in different words: "), "{reworded}");
}
