"""The settings of this process, with their origins, shown without secrets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.config.loading import BUILT_IN as BUILT_IN_ORIGIN
from prompt_evaluator.config.loading import Settings, load_settings
from prompt_evaluator.config.schema import config_schema
from prompt_evaluator.config.settings import NAME_TABLES, SETTINGS, flags_of
from prompt_evaluator.metrics.rubrics import load_rubric, preset_names
from prompt_evaluator.model.secret import is_secret_name
from prompt_evaluator.model.suite import Suite
from prompt_evaluator.providers.catalogue import BUILT_IN
from prompt_evaluator.providers.keys import Key, shown_proxy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model import ProviderSettings, Rubric


class ShownValue(msgspec.Struct, frozen=True, kw_only=True):
    """One setting."""

    name: str
    value: Any
    origin: str
    variable: str
    flag: str | None


class ShownName(msgspec.Struct, frozen=True, kw_only=True):
    """One short name for a file."""

    name: str
    path: str
    found: bool
    origin: str


class ShownProvider(msgspec.Struct, frozen=True, kw_only=True):
    """One provider, without any value that may be a secret."""

    name: str
    kind: str
    address: str | None
    key: str | None
    """The variable or file that holds the key."""
    key_present: bool | None
    """None if no key is needed."""
    proxy: str | None
    """The proxy for calls, without its login, and where it is set."""
    headers: tuple[str, ...]
    options: tuple[str, ...]
    origin: str


class ShownSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `config show`."""

    config: str | None
    dotenv: tuple[str, ...]
    settings: tuple[ShownValue, ...]
    prompt_templates: tuple[ShownName, ...]
    dataset_paths: tuple[ShownName, ...]
    rubrics: tuple[ShownName, ...]
    suites: tuple[Suite, ...]
    providers: tuple[ShownProvider, ...]


class ListedRubric(msgspec.Struct, frozen=True, kw_only=True):
    """A rubric that can be used by name."""

    name: str
    path: str | None
    """None for a built-in rubric."""
    metrics: tuple[str, ...]
    flags: tuple[str, ...]


def read_settings(config_path: Path | None = None, options: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings from, in order of precedence: options, environment with `.env`, file, built-in values.

    Options are keyed by name, such as `judge_model`. None means not given; options that are not settings are ignored.
    """
    return load_settings(config_path, flags_of(options or {}), built_in=BUILT_IN)


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of the configuration file."""
    return config_schema()


def show_settings(settings: Settings) -> ShownSettings:
    """Each value with its origin."""
    names = {
        table: tuple(
            ShownName(name=name, path=str(sourced.value), found=Path(sourced.value).is_file(), origin=sourced.origin)
            for name, sourced in settings.names[table].items()
        )
        for table in NAME_TABLES
    }
    return ShownSettings(
        config=str(settings.path) if settings.path else None,
        dotenv=tuple(map(str, settings.dotenv_files)),
        settings=tuple(
            ShownValue(
                name=name,
                value=masked(settings.value(name)),
                origin=settings.origin(name),
                variable=setting.variable,
                flag=setting.flag,
            )
            for name, setting in SETTINGS.items()
        ),
        providers=tuple(_provider(settings, *item) for item in sorted((BUILT_IN | settings.providers).items())),
        prompt_templates=names["prompt_templates"],
        dataset_paths=names["dataset_paths"],
        rubrics=names["rubrics"],
        suites=tuple(settings.suites.values()),
    )


def rubric_names(settings: Settings) -> list[str]:
    """The names of configured and built-in rubrics."""
    return sorted({*settings.rubrics, *preset_names()})


def list_rubrics(settings: Settings) -> list[ListedRubric]:
    """Configured and built-in rubrics. Raises an error if one cannot be read."""
    return [_listed(name, find_rubric(settings, name)) for name in rubric_names(settings)]


def find_rubric(settings: Settings, name: str) -> Rubric:
    """A rubric by name or path."""
    return load_rubric(name, settings.rubrics)


def masked(value: Any) -> Any:
    """A value that is safe to show: a path as text, an address without its login and query, no secret parameter."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {name: "[secret]" if is_secret_name(name) else masked(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(item) for item in value]
    if isinstance(value, str) and "://" in value:
        return re.sub(r"://.*@", "://…@", value.partition("?")[0])
    return value


def _provider(settings: Settings, name: str, found: ProviderSettings) -> ShownProvider:
    key = Key(name, found, settings.environment)
    address = (settings.environment.get(found.base_url_env) if found.base_url_env else None) or found.base_url
    return ShownProvider(
        name=name,
        kind=found.kind,
        address=masked(address or (f"${found.base_url_env}" if found.base_url_env else None)),
        key=key.source,
        key_present=key.present if key.source else None,
        proxy=shown_proxy(name, found),
        headers=tuple(sorted(found.headers)),
        options=tuple(sorted(found.options)),
        origin=settings.provider_origins.get(name, BUILT_IN_ORIGIN),
    )


def _listed(name: str, rubric: Rubric) -> ListedRubric:
    return ListedRubric(
        name=name,
        path=rubric.path,
        metrics=tuple(criterion.name for criterion in rubric.metrics),
        flags=tuple(flag.name for flag in rubric.flags),
    )
