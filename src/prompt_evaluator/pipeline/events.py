"""Telling everybody who looks what happens in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_evaluator.model.event import AnyEvent

Subscriber = Callable[["AnyEvent"], None]


class Events:
    """The events of one run, numbered, for any number of subscribers."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._subscribers: list[Subscriber] = []
        self.sequence = 0
        """Of the last event."""

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Tell this one of each event from now on, in the thread of the run; what is returned ends that."""
        self._subscribers.append(subscriber)

        def end() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return end

    def tell(self, kind: Callable[..., AnyEvent], **facts: Any) -> None:
        """Make an event and pass it on. A subscriber that breaks is told nothing more; the run goes on."""
        self.sequence += 1
        if not self._subscribers:
            return
        event = kind(run_id=self._run_id, sequence=self.sequence, **facts)
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(event)
            except Exception:  # noqa: BLE001 - somebody who looks must not end what he looks at
                self._subscribers.remove(subscriber)
