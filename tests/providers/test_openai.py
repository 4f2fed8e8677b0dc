"""Chat completions on the wire: exactly what is sent, and what is read from every shape of reply."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from entries import each
from service import refuses, says, service

from prompt_evaluator import __version__
from prompt_evaluator.errors import BadReplyError, RequestRefusedError
from prompt_evaluator.model import Message, TokenChoice, ToolCall, Usage

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "weather", "description": "Looks out of the window.", "parameters": SCHEMA}
PLAIN = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def reply(message: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    choice = {"message": message or {"content": "hi"}, "finish_reason": "stop"}
    choice |= {key: changes.pop(key) for key in ("finish_reason", "logprobs") if key in changes}
    return {"choices": [choice], **changes}


async def test_a_request_holds_what_was_asked_and_no_case_and_no_key() -> None:
    async with service("openai") as svc:
        await svc.ask(sample=4, attempt=2)

    assert svc.last.json == PLAIN
    assert svc.last.path == "/chat/completions"
    assert "authorization" not in svc.last.headers


async def test_every_parameter_has_its_field() -> None:
    async with service("openai") as svc:
        await svc.ask(
            messages=(Message("system", "Be kind."), Message("user", "hi"), Message("assistant", "ho")),
            temperature=0.0,
            max_tokens=50,
            seed=7,
            tools=(FUNCTION,),
            response_schema=SCHEMA,
            top_logprobs=3,
            options={"reasoning_effort": "low"},
        )

    assert svc.last.json == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "ho"},
        ],
        "temperature": 0.0,
        "max_tokens": 50,
        "seed": 7,
        "tools": [{"type": "function", "function": FUNCTION}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": SCHEMA, "strict": False},
        },
        "logprobs": True,
        "top_logprobs": 3,
        "reasoning_effort": "low",
    }


async def test_calls_without_text_have_no_content_and_broken_arguments_stay_as_they_are() -> None:
    call = ToolCall(name="weather", arguments="{not JSON", id="c1")
    async with service("openai") as svc:
        await svc.ask(messages=(Message("user", "hi"), Message("assistant", "", tool_calls=(call,))))

    sent = svc.last.json["messages"][1]
    assert sent["content"] is None
    assert sent["tool_calls"][0]["function"] == {"name": "weather", "arguments": "{not JSON"}


CALLED = (ToolCall(name="a", arguments={}), ToolCall(name="b", arguments={}))
NAMED = (ToolCall(name="a", arguments={}, id="c1"), ToolCall(name="b", arguments={}, id="c2"))


async def test_calls_and_results_without_ids_are_joined_in_order_and_each_result_belongs_to_the_call_it_names() -> None:
    turns = (Message("assistant", "", tool_calls=CALLED), Message("tool", "1"), Message("tool", "2"))
    named = (Message("tool", "2", tool_call_id="c2"), Message("tool", "1"), Message("tool", "?"))
    async with service("openai") as svc:
        await svc.ask(messages=(*turns, *turns, Message("assistant", "", tool_calls=NAMED), *named))

    sent = svc.last.json["messages"]
    made = [call["id"] for turn in sent for call in turn.get("tool_calls", ())]
    answered = [turn.get("tool_call_id") for turn in sent if turn["role"] == "tool"]
    assert answered == [*made[:4], "c2", "c1", None]
    assert len(set(made)) == 6


async def test_a_parameter_given_by_the_user_wins_over_ours_and_null_takes_it_out() -> None:
    options = {"temperature": 0.1, "max_tokens": 9, "seed": None, "stop": None}
    async with service("openai") as svc:
        await svc.ask(temperature=0.7, max_tokens=50, seed=3, options=options)

    assert svc.last.json == {**PLAIN, "temperature": 0.1, "max_tokens": 9}


async def test_tools_may_be_given_in_either_shape() -> None:
    wrapped = {"type": "function", "function": FUNCTION}
    async with service("openai") as svc:
        await svc.ask(tools=(FUNCTION, wrapped))

    assert svc.last.json["tools"] == [wrapped, wrapped]


async def test_headers_say_who_asks_and_what_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_OPENAI_KEY", "sk-headers-test")
    async with service("openai", api_key_env="TEST_OPENAI_KEY", headers={"OpenAI-Project": "p"}) as svc:
        await svc.ask()

    sent = svc.last.headers
    assert sent["authorization"] == "Bearer sk-headers-test"
    assert sent["content-type"] == sent["accept"] == "application/json"
    assert sent["user-agent"] == f"prompt-evaluator/{__version__}"
    assert sent["openai-project"] == "p"
    assert not {"cookie", "x-api-key", "anthropic-version"} & set(sent)


async def test_azure_takes_its_key_in_a_header_and_its_version_in_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_AZURE_KEY", "azure-key-test")
    async with service(
        "openai",
        path="/openai/deployments/gpt-4o",
        api_key_env="TEST_AZURE_KEY",
        api_key_header="api-key",
        query={"api-version": "2024-10-21"},
    ) as svc:
        answer = await svc.ask()

    assert svc.last.path == "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
    assert svc.last.headers["api-key"] == "azure-key-test"
    assert "authorization" not in svc.last.headers
    assert answer.text == svc.server.answer


@each(
    ("path", "expected"),
    [
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/v1?a=1&a=2&b=x%20y", "/v1/chat/completions?a=1&a=2&b=x%20y"),
        ("/a%2Fb", "/a%2Fb/chat/completions"),
        ("/v1?api-version=2023-03-15-preview", "/v1/chat/completions?api-version=2023-03-15-preview"),
    ],
)
async def test_the_base_address_keeps_its_path_and_its_query_which_is_not_masked_in_answers(
    path: str, expected: str
) -> None:
    async with service("openai", path=path) as svc:
        svc.server.answer = "It was called 2023-03-15-preview."
        answer = await svc.ask()

    assert svc.last.path == expected
    assert answer.text == svc.server.answer


UNSUPPORTED = [
    "Unsupported parameter: '{}' is not supported with this model.",
    "Unsupported value: '{}' does not support 0.2 with this model. Only the default (1) value is supported.",
    "Unrecognized request argument supplied: {}",
    'Invalid JSON payload received. Unknown name "{}": Cannot find field.',
    "property '{}' is unsupported",
    "body.{}: Extra inputs are not permitted",
]


@each("message", UNSUPPORTED)
async def test_a_service_without_max_completion_tokens_gets_max_tokens(message: str) -> None:
    async with service("openai", refuses(message.format("max_completion_tokens")), service="openai") as svc:
        answer = await svc.ask(max_tokens=50)
        await svc.ask(max_tokens=60)

    first, second, third = (request.json for request in svc.server.received)
    assert answer.text == svc.server.answer
    assert first == {**PLAIN, "max_completion_tokens": 50}
    assert second == {**PLAIN, "max_tokens": 50}
    assert third == {**PLAIN, "max_tokens": 60}


@each("message", UNSUPPORTED)
async def test_a_model_that_refuses_temperature_is_asked_without_from_then_on_and_others_still_get_it(
    message: str,
) -> None:
    async with service("openai", refuses(message.format("temperature"))) as svc:
        await svc.ask(temperature=0.2)
        await svc.ask(temperature=0.3)
        await svc.ask(temperature=0.2, model="other")

    assert [request.json for request in svc.server.received[1:3]] == [PLAIN, PLAIN]
    assert svc.last.json == {**PLAIN, "model": "other", "temperature": 0.2}


async def test_several_fields_may_be_refused_one_after_the_other() -> None:
    refusals = [refuses(UNSUPPORTED[0].format(field)) for field in ("temperature", "seed", "logprobs")]
    async with service("openai", *refusals) as svc:
        await svc.ask(temperature=0.2, seed=1, top_logprobs=2)
        await svc.ask(temperature=0.2, seed=1, top_logprobs=2)

    assert len(svc.server.received) == 5
    assert [request.json for request in svc.server.received[3:]] == [PLAIN, PLAIN]


async def test_calls_that_learn_different_refusals_at_once_do_not_forget_each_others() -> None:
    refusals = [refuses(UNSUPPORTED[0].format(field)) for field in ("temperature", "seed")]
    async with service("openai", *refusals) as svc:
        await asyncio.gather(svc.ask(temperature=0.2, seed=1), svc.ask(temperature=0.2, seed=1))
        await svc.ask(temperature=0.2, seed=1)

    assert svc.last.json == PLAIN


@each(
    ("field", "message"),
    [
        ("max_tokens", "max_completion_tokens is too large: 999999. This model supports at most 16384 tokens."),
        ("temperature", "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3."),
        ("response_schema", "Invalid schema for response_format 'answer': 'oneOf' is not permitted."),
        ("seed", "Your prompt about seeds is not allowed."),
    ],
)
async def test_a_wrong_value_is_the_callers_mistake_and_is_not_left_out(field: str, message: str) -> None:
    value = {"temperature": 3.0, "max_tokens": 999_999, "response_schema": SCHEMA, "seed": 1}[field]
    async with service("openai", refuses(message)) as svc:
        with pytest.raises(RequestRefusedError):
            await svc.ask(**{field: value})

    assert len(svc.server.received) == 1


async def test_a_service_that_refuses_everything_is_not_asked_for_ever() -> None:
    message = "Not supported: temperature, seed, logprobs, response_format"
    async with service("openai", *[refuses(message)] * 20) as svc:
        with pytest.raises(RequestRefusedError):
            await svc.ask(temperature=1, seed=1, max_tokens=1, top_logprobs=1, response_schema=SCHEMA)

    assert len(svc.server.received) == 4


async def test_an_answer_carries_what_the_reply_says() -> None:
    body = reply({"content": "4"}, finish_reason="length", model="gpt-real", usage={"prompt_tokens": 3})
    async with service("openai", says(body)) as svc:
        answer = await svc.ask()

    assert (answer.text, answer.finish_reason, answer.model) == ("4", "length", "gpt-real")
    assert answer.usage == Usage(input_tokens=3, output_tokens=None)
    assert (answer.tool_calls, answer.logprobs) == ((), None)


PARTS = [{"type": "text", "text": "one "}, {"type": "image"}, {"type": "text", "text": "two"}]
TEXTS: dict[str, tuple[dict[str, Any], str]] = {
    "a text": ({"content": "4"}, "4"),
    "a refusal": ({"content": None, "refusal": "I will not."}, "I will not."),
    "parts": ({"content": PARTS}, "one two"),
    "nothing but how it ended": ({"content": None}, ""),
}


@each(("message", "text"), TEXTS.values(), ids=TEXTS)
async def test_the_text_is_what_the_message_says_in_any_form_and_a_model_without_a_name_is_the_one_asked(
    message: dict[str, Any], text: str
) -> None:
    async with service("openai", says(reply(message))) as svc:
        answer = await svc.ask()

    assert (answer.text, answer.model, answer.usage) == (text, "m", Usage())


@each(
    ("body", "said"),
    [
        ({"choices": [{"message": {"content": None}}]}, "says nothing"),
        ({"error": {"message": "the upstream model is gone"}}, "the upstream model is gone"),
    ],
)
async def test_a_reply_without_an_answer_says_what_the_service_said(body: dict[str, Any], said: str) -> None:
    async with service("openai", says(body), says(body)) as svc:
        with pytest.raises(BadReplyError, match=said):
            await svc.ask()


ARGUMENTS: dict[str, tuple[Any, Any]] = {
    "an object": ('{"city": "Rome"}', {"city": "Rome"}),
    "not as text": ({"city": "Rome"}, {"city": "Rome"}),
    "empty": ("", {}),
    "null": (None, {}),
    "broken off": ('{"city": "Ro', '{"city": "Ro'),
    "an array": ("[1]", "[1]"),
    "too deep": ("[" * 100_000, "[" * 100_000),
}


@each(("sent", "read"), ARGUMENTS.values(), ids=ARGUMENTS)
async def test_arguments_of_a_tool_call_are_an_object_or_kept_as_they_came(sent: object, read: object) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": sent}}
    body = reply({"content": None, "tool_calls": [call]}, finish_reason="tool_calls")
    async with service("openai", says(body)) as svc:
        answer = await svc.ask()

    assert answer.text == ""
    assert answer.tool_calls == (ToolCall(name="weather", arguments=read, id="call_1"),)  # type: ignore[arg-type]


async def test_logprobs_are_read_with_their_alternatives() -> None:
    tokens = [
        {"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": [{"token": "b", "logprob": -2.5}]},
        {"token": "c", "logprob": 0},
    ]
    async with service("openai", says(reply(logprobs={"content": tokens}))) as svc:
        answer = await svc.ask(top_logprobs=1)

    assert answer.logprobs == (
        TokenChoice(token="a", logprob=-0.1, top={"b": -2.5}),
        TokenChoice(token="c", logprob=0.0),
    )
