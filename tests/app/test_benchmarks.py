"""Benchmarks are found by themselves, and a run of them says everything about every task."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from entries import each

from prompt_evaluator.app.benchmarks import dataset_names, find_dataset, list_datasets, open_benchmark
from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.errors import ConfigurationError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

    from chat_service import ChatService
    from workspace import Done, Workspace

    from prompt_evaluator.config.loading import Settings

SHIPPED = ["basic-coding", "retrieval-qa", "tool-use-basic"]
ONE_TASK = "tasks:\n- {id: a, name: A, input: x, expected_output: y}\n"


def settings_of(folder: Path) -> Settings:
    """Settings whose benchmarks are in this folder."""
    return load_settings(None, {"benchmark.datasets_dir": folder}, {}, folder.parent)


def names(folder: Path) -> list[str]:
    return dataset_names(settings_of(folder))


def benchmark(workspace: Workspace, *arguments: str, model: str = "openai/test") -> Done:
    return workspace.run("benchmark", "run", "--json", "--model", model, *arguments)


def only_run(done: Done, workspace: Workspace) -> Any:
    """The artifact of the only run."""
    (run,) = done.json["runs"]
    return workspace.artifact(run["run_id"])


class TestDiscovery:
    def test_without_a_folder_the_shipped_benchmarks_remain(self, tmp_path: Path) -> None:
        found = list_datasets(settings_of(tmp_path / "benchmarks"))

        assert [each.name for each in found] == SHIPPED
        assert all(each.origin == "shipped" and each.count and not each.error for each in found)

    def test_a_projects_file_shadows_a_shipped_one(self, tmp_path: Path) -> None:
        (tmp_path / "basic-coding.yml").write_text(ONE_TASK)

        assert names(tmp_path) == SHIPPED
        found = find_dataset(settings_of(tmp_path), "basic-coding")
        assert (found.origin, found.count, found.path) == ("project", 1, tmp_path / "basic-coding.yml")

    def test_two_files_with_the_same_name_are_both_listed_with_an_error(self, tmp_path: Path) -> None:
        for suffix in ("yaml", "yml"):
            (tmp_path / f"tea.{suffix}").write_text(ONE_TASK)

        both = [each for each in list_datasets(settings_of(tmp_path)) if each.name == "tea"]

        assert [each.path.name for each in both] == ["tea.yaml", "tea.yml"]
        assert all("Two files" in (each.error or "") for each in both)
        with pytest.raises(ConfigurationError, match=r"'tea' cannot be used: Two files in .* Rename one"):
            find_dataset(settings_of(tmp_path), "tea")

    def test_a_broken_file_is_listed_with_its_error_and_hides_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "broken.yaml").write_text("tasks: [\n")
        (tmp_path / "basic-coding.yaml").write_text("tasks:\n- {id: a}\n")
        (tmp_path / "fine.jsonl").write_text('{"id": "a", "input": "x"}\n')
        (tmp_path / "empty.json").write_text("[]")
        (tmp_path / "notes.txt").write_text("none of these")
        (tmp_path / "folder.yaml").mkdir()

        found = {each.name: each for each in list_datasets(settings_of(tmp_path))}

        assert sorted(found) == sorted([*SHIPPED, "broken", "fine", "empty"])
        assert "broken.yaml" in str(found["broken"].error)
        assert "missing required field: name" in str(found["basic-coding"].error)
        assert "has no cases" in str(found["empty"].error)
        assert found["fine"].error is None
        with pytest.raises(ConfigurationError, match=r"broken\.yaml"):
            open_benchmark(settings_of(tmp_path), "broken")

    def test_a_file_is_read_again_when_it_changes(self, tmp_path: Path) -> None:
        path = tmp_path / "tea.yaml"
        path.write_text(ONE_TASK)
        before = find_dataset(settings_of(tmp_path), "tea")
        path.write_text(ONE_TASK + ONE_TASK.removeprefix("tasks:\n").replace("id: a", "id: b"))

        after = find_dataset(settings_of(tmp_path), "tea")

        assert (before.count, after.count) == (1, 2)
        assert before.hash != after.hash
        path.unlink()
        assert names(tmp_path) == SHIPPED

    def test_an_unknown_name_is_refused_with_the_nearest(self, tmp_path: Path) -> None:
        with pytest.raises(UnknownNameError, match="Did you mean 'basic-coding'"):
            find_dataset(settings_of(tmp_path), "basic-codign")


@each(
    ("arguments", "sentence"),
    [
        (("--dataset", "tea,cofee"), "Did you mean 'coffee'?"),
        (("--dataset", "tea,coffee", "--model", "openai/test,openia/test"), "Did you mean 'openai'?"),
        (("--dataset", "tea,coffee", "--model", "openai/test,anthropic/x"), "ANTHROPIC_API_KEY"),
        (("--dataset", "tea", "--metrics", "length,similaritie"), "Did you mean 'similarity'?"),
        (("--dataset", "tea,odd"), "line 2: checks field validation failed: The metric 'regex' has no option 'patern'"),
        (("--dataset", "tea", "--reducers", "pass@7"), "pass@7"),
        (("--dataset", "tea", "--reducers", "pass@" + "9" * 5_000), f"'pass@{'9' * 35}' cannot be used: "),
        (("--dataset", "tea", "--model", "openai/test,openai/x", "--max-cost", "1"), "The price of openai/test"),
        (("--dataset", "tea", "--judge-model", "nobody/x"), "There is no provider 'nobody'"),
        (("--dataset", ","), "name at least one"),
    ],
)
def test_an_error_in_any_of_the_runs_is_reported_before_the_first_call(
    online: Workspace, service: ChatService, arguments: tuple[str, ...], sentence: str
) -> None:
    for name in ("tea", "coffee"):
        online.cases([{"id": "a", "input": "x", "reference": "y"}], f"benchmarks/{name}.jsonl")
    wrong: list[dict[str, Any]] = [
        {"id": "a", "input": "x"},
        {"id": "b", "input": "x", "checks": [{"metric": "regex", "patern": "x"}]},
    ]
    online.cases(wrong, "benchmarks/odd.jsonl")

    done = benchmark(online, *arguments)

    assert done.code == 2
    assert sentence in done.err
    assert service.paid == 0
    assert online.run("runs", "list", "--json").json["runs"] == []
    assert not [path for path in (online.folder / "runs").rglob("*") if path.is_file()]


def test_several_datasets_and_models_are_one_group(online: Workspace, service: ChatService) -> None:
    for name in ("tea", "coffee"):
        online.cases(2, f"benchmarks/{name}.jsonl")

    done = benchmark(online, "--dataset", "tea,coffee", "--metrics", "latency(max_ms=60000)", model="openai/a,openai/b")

    assert done.code == 0
    artifacts = [online.artifact(run["run_id"]) for run in done.json["runs"]]
    assert [(each["dataset_path"].split("/")[-1], each["generator_config"]["model"]) for each in artifacts] == [
        ("tea.jsonl", "openai/a"),
        ("tea.jsonl", "openai/b"),
        ("coffee.jsonl", "openai/a"),
        ("coffee.jsonl", "openai/b"),
    ]
    assert len({each["group_id"] for each in artifacts}) == 1
    assert len({each["run_id"] for each in artifacts}) == 4
    assert service.paid == 8


def test_the_keys_of_rubric_and_prompt_are_null_and_the_metrics_are_named(offline: Workspace) -> None:
    done = benchmark(offline, "--dataset", "basic-coding", "--metrics", "similarity,exact_match", model="mock/default")

    artifact = only_run(done, offline)
    assert artifact["metrics_config"] == [{"metric": "similarity"}, {"metric": "exact_match"}]
    for key in ("rubric_metadata", "system_prompt_path", "prompt_version_id", "prompt_hash"):
        assert artifact[key] is None
    assert artifact["overall_flag_stats"] == {}
    assert set(artifact["overall_metric_stats"]) == {"similarity", "exact_match"}
    (entry,) = offline.index()
    assert entry["rubric_hash"] is None
    assert entry["prompt_hash"] is None


def test_a_task_has_its_scores_outputs_tokens_cost_and_time(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"kind": "generate", "text": "Steep it for three minutes."}])
    online.configure(providers={"openai": {"prices": {"test": {"input": 1, "output": 10}}}})
    task = {"id": "a", "name": "A", "input": "How long?", "expected_output": "Three minutes."}
    online.write("benchmarks/tea.json", json.dumps({"tasks": [task]}))

    done = benchmark(online, "--dataset", "tea", "--metrics", "exact_match,token_f1,tool_correctness")

    (case,) = only_run(done, online)["test_case_results"]
    (sample,) = case["samples"]
    assert case["test_case_reference"] == "Three minutes."
    assert sample["generator_output"] == "Steep it for three minutes."
    assert sample["scores"]["exact_match"]["score"] == 0
    assert sample["scores"]["exact_match"]["passed"] is False
    assert sample["scores"]["exact_match"]["reason"]
    assert 0 < sample["scores"]["token_f1"]["score"] < 1
    assert sample["scores"]["tool_correctness"] == {
        "status": "skipped",
        "score": None,
        "passed": None,
        "reason": "the case lists no expected tools",
        "details": {},
        "repeats": None,
    }
    assert (sample["input_tokens"], sample["output_tokens"]) == (20, 6)
    assert sample["cost"] == pytest.approx(80e-6)
    assert sample["latency_ms"] > 0
    assert sample["tool_calls"] == []


def test_zeros_count_and_skips_and_errors_do_not(online: Workspace, service: ChatService) -> None:
    service.set(
        rules=[
            {"match": "right?", "text": "yes"},
            {"match": "wrong?", "text": "no"},
            {"match": "none?", "text": "yes"},
            {"match": "broken?", "status": 400, "message": "cannot"},
        ]
    )
    cases = [{"id": at, "input": f"{at}?", "reference": "yes"} for at in ("right", "wrong", "broken")]
    online.cases([*cases, {"id": "none", "input": "none?"}], "benchmarks/tea.jsonl")

    done = benchmark(online, "--dataset", "tea", "--metrics", "exact_match")

    artifact = only_run(done, online)
    assert artifact["status"] == "partial"
    stats = artifact["overall_metric_stats"]["exact_match"]
    assert stats["mean_of_means"] == 0.5
    assert (stats["num_cases"], stats["skipped"]) == (2, 1)
    assert artifact["totals"]["skipped"] == {"exact_match": 1}
    assert artifact["totals"]["errors"] == {"RequestRefusedError": 1}
    assert artifact["totals"]["samples"] == {"completed": 3, "generation_error": 1}
    assert artifact["totals"]["error_share"] == 0.25


def test_reducers_are_shown_next_to_the_mean(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"match": "first?", "text": "yes", "times": 2}, {"text": "no"}])
    online.cases(
        [{"id": at, "input": f"{at}?", "reference": "yes"} for at in ("first", "second")], "benchmarks/tea.jsonl"
    )

    done = benchmark(
        *(online, "--dataset", "tea", "--metrics", "exact_match", "-n", "3", "--seed", "1"),
        *("--reducers", "pass@2,majority,best-of"),
    )

    artifact = only_run(done, online)
    stats = artifact["overall_metric_stats"]["exact_match"]
    assert stats["mean_of_means"] == pytest.approx(1 / 3)
    assert stats["reduced"] == {"pass@2": 0.5, "majority": 0.5, "best-of": 0.5}
    assert stats["flaky_cases"] == 1
    assert artifact["reducers"] == ["pass@2", "majority", "best-of"]


def test_a_stopped_benchmark_is_resumed_without_paying_again(online: Workspace, service: ChatService) -> None:
    online.cases(6, "benchmarks/tea.jsonl")
    stopped = benchmark(
        online, "--dataset", "tea", "--metrics", "latency(max_ms=60000)", "-n", "2", "--seed", "1", "--max-calls", "5"
    )
    (run,) = stopped.json["runs"]
    assert (stopped.code, run["status"]) == (3, "aborted")

    done = online.run("resume", run["run_id"], "--json")

    assert done.code == 0
    assert done.artifact["status"] == "completed"
    assert done.artifact["metrics_config"] == [{"metric": "latency", "options": {"max_ms": 60000}}]
    assert (service.state()["paid"], service.state()["most"]) == (12, 1)


def test_the_settings_give_model_and_folder(online: Workspace, service: ChatService) -> None:
    online.configure(
        generator={"model": "openai/test"}, output_dir="results", benchmark={"datasets_dir": "own"}, num_samples=4
    )
    online.cases(2, "own/tea.jsonl")

    done = online.run("benchmark", "run", "--json", "--dataset", "tea", "--metrics", "latency(max_ms=60000)")

    assert done.code == 0
    artifact = online.artifact(done.json["runs"][0]["run_id"], "results")
    assert artifact["generator_config"]["model"] == "openai/test"
    assert artifact["num_samples_per_case"] == 1
    assert service.paid == 2


class TestTools:
    def test_calls_that_were_made_are_in_the_result(self, offline: Workspace) -> None:
        done = benchmark(offline, "--dataset", "tool-use-basic", "--metrics", "tool_correctness", model="mock/default")

        artifact = only_run(done, offline)
        made = [case["samples"][0]["tool_calls"] for case in artifact["test_case_results"]]
        assert any(made)
        assert all({"name", "arguments"} <= call.keys() for calls in made for call in calls)
        assert 0 < artifact["overall_metric_stats"]["tool_correctness"]["mean_of_means"] <= 1

    def test_the_mock_calls_tools_that_were_derived(self, offline: Workspace) -> None:
        case = {"id": "a", "input": "x", "expected_tools": [{"name": "find", "args": {"q": "tea"}}]}
        offline.cases([{**case, "id": str(number)} for number in range(10)], "benchmarks/tea.jsonl")

        done = benchmark(offline, "--dataset", "tea", "--metrics", "tool_correctness", model="mock/default")

        stats = only_run(done, offline)["overall_metric_stats"]["tool_correctness"]
        assert (stats["num_cases"], stats["skipped"]) == (10, 0)
        assert stats["mean_of_means"] > 0.5
