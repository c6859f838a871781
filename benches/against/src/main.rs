//! Support for `cargo xtask bench` besides the library's own bench: phases for an instruction counter, other detectors
//! on the same calls, and digests of all verdicts. A separate package, so that its dependencies do not burden building
//! or testing the library.
//!
//! - `phases` lists the phases, one per line.
//! - `count PHASE` runs one under callgrind (`--toggle-collect='*::measured'`) and prints a JSON object about it.
//! - `--peers` prints one JSON object per line, in the format of the library's bench. It is a flag because other
//!   arguments select measurements.
//! - `verdicts FILE…` prints `file, scenario, digest of the judgement, digest of every byte`, separated by tabs.

mod count;
mod peers;
mod verdicts;
#[path = "../../support/workload.rs"]
#[allow(dead_code, reason = "each program that includes this file uses what it needs")]
mod workload;

use std::env;
use std::error::Error;

/// Any error, to be printed.
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
