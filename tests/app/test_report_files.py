"""Reports as tables and test results, written from runs that really were made."""

from __future__ import annotations

import csv
import json
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hostile import HOSTILE, storable
from junit_files import properties_of, read_junit, suite_of

from prompt_evaluator import evaluate
from prompt_evaluator.app.report_files import table_kind, write_tables
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.reports.safe_text import csv_original, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator import Evaluation

csv.field_size_limit(1_000_000)
CHECKS = (
    "from hostile import HOSTILE, storable\n\ndef reason(output, case):\n    return 0.0, storable(HOSTILE[case.id])\n"
)
CASES: list[dict[str, Any]] = [
    {"id": "good", "input": "2+2", "reference": "4"},
    {"id": "bad", "input": "2+3", "reference": "5"},
    {"id": "broken", "input": "boom", "reference": "?"},
    {"id": "free", "input": "a poem"},
]


def four(question: str) -> str:
    if question == "boom":
        raise RuntimeError("the calculator exploded")
    return "4"


def five(_question: str) -> str:
    return "5"


def hostile_answer(name: str) -> str:
    """As a service would send it."""
    return HOSTILE[name].encode("utf-8", "replace").decode()


def write(*runs: str, to: str, **options: Any) -> Path:
    """Write a table and return its path."""
    path = Path(to)
    kind = table_kind(path)
    assert kind is not None
    write_tables(read_settings(), runs, kind, path, **options)
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


@pytest.fixture
def dataset(here: Path) -> Path:
    path = here / "evals" / "sums.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(case) + "\n" for case in CASES), encoding="utf-8")
    return path


@pytest.fixture
def sums(dataset: Path) -> Evaluation:
    return evaluate(
        dataset, four, rubric=None, metrics=["exact_match"], samples=3, fail_under={"exact_match": 0.9}, tags={"a": "b"}
    )


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a run whose answers and reasons are hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "checks.py").write_text(CHECKS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        cases = [{"id": name, "input": name, "note": storable(text)} for name, text in HOSTILE.items()]
        run = evaluate(cases, hostile_answer, rubric=None, metrics=["python:checks:reason"], samples=1)
        assert run.status == "completed"
        yield folder


@pytest.fixture
def hostile(hostile_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hostile_run)


@pytest.mark.usefixtures("hostile")
def test_hostile_text_in_csv_stays_in_its_cell_and_is_no_formula() -> None:
    rows = rows_of(write("@last", to="report.csv"))

    assert [row["test_case_id"] for row in rows] == list(HOSTILE)
    assert not [row for row in rows for cell in row.values() if cell.startswith(tuple("=+-@\t\r\n"))]
    assert [csv_original(row["output"]) for row in rows] == [storable(text) for text in HOSTILE.values()]


@pytest.mark.usefixtures("hostile")
def test_hostile_text_in_jsonl_stays_on_its_line() -> None:
    lines = write("@last", to="report.jsonl").read_bytes().split(b"\n")

    assert lines.pop() == b""
    samples = [json.loads(line) for line in lines]
    assert [storable(sample["generator_output"]) for sample in samples] == [storable(text) for text in HOSTILE.values()]


@pytest.mark.usefixtures("hostile")
def test_hostile_text_in_junit_adds_no_test_case_and_changes_none() -> None:
    found = read_junit(write("@last", to="report.xml"))

    assert [(one.name, one.problem) for one in found] == [(name, "failure") for name in HOSTILE]
    for one in found:
        shown = re.sub("[\ufffe\uffff\ufdd0]", "�", plain(storable(HOSTILE[one.name])))[:500].strip()
        assert shown.partition("\n")[0] in one.text
        assert "\x1b" not in one.text


def test_a_case_is_a_test_case_with_its_place_its_scores_and_what_is_wrong(sums: Evaluation) -> None:
    found = {each.name: each for each in read_junit(write(sums.run_id, to="report.junit.xml"))}

    assert list(found) == ["--fail-under exact_match=0.9", "good", "bad", "broken", "free"]
    assert {name: each.problem for name, each in found.items()} == {
        "--fail-under exact_match=0.9": "failure",
        "good": None,
        "bad": "failure",
        "broken": "error",
        "free": "skipped",
    }
    assert found["--fail-under exact_match=0.9"].message == "exact_match is 0.50, below its bar of 0.9."
    assert found["bad"].place == ("evals/sums.jsonl", "2")
    assert found["bad"].classname == "sums"
    assert found["bad"].properties == {"exact_match.mean": "0.0", "exact_match.std": "0.0", "exact_match.count": "3"}
    assert found["bad"].message == "exact_match: 0 of 3 samples pass (mean 0.000)"
    assert "Worst answer (sample 1; exact_match 0):\n4" in found["bad"].text
    assert "the calculator exploded" in found["broken"].message
    assert found["free"].message == "No metric applies to this case."


def test_a_suite_knows_the_run_its_hashes_and_its_means(sums: Evaluation) -> None:
    suite = suite_of(write(sums.run_id, to="report.junit.xml"))

    known = properties_of(suite)
    assert known["run_id"] == sums.run_id
    assert known["dataset_hash"].startswith("sha256:")
    assert float(known["exact_match.mean"]) == sums.metrics["exact_match"].mean_of_means
    assert known["exact_match.cases"] == "2"


def test_a_comparison_has_a_row_per_case_and_metric(sums: Evaluation, dataset: Path) -> None:
    other = evaluate(dataset, five, rubric=None, metrics=["exact_match"], samples=3)

    rows = rows_of(write(sums.run_id, other.run_id, to="both.csv"))
    lines = write(sums.run_id, other.run_id, to="both.jsonl").read_text(encoding="utf-8").splitlines()

    assert {(row["test_case_id"], row["metric"], row["difference"]) for row in rows} == {
        ("good", "exact_match", "-1.0"),
        ("bad", "exact_match", "1.0"),
    }
    assert {(row["baseline_run"], row["candidate_run"]) for row in rows} == {(sums.run_id, other.run_id)}
    assert [json.loads(line)["test_case_id"] for line in lines] == [row["test_case_id"] for row in rows]
    assert list(json.loads(lines[0])) == list(rows[0])


def test_junit_of_two_runs_is_that_of_the_second(sums: Evaluation, dataset: Path) -> None:
    other = evaluate(dataset, five, rubric=None, metrics=["exact_match"], samples=1)

    assert (
        write(sums.run_id, other.run_id, to="both.xml").read_bytes() == write(other.run_id, to="one.xml").read_bytes()
    )


def test_the_store_is_closed_after_writing(sums: Evaluation) -> None:
    for name in ("a.csv", "a.xml"):
        write(sums.run_id, to=name)

    with closing(open_store(read_settings())) as store, store.own(sums.run_id):
        assert store.has_run(sums.run_id)
