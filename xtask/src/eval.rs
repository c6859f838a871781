//! `cargo xtask eval`: the npm package's command line, from this checkout.

use crate::plan::{self, plan};
use crate::steps;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Options of the command line that take a value.
const VALUED: [&str; 3] = ["--level", "--config", "--reporter"];

/// Builds the package, then scores scenario files. Output, exit code and relative paths are those of the command line.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    // Checked before the build, which takes minutes.
    if let Some(missing) = missing(args, &VALUED) {
        bail!("{missing}: no such file or folder");
    }
    plan::run(workspace, &plan(steps::ALL, &["package"])?)?;
    run(cli(workspace)?.arg("eval").args(args))
}

/// The first path among the arguments that does not exist; `-` is the standard input.
pub(crate) fn missing<'a>(args: &'a [String], valued: &[&str]) -> Option<&'a str> {
    let mut paths = Vec::new();
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        if valued.contains(&arg) {
            args.next();
        } else if !arg.starts_with('-') {
            paths.push(arg);
        }
    }
    paths.into_iter().find(|path| !Path::new(path).exists())
}

/// The command line of the built package, in the caller's folder.
pub(crate) fn cli(workspace: &Workspace) -> Result<Command> {
    let manifest = workspace.js().join("package.json");
    let text = fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let manifest: Value = serde_json::from_str(&text).with_context(|| format!("cannot read {}", manifest.display()))?;
    let script = manifest.pointer("/bin/loopwarden").and_then(Value::as_str).context("package.json names no `bin`")?;
    // The machine's own Node, as users of the package have.
    let mut command = Command::new("node");
    command.arg(workspace.js().join(script));
    Ok(command)
}

/// Runs a command on this program's own terminal and returns its exit code.
pub(crate) fn run(command: &mut Command) -> Result<u8> {
    let status = command.status().with_context(|| format!("cannot run `{}`", plan::shown(command)))?;
    // A process ended by a signal has no exit code.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::{VALUED, missing};

    #[test]
    fn a_path_without_a_file_is_known_before_anything_is_built() {
        let found = |args: &str| {
            let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
            missing(&args, &VALUED).map(str::to_owned)
        };
        assert_eq!(found("src nowhere elsewhere"), Some("nowhere".to_owned()));
        for args in ["src Cargo.toml", "src --level block --json --config=x", "- --reporter junit", "--help"] {
            assert_eq!(found(args), None, "{args}");
        }
    }
}
