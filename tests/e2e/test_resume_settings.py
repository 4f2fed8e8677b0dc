"""A run keeps its settings: whoever resumes it with others is told which, and nothing happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from workspace import REAL, Workspace

from prompt_evaluator.model.options import OPTIONS

if TYPE_CHECKING:
    from chat_service import ChatService

SETTINGS = (*REAL, "-n", "1", "--seed", "3", "--tag", "team=docs", "--prompt-version", "v1", "--run-note", "A note.")
OTHERS = {
    ("-n", "2"): "--num-samples was 1 and is now 2",
    ("--quick",): "--num-samples was 1 and is now 2",
    ("--temperature", "0.2"): "--temperature was 0.7 and is now 0.2",
    ("--generator-model", "openai/other"): "--generator-model was openai/test and is now openai/other",
    ("--judge-model", "openai/other"): "--judge-model was openai/test and is now openai/other",
    ("--judge-temperature", "1"): "--judge-temperature was 0.0 and is now 1.0",
    ("--judge-max-tokens", "9"): "--judge-max-tokens was not set and is now 9",
    ("--judge-effort", "low"): "--judge-effort was not set and is now low",
    ("--judge-param", "top_p=0.5"): '--judge-param was not set and is now {"top_p":0.5}',
    ("--effort", "low"): "--effort was not set and is now low",
    ("--strict-params",): "--strict-params was false and is now true",
    ("--judge-repeats", "2"): "--judge-repeats was 1 and is now 2",
    ("--judge-system-prompt", "other.txt"): "--judge-system-prompt was not set and is now 'Shout loud.'",
    ("--schema", "other.json"): '--schema was not set and is now {"type":"object"}',
    ("--seed", "4"): "--seed was 3 and is now 4",
    ("--max-tokens", "9"): "--max-tokens was not set and is now 9",
    ("--param", "top_p=0.5"): '--param was not set and is now {"top_p":0.5}',
    ("--render-prompt",): "--render-prompt was false and is now true",
    ("--template", "other.txt"): "--template was not set and is now 'Shout loud.'",
    ("--rubric", "content-quality"): "--rubric was default and is now content-quality",
    ("--rubric", "none"): "--rubric was default and is now not set",
    ("--metrics", "length,is_json"): "--metrics was not set and is now length, is_json",
    ("--reducers", "pass@1"): "--reducers was not set and is now pass@1",
    ("--case-ids", "case-000,case-001"): "--case-ids was not set and is now case-000, case-001",
    ("--where", "id=case-000"): "--where was not set and is now id=case-000",
    ("--max-cases", "1"): "--max-cases was not set and is now 1",
    ("--reuse",): "--reuse was false and is now true",
    ("--tag", "team=web"): '--tag was {"team":"docs"} and is now {"team":"web"}',
    ("--prompt-version", "v2"): "--prompt-version was v1 and is now v2",
    ("--run-note", "Other."): "--run-note was 'A note.' and is now Other.",
}


@pytest.fixture
def own(online: Workspace) -> Workspace:
    online.write("other.txt", "Shout loud.\n")
    online.write("other.json", '{"type": "object"}')
    online.cases(3, "other.jsonl")
    return online


@pytest.fixture
def finished(own: Workspace) -> str:
    return own.evaluate(*SETTINGS).run_id


def test_a_finished_run_is_not_resumed_with_another_setting(
    own: Workspace, service: ChatService, finished: str
) -> None:
    before, paid = own.artifact(finished), service.paid

    for given, sentence in OTHERS.items():
        done = own.run("evaluate-dataset", "--resume", finished, *given)

        assert (done.code, done.out) == (2, ""), given
        assert f"Run {finished} was started with different settings: {sentence}. A run keeps its settings" in done.err
        assert "or start a new run." in done.err
    assert own.artifact(finished) == before
    assert service.paid == paid


def test_there_is_an_example_of_every_setting_that_a_run_keeps() -> None:
    flags = {flag: option.flag for option in OPTIONS.values() if option.kept_in for flag in option.flags}
    files_and_runs = {"--dataset", "--system-prompt", "--metrics-file", "--output-dir", "--only", "--of"}

    assert {flags[given[0]] for given in OTHERS if given != ("--quick",)} == set(flags.values()) - files_and_runs


@pytest.mark.parametrize(
    ("given", "kind"), [(("-d", "other.jsonl"), "--dataset"), (("-s", "other.txt"), "--system-prompt")]
)
def test_another_file_is_named_with_the_runs_own(
    own: Workspace, finished: str, given: tuple[str, str], kind: str
) -> None:
    done = own.run("evaluate-dataset", "--resume", finished, *given)

    was = own.folder / ("data.jsonl" if kind == "--dataset" else "prompt.txt")
    assert done.code == 2
    assert f"{kind} was {was} and is now {own.folder / given[1]}." in done.err
    assert f"resume it without {kind}, or start a new run." in done.err


def test_another_folder_for_results_is_refused_and_nothing_is_written_there(own: Workspace, finished: str) -> None:
    done = own.run("evaluate-dataset", "--resume", finished, "-o", "elsewhere")

    assert done.code == 2
    assert f"--output-dir was {own.folder / 'runs'} and is now {own.folder / 'elsewhere'}" in done.err
    assert not (own.folder / "elsewhere").exists()


def test_a_given_file_that_has_changed_is_refused_for_a_finished_run_too(own: Workspace, finished: str) -> None:
    own.write("prompt.txt", "Something else.\n")

    assert own.run("evaluate-dataset", "--resume", finished).code == 0
    done = own.run("evaluate-dataset", "--resume", finished, "-s", "prompt.txt")

    assert done.code == 2
    assert "prompt.txt has changed since run" in done.err


def test_every_setting_that_differs_is_named(own: Workspace, finished: str) -> None:
    done = own.run("evaluate-dataset", "--resume", finished, "-n", "2", "--seed", "3", "--temperature", "0.2")

    assert "--num-samples was 1 and is now 2; --temperature was 0.7 and is now 0.2. " in done.err
    assert "resume it without --num-samples, --temperature, or start" in done.err


def test_metrics_that_differ_only_in_an_option_are_told_with_their_options(own: Workspace) -> None:
    run_id = own.evaluate(*REAL, "-n", "1", "--metrics", "length(max_words=5)").run_id

    done = own.run("evaluate-dataset", "--resume", run_id, "--metrics", "length(max_words=6)")

    assert done.code == 2
    assert '"max_words":5' in done.err
    assert '"max_words":6' in done.err
    assert own.run("evaluate-dataset", "--resume", run_id, "--metrics", "length(max_words=5)").code == 0


def test_an_unfinished_run_is_not_resumed_with_another_setting_and_loses_nothing(
    own: Workspace, service: ChatService
) -> None:
    stopped = own.evaluate(*SETTINGS, "--max-calls", "2", "-j", "1")
    units, paid = own.units(stopped.run_id), service.paid

    done = own.run("evaluate-dataset", "--resume", stopped.run_id, "-n", "2")

    assert done.code == 2
    assert own.units(stopped.run_id) == units
    assert service.paid == paid
    assert own.run("evaluate-dataset", "--resume", stopped.run_id, "-n", "1").code == 0
    assert service.paid == 6


def test_settings_that_are_the_runs_own_may_be_given_again_all_or_some(
    own: Workspace, service: ChatService, finished: str
) -> None:
    paid = service.paid
    whole = ("-d", "data.jsonl", "-s", "prompt.txt", *SETTINGS)
    some = ("--temperature", "0.7", "--rubric", "default", "-o", "runs", "--judge-model", "openai/test")

    for given in (whole, some, SETTINGS[-2:], ("--allow-mock-judge",), ("--max-calls", "1")):
        assert own.run("evaluate-dataset", "--resume", finished, *given).code == 0
    assert service.paid == paid


def test_a_refused_setting_keeps_a_bar_beside_it_from_being_applied(own: Workspace, finished: str) -> None:
    done = own.run("evaluate-dataset", "--resume", finished, "-n", "2", "--fail-under", "semantic_fidelity=5")

    assert done.code == 2
    assert own.artifact(finished)["fail_under"] == {}


def test_resume_takes_no_settings_but_bars(own: Workspace, finished: str) -> None:
    assert own.run("resume", finished, "-n", "1").code == 2
    assert own.run("resume", finished, "--fail-under", "semantic_fidelity=1").code == 0
