//! Labelled scenarios, and a detector's results on them; shared by the tests that keep score.

use crate::raw_scenario::{RawScenario, raw_scenarios};
use loopwarden::json;
use loopwarden::model::{Event, Level};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A scenario with its events parsed.
#[derive(Clone, Debug)]
pub(crate) struct Labelled {
    pub(crate) raw: RawScenario,
    /// File name without its extension.
    pub(crate) file: String,
    pub(crate) is_loop: bool,
    /// The readable events in order, and whether each is only checked.
    pub(crate) events: Vec<(Event, bool)>,
}

pub(crate) fn corpus_dir() -> PathBuf {
    PathBuf::from("tests/corpus")
}

/// The labelled scenarios of one file. Events that must be rejected are left out: they have no verdict.
pub(crate) fn labelled_file(path: &Path) -> Vec<Labelled> {
    let text = fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let file = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let all = raw_scenarios(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let read = |raw: RawScenario| {
        let event = |event: &crate::raw_scenario::RawEvent| Some((json::event(&event.text).ok()?, event.pending));
        let events = raw.events.iter().filter_map(event).collect();
        Some(Labelled { file: file.clone(), is_loop: raw.expect_loop?, events, raw })
    };
    all.into_iter().filter_map(read).collect()
}

/// Every labelled scenario of the project's corpus, in order of file names and lines.
pub(crate) fn labelled_corpus() -> Vec<Labelled> {
    let entries = fs::read_dir(corpus_dir()).expect("the corpus is a directory");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files.iter().flat_map(|path| labelled_file(path)).collect()
}

/// The event at which each level was first reached, and the rule that led there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) nudge: Option<(usize, String)>,
    pub(crate) block: Option<(usize, String)>,
    /// Every rule with a finding, at any level.
    pub(crate) rules: BTreeSet<String>,
}

/// Runs a scenario with a configuration.
pub(crate) fn reached(events: &[(Event, bool)], config: &str) -> Reached {
    let mut detector = json::detector(config).unwrap_or_else(|error| panic!("{config}: {error}"));
    let mut reached = Reached::default();
    for (index, (event, pending)) in events.iter().enumerate() {
        let answer = if *pending { detector.check(event) } else { detector.record(event) };
        let Ok(verdict) = answer else { continue };
        reached.rules.extend(verdict.findings.iter().map(|finding| finding.rule.to_string()));
        let rule = || verdict.findings.first().map(|finding| finding.rule.to_string()).unwrap_or_default();
        if verdict.level >= Level::Nudge && reached.nudge.is_none() {
            reached.nudge = Some((index, rule()));
        }
        if verdict.level >= Level::Block && reached.block.is_none() {
            reached.block = Some((index, rule()));
        }
    }
    reached
}
