"""The table of faults in docs/reference/faults.md, row by row, against a server that commits them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from calling import Calls
from entries import each
from fault_server import FAULTS, FaultServer

from prompt_evaluator.errors import ProviderError
from prompt_evaluator.model import Limits, Message, ProviderSettings, Request

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


async def outcome_of(kind: str, *script: str) -> tuple[str, str, int]:
    """The answer's model or the error's class, the status, and how often the service was asked."""
    async with FaultServer() as server:
        server.script = [*script]
        calls = Calls()
        try:
            answer = await calls.open(settings(kind, server)).complete(REQUEST)
        except ProviderError as error:
            name, status, tries = type(error).__name__, str(error.status or ""), error.tries
        else:
            name, status, tries = f"an answer by {answer.model}", "200", answer.tries
        finally:
            await calls.close()
    assert tries == len(server.received)
    return name, status, tries


def test_every_fault_is_in_the_table() -> None:
    assert [row.fault for row in rows()] == sorted(FAULTS)


@each("row", rows(), ids=lambda row: row.fault)
async def test_a_fault_has_the_outcome_that_the_table_says_and_an_answer_after_it_is_one(row: Row) -> None:
    name, status, tries = await outcome_of("openai", row.fault, row.fault)

    assert Row(row.fault, name, "yes" if tries == 2 else "no", status) == row
    if tries == 2:
        assert await outcome_of("openai", row.fault) == ("an answer by test-model-2025", "200", 2)


@each(
    ("kind", "name"),
    [(kind, name) for kind in ("anthropic", "router") for name in FAULTS if name != "another model answers"],
)
async def test_no_fault_is_taken_for_an_answer_by_any_provider(kind: str, name: str) -> None:
    assert "answer" not in (await outcome_of(kind, name, name))[0]
