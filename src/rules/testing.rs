//! A small language for test tables. Tokens are separated by blanks; every event takes a second of event time:
//!
//! | token | event |
//! | --- | --- |
//! | `a:x` | a call of `read` with argument `a`, answered with `x` |
//! | `a!x` | the same, failing with `x` |
//! | `a%denied` | the same, ending in the outcome after `%` |
//! | `a~` | a call of `read` with argument `a`, which the host refuses: answered with a veto of its own |
//! | `a-` | the same, finding nothing; `a.` answers with nothing at all; `a>` is a call without an answer |
//! | `tool/a:x` | the same of another tool; `tool/=a:x` acts upon the path `a`, `tool/a_b:x` asks for `a b` in words |
//! | `*1` | a successful `write_file` of content `1` |
//! | `%x` | a failure that says `x` |
//! | `#1`, `^1` | from here on, calls belong to round 1, to agent 1 |
//! | `?a` | the call of `read` with argument `a` is checked, not recorded |
//! | `o:x` | the output `x` of an iteration |
//! | `+f:x` | a failure of the task called `x` |
//! | `+x:503` | an external failure with that status |
//! | `+t:3` | 3 tests fail |
//! | `+m` | a file was created |
//! | `+e:stalled`, `+e:stalled,900` | an evaluation, and how sure it is |
//! | `+c:a>b:x` | agent `a` asks agent `b` for `x` |
//! | `+s:x` | what follows is about the subtask `x` of the task; `+s` the task again |
//! | `\|` | a human's message |
//! | `~` | a message that the host made |
//! | `@60` | 60 seconds pass |
//!
//! In a script of a workflow, these stand first:
//!
//! | token | event |
//! | --- | --- |
//! | `#t` | the events that follow are about task `t` |
//! | `=d` | an attempt that ended `d`one, `b`locked, `i`n progress or `p`ending |
//! | `=b:x,y:w` | the same with blockers `x` and `y` and completed work `w` |
//! | `a/b` | a transition from phase `a` to `b`; `/b` one from nowhere |
//! | `c=x` | node `c` ends a turn with the final message `x`; without `x` it says nothing |
//! | `c=x,js5` | the same with a structured output; `ms`, `tok` and `usd` say what it cost |
//! | `c>v` | node `c` delivers to node `v` |
//! | `%d:x,f:3` | progress: `d` diff, `m` Markdown, `f` failing, `n` tests in all, `c` coverage, `t` failing ids, `k` of a checklist of 10 |
//! | `!x` | the failure `x` |
//! | `?stalled` | an evaluation |

use crate::codec::encode;
use crate::model::{Level, Recommendation, Verdict};
use crate::rules::{Cx, Fact, Rule};
use crate::{Detector, json};
use alloc::{format, string::String, string::ToString, vec::Vec};

/// A fact that a rule declares not to see must leave its state as it was.
pub(crate) fn assert_blind<R: Rule>(state: &R::State, fact: &Fact<'_>, cx: &Cx<'_>) {
    let bytes = |state: &R::State| encode(state);
    let mut copy = state.clone();
    assert!(R::observe(&mut copy, fact, cx).is_none(), "{} sees what it hides from: {fact:?}", R::ID);
    assert_eq!(bytes(&copy), bytes(state), "{} learns from what it hides from: {fact:?}", R::ID);
}

pub(crate) struct Script {
    detector: Detector,
    at: i64,
    workflow: bool,
    task: Option<String>,
    subtask: Option<String>,
    /// Fields of every call and result.
    round: String,
    agent: String,
}

pub(crate) struct Played {
    verdicts: Vec<Verdict>,
}

impl Script {
    pub(crate) fn new(config: &str) -> Self {
        Self {
            detector: json::detector(config).unwrap(),
            at: 1_760_000_000_000,
            workflow: false,
            task: None,
            subtask: None,
            round: String::new(),
            agent: String::new(),
        }
    }

    /// A script in which tokens speak of tasks, attempts, phases, nodes and progress.
    pub(crate) fn workflow(config: &str) -> Self {
        Self { workflow: true, ..Self::new(config) }
    }

    pub(crate) fn play(mut self, script: &str) -> Played {
        let mut verdicts = Vec::new();
        for token in script.split_whitespace() {
            let (head, rest) = token.split_at(1);
            match head {
                "#" if self.workflow => self.task = Some(rest.into()),
                "%" if self.workflow => verdicts.push(self.progress(rest)),
                "!" if self.workflow => {
                    verdicts.push(self.event(&format!(r#""type":"failure","message":"it failed with {rest}""#)))
                }
                "?" if self.workflow => {
                    verdicts.push(self.event(&format!(r#""type":"evaluation","verdict":"{rest}""#)));
                }
                _ if self.workflow && head != "=" && token.contains('=') => verdicts.push(self.turn(token)),
                _ if self.workflow && token.contains('>') => {
                    let (from, to) = token.split_once('>').unwrap();
                    verdicts.push(self.event(&format!(r#""type":"delivery","from":"{from}","to":"{to}""#)));
                }
                "=" if self.workflow => {
                    let mut parts = rest.split(':');
                    let status = match parts.next().unwrap() {
                        "d" => "done",
                        "b" => "blocked",
                        "i" => "in-progress",
                        "p" => "pending",
                        other => panic!("{other} is no status"),
                    };
                    let mut list = || {
                        let texts = parts.next().unwrap_or_default().split(',').filter(|text| !text.is_empty());
                        texts.map(|text| format!("{text:?}")).collect::<Vec<_>>().join(",")
                    };
                    let (blockers, work) = (list(), list());
                    verdicts.push(self.event(&format!(
                        r#""type":"attempt","status":"{status}","blockers":[{blockers}],"completedWork":[{work}]"#
                    )));
                }
                _ if self.workflow && token.contains('/') => {
                    let (from, to) = token.split_once('/').unwrap();
                    let from = if from.is_empty() { String::new() } else { format!(r#""from":"{from}","#) };
                    verdicts.push(self.event(&format!(r#""type":"transition",{from}"to":"{to}""#)));
                }
                "@" => self.at += rest.parse::<i64>().unwrap() * 1000,
                "#" => self.round = format!(r#","round":"{rest}""#),
                "^" => self.agent = format!(r#","agent":"{rest}""#),
                "%" => verdicts.push(self.event(&format!(r#""type":"failure","message":"it failed: {rest}""#))),
                "|" => verdicts.push(self.event(r#""type":"message","role":"user","text":"please go on""#)),
                "~" => verdicts.push(self.event(r#""type":"message","role":"user","synthetic":true,"text":"go on""#)),
                "*" => {
                    let args = format!(r#"{{"path":"src/main.rs","content":"{rest}"}}"#);
                    verdicts.push(self.event(&format!(r#""type":"tool-call","tool":"write_file","args":{args}"#)));
                    verdicts.push(
                        self.event(r#""type":"tool-result","tool":"write_file","outcome":"ok","output":"written""#),
                    );
                }
                "?" => {
                    let event =
                        format!(r#"{{"type":"tool-call","tool":"read","args":{{"value":"{rest}"}},"at":{}}}"#, self.at);
                    verdicts.push(self.detector.check(&json::event(&event).unwrap()).unwrap());
                }
                "+" => {
                    if let Some(fields) = self.task_event(rest) {
                        verdicts.push(self.event(&fields));
                    }
                }
                "o" if rest.starts_with(':') => {
                    let text = rest.trim_start_matches(':');
                    verdicts.push(self.event(&format!(r#""type":"output","text":"did the thing called {text}""#)));
                }
                _ => {
                    let (tool, rest) = token.split_once('/').unwrap_or(("read", token));
                    let (argument, mark) = rest.split_at(rest.find(['%', ':', '!', '-', '.', '>', '~']).unwrap());
                    let (mark, answer) = mark.split_at(1);
                    let (outcome, output) = match mark {
                        "!" => ("error", format!("error: {answer} went wrong while reading")),
                        "%" => (answer, "error: this was turned down".into()),
                        "-" => ("ok", "no results found".into()),
                        "." => ("ok", "".into()),
                        _ => ("ok", format!("the answer is {} and nothing else", answer.replace('_', " "))),
                    };
                    let (name, argument) = match argument.strip_prefix('=') {
                        Some(path) => ("path", path),
                        None if argument.contains('_') => ("query", argument),
                        None => ("value", argument),
                    };
                    let argument = argument.replace('_', " ");
                    let place = format!("{}{}", self.round, self.agent);
                    let args = format!(r#"{{"{name}":"{argument}"}}"#);
                    verdicts.push(self.event(&format!(r#""type":"tool-call","tool":"{tool}","args":{args}{place}"#)));
                    if mark == "~" {
                        verdicts.push(self.event(&format!(
                            r#""type":"tool-result","tool":"{tool}","outcome":"not-executed","synthetic":true,"output":"refused"{place}"#
                        )));
                    } else if mark != ">" {
                        verdicts.push(self.event(&format!(
                            r#""type":"tool-result","tool":"{tool}","outcome":"{outcome}","output":"{output}"{place}"#
                        )));
                    }
                }
            }
        }
        Played { verdicts }
    }

    fn turn(&mut self, token: &str) -> Verdict {
        let (node, said) = token.split_once('=').unwrap();
        let mut fields = format!(r#""type":"turn","node":"{node}""#);
        for (index, part) in said.split(',').enumerate() {
            let known = [("js", "structuredOutput"), ("ms", "durationMs"), ("tok", "tokens"), ("usd", "costMicros")];
            let known = known.iter().find_map(|(short, name)| part.strip_prefix(short).map(|value| (name, value)));
            match known {
                Some((name, value)) if index > 0 => fields.push_str(&format!(r#","{name}":{value}"#)),
                _ if part.is_empty() => {}
                _ => fields.push_str(&format!(r#","finalMessage":"{part}""#)),
            }
        }
        self.event(&fields)
    }

    fn progress(&mut self, parts: &str) -> Verdict {
        let (mut fields, mut tests) = (Vec::new(), Vec::new());
        for part in parts.split(',') {
            let (name, value) = part.split_once(':').unwrap();
            match name {
                "d" => fields.push(format!(r#""diff":"{value}""#)),
                "m" => fields.push(format!(r#""docs":"{value}""#)),
                "k" => fields.push(format!(r#""checklist":{{"done":{value},"total":10}}"#)),
                "f" => tests.push(format!(r#""failing":{value}"#)),
                "n" => tests.push(format!(r#""total":{value}"#)),
                "c" => tests.push(format!(r#""coverage":{value}"#)),
                "t" => tests.push(format!(r#""failingIds":["{}"]"#, value.replace('+', r#"",""#))),
                _ => panic!("{part}"),
            }
        }
        if !tests.is_empty() {
            fields.push(format!(r#""tests":{{{}}}"#, tests.join(",")));
        }
        self.event(&format!(r#""type":"progress",{}"#, fields.join(",")))
    }

    /// The fields of an event about the task; `None` if the token only names it.
    fn task_event(&mut self, token: &str) -> Option<String> {
        let (kind, rest) = token.split_once(':').unwrap_or((token, ""));
        let fields = match kind {
            "f" => format!(r#""type":"failure","message":"{rest} went wrong""#),
            "x" => format!(r#""type":"failure","message":"HTTP {rest} from the service""#),
            "t" => format!(r#""type":"progress","tests":{{"failing":{rest}}}"#),
            "m" => r#""type":"progress","filesCreated":true"#.into(),
            "e" => match rest.split_once(',') {
                Some((verdict, sure)) => format!(r#""type":"evaluation","verdict":"{verdict}","confidence":{sure}"#),
                None => format!(r#""type":"evaluation","verdict":"{rest}""#),
            },
            "c" => {
                let (agents, request) = rest.split_once(':').unwrap();
                let (from, to) = agents.split_once('>').unwrap();
                let request = request.replace('_', " ");
                format!(r#""type":"collaboration","from":"{from}","to":"{to}","request":"{request}""#)
            }
            _ => {
                self.subtask = (kind == "s" && !rest.is_empty()).then(|| rest.into());
                return None;
            }
        };
        let task = match &self.subtask {
            Some(subtask) => format!(r#""task":"{subtask}","parentTask":"T""#),
            None => r#""task":"T""#.into(),
        };
        Some(format!("{fields},{task}"))
    }

    fn event(&mut self, fields: &str) -> Verdict {
        self.at += 1000;
        let task = self.task.as_ref().map(|task| format!(r#","task":"{task}""#)).unwrap_or_default();
        json::event(&format!(r#"{{{fields}{task},"at":{}}}"#, self.at))
            .and_then(|event| self.detector.record(&event))
            .unwrap()
    }
}

/// A configuration in which no other rule runs.
pub(crate) fn alone(rule: &str) -> String {
    format!(r#"{{"conventions":{{"onlyNamed":true}},"rules":{{"{rule}":{{}}}}}}"#)
}

/// Records events given as JSON, each a second of event time after the previous one.
pub(crate) fn events<S: AsRef<str>>(config: &str, events: impl IntoIterator<Item = S>) -> Played {
    let mut script = Script::new(config);
    let fields = |event: &str| event.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap().to_string();
    let verdicts = events.into_iter().map(|event| script.event(&fields(event.as_ref())));
    Played { verdicts: verdicts.collect() }
}

/// A call and its result; arguments and output as they stand in JSON.
pub(crate) fn pair(tool: &str, args: &str, outcome: &str, output: &str) -> [String; 2] {
    [
        format!(r#"{{"type":"tool-call","tool":"{tool}","args":{args}}}"#),
        format!(r#"{{"type":"tool-result","tool":"{tool}","outcome":"{outcome}","output":"{output}"}}"#),
    ]
}

/// A successful call of an agent, with its answer in plain text.
pub(crate) fn step(agent: &str, tool: &str, args: &str, answer: &str) -> [String; 2] {
    let answer = serde_json::to_string(answer).unwrap();
    let by = |line: String| line.replacen('{', &format!(r#"{{"agent":"{agent}","#), 1);
    let answer = answer.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap();
    pair(tool, args, "ok", answer).map(by)
}

/// A streamed piece of an answer.
pub(crate) fn delta(text: &str) -> String {
    serde_json::json!({"type": "delta", "text": text}).to_string()
}

/// A whole message of the agent.
pub(crate) fn says(text: &str) -> String {
    serde_json::json!({"type": "message", "role": "assistant", "text": text}).to_string()
}

impl Played {
    /// What each verdict recommends.
    pub(crate) fn recommended(&self) -> Vec<Recommendation> {
        self.verdicts.iter().map(|verdict| verdict.recommendation).collect()
    }

    /// Every finding of a rule, in full.
    pub(crate) fn findings(&self, rule: &str) -> Vec<&crate::model::Finding> {
        self.verdicts
            .iter()
            .flat_map(|verdict| &verdict.findings)
            .map(|finding| &**finding)
            .filter(|finding| finding.rule == rule)
            .collect()
    }

    /// Every question to a judge: the index of its event and the question.
    pub(crate) fn asked(&self) -> Vec<(usize, &str)> {
        let verdicts = self.verdicts.iter().enumerate();
        verdicts.filter_map(|(index, verdict)| Some((index, verdict.question.as_deref()?))).collect()
    }

    /// Every finding of a rule: the index of its event and its level.
    pub(crate) fn found(&self, rule: &str) -> Vec<(usize, Level)> {
        let verdicts = self.verdicts.iter().enumerate();
        let found = verdicts.flat_map(|(index, verdict)| verdict.findings.iter().map(move |finding| (index, finding)));
        found.filter(|(_, finding)| finding.rule == rule).map(|(index, finding)| (index, finding.level)).collect()
    }

    #[track_caller]
    pub(crate) fn expect(&self, rule: &str, expected: &[(usize, Level)]) {
        assert_eq!(self.found(rule), expected);
    }

    /// The rule's strongest finding.
    #[track_caller]
    pub(crate) fn strongest(&self, rule: &str, level: Level) {
        assert_eq!(self.found(rule).into_iter().map(|(_, level)| level).max(), Some(level), "{:?}", self.found(rule));
    }

    /// The rule's finding at the last event.
    #[track_caller]
    pub(crate) fn last(&self, rule: &str, level: Level) {
        assert_eq!(self.found(rule).last(), Some(&(self.verdicts.len() - 1, level)), "{:?}", self.found(rule));
    }

    /// The rule's finding at the last event but one: a call with its answer after it.
    #[track_caller]
    pub(crate) fn last_but_one(&self, rule: &str, level: Level) {
        assert_eq!(self.found(rule).last(), Some(&(self.verdicts.len() - 2, level)), "{:?}", self.found(rule));
    }

    /// No finding of the rule at the last event.
    #[track_caller]
    pub(crate) fn last_silent(&self, rule: &str) {
        let last = self.verdicts.len() - 1;
        assert!(self.found(rule).iter().all(|(index, _)| *index != last), "{:?}", self.found(rule));
    }
}
