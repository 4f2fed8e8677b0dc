"""The files of a module and of everything it imports from the same project."""

from __future__ import annotations

import functools
import os
import re
import sys
import sysconfig
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Listing = Callable[[str], frozenset[str]]
    """Returns the names in a folder. Cached, because a project has few folders and many imports."""

# Paths are strings here: a project may have hundreds of files, and Path objects would take most of the time.
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_STANDARD = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
_OURSELVES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - as above
_IMPORT = re.compile(r"import\b[ \t]*(\([^)]*\)|[^\n;]*)")
_BEFORE_IMPORT = re.compile(r"(?:^|[;:])\s*(?:from\s+([.\w]+)\s*)?$")
_COMMENT = re.compile(r"#[^\n]*")


class Project(NamedTuple):
    """The folder of a top-level module or package, excluding libraries installed below it."""

    folder: str
    own: str | None = None
    """The top-level module's file or the package's folder, which is included even if it is installed."""

    @classmethod
    def of(cls, module: str) -> Self | None:
        """Return the module's project. None for modules without files, of the standard library or of this package."""
        top = sys.modules.get(module.partition(".")[0])
        packages = [*getattr(top, "__path__", ())]
        place = packages[0] if packages else _file(top)
        if not place:
            return None
        own = os.path.abspath(place)  # noqa: PTH100 - symbolic links are not resolved
        if _is_in(own, _OURSELVES) or (_is_standard(own) and not _is_installed(own)):
            return None
        return cls(os.path.dirname(own), own)  # noqa: PTH120 - as above

    def files(self, modules: Iterable[str]) -> dict[str, bytes]:
        """Map each file's path, relative to the project, to its content.

        Imports are found in a module's source, which includes those that leave no trace in the module, such as an
        imported constant or an import inside a function, and in its globals, which include dynamic imports.
        """
        listing = functools.cache(_listing)
        loaded = {file: module for module in [*sys.modules.values()] if (file := _file(module))}
        queue = [place for name in modules for place in self._places_of(name, listing)]
        found: dict[str, bytes] = {}
        while queue:
            place = queue.pop()
            if place in found or not self._holds(place):
                continue
            found[place] = _content(place)
            queue += _imported(self.folder, place, found[place], listing)
            if place in loaded:
                queue += _in_globals(loaded[place])
        return {os.path.relpath(place, self.folder): content for place, content in found.items()}

    def _places_of(self, module: str, listing: Listing) -> list[str]:
        """The file of a module and those of its parent packages."""
        file = _file(sys.modules.get(module))
        return [*_named(self.folder, module, listing), *([file] if file else [])]

    def _holds(self, place: str) -> bool:
        if self.own is not None and _is_in(place, self.own):
            return True
        is_library = _is_installed(place) or _is_standard(place) or _is_in(place, _OURSELVES)
        return _is_in(place, self.folder) and not is_library


def _imported(folder: str, place: str, content: bytes, listing: Listing) -> set[str]:
    """The files that a file's import statements refer to."""
    found: set[str] = set()
    if not place.endswith(".py"):
        return found
    text = content.decode(errors="replace")
    for statement in _IMPORT.finditer(text):
        head = _BEFORE_IMPORT.search(text[text.rfind("\n", 0, statement.start()) + 1 : statement.start()])
        names = _names(statement[1])
        if head and head[1]:
            start, origin = _start(folder, place, head[1])
            found.update(_named(start, origin, listing))
            package = os.path.join(start, *origin.split("."))  # noqa: PTH118 - as above
            found.update(file for name in names for file in _named(package, name, listing))
        elif head:
            found.update(file for name in names for file in _named(folder, name, listing))
    return found


def _start(folder: str, place: str, origin: str) -> tuple[str, str]:
    """Return the folder in which to look for `..origin`, and the name without dots."""
    name = origin.lstrip(".")
    for _ in range(len(origin) - len(name)):
        folder = place = os.path.dirname(place)  # noqa: PTH120 - as above
    return folder, name


def _names(text: str) -> list[str]:
    """Return the imported names: `a` and `b` for `(a, b as c)`."""
    parts = _COMMENT.sub("", text).strip("() \t\r\n\\").split(",")
    return [words[0] for part in parts if (words := part.split())]


def _named(folder: str, dotted: str, listing: Listing) -> Iterator[str]:
    """The files that Python would run to import a name: its parent packages' and its own."""
    for part in dotted.split("."):
        package = f"{folder}{os.sep}{part}"
        if part in listing(folder) and "__init__.py" in listing(package):
            yield f"{package}{os.sep}__init__.py"
        elif f"{part}.py" in listing(folder):
            yield f"{package}.py"
        folder = package


def _listing(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208 - as above
    except (OSError, ValueError):
        return frozenset()


def _in_globals(module: ModuleType) -> set[str]:
    """Files of the modules among its globals, and of the modules that define its functions, classes and objects."""
    modules = {_origin(value) for value in [*vars(module).values()]}
    return {file for name in modules if (file := _file(sys.modules.get(name)))}


def _origin(value: Any) -> str:
    kind = type(value)
    if issubclass(kind, ModuleType):
        return str(value.__name__)
    return str((value if issubclass(kind, FunctionType | BuiltinFunctionType | type) else kind).__module__)


def _file(module: object) -> str | None:
    file = getattr(module, "__dict__", {}).get("__file__")
    if not isinstance(file, str):
        return None
    return file if os.path.isabs(file) else os.path.abspath(file)  # noqa: PTH100, PTH117 - as above


def _content(place: str) -> bytes:
    try:
        with open(place, "rb") as file:  # noqa: PTH123 - as above
            return file.read()
    except OSError:
        return b""


def _is_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)


def _is_installed(place: str) -> bool:
    return any(folder in place for folder in _INSTALLED)


def _is_standard(place: str) -> bool:
    return any(_is_in(place, folder) for folder in _STANDARD)
