"""The mock as a judge of two answers: it prefers the one that looks better to it, wherever that is shown."""

from __future__ import annotations

import json
import re
from random import Random
from typing import TYPE_CHECKING, Any

from prompt_evaluator.providers.mock.prompt import standing

if TYPE_CHECKING:
    from prompt_evaluator.model import Request

_ANSWER = re.compile(r"^<answer_([12]) nonce=(\w+)>\n(.*?)\n</answer_\1 nonce=\2>$", re.DOTALL | re.MULTILINE)
_OPTIONS = {"1", "2", "tie"}
_MOOD = 0.015
"""Standard deviation of what differs between two times of asking; makes it change its mind on close pairs."""
_CLOSE = 0.02
"""Answers that look this alike are a tie."""
_REASONS = {
    "1": "Answer 1 is closer to what was asked for.",
    "2": "Answer 2 is closer to what was asked for.",
    "tie": "Both answers serve the request equally well.",
}


def is_preference(schema: dict[str, Any]) -> bool:
    """Whether the schema asks which of two answers is better."""
    better = (schema.get("properties") or {}).get("better")
    return isinstance(better, dict) and {*map(str, better.get("enum") or ())} == _OPTIONS


def preference(request: Request, prompt: str, varied: Random) -> str:
    """Return JSON text that names the better answer."""
    found = {number: text for number, _, text in _ANSWER.findall(prompt)}
    first, second = (_looks(request, found.get(number, "")) for number in ("1", "2"))
    gap = first - second + varied.gauss(0, _MOOD)
    better = "tie" if abs(gap) < _CLOSE else "1" if gap > 0 else "2"
    return json.dumps({"reason": _REASONS[better], "better": better})


def _looks(request: Request, answer: str) -> float:
    """How good an answer looks. Depends on the judge and the answer alone, not on where it is shown."""
    opinion = Random(f"{request.model}\n{answer}")  # noqa: S311 - only for made-up judgements
    return standing(request.case, answer, opinion)
