"""Parameters that services have refused, remembered for a month in the user's data folder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.user_data import replace_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_DAYS_KEPT = 30
_SECONDS_A_DAY = 86_400


class Refusal(msgspec.Struct, frozen=True):
    """What a service said when it refused a parameter."""

    message: str
    at: float
    """Seconds since the epoch."""


class Learned:
    """What was refused, by place: an address, a path, a model, a version and whether the model reasons."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = path, clock
        self._known: dict[str, dict[str, Refusal]] = {}
        self._read = False

    def about(self, place: str) -> dict[str, str]:
        """The parameters refused there, with what the service said."""
        if not self._read:
            self._known, self._read = self._load(), True
        return {name: refusal.message for name, refusal in self._known.get(place, {}).items()}

    def add(self, place: str, name: str, message: str) -> None:
        """Remember a refusal. Without a folder that can be written, for this process alone."""
        known = self._load()
        for other, refusals in self._known.items():
            known[other] = known.get(other, {}) | refusals
        known.setdefault(place, {})[name] = Refusal(message, self._clock())
        self._known, self._read = known, True
        try:
            replace_file(self._path, msgspec.json.format(msgspec.json.encode(known)))
        except OSError:
            return

    def _load(self) -> dict[str, dict[str, Refusal]]:
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=dict[str, dict[str, Refusal]])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}
        oldest = self._clock() - _DAYS_KEPT * _SECONDS_A_DAY
        return {
            place: {name: refusal for name, refusal in refusals.items() if refusal.at > oldest}
            for place, refusals in found.items()
        }
