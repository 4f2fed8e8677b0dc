"""What to do after a comparison."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.bounds import SAMPLES
from prompt_evaluator.model.findings import NextStep
from prompt_evaluator.model.wording import listed, many, percent
from prompt_evaluator.reports.comparison_verdicts import about, has_unlike_scales
from prompt_evaluator.reports.next_step import more_samples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.comparison import Comparison, PairedResult
    from prompt_evaluator.model.comparison_findings import FlippedCases
    from prompt_evaluator.model.findings import StepCode
    from prompt_evaluator.reports.comparison_verdicts import Letters
    from prompt_evaluator.reports.next_step import Reader

_UNFINISHED = ("aborted", "interrupted", "queued", "running")
_NAMED = 3
_MOST_MORE_SAMPLES = 50
"""Per case; if it takes more than this, other cases tell more for the same money."""
_MANY_MISSING = 0.05
"""Of the samples: the others may be the easy ones."""
_LATEST_TWO = ("compare", "@last~1", "@last")


class ComparedBy(NamedTuple):
    """Who compares, and what is known beside the comparison."""

    reader: Reader
    names: tuple[str, str]
    """The runs as they were named in the command."""
    plans: tuple[RunPlan | None, RunPlan | None]
    """None for a file that was made elsewhere."""
    answers_shown: bool = False


def comparison_steps(
    comparison: Comparison, flipped: FlippedCases, letters: Letters, by: ComparedBy
) -> tuple[NextStep, ...]:
    """The most useful thing to do next; several commands if it takes several."""
    unfinished = [facts for facts in (comparison.baseline, comparison.candidate) if facts.status in _UNFINISHED]
    if stored := [facts.run_id for facts in unfinished if facts.run_id and facts.path is None]:
        return tuple(_command("resume", ("resume", run_id), by) for run_id in dict.fromkeys(stored))
    results: list[PairedResult] = [*comparison.metrics.values(), *comparison.flags.values()]
    if not results:
        text = "evaluate both with a rubric or metrics, then compare again"
        return (NextStep(code="after_a_change", text=text),)
    if any(each.missing for each in results):
        return (_measure_all(comparison, letters),)
    if any(each.verdict == "worse" for each in results):
        return (_after_a_drop(comparison, flipped, letters, by),)
    if undecided := {name: each for name, each in comparison.metrics.items() if each.verdict == "inconclusive"}:
        return _tell_more(undecided, letters, by)
    return (_decide(comparison, letters),)


def _measure_all(comparison: Comparison, letters: Letters) -> NextStep:
    everything = (*comparison.metrics.items(), *comparison.flags.items())
    missing = {side: [name for name, each in everything if each.missing == side] for side in ("baseline", "candidate")}
    parts = [f"{getattr(letters, side)} with {_names(names)} too" for side, names in missing.items() if names]
    return NextStep(code="after_a_change", text=f"evaluate {' and '.join(parts)}, then compare again")


def _names(names: list[str]) -> str:
    return listed(names if len(names) <= _NAMED else [*names[:_NAMED], f"{len(names) - _NAMED:,} more"])


def _after_a_drop(comparison: Comparison, flipped: FlippedCases, letters: Letters, by: ComparedBy) -> NextStep:
    if comparison.cases and not by.answers_shown:
        return _command("show_answers", ("compare", *by.names, "--show"), by)
    worst = next((case.test_case_id for case in flipped.cases if case.class_ == "worse"), None)
    candidate = comparison.candidate
    if worst is not None and candidate.run_id and candidate.path is None and worst.isprintable():
        return _command("show_case", ("runs", "show", candidate.run_id, "--case", worst), by)
    text = f"improve {letters.candidate}, evaluate it again and compare it with {letters.baseline}"
    return NextStep(code="after_a_change", text=text)


def _tell_more(metrics: Mapping[str, PairedResult], letters: Letters, by: ComparedBy) -> tuple[NextStep, ...]:
    """More samples of both runs if they would tell, and their commands are known; otherwise more cases."""
    if unlike := [name for name, each in metrics.items() if has_unlike_scales(each)]:
        text = f"state the scale of {_names(unlike)} in both runs, then compare again"
        return (NextStep(code="after_a_change", text=text),)
    undecided = metrics.values()
    more = [each.more_samples_needed for each in undecided if each.more_samples_needed]
    if more and len(more) == len(undecided) and max(more) <= _MOST_MORE_SAMPLES:
        steps = [_sampled_again(plan, max(more), by) for plan in by.plans]
        if steps[0] and steps[1]:
            return steps[0], steps[1], _command("compare", _LATEST_TWO, by)
    both = f"evaluate {letters.baseline} and {letters.candidate} again"
    cases = max((each.more_cases_needed or 0 for each in undecided), default=0)
    what = f"add about {many(about(cases), 'case')} to the dataset" if cases else "add cases to the dataset"
    return (NextStep(code="more_cases", text=f"{what}, {both} and compare"),)


def _sampled_again(plan: RunPlan | None, more: int, by: ComparedBy) -> NextStep | None:
    if plan is None or plan.num_samples + more > SAMPLES.most:
        return None
    step = more_samples(plan, plan.num_samples + more, by.reader)
    return step if step.arguments else None


def _decide(comparison: Comparison, letters: Letters) -> NextStep:
    better = [name for name, each in comparison.metrics.items() if each.verdict == "better"]
    better += [name for name, each in comparison.flags.items() if each.verdict == "better"]
    if better and (missing := _many_missing(comparison)):
        text = f"find out why {missing} of {letters.candidate}'s samples have no score before you use it"
        return NextStep(code="after_a_change", text=text)
    if better:
        return NextStep(code="use_candidate", text=f"use {letters.candidate}: nothing got worse")
    text = f"use {letters.baseline} or {letters.candidate}: decide by cost and speed"
    return NextStep(code="use_candidate", text=text)


def _many_missing(comparison: Comparison) -> str:
    """The share of the candidate's samples without a score, if it is large and larger than the baseline's."""
    ours, theirs = (
        (facts.failed_samples or 0) / facts.samples if facts.samples else 0.0
        for facts in (comparison.baseline, comparison.candidate)
    )
    return percent(theirs) if theirs > max(_MANY_MISSING, ours) else ""


def _command(code: StepCode, parts: tuple[str, ...], by: ComparedBy, before: str | None = None) -> NextStep:
    arguments = (*by.reader.program, *parts)
    return NextStep(code=code, before=before, arguments=arguments, text=shlex.join(arguments))
