//! `cargo xtask eval`: the npm package's command line, from this checkout.

use crate::plan::{self, plan};
use crate::steps;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// Builds the package, then scores scenario files. Output, exit code and relative paths are the command line's own.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    plan::run(workspace, &plan(steps::ALL, &["package"])?)?;
    run(cli(workspace)?.arg("eval").args(args))
}

/// The command line of the built package, in the caller's folder.
pub(crate) fn cli(workspace: &Workspace) -> Result<Command> {
    let manifest = workspace.js().join("package.json");
    let text = fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let manifest: Value = serde_json::from_str(&text).with_context(|| format!("cannot read {}", manifest.display()))?;
    let script = manifest.pointer("/bin/loopwarden").and_then(Value::as_str).context("package.json names no `bin`")?;
    // The machine's own Node, as for everybody who uses the package.
    let mut command = Command::new("node");
    command.arg(workspace.js().join(script));
    Ok(command)
}

/// Runs a command on this program's own terminal and returns its exit code.
pub(crate) fn run(command: &mut Command) -> Result<u8> {
    let status = command.status().with_context(|| format!("cannot run `{}`", plan::shown(command)))?;
    // A signal has no exit code.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}
