"""The release harness's dialect, a JSON task list: `prompt`, required phrases, and signs of hallucination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.datasets.dialects.dialect import Dialect
from prompt_evaluator.datasets.fields import check_id, check_optional_text, check_text, check_texts, merge_metadata
from prompt_evaluator.datasets.optional_fields import read_expectations
from prompt_evaluator.model import MetricUse, TestCase
from prompt_evaluator.syntax.source import stem

if TYPE_CHECKING:
    from prompt_evaluator.datasets.positions import Position, Report

_METRICS = {"mustInclude": "includes", "hallucinationTriggers": "excludes"}
_OWN = {"id", "prompt", *_METRICS}
_TOLD_BY = {"prompt", *_METRICS}


def _case(record: dict[str, Any], where: Position, report: Report, *, strict: bool = False) -> TestCase | None:
    file_name = stem(where.path)
    default = {"id": f"{file_name}-{(where.index or 0) + 1}", "category": file_name}
    named = record | {name: value for name, value in default.items() if record.get(name) is None}
    expected = read_expectations(named, where, implied=_checks(named))
    checked = [
        check_id(named, where, report),
        check_text("prompt", named, where, report),
        check_optional_text("category", named, where, report),
        check_texts("mustInclude", named, where, report, alternatives=True),
        check_texts("hallucinationTriggers", named, where, report),
        expected.accepted(report, strict=strict),
    ]
    if not all(checked):
        return None
    own = _OWN | expected.read
    return TestCase(
        id=named["id"],
        input=named["prompt"],
        metadata=merge_metadata({name: value for name, value in named.items() if name not in own}),
        checks=expected.checks,
        references=expected.references,
        file=where.file,
        line=where.line,
    )


def _checks(record: dict[str, Any]) -> tuple[MetricUse, ...]:
    return tuple(
        MetricUse(metric=metric, options={"phrases": record[field]})
        for field, metric in _METRICS.items()
        if record.get(field)
    )


def _claims(root: Any, suffix: str) -> bool:
    return (
        suffix == ".json"
        and isinstance(root, list)
        and any(isinstance(item, dict) and item.keys() & _TOLD_BY and "input" not in item for item in root)
    )


HARNESS = Dialect("harness", _claims, lambda root: root, _case)
