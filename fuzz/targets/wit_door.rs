#![no_main]

#[path = "../../tests/support/fuzz_wit.rs"]
mod fuzz_wit;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_wit::wit_door(data));
