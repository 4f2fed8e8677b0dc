"""The error for a file in no known dialect: what it looks like, and what to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.errors import InputError
from prompt_evaluator.hints import nearest, some_of
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from prompt_evaluator.syntax.document import Document

_SHAPES = (
    "These shapes work: a list of cases, each with `id` and `input`; a mapping with `tasks:`, a list of tasks with "
    "`id`, `name`, `input` and `expected_output`; in a .json file, a list of tasks with `prompt`."
)
_TASKS = "`tasks:`, a list of tasks with `id`, `name`, `input` and `expected_output`"
_LONGEST = 40
_NAMED = 5
_CLOSE = 0.75


class _Look(NamedTuple):
    """What a mapping looks like, what to do, and the key that shows it."""

    like: str
    advice: str
    key: str | None = None


def unrecognised(document: Document, path: Path) -> InputError:
    """Return the error for a file that no dialect claims."""
    root = document.root
    if not isinstance(root, dict):
        shape = "a list of values without fields" if isinstance(root, list) else described(root)
        return InputError(f"The dataset is {shape}, not a list of cases", path=path, advice=_SHAPES)
    names = some_of([repr(_short(name)) for name in root], _NAMED) or "nothing in it"
    look = _look(root)
    what = f"The dataset is a mapping with {names}, not a list of cases"
    if look is None:
        return InputError(what, path=path, advice=_SHAPES)
    line = document.places.get(id(root), {}).get(look.key) if look.key else None
    return InputError(f"{what}. It looks like {look.like}", path=path, line=line, advice=look.advice, field=look.key)


def _look(root: Mapping[str, Any]) -> _Look | None:
    """Guess what the author meant; None if there is no guess."""
    if "tasks" in root:
        what = f"a benchmark whose `tasks` is {described(root['tasks'])}"
        return _Look(what, f"Write {_TASKS}, each beginning with a dash.", "tasks")
    lists = [name for name, value in root.items() if _is_list_of_mappings(value)]
    if meant := nearest("tasks", lists, cutoff=_CLOSE):
        return _Look(f"a benchmark with `{meant}` instead of `tasks`", f"Write {_TASKS}.", meant)
    return _other_file(root, lists) or _cases(root, lists)


def _other_file(root: Mapping[str, Any], lists: Sequence[str]) -> _Look | None:
    if "prompts" in root and {"tests", "providers", "targets"} & root.keys():
        advice = (
            "Write each of its `tests` as a case with `id` and `input`, and their asserts as `checks`; "
            "its prompts are -s, its providers --generator-model."
        )
        return _Look("a promptfoo configuration", advice, "tests" if "tests" in root else "prompts")
    if "metrics" in lists:
        return _Look("a rubric", "Give it as --rubric, and a dataset as the dataset.", "metrics")
    if {"generator", "judge", "providers", "dataset_paths"} & root.keys():
        return _Look("a configuration file", "Give it as --config, and a dataset as the dataset.")
    return None


def _cases(root: Mapping[str, Any], lists: Sequence[str]) -> _Look | None:
    if {"input", "id"} & root.keys():
        return _Look("one case that is not in a list", "Begin it with a dash: `- id: …`, and `input: …` below `id`.")
    if lists:
        name = _short(lists[0])
        alone = f"Remove the line `{name}:`, so that the file is a list of cases, each with `id` and `input`"
        return _Look(f"a list of cases below `{name}`", f"{alone}; or write {_TASKS}.", lists[0])
    if root and all(isinstance(value, dict) for value in root.values()):
        first = _short(next(iter(root)))
        advice = f"Write a list: `- id: {first}`, and its fields, such as `input: …`, below `id`."
        return _Look("cases by their ids", advice)
    return None


def _is_list_of_mappings(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _short(name: object) -> str:
    text = str(name)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
