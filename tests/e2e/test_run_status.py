"""The status of a run follows what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from workspace import REAL, Workspace

if TYPE_CHECKING:
    from chat_service import ChatService

CHECKS = """\
def boom(output, case):
    raise RuntimeError("kaputt")


def bang(output, case):
    raise ValueError("peng")
"""
BROKEN = ("--metrics", "python:checks:boom", "--metrics", "python:checks:bang")


@pytest.fixture
def own(online: Workspace) -> Workspace:
    online.write("checks.py", CHECKS)
    return online


def test_a_run_whose_rubric_scored_everything_is_partial_where_a_custom_metric_always_failed(own: Workspace) -> None:
    done = own.evaluate(*REAL, "-n", "2", *BROKEN)

    assert (done.code, done.json["status"]) == (0, "partial")
    assert {case["status"] for case in done.artifact["test_case_results"]} == {"partial"}
    assert done.json["overall_metric_stats"]["semantic_fidelity"]["num_cases"] == 3
    assert done.json["not_measured"] == {
        "python:checks:boom": "it failed for all 6 samples (RuntimeError: kaputt)",
        "python:checks:bang": "it failed for all 6 samples (ValueError: peng)",
    }


def test_a_run_in_which_nothing_was_measured_has_failed(own: Workspace) -> None:
    done = own.evaluate(*REAL, "--rubric", "none", "-n", "1", *BROKEN)

    assert (done.code, done.json["status"]) == (3, "failed")
    assert {case["status"] for case in done.artifact["test_case_results"]} == {"failed"}


def test_a_run_whose_judge_always_failed_is_partial_where_another_metric_has_scores(
    own: Workspace, service: ChatService
) -> None:
    service.set(rules=[{"kind": "judge", "text": "no idea"}])

    done = own.evaluate(*REAL, "-n", "1", "--metrics", "regex(pattern=Answer)")

    assert done.json["status"] == "partial"
    assert list(done.json["overall_metric_stats"]) == ["regex"]
    assert "semantic_fidelity" in done.json["not_measured"]
