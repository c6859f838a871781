//! The native library's answers to the conformance corpus, with which all other interfaces are compared.

use crate::files::files;
use crate::raw_scenario::{RawScenario, raw_scenarios};
use anyhow::{Context, Result, anyhow, bail, ensure};
use loopwarden::{Detector, json, model::Error};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Answers every scenario of `tests/corpus` natively and writes the answers, one line per scenario.
pub(crate) fn expected(root: &Path, out: &Path) -> Result<()> {
    let mut lines = String::new();
    let mut ids = BTreeSet::new();
    for path in corpus(root)? {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let scenarios = raw_scenarios(&text).map_err(|why| anyhow!("{}: {why}", path.display()))?;
        for scenario in scenarios {
            let place = || format!("{}:{}: scenario `{}`", path.display(), scenario.line, scenario.id);
            ensure!(ids.insert(scenario.id.clone()), "{} is there twice", place());
            let answers = answers(&scenario).map_err(|error| anyhow!("{}: {error}", place()))?;
            writeln!(lines, "{answers}")?;
        }
    }
    if ids.is_empty() {
        bail!("there is no scenario in tests/corpus");
    }
    let folder = out.parent().context("the expected answers have no folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::write(out, lines).with_context(|| format!("cannot write {}", out.display()))
}

/// The scenario files, sorted by name.
pub(crate) fn corpus(root: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = files(&root.join("tests/corpus"))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    Ok(paths)
}

/// The answers to one scenario. Halfway through, the detector is replaced by one restored from its snapshot, which must
/// give the same answers.
fn answers(scenario: &RawScenario) -> Result<Value, Error> {
    let config = scenario.config.as_deref().unwrap_or_default();
    let mut detector = json::detector(config)?;
    let mut snapshot = detector.snapshot();
    let (mut events, mut verdicts) = (Vec::new(), Vec::new());
    for (index, event) in scenario.events.iter().enumerate() {
        if index == scenario.events.len() / 2 {
            snapshot = detector.snapshot();
            detector = Detector::restore(&snapshot)?;
        }
        let verdict =
            if event.pending { json::check(&detector, &event.text) } else { json::record(&mut detector, &event.text) };
        events.push(json!({ "pending": event.pending, "text": event.text }));
        verdicts.push(verdict.unwrap_or_else(|error| format!("{{\"error\":{}}}", json::to_string(&error))));
    }
    Ok(json!({
        "id": scenario.id,
        "config": config,
        "events": events,
        "verdicts": verdicts,
        "status": json::status(&detector, "")?,
        "metrics": json::metrics(&detector),
        "report": json::report(&detector, "", "json")?,
        "markdown": json::report(&detector, "", "markdown")?,
        "snapshot": snapshot.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
    }))
}
