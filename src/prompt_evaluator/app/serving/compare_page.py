"""Everything that the page about compared runs says."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import join
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.app.comparison_findings import headline_with_letters, letter, several_findings
from prompt_evaluator.app.findings import digits
from prompt_evaluator.app.serving.compare_markdown import comparison_markdown
from prompt_evaluator.app.serving.compare_metrics import metric_table
from prompt_evaluator.app.serving.compare_selection import Selection
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.compare.refusing import ALLOW
from prompt_evaluator.errors import ConfigurationError, IncomparableError
from prompt_evaluator.reports.comparison_verdicts import slice_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.serving.compare_case import ComparedCaseView
    from prompt_evaluator.app.serving.compare_matrix import Matrix
    from prompt_evaluator.app.serving.compare_metrics import MetricTable
    from prompt_evaluator.app.serving.compare_rows import CasePage
    from prompt_evaluator.app.serving.compare_scatter import Scatter
    from prompt_evaluator.app.serving.compare_selection import Chip, Place
    from prompt_evaluator.app.serving.compared_pair import ComparedPair, Known
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.api import ApiRun, ComparePageQuery
    from prompt_evaluator.model.comparison import CaseClass
    from prompt_evaluator.model.comparison_findings import ComparisonFindings, SeveralFindings


class OtherRun(NamedTuple):
    """A further candidate, compared with the same baseline."""

    run: ApiRun
    letter: str
    headline: str
    """What to say about it, or why it cannot be compared."""
    is_compared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    """The page."""

    runs: tuple[ApiRun, ...]
    """The baseline first."""
    letters: tuple[str, ...]
    """What the runs are called."""
    findings: ComparisonFindings
    table: MetricTable
    metric: str | None
    scale: tuple[float, float]
    digits: int
    chips: tuple[Chip, ...]
    is_narrow: bool
    """Whether the filter leaves out cases for another reason than how they changed."""
    changed: CaseClass | None
    problem: str | None
    """What is wrong with the filter; then it is not applied."""
    cases: CasePage | None
    scatter: Scatter | None
    case: ComparedCaseView | None
    place: Place | None
    matrix: Matrix | None
    others: tuple[OtherRun, ...]
    several: SeveralFindings | None
    common_cases: int
    scales: dict[str, tuple[float, float]]
    """By metric."""
    places: dict[str, int]
    """Decimal places, by metric."""
    slice_filters: dict[str, tuple[str, str]]
    """The metric and the word of the filter of each slice, by its name."""
    markdown: str
    command: str


class Refused(NamedTuple):
    """Two runs that cannot be compared as they are."""

    runs: tuple[ApiRun, ...]
    reason: str
    may_differ: bool
    """Whether the cases that both have can be compared all the same."""


def compare_page(
    settings: Settings, run_ids: Sequence[str], query: ComparePageQuery, known: Known
) -> ComparePage | Refused:
    """What the page says about a baseline and candidates, of which the first is compared with it case by case.

    Args:
        settings: Name the store.
        run_ids: Whole ids, the baseline first.
        query: What to show.
        known: Remembers comparisons.

    Raises:
        ConfigurationError: A run is given twice.
        UnknownNameError: There is no such case.
    """
    _refuse_repeated(run_ids)
    runs = tuple(run_answer(settings, run_id) for run_id in run_ids)
    try:
        pair = known.pair(run_ids[0], run_ids[1])
    except IncomparableError as error:
        reason = str(error)
        return Refused(runs, reason.removesuffix(ALLOW).strip(), may_differ=reason.endswith(ALLOW))
    others, pairs = _others(runs, known)
    every = [pair, *pairs]
    shown = Selection(settings, run_ids, query, known)
    return ComparePage(
        runs=runs,
        letters=tuple(letter(at) for at in range(len(runs))),
        findings=pair.findings,
        table=metric_table(pair),
        metric=shown.metric,
        scale=shown.scale,
        digits=digits(shown.scale),
        chips=shown.chips(),
        is_narrow=shown.wanted.is_narrow,
        changed=shown.wanted.cases.changed,
        problem=shown.problem,
        cases=shown.cases() if query.view == "cases" and not query.case else None,
        scatter=shown.scatter() if query.view == "cases" and not query.case else None,
        case=shown.case() if query.case else None,
        place=shown.place() if query.case else None,
        matrix=shown.matrix(every) if query.view == "matrix" and not query.case else None,
        others=others,
        several=_several(every),
        common_cases=pair.comparison.common_cases,
        places={name: digits(each.scale) for name, each in pair.comparison.metrics.items()},
        slice_filters=_slice_filters(pair),
        scales={name: each.scale for name, each in pair.comparison.metrics.items()},
        markdown=comparison_markdown(pair),
        command=_command(run_ids, different=query.different),
    )


def _several(pairs: Sequence[ComparedPair]) -> SeveralFindings | None:
    """Findings about all candidates together, if there are several."""
    if len(pairs) == 1:
        return None
    return several_findings([each.comparison for each in pairs], [each.findings for each in pairs])


def _refuse_repeated(run_ids: Sequence[str]) -> None:
    repeated = next((run_id for at, run_id in enumerate(run_ids) if run_id in run_ids[:at]), None)
    if repeated:
        raise ConfigurationError(f"{repeated} is given twice. Choose different runs to compare.")


def _others(runs: Sequence[ApiRun], known: Known) -> tuple[tuple[OtherRun, ...], list[ComparedPair]]:
    others, pairs = [], []
    for at, run in enumerate(runs[2:], 2):
        try:
            pair = known.pair(runs[0].id, run.id)
        except IncomparableError as error:
            others.append(OtherRun(run, letter(at), str(error).removesuffix(ALLOW).strip(), is_compared=False))
            continue
        pairs.append(pair)
        others.append(OtherRun(run, letter(at), headline_with_letters(pair.comparison, letter(at)), is_compared=True))
    return tuple(others), pairs


def _slice_filters(pair: ComparedPair) -> dict[str, tuple[str, str]]:
    return {slice_name(each): (each.metric, f"{each.key}:{each.value}") for each in pair.comparison.slices}


def _command(run_ids: Sequence[str], *, different: bool) -> str:
    return join(["prompt-evaluator", "compare", *run_ids, *(["--allow-different"] if different else ())])
