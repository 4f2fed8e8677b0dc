"""A subset of JSONPath (RFC 9535): `$.a.b[0]`, `$['a b']`, negative indexes and `[*]`, but no filters or slices."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

Step = str | int | None
"""A name, an index, or None for all."""

_STEP = re.compile(
    r"""\.(?P<name>[^\s.\[\]'"*?@$()]+) | \.\* | \[\s*(?:
        (?P<index>-?\d{1,9}) | \* | '(?P<single>(?:[^'\\]|\\.)*)' | "(?P<double>(?:[^"\\]|\\.)*)"
    )\s*\]""",
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\(.)")


@lru_cache(maxsize=1_024)
def parse_path(path: str) -> tuple[Step, ...]:
    """Split a path into steps.

    Raises:
        ValueError: The path is invalid; says from where.
    """
    text = path.strip()
    if text[:1] not in ("$", "[", "."):
        text = f".{text}"
    at = 1 if text.startswith("$") else 0
    steps: list[Step] = []
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise ValueError(f"The path {path!r} is invalid from {text[at:]!r} on; use $.name, ['name'], [0], [*]")
        steps.append(_step(found))
        at = found.end()
    return tuple(steps)


def select(steps: tuple[Step, ...], root: Any) -> list[Any]:
    """The values at the path: none, one, or, with `*`, any number."""
    values = [root]
    for step in steps:
        values = [inner for value in values for inner in _inner(value, step)]
    return values


def _step(found: re.Match[str]) -> Step:
    if found["index"] is not None:
        return int(found["index"])
    for group in ("name", "single", "double"):
        if found[group] is not None:
            return found[group] if group == "name" else _ESCAPED.sub(r"\1", found[group])
    return None


def _inner(value: Any, step: Step) -> list[Any]:
    if step is None:
        return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if isinstance(step, str):
        return [value[step]] if isinstance(value, dict) and step in value else []
    return [value[step]] if isinstance(value, list) and -len(value) <= step < len(value) else []
