//! Loopwarden's component embedded in wasmtime, as shown by `examples/embed.rs` and tested by `tests/`.
//!
//! [`Component`] is compiled once; every [`Sandbox`] is an instance of its own with one detector, under a memory limit
//! and a fuel or epoch limit.

mod convert;
pub mod story;

/// The typed interface, generated from `wit/`.
#[expect(missing_docs, clippy::all, clippy::restriction, reason = "generated")]
pub mod bindings {
    wasmtime::component::bindgen!({ path: "../wit", world: "loopwarden" });
}

use bindings::exports::loopwarden::detector::detection as wit;
use loopwarden::model::{Error, Event, ReportFormat, ResetReason, Scope, Verdict};
use std::path::{Path, PathBuf};
use wasmtime::component::{Linker, ResourceAny};
use wasmtime::{Config, Engine, ResourceLimiter, Result, Store};

/// An operation's result. The outer error is a trap, after which the instance is lost; the inner one a rejected input,
/// which changes nothing.
pub type Answer<T> = Result<std::result::Result<T, Error>>;

/// How a call that takes too long is ended: by a trap, after which its instance is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metering {
    /// Every instruction is counted: deterministic, but slower.
    Fuel,
    /// The host calls [`Component::tick`] from a thread at regular intervals; a call is ended at the second tick after
    /// it began.
    Epochs,
}

/// The compiled component, ready to be instantiated any number of times.
pub struct Component {
    engine: Engine,
    ready: bindings::LoopwardenPre<Meter>,
    metering: Metering,
}

impl Component {
    /// Compiles the component in the file at `path`, metered by fuel.
    ///
    /// # Errors
    /// The file cannot be read, is not a component, imports something or does not export the interface.
    pub fn load(path: &Path) -> Result<Self> {
        Self::metered(path, Metering::Fuel)
    }

    /// [`Self::load`] with a choice of metering.
    ///
    /// # Errors
    /// As for [`Self::load`].
    pub fn metered(path: &Path, metering: Metering) -> Result<Self> {
        let mut config = Config::new();
        config.consume_fuel(metering == Metering::Fuel).epoch_interruption(metering == Metering::Epochs);
        let engine = Engine::new(&config)?;
        let component = wasmtime::component::Component::from_file(&engine, path)?;
        // The linker is empty on purpose: the component gets nothing to call.
        let ready = bindings::LoopwardenPre::new(Linker::new(&engine).instantiate_pre(&component)?)?;
        Ok(Self { engine, ready, metering })
    }

    /// Starts another epoch: with [`Metering::Epochs`], a call that has already seen one begin traps.
    pub fn tick(&self) {
        self.engine.increment_epoch();
    }

    /// A new instance with a detector for `config`, JSON text of the configuration schema.
    ///
    /// # Errors
    /// Outer: not enough memory or fuel. Inner: `invalid-json`, `invalid-config`.
    pub fn sandbox(&self, config: &str, limits: Limits) -> Answer<Sandbox> {
        let mut store = Store::new(&self.engine, Meter { limit: limits.memory_bytes, memory_bytes: 0 });
        store.limiter(|meter| meter);
        refill(&mut store, self.metering, limits)?;
        let instance = self.ready.instantiate(&mut store)?;
        let memory_at_start = store.data().memory_bytes;
        let made = instance.loopwarden_detector_detection().detector().call_constructor(&mut store, config)?;
        let metering = self.metering;
        let sandbox = |detector| Sandbox { store, instance, detector, metering, limits, memory_at_start };
        Ok(made.map(sandbox).map_err(Error::from))
    }
}

/// Resets the fuel or the epoch deadline for the next call.
fn refill(store: &mut Store<Meter>, metering: Metering, limits: Limits) -> Result<()> {
    match metering {
        Metering::Fuel => store.set_fuel(limits.fuel_per_call)?,
        // The current epoch, which may be nearly over, and a whole one.
        Metering::Epochs => store.set_epoch_deadline(2),
    }
    Ok(())
}

/// Resource limits of a sandbox.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Linear memory in bytes.
    pub memory_bytes: usize,
    /// Fuel per call, with [`Metering::Fuel`]: about one unit per WebAssembly instruction.
    pub fuel_per_call: u64,
}

impl Default for Limits {
    /// 64 MiB and 5·10^9 units of fuel: enough for events of several megabytes.
    fn default() -> Self {
        Self { memory_bytes: 64 << 20, fuel_per_call: 5_000_000_000 }
    }
}

/// Tracks an instance's linear memory and denies growth beyond the limit.
struct Meter {
    limit: usize,
    memory_bytes: usize,
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let granted = desired <= self.limit;
        if granted {
            self.memory_bytes = desired;
        }
        Ok(granted)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        Ok(desired <= 10_000)
    }
}

/// One instance of the component with one detector in it. Dropping it frees both.
pub struct Sandbox {
    store: Store<Meter>,
    instance: bindings::Loopwarden,
    detector: ResourceAny,
    metering: Metering,
    limits: Limits,
    memory_at_start: usize,
}

impl Sandbox {
    /// The interface, and a store with its fuel or deadline reset.
    fn call(&mut self) -> Result<(wit::GuestDetector<'_>, &mut Store<Meter>, ResourceAny)> {
        refill(&mut self.store, self.metering, self.limits)?;
        Ok((self.instance.loopwarden_detector_detection().detector(), &mut self.store, self.detector))
    }

    /// Appends an event and judges it.
    ///
    /// # Errors
    /// Inner: `invalid-event`.
    pub fn record(&mut self, event: &Event) -> Answer<Verdict> {
        let event = event.into();
        let (detector, store, handle) = self.call()?;
        Ok(detector.call_record(store, handle, &event)?.map(Verdict::from).map_err(Error::from))
    }

    /// Judges an event that has not happened yet.
    ///
    /// # Errors
    /// Inner: `invalid-event`.
    pub fn check(&mut self, event: &Event) -> Answer<Verdict> {
        let event = event.into();
        let (detector, store, handle) = self.call()?;
        Ok(detector.call_check(store, handle, &event)?.map(Verdict::from).map_err(Error::from))
    }

    /// [`Self::record`] for an event that the model cannot represent, such as one whose arguments are not JSON.
    ///
    /// # Errors
    /// Inner: `invalid-event`.
    pub fn record_typed(&mut self, event: &wit::Event) -> Answer<Verdict> {
        let (detector, store, handle) = self.call()?;
        Ok(detector.call_record(store, handle, event)?.map(Verdict::from).map_err(Error::from))
    }

    /// The status of a scope, as JSON text.
    ///
    /// # Errors
    /// A trap.
    pub fn status(&mut self, scope: &Scope) -> Result<String> {
        let (detector, store, handle) = self.call()?;
        detector.call_status(store, handle, &scope.into())
    }

    /// Starts a scope over; returns the records, each as JSON text.
    ///
    /// # Errors
    /// A trap.
    pub fn reset(&mut self, scope: &Scope, reason: ResetReason) -> Result<Vec<String>> {
        let (detector, store, handle) = self.call()?;
        detector.call_reset(store, handle, &scope.into(), reason.into())
    }

    /// Takes a human's decision, JSON text of the decision schema; returns the records, each as JSON text.
    ///
    /// # Errors
    /// Inner: `invalid-json`, `invalid-argument`.
    pub fn acknowledge(&mut self, scope: &Scope, decision: &str) -> Answer<Vec<String>> {
        let (detector, store, handle) = self.call()?;
        Ok(detector.call_acknowledge(store, handle, &scope.into(), decision)?.map_err(Error::from))
    }

    /// Declares a run's workflow, JSON text of the graph schema.
    ///
    /// # Errors
    /// Inner: `invalid-json`, `invalid-argument`.
    pub fn declare_graph(&mut self, scope: &Scope, graph: &str) -> Answer<()> {
        let (detector, store, handle) = self.call()?;
        Ok(detector.call_declare_graph(store, handle, &scope.into(), graph)?.map_err(Error::from))
    }

    /// The detector's whole state.
    ///
    /// # Errors
    /// A trap.
    pub fn snapshot(&mut self) -> Result<Vec<u8>> {
        let (detector, store, handle) = self.call()?;
        detector.call_snapshot(store, handle)
    }

    /// Replaces this sandbox's detector by one restored from a snapshot.
    ///
    /// # Errors
    /// Inner: `invalid-snapshot`, `snapshot-version`; the detector is unchanged then.
    pub fn restore(&mut self, bytes: &[u8]) -> Answer<()> {
        let (detector, store, _) = self.call()?;
        let restored = detector.call_restore(store, bytes)?;
        self.replace(restored)
    }

    /// Replaces this sandbox's detector by a new one.
    ///
    /// # Errors
    /// Inner: `invalid-json`, `invalid-config`; the detector is unchanged then.
    pub fn reopen(&mut self, config: &str) -> Answer<()> {
        let (detector, store, _) = self.call()?;
        let made = detector.call_constructor(store, config)?;
        self.replace(made)
    }

    /// Dropping a handle does not drop its resource, so the old detector is dropped explicitly.
    fn replace(&mut self, new: std::result::Result<ResourceAny, wit::DetectorError>) -> Answer<()> {
        match new {
            Ok(new) => {
                std::mem::replace(&mut self.detector, new).resource_drop(&mut self.store)?;
                Ok(Ok(()))
            }
            Err(error) => Ok(Err(error.into())),
        }
    }

    /// The escalation report of a scope.
    ///
    /// # Errors
    /// A trap.
    pub fn report(&mut self, scope: &Scope, format: ReportFormat) -> Result<String> {
        let (detector, store, handle) = self.call()?;
        detector.call_report(store, handle, &scope.into(), format.into())
    }

    /// Counters for dashboards, as JSON text.
    ///
    /// # Errors
    /// A trap.
    pub fn metrics(&mut self) -> Result<String> {
        let (detector, store, handle) = self.call()?;
        detector.call_metrics(store, handle)
    }

    /// The version of the library and its rules.
    ///
    /// # Errors
    /// A trap.
    pub fn version(&mut self) -> Result<String> {
        refill(&mut self.store, self.metering, self.limits)?;
        self.instance.loopwarden_detector_detection().call_version(&mut self.store)
    }

    /// Bytes of linear memory right after instantiation, before there was a detector.
    #[must_use]
    pub const fn memory_at_start(&self) -> usize {
        self.memory_at_start
    }

    /// Bytes of linear memory now; it never shrinks.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.store.data().memory_bytes
    }
}

/// Path of the component: `LOOPWARDEN_COMPONENT`, or else below the target directory of the running program.
///
/// # Errors
/// There is no such file.
pub fn component_path() -> Result<PathBuf> {
    let path = std::env::var_os("LOOPWARDEN_COMPONENT").map_or_else(built_component, |path| Ok(PathBuf::from(path)))?;
    if path.is_file() {
        return Ok(path);
    }
    Err(wasmtime::Error::msg(format!("no component at {}: `cargo xtask test` builds it", path.display())))
}

/// This program runs from `<target directory>/<profile>/deps` or `/examples`.
fn built_component() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target =
        program.ancestors().nth(3).ok_or_else(|| wasmtime::Error::msg("this program has no target directory"))?;
    Ok(target.join("dist-stage/loopwarden.wasm"))
}
