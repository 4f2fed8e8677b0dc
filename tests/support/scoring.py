"""A case, an answer and a metric by its options, in as few words as a table of examples needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.model import Answer, MetricUse, Score, Scored, Scores, TestCase, ToolCall

if TYPE_CHECKING:
    from prompt_evaluator.ports import Metric


def case(reference: str | None = None, *checks: MetricUse, **metadata: Any) -> TestCase:
    return TestCase(id="a", input="What?", reference=reference, checks=checks, metadata=metadata)


def answer(text: str = "", /, *calls: ToolCall, **others: Any) -> Answer:
    return Answer(**{"text": text, "tool_calls": calls, "latency_ms": 12.0, "model": "m", **others})


async def score(name: str, text: str = "", /, *, on: TestCase | None = None, **options: Any) -> Score:
    """What the metric with these options says about a text."""
    found = await metric(name, **options).score(on or case(), answer(text), None)
    assert not isinstance(found, Scores)
    return found


def metric(name: str, **options: Any) -> Metric:
    """The metric with these options."""
    return build_metric(MetricUse(metric=name, options=options))


async def value(name: str, text: str = "", /, *, on: TestCase | None = None, **options: Any) -> float:
    found = await score(name, text, on=on, **options)
    assert isinstance(found, Scored), found
    return found.value
