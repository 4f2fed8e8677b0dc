"""Labels are imported and exported, and each is kept once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest
from labelling import LINE, RUBRIC, RUN, WHEN, add_run, answer_hash, jsonl, refused, stored

from prompt_evaluator.app.labels import ImportedLabels, export_labels, import_labels
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.model import Label, Secret, current_labels
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings


def test_a_label_gets_what_its_line_leaves_out_from_the_run(settings: Settings, here: Path) -> None:
    done = import_labels(settings, jsonl(here, LINE))

    (label,) = stored(settings)
    assert done == ImportedLabels(added=1, already_there=0)
    assert msgspec.structs.replace(label, created_at="") == Label(
        run_id=RUN,
        case_id="refund",
        sample=0,
        metric="correct",
        value=4.0,
        reviewer="anna",
        created_at="",
        rubric_hash=RUBRIC.hash,
        answer_hash=answer_hash("refund", 0),
    )
    assert len(label.created_at) == len(WHEN)


def test_a_label_keeps_everything_that_its_line_says(settings: Settings, here: Path) -> None:
    line = {
        **LINE,
        "run_id": RUN[:8],
        "sample_id": None,
        "sample": 2,
        "attempt": 1,
        "value": "3.5",
        "comment": " Größe\nfalsch ",
        "created_at": "2026-01-31T13:00:00.0004+01:00",
        "rubric_hash": f"sha256:{RUBRIC.hash.upper()}",
        "answer_hash": answer_hash("refund", 1, 1),
        "probability": 0.25,
        "judge_seen": "false",
        "question": "a field of somebody's own",
    }

    import_labels(settings, jsonl(here, line))

    assert stored(settings) == [
        Label(
            run_id=RUN,
            case_id="refund",
            sample=1,
            attempt=1,
            metric="correct",
            value=3.5,
            reviewer="anna",
            created_at=WHEN,
            comment=" Größe\nfalsch ",
            rubric_hash=RUBRIC.hash,
            answer_hash=answer_hash("refund", 1, 1),
            probability=0.25,
            judge_seen=False,
        )
    ]


def test_a_label_without_an_attempt_is_about_the_answer_that_decided(settings: Settings, here: Path) -> None:
    import_labels(settings, jsonl(here, {**LINE, "sample_id": None, "sample": 2}))

    (label,) = stored(settings)
    assert (label.attempt, label.answer_hash) == (1, answer_hash("refund", 1, 1))


def test_a_metric_that_is_not_of_the_rubric_has_no_rubric_hash(settings: Settings, here: Path) -> None:
    own = {**LINE, "metric": "similarity", "value": 0.5}
    of_a_case = {**own, "test_case_id": "-late", "sample_id": "-late-sample-2", "metric": "length"}

    import_labels(settings, jsonl(here, own, of_a_case))

    assert [(label.metric, label.rubric_hash) for label in stored(settings)] == [("similarity", None), ("length", None)]


def test_a_flag_is_yes_or_no_in_any_spelling(settings: Settings, here: Path) -> None:
    yes: list[object] = [True, "Yes", 1, "1.0"]
    no: list[object] = [False, " no ", 0, "FALSE"]
    flag = {**LINE, "metric": "leaks_data"}
    lines = [{**flag, "value": written, "reviewer": f"{at}"} for at, written in enumerate([*yes, *no])]

    import_labels(settings, jsonl(here, *lines))

    assert [label.value for label in stored(settings)] == [1.0] * 4 + [0.0] * 4


def test_the_reviewer_of_the_command_is_that_of_lines_that_name_none(settings: Settings, here: Path) -> None:
    nameless = {**LINE, "sample_id": "refund-sample-2", "reviewer": " "}

    import_labels(settings, jsonl(here, LINE, nameless), reviewer=" ben ")

    assert [label.reviewer for label in stored(settings)] == ["anna", "ben"]


def test_a_file_can_take_a_label_back(settings: Settings, here: Path) -> None:
    later = {**LINE, "withdrawn": "true", "created_at": "2030-01-01T00:00:00Z"}
    file = jsonl(here, {**LINE, "created_at": "2029-01-01T00:00:00Z"}, later)

    assert [import_labels(settings, file).added for _ in range(2)] == [2, 0]
    assert current_labels(stored(settings)) == {}


def test_the_same_label_twice_is_refused(settings: Settings, here: Path) -> None:
    problem = refused(settings, jsonl(here, LINE, {**LINE, "reviewer": "ben"}, {**LINE, "value": "4.0"}))

    assert problem.line == 3
    assert problem.what.startswith("Duplicate label (first at line 1)")


def test_two_scores_of_one_person_are_refused_when_no_time_says_which_is_later(settings: Settings, here: Path) -> None:
    timed = {**LINE, "created_at": WHEN}

    problem = refused(settings, jsonl(here, timed, {**LINE, "value": 2}))

    assert problem.line == 2
    assert problem.what.startswith("A second score by 'anna' for the same sample and metric (first at line 1)")


def test_only_what_changed_in_a_file_is_added(settings: Settings, here: Path) -> None:
    other = {**LINE, "reviewer": "ben"}
    import_labels(settings, jsonl(here, LINE, other))

    done = import_labels(settings, jsonl(here, {**LINE, "value": 2}, other))
    back = import_labels(settings, jsonl(here, LINE, other))

    assert done == back == ImportedLabels(added=1, already_there=1)
    assert [label.value for label in stored(settings)] == [4.0, 4.0, 2.0, 4.0]


def test_a_comment_with_a_secret_is_masked_and_still_recognised(settings: Settings, here: Path) -> None:
    key = Secret("sk-live-very-secret-0817")
    path = jsonl(here, {**LINE, "created_at": WHEN, "comment": f"it shows {key.reveal()}"})
    import_labels(settings, path)

    assert import_labels(settings, path) == ImportedLabels(added=0, already_there=1)
    assert stored(settings)[0].comment == "it shows [secret]"


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_what_was_exported_can_be_imported_into_another_store(settings: Settings, here: Path, kind: str) -> None:
    late = {**LINE, "test_case_id": "-late", "sample_id": "-late-sample-1", "reviewer": "=ben", "comment": "'-1\r\n,\""}
    flag = {**LINE, "metric": "leaks_data", "value": "yes", "probability": 1 / 3, "judge_seen": False}
    import_labels(settings, jsonl(here, {**LINE, "created_at": WHEN}, late, flag))
    exported = here / f"exported.{kind}"
    exported.write_bytes(b"".join(export_labels(settings, None, kind)))
    (here / "prompt_evaluator.yaml").write_text("store: other.db\n")
    elsewhere = read_settings()
    store = Store.open(elsewhere.store)
    add_run(store)
    store.close()

    done = import_labels(elsewhere, exported)

    assert done == ImportedLabels(added=3, already_there=0)
    assert stored(elsewhere) == stored(settings)
    assert import_labels(settings, exported) == ImportedLabels(added=0, already_there=3)


def test_an_export_has_every_field_of_the_labels_of_one_run_or_of_all(settings: Settings, here: Path) -> None:
    store = Store.open(settings.store)
    add_run(store, "77" * 16)
    store.close()
    given = {**LINE, "created_at": "2026-01-31 12:00"}
    import_labels(settings, jsonl(here, given, {**LINE, "run_id": "77" * 16, "value": 1}))

    one, every = (list(export_labels(settings, run, "jsonl")) for run in (RUN[:6], None))

    assert [json.loads(line)["run_id"] for line in every] == [RUN, "77" * 16]
    assert [json.loads(line) for line in one] == [
        {
            **LINE,
            "attempt": 0,
            "value": 4.0,
            "created_at": WHEN,
            "comment": "",
            "rubric_hash": RUBRIC.hash,
            "answer_hash": answer_hash("refund", 0),
            "probability": None,
            "judge_seen": None,
            "withdrawn": False,
        }
    ]


def test_an_export_without_labels_is_empty_or_a_header(settings: Settings) -> None:
    assert list(export_labels(settings, RUN, "jsonl")) == []
    assert len(list(export_labels(settings, None, "csv"))) == 1


def test_thousands_of_labels_are_imported_at_once(settings: Settings, here: Path) -> None:
    lines = [{**LINE, "reviewer": f"reviewer {at}"} for at in range(3_000)]

    assert import_labels(settings, jsonl(here, *lines)).added == 3_000
    assert len(stored(settings)) == 3_000
