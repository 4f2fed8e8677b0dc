"""A digest of the code under test: another one after every edit that matters, the same one otherwise."""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from prompt_evaluator.model import ProviderSettings
from prompt_evaluator.providers import command, function
from prompt_evaluator.providers.opened import Resources
from prompt_evaluator.usercode.fingerprint import of_command, of_files, of_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_numbers = itertools.count()


class Files:
    """A project in the working folder: ONE in a name or a text stands for this test, so that no module is met twice."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._number = folder, f"project{next(_numbers)}"

    def write(self, name: str, text: str) -> Path:
        path = self.folder / self.name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.name(text))
        return path

    def name(self, text: str) -> str:
        return text.replace("ONE", self._number)

    def digest(self, module: str) -> str | None:
        found = importlib.import_module(self.name(module))
        return of_files(found.__name__)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return Files(tmp_path)


def digest_of(model: str) -> str | None:
    return function.build("python", ProviderSettings(kind="python"), Resources()).fingerprint(model)


def test_an_edit_gives_another_digest_and_taking_it_back_the_first(files: Files) -> None:
    files.write("ONE.py", "def answer(text): return text")
    before = files.digest("ONE")

    files.write("ONE.py", "def answer(text): return text + '!'")
    after = files.digest("ONE")
    assert re.fullmatch("[0-9a-f]{16}", after or "")
    files.write("ONE.py", "def answer(text): return text")

    assert after != before == files.digest("ONE")


@pytest.mark.parametrize(
    ("module", "code", "helper"),
    [
        ("ONE", "import ONE_helper", "ONE_helper.py"),
        ("ONE", "import os, ONE_helper as h", "ONE_helper.py"),
        ("ONE", "from ONE_helper import help", "ONE_helper.py"),
        ("ONE", "from ONE_helper import Helper", "ONE_helper.py"),
        ("ONE", "from ONE_helper import TEXT", "ONE_helper.py"),
        ("ONE", "from ONE_helper import (  # many\n    TEXT,\n    help,\n)", "ONE_helper.py"),
        ("ONE", "try: import ONE_helper\nexcept ImportError: pass", "ONE_helper.py"),
        ("ONE", "def later():\n    from ONE_helper import TEXT", "ONE_helper.py"),
        ("ONE", "from ONE_other import *", "ONE_helper.py"),
        ("ONE", "import ONE_package.inner.deep", "ONE_package/inner/__init__.py"),
        ("ONE", "from ONE_package.inner import deep", "ONE_package/inner/deep.py"),
        ("ONE_package.inner.deep", "", "ONE_package/__init__.py"),
        ("ONE_package.agent", "from . import beside", "ONE_package/beside.py"),
        ("ONE_package.agent", "from .beside import TEXT", "ONE_package/beside.py"),
        ("ONE_package.inner.agent", "from ..beside import TEXT", "ONE_package/beside.py"),
        ("ONE_package.inner.agent", "from ONE_helper import TEXT", "ONE_helper.py"),
    ],
)
def test_an_edit_of_what_is_imported_from_the_project_counts(files: Files, module: str, code: str, helper: str) -> None:
    definitions = "TEXT = 'a'\nclass Helper: pass\ndef help(): pass\n"
    answer = "\ndef answer(text): return text\n"
    for name in ("ONE_helper", "ONE_package/__init__", "ONE_package/inner/__init__", "ONE_package/beside"):
        files.write(f"{name}.py", definitions)
    files.write("ONE_other.py", "from ONE_helper import TEXT")
    files.write("ONE_package/inner/deep.py", definitions + answer)
    if code:
        files.write(f"{module.replace('.', '/')}.py", code + answer)
    before = files.digest(module)

    files.write(helper, definitions + "# edited")

    assert files.digest(module) not in (before, None)


def test_what_is_not_imported_does_not_count(files: Files) -> None:
    files.write("ONE.py", "import os, json\ndef answer(text): return text.run()")
    before = files.digest("ONE")

    files.write("run.py", "x = 1")
    files.write("json.txt", "x = 1")

    assert files.digest("ONE") == before


def test_libraries_below_the_project_do_not_count(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    library = files.write(".venv/lib/python3/site-packages/ONE_library.py", "def help(): pass")
    monkeypatch.syspath_prepend(library.parent)
    files.write("ONE.py", "from ONE_library import help\ndef answer(text): return text")
    before = files.digest("ONE")

    library.write_text("def help(): return 1")

    assert files.digest("ONE") == before


def test_a_package_under_test_counts_even_if_it_is_installed(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write("site-packages/ONE_agent/__init__.py", "from .parts import help\ndef answer(text): return text")
    parts = files.write("site-packages/ONE_agent/parts.py", "def help(): pass")
    monkeypatch.syspath_prepend(parts.parents[1])
    before = files.digest("ONE_agent")

    parts.write_text("def help(): return 1")

    assert files.digest("ONE_agent") not in (before, None)


def test_the_standard_library_and_this_package_have_no_files_under_test() -> None:
    assert of_files("json") is None
    assert of_files("prompt_evaluator") is None


def test_what_cannot_be_loaded_has_no_digest(files: Files) -> None:
    files.write("ONE.py", "raise RuntimeError")

    assert [digest_of(model) for model in ("nowhere:answer", "json", files.name("ONE:answer"))] == [None] * 3


def test_a_digest_is_that_of_the_code_that_was_loaded_whatever_its_file_says_now(files: Files) -> None:
    files.write("ONE.py", "def answer(text): return text")
    before = digest_of(files.name("ONE:answer"))
    loaded = importlib.import_module(files.name("ONE"))
    adopted = function.adopt(loaded.answer).removeprefix("python:")

    files.write("ONE.py", "def answer(text): return text + '!'")

    assert digest_of(files.name("ONE:answer")) == before == digest_of(adopted)
    assert before is not None


def test_a_function_has_one_digest_by_its_name_and_at_hand(files: Files) -> None:
    files.write("ONE.py", "def answer(text): return text\ndef other(text): return answer(text)")
    by_name = digest_of(files.name("ONE:other"))

    model = function.adopt(importlib.import_module(files.name("ONE")).other).removeprefix("python:")

    assert digest_of(model) == by_name is not None


def made(text: str = "a", number: int = 1, log: list[str] | None = None) -> Callable[[str], str]:
    def answer(question: str) -> str:
        if log is not None:
            log.append(question)
        return text * number

    return answer


def test_a_closure_is_known_by_the_plain_values_that_it_holds() -> None:
    assert of_memory(made()) == of_memory(made()) == of_memory(made(log=None))
    assert len({of_memory(made()), of_memory(made("b")), of_memory(made(number=2))}) == 3


def test_data_that_a_function_collects_does_not_change_its_digest() -> None:
    log: list[str] = []
    answer = made(log=log)
    before = of_memory(answer)

    answer("question")

    assert log == ["question"]
    assert of_memory(answer) == before


def test_two_lambdas_of_one_line_are_two() -> None:
    one, other = (lambda _: "one"), (lambda _: "other")

    assert of_memory(one) != of_memory(other)
    assert of_memory(one) == of_memory(lambda _: "one")


def test_defaults_count() -> None:
    assert len({of_memory(lambda _, text=text: text) for text in "abc"}) == 3
    assert len({of_memory(lambda _, *, text=text: text) for text in "abc"}) == 3


class Agent:
    def __init__(self, prompt: str) -> None:
        self.prompt, self.seen = prompt, [object()]

    def __call__(self, question: str) -> str:
        return self.prompt + question

    def answer(self, question: str) -> str:
        return self.prompt + question


def joined(prompt: str, question: str) -> str:
    return prompt + question


@pytest.mark.parametrize(
    "make",
    [Agent, lambda prompt: Agent(prompt).answer, lambda prompt: functools.partial(joined, prompt)],
    ids=["object", "method", "partial"],
)
def test_an_object_that_can_be_called_is_known_by_its_class_and_its_plain_values(make: Callable[[str], Any]) -> None:
    assert of_memory(make("a")) == of_memory(make("a")) is not None
    assert of_memory(make("a")) != of_memory(make("b"))


def typed_in(code: str) -> Any:
    """The function `answer` of code that is in no file, as in a shell."""
    names: dict[str, Any] = {"__name__": "nowhere"}
    exec(code, names)
    return names["answer"]


@pytest.mark.parametrize(
    ("code", "edited"),
    [
        ("def answer(text): return text + 'a'", "def answer(text): return text + 'b'"),
        ("def answer(text): return text.lower()", "def answer(text): return text.upper()"),
        ("T = 'a'\ndef answer(text): return T", "T = 'b'\ndef answer(text): return T"),
        ("def h(): return 1\ndef answer(text): return h()", "def h(): return 2\ndef answer(text): return h()"),
        (
            "class H:\n    def h(self): return 1\ndef answer(text): return H().h()",
            "class H:\n    def h(self): return 2\ndef answer(text): return H().h()",
        ),
        (
            "def answer(text):\n    def inner(): return 1\n    return inner()",
            "def answer(text):\n    def inner(): return 2\n    return inner()",
        ),
        ("def answer(text): return text in {'a', 'b'}", "def answer(text): return text in {'a', 'c'}"),
    ],
    ids=["constant", "name", "global", "helper", "class", "inner function", "set"],
)
def test_a_function_without_a_file_is_known_by_its_code_and_what_that_uses(code: str, edited: str) -> None:
    assert of_memory(typed_in(code)) == of_memory(typed_in(code)) is not None
    assert of_memory(typed_in(code)) != of_memory(typed_in(edited))


def test_a_function_in_memory_counts_the_files_that_it_uses(files: Files) -> None:
    helper = files.write("ONE_helper.py", "def help(): return 1")
    answer = typed_in(files.name("import ONE_helper\ndef answer(text): return ONE_helper.help()"))
    before = of_memory(answer)

    helper.write_text("def help(): return 2")

    assert of_memory(answer) not in (before, None)


def test_a_function_that_calls_itself_has_a_digest() -> None:
    assert of_memory(typed_in("def answer(text): return answer(text)"))


class _Odd:
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("do not look")

    def __call__(self, question: str) -> str:
        return question


def test_looking_never_raises() -> None:
    assert of_memory(_Odd()) is None


def test_a_digest_is_the_same_in_every_process(files: Files) -> None:
    files.write("ONE_helper.py", "NAMES = {'a', 'b', 'c'}")
    files.write("ONE.py", "from ONE_helper import NAMES\nimport json\ndef answer(text): return text")
    script = files.write(
        "script.py",
        """
import ONE
from prompt_evaluator.usercode.fingerprint import of_command, of_files, of_memory
T = "text"
def answer(text):
    return T if text in {"a", "b", "c", ONE} else (lambda x: {"x", "y", x})(text)
names = {"__name__": "nowhere"}
exec("def typed(text): return text in {'a', 'b', 'c', 'd'}", names)
print(of_files("ONE"), of_memory(answer), of_memory(names["typed"]), of_command(["sh", "script.py"]))
""",
    )

    found = {
        subprocess.check_output(
            [sys.executable, script], env={**os.environ, "PYTHONHASHSEED": seed}, cwd=files.folder, text=True
        )
        for seed in "123"
    }

    assert len(found) == 1
    assert "None" not in found.pop()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "agent.sh"
    path.write_text("#!/bin/sh\necho '{}'\n")
    path.chmod(0o755)
    return path


def test_a_program_is_known_by_its_file(program: Path) -> None:
    before = of_command(["./agent.sh"])

    program.write_text("#!/bin/sh\necho '{} '\n")

    assert re.fullmatch("[0-9a-f]{16}", before or "")
    assert of_command(["./agent.sh"]) not in (before, None)


@pytest.mark.parametrize("argument", ["notes.txt", "--config=notes.txt"])
def test_a_file_among_the_arguments_counts(program: Path, argument: str) -> None:
    notes = program.with_name("notes.txt")
    notes.write_text("a")
    before = of_command(["./agent.sh", argument])

    notes.write_text("b")

    assert of_command(["./agent.sh", argument]) not in (before, None)


@pytest.mark.usefixtures("program")
def test_other_arguments_are_another_program() -> None:
    assert len({of_command(["./agent.sh", *rest]) for rest in ([], ["a"], ["b"], ["a", "b"], ["ab"])}) == 5


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize("argument", [".", "/dev/null", "x" * 10_000, "a\0b", "\udcff", "--x=", "-", "="], ids=repr)
def test_an_argument_that_is_not_a_file_is_only_text(argument: str) -> None:
    assert of_command(["./agent.sh", argument])


def test_a_large_file_among_the_arguments_is_not_read(program: Path) -> None:
    large = program.with_name("large.bin")
    with large.open("wb") as file:
        file.truncate(16 * 1024 * 1024)
    before = of_command(["./agent.sh", "large.bin"])

    with large.open("r+b") as file:
        file.write(b"edited")

    assert of_command(["./agent.sh", "large.bin"]) == before


def test_a_program_is_found_on_the_path_and_behind_links(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = program.with_name("bin")
    folder.mkdir()
    (folder / "agent").symlink_to(program)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    before = of_command(["agent"])

    program.write_text("#!/bin/sh\necho '{} '\n")

    assert of_command(["agent"]) not in (before, None)


@pytest.mark.parametrize("model", ["no-such-program", "./gone", "'unclosed", "", "."])
def test_a_command_that_cannot_run_has_no_digest(model: str) -> None:
    provider = command.build("command", ProviderSettings(kind="command"), Resources())

    assert provider.fingerprint(model) is None
