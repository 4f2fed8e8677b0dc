"""Comparisons as JSON, written piece by piece: a run may have more cases than fit into memory as text."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.compare import comparison_document
from prompt_evaluator.model import REDACTOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prompt_evaluator.model.comparison import CaseComparison, Comparison

_NOTHING: Mapping[str, object] = MappingProxyType({})
_BATCH = 1_000
"""Cases written at once."""


def comparison_json(
    comparisons: Sequence[Comparison], more: Mapping[str, object] = _NOTHING, *, as_list: bool = False
) -> Iterator[bytes]:
    """One JSON object; of more than one comparison, with their list as a key. Cases are made as they are written.

    Args:
        comparisons: The comparisons.
        more: Further keys and values.
        as_list: Whether also a single comparison is in a list.
    """
    if len(comparisons) == 1 and not as_list:
        yield from _document(comparisons[0], "", more)
        yield b"\n"
        return
    yield b'{\n  "comparisons": '
    yield from comparison_list(comparisons)
    for key, value in more.items():
        yield from (f',\n  "{key}": '.encode(), _value(value, ""))
    yield b"\n}\n"


def comparison_list(comparisons: Sequence[Comparison]) -> Iterator[bytes]:
    """A JSON array, indented as the value of a key of the outermost object. Cases are made as they are written."""
    yield b"["
    for at, comparison in enumerate(comparisons):
        yield b",\n    " if at else b"\n    "
        yield from _document(comparison, "    ")
    yield b"\n  ]" if comparisons else b"]"


def _document(comparison: Comparison, indent: str, more: Mapping[str, object] = _NOTHING) -> Iterator[bytes]:
    start = b"{"
    document = comparison_document(comparison)
    cases = document.pop("cases")
    for key, value in {**document, **more, "cases": cases}.items():
        yield start + f'\n{indent}  "{key}": '.encode()
        if key == "cases":
            yield from _cases(comparison.cases, indent)
        else:
            yield _value(value, indent)
        start = b","
    yield f"\n{indent}}}".encode()


def _value(value: object, indent: str) -> bytes:
    text = msgspec.json.format(REDACTOR.json(msgspec.json.encode(value)), indent=2)
    return text.replace(b"\n", f"\n{indent}  ".encode())


def _cases(cases: Sequence[CaseComparison], indent: str) -> Iterator[bytes]:
    """One case per line."""
    separator = f"\n{indent}    ".encode()
    encode = msgspec.json.Encoder().encode
    yield b"["
    for start in range(0, len(cases), _BATCH):
        batch = [REDACTOR.json(encode(cases[at])) for at in range(start, min(start + _BATCH, len(cases)))]
        text = (b"," + separator).join(batch)
        yield (b"," if start else b"") + separator + text
    yield f"\n{indent}  ]".encode() if cases else b"]"
