//! What is kept of one task: its latest failures, its test figures, what a judge was asked.

use crate::codec::codec;
use crate::model::{Evaluation, EvaluationVerdict, Event, Marker, Progress, Tests};
use crate::rules::Cx;
use crate::state::{KEY_BYTES, Occurrence, Onset, Ring, Sighting};
use crate::text::{FAILURE_SIGNATURE, FailureFacts, Key, failure_name, printable};
use alloc::{format, string::String, string::ToString, vec::Vec};

/// Characters of a task's or an agent's name kept for records.
pub(super) const NAME: usize = 128;
/// Most bytes of a name or a reason.
const TEXT: usize = 2048;
/// Readings of failing tests kept: as many as must rise.
const READINGS: usize = 3;
/// Most failures of one task that a configuration may ask to keep.
pub(crate) const HISTORY: u32 = 32;

/// A task's counter of loops, shared by its subtasks.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    pub(super) task: Key,
    pub(super) name: Option<String>,
    pub(super) count: u32,
    /// A loop was counted, even if the judge has taken it back.
    pub(super) looped: bool,
    /// The first event of the first loop counted.
    pub(super) onset: Option<Onset>,
    /// Set once a human was asked: the event time of that, if it carried one.
    pub(super) gated: Option<Option<i64>>,
    pub(super) reason: Reason,
    pub(super) at: Option<i64>,
}
codec!(struct Counter { task, name, count, looped, onset, gated, reason, at } raw);

/// The latest reason for counting or not counting a failure.
#[derive(Clone, Debug, Default)]
pub(super) enum Reason {
    #[default]
    Nothing,
    Tests,
    Markers,
    Asked,
    Progress,
    External,
    Said(String),
}
codec!(enum Reason { Nothing: 0, Tests: 1, Markers: 2, Asked: 3, Progress: 4, External: 5, Said(first): 6 });

impl Reason {
    /// The reason, in the document's words where it has any.
    pub(super) fn text(&self) -> Option<String> {
        let text = match self {
            Self::Nothing => return None,
            Self::Tests => "Test metrics show improvement",
            Self::Markers => "Task completion indicators present",
            Self::Asked => "Evaluation needed",
            Self::Progress => "Progress detected",
            Self::External => "External failure, by evaluation",
            Self::Said(text) => text,
        };
        Some(text.to_string())
    }
}

impl Counter {
    pub(super) fn new(task: Key) -> Self {
        Self { task, ..Self::default() }
    }

    /// Bytes it takes at most.
    pub(super) fn weight(&self) -> usize {
        let said = if let Reason::Said(text) = &self.reason { text.len() } else { 0 };
        let onset = self.onset.map_or(0, |onset| onset.weight());
        KEY_BYTES + self.name.as_ref().map_or(0, String::len) + said + onset + 40
    }

    pub(super) fn fits(&self) -> bool {
        let short = |text: &String| text.len() <= TEXT;
        self.name.as_ref().is_none_or(short) && !matches!(&self.reason, Reason::Said(text) if !short(text))
    }
}

/// One task.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracker {
    pub(super) task: Key,
    pub(super) parent: Option<Key>,
    pub(super) failures: Ring<Past>,
    /// Latest numbers of failing tests.
    failing: Ring<u32>,
    /// A number has come since a regression was last counted.
    risen: bool,
    reading: Option<Reading>,
    checklist: u32,
    since: SinceFailure,
    /// How often progress was measured so far.
    pub(super) marks: u64,
    pub(super) asked: Option<JudgeQuestion>,
    /// Agent of the latest failure, at most [`NAME`] characters.
    pub(super) failed: Option<String>,
    pub(super) at: Option<i64>,
}
codec!(struct Tracker { task, parent, failures, failing, risen, reading, checklist, since, marks, asked, failed, at } raw);

/// A failure that was recorded.
#[derive(Clone, Debug)]
pub(super) struct Past {
    pub(super) message: Key,
    pub(super) context: Key,
    pub(super) signature: String,
    /// It has been added to the counter.
    pub(super) counted: bool,
    /// It was reported as a loop.
    pub(super) found: bool,
    /// A judge called it external: nothing repeats it.
    pub(super) external: bool,
    pub(super) seen: Occurrence,
}
codec!(struct Past { message, context, signature, counted, found, external, seen });

/// One reading of the tests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    failing: Option<u32>,
    total: Option<u32>,
    /// In hundredths of a per cent.
    coverage: Option<u32>,
}
codec!(struct Reading { failing, total, coverage });

impl Reading {
    /// The figures of a host's test report; `None` if it holds neither failing tests nor coverage.
    pub(crate) fn of(tests: &Tests) -> Option<Self> {
        let named = tests.failing_ids.as_ref().and_then(|ids| u32::try_from(ids.len()).ok());
        let failing = tests.failing.or(named);
        let coverage = tests.coverage_hundredths();
        (failing.is_some() || coverage.is_some()).then_some(Self { failing, total: tests.total, coverage })
    }

    /// The test figures in the text of a failure; `None` if there are none.
    pub(crate) fn told(facts: &FailureFacts) -> Option<Self> {
        let total = facts.failing.zip(facts.passing).map(|(failing, passing)| failing.saturating_add(passing));
        let reading = Self { failing: facts.failing, total, coverage: facts.coverage };
        (reading.failing.is_some() || reading.coverage.is_some()).then_some(reading)
    }

    /// Whether it is better than an earlier one: fewer failing (a smaller share, if both totals are known), or higher
    /// coverage.
    pub(crate) fn is_better(&self, last: &Self) -> bool {
        let covered = matches!((last.coverage, self.coverage), (Some(last), Some(now)) if now > last);
        let fewer = match (last.failing, self.failing) {
            (Some(last_failing), Some(failing)) => match (last.total, self.total) {
                (Some(last_total), Some(total)) if last_total > 0 && total > 0 => {
                    u64::from(failing) * u64::from(last_total) < u64::from(last_failing) * u64::from(total)
                }
                _ => failing < last_failing,
            },
            _ => false,
        };
        covered || fewer
    }

    /// Both together: what the later one leaves out is taken from the earlier one.
    pub(crate) fn after(self, last: &Self) -> Self {
        Self {
            failing: self.failing.or(last.failing),
            total: if self.failing.is_some() { self.total } else { last.total },
            coverage: self.coverage.or(last.coverage),
        }
    }
}

/// What happened since the last failure.
#[derive(Clone, Copy, Debug, Default)]
struct SinceFailure {
    /// The tests were read and compared with an earlier reading.
    compared: bool,
    improved: bool,
    marked: bool,
    /// The host has reported the number of failing tests, so the failure's text need not be read for it.
    told: bool,
}
codec!(struct SinceFailure { compared, improved, marked, told });

/// A question to an outside judge, and what was answered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JudgeQuestion {
    pub(crate) answer: Option<Answer>,
}
codec!(struct JudgeQuestion { answer });

#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) verdict: EvaluationVerdict,
    pub(crate) confidence: u16,
    /// What it added to the counter, to be withdrawn if it is replaced.
    pub(crate) added: u32,
}
codec!(struct Answer { verdict, confidence, added });

impl JudgeQuestion {
    /// `None` if an answer does not count, otherwise the answer that it replaces, if any. The first answer counts, the
    /// same verdict again does not, and a contradicting one has to be more confident.
    pub(crate) fn takes(&self, evaluation: &Evaluation) -> Option<Option<Answer>> {
        match self.answer {
            Some(answer)
                if answer.verdict == evaluation.verdict || capped_confidence(evaluation) <= answer.confidence =>
            {
                None
            }
            known => Some(known),
        }
    }

    /// Remembers an answer that [`Self::takes`] let pass.
    pub(crate) fn answered(&mut self, evaluation: &Evaluation, added: u32) {
        self.answer = Some(Answer { verdict: evaluation.verdict, confidence: capped_confidence(evaluation), added });
    }
}

/// Confidence, in per mille, of a judge who gives none.
const UNSAID: u16 = 500;

fn capped_confidence(evaluation: &Evaluation) -> u16 {
    evaluation.confidence.unwrap_or(UNSAID)
}

/// Whether a verdict counts against the agent: no progress, for no external reason.
pub(crate) fn against(verdict: EvaluationVerdict) -> bool {
    matches!(verdict, EvaluationVerdict::Stalled | EvaluationVerdict::Regressing)
}

/// What every question ends with.
pub(crate) const WHICH: &str = "Is the work progressing, stalled, regressing, or held up by something external?";

/// What the figures say about a failure that was not seen before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Judged {
    Loop,
    Regression,
    Tests,
    Markers,
    Unclear,
}

impl Judged {
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::Loop | Self::Regression => Reason::Nothing,
            Self::Tests => Reason::Tests,
            Self::Markers => Reason::Markers,
            Self::Unclear => Reason::Asked,
        }
    }
}

/// Whether a host's markers say that anything was completed.
pub(crate) fn marked(progress: &Progress) -> bool {
    let markers = [&progress.files_created, &progress.dependencies_added, &progress.code_written];
    markers.into_iter().flatten().any(|marker| match marker {
        Marker::Flag(flag) => *flag,
        Marker::Count(count) => *count > 0,
        Marker::Names(names) => !names.is_empty(),
    })
}

impl Tracker {
    pub(super) fn new(task: Key) -> Self {
        Self { task, ..Self::default() }
    }

    /// Forgets everything but the task's parent and when it was last used.
    pub(super) fn start_over(&mut self) {
        *self = Self { parent: self.parent, at: self.at, ..Self::new(self.task) };
    }

    /// Records the figures of a `progress` event.
    pub(super) fn progress(&mut self, progress: &Progress) {
        let mut forward = false;
        if let Some(reading) = progress.tests.as_ref().and_then(Reading::of) {
            forward = self.read(reading);
            self.since.told |= reading.failing.is_some();
        }
        let done = progress.checklist.map_or(self.checklist, |checklist| checklist.done);
        let marked = done > self.checklist || marked(progress);
        self.since.marked |= marked;
        self.checklist = done;
        if forward || marked {
            self.marks = self.marks.saturating_add(1);
        }
    }

    /// Records a reading; true if it is better than the last one.
    fn read(&mut self, reading: Reading) -> bool {
        let better = self.reading.is_some_and(|last| reading.is_better(&last));
        self.since.compared |= self.reading.is_some();
        self.since.improved |= better;
        self.reading = Some(reading.after(&self.reading.unwrap_or_default()));
        if let Some(failing) = reading.failing {
            self.failing.push(failing, READINGS);
            self.risen = true;
        }
        better
    }

    /// What the figures say about a failure whose message is new, in the document's order.
    pub(super) fn told(&mut self, facts: &FailureFacts) -> Judged {
        if let Some(reading) = Reading::told(facts).filter(|_| !self.since.told) {
            self.read(reading);
        }
        let rising = {
            let all: Vec<u32> = self.failing.iter().copied().collect();
            all.len() == READINGS && all.iter().zip(all.iter().skip(1)).all(|(before, after)| before < after)
        };
        let judged = if rising && core::mem::take(&mut self.risen) {
            Judged::Regression
        } else if self.since.improved {
            Judged::Tests
        } else if self.since.marked && !self.since.compared {
            // Markers do not make up for tests that were compared and did not improve.
            Judged::Markers
        } else {
            Judged::Unclear
        };
        if judged == Judged::Regression {
            self.since.improved = false;
        }
        judged
    }

    /// Records a failure and resets what is tracked since the last one.
    pub(super) fn took(
        &mut self,
        facts: &FailureFacts,
        message: Key,
        counted: bool,
        asked: bool,
        event: &Event,
        cx: &Cx<'_>,
    ) {
        self.failed = event.context.agent.as_ref().map(|agent| agent.chars().take(NAME).collect());
        let past = Past {
            message,
            context: facts.context,
            signature: facts.signature.clone(),
            counted,
            found: counted,
            external: false,
            seen: Occurrence::new(Sighting { key: message, ..cx.here }, cx.onset),
        };
        self.failures.push(past, cx.config.failures.history as usize);
        self.since = SinceFailure::default();
        self.asked = asked.then_some(JudgeQuestion::default());
    }

    /// `3 → 5 → 8`.
    pub(super) fn trend(&self) -> String {
        self.failing.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ")
    }

    /// The question to a judge: figures, signatures and classes, but no failure's text.
    pub(super) fn question(&self, event: &Event, facts: &FailureFacts) -> String {
        let task = event
            .context
            .task
            .as_deref()
            .map_or_else(|| "the task".into(), |task| format!("task `{}`", printable(task, 64)));
        let known = self.failures.len();
        let same_place = self.failures.iter().filter(|past| past.context != 0 && past.context == facts.context).count();
        let mut text = format!(
            "Failure of {task}: `{}` ({}). Its message is not among the {known} latest failures of the task",
            facts.signature,
            failure_name(facts.kind)
        );
        if same_place > 0 {
            text.push_str(&format!(", its stack trace is that of {same_place} of them"));
        }
        text.push_str(". ");
        if let Some(past) = self.failures.last() {
            text.push_str(&format!("Before it: `{}`. ", past.signature));
        }
        match self.reading {
            Some(_) if self.failing.len() > 0 => text.push_str(&format!("Failing tests: {}. ", self.trend())),
            Some(_) => text.push_str("Test coverage did not rise. "),
            None => text.push_str("No test figures were given. "),
        }
        text.push_str(WHICH);
        text
    }

    /// Bytes it takes at most.
    pub(super) fn weight(&self) -> usize {
        let past = |past: &Past| 2 * KEY_BYTES + past.signature.len() + past.seen.weight() + 5;
        6 * KEY_BYTES
            + 5 * READINGS
            + 70
            + self.failed.as_ref().map_or(0, String::len)
            + self.failures.iter().map(past).sum::<usize>()
    }

    pub(super) fn fits(&self) -> bool {
        self.failures.len() <= HISTORY as usize
            && self.failing.len() <= READINGS
            && self.failed.as_ref().is_none_or(|failed| failed.len() <= NAME * 4)
            && self.failures.iter().all(|past| past.signature.len() <= FAILURE_SIGNATURE * 4)
    }
}
