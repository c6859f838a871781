//! The initial inputs for fuzzing.

use crate::conformance;
use crate::files::files;
use crate::raw_scenario::raw_scenarios;
use anyhow::{Context, Result, anyhow};
use loopwarden::{json, model::Body};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

/// Writes the fuzzer's initial inputs: the corpus of scenarios, and a dictionary of the words of the event schema.
pub(crate) fn write(root: &Path, home: &Path, longest: usize, targets: &[&str]) -> Result<()> {
    let seed = |target: &str, bytes: &[u8]| keep(home, target, bytes, longest);
    for target in targets {
        let folder = home.join("corpus").join(target);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for old in files(&root.join("tests/crashers").join(target))? {
            seed(target, &fs::read(old)?)?;
        }
    }
    for path in conformance::corpus(root)? {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for scenario in raw_scenarios(&text).map_err(|why| anyhow!("{}: {why}", path.display()))? {
            let config = scenario.config.as_deref().unwrap_or_default();
            let mut door = config.replace('\n', " ");
            let Ok(mut detector) = json::detector(config) else { continue };
            for event in &scenario.events {
                door.push('\n');
                door.push_str(&event.text);
                // Some scenarios contain invalid events, which have neither state nor text to start from.
                let _ = json::record(&mut detector, &event.text);
                if let Ok(event) = json::event(&event.text)
                    && let Some((kind, text)) = scanned(&event.body)
                {
                    seed("text", &[&[kind, 0], text.as_bytes()].concat())?;
                }
            }
            seed("doors", door.as_bytes())?;
            seed("json_door", door.as_bytes())?;
            seed("wit_door", door.as_bytes())?;
            seed("snapshot", &detector.snapshot())?;
        }
    }
    for path in files(&root.join("tests/transcripts"))? {
        seed("transcript", &fs::read(path)?)?;
    }
    let mut words = BTreeSet::new();
    for (_, schema) in loopwarden::model::schemas() {
        collect(schema.as_value(), &mut words);
    }
    let dictionary: String = words.iter().map(|word| format!("\"\\\"{word}\\\"\"\n")).collect();
    fs::write(home.join("json.dict"), dictionary).context("cannot write the fuzzer's dictionary")
}

/// The text of an event, and the kind under which the text target scans it as the event would.
fn scanned(body: &Body) -> Option<(u8, &str)> {
    match body {
        Body::Output(output) => Some((0, &output.text)),
        Body::Message(message) => Some((1, &message.text)),
        Body::Delta(delta) => Some((2, &delta.text)),
        Body::Failure(failure) => Some((3, &failure.message)),
        Body::ToolResult(result) => Some((5, &result.output)),
        _ => None,
    }
}

/// Writes an input under a name derived from it, unless it is longer than the fuzzer tries.
fn keep(home: &Path, target: &str, bytes: &[u8], longest: usize) -> Result<()> {
    if bytes.len() > longest {
        return Ok(());
    }
    let mut name = DefaultHasher::new();
    name.write(bytes);
    let path = home.join("corpus").join(target).join(format!("{:016x}", name.finish()));
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// All names and words in the schemas.
fn collect(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(word)) = map.get("const") {
                words.insert(word.clone());
            }
            if let Some(Value::Object(properties)) = map.get("properties") {
                words.extend(properties.keys().cloned());
            }
            map.values().for_each(|inner| collect(inner, words));
        }
        Value::Array(items) => items.iter().for_each(|inner| collect(inner, words)),
        _ => {}
    }
}
