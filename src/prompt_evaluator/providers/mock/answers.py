"""Answers that the mock provider makes up: mostly what a case asks for, in varied words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.providers.target_reply import last_user_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from prompt_evaluator.model import Request, TestCase

POOR_SIGNS = (
    "I am not certain about the details here.",
    "It depends on several things that I cannot go into.",
    "I would need more information to say anything definite.",
)
"""Phrases of bad answers, which the mock judge recognises."""
FILLER = (
    "The main idea is to settle the goal first and let the details follow from it.",
    "Start with the part that matters most, check it, and then build on it.",
    "Each step is small enough to be verified before the next one begins.",
    "A simple version is usually enough, and it is easier to change later.",
    "It helps to write down the limits early, so that nothing is left out.",
    "The result can be checked against the request point by point.",
    "Where there is a choice, the clearer option is the better one.",
)
"""Sentences that fit any answer and say nothing; the mock judge recognises them."""
_LEADS = ("", "", "In short: ", "Here is the answer. ", "Put briefly: ", "To answer your question: ", "Briefly: ")
_CLOSINGS = ("", "", "", " Let me know if you would like more detail.", " I hope that helps.")
_OPENERS = ("Here is a clear answer on {}.", "On {}, three points matter.", "Let us take {} step by step.")
_INCLUDES = {"includes", "contains", "icontains"}
_EXCLUDES = {"excludes", "not_contains"}
_EXACT = {"exact_match", "is_json", "json_schema", "json_path", "numeric", "regex", "starts_with"}


class Wishes(NamedTuple):
    """Phrases that a case wants and does not want, and whether the exact wording matters."""

    includes: tuple[str, ...]
    excludes: tuple[str, ...]
    exact: bool


def write(request: Request, rng: Random, *, good: bool) -> str:
    """Write an answer that meets the case's wishes or, unless `good`, misses some of them."""
    case = request.case
    if case is None:
        return _composed(last_user_text(request), rng)
    wishes = wishes_of(case)
    if good and wishes.exact and case.reference is not None:
        return case.reference
    text = _good(case, rng) if good else _poor(case, rng)
    return _granted(text, wishes) if good else _denied(text, wishes, rng)


def wishes_of(case: TestCase) -> Wishes:
    metrics = {check.metric for check in case.checks}
    return Wishes(_phrases(case, _INCLUDES), _phrases(case, _EXCLUDES), bool(metrics & _EXACT))


def contains(text: str, phrase: str) -> bool:
    return phrase.lower() in text.lower()


def _phrases(case: TestCase, metrics: set[str]) -> tuple[str, ...]:
    found: list[Any] = []
    for check in case.checks:
        if check.metric in metrics:
            value = check.options.get("phrases", ())
            found += value if isinstance(value, list | tuple) else [value]
    # Use the first of several alternatives; a bad answer may still contain another one by chance.
    found = [phrase[0] if isinstance(phrase, list | tuple) and phrase else phrase for phrase in found]
    return tuple(phrase for phrase in found if isinstance(phrase, str) and phrase)


def _granted(text: str, wishes: Wishes) -> str:
    for phrase in wishes.excludes:
        text = _cut(text, phrase)
    return _mentioning(text, wishes.includes)


def _denied(text: str, wishes: Wishes, rng: Random) -> str:
    slips = [("miss", phrase) for phrase in wishes.includes] + [("leak", phrase) for phrase in wishes.excludes]
    if not slips:
        return text
    slip, phrase = rng.choice(slips)
    text = _granted(text, wishes._replace(includes=tuple(p for p in wishes.includes if p != phrase)))
    return _cut(text, phrase) if slip == "miss" else f"{text} Note that {phrase} applies here as well."


def _cut(text: str, phrase: str) -> str:
    return re.sub(re.escape(phrase), "…", text, flags=re.IGNORECASE) if contains(text, phrase) else text


def _mentioning(text: str, phrases: Iterable[str]) -> str:
    missing = [phrase for phrase in dict.fromkeys(phrases) if not contains(text, phrase)]
    return f"{text}\n\nThe key points: {', '.join(missing)}." if missing else text


def _good(case: TestCase, rng: Random) -> str:
    if case.reference is None:
        return _composed(case.input, rng)
    bare = case.reference.strip()
    if bare.startswith(("{", "[")):  # data stays data
        return bare
    return rng.choice(_LEADS) + bare + ("" if bare.endswith("```") else rng.choice(_CLOSINGS))


def _poor(case: TestCase, rng: Random) -> str:
    """A sign of a bad answer, with a third of the reference."""
    known = (case.reference or "").split()
    kept = " ".join(known[: len(known) // 3])
    return f"{rng.choice(POOR_SIGNS)} {kept}…" if kept else f"{rng.choice(POOR_SIGNS)} {_opener(case.input, rng)}"


def _composed(question: str, rng: Random) -> str:
    return " ".join([rng.choice(_LEADS) + _opener(question, rng), *rng.sample(FILLER, rng.randint(2, 4))])


def _opener(question: str, rng: Random) -> str:
    """A sentence about the first words of the question."""
    first = " ".join(question[:400].split()[:12]).rstrip(".?!: ")
    return rng.choice(_OPENERS).format(f"“{first or 'this'}”")
