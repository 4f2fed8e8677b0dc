"""The command that started a run, with what it would not say again in another shell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.config.settings import CONFIG_VARIABLE, PREFIX
from prompt_evaluator.model.options import LIMITS, OPTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import CommandLine

_CONFIG = "--config"


def with_variables(command: CommandLine, settings: Settings, names: Collection[str]) -> CommandLine:
    """The command with flags for what environment variables said: `A=b command` is gone with the line it was typed on.

    Args:
        command: As it was written.
        settings: Those that held for it.
        names: The options that the command takes from the settings where they are not given.
    """
    said = {option[0] for option in command.options}
    added = [option for option in _from_variables(settings, names) if option[0] not in said]
    return msgspec.structs.replace(command, options=(*command.options, *added))


def _from_variables(settings: Settings, names: Collection[str]) -> Iterator[tuple[str, ...]]:
    if CONFIG_VARIABLE in settings.environment and settings.path:
        yield _CONFIG, str(settings.path)
    for option in (OPTIONS | LIMITS).values():
        if option.setting is None or option.name not in names:
            continue
        origins = settings.origin(option.setting).split(" and ")
        if any(origin.startswith(PREFIX) and " in " not in origin for origin in origins):  # `… in .env` is still there
            yield from _written(option.flag, settings.value(option.setting))


def _written(flag: str, value: Any) -> Iterator[tuple[str, ...]]:
    """A value as the command line takes it."""
    if isinstance(value, bool):
        yield (flag,) if value else (f"--no-{flag.removeprefix('--')}",)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield flag, f"{key}={item if isinstance(item, str) else json.dumps(item)}"
    elif isinstance(value, (list, tuple)):
        yield from ((flag, item) for item in value if isinstance(item, str))
    elif value is not None:
        yield flag, str(value)
