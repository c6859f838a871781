//! Every input that ever broke a fuzz target, and the hostile ones that were thought of beforehand.

use std::fs;
use std::path::Path;

/// Runs a target's function over its folder.
fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crashers").join(target);
    let mut inputs: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    for input in inputs {
        println!("{}", input.display());
        body(&fs::read(&input).unwrap());
    }
}

#[test]
fn json_door() {
    replay("json_door", crate::fuzz_bodies::json_door);
}

#[test]
fn snapshot() {
    replay("snapshot", crate::fuzz_bodies::snapshot);
}

#[test]
fn text() {
    replay("text", crate::fuzz_bodies::text);
}

#[test]
fn transcript() {
    replay("transcript", crate::fuzz_bodies::transcript);
}

#[test]
fn sequence_inputs_hold() {
    replay("sequence", crate::fuzz_bodies::sequence);
    // And some by lot, the same in every run.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for length in 0..300 {
        let bytes: Vec<u8> = (0..length * 8)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                u8::try_from(state >> 56).unwrap()
            })
            .collect();
        crate::fuzz_bodies::sequence(&bytes);
    }
}
