//! Catches: one tool failing in the same way again and again although its arguments change.
//! Must not catch: different errors of one tool, an edit-and-test rhythm whose error moves on, searches that find
//! nothing (a negative answer is no error), calls that were turned away (other rules),
//! what is waited for.
//! Idea: errors are compared by class, not by arguments: the loop people suffer most. Shared by all agents of a run.

use crate::codec::codec;
use crate::model::{HaltReason, Outcome, Recommendation, ToolResult};
use crate::rules::streak::sure;
use crate::rules::windows::{After, Row, Window, windows};
use crate::rules::{Cx, Facts, Limits, Outlook, Signal, Told, elsewhere, foreseen};
use crate::state::{Call, Occurrence, Sighting, Step, Time};
use crate::text::{Asks, Key, asked_wait, backoff, combine, mark, printable};
use alloc::format;

const EVIDENCE: usize = 5;
/// What an ordinary error weighs; one that came again unchanged after a new change weighs half, as one does that names
/// something else after the tool has worked, and one that was waited for as such errors ask a third; nothing where it
/// was waited out ([`Step::is_waited_out`]), for which `repeated-call` has patience and an end.
const WHOLE: u8 = 6;
const HALF: u8 = 3;
const THIRD: u8 = 2;
/// Milliseconds between a failure and the same call again from which it was waited for.
const PAUSE: i64 = 30_000;
/// The same where it only looks.
const GLANCE: i64 = 2_000;
/// The same of what ran into its limit.
const TIMEOUT: i64 = 5_000;
/// Milliseconds below which a growing wait is none.
const SHORTEST: i64 = 1_000;

windows!(RepeatedError = REPEATED_ERROR of Outing, Waits);

const REPEATED_ERROR: Row<Outing, Waits> = Row {
    id: "repeated-error",
    about: "One tool failing in the same way although its arguments change.",
    unit: "errors",
    limits: Limits::ladder(3, 6, 8, 8),
    sees: Facts::CALL.and(Facts::STEP),
    tools: 32,
    kept: 32,
    set: true,
    ahead,
    called: |waits, call, payload| {
        if let Some(wait) = backoff(payload) {
            *waits = Some((call.key, Wait::Own(wait)));
        }
    },
    heeds: |_, _| true,
    see,
    holds: |window, _, view| {
        let outlook = |class| {
            let Evidence { count, batch, .. } = window.evidence(class)?;
            Some(if batch { view.told(view.limits, count) } else { view.of(count) })
        };
        Outlook::of_all(window.seen.iter().filter_map(|call| outlook(call.class?)))
    },
    fits: |_| true,
};

/// The latest call that says how long it waits, or whose answer says how long to wait before it is made again.
type Waits = Option<(Key, Wait)>;

/// In milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    Own(i64),
    Asked(i64),
}
codec!(enum Wait { Own(wait): 0, Asked(wait): 1 });

/// One call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Outing {
    /// Class of its error; `None` when it did not fail, or no longer counts.
    class: Option<Key>,
    weight: u8,
    round: Option<Key>,
    light: u32,
    /// Marks of the call and of what it acts upon; 0 for none.
    call: u32,
    target: u32,
    /// It was to change something.
    mutates: bool,
    mutations: u64,
    at: Time,
    /// Milliseconds waited before the call, by the clock or by its own argument.
    waited: u32,
    seen: Occurrence,
}
codec!(struct Outing {
    class, weight, round, light, call, target, mutates, mutations, at, waited, seen,
});

impl Outing {
    /// Whether it was about no thing of its own, but asked for something.
    const fn is_question(&self) -> bool {
        self.target == self.call
    }
}

/// What there is of one class.
struct Evidence<'a> {
    count: u32,
    first: &'a Outing,
    /// What fails on ever new targets is a search or a batch: that is told, and refused for none of them.
    batch: bool,
}

impl Window<Outing> {
    fn evidence(&self, class: Key) -> Option<Evidence<'_>> {
        let same = self.same(class);
        let first = same.clone().find(|call| call.weight > 0)?;
        let often = same.clone().count() * 2 >= self.seen.len();
        let weight: u32 = same.map(|call| u32::from(call.weight)).sum();
        let batch = elsewhere(self.same(class).map(|call| Some(call.target)));
        // Where each is about another thing, it takes one more: it may be that thing's own.
        let others = batch && self.same(class).any(|call| call.target != first.target && !call.is_question());
        let count = (weight / u32::from(WHOLE)).saturating_sub(others.into());
        often.then_some(Evidence { count, first, batch })
    }

    fn same(&self, class: Key) -> impl Iterator<Item = &Outing> + Clone {
        self.seen.iter().filter(move |call| call.class == Some(class))
    }

    fn signal(&self, name: &str, class: Key, cx: &Cx<'_>) -> Option<Signal> {
        let Evidence { count, first, batch } = self.evidence(class)?;
        if !cx.limits.reached(count, 1) {
            return None;
        }
        let same = self.same(class);
        let times = same.clone().count();
        let different = same.clone().any(|call| call.call != first.call);
        let tool = printable(name, 48);
        let arguments = match first.call {
            _ if different => " with different arguments",
            // A result whose call nobody told.
            0 => "",
            _ => " with the same arguments",
        };
        // What left the window may have been the same.
        let least = if times >= cx.limits.window as usize { "at least " } else { "" };
        let arguments = if batch { ", for several things" } else { arguments };
        let message = format!("`{tool}` failed {least}{times} times in the same way{arguments}");
        let sightings = same.clone().skip(times.saturating_sub(EVIDENCE)).map(|call| call.seen.sighting()).collect();
        let identity = combine("repeated-error", &[self.tool, class]);
        let told = Told {
            kind: if different { "changing-arguments" } else { "same-arguments" },
            identity,
            count,
            confidence: sure((650, 40, 8), count),
            signature: cx.named(&tool, '!', class),
            message,
            instead: if batch {
                "Check one thing that all of them have in common, or leave the rest of the batch: one more will fail alike."
            } else {
                "Look at the current state of what the call is about before trying again, or take another way to the goal."
            },
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::RepeatedError,
        };
        Some(foreseen(told.signal(first.seen.onset(), sightings), 1, batch, cx))
    }

    fn took(&mut self, step: &Step, result: &ToolResult, wait: Option<Wait>, window: usize) {
        let facts = &step.facts;
        // Calls that were turned away have rules of their own, which are quicker.
        let class = facts.class.filter(|_| facts.refusal.is_none());
        let before = class.and_then(|class| self.seen.iter().rev().find(|call| call.class == Some(class)));
        let tried = Try::new(step, result, wait, before);
        let worked = self.seen.last().is_some_and(|last| last.class.is_none());
        let weight = before.map_or(WHOLE, |before| tried.weight(before, worked));
        let Try { call, target, light, mutates, .. } = tried;
        let waited = u32::try_from(tried.waited().max(0)).unwrap_or(u32::MAX);
        if step.outcome == Outcome::Ok && !facts.failed && (target != 0 || call != 0) {
            // It works now: what failed on this target before is settled. A look at it settles no change that failed:
            // editors that view and edit by one name would never fail on end.
            let settled = |known: &&mut Outing| {
                call != 0 && known.call == call || target != 0 && known.target == target && (mutates || !known.mutates)
            };
            self.seen.iter_mut().filter(settled).for_each(|known| known.class = None);
        }
        // Nor does it say anything about how often changes fail.
        let failed_changes = self.seen.iter().any(|call| call.mutates && call.class.is_some());
        if !mutates && !facts.failed && failed_changes {
            return;
        }
        let outing = Outing {
            class,
            weight,
            round: step.round(),
            light,
            call,
            target,
            mutates,
            mutations: step.mutations_after(),
            at: step.at.into(),
            waited,
            // Of what did not fail nobody asks.
            seen: class.map_or_else(
                || step.occurrence(),
                |key| Occurrence::new(Sighting { key, ..step.sighting }, step.onset),
            ),
        };
        self.seen.push(outing, window);
    }
}

/// A call of the tool with what came of it, beside the latest one that failed in the same way.
struct Try<'a> {
    step: &'a Step,
    result: &'a ToolResult,
    /// As in [`Outing`].
    light: u32,
    call: u32,
    target: u32,
    mutates: bool,
    wait: Option<Wait>,
    /// Milliseconds from that failure to the call, where the clock tells.
    since: Option<i64>,
}

impl<'a> Try<'a> {
    fn new(step: &'a Step, result: &'a ToolResult, wait: Option<Wait>, before: Option<&Outing>) -> Self {
        let call = step.call.as_ref();
        // A search that names no target is about what it asks for: another question is about something else.
        let asked = |call: &Call| {
            (!call.mutates && matches!(call.asks, Asks::Search | Asks::Prose | Asks::Record)).then_some(call.key)
        };
        let clock = before.and_then(|before| before.at.zip(step.onset.at.get()));
        Self {
            step,
            result,
            light: mark(step.facts.light),
            call: call.map_or(0, |call| mark(call.key)),
            target: call.and_then(|call| call.target.or_else(|| asked(call))).map_or(0, mark),
            mutates: call.is_some_and(|call| call.mutates),
            wait,
            since: clock.map(|(failed, called)| called.saturating_sub(failed)),
        }
    }

    fn by_clock(&self) -> i64 {
        self.since.unwrap_or(0)
    }

    /// Milliseconds that the call says it waits.
    const fn own_wait(&self) -> Option<i64> {
        if let Some(Wait::Own(own)) = self.wait { Some(own) } else { None }
    }

    fn waited(&self) -> i64 {
        self.own_wait().unwrap_or(0).max(self.by_clock())
    }

    /// Whether it came as late as the answer before had asked for; nothing where that asked for nothing.
    fn obeys(&self) -> Option<bool> {
        let Some(Wait::Asked(asked)) = self.wait else { return None };
        Some(self.by_clock().max(self.step.pause.into()) >= asked)
    }

    fn is_hasty(&self) -> bool {
        self.since.is_some() && self.obeys() == Some(false)
    }

    /// What it weighs after one that failed in the same way; the tool may have `worked` since.
    fn weight(&self, before: &Outing, worked: bool) -> u8 {
        let Self { step, light, .. } = *self;
        let (call, waiting) = (step.call.as_ref(), step.facts.waiting);
        let (round, same_call, same_words) = (step.round(), before.call == self.call, before.light == light);
        // The calls of a round were made before any of them was answered: one mistake.
        if round.is_some() && before.round == round {
            return 0;
        }
        if step.mutations_before() > before.mutations {
            return if same_words { HALF } else { 0 };
        }
        if step.fewer {
            return 0;
        }
        // Another thing is named, and the tool has told something since: no question, but a try that gets further.
        if !same_words && worked && call.is_some_and(|call| call.asks == Asks::Nothing) {
            return HALF;
        }
        // A call that has waited itself tells how far things are by then.
        let itself = || call.is_some_and(|call| call.pause < step.pause);
        let waited_out = || step.is_waited_out() || step.waits_out() && waiting;
        if same_call && (same_words || itself()) && !self.is_hasty() && waited_out() {
            return 0;
        }
        // It is there to be made again, or told to wait.
        if same_call && (waiting || call.is_some_and(|call| call.polling)) {
            return THIRD;
        }
        if self.was_waited_for(before) && step.transient(self.result) { THIRD } else { WHOLE }
    }

    /// Waiting before the same try again is what load and a network ask for, and nothing else does. Some count their
    /// tries.
    fn was_waited_for(&self, before: &Outing) -> bool {
        let again = before.call == self.call || self.target != 0 && before.target == self.target;
        let enough = if self.mutates || self.is_hasty() {
            PAUSE
        } else if self.step.outcome == Outcome::Timeout {
            // What ran into its limit has waited itself.
            TIMEOUT
        } else {
            GLANCE
        };
        let waits = || {
            self.by_clock() >= enough
                || self.step.slept
                || self.step.paused()
                || self.obeys() == Some(true)
                || grows(before.waited.into(), self.waited())
        };
        again && waits() || self.own_wait().is_some_and(|own| own >= SHORTEST && own > before.waited.into())
    }
}

/// Whether a wait is half as long again as the one before it.
const fn grows(before: i64, now: i64) -> bool {
    now >= SHORTEST && before > 0 && now.saturating_mul(2) >= before.saturating_mul(3)
}

/// Only what looks like one more of the same; another target deserves its chance.
fn ahead(window: &Window<Outing>, call: &Call, cx: &Cx<'_>) -> Option<Signal> {
    let alike = window.seen.iter().rev().find(|failed| {
        failed.class.is_some()
            && (failed.call == mark(call.key) || call.target.is_some_and(|target| failed.target == mark(target)))
    });
    window.signal(&call.name, alike?.class?, cx)
}

fn see(
    window: &mut Window<Outing>,
    waits: &mut Waits,
    step: &Step,
    result: &ToolResult,
    cx: &Cx<'_>,
    after: &mut After,
) -> Option<Signal> {
    *after = After::Newest;
    let key = step.call.as_ref().map(|call| call.key);
    let wait = waits.take_if(|(call, _)| Some(*call) == key).map(|(_, wait)| wait);
    window.took(step, result, wait, cx.limits.window as usize);
    if step.facts.transient
        && let (Some(key), Some(wait)) = (key, asked_wait(&result.output))
    {
        *waits = Some((key, Wait::Asked(wait)));
    }
    let class = window.seen.last().and_then(|call| call.class).filter(|_| step.facts.failed)?;
    window.signal(step.name(result), class, cx)
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::{Script, alone, events, pair};
    use alloc::{format, vec::Vec};

    const RULE: &str = "repeated-error";

    #[test]
    fn waiting_for_load_to_pass() {
        let play = |script: &str| Script::new("{}").play(script);
        play("a!429_unavailable @30 a!429_unavailable @60 a!429_unavailable").expect(RULE, &[]);
        play(
            "a!429_unavailable @30 a!429_unavailable @30 a!429_unavailable @30 a!429_unavailable @30 a!429_unavailable",
        )
        .expect(RULE, &[]);
        // For half a minute each time it is waited out: another rule tells of the nineteenth.
        let waits = |script: &str, times: usize| Script::new("{}").play(&script.repeat(times));
        waits("a!429_unavailable @30 ", 30).expect(RULE, &[]);
        waits("a!429_unavailable @30 ", 18).expect("repeated-call", &[]);
        waits("a!429_unavailable @30 ", 19).last("repeated-call", Nudge);
        // For a few seconds the seventh is told of.
        waits("look/=a!429_unavailable @5 ", 6).expect(RULE, &[]);
        waits("look/=a!429_unavailable @5 ", 7).last(RULE, Nudge);
        // Who has changed something waits for what may have to come up.
        play(&["*1 ", &"look/=a!429_unavailable @5 ".repeat(9)].concat()).expect(RULE, &[]);
        // Each time longer, by the clock.
        play("a!429_unavailable @2 a!429_unavailable @4 a!429_unavailable @8 a!429_unavailable").expect(RULE, &[]);
        // As long as the answer asks for.
        play("a!429_retry_after_2 @2 a!429_retry_after_2 @3 a!429_retry_after_2 @2 a!429_retry_after_2")
            .expect(RULE, &[]);
        play("a!429_retry_after_9 @2 a!429_retry_after_9 @3 a!429_retry_after_9").last(RULE, Nudge);
        // What has worked in the end is over.
        play("a!x @9 a!x a:1 a!x @9 a!x a:1 a!x a!x").expect(RULE, &[]);
        // Without a pause, for a failure that no waiting ends, or for another call.
        play("a!429_unavailable a!429_unavailable a!429_unavailable").last(RULE, Nudge);
        play("a!x @30 a!x @40 a!x").last(RULE, Nudge);
        // Whoever looks again after a minute waits, whatever the failure tells.
        play("a!x @60 a!x @60 a!x @60 a!x").expect(RULE, &[]);
        play("a!429_unavailable @30 b!429_unavailable @60 c!429_unavailable").last(RULE, Nudge);
    }

    #[test]
    fn refused_and_made_again() {
        // As many refused calls as runs halt.
        Script::new("{}").play("a!x b!x c!x a!x b!x a!x a~").strongest(RULE, Block);
        Script::new("{}").play("a!x b!x c!x a!x b!x a!x a~ a~").last_but_one(RULE, Halt);
    }

    #[test]
    fn arguments_do_not_matter() {
        Script::new("{}").play("a!x b!x").expect(RULE, &[]);
        Script::new("{}").play("a!x b!x c!x").expect(RULE, &[(5, Nudge)]);
        // Each time something else: a batch is told of, and not refused.
        let batch = "look/=a!x look/=b!x look/=c!x look/=d!x look/=e!x look/=f!x look/=g!x look/=h!x look/=i!x";
        Script::new(&alone(RULE)).play(batch).strongest(RULE, Nudge);
        Script::new("{}").play(&batch.replace(['d', 'e', 'i'], "a")).last(RULE, Halt);
        Script::new("{}").play("a!x b!x c!x d!x e!x f!x").last(RULE, Block);
        Script::new("{}").play("a!x b!x c!x d!x e!x f!x g!x h!x").last(RULE, Halt);
    }

    #[test]
    fn what_is_asked_for_is_a_target() {
        let step = |tool: &str, name: &str, text: &str, error: &str| {
            pair(tool, &format!(r#"{{"{name}":"{text}"}}"#), "error", error)
        };
        let words = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "juniper"];
        let all = |one: &dyn Fn(&str) -> [alloc::string::String; 2]| words.iter().flat_map(|word| one(word)).collect();
        let searches: Vec<_> = all(&|word| step("search", "q", word, "404 Not Found"));
        events("{}", searches).strongest(RULE, Nudge);
        let missing = |word: &str| format!("ERROR: relation \\\"{word}\\\" does not exist");
        let tables: Vec<_> =
            all(&|word| step("query", "sql", &format!("SELECT count(*) FROM {word} LIMIT 3"), &missing(word)));
        events("{}", tables).strongest(RULE, Nudge);
        // Another column of the same table is one more try at the same thing.
        let columns: Vec<_> =
            all(&|word| step("query", "sql", &format!("SELECT {word} FROM parcels"), "ERROR: no such column"));
        events("{}", columns).strongest(RULE, Halt);
        // What is run is no question: another spelling of a command is one more try.
        let commands: Vec<_> = all(&|word| step("bash", "command", &format!("{word} --version"), "exec format error"));
        events("{}", commands).strongest(RULE, Halt);
    }

    #[test]
    fn one_more_where_each_is_another_thing() {
        let read = |path: &str| pair("read_chart", &format!(r#"{{"path":"{path}"}}"#), "error", "no such chart");
        let reads = |paths: &[&str]| events(&alone(RULE), paths.iter().flat_map(|path| read(path)));
        reads(&["north.map", "south.map", "mole.map"]).expect(RULE, &[]);
        reads(&["north.map", "south.map", "mole.map", "quay.map"]).expect(RULE, &[(7, Nudge)]);
    }

    #[test]
    fn a_batch_that_changes_things_is_one_as_well() {
        let each = |tool: &str, name: &str, error: &str| {
            let step = |at| pair(tool, &format!(r#"{{"{name}":"berth-{at}"}}"#), "error", error);
            events(&alone(RULE), (0..12).flat_map(step))
        };
        each("cancel_order", "orderId", "the order is shipped").strongest(RULE, Nudge);
        each("send_mail", "to", "550 mailbox unavailable").strongest(RULE, Nudge);
        // What is written is no target: one more wording of a message is one more try.
        each("commit", "message", "nothing to commit").strongest(RULE, Halt);
        let shell = |line: &dyn Fn(usize) -> alloc::string::String, error: &str| {
            let step = |at| pair("bash", &format!(r#"{{"command":"{}"}}"#, line(at)), "error", error);
            events(&alone(RULE), (0..12).flat_map(step))
        };
        shell(&|at| format!("ssh root@web{at} uptime"), "Connection refused").strongest(RULE, Nudge);
        shell(&|at| format!("nc -zv -w1 10.0.4.7 {}", 80 + at), "Connection refused").strongest(RULE, Nudge);
        shell(&|at| format!("docker restart berth-{at}"), "No such container").strongest(RULE, Nudge);
        // Other settings of one thing are no other things.
        shell(&|at| format!("nc -zv -w{at} 10.0.4.7 22"), "Connection refused").strongest(RULE, Halt);
        shell(&|at| format!("ssh -o A{at}=yes -i key{at} root@web7 uptime"), "Permission denied").strongest(RULE, Halt);
        shell(&|at| format!("make -j {at} install"), "No space left on device").strongest(RULE, Halt);
    }

    #[test]
    fn half_of_the_latest_calls() {
        Script::new("{}").play("a!x b:1 c!x d:2 e!x").last(RULE, Nudge);
        Script::new("{}").play("a!x b:1 c:2 d!x e:3 f:4 g!x").expect(RULE, &[]);
    }

    #[test]
    fn different_errors_are_different() {
        Script::new("{}").play("a!x b!y c!z d!w e!v f!u").expect(RULE, &[]);
    }

    #[test]
    fn a_new_change_that_moves_the_error_is_work() {
        // The same class, but each time another text (the error class masks digits, the outcome does not).
        Script::new("{}").play("a!x1 *1 a!x2 *2 a!x3 *3 a!x4 *4 a!x5 *5 a!x6").expect(RULE, &[]);
        // The very same error after every change counts half.
        Script::new("{}").play("a!x *1 a!x *2 a!x *3 a!x *4 a!x").last(RULE, Nudge);
    }

    #[test]
    fn a_round_is_one_mistake() {
        Script::new("{}").play("#1 a!x b!x c!x d!x").expect(RULE, &[]);
        Script::new("{}").play("#1 a!x b!x #2 c!x d!x #3 e!x").last(RULE, Nudge);
    }

    #[test]
    fn a_human_ends_the_evidence() {
        Script::new("{}").play("a!x b!x | c!x").expect(RULE, &[]);
    }

    #[test]
    fn a_look_settles_no_change_that_failed() {
        // An editor that views and edits by one name.
        let step = |command: &str, text: &str, outcome: &str, output: &str| {
            let args = format!(r#"{{"command":"{command}","path":"/w/a.py","old_str":"{text}"}}"#);
            pair("file_editor", &args, outcome, output)
        };
        let fails = |n: usize| step("str_replace", &"x".repeat(n + 1), "error", "No match of the old text was found");
        let looks = |n: usize| step("view", "", "ok", &format!("1: def f(): return {}", "y".repeat(n)));
        let works = || step("str_replace", "def", "ok", "The file was edited");
        let lap = |n: usize| [fails(n), looks(n)].concat();
        let laps = |range: core::ops::Range<usize>| range.flat_map(lap).collect::<Vec<_>>();
        events("{}", laps(0..2)).expect(RULE, &[]);
        events("{}", laps(0..6)).strongest(RULE, Block);
        // A change that works settles them, and so does a look what could not be looked at.
        let settled: Vec<_> = [laps(0..2), works().to_vec(), laps(2..4)].concat();
        events("{}", settled).expect(RULE, &[]);
        let blind = |n: usize| step("view", &"z".repeat(n + 1), "error", "The disk is busy");
        events("{}", [blind(0), blind(1), looks(0), blind(2), blind(3)].concat()).expect(RULE, &[]);
    }

    #[test]
    fn another_target_deserves_its_chance() {
        let six = "a!x b!x c!x d!x e!x f!x ";
        Script::new("{}").play(&(alloc::string::String::from(six) + "?f")).last(RULE, Block);
        Script::new("{}").play(&(alloc::string::String::from(six) + "?z")).last_silent(RULE);
    }
}
