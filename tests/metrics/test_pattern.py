from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from scoring import score, value

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.options import with_options
from prompt_evaluator.metrics.pattern import Regex
from prompt_evaluator.metrics.pattern_size import added_by_repeats
from prompt_evaluator.model import Failed
from prompt_evaluator.model.bounds import PATTERN_REPEATS

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
    found = await score("regex", text, pattern=pattern)

    assert isinstance(found, Failed)
    assert found.reason.startswith("timed out")


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


@pytest.mark.parametrize(
    "pattern",
    [
        "a{1000000000}",
        "a{10000000,}",
        r"\\{1000000}",
        "[a-z]{1000000}?",
        "(a{1000}){1000}",
        "(?:(?:a{100}b){100}){100}",
        "(?x) a { 1000000 } # many",
        "a{60000}b{60000}",
    ],
)
def test_a_pattern_whose_repeats_fill_the_memory_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        with_options(Regex, "regex", {"pattern": pattern})

    assert f"the pattern {pattern!r} repeats too much: " in str(caught.value)
    assert f"may add at most {PATTERN_REPEATS.most:,} characters, and nested counts multiply" in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory is in use")
def test_a_pattern_that_does_not_fit_into_memory_is_refused_with_the_same_sentence() -> None:
    code = """
import pathlib, resource
from prompt_evaluator.metrics.pattern import compiled
compiled("a")
pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 5_000_000,) * 2)
try:
    compiled("[ab]{100000}")
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert "The pattern '[ab]{100000}' repeats too much" in done.stdout


@pytest.mark.parametrize(
    ("pattern", "added"),
    [
        ("a{5}", 4),
        ("a{5,1000000}?", 4),
        ("a{0,1000000}", 0),
        ("a{,1000000}", 0),
        ("(a{2}b){2,}", 4),
        ("(?:ab){3}", 4),
        ("(?P<one>a|b){3}", 6),
        (r"\p{L}{3}", 2),
        (r"\{1000000}", 0),
        (r"\\{1000}", 999),
        ("[{1000000}]", 0),
        ("[]{1000000}]{3}", 2),
        (r"[^\]{1000000}]", 0),
        ("[[:alpha:]]{2}", 1),
        ('{"count": 1000000}', 0),
        ("{1000000 tokens}", 0),
        ("a{ 1000000 }", 0),
        ("a{e<=1000000}", 0),
        ("(?#{1000000}()a{2}", 1),
        ("(?x) a {3} # b{1000000} (", 2),
        ("[" * 20_000 + "a{2}", 0),
        ("))a{3}", 2),
    ],
    ids=lambda value: str(value)[:30],
)
def test_only_repeats_count_and_by_their_least_number(pattern: str, added: int) -> None:
    assert added_by_repeats(pattern, verbose=False) == added


async def test_a_pattern_with_many_repeats_is_still_searched() -> None:
    assert await value("regex", "a" * 20_000, pattern="^a{20000,1000000}$") == 1.0
