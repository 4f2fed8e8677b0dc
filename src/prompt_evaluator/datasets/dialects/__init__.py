"""Dialects: ways of writing cases, recognised by structure. Their field names are not used anywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.datasets.dialects.benchmark import BENCHMARK
from prompt_evaluator.datasets.dialects.guide import GUIDE
from prompt_evaluator.datasets.dialects.harness import HARNESS
from prompt_evaluator.datasets.dialects.unrecognised import unrecognised

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.datasets.dialects.dialect import Dialect
    from prompt_evaluator.syntax.document import Document

__all__ = ["GUIDE", "recognise"]

_BY_SHAPE = (BENCHMARK, HARNESS, GUIDE)


def recognise(document: Document, path: Path) -> Dialect:
    """Return the dialect that claims a parsed file. Raise `InputError` if none does."""
    for dialect in _BY_SHAPE:
        if dialect.claims(document.root, path.suffix.lower()):
            return dialect
    raise unrecognised(document, path)
