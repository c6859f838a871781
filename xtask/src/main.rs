//! Loopwarden's build script; `cargo xtask help` lists its commands.

mod audit;
mod bench;
mod count;
mod counts;
mod demo;
mod dist;
mod eval;
mod files;
mod fuzz;
mod inputs;
mod plan;
mod prove;
mod score;
mod setup;
mod steps;
mod test;
mod wasm;
mod workspace;

use anyhow::{Result, bail};
use std::env;
use std::process::ExitCode;
use workspace::Workspace;

/// A command of this program.
struct Command {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&Workspace, &[String]) -> Result<u8>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "demo",
        arguments: "",
        about: "Replay a session in a real agent's log format, with the npm package and in wasmtime, until the loop is caught.",
        run: demo::command,
    },
    Command {
        name: "test",
        arguments: "[--quick | --only STEP]… [--all] [--release] | --list",
        about: "Set up what is missing, run all checks and tests, and print a table. The last line has the totals. Tests whose \
                inputs have not changed since they passed are not run again, except with --all or in CI. The modules are \
                built quickly, neither small nor fast, except with --release or in CI.",
        run: test::command,
    },
    Command {
        name: "eval",
        arguments: "PATH… [--level LEVEL] [--config FILE] [--json]",
        about: "Score scenario files with the npm package's command line; same arguments, output and exit code.",
        run: eval::command,
    },
    Command {
        name: "score",
        arguments: "PATH… [--list] [--ablate] [--without RULE]… [--vary RULE.LEVEL=A,B,…] [--set NAME=VALUE]… \
                    [--leave-out] [--config FILE] [--json]",
        about: "Score scenario files (.jsonl, .jsonl.gz) natively: what was caught, false positives, how late, and by which rule. \
                Takes seconds; the first use builds the scorer in a minute or two.",
        run: score::command,
    },
    Command {
        name: "build",
        arguments: "[--trial]",
        about: "Build the component and the npm package; with --trial, quickly, but neither small nor fast.",
        run: build,
    },
    Command {
        name: "dist",
        arguments: "",
        about: "Fill target/dist: component, npm tarball, schemas, SHA256SUMS. Builds the modules twice and compares them. \
                Prints the sizes.",
        run: dist::command,
    },
    Command {
        name: "bench",
        arguments: "[--json | --count [PART] | --verdicts [--save FILE | --against FILE] [FOLDER…]]",
        about: "Measure all interfaces and other detectors side by side, and sizes; or count instructions and \
                allocations; or compare all verdicts with saved ones.",
        run: bench::command,
    },
    Command {
        name: "prove",
        arguments: "[--events N] [--long N] [--runs N] [--seed N] [--pins N] \
                    [--door wasmtime|node|chromium|workerd|jco]… [--native] [--trial]",
        about: "Measure one run of 10^7 events and 10^6 runs at once, and compare 10^6 events through every interface; takes \
                minutes and up to 20 GB. With --native, only measure; with --door, only compare.",
        run: prove::command,
    },
    Command {
        name: "fuzz",
        arguments: "--seconds N [--target doors|json_door|sequence|snapshot|text|transcript|wit_door]…",
        about: "Fuzz each target for N seconds on the stable compiler; an input that breaks one becomes a test.",
        run: fuzz::command,
    },
    Command {
        name: "schema",
        arguments: "[--check]",
        about: "Write the JSON Schemas of the model to js/schema; with --check, fail if they differ.",
        run: schema,
    },
    Command { name: "fmt", arguments: "", about: "Format the Rust and TypeScript code.", run: fmt },
    Command { name: "help", arguments: "", about: "Print this.", run: help },
];

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let (name, rest) = args.split_first().map_or(("help", &[][..]), |(name, rest)| (name.as_str(), rest));
    let name = if matches!(name, "-h" | "--help") { "help" } else { name };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprintln!("there is no command `{name}`; see `cargo xtask help`");
        return ExitCode::from(2);
    };
    match Workspace::find().and_then(|mut workspace| {
        // These should show results soon, and nothing is measured on them; `test` builds the same way.
        if matches!(command.name, "demo" | "eval") || rest.iter().any(|arg| arg == "--trial") {
            workspace.build = workspace::Build::Trial;
        }
        (command.run)(&workspace, rest)
    }) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn build(workspace: &Workspace, _args: &[String]) -> Result<u8> {
    plan::run(workspace, &plan::plan(steps::ALL, &["component", "package"])?)?;
    println!("component    {}", workspace.component().display());
    println!("npm package  {}", workspace.js().join("dist").display());
    Ok(0)
}

fn schema(workspace: &Workspace, args: &[String]) -> Result<u8> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if !matches!(args.as_slice(), [] | ["--check"]) {
        bail!("usage: cargo xtask schema [--check]");
    }
    eval::run(workspace.library(["schema"]).args(args).arg(&workspace.root))
}

fn fmt(workspace: &Workspace, _args: &[String]) -> Result<u8> {
    plan::run(workspace, &plan::plan(steps::ALL, &["npm-ci"])?)?;
    Ok(eval::run(&mut workspace.cargo(["fmt", "--all"]))?.max(eval::run(&mut workspace.npm(["run", "format"]))?))
}

fn help(_workspace: &Workspace, _args: &[String]) -> Result<u8> {
    println!("Loopwarden's build script. Run from anywhere inside the checkout.\n\nUSAGE: cargo xtask COMMAND\n");
    for command in COMMANDS {
        println!("  {} {}\n      {}\n", command.name, command.arguments, command.about);
    }
    println!("Build output goes to cargo's target folder (see CARGO_TARGET_DIR); npm's stays in js/.");
    Ok(0)
}
