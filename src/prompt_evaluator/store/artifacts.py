"""A run's files: exports that can be rebuilt from the store at any time."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model.outcome import MAIN_FILE
from prompt_evaluator.store.documents import index_entry
from prompt_evaluator.store.files import atomic, locked, own_ending, remove_unfinished, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.result import CaseResult, RunResult

INDEX_FILE = "index.json"
_PLAIN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_encode = msgspec.json.Encoder().encode


class CaseFiles:
    """Safe, unique file names for arbitrary case ids."""

    def __init__(self, case_ids: Iterable[str]) -> None:
        """Collect all ids of a run, because ids that differ only in case share a file on some file systems."""
        seen: set[str] = set()
        self._clashing: set[str] = set()
        for case_id in case_ids:
            folded = case_id.casefold()
            (self._clashing if folded in seen else seen).add(folded)

    def name(self, case_id: str) -> str:
        """`test_case_<id>.json`; if the id is not a safe name, with a hash after a `~`, which no safe id contains."""
        if _PLAIN_ID.fullmatch(case_id) and case_id.casefold() not in self._clashing:
            return f"test_case_{case_id}.json"
        readable = re.sub(r"[^A-Za-z0-9_.-]+", "_", case_id)[:60]
        return f"test_case_{readable}~{hashlib.sha256(case_id.encode()).hexdigest()[:12]}.json"


def case_line(result: CaseResult) -> bytes:
    """Encode a case as one line of JSON."""
    return _encode(result)


def case_text(line: bytes) -> bytes:
    """Format a case for its own file."""
    return msgspec.json.format(line, indent=2)


class RunFolder:
    """The folder of one run's files."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self.path = Path(record.plan.output_dir) / record.plan.run_id
        self.main_file = self.path / MAIN_FILE
        self._folder_text, self._ending = str(self.path), own_ending()

    def make_parent(self) -> None:
        """Create the output folder, to find out that it cannot be written before the run exists."""
        with sentences(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)

    def make(self) -> None:
        """Create the folder for a new owner of the run; from then on, earlier ones cannot finish their writes."""
        with sentences(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            remove_unfinished(self.path)

    def write_case(self, name: str, data: bytes) -> None:
        # System calls instead of `_replace`: there may be thousands per second, next to a busy event loop.
        temporary = f"{self._folder_text}/.{name}{self._ending}"
        with sentences(self.path):
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            try:
                while data := data[os.write(descriptor, data) :]:
                    pass
            finally:
                os.close(descriptor)
            os.rename(temporary, f"{self._folder_text}/{name}")  # noqa: PTH104 - making a Path costs more than the call


def update_index(record: RunRecord, result: RunResult | None) -> None:
    """Update the run's entry in the output folder's `index.json`; safe with concurrent writers."""
    _write_index(record, index_entry(record, result))


def forget_in_index(record: RunRecord) -> None:
    if (Path(record.plan.output_dir) / INDEX_FILE).exists():
        _write_index(record, None)


def _write_index(record: RunRecord, entry: dict[str, Any] | None) -> None:
    folder = Path(record.plan.output_dir)
    path = folder / INDEX_FILE
    with sentences(folder), locked(folder / ".index.lock"):
        runs = [entry for entry in _entries(path) if entry.get("run_id") != record.plan.run_id]
        runs += [entry] if entry else []
        runs.sort(key=lambda entry: str(entry.get("timestamp_start")))
        _replace(path, msgspec.json.format(_encode({"runs": runs}), indent=2) + b"\n")


def _entries(path: Path) -> list[dict[str, Any]]:
    """Return the entries of the index. An unreadable index is renamed, never overwritten."""
    try:
        return msgspec.convert(msgspec.json.decode(path.read_bytes())["runs"], list[dict[str, Any]])
    except FileNotFoundError:
        return []
    except (msgspec.MsgspecError, KeyError, TypeError, UnicodeDecodeError, RecursionError):
        path.replace(path.with_name("index.unreadable.json"))
        return []


def _replace(path: Path, data: bytes) -> None:
    with sentences(path.parent), atomic(path) as file:
        file.write(data)
