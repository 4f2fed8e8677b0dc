"""Labels that are added one by one, with the same checks as those of a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from workspace import Workspace

from prompt_evaluator.app.labelling.checks import NewLabel
from prompt_evaluator.app.labels import add_label, export_labels, import_labels, list_labels
from prompt_evaluator.app.run_queries import case_detail
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.errors import InvalidLabelError

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


def test_what_does_not_fit_is_refused_with_the_field_and_counted_as_programs_count(run_id: str) -> None:
    for sample in (2, -1):
        words = f"Case 'refund' has no sample {sample}. Samples are numbered from 0 to 1."
        with pytest.raises(InvalidLabelError, match=words) as caught:
            add_label(read_settings(), new(run_id, sample=sample))
        assert caught.value.field == "sample"
    with pytest.raises(InvalidLabelError, match="The label has no reviewer"):
        add_label(read_settings(), new(run_id, reviewer=" "))
    assert list_labels(read_settings()) == []
