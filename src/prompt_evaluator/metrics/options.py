"""What a case has to say about the metrics that are applied to it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from prompt_evaluator.errors import ConfigurationError

if TYPE_CHECKING:
    from prompt_evaluator.metrics.rule import Rule
    from prompt_evaluator.model import TestCase

    R = TypeVar("R", bound=Rule)

S = TypeVar("S", bound=msgspec.Struct)


class ExpectedTool(msgspec.Struct, frozen=True):
    """A call that ought to be made."""

    name: str
    args: dict[str, Any] | None = None
    """Values, or matchers such as `{"$contains": "x"}`; None when any arguments will do."""


def for_case(metric: R, case: TestCase) -> list[R]:
    """The metric with the options of each check of its name over its own; with those of its aliases if there is none.

    Raises:
        ConfigurationError: A check has an option that the metric does not have, or a wrong value.
    """
    asked = [check for check in case.checks if check.metric == metric.name]
    asked = asked or [check for check in case.checks if check.metric in metric.implied]
    if not asked:
        return [metric]
    own = msgspec.to_builtins(metric)
    means = {**metric.implied, metric.name: {}}
    return [
        with_options(type(metric), check.metric, {**own, **means[check.metric], **check.options}) for check in asked
    ]


def with_options(kind: type[S], name: str, options: dict[str, Any]) -> S:
    """A metric with these options.

    Raises:
        ConfigurationError: Names the option that it does not have, with the nearest one, or whose value is wrong.
    """
    known = kind.__struct_encode_fields__
    for option in options:
        if option not in known:
            near = get_close_matches(option, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"It has: {', '.join(known)}."
            raise ConfigurationError(f"The metric {name!r} has no option {option!r}. {hint}")
    try:
        return msgspec.convert(options, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        place = where.rstrip("`").lstrip(".")
        sentence = f"{what[:1].lower()}{what[1:]}".rstrip(".")
        option = f"The option {place!r} of the metric" if place else "The metric"
        raise ConfigurationError(f"{option} {name!r} cannot be used: {sentence}.") from None


def context_of(case: TestCase) -> tuple[str, ...]:
    """The passages of the case, best first: its field `context`, a text or a list of texts; none otherwise."""
    context = case.metadata.get("context")
    if isinstance(context, str):
        return (context,) if context.strip() else ()
    if isinstance(context, list) and all(isinstance(passage, str) for passage in context):
        return tuple(context)
    return ()


def expected_tools_of(case: TestCase) -> tuple[ExpectedTool, ...] | None:
    """The calls that the case expects, by its first check that says so or its field `expected_tools`.

    None when it says nothing, which is not the same as expecting no call.
    """
    for check in case.checks:
        if check.metric == "tool_correctness" and "expected_tools" in check.options:
            return _calls(check.options["expected_tools"])
    return _calls(case.metadata.get("expected_tools")) or None


def _calls(value: Any) -> tuple[ExpectedTool, ...] | None:
    try:
        calls = msgspec.convert(value, tuple[ExpectedTool | str, ...])
    except msgspec.ValidationError:
        return None
    return named(calls)


def named(calls: tuple[ExpectedTool | str, ...]) -> tuple[ExpectedTool, ...]:
    """A bare name is a call with any arguments."""
    return tuple(ExpectedTool(call) if isinstance(call, str) else call for call in calls)
