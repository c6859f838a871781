//! Catches: one tool failing in the same way over and over although its arguments change.
//! Must not catch: different errors of one tool, an edit-and-test rhythm whose error moves on, searches that find
//! nothing (a negative answer is no error), rejected calls (other rules), failures that are waited out.
//! Idea: errors are compared by class, not by arguments: this is the loop people suffer from most. Evidence is shared
//! by all agents of a run.

use crate::codec::codec;
use crate::model::{HaltReason, Outcome, Recommendation, ToolResult};
use crate::rules::streak::capped_confidence;
use crate::rules::windows::{After, Row, Window, windows};
use crate::rules::{Cx, Facts, Limits, Outlook, Signal, SignalParts, elsewhere, foreseen};
use crate::state::{Call, Occurrence, Sighting, Step, Time};
use crate::text::{Asks, Key, asked_wait, backoff, combine, mark, printable, progress};
use alloc::format;

const EVIDENCE: usize = 5;
/// Weights of an error, in sixths. Two thirds: another question, to a service that may be back by then. Half: it came
/// back unchanged after a new mutation, or it names something else after the tool has worked. A third: the agent waited
/// before it as such errors ask. Nothing if it was waited out ([`Step::is_waited_out`]): `repeated-call` tolerates that,
/// up to its own limit.
const WHOLE: u8 = 6;
const MOST: u8 = 4;
const HALF: u8 = 3;
const THIRD: u8 = 2;
/// Milliseconds between a failure and the same call from which it was waited for: of a call that changes something, or
/// that came sooner than the failure had asked for.
const PAUSE: i64 = 30_000;
/// The same for a read-only call.
const GLANCE: i64 = 2_000;
/// The same for a read-only call that timed out.
const TIMEOUT: i64 = 5_000;
/// Milliseconds below which a wait is too short to be a growing one (a backoff).
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
            Some(if batch { view.advisory(view.limits, count) } else { view.of(count) })
        };
        Outlook::of_all(window.seen.iter().filter_map(|call| outlook(call.class?)))
    },
    fits: |_| true,
};

/// The latest call that says how long it waits, or whose answer says how long to wait before the next attempt.
type Waits = Option<(Key, Wait)>;

/// A wait in milliseconds: the call's own, or the one that the answer asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    Own(i64),
    Asked(i64),
}
codec!(enum Wait { Own(wait): 0, Asked(wait): 1 });

/// One call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Outing {
    /// Class of its error; `None` if it did not fail or no longer counts.
    class: Option<Key>,
    weight: u8,
    round: Option<Key>,
    light: u32,
    /// Marks of the call and of its target, which for a search without one is the call itself; 0 for none.
    call: u32,
    target: u32,
    /// It was meant to change something.
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
    /// Whether it has no target of its own but asks for something.
    const fn is_question(&self) -> bool {
        self.target == self.call
    }
}

/// The evidence of one error class.
struct Evidence<'a> {
    count: u32,
    first: &'a Outing,
    /// The failures are on ever new targets, as in a search or a batch: the finding is advisory only.
    batch: bool,
}

impl Window<Outing> {
    fn evidence(&self, class: Key) -> Option<Evidence<'_>> {
        let same = self.same(class);
        let first = same.clone().find(|call| call.weight > 0)?;
        let times = same.clone().count();
        let weight: u32 = same.map(|call| u32::from(call.weight)).sum();
        let batch = elsewhere(self.same(class).map(|call| Some(call.target)));
        // If each is about a different thing, one more is needed: each failure may be that thing's own.
        let others = batch && self.same(class).any(|call| call.target != first.target && !call.is_question());
        let often = if batch { times * 4 >= self.seen.len() * 3 } else { times * 2 >= self.seen.len() };
        let count = (weight / u32::from(WHOLE)).saturating_sub(others.into());
        often.then_some(Evidence { count, first, batch })
    }

    fn same(&self, class: Key) -> impl Iterator<Item = &Outing> + Clone {
        self.seen.iter().filter(move |call| call.class == Some(class))
    }

    fn signal(&self, name: &str, class: Key, cx: &Cx<'_>) -> Option<Signal> {
        let Evidence { count, first, batch } = self.evidence(class)?;
        if !cx.limits.reached(count) {
            return None;
        }
        let same = self.same(class);
        let times = same.clone().count();
        let different = same.clone().any(|call| call.call != first.call);
        let tool = printable(name, 48);
        let arguments = match first.call {
            _ if different => " with different arguments",
            // A result whose call was never seen.
            0 => "",
            _ => " with the same arguments",
        };
        // Calls that have left the window may have failed in the same way.
        let least = if times >= cx.limits.window as usize { "at least " } else { "" };
        let arguments = if batch { ", for several things" } else { arguments };
        let message = format!("`{tool}` failed {least}{times} times in the same way{arguments}");
        let sightings = same.clone().skip(times.saturating_sub(EVIDENCE)).map(|call| call.seen.sighting()).collect();
        let identity = combine("repeated-error", &[self.tool, class]);
        let told = SignalParts {
            kind: if different { "changing-arguments" } else { "same-arguments" },
            identity,
            count,
            confidence: capped_confidence((650, 40, 8), count),
            signature: cx.named(&tool, '!', class),
            message,
            instead: if batch {
                "Check one thing that all of them have in common, or leave the rest of the batch."
            } else {
                "Look at the current state of what the call is about, or reach the goal in another way."
            },
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::RepeatedError,
        };
        Some(foreseen(told.signal(first.seen.onset(), sightings), 1, batch, cx))
    }

    fn took(&mut self, step: &Step, result: &ToolResult, wait: Option<Wait>, window: usize) {
        let facts = &step.facts;
        // Rejected calls have rules of their own, which act earlier.
        let class = facts.class.filter(|_| facts.refusal.is_none());
        let before = class.and_then(|class| self.seen.iter().rev().find(|call| call.class == Some(class)));
        let tried = Try::new(step, result, wait, before);
        let worked = self.seen.last().is_some_and(|last| last.class.is_none());
        let weight = before.map_or(WHOLE, |before| tried.weight(before, worked));
        let Try { call, target, light, mutates, .. } = tried;
        let waited = u32::try_from(tried.waited().max(0)).unwrap_or(u32::MAX);
        if step.outcome == Outcome::Ok && !facts.failed && (target != 0 || call != 0) {
            // It works now, so earlier failures on this target are settled. A look at it does not settle a failed
            // change, or editors that view and edit under one name would never be seen to fail repeatedly.
            let settled = |known: &&mut Outing| {
                call != 0 && known.call == call || target != 0 && known.target == target && (mutates || !known.mutates)
            };
            self.seen.iter_mut().filter(settled).for_each(|known| known.class = None);
        }
        // Fewer errors are progress: what failed in the same way before no longer counts.
        if step.fewer {
            self.seen.iter_mut().filter(|known| known.class == class).for_each(|known| known.class = None);
        }
        // Nor does a look count among the calls of which the failed changes are a share.
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
            // For calls that did not fail, the sighting is never used.
            seen: class.map_or_else(
                || step.occurrence(),
                |key| Occurrence::new(Sighting { key, ..step.sighting }, step.onset),
            ),
        };
        self.seen.push(outing, window);
    }
}

/// A call of the tool with its outcome, to be compared with the latest one that failed in the same way.
struct Try<'a> {
    step: &'a Step,
    result: &'a ToolResult,
    /// As in [`Outing`].
    light: u32,
    call: u32,
    target: u32,
    mutates: bool,
    wait: Option<Wait>,
    /// Milliseconds from that failure to this call, if both have a timestamp.
    since: Option<i64>,
}

impl<'a> Try<'a> {
    fn new(step: &'a Step, result: &'a ToolResult, wait: Option<Wait>, before: Option<&Outing>) -> Self {
        let call = step.call.as_ref();
        // A search without a target is about what it asks for: a different question is about something else.
        let asked = |call: &Call| {
            (!call.mutates && matches!(call.asks, Asks::Search | Asks::Prose | Asks::Record)).then_some(call.key)
        };
        Self {
            step,
            result,
            light: mark(step.facts.light),
            call: call.map_or(0, |call| mark(call.key)),
            target: call.map_or(0, |call| match (call.target, call.thing) {
                (None, 0) => asked(call).map_or(0, mark),
                (target, thing) => target.map_or(thing, mark),
            }),
            mutates: call.is_some_and(|call| call.mutates),
            wait,
            since: before.and_then(|before| before.at.until(step.onset.at.get())),
        }
    }

    fn by_clock(&self) -> i64 {
        self.since.unwrap_or(0)
    }

    /// Milliseconds that the call itself says it waits.
    const fn own_wait(&self) -> Option<i64> {
        if let Some(Wait::Own(own)) = self.wait { Some(own) } else { None }
    }

    fn waited(&self) -> i64 {
        self.own_wait().unwrap_or(0).max(self.by_clock())
    }

    /// Whether it came as late as the previous answer had asked for; `None` if that asked for nothing.
    fn obeys(&self) -> Option<bool> {
        let Some(Wait::Asked(asked)) = self.wait else { return None };
        Some(self.by_clock().max(self.step.pause.into()) >= asked)
    }

    fn is_hasty(&self) -> bool {
        self.since.is_some() && self.obeys() == Some(false)
    }

    /// Its weight after one that failed in the same way, in sixths; `worked` tells whether the tool's latest call did
    /// not fail.
    fn weight(&self, before: &Outing, worked: bool) -> u8 {
        let Self { step, light, .. } = *self;
        let (call, waiting) = (step.call.as_ref(), step.facts.waiting);
        let (round, same_call, same_words) = (step.round(), before.call == self.call, before.light == light);
        // The calls of a round were made before any of them was answered: they are one mistake.
        if round.is_some() && before.round == round {
            return 0;
        }
        if step.mutations_before() > before.mutations {
            return if same_words { HALF } else { 0 };
        }
        // A look that tells how far something is, and it is not where it was: `Waiting …: 4 of 12 replicas are up`.
        let moves = || same_call && !same_words && !self.mutates && progress(&self.result.output) != 0;
        if step.fewer || moves() {
            return 0;
        }
        // The error names something else, and the tool has worked since: an attempt that gets further.
        if !same_words && worked && call.is_some_and(|call| call.asks == Asks::Nothing) {
            return HALF;
        }
        // A call that has waited itself reports how things stand by then.
        let itself = || call.is_some_and(|call| call.pause < step.pause);
        let waited_out = || step.is_waited_out() || step.waits_out() && waiting;
        if same_call && (same_words || itself()) && !self.is_hasty() && waited_out() {
            return 0;
        }
        // The call is meant to be made again, or its answer says to wait.
        if same_call && (waiting || call.is_some_and(|call| call.polling)) {
            return THIRD;
        }
        if !step.transient(self.result) {
            return WHOLE;
        }
        if self.was_waited_for(before) {
            THIRD
        } else if self.target == self.call && !same_call {
            MOST
        } else {
            WHOLE
        }
    }

    /// Whether the agent waited before this attempt: long enough for the same call or target, or longer by its own
    /// argument than before. Only overload and network failures call for that, which the caller checks.
    fn was_waited_for(&self, before: &Outing) -> bool {
        let again = before.call == self.call || self.target != 0 && before.target == self.target;
        let enough = if self.mutates || self.is_hasty() {
            PAUSE
        } else if self.step.outcome == Outcome::Timeout {
            // A call that timed out has already waited.
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

/// Whether a wait is at least half as long again as the previous one; both in milliseconds.
const fn grows(before: i64, now: i64) -> bool {
    now >= SHORTEST && before > 0 && now.saturating_mul(2) >= before.saturating_mul(3)
}

/// Judges only a call that looks like one more of the same; another target deserves a chance.
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
    fn an_agents_own_failures() {
        let both = Script::new("{}").play("^1 a!x a!x a!x a!x a!x ^2 b!x");
        both.last_silent(RULE);
        both.last_silent("failure-streak");
        Script::new(&alone(RULE)).play("^1 a!x ^2 b!x ^1 a!x ^2 b!x ^1 a!x").last(RULE, Nudge);
    }

    #[test]
    fn waiting_for_load_to_pass() {
        let play = |script: &str| Script::new("{}").play(script);
        play("a!429_unavailable @30 a!429_unavailable @60 a!429_unavailable").expect(RULE, &[]);
        play(
            "a!429_unavailable @30 a!429_unavailable @30 a!429_unavailable @30 a!429_unavailable @30 a!429_unavailable",
        )
        .expect(RULE, &[]);
        // Waits of half a minute each: the nineteenth is flagged, by another rule.
        let waits = |script: &str, times: usize| Script::new("{}").play(&script.repeat(times));
        waits("a!429_unavailable @30 ", 30).expect(RULE, &[]);
        waits("a!429_unavailable @30 ", 18).expect("repeated-call", &[]);
        waits("a!429_unavailable @30 ", 19).last("repeated-call", Nudge);
        // Waits of a few seconds: the seventh is flagged.
        waits("look/=a!429_unavailable @5 ", 6).expect(RULE, &[]);
        waits("look/=a!429_unavailable @5 ", 7).last(RULE, Nudge);
        // After a change of its own, the agent may wait for something to come up.
        play(&["*1 ", &"look/=a!429_unavailable @5 ".repeat(9)].concat()).expect(RULE, &[]);
        // Longer each time, by the clock.
        play("a!429_unavailable @2 a!429_unavailable @4 a!429_unavailable @8 a!429_unavailable").expect(RULE, &[]);
        // As long as the answer asks for.
        play("a!429_retry_after_2 @2 a!429_retry_after_2 @3 a!429_retry_after_2 @2 a!429_retry_after_2")
            .expect(RULE, &[]);
        play("a!429_retry_after_9 @2 a!429_retry_after_9 @3 a!429_retry_after_9").last(RULE, Nudge);
        // A look that tells how far something is, as long as that changes.
        let looks = |done: &[u32]| {
            let look = |done: &u32| {
                let told = format!(
                    "Waiting for rollout: {done} of 12 berths are lit\\nerror: timed out waiting for the condition"
                );
                pair("bash", r#"{"command":"quayctl rollout status tides"}"#, "error", &told)
            };
            events("{}", done.iter().flat_map(look))
        };
        looks(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]).expect(RULE, &[]);
        looks(&[3, 4, 4, 4, 4, 4, 4, 4, 4]).strongest(RULE, Block);
        // A failure that was resolved is over.
        play("a!x @9 a!x a:1 a!x @9 a!x a:1 a!x a!x").expect(RULE, &[]);
        // Without a pause, for a failure that no waiting resolves, or for a different call.
        play("a!429_unavailable a!429_unavailable a!429_unavailable").last(RULE, Nudge);
        play("a!x @30 a!x @40 a!x").last(RULE, Nudge);
        // A look after a minute is a wait, whatever the failure says.
        play("a!x @60 a!x @60 a!x @60 a!x").expect(RULE, &[]);
        play("a!429_unavailable @30 b!429_unavailable @60 c!429_unavailable").last(RULE, Nudge);
    }

    #[test]
    fn refused_and_made_again() {
        // As many refused calls halt the run as calls that run.
        Script::new("{}").play("a!x b!x c!x a!x b!x a!x a~").strongest(RULE, Block);
        Script::new("{}").play("a!x b!x c!x a!x b!x a!x a~ a~").last_but_one(RULE, Halt);
    }

    #[test]
    fn arguments_do_not_matter() {
        Script::new("{}").play("a!x b!x").expect(RULE, &[]);
        Script::new("{}").play("a!x b!x c!x").expect(RULE, &[(5, Nudge)]);
        // Something else each time: a batch gets a nudge, never a block.
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
        // Another column of the same table is one more attempt at the same thing.
        let columns: Vec<_> =
            all(&|word| step("query", "sql", &format!("SELECT {word} FROM parcels"), "ERROR: no such column"));
        events("{}", columns).strongest(RULE, Halt);
        // A command is no question: another spelling of it is one more attempt.
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
        // Written content is no target: one more wording of a message is one more attempt.
        each("commit", "message", "nothing to commit").strongest(RULE, Halt);
        let shell = |line: &dyn Fn(usize) -> alloc::string::String, error: &str| {
            let step = |at| pair("bash", &format!(r#"{{"command":"{}"}}"#, line(at)), "error", error);
            events(&alone(RULE), (0..12).flat_map(step))
        };
        shell(&|at| format!("ssh root@web{at} uptime"), "Connection refused").strongest(RULE, Nudge);
        shell(&|at| format!("nc -zv -w1 10.0.4.7 {}", 80 + at), "Connection refused").strongest(RULE, Nudge);
        shell(&|at| format!("docker restart berth-{at}"), "No such container").strongest(RULE, Nudge);
        // Other settings of one thing are not other things.
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
        // The same class, but a different text each time (the error class masks digits, the outcome does not).
        Script::new("{}").play("a!x1 *1 a!x2 *2 a!x3 *3 a!x4 *4 a!x5 *5 a!x6").expect(RULE, &[]);
        // The identical error after every change counts half.
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
        // An editor that views and edits under one name.
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
        // A change that works settles them, and a look that works settles failed looks.
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
