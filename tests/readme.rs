//! The README says what the code does: its table of rules is made from the rules, its configuration is valid, its
//! wasmtime example is the beginning of the one that is built and run.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failed test")]

use loopwarden::{json, rules};
use std::fmt::Write as _;

const README: &str = include_str!("../README.md");

fn between(begin: &str, end: &str) -> &'static str {
    let (_, rest) = README.split_once(begin).unwrap();
    rest.split_once(end).unwrap().0
}

fn table() -> String {
    let mut table = String::from(
        "\n| Rule | Sees | Counts | nudge | block | gate | halt |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for rule in rules() {
        let rung = |threshold: u32| if threshold == 0 { "–".to_string() } else { threshold.to_string() };
        let [nudge, block, gate, halt] = [rule.nudge, rule.block, rule.gate, rule.halt].map(rung);
        writeln!(table, "| `{}` | {} | {} | {nudge} | {block} | {gate} | {halt} |", rule.id, rule.about, rule.unit)
            .unwrap();
    }
    table
}

#[test]
fn the_table_of_rules_is_made_from_the_rules() {
    let (begin, end) =
        ("<!-- rules: made from the code, LOOPWARDEN_BLESS=1 cargo test --test readme -->\n", "\n<!-- /rules -->");
    let written = between(begin, end);
    let table = table();
    if std::env::var_os("LOOPWARDEN_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
        std::fs::write(path, README.replace(&format!("{begin}{written}{end}"), &format!("{begin}{table}{end}")))
            .unwrap();
    } else {
        assert_eq!(written, table, "LOOPWARDEN_BLESS=1 writes it anew");
    }
}

#[test]
fn the_configuration_is_valid() {
    let config = between("<!-- test: config -->\n```json\n", "```");
    json::detector(config).unwrap();
}

#[test]
fn the_wasmtime_example_is_part_of_the_one_that_runs() {
    let embedding = include_str!("../host-tests/examples/embed.rs");
    for line in between("<!-- test: wasmtime -->\n```rs\n", "```").lines() {
        assert!(embedding.contains(line), "not in examples/embed.rs: {line}");
    }
}
