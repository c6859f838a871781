//! Requests in natural language: what is asked of a search, of a model or of another agent.

use super::mutation::runs_code;
use super::words::{listed, listed_name, name_words};
use crate::model::ToolCall;

/// Arguments that hold what is asked, in the order of preference.
const ASKED: [&str; 15] = [
    "description",
    "goal",
    "input",
    "instruction",
    "instructions",
    "message",
    "objective",
    "prompt",
    "q",
    "query",
    "question",
    "request",
    "searchquery",
    "task",
    "topic",
];

/// Words of tools that hand work to another agent.
const DELEGATES: [&str; 8] = ["agent", "delegate", "delegation", "dispatch", "handoff", "spawn", "subagent", "subtask"];

/// Bytes of a request that are looked at.
const LONGEST: usize = 4096;

/// What a call asks in words: the longest of its arguments that ask, where it has two words at least. Nothing of tools
/// that run code.
pub(crate) fn prose(call: &ToolCall) -> Option<&str> {
    let map = call.args.as_ref()?.as_object()?;
    if runs_code(&call.tool) {
        return None;
    }
    let asked = map.iter().filter(|(name, _)| listed_name(&ASKED, name)).filter_map(|(_, value)| value.as_str());
    let text = asked.map(str::trim).max_by_key(|text| text.len())?;
    let text = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
    words(text).nth(1)?;
    Some(text)
}

/// What a call hands to another agent.
pub(crate) fn delegated(call: &ToolCall) -> Option<&str> {
    let delegates =
        call.tool.eq_ignore_ascii_case("task") || name_words(&call.tool).any(|word| listed(&DELEGATES, word));
    if delegates { prose(call) } else { None }
}

/// The words of a text; a character of a script without blanks is a word.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    core::iter::from_fn(move || {
        rest = rest.trim_start_matches(|char: char| !char.is_alphanumeric());
        let first = rest.chars().next()?;
        let length = if dense(first) {
            first.len_utf8()
        } else {
            rest.find(|char: char| !char.is_alphanumeric() || dense(char)).unwrap_or(rest.len())
        };
        let (word, tail) = rest.split_at_checked(length)?;
        rest = tail;
        Some(word)
    })
}

/// Characters of scripts that put no blanks between words.
const fn dense(char: char) -> bool {
    matches!(char, '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::super::words::assert_sorted;
    use super::*;
    use alloc::vec::Vec;
    use serde_json::{Value, json};

    fn call(tool: &str, args: Value) -> ToolCall {
        ToolCall { tool: tool.into(), args: Some(args), ..ToolCall::default() }
    }

    #[test]
    fn lists_are_sorted() {
        assert_sorted(&ASKED);
        assert_sorted(&DELEGATES);
    }

    #[test]
    fn what_is_asked() {
        for (tool, args, expected) in [
            ("web_search", json!({"query": "weather in Paris"}), Some("weather in Paris")),
            ("Task", json!({"description": "a b", "prompt": "find the cause"}), Some("find the cause")),
            ("web_search", json!({"query": "weather"}), None),
            ("bash", json!({"input": "ls -l src"}), None),
            ("read", json!({"path": "a b"}), None),
        ] {
            assert_eq!(prose(&call(tool, args.clone())), expected, "{tool} {args}");
        }
        let prompt = json!({"prompt": "find the cause"});
        for (tool, delegates) in [("Task", true), ("spawn_agent", true), ("delegate:x", true), ("ask", false)] {
            assert_eq!(delegated(&call(tool, prompt.clone())).is_some(), delegates, "{tool}");
        }
    }

    #[test]
    fn words_of_all_scripts() {
        assert_eq!(words(" It's 3, größe!").collect::<Vec<_>>(), ["It", "s", "3", "größe"]);
        assert_eq!(words("天气a b").collect::<Vec<_>>(), ["天", "气", "a", "b"]);
    }
}
