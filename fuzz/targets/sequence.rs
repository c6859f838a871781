#![no_main]

#[allow(dead_code, reason = "each target uses one of the functions")]
#[path = "../../tests/support/fuzz_bodies.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    fuzz_bodies::sequence(data);
});
