"""What was compared, and what differs between two runs, in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model.comparison import Change, DatasetChange
from prompt_evaluator.model.comparison_findings import DifferenceFinding, RunLabel
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model.comparison import RunFacts

_LABELS = {"prompt_version": "prompt version", "samples": "samples per case"}
_PREFIXES = {"parameters.": "", "judge_parameters.": "judge's ", "metrics.": "metric "}
_LISTED_IDS = 5
_LONGEST_VALUE = 80
_SHORT_HASH = 12
_CODE = len("code ") + 8
"""Of a program: the beginning of its digest."""
_HASH = re.compile(r"(sha256:)?[0-9a-f]{64}")


def run_label(facts: RunFacts, letter: str) -> RunLabel:
    on = f" on {facts.dataset_name}" if facts.dataset_name else ""
    parts = [
        f"{facts.generator_model or 'unknown model'}{on}",
        *([f"prompt {facts.prompt_version}"] if facts.prompt_version else []),
        *_size(facts),
        *([facts.status] if facts.status not in (None, "completed") else []),
        *(f"{name}={value}" for name, value in facts.tags.items()),
        *([facts.note] if facts.note else []),
    ]
    return RunLabel(letter=letter, name=facts.name, text=", ".join(parts))


def _size(facts: RunFacts) -> list[str]:
    if facts.cases is None:
        return []
    samples = f" × {many(facts.num_samples, 'sample')}" if facts.num_samples is not None else ""
    return [f"{many(facts.cases, 'case')}{samples}"]


def differences(differs: Mapping[str, Change | DatasetChange]) -> tuple[DifferenceFinding, ...]:
    return tuple(_difference(code, change) for code, change in differs.items())


def _difference(code: str, change: Change | DatasetChange) -> DifferenceFinding:
    if isinstance(change, DatasetChange):
        return DifferenceFinding(code=code, label=_label(code), text=_rows(change))
    if change.diff:
        lines = _without_file_names(change.diff.splitlines())
        added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        text = f"{many(added, 'line')} added, {removed:,} removed"
        return DifferenceFinding(code=code, label=_label(code), text=text, diff=tuple(lines))
    value = _service if code.endswith("service") else _value
    text = f"{value(change.baseline)} → {value(change.candidate)}"
    return DifferenceFinding(code=code, label=_label(code), text=text)


def _label(code: str) -> str:
    for prefix, start in _PREFIXES.items():
        if code.startswith(prefix):
            return start + code.removeprefix(prefix)
    return _LABELS.get(code, code)


def _rows(change: DatasetChange) -> str:
    kinds = (
        ("added", change.added, change.added_ids),
        ("removed", change.removed, change.removed_ids),
        ("changed", change.changed, change.changed_ids),
    )
    parts = [f"{number:,} {kind} ({_ids(number, ids)})" for kind, number, ids in kinds if number]
    return ", ".join(parts) or "in another order"


def _ids(number: int, ids: tuple[str, ...]) -> str:
    shown = ids[:_LISTED_IDS]
    more = f" and {number - len(shown):,} more" if number > len(shown) else ""
    return ", ".join(shown) + more


def _without_file_names(lines: list[str]) -> list[str]:
    named = len(lines) > 1 and lines[0].startswith("--- ") and lines[1].startswith("+++ ")
    return lines[2:] if named else lines


def _service(value: Any) -> str:
    """`openai at https://example.com/v1`, `mock`, `python, code 1a2b3c4d`; what is not known to be one, as it is."""
    kind, *parts = value.split("|") if isinstance(value, str) else ("",)
    if not parts:
        return _value(value)
    address, *code = parts
    at = f" at {address}" if address.partition("://")[2] else ""
    return _value(", ".join([f"{kind}{at}", *(part.replace("code:", "code ")[:_CODE] for part in code)]))


def _value(value: Any) -> str:
    if value is None:
        return "not set"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if _HASH.fullmatch(text):
        return text.removeprefix("sha256:")[:_SHORT_HASH]
    text = " ".join(text.split())
    return f"{text[:_LONGEST_VALUE]}…" if len(text) > _LONGEST_VALUE else text or "empty"
