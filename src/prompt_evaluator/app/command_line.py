"""The command that started a run, completed so that it does the same in another shell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.config.settings import CONFIG_VARIABLE, PREFIX
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.run_limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import CommandLine

_CONFIG = "--config"


def with_variables(command: CommandLine, settings: Settings, names: Collection[str]) -> CommandLine:
    """Add flags for values from environment variables, which another shell may not have.

    Args:
        command: The command as typed.
        settings: The settings it used.
        names: Options that the command takes from the settings if they are not given.
    """
    present = {option[0] for option in command.options}
    added = [option for option in _from_variables(settings, names) if option[0] not in present]
    return msgspec.structs.replace(command, options=(*command.options, *added))


def _from_variables(settings: Settings, names: Collection[str]) -> Iterator[tuple[str, ...]]:
    if CONFIG_VARIABLE in settings.environment and settings.path:
        yield _CONFIG, str(settings.path)
    for option in (OPTIONS | LIMITS).values():
        if option.setting is None or option.name not in names:
            continue
        origins = settings.origin(option.setting).split(" and ")
        if any(origin.startswith(PREFIX) and " in " not in origin for origin in origins):  # `… in .env` is still set
            yield from _written(option.flag, settings.value(option.setting))


def _written(flag: str, value: Any) -> Iterator[tuple[str, ...]]:
    """A value as command-line arguments."""
    if isinstance(value, bool):
        yield (flag,) if value else (f"--no-{flag.removeprefix('--')}",)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield flag, f"{key}={item if isinstance(item, str) else json.dumps(item)}"
    elif isinstance(value, (list, tuple)):
        yield from ((flag, item) for item in value if isinstance(item, str))
    elif value is not None:
        yield flag, str(value)
