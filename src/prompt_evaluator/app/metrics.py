"""Which metrics can be used, and what does each need?"""

from __future__ import annotations

import inspect
from typing import Any, Literal

import msgspec

from prompt_evaluator.errors import PluginError
from prompt_evaluator.metrics.catalogue import METRICS
from prompt_evaluator.metrics.command import CommandMetric
from prompt_evaluator.metrics.function import FunctionMetric


class MetricInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to know about a metric before it is used."""

    name: str
    help: str
    needs: tuple[str, ...]
    """Of the case, or of its options."""
    judge: Literal["needed", "optional", "no", "unknown"]
    options: tuple[str, ...]
    error: str | None = None
    """Why it cannot be used; only plug-ins have that."""


def list_metrics() -> list[MetricInfo]:
    """Every metric, built in or brought by a plug-in, and how a function or a program of one's own is named."""
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
    says = getattr(kind, "needs_judge", None)
    if isinstance(says, property):
        try:
            says = kind().needs_judge
        except (TypeError, ValueError):  # it cannot be made without options
            says = False if kind in (FunctionMetric, CommandMetric) else None
    return "unknown" if says is None else "needed" if says else "no"
