"""A mistyped name on the command line suggests the one that was meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from prompt_evaluator.cli.main import cli
from prompt_evaluator.errors import PromptEvaluatorError

if TYPE_CHECKING:
    from pathlib import Path

EVALUATE = ["evaluate-dataset", "-s", "system", "-d", "support", "--estimate"]
BENCHMARK = ["benchmark", "run", "--dataset", "basic-coding"]
SUGGESTED = {
    "a command": (["evaluate-datset"], "No such command 'evaluate-datset'. Did you mean 'evaluate-dataset'?"),
    "a command of a group": (["runs", "lits"], "No such command 'lits'. Did you mean 'list'?"),
    "an option": (["evaluate-dataset", "--rubrik", "x"], "'--rubric'"),
    "a case": ([*EVALUATE, "--case-ids", "return-to-late"], "Did you mean 'return-too-late'?"),
    "a metric": ([*EVALUATE, "--metrics", "inclues"], "no metric 'inclues'. Did you mean 'includes'?"),
    "an option of a metric": ([*EVALUATE, "--metrics", "includes(phrase=x)"], "Did you mean 'phrases'?"),
    "a bar": ([*EVALUATE, "--fail-under", "corect=3"], "Did you mean 'correct'?"),
    "a rubric": ([*EVALUATE, "--rubric", "suport"], "no rubric 'suport'. Did you mean 'support'?"),
    "the file of a rubric": ([*EVALUATE, "--rubric", "rubrics/suport.yaml"], "/rubrics/support.yaml?"),
    "a provider": ([*EVALUATE, "--generator-model", "mok/x"], "no provider 'mok'. Did you mean 'mock'?"),
    "a judge": ([*EVALUATE, "--judge-model", "opnai/x"], "no provider 'opnai'. Did you mean 'openai'?"),
    "a dataset": (["evaluate-dataset", "-s", "system", "-d", "suport"], "Did you mean 'support'?"),
    "the file of a dataset": (
        ["evaluate-dataset", "-s", "system", "-d", "datasets/suport.yaml"],
        "Did you mean datasets/support.yaml?",
    ),
    "a prompt": (["evaluate-dataset", "-s", "sytem", "-d", "support"], "no prompt 'sytem'. Did you mean 'system'?"),
    "the file of a prompt": (
        ["evaluate-dataset", "-s", "prompts/sytem.txt", "-d", "support"],
        "Did you mean prompts/system.txt?",
    ),
    "a benchmark": (["benchmark", "run", "--dataset", "basic-codng"], "Did you mean 'basic-coding'?"),
    "a metric of a benchmark": ([*BENCHMARK, "--metrics", "corectness"], "Did you mean 'correctness'?"),
    "a model of a benchmark": ([*BENCHMARK, "--model", "mok/x", "--metrics", "length"], "Did you mean 'mock'?"),
    "a rubric to show": (["list", "rubrics", "suport"], "Did you mean 'support'?"),
    "a provider to test": (["providers", "test", "opnai"], "Did you mean 'openai/…'?"),
    "a field of runs": (["runs", "list", "--where", "stauts=x"], "no field of runs 'stauts'. Did you mean 'status'?"),
    "a setting": (
        ["config", "show", "--config", "c.yaml"],
        "c.yaml:2: There is no setting `num_sampels`. Did you mean `num_samples`?",
    ),
}
FILES = {
    "c.yaml": "version: 1\nnum_sampels: 3\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(cli, ["init", "."], catch_exceptions=False)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(("arguments", "sentence"), SUGGESTED.values(), ids=SUGGESTED)
def test_a_mistyped_name_suggests_the_nearest(arguments: list[str], sentence: str) -> None:
    done = CliRunner().invoke(cli, arguments)

    said = str(done.exception) if isinstance(done.exception, PromptEvaluatorError) else done.output
    assert sentence in said
    assert done.exit_code


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("more", [[], ["--estimate"]], ids=["a run", "an estimate"])
def test_evaluating_a_file_with_several_problems_says_how_many(tmp_path: Path, more: list[str]) -> None:
    (tmp_path / "bad.yaml").write_text("- id: a\n  inptu: x\n- id: b\n- id: a\n  input: y\n")

    done = CliRunner().invoke(cli, ["evaluate-dataset", "-s", "system", "-d", "bad.yaml", *more])

    assert str(done.exception).endswith("This is the first of 3; `prompt-evaluator validate bad.yaml` lists all.")


@pytest.mark.usefixtures("project")
def test_a_benchmark_with_several_problems_says_how_many(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/mine.yaml").write_text("tasks:\n- id: a\n- id: b\n")

    done = CliRunner().invoke(cli, ["benchmark", "run", "--dataset", "mine", "--metrics", "length"])

    assert "This is the first of 6; `prompt-evaluator validate " in str(done.exception)
