"""Tool calls that the mock provider makes up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.model import ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from prompt_evaluator.model import Request, TestCase

_WRONG_ARGUMENT = 0.6
"""Share of bad samples with a wrong argument; the others lack a call."""


def tool_calls(request: Request, rng: Random, *, good: bool) -> tuple[ToolCall, ...]:
    """Return the calls that the case expects, with one mistake unless `good`. Empty if no tools are offered."""
    offered = {tool["name"]: tool for tool in map(_function, request.tools) if isinstance(tool.get("name"), str)}
    expected = _expected(request.case) if request.case and offered else None
    if expected is None or request.case is None:
        return ()
    calls = [
        ToolCall(
            name=call["name"],
            arguments=_arguments(call, offered[call["name"]]),
            id=f"call_{rng.getrandbits(64):016x}",
        )
        for call in expected
        if call["name"] in offered
    ]
    return tuple(calls if good else _spoilt(calls, list(offered.values()), rng))


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    inner = tool.get("function", tool)
    return inner if isinstance(inner, dict) else {}


def _expected(case: TestCase) -> list[dict[str, Any]] | None:
    """Combine the calls that the checks of a case expect, in order if one of them asks for an order.

    None if the case does not mention tools, which differs from expecting no calls.
    """
    wishes = [check.options for check in case.checks if check.metric == "tool_correctness"]
    wishes = wishes or [case.metadata]
    wishes.sort(key=lambda options: options.get("mode") != "ordered")
    lists = [found for options in wishes if (found := _calls(options.get("expected_tools"))) is not None]
    if not lists:
        return None
    calls = [dict(call) for call in lists[0]]
    for extra in (call for others in lists[1:] for call in others):
        same = [call for call in calls if call["name"] == extra["name"]]
        if not same:
            calls.append(dict(extra))
        elif "args" not in same[0] and "args" in extra:
            same[0]["args"] = extra["args"]
    return calls


def _calls(value: Any) -> list[dict[str, Any]] | None:
    if not isinstance(value, list):
        return None
    return [call for call in value if isinstance(call, dict) and isinstance(call.get("name"), str)]


def _arguments(call: dict[str, Any], tool: dict[str, Any]) -> dict[str, Any]:
    """The expected arguments or, where any will do, one of its type for each that the tool requires."""
    if isinstance(call.get("args"), dict):
        return {name: _meant(value) for name, value in call["args"].items()}
    schema = tool.get("parameters") or {}
    properties = schema.get("properties") or {}
    return {name: _sample(properties.get(name) or {}) for name in schema.get("required") or ()}


def _sample(schema: dict[str, Any]) -> Any:
    kinds = {"integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
    return schema["enum"][0] if schema.get("enum") else kinds.get(schema.get("type", ""), "example")


def _meant(value: Any) -> Any:
    """Return a value that matches the expected one, which may be a matcher."""
    if isinstance(value, list):
        return [_meant(item) for item in value]
    if not isinstance(value, dict):
        return value
    for matcher in ("$exact", "$approx", "$contains"):
        if matcher in value:
            return value[matcher]
    if isinstance(several := value.get("$one_of"), list) and several:
        return _meant(several[0])
    return {name: _meant(inner) for name, inner in value.items()}


def _spoilt(calls: list[ToolCall], offered: Sequence[dict[str, Any]], rng: Random) -> Sequence[ToolCall]:
    """Add one mistake: a wrong argument, a missing call, or an unexpected one."""
    if not calls:
        tool = rng.choice(offered)
        return [ToolCall(name=tool["name"], arguments=_arguments({}, tool), id="call_uncalled_for")]
    at = rng.randrange(len(calls))
    call = calls[at]
    if not isinstance(call.arguments, dict) or not call.arguments or rng.random() >= _WRONG_ARGUMENT:
        return calls[:at] + calls[at + 1 :]
    key = rng.choice(list(call.arguments))
    arguments = {**call.arguments, key: _other(call.arguments[key])}
    return [*calls[:at], ToolCall(name=call.name, arguments=arguments, id=call.id), *calls[at + 1 :]]


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value} or similar" if value else "unknown"
        case _:
            return None
