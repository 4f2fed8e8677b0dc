"""User functions: found by name, inspected, and called without blocking the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import inspect
import operator
import os
import pkgutil
import stat
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from shlex import quote
from typing import TYPE_CHECKING, Any, NoReturn

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.hints import nearest, some_of
from prompt_evaluator.model import message_of
from prompt_evaluator.usercode.trust import TRUST_VARIABLE, is_trusted, why_not_ours

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

_SHOWN_MESSAGE = 2_000


def find_function(name: str) -> Callable[..., Any]:
    """Return the function named `module:function`.

    The working folder is searched first, as by `python -m`, unless other users could have put a module there.

    Raises:
        ConfigurationError: Says what is missing and suggests the closest name.
    """
    module_name, colon, path = name.partition(":")
    if not (colon and module_name and path):
        raise ConfigurationError(f"`python:{name}` does not name a function. Write it as `python:module:function`.")
    module = _imported(module_name)
    try:
        function: Callable[..., Any] = operator.attrgetter(path)(module)
    except AttributeError:
        _no_function(module, path)
    except Exception as error:  # attribute access may run user code
        raise ConfigurationError(f"`python:{name}` cannot be looked up: {what_happened(error)}") from error
    if not callable(function):
        kind = type(function).__name__
        raise ConfigurationError(f"`{path}` in module `{module_name}` is of type {kind}, not a function.")
    return function


def _imported(name: str) -> ModuleType:
    unsafe = _search_working_folder()
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise ConfigurationError(unsafe or _no_module(str(error.name))) from None
        raise ConfigurationError(f"Module `{name}` cannot be imported: {what_happened(error)}") from error


def _search_working_folder() -> str | None:
    """Add the working folder to `sys.path`, or return why that is unsafe. A folder that is there already was named."""
    folder = Path.cwd()
    if str(folder) in sys.path or "" in sys.path:
        return None
    why = why_not_ours(folder / "any module")
    if why is None and os.name == "posix" and folder.stat().st_mode & stat.S_IWOTH and not is_trusted(folder):
        why = f"everyone can write to {folder}"
    if why:
        advice = f"To use it, set PYTHONPATH={quote(str(folder))} or {TRUST_VARIABLE}={quote(str(folder))}."
        return f"Modules are not imported from the working folder, because {why}. {advice}"
    sys.path.insert(0, str(folder))
    return None


def _no_module(name: str) -> str:
    parent, _, leaf = name.rpartition(".")
    places = getattr(sys.modules.get(parent), "__path__", []) if parent else None
    near = nearest(leaf, [found.name for found in pkgutil.iter_modules(places)])
    hint = f" Did you mean `{parent}{'.' if parent else ''}{near}`?" if near else ""
    return f"Module `{name}` not found in {os.getcwd()} or among installed packages.{hint}"  # noqa: PTH109 - only shown


def _no_function(module: ModuleType, path: str) -> NoReturn:
    own = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
    near = nearest(path, own)
    hint = f" Did you mean `{near}`?" if near else f" It has: {some_of(own)}." if own else ""
    raise ConfigurationError(f"Module `{module.__name__}` has no `{path}`.{hint}") from None


def is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError):  # names in annotations that only a type checker can see
        return inspect.signature(function)
    except Exception:  # noqa: BLE001 - written in C, or a faulty `__signature__`
        return None


async def in_thread(call: Callable[[], Any]) -> Any:
    """Run `call` on a reusable daemon thread, which does not delay the exit of the process.

    `asyncio.to_thread` has a small pool, and a call that hangs would occupy one of its threads forever.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if not outcome.done():
            outcome.set_result((result, error))

    def work() -> Callable[[], None]:
        result, error = None, None
        try:
            result = context.run(call)
        except BaseException as caught:  # noqa: BLE001 - raised again in the awaiting coroutine
            error = caught
        return lambda: _report(loop, settle, result, error)

    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue()
        threading.Thread(target=_serve, args=(jobs,), name="prompt-evaluator: user code", daemon=True).start()
    jobs.put(work)
    result, error = await outcome
    if error is not None:
        raise error
    return result


def _report(loop: asyncio.AbstractEventLoop, settle: Callable[..., None], *outcome: Any) -> None:
    with suppress(RuntimeError):  # the loop has closed: nothing awaits the result
        loop.call_soon_threadsafe(settle, *outcome)


def _serve(jobs: SimpleQueue[Callable[[], Callable[[], None]]]) -> None:
    while True:
        report = jobs.get()()
        _idle.append(jobs)  # before reporting, so that the next call can reuse this thread
        report()


_idle: list[SimpleQueue[Callable[[], Callable[[], None]]]] = []
"""Job queues of idle threads. Threads are never ended, so there are as many as the most concurrent calls so far."""


def what_happened(error: BaseException) -> str:
    """Describe an exception in user code, with the line it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {message_of(error)[:_SHOWN_MESSAGE]}{place}."
