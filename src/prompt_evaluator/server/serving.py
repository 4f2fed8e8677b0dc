"""Starts the server: one process for HTTP, and one for the runs, so that neither slows the other down."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.server_settings import server_settings
from prompt_evaluator.app.tokens import list_tokens
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.server.application import make_application
from prompt_evaluator.server.feeds import Feeds
from prompt_evaluator.server.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prompt_evaluator.app.server_settings import ServerSettings
    from prompt_evaluator.app.stores import ServedSettings

_LOG = logging.getLogger("prompt_evaluator.server")
_PATIENCE = 20.0
"""Seconds that a worker may take to end; the runs' calls in flight get five."""
_WAITING = 1024
"""Connections that wait to be accepted."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_GIVING_WAY = 10
"""How much less of a busy machine the server takes than its worker (`nice`): a page can wait, and runs are paid for."""


def serve(settings: ServedSettings, *, worker: Sequence[str] | None, on_ready: Callable[[str], None]) -> None:
    """Serve until a signal comes.

    Args:
        settings: With the store, which is closed at the end.
        worker: The command that starts a worker; None if others make the runs.
        on_ready: Called with the address once requests are answered.

    Raises:
        ConfigurationError: The address cannot be used, or others can reach it and there is no token.
    """
    server = server_settings(settings)
    _refuse_without_tokens(settings, server)
    with _bound(server) as listening:
        asyncio.run(_serve(settings, server, listening, worker, on_ready))


def _refuse_without_tokens(settings: ServedSettings, server: ServerSettings) -> None:
    if server.tokens_needed and not any(token.state(now()) == "valid" for token in list_tokens(settings)):
        raise ConfigurationError(
            f"Others can reach this server (host {server.host}), so everybody needs a token, and there is none yet. "
            "Make one first: `prompt-evaluator token create NAME --role admin`."
        )


def _bound(server: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    # By its number: asyncio sends small answers at once (TCP_NODELAY) only where it reads that the protocol is TCP.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((server.host, server.port))
        listening.listen(_WAITING)
    except OSError as error:
        listening.close()
        raise ConfigurationError(
            f"The server cannot listen at {server.host}:{server.port}: {error.strerror}. "
            "End what uses it, or choose another port with --port."
        ) from None
    return listening


async def _serve(
    settings: ServedSettings,
    server: ServerSettings,
    listening: socket.socket,
    worker: Sequence[str] | None,
    on_ready: Callable[[str], None],
) -> None:
    process = WorkerProcess(worker) if worker else None
    site = Site(
        settings=settings,
        server=server,
        needs_token=server.tokens_needed,
        feeds=Feeds(settings),
        on_queue=process.wake if process else lambda: None,
        secure=(server.public_url or "").startswith("https:"),
    )
    http = _Http(
        uvicorn.Config(
            make_application(site),
            http="httptools",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=60,
            timeout_graceful_shutdown=3,
        ),
        lambda: on_ready(_address(server, listening)),
    )
    loop = asyncio.get_running_loop()
    for caught in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(caught, http.stop, site.feeds)
    supervising = asyncio.create_task(process.supervise()) if process else None
    try:
        await http.serve([listening])
    finally:
        if process and supervising:
            await process.close()
            await supervising
        settings.opened.close_for_good()


def _address(server: ServerSettings, listening: socket.socket) -> str:
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"http://{host}:{listening.getsockname()[1]}"


class _Http(uvicorn.Server):
    """Leaves signals to us: they also end the worker."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    def stop(self, feeds: Feeds) -> None:
        self.force_exit = self.should_exit  # the second signal does not wait for anybody
        self.should_exit = True
        feeds.close()


class WorkerProcess:
    """A worker in a process of its own. It ends with us, however we end: then its input is closed."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._loop = asyncio.get_running_loop()
        self._process: asyncio.subprocess.Process | None = None
        self._closing = asyncio.Event()

    def wake(self) -> None:
        """Let it look at the queue now. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._wake)

    async def supervise(self) -> None:
        """Start it, and again if it dies."""
        pause, gives_way = _FIRST_PAUSE, False
        while not self._closing.is_set():
            began = self._loop.time()
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command, stdin=asyncio.subprocess.PIPE, process_group=0
                )
                if not gives_way:  # only now: a process starts with the priority of the one that starts it
                    os.nice(_GIVING_WAY)
                    gives_way = True
                code = f"exit code {await self._process.wait()}"
            except OSError as error:
                code = f"it cannot be started: {error.strerror}"
            if self._closing.is_set():
                return
            pause = _FIRST_PAUSE if self._loop.time() - began > _LONGEST_PAUSE else min(pause * 2, _LONGEST_PAUSE)
            _LOG.warning("The worker has ended (%s). Another one is started in %g s.", code, pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), pause)

    async def close(self) -> None:
        """Let it end its runs so that they can be resumed."""
        self._closing.set()
        process = self._process
        if process is None or process.returncode is not None or process.stdin is None:
            return
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _PATIENCE)
        except TimeoutError:
            process.kill()

    def _wake(self) -> None:
        process = self._process
        if process is not None and process.returncode is None and process.stdin is not None:
            with suppress(OSError, RuntimeError):
                process.stdin.write(b"\n")
