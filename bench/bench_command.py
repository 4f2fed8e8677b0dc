"""What a user waits for: the installed command from start to exit, beside a bare aiohttp loop with the same calls."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure
from bench_datasets import FOLDER, jsonl_file
from chat_server import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_COMMAND = str(Path(sys.executable).parent / "prompt-evaluator")
_CONCURRENCY = 100
_PROMPT = "You are a helpful assistant."


def command(cases: str, samples: str, *address: str) -> Callable[[], float]:
    """Seconds of one `evaluate-dataset`, judged by the default rubric."""
    environment = {"OPENAI_API_KEY": "no-secret-at-all", "OPENAI_BASE_URL": ":".join(address)}
    arguments = ["-d", str(jsonl_file(int(cases))), "-s", "prompt.txt", "-n", samples]
    arguments += ["--generator-model", "openai/bench", "-j", str(_CONCURRENCY)]

    def work() -> float:
        folder = Path(tempfile.mkdtemp(dir=FOLDER))  # nothing of an earlier run is in the way
        (folder / "prompt.txt").write_text(_PROMPT, encoding="utf-8")
        start = time.perf_counter()
        subprocess.run(
            [_COMMAND, "evaluate-dataset", *arguments],
            check=True,
            cwd=folder,
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - start
        shutil.rmtree(folder)
        return seconds

    return work


def bare(cases: str, samples: str, *address: str) -> Callable[[], float]:
    """Seconds of the same calls, each judgement after its answer, with aiohttp and nothing around it."""
    loop = asyncio.new_event_loop()
    complete = loop.run_until_complete(_bare_call(":".join(address)))
    judge = _judge_messages()

    async def worker(numbers: Iterator[int]) -> None:
        for number in numbers:
            asked = f"Explain item number {number} in simple terms, please."
            answer = await complete([_message("system", _PROMPT), _message("user", asked)])
            await complete([*judge, _message("user", f"{asked}\n\n{answer}")])

    async def work() -> float:
        numbers = iter(range(int(cases) * int(samples)))
        start = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(_CONCURRENCY):
                group.create_task(worker(numbers))
        return time.perf_counter() - start

    return lambda: loop.run_until_complete(work())


async def _bare_call(address: str) -> Callable[[list[dict[str, str]]], Any]:
    import aiohttp  # noqa: PLC0415
    import msgspec  # noqa: PLC0415
    from yarl import URL  # noqa: PLC0415

    url, encode, decode = URL(address + "/chat/completions"), msgspec.json.encode, msgspec.json.decode
    client = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        headers={"Content-Type": "application/json", "Authorization": "Bearer none"},
    )

    async def complete(messages: list[dict[str, str]]) -> str:
        async with client.post(url, data=encode({"model": "bench", "messages": messages})) as response:
            answer: str = decode(await response.read())["choices"][0]["message"]["content"]
            return answer

    return complete


def _judge_messages() -> list[dict[str, str]]:
    """What the judge is told before the answer, so that the bare loop sends as much."""
    from prompt_evaluator.metrics.judge_prompt import system_message  # noqa: PLC0415
    from prompt_evaluator.metrics.rubrics import load_rubric  # noqa: PLC0415

    return [_message("system", system_message(load_rubric("default"), None).content)]


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _sides(cases: int, samples: int, address: str) -> tuple[str, str]:
    side = f"{cases}:{samples}:{address}"
    return f"bench_command:command:{side}", f"bench_command:bare:{side}"


def rate(cases: int = 2_000, samples: int = 5, *, at_least: float) -> measure.Result:
    """The one limit for calls: what everything around them costs where it is used, at a fast service's latency."""
    name = f"{cases:,} cases × {samples} and their judge, 50 ms: the whole command's rate over the bare loop's"
    with server(50) as address:
        return measure.ratio(name, *_sides(cases, samples, address), at_least=at_least)


def above_the_calls(limit: float) -> measure.Result:
    """A small run is mostly the start of the program."""
    name = "20 cases × 2 and their judge, 50 ms: seconds of the whole command above the calls"
    with server(50) as address:
        return measure.seconds_above(name, *_sides(20, 2, address), limit=limit)


if __name__ == "__main__":
    measure.conclude(rate(at_least=0.8), above_the_calls(0.9))
