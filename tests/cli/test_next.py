"""What a summary says to do next is pasted into a shell, and does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from workspace import RUN_TIMES, Done, Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

INSTALLED = Path(sys.executable).with_name("prompt-evaluator")
CHANGED = {*RUN_TIMES, "artifact", "num_samples_per_case", "totals", "overall_metric_stats", "overall_flag_stats"}
CHANGED |= {"worst_cases", "flakiest_cases", "missed_bars", "run_id"}
METRICS = "metrics:\n  - metric: length\n    max_words: 5000\n    name: not_too_long\n"
COMMANDS: dict[str, tuple[Sequence[str], dict[str, str]]] = {
    "flags that say what is built in, where the file says otherwise": (
        ["evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--generator-model", "mock/default", "-n2"],
        {},
    ),
    "metrics, filters, parameters and labels": (
        [
            *("evaluate-dataset", "-d", "./data.jsonl", "-s", "prompt.txt", "--quick", "--rubric", "none"),
            *(
                "--metrics",
                "is_json,finish_reason",
                "--metrics-file",
                "metrics.yaml",
                "--template",
                "template.txt",
                "--seed",
                "7",
            ),
            *("--param", "top_p=0.5", "--param", 'stop=["a b"]', "--tag", "owner=me & you", "--prompt-version", "v 2"),
            *("--where", "topic=two words", "--max-cases", "2", "--run-note", "it's a note", "-o", "out", "-t", "1.5"),
        ],
        {},
    ),
    "a model that only a variable named": (
        ["evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--quick"],
        {"PROMPT_EVALUATOR_GENERATOR_MODEL": "mock/variable", "PROMPT_EVALUATOR_GENERATOR_PARAMS": '{"top_k": 3}'},
    ),
    "a single input": (["evaluate-dataset", "-i", "What's tea?", "-s", "prompt.txt", "-n", "1"], {}),
    "a benchmark": (["benchmark", "run", "--dataset", "own", "--metrics", "is_json"], {}),
}


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    project = Workspace(tmp_path)
    project.cases([{"id": f"case-{at}", "input": "Tea?", "topic": "two words"} for at in range(3)])
    project.configure(generator={"model": "mock/configured", "temperature": 0.9}, num_samples=3)
    project.write("metrics.yaml", METRICS)
    project.write("template.txt", "Please: {{input}}")
    project.write("benchmarks/own.jsonl", (project.folder / "data.jsonl").read_bytes())
    return project


def printed(summary: str) -> str:
    """What stands beside `Next`, and can be pasted."""
    lines = [line[10:] for line in summary.partition("\nNext ")[2].splitlines()]
    lines[0] = summary.partition("\nNext ")[2].splitlines()[0].lstrip()
    return "\n".join(line for line in lines if not line.endswith("then:"))


def paste(project: Workspace, command: str) -> Done:
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def newest(project: Workspace) -> dict[str, Any]:
    """What the newest run was asked for, without what more samples change."""
    run_id = project.run("runs", "list", "--json").json["runs"][0]["run_id"]
    head = project.run("runs", "show", run_id, "--json").json
    return {name: value for name, value in head.items() if name not in CHANGED}


@pytest.mark.parametrize(("command", "variables"), COMMANDS.values(), ids=COMMANDS)
def test_the_printed_command_makes_the_same_run_again(
    project: Workspace, command: Sequence[str], variables: dict[str, str]
) -> None:
    own = project.environment
    project.environment = {**own, **variables}
    first = project.run(*command)
    project.environment = own
    before = newest(project)

    again = paste(project, printed(first.out))

    assert (first.code, again.code) == (0, 0), first.err + again.err
    assert newest(project) == before


def test_answers_that_were_judged_again_can_be_judged_by_the_printed_command(project: Workspace) -> None:
    run_id = project.evaluate("--quick").run_id
    scored = project.run("score", run_id, "--rubric", "content-quality")

    again = paste(project, printed(scored.out))

    assert again.code == 0, again.err
    assert newest(project)["rubric_metadata"]["rubric_name"] == "default"
    assert newest(project)["parent_run_id"] == run_id


def test_a_stopped_run_is_continued_by_the_printed_command(project: Workspace) -> None:
    stopped = project.run("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--max-calls", "4")

    again = paste(project, printed(stopped.out))

    assert again.code == 0, again.err
    assert newest(project)["status"] == "completed"


def test_a_program_that_is_not_on_the_path_is_named_by_its_own(project: Workspace) -> None:
    (project.folder / "tools").mkdir()
    started = project.folder / "tools" / "prompt-evaluator"
    started.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'import sys; sys.argv[0] = \"'$0'\"; "
                       "from prompt_evaluator.cli.main import main; main()' \"$@\"\n", "utf-8")  # fmt: skip
    started.chmod(0o755)
    project.environment["PATH"] = os.defpath

    done = paste(project, "tools/prompt-evaluator evaluate-dataset -d data.jsonl -s prompt.txt --quick")

    assert printed(done.out).startswith("tools/prompt-evaluator ")
    assert paste(project, printed(done.out)).code == 0


def test_a_program_elsewhere_is_named_by_its_whole_path(project: Workspace) -> None:
    project.environment["PATH"] = os.defpath

    done = paste(project, f"{INSTALLED} runs list")

    assert f"Start one: {INSTALLED} evaluate-dataset" in done.out


def test_what_only_uv_has_put_on_the_path_is_named_by_its_path(project: Workspace) -> None:
    project.environment["UV_RUN_RECURSION_DEPTH"] = "1"

    done = paste(project, "prompt-evaluator runs list")

    assert f"Start one: {INSTALLED} evaluate-dataset" in done.out


def test_a_program_that_was_started_as_a_module_is_named_as_one(project: Workspace) -> None:
    project.environment["PATH"] = os.defpath

    done = project.run("runs", "list")

    assert f"Start one: {sys.executable} -m prompt_evaluator evaluate-dataset" in done.out
