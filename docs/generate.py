"""Writes `docs/reference/` from the code, or says which of its files are stale."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from prompt_evaluator import errors
from prompt_evaluator.cli.main import cli
from prompt_evaluator.config.schema import config_schema
from prompt_evaluator.config.settings import SETTINGS, SHELVES, Setting
from prompt_evaluator.datasets.dialects.benchmark import _DIFFICULTIES, _OPTIONAL_TEXTS
from prompt_evaluator.datasets.dialects.guide import _FIELDS
from prompt_evaluator.datasets.dialects.harness import _METRICS
from prompt_evaluator.datasets.fields import MAX_ID
from prompt_evaluator.model import TestCase

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = Path(__file__).parent / "reference"
_NOTE = "<!-- Written by docs/generate.py. Change the code, then run `make docs`. -->"
_WIDTH = 78  # what click uses of a terminal with 80 columns

Schema = dict[str, Any]


def main() -> int:
    """Write every page; with `--check`, only name the stale ones and return 1."""
    pages = {
        "cli.md": cli_page(),
        "errors.md": errors_page(),
        "settings.md": settings_page(),
        "dataset-schema.json": dataset_schema(),
        "config-schema.json": _json(config_schema()),
    }
    stale = [name for name, text in pages.items() if _current(name) != text]
    check = "--check" in sys.argv[1:]
    for name in stale:
        print(f"{'stale' if check else 'written'}: docs/reference/{name}")
        if not check:
            REFERENCE.mkdir(exist_ok=True)
            (REFERENCE / name).write_text(pages[name], encoding="utf-8")
    if check and stale:
        print("Run `make docs`.")
    return int(check and bool(stale))


def _current(name: str) -> str | None:
    path = REFERENCE / name
    return path.read_text(encoding="utf-8") if path.exists() else None


def cli_page() -> str:
    """Every command's help, as a terminal shows it."""
    parts = [_NOTE, "# Command line", "Every command and what its `--help` prints."]
    for title, text in _helps(cli, "prompt-evaluator", None):
        parts += [f"## {title}", f"```text\n{text.rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=_WIDTH, **command.context_settings)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            if (found := command.get_command(context, child)) and not found.hidden:
                yield from _helps(found, child, context)


def errors_page() -> str:
    """The tree as it is drawn in the code, then each class."""
    tree, _, rules = (errors.__doc__ or "").partition("\n\n")[2].rpartition("\n\n")
    parts = [_NOTE, "# Errors", rules.strip(), f"```text\n{tree}\n```"]
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, errors.PromptEvaluatorError):
            parts += [f"## {kind.__name__}", *_error(kind)]
    return "\n\n".join(parts) + "\n"


def _error(kind: type[errors.PromptEvaluatorError]) -> Iterator[str]:
    yield inspect.cleandoc(kind.__doc__ or "")
    yield f"Inherits: {', '.join(f'`{base.__name__}`' for base in kind.__bases__)}. Exit code: {kind.exit_code}."
    _, found, arguments = (inspect.getdoc(vars(kind).get("__init__")) or "").partition("Args:\n")
    if found:
        facts = (line.strip().partition(": ") for line in arguments.splitlines())
        yield "Attributes:\n\n" + "\n".join(f"- `{name}`: {text}" for name, _, text in facts)


def settings_page() -> str:
    """The table of settings, with every place where each can be said."""
    parts = [_NOTE, "# Settings", "How they are found and which one holds: [configure](../how-to/configure.md)."]
    for setting in SETTINGS.values():
        parts += [f"## {setting.name}", setting.help, _ways(setting)]
    for shelf, (_, text) in SHELVES.items():
        parts += [f"## {shelf}", f"{text} A mapping of names to paths, which start from the file. In the file only."]
    about = "How models are reached: [configure providers](../how-to/configure-providers.md). In the file only."
    return "\n\n".join([*parts, "## providers", about]) + "\n"


def _ways(setting: Setting) -> str:
    default = "nothing" if setting.default is None else f"`{setting.default}`"
    ways = {
        "May be": setting.kind.words,
        "Built in": default,
        "Variable": f"`{setting.variable}`",
        "Flag": f"`{setting.flag}`" if setting.flag else "none",
    }
    return "\n".join(f"- {name}: {text}" for name, text in ways.items())


def _json(schema: Schema) -> str:
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"


def dataset_schema() -> str:
    """A JSON schema for a whole file in any of the dialects; `$defs/case` is also one line of JSONL."""
    schema: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "prompt-evaluator dataset",
        "description": "Written by docs/generate.py. Fields that are not listed are allowed and kept as metadata.",
        "anyOf": [_list_of("case"), {"$ref": "#/$defs/benchmark"}, _list_of("harness_task")],
        "$defs": {
            "case": _guide_case(),
            "benchmark": {
                "type": "object",
                "required": ["tasks"],
                "properties": {"name": _text(), "description": _text(), "tasks": _list_of("benchmark_task")},
            },
            "benchmark_task": _benchmark_task(),
            "harness_task": _harness_task(),
            "function": {"type": "object", "required": ["name"], "properties": {"name": _full_text()}},
            "call": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": _full_text(), "args": {"type": ["object", "string", "null"]}},
            },
        },
    }
    return _json(schema)


def _guide_case() -> Schema:
    types = _types()
    return {
        "type": "object",
        "required": ["id", "input"],
        "properties": {name: types[name] for name in _FIELDS} | {"id": _id(), "input": _full_text()},
    }


def _benchmark_task() -> Schema:
    types, required = _types(), ("name", "input", "expected_output")
    wrapped = {"type": "object", "required": ["function"], "properties": {"function": {"$ref": "#/$defs/function"}}}
    return {
        "type": "object",
        "required": ["id", *required],
        "properties": {
            "id": _id(),
            **{name: _full_text() for name in required},
            **{name: types[name] for name in _OPTIONAL_TEXTS},
            "difficulty": {"enum": [*_DIFFICULTIES, None], "default": "medium"},
            "context": _texts(),
            "tools": _or_null({"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/function"}, wrapped]}}),
            "expected_tools": _or_null(_list_of("call")),
            "expected_tool_sequence": _or_null(
                {"type": "array", "items": {"anyOf": [_full_text(), {"$ref": "#/$defs/call"}]}}
            ),
        },
    }


def _harness_task() -> Schema:
    texts = {name: _texts() for name in _METRICS}
    own = {"id": _or_null(_id()), "category": _or_null(_text()), "prompt": _full_text()}
    return {"type": "object", "required": ["prompt"], "properties": own | texts}


def _types() -> dict[str, Schema]:
    """The model's own types, without its defaults: an absent field needs none."""
    properties: dict[str, Schema] = msgspec.json.schema(TestCase)["$defs"]["TestCase"]["properties"]
    return {name: {k: v for k, v in kind.items() if k != "default"} for name, kind in properties.items()}


def _id() -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": MAX_ID, "pattern": r"\S"}


def _text() -> Schema:
    return {"type": "string"}


def _full_text() -> Schema:
    return {"type": "string", "minLength": 1}


def _texts() -> Schema:
    return _or_null({"type": "array", "items": {"type": "string", "pattern": r"\S"}})


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list_of(name: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


if __name__ == "__main__":
    sys.exit(main())
