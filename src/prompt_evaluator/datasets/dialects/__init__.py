"""Ways of writing cases, recognised by shape. Foreign words end here: nothing downstream knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.datasets.dialects.benchmark import BENCHMARK
from prompt_evaluator.datasets.dialects.guide import GUIDE
from prompt_evaluator.datasets.dialects.harness import HARNESS
from prompt_evaluator.errors import InputError
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.datasets.dialects.dialect import Dialect

__all__ = ["GUIDE", "recognise"]

_BY_SHAPE = (BENCHMARK, HARNESS, GUIDE)
_SHAPES = (
    "These shapes work: a list of cases, each with `id` and `input`; a mapping with `tasks:`, a list of tasks with "
    "`id`, `name`, `input` and `expected_output`; in a .json file, a list of tasks with `prompt`."
)


def recognise(root: Any, path: Path) -> Dialect:
    """The dialect that claims a parsed file."""
    for dialect in _BY_SHAPE:
        if dialect.claims(root, path.suffix.lower()):
            return dialect
    shape = described(root)
    if isinstance(root, dict):
        shape = "a mapping with " + (", ".join(f"{name[:40]!r}" for name in list(root)[:5]) or "nothing in it")
    raise InputError(f"The dataset is {shape}, which is no known way of writing cases", path=path, advice=_SHAPES)
