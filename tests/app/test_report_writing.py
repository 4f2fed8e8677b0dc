"""Files that reports are written to: all of them can be written, or none is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prompt_evaluator.app.report_files import written_file
from prompt_evaluator.app.report_writing import report_files
from prompt_evaluator.errors import ConfigurationError


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("report.pdf", "report.pdf: the end of the file name says which format to write. Use one of .html, .md, "),
        ("report.hmtl", "Did you mean .html?"),
        ("report", "report: the end of the file name says which format to write."),
        ("folder.html", "folder.html is a folder. Give the path of a file with -o."),
        ("file.txt/report.html", "file.txt is not a folder. Choose another path with -o."),
        ("./good.html", "good.html is given twice."),
        (f"{'x' * 300}.html", "cannot write the file: File name too long. Choose another path with -o."),
        ("a\x00b.html", "cannot write the file: "),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_in_a_sentence(here: Path, output: str, sentence: str) -> None:
    (here / "folder.html").mkdir()
    (here / "file.txt").touch()

    with pytest.raises(ConfigurationError) as caught:
        report_files([Path("good.html"), Path(output)])

    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("r.html", ("html", None)),
        ("r.HTM", ("html", None)),
        ("r.md", ("markdown", None)),
        ("r.json", ("json", None)),
        ("r.csv", (None, "csv")),
        ("r.jsonl", (None, "jsonl")),
        ("r.xml", (None, "junit")),
        ("r.junit.xml", (None, "junit")),
        ("new/folder/r.csv", (None, "csv")),
    ],
)
def test_the_end_of_the_name_decides_the_format(here: Path, name: str, kinds: tuple[str | None, str | None]) -> None:
    (file,) = report_files([here / name])

    assert (file.page, file.table) == kinds
    assert not (here / "new").exists()


def test_a_file_is_replaced_as_a_whole_or_not_at_all(here: Path) -> None:
    path = here / "report.html"
    path.write_text("before")

    def fail() -> None:
        with written_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "before"
    assert [each.name for each in here.iterdir()] == ["report.html"]


def test_the_file_that_a_link_leads_to_is_replaced_and_keeps_its_permissions(here: Path) -> None:
    path, link = here / "report.html", here / "link.html"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)

    with written_file(link) as file:
        file.write(b"after")

    assert link.is_symlink()
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_read_only_file_is_refused_and_stays(here: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write to every file")
    path = here / "report.html"
    path.write_text("before")
    path.chmod(0o444)

    with pytest.raises(ConfigurationError, match="cannot write the file: Permission denied"), written_file(path):
        pass
    assert path.read_text() == "before"


def test_a_pipe_is_written_to_and_not_replaced(here: Path) -> None:
    pipe = here / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    with written_file(pipe) as file:
        file.write(b"x")

    assert os.read(reader, 10) == b"x"
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("path", [Path("/proc/report.html"), Path("/dev/full/report.html")])
def test_a_folder_that_cannot_be_written_to_is_a_sentence(path: Path) -> None:
    def write() -> None:
        with written_file(path) as file:
            file.write(b"x")

    with pytest.raises(ConfigurationError, match=f"^{path}: cannot write the file: .*Choose another path with -o.$"):
        write()
