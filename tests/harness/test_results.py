"""The files in `evals/results/`: what is written, and what is kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from harness_runs import OUTPUT, evaluation, foreign_run, harness_run, summary, write_history

from prompt_evaluator.errors import InputNotFoundError, ResultsFileError, StoreError
from prompt_evaluator.harness.history import read_history, read_run_file
from prompt_evaluator.harness.results import add_run, check_history, ranked, without_outputs

if TYPE_CHECKING:
    from pathlib import Path


def written(results: Path, name: str) -> Any:
    return json.loads((results / f"{name}.json").read_bytes())


def test_a_run_is_in_all_four_files(tmp_path: Path) -> None:
    run = harness_run("run-1", summary("a", task_completion_rate=90.0), summary("b"))

    add_run(tmp_path, run)

    assert [each["runId"] for each in written(tmp_path, "history")] == ["run-1"]
    assert written(tmp_path, "latest")["runId"] == "run-1"
    assert [each["configId"] for each in written(tmp_path, "leaderboard")] == ["b", "a"]
    assert written(tmp_path, "trends") == {
        config_id: [
            {
                "runId": "run-1",
                "timestamp": "2026-11-16T06:00:00.000Z",
                "taskCompletionRate": rate,
                "retriesPerTask": 0.2,
                "hallucinationIncidents": 0,
                "latencyAvgMs": 800.0,
            }
        ]
        for config_id, rate in (("a", 90.0), ("b", 95.0))
    }


def test_only_the_latest_run_has_outputs(tmp_path: Path) -> None:
    add_run(tmp_path, harness_run("run-1", evaluations=(evaluation(),)))

    assert OUTPUT in (tmp_path / "latest.json").read_text("utf-8")
    assert OUTPUT not in (tmp_path / "history.json").read_text("utf-8")
    assert len(written(tmp_path, "history")[0]["evaluations"][0]["attempts"]) == 1


def test_a_run_reads_back_as_it_was_added(tmp_path: Path) -> None:
    run = harness_run("run-1", status="completed", synthetic=True, tasks_hash="t", config_hashes={"a": "h"})

    add_run(tmp_path, run)

    assert read_run_file(tmp_path / "latest.json") == run
    assert read_history(tmp_path).run(0) == without_outputs(run)


def test_what_is_in_the_history_stays_byte_for_byte(tmp_path: Path) -> None:
    entries = '{"runId": "x",\n\n "timestamp":"t", "summaries": [ ], "theirs": {"deep": 1.50}}'
    path = tmp_path / "history.json"
    path.write_text(f"\ufeff [{entries} ]\n", encoding="utf-8")

    add_run(tmp_path, harness_run("run-2"))

    assert path.read_text("utf-8").startswith(f"\ufeff [{entries},\n")
    assert [head.run_id for head in read_history(tmp_path).heads()] == ["x", "run-2"]


def test_trends_are_about_all_runs_in_order(tmp_path: Path) -> None:
    write_history(tmp_path, [foreign_run("theirs")])

    add_run(tmp_path, harness_run("ours"))

    assert [each["runId"] for each in written(tmp_path, "trends")["a"]] == ["theirs", "ours"]


def test_the_best_configuration_is_first_and_what_could_not_be_measured_last() -> None:
    none = summary("none", task_completion_rate=None, retries_per_task=None, latency_avg_ms=None)
    slow, quick = summary("slow", latency_avg_ms=900.0), summary("quick", latency_avg_ms=700.0)
    wrong, best = (
        summary("wrong", hallucination_incidents=1, latency_avg_ms=1.0),
        summary("best", task_completion_rate=99.0, hallucination_incidents=9),
    )

    assert ranked([none, wrong, slow, quick, best]) == [best, quick, slow, wrong, none]


GOOD = json.dumps([foreign_run("x")]).encode()
UNUSABLE = {
    "empty": (b"", "The file is empty"),
    "an object": (b"{}", "The file is an object, not a list"),
    "cut off": (GOOD[:-9], "it ends in the middle of a value"),
    "NaN": (GOOD.replace(b"95", b"NaN"), "NaN is not a JSON value"),
    "a text for a number": (GOOD.replace(b"95", b'"95"'), "`summaries[0].taskCompletionRate` is a text, not a number"),
    "a run without an id": (b"[{}]", "Run 1 of 1 has no `runId`"),
    "a key twice": (GOOD.replace(b'"totalTasks"', b'"totalTasks": 1, "totalTasks"'), "the key 'totalTasks' twice"),
    "a configuration twice": (
        json.dumps([foreign_run("x", *[json.loads(GOOD)[0]["summaries"][0]] * 2)]).encode(),
        "two summaries of the configuration 'a'",
    ),
    "UTF-16": (GOOD.decode().encode("utf-16"), "UTF-16"),
    "not text": (b"\x1f\x8b\x08\x00", "not UTF-8"),
    "too deep": (b"[" * 100_000, "nested too deep"),
}


@pytest.mark.parametrize(("data", "says"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_history_that_cannot_be_read_is_an_error_and_left_as_it_is(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "history.json"
    path.write_bytes(data)

    with pytest.raises(ResultsFileError) as before:
        check_history(tmp_path)
    with pytest.raises(ResultsFileError) as after:
        add_run(tmp_path, harness_run())

    for caught in (before, after):
        assert str(caught.value).startswith(str(path))
        assert says in str(caught.value)
        assert caught.value.exit_code == 3
    assert path.read_bytes() == data
    assert not (tmp_path / "latest.json").exists()


@pytest.mark.parametrize("data", [b"[]", b" [ \n] ", b"\xef\xbb\xbf[]"], ids=["empty", "spaced", "byte order mark"])
def test_an_empty_list_is_a_history_without_runs(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "history.json").write_bytes(data)

    check_history(tmp_path)
    add_run(tmp_path, harness_run())

    assert len(read_history(tmp_path)) == 1


def test_no_file_is_a_history_without_runs(tmp_path: Path) -> None:
    check_history(tmp_path / "new")

    assert len(read_history(tmp_path / "new")) == 0


def test_a_folder_in_place_of_the_history_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "history.json").mkdir()

    with pytest.raises(ResultsFileError, match="directory, not a file"):
        check_history(tmp_path)


def test_a_folder_that_cannot_be_written_is_an_error_before_the_first_call(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match="the results cannot be written"):
        check_history(tmp_path / "file" / "results")


def test_a_large_history_can_be_added_to(tmp_path: Path) -> None:
    megabytes = 20
    entry = json.dumps(foreign_run("x", note="n" * 1_000_000))
    (tmp_path / "history.json").write_text(f"[{','.join([entry] * megabytes)}]", encoding="utf-8")

    add_run(tmp_path, harness_run("run-2"))

    assert len(read_history(tmp_path)) == megabytes + 1


def test_a_large_history_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "history.json").write_text(f"[{json.dumps(foreign_run('x', note='n' * 10_000_000))}", encoding="utf-8")

    with pytest.raises(ResultsFileError, match="ends in the middle of a value"):
        check_history(tmp_path)


def test_a_run_is_read_from_each_kind_of_file(tmp_path: Path) -> None:
    for name in ("run-1", "run-2"):
        add_run(tmp_path, harness_run(name))

    found = [read_run_file(tmp_path / f"{name}.json").run_id for name in ("latest", "history")]

    assert found == ["run-2", "run-2"]


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"[]", "no runs"), (b"{}", "no `runId`"), (b"", "empty"), (b"7", "not an object")],
)
def test_a_file_without_a_run_is_an_error(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "x.json").write_bytes(data)

    with pytest.raises(ResultsFileError, match=says):
        read_run_file(tmp_path / "x.json")


def test_a_file_that_is_named_and_missing_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(InputNotFoundError):
        read_run_file(tmp_path / "x.json")
