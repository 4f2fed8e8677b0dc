"""From what a command or a Python caller gave to the options of a run: what was not given comes from the settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_evaluator.config.values import checked
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.declaration import DATASET, FILE, NO_RUBRIC, PATH, RUBRIC
from prompt_evaluator.model.options import LIMITS, OPTIONS, EvaluateOptions, RunLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.declaration import Option

KEYWORDS = {word: option for option in (OPTIONS | LIMITS).values() for word in (option.keyword, option.name)}
"""What a Python caller may say: `samples`, and `num_samples` as well, because that is the name of the flag."""


def evaluate_options(settings: Settings, given: Mapping[str, Any], **fixed: Any) -> EvaluateOptions:
    """Options from what was given and, where nothing was, from the settings.

    Args:
        settings: They have been told of what was given.
        given: By the names of the options; None means that an option was not given.
        fixed: What holds whatever the settings say.
    """
    chosen = settings.parameters() | {
        name: _placed(option, given[name], settings)
        for name, option in OPTIONS.items()
        if option.setting is None and given.get(name) is not None
    }
    values = {name: value for name, value in chosen.items() if name in OPTIONS and value is not None} | fixed
    if values.get("rubric") == NO_RUBRIC:
        values["rubric"] = None
    return EvaluateOptions(**values)


def run_limits(settings: Settings) -> RunLimits:
    """How far a run may go, as the settings say."""
    return RunLimits(**{name: value for name, value in settings.parameters().items() if name in LIMITS})


def given_options(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """What a Python caller said, by the names of the options, checked as a flag is.

    None is the same as not given, but for the rubric, where it means that there is none.

    Raises:
        ConfigurationError: There is no such option, or its value cannot be; says which.
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
    """The file behind a path or a short name."""
    if option.kind is DATASET:
        return settings.named("dataset_paths", value)
    if option.kind is FILE:
        return settings.named("prompt_templates", value)
    return Path(value) if option.kind is PATH else value
