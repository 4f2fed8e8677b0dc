"""The one thing worth doing after a run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from summaries import RUN_ID, flag, metric, outcome, plan, totals, typed

from prompt_evaluator.app.findings import findings, how_to_continue
from prompt_evaluator.model.result import FailureCount

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.findings import Findings, NextStep

    Make = Callable[..., Findings]

GOOD, SPREAD = metric(4.5), metric(4.0, 1.3)
BELOW, NEAR = metric(3.5, fail_under=4.0, below=True), metric(4.1, fail_under=4.0, near=True)
START = "prompt-evaluator evaluate-dataset --dataset data.yaml --system-prompt prompt.txt"
JUDGED = f"{START} --generator-model openai/gpt-4o --judge-model anthropic/claude-sonnet-4-0"


def step(made: Findings) -> NextStep:
    assert made.next_step is not None
    return made.next_step


def changed(**changes: Any) -> Callable[[RunPlan], RunPlan]:
    return lambda plan: msgspec.structs.replace(plan, **changes)


STEPS: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "good": (GOOD, {}, "another_rubric", f"prompt-evaluator score {RUN_ID} --rubric content-quality"),
    "without a rubric": (GOOD, {"rubric": None}, "compare", JUDGED),
    "below its bar": (BELOW, {}, "after_a_change", JUDGED),
    "near its bar": (NEAR, {}, "more_samples", f"{JUDGED} --num-samples 10 --reuse"),
    "spread on few samples": (SPREAD, {}, "more_samples", f"{JUDGED} --num-samples 10 --reuse"),
    "spread on many samples": (
        SPREAD,
        {"num_samples": 20},
        "lower_temperature",
        f"{JUDGED} --temperature 0.3",
    ),
    "one sample": (GOOD, {"num_samples": 1}, "more_samples", f"{JUDGED} --num-samples 5 --reuse"),
}


def test_a_flag_above_its_bar_wants_another_prompt(found: Make) -> None:
    above = msgspec.structs.replace(flag(20, 100), fail_over=0.05, above=True)

    made = found({"m": GOOD}, {"rude": above}, change=changed(fail_over={"rude": 0.05}))

    assert (step(made).code, step(made).text) == ("after_a_change", JUDGED)
    (finding,) = made.flags
    assert (finding.mark, finding.text) == ("bad", "frequent, above 5 %")


@pytest.mark.parametrize(("stats", "changes", "code", "text"), STEPS.values(), ids=STEPS)
def test_the_next_step_follows_from_the_result(
    found: Make, stats: Any, changes: dict[str, Any], code: str, text: str
) -> None:
    made = step(found({"accuracy": stats}, change=changed(**changes)))

    assert (made.code, made.text) == (code, text)
    assert made.arguments == tuple(shlex.split(text))


def test_below_a_bar_the_prompt_has_to_change_first(found: Make) -> None:
    assert step(found({"accuracy": BELOW})).before == "change the prompt, then:"


@pytest.mark.parametrize(
    ("stats", "text"),
    [
        (NEAR, "the same command with --num-samples 10 --reuse"),
        (BELOW, "the same command"),
        (GOOD, "change the prompt or the model, run again and compare"),
    ],
)
def test_a_command_that_was_not_kept_is_given_in_words(found: Make, stats: Any, text: str) -> None:
    made = step(found({"accuracy": stats}, change=changed(command=None, rubric=None)))

    assert (made.arguments, made.text) == ((), text)


def test_a_command_that_could_move_the_cursor_is_given_in_words(found: Make, tmp_path: Path) -> None:
    made = step(found({"accuracy": NEAR}, change=changed(command=typed(tmp_path, ("--run-note", "\x1b[2J")))))

    assert made.arguments == ()


@pytest.mark.parametrize(("errors", "flags"), [({}, ""), ({"RateLimitedError": 2}, " --retry-errors")])
def test_an_aborted_run_is_resumed_and_its_errors_tried_again(
    found: Make, tmp_path: Path, errors: dict[str, int], flags: str
) -> None:
    command = f"prompt-evaluator resume {RUN_ID}{flags}"
    ended: dict[str, Any] = {"status": "aborted", "totals": totals(1, errors=errors)}

    assert step(found({"accuracy": GOOD}, **ended)).text == command
    assert how_to_continue(outcome(plan(tmp_path), {}, **ended)) == f"Continue with: {command}"


def test_a_wrong_key_is_fixed_before_the_run_is_resumed(found: Make) -> None:
    made = step(found({}, status="failed", totals=totals(0, errors={"AuthenticationError": 250})))

    assert made.before == "fix the API key, then:"
    assert made.text == f"prompt-evaluator resume {RUN_ID} --retry-errors"


def test_a_proxys_login_is_fixed_before_the_run_is_resumed(found: Make) -> None:
    made = found({}, status="failed", totals=totals(0, errors={"ProxyLoginError": 2}))

    assert step(made).before == "fix the proxy's login, then:"
    assert [note.code for note in made.advice] == ["proxy_login_rejected"]


def test_a_broken_metric_is_fixed_before_the_run_is_resumed(found: Make) -> None:
    failure = FailureCount(metric="python:checks:boom", kind="RuntimeError", message="kaputt", count=12)
    ended = totals(0, errors={"RuntimeError": 12}, failures=(failure,))

    assert step(found({}, status="partial", totals=ended)).before == "fix python:checks:boom, then:"


def test_what_is_said_in_one_sentence_fits_the_errors_too(tmp_path: Path) -> None:
    ended = outcome(plan(tmp_path), {}, status="aborted", totals=totals(0, errors={"AuthenticationError": 8}))

    assert how_to_continue(ended) == f"Fix the API key, then: prompt-evaluator resume {RUN_ID} --retry-errors"


@pytest.mark.parametrize(
    ("metric_name", "model"), [(None, "openai/gpt-4o"), ("correct", "anthropic/claude-sonnet-4-0")]
)
def test_a_misspelt_model_is_corrected_and_the_run_started_again(
    found: Make, metric_name: str | None, model: str
) -> None:
    failure = FailureCount(metric=metric_name, kind="ModelNotFoundError", message="404", count=250)
    ended = totals(0, errors={"ModelNotFoundError": 250}, failures=(failure,))

    made = step(found({}, status="failed", totals=ended))

    assert made.before == f"correct the model name {model}, then:"
    assert made.arguments[:2] == ("prompt-evaluator", "evaluate-dataset")
    assert model in made.arguments


def test_a_misspelt_model_from_the_settings_is_written_where_it_can_be_corrected(found: Make, tmp_path: Path) -> None:
    ended = totals(0, errors={"ModelNotFoundError": 250})

    made = step(found({}, status="failed", totals=ended, change=changed(command=typed(tmp_path))))

    assert made.text == "prompt-evaluator evaluate-dataset --generator-model openai/gpt-4o"


def test_a_value_with_a_blank_is_one_argument(found: Make, tmp_path: Path) -> None:
    made = step(found({"accuracy": NEAR}, change=changed(command=typed(tmp_path, ("--where", "topic=two words")))))

    assert "topic=two words" in made.arguments
    assert "--where 'topic=two words'" in made.text


def test_a_flag_that_is_changed_is_given_once(found: Make, tmp_path: Path) -> None:
    command = typed(tmp_path, ("--quick",), ("--num-samples", "2"), ("--reuse",))

    made = step(found({"accuracy": NEAR}, change=changed(command=command)))

    assert made.text == "prompt-evaluator evaluate-dataset --num-samples 10 --reuse"


def test_a_text_that_looks_like_a_flag_stands_behind_two_dashes(found: Make, tmp_path: Path) -> None:
    command = msgspec.structs.replace(typed(tmp_path, name=("score",)), arguments=("-5",))

    made = step(found({"accuracy": BELOW}, change=changed(command=command)))

    assert made.text == "prompt-evaluator score -- -5"


def test_a_command_is_typed_where_its_paths_start(tmp_path: Path) -> None:
    ended = outcome(plan(tmp_path), {"accuracy": NEAR})

    made = step(findings(ended, seen_from=tmp_path / "elsewhere", program=("bin/prompt-evaluator",)))

    assert made.folder == str(tmp_path)
    assert made.text.startswith(f"cd {tmp_path} && {tmp_path}/elsewhere/bin/prompt-evaluator evaluate-dataset ")


def test_a_run_with_its_own_configuration_is_resumed_with_it(found: Make, tmp_path: Path) -> None:
    command = typed(tmp_path, ("--config", "other.yaml"), ("--temperature", "1"))
    ended: dict[str, Any] = {"status": "aborted", "totals": totals(1)}

    made = step(found({"accuracy": GOOD}, change=changed(command=command), **ended))

    assert made.text == f"prompt-evaluator resume {RUN_ID} --config other.yaml"


def test_answers_that_were_judged_again_are_judged_by_another_rubric_with_the_same_judge(
    found: Make, tmp_path: Path
) -> None:
    command = typed(tmp_path, ("--judge-model", "openai/o3"), ("--rubric", "default"), name=("score",))
    command = msgspec.structs.replace(command, arguments=("parent",))

    made = step(found({"accuracy": SPREAD}, change=changed(command=command, parent_run_id="parent")))

    assert made.text == "prompt-evaluator score parent --judge-model openai/o3 --rubric content-quality"
