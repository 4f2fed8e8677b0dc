"""The mock provider as a judge: replies in the requested format, with plausible scores."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from prompt_evaluator.providers.mock.answers import sentences
from prompt_evaluator.providers.mock.preference import is_preference, preference
from prompt_evaluator.providers.mock.prompt import is_filler, items_in, prompt_of, section, standing, stated_range
from prompt_evaluator.providers.mock.schema import Path, fill, index_of, name_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from prompt_evaluator.model import Request

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
_EXTRACTED = {"statements", "statement", "claims", "claim", "truths", "truth", "facts", "fact", "sentence"}
_POSITIVE = {"yes", "true", "pass", "passed", "correct", "supported", "relevant", "good", "faithful"}
_POSITIVE_FLAGS = _POSITIVE | {"is_correct", "is_relevant", "is_faithful", "success"}
_POSITIONS = {"index", "position", "rank", "node", "number"}
_JUDGED = ("output", "answer", "response", "text")
_KNOWN = ("context", "document", "text")
_EXPECTED = ("reference",)
_PASSAGE = re.compile(r"^<context_\d+ nonce=(\w+)>\n(.*?)\n</context_\d+ nonce=\1>$", re.DOTALL | re.MULTILINE)
"""How our own metrics present retrieved passages."""
_MOST_EXTRACTED = 6
_TRUE_FLAGS = 0.06
_MIDDLE = 0.5
"""Share of the scale from which a score counts as fair."""
_COMMENTS = {"overall_comment", "comment", "summary"}
_MOST_WITH_FLAG, _MOST_OF_FILLER = 0.6, 0.84
"""Highest share of the scale for an answer with a raised flag, and for one that would fit any question."""


def judgement(schema: dict[str, Any], request: Request, stable: Random, varied: Random) -> str:
    """Return JSON text that follows the schema.

    Args:
        schema: The schema of the reply.
        request: The judge's prompt and its case.
        stable: The judge's opinion; the same for every request of the same judge about the same text.
        varied: The judge's mood, which differs between repeats.
    """
    prompt = prompt_of(request)
    if is_preference(schema):
        return preference(request, prompt, varied)
    looks = standing(request.case, prompt, stable)
    spread = 0.05 if request.temperature == 0 else 0.08
    value = fill(schema, _Judge(prompt, looks, stable, varied, spread=spread, flags=_flag_names(schema)))
    return json.dumps(value, ensure_ascii=False)


def prose(rng: Random) -> str:
    """Return a reply that cannot be parsed as a judgement."""
    return rng.choice(_PROSE)


def _flag_names(schema: dict[str, Any]) -> list[str]:
    """Return the flags of a rubric's reply."""
    flags = schema.get("properties", {}).get("flags", {})
    return list(flags.get("properties", {})) if isinstance(flags, dict) else []


class _Judge:
    """Keeps scores, rationales, verdicts and flags consistent."""

    def __init__(  # noqa: PLR0913 - created in one place
        self, prompt: str, looks: float, stable: Random, varied: Random, *, spread: float, flags: Sequence[str]
    ) -> None:
        self._prompt, self._looks, self._spread = prompt, looks, spread
        self._stable, self._varied = stable, varied
        self._flags = {name: self._raises() for name in flags}
        """Decided before any score, because they must agree."""
        flagged = any(self._flags.values())
        self._most = _MOST_WITH_FLAG if flagged else _MOST_OF_FILLER if is_filler(prompt) else 1.0
        self._moods: dict[Path, float] = {}
        self._found: dict[Sequence[str], list[str]] = {}

    def enter(self, path: Path, names: Sequence[str]) -> None:
        mood = self._looks + self._stable.gauss(0, 0.08) + self._varied.gauss(0, self._spread)
        if "verdict" in names:
            mood = 0.9 if self._stable.random() < 0.58 + 0.4 * self._looks else 0.2
        self._moods[path] = round(min(self._most, max(0.0, mood)), 2)  # as precise as scores are

    def text(self, path: Path) -> str:
        name = name_of(path).lower()
        if name == "verdict":
            return str(self.choice(path, ("yes", "no", "idk")))
        if name in _EXTRACTED:
            known = self._extracts(name)
            return known[index_of(path) % len(known)]
        if name in {"steps", "step"}:
            return _STEPS[index_of(path) % len(_STEPS)]
        if name in _COMMENTS:
            return self._comment(path)
        return self._rationale(self._mood(path))

    def number(self, path: Path, low: float | None, high: float | None) -> float:
        if name_of(path).lower() in _POSITIONS:
            return index_of(path) + (1 if low is None else low)
        if low is None or high is None:
            stated = stated_range(self._prompt, str(path[-2]) if path[1:] else "")
            low = stated[0] if low is None else low
            high = max(low, stated[1]) if high is None else high
        return low + (high - low) * self._mood(path)

    def choice(self, path: Path, options: Sequence[Any]) -> Any:
        if all(isinstance(option, bool) for option in options):
            return options[0] if len(options) == 1 else self.flag(path)
        if numbers := sorted(option for option in options if isinstance(option, int | float)):
            return numbers[round((len(numbers) - 1) * self._mood(path))]
        known = [option for option in options if option is not None] or options
        good = [option for option in known if str(option).lower() in _POSITIVE] or known[:1]
        rest = [option for option in known if option not in good] or known
        return good[0] if self._mood(path) >= _MIDDLE else self._stable.choice(rest)

    def flag(self, path: Path) -> bool:
        name = name_of(path).lower()
        if "flags" not in path and name in _POSITIVE_FLAGS | {"verdict"}:
            return self._mood(path) >= _MIDDLE
        known = self._flags.get(str(path[-1])) if "flags" in path else None
        return self._raises() if known is None else known

    def size(self, path: Path) -> int:
        name = name_of(path).lower()
        if name == "verdicts":
            return len(_PASSAGE.findall(self._prompt)) or items_in(self._prompt) or 3
        if name in _EXTRACTED:
            return min(_MOST_EXTRACTED, len(self._extracts(name)))
        if name == "steps":
            return self._stable.randint(3, 4)
        return self._stable.randint(1, 3)

    def _raises(self) -> bool:
        return self._stable.random() < _TRUE_FLAGS + max(0.0, _MIDDLE - self._looks) / 2

    def _rationale(self, mood: float) -> str:
        fitting = next(row for row in RATIONALES if mood < row[0])
        return self._varied.choice(fitting[1:])

    def _comment(self, path: Path) -> str:
        """Comment on all scores and the raised flags."""
        moods = [mood for scored, mood in self._moods.items() if scored[:1] == ("metrics",) and scored[1:]]
        rationale = self._rationale(sum(moods) / len(moods) if moods else self._mood(path))
        raised = [name.replace("_", " ") for name, is_raised in self._flags.items() if is_raised]
        return f"{rationale} Flagged: {', '.join(raised)}." if raised else rationale

    def _mood(self, path: Path) -> float:
        """Return the mood of the innermost object that contains the value."""
        around = (path[:end] for end in range(len(path) - 1, -1, -1))
        return next((self._moods[outer] for outer in around if outer in self._moods), self._looks)

    def _extracts(self, name: str) -> list[str]:
        labels = _KNOWN if name.startswith(("truth", "fact")) else _EXPECTED if name == "sentence" else _JUDGED
        if labels not in self._found:
            found = [] if labels == _KNOWN else sentences(section(self._prompt, labels))
            passages = "\n".join(passage for _, passage in _PASSAGE.findall(self._prompt))
            found = found or sentences(passages or section(self._prompt, labels)) or sentences(self._prompt)[-3:]
            self._found[labels] = found or ["Nothing is claimed."]
        return self._found[labels]
