"""The runs in `history.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import InputError, InputNotFoundError
from prompt_evaluator.harness.decoding import decoded, in_sentence, refuse_repeated_keys, wrong
from prompt_evaluator.model.harness import HarnessRun, HarnessSummary
from prompt_evaluator.syntax.source import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_entries = msgspec.json.Decoder(list[msgspec.Raw]).decode
_run = msgspec.json.Decoder(HarnessRun).decode


class RunHead(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A run without its evaluations."""

    run_id: str
    timestamp: str
    summaries: tuple[HarnessSummary, ...]


_head = msgspec.json.Decoder(RunHead).decode


class History:
    """All runs, oldest first. Holds the bytes of the file, and decodes a run each time it is asked for."""

    def __init__(self, entries: Sequence[msgspec.Raw], data: bytes) -> None:
        """Take entries that are known to be valid, and the whole file that they are in."""
        self._entries, self.data = entries, data

    def __len__(self) -> int:
        return len(self._entries)

    def run(self, at: int) -> HarnessRun:
        """The run at an index; negative ones count from the newest."""
        return _run(self._entries[at])

    def heads(self) -> Iterator[RunHead]:
        """All runs without their evaluations, which takes far less memory."""
        return (_head(entry) for entry in self._entries)


def read_history(results_folder: Path) -> History:
    """Read the history; it has no runs if there is no file.

    Raises:
        ResultsFileError: It is not a list of runs: damaged, of other types, or with a key twice in one object.
    """
    path = results_folder / "history.json"
    data = read_results(path)
    return History([], b"") if data is None else decode_history(path, data)


def decode_history(path: Path, data: bytes) -> History:
    """Check all of a history."""
    entries = decoded(_entries, data, path)
    for at, entry in enumerate(entries, start=1):
        check_run(bytes(entry), path, f"Run {at:,} of {len(entries):,}")
    return History(entries, data)


def read_run_file(path: Path) -> HarnessRun:
    """Read one run from a `latest.json`, or from a `history.json`, of which it is the newest.

    Raises:
        InputNotFoundError: There is no such file.
        ResultsFileError: There is no run in it.
    """
    data = read_bytes(path)
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return check_run(data, path)
    history = decode_history(path, data)
    if not len(history):
        raise wrong("The list has no runs", path)
    return history.run(-1)


def check_run(raw: bytes, path: Path, where: str = "") -> HarnessRun:
    """Decode a run and check what types cannot say."""
    run = decoded(_run, raw, path, where)
    refuse_repeated_keys(raw, path, where)
    ids = [summary.config_id for summary in run.summaries]
    if repeated := next((each for each in ids if ids.count(each) > 1), None):
        raise wrong(f"{where or 'The run'} has two summaries of the configuration {repeated[:60]!r}", path)
    return run


def read_results(path: Path) -> bytes | None:
    """Read a file of the results; None if there is none."""
    try:
        return read_bytes(path)
    except InputNotFoundError:
        if path.is_symlink():
            raise wrong("The path is a symbolic link to a file that does not exist", path) from None
        return None
    except InputError as error:
        raise in_sentence(error) from None
