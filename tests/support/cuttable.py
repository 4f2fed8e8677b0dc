"""A way to a server that can be cut: telling both ends, or silently, as by a firewall or a pulled cable."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_ONCE = 1 << 16


class Cuttable:
    """Listens on loopback and passes everything on to the port that `target` names when a client connects."""

    def __init__(self, target: Callable[[], int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._is_silent = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """End all connections; both ends are told."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def silence(self) -> None:
        """Let nothing through any more, without telling anybody."""
        self._is_silent = True

    def heal(self) -> None:
        """End what was cut silently, and let new connections through."""
        self.cut()
        self._is_silent = False

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target()))
            except ConnectionError:
                client.close()
                continue
            except OSError:
                return
            with self._lock:
                self._pairs.append((client, server))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_AT_ONCE):
                if not self._is_silent:
                    sink.sendall(data)
        if not self._is_silent:  # otherwise even the end of the other side is not told
            for end in (source, sink):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        source.close()
