"""A Python function under test: how it is found, how it is called, and what may come back."""

from __future__ import annotations

import asyncio
import itertools
import re
import sys
import threading
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from calling import Calls
from entries import each

from prompt_evaluator.errors import (
    BadReplyError,
    ConfigurationError,
    ModelNotFoundError,
    ProviderError,
    TargetFailedError,
    TimedOutError,
)
from prompt_evaluator.model import Limits, Message, ProviderSettings, Request, Secret, TestCase, ToolCall, Usage
from prompt_evaluator.providers.function import FunctionProvider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from prompt_evaluator.model import Answer

    Module = Callable[[str], str]

_numbers = itertools.count()
MESSAGES = (
    Message("system", "be kind"),
    Message("user", "first"),
    Message("assistant", "?"),
    Message("user", "2+2"),
)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Writes a module into the working folder and gives its name, which no other test uses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])

    def write(code: str) -> str:
        name = f"target_{next(_numbers)}"
        (tmp_path / f"{name}.py").write_text(dedent(code))
        return name

    return write


@pytest.fixture
async def calls() -> AsyncIterator[Calls]:
    board = Calls()
    yield board
    await board.close()


async def ask(calls: Calls, model: str, try_timeout: float = 30, **request: Any) -> Answer:
    settings = ProviderSettings(kind="python", limits=Limits(try_timeout=try_timeout))
    return await calls.open(settings, "python").complete(Request(model=model, messages=MESSAGES, **request))


async def failure(calls: Calls, model: str, try_timeout: float = 30) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(calls, model, try_timeout)
    assert caught.value.tries == 1
    return caught.value


WITH_REQUEST = "from prompt_evaluator.model import Request\n"
LATER = "from __future__ import annotations\n"
FOR_THE_TYPE_CHECKER = f"if False:\n    {WITH_REQUEST}"
ASKS_FOR_IT = "def answer(request: Request): return f'{len(request.messages)} {request.seed}'"
ROLES = "return ' '.join(turn.role for turn in messages)"
AGENT = "class Agent:\n    {} __call__(self, text): return text\nanswer = Agent()"
EXTRAS = """
def answer(text, case, seed=None, *, system, sample, attempt):
    return f"{text} {case.id} {seed} {system} {sample} {attempt}"
"""
CALLED = {
    "a function": ("def answer(text): return text", "2+2"),
    "an async function": ("async def answer(text): return text", "2+2"),
    "an object": (AGENT.format("def"), "2+2"),
    "an async object": (AGENT.format("async def"), "2+2"),
    "a partial": (
        "import functools\nasync def both(extra, text): return text\nanswer = functools.partial(both, 1)",
        "2+2",
    ),
    "an undeclared coroutine": ("async def inner(text): return text\ndef answer(*args): return inner(*args)", "2+2"),
    "a builtin": ("answer = str", "2+2"),
    "extras": (EXTRAS, "2+2 a 3 be kind 1 2"),
    "the messages": (f"def answer(messages): {ROLES}", "system user assistant user"),
    "the messages beside the text": (f"def answer(text, messages): {ROLES}", "system user assistant user"),
    "the request": (WITH_REQUEST + ASKS_FOR_IT, "4 3"),
    "the request as text": (LATER + WITH_REQUEST + ASKS_FOR_IT, "4 3"),
    "the request for the type checker only": (LATER + FOR_THE_TYPE_CHECKER + ASKS_FOR_IT, "4 3"),
}


@each(("code", "said"), CALLED.values(), ids=CALLED)
async def test_whatever_can_be_called_gets_the_question_and_what_its_signature_names(
    calls: Calls, module: Module, code: str, said: str
) -> None:
    model = f"{module(code)}:answer"

    answer = await ask(calls, model, case=TestCase(id="a", input="2+2"), seed=3, sample=1, attempt=2)

    assert (answer.text, answer.model, answer.usage, answer.cost) == (said, model, Usage(), None)
    assert (answer.tries, answer.synthetic) == (1, False)


async def test_a_function_may_change_its_parameters_without_changing_those_of_others(
    calls: Calls, module: Module
) -> None:
    name = module("def answer(text, params): return str(params['nested'].pop('a'))")
    options = {"nested": {"a": 1}}

    assert (await ask(calls, f"{name}:answer", options=options)).text == "1"
    assert options == {"nested": {"a": 1}}


async def test_a_method_is_named_by_its_path(calls: Calls, module: Module) -> None:
    name = module("class Agent:\n    def answer(self, text): return text + '!'\nagent = Agent()")

    assert (await ask(calls, f"{name}:agent.answer")).text == "2+2!"


async def test_a_dictionary_or_an_answer_may_say_more_than_the_text_but_not_how_long_it_took(
    calls: Calls, module: Module
) -> None:
    name = module("""
        from prompt_evaluator.model import Answer
        def tells(text):
            return {"output": "4", "tool_calls": [{"name": "add", "arguments": {"a": 2}}],
                    "usage": {"input_tokens": 3, "output_tokens": 1}, "cost": 0.5, "model": "inner"}
        def answers(text):
            return Answer(text="4", model="inner", latency_ms=1e9, finish_reason="stop", synthetic=True)
    """)

    told, answer = await ask(calls, f"{name}:tells"), await ask(calls, f"{name}:answers")

    assert (told.text, told.cost, told.model) == ("4", 0.5, "inner")
    assert told.tool_calls == (ToolCall(name="add", arguments={"a": 2}),)
    assert told.usage == Usage(input_tokens=3, output_tokens=1)
    assert (answer.text, answer.model, answer.finish_reason, answer.synthetic) == ("4", "inner", "stop", True)
    assert 0 < answer.latency_ms < 1e6


@each(
    ("value", "said"),
    [
        ("None", "of type NoneType, not str, dict or Answer"),
        ("['4']", "of type list"),
        ("(x for x in 'a')", "of type generator"),
        ("{}", "there is no `text`"),
        ("{'text': 4}", "$.text"),
        ("{'text': object()}", "type object"),
        ("{'text': '4', 'cost': -1}", "$.cost"),
        ("{'text': '4', 'usage': {'output_tokens': True}}", "$.usage.output_tokens"),
    ],
)
async def test_a_result_that_is_not_an_answer_is_a_bad_reply_that_names_it(
    calls: Calls, module: Module, value: str, said: str
) -> None:
    error = await failure(calls, f"{module(f'def answer(text): return {value}')}:answer")

    assert isinstance(error, BadReplyError)
    assert said in str(error)


FAILURES = {
    "raise LookupError('no such tool')": "LookupError: no such tool",
    "raise TimeoutError('its own')": "TimeoutError: its own",
    "import sys; sys.exit(3)": r"sys.exit\(3\)",
    "raise StopIteration": "StopIteration",
    "import asyncio; raise asyncio.CancelledError": "was cancelled by code it called",
    "class E(Exception):\n        def __str__(self): raise RuntimeError\n    raise E": "its message cannot be read",
    "return deeper()\ndef deeper():\n    return 1 / 0": r"ZeroDivisionError: division by zero \(/.*NAME\.py, line 6\)",
}


@pytest.mark.parametrize("form", ["def", "async def"])
@each(("statement", "said"), FAILURES.items())
async def test_a_function_that_fails_is_named_with_its_error_and_where_it_was_and_called_once(
    calls: Calls, module: Module, form: str, statement: str, said: str
) -> None:
    name = module(f"calls = []\n{form} answer(text):\n    calls.append(text)\n    {statement}")

    error = await failure(calls, f"{name}:answer")

    assert isinstance(error, TargetFailedError)
    assert re.search(said.replace("NAME", name), str(error))
    assert sys.modules[name].calls == ["2+2"]


async def test_a_known_secret_is_in_no_error_and_no_answer(calls: Calls, module: Module) -> None:
    canary = "sk-canary-function-1234567890"
    secret = Secret(canary)
    name = module(f"""
        def fails(text): raise ValueError("the key is {canary}")
        def tells(text): return "it is {canary}"
        def nests(text): return {{"text": "", "tool_calls": [{{"name": "a", "arguments": {{"key": "{canary}"}}}}]}}
    """)

    failed = await failure(calls, f"{name}:fails")
    told, nested = await ask(calls, f"{name}:tells"), await ask(calls, f"{name}:nests")

    assert secret
    assert canary not in str(failed)
    assert failed.__cause__ is None
    assert told.text == "it is [secret]"
    assert nested.tool_calls[0].arguments == {"key": "[secret]"}


async def test_an_async_function_that_takes_too_long_is_cancelled_and_cannot_hold_up_the_call(
    calls: Calls, module: Module
) -> None:
    name = module("""
        import asyncio
        ended = []
        async def answer(text):
            for _ in range(2):
                try:
                    await asyncio.sleep(600)
                except asyncio.CancelledError:
                    ended.append(text)
    """)

    error = await failure(calls, f"{name}:answer", try_timeout=0.1)

    assert isinstance(error, TimedOutError)
    assert "did not answer within 0.1 s" in str(error)
    assert sys.modules[name].ended == ["2+2"]


async def test_a_sync_function_that_hangs_holds_up_neither_its_call_nor_the_others(
    calls: Calls, module: Module
) -> None:
    name = module("""
        import threading
        gate = threading.Event()
        def answer(text): gate.wait(600)
        def quick(text): return text
    """)
    try:
        errors = await asyncio.gather(*(failure(calls, f"{name}:answer", 0.2) for _ in range(8)))
        answers = await asyncio.gather(*(ask(calls, f"{name}:quick") for _ in range(8)))
    finally:
        sys.modules[name].gate.set()

    assert {type(error) for error in errors} == {TimedOutError}
    assert [answer.text for answer in answers] == ["2+2"] * 8


async def test_sync_functions_run_side_by_side_off_the_event_loop_in_a_module_that_is_imported_once(
    calls: Calls, module: Module
) -> None:
    name = module("""
        import threading
        together = threading.Barrier(8)
        def answer(text):
            together.wait(20)
            return threading.current_thread().name
    """)

    answers = await asyncio.gather(*(ask(calls, f"{name}:answer") for _ in range(8)))

    assert threading.main_thread().name not in {answer.text for answer in answers}


@each(("form", "wait"), [("def", "gate.wait(600)"), ("async def", "await asyncio.sleep(600)")])
async def test_cancelling_a_call_takes_effect_at_once(calls: Calls, module: Module, form: str, wait: str) -> None:
    name = module(f"""
        import asyncio, threading
        gate, began = threading.Event(), threading.Event()
        {form} answer(text):
            began.set()
            {wait}
    """)
    FunctionProvider("python").check(f"{name}:answer")
    call = asyncio.create_task(ask(calls, f"{name}:answer"))
    assert await asyncio.to_thread(sys.modules[name].began.wait, 20)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    sys.modules[name].gate.set()


@pytest.mark.parametrize("form", ["def", "async def"])
def test_an_interrupt_from_the_keyboard_ends_the_run(module: Module, form: str) -> None:
    name = module(f"{form} answer(text): raise KeyboardInterrupt")

    async def run() -> None:
        await ask(Calls(), f"{name}:answer")

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(run())


WRONG = {
    "{package}": "does not name a function. Write it as `python:module:function`",
    ":answer": "does not name a function",
    "{package}x:answer": "Module `{package}x` not found in .* Did you mean `{package}`",
    "{package}.agnt:answer": "Module `{package}.agnt` not found in .* Did you mean `{package}.agent`",
    "{package}.agent:answer": "`{package}.agent` cannot be imported: ModuleNotFoundError: .*no_such_dependency_xyz",
    "{package}.exits:answer": "`{package}.exits` cannot be imported: SystemExit",
    "{module}:anser": "Module `{module}` has no `anser`. Did you mean `answer`",
    "{module}:nothing_like_it": "Module `{module}` has no `nothing_like_it`. It has: Odd, answer, none, two.$",
    "{module}:text": "`text` in module `{module}` is of type str, not a function",
    "{module}:none": "cannot be called with a question: too many positional arguments",
    "{module}:two": "cannot be called with a question: missing a required argument: 'other'.* system, case",
    "{module}:odd.answer": "cannot be looked up: RuntimeError: odd",
}


@each(("model", "said"), WRONG.items())
async def test_a_function_that_cannot_be_called_is_known_before_any_call_and_ends_a_run(
    calls: Calls, module: Module, tmp_path: Path, model: str, said: str
) -> None:
    odd = "class Odd:\n    def __getattr__(self, name): raise RuntimeError('odd')\ntext, odd = 'x', Odd()\n"
    code = odd + "def answer(text): ...\ndef none(): ...\ndef two(text, other): ..."
    names = {"module": module(code), "package": f"package_{next(_numbers)}"}
    (tmp_path / names["package"]).mkdir()
    for part, content in {"__init__": "", "agent": "import no_such_dependency_xyz", "exits": "exit(1)"}.items():
        (tmp_path / names["package"] / f"{part}.py").write_text(content)
    provider = FunctionProvider("python")

    provider.check(f"{names['module']}:answer")
    with pytest.raises(ConfigurationError, match=said.format(**names)):
        provider.check(model.format(**names))
    with pytest.raises(ModelNotFoundError, match=said.format(**names)):
        await ask(calls, model.format(**names))
