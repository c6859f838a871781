use super::lane::{Counted, Visibility};
use super::retold::{CallLookup, Retold, Telling};
use super::standing::{agent_of, round_key, task_of};
use crate::codec::codec;
use crate::model::{Context, Outcome, ToolResult};
use crate::rules::LONGEST_NAME;
use crate::state::{Kin, LONG_PAUSE, Occurrence, Onset, PAUSE, Ring, Sighting, task_key};
use crate::text::{
    Asks, CallKey, Echo, Edit, Effect, Empty, Key, Late, Left, OutcomeFacts, Span, acknowledges, combine, echoes,
    first_mark, frame, head, key, kind_of, mark, mistake, passes, root_place, steers, trimmed, word_hashes,
};
use alloc::{boxed::Box, string::String, vec::Vec};
use core::cell::OnceCell;
use smol_str::SmolStr;

/// Milliseconds; a shorter pause does not count as waiting.
const MOMENT: u32 = 2_000;
/// Words of a result that are read.
const WORDS: usize = 256;
/// Calls that may wait for their result at once.
const PENDING: usize = 64;
/// How many of those, the latest, keep what an error may repeat of their arguments.
const ECHOES: usize = 8;
/// Loops that one call may be refused for: one for each rule that judges calls before they run.
const REFUSED_FOR: usize = 8;
/// Bytes kept of a tool's name, for results that do not repeat it.
const NAME: usize = 64;

/// How many pending calls, the latest, may keep a task name longer than [`NAME`].
const LONG_NAMES: usize = 4;

/// The task that a call named, for a result that names none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedTask {
    pub(crate) task: String,
    pub(crate) parent: Option<String>,
}
codec!(struct NamedTask { task, parent } raw);

impl NamedTask {
    fn fits(&self) -> bool {
        self.task.len() <= 4 * LONGEST_NAME && self.parent.as_ref().is_none_or(|name| name.len() <= 4 * LONGEST_NAME)
    }

    fn is_long(&self) -> bool {
        self.task.len().max(self.parent.as_ref().map_or(0, String::len)) > NAME
    }
}

/// A call as the rules see it before it runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// The tool's name, at most [`NAME`] bytes.
    pub(crate) name: SmolStr,
    pub(crate) tool: Key,
    /// Mark of the tool and, for a shell, the program.
    pub(crate) kind: u32,
    /// Hash of its arguments without their figures.
    pub(crate) frame: u32,
    pub(crate) key: Key,
    /// Key of the call as it was made.
    pub(crate) raw: Key,
    pub(crate) agent: Key,
    pub(crate) round: Option<Key>,
    pub(crate) target: Option<Key>,
    /// Mark of how its only argument begins, if that may be the name of a thing and there is no target; 0 for none.
    pub(crate) thing: u32,
    pub(crate) mutates: bool,
    /// It writes where a program may read it.
    pub(crate) writes: bool,
    /// The most items it is to change; 0 if it does not say.
    pub(crate) limit: u32,
    /// Whether its arguments contain the change itself.
    pub(crate) edit: Edit,
    /// The tool is configured as one that is polled.
    pub(crate) polling: bool,
    /// It looks at the state of something that changes by itself.
    pub(crate) watches: bool,
    /// Its tool brings something into the world each time: sends a message, takes a photo.
    pub(crate) delivers: bool,
    /// It only notes down a thought.
    pub(crate) thinks: bool,
    /// It only lets time pass.
    pub(crate) idles: bool,
    /// The tool is configured so that equal answers to different calls are evidence.
    pub(crate) compare_answers: bool,
    /// A successful answer as empty as this means that all went well, not that nothing was found.
    pub(crate) quiet: Empty,
    pub(crate) asks: Asks,
    /// It asks for one page of a list.
    pub(crate) pages: bool,
    /// Whose changes may have affected its outcome.
    pub(crate) sees: Visibility,
    pub(crate) onset: Onset,
    /// Milliseconds before it in which no call of its task got an outcome, or for which its agent slept, this call
    /// included; 0 if unknown.
    pub(crate) pause: u32,
    /// What an error may repeat of its arguments.
    pub(crate) echo: Late<Echo>,
    pub(crate) id: Option<Key>,
    /// Key of its task; 0 for none. The names are kept while they are needed.
    pub(crate) task: Key,
    pub(crate) named: Option<Box<NamedTask>>,
    /// Refused by a verdict; a result is more likely another call's.
    pub(crate) vetoed: bool,
    /// The beginning of its arguments, if payloads may be reported.
    pub(crate) asked: Option<Box<ArgumentStart>>,
    /// Keys of the loops it counts as refused for until it has run; in shadow mode too, where the host is not told to
    /// refuse it.
    pub(crate) refused: Vec<Key>,
}
codec!(struct Call {
    name, tool, kind, frame, key, raw, agent, round, target, thing, mutates, writes, limit, edit, polling, watches, delivers, thinks, idles, compare_answers, quiet, asks, pages, sees, onset, pause, echo, id, task,
    named, vetoed, asked, refused,
} raw);

/// The beginning of a call's arguments, boxed because it is rarely needed.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentStart(pub(crate) String);
codec!(struct ArgumentStart (_));

/// How many new mutations of the kind that a step sees there were before and after it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Changes {
    sees: Visibility,
    pub(crate) before: u64,
    pub(crate) after: u64,
}

impl Changes {
    /// For a step that has changed nothing so far.
    pub(crate) fn before(counted: &Counted, sees: Visibility) -> Self {
        let before = counted.seen(sees);
        Self { sees, before, after: before }
    }

    pub(crate) fn after(&mut self, counted: &Counted) {
        self.after = counted.seen(self.sees);
    }
}

/// A call with its outcome, which most rules count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    /// `None` for a result whose call was never seen.
    pub(crate) call: Option<Call>,
    pub(crate) tool: Key,
    pub(crate) agent: Key,
    pub(crate) outcome: Outcome,
    pub(crate) facts: OutcomeFacts,
    /// New mutations by its agent, those that may have affected it, and all of its lane.
    pub(crate) own: Changes,
    pub(crate) seen_changes: Changes,
    pub(crate) all: Changes,
    /// It repeated an earlier change, with another one in between.
    pub(crate) remade: bool,
    /// Its outcome, and that of the previous call of its kind.
    pub(crate) kin: Kin,
    /// It brought something new; it failed like the one of its kind before it, with fewer errors left (`fewer`).
    pub(crate) is_news: bool,
    pub(crate) fewer: bool,
    /// It succeeded and ruled out a part of a bisection.
    pub(crate) narrows: bool,
    /// Index of its agent's previous step, and of the latest one with news, with a mark of that one's round; 0 for
    /// none.
    pub(crate) previous: u64,
    pub(crate) news: u64,
    pub(crate) news_round: u16,
    /// The agent slept in this call or the one before.
    pub(crate) slept: bool,
    /// [`Call::pause`], or more if the call itself waited.
    pub(crate) pause: u32,
    /// It only let time pass, and its answer is short.
    pub(crate) idles: bool,
    /// Index of this step in its lane, from 1.
    pub(crate) index: u64,
    pub(crate) at: Option<i64>,
    pub(crate) sighting: Sighting,
    pub(crate) onset: Onset,
    pub(crate) lookups: Lookups,
}

/// What has been looked up in a step's result, computed on first use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookups {
    /// [`Step::root`] and, for a success, the span of [`Step::root_line`].
    root: OnceCell<Key>,
    line: OnceCell<Option<Span>>,
    /// [`Step::occurrence`], [`Step::wrong`], [`Step::effect`] and [`Step::words`].
    seen: OnceCell<Occurrence>,
    wrong: OnceCell<u32>,
    effect: OnceCell<Effect>,
    words: OnceCell<Vec<u32>>,
}

impl Step {
    /// A custom event as a call with its outcome; it is instantaneous and changes nothing.
    pub(crate) fn of_custom(
        call: Call,
        facts: OutcomeFacts,
        sighting: Sighting,
        counted: &Counted,
        at: Option<i64>,
    ) -> Self {
        let all = Changes::before(counted, Visibility::All);
        Self {
            tool: call.tool,
            agent: call.agent,
            facts,
            own: all,
            seen_changes: all,
            all,
            previous: counted.customs.saturating_sub(1).into(),
            index: counted.customs.into(),
            at,
            sighting,
            onset: call.onset,
            call: Some(call),
            ..Self::default()
        }
    }

    /// New mutations before it that may have affected its outcome.
    pub(crate) const fn mutations_before(&self) -> u64 {
        self.seen_changes.before
    }

    /// The same after it: one more if the step itself made a new change.
    pub(crate) const fn mutations_after(&self) -> u64 {
        self.seen_changes.after
    }

    /// The tool's name, from its call or else from the result.
    pub(crate) fn name<'a>(&'a self, result: &'a ToolResult) -> &'a str {
        let own = self.call.as_ref().map(|call| call.name.as_str());
        own.or(result.tool.as_deref()).unwrap_or("a tool")
    }

    /// Key of the round that its call was made in.
    pub(crate) fn round(&self) -> Option<Key> {
        self.call.as_ref().and_then(|call| call.round)
    }

    /// Mark of what its call acts upon; 0 for none.
    pub(crate) fn target(&self) -> u32 {
        self.call.as_ref().and_then(|call| call.target).map_or(0, mark)
    }

    /// The step as an occurrence, which many rules keep.
    pub(crate) fn occurrence(&self) -> Occurrence {
        self.lookups.seen.get_or_init(|| Occurrence::new(self.sighting, self.onset)).clone()
    }

    /// Whether nothing happened for a while before it, as when an agent waits for something.
    pub(crate) const fn paused(&self) -> bool {
        self.pause >= PAUSE
    }

    /// Whether it answers a call that changes nothing.
    pub(crate) fn looks(&self) -> bool {
        self.call.as_ref().is_some_and(|call| !call.mutates)
    }

    /// Whether it looks again at something after such a long pause, or after a sleep, that its purpose is to wait.
    pub(crate) fn watches(&self) -> bool {
        self.looks() && (self.slept && self.paused() || self.pause >= LONG_PAUSE)
    }

    /// Whether its agent gives waiting a chance: it paused for a while, or for a moment after it had changed something
    /// itself that may take time to come up.
    pub(crate) fn waits_out(&self) -> bool {
        let short = || self.slept || self.pause >= MOMENT && self.looks();
        self.paused() || self.own.before > 0 && short()
    }

    /// Whether a failed step is part of waiting: a look after a long pause, whatever it says, or a transient failure
    /// that is [waited out](Self::waits_out).
    pub(crate) fn is_waited_out(&self) -> bool {
        self.looks() && self.pause >= LONG_PAUSE || self.facts.transient && self.waits_out()
    }

    /// How many errors or failing tests its result counts, looked up on first use; 0 for none.
    pub(crate) fn wrong(&self, result: &ToolResult) -> u32 {
        *self.lookups.wrong.get_or_init(|| Left::wrong(&result.output).map_or(0, |left| left.count()))
    }

    /// The state of things after it, read on first use.
    pub(crate) fn effect(&self, result: &ToolResult) -> &Effect {
        self.lookups.effect.get_or_init(|| Effect::of(&result.output))
    }

    /// The first words of its result, as by [`word_hashes`].
    pub(crate) fn words(&self, result: &ToolResult) -> &[u32] {
        self.lookups.words.get_or_init(|| {
            let mut words = Vec::with_capacity(WORDS.min(result.output.len() / 2 + 1));
            words.extend(word_hashes(&result.output).take(WORDS));
            words
        })
    }

    /// The root cause in its result, looked up on first use.
    pub(crate) fn root(&self, result: &ToolResult, salt: u64) -> Option<Key> {
        self.root_line(result).map(|line| *self.lookups.root.get_or_init(|| mistake(line, salt)))
    }

    /// The line that [`Self::root`] is taken from.
    pub(crate) fn root_line<'a>(&self, result: &'a ToolResult) -> Option<&'a str> {
        let place = match self.facts.marks {
            Some(marks) => marks.root,
            None => *self.lookups.line.get_or_init(|| root_place(&result.output)),
        };
        place.and_then(|(from, to)| result.output.get(from..to))
    }

    /// The first line of its result that is marked as an error.
    pub(crate) fn first_mark<'a>(&self, result: &'a ToolResult) -> Option<&'a str> {
        if self.facts.marks.is_some_and(|marks| marks.unmarked) { None } else { first_mark(&result.output) }
    }

    /// What its result says is wrong: the root cause, or for a failure its first marked line or else its class.
    pub(crate) fn error(&self, result: &ToolResult, salt: u64) -> Option<Key> {
        let first = |class| self.first_mark(result).map_or(class, |line| mistake(line, salt));
        self.root(result, salt).or_else(|| self.facts.class.map(first))
    }

    /// Whether a statement changed as many items as it was limited to, so that more are left.
    pub(crate) fn leaves_more(&self, result: &ToolResult) -> bool {
        let tells = |number: u32| {
            let mut numbers = result.output.split(|char: char| !char.is_ascii_digit());
            numbers.any(|digits| digits.parse() == Ok(number))
        };
        self.call.as_ref().is_some_and(|call| call.limit > 0 && tells(call.limit))
    }

    /// Whether what its result reports may pass by waiting.
    pub(crate) fn transient(&self, result: &ToolResult) -> bool {
        if self.facts.failed { self.facts.transient } else { passes(&result.output) }
    }
}

impl Call {
    /// Whether it only wrote down a thought, which does nothing. A click with an empty answer is no thought.
    pub(crate) fn is_thought(&self, step: &Step, result: &ToolResult) -> bool {
        let blank = step.outcome == Outcome::Ok && trimmed(&result.output).is_empty();
        blank && !self.mutates && self.quiet != Empty::Blank && !self.asks.shows()
    }

    /// Whether it brings something into the world that its arguments describe: a message, an order, a ticket.
    pub(crate) fn makes_another(&self) -> bool {
        self.delivers && self.mutates && self.edit != Edit::Untold && !self.asks_nothing()
    }

    /// Whether it has no arguments.
    pub(crate) fn asks_nothing(&self) -> bool {
        self.frame == frame("")
    }

    /// Whether it sends keys or gestures, or does something without saying what (`zoom_in {}`), and is merely
    /// acknowledged: only a look shows what it did.
    pub(crate) fn steers(&self, result: &ToolResult) -> bool {
        let answers = || self.quiet == Empty::Nothing && !self.mutates;
        let relative = || self.asks_nothing() && !answers() && !self.delivers;
        let told = acknowledges(&result.output) || echoes(&self.name, &result.output);
        told && (self.asks == Asks::Gesture || steers(&self.name) || relative())
    }

    /// Whether it is a shell call that runs a program.
    pub(crate) fn runs_a_program(&self) -> bool {
        self.kind != kind_of(self.tool, 0)
    }

    /// A call before it is analysed: without target, hints and onset.
    pub(crate) fn new(name: &str, tool: Key, keys: CallKey, call_id: Option<&str>, context: &Context) -> Self {
        Self {
            name: head(name, NAME).into(),
            tool,
            key: keys.key,
            raw: keys.raw,
            agent: agent_of(context),
            round: round_key(context),
            id: call_id.and_then(id_key),
            task: task_of(context),
            named: context
                .task
                .as_ref()
                .map(|task| Box::new(NamedTask { task: task.clone(), parent: context.parent_task.clone() })),
            ..Self::default()
        }
    }
}

impl Call {
    /// Whether it belongs to a task or to one of its subtasks.
    fn is_of(&self, task: Key) -> bool {
        let parent = || self.named.as_ref().and_then(|named| named.parent.as_deref()).map(task_key);
        self.task == task || (task != 0 && parent() == Some(task))
    }

    /// Whether a result of that task may be its own: one of the two names none.
    fn may_be_of(&self, task: Key) -> bool {
        task == 0 || self.task == 0
    }
}

/// A call id within a task: tasks with call ids of their own are not replays of each other.
fn of_task(what: Key, task: Key) -> Key {
    if task == 0 { what } else { combine("task", &[what, task]) }
}

/// Key of a call id; `None` for an empty one.
fn id_key(id: &str) -> Option<Key> {
    (!id.is_empty()).then(|| key("call-id", id.as_bytes()))
}

/// What a result belongs to.
#[allow(clippy::large_enum_variant, reason = "made once per result and taken apart at once")]
pub(crate) enum Matched {
    /// A call that was pending.
    Call(Call),
    /// No call was seen.
    None,
    /// A call that was answered before, in a replayed transcript.
    Replay,
}

/// Which calls wait for a result, and which were reported before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairing {
    pending: Ring<Call>,
    retold: Retold,
}
codec!(struct Pairing { pending, retold });

impl Pairing {
    /// Records a call; false if it is a replay of one reported before.
    pub(crate) fn call(&mut self, call: &Call, telling: Telling<'_>) -> bool {
        let Some(id) = call.id else {
            self.retold.moves_on();
            return true;
        };
        let near = |waiting: &&Call| waiting.agent == call.agent && waiting.task == call.task;
        let mut others = self.pending.iter().filter(near);
        let alone = others.clone().next().is_none();
        // A refused call is not pending: if the agent insists, it counts again.
        let waits = others.any(|waiting| waiting.id == Some(id) && waiting.raw == call.raw && !waiting.vetoed);
        let told = of_task(id, call.task);
        self.retold.call(CallLookup { id: told, call: call.raw, agent: call.agent, waits, alone }, telling)
    }

    /// The host continues an earlier run and may replay all of it.
    pub(crate) fn resume(&mut self) {
        self.retold.resume();
    }

    /// Lets a call wait for its result.
    pub(crate) fn wait(&mut self, call: Call) {
        // With many calls pending, the older ones keep only their identity.
        if let Some(older) = self.pending.nth_back_mut(ECHOES - 1) {
            older.echo = Late::default();
        }
        if let Some(older) = self.pending.nth_back_mut(LONG_NAMES - 1)
            && older.named.as_ref().is_some_and(|named| named.is_long())
        {
            older.named = None;
        }
        self.pending.push(call, PENDING);
    }

    /// Notes of the call of event `seq`, if it is pending, whether it is refused, and the loops that it counts as
    /// refused for.
    pub(crate) fn veto(&mut self, seq: u64, vetoed: bool, mut loops: Vec<Key>) {
        loops.truncate(REFUSED_FOR);
        if let Some(call) = self.pending.iter_mut().next_back().filter(|call| call.onset.seq == seq) {
            (call.vetoed, call.refused) = (vetoed, loops);
        }
    }

    /// The call that a result belongs to: by call id; else the agent's oldest pending call of that tool that was not
    /// refused, else its oldest one, else another agent's. Calls of the result's task come before calls without a task,
    /// and calls of other tasks are never taken. A result with an unknown id may belong to a call without an id, unless
    /// the host made the result up.
    pub(crate) fn result(&mut self, result: &ToolResult, context: &Context) -> Matched {
        let (agent, task) = (agent_of(context), task_of(context));
        if let Some(id) = result.call_id.as_deref().and_then(id_key) {
            let told = of_task(id, task);
            if self.retold.answers(told) {
                return Matched::Replay;
            }
            if let Some(index) = self.with_id(id, agent, round_key(context), task) {
                return self.take(index);
            }
            if self.retold.knows(told) {
                return Matched::Replay;
            }
            if context.synthetic {
                return Matched::None;
            }
        }
        self.of_tool(result, agent, task).map_or(Matched::None, |index| self.take(index))
    }

    /// The task of the call that a result belongs to, if the result names none.
    pub(crate) fn named(&self, result: &ToolResult, context: &Context) -> Option<&NamedTask> {
        // Usually no pending call names a task.
        self.pending.iter().any(|call| call.task != 0).then_some(())?;
        let (agent, id) = (agent_of(context), result.call_id.as_deref().and_then(id_key));
        let by_id = id.and_then(|id| self.with_id(id, agent, round_key(context), 0));
        let index = by_id.or_else(|| self.of_tool(result, agent, 0))?;
        self.pending.iter().nth(index)?.named.as_deref()
    }

    /// Index of the call that a result belongs to by its tool, where the call or the result has no id.
    fn of_tool(&self, result: &ToolResult, agent: Key, task: Key) -> Option<usize> {
        let tool = result.tool.as_deref().map(|tool| key("tool", tool.as_bytes()));
        let id_fits = |call: &Call| call.id.is_none() || result.call_id.as_deref().and_then(id_key).is_none();
        let fits = |call: &Call| tool.is_none_or(|tool| call.tool == tool) && call.agent == agent && id_fits(call);
        // If an agent answers another one's call, or the host does not say who acted, the tool's name has to do.
        let named = |call: &Call| tool == Some(call.tool) && id_fits(call);
        let of = |place: &dyn Fn(&Call) -> bool| {
            (self.position(|call| place(call) && fits(call) && !call.vetoed))
                .or_else(|| self.position(|call| place(call) && fits(call)))
                .or_else(|| self.position(|call| place(call) && named(call) && !call.vetoed))
        };
        of(&|call| call.task == task).or_else(|| of(&|call| call.may_be_of(task)))
    }

    fn position(&self, fits: impl FnMut(&Call) -> bool) -> Option<usize> {
        self.pending.iter().position(fits)
    }

    /// Index of the call with this id that is meant, preferring the same task, agent and round. Of several in the
    /// latest round, the first; without rounds, the latest, as a call whose id is given out again was left unanswered.
    fn with_id(&self, id: Key, agent: Key, round: Option<Key>, task: Key) -> Option<usize> {
        let with_id = || {
            let calls = self.pending.iter().enumerate();
            calls.filter(|(_, call)| call.id == Some(id) && (call.task == task || call.may_be_of(task)))
        };
        let latest = with_id().max_by_key(|(index, call)| {
            (call.task == task, call.agent == agent, round.is_some() && call.round == round, *index)
        });
        let (index, call) = latest?;
        let same = |other: &Call| other.agent == call.agent && other.round == call.round && other.task == call.task;
        let first = with_id().find(|(_, other)| same(other));
        if call.round.is_some() { first.map(|(first, _)| first) } else { Some(index) }
    }

    fn take(&mut self, index: usize) -> Matched {
        self.pending.remove(index).map_or(Matched::None, Matched::Call)
    }

    /// Forgets the pending calls. Replays are still recognised, since they may span a user's message.
    pub(crate) fn forget(&mut self) {
        self.pending.clear();
        self.retold.heard();
    }

    /// Forgets the pending calls of a task, or all of them.
    pub(crate) fn forget_task(&mut self, task: Option<Key>) {
        self.pending.retain(|call| task.is_some_and(|task| !call.is_of(task)));
    }

    pub(crate) fn fits(&self) -> bool {
        self.pending.len() <= PENDING
            && self.retold.fits()
            && self.pending.iter().all(|call| {
                call.name.len() <= NAME
                    && call.echo.fits(Echo::fits)
                    && call.refused.len() <= REFUSED_FOR
                    && call.asked.as_ref().is_none_or(|asked| asked.0.len() <= 4 * 128)
                    && call.named.as_ref().is_none_or(|named| named.fits())
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_veto_concerns_its_own_call_alone() {
        let mut pairing = Pairing::default();
        let context = Context::default();
        for seq in [4, 7] {
            let keys = CallKey::exact(seq);
            let onset = Onset { seq, ..Onset::default() };
            pairing.wait(Call { onset, ..Call::new("moor", 1, keys, None, &context) });
        }
        let vetoed = |pairing: &Pairing| [0, 1].map(|at| pairing.pending.iter().nth(at).unwrap().vetoed);
        // The call of event 9 is not pending: it was made up, or is a replay.
        pairing.veto(9, true, alloc::vec![1]);
        assert_eq!(vetoed(&pairing), [false, false]);
        pairing.veto(7, true, alloc::vec![1]);
        assert_eq!(vetoed(&pairing), [false, true]);
        assert_eq!(pairing.pending.last().unwrap().refused, [1]);
    }
}
