"""What to say about two runs: is the second better, and can that be believed?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model.comparison_findings import ComparisonFindings
from prompt_evaluator.model.wording import listed, many
from prompt_evaluator.reports.comparison_cases import amounts, flipped_cases, slices_finding
from prompt_evaluator.reports.comparison_differs import differences, run_label
from prompt_evaluator.reports.comparison_headline import comparison_headline, comparison_mark
from prompt_evaluator.reports.comparison_next import comparison_steps
from prompt_evaluator.reports.comparison_verdicts import (
    WORDS,
    Letters,
    flag_finding,
    is_significant,
    is_too_few,
    metric_finding,
    rank,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.comparison import CompareVerdict, Comparison, FlagComparison
    from prompt_evaluator.model.comparison_findings import PairedFinding
    from prompt_evaluator.reports.comparison_next import ComparedBy

SHOWN_CASES = 10
_NAMED = 3


def comparison_findings(
    comparison: Comparison, by: ComparedBy, *, most_cases: int = SHOWN_CASES, letter: str = "B"
) -> ComparisonFindings:
    """All findings about two runs.

    Args:
        comparison: The runs.
        by: Who compares them.
        most_cases: How many flipped cases to list.
        letter: What the candidate is called; the baseline is A.
    """
    letters = Letters("A", letter)
    metrics = _metrics(comparison, letters)
    flipped = flipped_cases(comparison, most_cases)
    moved = {name: each for name, each in comparison.flags.items() if has_moved(each)}
    differs = differences(comparison.differs)
    flags = [flag_finding(name, each, letters) for name, each in moved.items()]
    return ComparisonFindings(
        baseline=run_label(comparison.baseline, letters.baseline),
        candidate=run_label(comparison.candidate, letters.candidate),
        mark=comparison_mark(comparison),
        headline=comparison_headline(comparison, letters),
        warnings=comparison.warnings,
        differs=differs,
        no_difference=None if differs else "nothing that is known",
        metrics=_worst_first(metrics),
        flags=_worst_first(flags),
        other_flags=_others(comparison, moved),
        amounts=amounts(comparison.baseline, comparison.candidate, letters),
        flipped=flipped,
        slices=slices_finding(comparison),
        next_steps=comparison_steps(comparison, letters, by),
    )


def _worst_first(found: list[PairedFinding]) -> tuple[PairedFinding, ...]:
    return tuple(sorted(found, key=lambda each: rank(each.verdict)))


def _metrics(comparison: Comparison, letters: Letters) -> list[PairedFinding]:
    """Without notes if all have too few cases: the headline says so."""
    found = [metric_finding(name, each, letters) for name, each in comparison.metrics.items()]
    few = all(map(is_too_few, (*comparison.metrics.values(), *comparison.flags.values())))
    return [msgspec.structs.replace(each, notes=()) for each in found] if few else found


def has_moved(flag: FlagComparison) -> bool:
    """Whether a flag is worth a line of its own."""
    return flag.verdict in ("worse", "better") or is_significant(flag)


def _others(comparison: Comparison, moved: dict[str, FlagComparison]) -> str | None:
    """One line about flags that did not move."""
    others = {name: each for name, each in comparison.flags.items() if name not in moved}
    if not others:
        return None
    start = many(len(others), "other flag" if moved else "flag")
    verdicts = sorted({each.verdict for each in others.values()}, key=rank, reverse=True)
    if len(verdicts) == 1:
        return f"{start}: {WORDS[verdicts[0]]}"
    return f"{start}: {'; '.join(_counted(others, verdicts))}"


def _counted(flags: dict[str, FlagComparison], verdicts: list[CompareVerdict]) -> Iterator[str]:
    for verdict in verdicts:
        names = [name for name, each in flags.items() if each.verdict == verdict]
        what = listed(names) if len(names) <= _NAMED else many(len(names), "flag")
        yield f"{WORDS[verdict]} on {what}"
