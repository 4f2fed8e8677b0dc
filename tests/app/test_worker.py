"""A worker takes runs from the queue, and says what becomes of them."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import msgspec
import pytest
from workspace import until

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.evaluate import plan_evaluation
from prompt_evaluator.app.serving.queueing import QueuedRun
from prompt_evaluator.app.serving.run_answers import WORKER_STOPPED, run_answer
from prompt_evaluator.app.serving.run_rows import run_table
from prompt_evaluator.app.serving.worker import Worker
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.model.api import RunTableQuery
from prompt_evaluator.model.options import EvaluateOptions
from prompt_evaluator.store.artifacts import RunFolder


async def test_a_run_that_cannot_go_on_is_ended_with_its_reason_in_the_queue_the_run_and_the_log(
    here: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    (here / "data.jsonl").write_text('{"id": "a", "input": "one"}\n')
    async with Workspace(read_settings()) as workspace:
        options = EvaluateOptions(dataset=Path("data.jsonl"), generator_model="mock/default", num_samples=1)
        record = await plan_evaluation(options, Session(workspace=workspace), queued=True)
        run_id, store = record.plan.run_id, workspace.store
        wanted = QueuedRun(run_id=run_id, asked_by="anna")
        store.enqueue(msgspec.to_builtins(wanted), requested_at=now(), run_id=run_id)
        RunFolder(record).path.write_text("in the way of the run's folder")
        worker = Worker(workspace, runs_at_once=1, resumes=True)

        working = asyncio.create_task(worker.work())
        await asyncio.to_thread(until, lambda: bool(store.queue("failed")))
        worker.stop()
        await working

        (request,), reason = store.queue(), "The run's files cannot be written"
        assert reason in (request.error or "")
        assert reason in (store.run(run_id).stop_reason or "")
        assert f"Run {run_id} ends here: {reason}" in caplog.text


@pytest.mark.parametrize("is_taken", [False, True])
async def test_a_run_whose_worker_was_stopped_is_shown_as_queued_and_followed_while_its_request_is_open(
    here: Path, *, is_taken: bool
) -> None:
    (here / "data.jsonl").write_text('{"id": "a", "input": "one"}\n')
    settings = read_settings()
    async with Workspace(settings) as workspace:
        options = EvaluateOptions(dataset=Path("data.jsonl"), generator_model="mock/default", num_samples=1)
        record = await plan_evaluation(options, Session(workspace=workspace), queued=True)
        run_id, store = record.plan.run_id, workspace.store
        store.update_run(run_id, status="aborted", stop_reason=WORKER_STOPPED)
        before = run_answer(settings, run_id).status
        store.enqueue(msgspec.to_builtins(QueuedRun(run_id=run_id, asked_by="anna")), requested_at=now(), run_id=run_id)
        if is_taken:
            store.take_next(started_at=now())

        answer = run_answer(settings, run_id)
        followed = run_table(
            settings, RunTableQuery(), lambda lines: store.case_problems([each.run_id for each in lines])
        )

        assert before == "aborted"
        assert (answer.status, answer.stop_reason) == ("queued", None)
        assert [run.id for run in followed.unfinished] == [run_id]
