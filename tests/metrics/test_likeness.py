from __future__ import annotations

import pytest
from entries import each
from hypothesis import given
from hypothesis import strategies as st
from scoring import answer, case, score, value

from prompt_evaluator.metrics.likeness import Levenshtein, Similarity, TokenF1
from prompt_evaluator.metrics.rule import Trial
from prompt_evaluator.model import Failed, Scored, Skipped, TestCase

TEXTS = st.text(max_size=60)


def _f1(wanted: str, got: str) -> float:
    found = TokenF1(expected=wanted).assess(Trial(case(), answer(got)))
    assert isinstance(found, Scored)
    return found.value


@each(
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


@each(
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


@pytest.mark.parametrize("name", ["similarity", "levenshtein"])
async def test_texts_that_would_take_long_to_compare_are_a_failure(name: str) -> None:
    found = await score(name, "a" * 200_000, on=case("b" * 200_000))

    assert isinstance(found, Failed)
    assert found.kind == "TooLong"


@pytest.mark.parametrize("name", ["similarity", "token_f1", "levenshtein"])
async def test_without_a_reference_there_is_nothing_to_be_like(name: str) -> None:
    assert await score(name, "x") == Skipped("the case has no reference")


@pytest.mark.parametrize("name", ["similarity", "levenshtein"])
async def test_equal_texts_need_no_comparing_however_long_they_are(name: str) -> None:
    assert await value(name, "a" * 200_000, on=case("a" * 200_000)) == 1


TWO = TestCase(id="a", input="?", reference="a b c d", references=("kitten",))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("similarity", "kitten", 1.0),
        ("levenshtein", "sitten", 5 / 6),
        ("token_f1", "the kitten", 1.0),
        ("token_f1", "b c", 0.8),
    ],
)
async def test_of_several_references_the_one_that_fits_best_counts(name: str, text: str, expected: float) -> None:
    assert await value(name, text, on=TWO) == pytest.approx(expected)


async def test_a_reference_that_is_too_long_does_not_hide_one_that_fits() -> None:
    on = TestCase(id="a", input="?", reference="b" * 200_000, references=("a" * 200_000,))

    assert await value("similarity", "a" * 200_000, on=on) == 1


@pytest.mark.parametrize(
    ("reference", "text", "expected", "distance"),
    [
        ("kitten", "sitting", 1 - 3 / 7, 3),
        ("abc", " abc\n", 1.0, 0),
        ("abc", "", 0.0, 3),
        ("", "", 1.0, 0),
        ("abc", "ABC", 0.0, 3),
    ],
)
async def test_levenshtein_is_the_share_of_letters_that_stay(
    reference: str, text: str, expected: float, distance: int
) -> None:
    found = await score("levenshtein", text, on=case(reference))

    assert isinstance(found, Scored)
    assert found.value == pytest.approx(expected)
    assert (found.reason, found.details) == (f"a distance of {distance}", {"distance": distance})


async def test_levenshtein_may_ignore_case() -> None:
    assert await value("levenshtein", "ABC", on=case("abc"), ignore_case=True) == 1


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (3, Scored(1.0, "", {"distance": 3})),
        (2, Scored(0.0, "a distance of 3, expected at most 2", {"distance": 3})),
    ],
)
async def test_a_greatest_distance_makes_levenshtein_a_yes_or_no(most: int, expected: Scored) -> None:
    assert await score("levenshtein", "sitting", on=case("kitten"), max_distance=most) == expected


@given(TEXTS, TEXTS)
def test_levenshtein_is_symmetric_and_between_0_and_1(left: str, right: str) -> None:
    there = Levenshtein(expected=left).assess(Trial(case(), answer(right)))
    back = Levenshtein(expected=right).assess(Trial(case(), answer(left)))

    assert there == back
    assert isinstance(there, Scored)
    assert 0 <= there.value <= 1
