"""HTML by construction: a text can never become markup."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from entries import each
from hostile import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

import prompt_evaluator.reports.html as package
from prompt_evaluator.reports.html.markup import element, join, text
from prompt_evaluator.reports.html.parts import prose, written
from prompt_evaluator.reports.safe_text import plain

FOLDER = Path(package.__file__).parent
MAY_TRUST = {"markup.py": 3, "page.py": 2, "chart_figures.py": 1}
"""Where source text becomes HTML without being escaped, and how often."""


class Reader(HTMLParser):
    """Tags, attributes and texts as a browser sees them."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text())
def test_a_text_is_read_as_it_was_written(written_by_someone: str) -> None:
    found = Reader(element("p", written_by_someone, title=written_by_someone).source)

    assert found.tags == ["p"]
    assert found.text == plain(written_by_someone)
    assert found.attributes == [("title", plain(written_by_someone))]


@each("name", HOSTILE)
def test_a_hostile_text_adds_no_tag_and_no_attribute(name: str) -> None:
    hostile = HOSTILE[name]
    found = Reader(join([element("p", hostile, class_=hostile), hostile], hostile).source)

    assert found.tags == ["p"]
    assert [key for key, _ in found.attributes] == ["class"]


def test_what_is_not_seen_is_made_visible() -> None:
    assert text("a\u202eb\x1b[31m").source == "a[U+202E]b␛[31m"


def test_html_within_html_is_not_escaped_again() -> None:
    assert element("p", element("b", "a & b")).source == "<p><b>a &amp; b</b></p>"


def test_attributes_that_are_none_or_false_are_left_out() -> None:
    found = element("button", "x", hidden=True, disabled=False, title=None, aria_label="y", class_="z", tabindex=0)

    assert found.source == '<button hidden aria-label="y" class="z" tabindex="0">x</button>'


def test_html_and_text_cannot_be_added() -> None:
    with pytest.raises(TypeError):
        element("b", "x") + "<i>"  # type: ignore[operator]


def test_source_text_is_trusted_in_few_places() -> None:
    found = {path.name: path.read_text("utf-8").count("Html(trusted=") for path in FOLDER.glob("*.py")}

    assert {name: number for name, number in found.items() if number} == MAY_TRUST


def test_backquotes_become_code_if_they_are_paired() -> None:
    assert prose("run `a <b>` now").source == "run <code>a &lt;b&gt;</code> now"
    assert prose("a ` b").source == "a ` b"


def test_a_long_text_is_clipped_with_the_rest_one_click_away() -> None:
    whole = "".join(f"line {at}\n" for at in range(1000))
    found = written(whole).source

    assert Reader(found).tags == ["div", "pre", "details", "summary", "pre"]
    assert found.index("line 0") < found.index("Show ") < found.index("line 999")
    pieces = Reader(found).text
    assert all(f"line {at}" in pieces for at in range(1000))


def test_a_short_text_is_not_clipped() -> None:
    assert Reader(written("hello\nyou").source).tags == ["pre"]
