"""Keeps an owner that was stopped from writing to a run that another process has taken since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text

from prompt_evaluator.errors import OwnershipLostError
from prompt_evaluator.store.texts import storable

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from prompt_evaluator.store.ownership import Held

_IDLE = "10000"
"""Milliseconds after which the server ends a transaction whose process was stopped: others may wait for it."""
_LIMIT = text("SELECT set_config('idle_in_transaction_session_timeout', :idle, true)")
_RAISE = text("UPDATE runs SET owner_epoch = owner_epoch + 1 WHERE run_id = :run_id RETURNING owner_epoch")
_CHECK = """
    SELECT owner_epoch, set_config('idle_in_transaction_session_timeout', :idle, true)
    FROM runs WHERE run_id = :run_id FOR {lock}
"""
_SHARED = text(_CHECK.format(lock="SHARE"))
_ALONE = text(_CHECK.format(lock="NO KEY UPDATE"))  # a transaction that would begin with SHARE could deadlock


def limit_idling(connection: Connection) -> None:
    """Let the server end this transaction if its process is stopped, so that nobody waits for its locks for long."""
    if connection.dialect.name == "postgresql":
        connection.execute(_LIMIT, {"idle": _IDLE})


def raise_epoch(connection: Connection, run_id: str) -> int | None:
    """Become the newest owner, once earlier ones have ended their transactions. None if there is no such run."""
    if storable(run_id) != run_id:
        return None
    epoch: int | None = connection.scalar(_RAISE, {"run_id": run_id})
    return epoch


def check_owner(connection: Connection, lease: Held | None, *, shared: bool = False) -> None:
    """Raise `OwnershipLostError` if the run has a newer owner; otherwise there is none until the transaction ends.

    Args:
        connection: In a transaction, at its start.
        lease: The run, if this process owns it.
        shared: Whether the transaction leaves the run's own row as it is.
    """
    if lease is None or lease.epoch is None:
        return
    values = {"run_id": lease.run_id, "idle": _IDLE}
    row = connection.execute(_SHARED if shared else _ALONE, values).first()
    if row is None or row.owner_epoch != lease.epoch:
        raise OwnershipLostError(
            f"Run {lease.run_id} was taken by another process while this one was stopped or cut off from the store. "
            "What this one had committed before is kept; it writes nothing more. Watch the run, or resume it once "
            "the other process has ended."
        )
