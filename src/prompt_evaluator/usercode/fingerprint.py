"""Fingerprints of programs and functions (16 hex digits), so that answers of other versions are not reused."""

from __future__ import annotations

import ast
import functools
import operator
import os
import shutil
import stat
import sys
import sysconfig
from hashlib import blake2b
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_LARGEST = 16 * 1024 * 1024
"""Bytes. Larger files take too long to read before every run."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_INSTALLED = {"site-packages", "dist-packages"}
_STANDARD = (Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("platstdlib")))
_OURSELVES = Path(__file__).absolute().parents[1]


def of_command(words: Sequence[str]) -> str | None:
    """Fingerprint the command, the program's file and the files among its arguments. None if there is no program.

    Files that these refer to, such as the modules that a script imports, are not included.
    """
    try:
        program = shutil.which(words[0])
        if program is None:
            return None
        files = [Path(program), *filter(_is_small_file, map(_path_in, words[1:]))]
        return _digest([*map(os.fsencode, words), *map(_content, files)])
    except (OSError, ValueError):  # an invalid file name, or a file that was just deleted
        return None


def of_files(module: str) -> str | None:
    """Fingerprint the file of a module, and the files of its project that it imports.

    None if there are none, as for modules of the standard library or from a notebook.
    """
    try:
        return _digest(parts) if (parts := list(_file_parts(module))) else None
    except Exception:  # noqa: BLE001 - inspecting user modules may raise anything, and must not stop the run
        return None


def of_adopted(function: Callable[..., Any]) -> str | None:
    """Same as `of_files`, for a function object. None if it cannot be imported by its name."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    try:
        found = module and operator.attrgetter(getattr(function, "__qualname__", ""))(module)
    except AttributeError:
        return None
    return of_files(module.__name__) if module and module.__name__ != "__main__" and found is function else None


def of_memory(function: Callable[..., Any]) -> str | None:
    """Fingerprint a function that cannot be imported, such as a lambda or a notebook cell's. None if impossible.

    That is its code, the plain values in its closure, defaults and globals, and the same for the functions and classes
    it uses. Lists and dictionaries are left out, because a function may write to them as well as read them.
    """
    try:
        return _digest(_memory_parts(function, set()))
    except Exception:  # noqa: BLE001 - as above
        return None


class _Project(NamedTuple):
    """The folder of a top-level module or package, excluding libraries installed below it."""

    folder: Path
    own: Path
    """The module's file or the package's folder, which is included even if it is installed."""

    def holds(self, file: Path) -> bool:
        is_library = not _INSTALLED.isdisjoint(file.parts) or any(map(file.is_relative_to, (*_STANDARD, _OURSELVES)))
        return file.is_relative_to(self.own) or (file.is_relative_to(self.folder) and not is_library)


def _project_of(module: str) -> _Project | None:
    """None for modules without files, of the standard library or of this package."""
    top = sys.modules.get(module.partition(".")[0])
    place = next(iter(getattr(top, "__path__", ())), getattr(top, "__file__", None))
    if not place:
        return None
    own = Path(place).absolute()
    is_standard = any(map(own.is_relative_to, _STANDARD)) and _INSTALLED.isdisjoint(own.parts)
    return None if is_standard or own.is_relative_to(_OURSELVES) else _Project(own.parent, own)


def _file_parts(module: str) -> Iterator[bytes]:
    """The relative path and the content of each file, in the order of the paths."""
    if (project := _project_of(module)) is None:
        return
    queue, found = list(_files_of(project, module)), dict[Path, bytes]()
    while queue:
        file = queue.pop()
        if file not in found and project.holds(file):
            found[file] = file.read_bytes()
            queue += [other for name in _imports(project, file, found[file]) for other in _files_of(project, name)]
    for file in sorted(found):
        yield from (os.fsencode(file.relative_to(project.folder)), found[file])


def _files_of(project: _Project, module: str) -> Iterator[Path]:
    """The files that Python would run to import a name from the project: its parent packages' and its own."""
    place = project.folder
    for part in module.split("."):
        place /= part
        yield from (file for file in (place / "__init__.py", place.with_name(f"{part}.py")) if file.is_file())


def _imports(project: _Project, file: Path, content: bytes) -> Iterator[str]:
    """The names that a file imports, anywhere in it; for `from a import b` both `a` and `a.b`."""
    package = file.relative_to(project.folder).parent.parts
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join((*start, *([node.module] if node.module else [])))
            yield origin
            yield from (f"{origin}.{alias.name}".lstrip(".") for alias in node.names)


def _memory_parts(value: Any, seen: set[int]) -> Iterator[bytes]:
    if isinstance(value, _PLAIN):
        yield repr(value).encode("utf-8", "surrogatepass")
    elif isinstance(value, tuple) or id(value) not in seen:
        seen.add(id(value))
        for used in _used(value):
            yield from _memory_parts(used, seen)


def _used(value: Any) -> Iterable[Any]:  # noqa: PLR0911 - one for each kind of value
    """What the behaviour of a value depends on."""
    match value:
        case tuple():
            return value
        case frozenset():
            return sorted(map(repr, value))
        case CodeType():
            return value.co_code, value.co_names, value.co_consts
        case functools.partial():
            return value.func, value.args, *sorted(value.keywords.items())
        case MethodType():
            return value.__func__, value.__self__
        case FunctionType() if _is_in_memory(value):
            return value.__code__, value.__defaults__, *sorted((value.__kwdefaults__ or {}).items()), *_outside(value)
        case type() if _is_in_memory(value):
            return value.__qualname__, *value.__bases__, *_parts_of(vars(value))
        case ModuleType():
            return _file_parts(value.__name__)
        case FunctionType() | type():
            return value.__qualname__, *_file_parts(value.__module__)
    return type(value), *_parts_of(getattr(value, "__dict__", {}))


def _is_in_memory(definition: Any) -> bool:
    module = sys.modules.get(definition.__module__ or "")
    return module is None or module.__name__ == "__main__" or "<" in definition.__qualname__


def _parts_of(attributes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The functions and the plain values of an object or a class, in the same order in every process."""
    return [
        (name, value)
        for name, value in sorted(attributes.items())
        if isinstance(value, FunctionType) or (isinstance(value, _PLAIN) and not name.startswith("__"))
    ]


def _outside(function: FunctionType) -> Iterator[Any]:
    """What a function takes from outside: the contents of its closure, and its globals with their names."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in sorted(_names(function.__code__) & function.__globals__.keys()):
        yield (name, function.__globals__[name])


def _names(code: CodeType) -> set[str]:
    """Names of globals that a function and its inner functions may use."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)


def _digest(parts: Iterable[bytes]) -> str:
    total = blake2b(digest_size=8)
    for part in parts:
        total.update(b"%d:" % len(part))  # so that ab + c differs from a + bc
        total.update(part)
    return total.hexdigest()


def _path_in(argument: str) -> Path:
    """The path in an argument, including the form `--config=agent.yaml`."""
    _, _, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    return Path(value or argument)


def _is_small_file(path: Path) -> bool:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size < _LARGEST


def _content(path: Path) -> bytes:
    """Digest of a file's content. For files that are large or not readable, the size and modification time."""
    found = path.stat()
    if found.st_size < _LARGEST:
        try:
            return blake2b(path.read_bytes()).digest()
        except PermissionError:
            pass
    return b"%d %d" % (found.st_size, found.st_mtime_ns)
