"""Cases down and runs across: how each run did on each case, and how its answer begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.query import CaseQuery

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from prompt_evaluator.app.serving.compared_pair import ComparedPair, Known
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.case_filter import CaseFilter
    from prompt_evaluator.model.comparison import ComparedCase
    from prompt_evaluator.store import Store
    from prompt_evaluator.store.compared_run import AnswerPreview

PAGE = 25
"""Cases on a page."""
_MOST_PREVIEW = 400
_MOST_LINE = 90
Show = Literal["all", "failures", "different", "errors"]
SHOWS: tuple[Show, ...] = ("all", "failures", "different", "errors")


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One case in one run."""

    mean: float | None
    passes: int | None
    count: int
    missing: int
    """Samples that should have a score but do not."""
    kind: Literal["pass", "fail", "flaky", "error", "none"]
    answer: str | None
    """The first line of its first answer."""
    error: str | None


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """One case in all runs; None for a run that does not have it."""

    case_id: str
    cells: tuple[Cell | None, ...]


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the matrix."""

    rows: tuple[MatrixRow, ...]
    counts: dict[Show, int]
    """How many cases each choice shows."""
    start: int
    previous: int | None
    next: int | None


def matrix(  # noqa: PLR0913 - what to show of which runs
    settings: Settings,
    known: Known,
    run_ids: Sequence[str],
    metric: str | None,
    wanted: CaseFilter | None,
    *,
    changed: Collection[str],
    show: Show,
    start: int,
) -> Matrix:
    """A page of the cases of several runs, in the order of the first.

    Args:
        settings: Name the store.
        known: Remembers which cases match.
        run_ids: Whole ids, the baseline first.
        metric: Whose scores to show.
        wanted: Cases of the first candidate that match it; None for all.
        changed: Cases that changed beyond chance in some run.
        show: All cases, or only some.
        start: How many cases to skip.
    """
    store = open_store(settings)
    every = list(dict.fromkeys(case_id for run_id in run_ids for case_id in known.matching(CaseQuery(run_id=run_id))))
    if wanted is not None:
        fitting = set(known.matching(wanted.query(run_ids[1])))
        every = [case_id for case_id in every if case_id in fitting]
    choices = _choices(known, run_ids, every, set(changed))
    ids = choices[show][start : start + PAGE]
    return Matrix(
        rows=tuple(_rows(store, run_ids, ids, metric)),
        counts={name: len(found) for name, found in choices.items()},
        start=start,
        previous=max(0, start - PAGE) if start else None,
        next=start + PAGE if start + PAGE < len(choices[show]) else None,
    )


def changed_cases(pairs: Sequence[ComparedPair], metric: str | None) -> set[str]:
    """Cases that got worse or better on a metric in one of the candidates, beyond chance."""
    found: set[str] = set()
    for pair in pairs:
        cases = pair.cases.get(metric or "")
        if cases:
            found.update(cases.ids[at] for at in (cases.classes <= 1).nonzero()[0])  # worse or better
    return found


def _choices(known: Known, run_ids: Sequence[str], every: list[str], changed: set[str]) -> dict[Show, list[str]]:
    """The cases of each choice. Different are those that fail in some runs only, and those that changed."""
    failing = [set(known.matching(CaseQuery(run_id=run_id, failing=True))) for run_id in run_ids]
    errors = {id_ for run_id in run_ids for id_ in known.matching(CaseQuery(run_id=run_id, errors=True))}
    in_any, in_all = set().union(*failing), set(failing[0]).intersection(*failing)
    different = (in_any - in_all) | changed
    return {
        "all": every,
        "failures": [case_id for case_id in every if case_id in in_any],
        "different": [case_id for case_id in every if case_id in different],
        "errors": [case_id for case_id in every if case_id in errors],
    }


def _rows(store: Store, run_ids: Sequence[str], ids: Sequence[str], metric: str | None) -> list[MatrixRow]:
    columns = []
    for run_id in run_ids:
        run = store.compared(run_id)
        columns.append((run.find(ids), run.previews(ids, _MOST_PREVIEW)))
    return [
        MatrixRow(case_id=case_id, cells=tuple(_cell(case_id, metric, *column) for column in columns))
        for case_id in ids
    ]


def _cell(
    case_id: str, metric: str | None, cases: Mapping[str, ComparedCase], previews: Mapping[str, AnswerPreview]
) -> Cell | None:
    case, preview = cases.get(case_id), previews.get(case_id)
    if case is None:
        return None
    answer, error = (preview.answer, preview.error) if preview else (None, None)
    scores = case.scores.get(metric) if metric else None
    if scores is None:
        missing = case.unscored.get(metric or "", 0)
        kind: Literal["error", "none"] = "error" if missing or error else "none"
        return Cell(mean=None, passes=None, count=0, missing=missing, kind=kind, answer=_line(answer), error=error)
    return Cell(
        mean=scores.mean,
        passes=scores.passes,
        count=scores.count,
        missing=scores.missing,
        kind=_kind(scores.passes, scores.count),
        answer=_line(answer),
        error=error,
    )


def _kind(passes: int | None, count: int) -> Literal["pass", "fail", "flaky", "none"]:
    if passes is None:
        return "none"
    if passes == count:
        return "pass"
    return "flaky" if passes else "fail"


def _line(text: str | None) -> str | None:
    """The first line that has something in it."""
    if text is None:
        return None
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"{line[:_MOST_LINE]}…" if len(line) > _MOST_LINE else line
