"""A whole run, ledger and artifacts included: its memory, how soon it is stored, what its rows cost."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import statistics
import tempfile
import time
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import measure
from bench_datasets import jsonl_file
from chat_server import server
from prompt_evaluator.model.event import RunStarted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model.event import AnyEvent

T = TypeVar("T")

_FOLDER = Path(tempfile.gettempdir()) / "prompt-evaluator-bench" / "runs"


class _Clock:
    """Notes when the calls of a run begin, how long each unit takes to become durable, and when the last one is."""

    def __init__(self) -> None:
        self.waits = array("d")
        self._start = self._last = 0.0

    def event(self, event: AnyEvent) -> None:
        if isinstance(event, RunStarted):
            self._start = time.perf_counter()

    def committed(self, seconds: float) -> None:
        self.waits.append(seconds)
        self._last = time.perf_counter()

    @property
    def seconds(self) -> float:
        return self._last - self._start


def whole_run(concurrency: str, cases: str, samples: str, *address: str) -> Callable[[], float]:
    """Seconds from the first call of a run of `evaluate-dataset` to the last commit."""
    from prompt_evaluator.app.evaluate import evaluate_dataset  # noqa: PLC0415
    from prompt_evaluator.app.session import Session  # noqa: PLC0415
    from prompt_evaluator.model.options import EvaluateOptions  # noqa: PLC0415
    from prompt_evaluator.model.run_limits import RunLimits  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(dir=_made(_FOLDER)))
    os.chdir(folder)
    os.environ |= {"OPENAI_API_KEY": "no-secret-at-all", "OPENAI_BASE_URL": ":".join(address)}
    (folder / "prompt.txt").write_text("You are a helpful assistant.", encoding="utf-8")
    options = EvaluateOptions(
        dataset=jsonl_file(int(cases)),
        system_prompt=folder / "prompt.txt",
        num_samples=int(samples),
        generator_model="openai/bench",
    )

    def work() -> float:
        clock = _Clock()
        limits = RunLimits(max_concurrency=int(concurrency))
        session = Session(limits=limits, on_commit=clock.committed, subscribers=(clock.event,))
        outcome = asyncio.run(_closing(evaluate_dataset(options, session), session))
        assert outcome.record.status == "completed", outcome
        slowest = sorted(clock.waits)[int(0.99 * len(clock.waits))]
        (_FOLDER / "last").write_text(f"{folder}\n{outcome.record.plan.run_id}\n{slowest}", encoding="utf-8")
        return clock.seconds

    return work


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def with_rows(*arguments: str) -> Callable[[], None]:
    """The whole of a run, from planning to its files; the whole call is timed."""
    work = whole_run(*arguments)

    def whole() -> None:
        work()

    return whole


def without_rows(*arguments: str) -> Callable[[], None]:
    """The same, but that nothing is kept for questions about results."""
    from prompt_evaluator.store import LedgerWriter  # noqa: PLC0415

    LedgerWriter.put_case = lambda *_: None  # type: ignore[method-assign]
    return with_rows(*arguments)


def result_rows() -> measure.Result:
    with server(0) as address:
        return measure.ratio(
            "result rows: a run's rate with them over its rate without, 1,000 cases × 5, no latency",
            f"bench_evaluate:with_rows:100:1000:5:{address}",
            f"bench_evaluate:without_rows:100:1000:5:{address}",
            at_least=0.9,
        )


def large() -> list[measure.Result]:
    """100,000 samples without latency: memory, and how long a finished unit waits for its commit."""
    with server(0) as address:
        with measure.Child(f"bench_evaluate:whole_run:100:4000:5:{address}") as small:
            small.slice()
            small_mb = small.peak_memory()
        with measure.Child(f"bench_evaluate:whole_run:100:20000:5:{address}") as ours:
            seconds = ours.slice()
            large_mb = ours.peak_memory()
    slowest = float((_FOLDER / "last").read_text(encoding="utf-8").split("\n")[2]) * 1000
    detail = f"20,000 samples: {small_mb:.0f} MB; {seconds:.0f} s"
    return [
        measure.Result("100,000 samples, peak MB", large_mb, 250, at_most=True, detail=detail),
        measure.Result("from finished to committed, ms at the 99th percentile", slowest, 200, at_most=True, detail=""),
        measure.Result("memory, 100,000 samples over 20,000", large_mb / small_mb, 1.2, at_most=True, detail=""),
    ]


def noticing_that_nothing_is_missing() -> measure.Result:
    """Resuming the finished run of `large`, over the time that parsing its artifact takes."""
    folder, run_id, _ = (_FOLDER / "last").read_text(encoding="utf-8").split("\n")
    artifact = Path(folder, "runs", run_id, "dataset_evaluation.json")
    ratios = []
    with measure.Child(f"bench_evaluate:resume:{folder}:{run_id}") as ours:
        ours.slice()
        for _ in range(3):
            start = time.perf_counter()
            json.loads(artifact.read_bytes())
            parsing = time.perf_counter() - start
            ratios.append(ours.slice() / parsing)
    size = f"an artifact of {artifact.stat().st_size / 2**20:.0f} MB"
    return measure.Result(
        "resuming a finished run, time over parsing its artifact",
        statistics.median(ratios),
        0.1,
        at_most=True,
        detail=size,
    )


def resume(folder: str, run_id: str) -> Callable[[], object]:
    from prompt_evaluator.app.resume import resume_run  # noqa: PLC0415
    from prompt_evaluator.app.session import Session  # noqa: PLC0415

    os.chdir(folder)

    def work() -> object:
        session = Session()
        return asyncio.run(_closing(resume_run(run_id, session), session))

    return work


async def _closing(work: Awaitable[T], session: Session) -> T:
    async with session.workspace:
        return await work


if __name__ == "__main__":
    try:
        measure.conclude(result_rows(), *large(), noticing_that_nothing_is_missing())
    finally:
        shutil.rmtree(_FOLDER, ignore_errors=True)
