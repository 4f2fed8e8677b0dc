"""One sample, from question to scores: what is known already is used, what is missing is done and put on record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from prompt_evaluator.errors import BadReplyError, ProviderError
from prompt_evaluator.model import UNREADABLE, Answer, CallFailure, Generation, Judgement, Unit
from prompt_evaluator.pipeline.naming import generation_name
from prompt_evaluator.pipeline.samples import Attempt, SampleUnits
from prompt_evaluator.pipeline.scoring import ENDS_THE_RUN, Replies, ends_the_run, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from prompt_evaluator.model import Request, RunPlan, TestCase, UnitKind
    from prompt_evaluator.pipeline.messages import RequestBuilder
    from prompt_evaluator.pipeline.preparing import Preparer
    from prompt_evaluator.pipeline.scoring import Scorer
    from prompt_evaluator.pipeline.uses import AppliedMetric, Uses
    from prompt_evaluator.ports import Ledger, ModelClient

T = TypeVar("T", Generation, Judgement)

_encode = msgspec.json.Encoder().encode
_generation = msgspec.json.Decoder(Generation).decode
_judgement = msgspec.json.Decoder(Judgement).decode


class Finished(NamedTuple):
    """Units of a case that are there already, by name."""

    own: Mapping[bytes, Unit]
    """Of this run."""
    linked: Mapping[bytes, Unit]
    """Of other runs, to be reused."""


class _UnitKey(NamedTuple):
    case_id: str
    name: bytes
    kind: UnitKind
    sample: int
    attempt: int
    repeat: int = 0


class Executor:
    """Makes samples of cases for one run."""

    def __init__(  # noqa: PLR0913 - the parts of a run, put together in one place
        self,
        plan: RunPlan,
        *,
        requests: RequestBuilder,
        generator: ModelClient | None,
        uses: Uses,
        scorer: Scorer,
        preparer: Preparer,
        ledger: Ledger,
        now: Callable[[], str],
        retry_errors: bool = False,
    ) -> None:
        """Take a plan and its parts. Without a generator, only answers of other runs are judged."""
        self._plan, self._requests, self._generator = plan, requests, generator
        self._uses, self._scorer, self._preparer = uses, scorer, preparer
        self._ledger, self._now, self._retry_errors = ledger, now, retry_errors

    async def prepare(self) -> None:
        """Make the run's own metrics ready, before anything else is paid for.

        Raises:
            ProviderError: The judge gave nothing to judge by.
        """
        for applied in self._uses.common():
            try:
                await self._preparer.ready(applied)
            except (ProviderError, *ENDS_THE_RUN):
                raise
            except Exception:  # noqa: BLE001, S112 - somebody's metric: each of its judgements will say so
                continue

    def answer_names(self, case: TestCase) -> dict[bytes, tuple[int, int]]:
        """What the answers to a case are called, each with its sample and attempt."""
        plan = self._plan
        return {
            generation_name(plan, self._requests.request(case, sample, attempt)): (sample, attempt)
            for sample in range(plan.num_samples)
            for attempt in range(plan.target.attempts)
        }

    def judgement_names(self, case: TestCase, answers: Iterable[tuple[tuple[int, int], Unit]]) -> list[bytes]:
        """What the judgements of these answers are called; nobody is asked for that."""
        ready = [self._preparer.known(applied) for applied in self._uses.of(case)]
        known = ((place, _generation(unit.data).answer) for place, unit in answers)
        return [
            name
            for place, answer in known
            if answer is not None
            for applied in ready
            for name in applied.names(case, answer, *place)
        ]

    async def run(self, case: TestCase, sample: int, finished: Finished) -> SampleUnits:
        """Finish a sample. Raises only what ends the whole run: no circuit, no budget, or no store."""
        units = SampleUnits()
        most = self._plan.target.attempts
        for number in range(most):
            attempt = await self._attempt(case, sample, number, finished)
            units.attempts.append(attempt)
            if number + 1 == most or attempt.answer is None or not self._goes_on(attempt, case, sample, finished):
                break
        return units

    def _goes_on(self, attempt: Attempt, case: TestCase, sample: int, finished: Finished) -> bool:
        """Whether there is another attempt: one on record counts, whatever a retry has made of the earlier ones."""
        number = attempt.number + 1
        name = generation_name(self._plan, self._requests.request(case, sample, number))
        if self._generator is None:
            return name in finished.own or name in finished.linked
        return name in finished.own or bool(attempt.missed())

    async def _attempt(self, case: TestCase, sample: int, number: int, finished: Finished) -> Attempt:
        request = self._requests.request(case, sample, number)
        key = _UnitKey(case.id, generation_name(self._plan, request), "generation", sample, number)
        generation = self._found(key, finished, _generation, _reused)
        if generation is None:
            generation = await self._generate(request)
            self._record(key, generation, ok=generation.failure is None)
        attempt = Attempt(generation, number=number)
        if generation.answer is not None:
            for applied in self._uses.of(case):
                await self._judge(applied, case, attempt, key._replace(kind="judgement"), finished)
        return attempt

    async def _judge(
        self, applied: AppliedMetric, case: TestCase, attempt: Attempt, key: _UnitKey, finished: Finished
    ) -> None:
        answer = attempt.answer
        assert answer is not None  # noqa: S101 - asked for only where there is one
        broken = None
        if applied.judge:
            self._scorer.check(applied.judge)
        try:
            applied = await self._preparer.ready(applied)
        except BaseException as error:
            if ends_the_run(error):
                raise
            broken = applied.judgement(failure(error))
            if isinstance(error, BadReplyError) and applied.judge:
                self._scorer.unreadable(applied.judge, str(error))
        for repeat in range(applied.repeats):
            unit = key._replace(name=applied.name(case, answer, key.sample, key.attempt, repeat), repeat=repeat)
            judgement = self._found(unit, finished, _judgement, lambda found: applied.marked(_reused(found)))
            if judgement is None:
                judgement = broken or await self._scored(applied, case, answer, unit, finished)
                judgement = msgspec.structs.replace(judgement, ended_at=self._now())
                self._record(unit, judgement, ok=judgement.failed is None)
            attempt.judgements[applied.key, repeat] = judgement

    async def _scored(
        self, applied: AppliedMetric, case: TestCase, answer: Answer, key: _UnitKey, finished: Finished
    ) -> Judgement:
        await self._ledger.wait_for_capacity()
        kept = self._replies(key, finished) if applied.judge else None
        return await self._scorer.score(applied, case, answer, key.repeat, kept)

    def _replies(self, key: _UnitKey, finished: Finished) -> Replies:
        before = finished.own.get(key.name)
        failed = _judgement(before.data).failed if before else None
        failed_before = failed is not None and failed.kind == UNREADABLE  # then the same replies would only fail again
        reply = key._replace(kind="reply")
        return Replies(
            key.name.hex(),
            {} if failed_before else finished.own,
            lambda name, data: self._put(reply._replace(name=name), data, ok=True),
        )

    def _found(
        self, key: _UnitKey, finished: Finished, decode: Callable[[bytes], T], adopt: Callable[[T], T]
    ) -> T | None:
        """What was done before, in this run or in another one, which is then kept with this run as well."""
        own = finished.own.get(key.name)
        if own is not None and (own.ok or not self._retry_errors):
            return decode(own.data)
        linked = finished.linked.get(key.name)
        if linked is None:
            return None
        adopted = adopt(decode(linked.data))
        self._record(key, adopted, ok=linked.ok)
        return adopted

    async def _generate(self, request: Request) -> Generation:
        started = self._now()
        if self._generator is None:
            reason = CallFailure(kind="NotGenerated", message="The run whose answers are judged has none here.")
            return Generation(failure=reason, started_at=started, ended_at=started)
        await self._ledger.wait_for_capacity()
        try:
            answer = _checked(await self._generator.complete(request))
        except BaseException as error:
            if ends_the_run(error):
                raise
            failed, tries = failure(error), getattr(error, "tries", 1)
            reason = CallFailure(kind=failed.kind, message=failed.reason, tries=tries)
            return Generation(failure=reason, started_at=started, ended_at=self._now())
        return Generation(answer=answer, started_at=started, ended_at=self._now())

    def _record(self, key: _UnitKey, done: Generation | Judgement, *, ok: bool) -> None:
        self._put(key, _encode(done), ok=ok)

    def _put(self, key: _UnitKey, data: bytes, *, ok: bool) -> None:
        self._ledger.put(
            Unit(
                case_id=key.case_id,
                name=key.name,
                kind=key.kind,
                sample=key.sample,
                attempt=key.attempt,
                repeat=key.repeat,
                ok=ok,
                data=data,
            )
        )


def _checked(answer: Answer) -> Answer:
    """What somebody's provider returns may be anything: only what can be kept is an answer."""
    if not isinstance(answer, Answer):
        raise TypeError(f"the provider returned {type(answer).__name__}, not an Answer")
    if not answer.text.isascii():
        answer.text.encode()
    return answer


def _reused(done: T) -> T:
    return msgspec.structs.replace(done, reused=True)
