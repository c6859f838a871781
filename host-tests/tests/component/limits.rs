use crate::COMPONENT;
use loopwarden_host_tests::Limits;

#[test]
fn an_instance_starts_in_a_quarter_of_a_mebibyte() {
    let start = std::time::Instant::now();
    std::sync::LazyLock::force(&COMPONENT);
    println!("compiled in {:?}", start.elapsed());
    let sandbox = COMPONENT.sandbox("", Limits::default()).unwrap().unwrap();
    println!("{} bytes of linear memory at instantiation", sandbox.memory_at_start());
    assert!(sandbox.memory_at_start() <= 256 << 10, "{} bytes", sandbox.memory_at_start());
}

#[test]
fn records() {
    let mut sandbox = COMPONENT.sandbox("", Limits::default()).unwrap().unwrap();
    let event = loopwarden::json::event(r#"{"type":"tool-call","tool":"t","args":{"a":1}}"#).unwrap();
    assert_eq!(sandbox.record(&event).unwrap().unwrap().seq, 0);
}
