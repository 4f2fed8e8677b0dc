"""Metrics beside the rubric: those of the run, and those that a case asks for itself."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model import Answer, Request, Scored, ScoreRecord
from prompt_evaluator.pipeline.naming import unit_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prompt_evaluator.model import JudgeConfig, Message, TestCase, Unit
    from prompt_evaluator.ports import Metric, Provider

_encode = msgspec.json.Encoder(order="sorted").encode
_answer = msgspec.json.Decoder(Answer).decode


class Replies:
    """What a judge has replied to one metric about one sample, kept while there is no score.

    A metric that asks in several steps and is cut off between them goes on where it was: nothing is paid for twice.
    """

    def __init__(self, place: str, known: Mapping[bytes, Unit], put: Callable[[bytes, bytes], None]) -> None:
        """Take what metric and sample are called, units that are there already, and what keeps more, by name."""
        self._place, self._known, self._put = place, known, put
        self._new: dict[bytes, Answer] = {}

    def name(self, identity: str, request: Request) -> bytes:
        return unit_name(f"reply to {self._place}", identity, request)

    def find(self, name: bytes) -> Answer | None:
        found = self._known.get(name)
        return _answer(found.data) if found else None

    def add(self, name: bytes, answer: Answer) -> None:
        self._new[name] = answer

    def keep(self) -> None:
        """Make durable what was added. Not needed for the last reply, because the score follows at once."""
        for name, answer in self._new.items():
            self._put(name, _encode(answer))
        self._new.clear()


class Voice:
    """A judge that a metric may question, with an account of what was paid for its replies."""

    def __init__(
        self, provider: Provider, config: JudgeConfig, model: str, case: TestCase | None, kept: Replies | None = None
    ) -> None:
        self._provider, self._config, self._model, self._case = provider, config, model, case
        self._kept = kept
        self.replies: list[Answer] = []

    async def ask(
        self,
        messages: tuple[Message, ...],
        *,
        schema: dict[str, Any] | None = None,
        top_logprobs: int | None = None,
        sample: int = 0,
    ) -> Answer:
        seed = self._config.seed
        request = Request(
            model=self._model,
            messages=messages,
            temperature=self._config.temperature,
            max_tokens=self._config.max_tokens,
            seed=None if seed is None else seed + sample,
            response_schema=schema,
            top_logprobs=top_logprobs,
            sample=sample,
            case=self._case,
        )
        answer = await self._asked(request)
        self.replies.append(msgspec.structs.replace(answer, text="", logprobs=None))
        return answer

    async def _asked(self, request: Request) -> Answer:
        if self._kept is None:
            return await self._provider.complete(request)
        self._kept.keep()
        name = self._kept.name(self._config.identity, request)
        answer = self._kept.find(name)
        if answer is None:
            try:
                answer = await self._provider.complete(request)
            except BaseException:
                self._kept.keep()  # others may have replied meanwhile
                raise
            self._kept.add(name, answer)
        return answer


class Scorer:
    """Applies metrics to answers."""

    def __init__(
        self,
        metrics: Sequence[Metric],
        build: Callable[[dict[str, Any]], Metric],
        voice: Callable[[TestCase, Replies | None], Voice] | None,
        judge_identity: Any,
    ) -> None:
        """Take the run's metrics, what makes one from a case's request, and who judges, if anybody does."""
        self._metrics, self._build, self._voice, self._judge_identity = metrics, build, voice, judge_identity
        self._names = {metric.name for metric in metrics}

    def metrics(self, case: TestCase) -> list[Metric]:
        """The run's own, then those that only the case asks for; without a judge only what needs none."""
        asked: dict[str, list[dict[str, Any]]] = {}
        for check in case.checks:
            if check.metric not in self._names:
                asked.setdefault(check.metric, []).append(check.options)
        # A metric that is asked for more than once finds all the requests in the case itself.
        wanted = [
            self._build({"metric": name, **(options[0] if len(options) == 1 else {})})
            for name, options in asked.items()
        ]
        seen: set[str] = set()
        return [
            metric
            for metric in (*self._metrics, *wanted)
            if (self._voice or not metric.needs_judge) and not (metric.name in seen or seen.add(metric.name))  # type: ignore[func-returns-value]
        ]

    def unit_name(self, metric: Metric, case: TestCase, answer: Answer, sample: int) -> bytes:
        """A hash of all that decides the score: the metric, the judge if it asks one, the case and the answer."""
        judge = self._judge_identity if metric.needs_judge else None
        decides = ("score", sample, metric.definition(), judge, case, answer.text, answer.tool_calls)
        measured = (answer.latency_ms, answer.cost)
        return hashlib.blake2b(_encode((decides, measured)), digest_size=16).digest()

    async def score(self, metric: Metric, case: TestCase, answer: Answer, kept: Replies | None = None) -> ScoreRecord:
        voice = self._voice(case, kept) if self._voice and metric.needs_judge else None
        score = await metric.score(case, answer, voice)
        return ScoreRecord(
            metric=metric.name,
            score=score,
            passed=score.value >= metric.threshold if isinstance(score, Scored) else None,
            replies=tuple(voice.replies) if voice else (),
        )
