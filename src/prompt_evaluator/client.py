"""A client of the HTTP API, without further packages.

from prompt_evaluator.client import Client

client = Client("http://127.0.0.1:8080")
run = client.start_run(dataset="basic-coding", model="openai/gpt-4o", metrics=["correctness"])
print(client.wait(run.id).summary_scores)
"""

from __future__ import annotations

import time
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import msgspec

from prompt_evaluator.errors import PromptEvaluatorError
from prompt_evaluator.model.api import ApiError, ApiGroup, ApiRun, ApiRunPage, ApiStatus, Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["ApiGroup", "ApiRun", "ApiRunPage", "Client", "Event", "RefusedError", "UnreachableServerError"]

T = TypeVar("T")
_BENCHMARKS = "/api/v1/benchmarks"
_UNFINISHED = ("queued", "running")
_PIECE = 65_536


class RunFields(TypedDict, total=False):
    """What to run, and how; see `RunSettings`."""

    dataset: str | None
    model: str | None
    models: Sequence[str]
    suite: str | None
    metrics: Sequence[str] | None
    rubric: str | None
    judge: str | None
    samples: int | None
    system_prompt: str | None
    prompt_version: str | None
    temperature: float | None
    max_tokens: int | None
    seed: int | None
    case_ids: Sequence[str] | None
    where: Sequence[str]
    max_cases: int | None
    max_cost: float | None
    max_calls: int | None
    max_concurrency: int | None
    reuse: bool
    tags: Mapping[str, str]
    note: str | None


class RunsFields(TypedDict, total=False):
    """Which runs to list; see `RunsQuery`."""

    dataset: str | None
    model: str | None
    status: ApiStatus | None
    group: str | None
    where: Sequence[str]
    sort: str
    limit: int
    cursor: str | None


class ResultsFields(TypedDict, total=False):
    """Which cases of a run to list; see `ResultsQuery`."""

    status: Literal["pending", "completed", "partial", "failed"] | None
    score: Sequence[str]
    flag: Sequence[str]
    flaky: bool | None
    flagged: bool | None
    failing: bool | None
    errors: bool | None
    error_kind: str | None
    where: Sequence[str]
    text: str | None
    sort: str
    samples: bool
    limit: int
    cursor: str | None


class ChangeFields(TypedDict, total=False):
    """What to change of a run; see `RunChange`."""

    action: Literal["cancel", "resume"] | None
    retry_errors: bool
    tags: Mapping[str, str | None] | None
    note: str | None
    baseline: str | bool | None


class RefusedError(PromptEvaluatorError):
    """The server refused a request."""

    def __init__(self, status: int, error: str, field: str | None = None) -> None:
        """Keep what the server said.

        Args:
            status: The HTTP status.
            error: Its sentence.
            field: What is wrong in the request.
        """
        super().__init__(error)
        self.status, self.field = status, field


class UnreachableServerError(PromptEvaluatorError):
    """There is no answer from the server."""


class Event(msgspec.Struct, frozen=True):
    """Something that happened in a run."""

    kind: str
    """`progress`, `case` or `ended`."""
    data: Document
    id: str | None
    """To go on from, with `events(run_id, after=id)`."""


class Client:
    """A server. May be used from several threads: every request has a connection of its own."""

    def __init__(self, url: str = "http://127.0.0.1:8080", *, token: str | None = None, timeout: float = 60.0) -> None:
        """Connect to nothing yet.

        Args:
            url: The server's address.
            token: Made by `prompt-evaluator token create`; a server on this machine needs none.
            timeout: Seconds to wait for the server.
        """
        self._url, self._token, self._timeout = url.rstrip("/"), token, timeout

    def start_run(self, *, idempotency_key: str | None = None, **settings: Unpack[RunFields]) -> ApiRun:
        """Start one run; `settings` are the fields of `RunSettings`, such as `dataset` and `model`."""
        return self._ask("POST", f"{_BENCHMARKS}/runs", ApiRun, body=settings, key=idempotency_key)

    def start_group(self, *, idempotency_key: str | None = None, **settings: Unpack[RunFields]) -> ApiGroup:
        """Start several runs: with `models` or a `suite`."""
        return self._ask("POST", f"{_BENCHMARKS}/runs", ApiGroup, body=settings, key=idempotency_key)

    def estimate(self, **settings: Unpack[RunFields]) -> Document:
        """What a run with these settings would take; nothing is started."""
        return self._ask("POST", f"{_BENCHMARKS}/estimate", Document, body=settings)

    def run(self, run_id: str) -> ApiRun:
        """One run."""
        return self._ask("GET", _of(run_id), ApiRun)

    def runs(self, **query: Unpack[RunsFields]) -> ApiRunPage:
        """A page of runs; `query` are the fields of `RunsQuery`, such as `dataset`, `status` and `sort`."""
        return self._ask("GET", f"{_BENCHMARKS}/runs", ApiRunPage, query=query)

    def all_runs(self, **query: Unpack[RunsFields]) -> Iterator[ApiRun]:
        """The runs of all pages."""
        while True:
            page = self.runs(**query)
            yield from page.runs
            if page.next is None:
                return
            query["cursor"] = page.next

    def wait(self, run_id: str, *, timeout: float | None = None, every: float = 0.5) -> ApiRun:
        """Wait until a run has ended, and return it; raises `TimeoutError` after so many seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while (found := self.run(run_id)).status in _UNFINISHED:
            if until is not None and time.monotonic() > until:
                raise TimeoutError(f"Run {run_id} is still {found.status} after {timeout:g} s.")
            time.sleep(every)
        return found

    def cancel(self, run_id: str) -> ApiRun:
        """Stop a run. It can be resumed."""
        return self.change(run_id, action="cancel")

    def resume(self, run_id: str, *, retry_errors: bool = False) -> ApiRun:
        """Go on with a run that was stopped; with `retry_errors`, also retry what failed."""
        return self.change(run_id, action="resume", retry_errors=retry_errors)

    def change(self, run_id: str, **change: Unpack[ChangeFields]) -> ApiRun:
        """Change a run; `change` are the fields of `RunChange`, such as `tags`, `note` and `baseline`."""
        return self._ask("PATCH", _of(run_id), ApiRun, body=change)

    def delete(self, run_id: str) -> None:
        """Delete a run."""
        self._open("DELETE", _of(run_id)).close()

    def results(self, run_id: str, **query: Unpack[ResultsFields]) -> Document:
        """A page of the cases of a run; `query` are the fields of `ResultsQuery`, such as `failing` and `sort`."""
        return self._ask("GET", f"{_of(run_id)}/results", Document, query=query)

    def all_results(self, run_id: str, **query: Unpack[ResultsFields]) -> Iterator[Document]:
        """The cases of all pages."""
        while True:
            page = self.results(run_id, **query)
            yield from page["test_case_results"]
            if page["next"] is None:
                return
            query["cursor"] = page["next"]

    def case(self, run_id: str, case_id: str) -> Document:
        """One case with all its samples."""
        return self.get(f"{_of(run_id)}/cases/{quote(case_id, safe='')}")

    def events(self, run_id: str, *, after: str | None = None, timeout: float | None = None) -> Iterator[Event]:
        """What happens in a run, as it happens, until it has ended.

        Args:
            run_id: The run.
            after: The id of the last event that was seen; what came after it is repeated first.
            timeout: Raise `TimeoutError` when the run has not ended after so many seconds; None waits for as long as
                it takes.
        """
        until = None if timeout is None else time.monotonic() + timeout
        headers = {"last-event-id": after} if after else {}
        with self._open("GET", f"{_of(run_id)}/events", headers=headers) as answer:
            for event in _events(self._pieces(answer.readline)):
                if event is not None:
                    yield event
                elif until is not None and time.monotonic() > until:
                    raise TimeoutError(f"Run {run_id} has not ended after {timeout:g} s.")

    def export(self, run_id: str, **query: Any) -> Iterator[bytes]:
        """A run's results (`format`: json, jsonl or csv), piece by piece."""
        with self._open("GET", f"{_of(run_id)}/export/results", query=query) as answer:
            yield from self._pieces(lambda: answer.read(_PIECE))

    def get(self, path: str, **query: Any) -> Document:
        """Any other document of the API, such as `/api/v1/benchmarks/datasets`."""
        return self._ask("GET", path, Document, query=query)

    def post(self, path: str, **body: Any) -> Document:
        """Any other request of the API with a body, such as `/api/v1/benchmarks/compare`."""
        return self._ask("POST", path, Document, body=body)

    def _ask(  # noqa: PLR0913 - the parts of a request
        self,
        method: str,
        path: str,
        kind: type[T] | Any,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> T:
        headers = {"idempotency-key": key} if key else {}
        with self._open(method, path, query=query, body=body, headers=headers) as answer:
            found: T = msgspec.json.decode(self._reached(answer.read), type=kind)
            return found

    def _open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HTTPResponse:
        request = Request(self._url + path + _query(query or {}), method=method, headers=dict(headers or {}))  # noqa: S310 - the caller's own server
        if body is not None:
            request.data = msgspec.json.encode(body)
            request.add_header("content-type", "application/json")
        if self._token is not None:
            request.add_header("authorization", f"Bearer {self._token}")
        answer: HTTPResponse = self._reached(lambda: urlopen(request, timeout=self._timeout))  # noqa: S310
        return answer

    def _pieces(self, read: Callable[[], bytes]) -> Iterator[bytes]:
        while piece := self._reached(read):
            yield piece

    def _reached(self, call: Callable[[], T]) -> T:
        """What a call of the server returns; where it fails or breaks off, the error says so in a sentence."""
        try:
            return call()
        except HTTPError as error:
            with error:
                raise _refused(error) from None
        except (URLError, HTTPException, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise UnreachableServerError(
                f"The server at {self._url} does not answer: {reason}. Is `prompt-evaluator serve` running?"
            ) from None


def _of(run_id: str) -> str:
    return f"{_BENCHMARKS}/runs/{quote(run_id, safe='')}"


def _query(query: Mapping[str, Any]) -> str:
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        many: Sequence[Any] = value if isinstance(value, (list, tuple)) else [value]
        pairs += [
            (name, str(each).lower() if isinstance(each, bool) else str(each)) for each in many if each is not None
        ]
    return f"?{urlencode(pairs)}" if pairs else ""


def _refused(error: HTTPError) -> RefusedError:
    body = error.read()
    try:
        said = msgspec.json.decode(body, type=ApiError)
    except msgspec.DecodeError:
        said = ApiError(error=f"HTTP status {error.code}: {body[:200].decode(errors='replace')}")
    return RefusedError(error.code, said.error, said.field)


def _events(lines: Iterator[bytes]) -> Iterator[Event | None]:
    """Events, and None for each line that ends none: a server that has nothing to tell sends comments."""
    kind, data, last = "message", b"", None
    for line in lines:
        name, _, value = line.rstrip(b"\r\n").partition(b": ")
        if name == b"event":
            kind = value.decode()
        elif name == b"data":
            data = value
        elif name == b"id":
            last = value.decode()
        elif not name and data:
            yield Event(kind, msgspec.json.decode(data), last)
            kind, data = "message", b""
            continue
        yield None
