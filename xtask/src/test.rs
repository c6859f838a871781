//! `cargo xtask test`: all checks and tests, and a table at the end.

use crate::counts::Counts;
use crate::plan::{Fate, plan, run_all};
use crate::steps;
use crate::workspace::{Build, Workspace};
use anyhow::{Context, Result, bail};
use std::env;

/// The quick checks while changing the core: no WebAssembly, no Node, no wasmtime.
const QUICK: [&str; 4] = ["fmt", "schema", "clippy", "unit"];

/// Runs every step, or the ones named after `--only` with what they need.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    let mut names: Vec<&str> = Vec::new();
    let local = env::var_os("CI").is_none_or(|ci| ci.is_empty() || ci == "false");
    // CI reuses no earlier results.
    let mut reuse = local;
    // During development, quick builds of the same code, neither small nor fast, are enough.
    let mut build = if local { Build::Trial } else { Build::Release };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--list" => {
                for step in steps::ALL {
                    println!("{:<15} {:<55} {}", step.name, step.label, step.usually);
                }
                return Ok(0);
            }
            "--quick" => names.extend(QUICK),
            "--release" => build = Build::Release,
            "--all" => reuse = false,
            "--only" => {
                names.push(rest.next().context("--only needs the name of a step; see --list")?);
                // Whoever names a step wants to see it run.
                reuse = false;
            }
            _ => bail!("usage: cargo xtask test [--quick | --only STEP]… [--all] [--release] | --list"),
        }
    }
    if names.is_empty() {
        // `native` includes `unit`, and `host` includes `embed`; `twice` is for what is shipped, and `dist` runs it.
        let left_out = ["unit", "embed", "twice"];
        names = steps::ALL.iter().map(|step| step.name).filter(|name| !left_out.contains(name)).collect();
    }
    let fates = run_all(&workspace.built(build), &plan(steps::ALL, &names)?, reuse);

    println!("\n{:<15} {:>8} {:>8} {:>8} {:>9}", "step", "passed", "failed", "skipped", "seconds");
    let mut total = Counts::default();
    for (step, fate, time) in &fates {
        let (counts, remark) = match fate {
            Fate::Done(counts) => (*counts, String::new()),
            Fate::Unchanged(counts) => (*counts, "  unchanged since it passed".to_owned()),
            Fate::Failed(counts) => (*counts, "  FAILED".to_owned()),
            // Counted as skipped, so that what did not run cannot look like a pass.
            Fate::NotRun(needed) => (Counts { skipped: 1, ..Counts::default() }, format!("  not run: {needed} failed")),
        };
        total = total + counts;
        let figure = |number: u32| if number == 0 { "-".to_owned() } else { number.to_string() };
        let Counts { passed, failed, skipped } = counts;
        let (passed, failed, skipped) = (figure(passed), figure(failed), figure(skipped));
        println!("{:<15} {passed:>8} {failed:>8} {skipped:>8} {:>9.1}{remark}", step.name, time.as_secs_f64());
    }
    println!();
    let mut code = u8::from(fates.iter().any(|(_, fate, _)| !fate.succeeded()));
    if total.passed + total.failed == 0 {
        println!("no test ran");
        code = 1;
    }
    let skipped = if total.skipped == 0 { String::new() } else { format!(", {} skipped", total.skipped) };
    println!("{} passed, {} failed{skipped}", total.passed, total.failed);
    Ok(code)
}
