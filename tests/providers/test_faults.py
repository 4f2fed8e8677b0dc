"""The table of faults in docs/reference/faults.md, row by row, against a server that commits them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from calling import Calls
from fault_server import FAULTS, FaultServer

from prompt_evaluator.errors import ProviderError
from prompt_evaluator.model import Limits, Message, ProviderSettings, Request

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from prompt_evaluator.model import Answer

TABLE = Path(__file__).parents[2] / "docs" / "reference" / "faults.md"
REQUEST = Request(model="m", messages=(Message("user", "hello"),))
LIMITS = Limits(try_timeout=0.3, deadline=10, max_tries=2, first_backoff=0.01, max_reply_bytes=1_000_000)
PATHS = {"openai": "", "anthropic": "", "router": "/router"}


class Row(NamedTuple):
    fault: str
    outcome: str
    retried: str
    status: str


def rows() -> list[Row]:
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [Row(*(cell.strip().strip("`") for cell in line.strip("|").split("|"))) for line in lines[1:]]


def settings(kind: str, server: FaultServer) -> ProviderSettings:
    return ProviderSettings(kind=kind, base_url=server.url + PATHS[kind], key_required=False, limits=LIMITS)


class Outcome(NamedTuple):
    name: str
    status: str
    tries: int


async def outcome_of(call: Awaitable[Answer]) -> Outcome:
    try:
        answer = await call
    except ProviderError as error:
        return Outcome(type(error).__name__, str(error.status or ""), error.tries)
    return Outcome(f"an answer by {answer.model}", "200", answer.tries)


def test_every_fault_is_in_the_table() -> None:
    assert [row.fault for row in rows()] == sorted(FAULTS)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.fault)
async def test_a_fault_has_the_outcome_that_the_table_says(row: Row) -> None:
    async with FaultServer() as server:
        server.script = [row.fault] * 2
        calls = Calls()
        provider = calls.open(settings("openai", server))
        outcome = await outcome_of(provider.complete(REQUEST))
        await calls.close()

    retried = "yes" if len(server.received) == 2 else "no"
    assert Row(row.fault, outcome.name, retried, outcome.status) == row
    assert outcome.tries == len(server.received)


@pytest.mark.parametrize("row", [row for row in rows() if row.retried == "yes"], ids=lambda row: row.fault)
async def test_an_answer_after_a_fault_that_is_retried_is_an_answer(row: Row) -> None:
    async with FaultServer() as server:
        server.script = [row.fault]
        calls = Calls()
        answer = await calls.open(settings("openai", server)).complete(REQUEST)
        await calls.close()

    assert (answer.text, answer.tries) == (server.answer, 2)


@pytest.mark.parametrize("kind", ["anthropic", "router"])
@pytest.mark.parametrize("name", sorted(set(FAULTS) - {"another model answers"}))
async def test_no_fault_is_taken_for_an_answer_by_any_provider(kind: str, name: str) -> None:
    async with FaultServer() as server:
        server.script = [name] * 2
        calls = Calls()
        with pytest.raises(ProviderError):
            await calls.open(settings(kind, server)).complete(REQUEST)
        await calls.close()
