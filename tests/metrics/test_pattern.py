from __future__ import annotations

import asyncio
from typing import Any

import pytest
from entries import each
from scoring import score, value

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.options import with_options
from prompt_evaluator.metrics.pattern import Regex
from prompt_evaluator.model import Failed

HARD = [
    (r"^(a|a)*$", "a" * 60 + "b"),
    (r"^(a|aa)+$", "a" * 100 + "b"),
]


@each(
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
    found = await score("regex", text, pattern=pattern)

    assert isinstance(found, Failed)
    assert found.reason.startswith("timed out")


async def test_other_work_goes_on_while_a_pattern_explodes() -> None:
    async def work() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    working = asyncio.create_task(work())
    exploding = asyncio.create_task(score("regex", "a" * 60 + "b", pattern=r"^(a|a)*$"))
    await asyncio.wait([working, exploding], return_when=asyncio.FIRST_COMPLETED)

    assert working.done()
    assert not exploding.done()
    await exploding


def test_a_pattern_whose_repeats_fill_the_memory_is_refused() -> None:
    for pattern in ("a{1000000000}", "a{100000,}", "(?x) a { 1000000 } # many"):
        with pytest.raises(ConfigurationError, match="repeats too often"):
            with_options(Regex, "regex", {"pattern": pattern})


async def test_a_pattern_with_many_repeats_is_still_searched() -> None:
    assert await value("regex", "a" * 20_000, pattern="^a{20000,30000}$") == 1.0
