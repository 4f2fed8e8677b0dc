"""Findings about compared runs, for front ends."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.reports.comparison import SHOWN_CASES, comparison_findings
from prompt_evaluator.reports.comparison_answers import shown_case
from prompt_evaluator.reports.comparison_cases import next_cases
from prompt_evaluator.reports.comparison_headline import comparison_headline, comparison_mark
from prompt_evaluator.reports.comparison_next import ComparedBy
from prompt_evaluator.reports.comparison_verdicts import Letters
from prompt_evaluator.reports.next_step import PROGRAM, Reader
from prompt_evaluator.reports.several import letter, several_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.app.compare import OpenComparison
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.comparison import Comparison, RunFacts
    from prompt_evaluator.model.comparison_findings import (
        ComparisonFindings,
        FlippedCase,
        ShownCase,
    )
    from prompt_evaluator.model.findings import Mark

__all__ = [
    "SHOWN_CASES",
    "ComparedRuns",
    "findings_of",
    "headline_of",
    "headline_with_letters",
    "is_regression",
    "letter",
    "plans_of",
    "several_findings",
    "shown_cases",
]


class ComparedRuns(NamedTuple):
    """Who compares which runs."""

    settings: Settings
    names: Sequence[str]
    """As they were named in the command, the baseline first."""
    program: tuple[str, ...] = PROGRAM
    """What starts this program."""
    answers_shown: bool = False
    most_cases: int = SHOWN_CASES
    """How many flipped cases to list."""


def findings_of(comparisons: Sequence[Comparison], compared: ComparedRuns) -> list[ComparisonFindings]:
    """Findings about each candidate, compared with the baseline."""
    reader = Reader(Path.cwd(), compared.program)
    return [
        comparison_findings(
            each,
            ComparedBy(reader, (compared.names[0], compared.names[at]), compared.answers_shown),
            most_cases=compared.most_cases,
            letter=letter(at),
        )
        for at, each in enumerate(comparisons, 1)
    ]


def headline_of(comparison: Comparison) -> tuple[str, Mark | None]:
    """Whether a run is better than its baseline, as a sentence about "this run", with its mark."""
    return comparison_headline(comparison, Letters("the baseline", "this run")), comparison_mark(comparison)


def shown_cases(
    opened: OpenComparison, comparison: Comparison, found: ComparisonFindings, most: int
) -> Iterator[ShownCase]:
    """The flipped cases that the findings list, then others, with an answer of each run."""
    letters = Letters(found.baseline.letter, found.candidate.letter)
    by_case: dict[str, list[FlippedCase]] = {}
    for flip in found.flipped.cases:
        by_case.setdefault(flip.test_case_id, []).append(flip)
    for other in next_cases(comparison, by_case, most - len(by_case)):
        by_case[other.test_case_id] = [other]
    for case_id, flips in islice(by_case.items(), most):
        answers = opened.answers(comparison, case_id)
        yield shown_case(case_id, flips, answers, letters, opened.input(comparison, case_id))


def headline_with_letters(comparison: Comparison, candidate: str) -> str:
    """The sentence about two runs, of which the candidate has this letter."""
    return comparison_headline(comparison, Letters(letter(0), candidate))


def is_regression(comparison: Comparison) -> bool:
    """Whether a metric or a flag got worse, or is missing on one side."""
    return any(each.verdict == "worse" for each in (*comparison.metrics.values(), *comparison.flags.values()))


def plans_of(settings: Settings, runs: Sequence[RunFacts]) -> list[RunPlan | None]:
    """The plans of stored runs, which know the commands that started them."""
    if all(facts.path is not None for facts in runs):
        return [None] * len(runs)
    from prompt_evaluator.app.stores import open_store  # noqa: PLC0415 - files are compared without a database

    with closing(open_store(settings)) as store:
        return [store.run(facts.run_id).plan if facts.path is None and facts.run_id else None for facts in runs]
