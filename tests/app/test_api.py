"""The Python API."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml
from entries import each

import prompt_evaluator
from prompt_evaluator import TestCase, evaluate, evaluate_async, load_dataset
from prompt_evaluator.errors import ConfigurationError, InputError, PromptEvaluatorError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chat_service import ChatService

    from prompt_evaluator import Evaluation

pytestmark = pytest.mark.usefixtures("here")

CASES: list[TestCase | dict[str, Any]] = [
    {"id": "tea", "input": "How long?", "reference": "three minutes", "topic": "drinks", "metadata": {"level": 2}},
    {"id": "milk", "input": "With milk?", "reference": "never"},
]


def three_minutes(_question: str) -> str:
    return "three minutes"


async def three_minutes_later(_question: str) -> str:
    await asyncio.sleep(0)
    return "three minutes"


async def exact(target: Any = three_minutes, dataset: str | Path | Iterable[Any] = CASES, **options: Any) -> Evaluation:
    return await evaluate_async(dataset, target, rubric=None, metrics=["exact_match"], samples=2, **options)


async def test_a_run_has_a_status_statistics_totals_cases_and_rows() -> None:
    run = await evaluate_async(CASES, samples=3)

    assert run.status == "completed"
    assert run.error is None
    assert run.synthetic
    assert {"semantic_fidelity", "constraint_adherence"} <= set(run.metrics)
    assert "invented_constraints" in run.flags
    assert run.totals.samples == {"completed": 6}
    assert [case.test_case_id for case in run.cases()] == ["tea", "milk"]
    rows = run.rows()
    assert [(row["test_case_id"], row["sample"]) for row in rows] == [
        *(("tea", sample) for sample in range(3)),
        *(("milk", sample) for sample in range(3)),
    ]
    assert all(row.keys() == rows[0].keys() for row in rows)
    assert {"output", "status", "cost", "latency_ms", "semantic_fidelity", "invented_constraints"} <= rows[0].keys()


@each(
    "target",
    [
        three_minutes,
        three_minutes_later,
        lambda _question: "three minutes",
        lambda _question: {"text": "three minutes"},
    ],
    ids=["function", "async function", "lambda", "lambda with a mapping"],
)
async def test_a_function_may_be_the_target(target: Any) -> None:
    run = await exact(target)

    assert run.status == "completed"
    assert not run.synthetic
    assert run.metrics["exact_match"].mean_of_means == 0.5
    assert run.flags == {}
    assert [row["exact_match"] for row in run.rows()] == [1.0, 1.0, 0.0, 0.0]


async def test_two_lambdas_of_one_name_are_two_targets() -> None:
    runs = await asyncio.gather(*(exact(lambda _, answer=answer: answer) for answer in ("never", "three minutes")))

    assert [[row["output"] for row in run.rows()] for run in runs] == [["never"] * 4, ["three minutes"] * 4]


async def test_a_function_that_raises_is_a_failure_and_no_zero() -> None:
    def sometimes(question: str) -> str:
        if "milk" in question:
            raise LookupError("no milk")
        return "three minutes"

    run = await exact(sometimes)

    assert run.status == "partial"
    assert run.metrics["exact_match"].mean_of_means == 1.0
    assert run.totals.errors == {"TargetFailedError": 2}
    assert "no milk" in run.rows()[-1]["error"]


@each(
    "options",
    [
        {},
        {"rubric": None, "metrics": ["correctness"]},
        {
            "rubric": None,
            "metrics": [{"metric": "tool_correctness", "use_judge": True, "expected_tools": ["brew"]}],
        },
        {"rubric": None, "dataset": [{"id": "a", "input": "x", "reference": "y", "checks": ["correctness"]}]},
    ],
    ids=["rubric", "metric", "metric on request", "check of a case"],
)
async def test_a_function_needs_a_judge_for_what_asks_one(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="cannot judge answers"):
        await evaluate_async(**{"dataset": CASES, "target": three_minutes, **options})


async def test_a_named_judge_judges_a_function() -> None:
    run = await evaluate_async(CASES, three_minutes, judge="mock/default", allow_mock_judge=True, samples=1)

    assert run.status == "completed"
    assert run.synthetic
    assert run.rows()[0]["output"] == "three minutes"


async def test_the_mock_does_not_judge_a_real_target_by_accident() -> None:
    with pytest.raises(ConfigurationError, match="mean nothing"):
        await evaluate_async(CASES, three_minutes, judge="mock/default")


async def test_unknown_fields_are_metadata_as_in_a_file(here: Path) -> None:
    (here / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))

    (tea, milk) = (await exact()).cases()

    assert tea.test_case_metadata == {"topic": "drinks", "level": 2}
    assert tea.test_case_reference == "three minutes"
    assert milk.test_case_metadata == {}
    assert [case.metadata for case in load_dataset("cases.jsonl")[0]] == [
        tea.test_case_metadata,
        milk.test_case_metadata,
    ]


async def test_cases_may_be_objects_or_come_one_by_one() -> None:
    run = await exact(dataset=(TestCase(id=str(n), input="x", reference="three minutes") for n in range(3)))

    assert run.metrics["exact_match"].num_cases == 3


@pytest.mark.parametrize("kind", [str, None], ids=["text", "path"])
async def test_a_dataset_may_be_a_path(here: Path, kind: Any) -> None:
    path = here / "cases.yaml"
    path.write_text(yaml.safe_dump(CASES))

    run = await exact(dataset=kind(path) if kind else path)

    assert run.metrics["exact_match"].num_cases == 2


BAD = [
    *("two mappings of one id", "two objects of one id", "no input", "no id", "a number as id", "an empty input"),
    *("a number as reference", "a blank id", "an object with an empty input", "a foreign object"),
    *("half a character", "a text", "one mapping", "nothing", "no cases", "no file", "no dataset"),
]


@each(
    ("dataset", "sentence"),
    [
        ([{"id": "a", "input": "x"}, {"id": "a", "input": "y"}], r"Duplicate test case ID 'a' found at index 1"),
        ([TestCase(id="a", input="x")] * 2, r"Duplicate test case ID 'a' found at index 1"),
        ([{"id": "a"}], r"index 0 is missing required field: input"),
        ([{"input": "x"}], r"index 0 is missing required field: id"),
        ([{"id": 7, "input": "x"}], r"id field validation failed: it is the number 7"),
        ([{"id": "a", "input": ""}], r"input field validation failed: it is empty"),
        ([{"id": "a", "input": "x", "reference": 3}], r"reference field validation failed"),
        ([TestCase(id=" ", input="x")], r"id field validation failed: it is blank"),
        ([TestCase(id="a", input="")], r"input field validation failed: it is empty"),
        ([{"id": "a", "input": "x", "when": object()}], r"'a' has a value that cannot be stored"),
        ([{"id": "a", "input": "\udc80"}], r"'a' has a value that cannot be stored"),
        (["a"], r"Case 0 is a str, neither"),
        ({"id": "a", "input": "x"}, r"Case 0 is a str, neither"),
        ([None], r"Case 0 is a NoneType, neither"),
        ([], r"There are no cases"),
        ("missing.yaml", r"file not found"),
        ("cases.txt", r"Unsupported dataset file format"),
    ],
    ids=BAD,
)
def test_bad_cases_are_refused_and_nothing_is_stored(here: Path, dataset: Any, sentence: str) -> None:
    with pytest.raises(PromptEvaluatorError, match=sentence):
        asyncio.run(exact(dataset=dataset))

    assert list(here.iterdir()) == []


@each(
    ("options", "sentence"),
    [
        ({"metrics": ["exact_mach"]}, "Did you mean 'exact_match'"),
        ({"metrics": [{"metric": "regex", "patern": "x"}]}, "Did you mean 'pattern'"),
        ({"rubric": "defualt"}, "Did you mean 'default'"),
        ({"target": "openia/x"}, "Did you mean 'openai'"),
        ({"target": lambda: "x"}, "cannot be called with a question"),
        ({"system_prompt": "x", "judge": "nobody/x"}, "There is no provider 'nobody'"),
    ],
    ids=["metric", "option", "rubric", "model", "function", "judge"],
)
async def test_a_wrong_name_is_refused_with_the_nearest(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        await evaluate_async(CASES, **options)


def test_evaluate_needs_no_event_loop() -> None:
    run = evaluate(CASES, three_minutes, rubric=None, metrics=["exact_match"], samples=1)

    assert run.status == "completed"


async def test_evaluate_works_within_a_running_event_loop() -> None:
    run = evaluate(CASES, three_minutes_later, rubric=None, metrics=["exact_match"], samples=1)

    assert run.status == "completed"
    with pytest.raises(InputError):
        evaluate("missing.yaml")


def test_both_have_the_same_parameters_and_their_own_name() -> None:
    assert inspect.signature(evaluate) == inspect.signature(evaluate_async)
    assert evaluate.__name__ == "evaluate"
    assert not inspect.iscoroutinefunction(evaluate)
    assert "judge:" in (inspect.getdoc(evaluate) or "")


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, prompt_evaluator; print([m for m in ('aiohttp', 'sqlalchemy', 'numpy') if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


@each("name", prompt_evaluator.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(prompt_evaluator, name)


def test_a_name_that_is_not_public_is_not_an_attribute() -> None:
    with pytest.raises(AttributeError, match="evaluat_async"):
        _ = prompt_evaluator.evaluat_async


@pytest.mark.parametrize("library", ["pandas", "polars"])
async def test_a_library_that_is_not_installed_is_named(library: str) -> None:
    run = await exact()

    with pytest.raises(ConfigurationError, match=rf"^Install {library} to use to_{library}\(\)\.$"):
        getattr(run, f"to_{library}")()


async def test_a_text_is_a_system_prompt_and_a_path_is_a_file_with_one(here: Path) -> None:
    def system_of(_question: str, *, system: str | None) -> str:
        return f"told: {system}"

    (here / "told.txt").write_text("be kind")

    assert (await exact(system_of, system_prompt="told.txt")).rows()[0]["output"] == "told: told.txt"
    assert (await exact(system_of, system_prompt=here / "told.txt")).rows()[0]["output"] == "told: be kind"
    assert (await exact(system_of)).rows()[0]["output"] == "told: None"


def test_a_budget_ends_a_run_with_its_error_and_the_command_continues_it(
    here: Path, service: ChatService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in service.environment.items():
        monkeypatch.setenv(name, value)

    run = asyncio.run(exact("openai/test", max_calls=1))

    assert run.status == "aborted"
    assert str(run.error) == "The budget of 1 call is used up."
    assert service.paid == 1

    command = [sys.executable, "-m", "prompt_evaluator", "resume", run.run_id, "--json"]
    done = subprocess.run(command, cwd=here, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert service.paid == 4


async def test_the_limits_of_the_settings_hold_unless_others_are_given(
    here: Path, service: ChatService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in service.environment.items():
        monkeypatch.setenv(name, value)
    (here / "prompt_evaluator.yaml").write_text("max_calls: 1\n")

    assert (await exact("openai/test")).status == "aborted"
    assert service.paid == 1
    assert (await exact("openai/test", max_calls=4)).status == "completed"
    assert service.paid == 5


async def test_what_is_not_given_comes_from_the_configuration(here: Path) -> None:
    (here / "prompt_evaluator.yaml").write_text(
        "generator: {model: local/under-test, temperature: 0.2}\n"
        "judge: {model: local/judge, repeats: 2}\n"
        "rubric: content-quality\n"
        "metrics: [is_json]\n"
        "num_samples: 3\n"
        "output_dir: results\n"
        "dataset_paths: {tea: data/tea.yaml}\n"
        "prompt_templates: {kind: kind.txt}\n"
        "providers: {local: {kind: mock}}\n"
    )
    (here / "kind.txt").write_text("be kind")
    (here / "data").mkdir()
    (here / "data" / "tea.yaml").write_text(yaml.safe_dump(CASES))

    run = await evaluate_async("tea", system_prompt=Path("kind"))

    artifact = json.loads((here / "results" / run.run_id / "dataset_evaluation.json").read_bytes())
    assert artifact["generator_config"]["model"] == "local/under-test"
    assert artifact["generator_config"]["temperature"] == 0.2
    assert artifact["judge_config"]["model"] == "local/judge"
    assert artifact["judge_config"]["repeats"] == 2
    assert artifact["rubric_metadata"]["rubric_name"] == "content-quality"
    assert artifact["num_samples_per_case"] == 3
    assert artifact["dataset_path"] == str(here / "data" / "tea.yaml")
    assert "is_json" in run.metrics


def test_an_unknown_keyword_is_refused_with_the_nearest_before_anything_is_made(here: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"There is no option 'sample'\. Did you mean 'samples'"):
        evaluate(CASES, sample=3)

    assert list(here.iterdir()) == []


async def test_a_result_can_be_turned_into_json() -> None:
    run = await exact()

    assert msgspec.json.decode(msgspec.json.encode({"metrics": run.metrics, "totals": run.totals}))
    assert run.run_id in repr(run)
    assert "environment" not in repr(run)
