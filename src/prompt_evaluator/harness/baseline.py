"""Runs to compare with that are not in the history: a file, or the one that a person pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.harness.decoding import decoded, refuse_repeated_keys, wrong
from prompt_evaluator.harness.files import locked, replace
from prompt_evaluator.harness.history import check_run, decode_history, read_results
from prompt_evaluator.harness.results import without_outputs
from prompt_evaluator.model.harness import PinnedBaseline
from prompt_evaluator.syntax.source import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.harness import HarnessRun


class _Pin(msgspec.Struct, rename="camel"):
    """A pinned run whose run is checked like any other."""

    run: msgspec.Raw
    pinned_at: str
    note: str | None = None


_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_pin = msgspec.json.Decoder(_Pin).decode


def read_run_file(path: Path) -> HarnessRun:
    """Read one run from a `latest.json`, a `baseline.json`, or a `history.json`, of which it is the newest.

    Raises:
        InputNotFoundError: There is no such file.
        ResultsFileError: There is no run in it.
    """
    read_bytes(path)  # a file that was named and is missing is another mistake than one that cannot be read
    data = read_results(path) or b""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        history = decode_history(path, data)
        if not len(history):
            raise wrong("The list has no runs", path)
        return history.run(-1)
    if "run" in decoded(_keys, data, path):
        return _decode_pin(path, data).run
    return check_run(data, path)


def read_pinned(path: Path) -> PinnedBaseline | None:
    """Read `evals/baseline.json`; None if no run is pinned."""
    data = read_results(path)
    return None if data is None else _decode_pin(path, data)


def pin_run(path: Path, results_folder: Path, pinned: PinnedBaseline) -> None:
    """Write `evals/baseline.json`. The run is kept whole, without outputs, so that it needs no history."""
    kept = msgspec.structs.replace(pinned, run=without_outputs(pinned.run))
    with locked(results_folder):
        replace(path, [msgspec.json.format(msgspec.json.encode(kept), indent=2), b"\n"])


def _decode_pin(path: Path, data: bytes) -> PinnedBaseline:
    pin = decoded(_pin, data, path)
    refuse_repeated_keys(data, path, "")
    return PinnedBaseline(run=check_run(bytes(pin.run), path), pinned_at=pin.pinned_at, note=pin.note)
