from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from click.testing import CliRunner

from prompt_evaluator.app.metrics import list_metrics
from prompt_evaluator.cli.metrics import metrics_command
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.catalogue import METRICS, build_metric
from prompt_evaluator.model import MetricUse


def _listed(*arguments: str) -> str:
    done = CliRunner().invoke(metrics_command, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_every_metric_is_listed_with_what_it_needs_and_whether_it_asks_a_judge() -> None:
    found = {metric["name"]: metric for metric in json.loads(_listed("--json"))["metrics"]}

    assert set(found) == {*METRICS.names(), "python:module:function", "command:program"}
    assert all(metric["help"] and metric["error"] is None for metric in found.values())
    assert found["includes"]["needs"] == ["phrases"]
    assert found["includes"]["judge"] == "no"
    assert found["correctness"]["judge"] == "needed"
    assert found["tool_correctness"]["judge"] == "optional"
    assert found["python:module:function"]["judge"] == "no"
    assert "case_sensitive" in found["includes"]["options"]


def test_people_get_two_lines_a_metric() -> None:
    lines = _listed().splitlines()

    assert len(lines) == 2 * (len(METRICS.names()) + 2)
    assert any(line.startswith("regex ") and "`pattern` occurs in the answer" in line for line in lines)
    assert any(line.strip() == "needs pattern; no judge" for line in lines)


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
