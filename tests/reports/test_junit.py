"""Runs as CI services read them."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from case_results import WHEN
from entries import each
from hostile import HOSTILE
from junit_files import read_junit
from summaries import outcome, plan

from prompt_evaluator.model.bars import MissedBar
from prompt_evaluator.model.query import CaseFlag, CaseLine, CaseMetric, RunLine
from prompt_evaluator.model.worst_sample import WorstSample
from prompt_evaluator.reports.junit import Problem, Suite, TestResult, write_junit
from prompt_evaluator.reports.junit_run import MOST_TEXT, bar_results, case_result, run_suite
from prompt_evaluator.reports.safe_text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.result import RunResult

GOLDEN = Path(__file__).with_name("golden")
FOLDER = Path("/project")
SUITE = Suite(name="faq: gpt-4o", started_at=WHEN, properties={"run_id": "1"})


def written(suite: Suite, results: Iterable[TestResult]) -> bytes:
    file = io.BytesIO()
    write_junit(file, suite, results)
    return file.getvalue()


def saved(folder: Path, results: Iterable[TestResult]) -> Path:
    path = folder / "report.xml"
    path.write_bytes(written(SUITE, results))
    return path


def check_golden(name: str, document: bytes) -> None:
    """Compare with the file in `golden`, or write it if UPDATE_SNAPSHOTS is set."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_bytes(document)
    read_junit(path)

    assert document.decode() == path.read_text(encoding="utf-8")


def the_plan(**changes: Any) -> RunPlan:
    return plan(FOLDER, fail_under={"accuracy": 4.0}, fail_over={"invented_facts": 0.05}, **changes)


def the_summary() -> RunResult:
    from summaries import flag, metric  # noqa: PLC0415 - only here

    missed = MissedBar(
        name="accuracy", kind="fail_under", bar=4.0, measured=3.8, reason="accuracy is 3.80, below its bar of 4."
    )
    found = outcome(the_plan(), {"accuracy": metric(3.8), "clarity": metric(4.4)}, {"invented_facts": flag(2, 100)})
    assert found.result is not None
    return msgspec.structs.replace(found.result, missed_bars=(missed,))


def the_line(summary: RunResult | None) -> RunLine:
    made = the_plan()
    values: dict[str, Any] = dict.fromkeys(RunLine.__struct_fields__)
    return RunLine(
        **{
            **values,
            "run_id": made.run_id,
            "group_id": made.group_id,
            "kind": "evaluation",
            "status": "completed",
            "started_at": WHEN,
            "dataset_name": "data",
            "dataset_path": "/project/data.yaml",
            "dataset_hash": "ab" * 32,
            "generator_model": made.target.model,
            "judge_model": "anthropic/claude-sonnet-4-0",
            "tags": {},
            "errors": {},
            "num_samples": 5,
            "cost": 0.25,
            "summary": summary,
        }
    )


def measured(mean: float, passes: int, count: int = 5, missing: int = 0) -> CaseMetric:
    return CaseMetric(
        mean=mean,
        std=0.5,
        min=1.0,
        max=5.0,
        count=count,
        passes=passes,
        missing=missing,
        variability=None,
        repeat_std=None,
    )


def line_of(case_id: str, at: int = 0, **given: Any) -> CaseLine:
    values: dict[str, Any] = {
        "position": at,
        "case_id": case_id,
        "content_hash": None,
        "file": "data.yaml",
        "line": 3 + at,
        "input": "Why?",
        "metadata": {},
        "status": "completed",
        "latency_ms": 1234.5,
        "metrics": {"accuracy": measured(4.6, 5), "clarity": measured(4.4, 4)},
        "flags": {"invented_facts": CaseFlag(raised=0, asked=5)},
    }
    return CaseLine(**{**values, **given})


def a_run() -> tuple[Suite, list[TestResult]]:
    made, summary = the_plan(), the_summary()
    line = the_line(summary)
    bad = {"accuracy": measured(2.4, 1), "clarity": measured(4.4, 4)}
    worst = WorstSample(
        2, "It is <b>42</b>.\n\x1b[31mReally.", {"accuracy": 1.0}, {"accuracy": "It is not & never was."}
    )
    cases = [
        (line_of("good"), None),
        (line_of("bad", 1, metrics=bad, failing=True), worst),
        (
            line_of(
                "broken",
                2,
                status="failed",
                metrics={},
                flags={},
                latency_ms=None,
                error_kinds=("TimedOutError",),
                error_message="openai/gpt-4o: no reply within 60 s.",
            ),
            None,
        ),
        (line_of("waiting", 3, status="pending", metrics={}, flags={}, latency_ms=None), None),
        (line_of("free", 4, metrics={}, flags={}, file=None, line=None), None),
    ]
    results = [*bar_results(made, summary), *(case_result(made, line, case, worst) for case, worst in cases)]
    return run_suite(line), results


def test_a_run_reads_as_before() -> None:
    check_golden("run.junit.xml", written(*a_run()))


@each("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_whatever_the_texts_are_the_structure_is_the_same(tmp_path: Path, text: str) -> None:
    named = text or "x"
    problem = Problem(kind="failure", message=named, type="missed_check", text=text)
    hostile = TestResult(classname=named, name=named, file=named, line=1, properties={named: text}, problem=problem)

    (before, found, after) = read_junit(saved(tmp_path, [_passed("before"), hostile, _passed("after")]))

    assert (before.name, after.name, found.problem) == ("before", "after", "failure")
    assert found.classname == found.name == found.message == found.place[0]
    assert found.text.rstrip() == plain(text).replace("\ufffe", "�").replace("\uffff", "�").rstrip() or "\ufdd0" in text


def _passed(name: str) -> TestResult:
    return TestResult(classname="a", name=name)


def test_counts_and_seconds_are_added_up(tmp_path: Path) -> None:
    kinds: list[Any] = ["failure", "error", "skipped", "skipped"]
    results = [
        TestResult(classname="a", name=str(at), seconds=0.5, problem=Problem(kind=kind, message="why"))
        for at, kind in enumerate(kinds)
    ]

    document = saved(tmp_path, results).read_text(encoding="utf-8")

    assert 'tests="4" failures="1" errors="1" skipped="2" time="2.000" timestamp="2026-01-31T12:00:00"' in document


def test_a_run_without_cases_is_an_empty_suite(tmp_path: Path) -> None:
    assert read_junit(saved(tmp_path, [])) == []


def test_test_cases_are_written_as_they_come() -> None:
    seen: list[int] = []

    def results() -> Any:
        for at in range(3):
            seen.append(at)
            yield TestResult(classname="a", name=str(at))

    written(SUITE, results())

    assert seen == [0, 1, 2]


def test_long_answers_are_cut() -> None:
    bad = line_of("bad", metrics={"accuracy": measured(1.0, 0)}, failing=True)
    worst = WorstSample(0, "x" * 10 * MOST_TEXT, {"accuracy": 1.0}, {"accuracy": "y" * 10 * MOST_TEXT})

    found = case_result(the_plan(), the_line(None), bad, worst)

    assert found.problem is not None
    assert len(found.problem.text) < 2 * MOST_TEXT + 500
    assert "x…" in found.problem.text


def test_a_case_that_fails_and_has_errors_is_a_failure_that_names_both() -> None:
    case = line_of(
        "bad",
        status="partial",
        metrics={"accuracy": measured(1.0, 0, count=3, missing=2)},
        error_kinds=("TimedOutError",),
        error_message="no reply",
    )

    found = case_result(the_plan(), the_line(None), case, None).problem

    assert found is not None
    assert found.kind == "failure"
    assert "Also: no reply" in found.text


def test_a_missing_score_is_an_error_not_a_failure() -> None:
    case = line_of("odd", metrics={"accuracy": measured(4.5, 3, count=3, missing=2)})

    found = case_result(the_plan(), the_line(None), case, None).problem

    assert found is not None
    assert (found.kind, found.message) == ("error", "No score in some samples: accuracy in 2.")


def test_a_bar_of_a_run_without_results_is_missed() -> None:
    found = list(bar_results(the_plan(), None))

    assert [each.name for each in found] == ["--fail-under accuracy=4", "--fail-over invented_facts=0.05"]
    assert all(each.problem and each.problem.kind == "failure" for each in found)


def test_a_pass_mark_of_a_metric_outside_the_rubric_is_named_if_it_was_given() -> None:
    from prompt_evaluator.model import MetricUse  # noqa: PLC0415 - only here

    uses = (MetricUse(metric="similarity", options={"threshold": 0.8}), MetricUse(metric="other"))
    case = line_of("bad", metrics={"similarity": measured(0.4, 0), "other": measured(0.1, 1, count=4)})

    found = case_result(the_plan(metrics=uses), the_line(None), case, None).problem

    assert found is not None
    assert found.message == (
        "similarity: 0 of 5 samples pass (mean 0.400, pass mark 0.8); other: 1 of 4 samples passes (mean 0.100)"
    )
