"""Cases of a stored run, with findings: a filtered list, or one case with all its samples."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

import msgspec

from prompt_evaluator.app.findings import case_findings
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model import RunRecord, TestCase
from prompt_evaluator.model.bounds import SCORE
from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.findings import CaseFindings
from prompt_evaluator.model.query import CaseLine, CaseQuery, SampleLine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.query import CaseDetail, Page
    from prompt_evaluator.store import Store


T = TypeVar("T")
_COLUMNS = ("position", "cost", "latency", "flakiness")
"""Columns to sort cases by, in addition to metrics; some metrics have the same names."""


class CaseSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases of a run to list; all conditions must hold."""

    flaky: bool = False
    errors: bool = False
    flagged: bool = False
    failing: bool = False
    worst: bool = False
    """Worst first; only cases with a score for the metric."""
    metric: str | None = None
    """The metric to sort by; the run's first by default."""
    limit: int = 20
    cursor: str | None = None
    samples: bool = False
    """Whether to include samples with their answers."""


class CaseView(msgspec.Struct, frozen=True, kw_only=True):
    """A case and its findings."""

    line: CaseLine
    findings: CaseFindings
    samples: tuple[SampleLine, ...] | None = None
    """None if they were not requested."""


class CaseList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of cases."""

    record: RunRecord
    cases: tuple[CaseView, ...]
    matching: int
    """Number of matching cases on all pages."""
    metric: str | None
    """The metric they are sorted by; None if they are sorted by something else."""
    next: str | None


class WholeCase(msgspec.Struct, frozen=True, kw_only=True):
    """One case with all its samples."""

    record: RunRecord
    case: TestCase
    view: CaseView


class _Scores(msgspec.Struct, frozen=True):
    mean: float
    std: float | None
    min: float
    max: float
    count: int
    passed: int


class _Flag(msgspec.Struct, frozen=True):
    true_count: int
    total_count: int


def list_cases(settings: Settings, run_id: str, selection: CaseSelection) -> CaseList:
    """A page of the cases of a run: worst first, flakiest first, or in dataset order."""
    with closing(open_store(settings)) as store:
        record = store.run(run_id)
        query, metric = _query(store, record, selection)
        page = store.query_cases(query)
        return CaseList(
            record=record,
            cases=tuple(_view(store, record.plan, line, samples=selection.samples) for line in page.items),
            matching=_matching(store, query, page),
            metric=metric if query.sort in (metric, f"metric.{metric}") and query.sort not in _COLUMNS else None,
            next=page.next,
        )


def page_of_cases(
    settings: Settings, query: CaseQuery, *, samples: bool = False, order: Sequence[int] | None = None
) -> CaseList:
    """A page of the cases of a run that match a query.

    Args:
        settings: Name the store.
        query: Which cases, in which order.
        samples: Whether to include their answers.
        order: What `case_order` found for the query, if it is known.
    """
    with closing(open_store(settings)) as store:
        record = store.run(query.run_id)
        page = store.query_cases(query, order)
        metric = query.sort.removeprefix("metric.")
        return CaseList(
            record=record,
            cases=tuple(_view(store, record.plan, line, samples=samples) for line in page.items),
            matching=_matching(store, query, page) if order is None else len(order),
            metric=None if query.sort in _COLUMNS else metric,
            next=page.next,
        )


def show_case(settings: Settings, run_id: str, case_id: str) -> WholeCase:
    """One case of a run with its samples, scores and reasons."""
    with closing(open_store(settings)) as store:
        record = store.run(run_id)
        detail = store.case_detail(record.plan.run_id, case_id)
        (stored,) = store.cases(record.plan.run_id, start=detail.case.position, limit=1)
        return WholeCase(record=record, case=stored.case, view=_viewed(record.plan, detail))


def _query(store: Store, record: RunRecord, selection: CaseSelection) -> tuple[CaseQuery, str | None]:
    metric = selection.metric or _first_metric(store, record)
    by_metric = selection.worst or selection.failing or selection.metric is not None
    named = f"metric.{metric}" if metric in _COLUMNS else metric
    sort = named if by_metric and named else "flakiness" if selection.flaky else "position"
    query = CaseQuery(
        run_id=record.plan.run_id,
        metrics=(Condition(metric, ">=", str(SCORE.least)),) if selection.worst and metric else (),
        flaky=selection.flaky or None,
        errors=selection.errors or None,
        flagged=selection.flagged or None,
        failing=selection.failing or None,
        sort=sort,
        descending=sort == "flakiness",
        limit=selection.limit,
        cursor=selection.cursor,
    )
    return query, metric


def _first_metric(store: Store, record: RunRecord) -> str | None:
    summary = store.run_line(record.plan.run_id).summary
    measured = summary.overall_metric_stats if summary else {}
    return next(iter((*measured, *_names(record.plan))), None)


def _matching(store: Store, query: CaseQuery, page: Page[CaseLine]) -> int:
    whole = page.next is None and query.cursor is None
    return len(page.items) if whole else store.count_cases(query)


def _view(store: Store, plan: RunPlan, line: CaseLine, *, samples: bool) -> CaseView:
    if samples:
        return _viewed(plan, store.case_detail(plan.run_id, line.case_id))
    return case_view(plan, line)


def case_view(plan: RunPlan, line: CaseLine) -> CaseView:
    """A case of a run with its findings, metrics and flags in the order of the run."""
    line = _in_order(plan, line)
    return CaseView(line=line, findings=_findings(plan, line))


def _viewed(plan: RunPlan, detail: CaseDetail) -> CaseView:
    line = _in_order(plan, detail.case)
    names = _names(plan)
    samples = [msgspec.structs.replace(each, scores=_sorted(each.scores, names)) for each in detail.samples]
    return CaseView(line=line, findings=_findings(plan, line), samples=tuple(samples))


def _in_order(plan: RunPlan, line: CaseLine) -> CaseLine:
    """Put metrics and flags in the order of the run, as in its artifact."""
    flags = [flag.name for flag in plan.rubric.flags] if plan.rubric else []
    return msgspec.structs.replace(line, metrics=_sorted(line.metrics, _names(plan)), flags=_sorted(line.flags, flags))


def _names(plan: RunPlan) -> list[str]:
    criteria = plan.rubric.metrics if plan.rubric else ()
    return [*(criterion.name for criterion in criteria), *(use.key for use in plan.metrics)]


def _sorted(found: Mapping[str, T], names: Sequence[str]) -> dict[str, T]:
    known = [name for name in names if name in found]
    return {name: found[name] for name in dict.fromkeys((*known, *found))}


def _findings(plan: RunPlan, line: CaseLine) -> CaseFindings:
    scores = {
        name: _Scores(each.mean, each.std, each.min, each.max, each.count, each.passes)
        for name, each in line.metrics.items()
        if each.mean is not None and each.min is not None and each.max is not None
    }
    flags = {name: _Flag(each.raised, each.asked) for name, each in line.flags.items()}
    return case_findings(line.case_id, plan, metrics=scores, flags=flags)
