"""A run of only those cases that fared badly in an earlier one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from workspace import REAL, Workspace

from prompt_evaluator import evaluate
from prompt_evaluator.errors import ConfigurationError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

    from chat_service import ChatService
    from workspace import Done

METRICS = ("--rubric", "none", "--metrics", "regex(pattern=yes)", "-n", "2", "-j", "1")
BOT = "def answer(question):\n    return 'no' if 'bad' in question else 'yes'\n"


@pytest.fixture
def project(offline: Workspace) -> Workspace:
    """With a target that fails in `bad-1` and `bad-2`."""
    offline.write("bot.py", BOT)
    ids = ("good-1", "bad-1", "good-2", "bad-2")
    offline.cases([{"id": name, "input": name, "topic": name[-1]} for name in ids])
    return offline


def run(project: Workspace, *arguments: str) -> Done:
    return project.evaluate("--generator-model", "python:bot:answer", *METRICS, *arguments)


def ids(done: Done) -> list[str]:
    return [case["test_case_id"] for case in done.artifact["test_case_results"]]


def test_only_the_failing_cases_of_a_run_are_evaluated_and_the_artifact_tells(project: Workspace) -> None:
    first = run(project)

    again = run(project, "--only", "failing", "--of", first.run_id[:8])

    assert ids(again) == ["bad-1", "bad-2"]
    assert again.json["filters"] == {"only": "failing", "of": first.run_id}
    assert again.json["dataset_selected"] == 2


def test_other_filters_have_to_hold_too(project: Workspace) -> None:
    first = run(project)
    failing = ("--only", "failing", "--of", first.run_id)

    assert ids(run(project, *failing, "--where", "topic=2")) == ["bad-2"]
    assert ids(run(project, *failing, "--max-cases", "1")) == ["bad-1"]
    assert ids(run(project, *failing, "--case-ids", "bad-2,good-1")) == ["bad-2"]
    nothing = run(project, *failing, "--case-ids", "good-1")
    assert nothing.code == 2
    assert "No case matches the filters. Loosen --case-ids, --where or --only." in nothing.err


def test_cases_with_errors_are_asked_again(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"kind": "generate", "match": "Question 001", "status": 400}])
    first = online.evaluate(*REAL, "-n", "1")
    service.set(rules=[])

    again = online.evaluate(*REAL, "-n", "1", "--only", "errors", "--of", first.run_id)

    assert ids(again) == ["case-001"]
    assert again.code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "flaky", "--of", "RUN"], "No case of run RUN is flaky, so there is nothing to evaluate."),
        (["--only", "errors", "--of", "RUN"], "No case of run RUN has errors, so there is nothing to evaluate."),
        (["--only", "flaky"], "--only needs --of RUN: together they select cases of an earlier run."),
        (["--of", "RUN"], "--of needs --only failing, flaky or errors: together they select cases of an earlier run."),
        (["--only", "failing", "--of", "zzzz"], "There is no run 'zzzz'."),
    ],
    ids=str,
)
@pytest.mark.parametrize("how", [[], ["--estimate"]], ids=["run", "estimate"])
def test_a_selection_of_no_cases_is_refused_before_any_call(
    project: Workspace, arguments: list[str], sentence: str, how: list[str]
) -> None:
    first = run(project).run_id

    done = run(project, *(first if word == "RUN" else word for word in arguments), *how)

    assert (done.code, done.out) == (2, "")
    assert sentence.replace("run RUN", f"run {first}") in done.err
    assert len(project.index()) == 1


def test_such_a_run_is_resumed_with_its_own_cases(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"kind": "generate", "match": "Question 00", "status": 400}])
    first = online.evaluate(*REAL, "-n", "1")
    service.set(rules=[])
    chosen = ("--only", "errors", "--of", first.run_id[:8])
    stopped = online.evaluate(*REAL, "-n", "1", *chosen, "--max-calls", "2", "-j", "1")
    assert stopped.json["status"] == "aborted"

    done = online.evaluate(*REAL, "-n", "1", *chosen, "--resume", stopped.run_id)

    assert (done.code, done.run_id) == (0, stopped.run_id)
    assert ids(done) == ["case-000", "case-001", "case-002"]


def test_the_python_api_has_these_options_too(project: Workspace, here: Path) -> None:
    assert here == project.folder
    target: dict[str, Any] = {"rubric": None, "metrics": ["regex(pattern=yes)"], "samples": 1}
    first = evaluate("data.jsonl", target=_bot, **target)

    again = evaluate("data.jsonl", target=_bot, only="failing", of=first.run_id, **target)

    assert [case.test_case_id for case in again.cases()] == ["bad-1", "bad-2"]
    with pytest.raises(UnknownNameError):
        evaluate("data.jsonl", target=_bot, only="failing", of="zzzz", **target)
    with pytest.raises(ConfigurationError, match="`failing`, `flaky` or `errors`"):
        evaluate("data.jsonl", target=_bot, only="poor", of=first.run_id, **target)


def _bot(question: str) -> str:
    return "no" if "bad" in question else "yes"
