"""What pages say in sentences, where somebody once found it wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workspace import REAL

from prompt_evaluator.cli.evaluate_dataset import evaluate_dataset_command
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.run_limits import LIMITS

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Workspace

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"


def test_the_first_sample_uses_the_seed_itself_and_each_further_one_the_next_number(
    online: Workspace, service: ChatService
) -> None:
    online.cases(1)
    service.set(keep=True)

    assert online.evaluate(*REAL, "--seed", "7", "-n", "3").code == 0

    asked = [request for request in service.kept if "response_format" not in request]
    assert sorted(request["seed"] for request in asked) == [7, 8, 9]


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
