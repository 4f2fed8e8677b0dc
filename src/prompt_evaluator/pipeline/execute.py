"""Runs one sample, from request to scores: uses finished units, makes missing ones and passes them on."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import msgspec

from prompt_evaluator.errors import BadReplyError, BudgetSpentError, CircuitOpenError, ProviderError, StoppedError
from prompt_evaluator.model import UNREADABLE, Answer, CallFailure, Generation, Judgement, Unit, UnitKind
from prompt_evaluator.model.work import ItemEnd, StopCause
from prompt_evaluator.pipeline.naming import generation_name
from prompt_evaluator.pipeline.samples import Attempt
from prompt_evaluator.pipeline.scoring import ENDS_THE_RUN, Replies, ends_the_run, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prompt_evaluator.model import Request, RunPlan, TestCase
    from prompt_evaluator.model.work import WorkItem
    from prompt_evaluator.pipeline.messages import RequestBuilder
    from prompt_evaluator.pipeline.preparing import Preparer
    from prompt_evaluator.pipeline.scoring import Scorer
    from prompt_evaluator.pipeline.uses import AppliedMetric, Uses
    from prompt_evaluator.ports import Admission, ModelClient, UnitSink

T = TypeVar("T", Generation, Judgement)

_encode = msgspec.json.Encoder().encode
_generation = msgspec.json.Decoder(Generation).decode
_judgement = msgspec.json.Decoder(Judgement).decode
_NO_RIVALS: Mapping[int, Answer] = MappingProxyType({})


class Generators(NamedTuple):
    """Clients for answers: a first attempt waits for its turn, a further one belongs to a sample in progress."""

    first: ModelClient
    further: ModelClient


class _UnitKey(msgspec.Struct, frozen=True, gc=False):
    case_id: str
    name: bytes
    kind: UnitKind
    sample: int
    attempt: int
    repeat: int = 0


class Executor:
    """Everything needed to run the samples of one run and to name their units."""

    def __init__(  # noqa: PLR0913 - the parts of a run, put together in one place
        self,
        plan: RunPlan,
        *,
        requests: RequestBuilder,
        generators: Generators | None,
        uses: Uses,
        scorer: Scorer,
        preparer: Preparer,
        admission: Admission,
        now: Callable[[], str],
        retry_errors: bool = False,
    ) -> None:
        """Store the parts. Without generators, only answers of another run are judged."""
        self.plan, self.requests, self.generators = plan, requests, generators
        self.uses, self.scorer, self.preparer = uses, scorer, preparer
        self.admission, self.now, self.retry_errors = admission, now, retry_errors

    def worker(self, out: UnitSink) -> SampleWorker:
        return SampleWorker(self, out)

    async def prepare(self) -> None:
        """Prepare the run's own metrics before anything else is paid for.

        Raises:
            ProviderError: The judge did not write what a metric needs.
        """
        for applied in self.uses.common():
            try:
                await self.preparer.ready(applied)
            except (ProviderError, *ENDS_THE_RUN):
                raise
            except Exception:  # noqa: BLE001, S112 - user code; each of its judgements will report this
                continue

    def answer_names(self, case: TestCase) -> dict[bytes, tuple[int, int]]:
        """Names of the answers to a case, mapped to sample and attempt."""
        plan = self.plan
        return {
            generation_name(plan, self.requests.request(case, sample, attempt)): (sample, attempt)
            for sample in range(plan.num_samples)
            for attempt in range(plan.target.attempts)
        }

    def judgement_names(
        self,
        case: TestCase,
        answers: Iterable[tuple[tuple[int, int], Unit]],
        rivals: Mapping[int, Answer] = _NO_RIVALS,
    ) -> dict[bytes, tuple[int, int]]:
        """Names of the judgements of these answers, mapped to sample and attempt. Makes no calls."""
        ready = [self.preparer.known(applied) for applied in self.uses.of(case)]
        known = ((place, _generation(unit.data).answer) for place, unit in answers)
        return {
            name: place
            for place, answer in known
            if answer is not None
            for applied in ready
            for name in self.for_sample(applied, rivals.get(place[0])).names(case, answer, *place)
        }

    def for_sample(self, applied: AppliedMetric, rival: Answer | None) -> AppliedMetric:
        """The metric as applied to one sample; in a pairwise comparison, with the answer to compare with."""
        return applied if self.plan.baseline_run_id is None else applied.against(rival)


class SampleWorker:
    """Runs samples and passes on each unit as soon as it is finished."""

    def __init__(self, parts: Executor, out: UnitSink) -> None:
        self._parts, self._out = parts, out

    async def work(self, item: WorkItem) -> ItemEnd:
        """Run an item. Raises only if results can no longer be stored."""
        sample = _Sample(item, self._parts, self._out)
        state: Literal["finished", "answered", "stopped"]
        cause, time_outs, cost = None, 0, None
        try:
            state = await sample.finish()
        except (StoppedError, BudgetSpentError, CircuitOpenError) as error:
            state, time_outs, cost = "stopped", error.time_outs, error.cost
            cause = None if isinstance(error, StoppedError) else StopCause.of(error)
        finally:
            sample.leave()
        ended = ItemEnd(case_id=item.case.id, sample=item.sample, state=state, cause=cause)
        return msgspec.structs.replace(ended, time_outs=time_outs, cost=cost)


class _Sample:
    """One item in progress."""

    def __init__(self, item: WorkItem, parts: Executor, out: UnitSink) -> None:
        self._item, self._case, self._parts, self._out = item, item.case, parts, out
        self._plan, self._uses = parts.plan, parts.uses.of(item.case)
        self._own = {unit.name: unit for unit in item.own} if item.own else {}
        self._linked = {unit.name: unit for unit in item.linked} if item.linked else {}
        self._admitted = False

    async def finish(self) -> Literal["finished", "answered"]:
        most = self._plan.target.attempts
        for number in range(most):
            attempt = await self._attempt(number)
            if attempt.answer is None:
                break
            if self._is_superseded(attempt):
                continue
            if self._item.until == "answer" and not self._is_judged(attempt):
                return "answered"
            for applied in self._uses:
                await self._judge(applied, attempt)
            if number + 1 == most or not self._goes_on(attempt):
                break
        return "finished"

    def leave(self) -> None:
        if self._admitted:
            self._parts.admission.end()

    async def _attempt(self, number: int) -> Attempt:
        request = self._parts.requests.request(self._case, self._item.sample, number)
        key = self._key(generation_name(self._plan, request), "generation", number)
        generation = self._found(key, _generation, _reused)
        if generation is None:
            generation = await self._generate(request, number)
            if (before := self._own.get(key.name)) is not None:
                known = _generation(before.data)
                paid = _sum_of(known.failed_cost, known.failure.cost if known.failure else None)
                generation = msgspec.structs.replace(generation, failed_cost=paid)
            self._record(key, generation, ok=generation.failure is None)
        return Attempt(generation, number=number)

    def _goes_on(self, attempt: Attempt) -> bool:
        """Whether there is another attempt. A stored one counts, even if a retry has changed an earlier one."""
        request = self._parts.requests.request(self._case, self._item.sample, attempt.number + 1)
        name = generation_name(self._plan, request)
        if self._parts.generators is None:
            return name in self._own or name in self._linked
        return name in self._own or bool(attempt.missed())

    def _is_superseded(self, attempt: Attempt) -> bool:
        """Whether a pairwise comparison has a later answer to the sample; only the last one is compared."""
        plan = self._plan
        has_more = plan.baseline_run_id is not None and attempt.number + 1 < plan.target.attempts
        return has_more and self._goes_on(attempt)

    def _is_judged(self, attempt: Attempt) -> bool:
        """Whether judging has already begun, so that the rest has to be done here too."""
        return any(unit.kind == "judgement" and unit.attempt == attempt.number for unit in self._item.own)

    async def _judge(self, applied: AppliedMetric, attempt: Attempt) -> None:
        answer = attempt.answer
        assert answer is not None  # noqa: S101 - called only for attempts with an answer
        scorer, broken = self._parts.scorer, None
        if applied.judge:
            scorer.check(applied.judge)
        try:
            applied = await self._parts.preparer.ready(applied)
        except BaseException as error:
            if ends_the_run(error):
                raise
            broken = applied.judgement(failure(error))
            if isinstance(error, BadReplyError) and applied.judge:
                scorer.unreadable(applied.judge, str(error))
        applied = self._parts.for_sample(applied, self._item.rival)
        sample, number = self._item.sample, attempt.number
        for repeat in range(applied.repeats):
            name = applied.name(self._case, answer, sample, number, repeat)
            key = self._key(name, "judgement", number, repeat)
            judgement = self._found(key, _judgement, lambda found: applied.marked(_reused(found)))
            if judgement is None:
                judgement = broken or await self._scored(applied, answer, key)
                paid = _sum_of(judgement.failed_cost, self._paid_before(key))
                judgement = msgspec.structs.replace(judgement, ended_at=self._parts.now(), failed_cost=paid)
                self._record(key, judgement, ok=judgement.failed is None)
            attempt.judgements[applied.key, repeat] = judgement

    async def _scored(self, applied: AppliedMetric, answer: Answer, key: _UnitKey) -> Judgement:
        await self._out.wait_for_capacity()
        kept = None
        if applied.judge:
            if not self._admitted:
                await self._enter(0)
            kept = self._replies(key)
        return await self._parts.scorer.score(applied, self._case, answer, key.repeat, kept)

    def _paid_before(self, key: _UnitKey) -> float | None:
        """What was paid for a failed judgement that is asked for again."""
        if (before := self._own.get(key.name)) is None:
            return None
        known = _judgement(before.data)
        replies = known.replies if _is_unreadable(known) else ()  # others are used again
        return _sum_of(known.failed_cost, *(reply.cost for reply in replies))

    def _replies(self, key: _UnitKey) -> Replies:
        before = self._own.get(key.name)
        return Replies(
            key.name.hex(),
            {} if before is not None and _is_unreadable(_judgement(before.data)) else self._own,
            lambda name, data: self._put(msgspec.structs.replace(key, name=name, kind="reply"), data, ok=True),
        )

    async def _generate(self, request: Request, number: int) -> Generation:
        parts, started = self._parts, self._parts.now()
        if parts.generators is None:
            message = "The run whose answers are judged has none for this sample."
            reason = CallFailure(kind="NotGenerated", message=message)
            return Generation(failure=reason, started_at=started, ended_at=started)
        await self._out.wait_for_capacity()
        if not self._admitted:
            await self._enter(1)
        generator = parts.generators.further if number else parts.generators.first
        try:
            answer = _checked(await generator.complete(request))
        except BaseException as error:
            if ends_the_run(error):
                raise
            failed = failure(error)
            reason = CallFailure(kind=failed.kind, message=failed.reason)
            if isinstance(error, ProviderError):
                known = {"tries": error.tries, "time_outs": error.time_outs, "cost": error.cost}
                reason = msgspec.structs.replace(reason, **known)
            return Generation(failure=reason, started_at=started, ended_at=parts.now())
        return Generation(answer=answer, started_at=started, ended_at=parts.now())

    async def _enter(self, answers: int) -> None:
        """Before the sample's first call, wait until the budget covers all its calls, so that it can be completed."""
        judged = sum([applied.repeats for applied in self._uses if applied.judge])
        units = (*self._item.own, *self._item.linked)
        known = sum([unit.kind == "judgement" and unit.ok for unit in units]) if units else 0
        await self._parts.admission.start(max(1, answers + judged - known))
        self._admitted = True

    def _found(self, key: _UnitKey, decode: Callable[[bytes], T], adopt: Callable[[T], T]) -> T | None:
        """Look up a finished unit of this run or of another one; the latter is then stored with this run too."""
        own = self._own.get(key.name)
        if own is not None and (own.ok or not self._parts.retry_errors):
            return decode(own.data)
        linked = self._linked.get(key.name)
        if linked is None:
            return None
        adopted = adopt(decode(linked.data))
        self._record(key, adopted, ok=linked.ok)
        return adopted

    def _key(self, name: bytes, kind: UnitKind, attempt: int, repeat: int = 0) -> _UnitKey:
        return _UnitKey(self._case.id, name, kind, self._item.sample, attempt, repeat)

    def _record(self, key: _UnitKey, done: Generation | Judgement, *, ok: bool) -> None:
        self._put(key, _encode(done), ok=ok, done=done)

    def _put(self, key: _UnitKey, data: bytes, *, ok: bool, done: Generation | Judgement | None = None) -> None:
        self._out.put(
            Unit(
                case_id=key.case_id,
                name=key.name,
                kind=key.kind,
                sample=key.sample,
                attempt=key.attempt,
                repeat=key.repeat,
                ok=ok,
                data=data,
            ),
            done,
        )


def _checked(answer: Answer) -> Answer:
    """Refuse anything that is not an answer or cannot be stored: user code may return anything."""
    if not isinstance(answer, Answer):
        raise TypeError(f"the provider returned {type(answer).__name__}, not an Answer")
    if not answer.text.isascii():
        answer.text.encode()
    return answer


def _is_unreadable(judgement: Judgement) -> bool:
    """Whether the judge's replies were of no use: the same ones would only fail again."""
    failed = judgement.failed
    return failed is not None and failed.kind == UNREADABLE


def _sum_of(*costs: float | None) -> float | None:
    known = [cost for cost in costs if cost]
    return sum(known) if known else None


def _reused(done: T) -> T:
    return msgspec.structs.replace(done, reused=True)
