"""What a judge looks for."""

import msgspec


class Criterion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One score that a judge gives, on its own scale."""

    name: str
    description: str
    min_score: float = 1
    max_score: float = 5
    guidelines: str = ""


class Flag(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One yes-or-no question that a judge answers."""

    name: str
    description: str
    default: bool = False


class Rubric(msgspec.Struct, frozen=True, kw_only=True):
    """Criteria and flags that one judge call answers together."""

    name: str
    metrics: tuple[Criterion, ...]
    flags: tuple[Flag, ...] = ()
    path: str | None = None
    """The file it was read from; None of one that ships."""
    hash: str
    """SHA-256 of the file's bytes, as bare hexadecimal digits."""
