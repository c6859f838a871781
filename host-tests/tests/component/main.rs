//! The built component, held to what its interface promises.

mod limits;

use loopwarden_host_tests::{Component, component_path};
use std::sync::LazyLock;

/// Compiled once for all tests of this program.
static COMPONENT: LazyLock<Component> = LazyLock::new(|| {
    let path = component_path().unwrap();
    Component::load(&path).unwrap()
});
