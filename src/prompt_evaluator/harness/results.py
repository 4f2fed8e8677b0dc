"""`evals/results/`: what each run of the harness leaves for the gate, for trends, and for other programs.

`history.json` is the truth: an array of runs that only grows. The other files are made from it and from the newest run.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.harness.files import locked, replace
from prompt_evaluator.harness.history import RunHead, read_history
from prompt_evaluator.model.harness import TrendPoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from prompt_evaluator.harness.history import History
    from prompt_evaluator.model.harness import HarnessRun, HarnessSummary


def check_history(results_folder: Path) -> None:
    """Make sure that a run can be added. Call it before the first call of a model: results would be lost afterwards.

    Raises:
        ResultsFileError: `history.json` cannot be read. It is left as it is.
        StoreError: The folder cannot be written.
    """
    with locked(results_folder):
        read_history(results_folder)


def add_run(results_folder: Path, run: HarnessRun) -> None:
    """Add a run to the history and write the other files. Waits for other processes that do the same.

    Raises:
        ResultsFileError: `history.json` cannot be read any more. All files are left as they are.
        StoreError: A file cannot be written.
    """
    kept = without_outputs(run)
    with locked(results_folder):
        history = read_history(results_folder)
        newest = RunHead(run_id=run.run_id, timestamp=run.timestamp, summaries=run.summaries)
        points = trend_points([*history.heads(), newest])
        replace(results_folder / "history.json", _appended(history, msgspec.json.encode(kept)))
        replace(results_folder / "latest.json", [_pretty(run)])
        replace(results_folder / "leaderboard.json", [_pretty(ranked(run.summaries))])
        replace(results_folder / "trends.json", [_pretty(points)])


def without_outputs(run: HarnessRun) -> HarnessRun:
    """The run as the history keeps it: everything but the text of responses."""
    change = msgspec.structs.replace
    evaluations = tuple(
        change(
            each,
            output_sample=None,
            attempts=tuple(change(attempt, output=None) for attempt in each.attempts),
        )
        for each in run.evaluations
    )
    return change(run, evaluations=evaluations)


def ranked(summaries: Iterable[HarnessSummary]) -> list[HarnessSummary]:
    """Best first: by completion, then by incidents, then by latency; what could not be computed comes last."""
    return sorted(
        summaries,
        key=lambda each: (
            math.inf if each.task_completion_rate is None else -each.task_completion_rate,
            each.hallucination_incidents,
            math.inf if each.latency_avg_ms is None else each.latency_avg_ms,
        ),
    )


def trend_points(runs: Iterable[RunHead]) -> dict[str, list[TrendPoint]]:
    """By configuration, in order of the history."""
    points: dict[str, list[TrendPoint]] = {}
    for run in runs:
        for each in run.summaries:
            point = TrendPoint(
                run_id=run.run_id,
                timestamp=run.timestamp,
                task_completion_rate=each.task_completion_rate,
                retries_per_task=each.retries_per_task,
                hallucination_incidents=each.hallucination_incidents,
                latency_avg_ms=each.latency_avg_ms,
            )
            points.setdefault(each.config_id, []).append(point)
    return points


def _appended(history: History, entry: bytes) -> Sequence[bytes]:
    """The file with one more entry. What is there stays byte for byte, in whatever layout and with whatever keys."""
    end = history.data.rfind(b"]")
    if end < 0:
        return (b"[\n", entry, b"\n]\n")
    start = history.data[:end].rstrip()
    return (start, b",\n" if len(history) else b"\n", entry, b"\n]\n")


def _pretty(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
