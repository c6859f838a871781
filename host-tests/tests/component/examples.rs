//! The examples do what they show.

use crate::COMPONENT;
use crate::coder_verifier::{Outcome, laps_to, run};
use loopwarden::model::{HaltReason, Level, Recommendation, Record};

#[test]
fn a_pair_that_gets_there_is_left_alone() {
    let Outcome { shown, halted } = run(&COMPONENT, &laps_to(&[7, 4, 2, 0])).unwrap();
    assert_eq!(shown, ["Loop 1/8: 7", "Loop 2/8: 7 → 4", "Loop 3/8: 7 → 4 → 2", "Loop 3/8: 7 → 4 → 2 → 0"]);
    assert!(halted.is_none(), "{halted:?}");
}

#[test]
fn a_pair_that_gets_stuck_is_halted() {
    let Outcome { shown, halted } = run(&COMPONENT, &laps_to(&[7, 4, 2, 2, 2, 2])).unwrap();
    assert_eq!((shown.len(), shown.last().unwrap().as_str()), (4, "Loop 4/8: 7 → 4 → 2 → 2"));
    let (verdict, record) = halted.unwrap();
    assert_eq!((verdict.level, verdict.recommendation), (Level::Gate, Recommendation::SwitchToInteractive));
    let Some(Record::LoopHalted { halt_reason, diff_hashes, failing_test_signatures, .. }) = record else {
        panic!("{:?}", verdict.records)
    };
    assert_eq!((halt_reason, diff_hashes.len()), (HaltReason::Stalled, 5));
    let [first, .., before, last] = failing_test_signatures.as_slice() else { panic!("{failing_test_signatures:?}") };
    assert!(first != last && before == last, "{failing_test_signatures:?}");
}

#[test]
fn a_pair_that_only_gets_better_has_a_budget() {
    let counts: Vec<usize> = (1..=20).rev().collect();
    let (verdict, record) = run(&COMPONENT, &laps_to(&counts)).unwrap().halted.unwrap();
    assert_eq!((verdict.level, verdict.halt_reason), (Level::Halt, Some(HaltReason::BudgetExceeded)));
    assert!(matches!(record, Some(Record::LoopHalted { halt_reason: HaltReason::BudgetExceeded, .. })));
}
