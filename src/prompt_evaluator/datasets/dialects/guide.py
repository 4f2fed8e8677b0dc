"""The format guide's dialect: `id`, `input`, four optional texts, and any other fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.datasets.dialects.dialect import Dialect
from prompt_evaluator.datasets.fields import MAX_ID, check_id, check_optional_text, is_id, merge_metadata
from prompt_evaluator.datasets.optional_fields import read_expectations, read_question
from prompt_evaluator.model import TestCase

if TYPE_CHECKING:
    from prompt_evaluator.datasets.positions import Position, Report

_OPTIONAL = ("description", "task", "expected_constraints", "reference")
CASE_FIELDS = ("id", "input", *_OPTIONAL)


def quick_case(record: dict[str, Any], file: str | None, line: int | None) -> TestCase | None:
    """Convert a valid record with only plain texts to a case, reusing the record as the case's metadata.

    Return None for any other record, such as one with `checks`, `references` or `messages`, and leave it unchanged.
    """
    if "checks" in record or "messages" in record or "references" in record:
        return None
    pop = record.pop
    case_id, text = pop("id", None), pop("input", None)
    description, task = pop("description", None), pop("task", None)
    constraints, reference = pop("expected_constraints", None), pop("reference", None)
    if (  # unrolled: the hot loop of loading
        type(case_id) is str
        and ((case_id.isprintable() and 0 < len(case_id) <= MAX_ID and not case_id.isspace()) or is_id(case_id))
        and type(text) is str
        and text
        and not text.isspace()
        and (description is None or type(description) is str)
        and (task is None or type(task) is str)
        and (constraints is None or type(constraints) is str)
        and (reference is None or type(reference) is str)
    ):
        return TestCase(
            id=case_id,
            input=text,
            description=description,
            task=task,
            expected_constraints=constraints,
            reference=reference,
            metadata=merge_metadata(record) if "metadata" in record else record,
            file=file,
            line=line,
        )
    taken = (case_id, text, description, task, constraints, reference)
    record.update((name, value) for name, value in zip(CASE_FIELDS, taken, strict=True) if value is not None)
    return None


def _case(record: dict[str, Any], where: Position, report: Report, *, strict: bool = False) -> TestCase | None:
    if case := quick_case(dict(record), where.file, where.line):  # a copy: aliased cases share one mapping
        return case
    expected = read_expectations(record, where)
    checked = [
        check_id(record, where, report),
        (question := read_question(record, where, report, strict=strict)) is not None,
        *(check_optional_text(name, record, where, report) for name in _OPTIONAL),
        expected.accepted(report, strict=strict),
    ]
    if question is None or not all(checked):
        return None
    own = {*CASE_FIELDS, *expected.read, *question.read}
    return TestCase(
        id=record["id"],
        input=question.input,
        messages=question.messages,
        metadata=merge_metadata({name: value for name, value in record.items() if name not in own}),
        checks=expected.checks,
        references=expected.references,
        file=where.file,
        line=where.line,
        **{name: record.get(name) for name in _OPTIONAL},
    )


def _claims(root: Any, _suffix: str) -> bool:
    return root is None or (isinstance(root, list) and (not root or any(isinstance(item, dict) for item in root)))


GUIDE = Dialect("guide", _claims, lambda root: root or [], _case)
