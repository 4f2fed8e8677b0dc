"""`prompt-evaluator chart`: pictures of runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

CASES = [
    {"id": f"case-{at}", "input": f"Question {at}?", "metadata": {"topic": "a" if at % 2 else "b"}} for at in range(12)
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two runs of the mock."""
    folder: Path = tmp_path_factory.mktemp("chart")
    found = Workspace(folder)
    found.cases(CASES)
    for version in ("v1", "v2"):
        assert found.evaluate("-n", "2", "--prompt-version", version).code == 0
    return found


@pytest.mark.parametrize(
    ("kind", "runs"),
    [
        ("metrics", ["@last", "@last~1"]),
        ("stability", ["@last"]),
        ("distribution", ["@last"]),
        ("flags", ["@last"]),
        ("slices", ["@last"]),
        ("differences", ["@last~1", "@last"]),
        ("scatter", ["@last~1", "@last"]),
        ("trend", ["@last"]),
        ("cost", ["@last"]),
    ],
)
def test_every_kind_is_written_as_a_specification(project: Workspace, kind: str, runs: list[str]) -> None:
    done = project.run("chart", *runs, "--kind", kind, "-o", f"{kind}.json")

    assert done.code == 0, done.err
    written = json.loads((project.folder / f"{kind}.json").read_bytes())
    assert done.out == f"{kind}.json\n{written['description']}\n"


def test_pictures_are_png_and_svg_in_light_and_dark(project: Workspace) -> None:
    png = project.run("chart", "@last", "--kind", "metrics", "-o", "chart.png")
    svg = project.run("chart", "@last", "--kind", "metrics", "-o", "chart.svg", "--theme", "dark", "--width", "700")

    assert (png.code, svg.code) == (0, 0)
    assert (project.folder / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert "#16181d" in (project.folder / "chart.svg").read_text("utf-8")
    assert not list(project.folder.glob(".*.tmp"))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["@last", "--kind", "scatter", "-o", "x.json"], "compares two runs: name the baseline and the candidate."),
        (
            ["@last", "@last~1", "--kind", "slices", "-o", "x.json"],
            "A chart of kind slices is about one run: name one.",
        ),
        (["@last", "@last~1", "--kind", "trend", "-o", "x.json"], "It finds the other runs of the dataset itself."),
        (["@last", "--kind", "metrics", "-o", "x.html"], "Pages are made by"),
        (["@last", "--kind", "metrics", "-o", "x"], "x: a chart is a .png, .svg or .json file"),
        (
            ["@last", "--kind", "metrics", "-o", "no/x.json"],
            "no/x.json: cannot write the file: No such file or directory.",
        ),
        (["@last", "--kind", "flags", "--metric", "a", "-o", "x.json"], "Leave out --metric."),
        (["@last", "--kind", "trend", "--metric", "a", "--metric", "b", "-o", "x.json"], "give --metric once."),
        (["@last", "--kind", "metrics", "--metric", "nope", "-o", "x.json"], "There is no metric 'nope'."),
        (["nope", "--kind", "metrics", "-o", "x.json"], "There is no run 'nope'."),
        (["@last", "--kind", "metrics", "--width", "9", "-o", "x.json"], "a whole number from 100 to 4,000, not '9'."),
        (
            ["@last~1", "@last", "--kind", "differences", "--metric", "zz", "-o", "x.json"],
            "metric or flag in both runs",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_advice(project: Workspace, arguments: list[str], expected: str) -> None:
    done = project.run("chart", *arguments)

    assert done.code == 2
    assert expected in " ".join(done.err.split())


def test_a_chart_without_numbers_is_a_sentence(offline: Workspace) -> None:
    assert offline.evaluate("-n", "1").code == 0

    done = offline.run("chart", "@last", "--kind", "stability", "-o", "x.png")

    assert done.code == 2
    assert "Every case has one sample." in done.err
    assert not (offline.folder / "x.png").exists()


def test_without_the_extra_a_picture_is_refused_before_any_work(offline: Workspace) -> None:
    offline.write("stub/vl_convert.py", "raise ImportError('not here')")
    offline.environment["PYTHONPATH"] = str(offline.folder / "stub")
    assert offline.evaluate("-n", "2").code == 0

    done = offline.run("chart", "@last", "--kind", "metrics", "-o", "x.png")

    assert done.code == 2
    assert "pip install 'prompt-verdict[charts]'" in done.err
    assert offline.run("chart", "@last", "--kind", "metrics", "-o", "x.json").code == 0
