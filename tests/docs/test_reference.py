"""The documentation says what the code does."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from entries import each

from prompt_evaluator.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "prompt_evaluator" / "benchmarks" / "README.md"
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")), SHIPPED]
_CODE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def test_the_generated_reference_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@each("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    links = _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))

    broken = [link for link in links if "://" not in link and not _resolves(page, link)]

    assert not broken


def _resolves(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(page: Path) -> set[str]:
    headings = _HEADING.findall(_CODE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _shown_commands() -> Iterator[list[str]]:
    """The arguments of every `prompt-evaluator` in a bash block."""
    for page in PAGES:
        for kind, text in _CODE.findall(page.read_text(encoding="utf-8")):
            if kind == "bash":
                for line in text.replace("\\\n", " ").splitlines():
                    yield from _commands_of(line)


def _commands_of(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if set(word) <= set(";|&<>()"):
            if words and Path(words[0]).name == "prompt-evaluator":
                yield words[1:]
            words = []
        else:
            words.append(word)


COMMANDS = list(_shown_commands())


def test_the_pages_show_commands() -> None:
    assert len(COMMANDS) >= 5


@each("arguments", COMMANDS, ids=" ".join)
def test_every_shown_command_can_be_given(arguments: list[str]) -> None:
    command: click.Command = cli
    rest = list(arguments)
    context = click.Context(cli)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest.pop(0))
        assert found is not None
        command = found

    with suppress(click.exceptions.Exit):  # --help and --version end so; what is wrong raises a UsageError
        command.make_context("prompt-evaluator", rest)
