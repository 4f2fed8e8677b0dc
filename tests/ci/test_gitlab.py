"""The job for GitLab, as the page shows it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from composite_action import ROOT
from doc_pages import blocks
from entries import each

PAGE = ROOT / "docs" / "how-to" / "evaluate-on-gitlab.md"
JOB = yaml.safe_load(next(block.text for block in blocks(PAGE) if block.kind == "yaml"))["evaluate"]
[NOTE] = JOB["after_script"]
CURL = """#!{python}
import json, os, pathlib, sys

path = pathlib.Path(os.environ["FAKE_GITLAB"])
notes = json.loads(path.read_text())
words = sys.argv[1:]
address = words[-1]
assert "PRIVATE-TOKEN: secret" in words
method = words[words.index("--request") + 1] if "--request" in words else "GET"
data = words[words.index("--data-urlencode") + 1] if "--data-urlencode" in words else None
body = pathlib.Path(data.partition("@")[2]).read_text() if data else None
if method == "POST":
    assert address.endswith("/projects/5/merge_requests/7/notes")
    notes.append(dict(id=len(notes) + 1, author=dict(id=42), body=body))
elif method == "PUT":
    next(note for note in notes if note["id"] == int(address.rpartition("/")[2]))["body"] = body
else:
    print(json.dumps(dict(id=42) if address.endswith("/user") else notes))
path.write_text(json.dumps(notes))
"""


class MergeRequest:
    def __init__(self, folder: Path) -> None:
        self._folder, self._notes = folder, folder / "notes.json"
        self.save([])
        (folder / "curl").write_text(CURL.format(python=sys.executable), encoding="utf-8")
        (folder / "curl").chmod(0o755)

    @property
    def notes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self._notes.read_text(encoding="utf-8"))
        return found

    def save(self, notes: list[dict[str, Any]]) -> None:
        self._notes.write_text(json.dumps(notes), encoding="utf-8")

    def note(self, text: str, **environment: str) -> None:
        (self._folder / "note.md").write_text(text, encoding="utf-8")
        known = {
            "PATH": os.pathsep.join([str(self._folder), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "FAKE_GITLAB": str(self._notes),
            "CI_MERGE_REQUEST_IID": "7",
            "CI_PROJECT_ID": "5",
            "CI_API_V4_URL": "https://gitlab.example/api/v4",
            "GITLAB_TOKEN": "secret",
            **environment,
        }
        subprocess.run(["bash", "-e", "-c", NOTE], cwd=self._folder, env=known, check=True)


@each("script", [*JOB["script"], *JOB["after_script"]])
def test_every_script_is_valid_in_any_shell(script: str) -> None:
    for shell in ("bash", "sh"):
        done = subprocess.run([shell, "-n"], input=script, text=True, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_first_note_is_created_and_then_replaced(tmp_path: Path) -> None:
    request = MergeRequest(tmp_path)
    request.note("<!-- marker -->\nfirst")
    request.note("<!-- marker -->\nsecond")
    request.note("<!-- another marker -->\nother suite")

    assert [note["body"] for note in request.notes] == [
        "<!-- marker -->\nsecond",
        "<!-- another marker -->\nother suite",
    ]


def test_somebody_elses_note_with_our_marker_is_left_alone(tmp_path: Path) -> None:
    request = MergeRequest(tmp_path)
    theirs = {"id": 1, "author": {"id": 13}, "body": "<!-- marker -->\ntheirs"}
    request.save([theirs])
    request.note("<!-- marker -->\nours")

    assert request.notes[0] == theirs
    assert len(request.notes) == 2


@pytest.mark.parametrize("missing", ["CI_MERGE_REQUEST_IID", "GITLAB_TOKEN"])
def test_without_a_merge_request_or_a_token_there_is_no_note(tmp_path: Path, missing: str) -> None:
    request = MergeRequest(tmp_path)
    request.note("<!-- marker -->", **{missing: ""})

    assert request.notes == []


def test_results_are_shown_as_tests_also_if_the_job_failed() -> None:
    assert JOB["artifacts"]["reports"] == {"junit": "report.junit.xml"}
    assert JOB["artifacts"]["when"] == "always"
