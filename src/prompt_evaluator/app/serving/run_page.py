"""What the page of a run says above its table of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.findings import findings
from prompt_evaluator.app.run_queries import dataset_history, stored_outcome
from prompt_evaluator.app.serving.changes import baseline_of
from prompt_evaluator.app.serving.run_rows import earlier_means
from prompt_evaluator.app.slices import slice_cells
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.case_filter import filter_word, toggled
from prompt_evaluator.model.chart import SIGNIFICANT, SliceCell
from prompt_evaluator.model.findings import Findings, MetricFinding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.api import ApiRun
    from prompt_evaluator.store import Store

_MOST_SQUARES = 200
_MOST_SLICES = 24
_LOOKED_AT = 60
_SHADES = 4


class MetricCard(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over all cases, beside the baseline's and those of the last runs."""

    finding: MetricFinding
    baseline: float | None
    """The baseline's mean."""
    bounds: tuple[float, float] | None
    """The mean if every sample without a score had the worst or the best one."""
    before: tuple[float, ...]
    flaky: int


class StabilitySquare(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose samples vary."""

    case_id: str
    shade: int
    """From 0, no spread, to 4."""
    text: str


class RunOverview(msgspec.Struct, frozen=True, kw_only=True):
    """What is said about a run. Does not change any more once it has ended, except for its baseline."""

    findings: Findings
    cards: tuple[MetricCard, ...]
    squares: tuple[StabilitySquare, ...]
    scored: int
    """Cases with a score, of which the squares are the most varying ones."""
    command: str | None
    folder: str | None
    """Where to type the command."""


class ShownSlice(msgspec.Struct, frozen=True, kw_only=True):
    """One group of cases on one metric."""

    cell: SliceCell
    differs: bool
    """Whether the difference from the other cases survives the correction for many tests."""
    q: str | None
    """The filter that shows its cases."""


def run_overview(settings: Settings, run: ApiRun) -> RunOverview:
    """What is said about a run."""
    store = open_store(settings)
    outcome = stored_outcome(store, run.id)
    plan, line = outcome.record.plan, store.run_line(run.id)
    found = findings(outcome)
    history = dataset_history(settings, run.dataset, limit=_LOOKED_AT) if run.dataset else []
    baseline = _means(store, baseline_of(settings, run.id))
    stats = line.summary.overall_metric_stats if line.summary else {}
    squares, scored = _squares(store, run.id, found)
    command = plan.command.text if plan.command else None
    return RunOverview(
        findings=found,
        cards=tuple(
            MetricCard(
                finding=each,
                baseline=baseline.get(each.name),
                bounds=stats[each.name].bounds if each.name in stats else None,
                before=earlier_means(line, each.name, history),
                flaky=stats[each.name].flaky_cases if each.name in stats else 0,
            )
            for each in found.metrics
        ),
        squares=squares,
        scored=scored,
        command=REDACTOR.text(command) if command else None,
        folder=plan.command.folder if plan.command else None,
    )


def run_cells(settings: Settings, run_id: str, keys: Sequence[str] = ()) -> tuple[SliceCell, ...]:
    """Every metric over every group of cases, by these metadata keys or all that divide them into a few groups.

    Reads all cases of the run; raises as `slice_cells`.
    """
    return slice_cells(open_store(settings), run_id, keys or None)


def shown_slices(cells: Sequence[SliceCell]) -> tuple[ShownSlice, ...]:
    """Groups of cases that differ from the others, then those nearest to it, of what `run_cells` found."""
    return tuple(
        ShownSlice(
            cell=cell,
            differs=cell.p_value is not None and cell.p_value < SIGNIFICANT,
            q=toggled("", word) if (word := filter_word(cell.key, cell.value)) else None,
        )
        for cell in cells[:_MOST_SLICES]
    )


def _means(store: Store, run_id: str | None) -> dict[str, float]:
    summary = store.run_line(run_id).summary if run_id else None
    return {name: each.mean_of_means for name, each in summary.overall_metric_stats.items()} if summary else {}


def _squares(store: Store, run_id: str, found: Findings) -> tuple[tuple[StabilitySquare, ...], int]:
    """The cases that vary most, in the shade of their widest metric."""
    spans = {each.name: (each.scale[1] - each.scale[0]) or 1.0 for each in found.metrics}
    varying = store.varying_cells(run_id, spans, _MOST_SQUARES)
    widest: dict[str, tuple[float, str]] = {}
    for cell in varying.cells:
        share = (cell.std or 0.0) / spans[cell.metric]
        if share >= widest.get(cell.case_id, (-1.0, ""))[0]:
            widest[cell.case_id] = (share, f"{cell.metric} {cell.mean:.3g}, std {cell.std or 0.0:.2g}")
    squares = [
        StabilitySquare(case_id=case_id, shade=_shade(share), text=f"{case_id}: {text}")
        for case_id, (share, text) in widest.items()
    ]
    return tuple(squares), varying.cases


def _shade(share: float) -> int:
    """A standard deviation of three tenths of the scale is the darkest."""
    return min(_SHADES, round(share / 0.3 * _SHADES))
