//! The `cargo xtask` commands that use the library. A separate program, so that the build script starts without compiling
//! the library.

mod conformance;
mod schema;
mod seeds;

#[path = "../../src/files.rs"]
mod files;
#[path = "../../../tests/support/raw_scenario.rs"]
mod raw_scenario;

use anyhow::{Context, Result, bail};
use std::env;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // The message for a person, without the place in this program where the error occurred.
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["schema", root] => schema::write(Path::new(root)),
        ["schema", "--check", root] => schema::check(Path::new(root)),
        ["expected", root, out] => conformance::expected(Path::new(root), Path::new(out)),
        ["seeds", root, home, longest, targets @ ..] => {
            let longest = longest.parse().with_context(|| format!("{longest} is no length"))?;
            seeds::write(Path::new(root), Path::new(home), longest, targets)
        }
        _ => bail!("usage: xtask-library schema [--check] ROOT | expected ROOT OUT | seeds ROOT HOME LONGEST TARGET…"),
    }
}
