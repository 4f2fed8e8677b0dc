"""A whole run gives the same results wherever its items are worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from encoding_engine import EncodingEngine
from workspace import timeless

from prompt_evaluator.app import wiring
from prompt_evaluator.app.evaluate import evaluate_dataset
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.model.options import EvaluateOptions
from prompt_evaluator.model.run_limits import RunLimits

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.engines.local import LocalEngine
    from prompt_evaluator.model.outcome import Outcome
    from prompt_evaluator.model.work import WorkItem
    from prompt_evaluator.ports.working import Items, MakeWorker, Results


class AnswersFirst(EncodingEngine):
    """Ends every item with its answer the first time, as one that hands in questions by the batch does."""

    async def run(self, items: Items, make_worker: MakeWorker, results: Results) -> None:
        await super().run(_AnswersFirst(items), make_worker, results)


class _AnswersFirst:
    def __init__(self, items: Items) -> None:
        self._items = items
        self._seen: set[tuple[str, int]] = set()

    async def next(self) -> WorkItem | None:
        item = await self._items.next()
        if item is None or (item.case.id, item.sample) in self._seen:
            return item
        self._seen.add((item.case.id, item.sample))
        return msgspec.structs.replace(item, until="answer")


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvaluateOptions:
    monkeypatch.chdir(tmp_path)
    lines: list[dict[str, Any]] = [
        {"id": f"case-{at}", "input": f"Question {at}?", "metadata": {"at": at}} for at in range(12)
    ]
    lines[3] |= {"checks": [{"metric": "length", "max_words": 2}], "reference": "x"}
    (tmp_path / "d.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    (tmp_path / "p.txt").write_text("Answer.")
    return EvaluateOptions(
        dataset=tmp_path / "d.jsonl", system_prompt=tmp_path / "p.txt", num_samples=3, seed=7, attempts=2
    )


async def evaluate(options: EvaluateOptions, limits: RunLimits | None = None) -> Outcome:
    async with Workspace(read_settings()) as workspace:
        return await evaluate_dataset(options, Session(workspace=workspace, limits=limits or RunLimits()))


def plain(outcome: Outcome) -> Any:
    """The main artifact without what differs from run to run."""
    return timeless(msgspec.json.decode(outcome.main_file.read_bytes()))


@pytest.mark.parametrize("engine", [EncodingEngine, AnswersFirst])
async def test_a_run_comes_to_the_same_with_another_engine(
    options: EvaluateOptions, engine: type[LocalEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    local = plain(await evaluate(options))
    monkeypatch.setattr(wiring, "LocalEngine", engine)

    outcome = await evaluate(options)

    assert outcome.record.status == "completed"
    assert plain(outcome) == local


async def test_what_one_engine_has_left_another_one_finishes(
    options: EvaluateOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = plain(await evaluate(options))
    stopped = await evaluate(options, RunLimits(max_calls=20))
    assert stopped.record.status == "aborted"
    monkeypatch.setattr(wiring, "LocalEngine", AnswersFirst)

    async with Workspace(read_settings()) as workspace:
        outcome = await resume_run(stopped.record.plan.run_id, Session(workspace=workspace))

    assert outcome.record.status == "completed"
    assert plain(outcome) == whole
