"""`store migrate`, `check` and `copy` in a project: a run goes on in another store as if it had always been there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from stores import sql
from workspace import REAL, timeless, until

from prompt_evaluator.store.schema import HEAD

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Workspace

FILE = ".prompt_evaluator/store.db"
AT_ONCE = 4


@pytest.mark.parametrize("to_server", [True, False], ids=["to a server", "from a server"])
def test_a_killed_run_is_copied_resumed_there_and_pays_only_for_what_is_missing(
    online: Workspace, service: ChatService, database: str, *, to_server: bool
) -> None:
    source, target = (FILE, database) if to_server else (database, FILE)
    online.configure(store=source)
    online.cases(20)
    expected = online.evaluate(*REAL, "-n", "2", "--seed", "7")
    cost = service.paid
    service.set(latency=0.2)
    started = online.start_evaluation(*REAL, "-n", "2", "--seed", "7", "-j", str(AT_ONCE))
    run_id = started.wait_until_under_way()
    until(lambda: service.paid - cost > 25)
    service.set(hold=True)
    busy = online.run("store", "copy", source, target)
    started.kill()
    service.set(latency=0, hold=False)

    copied = online.run("store", "copy", source, target)
    compared = [online.run("compare", expected.run_id, expected.run_id, "--json").out]
    shown = [online.run("runs", "show", expected.run_id, "--json").out]
    online.configure(store=target)
    compared.append(online.run("compare", expected.run_id, expected.run_id, "--json").out)
    shown.append(online.run("runs", "show", expected.run_id, "--json").out)
    before = service.paid
    done = online.run("resume", run_id, "--json")

    assert busy.code == 1
    assert f"Run {run_id} was not copied: it is in progress, made by process {started.process.pid}" in busy.words
    assert copied.code == 0
    assert "Copied 1 run with" in copied.words
    assert "1 run was already there, and equal." in copied.words
    assert shown[0] == shown[1]
    assert compared[0] == compared[1]
    assert done.code == 0
    assert timeless(done.artifact) == timeless(expected.artifact)
    assert 0 < service.paid - before < cost - 10


def test_the_commands_say_what_they_did(offline: Workspace, database: str) -> None:
    run_id = offline.evaluate("-n", "1").run_id
    empty = offline.run("store", "migrate", "--store", database)

    current = offline.run("store", "migrate")
    copied = offline.run("store", "copy", FILE, database, "--run", run_id[:8], "--json").json
    sound = offline.run("store", "check", "--store", database, "--deep")
    sql(database, "DELETE FROM case_results")
    damaged = offline.run("store", "check", "--store", database, "--json")
    sql(database, "UPDATE alembic_version SET version_num = '0007'")
    outdated = offline.run("store", "check", "--store", database)
    offline.configure(store=database)
    refused = offline.run("runs", "list")
    ill = offline.run("doctor")

    assert empty.words.endswith(f"was empty, and is a store now: schema revision {HEAD}.")
    assert current.words.endswith(f"{FILE} is up to date: schema revision {HEAD}.")
    assert [(run["run_id"], run["outcome"]) for run in copied["runs"]] == [(run_id, "copied")]
    assert (sound.code, sound.words.endswith("No problems found.")) == (0, True)
    assert damaged.code == outdated.code == 1
    assert f"`prompt-evaluator runs rebuild {run_id}`" in damaged.json["findings"][0]["advice"]
    assert "Run `prompt-evaluator store migrate`" in outdated.words
    assert (refused.code, ill.code) == (2, 2)
    assert "Run `prompt-evaluator store migrate`" in refused.err
    assert "Run `prompt-evaluator store migrate`" in ill.words
