"""A Python function under test: how it is found, how it is called, and what may come back."""

from __future__ import annotations

import asyncio
import itertools
import sys
import threading
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from calling import Calls

from prompt_evaluator.errors import (
    BadReplyError,
    ConfigurationError,
    ModelNotFoundError,
    TargetFailedError,
    TimedOutError,
)
from prompt_evaluator.model import Limits, Message, ProviderSettings, Request, Secret, TestCase, ToolCall, Usage
from prompt_evaluator.providers.function import check

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from prompt_evaluator.model import Answer

    Module = Callable[[str], str]

_numbers = itertools.count()


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
    messages = (
        Message("system", "be kind"),
        Message("user", "first"),
        Message("assistant", "?"),
        Message("user", "2+2"),
    )
    return await calls.open(settings, "python").complete(Request(model=model, messages=messages, **request))


@pytest.mark.parametrize("form", ["def answer(text): return", "async def answer(text): return"], ids=["sync", "async"])
async def test_a_function_is_asked_the_last_question(calls: Calls, module: Module, form: str) -> None:
    model = f"{module(form + ' text + str(4)')}:answer"

    answer = await ask(calls, model)

    assert (answer.text, answer.model, answer.usage, answer.cost) == ("2+24", model, Usage(), None)
    assert (answer.tries, answer.synthetic) == (1, False)
    assert answer.latency_ms > 0


async def test_a_function_gets_the_extras_its_signature_names(calls: Calls, module: Module) -> None:
    name = module("""
        def answer(text, case, seed=None, *, system, sample, attempt):
            return f"{text} {case.id} {seed} {system} {sample} {attempt}"
    """)

    answer = await ask(calls, f"{name}:answer", case=TestCase(id="a", input="2+2"), seed=3, sample=1, attempt=2)

    assert answer.text == "2+2 a 3 be kind 1 2"


@pytest.mark.parametrize("form", ["(messages)", "(text, messages)"], ids=["first", "beside the text"])
async def test_a_function_that_names_the_messages_gets_the_conversation(
    calls: Calls, module: Module, form: str
) -> None:
    name = module(f"def answer{form}: return ' '.join(turn.role for turn in messages)")

    assert (await ask(calls, f"{name}:answer")).text == "system user assistant user"


async def test_a_function_may_change_its_parameters_without_changing_those_of_others(
    calls: Calls, module: Module
) -> None:
    name = module("def answer(text, params): return str(params['nested'].pop('a'))")
    options = {"nested": {"a": 1}}

    assert (await ask(calls, f"{name}:answer", options=options)).text == "1"
    assert options == {"nested": {"a": 1}}


@pytest.mark.parametrize(
    "head",
    [
        "from prompt_evaluator.model import Request",
        "from __future__ import annotations\nfrom prompt_evaluator.model import Request",
        "from __future__ import annotations\nif False:\n    from prompt_evaluator.model import Request",
    ],
    ids=["object", "text", "for the type checker only"],
)
async def test_a_function_that_asks_for_the_request_gets_it_whole(calls: Calls, module: Module, head: str) -> None:
    name = module(f"{head}\ndef answer(request: Request): return f'{{len(request.messages)}} {{request.seed}}'")

    answer = await ask(calls, f"{name}:answer", seed=5)

    assert answer.text == "4 5"


@pytest.mark.parametrize(
    "code",
    [
        "class Agent:\n    async def __call__(self, text): return text\nanswer = Agent()",
        "class Agent:\n    def __call__(self, text): return text\nanswer = Agent()",
        "import functools\nasync def both(extra, text): return text\nanswer = functools.partial(both, 1)",
        "async def inner(text): return text\ndef answer(*args): return inner(*args)",
        "answer = str",
    ],
    ids=["async object", "object", "partial", "undeclared coroutine", "builtin"],
)
async def test_whatever_can_be_called_with_a_text_is_a_function(calls: Calls, module: Module, code: str) -> None:
    assert (await ask(calls, f"{module(code)}:answer")).text == "2+2"


async def test_a_method_is_named_by_its_path(calls: Calls, module: Module) -> None:
    name = module("class Agent:\n    def answer(self, text): return text + '!'\nagent = Agent()")

    assert (await ask(calls, f"{name}:agent.answer")).text == "2+2!"


async def test_a_dictionary_may_say_more_than_the_text(calls: Calls, module: Module) -> None:
    name = module("""
        def answer(text):
            return {"output": "4", "tool_calls": [{"name": "add", "arguments": {"a": 2}}],
                    "usage": {"input_tokens": 3, "output_tokens": 1}, "cost": 0.5, "model": "inner"}
    """)

    answer = await ask(calls, f"{name}:answer")

    assert (answer.text, answer.cost, answer.model) == ("4", 0.5, "inner")
    assert answer.tool_calls == (ToolCall(name="add", arguments={"a": 2}),)
    assert answer.usage == Usage(input_tokens=3, output_tokens=1)


async def test_an_answer_is_passed_on_with_the_latency_that_was_measured(calls: Calls, module: Module) -> None:
    name = module("""
        from prompt_evaluator.model import Answer
        def answer(text):
            return Answer(text="4", model="inner", latency_ms=1e9, finish_reason="stop", synthetic=True)
    """)

    answer = await ask(calls, f"{name}:answer")

    assert (answer.text, answer.model, answer.finish_reason, answer.synthetic) == ("4", "inner", "stop", True)
    assert answer.latency_ms < 1e6


@pytest.mark.parametrize(
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
    name = module(f"def answer(text): return {value}")

    with pytest.raises(BadReplyError) as caught:
        await ask(calls, f"{name}:answer")

    assert said in str(caught.value)
    assert caught.value.tries == 1


@pytest.mark.parametrize("form", ["def", "async def"])
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("raise LookupError('no such tool')", "LookupError: no such tool"),
        ("raise TimeoutError('its own')", "TimeoutError: its own"),
        ("import sys; sys.exit(3)", r"sys.exit\(3\)"),
        ("raise StopIteration", "StopIteration"),
        ("import asyncio; raise asyncio.CancelledError", "was cancelled by code it called"),
    ],
    ids=["error", "its own time-out", "exit", "stop", "cancelled"],
)
async def test_a_function_that_fails_is_named_with_its_error_and_called_once(
    calls: Calls, module: Module, form: str, statement: str, said: str
) -> None:
    name = module(f"calls = []\n{form} answer(text):\n    calls.append(text)\n    {statement}")

    with pytest.raises(TargetFailedError, match=said):
        await ask(calls, f"{name}:answer")

    assert sys.modules[name].calls == ["2+2"]


async def test_a_failure_says_where_it_happened(calls: Calls, module: Module) -> None:
    name = module("def answer(text):\n    return deeper()\ndef deeper():\n    return 1 / 0")

    with pytest.raises(TargetFailedError, match=rf"ZeroDivisionError: division by zero \(.*{name}\.py, line 4\)"):
        await ask(calls, f"{name}:answer")


async def test_a_known_secret_is_in_no_error_and_no_answer(calls: Calls, module: Module) -> None:
    canary = "sk-canary-function-1234567890"
    secret = Secret(canary)
    name = module(f"""
        def fails(text): raise ValueError("the key is {canary}")
        def tells(text): return "it is {canary}"
        def nests(text): return {{"text": "", "tool_calls": [{{"name": "a", "arguments": {{"key": "{canary}"}}}}]}}
    """)
    with pytest.raises(TargetFailedError) as failed:
        await ask(calls, f"{name}:fails")

    told, nested = await ask(calls, f"{name}:tells"), await ask(calls, f"{name}:nests")

    assert secret
    assert canary not in str(failed.value)
    assert failed.value.__cause__ is None
    assert told.text == "it is [secret]"
    assert nested.tool_calls[0].arguments == {"key": "[secret]"}


async def test_an_async_function_that_takes_too_long_is_cancelled(calls: Calls, module: Module) -> None:
    name = module("""
        import asyncio
        ended = []
        async def answer(text):
            try:
                await asyncio.sleep(600)
            finally:
                ended.append(text)
    """)

    with pytest.raises(TimedOutError, match=r"did not answer within 0\.1 s") as caught:
        await ask(calls, f"{name}:answer", try_timeout=0.1)

    assert sys.modules[name].ended == ["2+2"]
    assert caught.value.tries == 1


async def test_an_async_function_that_ignores_its_cancellation_cannot_hold_up_the_call(
    calls: Calls, module: Module
) -> None:
    name = module("""
        import asyncio
        async def answer(text):
            for _ in range(2):
                try:
                    await asyncio.sleep(600)
                except asyncio.CancelledError:
                    pass
    """)

    with pytest.raises(TimedOutError):
        await ask(calls, f"{name}:answer", try_timeout=0.1)


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
        hung = [ask(calls, f"{name}:answer", try_timeout=0.2) for _ in range(8)]
        results = await asyncio.gather(*hung, return_exceptions=True)
        answers = await asyncio.gather(*(ask(calls, f"{name}:quick") for _ in range(8)))
    finally:
        sys.modules[name].gate.set()

    assert {type(result) for result in results} == {TimedOutError}
    assert [answer.text for answer in answers] == ["2+2"] * 8


async def test_sync_functions_run_side_by_side_off_the_event_loop(calls: Calls, module: Module) -> None:
    name = module("""
        import threading
        together = threading.Barrier(8)
        def answer(text):
            together.wait(20)
            return threading.current_thread().name
    """)

    answers = await asyncio.gather(*(ask(calls, f"{name}:answer") for _ in range(8)))

    assert threading.main_thread().name not in {answer.text for answer in answers}


@pytest.mark.parametrize("body", ["gate.wait(600)", "import asyncio; await asyncio.sleep(600)"], ids=["sync", "async"])
async def test_cancelling_a_call_takes_effect_at_once(calls: Calls, module: Module, body: str) -> None:
    form = "async def" if "await" in body else "def"
    name = module(f"""
        import threading
        gate, began = threading.Event(), threading.Event()
        {form} answer(text):
            began.set()
            {body}
    """)
    check(f"{name}:answer")
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


async def test_a_module_is_imported_once_for_any_number_of_calls(calls: Calls, module: Module) -> None:
    name = module("import random\nnumber = str(random.random())\ndef answer(text): return number")

    answers = [await ask(calls, f"{name}:answer") for _ in range(3)]

    assert len({answer.text for answer in answers}) == 1


def _package(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").touch()
    (folder / name / "agent.py").write_text("import no_such_dependency_xyz")
    (folder / name / "exits.py").write_text("raise SystemExit(1)")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("{package}", "does not name a function. Write it as `python:module:function`"),
        (":answer", "does not name a function"),
        ("{package}x:answer", "Module `{package}x` not found in .* Did you mean `{package}`"),
        ("{package}.agnt:answer", "Module `{package}.agnt` not found in .* Did you mean `{package}.agent`"),
        (
            "{package}.agent:answer",
            "`{package}.agent` cannot be imported: ModuleNotFoundError: .*no_such_dependency_xyz",
        ),
        ("{package}.exits:answer", "`{package}.exits` cannot be imported: SystemExit"),
        ("{module}:anser", "Module `{module}` has no `anser`. Did you mean `answer`"),
        ("{module}:nothing_like_it", "Module `{module}` has no `nothing_like_it`. It has: answer, none, two.$"),
        ("{module}:text", "`text` in module `{module}` is of type str, not a function"),
        ("{module}:none", "cannot be called with a question: too many positional arguments"),
        ("{module}:two", "cannot be called with a question: missing a required argument: 'other'.* system, case"),
    ],
)
async def test_a_function_that_cannot_be_called_is_known_before_any_call_and_ends_a_run(
    calls: Calls, module: Module, tmp_path: Path, model: str, said: str
) -> None:
    names = {
        "module": module("text = 'x'\ndef answer(text): ...\ndef none(): ...\ndef two(text, other): ..."),
        "package": f"package_{next(_numbers)}",
    }
    _package(tmp_path, names["package"])

    with pytest.raises(ConfigurationError, match=said.format(**names)):
        check(model.format(**names))
    with pytest.raises(ModelNotFoundError, match=said.format(**names)):
        await ask(calls, model.format(**names))


def test_a_function_that_is_there_passes_the_check(module: Module) -> None:
    check(f"{module('def answer(text): ...')}:answer")


@pytest.mark.parametrize("form", ["def", "async def"])
async def test_an_exception_that_cannot_say_what_it_is_about_is_the_functions_failure(
    calls: Calls, module: Module, form: str
) -> None:
    broken = "class Broken(Exception):\n    def __str__(self): raise RuntimeError\n"

    with pytest.raises(TargetFailedError, match="Broken: its message cannot be read"):
        await ask(calls, f"{module(f'{broken}{form} answer(text): raise Broken')}:answer")


async def test_an_object_that_fails_when_inspected_is_not_a_function(calls: Calls, module: Module) -> None:
    name = module("class Odd:\n    def __getattr__(self, name): raise RuntimeError('odd')\nodd = Odd()")

    with pytest.raises(ModelNotFoundError, match="cannot be looked up: RuntimeError: odd"):
        await ask(calls, f"{name}:odd.answer")
