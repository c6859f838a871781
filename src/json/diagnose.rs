//! What tools that explain a verdict ask beyond the operations: pure functions, no part of judging.

use crate::model::{Error, RuleInfo};
use crate::rules::{Settings, in_force as rules_in_force};
use crate::text::{Seen, seen};
use alloc::{string::String, vec::Vec};
use serde::Serialize;
use serde_json::{Map, Value};

/// What is compared of a tool's output: `{"light", "shape", "heavy"}` as JSON text.
///
/// - `light`: outcomes are equal when it is: what changes by itself (clocks, durations, ids) is masked, with the user's
///   `patterns.volatile`; JSON is reduced value by value;
/// - `shape`: long outputs are nearly equal when it is: digits are masked as well. `null` for short outputs, and for
///   those that tell how far something is;
/// - `heavy`: what the class of an error is made of, before what the error repeats of the call's arguments is taken
///   out: digits, quotes, paths and case are masked, and only the first and last 800 bytes count.
///
/// `config` is a configuration document; blank text means the recommended one.
///
/// # Errors
/// As [`detector`](super::detector).
pub fn normalise(text: &str, config: &str) -> Result<String, Error> {
    #[derive(Serialize)]
    struct Normalised {
        light: String,
        shape: Option<String>,
        heavy: String,
    }
    let settings = Settings::new(super::config(config)?)?;
    let Seen { light, shape, heavy } = seen(text, &settings.volatile);
    Ok(super::to_string(&Normalised { light, shape, heavy }))
}

/// The settings in force for a tool, or, without one, for events that are about no tool, as JSON text: `enabled`,
/// `polling`, `ignoreArgs`, `identityArgs`, and as `rules` every enabled rule with its thresholds, before a polling
/// tool trebles them; as `config` the configuration without what is as by default, and with all that it extends.
///
/// # Errors
/// As [`detector`](super::detector).
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
    // A secret is not shown.
    shown.privacy.salt = shown.privacy.salt.map(|_| "…".into());
    let config = super::config_text(&shown);
    // INVARIANT: it was just written.
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
