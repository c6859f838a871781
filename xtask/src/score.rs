//! `cargo xtask score`: the native scorer of `examples/score`.

use crate::eval;
use crate::workspace::Workspace;
use anyhow::{Result, bail};

/// Options of the scorer that take a value, and those that do not.
const VALUED: [&str; 4] = ["--config", "--without", "--vary", "--set"];
const ALONE: [&str; 4] = ["--ablate", "--leave-out", "--list", "--json"];

/// Builds the scorer and runs it in the caller's folder; output, exit code and relative paths are its own.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    // Checked before the build, which takes minutes.
    if let Some(unknown) = unknown(args) {
        bail!("there is no option {unknown}; there are {}", [VALUED, ALONE].concat().join(", "));
    }
    if let Some(missing) = eval::missing(args, &VALUED) {
        bail!("{missing}: no such file or folder");
    }
    let program = workspace.target.join("score").join("examples").join("score");
    if !program.with_extension(std::env::consts::EXE_EXTENSION).exists() {
        eprintln!("building the scorer, which takes minutes …");
    }
    let build = [
        "build",
        "--quiet",
        "--profile",
        "score",
        "--package",
        "loopwarden",
        "--example",
        "score",
        "--features",
        "tuning",
    ];
    let code = eval::run(&mut workspace.cargo(build))?;
    if code != 0 {
        return Ok(code);
    }
    eval::run(std::process::Command::new(program).args(args))
}

/// The first argument that looks like an option but is none.
fn unknown(args: &[String]) -> Option<&str> {
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        if VALUED.contains(&arg) {
            args.next();
        } else if arg.starts_with('-') && !ALONE.contains(&arg) {
            return Some(arg);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::unknown;

    #[test]
    fn an_option_of_another_command_is_told_as_such() {
        let found = |args: &str| {
            let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
            unknown(&args).map(str::to_owned)
        };
        assert_eq!(found("runs --level block"), Some("--level".to_owned()));
        for args in ["runs --list --json", "--without -x runs", "--config a.json runs --vary cycle.nudge=3,4"] {
            assert_eq!(found(args), None, "{args}");
        }
    }
}
