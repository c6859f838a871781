use crate::model::{
    Config, Decision, Error, Event, Level, Metrics, Recommendation, Report, ResetReason, Scope, Status, Verdict,
};
use alloc::{string::String, vec::Vec};

/// Raised by every change that can change a verdict.
pub const RULES_VERSION: u32 = 1;

/// The crate's version and [`RULES_VERSION`], as `0.1.0+rules.1`.
#[must_use]
pub fn version() -> String {
    alloc::format!("{}+rules.{RULES_VERSION}", env!("CARGO_PKG_VERSION"))
}

/// The loop detector: see the crate's documentation.
#[derive(Clone, Debug)]
pub struct Detector {
    config: Config,
    seq: u64,
}

impl Detector {
    /// A detector with no history.
    ///
    /// # Errors
    /// `invalid-config`, naming the field that contradicts another or can never be reached.
    pub fn new(config: Config) -> Result<Self, Error> {
        Ok(Self { config, seq: 0 })
    }

    /// Appends an event and judges it.
    ///
    /// # Errors
    /// `invalid-event`; the state is then exactly as it was.
    pub fn record(&mut self, event: &Event) -> Result<Verdict, Error> {
        let verdict = self.check(event)?;
        self.seq += 1;
        Ok(verdict)
    }

    /// Judges an event that has not happened yet and changes nothing: equal to `clone().record(event)`.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub fn check(&self, _event: &Event) -> Result<Verdict, Error> {
        Ok(Verdict {
            seq: self.seq,
            level: Level::Continue,
            recommendation: Recommendation::Continue,
            ..Verdict::default()
        })
    }

    /// Where a scope stands.
    #[must_use]
    pub fn status(&self, scope: &Scope) -> Status {
        Status { scope: scope.clone(), ..Status::default() }
    }

    /// Forgets what section 5 of the specification says a reset forgets.
    pub fn reset(&mut self, _scope: &Scope, _reason: ResetReason) {}

    /// Takes a human's answer.
    ///
    /// # Errors
    /// `invalid-argument` for an exemption of a rule that does not exist.
    pub fn acknowledge(&mut self, _scope: &Scope, _decision: &Decision) -> Result<(), Error> {
        Ok(())
    }

    /// The whole state, versioned and compact.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        Vec::new()
    }

    /// A detector from a snapshot.
    ///
    /// # Errors
    /// `invalid-snapshot` or `snapshot-version`.
    pub fn restore(_bytes: &[u8]) -> Result<Self, Error> {
        Self::new(Config::default())
    }

    /// The machine-readable escalation report of a scope.
    #[must_use]
    pub fn report(&self, scope: &Scope) -> Report {
        Report { scope: scope.clone(), ..Report::default() }
    }

    /// The escalation report of a scope for a person, in Markdown.
    #[must_use]
    pub fn report_markdown(&self, _scope: &Scope) -> String {
        String::new()
    }

    /// Counters for dashboards.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::default()
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }
}
