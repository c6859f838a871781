//! Catches, with a judge's help: one fresh attempt after another that yields nothing: new code, another query, the next
//! tool, and each time nothing is found, another error occurs, or only the agent's own words come back.
//! Must not catch: anything by itself. Outcomes, errors and novelty do not distinguish such a hunt from honest work, so
//! the rule only asks, and the answer of an outside judge decides. It must not ask often either: silent successes and
//! changes mean nothing, an error after a new change is what testing is for, and repeats of one call are another
//! rule's.
//! Idea: people call a run stuck when effort continues and nothing comes of it; they judge that from the goal, which a
//! judge knows and a detector does not.
//!
//! Points over the latest attempts: 3 for one that found nothing or gave back its own input, 2 for one that failed, 1
//! if it failed after a new change or in the same way as an earlier one (another rule counts those). Equal attempts
//! count once, and a parallel round counts as its best attempt.

use crate::codec::codec;
use crate::model::{Body, Evaluation, EvaluationVerdict, HaltReason, Level, Payloads, Recommendation, ToolResult};
use crate::rules::streak::Streak;
use crate::rules::task_loop::{JudgeQuestion, WHICH, against, reasoning};
use crate::rules::{Cx, Fact, Facts, HostAdvice, Limits, Rule, Signal, SignalParts, many};
use crate::state::{Occurrence, Ring, Step, agent_of};
use crate::text::{Empty, Key, combine, printable, sort_few};
use alloc::{format, string::String, vec::Vec};

/// Maximum number of agents followed at once.
const AGENTS: usize = 8;
/// Maximum window, in attempts.
const MAX_WINDOW: u32 = 32;
/// Maximum points of an attempt.
const MOST: u32 = 3;
/// Maximum number of tools named in a question, and of characters in a name.
const TOOLS: usize = 3;
const NAME: usize = 48;
/// Characters of the latest outcome in a question, if the configuration lets payloads leave.
const EXCERPT: usize = 120;
/// A judge who keeps seeing progress is asked at most this many times less often.
const MOST_PATIENCE: u32 = 64;

pub(crate) struct EmptyHanded;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Least recently active first.
    agents: Ring<Agent>,
}
codec!(struct State { agents });

#[derive(Clone, Debug)]
struct Agent {
    agent: Key,
    attempts: Ring<Attempt>,
    /// New mutations that the latest attempt may have seen, including its own.
    mutations: u64,
    /// How often the evidence has sufficed since the latest question, and how often it has to before the next.
    times: u32,
    patience: u32,
    question: Option<Question>,
}
codec!(struct Agent { agent, attempts, mutations, times, patience, question });

#[derive(Clone, Debug)]
struct Attempt {
    call: Key,
    tool: Key,
    name: String,
    round: Option<Key>,
    came: AttemptOutcome,
    /// Class of its error, if it failed.
    class: Option<Key>,
    seen: Occurrence,
}
codec!(struct Attempt { call, tool, name, round, came, class, seen });

/// The outcome of an attempt, best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AttemptOutcome {
    Nothing,
    /// Only what the call itself had said.
    Echo,
    Failed,
    /// It failed after a new change, or as an earlier attempt did.
    FailedAgain,
    Something,
}
codec!(enum AttemptOutcome { Nothing: 0, Echo: 1, Failed: 2, FailedAgain: 3, Something: 4 });

/// The latest question to a judge.
#[derive(Clone, Debug)]
struct Question {
    asked: JudgeQuestion,
    /// Steps of the task when it was asked.
    step: u64,
    points: u32,
    /// Number of distinct attempts that yielded nothing.
    attempts: u32,
    tool: Key,
    name: String,
    evidence: Streak,
}
codec!(struct Question { asked, step, points, attempts, tool, name, evidence });

impl AttemptOutcome {
    const fn points(self) -> u32 {
        match self {
            Self::Nothing | Self::Echo => MOST,
            Self::Failed => 2,
            Self::FailedAgain => 1,
            Self::Something => 0,
        }
    }

    /// The outcome of a step; `None` if it is no attempt to find something out.
    fn of(step: &Step, result: &ToolResult, mutations: u64) -> Option<Self> {
        let facts = &step.facts;
        let call = step.call.as_ref();
        if facts.waiting || call.is_some_and(|call| call.polling) {
            return None;
        }
        if facts.failed && !facts.negative {
            return Some(if step.mutations_before() > mutations { Self::FailedAgain } else { Self::Failed });
        }
        let quiet =
            call.is_some_and(|call| call.mutates || call.quiet != Empty::Nothing && facts.wordless && !facts.negative);
        if quiet && !facts.failed {
            return None;
        }
        if facts.negative || facts.wordless && result.output.trim().is_empty() {
            return Some(Self::Nothing);
        }
        Some(if facts.echo { Self::Echo } else { Self::Something })
    }
}

impl State {
    /// Whether a judge has been asked about any agent; a question is kept after its answer, which may be revised.
    pub(crate) fn asks(&self) -> bool {
        self.agents.iter().any(|agent| agent.question.is_some())
    }
}

impl Agent {
    fn new(agent: Key) -> Self {
        Self { agent, attempts: Ring::default(), mutations: 0, times: 0, patience: 1, question: None }
    }

    fn take(&mut self, step: &Step, name: &str, came: AttemptOutcome, window: usize) {
        let call = step.call.as_ref();
        let round = call.and_then(|call| call.round);
        if round.is_some()
            && let Some(last) = self.attempts.iter_mut().next_back()
            && last.round == round
        {
            last.came = last.came.max(came);
            return;
        }
        let class = step.facts.class;
        let known = class.is_some() && self.attempts.iter().any(|before| before.class == class);
        let came = if came == AttemptOutcome::Failed && known { AttemptOutcome::FailedAgain } else { came };
        let attempt = Attempt {
            call: call.map_or(step.sighting.key, |call| call.key),
            tool: step.tool,
            name: printable(name, NAME).into_owned(),
            round,
            came,
            class,
            seen: step.occurrence(),
        };
        self.attempts.push(attempt, window);
    }

    /// The distinct attempts that yielded nothing, oldest first.
    fn empty(&self) -> impl Iterator<Item = &Attempt> {
        let again = |at: usize, call: Key| self.attempts.iter().skip(at + 1).any(|later| later.call == call);
        let each = self.attempts.iter().enumerate().filter(move |(at, attempt)| !again(*at, attempt.call));
        each.map(|(_, attempt)| attempt).filter(|attempt| attempt.came != AttemptOutcome::Something)
    }

    fn points(&self) -> u32 {
        self.empty().map(|attempt| attempt.came.points()).sum()
    }

    /// The question to the judge: counts and classes, and of payloads only what the configuration allows.
    fn ask(&self, result: &ToolResult, cx: &Cx<'_>) -> String {
        let count = |came: &[AttemptOutcome]| self.empty().filter(|attempt| came.contains(&attempt.came)).count();
        let kinds = [
            (count(&[AttemptOutcome::Nothing]), "found nothing"),
            (count(&[AttemptOutcome::Echo]), "returned only what the call itself contained"),
            (count(&[AttemptOutcome::Failed, AttemptOutcome::FailedAgain]), "failed"),
        ];
        let kinds: Vec<String> =
            kinds.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let something = self.attempts.iter().filter(|attempt| attempt.came == AttemptOutcome::Something).count();
        let mut tools: Vec<(Key, &str, u32)> = Vec::new();
        for attempt in self.empty() {
            match tools.iter_mut().find(|(tool, ..)| *tool == attempt.tool) {
                Some((_, _, times)) => *times += 1,
                None => tools.push((attempt.tool, &attempt.name, 1)),
            }
        }
        sort_few(&mut tools, |one, other| one.2 < other.2);
        let more = tools.len().saturating_sub(TOOLS);
        let mut names: Vec<String> =
            tools.iter().take(TOOLS).map(|(_, name, times)| format!("`{name}` ({times})")).collect();
        if more > 0 {
            names.push(format!("{more} more"));
        }
        let since = self.empty().next().map_or(0, |attempt| attempt.seen.onset().seq);
        let mut text = format!(
            "Of the latest {} attempts, {} different ones came to nothing: {}; {something} achieved something. Tools: {}. Since event {since}. ",
            self.attempts.len(),
            self.empty().count(),
            kinds.join(", "),
            names.join(", "),
        );
        if cx.config.privacy.payloads == Payloads::Excerpt {
            text.push_str(&format!("The latest outcome begins: \"{}\". ", printable(&result.output, EXCERPT)));
        }
        text.push_str(WHICH);
        text
    }

    /// The evidence suffices once more: it starts over, and a judge is asked if that has happened often enough.
    fn suffices(&mut self, result: &ToolResult, cx: &Cx<'_>) -> Option<Signal> {
        self.times = self.times.saturating_add(1);
        let ask = (self.times >= self.patience).then(|| self.ask(result, cx));
        let last = self.attempts.last()?;
        let (tool, name) = (last.tool, last.name.clone());
        let evidence = Streak::of(self.empty().map(|attempt| attempt.seen.get()));
        let (points, attempts) = (self.points(), many(self.empty().count()));
        self.attempts.clear();
        let text = ask?;
        self.times = 0;
        let question =
            Question { asked: JudgeQuestion::default(), step: cx.run.steps, points, attempts, tool, name, evidence };
        let mut signal = question.signal(self.agent, None, cx);
        signal.ask = Some(Level::Continue);
        signal.extra = HostAdvice { question: Some(text), ..HostAdvice::default() }.into();
        self.question = Some(question);
        Some(signal)
    }

    /// Takes a judge's answer to the latest question. An answer after the window has moved on is about other work.
    fn answer(&mut self, evaluation: &Evaluation, cx: &Cx<'_>) -> Option<Signal> {
        let question = self.question.as_mut()?;
        if cx.run.steps.saturating_sub(question.step) > u64::from(cx.limits.window) {
            return None;
        }
        let replaced = question.asked.takes(evaluation)?;
        let stuck = against(evaluation.verdict);
        question.asked.answered(evaluation, 0);
        match replaced.map(|answer| against(answer.verdict)) {
            // The same judgement in other words changes nothing.
            Some(before) if before == stuck => return None,
            Some(_) if stuck => self.patience = (self.patience / 2).max(1),
            None if stuck => {}
            _ => self.patience = self.patience.saturating_mul(2).min(MOST_PATIENCE),
        }
        self.attempts.clear();
        self.times = 0;
        stuck.then(|| {
            let mut signal = question.signal(self.agent, Some(evaluation.verdict), cx);
            signal.extra = HostAdvice { reasoning: reasoning(evaluation), ..HostAdvice::default() }.into();
            signal
        })
    }
}

impl Question {
    fn signal(&self, agent: Key, verdict: Option<EvaluationVerdict>, cx: &Cx<'_>) -> Signal {
        let regressing = verdict == Some(EvaluationVerdict::Regressing);
        let judged = if regressing { "moving away from the goal" } else { "stalled" };
        self.evidence.signal(SignalParts {
            kind: if regressing { "judged-regressing" } else { "judged-stalled" },
            identity: combine("empty-handed", &[agent]),
            count: self.points,
            confidence: 750,
            signature: cx.named(&self.name, '-', self.tool),
            message: format!(
                "{} different attempts, the latest with `{}`, came to nothing, and a judge found the work {judged}",
                self.attempts, self.name
            ),
            instead: "Write down what each attempt ruled out, then check one assumption that all of them share.",
            recommendation: if regressing { Recommendation::Rollback } else { Recommendation::ChangeApproach },
            halt_reason: HaltReason::Stalled,
        })
    }
}

impl Rule for EmptyHanded {
    const ID: &'static str = "empty-handed";
    const ABOUT: &'static str =
        "New attempts that all come to nothing: a judge is asked, and a loop is reported if the judge sees one.";
    const UNIT: &'static str = "points";
    const LIMITS: Limits = Limits::ladder(12, 0, 0, 7);
    const MAX_WINDOW: u32 = MAX_WINDOW;
    const SEES: Facts = Facts::STEP.and(Facts::REPORT);
    type State = State;

    fn reach(window: u32) -> u32 {
        window.saturating_mul(MOST)
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        match fact {
            Fact::Step(step, result) => {
                let agent = step.agent;
                let known = state.agents.renew(AGENTS, |known| known.agent == agent, || Agent::new(agent))?;
                let came = AttemptOutcome::of(step, result, known.mutations)?;
                known.mutations = step.mutations_after();
                known.take(step, step.name(result), came, cx.limits.window as usize);
                if came == AttemptOutcome::Something || !cx.limits.reached(known.points()) {
                    return None;
                }
                known.suffices(result, cx)
            }
            Fact::Event(event) => {
                let Body::Evaluation(evaluation) = &event.body else { return None };
                // An answer that names no agent refers to the latest question.
                let named = event.context.agent.is_some().then(|| agent_of(&event.context));
                let asked = state.agents.iter_mut().filter(|known| known.question.is_some());
                let asked = asked.filter(|known| named.is_none_or(|agent| known.agent == agent));
                asked.max_by_key(|known| known.question.as_ref().map(|question| question.step))?.answer(evaluation, cx)
            }
            _ => None,
        }
    }

    fn standing(state: &State) -> u32 {
        state.agents.iter().map(Agent::points).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        state.agents.len() <= AGENTS
            && state.agents.iter().all(|agent| {
                agent.attempts.len() <= MAX_WINDOW as usize
                    && agent.attempts.iter().all(|attempt| attempt.name.len() <= NAME * 4)
                    && agent.patience >= 1
                    && agent.patience <= MOST_PATIENCE
                    && agent.question.iter().all(|asked| asked.name.len() <= NAME * 4)
            })
    }
}

#[cfg(test)]
mod tests;
