"""The page of benchmarks is what its script writes from the stored figures."""

from __future__ import annotations

import msgspec
import peer_figures as figures
import pytest
from peer_figures import Cell, Figures, Growth, ToolFigures
from peer_tools import QUIET, TOOLS


def _figures(**cells: dict[str, Cell]) -> Figures:
    return Figures(
        date="2026-01-02",
        machine="two shared cores",
        load=0.5,
        python="3.11.7",
        cases=2_000,
        tools=tuple(ToolFigures(name, "" if not found else "1.0", found) for name, found in cells.items()),
        growth=(Growth(100, 1.0, 80.0),),
    )


def test_the_page_is_made_from_the_stored_figures_by_the_script() -> None:
    assert figures.PAGE.read_text(encoding="utf-8") == figures.page(figures.load())


def test_the_stored_figures_name_every_tool_that_is_measured() -> None:
    assert [tool.name for tool in figures.load().tools] == [tool.name for tool in TOOLS]


@pytest.mark.parametrize("name", ["time", "memory"])
def test_the_page_shows_pictures_that_are_there(name: str) -> None:
    picture = f"pictures/growth-{name}.svg"

    assert f"({picture})" in figures.PAGE.read_text(encoding="utf-8")
    assert (figures.DOCS / picture).read_text(encoding="utf-8").startswith("<svg")


def test_a_tool_that_is_not_installed_is_said_to_be_so_and_has_no_figures() -> None:
    page = figures.page(_figures(ours={"size": Cell(20.0)}, other={}))

    assert "| version | 1.0 | not installed |" in page
    assert "| installed, MB | 20 |  |" in page


def test_a_value_that_is_missing_has_a_numbered_note() -> None:
    page = figures.page(_figures(ours={"judge": Cell(5.0)}, other={"judge": Cell(note="It has no judge.")}))

    assert f"| 5 | {figures.NO} (1) |" in page
    assert "\n1. It has no judge.\n" in page


def test_every_measure_on_which_another_tool_is_better_is_named() -> None:
    page = figures.page(
        _figures(
            ours={"size": Cell(20.0), "start": Cell(0.5), "judge": Cell(9.0)},
            **{
                "bare loop": {"judge": Cell(99.0)},
                "other": {"size": Cell(10.0), "start": Cell(0.7), "judge": Cell(10.0)},
            },
        )
    )

    better = page.partition("## Where others are better")[2].partition("## How")[0]
    assert "other, installed, MB: 10 against our 20." in better
    assert "other, samples/s with an LLM judge, 50 ms, 100 at once: 10 against our 9." in better
    assert "start-up" not in better
    assert "bare" not in better


def test_figures_are_stored_without_loss() -> None:
    known = _figures(ours={"size": Cell(20.0, "so far")})

    assert msgspec.json.decode(msgspec.json.encode(known), type=Figures) == known


@pytest.mark.parametrize(
    "name", ["DEEPEVAL_TELEMETRY_OPT_OUT", "PROMPTFOO_DISABLE_TELEMETRY", "PROMPTFOO_DISABLE_UPDATE"]
)
def test_tools_are_told_not_to_phone_home(name: str) -> None:
    assert QUIET[name]
