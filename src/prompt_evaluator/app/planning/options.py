"""Makes the options of a run from what a command or Python caller gave; the rest comes from the settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.config.loading import BUILT_IN
from prompt_evaluator.config.values import checked
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.declaration import DATASET, FILE, NO_RUBRIC, PATH, RUBRIC
from prompt_evaluator.model.options import OPTIONS, EvaluateOptions
from prompt_evaluator.model.run_limits import LIMITS, RunLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.declaration import Option

_WHERE = ("engine", "ray_address", "ray_workers", "ray_gpus")
KEYWORDS = {word: option for option in (OPTIONS | LIMITS).values() for word in (option.keyword, option.name)}
"""Keywords of the Python API: `samples`, and also `num_samples`, because that is the name of the flag."""


def evaluate_options(settings: Settings, given: Mapping[str, Any], **fixed: Any) -> EvaluateOptions:
    """Make options from what was given, and otherwise from the settings.

    Args:
        settings: Settings that already include what was given.
        given: Values by option name; None means not given.
        fixed: Values that override everything else.
    """
    chosen = settings.parameters() | {
        name: _placed(option, given[name], settings)
        for name, option in OPTIONS.items()
        if option.setting is None and given.get(name) is not None
    }
    values = {name: value for name, value in chosen.items() if name in OPTIONS and value is not None} | fixed
    if values.get("rubric") == NO_RUBRIC:
        values["rubric"] = None
    stated = frozenset(
        name
        for name in chosen
        if name in OPTIONS and (kept := OPTIONS[name].setting) and settings.origin(kept) != BUILT_IN
    )
    return EvaluateOptions(**values, stated=stated)


def run_limits(settings: Settings) -> RunLimits:
    """Limits of a run, from the settings."""
    return RunLimits(**{name: value for name, value in settings.parameters().items() if name in LIMITS})


def with_engine(limits: RunLimits, settings: Settings) -> RunLimits:
    """The limits of a run that somebody else has asked for, made where this process's settings say."""
    return msgspec.structs.replace(limits, **{name: settings.value(name) for name in _WHERE})


def given_options(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """A Python caller's keywords by option name, checked like flags.

    None means not given, except for the rubric, where it means no rubric.

    Raises:
        ConfigurationError: An option is unknown, or its value is invalid; says which.
    """
    given: dict[str, Any] = {}
    for word, value in keywords.items():
        if word not in KEYWORDS:
            raise UnknownNameError("option", word, KEYWORDS)
        option = KEYWORDS[word]
        if option.name in given:
            raise ConfigurationError(f"{option.keyword} and {option.name} are the same option. Give one of them.")
        if value is not None:
            given[option.name] = checked(option.kind, value, word)
        elif option.kind is RUBRIC:
            given[option.name] = NO_RUBRIC
    return given


def _placed(option: Option, value: Any, settings: Settings) -> Any:
    """Resolve a path or short name to its file."""
    if option.kind is DATASET:
        return settings.named("dataset_paths", value)
    if option.kind is FILE:
        return settings.named("prompt_templates", value)
    return Path(value) if option.kind is PATH else value
