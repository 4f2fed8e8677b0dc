"""`compare --pairwise`, with a real service as the judge."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from workspace import REAL, until

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Done, Workspace

CASES, SAMPLES = 6, 2
PAIRS = CASES * SAMPLES
QUESTIONS = 2 * PAIRS
FIRST = [{"kind": "judge", "match": "<answer_1", "text": '{"reason": "It comes first.", "better": "1"}'}]
BY_RULE = ("--rubric", "none", "--metrics", "length(max_characters=1000)")
"""Scores without a judge, so that every call to the judge is about a pair."""


def answered(online: Workspace, service: ChatService, padding: int, *more: str) -> str:
    """A run whose answers are this much longer."""
    online.cases(CASES)
    service.set(padding=padding)
    done = online.evaluate(*REAL, "--seed", "7", "-n", str(SAMPLES), *BY_RULE, *more)
    assert done.code == 0, done.err
    return done.run_id


def two_runs(online: Workspace, service: ChatService) -> tuple[str, str]:
    return answered(online, service, 0), answered(online, service, 30)


def pairwise(online: Workspace, *arguments: str) -> Done:
    return online.run("compare", *arguments, "--pairwise", "--json")


def only(done: Done) -> dict[str, Any]:
    (found,) = done.json["pairwise"]["comparisons"]
    assert isinstance(found, dict)
    return found


def judged(service: ChatService) -> int:
    count: int = service.state()["kinds"].get("judge", 0)
    return count


def kinds(online: Workspace) -> list[str]:
    with closing(sqlite3.connect(online.folder / ".prompt_evaluator/store.db")) as store:
        return [kind for (kind,) in store.execute("SELECT kind FROM runs ORDER BY started_at")]


def test_a_judge_that_always_prefers_the_first_place_ties_everything(online: Workspace, service: ChatService) -> None:
    baseline, candidate = two_runs(online, service)
    service.set(rules=FIRST)

    done = pairwise(online, baseline, candidate)

    found = only(done)
    bias = found["position_bias"]
    assert (done.code, found["pairs"], found["ties"], found["disagreements"]) == (0, PAIRS, PAIRS, PAIRS)
    assert (found["win_rate"], found["p_value"]) == (0.5, None)
    assert (bias["first_share"], bias["second_share"], bias["large"]) == (1.0, 0.0, True)
    assert "Large position bias" in online.run("compare", baseline, candidate, "--pairwise").words


def test_a_judge_that_prefers_the_longer_answer_prefers_it_in_both_orders(
    online: Workspace, service: ChatService
) -> None:
    baseline, candidate = two_runs(online, service)
    service.set(prefer="longer", keep=True)

    done = pairwise(online, baseline, candidate)

    found = only(done)
    assert (found["wins"], found["losses"], found["ties"], found["win_rate"]) == (PAIRS, 0, 0, 1.0)
    assert (found["case_wins"], found["verdict"], found["position_bias"]["first"]) == (CASES, "better", 0)
    assert found["p_value"] == pytest.approx(2 * 0.5**CASES)
    assert judged(service) == QUESTIONS
    assert "B is better than A" in online.run("compare", baseline, candidate, "--pairwise").words
    worse = online.run("compare", candidate, baseline, "--pairwise", "--fail-on-regression")
    assert worse.code == 1
    assert "B is worse than A" in worse.words


def test_the_same_comparison_again_makes_no_call_and_no_run(online: Workspace, service: ChatService) -> None:
    runs = two_runs(online, service)
    service.set(prefer="longer")
    first = pairwise(online, *runs)
    paid, before = service.paid, kinds(online)

    second = pairwise(online, *runs)

    assert second.json == first.json
    assert (service.paid, kinds(online)) == (paid, before)
    assert before == ["evaluation", "evaluation", "pairwise"]


def test_the_judge_is_asked_at_the_temperature_it_had_in_the_runs(online: Workspace, service: ChatService) -> None:
    online.cases(1)
    settings = (*REAL, "-n", "1", "--judge-temperature", "1", "--judge-model", "openai/judge")
    runs = []
    for padding in (0, 30):
        service.set(padding=padding)
        runs.append(online.evaluate(*settings).run_id)
    service.set(keep=True)

    pairwise(online, *runs)
    pairwise(online, *runs, "--judge-model", "openai/other")

    asked = [(each["model"], each["temperature"]) for each in service.kept]
    assert asked == [("judge", 1.0)] * 2 + [("other", 0.0)] * 2


def test_a_budget_stops_after_whole_pairs_and_typing_it_again_finishes_it(
    online: Workspace, service: ChatService
) -> None:
    runs = two_runs(online, service)
    service.set(prefer="longer")

    stopped = pairwise(online, *runs, "--max-calls", "7")
    part = only(stopped)
    finished = pairwise(online, *runs)

    assert (stopped.code, part["status"], part["pairs"], part["unjudged"]) == (3, "aborted", 3, 0)
    assert "resume" in stopped.err
    assert (finished.code, only(finished)["pairs"], only(finished)["run_id"]) == (0, PAIRS, part["run_id"])
    assert judged(service) == QUESTIONS


def test_a_killed_comparison_is_resumed_and_asks_nothing_answered_again(
    online: Workspace, service: ChatService
) -> None:
    runs = two_runs(online, service)
    service.set(prefer="longer")
    part = only(pairwise(online, *runs, "--max-calls", "8"))
    service.set(hold=True)

    for command in (("compare", *runs, "--pairwise", "-j", "2"), ("resume", part["run_id"], "-j", "2")):
        before = judged(service)
        started = online.start(*command)
        until(lambda before=before: judged(service) == before + 2)  # type: ignore[misc]
        started.kill()
    lost = judged(service) - 8
    service.set(hold=False)
    resumed = online.run("resume", part["run_id"])
    done = pairwise(online, *runs)

    assert resumed.code == 0, resumed.err
    assert (only(done)["pairs"], only(done)["wins"], only(done)["status"]) == (PAIRS, PAIRS, "completed")
    assert (lost, judged(service)) == (4, QUESTIONS + 4)


def test_a_reply_that_is_no_preference_fails_its_pair_and_is_not_a_tie(online: Workspace, service: ChatService) -> None:
    runs = two_runs(online, service)
    bad = {"kind": "judge", "match": "Question 002", "text": "Both are nice."}
    service.set(prefer="longer", rules=[bad])

    done = pairwise(online, *runs)
    found = only(done)
    text = online.run("compare", *runs, "--pairwise").words
    service.set(rules=[])
    retried = online.run("resume", found["run_id"], "--retry-errors")

    assert done.code == 0
    assert (found["pairs"], found["ties"], found["losses"], found["unjudged"]) == (PAIRS - SAMPLES, 0, 0, SAMPLES)
    assert (found["cases"], found["win_rate"], found["status"]) == (CASES - 1, 1.0, "partial")
    assert "2 pairs could not be judged" in text
    assert f"resume {found['run_id']} --retry-errors" in text
    assert retried.code == 0, retried.err
    after = only(pairwise(online, *runs))
    assert (after["pairs"], after["wins"]) == (PAIRS, PAIRS)


def test_a_pair_of_which_one_order_fails_keeps_the_other_order(online: Workspace, service: ChatService) -> None:
    runs = two_runs(online, service)
    service.set(prefer="longer", rules=[{"kind": "judge", "match": "Question 002", "text": "No.", "times": 2}])
    found = only(pairwise(online, *runs, "-j", "1"))
    paid = judged(service)
    service.set(rules=[])

    online.run("resume", found["run_id"], "--retry-errors")

    assert found["unjudged"] == 1
    assert judged(service) == paid + 1


def test_more_than_two_runs_are_ranked_in_the_planted_order(online: Workspace, service: ChatService) -> None:
    runs = {padding: answered(online, service, padding) for padding in (20, 60, 0)}
    service.set(prefer="longer")

    done = pairwise(online, *runs.values())
    text = online.run("compare", *runs.values(), "--pairwise").words

    report = done.json["pairwise"]
    assert report["runs"] == list(runs.values())
    assert [each["run_id"] for each in report["strengths"]] == [runs[60], runs[20], runs[0]]
    assert all(each["low"] < each["strength"] < each["high"] for each in report["strengths"])
    pairs = [(each["baseline"], each["candidate"]) for each in report["comparisons"]]
    assert pairs == [(runs[20], runs[60]), (runs[20], runs[0]), (runs[60], runs[0])]
    assert judged(service) == 3 * QUESTIONS
    ranking = text.partition("Strength")[2]
    assert ranking.index(runs[60][:8]) < ranking.index(runs[20][:8]) < ranking.index(runs[0][:8])


def test_the_checks_of_cases_are_not_applied_again(online: Workspace, service: ChatService) -> None:
    cases = [
        {
            "id": f"case-{at}",
            "input": f"Question {at}?",
            "checks": [{"contains": {"text": "Answer"}}, {"metric": "criteria", "criteria": "Be kind."}],
        }
        for at in range(CASES)
    ]
    online.cases(cases)
    baseline = online.evaluate(*REAL, "-n", "1", "--rubric", "none").run_id
    service.set(padding=30)
    candidate = online.evaluate(*REAL, "-n", "1", "--rubric", "none").run_id
    before = judged(service)
    service.set(prefer="longer")

    found = only(pairwise(online, baseline, candidate))

    assert (found["wins"], judged(service) - before) == (CASES, 2 * CASES)


def test_files_are_refused_with_a_sentence(online: Workspace, service: ChatService) -> None:
    baseline, candidate = two_runs(online, service)
    paid = service.paid

    done = online.run("compare", baseline, f"runs/{candidate}", "--pairwise")

    assert done.code == 2
    assert "--pairwise needs runs in the store" in done.err
    assert service.paid == paid


def test_a_pairwise_run_is_no_answer_to_at_last_and_cannot_be_compared(online: Workspace, service: ChatService) -> None:
    baseline, candidate = two_runs(online, service)
    made = only(pairwise(online, baseline, candidate))["run_id"]

    done = online.run("compare", "@last~1", "@last", "--json")
    refused = online.run("compare", baseline, made, "--pairwise", "--allow-different")
    scored = online.run("score", made, "--rubric", "default")

    assert (done.json["baseline"], done.json["candidate"]) == (baseline, candidate)
    for each in (refused, scored):
        assert each.code == 2
        assert "is a pairwise comparison and has no answers of its own" in each.err
        assert baseline in each.err


def test_a_pairwise_run_is_listed_shown_rebuilt_and_deleted_like_others(
    online: Workspace, service: ChatService
) -> None:
    baseline, candidate = two_runs(online, service)
    service.set(prefer="longer")
    made = only(pairwise(online, baseline, candidate))["run_id"]

    (listed,) = online.run("runs", "list", "--where", "kind=pairwise", "--json").json["runs"]
    shown = online.run("runs", "show", made)
    case = online.run("runs", "show", made, "--case", "case-001")
    rebuilt = online.run("runs", "rebuild", made)

    assert (listed["run_id"], listed["parent_run_id"]) == (made, candidate)
    assert f"compare {baseline} {candidate} --pairwise --judge-model openai/test" in shown.words
    assert "improve the core prompt" not in shown.words
    assert "candidate_first" in case.out
    assert rebuilt.code == 0, rebuilt.err
    assert online.artifact(made)["baseline_run_id"] == baseline
    assert only(pairwise(online, baseline, candidate))["wins"] == PAIRS
    assert online.run("runs", "delete", made, "--yes").code == 0


def test_a_comparison_with_a_deleted_run_cannot_be_resumed(online: Workspace, service: ChatService) -> None:
    runs = two_runs(online, service)
    part = only(pairwise(online, *runs, "--max-calls", "4"))
    online.run("runs", "delete", runs[0], "--yes")
    paid = service.paid

    done = online.run("resume", part["run_id"])

    assert done.code == 2
    assert f"compares the answers of run {runs[0]}, which has been deleted" in done.err
    assert service.paid == paid


def test_the_mock_does_not_judge_real_answers_unless_told_to(online: Workspace, service: ChatService) -> None:
    runs = two_runs(online, service)

    refused = online.run("compare", *runs, "--pairwise", "--judge-model", "mock/default")
    done = online.run("compare", *runs, "--pairwise", "--judge-model", "mock/default", "--allow-mock-judge")

    assert refused.code == 2
    assert "--allow-mock-judge" in refused.err
    assert done.code == 0
    assert "SYNTHETIC" in done.out
