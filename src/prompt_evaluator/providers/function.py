"""A Python function as the target, to evaluate an application or agent as it is."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import operator
import time
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from prompt_evaluator.errors import (
    BadReplyError,
    ConfigurationError,
    ModelNotFoundError,
    TargetFailedError,
    TimedOutError,
)
from prompt_evaluator.model import Answer, Request, message_of
from prompt_evaluator.model.storable import encode_answer
from prompt_evaluator.providers.target_reply import TargetReply, answer_of, last_user_text, read_reply
from prompt_evaluator.usercode import fingerprint
from prompt_evaluator.usercode.functions import find_function, in_thread, is_async, signature_of, what_happened

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Message, ProviderSettings
    from prompt_evaluator.providers.opened import Resources


def _system_text(request: Request) -> str | None:
    texts = [message.content for message in request.messages if message.role == "system"]
    return "\n\n".join(texts) or None


_EXTRAS: dict[str, Callable[[Request], Any]] = {
    "system": _system_text,
    "case": operator.attrgetter("case"),
    "seed": operator.attrgetter("seed"),
    "sample": operator.attrgetter("sample"),
    "attempt": operator.attrgetter("attempt"),
    "messages": operator.attrgetter("messages"),
    "params": lambda request: copy.deepcopy(request.options),  # shared by all requests, and part of their hashes
}
"""Keyword arguments passed if the function's signature names them."""
_PATIENCE = 1.0
"""Seconds a cancelled coroutine has for cleaning up."""


class LoadedFunction(NamedTuple):
    """A function and how to call it."""

    function: Callable[..., Any]
    takes: Literal["text", "messages", "request"]
    """What to pass as the first argument."""
    extras: tuple[str, ...]
    in_thread: bool
    files: str | None = None
    """Digest of its files when it was loaded, because later changes to them are not what runs."""


class _ExitedError(Exception):
    """The function called `sys.exit`, which must not end the run."""


class FunctionProvider:
    """Calls `module:function` with the text of the last user message.

    A first parameter named `messages` gets the whole conversation instead, and one annotated as `Request` the whole
    request.

    An async function runs on this event loop and is cancelled on timeout. A sync function runs in its own thread.
    Python cannot stop a thread, so on timeout or cancellation its result is dropped and the thread runs to its end,
    without delaying other calls or the exit of the process.

    An exception becomes a `TargetFailedError`, a timeout a `TimedOutError`. The function is called only once per call,
    whatever the configured `max_tries`: its failures are what is being measured, and every try after a timeout would
    leave another thread behind.
    """

    trusted: ClassVar[bool] = True
    max_tries: ClassVar[int] = 1

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, model: str) -> None:
        """Raise `ConfigurationError` if the function cannot be found or called with a question."""
        load(model)

    def fingerprint(self, model: str) -> str | None:
        """Digest of the function's code, so that answers of other versions are not reused. None if unknown."""
        try:
            target = load(model)
        except ConfigurationError:
            return None
        return target.files or fingerprint.of_memory(target.function)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - enforced here
        try:
            target = load(request.model)
        except ConfigurationError as error:
            raise ModelNotFoundError(str(error), provider=self.name) from None
        began = time.monotonic()
        task = asyncio.ensure_future(_result(target, request))
        try:
            done, _ = await asyncio.wait({task}, timeout=timeout)
        finally:
            if not task.done():
                await _abandon(task)
        seconds = time.monotonic() - began
        if not done:
            raise TimedOutError(f"the function did not answer within {timeout:g} s.", provider=self.name)
        return answer_of(self._read(task), asked=request.model, seconds=seconds)

    def _read(self, task: asyncio.Future[Any]) -> TargetReply:
        if task.cancelled():
            raise TargetFailedError("the function was cancelled by code it called.", provider=self.name)
        if error := task.exception():
            raise TargetFailedError(what_happened(error), provider=self.name)
        result = task.result()
        try:
            return read_reply(_as_json(result))
        except (ValueError, TypeError, RecursionError) as problem:
            sentence = f"the function did not return an answer: {message_of(problem)}."
            raise BadReplyError(sentence, provider=self.name) from None


def build(name: str, _settings: ProviderSettings, _resources: Resources) -> FunctionProvider:
    return FunctionProvider(name)


def adopt(function: Callable[..., Any]) -> str:
    """Register a function object as a target and return its model name."""
    module = getattr(function, "__module__", None) or "callable"
    name = model = f"{module}:{getattr(function, '__qualname__', type(function).__name__)}"
    # Two lambdas in the same scope share a name, and the first may still be in use.
    for number in count(2):
        if model not in _ADOPTED:
            _ADOPTED[model] = _target(model, function)._replace(files=fingerprint.of_adopted(function))
        if _ADOPTED[model].function is function:
            break
        model = f"{name}~{number}"
    return f"python:{model}"


def adopt_as(model: str, function: Callable[..., Any]) -> None:
    """Register a function object that another process has adopted as this model."""
    _ADOPTED[model] = _target(model, function)


def adopted(model: str) -> Callable[..., Any] | None:
    """The function object registered as this model, if any."""
    return found.function if (found := _ADOPTED.get(model)) else None


_ADOPTED: dict[str, LoadedFunction] = {}


def load(model: str) -> LoadedFunction:
    """Return the adopted function of that name, or import it."""
    return _ADOPTED.get(model) or _load(model)


@functools.cache
def _load(model: str) -> LoadedFunction:
    """Import `module:function`, once per name."""
    function = find_function(model)
    return _target(model, function)._replace(files=fingerprint.of_files(model.partition(":")[0]))


def _target(model: str, function: Callable[..., Any]) -> LoadedFunction:
    signature = signature_of(function)
    if signature is None:
        return LoadedFunction(function, takes="text", extras=(), in_thread=not is_async(function))
    parameters = list(signature.parameters.values())
    named = {each.name for each in parameters[1:] if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    extras = tuple(name for name in _EXTRAS if name in named)
    try:
        signature.bind(object(), **dict.fromkeys(extras))
    except TypeError as error:
        problem = f"`python:{model}` cannot be called with a question: {error}."
        raise ConfigurationError(f"{problem} Besides the question, it may take {', '.join(_EXTRAS)}.") from None
    return LoadedFunction(function, takes=_wanted(parameters[0]), extras=extras, in_thread=not is_async(function))


def _wanted(first: inspect.Parameter) -> Literal["text", "messages", "request"]:
    annotation = first.annotation
    if annotation is Request or (isinstance(annotation, str) and annotation.rpartition(".")[2] == "Request"):
        return "request"
    return "messages" if first.name == "messages" else "text"


async def _result(target: LoadedFunction, request: Request) -> Any:
    extras = {name: _EXTRAS[name](request) for name in target.extras}
    call = functools.partial(target.function, _first_argument(target, request), **extras)
    try:
        value = await in_thread(call) if target.in_thread else call()
        return await value if inspect.isawaitable(value) else value
    except SystemExit as error:
        raise _ExitedError(f"it called sys.exit({error.code!r})") from None


def _first_argument(target: LoadedFunction, request: Request) -> Request | tuple[Message, ...] | str:
    match target.takes:
        case "request":
            return request
        case "messages":
            return request.messages
        case "text":
            return last_user_text(request)


async def _abandon(task: asyncio.Future[Any]) -> None:
    task.cancel()
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # or asyncio logs the exception
    await asyncio.wait({task}, timeout=_PATIENCE)


def _as_json(result: object) -> bytes:
    if isinstance(result, str):
        return encode_answer({"text": result})
    if isinstance(result, dict | Answer):
        return encode_answer(result)
    raise TypeError(f"it is of type {type(result).__name__}, not str, dict or Answer")
