"""Finds the one judgement in a judge's reply: lenient about text around it, strict about the judgement itself."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from prompt_evaluator.model import Scored, Scores
from prompt_evaluator.model.storable import storable_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prompt_evaluator.model import Criterion, Flag, Rubric

_LONGEST = 1_000_000
_DEEPEST = 32
_MOST_TOLD = 5
_SHOWN = 60
_MOST_BRACKETS = 1_000
"""Bracketed remarks to skip; each costs a scan of the whole text, for the line number in Python's error."""
_OPENING = re.compile(r'[{]\s*["}]|[\[]\s*[{\["\dtfn-]')
"""Other brackets, such as `{name}`, are part of the prose."""
_WEB_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body)\b", re.IGNORECASE)
_TOO_DEEP = f"its JSON is nested more than {_DEEPEST} levels deep"


class UnreadableReply(Exception):  # noqa: N818 - an expected outcome, which metrics turn into a `Failed`
    """The reply is not what was asked for."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        """A clause without a full stop, such as `the reply is empty`."""
        super().__init__(reason)


class _Mark(msgspec.Struct, gc=False):
    score: float
    rationale: str


class _Reply(msgspec.Struct, gc=False):
    """A reply in exactly the requested shape."""

    metrics: dict[str, _Mark]
    flags: dict[str, bool]
    overall_comment: str


_reply = msgspec.json.Decoder(_Reply).decode


def read_scores(text: str, rubric: Rubric) -> Scores:
    """Read the one judgement in a reply; metrics and flags that are not in the rubric are ignored.

    Takes time linear in the length of any text.

    Raises:
        UnreadableReply: There is no judgement, or more than one, or it does not fit the rubric.
    """
    return _plain_scores(text, rubric) or _scores_in(text, rubric)


def _plain_scores(text: str, rubric: Rubric) -> Scores | None:
    """Fast path for what nearly all judges send, in a fifth of the time; None if anything needs a closer look.

    The decoder silently keeps the last of two equal keys. But if nothing is missing, the number of strings proves
    that there is nothing else.
    """
    texts = 4 + 4 * len(rubric.metrics) + len(rubric.flags)
    if "\\" in text or text.count('"') != 2 * texts or len(text) > _LONGEST:
        return None
    try:
        found = _reply(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    scores = {}
    try:
        for criterion in rubric.metrics:
            mark = found.metrics[criterion.name]
            if not criterion.min_score <= mark.score <= criterion.max_score:
                return None
            scores[criterion.name] = Scored(mark.score, mark.rationale)
        flags = {flag.name: found.flags[flag.name] for flag in rubric.flags}
    except KeyError:
        return None
    return Scores(scores=scores, flags=flags, comment=found.overall_comment)


def _scores_in(text: str, rubric: Rubric) -> Scores:
    found = object_in(text, "metrics")
    if problems := list(_problems(found, rubric)):
        more = f"; and {len(problems) - _MOST_TOLD} more" if len(problems) > _MOST_TOLD else ""
        raise UnreadableReply("; ".join(problems[:_MOST_TOLD]) + more)
    metrics, flags = found["metrics"], found.get("flags", {})
    return Scores(
        scores={criterion.name: _scored(metrics[criterion.name]) for criterion in rubric.metrics},
        flags={flag.name: flags[flag.name] for flag in rubric.flags},
        comment=storable_text(found.get("overall_comment", "")),
    )


def object_in(text: str, key: str) -> dict[str, Any]:
    """The one JSON object with that key in a reply, ignoring any prose, fences or other objects around it.

    Raises:
        UnreadableReply: There is no such object, or more than one, or the JSON is broken.
    """
    if not text.strip():
        raise UnreadableReply("the reply is empty")
    if len(text) > _LONGEST:
        raise UnreadableReply(f"the reply is longer than {_LONGEST:,} characters")
    return _only_one(list(_values(text)), key, text)


def _values(text: str) -> Iterator[Any]:
    """The outermost JSON objects and arrays in a text.

    A broken object ends the search: what follows may be part of it rather than a judgement of its own.
    Brackets without an object, such as `[1, see below]`, are a remark and skipped.
    """
    at = remarks = 0
    while opening := _OPENING.search(text, at):
        try:
            value, at = _DECODER.raw_decode(text, opening.start())
        except json.JSONDecodeError as error:
            at, remarks = max(error.pos, opening.end()), remarks + 1
            if "{" in text[opening.start() : at] or remarks > _MOST_BRACKETS:
                raise UnreadableReply(_in_plain_words(error)) from None
        except RecursionError:
            raise UnreadableReply(_TOO_DEEP) from None
        else:
            yield value


def _only_one(values: Sequence[Any], key: str, text: str) -> dict[str, Any]:
    objects = [value for value in values if isinstance(value, dict)]
    found = [value for value in objects if key in value]
    if len(found) > 1:
        raise UnreadableReply(f'there are {len(found)} objects with "{key}" in the reply, not one')
    if not found:
        raise UnreadableReply(_what_instead(text, key, arrays=len(objects) < len(values), objects=bool(objects)))
    if text.count("{") + text.count("[") > _DEEPEST and _is_deep(found[0]):
        raise UnreadableReply(_TOO_DEEP)
    return found[0]


def _what_instead(text: str, key: str, *, arrays: bool, objects: bool) -> str:
    if _WEB_PAGE.match(text):
        return "the reply is a web page, not a JSON object"
    if objects:
        return f'the JSON object in the reply has no "{key}"'
    if arrays:
        return "the reply has a JSON array instead of one object"
    return f"there is no JSON object in the reply, which begins with {shown(text.strip())}"


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level if isinstance(outer, dict | list) for inner in _inner(outer)]
        if not level:
            return False
    return True


def _inner(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _problems(found: dict[str, Any], rubric: Rubric) -> Iterator[str]:
    if isinstance(metrics := found["metrics"], dict):
        for criterion in rubric.metrics:
            yield from _wrong_with_mark(metrics, criterion)
    else:
        yield f'"metrics" is {shown(metrics)}, not an object'
    if isinstance(flags := found.get("flags", {}), dict):
        for flag in rubric.flags:
            yield from _wrong_with_flag(flags, flag)
    else:
        yield f'"flags" is {shown(flags)}, not an object'
    if not isinstance(comment := found.get("overall_comment", ""), str):
        yield f'"overall_comment" is {shown(comment)}, not a text'


def _wrong_with_mark(metrics: dict[str, Any], criterion: Criterion) -> Iterator[str]:
    name, low, high = criterion.name, criterion.min_score, criterion.max_score
    if name not in metrics:
        yield f"the metric {name!r} is missing"
    elif not isinstance(mark := metrics[name], dict):
        yield f"the metric {name!r} is {shown(mark)}, not an object with a score and a rationale"
    elif "score" not in mark:
        yield f"the metric {name!r} has no score"
    elif isinstance(score := mark["score"], bool) or not isinstance(score, int | float):
        yield f"the score of {name!r} is {shown(score)}, not a number"
    elif not low <= score <= high:
        yield f"the score of {name!r} is {shown(score)}, outside its scale of {low:g} to {high:g}"
    elif not isinstance(rationale := mark.get("rationale", ""), str):
        yield f"the rationale of {name!r} is {shown(rationale)}, not a text"


def _wrong_with_flag(flags: dict[str, Any], flag: Flag) -> Iterator[str]:
    if flag.name not in flags:
        yield f"the flag {flag.name!r} is missing"
    elif not isinstance(value := flags[flag.name], bool):
        yield f"the flag {flag.name!r} is {shown(value)}, not true or false"


def _scored(mark: dict[str, Any]) -> Scored:
    return Scored(float(mark["score"]), storable_text(mark.get("rationale", "")))


def shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str) and len(value) > _SHOWN:
        value = f"{value[:_SHOWN]}…"
    text = json.dumps(value)
    return text if len(text) <= 2 * _SHOWN or isinstance(value, str) else f"{text[:_SHOWN]}…"


def _in_plain_words(error: json.JSONDecodeError) -> str:
    rest = error.doc[error.pos : error.pos + _SHOWN].strip()
    if not rest or error.msg.startswith("Unterminated string"):
        return "the reply ends in the middle of its JSON"
    if error.msg.startswith("Invalid control character"):
        return r"its JSON has a line break or control character inside a text; write \n"
    return f"its JSON is broken at {shown(rest)} ({error.msg[0].lower()}{error.msg[1:]})"


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = sorted(name for name, _ in pairs)
        repeated = next(name for name, following in pairwise(names) if name == following)
        raise UnreadableReply(f"the key {shown(repeated)} occurs twice in one object")
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise UnreadableReply(f"its JSON has {name}, which is not a JSON value")


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python limits the number of digits it converts
        raise UnreadableReply(f"its JSON has a number of {len(digits):,} digits") from None


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_refuse_constant, parse_int=_integer)
