"""The mock provider as a judge: replies to the questions that our metrics ask, with plausible opinions."""

from __future__ import annotations

import json
import re
from random import Random
from typing import TYPE_CHECKING, Any

from prompt_evaluator.providers.mock.answers import FILLER, POOR_SIGNS, contains, wishes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Request, TestCase

    Schema = dict[str, Any]

RATIONALES = (
    (0.5, "The output stays too vague to be useful.", "Weak: it says little that helps with the request."),
    (0.66, "The output covers the main point; the rest stays vague.", "On topic, with clear weaknesses."),
    (0.85, "Good, with minor weaknesses.", "It follows the request closely, with small differences."),
    (1.01, "The output addresses the request clearly and completely.", "Accurate and to the point."),
)
"""Each row: an upper bound, as a share of the scale, and rationales for scores below it. None mentions what a flag may
be about."""
_STEPS = (
    "Read the input and note what a good answer has to contain.",
    "Compare the output with the expected answer, point by point.",
    "Weigh omissions and errors, and settle on a score.",
)
_PROSE = (
    "I would say this is a decent answer overall, though it could be more precise.",
    "As an assistant I find it hard to put a number on this.",
)
_PREFERENCES = {
    "1": "Answer 1 is closer to what was asked for.",
    "2": "Answer 2 is closer to what was asked for.",
    "tie": "Both answers serve the request equally well.",
}
_PART = re.compile(r"^<(\w+) nonce=(\w+)>\n(.*?)\n</\1 nonce=\2>$", re.DOTALL | re.MULTILINE)
"""How our metrics present material."""
_WANTED = re.compile(r"^That was all of the material\. Give (\d+) verdict", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"\w{4,}")
_MOST_EXTRACTED = 6
_TRUE_FLAGS = 0.06
_MIDDLE = 0.5
"""Share of the scale from which a score counts as fair."""
_MOST_WITH_FLAG, _MOST_OF_FILLER = 0.6, 0.84
"""Highest share of the scale for an answer with a raised flag, and for one that would fit any question."""
_CLOSE = 0.02
"""Two answers that look this alike are a tie."""
_CHANGE_OF_MIND = 0.015
"""Standard deviation of what differs between two times of asking which answer is better."""


def judgement(request: Request, stable: Random, varied: Random) -> str:
    """Return a judge's reply: JSON in the shape that the question asks for, or prose for a question we do not know.

    Args:
        request: The judge's prompt, the schema of the reply, and the case.
        stable: The judge's opinion; the same for every request of the same judge about the same text.
        varied: The judge's mood, which differs between repeats.
    """
    properties = (request.response_schema or {}).get("properties") or {}
    known = next((key for key in _REPLIES if key in properties), None)
    if known is None:
        return prose(varied)
    return json.dumps(_REPLIES[known](_Judge(request, properties, stable, varied)), ensure_ascii=False)


def prose(rng: Random) -> str:
    """Return a reply that cannot be parsed as a judgement."""
    return rng.choice(_PROSE)


class _Judge:
    """Keeps scores, rationales, verdicts and flags consistent."""

    def __init__(self, request: Request, properties: Schema, stable: Random, varied: Random) -> None:
        prompt = "\n\n".join(each.content for each in request.messages if each.role in ("system", "user"))
        self._request, self._properties, self._stable, self._varied = request, properties, stable, varied
        self._parts = {name: text for name, _, text in _PART.findall(prompt)}
        self._wanted = _WANTED.findall(prompt)
        output = self._parts.get("output", prompt)
        self._looks = looks_of(request.case, output, stable)
        self._flags = {name: self._raises() for name in _within(properties.get("flags"))}
        """Decided before any score, because they must agree."""
        self._most = _MOST_WITH_FLAG if any(self._flags.values()) else _MOST_OF_FILLER if is_filler(output) else 1.0

    def preference(self) -> Any:
        """Depends on the judge and the answers alone, not on where they are shown."""
        looks = []
        for number in ("1", "2"):
            answer = self._parts.get(f"answer_{number}", "")
            opinion = Random(f"{self._request.model}\n{answer}")  # noqa: S311 - only for made-up judgements
            looks.append(looks_of(self._request.case, answer, opinion))
        gap = looks[0] - looks[1] + self._varied.gauss(0, _CHANGE_OF_MIND)
        better = "tie" if abs(gap) < _CLOSE else "1" if gap > 0 else "2"
        return {"reason": _PREFERENCES[better], "better": better}

    def rubric(self) -> Any:
        moods, metrics = [], {}
        for name, criterion in _within(self._properties["metrics"]).items():
            moods.append(self._mood())
            rationale = self._rationale(moods[-1])
            metrics[name] = {"rationale": rationale, "score": _scaled(moods[-1], _within(criterion)["score"])}
        comment = self._rationale(sum(moods) / len(moods))
        raised = [name.replace("_", " ") for name, is_raised in self._flags.items() if is_raised]
        comment += f" Flagged: {', '.join(raised)}." if raised else ""
        return {"metrics": metrics, "flags": self._flags, "overall_comment": comment}

    def mark(self) -> Any:
        mood = self._mood()
        return {"reason": self._rationale(mood), "score": round(_scaled(mood, self._properties["score"]))}

    def steps(self) -> Any:
        return {"steps": _STEPS}

    def texts(self) -> Any:
        (name,) = self._properties
        return {name: self._extracted(name)[:_MOST_EXTRACTED]}

    def verdicts(self) -> Any:
        item = _within(self._properties["verdicts"]["items"])
        (about,) = item.keys() - {"reason", "verdict"}
        texts = [] if about == "number" else self._extracted(about)
        count = int(self._wanted[-1]) if self._wanted else sum(name.startswith("context_") for name in self._parts)
        options = item["verdict"]["enum"]
        return {
            "verdicts": [
                {about: texts[at % len(texts)] if texts else at + 1, **self._verdict(options)} for at in range(count)
            ]
        }

    def _verdict(self, options: list[str]) -> dict[str, str]:
        is_good = self._stable.random() < 0.5 + 0.42 * self._looks
        reason = self._rationale(0.9 if is_good else 0.2)
        return {"reason": reason, "verdict": options[0] if is_good else self._stable.choice(options[1:])}

    def _mood(self) -> float:
        mood = self._looks + self._stable.gauss(0, 0.08) + self._varied.gauss(0, 0.05)
        return round(min(self._most, max(0.0, mood)), 2)  # as precise as scores are

    def _raises(self) -> bool:
        return self._stable.random() < _TRUE_FLAGS + max(0.0, _MIDDLE - self._looks) / 2

    def _rationale(self, mood: float) -> str:
        fitting = next(row for row in RATIONALES if mood < row[0])
        return self._varied.choice(fitting[1:])

    def _extracted(self, name: str) -> list[str]:
        """The sentences of the part that a list of this name is about."""
        start = {"claims": "output", "statements": "output", "sentence": "reference"}.get(name, "context_")
        about = "\n".join(text for part, text in self._parts.items() if part.startswith(start))
        return [part for part in _SENTENCE_END.split(about.strip()) if part] or ["Nothing is claimed."]


_REPLIES: dict[str, Callable[[_Judge], Any]] = {
    "better": _Judge.preference,
    "metrics": _Judge.rubric,
    "score": _Judge.mark,
    "steps": _Judge.steps,
    "claims": _Judge.texts,
    "statements": _Judge.texts,
    "truths": _Judge.texts,
    "verdicts": _Judge.verdicts,
}
"""By the property that names the question."""


def looks_of(case: TestCase | None, output: str, stable: Random) -> float:
    """Rate how good an output looks, from 0 to 1."""
    shares = [] if case is None else _shares(case, output)
    looks = 0.45 + 0.43 * sum(shares) / len(shares) if shares else stable.choices((0.85, 0.6), (9, 1))[0]
    if any(sign in output for sign in POOR_SIGNS):
        looks -= 0.3
    if is_filler(output):
        looks = min(looks, 0.74)
    return min(1.0, max(0.0, looks + stable.gauss(0, 0.03)))


def is_filler(output: str) -> bool:
    """Return whether an output has sentences that would fit any question."""
    return any(sentence in output for sentence in FILLER)


def _shares(case: TestCase, output: str) -> list[float]:
    """How much of the reference's words, and of the required phrases, the output has."""
    shares = []
    if known := set(_WORD.findall((case.reference or "").lower())):
        shares.append(len(known & set(_WORD.findall(output.lower()))) / len(known))
    if phrases := wishes_of(case).includes:
        shares.append(sum(contains(output, phrase) for phrase in phrases) / len(phrases))
    return shares


def _within(schema: Schema | None) -> Schema:
    return schema["properties"] if schema else {}


def _scaled(mood: float, schema: Schema) -> float:
    low, high = schema["minimum"], schema["maximum"]
    return float(round(low + (high - low) * mood, 2))
