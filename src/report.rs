//! The escalation report, for a person and for a program.

use crate::model::{Finding, Level, Report, ReportOption, Scope};
use crate::state::Run;
use crate::text::Key;
use alloc::{format, string::String, string::ToString, vec::Vec};
use core::fmt::Write as _;

/// The machine-readable report of a run.
pub(crate) fn report(scope: &Scope, run: Option<&Run>) -> Report {
    let Some(run) = run else { return Report { scope: scope.clone(), ..Report::default() } };
    let findings: Vec<Finding> = run.findings.iter().rev().map(|found| found.read(scope.run.as_ref())).collect();
    let options = if findings.is_empty() { Vec::new() } else { options() };
    Report { scope: scope.clone(), level: run.peak, findings, options }
}

/// The answers that the seed document offers a person.
fn options() -> Vec<ReportOption> {
    let options = [
        ("Continue with different approach", "Agent will be instructed to try new strategy"),
        ("Review and debug", "Examine why same fix keeps failing"),
        ("Cancel", "Stop task"),
    ];
    options.map(|(title, effect)| ReportOption { title: title.to_string(), effect: effect.to_string() }).into()
}

/// The report for a person, in the seed document's form.
pub(crate) fn markdown(scope: &Scope, run: Option<&Run>, task: Option<Key>) -> String {
    let report = report(scope, run);
    // The strongest finding leads; among equals the newest.
    let lead = report.findings.iter().rev().max_by_key(|finding| finding.level);
    let (Some(lead), Some(run)) = (lead, run) else {
        return "## No Loop Detected\n\nNothing has reached `nudge` in this scope.\n".to_string();
    };
    let mut text = format!("## Loop Detected\n\n**Pattern**: {}\n**Signature**: `{}`\n", lead.message, lead.signature);
    let story = run.rules.story(&lead.rule);
    if story.is_empty() {
        evidence(&mut text, lead);
    } else {
        text.push_str("\n**Iteration history**:\n\n");
        for (index, line) in story.iter().enumerate() {
            let mark = if index + 1 == story.len() { " ← Loop detected" } else { "" };
            let _ = writeln!(text, "- {line}{mark}");
        }
    }
    let evidence = run.workflow.evidence(task);
    if !evidence.is_empty() {
        text.push_str("\n**Loop Evidence**:\n\n");
        for line in evidence {
            let _ = writeln!(text, "- {line}");
        }
    }
    let others: Vec<&Finding> = report.findings.iter().filter(|finding| *finding != lead).collect();
    if !others.is_empty() {
        text.push_str("\n**Also found**:\n\n");
        for other in others {
            let _ = writeln!(text, "- {} ({}): {}", other.rule, other.level, other.message);
        }
    }
    text.push_str("\n**Options**:\n\n");
    for (option, number) in report.options.iter().zip(1_u32..) {
        let _ = writeln!(text, "{number}. **{}** - {}", option.title, option.effect);
    }
    text
}

fn evidence(text: &mut String, finding: &Finding) {
    let _ = write!(text, "**Rule**: {} ({}), {} of {}", finding.rule, finding.level, finding.count, finding.threshold);
    if finding.level == Level::Halt {
        text.push_str(", the run should end");
    }
    let wasted = &finding.wasted;
    let _ = write!(text, "\n**Since**: event {}, {} events", finding.onset_seq, wasted.events);
    if let Some(tokens) = wasted.tokens {
        let _ = write!(text, ", {tokens} tokens");
    }
    if let Some(milliseconds) = wasted.milliseconds {
        let _ = write!(text, ", {} s", milliseconds / 1000);
    }
    text.push_str("\n\n**Evidence**:\n\n");
    for (index, seen) in finding.evidence.iter().enumerate() {
        let step = seen.step.map(|step| format!(", step {step}")).unwrap_or_default();
        let mark = if index + 1 == finding.evidence.len() { " ← Loop detected" } else { "" };
        let _ = writeln!(text, "- Event {}{step}: `{}`{mark}", seen.seq, seen.digest);
    }
}
