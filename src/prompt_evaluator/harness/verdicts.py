"""`results/gate.json`: every verdict of the gate, so that a later gate can compare with the last run that passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.harness.decoding import decoded, refuse_repeated_keys
from prompt_evaluator.harness.files import locked, replace
from prompt_evaluator.harness.history import read_results
from prompt_evaluator.model.harness import RecordedVerdict

if TYPE_CHECKING:
    from pathlib import Path

_FILE = "gate.json"
_entries = msgspec.json.Decoder(list[msgspec.Raw]).decode
_verdict = msgspec.json.Decoder(RecordedVerdict).decode


def read_verdicts(results_folder: Path) -> list[RecordedVerdict]:
    """All verdicts, oldest first.

    Raises:
        ResultsFileError: The file cannot be read.
    """
    return [decoded(_verdict, bytes(each), results_folder / _FILE) for each in _read(results_folder)]


def record_verdict(results_folder: Path, verdict: RecordedVerdict) -> None:
    """Append a verdict. Those that are there are kept, with whatever keys they have."""
    with locked(results_folder):
        entries = [bytes(each) for each in _read(results_folder)]
        text = b",\n".join([*entries, msgspec.json.encode(verdict)])
        replace(results_folder / _FILE, [b"[\n", text, b"\n]\n"])


def _read(results_folder: Path) -> list[msgspec.Raw]:
    path = results_folder / _FILE
    data = read_results(path)
    if data is None:
        return []
    entries = decoded(_entries, data, path)
    for at, entry in enumerate(entries, start=1):
        where = f"Verdict {at:,} of {len(entries):,}"
        decoded(_verdict, bytes(entry), path, where)
        refuse_repeated_keys(bytes(entry), path, where)
    return entries
