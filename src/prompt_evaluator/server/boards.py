"""What the pages about models and about runs over time have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec

from prompt_evaluator.app.serving.chart_figures import NO_CHARTS, chart_themes, script_version
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.server.routing import BENCHMARKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Q = TypeVar("Q", bound=msgspec.Struct)
P = TypeVar("P")


class Answered(NamedTuple, Generic[Q, P]):
    """A page, and what it answers."""

    page: P
    query: Q
    problem: str | None
    """Why it does not answer what was asked."""


def first_answered(queries: Sequence[Q], make: Callable[[Q], P]) -> Answered[Q, P]:
    """The page for the first of these queries that can be answered. The last one always can."""
    problem = None
    for query in queries[:-1]:
        try:
            return Answered(make(query), query, problem)
        except ConfigurationError as error:
            problem = problem or str(error)
    return Answered(make(queries[-1]), queries[-1], problem)


def drawing() -> dict[str, Any]:
    """What a page with charts needs."""
    return {"themes": chart_themes(), "script_version": script_version(), "no_charts": NO_CHARTS}


def addresses(path: str, query: msgspec.Struct) -> dict[str, Callable[..., str]]:
    """Makes the address of a page with other parameters, and that of the same numbers as a file."""
    given, defaults = msgspec.structs.asdict(query), msgspec.structs.asdict(type(query)())

    def address(**changes: object) -> str:
        kept = {name: value for name, value in (given | changes).items() if value != defaults[name]}
        return f"{path}?{urlencode(kept)}" if kept else path

    def export(*names: str) -> str:
        kept = {name: given[name] for name in names if given[name]}
        return f"{BENCHMARKS}{path}/export" + (f"?{urlencode(kept)}" if kept else "")

    return {"address": address, "export": export}
