"""The client knows what the server takes."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.client import (
    ChangeFields,
    Client,
    ResultsFields,
    RunFields,
    RunsFields,
    UnreachableServerError,
)
from prompt_evaluator.model.api import ResultsQuery, RunChange, RunSettings, RunsQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import msgspec


@pytest.mark.parametrize(
    ("fields", "struct"),
    [(RunFields, RunSettings), (RunsFields, RunsQuery), (ResultsFields, ResultsQuery), (ChangeFields, RunChange)],
)
def test_the_client_has_every_field_of_a_request(fields: type, struct: type[msgspec.Struct]) -> None:
    assert set(fields.__annotations__) == set(struct.__struct_fields__)


def test_a_server_that_is_not_there_is_told_in_a_sentence() -> None:
    with pytest.raises(UnreachableServerError, match="Is `prompt-evaluator serve` running"):
        Client("http://127.0.0.1:1").run("x")


def test_an_answer_that_breaks_off_or_stalls_is_told_in_the_same_sentence() -> None:
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\ndata:"
    calls: list[Callable[[Client], object]] = [
        lambda client: client.run("x"),
        lambda client: list(client.events("x")),
        lambda client: list(client.export("x")),
    ]
    for call in calls:
        for closes in (True, False):
            with _answering(head, closes=closes) as address, pytest.raises(UnreachableServerError, match="not answer"):
                call(Client(address, timeout=0.2))


@contextmanager
def _answering(answer: bytes, *, closes: bool) -> Iterator[str]:
    """A server that sends this and then ends the connection, or nothing more."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)
                if not closes:
                    done.wait()

        done = threading.Event()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            done.set()
            thread.join()
