"""What writing a run as Parquet costs, against a bare script that reads the same rows and writes them with pyarrow.

Both read the store: Python's driver makes an object of each value, which takes as long as everything that pyarrow does
with it. Memory is that of a process of its own, at two sizes.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.store import Store

_SAMPLES = 5
_BATCH = 10_000
"""Samples that are made; larger runs are copies of them."""
_SIZES = {"small": 10_000, "middle": 100_000, "large": 1_000_000}
"""How many samples the runs have."""
_TIME_LIMIT = 1.5
_MEMORY_LIMIT = 1.2
_TEXT = "the order arrived late so please write to us and we will send you another one within thirty days"
_WORDS = _TEXT.split()
_ENDS = ("", "", "", "", *map(str, range(10)))


def ours(folder: str, size: str) -> Callable[[], None]:
    """A side to measure: a run, written as `report` writes it."""
    return lambda: _write(Path(folder), size)


def _write(folder: Path, size: str) -> None:
    from prompt_evaluator.app.report_files import write_parquet_tables  # noqa: PLC0415 - only the measured process
    from prompt_evaluator.store import Store  # noqa: PLC0415

    with closing(Store.open(folder / "store.db")) as store:
        write_parquet_tables(store, [size], folder / f"{size}.parquet")


def bare(folder: str, size: str) -> Callable[[], None]:
    """A side to measure: what somebody would write in a script, the driver and pyarrow alone."""
    import sqlite3  # noqa: PLC0415 - only the measured process

    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    _write(Path(folder), "small")
    tables = {"samples": "sample_results", "scores": "scores"}
    schemas = {name: pq.read_schema(Path(folder) / f"small.{name}.parquet") for name in tables}

    yes_no = pa.bool_()

    def write() -> None:
        with closing(sqlite3.connect(Path(folder) / "store.db")) as connection:
            for name, table in tables.items():
                schema = schemas[name]
                rows = connection.execute(_STATEMENT.format(columns=_columns(schema.names), table=table), (size,))
                with pq.ParquetWriter(Path(folder) / f"bare.{name}.parquet", schema, compression="zstd") as writer:
                    while batch := rows.fetchmany(_BATCH):
                        columns = zip(zip(*batch, strict=True), schema, strict=True)
                        arrays = [
                            pa.array(_plain(values, field.type == yes_no), field.type) for values, field in columns
                        ]
                        writer.write_batch(pa.record_batch(arrays, schema=schema))

    return write


def _plain(values: Sequence[Any], yes_no: bool) -> Sequence[Any]:  # noqa: FBT001 - a column's type
    return [None if value is None else bool(value) for value in values] if yes_no else values


_STATEMENT = """
SELECT {columns} FROM {table} JOIN cases ON cases.run_id = {table}.run_id AND cases.position = {table}.position
WHERE {table}.run_id = ? ORDER BY {table}.position, {table}.sample
"""


def _columns(names: list[str]) -> str:
    called = {"test_case_id": "case_id", "output": "answer", "score": "value"}
    own = {"run_id": "cases.run_id", "position": "cases.position"}
    return ", ".join(own.get(name, called.get(name, name)) for name in names)


def make_store(folder: Path, sizes: Iterator[str]) -> None:
    """One run of each size, with two metrics and answers of some sixty words."""
    from prompt_evaluator.store import Store  # noqa: PLC0415 - the measured processes do not need to make one

    for size in sizes:
        with closing(Store.open(folder / "store.db")) as store:
            _add_run(store, size)
        _multiply(folder / "store.db", size, _SIZES[size] // _BATCH)
        _add_score_rows(folder / "store.db", size)


def _add_score_rows(path: Path, name: str) -> None:
    """A table with a row for each score, for the bare script to read: the store has them in the rows of samples."""
    import sqlite3  # noqa: PLC0415

    from prompt_evaluator.model.flat_rows import SCORE_COLUMNS  # noqa: PLC0415
    from prompt_evaluator.store import Store  # noqa: PLC0415

    columns = ["run_id", *("value" if column == "score" else column for column in SCORE_COLUMNS)]
    key = "PRIMARY KEY (run_id, position, sample, metric)"
    with closing(Store.open(path)) as store, closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS scores ({', '.join(columns)}, {key}) WITHOUT ROWID")
        marks = ", ".join("?" * len(columns))
        for batch in store.flat_rows(name):
            connection.executemany(f"INSERT INTO scores VALUES ({marks})", ((name, *row) for row in batch.scores))


def _add_run(store: Store, name: str) -> None:
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
    from case_results import JUDGES, WHEN, run_result  # noqa: PLC0415

    from prompt_evaluator.model import DatasetRef, RunPlan, RunRecord, Target, TestCase  # noqa: PLC0415

    count = _BATCH // _SAMPLES
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
    draw = random.Random(name)
    cases = (TestCase(id=f"case-{at}", input=_text(draw, 20), file="/d.jsonl", line=at + 1) for at in range(count))
    store.create_run(RunRecord(plan=plan, status="running", started_at=WHEN), cases)
    results = ((at, _case(at, draw)) for at in range(count))
    store.replace_results(name, results, lambda: run_result(name), judges=JUDGES)
    store.update_run(name, status="completed", ended_at=WHEN)


def _case(at: int, draw: random.Random) -> CaseResult:
    from case_results import case_result, sample  # noqa: PLC0415

    from prompt_evaluator.model.result import CriterionScore, MetricScore  # noqa: PLC0415

    def made(number: int) -> Any:
        clarity, exact = float(draw.randint(1, 5)), float(draw.random() < 0.7)  # noqa: PLR2004
        judged = {"clarity": CriterionScore(clarity, _text(draw, 15), passed=clarity >= 3)}  # noqa: PLR2004
        scores = {"exact": MetricScore(status="scored", score=exact, passed=exact == 1, reason="")}
        return sample(
            f"case-{at}", number, generator_output=_text(draw, 60), judge_metrics=judged, scores=scores, tool_calls=()
        )

    return case_result(f"case-{at}", num_samples=_SAMPLES, samples=tuple(made(number) for number in range(_SAMPLES)))


def _text(draw: random.Random, words: int) -> str:
    return " ".join(f"{draw.choice(_WORDS)}{draw.choice(_ENDS)}" for _ in range(words))


def _multiply(path: Path, run_id: str, times: int) -> None:
    """Copy the rows of a run's cases behind themselves."""
    import sqlite3  # noqa: PLC0415

    from prompt_evaluator.store.result_tables import SAMPLE_RESULTS  # noqa: PLC0415
    from prompt_evaluator.store.schema import CASES  # noqa: PLC0415

    count = _BATCH // _SAMPLES
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in (CASES, SAMPLE_RESULTS):
            names = [column.name for column in table.c]
            behind = {"position": "position + :by", "case_id": "case_id || '-' || :by"}
            values = ", ".join(behind.get(name, name) for name in names)
            copy = f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {values} FROM {table.name}"
            for at in range(1, times):
                given = {"by": at * count, "run": run_id, "count": count}
                connection.execute(f"{copy} WHERE run_id = :run AND position < :count", given)


def _memory(folder: str) -> measure.Result:
    middle, small = (_peak(folder, size) for size in ("middle", "small"))
    title = f"peak memory at {_SIZES['middle']:,} samples over that at {_SIZES['small']:,}"
    detail = f"{middle:.0f} and {small:.0f} MB"
    return measure.Result(title, middle / small, _MEMORY_LIMIT, at_most=True, detail=detail)


def _peak(folder: str, size: str) -> float:
    whole = [sys.executable, __file__, folder, size]
    return float(subprocess.run(whole, check=True, stdout=subprocess.PIPE, text=True).stdout)


def _peak_memory() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _time(folder: str, size: str) -> measure.Result:
    sides = [f"bench_parquet:{side}:{folder}:{size}" for side in ("ours", "bare")]
    return measure.ratio(f"Parquet of {_SIZES[size]:,} samples over bare pyarrow", *sides, at_most=_TIME_LIMIT)


if __name__ == "__main__":
    if len(sys.argv) == 3:  # noqa: PLR2004 - in a process of its own
        _write(Path(sys.argv[1]), sys.argv[2])
        print(_peak_memory())
    else:
        largest = "middle" if "--quick" in sys.argv else "large"
        with tempfile.TemporaryDirectory() as made:
            make_store(Path(made), iter(dict.fromkeys(("small", "middle", largest))))
            measure.conclude(_time(made, largest), _memory(made))
