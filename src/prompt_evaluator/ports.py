"""What the rooms promise each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

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
    from prompt_evaluator.model.result import CaseResult, RunResult
    from prompt_evaluator.model.work import ItemEnd, WorkItem

    MakeWorker = Callable[["UnitSink"], "Worker"]
    """Makes a worker that hands over what it finishes there. In another process it is made there."""


class Provider(Protocol):
    """Turns a request into an answer in one try. Whoever calls it brings limits, retries, budget and accounting.

    It may also have `check(model)` and `fingerprint(model)`, and attributes that say more about it: see
    `providers/calls/traits.py`.
    """

    @property
    def name(self) -> str:
        """What stands before the slash of a model's name."""

    @property
    def structured_output(self) -> bool:
        """Whether `response_schema` is a promise of the service, not a wish."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - it knows best how to give up
        """One try, within so many seconds. Raise a `ProviderError` when there is no answer.

        May be called many times at once. Cancelling it takes effect at once and leaves nothing behind.
        """

    async def close(self) -> None:
        """Let go of connections and processes. No call may be under way or follow."""


class ModelClient(Protocol):
    """A provider behind its limits, retries, budget and accounting."""

    @property
    def name(self) -> str:
        """What stands before the slash of a model's name."""

    @property
    def structured_output(self) -> bool:
        """Whether `response_schema` is a promise of the service, not a wish."""

    async def complete(self, request: Request) -> Answer:
        """Raise a `ProviderError` when there is no answer after all tries; it concerns this call alone.

        Raises:
            BudgetSpentError: The run may not pay for the call.
            StoppedError: The run is being stopped, and the call can wait for another day.
        """


class Admission(Protocol):
    """Lets samples begin only when what they are expected to take can be paid for, so that each is also judged.

    `start` and `end` belong around all calls of one sample, in the task that makes them.
    """

    async def start(self, calls: int) -> None:
        """Wait until a sample may begin that is expected to take so many calls, and set them aside for it.

        Args:
            calls: Calls that are still to be made: 0 for a sample of which everything is there.

        Raises:
            BudgetSpentError: It does not fit into what is left, and nothing is under way that may give something back.
            StoppedError: The run is being stopped.
        """

    def end(self) -> None:
        """Give back what the sample did not use, whatever came of it."""


class JudgeClient(Protocol):
    """A judge that metrics may question: which model it is and how it is asked is decided elsewhere."""

    async def ask(
        self,
        messages: tuple[Message, ...],
        *,
        schema: dict[str, Any] | None = None,
        top_logprobs: int | None = None,
        sample: int = 0,
    ) -> Answer:
        """One reply. Raise `ProviderError`, and nothing else, when there is none."""


class Metric(Protocol):
    """Turns a case and an answer into a score with a reason; a rubric into several scores."""

    @property
    def name(self) -> str:
        """Its own name; a use of it may have another."""

    @property
    def needs_judge(self) -> bool: ...

    @property
    def threshold(self) -> float:
        """An answer passes at or above this score."""

    def definition(self) -> dict[str, Any]:
        """Everything about the metric that decides a score: with the answer and the judge, it names the unit.

        The threshold is no part of it: it says what a score means, not what it is.
        """

    def missing(self, case: TestCase) -> str | None:
        """What the case lacks, in words, so that any answer to it would be skipped; None when it can be scored."""

    async def prepared(self, judge: JudgeClient | None) -> Metric:
        """The metric made ready, such as with evaluation steps that the judge writes once; often itself."""

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score | Scores:
        """Never raises for what the case, the answer or the judge is like: that is `Skipped` or `Failed`."""


class UnitSink(Protocol):
    """Where finished units go."""

    def put(self, unit: Unit, done: Generation | Judgement | None = None) -> None:
        """Take a unit at once; it is durable a moment later. Raise `StoreError` when nothing more can be kept.

        Args:
            unit: What was finished.
            done: What its data say, where that is at hand: it spares reading them.
        """

    def wait_for_capacity(self) -> Awaitable[None]:
        """Wait while too much is not yet durable."""


class Ledger(Protocol):
    """Where a run is kept while it goes on."""

    def put(self, unit: Unit) -> None:
        """Take a unit at once; it is durable a moment later. Raise `StoreError` when nothing more can be kept."""

    def wait_for_capacity(self) -> Awaitable[None]:
        """Wait while too much is not yet durable."""

    def put_case(self, position: int, case: CaseResult, judges: Mapping[str, str]) -> None:
        """Take what a case comes to; it is there for questions once the units put before are durable.

        Args:
            position: Its place among the cases of the run.
            case: What is known of it; what was known before is replaced.
            judges: By score, the model of the judge that gave it. May grow while the run goes on.
        """

    def close(self) -> None:
        """Return when everything is durable."""


class Worker(Protocol):
    """Makes one sample at a time, from question to scores."""

    async def work(self, item: WorkItem) -> ItemEnd:
        """Finish an item. Raises only when nothing more can be kept; may be called many times at once."""


class Items(Protocol):
    """What there is to do."""

    async def next(self) -> WorkItem | None:
        """The next item; None when there are no more. May be called many times at once."""


class Results(UnitSink, Protocol):
    """What an engine tells of the items it works on."""

    def began(self, case_id: str, sample: int) -> None: ...

    async def ended(self, end: ItemEnd) -> None:
        """All units of the item were put before."""


class Engine(Protocol):
    """Where items are worked on: this process, or many. Used for one run, once."""

    async def run(self, items: Items, make_worker: MakeWorker, results: Results) -> None:
        """Work on items until there are no more or it is stopped; raise what a worker raises."""

    def stop(self, drain_seconds: float | None) -> None:
        """Take no more items; what is under way has so long to finish, or as long as it takes."""


class StoredCase(NamedTuple):
    """A case of a run and its place in the file, counted from 0 over the selected cases."""

    position: int
    case: TestCase


class Store(Protocol):
    """Where runs live, as far as carrying them out goes."""

    def own(self, run_id: str) -> AbstractContextManager[None]:
        """Be the one process that works on this run, or raise `RunBusyError`, which says who does."""

    def writer(
        self, run_id: str, *, flush_at: int = 16, on_commit: Callable[[float], None] | None = None
    ) -> Ledger: ...

    def start_run(self, run_id: str, started_at: str) -> None:
        """Say that the run is being worked on, and since when it has been begun; the end of an earlier stop is gone."""

    def update_run(
        self,
        run_id: str,
        *,
        status: RunStatus,
        ended_at: str | None = None,
        stop_reason: str | None = None,
        summary: RunResult | None = None,
    ) -> None:
        """Say how the run stands; the end and the reason of an earlier stop are replaced, also by nothing."""

    def save_progress(self, run_id: str, progress: RunProgress, summary: RunResult | None) -> None:
        """Keep how far the run is, for other processes."""

    def cases(self, run_id: str, *, start: int = 0, limit: int = 256) -> list[StoredCase]:
        """Cases in file order, from a position on."""

    def case_ids(self, run_id: str) -> Iterator[str]:
        """Of all cases, in file order."""

    def units(self, run_id: str, case_ids: Sequence[str]) -> dict[str, list[Unit]]:
        """What is finished of these cases."""

    def finished(self, names: Sequence[bytes]) -> dict[bytes, Unit]:
        """Units of any run that are ok and have one of these names."""

    def known_cases(self, run_id: str) -> int:
        """Of how many cases anything is known, be they finished or not."""


class Files(Protocol):
    """A run's files, exports of what the store has. Raises `StoreError` when they cannot be written."""

    async def save(self, position: int, result: CaseResult) -> None:
        """Take what is known of a case; a finished one has a file of its own, or a line where there are very many."""

    def flush(self) -> None:
        """Return when every case that has a file of its own is there. None is saved afterwards."""

    def write(self, record: RunRecord, result: RunResult | None, prepared: Sequence[Preparation] = ()) -> None:
        """Write the main file: what was saved, and of all other cases that they are pending. Show what is packed."""

    def index(self, record: RunRecord, result: RunResult | None) -> None:
        """Say in the index of all runs how this one stands."""

    def close(self) -> None:
        """Nothing more will be written."""


class Filler(Protocol):
    """Makes the results of one run again from what the store has of it."""

    def add(self, cases: Sequence[TestCase], units: Mapping[str, Sequence[Unit]]) -> Sequence[CaseResult]:
        """The results of some cases, in their order. Cases come in file order; `units` are theirs, by case id."""

    @property
    def judges(self) -> Mapping[str, str]:
        """By score, the model of the judge that gave it; as far as the cases that were added tell."""

    def result(self) -> RunResult:
        """What the run comes to, once all cases were added."""


class Fill(Protocol):
    """What fills the result rows of a store that was made without them."""

    def __call__(self, record: RunRecord, prepared: Sequence[Unit]) -> Filler:
        """Begin with a run; `prepared` are its units that are about no case."""
