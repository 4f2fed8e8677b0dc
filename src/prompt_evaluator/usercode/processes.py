"""Programs that are started, fed, listened to, and buried with their children."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
from contextlib import suppress
from typing import cast

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import REDACTOR

_SHOWN_WORDS = 2_000
KEPT_STDERR = 64 * 1024
"""Bytes; more than is shown, so that no secret is cut in two before it is looked for."""
_REAPING = 5.0
"""Seconds for the system to bury a killed process. Takes milliseconds unless the machine is ill."""


class Child(asyncio.SubprocessProtocol):
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
            del self.stderr[:-KEPT_STDERR]
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


def redacted(data: bytes) -> str:
    return REDACTOR.bytes(data).decode("utf-8", "replace")


def command_words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"`command:{command}` cannot be read: {error}.") from None
    if not words:
        raise ConfigurationError("`command:` names no program. Write it as `command:./agent --option`.")
    return words


def why_not(command: str) -> str | None:
    """Why a program cannot be started; None when nothing speaks against it."""
    try:
        program = command_words(command)[0]
    except ConfigurationError as error:
        return str(error)
    if shutil.which(program):
        return None
    if os.path.exists(program) and os.sep in program:  # noqa: PTH110 - a Path would drop the `./` that makes it one
        return f"The program {program!r} may not be executed. Is it a file, and is its executable bit set?"
    where = f"in {os.getcwd()}" if os.sep in program else "on the PATH"  # noqa: PTH109 - only shown
    return f"There is no program {program!r} {where}."


def last_words(exit_code: int, stderr: bytes) -> str:
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
