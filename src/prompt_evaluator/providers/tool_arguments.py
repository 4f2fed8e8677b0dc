"""The arguments of a tool call, which models write as text."""

from __future__ import annotations

from typing import Any

import msgspec

from prompt_evaluator.model import REDACTOR


def parsed_arguments(arguments: str | dict[str, Any] | None) -> dict[str, Any] | str:
    """Arguments as an object where they are one; the raw text where the model wrote something else."""
    if not isinstance(arguments, str):
        return arguments or {}
    arguments = REDACTOR.text(arguments)  # JSON inside JSON: what was escaped twice has been redacted once
    try:
        found = msgspec.json.decode(arguments or "{}")
    except (msgspec.MsgspecError, RecursionError):
        return arguments
    return found if isinstance(found, dict) else arguments
