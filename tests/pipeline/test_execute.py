"""One sample: what somebody's code raises is that unit's failure, and what is known is not done again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from applied import plan, uses_of
from scoring import answer

from prompt_evaluator.errors import BudgetSpentError, CircuitOpenError, RateLimitedError, StoreError
from prompt_evaluator.model import Answer, MetricUse, Request, Scored, Secret, TestCase, Unit
from prompt_evaluator.pipeline.execute import Executor, Finished
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.preparing import Preparer
from prompt_evaluator.pipeline.scoring import Scorer

if TYPE_CHECKING:
    from prompt_evaluator.model import RunPlan

CASE = TestCase(id="a", input="How long should green tea steep?")
SHORT = MetricUse(metric="length", options={"max_words": 3})
NOTHING = Finished({}, {})


class Target:
    """A provider of somebody's own."""

    name = "own"
    structured_output = False

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

    def put(self, unit: Unit) -> None:
        self.units[unit.name] = unit

    async def wait_for_capacity(self) -> None: ...


def executor(target: Target, ledger: Kept, *, retry_errors: bool = False, of: RunPlan | None = None) -> Executor:
    made = of or plan(SHORT)

    def nobody(*_: Any) -> Any:
        pytest.fail("no judge is needed")

    return Executor(
        made,
        requests=RequestBuilder(made.target, "m"),
        generator=target,
        uses=uses_of(made),
        scorer=Scorer(nobody),
        preparer=Preparer(nobody, nobody, lambda _: None, ledger),
        ledger=ledger,
        now=lambda: "2026-01-01T00:00:00.000Z",
        retry_errors=retry_errors,
    )


async def test_whatever_a_provider_raises_is_the_failure_of_that_answer() -> None:
    Secret("canary-9876543210")
    ledger = Kept()

    units = await executor(Target(KeyError("canary-9876543210")), ledger).run(CASE, 0, NOTHING)

    generation = units.last.generation
    assert generation is not None
    assert generation.failure is not None
    assert generation.failure.kind == "KeyError"
    assert generation.failure.message == "KeyError: '[secret]'"
    assert units.status(["length"]) == "generation_error"
    (unit,) = ledger.units.values()
    assert not unit.ok


async def test_a_failure_that_is_on_record_is_not_run_into_again_unless_somebody_asks() -> None:
    ledger = Kept()
    await executor(Target(KeyError("x")), ledger).run(CASE, 0, NOTHING)
    target = Target("Three minutes.")

    again = await executor(target, Kept()).run(CASE, 0, Finished(dict(ledger.units), {}))
    retried = await executor(target, Kept(), retry_errors=True).run(CASE, 0, Finished(dict(ledger.units), {}))

    assert again.status(["length"]) == "generation_error"
    assert retried.status(["length"]) == "completed"
    assert len(target.asked) == 1


async def test_the_tries_of_a_failed_call_are_kept() -> None:
    error = RateLimitedError("no luck.", provider="own")
    error.tries = 4

    units = await executor(Target(error), Kept()).run(CASE, 0, NOTHING)

    generation = units.last.generation
    assert generation is not None
    assert generation.failure is not None
    assert (generation.failure.kind, generation.failure.message, generation.failure.tries) == (
        "RateLimitedError", "own: no luck.", 4
    )  # fmt: skip


@pytest.mark.parametrize(
    "error",
    [CircuitOpenError("stopped.", provider="own"), BudgetSpentError("spent"), StoreError("full")],
    ids=lambda error: type(error).__name__,
)
async def test_what_ends_the_whole_run_is_no_failure_of_one_answer(error: Exception) -> None:
    with pytest.raises(type(error)):
        await executor(Target(error), Kept()).run(CASE, 0, NOTHING)


async def test_attempts_end_with_the_first_answer_that_passes() -> None:
    target = Target("It steeps for three long minutes.", "For three whole minutes.", "Three minutes.", "never asked")
    patient = plan(SHORT)
    patient = msgspec.structs.replace(patient, target=msgspec.structs.replace(patient.target, attempts=5, seed=7))
    ledger = Kept()

    units = await executor(target, ledger, of=patient).run(CASE, 2, NOTHING)

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

    await executor(target, Kept(), of=patient).run(CASE, 0, NOTHING)

    assert len(target.asked) == 1


async def test_what_a_provider_returns_has_to_be_an_answer() -> None:
    class Odd(Target):
        async def complete(self, request: Request) -> Answer:  # noqa: ARG002 - the port's signature
            return "Three minutes."  # type: ignore[return-value]

    units = await executor(Odd(""), Kept()).run(CASE, 0, NOTHING)

    generation = units.last.generation
    assert generation is not None
    assert generation.failure is not None
    assert generation.failure.message == "TypeError: the provider returned str, not an Answer"


async def test_an_attempt_on_record_decides_whatever_a_retry_makes_of_the_earlier_one() -> None:
    patient = plan(SHORT)
    patient = msgspec.structs.replace(patient, target=msgspec.structs.replace(patient.target, attempts=3))
    ledger = Kept()
    await executor(Target("It steeps for three long minutes.", "Three minutes."), ledger, of=patient).run(
        CASE, 0, NOTHING
    )
    lenient = msgspec.structs.replace(patient, metrics=(MetricUse(metric="length", options={"max_words": 30}),))

    units = await executor(Target("never asked"), Kept(), of=lenient).run(CASE, 0, Finished(dict(ledger.units), {}))

    assert [attempt.answer.text for attempt in units.attempts if attempt.answer] == [
        "It steeps for three long minutes.",
        "Three minutes.",
    ]
