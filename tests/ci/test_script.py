"""The script that the page on scripts shows."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from composite_action import ROOT
from doc_pages import blocks
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs" / "how-to" / "evaluate-in-a-script.md"


def test_it_ends_with_the_code_of_the_evaluation_and_leaves_reports(tmp_path: Path) -> None:
    project = Workspace(tmp_path)
    project.run("init")
    [script] = [block.text for block in blocks(PAGE) if block.kind == "sh"]
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, env=project.environment, capture_output=True, check=False
    )

    assert done.returncode == 1, done.stderr
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "report.junit.xml").exists()
