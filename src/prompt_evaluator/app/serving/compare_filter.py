"""The filter of a comparison: that of case tables, and `a>=3 b<2` on the means of the two runs."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.model.case_filter import CaseFilter, read_filter
from prompt_evaluator.model.comparison import CLASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy as np
    import numpy.typing as npt

    from prompt_evaluator.app.serving.compared_pair import Known, MetricCases
    from prompt_evaluator.model.condition import Condition

    Mask = npt.NDArray[np.bool_]

SIDES = ("a", "b")
_BOUNDS = ("<", "<=", ">", ">=")
_NEEDS_QUOTES = re.compile(r"[\s'\"\\]")


class PairFilter(NamedTuple):
    """A parsed filter."""

    cases: CaseFilter
    """What the candidate alone can tell, and `changed`."""
    bounds: tuple[Condition, ...]
    """On the mean of a run, named `a` or `b`."""

    @property
    def asks_store(self) -> bool:
        """Whether it says anything about the candidate's cases that the comparison does not know."""
        return msgspec.structs.replace(self.cases, changed=None, metric=None) != CaseFilter()

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves out cases for another reason than how they changed."""
        return self.asks_store or bool(self.bounds)


class Kept(NamedTuple):
    """Which cases match."""

    all: Mask
    without_change: Mask
    """Those that match all but `changed`: what the counts of changes are made of."""


def read_pair_filter(text: str, metrics: Collection[str]) -> PairFilter:
    """Parse a filter; raises as `read_filter`."""
    found = read_filter(text, [name for name in metrics if name not in SIDES])
    bounds = tuple(each for each in found.metadata if each.field in SIDES and each.operator in _BOUNDS)
    for each in bounds:
        _ = each.number  # refuses what is not a number
    others = tuple(each for each in found.metadata if each not in bounds)
    return PairFilter(msgspec.structs.replace(found, metadata=others), bounds)


def kept_cases(known: Known, run_id: str, wanted: PairFilter, cases: MetricCases) -> Kept:
    """Which of the compared cases match; the store is asked about the candidate's cases only if it must be."""
    import numpy as np  # noqa: PLC0415 - takes a tenth of a second

    mask: Mask = np.ones(len(cases.ids), np.bool_)
    for each in wanted.bounds:
        mask &= _COMPARE[each.operator](cases.baseline if each.field == "a" else cases.candidate, each.number)
    if wanted.asks_store:
        fitting = known.matching(wanted.cases.query(run_id))
        found = np.zeros(len(cases.ids), np.bool_)
        found[[place for case_id in fitting if (place := cases.places.get(case_id)) is not None]] = True
        mask &= found
    if wanted.cases.changed is None:
        return Kept(mask, mask)
    return Kept(mask & (cases.classes == CLASSES.index(wanted.cases.changed)), mask)


_COMPARE: dict[str, Callable[[npt.NDArray[np.float64], float], Mask]] = {
    "<": lambda values, number: values < number,
    "<=": lambda values, number: values <= number,
    ">": lambda values, number: values > number,
    ">=": lambda values, number: values >= number,
}


def changed_filter(text: str, starts: Sequence[str], add: Sequence[str] = ()) -> str:
    """The filter without the words that start like this, and with others at its end."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    kept = [word for word in words if not word.startswith(tuple(starts))]
    return " ".join(quoted(word) for word in (*kept, *add))


def bound_words(low: str, high: str, side: str) -> list[str]:
    """The words that say that a mean is between two numbers; either may be empty."""
    return [f"{side}{sign}{number.strip()}" for sign, number in ((">=", low), ("<=", high)) if number.strip()]


BOUND_STARTS = tuple(f"{side}{sign}" for side in SIDES for sign in ("<", ">"))


def quoted(word: str) -> str:
    """A word as it is typed: in quotes if it has a space or a quotation mark."""
    if not _NEEDS_QUOTES.search(word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
