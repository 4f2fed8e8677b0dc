"""The JSON schema for datasets and the readers agree on the fields that have a shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
from entries import each

from prompt_evaluator.datasets import survey

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/reference/dataset-schema.json").read_text(encoding="utf-8"))
TURN = {"role": "user", "content": "x"}
GOOD: list[dict[str, Any]] = [
    {"input": "x"},
    {"input": "x", "checks": "is_json"},
    {"input": "x", "checks": ["is_json", {"metric": "length", "max_words": 3}, {"regex": {"not": True}}]},
    {"input": "x", "checks": {"metric": "is_json", "name": "n", "judge": "a/b", "not": False, "options": {}}},
    {"input": "x", "checks": {"is_json": None}},
    {"input": "x", "checks": 7},
    {"input": "x", "references": ["a"]},
    {"input": "x", "references": "see below"},
    {"input": "x", "messages": "see below"},
    {"messages": [TURN]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]},
    {"messages": [TURN, {"role": "assistant", "tool_calls": [{"name": "f"}]}, {"role": "tool", "content": "1"}]},
    {"messages": [TURN, {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}, TURN]},
]
BAD: list[dict[str, Any]] = [
    {},
    {"input": ""},
    {"input": "x", "checks": [3]},
    {"input": "x", "checks": {"a": None, "b": None}},
    {"input": "x", "checks": {"regex": "^a"}},
    {"input": "x", "checks": [{"metric": "a", "not": "yes"}]},
    {"input": "x", "checks": [{"metric": "a", "name": " "}]},
    {"input": "x", "references": [""]},
    {"input": "x", "messages": [TURN]},
    {"messages": []},
    {"messages": [{"role": "bot", "content": "x"}]},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
]


@each("name", ["d.json", "b.json"])
@each(("fields", "good"), [*((fields, True) for fields in GOOD), *((fields, False) for fields in BAD)], ids=str)
def test_the_schema_takes_what_the_readers_take(
    tmp_path: Path, name: str, fields: dict[str, Any], *, good: bool
) -> None:
    task = {"id": "a", "name": "n", "expected_output": "y"}
    content = [{"id": "a", **fields}] if name == "d.json" else {"tasks": [{**task, **fields}]}
    path = tmp_path / name
    path.write_text(json.dumps(content))

    assert jsonschema_rs.is_valid(SCHEMA, content) is good
    assert survey(path).ok is good
