"""Markdown as GitHub reads it: tokens, and whatever in them goes beyond text."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token

OWN_TAGS = {"<details>", "</details>", "<summary>", "</summary>", "<br>", "<sub>", "</sub>"}
_TAG = re.compile(r"<[^>]*>")
_COMMENT = re.compile(r"\A<!-- prompt-evaluator: [a-z0-9-]+ -->\n?\Z")
_ALERT = re.compile(r"\[!(CAUTION|WARNING|NOTE|TIP)\]")
_LINKED = re.compile(r"(?<!\w)[@#!~%$&^]\w|\bGH-\d|https?://|\bwww\.", re.IGNORECASE)
"""What GitHub or GitLab turn into links: names, issues, labels, milestones and addresses."""


def parsed(text: str) -> list[Token]:
    """All tokens, also those within lines; addresses are found as GitHub finds them."""
    reader = MarkdownIt("commonmark", {"linkify": True}).enable(["table", "strikethrough", "linkify"])
    assert reader.linkify
    reader.linkify.set({"fuzzy_link": False})  # GitHub does not link a bare `example.com`
    return [each for token in reader.parse(text) for each in (token, *(token.children or ()))]


def effects(text: str) -> list[str]:
    """Everything in a page that is neither text nor one of our own tags."""
    return list(_effects(parsed(text)))


def _effects(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("link_open", "image", "s_open"):
            yield f"{token.type}: {token.attrs}"
        elif token.type in ("html_block", "html_inline"):
            yield from _foreign(token.content)
        elif token.type == "text" and not _ALERT.fullmatch(token.content) and (found := _LINKED.search(token.content)):
            yield f"linked: {found[0]!r} in {token.content[:80]!r}"


def _foreign(html: str) -> Iterator[str]:
    if _COMMENT.match(html):
        return
    for tag in _TAG.findall(html):
        if tag not in OWN_TAGS:
            yield f"tag: {tag}"
    if found := _LINKED.search(unescape(_TAG.sub("", html))):
        yield f"linked: {found[0]!r} in {html[:80]!r}"


def outline(text: str) -> dict[str, int]:
    """How often each kind of block occurs, except paragraphs: a text that ends a table changes this."""
    counts: dict[str, int] = {}
    for token in parsed(text):
        if token.block and token.type not in ("paragraph_open", "paragraph_close", "inline", "fence"):
            counts[token.type] = counts.get(token.type, 0) + 1
    return counts
