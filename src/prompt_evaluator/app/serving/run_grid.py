"""A run in progress as a grid: one square per case, or one for several of very many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.serving.queueing import QueuedRun
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.case_columns import DONE, FAILING, FLAKY, HAS_ERRORS
from prompt_evaluator.model.query import CaseNews, CaseQuery

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.store import Store

MOST_SQUARES = 2_000
_MOST_NAMES = 50_000
"""Characters. A page is to have at most 200 kB."""
_FIRST = 8
_WORST_FIRST = "fekp."


def _rank(state: int) -> int:
    """The place in `_WORST_FIRST`."""
    if not state & DONE:
        return _WORST_FIRST.index(".")
    return next((rank for rank, bit in enumerate((FAILING, HAS_ERRORS, FLAKY)) if state & bit), _WORST_FIRST.index("p"))


_RANKS = bytes(map(_rank, range(256)))
"""By the state of a case."""


class RunGrid(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the cases of a run in progress."""

    states: str
    """One letter per square: `f` failing, `e` errors, `k` flaky, `p` passing, `.` not done."""
    per_square: int
    """Cases per square, which shows the worst of them."""
    case_ids: tuple[str, ...]
    """The case of each square; empty if a square is several cases, or if the ids are very long."""
    cases: int
    done: int
    problems: tuple[CaseNews, ...]
    """The first cases that failed or had errors."""
    max_cost: float | None
    """The run's limit in US dollars; None if there is none, or it is not known."""


def run_grid(settings: Settings, run_id: str) -> RunGrid:
    """The cases of a run, given its whole id."""
    store = open_store(settings)
    found = store.case_states(CaseQuery(run_id=run_id))
    cases, ranks = len(found.positions), found.states.translate(_RANKS)
    per_square = max(1, -(-cases // MOST_SQUARES))
    return RunGrid(
        states="".join(_WORST_FIRST[min(ranks[at : at + per_square])] for at in range(0, cases, per_square)),
        per_square=per_square,
        case_ids=_names(store, run_id) if per_square == 1 else (),
        cases=cases,
        done=found.count(DONE),
        problems=tuple(store.first_problems(run_id, limit=_FIRST)),
        max_cost=_limit(store, run_id),
    )


def _names(store: Store, run_id: str) -> tuple[str, ...]:
    names = tuple(store.case_ids(run_id))
    return names if sum(map(len, names)) <= _MOST_NAMES else ()


def _limit(store: Store, run_id: str) -> float | None:
    """The limit of a run that a server was asked for."""
    for state in ("started", "waiting"):
        for request in store.queue(state):
            if request.run_id == run_id:
                return msgspec.convert(request.request, QueuedRun).limits.max_cost
    return None
