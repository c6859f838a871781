//! `cargo xtask bench`: every claim about speed and size, measured in one run.

use crate::count;
use crate::dist;
use crate::plan::{self, Line, plan};
use crate::steps;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::process::Command;

/// The doors, in column order; the others are compared with the first.
const DOORS: [&str; 7] =
    ["native", "wasmtime", "wasmtime, epochs", "npm", "plain JavaScript", "tool-loop-guard", "loop-guardrail"];

/// One measurement through one door.
struct Row {
    door: String,
    what: String,
    unit: String,
    median: u64,
}

/// Measures everything and prints one table; `--json` prints the measurements, one per line. `--count` and `--verdicts`
/// run [`count`].
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    let as_json = match args {
        [] => false,
        [flag] if flag == "--json" => true,
        [flag, part @ ..] if flag == "--count" && part.len() <= 1 => {
            return count::count(workspace, part.first().map_or("", String::as_str));
        }
        [flag, to, file, folders @ ..] if flag == "--verdicts" && to == "--save" => {
            return count::verdicts(workspace, Some(file), None, folders);
        }
        [flag, to, file, folders @ ..] if flag == "--verdicts" && to == "--against" => {
            return count::verdicts(workspace, None, Some(file), folders);
        }
        [flag, folders @ ..] if flag == "--verdicts" => return count::verdicts(workspace, None, None, folders),
        _ => bail!(
            "usage: cargo xtask bench [--json | --count [PART OF A PHASE'S NAME] | \
             --verdicts [--save FILE | --against FILE] [FOLDER…]]"
        ),
    };
    plan::run(workspace, &plan(steps::ALL, &["component", "package"])?)?;
    let mut native = workspace.cargo(["bench", "--quiet", "--package=loopwarden", "--bench=record"]);
    let mut wasmtime = workspace.cargo(["bench", "--quiet", "--package=loopwarden-host-tests", "--bench=wasmtime"]);
    wasmtime.args(["--profile", "bench-host"]).env("LOOPWARDEN_COMPONENT", workspace.component());
    let mut npm = workspace.npm(["run", "--silent", "bench", "--", "--long"]);
    let mut peers = workspace.cargo(["run", "--quiet", "--release", "--package=loopwarden-against", "--", "--peers"]);

    let mut output = String::new();
    let runs: [(&str, &mut Command); 4] = [
        ("measuring natively", &mut native),
        ("measuring in wasmtime (the first time, building its release takes minutes)", &mut wasmtime),
        ("measuring in Node", &mut npm),
        ("measuring other crates", &mut peers),
    ];
    for (number, (label, command)) in (1..).zip(runs) {
        let mut line = Line::begin(format!("[{number}/4] {label}"));
        output.push_str(&line.run(command)?);
        line.end("");
    }
    let lines: Vec<&str> = output.lines().filter(|line| line.starts_with("{\"name\"")).collect();
    if as_json {
        lines.iter().for_each(|line| println!("{line}"));
        return Ok(0);
    }
    let rows = lines.into_iter().map(row).collect::<Result<Vec<_>>>()?;
    times(&rows);
    sizes(workspace)?;
    Ok(0)
}

fn row(line: &str) -> Result<Row> {
    let value: Value = serde_json::from_str(line).with_context(|| format!("not a measurement: {line}"))?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).with_context(|| format!("no `{key}`: {line}"));
    let (door, what) = text("name")?.split_once(": ").with_context(|| format!("no door: {line}"))?;
    let median = value.get("median").and_then(Value::as_u64).with_context(|| format!("no median: {line}"))?;
    Ok(Row { door: door.to_owned(), what: what.to_owned(), unit: text("unit")?.to_owned(), median })
}

/// Medians side by side, each with its ratio to the native one.
fn times(rows: &[Row]) {
    print!("\n{:<52}", "median of 25");
    DOORS.iter().for_each(|door| print!("{door:>24}"));
    println!();
    let mut done: Vec<&str> = Vec::new();
    for row in rows {
        if done.contains(&row.what.as_str()) {
            continue;
        }
        done.push(&row.what);
        let through = |door: &str| rows.iter().find(|other| other.what == row.what && other.door == door);
        print!("{:<52}", row.what);
        for door in DOORS {
            let cell = through(door).map(|found| {
                let ratio = through("native").map(|native| ratio(found.median, native.median));
                format!("{} {:>8}", shown(found), ratio.unwrap_or_default())
            });
            print!("{:>24}", cell.unwrap_or_else(|| "-".to_owned()));
        }
        println!();
    }
}

fn shown(row: &Row) -> String {
    match row.unit.as_str() {
        "ns" if row.median >= 100_000 => format!("{} µs", row.median / 1000),
        "ns" => format!("{}.{:02} µs", row.median / 1000, row.median % 1000 / 10),
        unit => format!("{} {unit}", row.median),
    }
}

/// A ratio such as `×1.53`, in integer arithmetic.
fn ratio(value: u64, base: u64) -> String {
    let hundredths = value.saturating_mul(100).checked_div(base).unwrap_or_default();
    format!("×{}.{:02}", hundredths / 100, hundredths % 100)
}

fn sizes(workspace: &Workspace) -> Result<()> {
    println!("\n{:<52}{:>12}{:>12}{:>12}", "size in bytes", "raw", "gzip", "brotli");
    let glue = workspace.js().join("glue");
    let names = ["component", "npm package's core", "npm package's tools"];
    let paths = [workspace.component(), glue.join("loopwarden_bg.wasm"), glue.join("tools_bg.wasm")];
    for (name, size) in names.iter().zip(dist::sizes(workspace, &paths)?) {
        println!("{name:<52}{:>12}{:>12}{:>12}", size.raw, size.gzip, size.brotli);
    }
    Ok(())
}
