//! Labelled runs, and the detector's results on them.

use crate::raw_scenario::{RawScenario, scenario};
use loopwarden::json;
use loopwarden::model::{Body, Event, Level, Role};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// A recorded run with its labels.
#[derive(Debug)]
pub(crate) struct Record {
    /// Name of its file, which identifies the collection.
    pub(crate) file: String,
    pub(crate) id: String,
    /// Whether it contains a loop; `None` if unlabelled.
    pub(crate) is_loop: Option<bool>,
    /// Whether the run reached its goal, if known.
    pub(crate) success: Option<bool>,
    /// Index of the event at which a supervisor would have intervened.
    pub(crate) third: Option<usize>,
    config: Option<String>,
    /// The lowest level that counts as an alarm.
    least: Level,
    events: Vec<(usize, Event, bool)>,
}

/// The detector's results on a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// The first alarm at [`Record::least`] or above.
    pub(crate) nudge: Option<Alarm>,
    pub(crate) block: Option<Alarm>,
    /// Per rule, the event of its first finding at `nudge` or above.
    pub(crate) first: BTreeMap<String, usize>,
    /// Rules with such a finding.
    pub(crate) rules: Vec<String>,
}

/// A first alarm.
#[derive(Clone, Debug)]
pub(crate) struct Alarm {
    pub(crate) at: usize,
    pub(crate) rule: String,
    pub(crate) message: String,
    /// Steps after the event at which a supervisor would have intervened; negative if before it.
    pub(crate) late: Option<i64>,
}

/// Reads every scenario below the paths. Also returns messages about files and scenarios that cannot be read.
pub(crate) fn load(paths: &[PathBuf]) -> Result<(Vec<Record>, Vec<String>), Box<dyn Error>> {
    let mut files = Vec::new();
    for path in paths {
        below(path, &mut files)?;
    }
    let (mut records, mut unread) = (Vec::new(), Vec::new());
    for file in files {
        if let Err(error) = read(&file, &mut records, &mut unread) {
            unread.push(format!("{}: {error}", file.display()));
        }
    }
    Ok((records, unread))
}

fn below(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    entries.sort();
    for entry in entries {
        let name = entry.to_string_lossy();
        if entry.is_dir() || name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") {
            below(&entry, files)?;
        }
    }
    Ok(())
}

/// The same message as that of the npm package's command.
const NO_TEXT: &str = "is no text that can be read; a log is UTF-8 text, plain or gzip-compressed";

fn read(path: &Path, records: &mut Vec<Record>, unread: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    let mut bytes = fs::read(path)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let packed = std::mem::take(&mut bytes);
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes)?;
    }
    // Logs have no zero bytes near their beginning; images do.
    let zero = bytes.iter().take(4096).any(|byte| *byte == 0);
    let text = String::from_utf8(bytes).ok().filter(|_| !zero).ok_or(NO_TEXT)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let file = name.split(".jsonl").next().unwrap_or_default().to_owned();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match scenario(index + 1, line).map_err(Into::into).and_then(|raw| record(&file, &raw)) {
            Ok(record) => records.push(record),
            Err(error) => unread.push(format!("{}:{}: {error}", path.display(), index + 1)),
        }
    }
    Ok(())
}

/// Prepares a scenario for scoring. Fails on an invalid label or configuration, which would otherwise be scored as no
/// alarm.
fn record(file: &str, raw: &RawScenario) -> Result<Record, Box<dyn Error>> {
    if let Some(config) = &raw.config {
        json::detector(config).map_err(|error| format!("config: {error}"))?;
    }
    let whole: serde_json::Value = serde_json::from_str(&raw.text).unwrap_or_default();
    let mut rejected: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let read = |(at, event): (usize, &crate::raw_scenario::RawEvent)| match json::event(&event.text) {
        Ok(read) => Some((at, read, event.pending)),
        Err(error) => {
            // A rejected event is missing evidence, and whoever converts logs has to know.
            rejected.entry(error.to_string()).or_insert((at, 0)).1 += 1;
            None
        }
    };
    let events = raw.events.iter().enumerate().filter_map(read).collect();
    for (error, (at, count)) in rejected {
        let more = if count > 1 { format!(", and {} more for the same reason", count - 1) } else { String::new() };
        eprintln!("{file}: event {at} of {} is left out{more}: {error}", raw.id);
    }
    let third = whole.pointer("/label/third").and_then(serde_json::Value::as_u64);
    Ok(Record {
        file: file.to_owned(),
        id: raw.id.clone(),
        is_loop: raw.expect_loop,
        success: whole.get("success").and_then(serde_json::Value::as_bool),
        third: third.and_then(|third| usize::try_from(third).ok()).or(raw.expect_at),
        least: match raw.min_level.as_deref() {
            Some("observe") => Level::Observe,
            None | Some("nudge") => Level::Nudge,
            Some("block") => Level::Block,
            Some("gate") => Level::Gate,
            Some("halt") => Level::Halt,
            Some(other) => {
                return Err(format!("minLevel: expected observe, nudge, block, gate or halt, got \"{other}\"").into());
            }
        },
        config: raw.config.clone(),
        events,
    })
}

impl Record {
    /// Replays the run with its own configuration or, if it has none, the given one.
    pub(crate) fn marks(&self, config: &str) -> Marks {
        let mut marks = Marks::default();
        // INVARIANT: both configurations have been validated before.
        let Ok(mut detector) = json::detector(self.config.as_deref().unwrap_or(config)) else { return marks };
        for (at, event, pending) in &self.events {
            let answer = if *pending { detector.check(event) } else { detector.record(event) };
            let Ok(verdict) = answer else { continue };
            let lead = verdict.findings.first();
            let alarm = || Alarm {
                at: *at,
                rule: lead.map(|finding| finding.rule.to_string()).unwrap_or_default(),
                message: lead.map(|finding| finding.message.to_string()).unwrap_or_default(),
                late: self.late(*at),
            };
            if verdict.level >= self.least && marks.nudge.is_none() {
                marks.nudge = Some(alarm());
            }
            if verdict.level >= Level::Block && marks.block.is_none() {
                marks.block = Some(alarm());
            }
            for finding in verdict.findings.iter().filter(|finding| finding.level >= Level::Nudge) {
                marks.first.entry(finding.rule.to_string()).or_insert(*at);
            }
        }
        marks.rules = marks.first.keys().cloned().collect();
        marks
    }

    /// Steps from the event at which a supervisor would have intervened to an alarm. A step is a call or, in a run
    /// without calls, a message of an agent.
    fn late(&self, alarm: usize) -> Option<i64> {
        let third = self.third?;
        let calls = self.events.iter().any(|(_, event, _)| matches!(event.body, Body::ToolCall(_)));
        let is_step = |event: &Event| match &event.body {
            Body::ToolCall(_) => true,
            Body::Message(message) => !calls && message.role == Role::Assistant,
            _ => false,
        };
        let (from, to) = (third.min(alarm), third.max(alarm));
        let between = self.events.iter().filter(|(at, event, _)| *at > from && *at <= to && is_step(event)).count();
        let between = i64::try_from(between).unwrap_or(i64::MAX);
        Some(if alarm < third { -between } else { between })
    }
}
