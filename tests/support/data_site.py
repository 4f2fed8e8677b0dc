"""A folder with datasets in several versions, broken files, and a release harness with a history, for pages about them.

Runs are written straight into result rows, so that making it takes less than a second.
"""

from __future__ import annotations

import json
from contextlib import closing
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from case_results import WHEN, plan_of
from harness_runs import evaluation, harness_run, summary
from hostile import HTML
from seeded_site import settings_of, write_files

from prompt_evaluator.app.stores import open_store
from prompt_evaluator.datasets import open_dataset
from prompt_evaluator.harness.results import add_run
from prompt_evaluator.model import DatasetRef, RunRecord, Target, TestCase
from prompt_evaluator.model.harness import HarnessAttempt

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.model.harness import HarnessEvaluation, HarnessRun
    from prompt_evaluator.store import Store

CASES = 48
CONFIGS = {"baseline": 0.9, "low-temperature": 0.8, "fallback-router": 0.95}
HOSTILE = tuple(HTML.values())
_TASKS = 24
_RUNS = 9


class DataSite(NamedTuple):
    """The folder, and its runs."""

    folder: Path
    newest: str
    """The newest run of `support`, whose file has changed since its first run."""
    stored: str
    """The run in the store of one of its configurations."""


def make_data_site(folder: Path, *, hostile: bool = True) -> DataSite:
    """Fill an empty folder. Pictures are taken without texts that only a test wants to see."""
    write_files(folder, CASES)
    with closing(open_store(settings_of(folder))) as store:
        _run(store, folder, "11111111-0000-4000-8000-000000000000", "2026-11-10T09:30:00.000Z")
        dataset = folder / "benchmarks/support.jsonl"
        dataset.write_bytes(dataset.read_bytes().replace(b"a refund for order 40", b"my money back for order 40"))
        _run(store, folder, "22222222-0000-4000-8000-000000000000", "2026-11-12T09:30:00.000Z")
        newest = _run(store, folder, "33333333-0000-4000-8000-000000000000", "2026-11-16T09:30:00.000Z")
        _run(store, folder, "44444444-0000-4000-8000-000000000000", "2026-11-15T09:30:00.000Z", selected=10)
        if hostile:
            _run(store, folder, "55555555-0000-4000-8000-000000000000", WHEN, dataset="hostile")
        else:
            (folder / "benchmarks/hostile.jsonl").unlink()
        _run(store, folder, "66666666-0000-4000-8000-000000000000", WHEN, dataset="support", called="old-name")
        stored = write_harness_history(folder)
        _store_tasks(store, stored)
    _write_broken(folder, hostile=hostile)
    return DataSite(folder, newest, stored)


def _run(store: Store, folder: Path, run_id: str, at: str, **more: Any) -> str:
    path = folder / f"benchmarks/{more.get('dataset', 'support')}.jsonl"
    cases = list(open_dataset(path).cases)
    shown = path.with_stem(more.get("called", path.stem))
    selected = cases[: more.get("selected", len(cases))]
    digest = sha256(path.read_bytes()).hexdigest()
    dataset = DatasetRef(path=str(shown), hash=digest, count=len(cases), selected=len(selected))
    plan = plan_of(run_id, len(cases), dataset=dataset, num_samples=1)
    store.create_run(RunRecord(plan=plan, status="running", started_at=at), selected)
    store.update_run(run_id, status="completed", ended_at=at)
    return run_id


def _write_broken(folder: Path, *, hostile: bool) -> None:
    lines = [
        '{"id": "good", "input": "A question that can be used?", "topic": "billing"}',
        '{"id": "no-input", "topic": "billing"}',
        '{"id": "cut", "input": "It ends',
        '{"id": "good", "input": "The same id once more?"}',
        '{"id": "typo", "input": "Which metric?", "checks": [{"metric": "inclodes", "phrases": ["x"]}]}',
    ]
    if hostile:
        lines.append(json.dumps({"id": HOSTILE[0], "input": HOSTILE[1], "checks": [{"metric": HOSTILE[2]}]}))
    (folder / "benchmarks/broken.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "benchmarks/nothing.yaml").write_text("tasks:\n", "utf-8")


def _harness_id(at: int) -> str:
    return f"{0xA0 + at:x}0cafe0-0000-4000-8000-000000000000"


def write_harness_history(folder: Path) -> str:
    """Nine runs, of which the last is worse with one configuration; one of its configurations is in the store."""
    stored = "77777777-0000-4000-8000-000000000000"
    for at in range(_RUNS):
        add_run(folder / "evals/results", _harness_run(at, stored if at == _RUNS - 1 else None))
    return stored


def _store_tasks(store: Store, run_id: str) -> None:
    """The latest run's tasks with one configuration."""
    dataset = DatasetRef(path=None, hash="cd" * 32, count=_TASKS, selected=_TASKS)
    target = Target(model="mock/default", identity="mock")
    plan = plan_of(run_id, _TASKS, dataset=dataset, target=target, num_samples=1)
    cases = [TestCase(id=f"task-{task:02}", input=f"Question of task {task}?") for task in range(_TASKS)]
    store.create_run(RunRecord(plan=plan, status="running", started_at=WHEN), cases)
    store.update_run(run_id, status="completed", ended_at=WHEN)


def _harness_run(at: int, stored: str | None) -> HarnessRun:
    worse = at == _RUNS - 1
    found = [
        _evaluation(name, task, passed=_passes(name, task, at, worse=worse))
        for name in CONFIGS
        for task in range(_TASKS)
    ]
    summaries = [_summary(name, [each for each in found if each.config_id == name]) for name in CONFIGS]
    return harness_run(
        _harness_id(at),
        *summaries,
        timestamp=f"2026-11-{6 + at:02}T06:00:00.000Z",
        evaluations=tuple(found),
        status="completed",
        synthetic=False,
        tasks_hash="sha256:" + "ab" * 32,
        config_hashes={name: f"sha256:{sha256(name.encode()).hexdigest()}" for name in CONFIGS},
        store_runs={"baseline": stored} if stored else {},
    )


def _passes(name: str, task: int, at: int, *, worse: bool) -> bool:
    share = CONFIGS[name] - (0.25 if worse and name == "low-temperature" else 0.0)
    return (task * 37 + at * 11 * (task % 5 == 0)) % 100 < share * 100


def _evaluation(name: str, task: int, *, passed: bool) -> HarnessEvaluation:
    triggered = name == "low-temperature" and task == 3
    attempt = HarnessAttempt(attempt=0, completion_pass=passed, hallucination_incident=triggered, latency_ms=800.0)
    return evaluation(
        name,
        f"task-{task:02}",
        category=("web", "code")[task % 2],
        model="mock/default",
        completion_pass=passed,
        retries_used=0 if passed else 1,
        hallucination_incident=triggered,
        hallucination_incidents=int(triggered),
        latency_ms=780.0 + 10 * (task % 7),
        output_sample=None,
        attempts=(attempt,),
    )


def _summary(name: str, found: Sequence[HarnessEvaluation]) -> Any:
    return summary(
        name,
        total_tasks=len(found),
        task_completion_rate=round(100 * sum(bool(each.completion_pass) for each in found) / len(found), 4),
        retries_per_task=round(sum(each.retries_used for each in found) / len(found), 4),
        hallucination_incidents=sum(each.hallucination_incidents for each in found),
        latency_avg_ms=810.0,
    )
