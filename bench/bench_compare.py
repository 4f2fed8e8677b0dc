"""What comparing two stored runs costs per case, and how much memory it takes, whatever their size.

Each comparison is a process of its own, as the command is. Counted is the time from when the runs are open until the
last case has been encoded; starting Python, importing and opening the store are taken off, because they are the same
for runs of any size.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prompt_evaluator.model.result import CaseResult, MetricStats
    from prompt_evaluator.store import Store

_SAMPLES = 5
_SIZES = {"small": 1_000, "large": 100_000}
"""How many samples the runs have."""
_SIDES = ("baseline", "candidate")
_TIME_LIMIT = 1.0
_MEMORY_LIMIT = 1.2


class Cost(NamedTuple):
    """Of one comparison."""

    seconds_per_case: float
    megabytes: float


def per_case(folder: str, size: str) -> Callable[[], float]:
    """A side to measure: seconds per case of one comparison."""
    return lambda: _in_a_process(folder, size).seconds_per_case


def _in_a_process(folder: str, size: str) -> Cost:
    whole = [sys.executable, __file__, folder, size]
    printed = subprocess.run(whole, check=True, stdout=subprocess.PIPE, text=True).stdout
    return Cost(*map(float, printed.split()))


def _compare(folder: Path, size: str) -> Cost:
    import msgspec  # noqa: PLC0415 - as for the command, only what is compared with is imported

    from prompt_evaluator.app.compare import comparison_document  # noqa: PLC0415
    from prompt_evaluator.compare.comparing import compare  # noqa: PLC0415
    from prompt_evaluator.model.comparison import CompareOptions  # noqa: PLC0415
    from prompt_evaluator.store import Store  # noqa: PLC0415

    encode = msgspec.json.Encoder().encode
    with closing(Store.open(folder / "store.db")) as store:
        baseline, candidate = (store.compared(f"{size}-{side}") for side in _SIDES)
        start = time.perf_counter()
        document = comparison_document(compare(baseline, candidate, CompareOptions()))
        for row in document.pop("cases"):
            encode(row)
        encode(document)
        return Cost((time.perf_counter() - start) / document["common_cases"], _peak_memory())


def _peak_memory() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def make_store(folder: Path) -> None:
    """Two runs of each size, with two metrics and metadata to slice by."""
    from prompt_evaluator.store import Store  # noqa: PLC0415 - the measured processes do not need to make one

    with closing(Store.open(folder / "store.db")) as store:
        for size, samples in _SIZES.items():
            for side in _SIDES:
                add_run(store, f"{size}-{side}", samples // _SAMPLES)


def add_run(store: Store, name: str, count: int) -> None:
    """A run of so many cases, with five samples each."""
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
    from case_results import JUDGES, WHEN  # noqa: PLC0415

    from prompt_evaluator.model import DatasetRef, RunPlan, RunRecord, Target, TestCase  # noqa: PLC0415
    from prompt_evaluator.pipeline.totals import Totals  # noqa: PLC0415

    plan = RunPlan(
        run_id=name,
        group_id=name,
        dataset=DatasetRef(path="/d.jsonl", hash="0", count=count, selected=count),
        target=Target(model="mock/default", identity="mock"),
        rubric=None,
        judge=None,
        num_samples=_SAMPLES,
        output_dir="runs",
    )
    totals, draw = Totals(plan), random.Random(name)

    def results() -> Iterator[tuple[int, CaseResult]]:
        for at in range(count):
            result = _case(at, draw)
            totals.add(at, result)
            yield at, result

    cases = (
        TestCase(id=f"case-{at}", input="Why?" * 20, metadata={"topic": at % 7, "hard": at % 3 == 0})
        for at in range(count)
    )
    store.create_run(RunRecord(plan=plan, status="running", started_at=WHEN), cases)
    store.replace_results(name, results(), lambda: totals.result("completed"), judges=JUDGES)
    store.update_run(name, status="completed", ended_at=WHEN)


def _case(at: int, draw: random.Random) -> CaseResult:
    from case_results import case_result, sample  # noqa: PLC0415

    from prompt_evaluator.model.result import CriterionScore, MetricScore  # noqa: PLC0415

    clarity = [float(draw.randint(1, 5)) for _ in range(_SAMPLES)]
    exact = [float(draw.random() < 0.7) for _ in range(_SAMPLES)]  # noqa: PLR2004
    samples = tuple(
        sample(
            f"case-{at}",
            number,
            judge_metrics={"clarity": CriterionScore(clarity[number], "because", passed=clarity[number] >= 3)},  # noqa: PLR2004
            scores={"exact": MetricScore(status="scored", score=exact[number], passed=exact[number] == 1, reason="")},
        )
        for number in range(_SAMPLES)
    )
    measured = {"clarity": _stats(clarity, 3.0), "exact": _stats(exact, 1.0)}
    return case_result(f"case-{at}", num_samples=_SAMPLES, samples=samples, per_metric_stats=measured)


def _stats(values: list[float], pass_at: float) -> MetricStats:
    from case_results import stats  # noqa: PLC0415

    return stats(*values, pass_at=pass_at)


def _memory(folder: str) -> measure.Result:
    large, small = (_in_a_process(folder, size).megabytes for size in ("large", "small"))
    title = f"peak memory at {_SIZES['large']:,} samples over that at {_SIZES['small']:,}"
    return measure.Result(title, large / small, _MEMORY_LIMIT, at_most=True, detail=f"{large:.0f} and {small:.0f} MB")


def _time(folder: str) -> measure.Result:
    sides = [f"bench_compare:per_case:{folder}:{size}" for size in ("large", "small")]
    title = f"time per case at {_SIZES['large']:,} samples over that at {_SIZES['small']:,}"
    return measure.ratio(title, sides[0], sides[1], at_most=_TIME_LIMIT)


if __name__ == "__main__":
    if arguments := sys.argv[1:]:
        print(*_compare(Path(arguments[0]), arguments[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            make_store(Path(made))
            measure.conclude(_time(made), _memory(made))
