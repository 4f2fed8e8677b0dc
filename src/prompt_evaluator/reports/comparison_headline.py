"""The sentence that answers whether one run is better than another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import listed, many, p_value, percent, signed
from prompt_evaluator.reports.comparison_verdicts import MARKS, is_too_few, rank, too_few
from prompt_evaluator.reports.levels import digits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.model.comparison import (
        CompareVerdict,
        Comparison,
        FlagComparison,
        MetricComparison,
        PairedResult,
    )
    from prompt_evaluator.model.findings import Mark
    from prompt_evaluator.reports.comparison_verdicts import Letters

_NAMED = 3
"""Names in a list; beyond that, the others are counted."""
_DASH = "\N{EN DASH}"


def comparison_headline(comparison: Comparison, letters: Letters) -> str:
    """Say what got worse, what got better, and what cannot be told, in one sentence."""
    results: list[PairedResult] = [*comparison.metrics.values(), *comparison.flags.values()]
    if not results:
        return "Nothing can be compared: neither run has a score or a flag."
    if all(map(is_too_few, results)):
        return f"Cannot tell: {too_few(max(each.cases for each in results))}."
    text = "; ".join(_clauses(comparison, letters))
    return f"{text[0].upper()}{text[1:]}."  # starts with a letter of a run, or with a word


def comparison_mark(comparison: Comparison) -> Mark | None:
    """The mark of the most important verdict: worse, then better, then cannot tell."""
    verdicts: list[CompareVerdict] = [each.verdict for each in comparison.metrics.values()]
    verdicts += [each.verdict for each in comparison.flags.values() if each.verdict in ("worse", "better")]
    return MARKS[min(verdicts, key=rank)] if verdicts else "warning"


def _clauses(comparison: Comparison, letters: Letters) -> Iterator[str]:
    metrics, flags = comparison.metrics, comparison.flags
    yield from _moved(metrics, letters)
    yield from _raised(flags, letters)
    for side in ("baseline", "candidate"):
        if missing := [name for name, each in (*metrics.items(), *flags.items()) if each.missing == side]:
            yield f"{getattr(letters, side)} was not measured on {_names(missing, '')}"
    yield from _undecided(comparison, letters)


def _moved(metrics: Mapping[str, MetricComparison], letters: Letters) -> Iterator[str]:
    worse, better = (
        _names([_with_difference(name, each) for name, each in metrics.items() if _is(each, verdict)], "metrics")
        for verdict in ("worse", "better")
    )
    pair = f"{letters.candidate} is {{}} than {letters.baseline} on {{}}"
    if worse:
        yield pair.format("worse", worse) + (f", but better on {better}" if better else "")
    elif better:
        yield pair.format("better", better)


def _raised(flags: Mapping[str, FlagComparison], letters: Letters) -> Iterator[str]:
    for verdict, often in (("worse", "more"), ("better", "less")):
        if moved := [_with_shares(name, each) for name, each in flags.items() if _is(each, verdict)]:
            yield f"{letters.candidate} {often} often raises {_names(moved, 'flags')}"


def _undecided(comparison: Comparison, letters: Letters) -> Iterator[str]:
    """Metrics without a verdict, or flags if there are no metrics."""
    results = comparison.metrics or comparison.flags
    things = "metrics" if comparison.metrics else "flags"
    said = any(
        each.verdict in ("worse", "better") for each in (*comparison.metrics.values(), *comparison.flags.values())
    )
    same = _names([name for name, each in results.items() if _is(each, "no_difference")], things)
    open_ = _names([name for name, each in results.items() if _is(each, "inconclusive")], things)
    if same:
        yield f"no difference seen{'' if said else f' between {letters.baseline} and {letters.candidate}'} on {same}"
    if open_:
        whether = "" if said or same else f" whether {letters.candidate} differs from {letters.baseline}"
        yield f"cannot tell yet{whether} on {open_}"


def _is(found: PairedResult, verdict: str) -> bool:
    return found.verdict == verdict and found.missing is None


def _with_difference(name: str, found: MetricComparison) -> str:
    low, high = found.scale
    number = signed(found.difference or 0.0, digits(found.scale))
    return f"{name} ({number} on {low:,g}{_DASH}{high:,g}{_p(found)})"


def _with_shares(name: str, found: FlagComparison) -> str:
    shares = " → ".join(percent(share or 0.0) for share in (found.baseline_share, found.candidate_share))
    return f"{name} ({shares}{_p(found)})"


def _p(found: PairedResult) -> str:
    return f", {p_value(found.p_value)}" if found.p_value is not None else ""


def _names(names: list[str], things: str = "metrics") -> str:
    """`a, b and c`; of many, the first few and how many more there are."""
    if not names:
        return ""
    if len(names) <= _NAMED + 1:
        return listed(names)
    thing = things.removesuffix("s")
    return f"{', '.join(names[:_NAMED])} and {many(len(names) - _NAMED, f'other {thing}'.strip())}"
