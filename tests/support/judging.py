"""A rubric with two scales, a case, and replies that a judge might give about it."""

from __future__ import annotations

import json
from typing import Any

from prompt_evaluator.model import Criterion, Flag, Rubric, Scored, Scores, TestCase

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
SCORES = Scores(
    scores={"clarity": Scored(4.5, "Plain."), "trust": Scored(-1.0, "Doubtful {really}.")},
    flags={"invented": False, "complete": True},
    comment="Fine.",
)


def as_reply(scores: Scores = SCORES) -> dict[str, Any]:
    """What a judge writes to say so, free to be spoiled."""
    marks = {name: {"score": score.value, "rationale": score.reason} for name, score in scores.scores.items()}
    return {"metrics": marks, "flags": dict(scores.flags), "overall_comment": scores.comment}


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
