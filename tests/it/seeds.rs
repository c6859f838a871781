//! The examples of the documents from which the rules derive, verbatim, through the public API.

/// "Loop Detection": output signatures, their window, the report and the order of the safety checks.
mod output_signatures {
    use loopwarden::model::{Level, Scope, Verdict};
    use loopwarden::{Detector, json};

    const FIX: &str = "Fixed auth.ts - added null check";

    fn detector(config: &str) -> Detector {
        json::detector(config).expect("a valid configuration")
    }

    /// The verdict on one iteration's output.
    fn iteration(detector: &mut Detector, text: &str) -> Verdict {
        let event = format!(r#"{{"type":"output","text":{}}}"#, json::to_string(&text));
        detector.record(&json::event(&event).expect("a valid event")).expect("a recorded event")
    }

    /// The levels of the verdicts on a series of outputs.
    fn levels(outputs: &[&str]) -> Vec<Level> {
        let mut detector = detector("");
        outputs.iter().map(|text| iteration(&mut detector, text).level).collect()
    }

    /// The rules that ask for a halt, in the verdict's order.
    fn halting(verdict: &Verdict) -> Vec<&str> {
        let asking = verdict.findings.iter().filter(|finding| finding.level == Level::Halt);
        asking.map(|finding| finding.rule.as_str()).collect()
    }

    #[test]
    fn each_example_output_has_the_signature_given_for_it() {
        for (output, signature) in [
            (
                "Running tests... 2 failed: auth.test.ts - login test timeout, logout test assertion",
                "auth.test.ts:login-timeout,logout-assertion",
            ),
            ("Modified auth.ts line 45-52, added null check for user.profile", "auth.ts:null-check"),
            (FIX, "auth.ts:null-check"),
            ("Fixed auth.ts - updated validation", "auth.ts:validation"),
            ("Fixed auth.ts - refactored handler", "auth.ts:handler"),
            ("Searched GitHub for 'oauth2 refresh token', found 3 patterns...", "search:oauth2-refresh-token"),
            ("Error: TypeError - Cannot read property 'id' of null at auth.ts:45", "error:TypeError-null-auth.ts"),
            ("3 tests failing - auth, login, logout", "test-fail:3-auth,login"),
            ("2 tests failing - auth, login", "test-fail:2-auth,login"),
            ("1 test failing - auth", "test-fail:1-auth"),
            ("Looking around\tthe Repository once more", "looking-around-the-repository-once-more"),
            (
                "Überlege, wie die Größe der Länge nach zu prüfen wäre, bevor ich ändere",
                "überlege,-wie-die-größe-der-länge-nach-zu-prüfen-w",
            ),
        ] {
            let mut detector = detector("");
            iteration(&mut detector, output);
            iteration(&mut detector, output);
            let verdict = iteration(&mut detector, output);
            let found: Vec<(&str, &str)> =
                verdict.findings.iter().map(|finding| (finding.rule.as_str(), finding.signature.as_str())).collect();
            assert_eq!(found, [("output-signature", signature)], "{output}");
        }
    }

    #[test]
    fn two_are_a_legitimate_retry_and_three_a_loop() {
        assert_eq!(levels(&[FIX, FIX, FIX]), [Level::Continue, Level::Continue, Level::Gate]);
    }

    #[test]
    fn a_loop_that_goes_on_stays_one() {
        let levels = levels(&[FIX; 7]);
        assert!(levels.iter().skip(2).all(|level| *level >= Level::Gate), "{levels:?}");
    }

    #[test]
    fn the_window_of_five_is_judged_at_its_end() {
        let (a, b) = (FIX, "Fixed session.ts - updated validation");
        let calm = Level::Continue;
        assert_eq!(levels(&[a, b, a, a, a]), [calm, calm, calm, calm, Level::Gate]);
        assert_eq!(levels(&[a, b, a, b, a]), [calm; 5], "three of five are not three in a row");
        assert_eq!(levels(&[a, a, b, a, a]), [calm; 5], "four of five are not three in a row");
    }

    #[test]
    fn the_true_loop_is_found_in_its_fifth_iteration() {
        let before = ["Searched GitHub for 'null profile', found 2 patterns...", "2 tests failing - auth, login"];
        let mut detector = detector("");
        for output in before.into_iter().chain([FIX, FIX]) {
            assert_eq!(iteration(&mut detector, output).level, Level::Continue);
        }
        let verdict = iteration(&mut detector, FIX);
        assert_eq!(verdict.level, Level::Gate);
        let finding = verdict.findings.first().expect("a finding");
        assert_eq!((finding.count, finding.threshold, finding.onset_seq, finding.last_seq), (3, 3, 2, 4));
        assert_eq!(finding.evidence.iter().map(|seen| seen.seq).collect::<Vec<_>>(), [2, 3, 4]);
    }

    #[test]
    fn different_actions_on_one_file_are_progress() {
        let outputs = [FIX, "Fixed auth.ts - updated validation", "Fixed auth.ts - refactored handler"];
        assert_eq!(levels(&outputs), [Level::Continue; 3]);
    }

    #[test]
    fn different_failure_counts_are_progress() {
        let outputs =
            ["3 tests failing - auth, login, logout", "2 tests failing - auth, login", "1 test failing - auth"];
        assert_eq!(levels(&outputs), [Level::Continue; 3]);
    }

    #[test]
    fn the_report_has_the_form_of_the_document() {
        let mut detector = detector("");
        for output in ["3 tests failing - auth, login, logout", "Read auth.ts", "Read session.ts", "Planned a fix"] {
            assert_eq!(iteration(&mut detector, output).level, Level::Continue, "{output}");
        }
        for _ in 0..3 {
            iteration(&mut detector, FIX);
        }
        let expected = "\
## Loop Detected

**Pattern**: Same output signature repeated 3 times
**Signature**: `auth.ts:null-check`

**Iteration history**:

- Iteration 5: Fixed auth.ts - added null check
- Iteration 6: Fixed auth.ts - added null check
- Iteration 7: Fixed auth.ts - added null check ← Loop detected

**Options**:

1. **Continue with different approach** - Agent will be instructed to try new strategy
2. **Review and debug** - Examine why same fix keeps failing
3. **Cancel** - Stop task
";
        assert_eq!(detector.report_markdown(&Scope::default()), expected);
        let report = detector.report(&Scope::default());
        let titles: Vec<&str> = report.options.iter().map(|option| option.title.as_str()).collect();
        assert_eq!(titles, ["Continue with different approach", "Review and debug", "Cancel"]);
    }

    #[test]
    fn a_loop_does_not_wait_for_the_other_guards() {
        let mut detector = detector(r#"{"budgets":{"maxIterations":10,"maxRuntimeMs":3600000,"consecutiveErrors":5}}"#);
        iteration(&mut detector, FIX);
        iteration(&mut detector, FIX);
        let verdict = iteration(&mut detector, FIX);
        assert_eq!((verdict.level, verdict.halt_reason), (Level::Gate, None));
    }

    #[test]
    fn at_equal_level_budgets_lead_and_the_loop_follows() {
        let mut detector = detector(
            r#"{"budgets":{"maxIterations":3,"maxRuntimeMs":1000},"rules":{"output-signature":{"gate":0,"halt":3}}}"#,
        );
        let mut last = Verdict::default();
        for at in [0, 600, 1200] {
            let event = format!(r#"{{"type":"output","at":{at},"text":"{FIX}"}}"#);
            last = detector.record(&json::event(&event).expect("a valid event")).expect("a recorded event");
        }
        assert_eq!(halting(&last), ["max-iterations", "max-runtime", "output-signature"]);
    }

    #[test]
    fn at_equal_level_errors_in_a_row_come_last() {
        let mut detector = detector(
            r#"{"budgets":{"maxRuntimeMs":1000,"consecutiveErrors":3},
                "rules":{"repeated-error":{"nudge":0,"block":0,"halt":3}}}"#,
        );
        let mut last = Verdict::default();
        for (index, at) in [0, 600, 1200].into_iter().enumerate() {
            for event in [
                format!(r#"{{"type":"tool-call","tool":"Edit","args":{{"old":"line {index}"}},"at":{at}}}"#),
                format!(
                    r#"{{"type":"tool-result","tool":"Edit","outcome":"error","output":"text not found","at":{at}}}"#
                ),
            ] {
                last = detector.record(&json::event(&event).expect("a valid event")).expect("a recorded event");
            }
        }
        assert_eq!(halting(&last), ["max-runtime", "repeated-error", "consecutive-errors"]);
    }
}
