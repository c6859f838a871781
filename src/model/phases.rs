use crate::model::ByName;
use alloc::string::String;
use serde::{Deserialize, Serialize};

/// Limits on how often phases of a workflow may be entered and left, per task of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Phases {
    /// Whether transitions are judged.
    pub enabled: bool,
    /// Visits allowed per phase; 0 for no limit.
    pub max_visits_default: u32,
    /// Times a phase may be left for the same other phase; 0 for no limit. A retry (from a phase to itself) is a visit
    /// but not a transition.
    pub max_transitions_default: u32,
    /// Whether going back and forth between phases is detected before a limit is reached.
    pub cycle_detection_enabled: bool,
    /// The longest cycle to detect, in distinct phases, 2 to 5.
    pub cycle_detection_length: u32,
    /// Whether refused transitions go to a human: `gate` instead of `block`.
    pub trigger_hitl: bool,
    /// The label of such a gate, 1 to 100 characters without control characters.
    pub hitl_label: String,
    /// Settings per phase, keyed by its name.
    pub phases: ByName<PhaseConfig>,
}

impl Default for Phases {
    fn default() -> Self {
        Self {
            enabled: true,
            max_visits_default: 10,
            max_transitions_default: 5,
            cycle_detection_enabled: true,
            cycle_detection_length: 3,
            trigger_hitl: true,
            hitl_label: "ashep-hitl:loop-prevention".into(),
            phases: ByName::new(),
        }
    }
}

/// Settings of one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PhaseConfig {
    /// Visits allowed for this phase; 0 for no limit, `maxVisitsDefault` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_visits: Option<u32>,
}
