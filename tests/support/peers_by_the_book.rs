//! Reimplementations of other detectors' counting, and random runs for testing the profiles that mimic them.
//!
//! Written from the detectors' behaviour, over whole histories and without any of the project's code, so that a profile
//! and its detector share nothing but the expected result.

use loopwarden::json;
use loopwarden::model::Level;
use serde_json::{Value, json};

/// A tool call with an argument, and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) tool: usize,
    pub(crate) args: usize,
    pub(crate) out: usize,
    pub(crate) fails: bool,
}

/// One act of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// The calls of one turn, all made before the first result.
    Turn(Vec<Call>),
    /// The agent says something without calling a tool.
    Says(usize),
    /// The user says something.
    User,
}

pub(crate) struct Peer {
    /// The profile's name in `extends`.
    pub(crate) profile: &'static str,
    pub(crate) tools: [&'static str; 3],
    /// Most calls in a turn.
    pub(crate) parallel: usize,
    /// Percentage of acts that repeat the act one or two before.
    pub(crate) sticky: u64,
    pub(crate) length: usize,
    /// Per mille of the runs on which its profile must agree, to the act.
    pub(crate) agreement: usize,
    /// The act of the first alarm.
    pub(crate) alarm: fn(&[Act]) -> Option<usize>,
}

const NAMES: [&str; 3] = ["look_up", "fetch_page", "list_items"];

const fn peer(profile: &'static str, alarm: fn(&[Act]) -> Option<usize>) -> Peer {
    Peer { profile, tools: NAMES, parallel: 1, sticky: 60, length: 14, agreement: 980, alarm }
}

pub(crate) const PEERS: &[Peer] = &[
    Peer { sticky: 70, ..peer("cline", |run| in_a_row(run, 3, false, false)) },
    Peer { sticky: 80, ..peer("gemini-cli", |run| in_a_row(run, 5, true, false)) },
    Peer { sticky: 76, ..peer("roo-code", |run| in_a_row(run, 4, false, false)) },
    peer("opencode", |run| in_a_row(run, 3, true, true)),
    peer("openhands", openhands),
    peer("openhands-v0", |run| openhands_v0(run, false)),
    peer("openhands-v0-headless", |run| openhands_v0(run, true)),
    Peer { sticky: 82, length: 50, ..peer("openclaw", openclaw) },
    // A turn is seen call by call, so one that begins like those before it counts before it is complete.
    Peer { parallel: 2, agreement: 880, ..peer("open-multi-agent", open_multi_agent) },
    Peer { parallel: 2, agreement: 880, ..peer("gptme", |run| turns_in_a_row(run, 3)) },
    peer("pydantic-deepagents", pydantic_deepagents),
    peer("zeroclaw", zeroclaw),
    Peer { tools: ["read_file", "terminal", "todo_list"], length: 12, sticky: 60, ..peer("hermes", hermes) },
    Peer { sticky: 93, length: 30, ..peer("tolokaforge", tolokaforge) },
    Peer { parallel: 2, sticky: 12, length: 7, ..peer("openrouter", openrouter) },
];

/// Pseudo-random numbers, by SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn up_to(&mut self, limit: usize) -> usize {
        usize::try_from(self.below(limit as u64)).expect("below a usize")
    }
}

impl Peer {
    /// A random run with much repetition.
    pub(crate) fn run(&self, seed: usize) -> Vec<Act> {
        let mut random = Random(seed as u64 * 7919 + self.profile.len() as u64);
        let mut run: Vec<Act> = Vec::new();
        for _ in 0..self.length {
            let back = 1 + random.up_to(2);
            if random.below(100) < self.sticky && run.len() >= back {
                let mut act = run[run.len() - back].clone();
                // The same call, sometimes with another answer.
                if let (Act::Turn(calls), true) = (&mut act, random.below(100) < 18) {
                    calls[0].out = random.up_to(2);
                }
                run.push(act);
                continue;
            }
            run.push(match random.below(12) {
                0 => Act::User,
                1 | 2 => Act::Says(random.up_to(2)),
                _ => Act::Turn(
                    (0..=random.up_to(self.parallel))
                        .map(|_| Call {
                            tool: random.up_to(3),
                            args: random.up_to(2),
                            out: random.up_to(2),
                            fails: random.below(3) == 0,
                        })
                        .collect(),
                ),
            });
        }
        run
    }

    fn events(&self, turn: usize, act: &Act) -> Vec<Value> {
        const WORDS: [&str; 2] = ["a short answer about apples", "a short answer about pears"];
        match act {
            Act::User => vec![json!({"type": "message", "role": "user", "text": "please go on"})],
            Act::Says(what) => vec![json!({"type": "message", "role": "assistant", "text": WORDS[*what]})],
            Act::Turn(calls) => {
                let id = |index: usize| format!("c{turn}-{index}");
                let round = format!("r{turn}");
                let made = calls.iter().enumerate().map(|(index, call)| {
                    json!({"type": "tool-call", "tool": self.tools[call.tool], "args": {"what": format!("thing {}", ["one", "two"][call.args])},
                        "callId": id(index), "round": round})
                });
                let answered = calls.iter().enumerate().map(|(index, call)| {
                    let (outcome, output) =
                        if call.fails { ("error", format!("it broke: {}", WORDS[call.out])) } else { ("ok", WORDS[call.out].to_owned()) };
                    json!({"type": "tool-result", "tool": self.tools[call.tool], "callId": id(index), "outcome": outcome,
                        "output": output, "round": round})
                });
                made.chain(answered).collect()
            }
        }
    }
}

/// The act at which the detector first reaches `nudge`.
pub(crate) fn alarm_of(config: &str, peer: &Peer, run: &[Act]) -> Option<usize> {
    let mut detector = json::detector(config).unwrap_or_else(|error| panic!("{config}: {error}"));
    run.iter().enumerate().position(|(turn, act)| {
        let levels = peer.events(turn, act).into_iter().map(|event| {
            let event = json::event(&event.to_string()).expect("an event");
            detector.record(&event).expect("a verdict").level
        });
        levels.max().is_some_and(|level| level >= Level::Nudge)
    })
}

/// The first act at which `alarms` fires, given the act and a state.
fn first<S>(run: &[Act], mut state: S, mut alarms: impl FnMut(&mut S, &Act) -> bool) -> Option<usize> {
    run.iter().position(|act| alarms(&mut state, act))
}

fn calls(act: &Act) -> &[Call] {
    if let Act::Turn(calls) = act { calls } else { &[] }
}

type Request = (usize, usize);

fn request(call: &Call) -> Request {
    (call.tool, call.args)
}

/// The `limit`th equal call in a row, counted when it is made.
fn in_a_row(run: &[Act], limit: u32, user_resets: bool, words_reset: bool) -> Option<usize> {
    first(run, (None::<Request>, 0_u32), |(last, count), act| {
        if user_resets && *act == Act::User || words_reset && matches!(act, Act::Says(_)) {
            (*last, *count) = (None, 0);
        }
        calls(act).iter().any(|call| {
            *count = if *last == Some(request(call)) { *count + 1 } else { 1 };
            *last = Some(request(call));
            *count >= limit
        })
    })
}

/// An event of OpenHands' history.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Action(Request),
    Seen(usize, usize),
    Error(usize),
    Said(usize),
    User,
}

fn history(act: &Act) -> Vec<Event> {
    match act {
        Act::User => vec![Event::User],
        Act::Says(what) => vec![Event::Said(*what)],
        Act::Turn(calls) => {
            let seen = |call: &Call| if call.fails { Event::Error(call.out) } else { Event::Seen(call.tool, call.out) };
            calls.iter().map(|call| Event::Action(request(call))).chain(calls.iter().map(seen)).collect()
        }
    }
}

/// The latest matching events, the latest first.
fn latest(events: &[Event], wanted: impl Fn(&Event) -> bool, most: usize) -> Vec<&Event> {
    events.iter().rev().filter(|event| wanted(event)).take(most).collect()
}

fn all_equal(events: &[&Event], count: usize) -> bool {
    events.len() >= count && events[..count].iter().all(|event| *event == events[0])
}

fn alternate(events: &[&Event], count: usize) -> bool {
    events.len() >= count && (0..count - 2).all(|at| events[at] == events[at + 2])
}

fn openhands(run: &[Act]) -> Option<usize> {
    first(run, Vec::<Event>::new(), |all, act| {
        all.extend(history(act));
        let mut events = &all[all.len().saturating_sub(20)..];
        if let Some(user) = events.iter().rposition(|event| *event == Event::User) {
            events = &events[user + 1..];
        }
        let actions = latest(events, |event| matches!(event, Event::Action(_)), 6);
        let seen = latest(events, |event| matches!(event, Event::Seen(..) | Event::Error(_)), 6);
        let words = events.iter().rev().take_while(|event| matches!(event, Event::Said(_))).count();
        let errors = seen.len() >= 3 && seen[..3].iter().all(|event| matches!(event, Event::Error(_)));
        all_equal(&actions, 4) && all_equal(&seen, 4)
            || all_equal(&actions, 3) && errors
            || words >= 3
            || alternate(&actions, 6) && alternate(&seen, 6)
    })
}

fn openhands_v0(run: &[Act], headless: bool) -> Option<usize> {
    first(run, Vec::<Event>::new(), |all, act| {
        if *act == Act::User {
            if !headless {
                all.clear();
            }
            return false;
        }
        all.extend(history(act));
        // A message of the agent is an action too.
        let actions = latest(all, |event| matches!(event, Event::Action(_) | Event::Said(_)), 6);
        let seen = latest(all, |event| matches!(event, Event::Seen(..) | Event::Error(_)), 6);
        let said: Vec<usize> = (0..all.len()).rev().filter(|at| matches!(all[*at], Event::Said(_))).take(3).collect();
        let talks = said.len() == 3
            && said.iter().all(|at| all[*at] == all[said[0]])
            && !all[said[2]..said[0]].iter().any(|event| matches!(event, Event::Seen(..) | Event::Error(_)));
        let errors = seen.len() >= 3 && seen[..3].iter().all(|event| matches!(event, Event::Error(_)));
        let acts = !matches!(actions.first(), Some(Event::Said(_)));
        acts && all_equal(&actions, 4) && all_equal(&seen, 4)
            || acts && all_equal(&actions, 3) && errors
            || talks
            || alternate(&actions, 6) && alternate(&seen, 6)
    })
}

fn openclaw(run: &[Act]) -> Option<usize> {
    // A call and a mark of its result; the history holds thirty.
    let answer = |call: &Call| Some(call.out + if call.fails { 2 } else { 0 });
    first(run, Vec::<(Request, Option<usize>)>::new(), |history, act| {
        let mut alarm = false;
        for call in calls(act) {
            let recent = &history[history.len().saturating_sub(30)..];
            let now = request(call);
            let repeats = recent.iter().filter(|(call, _)| *call == now).count() >= 10;
            let other = recent.last().and_then(|(last, _)| recent.iter().rev().find(|(call, _)| call != last));
            let swings = match (recent.last(), other) {
                (Some((last, _)), Some((other, _))) if *other == now => {
                    let turns = recent.iter().rev().enumerate();
                    let tail =
                        turns.take_while(|(at, (call, _))| call == if at % 2 == 0 { last } else { other }).count();
                    tail >= 2 && tail + 1 >= 10
                }
                _ => false,
            };
            alarm |= repeats || swings;
            history.push((now, answer(call)));
        }
        alarm
    })
}

fn signature(calls: &[Call]) -> Vec<Request> {
    let mut calls: Vec<Request> = calls.iter().map(request).collect();
    calls.sort_unstable();
    calls
}

fn turns_in_a_row(run: &[Act], limit: usize) -> Option<usize> {
    first(run, Vec::<Vec<Request>>::new(), |turns, act| {
        if calls(act).is_empty() {
            return false;
        }
        turns.push(signature(calls(act)));
        turns.iter().rev().take_while(|turn| *turn == turns.last().expect("a turn")).count() >= limit
    })
}

fn open_multi_agent(run: &[Act]) -> Option<usize> {
    let texts = first(run, (None, 0), |(last, count), act| {
        let Act::Says(what) = act else { return false };
        *count = if *last == Some(*what) { *count + 1 } else { 1 };
        *last = Some(*what);
        *count >= 3
    });
    turns_in_a_row(run, 3).into_iter().chain(texts).min()
}

fn pydantic_deepagents(run: &[Act]) -> Option<usize> {
    first(run, Vec::<Call>::new(), |made, act| {
        calls(act).iter().any(|call| {
            made.push(*call);
            let tail = |count: usize| made.len().checked_sub(count).map(|from| &made[from..]);
            let answer = |call: &Call| (call.tool, call.out, call.fails);
            let repeated = tail(3).is_some_and(|tail| tail.iter().all(|call| request(call) == request(&tail[0])));
            let idle = tail(3).is_some_and(|tail| tail.iter().all(|call| answer(call) == answer(&tail[0])));
            let alternating = tail(6).is_some_and(|tail| {
                request(&tail[0]) != request(&tail[1]) && (2..6).all(|at| request(&tail[at]) == request(&tail[at - 2]))
            });
            repeated || alternating || idle
        })
    })
}

fn zeroclaw(run: &[Act]) -> Option<usize> {
    first(run, Vec::<Call>::new(), |made, act| {
        calls(act).iter().any(|call| {
            made.push(*call);
            let recent: Vec<&Call> = made.iter().rev().take(20).collect();
            let streak = recent.iter().take_while(|other| request(other) == request(call)).count();
            let swings = recent.len() >= 8
                && recent[0].tool != recent[1].tool
                && (0..8).all(|at| recent[at].tool == recent[at % 2].tool);
            let answer = |call: &Call| (call.tool, call.out, call.fails);
            let same: Vec<_> = recent.iter().take_while(|other| answer(other) == answer(call)).collect();
            let differ = same.iter().any(|other| other.args != call.args);
            streak >= 3 || swings || same.len() >= 5 && differ
        })
    })
}

fn tolokaforge(run: &[Act]) -> Option<usize> {
    first(run, Vec::<Call>::new(), |made, act| {
        made.extend(calls(act));
        made.iter().rev().take_while(|call| Some(*call) == made.last()).count() >= 10
    })
}

/// Hermes' state within a turn.
#[derive(Default)]
struct Hermes {
    failures: Vec<(Request, u32, bool)>,
    tools: Vec<(usize, u32)>,
    answers: Vec<(Request, usize, u32)>,
    made: Vec<Call>,
}

fn hermes(run: &[Act]) -> Option<usize> {
    // read_file only reads; terminal and todo_list change something when they succeed.
    const LOOKS: usize = 0;
    first(run, Hermes::default(), |turn, act| {
        if *act == Act::User {
            *turn = Hermes::default();
        }
        calls(act).iter().any(|call| {
            let now = request(call);
            turn.made.push(*call);
            let mut alarm = false;
            if call.fails {
                turn.answers.retain(|(known, ..)| *known != now);
                let progress = turn.failures.iter().any(|(known, _, progress)| *known == now && *progress);
                let before = if progress {
                    0
                } else {
                    turn.failures.iter().find(|(known, ..)| *known == now).map_or(0, |it| it.1)
                };
                turn.failures.retain(|(known, ..)| *known != now);
                turn.failures.push((now, before + 1, false));
                let of_tool = turn.tools.iter().find(|(tool, _)| *tool == call.tool).map_or(0, |(_, count)| *count) + 1;
                turn.tools.retain(|(tool, _)| *tool != call.tool);
                turn.tools.push((call.tool, of_tool));
                alarm |= before + 1 >= 2 || of_tool >= 3;
            } else {
                turn.failures.retain(|(known, ..)| *known != now);
                turn.tools.retain(|(tool, _)| *tool != call.tool);
                if call.tool == LOOKS {
                    let known = turn.answers.iter().find(|(known, out, _)| *known == now && *out == call.out);
                    let times = known.map_or(0, |(.., times)| *times) + 1;
                    turn.answers.retain(|(known, ..)| *known != now);
                    turn.answers.push((now, call.out, times));
                    alarm |= times >= 2;
                } else {
                    turn.tools.clear();
                    turn.failures.iter_mut().for_each(|(.., progress)| *progress = true);
                }
            }
            let made = &turn.made;
            let streak = made.iter().rev().take_while(|other| *other == call).count();
            let laps = (2..=4).any(|period| {
                made.len() >= 3 * period
                    && (0..2 * period).all(|back| made[made.len() - 1 - back] == made[made.len() - 1 - back - period])
            });
            alarm || streak >= 3 || laps
        })
    })
}

fn openrouter(run: &[Act]) -> Option<usize> {
    let texts = first(run, (None, false), |(last, again), act| {
        let Act::Says(what) = act else { return false };
        *again = *last == Some(*what);
        *last = Some(*what);
        *again
    });
    // For each call, whether it was also made in the previous round with that tool; for each round, whether its set of
    // calls was the previous one.
    let made = first(run, Vec::<Vec<Request>>::new(), |rounds, act| {
        let mut set = signature(calls(act));
        set.dedup();
        if set.is_empty() {
            return false;
        }
        let same_set = rounds.last() == Some(&set);
        let again = set.iter().any(|(tool, args)| {
            let before = rounds.iter().rev().find(|round| round.iter().any(|(other, _)| other == tool));
            before.is_some_and(|round| round.contains(&(*tool, *args)))
        });
        rounds.push(set);
        same_set || again
    });
    made.into_iter().chain(texts).min()
}
