"""Each metric, flag and slice of a comparison in words: better, worse, no difference seen, or cannot tell yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.comparison_findings import PairedFinding
from prompt_evaluator.model.wording import decimal, many, p_value, percent, points, short_number, signed
from prompt_evaluator.reports.levels import digits
from prompt_evaluator.stats import FEWEST_CASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prompt_evaluator.model.comparison import (
        CompareVerdict,
        FlagComparison,
        MetricComparison,
        PairedResult,
        SliceComparison,
    )
    from prompt_evaluator.model.findings import Mark, Scale

SIGNIFICANT = 0.05
MARKS: dict[CompareVerdict, Mark | None] = {
    "worse": "bad",
    "better": "good",
    "inconclusive": "warning",
    "no_difference": None,
}
WORDS: dict[CompareVerdict, str] = {
    "worse": "worse",
    "better": "better",
    "inconclusive": "cannot tell yet",
    "no_difference": "no difference seen",
}
_RANKS = {verdict: rank for rank, verdict in enumerate(MARKS)}
_EFFECTS = ((0.2, "tiny"), (0.5, "small"), (0.8, "medium"))
"""Cohen's limits; above the last, an effect is large."""
_CLEARLY = 1.001
"""Beyond a threshold by more than rounding."""
_EXACT_UP_TO = 20
"""Larger numbers of cases are rounded up: they are estimates."""


class Letters(NamedTuple):
    """What the two runs are called."""

    baseline: str
    candidate: str


class _Unit(NamedTuple):
    """How values of a metric or a flag are written."""

    value: Callable[[float], str]
    difference: Callable[[float], str]
    amount: Callable[[float], str]
    """A difference without a sign."""


def metric_finding(name: str, found: MetricComparison, letters: Letters) -> PairedFinding:
    return _finding(name, found, (found.baseline_mean, found.candidate_mean), unit_of(found.scale), letters)


def flag_finding(name: str, found: FlagComparison, letters: Letters) -> PairedFinding:
    return _finding(name, found, (found.baseline_share, found.candidate_share), _SHARES, letters)


def slice_finding(found: SliceComparison, scale: Scale | None) -> PairedFinding:
    unit = unit_of(scale)
    means = f"{unit.value(found.baseline_mean)} → {unit.value(found.candidate_mean)}"
    p = p_value(found.p_value) if found.p_value is not None else ""
    name = slice_name(found)
    return PairedFinding(
        name=name,
        mark=MARKS[found.verdict],
        verdict=found.verdict,
        word=WORDS[found.verdict],
        means=means,
        difference=unit.difference(found.difference),
        interval=_interval(found.low, found.high, unit),
        p=p,
        effect="",
        record=f"{found.cases:,}",
        text=f"{name}: {WORDS[found.verdict]} ({means}, {p})",
        notes=(),
    )


def slice_name(found: SliceComparison) -> str:
    return f"{found.key} = {found.value}: {found.metric}"


def rank(verdict: CompareVerdict) -> int:
    """Position in lists: what got worse comes first."""
    return _RANKS[verdict]


def unit_of(scale: Scale | None) -> _Unit:
    places = digits(scale)
    return _Unit(lambda value: decimal(value, places), lambda value: signed(value, places), short_number)


_SHARES = _Unit(percent, points, lambda share: points(share).lstrip("+"))


def is_too_few(found: PairedResult) -> bool:
    """Whether the runs have too few cases in common for any interval."""
    return found.missing is None and found.cases < FEWEST_CASES


def too_few(cases: int) -> str:
    if not cases:
        return "no case has scores in both runs that can be compared"
    return f"{many(cases, 'common case')}; at least {FEWEST_CASES} are needed"


def is_significant(found: PairedResult) -> bool:
    return found.p_value is not None and found.p_value < SIGNIFICANT


def has_unlike_scales(found: PairedResult) -> bool:
    """Whether a large difference says nothing, because the runs seem to have used different scales."""
    return found.verdict == "inconclusive" and is_significant(found) and _is_beyond(found)


def _is_beyond(found: PairedResult) -> bool:
    return found.difference is not None and abs(found.difference) > found.threshold * _CLEARLY


def _finding(
    name: str, found: PairedResult, values: tuple[float | None, float | None], unit: _Unit, letters: Letters
) -> PairedFinding:
    word, notes = _word(found, letters), tuple(_notes(found, unit))
    reasons = "; ".join(notes)
    return PairedFinding(
        name=name,
        mark=MARKS[found.verdict],
        verdict=found.verdict,
        word=word,
        means=" → ".join("none" if value is None else unit.value(value) for value in values),
        difference=unit.difference(found.difference) if found.difference is not None else "",
        interval=_interval(found.low, found.high, unit),
        p=p_value(found.p_value) if found.p_value is not None else "",
        effect=_effect(found.effect_size),
        record=f"{found.wins:,} won, {found.losses:,} lost, {found.ties:,} tied" if found.cases else "",
        text=f"{name}: {word}{': ' if reasons else ''}{reasons}.",
        notes=notes,
    )


def _word(found: PairedResult, letters: Letters) -> str:
    if found.missing:
        return f"not measured in {getattr(letters, found.missing)}"
    return "cannot tell" if is_too_few(found) else WORDS[found.verdict]


def _notes(found: PairedResult, unit: _Unit) -> Iterator[str]:
    """Say why, if the verdict and the numbers do not."""
    if found.missing:
        yield "this counts as worse"
    elif is_too_few(found):
        yield too_few(found.cases)
    elif found.verdict == "no_difference" and is_significant(found):
        yield f"a real difference, but smaller than {unit.amount(found.threshold)}"
    elif found.verdict == "inconclusive":
        yield "; ".join(_cannot_tell(found, unit))


def _cannot_tell(found: PairedResult, unit: _Unit) -> Iterator[str]:
    matters = unit.amount(found.threshold)
    if has_unlike_scales(found):
        yield "the scores look like those of two different scales"
        return
    if is_significant(found):
        yield f"a real difference, but perhaps smaller than {matters}"
    elif found.ties == found.cases:
        yield f"equal in all {many(found.cases, 'case')}, which does not rule out a difference"
    elif found.detectable is not None and found.detectable > found.threshold:
        visible = unit.amount(_two_digits(found.detectable))
        yield f"with {many(found.cases, 'case')} only differences of {visible} or more show"
    if found.more_cases_needed and found.method == "exact_bound" and _is_beyond(found):
        yield f"about {many(about(found.more_cases_needed), 'more case')} would tell"
    elif found.more_cases_needed:
        yield f"about {many(about(found.more_cases_needed), 'more case')} would show {matters}{_samples(found)}"
    else:
        yield "more cases or samples would narrow the interval"


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


def _samples(found: PairedResult) -> str:
    if found.more_samples_needed is None:
        return " (more samples per case alone would not)"
    return f" (or about {many(about(found.more_samples_needed), 'more sample')} per case)"


def about(number: int) -> int:
    """Round a large number up to about two digits."""
    step = max(5, 10 ** (len(str(number)) - 2)) if number > _EXACT_UP_TO else 1
    return -(-number // step) * step


def _interval(low: float | None, high: float | None, unit: _Unit) -> str:
    if low is None or high is None:
        return ""
    number, _, _ = unit.difference(low).partition(" ")
    return f"{number} to {unit.difference(high)}"


def _effect(size: float | None) -> str:
    if size is None:
        return ""
    word = next((word for limit, word in _EFFECTS if abs(size) < limit), "large")
    return f"{signed(size, 2)} {word}"
