"""The one thing worth doing after a run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from summaries import RUN_ID, flag, metric, outcome, plan, totals

from prompt_evaluator.app.findings import findings, resume_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.findings import Findings, NextStep

    Make = Callable[..., Findings]

GOOD, SPREAD = metric(4.5), metric(4.0, 1.3)
BELOW, NEAR = metric(3.5, fail_under=4.0, below=True), metric(4.1, fail_under=4.0, near=True)
START = "prompt-evaluator evaluate-dataset -d data.yaml -s prompt.txt --generator-model openai/gpt-4o"
JUDGED = f"{START} --judge-model anthropic/claude-sonnet-4-0"


def step(made: Findings) -> NextStep:
    assert made.next_step is not None
    return made.next_step


def changed(**changes: Any) -> Callable[[RunPlan], RunPlan]:
    return lambda plan: msgspec.structs.replace(plan, **changes)


STEPS: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "good": (GOOD, {}, "another_rubric", f"prompt-evaluator score {RUN_ID} --rubric content-quality"),
    "without a rubric": (
        GOOD,
        {"rubric": None},
        "compare",
        "change the prompt or the model, run it again, and compare",
    ),
    "below its bar": (BELOW, {}, "after_a_change", JUDGED),
    "near its bar": (NEAR, {}, "more_samples", f"{JUDGED} --num-samples 10 --reuse"),
    "spread on few samples": (SPREAD, {}, "more_samples", f"{JUDGED} --num-samples 10 --reuse"),
    "spread on many samples": (
        SPREAD,
        {"num_samples": 20},
        "lower_temperature",
        f"{JUDGED} --num-samples 20 --temperature 0.3",
    ),
    "one sample": (GOOD, {"num_samples": 1}, "more_samples", f"{JUDGED} --num-samples 5 --reuse"),
}


def test_a_flag_above_its_bar_wants_another_prompt_and_keeps_the_bar(found: Make) -> None:
    above = msgspec.structs.replace(flag(20, 100), fail_over=0.05, above=True)

    made = found({"m": GOOD}, {"rude": above}, change=changed(fail_over={"rude": 0.05}))

    assert (step(made).code, step(made).text) == ("after_a_change", f"{JUDGED} --fail-over rude=0.05")
    (finding,) = made.flags
    assert (finding.mark, finding.text) == ("bad", "frequent, above 5 %")


@pytest.mark.parametrize(("stats", "changes", "code", "text"), STEPS.values(), ids=STEPS)
def test_the_next_step_follows_from_the_result(
    found: Make, stats: Any, changes: dict[str, Any], code: str, text: str
) -> None:
    made = step(found({"accuracy": stats}, change=changed(**changes)))

    assert (made.code, made.text) == (code, text)
    assert made.arguments == (() if code == "compare" else tuple(shlex.split(text)))


def test_below_a_bar_the_prompt_has_to_change_first(found: Make) -> None:
    assert step(found({"accuracy": BELOW})).before == "change the prompt, then:"


def test_a_command_that_was_not_kept_is_given_in_words(found: Make) -> None:
    made = step(found({"accuracy": NEAR}, change=changed(parent_run_id="another")))

    assert made.arguments == ()
    assert made.text == "the same command with --num-samples 10 --reuse"


@pytest.mark.parametrize(("errors", "flags"), [({}, []), ({"RateLimitedError": 2}, ["--retry-errors"])])
def test_an_aborted_run_is_resumed_and_its_errors_tried_again(
    found: Make, tmp_path: Path, errors: dict[str, int], flags: list[str]
) -> None:
    command = ("prompt-evaluator", "resume", RUN_ID, *flags)
    ended: dict[str, Any] = {"status": "aborted", "totals": totals(1, errors=errors)}

    assert step(found({"accuracy": GOOD}, **ended)).arguments == command
    assert resume_command(outcome(plan(tmp_path), {}, **ended)) == command


def test_a_value_with_a_blank_is_one_argument(found: Make) -> None:
    made = step(found({"accuracy": NEAR}, change=changed(filters={"where": ["topic=two words"]})))

    assert "topic=two words" in made.arguments
    assert "--where 'topic=two words'" in made.text


def test_paths_are_written_as_seen_from_where_they_are_read(tmp_path: Path) -> None:
    made = step(findings(outcome(plan(tmp_path), {"accuracy": NEAR}), seen_from=tmp_path / "elsewhere"))

    assert str(tmp_path / "data.yaml") in made.arguments
