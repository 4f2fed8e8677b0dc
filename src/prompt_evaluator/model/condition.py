"""Conditions on runs, cases and their metadata, such as `key=value`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.hints import nearest, some_of
from prompt_evaluator.model.bounds import number_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

Operator = Literal["=", "!=", ">=", "<=", ">", "<", "~"]
_CONDITION = re.compile(r"\s*([^=<>!~]+?)\s*(!=|>=|<=|=|>|<|~)\s*(.*)", re.DOTALL)


class Condition(msgspec.Struct, frozen=True):
    """One parsed condition."""

    field: str
    """The name of the value to test; dots reach into mappings."""
    operator: Operator
    """`~` means "contains", ignoring case."""
    value: str
    """As written."""

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{self.value}"

    def holds(self, found: Any) -> bool:
        """Whether it holds for a value. A list passes if any of its items does; numbers are compared as numbers."""
        return _TESTS[self.operator](found, self.value)

    @property
    def number(self) -> float:
        """The value as a number.

        Raises:
            ConfigurationError: It is not a number.
        """
        found = number_in(self.value)
        if found is None:
            raise ConfigurationError(
                f"The condition {str(self)!r} compares with {self.value!r}, which is not a number. Write a number, "
                f"such as {self.field}{self.operator}3."
            )
        return found


def condition(text: str) -> Condition:
    """Parse `key=value`, `key!=value`, `key~part` or a comparison.

    Raises:
        ConfigurationError: The text is none of these.
    """
    found = _CONDITION.fullmatch(text)
    if not found:
        raise ConfigurationError(f"--where {text!r} is not a condition. Write key=value, key!=value or key>=3.")
    key, operator, value = found.groups()
    return Condition(key, operator, value)  # type: ignore[arg-type]  # the pattern allows no other operator


def no_such_value(wanted: Condition, thing: str, values: Collection[Any]) -> ConfigurationError:
    """A condition on a field that things, such as runs, have, and that holds for none of them.

    `values` are those that the field has.
    """
    texts = _in_order(values)
    is_name = wanted.operator in ("=", "~") and number_in(wanted.value) is None
    near = nearest(wanted.value, texts) if is_name else None
    hint = f" Did you mean {wanted.field}{wanted.operator}{near}?" if near else ""
    return ConfigurationError(f"No {thing} has {wanted}.{hint} Values of {wanted.field}: {some_of(texts)}.")


def _in_order(values: Collection[Any]) -> list[str]:
    """Numbers by their size, before all else by its letters."""
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    others = [str(value).lower() if isinstance(value, bool) else str(value) for value in values if value not in numbers]
    return [*map(str, sorted(numbers)), *sorted(others)]


def lookup(values: Mapping[str, Any], key: str) -> Any:
    """Look up a value by its key, or by a dotted path into nested mappings; None if there is none."""
    if key in values:
        return values[key]
    found: Any = values
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _equal(found: Any, value: str) -> bool:
    if isinstance(found, list):
        return any(_equal(item, value) for item in found)
    if isinstance(found, bool) or found is None:
        return value.lower() == {True: "true", False: "false", None: "null"}[found]
    if isinstance(found, (int, float)):
        return (number := number_in(value)) is not None and found == number
    return bool(found == value)


def _contains(found: Any, value: str) -> bool:
    if isinstance(found, list):
        return any(_contains(item, value) for item in found)
    return isinstance(found, str) and value.casefold() in found.casefold()


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, str], bool]:
    def test(found: Any, value: str) -> bool:
        if isinstance(found, list):
            return any(test(item, value) for item in found)
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return (number := number_in(value)) is not None and compare(found, number)
        return isinstance(found, str) and compare(found, value)

    return test


_TESTS: dict[str, Callable[[Any, str], bool]] = {
    "=": _equal,
    "!=": lambda found, value: not _equal(found, value),
    "~": _contains,
    ">": _compared(lambda a, b: a > b),
    ">=": _compared(lambda a, b: a >= b),
    "<": _compared(lambda a, b: a < b),
    "<=": _compared(lambda a, b: a <= b),
}
