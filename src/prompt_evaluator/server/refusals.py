"""Errors as answers: a status and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import (
    ConfigurationError,
    IncomparableError,
    InputError,
    LabelledRunError,
    PinnedRunError,
    PromptEvaluatorError,
    RunBusyError,
    StoreError,
    UnknownNameError,
)
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.api import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterable

_THINGS = ("run", "test case", "sample", "label", "token", "group")
"""What has an address of its own: without it, there is nothing at that address."""
_FIELDS = {"benchmark": "dataset", "provider": "model", "metric": "metrics", "tag": "tags"}
"""Fields of requests that are named differently from what they name."""


class Refusal(Exception):  # noqa: N818 - a request that is refused is not a fault of the program
    """A request that gets no other answer than a status and a sentence."""

    def __init__(
        self, status: int, error: str, field: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        """Keep what to answer.

        Args:
            status: The HTTP status.
            error: A sentence: what is wrong, what to do.
            field: What is wrong in the request.
            headers: To send along.
        """
        super().__init__(error)
        self.status, self.field, self.headers = status, field, headers or {}

    def encoded(self) -> bytes:
        return encoded(str(self), self.field)


def encoded(error: str, field: str | None = None) -> bytes:
    """The body of every refusal."""
    return msgspec.json.encode(ApiError(error=REDACTOR.message(error), field=field))


def refusal_of(error: PromptEvaluatorError, *sent: Any) -> Refusal:
    """How to answer when a use case raises this error.

    Args:
        error: What it raised.
        sent: The query and the body of the request, to find out which field has a name that is not known.
    """
    field = getattr(error, "field", None)
    if isinstance(error, UnknownNameError):
        if error.kind in _THINGS:
            return Refusal(404, str(error), field)
        return Refusal(422, str(error), field or _place(error.name, sent) or _FIELDS.get(error.kind, error.kind))
    if isinstance(error, (RunBusyError, LabelledRunError, PinnedRunError, IncomparableError)):
        return Refusal(409, str(error).replace("add --allow-different", "set allow_different"), field)
    if isinstance(error, (ConfigurationError, InputError)):
        return Refusal(422, str(error), field)
    if isinstance(error, StoreError):
        return Refusal(503, str(error), None, {"retry-after": "5"})
    return Refusal(422, str(error), field)


def _place(name: str, sent: Iterable[Any]) -> str | None:
    """The field of a request in which a name is, alone, in a list or at the beginning of a condition."""
    for struct in sent:
        for field, value in msgspec.structs.asdict(struct).items() if struct is not None else ():
            texts = value if isinstance(value, tuple) else (value,)
            if any(isinstance(text, str) and text.removeprefix("-").startswith(name) for text in texts):
                return field
    return None
