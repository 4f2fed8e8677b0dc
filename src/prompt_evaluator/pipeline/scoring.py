"""Applies metrics to answers: asks judges, keeps their replies, and stops when asking has become pointless."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import (
    BudgetSpentError,
    CircuitOpenError,
    JudgeRefusedError,
    ProviderError,
    StoppedError,
    StoreError,
)
from prompt_evaluator.model import REDACTOR, UNREADABLE, Answer, Failed, Request, Scored, Scores, Skipped, message_of
from prompt_evaluator.pipeline.naming import unit_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prompt_evaluator.model import JudgeConfig, Judgement, Message, Score, TestCase, Unit
    from prompt_evaluator.pipeline.uses import AppliedMetric
    from prompt_evaluator.ports import ModelClient

ENDS_THE_RUN = (BudgetSpentError, CircuitOpenError, StoppedError, StoreError)
"""Not failures of a single unit: no further call can be made, or results can no longer be stored."""

_INVALID = "InvalidScore"
_UNREADABLE_IN_A_ROW = 20
_SAMPLES_APART = 1_000
"""Distance between the numbers of a metric's questions about one answer; more than the number of repeats."""
_encode = msgspec.json.Encoder(order="sorted").encode
_in_order = msgspec.json.Encoder().encode
_answer = msgspec.json.Decoder(Answer).decode
_score = msgspec.json.Decoder(Scored | Skipped | Failed).decode
_scores = msgspec.json.Decoder(Scores).decode


class Replies:
    """A judge's replies to one metric about one sample, kept until there is a score.

    A metric that asks in several steps continues where it was interrupted, so nothing is paid for twice.
    """

    def __init__(self, judgement: str, known: Mapping[bytes, Unit], put: Callable[[bytes, bytes], None]) -> None:
        """Start with known replies.

        Args:
            judgement: Name of the judgement.
            known: Stored units by name.
            put: Stores a reply, called with its name and data.
        """
        self._judgement, self._known, self._put = judgement, known, put
        self._new: list[tuple[str, Request, Answer]] = []

    def find(self, identity: str, request: Request) -> Answer | None:
        found = self._known.get(self._name(identity, request)) if self._known else None
        return _answer(found.data) if found else None

    def add(self, identity: str, request: Request, answer: Answer) -> None:
        self._new.append((identity, request, answer))

    def keep(self) -> None:
        """Store the replies added so far. Not needed for the last one, because the score follows at once."""
        for identity, request, answer in self._new:
            self._put(self._name(identity, request), _encode(answer))
        self._new.clear()

    def _name(self, identity: str, request: Request) -> bytes:
        return unit_name(f"reply to {self._judgement}", identity, request)


class RecordedJudge:
    """A judge that metrics can ask; records its replies and what was paid for them."""

    def __init__(  # noqa: PLR0913, PLR0917 - whom to ask, how, about what, and known replies
        self,
        provider: ModelClient,
        config: JudgeConfig,
        model: str,
        case: TestCase | None,
        repeat: int = 0,
        kept: Replies | None = None,
    ) -> None:
        self._provider, self._config, self._model, self._case = provider, config, model, case
        self._repeat, self._kept = repeat, kept
        self.replies: list[Answer] = []
        self.time_outs = 0
        """Tries that timed out, over all calls."""
        self.failed_cost: float | None = None
        """US dollars for failed calls that were billed."""
        self.raw: str | None = None
        """Text of the last reply."""

    async def ask(
        self,
        messages: tuple[Message, ...],
        *,
        schema: dict[str, Any] | None = None,
        top_logprobs: int | None = None,
        sample: int = 0,
    ) -> Answer:
        config = self._config
        number = self._repeat + sample * _SAMPLES_APART
        seed: int | None = config.sent("seed")
        request = Request(
            model=self._model,
            messages=messages,
            temperature=config.sent("temperature"),
            max_tokens=config.max_tokens,
            seed=None if seed is None else seed + number,
            effort=config.sent("effort"),
            response_schema=schema,
            top_logprobs=top_logprobs,
            sample=number,
            options=config.sent_params,
            strict=config.strict_params,
            case=self._case,
        )
        try:
            answer = await self._asked(request)
        except ProviderError as error:
            self.time_outs += error.time_outs
            if error.cost is not None:
                self.failed_cost = (self.failed_cost or 0.0) + error.cost
            raise
        self.time_outs += answer.time_outs or 0
        self.raw = answer.text
        self.replies.append(msgspec.structs.replace(answer, text="", logprobs=None))
        if answer.outcome in ("refused", "filtered"):
            how = "refused to answer" if answer.outcome == "refused" else "was stopped by a content filter"
            raise JudgeRefusedError(f"the judge {how}.", provider=self._config.model)
        return answer

    async def _asked(self, request: Request) -> Answer:
        if self._kept is None:
            return await self._provider.complete(request)
        kept, identity = self._kept, self._config.identity
        kept.keep()
        answer = kept.find(identity, request)
        if answer is None:
            try:
                answer = await self._provider.complete(request)
            except BaseException:
                kept.keep()  # concurrent calls may have been answered meanwhile
                raise
            kept.add(identity, request, answer)
        return answer


class Scorer:
    """Applies metrics to answers. An error raised by a metric fails that judgement, never the run."""

    def __init__(
        self,
        judge: Callable[[JudgeConfig, TestCase, int, Replies | None], RecordedJudge],
    ) -> None:
        """Start without counts; `judge` returns a judge that can be asked about a case."""
        self._judge = judge
        self._unreadable: Counter[str] = Counter()
        self._last: dict[str, str] = {}

    async def score(
        self, applied: AppliedMetric, case: TestCase, answer: Answer, repeat: int, kept: Replies | None = None
    ) -> Judgement:
        """Judge an answer once.

        Raises:
            CircuitOpenError: Too many replies of the judge in a row were unreadable.
        """
        config, judge = applied.judge, None
        if config is not None:
            self.check(config)
            judge = self._judge(config, case, repeat, kept)
        outcome: Score | Scores
        try:
            outcome = _checked(await applied.metric.score(case, answer, judge), applied)
        except BaseException as error:
            if ends_the_run(error):
                raise
            outcome = failure(error)
        if config is None or judge is None:
            return applied.judgement(outcome)
        if judge.replies:
            self._count(config, outcome)
        made = applied.judgement(outcome, judge.raw, tuple(judge.replies), judge.time_outs)
        return made if judge.failed_cost is None else msgspec.structs.replace(made, failed_cost=judge.failed_cost)

    def unreadable(self, judge: JudgeConfig, reason: str) -> None:
        """Count an unreadable reply."""
        self._unreadable[judge.model] += 1
        self._last[judge.model] = reason.rstrip(".") + "."

    def check(self, judge: JudgeConfig) -> None:
        """Raise `CircuitOpenError` if asking this judge has become pointless."""
        if (count := self._unreadable[judge.model]) >= _UNREADABLE_IN_A_ROW:
            what = f"stopped after {count} unreadable replies in a row, the last: {self._last[judge.model]}"
            raise CircuitOpenError(f"{what} Try another judge model.", provider=judge.model)

    def _count(self, judge: JudgeConfig, outcome: Score | Scores) -> None:
        if isinstance(outcome, Failed):
            if outcome.kind == UNREADABLE:
                self.unreadable(judge, outcome.reason)
        else:
            self._unreadable[judge.model] = 0


def _checked(outcome: Score | Scores, applied: AppliedMetric) -> Score | Scores:
    """Refuse what cannot be stored and read back as a score: user code may return anything."""
    if applied.is_ours:
        return outcome
    if isinstance(outcome, Scores):
        if set(outcome.scores) != set(applied.score_names):
            return Failed(f"the metric returned scores called {sorted(outcome.scores)}", kind=_INVALID)
        return _scores(REDACTOR.json(_in_order(outcome)))
    if not isinstance(outcome, Scored | Skipped | Failed):
        return Failed(f"the metric returned {type(outcome).__name__}, not a score", kind=_INVALID)
    if isinstance(outcome, Scored) and not 0 <= outcome.value <= 1:
        return Failed(f"the metric returned {outcome.value!r}, not a number from 0 to 1", kind=_INVALID)
    kept: Score = _score(REDACTOR.json(_in_order(outcome)))
    return kept


def ends_the_run(error: BaseException) -> bool:
    """Whether this is more than a failure of one unit. User code may raise anything, even `CancelledError`."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or bool(task.cancelling())
    return isinstance(error, (*ENDS_THE_RUN, KeyboardInterrupt, GeneratorExit))


def failure(error: BaseException) -> Failed:
    """Turn an exception into a failed score."""
    reason = message_of(error) or "no message"
    if not isinstance(error, ProviderError):
        reason = f"{type(error).__name__}: {reason}"
    return Failed(reason, kind=type(error).__name__)
