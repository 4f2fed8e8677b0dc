"""A run is planned by going through its dataset once; whatever is wrong is said before anything is kept."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from opened_files import opened

from prompt_evaluator.app.evaluate import estimate_evaluation, evaluate_dataset, plan_evaluation
from prompt_evaluator.app.models import Models
from prompt_evaluator.app.planning.plans import prepare
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.app.score import score_run
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.datasets.jsonl import JsonlFile
from prompt_evaluator.errors import ConfigurationError, InputError, PromptEvaluatorError
from prompt_evaluator.model import TestCase
from prompt_evaluator.model.options import EvaluateOptions
from prompt_evaluator.model.run_limits import RunLimits
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASES: list[dict[str, Any]] = [{"id": f"case-{n}", "input": f"Question {n}", "level": n} for n in range(6)]


def jsonl(cases: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(case) + "\n" for case in cases)


@pytest.fixture
def dataset(here: Path) -> Path:
    return write(here / "data.jsonl", jsonl(CASES))


@pytest.fixture
def options(dataset: Path) -> EvaluateOptions:
    return EvaluateOptions(dataset=dataset, metrics=("length(max_words=50)",), num_samples=1)


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The file of every pass over lines of JSON."""
    found: list[Path] = []
    batches = JsonlFile.batches

    def noted(file: JsonlFile) -> Any:
        found.append(file.path)
        return batches(file)

    monkeypatch.setattr(JsonlFile, "batches", noted)
    return found


def changed(options: EvaluateOptions, **values: Any) -> EvaluateOptions:
    return EvaluateOptions(**{name: getattr(options, name) for name in options.__struct_fields__} | values)


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def stored_runs() -> list[Any]:
    store = Store.open(read_settings().store)
    try:
        return store.runs()
    finally:
        store.close()


# How often the dataset is read


@pytest.mark.parametrize("use", [evaluate_dataset, estimate_evaluation, plan_evaluation])
async def test_a_dataset_is_opened_and_parsed_once(
    options: EvaluateOptions, dataset: Path, parses: list[Path], use: Callable[..., Any]
) -> None:
    with opened(dataset) as times:
        await use(options, Session())

    assert (len(times), parses) == (1, [dataset])


@pytest.mark.parametrize("limited", [{"max_cases": 2}, {"case_ids": ("case-1",)}, {"where": ("level>3",)}])
async def test_filters_do_not_read_it_again(
    options: EvaluateOptions, dataset: Path, parses: list[Path], limited: dict[str, Any]
) -> None:
    with opened(dataset) as times:
        await evaluate_dataset(changed(options, **limited), Session())

    assert (len(times), parses) == (1, [dataset])


async def test_a_document_is_opened_once_too(options: EvaluateOptions, here: Path) -> None:
    path = write(here / "data.json", json.dumps(CASES))
    with opened(path) as times:
        outcome = await evaluate_dataset(changed(options, dataset=path), Session())

    assert len(times) == 1
    assert outcome.record.plan.dataset.count == len(CASES)


@pytest.mark.parametrize("again", [False, True], ids=["with its own settings", "with the settings given again"])
async def test_resuming_parses_no_dataset(
    options: EvaluateOptions, dataset: Path, parses: list[Path], *, again: bool
) -> None:
    stopped = await evaluate_dataset(options, Session(limits=RunLimits(max_calls=2)))
    parses.clear()
    with opened(dataset) as times:
        outcome = await resume_run(stopped.record.plan.run_id, Session(), wanted=options if again else None)

    assert stopped.record.status == "aborted"
    assert outcome.record.status == "completed"
    assert (len(times), parses) == (1, [])


async def test_preparing_reads_no_case(options: EvaluateOptions, dataset: Path) -> None:
    write(dataset, "this is not JSON\n")
    with opened(dataset) as times:
        prepared = prepare(options, Models())

    assert len(times) == 0
    with pytest.raises(InputError, match="Invalid JSON"):
        prepared.finish()


# What the plan says


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, range(6)),
        ({"max_cases": 2}, (0, 1)),
        ({"case_ids": ("case-4", "case-1")}, (1, 4)),
        ({"where": ("level>1",), "max_cases": 3}, (2, 3, 4)),
    ],
    ids=["all", "the first", "by id", "by metadata"],
)
def test_the_plan_is_about_the_selected_cases_and_the_hash_of_the_whole_file(
    options: EvaluateOptions, dataset: Path, filters: dict[str, Any], ids: tuple[int, ...]
) -> None:
    prepared = prepare(changed(options, **filters), Models())

    assert [case.id for case in prepared.cases] == [f"case-{n}" for n in ids]
    found = prepared.finish().dataset
    assert (found.count, found.selected) == (6, len(ids))
    assert found.hash == hashlib.sha256(dataset.read_bytes()).hexdigest()
    assert found.path == str(dataset.resolve())


def test_finishing_reads_what_is_left(options: EvaluateOptions) -> None:
    prepared = prepare(options, Models())
    next(prepared.cases)

    assert prepared.finish().dataset.selected == 6
    assert list(prepared.cases) == []


def test_a_plan_whose_cases_were_refused_is_refused_for_the_same_reason(
    options: EvaluateOptions, dataset: Path
) -> None:
    write(dataset, jsonl(CASES) + "{}\n")
    prepared = prepare(options, Models())
    with pytest.raises(InputError, match="missing required field: id"):
        list(prepared.cases)

    with pytest.raises(InputError, match="missing required field: id"):
        prepared.finish()


def test_a_dataset_that_grows_while_it_is_read_is_planned_as_it_was_read(
    options: EvaluateOptions, dataset: Path
) -> None:
    prepared = prepare(options, Models())
    list(prepared.cases)
    read = dataset.read_bytes()
    with dataset.open("a") as file:
        file.write('{"id": "late", "input": "x"}\n')

    found = prepared.finish().dataset

    assert (found.count, found.hash) == (6, hashlib.sha256(read).hexdigest())


def test_only_judges_that_a_case_needs_are_in_the_plan(options: EvaluateOptions, dataset: Path) -> None:
    asks = {"id": "asks", "input": "x", "checks": [{"metric": "correctness", "judge": "mock/strict"}], "reference": "y"}
    write(dataset, jsonl([*CASES, asks]))

    with_all = prepare(changed(options, rubric=None), Models()).finish()
    without = prepare(changed(options, rubric=None, max_cases=2), Models()).finish()

    assert (with_all.judge, list(with_all.judges)) == (None, ["mock/strict"])
    assert (without.judge, without.judges) == (None, {})


async def test_an_estimate_counts_judges_that_only_cases_name(options: EvaluateOptions, dataset: Path) -> None:
    use = {"metric": "correctness", "judge": "mock/strict"}
    write(dataset, jsonl([{**case, "checks": [use], "reference": "y"} for case in CASES]))

    found = await estimate_evaluation(changed(options, rubric=None, num_samples=2), Session())

    assert (found.cases, found.judge) == (6, "mock/strict")
    assert found.judgements == 12 + 1  # the judge first writes the steps by which it judges


# What is refused, with nothing kept

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown id": ({"case_ids": ("case-1", "cas-2")}, "no test case 'cas-2'. Did you mean 'case-2'?"),
    "no such value": ({"where": ("level>99",)}, "No case matches the filters. Loosen --case-ids or --where."),
    "nothing passes": ({"where": ("level=1", "level=2")}, "No case matches the filters. Loosen --case-ids or --where."),
    "no condition": ({"where": ("level",)}, "is not a condition"),
    "nothing to score by": ({"rubric": None, "metrics": ()}, "There is nothing to score the answers with."),
    "all skipped": (
        {"rubric": None, "metrics": ("exact_match",)},
        "Every metric would be skipped for every case (exact_match: the case has no reference).",
    ),
    "unknown bar": ({"fail_under": {"lenght": 0.5}}, "Did you mean 'length'?"),
    "mock judge": (
        {"generator_model": "openai/x", "judge_model": "mock/default"},
        "The mock would judge the answers of openai/x",
    ),
    "no judge": (
        {"judge_model": "command:cat"},
        "command:cat cannot judge answers. Choose a judge model (--judge-model)",
    ),
    "no key": ({"generator_model": "openai/x", "rubric": None}, "OPENAI_API_KEY"),
    "no cases": ({"dataset": None, "cases": ()}, "There are no cases. Give at least one."),
    "two of one name": (
        {"metrics": ({"metric": "length", "name": "semantic_fidelity"},)},
        "already has a score or flag named 'semantic_fidelity'.",
    ),
    "one metric twice": (
        {"metrics": ("length(max_words=1)", "length(max_words=2)")},
        "Two metrics are called 'length'",
    ),
    "the rubric's own name": ({"metrics": ('is_json(name="rubric default")',)}, "'rubric default'"),
    "a threshold that is no share": ({"metrics": ("length(max_words=9, threshold=2)",)}, "'threshold'"),
    "unknown id among given": (
        {"dataset": None, "cases": (TestCase(id="mine", input="x"),), "case_ids": ("mien",)},
        "Did you mean 'mine'?",
    ),
}


@each(
    ("name", "use"),
    [
        (name, use)
        for name in REFUSED
        for use in (evaluate_dataset, plan_evaluation, estimate_evaluation)
        if name != "no key" or use is not estimate_evaluation  # an estimate needs no key
    ],
)
async def test_a_run_that_cannot_work_is_refused_and_nothing_is_stored(
    options: EvaluateOptions, name: str, use: Callable[..., Any]
) -> None:
    values, sentence = REFUSED[name]

    with pytest.raises(ConfigurationError) as caught:
        await use(changed(options, **values), Session())

    assert sentence in str(caught.value)
    assert stored_runs() == []


@pytest.mark.parametrize(
    ("last", "sentence"),
    [
        ('{"id": "last"}', "Record at line 7 is missing required field: input"),
        ('{"id": "case-1", "input": "x"}', "Duplicate test case ID 'case-1' found at line 7"),
        ('{"id": "last", "input": "x", "checks": ["nothing"]}', "There is no metric 'nothing'"),
        ("{", "Invalid JSON"),
    ],
    ids=["field", "id", "check", "syntax"],
)
@pytest.mark.parametrize("filters", [{}, {"max_cases": 1}, {"case_ids": ("case-0",)}], ids=["all", "first", "one"])
async def test_a_problem_after_the_last_selected_case_is_refused_and_nothing_is_stored(
    options: EvaluateOptions, dataset: Path, last: str, sentence: str, filters: dict[str, Any]
) -> None:
    write(dataset, jsonl(CASES) + last + "\n")

    with pytest.raises(InputError) as caught:
        await evaluate_dataset(changed(options, **filters), Session())

    assert sentence in str(caught.value)
    assert stored_runs() == []


async def test_equal_ids_far_from_the_end_are_refused_with_both_lines(options: EvaluateOptions, dataset: Path) -> None:
    cases = [{"id": f"case-{n}", "input": "x"} for n in range(5_000)]
    write(dataset, jsonl([*cases[:9], cases[3], *cases[9:]]))

    with pytest.raises(InputError, match=r"'case-3' found at line 10 .*first at line 4\)"):
        await plan_evaluation(options, Session())

    assert stored_runs() == []


async def test_a_template_that_does_not_fit_the_last_case_is_refused(
    options: EvaluateOptions, dataset: Path, here: Path
) -> None:
    template = write(here / "template.txt", "{{level}}: {{input}}")
    write(dataset, jsonl([*CASES, {"id": "plain", "input": "x"}]))

    with pytest.raises(PromptEvaluatorError, match="level"):
        await evaluate_dataset(changed(options, template=template), Session())

    assert stored_runs() == []


# Runs that there are


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"max_cases": 2}, "--max-cases was not set and is now 2"),
        ({"num_samples": 3}, "--num-samples was 1 and is now 3"),
        ({"rubric": None}, "--rubric was default and is now not set"),
        ({"judge_model": "mock/other"}, "--judge-model was mock/default and is now mock/other"),
        ({"metrics": ("is_json",)}, "--metrics was length and is now is_json"),
    ],
    ids=["filters", "samples", "rubric", "judge", "metrics"],
)
async def test_resuming_with_another_setting_names_that_setting(
    options: EvaluateOptions, values: dict[str, Any], what: str
) -> None:
    stopped = await evaluate_dataset(options, Session(limits=RunLimits(max_calls=2)))

    with pytest.raises(ConfigurationError) as caught:
        await resume_run(stopped.record.plan.run_id, Session(), wanted=changed(options, **values))

    assert f"was started with different settings: {what}" in str(caught.value)


async def test_resuming_with_another_dataset_names_both(options: EvaluateOptions, dataset: Path, here: Path) -> None:
    stopped = await evaluate_dataset(options, Session(limits=RunLimits(max_calls=2)))
    other = write(here / "other.jsonl", jsonl(CASES))

    with pytest.raises(ConfigurationError) as caught:
        await resume_run(stopped.record.plan.run_id, Session(), wanted=changed(options, dataset=other))

    assert f"--dataset was {dataset} and is now {other}" in str(caught.value)


async def test_answers_are_scored_again_for_the_cases_of_the_run(options: EvaluateOptions) -> None:
    first = await evaluate_dataset(changed(options, max_cases=4), Session())

    second = await score_run(first.record.plan.run_id, Session())

    assert second.record.plan.dataset == first.record.plan.dataset
    assert second.record.plan.dataset.selected == 4


async def test_answers_are_scored_again_as_the_run_did_unless_something_else_is_asked_for(
    options: EvaluateOptions,
) -> None:
    judged = changed(options, rubric="default", judge_temperature=0.6, judge_repeats=2, seed=5)
    first = (await evaluate_dataset(judged, Session())).record.plan

    again = (await score_run(first.run_id, Session())).record.plan
    other = (await score_run(first.run_id, Session(), judge_temperature=0.0, judge_repeats=1)).record.plan

    assert again.judge == first.judge
    assert other.judge is not None
    assert (other.judge.temperature, other.judge.repeats) == (0.0, 1)


async def test_scoring_again_with_nothing_is_refused_and_nothing_is_stored(options: EvaluateOptions) -> None:
    first = await evaluate_dataset(changed(options, metrics=()), Session())

    with pytest.raises(ConfigurationError, match="There is nothing to score the answers with"):
        await score_run(first.record.plan.run_id, Session(), rubric="none")

    assert len(stored_runs()) == 1
