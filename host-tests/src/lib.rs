//! Loopwarden's component embedded in wasmtime: what `examples/embed.rs` shows and `tests/` hold to account.
//!
//! [`Component`] is compiled once; every [`Sandbox`] is an instance of its own with one detector in it, under a memory
//! and a fuel limit.

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

/// An operation's answer: the outer error is a trap, after which the instance is lost; the inner one a refused input,
/// after which it is as before.
pub type Answer<T> = Result<std::result::Result<T, Error>>;

/// How a call that takes too long is ended: by a trap, after which its instance is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metering {
    /// Every instruction is counted: a call ends at the same one everywhere, and takes longer for it.
    Fuel,
    /// [`Component::tick`], which a thread of the host calls every so often, ends the calls that were there at the last one.
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
    /// A file that cannot be read, is not a component, imports something or does not export the interface.
    pub fn load(path: &Path) -> Result<Self> {
        Self::metered(path, Metering::Fuel)
    }

    /// [`Self::load`], metered otherwise.
    ///
    /// # Errors
    /// As there.
    pub fn metered(path: &Path, metering: Metering) -> Result<Self> {
        let mut config = Config::new();
        config.consume_fuel(metering == Metering::Fuel).epoch_interruption(metering == Metering::Epochs);
        let engine = Engine::new(&config)?;
        let component = wasmtime::component::Component::from_file(&engine, path)?;
        // The linker is empty on purpose: the component is given nothing to call.
        let ready = bindings::LoopwardenPre::new(Linker::new(&engine).instantiate_pre(&component)?)?;
        Ok(Self { engine, ready, metering })
    }

    /// Another epoch: with [`Metering::Epochs`] a call that saw the last one begin ends in a trap.
    pub fn tick(&self) {
        self.engine.increment_epoch();
    }

    /// A new instance with a detector made from `config`, JSON text of the configuration schema.
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

/// What a call may take from here on.
fn refill(store: &mut Store<Meter>, metering: Metering, limits: Limits) -> Result<()> {
    match metering {
        Metering::Fuel => store.set_fuel(limits.fuel_per_call)?,
        // The epoch under way, which may be nearly over, and a whole one.
        Metering::Epochs => store.set_epoch_deadline(2),
    }
    Ok(())
}

/// What a sandbox may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Linear memory in bytes.
    pub memory_bytes: usize,
    /// Fuel of one call, with [`Metering::Fuel`]: about one unit for each WebAssembly instruction.
    pub fuel_per_call: u64,
}

impl Default for Limits {
    /// Room for events of some megabytes.
    fn default() -> Self {
        Self { memory_bytes: 64 << 20, fuel_per_call: 5_000_000_000 }
    }
}

/// Counts an instance's linear memory and refuses what exceeds the limit.
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
    /// The interface, and a store with a full tank.
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

    /// [`Self::record`] for an event that the model cannot hold, such as one whose arguments are not JSON.
    ///
    /// # Errors
    /// Inner: `invalid-event`.
    pub fn record_typed(&mut self, event: &wit::Event) -> Answer<Verdict> {
        let (detector, store, handle) = self.call()?;
        Ok(detector.call_record(store, handle, event)?.map(Verdict::from).map_err(Error::from))
    }

    /// Where a scope stands, as JSON text.
    ///
    /// # Errors
    /// A trap.
    pub fn status(&mut self, scope: &Scope) -> Result<String> {
        let (detector, store, handle) = self.call()?;
        detector.call_status(store, handle, &scope.into())
    }

    /// Starts a scope over; the answer is the records, as JSON text.
    ///
    /// # Errors
    /// A trap.
    pub fn reset(&mut self, scope: &Scope, reason: ResetReason) -> Result<Vec<String>> {
        let (detector, store, handle) = self.call()?;
        detector.call_reset(store, handle, &scope.into(), reason.into())
    }

    /// Takes a human's answer: JSON text of the decision schema.
    ///
    /// # Errors
    /// Inner: `invalid-json`, `invalid-argument`.
    pub fn acknowledge(&mut self, scope: &Scope, decision: &str) -> Answer<Vec<String>> {
        let (detector, store, handle) = self.call()?;
        Ok(detector.call_acknowledge(store, handle, &scope.into(), decision)?.map_err(Error::from))
    }

    /// Gives a run its workflow: JSON text of the graph schema.
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

    /// Puts a detector restored from a snapshot in the place of this sandbox's.
    ///
    /// # Errors
    /// Inner: `invalid-snapshot`, `snapshot-version`; the detector is then the one it was.
    pub fn restore(&mut self, bytes: &[u8]) -> Answer<()> {
        let (detector, store, _) = self.call()?;
        let restored = detector.call_restore(store, bytes)?;
        self.replace(restored)
    }

    /// Puts a new detector in the place of this sandbox's.
    ///
    /// # Errors
    /// Inner: `invalid-json`, `invalid-config`; the detector is then the one it was.
    pub fn reopen(&mut self, config: &str) -> Answer<()> {
        let (detector, store, _) = self.call()?;
        let made = detector.call_constructor(store, config)?;
        self.replace(made)
    }

    /// Letting go of a handle does not drop what it stands for; the old detector must be dropped by name.
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

    /// Bytes of linear memory: right after instantiation, before there was a detector.
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

/// Where the built component is: what `LOOPWARDEN_COMPONENT` says, else beside the running program.
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
    Ok(target.join("wasm32-wasip2/wasm/loopwarden.wasm"))
}
