"""One scoring path: a rubric and metrics follow the same rules, through the command and a judge that is no mock."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from entries import each

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Done, Workspace

REAL = ("--generator-model", "openai/test")
RUBRIC: dict[str, Any] = {
    "metrics": [
        {"name": "clarity", "description": "Is it clear?"},
        {"name": "trust", "description": "Can it be believed?", "min_score": 0, "max_score": 10, "pass_at": 9},
    ],
    "flags": [{"name": "invented", "description": "Something is made up."}],
}


def judgement(clarity: float, trust: float, *, invented: bool = False) -> str:
    marks = {"clarity": clarity, "trust": trust}
    metrics = {name: {"rationale": "why", "score": score} for name, score in marks.items()}
    return json.dumps({"metrics": metrics, "flags": {"invented": invented}, "overall_comment": "so"})


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"kind": "judge", "text": text, **more}


def scores(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = done.json["overall_metric_stats"]
    return found


def samples(done: Done) -> list[dict[str, Any]]:
    return [sample for case in done.artifact["test_case_results"] for sample in case["samples"]]


# Without a rubric


def test_without_a_rubric_only_metrics_are_scored_and_no_judge_is_asked(
    online: Workspace, service: ChatService
) -> None:
    done = online.evaluate(*REAL, "--rubric", "none", "--metrics", "length(max_words=9)", "-n", "2")

    assert done.code == 0, done.err
    assert service.state()["kinds"] == {"generate": 6}
    assert set(scores(done)) == {"length"}
    assert done.artifact["judge_config"] is None
    assert done.artifact["rubric_metadata"] is None


@pytest.mark.parametrize("target", ["command", "python"])
def test_a_program_that_cannot_judge_can_be_evaluated_by_metrics(offline: Workspace, target: str) -> None:
    offline.write(
        "answers.py",
        "def answer(text):\n    return 'yes'\n\nif __name__ == '__main__':\n    print('{\"text\": \"yes\"}')\n",
    )
    model = "python:answers:answer" if target == "python" else f"command:{sys.executable} answers.py"

    done = offline.evaluate(
        "--generator-model", model, "--rubric", "none", "--metrics", "contains(text=yes)", "-n", "1"
    )
    refused = offline.evaluate("--generator-model", model, "-n", "1")

    assert done.code == 0, done.err
    assert scores(done)["contains"]["mean_of_means"] == 1
    assert not done.artifact["synthetic"]
    assert refused.code == 2
    assert "cannot judge answers" in refused.err
    assert "--rubric none" in refused.err


# A rubric's scores pass or not, as a metric's do


def test_a_criterion_has_a_pass_mark_and_the_statistics_that_go_with_it(
    online: Workspace, service: ChatService
) -> None:
    online.write("house.yaml", yaml.safe_dump(RUBRIC))
    online.cases(1)
    service.set(rules=[says(judgement(4, 8), times=2), says(judgement(3.9, 9.5))])

    done = online.evaluate(*REAL, "--rubric", "house.yaml", "-n", "4", "-j", "1")

    (case,) = done.artifact["test_case_results"]
    clarity, trust = case["per_metric_stats"]["clarity"], case["per_metric_stats"]["trust"]
    assert [sample["judge_metrics"]["clarity"]["passed"] for sample in case["samples"]] == [True, True, False, False]
    assert (clarity["passed"], clarity["pass_rate"]) == (2, 0.5)
    assert clarity["pass_interval"] == pytest.approx([0.15, 0.85], abs=0.01)
    assert (trust["passed"], trust["pass_rate"]) == (2, 0.5)
    assert scores(done)["clarity"]["flaky_cases"] == 1
    assert scores(done)["trust"]["pass_rate"] == 0.5


def test_another_pass_mark_costs_nothing(online: Workspace, service: ChatService) -> None:
    online.write("house.yaml", yaml.safe_dump(RUBRIC))
    service.set(rules=[says(judgement(4, 8))])
    first = online.evaluate(*REAL, "--rubric", "house.yaml", "-n", "2")
    paid = service.paid
    stricter = {**RUBRIC, "metrics": [{**RUBRIC["metrics"][0], "pass_at": 4.5}, RUBRIC["metrics"][1]]}
    online.write("house.yaml", yaml.safe_dump(stricter))

    again = online.evaluate(*REAL, "--rubric", "house.yaml", "-n", "2", "--reuse")

    assert scores(first)["clarity"]["pass_rate"] == 1
    assert scores(again)["clarity"]["pass_rate"] == 0
    assert service.paid == paid


# Uses of metrics


def test_options_of_run_dataset_and_case_are_merged_with_the_most_specific_winning(offline: Workspace) -> None:
    cases = {
        "tasks": [
            {"id": "a", "name": "A", "input": "x", "expected_output": "one two three"},
            {
                "id": "b",
                "name": "B",
                "input": "x",
                "expected_output": "one two three",
                "checks": {"length": {"max_words": 10_000}},
            },
        ],
        "checks": [{"metric": "length", "max_words": 1}],
    }
    offline.write("data.yaml", yaml.safe_dump(cases))

    done = offline.run(
        *("evaluate-dataset", "-d", "data.yaml", "-s", "prompt.txt", "--json", "--rubric", "none", "-n", "1"),
        *("--metrics", "length(min_words=1, max_words=5)"),
    )

    assert done.code == 0, done.err
    found = [case["per_metric_stats"]["length"]["mean"] for case in done.artifact["test_case_results"]]
    assert found == [0, 1]


def test_metrics_come_from_a_file_as_well(offline: Workspace) -> None:
    listed = ["is_json", {"length": {"max_words": 10_000}}, {"metric": "regex", "pattern": ".", "name": "any"}]
    offline.write("metrics.yaml", yaml.safe_dump({"metrics": listed}))

    done = offline.evaluate(
        "--rubric", "none", "-n", "1", "--metrics-file", "metrics.yaml", "--metrics", "contains(text=e)"
    )

    assert done.code == 0, done.err
    assert set(scores(done)) == {"is_json", "length", "any", "contains"}


# Judges


def test_a_use_may_name_a_judge_of_its_own(online: Workspace, service: ChatService) -> None:
    online.cases([{"id": "a", "input": "x", "reference": "y"}])
    service.set(rules=[says('{"reason": "so", "score": 6}', match="evaluation steps below")], keep=True)

    done = online.evaluate(
        *(*REAL, "-n", "1", "--judge-model", "openai/large"),
        *(
            "--metrics",
            'correctness(steps=["Look."], judge=openai/small), criteria(steps=["Look."], judge=openai/tiny)',
        ),
    )

    assert done.code == 0, done.err
    judges = [asked["model"] for asked in service.kept if "response_format" in asked]
    assert sorted(judges) == ["large", "small", "tiny"]
    assert sorted(done.artifact["judge_configs"]) == ["openai/small", "openai/tiny"]


def test_tool_correctness_can_be_given_a_judge_from_the_command_line(online: Workspace, service: ChatService) -> None:
    called = {"name": "find", "args": {"what": "a kettle"}}
    online.cases([{"id": "a", "input": "x", "checks": [{"metric": "tool_correctness", "expected_tools": [called]}]}])
    call = {"function": {"name": "find", "arguments": json.dumps({"what": "a tea kettle"})}}
    service.set(
        rules=[
            {"kind": "generate", "text": "", "tool_calls": [call]},
            says('{"reason": "the same", "score": 9}'),
        ]
    )

    done = online.evaluate(*REAL, "--rubric", "none", "-n", "1", "--metrics", "tool_correctness(judge=openai/other)")

    assert done.code == 0, done.err
    assert scores(done)["tool_correctness"]["mean_of_means"] == pytest.approx(0.9)


def test_a_judge_whose_every_reply_is_unreadable_ends_the_run_early(online: Workspace, service: ChatService) -> None:
    online.cases(200)
    service.set(rules=[says("I like it.")])

    done = online.evaluate(*REAL, "-n", "5", "-j", "8")

    assert done.code == 3
    assert done.json["status"] == "aborted"
    assert "unreadable replies in a row" in done.err
    assert "there is no JSON object in the reply" in done.err
    assert service.state()["kinds"]["judge"] < 120


# What is prepared once


STEPS = "You prepare an evaluation"


def test_steps_that_one_run_had_written_are_those_of_the_next(online: Workspace, service: ChatService) -> None:
    online.cases([{"id": "a", "input": "x", "reference": "y"}])
    mark = says('{"reason": "so", "score": 6}')
    service.set(rules=[says('{"steps": ["First."]}', match=STEPS), mark], keep=True)
    how = (*REAL, "--rubric", "none", "-n", "1", "--metrics", "correctness")
    first = online.evaluate(*how)
    service.set(rules=[says('{"steps": ["Second."]}', match=STEPS), mark])

    second = online.evaluate(*how)
    third = online.evaluate(*how, "--reuse")

    (made,), (again,) = first.artifact["prepared_metrics"], second.artifact["prepared_metrics"]
    assert made["options"] == again["options"] == {"steps": ["First."]}
    assert made["hash"] == again["hash"]
    assert (made["reused"], again["reused"]) == (False, True)
    asked = [asked["messages"][0]["content"] for asked in service.kept]
    assert sum(STEPS in text for text in asked) == 1
    assert third.artifact["totals"]["cost"] == 0 or third.artifact["totals"]["reused_units"] == 1
    assert service.paid == 1 + 2 * 2


# Somebody else's code


def test_an_exception_in_a_metric_is_the_failure_of_its_scores_and_named_everywhere(
    online: Workspace, service: ChatService
) -> None:
    online.write("checks.py", "def boom(output, case):\n    raise RuntimeError('kaputt')\n")

    done = online.evaluate(*REAL, "--metrics", "python:checks:boom", "-n", "2", "-v")
    shown = online.run("runs", "show", done.run_id)
    paid = service.paid
    resumed = online.run("resume", done.run_id, "--json")

    assert done.json["status"] == "partial"
    (failure,) = done.artifact["totals"]["failures"]
    assert (failure["metric"], failure["kind"], failure["count"]) == ("python:checks:boom", "RuntimeError", 6)
    assert "kaputt" in failure["message"]
    assert "python:checks:boom: RuntimeError: kaputt" in done.err
    assert "6 × python:checks:boom: RuntimeError: kaputt" in shown.words
    assert all(sample["judge_metrics"] for sample in samples(done))
    assert resumed.json["status"] == "partial"
    assert service.paid == paid


# What is sent


def test_a_template_of_ones_own_replaces_the_one_for_passages(online: Workspace, service: ChatService) -> None:
    online.write("plain.txt", "{{input}}")
    online.cases([{"id": "a", "input": "What colour?", "context": ["Grass is green."]}])
    service.set(keep=True)
    how = (*REAL, "--rubric", "none", "-n", "1", "--metrics", "length(max_words=10000)")

    online.evaluate(*how, "--template", "plain.txt")
    online.write("plain.txt", "{{context}}\n{{input}}")
    online.evaluate(*how, "--template", "plain.txt")

    plain, both = (asked["messages"][-1]["content"] for asked in service.kept)
    assert plain == "What colour?"
    assert both == "[1] Grass is green.\nWhat colour?"


def test_a_conversation_is_sent_turn_by_turn_and_shown_to_the_judge(online: Workspace, service: ChatService) -> None:
    turns = [
        {"role": "user", "content": "My kettle leaks."},
        {"role": "assistant", "content": "Since when?"},
        {"role": "user", "content": "Since Monday."},
    ]
    online.cases([{"id": "a", "messages": turns}])
    service.set(keep=True)

    done = online.evaluate(*REAL, "-n", "1")

    assert done.code == 0, done.err
    generation, judged = service.kept
    assert generation["messages"] == [{"role": "system", "content": "Answer in one sentence.\n"}, *turns]
    assert "assistant: Since when?" in judged["messages"][1]["content"]
    (case,) = done.artifact["test_case_results"]
    assert case["test_case_input"] == "Since Monday."
    assert case["messages"] == turns


def test_parameters_are_passed_through_and_name_the_answer(online: Workspace, service: ChatService) -> None:
    service.set(keep=True)
    online.cases(1)
    how = (*REAL, "--rubric", "none", "-n", "1", "--metrics", "length(max_words=10000)", "--reuse")

    online.evaluate(*how, "--param", "top_p=0.9", "--param", "reasoning_effort=low")
    online.evaluate(*how, "--param", "top_p=0.9", "--param", "reasoning_effort=low")
    done = online.evaluate(*how, "--param", "top_p=0.8")

    assert [(asked.get("top_p"), asked.get("reasoning_effort")) for asked in service.kept] == [
        (0.9, "low"),
        (0.8, None),
    ]
    assert done.artifact["generator_config"]["params"] == {"top_p": 0.8}


def test_fields_are_filled_into_the_system_prompt_only_on_request(online: Workspace, service: ChatService) -> None:
    online.write("prompt.txt", "Answer as a {{role}}.")
    online.cases([{"id": "a", "input": "x", "role": "cook"}])
    service.set(keep=True)
    how = (*REAL, "--rubric", "none", "-n", "1", "--metrics", "length(max_words=10000)")

    online.evaluate(*how)
    done = online.evaluate(*how, "--render-prompt")

    assert [asked["messages"][0]["content"] for asked in service.kept] == ["Answer as a {{role}}.", "Answer as a cook."]
    assert done.artifact["test_case_results"][0]["messages"][0] == {"role": "system", "content": "Answer as a cook."}


# Numbers


def test_a_case_ends_with_its_last_metric(online: Workspace) -> None:
    online.cases(1)
    online.write("checks.py", "import time\n\ndef now(output, case):\n    return 1, str(time.time())\n")

    done = online.evaluate(*REAL, "--rubric", "none", "--metrics", "python:checks:now", "-n", "1")

    (case,) = done.artifact["test_case_results"]
    scored_at = float(case["samples"][0]["scores"]["python:checks:now"]["reason"])
    assert datetime.fromisoformat(case["timestamp_end"]).timestamp() > scored_at - 0.001


def test_judge_calls_without_a_price_are_counted_as_such(online: Workspace, service: ChatService) -> None:
    online.configure(providers={"openai": {"prices": {"test": {"input": 1, "output": 1}}}})

    done = online.evaluate(*REAL, "--judge-model", "openai/unknown", "-n", "2")

    totals = done.artifact["totals"]
    assert totals["unpriced_calls"] == 6
    assert totals["cost"] > 0
    assert service.paid == 12


# Scoring again


def test_scoring_again_is_held_to_the_rules_of_a_new_run(offline: Workspace) -> None:
    offline.write("answers.py", "def answer(text):\n    return 'yes'\n")
    first = offline.evaluate(
        *("--generator-model", "python:answers:answer", "--rubric", "none", "-n", "1"),
        *("--metrics", "contains(text=yes, name=semantic_fidelity)"),
    )

    by_program = offline.run("score", first.run_id, "--rubric", "content-quality")
    clash = offline.run("score", first.run_id, "--rubric", "default", "--judge-model", "mock/x", "--allow-mock-judge")

    assert (by_program.code, clash.code) == (2, 2)
    assert "cannot judge answers" in by_program.err
    assert "'semantic_fidelity'" in clash.err


# What must not happen


@each("key", ["api_key", "Authorization", "access_token", "model", "messages"])
def test_a_parameter_that_is_a_secret_or_the_runs_own_is_refused(
    online: Workspace, service: ChatService, key: str
) -> None:
    done = online.evaluate(*REAL, "--param", f"{key}=canary-1234567890")

    assert done.code == 2
    assert repr(key) in done.err
    assert "canary" not in done.err
    assert service.paid == 0


def test_a_run_is_not_resumed_after_its_own_metric_was_edited(online: Workspace) -> None:
    online.write("checks.py", "def fine(output, case):\n    return 1\n")
    how = (*REAL, "--rubric", "none", "--metrics", "python:checks:fine", "-n", "2")
    stopped = online.evaluate(*how, "--max-calls", "4", "-j", "1")
    online.write("checks.py", "def fine(output, case):\n    return 0\n")

    done = online.run("resume", stopped.run_id)

    assert done.code == 2
    assert "The metrics of run" in done.err
    assert "have changed" in done.err


def test_a_key_that_a_metric_returns_is_masked_in_what_is_kept(online: Workspace) -> None:
    online.write("checks.py", "import os\n\ndef leak(output, case):\n    return 1.0, os.environ['OPENAI_API_KEY']\n")
    key = online.environment["OPENAI_API_KEY"]

    done = online.evaluate(*REAL, "--rubric", "none", "--metrics", "python:checks:leak", "-n", "1")

    assert done.code == 0, done.err
    kept = [path.read_bytes() for path in online.folder.rglob("*") if path.is_file() and path.suffix != ".py"]
    assert not any(key.encode() in data for data in kept)


def test_a_judge_that_cannot_write_steps_for_cases_ends_the_run_early_and_is_counted(
    online: Workspace, service: ChatService
) -> None:
    cases = [{"id": f"c{at}", "input": "x", "checks": [{"criteria": {"criteria": f"Nice {at}."}}]} for at in range(200)]
    online.cases(cases)
    service.set(rules=[says("garbage")])

    done = online.evaluate(*REAL, "--rubric", "none", "-n", "1", "-j", "4")

    assert done.json["status"] == "aborted"
    assert "unreadable replies in a row" in done.err
    assert service.state()["kinds"]["judge"] < 80
    assert done.json["totals"]["input_tokens"] == 20 * service.paid


def test_two_cases_may_not_call_two_metrics_by_one_name(offline: Workspace) -> None:
    uses = [{"metric": "contains", "name": "q", "text": "a"}, {"metric": "length", "name": "q", "max_words": 9}]
    offline.cases([{"id": f"c{at}", "input": "x", "checks": [use]} for at, use in enumerate(uses)])

    done = offline.evaluate("--rubric", "none")

    assert done.code == 2
    assert "are called 'q'" in done.err


def test_an_unknown_metric_in_a_file_of_metrics_is_told_with_its_line(offline: Workspace) -> None:
    offline.write("metrics.yaml", "- is_json\n- lenght(max_words=4)\n")

    done = offline.evaluate("--rubric", "none", "--metrics-file", "metrics.yaml")

    assert done.code == 2
    assert "metrics.yaml:2" in done.err
    assert "Did you mean 'length'" in done.err


def test_everybody_who_judges_is_named(online: Workspace, service: ChatService) -> None:
    service.set(rules=[says('{"reason": "so", "score": 6}', match="evaluation steps below")])

    done = online.run(
        *("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "-n", "1", *REAL),
        *("--metrics", 'criteria(steps=["Look."], judge=openai/other)'),
    )

    assert "judged by openai/test and openai/other" in done.words
