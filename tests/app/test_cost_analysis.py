"""Where the money of a run went."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from case_results import case_result, plan_of, run_result, sample

from prompt_evaluator.app.cost_analysis import cost_analysis
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model import JudgeConfig, RunRecord, TestCase
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.result import SampleResult

RUN = "00000001-0000-4000-8000-000000000000"
DAY = "2026-01-31T09:30:00.000Z"
JUDGE = JudgeConfig(model="openai/judge", identity="https://example.test")
FREE: dict[str, Any] = {"cost": None, "judge_cost": None}


def add(settings: Settings, *cases: tuple[SampleResult, ...], judge: JudgeConfig | None = JUDGE, **totals: Any) -> None:
    count = len(cases)
    plan = plan_of(RUN, count, judge=judge)
    with closing(Store.open(settings.store)) as store:
        written = (TestCase(id=f"case-{at}", input="Why?") for at in range(count))
        store.create_run(RunRecord(plan=plan, status="running", started_at=DAY), written)
        writer = store.writer(RUN)
        for at, samples in enumerate(cases):
            writer.put_case(at, case_result(f"case-{at}", samples=samples), {"clarity": "openai/judge"})
        writer.close()
        store.update_run(RUN, status="completed", ended_at=DAY, summary=run_result(RUN, **totals))


@pytest.fixture
def settings(here: Path) -> Settings:
    assert here.is_dir()
    return read_settings()


def test_costs_and_tokens_are_split_into_answers_and_judgements(settings: Settings) -> None:
    add(settings, (sample(), sample(number=1)), (sample("case-1", cost=1.25),))

    found = cost_analysis(settings, "@last")

    assert (found.cost, found.generator.cost) == (3.25, 1.75)
    assert found.judge is not None
    assert (found.judge.cost, found.judge.input_tokens, found.judge.output_tokens) == (1.5, 60, 18)
    assert (found.generator.input_tokens, found.generator.output_tokens) == (30, 15)
    assert found.samples == 3
    assert [(each.case_id, each.cost) for each in found.most_expensive] == [("case-1", 1.75), ("case-0", 1.5)]
    assert found.most_expensive[0].share == pytest.approx(1.75 / 3.25)
    assert (found.cases.mean, found.cases.cases) == (1.625, 2)


def test_an_unknown_price_is_counted_and_never_zero(settings: Settings) -> None:
    add(settings, (sample(**FREE), sample(number=1, **FREE)), cost=None, unpriced_calls=4)

    found = cost_analysis(settings, RUN)

    assert (found.paid, found.cost, found.unpriced_calls) == (None, None, 4)
    assert (found.generator.cost, found.generator.unpriced_samples) == (None, 2)
    assert found.judge is not None
    assert (found.judge.cost, found.judge.unpriced_samples) == (None, 2)
    assert (found.cases.mean, found.cases.cases, found.cases.unpriced_cases) == (None, 0, 1)
    assert found.most_expensive == ()


def test_what_is_reused_is_not_paid_and_without_a_judge_there_is_no_judge_part(settings: Settings) -> None:
    add(settings, (sample(reused=True), sample(number=1)), judge=None, cost=0.75)

    found = cost_analysis(settings, RUN)

    assert (found.paid, found.cost, found.judge) == (0.75, 1.5, None)


def test_an_unknown_run_is_refused(settings: Settings) -> None:
    with pytest.raises(UnknownNameError, match="There is no run 'nothing'"):
        cost_analysis(settings, "nothing")
