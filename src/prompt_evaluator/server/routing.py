"""Declares routes: each says who may call it, what it takes and what it answers, and is checked and documented by that.

A route's function gets one `Call` and returns a value. It never sees the request itself, so it cannot forget a check.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prompt_evaluator.app.server_settings import ServerSettings
    from prompt_evaluator.model.token import Role
    from prompt_evaluator.server.auth import Caller
    from prompt_evaluator.server.site import Site

Q = TypeVar("Q")
B = TypeVar("B")
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
JSON = "application/json"
HTML = "text/html; charset=utf-8"
EVENTS = "text/event-stream"
API = "/api/v1"
BENCHMARKS = f"{API}/benchmarks"


@dataclass(frozen=True, slots=True)
class Call(Generic[Q, B]):
    """A request that has been checked."""

    site: Site
    caller: Caller
    path: dict[str, str]
    """The values in the address."""
    query: Q
    body: B
    headers: dict[str, str]
    """With names in lower case."""

    @property
    def limits(self) -> ServerSettings:
        """How much this caller may ask for."""
        return self.site.server.within(self.caller.token)


class Created(NamedTuple):
    """An answer about something new."""

    value: Any
    location: str


class Streamed(NamedTuple):
    """An answer that is written piece by piece; never held in memory as a whole."""

    pieces: Iterable[bytes] | Any
    """Bytes, from a plain or an asynchronous iterator."""
    media_type: str
    filename: str | None = None
    """For a download."""
    headers: tuple[tuple[str, str], ...] = ()


class Page(NamedTuple):
    """An answer for a browser."""

    template: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One address and what it does."""

    method: Method
    path: str
    """With placeholders such as `{run_id}`."""
    role: Role | None
    """The least role that may call it; None for everybody, also without a token."""
    summary: str
    run: Callable[[Any], Any]
    query: type | None = None
    body: type | None = None
    answer: Any = None
    """The type of the answer, or a tuple of types; None if there is none."""
    status: int = 200
    media_types: tuple[str, ...] = (JSON,)
    errors: tuple[int, ...] = ()
    """Statuses of refusals, besides those that every route of its kind has."""
    headers: tuple[str, ...] = ()
    """Headers that mean something to it."""
    audited: bool = True
    """Whether a change is written to the audit log; a look that needs a body is not a change."""

    @property
    def changes(self) -> bool:
        return self.method != "GET"

    @property
    def is_shared(self) -> bool:
        """Whether equal requests may get one answer: not if it is streamed, because that can be read only once."""
        return self.method == "GET" and {*self.media_types} <= {JSON, HTML}

    @property
    def parameters(self) -> list[str]:
        """The names of the placeholders."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]

    @property
    def is_api(self) -> bool:
        return self.path.startswith("/api/")

    @property
    def is_page(self) -> bool:
        """Whether it only answers people in browsers."""
        return all(kind.startswith("text/html") for kind in self.media_types)

    @property
    def statuses(self) -> tuple[int, ...]:
        """All statuses of refusals, in order."""
        found = {400, 403, 422, *self.errors}
        if self.role is not None:
            found |= {401, 503}  # the caller is looked up in the store
        if self.parameters:
            found.add(404)
        if self.changes:
            found |= {413, 415}
        return tuple(sorted(found))


@dataclass(slots=True)
class Routes:
    """The routes of one resource, as its module declares them."""

    prefix: str = ""
    tag: str = ""
    """The heading under which they are documented."""
    listed: list[Route] = field(default_factory=list)

    def add(
        self, method: Method, path: str, *, role: Role | None, summary: str, **more: Any
    ) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
        """Declare the function below as a route."""

        def declared(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
            self.listed.append(
                Route(method=method, path=self.prefix + path, role=role, summary=summary, run=run, **more)
            )
            return run

        return declared

    def __iter__(self) -> Iterator[Route]:
        return iter(self.listed)
