"""One reviewer with one queue, for a program that stays with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.labelling.queues import (
    label_step,
    next_step,
    open_queue,
    skip_step,
    start_queue,
    undo_step,
)
from prompt_evaluator.app.labelling.samples import queue_opinion, queue_sample, scale_of

if TYPE_CHECKING:
    from prompt_evaluator.app.labelling.queues import GivenLabel
    from prompt_evaluator.app.labelling.samples import QueueSample
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.labelling import LabelQueue, LabelScale, LabelStep, NewQueue, Opinion


class Reviewing:
    """Labels the samples of a queue under one name."""

    def __init__(self, settings: Settings, queue: LabelQueue, scale: LabelScale, reviewer: str) -> None:
        self._settings = settings
        self.queue, self.scale, self.reviewer = queue, scale, reviewer

    def next(self) -> LabelStep:
        return next_step(self._settings, self.queue.id, self.reviewer)

    def label(self, given: GivenLabel) -> LabelStep:
        return label_step(self._settings, self.queue.id, self.reviewer, given)

    def skip(self, place: int) -> LabelStep:
        return skip_step(self._settings, self.queue.id, self.reviewer, place)

    def undo(self) -> LabelStep:
        return undo_step(self._settings, self.queue.id, self.reviewer)

    def sample(self, place: int) -> QueueSample:
        return queue_sample(self._settings, self.queue.id, place)

    def opinion(self, place: int) -> Opinion | None:
        return queue_opinion(self._settings, self.queue.id, place)


def go_on(settings: Settings, new: NewQueue, reviewer: str, *, same_size: bool) -> Reviewing:
    """Go on with an unfinished queue that was drawn in this way, or start one.

    Args:
        settings: Name the store.
        new: What to label, and how to draw it.
        reviewer: Who labels.
        same_size: Whether only a queue of this size will do.

    Raises:
        UnknownNameError: There is no such run, or it does not measure this.
        InvalidLabelError: No sample of the run can be labelled.
    """
    scale = scale_of(settings, new.run_id, new.metric)
    found = open_queue(settings, new.run_id, scale.metric, new.draw)
    queue = found.queue if found else None
    if queue and same_size and queue.size != min(new.size, queue.population):
        queue = None
    if queue and new.seed not in (None, queue.seed):
        queue = None
    return Reviewing(settings, queue or start_queue(settings, new, created_by=reviewer).queue, scale, reviewer)
