"""The benchmark dialect: a mapping with `tasks:`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.datasets.dialects.dialect import Dialect
from prompt_evaluator.datasets.fields import (
    check_id,
    check_optional_text,
    check_text,
    check_texts,
    merge_metadata,
)
from prompt_evaluator.datasets.optional_fields import read_expectations, read_question
from prompt_evaluator.errors import InputError
from prompt_evaluator.model import MetricUse, TestCase
from prompt_evaluator.syntax.jsontext import parse_json_line
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from prompt_evaluator.datasets.positions import Position, Report

_DIFFICULTIES = ("easy", "medium", "hard")
_OPTIONAL_TEXTS = ("description", "task", "expected_constraints")
_OWN = {"id", "expected_output", "expected_tools", "expected_tool_sequence", *_OPTIONAL_TEXTS}


def _case(record: dict[str, Any], where: Position, report: Report, *, strict: bool = False) -> TestCase | None:
    checked = [
        check_id(record, where, report),
        *(check_text(name, record, where, report) for name in ("name", "expected_output")),
        *(check_optional_text(name, record, where, report) for name in _OPTIONAL_TEXTS),
        check_texts("context", record, where, report),
        _check_difficulty(record, where, report),
        _check_tools(record, where, report),
    ]
    calls = _calls("expected_tools", record, where, report, names_allowed=False)
    sequence = _calls("expected_tool_sequence", record, where, report, names_allowed=True)
    question = read_question(record, where, report, strict=strict)
    expected = read_expectations(record, where, implied=_checks(record, calls or [], sequence or []))
    checked.append(expected.accepted(report, strict=strict))
    if calls is None or sequence is None or question is None or not all(checked):
        return None
    own = {*_OWN, *expected.read, *question.read}
    extra = {name: value for name, value in record.items() if name not in own}
    return TestCase(
        id=record["id"],
        input=question.input,
        messages=question.messages,
        reference=record["expected_output"],
        description=record.get("description"),
        task=record.get("task"),
        expected_constraints=record.get("expected_constraints"),
        metadata=merge_metadata({**extra, "difficulty": record.get("difficulty") or "medium"}),
        checks=expected.checks,
        references=expected.references,
        file=where.file,
        line=where.line,
    )


def _checks(record: dict[str, Any], calls: list[Any], sequence: list[Any]) -> tuple[MetricUse, ...]:
    checks = []
    # An empty list is a placeholder, unless tools are offered: then it means that no call is expected.
    if calls or (record.get("tools") and record.get("expected_tools") == []):
        checks.append(MetricUse(metric="tool_correctness", options={"expected_tools": calls}))
    if sequence:
        name = "tool_sequence" if checks else None  # two uses of one metric need two names
        options = {"expected_tools": sequence, "mode": "ordered"}
        checks.append(MetricUse(metric="tool_correctness", name=name, options=options))
    return tuple(checks)


def _check_difficulty(record: dict[str, Any], where: Position, report: Report) -> bool:
    value = record.get("difficulty")
    if value is None or value in _DIFFICULTIES:
        return True
    why = f"it is {described(value)}, which is not one of {', '.join(_DIFFICULTIES)}"
    report(where.invalid("difficulty", why, "Use one of them, or leave it out for medium."))
    return False


def _check_tools(record: dict[str, Any], where: Position, report: Report) -> bool:
    value = record.get("tools")
    if value is None or (isinstance(value, list) and all(_is_function(tool) for tool in value)):
        return True
    why = "it is not a list of function schemas with names"
    report(where.invalid("tools", why, "Write a list of mappings with `name`, `description` and `parameters`."))
    return False


def _is_function(tool: object) -> bool:
    inner = tool.get("function", tool) if isinstance(tool, dict) else None
    return isinstance(inner, dict) and isinstance(inner.get("name"), str) and bool(inner["name"])


def _calls(
    field: str, record: dict[str, Any], where: Position, report: Report, *, names_allowed: bool
) -> list[dict[str, Any]] | None:
    """Return the expected calls with their arguments as mappings; None after reporting a problem."""
    value = record.get(field)
    if value is None:
        return []
    if not isinstance(value, list):
        report(where.invalid(field, f"it is {described(value)}, not a list", "Write a list of {name, args}."))
        return None
    calls = []
    for position, item in enumerate(value):
        call = {"name": item} if names_allowed and isinstance(item, str) else item
        if not isinstance(call, dict) or not isinstance(call.get("name"), str) or not call["name"]:
            why = f"item {position} has no tool name"
            report(where.invalid(field, why, "Write each call as a mapping with `name` and `args`."))
            return None
        args = _arguments(call.get("args"), where)
        if args is _UNREADABLE:
            why = f"`args` of item {position} is {described(call['args'])}"
            report(where.invalid(field, why, "Write `args` as a mapping, or as the JSON text of an object."))
            return None
        calls.append({"name": call["name"]} if args is None else {"name": call["name"], "args": args})
    return calls


_UNREADABLE: Any = object()


def _arguments(value: object, where: Position) -> Any:
    if isinstance(value, str):
        try:
            return parse_json_line(value.encode(), path=where.path, number=1)
        except InputError:
            return _UNREADABLE
    return value if value is None or isinstance(value, dict) else _UNREADABLE


def _claims(root: Any, _suffix: str) -> bool:
    return isinstance(root, dict) and isinstance(root.get("tasks"), list)


BENCHMARK = Dialect("benchmark", _claims, lambda root: root["tasks"], _case)
