"""What the mock judge finds in its prompt: the format of the reply, the output to judge, and how good that looks."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from prompt_evaluator.providers.mock.answers import FILLER, POOR_SIGNS, contains, wishes_of, words
from prompt_evaluator.providers.target_reply import last_user_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from prompt_evaluator.model import Request, TestCase

_LABEL_WORDS = 4
_LABELS = ("input", "question", "output", "answer", "response", "context", "reference", "task")
"""Section titles of a judge's prompt; any other word before a colon is part of a text."""
_HIGHEST_SCALE = 100
_RANGE = r"(?<![\w.-])(\d{1,3}(?:\.\d{1,3})?) {0,2}(?:-|\u2013|to|\.\.|and) {0,2}(\d{1,3}(?:\.\d{1,3})?)(?![\w-])"
_ANY_RANGE = re.compile(_RANGE)
_NUMBERED = re.compile(r"^[ \t]*(?:\w{1,20}[ \t]+)?[\[(]?(\d{1,4})[.):\]]", re.MULTILINE)
_LISTED = re.compile(r'\[\s*"(?:[^"\\]|\\.)*"(?:\s*,\s*"(?:[^"\\]|\\.)*")*\s*\]')
_FENCED = re.compile(r"```\w*\s*(\{.*?\})\s*```", re.DOTALL)
_BLANK = re.compile(r"(?<![\"\w])<[^<>\n]*>(?!\")|\btrue\s*\|\s*false\b")
_CLOSING_TAG = re.compile(r"</\w+>\s*$")
_ASKED = re.compile(r"return (?:only )?(?:a |the )?(?:valid )?json|json object", re.IGNORECASE)
_REFERENCE_LABEL = re.compile(r"reference|expected|ideal|gold", re.IGNORECASE)


def prompt_of(request: Request) -> str:
    return "\n\n".join(message.content for message in request.messages if message.role in ("system", "user"))


def schema_asked_for(request: Request) -> dict[str, Any] | None:
    """Return the schema of the reply: the request's own, or derived from an example in the prompt."""
    if request.response_schema is not None:
        return request.response_schema
    last = _last_text(request)
    if request.case and request.case.reference is not None and last.strip() == request.case.input.strip():
        return None  # the case's own question
    prompt = prompt_of(request)
    rubric = '"metrics"' in prompt and '"flags"' in prompt
    if not rubric and not ("```" in last and _ASKED.search(last)):
        return None
    example = _example(prompt, rubric=rubric)
    return None if example is None else _schema_of(example)


def standing(case: TestCase | None, prompt: str, stable: Random) -> float:
    """Rate how good the judged output looks, from 0 to 1."""
    shares = [] if case is None else _shares(case, prompt)
    looks = 0.45 + 0.43 * sum(shares) / len(shares) if shares else stable.choices((0.85, 0.6), (9, 1))[0]
    if any(sign in prompt for sign in POOR_SIGNS):
        looks -= 0.3
    if is_filler(prompt):
        looks = min(looks, 0.74)
    return min(1.0, max(0.0, looks + stable.gauss(0, 0.03)))


def is_filler(prompt: str) -> bool:
    """Return whether the judged output has sentences that would fit any question."""
    return any(sentence in prompt for sentence in FILLER)


def stated_range(prompt: str, metric: str) -> tuple[float, float]:
    """Return the scale stated in the prompt, preferably next to the metric's name; by default 0 to 10."""
    named = re.search(re.escape(metric) + r"\b[^\n]{0,200}?" + _RANGE, prompt) if metric else None
    for match in (*([named] if named else []), *_ANY_RANGE.finditer(prompt)):
        low, high = float(match[1]), float(match[2])
        if low < high <= _HIGHEST_SCALE:
            return low, high
    return 0.0, 10.0


def items_in(prompt: str) -> int:
    """Count the items of the prompt's last numbered list or, without one, the strings of its last JSON list."""
    count = 0
    for match in _NUMBERED.finditer(prompt):
        number = int(match[1])
        count = number if number == count + 1 else 1 if number == 1 else count
    if count:
        return count
    try:
        return len(json.loads(_LISTED.findall(prompt)[-1], strict=False))
    except (IndexError, ValueError):
        return 0


def section(prompt: str, labels: Sequence[str]) -> str:
    """Return the text below the last of these labels, such as `Answer: …`, `## Output` or `<output>`."""
    found: list[str] = []
    taking = False
    for line in prompt.splitlines():
        title, rest = _label(line)
        if title and not title.startswith("/") and any(label in title for label in labels):
            taking, found = True, [_CLOSING_TAG.sub("", rest)]
        elif title and (title.startswith("/") or not rest or any(label in title for label in _LABELS)):
            taking = False
        elif taking and not line.startswith("```"):
            found.append(line)
    return "\n".join(found).strip()


def _last_text(request: Request) -> str:
    """Return the last message of the user, or of any role if there is none."""
    if any(message.role == "user" for message in request.messages):
        return last_user_text(request)
    return request.messages[-1].content if request.messages else ""


def _label(line: str) -> tuple[str, str]:
    """Split a line into a title and the rest; both are empty if the line has no title."""
    bare = line.strip()
    title, _, rest = bare.partition(">" if bare.startswith("<") else ":")
    if not bare.startswith(("#", "<")) and len(title) == len(bare):
        return "", ""
    title = title.strip(" #<*[]_-").lower()
    return (title, rest.strip(" *")) if len(title.split()) <= _LABEL_WORDS else ("", "")


def _example(prompt: str, *, rubric: bool) -> dict[str, Any] | None:
    """Return the prompt's last JSON object that could be an example of the reply."""
    shown = [match[1] for match in _FENCED.finditer(prompt)]
    if rubric:
        shown = [text for text in shown if '"metrics"' in text and '"flags"' in text]
        shown.insert(0, prompt[max(0, prompt.rfind("{", 0, prompt.rfind('"metrics"'))) :])
    for text in reversed(shown):
        try:
            value, _ = json.JSONDecoder().raw_decode(_BLANK.sub("0", text))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value:
            return value
    return None


def _schema_of(example: Any) -> dict[str, Any]:
    match example:
        case dict():
            properties = {name: _schema_of(value) for name, value in example.items()}
            if isinstance(flags := example.get("flags"), dict):
                properties["flags"] = _schema_of(dict.fromkeys(flags, False))
            return {"type": "object", "properties": properties, "required": list(properties)}
        case list():
            return {"type": "array", "items": _schema_of(example[0]) if example else {"type": "string"}}
    kinds = {bool: "boolean", int: "integer", float: "number"}
    return {"type": kinds.get(type(example), "string")}


def _shares(case: TestCase, prompt: str) -> list[float]:
    shares = []
    if case.reference:
        shares.append(_overlap(case.reference, case.input, prompt))
    wishes = wishes_of(case)
    if wishes.includes:
        shares.append(sum(contains(prompt, phrase) for phrase in wishes.includes) / len(wishes.includes))
    return shares


def _overlap(reference: str, question: str, prompt: str) -> float:
    """Return the share of the reference's words in the prompt, not counting the reference and the question."""
    for shown in (reference, json.dumps(reference, ensure_ascii=False)[1:-1]):
        if (at := prompt.find(shown)) >= 0:
            if prompt.count(shown) > 1 or not _REFERENCE_LABEL.search(prompt[max(0, at - 60) : at]):
                return 1.0  # the output itself repeats it
            prompt = prompt[:at] + prompt[at + len(shown) :]
            break
    known = words(reference)
    new = (known - words(question)) or known
    if not new:
        return 1.0 if reference.strip(" .") in prompt else 0.3
    return len(new & words(prompt)) / len(new)
