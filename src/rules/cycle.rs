//! Catches: a lap that is walked again and again with the same outcomes, by one agent (whatever others do in the
//! meantime) or by several together; laps of more than ten steps even if a few of the steps are new.
//! Must not catch: laps in which an outcome differs; a single repeated step (another rule's); work with new changes,
//! each of which takes one lap off. Laps that check on something awaited have higher thresholds.
//! Idea: the periodic suffix of the sequence of (call, outcome, agent), and of each agent's own sequence if there are
//! several. A longer lap is a stretch in which hardly a step is new ([`long`]), and advice only; so is a row of steps
//! that were all made shortly before, in any order ([`row`]).

mod long;
mod row;

use crate::codec::{Codec, Reader, codec};
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::capped_confidence;
use crate::rules::{Cx, Extra, Fact, Facts, Limits, Outlook, Rule, Signal, SignalParts, View, advisory};
use crate::state::{Call, Changes, Occurrence, Onset, Ring, Step};
use crate::text::{Key, combine, mark, printable, sorted};
use alloc::{boxed::Box, format, vec::Vec};
use long::Long;

/// Longest lap that is followed step by step, in steps.
const LONGEST: usize = 10;
/// Factors on the thresholds: for a lap with waiting in it, and for one that mostly waits between pauses.
const WAITS: u8 = 3;
const PAUSED: u8 = 6;
/// Number of lap lengths followed: 2 to [`LONGEST`].
const PERIODS: usize = LONGEST - 1;
/// Minimum length of a lap, in steps, to count in full when numbers in its outcomes change.
const STEPS: u32 = 4;
/// Maximum number of agents with a walk of their own, if there are several agents.
const AGENTS: usize = 4;

pub(crate) struct Cycle;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    calls: Walk,
    long: Long,
    /// Parts that most runs do not need.
    rare: Option<Box<RareWalks>>,
}

#[derive(Clone, Debug, Default)]
struct RareWalks {
    /// The walk of custom events.
    customs: Walk,
    /// Each agent's own walk, the one at work last.
    own: Ring<AgentWalk>,
}
codec!(struct RareWalks { customs, own });

#[derive(Clone, Debug, Default)]
struct AgentWalk {
    agent: Key,
    walk: Walk,
}
codec!(struct AgentWalk { agent, walk });

impl State {
    /// The agent's own walk.
    fn own(&self, agent: Key) -> Option<&Walk> {
        let rare = self.rare.as_ref()?;
        rare.own.iter().find(|own| own.agent == agent).map(|own| &own.walk)
    }

    fn walks(&self) -> impl Iterator<Item = &Walk> {
        let rare = self
            .rare
            .iter()
            .flat_map(|rare| core::iter::once(&rare.customs).chain(rare.own.iter().map(|own| &own.walk)));
        core::iter::once(&self.calls).chain(rare)
    }
}
codec!(struct State { calls, long, rare });

#[derive(Clone, Debug, Default)]
struct Walk {
    /// The latest steps, at most [`LONGEST`].
    steps: Ring<WalkStep>,
    /// For each period, how many steps in a row equalled the step one period earlier.
    runs: Runs,
    /// The same, ignoring numbers in the outcomes.
    shapes: Runs,
}
codec!(struct Walk { steps, runs, shapes });

/// One per period; takes no memory while no step equals an earlier one.
#[derive(Clone, Debug, Default)]
struct Runs(Option<Box<[PeriodRun; PERIODS]>>);
codec!(struct Runs(_));

impl Runs {
    fn iter(&self) -> impl Iterator<Item = &PeriodRun> {
        self.0.iter().flat_map(|runs| runs.iter())
    }

    /// Takes in the step after `steps`, with `symbol` to compare; `of` reads the same of earlier steps.
    fn follow(&mut self, steps: &Ring<WalkStep>, changes: Changes, symbol: Key, of: fn(&WalkStep) -> Key) {
        let alike = |before: &WalkStep| of(before) == symbol;
        if self.0.is_none() && steps.iter().rev().skip(1).any(alike) {
            self.0 = Some(Box::default());
        }
        for (run, period) in self.0.iter_mut().flat_map(|runs| runs.iter_mut()).zip(2..) {
            match steps.nth_back(period - 1) {
                Some(before) if alike(before) => {
                    if run.length == 0 {
                        *run = PeriodRun {
                            mutations: changes.before as u32,
                            onset: before.at.onset(),
                            ..PeriodRun::default()
                        };
                    }
                    run.length = run.length.saturating_add(1);
                    run.now = changes.after as u32;
                }
                _ => *run = PeriodRun::default(),
            }
        }
        if self.iter().all(|run| run.length == 0) {
            self.0 = None;
        }
    }
}

#[derive(Clone, Debug)]
struct WalkStep {
    symbol: Key,
    /// Equal for outcomes that differ in their numbers only.
    shape: u32,
    /// Mark of the call; 0 for none.
    call: u32,
    /// Factor on the thresholds.
    scale: u8,
    at: Occurrence,
}

/// Most outcomes have no shape of their own; `shape` is then the symbol's mark, and encoded as 0.
impl Codec for WalkStep {
    const SIZE: usize = 8 + 4 + 4 + 8 + Occurrence::SIZE;

    fn put(&self, to: &mut Vec<u8>) {
        let Self { symbol, shape, call, scale, at } = self;
        symbol.put(to);
        (if *shape == mark(*symbol) { 0 } else { *shape }).put(to);
        call.put(to);
        scale.put(to);
        at.put(to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        let (symbol, shape) = (Key::take(from), u32::take(from));
        let shape = if shape == 0 { mark(symbol) } else { shape };
        Self { symbol, shape, call: u32::take(from), scale: u8::take(from), at: Occurrence::take(from) }
    }
}

impl WalkStep {
    fn symbol(&self) -> Key {
        self.symbol
    }

    fn shape(&self) -> Key {
        self.shape.into()
    }

    fn call(&self) -> Key {
        self.call.into()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct PeriodRun {
    length: u32,
    /// New mutations when the matching began, and after its latest step; low halves of the counters.
    mutations: u32,
    now: u32,
    onset: Onset,
}
codec!(struct PeriodRun { length, mutations, now, onset });

impl PeriodRun {
    /// How often the lap was walked; each new mutation takes one off.
    fn laps(&self, period: u32) -> u32 {
        (self.length / period + 1).saturating_sub(self.now.wrapping_sub(self.mutations))
    }
}

impl Walk {
    /// Whether a call belongs to a lap that has reached a rung.
    fn goes_on(&self, call: &Call, cx: &Cx<'_>) -> bool {
        self.lap(cx).is_some_and(|(period, ..)| {
            let mut lap = self.steps.iter().rev().take(period as usize);
            lap.any(|seen| seen.call == mark(call.key))
        })
    }

    /// The shortest lap whose count reaches a rung: period, laps, factor on the thresholds, onset.
    fn lap(&self, cx: &Cx<'_>) -> Option<(u32, u32, u32, Onset)> {
        self.laps().find(|(_, laps, scale, _)| cx.limits.reached_scaled(*laps, *scale))
    }

    fn outlook(&self, view: &View<'_>) -> Outlook {
        let laps = self.laps();
        let same = Outlook::of_all(laps.map(|(_, laps, scale, _)| view.with(&view.limits.times(scale), laps)));
        let counting = self.counting();
        same.furthest(Outlook::of_all(counting.map(|(_, laps, _)| view.advisory(view.limits, laps))))
    }

    /// Every lap that is being walked, shortest first: period, laps, factor on the thresholds, onset.
    fn laps(&self) -> impl Iterator<Item = (u32, u32, u32, Onset)> {
        self.runs.iter().zip(2_u32..).filter_map(move |(run, period)| {
            let lap = self.several(run, period, WalkStep::symbol)?;
            // Pauses count as such only if at least half of the steps wait.
            let waits = lap.clone().filter(|seen| seen.scale > 1).count();
            let most = if waits * 2 >= period as usize { PAUSED } else { WAITS };
            let scale = lap.map(|seen| seen.scale).max()?.min(most);
            Some((period, run.laps(period), scale.into(), run.onset))
        })
    }

    /// The latest lap of a run, unless all its steps are alike: that is not a cycle of several steps.
    fn several(
        &self,
        run: &PeriodRun,
        period: u32,
        of: fn(&WalkStep) -> Key,
    ) -> Option<impl Iterator<Item = &WalkStep> + Clone> {
        let lap = self.steps.iter().rev().take(period as usize);
        let last = self.steps.last().map(of)?;
        (run.length >= period && lap.clone().any(|seen| of(seen) != last)).then_some(lap)
    }

    /// Laps in which only numbers change (moves, visitors, items left), as (period, laps, onset). One lap less counts,
    /// and a lap counts in full from [`STEPS`] steps on. Laps with waiting in them do not count: the numbers may be
    /// what is awaited.
    fn counting(&self) -> impl Iterator<Item = (u32, u32, Onset)> {
        self.shapes.iter().zip(2_u32..).filter_map(move |(run, period)| {
            let mut lap = self.several(run, period, WalkStep::call)?;
            let laps = run.laps(period);
            let whole = laps.saturating_sub(1).min(laps.saturating_mul(period) / STEPS);
            lap.all(|seen| seen.scale == 1).then_some((period, whole, run.onset))
        })
    }

    /// Takes in the next step.
    fn step(&mut self, step: &Step, changes: Changes) {
        let call = step.call.as_ref();
        let symbol_of = |outcome: Key| combine("step", &[call.map_or(step.tool, |call| call.key), outcome, step.agent]);
        let symbol = symbol_of(step.facts.light);
        // Most shapes equal the masked outcome and add nothing.
        let shape = step.facts.shape.filter(|shape| *shape != step.facts.light);
        let shape = mark(shape.map_or(symbol, symbol_of));
        self.runs.follow(&self.steps, changes, symbol, WalkStep::symbol);
        self.shapes.follow(&self.steps, changes, shape.into(), WalkStep::shape);
        let facts = &step.facts;
        let waits = facts.waiting
            || step.watches()
            || step.paused() && facts.transient
            || call.is_some_and(|call| call.polling);
        let seen = WalkStep {
            symbol,
            shape,
            call: call.map_or(0, |call| mark(call.key)),
            scale: if waits && step.paused() {
                PAUSED
            } else if waits {
                WAITS
            } else {
                1
            },
            at: step.occurrence(),
        };
        self.steps.push(seen, LONGEST);
    }

    fn signal(&self, tool: &str, cx: &Cx<'_>) -> Option<Signal> {
        let exact = self.lap(cx);
        let counts = exact.is_none();
        let counting = || {
            let mut laps = self.counting().filter(|(_, laps, _)| cx.limits.reached(*laps));
            laps.next().map(|(period, laps, onset)| (period, laps, 1, onset))
        };
        let (period, laps, scale, onset) = exact.or_else(counting)?;
        let (symbol, outcomes): (fn(&WalkStep) -> Key, _) = if counts {
            (WalkStep::shape, "outcomes that differ only in figures")
        } else {
            (WalkStep::symbol, "the same outcomes")
        };
        let lap: Vec<&WalkStep> = self.steps.iter().skip(self.steps.len().saturating_sub(period as usize)).collect();
        // Independent of the position within the lap.
        let symbols: Vec<Key> = sorted(lap.iter().map(|seen| symbol(seen)).collect());
        let identity = combine("cycle", &symbols);
        // The same for different agents.
        let shown: Vec<Key> = sorted(lap.iter().map(|seen| seen.at.sighting().key).collect());
        let shown = combine("cycle", &shown);
        let tool = printable(tool, 48);
        let message =
            format!("The same {period} steps, including `{tool}`, were repeated {laps} times with {outcomes}");
        let signal = Signal {
            scale,
            period: Some(period),
            extra: Extra { each: Some(1), ..Extra::default() },
            ..SignalParts {
                kind: "repeated-lap",
                identity,
                count: laps,
                confidence: capped_confidence((650, 50, 7), laps),
                signature: cx.named(&format!("cycle:{period}"), '#', shown),
                message,
                instead: if scale > 1 {
                    "Find out whether what you are waiting for is still alive, or stop waiting."
                } else {
                    "Decide which step should have had a different outcome, and change its input."
                },
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Oscillating,
            }
            .signal(onset, lap.iter().map(|seen| seen.at.sighting()).collect())
        };
        Some(if counts { advisory(signal, cx) } else { signal })
    }
}

impl Rule for Cycle {
    const ID: &'static str = "cycle";
    const ABOUT: &'static str = "The same steps with the same outcomes, lap after lap, apart from figures; steps that had all been made shortly before.";
    const UNIT: &'static str = "laps";
    const LIMITS: Limits = Limits::ladder(3, 5, 9, 0);
    const SEES: Facts = Facts::CALL.and(Facts::STEP).and(Facts::CUSTOM);
    const LOOKS_AHEAD: bool = true;
    type State = State;

    /// Refusing one step of the lap would only move the loop to the others, so every step is refused.
    fn ahead(state: &State, call: &Call, cx: &Cx<'_>) -> Option<Signal> {
        let walks = state.own(call.agent).into_iter().chain(core::iter::once(&state.calls));
        walks.filter(|walk| walk.goes_on(call, cx)).find_map(|walk| walk.signal(&call.name, cx))
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, result) if step.leaves_more(result) => None,
            Fact::Step(step, result) => {
                let tool = step.name(result);
                state.long.step(step);
                if cx.run.alone {
                    state.calls.step(step, step.all);
                    return state.calls.signal(tool, cx).or_else(|| state.long.signal(step, cx));
                }
                let own = &mut state.rare.get_or_insert_default().own;
                if let (0, Some(agent)) = (own.len(), cx.run.first) {
                    own.push(AgentWalk { agent, walk: state.calls.clone() }, AGENTS);
                }
                state.calls.step(step, step.all);
                let together = state.calls.signal(tool, cx);
                let agent = step.agent;
                let new = || AgentWalk { agent, ..AgentWalk::default() };
                let known = own.renew(AGENTS, |own| own.agent == agent, new)?;
                known.walk.step(step, step.own);
                // Each agent is told about its own laps.
                known.walk.signal(tool, cx).or(together).or_else(|| state.long.signal(step, cx))
            }
            Fact::Custom(step) => {
                let walk = &mut state.rare.get_or_insert_default().customs;
                walk.step(step, step.all);
                walk.signal(&step.call.as_ref()?.name, cx)
            }
            _ => None,
        }
    }

    fn outlook(state: &State, view: &View<'_>) -> Outlook {
        Outlook::of_all(state.walks().map(|walk| walk.outlook(view))).furthest(state.long.outlook(view))
    }

    fn fits(state: &State) -> bool {
        state.walks().all(|walk| {
            walk.steps.len() <= LONGEST && walk.steps.iter().all(|seen| matches!(seen.scale, 1 | WAITS | PAUSED))
        }) && state.long.fits()
            && state.rare.iter().all(|rare| rare.own.len() <= AGENTS)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::{Script, alone, events};
    use alloc::{format, vec::Vec};

    const RULE: &str = "cycle";
    /// Only the rule under test.
    const ALONE: &str = r#"{"rules":{"repeated-call":{"enabled":false},"repeated-error":{"enabled":false}}}"#;

    #[test]
    fn laps() {
        Script::new(ALONE).play("a:x b:y a:x b:y a:x").expect(RULE, &[]);
        Script::new(ALONE).play("a:x b:y a:x b:y a:x b:y").expect(RULE, &[(11, Nudge)]);
        Script::new(ALONE).play("a:x b:y c:z a:x b:y c:z a:x b:y c:z").expect(RULE, &[(17, Nudge)]);
        Script::new(ALONE).play("a:x b:y a:x b:y a:x b:y a:x b:y a:x b:y").last(RULE, Block);
        let ten = "a:0 b:1 c:2 d:3 e:4 f:5 g:6 h:7 i:8 j:9 ";
        Script::new(&alone(RULE)).play(&ten.repeat(3)).last(RULE, Nudge);
        Script::new(ALONE).play(&ten.repeat(9)).last(RULE, Halt);
    }

    #[test]
    fn agents_that_work_beside_each_other() {
        // One agent loops, the other makes progress; each is judged by itself.
        let beside: Vec<alloc::string::String> =
            (0..6).map(|n| format!("^1 {} ^2 c{n}:{n}", if n % 2 == 0 { "a:x" } else { "b:y" })).collect();
        let played = Script::new(ALONE).play(&beside.join(" "));
        played.expect(RULE, &[(21, Nudge)]);
        assert_eq!(played.findings(RULE)[0].count, 3);
        // Both loop, each in its own lap: one finding each.
        let both = "^1 a:x ^2 c:z ^1 b:y ^2 d:w ".repeat(3);
        Script::new(ALONE).play(&both).expect(RULE, &[(21, Nudge), (23, Nudge)]);
        let uneven = "^1 a:x ^2 c:z ^2 c:0 ^2 c:1 ^1 b:y ^2 d:w ^2 d:0 ".repeat(3);
        Script::new(ALONE).play(&uneven).strongest(RULE, Nudge);
    }

    #[test]
    fn no_laps() {
        // A single step, a different outcome in each lap, a new change in each lap.
        Script::new(ALONE).play("a:x a:x a:x a:x a:x a:x a:x a:x").expect(RULE, &[]);
        Script::new(ALONE).play("a:x b:1 a:x b:2 a:x b:3 a:x b:4").expect(RULE, &[]);
        Script::new(ALONE).play("*1 b!y *2 b!y *3 b!y *4 b!y *5 b!y").expect(RULE, &[]);
    }

    #[test]
    fn refused_and_walked_again() {
        // As many laps as if they had run: the ninth halts.
        let five = "a:x b:y ".repeat(5);
        let refused = |laps: usize| Script::new(ALONE).play(&(five.clone() + &"a~ b~ ".repeat(laps)));
        refused(3).strongest(RULE, Block);
        refused(4).last_but_one(RULE, Halt);
    }

    #[test]
    fn laps_of_custom_events() {
        let custom = |key: &str| format!(r#"{{"type":"custom","name":"state","key":"{key}","outcome":"entered"}}"#);
        let walk = |keys: &str| events("{}", keys.split_whitespace().map(custom));
        walk("a b a b a b").expect(RULE, &[(5, Nudge)]);
        walk("a b a c a d").expect(RULE, &[]);
        // A lap of calls is one whatever is reported between them.
        let mut all = Vec::new();
        for n in 0..6 {
            let tool = if n % 2 == 0 { "look" } else { "turn" };
            all.push(format!(r#"{{"type":"tool-call","tool":"{tool}"}}"#));
            all.push(format!(r#"{{"type":"tool-result","tool":"{tool}","outcome":"ok","output":"a wall"}}"#));
            all.push(custom(&format!("tick-{n}")));
        }
        events(ALONE, all).expect(RULE, &[(16, Nudge)]);
    }

    #[test]
    fn every_step_of_the_lap_is_refused() {
        let laps = "a:x b:y a:x b:y a:x b:y a:x b:y a:x b:y ";
        for (next, refused) in [("?a", true), ("?b", true), ("?c", false)] {
            let played = Script::new(ALONE).play(&(alloc::string::String::from(laps) + next));
            if refused { played.last(RULE, Block) } else { played.last_silent(RULE) }
        }
    }
}
