"""Parses `messages`: a conversation instead of one input, in our own format or that of chat services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec

from prompt_evaluator.model import Message, Role, ToolCall
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROLES: tuple[Role, ...] = get_args(Role)
_IGNORED = {"name"}
"""Fields that services write but that do not affect the answer."""
_FIELDS = {"role", "content", "tool_calls", "tool_call_id", *_IGNORED}
_NOTHING: tuple[Any, ...] = (None, "", [], {})


def is_meant_as_conversation(value: object) -> bool:
    """Return whether a value looks like a conversation, valid or not."""
    return (
        isinstance(value, list)
        and all(isinstance(turn, dict) for turn in value)
        and any("role" in turn for turn in value)
    )


def parse_messages(value: object) -> tuple[Message, ...]:
    """Parse the turns of a conversation, which must end with a turn of the user or of a tool.

    Raises:
        ValueError: What is wrong and what to write, without a full stop.
    """
    if not isinstance(value, list) or not value:
        what = "it is empty" if value == [] else f"it is {described(value)}, not a list"
        raise ValueError(f"{what}: write a list of turns with `role` and `content`")
    turns = tuple(_turn(position, written) for position, written in enumerate(value))
    if not any(turn.role == "user" for turn in turns):
        raise ValueError("no turn is the user's: add one with `role: user`")
    if turns[-1].role not in ("user", "tool"):
        raise ValueError(f"the last turn has the role {turns[-1].role!r}: end with a turn of the user or of a tool")
    _check_answered_calls(turns)
    return turns


def last_question(turns: Sequence[Message]) -> str:
    """Return the user's last message."""
    return next(turn.content for turn in reversed(turns) if turn.role == "user")


def _turn(position: int, written: object) -> Message:
    try:
        if not isinstance(written, dict):
            raise _wrong(f"it is {described(written)}", "write a mapping with `role` and `content`")
        return _message(written)
    except ValueError as error:
        raise ValueError(f"item {position}: {error}") from None


def _message(written: dict[str, Any]) -> Message:
    for name, value in written.items():
        if name not in _FIELDS and value not in _NOTHING:
            raise _wrong(f"a turn has no field {name!r}", "remove it, or make it a field of the case")
    role = written.get("role")
    if role not in _ROLES:
        raise _wrong(f"`role` is {described(role)}", f"write one of {', '.join(_ROLES)}")
    calls = _tool_calls(written.get("tool_calls"), role)
    content = _content(written.get("content"), may_be_missing=bool(calls))
    if role == "user" and not content.strip():
        raise _wrong("the user says nothing", "write a text as `content`")
    return Message(role, content, calls, _answered_call(written.get("tool_call_id"), role))


def _content(value: object, *, may_be_missing: bool) -> str:
    if isinstance(value, str):
        return value
    if value is None and may_be_missing:
        return ""
    if not isinstance(value, list):
        raise _wrong(f"`content` is {described(value)}", "write a text, or a list of parts with `type: text`")
    return "\n".join(_text_part(part) for part in value)


def _text_part(part: object) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(kind, str) and "image" in kind:
        raise _wrong("image parts are not supported yet", "describe the picture in a text")
    text = part.get("text") if isinstance(part, dict) else None
    if kind != "text" or not isinstance(text, str):
        what = f"a part of `content` has the type {kind!r}" if isinstance(kind, str) else "a part has no type"
        raise _wrong(what if kind != "text" else "a text part has no text", "write {type: text, text: …}")
    return text


def _tool_calls(value: object, role: Role) -> tuple[ToolCall, ...]:
    if value in _NOTHING:
        return ()
    if role != "assistant":
        raise _wrong(f"a turn with the role {role!r} has `tool_calls`", "only the assistant calls tools")
    if not isinstance(value, list):
        raise _wrong(f"`tool_calls` is {described(value)}", "write a list of calls with `name` and `arguments`")
    return tuple(_tool_call(call) for call in value)


def _tool_call(call: object) -> ToolCall:
    """Parse `{name, arguments, id}`, or OpenAI's format, which has name and arguments in `function`."""
    outer = call if isinstance(call, dict) else {}
    inner = outer["function"] if isinstance(outer.get("function"), dict) else outer
    name, identifier = inner.get("name"), outer.get("id")
    if not isinstance(name, str) or not name:
        raise _wrong("a tool call has no name", "write {name: …, arguments: {…}, id: …}")
    if identifier is not None and not isinstance(identifier, str):
        raise _wrong(f"`id` of the call {name!r} is {described(identifier)}", "write it in quotes")
    return ToolCall(name=name, arguments=_arguments(inner.get("arguments"), name), id=identifier)


def _arguments(value: object, name: str) -> dict[str, Any] | str:
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        raise _wrong(f"`arguments` of the call {name!r} is {described(value)}", "write a mapping, or its JSON text")
    try:
        return msgspec.json.decode(value, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return value  # as a model wrote it, which need not be JSON


def _answered_call(value: object, role: Role) -> str | None:
    if value is None:
        return None
    if role != "tool":
        raise _wrong(f"a turn with the role {role!r} has `tool_call_id`", "only a tool answers a call")
    if not isinstance(value, str) or not value:
        raise _wrong(f"`tool_call_id` is {described(value)}", "write the `id` of the call that it answers")
    return value


def _check_answered_calls(turns: Sequence[Message]) -> None:
    """Refuse an answer to a call that was never made. Services would too, but only after other cases were paid for."""
    made: set[str | None] = {None}
    for position, turn in enumerate(turns):
        if turn.tool_call_id not in made:
            what = f"item {position}: no earlier turn makes the call {turn.tool_call_id!r} that it answers"
            raise _wrong(what, "give that call this `id`")
        made.update(call.id for call in turn.tool_calls)


def _wrong(what: str, advice: str) -> ValueError:
    return ValueError(f"{what}: {advice}")
