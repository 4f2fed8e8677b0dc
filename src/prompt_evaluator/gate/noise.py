"""The noise gate: two runs and a policy in, a verdict out that chance alone rarely makes a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import IncomparableError, UnknownNameError
from prompt_evaluator.gate.columns import Column, Measure, flag_measure, measured_amount, measured_flag, measured_scores
from prompt_evaluator.gate.deciding import Judged, metric_results, metric_verdicts
from prompt_evaluator.gate.guardrails import SliceDrop, guarded, guarded_errors, held
from prompt_evaluator.gate.reasons import gate_reasons, refusal
from prompt_evaluator.model.gate import EXIT_CODES, REFUSED, FallenCase, GateResult, default_margin
from prompt_evaluator.model.slicing import Groups
from prompt_evaluator.stats.one_sided import one_sided_drop
from prompt_evaluator.stats.paired import Running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prompt_evaluator.gate.columns import Imputed
    from prompt_evaluator.gate.guardrails import Guarded
    from prompt_evaluator.model.comparison import ComparedCase, RunFacts
    from prompt_evaluator.model.gate import GatePolicy
    from prompt_evaluator.model.release import VerdictKind

    Scale = tuple[float, float]
    FindScale = Callable[[str], Scale]

_LISTED = 20


class GateTally:
    """Adds up the common cases of two runs, a few numbers each, then decides."""

    def __init__(self, policy: GatePolicy, facts: tuple[RunFacts, RunFacts]) -> None:
        """Take the policy, and what is known of the baseline and the candidate."""
        self._policy, self._facts = policy, facts
        self._metrics: dict[str, Column] = {}
        self._flags: dict[str, Column] = {}
        self._cost, self._latency = Column(), Column()
        self._slices: Groups[dict[str, Running]] = Groups(dict, policy.slices)
        self._ids: dict[str, list[str]] = {name: [] for name in policy.case_minimum}
        """By metric, of the cases in its column."""
        self._cases = 0

    def add(self, baseline: ComparedCase, candidate: ComparedCase) -> None:
        """Add a case that both runs have."""
        names = dict.fromkeys((*baseline.scores, *candidate.scores, *baseline.unscored, *candidate.unscored))
        for name in names:
            ours, theirs = measured_scores(baseline.scores.get(name)), measured_scores(candidate.scores.get(name))
            unscored = baseline.unscored.get(name, 0), candidate.unscored.get(name, 0)
            self._metrics.setdefault(name, Column()).add(ours, theirs, unscored)
            if name in self._ids:
                self._ids[name].append(baseline.case_id)
        for name in baseline.flags | candidate.flags:
            found = measured_flag(baseline.flags.get(name)), measured_flag(candidate.flags.get(name))
            self._flags.setdefault(name, Column()).add(*found)
        self._cost.add(measured_amount(baseline.cost), measured_amount(candidate.cost))
        self._latency.add(measured_amount(baseline.latency_ms), measured_amount(candidate.latency_ms))
        if self._policy.slices:
            self._add_slices(baseline, candidate)
        self._cases += 1

    def finish(self, find_scale: FindScale, warnings: Sequence[str] = ()) -> GateResult:
        """Decide.

        Raises:
            UnknownNameError: Neither run knows a metric of the policy, or no case has a key to slice by.
            IncomparableError: Nothing was measured, or a metric has different scales.
        """
        judged = self._judged(find_scale)
        results = metric_results(judged, self._policy.level)
        kept = held(list(self._guards()), list(self._slice_drops(judged)), self._policy.guardrails.level)
        fails = "fail" in [
            *(rail.verdict for rail in kept.guardrails.values()),
            *(each.verdict for each in kept.slices),
        ]
        fallen = list(self._fallen(judged, None))
        verdict = _overall([each.verdict for each in results.values()], fails=fails or bool(fallen))
        found = GateResult(
            verdict=verdict,
            exit_code=EXIT_CODES[verdict],
            metrics=results,
            guardrails=kept.guardrails,
            reasons=(),
            baseline=self._facts[0].name,
            candidate=self._facts[1].name,
            cases=self._cases,
            policy=self._policy,
            slices=kept.slices,
            fallen_cases=tuple(fallen[:_LISTED]),
            fallen=len(fallen),
            warnings=tuple(warnings),
        )
        return self._checked(found, judged, fails=fails)

    def _checked(self, found: GateResult, judged: Mapping[str, Judged], *, fails: bool) -> GateResult:
        """Refuse if the scores that are missing could change the verdict."""
        if any(not column.is_complete and not column.missing for column, _ in judged.values()):
            others = {each: self._imputed(judged, each, fails=fails) for each in _IMPUTED}
            if any(other != found.verdict for other in others.values()):
                reasons = (refusal(found, others["worst"], others["best"]),)
                return msgspec.structs.replace(found, verdict=None, exit_code=REFUSED, reasons=reasons)
        return msgspec.structs.replace(found, reasons=tuple(gate_reasons(found)))

    def _imputed(self, judged: Mapping[str, Judged], imputed: Imputed, *, fails: bool) -> VerdictKind:
        verdicts = metric_verdicts(judged, self._policy.level, imputed)
        fallen = next(self._fallen(judged, imputed), None)
        return _overall(list(verdicts.values()), fails=fails or fallen is not None)

    def _judged(self, find_scale: FindScale) -> dict[str, Judged]:
        known = {*self._facts[0].scales, *self._facts[1].scales, *self._metrics, *self._flags}
        order = (*self._facts[0].scales, *self._facts[1].scales, *self._metrics)
        asked = self._policy.metrics
        if asked is None:
            asked = {name: None for name in dict.fromkeys(order) if name in self._metrics}
        found = {name: self._judge(name, margin, find_scale, known) for name, margin in asked.items()}
        if not any(column.baseline.cases or column.candidate.cases for column, _ in found.values()):
            names = f"{self._facts[0].name} and {self._facts[1].name}"
            raise IncomparableError(f"{names} cannot be gated: neither has a score. Evaluate both with a metric.")
        for name in self._policy.case_minimum:
            if name not in self._metrics:
                raise UnknownNameError("metric", name, self._metrics)
        return found

    def _judge(self, name: str, margin: float | None, find_scale: FindScale, known: set[str]) -> Judged:
        if name in self._metrics:
            column = self._metrics[name]
            scale = find_scale(name)
            return Judged(column, Measure(*scale, default_margin(scale) if margin is None else margin))
        if name in self._flags:
            return Judged(self._flags[name], flag_measure(self._policy, name))
        if name not in known:
            raise UnknownNameError("metric or flag", name, known)
        raise IncomparableError(f"Neither run has a score of {name}, on which the policy decides: there is no verdict.")

    def _guards(self) -> Iterator[Guarded]:
        rails = self._policy.guardrails
        decide = self._policy.metrics or {}
        level = self._policy.level
        for name, column in self._flags.items():
            if (margin := rails.flag_margin(name)) is not None and name not in decide:
                yield guarded(f"flag {name}", "flag", column, margin, level)
        if rails.errors is not None:
            yield guarded_errors(self._facts, rails.errors)
        if rails.cost is not None:
            yield guarded("cost", "cost", self._cost, rails.cost, level)
        if rails.latency is not None:
            made_up = all(facts.synthetic for facts in self._facts)  # the mock's speed is that of this computer
            yield guarded("latency", "latency", None if made_up else self._latency, rails.latency, level)

    def _add_slices(self, baseline: ComparedCase, candidate: ComparedCase) -> None:
        for group in self._slices.of(baseline.metadata or candidate.metadata):
            for name, ours in baseline.scores.items():
                if (theirs := candidate.scores.get(name)) is not None:
                    group.setdefault(name, Running()).add(ours.mean - theirs.mean)

    def _slice_drops(self, judged: Mapping[str, Judged]) -> Iterator[SliceDrop]:
        for key, value, group in self._slices.few(lambda _: True):
            for name, running in group.items():
                if name in judged:
                    measure = judged[name].measure
                    drop = one_sided_drop(running, span=measure.span, level=self._policy.level)
                    yield SliceDrop(key, value, name, drop, measure)

    def _fallen(self, judged: Mapping[str, Judged], imputed: Imputed | None) -> Iterator[FallenCase]:
        """Cases that were at or above the minimum and are below it."""
        for name, minimum in self._policy.case_minimum.items():
            column = self._metrics[name]
            measure = judged[name].measure if name in judged else Measure(column.seen[0], column.seen[1], 0.0)
            for at, baseline, candidate in column.pairs(measure, imputed):
                if candidate < minimum <= baseline:
                    yield FallenCase(
                        test_case_id=self._ids[name][at],
                        metric=name,
                        baseline=baseline,
                        candidate=candidate,
                        minimum=minimum,
                    )


_IMPUTED: tuple[Imputed, ...] = ("worst", "best")


def _overall(verdicts: Sequence[VerdictKind], *, fails: bool) -> VerdictKind:
    if fails or "fail" in verdicts:
        return "fail"
    return "pass" if all(verdict == "pass" for verdict in verdicts) else "inconclusive"
