"""Errors about the configuration file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.errors import InputError
from prompt_evaluator.hints import nearest
from prompt_evaluator.model.bounds import as_given

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prompt_evaluator.config.lines import Lines

_SHOWN = 40


class Place(NamedTuple):
    """A place in the file, as the keys that lead to it."""

    path: Path
    lines: Lines
    keys: tuple[str, ...] = ()

    def __truediv__(self, key: str) -> Place:
        return self._replace(keys=(*self.keys, key))

    @property
    def name(self) -> str:
        return ".".join(self.keys)

    @property
    def line(self) -> int | None:
        return self.lines.of(*self.keys)

    @property
    def origin(self) -> str:
        return f"{self.path.name}, line {self.line}"

    def problem(self, what: str, advice: str = "") -> InputError:
        return InputError(what, path=self.path, line=self.line, advice=advice, field=self.name or None)

    def wrong(self, words: str, value: Any, *, advice: str = "", shown: bool = True) -> InputError:
        """Return an error about a value that is not `words`. Pass `shown=False` if it may be a misplaced secret."""
        return self.problem(f"`{self.name}` has to be {words}, not {described(value, shown=shown)}", advice)

    def mapping(self, value: Any, advice: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong("a mapping", value, advice=advice, shown=False)
        return value

    def unknown(self, known: Iterable[str]) -> InputError:
        """Return an error about an unknown setting; at the top of a file, suggest the nearest."""
        *outer, last = self.keys
        names = sorted(known)
        near = None if outer else nearest(last, names)
        # The name is cut, because it may be a misplaced key.
        what = f"There is no setting `{'.'.join((*outer, last[:_SHOWN]))}`"
        return self.problem(what, f"Did you mean `{near}`?" if near else f"Known here: {', '.join(names)}.")


def described(value: Any, *, shown: bool = True) -> str:  # noqa: PLR0911 - one for each kind of value
    """Describe a value in a sentence."""
    match value:
        case None:
            return "empty"
        case bool():
            return str(value).lower()
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case str():
            return f"the text {value[:_SHOWN]!r}" if shown else "a text"
        case int() | float():
            return as_given(value) if shown else "a number"
        case _:  # from Python
            return f"a value of the type {type(value).__name__}"
