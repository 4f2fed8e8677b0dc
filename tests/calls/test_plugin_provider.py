"""A provider of somebody else's, with one method: everything around a call comes by itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from calling import REQUEST, Calls, FakeProvider
from entries import each

from prompt_evaluator.errors import (
    BadReplyError,
    CircuitOpenError,
    ProviderError,
    RequestRefusedError,
    TimedOutError,
    UnavailableError,
)
from prompt_evaluator.model import Answer, Limits, ProviderSettings, Request, Secret, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable

CANARY = "sk-canary-plugin-1234567890"
QUICK = Limits(first_backoff=0.001, max_tries=3)


class Plugin(FakeProvider):
    """Does whatever the test says."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109
        await super().answer(request, timeout)
        answer: Answer = self._work()
        return await answer if asyncio.iscoroutine(answer) else answer


def raises(error: BaseException) -> Callable[[], Any]:
    def work() -> Any:
        raise error

    return work


def called(text: str) -> ToolCall:
    return ToolCall(name="look", arguments={"deep": [{"key": text}]})


def settings(**changes: Any) -> ProviderSettings:
    return ProviderSettings(**{"kind": "test", "limits": QUICK, **changes})


async def ask(plugin: Plugin, calls: Calls | None = None, **changes: Any) -> Answer:
    return await (calls or Calls()).around(plugin, settings(**changes)).complete(REQUEST)


async def test_it_may_say_that_nothing_is_tried_twice() -> None:
    plugin = Plugin(raises(UnavailableError("down.", provider="svc")))
    plugin.max_tries = 1  # type: ignore[attr-defined]

    with pytest.raises(UnavailableError):
        await ask(plugin)

    assert len(plugin.tries) == 1


async def test_it_cannot_take_longer_than_one_try_may() -> None:
    plugin = Plugin(lambda: asyncio.sleep(600))

    with pytest.raises(TimedOutError, match=r"no answer within 0\.02 s"):
        await ask(plugin, limits=Limits(try_timeout=0.02, max_tries=1))


@each(
    ("error", "said"),
    [
        (KeyError("x"), "KeyError: 'x'"),
        (ZeroDivisionError(), "ZeroDivisionError: "),
        (TimeoutError("of the library"), "TimeoutError: of the library"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError("inside"), "CancelledError: inside"),
    ],
)
async def test_any_other_exception_is_the_failure_of_that_call_alone(error: BaseException, said: str) -> None:
    provider = FakeProvider(error)
    client = Calls().around(provider, settings())

    with pytest.raises(ProviderError, match=f"^svc: {said}"):
        await client.complete(REQUEST)

    assert (await client.complete(REQUEST)).text == "hi"
    assert len(provider.tries) == 2


async def test_exceptions_one_after_the_other_open_the_circuit() -> None:
    calls = Calls()
    plugin = Plugin(raises(KeyError("x")))
    for _ in range(20):
        with pytest.raises(ProviderError):
            await ask(plugin, calls)

    with pytest.raises(CircuitOpenError):
        await ask(plugin, calls)


@each(
    "answer",
    ["a text", None, Answer(text=3, latency_ms=1.0, model="m"), Answer(text="a", latency_ms=1.0, model=None)],  # type: ignore[arg-type]
)
async def test_what_is_not_an_answer_is_a_bad_reply(answer: object) -> None:
    with pytest.raises(BadReplyError):
        await ask(Plugin(lambda: answer))


@each(("text", "stored"), [("a \ud83d b", "a \ufffd b"), ("\ud83d\ude00", "\U0001f600")], ids=ascii)
async def test_half_of_a_character_is_replaced_and_two_halves_are_one(text: str, stored: str) -> None:
    plugin = Plugin(lambda: Answer(text=text, latency_ms=1.0, model="m", tool_calls=(called(text),)))

    answer = await ask(plugin)

    assert (answer.text, answer.tool_calls, answer.tries) == (stored, (called(stored),), 1)


async def test_a_known_secret_is_in_no_text_no_tool_call_and_no_error() -> None:
    secret = Secret(CANARY)
    said = Answer(text=f"It is {CANARY}.", tool_calls=(called(f"is {CANARY}"),), latency_ms=1.0, model="m")

    answer = await ask(Plugin(lambda: said))
    errors = []
    for error in (RequestRefusedError(f"not with {CANARY}.", provider="svc"), ValueError(f"not with {CANARY}")):
        with pytest.raises(ProviderError, match=r"not with \[secret\]") as caught:
            await ask(Plugin(raises(error)))
        errors.append(str(caught.value))

    assert answer.text == "It is [secret]."
    assert answer.tool_calls == (called("is [secret]"),)
    assert secret.reveal() not in "".join(errors)
