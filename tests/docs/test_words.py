"""One word per thing: words that were retired do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONCEPTS = ROOT / "docs" / "concepts.md"
PAGES = [
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page != CONCEPTS),
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/texts.yaml")),
]


def retired() -> list[str]:
    table = CONCEPTS.read_text(encoding="utf-8").partition("## Retired words")[2]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")][1:]
    return [word.strip() for row in rows for word in row.split(",")]


def places(word: str) -> list[str]:
    wanted = re.compile(rf"\b{re.escape(word)}\b", 0 if word[0].isupper() else re.IGNORECASE)
    return [
        f"{page.relative_to(ROOT)}:{number}"
        for page in PAGES
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
        if wanted.search(line)
    ]


def test_the_table_of_retired_words_is_read() -> None:
    assert {"judgings", "under way", "Switchboard"} <= set(retired())


@pytest.mark.parametrize("word", retired())
def test_a_retired_word_is_used_nowhere(word: str) -> None:
    assert places(word) == []
