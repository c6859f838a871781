//! One error that comes back whatever is called: an install with ever other flags, a cell written anew, a build after each edit.

use super::{INSTEAD, TROUBLE, TROUBLE_CHANGED, confidence};
use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::Streak;
use crate::rules::{Cx, Signal, Told};
use crate::state::{Call, Step};
use crate::text::{Edit, Key, combine, first_mark, frame, mark, root_line, told};
use alloc::{boxed::Box, format};

/// The latest error of an agent, and how often it came while that agent met no other.
#[derive(Clone, Debug, Default)]
pub(super) struct Trouble {
    /// A mark of the agent, 0 where events name none, and the kind of its latest call.
    agent: u32,
    last: u32,
    /// Its root, and the first line that is marked as an error, for a build ends in one line whatever is wrong; 0 for none.
    sign: u32,
    round: u32,
    /// Something was written since. What is restarted, deleted or installed is no attempt of its own at what is wrong.
    edited: bool,
    /// Only where it came back.
    back: Option<Box<Back>>,
}
codec!(struct Trouble { agent, last, sign, round, edited, back });

/// What came back, and what that is worth.
#[derive(Clone, Debug, Default)]
struct Back {
    points: u32,
    seen: Streak,
}
codec!(struct Back { points, seen });

/// The latest errors of the two agents that met one last: they may take turns at a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Troubles {
    latest: Trouble,
    other: Option<Box<Trouble>>,
}
codec!(struct Troubles { latest, other });

impl Troubles {
    /// That of an agent whose step is taken in; of none of the two, one that met nothing.
    pub(super) fn of(&mut self, agent: Key) -> &mut Trouble {
        let agent = if agent == 0 { 0 } else { mark(agent) };
        if agent != self.latest.agent {
            let known = self.other.take().filter(|other| other.agent == agent);
            let next = known.map_or_else(|| Trouble { agent, ..Trouble::default() }, |known| *known);
            let before = core::mem::replace(&mut self.latest, next);
            self.other = (before.last != 0).then(|| Box::new(before));
        }
        &mut self.latest
    }

    /// That of the latest step's agent.
    pub(super) const fn latest(&self) -> &Trouble {
        &self.latest
    }

    pub(super) fn forget(&mut self) {
        for trouble in core::iter::once(&mut self.latest).chain(self.other.as_deref_mut()) {
            (trouble.sign, trouble.back) = (0, None);
        }
    }

    pub(super) fn points(&self) -> u32 {
        self.latest.points().max(self.other.as_ref().map_or(0, |other| other.points()))
    }

    pub(super) fn fits(&self) -> bool {
        self.latest.fits() && self.other.as_ref().is_none_or(|other| other.fits())
    }
}

impl Trouble {
    /// Takes in a call, and tells whether the one before was of its kind: one thing after the other of a list.
    pub(super) fn follows(&mut self, step: &Step, call: &Call) -> bool {
        self.edited |= call.edit != Edit::No && !step.facts.failed;
        let kind = step.kin.now.kind;
        core::mem::replace(&mut self.last, kind) == kind
    }

    /// Takes in a call that ended in an error, and tells whether it came back. `listed` tells that the call before was of its kind.
    pub(super) fn took(&mut self, root: Key, step: &Step, call: &Call, output: &str, listed: bool, salt: u64) -> bool {
        let first = first_mark(output).map_or(0, frame);
        let line = root_line(output).map_or(0, |line| told(line, salt));
        let sign = mark(combine("stagnation/root", &[root, first.into(), line.into()])).max(1);
        let round = call.round.map_or(0, mark);
        let copy = round != 0 && round == self.round;
        self.round = round;
        let edited = core::mem::take(&mut self.edited);
        if sign != self.sign || step.fewer {
            (self.sign, self.back) = (sign, None);
            return false;
        }
        if listed || copy || step.slept || call.polling {
            return false;
        }
        let back = self.back.get_or_insert_default();
        back.points = back.points.saturating_add(if edited { TROUBLE_CHANGED } else { TROUBLE });
        back.seen.add(step.sighting, step.onset);
        true
    }

    pub(super) fn points(&self) -> u32 {
        self.back.as_ref().map_or(0, |back| back.points)
    }

    pub(super) fn told(&self, cx: &Cx<'_>) -> Option<Signal> {
        let back = self.back.as_ref()?;
        let identity = combine("stagnation/root", &[self.sign.into()]);
        let times = back.seen.times.saturating_add(1);
        Some(back.seen.signal(Told {
            kind: "same-trouble",
            identity,
            count: back.points,
            confidence: confidence(400, 14, back.points),
            signature: cx.named("error", '=', identity),
            message: format!("the same error came {times} times, whatever was called or changed in between"),
            instead: INSTEAD,
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::RepeatedError,
        }))
    }

    fn fits(&self) -> bool {
        self.back.as_ref().is_none_or(|back| back.seen.fits())
    }
}
