from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from scoring import score, value

from prompt_evaluator.model import Failed

HARD = [
    (r"^(a|a)*$", "a" * 60 + "b"),
    (r"^(a|aa)+$", "a" * 100 + "b"),
]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("order 42", {"pattern": r"\d+"}, 1.0),
        ("order", {"pattern": r"\d+"}, 0.0),
        ("order 42", {"pattern": r"\d+", "full": True}, 0.0),
        ("42", {"pattern": r"\d+", "full": True}, 1.0),
        ("Dear", {"pattern": "dear"}, 0.0),
        ("Dear", {"pattern": "dear", "flags": "i"}, 1.0),
        ("a\nb", {"pattern": "^b"}, 0.0),
        ("a\nb", {"pattern": "^b", "flags": "m"}, 1.0),
        ("a\nb", {"pattern": "a.b"}, 0.0),
        ("a\nb", {"pattern": "a . b", "flags": "sx"}, 1.0),
        ("", {"pattern": "^$"}, 1.0),
        ("(?i) inline", {"pattern": "(?i)INLINE"}, 1.0),
    ],
)
async def test_a_pattern_is_searched_as_its_flags_say(text: str, options: dict[str, Any], expected: float) -> None:
    assert await value("regex", text, **options) == expected


@pytest.mark.parametrize(("pattern", "text"), HARD)
async def test_a_pattern_that_explodes_is_a_failure_within_a_second_or_two(pattern: str, text: str) -> None:
    began = time.monotonic()
    found = await score("regex", text, pattern=pattern)
    seconds = time.monotonic() - began

    assert isinstance(found, Failed)
    assert found.reason.startswith("timed out")
    assert seconds < 2  # 1 s on a machine that is not busy with other tests


async def test_other_work_goes_on_while_a_pattern_explodes() -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    heart = asyncio.create_task(beat())
    await score("regex", "a" * 60 + "b", pattern=r"^(a|a)*$")
    heart.cancel()

    assert beats > 5
