"""Child processes: start a program, write its input, read its output, and kill it with its children."""

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

_SHOWN_STDERR = 2_000
KEPT_STDERR = 64 * 1024
"""Bytes. More than is shown, so that no secret is cut in two before it is masked."""
_REAPING = 5.0
"""Seconds to wait for a killed process to be reaped, which normally takes milliseconds."""


class Child(asyncio.SubprocessProtocol):
    """One run of a program, from its input on stdin to the end of all its processes."""

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
            # Wait until it has started. If interrupted here, asyncio kills the program but not its children, and then
            # waits forever for the pipes that they hold open.
            while not starting.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({starting})
            raise

    async def stop(self) -> None:
        """Kill what still runs, wait until it is reaped, and close the pipes, even if an escaped process holds them."""
        if self._transport is None:
            return
        self._kill()
        try:
            await asyncio.wait({self._exited}, timeout=_REAPING)
        finally:
            stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
            if stdin.get_write_buffer_size():  # closing it would wait until the rest is read
                stdin.abort()
            self._transport.close()
        await asyncio.wait({self._closed}, timeout=_REAPING)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        stdin.write(self._order)  # not reading it is not an error: the transport drops the rest
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

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - the reason does not matter
        self._open.discard(fd)
        self._settle()

    def process_exited(self) -> None:
        self.exit_code = cast("asyncio.SubprocessTransport", self._transport).get_returncode()
        if self.exit_code:
            self._kill()  # children of a failed program can only cause a delay
        self._exited.set_result(None)
        self._settle()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - as above
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
    return REDACTOR.message(data.decode("utf-8", "replace"))


def command_words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"`command:{command}` cannot be parsed: {error}.") from None
    if not words:
        raise ConfigurationError("`command:` does not name a program. Write it as `command:./agent --option`.")
    return words


def why_not(command: str) -> str | None:
    """Return why a program cannot be started, or None if no reason is found."""
    try:
        program = command_words(command)[0]
    except ConfigurationError as error:
        return str(error)
    if shutil.which(program):
        return None
    if os.path.exists(program) and os.sep in program:  # noqa: PTH110 - Path would drop the `./`
        return f"Program {program!r} is not executable. Is it a file with its executable bit set?"
    where = f"in {os.getcwd()}" if os.sep in program else "on the PATH"  # noqa: PTH109 - only shown
    return f"Program {program!r} not found {where}."


def last_words(exit_code: int, stderr: bytes) -> str:
    how = f"was killed by {_signal_name(-exit_code)}" if exit_code < 0 else f"failed with exit code {exit_code}"
    text = redacted(stderr).strip()
    if not text:
        return f"the program {how} and wrote nothing to stderr."
    if len(text) > _SHOWN_STDERR:
        text = text[-_SHOWN_STDERR:]
        text = "…" + text[text.find("\n") + 1 :]
    return f"the program {how}. Its stderr ends with: {text}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
