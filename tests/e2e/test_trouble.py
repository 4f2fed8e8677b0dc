"""Judges that talk nonsense, services that refuse, networks that break: counted, never scored, and repaired later."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from workspace import REAL, Workspace, until

if TYPE_CHECKING:
    from chat_service import ChatService

QUICK = {"openai": {"kind": "openai", "base_url_env": "OPENAI_BASE_URL", "api_key_env": "OPENAI_API_KEY"}}


def _verdict(**changes: object) -> str:
    mark = {"score": 3, "rationale": ""}
    names = ("semantic_fidelity", "decomposition_quality", "constraint_adherence")
    flags = {"invented_constraints": False, "omitted_constraints": False}
    return json.dumps({"metrics": dict.fromkeys(names, mark), "flags": flags, "overall_comment": "", **changes})


@pytest.mark.parametrize(
    "reply",
    [
        "I would rather not say.",
        _verdict(metrics={"semantic_fidelity": {"score": 6, "rationale": ""}}),
    ],
    ids=["prose", "out of range"],
)
def test_a_reply_that_is_no_verdict_is_kept_counted_and_left_out_of_statistics(
    online: Workspace, service: ChatService, reply: str
) -> None:
    service.set(rules=[{"kind": "judge", "match": "", "text": reply, "times": 2}])

    done = online.evaluate(*REAL, "-n", "2", "-j", "1")

    first, *others = done.artifact["test_case_results"]
    assert (done.code, done.json["status"]) == (0, "partial")
    assert "Warning" in done.err
    assert [sample["status"] for sample in first["samples"]] == ["judge_invalid_response", "completed"]
    bad = first["samples"][0]
    assert bad["judge_raw_response"] == reply
    assert (bad["judge_metrics"], bad["judge_flags"]) == ({}, {})
    assert bad["generator_output"].startswith("Answer ")
    assert bad["error"]["kind"] == "InvalidJudgement"
    assert first["status"] == "partial"
    assert first["error_message"] == bad["error"]["message"]
    assert {stats["count"] for stats in first["per_metric_stats"].values()} == {1}
    assert {stats["std"] for stats in first["per_metric_stats"].values()} == {None}
    assert {stats["total_count"] for stats in first["per_flag_stats"].values()} == {1}
    assert {case["status"] for case in others} == {"completed"}
    totals = done.artifact["totals"]
    assert totals["samples"] == {"judge_invalid_response": 1, "completed": 5}
    assert totals["errors"] == {"InvalidJudgement": 1}
    assert totals["error_share"] == pytest.approx(1 / 6)
    low, high = done.artifact["overall_metric_stats"]["semantic_fidelity"]["bounds"]
    assert high - low == pytest.approx(4 / 2 / 3)  # one of two samples of one of three cases: anything from 1 to 5
    assert service.paid == 6 + 6 + 1  # one bounded re-ask


def test_errors_stay_until_they_are_asked_to_be_retried(online: Workspace, service: ChatService) -> None:
    service.set(
        rules=[
            {"kind": "judge", "match": "Question 000", "text": "Hm."},
            {"kind": "judge", "match": "Question 001", "status": 400},
            {"kind": "generate", "match": "Question 002", "status": 400},
        ]
    )
    online.cases(5)
    done = online.evaluate(*REAL, "-n", "1")
    statuses = [case["samples"][0]["status"] for case in done.artifact["test_case_results"]]
    assert statuses == ["judge_invalid_response", "judge_error", "generation_error", "completed", "completed"]
    assert done.json["status"] == "partial"
    assert f"resume {done.run_id} --retry-errors" in online.run("resume", done.run_id, "--retry-errors").words
    assert done.artifact["overall_metric_stats"]["semantic_fidelity"]["num_cases"] == 2
    service.set(rules=[])
    paid = service.paid

    assert online.run("resume", done.run_id).code == 0
    assert service.paid == paid
    repaired = online.run("resume", done.run_id, "--retry-errors", "--json")

    assert repaired.json["status"] == "completed"
    assert repaired.artifact["totals"]["errors"] == {}
    assert service.paid - paid == 1 + 1 + 2


def test_a_judging_that_failed_beside_others_can_be_done_again(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"kind": "judge", "match": "Question 000", "status": 400, "times": 1}])
    done = online.evaluate(*REAL, "-n", "1", "--judge-repeats", "2", "--seed", "1")
    assert done.json["status"] == "completed"
    assert sum(repeat["error"] is not None for repeat in _repeats(done.artifact)) == 1
    paid = service.paid

    again = online.run("resume", done.run_id, "--retry-errors", "--json")

    assert service.paid - paid == 1
    assert again.json["status"] == "completed"
    assert not any(repeat["error"] for repeat in _repeats(again.artifact))
    assert online.run("resume", done.run_id, "--retry-errors").code == 0
    assert service.paid - paid == 1


def _repeats(artifact: Any) -> list[dict[str, Any]]:
    return [
        repeat
        for case in artifact["test_case_results"]
        for sample in case["samples"]
        for repeat in sample["judge_repeats"]
    ]


def test_a_key_that_is_refused_stops_the_run_after_a_few_calls_and_says_why(
    online: Workspace, service: ChatService
) -> None:
    online.cases(300)
    service.set(rules=[{"status": 401, "message": "invalid key"}], latency=0.02)

    done = online.evaluate(*REAL)

    assert done.code == 3
    assert "no call can succeed" in done.err
    assert "invalid key" in done.err
    assert f"prompt-evaluator resume {done.run_id} --retry-errors" in done.err
    assert service.paid <= 16
    assert done.json["status"] == "aborted"
    assert "invalid key" in done.artifact["stop_reason"]
    service.set(rules=[], latency=0)
    assert online.run("resume", done.run_id, "--retry-errors", "--json").json["status"] == "completed"


def test_a_network_that_breaks_in_the_middle_ends_the_run_and_resume_pays_for_the_rest(
    online: Workspace, service: ChatService
) -> None:
    limits = {"max_tries": 2, "first_backoff": 0.05}
    online.configure(providers={"openai": {**QUICK["openai"], "limits": limits}})
    online.cases(200)
    service.set(latency=0.02)
    started = online.start_evaluation(*REAL, "-n", "1", "-j", "8")
    run_id = started.wait_until_under_way()
    until(lambda: service.paid > 100)
    service.set(drop=True)

    done = started.finish()

    assert done.code == 3
    assert "failures in a row" in done.err
    assert done.json["status"] == "aborted"
    service.set(drop=False, latency=0)
    kept = len(online.units(run_id))
    paid = service.paid
    again = online.run("resume", run_id, "--retry-errors", "--json")
    assert again.json["status"] == "completed"
    assert service.paid - paid == 400 - kept


@pytest.mark.parametrize(
    "faults",
    [
        {"rate_limited": 0.02, "unavailable": 0.01, "connection": 0.01, "timeout": 0.01},
        {"refused": 0.03, "bad_reply": 0.02},
    ],
    ids=["faults that pass", "faults that stay"],
)
def test_200_cases_of_5_samples_with_5_percent_faults_come_to_an_end(
    offline: Workspace, faults: dict[str, float]
) -> None:
    quick = {"first_backoff": 0.01}
    mock = {"kind": "mock", "limits": quick, "options": {"faults": faults, "retry_after_s": 0.01}}
    offline.configure(providers={"mock": mock})
    offline.cases(200)

    done = offline.evaluate()

    assert done.code == 0
    totals = done.artifact["totals"]
    assert sum(totals["samples"].values()) == 1_000
    if "refused" in faults:
        assert done.json["status"] == "partial"
        assert sum(totals["errors"].values()) == 1_000 - totals["samples"]["completed"]
        assert 0.03 < totals["error_share"] < 0.12
    else:
        assert done.json["status"] == "completed"
    assert len(list((offline.folder / "runs" / done.run_id).glob("test_case_*.json"))) == 200
