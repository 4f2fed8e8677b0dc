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


def test_a_changed_file_is_refused_with_both_hashes_and_a_missing_one_with_its_name_before_any_call(
    online: Workspace, service: ChatService, interrupted: str
) -> None:
    paid = service.paid
    for name in ("data.jsonl", "prompt.txt", "rubric.yaml"):
        path = online.folder / name
        before = path.read_bytes()
        path.write_bytes(before + b"\n")
        changed = online.run("resume", interrupted)
        path.unlink()
        gone = online.run("resume", interrupted)
        path.write_bytes(before)

        assert (changed.code, gone.code) == (2, 2), name
        for content in (before, before + b"\n"):
            assert f"sha256:{hashlib.sha256(content).hexdigest()}" in changed.err
        assert str(path) in changed.err
        assert "is now unreadable" in gone.err
        assert name in gone.err
    assert service.paid == paid

    assert online.run("resume", interrupted).code == 0


def test_a_model_that_moved_to_another_address_is_refused(online: Workspace, interrupted: str) -> None:
    online.environment["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"

    refused = online.run("resume", interrupted)

    assert refused.code == 2
    assert "http://127.0.0.1:9/v1" in refused.err


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
