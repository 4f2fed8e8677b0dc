"""The files in examples/server/ name only what exists: commands, settings, variables, extras and addresses."""

from __future__ import annotations

import re
import shlex
import tomllib
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import click
import yaml
from click.testing import CliRunner
from entries import each

from prompt_evaluator.cli.main import cli
from prompt_evaluator.config.settings import SETTINGS
from prompt_evaluator.server.application import all_routes

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "server"
FILES = sorted(path for path in FOLDER.iterdir() if path.is_file())
HOW_TO = ROOT / "docs" / "how-to" / "share-a-server.md"
_VARIABLE = re.compile(r"\bPROMPT_EVALUATOR_[A-Z_]+\b")
_COMMAND = re.compile(r"(?:^|[\s\"/])prompt-evaluator((?:[\s\",]+(?:serve|work|token)\b).*)")
_OTHER_VARIABLES = {"PROMPT_EVALUATOR_CONFIG"}


def _commands(path: Path) -> list[list[str]]:
    """The arguments of every `prompt-evaluator`, in comments, too."""
    text = re.sub(r"\\\n#?", " ", path.read_text(encoding="utf-8"))
    lines = [found[1] for line in text.splitlines() if (found := _COMMAND.search(line))]
    return [shlex.split(re.sub(r"[\[\],\"]", " ", line)) for line in lines]


COMMANDS = [(path.name, arguments) for path in FILES for arguments in _commands(path)]


def test_there_are_examples_with_commands() -> None:
    assert {name for name, _ in COMMANDS} == {"Dockerfile", "docker-compose.yml", "prompt-evaluator.service"}
    assert len(COMMANDS) >= 6


@each(("name", "arguments"), COMMANDS, ids=[f"{name}: {' '.join(said)}" for name, said in COMMANDS])
def test_every_command_can_be_given(name: str, arguments: list[str]) -> None:
    command: click.Command = cli
    rest = list(arguments)
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), rest.pop(0))
        assert found is not None, name
        command = found

    command.make_context("prompt-evaluator", rest)


@each("path", FILES, ids=lambda path: path.name)
def test_every_variable_is_one_of_ours(path: Path) -> None:
    known = {setting.variable for setting in SETTINGS.values()} | _OTHER_VARIABLES

    assert set(_VARIABLE.findall(path.read_text(encoding="utf-8"))) <= known


def test_the_configuration_can_be_used() -> None:
    path = FOLDER / "prompt_evaluator.yaml"

    done = CliRunner().invoke(cli, ["config", "show", "--config", str(path)])

    assert done.exit_code == 0, done.output
    assert "https://evals.example.com" in done.output


def test_the_compose_file_has_a_server_a_worker_and_a_database_without_secrets() -> None:
    compose = yaml.safe_load((FOLDER / "docker-compose.yml").read_text(encoding="utf-8"))
    services: dict[str, Any] = compose["services"]

    assert services.keys() == {"server", "worker", "db"}
    assert compose["volumes"].keys() == {"database", "runs"}
    assert (ROOT / services["server"]["build"]["dockerfile"]).exists()
    assert (FOLDER / services["server"]["build"]["context"]).resolve() == ROOT
    secrets = [
        value
        for service in services.values()
        for name, value in service["environment"].items()
        if name.endswith(("PASSWORD", "KEY"))
    ]
    assert len(secrets) >= 4
    assert all(value.startswith("${") for value in secrets)
    asked = set(re.findall(r"\$\{(\w+)", (FOLDER / "docker-compose.yml").read_text(encoding="utf-8")))
    assert asked == {line.partition("=")[0] for line in _assignments()}


def test_the_example_of_an_environment_has_no_values() -> None:
    assert [line for line in _assignments() if not line.endswith("=")] == []


def _assignments() -> list[str]:
    lines = (FOLDER / "env.example").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_image_has_extras_that_exist_a_user_and_a_check_at_a_route_without_a_token() -> None:
    text = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    extras = re.findall(r"'\.\[(.+)\]'", text)[0].split(",")
    (checked,) = re.findall(r"http://127\.0\.0\.1:8080(/[\w/]+)", text)
    copied = [name for line in re.findall(r"^COPY ([^-].*) \S+$", text, re.MULTILINE) for name in line.split()]

    assert set(extras) <= known.keys()
    assert {route.role for route in all_routes() if route.path == checked} == {None}
    assert re.search(r"^USER [1-9]\d*$", text, re.MULTILINE)
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_unit_is_confined_and_starts_again() -> None:
    unit = RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # names with their capitals
    unit.read(FOLDER / "prompt-evaluator.service", encoding="utf-8")
    service = dict(unit["Service"])

    assert service["Restart"] == "on-failure"
    assert service["User"] != "root"
    assert service["ProtectSystem"] == "strict"
    assert service["NoNewPrivileges"] == "yes"
    assert service["EnvironmentFile"].startswith("/etc/")


def test_the_page_about_sharing_gives_every_route_to_its_role() -> None:
    page = HOW_TO.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| .*? \| (.*) \|$", page, re.MULTILINE))
    wrong = []
    for route in all_routes():
        short = route.path.removeprefix("/api/v1/benchmarks")
        if route.role is None:
            wrong += [route] if not route.changes and "{" not in short and f"`{short}`" not in page else []
        elif route.method == "GET":
            wrong += [route] if route.role != "viewer" and f"`GET {short}`" not in rows[route.role] else []
        elif f"`{route.method} {short}`" not in rows[route.role]:
            wrong.append(route)

    assert wrong == []
    assert "every `GET`" in rows["viewer"]
