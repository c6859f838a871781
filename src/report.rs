//! The escalation report, for a person and for a program.

use crate::model::{Finding, Level, Report, ReportOption, Scope};
use crate::state::{FINDINGS_OF_ONE, Run, Whose, task_key};
use alloc::{format, string::String, string::ToString, vec::Vec};
use core::fmt::Write as _;

/// The machine-readable report of a scope.
pub(crate) fn report(scope: &Scope, run: Option<&Run>) -> Report {
    let Some(run) = run else { return Report { scope: scope.clone(), ..Report::default() } };
    let findings: Vec<Finding> = run.standings.findings(scope).take(FINDINGS_OF_ONE).cloned().collect();
    let peak = run.standings.sum(&Whose::of(scope)).peak;
    let level = findings.iter().map(|finding| finding.level).chain([peak]).max().unwrap_or_default();
    let history = lead(&findings).map(|lead| run.rules.story(&lead.rule, &Whose::exactly(&lead.scope)));
    let looping = findings.iter().find(|finding| finding.rule == "task-attempts");
    let task = looping.map(|finding| finding.scope.task.as_deref().map_or(0, task_key));
    let (attempts, log) = task.map(|task| run.rules.attempt_evidence(task)).unwrap_or_default();
    let options = if findings.is_empty() { Vec::new() } else { options() };
    let history = history.unwrap_or_default();
    Report { scope: scope.clone(), level, findings, history, attempts, log, options }
}

/// The strongest finding leads; among equals the newest.
fn lead(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().rev().max_by_key(|finding| finding.level)
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
pub(crate) fn markdown(scope: &Scope, run: Option<&Run>) -> String {
    let report = report(scope, run);
    let (Some(lead), Some(run)) = (lead(&report.findings), run) else {
        return "## No Loop Detected\n\nNothing has reached `nudge` in this scope.\n".to_string();
    };
    let mut text = format!("## Loop Detected\n\n**Pattern**: {}\n**Signature**: `{}`\n", lead.message, lead.signature);
    if let Some(reasoning) = lead.reasoning.as_ref().filter(|reasoning| **reasoning != lead.message) {
        let _ = writeln!(text, "**Reasoning**: {reasoning}");
    }
    if report.history.is_empty() {
        evidence(&mut text, lead);
    } else {
        text.push_str("\n**Iteration history**:\n\n");
        for (index, line) in report.history.iter().enumerate() {
            let mark = if index + 1 == report.history.len() { " ← Loop detected" } else { "" };
            let _ = writeln!(text, "- {line}{mark}");
        }
    }
    // A part of a task works in the task's workflow.
    let owner = lead.scope.parent_task.as_deref().or(lead.scope.task.as_deref()).map_or(0, task_key);
    let evidence = run.workflow.evidence(owner);
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
