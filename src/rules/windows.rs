//! The family of windows: the outcomes of the latest calls of each tool by one agent, and how many of them are alike.
//!
//! A rule of the family is a [`Row`]: what a tool's window implies for a call about to run, how a call's outcome
//! affects the window, and how much evidence a window holds. Which tools are watched, and how windows are stored,
//! bounded and saved, is shared code. To add a rule: its row in a file of its own with `windows!` above it, its place
//! in the order of checks (`registry!`), and its cases.

use crate::codec::{Codec, codec};
use crate::model::ToolResult;
use crate::rules::{Cx, Fact, Facts, Limits, Outlook, Payload, Signal, View};
use crate::state::{Call, Ring, Step};
use crate::text::Key;

/// A rule of the family, which keeps an `E` per call, and an `X` that belongs to no single tool.
pub(super) struct Row<E: 'static, X: 'static = ()> {
    pub(super) id: &'static str,
    pub(super) about: &'static str,
    pub(super) unit: &'static str,
    pub(super) limits: Limits,
    pub(super) sees: Facts,
    /// Maximum number of tools watched at once.
    pub(super) tools: usize,
    /// Maximum number of items kept per tool.
    pub(super) kept: u32,
    /// Whether the window size can be configured, up to `kept`.
    pub(super) set: bool,
    /// What a tool's window implies for a call that is about to run.
    pub(super) ahead: fn(&Window<E>, &Call, &Cx<'_>) -> Option<Signal>,
    /// Notes a call that is about to run.
    pub(super) called: fn(&mut X, &Call, &Payload<'_>),
    /// Whether the outcome of a call may concern the existing windows; a cheap check.
    pub(super) heeds: fn(&State<E, X>, &Step) -> bool,
    /// Takes in the outcome of a call: updates the tool's window, may return a signal, and says what becomes of the
    /// window. For a tool that is not watched yet the window is empty, and is kept only if it becomes the newest.
    pub(super) see: See<E, X>,
    /// The evidence in a window, and what comes next.
    pub(super) holds: fn(&Window<E>, &X, &View<'_>) -> Outlook,
    /// Whether restored state is within its caps, apart from the windows themselves.
    pub(super) fits: fn(&State<E, X>) -> bool,
}

/// [`After`] is an out-parameter because signals are large and usually absent: they should not be moved for nothing.
type See<E, X> = fn(&mut Window<E>, &mut X, &Step, &ToolResult, &Cx<'_>, &mut After) -> Option<Signal>;

/// A tool in the hands of one agent; the tool itself if the host names no agents, or a task, which agents hand on.
const fn of_agent(tool: Key, agent: Key, cx: &Cx<'_>) -> Key {
    if cx.task == 0 { tool ^ agent.rotate_left(17) } else { tool }
}

/// What is kept of one tool, newest last.
#[derive(Clone, Debug)]
pub(crate) struct Window<E> {
    /// [`of_agent`]. Not for signatures, which do not depend on agents' names.
    pub(super) tool: Key,
    pub(super) seen: Ring<E>,
}
codec!(struct Window<E> { tool, seen });

/// What becomes of a window after an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Stays where it is.
    Same,
    /// Becomes the newest, that is, the last to be dropped.
    Newest,
    Dropped,
}

/// A rule's memory of a run.
#[derive(Clone, Debug)]
pub(crate) struct State<E, X = ()> {
    pub(super) tools: Ring<Window<E>>,
    pub(super) more: X,
}
codec!(struct State<E, X> { tools, more });

impl<E, X: Default> Default for State<E, X> {
    fn default() -> Self {
        Self { tools: Ring::default(), more: X::default() }
    }
}

impl<E: Codec, X> Row<E, X> {
    pub(super) fn observe(&self, state: &mut State<E, X>, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Step(step, result) = fact else { return None };
        let tool = of_agent(step.tool, step.agent, cx);
        let known = state.tools.iter().position(|window| window.tool == tool);
        let mut new = Window { tool, seen: Ring::default() };
        let window = known.and_then(|index| state.tools.iter_mut().nth(index)).unwrap_or(&mut new);
        let mut after = After::Same;
        // Without a signal there is nothing to move.
        let Some(signal) = (self.see)(window, &mut state.more, step, result, cx, &mut after) else {
            self.put_back(state, known, new, after);
            return None;
        };
        self.put_back(state, known, new, after);
        Some(signal)
    }

    /// The signal for a call that is about to run; `None` if its tool is not watched.
    pub(super) fn ahead(&self, state: &State<E, X>, call: &Call, cx: &Cx<'_>) -> Option<Signal> {
        let tool = of_agent(call.tool, call.agent, cx);
        let window = state.tools.iter().find(|window| window.tool == tool)?;
        (self.ahead)(window, call, cx)
    }

    /// Applies `after` to a tool's window, which is the one at index `known`, or the `new` one.
    fn put_back(&self, state: &mut State<E, X>, known: Option<usize>, new: Window<E>, after: After) {
        let newest = known.is_some_and(|index| index + 1 == state.tools.len());
        if after == After::Same || after == After::Newest && newest {
            return;
        }
        let window = known.and_then(|index| state.tools.remove(index)).unwrap_or(new);
        if after == After::Newest {
            state.tools.push(window, self.tools);
        }
    }

    pub(super) fn outlook(&self, state: &State<E, X>, view: &View<'_>) -> Outlook {
        Outlook::of_all(state.tools.iter().map(|window| (self.holds)(window, &state.more, view)))
    }

    pub(super) fn fits(&self, state: &State<E, X>) -> bool {
        state.tools.len() <= self.tools
            && state.tools.iter().all(|window| window.seen.len() <= self.kept as usize)
            && (self.fits)(state)
    }
}

/// Implements the rule that a row describes, given the types it keeps.
macro_rules! windows {
    ($name:ident = $row:ident of $item:ty $(, $more:ty)?) => {
        pub(crate) struct $name;

        impl $crate::rules::Rule for $name {
            const ID: &'static str = $row.id;
            const ABOUT: &'static str = $row.about;
            const UNIT: &'static str = $row.unit;
            const LIMITS: $crate::rules::Limits = $row.limits;
            const MAX_WINDOW: u32 = if $row.set { $row.kept } else { 0 };
            const SEES: $crate::rules::Facts = $row.sees;
            const LOOKS_AHEAD: bool = true;
            type State = $crate::rules::windows::State<$item $(, $more)?>;

            fn reach(window: u32) -> u32 {
                if $row.set { window } else { $row.kept }
            }

            #[inline]
            fn heeds(
                state: &Self::State,
                fact: &$crate::rules::Fact<'_>,
                _cx: &$crate::rules::Cx<'_>,
            ) -> bool {
                !matches!(fact, $crate::rules::Fact::Step(step, _) if !($row.heeds)(state, step))
            }

            fn observe(
                state: &mut Self::State,
                fact: &$crate::rules::Fact<'_>,
                cx: &$crate::rules::Cx<'_>,
            ) -> Option<$crate::rules::Signal> {
                $row.observe(state, fact, cx)
            }

            fn ahead(
                state: &Self::State,
                call: &$crate::state::Call,
                cx: &$crate::rules::Cx<'_>,
            ) -> Option<$crate::rules::Signal> {
                $row.ahead(state, call, cx)
            }

            fn called(state: &mut Self::State, call: &$crate::state::Call, payload: &$crate::rules::Payload<'_>) {
                ($row.called)(&mut state.more, call, payload);
            }

            fn outlook(state: &Self::State, view: &$crate::rules::View<'_>) -> $crate::rules::Outlook {
                $row.outlook(state, view)
            }

            fn fits(state: &Self::State) -> bool {
                $row.fits(state)
            }
        }
    };
}
pub(super) use windows;
