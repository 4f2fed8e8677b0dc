"""Scripts for pages that are opened from disk, where a browser loads no modules: each becomes a plain script.

A module of ours imports names from files beside it and exports functions. Here it leaves its exports in a table, where
the scripts behind it find them; a page lists what a script needs in front of it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"\./([\w.-]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function (\w+)|(?:const|let) (\w+))", re.MULTILINE)
_TABLE = "window.bundleModules"


def asset_bytes(name: str) -> bytes:
    """The content of an asset."""
    return files("prompt_evaluator.server").joinpath("assets", name).read_bytes()


def with_needed(names: Iterable[str]) -> list[str]:
    """These modules, each behind those that it imports."""
    found: dict[str, None] = {}

    def add(name: str) -> None:
        for _, needed in _IMPORT.findall(_source(name)):
            add(needed)
        found.setdefault(name)

    for name in names:
        add(name)
    return list(found)


def plain_script(name: str) -> str:
    """A module as a script that is not one."""
    source = _source(name)
    exports = [function or value for function, value in _EXPORT.findall(source)]
    body = _IMPORT.sub(_taken, _EXPORT.sub("", source))
    return f'"use strict";\n(() => {{\n{body}\n({_TABLE} ??= {{}})["{name}"] = {{ {", ".join(exports)} }};\n}})();\n'


@cache
def _source(name: str) -> str:
    return asset_bytes(name).decode()


def _taken(found: re.Match[str]) -> str:
    names, module = found.groups()
    return f'const {{ {names.strip()} }} = {_TABLE}["{module}"];' if names else ""
