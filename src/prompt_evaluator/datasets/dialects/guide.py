"""The format guide's cases: `id`, `input`, four optional texts, and whatever else the author likes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.datasets.dialects.dialect import Dialect
from prompt_evaluator.datasets.fields import check_id, check_optional_text, check_text, is_id, merge_metadata, requested
from prompt_evaluator.model import TestCase

if TYPE_CHECKING:
    from prompt_evaluator.datasets.positions import Position, Report
    from prompt_evaluator.model import MetricUse

_OPTIONAL = ("description", "task", "expected_constraints", "reference")
_FIELDS = ("id", "input", *_OPTIONAL)


def quick_case(record: dict[str, Any]) -> TestCase | None:
    """The case of a flawless record, which becomes its metadata; None of any other, which stays as it was."""
    pop = record.pop
    case_id, text = pop("id", None), pop("input", None)
    description, task = pop("description", None), pop("task", None)
    constraints, reference = pop("expected_constraints", None), pop("reference", None)
    if (  # unrolled: this is the hot loop of loading
        type(case_id) is str
        and is_id(case_id)
        and type(text) is str
        and text
        and (description is None or type(description) is str)
        and (task is None or type(task) is str)
        and (constraints is None or type(constraints) is str)
        and (reference is None or type(reference) is str)
    ):
        checks = _taken_checks(record) if "checks" in record else ()
        return TestCase(
            id=case_id,
            input=text,
            description=description,
            task=task,
            expected_constraints=constraints,
            reference=reference,
            metadata=merge_metadata(record) if "metadata" in record else record,
            checks=checks,
        )
    taken = (case_id, text, description, task, constraints, reference)
    record.update((name, value) for name, value in zip(_FIELDS, taken, strict=True) if value is not None)
    return None


def _taken_checks(record: dict[str, Any]) -> tuple[MetricUse, ...]:
    """A field called `checks` that asks for metrics does so; otherwise it is a field like any other."""
    checks = requested(record["checks"])
    if checks is None:
        return ()
    del record["checks"]
    return checks


def _case(record: dict[str, Any], where: Position, report: Report) -> TestCase | None:
    if case := quick_case(dict(record)):  # a copy: aliases let two cases share one mapping
        return case
    check_id(record, where, report)
    check_text("input", record, where, report)
    for name in _OPTIONAL:
        check_optional_text(name, record, where, report)
    return None


def _claims(root: Any, _suffix: str) -> bool:
    return root is None or (isinstance(root, list) and (not root or any(isinstance(item, dict) for item in root)))


GUIDE = Dialect("guide", _claims, lambda root: root or [], _case)
