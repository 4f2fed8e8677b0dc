"""From configurations of the harness to the runs of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.groups import Part, command_alone
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import bounds
from prompt_evaluator.model.group import Member
from prompt_evaluator.model.run import HarnessPart
from prompt_evaluator.model.several import quoted_word
from prompt_evaluator.providers.mock.provider import SIMULATED_LATENCY, SIMULATED_QUALITY
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from prompt_evaluator.app.evals.tasks import Harness
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.bounds import Bound
    from prompt_evaluator.model.harness import ConfigEntry
    from prompt_evaluator.model.options import EvaluateOptions

ROUTER_VARIABLE = "EVAL_ROUTER_URL"
TAG = "evals"
"""Runs of the harness have this tag, with their configuration's id as its value."""
_SIMULATED = {SIMULATED_LATENCY: 800, SIMULATED_QUALITY: 0.5}
"""How the mock answers, unless the entry has these parameters itself. Some answers are bad, so that there is something
to see."""
_NUMBERS: dict[str, Bound] = {
    "temperature": bounds.TEMPERATURE,
    "max_tokens": bounds.TOKENS,
    "seed": bounds.SEED,
}


def harness_parts(harness: Harness, options: EvaluateOptions, settings: Settings) -> list[Part]:
    """Every configuration with all tasks, as parts of one group.

    Args:
        harness: The tasks and configurations.
        options: What all runs have in common.
        settings: Where calls go: to the router, if its address is set.

    Raises:
        ConfigurationError: A parameter of a configuration cannot be used.
    """
    through_router = bool(settings.environment.get(ROUTER_VARIABLE))
    tasks_hash, hashes = harness.tasks_hash, {entry.id: entry.hash for entry in harness.entries}
    return [
        Part(
            Member(dataset=harness.folder.name, model=entry.id),
            msgspec.structs.replace(
                options,
                **_target(entry, through_router=through_router),
                cases=harness.tasks,
                command=command_alone(options.command, {"--config-ids": quoted_word(entry.id)}),
                attempts=entry.retries + 1,
                tags={**options.tags, TAG: entry.id},
                harness=HarnessPart(
                    folder=str(harness.folder.resolve()),
                    config_id=entry.id,
                    config_hashes=hashes,
                    tasks_hash=tasks_hash,
                ),
            ),
        )
        for entry in harness.entries
    ]


def _target(entry: ConfigEntry, *, through_router: bool) -> dict[str, Any]:
    """Return the options that say which model to call, and how.

    A router gets the entry as it is written, and nothing else. For the mock, the entry's id is the model's name, so
    that configurations differ.
    """
    if through_router:
        numbers = dict.fromkeys(_NUMBERS)
        return {"generator_model": f"router/{entry.id}", "params": entry.entry, **numbers}
    numbers = {name: _number(name, entry) for name in _NUMBERS}
    params = {name: value for name, value in entry.params.items() if name not in _NUMBERS}
    if entry.target is not None:
        return {"generator_model": entry.target, "params": params, **numbers}
    return {
        "generator_model": f"mock/{entry.id}",
        "params": {**_SIMULATED, **params},
        **numbers,
    }


def _number(name: str, entry: ConfigEntry) -> float | None:
    value, bound = entry.params.get(name), _NUMBERS[name]
    if value is None:
        return None
    try:
        return bound.read(value)
    except ValueError:
        what = f"The configuration {entry.id!r}: `{name}` has to be {bound.words}, not {described(value)}"
        raise ConfigurationError(f"{what}. Correct it in configs/providers.json.") from None
