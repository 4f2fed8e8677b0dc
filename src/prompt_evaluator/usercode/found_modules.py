"""Modules in the working folder: imported only if no other user could have written them."""

from __future__ import annotations

import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from prompt_evaluator.usercode.trust import TRUST_VARIABLE, check_found, why_not_our_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


def search_working_folder() -> str | None:
    """Add the working folder to `sys.path`, or return why that is unsafe.

    If the folder is in `sys.path` already, it was named, for example with PYTHONPATH, and its modules are not checked.
    """
    folder = os.getcwd()  # noqa: PTH109 - sys.path holds strings
    if folder in sys.path or "" in sys.path:
        return None
    if why := why_not_our_folder(Path(folder)):
        advice = f"To use it, set PYTHONPATH={quote(folder)} or {TRUST_VARIABLE}={quote(folder)}."
        return f"Modules are not imported from the working folder, because {why}. {advice}"
    sys.path.insert(0, folder)
    sys.meta_path.insert(sys.meta_path.index(PathFinder), _FoundModules(folder))
    return None


class _FoundModules(MetaPathFinder):
    """Refuses to import modules of one folder that others may have written.

    It only checks: Python asks it before every import, so that packages are checked before they run, and so is whatever
    a module imports.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if self._folder not in sys.path:
            return
        spec = PathFinder.find_spec(fullname, [self._folder] if path is None else path, target)
        for file in (spec.origin, spec.cached) if spec and spec.has_location else ():
            if file and (path is None or self._contains(file, fullname)):
                check_found(Path(file), "module", instead=f"To import it, set PYTHONPATH={quote(self._folder)}")

    def _contains(self, file: str, name: str) -> bool:
        """Whether it belongs to a package in the folder, not to one that is installed somewhere below it."""
        return Path(file).is_relative_to(Path(self._folder, name.partition(".")[0]))
