//! The published JSON Schemas, generated from the model. Build-time only (feature `schema`).

use super::{
    Config, Decision, Error, Event, Graph, Metrics, Record, Report, ResetReason, Scenario, Scope, Status, Verdict,
};
use crate::rules::{ABOUT, Description, RULES};
use alloc::{format, string::String, string::ToString, vec::Vec};
use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Value, json};

/// Every published schema with its name, in the order used by the documentation.
///
/// Inputs (`event`, `config`, `scenario`, `scope`, `decision`, `graph`, `reset-reason`) are described as they may be
/// written: an optional field may be absent or `null`. Outputs (`verdict`, `status`, `metrics`, `report`, `record`,
/// `error`) are described as they are written: an optional field is absent, never `null`.
#[must_use]
pub fn schemas() -> Vec<(&'static str, Schema)> {
    let (event, config) = (read::<Event>(), with_rules(read::<Config>()));
    let scenario = referring(read::<Scenario>(), &event, &config);
    [
        ("event", sharing(event)),
        ("verdict", written::<Verdict>()),
        ("config", config),
        ("scenario", scenario),
        ("scope", read::<Scope>()),
        ("decision", read::<Decision>()),
        ("graph", read::<Graph>()),
        ("reset-reason", read::<ResetReason>()),
        ("status", written::<Status>()),
        ("metrics", written::<Metrics>()),
        ("report", written::<Report>()),
        ("record", written::<Record>()),
        ("error", written::<Error>()),
    ]
    .into()
}

fn read<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}

/// Name of the definition that holds the fields common to all events.
const CONTEXT: &str = "Context";

/// Moves the fields common to all events into one definition that each event type refers to. Every type remains closed.
fn sharing(mut schema: Schema) -> Schema {
    let whole = schema.ensure_object();
    let mut common = serde_json::Map::new();
    if let Some(Value::Array(kinds)) = whole.get_mut("oneOf") {
        let first = kinds.first().and_then(|kind| kind.get("properties")).and_then(Value::as_object).cloned();
        let everywhere = |name: &str, field: &Value| {
            name != "type" && kinds.iter().all(|kind| kind.pointer(&format!("/properties/{name}")) == Some(field))
        };
        common.extend(first.into_iter().flatten().filter(|(name, field)| everywhere(name, field)));
        for kind in kinds.iter_mut().filter_map(|kind| kind.get_mut("properties")).filter_map(Value::as_object_mut) {
            for (name, field) in kind.iter_mut().filter(|(name, _)| common.contains_key(*name)) {
                *field = json!({ "$ref": format!("#/$defs/{CONTEXT}/properties/{name}") });
            }
        }
    }
    let context = json!({
        "description": "What every event may say: when and where it happened, and what it cost.",
        "type": "object",
        "properties": common,
    });
    if let Value::Object(defs) = whole.entry("$defs").or_insert_with(|| json!({})) {
        defs.insert(CONTEXT.to_string(), context);
    }
    schema
}

/// Makes a scenario refer to the schemas of events and configurations instead of repeating them. A trace line may be
/// `pending`, which an event may not, and the event types are closed, so it refers to their fields one by one.
fn referring(mut schema: Schema, event: &Schema, config: &Schema) -> Schema {
    let own = |schema: &Schema| schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    let (of_event, of_config) = (own(event), own(config));
    let whole = schema.ensure_object();
    if let Some(Value::Object(defs)) = whole.get_mut("$defs") {
        defs.retain(|name, _| name != "Config" && !of_event.contains_key(name) && !of_config.contains_key(name));
        let kinds = defs.get_mut("TraceEvent").and_then(|lines| lines.get_mut("oneOf")).and_then(Value::as_array_mut);
        let whose = event.get("oneOf").and_then(Value::as_array);
        for (at, (line, event)) in kinds.into_iter().flatten().zip(whose.into_iter().flatten()).enumerate() {
            let Some(fields) = line.get_mut("properties").and_then(Value::as_object_mut) else { continue };
            for (name, field) in fields.iter_mut().filter(|(name, _)| *name != "type") {
                if event.pointer(&format!("/properties/{name}")) == Some(&*field) {
                    *field = json!({ "$ref": format!("event.schema.json#/oneOf/{at}/properties/{name}") });
                }
            }
        }
    }
    let elsewhere = |name: &str| match name {
        "Config" => Some("config.schema.json".to_string()),
        name if of_event.contains_key(name) => Some(format!("event.schema.json#/$defs/{name}")),
        name if of_config.contains_key(name) => Some(format!("config.schema.json#/$defs/{name}")),
        _ => None,
    };
    whole.values_mut().for_each(|value| redirect(value, &elsewhere));
    schema
}

/// Redirects each reference to the schema that has its definition.
fn redirect(value: &mut Value, elsewhere: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, elsewhere)),
        Value::Object(fields) => {
            for (name, field) in fields {
                let there = field.as_str().filter(|_| name == "$ref").and_then(|link| link.strip_prefix("#/$defs/"));
                match there.and_then(elsewhere) {
                    Some(there) => *field = Value::String(there),
                    None => redirect(field, elsewhere),
                }
            }
        }
        _ => {}
    }
}

/// Lists the rules in the schema of the configuration, so that editors complete their names and mark unknown ones.
fn with_rules(mut schema: Schema) -> Schema {
    let whole = schema.ensure_object();
    if let Some(Value::Object(properties)) = whole.get_mut("properties") {
        let link =
            json!({ "type": "string", "description": "Where an editor finds this schema; nothing else reads it." });
        properties.insert("$schema".to_string(), link);
        properties.entry("rules").and_modify(|rules| by_rule(rules, |_| true));
    }
    if let Some(rules) = whole.get_mut("$defs").and_then(|defs| defs.pointer_mut("/ToolConfig/properties/rules")) {
        by_rule(rules, |rule| rule.per_tool());
    }
    schema
}

/// Lists the rule ids as the only keys of a map.
fn by_rule(map: &mut Value, has: impl Fn(&Description) -> bool) {
    let Some(map) = map.as_object_mut() else { return };
    let Some(settings) = map.insert("additionalProperties".to_string(), json!(false)) else { return };
    let rules = RULES.iter().zip(ABOUT).filter(|(rule, _)| has(rule)).map(|(rule, about)| {
        let mut settings = settings.clone();
        if let Some(settings) = settings.as_object_mut() {
            settings.insert("description".to_string(), json!(about));
        }
        (rule.id.to_string(), settings)
    });
    let rules: serde_json::Map<_, _> = rules.collect();
    map.insert("properties".to_string(), Value::Object(rules));
}

fn written<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(never_null);
    settings.into_generator().into_root_schema_for::<T>()
}

/// Expands a flattened tagged union: every branch gets the common fields and a title, and rejects all others. Closing
/// each branch avoids `unevaluatedProperties`, which few validators and generators support.
pub(super) fn flat_union(schema: &mut Schema) {
    let Some(common) = schema.remove("properties") else { return };
    let required = schema.remove("required");
    schema.remove("unevaluatedProperties");
    schema.remove("additionalProperties");
    schema.remove("type");
    let Some(Value::Array(branches)) = schema.get_mut("oneOf") else { return };
    for branch in branches.iter_mut().filter_map(Value::as_object_mut) {
        let tag = branch.get("properties").and_then(|it| it.pointer("/type/const")).and_then(Value::as_str);
        if let Some(name) = tag.map(type_name) {
            branch.insert("title".to_string(), Value::String(name));
        }
        if let (Some(Value::Object(own)), Value::Object(common)) = (branch.get_mut("properties"), &common) {
            own.extend(common.clone());
        }
        if let (Some(Value::Array(own)), Some(Value::Array(more))) = (branch.get_mut("required"), &required) {
            own.extend(more.iter().cloned());
        }
        branch.insert("additionalProperties".to_string(), json!(false));
    }
}

/// `tool-call` becomes `ToolCallEvent`.
fn type_name(tag: &str) -> String {
    let words = tag.split('-').map(|word| {
        let (head, tail) = word.split_at_checked(1).unwrap_or((word, ""));
        format!("{}{tail}", head.to_uppercase())
    });
    format!("{}Event", words.collect::<String>())
}

/// Removes `null` from all optional properties.
fn never_null(schema: &mut Schema) {
    transform_subschemas(&mut never_null as &mut dyn Transform, schema);
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for property in properties.values_mut().filter_map(Value::as_object_mut) {
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|it| it != "null");
            if let [single] = types.as_slice() {
                let single = single.clone();
                property.insert("type".to_string(), single);
            }
        }
        if let Some(Value::Array(options)) = property.get_mut("anyOf") {
            options.retain(|it| it.get("type").is_none_or(|it| it != "null"));
            if let [Value::Object(single)] = options.as_slice() {
                let single = single.clone();
                property.remove("anyOf");
                property.extend(single);
            }
        }
    }
}
