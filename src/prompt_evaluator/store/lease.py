"""Keeps the session alive that holds a run on a PostgreSQL server, and notices when it is gone.

The session is the lease: the server ends it if the owner has been silent for `SECONDS`, and releases the run with it.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from psycopg import OperationalError
from psycopg.pq import ConnStatus, ExecStatus

from prompt_evaluator.errors import OwnershipLostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg import Connection
    from psycopg.errors import Diagnostic

SECONDS = 10.0
"""The server ends the session of an owner that has been silent for this long."""
_EVERY = 1.0
"""Seconds between signs of life. A process that holds the GIL for longer than `SECONDS` less this loses its runs."""
_UNANSWERED = 8.0
"""Seconds without an answer after which the owner gives up, just before the server does."""
_PARTING = 1.0
"""Seconds to wait for the last answer when the run is released."""
_GLANCE = 0.25
_BOOT_TIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SessionLease:
    """A run held by a session. `end` stops keeping it; the session is the caller's again."""

    def __init__(
        self,
        run_id: str,
        epoch: int | None,
        connection: Connection[Any],
        on_lost: Callable[[OwnershipLostError], None] | None,
    ) -> None:
        """Start a thread that keeps the session; nobody else may use it until `end`.

        Args:
            run_id: The run, for messages.
            epoch: How many owners the run has had, this one included; None if there is no such run.
            connection: An idle session that holds the lock.
            on_lost: Called in the thread, once, if the session is gone.
        """
        self.run_id, self.epoch = run_id, epoch
        self._session, self._on_lost = connection.pgconn, on_lost
        self._last_words = ""
        connection.add_notice_handler(self._hear)
        self._confirmed = _now()
        self._is_lost = self._ending = False
        self._ear, self._bell = socket.socketpair()
        self._thread = threading.Thread(target=self._keep, name=f"lease of {run_id}", daemon=True)
        self._thread.start()

    @property
    def is_held(self) -> bool:
        """Whether no other process can have taken the run. A process that was stopped sees at once that it may have."""
        return not self._is_lost and _now() - self._confirmed < SECONDS

    def end(self) -> bool:
        """Stop keeping the session. Return whether it is still there."""
        self._ending = True
        self._bell.send(b".")
        self._thread.join()
        self._ear.close()
        self._bell.close()
        return not self._is_lost

    def _keep(self) -> None:
        try:
            with selectors.DefaultSelector() as both, selectors.DefaultSelector() as session:
                for selector in (both, session):
                    selector.register(self._session.socket, selectors.EVENT_READ)
                both.register(self._ear, selectors.EVENT_READ)
                while not self._ending:
                    if not both.select(_EVERY):
                        self._ping(session)
                    elif not self._ending:
                        self._listen()
        except (OperationalError, OSError) as error:
            self._lose(self._last_words or str(error))

    def _listen(self) -> None:
        """Read what the server says unasked: usually why it ends the session."""
        try:
            self._session.consume_input()
        finally:
            self._session.is_busy()  # parses what was read, so that `_hear` is called
        if self._session.status != ConnStatus.OK:
            raise OperationalError(self._session.error_message.decode(errors="replace"))

    def _hear(self, said: Diagnostic) -> None:
        self._last_words = said.message_primary or ""

    def _ping(self, answer: selectors.BaseSelector) -> None:
        asked_at = _now()
        self._session.send_query(b"SELECT 1")
        self._session.flush()
        while self._session.is_busy():
            patience = _PARTING if self._ending else _UNANSWERED
            if _now() - asked_at > patience:
                raise OperationalError(f"the server has not answered for {patience:g} s")
            if answer.select(_GLANCE):
                self._session.consume_input()
        while (result := self._session.get_result()) is not None:
            if result.status != ExecStatus.TUPLES_OK:
                raise OperationalError(result.error_message.decode(errors="replace"))
        self._confirmed = asked_at

    def _lose(self, reason: str) -> None:
        self._is_lost = True
        if self._on_lost is not None and not self._ending:
            self._on_lost(lost(self.run_id, reason))


def lost(run_id: str, reason: str) -> OwnershipLostError:
    said = " ".join(reason.split()).rstrip(".")
    return OwnershipLostError(
        f"This process no longer holds run {run_id}, because its session on the server has ended: {said}. The run was "
        "stopped; everything committed is safe, and it can be resumed."
    )


def _now() -> float:
    """Seconds that go on while the process is stopped or the machine sleeps."""
    return time.clock_gettime(_BOOT_TIME)
