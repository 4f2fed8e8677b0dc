"""One question, and what is known about a good answer."""

from typing import Any, ClassVar

import msgspec


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A case's request for a metric: the only form in which a dialect's expectations travel downstream."""

    metric: str
    options: dict[str, Any] = {}


class TestCase(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One input, what is known about a good answer, and free metadata."""

    __test__: ClassVar[bool] = False  # keeps pytest from collecting a class with this name

    id: str
    input: str
    description: str | None = None
    task: str | None = None
    """What is to be done; shown to a judge."""
    expected_constraints: str | None = None
    """What the answer has to respect; shown to a judge."""
    reference: str | None = None
    """An ideal answer. Metrics may compare with it; nothing requires it."""
    metadata: dict[str, Any] = {}
    """Every other field of the case, untouched. Metrics may use what has the right shape."""
    checks: tuple[Check, ...] = ()
    """What must hold for this case alone."""
