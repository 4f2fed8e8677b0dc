"""How often to repeat a trial: enough to notice a mistake in `make test`, many more times in `make nightly`."""

from __future__ import annotations

import os

SOAKING = os.environ.get("PROMPT_EVALUATOR_SOAK") == "1"


def trials(usual: int, *, soak: int | None = None) -> int:
    """How many trials to make; ten times as many in `make nightly` unless it says otherwise."""
    return (10 * usual if soak is None else soak) if SOAKING else usual
