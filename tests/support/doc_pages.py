"""The pages of the documentation as a reader meets them: blocks in order, and a shell that knows enough to run them."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from difflib import get_close_matches
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from served import Served

from prompt_evaluator.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pytest

ROOT = Path(__file__).parents[2]
SERVER = "http://localhost:8080"
"""Where the server is on the pages."""
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w./-]+\.(?:ya?ml|jsonl?))\b")
_ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b(?=[a-f]*\d)[0-9a-f]{8}\b")
_DURATION = re.compile(r"(?<![\w.])<n> (?:ms|s|min|h|d)\b")
_KEPT = re.compile(r"([A-Z]+)=\$\((.*)\)")
_TIME = re.compile(r"\b\d+ (?:ms|s|min|h|d)\b")
_NUMBER = re.compile(r"(?:under )?\$?\d[\d,.:]*k?(?<![,.:])")


class Block(NamedTuple):
    """One fenced block."""

    kind: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that it shows, where its first line is a comment with the name."""
        found = _FILE.match(self.text)
        return found[1] if found else None

    @property
    def commands(self) -> list[str]:
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def blocks(page: Path) -> list[Block]:
    return [Block(kind, text) for kind, text in _BLOCK.findall(page.read_text(encoding="utf-8"))]


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Shell:
    """Runs `prompt-evaluator` in this process, in a folder and an environment of its own; a server in another one."""

    def __init__(self, folder: Path, environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self.server: Served | None = None
        self._workers: list[subprocess.Popen[bytes]] = []
        for name in [name for name in os.environ if name.startswith(("PROMPT_EVALUATOR", "OPENAI", "ANTHROPIC"))]:
            monkeypatch.delenv(name)
        for name, value in {"COLUMNS": "80", **environment}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(folder)

    def run(self, line: str, known: Callable[[str], str] = str) -> Done:
        """Run a line with `prompt-evaluator` or `cd`, variables before it, globs, and `> FILE`; or with `curl`.

        `known` says what a placeholder stands for.
        """
        if line.startswith("curl "):
            return self._curl(known(line))
        if kept := _KEPT.fullmatch(line):
            done = self.run(kept[2], known)
            self._patch.setenv(kept[1], done.out.strip())
            return Done(done.code, "", done.err)
        words = list(_expanded(shlex.split(line, comments=True)))
        target = words[words.index(">") + 1] if ">" in words else None
        if target is not None:
            words = words[: words.index(">")]
        given = dict(word.split("=", 1) for word in words[: _assignments(words)])
        words = words[len(given) :]
        if words[0] == "cd":
            self._patch.chdir(words[1])
            return Done(0, "", "")
        assert words[0] == "prompt-evaluator", f"no way to run this here: {line}"
        if words[1] in ("serve", "work"):
            return self._start(words[1])
        with self._patch.context() as patch:
            for name, value in given.items():
                patch.setenv(name, value)
            done = self._invoke([known(word) for word in words[1:]])
        if target is not None:
            Path(target).write_text(done.out, encoding="utf-8")
        return done

    def close(self) -> None:
        """End what runs on."""
        for worker in self._workers:
            worker.terminate()
            try:
                worker.wait(60)
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait(60)
        if self.server is not None:
            self.server.close()

    def _start(self, command: str) -> Done:
        """Start a server at any free port, or a worker."""
        if command == "work":
            self._workers.append(subprocess.Popen([sys.executable, "-m", "prompt_evaluator", "work"]))
            return Done(0, "", "")
        assert self.server is None, "a page starts one server"
        self.server = Served(Path.cwd(), "--port", "0", environment=os.environ)
        return Done(0, "", self.server.log)

    def _curl(self, line: str) -> Done:
        """Run a line with `curl`, which ends with code 22 where the server refuses."""
        assert self.server is not None, "the page has not started a server"
        there = line.replace(SERVER, self.server.address).replace("curl ", "curl -sS --fail-with-body ", 1)
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", there], capture_output=True, text=True, timeout=60, check=False
        )
        return Done(done.returncode, f"{done.stdout}\n", done.stderr)

    def _invoke(self, arguments: list[str]) -> Done:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with self._patch.context() as patch:
            patch.setattr(sys, "argv", ["prompt-evaluator", *arguments])
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
        return Done(code, _written(out), _written(err))


def _assignments(words: list[str]) -> int:
    """How many variables are set before the command."""
    return next(at for at, word in enumerate(words) if not re.match(r"[A-Z_]+=", word))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def _expanded(words: list[str]) -> Iterator[str]:
    for word in words:
        found = sorted(glob(word)) if "*" in word and " " not in word and "=" not in word else []  # noqa: PTH207 - a shell's
        yield from found or [word]


def normal(line: str) -> str:
    """A line without what differs from one day to the next: ids, numbers, times, widths of columns."""
    plain = _DURATION.sub("<n>", _NUMBER.sub("<n>", _ID.sub("<id>", line)))
    return re.sub(r" {2,}", "  ", plain).strip()


def missing_line(claimed: str, printed: str) -> str | None:
    """The first claimed line that is not printed after those before it; None where all are."""
    rest = map(normal, printed.splitlines())
    return next((line for line in claimed.splitlines() if line.strip() and normal(line) not in rest), None)


def _with_examples_of(old: str, new: str) -> str:
    """The new line with the ids and times of the old one, which the text around it may speak of."""
    for kind in (_ID, _TIME):
        examples = iter(kind.findall(old))
        new = kind.sub(lambda found, examples=examples: next(examples, found[0]), new)  # type: ignore[misc]
    return new


def renewed(claimed: str, printed: str) -> str:
    """What a shortened block says, as it is printed now: each line becomes the nearest that follows."""
    lines, rest = [], printed.splitlines()
    for line in claimed.splitlines():
        near = get_close_matches(normal(line), map(normal, rest), n=1, cutoff=0.4) if line.strip() else []
        if near:
            at = [normal(each) for each in rest].index(near[0])
            lines.append(_with_examples_of(line, rest[at].rstrip()))
            rest = rest[at + 1 :]
        elif not line.strip():
            lines.append("")
    return "\n".join(lines) + "\n"
