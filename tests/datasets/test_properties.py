"""For all cases and all bytes: what was written is read back, and nothing but a `InputError` is ever raised."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from placeless import placeless

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import InputError
from prompt_evaluator.model import MetricUse, TestCase

# Whatever a file can carry: no surrogates, and of the control characters those that YAML can write.
characters = st.characters(exclude_categories=["Cs"])
texts = st.text(characters) | st.sampled_from(
    ["no", "0123", "1e5", "0o17", "0x1F", "2024-01-31", "~", "null", ".5", "1_0", "<<", "=",
     "- a", "a: b", "# c", "\x85"]
)  # fmt: skip
printable = st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])
ids = st.text(printable, min_size=1, max_size=20).filter(lambda text: bool(text.strip())) | st.sampled_from(
    ["1e5", "0o17", "no", "null", "1", "<<", "é", "-"]
)
finite = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | finite | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=8
)
fields = ("id", "input", "description", "task", "expected_constraints", "reference")
shaped = ("metadata", "checks", "references", "messages")
names = texts.filter(lambda name: name not in (*fields, *shaped))
non_empty = texts.filter(bool).filter(str.strip)
phrases = st.lists(texts.filter(lambda text: bool(text.strip())), max_size=3)
calls = st.lists(
    st.fixed_dictionaries({"name": non_empty}, optional={"args": st.dictionaries(texts, scalars, max_size=3)}),
    max_size=3,
)


def unique(case: st.SearchStrategy[TestCase]) -> st.SearchStrategy[list[TestCase]]:
    return st.lists(case, min_size=1, max_size=6, unique_by=lambda case: case.id)


guide_cases = st.builds(
    TestCase,
    id=ids,
    input=non_empty,
    description=st.none() | texts,
    task=st.none() | texts,
    expected_constraints=st.none() | texts,
    reference=st.none() | texts,
    metadata=st.dictionaries(names, values, max_size=4),
)


class Dumper(yaml.SafeDumper):
    """Quotes what the two versions of YAML disagree on: PyYAML writes 1.1, and the guide's files are read as 1.2."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        old_breaks = not {"\x85", "\u2028", "\u2029"}.isdisjoint(text)
        return self.represent_scalar("tag:yaml.org,2002:str", text, style='"' if old_breaks else None)


Dumper.add_representer(str, Dumper.represent_text)
Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:\.?[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"0o[0-7]+$"), ["0"])


def as_yaml(value: object, *, allow_unicode: bool = True) -> str:
    return str(yaml.dump(value, Dumper=Dumper, allow_unicode=allow_unicode, sort_keys=False))


def as_guide(case: TestCase) -> dict[str, Any]:
    known = {name: getattr(case, name) for name in fields}
    return {name: value for name, value in known.items() if value is not None} | case.metadata


def read_back(name: str, content: str | bytes) -> list[TestCase]:
    """The cases of a file, which every way of reading must agree on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        cases = list(open_dataset(path).cases)
        assert survey(path).problems == []
        if path.suffix != ".json":
            assert load_dataset(path)[0] == cases
        return placeless(cases)


def exactly(cases: list[TestCase]) -> str:
    """Unlike equality, this tells 1 from 1.0 and from True."""
    return repr(cases)


@pytest.mark.parametrize("ensure_ascii", [True, False], ids=["escaped", "raw"])
@given(cases=unique(guide_cases), end=st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_cases_written_as_jsonl_read_back_equal(cases: list[TestCase], end: str, *, ensure_ascii: bool) -> None:
    text = end.join(json.dumps(as_guide(case), ensure_ascii=ensure_ascii) for case in cases)

    assert exactly(read_back("d.jsonl", text)) == exactly(cases)


@pytest.mark.parametrize("allow_unicode", [True, False], ids=["raw", "escaped"])
@given(cases=unique(guide_cases))
def test_cases_written_as_yaml_read_back_equal(cases: list[TestCase], *, allow_unicode: bool) -> None:
    text = as_yaml([as_guide(case) for case in cases], allow_unicode=allow_unicode)

    assert exactly(read_back("d.yaml", text)) == exactly(cases)


@given(cases=unique(guide_cases), indent=st.sampled_from([None, 0, 2]))
def test_cases_written_as_json_read_back_equal(cases: list[TestCase], indent: int | None) -> None:
    text = json.dumps([as_guide(case) for case in cases], indent=indent, ensure_ascii=indent is None)

    assert exactly(read_back("d.json", text)) == exactly(cases)


@st.composite
def benchmark_cases(draw: st.DrawFn) -> TestCase:
    expected, ordered = draw(calls), draw(calls)
    checks = []
    if expected:
        checks.append(MetricUse(metric="tool_correctness", options={"expected_tools": expected}))
    if ordered:
        options = {"expected_tools": ordered, "mode": "ordered"}
        name = "tool_sequence" if expected else None
        checks.append(MetricUse(metric="tool_correctness", name=name, options=options))
    return TestCase(
        id=draw(ids),
        input=draw(non_empty),
        reference=draw(non_empty),
        description=draw(st.none() | texts),
        metadata={
            "name": draw(non_empty),
            "difficulty": draw(st.sampled_from(["easy", "medium", "hard"])),
            "context": draw(phrases),
        },
        checks=tuple(checks),
    )


def as_benchmark(case: TestCase, *, json_args: bool) -> dict[str, Any]:
    def written(call: dict[str, Any]) -> dict[str, Any]:
        return call | {"args": json.dumps(call["args"])} if json_args and "args" in call else call

    tools = {
        "expected_tool_sequence" if "mode" in check.options else "expected_tools": [
            written(call) for call in check.options["expected_tools"]
        ]
        for check in case.checks
    }
    known = {"id": case.id, "input": case.input, "expected_output": case.reference, "description": case.description}
    return known | case.metadata | tools


@given(cases=unique(benchmark_cases()), json_args=st.booleans(), allow_unicode=st.booleans())
def test_cases_written_as_a_benchmark_read_back_equal(
    cases: list[TestCase], *, json_args: bool, allow_unicode: bool
) -> None:
    tasks = [as_benchmark(case, json_args=json_args) for case in cases]

    assert read_back("b.yaml", as_yaml({"name": "b", "tasks": tasks}, allow_unicode=allow_unicode)) == cases


@st.composite
def harness_cases(draw: st.DrawFn) -> TestCase:
    requests = {"includes": draw(phrases), "excludes": draw(phrases)}
    return TestCase(
        id=draw(ids),
        input=draw(non_empty),
        metadata={"category": draw(texts)},
        checks=tuple(
            MetricUse(metric=metric, options={"phrases": wanted}) for metric, wanted in requests.items() if wanted
        ),
    )


def as_harness(case: TestCase) -> dict[str, Any]:
    spelling = {"includes": "mustInclude", "excludes": "hallucinationTriggers"}
    wanted = {spelling[check.metric]: check.options["phrases"] for check in case.checks}
    return {"id": case.id, "prompt": case.input} | case.metadata | wanted


@given(cases=unique(harness_cases()))
def test_cases_written_as_a_harness_list_read_back_equal(cases: list[TestCase]) -> None:
    assert read_back("h.json", json.dumps([as_harness(case) for case in cases])) == cases


# No bytes make the loader raise anything but its own error.

SEEDS = {
    ".jsonl": b'{"id": "a", "input": "x \\u00e9 \\"q\\"", "m": {"k": [1, 2.5, null, true]}}\n'
    b'\n{"id": "b", "input": "y"}\n',
    ".yaml": b"%YAML 1.2\n---\n- &a\n  id: a  # c\n  input: |\n    x\n  m: &m {k: [1, 2.5, ~, 'q', \"\\u00e9\"]}\n"
    b"- <<: *a\n  id: !!str 1\n  n: *m\n  ? o\n  : >-\n   p\n",
    ".yml": b"name: b\ntasks:\n- id: a\n  name: n\n  input: x\n  expected_output: y\n  difficulty: hard\n"
    b"  context: [c]\n  tools: [{name: t}]\n  expected_tools: [{name: t, args: '{\"a\": 1}'}]\n"
    b"  expected_tool_sequence: [t]\n",
    ".json": b'[{"id": "a", "category": "c",\n"prompt": "x", "mustInclude": ["i"], "hallucinationTriggers": ["h"]},'
    b'\n{"prompt": "y"}]',
}
TOKENS = [
    *(bytes([byte]) for byte in b"\0\t\n\r !\"#%&'*,-.0123456789:<>?@[\\]`a{|}~\x7f\x80\xc3\xff"),
    b"\xef\xbb\xbf", b"\xff\xfe", b"\xc2\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\r\n", b"\\ud800", b"\\u0022",
    b"<<: ", b"*a", b"*m", b"&a ", b"!!int ", b"!!python/name:os ", b"! ", b"---\n", b"...", b"- ", b"? ", b"null",
    b"NaN", b"1e999", b"0x" + b"f" * 5_000, b"9" * 5_000, b"[" * 300, b"[]", b"{}", b'"id": ', b'"input": ', b"id: ",
    b"tasks: ",
]  # fmt: skip
hostile = st.binary(max_size=200) | st.lists(st.sampled_from(TOKENS), max_size=40).map(b"".join)


@st.composite
def damaged(draw: st.DrawFn, seed: bytes) -> bytes:
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(seed)))
        end = draw(st.sampled_from([start, start, min(len(seed), start + 1), draw(st.integers(start, len(seed)))]))
        seed = seed[:start] + draw(st.sampled_from(TOKENS) | st.binary(max_size=3)) + seed[end:]
    return seed


def outcome(path: Path, content: bytes) -> str:
    """What reading gives, after making sure that all ways of reading agree on it."""
    path.write_bytes(content)
    try:
        cases = list(open_dataset(path).cases)
    except InputError as error:
        said = str(error)
        problems = [str(problem) for problem in survey(path).problems]
        assert said.partition(" This is the first of ")[0] in problems
        assert ("This is the first of" in said) == (len(problems) > 1)
    else:
        said = exactly(placeless(cases))
        json.dumps([case.metadata for case in cases], allow_nan=False).encode()
        assert survey(path).problems == []
    if path.suffix != ".json":
        try:
            loaded = exactly(placeless(load_dataset(path)[0]))
        except InputError as error:
            loaded = str(error)
        assert loaded in (said, "[]")  # an empty file is no error there
    return said


@pytest.mark.parametrize("extension", SEEDS)
@given(content=hostile)
def test_no_bytes_raise_anything_but_a_dataset_error(content: bytes, extension: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        outcome(Path(folder) / f"d{extension}", content)


@pytest.mark.parametrize("extension", SEEDS)
@given(data=st.data())
def test_no_damage_to_a_good_file_raises_anything_but_a_dataset_error(data: st.DataObject, extension: str) -> None:
    content = data.draw(damaged(SEEDS[extension]))

    with tempfile.TemporaryDirectory() as folder:
        outcome(Path(folder) / f"d{extension}", content)


# A field that is not ours to read is the author's own, whatever is in it.

role = st.sampled_from(["user", "assistant", "tool", "system", "bot", 3])
turns = st.lists(
    st.fixed_dictionaries({}, optional={"role": role, "content": values, "tool_calls": values, "tool_call_id": values})
)
uses = st.lists(
    st.text(characters, max_size=8)
    | st.dictionaries(st.sampled_from(["metric", "name", "judge", "not", "options", "a"]), values, max_size=4)
)


@given(
    shaped=st.fixed_dictionaries(
        {}, optional={"checks": uses | values, "messages": turns | values, "references": phrases | values}
    ),
    name=st.sampled_from(["d.jsonl", "d.yaml"]),
)
def test_nothing_in_checks_messages_or_references_keeps_a_case_from_loading(shaped: dict[str, Any], name: str) -> None:
    record = {"id": "a", "input": "x", **shaped}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(json.dumps(record) if name == "d.jsonl" else as_yaml([record]), encoding="utf-8")

        ((case,), _) = load_dataset(path)
        found = survey(path)

    assert (case.id, case.input, case.messages) == ("a", "x", ())
    assert {problem.field for problem in found.problems} <= set(shaped) & {"checks", "messages", "references"}
    for field, value in shaped.items():
        assert field not in case.metadata or case.metadata[field] == value


json_values = st.sampled_from(
    ["1", "-0", "-0.0", "1.0", "1E5", "1e-400", "1e999", "01", "1.", ".5", "+1", "NaN", "null", "tru", "9" * 30,
     "9" * 5_000, '"\\u0022"',
     '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\\x"', '"\t"', '"\x7f"', '"\\u0000"', '"\\/"',
     '{"a":1,"a":2}', '{"a":{"b":1,"b":2}}', '[{"a":"\\u0022","a":"\\u0022\\u0022"}]', '{"":1}', "[1,]", "{,}", "[]]",
     "[" * 198 + "]" * 198, "[" * 199 + "]" * 199, "[" * 200 + "]" * 200, "[" * 201 + "]" * 201, '"' + "[" * 300 + '"'],
)  # fmt: skip


@given(
    value=json_values | values.map(json.dumps) | st.text(characters, max_size=8), name=st.sampled_from(["m", "id", "q"])
)
def test_a_line_means_the_same_alone_and_beside_an_unusual_one(value: str, name: str) -> None:
    line = f'{{"id": "a", "input": "x", "{name}": {value}}}\n'.replace("\r", "").replace("\n", "") + "\n"
    plain = '{"id": "z", "input": "z"}\n'

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.jsonl"
        alone = outcome(path, line.encode())
        beside_a_plain_line = outcome(path, (line + plain).encode())
        by_the_exact_path = outcome(path, (line + "\n").encode())  # a blank line, which the fast path will not take

    assert alone == by_the_exact_path
    assert beside_a_plain_line.startswith(alone.removesuffix("]"))
