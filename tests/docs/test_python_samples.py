"""Every Python sample of the documentation runs, offline, in a new folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path

import pytest
from doc_pages import SERVER
from served import Served

from prompt_evaluator.app.init import create_project

ROOT = Path(__file__).parents[2]
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_YAML_FILE = re.compile(r"^```yaml\n(# (\S+\.yaml)\b.*?)^```$", re.MULTILINE | re.DOTALL)
_OPTIONAL = ("pandas", "polars")


def samples(page: Path) -> list[str]:
    missing = [f"to_{name}" for name in _OPTIONAL if find_spec(name) is None]
    blocks = _PYTHON.findall(page.read_text(encoding="utf-8"))
    return [block for block in blocks if not any(word in block for word in missing)]


PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if samples(page) and "reference" not in page.parts
]


def test_the_page_about_python_has_samples() -> None:
    assert len(samples(ROOT / "docs" / "how-to" / "use-from-python.md")) >= 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_samples_of_a_page_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    if page.name == "README.md":  # by then its reader is in a new project, and elsewhere in a clone
        create_project(tmp_path)
    else:
        for folder in ("examples", "prompts"):
            shutil.copytree(ROOT / folder, tmp_path / folder)
    for text, name in _YAML_FILE.findall(page.read_text(encoding="utf-8")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    text = "\n\n".join(samples(page))
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with ExitStack() as stack:
        if SERVER in text:
            server = stack.enter_context(closing(Served(tmp_path, "--port", "0", environment=kept)))
            text = text.replace(SERVER, server.address)
        (tmp_path / "page.py").write_text(text, encoding="utf-8")
        done = _run(tmp_path, kept)

    assert done.returncode == 0, done.stdout + done.stderr


def _run(folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "page.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
