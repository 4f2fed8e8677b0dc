"""Lists the available metrics and what each needs."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import msgspec

from prompt_evaluator.errors import PluginError
from prompt_evaluator.metrics.catalogue import METRICS
from prompt_evaluator.metrics.command import CommandMetric
from prompt_evaluator.metrics.function import FunctionMetric


class MetricInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Description of a metric."""

    name: str
    help: str
    needs: tuple[str, ...]
    """Fields of the case, or options."""
    judge: Literal["needed", "optional", "no", "unknown"]
    options: tuple[str, ...]
    error: str | None = None
    """Why a plug-in cannot be used."""


def list_metrics() -> list[MetricInfo]:
    """Every metric, built in or from a plug-in, and the forms that name your own function or program."""
    own: dict[str, Any] = {"python:module:function": FunctionMetric, "command:program": CommandMetric}
    return [*map(_info, METRICS.names()), *(_described(name, kind) for name, kind in own.items())]


def _info(name: str) -> MetricInfo:
    try:
        return _described(name, METRICS.get(name))
    except PluginError as error:
        return MetricInfo(name=name, help="", needs=(), judge="unknown", options=(), error=str(error))


def _described(name: str, kind: Any) -> MetricInfo:
    options = tuple(getattr(kind, "__struct_fields__", ()))
    return MetricInfo(
        name=name,
        help=(inspect.getdoc(kind) or "").partition("\n")[0],
        needs=tuple(getattr(kind, "needs", ())),
        judge="optional" if "use_judge" in options else _judge(kind),
        options=options,
    )


def _judge(kind: Any) -> Literal["needed", "no", "unknown"]:
    needed = getattr(kind, "needs_judge", None)
    if isinstance(needed, property):
        try:
            needed = kind().needs_judge
        except (TypeError, ValueError):  # it has required options
            needed = False if kind in (FunctionMetric, CommandMetric) else None
    return "unknown" if needed is None else "needed" if needed else "no"
