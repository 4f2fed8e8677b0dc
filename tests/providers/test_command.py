"""A program under test: what it is told, what it may say, and that nothing of it is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from calling import Calls
from entries import each
from leftovers import becomes_true, open_files

from prompt_evaluator.errors import (
    BadReplyError,
    ConfigurationError,
    ModelNotFoundError,
    OversizedReplyError,
    ProviderError,
    TargetFailedError,
    TimedOutError,
)
from prompt_evaluator.model import Limits, Message, ProviderSettings, Request, Secret, TestCase, ToolCall, Usage
from prompt_evaluator.providers.command import CommandProvider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from prompt_evaluator.calls.client import Client
    from prompt_evaluator.model import Answer

    Program = Callable[[str], str]

SLEEPER = "import time; time.sleep(600)"


def with_child(program: Program, told: Path, then: str, child: str = "") -> str:
    """A program that starts a child, which sleeps, and tells its process id in a file before it goes on."""
    code = f"""
        import pathlib, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-ISc", {SLEEPER!r}]{child})
        pathlib.Path(sys.argv[1] + ".new").write_text(str(child.pid))
        pathlib.Path(sys.argv[1] + ".new").rename(sys.argv[1])
        {then}
    """
    return f"{program(code)} {told}"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Writes a Python program and gives the model name that starts it."""

    def write(code: str) -> str:
        path = tmp_path / "agent.py"
        path.write_text(dedent(code))
        return shlex.join([sys.executable, "-IS", str(path)])  # starts in half the time

    return write


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


@pytest.fixture
async def calls() -> AsyncIterator[Calls]:
    board = Calls()
    yield board
    await board.close()


def provider(calls: Calls, **limits: Any) -> Client:
    settings = ProviderSettings(kind="command", limits=Limits(**{"max_tries": 1, "try_timeout": 60, **limits}))
    return calls.open(settings, "command")


async def ask(calls: Calls, model: str, prompt: str = "hi", **limits: Any) -> Answer:
    request = Request(model=model, messages=(Message("user", prompt),))
    return await provider(calls, **limits).complete(request)


def is_running(pid: int) -> bool:
    """A killed process whose new parent has not looked at it yet is not running."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended meanwhile
            found.update((task / "children").read_text().split())
    return found


async def test_a_program_reads_the_request_as_json_and_answers_in_json(calls: Calls, program: Program) -> None:
    model = program("import json, sys; print(json.dumps({'text': sys.stdin.read()}))")
    request = Request(
        model=model,
        messages=(Message("system", "be kind"), Message("user", "first"), Message("user", "hällo")),
        temperature=0.5,
        seed=7,
        tools=({"name": "look_up"},),
        options={"top_p": 0.9},
        sample=2,
        attempt=1,
        case=TestCase(id="a", input="hällo", metadata={"tier": 1}),
    )

    answer = await provider(calls).complete(request)

    order = json.loads(answer.text)
    case = order.pop("case")
    assert order == {
        "prompt": "hällo",
        "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "first"},
            {"role": "user", "content": "hällo"},
        ],
        "model": model,
        "temperature": 0.5,
        "max_tokens": None,
        "seed": 7,
        "tools": [{"name": "look_up"}],
        "params": {"top_p": 0.9},
        "sample": 2,
        "attempt": 1,
    }
    assert (case["id"], case["input"], case["metadata"]) == ("a", "hällo", {"tier": 1})
    assert (answer.model, answer.usage, answer.cost, answer.tries) == (model, Usage(), None, 1)
    assert answer.latency_ms > 0


async def test_everything_a_program_knows_about_its_answer_is_kept(calls: Calls, program: Program) -> None:
    model = program("""
        import json
        calls = [{"name": "add", "arguments": {"a": 1}}, {"name": "sub", "arguments": "{\\"b\\": 2}", "id": "c2"},
                 {"name": "odd", "arguments": "not json"}]
        print(json.dumps({"output": "3", "tool_calls": calls, "usage": {"input_tokens": 5, "output_tokens": 1},
                          "cost": 0.25, "model": "inner-model", "more": "ignored"}))
    """)

    answer = await ask(calls, model)

    assert (answer.text, answer.model, answer.cost) == ("3", "inner-model", 0.25)
    assert answer.usage == Usage(input_tokens=5, output_tokens=1)
    assert answer.tool_calls == (
        ToolCall(name="add", arguments={"a": 1}),
        ToolCall(name="sub", arguments={"b": 2}, id="c2"),
        ToolCall(name="odd", arguments="not json"),
    )


def prints(text: str) -> str:
    return f"print({text!r}, end='')"


FAILURES: dict[str, tuple[type[ProviderError], str]] = {
    prints(""): (BadReplyError, "starts with ''"),
    prints("hello there"): (BadReplyError, "starts with 'hello there'"),
    prints("[1]"): (BadReplyError, "Expected `object`"),
    prints("{}"): (BadReplyError, "there is no `text`"),
    prints('{"text": 3}'): (BadReplyError, r"\$\.text"),
    prints('{"text": "a", "cost": NaN}'): (BadReplyError, "malformed"),
    prints('{"text": "a", "cost": -1}'): (BadReplyError, r"\$\.cost"),
    prints('{"text": "a", "usage": {"input_tokens": -1}}'): (BadReplyError, "a negative number of tokens"),
    prints('{"text": "a", "tool_calls": [{"arguments": {}}]}'): (BadReplyError, r"\$\.tool_calls\[0\]"),
    prints('{"text": "a"} {"text": "b"}'): (BadReplyError, "trailing"),
    "print('x' * 5000)": (BadReplyError, "[^x]x{200}'[.]"),
    "print('[' * 100_000)": (BadReplyError, r"\["),
    """import os; os.write(1, b'{"text": "\\xff"}')""": (BadReplyError, "expected JSON"),
    "import sys; sys.stderr.write('trace\\nno such tool\\n'); print('{}'); sys.exit(3)": (
        TargetFailedError,
        r"exit code 3\. Its stderr ends with: trace\nno such tool",
    ),
    "raise SystemExit(4)": (TargetFailedError, "exit code 4 and wrote nothing to stderr"),
    "import os, signal; os.kill(os.getpid(), signal.SIGTERM)": (TargetFailedError, "was killed by SIGTERM"),
    "while True: print('x' * 65536)": (OversizedReplyError, "1,000,000 bytes"),
}


@each(("code", "kind", "said"), [(code, *outcome) for code, outcome in FAILURES.items()])
async def test_what_is_not_an_answer_is_an_error_that_shows_what_the_program_did(
    calls: Calls, program: Program, code: str, kind: type[ProviderError], said: str
) -> None:
    with pytest.raises(kind, match=said) as caught:
        await ask(calls, program(code), max_tries=2, first_backoff=0.001, max_reply_bytes=1_000_000)

    assert caught.value.tries == (2 if kind is BadReplyError else 1)
    assert len(str(caught.value)) < 500


async def test_a_bad_reply_is_asked_for_again_and_the_answer_says_how_many_tries_it_took(
    calls: Calls, program: Program, tmp_path: Path
) -> None:
    model = program(f"""
        import pathlib
        mark = pathlib.Path({str(tmp_path / "mark")!r})
        print('{{"text": "good"}}' if mark.exists() else "bad")
        mark.touch()
    """)

    answer = await ask(calls, model, max_tries=2)

    assert (answer.text, answer.tries) == ("good", 2)


async def test_only_the_last_lines_of_a_long_complaint_are_shown(calls: Calls, program: Program) -> None:
    model = program("""
        import sys
        for number in range(100_000):
            print("line", number, file=sys.stderr)
        sys.exit(1)
    """)

    with pytest.raises(TargetFailedError) as caught:
        await ask(calls, model)

    message = str(caught.value)
    assert message.endswith("line 99999")
    assert len(message) < 2_100
    assert all(line.startswith("line ") for line in message.partition("…")[2].splitlines())


async def test_a_known_secret_is_in_no_error_and_no_answer(calls: Calls, program: Program) -> None:
    canary = "sk-canary-command-1234567890"
    secret = Secret(canary)
    failing = program(f"import sys; sys.exit({canary!r})")
    with pytest.raises(TargetFailedError) as failed:
        await ask(calls, failing)
    with pytest.raises(BadReplyError) as bad:
        await ask(calls, program(f"print('x' * 190 + {canary!r})"))

    answer = await ask(calls, program(f"""print('{{"text": "it is {canary}"}}')"""))

    assert secret
    assert answer.text == "it is [secret]"
    for error in (failed.value, bad.value):
        assert canary[:6] not in str(error)


SLOWLY = """import time; time.sleep(0.05); print('{"text": "done"}')"""


@each(
    "code",
    [
        f"import sys; sys.stdin.close(); {SLOWLY}",
        f"import os; os.close(0); {SLOWLY}",
        SLOWLY,
        f"import sys; sys.stderr.write('x' * 3_000_000); {SLOWLY}",
        """import json, sys; json.load(sys.stdin)['prompt'] == 'x' * 5_000_000 and print('{"text": "done"}')""",
    ],
)
async def test_five_megabytes_go_in_whether_they_are_read_or_not(calls: Calls, program: Program, code: str) -> None:
    assert (await ask(calls, program(code), prompt="x" * 5_000_000)).text == "done"


async def test_five_megabytes_come_out_whole(calls: Calls, program: Program) -> None:
    model = program("import json; print(json.dumps({'text': 'x' * 5_000_000}))")

    assert (await ask(calls, model)).text == "x" * 5_000_000


ANSWERS = """print('{"text": "done"}')"""
ENDINGS: dict[str, tuple[str, str, type[ProviderError] | None, str]] = {
    "runs on": ("time.sleep(600)", "", TimedOutError, "did not answer within 3 s"),
    "answers": (ANSWERS, "", TimedOutError, "a process it started kept its output open"),
    "fails": ("sys.exit(str(12345))", "", TargetFailedError, r"exit code 1\. Its stderr ends with: 12345"),
    "answers, and the child has no output": (ANSWERS, ", stdout=subprocess.DEVNULL", None, ""),
}


@each("ending", ENDINGS.values(), ids=ENDINGS)
async def test_however_a_program_ends_its_children_end_and_cannot_hold_up_the_call(
    calls: Calls, program: Program, tmp_path: Path, ending: tuple[str, str, type[ProviderError] | None, str]
) -> None:
    then, child, kind, said = ending
    told = tmp_path / "pid"
    told.unlink(missing_ok=True)
    model = with_child(program, told, then, child)

    with pytest.raises(kind, match=said) if kind else nullcontext():
        assert (await ask(calls, model, try_timeout=3 if kind is TimedOutError else 60)).text == "done"

    await becomes_true(lambda: not is_running(int(told.read_text())))


async def test_cancelling_a_call_kills_the_program_with_its_children_at_once(
    calls: Calls, program: Program, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    files = len(open_files())
    call = asyncio.create_task(ask(calls, with_child(program, told, "time.sleep(600)")))
    await becomes_true(told.exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await becomes_true(lambda: not is_running(int(told.read_text())))
    assert len(open_files()) == files


@each(("then", "turns"), [(then, turns) for then in ("time.sleep(600)", "sys.exit(0)") for turns in range(10)])
async def test_a_call_can_be_cancelled_while_the_program_is_being_started(
    calls: Calls, program: Program, tmp_path: Path, turns: int, then: str
) -> None:
    told, before = tmp_path / f"pid {turns} {then}".replace(" ", "-"), children()
    call = asyncio.create_task(ask(calls, with_child(program, told, then)))
    for _ in range(turns):
        await asyncio.sleep(0)
    while children() > before and not told.exists():
        time.sleep(0.01)  # noqa: ASYNC251 - the program runs on while asyncio is still busy with starting it
    time.sleep(0.05)  # noqa: ASYNC251 - the same
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await becomes_true(lambda: not (told.exists() and is_running(int(told.read_text()))))


async def test_a_child_in_a_session_of_its_own_cannot_hold_up_the_call_either(
    calls: Calls, program: Program, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    files = len(open_files())
    model = with_child(program, told, "", ", start_new_session=True")

    try:
        with pytest.raises(TimedOutError):
            await ask(calls, model, prompt="x" * 1_000_000, try_timeout=3)

        assert len(open_files()) == files
    finally:
        os.kill(int(told.read_text()), 9)


async def test_many_programs_at_once_leave_no_process_and_no_file_open(calls: Calls, program: Program) -> None:
    model = program("import json, sys; print(json.dumps({'text': json.load(sys.stdin)['prompt']}))")
    await ask(calls, model)
    files = len(open_files())

    answers = await asyncio.gather(*(ask(calls, model, prompt=str(number)) for number in range(20)))

    assert [answer.text for answer in answers] == [str(number) for number in range(20)]
    assert len(open_files()) == files


async def test_arguments_are_split_as_a_shell_does_but_no_shell_sees_them(calls: Calls, program: Program) -> None:
    model = program("import json, sys; print(json.dumps({'text': '|'.join(sys.argv[1:])}))")

    answer = await ask(calls, f"{model} --fast 'two words' $HOME ; ls")

    assert answer.text == "--fast|two words|$HOME|;|ls"


CANNOT_START = {
    "no-such-program-anywhere --x": "Program 'no-such-program-anywhere' not found on the PATH",
    "./no/such/agent": "Program './no/such/agent' not found in ",
    "agent 'unclosed": "No closing quotation",
    "  ": "does not name a program",
    "FOLDER": "is not executable",
    "FOLDER/not-executable": "executable bit",
}
CANNOT_RUN = {"FOLDER/no-program": "cannot be started", "FOLDER/no-interpreter": "cannot be started"}


@each(("model", "said"), [*CANNOT_START.items(), *CANNOT_RUN.items()])
async def test_a_program_that_cannot_be_started_is_known_before_any_call_if_possible_and_ends_a_run(
    tmp_path: Path, model: str, said: str
) -> None:
    files = {"not-executable": ("#!/bin/sh\n", 0o600), "no-program": ("\x00\x01", 0o700)}
    for name, (content, mode) in {**files, "no-interpreter": ("#!/no/such/interpreter\n", 0o700)}.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(mode)
    at_once, model = model in CANNOT_START, model.replace("FOLDER", str(tmp_path))
    checker = CommandProvider("command", max_reply_bytes=1)

    with pytest.raises(ConfigurationError, match=said) if at_once else nullcontext():
        checker.check(model)
    with pytest.raises(ModelNotFoundError, match=said) as during:
        await ask(Calls(), model, max_tries=3)

    assert (during.value.tries, during.value.hopeless) == (1, True)


def test_a_program_that_is_there_passes_the_check() -> None:
    CommandProvider("command", max_reply_bytes=1).check(f"{sys.executable} -c 'pass'")


async def test_a_request_that_is_not_text_is_a_provider_error(calls: Calls) -> None:
    with pytest.raises(ProviderError, match="cannot be encoded as JSON"):
        await ask(calls, "true", prompt="\ud800")
