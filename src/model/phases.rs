use alloc::{collections::BTreeMap, string::String};
use serde::{Deserialize, Serialize};

/// How often the phases of a workflow may be entered and left, per task of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Phases {
    /// Whether transitions are judged at all.
    pub enabled: bool,
    /// Visits that a phase may have; 0 for any number.
    pub max_visits_default: u32,
    /// Times that a phase may be left for the same other phase; 0 for any number. A retry, from a phase to itself, is a
    /// visit and no transition.
    pub max_transitions_default: u32,
    /// Whether going back and forth between phases is found before a limit is reached.
    pub cycle_detection_enabled: bool,
    /// The most distinct phases that a cycle may go through to be found, 2 to 5.
    pub cycle_detection_length: u32,
    /// Whether what is refused goes to a human: `gate` instead of `block`.
    pub trigger_hitl: bool,
    /// The label that such a gate carries, 1 to 100 characters.
    pub hitl_label: String,
    /// Settings per phase, by its name.
    pub phases: BTreeMap<String, PhaseConfig>,
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
            phases: BTreeMap::new(),
        }
    }
}

/// Settings of one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PhaseConfig {
    /// Visits that this phase may have; 0 for any number, absent for `maxVisitsDefault`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_visits: Option<u32>,
}
