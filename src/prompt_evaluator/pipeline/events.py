"""Notifies subscribers of what happens in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_evaluator.model.event import AnyEvent

Subscriber = Callable[["AnyEvent"], None]


class Events:
    """Numbers the events of one run and passes them to subscribers."""

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._subscribers: list[Subscriber] = []
        self.sequence = 0
        """Number of the last event."""

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with each event from now on, in the run's thread. Call the result to unsubscribe."""
        self._subscribers.append(subscriber)

        def end() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return end

    def tell(self, kind: Callable[..., AnyEvent], **facts: Any) -> None:
        """Make an event and pass it on. A subscriber that raises is removed; the run goes on."""
        self.sequence += 1
        if not self._subscribers:
            return
        event = kind(run_id=self._run_id, sequence=self.sequence, **facts)
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(event)
            except Exception:  # noqa: BLE001 - a subscriber must not break the run
                self._subscribers.remove(subscriber)
