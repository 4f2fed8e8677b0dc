"""Anthropic's messages on the wire: exactly what is sent, and what is read from a reply."""

from __future__ import annotations

from typing import Any

import pytest
from entries import each
from service import says, service

from prompt_evaluator.errors import QuotaExhaustedError, RequestRefusedError
from prompt_evaluator.model import Message, ToolCall, Usage

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "weather", "description": "Looks out of the window.", "parameters": SCHEMA}


def reply(*blocks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"content": blocks or [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", **changes}


async def test_a_request_holds_the_question_and_the_max_tokens_that_the_api_requires() -> None:
    async with service("anthropic") as svc:
        await svc.ask()

    assert svc.last.path == "/v1/messages"
    assert svc.last.json == {"model": "m", "max_tokens": 16_384, "messages": [{"role": "user", "content": "hello"}]}


async def test_every_parameter_has_its_field_and_the_system_prompt_is_separate() -> None:
    messages = (Message("system", "Be kind."), Message("user", "hi"), Message("system", "Be brief."))
    async with service("anthropic") as svc:
        await svc.ask(
            messages=messages, temperature=0.0, max_tokens=50, tools=(FUNCTION,), options={"top_k": 5}, seed=7
        )

    assert svc.last.json == {
        "model": "m",
        "max_tokens": 50,
        "messages": [{"role": "user", "content": "hi"}],
        "system": "Be kind.\n\nBe brief.",
        "temperature": 0.0,
        "tools": [{"name": "weather", "description": FUNCTION["description"], "input_schema": SCHEMA}],
        "top_k": 5,
    }


async def test_turns_of_one_side_are_one_message_with_results_first_and_no_empty_text() -> None:
    call = ToolCall(name="now", arguments={}, id="t1")
    messages = (
        Message("user", "one"),
        Message("user", "two"),
        Message("assistant", "", tool_calls=(call,)),
        Message("user", "hurry"),
        Message("system", "Be brief."),
        Message("tool", "noon", tool_call_id="t1"),
        Message("user", ""),
    )
    async with service("anthropic") as svc:
        await svc.ask(messages=messages)

    assert svc.last.json["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "now", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "noon"},
                {"type": "text", "text": "hurry"},
            ],
        },
    ]


async def test_a_call_whose_arguments_are_not_an_object_is_refused_before_it_is_sent() -> None:
    call = ToolCall(name="now", arguments="{not JSON", id="t1")
    async with service("anthropic") as svc:
        with pytest.raises(RequestRefusedError, match="a call to 'now' in the conversation are not a JSON object"):
            await svc.ask(messages=(Message("user", "hi"), Message("assistant", "", tool_calls=(call,))))

    assert svc.server.received == []


async def test_a_parameter_given_by_the_user_wins_over_ours_and_null_takes_it_out() -> None:
    async with service("anthropic") as svc:
        await svc.ask(temperature=0.7, options={"temperature": None, "max_tokens": 9})

    assert svc.last.json == {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}


async def test_tools_may_be_given_in_either_shape_and_without_parameters() -> None:
    async with service("anthropic") as svc:
        await svc.ask(tools=(FUNCTION, {"type": "function", "function": FUNCTION}, {"name": "now"}))

    first, second, without = svc.last.json["tools"]
    assert first == second
    assert without == {"name": "now", "description": "", "input_schema": {"type": "object", "properties": {}}}


async def test_the_key_has_a_header_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_ANTHROPIC_KEY", "sk-ant-test")
    async with service("anthropic", api_key_env="TEST_ANTHROPIC_KEY") as svc:
        await svc.ask()

    assert svc.last.headers["x-api-key"] == "sk-ant-test"
    assert svc.last.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in svc.last.headers


async def test_an_answer_carries_what_the_reply_says() -> None:
    blocks = (
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "one "},
        {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Rome"}},
        {"type": "text", "text": "two"},
    )
    body = reply(*blocks, model="claude-real", stop_reason="tool_use", usage={"input_tokens": 3, "output_tokens": 5})
    async with service("anthropic", says(body)) as svc:
        answer = await svc.ask()

    assert (answer.text, answer.finish_reason, answer.model) == ("one two", "tool_use", "claude-real")
    assert answer.tool_calls == (ToolCall(name="weather", arguments={"city": "Rome"}, id="t1"),)
    assert answer.usage == Usage(input_tokens=3, output_tokens=5)


CACHED = {"cache_creation_input_tokens": 100, "cache_read_input_tokens": 1_000}
USAGES: dict[str, tuple[dict[str, int] | None, Usage]] = {
    "cached tokens are tokens": (
        {"input_tokens": 3, "output_tokens": 5, **CACHED},
        Usage(input_tokens=1_103, output_tokens=5, cached_tokens=1_000, cache_write_tokens=100),
    ),
    "no usage": (None, Usage()),
    "half of it": ({"output_tokens": 5}, Usage(output_tokens=5)),
    "only what was cached": ({"cache_read_input_tokens": 9}, Usage()),
}


@each(("usage", "expected"), USAGES.values(), ids=USAGES)
async def test_cached_tokens_are_tokens_and_what_was_not_counted_is_unknown(
    usage: dict[str, int] | None, expected: Usage
) -> None:
    async with service("anthropic", says(reply(usage=usage))) as svc:
        answer = await svc.ask()

    assert (answer.usage, answer.cost) == (expected, None)


async def test_thinking_that_used_up_the_tokens_is_an_answer_that_was_cut() -> None:
    async with service(
        "anthropic", says(reply({"type": "thinking", "thinking": "hm"}, stop_reason="max_tokens"))
    ) as svc:
        answer = await svc.ask()

    assert (answer.text, answer.outcome) == ("", "length")


async def test_an_empty_account_is_not_tried_again() -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}
    async with service("anthropic", says(body, status=403)) as svc:
        with pytest.raises(QuotaExhaustedError):
            await svc.ask()

    assert len(svc.server.received) == 1
