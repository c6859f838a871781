//! Memory, fuel and isolation.

use crate::{COMPONENT, event, repeated_call, sandbox};
use loopwarden::json;
use loopwarden::model::{Body, Event, Scope};
use loopwarden_host_tests::{Component, Limits, Metering, component_path};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Fifty megabytes of tool output.
fn huge_output() -> Event {
    let mut event = event(r#"{"type":"tool-result","tool":"cat","outcome":"ok","output":""}"#);
    if let Body::ToolResult(result) = &mut event.body {
        result.output = "All work and no play. ".repeat(50_000_000 / 22);
    }
    event
}

/// Arguments of fifty megabytes.
fn huge_arguments() -> Event {
    let mut event = event(r#"{"type":"tool-call","tool":"sum","args":[]}"#);
    if let Body::ToolCall(call) = &mut event.body {
        call.args = Some(vec![7; 25_000_000].into());
    }
    event
}

#[test]
fn an_instance_starts_in_256_kib() {
    let bytes = sandbox().memory_at_start();
    println!("{bytes} bytes of linear memory at instantiation");
    // A trial build is twice as large, and so are its constants.
    let most = if std::env::var("LOOPWARDEN_BUILD").is_ok_and(|build| build == "trial") { 512 } else { 256 };
    assert!(bytes <= most * KIB, "{bytes} bytes");
}

#[test]
fn a_detector_and_its_first_events_fit_in_a_mebibyte() {
    let mut sandbox = sandbox();
    for event in repeated_call().iter().cycle().take(100) {
        sandbox.record(event).unwrap().unwrap();
    }
    assert!(sandbox.memory() <= MIB, "{} bytes", sandbox.memory());
}

#[test]
fn a_50_mb_event_is_judged_where_there_is_room() {
    let roomy = Limits { memory_bytes: 2048 * MIB, fuel_per_call: 100_000_000_000 };
    let mut sandbox = COMPONENT.sandbox("", roomy).unwrap().unwrap();
    sandbox.record(&huge_output()).unwrap().unwrap();
    assert_eq!(sandbox.record(&repeated_call()[0]).unwrap().unwrap().seq, 1);
}

#[test]
fn a_memory_limit_stops_a_50_mb_event_and_only_its_instance() {
    let tight = Limits { memory_bytes: 16 * MIB, ..Limits::default() };
    let mut bystander = COMPONENT.sandbox("", tight).unwrap().unwrap();
    let mut victim = COMPONENT.sandbox("", tight).unwrap().unwrap();

    assert!(victim.record(&huge_output()).is_err(), "50 MB went into 16 MiB");
    assert!(victim.memory() <= 16 * MIB);
    assert!(victim.status(&Scope::default()).is_err(), "an instance that trapped must not be used again");

    let mut next = COMPONENT.sandbox("", tight).unwrap().unwrap();
    for sandbox in [&mut next, &mut bystander] {
        assert_eq!(sandbox.record(&repeated_call()[0]).unwrap().unwrap().seq, 0);
    }
}

#[test]
fn a_fuel_limit_stops_a_50_mb_event_and_only_its_instance() {
    let tight = Limits { memory_bytes: 2048 * MIB, fuel_per_call: 10_000_000 };
    let mut victim = COMPONENT.sandbox("", tight).unwrap().unwrap();

    let error = victim.record(&huge_arguments()).unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&wasmtime::Trap::OutOfFuel), "{error:?}");

    let mut next = COMPONENT.sandbox("", tight).unwrap().unwrap();
    assert_eq!(next.record(&repeated_call()[0]).unwrap().unwrap().seq, 0);
}

#[test]
fn an_epoch_stops_a_50_mb_event_and_only_its_instance() {
    let component = Component::metered(&component_path().unwrap(), Metering::Epochs).unwrap();
    let roomy = Limits { memory_bytes: 2048 * MIB, ..Limits::default() };
    let mut bystander = component.sandbox("", roomy).unwrap().unwrap();
    let mut victim = component.sandbox("", roomy).unwrap().unwrap();
    let (event, over) = (huge_arguments(), AtomicBool::new(false));
    let answer = std::thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                component.tick();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let answer = victim.record(&event);
        over.store(true, Ordering::Relaxed);
        answer
    });
    let error = answer.unwrap_err();
    assert_eq!(error.downcast_ref(), Some(&wasmtime::Trap::Interrupt), "{error:?}");
    assert!(victim.status(&Scope::default()).is_err(), "an instance that trapped must not be used again");

    let mut next = component.sandbox("", Limits::default()).unwrap().unwrap();
    let mut by_fuel = sandbox();
    for event in repeated_call().iter().cycle().take(12) {
        let expected = by_fuel.record(event).unwrap().unwrap();
        assert_eq!(next.record(event).unwrap().unwrap(), expected);
        // Epochs between calls do not matter: each call has a deadline of its own.
        component.tick();
        component.tick();
        assert_eq!(bystander.record(event).unwrap().unwrap(), expected);
    }
}

#[test]
fn two_stores_do_not_see_each_other() {
    let (mut one, mut other) = (sandbox(), sandbox());
    for _ in 0..5 {
        for event in &repeated_call() {
            one.record(event).unwrap().unwrap();
        }
    }
    let mut fresh = sandbox();
    let everything = Scope::default();
    assert_eq!(other.snapshot().unwrap(), fresh.snapshot().unwrap());
    assert_eq!(other.status(&everything).unwrap(), fresh.status(&everything).unwrap());
    assert_eq!(other.metrics().unwrap(), fresh.metrics().unwrap());
    let [call, result] = &repeated_call();
    for event in [call, result] {
        let expected = json::to_string(&fresh.record(event).unwrap().unwrap());
        assert_eq!(json::to_string(&other.record(event).unwrap().unwrap()), expected);
    }
}

#[test]
fn ten_thousand_detectors_in_a_row_leave_memory_flat() {
    let config = r#"{"patterns":{"volatile":["req-[0-9]+"]}}"#;
    let mut sandbox = COMPONENT.sandbox(config, Limits::default()).unwrap().unwrap();
    let mut after_warming_up = 0;
    for round in 0..10_000 {
        sandbox.reopen(config).unwrap().unwrap();
        for event in &repeated_call() {
            sandbox.record(event).unwrap().unwrap();
        }
        // The heap layout settles late: it grows once more by a page of 64 KiB and then stays.
        if round == 4_000 {
            after_warming_up = sandbox.memory();
        }
    }
    assert_eq!(sandbox.memory(), after_warming_up, "detectors that were dropped still hold memory");
}

#[test]
fn restoring_ten_thousand_times_leaves_memory_flat() {
    let mut sandbox = sandbox();
    for event in &repeated_call() {
        sandbox.record(event).unwrap().unwrap();
    }
    let snapshot = sandbox.snapshot().unwrap();
    let mut after_warming_up = 0;
    for round in 0..10_000 {
        sandbox.restore(&snapshot).unwrap().unwrap();
        // The heap layout settles late: it grows once more by a page of 64 KiB and then stays.
        if round == 4_000 {
            after_warming_up = sandbox.memory();
        }
    }
    assert_eq!(sandbox.memory(), after_warming_up, "detectors that were dropped still hold memory");
}
