"""Paths that lead to no file, or to something that only looks like one."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from entries import each

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable


def _directory(path: Path) -> None:
    path.mkdir()


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


def _broken_link(path: Path) -> None:
    path.symlink_to(path.with_name("gone"))


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _nothing(_: Path) -> None:
    """A missing file."""


@each("name", ["x.jsonl", "x.yaml", "x.json"])
@each(
    ("make", "says"),
    [
        (_directory, "is a directory, not a file"),
        (_fifo, "is a FIFO, not a file"),
        (_device, "is a device, not a file"),
        (_socket, "is a socket, not a file"),
        (_broken_link, "symbolic link to a file that does not exist"),
        (_loop, "cannot be read"),
        (_nothing, "file not found"),
    ],
)
def test_what_is_not_a_file_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, make: Callable[[Path], None], says: str
) -> None:
    path = tmp_path / make.__name__ / name
    path.parent.mkdir(exist_ok=True)
    monkeypatch.chdir(path.parent)  # the name of a socket has to be short
    make(path)

    with pytest.raises(InputError, match=says):
        open_dataset(path)
    found = survey(path)

    assert [says in str(problem) for problem in found.problems] == [True]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("file/x.jsonl", "cannot be read: Not a directory"),
        ("x" * 300 + ".jsonl", "cannot be read: File name too long"),
        ("nul\0.jsonl", "cannot be read: .*embedded null"),
    ],
    ids=["inside a file", "too long", "nul"],
)
def test_a_path_that_cannot_be_followed_is_refused(tmp_path: Path, path: str, says: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(InputError, match=says):
        load_dataset(tmp_path / path)


def test_a_file_name_that_is_not_utf8_gives_ids_that_can_be_written(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/code\xff.json"))
    path.write_text('[{"prompt": "x"}]')

    dataset = open_dataset(path)

    assert [case.id for case in dataset.cases] == ["code\ufffd-1"]
    assert dataset.name == "code\ufffd"
