"""Judges a recorded run: `python judge.py COMPONENT TRACE`, where a trace is one JSON event a line.

`pip install -r requirements.txt` brings wasmtime; `cargo xtask build` builds the component and says where it is.

Exit code 3 when a loop was found, 0 when there was none.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from loopwarden import LoopwardenError, Module

SERIOUS = ("gate", "halt")


def judge(component: str | Path, trace: str | Path) -> int:
    detector = Module(component).detector()
    worst = None
    for number, line in enumerate(Path(trace).read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            verdict = detector.record(json.loads(line))
        except (ValueError, LoopwardenError) as error:
            print(f"{trace}:{number}: {error}", file=sys.stderr)
            continue
        if verdict["level"] in ("continue", "observe"):
            continue
        worst = verdict
        print(f"line {number}: {verdict['level']}: {verdict['findings'][0]['message']}")
        if guidance := verdict.get("guidance"):
            print(f"  {guidance}")
        if verdict["level"] in SERIOUS:
            break
    if worst is None:
        print("no loop")
        return 0
    print("\n" + detector.report(worst["findings"][0]["scope"]))
    return 3


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python judge.py COMPONENT TRACE")
    sys.exit(judge(*sys.argv[1:]))
