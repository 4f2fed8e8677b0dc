"""Answers that the mock provider makes up: mostly what a case asks for, in varied words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.providers.target_reply import last_user_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from prompt_evaluator.model import Request, TestCase

POOR_SIGNS = (
    "I am not certain about the details here.",
    "It depends on several things that I cannot go into.",
    "I would need more information to say anything definite.",
    "There are various aspects to this, and opinions differ.",
)
"""Phrases of bad answers, which the mock judge recognises."""

_LEADS = (
    "", "", "In short: ", "Here is the answer. ", "Sure. ", "Put briefly: ", "To answer your question: ",
    "Good question. ", "The short version: ", "Let me explain. ", "Briefly: ", "As far as I can tell: ",
)  # fmt: skip
_CODE_LEADS = (
    "", "Here is one way to do it:\n\n", "This should work:\n\n", "A possible solution:\n\n",
    "You can write it like this:\n\n",
)  # fmt: skip
_CLOSINGS = (
    "", "", "", " Let me know if you would like more detail.", " I hope that helps.", " That covers the main point.",
    " I can expand on any part of this.",
)  # fmt: skip
_SHORT = ("{}", "{}.", "The answer is {}.", "It is {}.", "**{}**", "That would be {}.", "Answer: {}", "In short: {}.")
_SHORT_LENGTH = 40
FILLER = (
    "The main idea is to settle the goal first and let the details follow from it.",
    "Start with the part that matters most, check it, and then build on it.",
    "Each step is small enough to be verified before the next one begins.",
    "What is given should be used as it is; nothing has to be assumed beyond it.",
    "A simple version is usually enough, and it is easier to change later.",
    "It helps to write down the limits early, so that nothing is left out.",
    "The result can be checked against the request point by point.",
    "Where there is a choice, the clearer option is the better one.",
)
"""Sentences that fit any answer and say nothing; the mock judge recognises them."""
_OPENERS = (
    "Here is a clear answer on {}.", "On {}, three points matter.", "This is how I would approach {}.",
    "Regarding {}, the essentials are these.", "A practical way to look at {} is the following.",
    "Let us take {} step by step.",
)  # fmt: skip
_MENTIONS = (
    "This involves {}.", "Relevant here: {}.", "It also covers {}.", "The key points are {}.", "Keep in mind {}.",
)  # fmt: skip
_SYNONYMS = {
    "also": "in addition", "because": "since", "however": "that said", "for example": "for instance",
    "usually": "typically", "often": "frequently", "quickly": "rapidly", "shows": "demonstrates", "helps": "assists",
    "important": "essential", "many": "numerous", "begin": "start", "large": "big", "needs": "requires",
}  # fmt: skip
_SYNONYM = re.compile(rf"\b({'|'.join(_SYNONYMS)})\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(`*])")
_CODE = re.compile(r"(```.*?(?:```|\Z))", re.DOTALL)
_WORD = re.compile(r"\w{4,}")
_INCLUDES = {"includes", "contains", "icontains"}
_EXCLUDES = {"excludes", "not_contains"}
_EXACT = {"exact_match", "is_json", "json_schema", "json_path", "numeric", "regex", "starts_with"}
_ENOUGH_TO_DROP, _ENOUGH_TO_SWAP = 4, 3


class Wishes(NamedTuple):
    """Phrases that a case wants and does not want, and whether the exact wording matters."""

    includes: tuple[str, ...]
    excludes: tuple[str, ...]
    exact: bool


def write(request: Request, rng: Random, *, good: bool) -> str:
    """Write an answer that meets the case's wishes or, unless `good`, misses some of them."""
    case = request.case
    if case is None:
        return _echo(request, rng)
    wishes = wishes_of(case)
    if good and wishes.exact and case.reference is not None:
        return case.reference
    text = _substance(case, rng, good=good)
    return _granted(text, wishes, rng) if good else _denied(text, wishes, rng)


def wishes_of(case: TestCase) -> Wishes:
    metrics = {check.metric for check in case.checks}
    return Wishes(_phrases(case, _INCLUDES), _phrases(case, _EXCLUDES), bool(metrics & _EXACT))


def sentences(text: str) -> list[str]:
    return [part for line in text.splitlines() for part in _SENTENCE_END.split(line.strip()) if part]


def words(text: str) -> set[str]:
    """Return the text's longer words, in lower case."""
    return set(_WORD.findall(text.lower()))


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


def _granted(text: str, wishes: Wishes, rng: Random) -> str:
    for phrase in wishes.excludes:
        text = _cut(text, phrase)
    return _mentioning(text, wishes.includes, rng)


def _denied(text: str, wishes: Wishes, rng: Random) -> str:
    slips = [("miss", phrase) for phrase in wishes.includes] + [("leak", phrase) for phrase in wishes.excludes]
    if not slips:
        return text
    slip, phrase = rng.choice(slips)
    text = _granted(text, wishes._replace(includes=tuple(p for p in wishes.includes if p != phrase)), rng)
    return _cut(text, phrase) if slip == "miss" else f"{text} Note that {phrase} applies here as well."


def _cut(text: str, phrase: str) -> str:
    return re.sub(re.escape(phrase), "…", text, flags=re.IGNORECASE) if contains(text, phrase) else text


def _mentioning(text: str, phrases: Iterable[str], rng: Random) -> str:
    missing = [phrase for phrase in dict.fromkeys(phrases) if not contains(text, phrase)]
    if not missing:
        return text
    listed = " and ".join([", ".join(missing[:-1]), missing[-1]] if missing[1:] else missing)
    return f"{text}\n\n{rng.choice(_MENTIONS).format(listed)}"


def _substance(case: TestCase, rng: Random, *, good: bool) -> str:
    if case.reference is not None:
        return _paraphrase(case.reference, rng) if good else _vague(case.reference, rng)
    context = case.metadata.get("context")
    passages = [text for text in context if isinstance(text, str)] if isinstance(context, list) else []
    if passages:
        return _from_context(passages, case.input, rng, good=good)
    return _composed(case, rng) if good else f"{rng.choice(POOR_SIGNS)} {_opener(case.input, rng)}"


def _paraphrase(reference: str, rng: Random) -> str:
    bare = reference.strip()
    if bare.startswith(("{", "[")):  # data stays data
        return bare
    if len(bare) <= _SHORT_LENGTH and "\n" not in bare and len(sentences(bare)) == 1:
        return rng.choice(_SHORT).format(bare.rstrip("."))
    if bare.startswith("```"):
        lead, closing = rng.choice(_CODE_LEADS), ""
    else:
        lead, closing = rng.choice(_LEADS), "" if bare.endswith("```") else rng.choice(_CLOSINGS)
    parts = _CODE.split(bare)
    return lead + "".join(part if part.startswith("```") else _reworded(part, rng) for part in parts) + closing


def _reworded(prose: str, rng: Random) -> str:
    """Rephrase the text; lists keep their lines."""
    bare = prose.strip()
    if not bare:
        return prose
    start, end = prose[: prose.index(bare)], prose[prose.index(bare) + len(bare) :]
    if "\n" not in bare:
        bare = " ".join(_rearranged(_SENTENCE_END.split(bare), rng))
    if "`" not in bare:
        bare = _SYNONYM.sub(lambda found: _SYNONYMS[found[1]] if rng.random() < 0.5 else found[1], bare)  # noqa: PLR2004 - a coin
    return start + bare + end


def _rearranged(parts: list[str], rng: Random) -> list[str]:
    if len(parts) >= _ENOUGH_TO_DROP and rng.random() < 0.35:  # noqa: PLR2004 - a matter of taste
        del parts[rng.randrange(1, len(parts))]
    if len(parts) >= _ENOUGH_TO_SWAP and rng.random() < 0.4:  # noqa: PLR2004 - a matter of taste
        at = rng.randrange(1, len(parts) - 1)
        parts[at], parts[at + 1] = parts[at + 1], parts[at]
    return parts


def _vague(reference: str, rng: Random) -> str:
    """Return a third of the reference and a sign of a bad answer."""
    known = reference.split()
    kept = " ".join(known[: len(known) // 3])
    return f"{rng.choice(POOR_SIGNS)} {kept}…" if kept else rng.choice(POOR_SIGNS)


def _from_context(passages: Sequence[str], question: str, rng: Random, *, good: bool) -> str:
    """Answer with the sentences closest to the question or, in a bad answer, those farthest from it."""
    known = [sentence for passage in passages[:50] for sentence in sentences(passage[:4_000])]
    asked = words(question)
    ranked = sorted(known, key=lambda sentence: len(asked & words(sentence)), reverse=good)
    related = [sentence for sentence in ranked if asked & words(sentence)] if good else []
    chosen = (related or ranked)[: rng.randint(1, 3)]
    lead = rng.choice(("", "According to the context: ", "The sources say this. ", *_LEADS))
    return lead + " ".join(chosen) if good else f"{' '.join(chosen[:1])} {rng.choice(POOR_SIGNS)}"


def _composed(case: TestCase, rng: Random) -> str:
    parts = [_opener(case.input, rng), *rng.sample(FILLER, rng.randint(2, 4))]
    if case.task:
        parts.insert(1, f"The task is this: {case.task[:200].rstrip('.')}.")
    if case.expected_constraints:
        parts.append(f"The answer keeps to what was asked: {case.expected_constraints[:200].rstrip('.')}.")
    return " ".join(parts)


def _opener(question: str, rng: Random) -> str:
    return rng.choice(_OPENERS).format(_topic(question))


def _topic(question: str) -> str:
    """Shorten the question to a few quoted words, to use inside a sentence."""
    first = next(iter(sentences(question[:400])), "this").rstrip(".?!: ")
    short = " ".join(first.split()[:12])
    return f"“{short}”"


def _echo(request: Request, rng: Random) -> str:
    question = last_user_text(request)
    return " ".join([rng.choice(_LEADS) + _opener(question, rng), *rng.sample(FILLER, rng.randint(1, 3))])
