"""Runs are listed on one line each, at any terminal width and with names of any length."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from case_results import run_result
from entries import each

from prompt_evaluator.cli.run_table import age, run_table
from prompt_evaluator.cli.text import cells, plain
from prompt_evaluator.model import RunProgress
from prompt_evaluator.model.query import RunLine

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
STARTED = (NOW - timedelta(minutes=3)).isoformat()
LONG = "a-very-long-name-" * 5 + "end"


def line(**given: Any) -> RunLine:
    values: dict[str, Any] = dict.fromkeys(RunLine.__struct_fields__)
    values |= {
        "run_id": "0123456789abcdef",
        "group_id": "g",
        "kind": "evaluation",
        "status": "completed",
        "started_at": STARTED,
        "dataset_name": "support",
        "generator_model": "openai/gpt-4o",
        "synthetic": False,
        "tags": {},
        "cost": 0.42,
        "errors": {},
        "summary": run_result(),
    }
    return RunLine(**{**values, **given})


def metrics(*names: str) -> Any:
    result = run_result()
    (stats,) = result.overall_metric_stats.values()
    return msgspec.structs.replace(result, overall_metric_stats=dict.fromkeys(names, stats))


def drawn(*lines: RunLine, width: int = 80) -> list[str]:
    return [plain(text) for text in run_table(lines, width, NOW)]


def progress(done: int, samples: int) -> RunProgress:
    numbers = dict.fromkeys(("cases", "cases_done", "unscored", "input_tokens", "output_tokens", "unpriced"), 0)
    return RunProgress(
        samples=samples, samples_done=done, errors={}, cost=None, rate=None, sequence=1, updated_at=STARTED, **numbers
    )


def test_a_run_is_one_line_below_a_header() -> None:
    header, run = drawn(line(prompt_version="v2"), width=160)

    assert header.split() == ["Run", "Status", "Dataset", "Target", "Prompt", "Mean", "(95", "%)", "Cost", "Age"]
    assert run == "01234567  completed  support  openai/gpt-4o  v2      clarity 4.00 (3.00–5.00)  $0.42  3 min"  # noqa: RUF001


@each("width", [40, 60, 80, 100, 160])
@each("name", ["short", LONG, "数据集" * 20, "e\u0301" * 60, "bad\x1b[31m\n"], ids=ascii)
def test_no_line_is_wider_than_the_terminal(width: int, name: str) -> None:
    lines = [
        line(dataset_name=name, generator_model=name, prompt_version=name, note=name, summary=metrics(name, "b", "c")),
        line(status="interrupted", synthetic=True, summary=None, cost=None, dataset_name=None),
    ]

    found = drawn(*lines, width=width)

    assert max(map(cells, found)) <= width
    assert not any(character in text for text in found for character in "\x1b\n")


def test_a_long_name_loses_its_middle() -> None:
    run = drawn(line(dataset_name=LONG))[1]

    assert "a-ve…-end" in run
    assert "clarity 4.00 (3.00–5.00)" in run  # noqa: RUF001


def test_as_many_metrics_are_shown_as_fit() -> None:
    runs = [line(summary=metrics("one", "two", "three", "four"))]

    assert [drawn(*runs, width=width)[1].count("4.00") for width in (60, 80, 120, 160)] == [0, 1, 2, 4]


def test_columns_stand_below_each_other_also_where_runs_have_other_metrics() -> None:
    found = drawn(line(summary=metrics("a", "b")), line(summary=metrics("long_name")), line(summary=None), width=160)

    assert {text.index("$0.42") for text in found[1:]} == {found[0].index("Cost") - 1}


def test_a_running_run_shows_how_far_it_is() -> None:
    assert "running 43 %" in drawn(line(status="running", progress=progress(439, 1000)))[1]
    assert "running  " in drawn(line(status="running"))[1]


def test_synthetic_runs_are_marked_and_the_mark_is_explained() -> None:
    found = drawn(line(synthetic=True), line(), width=100)

    assert "openai/gpt-4o*" in found[1]
    assert "openai/gpt-4o " in found[2]
    assert found[3] == "* synthetic: the offline mock answered or judged"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7_199, "1 h"), (172_800, "2 d"), (86_400 * 1_500, "1,500 d")],
)
def test_an_age_is_a_number_and_a_unit(seconds: float, text: str) -> None:
    assert age(seconds) == text
