//! `cargo xtask score`: the native scorer of `examples/score`.

use crate::eval;
use crate::workspace::Workspace;
use anyhow::{Result, bail};

/// Options of the scorer that a value follows.
const VALUED: [&str; 4] = ["--config", "--without", "--vary", "--set"];

/// Builds the scorer and runs it in the caller's folder: output, exit code and relative paths are its own.
pub(crate) fn command(workspace: &Workspace, args: &[String]) -> Result<u8> {
    if let Some(missing) = eval::missing(args, &VALUED) {
        bail!("{missing}: no such file or folder");
    }
    eprintln!("building the scorer, which takes minutes where nothing is compiled yet …");
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
    let program = workspace.target.join("score").join("examples").join("score");
    eval::run(std::process::Command::new(program).args(args))
}
