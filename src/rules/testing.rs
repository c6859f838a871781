//! A small language for tables of cases. Tokens are separated by blanks, every event takes a second of event time:
//!
//! | token | event |
//! | --- | --- |
//! | `a:x` | a call of `read` with argument `a`, answered with `x` |
//! | `a!x` | the same, failing with `x` |
//! | `a%denied` | the same, ending in the outcome after `%` |
//! | `a-` | the same, finding nothing; `a.` answers with nothing at all; `a>` is a call without an answer |
//! | `tool/a:x` | the same of another tool; `tool/=a:x` acts upon the path `a`, `tool/a_b:x` asks for `a b` in words |
//! | `*1` | a successful `write_file` of content `1` |
//! | `%x` | a failure that says `x` |
//! | `#1`, `^1` | from here on, calls belong to round 1, to agent 1 |
//! | `?a` | the call of `read` with argument `a` is checked, not recorded |
//! | `o:x` | the output `x` of an iteration |
//! | `\|` | a human's message |
//! | `~` | a message that the host made |
//! | `@60` | 60 seconds pass |

use crate::model::{Level, Verdict};
use crate::{Detector, json};
use alloc::{format, string::String, vec::Vec};

pub(crate) struct Script {
    detector: Detector,
    at: i64,
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
            round: String::new(),
            agent: String::new(),
        }
    }

    pub(crate) fn play(mut self, script: &str) -> Played {
        let mut verdicts = Vec::new();
        for token in script.split_whitespace() {
            let (head, rest) = token.split_at(1);
            match head {
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
                "o" if rest.starts_with(':') => {
                    let text = rest.trim_start_matches(':');
                    verdicts.push(self.event(&format!(r#""type":"output","text":"did the thing called {text}""#)));
                }
                _ => {
                    let (tool, rest) = token.split_once('/').unwrap_or(("read", token));
                    let (argument, mark) = rest.split_at(rest.find(['%', ':', '!', '-', '.', '>']).unwrap());
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
                    if mark != ">" {
                        verdicts.push(self.event(&format!(
                            r#""type":"tool-result","tool":"{tool}","outcome":"{outcome}","output":"{output}"{place}"#
                        )));
                    }
                }
            }
        }
        Played { verdicts }
    }

    fn event(&mut self, fields: &str) -> Verdict {
        self.at += 1000;
        json::event(&format!(r#"{{{fields},"at":{}}}"#, self.at))
            .and_then(|event| self.detector.record(&event))
            .unwrap()
    }
}

impl Played {
    /// Every finding of a rule: the index of its event and its level.
    fn found(&self, rule: &str) -> Vec<(usize, Level)> {
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

    /// Nothing at all at the last event.
    #[track_caller]
    pub(crate) fn last_silent(&self, rule: &str) {
        let last = self.verdicts.len() - 1;
        assert!(self.found(rule).iter().all(|(index, _)| *index != last), "{:?}", self.found(rule));
    }
}
