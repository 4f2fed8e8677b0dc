"""A model that judges an answer by a rubric: one call, one score per criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import CircuitOpenError, ProviderError
from prompt_evaluator.metrics.judge_prompt import asked_again, system_message, user_message, verdict_schema
from prompt_evaluator.metrics.judge_reply import UnreadableReply, read_verdict
from prompt_evaluator.model import CallFailure, Judgement, Request

if TYPE_CHECKING:
    from prompt_evaluator.model import Answer, JudgeConfig, Rubric, TestCase
    from prompt_evaluator.ports import Provider

_CUT_OFF = {"length", "max_tokens"}
_REPLIES = 2
"""The reply, and at most one more when it is no verdict."""


class RubricJudge:
    """Applies one rubric. What cannot be read stays unread: it is never guessed, and never a score."""

    def __init__(self, rubric: Rubric, provider: Provider, config: JudgeConfig, model: str) -> None:
        """Take the rubric, who is asked and how, and the model's name without its provider."""
        self._rubric, self._provider, self._config, self._model = rubric, provider, config, model
        self._system = system_message(rubric, config.system_prompt)
        self._schema = verdict_schema(rubric)

    def request(self, case: TestCase, answer: Answer, repeat: int) -> Request:
        """What is asked about an answer: the same for the same answer, and so what names the judgement."""
        config = self._config
        return Request(
            model=self._model,
            messages=(self._system, user_message(case, answer)),
            temperature=config.temperature,
            max_tokens=config.max_tokens,
            seed=None if config.seed is None else config.seed + repeat,
            response_schema=self._schema,
            sample=repeat,
            case=case,
        )

    async def judge(self, request: Request) -> Judgement:
        """Ask, and ask once more when the reply is no verdict.

        Raises:
            CircuitOpenError: Calls have stopped, and the run with them. Every other failed call is a value.
        """
        asked, raw, reason = request, None, None
        replies: tuple[Answer, ...] = ()
        for _ in range(_REPLIES):
            try:
                reply = await self._provider.complete(asked)
            except CircuitOpenError:
                raise
            except ProviderError as error:
                return Judgement(raw=raw, failure=_failure(error), replies=replies)
            raw = reply.text
            replies = (*replies, msgspec.structs.replace(reply, text=""))
            try:
                return Judgement(verdict=read_verdict(raw, self._rubric), raw=raw, replies=replies)
            except UnreadableReply as error:
                reason = _reason(error, reply)
            asked = msgspec.structs.replace(request, messages=asked_again(request, raw, reason), attempt=1)
        return Judgement(raw=raw, invalid=reason, replies=replies)


def _failure(error: ProviderError) -> CallFailure:
    return CallFailure(kind=type(error).__name__, message=str(error), tries=error.tries)


def _reason(error: UnreadableReply, reply: Answer) -> str:
    if (reply.finish_reason or "").lower() in _CUT_OFF:
        return f"{error.reason} (the reply was cut off by max_tokens)"
    return error.reason
