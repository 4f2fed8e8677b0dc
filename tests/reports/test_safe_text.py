"""Whatever a model wrote, a report repeats it as text and as nothing else."""

from __future__ import annotations

import csv
import html
import io
import re
import xml.etree.ElementTree as ET

import pytest
from entries import each
from hostile import HOSTILE, LOG
from markdown_it import MarkdownIt

from prompt_evaluator.model.characters import is_unseen
from prompt_evaluator.reports.safe_text import (
    csv_cell,
    csv_original,
    log_line,
    markdown_block,
    markdown_text,
    one_line,
    plain,
    xml_attribute,
    xml_text,
)

TEXTS = [pytest.param(text, id=name) for name, text in HOSTILE.items()]
GITHUB = MarkdownIt("gfm-like")
assert GITHUB.linkify is not None
GITHUB.linkify.set({"fuzzy_link": False})  # GitHub links `www.`, but not every name of a file
csv.field_size_limit(1_000_000)


def words(rendered: str) -> str:
    """What a reader of a page sees."""
    return html.unescape(re.sub("<[^>]*>", "", rendered)).replace("\u200b", "").strip()


@each("text", TEXTS)
def test_nothing_unseen_remains_but_lines_tabs_and_joiners(text: str) -> None:
    assert not [each for each in plain(text) if is_unseen(each) and each not in "\n\t\u200c\u200d"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("failed\rpassed", "failed␍passed"),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
        ("file\u202ecod.exe", "file[U+202E]cod.exe"),
        ("p\u200bw\u200dn", "p[U+200B]w[U+200D]n"),
        ("\x00\x7f\x9b", "␀␡[U+009B]"),
        ("\ud800", "[U+D800]"),
        ("\U0001f468\u200d\U0001f469 \u0645\u06cc\u200c\u062e", "\U0001f468\u200d\U0001f469 \u0645\u06cc\u200c\u062e"),
        ("naïve\u00a0☕", "naïve\u00a0☕"),
    ],
)
def test_unseen_characters_are_named(text: str, shown: str) -> None:
    assert plain(text) == shown


@each("text", TEXTS)
def test_a_cell_is_not_a_formula_and_its_text_comes_back(text: str) -> None:
    line = io.StringIO()
    csv.writer(line).writerow(["before", csv_cell(text), "after"])
    written = line.getvalue().encode()

    ((before, cell, after),) = csv.reader(io.StringIO(written.decode(), newline=""), strict=True)

    assert (before, after) == ("before", "after")
    assert not cell.startswith(tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"))
    assert csv_original(cell) == re.sub("[\x00\ud800-\udfff]", "�", text)


@each("text", TEXTS)
def test_xml_holds_the_text_and_no_element_of_it(text: str) -> None:
    document = f'<a b="{xml_attribute(text)}">{xml_text(text)}</a>'

    element = ET.fromstring(document.encode())

    assert (element.tag, list(element), list(element.attrib)) == ("a", [], ["b"])
    assert element.text == element.attrib["b"] or not text
    assert _likeness(element.text or "") == _likeness(text)


def _likeness(text: str) -> str:
    """What is left of a text whatever became of its unseen characters."""
    seen = re.sub(r"\[U\+[0-9A-F]{4,6}\]|[\u2400-\u2421�]", "", text.replace("\r\n", "\n"))
    return "".join(
        each
        for each in seen
        if not is_unseen(each) and not 0xFDD0 <= ord(each) & 0xFFFF <= 0xFDEF and ord(each) & 0xFFFE != 0xFFFE
    )


@each("text", TEXTS)
def test_a_line_of_markdown_is_one_paragraph_of_plain_words(text: str) -> None:
    rendered = GITHUB.render(markdown_text(text))

    assert re.findall("<[^>]*>", rendered) == (["<p>", "</p>"] if text.strip() else [])
    assert words(rendered) == one_line(text).replace("\u200b", "").strip()


@each("text", TEXTS)
def test_a_table_cell_in_markdown_stays_one_cell(text: str) -> None:
    rendered = GITHUB.render(f"| a | b |\n| --- | --- |\n| {markdown_text(text)} | end |\n")

    assert rendered.count("<td>") == 2
    assert "<td>end</td>" in rendered


@each("text", TEXTS)
def test_markdown_names_nobody_and_no_issue(text: str) -> None:
    seen = html.unescape(markdown_text(text))

    assert not re.search(r"[@#]\w|://|www\.|GH-\d", seen)


@each("text", TEXTS)
def test_a_line_of_markdown_means_the_same_between_html_tags(text: str) -> None:
    (inside,) = re.findall("<summary>(.*)</summary>", f"<summary>{markdown_text(text)}</summary>", re.DOTALL)

    assert "<" not in inside
    assert words(inside) == one_line(text).replace("\u200b", "").strip()


@each("text", TEXTS)
def test_a_block_of_markdown_ends_where_it_should(text: str) -> None:
    rendered = GITHUB.render(f"before\n\n{markdown_block(text)}\n\nafter\n")

    found = re.fullmatch(
        r'<p>before</p>\n<pre><code class="language-text">(.*)</code></pre>\n<p>after</p>\n', rendered, re.DOTALL
    )
    assert found
    assert html.unescape(found[1]).rstrip("\n") == plain(text).rstrip("\n")


def test_words_with_underscores_stay_readable_in_markdown() -> None:
    assert (
        markdown_text("factual_accuracy is 4.5 (95 % from 4 to 5)") == "factual_accuracy is 4.5 (95 &#37; from 4 to 5)"
    )


@each("text", TEXTS)
def test_a_line_of_a_log_is_one_line_without_commands(text: str) -> None:
    line = log_line(text)

    assert "\n" not in line
    assert not any(map(is_unseen, line.replace("\u200d", "").replace("\u200c", "")))
    assert "::" not in line
    assert "##" not in line


def test_the_words_of_a_command_can_still_be_read_in_a_log() -> None:
    assert log_line(LOG["error command"]) == ": :error file=app.py,line=1: :pwned"
