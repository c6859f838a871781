use crate::model::{
    Budgets, ByName, Config, Context, Counted, Counter, Error, ErrorCode, Level, RuleConfig, Same, ToolConfig,
};
use crate::rules::counter::{Counters, TRAIL, limits_of, means};
use crate::rules::task_loop::{HISTORY, TaskLoop};
use crate::rules::{Limits, RULES, Rule, description, many, phases, task_attempts as attempts};
use crate::state::{Graph, Ordered};
use crate::text::{Signatures, Sweep, Volatile, cost_of, head, millionths, nearest, sort_few};
use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::ops::RangeInclusive;

pub(crate) type Table = [Limits; RULES.len()];

/// Maximum of `conventions.streamPassage`: the longest passage that can be detected, in characters of ASCII text.
const LONGEST_PASSAGE: u32 = 3072;
/// Accepted values of `memory.maxBytes`, for all runs together; a single full run takes less than the minimum.
const BYTES: RangeInclusive<u64> = 1 << 20..=1 << 40;
/// Maximum number of tool patterns.
const TOOLS: usize = 1024;
/// Bytes of a tool's name that are matched against patterns; the rest is cut off.
const NAME: usize = 1024;
const TASK_LOOP: &str = <TaskLoop as Rule>::ID;
const COUNTER: &str = <Counters as Rule>::ID;
/// Maximum number of counters, and of bytes in a counter's name.
const COUNTERS: usize = 16;
const COUNTER_NAME: usize = 64;
/// Error message for a budget of 1.
const ENDS_AT_ONCE: &str = "1 would end the run at once, expected 0 or at least 2";
/// Maximum `lap` of a counter, in steps.
const LAP: u32 = 10;

/// A validated and compiled configuration: thresholds per rule, tools by pattern, regular expressions.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    limits: Table,
    /// Name patterns and their settings, least specific first, each with the number of its literal characters.
    tools: Vec<(usize, String, ToolConfig)>,
    pub(crate) volatile: Volatile,
    pub(crate) signatures: Signatures,
    /// The configured workflow.
    pub(crate) graph: Option<Graph>,
    /// Price of a million tokens, in millionths of the currency unit.
    token_price: Option<u64>,
}

/// The configuration of one tool.
#[derive(Clone, Debug)]
pub(crate) struct ToolSettings {
    pub(crate) enabled: bool,
    pub(crate) ignore_args: Vec<String>,
    pub(crate) identity_args: Vec<String>,
    pub(crate) polling: bool,
    pub(crate) compare_answers: bool,
    pub(crate) mutates: Option<bool>,
    /// Thresholds, if the tool has its own.
    limits: Option<Box<Table>>,
}

impl ToolSettings {
    /// For a tool that the configuration does not mention.
    const USUAL: Self = Self {
        enabled: true,
        ignore_args: Vec::new(),
        identity_args: Vec::new(),
        polling: false,
        compare_answers: false,
        mutates: None,
        limits: None,
    };

    pub(crate) fn limits<'a>(&'a self, settings: &'a Settings) -> &'a Table {
        self.limits.as_deref().unwrap_or(&settings.limits)
    }
}

/// The settings of the tool at hand; boxed, because most tools have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tool(Option<Box<ToolSettings>>);

impl core::ops::Deref for Tool {
    type Target = ToolSettings;

    fn deref(&self) -> &ToolSettings {
        static USUAL: ToolSettings = ToolSettings::USUAL;
        self.0.as_deref().unwrap_or(&USUAL)
    }
}

impl Tool {
    fn change(&mut self) -> &mut ToolSettings {
        self.0.get_or_insert_with(|| Box::new(ToolSettings::USUAL))
    }

    /// Raises the thresholds if the user or the system prompt ordered repetition or a sweep over many things.
    pub(crate) fn ordered(mut self, settings: &Settings, order: Ordered) -> Self {
        if order.times() > 0 || order.sweeps != Sweep::No {
            let mut table = *self.limits(settings);
            ordered(&mut table, order);
            self.change().limits = Some(Box::new(table));
        }
        self
    }
}

impl Settings {
    /// # Errors
    /// `invalid-config`, naming the field.
    pub(crate) fn new(config: Config) -> Result<Self, Error> {
        check(&config)?;
        let limits = limits(&config)?;
        let graph = config.graph.as_ref().map(|graph| Graph::declare(graph, ErrorCode::InvalidConfig));
        if config.tools.len() > TOOLS {
            return Err(invalid("tools", &format!("more than {TOOLS} patterns")).with(config.tools.len()));
        }
        let mut tools = Vec::with_capacity(config.tools.len());
        for (pattern, tool) in &config.tools {
            let mut table = limits;
            apply(&mut table, tool, &format!("tools.{pattern}."))?;
            if pattern.is_empty() || pattern.len() > 256 {
                return Err(invalid(&format!("tools.{pattern}"), "expected a pattern of 1 to 256 bytes"));
            }
            tools.push((literal_characters(pattern), pattern.clone(), tool.clone()));
        }
        // Stable sort: patterns with equally many literal characters apply in the order of their names.
        sort_few(&mut tools, |one, other| one.0 > other.0);
        Ok(Self {
            limits,
            tools,
            volatile: Volatile::compile(&config.patterns.volatile)?,
            signatures: Signatures::compile(&config.patterns.signatures)?,
            graph: graph.transpose()?,
            token_price: token_price(&config)?,
            config,
        })
    }

    /// Cost of an event in millionths: as reported, or computed from its tokens if the user configured a price.
    pub(crate) fn cost(&self, context: &Context) -> Option<u64> {
        context.cost_micros.or_else(|| Some(cost_of(context.tokens?, self.token_price?)))
    }

    pub(crate) fn limits(&self) -> &Table {
        &self.limits
    }

    /// The tables of thresholds of those tool patterns that override rules, one per pattern.
    pub(crate) fn of_tools(&self) -> impl Iterator<Item = Table> {
        self.tools.iter().filter(|(.., tool)| !tool.rules.is_empty()).map(|(.., tool)| {
            let mut table = self.limits;
            override_with(&mut table, &tool.rules);
            table
        })
    }

    /// The settings for a tool: every matching entry applied in turn, the most specific last.
    pub(crate) fn tool(&self, name: &str) -> Tool {
        let mut own = Tool::default();
        let name = head(name, NAME);
        for (.., tool) in self.tools.iter().filter(|(_, pattern, _)| means(pattern, name)) {
            let settings = own.change();
            settings.enabled = tool.enabled.unwrap_or(settings.enabled);
            settings.polling = tool.polling.unwrap_or(settings.polling);
            settings.compare_answers = tool.compare_answers.unwrap_or(settings.compare_answers);
            settings.mutates = tool.mutates.or(settings.mutates);
            if !tool.ignore_args.is_empty() {
                settings.ignore_args.clone_from(&tool.ignore_args);
            }
            if !tool.identity_args.is_empty() {
                settings.identity_args.clone_from(&tool.identity_args);
            }
            if !tool.rules.is_empty() {
                override_with(settings.limits.get_or_insert_with(|| Box::new(self.limits)), &tool.rules);
            }
        }
        own
    }
}

/// A configuration error at `field`.
pub(super) fn invalid(field: &str, message: &str) -> Error {
    Error::new(ErrorCode::InvalidConfig, message).at(field)
}

/// Rejects a number that is out of its range.
pub(super) fn within(field: &str, figure: u64, range: RangeInclusive<u64>, unit: &str) -> Result<(), Error> {
    if range.contains(&figure) {
        return Ok(());
    }
    Err(invalid(field, &format!("expected {} to {}{unit}", range.start(), range.end())).with(figure))
}

/// Rejects values that are invalid regardless of the other fields.
fn check(config: &Config) -> Result<(), Error> {
    let Config { unattended_level, memory, conventions, .. } = config;
    if !matches!(unattended_level, Level::Nudge | Level::Block | Level::Halt) {
        return Err(invalid("unattendedLevel", "expected nudge, block or halt").with(unattended_level));
    }
    within("memory.maxRuns", memory.max_runs.into(), 1..=1_000_000, "")?;
    if let Some(bytes) = memory.max_bytes {
        within("memory.maxBytes", bytes, BYTES, " bytes")?;
    }
    if memory.idle_ms == 0 {
        return Err(invalid("memory.idleMs", "expected at least 1 millisecond").with(0));
    }
    if config.privacy.salt.as_ref().is_some_and(|salt| !(8..=256).contains(&salt.len())) {
        // The value is not repeated in the error: it is a secret.
        return Err(invalid("privacy.salt", "expected 8 to 256 bytes"));
    }
    attempts::validate(&config.attempts)?;
    phases::validate(&config.phases)?;
    within("failures.history", config.failures.history.into(), 1..=HISTORY.into(), "")?;
    let copies = conventions.stream_copies;
    if copies == 1 || copies > 64 {
        return Err(invalid("conventions.streamCopies", "expected 0 or 2 to 64").with(copies));
    }
    let passage = conventions.stream_passage;
    if passage > LONGEST_PASSAGE {
        let message = format!("expected at most {LONGEST_PASSAGE}");
        return Err(invalid("conventions.streamPassage", &message).with(passage));
    }
    counters(config)?;
    token_price(config)?;
    within("collaboration.similarity", config.collaboration.similarity.into(), 500..=999, " per mille")
}

/// Rules whose thresholds an order raises: by how much per ordered repetition, and per thing of a sweep. Rules about
/// doing the same to the same thing are not raised for a sweep.
const ORDERED: [(&str, u32, u32); 12] = [
    ("cycle", 1, 0),
    ("failing-target", 0, 1),
    ("failure-streak", 1, 1),
    ("negative-answers", 0, 1),
    ("no-effect", 1, 0),
    ("remade-change", 1, 0),
    ("repeated-call", 3, 0),
    ("repeated-error", 1, 1),
    ("resubmission", 1, 1),
    ("same-answer", 1, 1),
    ("stagnation", 4, 4),
    ("stale-talk", 4, 0),
];
/// Number of things assumed in a sweep, since orders do not say how many there are.
const SWEPT: u32 = 20;

/// Raises the thresholds of the [`ORDERED`] rules by the user's orders.
pub(crate) fn ordered(table: &mut Table, order: Ordered) {
    let swept = |id: &str, each: u32| match order.sweeps {
        Sweep::Several if id == "negative-answers" => SWEPT,
        Sweep::No | Sweep::Several => 0,
        Sweep::Many => SWEPT * each,
    };
    for (limits, rule) in table.iter_mut().zip(RULES) {
        let Some((_, again, each)) = ORDERED.iter().find(|(id, ..)| *id == rule.id) else { continue };
        *limits = limits.raised(order.times().saturating_mul(*again).max(swept(rule.id, *each)));
    }
}

/// Applies the user's settings of rules to the table.
fn override_with(table: &mut Table, rules: &ByName<RuleConfig>) {
    for (limits, rule) in table.iter_mut().zip(RULES) {
        if let Some(user) = rules.get(rule.id) {
            *limits = limits.overridden(user);
        }
    }
}

/// Applies the user's settings of rules, given under `path`, and rejects those that are invalid or, for one tool
/// (`of_tool`), have no effect.
fn checked_override(table: &mut Table, rules: &ByName<RuleConfig>, path: &str, of_tool: bool) -> Result<(), Error> {
    for name in rules.keys() {
        known(name, path)?;
    }
    override_with(table, rules);
    for (limits, rule) in table.iter().zip(RULES) {
        let Some(user) = rules.get(rule.id) else { continue };
        let path = format!("{path}{}", rule.id);
        if of_tool && !rule.per_tool() {
            let message =
                format!("has no effect: {} does not look at the calls of single tools, set it under rules", rule.id);
            return Err(invalid(&path, &message));
        }
        if of_tool && user.window.is_some() {
            let message = "a window belongs to the whole run, set it under rules";
            return Err(invalid(&format!("{path}.window"), message));
        }
        limits.validate(rule, user, &path)?;
    }
    Ok(())
}

/// The thresholds of every rule: the preset, then budgets, then the user's settings.
fn limits(config: &Config) -> Result<Table, Error> {
    let mut table = [Limits::default(); RULES.len()];
    for (limits, rule) in table.iter_mut().zip(RULES) {
        *limits = rule.limits.preset(config.preset, (rule.reach)(rule.limits.window));
    }
    budgets(&mut table, &config.budgets)?;
    if config.conventions.only_named {
        for (limits, rule) in table.iter_mut().zip(RULES) {
            limits.enabled = rule.id == COUNTER
                || config.rules.contains_key(rule.id)
                || rule.budget.is_some_and(|budget| (budget.of)(&config.budgets) != 0);
        }
    }
    gate_threshold(&mut table, config)?;
    checked_override(&mut table, &config.rules, "rules.", false)?;
    Ok(table)
}

/// The price of a million tokens, in millionths.
fn token_price(config: &Config) -> Result<Option<u64>, Error> {
    let Some(price) = &config.prices.million_tokens else { return Ok(None) };
    let plain = price.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match millionths(price).filter(|_| plain && price.len() <= 20) {
        Some(price) => Ok(Some(price)),
        None => Err(invalid("prices.millionTokens", "expected a decimal such as \"2.50\"").with(price)),
    }
}

/// Rejects counters that contradict themselves or can never reach their thresholds.
fn counters(config: &Config) -> Result<(), Error> {
    let counters = &config.conventions.counters;
    if counters.len() > COUNTERS {
        return Err(invalid("conventions.counters", &format!("more than {COUNTERS}")).with(counters.len()));
    }
    for (name, own) in counters {
        let path = format!("conventions.counters.{name}");
        if name.is_empty() || name.len() > COUNTER_NAME {
            return Err(invalid(&path, &format!("expected a name of 1 to {COUNTER_NAME} bytes")));
        }
        counter(own, &path)?;
    }
    Ok(())
}

fn counter(counter: &Counter, path: &str) -> Result<(), Error> {
    let wrong = |field: &str, message: &str| invalid(&format!("{path}.{field}"), message);
    let before = matches!(counter.of, Counted::Calls | Counted::Rounds);
    let messages = counter.of == Counted::Messages;
    for same in counter.same.iter().flatten() {
        let outcome = matches!(same, Same::Output | Same::MaskedOutput | Same::ExitCode);
        if outcome && before {
            return Err(wrong("same", "a call that has just been made has no outcome: count results"));
        }
        if messages != (*same == Same::Text) {
            return Err(wrong("same", if messages { "a message has only a text" } else { "calls have no text" }));
        }
    }
    if counter.ahead && (before || messages) {
        return Err(wrong("ahead", "counts the outcomes of calls: results, failures, errors or unknown-tools"));
    }
    if counter.lap != 0 && !(2..=LAP).contains(&counter.lap) {
        return Err(wrong("lap", &format!("expected 0 or 2 to {LAP}")).with(counter.lap));
    }
    let rounds = counter.by_round || counter.of == Counted::Rounds;
    let ways = [counter.lap != 0, counter.window != 0, rounds];
    if ways.into_iter().filter(|way| *way).count() > 1 {
        return Err(invalid(path, "give one of lap, window and rounds"));
    }
    if counter.window as usize > TRAIL {
        return Err(wrong("window", &format!("expected at most {TRAIL}")).with(counter.window));
    }
    let held = if counter.window == 0 { many(TRAIL) } else { counter.window };
    let reach = held / counter.lap.max(1) + u32::from(counter.ahead);
    let beyond = || format!("can never be reached: at most {reach} add up");
    limits_of(counter).validate_rungs(reach, beyond, &RuleConfig::default(), path)?;
    for (field, patterns) in [("tools", &counter.tools), ("except", &counter.except)] {
        if patterns.iter().any(|pattern| pattern.is_empty() || pattern.len() > 256) {
            return Err(wrong(field, "expected patterns of 1 to 256 bytes"));
        }
    }
    Ok(())
}

/// Applies `failures.gateThreshold`, another name for the gate threshold of the rule `task-loop`.
fn gate_threshold(table: &mut Table, config: &Config) -> Result<(), Error> {
    let Some(threshold) = config.failures.gate_threshold else { return Ok(()) };
    let fail = |message: &str| Err(invalid("failures.gateThreshold", message).with(threshold));
    if threshold < 2 {
        return fail("expected at least 2");
    }
    if config.rules.get(TASK_LOOP).is_some_and(|rule| rule.gate.is_some_and(|gate| gate != threshold)) {
        return fail("contradicts rules.task-loop.gate: give one of the two");
    }
    for (limits, rule) in table.iter_mut().zip(RULES) {
        if rule.id == TASK_LOOP {
            limits.gate = threshold;
            if limits.nudge >= threshold {
                limits.nudge = 0;
            }
        }
    }
    Ok(())
}

/// Sets the halt threshold of each rule that watches a budget.
fn budgets(table: &mut Table, budgets: &Budgets) -> Result<(), Error> {
    let counts = [
        ("budgets.maxTurnsPerNode", budgets.max_turns_per_node),
        ("budgets.maxTurnsPerNodeAndTask", Some(budgets.max_turns_per_node_and_task)),
        ("budgets.maxCycleIterations", budgets.max_cycle_iterations),
    ];
    for (field, budget) in counts {
        if budget == Some(1) {
            return Err(invalid(field, ENDS_AT_ONCE).with(1));
        }
    }
    for (limits, rule) in table.iter_mut().zip(RULES) {
        let Some(budget) = rule.budget else { continue };
        let amount = (budget.of)(budgets);
        let fail = |message: &str| Err(invalid(&format!("budgets.{}", budget.field), message).with(amount));
        match u32::try_from(amount) {
            Ok(0) => {}
            Ok(1) => return fail(ENDS_AT_ONCE),
            Ok(amount) => limits.halt = amount,
            Err(_) => return fail("expected at most 4294967295 (49 days)"),
        }
    }
    Ok(())
}

fn apply(table: &mut Table, tool: &ToolConfig, path: &str) -> Result<(), Error> {
    checked_override(table, &tool.rules, &format!("{path}rules."), true)?;
    if !tool.ignore_args.is_empty() && !tool.identity_args.is_empty() {
        return Err(invalid(&format!("{path}ignoreArgs"), "contradicts identityArgs: give one of the two"));
    }
    Ok(())
}

fn known(id: &str, path: &str) -> Result<(), Error> {
    if description(id).is_some() {
        return Ok(());
    }
    let message = match nearest(id, RULES.iter().map(|rule| rule.id)) {
        Some(meant) => format!("unknown rule, did you mean {meant}?"),
        None => format!("unknown rule, and none of the {} has a similar name", RULES.len()),
    };
    Err(invalid(&format!("{path}{id}"), &message))
}

fn literal_characters(pattern: &str) -> usize {
    pattern.chars().filter(|character| !matches!(character, '*' | '?')).count()
}

#[cfg(test)]
mod tests {
    use super::Settings;
    use crate::json;
    use crate::model::{Config, Extends, Profile};
    use alloc::{format, string::ToString, vec::Vec};

    fn error(config: &str) -> (String, String) {
        let error = json::config(config).and_then(Settings::new).unwrap_err();
        (error.field.unwrap_or_default(), error.message)
    }
    use alloc::string::String;

    #[test]
    fn a_mistyped_rule_is_answered_with_the_one_that_was_meant() {
        let message = |config: &str| error(config).1;
        assert_eq!(message(r#"{"rules":{"repeated-cal":{}}}"#), "unknown rule, did you mean repeated-call?");
        let none = message(r#"{"tools":{"a":{"rules":{"whatever":{}}}}}"#);
        assert!(none.starts_with("unknown rule, and none of the "), "{none}");
    }

    #[test]
    fn a_link_to_the_schema_is_no_setting() {
        let config = json::config(r#"{"$schema":"https://example.com/config.schema.json","mode":"shadow"}"#);
        assert_eq!(config.unwrap(), json::config(r#"{"mode":"shadow"}"#).unwrap());
        assert_eq!(error(r#"{"tools":{"$schema":7}}"#).0, "tools.$schema");
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            (r#"{"prest":"balanced"}"#, "prest"),
            (r#"{"preset":"wild"}"#, "preset"),
            (r#"{"rules":{"cycles":{}}}"#, "rules.cycles"),
            (r#"{"rules":{"cycle":{"nudge":"three"}}}"#, "rules.cycle.nudge"),
            (r#"{"tools":{"a":{"rules":{"phase-cycle":{"enabled":false}}}}}"#, "tools.a.rules.phase-cycle"),
            (r#"{"tools":{"a":{"rules":{"max-runtime":{"enabled":false}}}}}"#, "tools.a.rules.max-runtime"),
            (r#"{"tools":{"a":{"rules":{"monologue":{"nudge":5}}}}}"#, "tools.a.rules.monologue"),
            (r#"{"tools":{"a":{"rules":{"stream-period":{"enabled":false}}}}}"#, "tools.a.rules.stream-period"),
            (r#"{"rules":{"cycle":{"nugde":3}}}"#, "rules.cycle.nugde"),
            (r#"{"rules":{"cycle":{"nudge":5}}}"#, "rules.cycle.nudge"),
            (r#"{"rules":{"counter":{"nudge":5}}}"#, "rules.counter.nudge"),
            (r#"{"rules":{"output-signature":{"gate":7}}}"#, "rules.output-signature.gate"),
            (r#"{"tools":{"mcp__*":{"rules":{"cycle":{"halt":4}}}}}"#, "tools.mcp__*.rules.cycle.halt"),
            (r#"{"tools":{"a":{"ignoreArgs":["x"],"identityArgs":["y"]}}}"#, "tools.a.ignoreArgs"),
            (r#"{"tools":{"":{}}}"#, "tools."),
            (r#"{"budgets":{"maxIterations":1}}"#, "budgets.maxIterations"),
            (r#"{"budgets":{"maxRuntimeMs":99999999999}}"#, "budgets.maxRuntimeMs"),
            (r#"{"budgets":{"maxTurnsPerNode":1}}"#, "budgets.maxTurnsPerNode"),
            (r#"{"budgets":{"maxCycleIterations":1}}"#, "budgets.maxCycleIterations"),
            (r#"{"rules":{"node-budget":{"halt":7}}}"#, "rules.node-budget.halt"),
            (r#"{"onStall":"shrug"}"#, "onStall"),
            (r#"{"graph":{"nodes":["a"],"edges":[{"from":"a","to":"b"}]}}"#, "graph.edges[0].to"),
            (r#"{"graph":{"nodes":["a",{"id":"b","drives":true}]}}"#, "graph.nodes[1].drives"),
            (r#"{"graph":{"nodes":[4]}}"#, "graph.nodes[0]"),
            (r#"{"memory":{"maxRuns":0}}"#, "memory.maxRuns"),
            (r#"{"memory":{"maxRuns":1000001}}"#, "memory.maxRuns"),
            (r#"{"memory":{"maxBytes":1048575}}"#, "memory.maxBytes"),
            (r#"{"memory":{"maxBytes":1099511627777}}"#, "memory.maxBytes"),
            (r#"{"unattendedLevel":"gate"}"#, "unattendedLevel"),
            (r#"{"attempts":{"maxAttempts":1}}"#, "attempts.maxAttempts"),
            (r#"{"attempts":{"maxAttempts":13,"maxAttemptsBeforeForceNext":20}}"#, "attempts.maxAttempts"),
            (r#"{"attempts":{"maxAttempts":6}}"#, "attempts.maxAttemptsBeforeForceNext"),
            (
                r#"{"attempts":{"preset":"conservative","maxAttemptsBeforeForceNext":4}}"#,
                "attempts.maxAttemptsBeforeForceNext",
            ),
            (r#"{"attempts":{"attemptWindowMs":0}}"#, "attempts.attemptWindowMs"),
            (r#"{"attempts":{"preset":"wild"}}"#, "attempts.preset"),
            (r#"{"attempts":{"maxAttempt":3}}"#, "attempts.maxAttempt"),
            (r#"{"phases":{"cycleDetectionLength":1}}"#, "phases.cycleDetectionLength"),
            (r#"{"phases":{"cycleDetectionLength":6}}"#, "phases.cycleDetectionLength"),
            (r#"{"phases":{"hitlLabel":""}}"#, "phases.hitlLabel"),
            (r#"{"phases":{"hitlLabel":"a\nb"}}"#, "phases.hitlLabel"),
            (r#"{"phases":{"phases":{"":{"maxVisits":3}}}}"#, "phases.phases."),
            (r#"{"phases":{"phases":{"test":{"maxVisit":3}}}}"#, "phases.phases.test.maxVisit"),
            (r#"{"rules":{"task-attempts":{"block":3}}}"#, "rules.task-attempts.block"),
            (r#"{"rules":{"phase-visits":{"gate":3}}}"#, "rules.phase-visits.gate"),
            (r#"{"failures":{"history":0}}"#, "failures.history"),
            (r#"{"failures":{"history":33}}"#, "failures.history"),
            (r#"{"failures":{"counting":"failures"}}"#, "failures.counting"),
            (r#"{"failures":{"gateThreshold":1}}"#, "failures.gateThreshold"),
            (r#"{"failures":{"gateThreshold":4},"rules":{"task-loop":{"gate":5}}}"#, "failures.gateThreshold"),
            (r#"{"conventions":{"streamCopies":1}}"#, "conventions.streamCopies"),
            (r#"{"conventions":{"streamPassage":4000}}"#, "conventions.streamPassage"),
            (r#"{"conventions":{"blind":true}}"#, "conventions.blind"),
            (r#"{"conventions":{"counters":{"":{"nudge":3}}}}"#, "conventions.counters."),
            (r#"{"conventions":{"counters":{"a":{"of":"call"}}}}"#, "conventions.counters.a.of"),
            (r#"{"conventions":{"counters":{"a":{"nugde":3}}}}"#, "conventions.counters.a.nugde"),
            (r#"{"conventions":{"counters":{"a":{"nudge":1}}}}"#, "conventions.counters.a.nudge"),
            (r#"{"conventions":{"counters":{"a":{"nudge":3,"block":3}}}}"#, "conventions.counters.a.block"),
            (r#"{"conventions":{"counters":{"a":{"nudge":65}}}}"#, "conventions.counters.a.nudge"),
            (r#"{"conventions":{"counters":{"a":{"window":5,"halt":6}}}}"#, "conventions.counters.a.halt"),
            (r#"{"conventions":{"counters":{"a":{"lap":4,"halt":17}}}}"#, "conventions.counters.a.halt"),
            (r#"{"conventions":{"counters":{"a":{"lap":11}}}}"#, "conventions.counters.a.lap"),
            (r#"{"conventions":{"counters":{"a":{"lap":2,"window":9}}}}"#, "conventions.counters.a"),
            (r#"{"conventions":{"counters":{"a":{"window":65}}}}"#, "conventions.counters.a.window"),
            (r#"{"conventions":{"counters":{"a":{"same":["output"]}}}}"#, "conventions.counters.a.same"),
            (r#"{"conventions":{"counters":{"a":{"same":["text"]}}}}"#, "conventions.counters.a.same"),
            (r#"{"conventions":{"counters":{"a":{"ahead":true}}}}"#, "conventions.counters.a.ahead"),
            (r#"{"conventions":{"counters":{"a":{"tools":[""]}}}}"#, "conventions.counters.a.tools"),
            (r#"{"prices":{"millionTokens":"two"}}"#, "prices.millionTokens"),
            (r#"{"prices":{"millionTokens":"-1"}}"#, "prices.millionTokens"),
            (r#"{"prices":{"millionTokens":"1e3"}}"#, "prices.millionTokens"),
            (r#"{"prices":{"millionTokens":2.5}}"#, "prices.millionTokens"),
            (r#"{"extends":"openhand"}"#, "extends"),
            (r#"{"extends":["goose",7]}"#, "extends[1]"),
            (r#"{"extends":["goose","gosse"]}"#, "extends[1]"),
            (
                r#"{"extends":"openhands","conventions":{"counters":{"same-step":{"halt":1}}}}"#,
                "conventions.counters.same-step.halt",
            ),
            (r#"{"collaboration":{"similarity":1000}}"#, "collaboration.similarity"),
            (r#"{"patterns":{"volatile":["ok","("]}}"#, "patterns.volatile[1]"),
            (r#"{"patterns":{"signatures":[{"pattern":"[","signature":"x"}]}}"#, "patterns.signatures[0].pattern"),
        ];
        for (config, field) in cases {
            assert_eq!(error(config).0, field, "{config}");
        }
    }

    #[test]
    fn another_detector_is_where_a_configuration_begins() {
        let of = |config: &str| json::config(config).unwrap_or_else(|error| panic!("{config}: {error}"));
        let plain = of(r#"{"extends":"openhands"}"#);
        assert_eq!(plain.extends, None);
        assert!(plain.conventions.only_named);
        // Explicit fields override the profile's, one by one; null is the same as absent.
        let own = of(r#"{"extends":"openhands","conventions":{"counters":{"same-step":{"halt":6,"until":null}}}}"#);
        let mut wanted = plain.clone();
        wanted.conventions.counters.get_mut("same-step").unwrap().halt = 6;
        assert_eq!(own, wanted);
        // Later profiles override earlier ones; their counters are merged.
        let two = of(r#"{"extends":["openhands","cline"]}"#);
        assert!(two.conventions.counters.contains_key("monologue") && two.conventions.counters["same-call"].gate == 5);
        assert_eq!(two.conventions.counters.len(), plain.conventions.counters.len() + 1);
        let message = |config: &str| error(config).1;
        assert_eq!(message(r#"{"extends":"openhand"}"#), "unknown detector, did you mean `openhands`?");
        assert!(message(r#"{"extends":"zzz"}"#).starts_with("unknown detector, expected one of agent-shepherd, cline"));
    }

    #[test]
    fn every_profile_is_sound_and_no_other_rule_runs_beside_it() {
        for profile in Profile::ALL {
            let config = Config { extends: Some(Extends::One(*profile)), ..Config::default() };
            let text = alloc::format!(r#"{{"extends":"{}"}}"#, profile.name());
            let by_name = json::detector(&text).unwrap_or_else(|error| panic!("{}: {error}", profile.name()));
            let by_type = crate::Detector::new(config).unwrap();
            assert_eq!(by_name.config(), by_type.config(), "{}", profile.name());
            assert!(by_name.config().conventions.only_named, "{}", profile.name());
            // A snapshot holds the resolved settings, not the profile's name.
            let restored = crate::Detector::restore(&by_name.snapshot()).unwrap();
            assert_eq!(restored.config(), by_name.config(), "{}", profile.name());
        }
    }

    #[test]
    fn the_most_specific_pattern_wins() {
        let config = r#"{"tools":{"*":{"polling":true},"mcp__*":{"polling":false,"mutates":true},"mcp__git__?ull":{"enabled":false}}}"#;
        let settings = Settings::new(json::config(config).unwrap()).unwrap();
        assert!(settings.tool("bash").polling);
        let pull = settings.tool("mcp__git__pull");
        assert!(!pull.polling && !pull.enabled && pull.mutates == Some(true));
        assert!(settings.tool("mcp__git__push").enabled);
        assert!(settings.tool("xmcp__").polling);
    }

    #[test]
    fn many_patterns_are_as_good_as_few_and_take_no_time() {
        let many: serde_json::Map<String, serde_json::Value> = (0..1024)
            .map(|number| (format!("{}{number}?", "*a".repeat(60)), serde_json::json!({ "polling": number % 2 == 0 })))
            .collect();
        let config = serde_json::json!({ "tools": many }).to_string();
        let settings = Settings::new(json::config(&config).unwrap()).unwrap();
        let name = |number: usize| format!("{}{number}!", "a".repeat(400));
        let polling: Vec<bool> = (0..200).map(|number| settings.tool(&name(number)).polling).collect();
        assert!(polling.iter().enumerate().all(|(number, polling)| *polling == (number % 2 == 0)), "{polling:?}");
        for pattern in ["", &"é".repeat(129)] {
            let (field, message) = error(&serde_json::json!({ "tools": { pattern: {} } }).to_string());
            assert_eq!((field, message.as_str()), (format!("tools.{pattern}"), "expected a pattern of 1 to 256 bytes"));
        }
    }
}
