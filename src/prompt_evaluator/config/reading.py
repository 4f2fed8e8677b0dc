"""Finds, reads and checks the configuration file."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.config.entries import providers
from prompt_evaluator.config.lines import Lines
from prompt_evaluator.config.problems import Place
from prompt_evaluator.config.settings import CONFIG_VARIABLE, NAME_TABLES, SETTINGS, VERSION, NameTable
from prompt_evaluator.config.suites import suites
from prompt_evaluator.config.values import converted
from prompt_evaluator.errors import InputError
from prompt_evaluator.syntax.source import check_text, read_bytes
from prompt_evaluator.syntax.yamltext import parse_yaml
from prompt_evaluator.usercode.trust import check_found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.model import ProviderSettings
    from prompt_evaluator.model.suite import Suite

FILE_NAME = "prompt_evaluator.yaml"
GROUPS = {name.partition(".")[0] for name in SETTINGS if "." in name}
TOP_LEVEL = {name.partition(".")[0] for name in SETTINGS} | {*NAME_TABLES, "providers", "suites", "version"}


class SourcedValue(NamedTuple):
    """A value and where it is set."""

    value: Any
    origin: str


class File(NamedTuple):
    """The checked content of the file."""

    values: dict[str, SourcedValue] = {}  # noqa: RUF012 - never changed
    names: dict[NameTable, dict[str, SourcedValue]] = {}  # noqa: RUF012
    providers: dict[str, ProviderSettings] = {}  # noqa: RUF012
    provider_origins: dict[str, str] = {}  # noqa: RUF012
    suites: dict[str, Suite] = {}  # noqa: RUF012


def find_config(environment: Mapping[str, str], start: Path, real: Mapping[str, str]) -> Path | None:
    """Return the file that `PROMPT_EVALUATOR_CONFIG` names, or the nearest one in a folder or its parents.

    Args:
        environment: The environment plus `.env`.
        start: The folder to start from.
        real: The environment without `.env`, because a file cannot declare itself trusted.

    Raises:
        InputError: Someone else may have written the nearest one.
    """
    if named := environment.get(CONFIG_VARIABLE):
        return start / Path(named).expanduser()
    for folder in (start, *start.parents):
        path = folder / FILE_NAME
        if os.path.isfile(path):  # noqa: PTH113 - also False if the folder is not accessible
            instead = f"Name it explicitly with --config {quote(str(path))} or {CONFIG_VARIABLE}={quote(str(path))}"
            check_found(path, "configuration", instead=instead, environment=real)
            return path
    return None


def read_config(path: Path, built_in: Mapping[str, ProviderSettings]) -> File:
    """Read and check the whole file.

    Raises:
        InputError: Something in it is unknown or wrong.
    """
    data = read_bytes(path)
    root = parse_yaml(data, path).root
    if root is None:
        return File()
    if not isinstance(root, dict):
        raise InputError("The configuration is not a mapping", path=path, advice="Write settings as `name: value`.")
    top = Place(path, Lines(check_text(data, path).decode()))
    for name in root:
        if name not in TOP_LEVEL:
            raise _unknown(name, top)
    _check_version(root.get("version"), top / "version")
    entries = (top / "providers").mapping(root.get("providers") or {}, "Write each provider below it, by its name.")
    named_sets = (top / "suites").mapping(root.get("suites") or {}, "Write each suite below it, by its name.")
    return File(
        values=dict(_values(root, top)),
        names={table: _name_table(root.get(table) or {}, top / table) for table in NAME_TABLES},
        providers=providers(entries, top / "providers", built_in),
        provider_origins={name: (top / "providers" / name).origin for name in entries},
        suites=suites(named_sets, top / "suites"),
    )


def _values(root: dict[str, Any], top: Place) -> Iterator[tuple[str, SourcedValue]]:
    for group in GROUPS:
        _check_group(root.get(group) or {}, top / group)
    for name, setting in SETTINGS.items():
        group, _, last = name.rpartition(".")
        value = (root.get(group) or {}).get(last) if group else root.get(name)
        if value is None:
            continue
        place = top / group / last if group else top / name
        try:
            yield name, SourcedValue(converted(setting.kind, value), place.origin)
        except ValueError:
            raise place.wrong(setting.kind.words, value, advice=setting.help) from None


def _check_group(found: Any, place: Place) -> None:
    known = [name.rpartition(".")[2] for name in SETTINGS if name.startswith(f"{place.name}.")]
    for name in place.mapping(found, f"Write below it, indented: {', '.join(known)}."):
        if name not in known:
            raise (place / name).unknown(known)


def _unknown(name: str, top: Place) -> InputError:
    if name in SETTINGS:
        group, _, last = name.partition(".")
        return (top / name).problem(f"`{name}` is written as one key", f"Write `{last}:` below `{group}:`, indented.")
    return (top / name).unknown(TOP_LEVEL)


def _check_version(found: Any, place: Place) -> None:
    if found is not None and (isinstance(found, bool) or found != VERSION):
        raise place.wrong(f"{VERSION}", found, advice="Another version of prompt-evaluator may read this file.")


def _name_table(found: Any, place: Place) -> dict[str, SourcedValue]:
    entries = place.mapping(found, "Write `name: path` below it, indented.")
    for name, path in entries.items():
        if not isinstance(path, str) or not path.strip():
            raise (place / name).wrong("the path of a file", path)
    return {name: SourcedValue(path, (place / name).origin) for name, path in entries.items()}
