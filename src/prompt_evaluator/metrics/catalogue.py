"""Which metrics there are, and how one is made from what somebody wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.options import with_options
from prompt_evaluator.registry import Registry

if TYPE_CHECKING:
    from prompt_evaluator.ports import Metric

METRICS: Registry[type] = Registry(
    "metric",
    {
        "answer_relevancy": "prompt_evaluator.metrics.decomposition:AnswerRelevancy",
        "contains": "prompt_evaluator.metrics.text:Contains",
        "contextual_precision": "prompt_evaluator.metrics.decomposition:ContextualPrecision",
        "contextual_recall": "prompt_evaluator.metrics.decomposition:ContextualRecall",
        "contextual_relevancy": "prompt_evaluator.metrics.decomposition:ContextualRelevancy",
        "correctness": "prompt_evaluator.metrics.geval:Correctness",
        "cost": "prompt_evaluator.metrics.numbers:Cost",
        "exact_match": "prompt_evaluator.metrics.text:ExactMatch",
        "excludes": "prompt_evaluator.metrics.text:Excludes",
        "faithfulness": "prompt_evaluator.metrics.decomposition:Faithfulness",
        "icontains": "prompt_evaluator.metrics.text:IContains",
        "includes": "prompt_evaluator.metrics.text:Includes",
        "is_json": "prompt_evaluator.metrics.structure:IsJson",
        "json_path": "prompt_evaluator.metrics.structure:JsonPath",
        "json_schema": "prompt_evaluator.metrics.structure:JsonSchema",
        "latency": "prompt_evaluator.metrics.numbers:Latency",
        "length": "prompt_evaluator.metrics.numbers:Length",
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
"""Beside these there is `python:module:function`."""

_FUNCTION = "python:"


def build_metric(spec: str | dict[str, Any]) -> Metric:
    """A metric from its name, or from `{"metric": name, …options}`.

    Raises:
        ConfigurationError: There is no such metric, or an option is unknown or wrong; the nearest name is suggested.
    """
    options = {"metric": spec} if isinstance(spec, str) else dict(spec)
    name = options.pop("metric", None)
    if not isinstance(name, str) or not name:
        raise ConfigurationError('A metric is a name or a mapping such as {"metric": "includes", "phrases": ["x"]}.')
    if name.startswith(_FUNCTION):
        from prompt_evaluator.metrics.function import FunctionMetric  # noqa: PLC0415 - only for those who use it

        return with_options(FunctionMetric, name, {**options, "function": name.removeprefix(_FUNCTION)})
    kind: Any = METRICS.get(name)
    metric: Any
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        metric = with_options(kind, name, options)
    else:  # a plug-in's own kind of class, or a function that makes one
        try:
            metric = kind(**options)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"The metric {name!r} cannot be used: {error}.") from None
    checked: Metric = metric
    return checked
