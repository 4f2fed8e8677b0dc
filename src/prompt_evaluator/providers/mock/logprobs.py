"""Token probabilities that the mock provider makes up."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from prompt_evaluator.model import TokenChoice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

_TOKEN = re.compile(r"\d+|\s*[^\s\d]+|\s+")  # digits are separate tokens, as in real tokenisers
_OTHERS = (" the", " a", " it", " this", " and", " is", ".", ",", " an", " that")


def logprobs(text: str, alternatives: int, rng: Random) -> tuple[TokenChoice, ...]:
    """Return one entry per token; joined, the tokens are the text.

    The alternatives to a number are its neighbours, so that a judge's score can be weighted by probability.
    """
    return tuple(_choice(match[0], alternatives, rng) for match in _TOKEN.finditer(text))


def _choice(token: str, alternatives: int, rng: Random) -> TokenChoice:
    others = _neighbours(token) if token.isdecimal() else _OTHERS
    chance = rng.uniform(0.55, 0.9)
    top = {token: round(math.log(chance), 6)}
    left = 1 - chance
    for other in others[: max(0, alternatives - 1)]:
        left *= rng.uniform(0.4, 0.6)
        top.setdefault(other, round(math.log(left), 6))
    return TokenChoice(token=token, logprob=top[token], top=top if alternatives > 0 else {})


def _neighbours(token: str) -> Sequence[str]:
    """Return the nearest whole numbers, the lower one first."""
    number = int(token[:9])
    around = (number + step for distance in range(1, 4) for step in (-distance, distance))
    return [str(near) for near in around if near >= 0]
