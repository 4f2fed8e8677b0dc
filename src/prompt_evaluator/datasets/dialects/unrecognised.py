"""The error for a file in no known dialect: what there is, and what to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.errors import InputError
from prompt_evaluator.hints import some_of
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.syntax.document import Document

_SHAPES = (
    "These shapes work: a list of cases, each with `id` and `input`; a mapping with `tasks:`, a list of tasks with "
    "`id`, `name`, `input` and `expected_output`; in a .json file, a list of tasks with `prompt`."
)
_PROMPTFOO = (
    "Write each of its `tests` as a case with `id` and `input`, and their asserts as `checks`; "
    "its prompts are -s, its providers --generator-model."
)
_LONGEST = 40
_NAMED = 5


def unrecognised(document: Document, path: Path) -> InputError:
    """Return the error for a file that no dialect claims."""
    root = document.root
    if not isinstance(root, dict):
        shape = "a list of values without fields" if isinstance(root, list) else described(root)
        return InputError(f"The dataset is {shape}, not a list of cases", path=path, advice=_SHAPES)
    if "prompts" in root and {"tests", "providers", "targets"} & root.keys():
        return InputError("The dataset is a promptfoo configuration", path=path, advice=_PROMPTFOO)
    names = some_of([repr(_short(name)) for name in root], _NAMED) or "nothing in it"
    return InputError(f"The dataset is a mapping with {names}, not a list of cases", path=path, advice=_SHAPES)


def _short(name: object) -> str:
    text = str(name)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
