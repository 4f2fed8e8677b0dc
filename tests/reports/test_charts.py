"""Charts: what they draw, what they say to people who cannot see them, and that names do no harm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import chart_samples
import msgspec
from chart_samples import EVERY_KIND
from entries import each

from prompt_evaluator.model.chart import ChartData
from prompt_evaluator.reports.charts import make_chart
from prompt_evaluator.reports.charts.parts import labels, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.chart import ChartKind

KINDS: list[ChartKind] = [make().kind for make in EVERY_KIND.values()]
FIELDS = {
    *("row", "value", "low", "high", "text", "detail", "share", "scores", "samples", "interval", "difference"),
    *("name", "from", "to", "verdict", "threshold", "zero", "x", "y", "class", "cases", "named", "at", "run", "level"),
    *("changed", "what", "change", "outlier", "label", "cost", "dominated", "mean", "mean_text", "cost_text"),
    *("standing", "names"),
}
"""All that rows of charts consist of, whatever the names in them."""


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in a specification, also within its data."""
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from parts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from parts(part)


def rows(specification: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in parts(specification):
        if isinstance(part.get("values"), list) and part["values"] and isinstance(part["values"][0], dict):
            yield from part["values"]


@each(
    ("kind", "expected"),
    [
        ("metrics", {"correctness", "3.41  (3.24 to 3.59)", "60 cases"}),
        ("distribution", {"5", "0.4 to 0.5"}),
        (
            "differences",
            {"+0.42  better", "\N{MINUS SIGN}0.38  worse", "+0.01  no difference seen", "+9 points  worse"},
        ),
        ("scatter", {"better", "worse"}),
        ("trend", {"4.20 → 3.70", "prompt", "model, temperature"}),
        ("cost", {"9c1e0d4f gpt-large", "$0.0024"}),
    ],
)
def test_the_main_words_and_numbers_are_in_the_rows(kind: str, expected: set[str]) -> None:
    found = {value for row in rows(make_chart(EVERY_KIND[kind]()).specification) for value in row.values()}

    assert expected <= found


@each(
    ("kind", "expected"),
    [
        ("metrics", r"correctness 3\.41 \(3\.24 to 3\.59, 60 cases\)"),
        ("distribution", r"correctness 5 \(\d+ % of [\d,]+ samples\); .* exact_match 0.\d to [01].?\d* \("),
        ("differences", r"helpfulness \N{MINUS SIGN}0\.38 \(\N{MINUS SIGN}0\.60 to \N{MINUS SIGN}0\.16\): worse"),
        ("scatter", r"3 cases better, 2 cases worse, 95 cases no difference seen"),
        ("trend", r"1 change of level: 4\.20 → 3\.70 at 0000000a \(prompt changed\)"),
        ("cost", r"77aa01be claude \$0\.0144, 4\.02 \(3\.92 to 4\.12\), certainly beaten by a run that costs no more"),
    ],
)
def test_the_text_alternative_says_the_main_numbers(kind: str, expected: str) -> None:
    chart = make_chart(EVERY_KIND[kind]())

    assert re.search(expected, chart.alternative)
    assert chart.specification["description"] == chart.alternative
    assert chart.specification["title"]["text"] == chart.title


@each("kind", KINDS)
def test_no_numbers_give_a_sentence_instead_of_a_chart(kind: ChartKind) -> None:
    chart = make_chart(ChartData(kind=kind, title="Nothing", runs=("one", "other")))

    assert chart.specification == {}
    assert chart.alternative.endswith(".")


@each("kind", KINDS)
def test_names_are_data_and_never_fields_or_expressions(kind: ChartKind) -> None:
    chart = make_chart(chart_samples.hostile()[kind])
    specification = chart.specification

    assert {field for row in rows(specification) for field in row} <= FIELDS
    assert {part["field"] for part in parts(specification) if isinstance(part.get("field"), str)} <= FIELDS
    words = {"expr", "calculate", "filter", "signal", "labelExpr", "href", "url", "transform", "test"}
    assert not words & {key for part in parts(specification) for key in part}
    assert not [part for part in parts(specification) if isinstance(part.get("sort"), list)]
    assert b"://" not in msgspec.json.encode(specification)
    assert b"x" * 100 not in msgspec.json.encode(specification)
    assert len(chart.alternative) <= 2_000


def test_names_that_look_the_same_when_cut_stay_apart() -> None:
    found = labels(["x" * 100, "x" * 101, "short"])

    assert len(set(found.values())) == 3
    assert all(len(label) <= 40 for label in found.values())


def test_shown_names_have_no_invisible_characters_and_none_that_javascript_knows() -> None:
    assert shown("a\0b\u202ec\nd") == "a�b�c�d"
    assert shown(" \t") == "�"
    assert shown("") == "(no name)"
    assert shown("__proto__") == "__proto__\N{NO-BREAK SPACE}"


def test_cases_that_are_left_out_of_a_scatter_are_counted() -> None:
    chart = make_chart(msgspec.structs.replace(chart_samples.scatter(), left_out=3_333))

    assert "100 cases, chosen evenly; 3,333 not shown" in chart.alternative
    assert "3,333 not shown" in " ".join(chart.specification["title"]["subtitle"])


def test_cases_with_the_same_scores_are_one_larger_mark_that_names_some() -> None:
    chart = make_chart(chart_samples.scatter(2_000))

    largest = max(rows(chart.specification), key=lambda row: row.get("cases", 0))
    assert largest["cases"] > 10
    assert re.fullmatch(r"case-\d{4}(, case-\d{4}){4} and \d+ more", largest["named"])


def test_metrics_on_different_scales_have_an_axis_for_each_scale() -> None:
    panels = make_chart(chart_samples.metrics()).specification["vconcat"]

    domains = [panel["layer"][0]["encoding"]["x"]["scale"]["domain"] for panel in panels]
    assert domains == [[1.0, 5.0], [0.0, 1.0]]


def test_a_run_that_is_certainly_beaten_is_crossed_out() -> None:
    layers = make_chart(chart_samples.cost()).specification["layer"]

    crossed = [layer for layer in layers if layer["mark"].get("shape", "").startswith("M-1")]
    assert [row["label"] for layer in crossed for row in layer["data"]["values"]] == ["77aa01be claude"]


def test_the_frontier_leads_from_each_better_run_to_the_next() -> None:
    layers = make_chart(chart_samples.cost()).specification["layer"]

    line = next(layer for layer in layers if layer["mark"].get("interpolate") == "step-after")
    means = [row["mean"] for row in line["data"]["values"]]
    assert means == sorted(means)
    assert len(set(means)) == 2


def test_runs_without_a_known_cost_are_counted() -> None:
    data = msgspec.structs.replace(chart_samples.cost(), left_out=2)

    assert "2 runs without a known cost not shown" in make_chart(data).alternative


@each(
    "data",
    [
        chart_samples.metrics(["tone"], cases=1),
        chart_samples.distribution(["tone"]),
        chart_samples.scatter(1),
        chart_samples.trend(2),
        chart_samples.cost(["only"]),
        chart_samples.cost(["free"], wide=False),
    ],
    ids=["metric", "histogram", "point", "two runs", "cost", "linear cost"],
)
def test_very_few_numbers_make_a_chart(data: ChartData) -> None:
    assert list(rows(make_chart(data).specification))


def test_metrics_for_which_there_is_no_room_are_counted() -> None:
    names = [f"m{at}" for at in range(70)]

    assert "10 more metrics not shown" in make_chart(chart_samples.metrics(names)).alternative
    assert "46 more metrics not shown" in make_chart(chart_samples.distribution(names)).alternative
