"""What every kind of provider promises, whatever it speaks to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from leftovers import becomes_true, open_files
from stands import ALL, HTTP, RETRYING, Stand

from prompt_evaluator.errors import ProviderError, TimedOutError
from prompt_evaluator.model import Limits, Message, Price, ToolCall, Usage

if TYPE_CHECKING:
    from stands import Behaviour

COUNTING = tuple(kind for kind in ALL if kind != "mock" and not kind.startswith("router"))
REAL = tuple(kind for kind in ALL if kind != "mock")
PATIENT = Limits(first_backoff=600, deadline=6_000, try_timeout=600)


@each("kind", ALL)
async def test_an_answer_says_what_it_is_who_gave_it_and_how_long_it_took(kind: str) -> None:
    async with Stand(kind, "answers") as stand:
        answer = await stand.ask()

    assert answer.text == "A good answer." if kind != "mock" else answer.text
    assert answer.model == (stand.server.model if stand.protocol in ("openai", "anthropic") else stand.model)
    assert answer.tries == 1
    assert answer.latency_ms > 0
    assert answer.synthetic == (kind == "mock")
    assert bool(stand.proxy.asked) == (" " in kind)


@each("kind", COUNTING)
async def test_tokens_are_those_that_the_service_counted_and_the_cost_follows_from_the_configured_price(
    kind: str,
) -> None:
    model = Stand(kind, "answers").model
    async with Stand(kind, "answers", prices={model: Price(input=2, output=10)}) as stand:
        answer = await stand.ask()

    assert answer.usage == Usage(input_tokens=11, output_tokens=7)
    assert answer.cost == stand.calls.meter.cost == pytest.approx((11 * 2 + 7 * 10) / 1_000_000)


@each(("kind", "behaviour"), [(kind, behaviour) for kind in REAL for behaviour in ("answers", "does not count")])
async def test_tokens_that_nobody_counted_and_a_cost_without_a_known_price_are_unknown_not_zero(
    kind: str, behaviour: Behaviour
) -> None:
    prices = {"m": Price(input=2, output=10)} if behaviour == "does not count" else {}
    async with Stand(kind, behaviour, prices=prices) as stand:
        answer = await stand.ask()

    assert behaviour == "answers" or answer.usage == Usage(input_tokens=None, output_tokens=None)
    assert (answer.cost, stand.calls.meter.unpriced) == (None, 1)


@each(("kind", "behaviour"), [*((kind, "fails") for kind in ALL), *((kind, "fails for now") for kind in RETRYING)])
async def test_an_outage_is_a_provider_error_that_names_the_provider_and_is_retried_if_it_may_pass(
    kind: str, behaviour: Behaviour
) -> None:
    async with Stand(kind, behaviour) as stand:
        with pytest.raises(ProviderError) as caught:
            await stand.ask()

    assert caught.value.provider == "svc"
    assert str(caught.value).startswith("svc: ")
    assert caught.value.tries == stand.calls.meter.tries == (2 if behaviour == "fails for now" else 1)


@each("kind", ALL)
async def test_a_service_that_hangs_is_given_up(kind: str) -> None:
    async with Stand(kind, "hangs", limits=Limits(try_timeout=0.2, max_tries=1)) as stand:
        with pytest.raises(TimedOutError) as caught:
            await stand.ask()

    assert caught.value.provider == "svc"


@each("kind", ALL)
async def test_cancelling_a_call_takes_effect_at_once_and_leaves_nothing_open(kind: str) -> None:
    async with Stand(kind, "hangs", limits=PATIENT) as stand:
        before = len(open_files())
        call = asyncio.ensure_future(stand.ask())
        await becomes_true(lambda: bool(stand.server.received) if kind in HTTP else stand.calls.meter.tries == 1)
        await asyncio.sleep(0.02)

        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        await becomes_true(lambda: stand.server.open_connections == 0 and len(open_files()) <= before)
        assert stand.calls.meter.in_flight == 0


@each("kind", RETRYING)
async def test_cancelling_a_wait_for_the_next_try_takes_effect_at_once(kind: str) -> None:
    before = len(open_files())
    async with Stand(kind, "fails for now", limits=PATIENT) as stand:
        call = asyncio.ensure_future(stand.ask())
        await becomes_true(lambda: bool(stand.calls.meter.retries))

        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        assert stand.calls.meter.in_flight == 0
        await stand.calls.close()
        await becomes_true(lambda: stand.server.open_connections == 0)
    await becomes_true(lambda: len(open_files()) <= before)


@each("kind", ALL)
async def test_calls_still_work_after_one_of_them_was_cancelled(kind: str) -> None:
    async with Stand(kind, "answers", limits=Limits(max_concurrency=1)) as stand:
        calls = [asyncio.ensure_future(stand.ask()) for _ in range(4)]
        await asyncio.sleep(0)
        for call in calls[:3]:
            call.cancel()

        assert (await calls[3]).text
        assert (await stand.ask()).text


ROME = ToolCall(name="weather", arguments={"city": "Rome"}, id="c1")
CONVERSATION = (
    Message("system", "Be kind."),
    Message("user", "How is Rome?"),
    Message("assistant", "Let me look.", tool_calls=(ROME,)),
    Message("tool", "sunny", tool_call_id="c1"),
    Message("user", "And tomorrow?"),
)
ROME_FOR_OPENAI = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}}
FOR_OPENAI = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "How is Rome?"},
    {"role": "assistant", "content": "Let me look.", "tool_calls": [ROME_FOR_OPENAI]},
    {"role": "tool", "content": "sunny", "tool_call_id": "c1"},
    {"role": "user", "content": "And tomorrow?"},
]
FOR_ANTHROPIC = [
    {"role": "user", "content": "How is Rome?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Rome"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "sunny"},
            {"type": "text", "text": "And tomorrow?"},
        ],
    },
]
FOR_TARGETS = [
    *FOR_OPENAI[:2],
    {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [{"name": "weather", "arguments": {"city": "Rome"}, "id": "c1"}],
    },
    *FOR_OPENAI[3:],
]
FOR_ROUTER = (
    "system: Be kind.\n\nuser: How is Rome?\n\n"
    'assistant: Let me look.\nweather({"city":"Rome"})\n\ntool: sunny\n\nuser: And tomorrow?'
)


SHAPES: dict[str, tuple[dict[str, Any], str | None]] = {
    "openai": ({"messages": FOR_OPENAI}, None),
    "anthropic": ({"messages": FOR_ANTHROPIC, "system": "Be kind."}, None),
    "router": ({"prompt": FOR_ROUTER}, "config"),
    "python": ({"messages": FOR_TARGETS, "question": "And tomorrow?"}, "params"),
    "command": ({"messages": FOR_TARGETS, "prompt": "And tomorrow?"}, "params"),
}
"""What arrives, and the field that holds the parameters, if there is one for them."""


@each(("kind", "expected", "field"), [(kind, *entry) for kind, entry in SHAPES.items()])
async def test_a_conversation_with_tools_and_parameters_of_the_service_reach_it_in_its_own_shape(
    kind: str, expected: dict[str, Any], field: str | None
) -> None:
    options = {"top_p": 0.9, "reasoning": {"effort": "low"}}
    async with Stand(kind, "repeats") as stand:
        received = await stand.received(messages=CONVERSATION, options=options)

    assert {name: received[name] for name in expected} == expected
    holder = received if field is None else received[field]
    assert {name: holder.get(name) for name in options} == options


async def test_the_mock_answers_what_the_user_said_last_whatever_parameters_it_is_given() -> None:
    async with Stand("mock", "answers") as stand:
        plain = await stand.ask(messages=CONVERSATION)
        with_options = await stand.ask(messages=CONVERSATION, options={"top_p": 0.9})

    assert "tomorrow" in plain.text
    assert (plain.text, plain.usage) == (with_options.text, with_options.usage)


ODD_REQUESTS: dict[str, dict[str, Any]] = {
    "half a character": {"messages": (Message("user", "\ud800"),)},
    "no message": {"messages": ()},
    "an empty message": {"messages": (Message("user", ""),)},
    "a NUL": {"messages": (Message("user", "a\0b"),)},
    "a temperature that is no number": {"temperature": float("nan")},
    "an option that is no JSON": {"options": {"x": object()}},
    "a tool call that is no JSON": {
        "messages": (Message("assistant", "", tool_calls=(ToolCall(name="f", arguments={"x": object()}),)),)
    },
    "a tool call with half a character": {
        "messages": (Message("assistant", "", tool_calls=(ToolCall(name="f", arguments={"x": "\ud800"}),)),)
    },
    "a tool call with broken arguments": {
        "messages": (Message("assistant", "", tool_calls=(ToolCall(name="f", arguments="{not JSON"),)),)
    },
    "a result that no call asked for": {"messages": (Message("tool", "sunny"),)},
    "a million characters": {"messages": (Message("user", "x" * 1_000_000),)},
}


@pytest.mark.parametrize("kind", ALL)
@each("odd", ODD_REQUESTS.values(), ids=ODD_REQUESTS)
async def test_whatever_is_asked_there_is_an_answer_or_a_provider_error(kind: str, odd: dict[str, Any]) -> None:
    async with Stand(kind, "answers") as stand:
        try:
            answer = await stand.ask(**odd)
        except ProviderError as error:
            assert error.provider == "svc"  # noqa: PT017 - either outcome will do
        else:
            assert answer.model


@each("kind", ALL)
async def test_many_calls_at_once_all_get_their_answer_and_closing_twice_is_not_an_error(kind: str) -> None:
    async with Stand(kind, "answers") as stand:
        async with asyncio.timeout(60):
            answers = await asyncio.gather(*(stand.ask(sample=number) for number in range(200)))

        meter = stand.calls.meter
        assert all(answer.text and answer.tries == 1 for answer in answers)
        assert (meter.calls, meter.answers, meter.in_flight) == (200, 200, 0)
        assert stand.server.open_connections <= 64
        await stand.calls.close()
        await stand.calls.close()
