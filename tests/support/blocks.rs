//! Digests of a door's answers to many events, for comparison with another door's: one over the verdicts of every 1,000
//! events, and one over metrics and snapshot after every 10,000, from which the door then continues.
//! `js/conformance/blocks.ts` does the same.

use sha2::{Digest, Sha256};
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

/// Events per digest of verdicts, and per digest of the state.
pub(crate) const BLOCK: usize = 1_000;
pub(crate) const CHUNK: usize = 10_000;

pub(crate) type Failure = Box<dyn std::error::Error>;

/// A detector behind a door.
pub(crate) trait Door {
    /// The verdict on an event, both as JSON text.
    fn record(&mut self, event: &str) -> Result<String, Failure>;
    fn metrics(&mut self) -> Result<String, Failure>;
    /// The snapshot, after restoring the door from it.
    fn next(&mut self) -> Result<Vec<u8>, Failure>;
}

/// Feeds a door the events of `input`, one per line, and writes the digests to `out`, one per line. Returns the number
/// of events and the time spent on recording them.
pub(crate) fn digests(
    door: &mut impl Door,
    input: impl BufRead,
    mut out: impl Write,
) -> Result<(u64, Duration), Failure> {
    let (mut events, mut spent) = (0_u64, Duration::ZERO);
    let mut verdicts = Sha256::new();
    let mut lines = input.lines().peekable();
    while let Some(line) = lines.next() {
        let (line, begun) = (line?, Instant::now());
        let verdict = door.record(&line)?;
        spent += begun.elapsed();
        events += 1;
        verdicts.update(verdict);
        verdicts.update("\n");
        let last = lines.peek().is_none();
        if last || events % BLOCK as u64 == 0 {
            writeln!(out, "{}", hex(&std::mem::take(&mut verdicts).finalize()))?;
        }
        if last || events % CHUNK as u64 == 0 {
            let state = Sha256::new().chain_update(door.metrics()?).chain_update(door.next()?);
            writeln!(out, "{}", hex(&state.finalize()))?;
        }
    }
    out.flush()?;
    Ok((events, spent))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
