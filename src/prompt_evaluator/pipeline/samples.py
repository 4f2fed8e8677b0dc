"""The units of one sample: its attempts, and the judgements of each answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model import UNREADABLE, Failed, Generation, Judgement, Scored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from prompt_evaluator.model import Answer, SampleStatus, Unit

_generation = msgspec.json.Decoder(Generation).decode
_judgement = msgspec.json.Decoder(Judgement).decode
_NOTHING: Mapping[bytes, Generation | Judgement] = MappingProxyType({})


@dataclass(slots=True)
class Attempt:
    """One answer, or why it failed, and its judgements by metric and repeat."""

    generation: Generation | None = None
    judgements: dict[tuple[str, int], Judgement] = field(default_factory=dict)
    number: int = 0
    all_ok: bool = False
    """True only if it is known that no judgement has failed."""

    @property
    def answer(self) -> Answer | None:
        return self.generation.answer if self.generation else None

    def of(self, metric: str) -> list[Judgement]:
        """Judgements by one metric, in order of repeat."""
        found = [key for key in self.judgements if key[0] == metric]
        return [self.judgements[key] for key in (sorted(found) if len(found) > 1 else found)]

    def missed(self) -> list[str]:
        """Names of scores below their pass mark; with several judgements, the mean counts."""
        found: dict[str, list[float]] = {}
        marks: dict[str, float] = {}
        for judgement in self.judgements.values():
            marks |= judgement.pass_at
            for name, score in judgement.scores.items():
                if isinstance(score, Scored):
                    found.setdefault(name, []).append(score.value)
        return [name for name, values in found.items() if name in marks and fmean(values) < marks[name]]

    def is_finished(self, expected: Collection[str]) -> bool:
        """Whether the answer failed, or every metric has all its judgements."""
        if self.generation is None:
            return False
        if self.generation.answer is None:
            return True
        if len(self.judgements) == len(expected) and self._has_one_each(expected):
            return True
        wanted = {metric: done.repeats for (metric, _), done in self.judgements.items()}
        return wanted.keys() >= {*expected} and len(self.judgements) >= sum(wanted.values())

    def _has_one_each(self, expected: Collection[str]) -> bool:
        """Whether each metric makes a single judgement, and it is here: the usual case, and quick to see."""
        for metric in expected:
            done = self.judgements.get((metric, 0))
            if done is None or done.repeats > 1:
                return False
        return True

    def failures(self) -> Iterator[tuple[str, Failed]]:
        """Yield each failed metric with its error. A metric with at least one good judgement has not failed."""
        for metric in dict.fromkeys(metric for metric, _ in self.judgements):
            found = [judgement.failed for judgement in self.of(metric)]
            if found and all(found):
                yield metric, min(filter(None, found), key=lambda failed: failed.kind != UNREADABLE)


@dataclass(slots=True)
class SampleUnits:
    """All attempts of a sample; the last one counts."""

    attempts: list[Attempt] = field(default_factory=list)

    @property
    def last(self) -> Attempt:
        return self.attempts[-1] if self.attempts else Attempt()

    def status(self, expected: Collection[str], attempts: int = 1) -> SampleStatus:
        """Status in the terms of the dataset guide. A sample with a failed metric is not completed."""
        last = self.last
        if not last.is_finished(expected):
            return "pending"
        if last.answer is None:
            return "generation_error"
        if len(self.attempts) < attempts and last.missed():
            return "pending"
        if last.all_ok:
            return "completed"
        kinds = {failed.kind for _, failed in last.failures()}
        if not kinds:
            return "completed"
        return "judge_invalid_response" if UNREADABLE in kinds else "judge_error"


def gathered(units: Iterable[Unit], made: Mapping[bytes, Generation | Judgement] = _NOTHING) -> SampleUnits:
    """Group the units of one sample by attempt. A judge's intermediate replies are ignored.

    Units in `made`, which maps unit name to decoded data, are not decoded again.
    """
    attempts: list[Attempt] = []
    for unit in units:
        if unit.kind not in ("generation", "judgement"):
            continue
        while len(attempts) <= unit.attempt:
            attempts.append(Attempt(number=len(attempts), all_ok=True))
        attempts[unit.attempt].all_ok &= unit.ok
        done = made.get(unit.name)
        if unit.kind == "generation":
            attempts[unit.attempt].generation = done if isinstance(done, Generation) else _generation(unit.data)
        else:
            judgement = done if isinstance(done, Judgement) else _judgement(unit.data)
            judgements, key = attempts[unit.attempt].judgements, (judgement.metric, unit.repeat)
            # A metric that could not be prepared has failed under another name than its present score.
            if unit.ok or key not in judgements:
                judgements[key] = judgement
    return SampleUnits(attempts)


def group(units: Iterable[Unit], num_samples: int) -> list[SampleUnits]:
    """Group the units of a case by sample and attempt."""
    samples: list[list[Unit]] = [[] for _ in range(num_samples)]
    for unit in units:
        if unit.sample < num_samples:
            samples[unit.sample].append(unit)
    return [gathered(each) for each in samples]
