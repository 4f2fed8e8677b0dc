"""A run is continued with what it was made from, or not at all."""

from __future__ import annotations

import hashlib
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from workspace import REAL, Workspace, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from chat_service import ChatService

RUBRIC = """\
metrics:
  - name: clarity
    description: Is it clear?
    min_score: 0
    max_score: 10
flags:
  - name: rude
    description: Is it rude?
"""
SETTINGS = (*REAL, "-n", "1", "--rubric", "rubric.yaml", "--case-ids", "case-000,case-002", "--seed", "3")


@pytest.fixture
def interrupted(online: Workspace, service: ChatService) -> str:
    """A run that was stopped before anything of it was finished."""
    online.write("rubric.yaml", RUBRIC)
    service.set(hold=True)
    started = online.start_evaluation(*SETTINGS)
    run_id = started.wait_until_under_way()
    until(lambda: service.paid > 0)
    started.process.send_signal(signal.SIGINT)
    started.kill()
    service.set(hold=False)
    return run_id


@pytest.mark.parametrize("name", ["data.jsonl", "prompt.txt", "rubric.yaml"])
def test_a_changed_file_is_refused_with_both_hashes_before_any_call(
    online: Workspace, service: ChatService, interrupted: str, name: str
) -> None:
    path = online.folder / name
    before, paid = path.read_bytes(), service.paid
    path.write_bytes(before + b"\n")

    refused = online.run("resume", interrupted)

    assert refused.code == 2
    for content in (before, before + b"\n"):
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" in refused.err
    assert str(path) in refused.err
    assert service.paid == paid

    path.write_bytes(before)

    assert online.run("resume", interrupted).code == 0


@pytest.mark.parametrize("name", ["data.jsonl", "prompt.txt", "rubric.yaml"])
def test_a_file_that_is_gone_is_refused(online: Workspace, service: ChatService, interrupted: str, name: str) -> None:
    paid = service.paid
    (online.folder / name).unlink()

    refused = online.run("resume", interrupted)

    assert refused.code == 2
    assert "is now unreadable" in refused.err
    assert name in refused.err
    assert service.paid == paid


def _more_samples(_workspace: Workspace) -> tuple[str, ...]:
    return ("-n", "2")


def _other_model(_workspace: Workspace) -> tuple[str, ...]:
    return ("--generator-model", "openai/other")


def _hotter(_workspace: Workspace) -> tuple[str, ...]:
    return ("--temperature", "1.0")


def _other_rubric(_workspace: Workspace) -> tuple[str, ...]:
    return ("--rubric", "default")


def _other_cases(_workspace: Workspace) -> tuple[str, ...]:
    return ("--case-ids", "case-000")


def _other_judge(_workspace: Workspace) -> tuple[str, ...]:
    return ("--judge-repeats", "2")


def _other_metrics(_workspace: Workspace) -> tuple[str, ...]:
    return ("--metrics", "exact_match")


def _other_reducers(_workspace: Workspace) -> tuple[str, ...]:
    return ("--reducers", "pass@1")


def _other_prompt(workspace: Workspace) -> tuple[str, ...]:
    workspace.write("other.txt", "Shout.\n")
    return ("-s", "other.txt")


@pytest.mark.parametrize(
    "change",
    [
        *(_more_samples, _hotter, _other_rubric, _other_cases),
        *(_other_judge, _other_metrics, _other_reducers),
    ],
)
def test_other_settings_are_refused_and_the_same_are_accepted(
    online: Workspace, service: ChatService, interrupted: str, change: Callable[[Workspace], tuple[str, ...]]
) -> None:
    paid = service.paid

    refused = online.evaluate(*SETTINGS, *change(online), "--resume", interrupted)

    assert refused.code == 2
    assert "was started with different settings" in refused.err
    assert service.paid == paid

    accepted = online.evaluate(*SETTINGS, "--resume", interrupted)

    assert accepted.code == 0
    assert accepted.run_id == interrupted
    assert service.paid - paid == 4


@pytest.mark.parametrize("change", [_other_model, _other_prompt])
def test_another_model_or_prompt_is_refused(
    online: Workspace, service: ChatService, interrupted: str, change: Callable[[Workspace], tuple[str, ...]]
) -> None:
    paid = service.paid

    refused = online.run("evaluate-dataset", "--resume", interrupted, *change(online))

    assert refused.code == 2
    assert "was started with different settings" in refused.err
    assert service.paid == paid


def test_one_other_setting_is_refused_instead_of_ignored(online: Workspace, interrupted: str) -> None:
    refused = online.run("evaluate-dataset", "--resume", interrupted, "-n", "9")

    assert refused.code == 2
    assert "--num-samples was 1 and is now 9" in refused.err
    assert online.run("evaluate-dataset", "--resume", interrupted).code == 0


def test_a_model_that_moved_to_another_address_is_refused(online: Workspace, interrupted: str) -> None:
    online.environment["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"

    refused = online.run("resume", interrupted)

    assert refused.code == 2
    assert "http://127.0.0.1:9/v1" in refused.err


def test_a_run_that_does_not_exist_is_refused_with_those_that_do(online: Workspace, interrupted: str) -> None:
    wrong = interrupted[:-1] + ("0" if interrupted[-1] != "0" else "1")

    for command in ("resume", "score"):
        refused = online.run(command, wrong)
        assert refused.code == 2
        assert interrupted in refused.err


def test_the_start_of_an_id_is_enough(online: Workspace, interrupted: str) -> None:
    assert online.run("resume", interrupted[:8]).code == 0


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("generation", "started by another version"), ("judgement", "how this version applies them")],
)
def test_a_run_of_a_version_that_asked_in_another_way_is_refused_before_any_call(
    online: Workspace, service: ChatService, kind: str, sentence: str
) -> None:
    stopped = online.evaluate(*REAL, "-n", "2", "--seed", "1", "--max-calls", "9", "-j", "1")
    paid = service.paid
    with closing(sqlite3.connect(online.folder / ".prompt_evaluator/store.db")) as store:
        store.execute("UPDATE units SET name = randomblob(16) WHERE kind = ?", (kind,))
        store.commit()

    refused = online.run("resume", stopped.run_id)

    assert refused.code == 2
    assert sentence in refused.err
    assert service.paid == paid
    assert online.artifact(stopped.run_id)["status"] == "aborted"
