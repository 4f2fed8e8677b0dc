"""The limit: read the cases, ask, judge or check, write one line each, with aiohttp and nothing around it.

usage: bare.py CASES CONCURRENCY checked|judged ADDRESS
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import aiohttp

if TYPE_CHECKING:
    from collections.abc import Iterator

_SYSTEM = {"role": "system", "content": "You are a helpful assistant."}
_JUDGE = {"role": "system", "content": "Say how good this answer is, from 1 to 5, as JSON with a rationale."}


async def _ask(client: aiohttp.ClientSession, url: str, system: dict[str, str], content: str) -> str:
    body = {"model": "bench", "messages": [system, {"role": "user", "content": content}]}
    async with client.post(url, json=body) as response:
        answer: str = (await response.json())["choices"][0]["message"]["content"]
        return answer


async def _worker(
    client: aiohttp.ClientSession, url: str, cases: Iterator[dict[str, Any]], kind: str, out: IO[str]
) -> None:
    for case in cases:
        answer = await _ask(client, url, _SYSTEM, case["input"])
        if kind == "judged":
            score = json.loads(await _ask(client, url, _JUDGE, f"{case['input']}\n\n{answer}"))["score"]
        else:
            score = case["target"] in answer
        out.write(json.dumps({"id": case["id"], "answer": answer, "score": score}) + "\n")


async def _all(cases: Iterator[dict[str, Any]], concurrency: int, kind: str, address: str, out: IO[str]) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        url = f"{address}/chat/completions"
        await asyncio.gather(*(_worker(client, url, cases, kind, out) for _ in range(concurrency)))


def main(path: str, concurrency: str, kind: str, address: str) -> None:
    """Evaluate all cases."""
    cases = iter([json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()])
    with Path("results.jsonl").open("w", encoding="utf-8") as out:
        asyncio.run(_all(cases, int(concurrency), kind, address, out))


if __name__ == "__main__":
    main(*sys.argv[1:])
