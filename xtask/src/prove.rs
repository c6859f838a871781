//! `cargo xtask prove`: native measurements of what must hold however long a detector lives, and a check that every
//! other door gives the same answers to the same events, byte for byte.

use crate::plan::{self, Line, plan, shown};
use crate::workspace::Workspace;
use crate::{setup, steps};
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask prove [--events N] [--long N] [--runs N] [--seed N] [--pins N] [--door NAME]… [--native] [--trial]";

/// The doors compared with the native library, and the steps that each needs.
const DOORS: [(&str, &[&str]); 5] = [
    ("wasmtime", &["component"]),
    ("node", &["package", "test-tools"]),
    ("chromium", &["package", "test-tools", "chromium"]),
    ("workerd", &["package", "test-tools"]),
    ("jco", &["component", "package", "test-tools"]),
];

/// Lines of digests per 10,000 events: ten of verdicts and one of the state, as written by `tests/support/blocks.rs`.
const LINES: usize = 11;

/// Measures and compares. `--native` only measures; `--door`, which can be repeated, only compares that door;
/// `--events` is the number of events compared.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    let (mut events, mut long, mut runs, mut seed) = (1_000_000_u64, 10_000_000_u64, 1_000_000_u64, 1_u64);
    let mut pins = 1_000_000_u64;
    let (mut native, mut chosen) = (false, Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut number = || rest.next().and_then(|number| number.parse().ok()).context("expected a number");
        match arg.as_str() {
            "--events" => events = number()?,
            "--long" => long = number()?,
            "--runs" => runs = number()?,
            "--seed" => seed = number()?,
            "--pins" => pins = number()?,
            "--native" => native = true,
            // Handled in `main`: modules from a quick build.
            "--trial" => {}
            "--door" => chosen.push(rest.next().context(USAGE)?.as_str()),
            _ => bail!(USAGE),
        }
    }
    let known: Vec<_> = DOORS.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = chosen.iter().find(|name| !known.contains(name)) {
        bail!("there is no door `{unknown}`; the doors are {}", known.join(", "));
    }
    ensure!(events > 0 && (!native || chosen.is_empty()), USAGE);

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
    let [events, long, runs, seed, pins] = [events, long, runs, seed, pins].map(|number| number.to_string());
    let measured = [
        ("one run, ever longer", vec!["run", &long]),
        ("ever more runs", vec!["runs", &runs]),
        ("values against JSON text, with snapshots between", vec!["doors", &events, &seed]),
        ("every PIN against what was published", vec!["pins", &pins]),
    ];
    for (label, args) in measured.iter().filter(|_| chosen.is_empty()) {
        let mut line = Line::begin((*label).into());
        let told = line.run(&mut prove(args))?;
        line.end("");
        print!("{told}");
    }
    if native {
        return Ok(0);
    }

    let folder = workspace.target.join("prove");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let input = folder.join("events.jsonl");
    let out = File::create(&input).with_context(|| format!("cannot write {}", input.display()))?;
    let made = prove(&["events", &events, &seed]).stdout(out).status().context("cannot make the events")?;
    ensure!(made.success(), "the events could not be made");
    let expected = leg(&mut prove(&["digest"]), "native", &input, &folder)?;
    ensure!(!expected.is_empty(), "nothing was compared");

    let doors = DOORS.iter().filter(|(name, _)| chosen.is_empty() || chosen.contains(name));
    let mut different = Vec::new();
    for (name, needs) in doors {
        plan::run(workspace, &plan(steps::ALL, needs)?)?;
        let digests = leg(&mut door(workspace, name)?, name, &input, &folder)?;
        match first_difference(&expected, &digests) {
            None => println!("{name:<10} the same as natively: {} digests of {events} events", digests.len()),
            Some(at) => {
                println!("{name:<10} differs from the native library, seed {seed}: {at}");
                different.push(*name);
            }
        }
    }
    ensure!(different.is_empty(), "other answers than natively: {}", different.join(", "));
    Ok(0)
}

/// The program that feeds events to a door.
fn door(workspace: &Workspace, name: &str) -> Result<Command> {
    if name == "wasmtime" {
        let mut line = Line::begin("building the embedding".into());
        // wasmtime compiles what is measured; its own build may be a quick one.
        let build = ["build", "--quiet", "--package=loopwarden-host-tests", "--example=prove"];
        line.run(&mut workspace.cargo(build))?;
        line.end("");
        let mut command = Command::new(workspace.target.join("debug").join("examples").join("prove"));
        command.arg(workspace.component());
        return Ok(command);
    }
    let mut command = workspace.npm(["run", "--silent", "prove", "--"]);
    command.arg(name).env("LOOPWARDEN_COMPONENT", workspace.component());
    if name == "chromium" {
        command.env("CHROMIUM", setup::chromium_path().context("there is no Chromium")?);
    }
    Ok(command)
}

/// Feeds the events to a door and returns its digests; prints what it reports about itself.
fn leg(command: &mut Command, name: &str, input: &Path, folder: &Path) -> Result<Vec<String>> {
    let (begun, path) = (Instant::now(), folder.join(name));
    let open = |path: &PathBuf| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    let events = File::open(input).with_context(|| format!("cannot read {}", input.display()))?;
    eprint!("{name} …");
    command.stdin(Stdio::from(events)).stdout(open(&path)?).stderr(Stdio::piped());
    let done = command.spawn().and_then(std::process::Child::wait_with_output);
    let done = done.with_context(|| format!("cannot run `{}`", shown(command)))?;
    eprintln!(" {:.1} s", begun.elapsed().as_secs_f64());
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "`{}`: {}\n{said}", shown(command), done.status);
    println!("{name:<10} {}", said.trim());
    let digests = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(digests.lines().map(str::to_owned).collect())
}

/// The events, or the state after them, that differ first.
fn first_difference(expected: &[String], digests: &[String]) -> Option<String> {
    let at = (0..expected.len().max(digests.len())).find(|at| expected.get(*at) != digests.get(*at))?;
    let (chunk, block) = (at / LINES * 10_000, at % LINES);
    Some(if digests.len() <= at {
        format!("it ends after {} of {} digests", digests.len(), expected.len())
    } else if block == LINES - 1 {
        format!("metrics and snapshot after event {}", chunk + 10_000)
    } else {
        format!("verdicts of the 1,000 events from {} on", chunk + block * 1000)
    })
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn a_difference_is_found_where_it_begins() {
        let expected: Vec<String> = (0..33).map(|number| number.to_string()).collect();
        let other = |at: usize| {
            let mut digests = expected.clone();
            digests[at] = "else".to_owned();
            first_difference(&expected, &digests).unwrap()
        };
        assert_eq!(first_difference(&expected, &expected), None);
        assert_eq!(other(0), "verdicts of the 1,000 events from 0 on");
        assert_eq!(other(12), "verdicts of the 1,000 events from 11000 on");
        assert_eq!(other(21), "metrics and snapshot after event 20000");
        assert_eq!(first_difference(&expected, &expected[..30]).unwrap(), "it ends after 30 of 33 digests");
        assert_eq!(first_difference(&expected, &[]).unwrap(), "it ends after 0 of 33 digests");
    }
}
