#![no_main]

#[path = "../../tests/support/fuzz_doors.rs"]
mod fuzz_doors;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_doors::doors(data));
