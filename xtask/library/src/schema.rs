//! Files generated from the core: the published JSON Schemas, and the tables of rules, formats and settings in documents
//! and TypeScript.

use anyhow::{Context, Result, bail};
use loopwarden::transcript::Format;
use loopwarden::{model, rules};
use schemars::Schema;
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes every file that differs from the model.
pub(crate) fn write(root: &Path) -> Result<()> {
    fs::create_dir_all(root.join(FOLDER)).context("cannot create the schema folder")?;
    for (path, text) in drifted(root)? {
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// Fails if a committed file differs from what the model generates.
pub(crate) fn check(root: &Path) -> Result<()> {
    let drifted = drifted(root)?;
    if drifted.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = drifted.iter().map(|(path, _)| path.display().to_string()).collect();
    bail!("{} differ from the model; run `cargo xtask schema` and commit the result", names.join(", "))
}

/// The folder of the schemas, in the npm package that ships them.
const FOLDER: &str = "js/schema";

/// Path and text of every schema whose file is missing or different.
fn drifted(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut drifted = Vec::new();
    let schemas = all()?;
    let names = names_module(&schemas)?;
    let schemas = schemas.into_iter().map(|(name, text)| (root.join(FOLDER).join(format!("{name}.schema.json")), text));
    let generated = |name: &str| root.join("js/src/generated").join(name);
    let page = root.join("docs/rules.md");
    let page = (page.clone(), rules_page(&fs::read_to_string(&page).unwrap_or_default())?);
    for (path, text) in schemas.chain([(generated("rules.ts"), rules_module()?), (generated("names.ts"), names), page])
    {
        // git may have checked the file out with other line endings.
        let present = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        if present != text {
            drifted.push((path, text));
        }
    }
    Ok(drifted)
}

/// The table of rules for TypeScript.
fn rules_module() -> Result<String> {
    let rows: Result<Vec<String>> =
        rules().iter().map(|rule| Ok(format!("  {},\n", serde_json::to_string(rule)?))).collect();
    Ok(format!(
        "// Generated from the core by `cargo xtask schema`: change the rules, not this file.\n\n\
         import type {{ RuleId }} from \"./types.ts\";\n\n\
         /** What a rule sees and what its thresholds count; balanced thresholds, 0 for never. */\n\
         export interface RuleInfo {{\n  id: RuleId;\n  about: string;\n  unit: string;\n  nudge: number;\n  \
         block: number;\n  gate: number;\n  halt: number;\n  /** How far it looks back, in its own unit; 0 where it has \
         no window. */\n  window: number;\n  /** The most evidence that adds up within it. */\n  most: number;\n}}\n\n\
         /** Every rule, in the order of checks. */\nexport const RULES: readonly RuleInfo[] = [\n{}];\n",
        rows?.concat()
    ))
}

/// The names that TypeScript needs: formats, and the fields of a configuration.
fn names_module(schemas: &[(&str, String)]) -> Result<String> {
    let config = schemas.iter().find(|(name, _)| *name == "config").map_or("", |(_, text)| text);
    let config: Value = serde_json::from_str(config).context("the configuration has no schema")?;
    let fields = config.get("properties").and_then(Value::as_object).context("a configuration has no fields")?;
    let list = |names: &mut dyn Iterator<Item = &str>| names.map(|name| format!("  \"{name}\",\n")).collect::<String>();
    let formats = list(&mut Format::ALL.iter().map(|format| format.name()));
    let fields = list(&mut fields.keys().map(String::as_str).filter(|name| !name.starts_with('$')));
    Ok(format!(
        "// Generated from the core by `cargo xtask schema`: change the core, not this file.\n\n\
         /** The formats that recorded runs are read in. */\nexport const FORMATS = [\n{formats}] as const;\n\n\
         /** The fields of a configuration. */\nexport const SETTINGS: readonly string[] = [\n{fields}];\n"
    ))
}

/// Where the table of rules begins and ends in its page.
const TABLE: [&str; 2] = ["<!-- rules: made from the core by `cargo xtask schema` -->\n", "<!-- /rules -->"];

/// The page about the rules with its table regenerated and everything else unchanged.
fn rules_page(page: &str) -> Result<String> {
    let [begin, end] = TABLE;
    let (before, rest) = page.split_once(begin).context("docs/rules.md has no place for the table of rules")?;
    let (_, after) = rest.split_once(end).context("the table of docs/rules.md has no end")?;
    let rung = |threshold: u32| if threshold == 0 { "–".to_owned() } else { threshold.to_string() };
    let rows = rules().into_iter().map(|rule| {
        let [nudge, block, gate, halt] = [rule.nudge, rule.block, rule.gate, rule.halt].map(rung);
        format!("| `{}` | {} | {} | {nudge} | {block} | {gate} | {halt} |\n", rule.id, rule.about, rule.unit)
    });
    let head = "| Rule | Sees | Counts | nudge | block | gate | halt |\n| --- | --- | --- | --- | --- | --- | --- |\n";
    Ok(format!("{before}{begin}\n{head}{}\n{end}{after}", rows.collect::<String>()))
}

/// Name and text of every schema.
fn all() -> Result<Vec<(&'static str, String)>> {
    let (repository, version) = (env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION"));
    let text = |(name, mut schema): (&'static str, Schema)| {
        let object = schema.ensure_object();
        // The address of the schema of this version once it is tagged.
        object.insert("$id".into(), format!("{repository}/raw/v{version}/js/schema/{name}.schema.json").into());
        plain_descriptions(object);
        Ok((name, serde_json::to_string_pretty(&schema)? + "\n"))
    };
    model::schemas().into_iter().map(text).collect()
}

/// Descriptions are written for Rust's documentation: only the first paragraph is kept, without links.
fn plain_descriptions(schema: &mut Map<String, Value>) {
    for value in schema.values_mut() {
        match value {
            Value::Object(inner) => plain_descriptions(inner),
            Value::Array(items) => items.iter_mut().filter_map(Value::as_object_mut).for_each(plain_descriptions),
            _ => {}
        }
    }
    if let Some(Value::String(description)) = schema.get_mut("description") {
        let first = description.split("\n\n").next().unwrap_or_default();
        *description = first.replace('\n', " ").replace("[`", "`").replace("`]", "`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
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
        let context = &schemas["event"]["$defs"]["Context"]["properties"];
        assert!(context["agent"]["description"].is_string() && context["type"].is_null() && context["tool"].is_null());
        assert_eq!(schemas["event"]["oneOf"][0]["properties"]["agent"]["$ref"], "#/$defs/Context/properties/agent");
        assert_eq!(schemas["event"]["oneOf"][0]["title"], "ToolCallEvent");
        assert!(schemas["event"]["oneOf"][0]["properties"]["pending"].is_null());
    }

    #[test]
    fn a_scenario_repeats_nothing_and_every_reference_leads_somewhere() {
        let schemas = schemas();
        let defs = schemas["scenario"]["$defs"].as_object().unwrap();
        assert_eq!(defs.keys().collect::<Vec<_>>(), ["Checkpoint", "Expectation", "TraceEvent"]);
        let mut links = Vec::new();
        fn collect(value: &Value, links: &mut Vec<String>) {
            match value {
                Value::Array(items) => items.iter().for_each(|item| collect(item, links)),
                Value::Object(fields) => {
                    links.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    fields.values().for_each(|field| collect(field, links));
                }
                _ => {}
            }
        }
        for (name, schema) in &schemas {
            links.clear();
            collect(schema, &mut links);
            for link in &links {
                let (document, pointer) = link.split_once('#').unwrap_or((link, ""));
                let document = document.strip_suffix(".schema.json").unwrap_or(name);
                assert!(schemas[document].pointer(pointer).is_some(), "{name}: {link}");
            }
        }
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
    fn every_schema_has_a_name_and_an_address() {
        for (name, schema) in schemas() {
            assert!(schema["title"].is_string(), "{name}");
            assert!(schema["$id"].as_str().unwrap().ends_with(&format!("/{name}.schema.json")));
            assert!(!schema.to_string().contains("[`"), "{name} links to Rust's documentation");
        }
    }

    #[test]
    fn what_has_a_default_is_not_required() {
        let schemas = schemas();
        assert!(schemas["config"]["required"].is_null());
        assert_eq!(schemas["scenario"]["required"], json!(["id", "events"]));
    }
}
