"""Tool calls that the mock provider makes up: those that the case expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.model import ToolCall

if TYPE_CHECKING:
    from random import Random

    from prompt_evaluator.model import Request, TestCase


def tool_calls(request: Request, rng: Random, *, good: bool) -> tuple[ToolCall, ...]:
    """Return the calls that the case expects, with one mistake unless `good`. Empty if no tools are offered."""
    offered = [name for tool in request.tools if isinstance(name := _function(tool).get("name"), str)]
    expected = _expected(request.case) if request.case and offered else None
    if expected is None:
        return ()
    calls = [_call(each["name"], _meant(each["args"]), rng) for each in expected if each["name"] in offered]
    if good:
        return tuple(calls)
    if not calls:
        return (_call(rng.choice(offered), {}, rng),)
    return tuple(_spoilt(calls, rng))


def _call(name: str, arguments: Any, rng: Random) -> ToolCall:
    return ToolCall(name=name, arguments=arguments, id=f"call_{rng.getrandbits(64):016x}")


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    inner = tool.get("function", tool)
    return inner if isinstance(inner, dict) else {}


def _expected(case: TestCase) -> list[dict[str, Any]] | None:
    """The calls that the checks of a case expect, in order if one of them asks for an order.

    None if the case does not mention tools, which differs from expecting no calls.
    """
    wishes = [check.options for check in case.checks if check.metric == "tool_correctness"] or [case.metadata]
    wishes.sort(key=lambda options: options.get("mode") != "ordered")
    lists = [_named(found) for options in wishes if isinstance(found := options.get("expected_tools"), list)]
    if not lists:
        return None
    calls = lists[0]
    for other in (call for others in lists[1:] for call in others):
        same = next((call for call in calls if call["name"] == other["name"]), None)
        if same is None:
            calls.append(other)
        else:
            same["args"] = same["args"] or other["args"]
    return calls


def _named(calls: list[Any]) -> list[dict[str, Any]]:
    """The calls with a name, each with its arguments or an empty mapping."""
    named = [call for call in calls if isinstance(call, dict) and isinstance(call.get("name"), str)]
    return [
        {"name": call["name"], "args": args if isinstance(args := call.get("args"), dict) else {}} for call in named
    ]


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


def _spoilt(calls: list[ToolCall], rng: Random) -> list[ToolCall]:
    """Leave out a call, or one of its arguments."""
    at = rng.randrange(len(calls))
    call = calls[at]
    if not isinstance(call.arguments, dict) or not call.arguments or rng.random() < 0.5:  # noqa: PLR2004 - a coin
        return calls[:at] + calls[at + 1 :]
    left_out = rng.choice(list(call.arguments))
    arguments = {name: value for name, value in call.arguments.items() if name != left_out}
    return [*calls[:at], ToolCall(name=call.name, arguments=arguments, id=call.id), *calls[at + 1 :]]
