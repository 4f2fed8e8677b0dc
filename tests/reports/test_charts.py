"""Charts: what they draw, what they say to people who cannot see them, and that names do no harm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import chart_samples
import msgspec
import pytest
from chart_samples import EVERY_KIND, HOSTILE, METRICS, RUNS

from prompt_evaluator.model.chart import ChartData, ChartSize
from prompt_evaluator.reports.chart_files import svg
from prompt_evaluator.reports.charts import make_chart
from prompt_evaluator.reports.charts.parts import labels, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.chart import ChartKind

KINDS: list[ChartKind] = [make().kind for make in EVERY_KIND.values()]
FIELDS = {
    *("row", "run", "value", "low", "high", "text", "detail", "case", "metric", "share", "std", "mean", "count"),
    *("variability", "middle", "scores", "samples", "slice", "interval", "difference", "p", "opacity", "thin", "dark"),
    *("name", "from", "to", "verdict", "threshold", "zero", "x", "y", "class", "cases", "named", "at", "level"),
    *("changed", "what", "change", "outlier", "label", "cost", "dominated", "mean_text", "cost_text", "standing"),
    *("names",),
}
"""All that rows of charts consist of, whatever the names in them."""


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping in a specification, also within its data."""
    if isinstance(value, dict):
        yield value
        for each in value.values():
            yield from parts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from parts(each)


def rows(specification: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in parts(specification):
        if isinstance(part.get("values"), list) and part["values"] and isinstance(part["values"][0], dict):
            yield from part["values"]


def texts(picture: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_with_its_title(kind: ChartKind) -> None:
    chart = make_chart(EVERY_KIND[kind]())

    picture = svg(chart)

    assert picture.startswith("<svg")
    assert chart.title in texts(picture)
    assert "mark-symbol" in picture or "mark-rect" in picture


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("metrics", {"correctness", "3.41  (3.24 to 3.59)", "mean, on a scale from 0 to 1"}),
        ("stability", {"case-0002", "tone", "25%"}),
        ("distribution", {"exact_match", "5"}),
        ("flags", {"leaks_data", "6 %  (18 of 300)"}),
        ("slices", {"topic = billing (40)", "2.61"}),
        (
            "differences",
            {"+0.42  better", "\N{MINUS SIGN}0.38  worse", "+0.01  no difference seen", "+9 points  worse"},
        ),
        ("scatter", {"better", "worse", "too few samples to tell", "3f2a9b1c gpt-small (baseline)"}),
        ("trend", {"4.20 → 3.70", "prompt", "model, temperature"}),
        ("cost", {"9c1e0d4f gpt-large", "US dollars per sample (logarithmic)"}),
    ],
)
def test_the_main_words_and_numbers_are_in_the_picture(kind: str, expected: set[str]) -> None:
    assert expected <= set(texts(svg(make_chart(EVERY_KIND[kind]()))))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("metrics", "correctness 3.41 (3.24 to 3.59, 60 cases)"),
        ("stability", "case-0002 on tone 1.59 around a mean of 2.46 (5 samples)"),
        ("flags", "hallucinates 6 % (4 % to 14 %; 18 of 300 samples)"),
        ("slices", "topic = billing on correctness: 2.61, \N{MINUS SIGN}1.19 against the rest, p = 0.004, 40 cases"),
        ("differences", "helpfulness \N{MINUS SIGN}0.38 (\N{MINUS SIGN}0.60 to \N{MINUS SIGN}0.16): worse"),
        ("scatter", "3 cases better, 2 cases worse, 95 cases no difference seen"),
        ("trend", "1 change of level: 4.20 → 3.70 at 0000000a (prompt changed)"),
        ("cost", "77aa01be claude $0.0144, 4.02 (3.92 to 4.12), certainly beaten by a run that costs no more"),
    ],
)
def test_the_text_alternative_says_the_main_numbers(kind: str, expected: str) -> None:
    chart = make_chart(EVERY_KIND[kind]())

    assert expected in chart.alternative
    assert chart.specification["description"] == chart.alternative


def test_the_text_alternative_of_a_distribution_says_the_most_frequent_scores() -> None:
    said = make_chart(chart_samples.distribution()).alternative

    assert re.search(r"correctness 5 \(\d+ % of [\d,]+ samples\); .* exact_match 0.\d to [01].?\d* \(", said)


@pytest.mark.parametrize("kind", KINDS)
def test_no_numbers_give_a_sentence_instead_of_a_chart(kind: ChartKind) -> None:
    chart = make_chart(ChartData(kind=kind, title="Nothing"))

    assert chart.specification == {}
    assert chart.alternative.endswith(".")


def test_one_sample_per_case_says_nothing_about_stability() -> None:
    data = chart_samples.stability()
    single = tuple(msgspec.structs.replace(cell, std=None, count=1) for cell in data.cells)

    chart = make_chart(msgspec.structs.replace(data, cells=single))

    assert chart.specification == {}
    assert "--num-samples" in chart.alternative


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names_are_shown_and_do_nothing(kind: ChartKind) -> None:
    chart = make_chart(chart_samples.hostile()[kind])

    picture = svg(chart)

    assert len(texts(picture)) > 5
    assert "<script" not in picture
    assert not re.search(r"[\x00-\x08\u202a-\u202e\u200e\u200f]", picture)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString", "datum", "width"])
def test_a_name_that_javascript_knows_is_only_a_name(kind: ChartKind, name: str) -> None:
    data = msgspec.structs.replace(EVERY_KIND[kind](), title=name, metric=name, runs=(name, "other"))

    assert name in [text.strip() for text in texts(svg(make_chart(data)))]


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_data_and_never_fields_or_expressions(kind: ChartKind) -> None:
    specification = make_chart(chart_samples.hostile()[kind]).specification

    assert {field for row in rows(specification) for field in row} <= FIELDS
    assert {part["field"] for part in parts(specification) if isinstance(part.get("field"), str)} <= FIELDS
    words = {"expr", "calculate", "filter", "signal", "labelExpr", "href", "url", "transform", "test"}
    assert not words & {key for part in parts(specification) for key in part}
    assert not [part for part in parts(specification) if isinstance(part.get("sort"), list)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_specification_has_its_data_and_no_address(kind: ChartKind) -> None:
    specification = make_chart(EVERY_KIND[kind]()).specification

    assert b"://" not in msgspec.json.encode(specification)
    assert list(rows(specification))


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_of_ten_thousand_letters_does_not_make_a_chart_larger(kind: ChartKind) -> None:
    chart = make_chart(chart_samples.hostile()[kind])

    assert b"x" * 100 not in msgspec.json.encode(chart.specification)
    assert len(chart.alternative) <= 2_000


def test_names_that_look_the_same_when_cut_stay_apart() -> None:
    found = labels(["x" * 100, "x" * 101, "short"])

    assert len(set(found.values())) == 3
    assert all(len(label) <= 40 for label in found.values())


def test_shown_names_have_no_invisible_characters() -> None:
    assert shown("a\0b\u202ec\nd") == "a�b�c�d"
    assert shown(" \t") == "�"
    assert shown("") == "(no name)"


def test_at_most_sixty_cases_are_in_a_stability_map_and_the_rest_is_counted() -> None:
    chart = make_chart(chart_samples.stability(2_000))

    assert "The 60 most varying cases; 1,940 not shown." in chart.alternative
    assert len({row["case"] for row in rows(chart.specification)}) == 60


def test_a_scatter_of_many_cases_shows_some_of_them_chosen_evenly_and_says_so() -> None:
    chart = make_chart(chart_samples.scatter(5_000))

    assert sum(row.get("cases", 0) for row in rows(chart.specification)) == 1_667
    assert "3,333 not shown" in chart.alternative
    assert "3,333 not shown" in " ".join(chart.specification["title"]["subtitle"])


def test_cases_with_the_same_scores_are_one_larger_mark_that_names_some() -> None:
    chart = make_chart(chart_samples.scatter(2_000))

    largest = max(rows(chart.specification), key=lambda row: row.get("cases", 0))
    assert largest["cases"] > 10
    assert re.fullmatch(r"case-\d{4}(, case-\d{4}){4} and \d+ more", largest["named"])


def test_only_what_survives_the_correction_is_coloured_strongly() -> None:
    chart = make_chart(chart_samples.slices())

    strong = {(row["slice"], row["metric"]) for row in rows(chart.specification) if row["opacity"] == 1.0}
    assert strong == {("topic = billing (40)", "correctness"), ("topic = account (40)", "exact_match")}


def test_thin_slices_are_outlined_and_marked() -> None:
    chart = make_chart(chart_samples.slices())

    outlined = next(layer for layer in chart.specification["layer"] if layer["mark"].get("strokeDash"))
    assert {row["slice"] for row in outlined["data"]["values"]} == {"topic = other (6)"}
    assert all(row["mean"].endswith("*") for row in outlined["data"]["values"])


def test_metrics_on_different_scales_have_an_axis_for_each_scale() -> None:
    panels = make_chart(chart_samples.metrics()).specification["vconcat"]

    domains = [panel["layer"][0]["encoding"]["x"]["scale"]["domain"] for panel in panels]
    assert domains == [[1.0, 5.0], [0.0, 1.0]]


def test_runs_differ_in_shape_as_well_as_in_colour() -> None:
    picture = svg(make_chart(chart_samples.metrics(METRICS[:1], RUNS)))

    symbols = re.findall(r'<path aria-label="[^"]*run: ([^;"]*)[^>]* d="([^"]*)"', picture)
    assert len({shape for _, shape in symbols}) >= 3


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


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "distribution"])
def test_a_chart_can_have_a_size(kind: ChartKind) -> None:
    specification = make_chart(EVERY_KIND[kind](), ChartSize(width=300, height=222)).specification

    panels = specification.get("vconcat", [specification])
    assert {(panel["width"], panel["height"]) for panel in panels} == {(300, 222)}


def test_the_width_of_a_distribution_is_that_of_all_its_columns() -> None:
    specification = make_chart(chart_samples.distribution(), ChartSize(width=300)).specification

    assert {panel["width"] for panel in specification["concat"]} == {100}


@pytest.mark.parametrize(
    "data",
    [
        chart_samples.metrics(["tone"], cases=1),
        chart_samples.stability(1, ["tone"]),
        chart_samples.distribution(["tone"]),
        chart_samples.scatter(1),
        chart_samples.trend(2),
        chart_samples.cost(["only"]),
        chart_samples.cost(["free"], wide=False),
        chart_samples.metrics([f"m{number}" for number in range(70)]),
    ],
    ids=["metric", "case", "histogram", "point", "two runs", "cost", "linear cost", "70 metrics"],
)
def test_very_few_and_very_many_numbers_are_drawn(data: ChartData) -> None:
    assert len(texts(svg(make_chart(data)))) > 3


def test_more_metrics_than_rows_are_counted() -> None:
    assert "10 more metrics not shown" in make_chart(chart_samples.metrics([f"m{at}" for at in range(70)])).alternative


@pytest.mark.parametrize("kind", ["stability", "slices"])
def test_more_metrics_than_columns_are_counted(kind: str) -> None:
    made = make_chart(getattr(chart_samples, kind)(names=[f"m{at}" for at in range(70)]))

    assert re.search(r"46 (steadier )?metrics not shown", made.alternative)
    assert len({row["metric"] for row in made.specification["layer"][0]["data"]["values"]}) == 24


def test_the_corpus_of_names_has_every_kind_of_trick() -> None:
    together = "".join(HOSTILE)

    assert all(trick in together for trick in ("<script>", "__proto__", '"', "'", "\0", "\u202e", "\ud800", "datum."))
