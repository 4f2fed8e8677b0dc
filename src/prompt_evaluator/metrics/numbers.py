"""Figures: a number in the answer, its length, its time and its price."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from prompt_evaluator.metrics.matching import near
from prompt_evaluator.metrics.rule import Rule, Trial
from prompt_evaluator.model import Score, Scored, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATTERN = r"""
    (?<!\w) (?<!\d[{decimal}])                                # not the 2 of H2O or the 3 of 1.2.3
    (?P<sign>[-+\u2212])? (?:[$\u20ac\u00a3\u00a5]\s?)?       # a minus sign may stand before the currency
    (?P<digits> (?: \d{{1,3}} (?:[{thousands}]\d{{3}})+ (?!\d) | \d+ ) (?:[{decimal}]\d+)? | [{decimal}]\d+ )
    (?P<power> e[-+]?\d{{1,4}} (?!\w) )?
    (?P<percent> \s?% )?
"""
_POINT = re.compile(_PATTERN.format(decimal=".", thousands=",_'\u2019\u00a0\u202f"), re.VERBOSE | re.IGNORECASE)
_COMMA = re.compile(_PATTERN.format(decimal=",", thousands="._'\u2019\u00a0\u202f"), re.VERBOSE | re.IGNORECASE)
_SEPARATORS = str.maketrans("", "", ",_'\u2019\u00a0\u202f")
_SEPARATORS_OF_COMMA = str.maketrans({",": ".", **dict.fromkeys("._'\u2019\u00a0\u202f", "")})


class Figure(NamedTuple):
    """A number as it stands in a text."""

    number: float
    percent: bool
    text: str


class Numeric(Rule, frozen=True, kw_only=True):
    """The last number in the answer (or the first) is the reference's, within a tolerance: 1 or 0.

    Units are ignored, thousands may be separated, and 45 % is as good as 0.45 or 45.
    """

    name: ClassVar[str] = "numeric"
    needs: ClassVar[tuple[str, ...]] = ("reference",)

    expected: float | None = None
    """In place of the reference."""
    pick: Literal["last", "first"] = "last"
    """Which number counts, in the answer and in the reference."""
    abs_tolerance: float = 0.0
    rel_tolerance: float = 0.0
    """A share of the expected number; the wider of the two tolerances holds."""
    decimal_comma: bool = False
    """Whether 1.234,5 is one thousand and more."""

    def __post_init__(self) -> None:
        if not (self.abs_tolerance >= 0 and self.rel_tolerance >= 0):
            raise ValueError("A tolerance is not below 0")

    def assess(self, trial: Trial) -> Score:
        wanted = Figure(self.expected, percent=False, text=f"{self.expected:g}") if self.expected is not None else None
        if wanted is None:
            if trial.case.reference is None:
                return Skipped("the case has no reference")
            wanted = self._figure(trial.case.reference)
        if wanted is None:
            return Skipped("the reference has no number")
        got = self._figure(trial.answer.text)
        if got is None:
            return Scored(0.0, f"there is no number in the answer, expected {wanted.text}")
        details = {"expected": wanted.number, "found": got.number}
        return Scored(
            *((1.0, "") if self._same(got, wanted) else (0.0, f"expected {wanted.text}, got {got.text}")), details
        )

    def _figure(self, text: str) -> Figure | None:
        numbers = (_COMMA if self.decimal_comma else _POINT).finditer(text)
        found = next(numbers, None) if self.pick == "first" else _last(numbers)
        if found is None:
            return None
        digits = found["digits"].translate(_SEPARATORS_OF_COMMA if self.decimal_comma else _SEPARATORS)
        sign = "-" if found["sign"] in ("-", "\u2212") else ""
        number = float(f"{sign}{digits}{found['power'] or ''}")
        return Figure(number, found["percent"] is not None, found[0].strip())

    def _same(self, got: Figure, wanted: Figure) -> bool:
        scale = 1 if got.percent == wanted.percent else (0.01 if got.percent else 100)
        return any(
            near(got.number * factor, wanted.number, absolute=self.abs_tolerance, relative=self.rel_tolerance)
            for factor in {1, scale}
        )


def _last(found: Iterator[re.Match[str]]) -> re.Match[str] | None:
    kept = deque(found, maxlen=1)
    return kept[0] if kept else None


class Length(Rule, frozen=True, kw_only=True):
    """The answer has no fewer and no more words or characters than given: 1 or 0."""

    name: ClassVar[str] = "length"
    needs: ClassVar[tuple[str, ...]] = ("min_words, max_words, min_characters or max_characters",)

    min_words: int | None = None
    """Words are what stands between white space."""
    max_words: int | None = None
    min_characters: int | None = None
    max_characters: int | None = None

    def assess(self, trial: Trial) -> Score:
        text = trial.answer.text.strip()
        limits = (
            ("words", self.min_words, self.max_words),
            ("characters", self.min_characters, self.max_characters),
        )
        if all(low is None and high is None for _, low, high in limits):
            return Skipped("the case names no limit of the length")
        counts = {"words": len(text.split()), "characters": len(text)}
        wrong = [
            f"{counts[unit]:,} {unit}, {'at least' if short else 'at most'} {limit:,} wanted"
            for unit, low, high in limits
            for short, limit in ((True, low), (False, high))
            if limit is not None and (counts[unit] < limit if short else counts[unit] > limit)
        ]
        return Scored(0.0 if wrong else 1.0, "; ".join(wrong), counts)


class Latency(Rule, frozen=True, kw_only=True):
    """The answer came within `max_ms` milliseconds: 1 or 0."""

    name: ClassVar[str] = "latency"
    needs: ClassVar[tuple[str, ...]] = ("max_ms",)

    max_ms: float | None = None

    def assess(self, trial: Trial) -> Score:
        if self.max_ms is None:
            return Skipped("the case names no max_ms")
        took = trial.answer.latency_ms
        if took <= self.max_ms:
            return Scored(1.0)
        return Scored(0.0, f"it took {took:,.0f} ms, at most {self.max_ms:,.0f} wanted")


class Cost(Rule, frozen=True, kw_only=True):
    """The answer cost no more than `max_usd` US dollars: 1 or 0. An unknown cost is no score."""

    name: ClassVar[str] = "cost"
    needs: ClassVar[tuple[str, ...]] = ("max_usd",)

    max_usd: float | None = None

    def assess(self, trial: Trial) -> Score:
        if self.max_usd is None:
            return Skipped("the case names no max_usd")
        if (cost := trial.answer.cost) is None:
            return Skipped("the cost of the answer is not known")
        if cost <= self.max_usd:
            return Scored(1.0)
        return Scored(0.0, f"it cost ${cost:.6f}, at most ${self.max_usd:.6f} wanted")
