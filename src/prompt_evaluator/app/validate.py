"""Validates datasets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from prompt_evaluator.app.planning.case_checks import problems_with_uses
from prompt_evaluator.datasets import Survey, survey

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prompt_evaluator.errors import InputError

__all__ = ["Survey", "survey_as_json", "validate"]


def validate(paths: Iterable[Path]) -> Iterable[Survey]:
    """Survey each file lazily, in order."""
    return (survey(path, inspect=problems_with_uses) for path in paths)


def survey_as_json(found: Survey) -> dict[str, Any]:
    """A survey as printed by `validate --json`."""
    return {
        "path": os.fsencode(found.path).decode(errors="replace"),
        "ok": found.ok,
        "format": found.format,
        "dialect": found.dialect,
        "count": found.count,
        "hash": found.hash,
        "fields": dict(found.fields),
        "problem_count": found.problem_count,
        "problems": [_problem_as_json(problem) for problem in found.problems],
    }


def _problem_as_json(problem: InputError) -> dict[str, Any]:
    return {
        "line": problem.line,
        "index": problem.index,
        "field": problem.field,
        "problem": problem.what + (f" ({problem.note})" if problem.note else ""),
        "advice": problem.advice,
        "message": str(problem),
    }
