"""A program as the target: JSON on its standard input, JSON on its standard output."""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import shutil
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, cast

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
from prompt_evaluator.providers import fingerprint
from prompt_evaluator.providers.target_reply import TargetReply, answer_of, last_user_text, read_reply

if TYPE_CHECKING:
    from prompt_evaluator.model import ProviderSettings
    from prompt_evaluator.providers.call_context import CallContext
    from prompt_evaluator.providers.call_policy import CallPolicy

_HOPELESS = frozenset({errno.ENOEXEC, errno.E2BIG, errno.ELOOP, errno.ENAMETOOLONG, errno.EISDIR})
"""What starting the same program again would run into again."""
_SHOWN_OUTPUT = 200
_SHOWN_WORDS = 2_000
_KEPT_STDERR = 64 * 1024
"""Bytes; more than is shown, so that no secret is cut in two before it is looked for."""
_REAPING = 5.0
"""Seconds for the system to bury a killed process. Takes milliseconds unless the machine is ill."""


class _Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What a program is told about the case: never the ideal answer, which it is to find by itself."""

    id: str
    input: str
    metadata: dict[str, Any]


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a program reads."""

    prompt: str
    messages: tuple[Message, ...]
    model: str
    temperature: float | None
    max_tokens: int | None
    seed: int | None
    tools: tuple[dict[str, Any], ...]
    params: dict[str, Any]
    """What was given for this target alone, as with `--param`."""
    sample: int
    attempt: int
    case: _Subject | None


class CommandProvider:
    """Starts the program anew for each try and leaves none of its processes behind.

    The program is started without a shell, with this process's environment and folder. When its answer is there, when
    it fails, when time is up and when the call is cancelled, its whole process group is killed; only a process that
    moved to a session of its own escapes that.
    """

    structured_output: ClassVar[bool] = False

    def __init__(self, name: str, policy: CallPolicy, *, max_reply_bytes: int) -> None:
        self.name = name
        self._policy, self._max_bytes = policy, max_reply_bytes

    def check(self, model: str) -> None:
        """Refuse, before any call, what is no program."""
        check(model)

    def fingerprint(self, model: str) -> str | None:
        """A digest of the program's files, so that answers of another version are not reused; None if not found."""
        try:
            return fingerprint.of_command(_words(model))
        except ConfigurationError:
            return None

    async def complete(self, request: Request) -> Answer:
        return await self._policy.call(self._send, request)

    async def close(self) -> None:
        """Nothing outlives a call."""

    async def _send(self, request: Request, timeout_s: float) -> Answer:
        child = _Child(self._order(request), self._max_bytes)
        began = time.monotonic()
        try:
            async with asyncio.timeout(timeout_s):
                await self._start(child, request.model)
                await child.finished
        except TimeoutError:
            if not child.exit_code:  # one that has failed already is not late, whatever still holds its output open
                raise self._late(child, timeout_s) from None
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
            raise RequestRefusedError(f"the request cannot be written as JSON: {error}.", provider=self.name) from error

    async def _start(self, child: _Child, model: str) -> None:
        try:
            await child.start(_words(model))
        except (ConfigurationError, FileNotFoundError, PermissionError, NotADirectoryError, ValueError) as error:
            raise ModelNotFoundError(_why_not(model) or _cannot(model, error), provider=self.name) from None
        except OSError as error:
            kind = ModelNotFoundError if error.errno in _HOPELESS else UnavailableError
            raise kind(_cannot(model, error), provider=self.name) from None

    def _late(self, child: _Child, timeout_s: float) -> TimedOutError:
        what = (
            f"the program did not answer within {timeout_s:g} s"
            if child.exit_code is None
            else f"the program ended, but a process that it started kept its output open for {timeout_s:g} s"
        )
        return TimedOutError(f"{what}; it was killed with all its processes.", provider=self.name)

    def _read(self, child: _Child) -> TargetReply:
        if child.oversized:
            sentence = f"the program printed more than max_reply_bytes allows ({self._max_bytes:,} bytes)."
            raise OversizedReplyError(sentence, provider=self.name)
        if child.exit_code:
            raise TargetFailedError(_last_words(child.exit_code, bytes(child.stderr)), provider=self.name)
        try:
            return read_reply(bytes(child.stdout))
        except ValueError as error:
            shown = redacted(bytes(child.stdout[:_KEPT_STDERR]))[:_SHOWN_OUTPUT]
            sentence = f"the program did not print the JSON expected: {error}. It began with {shown!r}."
            raise BadReplyError(sentence, provider=self.name) from None


class _Child(asyncio.SubprocessProtocol):
    """One run of a program: feeds it, listens to it, and buries it with its children."""

    def __init__(self, order: bytes, max_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        self._order, self._max_bytes = order, max_bytes
        self._transport: asyncio.SubprocessTransport | None = None
        self._open = {1, 2}
        self._exited: asyncio.Future[None] = loop.create_future()
        self._closed: asyncio.Future[None] = loop.create_future()
        self.finished: asyncio.Future[None] = loop.create_future()
        self.stdout, self.stderr = bytearray(), bytearray()
        self.exit_code: int | None = None
        self.oversized = False

    async def start(self, command: list[str]) -> None:
        loop = asyncio.get_running_loop()
        starting = asyncio.ensure_future(loop.subprocess_exec(lambda: self, *command, start_new_session=True))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Let these few turns of the loop pass: interrupted in them, asyncio kills the program but not its children,
            # and then waits without end for the pipes that they hold open.
            while not starting.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({starting})
            raise

    async def stop(self) -> None:
        """Kill what still runs, wait until it is reaped, and close the pipes, even those an escaped process holds."""
        if self._transport is None:
            return
        self._kill()
        try:
            await asyncio.wait({self._exited}, timeout=_REAPING)
        finally:
            stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
            if stdin.get_write_buffer_size():  # closing it would wait for somebody to read the rest
                stdin.abort()
            self._transport.close()
        await asyncio.wait({self._closed}, timeout=_REAPING)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        stdin.write(self._order)  # a program that does not read is no error: the transport drops what nobody takes
        stdin.close()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:  # noqa: PLR2004 - stderr
            self.stderr += data
            del self.stderr[:-_KEPT_STDERR]
        elif len(self.stdout) + len(data) <= self._max_bytes:
            self.stdout += data
        else:
            self.oversized = True
            self._kill()
            self._settle()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - why it ended is no matter
        self._open.discard(fd)
        self._settle()

    def process_exited(self) -> None:
        self.exit_code = cast("asyncio.SubprocessTransport", self._transport).get_returncode()
        if self.exit_code:
            self._kill()  # no child of a failed program can add anything but a wait
        self._exited.set_result(None)
        self._settle()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the same
        self._closed.set_result(None)

    def _settle(self) -> None:
        ended = self.exit_code is not None and (1 not in self._open if self.exit_code == 0 else not self._open)
        if (ended or self.oversized) and not self.finished.done():
            self.finished.set_result(None)

    def _kill(self) -> None:
        pid = cast("asyncio.SubprocessTransport", self._transport).get_pid()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def build(name: str, settings: ProviderSettings, calls: CallContext) -> CommandProvider:
    policy = calls.policy(name, settings)
    return CommandProvider(name, policy, max_reply_bytes=settings.limits.max_reply_bytes)


def check(model: str) -> None:
    """Find out before any call whether the program can be started.

    Raises:
        ConfigurationError: It is not there, or may not be executed.
    """
    _words(model)
    if problem := _why_not(model):
        raise ConfigurationError(problem)


def redacted(data: bytes) -> str:
    return REDACTOR.bytes(data).decode("utf-8", "replace")


def _words(model: str) -> list[str]:
    try:
        words = shlex.split(model)
    except ValueError as error:
        raise ConfigurationError(f"`command:{model}` cannot be read: {error}.") from None
    if not words:
        raise ConfigurationError("`command:` names no program. Write it as `command:./agent --option`.")
    return words


def _why_not(model: str) -> str | None:
    """Why the program of a model cannot be started; None when nothing speaks against it."""
    try:
        program = _words(model)[0]
    except ConfigurationError as error:
        return str(error)
    if shutil.which(program):
        return None
    if os.path.exists(program) and os.sep in program:  # noqa: PTH110 - a Path would drop the `./` that makes it one
        return f"The program {program!r} may not be executed. Is it a file, and is its executable bit set?"
    where = f"in {os.getcwd()}" if os.sep in program else "on the PATH"  # noqa: PTH109 - only shown
    return f"There is no program {program!r} {where}."


def _cannot(model: str, error: Exception) -> str:
    return f"The program of `command:{REDACTOR.text(model)}` cannot be started: {error}."


def _last_words(exit_code: int, stderr: bytes) -> str:
    how = f"was ended by {_signal_name(-exit_code)}" if exit_code < 0 else f"failed with exit code {exit_code}"
    words = redacted(stderr).strip()
    if not words:
        return f"the program {how} and wrote nothing to stderr."
    if len(words) > _SHOWN_WORDS:
        words = words[-_SHOWN_WORDS:]
        words = "…" + words[words.find("\n") + 1 :]
    return f"the program {how}. It wrote last: {words}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
