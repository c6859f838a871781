//! All integration tests in one program, so that it is linked once.
//!
//! `cargo test --test it NAME` runs the tests of a file, or one of them. Only what counts allocations is a program of
//! its own (`tests/bounds.rs`). Files are named relative to the package's folder, in which cargo runs tests, never by a
//! path from compile time: a target folder may outlive the clone that filled it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

#[path = "../support/fuzz_bodies.rs"]
mod fuzz_bodies;
mod kit;
#[path = "../support/labelled.rs"]
mod labelled;
#[path = "../support/peers_by_the_book.rs"]
mod peers_by_the_book;
#[path = "../support/pins.rs"]
mod pins;
#[path = "../support/raw_scenario.rs"]
mod raw_scenario;
#[path = "../support/reference.rs"]
mod reference;

mod afresh;
mod attempts;
mod call_ids;
mod calls;
mod collaboration;
mod corpus;
mod crashers;
mod everyday;
mod failures;
mod floors;
mod graph;
mod hostile_text;
mod lanes;
mod metrics;
mod operations;
mod output_similarity;
mod peers;
mod phases;
mod properties;
mod readme;
mod report;
mod salt;
mod scopes;
mod seeds;
mod stalls;
mod status;
mod strangers;
mod streams;
mod tasks;
mod transcripts;
mod transcripts_as_written;
mod transcripts_in_the_open;
mod unread;
mod usage;
mod variations;
