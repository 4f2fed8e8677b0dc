"""Cases and slices that got worse or better, and what the runs used, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.comparison_findings import (
    AmountFinding,
    CaseCount,
    FlippedCase,
    FlippedCases,
    SlicesFinding,
)
from prompt_evaluator.model.wording import kinds, money, p_value, percent, signed
from prompt_evaluator.reports.comparison_verdicts import rank, slice_finding, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from prompt_evaluator.model.comparison import (
        CaseClass,
        CaseComparison,
        Comparison,
        MetricComparison,
        RunFacts,
    )
    from prompt_evaluator.reports.comparison_verdicts import Letters

_CLASSES: dict[CaseClass, str] = {"worse": "worse", "better": "better", "same": "same", "too_few": "too few"}
_SECOND, _HUNDRED, _TWICE = 1_000, 100, 2
_SMALL = 0.005


def flipped_cases(comparison: Comparison, most: int) -> FlippedCases:
    """The first `most` cases that flipped: drops from the front of the list, then gains from its end."""
    metrics = comparison.metrics
    worse, better = (sum(each.case_classes.get(kind, 0) for each in metrics.values()) for kind in ("worse", "better"))
    found = _first(comparison.cases, "worse", min(most, worse))
    found += _first(comparison.cases, "better", min(most - len(found), better), backwards=True)
    return FlippedCases(
        counts=tuple(_counted(metrics)),
        text=_not_flipped(metrics),
        cases=tuple(flipped_case(each, metrics[each.metric]) for each in found),
        more=worse + better - len(found),
    )


def _first(
    cases: Sequence[CaseComparison], kind: CaseClass, number: int, *, backwards: bool = False
) -> list[CaseComparison]:
    """Stop as soon as there are enough: there may be hundreds of thousands of cases, each made on access."""
    found: list[CaseComparison] = []
    for at in range(len(cases)):
        if len(found) == number:
            break
        case = cases[len(cases) - 1 - at if backwards else at]
        if case.class_ == kind:
            found.append(case)
    return found


def next_cases(comparison: Comparison, beyond: Collection[str], most: int) -> list[FlippedCase]:
    """The first cases after those that flipped: the most certain drops that may still be chance."""
    found: dict[str, CaseComparison] = {}
    for case in comparison.cases:
        if len(found) >= most:
            break
        if case.test_case_id not in beyond:
            found.setdefault(case.test_case_id, case)
    return [flipped_case(each, comparison.metrics[each.metric]) for each in found.values()]


def flipped_case(case: CaseComparison, metric: MetricComparison) -> FlippedCase:
    value = unit_of(metric.scale).value
    p = f", {p_value(case.p_value)}" if case.p_value is not None else ""
    return FlippedCase(
        test_case_id=case.test_case_id,
        metric=case.metric,
        class_=case.class_,
        text=f"{value(case.baseline)} → {value(case.candidate)}{p}",
    )


def _counted(metrics: Mapping[str, MetricComparison]) -> Iterator[CaseCount]:
    for name, metric in metrics.items():
        if _has_flipped(metric):
            counts = [f"{word} {metric.case_classes.get(kind, 0):,}" for kind, word in _CLASSES.items()]
            yield CaseCount(metric=name, text=" · ".join(counts))


def _has_flipped(metric: MetricComparison) -> bool:
    return any(metric.case_classes.get(kind, 0) for kind in ("worse", "better"))


def _not_flipped(metrics: Mapping[str, MetricComparison]) -> str:
    """Say that no case flipped, or why none could."""
    others = [each for each in metrics.values() if not _has_flipped(each) and each.missing is None and each.cases]
    if not others:
        return ""
    few = all(each.case_classes.get("too_few", 0) == each.cases for each in others)
    where = "" if len(others) == len(metrics) else " on the other metrics"
    if few:
        return f"no single case can be judged{where}: that takes the scores of three samples in each run"
    return f"no case changed beyond chance{where}"


def slices_finding(comparison: Comparison) -> SlicesFinding | None:
    """Only slices that got better or worse; None if there are none at all."""
    if not comparison.slices:
        return None
    if not comparison.slice_comparisons:
        return SlicesFinding(slices=(), text="none is compared: that takes five cases of a slice in both runs")
    moved = sorted(
        (each for each in comparison.slices if each.verdict in ("worse", "better")), key=lambda each: rank(each.verdict)
    )
    compared = f"{comparison.slice_comparisons:,} slices × metrics compared"
    scales = {name: metric.scale for name, metric in comparison.metrics.items()}
    return SlicesFinding(
        slices=tuple(slice_finding(each, scales.get(each.metric)) for each in moved),
        text=f"{compared}; p values are corrected for that" if moved else f"{compared}; none stands out",
    )


def amounts(baseline: RunFacts, candidate: RunFacts, letters: Letters) -> tuple[AmountFinding, ...]:
    """Errors, and what a sample took, as far as known."""
    pair = (baseline, candidate)
    found = (
        _errors(pair, letters),
        _cost(pair),
        _amount("Input", [_per_sample(each.input_tokens, each) for each in pair], _whole, " tokens per sample"),
        _amount("Output", [_per_sample(each.output_tokens, each) for each in pair], _whole, " tokens per sample"),
        _amount("Latency", [each.latency_ms for each in pair], _time, " per answer"),
    )
    return tuple(each for each in found if each)


def _errors(pair: tuple[RunFacts, RunFacts], letters: Letters) -> AmountFinding | None:
    shares = [_share(each.failed_samples, each.samples) for each in pair]
    if not any(shares):
        return None
    shown = " → ".join("unknown" if share is None else percent(share) for share in shares)
    why = [f"{letter}: {kinds(each.errors)}" for letter, each in zip(letters, pair, strict=True) if each.errors]
    reasons = f" ({'; '.join(why)})" if why else ""
    return AmountFinding(label="Errors", text=f"{shown} of samples have no score{reasons}", mark="warning")


def _cost(pair: tuple[RunFacts, RunFacts]) -> AmountFinding | None:
    """Said even if it is nothing, or not known: a reader looks for it. None if the runs do not say what they used."""
    costs = [_per_sample(each.cost, each) for each in pair]
    if all(cost is None for cost in costs):
        used = any(_per_sample(each.input_tokens, each) for each in pair)
        return AmountFinding(label="Cost", text="unknown in both") if used else None
    found = _amount("Cost", costs, money, " per sample")
    return found or AmountFinding(label="Cost", text=f"{money(0.0)} per sample in both")


def _share(number: int | None, whole: int | None) -> float | None:
    return number / whole if number is not None and whole else None


def _per_sample(amount: float | None, facts: RunFacts) -> float | None:
    return amount / facts.samples if amount is not None and facts.samples else None


def _amount(label: str, pair: list[float | None], show: Callable[[float], str], unit: str) -> AmountFinding | None:
    before, after = pair
    if not before and not after:
        return None
    texts = ["unknown" if each is None else show(each) for each in pair]
    if texts[0] == texts[1]:
        return AmountFinding(label=label, text=f"{texts[0]}{unit} in both")
    shown = " → ".join(texts)
    change = f" ({_change(before, after)})" if before and after else ""
    return AmountFinding(label=label, text=f"{shown}{unit}{change}")


def _whole(number: float) -> str:
    return f"{number:,.0f}"


def _time(milliseconds: float) -> str:
    return f"{milliseconds / _SECOND:,.1f} s" if milliseconds >= _SECOND else f"{milliseconds:,.0f} ms"


def _change(before: float, after: float) -> str:
    """`+4 %`, `× 3.2`."""
    ratio = after / before
    if ratio >= _TWICE:
        return f"× {ratio:,.2g}" if ratio < _HUNDRED else f"× {ratio:,.0f}"
    return f"{signed((ratio - 1) * _HUNDRED, 0 if abs(ratio - 1) >= _SMALL else 1)} %"
