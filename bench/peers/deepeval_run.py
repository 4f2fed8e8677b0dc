"""The work for DeepEval, which judges answers but does not ask for them: a client of openai does that first.

usage: deepeval_run.py CASES CONCURRENCY checked|judged ADDRESS
"""

import asyncio
import json
import sys
from pathlib import Path

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig
from deepeval.metrics import GEval, PatternMatchMetric
from deepeval.models import LocalModel
from deepeval.test_case import LLMTestCase, SingleTurnParams
from openai import AsyncOpenAI

path, concurrency, kind, address = sys.argv[1:]
rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


async def answers() -> list[str]:
    """All answers, so many requests at a time."""
    client, slots = AsyncOpenAI(base_url=address, api_key="none", timeout=600), asyncio.Semaphore(int(concurrency))

    async def ask(question: str) -> str:
        async with slots:
            reply = await client.chat.completions.create(
                model="bench",
                messages=[
                    {"role": "system", "content": "You are a helpful assistant."},
                    {"role": "user", "content": question},
                ],
            )
            return reply.choices[0].message.content or ""

    return await asyncio.gather(*(ask(row["input"]) for row in rows))


def metric() -> object:
    """The judge or the check."""
    if kind == "judged":
        return GEval(
            name="plain",
            model=LocalModel(model="bench", base_url=address, api_key="none"),
            evaluation_steps=["Say whether the answer is plain and complete."],
            evaluation_params=[SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT],
        )
    return PatternMatchMetric(pattern=".*plain.*")


cases = [
    LLMTestCase(name=row["id"], input=row["input"], actual_output=answer)
    for row, answer in zip(rows, asyncio.run(answers()), strict=True)
]
evaluate(
    cases,
    [metric()],
    async_config=AsyncConfig(run_async=True, max_concurrent=int(concurrency), throttle_value=0),
    display_config=DisplayConfig(show_indicator=False, print_results=False),
)
