"""The report on two runs: is the candidate better, and can that be believed?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import many, sentence
from prompt_evaluator.reports.html.chart_figures import charts_section
from prompt_evaluator.reports.html.compare_tables import amounts, flags, metrics, slices
from prompt_evaluator.reports.html.markup import Html, element, join
from prompt_evaluator.reports.html.page import page
from prompt_evaluator.reports.html.parts import (
    Column,
    Row,
    badge,
    fold,
    mark,
    marked_name,
    name,
    next_step,
    paragraph,
    prose,
    section,
    table,
    written,
)
from prompt_evaluator.reports.html.reproduction import reproduction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.model.comparison_findings import (
        ComparisonFindings,
        DifferenceFinding,
        FlippedCase,
        RunLabel,
        ShownAnswer,
        ShownCase,
    )
    from prompt_evaluator.model.report import CompareReport

_SHORT_DIFF = 40
"""Lines up to which a diff is shown unfolded."""
_LINES = {"+": "added", "-": "removed", "@": "place"}
_MARKED = re.compile(r"(\[-.*?-\]|\{\+.*?\+\})", re.DOTALL)
_WORDS_ARE_MARKED = "words that differ"


def compare_html(report: CompareReport, *, bundle: str | None) -> Iterator[str]:
    """Yield the page in pieces.

    Args:
        report: What it says.
        bundle: JavaScript that draws its charts (vega-embed); None if it has none.
    """
    parts = [(id_, label, part) for id_, label, part in _parts(report) if part is not None]
    beside = [part for id_, _, part in parts if id_ in _BESIDE_STEPS]
    yield from page(
        report.title,
        [
            _head(report.findings),
            element("div", _steps(report.findings), element("div", *beside, class_="beside"), class_="overview"),
            *(part for id_, _, part in parts if id_ not in _BESIDE_STEPS),
        ],
        links=[(id_, label) for id_, label, _ in parts],
        made=f"Made by prompt-evaluator {report.candidate.version} at {report.made_at}.",
        bundle=bundle,
    )


_BESIDE_STEPS = ("differs",)


def _parts(report: CompareReport) -> Iterator[tuple[str, str, Html | None]]:
    found, of = report.findings, report.comparison
    yield "differs", "What differs", _differs(found)
    yield "metrics", "Metrics", metrics(found, of)
    yield "flags", "Flags", flags(found, of)
    yield "amounts", "Cost", amounts(found)
    yield "flipped", "Flipped cases", _flipped(report)
    yield "slices", "Slices", slices(found)
    yield "charts", "Charts", charts_section(report.charts)
    yield "reproduce", "Reproduce", _reproduce(report)


def _head(found: ComparisonFindings) -> Html:
    warnings = [element("li", mark("warning"), element("span", prose(text))) for text in found.warnings]
    return element(
        "div",
        element("h1", mark(found.mark), element("span", prose(found.headline)), class_="verdict"),
        element("ul", _run(found.baseline, "a"), _run(found.candidate, "b"), class_="runs", aria_label="Compared runs"),
        element("ul", *warnings, class_="warnings", aria_label="Warnings") if warnings else None,
        class_="headline",
    )


def _run(label: RunLabel, side: str) -> Html:
    return element(
        "li",
        element("b", label.letter, class_=f"letter {side}"),
        element("code", label.name),
        element("span", element("bdi", label.text), class_="dim"),
    )


def _steps(found: ComparisonFindings) -> Html | None:
    if not found.next_steps:
        return None
    return element(
        "aside",
        element("h2", "What to do next", id="next-title"),
        element("ol", *map(next_step, found.next_steps), class_="steps"),
        id="next",
        aria_labelledby="next-title",
    )


def _differs(found: ComparisonFindings) -> Html:
    if not found.differs:
        return section("differs", "What differs", paragraph(sentence(found.no_difference or "nothing")))
    return section("differs", "What differs", element("ul", *map(_difference, found.differs), class_="differs"))


def _difference(found: DifferenceFinding) -> Html:
    label = join([element("b", found.label), " ", element("bdi", prose(found.text))])
    if not found.diff:
        return element("li", label)
    lines = [_diff_line(line) for line in found.diff]
    diff = element("pre", element("code", *lines), class_="diff", tabindex=0, aria_label=f"What differs: {found.label}")
    summary = join([label, element("span", f" ({many(len(lines), 'line')})", class_="dim")])
    return element("li", fold(summary, diff, is_open=len(lines) <= _SHORT_DIFF))


def _diff_line(line: str) -> Html:
    """A line with its sign; colour only repeats what the sign says."""
    return element("span", element("bdi", f"{line}\n"), class_=_LINES.get(line[:1]))


def _flipped(report: CompareReport) -> Html:
    found = report.findings.flipped
    counts = [element("li", element("span", name(each.metric), ": ", each.text)) for each in found.counts]
    with_answers = {case.test_case_id for case in report.flipped}
    others = [case for case in found.cases if case.test_case_id not in with_answers]
    rest = f"{many(found.more, 'more change')} not listed here; a case may change on several metrics."
    more = [paragraph(rest, "dim")] if found.more else []
    return section(
        "flipped",
        "Flipped cases",
        element("ul", *counts, class_="counts") if counts else None,
        paragraph(_unflipped(report), "dim") if found.text else None,
        *(_shown_case(case, is_open=not at) for at, case in enumerate(report.flipped)),
        _flips(others) if others else None,
        *more,
    )


def _unflipped(report: CompareReport) -> str:
    """Where no case changed beyond chance, and why some are shown all the same."""
    found = report.findings.flipped
    others = len(report.flipped) - len({case.test_case_id for case in found.cases})
    below = " The largest drops, which may be chance, are listed below." if others > 0 else ""
    return f"{sentence(found.text)}{below}"


def _flips(cases: Sequence[FlippedCase]) -> Html:
    columns = [Column("Case"), Column("Metric"), Column("Change"), Column("Scores")]
    rows = [
        Row(
            (
                marked_name("bad" if case.class_ == "worse" else "good", case.test_case_id),
                name(case.metric),
                badge(case.class_, case.class_),
                case.text,
            )
        )
        for case in cases
    ]
    return table("The most certain first", columns, rows)


def _shown_case(case: ShownCase, *, is_open: bool) -> Html:
    first = case.scores[0] if case.scores else None
    brief = [element("span", name(first.metric), " ", first.text, class_=f"brief {first.mark}")] if first else []
    summary = element("span", mark(first.mark if first else None), name(case.test_case_id), *brief, class_="line")
    scores = [
        element("li", mark(each.mark), element("span", name(each.metric), ": ", each.text)) for each in case.scores
    ]
    marked = case.likeness.startswith(_WORDS_ARE_MARKED)
    answers = [_shown_answer(each, at, marked=marked) for at, each in enumerate(case.answers)]
    return fold(
        summary,
        *([element("h3", "Input"), written(case.input)] if case.input is not None else []),
        element("ul", *scores, class_="scores") if scores else None,
        element("p", _with_words(f"{case.likeness[:1].upper()}{case.likeness[1:]}."), class_="dim")
        if case.likeness
        else None,
        element("div", *answers, class_="sides") if answers else paragraph("The answers are not known.", "dim"),
        is_open=is_open,
        class_="case",
    )


def _shown_answer(answer: ShownAnswer, at: int, *, marked: bool) -> Html:
    scores = [element("li", element("bdi", score)) for score in answer.scores]
    return element(
        "article",
        element(
            "h3",
            element("span", answer.title, class_=f"side {'ab'[at]}"),
            *(join([" ", badge(f"⚑ {flag}", "bad")]) for flag in answer.flags),
        ),
        element("pre", _with_words(answer.answer), class_="text", dir="auto") if marked else written(answer.answer),
        element("p", "Error: ", element("bdi", answer.error), class_="error") if answer.error else None,
        element("ul", *scores, class_="reasons") if scores else None,
        class_="answer",
    )


def _with_words(text: str) -> Html:
    """Set the words that only one answer has as deleted or inserted, in place of the signs around them."""
    return join(
        element("del" if piece[0] == "[" else "ins", piece[2:-2]) if _MARKED.fullmatch(piece) else piece
        for piece in _MARKED.split(text)
    )


def _reproduce(report: CompareReport) -> Html:
    sides = [
        element("div", element("h3", element("b", label.letter, class_=f"letter {side}"), " ", name(label.name)), made)
        for label, side, made in (
            (report.findings.baseline, "a", reproduction(report.baseline)),
            (report.findings.candidate, "b", reproduction(report.candidate)),
        )
    ]
    return section("reproduce", "Reproduce", element("div", *sides, class_="sides"))
