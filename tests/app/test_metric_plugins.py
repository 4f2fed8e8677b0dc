from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from prompt_evaluator.app.metrics import list_metrics
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.model import MetricUse


class Plain:
    """Always the same."""

    def __init__(self, value: float) -> None:
        self.value = value


class Whole(Plain):
    """A plug-in with all that a metric has."""

    name, needs_judge, threshold = "whole", False, 1.0

    def definition(self) -> dict[str, Any]:
        return {"metric": self.name}

    def missing(self, case: object) -> None: ...

    async def prepared(self, judge: object) -> Whole: ...  # type: ignore[empty-body]

    async def score(self, case: object, answer: object, judge: object) -> None: ...


@pytest.fixture
def _plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    group = "prompt_evaluator.metrics"
    points: Any = [
        EntryPoint("steady", f"{__name__}:Plain", group),
        EntryPoint("whole", f"{__name__}:Whole", group),
        EntryPoint("broken", "no_such_module_at_all:Metric", group),
    ]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: points)
    monkeypatch.setitem(
        __import__("sys").modules, __name__, __import__("types").SimpleNamespace(Plain=Plain, Whole=Whole)
    )


@pytest.mark.usefixtures("_plugins")
def test_plug_ins_are_listed_and_a_broken_one_hides_nothing() -> None:
    found = {metric.name: metric for metric in list_metrics()}

    assert found["steady"].help == "Always the same."
    assert found["steady"].judge == "unknown"
    assert "cannot be loaded" in (found["broken"].error or "")
    assert "includes" in found


@pytest.mark.usefixtures("_plugins")
def test_a_plug_in_is_made_with_its_options() -> None:
    metric: Any = build_metric(MetricUse(metric="whole", options={"value": 0.5}))

    assert metric.value == 0.5
    with pytest.raises(ConfigurationError, match="cannot be used"):
        build_metric(MetricUse(metric="whole", options={"volume": 3}))


@pytest.mark.usefixtures("_plugins")
def test_a_plug_in_without_what_a_metric_has_is_refused_before_any_call() -> None:
    with pytest.raises(ConfigurationError, match="it has no name, needs_judge, threshold, definition, missing"):
        build_metric(MetricUse(metric="steady", options={"value": 0.5}))
