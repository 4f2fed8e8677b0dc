"""HTML by construction: every text is escaped unless it already is HTML, and no text can become HTML by accident."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from prompt_evaluator.reports.safe_text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

_VOID = {"br", "hr", "meta", "wbr"}


class Html:
    """Source text that a browser reads as HTML. It is not a string, so that the two cannot be joined by accident."""

    __slots__ = ("source",)

    def __init__(self, *, trusted: str) -> None:
        self.source = trusted


Content = Html | str | None
Attribute = str | int | float | bool | None


def text(content: str) -> Html:
    """A text to be read; what has an effect without being seen is made visible."""
    return Html(trusted=html.escape(plain(content)))


def join(parts: Iterable[Content], between: str = "") -> Html:
    """Several parts one after the other; None is left out."""
    return Html(trusted=html.escape(between).join(_source(part) for part in parts if part is not None))


def element(name: str, /, *content: Content, **attributes: Attribute) -> Html:
    """An element. `class_` is written `class` and `aria_label` is written `aria-label`; None and False are left out."""
    start = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    return Html(trusted=start if name in _VOID else f"{start}{join(content).source}</{name}>")


def _source(part: Html | str) -> str:
    return part.source if isinstance(part, Html) else text(part).source


def _attribute(key: str, value: Attribute) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {name}="{html.escape(plain(shown))}"'
