//! Functions for tools that explain verdicts. They are pure and not part of judging.

use crate::model::{Error, RuleInfo};
use crate::rules::{Settings, in_force as rules_in_force};
use crate::text::{ComparedText, seen};
use alloc::{string::String, vec::Vec};
use serde::Serialize;
use serde_json::{Map, Value};

/// Normalises a tool's output as it is for comparison. Returns JSON text `{"light", "shape", "heavy"}`:
///
/// - `light` decides whether outcomes are equal. Whatever changes by itself (clocks, durations, ids) is masked, and so
///   are matches of the user's `patterns.volatile`; JSON is normalised value by value.
/// - `shape` decides whether long outputs are nearly equal. Digits are masked, too. `null` for short outputs and for
///   those that report how far something has got.
/// - `heavy` is the basis of an error's class, before the parts that repeat the call's arguments are removed: digits,
///   quotes, paths and case are masked, and only the first and last 800 bytes count.
///
/// `config` is a configuration document; blank text means the recommended configuration.
///
/// # Errors
/// The same as [`detector`](super::detector).
pub fn normalise(text: &str, config: &str) -> Result<String, Error> {
    #[derive(Serialize)]
    struct Normalised {
        light: String,
        shape: Option<String>,
        heavy: String,
    }
    let settings = Settings::new(super::config(config)?)?;
    let ComparedText { light, shape, heavy } = seen(text, &settings.volatile);
    Ok(super::to_string(&Normalised { light, shape, heavy }))
}

/// The effective settings of a tool or, without one, of events that concern no tool, as JSON text: `enabled`,
/// `polling`, `ignoreArgs`, `identityArgs`; `rules`, every enabled rule with its thresholds before they are tripled for
/// a polling tool; `config`, the configuration with `extends` resolved and without fields that have their default.
///
/// # Errors
/// The same as [`detector`](super::detector).
pub fn in_force(config: &str, tool: Option<&str>) -> Result<String, Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct InForce {
        enabled: bool,
        polling: bool,
        ignore_args: Vec<String>,
        identity_args: Vec<String>,
        rules: Vec<RuleInfo>,
        config: Value,
    }
    let settings = Settings::new(super::config(config)?)?;
    let mut shown = settings.config.clone();
    // Secrets are not shown.
    shown.privacy.salt = shown.privacy.salt.map(|_| "…".into());
    let config = super::config_text(&shown);
    // INVARIANT: it was just written, so it can be read.
    let config = if config.is_empty() { Value::Object(Map::new()) } else { super::value(&config)? };
    let tool = tool.map(|name| settings.tool(name)).unwrap_or_default();
    Ok(super::to_string(&InForce {
        enabled: tool.enabled,
        polling: tool.polling,
        rules: rules_in_force(tool.limits(&settings)),
        ignore_args: tool.ignore_args.clone(),
        identity_args: tool.identity_args.clone(),
        config,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::from_str;

    #[test]
    fn what_is_compared_of_a_text() {
        let config = r#"{"patterns":{"volatile":["build-[a-z]+"]}}"#;
        let seen = |text: &str| from_str::<Value>(&normalise(text, config).unwrap()).unwrap();
        let (first, second) = (seen("made build-abc at 12:01:01"), seen("made build-xyz at 12:01:09"));
        assert_eq!(first, second);
        assert!(first["light"].as_str().unwrap().starts_with("made "), "{first}");
        let (first, second) = (seen("cannot open 'a.txt'"), seen("cannot open 'b.txt'"));
        assert_ne!(first["light"], second["light"]);
        assert_eq!(first["heavy"], second["heavy"]);
        assert_eq!(normalise("x", r#"{"preset":"none"}"#).unwrap_err().field.as_deref(), Some("preset"));
    }

    #[test]
    fn what_holds_is_told_with_all_that_it_extends() {
        let force: Value = from_str(&in_force(r#"{"extends":"roo-code","attended":true}"#, None).unwrap()).unwrap();
        let rules: Vec<&str> =
            force["rules"].as_array().unwrap().iter().filter_map(|rule| rule["id"].as_str()).collect();
        assert_eq!(rules, ["counter"]);
        let config = serde_json::json!({"conventions":{"onlyNamed":true,"counters":{"same-call":{"of":"calls","anew":true,"block":4}}}});
        assert_eq!(force["config"], config);
        assert_eq!(from_str::<Value>(&in_force("", None).unwrap()).unwrap()["config"], serde_json::json!({}));
    }

    #[test]
    fn what_holds_for_a_tool() {
        let config = r#"{"rules":{"cycle":{"enabled":false}},"tools":{"job_*":{"polling":true,"ignoreArgs":["id"],
            "rules":{"repeated-call":{"nudge":7}}}}}"#;
        let nudge = |text: &str| {
            let value: Value = from_str(text).unwrap();
            assert!(value["rules"].as_array().unwrap().iter().all(|rule| rule["id"] != "cycle"));
            let rules = value["rules"].as_array().unwrap().clone();
            let rule = rules.into_iter().find(|rule| rule["id"] == "repeated-call").unwrap();
            (rule["nudge"].clone(), value["polling"].clone(), value["ignoreArgs"].clone())
        };
        let of = |tool: Option<&str>| nudge(&in_force(config, tool).unwrap());
        assert_eq!(of(Some("job_status")), (7.into(), true.into(), Value::from(["id"].as_slice())));
        assert_eq!(of(Some("bash")), of(None));
        assert_eq!(of(None), (6.into(), false.into(), Value::Array(Vec::new())));
    }
}
