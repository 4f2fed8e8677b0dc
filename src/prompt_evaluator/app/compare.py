"""Runs compared with a baseline, for front ends."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.app.run_names import open_compared
from prompt_evaluator.model.comparison import CompareOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.comparison import ComparedAnswer, Comparison, RunFacts
    from prompt_evaluator.ports import ComparedRun

_DEFAULTS = CompareOptions()


class BothAnswers(NamedTuple):
    """All samples of a case in two runs; empty where a run does not have the case."""

    baseline: Sequence[ComparedAnswer]
    candidate: Sequence[ComparedAnswer]


class OpenComparison:
    """Comparisons whose runs can still be asked for answers."""

    def __init__(self, comparisons: Sequence[Comparison], runs: Sequence[ComparedRun]) -> None:
        """Take the comparisons and their runs, of which the first is the baseline of all."""
        self.comparisons = tuple(comparisons)
        self._runs = runs

    def answers(self, comparison: Comparison, case_id: str) -> BothAnswers:
        """The answers of both runs to one case."""
        baseline, candidate = self._sides(comparison)
        return BothAnswers(baseline.answers(case_id), candidate.answers(case_id))

    def input(self, comparison: Comparison, case_id: str) -> str | None:
        """The input of one case, if one of the runs knows it."""
        baseline, candidate = self._sides(comparison)
        return baseline.input(case_id) or candidate.input(case_id)

    def _sides(self, comparison: Comparison) -> tuple[ComparedRun, ComparedRun]:
        at = next(at for at, each in enumerate(self.comparisons) if each is comparison)
        return self._runs[0], self._runs[at + 1]


@contextmanager
def open_comparison(
    settings: Settings, names: Sequence[str], options: CompareOptions = _DEFAULTS
) -> Iterator[OpenComparison]:
    """Compare each of the other runs with the first, and keep them open.

    Raises:
        ConfigurationError: There is no such run, or the same run is named twice.
        InputError: A file cannot be used.
        IncomparableError: The runs differ in more than their targets, or have no case in common.
    """
    from prompt_evaluator.compare.comparing import compare  # noqa: PLC0415 - loads numpy, as nothing else here does

    with open_compared(settings, names) as runs:
        yield OpenComparison([compare(runs[0], other, options) for other in runs[1:]], runs)


def compare_runs(
    settings: Settings, names: Sequence[str], options: CompareOptions = _DEFAULTS
) -> tuple[Comparison, ...]:
    """Compare each of the other runs with the first; raises as `open_comparison`."""
    with open_comparison(settings, names, options) as opened:
        return opened.comparisons


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """A comparison as a JSON object, in the order in which to write it.

    `cases` is last and is made as it is read: write its rows one after the other instead of encoding it as a whole.
    """
    return {
        "baseline": _called(comparison.baseline),
        "candidate": _called(comparison.candidate),
        "common_cases": comparison.common_cases,
        "warnings": comparison.warnings,
        "differs": comparison.differs,
        "metrics": comparison.metrics,
        "flags": comparison.flags,
        "slice_comparisons": comparison.slice_comparisons,
        "slices": comparison.slices,
        "runs": {"baseline": comparison.baseline, "candidate": comparison.candidate},
        "cases": comparison.cases,
    }


def _called(facts: RunFacts) -> str:
    """A run as it can be named in a command: the file it was read from, or its id."""
    return facts.path or facts.run_id or facts.name
