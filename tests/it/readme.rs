//! Checks the README against the code: its configuration is valid, and its wasmtime example is the beginning of the one
//! that is built and run. The table of rules in docs/rules.md, generated from the core, is checked here too.

use loopwarden::{json, rules};

const README: &str = include_str!("../../README.md");

fn between(begin: &str, end: &str) -> &'static str {
    let (_, rest) = README.split_once(begin).unwrap();
    rest.split_once(end).unwrap().0
}

#[test]
fn the_configuration_is_valid() {
    let config = between("<!-- test: config -->\n```json\n", "```");
    json::detector(config).unwrap();
}

#[test]
fn the_rust_example_is_a_whole_program() {
    // It is compiled and run as a doc test, since the README is the crate's documentation.
    let program = between("```rust\n", "```");
    assert!(program.contains("\nfn main() -> Result<"), "`?` needs a main that may fail");
    assert!(program.lines().all(|line| line != "#" && !line.starts_with("# ")), "GitHub shows what rustdoc hides");
    let before = README.split("```rust\n").next().unwrap();
    assert!(before.trim_end().ends_with("```sh\ncargo add loopwarden --path ../loopwarden\n```"));
}

#[test]
fn the_wasmtime_example_is_part_of_the_one_that_runs() {
    let embedding = include_str!("../../host-tests/examples/embed.rs");
    for line in between("<!-- test: wasmtime -->\n```rs\n", "```").lines() {
        assert!(embedding.contains(line), "not in examples/embed.rs: {line}");
    }
    let dependency = between("```toml\n", "```").trim();
    assert!(
        include_str!("../../host-tests/Cargo.toml").contains(dependency),
        "not in host-tests/Cargo.toml: {dependency}"
    );
}

#[test]
fn the_page_about_rules_has_each_with_its_words() {
    let page = include_str!("../../docs/rules.md");
    let rows: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 8).collect();
    let rules = rules();
    assert_eq!(rows.len(), rules.len(), "`cargo xtask schema` writes docs/rules.md");
    for (row, rule) in rows.iter().zip(rules) {
        let begin = format!("| `{}` | {} | {} |", rule.id, rule.about, rule.unit);
        assert!(row.starts_with(&begin), "{row}: `cargo xtask schema` writes it anew");
    }
    let said = format!("{} rules, each for one way", rows.len());
    assert!(README.contains(&said), "the README does not say {said:?}");
}
