"""Stored runs of several models, with means and intervals as a test wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from trend_runs import METRIC, add_run

if TYPE_CHECKING:
    from prompt_evaluator.store import Store

CASES = 10


def add_ranked(store: Store, number: int, mean: float, half: float | None = 0.2, **given: Any) -> str:
    """A finished run of ten cases with one sample each.

    Args:
        store: Where to.
        number: Which one; decides the id and the day.
        mean: Of the metric, on a scale from 1 to 5.
        half: Half the width of its interval; None for no interval.
        given: As for `add_run`, and `totals`, and `cases`: how many have a score.
    """
    totals, cases = given.pop("totals", {}), given.pop("cases", CASES)
    run_id = add_run(store, number, [[mean]] * CASES, **given)
    summary = store.run_line(run_id).summary
    assert summary is not None
    stats = msgspec.structs.replace(
        summary.overall_metric_stats[METRIC],
        interval=None if half is None else (mean - half, mean + half),
        num_cases=cases,
    )
    counted = {"samples": {"completed": CASES}, "input_tokens": 700, "output_tokens": 100, **totals}
    changed = msgspec.structs.replace(
        summary,
        overall_metric_stats={METRIC: stats},
        totals=msgspec.structs.replace(summary.totals, **counted),
    )
    store.update_run(
        run_id, status=given.get("status", "completed"), ended_at="2026-06-01T00:00:00.000Z", summary=changed
    )
    return run_id
