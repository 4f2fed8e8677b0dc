"""Everything that the pages about labelling show."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.labelling.agreement import agreement_text, agrees
from prompt_evaluator.app.labelling.queues import (
    judged,
    metrics_of_cases,
    opinion_of,
    queue_agreement,
    queue_labels,
)
from prompt_evaluator.app.labelling.samples import queue_sample
from prompt_evaluator.app.labelling.scales import label_scale, label_scales
from prompt_evaluator.app.serving.answer_views import AnswerView, answer_view
from prompt_evaluator.app.serving.case_answers import AnswerGroup, answer_groups
from prompt_evaluator.app.serving.run_answers import answers_of, run_answer
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model import Label, TestCase, current_labels
from prompt_evaluator.model.api import ApiRun
from prompt_evaluator.model.labelling import LabelItem, LabelScale, Opinion, QueueProgress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.label_api import LabelPageQuery
    from prompt_evaluator.store import Store

_MOST_QUEUES, _MOST_RUNS, _MOST_LABELLED = 50, 20, 50
ROWS = 100
"""Labelled samples on one page."""
_SHOWN, _FOLDED = 6_000, 60_000
"""Characters of an answer that are shown at once, and that can be unfolded."""


class QueueRow(msgspec.Struct, frozen=True, kw_only=True):
    """A queue in a table."""

    progress: QueueProgress
    run: str
    """Its run in a few words."""
    synthetic: bool


class RunToLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a table."""

    run: ApiRun
    labels: int
    """How many labels were given, including superseded ones."""


class LabelsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Queues and runs of the whole store."""

    queues: tuple[QueueRow, ...]
    runs: tuple[RunToLabel, ...]


class QueueLine(msgspec.Struct, frozen=True, kw_only=True):
    """A queue of one run."""

    progress: QueueProgress
    agreement: str


class RunLabelsPage(msgspec.Struct, frozen=True, kw_only=True):
    """What can be labelled of a run, and its queues."""

    run: ApiRun
    scales: tuple[LabelScale, ...]
    queues: tuple[QueueLine, ...]
    labels: int


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """A sample that has a label, and what the judge said about it."""

    item: LabelItem
    label: Label | None
    """None if it has been withdrawn since."""
    opinion: Opinion | None
    agrees: bool | None
    """None without an opinion."""


class ShownItem(msgspec.Struct, frozen=True, kw_only=True):
    """A sample to be labelled."""

    item: LabelItem
    case: TestCase
    group: AnswerGroup
    """The sample alone."""
    view: AnswerView | None
    answer_hash: str | None
    opinion: Opinion | None
    """None while it is hidden."""
    labelled: Labelled | None


class QueuePage(msgspec.Struct, frozen=True, kw_only=True):
    """One queue: a sample, or all that are labelled."""

    run: ApiRun
    progress: QueueProgress
    scale: LabelScale
    agreement: str
    shown: ShownItem | None
    after: Labelled | None
    rows: tuple[Labelled, ...]
    """The labelled samples, the last one first; empty unless they are asked for."""


def labels_page(settings: Settings) -> LabelsPage:
    """The newest queues with their runs, the newest runs, and others that have labels."""
    _, page = answers_of(settings, (), "age", _MOST_RUNS, None)
    with closing(open_store(settings)) as store:
        counts = store.label_counts()
        queues = store.label_progress(limit=_MOST_QUEUES)
    recent = {run.id: run for run in page.runs}
    wanted = {*_runs_of(queues), *list(counts)[:_MOST_LABELLED]} - {*recent}
    others = {run_id: run_answer(settings, run_id) for run_id in wanted}
    runs = {**recent, **others}
    to_label = [run for run in runs.values() if run.kind != "pairwise" and run.status != "queued"]
    return LabelsPage(
        queues=tuple(_queue_row(each, runs[each.queue.run_id]) for each in queues),
        runs=tuple(RunToLabel(run=run, labels=counts.get(run.id, 0)) for run in to_label),
    )


def run_labels_page(settings: Settings, run_id: str) -> RunLabelsPage:
    """What can be labelled of a run.

    Raises:
        UnknownNameError: There is no such run.
    """
    run = run_answer(settings, run_id)
    with closing(open_store(settings)) as store:
        plan = store.run(run.id).plan
        scales = label_scales(plan, metrics_of_cases(store, run.id))
        lines = [
            QueueLine(progress=each, agreement=_agreement(store, each, scales[each.queue.metric]))
            for each in store.label_progress(run.id, limit=_MOST_QUEUES)
            if each.queue.metric in scales
        ]
        labels = store.label_counts(run.id).get(run.id, 0)
    return RunLabelsPage(run=run, scales=tuple(scales.values()), queues=tuple(lines), labels=labels)


def queue_page(settings: Settings, run_id: str, queue_id: int, query: LabelPageQuery) -> QueuePage:
    """One queue of a run, with the sample at a place. Reserves nothing.

    Raises:
        UnknownNameError: There is no such run, queue or place.
    """
    run = run_answer(settings, run_id)
    with closing(open_store(settings)) as store:
        queue = store.label_queue(queue_id)
        if queue.run_id != run.id:
            raise UnknownNameError("label queue", str(queue_id), ())
        (progress,) = store.label_progress(queue_id=queue_id)
        scale = label_scale(store.run(run.id).plan, queue.metric, [queue.metric])
        after = store.label_item(queue_id, query.after) if query.after is not None else None
        listed = store.labelled_items(queue_id, limit=ROWS, start=query.start) if query.view == "labelled" else []
        shown = None
        if query.place is not None and query.view == "sample":
            shown = _shown(settings, store, progress, scale, query)
        return QueuePage(
            run=run,
            progress=progress,
            scale=scale,
            agreement=_agreement(store, progress, scale),
            shown=shown,
            after=next(iter(_labelled(store, progress, scale, [after])), None) if after else None,
            rows=tuple(_labelled(store, progress, scale, listed)),
        )


def run_title(run: ApiRun) -> str:
    """A run in a few words."""
    return f"{run.dataset or 'cases'} × {run.model}"


def case_labels(settings: Settings, run_id: str, case_id: str) -> dict[int, list[Label]]:
    """The labels that count of a case, by sample, from 0."""
    with closing(open_store(settings)) as store:
        found: dict[int, list[Label]] = {}
        for label in current_labels(store.labels(run_id, case_id=case_id)).values():
            found.setdefault(label.sample, []).append(label)
    return found


def quick_scales(settings: Settings, run_id: str) -> tuple[LabelScale, ...]:
    """How to label everything that a run measures."""
    with closing(open_store(settings)) as store:
        return tuple(label_scales(store.run(run_id).plan, metrics_of_cases(store, run_id)).values())


def _queue_row(progress: QueueProgress, run: ApiRun) -> QueueRow:
    return QueueRow(progress=progress, run=run_title(run), synthetic=run.synthetic)


def _runs_of(queues: Sequence[QueueProgress]) -> set[str]:
    return {each.queue.run_id for each in queues}


def _agreement(store: Store, progress: QueueProgress, scale: LabelScale) -> str:
    return agreement_text(queue_agreement(store, progress.queue), scale, progress.queue.draw)


def _shown(
    settings: Settings, store: Store, progress: QueueProgress, scale: LabelScale, query: LabelPageQuery
) -> ShownItem:
    item, plan, case, sample = queue_sample(settings, progress.queue.id, query.place or 1)
    (group,) = answer_groups(plan, case, [sample])
    answer = sample.answer
    labelled = next(iter(_labelled(store, progress, scale, [item])), None) if item.labelled_by else None
    return ShownItem(
        item=item,
        case=case,
        group=group,
        view=None if answer is None else answer_view(answer, "text", None, shown=_SHOWN, folded=_FOLDED),
        answer_hash=sample.answer_hash,
        opinion=opinion_of(store, progress.queue, item) if query.judge else None,
        labelled=labelled,
    )


def _labelled(store: Store, progress: QueueProgress, scale: LabelScale, items: Sequence[LabelItem]) -> list[Labelled]:
    """Samples that have a label; others are left out, so that nobody sees the judge's opinion of them by accident."""
    queue = progress.queue
    labels = queue_labels(store, queue, items)
    plan = store.run(queue.run_id).plan
    opinions = store.opinions(queue.run_id, judged(plan, scale), [item.case_id for item in items])
    found = []
    for item in items:
        label, opinion = labels.get(item.place), opinions.get((item.case_id, item.sample, item.attempt))
        if item.labelled_by:
            same = agrees(label.value, opinion, scale) if label and opinion else None
            found.append(Labelled(item=item, label=label, opinion=opinion, agrees=same))
    return found
