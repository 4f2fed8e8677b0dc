"""The tables of the report on two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import sentence
from prompt_evaluator.reports.html.markup import Html, element, join
from prompt_evaluator.reports.html.parts import (
    Column,
    Row,
    badge,
    facts,
    long_table,
    mark,
    marked_name,
    paragraph,
    section,
    table,
)
from prompt_evaluator.reports.html.pictures import Axis, difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prompt_evaluator.model.comparison import Comparison, PairedResult
    from prompt_evaluator.model.comparison_findings import ComparisonFindings, PairedFinding

_BAND = "Dot: difference. Thick line: 95 % interval. Grey band: differences too small to matter."


def metrics(found: ComparisonFindings, of: Comparison) -> Html:
    spans = {name: max(each.scale[1] - each.scale[0], 0.0) for name, each in of.metrics.items()}
    if not found.metrics:
        return section("metrics", "Metrics", paragraph("The runs have no metric in common.", "dim"))
    caption = f"{_BAND} Each difference is drawn as a share of its metric’s scale."
    rows = _rows(found.metrics, of.metrics, spans)
    shown = long_table(caption, _columns("Metric", found), rows, "metric", class_="marked")
    return section("metrics", "Metrics", shown)


def flags(found: ComparisonFindings, of: Comparison) -> Html | None:
    if not found.flags and not found.other_flags:
        return None
    caption = f"{_BAND} Raised less often is better."
    shown = table(caption, _columns("Flag", found), _rows(found.flags, of.flags, {}), class_="marked")
    others = paragraph(sentence(found.other_flags), "dim") if found.other_flags else None
    return section("flags", "Flags", shown if found.flags else None, others)


def slices(found: ComparisonFindings) -> Html | None:
    if found.slices is None:
        return None
    caption = "Slices that got better or worse"
    shown = table(caption, _columns("Slice", found), _rows(found.slices.slices, {}, {}), class_="marked")
    return section("slices", "Slices", shown if found.slices.slices else None, lead=sentence(found.slices.text))


def amounts(found: ComparisonFindings) -> Html | None:
    if not found.amounts:
        return None
    pairs = [(each.label, join([mark(each.mark) if each.mark else None, each.text])) for each in found.amounts]
    return section("amounts", "Errors, cost and speed", facts(pairs))


def _columns(title: str, found: ComparisonFindings) -> list[Column]:
    return [
        Column(title),
        Column(f"{found.baseline.letter} → {found.candidate.letter}", number=True),
        Column("Verdict"),
        Column("Difference", number=True),
        Column("95 % interval"),
        Column("p", number=True),
        Column("Effect"),
        Column("Cases"),
    ]


def _rows(
    found: Sequence[PairedFinding], results: Mapping[str, PairedResult], spans: Mapping[str, float]
) -> Iterator[Row]:
    """A row for each; all are drawn on one axis."""
    axis = _axis([(results[row.name], spans.get(row.name, 1.0)) for row in found if row.name in results])
    for row in found:
        yield _row(row, results.get(row.name), axis, spans.get(row.name, 1.0))


def _row(found: PairedFinding, result: PairedResult | None, axis: Axis, span: float) -> Row:
    return Row(
        (
            marked_name(found.mark, found.name),
            found.means,
            badge(found.word, found.verdict),
            element("b", found.difference) if found.difference else "",
            join([_picture(found, result, axis, span), element("span", found.interval, class_="dim words")])
            if found.interval
            else "",
            found.p,
            found.effect,
            found.record,
        ),
        found.notes,
    )


def _picture(found: PairedFinding, result: PairedResult | None, axis: Axis, span: float) -> Html | None:
    if result is None or result.difference is None or not span:
        return None
    interval = (result.low / span, result.high / span) if result.low is not None and result.high is not None else None
    return difference(
        axis,
        result.difference / span,
        interval,
        threshold=result.threshold / span,
        label=f"{found.difference}, {found.interval}",
        mark=found.mark or "none",
    )


def _axis(results: Sequence[tuple[PairedResult, float]]) -> Axis:
    """The same for all rows: wide enough for every interval and threshold, with no difference in the middle."""
    reach = [
        max(abs(value or 0.0) for value in (found.difference, found.low, found.high, found.threshold)) / span
        for found, span in results
        if span
    ]
    widest = 1.1 * max(reach, default=1.0)
    return Axis(-widest, widest)
