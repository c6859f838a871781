//! The fuzzy variant of output signatures: off by default; fires if an output is at least 90 % like one of the last
//! five.

use loopwarden::json;
use loopwarden::model::{HaltReason, Level, Verdict};

const ON: &str = r#"{"rules":{"output-similarity":{"enabled":true},"output-signature":{"enabled":false}}}"#;

fn play(config: &str, outputs: &[&str]) -> Vec<Verdict> {
    let mut detector = json::detector(config).unwrap();
    let event = |text: &&str| json::event(&format!(r#"{{"type":"output","text":{}}}"#, json::to_string(text))).unwrap();
    outputs.iter().map(|text| detector.record(&event(text)).unwrap()).collect()
}

fn levels(config: &str, outputs: &[&str]) -> Vec<Level> {
    play(config, outputs).iter().map(|verdict| verdict.level).collect()
}

const FIX: &str = "Fixed auth.ts - added null check";

#[test]
fn the_second_of_two_alike_is_a_gate() {
    use Level::{Continue, Gate};
    assert_eq!(levels(ON, &[FIX, FIX, FIX]), [Continue, Gate, Gate]);
    assert_eq!(levels(ON, &[FIX, "Fixed auth.ts - added null checks"]), [Continue, Gate]);
    assert_eq!(levels("{}", &[FIX, "Fixed auth.ts - added null checks"]), [Continue, Continue]);
}

#[test]
fn other_actions_on_the_same_file_are_not_alike() {
    let outputs = [FIX, "Fixed auth.ts - updated validation", "Fixed auth.ts - refactored handler"];
    assert_eq!(levels(ON, &outputs), [Level::Continue; 3]);
}

#[test]
fn where_signatures_see_progress_similarity_may_not() {
    // The document's third example: why signatures are the default, and the cost of this variant.
    let outputs = ["3 tests failing - auth, login, logout", "2 tests failing - auth, login", "1 test failing - auth"];
    assert_eq!(levels(ON, &outputs), [Level::Continue; 3]);
    let numbers = ["12 of 40 tests of the storage layer fail", "11 of 40 tests of the storage layer fail"];
    assert_eq!(levels(ON, &numbers), [Level::Continue, Level::Gate]);
}

/// A text of so many characters in which the given number of letters is replaced by one that does not occur otherwise.
fn changed(length: usize, replaced: usize) -> String {
    let plain: Vec<char> = "harbour crane quay lift ".chars().cycle().take(length - 1).chain(['.']).collect();
    let letters = plain.iter().enumerate().filter(|(_, letter)| letter.is_alphabetic()).map(|(index, _)| index);
    let gone: Vec<usize> = letters.take(replaced).collect();
    plain.iter().enumerate().map(|(index, letter)| if gone.contains(&index) { 'ß' } else { *letter }).collect()
}

#[test]
fn ninety_percent_is_the_edge() {
    use Level::{Continue, Gate};
    // Of 100 characters, 91, 90 and 89 stay; of 1,000, 901, 900 and 899, which is 89.9 percent and just below 90.
    for (length, replaced, level) in [
        (100, 9, Gate),
        (100, 10, Gate),
        (100, 11, Continue),
        (1000, 99, Gate),
        (1000, 100, Gate),
        (1000, 101, Continue),
    ] {
        let (plain, other) = (changed(length, 0), changed(length, replaced));
        assert_eq!(levels(ON, &[&plain, &other]), [Continue, level], "{replaced} of {length}");
        assert_eq!(levels(ON, &[&other, &plain]), [Continue, level], "{replaced} of {length}, turned round");
    }
}

#[test]
fn any_of_the_last_five() {
    let others = [
        "Read the brief of the harbour project",
        "Drew the schema with eleven tables",
        "Loaded January and compared all totals",
        "Asked for the missing tariff file",
        "Wrote the migration and ran it once",
    ];
    let mut within = vec![FIX];
    within.extend(others.iter().take(4));
    within.push(FIX);
    assert_eq!(levels(ON, &within).last(), Some(&Level::Gate));
    let mut beyond = vec![FIX];
    beyond.extend(others);
    beyond.push(FIX);
    assert_eq!(levels(ON, &beyond), [Level::Continue; 7]);
}

#[test]
fn thresholds_count_all_that_are_alike() {
    let three = ON.replace(r#""output-similarity":{"enabled":true"#, r#""output-similarity":{"enabled":true,"gate":3"#);
    use Level::{Continue, Gate};
    assert_eq!(levels(&three, &[FIX, FIX, FIX]), [Continue, Continue, Gate]);
    let verdict = play(&three, &[FIX, "Ran nothing", FIX, FIX]).pop().unwrap();
    let finding = &verdict.findings[0];
    assert_eq!((finding.rule.as_str(), finding.count, finding.threshold), ("output-similarity", 3, 3));
    assert_eq!(finding.evidence.iter().map(|seen| seen.seq).collect::<Vec<_>>(), [0, 2, 3]);
    let unreachable = ON.replace(r#""enabled":true"#, r#""enabled":true,"gate":7"#);
    let error = json::detector(&unreachable).map(drop).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("rules.output-similarity.gate"));
}

#[test]
fn what_a_clock_puts_in_does_not_make_two_outputs_differ_and_blank_ones_are_nothing() {
    let (one, two) = ("Deployed at 10:31:07, all good", "Deployed at 22:04:55, all good");
    assert_eq!(levels(ON, &[one, two]), [Level::Continue, Level::Gate]);
    assert_eq!(levels(ON, &["", " ", "\n", ""]), [Level::Continue; 4]);
}

#[test]
fn long_outputs_are_compared_by_beginning_and_end() {
    let long = |middle: &str, end: &str| {
        format!("{}{}{}", "The same beginning. ".repeat(300), middle.repeat(2000), end.repeat(60))
    };
    let one = long("a b ", "It passed. ");
    assert_eq!(levels(ON, &[&one, &long("c d ", "It passed. ")]), [Level::Continue, Level::Gate]);
    assert_eq!(levels(ON, &[&one, &long("a b ", "Nothing ran at all? ")]), [Level::Continue; 2]);
    let megabytes = "x ".repeat(2_000_000);
    assert_eq!(levels(ON, &[&megabytes, &megabytes]), [Level::Continue, Level::Gate]);
}

#[test]
fn nobody_attends() {
    let unattended = ON.replacen('{', r#"{"attended":false,"#, 1);
    let verdict = play(&unattended, &[FIX, FIX]).pop().unwrap();
    assert_eq!((verdict.level, verdict.halt_reason), (Level::Halt, Some(HaltReason::Stalled)));
}
