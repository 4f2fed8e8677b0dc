"""`messages`: a conversation in place of one input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from entries import each

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.datasets.conversations import parse_messages
from prompt_evaluator.datasets.in_memory import in_memory_cases
from prompt_evaluator.errors import InputError
from prompt_evaluator.model import Message, TestCase, ToolCall

if TYPE_CHECKING:
    from tests.datasets.conftest import Write

HELLO = {"role": "user", "content": "Hello"}
TASK = {"id": "a", "name": "n", "expected_output": "y"}
TALK = [
    {"role": "system", "content": "Be brief."},
    HELLO,
    {"role": "assistant", "content": "Hi!"},
    {"role": "user", "content": "And now?"},
]
TURNS = (
    Message("system", "Be brief."),
    Message("user", "Hello"),
    Message("assistant", "Hi!"),
    Message("user", "And now?"),
)


def called(**call: Any) -> list[dict[str, Any]]:
    return [HELLO, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "12"}]


@pytest.mark.parametrize("name", ["d.jsonl", "d.yaml", "d.json", "b.yaml"])
def test_a_case_may_have_messages_in_place_of_an_input(write: Write, name: str) -> None:
    record = {"id": "a", "topic": "t", "messages": TALK}
    content = {"d.jsonl": record, "b.yaml": {"tasks": [{**TASK, **record}]}}.get(name, [record])
    path = write(name, yaml.safe_dump(content) if name.endswith("yaml") else json.dumps(content))

    (case,) = open_dataset(path).cases

    assert case.messages == TURNS
    assert case.input == "And now?"
    assert "messages" not in case.metadata
    assert case.metadata["topic"] == "t"


def test_messages_are_loaded_too(write: Write) -> None:
    (case,), _ = load_dataset(write("d.jsonl", json.dumps({"id": "a", "messages": TALK})))

    assert (case.messages, case.input, case.metadata) == (TURNS, "And now?", {})


@pytest.mark.parametrize(
    "call",
    [
        {"name": "f", "arguments": {"x": 1}, "id": "c"},
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
    ],
    ids=["ours", "OpenAI's"],
)
def test_a_tool_call_is_read_in_both_spellings(call: dict[str, Any]) -> None:
    assert parse_messages(called(**call))[1].tool_calls == (ToolCall(name="f", arguments={"x": 1}, id="c"),)


@pytest.mark.parametrize(
    ("written", "arguments"),
    [(None, {}), ({"x": 1}, {"x": 1}), ("not JSON", "not JSON"), ("[1]", "[1]"), ("[" * 5_000, "[" * 5_000)],
    ids=["none", "mapping", "text", "list", "deep"],
)
def test_arguments_that_are_no_json_object_stay_as_they_were_written(written: Any, arguments: Any) -> None:
    assert parse_messages(called(name="f", arguments=written))[1].tool_calls[0].arguments == arguments


def test_a_turn_that_calls_tools_needs_no_content() -> None:
    assert parse_messages(called(name="f"))[1].content == ""


def test_a_tools_turn_says_which_call_it_answers() -> None:
    turns = parse_messages([*called(name="f", id="c")[:2], {"role": "tool", "content": "12", "tool_call_id": "c"}])

    assert turns[-1] == Message("tool", "12", tool_call_id="c")


def test_of_a_conversation_that_ends_with_a_tool_the_input_is_what_the_user_said_last(write: Write) -> None:
    (case,) = open_dataset(write("d.jsonl", json.dumps({"id": "a", "messages": called(name="f")}))).cases

    assert case.input == "Hello"


def test_text_parts_are_joined_with_newlines() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]

    assert parse_messages([{"role": "user", "content": parts}]) == (Message("user", "one\ntwo"),)


def test_what_services_add_to_a_turn_is_ignored() -> None:
    turn: dict[str, Any] = {**HELLO, "name": "kim", "refusal": None, "annotations": [], "tool_calls": None}

    assert parse_messages([turn]) == (Message("user", "Hello"),)


WRONG: dict[str, tuple[Any, str]] = {
    "text": ("Hello", "it is the text 'Hello', not a list: write a list of turns"),
    "turn is a text": (["Hello"], "item 0: it is the text 'Hello': write a mapping with `role` and `content`"),
    "no role": ([{"content": "x"}], "item 0: `role` is null: write one of system, user, assistant, tool"),
    "another role": ([HELLO, {"role": "bot", "content": "x"}], "item 1: `role` is the text 'bot': write one of"),
    "unknown field": ([{**HELLO, "mood": 1}], "item 0: a turn has no field 'mood': remove it"),
    "no content": ([{"role": "user"}], "item 0: `content` is null: write a text, or a list of parts"),
    "silent user": ([{"role": "user", "content": ""}], "item 0: the user says nothing: write a text"),
    "no parts": ([{"role": "user", "content": []}], "item 0: the user says nothing"),
    "part without text": ([{"role": "user", "content": [{"type": "text"}]}], "a text part has no text: write"),
    "audio": ([{"role": "user", "content": [{"type": "input_audio"}]}], "has the type 'input_audio': write"),
    "no user": ([{"role": "system", "content": "x"}], "no turn is the user's: add one with `role: user`"),
    "answered": (TALK[:3], "the last turn has the role 'assistant': end with a turn of the user or of a tool"),
    "user calls": ([{**HELLO, "tool_calls": [{"name": "f"}]}], "a turn with the role 'user' has `tool_calls`"),
    "calls are a text": ([HELLO, {"role": "assistant", "tool_calls": "f"}, HELLO], "`tool_calls` is the text 'f'"),
    "call without name": (called(arguments={}), "item 1: a tool call has no name: write {name: …"),
    "id is a number": (called(name="f", id=3), "`id` of the call 'f' is the number 3: write it in quotes"),
    "arguments": (called(name="f", arguments=[1]), "`arguments` of the call 'f' is a list: write a mapping"),
    "user answers": ([{**HELLO, "tool_call_id": "c"}], "a turn with the role 'user' has `tool_call_id`"),
    "answers nobody": (
        [HELLO, {"role": "tool", "content": "", "tool_call_id": "c"}],
        "item 1: no earlier turn makes the call 'c' that it answers: give that call this `id`",
    ),
}


@each(("messages", "sentence"), WRONG.values(), ids=WRONG)
def test_what_is_no_conversation_is_refused_with_what_to_write(messages: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is checked
        parse_messages(messages)

    assert sentence in str(caught.value)


@pytest.mark.parametrize("kind", ["image_url", "image", "input_image"])
def test_image_parts_are_not_supported_yet(write: Write, kind: str) -> None:
    parts = [{"type": "text", "text": "What is this?"}, {"type": kind, "image_url": {"url": "https://example.com"}}]
    path = write("d.jsonl", json.dumps({"id": "a", "messages": [{"role": "user", "content": parts}]}))

    with pytest.raises(InputError, match="image parts are not supported yet: describe the picture in a text"):
        open_dataset(path)


@pytest.mark.parametrize("read", [open_dataset, load_dataset], ids=["open", "load"])
def test_without_an_input_malformed_messages_are_a_missing_input_with_a_note(write: Write, read: Any) -> None:
    path = write("d.yaml", "- id: a\n  topic: t\n  messages:\n    - {role: bot, content: x}\n")

    with pytest.raises(InputError) as caught:
        read(path)

    assert str(caught.value) == (
        f"{path}:3: Record at index 0 is missing required field: input (messages cannot be used: item 0: "
        "`role` is the text 'bot': write one of system, user, assistant, tool). "
        "Correct messages, or add input, a non-empty text."
    )


@pytest.mark.parametrize("messages", [TALK, [{"role": "bot"}]], ids=["well-formed", "malformed"])
def test_beside_an_input_messages_are_metadata_for_loading_and_a_problem_for_commands(
    write: Write, messages: Any
) -> None:
    path = write("d.yaml", yaml.safe_dump([{"id": "a", "input": "x", "messages": messages}], sort_keys=False))

    (case,), _ = load_dataset(path)
    (problem,) = survey(path).problems

    assert (case.input, case.messages, case.metadata) == ("x", (), {"messages": messages})
    assert (problem.line, problem.field) == (3, "messages")
    assert "there is an input too, and only one of them can be used" in str(problem)
    with pytest.raises(InputError, match="there is an input too"):
        open_dataset(path)


@each("value", [None, 3, "three", [], ["a"], [{"text": "x"}], {"role": "user"}], ids=repr)
def test_beside_an_input_what_is_no_conversation_at_all_is_the_authors_own(write: Write, value: Any) -> None:
    (case,) = open_dataset(write("d.jsonl", json.dumps({"id": "a", "input": "x", "messages": value}))).cases

    assert case.metadata == {"messages": value}


def test_a_harness_task_keeps_messages_as_metadata(write: Write) -> None:
    (case,) = open_dataset(write("h.json", json.dumps([{"prompt": "x", "messages": TALK}]))).cases

    assert (case.messages, case.metadata["messages"]) == ((), TALK)


def test_cases_in_memory_may_be_conversations() -> None:
    (case,) = in_memory_cases([{"id": "a", "messages": TALK}])

    assert (case.messages, case.input) == (TURNS, "And now?")


def test_a_conversation_given_as_an_object_is_kept() -> None:
    given = TestCase(id="a", input="And now?", messages=TURNS)

    assert in_memory_cases([given]) == (given,)


def test_cases_in_memory_are_held_to_the_rules_of_commands() -> None:
    with pytest.raises(InputError, match="there is an input too"):
        in_memory_cases([{"id": "a", "input": "x", "messages": TALK}])
