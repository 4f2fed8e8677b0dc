"""Metrics beside the rubric: those of the run, and those that a case asks for itself."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model import Request, Scored, ScoreRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prompt_evaluator.model import Answer, JudgeConfig, Message, TestCase
    from prompt_evaluator.ports import Metric, Provider

_encode = msgspec.json.Encoder(order="sorted").encode


class Voice:
    """A judge that a metric may question, with an account of what was paid for its replies."""

    def __init__(self, provider: Provider, config: JudgeConfig, model: str, case: TestCase | None) -> None:
        self._provider, self._config, self._model, self._case = provider, config, model, case
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
        answer = await self._provider.complete(request)
        self.replies.append(msgspec.structs.replace(answer, text="", logprobs=None))
        return answer


class Scorer:
    """Applies metrics to answers."""

    def __init__(
        self,
        metrics: Sequence[Metric],
        build: Callable[[dict[str, Any]], Metric],
        voice: Callable[[TestCase], Voice] | None,
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

    async def score(self, metric: Metric, case: TestCase, answer: Answer) -> ScoreRecord:
        voice = self._voice(case) if self._voice and metric.needs_judge else None
        score = await metric.score(case, answer, voice)
        return ScoreRecord(
            metric=metric.name,
            score=score,
            passed=score.value >= metric.threshold if isinstance(score, Scored) else None,
            replies=tuple(voice.replies) if voice else (),
        )
