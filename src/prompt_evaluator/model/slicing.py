"""Groups of cases with the same value of a metadata key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from prompt_evaluator.errors import ConfigurationError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

T = TypeVar("T")

_MOST_VALUES = 20
_MOST_ASKED_VALUES = 200
_MOST_KEYS = 100
"""Keys looked at, so that metadata with a new key in every case does not fill the memory."""


class Groups(Generic[T]):
    """Finds the groups of each case, by every key that divides the cases into a few groups, or by those asked for."""

    def __init__(self, new: Callable[[], T], asked: Sequence[str] | None = None) -> None:
        """Take what makes the sums of a new group, and the keys; None for every suitable one."""
        self._new, self._asked = new, asked
        self._groups: dict[str, dict[str, T] | None] = {key: {} for key in asked or ()}
        self._known: set[str] = set()

    def of(self, metadata: Mapping[str, Any]) -> Iterator[T]:
        """The groups that a case belongs to; several of one key if its value is a list.

        Raises:
            ConfigurationError: A key that was asked for has too many values.
        """
        for key, value in metadata.items():
            if len(self._known) < _MOST_KEYS or key in self._groups:
                self._known.add(key)
            elif self._asked is None:
                continue
            if self._asked is None:
                self._groups.setdefault(key, {})
            groups = self._groups.get(key)
            if groups is not None and value is not None:
                yield from self._with_value(key, groups, _texts(value))

    def _with_value(self, key: str, groups: dict[str, T], texts: Sequence[str] | None) -> Iterator[T]:
        if texts is None:
            if self._asked is None:
                self._groups[key] = None
            return
        for text in texts:
            if text not in groups:
                groups[text] = self._new()
            yield groups[text]
        if self._asked is None and len(groups) > _MOST_VALUES:
            self._groups[key] = None
        elif len(groups) > _MOST_ASKED_VALUES:
            what = f"The cases cannot be sliced by {key!r}: it has more than {_MOST_ASKED_VALUES} values."
            raise ConfigurationError(f"{what} Choose a key with fewer.")

    def few(self, divides: Callable[[Sequence[T]], bool]) -> Iterator[tuple[str, str, T]]:
        """Key, value and sums of each group; of keys not asked for, only those for which `divides` holds.

        Raises:
            UnknownNameError: No case has a key that was asked for.
        """
        for key in self._asked or ():
            if key not in self._known:
                raise UnknownNameError("metadata key", key, self._known)
        for key, groups in self._groups.items():
            if not groups or (self._asked is None and not divides(list(groups.values()))):
                continue
            for value, sums in groups.items():
                yield key, value, sums


def _texts(value: Any) -> tuple[str, ...] | None:
    """The value as text; every element of a list of texts, such as tags. None if it does not name a group."""
    match value:
        case bool():
            return ("true" if value else "false",)
        case str() | int():
            return (str(value),)
        case list() | tuple() if all(isinstance(each, str) for each in value):
            return tuple(dict.fromkeys(value))
    return None
