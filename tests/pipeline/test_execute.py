"""One sample: what somebody's code raises is that unit's failure, and what is known is not done again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from applied import plan, uses_of
from scoring import answer

from prompt_evaluator.errors import (
    BudgetSpentError,
    CircuitOpenError,
    PromptEvaluatorError,
    RateLimitedError,
    StoppedError,
    StoreError,
)
from prompt_evaluator.model import Answer, CallFailure, MetricUse, Request, Scored, Secret, TestCase, Unit
from prompt_evaluator.model.work import StopCause, WorkItem
from prompt_evaluator.pipeline.execute import Executor, Generators
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.preparing import Preparer
from prompt_evaluator.pipeline.samples import SampleUnits, gathered
from prompt_evaluator.pipeline.scoring import Scorer

if TYPE_CHECKING:
    from prompt_evaluator.model import RunPlan

CASE = TestCase(id="a", input="How long should green tea steep?")
SHORT = MetricUse(metric="length", options={"max_words": 3})


class Target:
    """A provider of somebody's own."""

    name = "own"

    def __init__(self, *outcomes: str | Exception) -> None:
        self._outcomes = list(outcomes)
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Answer:
        self.asked.append(request)
        outcome = self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return answer(outcome)

    async def close(self) -> None: ...


class Kept:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.units: dict[bytes, Unit] = {}

    def put(self, unit: Unit, done: object = None) -> None:  # noqa: ARG002 - the port's signature
        self.units[unit.name] = unit

    async def wait_for_capacity(self) -> None: ...


class Admitted:
    """Lets every sample begin, and remembers how many calls it was to take."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.under_way = 0

    async def start(self, calls: int) -> None:
        self.calls.append(calls)
        self.under_way += 1

    def end(self) -> None:
        self.under_way -= 1


async def run(parts: Executor, ledger: Kept, own: dict[bytes, Unit] | None = None, *, sample: int = 0) -> SampleUnits:
    """Finish a sample; what was there before and what was made now."""
    before = own or {}
    item = WorkItem(case=CASE, sample=sample, own=tuple(before.values()))
    end = await parts.worker(ledger).work(item)
    assert (end.case_id, end.sample, end.state) == (CASE.id, sample, "finished")
    return gathered((before | ledger.units).values())


def executor(
    target: Target,
    ledger: Kept | None = None,
    *,
    retry_errors: bool = False,
    of: RunPlan | None = None,
    admission: Admitted | None = None,
) -> Executor:
    made = of or plan(SHORT)

    def nobody(*_: Any) -> Any:
        pytest.fail("no judge is needed")

    return Executor(
        made,
        requests=RequestBuilder(made.target, "m"),
        generators=Generators(target, target),
        uses=uses_of(made),
        scorer=Scorer(nobody),
        preparer=Preparer(nobody, nobody, lambda _: None, ledger or Kept()),
        admission=admission or Admitted(),
        now=lambda: "2026-01-01T00:00:00.000Z",
        retry_errors=retry_errors,
    )


async def test_any_error_a_provider_raises_is_a_failure_of_that_answer() -> None:
    Secret("canary-9876543210")
    ledger = Kept()

    units = await run(executor(Target(KeyError("canary-9876543210"))), ledger)

    generation = units.last.generation
    assert generation is not None
    assert generation.failure is not None
    assert generation.failure.kind == "KeyError"
    assert generation.failure.message == "KeyError: '[secret]'"
    assert units.status(["length"]) == "generation_error"
    (unit,) = ledger.units.values()
    assert not unit.ok


async def test_a_stored_failure_is_not_retried_unless_asked_for() -> None:
    ledger = Kept()
    await run(executor(Target(KeyError("x"))), ledger)
    target = Target("Three minutes.")

    again = await run(executor(target), Kept(), ledger.units)
    retried = await run(executor(target, retry_errors=True), Kept(), ledger.units)

    assert again.status(["length"]) == "generation_error"
    assert retried.status(["length"]) == "completed"
    assert len(target.asked) == 1


async def test_the_tries_and_the_cost_of_a_failed_call_are_kept() -> None:
    error = RateLimitedError("no luck.", provider="own")
    error.tries, error.cost = 4, 0.25

    units = await run(executor(Target(error)), Kept())

    generation = units.last.generation
    assert generation is not None
    assert generation.failure is not None
    assert generation.failure == CallFailure(kind="RateLimitedError", message="own: no luck.", tries=4, cost=0.25)


async def test_what_a_failure_has_cost_is_still_known_when_it_was_asked_again() -> None:
    error = RateLimitedError("no luck.", provider="own")
    error.cost = 0.25
    ledger = Kept()
    for target in (Target(error), Target(error), Target("Three minutes.")):
        units = await run(executor(target, retry_errors=True), ledger, dict(ledger.units))

    assert units.status(["length"]) == "completed"
    assert units.last.generation is not None
    assert units.last.generation.failed_cost == 0.5


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (
            CircuitOpenError("stopped.", provider="own"),
            StopCause(kind="CircuitOpenError", message="own: stopped.", provider="own"),
        ),
        (BudgetSpentError("spent"), StopCause(kind="BudgetSpentError", message="spent")),
        (StoppedError("stopping"), None),
    ],
    ids=lambda given: type(given).__name__,
)
async def test_an_error_that_ends_the_run_is_not_a_failure_of_one_answer(
    error: PromptEvaluatorError, cause: StopCause | None
) -> None:
    ledger = Kept()
    error.cost, error.time_outs = 0.25, 2

    end = await executor(Target(error)).worker(ledger).work(WorkItem(case=CASE, sample=0))

    assert (end.state, end.cause) == ("stopped", cause)
    assert (end.cost, end.time_outs) == (0.25, 2)
    assert not ledger.units


async def test_a_store_that_fails_is_raised_to_the_engine() -> None:
    with pytest.raises(StoreError, match="full"):
        await executor(Target(StoreError("full"))).worker(Kept()).work(WorkItem(case=CASE, sample=0))


async def test_an_answer_is_kept_but_not_scored_once_nothing_more_may_be_begun() -> None:
    class Ending(Kept):
        async def wait_for_capacity(self) -> None:
            if self.units:
                raise StoppedError("The run may be another process's by now.")

    ledger, target = Ending(), Target("three minutes")
    end = await executor(target, ledger).worker(ledger).work(WorkItem(case=CASE, sample=0))

    assert (end.state, end.cause) == ("stopped", None)
    assert [unit.kind for unit in ledger.units.values()] == ["generation"]


async def test_an_item_may_end_with_its_answer_and_be_finished_by_another_worker() -> None:
    first, second, target = Kept(), Kept(), Target("Three minutes.")

    end = await executor(target).worker(first).work(WorkItem(case=CASE, sample=0, until="answer"))
    nobody = executor(Target(KeyError("asked twice")))
    later = await nobody.worker(second).work(WorkItem(case=CASE, sample=0, own=tuple(first.units.values())))

    assert (end.state, later.state) == ("answered", "finished")
    assert [unit.kind for unit in first.units.values()] == ["generation"]
    assert [unit.kind for unit in second.units.values()] == ["judgement"]
    assert gathered((first.units | second.units).values()).status(["length"]) == "completed"
    assert len(target.asked) == 1


async def test_an_item_that_should_end_with_its_answer_is_finished_if_there_is_none() -> None:
    end = await executor(Target(KeyError("x"))).worker(Kept()).work(WorkItem(case=CASE, sample=0, until="answer"))

    assert end.state == "finished"


async def test_a_sample_is_admitted_once_with_all_its_calls_and_leaves_however_it_ends() -> None:
    admission = Admitted()
    of = plan(SHORT)

    await run(executor(Target("Three minutes."), of=of, admission=admission), Kept())
    await run(executor(Target(KeyError("x")), of=of, admission=admission), Kept())
    await (
        executor(Target(BudgetSpentError("spent")), admission=admission)
        .worker(Kept())
        .work(WorkItem(case=CASE, sample=0))
    )

    assert (admission.calls, admission.under_way) == ([1, 1, 1], 0)


async def test_a_sample_that_needs_no_call_asks_for_no_admission() -> None:
    ledger, admission = Kept(), Admitted()
    await run(executor(Target("Three minutes.")), ledger)

    await run(executor(Target("never asked"), admission=admission), Kept(), ledger.units)

    assert not admission.calls


async def test_attempts_end_with_the_first_answer_that_passes() -> None:
    target = Target("It steeps for three long minutes.", "For three whole minutes.", "Three minutes.", "never asked")
    patient = plan(SHORT)
    patient = msgspec.structs.replace(patient, target=msgspec.structs.replace(patient.target, attempts=5, seed=7))
    ledger = Kept()

    units = await run(executor(target, of=patient), ledger, sample=2)

    assert [request.attempt for request in target.asked] == [0, 1, 2]
    assert [request.seed for request in target.asked] == [9, 10_009, 20_009]
    assert [attempt.missed() for attempt in units.attempts] == [["length"], ["length"], []]
    assert units.last.judgements["length", 0].scores == {"length": Scored(1.0, "", {"words": 2, "characters": 14})}
    kinds = sorted((unit.kind, unit.attempt) for unit in ledger.units.values())
    assert kinds == [*(("generation", at) for at in range(3)), *(("judgement", at) for at in range(3))]


async def test_an_answer_that_never_came_is_not_asked_for_again_as_another_attempt() -> None:
    target = Target(KeyError("x"))
    patient = plan(SHORT)
    patient = msgspec.structs.replace(patient, target=msgspec.structs.replace(patient.target, attempts=5))

    await run(executor(target, of=patient), Kept())

    assert len(target.asked) == 1


async def test_a_provider_has_to_return_an_answer() -> None:
    class Odd(Target):
        async def complete(self, request: Request) -> Answer:  # noqa: ARG002 - the port's signature
            return "Three minutes."  # type: ignore[return-value]

    units = await run(executor(Odd("")), Kept())

    generation = units.last.generation
    assert generation is not None
    assert generation.failure is not None
    assert generation.failure.message == "TypeError: the provider returned str, not an Answer"


async def test_a_stored_attempt_counts_even_if_a_retry_changes_an_earlier_one() -> None:
    patient = plan(SHORT)
    patient = msgspec.structs.replace(patient, target=msgspec.structs.replace(patient.target, attempts=3))
    ledger = Kept()
    await run(executor(Target("It steeps for three long minutes.", "Three minutes."), of=patient), ledger)
    lenient = msgspec.structs.replace(patient, metrics=(MetricUse(metric="length", options={"max_words": 30}),))

    units = await run(executor(Target("never asked"), of=lenient), Kept(), ledger.units)

    assert [attempt.answer.text for attempt in units.attempts if attempt.answer] == [
        "It steeps for three long minutes.",
        "Three minutes.",
    ]
