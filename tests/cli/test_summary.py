"""What a person reads at the end of a run, and before one: kept as text files, to be looked at when they change."""

from __future__ import annotations

import io
import sys
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from snapshots import WIDTHS, check
from summaries import flag, metric, of, outcome, plan, totals, worst

from prompt_evaluator.app.estimate import Workload
from prompt_evaluator.app.findings import findings
from prompt_evaluator.cli.estimate import estimate_text
from prompt_evaluator.cli.summary import print_summary, summary_text
from prompt_evaluator.cli.text import cells, plain
from prompt_evaluator.model import Limits, MetricUse, Price, TestCase
from prompt_evaluator.model.result import FailureCount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from prompt_evaluator.app.estimate import Estimate
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.outcome import Outcome


def good(folder: Path) -> Outcome:
    return outcome(
        plan(folder),
        {"accuracy": metric(4.62, 0.21), "clarity": metric(4.4, 0.32)},
        {"invented_facts": flag(0, 250, (0.0, 0.015)), "omitted_constraints": flag(4, 250, (0.004, 0.036))},
        worst=(worst("explain-python-beginner", "clarity", 3.6, 0.5), worst("edge-case-42", "accuracy", 3.8, 0.2)),
        flakiest=(worst("explain-python-beginner", "clarity", 3.6, 0.5),),
    )


def mixed(folder: Path) -> Outcome:
    """Everything at once: errors, a bar that is missed, one that is close, a judge that is unsure of itself."""
    metrics = {
        "accuracy": metric(4.31, 0.4, fail_under=4.2, near=True, bounds=(4.02, 4.44), min_of_means=1.2, num_cases=48),
        "clarity": metric(3.9, 1.2, high_variability_cases=7, repeat_std=0.7, bounds=(3.6, 4.1), num_cases=48),
        "conciseness": metric(3.1, 0.7, fail_under=4.0, below=True, bounds=(2.9, 3.3), num_cases=48),
    }
    flags = {
        "invented_facts": flag(28, 235, (0.07, 0.17)),
        "omitted_constraints": flag(80, 235, (0.27, 0.41)),
        "wrong_language": flag(150, 235, (0.56, 0.71)),
    }
    found = totals(
        235,
        cases={"completed": 41, "partial": 7, "failed": 2},
        samples={"completed": 235, "generation_error": 9, "judge_error": 4, "judge_invalid_response": 2},
        errors={"RequestRefusedError": 9, "RateLimitedError": 4, "InvalidJudgement": 2},
        error_share=0.06,
        unpriced_calls=12,
        reused_units=40,
    )
    return outcome(
        plan(folder, fail_under={"accuracy": 4.2, "conciseness": 4.0}),
        metrics,
        flags,
        status="partial",
        totals=found,
        worst=(
            worst("refund-policy-long-answer", "accuracy", 1.2, 0.4),
            worst("refund-policy-long-answer", "conciseness", 1.4, 0.4),
            worst("greeting", "conciseness", 1.5, 0.2),
            worst("weather", "clarity", 1.9, 1.4),
            worst("news", "clarity", 2.0, 1.4),
        ),
        flakiest=(worst("weather", "clarity", 1.9, 1.44), worst("news", "clarity", 2.0, 1.4)),
    )


def steady_spread(folder: Path) -> Outcome:
    return outcome(
        plan(folder, num_samples=20),
        {"accuracy": metric(4.5, 0.2), "clarity": metric(3.5, 1.3, high_variability_cases=19)},
        flakiest=(worst("weather", "clarity", 3.1, 1.6),),
    )


def all_errors(folder: Path) -> Outcome:
    found = totals(
        0,
        cases={"failed": 50},
        samples={"generation_error": 250},
        errors={"AuthenticationError": 250},
        error_share=1.0,
        input_tokens=0,
        output_tokens=0,
        cost=None,
    )
    return outcome(plan(folder), {}, {"invented_facts": flag(0, 0)}, status="failed", totals=found)


def one_case(folder: Path) -> Outcome:
    found = totals(
        1, cases={"completed": 1}, cost=None, unpriced_calls=2, input_tokens=311, cached_tokens=78, output_tokens=92
    )
    only = metric(0.0, None, scale=(0.0, 5.0), interval=None, num_cases=1, min_of_means=0.0, max_of_means=0.0)
    return outcome(
        of(plan(folder), 1, num_samples=1),
        {"accuracy": only},
        {"invented_facts": flag(1, 1)},
        totals=found,
        worst=(worst("the-only-one", "accuracy", 0.0),),
    )


def aborted(folder: Path) -> Outcome:
    found = totals(
        83, cases={"completed": 16, "pending": 34}, samples={"completed": 83, "pending": 167}, reused_units=12
    )
    return outcome(
        plan(folder, synthetic=True),
        {"accuracy": metric(4.1, 0.45, num_cases=16)},
        status="aborted",
        stop_reason="interrupted by SIGINT",
        totals=found,
    )


def metrics_only(folder: Path) -> Outcome:
    """No rubric and no judge: scores from 0 to 1 with a threshold."""
    unit = (0.0, 1.0)
    return outcome(
        plan(folder, rubric=None, judge=None, metrics=({"metric": "includes"},)),
        {
            "includes": metric(0.873, 0.12, scale=unit, pass_rate=0.82, flaky_cases=6, high_variability_cases=2),
            "valid_json": metric(
                1.0, 0.0, scale=unit, pass_rate=1.0, skipped=40, reduced={"pass_at_3": 1.0}, num_cases=42
            ),
            "tool_sequence": metric(0.0, 0.0, scale=unit, pass_rate=0.0),
        },
        worst=(worst("tools-01", "tool_sequence", 0.0, 0.0), worst("tools-02", "includes", 0.2, 0.4)),
    )


def unusual(folder: Path) -> Outcome:
    """Names that are long, wide, or out to move the cursor, and numbers that are huge."""
    long = "customer-support/escalations/2026/a-case-id-that-somebody-generated-from-the-whole-first-sentence-0001"
    millions = totals(
        5_000_000,
        cases={"completed": 1_000_000},
        input_tokens=12_345_678_901,
        output_tokens=2_345_678_901,
        cost=1_234_567.891,
    )
    return outcome(
        of(plan(folder), 1_000_000),
        {
            "semantic_fidelity_of_the_translation_into_plain_language": metric(4.2, 0.2, num_cases=1_000_000),
            "質量評価": metric(
                61_234.5, 20_000, scale=(0.0, 100_000.0), num_cases=1_000_000, high_variability_cases=9_876
            ),
        },
        {"\x1b[2Jclear": flag(1_234_567, 5_000_000, (0.2465, 0.2473))},
        totals=millions,
        worst=(
            worst(long, "質量評価", 3.0, 1.0),
            worst("日本語の長い識別子" * 6, "質量評価", 12.0),
            worst("🤖\x1b[31m", "質量評価", 99.0),
        ),
    )


SUMMARIES: list[Callable[[Path], Outcome]] = [
    good, mixed, steady_spread, all_errors, one_case, aborted, metrics_only, unusual,
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@each("make", SUMMARIES, ids=lambda make: make.__name__)
def test_summaries_read_as_they_did(make: Callable[[Path], Outcome], folder: Path) -> None:
    text = plain(summary_text(findings(make(folder)), 80))

    check(make.__name__, text)
    assert all(character.isprintable() or character == "\n" for character in text), "something moves the cursor"


@each(("make", "width"), product(SUMMARIES, WIDTHS))
def test_only_paths_and_commands_are_wider_than_the_terminal(
    make: Callable[[Path], Outcome], width: int, folder: Path
) -> None:
    lines = plain(summary_text(findings(make(folder)), width)).partition("\nResults ")[0].splitlines()

    assert not [line for line in lines if cells(line) >= width]


def test_reasons_that_are_not_listed_are_counted(folder: Path) -> None:
    failures = tuple(FailureCount(metric=None, kind="X", message=f"reason {at}", count=9 - at) for at in range(5))
    ended = totals(
        10, samples={"completed": 10, "generation_error": 40}, failures=failures, reasons=17, errors={"X": 40}
    )

    text = plain(summary_text(findings(outcome(plan(folder), {}, totals=ended)), 80))

    assert "9 × reason 0\n" in text
    assert "7 × reason 2\n            and 14 more reasons\n" in text


def test_a_stream_that_knows_ascii_only_gets_ascii(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))

    print_summary(mixed(folder))

    assert b"! accuracy" in written.getvalue()


def test_colours_are_for_terminals_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_summary(mixed(folder))

    assert "\x1b" not in capsys.readouterr().out


def cases(number: int) -> list[TestCase]:
    passage = {"context": ["z"]}
    return [TestCase(id=f"case-{at}", input="x" * 400, reference="y" * 80, metadata=passage) for at in range(number)]


PRICES = {
    "openai/gpt-4o": Price(input=2.5, output=10.0),
    "anthropic/claude-sonnet-4-0": Price(input=3.0, output=15.0),
}


def estimate(
    asked: RunPlan, given: Iterable[TestCase], prices: dict[str, Price], limits: dict[str, Limits]
) -> Estimate:
    workload = Workload(asked)
    for case in given:
        workload.add(case)
    return workload.estimate(asked, prices, limits)


def test_estimates_read_as_they_did(folder: Path) -> None:
    asked = plan(folder)
    limits = {"openai/gpt-4o": Limits(requests_per_minute=60)}

    check("estimate", estimate_text(estimate(asked, cases(50), PRICES, limits), 80))
    check("estimate_unpriced", estimate_text(estimate(asked, cases(50), {}, {}), 80))


@each(
    "changes",
    [
        {},
        {"rubric": None, "metrics": (MetricUse(metric="faithfulness"),)},
        {"metrics": (MetricUse(metric="correctness"), MetricUse(metric="exact_match"))},
        {"rubric": None, "judge": None, "metrics": (MetricUse(metric="exact_match"),)},
    ],
    ids=["rubric", "three questions", "prepared", "no judge"],
)
def test_the_calls_of_a_small_start_are_those_that_its_own_estimate_has(folder: Path, changes: dict[str, Any]) -> None:
    whole = estimate(plan(folder, **changes), cases(50), PRICES, {})
    small = estimate(of(plan(folder, num_samples=2, **changes), 5), cases(5), PRICES, {})

    assert whole.small_calls == small.calls
    assert f"--max-cases 5 --num-samples 2 makes {small.calls} calls." in " ".join(estimate_text(whole, 80).split())


def test_the_guides_smoke_test_is_20_calls_and_about_40_seconds(folder: Path) -> None:
    found = estimate(of(plan(folder), 5, num_samples=2), cases(5), PRICES, {})

    assert found.calls == 20
    assert found.seconds_one_by_one == (40, 60)


def test_the_guides_full_run_is_500_calls_and_16_to_25_minutes(folder: Path) -> None:
    found = estimate(plan(folder), cases(50), PRICES, {})

    assert found.calls == 500
    assert [int(seconds / 60) for seconds in found.seconds_one_by_one] == [16, 25]


@each(
    ("metrics", "calls"),
    [
        ([MetricUse(metric="exact_match")], 0),
        ([MetricUse(metric="faithfulness")], 250 * 3),
        ([MetricUse(metric="answer_relevancy"), MetricUse(metric="correctness")], 250 * (2 + 1) + 1),
        ([MetricUse(metric="correctness", options={"samples": 5})], 250 * 5 + 1),
        ([MetricUse(metric="correctness", options={"steps": ["Look."]})], 250),
    ],
    ids=["rules", "three steps", "two metrics", "several samples", "steps that are given"],
)
def test_questions_of_metrics_to_the_judge_are_calls(folder: Path, metrics: list[MetricUse], calls: int) -> None:
    plain = estimate(plan(folder), cases(50), PRICES, {})
    found = estimate(plan(folder, metrics=tuple(metrics)), cases(50), PRICES, {})

    assert found.judgements == 250 + calls
    assert found.cost is not None
    assert plain.cost is not None
    assert (found.cost.low > plain.cost.low) is bool(calls)


def test_a_price_that_is_not_known_makes_the_cost_unknown_and_is_named(folder: Path) -> None:
    found = estimate(plan(folder), cases(1), {"openai/gpt-4o": PRICES["openai/gpt-4o"]}, {})

    assert found.cost is None
    assert found.unpriced == ("anthropic/claude-sonnet-4-0",)


def test_requests_per_minute_decide_when_they_are_few(folder: Path) -> None:
    found = estimate(plan(folder), cases(50), PRICES, {"openai/gpt-4o": Limits(requests_per_minute=3)})

    assert found.seconds.low == pytest.approx(250 / 3 * 60)
    assert found.bound_by == "3 requests a minute"


def test_a_short_max_tokens_bounds_the_answers(folder: Path) -> None:
    asked = plan(folder)
    short = type(asked.target)(model="openai/gpt-4o", identity="x", max_tokens=10)
    found = estimate(plan(folder, target=short, judge=None, rubric=None), cases(2), PRICES, {})

    assert found.output_tokens == (100, 100)
    assert found.judgements == 0
