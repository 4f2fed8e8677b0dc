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
from entries import each

from prompt_evaluator.model import ProviderSettings
from prompt_evaluator.providers import command, function
from prompt_evaluator.providers.opened import Resources
from prompt_evaluator.usercode.fingerprint import of_command, of_files, of_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_numbers = itertools.count()
_LIBRARIES = ".venv/lib/python3/site-packages"


class Files:
    """A project in the working folder: ONE in a name or a text stands for this one, so that no module is met twice."""

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
        importlib.invalidate_caches()
        return of_files(importlib.import_module(self.name(module)).__name__)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for place in (tmp_path / "site-packages", tmp_path / _LIBRARIES, tmp_path):
        monkeypatch.syspath_prepend(place)
    return tmp_path


@pytest.fixture
def files(folder: Path) -> Files:
    return Files(folder)


def digest_of(model: str) -> str | None:
    return function.build("python", ProviderSettings(kind="python"), Resources()).fingerprint(model)


def adopted(found: Callable[..., Any]) -> str:
    return function.adopt(found).removeprefix("python:")


DEFINITIONS = "TEXT = 'a'\nclass Helper: pass\ndef help(): pass\n"
ANSWER = "\ndef answer(text): return text.run()\n"
COUNT = [
    ("ONE_helper", "", "ONE_helper.py"),
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
    ("ONE_installed", "", "site-packages/ONE_installed/parts.py"),  # the package under test itself
]
DO_NOT = [
    ("ONE", "import os, json", "run.py"),
    ("ONE", "import os, json", "json.txt"),
    ("ONE", "from ONE_library import help", f"{_LIBRARIES}/ONE_library.py"),
]


@each(
    ("module", "code", "edited", "counts"),
    [*((*entry, True) for entry in COUNT), *((*entry, False) for entry in DO_NOT)],
)
def test_what_is_imported_from_the_project_counts_until_the_edit_is_taken_back_and_nothing_else_does(
    folder: Path, module: str, code: str, edited: str, *, counts: bool
) -> None:
    files = Files(folder)
    for name in ("ONE_helper", "ONE_package/__init__", "ONE_package/inner/__init__", "ONE_package/beside"):
        files.write(f"{name}.py", DEFINITIONS)
    files.write(f"{_LIBRARIES}/ONE_library.py", DEFINITIONS)
    files.write("ONE_other.py", "from ONE_helper import TEXT")
    files.write("ONE_package/inner/deep.py", DEFINITIONS)
    files.write("site-packages/ONE_installed/__init__.py", "from .parts import help" + ANSWER)
    files.write("site-packages/ONE_installed/parts.py", DEFINITIONS)
    if code:
        files.write(f"{module.replace('.', '/')}.py", code + ANSWER)
    before = files.digest(module)

    files.write(edited, DEFINITIONS + "# edited")
    after = files.digest(module)
    files.write(edited, DEFINITIONS)

    assert re.fullmatch("[0-9a-f]{16}", before or "")
    assert (after != before) == counts
    assert files.digest(module) == before


def test_the_standard_library_this_package_and_what_cannot_be_loaded_have_no_digest(files: Files) -> None:
    files.write("ONE.py", "raise RuntimeError")

    assert of_files("json") is of_files("prompt_evaluator") is None
    assert [digest_of(model) for model in ("nowhere:answer", "json", files.name("ONE:answer"))] == [None] * 3


def test_a_digest_is_that_of_the_code_that_was_loaded_by_name_or_at_hand_whatever_its_file_says_now(
    files: Files,
) -> None:
    files.write("ONE.py", "def answer(text): return text\ndef other(text): return answer(text)")
    before = digest_of(files.name("ONE:answer"))
    loaded = importlib.import_module(files.name("ONE"))
    assert before == digest_of(adopted(loaded.answer)) == digest_of(adopted(loaded.other)) is not None

    files.write("ONE.py", "def answer(text): return text + '!'")

    assert digest_of(files.name("ONE:answer")) == before == digest_of(adopted(loaded.answer))


class Agent:
    def __init__(self, prompt: str) -> None:
        self.prompt, self.seen = prompt, [object()]

    def __call__(self, question: str) -> str:
        return self.prompt + question

    def answer(self, question: str) -> str:
        return self.prompt + question


def joined(prompt: str, question: str) -> str:
    return prompt + question


def closure(held: object, log: list[str] | None = None) -> Callable[[str], str]:
    def answer(question: str) -> str:
        if log is not None:
            log.append(question)
        return f"{held}"

    return answer


def typed_in(code: str) -> Any:
    """The function `answer` of code that is in no file, as in a shell."""
    names: dict[str, Any] = {"__name__": "nowhere"}
    exec(code, names)
    return names["answer"]


def from_a_shell(code: str) -> Callable[[str], Any]:
    return lambda value: typed_in(code.replace("VALUE", value))


MADE: dict[str, Callable[[str], Any]] = {
    "an object": Agent,
    "a method": lambda value: Agent(value).answer,
    "a partial": lambda value: functools.partial(joined, value),
    "a closure": closure,
    "a number in a closure": lambda value: closure(ord(value)),
    "a default": lambda value: lambda _, text=value: text,
    "a default of a keyword": lambda value: lambda _, *, text=value: text,
    "lambdas of one line": {"a": lambda _: "a", "b": lambda _: "b"}.get,
}
TYPED = {
    "a constant": "def answer(text): return text + 'VALUE'",
    "a name": "def answer(text): return text.VALUE()",
    "a global": "T = 'VALUE'\ndef answer(text): return T",
    "a helper": "def h(): return 'VALUE'\ndef answer(text): return h()",
    "a class": "class H:\n    def h(self): return 'VALUE'\ndef answer(text): return H().h()",
    "an inner function": "def answer(text):\n    def inner(): return 'VALUE'\n    return inner()",
    "a set": "def answer(text): return text in {'x', 'VALUE'}",
}


@each("make", [*MADE.values(), *map(from_a_shell, TYPED.values())], ids=[*MADE, *TYPED])
def test_a_function_in_memory_is_known_by_its_code_and_what_that_uses(make: Callable[[str], Any]) -> None:
    assert of_memory(make("a")) == of_memory(make("a")) is not None
    assert of_memory(make("a")) != of_memory(make("b"))


def test_data_that_a_function_collects_does_not_change_its_digest() -> None:
    log: list[str] = []
    answer = closure("a", log)
    before = of_memory(answer)

    answer("question")

    assert log == ["question"]
    assert of_memory(answer) == before


def test_a_function_in_memory_counts_the_files_that_it_uses(files: Files) -> None:
    helper = files.write("ONE_helper.py", "def help(): return 1")
    answer = typed_in(files.name("import ONE_helper\ndef answer(text): return ONE_helper.help()"))
    before = of_memory(answer)

    helper.write_text("def help(): return 2")

    assert of_memory(answer) not in (before, None)


class _Odd:
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("do not look")

    def __call__(self, question: str) -> str:
        return question


def test_looking_ends_and_never_raises() -> None:
    assert of_memory(typed_in("def answer(text): return answer(text)"))
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


# Programs.


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the working folder, also behind a link on the PATH, and a file beside it."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "agent.sh"
    path.write_text("#!/bin/sh\necho '{}'\n")
    path.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/linked-agent").symlink_to(path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    (tmp_path / "notes.txt").write_text("a")
    return path


@each(
    ("words", "edited"),
    [
        (["./agent.sh"], "agent.sh"),
        (["linked-agent"], "agent.sh"),
        (["./agent.sh", "notes.txt"], "notes.txt"),
        (["./agent.sh", "--config=notes.txt"], "notes.txt"),
    ],
)
def test_a_program_is_known_by_its_file_and_the_files_among_its_arguments(
    program: Path, words: list[str], edited: str
) -> None:
    before = of_command(words)

    with program.with_name(edited).open("a") as file:
        file.write("# edited\n")

    assert re.fullmatch("[0-9a-f]{16}", before or "")
    assert of_command(words) not in (before, None)


@pytest.mark.usefixtures("program")
def test_other_arguments_are_another_program() -> None:
    assert len({of_command(["./agent.sh", *rest]) for rest in ([], ["a"], ["b"], ["a", "b"], ["ab"])}) == 5


@pytest.mark.usefixtures("program")
@each("argument", [".", "/dev/null", "x" * 10_000, "a\0b", "\udcff", "--x=", "-", "="])
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


@each("model", ["no-such-program", "./gone", "'unclosed", "", "."])
def test_a_command_that_cannot_run_has_no_digest(model: str) -> None:
    provider = command.build("command", ProviderSettings(kind="command"), Resources())

    assert provider.fingerprint(model) is None
