//! Catches: different questions that all get the same answer: clicks on a page that does not change, searches that all
//! return the same list.
//! Must not catch: batches of which every item is valid, acknowledgements, a check between new edits, waiting,
//! questions about one thing after another that happen to have the same answer.
//! Idea: the answer is what the agent learns; if it stays the same, other arguments were no progress. Short equal
//! answers are normal for most tools, so only views, searches and long answers are compared. Acting upon a view is more
//! than asking, even if the view does not show it, and gets a nudge at most. What a question in words is about can be
//! compared: if it stays, `reworded-request` counts the repeated answer; if it moves, the nudge takes up to twice as many
//! here.

use crate::codec::codec;
use crate::model::{HaltReason, Level, Recommendation, ToolResult};
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Fact, Facts, Limits, Outlook, Rule, Signal, SignalParts, View, many};
use crate::state::{Call, Occurrence, Ring, Step};
use crate::text::{Asks, Key, combine, enters, is_begun, printable, records, salted, tallies};
use alloc::format;

/// Most steps that can be looked back at.
const MAX_WINDOW: u32 = 64;
/// Letters from which the answer of a search is compared.
const LETTERS: u32 = 24;
/// The same for a view, whose acknowledgements are longer.
const LETTERS_OF_VIEW: u32 = 40;
/// Bytes from which the answer of any read-only call is compared.
const LONG: usize = 200;

pub(crate) struct SameAnswer;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    seen: Ring<Answered>,
}
codec!(struct State { seen });

#[derive(Clone, Debug)]
struct Answered {
    /// Tool, agent and answer.
    answer: Key,
    call: Key,
    asks: Asks,
    /// Nothing tells what the call is about: it may check one of many things that are all fine.
    of_batch: bool,
    target: Option<Key>,
    round: Option<Key>,
    step: u64,
    /// New mutations after it that its answer may depend on.
    mutations: u64,
    seen: Occurrence,
}
codec!(struct Answered { answer, call, asks, of_batch, target, round, step, mutations, seen });

/// Whether an answer says enough to be compared.
fn substantial(step: &Step, call: &Call, result: &ToolResult, page: bool) -> bool {
    let Call { asks, mutates, compare_answers, .. } = *call;
    let facts = &step.facts;
    if facts.failed || facts.negative || facts.waiting || tallies(&result.output) {
        return false;
    }
    // Another page with the same records always counts, however short it is.
    if page {
        return true;
    }
    if compare_answers {
        return facts.letters > 0;
    }
    let telling = match asks {
        Asks::Prose | Asks::Search | Asks::Record => !mutates && facts.letters >= LETTERS,
        Asks::View | Asks::Picture | Asks::Gesture => facts.letters >= LETTERS_OF_VIEW,
        Asks::Nothing | Asks::Handover | Asks::Plan | Asks::Draft => false,
    };
    // A form looks the same while its fields are filled in.
    (telling || result.output.len() >= LONG && !mutates) && !enters(&call.name)
}

impl State {
    /// The earlier steps that got this answer, each call and round once, newest first.
    fn same<'a>(&'a self, newest: &'a Answered) -> impl Iterator<Item = &'a Answered> {
        let same = move |seen: &&Answered| seen.answer == newest.answer && seen.mutations == newest.mutations;
        self.seen.iter().enumerate().rev().filter(move |(_, seen)| same(seen)).filter_map(move |(at, seen)| {
            let later = self.seen.iter().skip(at + 1).filter(same);
            let counted =
                later.clone().any(|other| other.call == seen.call || seen.round.is_some() && other.round == seen.round);
            (!counted).then_some(seen)
        })
    }

    fn count(&self, newest: &Answered) -> u32 {
        many(self.same(newest).count())
    }

    /// Whether every call had a target of its own: then the answer is about something common to all of them, and no
    /// question was asked again.
    fn elsewhere(&self, newest: &Answered) -> bool {
        let targets = || self.same(newest).map(|seen| seen.target);
        targets().all(|target| target.is_some_and(|own| targets().filter(|other| *other == Some(own)).count() == 1))
    }
}

/// Thresholds by kind of question. In words, the nudge takes twice as many answers, but comes before a block.
fn limits_of(seen: &Answered, limits: &Limits) -> Limits {
    let Limits { nudge, block, .. } = *limits;
    let told = |times: u32| Limits { nudge: nudge.saturating_mul(times), block: 0, gate: 0, halt: 0, ..*limits };
    match seen.asks {
        _ if seen.of_batch => told(2),
        Asks::Prose => {
            let late = nudge.saturating_mul(2);
            Limits { nudge: if block > nudge { late.min(block - 1) } else { nudge }, ..*limits }
        }
        // A search through dates and places gets one answer for many of them: a late nudge, and never a block.
        Asks::Record => told(4),
        _ => *limits,
    }
}

impl Rule for SameAnswer {
    const ID: &'static str = "same-answer";
    const ABOUT: &'static str = "Different questions to one tool that all get the same answer.";
    const UNIT: &'static str = "different calls";
    const LIMITS: Limits = Limits::ladder(4, 8, 16, 32);
    const MAX_WINDOW: u32 = MAX_WINDOW;
    const SEES: Facts = Facts::STEP;
    type State = State;

    fn reach(window: u32) -> u32 {
        window
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Step(step, result) = fact else { return None };
        let call = step.call.as_ref()?;
        let records = if call.pages { records(&result.output) } else { None };
        if call.polling || !substantial(step, call, result, records.is_some()) {
            return None;
        }
        let said = records.map_or(step.facts.light, |records| salted("same-answer", cx.salt, records.as_bytes()));
        let answer = combine("same-answer", &[step.tool, step.agent, said]);
        // What says only that the work has begun says so each time.
        if call.asks == Asks::Prose && state.seen.iter().any(|seen| seen.answer == answer) && is_begun(&result.output) {
            return None;
        }
        let newest = Answered {
            answer,
            call: call.key,
            asks: if records.is_some() { Asks::Search } else { call.asks },
            of_batch: records.is_none() && call.asks == Asks::Nothing && call.target.is_none() && !call.compare_answers,
            target: call.target,
            round: call.round,
            step: step.index,
            mutations: step.mutations_after(),
            seen: step.occurrence(),
        };
        if call.asks.shows() {
            // Coming back to a page after something new was seen elsewhere is a look at another part of it.
            state.seen.retain(|seen| seen.answer != answer || seen.step >= step.news);
        }
        state.seen.push(newest.clone(), cx.limits.window as usize);
        let oldest = step.index.saturating_sub(u64::from(cx.limits.window));
        state.seen.retain(|seen| seen.step > oldest);
        let count = state.count(&newest);
        let limits = limits_of(&newest, cx.limits);
        limits.reached(count).then(|| {
            let name = printable(&call.name, 48);
            let told = SignalParts {
                kind: "unmoved",
                identity: answer,
                count,
                confidence: confidence(400, 50, count),
                signature: cx.named(&name, '=', combine("same-answer", &[step.tool, said])),
                message: format!("`{name}` gave the same answer to {count} different calls"),
                instead: "Accept the answer and change what it depends on, or look somewhere else.",
                recommendation: Recommendation::ChangeApproach,
                halt_reason: HaltReason::Stalled,
            };
            let mut same: alloc::vec::Vec<_> = state.same(&newest).map(|known| known.seen.get()).collect();
            same.reverse();
            let mut signal = Streak::of(same.into_iter()).signal(told);
            let seldom = newest.asks == Asks::Record || newest.of_batch;
            let elsewhere = seldom || state.elsewhere(&newest);
            signal.extra.advisory = elsewhere;
            let early = newest.asks == Asks::Prose && (limits.block == 0 || count < limits.block);
            if (call.asks.shows() || elsewhere || early) && limits.nudge != 0 && count >= limits.nudge {
                signal.ask = Some(Level::Nudge);
                signal.extra.threshold = Some(limits.nudge);
            }
            signal
        })
    }

    fn outlook(state: &State, view: &View<'_>) -> Outlook {
        let window = u64::from(view.limits.window);
        let Some(newest) = state.seen.last().filter(|seen| view.steps.saturating_sub(seen.step) < window) else {
            return Outlook::default();
        };
        let (limits, count) = (limits_of(newest, view.limits), state.count(newest));
        let told = newest.of_batch || newest.asks.shows() || newest.asks == Asks::Record || state.elsewhere(newest);
        if told { view.advisory(&limits, count) } else { view.with(&limits, count) }
    }

    fn fits(state: &State) -> bool {
        state.seen.len() <= MAX_WINDOW as usize
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::{Block, Halt, Nudge};
    use crate::rules::testing::{Script, events, step};
    use alloc::{
        format,
        string::{String, ToString},
        vec::Vec,
    };

    const RULE: &str = "same-answer";

    #[test]
    fn table() {
        // The answer of a search needs enough letters, that of other tools has to be long.
        let words = "one two three four";
        let ask = |tool: &str, answer: &dyn Fn(usize) -> String| -> String {
            words.split(' ').enumerate().map(|(at, word)| format!("{tool}/{word}:{} ", answer(at))).collect()
        };
        let same = |_: usize| String::from("the_very_same_list");
        Script::new("{}").play(&ask("web_search", &same)).expect(RULE, &[(7, Nudge)]);
        Script::new("{}").play(&ask("lookup", &|at| format!("list{at}"))).expect(RULE, &[]);
        Script::new("{}").play(&ask("validate", &same)).expect(RULE, &[]);
        let long = |_: usize| "long".repeat(60);
        // If nothing tells what a call is about, a nudge takes twice as many, and there is no block.
        let batch = |times: usize| -> String { (0..times).map(|at| format!("validate/{at}:{} ", long(at))).collect() };
        Script::new("{}").play(&batch(7)).expect(RULE, &[]);
        Script::new("{}").play(&batch(8)).expect(RULE, &[(15, Nudge)]);
        Script::new("{}").play(&batch(40)).strongest(RULE, Nudge);
        // A form that is filled in.
        Script::new("{}").play(&batch(40).replace("validate", "fill_in")).expect(RULE, &[]);
        // A change in between, and a single round.
        Script::new("{}").play(&batch(8).replacen(" val", " *1 val", 2)).expect(RULE, &[]);
        Script::new("{}").play(&(String::from("#1 ") + &ask("web_search", &same))).expect(RULE, &[]);
        // Twice as many are blocked, but not on a view.
        let many = |tool: &str, times: usize| -> String {
            (0..times).map(|at| format!("{tool}/{at}:the_very_same_list_as_it_was_before ")).collect()
        };
        Script::new("{}").play(&many("web_search", 7)).strongest(RULE, Nudge);
        Script::new("{}").play(&many("web_search", 8)).last(RULE, Block);
        Script::new("{}").play(&many("web_search", 16)).last(RULE, Halt);
        Script::new("{}").play(&many("click", 16)).strongest(RULE, Nudge);
        // A question in words is about something: more are needed if that moves.
        let about = |times: usize| -> String {
            let town = |at: usize| ["Ulm", "Bern", "Linz", "Graz", "Kiel", "Jena", "Trier", "Essen", "Basel"][at];
            (0..times).map(|at| format!("web_search/tram_in_{}:the_very_same_list_of_lines ", town(at))).collect()
        };
        Script::new("{}").play(&about(6)).expect(RULE, &[]);
        Script::new("{}").play(&about(8)).expect(RULE, &[(13, Nudge), (15, Block)]);
        // A count of what was found shows nothing of it.
        let counts = "Found_12_results_on_all_tides ";
        let counted = |shown: &str| about(9).replace("the_very_same_list_of_lines ", shown);
        Script::new("{}").play(&counted(counts)).expect(RULE, &[]);
        Script::new("{}").play(&counted("Found_the_12th_tide_of_all_results ")).last(RULE, Block);
        // A page with the records of the page before, whatever it says about itself; and pages that are only acted
        // upon.
        let pages = |tool: &str, args: &str, answer: &dyn Fn(usize) -> String| {
            let page = |n: usize| step("ann", tool, &args.replace('#', &n.to_string()), &answer(n));
            events("{}", (1..=9).flat_map(page).collect::<Vec<_>>())
        };
        let gulls = r#"[{"id":1,"gull":"Ann"},{"id":2,"gull":"Bo"}]"#;
        let numbered = |n: usize| format!(r#"{{"page":{n},"gulls":{gulls},"next":{}}}"#, n + 1);
        for args in [r#"{"page":#}"#, r#"{"url":"https://gulls.example/all?page=#"}"#, r#"{"cursor":"c#"}"#] {
            assert_eq!(pages("list_gulls", args, &numbered).findings(RULE).first().unwrap().count, 4, "{args}");
        }
        pages("list_gulls", r#"{"page":#}"#, &numbered).last(RULE, Block);
        pages("list_gulls", r#"{"page":#}"#, &|n| gulls.replace("Bo", &n.to_string())).expect(RULE, &[]);
        for done in [r#"{"ok":true,"message":"the page is at the printer"}"#, r#"[{"ok":true}]"#] {
            pages("print", r#"{"page":#}"#, &|_| done.into()).expect(RULE, &[]);
        }
        // Repeats of one call belong to another rule.
        Script::new("{}").play(&"web_search/one:the_very_same_list ".repeat(6)).expect(RULE, &[]);
    }
}
