"""The cases worth reading, with input, reference, answers and reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import alike, decimal, many
from prompt_evaluator.reports.html.markup import Html, element, join
from prompt_evaluator.reports.html.parts import (
    badge,
    between,
    code,
    fold,
    mark,
    name,
    paragraph,
    section,
    within,
    written,
)
from prompt_evaluator.reports.run_verdict import cases_failing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.model.comparison import ComparedAnswer
    from prompt_evaluator.model.findings import CaseMetricFinding
    from prompt_evaluator.model.report import ReportCase, RunReport


def worst_cases(report: RunReport) -> Html | None:
    """The worst cases, folded but for the first."""
    if not report.worst:
        return None
    shown = len(report.worst)
    lead = (
        f"{cases_failing(report)}. The {'worst one is' if shown == 1 else f'{shown} worst are'} shown, the worst first."
    )
    return section(
        "cases",
        "Worst cases",
        *(_case(case, report.reproduction.folder, is_open=not at) for at, case in enumerate(report.worst)),
        lead=lead,
    )


def _case(case: ReportCase, folder: str | None, *, is_open: bool) -> Html:
    found = case.findings
    flags = [badge(f"⚑ {flag.name}", "bad") for flag in found.flags if flag.raised]
    flags += [badge("errors", "none")] if any(answer.error for answer in case.answers) else []
    shown = [metric for metric in found.metrics if metric.mark != "good"] or list(found.metrics)
    numbers = [
        element(
            "span",
            name(metric.name),
            " ",
            element("b", decimal(metric.mean, metric.digits)),
            class_=f"brief {metric.mark}",
        )
        for metric in shown[:3]
    ]
    more = [element("span", f"and {len(shown) - 3} more", class_="dim")] if len(shown) > 3 else []  # noqa: PLR2004
    summary = join([mark(found.mark), name(case.test_case_id), *numbers, *more, *flags])
    file = within(folder, case.file) if case.file else None
    where = f"{file}:{case.line}" if file and case.line else file
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
                element(
                    "span", name(metric.name), " ", element("b", decimal(metric.mean, metric.digits)), _spread(metric)
                ),
                badge(metric.label.lower(), "warning") if metric.label else None,
            )
            for metric in case.findings.metrics
        ),
        class_="scores",
    )


def _spread(metric: CaseMetricFinding) -> Html:
    """The spread of the samples, if there are several."""
    ends = between((metric.min, metric.max), metric.digits)
    std = f", std {decimal(metric.std, metric.digits)}" if metric.std is not None else ""
    text = f"{std}, {many(metric.count, 'sample')}{f' from {ends}' if metric.count > 1 else ''}"
    return element("span", text, class_="dim")


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
    numbers = _numbers(case.answers)
    shown = [_answer(answer, numbers[answer.sample]) for answer in case.answers]
    return element("div", *shown, *more, class_="answers")


def _numbers(answers: Sequence[ComparedAnswer]) -> dict[int, dict[str, str]]:
    """The scores of each sample; those on one metric have the same number of decimal places."""
    found: dict[int, dict[str, str]] = {answer.sample: {} for answer in answers}
    for metric in dict.fromkeys(metric for answer in answers for metric in answer.scores):
        scored = [answer for answer in answers if metric in answer.scores]
        for answer, number in zip(scored, alike([answer.scores[metric] for answer in scored]), strict=True):
            found[answer.sample][metric] = number
    return found


def _answer(answer: ComparedAnswer, numbers: Mapping[str, str]) -> Html:
    scores = [
        element(
            "li",
            name(metric),
            " ",
            element("b", numbers[metric]),
            element("span", ": ", element("bdi", answer.reasons[metric]), class_="why")
            if answer.reasons.get(metric)
            else None,
        )
        for metric in answer.scores
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
