"""What a model is asked about a case."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Message, Request

if TYPE_CHECKING:
    from prompt_evaluator.model import ModelConfig, TestCase

_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_FIELDS = ("id", "input", "description", "task", "expected_constraints", "reference")


class Asker:
    """Turns a case and a sample's number into the request that is sent."""

    def __init__(self, config: ModelConfig, model: str, system_prompt: str | None, template: str | None) -> None:
        self._config, self._model, self._template = config, model, template
        self._system = (Message("system", system_prompt),) if system_prompt else ()

    def request(self, case: TestCase, sample: int) -> Request:
        """Sample k uses seed + k, so that samples differ and a run can be repeated."""
        seed = self._config.seed
        text = case.input if self._template is None else fill(self._template, case)
        return Request(
            model=self._model,
            messages=(*self._system, Message("user", text)),
            temperature=self._config.temperature,
            max_tokens=self._config.max_tokens,
            seed=None if seed is None else seed + sample,
            tools=_tools(case),
            sample=sample,
            case=case,
        )


def fill(template: str, case: TestCase) -> str:
    """Put the case's fields and metadata in place of `{{field}}`, in one pass: what is put in is not looked at again.

    Raises:
        ConfigurationError: The case has no such field.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        found = getattr(case, name) if name in _FIELDS else _dotted(case.metadata, name)
        if found is None:
            raise ConfigurationError(f"The template names {{{{{name}}}}}, which the case {case.id!r} does not have.")
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
    """The functions a case offers; where it gives none but expects calls, schemas made from those."""
    tools = case.metadata.get("tools")
    if not tools:
        return _derived_tools(case)
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return ()
    return tuple(tool for tool in tools if isinstance((tool.get("function") or tool).get("name"), str))


def _derived_tools(case: TestCase) -> tuple[dict[str, Any], ...]:
    """A function for each name that is expected, which takes the arguments that are expected, of any type."""
    wishes = [check.options for check in case.checks if check.metric == "tool_correctness"]
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
