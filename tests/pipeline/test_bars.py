"""Which bars a run has missed, and in which words."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from case_results import run_result
from summaries import flag, metric, plan

from prompt_evaluator.model import CallFailure
from prompt_evaluator.model.result import MetricScore, RunResult, SampleResult
from prompt_evaluator.pipeline.bars import missed_bars
from prompt_evaluator.pipeline.unscored import Unscored

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.bars import MissedBar

RUBRIC_KEY = "rubric house"


@pytest.fixture
def missed(tmp_path: Path) -> Any:
    def make(under: dict[str, float], over: dict[str, float], mean: float, raised: int = 0) -> list[MissedBar]:
        held = msgspec.structs.replace(plan(tmp_path), fail_under=under, fail_over=over)
        return list(missed_bars(held, {"a": metric(mean)}, {"f": flag(raised, 100), "g": flag(0, 0)}, {"g": "because"}))

    return make


@pytest.mark.parametrize(
    ("mean", "reason"),
    [
        (3.5, "a is 3.50, below its bar of 4."),
        (3.9999, "a is 3.9999, below its bar of 4."),
        (4.0, None),
        (4.1, None),
    ],
)
def test_a_mean_is_written_so_that_it_differs_from_its_bar(missed: Any, mean: float, reason: str | None) -> None:
    assert [bar.reason for bar in missed({"a": 4.0}, {}, mean)] == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("raised", "reason"),
    [(5, None), (6, "f is raised in 6.00 % of the samples, above its bar of 5 %."), (0, None)],
)
def test_a_share_that_equals_its_bar_is_not_above(missed: Any, raised: int, reason: str | None) -> None:
    assert [bar.reason for bar in missed({}, {"f": 0.05}, 4.0, raised)] == ([reason] if reason else [])


def test_what_was_not_measured_misses_any_bar_and_says_why(missed: Any) -> None:
    found = missed({"b": 1.0}, {"g": 1.0}, 4.0)

    assert [(bar.name, bar.kind, bar.measured) for bar in found] == [
        ("b", "fail_under", None),
        ("g", "fail_over", None),
    ]
    assert [bar.reason for bar in found] == [
        "b was not measured, so its bar of 1 is missed: no sample was judged.",
        "g was not measured, so its bar of 100 % is missed: because.",
    ]


def _sample(status: str = "completed", *, error: tuple[str | None, str] | None = None, **scores: str) -> SampleResult:
    """With scores that are `skipped` or `failed`, each with a reason that names its sample."""
    values: dict[str, Any] = dict.fromkeys(SampleResult.__struct_fields__)
    values |= {
        "status": status,
        "scores": {
            name: MetricScore(status=cast("Any", how.partition(":")[0]), score=None, passed=None, reason=how)
            for name, how in scores.items()
        },
        "error": CallFailure(kind="Error", message=error[1]) if error else None,
        "error_metric": error[0] if error else None,
    }
    return SampleResult(**values)


def _reasons(*samples: SampleResult) -> dict[str, str]:
    found = Unscored(RUBRIC_KEY)
    for position, sample in enumerate(samples):
        found.add(position, sample)
    return found.reasons(found.metrics, ["clarity"])


def test_a_reason_names_what_happened_to_how_many_samples_with_the_first_message() -> None:
    samples = (
        _sample(m="skipped: no context"),
        _sample("judge_error", error=("m", "m: broken"), m="failed: broken"),
        _sample("judge_error", error=("m", "m: again"), m="failed: again"),
        _sample("generation_error", error=(None, "openai: down.")),
    )

    assert _reasons(*samples)["m"] == (
        "it was skipped for 1 sample (skipped: no context), and it failed for 2 samples (failed: broken), "
        "and there is no answer for 1 sample (openai: down)"
    )


def test_the_rubrics_failure_is_that_of_each_of_its_criteria() -> None:
    broken = _sample("judge_error", error=(RUBRIC_KEY, f"{RUBRIC_KEY}: no\n JSON."))

    assert _reasons(broken, broken) == {"clarity": "judging failed for all 2 samples (no JSON)"}


def test_what_was_not_begun_was_not_judged() -> None:
    assert _reasons(_sample("pending")) == {"clarity": "no sample was judged"}


def test_reasons_are_the_same_in_whichever_order_cases_end() -> None:
    samples = [_sample(m=f"skipped: {number}", n=f"failed: {number}") for number in range(3)]
    found = set()
    for order in permutations(range(3)):
        unscored = Unscored(RUBRIC_KEY)
        for position in order:
            unscored.add(position, samples[position])
        found.add(tuple(unscored.reasons(unscored.metrics, []).items()))

    assert len(found) == 1
    assert "skipped: 0" in str(found)


def test_a_summary_of_an_earlier_version_that_only_names_its_missed_bars_can_be_read() -> None:
    stored = {**msgspec.to_builtins(run_result()), "missed_bars": ["clarity"]}
    del stored["bars_missed"], stored["not_measured"]

    assert msgspec.convert(stored, RunResult) == run_result()
