"""The one thing worth doing after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from entries import each
from summaries import RUN_ID, flag, metric, outcome, plan, totals, typed

from prompt_evaluator.app.findings import how_to_continue
from prompt_evaluator.model.result import FailureCount

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model.findings import Findings, NextStep

    Make = Callable[..., Findings]

GOOD, SPREAD = metric(4.5), metric(4.0, 1.3)
BELOW, NEAR = metric(3.5, fail_under=4.0, below=True), metric(4.1, fail_under=4.0, near=True)
RUDE = msgspec.structs.replace(flag(20, 100), fail_over=0.05, above=True)
COMPARE = f"prompt-evaluator compare {RUN_ID} @last"
RETRY = f"prompt-evaluator resume {RUN_ID} --retry-errors"
CHANGE = "change the prompt or the model, evaluate again, then:"
BROKEN = FailureCount(metric="python:checks:boom", kind="RuntimeError", message="kaputt", count=12)


def step(made: Findings) -> NextStep:
    assert made.next_step is not None
    return made.next_step


@each(
    ("stats", "flags", "samples", "text"),
    [
        (GOOD, {}, 5, COMPARE),
        (BELOW, {}, 1, COMPARE),
        (GOOD, {"rude": RUDE}, 1, COMPARE),
        (SPREAD, {}, 20, COMPARE),
        (NEAR, {}, 5, "evaluate again with --num-samples 10 --reuse"),
        (SPREAD, {}, 5, "evaluate again with --num-samples 10 --reuse"),
        (GOOD, {}, 1, "evaluate again with --num-samples 5 --reuse"),
    ],
)
def test_a_change_or_more_samples_follow_from_the_result(
    found: Make, stats: Any, flags: dict[str, Any], samples: int, text: str
) -> None:
    made = step(found({"m": stats}, flags, change=lambda plan: msgspec.structs.replace(plan, num_samples=samples)))

    assert (made.text, made.before) == (text, CHANGE if text == COMPARE else None)


@each(
    ("errors", "failures", "text", "before"),
    [
        ({"RateLimitedError": 2}, (), RETRY, None),
        ({"AuthenticationError": 250}, (), RETRY, "fix the API key, then:"),
        ({"ProxyLoginError": 2}, (), RETRY, "fix the proxy's login, then:"),
        ({"RuntimeError": 12}, (BROKEN,), RETRY, "fix python:checks:boom, then:"),
        ({"ModelNotFoundError": 250}, (), "correct the name of the model, and start again", None),
    ],
)
def test_what_has_to_be_fixed_before_errors_are_tried_again(
    found: Make, errors: dict[str, int], failures: tuple[FailureCount, ...], text: str, before: str | None
) -> None:
    made = step(found({}, status="failed", totals=totals(0, errors=errors, failures=failures)))

    assert (made.text, made.before) == (text, before)


def test_a_run_with_its_own_configuration_is_resumed_with_it(tmp_path: Path) -> None:
    own = msgspec.structs.replace(plan(tmp_path), command=typed(tmp_path, ("--config", "c.yaml"), ("--seed", "1")))

    assert how_to_continue(outcome(own, {}, status="aborted", totals=totals(1))) == (
        f"Continue with: prompt-evaluator resume {RUN_ID} --config c.yaml"
    )


def test_the_command_of_a_run_is_shown_as_it_was_typed(tmp_path: Path) -> None:
    command = typed(tmp_path, ("--where", "topic=two words"), name=("score",))

    assert command.text == "prompt-evaluator score --where 'topic=two words'"
    assert msgspec.structs.replace(command, arguments=("-5",)).text == f"{command.text} -- -5"
    assert typed(tmp_path, ("--run-note", "\x1b[2J")).text is None
