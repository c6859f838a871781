//! The escalation report, for people and programs.

use crate::model::{Evidence, Finding, Level, Recommendation, Report, ReportOption, Scope, Wasted};
use crate::rules::{Description, description};
use crate::state::{FINDINGS_OF_ONE, Run, ScopeKeys, owner_key, task_key};
use crate::text::markdown;
use alloc::{format, string::String, string::ToString, vec::Vec};
use core::fmt::Write as _;

/// The unit of the rules about workflow budgets.
const BUDGETED: &str = "of the budget";
const DETECTED: &str = " ← Loop detected";

/// The machine-readable report of a scope.
pub(crate) fn report(scope: &Scope, run: Option<&Run>) -> Report {
    let Some(run) = run else { return Report { scope: scope.clone(), ..Report::default() } };
    let findings: Vec<Finding> = run.standings.findings(scope).take(FINDINGS_OF_ONE).cloned().collect();
    let peak = run.standings.sum(&ScopeKeys::of(scope)).peak;
    let level = findings.iter().map(|finding| finding.level).chain([peak]).max().unwrap_or_default();
    let history = lead(&findings).map(|lead| run.rules.story(&lead.rule, &ScopeKeys::exactly(&lead.scope)));
    let looping = findings.iter().find(|finding| finding.rule == "task-attempts");
    let task = looping.map(|finding| finding.scope.task.as_deref().map_or(0, task_key));
    let (attempts, log) = task.map(|task| run.rules.task_attempts.evidence(task)).unwrap_or_default();
    let options = lead(&findings).map(options).unwrap_or_default();
    let history = history.unwrap_or_default();
    Report { scope: scope.clone(), level, findings, history, attempts, log, options }
}

/// The strongest finding; the newest of equally strong ones.
fn lead(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().rev().max_by_key(|finding| finding.level)
}

/// Whether it tells of a spent budget rather than of a loop.
fn is_of_budget(finding: &Finding) -> bool {
    description(&finding.rule).is_some_and(|rule| rule.budget.is_some() || rule.unit == BUDGETED)
}

/// The answers a person can give: those defined by the rule, or those that fit the finding.
fn options(lead: &Finding) -> Vec<ReportOption> {
    let rule = description(&lead.rule);
    let of_document = rule.map_or(&[][..], |rule| rule.answers);
    let option = |title: &str, effect: &str| ReportOption { title: title.to_string(), effect: effect.to_string() };
    if !of_document.is_empty() {
        return of_document.iter().map(|(title, effect)| option(title, effect)).collect();
    }
    let mut options = Vec::new();
    let budget = rule.and_then(|rule| rule.budget);
    let instead = if lead.instead.is_empty() { "Tell the agent what else to try." } else { &lead.instead };
    if let Some(budget) = budget {
        options
            .push(option("Raise the budget", &format!("`budgets.{}` in the configuration, then go on", budget.field)));
    } else if rule.is_some_and(|rule| rule.unit == BUDGETED) {
        options.push(option(
            "Raise the budget",
            "the one in brackets above, under `budgets` in the configuration, then go on",
        ));
    } else {
        let title = match lead.recommendation {
            Recommendation::RetryWithBackoff => "Wait, then try again",
            Recommendation::ForceNext => "Leave this task and take the next",
            Recommendation::UnblockAuthority => "Allow what is in the way",
            Recommendation::Rollback => "Undo the latest changes",
            Recommendation::RequestTests => "Ask for tests",
            Recommendation::RetryWithNewProvider => "Try another model",
            Recommendation::SpawnReviewer => "Let another agent review",
            Recommendation::Continue
            | Recommendation::ChangeApproach
            | Recommendation::Escalate
            | Recommendation::SwitchToInteractive => "Continue with different approach",
        };
        options.push(option(title, instead));
        if lead.level >= Level::Block {
            let from = format!("Go back to event {}, where it began, and go on from there", lead.onset_seq);
            options.push(option("Rewind", &from));
        }
    }
    // Only plain tool names are inserted into the suggested setting; others might read as more than a name.
    let is_plain = |tool: &&str| tool.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let mut tools = lead.evidence.iter().filter_map(|evidence| evidence.tool.as_deref());
    let tool = tools.next().filter(|tool| tools.all(|other| other == *tool)).filter(is_plain);
    let own = tool.filter(|_| rule.is_some_and(Description::per_tool));
    let own = own.map_or_else(String::new, |tool| format!(" or `tools.{tool}.rules.{}`", lead.rule));
    let exempt = format!(
        "`acknowledge` with `exempt` for this run; for good in the configuration, under `rules.{}`{own}",
        lead.rule
    );
    options.push(option("This is not a loop", &exempt));
    options.push(option("Cancel", "Stop task"));
    options
}

/// The report in Markdown, for people, in the form of the seed document. `runs` is the number of runs that are known.
pub(crate) fn markdown(scope: &Scope, run: Option<&Run>, runs: usize) -> String {
    let report = report(scope, run);
    let (Some(lead), Some(run)) = (lead(&report.findings), run) else {
        let nothing = match run {
            Some(_) => "Nothing has reached `nudge` in this scope.",
            None if runs > 0 => "Nothing is recorded of this run. There are other runs: `run` names one.",
            None => "Nothing is recorded of this run.",
        };
        return format!("## No Loop Detected\n\n{nothing}\n");
    };
    let (pattern, signature) = (said(&lead.message), markdown::code(&lead.signature));
    let heading = if is_of_budget(lead) { "Budget Exceeded" } else { "Loop Detected" };
    let mut text = format!("## {heading}\n\n**Pattern**: {pattern}\n**Signature**: {signature}\n");
    if let Some(reasoning) = lead.reasoning.as_ref().filter(|reasoning| **reasoning != lead.message) {
        let _ = writeln!(text, "**Reasoning**: {}", said(reasoning));
    }
    if report.history.is_empty() {
        evidence(&mut text, lead);
    } else {
        if let Some(money) = money(&lead.wasted) {
            let _ = writeln!(text, "**Cost so far**: {money}");
        }
        text.push_str("\n**Iteration history**:\n\n");
        for (index, line) in report.history.iter().enumerate() {
            let mark = if index + 1 == report.history.len() { DETECTED } else { "" };
            let _ = writeln!(text, "- {}{mark}", said(line));
        }
    }
    // A subtask belongs to its parent task's workflow.
    let owner = owner_key(lead.scope.task.as_deref(), lead.scope.parent_task.as_deref());
    let evidence = run.workflow.evidence(owner);
    if !evidence.is_empty() {
        text.push_str("\n**Loop Evidence**:\n\n");
        for line in evidence {
            let _ = writeln!(text, "- {}", said(&line));
        }
    }
    let others: Vec<&Finding> = report.findings.iter().filter(|finding| *finding != lead).collect();
    if !others.is_empty() {
        text.push_str("\n**Also found**:\n\n");
        for other in others {
            let _ = writeln!(text, "- {} ({}): {}", other.rule, other.level, said(&other.message));
        }
    }
    text.push_str("\n**Options**:\n\n");
    for (option, number) in report.options.iter().zip(1_u32..) {
        let _ = writeln!(text, "{number}. **{}** - {}", option.title, option.effect);
    }
    text
}

/// Escapes one of our own sentences: names between back-ticks become code, everything else plain text.
fn said(text: &str) -> String {
    if !text.matches('`').count().is_multiple_of(2) {
        return markdown::plain(text);
    }
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 0 {
            out.push_str(&markdown::plain(part));
        } else if !part.is_empty() {
            out.push_str(&markdown::code(part));
        }
    }
    out
}

fn evidence(text: &mut String, finding: &Finding) {
    let unit = description(&finding.rule).map_or("", |rule| rule.unit);
    let (count, threshold, level) = (grouped(finding.count.into()), grouped(finding.threshold.into()), finding.level);
    let _ = match unit {
        BUDGETED => write!(text, "**Why now**: {count} of a budget of {threshold} are used"),
        "points" => write!(
            text,
            "**Why now**: {count} points of evidence (one occurrence may count several times), and {level} starts at {threshold}"
        ),
        unit => write!(text, "**Why now**: {count} {unit}, and {level} starts at {threshold}"),
    };
    let _ = writeln!(text, " (rule {})", finding.rule);
    let Scope { run, task, parent_task, agent } = &*finding.scope;
    let names = [("run", run), ("task", task), ("part of task", parent_task), ("agent", agent)];
    let names = names.iter().filter_map(|(what, name)| Some(format!("{what} {}", markdown::code(name.as_deref()?))));
    let names: Vec<String> = names.collect();
    if !names.is_empty() {
        let _ = writeln!(text, "**Where**: {}", names.join(", "));
    }
    let wasted = &finding.wasted;
    let last = finding.evidence.last().filter(|last| last.seq == finding.last_seq).and_then(|last| last.at);
    let began = last.zip(wasted.milliseconds).and_then(|(at, ago)| at.checked_sub_unsigned(ago));
    let when = began.map(|at| format!(", {}", clock(at))).unwrap_or_default();
    let s = if wasted.events == 1 { "" } else { "s" };
    let _ = write!(text, "**Since**: event {}{when}: {} event{s}", finding.onset_seq, grouped(wasted.events));
    if let Some(milliseconds) = wasted.milliseconds {
        let _ = write!(text, ", {}", duration(milliseconds));
    }
    if let Some(money) = money(wasted) {
        let _ = write!(text, ", {money}");
    }
    if finding.level == Level::Halt {
        text.push_str("; the run should end");
    }
    if finding.evidence.is_empty() {
        text.push('\n');
        return;
    }
    text.push_str("\n\n**Evidence**:\n\n");
    let last = if is_of_budget(finding) { "" } else { DETECTED };
    for (index, seen) in finding.evidence.iter().enumerate() {
        let mark = if index + 1 == finding.evidence.len() { last } else { "" };
        let _ = writeln!(text, "- {}{mark}", occurrence(seen));
    }
}

/// One line about an event of a loop: sequence number, time, call and outcome.
fn occurrence(seen: &Evidence) -> String {
    let mut text = format!("Event {}", seen.seq);
    if let Some(step) = seen.step {
        let _ = write!(text, ", step {step}");
    }
    if let Some(at) = seen.at {
        let _ = write!(text, ", {}", clock(at));
    }
    let called = match (&seen.tool, &seen.args) {
        (Some(tool), Some(args)) => Some(markdown::code(&format!("{tool} {args}"))),
        (Some(tool), None) => Some(markdown::code(tool)),
        (None, _) => None,
    };
    let came = match (seen.outcome, &seen.excerpt) {
        (Some(outcome), Some(output)) => Some(format!("{}: {}", outcome.name(), markdown::code(output))),
        (Some(outcome), None) => Some(outcome.name().to_string()),
        (None, Some(said)) => Some(markdown::code(said)),
        (None, None) => None,
    };
    let _ = match (called, came) {
        (Some(called), Some(came)) => write!(text, ": {called} → {came}"),
        (Some(one), None) | (None, Some(one)) => write!(text, ": {one}"),
        // Only its digest is known, which equal events share.
        (None, None) => write!(text, ": {}", markdown::code(&seen.digest)),
    };
    text
}

/// Tokens and cost, if known.
fn money(wasted: &Wasted) -> Option<String> {
    let tokens = wasted.tokens.map(|tokens| format!("{} tokens", grouped(tokens)));
    let cost = wasted.cost_micros.map(|micros| format!("a cost of {}", amount(micros)));
    let told: Vec<String> = tokens.into_iter().chain(cost).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Formats millionths of a currency unit: two decimals, or six for amounts below 0.01.
fn amount(micros: u64) -> String {
    let (units, rest) = (micros / 1_000_000, micros % 1_000_000);
    if micros < 10_000 { format!("{units}.{rest:06}") } else { format!("{}.{:02}", grouped(units), rest / 10_000) }
}

/// Groups digits: `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", grouped(seconds / 3600), seconds / 60 % 60),
    }
}

/// The time of day in UTC. For a host whose times do not count from 1970, it is that host's own clock.
fn clock(at: i64) -> String {
    let seconds = at.div_euclid(1000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::{amount, clock, duration, grouped, said};

    #[test]
    fn figures() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0, 999, 59_999, 61_000, 3_600_000, 7_261_000].map(duration),
            ["0 ms", "999 ms", "59 s", "1 min 1 s", "1 h 0 min", "2 h 1 min"]
        );
        assert_eq!(
            [0, 420, 9_999, 10_000, 125_000, 1_999_999, 1_234_000_000].map(amount),
            ["0.000000", "0.000420", "0.009999", "0.01", "0.12", "1.99", "1,234.00"]
        );
        assert_eq!(
            [0, 1_767_323_045_678, -1, i64::MIN].map(clock),
            ["00:00:00 UTC", "03:04:05 UTC", "23:59:59 UTC", "16:47:04 UTC"]
        );
    }

    #[test]
    fn names_in_sentences_stay_names() {
        assert_eq!(said("`search` was called 3 times"), "`search` was called 3 times");
        assert_eq!(said("`[x](http\u{3a}//y)` failed, says @bob"), "`[x](http://y)` failed, says \\@bob");
        assert_eq!(said("a ` *b*"), "a \\` \\*b\\*");
    }
}
