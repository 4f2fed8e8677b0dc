"""The release harness's router: `{prompt, config, attempt}` out, `{output}` back."""

from __future__ import annotations

from typing import Any

import pytest
from entries import each
from service import says, service

from prompt_evaluator.errors import BadReplyError, ConfigurationError
from prompt_evaluator.model import Message, Usage
from prompt_evaluator.providers.catalogue import BUILT_IN, KINDS
from prompt_evaluator.providers.opened import Resources

ENTRY = {"id": "candidate-1", "model": "gpt-4o", "temperature": 0.2, "nested": {"a": [1, None, "ü"]}}


async def test_the_body_is_prompt_config_and_attempt_with_the_whole_entry() -> None:
    async with service("router") as svc:
        await svc.ask(options=ENTRY, attempt=2, temperature=0.9, max_tokens=5, seed=1)

    assert svc.last.json == {"prompt": "hello", "config": ENTRY, "attempt": 2}
    assert svc.last.path == "/router"


NAMED = {"id": "candidate-9"}
SENT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the first attempt is number 0": ({}, {"attempt": 0}),
    "without an entry the model is the config": ({"model": "candidate-9"}, {"config": NAMED}),
    "an entry without an id has the model's": (
        {"model": "candidate-9", "options": {"top_p": 0.9}},
        {"config": {**NAMED, "top_p": 0.9}},
    ),
    "turns of a longer conversation begin with their role": (
        {"messages": (Message("user", "hi"), Message("assistant", "ho"), Message("user", "again"))},
        {"prompt": "user: hi\n\nassistant: ho\n\nuser: again"},
    ),
    "all messages make the prompt": (
        {"messages": (Message("system", "Be kind."), Message("user", "hi"))},
        {"prompt": "Be kind.\n\nhi"},
    ),
}


@each(("asked", "sent"), SENT.values(), ids=SENT)
async def test_what_is_asked_is_sent_as_the_harness_expects(asked: dict[str, Any], sent: dict[str, Any]) -> None:
    async with service("router") as svc:
        await svc.ask(**asked)

    assert {name: svc.last.json[name] for name in sent} == sent


async def test_authorization_is_sent_only_when_the_key_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVAL_ROUTER_API_KEY", raising=False)
    async with service("router", api_key_env="EVAL_ROUTER_API_KEY") as svc:
        await svc.ask()
        monkeypatch.setenv("EVAL_ROUTER_API_KEY", "router-key-test")
        await svc.ask()
        monkeypatch.setenv("EVAL_ROUTER_API_KEY", "")
        await svc.ask()

    sent = [request.headers.get("authorization") for request in svc.server.received]
    assert sent == [None, "Bearer router-key-test", None]


def test_the_built_in_router_needs_an_address_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVAL_ROUTER_URL", raising=False)

    assert not BUILT_IN["router"].key_required
    with pytest.raises(ConfigurationError, match="EVAL_ROUTER_URL"):
        KINDS.get("router")("router", BUILT_IN["router"], Resources())


async def test_the_output_is_the_text_and_what_the_router_does_not_say_is_unknown() -> None:
    async with service("router", says({"output": "", "more": 1})) as svc:
        answer = await svc.ask(model="candidate-1")

    assert (answer.text, answer.model) == ("", "candidate-1")
    assert (answer.usage, answer.cost, answer.finish_reason) == (Usage(), None, None)


@each("output", [None, 7, ["x"], {"text": "x"}])
async def test_an_output_that_is_not_text_is_not_an_answer(output: object) -> None:
    async with service("router", *[says({"output": output})] * 2) as svc:
        with pytest.raises(BadReplyError, match="expected shape"):
            await svc.ask()
