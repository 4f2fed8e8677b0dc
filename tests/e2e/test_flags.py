"""Every flag does what it says, and what is wrong is said before anything is paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from workspace import REAL, Workspace

if TYPE_CHECKING:
    from chat_service import ChatService


def _ids(artifact: Any) -> list[str]:
    return [case["test_case_id"] for case in artifact["test_case_results"]]


def _generated(service: ChatService) -> list[dict[str, Any]]:
    return [request for request in service.kept if "response_format" not in request]


def _judged(service: ChatService) -> list[dict[str, Any]]:
    return [request for request in service.kept if "response_format" in request]


def test_the_defaults_are_those_of_the_guide(offline: Workspace) -> None:
    artifact = offline.evaluate().artifact

    assert artifact["num_samples_per_case"] == 5
    assert artifact["generator_config"] == {
        "model": "mock/default", "temperature": 0.7, "max_tokens": None, "seed": None,
        "effort": None, "params": {}, "left_out": [], "ignored": [], "response_schema": None,
        "render_prompt": False, "attempts": 1,
    }  # fmt: skip
    assert artifact["judge_config"]["model"] == "mock/default"
    assert artifact["judge_config"]["temperature"] == 0.0
    assert artifact["judge_config"]["repeats"] == 1
    assert artifact["rubric_metadata"]["rubric_name"] == "default"
    assert [metric["name"] for metric in artifact["rubric_metadata"]["metrics"]] == [
        "semantic_fidelity", "decomposition_quality", "constraint_adherence"
    ]  # fmt: skip
    assert {(metric["min_score"], metric["max_score"]) for metric in artifact["rubric_metadata"]["metrics"]} == {(1, 5)}
    assert [flag["name"] for flag in artifact["rubric_metadata"]["flags"]] == [
        "invented_constraints", "omitted_constraints"
    ]  # fmt: skip


def test_quick_means_two_samples_unless_a_number_is_beside_it(offline: Workspace) -> None:
    quick, three = offline.evaluate("--quick"), offline.evaluate("--quick", "--num-samples", "3")

    assert (quick.artifact["num_samples_per_case"], three.artifact["num_samples_per_case"]) == (2, 3)
    assert "Warning" not in quick.err
    assert "--quick is ignored" in three.err


def test_filters_apply_by_id_then_by_metadata_then_by_number_in_file_order(offline: Workspace) -> None:
    levels = {"a": "easy", "b": "hard", "c": "hard", "d": "easy"}
    offline.cases([{"id": case_id, "input": "?", "difficulty": level} for case_id, level in levels.items()])

    done = offline.evaluate("-n", "1", "--max-cases", "1", "--where", "difficulty=hard", "--case-ids", " c , b ,a")

    assert _ids(done.artifact) == ["b"]
    assert done.artifact["filters"] == {"case_ids": ["c", "b", "a"], "where": ["difficulty=hard"], "max_cases": 1}


@each(
    ("arguments", "sentence"),
    [
        (["--case-ids", "case-01"], "Did you mean 'case-001'?"),
        (["--generator-model", "opnai/test"], "Did you mean 'openai'?"),
        (["--generator-model", "gpt-unheard-of"], "There is no model"),
        (["--rubric", "defualt"], "Did you mean 'default'?"),
        (["--rubric", "no/such.yaml"], "no/such.yaml"),
        (["--template", "no-template.txt"], "no-template.txt"),
        (["--judge-system-prompt", "no-judge.txt"], "no-judge.txt"),
        (["-d", "no-data.yaml"], "no-data.yaml"),
        (["-s", "no-prompt.txt"], "no-prompt.txt"),
        (["--fail-under", "semantic_fidelity=nan"], "is not a number"),
        (["-n", "0"], "--num-samples"),
        (["--retry-errors"], "--resume"),
        (["--resume", "some-run", "--estimate"], "--estimate is for new runs"),
        (["--no-such-flag"], "--no-such-flag"),
    ],
)
def test_what_is_wrong_is_said_before_any_call_and_before_there_is_a_run(
    online: Workspace, service: ChatService, arguments: list[str], sentence: str
) -> None:
    done = online.evaluate(*REAL, *arguments)

    assert done.code == 2
    assert sentence in done.err
    assert done.out == ""
    assert service.paid == 0
    assert not (online.folder / "runs").exists()


@each("flag", ["--dataset", "--system-prompt"])
def test_dataset_and_prompt_are_required(offline: Workspace, flag: str) -> None:
    given = {"--dataset": "data.jsonl", "--system-prompt": "prompt.txt"}
    del given[flag]

    done = offline.run("evaluate-dataset", *next(iter(given.items())))

    assert done.code == 2
    assert flag in done.err


def test_the_system_prompt_is_sent_verbatim_and_the_input_as_it_is(online: Workspace, service: ChatService) -> None:
    prompt = " leading and {{input}}\r\nGrüße 日本 \r\n\r\n"
    online.write("prompt.txt", prompt)
    online.cases([{"id": "a", "input": "  {{input}} stays \r\n "}])
    service.set(keep=True)

    online.evaluate(*REAL, "-n", "1")

    (request,) = _generated(service)
    assert request["messages"] == [
        {"role": "system", "content": prompt},
        {"role": "user", "content": "  {{input}} stays \r\n "},
    ]


def test_sample_k_is_asked_with_seed_plus_k(online: Workspace, service: ChatService) -> None:
    service.set(keep=True)

    online.evaluate(*REAL, "-n", "3", "--seed", "40", "--max-cases", "1", "-t", "0.3", "--max-tokens", "77")

    requests = _generated(service)
    assert sorted(request["seed"] for request in requests) == [40, 41, 42]
    assert {request["temperature"] for request in requests} == {0.3}
    assert {request["max_completion_tokens"] for request in requests} == {77}
    assert {request["temperature"] for request in _judged(service)} == {0.0}


def test_the_judge_is_the_generator_unless_named_and_is_told_what_is_known(
    online: Workspace, service: ChatService
) -> None:
    online.cases([{"id": "a", "input": "IN", "task": "TASK", "expected_constraints": "LIMIT", "reference": "REF"}])
    online.write("judge.txt", "Be very strict.\n")
    service.set(keep=True)

    online.evaluate(*REAL, "-n", "1")
    online.evaluate(*REAL, "-n", "1", "--judge-model", "openai/judge", "--judge-temperature", "0.5")
    told = online.evaluate(*REAL, "-n", "1", "--judge-system-prompt", "judge.txt").artifact

    assert told["judge_config"]["system_prompt"] == "Be very strict.\n"
    plain, other, strict = _judged(service)
    assert (plain["model"], other["model"]) == ("test", "judge")
    assert (plain["temperature"], other["temperature"]) == (0.0, 0.5)
    for part in ("IN", "TASK", "LIMIT", "REF", "Answer "):
        assert part in plain["messages"][1]["content"]
    assert "Be very strict." in strict["messages"][0]["content"]
    assert "semantic_fidelity" in strict["messages"][0]["content"]


@each(("bar", "code"), [("1", 0), ("5", 1), ("1.0e0", 0)])
def test_a_mean_below_the_bar_is_exit_1(offline: Workspace, bar: str, code: int) -> None:
    done = offline.evaluate("-n", "1", "--fail-under", f"semantic_fidelity={bar}")

    assert done.code == code
    stats = done.artifact["overall_metric_stats"]["semantic_fidelity"]
    assert (stats["fail_under"], stats["below"]) == (float(bar), bool(code))
    assert done.json["status"] == "completed"
    assert offline.run("resume", done.run_id).code == code


def test_strict_makes_a_partial_run_exit_3(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"kind": "generate", "match": "Question 001", "status": 400}])

    assert online.evaluate(*REAL, "-n", "1").code == 0
    assert online.evaluate(*REAL, "-n", "1", "--strict").code == 3


def test_json_is_all_there_is_on_standard_output(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"kind": "generate", "match": "Question 001", "status": 400}])

    done = online.evaluate(*REAL, "--quick", "-n", "1", "--fail-under", "semantic_fidelity=5")

    assert done.code == 1
    assert done.json["status"] == "partial"
    assert done.json["overall_metric_stats"] == done.artifact["overall_metric_stats"]
    assert "Warning" in done.err


def test_labels_are_kept(offline: Workspace) -> None:
    labels = ("--tag", "team=docs", "--tag", "a=b=c", "--run-note", "A note.", "--prompt-version", "v2")

    done = offline.evaluate("-n", "1", *labels)

    for kept in (done.artifact, offline.index()[0]):
        assert kept["tags"] == {"team": "docs", "a": "b=c"}
        assert kept["prompt_version_id"] == "v2"
    assert done.artifact["run_notes"] == "A note."
    assert offline.index()[0]["description"] == "A note."


def test_a_new_run_makes_new_samples_and_reuse_pays_for_none(online: Workspace, service: ChatService) -> None:
    first = online.evaluate(*REAL, "-n", "2")
    online.evaluate(*REAL, "-n", "2")
    assert service.paid == 24

    again = online.evaluate(*REAL, "-n", "2", "--reuse")
    assert service.paid == 24
    more = online.evaluate(*REAL, "-n", "3", "--reuse")

    assert service.paid == 24 + 6
    assert again.run_id != first.run_id
    assert again.artifact["overall_metric_stats"] == first.artifact["overall_metric_stats"]
    assert all(sample["reused"] for case in again.artifact["test_case_results"] for sample in case["samples"])
    assert more.code == 0


def test_what_is_taken_over_is_no_cost_of_the_run(online: Workspace) -> None:
    prices = {"test": {"input": 1, "output": 2}}
    keys = {"base_url_env": "OPENAI_BASE_URL", "api_key_env": "OPENAI_API_KEY"}
    online.configure(providers={"openai": {"kind": "openai", **keys, "prices": prices}})
    first, again, more = (
        online.evaluate(*REAL, "-n", samples, "--seed", "1", "--reuse").artifact["totals"] for samples in "224"
    )

    assert first["cost"] > 0
    assert again["cost"] == pytest.approx(0)
    assert more["cost"] == pytest.approx(first["cost"], rel=0.1)


def test_errors_are_not_reused(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"kind": "generate", "match": "Question 001", "status": 400}])
    online.evaluate(*REAL, "-n", "1")
    service.set(rules=[])
    paid = service.paid

    again = online.evaluate(*REAL, "-n", "1", "--reuse")

    assert again.json["status"] == "completed"
    assert service.paid - paid == 2


def test_score_judges_again_without_generating(online: Workspace, service: ChatService) -> None:
    first = online.evaluate(*REAL, "-n", "2", "--tag", "a=b")
    before = service.state()["kinds"]

    done = online.run("score", first.run_id, "--rubric", "content-quality", "--judge-model", "openai/judge", "--json")

    after = service.state()["kinds"]
    assert done.code == 0
    assert (after["generate"] - before["generate"], after["judge"] - before["judge"]) == (0, 6)
    assert done.run_id != first.run_id
    assert done.artifact["parent_run_id"] == first.run_id
    assert done.artifact["judge_config"]["model"] == "openai/judge"
    assert done.artifact["rubric_metadata"]["rubric_name"] == "content-quality"
    for old, new in zip(first.artifact["test_case_results"], done.artifact["test_case_results"], strict=True):
        for was, now in zip(old["samples"], new["samples"], strict=True):
            assert was["generator_output"] == now["generator_output"]
    assert online.artifact(first.run_id) == first.artifact


def test_score_with_the_same_judge_asks_it_again(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"kind": "judge", "match": "Question 001", "text": "Hm."}])
    first = online.evaluate(*REAL, "-n", "1")
    service.set(rules=[])
    before = service.state()["kinds"]["judge"]

    done = online.run("score", first.run_id, "--json")

    assert first.json["status"] == "partial"
    assert done.json["status"] == "completed"
    assert service.state()["kinds"]["judge"] - before == 3


def test_the_mock_does_not_score_a_real_model_unless_allowed(online: Workspace) -> None:
    first = online.evaluate(*REAL, "-n", "1")

    refused = online.run("score", first.run_id, "--judge-model", "mock/default")

    assert refused.code == 2
    assert "--allow-mock-judge" in refused.err
    assert online.run("score", first.run_id, "--judge-model", "mock/default", "--allow-mock-judge").code == 0


def test_resuming_what_had_ended_says_so_and_pays_nothing(online: Workspace, service: ChatService) -> None:
    first = online.evaluate(*REAL, "-n", "1")
    artifact = first.artifact
    (online.folder / "data.jsonl").unlink()

    done = online.run("resume", first.run_id)

    assert done.code == 0
    assert "had already ended: completed. Nothing was missing" in done.words
    assert service.paid == 6
    assert online.artifact(first.run_id) == artifact
