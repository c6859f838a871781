//! What `cargo xtask bench` needs beside the library's own bench: phases for an instruction counter, other detectors on
//! the same calls, and digests of all verdicts. A package of its own, so that none of it burdens who builds the library
//! or runs its tests.
//!
//! - `phases` lists the phases, a line each.
//! - `count PHASE` runs one under callgrind (`--toggle-collect='*::measured'`) and prints a JSON object about it.
//! - `--peers` prints one JSON object a line, in the form of the library's bench; a flag, as other words name measurements.
//! - `verdicts FILE…` prints `file, scenario, digest of the judgement, digest of every byte`, separated by tabs.

mod count;
mod peers;
mod verdicts;
#[path = "../../support/workload.rs"]
#[allow(dead_code, reason = "each program that includes this file uses what it needs")]
mod workload;

use std::env;
use std::error::Error;

/// Whatever went wrong, to be printed.
type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (command, rest) = arguments.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    match (command, rest) {
        ("phases", []) => count::names().for_each(|name| println!("{name}")),
        ("count", [phase]) => count::run(phase)?,
        ("--peers", []) => peers::run()?,
        ("verdicts", files) => verdicts::run(files)?,
        _ => return Err("usage: loopwarden-against phases | count PHASE | --peers | verdicts FILE…".into()),
    }
    Ok(())
}
