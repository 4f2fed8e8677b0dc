"""The runs of a trend as a table and a chart show them: with the change that begins there, and the gate's verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

import msgspec

from prompt_evaluator.app.chart_data import trend_data
from prompt_evaluator.model.run_facts import SHORT_ID
from prompt_evaluator.model.trend import TrendDifference
from prompt_evaluator.model.wording import decimal, p_value, signed
from prompt_evaluator.stats.distributions import normal_quantile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prompt_evaluator.model.chart import TrendRun
    from prompt_evaluator.model.release import Verdict
    from prompt_evaluator.model.trend import MetricTrend, RunVersion, TrendChange, TrendPoint

_COVERED = normal_quantile(0.975)


class TrendRow(NamedTuple):
    """One run."""

    point: TrendPoint
    interval: tuple[float, float] | None
    """95 %, of repeating the run with the same cases."""
    change: TrendChange | None
    """The change of level that begins with it."""
    moved: str
    """The change in words: `3.80 → 4.20: +0.40 (+0.25 to +0.55), p = 0.001`."""
    verdict: Verdict | None
    version: RunVersion
    differences: tuple[TrendDifference, ...]
    """From the run before it in the table."""

    @property
    def said(self) -> str:
        """What is to be said about it besides its mean."""
        parts = [
            f"{self.moved}" if self.change else "",
            "blip" if self.point.blip else "",
            ", ".join(each.text for each in self.differences),
            f"gate: {self.verdict.verdict}" if self.verdict else "",
        ]
        return "; ".join(part for part in parts if part)


def merged_rows(series: Sequence[tuple[RunVersion, MetricTrend]], verdicts: Mapping[str, Verdict]) -> list[TrendRow]:
    """The runs of one or several versions, the oldest first.

    Args:
        series: The same metric, for each version.
        verdicts: The newest one on each run that has one.
    """
    found = sorted((row for version, metric in series for row in _rows(version, metric, verdicts)), key=_started)
    for at in range(1, len(found)):
        changed = tuple(_between(found[at - 1].version, found[at].version))
        if changed:  # what differs from the run before in its own version says nothing about this one
            found[at] = found[at]._replace(differences=changed)
    return found


def chart_runs(metric: MetricTrend, rows: Sequence[TrendRow], *, several: bool) -> Iterator[TrendRun]:
    """The same runs for the chart, with addresses. Levels of several versions would lie on each other."""
    plain = {point.run_id: run for point, run in zip(metric.points, trend_data(metric).trend, strict=True)}
    for row in rows:
        low, high = row.interval or (None, None)
        run = plain.get(row.point.run_id) or msgspec.structs.replace(
            next(iter(plain.values())),
            run=row.point.run_id[:SHORT_ID],
            started_at=row.point.started_at,
            mean=row.point.mean,
            low=low,
            high=high,
            change_point=row.change is not None,
            outlier=row.point.blip,
        )
        yield msgspec.structs.replace(
            run,
            level=None if several else run.level,
            changed=tuple(difference.what for difference in row.differences),
            verdict=row.verdict.verdict if row.verdict else None,
            link=f"/runs/{row.point.run_id}",
            change_link=compared(row.change) if row.change else None,
        )


def compared(change: TrendChange) -> str:
    """The address of the comparison of the runs before and after a change."""
    return f"/compare?{urlencode({'a': change.previous_run_id, 'b': change.run_id})}"


def _rows(version: RunVersion, metric: MetricTrend, verdicts: Mapping[str, Verdict]) -> Iterator[TrendRow]:
    changes = {change.run_id: change for change in metric.changes}
    for point in metric.points:
        change = changes.get(point.run_id)
        half = None if point.error is None else _COVERED * point.error
        yield TrendRow(
            point=point,
            interval=None if half is None else (point.mean - half, point.mean + half),
            change=change,
            moved=_moved(change, metric.digits) if change else "",
            verdict=verdicts.get(point.run_id),
            version=version,
            differences=point.differences,
        )


def _moved(change: TrendChange, digits: int) -> str:
    before, after = (decimal(value, digits) for value in (change.before, change.after))
    low, by, high = (signed(value, digits) for value in (change.low, change.after - change.before, change.high))
    return f"{before} → {after}: {by} ({low} to {high}), {p_value(change.p_value)}"


def _between(before: RunVersion, after: RunVersion) -> Iterator[TrendDifference]:
    for what, names in (("dataset", ("dataset_hash",)), ("judge", ("judge_model", "judge_hash"))):
        one, other = ([getattr(version, name) for name in names] for version in (before, after))
        if one != other:
            shown = [_short(values, what) for values in (one, other)]
            text = f"{what} {shown[0]} → {shown[1]}" if shown[0] != shown[1] else f"{what} changed"
            yield TrendDifference(what=what, before=one[-1], after=other[-1], text=text)


def _short(values: Sequence[str | None], what: str) -> str:
    first = values[0]
    return "none" if first is None else first[:SHORT_ID] if what == "dataset" else first


def _started(row: TrendRow) -> tuple[str, str]:
    return row.point.started_at, row.point.run_id
