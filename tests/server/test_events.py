"""Events of a run: complete for those who come back, and harmless to the server for those who do not read."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from served import Served, eventually, served

from prompt_evaluator.server.feeds import Feeds

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Workspace

    from prompt_evaluator.client import Event


CASES = 80


def _big(workspace: Workspace, cases: int = CASES) -> dict[str, Any]:
    lines = [{"id": f"case-{at:03}", "input": f"Question {at:03}?", "reference": "yes"} for at in range(cases)]
    workspace.cases(lines, "benchmarks/big.jsonl")
    return {"dataset": "big", "model": "openai/test", "metrics": ["exact_match"], "max_concurrency": 8}


def _ids(events: list[Event]) -> list[str]:
    return [event.data["case_id"] for event in events if event.kind == "case"]


def test_a_watcher_from_the_start_sees_every_case_once_and_then_the_end(
    online: Workspace, service: ChatService
) -> None:
    request = _big(online)
    service.set(latency=0.1)
    with served(online) as server:
        run_id = server.client.start_run(**request).id
        events = list(server.client.events(run_id, after="0"))

    assert sorted(_ids(events)) == [f"case-{at:03}" for at in range(CASES)]
    assert events[-1].kind == "ended"
    assert events[-1].data["status"] == "completed"
    assert [event for event in events if event.kind == "progress"]


def test_a_watcher_that_has_seen_the_end_gets_no_content_and_so_does_not_come_again(offline: Workspace) -> None:
    with served(offline) as server:
        run = server.client.start_run(dataset="basic-coding", model="mock/default", metrics=["exact_match"])
        *_, end = server.client.events(run.id, after="0")
        request = Request(f"{server.address}/api/v1/benchmarks/runs/{run.id}/events", headers={"last-event-id": "over"})
        with urlopen(request, timeout=60) as answer:
            status, body = answer.status, answer.read()

    assert (end.kind, end.id) == ("ended", "over")
    assert (status, body) == (204, b"")


def test_a_watcher_that_comes_back_misses_nothing_and_gets_nothing_twice(
    online: Workspace, service: ChatService
) -> None:
    request = _big(online)
    service.set(latency=0.1)
    with served(online) as server:
        run_id = server.client.start_run(**request).id
        seen: list[Event] = []
        last: str | None = "0"
        until = time.monotonic() + 120
        while not seen or seen[-1].kind != "ended":
            assert time.monotonic() < until
            for event in server.client.events(run_id, after=last):
                seen.append(event)
                last = event.id or last
                if event.kind == "case" and len(_ids(seen)) % 7 == 0:
                    break  # the connection breaks

    assert sorted(_ids(seen)) == [f"case-{at:03}" for at in range(CASES)]


def test_a_watcher_that_comes_back_to_another_server_misses_nothing(online: Workspace, service: ChatService) -> None:
    request = _big(online)
    service.set(latency=0.15)
    with served(online) as server:
        run_id = server.client.start_run(**request).id
        seen, last = [], None
        for event in server.client.events(run_id, after="0"):
            seen.append(event)
            last = event.id or last
            if len(_ids(seen)) >= 20:
                break
        server.kill()
    with served(online) as server:
        seen += list(server.client.events(run_id, after=last))

    assert set(_ids(seen)) == {f"case-{at:03}" for at in range(CASES)}
    assert seen[-1].data["status"] == "completed"


def test_watchers_that_never_read_and_500_idle_ones_leave_memory_and_runs_alone(
    online: Workspace, service: ChatService
) -> None:
    request = _big(online, 200)
    service.set(latency=0.05)
    with served(online) as server, ExitStack() as stack:
        server.client.wait(server.client.start_run(**request).id)
        idle = server.client.start_run(**request, max_cases=1).id
        server.client.wait(idle)
        service.set(hold=True)
        held = server.client.start_run(**request).id
        before = _memory(server)
        for _ in range(500):
            stack.enter_context(_connected(server, held))
        deaf = stack.enter_context(_connected(server, held, receive_buffer=4096))
        eventually(lambda: server.client.get("/health/live")["status"] == "ok")
        service.set(hold=False)
        run = server.client.wait(held, timeout=120)
        after = _memory(server)
        server.client.runs()

    assert run.status == "completed"
    assert after - before < 100_000, "less than 0.2 MB for each of 501 connections"
    assert deaf


def _memory(server: Served) -> int:
    """Resident memory of the server in kB."""
    with open(f"/proc/{server.process.pid}/status") as file:  # noqa: PTH123
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def _connected(server: Served, run_id: str, receive_buffer: int | None = None) -> Any:
    address = urlsplit(server.address)
    connection = socket.socket()
    connection.settimeout(60)
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect((address.hostname, address.port))
    request = f"GET /api/v1/benchmarks/runs/{run_id}/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 0\r\n\r\n"
    connection.sendall(request.encode())
    return closing(connection)


def test_a_watcher_of_a_run_that_is_deleted_is_told_that_it_is_over(online: Workspace, service: ChatService) -> None:
    request = _big(online, 1_000)  # it must not be through before it is stopped
    service.set(hold=True)
    with served(online) as server:
        run_id = server.client.start_run(**request).id
        seen: list[Event] = []
        for event in server.client.events(run_id):
            seen.append(event)
            if len(seen) == 1:
                server.client.cancel(run_id)
                service.set(hold=False, latency=0.1)
                server.client.wait(run_id)
                server.client.delete(run_id)

    assert seen[-1].kind == "ended"
    assert seen[-1].data["status"] == "aborted"


async def test_a_watcher_does_not_wait_for_looks_that_fail() -> None:
    without_settings: Any = None  # so that the first look ends in an error that nobody expects

    with pytest.raises(AttributeError):
        async for _ in Feeds(without_settings).watch("a-run", None):
            pass
