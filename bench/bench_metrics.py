"""What a metric costs beside its judge."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import measure

_STEPS = ["Compare the answer with the expected one.", "Look for contradictions.", "Weigh what is missing."]
_OPTIONS: dict[str, dict[str, Any]] = {
    "correctness": {"steps": _STEPS},
    "criteria": {"steps": _STEPS},
    "includes": {"phrases": ["blue"]},
}


def _verdict(number: int, verdict: str) -> dict[str, Any]:
    return {"number": number, "reason": "It says so.", "verdict": verdict}


_REPLIES: dict[str, list[dict[str, Any]]] = {
    "correctness": [{"reason": "It agrees.", "score": 8}],
    "criteria": [{"reason": "It agrees.", "score": 8}],
    "faithfulness": [
        {"claims": ["The sky is blue.", "Grass is green."]},
        {"truths": ["The sky is blue."]},
        {"verdicts": [_verdict(1, "yes"), _verdict(2, "idk")]},
    ],
    "answer_relevancy": [
        {"statements": ["The sky is blue.", "Grass is green."]},
        {"verdicts": [_verdict(1, "yes"), _verdict(2, "no")]},
    ],
}


class _Instant:
    """A judge that knows its replies by heart and takes no time."""

    def __init__(self, replies: list[dict[str, Any]]) -> None:
        self._replies = [json.dumps(reply) for reply in replies]
        self._next = 0

    async def ask(self, *_: object, **__: object) -> Any:
        from prompt_evaluator.model import Answer  # noqa: PLC0415

        reply = self._replies[self._next % len(self._replies)]
        self._next += 1
        return Answer(text=reply, latency_ms=0.0, model="instant")


def overhead(name: str) -> measure.Result:
    """Milliseconds of one score, the judge taking none."""
    from prompt_evaluator.metrics.catalogue import build_metric  # noqa: PLC0415
    from prompt_evaluator.model import Answer, MetricUse, Scored, TestCase  # noqa: PLC0415

    metric = build_metric(MetricUse(metric=name, options=_OPTIONS.get(name, {})))
    case = TestCase(
        id="a", input="What colour is the sky?", reference="Blue.", metadata={"context": ["The sky is blue."]}
    )
    answer = Answer(text="The sky is blue. Grass is green.", latency_ms=1.0, model="m")
    judge = _Instant(_REPLIES.get(name, [{}]))

    async def many(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            score = await metric.score(case, answer, judge)
            assert isinstance(score, Scored), score
        return (time.perf_counter() - start) / count * 1000

    best = min(asyncio.run(many(300)) for _ in range(7))
    return measure.Result(f"{name}, ms beside its judge", best, 0.1, at_most=True, detail="best of 7 slices")


if __name__ == "__main__":
    rules = ("includes", "exact_match", "similarity", "levenshtein", "token_f1", "contains_json")
    names = (*rules, "correctness", "criteria", "faithfulness", "answer_relevancy")
    measure.conclude(*(overhead(name) for name in names))
