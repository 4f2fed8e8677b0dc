"""The ways to write a use of a metric in a file, in Python or on the command line.

    is_json                                     a name
    length(max_words=50, min_words=3)           a name with options, as one text
    {metric: length, max_words: 50}             a mapping with `metric`
    {length: {max_words: 50}}                   a mapping of the name to its options

In all of them `name`, `judge` and `not` describe the use itself; all other keys are options of the metric. An option
with one of these names can be set in a mapping called `options`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model import MetricUse
from prompt_evaluator.syntax.scalars import plain_scalar
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from collections.abc import Iterable

_RESERVED = ("metric", "name", "judge", "not", "options")
_WORD = r"[A-Za-z_][\w.-]*"
_NAME = re.compile(rf"{_WORD}|(?:python|command):\s*\S.*", re.DOTALL)
_OPTION = re.compile(_WORD)
_CALL = re.compile(rf"\s*(?:python:[\w.:-]+|{_WORD})\(")
_PROGRAM = "command:"
"""The rest is a shell command: brackets and quotes in it are left alone."""

_CLOSING = {")": "(", "]": "[", "}": "{"}
_QUOTED = {
    '"': re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL),
    "'": re.compile(r"'[^']*(?:''[^']*)*'"),
}
_BEFORE_A_VALUE = frozenset("(,=")
_QUOTE_IT = "put the whole value in quotes"
_OPTIONS = "write a mapping of options to values"
_SHOWN = 60


def parse_uses(value: object) -> tuple[MetricUse, ...]:
    """Parse a value of a file: one use, or a list of uses.

    Raises:
        ValueError: What is wrong and what to write, without a full stop.
    """
    if not isinstance(value, (list, tuple)):
        return (_use(value),)
    return _distinct(_item(position, item) for position, item in enumerate(value))


def parse_uses_text(text: str) -> tuple[MetricUse, ...]:
    """Parse a text from the command line: uses separated by commas. A use that contains commas can be quoted.

    Raises:
        ValueError: What is wrong and what to write, without a full stop.
    """
    if not text.strip():
        raise _wrong("no metric is named", "write one or more names, separated by commas")
    return _distinct(_use_of_text(_unquoted(part)) for part in _parts(text))


def is_meant_as_uses(value: object) -> bool:
    """Return whether a value looks like uses of metrics, valid or not; a plain text or number may mean anything."""
    return isinstance(value, (list, tuple, dict)) or (isinstance(value, str) and _CALL.match(value) is not None)


def _item(position: int, item: object) -> MetricUse:
    try:
        return _use(item)
    except ValueError as error:
        raise ValueError(f"item {position}: {error}") from None


def _distinct(uses: Iterable[MetricUse]) -> tuple[MetricUse, ...]:
    found: dict[str, MetricUse] = {}
    for use in uses:
        if use.key in found:
            raise _wrong(f"two uses are called {use.key!r}", "give one of them another name")
        found[use.key] = use
    return tuple(found.values())


def _use(value: object) -> MetricUse:
    if isinstance(value, str):
        return _use_of_text(value)
    if not isinstance(value, dict):
        raise _wrong(f"it is {described(value)}", "write a metric's name, or a mapping with `metric` and its options")
    if "metric" in value:
        return _made(value["metric"], {key: option for key, option in value.items() if key != "metric"})
    if len(value) != 1 or next(iter(value)) in _RESERVED:
        keys = ", ".join(repr(_short(str(key))) for key in list(value)[:5]) or "nothing in it"
        raise _wrong(f"a mapping with {keys} does not say which metric", "add `metric` with its name")
    ((name, options),) = value.items()
    if options is not None and not isinstance(options, dict):
        raise _wrong(f"{name!r} has {described(options)} instead of options", _OPTIONS)
    return _made(name, options or {})


def _use_of_text(text: str) -> MetricUse:
    text = text.strip()
    name, opening, rest = text.partition("(")
    if not opening or text.startswith(_PROGRAM):
        return _made(text, {})
    if not rest.endswith(")"):
        raise _wrong(f"{_short(text)!r} does not end with its closing bracket", "write name(option=value, …)")
    return _made(name, _options(rest[:-1], name.strip()))


def _options(text: str, metric: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for part in _parts(text) if text.strip() else ():
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or not _OPTION.fullmatch(name):
            raise _wrong(f"{_short(part.strip())!r} in {metric!r} is not an option", "write option=value")
        if name in options:
            raise _twice(metric, name)
        options[name] = _value(value.strip())
    return options


def _made(metric: object, given: dict[Any, Any]) -> MetricUse:
    """Build a use from the metric's name and the other keys; null means not set."""
    metric = _metric_name(metric)
    if "metric" in given:
        raise _wrong(f"{metric!r} has an option 'metric'", "name one metric, and the others in a list")
    negated = given.get("not")
    if negated is not None and not isinstance(negated, bool):
        raise _wrong(f"`not` of {metric!r} is {described(negated)}", "write true or false")
    return MetricUse(
        metric=metric,
        name=_label("name", given, metric),
        judge=_label("judge", given, metric),
        negated=negated,
        options=_all_options(given, metric),
    )


def _metric_name(name: object) -> str:
    if not isinstance(name, str):
        raise _wrong(f"a metric's name is {described(name)}", "write a text")
    if not (name := name.strip()):
        raise _wrong("a metric's name is empty", "write a name such as is_json")
    if not _NAME.fullmatch(name):
        advice = "write a name such as is_json, python:module:function or command:program"
        raise _wrong(f"{_short(name)!r} is not the name of a metric", advice)
    return name


def _label(word: str, given: dict[Any, Any], metric: str) -> str | None:
    value = given.get(word)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _wrong(f"`{word}` of {metric!r} is {described(value)}", "write a text, in quotes if need be")
    if not (value := value.strip()):
        raise _wrong(f"`{word}` of {metric!r} is empty", "write a text, or leave it out")
    if not value.isprintable():
        raise _wrong(f"`{word}` of {metric!r} contains a control character", "write a readable text")
    return value


def _all_options(given: dict[Any, Any], metric: str) -> dict[str, Any]:
    """Merge the keys that do not describe the use itself with those under `options`."""
    nested = given.get("options")
    if nested is not None and not isinstance(nested, dict):
        raise _wrong(f"`options` of {metric!r} is {described(nested)}", _OPTIONS)
    options = {name: value for name, value in given.items() if name not in _RESERVED}
    for name, value in (nested or {}).items():
        if name in options:
            raise _twice(metric, name)
        options[name] = value
    if (odd := next((name for name in options if not isinstance(name, str)), None)) is not None:
        raise _wrong(f"{metric!r} has an option called {odd!r}", "use texts as names of options")
    return options


def _parts(text: str) -> list[str]:
    """Split at commas outside of quotes and brackets."""
    parts, start, at, before = [], 0, 0, ","
    opened: list[str] = []
    while at < len(text):
        mark = text[at]
        if mark == '"' or (mark == "'" and before in _BEFORE_A_VALUE):
            at = _after_quotes(text, at)
            before = mark
            continue
        if mark in "([{":
            opened.append(mark)
        elif mark in _CLOSING and (not opened or opened.pop() != _CLOSING[mark]):
            raise _wrong(f"{_short(text)!r} closes a bracket {mark!r} that is not open", _QUOTE_IT)
        elif mark == "," and not opened:
            parts.append(text[start:at])
            start = at + 1
        before = before if mark.isspace() else mark
        at += 1
    if opened:
        raise _wrong(f"{_short(text)!r} does not close its bracket {opened[-1]!r}", f"close it, or {_QUOTE_IT}")
    parts.append(text[start:])
    return parts


def _after_quotes(text: str, at: int) -> int:
    if not (quoted := _QUOTED[text[at]].match(text, at)):
        raise _wrong(f"{_short(text)!r} does not close its quote {text[at]}", f"close it, or {_QUOTE_IT}")
    return quoted.end()


def _value(text: str) -> Any:
    """Parse a value as YAML or JSON; anything else is text."""
    if text[:1] in _QUOTED:
        return _unquoted(text)
    if text[:1] in ("[", "{"):
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return text
    return plain_scalar(text)


def _unquoted(text: str) -> str:
    text = text.strip()
    if text[:1] not in _QUOTED:
        return text
    if not _QUOTED[text[0]].fullmatch(text):
        raise _wrong(f"{_short(text)!r} continues after its closing quote", _QUOTE_IT)
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise _wrong(f"{_short(text)} is not a JSON text", r"write \\ for \, or use single quotes") from None


def _twice(metric: str, option: object) -> ValueError:
    return _wrong(f"{metric!r} has the option {option!r} twice", "keep one of them")


def _wrong(what: str, advice: str) -> ValueError:
    return ValueError(f"{what}: {advice}")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
