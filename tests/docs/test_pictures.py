"""The pictures that the docs show: those that are named, with words for those who cannot see them."""

from __future__ import annotations

import re
from pathlib import Path

from picture_checks import check_picture

from dashboard_pictures import NAMED as DASHBOARD
from pictures import NAMED, PICTURES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_NAMED = re.compile(r"pictures/([a-z0-9-]+)\.png")
_WORDS = re.compile(r"!\[([^\]]*)\]\([^)]*pictures/")


def test_each_picture_has_a_name_its_size_and_shows_something() -> None:
    found = sorted(PICTURES.glob("*.png"))  # others are drawings of figures

    assert [path.name for path in found] == sorted(f"{name}.png" for name in NAMED | DASHBOARD)
    for path in found:
        check_picture(path)


def test_each_picture_is_in_a_page_and_those_that_are_shown_have_words_for_those_who_cannot_see_them() -> None:
    texts = [page.read_text("utf-8") for page in PAGES]

    assert {name for text in texts for name in _NAMED.findall(text)} == {*NAMED, *DASHBOARD}
    assert not [words for text in texts for words in _WORDS.findall(text) if len(words) < 20]
