"""Decides each setting's value: flags override the environment, which overrides the file, which overrides defaults."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.config.dotenv import Variable, read_dotenv
from prompt_evaluator.config.reading import File, SourcedValue, find_config, read_config
from prompt_evaluator.config.settings import (
    CONFIG_VARIABLE,
    NAME_TABLES,
    PREFIX,
    SETTINGS,
    STORE,
    NameTable,
    Setting,
)
from prompt_evaluator.config.values import checked
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model import ProviderSettings
from prompt_evaluator.model.declaration import FILE, FOLDER, MAPPING, RUBRIC
from prompt_evaluator.model.suite import Suite
from prompt_evaluator.user_data import DATA_VARIABLE
from prompt_evaluator.usercode.trust import TRUST_VARIABLE, check_found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BUILT_IN = "built-in"
_RUBRIC_SUFFIXES = (".yaml", ".yml", ".json")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting with its value and origin. Paths are absolute."""

    path: Path | None
    """The configuration file."""
    cwd: Path
    values: dict[str, SourcedValue]
    names: dict[NameTable, dict[str, SourcedValue]]
    """Short names and their paths."""
    providers: dict[str, ProviderSettings]
    """Configured providers, without those that are only built in."""
    provider_origins: dict[str, str]
    environment: dict[str, str]
    """The environment plus `.env`, which does not override it."""
    suites: dict[str, Suite] = {}
    """Sets of datasets, models and metrics, by name."""
    dotenv_files: tuple[Path, ...] = ()

    @property
    def home(self) -> Path:
        """The folder for state: the configuration file's, or the working directory."""
        return self.path.parent if self.path else self.cwd

    @property
    def store(self) -> Path | str:
        """Where runs are stored: a file, or the address of a database, which may contain a password."""
        location: Path | str = self.value("store")
        return location

    def checked_store(self) -> Path | str:
        """The same, if it is named, or if nobody else can have written it: `resume` runs the program of a stored run.

        Raises:
            InputError: It was found, and others may have written it.
        """
        location = self.store
        if isinstance(location, Path) and self.origin("store") == BUILT_IN:
            named = quote(str(location))
            instead = f"Name it explicitly with --store {named} or {SETTINGS['store'].variable}={named}"
            check_found(location, "store", instead=instead)
        return location

    @property
    def rubrics(self) -> dict[str, str]:
        """The configured rubrics, as `load_rubric` expects them."""
        return {name: str(sourced.value) for name, sourced in self.names["rubrics"].items()}

    def value(self, name: str) -> Any:
        """Return the value in its declared type; None if it is not set and has no default."""
        return self._sourced(name).value

    def origin(self, name: str) -> str:
        """Return where the value is set: `--seed`, a variable, `prompt_evaluator.yaml, line 7`, or `built-in`."""
        return self._sourced(name).origin

    def parameters(self) -> dict[str, Any]:
        """Return every setting that is an option, by the option's name, such as `judge_model`."""
        return {setting.parameter: self.value(name) for name, setting in SETTINGS.items() if setting.parameter}

    def named(self, table: NameTable, text: str | os.PathLike[str]) -> Path:
        """Resolve a short name to its file; anything else is returned unchanged, as a path.

        Raises:
            UnknownNameError: It looks like a short name, but is neither a known one nor an existing file.
        """
        name = os.fspath(text)
        if (sourced := self.names[table].get(name)) is not None:
            return Path(sourced.value)
        path = Path(name)
        if self.names[table] and path.name == name and not path.suffix and not (self.cwd / path).exists():
            raise UnknownNameError(NAME_TABLES[table][0], name, self.names[table])
        return path

    def unknown_variables(self) -> list[str]:
        """Return variables that have our prefix but are not settings."""
        known = {setting.variable for setting in SETTINGS.values()} | {CONFIG_VARIABLE, DATA_VARIABLE, TRUST_VARIABLE}
        return sorted(name for name in self.environment if name.startswith(PREFIX) and name not in known)

    def _sourced(self, name: str) -> SourcedValue:
        if name not in self.values:
            raise UnknownNameError("setting", name, self.values)
        return self.values[name]


def load_settings(
    config_path: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] = os.environ,
    cwd: Path | None = None,
    built_in: Mapping[str, ProviderSettings] | None = None,
) -> Settings:
    """Read all sources and decide the value of every setting.

    Variables from `.env` are also added to `os.environ`, where keys are looked up. They never replace existing ones;
    our own `PROMPT_EVALUATOR_` variables are left out, so that their origin stays known.

    Args:
        config_path: The file; by default the one `PROMPT_EVALUATOR_CONFIG` names, or the nearest in `cwd` or above.
        flags: Settings by name; None means that the flag is not set.
        environment: Where variables are looked up; only `os.environ` itself is added to.
        cwd: Relative paths of flags and variables start here.
        built_in: Providers that an entry without `kind` overrides.

    Raises:
        InputError: The file or `.env` is invalid, or someone else may have written it.
        ConfigurationError: A flag or a variable is invalid.
    """
    here = (cwd or Path.cwd()).absolute()
    added = read_dotenv(here, environment)
    seen = {name: variable.value for name, variable in added.items()} | dict(environment)
    path = here / config_path.expanduser() if config_path is not None else find_config(seen, here, environment)
    path = path.resolve() if path is not None else None
    if path is not None and path.parent != here:
        added = read_dotenv(path.parent, environment) | added
    lookup = {name: variable.value for name, variable in added.items()} | dict(environment)
    if environment is os.environ:
        _export(added)
    file = read_config(path, built_in or {}) if path is not None else File()
    home = path.parent if path is not None else here
    names = _named_paths(file, home)
    sources = _Sources(flags or {}, environment, added, file, here, home, names)
    return Settings(
        path=path,
        cwd=here,
        values={name: sources.decide(setting) for name, setting in SETTINGS.items()},
        names=names,
        providers=file.providers,
        provider_origins=file.provider_origins,
        suites={name: sources.with_rubric(suite) for name, suite in file.suites.items()},
        environment=lookup,
        dotenv_files=tuple(dict.fromkeys(variable.path for variable in added.values())),
    )


def _named_paths(file: File, home: Path) -> dict[NameTable, dict[str, SourcedValue]]:
    """Resolve the paths of short names, relative to the file's folder."""
    return {
        table: {
            name: SourcedValue(home / Path(sourced.value).expanduser(), sourced.origin)
            for name, sourced in file.names.get(table, {}).items()
        }
        for table in NAME_TABLES
    }


def _export(added: Mapping[str, Variable]) -> None:
    for name, variable in added.items():
        if not name.startswith(PREFIX):
            os.environ.setdefault(name, variable.value)


class _Sources:
    """All sources of settings."""

    def __init__(  # noqa: PLR0913, PLR0917 - one for each source
        self,
        flags: Mapping[str, Any],
        environment: Mapping[str, str],
        added: Mapping[str, Variable],
        file: File,
        here: Path,
        home: Path,
        names: Mapping[NameTable, Mapping[str, SourcedValue]],
    ) -> None:
        self._flags, self._environment, self._added, self._file = flags, environment, added, file
        self._here, self._home, self._name_tables = here, home, names
        for name in flags:
            if name not in SETTINGS:
                raise UnknownNameError("setting", name, SETTINGS)

    def decide(self, setting: Setting) -> SourcedValue:
        """Return the value of the first source that sets it; mappings are merged key by key."""
        if setting.kind is MAPPING:
            return self._merged(setting)
        value, origin, base = next(self._all(setting))
        return SourcedValue(self._placed(setting, value, base), origin)

    def with_rubric(self, suite: Suite) -> Suite:
        """Resolve the suite's rubric as that of the settings."""
        return msgspec.structs.replace(suite, rubric=self._placed(SETTINGS["rubric"], suite.rubric, self._home))

    def _merged(self, setting: Setting) -> SourcedValue:
        """Merge all mappings, sorted by key. The origin names every source that set a key."""
        merged: dict[str, Any] = {}
        origins = []
        for value, origin, _ in self._all(setting):
            if new := {key: item for key, item in (value or {}).items() if key not in merged}:
                merged |= new
                origins.append(origin)
        return SourcedValue(dict(sorted(merged.items())) or None, " and ".join(origins) or BUILT_IN)

    def _all(self, setting: Setting) -> Iterator[tuple[Any, str, Path]]:
        name, variable = setting.name, setting.variable
        if (flag := self._flags.get(name)) is not None:
            origin = setting.flag or name
            yield checked(setting.kind, flag, origin), origin, self._here
        if text := self._environment.get(variable, "").strip():
            yield checked(setting.kind, text, variable, text=True), variable, self._here
        if (added := self._added.get(variable)) and added.value.strip():
            where = added.path.name if added.path.parent == self._here else str(added.path)
            origin = f"{variable} in {where}, line {added.line}"
            yield checked(setting.kind, added.value.strip(), origin, text=True), origin, added.path.parent
        if sourced := self._file.values.get(name):
            yield *sourced, self._home
        yield setting.default, BUILT_IN, self._home

    def _placed(self, setting: Setting, value: Any, base: Path) -> Any:
        """Resolve paths relative to their source's folder, and short names."""
        if value is None or setting.kind not in (FILE, FOLDER, STORE, RUBRIC):
            return value
        path = base / Path(value).expanduser()
        if setting.kind is FILE:
            return self._named("prompt_templates", value) or path
        if setting.kind is RUBRIC:
            is_path = "/" in value or Path(value).suffix.lower() in _RUBRIC_SUFFIXES
            return str(self._named("rubrics", value) or (path if is_path else value))
        return value if setting.kind is STORE and "://" in value else path

    def _named(self, table: NameTable, name: str) -> Path | None:
        sourced = self._name_tables[table].get(name)
        return sourced.value if sourced else None
