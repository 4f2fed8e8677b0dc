"""A program under test: what it is told, what it may say, and that nothing of it is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import time
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from calling import Calls

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
from prompt_evaluator.providers.command import check

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from prompt_evaluator.calls.client import Client
    from prompt_evaluator.model import Answer

    Program = Callable[[str], str]

SLEEPER = "import time; time.sleep(600)"
STARTS_A_CHILD = f"""
    import pathlib, subprocess, sys, time
    child = subprocess.Popen([sys.executable, "-ISc", {SLEEPER!r}])
    pathlib.Path(sys.argv[1] + ".new").write_text(str(child.pid))
    pathlib.Path(sys.argv[1] + ".new").rename(sys.argv[1])
"""
"""Tells the child's process id in the file named by the first argument."""


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


async def until(fact: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "did not come true"
        await asyncio.sleep(0.01)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


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


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("", "starts with ''"),
        ("hello there", "starts with 'hello there'"),
        ("[1]", "Expected `object`"),
        ("{}", "there is no `text`"),
        ('{"text": 3}', "$.text"),
        ('{"text": "a", "cost": NaN}', "malformed"),
        ('{"text": "a", "cost": -1}', "$.cost"),
        ('{"text": "a", "usage": {"input_tokens": -1}}', "a negative number of tokens"),
        ('{"text": "a", "tool_calls": [{"arguments": {}}]}', "$.tool_calls[0]"),
        ('{"text": "a"} {"text": "b"}', "trailing"),
        ("x" * 5000, "x" * 200 + "'."),
        ("[" * 100_000, "["),
    ],
)
async def test_output_other_than_the_expected_json_is_a_bad_reply_that_shows_it(
    calls: Calls, program: Program, printed: str, said: str
) -> None:
    model = program(f"print({printed!r}, end='')")

    with pytest.raises(BadReplyError) as caught:
        await ask(calls, model)

    assert said in str(caught.value)
    assert len(str(caught.value)) < 500


async def test_bytes_that_are_not_text_are_a_bad_reply(calls: Calls, program: Program) -> None:
    model = program("""import os; os.write(1, b'{"text": "\\xff"}')""")

    with pytest.raises(BadReplyError, match="expected JSON"):
        await ask(calls, model)


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


async def test_a_failed_program_is_named_with_its_exit_code_and_last_words_and_not_tried_again(
    calls: Calls, program: Program
) -> None:
    model = program("import sys; sys.stderr.write('trace\\nno such tool\\n'); print('{}'); sys.exit(3)")

    with pytest.raises(TargetFailedError, match=r"exit code 3\. Its stderr ends with: trace\nno such tool") as caught:
        await ask(calls, model, max_tries=5)

    assert caught.value.tries == 1


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


async def test_a_program_that_says_nothing_when_it_fails_is_reported_as_such(calls: Calls, program: Program) -> None:
    with pytest.raises(TargetFailedError, match="exit code 4 and wrote nothing to stderr"):
        await ask(calls, program("raise SystemExit(4)"))


async def test_a_program_ended_by_a_signal_is_a_failure_that_names_the_signal(calls: Calls, program: Program) -> None:
    with pytest.raises(TargetFailedError, match="was killed by SIGTERM"):
        await ask(calls, program("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"))


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


async def test_more_output_than_allowed_ends_the_program_at_once(calls: Calls, program: Program) -> None:
    model = program("""
        import sys
        while True:
            sys.stdout.write("x" * 65536)
    """)

    with pytest.raises(OversizedReplyError, match=r"100,000 bytes") as caught:
        await ask(calls, model, max_reply_bytes=100_000, max_tries=3)

    assert caught.value.tries == 1


@pytest.mark.parametrize("reads", ["import sys; sys.stdin.close()", "import os; os.close(0)", "pass"])
async def test_a_program_that_does_not_read_five_megabytes_still_answers(
    calls: Calls, program: Program, reads: str
) -> None:
    model = program(f"""{reads}\nimport time; time.sleep(0.05); print('{{"text": "done"}}')""")

    answer = await ask(calls, model, prompt="x" * 5_000_000)

    assert answer.text == "done"


async def test_five_megabytes_go_in_and_come_out_whole(calls: Calls, program: Program) -> None:
    model = program("import json, sys; print(json.dumps({'text': json.load(sys.stdin)['prompt']}))")

    answer = await ask(calls, model, prompt="x" * 5_000_000)

    assert answer.text == "x" * 5_000_000


async def test_a_chatty_stderr_does_not_stop_a_program(calls: Calls, program: Program) -> None:
    model = program("""import sys; sys.stderr.write("x" * 3_000_000); print('{"text": "done"}')""")

    assert (await ask(calls, model)).text == "done"


async def test_a_program_that_takes_too_long_is_killed_with_its_children(
    calls: Calls, program: Program, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    model = f"{program(STARTS_A_CHILD + '    time.sleep(600)')} {told}"

    with pytest.raises(TimedOutError, match="did not answer within 3 s"):
        await ask(calls, model, try_timeout=3)

    await until(lambda: not is_running(int(told.read_text())))


async def test_cancelling_a_call_kills_the_program_with_its_children_at_once(
    calls: Calls, program: Program, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    files = open_files()
    call = asyncio.create_task(ask(calls, f"{program(STARTS_A_CHILD + '    time.sleep(600)')} {told}"))
    await until(told.exists)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await until(lambda: not is_running(int(told.read_text())))
    assert open_files() == files


@pytest.mark.parametrize("ending", ["time.sleep(600)", "sys.exit(0)"], ids=["runs on", "ends"])
@pytest.mark.parametrize("turns", range(10))
async def test_a_call_can_be_cancelled_while_the_program_is_being_started(
    calls: Calls, program: Program, tmp_path: Path, turns: int, ending: str
) -> None:
    told, before = tmp_path / "pid", children()
    call = asyncio.create_task(ask(calls, f"{program(STARTS_A_CHILD + '    ' + ending)} {told}"))
    for _ in range(turns):
        await asyncio.sleep(0)
    while children() > before and not told.exists():
        time.sleep(0.01)  # noqa: ASYNC251 - the program runs on while asyncio is still busy with starting it
    time.sleep(0.05)  # noqa: ASYNC251 - the same
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await until(lambda: not (told.exists() and is_running(int(told.read_text()))))


async def test_a_child_that_keeps_the_output_open_cannot_hold_up_the_call(
    calls: Calls, program: Program, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    code = STARTS_A_CHILD + """    print('{"text": "done"}')"""

    with pytest.raises(TimedOutError, match="a process it started kept its output open"):
        await ask(calls, f"{program(code)} {told}", try_timeout=3)

    await until(lambda: not is_running(int(told.read_text())))


async def test_a_failed_program_is_reported_at_once_although_a_child_keeps_its_output_open(
    calls: Calls, program: Program, tmp_path: Path
) -> None:
    told = tmp_path / "pid"

    with pytest.raises(TargetFailedError, match=r"exit code 1\. Its stderr ends with: 12345"):
        await ask(calls, f"{program(STARTS_A_CHILD + '    sys.exit(str(12345))')} {told}", try_timeout=60)

    await until(lambda: not is_running(int(told.read_text())))


async def test_a_child_in_a_session_of_its_own_cannot_hold_up_the_call_either(
    calls: Calls, program: Program, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    files = open_files()
    code = STARTS_A_CHILD.replace("])\n", "], start_new_session=True)\n", 1)

    try:
        with pytest.raises(TimedOutError):
            await ask(calls, f"{program(code)} {told}", prompt="x" * 1_000_000, try_timeout=3)

        assert open_files() == files
    finally:
        os.kill(int(told.read_text()), 9)


async def test_a_process_left_in_the_background_ends_with_the_answer(
    calls: Calls, program: Program, tmp_path: Path
) -> None:
    told = tmp_path / "pid"
    code = STARTS_A_CHILD.replace("])\n", "], stdout=subprocess.DEVNULL)\n", 1) + """    print('{"text": "done"}')"""

    answer = await ask(calls, f"{program(code)} {told}")

    assert answer.text == "done"
    await until(lambda: not is_running(int(told.read_text())))


async def test_many_programs_at_once_leave_no_process_and_no_file_open(calls: Calls, program: Program) -> None:
    model = program("import json, sys; print(json.dumps({'text': json.load(sys.stdin)['prompt']}))")
    await ask(calls, model)
    files = open_files()

    answers = await asyncio.gather(*(ask(calls, model, prompt=str(number)) for number in range(20)))

    assert [answer.text for answer in answers] == [str(number) for number in range(20)]
    assert open_files() == files


async def test_arguments_are_split_as_a_shell_does_but_no_shell_sees_them(calls: Calls, program: Program) -> None:
    model = program("import json, sys; print(json.dumps({'text': '|'.join(sys.argv[1:])}))")

    answer = await ask(calls, f"{model} --fast 'two words' $HOME ; ls")

    assert answer.text == "--fast|two words|$HOME|;|ls"


def _file(folder: Path, name: str, content: str, mode: int) -> str:
    path = folder / name
    path.write_text(content)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("no-such-program-anywhere --x", "Program 'no-such-program-anywhere' not found on the PATH"),
        ("./no/such/agent", "Program './no/such/agent' not found in "),
        ("agent 'unclosed", "No closing quotation"),
        ("  ", "does not name a program"),
        (os.fspath(Path(__file__).parent), "is not executable"),
    ],
    ids=["unknown", "wrong path", "quotes", "nothing", "folder"],
)
async def test_a_program_that_cannot_be_started_is_known_before_any_call_and_ends_a_run(
    calls: Calls, model: str, said: str
) -> None:
    with pytest.raises(ConfigurationError) as before:
        check(model)
    with pytest.raises(ModelNotFoundError) as during:
        await ask(calls, model, max_tries=3)

    assert said in str(before.value)
    assert said in str(during.value)
    assert (during.value.tries, during.value.hopeless) == (1, True)


async def test_a_file_without_its_executable_bit_is_not_started(calls: Calls, tmp_path: Path) -> None:
    model = _file(tmp_path, "agent", "#!/bin/sh\n", 0o600)

    with pytest.raises(ModelNotFoundError, match="executable bit"):
        await ask(calls, model)


async def test_an_executable_file_that_is_not_a_program_is_not_retried(tmp_path: Path) -> None:
    no_program = _file(tmp_path, "data", "\x00\x01", 0o700)
    no_interpreter = _file(tmp_path, "script", "#!/no/such/interpreter\n", 0o700)

    for model in (no_program, no_interpreter):
        check(model)
        with pytest.raises(ModelNotFoundError, match="cannot be started"):
            await ask(Calls(), model, max_tries=3)


def test_a_program_that_is_there_passes_the_check() -> None:
    check(f"{sys.executable} -c 'pass'")


async def test_a_request_that_is_not_text_is_a_provider_error(calls: Calls) -> None:
    with pytest.raises(ProviderError, match="cannot be encoded as JSON"):
        await ask(calls, "true", prompt="\ud800")
