"""Characters that are not seen but have an effect: they move the cursor, reverse the text, or hide a part of it."""

from __future__ import annotations

import unicodedata

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = {"\u200c", "\u200d"}
"""Persian and Indic words and emoji are written with these."""
_DELETE = "\x7f"


def is_unseen(character: str) -> bool:
    """Whether it is a control, formatting or bidirectional character, a lone surrogate, or a line separator."""
    return unicodedata.category(character) in _UNSEEN


def visible(text: str) -> str:
    """Write what is not seen as `␛` or `[U+202E]`. Line feeds, tabs, and joiners within words and emoji are kept."""
    if text.isprintable() or text.translate(_KEPT).isprintable():
        return text
    before = ""
    parts = []
    for character in text.replace("\r\n", "\n"):
        parts.append(_shown(character, before))
        before = character
    return "".join(parts)


_KEPT = {ord("\n"): None, ord("\t"): None}


def _shown(character: str, before: str) -> str:
    if character.isprintable() or character in "\n\t" or not is_unseen(character):
        return character
    if character in _JOINERS and before and not before.isascii() and not is_unseen(before):
        return character
    if character == _DELETE:
        return "␡"
    return chr(0x2400 + ord(character)) if character < " " else f"[U+{ord(character):04X}]"
