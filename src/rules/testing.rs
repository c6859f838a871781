//! A small language for tables of cases. Tokens are separated by blanks, every event takes a second of event time:
//!
//! | token | event |
//! | --- | --- |
//! | `a:x` | a call of `read` with argument `a`, answered with `x` |
//! | `a!x` | the same, failing with `x` |
//! | `*1` | a successful `write_file` of content `1` |
//! | `?a` | the call of `read` with argument `a` is checked, not recorded |
//! | `o:x` | the output `x` of an iteration |
//! | `\|` | a human's message |
//! | `~` | a message that the host made |
//! | `@60` | 60 seconds pass |

use crate::model::{Level, Verdict};
use crate::{Detector, json};
use alloc::{format, string::String, string::ToString, vec::Vec};

pub(crate) struct Script {
    detector: Detector,
    at: i64,
}

pub(crate) struct Played {
    verdicts: Vec<Verdict>,
}

impl Script {
    pub(crate) fn new(config: &str) -> Self {
        Self { detector: json::detector(config).unwrap(), at: 1_760_000_000_000 }
    }

    pub(crate) fn play(mut self, script: &str) -> Played {
        let mut verdicts = Vec::new();
        for token in script.split_whitespace() {
            let (head, rest) = token.split_at(1);
            match head {
                "@" => self.at += rest.parse::<i64>().unwrap() * 1000,
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
                "o" => {
                    let text = rest.trim_start_matches(':');
                    verdicts.push(self.event(&format!(r#""type":"output","text":"did the thing called {text}""#)));
                }
                _ => {
                    let failed = token.contains('!');
                    let (argument, answer) = token.split_once([':', '!']).unwrap();
                    let (outcome, output) = if failed {
                        ("error", format!("error: {answer} went wrong while reading"))
                    } else {
                        ("ok", format!("the answer is {answer} and nothing else"))
                    };
                    verdicts.push(
                        self.event(&format!(r#""type":"tool-call","tool":"read","args":{{"value":"{argument}"}}"#)),
                    );
                    let result =
                        format!(r#""type":"tool-result","tool":"read","outcome":"{outcome}","output":"{output}""#);
                    verdicts.push(self.event(&result));
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

/// Records events given as JSON, every one a second of event time after the other.
pub(crate) fn events<S: AsRef<str>>(config: &str, events: impl IntoIterator<Item = S>) -> Played {
    let mut script = Script::new(config);
    let fields = |event: &str| event.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap().to_string();
    let verdicts = events.into_iter().map(|event| script.event(&fields(event.as_ref())));
    Played { verdicts: verdicts.collect() }
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
    /// Every finding of a rule, in full.
    pub(crate) fn findings(&self, rule: &str) -> Vec<&crate::model::Finding> {
        self.verdicts.iter().flat_map(|verdict| &verdict.findings).filter(|finding| finding.rule == rule).collect()
    }

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
