"""`python -m unittest`, with LOOPWARDEN_COMPONENT naming the built component."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path

from judge import judge
from loopwarden import LoopwardenError, Module

COMPONENT = os.environ["LOOPWARDEN_COMPONENT"]


def pair(number: int, **more: object) -> list[dict]:
    """A call and its answer."""
    at = 1767258000000 + number * 2000
    call = {"type": "tool-call", "tool": "tide_table", "args": {"port": "Bergen"}, "callId": f"c{number}", "at": at}
    said = {"outcome": "ok", "output": "high water 04:10 and 16:32"}
    return [call, {"type": "tool-result", "callId": f"c{number}", "at": at + 900, **said, **more}]


class Judging(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.module = Module(COMPONENT)

    def levels(self, events: list[dict]) -> list[str]:
        detector = self.module.detector()
        return [detector.record(event)["level"] for event in events]

    def test_repeats_are_caught_and_batches_are_not(self) -> None:
        repeats = [event for number in range(3) for event in pair(number)]
        self.assertEqual(self.levels(repeats)[-1], "nudge")
        batch = [event for number in range(9) for event in pair(number, output=f"high water {number} m over datum")]
        for number, event in enumerate(batch):
            if event["type"] == "tool-call":
                event["args"] = {"port": f"port {number}"}
        self.assertEqual(set(self.levels(batch)), {"continue"})

    def test_a_check_changes_nothing(self) -> None:
        detector = self.module.detector()
        before = detector.snapshot()
        self.assertEqual(detector.check(pair(0)[0])["level"], "continue")
        self.assertEqual(detector.snapshot(), before)

    def test_a_snapshot_goes_on_where_it_stood(self) -> None:
        detector = self.module.detector()
        for event in pair(0) + pair(1):
            detector.record(event)
        restored = self.module.restore(detector.snapshot())
        last = pair(2)
        self.assertEqual([restored.record(e) for e in last], [detector.record(e) for e in last])
        self.assertEqual(restored.status(), detector.status())

    def test_every_kind_of_field_arrives(self) -> None:
        detector = self.module.detector()
        events = [
            {"type": "progress", "tests": {"failing": 2, "failingIds": ["a", "b"], "coverage": 81.5}},
            {"type": "progress", "codeWritten": True, "filesCreated": 3, "dependenciesAdded": ["zod"]},
            {"type": "attempt", "task": "T-1", "status": "blocked", "blockers": ["no tide gauge"]},
            {"type": "collaboration", "from": "a", "to": "b", "request": "review", "embedding": [0.1, 0.9]},
            {"type": "turn", "node": "coder", "tokens": 12, "structuredOutput": {"done": False}},
            {"type": "host", "kind": "compaction"},
            {"type": "message", "role": "user", "text": "Go on", "labels": {"lang": "en"}},
        ]
        for event in events:
            self.assertEqual(detector.record(event)["level"], "continue", event)

    def test_bad_input_is_named(self) -> None:
        with self.assertRaises(LoopwardenError) as caught:
            self.module.detector({"rules": {"cycle": {"nudge": "often"}}})
        self.assertEqual((caught.exception.code, caught.exception.field), ("invalid-config", "rules.cycle.nudge"))
        with self.assertRaises(LoopwardenError) as caught:
            self.module.restore(b"not a snapshot")
        self.assertEqual(caught.exception.code, "invalid-snapshot")
        with self.assertRaisesRegex(ValueError, "there is no event type 'tool_call'"):
            self.module.detector().record({"type": "tool_call", "tool": "x"})
        with self.assertRaisesRegex(ValueError, "tool is missing"):
            self.module.detector().record({"type": "tool-call"})

    def test_a_trace_is_judged_line_by_line(self) -> None:
        events = [json.dumps(event) for number in range(5) for event in pair(number)]
        said, complained = io.StringIO(), io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder, "trace.jsonl")
            trace.write_text("\n".join([*events[:2], "{broken", *events[2:]]), encoding="utf-8")
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
                code = judge(COMPONENT, trace)
        self.assertEqual(code, 3)
        self.assertIn("line 7: nudge: `tide_table` was called 3 times", said.getvalue())
        self.assertIn("## Loop Detected", said.getvalue())
        self.assertIn("trace.jsonl:3:", complained.getvalue())


if __name__ == "__main__":
    unittest.main()
