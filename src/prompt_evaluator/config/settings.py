"""Every setting: its name, type and default, and where it can be set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from prompt_evaluator.config.hosts import ADDRESS, HOSTS, RESUME, WEB_ADDRESS
from prompt_evaluator.model import bounds
from prompt_evaluator.model.declaration import FOLDER, Kind, number
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


_SERVER = (
    Setting(
        name="server.host",
        kind=ADDRESS,
        default="127.0.0.1",
        help="The address to listen on. Any other than loopback needs tokens.",
        flag="--host",
        parameter="server_host",
    ),
    Setting(
        name="server.port",
        kind=number(bounds.PORT),
        default=8080,
        help="The port to listen on; 0 means any free one.",
        flag="--port",
        parameter="server_port",
    ),
    Setting(
        name="server.allowed_hosts",
        kind=HOSTS,
        otherwise="none besides localhost, 127.0.0.1 and the host of `server.public_url`",
        help="Host names under which requests are answered, with a port if only that one counts. Setting any makes "
        "tokens necessary.",
    ),
    Setting(
        name="server.public_url",
        kind=WEB_ADDRESS,
        help="The address that people use, if the server is behind a proxy. Its host is allowed.",
    ),
    Setting(
        name="server.runs_at_once",
        kind=number(bounds.RUNS_AT_ONCE),
        default=3,
        help="How many runs are executed at the same time. The others wait; people take turns.",
    ),
    Setting(
        name="server.resume",
        kind=RESUME,
        default="auto",
        help="Whether runs that were in progress when the server ended go on by themselves, or wait to be resumed.",
    ),
    Setting(
        name="server.max_samples",
        kind=number(bounds.SAMPLES),
        default=100,
        help="The most samples per case that a caller may ask for.",
    ),
    Setting(
        name="server.max_cases",
        kind=number(bounds.CASES),
        help="The most cases that a run may have.",
    ),
    Setting(
        name="server.max_cost",
        kind=number(bounds.BUDGET),
        help="The most US dollars that a run may spend. A caller may ask for less.",
    ),
    Setting(
        name="server.max_calls",
        kind=number(bounds.CALLS),
        help="The most calls that a run may make. A caller may ask for fewer.",
    ),
    Setting(
        name="server.max_concurrency",
        kind=number(bounds.CONCURRENCY),
        help="The most calls in flight that a caller may ask for, per run.",
    ),
    Setting(
        name="server.max_queued",
        kind=number(bounds.QUEUED),
        default=100,
        help="The most runs that may wait: per token, and for everybody together where no token is needed.",
    ),
)

SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        *_of_options(),
        Setting(name="benchmark.datasets_dir", kind=FOLDER, default="benchmarks", help="Where benchmarks are."),
        Setting(
            name="store",
            kind=STORE,
            default=".prompt_evaluator/store.db",
            flag="--store",
            help="Where runs are stored: a file or a PostgreSQL database.",
        ),
        *_SERVER,
    )
}


def flags_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Convert options, such as `judge_model`, to settings, such as `judge.model`; leave out those that are not set."""
    return {
        setting.name: value
        for setting in SETTINGS.values()
        if setting.parameter and (value := parameters.get(setting.parameter)) is not None
    }
