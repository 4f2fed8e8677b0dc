"""`prompt-evaluator generate`: one prompt, one answer."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest
from chat_service import ChatService, running_service
from workspace import COMMAND, Done, Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def service() -> Iterator[ChatService]:
    with running_service() as service:
        service.set(keep=True)
        yield service


def piped(project: Workspace, data: bytes, *arguments: str | bytes) -> Done:
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=project.folder,
        env=project.environment,
        input=data,
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_an_answer_of_the_mock_is_printed_and_called_synthetic_on_standard_error(project: Workspace) -> None:
    done = project.run("generate", "What is tea?")

    assert done.code == 0
    assert done.out.strip()
    assert "synthetic" not in done.out
    assert done.err == "synthetic: made up offline by the mock\n"


def test_a_prompt_may_be_piped_in(project: Workspace) -> None:
    assert piped(project, b"What is tea?", "generate", "--seed", "1").out == (
        project.run("generate", "What is tea?", "--seed", "1").out
    )


@pytest.mark.parametrize("data", [b"", b" \n"], ids=["nothing", "blanks"])
def test_an_empty_prompt_is_wrong_usage(project: Workspace, data: bytes) -> None:
    done = piped(project, data, "generate")

    assert done.code == 2
    assert "The prompt is empty. Pass it as an argument, or pipe it in." in done.err
    assert done.out == ""


def test_an_empty_argument_does_not_wait_for_standard_input(project: Workspace) -> None:
    assert piped(project, b"What is tea?", "generate", "").code == 2


def test_bytes_that_are_not_text_are_refused(project: Workspace) -> None:
    from_input = piped(project, b"caf\xe9", "generate")
    from_argument = piped(project, b"", "generate", b"caf\xe9")

    assert from_input.code == from_argument.code == 2
    assert "not UTF-8" in from_input.err
    assert "The prompt is not UTF-8." in from_argument.err


def test_json_is_the_whole_answer(project: Workspace) -> None:
    done = project.run("generate", "What is tea?", "--json")

    answer = json.loads(done.out)
    assert answer["text"]
    assert answer["synthetic"] is True
    assert answer["usage"]["output_tokens"] > 0
    assert done.err == ""


def test_model_and_the_rest_come_from_the_settings_unless_given(project: Workspace, service: ChatService) -> None:
    project.environment.update(service.environment)
    project.write("told.txt", "Be brief.")
    project.configure(
        generator={"model": "openai/test", "temperature": 0.1, "max_tokens": 9, "seed": 4},
        prompt_templates={"told": "told.txt"},
    )

    project.run("generate", "one", "-s", "told")
    project.run("generate", "two", "-m", "openai/other", "-t", "0.5", "--max-tokens", "7", "--seed", "3")

    first, second = service.kept
    assert first["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "one"}]
    assert (first["model"], first["temperature"], first["max_completion_tokens"], first["seed"]) == ("test", 0.1, 9, 4)
    assert [message["role"] for message in second["messages"]] == ["user"]
    assert (second["model"], second["temperature"], second["max_completion_tokens"]) == ("other", 0.5, 7)
    assert not (project.folder / ".prompt_evaluator").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("-m", "openia/x"), "Did you mean 'openai'?"),
        (("-m", "openai/x"), "OPENAI_API_KEY"),
        (("-s", "missing.txt"), "file not found"),
        (("-s", "latin.txt"), "not UTF-8"),
    ],
    ids=["provider", "key", "no file", "no text"],
)
def test_what_cannot_be_asked_is_a_sentence(project: Workspace, arguments: tuple[str, ...], sentence: str) -> None:
    project.write("latin.txt", b"caf\xe9")

    done = project.run("generate", "hello", *arguments)

    assert done.code == 2
    assert sentence in done.err


def test_a_service_that_fails_is_a_sentence_and_exit_3(project: Workspace, service: ChatService) -> None:
    service.set(rules=[{"status": 400, "message": "no such thing"}])
    project.environment.update(service.environment)

    done = project.run("generate", "hello", "-m", "openai/test")

    assert done.code == 3
    assert "no such thing" in done.err
