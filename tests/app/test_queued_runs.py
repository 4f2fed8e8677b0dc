"""A run that is planned and waits for a worker: seen as such, not counted, and begun like any other."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner

from prompt_evaluator.app.evaluate import plan_evaluation
from prompt_evaluator.app.outcomes import rebuild
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.app.run_queries import run_line, show_run
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.watch import watch_run
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.cli.main import cli
from prompt_evaluator.errors import InputNotFoundError
from prompt_evaluator.model.options import EvaluateOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from prompt_evaluator.model import RunRecord


@pytest.fixture
async def session(here: Path) -> AsyncIterator[Session]:
    (here / "data.jsonl").write_text('{"id": "a", "input": "one"}\n{"id": "b", "input": "two"}\n')
    async with Workspace(read_settings()) as workspace:
        yield Session(workspace=workspace)


async def plan(session: Session, **options: object) -> RunRecord:
    wanted = msgspec.structs.replace(
        EvaluateOptions(dataset=Path("data.jsonl"), generator_model="mock/default", num_samples=2), **options
    )
    return await plan_evaluation(wanted, session, queued=True)


def said(*arguments: str) -> str:
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.replace("\\\n", " ").split())


async def test_a_queued_run_is_stored_with_its_cases_and_without_an_owner(session: Session) -> None:
    record = await plan(session)

    stored = session.store.run(record.plan.run_id)
    assert (stored.status, stored.stop_reason) == ("queued", None)
    assert list(session.store.case_ids(record.plan.run_id)) == ["a", "b"]
    assert session.store.owner(record.plan.run_id) is None
    assert run_line(session.settings, record.plan.run_id).status == "queued"


async def test_what_could_not_start_is_refused_instead_of_queued(session: Session) -> None:
    with pytest.raises(InputNotFoundError):
        await plan(session, dataset=Path("missing.jsonl"))

    assert session.store.runs() == []


async def test_a_queued_run_is_begun_as_an_aborted_one_is_resumed(session: Session) -> None:
    record = await plan(session)

    outcome = await resume_run(record.plan.run_id, session)

    stored = session.store.run(record.plan.run_id)
    assert outcome.record.status == stored.status == "completed"
    assert stored.started_at > record.started_at, "the time it waited is not part of the run"


async def test_a_run_with_results_that_waits_again_keeps_its_start(session: Session) -> None:
    record = await plan(session)
    await resume_run(record.plan.run_id, session)
    before = session.store.run(record.plan.run_id).started_at
    session.store.requeue(record.plan.run_id, {}, requested_at="1")

    await resume_run(record.plan.run_id, session)

    assert session.store.run(record.plan.run_id).started_at == before


async def test_a_queued_run_is_listed_and_shown_as_queued(session: Session) -> None:
    run_id = (await plan(session)).plan.run_id

    assert " queued " in said("runs", "list")
    shown = said("runs", "show", run_id)
    assert f"Run {run_id} is queued: 2 cases × 2 samples of mock/default, judged by" in shown
    assert "Waiting in the queue: the next free worker of a server starts it." in shown
    assert f"prompt-evaluator runs watch {run_id}" in shown
    assert show_run(session.settings, run_id).record.status == "queued"


async def test_the_last_run_is_not_one_that_waits(session: Session) -> None:
    first = (await plan(session)).plan.run_id
    await resume_run(first, session)
    await plan(session)

    assert session.store.full_id("@last") == first


async def test_a_queued_run_that_is_rebuilt_still_waits(session: Session) -> None:
    record = await plan(session)
    session.store.enqueue({}, requested_at="1", run_id=record.plan.run_id)

    rebuild(session.store, record)

    assert session.store.run(record.plan.run_id).status == "queued"
    assert [each.run_id for each in session.store.queue("waiting")] == [record.plan.run_id]


async def test_a_queued_run_is_watched_until_it_has_ended(session: Session) -> None:
    run_id = (await plan(session)).plan.run_id
    seen, pauses = [], []

    def pause(_seconds: float) -> None:
        pauses.append(1)
        if len(pauses) == 4:
            session.store.start_run(run_id, "2026-01-31T12:00:00Z")
            session.store.update_run(run_id, status="completed", ended_at="2026-01-31T12:00:01Z")

    watched = watch_run(session.settings, run_id, lambda picture: seen.append(picture.record.status), pause=pause)

    assert seen == ["queued"] * 4
    assert (watched.outcome.record.status, watched.interrupted) == ("completed", False)


async def test_nothing_is_compared_with_a_run_that_waits_without_saying_so(session: Session) -> None:
    first = (await plan(session)).plan.run_id
    await resume_run(first, session)
    second = (await plan(session)).plan.run_id

    with closing(session.store):
        assert session.store.compared(second).facts.status == "queued"
