"""By how much a release may be worse: flags, then environment variables, then what the harness documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.bounds import TOLERANCE
from prompt_evaluator.model.harness_gate import GateLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES = {
    "completion_drop": "EVAL_MAX_COMPLETION_DROP",
    "latency_increase_ms": "EVAL_MAX_LATENCY_INCREASE_MS",
    "hallucination_increase": "EVAL_MAX_HALLUCINATION_INCREASE",
    "retries_increase": "EVAL_MAX_RETRIES_INCREASE",
}
_SHOWN = 40


def gate_limits(flags: Mapping[str, float | None], environment: Mapping[str, str]) -> GateLimits:
    """Return the limits; a flag of None was not given.

    Raises:
        ConfigurationError: A variable is not a number: never a check that is left out.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    for name, variable in VARIABLES.items():
        if name not in given and variable in environment:
            given[name] = _limit(variable, environment[variable])
    return GateLimits(**given)


def _limit(variable: str, text: str) -> float:
    try:
        return TOLERANCE.read_text(text)
    except ValueError:
        shown = f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text
        raise ConfigurationError(f"{variable}: It has to be {TOLERANCE.words}, not {shown!r}.") from None
