"""The cases worth reading, with input, reference, answers and reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import many, short_number
from prompt_evaluator.reports.html.markup import Html, element, join
from prompt_evaluator.reports.html.parts import badge, code, fold, mark, name, paragraph, section, written
from prompt_evaluator.reports.run_verdict import failing_cases

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import ComparedAnswer
    from prompt_evaluator.model.report import ReportCase, RunReport


def worst_cases(report: RunReport) -> Html | None:
    """The worst cases, folded but for the first."""
    if not report.worst:
        return None
    shown = len(report.worst)
    lead = (
        f"{failing_cases(report)}. The {'worst one is' if shown == 1 else f'{shown} worst are'} shown, the worst first."
    )
    return section(
        "cases",
        "Worst cases",
        *(_case(case, is_open=not at) for at, case in enumerate(report.worst)),
        lead=lead,
    )


def _case(case: ReportCase, *, is_open: bool) -> Html:
    found = case.findings
    flags = [badge(f"⚑ {flag.name}", "bad") for flag in found.flags if flag.raised]
    flags += [badge("errors", "none")] if any(answer.error for answer in case.answers) else []
    shown = [metric for metric in found.metrics if metric.mark != "good"] or list(found.metrics)
    numbers = [
        element("span", name(metric.name), " ", element("b", short_number(metric.mean)), class_=f"brief {metric.mark}")
        for metric in shown[:3]
    ]
    more = [element("span", f"and {len(shown) - 3} more", class_="dim")] if len(shown) > 3 else []  # noqa: PLR2004
    summary = join([mark(found.mark), name(case.test_case_id), *numbers, *more, *flags])
    where = f"{case.file}:{case.line}" if case.file and case.line else case.file
    return fold(
        element("span", summary, class_="line"),
        element("p", code(where), class_="dim") if where else None,
        _scores(case),
        element("div", _question(case), _answers(case), class_="case-body"),
        is_open=is_open,
        class_="case",
    )


def _scores(case: ReportCase) -> Html:
    return element(
        "ul",
        *(
            element(
                "li",
                mark(metric.mark),
                element("span", element("bdi", metric.text)),
                badge(metric.label.lower(), "warning") if metric.label else None,
            )
            for metric in case.findings.metrics
        ),
        class_="scores",
    )


def _question(case: ReportCase) -> Html:
    return element(
        "div",
        element("h3", "Input"),
        written(case.input),
        *([element("h3", "Reference"), written(case.reference)] if case.reference is not None else []),
        class_="question",
    )


def _answers(case: ReportCase) -> Html:
    left_out = case.answers_left_out
    more = [paragraph(f"{many(left_out, 'more sample')} not shown here.", "dim")] if left_out else []
    return element("div", *map(_answer, case.answers), *more, class_="answers")


def _answer(answer: ComparedAnswer) -> Html:
    scores = [
        element(
            "li",
            name(metric),
            " ",
            element("b", short_number(value)),
            element("span", ": ", element("bdi", answer.reasons[metric]), class_="why")
            if answer.reasons.get(metric)
            else None,
        )
        for metric, value in answer.scores.items()
    ]
    return element(
        "article",
        element(
            "h3", f"Sample {answer.sample + 1}", *(join([" ", badge(f"⚑ {flag}", "bad")]) for flag in answer.flags)
        ),
        written(answer.answer) if answer.answer is not None else None,
        element("p", "Error: ", element("bdi", answer.error), class_="error") if answer.error else None,
        element("ul", *scores, class_="reasons") if scores else None,
        class_="answer",
    )
