"""Checks that settings given for an existing run equal the run's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.planning.plans import prepare
from prompt_evaluator.app.planning.prepared import with_known_cases
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import DatasetRef, MetricUse, PromptRef, Rubric
from prompt_evaluator.model.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Collection

    from prompt_evaluator.app.models import Models
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.declaration import Option
    from prompt_evaluator.model.options import EvaluateOptions

_LONGEST = 60


def refuse_other_settings(
    plan: RunPlan, wanted: EvaluateOptions, names: Collection[str], models: Models, session: Session
) -> None:
    """Raise an error that lists every setting in `names` that differs from the run's own, with both values.

    Reads no cases and makes no calls. Files are compared by path, not by content.
    """
    draft = with_known_cases(prepare(_complete(wanted, plan, session), models, session.settings.rubrics).draft, plan)
    found = {name: text for name in names if (text := _difference(OPTIONS[name], plan, draft))}
    if found:
        flags = ", ".join(OPTIONS[name].flag for name in found)
        raise ConfigurationError(
            f"Run {plan.run_id} was started with different settings: {'; '.join(found.values())}. "
            f"A run keeps its settings: resume it without {flags}, or start a new run."
        )


def _complete(wanted: EvaluateOptions, plan: RunPlan, session: Session) -> EvaluateOptions:
    """Add the run's prompt text, if no prompt was given, and the full id of an earlier run."""
    prompt = plan.target.prompt
    of = session.store.full_id(wanted.of) if wanted.of else None
    text = prompt.text if prompt and wanted.system_prompt is None else wanted.system_text
    return msgspec.structs.replace(wanted, of=of, system_text=text)


def _difference(option: Option, plan: RunPlan, draft: RunPlan) -> str | None:
    path = option.kept_in or ""
    before, after = _at(plan, path), _at(draft, path)
    if msgspec.json.encode(_essence(before)) == msgspec.json.encode(_essence(after)):
        return None
    shown = _shown(before), _shown(after)
    if shown[0] == shown[1]:  # metrics that differ only in their options, or long texts with the same start
        shown = _whole(before), _whole(after)
    return f"{option.flag} was {shown[0]} and is now {shown[1]}"


def _at(plan: RunPlan, path: str) -> Any:
    """The value at a dotted path; None if the run has no such part, such as a judge."""
    value: Any = plan
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    return value


def _essence(value: Any) -> Any:
    """What to compare. For a file, its path: its content is checked by hash for every run."""
    if isinstance(value, (DatasetRef, PromptRef)):
        return value.path
    return (value.path or value.name) if isinstance(value, Rubric) else value


def _shown(value: Any) -> str:
    """A short text for a value in a plan."""
    if value in (None, (), {}):
        return "not set"
    if isinstance(value, (tuple, list)):
        return ", ".join(each.key if isinstance(each, MetricUse) else str(each) for each in value)
    for name in ("path", "name"):
        if isinstance(found := getattr(value, name, None), str):
            return found
    text = " ".join((value if isinstance(value, str) else _whole(value)).split())
    if " " not in text:
        return text
    return f"'{text}'" if len(text) <= _LONGEST else f"'{text[:_LONGEST]}…'"


def _whole(value: Any) -> str:
    return msgspec.json.encode(value).decode()
