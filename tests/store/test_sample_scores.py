"""The scores of a sample are one text in its row, and say what they said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from case_results import failed_sample, sample

from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.result import CriterionScore, MetricScore, RepeatResult
from prompt_evaluator.store.sample_scores import all_pass, clean_scores, plain_scores, read_scores, read_values
from prompt_evaluator.store.texts import is_clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.result import SampleResult

RUN = "run-0001"
SECRET = "a-key-that-nobody-may-see"
GOOD, BAD, FREE = (
    CriterionScore(value, "so", passed=passed) for value, passed in ((5.0, True), (1.0, False), (3.0, None))
)
SKIPPED = MetricScore(status="skipped", score=None, passed=None, reason="no reference")
FAILED = MetricScore(status="failed", score=None, passed=None, reason="the judge said nothing")
EXACT = MetricScore(status="scored", score=0.1 + 0.2, passed=True, reason="", details={"found": ["a", 1, None]})
TWICE = MetricScore(status="scored", score=0.5, passed=False, reason="once", repeats=(1.0, None, 0.0))


def repeated(*values: float | None) -> tuple[RepeatResult, ...]:
    return tuple(
        RepeatResult(metrics=None if value is None else {"clarity": CriterionScore(value, "")}, flags=None, error=None)
        for value in values
    )


def plain(given: SampleResult) -> str | None:
    (text,) = plain_scores([given]) or ["cannot be encoded"]
    return text


@pytest.mark.parametrize("written", [plain, clean_scores])
def test_what_is_read_is_what_was_written(written: Callable[[SampleResult], str | None]) -> None:
    given = sample(judge_metrics={"clarity": BAD}, scores={"exact": EXACT, "twice": TWICE, "none": FAILED})

    found = read_scores(written(given))

    assert {name: (each.value, each.passed, each.outcome, each.reason) for name, each in found.items()} == {
        "clarity": (1.0, False, "scored", "so"),
        "exact": (0.1 + 0.2, True, "scored", ""),
        "twice": (0.5, False, "scored", "once"),
        "none": (None, None, "failed", "the judge said nothing"),
    }
    assert found["exact"].details == {"found": ["a", 1, None]}
    assert found["twice"].repeats == (1.0, None, 0.0)
    assert read_values(written(given)) == {"clarity": 1.0, "exact": 0.1 + 0.2, "twice": 0.5}


@pytest.mark.parametrize("written", [plain, clean_scores])
def test_the_scores_of_repeated_judgements_are_kept_with_their_mean(
    written: Callable[[SampleResult], str | None],
) -> None:
    given = sample(judge_metrics={"clarity": FREE}, judge_repeats=repeated(2.0, None, 4.0), scores={})

    score = read_scores(written(given))["clarity"]

    assert (score.value, score.reason, score.repeats) == (3.0, "so", (2.0, None, 4.0))


def test_a_sample_without_scores_has_no_text() -> None:
    assert plain(failed_sample("case-0", 0)) is None
    assert not read_scores(None)
    assert not read_values(None)


def test_a_reason_that_no_database_can_store_is_cleaned() -> None:
    odd = MetricScore(status="scored", score=1.0, passed=True, reason="half \ud800 and \x00")
    given = sample(judge_metrics={}, scores={"odd": odd})

    assert plain_scores([given]) is None
    assert read_scores(clean_scores(given))["odd"].reason == "half ? and \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["plain", "ünïcode 😀"], True),
        (["a\x00b"], False),
        ([r'{"reason":"a\u0000b"}'], False),
        (["half \ud800"], False),
        ([f"the key {SECRET}"], False),
    ],
)
def test_texts_are_clean_if_every_database_can_store_them_and_they_have_no_secret(
    texts: list[str], *, expected: bool
) -> None:
    REDACTOR.add(SECRET)

    assert is_clean(texts) is expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (sample(judge_metrics={"a": GOOD, "b": FREE}, scores={}), True),
        (sample(judge_metrics={"a": GOOD, "b": BAD}, scores={}), False),
        (sample(judge_metrics={"a": GOOD}, scores={"twice": TWICE}), False),
        (sample(judge_metrics={}, scores={"exact": EXACT, "skipped": SKIPPED}), True),
        (sample(judge_metrics={"b": FREE}, scores={"failed": FAILED}), None),
        (failed_sample("case-0", 0), None),
    ],
)
def test_a_sample_passes_if_all_scores_with_a_mark_to_reach_do(given: SampleResult, *, expected: bool | None) -> None:
    assert all_pass(given) is expected
