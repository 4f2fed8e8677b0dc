"""A run's files: exports of the store that can be made again from it at any time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from prompt_evaluator.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prompt_evaluator.model import JudgeConfig, ModelConfig, Preparation, PromptRef, Rubric, RunRecord, Target
    from prompt_evaluator.model.result import CaseResult, RunResult

MAIN_FILE = "dataset_evaluation.json"
INDEX_FILE = "index.json"
_PLAIN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_encode = msgspec.json.Encoder().encode


class CaseFiles:
    """File names for ids of any kind, none of which can leave the folder or meet another one's."""

    def __init__(self, case_ids: Iterable[str]) -> None:
        """Take all ids of a run: two that differ in letter case only are one file on some disks."""
        seen: set[str] = set()
        self._clashing: set[str] = set()
        for case_id in case_ids:
            folded = case_id.casefold()
            (self._clashing if folded in seen else seen).add(folded)

    def name(self, case_id: str) -> str:
        """`test_case_<id>.json`; with a hash behind a `~`, which no plain id contains, where the id is no file name."""
        if _PLAIN_ID.fullmatch(case_id) and case_id.casefold() not in self._clashing:
            return f"test_case_{case_id}.json"
        readable = re.sub(r"[^A-Za-z0-9_.-]+", "_", case_id)[:60]
        return f"test_case_{readable}~{hashlib.sha256(case_id.encode()).hexdigest()[:12]}.json"


class RunFolder:
    """Where one run's files are."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self.path = Path(record.plan.output_dir) / record.plan.run_id
        self.main_file = self.path / MAIN_FILE
        self._folder_text = str(self.path)

    def make_parent(self) -> None:
        """Make sure that there is a place for the folder, before there is a run that needs it."""
        with _sentences(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)

    def make(self) -> None:
        with _sentences(self.path):
            self.path.mkdir(parents=True, exist_ok=True)

    def create(self) -> None:
        """Make the folder and say that the run is under way."""
        self.make()
        writer = self.main_writer()
        try:
            writer.finish(None, self._record)
        finally:
            writer.discard()

    def write_case(self, name: str, result: CaseResult) -> None:
        # Plain calls instead of `_replace`: there may be thousands of these a second, beside a busy event loop.
        data = msgspec.json.format(_encode(result), indent=2) + b"\n"
        temporary = f"{self._folder_text}/.{name}.tmp"
        with _sentences(self.path):
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            try:
                while data := data[os.write(descriptor, data) :]:
                    pass
            finally:
                os.close(descriptor)
            os.rename(temporary, f"{self._folder_text}/{name}")  # noqa: PTH104 - a Path costs more than the call

    def main_writer(self) -> MainFile:
        return MainFile(self.path)


class MainFile:
    """The main artifact, written as cases come: its head needs the totals, so the cases wait in a file of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with _sentences(folder):
            self._body: BinaryIO = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `discard`
        self._count = 0

    def add(self, case: CaseResult) -> None:
        with _sentences(self._folder):
            self._body.write((b",\n    " if self._count else b"\n    ") + _encode(case))
        self._count += 1

    def finish(self, result: RunResult | None, record: RunRecord, prepared: Sequence[Preparation] = ()) -> None:
        head = msgspec.json.format(_encode(_head(record, prepared)), indent=2).removesuffix(b"\n}")
        tail = msgspec.json.format(_encode(_tail(record, result)), indent=2).removeprefix(b"{\n")
        with _sentences(self._folder), _atomic(self._folder / MAIN_FILE) as file:
            file.write(head + b',\n  "test_case_results": [')
            self._body.seek(0)
            shutil.copyfileobj(self._body, file, 1 << 20)
            file.write((b"\n  ],\n" if self._count else b"],\n") + tail + b"\n")

    def discard(self) -> None:
        with suppress(OSError):  # closing writes what is left, and a full disk has been reported already
            self._body.close()


def _head(record: RunRecord, prepared: Sequence[Preparation]) -> dict[str, Any]:
    plan = record.plan
    return {
        "run_id": plan.run_id,
        "dataset_path": plan.dataset.path,
        "dataset_hash": f"sha256:{plan.dataset.hash}",
        "dataset_count": plan.dataset.count,
        "dataset_selected": plan.dataset.selected,
        "num_samples_per_case": plan.num_samples,
        "status": record.status,
        "timestamp_start": record.started_at,
        "timestamp_end": record.ended_at,
        "duration_seconds": _duration(record),
        "stop_reason": record.stop_reason,
        "system_prompt_path": plan.target.prompt.path if plan.target.prompt else None,
        "prompt_version_id": plan.target.prompt.version if plan.target.prompt else None,
        "prompt_hash": _hash(plan.target.prompt),
        "run_notes": plan.note,
        "tags": plan.tags,
        "group_id": plan.group_id,
        "parent_run_id": plan.parent_run_id,
        "synthetic": plan.synthetic,
        "filters": plan.filters,
        "template": plan.target.template,
        "context_template": plan.target.context_template,
        "generator_config": _target(plan.target),
        "judge_config": _judge(plan.judge) if plan.judge else None,
        "judge_configs": {name: _judge(judge) for name, judge in plan.judges.items()},
        "rubric_metadata": _rubric(plan.rubric),
        "metrics_config": [*plan.metrics] or None,
        "prepared_metrics": _prepared(prepared),
        "reducers": plan.reducers,
    }


def _tail(record: RunRecord, result: RunResult | None) -> dict[str, Any]:
    return {
        "overall_metric_stats": result.overall_metric_stats if result else {},
        "overall_flag_stats": result.overall_flag_stats if result else {},
        "totals": result.totals if result else None,
        "worst_cases": result.worst if result else [],
        "flakiest_cases": result.flakiest if result else [],
        "fail_under": record.plan.fail_under,
    }


def _duration(record: RunRecord) -> float | None:
    """From the first start to the end; a run that was resumed includes the time in between."""
    if record.ended_at is None:
        return None
    start, end = (datetime.fromisoformat(text) for text in (record.started_at, record.ended_at))
    return round((end - start).total_seconds(), 3)


def _model(config: ModelConfig) -> dict[str, Any]:
    return {
        "model": config.model,
        "temperature": config.temperature,
        "max_tokens": config.max_tokens,
        "seed": config.seed,
        "params": config.params,
    }


def _target(target: Target) -> dict[str, Any]:
    return {**_model(target), "render_prompt": target.render_prompt, "attempts": target.attempts}


def _prepared(prepared: Sequence[Preparation]) -> list[dict[str, Any]]:
    """What a judge wrote once for a metric. Runs in which the hash is the same were judged by the same criteria."""
    return [
        {
            "metric": made.metric,
            "options": made.options,
            "hash": f"sha256:{hashlib.sha256(_encode(made.options)).hexdigest()}",
            "reused": made.reused,
        }
        for made in sorted(prepared, key=lambda made: made.metric)
        if made.options
    ]


def _judge(config: JudgeConfig) -> dict[str, Any]:
    return {**_model(config), "repeats": config.repeats, "system_prompt": config.system_prompt}


def _rubric(rubric: Rubric | None) -> dict[str, Any] | None:
    if rubric is None:
        return None
    return {
        "rubric_name": rubric.name,
        "rubric_path": rubric.path,
        "rubric_hash": _hash(rubric),
        "metrics": rubric.metrics,
        "flags": rubric.flags,
    }


def _hash(part: PromptRef | Rubric | None) -> str | None:
    return f"sha256:{part.hash}" if part else None


def update_index(record: RunRecord, result: RunResult | None) -> None:
    """Keep `index.json` in the output folder: one entry a run, whoever else is writing to it."""
    _write_index(record, _index_entry(record, result))


def forget_in_index(record: RunRecord) -> None:
    if (Path(record.plan.output_dir) / INDEX_FILE).exists():
        _write_index(record, None)


def _write_index(record: RunRecord, entry: dict[str, Any] | None) -> None:
    folder = Path(record.plan.output_dir)
    path = folder / INDEX_FILE
    with _sentences(folder), _locked(folder / ".index.lock"):
        runs = [entry for entry in _entries(path) if entry.get("run_id") != record.plan.run_id]
        runs += [entry] if entry else []
        runs.sort(key=lambda entry: str(entry.get("timestamp_start")))
        _replace(path, msgspec.json.format(_encode({"runs": runs}), indent=2) + b"\n")


def _index_entry(record: RunRecord, result: RunResult | None) -> dict[str, Any]:
    plan = record.plan
    return {
        "run_id": plan.run_id,
        "description": plan.note,
        "status": record.status,
        "timestamp_start": record.started_at,
        "timestamp_end": record.ended_at,
        "dataset_hash": f"sha256:{plan.dataset.hash}",
        "rubric_hash": _hash(plan.rubric),
        "prompt_hash": _hash(plan.target.prompt),
        "prompt_version_id": plan.target.prompt.version if plan.target.prompt else None,
        "generator_model": plan.target.model,
        "judge_model": plan.judge.model if plan.judge else None,
        "num_samples_per_case": plan.num_samples,
        "tags": plan.tags,
        "synthetic": plan.synthetic,
        "overall_metrics": result.overall_metric_stats if result else {},
        "overall_flags": result.overall_flag_stats if result else {},
    }


def _entries(path: Path) -> list[dict[str, Any]]:
    """What the index says now. One that cannot be read is put aside, never overwritten."""
    try:
        return msgspec.convert(msgspec.json.decode(path.read_bytes())["runs"], list[dict[str, Any]])
    except FileNotFoundError:
        return []
    except (msgspec.MsgspecError, KeyError, TypeError, UnicodeDecodeError, RecursionError):
        path.replace(path.with_name("index.unreadable.json"))
        return []


def _replace(path: Path, data: bytes) -> None:
    with _sentences(path.parent), _atomic(path) as file:
        file.write(data)


@contextmanager
def _atomic(path: Path) -> Iterator[BinaryIO]:
    """A file that is either the old one or the new one, whatever happens in between.

    Only one process writes a file at a time, so what a killed one left behind is written over by the next.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _sentences(folder: Path) -> Iterator[None]:
    """What the disk says, as a sentence. The store has everything; only the files are missing."""
    try:
        yield
    except OSError as error:
        what = f"The run's files cannot be written in {folder}: {error.strerror or error}."
        raise StoreError(
            f"{what} Make room or choose another folder with -o; what was paid for is in the store."
        ) from None
