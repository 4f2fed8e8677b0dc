"""What to do after a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.findings import NextStep
from prompt_evaluator.model.wording import listed, many, percent
from prompt_evaluator.reports.comparison_verdicts import about, has_unlike_scales
from prompt_evaluator.reports.next_step import command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model.comparison import Comparison, PairedResult
    from prompt_evaluator.reports.comparison_verdicts import Letters
    from prompt_evaluator.reports.next_step import Reader

_UNFINISHED = ("aborted", "interrupted", "queued", "running")
_MOST_MORE_SAMPLES = 50
"""Per case; if it takes more than this, other cases tell more for the same money."""
_MANY_MISSING = 0.05
"""Of the samples: the others may be the easy ones."""


class ComparedBy(NamedTuple):
    """Who compares."""

    reader: Reader
    names: tuple[str, str]
    """The runs as they were named in the command."""
    answers_shown: bool = False


def comparison_steps(comparison: Comparison, letters: Letters, by: ComparedBy) -> tuple[NextStep, ...]:
    """What to do next: a command, or a sentence; one command for each run that has to be resumed."""
    unfinished = [facts for facts in (comparison.baseline, comparison.candidate) if facts.status in _UNFINISHED]
    if stored := [facts.run_id for facts in unfinished if facts.run_id and facts.path is None]:
        return tuple(command("resume", by.reader, "resume", run_id) for run_id in dict.fromkeys(stored))
    results: list[PairedResult] = [*comparison.metrics.values(), *comparison.flags.values()]
    if not results or any(each.missing for each in results):
        return (_words("evaluate both with the same rubric or metrics, then compare again"),)
    if any(each.verdict == "worse" for each in results):
        if comparison.cases and not by.answers_shown:
            return (command("show_answers", by.reader, "compare", *by.names, "--show"),)
        return (_words(f"improve {letters.candidate}, evaluate it again and compare it with {letters.baseline}"),)
    if undecided := {name: each for name, each in comparison.metrics.items() if each.verdict == "inconclusive"}:
        return (_tell_more(undecided, letters),)
    return (_decide(comparison, results, letters),)


def _tell_more(metrics: Mapping[str, PairedResult], letters: Letters) -> NextStep:
    """More samples of both runs if they would tell; otherwise more cases."""
    if unlike := [name for name, each in metrics.items() if has_unlike_scales(each)]:
        return _words(f"state the scale of {listed(unlike)} in both runs, then compare again")
    both = f"evaluate {letters.baseline} and {letters.candidate} again"
    samples = [each.more_samples_needed or _MOST_MORE_SAMPLES + 1 for each in metrics.values()]
    if max(samples) <= _MOST_MORE_SAMPLES:
        what = f"{both} with {many(max(samples), 'more sample')} per case and --reuse, and compare"
        return NextStep(code="more_samples", text=what)
    cases = max((each.more_cases_needed or 0 for each in metrics.values()), default=0)
    what = f"add about {many(about(cases), 'case')} to the dataset" if cases else "add cases to the dataset"
    return NextStep(code="more_cases", text=f"{what}, {both} and compare")


def _decide(comparison: Comparison, results: list[PairedResult], letters: Letters) -> NextStep:
    if not any(each.verdict == "better" for each in results):
        text = f"use {letters.baseline} or {letters.candidate}: decide by cost and speed"
        return NextStep(code="use_candidate", text=text)
    ours, theirs = (
        (facts.failed_samples or 0) / facts.samples if facts.samples else 0.0
        for facts in (comparison.baseline, comparison.candidate)
    )
    if theirs > max(_MANY_MISSING, ours):
        return _words(
            f"find out why {percent(theirs)} of {letters.candidate}'s samples have no score before you use it"
        )
    return NextStep(code="use_candidate", text=f"use {letters.candidate}: no metric or flag got worse")


def _words(text: str) -> NextStep:
    return NextStep(code="after_a_change", text=text)
