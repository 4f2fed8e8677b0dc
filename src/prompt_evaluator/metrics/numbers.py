"""Metrics on numbers: a number in the answer, its length, latency and cost."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from msgspec import Meta

from prompt_evaluator.metrics.matching import near
from prompt_evaluator.metrics.rule import Rule, Trial, best, yes_or_no
from prompt_evaluator.model import Score, Scored, Skipped, TestCase, bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATTERN = r"""
    (?<!\w) (?<!\d[{decimal}])                                # not the 2 of H2O or the 3 of 1.2.3
    (?P<sign>[-+\u2212])? (?:[$\u20ac\u00a3\u00a5]\s?)?       # a minus sign may precede the currency
    (?P<digits> (?: \d{{1,3}} (?:[{thousands}]\d{{3}})+ (?!\d) | \d+ ) (?:[{decimal}]\d+)? | [{decimal}]\d+ )
    (?P<power> e[-+]?\d{{1,4}} (?!\w) )?
    (?P<percent> \s?% )?
"""
_POINT = re.compile(_PATTERN.format(decimal=".", thousands=",_'\u2019\u00a0\u202f"), re.VERBOSE | re.IGNORECASE)
_COMMA = re.compile(_PATTERN.format(decimal=",", thousands="._'\u2019\u00a0\u202f"), re.VERBOSE | re.IGNORECASE)
_SEPARATORS = str.maketrans("", "", ",_'\u2019\u00a0\u202f")
_SEPARATORS_OF_COMMA = str.maketrans({",": ".", **dict.fromkeys("._'\u2019\u00a0\u202f", "")})


class Figure(NamedTuple):
    """A number as written in a text."""

    number: float
    percent: bool
    text: str


class Numeric(Rule, frozen=True, kw_only=True):
    """The last (or first) number in the answer equals that of the reference, within a tolerance: 1 or 0.

    Units are ignored, thousands may be separated, and 45 % equals 0.45 or 45.
    """

    name: ClassVar[str] = "numeric"
    needs: ClassVar[tuple[str, ...]] = ("reference",)

    expected: Annotated[float, bounds.FIGURE.meta] | None = None
    """Used instead of the reference."""
    pick: Literal["last", "first"] = "last"
    """Which number counts, in the answer and in the reference."""
    abs_tolerance: Annotated[float, bounds.TOLERANCE.meta] = 0.0
    rel_tolerance: Annotated[float, bounds.TOLERANCE.meta] = 0.0
    """A share of the expected number; the wider of the two tolerances applies."""
    decimal_comma: bool = False
    """Whether the decimal separator is a comma, as in 1.234,5."""

    def missing(self, case: TestCase) -> str | None:
        if self._wanted(case):
            return None
        return "the reference has no number" if case.all_references else "the case has no reference"

    def assess(self, trial: Trial) -> Score:
        got = self._figure(trial.answer.text)
        return best([self._compared(wanted, got) for wanted in self._wanted(trial.case)])

    def _wanted(self, case: TestCase) -> list[Figure]:
        if self.expected is not None:
            return [Figure(self.expected, percent=False, text=f"{self.expected:g}")]
        return [figure for reference in case.all_references if (figure := self._figure(reference))]

    def _compared(self, wanted: Figure, got: Figure | None) -> Score:
        if got is None:
            return Scored(0.0, f"the answer has no number, expected {wanted.text}")
        details = {"expected": wanted.number, "found": got.number}
        if self._same(got, wanted):
            return Scored(1.0, "", details)
        return Scored(0.0, f"expected {wanted.text}, got {got.text}", details)

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
    """The answer's length in words or characters is within the given limits: 1 or 0."""

    name: ClassVar[str] = "length"
    needs: ClassVar[tuple[str, ...]] = ("min_words, max_words, min_characters or max_characters",)

    min_words: Annotated[int, bounds.LENGTH.meta] | None = None
    """Words are separated by white space."""
    max_words: Annotated[int, bounds.LENGTH.meta] | None = None
    min_characters: Annotated[int, bounds.LENGTH.meta] | None = None
    max_characters: Annotated[int, bounds.LENGTH.meta] | None = None

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the limits are options
        limits = (self.min_words, self.max_words, self.min_characters, self.max_characters)
        return "the case gives no length limit" if limits == (None,) * 4 else None

    def assess(self, trial: Trial) -> Score:
        text = trial.answer.text.strip()
        limits = (
            ("words", self.min_words, self.max_words),
            ("characters", self.min_characters, self.max_characters),
        )
        counts = {"words": len(text.split()), "characters": len(text)}
        wrong = [
            f"{counts[unit]:,} {unit}, expected {'at least' if short else 'at most'} {limit:,}"
            for unit, low, high in limits
            for short, limit in ((True, low), (False, high))
            if limit is not None and (counts[unit] < limit if short else counts[unit] > limit)
        ]
        return Scored(0.0 if wrong else 1.0, "; ".join(wrong), counts)


class Latency(Rule, frozen=True, kw_only=True):
    """The answer came within `max_ms` milliseconds: 1 or 0."""

    name: ClassVar[str] = "latency"
    needs: ClassVar[tuple[str, ...]] = ("max_ms",)

    max_ms: Annotated[float, Meta(ge=0, le=86_400_000)] | None = None

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the limit is an option
        return "the case gives no max_ms" if self.max_ms is None else None

    def assess(self, trial: Trial) -> Score:
        took, most = trial.answer.latency_ms, self.max_ms or 0.0
        return yes_or_no(holds=took <= most, otherwise=f"it took {took:,.0f} ms, expected at most {most:,.0f}")


class Cost(Rule, frozen=True, kw_only=True):
    """The answer cost at most `max_usd` US dollars: 1 or 0. Skipped if the cost is unknown."""

    name: ClassVar[str] = "cost"
    needs: ClassVar[tuple[str, ...]] = ("max_usd",)

    max_usd: Annotated[float, bounds.BUDGET.meta] | None = None

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the limit is an option
        return "the case gives no max_usd" if self.max_usd is None else None

    def assess(self, trial: Trial) -> Score:
        if (cost := trial.answer.cost) is None:
            return Skipped("the cost of the answer is unknown")
        most = self.max_usd or 0.0
        return yes_or_no(holds=cost <= most, otherwise=f"it cost ${cost:.6f}, expected at most ${most:.6f}")
