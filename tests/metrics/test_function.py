from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import metric_functions
import pytest
from entries import each
from scoring import metric, score

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Failed, Score, Scored, Skipped

if TYPE_CHECKING:
    from pathlib import Path

HERE = "python:metric_functions:"


@each("function", ["sync", "slow_but_async"])
@each(
    ("returns", "expected"),
    [
        ("true", Scored(1.0)),
        ("false", Scored(0.0)),
        ("half", Scored(0.5)),
        ("one", Scored(1.0)),
        ("pair", Scored(0.25, "because")),
        ("verdict", Scored(1.0, "fine")),
        ("mapping", Scored(0.75, "why", {"a": 1, "extra": [2]})),
        ("scored", Scored(0.5, "own")),
        ("skipped", Skipped("not today")),
    ],
)
async def test_what_a_function_returns_is_a_score(function: str, returns: str, expected: Score) -> None:
    assert await score(f"{HERE}{function}", returns) == expected


@each("returns", ["none", "nan", "infinite", "two", "negative", "text", "list", "empty", "odd"])
async def test_anything_that_is_not_a_score_is_a_failure(returns: str) -> None:
    found = await score(f"{HERE}sync", returns)

    assert isinstance(found, Failed)
    assert found.kind == "InvalidScore"


@pytest.mark.parametrize(
    ("function", "kind", "reason"),
    [
        ("raises", "KeyError", "KeyError: 'no such thing'"),
        ("raises_async", "TimeoutError", "TimeoutError: of its own"),
        ("leaves", "SystemExit", "SystemExit: 4"),
    ],
)
async def test_a_function_that_raises_is_a_failure(function: str, kind: str, reason: str) -> None:
    assert await score(f"{HERE}{function}", "x") == Failed(reason, kind)


@each("function", ["hangs", "hangs_async"])
async def test_a_function_that_hangs_is_left_behind(function: str) -> None:
    found = await score(f"{HERE}{function}", "x", timeout=0.05)
    metric_functions.MAY_END.set()

    assert isinstance(found, Failed)
    assert found.kind == "TimedOut"


async def test_being_cancelled_is_not_a_failure_of_the_function() -> None:
    task = asyncio.create_task(score(f"{HERE}hangs_async", "x"))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_function_may_ask_for_the_whole_answer() -> None:
    assert await score(f"{HERE}with_answer", "x") == Scored(1.0)


@each(
    ("name", "part"),
    [
        ("python:metric_functions", "Write it as `python:module:function`"),
        ("python:", "Write it as"),
        ("python:no_such_module_at_all:f", "module `no_such_module_at_all` not found"),
        (f"{HERE}synk", "Did you mean `sync`?"),
        (f"{HERE}NOT_CALLABLE", "is of type"),
        (f"{HERE}takes_one", "cannot be called with an output and a case"),
    ],
)
def test_a_function_that_cannot_be_used_is_refused_at_once(name: str, part: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        metric(name)

    assert part in str(caught.value)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'timeout'"):
        metric(f"{HERE}sync", timeouts=3)


def test_the_code_of_a_functions_module_is_part_of_its_definition() -> None:
    first: dict[str, Any] = metric(f"{HERE}sync").definition()
    second = metric(f"{HERE}raises").definition()

    assert first["metric"] == f"{HERE}sync"
    assert len(first["source"]) == 16
    assert first["source"] == second["source"]  # of one module: its helpers decide the score as well


async def test_the_working_folder_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_metric_xyz.py").write_text("def shout(output, case):\n    return output.isupper()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert await score("python:my_own_metric_xyz:shout", "HEY") == Scored(1.0)
