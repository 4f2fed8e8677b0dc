"""The configuration file: where it is, and what it says about providers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import InputError, UnknownNameError
from prompt_evaluator.model import ProviderSettings
from prompt_evaluator.syntax.source import read_bytes
from prompt_evaluator.syntax.yamltext import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE_NAME = "prompt_evaluator.yaml"
_KEYS = ("providers",)


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """What is configured; everything has a default."""

    path: Path | None = None
    providers: dict[str, ProviderSettings] = {}

    @property
    def home(self) -> Path:
        """The folder that state belongs to: beside the file, or the working directory."""
        return self.path.parent if self.path else Path.cwd()


def find_config(environment: Mapping[str, str] = os.environ, start: Path | None = None) -> Path | None:
    """The file that `PROMPT_EVALUATOR_CONFIG` names, or the nearest one upwards from the working directory."""
    if named := environment.get("PROMPT_EVALUATOR_CONFIG"):
        return Path(named)
    folder = (start or Path.cwd()).resolve()
    return next((path for up in (folder, *folder.parents) if (path := up / FILE_NAME).is_file()), None)


def load_config(path: Path | None = None) -> Config:
    """Read and check the configuration; no file is an empty one."""
    path = path or find_config()
    if path is None:
        return Config()
    root = parse_yaml(read_bytes(path), path).root or {}
    if not isinstance(root, dict):
        raise InputError("The configuration is no mapping", path=path, advice="Write settings as `name: value`.")
    for key in root:
        if key not in _KEYS:
            raise InputError(str(UnknownNameError("setting", key, _KEYS)).rstrip("."), path=path)
    return Config(path=path.resolve(), providers=_providers(root.get("providers") or {}, path))


def _providers(found: Any, path: Path) -> dict[str, ProviderSettings]:
    advice = "See docs/how-to/configure-providers.md."
    try:
        return msgspec.convert(found, dict[str, ProviderSettings])
    except msgspec.ValidationError as error:
        raise InputError(f"An entry under `providers` is wrong: {error}", path=path, advice=advice) from None
