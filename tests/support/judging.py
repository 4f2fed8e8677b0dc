"""A rubric with two scales, a case, and replies that a judge might give about it."""

from __future__ import annotations

import json
from typing import Any

from prompt_evaluator.model import Criterion, Flag, Mark, Rubric, TestCase, Verdict

RUBRIC = Rubric(
    name="house",
    metrics=(
        Criterion(name="clarity", description="Is it clear?", guidelines="5: at once.\n1: never."),
        Criterion(name="trust", description="Can it be believed?", min_score=-1.5, max_score=1),
    ),
    flags=(
        Flag(name="invented", description="Something is made up."),
        Flag(name="complete", description="Nothing is missing.", default=True),
    ),
    hash="0" * 64,
)
CASE = TestCase(
    id="tea",
    input="How long should green tea steep?",
    task="Answer in one sentence.",
    expected_constraints="No brand names.",
    reference="Two to three minutes at 80 degrees.",
)
VERDICT = Verdict(
    metrics={"clarity": Mark(4.5, "Plain."), "trust": Mark(-1.0, "Doubtful {really}.")},
    flags={"invented": False, "complete": True},
    overall_comment="Fine.",
)


def as_reply(verdict: Verdict = VERDICT) -> dict[str, Any]:
    """What a judge writes to say so, free to be spoiled."""
    marks = {name: {"score": mark.score, "rationale": mark.rationale} for name, mark in verdict.metrics.items()}
    return {"metrics": marks, "flags": dict(verdict.flags), "overall_comment": verdict.overall_comment}


GOOD = json.dumps(as_reply())


def spoiled(*path: str, value: Any = None, drop: bool = False) -> str:
    """A good reply with one value changed or left out."""
    reply = as_reply()
    inner = reply
    for part in path[:-1]:
        inner = inner[part]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(reply)
