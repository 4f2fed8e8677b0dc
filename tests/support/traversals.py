"""Names by which a caller could try to reach a file, in thousands of spellings."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_DOTS = (
    "..",
    "%2e%2e",
    "%2E.",
    ".%2e",
    "%252e%252e",
    "%c0%ae%c0%ae",
    "%e0%80%ae",
    "\uff0e\uff0e",
    "\u2024\u2024",
    "....",
    ". .",
    "..;",
)
_SLASHES = (
    "/",
    "\\",
    "%2f",
    "%5c",
    "%252f",
    "%255c",
    "%c0%af",
    "%e0%80%af",
    "\u2215",
    "\u2044",
    "\uff0f",
    "//",
    "/./",
    "\\/",
)
_STARTS = (
    "",
    "/",
    "./",
    "~/",
    "basic-coding/",
    "basic-coding",
    "runs/",
    "file://",
    "file:///",
    "C:\\",
    "\\\\host\\share\\",
)
_ENDS = ("", "\x00", "%00", "\x00.yaml", "%00.json", ".yaml", ".json", "/", "?", "#", " ", "\n", "::$DATA", ";.yaml")
CODE = (
    "python:os:system",
    "python:secret:target",
    "python:./secret.py:target",
    "python:../secret.py:target",
    "command:cat secret.txt",
    "command:./secret.sh",
    "regex(.*)",
    "regex:.*",
    "regex(pattern='.*')",
    "includes(['x'])",
    "correctness()",
    "correctness:",
    "correctness{}",
    '{"metric": "regex"}',
    "prompt_evaluator.metrics.phrases:Includes",
    "http://127.0.0.1:1/v1",
    "https://evil.example/model",
    "openai@http://127.0.0.1:1/gpt-4o",
    "OPENAI/gpt-4o",
    "__class__",
    "{{7*7}}",
    "${HOME}",
    "$(cat secret.txt)",
    "`cat secret.txt`",
    "%(secret)s",
    "'; DROP TABLE runs; --",
    "*",
    "?",
    "[a-z]*",
    "-",
    "--config=secret.yaml",
    "@secret.txt",
    "@last~999999999999999999999",
    "tag:../secret",
    "CON",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
)


def traversals(outside: Path) -> Iterator[str]:
    """Spellings of ways to files in and around a folder next to the project's."""
    names = [f"{outside.name}/secret", f"{outside.name}/secret.yaml", "etc/passwd", "prompt_evaluator.yaml"]
    for dots, slash, start, end in product(_DOTS, _SLASHES, _STARTS, _ENDS):
        depth = 1 + len(dots + slash + start + end) % 3
        name = names[len(start + end + dots) % len(names)]
        yield start + (dots + slash) * depth + name.replace("/", slash) + end
    yield from plain(outside)


def plain(outside: Path) -> Sequence[str]:
    """The most direct ways."""
    secret = outside / "secret"
    whole = [f"{secret}{ending}" for ending in ("", ".yaml", ".jsonl", ".json", ".py", ".txt")]
    beside = [f"../{outside.name}/secret{ending}" for ending in ("", ".yaml", ".jsonl", ".json")]
    long = [
        "a" * 299,
        "a" * 301,
        "../" * 90,
        "x" * 100_000,
        "\x00" * 300,
        "%00",
        "\x00",
        ".",
        "..",
        "...",
        "~",
        "~root",
    ]
    urls = [f"file://{path}" for path in whole] + [f"file:{path}" for path in whole]
    return [*whole, *beside, *urls, *long, "/dev/stdin", "/proc/self/environ", "/etc/passwd", "-", *CODE]
