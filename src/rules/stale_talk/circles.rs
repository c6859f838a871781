//! The ways of going in circles: what each is called, what it counts, and what it says.

use crate::model::{HaltReason, Recommendation};
use crate::rules::streak::{Streak, confidence};
use crate::rules::{Cx, Signal, SignalParts};
use crate::text::{Key, combine};
use alloc::format;

/// One way of going in circles.
pub(super) struct Circle {
    kind: &'static str,
    /// Points of each occurrence.
    points: u32,
    /// The message before and after the number of occurrences.
    said: [&'static str; 2],
    instead: &'static str,
}

/// The points of a message depend on how much of it was said before.
pub(super) const NOBODY_ACTS: Circle = Circle {
    kind: "nobody-acts",
    points: 0,
    said: ["", " messages are about the same thing and contain hardly any new words, and nothing was done in between"],
    instead: "Do what is being discussed, or say that it cannot be had and go on in another way.",
};
pub(super) const HANDED: Circle = Circle {
    kind: "handed-to-and-fro",
    points: 4,
    said: ["the work came back ", " times to where it had been, and nothing was done or found in between"],
    instead: "Let one agent decide with what is known, or ask the user for what is missing.",
};
pub(super) const NOT_HEARD: Circle = Circle {
    kind: "not-heard",
    points: 10,
    said: ["the user has given the same value ", " times more, and nothing was done with it"],
    instead: "Use what the user has already written, or say why it cannot be used.",
};
pub(super) const NOT_HELPED: Circle = Circle {
    kind: "not-helped",
    points: 7,
    said: ["the user has said ", " times in a row that nothing has changed, or told of the same error again"],
    instead: "Look at the actual state before the next change.",
};
pub(super) const ASKED_AGAIN: Circle = Circle {
    kind: "asked-again",
    points: 7,
    said: ["the same message was written to the agent ", " times more, and nothing new was done or answered"],
    instead: "Do what the message asks for, or say what prevents it.",
};
pub(super) const REFUSED: Circle = Circle {
    kind: "refused-again",
    points: 7,
    said: ["the host told of the same error after ", " messages in a row, and no call was made in between"],
    instead: "Look at the actual state before answering in the same way again.",
};
pub(super) const REFUSED_ALONE: Circle = Circle {
    kind: "error-again",
    points: 4,
    said: ["the host told of the same error ", " times, and nobody said or did anything in between"],
    instead: "Mend what the error names, or end the run.",
};
pub(super) const PARROT: Circle = Circle {
    kind: "said-again",
    points: 7,
    said: ["the user was answered in the same words ", " times more, and nothing was done"],
    instead: "Do what the user asks for with what is known, or say what cannot be done.",
};
pub(super) const REPORTED: Circle = Circle {
    kind: "reported-again",
    points: 7,
    said: ["", " reports in a row contain hardly any new words, and nothing was done"],
    instead: "Say what is missing, or end the conversation.",
};
pub(super) const PLEADED: Circle = Circle {
    kind: "blocked-again",
    points: 7,
    said: ["", " reports in a row say that the agent is blocked or ask for leave, and nothing was done or answered"],
    instead: "Stop until a person has given leave, or do what needs none.",
};
pub(super) const ONLY_THOUGHT: Circle = Circle {
    kind: "only-thought",
    points: 2,
    said: ["", " thoughts were noted down in a row, and nothing was said or done"],
    instead: "Make the next call, or answer with what is known.",
};
pub(super) const NOTHING_NAMED: Circle = Circle {
    kind: "nothing-named",
    points: 2,
    said: ["", " short messages went back and forth, none of them named anything new, and nothing was done"],
    instead: "End the conversation, or let one agent do the next step without asking.",
};

impl Circle {
    pub(super) fn worth(&self, streak: &Streak) -> u32 {
        streak.times.saturating_mul(self.points)
    }

    pub(super) fn signal(&self, streak: &Streak, cx: &Cx<'_>) -> Option<Signal> {
        let count = self.worth(streak);
        if count == 0 || !cx.limits.reached(count) {
            return None;
        }
        // Identified by where in its task it began, since neither words nor calls are equal.
        let identity = combine(self.kind, &[streak.onset().events ^ cx.salt]);
        Some(self.tell(streak, identity, streak.times, count, cx))
    }

    pub(super) fn tell(&self, streak: &Streak, identity: Key, times: u32, count: u32, cx: &Cx<'_>) -> Signal {
        let [before, after] = self.said;
        streak.signal(SignalParts {
            kind: self.kind,
            identity,
            count,
            confidence: confidence(300, 14, count),
            signature: cx.named("talk", '~', identity),
            message: format!("{before}{times}{after}"),
            instead: self.instead,
            recommendation: Recommendation::ChangeApproach,
            halt_reason: HaltReason::Stalled,
        })
    }
}
