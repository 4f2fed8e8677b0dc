"""Whether two worker processes of Ray make more of a target that uses the CPU than one.

The target burns 50 ms of CPU per answer, so one Python process makes at most 20 per second, whatever its threads. One
Ray with two engines in it: the same items in one process and in two, in turns. Only the time from the first to the last
item counts, after the processes have started.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure

if TYPE_CHECKING:
    from prompt_evaluator.app.workspace import Workspace

_CASES, _ROUNDS, _LEAST = 80, 3, 1.5
_TARGET = """
import time


def burn(text):
    until = time.thread_time() + 0.05
    while time.thread_time() < until:
        pass
    return text
"""


async def _seconds(workspace: Workspace, workers: int) -> float:
    from prompt_evaluator.app.evaluate import evaluate_dataset  # noqa: PLC0415 - after the folder is made
    from prompt_evaluator.app.session import Session  # noqa: PLC0415
    from prompt_evaluator.model.event import SampleDone  # noqa: PLC0415
    from prompt_evaluator.model.options import EvaluateOptions  # noqa: PLC0415
    from prompt_evaluator.model.run_limits import RunLimits  # noqa: PLC0415

    ended: list[float] = []

    def watch(event: Any) -> None:
        if isinstance(event, SampleDone):
            ended.append(time.monotonic())

    options = EvaluateOptions(
        dataset=Path("data.jsonl"),
        system_prompt=Path("prompt.txt"),
        generator_model="python:target:burn",
        rubric=None,
        metrics=("length(max_words=9)",),
        num_samples=1,
    )
    limits = RunLimits(engine="ray", ray_workers=workers, max_concurrency=8)
    outcome = await evaluate_dataset(options, Session(workspace=workspace, limits=limits, subscribers=(watch,)))
    assert outcome.record.status == "completed", outcome.record.stop_reason
    # The first eighth is left out: the processes do not start at the same moment.
    return ended[-1] - ended[_CASES // 8]


async def _measured() -> list[float]:
    from prompt_evaluator.app.settings import read_settings  # noqa: PLC0415 - as above
    from prompt_evaluator.app.workspace import Workspace  # noqa: PLC0415

    async with Workspace(read_settings()) as workspace:
        ratios = []
        for _ in range(_ROUNDS):
            one, two = await _seconds(workspace, 1), await _seconds(workspace, 2)
            print(f"  one process {one:.2f} s, two {two:.2f} s")
            ratios.append(one / two)
    return ratios


def main() -> None:
    """Measure in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)
        Path("target.py").write_text(_TARGET, encoding="utf-8")
        Path("prompt.txt").write_text("Answer.", encoding="utf-8")
        cases = [json.dumps({"id": f"c{at}", "input": f"Question {at}?"}) for at in range(_CASES)]
        Path("data.jsonl").write_text("\n".join(cases), encoding="utf-8")
        ratio = statistics.median(asyncio.run(_measured()))
    detail = f"{_CASES} answers of 50 ms CPU each, median of {_ROUNDS} pairs"
    measure.conclude(measure.Result("two processes against one", ratio, _LEAST, at_most=False, detail=detail))


if __name__ == "__main__":
    main()
