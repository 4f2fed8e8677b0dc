"""Strictly checks a score that user code returned."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from prompt_evaluator.model import Failed, Score, Scored, Skipped, message_of

_SHOWN = 500


def as_score(value: Any, giver: str) -> Score:
    """Turn what user code returned into a `Score`; an invalid value becomes `Failed`.

    Args:
        value: True or false, a number from 0 to 1, `(score, reason)`, `{score, reason, details}`, `{skipped}` or a
            `Score`.
        giver: What returned it, such as `the function`; used in error messages.
    """
    if isinstance(value, Scored):
        return _checked(value.value, value.reason, value.details, giver)
    if isinstance(value, Skipped | Failed):
        return value
    if isinstance(value, tuple | list) and len(value) == 2:  # noqa: PLR2004 - a score and its reason
        return _checked(value[0], value[1], {}, giver)
    if isinstance(value, dict) and isinstance(value.get("skipped"), str) and "score" not in value:
        return Skipped(value["skipped"])
    if isinstance(value, dict) and "score" in value:
        rest = {name: item for name, item in value.items() if name not in ("score", "reason", "details")}
        details = value.get("details")
        all_details = {**(details if isinstance(details, dict) else {}), **rest}
        return _checked(value["score"], value.get("reason") or "", all_details, giver)
    return _checked(value, "", {}, giver)


def _checked(value: Any, reason: Any, details: dict[str, Any], giver: str) -> Score:
    try:
        number = math.nan if value is None or isinstance(value, str | bytes) else float(value)
        stored = msgspec.json.decode(msgspec.json.encode(details))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return Failed(f"{giver} returned an invalid score: {message_of(error)[:_SHOWN]}", kind="InvalidScore")
    if not 0 <= number <= 1:
        return Failed(f"{giver} returned {value!r:.60}, not a number from 0 to 1", kind="InvalidScore")
    return Scored(number, str(reason), stored)
