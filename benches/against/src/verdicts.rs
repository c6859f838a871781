//! Digests of every verdict on recorded scenarios, to show exactly which verdicts a code change affects.

use crate::Failure;
use flate2::read::GzDecoder;
use loopwarden::json;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

#[path = "../../../tests/support/raw_scenario.rs"]
mod raw_scenario;

/// Prints a line for each scenario of each file. Files are JSON lines, optionally gzip-compressed.
pub(crate) fn run(files: &[String]) -> Result<(), Failure> {
    for file in files {
        let path = Path::new(file);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = if name.ends_with(".gz") {
            let mut text = String::new();
            GzDecoder::new(File::open(path)?).read_to_string(&mut text)?;
            text
        } else {
            fs::read_to_string(path)?
        };
        let scenarios = raw_scenario::raw_scenarios(&text).map_err(|why| format!("{file}: {why}"))?;
        for scenario in scenarios {
            let (judged, all) = digests(&scenario)?;
            println!("{name}\t{}\t{judged:016x}\t{all:016x}", scenario.id);
        }
    }
    Ok(())
}

/// A digest of the decisions and what they rest on, and one of every byte of every answer. The second also changes with
/// evidence digests and wording, the first only with the judgement.
fn digests(scenario: &raw_scenario::RawScenario) -> Result<(u64, u64), Failure> {
    let (mut judged, mut all) = (SEED, SEED);
    let mut detector = json::detector(scenario.config.as_deref().unwrap_or_default())?;
    let mut said = String::new();
    for event in &scenario.events {
        let answer = json::event(&event.text)
            .and_then(|parsed| if event.pending { detector.check(&parsed) } else { detector.record(&parsed) });
        said.clear();
        match answer {
            Ok(verdict) => {
                let whole = json::to_string(&verdict);
                write!(said, "{:?} {:?} {:?}", verdict.level, verdict.recommendation, verdict.halt_reason)?;
                for found in &verdict.findings {
                    write!(
                        said,
                        " {} {} {:?} {} {} {:?} {} {:?}",
                        found.rule,
                        found.kind,
                        found.level,
                        found.count,
                        found.threshold,
                        found.period,
                        found.onset_seq,
                        found.onset_offset
                    )?;
                }
                all = fnv(all, whole.as_bytes());
            }
            Err(error) => {
                write!(said, "{error}")?;
                all = fnv(all, said.as_bytes());
            }
        }
        judged = fnv(judged, said.as_bytes());
    }
    Ok((judged, all))
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, with a final byte that occurs in no text as separator. Its results must never change.
fn fnv(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().chain(&[0xff]).fold(sum, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
