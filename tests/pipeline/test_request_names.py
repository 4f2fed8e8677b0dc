"""The same question has the same name, and another question another one."""

from __future__ import annotations

from typing import Any

from entries import each

from prompt_evaluator.model import Message, Request, ToolCall
from prompt_evaluator.pipeline.naming import unit_name


def name(identity: str = "openai|https://x", **changes: Any) -> bytes:
    request = Request(**{"model": "m", "messages": (Message("user", "hello"),), **changes})
    return unit_name("generation", identity, request)


def calls(**arguments: Any) -> tuple[Message, ...]:
    call = ToolCall(name="weather", arguments=arguments, id="c1")
    return (Message("assistant", "", tool_calls=(call,)), Message("tool", "sunny", tool_call_id="c1"))


def test_the_same_question_has_the_same_name() -> None:
    options = {"top_p": 0.9, "reasoning": {"effort": "low", "summary": None}}
    turned = {"reasoning": {"summary": None, "effort": "low"}, "top_p": 0.9}

    assert name(options=options) == name(options=turned)
    assert name(messages=calls(city="Rome")) == name(messages=calls(city="Rome"))


@each(
    "change",
    [
        {"options": {"top_p": 0.9}},
        {"options": {"top_p": None}},
        {"messages": calls(city="Rome")},
        {"messages": calls(city="Oslo")},
        {"identity": "openai|https://x|code:0123"},
    ],
    ids=["a parameter", "a parameter taken out", "a conversation", "other arguments", "other code"],
)
def test_another_question_has_another_name(change: dict[str, Any]) -> None:
    others = [name(), name(messages=calls(city="Paris"))]

    assert name(**change) not in others
