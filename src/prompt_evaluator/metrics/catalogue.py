"""The metrics by name, and how to build one from its name and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.options import with_options
from prompt_evaluator.registry import Registry

if TYPE_CHECKING:
    from prompt_evaluator.model import MetricUse
    from prompt_evaluator.ports import Metric

METRICS: Registry[type] = Registry(
    "metric",
    {
        "answer_relevancy": "prompt_evaluator.metrics.decomposition:AnswerRelevancy",
        "contains": "prompt_evaluator.metrics.text:Contains",
        "contextual_precision": "prompt_evaluator.metrics.decomposition:ContextualPrecision",
        "contextual_recall": "prompt_evaluator.metrics.decomposition:ContextualRecall",
        "contextual_relevancy": "prompt_evaluator.metrics.decomposition:ContextualRelevancy",
        "contains_json": "prompt_evaluator.metrics.structure:ContainsJson",
        "correctness": "prompt_evaluator.metrics.geval:Correctness",
        "cost": "prompt_evaluator.metrics.numbers:Cost",
        "criteria": "prompt_evaluator.metrics.geval:Criteria",
        "exact_match": "prompt_evaluator.metrics.text:ExactMatch",
        "excludes": "prompt_evaluator.metrics.text:Excludes",
        "faithfulness": "prompt_evaluator.metrics.decomposition:Faithfulness",
        "finish_reason": "prompt_evaluator.metrics.text:FinishReason",
        "icontains": "prompt_evaluator.metrics.text:IContains",
        "includes": "prompt_evaluator.metrics.text:Includes",
        "is_json": "prompt_evaluator.metrics.structure:IsJson",
        "json_path": "prompt_evaluator.metrics.structure:JsonPath",
        "json_schema": "prompt_evaluator.metrics.structure:JsonSchema",
        "latency": "prompt_evaluator.metrics.numbers:Latency",
        "length": "prompt_evaluator.metrics.numbers:Length",
        "levenshtein": "prompt_evaluator.metrics.likeness:Levenshtein",
        "not_contains": "prompt_evaluator.metrics.text:NotContains",
        "numeric": "prompt_evaluator.metrics.numbers:Numeric",
        "regex": "prompt_evaluator.metrics.pattern:Regex",
        "signals": "prompt_evaluator.metrics.signals:Signals",
        "similarity": "prompt_evaluator.metrics.likeness:Similarity",
        "starts_with": "prompt_evaluator.metrics.text:StartsWith",
        "token_f1": "prompt_evaluator.metrics.likeness:TokenF1",
        "tool_correctness": "prompt_evaluator.metrics.tools:ToolCorrectness",
    },
    entry_points="prompt_evaluator.metrics",
)
"""In addition, `python:module:function` and `command:program` name user code."""

_FUNCTION, _COMMAND = "python:", "command:"
_PAIRWISE = "pairwise:preference"
"""Used by pairwise comparisons only: it needs the answers of two runs, so no dataset or run can ask for it."""
_PORT = ("name", "needs_judge", "threshold", "definition", "missing", "prepared", "score")
"""Attributes a plug-in must have; see `ports.Metric`."""


def build_metric(use: MetricUse) -> Metric:
    """Build the metric that `use` names.

    Raises:
        ConfigurationError: The metric or an option is unknown, or an option is invalid; suggests the nearest name.
    """
    metric = _built(use)
    if use.judge is not None and not metric.needs_judge:
        raise ConfigurationError(f"The metric {use.metric!r} does not use a judge. Remove `judge`.")
    return metric


def _built(use: MetricUse) -> Metric:
    name, options = use.metric, use.options
    if name.startswith(_FUNCTION):
        from prompt_evaluator.metrics.function import FunctionMetric  # noqa: PLC0415 - imported only when used

        return with_options(FunctionMetric, name, {**options, "function": name.removeprefix(_FUNCTION)})
    if name.startswith(_COMMAND):
        from prompt_evaluator.metrics.command import CommandMetric  # noqa: PLC0415 - imported only when used

        return with_options(CommandMetric, name, {**options, "command": name.removeprefix(_COMMAND)})
    kind: Any = METRICS.get(name) if name != _PAIRWISE else _preference()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if use.judge is not None and "use_judge" in kind.__struct_fields__:
            options = {**options, "use_judge": True}
        metric: Any = with_options(kind, name, options)
        checked: Metric = metric
        return checked
    return _plugin(kind, name, options)


def _preference() -> type:
    from prompt_evaluator.metrics.preference import Preference  # noqa: PLC0415 - imported only when used

    return Preference


def _plugin(kind: Any, name: str, options: dict[str, Any]) -> Metric:
    """Build a plug-in's metric from its class or factory function."""
    try:
        metric: Metric = kind(**options)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"The metric {name!r} cannot be used: {str(error).rstrip('.')}.") from None
    if lacking := [part for part in _PORT if not hasattr(metric, part)]:
        raise ConfigurationError(f"The metric {name!r} cannot be used: it has no {', '.join(lacking)}.")
    return metric
