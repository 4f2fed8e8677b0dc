"""Builds requests to a model from cases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Message, Request

if TYPE_CHECKING:
    from prompt_evaluator.model import Target, TestCase

CONTEXT_TEMPLATE = """\
Answer with the help of these passages:

{{context}}

{{input}}"""
"""Used for cases with passages if no template is set."""

_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_FIELDS = ("id", "input", "description", "task", "expected_constraints", "reference")
_SEEDS_APART = 10_000
"""Distance between the seeds of two attempts; more than the number of samples."""


class RequestBuilder:
    """Builds the request for a case, sample and attempt."""

    def __init__(self, target: Target, model: str) -> None:
        """Store the target under test; `model` is its name without the provider."""
        self._target, self._model = target, model
        self._temperature, self._seed, self._effort = map(target.sent, ("temperature", "seed", "effort"))
        self._options = target.sent_params
        text = target.prompt.text if target.prompt else None
        self._system = (Message("system", text),) if text else ()

    def request(self, case: TestCase, sample: int, attempt: int = 0) -> Request:
        """Build a request. Sample k (from 0) uses seed + k, so that samples differ and a run can be repeated."""
        target = self._target
        return Request(
            model=self._model,
            messages=(*self._system_turn(case), *self.turns(case)),
            temperature=self._temperature,
            max_tokens=target.max_tokens,
            seed=None if self._seed is None else self._seed + sample + attempt * _SEEDS_APART,
            effort=self._effort,
            response_schema=target.response_schema,
            tools=_tools(case),
            sample=sample,
            attempt=attempt,
            options=self._options,
            strict=target.strict_params,
            case=case,
        )

    def turns(self, case: TestCase) -> tuple[Message, ...]:
        """The conversation as sent, without the run's own system prompt."""
        template = self._target.template
        if template is None and case.passages:
            template = self._target.context_template
        if template is None:
            return case.messages or (Message("user", case.input),)
        asked = Message("user", fill(template, case))
        if not case.messages:
            return (asked,)
        last = max(at for at, message in enumerate(case.messages) if message.role == "user")
        return (*case.messages[:last], asked, *case.messages[last + 1 :])

    def shown(self, case: TestCase) -> tuple[Message, ...]:
        """Messages specific to this case, without a system prompt that all cases share."""
        return (*(self._system_turn(case) if self._target.render_prompt else ()), *self.turns(case))

    def _system_turn(self, case: TestCase) -> tuple[Message, ...]:
        if not self._target.render_prompt:
            return self._system
        return tuple(Message("system", fill(message.content, case)) for message in self._system)


def fill(template: str, case: TestCase) -> str:
    """Replace each `{{field}}` with the case's field or metadata. Inserted text is not expanded again.

    Raises:
        ConfigurationError: The case has no such field.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name == "context" and case.passages:
            return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(case.passages, start=1))
        found = getattr(case, name) if name in _FIELDS else _dotted(case.metadata, name)
        if found is None:
            raise ConfigurationError(f"The template uses {{{{{name}}}}}, which case {case.id!r} does not have.")
        return found if isinstance(found, str) else msgspec.json.encode(found).decode()

    return _PLACEHOLDER.sub(value, template)


def _dotted(metadata: dict[str, Any], name: str) -> Any:
    if name in metadata:
        return metadata[name]
    found: Any = metadata
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _tools(case: TestCase) -> tuple[dict[str, Any], ...]:
    """The functions a case offers; if it has none but expects calls, schemas derived from those."""
    tools = case.metadata.get("tools")
    if not tools:
        return _derived_tools(case)
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return ()
    return tuple(tool for tool in tools if _has_name(tool))


def _has_name(tool: dict[str, Any]) -> bool:
    function = tool.get("function") or tool
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _derived_tools(case: TestCase) -> tuple[dict[str, Any], ...]:
    """A function for each expected name, with the expected arguments, of any type."""
    wishes = [use.options for use in case.checks if use.metric == "tool_correctness"]
    if not wishes and "expected_tools" not in case.metadata:
        return ()
    arguments: dict[str, dict[str, Any]] = {}
    for options in (*wishes, case.metadata):
        expected = options.get("expected_tools")
        for call in expected if isinstance(expected, list) else ():
            name, args = (call.get("name"), call.get("args")) if isinstance(call, dict) else (call, None)
            if isinstance(name, str) and name:
                taken = arguments.setdefault(name, {})
                taken.update((key, {}) for key in (args if isinstance(args, dict) else ()) if not key.startswith("$"))
    return tuple(
        {"name": name, "parameters": {"type": "object", "properties": properties}}
        for name, properties in arguments.items()
    )
