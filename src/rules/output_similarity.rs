//! Catches: an output that is at least 90 % similar to one of the agent's last five: the same thing said again in
//! nearly the same words. Off by default.
//! Must not catch: outputs that share a frame but not their content; blank ones.
//! Idea: the fuzzy variant that the seed document on output signatures compares itself with. It needs the outputs
//! themselves: at most 1,000 characters of each are kept, masked; of a longer one, half of them from its end. Each
//! agent has a window for each task that its outputs name; beyond the cap, the longest window loses its oldest output.

use crate::codec::codec;
use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::capped_confidence;
use crate::rules::{Cx, Fact, Facts, Limits, Rule, Signal, SignalParts, many};
use crate::state::{Flow, Occurrence, Ring, ScopeKeys, Sighting};
use crate::text::{Key, Pattern, combine, gist, is_gist, salted};
use alloc::{format, string::String, vec::Vec};
use smol_str::SmolStr;

const MAX_WINDOW: u32 = 16;
/// Outputs kept per run, over all windows.
const HELD: usize = 16;
/// Similarity in percent from which two outputs are alike.
const ALIKE: u32 = 90;

pub(crate) struct OutputSimilarity;

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// One per agent and task, ordered by the latest output.
    windows: Ring<Window>,
}
codec!(struct State { windows });

#[derive(Clone, Debug, Default)]
struct Window {
    task: Key,
    agent: Key,
    latest: Ring<EarlierOutput>,
    /// The evidence of the latest output.
    count: u32,
}
codec!(struct Window { task, agent, latest, count });

impl State {
    /// Drops outputs beyond [`HELD`], from the longest window first, and windows that are left empty.
    fn trim(&mut self) {
        while self.windows.iter().map(|window| window.latest.len()).sum::<usize>() > HELD {
            let longest = self.windows.iter().map(|window| window.latest.len()).max().unwrap_or(0);
            let Some(window) = self.windows.iter_mut().find(|window| window.latest.len() == longest) else { break };
            window.latest.remove(0);
        }
        let newest = self.windows.last().map(|window| (window.task, window.agent));
        self.windows.retain(|window| window.latest.len() > 0 || Some((window.task, window.agent)) == newest);
    }
}

#[derive(Clone, Debug)]
struct EarlierOutput {
    gist: String,
    seen: Occurrence,
}
codec!(struct EarlierOutput { gist, seen } raw);

impl Rule for OutputSimilarity {
    const ID: &'static str = "output-similarity";
    const ABOUT: &'static str = "An output that is at least 90 % similar to other recent outputs.";
    const UNIT: &'static str = "outputs alike";
    const LIMITS: Limits = Limits { enabled: false, nudge: 0, block: 0, gate: 2, halt: 0, window: 5 };
    const MAX_WINDOW: u32 = MAX_WINDOW;
    const IN_LANE: bool = false;
    const SEES: Facts = Facts::OUTPUT;
    type State = State;

    /// The output itself and all those in the window.
    fn reach(window: u32) -> u32 {
        window.saturating_add(1)
    }

    fn observe(state: &mut State, fact: &Fact<'_>, cx: &Cx<'_>) -> Option<Signal> {
        let Fact::Output { text, .. } = fact else { return None };
        let gist = gist(text);
        if gist.is_empty() {
            return None;
        }
        let identity = salted("gist", cx.salt, gist.as_bytes());
        let pattern = Pattern::new(&gist);
        let new = || Window { task: cx.task, agent: cx.agent, ..Window::default() };
        let is_it = |window: &Window| window.task == cx.task && window.agent == cx.agent;
        let window = state.windows.renew(HELD + 1, is_it, new)?;
        let like: Vec<(u32, &EarlierOutput)> = (window.latest.iter())
            .map(|said| (pattern.percent(&said.gist), said))
            .filter(|(percent, _)| *percent >= ALIKE)
            .collect();
        let here = Sighting { key: identity, ..cx.here };
        let count = many(like.len() + 1);
        let first = like.first().map(|(_, said)| said.seen.get());
        let most = like.iter().map(|(percent, _)| *percent).max().unwrap_or(0);
        let sightings = like.iter().map(|(_, said)| said.seen.sighting()).chain([here]).collect();
        window.count = count;
        window.latest.push(EarlierOutput { gist, seen: Occurrence::new(here, cx.onset) }, cx.limits.window as usize);
        state.trim();
        let (first, onset) = first.filter(|_| cx.limits.reached(count))?;
        let message = format!("{count} of the last outputs are similar (up to {most} %)");
        Some(
            SignalParts {
                kind: "similar-output",
                identity: combine("output-similarity", &[cx.task, cx.agent, first.key]),
                count,
                confidence: capped_confidence((600, 50, 6), count),
                signature: SmolStr::new_static(Self::ID),
                message,
                instead: "Name what differs between these outputs, and work on that alone.",
                recommendation: Recommendation::Escalate,
                halt_reason: HaltReason::Stalled,
            }
            .signal(onset, sightings)
            .what(format!("{count} of the last outputs say the same thing in nearly the same words.")),
        )
    }

    fn drop_tasks(state: &mut State, gone: &dyn Fn(Key) -> bool) {
        state.windows.retain(|window| !gone(window.task));
    }

    fn standing_of(state: &State, whose: &ScopeKeys, _flow: &Flow<'_>) -> u32 {
        let windows = state.windows.iter().filter(|window| whose.has(window.task, window.agent));
        windows.map(|window| window.count).max().unwrap_or(0)
    }

    fn fits(state: &State) -> bool {
        let fits = |window: &Window| window.latest.iter().all(|said| is_gist(&said.gist));
        state.windows.len() <= HELD + 1
            && state.windows.iter().map(|window| window.latest.len()).sum::<usize>() <= HELD
            && state.windows.iter().all(fits)
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Level::Gate;
    use crate::rules::testing::Script;

    const RULE: &str = "output-similarity";
    const ON: &str = r#"{"rules":{"output-similarity":{"enabled":true}}}"#;

    #[test]
    fn table() {
        let one = "o:one-and-the-same-thing-again-1";
        let two = "o:one-and-the-same-thing-again-2";
        let other = ["o:q", "o:rrrrrrrrrrrrrrrrrrrr", "o:ssssssssssssssssssssssssssssssssssssss", "o:tttttttttt"];
        let play = |config: &str, script: &[&str]| Script::workflow(config).play(&script.join(" "));
        play(ON, &[one, two]).expect(RULE, &[(1, Gate)]);
        play(ON, &[one, other[1], other[2], two]).expect(RULE, &[(3, Gate)]);
        play(ON, &[one, other[1], other[2]]).expect(RULE, &[]);
        play("{}", &[one, one, two]).expect(RULE, &[]);
        play(ON, &[one, "|", two]).expect(RULE, &[]);
        let three = r#"{"rules":{"output-similarity":{"enabled":true,"gate":3}}}"#;
        play(three, &[one, two]).expect(RULE, &[]);
        play(three, &[one, two, one]).expect(RULE, &[(2, Gate)]);
        let narrow = r#"{"rules":{"output-similarity":{"enabled":true,"window":1}}}"#;
        play(narrow, &[one, other[2], two]).expect(RULE, &[]);
    }
}
