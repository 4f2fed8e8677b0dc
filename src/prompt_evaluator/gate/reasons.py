"""Why a run passes, fails or cannot be decided, one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import listed, many, money, p_value, percent, points, short_number, signed
from prompt_evaluator.stats.intervals import FEWEST_CASES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.gate import FallenCase, GateResult, GuardrailResult, MetricResult, SliceResult
    from prompt_evaluator.model.release import VerdictKind

_NAMED = 3
_WORDS: dict[VerdictKind, str] = {"pass": "a pass", "fail": "a failure", "inconclusive": "inconclusive"}


def gate_reasons(found: GateResult) -> Iterator[str]:
    """What fails; else what cannot be decided; else why everything passes."""
    fails = [*_failures(found)]
    if fails:
        yield from fails
        return
    undecided = {name: each for name, each in found.metrics.items() if each.verdict == "inconclusive"}
    for name, each in undecided.items():
        yield _undecided(name, each, found.policy.level)
    if not undecided:
        for name, each in found.metrics.items():
            yield f"{name}: {_change(each)}; a drop of {amount(each.margin, each)} or more is ruled out."


def refusal(found: GateResult, worst: VerdictKind, best: VerdictKind) -> str:
    """Say that missing scores could change the verdict."""
    lost = {name: each.unscored for name, each in found.metrics.items() if any(each.unscored)}
    named = [
        f"{name} ({baseline:,} in the baseline, {candidate:,} in the candidate)"
        for name, (baseline, candidate) in lost.items()
    ]
    shown = named if len(named) <= _NAMED else [*named[:_NAMED], f"{len(named) - _NAMED:,} more"]
    verdict = found.verdict or "inconclusive"
    return (
        f"Scores are missing because of errors, which are neither passes nor failures: {listed(shown)}. Without them "
        f"the verdict is {_WORDS[verdict]}; if they were the worst possible it would be {_WORDS[worst]}, and if they "
        f"were the best possible {_WORDS[best]}. Retry them with `resume RUN --retry-errors`, then gate again."
    )


def amount(value: float, found: MetricResult) -> str:
    """An amount in the unit of a metric, without a sign."""
    return points(value).lstrip("+") if is_share(found) else short_number(value)


def is_share(found: MetricResult) -> bool:
    return found.scale == (0.0, 1.0)


def changed(value: float, found: MetricResult) -> str:
    """A difference in the unit of a metric."""
    if is_share(found):
        return points(value)
    span = found.scale[1] - found.scale[0] if found.scale else 1.0
    return signed(value, 3 if span <= 1 else 2 if span <= 10 else 1)  # noqa: PLR2004


def guarded_amount(value: float, found: GuardrailResult) -> str:
    """A margin or a mean of a guardrail."""
    match found.kind:
        case "cost":
            return money(value)
        case "latency":
            return f"{value:,.0f} ms"
        case _:
            return points(value).lstrip("+")


def guarded_level(value: float, found: GuardrailResult) -> str:
    return percent(value) if found.kind in ("flag", "errors") else guarded_amount(value, found)


def _failures(found: GateResult) -> Iterator[str]:
    for name, metric in found.metrics.items():
        if metric.verdict == "fail":
            yield _failed(name, metric)
    for name, rail in found.guardrails.items():
        if rail.verdict == "fail":
            yield _guardrail_failed(name, rail)
    for each in found.slices:
        if each.verdict == "fail":
            yield _slice_failed(each, found.metrics[each.metric])
    if found.fallen_cases:
        yield _fallen(found.fallen_cases, found.fallen)


def _failed(name: str, found: MetricResult) -> str:
    if found.missing:
        return f"{name} was not measured in the {found.missing}, so it fails."
    p = f" ({p_value(found.p_value)})" if found.p_value is not None else ""
    return f"{name}: {_change(found)}{p}; a drop of at most {amount(found.margin, found)} may pass."


def _change(found: MetricResult) -> str:
    return changed(found.difference or 0.0, found)


def _guardrail_failed(name: str, found: GuardrailResult) -> str:
    if found.missing:
        return (
            f"Guardrail {name} was not measured in the {found.missing}, so it fails; a policy can turn guardrails off."
        )
    levels = " to ".join(guarded_level(each or 0.0, found) for each in (found.baseline, found.candidate))
    p = f" ({p_value(found.p_value)})" if found.p_value is not None else ""
    return f"Guardrail {name}: from {levels}{p}; an increase of at most {guarded_amount(found.margin, found)} may pass."


def _slice_failed(found: SliceResult, metric: MetricResult) -> str:
    p = f", {p_value(found.p_value)}" if found.p_value is not None else ""
    change = f"{changed(found.difference, metric)} ({many(found.cases, 'case')}{p})"
    may = f"a drop of at most {amount(found.margin, metric)} may pass"
    return f"{found.metric} in {found.key} = {found.value}: {change}; {may}."


def _fallen(cases: tuple[FallenCase, ...], total: int) -> str:
    shown = [
        f"{each.test_case_id} ({each.metric} {each.baseline:.3g} → {each.candidate:.3g})" for each in cases[:_NAMED]
    ]
    more = [f"{total - len(shown):,} more"] if total > len(shown) else []
    verb = "falls" if total == 1 else "fall"
    return f"{many(total, 'case')} {verb} below the minimum: {listed([*shown, *more])}."


def _undecided(name: str, found: MetricResult, level: float) -> str:
    if found.cases < FEWEST_CASES:
        return f"{name}: {many(found.cases, 'common case')}; at least {FEWEST_CASES} are needed."
    if not found.difference and found.method == "exact_bound":
        start = f"{name}: equal in all {many(found.cases, 'case')}, which does not rule out"
        parts = [f"{start} a drop of {amount(found.margin, found)}"]
    else:
        start = f"{name}: {_change(found)}, but a drop of {amount(found.margin, found)}"
        parts = [f"{start} is neither shown nor ruled out"]
    if found.low is not None and found.high is not None:
        parts[0] += f" ({percent(1 - 2 * level)} interval {interval(found)})"
    if found.smallest_drop is not None:
        seen = amount(float(f"{found.smallest_drop:.2g}"), found)
        parts.append(f"now, drops of {seen} or more fail four times in five")
    if wish := _wish(found):
        parts.append(f"about {wish} would decide")
    return f"{'; '.join(parts)}."


def interval(found: MetricResult) -> str:
    if found.low is None or found.high is None:
        return ""
    return f"{changed(found.low, found).removesuffix(' points').removesuffix(' point')} to {changed(found.high, found)}"


def _wish(found: MetricResult) -> str:
    wishes = []
    if found.more_samples:
        wishes.append(f"{many(about(found.more_samples), 'more sample')} per case")
    if found.more_cases:
        wishes.append(f"{many(about(found.more_cases), 'more case')}")
    return " or ".join(wishes)


def about(number: int) -> int:
    """Round a large number up to about two digits: it is an estimate."""
    step = max(5, 10 ** (len(str(number)) - 2)) if number > 20 else 1  # noqa: PLR2004
    return -(-number // step) * step
