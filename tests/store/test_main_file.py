"""`dataset_evaluation.json` while a run goes on: cases in the order of the dataset, whatever order they come in."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from applied import plan

from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import PromptRef, RunRecord, Target
from prompt_evaluator.model.outcome import MAIN_FILE
from prompt_evaluator.store.main_file import MainFile

if TYPE_CHECKING:
    from pathlib import Path

IDS = ["a", 'b "quoted"\n', "ü"]


def record(**changes: Any) -> RunRecord:
    return RunRecord(plan=plan(**changes), status="running", started_at="2025-01-01T00:00:00.000Z")


def text(case_id: str, **more: Any) -> bytes:
    return json.dumps({"test_case_id": case_id, "status": "completed", **more}, indent=2, ensure_ascii=False).encode()


def written(folder: Path) -> Any:
    return json.loads((folder / MAIN_FILE).read_bytes())


def test_before_anything_is_finished_every_case_is_pending(tmp_path: Path) -> None:
    main = MainFile(tmp_path)

    main.write(record(), None, (), IDS)
    main.close()

    assert written(tmp_path)["test_case_results"] == [{"test_case_id": name, "status": "pending"} for name in IDS]


def test_cases_stand_in_the_order_of_the_dataset(tmp_path: Path) -> None:
    main = MainFile(tmp_path)
    main.add(2, text("ü", note="first\nto finish"))
    main.add(0, text("a"))

    main.write(record(), None, (), IDS)
    main.close()

    found = written(tmp_path)["test_case_results"]
    assert [(case["test_case_id"], case["status"]) for case in found] == [
        ("a", "completed"), (IDS[1], "pending"), ("ü", "completed"),
    ]  # fmt: skip
    assert found[2]["note"] == "first\nto finish"


def test_it_can_be_written_again_and_again_as_more_comes(tmp_path: Path) -> None:
    main = MainFile(tmp_path)
    counts = []
    for position, name in enumerate(IDS):
        main.add(position, text(name))
        main.write(record(), None, (), IDS)
        counts.append([case["status"] for case in written(tmp_path)["test_case_results"]].count("completed"))
    main.close()

    assert counts == [1, 2, 3]


def test_it_is_indented_like_the_files_of_the_cases(tmp_path: Path) -> None:
    main = MainFile(tmp_path)
    main.add(0, text("a", nested={"x": [1]}))

    main.write(record(), None, (), ["a"])
    main.close()

    data = (tmp_path / MAIN_FILE).read_text()
    assert data == json.dumps(json.loads(data), indent=2, ensure_ascii=False) + "\n"


def test_the_text_of_the_system_prompt_is_in_it(tmp_path: Path) -> None:
    target = Target(
        model="mock/default", identity="mock", prompt=PromptRef(path="/p.txt", hash="0", text="Answer briefly.")
    )
    main = MainFile(tmp_path)

    main.write(record(target=target), None, (), [])
    main.close()

    found = written(tmp_path)
    assert (found["system_prompt"], found["system_prompt_path"]) == ("Answer briefly.", "/p.txt")


def test_a_case_that_comes_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    main = MainFile(tmp_path)
    main.add(0, text("a", note="first"))
    main.add(0, text("a", note="second"))

    main.write(record(), None, (), ["a"])
    main.close()

    assert written(tmp_path)["test_case_results"][0]["note"] == "second"


def test_what_is_written_beside_a_thread_that_adds_is_always_whole(tmp_path: Path) -> None:
    count = 2_000
    ids = [f"case-{number}" for number in range(count)]
    main = MainFile(tmp_path)

    def add() -> None:
        for number in reversed(range(count)):
            main.add(number, text(ids[number], filler="x" * 500))

    adding = threading.Thread(target=add, daemon=True)
    adding.start()
    seen = 0
    while adding.is_alive():
        main.write(record(), None, (), ids)
        found = written(tmp_path)["test_case_results"]
        assert [case["test_case_id"] for case in found] == ids
        seen += 1
    adding.join(60)
    main.close()

    assert seen


def test_a_folder_that_is_gone_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot be written in .*choose another folder with -o"):
        MainFile(tmp_path / "gone")
