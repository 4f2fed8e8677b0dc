"""Makes the example reports: on one run, and on two compared, as HTML files that are the same every time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

EXAMPLE = Path(__file__).parents[1] / "examples" / "library"
RUN, COMPARE = "run", "compare"
_BOTH = ("--dataset", "library", "--fail-under", "correct=4")
_VERSIONS = (
    ("--system-prompt", "v1", "--prompt-version", "v1", "--param", "simulated_latency_ms=640"),
    (
        "--system-prompt",
        "v2",
        "--prompt-version",
        "v2",
        "--generator-model",
        "large/assistant",
        "--param",
        "simulated_latency_ms=810",
    ),
)
_IDS = ("3f9c1e07-52ab-4d18-9c60-7be4a1d20f55", "b81d64f2-0e93-47c5-8a7d-15f0c9e3682a")
_FOLDER = "/home/me/library"
_TIME = re.compile(r"\d{4}-\d\d-\d\d(T|&nbsp;| )\d\d:\d\d(:\d\d(\.\d+)?Z| UTC)")
_BAR_MISSED = 1


def make_reports(folder: Path) -> dict[str, Path]:
    """Evaluate two versions of the example's prompt, offline, and write a report on the first and one on both."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {name: folder / f"{name}.html" for name in (RUN, COMPARE)}
    with TemporaryDirectory() as temporary:
        project = Path(temporary).resolve() / "library"
        shutil.copytree(EXAMPLE, project, ignore=shutil.ignore_patterns("runs", ".prompt_evaluator"))
        ids = [_evaluate(project, version) for version in _VERSIONS]
        _command(project, "report", ids[0], "-o", f"{RUN}.html")
        _command(project, "report", *ids, "-o", f"{COMPARE}.html")
        for path in written.values():
            made = (project / path.name).read_text("utf-8")
            path.write_text(_settled(made, project, ids), "utf-8")
    return written


def _evaluate(project: Path, version: tuple[str, ...]) -> str:
    said = _command(project, "evaluate-dataset", *_BOTH, *version, "--json")
    return str(json.loads(said)["run_id"])


def _command(project: Path, *arguments: str) -> str:
    """Run the command as a user would: found on PATH, and without settings from elsewhere."""
    programs = Path(sys.executable).parent
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PROMPT_EVALUATOR_")}
    done = subprocess.run(  # noqa: S603 - our own command
        [programs / "prompt-evaluator", *arguments],
        cwd=project,
        env={**kept, "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, _BAR_MISSED):
        raise SystemExit(f"prompt-evaluator {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def _settled(page: str, project: Path, ids: list[str]) -> str:
    """Replace what differs each time: ids, times and the folder; but not in the scripts that follow."""
    said, end, scripts = page.partition("</footer>")
    for made, settled in zip(ids, _IDS, strict=True):
        said = said.replace(made, settled).replace(made[:8], settled[:8])
    said = said.replace(str(project), _FOLDER)
    said = _TIME.sub(lambda found: f"2026-03-02{found[1]}09:30{':00Z' if found[2].endswith('Z') else ' UTC'}", said)
    return said + end + scripts
