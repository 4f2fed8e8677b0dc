"""Tags and notes of stored runs, changed in the store and in their files."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from case_results import case_result, run_result

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.store.artifacts import update_index
from prompt_evaluator.store.run_edits import Description, describe_files
from prompt_evaluator.store.run_files import RunFiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.store import Store

    MakeRecord = Callable[..., RunRecord]


def tagged(**tags: str) -> Callable[[Description], Description]:
    return lambda before: Description({**before.tags, **tags}, "new note")


def test_plan_and_columns_change_together_and_nothing_else_does(store: Store, record: MakeRecord) -> None:
    given = record(tags={"team": "search"}, note="old")
    store.create_run(given, [])

    plan = store.describe_run("run-0001", tagged(owner="anna"))

    assert plan == msgspec.structs.replace(given.plan, tags={"team": "search", "owner": "anna"}, note="new note")
    assert store.run("run-0001") == msgspec.structs.replace(given, plan=plan)
    line = store.run_line("run-0001")
    assert (line.tags, line.note) == (plan.tags, "new note")
    assert store.description("run-0001") == Description(plan.tags, "new note")


def test_changes_made_at_the_same_time_are_all_kept(store: Store, run_id: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: store.describe_run(run_id, tagged(**{f"tag-{at}": "x"})), range(24)))

    assert set(store.description(run_id).tags) == {f"tag-{at}" for at in range(24)}


def test_bars_that_are_added_later_do_not_undo_a_change(store: Store, run_id: str) -> None:
    read_before = store.run(run_id).plan
    store.describe_run(run_id, tagged(team="search"))

    store.replace_plan(msgspec.structs.replace(read_before, fail_under={"clarity": 3.0}))

    plan = store.run(run_id).plan
    assert (plan.fail_under, plan.tags, plan.note) == ({"clarity": 3.0}, {"team": "search"}, "new note")


def test_an_unknown_run_has_no_description(store: Store, run_id: str) -> None:
    for ask in (lambda: store.describe_run("nothing", tagged()), lambda: store.description("nothing")):
        with pytest.raises(UnknownNameError):
            ask()
    assert store.description(run_id) == Description({}, None)


def written(record: RunRecord, cases: int) -> RunFiles:
    files = RunFiles(record, lambda: [f"case-{at}" for at in range(cases)])
    for at in range(cases):
        files.save_now(at, case_result(f"case-{at}", test_case_input='x,\n  "test_case_results": [' * 100))
    files.write(record, run_result())
    files.close()
    return files


def document(record: RunRecord) -> Any:
    return json.loads(main_file(record).read_bytes())


def main_file(record: RunRecord) -> Path:
    return Path(record.plan.output_dir) / record.plan.run_id / "dataset_evaluation.json"


def test_the_main_file_changes_only_where_it_has_to(record: MakeRecord, tmp_path: Path) -> None:
    given = record(output_dir=str(tmp_path), tags={"team": "search"}, note='a "test_case_results": [ note')
    written(given, 10)
    before, plain = document(given), main_file(given).read_bytes()
    changed = msgspec.structs.replace(given, plan=msgspec.structs.replace(given.plan, tags={"a": "ü"}, note=None))

    describe_files(changed, run_result())

    assert document(given) == {**before, "tags": {"a": "ü"}, "run_notes": None}
    describe_files(given, run_result())
    assert main_file(given).read_bytes() == plain


def test_the_index_changes_if_there_is_one(record: MakeRecord, tmp_path: Path) -> None:
    given = record(output_dir=str(tmp_path))
    changed = msgspec.structs.replace(given, plan=msgspec.structs.replace(given.plan, tags={"a": "b"}, note="new"))
    describe_files(changed, run_result())
    assert list(tmp_path.iterdir()) == []
    update_index(given, run_result())

    describe_files(changed, run_result())

    (entry,) = json.loads((tmp_path / "index.json").read_bytes())["runs"]
    assert (entry["tags"], entry["description"]) == ({"a": "b"}, "new")


def test_a_file_that_somebody_else_wrote_is_left_alone(record: MakeRecord, tmp_path: Path) -> None:
    given = record(output_dir=str(tmp_path), note="new")
    main_file(given).parent.mkdir()
    main_file(given).write_text('{"mine": 1}', encoding="utf-8")

    describe_files(given, None)

    assert document(given) == {"mine": 1}
