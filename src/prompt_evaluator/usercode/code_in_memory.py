"""Code of functions that cannot be imported (lambdas, closures, notebook cells), and of everything they use."""

from __future__ import annotations

import functools
import inspect
import operator
import os
import sys
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from prompt_evaluator.usercode.project_files import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def is_importable(function: Callable[..., Any]) -> bool:
    """Whether any process can find the function by its module and name."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    name = getattr(function, "__qualname__", None)
    if module is None or name is None or module.__name__ == "__main__":
        return False
    try:
        return operator.attrgetter(name)(module) is function
    except AttributeError:
        return False


class CodeInMemory:
    """Everything that determines what a function does, as far as it can be seen without calling it.

    That is its source (or its bytecode), the plain values in its closure, defaults and globals, and the same for the
    functions and classes it uses. Lists and dictionaries are left out, because a function may write to them as well as
    read them.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.parts: list[bytes] = []
        self.modules: set[str] = set()
        """Modules it uses that have files; those files are hashed instead."""
        self._home = _module_of(function)
        self.project = Project.of(self._home) or Project(os.getcwd())  # noqa: PTH109 - a project's paths are strings
        self._seen: set[int] = set()
        self._look_at(function)

    def _look_at(self, value: Any) -> None:
        if isinstance(value, _PLAIN):
            self._add(repr(value))
        elif isinstance(value, tuple):
            self._look_at_all(value)
        elif id(value) not in self._seen:
            self._seen.add(id(value))
            self._look_into(value)

    def _look_into(self, value: Any) -> None:
        match value:
            case ModuleType():
                self.modules.add(value.__name__)
            case functools.partial():
                self._look_at_all((value.func, value.args, *_flat(value.keywords)))
            case MethodType():
                self._look_at_all((value.__func__, value.__self__))
            case FunctionType() if self._is_at_home(value):
                self._function(value)
            case type() if self._is_at_home(value):
                self._class(value)
            case FunctionType() | type():
                self.modules.add(value.__module__)
            case _ if self._is_at_home(type(value)):
                self._look_at_all((type(value), *_flat(_plain_only(getattr(value, "__dict__", {})))))
            case _:
                self.modules.add(type(value).__module__)

    def _look_at_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self._look_at(value)

    def _is_at_home(self, definition: Any) -> bool:
        """Whether it is from the same module, or from a module without a file."""
        module = sys.modules.get(definition.__module__ or "")
        return definition.__module__ == self._home or module is None or module.__name__ == "__main__"

    def _function(self, function: FunctionType) -> None:
        code = function.__code__
        text = None if code.co_name == "<lambda>" else _source(function)  # a line may hold two lambdas
        if text is None:
            self._code(code)
        else:
            self._add(text)
        self._look_at_all((function.__defaults__, *_flat(function.__kwdefaults__ or {})))
        self._look_at_all(map(_cell_content, function.__closure__ or ()))
        used = _names(code) & function.__globals__.keys()
        self._look_at_all(_flat({name: function.__globals__[name] for name in used}))

    def _class(self, definition: type) -> None:
        text = _source(definition)
        self._add(text or definition.__qualname__)
        self._look_at_all(_flat({**vars(definition)} if text is None else _callables(definition)))
        self._look_at_all(base for base in definition.__bases__ if base is not object)

    def _code(self, code: CodeType) -> None:
        self.parts.append(code.co_code)
        self._add(repr(code.co_names))
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant)
            elif isinstance(constant, frozenset):
                self._add(repr(sorted(map(repr, constant))))
            else:
                self._look_at(constant)

    def _add(self, text: str) -> None:
        self.parts.append(text.encode("utf-8", "surrogatepass"))


def _module_of(function: Any) -> str:
    while isinstance(function, functools.partial | MethodType):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    return getattr(function, "__module__", None) or type(function).__module__


def _flat(values: dict[str, Any]) -> list[Any]:
    """Names and values alternating, in the same order in every process."""
    return [part for name in sorted(values) for part in (name, values[name])]


def _plain_only(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if isinstance(value, (*_PLAIN, FunctionType, type))}


def _callables(definition: type) -> dict[str, Any]:
    """The functions of a class. Its source shows the names of the globals they use, but not their values."""
    return {name: value for name, value in vars(definition).items() if isinstance(value, FunctionType)}


def _source(definition: FunctionType | type) -> str | None:
    try:
        return inspect.getsource(definition)
    except (OSError, TypeError, SyntaxError):
        return None


def _cell_content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _names(code: CodeType) -> set[str]:
    """Names of globals that a function and its inner functions may use."""
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*inner)
