"""One sample, from question to verdict: what is known already is used, what is missing is done and put on record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from prompt_evaluator.errors import CircuitOpenError, ProviderError
from prompt_evaluator.model import CallFailure, Failed, Generation, Judgement, ScoreRecord, Unit
from prompt_evaluator.pipeline.assemble import SampleUnits
from prompt_evaluator.pipeline.naming import generation_name, judgement_name, judgement_names
from prompt_evaluator.pipeline.scoring import Replies

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prompt_evaluator.model import Answer, Request, RunPlan, TestCase, UnitKind
    from prompt_evaluator.pipeline.messages import Asker
    from prompt_evaluator.pipeline.scoring import Scorer
    from prompt_evaluator.ports import Judge, Ledger, Provider

T = TypeVar("T", Generation, Judgement, ScoreRecord)

_encode = msgspec.json.Encoder().encode
_generation = msgspec.json.Decoder(Generation).decode
_judgement = msgspec.json.Decoder(Judgement).decode
_score = msgspec.json.Decoder(ScoreRecord).decode


class Finished(NamedTuple):
    """Units of a case that are there already, by name."""

    own: Mapping[bytes, Unit]
    """Of this run."""
    linked: Mapping[bytes, Unit]
    """Of other runs, to be taken over."""


class _Place(NamedTuple):
    case_id: str
    name: bytes
    kind: UnitKind
    sample: int
    repeat: int


class Executor:
    """Makes samples of cases for one run."""

    def __init__(  # noqa: PLR0913 - the parts of a run, put together in one place
        self,
        plan: RunPlan,
        *,
        asker: Asker,
        generator: Provider | None,
        judge: Judge | None,
        scorer: Scorer | None = None,
        ledger: Ledger,
        now: Callable[[], str],
        retry_errors: bool = False,
    ) -> None:
        """Take a plan and its parts. Without a generator, only answers of other runs are judged."""
        self._plan, self._asker, self._generator, self._judge = plan, asker, generator, judge
        self._ledger, self._now, self._retry_errors = ledger, now, retry_errors
        self._scorer = scorer

    def generation_name(self, case: TestCase, sample: int) -> bytes:
        return generation_name(self._plan, self._asker.request(case, sample))

    def verdict_names(self, case: TestCase, sample: int, generation: Generation) -> list[bytes]:
        """What the judgements and scores of an answer are called."""
        answer = generation.answer
        if answer is None:
            return []
        scorer = self._scorer
        scores = [scorer.unit_name(metric, case, answer, sample) for metric in scorer.metrics(case)] if scorer else []
        if self._judge is None:
            return scores
        return scores + judgement_names(self._plan, self._judge, case, answer, sample)

    async def run(self, case: TestCase, sample: int, finished: Finished) -> SampleUnits:
        """Finish a sample. Raises only what ends the whole run: no circuit, or no store."""
        result = SampleUnits()
        request = self._asker.request(case, sample)
        place = _Place(case.id, generation_name(self._plan, request), "generation", sample, 0)
        generation = self._found(place, finished, _generation)
        if generation is None:
            generation = await self._generate(request)
            self._record(place, generation, ok=generation.failure is None)
        result.generation = generation
        if generation.answer is None:
            return result
        await self._judge_answer(case, sample, generation.answer, finished, result)
        if self._scorer is not None:
            await self._score_answer(case, sample, generation.answer, finished, result)
        return result

    async def _judge_answer(
        self, case: TestCase, sample: int, answer: Answer, finished: Finished, result: SampleUnits
    ) -> None:
        if self._judge is None:
            return
        for repeat in range(self._plan.judgings):
            asked = self._judge.request(case, answer, repeat)
            place = _Place(case.id, judgement_name(self._plan, asked, sample), "judgement", sample, repeat)
            judgement = self._found(place, finished, _judgement)
            if judgement is None:
                judgement = await self._judged(asked)
                self._record(place, judgement, ok=judgement.verdict is not None)
            result.judgements[repeat] = judgement

    async def _score_answer(
        self, case: TestCase, sample: int, answer: Answer, finished: Finished, result: SampleUnits
    ) -> None:
        assert self._scorer is not None  # noqa: S101 - asked for only where there is one
        for number, metric in enumerate(self._scorer.metrics(case)):
            place = _Place(case.id, self._scorer.unit_name(metric, case, answer, sample), "score", sample, number)
            record = self._found(place, finished, _score)
            if record is None:
                await self._ledger.wait_for_capacity()
                scored = await self._scorer.score(metric, case, answer, self._replies(place, finished))
                record = msgspec.structs.replace(scored, ended_at=self._now())
                self._record(place, record, ok=not isinstance(record.score, Failed))
            result.scores[record.metric] = record

    def _replies(self, place: _Place, finished: Finished) -> Replies:
        failed_before = place.name in finished.own  # then the same replies would only fail again
        reply = place._replace(kind="reply")
        return Replies(
            place.name.hex(),
            {} if failed_before else finished.own,
            lambda name, data: self._put(reply._replace(name=name), data, ok=True),
        )

    def _found(self, place: _Place, finished: Finished, decode: Callable[[bytes], T]) -> T | None:
        """What was done before, in this run or in another one from which it is then taken over."""
        own = finished.own.get(place.name)
        if own is not None and (own.ok or not self._retry_errors):
            return decode(own.data)
        linked = finished.linked.get(place.name)
        if linked is None:
            return None
        taken = msgspec.structs.replace(decode(linked.data), reused=True)
        self._record(place, taken, ok=linked.ok)
        return taken

    async def _generate(self, request: Request) -> Generation:
        started = self._now()
        if self._generator is None:
            failure = CallFailure(kind="NotGenerated", message="The run whose answers are judged has none here.")
            return Generation(failure=failure, started_at=started, ended_at=started)
        await self._ledger.wait_for_capacity()
        try:
            answer = await self._generator.complete(request)
        except CircuitOpenError:
            raise
        except ProviderError as error:
            failure = CallFailure(kind=type(error).__name__, message=str(error), tries=error.tries)
            return Generation(failure=failure, started_at=started, ended_at=self._now())
        return Generation(answer=answer, started_at=started, ended_at=self._now())

    async def _judged(self, request: Request) -> Judgement:
        assert self._judge is not None  # noqa: S101 - asked for only where there is one
        await self._ledger.wait_for_capacity()
        judgement = await self._judge.judge(request)
        return msgspec.structs.replace(judgement, ended_at=self._now())

    def _record(self, place: _Place, done: Generation | Judgement | ScoreRecord, *, ok: bool) -> None:
        self._put(place, _encode(done), ok=ok)

    def _put(self, place: _Place, data: bytes, *, ok: bool) -> None:
        self._ledger.put(
            Unit(
                case_id=place.case_id,
                name=place.name,
                kind=place.kind,
                sample=place.sample,
                repeat=place.repeat,
                ok=ok,
                data=data,
            )
        )
