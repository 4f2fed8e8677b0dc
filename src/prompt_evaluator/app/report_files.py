"""Writes reports on one run or two as tables and test results: CSV, JSONL and JUnit."""

from __future__ import annotations

import os
import stat
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.app.compare import compare_runs
from prompt_evaluator.app.export import export_run
from prompt_evaluator.app.run_names import stored_name
from prompt_evaluator.app.spreadsheets import csv_line
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.comparison import CompareOptions
from prompt_evaluator.model.query import CaseQuery
from prompt_evaluator.reports.junit import write_junit
from prompt_evaluator.reports.junit_run import MOST_TEXT, bar_results, case_result, run_suite
from prompt_evaluator.reports.runs import shown_path
from prompt_evaluator.reports.tables import COMPARISON_COLUMNS, comparison_rows
from prompt_evaluator.store.files import atomic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.comparison import Comparison
    from prompt_evaluator.model.query import CaseLine, RunLine
    from prompt_evaluator.reports.junit import TestResult
    from prompt_evaluator.store import Store

TableKind = Literal["csv", "jsonl", "junit"]
_KINDS: dict[str, TableKind] = {".csv": "csv", ".jsonl": "jsonl", ".xml": "junit"}
_DEFAULTS = CompareOptions()
_CASES_AT_ONCE = 256


def table_kind(path: Path) -> TableKind | None:
    """The kind of table that a file name asks for by its ending; None for other files. JUnit is any `.xml`."""
    return _KINDS.get(path.suffix.lower())


def write_tables(
    settings: Settings, runs: Sequence[str], kind: TableKind, path: Path, *, options: CompareOptions = _DEFAULTS
) -> None:
    """Write one run, or two runs compared, as tables. Files are replaced as a whole; memory stays the same for any run.

    CSV and JSONL have a row per sample of a run, or per case and metric of a comparison. JUnit has a test case per
    case of the run; of two, of the candidate.

    Args:
        settings: Say where the store is.
        runs: One name or two, the baseline first; as in `compare`.
        kind: See `table_kind`.
        path: The file.
        options: What to compare by.

    Raises:
        ConfigurationError: There is no such run, a run is not in the store, or a file cannot be written.
        IncomparableError: The runs cannot be compared.
    """
    if kind == "junit":
        _write_junit(settings, runs[-1], path)
    elif len(runs) > 1:
        (comparison,) = compare_runs(settings, runs, options)
        _write_lines(path, _comparison_lines(comparison, kind))
    else:
        _write_lines(path, export_run(settings, stored_name(settings, runs[0]), kind))


def _write_lines(path: Path, lines: Iterator[bytes]) -> None:
    with written_file(path) as file:
        file.writelines(lines)


def _comparison_lines(comparison: Comparison, kind: TableKind) -> Iterator[bytes]:
    rows = comparison_rows(comparison)
    if kind == "jsonl":
        yield from (msgspec.json.encode(row) + b"\n" for row in rows)
    else:
        yield csv_line(COMPARISON_COLUMNS)
        yield from (csv_line(row.values()) for row in rows)


def _write_junit(settings: Settings, run: str, path: Path) -> None:
    with closing(open_store(settings)) as store:
        record = store.run(stored_name(settings, run))
        line = store.run_line(record.plan.run_id)
        with written_file(path) as file:
            results = _case_results(store, record.plan, line)
            write_junit(file, run_suite(line), chain(bar_results(record.plan, line.summary), results))


def _case_results(store: Store, plan: RunPlan, line: RunLine) -> Iterator[TestResult]:
    for cases in _pages(store, plan.run_id):
        failing = [case.position for case in cases if case.failing]
        worst = store.worst_samples(plan.run_id, failing, most_text=MOST_TEXT)
        yield from (case_result(plan, line, _placed(case), worst.get(case.position)) for case in cases)


def _placed(case: CaseLine) -> CaseLine:
    """CI services find a file by its path in the checked-out repository, which is the working directory."""
    return msgspec.structs.replace(case, file=_shown(case.file))


def _shown(file: str | None) -> str | None:
    return shown_path(Path(file), Path.cwd()) if file else None


def _pages(store: Store, run_id: str) -> Iterator[Sequence[CaseLine]]:
    query = CaseQuery(run_id=run_id, limit=_CASES_AT_ONCE)
    while True:
        page = store.query_cases(query)
        yield page.items
        if page.next is None:
            return
        query = msgspec.structs.replace(query, cursor=page.next)


@contextmanager
def written_file(path: Path) -> Iterator[BinaryIO]:
    """A file that is replaced as a whole, in a folder that is made if necessary; a pipe or device is written to."""
    is_file = path.is_file() or not path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _replaced(path) if is_file else path.open("wb") as file:
            yield file
    except OSError as error:
        why = f"{path.parent} is not a folder" if isinstance(error, FileExistsError) else error.strerror or error
        raise ConfigurationError(f"{path}: cannot write the file: {why}. Choose another path with -o.") from None


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """As if the file was written to in place: a link stays one, permissions stay, and a read-only file is refused."""
    there = path.exists()
    with atomic(path.resolve() if there else path) as file:
        if there:
            with path.open("ab") as old:
                os.fchmod(file.fileno(), stat.S_IMODE(os.fstat(old.fileno()).st_mode))
        yield file
