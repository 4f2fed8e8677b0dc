"""A store with something of everything that belongs to runs, and what it answers."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import labelling
import msgspec
from labelling import RUN, WHEN, add_run

from prompt_evaluator.app import outcomes
from prompt_evaluator.model import Label, Unit
from prompt_evaluator.model.labelling import Drawn, LabelQueue
from prompt_evaluator.model.release import Baseline, Verdict
from prompt_evaluator.store import Store
from prompt_evaluator.store.label_queues import Turn

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "5a1cf6b8-0c9f-4b0e-8a39-2d9d8a5f3c11"
RUNS = (RUN, OTHER)


def fill_store(location: Path | str, folder: Path) -> None:
    """Two runs with results, labels, queues, verdicts, baselines and views; and what belongs to a server."""
    with closing(Store.open(location)) as store:
        for run_id in RUNS:
            add_run(store, run_id)
            rebuild(store, run_id, folder)
            store.add_labels([label(run_id, value) for value in (2.0, 4.0)])
            store.add_verdict(Verdict(run_id=run_id, verdict="pass", created_at=WHEN, policy={"a": 1}, reasons=("b",)))
            add_queue(store, run_id)
        store.describe_run(RUN, lambda old: old._replace(tags={"team": "sök ☂"}, note="a note"))
        store.pin(Baseline(name="main", run_id=RUN, pinned_at=WHEN, note="why"))
        store.enqueue({"secret": "of a server"}, requested_at=WHEN)


def rebuild(store: Store, run_id: str, folder: Path) -> None:
    record = store.run(run_id)
    plan = msgspec.structs.replace(record.plan, output_dir=str(folder))
    store.replace_plan(plan)
    outcomes.rebuild(store, msgspec.structs.replace(record, plan=plan))


def label(run_id: str, value: float) -> Label:
    return Label(
        run_id=run_id,
        case_id="refund",
        sample=0,
        metric="correct",
        value=value,
        reviewer="anna",
        created_at=WHEN,
        answer_hash=labelling.answer_hash("refund", 0),
        judge_seen=False,
    )


def add_queue(store: Store, run_id: str) -> LabelQueue:
    """A queue of three samples: one labelled, one skipped, one reserved."""
    queue = LabelQueue(
        id=0,
        run_id=run_id,
        metric="correct",
        draw="random",
        seed=7,
        size=3,
        population=4,
        created_at=WHEN,
        created_by="anna",
    )
    made = store.add_queue(queue, [Drawn(0, 0, 0, 0.5), Drawn(0, 1, 1, None), Drawn(1, 0, 0, 0.25)])
    turn = Turn("anna", WHEN, "2026-01-31T12:10:00.000Z")
    first = store.reserve_item(made.id, turn)
    assert first is not None
    store.skip_item(first, turn)
    assert store.reserve_item(made.id, turn) is not None
    return made


def add_units(location: Path | str, run_id: str, count: int) -> None:
    """Many more units of one case, so that copying takes several steps."""
    with closing(Store.open(location)) as store:
        writer = store.writer(run_id)
        for at in range(count):
            name = f"more {at}".encode()
            writer.put(Unit(case_id="refund", name=name, kind="reply", sample=0, ok=True, data=b"{}"))
        writer.close()


def everything_of(location: Path | str, run_id: str) -> dict[str, Any]:
    """All that a store answers about a run."""
    with closing(Store.open(location)) as store:
        queues = store.label_progress(run_id)
        cases = list(store.case_ids(run_id))
        return {
            "record": store.run(run_id),
            "line": store.run_line(run_id),
            "cases": [store.case_detail(run_id, case_id) for case_id in cases],
            "units": store.units(run_id, ["", *cases]),
            "labels": store.labels(run_id),
            "queues": queues,
            "last": [store.last_item(each.queue.id, "anna") for each in queues],
            "verdicts": store.verdicts(run_id),
        }
