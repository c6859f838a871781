//! `cargo xtask demo`: a recorded session of a coding agent, replayed inside the sandbox until the loop is caught.

use crate::eval;
use crate::plan::{self, plan};
use crate::steps;
use crate::wasm;
use crate::workspace::Workspace;
use anyhow::{Result, bail};
use std::io::{IsTerminal, Write, stdout};
use std::process::{Child, Command, Stdio};

/// The recorded session: about forty steps, in the agent's own log format.
const TRANSCRIPT: &str = "tests/transcripts/debugging-session.jsonl";

/// Suggestions and what they are for. `loopwarden` is not a command here, since nothing was installed.
const NEXT: [(&str, &str); 5] = [
    ("node js/dist/cli.js replay --last", "your own newest session; or name the file of one"),
    ("cargo xtask eval tests/corpus", "score scenario files; --json for programs"),
    ("cargo xtask test", "prove that every host gives the same bytes"),
    ("host-tests/examples/embed.rs", "the embedding above, about 40 lines to copy"),
    ("README.md", "Node, wasmtime, Rust and an edge worker, ten lines each"),
];

/// Replays the session through both doors, the npm package as soon as it is built.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    if !args.is_empty() {
        bail!("usage: cargo xtask demo");
    }
    let transcript = workspace.root.join(TRANSCRIPT);

    // Keep two cores busy: cargo locks the folder of a profile, and the module's differs from everything else's.
    let mut done = Vec::new();
    advance(workspace, &["toolchain"], &mut done)?;
    let module = Ahead::start(wasm::first_module(workspace), Hurry::Now);
    advance(workspace, &["wasm-tools"], &mut done)?;
    // Compiling wasmtime takes longest by far, and the first part of the demo does not need it.
    let embedding = Ahead::start(steps::embedding(workspace), Hurry::WhenIdle);
    advance(workspace, &["package"], &mut done)?;
    drop(module);

    title("1. The npm package replaying a recorded session: node js/dist/cli.js replay session.jsonl");
    println!("Nobody guarded that session: what would have been refused ran all the same.\n");
    // The exit code says that a loop was found, as it should be; only 1 and 2 are failures.
    let code = eval::run(eval::cli(workspace)?.arg("replay").arg(&transcript))?;
    if matches!(code, 1 | 2) {
        bail!("`loopwarden replay` ended with exit code {code}");
    }
    println!("\nNext, the same core in wasmtime, which is still being compiled.\n");

    advance(workspace, &["component", "embed"], &mut done)?;
    drop(embedding);
    title("2. The same core as a WebAssembly component: sandboxed in wasmtime, importing nothing");
    println!("The same session; this host ends it at the first `halt`.\n");
    let mut embed = workspace.cargo(["run", "--quiet", "--package=loopwarden-host-tests", "--example=embed", "--"]);
    let code = eval::run(embed.arg(workspace.component()).arg(&transcript))?;
    if code != 0 {
        bail!("the embedding example ended with exit code {code}");
    }

    title("What to try next");
    for (what, why) in NEXT {
        println!("  {what:<39}  {why}");
    }
    Ok(0)
}

/// Runs steps and what they need, except those already done.
fn advance(workspace: &Workspace, names: &[&str], done: &mut Vec<&'static str>) -> Result<()> {
    let mut steps = plan(steps::ALL, names)?;
    steps.retain(|step| !done.contains(&step.name));
    plan::run(workspace, &steps)?;
    done.extend(steps.iter().map(|step| step.name));
    Ok(())
}

/// How urgent a build is.
#[derive(PartialEq, Eq)]
enum Hurry {
    Now,
    /// Only uses processor time that other work leaves.
    WhenIdle,
}

/// A build in the background. The step that needs it waits for it, since cargo locks the folder, and reports whether it
/// succeeds.
struct Ahead(Option<Child>);

impl Ahead {
    fn start(mut build: Command, hurry: Hurry) -> Self {
        if hurry == Hurry::WhenIdle && cfg!(unix) {
            let mut nice = Command::new("nice");
            nice.args(["-n", "19"]).arg(build.get_program()).args(build.get_args());
            if let Some(folder) = build.get_current_dir() {
                nice.current_dir(folder);
            }
            for (name, value) in build.get_envs() {
                match value {
                    Some(value) => nice.env(name, value),
                    None => nice.env_remove(name),
                };
            }
            build = nice;
        }
        build.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(build.spawn().ok())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It has ended, unless the demo failed before.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn title(text: &str) {
    let (bold, plain) = if stdout().is_terminal() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    println!("\n{bold}{text}{plain}\n");
    // Another program writes next, which must not overtake this.
    let _ = stdout().flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_to_try_next_is_there_without_being_installed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (what, _) in NEXT {
            let is_there = what.starts_with("cargo xtask ") || what.starts_with("node js/dist/cli.js ");
            assert!(is_there || root.join(what).exists(), "{what}");
        }
    }
}
