"""Protocols between the packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from prompt_evaluator.errors import OwnershipLostError
    from prompt_evaluator.model import (
        Answer,
        Generation,
        Judgement,
        Message,
        Preparation,
        Request,
        RunProgress,
        RunRecord,
        RunStatus,
        Score,
        Scores,
        TestCase,
        Unit,
    )
    from prompt_evaluator.model.comparison import ComparedAnswer, ComparedCase, RunFacts
    from prompt_evaluator.model.result import CaseResult, RunResult
    from prompt_evaluator.model.work import ItemEnd, WorkerSource, WorkItem

    MakeWorker = Callable[["UnitSink"], "Worker"]
    """Makes a worker in this process, which puts finished units into the sink."""
    Tell = Callable[[bytes], None]
    """Sends a note without waiting."""
    MakeRemote = Callable[[WorkerSource, "UnitSink", Tell], "RemoteWorker"]
    """Makes a worker in another process; it may send notes to its desk."""


class Provider(Protocol):
    """Turns a request into an answer in one try. Limits, retries, budget and accounting are up to the caller.

    A provider may also have `check(model)`, `fingerprint(model)` and attributes that describe it: see
    `providers/calls/traits.py`.
    """

    @property
    def name(self) -> str:
        """The part before the slash in a model's name."""

    @property
    def structured_output(self) -> bool:
        """Whether the service guarantees `response_schema` instead of treating it as a hint."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - it knows best how to give up
        """Try once, for at most `timeout` seconds. Raise a `ProviderError` if there is no answer.

        May be called concurrently. Cancelling takes effect immediately and leaves nothing behind.
        """

    async def close(self) -> None:
        """Release connections and processes. No call may be in flight or follow."""


class ModelClient(Protocol):
    """A provider behind its limits, retries, budget and accounting."""

    @property
    def name(self) -> str:
        """The part before the slash in a model's name."""

    @property
    def structured_output(self) -> bool:
        """Whether the service guarantees `response_schema` instead of treating it as a hint."""

    async def complete(self, request: Request) -> Answer:
        """Raise a `ProviderError` if there is no answer after all tries; it concerns this call alone.

        Raises:
            BudgetSpentError: The run's budget does not cover the call.
            StoppedError: The run is stopping, and the call can wait until it is resumed.
        """


class Admission(Protocol):
    """Lets a sample start only if the budget covers all its expected calls, so that every answer is also judged.

    Call `start` before and `end` after all calls of one sample, in the task that makes them.
    """

    async def start(self, calls: int) -> None:
        """Wait until the budget covers a sample's calls, then reserve them.

        Args:
            calls: Calls still to be made; 0 for a sample that is already complete.

        Raises:
            BudgetSpentError: The calls exceed the remaining budget, and no sample in progress can free any.
            StoppedError: The run is stopping.
        """

    def end(self) -> None:
        """Return what the sample did not use, whatever its outcome."""


class SharedLimits(Protocol):
    """Rate limits that processes with one store keep together.

    A limit is a line of time: a process takes the next piece of it, as long as its calls take at the rate.
    Methods may be called from any thread, wait for the database, and raise `StoreError` if it cannot be reached.
    """

    def salt(self) -> bytes:
        """A random value, the same for all processes, to make a digest of a key with."""

    def reserve(self, key: str, kind: str, seconds: float, slack: float) -> float:
        """Take the next `seconds` of a limit's time; a negative number gives some back.

        Args:
            key: A digest of the key.
            kind: What is limited, such as `requests`.
            seconds: The amount divided by the rate.
            slack: How many of the last seconds may still be taken, if nobody did.

        Returns:
            In how many seconds the piece begins; negative if it has begun.
        """

    def hold(self, key: str, seconds: float) -> None:
        """Let nobody call with this key for so long, because the service has refused calls."""

    def held(self, keys: Sequence[str]) -> dict[str, float]:
        """For how many seconds more nobody may call, by key; only keys that are held."""


class Grant(NamedTuple):
    """What a budget gives."""

    amount: float
    """US dollars; less than was asked for if no more is left."""
    spent: float
    """What has been spent or reserved by all, with this."""


class SharedBudgets(Protocol):
    """Budgets that processes with one store keep together; used as `SharedLimits`."""

    def spend(self, period: str, amount: float, most: float) -> Grant:
        """Take up to `amount` of what is left of the budget `most` of a period, such as `day 2026-01-31`."""

    def correct_spending(self, period: str, difference: float) -> None:
        """Add to what was spent, or take back what was reserved and not spent."""

    def spending(self, period: str) -> float:
        """What was spent of a budget or is reserved."""


class JudgeClient(Protocol):
    """A judge for metrics to ask. Its model and parameters are decided elsewhere."""

    async def ask(
        self,
        messages: tuple[Message, ...],
        *,
        schema: dict[str, Any] | None = None,
        top_logprobs: int | None = None,
        sample: int = 0,
    ) -> Answer:
        """Return one reply. Raise `ProviderError`, and nothing else, if there is none."""


class Metric(Protocol):
    """Turns a case and an answer into a score with a reason; a rubric gives several scores."""

    @property
    def name(self) -> str:
        """The metric's own name; a `MetricUse` may rename it."""

    @property
    def needs_judge(self) -> bool: ...

    @property
    def threshold(self) -> float:
        """An answer passes at or above this score."""

    def definition(self) -> dict[str, Any]:
        """Everything about the metric that determines a score.

        Together with the answer and the judge, it names the unit. Leaves out the threshold, which decides what a score
        means, not what it is.
        """

    def missing(self, case: TestCase) -> str | None:
        """Say what the case lacks, so that any answer to it is skipped; None if it can be scored."""

    async def prepared(self, judge: JudgeClient | None) -> Metric:
        """Return the metric ready for use, such as with evaluation steps that the judge writes once; often itself."""

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score | Scores:
        """Never raise because of the case, the answer or the judge: return `Skipped` or `Failed`."""


class UnitSink(Protocol):
    """Where finished units go."""

    def put(self, unit: Unit, done: Generation | Judgement | None = None) -> None:
        """Accept a unit without waiting; it is durable a moment later. Raise `StoreError` if the store has failed.

        Args:
            unit: What was finished.
            done: Its decoded data if the caller has it, to save decoding it again.
        """

    def wait_for_capacity(self) -> Awaitable[None]:
        """Wait while too much is not yet durable."""


class Ledger(Protocol):
    """Stores a run while it is in progress."""

    def put(self, unit: Unit) -> None:
        """Accept a unit without waiting; it is durable a moment later. Raise `StoreError` if the store has failed."""

    def wait_for_capacity(self) -> Awaitable[None]:
        """Wait while too much is not yet durable."""

    def put_case(self, position: int, case: CaseResult, judges: Mapping[str, str]) -> None:
        """Accept the result of a case; it can be queried once the units put before it are durable.

        Args:
            position: Position among the cases of the run.
            case: The result so far; replaces any earlier one.
            judges: Maps score name to judge model. May grow during the run.
        """

    def close(self) -> None:
        """Return when everything is durable."""


class Worker(Protocol):
    """Makes one sample at a time, from question to scores."""

    async def work(self, item: WorkItem) -> ItemEnd:
        """Finish an item. Raise only if the store has failed. May be called concurrently."""


class RemoteWorker(Worker, Protocol):
    """A worker in another process than the driver."""

    def heard(self, note: bytes) -> None:
        """Receive a note from the desk."""

    def stop(self) -> None:
        """Start nothing new."""

    async def close(self) -> None:
        """Release everything. No item may be in progress."""


class Desk(Protocol):
    """What the workers of a run share: it stays with the driver, and workers and desk send each other notes.

    An engine delivers the notes of a worker in order, and not before the units that were put earlier.
    """

    def joined(self, worker: int, tell: Tell) -> None:
        """A worker is about to start; numbers are not used again."""

    def heard(self, worker: int, note: bytes) -> None:
        """Receive a note from a worker."""

    def left(self, worker: int) -> None:
        """A worker has ended or died; no note can be sent to it any more."""


class Items(Protocol):
    """The work to do."""

    async def next(self) -> WorkItem | None:
        """Return the next item, or None when there are no more. May be called concurrently."""


class Results(UnitSink, Protocol):
    """Receives an engine's reports about the items it works on."""

    def began(self, case_id: str, sample: int) -> None: ...

    async def ended(self, end: ItemEnd) -> None:
        """Record the end of an item, all of whose units have been put."""


class Engine(Protocol):
    """Works on items, in this process or in many. Used for one run, once."""

    async def run(self, items: Items, make_worker: MakeWorker, results: Results) -> None:
        """Work on items until there are no more or `stop` is called; raise what a worker raises."""

    def stop(self, drain_seconds: float | None) -> None:
        """Take no more items; give those in progress this long to finish, or unlimited time if None."""


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


class ComparedRun(Protocol):
    """A run to be compared: a stored one, or a file."""

    @property
    def facts(self) -> RunFacts: ...

    def case_ids(self) -> Iterator[str]:
        """Ids of all cases, in file order."""

    def batches(self) -> Iterator[Sequence[ComparedCase]]:
        """All cases in file order, some hundred at a time."""

    def find(self, case_ids: Sequence[str]) -> dict[str, ComparedCase]:
        """Those of these cases that the run has."""

    def answers(self, case_id: str) -> Sequence[ComparedAnswer]:
        """All samples of a case, in order; empty if unknown."""

    def input(self, case_id: str) -> str | None:
        """The input of a case, if it is known."""


class Filler(Protocol):
    """Rebuilds the results of one run from its stored units."""

    def add(self, cases: Sequence[TestCase], units: Mapping[str, Sequence[Unit]]) -> Sequence[CaseResult]:
        """Return the results of some cases, in order. Cases come in file order; `units` maps case id to units."""

    @property
    def judges(self) -> Mapping[str, str]:
        """Maps score name to judge model, for the cases added so far."""

    def result(self) -> RunResult:
        """Return the result of the run, once all cases have been added."""


class Fill(Protocol):
    """Fills the result rows of a store that was created without them."""

    def __call__(self, record: RunRecord, prepared: Sequence[Unit]) -> Filler:
        """Begin a run; `prepared` are its units that belong to no case."""
