//! `cargo xtask bench --count` and `--verdicts`: what a change costs and what it changes, measured in a way that other
//! work on the machine cannot disturb.

use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Counts the instructions and allocations of every phase whose name contains `part`, with callgrind.
pub(crate) fn count(workspace: &Workspace, part: &str) -> Result<u8> {
    let program = program(workspace)?;
    let counts = Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    if !counts {
        println!("skipped: instructions are not counted, for there is no valgrind; allocations are");
    }
    println!("{:<34}{:>14}{:>14}{:>14}", "per item", "instructions", "allocations", "bytes");
    let names = printed(Command::new(&program).arg("phases"))?;
    for name in names.lines().filter(|name| name.contains(part)) {
        let folder = workspace.target.join("callgrind");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let file = folder.join(format!("{}.out", name.replace([' ', ','], "-")));
        let mut command = Command::new(if counts { Path::new("valgrind") } else { &program });
        if counts {
            command.args(["--quiet", "--tool=callgrind", "--toggle-collect=*::measured", "--collect-atstart=no"]);
            command.arg(format!("--callgrind-out-file={}", file.display())).arg(&program);
        }
        let told: Value = serde_json::from_str(&printed(command.args(["count", name]))?)
            .with_context(|| format!("`{name}` printed no JSON"))?;
        let figure =
            |key: &str| told.get(key).and_then(Value::as_u64).with_context(|| format!("`{name}` has no {key}"));
        let items = figure("items")?.max(1);
        let instructions = if counts { (collected(&file)? / items).to_string() } else { "-".to_owned() };
        let tenths = figure("allocations")? * 10 / items;
        let allocations = format!("{}.{}", tenths / 10, tenths % 10);
        println!("{name:<34}{instructions:>14}{allocations:>14}{:>14}", figure("bytes")? / items);
    }
    if counts {
        println!(
            "\nwhere they went: callgrind_annotate --inclusive=yes {}/callgrind/*.out",
            workspace.target.display()
        );
    }
    Ok(0)
}

/// The instructions summed up in a callgrind file.
fn collected(file: &Path) -> Result<u64> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let sum = text.lines().find_map(|line| line.strip_prefix("summary: ").or_else(|| line.strip_prefix("totals: ")));
    sum.and_then(|sum| sum.trim().parse().ok()).with_context(|| format!("no sum in {}", file.display()))
}

/// Computes digests of all verdicts on the project's corpus and the scenarios in further folders. `save` writes them to
/// a file; `against` compares them with one and lists the differences.
pub(crate) fn verdicts(
    workspace: &Workspace,
    save: Option<&str>,
    against: Option<&str>,
    folders: &[String],
) -> Result<u8> {
    let mut files = scenarios(&workspace.root.join("tests/corpus"))?;
    for folder in folders {
        files.extend(scenarios(Path::new(folder))?);
    }
    let now = printed(Command::new(program(workspace)?).arg("verdicts").args(&files))?;
    if let Some(path) = save {
        fs::write(path, &now).with_context(|| format!("cannot write {path}"))?;
    }
    let Some(path) = against else {
        for (file, (scenarios, digest)) in sums(&now) {
            println!("{file:<40}{scenarios:>8}  {digest:016x}");
        }
        return Ok(0);
    };
    let before = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let known: BTreeMap<(&str, &str), (&str, &str)> = before.lines().filter_map(fields).collect();
    let mut changes: BTreeMap<&str, (u64, u64, u64, u64)> = BTreeMap::new();
    let mut listed = String::new();
    for (scenario, (judged, bytes)) in now.lines().filter_map(fields) {
        let (all, new, judgements, wordings) = changes.entry(scenario.0).or_default();
        *all += 1;
        match known.get(&scenario) {
            None => *new += 1,
            Some((same, _)) if *same != judged => {
                *judgements += 1;
                writeln!(listed, "  {} {}", scenario.0, scenario.1)?;
            }
            Some((_, same)) if *same != bytes => *wordings += 1,
            Some(_) => {}
        }
    }
    println!("{:<40}{:>10}{:>8}{:>12}{:>14}", "file", "scenarios", "new", "judgements", "bytes alone");
    let mut differ = false;
    for (file, (all, new, judgements, bytes)) in changes {
        println!("{file:<40}{all:>10}{new:>8}{judgements:>12}{bytes:>14}");
        differ |= judgements != 0;
    }
    print!("{listed}");
    Ok(u8::from(differ))
}

type Fields<'a> = ((&'a str, &'a str), (&'a str, &'a str));

fn fields(line: &str) -> Option<Fields<'_>> {
    let mut fields = line.split('\t');
    Some(((fields.next()?, fields.next()?), (fields.next()?, fields.next()?)))
}

/// For each file, the number of scenarios and one digest of all their judgements.
fn sums(lines: &str) -> BTreeMap<&str, (u64, u64)> {
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for ((file, _), (judged, _)) in lines.lines().filter_map(fields) {
        let (scenarios, digest) = sums.entry(file).or_default();
        *scenarios += 1;
        *digest = digest.rotate_left(7) ^ u64::from_str_radix(judged, 16).unwrap_or_default();
    }
    sums
}

/// The scenario files in a folder, sorted by name.
fn scenarios(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
    });
    files.sort();
    Ok(files)
}

/// Builds the counting program.
fn program(workspace: &Workspace) -> Result<PathBuf> {
    let mut build = workspace.cargo(["build", "--quiet", "--profile=count", "--package=loopwarden-against"]);
    if !build.status().context("cannot run cargo")?.success() {
        bail!("the counting program does not build");
    }
    Ok(workspace.target.join("count/loopwarden-against"))
}

fn printed(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).context("not UTF-8")
}
