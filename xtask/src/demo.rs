//! `cargo xtask demo`: a recorded session of a coding agent, judged inside the sandbox until the loop is caught.

use crate::eval;
use crate::plan::{self, plan};
use crate::steps;
use crate::workspace::Workspace;
use anyhow::{Result, bail};
use std::io::{IsTerminal, Write, stdout};

/// The session that is replayed: about forty steps, in the log format of the agent that wrote it.
const TRANSCRIPT: &str = "tests/transcripts/debugging-session.jsonl";

/// Lets both doors tell the story, the npm package as soon as it is built.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    if !args.is_empty() {
        bail!("usage: cargo xtask demo");
    }
    let transcript = workspace.root.join(TRANSCRIPT);

    // First what is there first: the package needs no wasmtime.
    plan::run(workspace, &plan(steps::ALL, &["package"])?)?;
    title("1. The npm package replaying a recorded session: npx loopwarden replay session.jsonl");
    // The exit code says that a loop was found, which is what the demo is about: only 1 and 2 are failures.
    let code = eval::run(eval::cli(workspace)?.arg("replay").arg(&transcript))?;
    if matches!(code, 1 | 2) {
        bail!("`loopwarden replay` ended with exit code {code}");
    }
    println!("\nNext, the same core in wasmtime, which has to be compiled first.\n");

    plan::run(workspace, &plan(steps::ALL, &["component", "embed"])?)?;
    title("2. The same core as a WebAssembly component: sandboxed in wasmtime, importing nothing");
    let mut embed = workspace.cargo(["run", "--quiet", "--package=loopwarden-host-tests", "--example=embed", "--"]);
    let code = eval::run(embed.arg(workspace.component()).arg(&transcript))?;
    if code != 0 {
        bail!("the embedding example ended with exit code {code}");
    }

    title("What to try next");
    println!("  cargo xtask eval tests/corpus            score scenario files; --json for programs");
    println!("  cargo xtask test                         prove that every host gives the same bytes");
    println!("  host-tests/examples/embed.rs             the embedding above, about 40 lines to copy");
    println!("  README.md                                Node, wasmtime, Rust and an edge worker, ten lines each");
    println!("  Your own sessions: loopwarden replay ~/.claude/projects/<project>/<session>.jsonl");
    Ok(0)
}

fn title(text: &str) {
    let (bold, plain) = if stdout().is_terminal() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    println!("\n{bold}{text}{plain}\n");
    // What follows is written by another program: it must not overtake this.
    let _ = stdout().flush();
}
