//! The usage of a model's answer under the names of each API: tokens, and cost if the log has it.

use super::content::at;
use crate::model::Context;
use crate::text::millionths;
use alloc::string::{String, ToString};
use serde_json::{Map, Value};

/// Tokens and cost of one or several answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) tokens: Option<u64>,
    /// In millionths of the currency unit used by the log.
    pub(super) cost_micros: Option<u64>,
}

/// Paths of the input tokens.
const INPUT: [&[&str]; 13] = [
    &["input_tokens"],
    &["prompt_tokens"],
    &["inputTokens", "total"],
    &["inputTokens"],
    &["promptTokens"],
    &["promptTokenCount"],
    &["input_token_count"],
    &["prompt_token_count"],
    &["input", "total"],
    &["input"],
    &["prompt"],
    &["tokens_sent"],
    &["inputTokenCount"],
];

/// Paths of the output tokens.
const OUTPUT: [&[&str]; 13] = [
    &["output_tokens"],
    &["completion_tokens"],
    &["outputTokens", "total"],
    &["outputTokens"],
    &["completionTokens"],
    &["candidatesTokenCount"],
    &["output_token_count"],
    &["candidates_token_count"],
    &["output", "total"],
    &["output"],
    &["completion"],
    &["tokens_received"],
    &["outputTokenCount"],
];

/// Names of the total.
const TOTAL: [&str; 7] =
    ["total_tokens", "totalTokens", "totalTokenCount", "total_token_count", "total", "totalTokensCount", "tokens"];

/// Cached tokens, which Anthropic does not include in the input, unlike others.
const CACHE: [&str; 2] = ["cache_read_input_tokens", "cache_creation_input_tokens"];

/// Thinking tokens, which Google does not include in the output.
const THOUGHTS: [&str; 2] = ["thoughtsTokenCount", "thoughts_token_count"];

impl Usage {
    /// The usage in a record of any API; empty if it has none.
    pub(super) fn of(record: Option<&Value>) -> Self {
        let Some(record @ Value::Object(map)) = record else { return Self::default() };
        let figure = |paths: &[&[&str]]| paths.iter().find_map(|path| count(at(record, path)));
        let total = TOTAL.iter().find_map(|key| count(map.get(*key)));
        let (input, output) = (figure(&INPUT), figure(&OUTPUT));
        let more = CACHE.iter().chain(&THOUGHTS).filter_map(|key| count(map.get(*key)));
        let parts = (input.is_some() || output.is_some())
            .then(|| more.fold(input.unwrap_or(0).saturating_add(output.unwrap_or(0)), u64::saturating_add));
        Self { tokens: total.filter(|total| *total > 0).or(parts), cost_micros: money(map) }
    }

    /// The first record with any usage.
    pub(super) fn first<'a>(records: impl IntoIterator<Item = Option<&'a Value>>) -> Self {
        records.into_iter().map(Self::of).find(|usage| !usage.is_nothing()).unwrap_or_default()
    }

    /// Whether nothing is reported, or only zeros.
    pub(super) fn is_nothing(&self) -> bool {
        self.tokens.unwrap_or(0) == 0 && self.cost_micros.unwrap_or(0) == 0
    }

    /// Adds it to the context of an event.
    pub(super) fn tell(self, context: &mut Context) {
        let mut sum = Self { tokens: context.tokens, cost_micros: context.cost_micros };
        sum.add(self);
        (context.tokens, context.cost_micros) = (sum.tokens, sum.cost_micros);
    }

    pub(super) fn add(&mut self, more: Self) {
        for (sum, more) in [(&mut self.tokens, more.tokens), (&mut self.cost_micros, more.cost_micros)] {
            if let Some(more) = more.filter(|more| *more > 0) {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        }
    }

    /// The growth of cumulative figures beyond those in `told`, which are updated; nothing if they have not grown.
    pub(super) fn beyond(self, told: &mut Self) -> Self {
        let grown = |now: Option<u64>, told: &mut Option<u64>| {
            let more = now?.saturating_sub(told.unwrap_or(0));
            *told = Some(now.unwrap_or(0).max(told.unwrap_or(0)));
            (more > 0).then_some(more)
        };
        Self {
            tokens: grown(self.tokens, &mut told.tokens),
            cost_micros: grown(self.cost_micros, &mut told.cost_micros),
        }
    }
}

/// A number of tokens.
pub(super) fn count(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Number(number) => {
            number.as_u64().or_else(|| millionths(&number.to_string()).map(|micros| micros / 1_000_000))
        }
        // Some exports write attributes as text.
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// The cost in a record.
fn money(map: &Map<String, Value>) -> Option<u64> {
    const COST: [&str; 6] = ["cost", "total_cost", "totalCost", "costUSD", "instance_cost", "accumulated_cost"];
    COST.iter().find_map(|key| micros(map.get(*key)))
}

/// An amount of money in millionths.
pub(super) fn micros(value: Option<&Value>) -> Option<u64> {
    match value? {
        Value::Number(number) => millionths(&number.to_string()),
        Value::String(text) => millionths(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Usage;
    use serde_json::json;

    #[test]
    fn each_interface_in_its_own_words() {
        for (record, tokens) in [
            // Anthropic: cached tokens come on top of the input.
            (
                json!({"input_tokens": 4, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 9000, "output_tokens": 50, "service_tier": "standard"}),
                9354,
            ),
            // OpenAI, both APIs: they are part of it.
            (
                json!({"prompt_tokens": 1200, "completion_tokens": 30, "total_tokens": 1230, "prompt_tokens_details": {"cached_tokens": 1024}}),
                1230,
            ),
            (
                json!({"input_tokens": 70, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 8, "total_tokens": 78}),
                78,
            ),
            (json!({"prompt_tokens": 5, "completion_tokens": 6}), 11),
            // Codex.
            (
                json!({"input_tokens": 4000, "cached_input_tokens": 3584, "output_tokens": 21, "reasoning_output_tokens": 12, "total_tokens": 4021}),
                4021,
            ),
            // Google: thoughts come on top of the output.
            (json!({"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 5}), 17),
            (json!({"input": 900, "output": 40, "cached": 800, "thoughts": 7, "tool": 0, "total": 947}), 947),
            // The AI SDK, earlier and current.
            (json!({"promptTokens": 3, "completionTokens": 4}), 7),
            (json!({"inputTokens": 100, "outputTokens": 20, "totalTokens": 120, "cachedInputTokens": 64}), 120),
            (
                json!({"inputTokens": {"total": 100, "noCache": 36, "cacheRead": 64}, "outputTokens": {"total": 20, "text": 20}}),
                120,
            ),
            (json!({"tokens_sent": 5000, "tokens_received": 250, "api_calls": 9}), 5250),
        ] {
            assert_eq!(Usage::of(Some(&record)).tokens, Some(tokens), "{record}");
        }
        for nothing in
            [json!(null), json!({}), json!([]), json!({"input_tokens": "many"}), json!({"service_tier": "x"})]
        {
            assert!(Usage::of(Some(&nothing)).is_nothing(), "{nothing}");
        }
    }

    #[test]
    fn what_grows_is_told_by_its_growth() {
        let mut told = Usage::default();
        let told_now = |tokens, told: &mut Usage| Usage { tokens: Some(tokens), cost_micros: None }.beyond(told).tokens;
        assert_eq!(told_now(8, &mut told), Some(8));
        assert_eq!(told_now(8, &mut told), None);
        assert_eq!(told_now(20, &mut told), Some(12));
        assert_eq!(told_now(5, &mut told), None);
        assert_eq!(told_now(21, &mut told), Some(1));
    }
}
