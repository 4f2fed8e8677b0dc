"""Runs to be compared, by the names that people type."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from artifact_files import artifact
from labelling import RUN, add_run

from prompt_evaluator import evaluate
from prompt_evaluator.app.run_names import open_compared
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.app.upkeep import delete_run
from prompt_evaluator.errors import ConfigurationError, InputError, InputNotFoundError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator import TestCase
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.comparison import ComparedCase
    from prompt_evaluator.ports import ComparedRun

UNKNOWN_TO_FILES = {"name", "path", "judge_hash"}


def write_artifact(folder: Path, run_id: str = "elsewhere") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "dataset_evaluation.json"
    path.write_bytes(artifact({"test_case_id": "a"}, run_id=run_id))
    return path


def ids(settings: Settings, *names: str) -> list[str | None]:
    with open_compared(settings, names) as runs:
        return [run.facts.run_id for run in runs]


def test_files_are_compared_without_a_store(here: Path) -> None:
    write_artifact(here / "one", "first")
    write_artifact(here / "two", "second")

    found = ids(read_settings(), "one", "two/dataset_evaluation.json")

    assert found == ["first", "second"]
    assert sorted(path.name for path in here.iterdir()) == ["one", "two"]


def test_files_and_stored_runs_are_named_side_by_side(settings: Settings, here: Path) -> None:
    path = write_artifact(here / "one")
    with closing(open_store(settings)) as store:
        add_run(store, "run-newer")
        store.start_run("run-newer", "2030-01-01T00:00:00Z")

    assert ids(settings, str(path), "@last", RUN[:8]) == ["elsewhere", "run-newer", RUN]
    assert ids(settings, "@last~1", "@last") == [RUN, "run-newer"]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["@last", RUN], f"@last and {RUN} are the same run, {RUN}. Give two different runs to compare."),
        (["@last", "@last"], "@last is given twice. Give two different runs to compare."),
        (["one", "one/dataset_evaluation.json"], "one and one/dataset_evaluation.json are the same run"),
    ],
)
def test_the_same_run_twice_is_refused(settings: Settings, here: Path, names: list[str], says: str) -> None:
    write_artifact(here / "one")

    with pytest.raises(ConfigurationError) as refused:
        ids(settings, *names)

    assert says in str(refused.value)


def test_two_files_of_one_run_id_may_differ_and_are_compared(here: Path) -> None:
    write_artifact(here / "one")
    write_artifact(here / "copy")

    assert ids(read_settings(), "one", "copy") == ["elsewhere", "elsewhere"]


def test_a_file_that_does_not_exist_is_a_missing_file_and_no_unknown_run(here: Path) -> None:
    write_artifact(here / "one")

    for name in ("one/dataset_evaluatoin.json", "nowhere.json", "no/such/folder"):
        with pytest.raises(InputNotFoundError, match="file not found"):
            ids(read_settings(), "one", name)
    assert not (here / ".prompt_evaluator").exists()


def test_a_folder_of_runs_names_a_folder_to_give_instead(here: Path) -> None:
    write_artifact(here / "runs" / "r1")
    (here / "empty").mkdir()

    with pytest.raises(
        InputError, match=r"no dataset_evaluation.json. Give one of the folders in it, such as runs/r1\."
    ):
        ids(read_settings(), "runs")
    with pytest.raises(InputError, match="For the newest run with this tag, write tag:empty"):
        ids(read_settings(), "empty")


def test_a_tag_with_a_slash_is_not_a_path(settings: Settings) -> None:
    with pytest.raises(UnknownNameError, match="no run with the tag 'branch=feature/x'"):
        ids(settings, "branch=feature/x")


def test_a_name_that_no_path_can_have_is_an_unknown_run(settings: Settings) -> None:
    for name in ("x" * 5_000, "a\0b"):
        with pytest.raises(UnknownNameError, match="There is no run"):
            ids(settings, name)


@pytest.mark.parametrize("name", ["", " "])
def test_an_empty_name_is_no_run(settings: Settings, name: str) -> None:
    with pytest.raises(ConfigurationError, match="name of a run is empty"), open_compared(settings, [name, "@last"]):
        pass


def test_a_run_is_deleted_by_its_id_alone(settings: Settings) -> None:
    with pytest.raises(ConfigurationError, match=f"@last means run {RUN} now, and another one later"):
        delete_run(settings, "@last")

    assert delete_run(settings, RUN[:8]).plan.run_id == RUN


def _facts(run: ComparedRun) -> dict[str, Any]:
    facts = msgspec.structs.asdict(run.facts)
    for name in ("parameters", "judge_parameters"):
        facts[name] = {key: value for key, value in facts[name].items() if "service" not in key}
    return {name: value for name, value in facts.items() if name not in UNKNOWN_TO_FILES}


def _answer(question: str) -> str:
    if "fail" in question:
        raise RuntimeError("no answer to this")
    return "Two minutes." if "long" in question else "Some words that are too many for the check."


def test_a_stored_run_and_its_own_file_are_the_same_run(here: Path) -> None:
    (here / "prompt.txt").write_text("Be brief.")
    cases: list[TestCase | dict[str, Any]] = [
        {"id": "tea", "input": "How long?", "topic": "drinks", "reference": "Two minutes.", "metadata": {"level": 2}},
        {"id": "cake", "input": "How hot?", "checks": [{"metric": "length", "max_words": 3}]},
        {"id": "salt", "input": "fail"},
    ]
    made = evaluate(
        cases,
        _answer,
        system_prompt=here / "prompt.txt",
        num_samples=3,
        metrics=["exact_match"],
        judge_model="mock/default",
        judge_repeats=2,
        temperature=0.3,
        tags={"team": "docs"},
        note="as before",
        prompt_version="v3",
        allow_mock_judge=True,
    )
    path = here / "runs" / made.run_id / "dataset_evaluation.json"

    with open_compared(read_settings(), [made.run_id, str(path)]) as (stored, file):
        facts, expected = _facts(file), _facts(stored)
        assert facts.pop("latency_ms") == pytest.approx(expected.pop("latency_ms"))
        assert facts == expected
        assert list(facts["scales"].items()) == list(expected["scales"].items())
        assert (facts["prompt_text"], facts["tags"], facts["failed_samples"]) == ("Be brief.", {"team": "docs"}, 3)
        assert {"exact_match", "length"} < facts["scales"].keys()
        for ours, theirs in zip(_cases(stored), _cases(file), strict=True):
            assert msgspec.structs.replace(ours, content_hash=None) == theirs
            assert not ours.is_changed(theirs)
            assert list(ours.scores) == list(theirs.scores)
            assert stored.input(ours.case_id) == file.input(ours.case_id) != ""
            assert list(stored.answers(ours.case_id)) == list(file.answers(ours.case_id))
        assert list(stored.case_ids()) == list(file.case_ids()) == ["tea", "cake", "salt"]


def _cases(run: ComparedRun) -> list[ComparedCase]:
    return [case for batch in run.batches() for case in batch]
