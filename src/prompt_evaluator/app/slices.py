"""Groups of a run's cases against the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.chart import SliceCell
from prompt_evaluator.model.slicing import Groups
from prompt_evaluator.stats import FEWEST_CASES, Spread
from prompt_evaluator.stats.intervals import summed_interval
from prompt_evaluator.stats.multiple import holm
from prompt_evaluator.stats.paired import Running
from prompt_evaluator.stats.two_groups import Group, means_differ, without

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prompt_evaluator.stats.packed import Floats
    from prompt_evaluator.store import Store

Scale = tuple[float, float]


class _Sums:
    """The case means of one metric in one slice."""

    __slots__ = ("at_high", "at_low", "scale", "values")

    def __init__(self, scale: Scale) -> None:
        self.scale, self.values = scale, Running()
        self.at_low = self.at_high = 0

    def add(self, means: Floats) -> None:
        self.values.extend(means)
        self.at_low += int((means == self.scale[0]).sum())
        self.at_high += int((means == self.scale[1]).sum())

    @property
    def group(self) -> Group:
        flat = self.values.max == self.values.min
        return Group(self.values.mean, 0.0 if flat else self.values.std or 0.0, self.values.count)

    @property
    def spread(self) -> Spread:
        group = self.group
        return Spread(group.mean, group.std, self.values.min, self.values.max, group.size)


_ByMetric = dict[str, _Sums]


def slice_cells(store: Store, run_id: str, keys: Sequence[str] | None = None) -> tuple[SliceCell, ...]:
    """Every metric over every slice, by metadata keys with 2 to 20 values or those asked for; the most certain first.

    Raises:
        UnknownNameError: No case has a key that was asked for.
        ConfigurationError: A key that was asked for has too many values.
    """
    record = store.run(run_id)

    def add(sums: _ByMetric, metric: str, means: Floats) -> None:
        if metric not in sums:
            scale = record.plan.scale(metric)
            sums[metric] = _Sums((scale.low, scale.high))
        sums[metric].add(means)

    every, groups = _sum_up(store, record.plan.run_id, keys, add)
    found = [
        (key, value, metric, sums, without(every[metric].group, sums.group))
        for key, value, by_metric in groups.few(_divides)
        for metric, sums in by_metric.items()
    ]
    tested = [
        None if rest is None or sums.values.count < FEWEST_CASES else means_differ(sums.group, rest)
        for *_, sums, rest in found
    ]
    corrected = iter(holm([p_value for p_value in tested if p_value is not None]))
    cells = [
        _cell(key, value, metric, sums, rest, None if p_value is None else next(corrected))
        for (key, value, metric, sums, rest), p_value in zip(found, tested, strict=True)
    ]
    return tuple(
        sorted(cells, key=lambda cell: (1.0 if cell.p_value is None else cell.p_value, cell.difference or 0.0))
    )


def _sum_up(
    store: Store, run_id: str, keys: Sequence[str] | None, add: Callable[[_ByMetric, str, Floats], None]
) -> tuple[_ByMetric, Groups[_ByMetric]]:
    """Sums of all cases that have a score, and of the groups of these."""
    from prompt_evaluator.compare.kinds import Kinds, any_score  # noqa: PLC0415 - loads numpy
    from prompt_evaluator.stats.packed import places, scores  # noqa: PLC0415

    every: _ByMetric = {}
    groups: Groups[_ByMetric] = Groups(dict, keys)
    for piece in store.case_columns(run_id):
        measured = {name: (places(each.at, piece.size), scores(each.mean, 0)) for name, each in piece.metrics.items()}
        for name, (_, means) in measured.items():
            add(every, name, means)
        for sums, is_member in Kinds.of(piece, any_score(piece)).members(groups):
            for name, (at, means) in measured.items():
                if (here := is_member[at]).any():
                    add(sums, name, means[here])
    return every, groups


def _divides(groups: Sequence[_ByMetric]) -> bool:
    """Whether there are several values, one of them with enough cases for a test."""
    largest = max((sums.values.count for by_metric in groups for sums in by_metric.values()), default=0)
    return len(groups) > 1 and largest >= FEWEST_CASES


def _cell(key: str, value: str, metric: str, sums: _Sums, rest: Group | None, p_value: float | None) -> SliceCell:  # noqa: PLR0913, PLR0917
    interval = summed_interval(sums.spread, (sums.at_low, sums.at_high), sums.scale)
    mean = sums.values.mean
    return SliceCell(
        key=key,
        value=value,
        metric=metric,
        mean=mean,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        scale=sums.scale,
        cases=sums.values.count,
        difference=mean - rest.mean if rest else None,
        p_value=p_value,
    )
