"""What pages say in sentences, where somebody once found it wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workspace import REAL

from prompt_evaluator.cli.evaluate_dataset import evaluate_dataset_command
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.run_limits import LIMITS

if TYPE_CHECKING:
    from workspace import Workspace

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"


def test_an_estimate_counts_metrics_that_ask_a_judge(online: Workspace) -> None:
    online.cases([{"id": "a", "input": "What is 2 + 2?", "reference": "4"}])
    plain = online.evaluate(*REAL, "-n", "2", "--estimate").json
    judged = online.evaluate(*REAL, "-n", "2", "--metrics", "correctness", "--estimate").json

    assert judged["judgements"] > plain["judgements"]


def test_a_wrong_key_costs_eight_calls_at_most(offline: Workspace) -> None:
    options = {"latency_ms": 20, "faults": {"authentication": 1.0}}
    offline.configure(providers={"bad-day": {"kind": "mock", "options": options}})
    offline.cases(40)

    done = offline.evaluate("--generator-model", "bad-day/default", "-n", "1", "-j", "16")

    assert done.json["status"] == "aborted"
    assert 1 <= sum(done.artifact["totals"]["errors"].values()) <= 8


def test_the_page_about_python_names_every_flag_that_is_no_option_of_evaluate() -> None:
    page = (HOW_TO / "use-from-python.md").read_text(encoding="utf-8")
    known = {flag for option in (OPTIONS | LIMITS).values() for flag in option.flags}

    others = [parameter.opts[0] for parameter in evaluate_dataset_command.params if not known & set(parameter.opts)]

    assert [flag for flag in others if f"`{flag}`" not in page] == []
