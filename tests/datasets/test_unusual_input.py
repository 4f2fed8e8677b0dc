"""Input that looks wrong and is not: it is read as its author meant it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from entries import each

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey

if TYPE_CHECKING:
    from tests.datasets.conftest import Write


def record(**fields: str) -> str:
    """A line of JSON from fields whose values are JSON already."""
    fields = {"id": '"a"', "input": '"x"'} | fields
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}\n"


def item(**fields: str) -> str:
    """An item of YAML from fields whose values are YAML already."""
    fields = {"id": "a", "input": "x"} | fields
    return "- " + "\n  ".join(f"{name}: {value}" for name, value in fields.items()) + "\n"


UNICODE = "a\u2028b\u2029c\x85d"


class Good(NamedTuple):
    content: str | bytes
    field: str
    value: Any


ACCEPTED = {
    "x.jsonl": {
        "a byte order mark": Good("\ufeff" + record(), "id", "a"),
        "crlf": Good(record(input=r'"x\r\n"').replace("\n", "\r\n"), "input", "x\r\n"),
        "old line breaks": Good(record(input=f'"{UNICODE}"'), "input", UNICODE),
        "a surrogate pair": Good(record(input=r'"\ud83d\ude00"'), "input", "\U0001f600"),
        "an escaped quote": Good(record(m=r'"\u0022"'), "m", '"'),
        "an escaped nul in a text": Good(record(m=r'"\u0000"'), "m", "\0"),
        "an integer of 30 digits": Good(
            record(m="123456789012345678901234567890"), "m", 123456789012345678901234567890
        ),
        "minus zero": Good(record(m="-0"), "m", 0),
        "nesting of 200": Good(record(m="[" * 199 + "]" * 199), "id", "a"),
        "many brackets in a text": Good(record(m=f'"{"[" * 5_000}"'), "m", "[" * 5_000),
        "an id of 1,000 characters": Good(record(id=f'"{"é" * 1_000}"'), "id", "é" * 1_000),
    },
    "x.yaml": {
        "a byte order mark": Good("\ufeff" + item(), "id", "a"),
        "crlf": Good("- id: a\r\n  input: |\r\n    one\r\n    two\r\n", "input", "one\ntwo\n"),
        "carriage returns alone": Good("- id: a\r  input: x\r", "input", "x"),
        "old line breaks in a plain text": Good(item(input=UNICODE), "input", UNICODE),
        "old line breaks in quotes": Good(item(input=f'"{UNICODE}"'), "input", UNICODE),
        "old line breaks in a block": Good(item(input=f"|\n    {UNICODE}\n    x"), "input", f"{UNICODE}\nx\n"),
        "old line breaks in a comment": Good(f"# {UNICODE}- not: this\n" + item(), "id", "a"),
        "unquoted no": Good(item(input="no"), "input", "no"),
        "unquoted Yes": Good(item(m="[yes, Off, y]"), "m", ["yes", "Off", "y"]),
        "unquoted 0123": Good(item(id="0123"), "id", "0123"),
        "an unquoted date": Good(item(id="2024-01-31"), "id", "2024-01-31"),
        "an unquoted time": Good(item(m="12:30:45"), "m", "12:30:45"),
        "an unquoted version": Good(item(id="1.2.3"), "id", "1.2.3"),
        "an underscore in a number": Good(item(m="1_000"), "m", "1_000"),
        "a signed word": Good(item(m="[-, -x, +y, .z, ...]"), "m", ["-", "-x", "+y", ".z", "..."]),
        "numbers of yaml 1.2": Good(
            item(m="[1, -2, +3, 0o17, 0xfF, 1.5, -.5, 2., 1e3, 6.0E-2]"),
            "m",
            [1, -2, 3, 15, 255, 1.5, -0.5, 2.0, 1000.0, 0.06],
        ),
        "an integer of 30 digits": Good(item(m="123456789012345678901234567890"), "m", 123456789012345678901234567890),
        "words of yaml 1.2": Good(
            item(m="[null, ~, Null, true, FALSE, nUll]"), "m", [None, None, None, True, False, "nUll"]
        ),
        "quoted words": Good(item(m="""["null", 'true', "1", '']"""), "m", ["null", "true", "1", ""]),
        "tags of plain values": Good(
            item(m="[!!str 1, !!int '2', !!float 3, !!bool 'true', !!null '']"),
            "m",
            ["1", 2, 3.0, True, None],
        ),
        "keys that look like values": Good(
            item(m="{1: a, ~: b, true: c, 1.5: d, 2001-01-01: e, '': f}"),
            "m",
            {"1": "a", "~": "b", "true": "c", "1.5": "d", "2001-01-01": "e", "": "f"},
        ),
        "keys with question marks": Good("- ? id\n  : a\n  ? input\n  : x\n  ? m\n", "m", None),
        "an anchor used twice": Good("- id: &a a\n  input: *a\n  m: &a [*a]\n  n: *a\n", "n", ["a"]),
        "a merge key": Good(item(m="{<<: {a: 1, b: 2}, b: 3}"), "m", {"a": 1, "b": 3}),
        "a quoted merge key": Good(item(m="{'<<': {a: 1}}"), "m", {"<<": {"a": 1}}),
        "a merge key in a case": Good("- <<: {id: a, k: 1}\n  input: x\n", "k", 1),
        "a directive": Good("%YAML 1.2\n---\n" + item(), "id", "a"),
        "a tag directive": Good("%TAG ! tag:yaml.org,2002:\n---\n" + item(m="!int '7'"), "m", 7),
        "the end of the document": Good(item() + "...\n", "id", "a"),
        "a tab before a comment": Good(item(input="x\t# note"), "input", "x"),
        "a tab inside a text": Good(item(input="a\tb"), "input", "a\tb"),
        "json in yaml": Good('[{"id": "a", "input": "\\u00e9", "m": [1, null]}]', "m", [1, None]),
        "an escaped slash": Good(item(input=r'"\/"'), "input", "/"),
        "an escaped control character": Good(item(input=r'"\x07\e\0"'), "input", "\x07\x1b\0"),
        "a byte order mark inside": Good(item(input="x\ufeffy"), "input", "x\ufeffy"),
        "nesting of 200": Good(item(m="[" * 198 + "]" * 198), "id", "a"),
        "a case that is an alias": Good(
            "- id: b\n  input: y\n  m: {a: {b: &c {id: a, input: x}}}\n- *c\n", "input", "x"
        ),
    },
}


@each(
    ("name", "good"),
    [
        pytest.param(name, good, id=f"{name}: {what}")
        for name, table in ACCEPTED.items()
        for what, good in table.items()
    ],
)
def test_unusual_input_is_accepted(write: Write, name: str, good: Good) -> None:
    path = write(name, good.content)

    cases, _ = load_dataset(path)

    case = cases[-1]
    value = case.metadata[good.field] if good.field in case.metadata else getattr(case, good.field, None)
    assert value == good.value
    assert type(value) is type(good.value)
    assert list(open_dataset(path).cases) == cases
    assert survey(path).problems == []


@pytest.mark.parametrize("depth", [199, 200])
def test_a_case_of_the_deepest_nesting_can_stand_beside_others(write: Write, depth: int) -> None:
    lines = [record(id=f'"{n}"', m="[" * (depth - 1) + "]" * (depth - 1)) for n in range(5)]

    cases, _ = load_dataset(write("x.jsonl", "".join(lines)))

    assert len(cases) == 5
