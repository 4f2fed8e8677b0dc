"""Marks and words mean the same wherever they are explained, and what is explained is what is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from summaries import metric

from prompt_evaluator.app.legend import COMPARISON_LEGEND, LEGEND
from prompt_evaluator.cli.main import cli
from prompt_evaluator.stats import flag_band, sample_confidence, variability

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prompt_evaluator.app.legend import Part
    from prompt_evaluator.model.findings import Findings

    Make = Callable[..., Findings]

PAGES = Path(__file__).parents[2] / "docs/how-to"
LEGENDS = {"read-results.md": LEGEND, "compare-runs.md": COMPARISON_LEGEND}
START, END = "<!-- legend: made from reports/legend.py -->\n", "<!-- /legend -->\n"
SHOWS = [
    ["evaluate-dataset"], ["benchmark", "run"], ["resume"], ["score"], ["runs", "show"],
    ["runs", "watch"],
]  # fmt: skip
MEANINGS = {part.title: {entry.shown: entry.meaning for entry in part.entries} for part in LEGEND}


def markdown(legend: Iterable[Part]) -> Iterator[str]:
    for part in legend:
        unit = f"{part.unit[:1].upper()}{part.unit[1:]}"
        titles = [part.title, unit, "Meaning"] if part.unit else [part.title, "Meaning"]
        yield f"| {' | '.join(titles)} |"
        yield f"|{'---|' * len(titles)}"
        for entry in part.entries:
            cells = entry if part.unit else entry[:2]
            yield f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"
        yield ""


@pytest.mark.parametrize("name", LEGENDS)
def test_the_page_says_what_help_says(name: str) -> None:
    wanted = "\n" + "\n".join(markdown(LEGENDS[name]))
    path = PAGES / name
    page = path.read_text("utf-8")
    before, _, rest = page.partition(START)
    found, _, after = rest.partition(END)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(f"{before}{START}{wanted}\n{END}{after}", "utf-8")
        found = f"{wanted}\n"

    assert found == f"{wanted}\n", "UPDATE_SNAPSHOTS=1 writes the legend anew"


@pytest.mark.parametrize("command", SHOWS, ids=" ".join)
def test_help_of_a_command_that_shows_marks_explains_them(command: list[str]) -> None:
    shown = " ".join(CliRunner().invoke(cli, [*command, "--help"], terminal_width=80).output.split())

    for part in LEGEND:
        for entry in part.entries:
            assert f"{entry.shown} {entry.meaning}" in shown


def test_help_of_a_command_that_compares_explains_its_marks() -> None:
    shown = " ".join(CliRunner().invoke(cli, ["compare", "--help"], terminal_width=80).output.split())

    for part in COMPARISON_LEGEND:
        for entry in part.entries:
            assert f"{entry.shown} {entry.meaning}" in shown


def test_the_limits_of_the_spread_are_those_that_are_applied() -> None:
    assert MEANINGS["Spread"] == {
        "low": "below 0.5",
        "moderate": "0.5 to 1.0",
        "high": "above 1.0, or above 20 % of the mean",
    }
    assert [variability(4.9, std, (1.0, 5.0)) for std in (0.49, 0.5, 0.97)] == ["low", "moderate", "moderate"]
    assert [variability(mean, std, (1.0, 5.0)) for mean, std in ((100.0, 1.01), (2.0, 0.41))] == ["high", "high"]


def test_the_bands_of_flags_are_those_that_are_applied() -> None:
    limits = {0.0: "never", 0.049: "rare", 0.05: "occasional", 0.199: "occasional", 0.2: "frequent", 0.5: "frequent"}

    assert {share: flag_band(share) for share in limits} == limits
    assert flag_band(0.51) == "majority"
    assert list(MEANINGS["Flags"].values()) == ["0", "below 5 %", "5 % to below 20 %", "20 % to 50 %", "above 50 %"]


def test_the_levels_of_confidence_are_those_that_are_applied() -> None:
    first = {1: "none", 2: "low", 5: "moderate", 10: "high", 50: "very high"}

    assert {samples: sample_confidence(samples) for samples in first} == first
    assert list(MEANINGS["Confidence"].values()) == ["1", "2 to 4", "5 to 9", "10 to 49", "50 or more"]


@pytest.mark.parametrize(
    ("mean", "changes", "mark"),
    [
        (4.5, {"pass_rate": 0.8}, "good"),
        (4.5, {"pass_rate": 0.74}, "warning"),
        (3.0, {"pass_rate": 0.5}, "warning"),
        (2.99, {}, "bad"),
        (4.5, {"flaky_cases": 1}, "warning"),
        (4.5, {"wide_range_cases": 1}, "warning"),
        (4.5, {"high_variability_cases": 1}, "warning"),
        (4.5, {"fail_under": 4.4, "near": True}, "warning"),
        (4.5, {"fail_under": 4.6, "below": True}, "bad"),
        (4.5, {"bounds": (4.0, 4.6)}, "warning"),
    ],
)
def test_marks_are_given_for_the_reasons_that_the_legend_names(
    found: Make, mean: float, changes: dict[str, Any], mark: str
) -> None:
    (made,) = found({"correct": metric(mean, **changes)}).metrics

    assert made.mark == mark


def test_a_wide_range_within_cases_is_told_with_how_many_there_are(found: Make) -> None:
    (made,) = found({"correct": metric(4.5, wide_range_cases=3)}).metrics

    assert "wide range in 3 cases" in [note.text for note in made.notes]
