"""Two texts in, what was removed and added out: by words, or by path if both are JSON.

Long texts stay quick: what they begin and end with is set aside, then lines are compared, then the words of lines
that differ.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from rapidfuzz.distance import Indel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Op = Literal["same", "removed", "added"]
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|\w+(?:['’]\w+)*|\s|[^\w\s]")
"""A word, a character of a script that is written without spaces, a space or a sign."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MOST_TOKENS = 12_000
"""Words on either side that are compared at once: about 20 ms and as many megabytes."""
_SHORT = 12
"""Characters of equal text that do not keep two changes apart."""
_MOST_CHANGES = 500
_DEEPEST = 50


class Part(NamedTuple):
    """A piece of a difference.

    Without what was added, the pieces are the first text; without what was removed, they are the second.
    """

    op: Op
    text: str


class _Change(NamedTuple):
    removed: str
    added: str


class PathChange(NamedTuple):
    """A value that differs between two JSON documents."""

    path: str
    """Such as `items[2].name`; empty for the whole document."""
    before: str | None
    """As JSON; None if it is only in the second."""
    after: str | None


def word_diff(before: str, after: str) -> list[Part]:
    """What was removed and added, word by word.

    A change begins with what was removed. Texts that are too long to compare by words are compared by lines; lines
    that are too many become one change.
    """
    if before == after:
        return [Part("same", before)] if before else []
    return _readable(_joined(_by_words(before, after)))


def json_diff(before: str, after: str) -> list[PathChange] | None:
    """The values that differ, in the order of the first document; None if a text is not a JSON object or list.

    At most 500 are listed.
    """
    documents = [_document(text) for text in (before, after)]
    if None in documents:
        return None
    found: list[PathChange] = []
    for change in _changes("", *documents, depth=0):
        found.append(change)
        if len(found) == _MOST_CHANGES:
            break
    return found


def shortened(parts: Sequence[Part], *, context: int = 2) -> list[Part | int]:
    """The parts, with the number of lines in place of many equal lines that are far from any change."""
    found: list[Part | int] = []
    for at, part in enumerate(parts):
        lines = _LINE.findall(part.text)
        head = context + 1 if at else 0  # the first may be the rest of a changed line
        tail = context + 1 if at < len(parts) - 1 else 0
        if part.op != "same" or len(parts) == 1 or len(lines) <= head + tail + 2:
            found.append(part)
            continue
        middle = len(lines) - head - tail
        ends = [Part("same", "".join(lines[:head])), Part("same", "".join(lines[len(lines) - tail :]))]
        found += [each for each in (ends[0], middle, ends[1]) if isinstance(each, int) or each.text]
    return found


def _by_words(before: str, after: str) -> Iterator[Part]:
    first, second = _TOKEN.findall(before), _TOKEN.findall(after)
    if _few(first, second):
        yield from _compared(first, second)
        return
    for part in _changed_blocks(_compared(_LINE.findall(before), _LINE.findall(after))):
        if isinstance(part, Part):
            yield part
            continue
        first, second = _TOKEN.findall(part.removed), _TOKEN.findall(part.added)
        yield from _compared(first, second) if _few(first, second) else _parts(part)


def _compared(first: Sequence[str], second: Sequence[str]) -> Iterator[Part]:
    start, end = _common(first, second)
    yield Part("same", "".join(first[:start]))
    one, other = first[start : len(first) - end], second[start : len(second) - end]
    if max(len(one), len(other)) > _MOST_TOKENS:
        yield from (Part("removed", "".join(one)), Part("added", "".join(other)))
    else:
        for step in Indel.opcodes(one, other):
            removed = "".join(one[step.src_start : step.src_end])
            if step.tag == "equal":
                yield Part("same", removed)
            else:
                yield from (Part("removed", removed), Part("added", "".join(other[step.dest_start : step.dest_end])))
    yield Part("same", "".join(first[len(first) - end :]))


def _few(first: Sequence[str], second: Sequence[str]) -> bool:
    start, end = _common(first, second)
    return max(len(first), len(second)) - start - end <= _MOST_TOKENS


def _common(first: Sequence[str], second: Sequence[str]) -> tuple[int, int]:
    """How many items are the same at the start and at the end."""
    least = min(len(first), len(second))
    start = next((at for at in range(least) if first[at] != second[at]), least)
    rest = least - start
    end = next((at for at in range(rest) if first[-1 - at] != second[-1 - at]), rest)
    return start, end


def _changed_blocks(parts: Iterable[Part]) -> Iterator[Part | _Change]:
    """Equal parts, and between them what was removed together with what was added."""
    removed = added = ""
    for op, text in _joined(parts):
        if op == "same":
            if removed or added:
                yield _Change(removed, added)
            removed = added = ""
            yield Part(op, text)
        elif op == "removed":
            removed = text
        else:
            added = text
    if removed or added:
        yield _Change(removed, added)


def _joined(parts: Iterable[Part]) -> list[Part]:
    """Each change as one part removed and one added, none of them empty."""
    found: list[Part] = []
    removed: list[str] = []
    added: list[str] = []

    def end_change() -> None:
        changed = (Part("removed", "".join(removed)), Part("added", "".join(added)))
        found.extend(part for part in changed if part.text)
        removed.clear()
        added.clear()

    for op, text in parts:
        if not text:
            continue
        if op == "removed":
            removed.append(text)
        elif op == "added":
            added.append(text)
        elif found and found[-1].op == "same" and not removed and not added:
            found[-1] = Part("same", found[-1].text + text)
        else:
            end_change()
            found.append(Part("same", text))
    end_change()
    return found


def _readable(parts: list[Part]) -> list[Part]:
    """Changes that only spaces, signs or a short word keep apart become one: a reader sees phrases, not words."""
    found: list[Part | _Change] = []
    blocks = list(_changed_blocks(parts))
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        last = found[-1] if found else None
        if isinstance(last, _Change):
            if isinstance(block, _Change):
                found[-1] = _Change(last.removed + block.removed, last.added + block.added)
                continue
            if isinstance(following, _Change) and _between(block.text, last, following):
                found[-1] = _Change(last.removed + block.text, last.added + block.text)
                continue
        found.append(block)
    return _joined(part for block in found for part in ([block] if isinstance(block, Part) else _parts(block)))


def _between(text: str, before: _Change, after: _Change) -> bool:
    """Whether an equal text is too little to stand between two changes."""
    if "\n" in text or not (all(before) and all(after)):
        return False
    return len(text) <= min(max(map(len, before)), max(map(len, after)), _SHORT)


def _parts(change: _Change) -> Iterator[Part]:
    yield Part("removed", change.removed)
    yield Part("added", change.added)


def _document(text: str) -> Any | None:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def _changes(path: str, before: Any, after: Any, *, depth: int) -> Iterator[PathChange]:
    if depth < _DEEPEST and isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _at(_named(path, key), before, after, key, depth=depth)
    elif depth < _DEEPEST and isinstance(before, list) and isinstance(after, list):
        for at in range(max(len(before), len(after))):
            first, second = (dict(enumerate(each[at : at + 1])) for each in (before, after))
            yield from _at(f"{path}[{at}]", first, second, 0, depth=depth)
    elif _written(before) != _written(after):
        yield PathChange(path, _written(before), _written(after))


def _at(path: str, before: dict[Any, Any], after: dict[Any, Any], key: Any, *, depth: int) -> Iterator[PathChange]:
    if key in before and key in after:
        yield from _changes(path, before[key], after[key], depth=depth + 1)
    else:
        first = _written(before[key]) if key in before else None
        yield PathChange(path, first, _written(after[key]) if key in after else None)


def _named(path: str, key: str) -> str:
    if re.fullmatch(r"\w+", key):
        return f"{path}.{key}" if path else key
    return f"{path}[{_written(key)}]"


def _written(value: Any) -> str:
    return msgspec.json.encode(value).decode()
