"""Reads the fields of a label from a line of a file."""

from __future__ import annotations

from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from prompt_evaluator.model.bounds import FIGURE, PROBABILITY
from prompt_evaluator.syntax.wording import described, text_instead

if TYPE_CHECKING:
    from prompt_evaluator.app.labelling.files import NoFile
    from prompt_evaluator.datasets.positions import Position
    from prompt_evaluator.errors import PromptEvaluatorError
    from prompt_evaluator.model.bounds import Bound

_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
_NEAR = 0.8
_SHOWN = 40


def as_number(value: object) -> float | None:
    """A number, or a text that spells one; None for anything else."""
    try:
        return FIGURE.read_text(value) if isinstance(value, str) else FIGURE.read(value)
    except ValueError:
        return None


def as_truth(value: object) -> bool | None:
    """Yes or no, as people and spreadsheets write them; None for anything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and (found := _TRUTHS.get(value.strip().lower())) is not None:
        return found
    number = as_number(value)
    return bool(number) if number in (0, 1) else None


def shown(value: object) -> str:
    """A value for a message. A text is only quoted: in CSV every value is a text, so saying so would not help."""
    return repr(value[:_SHOWN]) if isinstance(value, str) else described(value)


class Fields:
    """The fields of one line. Empty fields count as missing.

    Unknown fields are ignored, since a file may have its own, such as the answer. A field whose name looks like a
    typo of a known one is refused, because its value would otherwise be lost.
    """

    def __init__(self, record: dict[str, Any], where: Position | NoFile, known: tuple[str, ...]) -> None:
        self._record, self.where = record, where
        for name in record:
            near = _near(name, known)
            if near and near not in record:
                advice = f"Did you mean {near!r}? Fields with other names are ignored."
                raise where.problem(f"Unknown field {name!r}", advice=advice, field=name)

    def get(self, name: str) -> Any:
        value = self._record.get(name)
        return None if isinstance(value, str) and not value.strip() else value

    def missing(self, name: str, advice: str) -> PromptEvaluatorError:
        return self.where.problem(f"The label has no {name}", advice=advice, field=name)

    def wrong(self, name: str, why: str, advice: str) -> PromptEvaluatorError:
        return self.where.problem(f"{name} {why}", advice=advice, field=name)

    def required(self, name: str) -> str:
        text = self.text(name)
        if text is None:
            raise self.missing(name, f"Add {name}.")
        return text

    def text(self, name: str) -> str | None:
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, f"is {described(value)}, not a text", f"{text_instead(value)}.")
        if value and "\0" in value:
            raise self.wrong(name, "contains a NUL character", "Remove it.")
        return value

    def whole_number(self, name: str, bound: Bound) -> int | None:
        """Read a whole number. One below its bound is left to checks against the run, which know what there is."""
        value = self.get(name)
        if value is None:
            return None
        number = as_number(value)
        if number is None or number != int(number) or abs(number) > bound.most:
            raise self.wrong(name, f"is {shown(value)}, not {bound.words}", "Write one, or leave it out.")
        return int(number)

    def truth(self, name: str) -> bool | None:
        value = self.get(name)
        truth = as_truth(value)
        if truth is None and value is not None:
            raise self.wrong(name, f"is {shown(value)}, not yes or no", "Write true or false, or leave it out.")
        return truth

    def probability(self) -> float | None:
        value = self.get("probability")
        if value is None:
            return None
        try:
            return PROBABILITY.read_text(value) if isinstance(value, str) else PROBABILITY.read(value)
        except ValueError:
            advice = "Leave it out for a sample that was not drawn at random."
            raise self.wrong("probability", f"is {shown(value)}, not {PROBABILITY.words}", advice) from None

    def hash(self, name: str) -> str | None:
        """The bare digits, without the prefix `sha256:` that artifacts have."""
        text = self.text(name)
        return text.strip().lower().removeprefix("sha256:") if text else None

    def time(self, name: str) -> str | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            found = datetime.fromisoformat(text.strip())
            in_utc = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            advice = "Write it as 2026-01-31T12:00:00Z, or leave it out."
            raise self.wrong(name, f"is {shown(text)}, not a time", advice) from None
        return in_utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@lru_cache(maxsize=1_000)
def _near(name: str, known: tuple[str, ...]) -> str | None:
    if name in known:
        return None
    return next(iter(get_close_matches(name.strip().lower(), known, n=1, cutoff=_NEAR)), None)
