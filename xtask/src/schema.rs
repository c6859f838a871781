//! The published JSON Schemas, generated from the model.

use crate::counts::Counts;
use crate::plan::Line;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use loopwarden::model;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::PathBuf;

/// Writes every schema that differs from the model; with `--check` only says which do.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    match args {
        [] => {
            fs::create_dir_all(folder(workspace)).context("cannot create the schema folder")?;
            for (path, text) in drifted(workspace)? {
                fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
                println!("wrote {}", path.display());
            }
            Ok(0)
        }
        [flag] if flag == "--check" => check(workspace, &mut Line::begin("comparing the schemas".into())).map(|_| 0),
        _ => bail!("usage: cargo xtask schema [--check]"),
    }
}

/// Fails when a committed schema is not the one the model gives.
pub(crate) fn check(workspace: &Workspace, _line: &mut Line) -> Result<Counts> {
    let drifted = drifted(workspace)?;
    if drifted.is_empty() {
        return Ok(Counts::default());
    }
    let names: Vec<_> = drifted.iter().map(|(path, _)| path.display().to_string()).collect();
    bail!("{} differ from the model; run `cargo xtask schema` and commit the result", names.join(", "))
}

/// The folder of the schemas, inside the npm package that ships them.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.js().join("schema")
}

/// Path and text of every schema whose file is missing or different.
fn drifted(workspace: &Workspace) -> Result<Vec<(PathBuf, String)>> {
    let mut drifted = Vec::new();
    for (name, text) in all()? {
        let path = folder(workspace).join(format!("{name}.schema.json"));
        // git may have checked the file out with other line ends.
        let present = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        if present != text {
            drifted.push((path, text));
        }
    }
    Ok(drifted)
}

/// Name and text of every schema.
fn all() -> Result<Vec<(&'static str, String)>> {
    Ok(vec![
        ("event", read::<model::Event>("event", "Event")?),
        ("config", read::<model::Config>("config", "Config")?),
        ("scenario", read::<model::Scenario>("scenario", "Scenario")?),
        ("scope", read::<model::Scope>("scope", "Scope")?),
        ("decision", read::<model::Decision>("decision", "Decision")?),
        ("reset-reason", read::<model::ResetReason>("reset-reason", "ResetReason")?),
        ("verdict", written::<model::Verdict>("verdict", "Verdict")?),
        ("status", written::<model::Status>("status", "Status")?),
        ("metrics", written::<model::Metrics>("metrics", "Metrics")?),
        ("report", written::<model::Report>("report", "Report")?),
        // `Error` would hide the global of that name in TypeScript.
        ("error", written::<model::Error>("error", "ErrorRecord")?),
    ])
}

/// The schema of something this library reads: what has a default may be absent.
fn read<T: JsonSchema>(name: &str, title: &str) -> Result<String> {
    let mut schema = SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>();
    flat_events(schema.ensure_object());
    if name == "scenario" {
        // Scenarios are read by hand; the model tells only what is written.
        schema.insert("required".to_owned(), json!(["id", "events"]));
    }
    text(schema, name, title)
}

/// The schema of something this library writes: what is always written is required, and nothing is ever `null`.
fn written<T: JsonSchema>(name: &str, title: &str) -> Result<String> {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    without_null(schema.ensure_object());
    text(schema, name, title)
}

fn text(mut schema: Schema, name: &str, title: &str) -> Result<String> {
    let object = schema.ensure_object();
    // Where the schema of this version can be read once it is tagged.
    let (repository, version) = (env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION"));
    object.insert("$id".into(), format!("{repository}/raw/v{version}/js/schema/{name}.schema.json").into());
    object.insert("title".into(), title.into());
    plain_descriptions(object);
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// Applies a function to every schema inside a schema, the innermost first.
fn visit(schema: &mut Map<String, Value>, change: fn(&mut Map<String, Value>)) {
    for value in schema.values_mut() {
        match value {
            Value::Object(inner) => change(inner),
            Value::Array(items) => items.iter_mut().filter_map(Value::as_object_mut).for_each(change),
            _ => {}
        }
    }
}

/// Writes the context's fields into every kind of event: only then can a schema say that there are no others.
fn flat_events(schema: &mut Map<String, Value>) {
    visit(schema, flat_events);
    let Some(Value::Object(common)) = schema.get("properties").cloned() else { return };
    let Some(Value::Array(kinds)) = schema.get_mut("oneOf") else { return };
    for kind in kinds.iter_mut().filter_map(Value::as_object_mut) {
        let Some(Value::Object(own)) = kind.get_mut("properties") else { continue };
        let name = own.get("type").and_then(|tag| tag.get("const")).and_then(Value::as_str).unwrap_or_default();
        let title: String = name.split('-').map(capitalised).chain(["Event".to_owned()]).collect();
        own.append(&mut common.clone());
        kind.insert("title".into(), title.into());
        kind.insert("additionalProperties".into(), false.into());
    }
    for key in ["properties", "required", "type"] {
        schema.remove(key);
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// What is absent is left out, never written as `null`.
fn without_null(schema: &mut Map<String, Value>) {
    visit(schema, without_null);
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| *choice != json!({ "type": "null" }));
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let mut only = std::mem::take(only);
            schema.remove("anyOf");
            schema.append(&mut only);
        }
    }
}

/// Descriptions are written for Rust's documentation: the first paragraph is for everybody, links are not.
fn plain_descriptions(schema: &mut Map<String, Value>) {
    visit(schema, plain_descriptions);
    if let Some(Value::String(description)) = schema.get_mut("description") {
        let first = description.split("\n\n").next().unwrap_or_default();
        *description = first.replace('\n', " ").replace("[`", "`").replace("`]", "`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn schemas() -> BTreeMap<&'static str, Value> {
        all().unwrap().into_iter().map(|(name, text)| (name, serde_json::from_str(&text).unwrap())).collect()
    }

    #[test]
    fn every_event_has_the_common_fields_and_no_others() {
        let schemas = schemas();
        for kinds in [&schemas["event"]["oneOf"], &schemas["scenario"]["$defs"]["TraceEvent"]["oneOf"]] {
            let kinds = kinds.as_array().unwrap();
            assert_eq!(kinds.len(), 15);
            for kind in kinds {
                assert_eq!(kind["additionalProperties"], false, "{kind}");
                for field in
                    ["type", "at", "run", "task", "parentTask", "agent", "round", "step", "synthetic", "labels"]
                {
                    assert!(kind["properties"][field].is_object(), "{field} is missing from {kind}");
                }
                assert!(!kind["required"].as_array().unwrap().contains(&"pending".into()));
            }
        }
        assert_eq!(schemas["event"]["oneOf"][0]["title"], "ToolCallEvent");
        assert!(schemas["event"]["oneOf"][0]["properties"]["pending"].is_null());
    }

    #[test]
    fn what_is_written_is_never_null() {
        let schemas = schemas();
        for name in ["verdict", "status", "metrics", "report", "error"] {
            assert!(!schemas[name].to_string().contains("null"), "{name}");
        }
        let level = &schemas["verdict"]["properties"]["wouldBe"];
        assert_eq!(level["$ref"], "#/$defs/Level");
        assert!(level["description"].is_string());
    }

    #[test]
    fn what_has_a_default_is_not_required() {
        let schemas = schemas();
        assert!(schemas["config"]["required"].is_null());
        assert_eq!(schemas["scenario"]["required"], json!(["id", "events"]));
    }
}
