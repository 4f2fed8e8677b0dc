"""A Python function as a metric."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.options import Share
from prompt_evaluator.metrics.user_score import as_score
from prompt_evaluator.model import Failed, Score, message_of
from prompt_evaluator.model.bounds import TIMEOUT
from prompt_evaluator.usercode import fingerprint
from prompt_evaluator.usercode.functions import find_function, in_thread, is_async, signature_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Answer, TestCase
    from prompt_evaluator.ports import JudgeClient

PREFIX = "python:"
_SHOWN = 500


class Loaded(NamedTuple):
    """A function and how to call it."""

    function: Callable[..., Any]
    in_thread: bool
    takes_answer: bool
    source: str | None
    """A digest of its code, so that scores from another version are not reused."""


class FunctionMetric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Your own function: it takes (output, case) and returns true, false or a number from 0 to 1.

    It may also return `(score, reason)`, `{score, reason, details}` or a `Score`, be async, and take a third parameter
    `answer` to see tool calls, usage and time. A sync function runs in a thread, which cannot be stopped: if it times
    out, it is abandoned.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    function: str
    """`module:function`; the working folder is searched first."""
    timeout: Annotated[float, TIMEOUT.meta] = 60.0
    """Seconds."""
    threshold: Share = 1.0
    """An answer passes at or above this score."""

    def __post_init__(self) -> None:
        try:
            load(self.function)
        except ConfigurationError as error:
            raise ValueError(str(error)) from error

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.function}"

    @property
    def needs_judge(self) -> bool:
        return False

    def definition(self) -> dict[str, Any]:
        return {"metric": self.name, "source": load(self.function).source}

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - only the function knows
        return None

    async def prepared(self, judge: JudgeClient | None) -> FunctionMetric:  # noqa: ARG002 - the port's signature
        return self

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score:  # noqa: ARG002
        loaded = load(self.function)
        extra = {"answer": answer} if loaded.takes_answer else {}
        call = functools.partial(loaded.function, answer.text, case, **extra)
        try:
            async with asyncio.timeout(self.timeout) as limit:
                value = await in_thread(call) if loaded.in_thread else call()
                value = await value if inspect.isawaitable(value) else value
        except (Exception, SystemExit) as error:  # noqa: BLE001 - user code may raise anything
            if isinstance(error, TimeoutError) and limit.expired():
                return Failed(f"timed out: the function did not answer within {self.timeout:g} s", kind="TimedOut")
            return Failed(
                f"{type(error).__name__}: {(message_of(error) or 'no message')[:_SHOWN]}", kind=type(error).__name__
            )
        return as_score(value, "the function")


@functools.cache
def load(name: str) -> Loaded:
    """Import `module:function`, once.

    Raises:
        ConfigurationError: The function does not exist, or it cannot be called with an output and a case.
    """
    function = find_function(name)
    takes_answer = False
    if (signature := signature_of(function)) is not None:
        takes_answer = "answer" in signature.parameters
        try:
            signature.bind(object(), object(), **({"answer": None} if takes_answer else {}))
        except TypeError as error:
            sentence = f"`{PREFIX}{name}` cannot be called with an output and a case: {error}."
            raise ConfigurationError(sentence) from None
    source = fingerprint.of_files(name.partition(":")[0]) or fingerprint.of_memory(function)
    return Loaded(function, not is_async(function), takes_answer, source)
