"""How long a person waits for an answer about stored runs of any size, beside what every such command imports."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure
from prompt_evaluator.model import DatasetRef, RunPlan, RunRecord, Target, TestCase
from prompt_evaluator.model.result import CriterionScore
from prompt_evaluator.pipeline.totals import Totals
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prompt_evaluator.model.result import CaseResult

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from case_results import JUDGES, WHEN, case_result, sample, stats

_SAMPLES = 5
_RUNS = {"small": 100, "large": 100_000}
"""By the id of the run, how many samples it has."""
_COMMANDS = {
    "runs list": ["list"],
    "runs show": ["show", "RUN"],
    "runs show --failing": ["show", "RUN", "--failing"],
    "runs show --case": ["show", "RUN", "--case", "case-17"],
}
_LIMIT = 0.25


def command(folder: str, *arguments: str) -> Callable[[], object]:
    whole = [str(Path(sys.executable).parent / "prompt-evaluator"), "runs", *arguments]
    return lambda: subprocess.run(whole, check=True, stdout=subprocess.DEVNULL, cwd=folder)


def import_sqlalchemy() -> Callable[[], object]:
    bare = [sys.executable, "-c", "import sqlalchemy"]
    return lambda: subprocess.run(bare, check=True)


def make_store(folder: Path, names: Iterable[str] = tuple(_RUNS)) -> None:
    """A store with runs of these sizes, written as a rebuilt run is; `small-b` is a second one of the size `small`."""
    store = Store.open(folder / ".prompt_evaluator" / "store.db")
    for name in names:
        count = _RUNS[name.removesuffix("-b")] // _SAMPLES
        plan = RunPlan(
            run_id=name,
            group_id=name,
            dataset=DatasetRef(path="/d.jsonl", hash="0", count=count, selected=count),
            target=Target(model="mock/default", identity="mock"),
            rubric=None,
            judge=None,
            num_samples=_SAMPLES,
            output_dir=str(folder / "runs"),
        )
        totals = Totals(plan)

        def results(count: int = count, totals: Totals = totals) -> Iterator[tuple[int, CaseResult]]:
            for at in range(count):
                result = _case(at)
                totals.add(at, result)
                yield at, result

        cases = (TestCase(id=f"case-{at}", input="Why?" * 20) for at in range(count))
        store.create_run(RunRecord(plan=plan, status="running", started_at=WHEN), cases)
        store.replace_results(name, results(), lambda totals=totals: totals.result("completed"), judges=JUDGES)  # type: ignore[misc]
        store.update_run(name, status="completed", ended_at=WHEN)
    store.close()


def _case(at: int) -> CaseResult:
    """Every tenth is failing."""
    mean = 1.0 + at % 7 / 10 if at % 10 == 0 else 4.0 + at % 7 / 10
    scores: Any = {"clarity": CriterionScore(mean, "because", passed=bool(at % 10))}
    return case_result(
        f"case-{at}",
        num_samples=_SAMPLES,
        samples=tuple(sample(f"case-{at}", number, judge_metrics=scores) for number in range(_SAMPLES)),
        per_metric_stats={"clarity": stats(*[mean] * _SAMPLES), "length": stats(*[1.0] * _SAMPLES, pass_at=1.0)},
    )


def _measured(folder: Path) -> Iterator[measure.Result]:
    for name, arguments in _COMMANDS.items():
        for run, samples in _RUNS.items():
            words = [run if word == "RUN" else word for word in arguments]
            side = ":".join(["bench_runs:command", str(folder), *words])
            title = f"{name} of {samples:,} samples, seconds above `import sqlalchemy`"
            if "RUN" in arguments:
                yield measure.seconds_above(title, side, "bench_runs:import_sqlalchemy", limit=_LIMIT)
        if "RUN" not in arguments:
            title = f"{name}, seconds above `import sqlalchemy`"
            yield measure.seconds_above(title, side, "bench_runs:import_sqlalchemy", limit=_LIMIT)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        make_store(Path(made))
        measure.conclude(*_measured(Path(made)))
