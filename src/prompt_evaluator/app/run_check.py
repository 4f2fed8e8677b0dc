"""Checks that the results of a stored run are those of its units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.filling import StoredResults
from prompt_evaluator.errors import PromptEvaluatorError, StoreError
from prompt_evaluator.hints import some_of
from prompt_evaluator.model.upkeep import StoreFinding
from prompt_evaluator.model.wording import many
from prompt_evaluator.store.result_rows import FinishedCase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.result import RunResult
    from prompt_evaluator.store.checking import RunCounts
    from prompt_evaluator.store.upkeep import UpkeepStore

_BATCH = 128
_NAMED = 5


def check_run(
    store: UpkeepStore, record: RunRecord, *, deep: bool, say: Callable[[str], None]
) -> Iterator[StoreFinding]:
    """Compare counts of a run that nobody works on; if `deep`, also compute all its results again."""
    run_id = record.plan.run_id
    summary = store.run_line(run_id).summary
    counts = store.counts(run_id)
    if counts.planned is not None and counts.planned != counts.cases:
        text = f"cases are missing: its plan has {many(counts.planned, 'case')}, the store {counts.cases:,}."
        yield _problem(run_id, text, "Restore a backup, or copy the run from one.")
        return
    wrong = list(_counted(record, counts, summary))
    if deep and not wrong:
        wrong += _computed(store, record, summary, say)
    for text in wrong:
        yield _problem(run_id, text, f"Make its results again with `prompt-evaluator runs rebuild {run_id}`.")


def _problem(run_id: str, text: str, advice: str) -> StoreFinding:
    return StoreFinding(level="problem", text=f"Run {run_id}: {text}", advice=advice, run_id=run_id)


def _counted(record: RunRecord, counts: RunCounts, summary: RunResult | None) -> Iterator[str]:
    if counts.begun != counts.results:
        yield f"{many(counts.begun, 'case')} have units, but {counts.results:,} have results."
    if summary is None:
        if counts.begun:
            yield "it has units, but no summary."
        return
    begun = _without_pending(counts.by_status), _without_pending(counts.samples)
    if (_without_pending(summary.totals.cases), _without_pending(summary.totals.samples)) != begun:
        yield "the cases and samples counted in its summary are not those of its results."
    if summary.run_id != record.plan.run_id:
        yield "its summary is that of another run."


def _without_pending(counts: dict[str, int]) -> dict[str, int]:
    return {status: count for status, count in counts.items() if status != "pending"}


def _computed(
    store: UpkeepStore, record: RunRecord, summary: RunResult | None, say: Callable[[str], None]
) -> Iterator[str]:
    run_id = record.plan.run_id
    filler = StoredResults(record, store.prepared_units(run_id))
    different: list[str] = []
    start = number = 0
    try:
        while batch := store.cases(run_id, start=start, limit=_BATCH):
            units = store.units(run_id, [stored.case.id for stored in batch])
            results = filler.add([stored.case for stored in batch], units)
            begun = [
                FinishedCase(stored.position, result, filler.judges)
                for stored, result in zip(batch, results, strict=True)
                if units[stored.case.id]
            ]
            places = range(start, batch[-1].position + 1)
            wrong = store.different_rows(run_id, places, begun)
            different += [stored.case.id for stored in batch if stored.position in wrong][: _NAMED + 1]
            number += len(wrong)
            start = places.stop
            say(f"Run {run_id}: computed the results of {many(start, 'case')}.")
    except StoreError:
        raise
    except (PromptEvaluatorError, msgspec.MsgspecError, ValueError, LookupError, ImportError) as error:
        yield f"its results cannot be computed from its units: {error}"
        return
    if number:
        cases = some_of(different, _NAMED, total=number)
        yield f"the results of {many(number, 'case')} are not those of their units: {cases}."
    if summary is not None and not _alike(_plain(filler.result()), _plain(summary)):
        yield "its summary is not that of its units."


def _plain(result: RunResult) -> Any:
    plain = msgspec.to_builtins(result)
    plain["totals"].pop("time_outs")  # tries of calls that were stopped are in no unit
    return plain


def _alike(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal but for the rounding of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, int | float):
        return f"{one:.10g}" == f"{float(other):.10g}"
    return bool(one == other)
