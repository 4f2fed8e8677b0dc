"""Whether the store can be used, and numbers for a monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.config.loading import Settings

_PREFIX = "prompt_evaluator_"


class Number(NamedTuple):
    """One number of a monitor, for each of several labels."""

    name: str
    help: str
    kind: Literal["gauge", "counter"]
    values: Sequence[tuple[tuple[tuple[str, str], ...], float]]


def check_store(settings: Settings) -> None:
    """Raise `StoreError` if the store cannot be read."""
    open_store(settings).queue(limit=1)


def read_numbers(settings: Settings) -> list[Number]:
    """Runs by status, the length of the queue, and what was spent."""
    store = open_store(settings)
    totals = store.totals_by_status()
    waiting = len(store.queue("waiting"))

    def by_status(name: str, text: str, kind: Literal["gauge", "counter"], column: str) -> Number:
        values = [((("status", each.status),), float(getattr(each, column))) for each in totals]
        return Number(_PREFIX + name, text, kind, values)

    return [
        by_status("runs", "Stored runs by status.", "gauge", "runs"),
        Number(_PREFIX + "runs_waiting", "Runs that wait for a worker.", "gauge", [((), waiting)]),
        by_status("cost_dollars", "What stored runs cost, as far as prices are known.", "gauge", "cost"),
        by_status("input_tokens", "Tokens that models read.", "gauge", "input_tokens"),
        by_status("output_tokens", "Tokens that models wrote.", "gauge", "output_tokens"),
    ]
