"""Every command that pages, messages and scripts name exists, with its options."""

from __future__ import annotations

import re
from pathlib import Path

import click

from prompt_evaluator.cli.main import cli

ROOT = Path(__file__).parents[2]
LOOKED_AT = ("src", "examples", "evals", ".ci", "action.yml", ".pre-commit-hooks.yaml", "Makefile")
_NAMED = re.compile(r"(?:[`>\"'/]|\bsay |\brun: |^)prompt-evaluator (?P<words>[a-z]+[^\n`<|;&\"]*)", re.MULTILINE)
_TEMPLATE = re.compile(r"\{%.*?%\}")
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def unknown(words: str) -> str | None:
    """The first word or option that the command line does not know."""
    command: click.Command = cli
    context = click.Context(cli)
    rest = words.split()
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        if (found := command.get_command(context, name)) is None:
            return name
        command = found
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    return next((name for name in _OPTION.findall(" ".join(rest)) if name not in known), None)


def test_every_command_that_a_page_or_a_script_names_exists() -> None:
    files = [path for name in LOOKED_AT for path in ([ROOT / name] if (ROOT / name).is_file() else _under(ROOT / name))]
    named = {(str(path), found["words"]) for path in files for found in _NAMED.finditer(_text(path))}

    assert {entry: word for entry in named if (word := unknown(entry[1]))} == {}
    assert {".html", ".py", ".md"} <= {Path(path).suffix for path, _ in named}


def test_a_command_or_an_option_that_is_gone_is_found() -> None:
    assert unknown("chart RUN --kind slices") == "chart"
    assert unknown("runs list --where a=b --shape") == "--shape"
    assert unknown("evals gate --allow x") is None


def _text(path: Path) -> str:
    return _TEMPLATE.sub("", path.read_text(encoding="utf-8"))


def _under(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix in {".py", ".html", ".js", ".md", ".yml", ".yaml", ".sh"}]
