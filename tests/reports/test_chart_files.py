"""The script that draws charts in a page."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.reports.chart_files import can_draw, javascript_bundle

if TYPE_CHECKING:
    from pathlib import Path

BUNDLE = "from prompt_evaluator.reports.chart_files import javascript_bundle; print(len(javascript_bundle()))"


def test_the_script_is_made_once_and_kept_for_this_version(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")}

    made = javascript_bundle(environment)

    (kept,) = (tmp_path / "cache" / "prompt-evaluator").iterdir()
    assert "vegaEmbed" in made
    assert kept.read_text("utf-8") == made
    kept.write_text("/* ours */" + made, "utf-8")
    assert javascript_bundle(environment).startswith("/* ours */")


def test_half_a_script_is_made_again(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    made = javascript_bundle(environment)
    (kept,) = (tmp_path / "prompt-evaluator").iterdir()
    kept.write_text(made[: len(made) // 2], "utf-8")

    assert javascript_bundle(environment) == made
    assert kept.read_text("utf-8") == made


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "prompt-evaluator").write_text("a file where the folder should be", "utf-8")

    assert "vegaEmbed" in javascript_bundle({"XDG_CACHE_HOME": str(tmp_path)})


def test_a_relative_cache_folder_is_ignored(tmp_path: Path) -> None:
    javascript_bundle({"XDG_CACHE_HOME": "relative", "HOME": str(tmp_path)})

    assert list((tmp_path / ".cache" / "prompt-evaluator").iterdir())


def test_two_processes_make_the_script_at_once(tmp_path: Path) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": ""}
    both = [
        subprocess.Popen([sys.executable, "-c", BUNDLE], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]

    sizes = {process.communicate()[0] for process in both}

    (kept,) = (tmp_path / "prompt-evaluator").iterdir()
    assert sizes == {f"{len(kept.read_text('utf-8'))}\n"}


def test_without_the_extra_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)

    assert not can_draw()
    with pytest.raises(ConfigurationError, match=r"pip install 'prompt-verdict\[charts\]'"):
        javascript_bundle()


def test_making_a_chart_does_not_load_what_draws_it() -> None:
    program = (
        "import sys; import prompt_evaluator.reports.charts, "
        "prompt_evaluator.reports.chart_files as files; print(files.can_draw(), 'vl_convert' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "True False\n"
