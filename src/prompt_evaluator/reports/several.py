"""What to say about more than two runs: each is compared with the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.comparison_findings import SeveralCell, SeveralFindings, SeveralRow
from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.comparison import has_moved
from prompt_evaluator.reports.comparison_verdicts import Letters, flag_finding, metric_finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from prompt_evaluator.model.comparison import Comparison
    from prompt_evaluator.model.comparison_findings import ComparisonFindings, PairedFinding
    from prompt_evaluator.model.findings import Mark

_ALPHABET = 26
_FIRST: tuple[Mark | None, ...] = ("good", "bad", "warning", None)
"""Which candidate decides what to do next."""


def letter(at: int) -> str:
    """A, B, … Z, A2, B2, …."""
    times, rest = divmod(at, _ALPHABET)
    return chr(ord("A") + rest) + (str(times + 1) if times else "")


def several_findings(comparisons: Sequence[Comparison], findings: Sequence[ComparisonFindings]) -> SeveralFindings:
    """One table of all runs, above the findings about each candidate."""
    compared = [_pairs(each, letter(at)) for at, each in enumerate(comparisons, 1)]
    names = dict.fromkeys(name for pairs in compared for name in pairs)
    quiet = {name for each in comparisons for name in each.flags} - {
        name for each in comparisons for name, flag in each.flags.items() if has_moved(flag)
    }
    return SeveralFindings(
        runs=(findings[0].baseline, *(each.candidate for each in findings)),
        rows=tuple(_row(name, compared) for name in names if name not in quiet),
        notes=tuple(_notes(comparisons, quiet)),
        next_steps=min(findings, key=lambda each: _FIRST.index(each.mark)).next_steps,
        comparisons=tuple(findings),
    )


def _notes(comparisons: Sequence[Comparison], quiet: set[str]) -> Iterator[str]:
    if quiet:
        yield f"Not shown: {many(len(quiet), 'flag')} without a difference beyond chance."
    if len({each.common_cases for each in comparisons}) > 1:
        yield "Runs have different cases: each difference is over the cases in common with A."


def _pairs(comparison: Comparison, candidate: str) -> dict[str, PairedFinding]:
    letters = Letters("A", candidate)
    metrics = {name: metric_finding(name, each, letters) for name, each in comparison.metrics.items()}
    return {**metrics, **{name: flag_finding(name, each, letters) for name, each in comparison.flags.items()}}


def _row(name: str, compared: Sequence[Mapping[str, PairedFinding]]) -> SeveralRow:
    baseline = next(pairs[name].means.partition(" → ")[0] for pairs in compared if name in pairs)
    return SeveralRow(name=name, baseline=baseline, candidates=tuple(_cell(pairs.get(name)) for pairs in compared))


def _cell(found: PairedFinding | None) -> SeveralCell:
    if found is None:
        return SeveralCell(text="", mark=None)
    if not found.difference:
        return SeveralCell(text=found.word, mark=found.mark)
    value = found.means.partition(" → ")[2]
    word = found.word.removesuffix(" seen").removesuffix(" yet")
    return SeveralCell(text=f"{value} ({found.difference}) {word}", mark=found.mark)
