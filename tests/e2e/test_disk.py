"""Disks that are full, files that are in the way, and stores that are none."""

from __future__ import annotations

import resource
import shutil
from typing import TYPE_CHECKING

import pytest
from workspace import REAL, Workspace, until

if TYPE_CHECKING:
    from chat_service import ChatService

KILO = 1024


def _limited(kilobytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * KILO, kilobytes * KILO))


@pytest.mark.parametrize("kilobytes", [8, 200, 700])
def test_a_full_disk_is_a_sentence_and_what_was_paid_for_is_not_paid_for_again(
    online: Workspace, service: ChatService, kilobytes: int
) -> None:
    online.cases(100)
    service.set(padding=10_000)

    done = online.evaluate(*REAL, "-n", "2", "--seed", "1", "-j", "8", before=lambda: _limited(kilobytes))

    assert done.code == 3
    assert "Error: " in done.err
    paid = service.paid
    if not list((online.folder / "runs").glob("*")):
        assert not paid  # it ended before there was a run
        return
    run_id = online.the_run()
    kept = len(online.units(run_id))
    assert paid - kept <= 8 + 512
    again = online.run("resume", run_id, "--json")
    assert again.code == 0
    assert service.paid - paid == 400 - kept
    assert again.artifact["status"] == "completed"


def test_an_output_folder_that_is_a_file_is_refused_before_any_call(online: Workspace, service: ChatService) -> None:
    online.write("runs", "I am a file.")

    done = online.evaluate(*REAL)

    assert done.code == 3
    assert "cannot be written" in done.err
    assert service.paid == 0
    assert (online.folder / "runs").read_text("utf-8") == "I am a file."


def test_a_folder_that_disappears_stops_the_run_before_everything_is_paid_for(
    online: Workspace, service: ChatService
) -> None:
    online.cases(100)
    service.set(latency=0.05)
    started = online.start_evaluation(*REAL, "-n", "1", "-j", "4")
    run_id = started.wait_until_under_way()
    until(lambda: service.paid > 20)
    shutil.rmtree(online.folder / "runs" / run_id)

    done = started.finish()

    assert done.code == 3
    assert "cannot be written" in done.err
    assert service.paid < 100
    service.set(latency=0)
    again = online.run("resume", run_id, "--json")
    assert again.code == 0
    assert len(list((online.folder / "runs" / run_id).glob("test_case_*.json"))) == 100
    assert service.paid <= 200 + 8


def test_an_unreadable_index_is_put_aside(offline: Workspace) -> None:
    offline.write("runs/index.json", b'{"runs": [')

    done = offline.evaluate()

    assert done.code == 0
    assert [entry["run_id"] for entry in offline.index()] == [done.run_id]
    assert (offline.folder / "runs/index.unreadable.json").read_bytes() == b'{"runs": ['
