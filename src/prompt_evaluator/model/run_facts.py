"""What stored runs and files say in common about a run: parameters and rubrics in a form that can be compared."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prompt_evaluator.model.case import MetricUse

SHORT_ID = 8
"""Characters of a run's id that people are shown."""
_NOT_PARAMETERS = ("model", "model_name", "identity", "prompt", "params", "left_out", "ignored", "strict_params")
_DEFAULTS: dict[str, Any] = {"attempts": 1, "render_prompt": False, "repeats": 1}


def parameters(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a model's configuration that are sent, `params` among them; defaults are left out.

    `service` is where the model is called, or the code of a program. Files do not say it.
    """
    known = {name: value for name, value in config.items() if name not in _NOT_PARAMETERS and _is_set(name, value)}
    if identity := config.get("identity"):
        known["service"] = identity
    others = config.get("params")
    if isinstance(others, dict):
        known |= {f"params.{name}" if name in known else name: value for name, value in others.items()}
    left_out = {left["field"] for left in config.get("left_out") or ()}
    return {name: value for name, value in known.items() if name not in left_out}


def judge_parameters(config: Mapping[str, Any] | None, others: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the parameters of the run's judge, and those of the judges of single metrics with their name in front."""
    found = parameters(config) if config else {}
    for name, other in others.items():
        found |= {f"{name} {key}": value for key, value in parameters(other).items()}
    return found


def definitions(uses: Iterable[MetricUse]) -> dict[str, Any]:
    """Metric uses by the name of their scores, as plain values."""
    return {use.key: msgspec.to_builtins(use) for use in uses}


def rubric_text(metrics: Any, flags: Any) -> str | None:
    """Criteria and flags, given as plain values, as lines like YAML; None if there are none."""
    parts = {name: value for name, value in (("metrics", metrics), ("flags", flags)) if value}
    return "\n".join(_lines(parts)) if parts else None


def input_hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def _is_set(name: str, value: Any) -> bool:
    return value is not None and value != {} and (name not in _DEFAULTS or value != _DEFAULTS[name])


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in value.items():
            if part is not None:
                yield from _entry(f"{key}:", part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            first, *rest = list(_lines(part)) or [""]
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
    else:
        yield from _scalar(value).split("\n")


def _entry(start: str, value: Any) -> Iterator[str]:
    lines = list(_lines(value))
    if len(lines) == 1 and not isinstance(value, (dict, list, tuple)):
        yield f"{start} {lines[0]}".rstrip()
    else:
        yield start
        yield from (f"  {line}".rstrip() for line in lines)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
