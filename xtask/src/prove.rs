//! `cargo xtask prove`: what has to hold however long a detector lives, measured natively, and that other doors come to the
//! same state by the same events.

use crate::plan::{self, Line, plan};
use crate::steps;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::process::{Command, Stdio};

/// Measures and compares; `--native` leaves out Node, `--events` says how many events are compared.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    let (mut events, mut runs, mut seed, mut node) = (1_000_000_u64, 1_000_000_u64, 1_u64, true);
    let mut long = 10_000_000_u64;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut number = || rest.next().and_then(|number| number.parse().ok()).context("expected a number");
        match arg.as_str() {
            "--events" => events = number()?,
            "--long" => long = number()?,
            "--runs" => runs = number()?,
            "--seed" => seed = number()?,
            "--native" => node = false,
            _ => bail!("usage: cargo xtask prove [--events N] [--long N] [--runs N] [--seed N] [--native]"),
        }
    }
    let mut line = Line::begin("building the program".into());
    let build = ["build", "--quiet", "--release", "--package", "loopwarden", "--example", "prove"];
    line.run(&mut workspace.cargo(build))?;
    line.end("");
    let program = workspace.target.join("release").join("examples").join("prove");
    let prove = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(args);
        command
    };
    let (events, seed) = (events.to_string(), seed.to_string());
    for (label, args) in [
        ("one run, ever longer", vec!["run", &long.to_string()]),
        ("ever more runs", vec!["runs", &runs.to_string()]),
        ("values against JSON text, with snapshots between", vec!["doors", &events, &seed]),
    ] {
        let mut line = Line::begin(label.into());
        let told = line.run(&mut prove(&args))?;
        line.end("");
        print!("{told}");
    }

    let file = workspace.target.join("prove.jsonl");
    let out = File::create(&file).with_context(|| format!("cannot write {}", file.display()))?;
    let made = prove(&["events", &events, &seed]).stdout(out).status().context("cannot make the events")?;
    if !made.success() {
        bail!("the events could not be made");
    }
    let input = || File::open(&file).with_context(|| format!("cannot read {}", file.display())).map(Stdio::from);
    let mut line = Line::begin("natively, over the state".into());
    let native = line.run(prove(&["digest"]).stdin(input()?))?;
    line.end("");
    print!("native  {native}");
    if node {
        plan::run(workspace, &plan(steps::ALL, &["package"])?)?;
        let mut line = Line::begin("in Node, over the state".into());
        let told = line.run(workspace.npm(["run", "--silent", "prove"]).stdin(input()?))?;
        line.end("");
        print!("Node    {told}");
        if told != native {
            bail!("Node comes to another state than the native library, by the events of seed {seed}");
        }
    }
    Ok(0)
}
