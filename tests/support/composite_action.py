"""Runs the steps of a composite GitHub Action as GitHub does, with a `gh` that knows comments, runs and artifacts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")

GH = """#!{python}
import json, os, pathlib, shutil, subprocess, sys

state = pathlib.Path(os.environ["FAKE_GH"])
found = json.loads((state / "state.json").read_text())
words = sys.argv[1:]

def after(*flags):
    return next((words[at + 1] for at, word in enumerate(words) if word in flags), None)

def filtered(value):
    query = after("--jq")
    done = subprocess.run(["jq", "-r", query], input=json.dumps(value), capture_output=True, text=True, check=True)
    sys.stdout.write(done.stdout)

found["calls"].append(words)
if words[:2] == ["run", "list"]:
    filtered([each for each in found["runs"] if each["branch"] == after("--branch")])
elif words[:2] == ["run", "download"]:
    source = state / "artifacts" / words[2] / after("--name")
    if not source.exists():
        sys.exit("no artifact matches any of the names or patterns provided")
    shutil.copytree(source, after("--dir"))
elif words[0] == "api":
    if found["forbidden"]:
        sys.exit("HTTP 403: Resource not accessible by integration")
    address = next(word for word in words[1:] if word.startswith("repos/"))
    method = after("--method") or "GET"
    body = after("--field")
    text = pathlib.Path(body.removeprefix("body=@")).read_text() if body else None
    if method == "POST":
        author = dict(login="github-actions[bot]")
        found["comments"].append(dict(id=len(found["comments"]) + 1, user=author, body=text))
    elif method == "PATCH":
        number = int(address.rpartition("/")[2])
        next(each for each in found["comments"] if each["id"] == number)["body"] = text
    else:
        filtered(found["comments"])
(state / "state.json").write_text(json.dumps(found))
"""


class Step(NamedTuple):
    """How a step ended."""

    code: int
    out: str
    err: str
    outputs: dict[str, str]


class Job:
    """A job on a pull request that runs the action in a folder."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.folder, self._temporary = folder, temporary
        self.action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        self._state = temporary / "gh"
        self._state.mkdir(parents=True)
        self.save({"comments": [], "runs": [], "calls": [], "forbidden": False})
        bin_ = temporary / "bin"
        bin_.mkdir()
        (bin_ / "gh").write_text(GH.format(python=sys.executable), encoding="utf-8")
        (bin_ / "gh").chmod(0o755)
        own = str(Path(sys.executable).parent)
        self._path = os.pathsep.join([str(bin_), own, os.environ.get("PATH", os.defpath)])

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._state / "state.json").read_text(encoding="utf-8"))
        return found

    def save(self, state: Mapping[str, Any]) -> None:
        (self._state / "state.json").write_text(json.dumps(state), encoding="utf-8")

    def artifact(self, run: int, name: str = "prompt-evaluator") -> Path:
        """Where the artifact of an earlier run is."""
        return self._state / "artifacts" / str(run) / name

    def run(self, **inputs: str) -> dict[str, Step]:
        """Run all steps that have a script, by name, until one fails; each sees the outputs of those before it."""
        given = {name: str(each.get("default", "")) for name, each in self.action["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        known = {f"inputs.{name}": value for name, value in given.items()}
        known |= {
            "github.event.pull_request.number": "7",
            "github.workflow_ref": "octo/cat/.github/workflows/evaluate.yml@refs/heads/main",
            "github.token": "secret",
        }
        done: dict[str, Step] = {}
        for step in self.action["runs"]["steps"]:
            if "run" not in step or step["name"].startswith("Install"):
                continue
            if step["name"].startswith("Comment") and given["comment"] != "true":
                continue
            done[step["name"]] = self._step(step, known)
            if done[step["name"]].code:
                break
            known |= {
                f"steps.{step.get('id')}.outputs.{key}": value for key, value in done[step["name"]].outputs.items()
            }
        return done

    def _step(self, step: Mapping[str, Any], known: Mapping[str, str]) -> Step:
        output = self._temporary / "output"
        output.write_text("", encoding="utf-8")
        environment = {name: _filled(str(value), known) for name, value in step.get("env", {}).items()} | {
            "PATH": self._path,
            "HOME": str(self._temporary),
            "FAKE_GH": str(self._state),
            "RUNNER_TEMP": str(self._temporary / "runner"),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self._temporary / "summary.md"),
            "GITHUB_WORKSPACE": str(self.folder),
            "GITHUB_REPOSITORY": "octo/cat",
            "GITHUB_ACTIONS": "true",
            "GITHUB_SHA": "0" * 40,
        }
        (self._temporary / "runner").mkdir(exist_ok=True)
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        lines = output.read_text(encoding="utf-8").splitlines()
        return Step(ran.returncode, ran.stdout, ran.stderr, dict(line.split("=", 1) for line in lines))


def _filled(text: str, known: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: known.get(found[1], ""), text)
