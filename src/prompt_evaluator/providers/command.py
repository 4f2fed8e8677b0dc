"""A program as the target: reads JSON from stdin, writes JSON to stdout."""

from __future__ import annotations

import asyncio
import errno
import time
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from prompt_evaluator.errors import (
    BadReplyError,
    ConfigurationError,
    ModelNotFoundError,
    OversizedReplyError,
    RequestRefusedError,
    TargetFailedError,
    TimedOutError,
    UnavailableError,
)
from prompt_evaluator.model import REDACTOR, Answer, Message, Request
from prompt_evaluator.providers.target_reply import TargetReply, answer_of, last_user_text, read_reply
from prompt_evaluator.usercode import fingerprint
from prompt_evaluator.usercode.processes import KEPT_STDERR, Child, command_words, last_words, redacted, why_not

if TYPE_CHECKING:
    from prompt_evaluator.model import ProviderSettings
    from prompt_evaluator.providers.opened import Resources

_HOPELESS = frozenset({errno.ENOEXEC, errno.E2BIG, errno.ELOOP, errno.ENAMETOOLONG, errno.EISDIR})
"""Errors that would recur if the program were started again."""
_SHOWN_OUTPUT = 200


class _Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What the program gets to know about the case. Never the reference answer."""

    id: str
    input: str
    metadata: dict[str, Any]


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    """What the program reads from stdin."""

    prompt: str
    messages: tuple[Message, ...]
    model: str
    temperature: float | None
    max_tokens: int | None
    seed: int | None
    tools: tuple[dict[str, Any], ...]
    params: dict[str, Any]
    """Parameters of this target, such as those from `--param`."""
    sample: int
    attempt: int
    case: _Subject | None


class CommandProvider:
    """Starts the program once per try and leaves no processes behind.

    The program runs without a shell, in this process's environment and working folder. Its whole process group is
    killed when it has answered, fails or times out, and when the call is cancelled. Only a process that moved to its
    own session survives that.
    """

    trusted: ClassVar[bool] = True

    def __init__(self, name: str, *, max_reply_bytes: int) -> None:
        self.name = name
        self._max_bytes = max_reply_bytes

    def check(self, model: str) -> None:
        """Raise `ConfigurationError` if the program is missing or not executable."""
        if problem := why_not(model):
            raise ConfigurationError(problem)

    def fingerprint(self, model: str) -> str | None:
        """Digest of the program's files, so that answers of other versions are not reused. None if not found."""
        try:
            return fingerprint.of_command(command_words(model))
        except ConfigurationError:
            return None

    async def close(self) -> None:
        """Do nothing: no process outlives its call."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - enforced here
        child = Child(self._order(request), self._max_bytes)
        began = time.monotonic()
        try:
            async with asyncio.timeout(timeout):
                await self._start(child, request.model)
                await child.finished
        except TimeoutError:
            if not child.exit_code:  # a failed program is not late, even if something still holds its output open
                raise self._late(child, timeout) from None
        finally:
            await child.stop()
        seconds = time.monotonic() - began
        return answer_of(self._read(child), asked=request.model, seconds=seconds)

    def _order(self, request: Request) -> bytes:
        case = request.case
        order = _Order(
            prompt=last_user_text(request),
            messages=request.messages,
            model=request.model,
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            seed=request.seed,
            tools=request.tools,
            params=request.options,
            sample=request.sample,
            attempt=request.attempt,
            case=_Subject(id=case.id, input=case.input, metadata=case.metadata) if case else None,
        )
        try:
            return msgspec.json.encode(order)
        except (ValueError, TypeError, RecursionError) as error:
            raise RequestRefusedError(f"the request cannot be encoded as JSON: {error}.", provider=self.name) from error

    async def _start(self, child: Child, model: str) -> None:
        try:
            await child.start(command_words(model))
        except (ConfigurationError, FileNotFoundError, PermissionError, NotADirectoryError, ValueError) as error:
            raise ModelNotFoundError(why_not(model) or _cannot(model, error), provider=self.name) from None
        except OSError as error:
            kind = ModelNotFoundError if error.errno in _HOPELESS else UnavailableError
            raise kind(_cannot(model, error), provider=self.name) from None

    def _late(self, child: Child, timeout_s: float) -> TimedOutError:
        what = (
            f"the program did not answer within {timeout_s:g} s"
            if child.exit_code is None
            else f"the program ended, but a process it started kept its output open for {timeout_s:g} s"
        )
        return TimedOutError(f"{what}; it was killed along with all its processes.", provider=self.name)

    def _read(self, child: Child) -> TargetReply:
        if child.oversized:
            sentence = f"the program printed more than max_reply_bytes allows ({self._max_bytes:,} bytes)."
            raise OversizedReplyError(sentence, provider=self.name)
        if child.exit_code:
            raise TargetFailedError(last_words(child.exit_code, bytes(child.stderr)), provider=self.name)
        try:
            return read_reply(bytes(child.stdout))
        except ValueError as error:
            start = redacted(bytes(child.stdout[:KEPT_STDERR]))[:_SHOWN_OUTPUT]
            sentence = f"the program did not print the expected JSON: {error}. Its output starts with {start!r}."
            raise BadReplyError(sentence, provider=self.name) from None


def build(name: str, settings: ProviderSettings, _resources: Resources) -> CommandProvider:
    return CommandProvider(name, max_reply_bytes=settings.limits.max_reply_bytes)


def _cannot(model: str, error: Exception) -> str:
    return f"`command:{REDACTOR.text(model)}` cannot be started: {error}."
