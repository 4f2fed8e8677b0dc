"""What to say about a verdict of the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.findings import NextStep
from prompt_evaluator.model.gate_findings import GateFindings, GateRow
from prompt_evaluator.model.wording import listed, many, percent
from prompt_evaluator.reports.gate_rows import MARKS, guardrail_row, metric_row, slice_row
from prompt_evaluator.reports.next_step import command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prompt_evaluator.model.gate import GatePolicy, GateResult
    from prompt_evaluator.reports.next_step import Reader

_NAMED = 3
_RANKS = {"bad": 0, "warning": 1, "good": 2, None: 3}


def gate_findings(found: GateResult, names: tuple[str, str], reader: Reader) -> GateFindings:
    """Everything to say about a verdict.

    Args:
        found: The verdict.
        names: The baseline and the candidate as they were named in the command.
        reader: Who reads it.
    """
    unmeasured = [name for name, each in found.guardrails.items() if each.verdict == "not_measured"]
    failing = [each for each in found.slices if each.verdict == "fail"]
    return GateFindings(
        mark=MARKS[found.verdict],
        headline=gate_headline(found),
        reasons=found.reasons,
        warnings=found.warnings,
        metrics=_worst_first(metric_row(name, each) for name, each in found.metrics.items()),
        guardrails=_worst_first(
            guardrail_row(name, each) for name, each in found.guardrails.items() if name not in unmeasured
        ),
        not_measured=f"neither run measured {listed(unmeasured)}, so not applied" if unmeasured else None,
        slices=tuple(slice_row(each, found.metrics[each.metric]) for each in failing),
        other_slices=_other_slices(found),
        policy=tuple(policy_lines(found.policy)),
        next_steps=tuple(_next(found, names, reader)),
    )


def gate_headline(found: GateResult) -> str:
    """The verdict in one sentence."""
    pair = f"{found.candidate} compared with {found.baseline}"
    match found.verdict:
        case "pass":
            what = f"no drop beyond the margin on {_names(found.metrics)}"
            return f"Pass: {pair}: {what}."
        case "fail":
            return f"Fail: {pair}: {_failing(found)} got worse or cannot be compared."
        case "inconclusive":
            open_ = [name for name, each in found.metrics.items() if each.verdict == "inconclusive"]
            meaning = {0: ", which counts as a pass", 1: ", which counts as a failure"}.get(found.exit_code, "")
            return f"Inconclusive{meaning}: {pair}: too little data to decide on {_names(open_)}."
        case None:
            return f"No verdict: {pair}: the data cannot be used."


def policy_lines(policy: GatePolicy) -> Iterator[str]:
    """What a policy demands."""
    rails = policy.guardrails
    where = f"from {policy.path}" if policy.path else "built in"
    chance = f"a run that did not get worse fails at most {percent(policy.level)} of the time because of its metrics"
    yield f"{where}: {chance}, and {percent(rails.level)} because of guardrails or slices"
    if policy.slices:
        yield f"slices by {listed(policy.slices)}"
    for name, minimum in policy.case_minimum.items():
        yield f"no case may fall below {minimum:g} on {name}"
    if policy.baseline:
        yield f"baseline: {policy.baseline}"


def _failing(found: GateResult) -> str:
    names = [name for name, metric in found.metrics.items() if metric.verdict == "fail"]
    names += [name for name, rail in found.guardrails.items() if rail.verdict == "fail"]
    names += [f"{each.metric} in {each.key} = {each.value}" for each in found.slices if each.verdict == "fail"]
    names += [many(found.fallen, "single case")] if found.fallen else []
    return _names(names)


def _names(names: Iterable[str]) -> str:
    known = list(names)
    return listed(known if len(known) <= _NAMED else [*known[:_NAMED], f"{len(known) - _NAMED:,} more"])


def _worst_first(rows: Iterable[GateRow]) -> tuple[GateRow, ...]:
    return tuple(sorted(rows, key=lambda row: _RANKS[row.mark]))


def _other_slices(found: GateResult) -> str | None:
    others = sum(each.verdict != "fail" for each in found.slices)
    return f"{many(others, 'slice')} not shown to be worse" if others else None


def _next(found: GateResult, names: tuple[str, str], reader: Reader) -> Iterator[NextStep]:
    match found.verdict:
        case "fail":
            yield command("show_answers", reader, "compare", *names, "--show")
        case "inconclusive":
            yield command("more_samples", reader, "gate", names[1], "--plan")
        case "pass":
            yield NextStep(code="use_candidate", text="release it; keep the run as the next baseline")
        case None:
            yield NextStep(code="after_a_change", text="see the reason above, then gate again")
