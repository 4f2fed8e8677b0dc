from __future__ import annotations

from entries import each
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.store.artifacts import CaseFiles

IDS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=300), unique=True, max_size=20)


@given(IDS)
def test_no_id_leaves_its_folder_or_meets_another(ids: list[str]) -> None:
    files = CaseFiles(ids)

    names = [files.name(case_id) for case_id in ids]

    assert len({name.casefold() for name in names}) == len(ids)
    assert all(name.isascii() and name.isprintable() and len(name) < 130 for name in names)
    assert not any(sign in name for name in names for sign in '/\\:*?"<>|')


@each("case_id", ["test-001", "a", "CON", "with.dots_and-dashes", "9"])
def test_a_plain_id_is_its_own_name(case_id: str) -> None:
    assert CaseFiles([case_id]).name(case_id) == f"test_case_{case_id}.json"


def test_an_id_has_the_same_name_in_every_run_of_the_same_cases() -> None:
    assert CaseFiles(["A", "a"]).name("a") == CaseFiles(["a", "A"]).name("a")
