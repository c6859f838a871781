//! What the three rules about the phases of a workflow share: which events they judge, how a phase is named, what
//! refusing a transition means.
//!
//! `check` judges a transition as if it were made, `record` makes it: a transition that was refused and is recorded all
//! the same has happened and counts. Counts are per task of a run. A reset of the task and a human's `continue` clear
//! them, so that what a human has cleared is not blocked again at once.
//!
//! A phase entered from itself is a retry: a visit, but no transition. The document's first example counts five retries
//! of `test` as visits and nothing else, and its transitions are pairs of two phases.

use crate::codec::codec;
use crate::model::{Body, Error, Level, Phases, Recommendation, Transition};
use crate::rules::settings::{invalid, within};
use crate::rules::{Cx, Fact, LONGEST_NAME, Signal, description};
use crate::state::{Onset, Sighting};
use crate::text::{Key, key, printable};
use alloc::{format, string::String, vec::Vec};

/// Characters of a phase's name in messages: no name that is accepted is ever cut.
const NAME: usize = LONGEST_NAME;

/// Whether a rule refuses transitions between phases.
pub(crate) fn is_about_phases(rule: &str) -> bool {
    description(rule).is_some_and(|rule| rule.refused.is_some())
}

/// Checks the configuration's section `phases`.
///
/// # Errors
/// `invalid-config`, naming the field.
pub(super) fn validate(phases: &Phases) -> Result<(), Error> {
    within("phases.cycleDetectionLength", phases.cycle_detection_length.into(), 2..=5, "")?;
    let label = &phases.hitl_label;
    if !(1..=100).contains(&label.chars().count()) || label.chars().any(char::is_control) {
        let message = "expected 1 to 100 characters, none of them a control character";
        return Err(invalid("phases.hitlLabel", message).with(label));
    }
    if let Some(blank) = phases.phases.keys().find(|name| name.trim().is_empty()) {
        return Err(invalid(&format!("phases.phases.{blank}"), "a phase needs a name"));
    }
    Ok(())
}

/// The transition that a fact reports; `None` if phases are disabled.
pub(super) fn transition<'a>(fact: &Fact<'a>, cx: &Cx<'_>) -> Option<&'a Transition> {
    match fact {
        Fact::Event(event) if cx.config.phases.enabled => match &event.body {
            Body::Transition(transition) => Some(transition),
            _ => None,
        },
        _ => None,
    }
}

/// The phase left for another one; `None` for a retry, which goes from a phase to itself.
pub(super) fn left(transition: &Transition) -> Option<&str> {
    transition.from.as_deref().filter(|from| *from != transition.to)
}

pub(super) fn phase_key(phase: &str) -> Key {
    key("phase", phase.as_bytes())
}

pub(super) fn phase_name(phase: &str) -> String {
    printable(phase, NAME).into_owned()
}

/// Whether a restored name is within the length that [`phase_name`] allows.
pub(super) fn name_fits(name: &str) -> bool {
    name.len() <= NAME * 4
}

/// A nudge: the transition is allowed, the next one of its kind will not be.
pub(super) fn warned(found: Signal) -> Signal {
    Signal { ask: Some(Level::Nudge), ..found }
}

/// The transition is refused: by a gate before a human if `triggerHitl` is set, else by a block.
pub(super) fn refused(mut found: Signal, phases: &Phases) -> Signal {
    found.ask = Some(if phases.trigger_hitl { Level::Gate } else { Level::Block });
    if phases.trigger_hitl {
        found.advice.recommendation = Recommendation::Escalate;
        found.extra.more.get_or_insert_default().label = Some(phases.hitl_label.clone());
    }
    found
}

/// How often something happened, since when, and the latest three occurrences as evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    pub(super) count: u32,
    pub(super) onset: Onset,
    latest: [Sighting; 3],
}
codec!(struct Tally { count, onset, latest });

impl Tally {
    /// Upper bound of its encoded size in bytes.
    pub(super) fn weight(&self) -> usize {
        5 + self.onset.weight() + self.latest.iter().map(Sighting::weight).sum::<usize>()
    }

    pub(super) fn add(&mut self, sighting: Sighting, onset: Onset) {
        if self.count == 0 {
            self.onset = onset;
        }
        self.count = self.count.saturating_add(1);
        self.latest.rotate_left(1);
        if let Some(last) = self.latest.last_mut() {
            *last = sighting;
        }
    }

    /// The latest sightings, oldest first.
    pub(super) fn sightings(&self) -> Vec<Sighting> {
        let unused = self.latest.len().saturating_sub(self.count as usize);
        self.latest.iter().skip(unused).copied().collect()
    }
}
