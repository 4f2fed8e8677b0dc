from __future__ import annotations

from typing import Any

import pytest
from entries import each

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Message, MetricUse, PromptRef, Target, TestCase, ToolCall
from prompt_evaluator.pipeline.messages import CONTEXT_TEMPLATE, RequestBuilder, fill

CASE = TestCase(id="a", input="hello {{task}}", task="greet", metadata={"n": 3, "deep": {"er": ["x"]}, "": 1})
PROMPT = PromptRef(path=None, hash="0", text="Be kind.\r\n")


def builder(**target: Any) -> RequestBuilder:
    known: dict[str, Any] = {"model": "openai/m", "identity": "openai|https://x", "temperature": 0.7, "seed": 10}
    return RequestBuilder(Target(**known | target), "m")


@each(
    ("template", "filled"),
    [
        ("{{input}}", "hello {{task}}"),
        ("{{ task }}-{{id}}", "greet-a"),
        ("{{n}} {{deep.er}} {{deep}}", '3 ["x"] {"er":["x"]}'),
        ("{{{task}}}", "{greet}"),
        ("no places { task } {} {{}}", "no places { task } {} {{}}"),
        ("{{task}}{{task}}", "greetgreet"),
    ],
)
def test_a_template_is_filled_in_one_pass(template: str, filled: str) -> None:
    assert fill(template, CASE) == filled


@each("name", ["reference", "unknown", "deep.other", "n.x", "metadata", "checks"])
def test_a_field_that_the_case_does_not_have_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="'a' does not have"):
        fill(f"{{{{{name}}}}}", CASE)


def test_sample_k_uses_seed_plus_k() -> None:
    assert [builder().request(CASE, sample).seed for sample in range(3)] == [10, 11, 12]


def test_an_attempt_uses_a_seed_that_no_sample_has() -> None:
    assert builder().request(CASE, 2, attempt=1).seed == 10_012


def test_without_a_seed_samples_have_none() -> None:
    assert builder(seed=None).request(CASE, 2).seed is None


def test_a_request_carries_what_is_set_and_the_case() -> None:
    request = builder(max_tokens=5, params={"top_p": 0.5}).request(CASE, 1, attempt=2)

    assert (request.model, request.temperature, request.max_tokens, request.options) == ("m", 0.7, 5, {"top_p": 0.5})
    assert (request.sample, request.attempt, request.case) == (1, 2, CASE)


def test_the_system_prompt_comes_first_word_for_word() -> None:
    messages = builder(prompt=PROMPT).request(CASE, 0).messages

    assert messages == (Message("system", "Be kind.\r\n"), Message("user", "hello {{task}}"))


def test_a_system_prompt_is_filled_in_only_on_request() -> None:
    prompt = PromptRef(path=None, hash="0", text="Your task: {{task}}")

    as_is, filled = (builder(prompt=prompt, render_prompt=wish).request(CASE, 0).messages[0] for wish in (False, True))

    assert (as_is.content, filled.content) == ("Your task: {{task}}", "Your task: greet")


CONVERSATION = (
    Message("user", "Hi."),
    Message("assistant", "", tool_calls=(ToolCall(name="f", arguments={}, id="1"),)),
    Message("tool", "42", tool_call_id="1"),
    Message("user", "And now?"),
)
TALK = TestCase(id="t", input="And now?", messages=CONVERSATION)
PASSAGES = TestCase(id="p", input="How long?", metadata={"context": ["First.", "Second."]})


def test_a_conversation_is_sent_instead_of_the_input() -> None:
    assert builder().turns(TALK) == CONVERSATION


def test_a_template_replaces_the_input() -> None:
    assert builder(template="Say: {{task}}").turns(CASE) == (Message("user", "Say: greet"),)


def test_a_template_replaces_the_last_user_message() -> None:
    assert builder(template="Please: {{input}}").turns(TALK) == (*CONVERSATION[:3], Message("user", "Please: And now?"))


def test_passages_are_sent_with_their_numbers() -> None:
    (turn,) = builder(context_template=CONTEXT_TEMPLATE).turns(PASSAGES)

    assert turn.content == "Answer with the help of these passages:\n\n[1] First.\n\n[2] Second.\n\nHow long?"


def test_a_template_of_the_user_overrides_the_one_for_passages() -> None:
    (turn,) = builder(context_template=CONTEXT_TEMPLATE, template="{{input}}").turns(PASSAGES)

    assert turn.content == "How long?"


def test_cases_without_passages_are_sent_as_they_are() -> None:
    assert builder(context_template=CONTEXT_TEMPLATE).turns(CASE) == (Message("user", "hello {{task}}"),)


def test_sent_messages_are_shown_without_a_shared_system_prompt() -> None:
    assert builder(prompt=PROMPT).shown(CASE) == (Message("user", "hello {{task}}"),)
    assert builder(prompt=PROMPT, render_prompt=True).shown(CASE)[0].role == "system"


# The tools that are offered


def offered(**metadata: Any) -> tuple[dict[str, Any], ...]:
    return builder().request(TestCase(id="a", input="?", metadata=metadata), 0).tools


def test_the_tools_of_a_case_are_offered() -> None:
    tools = [{"name": "f"}, {"type": "function", "function": {"name": "g"}}]

    assert offered(tools=tools) == tuple(tools)


@each("tools", ["f", ["f"], [{"no": "name"}], {"name": "f"}, [{"function": "f"}], [{"name": 3}]])
def test_anything_but_a_list_of_tools_is_not_offered(tools: Any) -> None:
    assert offered(tools=tools) == ()


def test_expected_calls_are_offered_if_no_tools_are_given() -> None:
    check = MetricUse(metric="tool_correctness", options={"expected_tools": [{"name": "f", "args": {"x": 1}}]})
    case = TestCase(
        id="a", input="?", checks=(check,), metadata={"expected_tools": ["g", {"name": "f", "args": {"y": 2}}]}
    )

    assert builder().request(case, 0).tools == (
        {"name": "f", "parameters": {"type": "object", "properties": {"x": {}, "y": {}}}},
        {"name": "g", "parameters": {"type": "object", "properties": {}}},
    )
