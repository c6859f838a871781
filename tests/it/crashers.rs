//! Every input that ever failed in a fuzz target, and hostile ones written in advance.

use std::fs;
use std::path::Path;

/// Runs a target's function on all files in its folder.
fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new("tests/crashers").join(target);
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
    replay("sequence", |data| {
        crate::fuzz_bodies::sequence(data);
    });
    // And some pseudo-random ones, the same on every run.
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

/// Runs evicted for lack of memory, between snapshots.
#[test]
fn a_crowd_leaves_in_the_middle() {
    let moment = |number: u16| {
        let [high, low] = number.to_be_bytes();
        let kind = if number % 100 == 99 { 15 } else { u8::try_from(number % 15).unwrap() };
        [kind, low.wrapping_mul(37), 1 | high << 6, low]
    };
    let mut crowd: Vec<u8> = (0..512).flat_map(moment).collect();
    crowd.push(0);
    assert!(crate::fuzz_bodies::sequence(&crowd) > 20);
}
