"""Labels that are added one by one, with the same checks as those of a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from workspace import Workspace

from prompt_evaluator.app.labels import NewLabel, add_label, export_labels, import_labels, list_labels
from prompt_evaluator.app.run_queries import case_detail
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.errors import InvalidLabelError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

CHECK = {"metric": "length", "max_words": 9}


@pytest.fixture
def run_id(here: Path) -> str:
    project = Workspace(here)
    project.cases([{"id": "refund", "input": "May I?"}, {"id": "late", "input": "Where?", "checks": [CHECK]}])
    return project.evaluate("-n", "2").run_id


def new(run_id: str, **given: Any) -> NewLabel:
    values = {"case_id": "refund", "sample": 1, "metric": "semantic_fidelity", "value": 4, "reviewer": "anna"}
    return NewLabel(**{"run_id": run_id, **values, **given})


def test_a_label_gets_answer_rubric_and_time_from_the_run(run_id: str) -> None:
    label = add_label(read_settings(), new(run_id[:8], comment="fine", judge_seen=True))

    assert list_labels(read_settings(), run_id[:8]) == [label]
    assert (label.run_id, label.case_id, label.sample, label.value, label.judge_seen) == (
        run_id,
        "refund",
        1,
        4.0,
        True,
    )
    assert label.answer_hash == case_detail(read_settings(), run_id, "refund").samples[1].answer_hash
    assert label.rubric_hash
    assert label.created_at.endswith("Z")


def test_it_is_the_same_label_as_one_from_a_file(run_id: str, here: Path) -> None:
    label = add_label(read_settings(), new(run_id, comment="fine"))
    (line,) = export_labels(read_settings(), run_id, "jsonl")
    (here / "labels.jsonl").write_bytes(line)

    assert import_labels(read_settings(), here / "labels.jsonl").already_there == 1
    plain = {**json.loads(line), "created_at": None, "answer_hash": None, "rubric_hash": None, "value": 5}
    (here / "labels.jsonl").write_text(json.dumps(plain), encoding="utf-8")
    import_labels(read_settings(), here / "labels.jsonl")
    first, second = list_labels(read_settings(), run_id)
    assert msgspec.structs.replace(second, created_at=first.created_at, value=4.0) == first == label


def test_the_same_opinion_is_kept_once_and_a_new_one_beside_it(run_id: str) -> None:
    first = add_label(read_settings(), new(run_id))

    assert add_label(read_settings(), new(run_id)) == first
    assert add_label(read_settings(), new(run_id, value=2)).value == 2.0
    assert [label.value for label in list_labels(read_settings())] == [4.0, 2.0]


def test_a_flag_and_a_check_of_a_single_case_can_be_labelled(run_id: str) -> None:
    assert add_label(read_settings(), new(run_id, metric="invented_constraints", value=1)).rubric_hash
    assert add_label(read_settings(), new(run_id, case_id="late", metric="length", value=1)).rubric_hash is None
    with pytest.raises(InvalidLabelError, match="has no score 'length'"):
        add_label(read_settings(), new(run_id, metric="length", value=1))


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "an unknown metric": ({"metric": "semantic_fidelty"}, "metric", "Did you mean 'semantic_fidelity'?"),
    "a sample beyond the last": (
        {"sample": 2},
        "sample",
        "has no sample 3. Samples of this run are numbered from 1 to 2.",
    ),
    "a sample before the first": ({"sample": -1}, "sample", "has no sample 0"),
    "a value outside the scale": ({"value": 6}, "value", "The value 6 is outside the scale"),
    "a flag that is half true": ({"metric": "invented_constraints", "value": 0.5}, "value", "is a flag"),
    "nobody": ({"reviewer": " "}, "reviewer", "The label has no reviewer. Say who gave it."),
    "a NUL": ({"comment": "a\0b"}, "comment", "comment contains a NUL character. Remove it."),
    "an unlikely probability": ({"probability": 2}, "probability", "probability is"),
    "another answer": ({"answer_hash": "0" * 64}, "answer_hash", "The label is for another answer"),
    "another rubric": ({"rubric_hash": "0" * 64}, "rubric_hash", "The label is for another rubric"),
    "no case": ({"case_id": ""}, "case_id", "The label has no test_case_id"),
}


@pytest.mark.parametrize(("given", "field", "words"), WRONG.values(), ids=list(WRONG))
def test_a_wrong_label_is_refused_with_the_field(run_id: str, given: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidLabelError) as caught:
        add_label(read_settings(), new(run_id, **given))

    assert words in str(caught.value)
    assert caught.value.field == field
    assert list_labels(read_settings()) == []


def test_an_unknown_run_or_case_is_refused_with_the_nearest_name(run_id: str) -> None:
    with pytest.raises(UnknownNameError, match="There is no run 'nothing'"):
        add_label(read_settings(), new("nothing"))
    with pytest.raises(UnknownNameError, match=r"There is no test case 'refunds'. Did you mean 'refund'?"):
        add_label(read_settings(), new(run_id, case_id="refunds"))
    with pytest.raises(UnknownNameError, match="There is no run 'nothing'"):
        list_labels(read_settings(), "nothing")
