"""The mock provider as a judge: replies to the questions that our metrics ask, with plausible opinions."""

from __future__ import annotations

import json
import re
from random import Random
from typing import TYPE_CHECKING, Any

from prompt_evaluator.providers.mock.answers import FILLER, POOR_SIGNS, contains, sentences, wishes_of, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Request, TestCase

    Schema = dict[str, Any]

RATIONALES = (
    (
        0.5,
        "The output stays too vague to be useful.",
        "Weak: it says little that helps with the request.",
        "The reader is left with more questions than before.",
    ),
    (
        0.66,
        "The output covers the main point; the rest stays vague.",
        "Usable, although it could be much clearer.",
        "On topic, with clear weaknesses.",
    ),
    (
        0.85,
        "Good, with minor weaknesses.",
        "The output answers the request; some of it could be more precise.",
        "It follows the request closely, with small differences.",
    ),
    (
        1.01,
        "The output addresses the request clearly and completely.",
        "The content matches what was asked for and is easy to follow.",
        "Accurate and to the point.",
    ),
)
"""Each row: an upper bound, as a share of the scale, and rationales for scores below it. None mentions what a flag may
be about."""
_STEPS = (
    "Read the input and note what a good answer has to contain.",
    "Compare the output with the expected answer, point by point.",
    "Look for statements that contradict or go beyond what is known.",
    "Weigh omissions and errors, and settle on a score.",
)
_PROSE = (
    "I would say this is a decent answer overall, though it could be more precise.",
    "The answer looks good to me. I have no further remarks.",
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
_REFERENCE_LABEL = re.compile(r"reference|expected|ideal|gold", re.IGNORECASE)
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
    if "better" in properties:
        return _written(_preference(request, varied))
    known = next((key for key in _REPLIES if key in properties), None)
    return _written(_REPLIES[known](_Judge(request, properties, stable, varied))) if known else prose(varied)


def prose(rng: Random) -> str:
    """Return a reply that cannot be parsed as a judgement."""
    return rng.choice(_PROSE)


def _written(reply: Any) -> str:
    return json.dumps(reply, ensure_ascii=False)


def _prompt_of(request: Request) -> str:
    return "\n\n".join(message.content for message in request.messages if message.role in ("system", "user"))


def _parts_of(prompt: str) -> dict[str, str]:
    return {name: text for name, _, text in _PART.findall(prompt)}


def _preference(request: Request, varied: Random) -> Any:
    """Depends on the judge and the answers alone, not on where they are shown."""
    parts, looks = _parts_of(_prompt_of(request)), []
    for number in ("1", "2"):
        answer = parts.get(f"answer_{number}", "")
        opinion = Random(f"{request.model}\n{answer}")  # noqa: S311 - only for made-up judgements
        looks.append(looks_of(request.case, answer, opinion))
    gap = looks[0] - looks[1] + varied.gauss(0, _CHANGE_OF_MIND)
    better = "tie" if abs(gap) < _CLOSE else "1" if gap > 0 else "2"
    return {"reason": _PREFERENCES[better], "better": better}


class _Judge:
    """Keeps scores, rationales, verdicts and flags consistent."""

    def __init__(self, request: Request, properties: Schema, stable: Random, varied: Random) -> None:
        prompt = _prompt_of(request)
        self._properties, self._stable, self._varied = properties, stable, varied
        self._parts, self._wanted = _parts_of(prompt), _WANTED.findall(prompt)
        self._looks = looks_of(request.case, prompt, stable)
        self._spread = 0.05 if request.temperature == 0 else 0.08
        self._flags = {name: self._raises() for name in _within(properties.get("flags"))}
        """Decided before any score, because they must agree."""
        self._most = _MOST_WITH_FLAG if any(self._flags.values()) else _MOST_OF_FILLER if is_filler(prompt) else 1.0
        self._impression = self._mood()

    def rubric(self) -> Any:
        self._mood()  # unused; the numbers that pages and tests show depend on it
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
        reason = self._rationale(self._impression)
        return {"reason": reason, "score": round(_scaled(self._impression, self._properties["score"]))}

    def steps(self) -> Any:
        return {"steps": _STEPS[: self._stable.randint(3, 4)]}

    def texts(self) -> Any:
        (name,) = self._properties
        return {name: self._extracted(name)[:_MOST_EXTRACTED]}

    def verdicts(self) -> Any:
        item = _within(self._properties["verdicts"]["items"])
        (about,) = item.keys() - {"reason", "verdict"}
        texts = [] if about == "number" else self._extracted(about)
        count = int(self._wanted[-1]) if self._wanted else len(self._passages())
        return {
            "verdicts": [
                {about: texts[at % len(texts)] if texts else at + 1, **self._verdict(item["verdict"]["enum"])}
                for at in range(count)
            ]
        }

    def _verdict(self, options: list[str]) -> dict[str, str]:
        self._mood()  # as above
        is_good = self._stable.random() < 0.58 + 0.4 * self._looks
        reason = self._rationale(0.9 if is_good else 0.2)
        return {"reason": reason, "verdict": options[0] if is_good else self._stable.choice(options[1:])}

    def _mood(self) -> float:
        mood = self._looks + self._stable.gauss(0, 0.08) + self._varied.gauss(0, self._spread)
        return round(min(self._most, max(0.0, mood)), 2)  # as precise as scores are

    def _raises(self) -> bool:
        return self._stable.random() < _TRUE_FLAGS + max(0.0, _MIDDLE - self._looks) / 2

    def _rationale(self, mood: float) -> str:
        fitting = next(row for row in RATIONALES if mood < row[0])
        return self._varied.choice(fitting[1:])

    def _passages(self) -> list[str]:
        return [text for name, text in self._parts.items() if name.startswith("context_")]

    def _extracted(self, name: str) -> list[str]:
        """The sentences of the part that a list of this name is about."""
        start = {"claims": "output", "statements": "output", "sentence": "reference"}.get(name, "context_")
        about = "\n".join(text for part, text in self._parts.items() if part.startswith(start))
        return sentences(about) or ["Nothing is claimed."]


_REPLIES: dict[str, Callable[[_Judge], Any]] = {
    "metrics": _Judge.rubric,
    "score": _Judge.mark,
    "steps": _Judge.steps,
    "claims": _Judge.texts,
    "statements": _Judge.texts,
    "truths": _Judge.texts,
    "verdicts": _Judge.verdicts,
}
"""By the property that names the question."""


def looks_of(case: TestCase | None, text: str, stable: Random) -> float:
    """Rate how good the judged output looks, from 0 to 1."""
    shares = [] if case is None else _shares(case, text)
    looks = 0.45 + 0.43 * sum(shares) / len(shares) if shares else stable.choices((0.85, 0.6), (9, 1))[0]
    if any(sign in text for sign in POOR_SIGNS):
        looks -= 0.3
    if is_filler(text):
        looks = min(looks, 0.74)
    return min(1.0, max(0.0, looks + stable.gauss(0, 0.03)))


def is_filler(text: str) -> bool:
    """Return whether the judged output has sentences that would fit any question."""
    return any(sentence in text for sentence in FILLER)


def _shares(case: TestCase, text: str) -> list[float]:
    shares = []
    if case.reference:
        shares.append(_overlap(case.reference, case.input, text))
    wishes = wishes_of(case)
    if wishes.includes:
        shares.append(sum(contains(text, phrase) for phrase in wishes.includes) / len(wishes.includes))
    return shares


def _overlap(reference: str, question: str, text: str) -> float:
    """Return the share of the reference's words in the text, not counting the reference and the question."""
    if (at := text.find(reference)) >= 0:
        if text.count(reference) > 1 or not _REFERENCE_LABEL.search(text[max(0, at - 60) : at]):
            return 1.0  # the output itself repeats it
        text = text[:at] + text[at + len(reference) :]
    known = words(reference)
    new = (known - words(question)) or known
    if not new:
        return 1.0 if reference.strip(" .") in text else 0.3
    return len(new & words(text)) / len(new)


def _within(schema: Schema | None) -> Schema:
    return schema["properties"] if schema else {}


def _scaled(mood: float, schema: Schema) -> float:
    low, high = schema["minimum"], schema["maximum"]
    return float(round(low + (high - low) * mood, 2))
