"""A Python function as a metric."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import hashlib
import importlib
import inspect
import math
import operator
import os
import sys
import threading
from contextlib import suppress
from difflib import get_close_matches
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import REDACTOR, Failed, Score, Scored, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Answer, TestCase
    from prompt_evaluator.ports import JudgeClient

PREFIX = "python:"
_SHOWN = 500


class Loaded(NamedTuple):
    """A function, and how it wants to be called."""

    function: Callable[..., Any]
    in_thread: bool
    takes_answer: bool
    source: str | None
    """A hash of its text, so that a score of another version of it is not reused."""


class FunctionMetric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A function of your own: (output, case) gives true or false, a number from 0 to 1, or one with a reason.

    It may also return `(score, reason)`, `{score, reason, details}` or a `Score`, be async, and name a third parameter
    `answer` to see tool calls, usage and time. A sync function runs in a thread, which nothing can stop: when its time
    is up it is left behind.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    function: str
    """`module:function`; the working folder is searched first."""
    timeout: float = 60.0
    """Seconds."""
    threshold: float = 1.0
    """An answer passes at or above this score."""

    def __post_init__(self) -> None:
        try:
            load(self.function)
        except ConfigurationError as error:
            raise ValueError(str(error)) from error

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.function}"

    @property
    def needs_judge(self) -> bool:
        return False

    def definition(self) -> dict[str, Any]:
        return {"metric": self.name, "source": load(self.function).source}

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - only the function knows
        return None

    async def prepared(self, judge: JudgeClient | None) -> FunctionMetric:  # noqa: ARG002 - the port's signature
        return self

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score:  # noqa: ARG002
        loaded = load(self.function)
        extra = {"answer": answer} if loaded.takes_answer else {}
        call = functools.partial(loaded.function, answer.text, case, **extra)
        try:
            async with asyncio.timeout(self.timeout) as limit:
                value = await _in_thread(call) if loaded.in_thread else call()
                value = await value if inspect.isawaitable(value) else value
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code: whatever it raises is its own failure
            if isinstance(error, TimeoutError) and limit.expired():
                return Failed(f"timed out: the function did not answer within {self.timeout:g} s", kind="TimedOut")
            return Failed(f"{type(error).__name__}: {_text(error)}", kind=type(error).__name__)
        return _as_score(value)


@functools.cache
def load(name: str) -> Loaded:
    """Import `module:function`, once.

    Raises:
        ConfigurationError: There is no such function, or it cannot be called with an output and a case.
    """
    module_name, colon, path = name.partition(":")
    if not (colon and module_name and path):
        raise ConfigurationError(f"`{PREFIX}{name}` names no function. Write it as `python:module:function`.")
    folder = os.getcwd()  # noqa: PTH109 - sys.path holds texts
    if folder not in sys.path and "" not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"The module `{module_name}` cannot be imported: {_text(error)}.") from error
    try:
        function = operator.attrgetter(path)(module)
    except AttributeError:
        near = get_close_matches(path, [name for name, value in vars(module).items() if callable(value)], n=1)
        hint = f" Did you mean `{near[0]}`?" if near else ""
        raise ConfigurationError(f"There is no `{path}` in the module `{module_name}`.{hint}") from None
    if not callable(function):
        raise ConfigurationError(f"`{path}` in the module `{module_name}` is no function.")
    return _loaded(name, function)


def _loaded(name: str, function: Callable[..., Any]) -> Loaded:
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
    takes_answer = False
    with suppress(ValueError):  # written in C, without a signature
        signature = inspect.signature(function)
        takes_answer = "answer" in signature.parameters
        try:
            signature.bind(object(), object(), **({"answer": None} if takes_answer else {}))
        except TypeError as error:
            sentence = f"`{PREFIX}{name}` cannot be called with an output and a case: {error}."
            raise ConfigurationError(sentence) from None
    source = None
    with suppress(OSError, TypeError):
        source = hashlib.sha256(inspect.getsource(function).encode(errors="replace")).hexdigest()
    return Loaded(function, not is_async, takes_answer, source)


async def _in_thread(call: Callable[[], Any]) -> Any:
    """On a daemon thread that nobody has to wait for, and that the next call uses again.

    The pool behind `asyncio.to_thread` has a handful of places, and one that hangs would block its place for ever.
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
        except BaseException as caught:  # noqa: BLE001 - raised again, where the call is awaited
            error = caught
        return lambda: _tell(loop, settle, result, error)

    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue()
        threading.Thread(target=_serve, args=(jobs,), name="prompt-evaluator python metric", daemon=True).start()
    jobs.put(work)
    result, error = await outcome
    if error is not None:
        raise error
    return result


def _tell(loop: asyncio.AbstractEventLoop, settle: Callable[..., None], *outcome: Any) -> None:
    with suppress(RuntimeError):  # the loop has closed: nobody waits any more
        loop.call_soon_threadsafe(settle, *outcome)


def _serve(jobs: SimpleQueue[Callable[[], Callable[[], None]]]) -> None:
    while True:
        tell = jobs.get()()
        _idle.append(jobs)  # first, so that the next call need not start another thread
        tell()


_idle: list[SimpleQueue[Callable[[], Callable[[], None]]]] = []
"""Threads that wait for work. As many as there ever were calls at a time; one that hangs is not among them."""


def _as_score(value: Any) -> Score:
    if isinstance(value, Scored):
        return _checked(value.value, value.reason, value.details)
    if isinstance(value, Skipped | Failed):
        return value
    if isinstance(value, tuple | list) and len(value) == 2:  # noqa: PLR2004 - a score and its reason
        return _checked(value[0], value[1], {})
    if isinstance(value, dict) and "score" in value:
        rest = {name: item for name, item in value.items() if name not in ("score", "reason", "details")}
        details = value.get("details")
        return _checked(
            value["score"], value.get("reason") or "", {**(details if isinstance(details, dict) else {}), **rest}
        )
    return _checked(value, "", {})


def _checked(value: Any, reason: Any, details: dict[str, Any]) -> Score:
    try:
        number = math.nan if value is None or isinstance(value, str | bytes) else float(value)
        stored = msgspec.json.decode(msgspec.json.encode(details))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return Failed(f"the function returned what is no score: {_text(error)}", kind="InvalidScore")
    if not 0 <= number <= 1:
        return Failed(f"the function returned {value!r:.60}, not a number from 0 to 1", kind="InvalidScore")
    return Scored(number, str(reason), stored)


def _text(error: BaseException) -> str:
    return REDACTOR.text(str(error) or type(error).__name__)[:_SHOWN]
