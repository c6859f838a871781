//! Catches: consecutive attempts that hardly differ and end in the same root error: a cell with a new comment, a
//! booking with the same sum.
//! Must not catch: attempts with something else done in between, errors that move on, searches that find nothing,
//! retries of what waiting may resolve, errors that become fewer or that each name another thing which is then fixed,
//! listings that quote an error.
//! Idea: traces, line numbers and duplicated logs change around an error, its root does not; and a program that differs
//! in a name or a comment is the same program. What a user says in between changes neither.

use crate::codec::codec;
use crate::model::{HaltReason, Level, Outcome, Recommendation, ToolResult};
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Outlook, Payload, Rule, Signal, SignalParts, View, advisory};
use crate::state::{Call, Step, Visibility};
use crate::text::{Edit, Empty, Key, Late, Tokens, combine, frame, mark, printable, progress, trimmed};
use crate::tuned;
use alloc::{boxed::Box, format, vec::Vec};

/// Root lines of errors kept of a row of attempts.
const LINES: usize = 8;
/// Attempts that are needed in addition if each error names something new.
const MENDED: u32 = 2;

/// Words from which a user's message asks for another attempt.
const WORDS: usize = 3;

pub(crate) struct Resubmission;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// The latest call, while it waits for its result.
    called: Option<(Key, Late<Tokens>)>,
    last: Option<Box<Attempt>>,
    /// A user's message or a noted thought has come since the latest attempt: something, but no work. And the message
    /// was no mere `ok` or `hello?`.
    between: bool,
    asked: bool,
}
codec!(struct State { called, last, between, asked });

#[derive(Clone, Debug)]
struct Attempt {
    tool: Key,
    root: Key,
    call: Key,
    target: u32,
    light: Key,
    /// How far along the error said that something was; 0 for the first of a row.
    progress: u32,
    /// Errors or failing tests that it counted; 0 for none.
    wrong: u32,
    tokens: Late<Tokens>,
    attempts: Streak,
    /// How many of the latest attempts were the same call with the same error.
    equal: u32,
    /// A user's message or a noted thought came between two of them.
    apart: bool,
    /// The user asked between any two of them: each was wanted.
    ordered: bool,
    /// The latest one was reported as an error, rather than merely showing one in its output.
    said: bool,
    /// Mark of the round; 0 for none.
    round: u32,
    /// Marks of the errors' root lines without their figures.
    lines: Vec<u32>,
    /// Each error has named something that none before it had.
    moves: bool,
}
codec!(struct Attempt { tool, root, call, target, light, progress, wrong, tokens, attempts, equal, apart, ordered, said, round, lines, moves });

impl Attempt {
    /// The evidence, in attempts. Fixing what each error names is progress, so more of such attempts are needed.
    fn count(&self) -> u32 {
        let times = self.attempts.times;
        if self.moves { times.saturating_sub(MENDED).max(1) } else { times }
    }

    fn is_equal(&self) -> bool {
        self.equal >= self.attempts.times
    }

    /// Whether the agent insists: after a nudge, it made the same call again and got the same error.
    fn insists(&self, nudge: u32) -> bool {
        self.said && self.apart && !self.ordered && self.equal >= nudge && self.attempts.times > nudge
    }

    /// The signal, if a threshold is reached.
    fn signal(&self, name: &str, cx: &Cx<'_>) -> Option<Signal> {
        let (count, equal) = (self.count(), self.is_equal());
        // Equal attempts with nothing in between belong to another rule.
        if !cx.limits.reached(count) || equal && !self.apart {
            return None;
        }
        let name = printable(name, 48);
        let (kind, alike, failed) = if equal {
            ("unchanged", "the same arguments", "with the same error")
        } else {
            ("cosmetic", "nearly the same arguments", "for the same reason")
        };
        let mut signal = self.attempts.signal(SignalParts {
            kind,
            identity: combine("resubmission", &[self.tool, self.root]),
            count,
            confidence: confidence(500, 60, count),
            signature: cx.named(&name, '!', self.root),
            message: format!("`{name}` was called {count} times in a row with {alike} and failed {failed} each time"),
            instead: "Read the last line of the error and change what it names, or first look at what it is about.",
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::RepeatedError,
        });
        let Limits { nudge, block, .. } = *cx.limits;
        // Only who insists is blocked.
        if !self.insists(nudge) && nudge != 0 && count >= nudge {
            return Some(advisory(signal, cx));
        }
        if block != 0 && !equal {
            signal.ask = Some(Level::Block);
            signal.extra.threshold = Some(block);
        }
        Some(signal)
    }

    fn outlook(&self, view: &View<'_>) -> Outlook {
        let (count, limits) = (self.count(), view.limits);
        let Limits { nudge, block, .. } = *limits;
        match (self.is_equal(), self.apart) {
            // Belongs to another rule.
            (true, false) => Outlook::default(),
            (true, true) if nudge == 0 => view.of(count),
            (true, true) if self.said && !self.ordered && block != 0 => {
                view.with(&Limits { block: block.max(nudge.saturating_add(1)), ..*limits }, count)
            }
            (true, true) => view.advisory(limits, count),
            (false, _) if nudge == 0 && block == 0 => view.of(count),
            // If the agent insists after a nudge, a block, and never more than that.
            (false, true) if self.said && !self.ordered && self.equal > 1 && nudge != 0 && block != 0 => {
                let more = nudge.saturating_sub(self.equal).max(nudge.saturating_add(1).saturating_sub(count));
                let block = count.saturating_add(more);
                view.with(&Limits { block, gate: 0, halt: 0, ..*limits }, count)
            }
            (false, _) if nudge == 0 => view.with(&Limits { gate: 0, halt: 0, ..*limits }, count),
            (false, _) => view.advisory(limits, count),
        }
    }
}

impl State {
    /// Records a failed attempt.
    fn failed(&mut self, step: &Step, call: &Call, root: Key, tokens: Late<Tokens>, result: &ToolResult) -> &Attempt {
        let last = self.last.take().filter(|last| last.tool == step.tool && last.root == root);
        // What a program is about shows in its text alone.
        let target = if call.runs_a_program() { 0 } else { step.target() };
        let how_far = if last.is_some() { progress(&result.output) } else { 0 };
        // Its root line without its figures. Errors without a root are the same only as a whole.
        let line = step.root_line(result).map(frame);
        let wrong = line.map_or(0, |_| step.wrong(result));
        // An error that names what is new in the arguments is about another thing, unless they are a program.
        let program = call.runs_a_program() || call.sees != Visibility::Own || call.edit != Edit::No;
        let names = if program { "" } else { step.root_line(result).unwrap_or_default() };
        let is_again = |last: &Tokens, now: &Tokens| {
            last.alike(now) >= tuned::ATTEMPT_ALIKE.get() as usize && !now.adds(last, names)
        };
        let again = last.filter(|last| {
            (wrong == 0 || wrong >= last.wrong)
                && (last.target == 0 || target == 0 || last.target == target)
                && (last.progress == 0 || last.progress == how_far)
                && (last.call == call.key || is_again(last.tokens.get().as_ref(), tokens.get().as_ref()))
        });
        let round = call.round.map_or(0, mark);
        let again = match again {
            // The calls of a round were made before any of them was answered: they are one attempt.
            Some(last) if round != 0 && last.round == round => return self.last.insert(last),
            again => again,
        };
        let mut next = Attempt {
            tool: step.tool,
            root,
            call: call.key,
            target,
            light: step.facts.light,
            progress: how_far,
            wrong,
            tokens,
            attempts: Streak::default(),
            equal: 1,
            apart: false,
            ordered: true,
            said: step.facts.class.is_some(),
            round,
            lines: Vec::new(),
            moves: true,
        };
        let (between, asked) = (core::mem::take(&mut self.between), core::mem::take(&mut self.asked));
        if let Some(last) = again {
            if last.call == call.key && last.light == step.facts.light {
                next.equal = last.equal.saturating_add(1);
            }
            next.apart = last.apart || between;
            next.ordered = last.ordered && asked;
            next.attempts = last.attempts;
            next.moves = last.moves && line.is_some_and(|line| !last.lines.contains(&line));
            next.lines = last.lines;
        }
        if next.moves {
            next.lines.extend(line);
            next.lines.truncate(LINES);
        } else {
            next.lines.clear();
        }
        next.attempts.add(step.sighting, step.onset);
        self.last.insert(Box::new(next))
    }
}

impl Rule for Resubmission {
    const ID: &'static str = "resubmission";
    const ABOUT: &'static str = "Consecutive attempts that hardly differ and end in the same root error.";
    const UNIT: &'static str = "attempts";
    const LIMITS: Limits = Limits::ladder(3, 4, 8, 0);
    const OUTLIVES_EVIDENCE: bool = true;
    const IN_LANE: bool = true;
    const SEES: Facts = Facts::CALL.and(Facts::STEP).and(Facts::NOT_RUN).and(Facts::USER_MESSAGE);
    // It never judges a call before its outcome is known.
    const LOOKS_AHEAD: bool = true;
    type State = State;

    fn called(state: &mut State, call: &Call, payload: &Payload<'_>) {
        let tokens = call.echo.beside().unwrap_or_else(|| Late::read(Tokens::of(payload)));
        if state.called.replace((call.key, tokens)).is_some() {
            // Several calls at once are no consecutive attempts.
            state.last = None;
        }
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, result) => {
                let (key, tokens) = state.called.take()?;
                let call = step.call.as_ref().filter(|call| call.key == key && !call.polling);
                let idle = step.outcome == Outcome::Ok && trimmed(&result.output).is_empty();
                if idle && step.call.as_ref().is_some_and(|call| !call.mutates && call.quiet != Empty::Blank) {
                    // A noted thought does nothing.
                    state.between = true;
                    return None;
                }
                let said = step.facts.class.is_some();
                let failed = call.filter(|_| !step.facts.waiting).and_then(|call| {
                    // An error without a recognised root is compared as a whole.
                    let root = step.root(result, cx.salt).or(said.then_some(step.facts.light))?;
                    (!step.transient(result)).then_some((call, root))
                });
                let Some((call, root)) = failed else {
                    state.last = None;
                    return None;
                };
                state.failed(step, call, root, tokens, result).signal(&call.name, cx)
            }
            Fact::UserMessage(message) => {
                state.between = true;
                state.asked |= message.text.split_whitespace().nth(WORDS - 1).is_some();
                None
            }
            Fact::NotRun(..) => {
                state.called = None;
                None
            }
            _ => None,
        }
    }

    fn outlook(state: &State, view: &View<'_>) -> Outlook {
        state.last.as_ref().map_or_else(Outlook::default, |last| last.outlook(view))
    }

    fn fits(state: &State) -> bool {
        state.called.iter().all(|(_, tokens)| tokens.fits(Tokens::fits))
            && state.last.iter().all(|last| last.tokens.fits(Tokens::fits) && last.lines.len() <= LINES)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Nudge, Observe};
    use crate::rules::testing::{Played, Script, events, pair};
    use alloc::format;

    const RULE: &str = "resubmission";

    fn cells(cells: &[(&str, &str)]) -> Played {
        let cell = |(code, output): &(&str, &str)| pair("run_cell", &format!(r#"{{"code":"{code}"}}"#), "ok", output);
        events("{}", cells.iter().flat_map(cell))
    }

    #[test]
    fn cosmetic_changes() {
        let trace =
            |line: usize| format!("Traceback:\\n  File \\\"/tmp/c_{line}.py\\\", line {line}\\nKeyError: 'region'");
        let (one, two, three) = (trace(3), trace(14), trace(159));
        let first = "table = load('sales.csv')\\nout = totals(table, by='region')\\nprint(out)";
        let second = "# again\\ntable = load('sales.csv')\\nout = totals(table, by='region')\\nprint(out)";
        let third = "table = load('sales.csv')\\nresult = totals(table, by='region')\\nprint(result)";
        cells(&[(first, &one), (second, &two)]).expect(RULE, &[]);
        cells(&[(first, &one), (second, &two), (third, &three)]).expect(RULE, &[(5, Nudge)]);
        let many =
            [(first, &*one), (second, &*two), (third, &*three), (first, &*one), (second, &*two), (third, &*three)];
        cells(&many).strongest(RULE, Nudge);
        // A different error, a different program, something run in between.
        let other = three.replace("KeyError", "TypeError");
        cells(&[(first, &one), (second, &two), (third, &other)]).expect(RULE, &[]);
        cells(&[(first, &one), (second, &two), ("import stats\\nstats.draw(week=7)", &three)]).expect(RULE, &[]);
        cells(&[(first, &one), ("show(table.columns)", "Index: north, south"), (second, &two), (third, &three)])
            .expect(RULE, &[]);
    }

    #[test]
    fn equal_ones_are_refused_after_a_nudge() {
        Script::new("{}")
            .play("a!sum_is_462 | a!sum_is_462 | a!sum_is_462 | a!sum_is_462")
            .expect(RULE, &[(7, Nudge), (10, Observe)]);
        // Not asked for each time.
        Script::new("{}")
            .play("a!sum_is_462 | a!sum_is_462 a!sum_is_462 a!sum_is_462")
            .expect(RULE, &[(6, Nudge), (8, Block)]);
        Script::new("{}").play("a!sum_is_462 a!sum_is_462 a!sum_is_462 a!sum_is_462").expect(RULE, &[]);
        Script::new("{}").play("a!429_unavailable a!429_unavailable a!429_unavailable").expect(RULE, &[]);
        Script::new("{}").play("a:x a:x a:x a:x").expect(RULE, &[]);
    }
}
