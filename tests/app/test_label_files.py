"""A wrong label file adds nothing to the store, and every problem is reported with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from labelling import LINE, RUN, answer_hash, jsonl, refused, stored

from prompt_evaluator.app.labels import import_labels
from prompt_evaluator.errors import InputError, InputNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings

FIRST = answer_hash("refund", 0)

WRONG = {
    "an unknown run": ({"run_id": f"{RUN}0"}, f"There is no run '{RUN}0'. Did you mean '{RUN}'?"),
    "no run": ({"run_id": None}, "The label has no run_id. Add it."),
    "a run that is no text": ({"run_id": 7}, "run_id cannot be '7'. Correct it."),
    "an unknown case": (
        {"test_case_id": "refunds", "sample_id": None, "sample": 1},
        "There is no test case 'refunds'. Did you mean 'refund'?",
    ),
    "a sample beyond the last": (
        {"sample_id": "refund-sample-3"},
        "Case 'refund' has no sample 3. Samples are numbered from 1 to 2.",
    ),
    "sample 0": ({"sample_id": None, "sample": 0}, "sample cannot be '0'. Correct it."),
    "a sample of another case": (
        {"sample_id": "-late-sample-1"},
        "sample_id '-late-sample-1' is not a sample of case 'refund'. The first sample is 'refund-sample-1'.",
    ),
    "a sample and an id that disagree": (
        {"sample": 2},
        "sample_id 'refund-sample-1' is not sample 2 of case 'refund'. The first sample is 'refund-sample-1'.",
    ),
    "no sample": (
        {"sample_id": ""},
        "The label has no sample_id. Write sample_id, such as 'refund-sample-1', or sample, starting at 1.",
    ),
    "a sample without an answer": (
        {"test_case_id": "unanswered", "sample_id": "unanswered-sample-1"},
        "Sample 1 of case 'unanswered' has no answer. Remove the label: only answers can be labelled.",
    ),
    "an attempt that was never made": (
        {"attempt": 1},
        "Sample 1 of case 'refund', attempt 1, has no answer. Remove the label: only answers can be labelled.",
    ),
    "a metric of another run": ({"metric": "corect"}, "There is no score 'corect'. Did you mean 'correct'?"),
    "a value beyond the scale": (
        {"value": 5.5},
        "The value 5.5 is not on the scale of 'correct'. Write a number from 1 to 5.",
    ),
    "a value in words": (
        {"value": "good"},
        "The value 'good' is not on the scale of 'correct'. Write a number from 1 to 5.",
    ),
    "a value that is no finite number": (
        {"value": "nan"},
        "The value 'nan' is not on the scale of 'correct'. Write a number from 1 to 5.",
    ),
    "a sample of 401 digits": ({"sample": 10**400}, f"sample cannot be '1{'0' * 39}'. Correct it."),
    "half a flag": (
        {"metric": "leaks_data", "value": 0.5},
        "'leaks_data' is a flag, but its value is 0.5. Write true, false, yes, no, 1 or 0.",
    ),
    "no reviewer": ({"reviewer": "  "}, "The label has no reviewer. Add who gave the label, or pass --reviewer."),
    "a probability of 0": ({"probability": 0}, "probability cannot be '0'. Correct it."),
    "a probability in percent": ({"probability": "20%"}, "probability cannot be '20%'. Correct it."),
    "a judge who was seen or not": ({"judge_seen": "perhaps"}, "judge_seen cannot be 'perhaps'. Correct it."),
    "a time in words": (
        {"created_at": "yesterday"},
        "created_at cannot be 'yesterday'. Write it as 2026-01-31T12:00:00Z, or leave it out.",
    ),
    "another answer": (
        {"answer_hash": "f" * 64},
        (
            "The label is for another answer: its answer_hash is ffffffffffff…, but the stored run has "
            f"{FIRST[:12]}…. Import it into the store that has that answer, or label the stored answer instead."
        ),
    ),
    "another rubric": (
        {"rubric_hash": "f" * 64},
        (
            "The label is for another rubric: its rubric_hash is ffffffffffff…, but the stored run has abababababab…. "
            "Import it into the store that used that rubric, or label by the rubric of this run."
        ),
    ),
    "a rubric for a metric without one": (
        {"metric": "similarity", "value": 1, "rubric_hash": "ab" * 32},
        "'similarity' is not a rubric score, but the label has a rubric_hash. Leave rubric_hash empty.",
    ),
    "a NUL character": ({"comment": "a\x00b"}, "comment contains a NUL character. Remove it."),
}


@each(("change", "problem"), WRONG.values(), ids=WRONG)
def test_a_wrong_label_is_refused_with_its_place_and_nothing_is_added(
    settings: Settings, here: Path, change: dict[str, Any], problem: str
) -> None:
    good = {**LINE, "sample_id": "refund-sample-2", "comment": "fine"}
    path = jsonl(here, good, {**LINE, **change})

    assert str(refused(settings, path)) == f"{path}:2: {problem}"


TABLE = f"run_id,test_case_id,sample,metric,value,reviewer,comment\n{RUN},refund,1,correct,4,anna,fine\n"


@pytest.mark.parametrize(
    "text",
    [
        TABLE,
        "\ufeff" + TABLE,
        TABLE.replace("\n", "\r\n"),
        TABLE.replace(",", ";"),
        TABLE.replace(",", "\t"),
        TABLE + ",,,,,,\n\n",
        TABLE.replace(",comment\n", ",comment,\n").replace(",fine\n", ",fine,\n"),
        TABLE.replace("run_id,", "answer, run_id ,").replace(f"{RUN},", f'"one,\ntwo",{RUN},'),
    ],
    ids=["plain", "BOM", "CRLF", "semicolons", "tabs", "empty rows", "a column without a name", "columns of their own"],
)
def test_a_table_is_read_as_spreadsheets_write_it(settings: Settings, here: Path, text: str) -> None:
    path = here / "labels.CSV"
    path.write_bytes(text.encode())

    import_labels(settings, path)

    assert [(label.value, label.comment) for label in stored(settings)] == [(4.0, "fine")]


BROKEN = {
    "no column": (TABLE.replace("metric,", "m,"), "The label has no metric", 2),
    "a column twice": (TABLE.replace("comment", "value"), "Duplicate column 'value'", 1),
    "too many cells": (
        TABLE + f"{RUN},refund,2,correct,4,anna,well, yes\n",
        "The line has 8 cells, but the header has 7",
        3,
    ),
    "an open quote": (TABLE + f'{RUN},refund,2,correct,4,anna,"well\n', "Invalid CSV: unexpected end of data", 3),
    "a problem behind a long cell": (
        TABLE.replace("fine", '"one\ntwo\nthree"') + f"{RUN},refund,2,correct,9,anna,\n",
        "The value '9' is not on the scale",
        5,
    ),
    "too few cells": (TABLE + f"{RUN},refund,2,correct\n", "The label has no value", 3),
    "UTF-16": (TABLE.encode("utf-16"), "The file is encoded as UTF-16 or UTF-32", 1),
    "another encoding": (TABLE.replace("fine", "schön").encode("latin-1"), "Line 2 is not UTF-8", 2),
    "nothing": ("", "The file has no labels", None),
    "a header alone": (TABLE.partition("\n")[0], "The file has no labels", None),
}


@each(("text", "what", "line"), BROKEN.values(), ids=BROKEN)
def test_a_broken_table_is_refused_with_its_line(
    settings: Settings, here: Path, text: str | bytes, what: str, line: int | None
) -> None:
    path = here / "labels.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())

    problem = refused(settings, path)

    assert problem.what.startswith(what)
    assert problem.line == line


def test_a_file_that_is_not_there_or_of_another_kind_is_refused(settings: Settings, here: Path) -> None:
    with pytest.raises(InputNotFoundError, match="file not found"):
        import_labels(settings, here / "missing.csv")
    with pytest.raises(InputError, match=r"Unsupported label file format: \.xlsx\. Supported formats: \.jsonl, \.csv"):
        import_labels(settings, here / "labels.xlsx")
    (here / "folder.csv").mkdir()
    with pytest.raises(InputError, match="a directory, not a file"):
        import_labels(settings, here / "folder.csv")
