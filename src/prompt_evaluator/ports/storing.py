"""What keeps a run while it is in progress: its store and its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from prompt_evaluator.errors import OwnershipLostError
    from prompt_evaluator.model import Preparation, RunProgress, RunRecord, RunStatus, TestCase, Unit
    from prompt_evaluator.model.result import CaseResult, RunResult


class Ledger(Protocol):
    """Stores a run while it is in progress."""

    def put(self, unit: Unit) -> None:
        """Accept a unit without waiting; it is durable a moment later. Raise `StoreError` if the store has failed."""

    def wait_for_capacity(self) -> Awaitable[None]:
        """Wait while too much is not yet durable."""

    def flush(self) -> Awaitable[None]:
        """Wait until everything put so far is durable."""

    def put_case(self, position: int, case: CaseResult, judges: Mapping[str, str]) -> None:
        """Accept the result of a case; it can be queried once the units put before it are durable.

        Args:
            position: Position among the cases of the run.
            case: The result so far; replaces any earlier one.
            judges: Maps score name to judge model. May grow during the run.
        """

    def close(self) -> None:
        """Return when everything is durable."""


class StoredCase(NamedTuple):
    """A case of a run and its position in the file, counted from 0 over the selected cases."""

    position: int
    case: TestCase


class Description(NamedTuple):
    """What people may change of a run at any time."""

    tags: dict[str, str]
    note: str | None


class Lease(Protocol):
    """A run that this process works on."""

    @property
    def is_held(self) -> bool:
        """Whether no other process can have taken the run, as from a process that was stopped for a while."""


class Store(Protocol):
    """The part of the store that executing a run needs.

    If another process has taken the run, methods that write to it raise `OwnershipLostError`.
    """

    def own(
        self, run_id: str, on_lost: Callable[[OwnershipLostError], None] | None = None
    ) -> AbstractContextManager[Lease]:
        """Be the only process working on this run, or raise `RunBusyError` naming the one that is.

        Args:
            run_id: The run.
            on_lost: Called, in another thread, when this process no longer owns the run, though it has not ended it.
        """

    def writer(
        self, run_id: str, *, flush_at: int = 16, on_commit: Callable[[float], None] | None = None
    ) -> Ledger: ...

    def start_run(self, run_id: str, started_at: str) -> None:
        """Mark the run as running since `started_at`, and clear the end time and reason of an earlier stop.

        A stop that was requested while the run was running before is forgotten.
        """

    def update_run(
        self,
        run_id: str,
        *,
        status: RunStatus,
        ended_at: str | None = None,
        stop_reason: str | None = None,
        summary: RunResult | None = None,
    ) -> None:
        """Set the run's status; its end time and stop reason are overwritten, even with None."""

    def save_progress(self, run_id: str, progress: RunProgress, summary: RunResult | None) -> str | None:
        """Store the run's progress for other processes to read. Return why the run is to stop, if it is."""

    def description(self, run_id: str) -> Description:
        """The tags and the note of a run as they are now; people may change them while it is in progress."""

    def cases(self, run_id: str, *, start: int = 0, limit: int = 256) -> list[StoredCase]:
        """Cases in file order, starting at a position."""

    def case_ids(self, run_id: str) -> Iterator[str]:
        """Ids of all cases, in file order."""

    def units(self, run_id: str, case_ids: Sequence[str]) -> dict[str, list[Unit]]:
        """Finished units of these cases, by case id."""

    def finished(self, names: Sequence[bytes]) -> dict[bytes, Unit]:
        """Successful units of any run with one of these names."""

    def prepared(self, names: Sequence[bytes]) -> dict[bytes, Unit]:
        """The same of preparations, which belong to no case."""

    def known_cases(self, run_id: str) -> int:
        """How many cases have any result, finished or not."""


class Files(Protocol):
    """A run's files, exported from the store. Methods raise `StoreError` if the files cannot be written."""

    async def save(self, position: int, result: CaseResult) -> None:
        """Save the result of a case so far. A finished case gets its own file, or a line if the run is very large."""

    def flush(self) -> None:
        """Return when all case files have been written. Nothing may be saved afterwards."""

    def write(self, record: RunRecord, result: RunResult | None, prepared: Sequence[Preparation] = ()) -> None:
        """Write the main file: the saved cases, and all others as pending. Publish the pack, if there is one."""

    def index(self, record: RunRecord, result: RunResult | None) -> None:
        """Update this run's entry in the index of all runs."""

    def close(self) -> None:
        """Release resources. Nothing may be written afterwards."""
