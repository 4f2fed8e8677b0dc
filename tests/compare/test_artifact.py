"""Runs read from a `dataset_evaluation.json`."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from artifact_files import GUIDE, artifact
from entries import each
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.compare.artifact import read_artifact
from prompt_evaluator.errors import InputError
from prompt_evaluator.model.comparison import CaseScores
from prompt_evaluator.model.query import CaseFlag

if TYPE_CHECKING:
    from prompt_evaluator.ports import ComparedRun

ROOT = Path(__file__).parents[2]
PATH = Path("elsewhere/dataset_evaluation.json")
STATS = {"mean": 4, "std": None, "min": 3, "max": 5, "count": 3}
FLAG = {"true_count": 1, "false_count": 2, "total_count": 3, "true_proportion": 0.33}
CASE = {"test_case_id": "a", "per_metric_stats": {"clarity": STATS}, "per_flag_stats": {"rude": FLAG}}


def read(*cases: dict[str, Any], **head: Any) -> ComparedRun:
    return read_artifact(PATH, artifact(*cases, **head))


def test_a_file_with_what_the_guide_shows_is_a_run() -> None:
    run = read(CASE, {"test_case_id": "b", "status": "pending"})

    facts = run.facts
    ((case, pending),) = run.batches()

    assert (facts.name, facts.path, facts.run_id, facts.status) == (str(PATH), str(PATH), "uuid", "completed")
    assert (facts.dataset_name, facts.dataset_hash, facts.rubric_hash) == ("tea", "ab12", "cd")
    assert (facts.generator_model, facts.judge_model, facts.num_samples, facts.cases) == ("gpt", "judge", 3, 2)
    assert (facts.parameters, facts.judge_parameters, facts.prompt_path) == ({"temperature": 1}, {}, "prompt.txt")
    assert (facts.prompt_text, facts.judge_hash, facts.metric_definitions) == (None,) * 3
    assert (facts.errors, facts.samples, facts.cost, facts.latency_ms, facts.synthetic) == (None,) * 5
    assert facts.scales == {"clarity": (1.0, 5.0)}
    assert case.scores == {"clarity": CaseScores(4.0, None, 3, None, 0, None)}
    assert case.flags == {"rude": CaseFlag(raised=1, asked=3)}
    assert (case.content_hash, case.input_hash, case.metadata) == (None, None, {})
    assert (pending.scores, run.answers("b"), run.input("b")) == ({}, [], None)


@each("key", [*GUIDE, "test_case_results"])
def test_what_a_comparison_needs_of_it_has_to_be_there(key: str) -> None:
    value = json.loads(artifact(CASE))
    del value[key]

    if key in ("dataset_count", "timestamp_end"):
        read_artifact(PATH, json.dumps(value).encode())
    else:
        with pytest.raises(InputError, match=f"has no `{key}`. Give the dataset_evaluation.json of a run."):
            read_artifact(PATH, json.dumps(value).encode())


def test_the_example_of_a_run_is_read() -> None:
    path = ROOT / "examples/run-artifacts/run-sample.json"
    document = json.loads(path.read_bytes())

    run = read_artifact(path, path.read_bytes())

    assert [*run.case_ids()] == [case["test_case_id"] for case in document["test_case_results"]]
    assert run.facts.scales["semantic_fidelity"] == (1.0, 5.0)
    for case in document["test_case_results"]:
        assert len(run.answers(case["test_case_id"])) == 2


def test_scores_of_samples_are_those_that_were_counted() -> None:
    samples = [{"status": "completed", "judge_metrics": {"clarity": {"score": score}}} for score in (4, 3, 5)]
    failed = {"status": "judge_error", "error": {"kind": "TimedOutError", "message": "late"}}
    run = read({**CASE, "samples": [*samples, failed, {"status": "pending"}]}, {**CASE, "test_case_id": "b"})

    ((case, other),) = run.batches()

    assert case.scores["clarity"] == CaseScores(4.0, None, 3, None, 1, (4.0, 3.0, 5.0))
    assert other.scores["clarity"].values is None
    assert (run.facts.samples, run.facts.failed_samples, run.facts.errors) == (4, 1, {"TimedOutError": 1})


def test_missing_scores_count_as_stated() -> None:
    run = read({**CASE, "missing_scores": {"clarity": 2, "depth": 1}})

    ((case,),) = run.batches()

    assert (case.scores["clarity"].missing, case.unscored) == (2, {"depth": 1})


def test_a_metric_without_any_valid_sample_has_no_score() -> None:
    ((case,),) = read({**CASE, "per_metric_stats": {"clarity": {**STATS, "mean": None, "count": 0}}}).batches()

    assert case.scores == {}


def test_a_rubric_and_overall_results_state_the_scales() -> None:
    rubric = {"metrics": [{"name": "clarity", "description": "", "min_score": 0, "max_score": 10}]}
    overall = {"custom": {"mean_of_means": 3, "scale": [0, 7]}, "clarity": {"mean_of_means": 4, "scale": [1, 5]}}
    samples = [{"status": "completed", "scores": {"exact": {"status": "scored", "score": 1.0, "passed": True}}}]

    facts = read({"test_case_id": "a", "samples": samples}, rubric_metadata=rubric, overall_metric_stats=overall).facts

    assert facts.scales == {"clarity": (0.0, 10.0), "custom": (0.0, 7.0), "exact": (0.0, 1.0)}
    assert "name: clarity" in (facts.rubric_text or "")


def test_answers_are_shown_with_reasons_flags_and_errors() -> None:
    samples = [
        {
            "status": "completed",
            "generator_output": "Steep it.",
            "judge_metrics": {"clarity": {"score": 4, "rationale": "clear"}},
            "scores": {"exact": {"score": None, "reason": "no reference"}},
            "judge_flags": {"rude": True, "leaks": False},
        },
        {"status": "generation_error", "generator_output": None, "error": {"kind": "X", "message": "no answer"}},
    ]
    run = read({"test_case_id": "a", "test_case_input": "How?", "samples": samples})

    first, second = run.answers("a")

    assert (first.sample, first.answer, first.error, first.flags) == (0, "Steep it.", None, ("rude",))
    assert first.scores == {"clarity": 4}
    assert first.reasons == {"clarity": "clear", "exact": "no reference"}
    assert (second.answer, second.error, run.input("a")) == (None, "no answer", "How?")
    assert (run.answers("nobody"), run.input("nobody")) == ((), None)


def test_a_changed_input_is_noticed_between_files() -> None:
    first, same, other, unknown = (
        read({"test_case_id": "a", **fields}).find(["a", "none"])["a"]
        for fields in ({"test_case_input": "x"}, {"test_case_input": "x"}, {"test_case_input": "y"}, {})
    )

    assert first.is_changed(other)
    assert not first.is_changed(same)
    assert not first.is_changed(unknown)


def test_a_large_file_is_read_in_batches_and_a_byte_order_mark_is_skipped() -> None:
    data = artifact(*({**CASE, "test_case_id": f"c{at}"} for at in range(600)))

    run = read_artifact(PATH, b"\xef\xbb\xbf" + data)

    batches = list(run.batches())
    assert [len(batch) for batch in batches] == [256, 256, 88]
    assert [case.case_id for batch in batches for case in batch] == list(run.case_ids())


_HEAD = artifact().decode()
WRONG = {
    "empty": ("", "The file is empty. Give the dataset_evaluation.json of a run."),
    "no JSON": ("not json", "Invalid JSON at line 1"),
    "cut off": ('{"test_case_results": [', "it ends in the middle of a value"),
    "a list": ("[]", "The file is a list, not an object"),
    "the file of a case": ('{"test_case_id": "a"}', "The file has no `run_id`"),
    "cases by name": (_HEAD.replace("[]", "{}"), "`test_case_results` is an object, not a list"),
    "a number as a case": (_HEAD.replace("[]", "[3]"), "Case 1 is a whole number, not an object"),
    "a case without an id": (_HEAD.replace("[]", "[{}]"), "Case 1 has no `test_case_id`"),
    "an empty id": (_HEAD.replace("[]", '[{"test_case_id": ""}]'), "Case 1: `test_case_id` has to be at least 1"),
    "an id twice": (
        _HEAD.replace("[]", '[{"test_case_id": "a"}, {"test_case_id": "a"}]'),
        "Case 2 has the id 'a' of an earlier case",
    ),
    "NaN": (_HEAD.replace("[]", '[{"test_case_id": NaN}]'), "NaN is not a JSON value"),
    "a lone surrogate": (_HEAD.replace("uuid", "\\ud800"), "lone surrogate"),
    "a text as a mean": (
        artifact({**CASE, "per_metric_stats": {"clarity": {**STATS, "mean": "4"}}}).decode(),
        "Case 1: `per_metric_stats[...].mean` is a text, not a number",
    ),
    "a count below 0": (
        artifact({**CASE, "per_metric_stats": {"clarity": {**STATS, "count": -1}}}).decode(),
        "Case 1: `per_metric_stats[...].count` has to be at least 0",
    ),
    "a mean off its scale": (
        artifact({**CASE, "per_metric_stats": {"clarity": {**STATS, "mean": 7}}}).decode(),
        "Case 'a': clarity is 7, and its scale is from 1 to 5",
    ),
    "a score off its scale": (
        artifact({**CASE, "samples": [{"status": "completed", "judge_metrics": {"clarity": {"score": 0}}}]}).decode(),
        "Case 'a': clarity is 0, and its scale is from 1 to 5",
    ),
    "a flag raised more often than asked for": (
        artifact({**CASE, "per_flag_stats": {"rude": {**FLAG, "true_count": 9}}}).decode(),
        "Case 'a': the flag rude is raised more often than it was asked for",
    ),
    "too deep": ('{"generator_config": {"a": ' + "[" * 100_000, "nested too deep"),
}


@each(("text", "says"), WRONG.values(), ids=WRONG)
def test_what_is_not_a_run_is_refused_with_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        read_artifact(PATH, text.encode())

    assert str(refused.value).startswith(str(PATH))
    assert says in str(refused.value)


@each("data", [b"\xff\xfe{\x00}\x00", b"\x1f\x8b\x08\x00", b'{"run_id": "\xff"}'])
def test_what_is_not_text_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        read_artifact(PATH, data)


_KEYS = [
    *GUIDE,
    "samples",
    "per_metric_stats",
    "mean",
    "count",
    "score",
    "clarity",
    "judge_metrics",
    "scores",
    "status",
]
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=3), st.lists(_VALUES, max_size=3))
def test_any_json_is_read_or_refused_with_a_sentence(head: dict[str, Any], cases: list[Any]) -> None:
    listed = [{"test_case_id": str(at), **(each if isinstance(each, dict) else {})} for at, each in enumerate(cases)]
    with suppress(InputError):
        run = read(*listed, **head)
        assert [case.case_id for batch in run.batches() for case in batch] == list(run.case_ids())
