"""Groups of common cases with the same value of a metadata key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.compare.columns import Measure, verdict_of
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.comparison import SliceComparison
from prompt_evaluator.stats.multiple import holm
from prompt_evaluator.stats.paired import Paired, Running, paired_from_running

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_FEWEST_CASES = 5
_MOST_VALUES = 20
_MOST_ASKED_VALUES = 200
_MOST_KEYS = 100
"""Keys looked at, so that metadata with a new key in every case does not fill the memory."""


class CaseMeans(NamedTuple):
    """A common case on one metric."""

    metric: str
    baseline: float
    candidate: float


class Slices(NamedTuple):
    """All slices, and how many of them × metrics were tested."""

    slices: tuple[SliceComparison, ...]
    compared: int


class _Sums:
    __slots__ = ("baseline", "candidate", "difference")

    def __init__(self) -> None:
        self.baseline = self.candidate = 0.0
        self.difference = Running()

    def add(self, means: CaseMeans) -> None:
        self.baseline += means.baseline
        self.candidate += means.candidate
        self.difference.add(means.candidate - means.baseline)


_Groups = dict[str, dict[str, _Sums]]
"""Maps value to metric to sums."""


class SliceTally:
    """Adds up the common cases by every key that divides them into a few groups, or by those asked for."""

    def __init__(self, asked: Sequence[str] | None) -> None:
        self._asked = asked
        self._groups: dict[str, _Groups | None] = dict.fromkeys(asked or ())
        if asked is not None:
            self._groups = {key: {} for key in asked}
        self._known: set[str] = set()

    def add(self, metadata: Mapping[str, Any], means: Sequence[CaseMeans]) -> None:
        for key, value in metadata.items():
            if len(self._known) < _MOST_KEYS or key in self._groups:
                self._known.add(key)
            elif self._asked is None:
                continue
            if self._asked is None:
                self._groups.setdefault(key, {})
            groups = self._groups.get(key)
            if groups is not None and value is not None:
                self._add_to(key, groups, _texts(value), means)

    def _add_to(self, key: str, groups: _Groups, texts: Sequence[str] | None, means: Sequence[CaseMeans]) -> None:
        if texts is None:
            if self._asked is None:
                self._groups[key] = None
            return
        for text in texts:
            sums = groups.setdefault(text, {})
            for mean in means:
                if mean.metric not in sums:
                    sums[mean.metric] = _Sums()
                sums[mean.metric].add(mean)
        if self._asked is None and len(groups) > _MOST_VALUES:
            self._groups[key] = None
        elif len(groups) > _MOST_ASKED_VALUES:
            what = f"The cases cannot be sliced by {key!r}: it has more than {_MOST_ASKED_VALUES} values."
            raise ConfigurationError(f"{what} Choose a key with fewer.")

    def finish(self, measures: Mapping[str, Measure]) -> Slices:
        """Test all slices, with one correction for all of them.

        Raises:
            UnknownNameError: No common case has a key that was asked for.
        """
        for key in self._asked or ():
            if key not in self._known:
                raise UnknownNameError("metadata key", key, self._known)
        found = [
            _Tested(key, value, metric, sums, paired_from_running(sums.difference, span=measures[metric].span))
            for key, value, metric, sums in self._few_groups()
        ]
        tested = [each for each in found if each.paired.p_value is not None]
        corrected = dict(zip(map(id, tested), holm([each.p_value for each in tested]), strict=True))
        found.sort(key=lambda each: (each.certainty, each.paired.mean or 0.0))
        rows = (each.comparison(corrected.get(id(each)), measures[each.metric]) for each in found)
        return Slices(tuple(rows), len(tested))

    def _few_groups(self) -> Iterator[tuple[str, str, str, _Sums]]:
        for key, groups in self._groups.items():
            if not groups or (self._asked is None and not _divides(groups)):
                continue
            for value, by_metric in groups.items():
                for metric, sums in by_metric.items():
                    yield key, value, metric, sums


class _Tested(NamedTuple):
    key: str
    value: str
    metric: str
    sums: _Sums
    paired: Paired

    @property
    def p_value(self) -> float:
        return 1.0 if self.paired.p_value is None else self.paired.p_value

    @property
    def certainty(self) -> float:
        """Lowest for the most certain drop, highest for the most certain gain."""
        return self.p_value if (self.paired.mean or 0.0) < 0 else 2 - self.p_value

    def comparison(self, p_value: float | None, measure: Measure) -> SliceComparison:
        count, paired = self.paired.count, self.paired
        difference = paired.mean or 0.0
        return SliceComparison(
            key=self.key,
            value=self.value,
            metric=self.metric,
            cases=count,
            baseline_mean=self.sums.baseline / count,
            candidate_mean=self.sums.candidate / count,
            difference=difference,
            low=paired.low,
            high=paired.high,
            p_value=p_value,
            verdict=verdict_of(difference, paired.low, paired.high, p_value, measure),
        )


def _divides(groups: _Groups) -> bool:
    """Whether there are several values, one of them with enough cases for a test."""
    largest = max((sums.difference.count for by_metric in groups.values() for sums in by_metric.values()), default=0)
    return len(groups) > 1 and largest >= _FEWEST_CASES


def _texts(value: Any) -> tuple[str, ...] | None:
    """The value as text; every element of a list of texts, such as tags. None if it does not name a group."""
    match value:
        case bool():
            return ("true" if value else "false",)
        case str() | int():
            return (str(value),)
        case list() | tuple() if all(isinstance(each, str) for each in value):
            return tuple(dict.fromkeys(value))
    return None
