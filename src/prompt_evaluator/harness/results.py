"""A stand-in until the harness's files are written for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import InputError
from prompt_evaluator.model.harness import HarnessRun

if TYPE_CHECKING:
    from pathlib import Path


def check_history(results: Path) -> None:
    read_history(results)


def read_history(results: Path) -> tuple[HarnessRun, ...]:
    path = results / "history.json"
    if not path.exists():
        return ()
    try:
        return msgspec.json.decode(path.read_bytes(), type=tuple[HarnessRun, ...])
    except msgspec.DecodeError as error:
        raise InputError(f"The history cannot be read: {error}", path=path, advice="Repair it.") from None


def add_run(results: Path, run: HarnessRun) -> None:
    before = read_history(results)
    results.mkdir(parents=True, exist_ok=True)
    (results / "latest.json").write_bytes(msgspec.json.encode(run))
    (results / "history.json").write_bytes(msgspec.json.encode([*before, run]))
