"""Which sample a reviewer labels next: starts queues, reserves samples, takes labels, skips and takes back.

A queue is drawn once, from a seed that is stored with it, and its samples are stored in their order. So it survives
every restart, and two reviewers, servers and terminals share it.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from secrets import randbelow
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.clock import as_text, now
from prompt_evaluator.app.labelling.agreement import agreement
from prompt_evaluator.app.labelling.drawing import Marks, draw
from prompt_evaluator.app.labelling.scales import label_scale
from prompt_evaluator.app.labels import NewLabel, checked_label
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import InvalidLabelError
from prompt_evaluator.model import current_labels
from prompt_evaluator.model.label import newest_labels
from prompt_evaluator.model.labelling import Agreement, LabelQueue, LabelStep, Opinion, QueueProgress
from prompt_evaluator.store.label_opinions import Judged
from prompt_evaluator.store.label_queues import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import Label, RunPlan
    from prompt_evaluator.model.labelling import Draw, LabelItem, LabelScale, NewQueue
    from prompt_evaluator.store import Store

RESERVED = timedelta(minutes=10)
"""How long a sample is kept for somebody who does nothing with it."""
_SEEDS = 1_000_000_000


class GivenLabel(msgspec.Struct, frozen=True, kw_only=True):
    """What a reviewer said about one place of a queue."""

    place: int
    value: float
    comment: str = ""
    judge_seen: bool = False
    """Whether the judge's score was shown before."""
    answer_hash: str | None = None
    """Of the answer that was shown; if it is given, a label of another answer is refused."""


def start_queue(settings: Settings, new: NewQueue, *, created_by: str) -> QueueProgress:
    """Draw samples of a run and store them as a queue.

    Raises:
        UnknownNameError: There is no such run, or it does not measure this.
        InvalidLabelError: No sample of the run can be labelled.
    """
    with closing(open_store(settings)) as store:
        plan = store.run(new.run_id).plan
        scale = label_scale(plan, new.metric, metrics_of_cases(store, plan.run_id))
        candidates = store.label_candidates(plan.run_id, judged(plan, scale))
        if not candidates:
            what = f"Run {plan.run_id} has no answer to label on {new.metric!r}"
            raise InvalidLabelError(what, advice="Choose another metric, or a run with answers.", field="metric")
        seed = randbelow(_SEEDS) if new.seed is None else new.seed
        drawn = draw(candidates, new.draw, new.size, Marks(scale.low, scale.high, scale.pass_at), seed)
        queue = LabelQueue(
            id=0,
            run_id=plan.run_id,
            metric=scale.metric,
            draw=new.draw,
            seed=seed,
            size=len(drawn),
            population=len(candidates),
            created_at=now(),
            created_by=created_by,
        )
        return _progress(store, store.add_queue(queue, drawn).id)


def open_queue(settings: Settings, run_id: str, metric: str, how: Draw) -> QueueProgress | None:
    """The newest queue of a run that was drawn this way and has samples left; None if there is none."""
    return next(
        (
            each
            for each in queues_of(settings, run_id)
            if (each.queue.metric, each.queue.draw) == (metric, how) and each.left
        ),
        None,
    )


def queues_of(settings: Settings, run_id: str | None = None, *, limit: int | None = None) -> list[QueueProgress]:
    """The queues of a run, or of all runs, the newest first.

    Raises:
        UnknownNameError: There is no such run.
    """
    with closing(open_store(settings)) as store:
        return store.label_progress(None if run_id is None else store.full_id(run_id), limit=limit)


def next_step(settings: Settings, queue_id: int, reviewer: str) -> LabelStep:
    """Reserve the next sample for a reviewer; the same one again until they label or skip it."""
    with closing(open_store(settings)) as store:
        return _step(store, store.label_queue(queue_id), _turn(reviewer))


def label_step(settings: Settings, queue_id: int, reviewer: str, given: GivenLabel) -> LabelStep:
    """Add a label of one sample of a queue, and reserve the next one.

    A label is kept even if the reservation has expired and somebody else has labelled the sample meanwhile.

    Raises:
        UnknownNameError: There is no such queue or place.
        InvalidLabelError: The label does not fit the run; names the field.
    """
    with closing(open_store(settings)) as store:
        queue, turn = store.label_queue(queue_id), _turn(reviewer)
        item = store.label_item(queue_id, given.place)
        before = _labels_of(store, queue, item, turn.reviewer)
        new = NewLabel(
            run_id=queue.run_id,
            case_id=item.case_id,
            sample=item.sample,
            attempt=item.attempt,
            metric=queue.metric,
            value=given.value,
            reviewer=turn.reviewer,
            comment=given.comment,
            judge_seen=given.judge_seen or _was_shown(before, given),
            probability=item.probability,
            answer_hash=given.answer_hash,
        )
        found = checked_label(store, new)
        store.close_item(item, found.added, turn)
        return _step(store, queue, turn, done=item, label=found.label)


def skip_step(settings: Settings, queue_id: int, reviewer: str, place: int) -> LabelStep:
    """Leave a sample to others, and reserve the next one."""
    with closing(open_store(settings)) as store:
        queue, turn = store.label_queue(queue_id), _turn(reviewer)
        store.skip_item(store.label_item(queue_id, place), turn)
        return _step(store, queue, turn)


def undo_step(settings: Settings, queue_id: int, reviewer: str) -> LabelStep:
    """Take back what a reviewer did last, a label or a skip, and reserve that sample for them again.

    A label is not deleted: another one is added that withdraws it.
    """
    with closing(open_store(settings)) as store:
        queue, turn = store.label_queue(queue_id), _turn(reviewer)
        item = store.last_item(queue_id, turn.reviewer)
        if item is None:
            return _step(store, queue, turn)
        given = _labels_of(store, queue, item, turn.reviewer) if item.labelled_by else []
        withdrawal = [_withdrawn(label, turn.now) for label in current_labels(given).values()]
        store.reopen_item(item, withdrawal, turn)
        return _step(store, queue, turn, label=withdrawal[0] if withdrawal else None)


def judged(plan: RunPlan, scale: LabelScale) -> Judged:
    """What to read of the judge about a metric."""
    everywhere = scale.kind != "metric" or scale.metric in {use.key for use in plan.metrics}
    return Judged(scale.metric, scale.kind == "flag", everywhere)


def metrics_of_cases(store: Store, run_id: str) -> list[str]:
    """Everything that was measured in a run, which includes what only single cases ask for."""
    summary = store.run_line(run_id).summary
    return list(summary.overall_metric_stats) if summary else []


def queue_labels(store: Store, queue: LabelQueue, items: Sequence[LabelItem]) -> dict[int, Label]:
    """The labels that count of these samples of a queue, by place."""
    given = current_labels(store.labels(queue.run_id, metric=queue.metric))
    by_sample = {(key.case_id, key.sample, key.attempt, key.reviewer): label for key, label in given.items()}
    found = {}
    for item in items:
        label = by_sample.get((item.case_id, item.sample, item.attempt, item.labelled_by or ""))
        if label is not None:
            found[item.place] = label
    return found


def queue_agreement(store: Store, queue: LabelQueue) -> Agreement:
    """How far the labels of a queue agree with the judge."""
    plan = store.run(queue.run_id).plan
    scale = label_scale(plan, queue.metric, [queue.metric])
    items = store.labelled_items(queue.id, limit=queue.size)
    labels = queue_labels(store, queue, items)
    opinions = store.opinions(queue.run_id, judged(plan, scale), [label.case_id for label in labels.values()])
    return agreement(labels.values(), opinions, scale)


def opinion_of(store: Store, queue: LabelQueue, item: LabelItem) -> Opinion | None:
    """What the judge said about one sample of a queue; None if nothing."""
    plan = store.run(queue.run_id).plan
    scale = label_scale(plan, queue.metric, [queue.metric])
    found = store.opinions(queue.run_id, judged(plan, scale), [item.case_id])
    return found.get((item.case_id, item.sample, item.attempt))


def _step(
    store: Store, queue: LabelQueue, turn: Turn, *, done: LabelItem | None = None, label: Label | None = None
) -> LabelStep:
    following = store.reserve_item(queue.id, turn)
    return LabelStep(
        place=following.place if following else None,
        done=done.place if done else None,
        progress=_progress(store, queue.id),
        label=label,
        opinion=opinion_of(store, queue, done) if done else None,
        agreement=queue_agreement(store, queue),
    )


def _progress(store: Store, queue_id: int) -> QueueProgress:
    return store.label_progress(queue_id=queue_id)[0]


def _turn(reviewer: str) -> Turn:
    name = reviewer.strip()
    if not name:
        raise InvalidLabelError("There is no reviewer", advice="Say who labels.", field="reviewer")
    moment = datetime.now(UTC)
    return Turn(name, as_text(moment), as_text(moment + RESERVED))


def _labels_of(store: Store, queue: LabelQueue, item: LabelItem, reviewer: str) -> list[Label]:
    """All labels that a reviewer has given to a sample, also withdrawn ones."""
    found = store.labels(queue.run_id, case_id=item.case_id, metric=queue.metric)
    same = (item.sample, item.attempt, reviewer)
    return [label for label in found if (label.sample, label.attempt, label.reviewer) == same]


def _was_shown(before: Sequence[Label], given: GivenLabel) -> bool:
    """Whether the reviewer was shown the judge's score after an earlier label. One sent again says what it did."""
    last = next(iter(newest_labels(before).values()), None)
    if last is None:
        return False
    again = not last.withdrawn and (last.value, last.comment) == (given.value, given.comment)
    return bool(last.judge_seen) if again else True


def _withdrawn(label: Label, moment: str) -> Label:
    newer = max(moment, label.created_at)  # also if the clock of another machine is ahead
    return msgspec.structs.replace(label, created_at=newer, comment="", withdrawn=True)
