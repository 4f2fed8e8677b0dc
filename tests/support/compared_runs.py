"""Runs to be compared, in memory."""

from __future__ import annotations

from random import Random
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.compare.comparing import compare
from prompt_evaluator.model.comparison import (
    CaseScores,
    ComparedAnswer,
    ComparedCase,
    CompareOptions,
    Comparison,
    RunFacts,
)
from prompt_evaluator.model.query import CaseFlag

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


LIKERT = (1.0, 5.0)


class MemoryRun:
    """A run whose cases are in a list; hands out a few at a time."""

    def __init__(self, facts: RunFacts, cases: Sequence[ComparedCase], batch: int = 7) -> None:
        self.facts, self._cases, self._batch = facts, list(cases), batch

    def case_ids(self) -> Iterator[str]:
        return (case.case_id for case in self._cases)

    def batches(self) -> Iterator[Sequence[ComparedCase]]:
        for start in range(0, len(self._cases), self._batch):
            yield self._cases[start : start + self._batch]

    def find(self, case_ids: Sequence[str]) -> dict[str, ComparedCase]:
        wanted = set(case_ids)
        return {case.case_id: case for case in self._cases if case.case_id in wanted}

    def answers(self, case_id: str) -> Sequence[ComparedAnswer]:
        return [
            ComparedAnswer(
                sample=0, answer=f"{self.facts.name}: {case_id}", error=None, scores={}, reasons={}, flags=()
            )
        ]

    def input(self, case_id: str) -> str | None:
        return f"Why {case_id}?"


def scores(*values: float, missing: int = 0, known: bool = True) -> CaseScores:
    """The scores of one case; `known` says whether those of single samples are known."""
    std = stdev(values) if len(values) > 1 else None
    mean = values[0] if len(set(values)) == 1 else fmean(values)
    return CaseScores(mean, std, len(values), None, missing, values if known else None)


def case(
    case_id: str,
    measured: Mapping[str, CaseScores | Sequence[float]],
    *,
    flags: Mapping[str, tuple[int, int]] | None = None,
    metadata: dict[str, Any] | None = None,
    content: str | None = "same",
) -> ComparedCase:
    """A case by its scores, and how often each flag was raised and asked for."""
    return ComparedCase(
        case_id,
        content,
        metadata or {},
        {name: found if isinstance(found, CaseScores) else scores(*found) for name, found in measured.items()},
        {name: CaseFlag(raised=raised, asked=asked) for name, (raised, asked) in (flags or {}).items()},
    )


def run(cases: Sequence[ComparedCase], name: str = "run", **facts: Any) -> MemoryRun:
    """A completed run of one dataset, with a scale from 1 to 5 for `quality`."""
    given: dict[str, Any] = {
        "status": "completed",
        "dataset_name": "faq",
        "dataset_hash": "d" * 64,
        "rubric_name": "default",
        "rubric_hash": "e" * 64,
        "judge_model": "mock/judge",
        "judge_hash": "f" * 64,
        "scales": {"quality": LIKERT},
        "cases": len(cases),
    } | facts
    return MemoryRun(RunFacts(name=name, **given), cases)


def of_metric(values: Sequence[Sequence[float]], name: str = "quality", **facts: Any) -> MemoryRun:
    """A run by the scores of one metric, case by case; an empty case has none."""
    cases = [case(f"case-{at}", {name: found} if found else {}) for at, found in enumerate(values)]
    return run(cases, **facts)


def drawn(random: Random, centres: Sequence[float], samples: int, spread: float = 0.6) -> list[list[float]]:
    """Whole scores from 1 to 5 around each case's centre."""
    return [[float(min(5, max(1, round(random.gauss(centre, spread))))) for _ in range(samples)] for centre in centres]


def compared(baseline: MemoryRun, candidate: MemoryRun, **options: Any) -> Comparison:
    return compare(baseline, candidate, CompareOptions(**options))


_DROPPED_AT = (3, 8, 17, 21, 33, 40, 49)
DROPPED = {f"case-{at}" for at in _DROPPED_AT}


def with_drops(seed: int) -> Comparison:
    """Fifty cases, of which seven drop by far more than their answers vary."""
    random = Random(seed)
    centres = [4.0 + at % 3 / 2 for at in range(50)]
    lower = [centre - 2.6 if at in _DROPPED_AT else centre for at, centre in enumerate(centres)]
    return compared(of_metric(drawn(random, centres, 5, 0.5)), of_metric(drawn(random, lower, 5, 0.5)))


def with_facts(given: MemoryRun, **facts: Any) -> MemoryRun:
    return MemoryRun(msgspec.structs.replace(given.facts, **facts), [*next_batches(given)])


def next_batches(given: MemoryRun) -> Iterator[ComparedCase]:
    for batch in given.batches():
        yield from batch
