"""Calls through the policy against a bare aiohttp loop, memory over many calls, and life under a rate limit."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import measure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

_SERVER = Path(__file__).parent / "chat_server.py"
_PROMPT = "Explain in simple terms how a bicycle stays upright, in under a hundred words. This is call {}."


@contextmanager
def server(*arguments: object) -> Iterator[str]:
    """The address of a chat server that runs as long as the block does."""
    process = subprocess.Popen([sys.executable, str(_SERVER), *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.kill()
        process.communicate()


def ours(concurrency: str, count: str, *address: str) -> Callable[[], float]:
    """Calls through provider, policy and governor."""
    loop, complete = _our_call(":".join(address), int(concurrency))
    return lambda: loop.run_until_complete(_all(complete, int(concurrency), int(count)))


def bare(concurrency: str, count: str, *address: str) -> Callable[[], float]:
    """The limit: the same requests and typed decoding with aiohttp and nothing around it."""
    import aiohttp  # noqa: PLC0415
    import msgspec  # noqa: PLC0415
    from yarl import URL  # noqa: PLC0415

    loop = asyncio.new_event_loop()
    url = URL(":".join(address) + "/chat/completions")
    encode, decode = msgspec.json.encode, msgspec.json.decode

    async def session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers={"Content-Type": "application/json", "Authorization": "Bearer none"},
        )

    client = loop.run_until_complete(session())

    async def complete(number: int) -> object:
        body = encode({"model": "bench", "messages": [{"role": "user", "content": _PROMPT.format(number)}]})
        async with client.post(url, data=body) as response:
            return decode(await response.read())["choices"][0]["message"]["content"]

    return lambda: loop.run_until_complete(_all(complete, int(concurrency), int(count)))


def _our_call(address: str, concurrency: int) -> tuple[asyncio.AbstractEventLoop, Callable[[int], Awaitable[object]]]:
    from prompt_evaluator.app.models import Models  # noqa: PLC0415
    from prompt_evaluator.model import Message, ProviderSettings, Request  # noqa: PLC0415

    os.environ["BENCH_KEY"] = "no-secret-at-all"
    settings = ProviderSettings(kind="openai", base_url=address, api_key_env="BENCH_KEY")
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    client = Models({"bench": settings}, max_concurrency=concurrency).client("bench")

    async def complete(number: int) -> object:
        messages = (Message("user", _PROMPT.format(number)),)
        return (await client.complete(Request(model="bench", messages=messages))).text

    return loop, complete


async def _all(complete: Callable[[int], Awaitable[object]], concurrency: int, count: int) -> float:
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await complete(number)

    start = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())
    return time.perf_counter() - start


def many(count: str, *address: str) -> Callable[[], float]:
    loop, complete = _our_call(":".join(address), 100)
    return lambda: loop.run_until_complete(_all(complete, 100, int(count)))


def speed(latency_ms: int, concurrency: int, count: int, at_least: float) -> measure.Result:
    with server(latency_ms) as address:
        side = f"{concurrency}:{count}:{address}"
        name = f"{latency_ms} ms, {concurrency} at once, rate over the bare loop's"
        return measure.ratio(name, f"bench_calls:ours:{side}", f"bench_calls:bare:{side}", at_least=at_least)


def share_of_ideal(latency_ms: int, concurrency: int, count: int, at_least: float) -> measure.Result:
    """The rate over concurrency ÷ latency, which nobody can beat."""
    with server(latency_ms) as address, measure.Child(f"bench_calls:ours:{concurrency}:{count}:{address}") as child:
        child.slice()  # warm up
        seconds = statistics.median(child.slice() for _ in range(3))
    share = count / seconds / (concurrency / latency_ms * 1000)
    detail = f"{count / seconds:.0f} calls/s"
    return measure.Result(
        f"{latency_ms} ms, {concurrency} at once, share of the ideal", share, at_least, at_most=False, detail=detail
    )


def memory() -> measure.Result:
    """The peak after 100,000 calls over the peak after 10,000."""
    with server(0) as address:
        peaks = []
        for count in (10_000, 100_000):
            with measure.Child(f"bench_calls:many:{count}:{address}") as child:
                child.slice()
                peaks.append(child.peak_memory())
    detail = f"{peaks[0]:.0f} MB and {peaks[1]:.0f} MB"
    return measure.Result("memory, 100,000 calls over 10,000", peaks[1] / peaks[0], 1.1, at_most=True, detail=detail)


def under_a_rate_limit(per_minute: int, calls: int) -> list[measure.Result]:
    """A server that says 429 above its rate, and nothing else about it."""
    import json  # noqa: PLC0415
    import urllib.request  # noqa: PLC0415

    with server(20, per_minute) as address, measure.Child(f"bench_calls:ours:100:{calls}:{address}") as child:
        seconds = child.slice()
        with urllib.request.urlopen(address) as reply:
            counts = json.load(reply)
    share = (calls - per_minute / 60) / seconds / (per_minute / 60)  # the first second is a gift of the bucket
    detail = f"{calls} calls in {seconds:.1f} s, {counts['refused']} refused"
    return [
        measure.Result(f"{per_minute} requests a minute, share of that rate", share, 0.9, at_most=False, detail=detail),
        measure.Result("calls that were not completed", calls - counts["admitted"], 0, at_most=True, detail=detail),
        measure.Result("tries before their Retry-After", counts["early"], 0, at_most=True, detail=detail),
    ]


if __name__ == "__main__":
    measure.conclude(
        share_of_ideal(500, 100, 1_000, 0.98),
        speed(50, 100, 1_500, 0.85),
        speed(50, 1_000, 4_000, 0.75),
        speed(0, 100, 3_000, 0.65),
        memory(),
        *under_a_rate_limit(3_000, 2_000),
    )
