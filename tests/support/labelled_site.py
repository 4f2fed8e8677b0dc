"""A queue of samples to be labelled in a seeded folder, with a few labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.labelling.queues import GivenLabel, label_step, start_queue
from prompt_evaluator.model.labelling import NewQueue

if TYPE_CHECKING:
    from seeded_site import Seeded

_GIVEN = ((4.0, ""), (2.0, "names the wrong page"), (5.0, "<script>mark()</script>"))


def add_label_queue(seeded: Seeded, size: int = 20) -> int:
    """Draw samples of the better run, label some of them as anna, and return the number of the queue."""
    new = NewQueue(run_id=seeded.better, metric="correct", draw="stratified", size=size, seed=7)
    number = start_queue(seeded.settings, new, created_by="anna").queue.id
    for place, (value, comment) in enumerate(_GIVEN, 1):
        label_step(seeded.settings, number, "anna", GivenLabel(place=place, value=value, comment=comment))
    return number
