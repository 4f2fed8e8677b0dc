"""The tables of the report on one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import decimal, kind, many, p_value, percent, signed
from prompt_evaluator.reports.html.markup import Content, Html, element, join
from prompt_evaluator.reports.html.parts import (
    Column,
    Row,
    between,
    fold,
    long_table,
    mark,
    marked_name,
    name,
    paragraph,
    plus_minus,
    prose,
    scale_ends,
    section,
    table,
)
from prompt_evaluator.reports.html.pictures import Axis, dot
from prompt_evaluator.reports.levels import digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import SliceCell
    from prompt_evaluator.model.findings import ErrorsFinding, Findings, FlagFinding, MetricFinding
    from prompt_evaluator.model.report import RunReport, VaryingCase

_CAUSES = {
    "samples": "the answers",
    "judge": "the judge",
    "unknown": "not known: judged once",
}
_SURE = 0.05
_FEW = 6
"""Slices that are shown even if none of them differs."""
_ENDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Where the axis of flags may end: the first that has room for all of them."""


def metrics(found: Findings) -> Html:
    """Every metric with its mean, interval and spread; what bars it misses."""
    missed = found.facts.missed_bars if found.facts else ()
    judge = found.facts.judge if found.facts else None
    confidence = found.facts.confidence if found.facts else None
    skipped = found.facts.skipped if found.facts else None
    answers = found.facts.answers if found.facts else None
    parameters = found.facts.parameters if found.facts else None
    notes = [paragraph(note.text, "dim") for note in (answers, parameters, judge, skipped, confidence) if note]
    bars = [element("li", mark("bad"), element("span", prose(note.text))) for note in missed]
    return section(
        "metrics",
        "Metrics",
        element("ul", *bars, class_="missed") if len(bars) > 1 else None,
        _metric_table(found) if found.metrics else paragraph(found.no_scores.text if found.no_scores else "No scores."),
        *notes,
    )


def _metric_table(found: Findings) -> Html:
    columns = [
        Column("Metric"),
        Column("Mean", number=True),
        Column("95 % interval on the metric’s scale"),
        Column("Passed", number=True),
        Column("Spread", number=True),
        Column("Case means", number=True),
        Column("Cases", number=True),
    ]
    caption = (
        "Dot: mean. Thick line: 95 % interval of the mean. Thin line: lowest to highest case. "
        "Dashed: the bar to reach. Spread: standard deviation of a case’s samples."
    )
    return long_table(caption, columns, map(_metric_row, found.metrics), "metric", class_="marked")


def _metric_row(metric: MetricFinding) -> Row:
    bar = next((note.values.get("bar") for note in metric.notes if "bar" in note.values), None)
    interval = between(metric.interval, metric.digits)
    why = metric.no_interval.text if metric.no_interval else ""
    spread = metric.no_std.text if metric.no_std else f"{decimal(metric.std or 0.0, metric.digits)}"
    return Row(
        (
            marked_name(metric.mark, metric.name),
            plus_minus(metric.mean, metric.interval, metric.digits),
            join(
                [
                    on_scale(
                        metric.scale,
                        dot(
                            Axis(*metric.scale),
                            metric.mean,
                            metric.interval,
                            label=f"{decimal(metric.mean, metric.digits)}, {interval or why}",
                            mark=metric.mark,
                            span=metric.case_means,
                            bar=bar if isinstance(bar, (int, float)) else None,
                        ),
                    ),
                    element("span", interval or why, class_="dim words"),
                ]
            ),
            "" if metric.pass_rate is None else percent(metric.pass_rate),
            join([spread, element("span", f" {metric.variability}", class_="dim") if metric.variability else None]),
            between(metric.case_means, metric.digits),
            f"{metric.cases:,}",
        ),
        tuple(note.text for note in metric.notes),
    )


def on_scale(scale: tuple[float, float], picture: Html) -> Html:
    """A picture between the ends of its scale."""
    low, high = (f"{end:,g}" for end in scale)
    return element(
        "span",
        element("span", low, class_="end", aria_hidden="true"),
        picture,
        element("span", high, class_="end", aria_hidden="true"),
        class_="scale",
        title=f"Scale: {scale_ends(scale)}",
    )


def stability(report: RunReport) -> Html | None:
    """Which cases vary, and whether their answers or the judge do; None if there is no score."""
    found = report.varying
    if not report.findings.metrics:
        return None
    if not found:
        once = report.facts.num_samples == 1
        why = "One sample per case cannot show whether answers vary." if once else "No case varies between its samples."
        return section("stability", "Stability", paragraph(why, "dim"))
    scales = {metric.name: metric.scale for metric in report.findings.metrics}
    columns = [
        Column("Case"),
        Column("Metric"),
        Column("What varies"),
        Column("Std", number=True),
        Column("Judge’s std", number=True),
        Column("Passed", number=True),
        Column("Mean", number=True),
        Column("Lowest to highest sample"),
    ]
    left_out = report.varying_cases - len({each.test_case_id for each in found})
    more = f" The {len(found)} that vary most are listed." if left_out > 0 else ""
    vary = "1 case varies" if report.varying_cases == 1 else f"{report.varying_cases:,} cases vary"
    rows = [_varying_row(each, scales.get(each.metric, (each.low, each.high))) for each in found]
    caption = "Dot: mean of the samples. Thick line: lowest to highest sample."
    return section("stability", "Stability", table(caption, columns, rows), lead=f"{vary} between their samples.{more}")


def _varying_row(case: VaryingCase, scale: tuple[float, float]) -> Row:
    places = digits(scale)
    ends = between((case.low, case.high), places)
    picture = dot(
        Axis(*scale), case.mean, (case.low, case.high), label=f"{decimal(case.mean, places)}, {ends}", mark="warning"
    )
    return Row(
        (
            name(case.test_case_id),
            name(case.metric),
            element("span", _CAUSES[case.cause], class_="wrapped"),
            decimal(case.std, places),
            "" if case.repeat_std is None else decimal(case.repeat_std, places),
            f"{case.passes}/{case.count}",
            decimal(case.mean, places),
            join([on_scale(scale, picture), element("span", ends, class_="dim words")]),
        )
    )


def flags(found: Sequence[FlagFinding]) -> Html | None:
    if not found:
        return None
    columns = [
        Column("Flag"),
        Column("Share", number=True),
        Column("95 % interval"),
        Column("Raised", number=True),
        Column("How often"),
    ]
    highest = max((flag.interval[1] if flag.interval else flag.share or 0.0) for flag in found)
    end = next(each for each in _ENDS if each >= highest)
    rows = [_flag_row(flag, end) for flag in found]
    return section("flags", "Flags", table("Dot: share of samples. Thick line: 95 % interval.", columns, rows))


def _flag_row(flag: FlagFinding, end: float) -> Row:
    first = marked_name(flag.mark, flag.name)
    if flag.share is None:
        return Row((first, "", "", "", flag.text))
    words = flag.no_interval.text if flag.no_interval else " to ".join(map(percent, flag.interval or ()))
    picture = dot(
        Axis(0.0, end), flag.share, flag.interval, label=f"{percent(flag.share)}, {words}", mark=flag.mark or "none"
    )
    scaled = element(
        "span",
        element("span", "0", class_="end", aria_hidden="true"),
        picture,
        element("span", percent(end), class_="end", aria_hidden="true"),
        class_="scale",
    )
    raised = f"{flag.raised:,} of {flag.judged:,}"
    pictured = join([scaled, element("span", words, class_="dim words")])
    return Row((first, element("b", percent(flag.share)), pictured, raised, flag.text))


def errors(found: Findings) -> Html | None:
    """Samples without a score: grey, because an error is not a wrong answer."""
    if found.facts is None or found.facts.errors is None:
        return None
    return section("errors", "Errors", _failures(found.facts.errors), lead=found.facts.errors.text)


def _failures(found: ErrorsFinding) -> Html:
    columns = [Column("Message"), Column("Times", number=True), Column("Kind"), Column("Metric")]
    rows = [
        Row(
            (
                element("bdi", each.message, class_="message"),
                f"{each.count:,}",
                kind(each.kind),
                name(each.metric) if each.metric else "",
            )
        )
        for each in found.failures
    ]
    left_out = found.reasons - len(rows)
    more = paragraph(f"{many(left_out, 'more reason')} not listed here.", "dim") if left_out > 0 else None
    return join([table("Reasons, the most frequent first", columns, rows, class_="grey"), more])


def slices(found: Sequence[SliceCell]) -> Html | None:
    if not found:
        return None
    columns = [
        Column("Slice"),
        Column("Metric"),
        Column("Mean", number=True),
        Column("95 % interval"),
        Column("Cases", number=True),
        Column("Against the rest", number=True),
        Column("p", number=True),
    ]
    caption = "p values are corrected for all slices and metrics (Holm). Slices that surely differ stand first."
    shown = long_table(caption, columns, map(_slice_row, found), "slice")
    sure = sum(_is_sure(cell) for cell in found)
    if not sure and len(found) > _FEW:
        shown = fold(f"Show all {len(found)} slice means", shown)
    return section("slices", "Slices", shown, lead=_slices_in_words(found, sure))


def _slices_in_words(found: Sequence[SliceCell], sure: int) -> str:
    compared = sum(cell.p_value is not None for cell in found)
    if not compared:
        return "No slice has enough cases to be compared with the rest."
    means = f"{many(compared, 'slice mean')} {'was' if compared == 1 else 'were'} compared with the rest"
    differ = "none differs" if not sure else "1 differs" if sure == 1 else f"{sure} differ"
    return f"{means}; {differ} beyond chance."


def _is_sure(cell: SliceCell) -> bool:
    return cell.p_value is not None and cell.p_value < _SURE


def _slice_row(cell: SliceCell) -> Row:
    places = digits(cell.scale)
    interval = (cell.low, cell.high) if cell.low is not None and cell.high is not None else None
    sure = _is_sure(cell)
    look = ("good" if (cell.difference or 0) > 0 else "bad") if sure else "none"
    label = f"{decimal(cell.mean, places)}, {between(interval, places) or 'no interval'}"
    picture = on_scale(cell.scale, dot(Axis(*cell.scale), cell.mean, interval, label=label, mark=look))
    against: Content = "" if cell.difference is None else signed(cell.difference, places)
    return Row(
        (
            join([name(cell.key), " = ", name(cell.value)]),
            name(cell.metric),
            plus_minus(cell.mean, interval, places),
            picture,
            f"{cell.cases:,}",
            element("b", against) if sure else against,
            p_value(cell.p_value) if cell.p_value is not None else "too few",
        )
    )
