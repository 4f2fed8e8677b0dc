"""Cases of a stored run: those worth looking at, or one with all its samples, and what is to be said about them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.findings import case_findings
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model import RunRecord, TestCase
from prompt_evaluator.model.findings import CaseFindings
from prompt_evaluator.model.query import CaseLine, CaseQuery, SampleLine

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.query import CaseDetail, Page
    from prompt_evaluator.store import Store


class CaseSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases of a run: all that is asked for has to hold."""

    flaky: bool = False
    errors: bool = False
    flagged: bool = False
    failing: bool = False
    worst: bool = False
    """Only cases that have a score by the metric."""
    metric: str | None = None
    """The one that says which case is worse; the run's first unless somebody says."""
    limit: int = 20
    cursor: str | None = None
    samples: bool = False
    """Whether their answers are wanted too."""


class CaseView(msgspec.Struct, frozen=True, kw_only=True):
    """A case and what is to be said about it."""

    line: CaseLine
    findings: CaseFindings
    samples: tuple[SampleLine, ...] | None = None
    """None where they were not asked for."""


class CaseList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of cases."""

    record: RunRecord
    cases: tuple[CaseView, ...]
    matching: int
    """On all pages."""
    metric: str | None
    """The one that they are sorted by; None where they are in another order."""
    next: str | None


class WholeCase(msgspec.Struct, frozen=True, kw_only=True):
    """One case with everything that is known about it."""

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
    """A page of the cases of a run: the worst first, the flakiest first, or in the order of the dataset."""
    with closing(open_store(settings)) as store:
        record = store.run(run_id)
        query, metric = _query(store, record, selection)
        page = store.query_cases(query)
        lines = [line for line in page.items if not selection.worst or _has_score(line, metric)]
        return CaseList(
            record=record,
            cases=tuple(_view(store, record.plan, line, samples=selection.samples) for line in lines),
            matching=_matching(store, query, page),
            metric=metric if query.sort == metric else None,
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
    sort = metric if by_metric and metric else "flakiness" if selection.flaky else "position"
    query = CaseQuery(
        run_id=record.plan.run_id,
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
    plan, summary = record.plan, store.run_line(record.plan.run_id).summary
    measured = summary.overall_metric_stats if summary else {}
    criteria = plan.rubric.metrics if plan.rubric else ()
    names = (*measured, *(each.name for each in criteria), *(use.key for use in plan.metrics))
    return next(iter(names), None)


def _matching(store: Store, query: CaseQuery, page: Page[CaseLine]) -> int:
    whole = page.next is None and query.cursor is None
    return len(page.items) if whole else store.count_cases(query)


def _has_score(line: CaseLine, metric: str | None) -> bool:
    found = line.metrics.get(metric or "")
    return found is not None and found.mean is not None


def _view(store: Store, plan: RunPlan, line: CaseLine, *, samples: bool) -> CaseView:
    if samples:
        return _viewed(plan, store.case_detail(plan.run_id, line.case_id))
    return CaseView(line=line, findings=_findings(plan, line))


def _viewed(plan: RunPlan, detail: CaseDetail) -> CaseView:
    return CaseView(line=detail.case, findings=_findings(plan, detail.case), samples=detail.samples)


def _findings(plan: RunPlan, line: CaseLine) -> CaseFindings:
    scores = {
        name: _Scores(each.mean, each.std, each.min, each.max, each.count, each.passes)
        for name, each in line.metrics.items()
        if each.mean is not None and each.min is not None and each.max is not None
    }
    flags = {name: _Flag(each.raised, each.asked) for name, each in line.flags.items()}
    return case_findings(line.case_id, plan, metrics=scores, flags=flags)
