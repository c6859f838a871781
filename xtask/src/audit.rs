//! Licences and known vulnerabilities of the dependencies, as far as they can be looked up. What could not be checked
//! is reported as skipped, so that nobody takes silence for a clean bill of health.

use crate::counts::Counts;
use crate::plan::Line;
use crate::workspace::Workspace;
use anyhow::Result;
use serde_json::Value;

/// Runs `cargo deny` with `deny.toml`, and `npm audit` on everything the package and its adapters are built and tested
/// with.
pub(crate) fn step(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    Ok(crates(workspace, line)? + packages(workspace, line)?)
}

fn crates(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    if !line.try_run(&mut workspace.cargo(["deny", "--version"]))?.0.success() {
        return Ok(skipped(line, "crates", "cargo-deny is not installed"));
    }
    let mut counts = Counts::default();
    for what in ["licenses", "bans", "sources", "advisories"] {
        let (status, output) = line.try_run(&mut workspace.cargo(["deny", "check", what]))?;
        if status.success() {
            counts.passed += 1;
        } else if what == "advisories" && output.contains("failed to fetch advisory database") {
            counts = counts + skipped(line, "advisories of crates", "their database cannot be had");
        } else {
            eprintln!("\n{output}");
            counts.failed += 1;
        }
    }
    Ok(counts)
}

/// Folders with npm dependencies.
const FOLDERS: [&str; 7] = [".", "test", "tools/binaryen", "tools/biome", "tools/jco", "tools/node", "adapters"];

fn packages(workspace: &Workspace, line: &mut Line) -> Result<Counts> {
    let mut counts = Counts::default();
    for (index, folder) in FOLDERS.iter().enumerate() {
        let (_, output) = line.try_run(&mut workspace.npm(["--prefix", folder, "audit", "--json"]))?;
        match verdict(&output) {
            Audit::Clean => counts.passed += 1,
            Audit::Holes(number) => {
                eprintln!("\n`npm audit` knows of {number} holes in what js/{folder} is built with");
                counts.failed += 1;
            }
            Audit::Unknown(why) => {
                // All folders use the same registry: after one failure it is not asked again, and that is reported
                // once.
                let rest = u32::try_from(FOLDERS.len() - index)?;
                let told = skipped(line, &format!("npm packages of {rest} folders"), &why);
                return Ok(counts + Counts { skipped: rest, ..told });
            }
        }
    }
    Ok(counts)
}

fn skipped(line: &Line, what: &str, why: &str) -> Counts {
    line.note(&format!("not looked at: {what}, {why}"));
    Counts { skipped: 1, ..Counts::default() }
}

#[derive(Debug, PartialEq)]
enum Audit {
    Clean,
    /// Number of high and critical ones; the others often have no fix available.
    Holes(u64),
    Unknown(String),
}

/// Parses the output of `npm audit --json`, which may begin with other text.
fn verdict(output: &str) -> Audit {
    let json = output.find('{').and_then(|at| output.get(at..)).unwrap_or_default();
    let Some(Ok(answer)) = serde_json::Deserializer::from_str(json).into_iter::<Value>().next() else {
        return Audit::Unknown("npm gave no answer".to_owned());
    };
    let Some(holes) = answer.pointer("/metadata/vulnerabilities").and_then(Value::as_object) else {
        let why = answer.get("message").or_else(|| answer.pointer("/error/summary")).and_then(Value::as_str);
        // A registry without this service sends a whole page.
        let why = why.and_then(|why| why.lines().find(|line| !line.trim().is_empty())).unwrap_or_default().trim();
        let why = why.split(" - ").next().filter(|why| !why.is_empty()).unwrap_or("the registry did not say");
        return Audit::Unknown(why.to_owned());
    };
    let number = ["high", "critical"].iter().filter_map(|level| holes.get(*level)?.as_u64()).sum();
    if number == 0 { Audit::Clean } else { Audit::Holes(number) }
}

#[cfg(test)]
mod tests {
    use super::{Audit, verdict};

    #[test]
    fn what_npm_says_is_understood() {
        let counted = |high: u32| {
            format!(
                "npm warn x\n{{\"metadata\":{{\"vulnerabilities\":{{\"low\":3,\"high\":{high},\"critical\":1}}}}}}\n"
            )
        };
        assert_eq!(verdict(&counted(2)), Audit::Holes(3));
        assert_eq!(verdict(&counted(0).replace("\"critical\":1", "\"critical\":0")), Audit::Clean);
        let refused =
            r#"{"message": "405 Method Not Allowed - POST https://registry.example/-/npm", "error": {"summary": ""}}"#;
        assert_eq!(verdict(refused), Audit::Unknown("405 Method Not Allowed".to_owned()));
        let page = r#"{"message": "\n405 Method Not Allowed\n<html>…</html>", "error": {}}"#;
        assert_eq!(verdict(page), Audit::Unknown("405 Method Not Allowed".to_owned()));
        assert_eq!(verdict("{}"), Audit::Unknown("the registry did not say".to_owned()));
        assert_eq!(verdict("npm error network"), Audit::Unknown("npm gave no answer".to_owned()));
    }
}
