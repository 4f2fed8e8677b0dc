"""Checks the options of metrics, and reads the tool calls that a case expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.hints import nearest
from prompt_evaluator.model.bounds import SHARE, out_of_bounds
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from prompt_evaluator.model import TestCase

S = TypeVar("S", bound=msgspec.Struct)

Share = Annotated[float, SHARE.meta]


class ExpectedTool(msgspec.Struct, frozen=True):
    """A tool call that the model should make."""

    name: str
    args: dict[str, Any] | None = None
    """Values, or matchers such as `{"$contains": "x"}`; None allows any arguments."""


def with_options(kind: type[S], name: str, options: dict[str, Any]) -> S:
    """Build a metric with these options.

    Raises:
        ConfigurationError: An option is unknown, with the nearest one suggested, or its value is invalid.
    """
    known = kind.__struct_encode_fields__
    for option in options:
        if option not in known:
            near = nearest(option, known)
            hint = f"Did you mean {near!r}?" if near else f"Known options: {', '.join(known)}."
            raise ConfigurationError(f"The metric {name!r} has no option {option!r}. {hint}")
    try:
        metric = msgspec.convert(options, kind)
    except msgspec.ValidationError as error:
        _check_bounds(kind, name, options)
        what, _, where = str(error).partition(" - at `$")
        place = where.rstrip("`").lstrip(".")
        sentence = f"{what[:1].lower()}{what[1:]}".rstrip(".")
        option = f"The option {place!r} of the metric" if place else "The metric"
        raise ConfigurationError(f"{option} {name!r} cannot be used: {sentence}.") from None
    if any(value.__class__ is float and not value for value in options.values()):
        _check_bounds(kind, name, options)  # for negative zero, which msgspec accepts as zero
    return metric


def _check_bounds(kind: type[msgspec.Struct], name: str, options: dict[str, Any]) -> None:
    if wrong := out_of_bounds(kind, options):
        option, bound, value = wrong
        place = f"The option {option!r} of the metric {name!r}"
        raise ConfigurationError(f"{place} has to be {bound.words}, not {described(value)}.") from None


def expected_tools_of(case: TestCase) -> tuple[ExpectedTool, ...] | None:
    """The calls that the case expects, from its first check that lists them or its field `expected_tools`.

    None if the case lists none, which is not the same as expecting no call.
    """
    for use in case.checks:
        if use.metric == "tool_correctness" and "expected_tools" in use.options:
            return _calls(use.options["expected_tools"])
    return _calls(case.metadata.get("expected_tools")) or None


def _calls(value: Any) -> tuple[ExpectedTool, ...] | None:
    try:
        calls = msgspec.convert(value, tuple[ExpectedTool | str, ...])
    except msgspec.ValidationError:
        return None
    return named(calls)


def named(calls: tuple[ExpectedTool | str, ...]) -> tuple[ExpectedTool, ...]:
    """Turn bare names into calls with any arguments."""
    return tuple(ExpectedTool(call) if isinstance(call, str) else call for call in calls)
