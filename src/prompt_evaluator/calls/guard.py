"""Wraps plug-in providers, so that every try ends in time, with a storable answer or an error."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import BadReplyError, ProviderError, TimedOutError
from prompt_evaluator.model import REDACTOR, Answer, message_of
from prompt_evaluator.model.storable import decode_answer, encode_answer

if TYPE_CHECKING:
    from prompt_evaluator.model import Request
    from prompt_evaluator.ports import Provider

_ANSWER = msgspec.json.Decoder(Answer)


class Guarded:
    """A provider that respects the timeout and returns only answers that can be stored."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - enforced here
        try:
            async with asyncio.timeout(timeout) as limit:
                answer = await self._provider.answer(request, timeout)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimedOutError(f"no answer within {timeout:,.3g} s.", provider=self._provider.name) from None
        if not isinstance(answer, Answer):
            what = f"the provider returned {type(answer).__name__}, not an Answer."
            raise BadReplyError(what, provider=self._provider.name)
        try:
            return decode_answer(encode_answer(answer), _ANSWER)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            what = f"the provider returned an answer that cannot be stored: {message_of(error)}."
            raise BadReplyError(what, provider=self._provider.name) from None


def as_provider_error(error: BaseException, provider: str) -> ProviderError:
    """Convert an exception to a call's failure, without secrets. Raise it if it did not come from the provider."""
    if isinstance(error, ProviderError):
        error.args, error.body = (REDACTOR.message(str(error)),), b""
        return error
    if isinstance(error, KeyboardInterrupt | GeneratorExit) or _cancels_us(error):
        raise error
    return ProviderError(f"{type(error).__name__}: {message_of(error) or 'no message'}.", provider=provider)


def _cancels_us(error: BaseException) -> bool:
    """Return whether the current task was cancelled, rather than something the provider awaited."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is None or bool(task.cancelling())
