"""Run as a program: makes calls as told by JSON on stdin and prints every address that the process turned to."""

from __future__ import annotations

import sys

CONTACTED: list[str] = []
_WATCHED = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg")


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if event in _WATCHED:
        where = arguments[:2] if event == "socket.getaddrinfo" else arguments[-1]
        CONTACTED.append(f"{event} {where}")


sys.addaudithook(_watch)  # before anything else is imported: an import may call home as well

import asyncio  # noqa: E402
import json  # noqa: E402
from typing import Any  # noqa: E402

import msgspec  # noqa: E402
from calling import Calls  # noqa: E402

from prompt_evaluator.errors import ProviderError  # noqa: E402
from prompt_evaluator.model import Message, ProviderSettings, Request  # noqa: E402


async def call(settings: dict[str, Any], model: str) -> str:
    calls = Calls()
    entry = msgspec.convert(settings, ProviderSettings)
    provider = calls.open(entry)
    try:
        return (await provider.complete(Request(model=model, messages=(Message("user", "hello"),)))).text
    except ProviderError as error:
        return type(error).__name__
    finally:
        await calls.close()


if __name__ == "__main__":
    order = json.load(sys.stdin)
    outcome = asyncio.run(call(order["settings"], order["model"]))
    print(json.dumps({"outcome": outcome, "contacted": sorted(set(CONTACTED))}))  # noqa: T201
