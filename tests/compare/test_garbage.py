"""Files in which anything may be wrong."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from comparisons import compared_by
from hypothesis import given
from hypothesis import strategies as st
from workspace import Workspace

from prompt_evaluator.app.compare import comparison_document
from prompt_evaluator.cli.comparison_view import comparison_lines
from prompt_evaluator.compare.artifact import read_artifact
from prompt_evaluator.compare.comparing import compare
from prompt_evaluator.errors import PromptEvaluatorError
from prompt_evaluator.model.comparison import CompareOptions
from prompt_evaluator.reports.comparison import comparison_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.comparison import Comparison

Keys = tuple[str | int, ...]
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 5, 3.7, 0.1, 1e-300, 1e12, -1e12, 1e308, 2**63, 2**64, 10**400, -(10**400)),
    *(
        "",
        "x",
        "\u202ereversed",
        "\x1b[2J",
        "x" * 5_000,
        [],
        [1],
        [None],
        [[]],
        {},
        {"a": 1},
        {"score": 3},
        {"mean": 1},
    ),
]


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The file of a run with a rubric, a metric outside it, metadata and a prompt."""
    project = Workspace(tmp_path_factory.mktemp("garbage"))
    project.cases([{"id": f"case-{at}", "input": f"Question {at}?", "topic": "ab"[at % 2]} for at in range(6)])
    return project.evaluate("-n", "3", "--metrics", "length(max_characters=200)", "--tag", "a=b").artifact


def places(value: Any, keys: Keys = ()) -> Iterator[Keys]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield (*keys, key)
        yield from places(each, (*keys, key))


def spoiled(whole: Any, random: Random) -> Any:
    """A copy in which one to five values are replaced or gone; half of them are not in the cases."""
    made = copy.deepcopy(whole)
    for _ in range(random.choice([1, 1, 2, 5])):
        found = list(places(made))
        head = [keys for keys in found if keys[0] != "test_case_results"]
        *way, last = random.choice(head if head and random.random() < 0.5 else found)
        part = made
        for key in way:
            part = part[key]
        if random.random() < 0.15:
            del part[last]
        else:
            part[last] = random.choice(ODD)
    return made


def compared(first: Any, second: Any) -> Comparison | str:
    """The comparison, or the sentence with which it is refused."""
    files = (("a", first), ("b", second))
    try:
        sides = [read_artifact(Path(name), json.dumps(each).encode()) for name, each in files]
        return compare(sides[0], sides[1], CompareOptions(allow_different=True))
    except PromptEvaluatorError as error:
        return str(error)


@given(st.integers(0, 1_000_000))
def test_a_spoiled_file_is_compared_or_refused_with_a_sentence(artifact: Any, seed: int) -> None:
    random = Random(seed)
    pair = [spoiled(artifact, random), artifact]
    random.shuffle(pair)

    found = compared(*pair)

    if isinstance(found, str):
        assert found.endswith(".")
        return
    text = json.dumps(comparison_document(found), default=_plain)
    lines = comparison_lines(comparison_findings(found, compared_by()), 80)
    assert "NaN" not in text
    assert "Infinity" not in text
    assert not any("\x1b[2J" in line or "\u202e" in line for line in lines)


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(list(value) if hasattr(value, "__getitem__") else value)
