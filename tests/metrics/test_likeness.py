from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring import answer, case, score, value

from prompt_evaluator.metrics.likeness import Similarity, TokenF1
from prompt_evaluator.metrics.rule import Trial
from prompt_evaluator.model import Failed, Scored, Skipped

TEXTS = st.text(max_size=60)


def _f1(wanted: str, got: str) -> float:
    found = TokenF1(expected=wanted).assess(Trial(case(), answer(got)))
    assert isinstance(found, Scored)
    return found.value


@pytest.mark.parametrize(
    ("reference", "text", "expected"),
    [
        ("The cat sat.", "the cat sat", 1.0),
        ("The Cat", "a cat!", 1.0),
        ("cat sat", "cat ran", 0.5),
        ("a b c d", "b c", 0.8),
        ("cat cat dog", "cat", 0.5),
        ("dog", "cat", 0.0),
        ("the", "", 1.0),
        ("", "", 1.0),
        ("cat", "", 0.0),
        ("", "cat", 0.0),
        ("U.S.A.", "usa", 1.0),
    ],
)
async def test_token_f1_counts_as_squad_does(reference: str, text: str, expected: float) -> None:
    assert await value("token_f1", text, on=case(reference)) == pytest.approx(expected)


@given(TEXTS, TEXTS)
def test_token_f1_is_symmetric_and_between_0_and_1(left: str, right: str) -> None:
    assert 0 <= _f1(left, right) <= 1
    assert _f1(left, right) == _f1(right, left)
    assert _f1(left, left) == 1


@given(st.lists(st.sampled_from(["x", "y", "z"]), min_size=1))
def test_token_f1_does_not_see_the_order_of_words(words: list[str]) -> None:
    assert _f1(" ".join(words), " ".join(sorted(words))) == 1


@pytest.mark.parametrize(
    ("scorer", "reference", "text", "expected"),
    [
        ("ratio", "abcd", "abcd", 1.0),
        ("ratio", "abcd", "abce", 0.75),
        ("ratio", "", "", 1.0),
        ("ratio", "a", "", 0.0),
        ("token_sort", "new york mets", "mets york new", 1.0),
        ("token_set", "mets", "mets mets", 1.0),
        ("token_set", "", "", 1.0),
        ("jaro_winkler", "martha", "marhta", 0.9611111),
    ],
)
async def test_similarity_by_scorer(scorer: str, reference: str, text: str, expected: float) -> None:
    assert await value("similarity", text, on=case(reference), scorer=scorer) == pytest.approx(expected)


async def test_similarity_may_ignore_case() -> None:
    assert await value("similarity", "ABC", on=case("abc")) == 0
    assert await value("similarity", "ABC", on=case("abc"), ignore_case=True) == 1


@given(TEXTS, TEXTS, st.sampled_from(["ratio", "token_sort", "token_set", "jaro_winkler"]))
def test_similarity_is_between_0_and_1(left: str, right: str, scorer: str) -> None:
    metric = Similarity(expected=left, scorer=scorer)  # type: ignore[arg-type]

    found = metric.assess(Trial(case(), answer(right)))

    assert isinstance(found, Scored)
    assert 0 <= found.value <= 1


async def test_texts_that_would_take_long_to_compare_are_a_failure() -> None:
    found = await score("similarity", "a" * 200_000, on=case("b" * 200_000))

    assert isinstance(found, Failed)
    assert found.kind == "TooLong"


@pytest.mark.parametrize("name", ["similarity", "token_f1"])
async def test_without_a_reference_there_is_nothing_to_be_like(name: str) -> None:
    assert await score(name, "x") == Skipped("the case has no reference")
