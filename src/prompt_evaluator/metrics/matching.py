"""Compares a JSON value with the expected one: exactly, unless a matcher says otherwise.

`{"$contains": "x"}` matches a text, list or object that contains it; `{"$approx": 3.1, "$tolerance": 0.1}` a number
near it; `{"$regex": "^a"}` a text in which it is found; `{"$one_of": ["a", "b"]}` any of these; `{"$any": true}` any
value; `{"$exact": …}` this very value, even if it looks like a matcher. Several matchers in one mapping must all match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.hints import nearest
from prompt_evaluator.metrics.pattern import compiled, find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PATTERN_SECONDS = 0.1
_RELATIVE = 1e-6
_ROUNDING = 1e-12
"""Makes 3.2 within 0.1 of 3.1, although 3.2 - 3.1 is slightly more than 0.1 in binary."""


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


_ABSENT = _Absent()


class Difference(NamedTuple):
    """A place where a value is not the expected one."""

    path: str
    expected: Any
    actual: Any
    decided: bool
    """False for two plain texts, which may mean the same although they differ."""


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[Difference]:
    """Every place where the values differ. 1 equals 1.0; true equals neither.

    Raises:
        TimeoutError: A `$regex` takes too long.
    """
    if is_matcher(expected):
        if not all(_MATCHERS[name](expected, actual) for name in expected):
            yield Difference(path, expected, actual, decided=True)
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key in {**expected, **actual}:
            inner = f"{path}.{key}" if path else str(key)
            yield from differences(expected.get(key, _ABSENT), actual.get(key, _ABSENT), inner)
    elif isinstance(expected, list | tuple) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (wanted, got) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(wanted, got, f"{path}[{index}]")
    elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
        texts = isinstance(expected, str) and isinstance(actual, str)
        yield Difference(path, expected, actual, decided=not texts)


def matches(expected: Any, actual: Any) -> bool:
    return next(differences(expected, actual), None) is None


def is_matcher(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(str(key).startswith("$") for key in value)


def check_matchers(value: Any) -> None:
    """Find mistakes in an expected value before it is used.

    Raises:
        ValueError: A matcher is wrong; says which and why.
    """
    if is_matcher(value):
        _check_matcher(value)
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            check_matchers(inner)


def near(number: float, expected: float, *, absolute: float = 0.0, relative: float = 0.0) -> bool:
    """Whether the difference is within the larger of the two tolerances."""
    if number == expected:
        return True
    try:
        slack = _ROUNDING * max(abs(number), abs(expected))
        return abs(number - expected) <= max(absolute, relative * abs(expected)) + slack < float("inf")
    except OverflowError:  # an integer too large for a float
        return False


def _check_matcher(matcher: dict[str, Any]) -> None:
    for name in matcher:
        if name not in _MATCHERS:
            near = nearest(name, _MATCHERS)
            hint = f"Did you mean {near!r}?" if near else f"Known matchers: {', '.join(_MATCHERS)}."
            raise ValueError(f"Unknown matcher {name!r}. {hint} To match a literal key, write {{'$exact': …}}")
    numbers = [matcher[name] for name in ("$approx", "$tolerance") if name in matcher]
    if not all(_is_number(number) for number in numbers) or matcher.get("$tolerance", 0) < 0:
        raise ValueError("`$approx` and `$tolerance` must be numbers, and `$tolerance` must not be negative")
    if "$tolerance" in matcher and "$approx" not in matcher:
        raise ValueError("`$tolerance` needs `$approx`")
    if "$regex" in matcher:
        compiled(str(matcher["$regex"]))
    if "$contains" in matcher:
        check_matchers(matcher["$contains"])
    if "$one_of" in matcher:
        if not isinstance(matcher["$one_of"], list | tuple) or not matcher["$one_of"]:
            raise ValueError("`$one_of` is a list of values, any of which will do")
        check_matchers(matcher["$one_of"])


def _contains(matcher: dict[str, Any], actual: Any) -> bool:
    wanted = matcher["$contains"]
    if isinstance(actual, str):
        return isinstance(wanted, str) and wanted in actual
    if isinstance(actual, dict):
        return isinstance(wanted, str) and wanted in actual
    return isinstance(actual, list) and any(matches(wanted, item) for item in actual)


def _approx(matcher: dict[str, Any], actual: Any) -> bool:
    if not _is_number(actual):
        return False
    tolerance = matcher.get("$tolerance")
    return near(actual, matcher["$approx"], absolute=tolerance or 0.0, relative=_RELATIVE if tolerance is None else 0.0)


def _regex(matcher: dict[str, Any], actual: Any) -> bool:
    if not isinstance(actual, str):
        return False
    return find(compiled(str(matcher["$regex"])), actual, seconds=_PATTERN_SECONDS) is not None


def _exact(matcher: dict[str, Any], actual: Any) -> bool:
    """Compare without treating any mapping as a matcher."""
    return _same(matcher["$exact"], actual)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list | tuple) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_MATCHERS: dict[str, Callable[[dict[str, Any], Any], bool]] = {
    "$any": lambda _, actual: actual is not _ABSENT,
    "$approx": _approx,
    "$contains": _contains,
    "$exact": _exact,
    "$one_of": lambda matcher, actual: any(matches(each, actual) for each in matcher["$one_of"]),
    "$regex": _regex,
    "$tolerance": lambda _matcher, _actual: True,
}
