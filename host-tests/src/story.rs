//! Narrates a run in a terminal: for each loop found, the events before it, the evidence and the guidance.

use loopwarden::model::{Body, Channel, Event, Evidence, Finding, Level, Role, Verdict};
use serde_json::Value;
use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};

/// Characters per line.
const WIDTH: usize = 110;
/// Column at which the text of an event begins.
const MARGIN: usize = 25;
/// Most events shown before a verdict.
const BEFORE: usize = 8;

/// A narrator of one run.
pub struct Story<W> {
    out: W,
    colours: bool,
    /// Recorded events by sequence number, by which evidence refers to them.
    recorded: Vec<String>,
    /// Lines of the events since the last one shown.
    waiting: Vec<String>,
    /// Rule, signature and level of findings shown in full; a repetition gets one line until the level rises.
    told: HashSet<(String, String, &'static str)>,
}

impl Story<io::Stdout> {
    /// A narrator on standard output, with colours if that is a terminal and `NO_COLOR` is unset or empty.
    #[must_use]
    pub fn on_stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self::new(io::stdout(), io::stdout().is_terminal() && !unwanted)
    }
}

impl<W: Write> Story<W> {
    /// A narrator on `out`.
    pub fn new(out: W, colours: bool) -> Self {
        Self { out, colours, recorded: Vec::new(), waiting: Vec::new(), told: HashSet::new() }
    }

    /// Takes a recorded event and its verdict, and shows what there is to show.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn tell(&mut self, event: &Event, verdict: &Verdict) -> io::Result<()> {
        let (who, what) = summary(event);
        let line = clip(&format!("{who:<17} {what}"), WIDTH - 7);
        let number = self.painted(DIM, &format!("{:>5}", verdict.seq));
        let style = if matches!(event.body, Body::ToolResult(_)) { DIM } else { PLAIN };
        let told = self.painted(style, &line);
        self.waiting.push(format!("{number}  {told}"));
        self.recorded.push(line);
        if verdict.level >= Level::Nudge {
            self.catch_up()?;
            self.explain(verdict)?;
        }
        self.out.flush()
    }

    /// Shows the events since the last verdict shown, or only the latest of many.
    fn catch_up(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let skipped = if waiting.len() > BEFORE + 1 { waiting.len() - BEFORE } else { 0 };
        if skipped > 0 {
            let told = self.painted(DIM, &format!("    …  {skipped} events"));
            writeln!(self.out, "{told}")?;
        }
        waiting.iter().skip(skipped).try_for_each(|line| writeln!(self.out, "{line}"))
    }

    /// Shows how a run ended, by its Markdown report; `None` means that no loop was found.
    ///
    /// # Errors
    /// `out` cannot be written.
    pub fn end(&mut self, report: Option<&str>) -> io::Result<()> {
        let Some(report) = report else {
            writeln!(self.out, "No loop found; events: {}.", self.recorded.len())?;
            return self.out.flush();
        };
        writeln!(self.out)?;
        for line in report.lines() {
            let style = if line.starts_with('#') { BOLD } else { PLAIN };
            let line = self.painted(style, &printable(line));
            writeln!(self.out, "{line}")?;
        }
        self.out.flush()
    }

    fn explain(&mut self, verdict: &Verdict) -> io::Result<()> {
        let style = if verdict.level >= Level::Block { RED } else { YELLOW };
        let level = self.painted(style, &format!("{:>5}  {}", "▲", verdict.level.name().to_uppercase()));
        let Some(finding) = verdict.findings.first() else {
            return writeln!(self.out, "{level}");
        };
        let Finding { rule, message, evidence, signature, .. } = &**finding;
        let name = self.painted(BOLD, rule);
        writeln!(self.out, "{level}  {name}: {}", printable(message))?;
        if !self.told.insert((rule.to_string(), signature.to_string(), verdict.level.name())) {
            return writeln!(self.out);
        }
        for evidence in evidence {
            let line = self.painted(DIM, &self.evidence(evidence));
            writeln!(self.out, "       {line}")?;
        }
        if let Some(guidance) = &verdict.guidance {
            for (index, line) in wrapped(guidance, WIDTH - MARGIN).iter().enumerate() {
                let label = if index == 0 { "say to the agent" } else { "" };
                let label = self.painted(style, &format!("{label:<17}"));
                writeln!(self.out, "       {label} {line}")?;
            }
        }
        writeln!(self.out)
    }

    /// One event of the evidence: the digest comes from the detector, the text from the transcript.
    fn evidence(&self, Evidence { seq, step, digest, .. }: &Evidence) -> String {
        let step = step.map(|step| format!(" (step {step})")).unwrap_or_default();
        let text = usize::try_from(*seq).ok().and_then(|seq| self.recorded.get(seq)).map_or("", String::as_str);
        clip(&format!("evidence  #{seq}{step}  {digest}  {}", collapsed(text)), WIDTH - 7)
    }

    fn painted(&self, style: &str, text: &str) -> String {
        if self.colours && !style.is_empty() { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

const PLAIN: &str = "";
const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "1;31";
const YELLOW: &str = "1;33";

/// Who acted, and what was done.
fn summary(event: &Event) -> (String, String) {
    let (who, what) = match &event.body {
        Body::ToolCall(call) => {
            let args = call.args.as_ref().map(arguments).or_else(|| call.raw_args.clone());
            (call.tool.clone(), args.unwrap_or_default())
        }
        Body::ToolResult(result) => (format!("  {}", result.outcome.name()), result.output.clone()),
        Body::Message(message) => {
            let who = match (message.role, message.channel) {
                (Role::Assistant, Some(Channel::Reasoning)) => "agent thinks",
                (Role::Assistant, _) => "agent",
                (Role::User, _) => "user",
                (Role::System, _) => "system",
            };
            (who.to_owned(), message.text.clone())
        }
        Body::Delta(delta) => ("agent …".to_owned(), delta.text.clone()),
        Body::Output(output) => ("output".to_owned(), output.text.clone()),
        Body::Failure(failure) => ("failure".to_owned(), failure.message.clone()),
        other => (other.name().to_owned(), serde_json::to_string(other).unwrap_or_default()),
    };
    (printable(&who), collapsed(&what))
}

/// Arguments as `name=value`, each clipped to leave room for all.
fn arguments(args: &Value) -> String {
    let Value::Object(fields) = args else { return args.to_string() };
    let field = |(name, value): (&String, &Value)| match value {
        Value::String(text) if text.contains('/') && !text.contains(char::is_whitespace) => {
            format!("{name}={}", text.rsplit('/').next().unwrap_or_default())
        }
        Value::String(text) => format!("{name}={}", clip(&collapsed(text), 36)),
        other => format!("{name}={}", clip(&other.to_string(), 36)),
    };
    fields.iter().map(field).collect::<Vec<_>>().join("  ")
}

/// Transcripts are untrusted text: nothing in them may control the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) { '\u{fffd}' } else { c }).collect()
}

/// Control characters and directional overrides.
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text on one line.
fn collapsed(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.trim_end().to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&printable(word));
        }
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwarden::json;

    fn told(events: &[&str], verdict: &Verdict, colours: bool) -> String {
        let mut story = Story::new(Vec::new(), colours);
        for (seq, event) in (0..).zip(events) {
            story.tell(&json::event(event).unwrap(), &Verdict { seq, ..verdict.clone() }).unwrap();
        }
        String::from_utf8(story.out).unwrap()
    }

    fn nudge() -> Verdict {
        let evidence = Evidence { seq: 0, step: Some(7), digest: "00112233aabbccdd".into(), ..Evidence::default() };
        let finding =
            Finding { rule: "cycle".into(), message: "again".into(), evidence: vec![evidence], ..Finding::default() };
        let guidance = Some("Loopwarden: try another way. ".repeat(8));
        Verdict { level: Level::Nudge, findings: vec![finding.into()], guidance, ..Verdict::default() }
    }

    #[test]
    fn evidence_shows_the_text_of_the_event_it_names() {
        let text = told(&[r#"{"type":"tool-call","tool":"read","args":{"path":"a.rs"}}"#], &nudge(), false);
        assert!(text.contains("#0 (step 7)  00112233aabbccdd  read path=a.rs"), "{text}");
        assert!(text.contains("NUDGE  cycle: again"), "{text}");
        assert!(text.contains("say to the agent  Loopwarden: try another way."), "{text}");
    }

    #[test]
    fn what_was_told_is_told_in_a_line_and_of_many_events_the_latest_are_shown() {
        let read = json::event(r#"{"type":"tool-call","tool":"read","args":{}}"#).unwrap();
        let mut story = Story::new(Vec::new(), false);
        for seq in 0..20 {
            story.tell(&read, &Verdict { seq, ..Verdict::default() }).unwrap();
        }
        for seq in 20..22 {
            story.tell(&read, &Verdict { seq, ..nudge() }).unwrap();
        }
        let text = String::from_utf8(story.out).unwrap();
        assert!(text.starts_with("    …  13 events\n   13  read"), "{text}");
        assert_eq!(text.matches("NUDGE  cycle: again").count(), 2, "{text}");
        assert_eq!(text.matches("say to the agent").count(), 1, "{text}");
    }

    #[test]
    fn a_run_without_a_loop_is_told_to_have_none() {
        let mut story = Story::new(Vec::new(), false);
        story.tell(&json::event(r#"{"type":"output","text":"x"}"#).unwrap(), &Verdict::default()).unwrap();
        story.end(None).unwrap();
        assert_eq!(String::from_utf8(story.out).unwrap(), "No loop found; events: 1.\n");
    }

    #[test]
    fn no_line_is_wider_than_the_page_and_no_text_steers_the_terminal() {
        let long = format!(r#"{{"type":"output","text":"\u001b[2J\u202e{}"}}"#, "word ".repeat(100));
        let text = told(&[&long], &nudge(), false);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(!text.chars().any(|c| is_unsafe(c) && c != '\n'), "{text:?}");
    }

    #[test]
    fn colours_only_where_asked_for() {
        let event = r#"{"type":"output","text":"x"}"#;
        assert!(told(&[event], &nudge(), true).contains("\x1b[1;33m"));
        assert!(!told(&[event], &nudge(), false).contains('\x1b'));
    }
}
