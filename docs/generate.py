"""Writes `docs/reference/` from the code, or says which of its files are stale."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import types
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import click
import msgspec
import yaml

from http_api import http_api_page
from prompt_evaluator import errors
from prompt_evaluator.app.metrics import MetricInfo, list_metrics
from prompt_evaluator.cli.main import cli
from prompt_evaluator.config.schema import config_schema
from prompt_evaluator.config.settings import NAME_TABLES, SETTINGS, Setting
from prompt_evaluator.config.suites import ABOUT_SUITES, SUITE_FIELDS
from prompt_evaluator.datasets.dialects.benchmark import _DIFFICULTIES, _OPTIONAL_TEXTS
from prompt_evaluator.datasets.dialects.guide import CASE_FIELDS
from prompt_evaluator.datasets.fields import MAX_ID
from prompt_evaluator.metrics.catalogue import METRICS
from prompt_evaluator.metrics.command import CommandMetric
from prompt_evaluator.metrics.function import FunctionMetric
from prompt_evaluator.model import (
    CallFailure,
    DatasetRef,
    JudgeConfig,
    Message,
    Role,
    Rubric,
    RunPlan,
    RunRecord,
    Target,
    TestCase,
    ToolCall,
)
from prompt_evaluator.model import result as results
from prompt_evaluator.model.bars import MissedBar
from prompt_evaluator.model.outcome import MAIN_FILE
from prompt_evaluator.store.documents import head, index_entry, tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REFERENCE = Path(__file__).parent / "reference"
TEXTS = yaml.safe_load((Path(__file__).parent / "texts.yaml").read_text(encoding="utf-8"))
_NOTE = "<!-- Written by docs/generate.py. Change the code, then run `make docs`. -->"
_SEVERAL_VALUES = """## Several values

An option that takes several values may be repeated, or its values are separated by commas, or both. A value that has a
comma itself goes in double quotes: `--case-ids '"a,b",c'`. In options of the form `key=value` a comma separates only
where the next `key=` or comparison follows, so that `--where 'city=Paris, France'` is one condition; commas in JSON
(`--param 'stop=["a","b"]'`) and in the options of a metric (`--metrics 'length(min_words=3, max_words=50)'`) belong to
the value. Where that is not enough, quote the pair: `--tag '"note=a, b=c"'`."""
_WIDTH = 78  # what click uses of a terminal with 80 columns

Schema = dict[str, Any]


def main() -> int:
    """Write every page; with `--check`, only name the stale ones and return 1."""
    pages = {
        REFERENCE / "cli.md": cli_page(),
        REFERENCE / "artifacts.md": artifacts_page(),
        REFERENCE / "errors.md": errors_page(),
        REFERENCE / "metrics.md": metrics_page(),
        REFERENCE / "settings.md": settings_page(),
        REFERENCE / "http-api.md": http_api_page(_NOTE, TEXTS["http_api"]),
        REFERENCE / "dataset-schema.json": dataset_schema(),
        REFERENCE / "config-schema.json": _json(config_schema()),
    }
    stale = [path for path, text in pages.items() if _current(path) != text]
    check = "--check" in sys.argv[1:]
    for path in stale:
        print(f"{'stale' if check else 'written'}: {path.relative_to(REFERENCE.parents[1])}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(pages[path], encoding="utf-8")
    if check and stale:
        print("Run `make docs`.")
    return int(check and bool(stale))


def _current(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def cli_page() -> str:
    """Every command's help, as a terminal shows it."""
    parts = [_NOTE, "# Command line", "Every command and what its `--help` prints.", _SEVERAL_VALUES]
    for context in _contexts(cli, "prompt-evaluator", None):
        parts += [f"## {context.command_path}", f"```text\n{context.get_help().rstrip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    """Of a command and of all that are below it."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=_WIDTH, **command.context_settings)
    yield context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            if (found := command.get_command(context, child)) and not found.hidden:
                yield from _contexts(found, child, context)


def errors_page() -> str:
    """The tree as it is drawn in the code, then each class."""
    tree, _, rules = (errors.__doc__ or "").partition("\n\n")[2].rpartition("\n\n")
    parts = [_NOTE, "# Errors", rules.strip(), f"```text\n{tree}\n```"]
    for name in re.findall(r"\w+Error\b", tree):
        if kind := getattr(errors, name, None):
            parts += [f"## {name}", *_error(kind)]
    return "\n\n".join(parts) + "\n"


def _error(kind: type[errors.PromptEvaluatorError]) -> Iterator[str]:
    yield inspect.cleandoc(kind.__doc__ or "")
    yield f"**What to do.** {_text_of('errors', kind.__name__)}"
    yield f"Inherits: {', '.join(f'`{base.__name__}`' for base in kind.__bases__)}. Exit code: {kind.exit_code}."
    _, found, arguments = (inspect.getdoc(vars(kind).get("__init__")) or "").partition("Args:\n")
    if found:
        facts = (line.strip().partition(": ") for line in arguments.splitlines())
        yield "Attributes:\n\n" + "\n".join(f"- `{name}`: {text}" for name, _, text in facts)


_CASE_PARTS: dict[type[msgspec.Struct], str] = {
    results.CaseResult: "A case",
    results.SampleResult: "A sample",
    results.CriterionScore: "A rubric's score",
    results.MetricScore: "A metric's score",
    results.RepeatResult: "One of several judgements by the rubric",
    results.AttemptResult: "An earlier attempt",
    Message: "A turn of a conversation",
    ToolCall: "A tool call",
    CallFailure: "An error",
    results.MetricStats: "A case's metric",
    results.FlagStats: "A case's flag",
}
_RUN_PARTS: dict[type[msgspec.Struct], str] = {
    results.OverallMetric: "A metric over all cases",
    results.OverallFlag: "A flag over all cases",
    results.RunTotals: "Totals",
    results.FailureCount: "A kind of failure",
    results.WorstCase: "A case to look at",
    MissedBar: "A missed bar",
}
_TITLES = {**_CASE_PARTS, **_RUN_PARTS}


def artifacts_page() -> str:
    """Every key of every file that a run writes."""
    record = _example_run()
    before, after = head(record, ()), tail(record, None)
    main = [*before, "test_case_results", *after]
    texts = TEXTS["artifacts"]
    parts = [_NOTE, "# Artifacts", texts["intro"].strip(), f"## {MAIN_FILE}", texts["main"].strip()]
    parts.append(_key_table("main", main))
    for name in ("generator_config", "judge_config", "rubric_metadata"):
        parts += [f"### {name}", _key_table(name, before[name])]
    parts += [f"### Status of a run\n\n{texts['run_status'].strip()}"]
    parts += [text for kind, title in _RUN_PARTS.items() for text in (f"### {title}", _field_table(kind))]
    parts += ["## test_case_&lt;id&gt;.json", texts["case"].strip()]
    parts += [text for kind, title in _CASE_PARTS.items() for text in (f"### {title}", _field_table(kind))]
    parts += [f"### Status of a sample\n\n{texts['sample_status'].strip()}"]
    parts += ["## index.json", texts["index"].strip(), _key_table("index", index_entry(record, None))]
    return "\n\n".join(parts) + "\n"


def _example_run() -> RunRecord:
    plan = RunPlan(
        run_id="",
        group_id="",
        dataset=DatasetRef(path=None, hash="", count=0, selected=0),
        target=Target(model="", identity=""),
        rubric=Rubric(name="", metrics=(), hash=""),
        judge=JudgeConfig(model="", identity=""),
        num_samples=1,
        output_dir="",
    )
    return RunRecord(plan=plan, status="running", started_at="")


def _key_table(section: str, keys: Iterable[str]) -> str:
    rows = [f"| `{key}` | {_text_of(section, key)} |" for key in keys]
    return "\n".join(["| Key | Meaning |", "|---|---|", *rows])


def _field_table(kind: type[msgspec.Struct]) -> str:
    rows = [
        f"| `{field.encode_name}` | {_words(field.type)} | {_meaning(kind, field.name)} |"
        for field in msgspec.structs.fields(kind)
    ]
    return "\n".join(["| Key | Type | Meaning |", "|---|---|---|", *rows])


def _meaning(kind: type, name: str) -> str:
    """What the code says about a field, or else the texts."""
    for owner in kind.__mro__:
        if text := _field_docstrings(owner).get(name):
            return text.replace("None", "null")  # as it stands in the files
    return _text_of(kind.__name__, name)


@cache
def _field_docstrings(kind: type) -> dict[str, str]:
    """The texts that stand below the fields of a class."""
    if not kind.__module__.startswith("prompt_evaluator."):
        return {}
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)  # noqa: S101 - the source of a class
    found = {}
    for before, after in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(before, ast.AnnAssign)
            and isinstance(before.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[before.target.id] = _in_a_cell(str(after.value.value))
    return found


def _text_of(section: str, key: str) -> str:
    try:
        return _in_a_cell(TEXTS[section][key])
    except KeyError:
        raise SystemExit(f"docs/texts.yaml: say under `{section}` what `{key}` means.") from None


def _in_a_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


_PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false", type(None): "null"}


def _words(kind: Any) -> str:  # noqa: PLR0911 - one line a kind of type
    """A type in the words of somebody who reads JSON."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _TITLES:
        title = _TITLES[kind]
        return f"[{title.lower()}](#{title.lower().replace(' ', '-').replace(chr(39), '')})"
    if origin is Annotated:
        return _words(arguments[0])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        known = [each for each in arguments if each is not msgspec.UnsetType]
        return " or ".join(dict.fromkeys(map(_words, sorted(known, key=lambda each: each is type(None)))))
    if origin is dict:
        return "mapping" if arguments[1] is Any else f"by name, {_words(arguments[1])}"
    if origin is tuple:
        return f"list of {_words(arguments[0])}" if arguments[-1] is ... else "two numbers"
    return "any value" if kind is Any else "mapping"


def metrics_page() -> str:
    """Every metric that ships, with what it needs and its options."""
    shipped = [info for info in list_metrics() if _class_of(info).__module__.startswith("prompt_evaluator.")]
    rows = [_metric_row(info) for info in shipped]
    table = "\n".join(["| Metric | What it tells | Needs | Judge | Passes from |", "|---|---|---|---|---|", *rows])
    parts = [_NOTE, "# Metrics", TEXTS["metrics"]["intro"].strip(), table]
    for info in shipped:
        parts += [f"## {info.name}", inspect.getdoc(_class_of(info)) or "", _options_table(info)]
    return "\n\n".join(parts) + "\n"


def _metric_row(info: MetricInfo) -> str:
    name = f"[`{info.name}`](#{info.name.replace(':', '')})"
    needs = ", ".join(info.needs) or "nothing"
    cells = (name, _in_a_cell(info.help), needs, _judge_words(info), _default_threshold(info))
    return f"| {' | '.join(cells)} |"


def _class_of(info: MetricInfo) -> type:
    own: dict[str, type] = {"python:module:function": FunctionMetric, "command:program": CommandMetric}
    return own.get(info.name) or METRICS.get(info.name)


def _judge_words(info: MetricInfo) -> str:
    return {"needed": "yes", "optional": "optional", "no": "no", "unknown": "unknown"}[info.judge]


def _default_threshold(info: MetricInfo) -> str:
    return next(f"{field.default:g}" for field in _fields(info) if field.name == "threshold")


def _fields(info: MetricInfo) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(_class_of(info))


def _options_table(info: MetricInfo) -> str:
    rows = [
        f"| `{field.encode_name}` | {_words(field.type)} | {_default(field)} | {_option_meaning(info, field.name)} |"
        for field in sorted(_fields(info), key=lambda field: field.name == "threshold")
    ]
    return "\n".join(["| Option | Type | Default | Meaning |", "|---|---|---|---|", *rows])


def _option_meaning(info: MetricInfo, name: str) -> str:
    kind = _class_of(info)
    for owner in kind.__mro__:
        if text := _field_docstrings(owner).get(name):
            return text
    return _text_of("options", name)


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.default in (msgspec.NODEFAULT, msgspec.UNSET, None) or field.default == ():
        return "none"
    return f"`{msgspec.json.encode(field.default).decode()}`"


def settings_page() -> str:
    """The table of settings, with every place where each can be said."""
    parts = [_NOTE, "# Settings", "How they are found and which one holds: [configure](../how-to/configure.md)."]
    for setting in SETTINGS.values():
        parts += [f"## {setting.name}", setting.help, _ways(setting)]
    for table, (_, text) in NAME_TABLES.items():
        parts += [f"## {table}", f"{text} A mapping of names to paths, which start from the file. In the file only."]
    fields = "\n".join(f"- `{name}`: {text} Has to be {kind.words}." for name, (kind, text) in SUITE_FIELDS.items())
    parts += [
        "## suites",
        f"{ABOUT_SUITES} [How to run them](../how-to/run-benchmarks.md#suites). In the file only.",
        fields,
    ]
    about = "How models are reached: [configure providers](../how-to/configure-providers.md). In the file only."
    return "\n\n".join([*parts, "## providers", about]) + "\n"


def _ways(setting: Setting) -> str:
    default = setting.otherwise or ("nothing" if setting.default is None else f"`{_written(setting.default)}`")
    ways = {
        "May be": setting.kind.words,
        "Built in": default,
        "Variable": f"`{setting.variable}`",
        "Flag": f"`{setting.flag}`" if setting.flag else "none",
    }
    return "\n".join(f"- {name}: {text}" for name, text in ways.items())


def _written(default: Any) -> str:
    """As the file has it."""
    return str(default).lower() if isinstance(default, bool) else str(default)


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
                "properties": {
                    "name": _text(),
                    "description": _text(),
                    "checks": _checks(),
                    "tasks": _list_of("benchmark_task"),
                },
            },
            "benchmark_task": _benchmark_task(),
            "harness_task": _harness_task(),
            "use": _use(),
            "conversation": {**_list_of("turn"), "minItems": 1},
            "turn": _turn(),
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
        "required": ["id"],
        "properties": {name: types[name] for name in CASE_FIELDS} | {"id": _id()} | _shaped(),
        "anyOf": _questions(),
    }


def _benchmark_task() -> Schema:
    types, required = _types(), ("name", "expected_output")
    wrapped = {"type": "object", "required": ["function"], "properties": {"function": {"$ref": "#/$defs/function"}}}
    return {
        "type": "object",
        "required": ["id", *required],
        "properties": {
            "id": _id(),
            **{name: _asked_text() for name in required},
            **{name: types[name] for name in _OPTIONAL_TEXTS},
            **_shaped(),
            "difficulty": {"enum": [*_DIFFICULTIES, None], "default": "medium"},
            "context": _texts(),
            "tools": _or_null({"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/function"}, wrapped]}}),
            "expected_tools": _or_null(_list_of("call")),
            "expected_tool_sequence": _or_null(
                {"type": "array", "items": {"anyOf": [_full_text(), {"$ref": "#/$defs/call"}]}}
            ),
        },
        "anyOf": _questions(),
    }


def _harness_task() -> Schema:
    texts = {"mustInclude": _signals(), "hallucinationTriggers": _texts()}
    own = {"id": _or_null(_id()), "category": _or_null(_text()), "prompt": _asked_text()}
    return {"type": "object", "required": ["prompt"], "properties": own | texts | _shaped()}


def _shaped() -> Schema:
    """Fields that commands understand where they have this shape, and leave alone where they are plainly not ours."""
    return {
        "input": _or_null(_asked_text()),
        "checks": _checks(),
        "references": {"if": {"type": "array"}, "then": _texts()},
    }


def _questions() -> list[Schema]:
    conversation = {"$ref": "#/$defs/conversation"}
    talk = {"type": "array", "items": {"type": "object"}, "contains": {"required": ["role"]}}
    return [
        {"required": ["input"], "properties": {"input": _full_text(), "messages": {"not": talk}}},
        {"required": ["messages"], "properties": {"input": {"type": "null"}, "messages": conversation}},
    ]


def _checks() -> Schema:
    use = {"$ref": "#/$defs/use"}
    plain = {"type": ["string", "number", "boolean", "null"]}
    return {"anyOf": [{"type": "array", "items": {"anyOf": [_full_text(), use]}}, use, plain]}


def _use() -> Schema:
    """One use of a metric as a mapping; as a text it is a name, or a name with options in brackets."""
    about: Schema = {name: _or_null({"type": "string", "pattern": r"\S"}) for name in ("name", "judge")}
    about |= {"not": {"type": ["boolean", "null"]}, "options": {"type": ["object", "null"]}}
    reserved = {"enum": ["metric", *about]}
    return {
        "anyOf": [
            {"type": "object", "required": ["metric"], "properties": {"metric": _full_text(), **about}},
            {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "propertyNames": {"not": reserved},
                "additionalProperties": {"type": ["object", "null"], "properties": about},
            },
        ]
    }


def _turn() -> Schema:
    part = {"type": "object", "required": ["type", "text"], "properties": {"type": {"const": "text"}, "text": _text()}}
    call = {"type": "object", "required": ["name"], "properties": {"name": _full_text()}}
    wrapped = {"type": "object", "required": ["function"], "properties": {"function": call}}
    return {
        "type": "object",
        "required": ["role"],
        "properties": {
            "role": {"enum": list(get_args(Role))},
            "content": {"anyOf": [{"type": ["string", "null"]}, {"type": "array", "items": part}]},
            "tool_calls": _or_null({"type": "array", "items": {"anyOf": [call, wrapped]}}),
            "tool_call_id": _or_null(_full_text()),
        },
    }


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


def _asked_text() -> Schema:
    return {"type": "string", "pattern": r"\S"}


def _texts() -> Schema:
    return _or_null({"type": "array", "items": _asked_text()})


def _signals() -> Schema:
    """Texts, and lists of alternatives."""
    alternatives = {"type": "array", "items": _asked_text(), "minItems": 1}
    return _or_null({"type": "array", "items": {"anyOf": [_asked_text(), alternatives]}})


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list_of(name: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


if __name__ == "__main__":
    sys.exit(main())
