"""Preference pairs from the answers of a run."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from case_results import case_result, failed_sample, run_result, sample
from entries import each

from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.app.training_export import export_training
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import (
    Criterion,
    DatasetRef,
    Message,
    PromptRef,
    Rubric,
    RunPlan,
    RunRecord,
    Target,
    TestCase,
)
from prompt_evaluator.model.result import CriterionScore, MetricScore

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.result import SampleResult

pytestmark = pytest.mark.usefixtures("here")

RUN = "00000001-0000-4000-8000-000000000000"
DAY = "2026-01-31T09:30:00.000Z"
RUBRIC = Rubric(
    name="house",
    metrics=(Criterion(name="clarity", description="Is it clear?", guidelines="5: yes\n1: no"),),
    flags=(),
    hash="ab" * 32,
)


def answer(number: int, clarity: float | None, length: float | None = None, text: str | None = None) -> SampleResult:
    scored = {"clarity": CriterionScore(clarity, "")} if clarity is not None else {}
    other = {"length": MetricScore(status="scored", score=length, passed=True, reason="")} if length is not None else {}
    said = f"Answer {number}" if text is None else text
    return sample(number=number, judge_metrics=scored, scores=other, generator_output=said, tool_calls=())


def add(*cases: tuple[SampleResult, ...], case: TestCase | None = None, **plan: Any) -> None:
    given: dict[str, Any] = {
        "target": Target(
            model="openai/small", identity="x", prompt=PromptRef(path=None, hash="p", text="Answer politely.")
        ),
        "rubric": RUBRIC,
        "judge": None,
        **plan,
    }
    made = RunPlan(
        run_id=RUN,
        group_id="group",
        dataset=DatasetRef(path=None, hash="d", count=len(cases), selected=len(cases)),
        num_samples=max(map(len, cases)),
        output_dir="/nowhere",
        **given,
    )
    written = [case or TestCase(id=f"case-{at}", input=f"Why {at}?") for at in range(len(cases))]
    with closing(open_store(read_settings())) as store:
        store.create_run(RunRecord(plan=made, status="running", started_at=DAY), written)
        writer = store.writer(RUN)
        for at, samples in enumerate(cases):
            writer.put_case(at, case_result(f"case-{at}", samples=samples), {})
        writer.close()
        summary = run_result(RUN)
        overall = {**summary.overall_metric_stats, "length": summary.overall_metric_stats["clarity"]}
        summary = msgspec.structs.replace(summary, overall_metric_stats=overall)
        store.update_run(RUN, status="completed", summary=summary)


def pairs(metric: str | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export_training(read_settings(), RUN, metric)]


def test_the_best_and_the_worst_answer_make_a_pair_with_the_prompt_as_sent() -> None:
    add((answer(0, 3.0), answer(1, 5.0), answer(2, 1.0)))

    assert pairs("clarity") == [
        {
            "prompt": [{"role": "system", "content": "Answer politely."}, {"role": "user", "content": "Why 0?"}],
            "chosen": "Answer 1",
            "rejected": "Answer 2",
            "case_id": "case-0",
            "metric": "clarity",
            "chosen_score": 5.0,
            "rejected_score": 1.0,
            "run_id": RUN,
            "model": "openai/small",
        }
    ]


def test_without_a_metric_the_mean_of_all_decides_each_scaled_to_its_own_range() -> None:
    add((answer(0, 5.0, 0.0), answer(1, 3.0, 1.0), answer(2, 1.0, 0.5)))

    (pair,) = pairs()

    assert (pair["chosen"], pair["chosen_score"]) == ("Answer 1", 0.75)
    assert (pair["rejected"], pair["rejected_score"], pair["metric"]) == ("Answer 2", 0.25, None)


def test_an_answer_with_an_error_or_without_a_score_is_never_used() -> None:
    add((answer(0, 3.0, 0.5), answer(1, 5.0), answer(2, None, 1.0), failed_sample(number=3), answer(4, 2.0, 0.5)))

    (pair,) = pairs()

    assert (pair["chosen"], pair["rejected"]) == ("Answer 0", "Answer 4")


@each(
    "samples",
    [
        (answer(0, 3.0), answer(1, 3.0)),
        (answer(0, 5.0, text="Same"), answer(1, 1.0, text=" Same\n")),
        (answer(0, 5.0),),
        (answer(0, 5.0), answer(1, 1.0, text="")),
        (failed_sample(number=0), failed_sample(number=1)),
    ],
    ids=["equal scores", "equal answers", "one answer", "an empty answer", "only errors"],
)
def test_no_difference_no_pair(samples: tuple[SampleResult, ...]) -> None:
    add(samples)

    assert pairs() == []


def test_a_conversation_and_a_filled_in_prompt_are_as_they_were_sent() -> None:
    turns = (Message("user", "Hello"), Message("assistant", "Yes?"), Message("user", "Why?"))
    target = Target(
        model="openai/small",
        identity="x",
        prompt=PromptRef(path=None, hash="p", text="You serve {{city}}."),
        render_prompt=True,
    )
    case = TestCase(id="case-0", input="Why?", messages=turns, metadata={"city": "Oslo"})
    add((answer(0, 5.0), answer(1, 1.0)), case=case, target=target)

    (pair,) = pairs()

    assert [(turn["role"], turn["content"]) for turn in pair["prompt"]] == [
        ("system", "You serve Oslo."),
        ("user", "Hello"),
        ("assistant", "Yes?"),
        ("user", "Why?"),
    ]


def test_cases_come_in_order_however_many_there_are() -> None:
    add(*[(answer(0, 5.0), answer(1, 1.0))] * 300)

    assert [pair["case_id"] for pair in pairs()] == [f"case-{at}" for at in range(300)]


def test_an_unknown_run_or_metric_is_refused_before_the_first_line() -> None:
    add((answer(0, 5.0),))

    with pytest.raises(UnknownNameError, match="There is no run 'nothing'"):
        export_training(read_settings(), "nothing")
    with pytest.raises(UnknownNameError, match=r"There is no metric 'clarty'.*'clarity'"):
        export_training(read_settings(), RUN, "clarty")


def test_a_pairwise_comparison_has_no_scores_to_rank_by(here: Path) -> None:
    assert here.is_dir()
    add((answer(0, 5.0),), parent_run_id="other", baseline_run_id="third")

    with pytest.raises(ConfigurationError, match="compares answers in pairs"):
        export_training(read_settings(), RUN)
