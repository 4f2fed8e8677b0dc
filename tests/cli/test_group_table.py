"""The table at the end of a group of runs, at widths that people have."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from snapshots import WIDTHS, check
from summaries import metric, outcome, plan, totals

from prompt_evaluator.cli.group_table import group_lines, title_line
from prompt_evaluator.cli.text import cells, plain
from prompt_evaluator.errors import BudgetSpentError, CircuitOpenError, StoreError
from prompt_evaluator.model.bars import MissedBar
from prompt_evaluator.model.group import Member
from prompt_evaluator.model.outcome import Outcome
from prompt_evaluator.reports.group import group_findings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.model.group import GroupFindings

DATASETS = ("basic-coding", "retrieval-qa", "tool-use-basic", "support-tickets", "house-style", "sums")
MODELS = (
    "openai/gpt-4o",
    "openai/gpt-4o-mini",
    "anthropic/claude-sonnet-4-0",
    "openrouter/meta-llama/llama-3.3-70b-instruct",
    "mistral/mistral-large-latest",
    "mock/default",
)
SHARE = (0.0, 1.0)


def member(dataset: str, model: str, metrics: Sequence[str], at: int, folder: Path, **changes: Any) -> Member:
    asked = plan(folder)
    asked = msgspec.structs.replace(asked, target=msgspec.structs.replace(asked.target, model=model))
    scores = {
        name: metric(0.95 - 0.03 * at - 0.1 * place, 0.1, scale=SHARE) if place < 2 else metric(4.8 - 0.1 * at)
        for place, name in enumerate(metrics)
    }
    found = outcome(asked, scores, totals=totals(250, cost=0.0123 * (at + 1)))
    return Member(dataset=dataset, model=model, outcome=found, seconds=4.2 * (at + 1), **changes)


def group(datasets: int, models: int, folder: Path, metrics: Sequence[str] = ("correctness",)) -> list[Member]:
    pairs = [(dataset, model) for dataset in DATASETS[:datasets] for model in MODELS[:models]]
    return [member(dataset, model, metrics, at, folder) for at, (dataset, model) in enumerate(pairs)]


def prompts(count: int, models: int, folder: Path) -> list[Member]:
    """Every model with every prompt, two of them in files of the same name."""
    named = ("spring-campaign/support/system-prompt.txt", "autumn-campaign/support/system-prompt.txt", "brief.txt")
    pairs = [(prompt, model) for prompt in named[:count] for model in MODELS[:models]]
    return [
        replace(member("support.yaml", model, SEVERAL[:2], at, folder), prompt=prompt)
        for at, (prompt, model) in enumerate(pairs)
    ]


def shown(found: GroupFindings, width: int) -> str:
    return plain("\n".join(group_lines(found, width)))


SEVERAL = ("correctness", "answer_relevancy", "clarity")
SHAPES = {
    "1x1": (1, 1, ("correctness",)),
    "1x6": (6, 1, ("correctness",)),
    "6x1": (1, 6, ("correctness",)),
    "2x2_several_metrics": (2, 2, SEVERAL),
    "6x1_several_metrics": (1, 6, SEVERAL),
    "5x5": (5, 5, ("correctness",)),
}


def tables(folder: Path) -> dict[str, list[Member]]:
    shapes = {name: group(datasets, models, folder, metrics) for name, (datasets, models, metrics) in SHAPES.items()}
    of_prompts = {
        f"prompts_{count}x{models}": prompts(count, models, folder) for count, models in [(3, 1), (3, 2), (1, 3)]
    }
    return {**shapes, **of_prompts}


def test_tables_read_as_they_did(tmp_path: Path) -> None:
    for name, members in {**tables(tmp_path), "failures": broken(tmp_path)}.items():
        check(f"group_{name}", shown(group_findings(members), 80))


def test_no_line_is_wider_than_the_terminal_and_every_mean_is_there(tmp_path: Path) -> None:
    for (name, members), width in product(tables(tmp_path).items(), WIDTHS):
        found = group_findings(members)
        text = shown(found, width)

        assert max(map(cells, text.splitlines())) < width, name
        for each in found.members:
            for metric_name, score in each.scores.items():
                digits = next(known.digits for known in found.metrics if known.name == metric_name)
                assert f"{score.mean:.{digits}f} (" in text, name


def test_several_models_and_datasets_are_a_table_of_both_where_there_is_room(tmp_path: Path) -> None:
    found = group_findings(group(5, 5, tmp_path))

    wide, narrow = shown(found, 160), shown(found, 80)

    assert [*DATASETS[:5]] in [line.split() for line in wide.splitlines()]
    assert all(dataset in narrow.splitlines() for dataset in DATASETS[:5])


def broken(folder: Path) -> list[Member]:
    """Four models on two datasets: one is fine, one cannot be reached, one is stopped, and one is not started."""
    first, second, third, fourth = MODELS[:4]
    refused = CircuitOpenError(
        "stopped, because no call can succeed: the key was not accepted (401).", provider="openai"
    )
    members = []
    for at, dataset in enumerate(DATASETS[:2]):
        fine = member(dataset, first, ("correctness",), at, folder)
        members.append(fine)
        assert fine.outcome is not None
        for model, error in ((second, refused), (third, BudgetSpentError("The budget of 10 calls is spent."))):
            failed = outcome(plan(folder), {}, status="aborted", stop_reason=str(error))
            members.append(
                Member(
                    dataset=dataset,
                    model=model,
                    outcome=Outcome(failed.record, failed.result, error),
                    seconds=0.4,
                )
            )
        members.append(Member(dataset=dataset, model=fourth))
    return members


def test_a_run_that_could_not_be_carried_out_at_all_is_in_the_table_with_its_error(tmp_path: Path) -> None:
    members = [
        *group(1, 1, tmp_path),
        Member(dataset=DATASETS[0], model="mock/b", error=StoreError("The disk is full."), seconds=0.1),
    ]

    text = shown(group_findings(members), 80)

    assert "✗ failed" in text
    assert "✗ mock/b failed on basic-coding: The disk is full." in text
    assert "1 of 2 runs completed" in text


def test_a_group_without_any_score_still_says_how_each_run_ended(tmp_path: Path) -> None:
    members = [each for each in broken(tmp_path) if each.model != MODELS[0]]

    text = shown(group_findings(members), 80)

    assert text.count("✗ failed") == 2
    assert "0 of 6 runs completed" in text
    assert "95 %" not in text


def test_costs_that_are_not_known_are_not_shown_as_nothing(tmp_path: Path) -> None:
    (known,) = group(1, 1, tmp_path)
    assert known.outcome is not None
    assert known.outcome.result is not None
    result = msgspec.structs.replace(known.outcome.result, totals=totals(250, cost=None, unpriced_calls=9))
    unknown = Member(dataset=DATASETS[0], model="x/y", outcome=Outcome(known.outcome.record, result), seconds=1.0)

    text = shown(group_findings([known, unknown]), 80)

    assert "cost unknown" in text
    assert "$0.0123 and more" in text


@pytest.mark.parametrize(
    ("changes", "cell"),
    [
        ({"totals": totals(250, skipped={"faithfulness": 250})}, "skipped"),
        ({"not_measured": {"faithfulness": "it failed"}}, "⚠ no score"),
        ({}, "not asked"),
    ],
    ids=["skipped everywhere", "failed everywhere", "not asked for"],
)
def test_a_metric_without_a_score_in_one_run_says_why(tmp_path: Path, changes: dict[str, Any], cell: str) -> None:
    first, second = group(1, 2, tmp_path, ("correctness", "faithfulness"))
    assert second.outcome is not None
    assert second.outcome.result is not None
    stats = {"correctness": second.outcome.result.overall_metric_stats["correctness"]}
    result = msgspec.structs.replace(second.outcome.result, overall_metric_stats=stats, **changes)
    without = Member(
        dataset=second.dataset, model=second.model, outcome=Outcome(second.outcome.record, result), seconds=1.0
    )

    (row,) = (line for line in shown(group_findings([first, without]), 160).splitlines() if "gpt-4o-mini" in line)

    assert cell in row


def test_a_title_fits_the_terminal_whatever_the_names_are() -> None:
    line = plain(title_line("d" * 200 + " · openai/gpt-4o", 80))

    assert cells(line) < 80
    assert line.endswith("openai/gpt-4o ──") or "gpt-4o" in line


def test_a_bar_that_was_missed_is_named(tmp_path: Path) -> None:
    reason = "The mean of clarity, 3.1, is below its bar of 4."
    bar = MissedBar(name="clarity", kind="fail_under", bar=4.0, measured=3.1, reason=reason)
    low = outcome(plan(tmp_path), {"clarity": metric(3.1, fail_under=4.0, below=True)}, missed_bars=(bar,))
    members = [*group(1, 1, tmp_path), Member(dataset=DATASETS[0], model="x/y", outcome=low, seconds=1.0)]

    text = shown(group_findings(members), 80)

    assert f"✗ x/y completed on basic-coding: {reason}" in " ".join(text.split())
