//! Encoding of the types of the public model that are part of a snapshot.

use super::{ALLOCATION, Codec, Reader, codec, put_text};
use crate::model::{
    AgentLoops, AttemptStatus, Channel, Checklist, EvaluationVerdict, Evidence, Finding, HaltReason, Level,
    LevelCounts, LoopMetrics, Metrics, Outcome, Recommendation, RuleMetrics, Scope, SmolStr, Wasted,
};
use alloc::vec::Vec;

/// Measured by length alone, so that shared and static texts count the same as restored ones.
impl Codec for SmolStr {
    const SIZE: usize = 24;

    #[inline]
    fn heap(&self) -> usize {
        if self.len() <= INLINE { 0 } else { ALLOCATION + 16 + self.len() }
    }

    fn put(&self, to: &mut Vec<u8>) {
        put_text(self, to);
    }

    fn take(from: &mut Reader<'_>) -> Self {
        from.text().into()
    }
}

codec!(enum Level { Continue: 0, Observe: 1, Nudge: 2, Block: 3, Gate: 4, Halt: 5 });
codec!(enum Outcome { Ok: 0, Error: 1, Denied: 2, Invalid: 3, UnknownTool: 4, NotExecuted: 5, Timeout: 6 });
codec!(struct Checklist { done, total });
codec!(enum Channel { Text: 0, Reasoning: 1 });
codec!(enum EvaluationVerdict { Progressing: 0, Stalled: 1, Regressing: 2, External: 3 });
codec!(enum AttemptStatus { Pending: 0, InProgress: 1, Blocked: 2, Done: 3 });
codec!(enum HaltReason { BudgetExceeded: 0, Stalled: 1, Oscillating: 2, RepeatedError: 3, UserStop: 4 });
codec!(enum Recommendation {
    Continue: 0, RetryWithBackoff: 1, ChangeApproach: 2, ForceNext: 3, UnblockAuthority: 4, Escalate: 5,
    SwitchToInteractive: 6, SpawnReviewer: 7, RetryWithNewProvider: 8, Rollback: 9, RequestTests: 10,
});

/// Bytes of the longest text stored inline, without heap memory.
const INLINE: usize = 23;

// These names are a host's own.
codec!(struct Scope { run, task, parent_task, agent } raw);
codec!(struct Evidence { seq, step, digest, at, tool, args, outcome, excerpt });
codec!(struct Wasted { events, tokens, cost_micros, milliseconds });
codec!(struct Finding {
    rule, kind, level, scope, count, threshold, period, onset_seq, onset_offset, last_seq, confidence, signature,
    evidence, wasted, message, reasoning, recommendation, instead,
});

codec!(struct LevelCounts { observe, nudge, block, gate, halt });
codec!(struct RuleMetrics { detections, levels, acknowledged });
codec!(struct AgentLoops { events, loops; rate });
codec!(struct LoopMetrics {
    detected, tasks, tasks_with_loops, agents, gates, loops_before_gate, resets, resolved, resolution_ms;
    task_rate, average_loops_per_task, average_loops_before_gate,
});
codec!(struct Metrics {
    events, verdicts, detections, rules, detections_by_agent, loops, runs_evicted, tasks_evicted, task_parts_evicted,
    patterns_cut_short, results_without_call, runs_collected, resets, resolved, resolution_ms, phase_visits_blocked,
    transitions_blocked, cycles_detected, hitl_triggered; runs, bytes,
});
