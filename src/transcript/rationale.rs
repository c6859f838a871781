//! Arguments that only say why a call is made and that no tool uses: some hosts ask the model for one with every call.
//! Its wording differs each time, so equal calls would look different.
//!
//! Well-known names are excluded from comparison anyway (`text::canonical`). Others are recognised by their role: a key
//! that every call of the run has, with prose as its value, beside arguments that say what is acted on.

use super::Transcript;
use crate::model::Body;
use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};
use serde_json::{Map, Value};

/// Calls of a run from which a key common to all is no coincidence.
const CALLS: usize = 4;
/// Words that make a text prose.
const WORDS: usize = 3;

/// Words in a key that name what tools act on, even if the value is prose and every call has the key.
const ACTED_ON: &str = "address answer args arguments body cmd code command comment content contents context data \
    diff directory email file filename goal id input instruction instructions key keywords line lines message name \
    new note notes objective old output patch path pattern prompt q query question regex replacement request response \
    result script search selector source sql statement subject task term text title topic url value";

/// A call's tool and arguments.
type Given<'a> = (&'a str, &'a Map<String, Value>);

/// The keys found, by run.
pub(super) type Found = BTreeMap<Option<String>, Vec<String>>;

/// Removes such arguments from the calls of every run; keys found in earlier windows still apply.
pub(super) fn leave_out(transcript: &mut Transcript, found: &mut Found) {
    let mut runs: BTreeMap<Option<String>, Vec<Given<'_>>> = BTreeMap::new();
    for traced in &transcript.events {
        if let Body::ToolCall(call) = &traced.event.body
            && let Some(Value::Object(args)) = &call.args
        {
            runs.entry(traced.event.context.run.clone()).or_default().push((&call.tool, args));
        }
    }
    for (run, calls) in runs {
        let keys = rationales(&calls);
        if !keys.is_empty() {
            let known = found.entry(run).or_default();
            known.extend(keys);
            known.dedup();
        }
    }
    if found.is_empty() {
        return;
    }
    for traced in &mut transcript.events {
        if let Body::ToolCall(call) = &mut traced.event.body
            && let Some(Value::Object(args)) = &mut call.args
            && let Some(keys) = found.get(&traced.event.context.run)
        {
            args.retain(|key, _| !keys.contains(key));
        }
    }
}

/// The keys of a run's calls that only say why.
fn rationales(calls: &[Given<'_>]) -> Vec<String> {
    let Some((_, first)) = calls.first().filter(|_| calls.len() >= CALLS) else { return Vec::new() };
    let tools: BTreeSet<&str> = calls.iter().map(|(tool, _)| *tool).collect();
    let is = |key: &&String| {
        !acted_on(key)
            && calls.iter().all(|(_, args)| args.get(*key).is_some_and(Value::is_string))
            && calls.iter().filter(|(_, args)| args.get(*key).and_then(Value::as_str).is_some_and(is_prose)).count() * 4
                >= calls.len() * 3
            // Within one tool every call has every argument, so another argument must clearly be what is acted on.
            && if tools.len() > 1 {
                calls.iter().filter(|(_, args)| args.len() > 1).count() * 2 > calls.len()
            } else {
                calls.iter().all(|(_, args)| args.keys().any(|key| acted_on(key)))
            }
    };
    first.keys().filter(is).cloned().collect()
}

/// Whether a tool may act on an argument of this name.
fn acted_on(key: &str) -> bool {
    let mut lower = String::with_capacity(key.len());
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            lower.push('_');
        }
        lower.push(character.to_ascii_lowercase());
    }
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| ACTED_ON.split(' ').any(|known| known == word))
}

/// Whether a text is words of a sentence rather than a path, a pattern or a number; scripts without spaces are judged
/// by length.
fn is_prose(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic));
    let wide = text.chars().filter(|c| u32::from(*c) >= 0x2e80).count();
    !text.contains('\n') && (words.count() >= WORDS || wide >= 2 * WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn keys(calls: &[(&str, Value)]) -> Vec<String> {
        let calls: Vec<_> = calls.iter().map(|(tool, args)| (*tool, args.as_object().unwrap())).collect();
        rationales(&calls)
    }

    #[test]
    fn by_role() {
        let why = ["Look at the tests first", "See what is there", "Run them all again", "Try it once more"];
        let with = |key: &str, tools: [&'static str; 4], arg: &str| {
            keys(&[0, 1, 2, 3].map(|n| (tools[n], json!({ arg: "x", key: why[n] }))))
        };
        assert_eq!(with("purpose_of_step", ["read", "bash", "read", "bash"], "where"), ["purpose_of_step"]);
        assert_eq!(with("beweggrund", ["bash", "bash", "bash", "bash"], "command"), ["beweggrund"]);
        // With one tool it is unclear what else is acted on.
        assert!(with("wish", ["ask", "ask", "ask", "ask"], "limit").is_empty());
        // What a tool acts on, however much like prose.
        for key in ["query", "searchQuery", "prompt", "task_description_text", "objective"] {
            assert!(with(key, ["web", "docs", "web", "docs"], "limit").is_empty(), "{key}");
        }
        // Not in every call, and not prose.
        let mut calls = [0, 1, 2, 3].map(|n| (["a", "b"][n % 2], json!({ "where": "x", "intent": why[n] })));
        calls[2].1.as_object_mut().unwrap().remove("intent");
        assert!(keys(&calls).is_empty());
        assert!(keys(&[0, 1, 2, 3].map(|n| (["a", "b"][n % 2], json!({ "where": "x", "mode": "fast" })))).is_empty());
    }
}
