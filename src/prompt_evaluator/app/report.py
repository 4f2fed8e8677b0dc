"""Collects what a report says about a run, or about two."""

from __future__ import annotations

import platform
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from prompt_evaluator.app.charts import comparison_charts, run_charts
from prompt_evaluator.app.clock import now
from prompt_evaluator.app.compare import open_comparison
from prompt_evaluator.app.comparison_findings import ComparedRuns, findings_of, plans_of, shown_cases
from prompt_evaluator.app.findings import findings
from prompt_evaluator.app.run_cases import case_view
from prompt_evaluator.app.run_names import stored_name
from prompt_evaluator.app.run_queries import stored_outcome
from prompt_evaluator.app.slices import slice_cells
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.comparison import CompareOptions
from prompt_evaluator.model.report import (
    MOST_ANSWERS,
    MOST_CASES,
    MOST_TEXT,
    CompareReport,
    CutText,
    ReportCase,
    Reproduction,
    RunReport,
    VaryingCase,
)
from prompt_evaluator.reports.next_step import PROGRAM
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.comparison import RunFacts
    from prompt_evaluator.model.comparison_findings import ShownAnswer, ShownCase
    from prompt_evaluator.model.findings import CaseFindings
    from prompt_evaluator.model.query import CaseLine
    from prompt_evaluator.model.report import VaryingRow
    from prompt_evaluator.store import Store

_HALF = 0.5
_MOST_BYTES = 1_000_000
"""Of all cases with their texts, so that a report stays below 5 MB."""
_FEWEST_CASES = 5
"""If fewer cases flipped, these many are shown: the most certain drops that may still be chance."""
_DEFAULTS = CompareOptions()
T = TypeVar("T", bound=msgspec.Struct)


class ReportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a report is made."""

    title: str | None = None
    """By default, what was run."""
    slices: tuple[str, ...] | None = None
    """Metadata keys to slice a single run by; None for every key that divides the cases into a few groups."""
    charts: bool = True
    program: tuple[str, ...] = PROGRAM
    """What starts this program, for the commands that a report recommends."""


def collect_run_report(settings: Settings, run: str, options: ReportOptions) -> RunReport:
    """Everything that a report says about one run, as far as it has got.

    Args:
        settings: Where runs are stored.
        run: A name of a stored run, or the path of its file or folder.
        options: How the report is made.

    Raises:
        ConfigurationError: There is no such run, or the run of a file is not in the store.
        UnknownNameError: No case has a key to slice by.
        InputError: A file cannot be used.
    """
    name = stored_name(settings, run)
    with closing(open_store(settings)) as store:
        outcome = stored_outcome(store, name)
        plan = outcome.record.plan
        facts = store.compared(plan.run_id).facts
        varying, varying_cases = store.varying_cases(plan.run_id, facts.scales, MOST_CASES)
        return _without_secrets(
            RunReport(
                title=options.title or _title(facts),
                made_at=now(),
                findings=findings(outcome, program=options.program),
                facts=facts,
                varying=tuple(_varying(row, plan) for row in varying),
                varying_cases=varying_cases,
                worst=tuple(_fitting(_worst(store, plan, facts))),
                failing_cases=store.failing_cases(plan.run_id),
                slices=slice_cells(store, plan.run_id, options.slices),
                reproduction=_reproduction(facts, plan),
                charts=run_charts(settings, store, plan.run_id) if options.charts else (),
            )
        )


def collect_compare_report(
    settings: Settings, names: Sequence[str], compare: CompareOptions, options: ReportOptions
) -> CompareReport:
    """Everything that a report says about two runs, the baseline first; raises as `open_comparison`."""
    with open_comparison(settings, names, compare) as opened:
        (comparison,) = opened.comparisons
        compared = ComparedRuns(settings, names, options.program, answers_shown=True, most_cases=MOST_CASES)
        (found,) = findings_of(opened.comparisons, compared)
        most = max(len({each.test_case_id for each in found.flipped.cases}), _FEWEST_CASES)
        flipped = _fitting(_cut_case(each) for each in shown_cases(opened, comparison, found, most))
        charts = comparison_charts(comparison) if options.charts else ()
        pair = (comparison.baseline, comparison.candidate)
        sides = map(_reproduction, pair, plans_of(settings, pair))
        baseline, candidate = map(_without_secrets, sides)
        return CompareReport(
            title=options.title or f"{_title(pair[0])} and {_title(pair[1])}",
            made_at=now(),
            comparison=replace(
                comparison,
                baseline=baseline.facts,
                candidate=candidate.facts,
                differs={name: _without_secrets(each) for name, each in comparison.differs.items()},
            ),
            findings=_without_secrets(found),
            flipped=tuple(map(_without_secrets, flipped)),
            baseline=baseline,
            candidate=candidate,
            charts=tuple(map(_without_secrets, charts)),
        )


def _without_secrets(found: T) -> T:
    """The same with secrets masked that this process has read: before a writer escapes what they are found by."""
    return REDACTOR.struct(found)


def _title(facts: RunFacts) -> str:
    what = " with ".join(part for part in (facts.dataset_name, facts.generator_model) if part)
    return f"{what} ({facts.name})" if what else facts.name


def _worst(store: Store, plan: RunPlan, facts: RunFacts) -> Iterator[ReportCase]:
    for line in store.worst_cases(plan.run_id, facts.scales, MOST_CASES):
        yield _report_case(store, plan, facts, line)


def _fitting(cases: Iterable[T]) -> Iterator[T]:
    """The first cases that fit: of very long ones, a report shows fewer."""
    room = _MOST_BYTES
    for case in cases:
        yield case
        room -= len(msgspec.json.encode(case))
        if room < 0:
            return


def _report_case(store: Store, plan: RunPlan, facts: RunFacts, line: CaseLine) -> ReportCase:
    (stored,) = store.cases(plan.run_id, start=line.position, limit=1)
    found = store.worst_answers(plan.run_id, line.position, facts.scales, limit=MOST_ANSWERS, most_text=MOST_TEXT)
    return ReportCase(
        test_case_id=line.case_id,
        file=line.file,
        line=line.line,
        input=_cut(stored.case.input),
        reference=CutText.of(next(iter(stored.case.all_references), None)).shown,
        findings=_case_findings(plan, line),
        answers=found.answers,
        answers_left_out=found.left_out,
    )


def _case_findings(plan: RunPlan, line: CaseLine) -> CaseFindings:
    """As for lists, but a case with errors is not good, however good its other samples are."""
    found = case_view(plan, line).findings
    return msgspec.structs.replace(found, mark="warning") if line.error_kinds and found.mark == "good" else found


def _varying(row: VaryingRow, plan: RunPlan) -> VaryingCase:
    numbers = msgspec.structs.asdict(row)
    del numbers["judged"]
    return VaryingCase(**numbers, cause=_cause(row, plan))


def _cause(row: VaryingRow, plan: RunPlan) -> Literal["samples", "judge", "unknown"]:
    if row.repeat_std is None:
        return "unknown" if row.judged else "samples"
    of_judge = row.repeat_std**2 / _repeats(row.metric, plan)
    return "judge" if of_judge >= _HALF * row.std**2 else "samples"


def _repeats(metric: str, plan: RunPlan) -> int:
    """How many judgements a score of this metric is the mean of."""
    use = next((use for use in plan.metrics if use.key == metric), None)
    judge = plan.judges.get(use.judge) if use and use.judge else plan.judge
    return judge.repeats if judge else 1


def _reproduction(facts: RunFacts, plan: RunPlan | None) -> Reproduction:
    return Reproduction(
        facts=facts,
        version=__version__,
        python=platform.python_version(),
        command=plan.command.text if plan and plan.command else None,
        folder=plan.command.folder if plan and plan.command else None,
        metrics=facts.metric_definitions or {},
    )


def _cut(text: str) -> str:
    return CutText.of(text).shown or ""


def _cut_case(case: ShownCase) -> ShownCase:
    answers = tuple(map(_cut_answer, case.answers))
    return msgspec.structs.replace(case, input=case.input and _cut(case.input), answers=answers)


def _cut_answer(answer: ShownAnswer) -> ShownAnswer:
    return msgspec.structs.replace(
        answer,
        answer=_cut(answer.answer),
        error=answer.error and _cut(answer.error),
        scores=tuple(map(_cut, answer.scores)),
    )
