"""Processes that share a store and a key keep its rate limits together, as the service sees it."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import pytest
from stores import everything, sql
from workspace import Workspace, until

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Started

PER_SECOND = 100
SECONDS = 60
TOLERANCE = 0.03


@pytest.fixture(params=["server", "file"])
def shared(request: pytest.FixtureRequest, online: Workspace) -> Workspace:
    """A folder whose configuration limits the key, with a store of either kind."""
    where = {"store": request.getfixturevalue("database")} if request.param == "server" else {}
    online.configure(providers={"openai": {"limits": {"requests_per_minute": PER_SECOND * 60}}}, **where)
    return online


def _start(shared: Workspace, model: str) -> Started:
    one_call = ("--rubric", "none", "--metrics", "contains_json", "-n", "1")
    return shared.start_evaluation("--generator-model", f"openai/{model}", *one_call)


def _within(times: list[float], begin: float, seconds: float) -> int:
    return sum(begin <= at < begin + seconds for at in times)


def test_three_processes_together_make_as_many_calls_as_one_may(shared: Workspace, service: ChatService) -> None:
    shared.cases(PER_SECOND * (SECONDS + 30))
    service.set(times=True, latency=0.1)
    models = ("one", "two", "three")
    for model in models:
        _start(shared, model)
    until(lambda: all(service.state()["models"].get(model) for model in models), 60)
    begin = service.times()[-1] + 1.0
    time.sleep(SECONDS + 1.5)

    arrived, shares = service.times(), [service.times(model) for model in models]

    assert _within(arrived, begin, SECONDS) == pytest.approx(PER_SECOND * SECONDS, rel=TOLERANCE)
    assert all(_within(share, begin, SECONDS) > PER_SECOND * SECONDS / 10 for share in shares)


def test_what_the_service_asks_one_process_to_wait_the_other_waits_too(
    online: Workspace, service: ChatService, database: str
) -> None:
    online.configure(store=database)  # no limit is configured
    online.cases(3_000)
    refused = {"model": "one", "status": 429, "headers": {"Retry-After": "5"}}
    service.set(times=True, latency=0.05, rules=[{**refused, "times": 40}])
    _start(online, "two")
    until(lambda: service.state()["models"].get("two", 0) > 20, 60)
    _start(online, "one")
    until(lambda: service.state()["models"].get("one", 0) > 8, 60)  # the first calls of a process, all refused
    time.sleep(6.0)

    own, others = service.times("one"), service.times("two")

    first = own[0]
    pauses = [after - before for before, after in itertools.pairwise(others) if before > first]
    assert max(pauses) > 2.0  # of five; it hears of it within a second or two
    ((key,),) = sql(database, "SELECT DISTINCT key FROM shared_limits")
    assert len(key) == 64
    assert service.environment["OPENAI_API_KEY"].encode() not in everything(database)
