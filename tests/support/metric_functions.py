"""Functions that users might bring as metrics, good and bad."""

from __future__ import annotations

import asyncio
import sys
from threading import Event
from typing import TYPE_CHECKING, Any

from prompt_evaluator.model import Scored, Skipped

if TYPE_CHECKING:
    from prompt_evaluator.model import Answer, Score, TestCase

RETURNS: dict[str, Any] = {
    "true": True,
    "false": False,
    "half": 0.5,
    "one": 1,
    "pair": (0.25, "because"),
    "verdict": (True, "fine"),
    "mapping": {"score": 0.75, "reason": "why", "details": {"a": 1}, "extra": [2]},
    "scored": Scored(0.5, "own"),
    "skipped": Skipped("not today"),
    "none": None,
    "nan": float("nan"),
    "infinite": float("inf"),
    "two": 2,
    "negative": -0.1,
    "text": "0.5",
    "list": [1, 2, 3],
    "empty": {},
    "odd": {"score": 0.5, "details": {"x": object()}},
}
NOT_CALLABLE = 3
MAY_END = Event()


def sync(output: str, case: TestCase) -> Any:
    return RETURNS[case.metadata.get("returns", output)]


async def slow_but_async(output: str, _case: TestCase) -> Any:
    await asyncio.sleep(0)
    return RETURNS[output]


def with_answer(output: str, case: TestCase, *, answer: Answer) -> Score:
    return Scored(float(output == answer.text and case.id == "a"))


def raises(_output: str, _case: TestCase) -> bool:
    raise KeyError("no such thing")


async def raises_async(_output: str, _case: TestCase) -> bool:
    raise TimeoutError("of its own")


def leaves(_output: str, _case: TestCase) -> bool:
    sys.exit(4)


def hangs(_output: str, _case: TestCase) -> bool:
    return MAY_END.wait(60)


async def hangs_async(_output: str, _case: TestCase) -> bool:
    await asyncio.sleep(30)
    return True


def takes_one(_output: str) -> bool:
    return True
