"""Input that is damaged, hostile or merely unusual: a sentence with the place, or the cases; never anything else."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, NamedTuple

import pytest
from entries import each

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.datasets.conftest import Write

OK_LINE = '{"id": "ok", "input": "fine"}\n'
OK_ITEM = "- id: ok\n  input: fine\n"
ALIAS_BOMB = "- id: a\n  input: x\n  b0: &b0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"  b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 10)}]\n" for n in range(1, 30)
)
MERGE_BOMB = (
    ALIAS_BOMB.replace("[x, x, x, x, x, x, x, x, x, x]", "{k: v}").replace("[*", "{<<: [*").replace("]\n", "]}\n")
)
LONG_TEXT_BOMB = f"- id: a\n  input: x\n  m: [&t {'x' * 100_000}{', *t' * 2_000}]\n"


class Bad(NamedTuple):
    """Content, the line to blame, and words of the sentence."""

    content: str | bytes
    line: int | None
    says: str
    field: str | None = None


def record(**fields: str) -> str:
    """A line of JSON from fields whose values are JSON already."""
    fields = {"id": '"a"', "input": '"x"'} | fields
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}\n"


def item(**fields: str) -> str:
    """An item of YAML from fields whose values are YAML already."""
    fields = {"id": "a", "input": "x"} | fields
    return "- " + "\n  ".join(f"{name}: {value}" for name, value in fields.items()) + "\n"


def task(**fields: str) -> str:
    """A benchmark of one task."""
    fields = {"id": "a", "name": "n", "input": "x", "expected_output": "y"} | fields
    return "tasks:\n  - " + "\n    ".join(f"{name}: {value}" for name, value in fields.items()) + "\n"


BAD_JSONL = {
    "utf-16 with a mark": Bad(OK_LINE.encode("utf-16"), 1, "UTF-16"),
    "utf-16 without a mark": Bad(OK_LINE.encode("utf-16-le"), 1, "UTF-16"),
    "utf-32": Bad(OK_LINE.encode("utf-32"), 1, "UTF-32"),
    "a bad byte": Bad(OK_LINE.encode() + b'{"id": "a\xff", "input": "x"}\n', 2, "byte 0xff at offset 9"),
    "a cut character": Bad(b'{"id": "a", "input": "x\xe2\x82"}\n', 1, "byte 0xe2 at offset 23"),
    "an encoded surrogate": Bad(b'{"id": "a", "input": "\xed\xa0\x80"}\n', 1, "byte 0xed"),
    "nul": Bad(OK_LINE.encode() + b'{"id": "a", "input": "\0"}\n', 2, "NUL"),
    "nul between values": Bad(OK_LINE.encode() + b"\0\0\0\n", 2, "NUL"),
    "a truncated last line": Bad(OK_LINE * 1 + '{"id": "b", "inp', 2, "ends in the middle"),
    "two objects on a line": Bad(OK_LINE + record().strip() * 2, 2, "more than one value"),
    "an array": Bad("[" + record().strip() + "]\n", 1, "Line 1 is an array, not an object"),
    "an array over lines": Bad("[\n" + record() + "]\n", 1, "ends in the middle"),
    "an object over lines": Bad('{\n"id": "a"\n}\n', 1, "ends in the middle"),
    "a string": Bad('"x"\n', 1, "Line 1 is a string, not an object"),
    "a trailing comma in an object": Bad('{"id": "a", "input": "x",}\n', 1, "trailing comma"),
    "a comma after the line": Bad(record().strip() + ",\n" + OK_LINE, 1, "comma"),
    "a comment": Bad("# cases\n" + OK_LINE, 1, "Invalid JSON"),
    "carriage returns alone": Bad(record().strip() + "\r" + OK_LINE.strip() + "\r", 1, "more than one value"),
    "a raw tab in a text": Bad(record(input='"a\tb"'), 1, "raw control character"),
    "a lone high surrogate": Bad(record(input=r'"\ud800"'), 1, "lone surrogate U+D800"),
    "a lone surrogate in a key": Bad(OK_LINE + '{"id": "a", "input": "x", "\\udc00": 1}', 2, "lone surrogate"),
    "a lone surrogate deep inside": Bad(record(m=r'[{"a": [["\ud800"]]}]'), 1, "lone surrogate"),
    "nan": Bad(record(score="NaN"), 1, "NaN is not a JSON value"),
    "a float out of range": Bad(record(score="1e999"), 1, "1e999 is too large"),
    "an integer of 5,000 digits": Bad(OK_LINE + record(n="7" * 5_000), 2, "an integer of 5,000 digits"),
    "a leading zero": Bad(record(n="[01]"), 1, "Invalid JSON"),
    "nesting of 100,000 lists": Bad(OK_LINE + record(m="[" * 100_000 + "]" * 100_000), 2, "200 levels deep"),
    "nesting that is never closed": Bad("[" * 100_000, 1, "200 levels deep"),
    "nesting one too deep": Bad(record(m="[" * 200 + "]" * 200), 1, "200 levels deep"),
    "nesting near the recursion limit": Bad(record(m="[" * 950 + "]" * 950), 1, "200 levels deep"),
    "duplicate keys": Bad('{"id": "a", "input": "x", "id": "b"}\n', 1, "the key 'id' appears twice"),
    "duplicate keys far inside": Bad(
        record(m='[[[[{"k": {"a": 1, "b": 2, "a": 3}}]]]]'), 1, "the key 'a' appears twice"
    ),
    "duplicate keys spelled differently": Bad(record(m=r'{"k": 1, "\u006b": 2}'), 1, "the key 'k' appears twice"),
    "duplicate keys hidden by escaped quotes": Bad(record(q=r'"\u0022\u0022"', m='{"k":1,"k":2}'), 1, "appears twice"),
    "an id that is missing": Bad('{"input": "x"}\n', 1, "Record at line 1 is missing required field: id", "id"),
    "an id that is null": Bad(record(id="null"), 1, "missing required field: id", "id"),
    "an id that is empty": Bad(record(id='""'), 1, "id field validation failed: it is empty", "id"),
    "an id that is blank": Bad(record(id=r'" \t\u00a0"'), 1, "id field validation failed: it is blank", "id"),
    "an id that is a number": Bad(record(id="7"), 1, "it is the number 7, not a text", "id"),
    "an id of 5,000 characters": Bad(OK_LINE + record(id=f'"{"x" * 5_000}"'), 2, "it has 5,000 characters", "id"),
    "an id with a newline": Bad(record(id=r'"a\nb"'), 1, "control character U+000A", "id"),
    "an id with a line separator": Bad(record(id=r'"a\u2028b"'), 1, "control character U+2028", "id"),
    "an input that is missing": Bad('{"id": "a"}\n', 1, "missing required field: input", "input"),
    "an input that is a number": Bad(record(input="1.5"), 1, "it is the number 1.5, not a text", "input"),
    "a huge number as a text": Bad(record(task="9" * 4_000), 1, "task field validation failed", "task"),
}

BAD_YAML = {
    "utf-16": Bad(OK_ITEM.encode("utf-16"), 1, "UTF-16"),
    "a bad byte": Bad(OK_ITEM.encode() + b"- id: \xff\n  input: x\n", 3, "byte 0xff at offset 6"),
    "nul": Bad(OK_ITEM.encode() + b"- id: b\n  input: \0\n", 4, "NUL"),
    "a control character": Bad(item(input='"a\x07b"'), 2, "control character U+0007"),
    "a control character after old line breaks": Bad(
        "# " + "\x85" * 50 + "\n" + item(task="\x07") + "\n\n\n", 4, "U+0007"
    ),
    "a tab for indentation": Bad("- id: a\n\tinput: x\n", 2, "tab"),
    "a tab before a value": Bad("-\tid: a\n\tinput: x\n", 1, "tab"),
    "a reserved character": Bad(item(input="`code`"), 2, "quote @ and `"),
    "a quote that is not closed": Bad(item(input='"x'), None, "not closed"),
    "a bracket that is not closed": Bad(item(tags="[a, b"), None, "Invalid YAML"),
    "a python object": Bad(item(input="!!python/object/apply:os.system ['id']"), 2, "!!python/object/apply:os.system"),
    "a python tag on a key": Bad("- id: a\n  input: x\n  !!python/name:os.system k: 1\n", 3, "the tag !!python/name"),
    "a tag of one's own": Bad(item(m="!secret x"), 3, "the tag !secret"),
    "a timestamp tag": Bad(item(m="!!timestamp 2001-01-01"), 3, "the tag !!timestamp"),
    "an ordered map": Bad("!!omap [id: b]\n", 1, "the tag !!omap"),
    "a tag that lies": Bad(item(n="!!int many"), 3, "'many' is not a valid int"),
    "a list tagged as a text": Bad(item(input="!!str [a]"), 2, "the tag !!str"),
    "an undeclared tag handle": Bad(item(m="!e!x y"), 3, "Invalid YAML"),
    "an alias bomb": Bad(ALIAS_BOMB, 8, "aliases expand to more than 1,000,000 values"),
    "an alias bomb of one long text": Bad(LONG_TEXT_BOMB, 3, "aliases expand"),
    "a merge bomb": Bad(MERGE_BOMB, 9, "aliases expand"),
    "self-reference in a list": Bad(item(m="&m [*m]"), 3, "*m refers to itself"),
    "self-reference in a mapping": Bad("- &a\n  id: a\n  input: x\n  m: *a\n", 4, "*a refers to itself"),
    "self-reference by merging": Bad("- &a\n  id: a\n  input: x\n  <<: *a\n", 4, "*a refers to itself"),
    "an undefined alias": Bad(item(input="*nothing"), 2, "*nothing refers to itself or to nothing"),
    "two documents": Bad(OK_ITEM + "---\n" + item(), 3, "a second document"),
    "another yaml": Bad("%YAML 2.0\n---\n" + OK_ITEM, 1, "Invalid YAML"),
    "duplicate keys": Bad("- id: a\n  input: x\n  id: b\n", 3, "the key 'id' appears twice"),
    "duplicate keys, quoted": Bad("- id: a\n  input: x\n  1: b\n  '1': c\n", 4, "the key '1' appears twice"),
    "duplicate nested keys": Bad(item(m="{a: {k: 1, k: 2}}"), 3, "the key 'k' appears twice"),
    "a mapping as a key": Bad("- ? {a: b}\n  : c\n", 1, "a key that is not a text"),
    "a list as a key": Bad("- [a]: c\n", 1, "a key that is not a text"),
    "merging a text": Bad("- <<: x\n  id: a\n  input: x\n", 1, "`<<` merges something"),
    "nan": Bad(item(m=".nan"), 3, ".nan is not a finite number"),
    "a float out of range": Bad(item(m="1e999"), 3, "1e999 is not a finite number"),
    "an integer of 5,000 digits": Bad(item(m="7" * 5_000), 3, "an integer of 5,000 digits"),
    "an octal one as an id": Bad(item(id="0o" + "7" * 5_000), 1, "an integer of"),
    "a lone surrogate": Bad(item(input=r'"\ud800"'), 2, "surrogate"),
    "an escape that is no character": Bad(item(input=r'"\U7fffffff"'), 2, "escape"),
    "nesting of 100,000 lists": Bad("[" * 100_000, 1, "200 levels deep"),
    "nesting of 100,000 mappings": Bad(item(m="{a: " * 100_000 + "}" * 100_000), 3, "200 levels deep"),
    "nesting of 100,000 question marks": Bad("? " * 100_000, 1, "a key that is not a text"),
    "an id that is empty": Bad(item(id='""'), 1, "Invalid test case at index 0: id field validation failed", "id"),
    "an id that is a number": Bad(item(id="42"), 1, "it is the number 42, not a text", "id"),
    "an id with a next line": Bad(item(id='"a\x85b"'), 1, "control character U+0085", "id"),
    "an input that is a number": Bad(OK_ITEM + item(input="42"), 4, "index 1: input field validation failed", "input"),
    "an unquoted brace": Bad(item(input="{name}"), 2, "it is a mapping, not a text", "input"),
    "an item that is a text": Bad(OK_ITEM + "- just a text\n", 3, "index 1: it is the text 'just a text'"),
    "difficulty: brutal": Bad(
        task(difficulty="brutal"), 6, "'brutal', which is not one of easy, medium, hard", "difficulty"
    ),
    "a string for context": Bad(task(context="one passage"), 6, "it is the text 'one passage', not a list", "context"),
    "an empty passage": Bad(task(context='[a, ""]'), 6, "item 1 is an empty text", "context"),
}

BAD_JSON = {
    "utf-16": Bad("[]".encode("utf-16"), 1, "UTF-16"),
    "a bad byte": Bad(b'[\n{"prompt": "\xff"}]', 2, "byte 0xff at offset 12"),
    "nul": Bad(b'[\n{"prompt": "\0"}]', 2, "NUL"),
    "truncated": Bad('[\n{"prompt": "x"},\n{"prompt": "y', 3, "ends in the middle"),
    "a trailing comma": Bad('[\n{"prompt": "x"},\n]', 3, "trailing comma"),
    "two values": Bad('[{"prompt": "x"}]\n[]', 2, "more than one value"),
    "a lone surrogate": Bad('[\n{"prompt": "x"},\n{"prompt":\n"\\ud800"}\n\n]\n', 4, "lone surrogate"),
    "nesting of 100,000": Bad(
        '[\n{"prompt": "x",\n"m": ' + "[" * 100_000 + "]" * 100_000 + "}\n]\n", 3, "200 levels deep"
    ),
    "nesting one too deep": Bad('[{"prompt": "x", "m":\n' + "[" * 199 + "]" * 199 + "}]\n\n", 2, "200 levels deep"),
    "duplicate keys": Bad('[\n{"prompt": "x",\n"prompt": "y"}]', 3, "the key 'prompt' appears twice"),
    "a phrase that is no text": Bad(
        '[{"prompt": "x", "mustInclude": ["a", 7]}]', 1, "item 1 is the number 7", "mustInclude"
    ),
    "a string for phrases": Bad(
        '[{"prompt": "x", "hallucinationTriggers": "a"}]', 1, "not a list", "hallucinationTriggers"
    ),
    "an empty prompt": Bad(
        '[{"prompt": "x"},\n{"prompt": ""}]', 2, "index 1: prompt field validation failed", "prompt"
    ),
    "no prompt": Bad(
        '[{"prompt": "x"},\n{"id": "a"}]', 2, "Record at index 1 is missing required field: prompt", "prompt"
    ),
    "a number as an id": Bad('[{"id": 1, "prompt": "x"}]', 1, "it is the number 1, not a text", "id"),
    "a text": Bad('"x"', None, "not a list of cases"),
}

TABLE = [
    pytest.param(name, bad, id=f"{name}: {what}")
    for name, table in (("x.jsonl", BAD_JSONL), ("x.yaml", BAD_YAML), ("x.json", BAD_JSON))
    for what, bad in table.items()
]


@each(("name", "bad"), TABLE)
def test_bad_input_is_a_sentence_with_its_place(write: Write, name: str, bad: Bad) -> None:
    read: Callable[[Path], object] = open_dataset if name == "x.json" else load_dataset
    path = write(name, bad.content)

    with pytest.raises(InputError) as caught:
        read(path)

    sentence = str(caught.value)
    assert bad.says in sentence
    assert str(path) in sentence
    assert caught.value.advice
    assert sentence.endswith((".", ")"))
    assert len(sentence) < 1_000
    assert bad.line in (None, caught.value.line)
    line = caught.value.line
    assert line is None or sentence.startswith(f"{path}:{line}: ") or f"line {line}" in sentence.lower()
    assert caught.value.field == bad.field
    with pytest.raises(InputError) as opened:
        open_dataset(path)
    found = survey(path)
    assert not found.ok
    assert str(opened.value) == str(found.problems[0].first_of(found.problem_count))


def test_a_line_of_200_mb_is_refused_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with path.open("wb") as file:
        file.write(OK_LINE.encode() + b'{"id": "a", "input": "')
        file.truncate(200_000_000)  # the rest is a hole full of zeros: quick to write, and as long to read

    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="Line 2 is longer than 16 MiB") as caught:
            load_dataset(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert caught.value.line == 2
    assert peak < 80_000_000


def test_lines_after_one_that_is_too_long_are_still_read(write: Write) -> None:
    too_long = b'{"id": "long", "input": "' + b"x" * 17_000_000 + b'"}\n'

    found = survey(write("x.jsonl", too_long + OK_LINE.encode() + b"{\n"))

    assert [problem.line for problem in found.problems] == [1, 3]
    assert found.count == 1


def test_a_line_of_15_mb_is_a_case(write: Write) -> None:
    cases, _ = load_dataset(write("x.jsonl", record(input=f'"{"x" * 15_000_000}"') + OK_LINE))

    assert [len(case.input) for case in cases] == [15_000_000, 4]


def test_the_lines_of_a_long_json_file_are_counted_once(write: Write) -> None:
    tasks = ",\n".join(f'{{\n"id": "{n}",\n"prompt": "x"}}' for n in range(20_000))

    found = survey(write("x.json", f'[{tasks},\n{{"prompt": ""}}]'))  # takes minutes when each is counted from the top

    assert found.count == 20_000
    assert [problem.line for problem in found.problems] == [60_001]
