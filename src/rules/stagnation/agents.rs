//! What one agent did and met, kept apart from what another did at the same task: they may take turns.

use super::done::Done;
use super::kinds::Kinds;
use super::plans::Plans;
use super::rederived::Rederived;
use super::revisits::Revisits;
use super::trouble::Trouble;
use super::views::Views;
use crate::codec::codec;
use crate::state::Step;
use crate::text::{Key, mark};
use alloc::boxed::Box;

/// The two agents that acted last.
#[derive(Clone, Debug, Default)]
pub(super) struct Agents {
    latest: Agent,
    other: Option<Box<Agent>>,
}
codec!(struct Agents { latest, other });

#[derive(Clone, Debug, Default)]
pub(super) struct Agent {
    /// Mark of the agent; 0 if events name none.
    mark: u32,
    /// The kind of its latest call; 0 for none.
    last: u32,
    pub(super) kinds: Kinds,
    pub(super) rederived: Rederived,
    pub(super) trouble: Trouble,
    pub(super) views: Views,
    pub(super) revisits: Revisits,
    pub(super) plans: Plans,
    pub(super) done: Done,
}
codec!(struct Agent { mark, last, kinds, rederived, trouble, views, revisits, plans, done });

impl Agent {
    pub(super) fn begins_anew(&mut self) {
        *self = Self { mark: self.mark, last: self.last, ..Self::default() };
    }
}

impl Agents {
    /// The agent whose step is recorded, now the latest; without any state if it is neither of the two.
    pub(super) fn of(&mut self, agent: Key) -> &mut Agent {
        let mark = mark(agent);
        if mark != self.latest.mark {
            let known = self.other.take().filter(|other| other.mark == mark);
            let next = known.map_or_else(|| Agent { mark, ..Agent::default() }, |known| *known);
            let before = core::mem::replace(&mut self.latest, next);
            self.other = (before.last != 0).then(|| Box::new(before));
        }
        &mut self.latest
    }

    /// The user has spoken: what is done from now on was asked for.
    pub(super) fn heard(&mut self) {
        for agent in core::iter::once(&mut self.latest).chain(self.other.as_deref_mut()) {
            agent.rederived = Rederived::default();
            agent.trouble.forget();
            agent.views.ends();
            (agent.revisits, agent.plans) = (Revisits::default(), Plans::default());
            agent.done = Done::default();
        }
    }

    pub(super) fn points(&self) -> u32 {
        self.latest.points().max(self.other.as_ref().map_or(0, |other| other.points()))
    }

    pub(super) fn fits(&self) -> bool {
        self.latest.fits() && self.other.as_ref().is_none_or(|other| other.fits())
    }
}

impl Agent {
    /// Records the kind of a call; true if the previous call was of the same kind, as for the items of a list.
    pub(super) fn follows(&mut self, step: &Step) -> bool {
        let kind = step.kin.now.kind;
        core::mem::replace(&mut self.last, kind) == kind
    }

    fn points(&self) -> u32 {
        let Self { kinds, rederived, trouble, views, revisits, plans, done, .. } = self;
        let acts = kinds.points().max(rederived.points()).max(trouble.points());
        acts.max(views.points()).max(revisits.points()).max(plans.points()).max(done.points())
    }

    fn fits(&self) -> bool {
        let Self { kinds, views, revisits, done, .. } = self;
        kinds.fits() && views.fits() && revisits.fits() && done.fits()
    }
}
