"""Runs, samples and scores as Parquet tables with typed columns, written as they are read."""

from __future__ import annotations

import importlib.util
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.flat_rows import CASE_COLUMNS, SAMPLE_COLUMNS, SCORE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Executor, Future
    from typing import BinaryIO

    import pyarrow as pa

    from prompt_evaluator.model.flat_rows import FlatBatch
    from prompt_evaluator.model.query import RunLine

TABLES = ("runs", "samples", "scores")
_MISSING = "Install prompt-verdict[parquet] to write .parquet files."
_ROWS, _BYTES = 50_000, 8_000_000
"""A row group is written when it has one or the other: large enough to be read fast, small enough to hold two."""

_WORD, _TEXT, _WHOLE, _NUMBER, _YES_NO, _TIME = "word", "text", "whole", "number", "yes or no", "time"
"""A word is a text that many rows share, and is stored once per row group."""
_RUN_TYPES = {
    **dict.fromkeys(("run_id", "group_id", "parent_run_id", "kind", "status"), _WORD),
    **dict.fromkeys(("started_at", "ended_at"), _TIME),
    **dict.fromkeys(("stop_reason",), _TEXT),
    **dict.fromkeys(("dataset_name", "dataset_path", "dataset_hash", "prompt_hash", "prompt_version"), _WORD),
    **dict.fromkeys(("rubric_hash", "judge_hash", "generator_model", "judge_model"), _WORD),
    "synthetic": _YES_NO,
    **dict.fromkeys(("tags", "note"), _TEXT),
    **dict.fromkeys(("cases", "num_samples"), _WHOLE),
    "cost": _NUMBER,
    **dict.fromkeys(("input_tokens", "output_tokens"), _WHOLE),
    **dict.fromkeys(("errors", "metrics", "flags"), _TEXT),
}
_CASE_TYPES = {
    **dict.fromkeys(("position", "line"), _WHOLE),
    **dict.fromkeys(("test_case_id", "file", "input", "metadata"), _WORD),
}
_SAMPLE_TYPES = {
    **dict.fromkeys(("position", "sample", "attempt", "tries"), _WHOLE),
    **dict.fromkeys(("status", "model", "finish_reason", "error_kind", "error_metric", "flags"), _WORD),
    **dict.fromkeys(("output", "error_message", "comment", "tool_calls", "earlier_attempts"), _TEXT),
    **dict.fromkeys(("input_tokens", "output_tokens", "judge_input_tokens", "judge_output_tokens"), _WHOLE),
    **dict.fromkeys(("cost", "latency_ms", "judge_cost"), _NUMBER),
    "reused": _YES_NO,
}
_SCORE_TYPES = {
    **dict.fromkeys(("position", "sample"), _WHOLE),
    **dict.fromkeys(("metric", "judge", "outcome"), _WORD),
    "score": _NUMBER,
    "passed": _YES_NO,
    **dict.fromkeys(("reason", "details", "repeats"), _TEXT),
}
_OF_CASE_IN_SAMPLES = ("test_case_id", "file", "line", "input", "metadata")
_OF_CASE_IN_SCORES = ("test_case_id",)


class _Layout(NamedTuple):
    """Columns of a table, with what each holds."""

    types: dict[str, str]

    def schema(self) -> pa.Schema:
        import pyarrow as pa  # noqa: PLC0415

        arrow = {
            _WORD: pa.string(),
            _TEXT: pa.string(),
            _WHOLE: pa.int64(),
            _NUMBER: pa.float64(),
            _YES_NO: pa.bool_(),
            _TIME: pa.timestamp("ms", tz="UTC"),
        }
        return pa.schema([(name, arrow[kind]) for name, kind in self.types.items()])

    @property
    def words(self) -> list[str]:
        return [name for name, kind in self.types.items() if kind == _WORD]


def _layout(case_columns: Sequence[str], types: dict[str, str], columns: Sequence[str]) -> _Layout:
    of_case = {name: _CASE_TYPES[name] for name in case_columns}
    return _Layout({"run_id": _WORD, **of_case, **{name: types[name] for name in columns}})


_RUNS = _Layout(_RUN_TYPES)
_SAMPLES = _layout(_OF_CASE_IN_SAMPLES, _SAMPLE_TYPES, SAMPLE_COLUMNS)
_SCORES = _layout(_OF_CASE_IN_SCORES, _SCORE_TYPES, SCORE_COLUMNS)


def check_installed() -> None:
    """Raise ConfigurationError, which names the extra, if pyarrow is missing."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigurationError(_MISSING)


def write_parquet(files: Sequence[BinaryIO], runs: Sequence[RunLine], batches: Iterable[FlatBatch]) -> None:
    """Write the tables `TABLES` of some runs, each to its file. A few ten thousand rows are held at a time."""
    with ThreadPoolExecutor(1) as thread, ExitStack() as stack:
        run_table, sample_table, score_table = (
            stack.enter_context(_Table(file, layout, thread))
            for file, layout in zip(files, (_RUNS, _SAMPLES, _SCORES), strict=True)
        )
        run_table.add(_run_columns(runs))
        for batch in batches:
            cases = _Cases(batch)
            sample_table.add(cases.columns_of(batch.samples, _OF_CASE_IN_SAMPLES, SAMPLE_COLUMNS, _SAMPLE_TYPES))
            score_table.add(cases.columns_of(batch.scores, _OF_CASE_IN_SCORES, SCORE_COLUMNS, _SCORE_TYPES))


class _Cases:
    """The cases of a batch, to be repeated in each of their rows."""

    def __init__(self, batch: FlatBatch) -> None:
        columns = list(zip(*batch.cases, strict=True))
        self._run_id = batch.run_id
        self._at = {position: at for at, position in enumerate(columns[0])}
        self._is_dense = columns[0][-1] - columns[0][0] == len(columns[0]) - 1
        self._first = columns[0][0]
        self._columns = {
            name: _array(values, _CASE_TYPES[name]) for name, values in zip(CASE_COLUMNS, columns, strict=True)
        }

    def columns_of(
        self, rows: Sequence[Sequence[Any]], of_case: Sequence[str], names: Sequence[str], types: dict[str, str]
    ) -> list[pa.Array]:
        """The columns of some rows, with the run, the wanted columns of each row's case, and their own."""
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        if not rows:
            return []
        own = dict(zip(names, zip(*rows, strict=True), strict=True))
        arrays = {name: _array(values, types[name]) for name, values in own.items()}
        if self._is_dense:
            at = pc.subtract(arrays["position"], self._first)
        else:
            at = pa.array([self._at[position] for position in own["position"]])
        return [
            pa.repeat(self._run_id, len(rows)),
            *(self._columns[name].take(at) for name in of_case),
            *arrays.values(),
        ]


class _Table:
    """A file of one table. A row group is compressed in the thread while the next one is read."""

    def __init__(self, file: BinaryIO, layout: _Layout, thread: Executor) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._schema = layout.schema()
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd", use_dictionary=layout.words)
        self._thread = thread
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._writing: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._write()
        if self._writing is not None:
            wait([self._writing])
        self._writer.close()
        if kind is None and self._writing is not None:
            self._writing.result()

    def add(self, columns: Sequence[pa.Array]) -> None:
        import pyarrow as pa  # noqa: PLC0415

        if not columns:
            return
        batch = pa.record_batch(columns, schema=self._schema)
        self._waiting.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _ROWS or self._bytes >= _BYTES:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa  # noqa: PLC0415

        if self._writing is not None:
            self._writing.result()
        if self._waiting:
            group = pa.Table.from_batches(self._waiting)
            self._writing = self._thread.submit(self._writer.write_table, group, row_group_size=self._rows)
        self._waiting, self._rows, self._bytes = [], 0, 0


def _array(values: Sequence[Any], kind: str) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415

    if kind in (_WORD, _TEXT):
        return pa.array(values, pa.string())
    if kind == _YES_NO:
        in_numbers = next((type(value) is int for value in values if value is not None), False)  # as SQLite has them
        return pa.array(values, pa.int8()).cast(pa.bool_()) if in_numbers else pa.array(values, pa.bool_())
    return pa.array(values, pa.int64() if kind == _WHOLE else pa.float64())


def _run_columns(runs: Sequence[RunLine]) -> list[pa.Array]:
    import pyarrow as pa  # noqa: PLC0415

    schema = _RUNS.schema()
    rows = [_run_row(run) for run in runs]
    return [
        pa.array([row[name] for row in rows], pa.string()).cast(schema.field(name).type)
        if kind == _TIME
        else pa.array([row[name] for row in rows], schema.field(name).type)
        for name, kind in _RUN_TYPES.items()
    ]


def _run_row(run: RunLine) -> dict[str, Any]:
    summary = run.summary
    values = {name: getattr(run, name, None) for name in _RUN_TYPES}
    json = {
        "tags": run.tags,
        "errors": run.errors,
        "metrics": summary.overall_metric_stats if summary else {},
        "flags": summary.overall_flag_stats if summary else {},
    }
    return values | {name: msgspec.json.encode(value).decode() for name, value in json.items()}
