"""Every setting: its name, type and default, and where it can be set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from prompt_evaluator.model.declaration import FOLDER, Kind
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.run_limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREFIX = "PROMPT_EVALUATOR_"
CONFIG_VARIABLE = PREFIX + "CONFIG"
"""Names the configuration file; not a setting itself."""
VERSION = 1
"""Version of the file's format."""

NameTable = Literal["prompt_templates", "dataset_paths", "rubrics"]
NAME_TABLES: dict[NameTable, tuple[str, str]] = {
    "prompt_templates": ("prompt", "Short names for files with prompts."),
    "dataset_paths": ("dataset", "Short names for datasets."),
    "rubrics": ("rubric", "Short names for your own rubrics; they may override built-in ones."),
}
"""Mappings of short names to paths: the kind of file that they name, and the help text."""


STORE = Kind(Annotated[str, Meta(min_length=1)], "the path of a file or a postgresql:// address")


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A value that can be set in the file, by a variable and, usually, by a flag."""

    name: str
    """As nested in the file: `generator.model` is `model:` under `generator:`."""
    kind: Kind
    default: Any = None
    """A path is relative to the configuration file's folder."""
    otherwise: str | None = None
    """What happens by default, if that is not a fixed value."""
    help: str
    flag: str | None = None
    parameter: str | None = None
    """The name of the option, such as `judge_model`."""

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper().replace(".", "_")


def _of_options() -> Iterator[Setting]:
    for option in (OPTIONS | LIMITS).values():
        if option.setting is not None:
            yield Setting(
                name=option.setting,
                kind=option.kind,
                default=_written(option.default),
                otherwise=option.otherwise,
                help=option.help,
                flag=option.flag,
                parameter=option.name,
            )


def _written(default: Any) -> Any:
    """Return a default as it would be written in the file; an empty one becomes None."""
    return None if default in ((), {}) else str(default) if isinstance(default, Path) else default


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        *_of_options(),
        Setting(name="benchmark.datasets_dir", kind=FOLDER, default="benchmarks", help="Where benchmarks are."),
        Setting(
            name="store",
            kind=STORE,
            default=".prompt_evaluator/store.db",
            help="Where runs are stored: a file or a PostgreSQL database.",
        ),
    )
}


def flags_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Convert options, such as `judge_model`, to settings, such as `judge.model`; leave out those that are not set."""
    return {
        setting.name: value
        for setting in SETTINGS.values()
        if setting.parameter and (value := parameters.get(setting.parameter)) is not None
    }
