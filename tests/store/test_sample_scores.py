"""The scores of a sample are one text in its row, and say what they said."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from case_results import JUDGES, case_result, failed_sample, run_result, sample, stats
from stores import give_scores_rows, sql

from prompt_evaluator.model import REDACTOR, TestCase
from prompt_evaluator.model.result import CriterionScore, MetricScore, RepeatResult
from prompt_evaluator.store.result_rows import FinishedCase
from prompt_evaluator.store.sample_scores import all_pass, clean_scores, plain_scores, read_scores, read_values
from prompt_evaluator.store.texts import is_clean
from prompt_evaluator.store.upkeep import UpkeepStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.result import SampleResult
    from prompt_evaluator.store import Store

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


def test_scores_of_an_earlier_version_read_as_they_did(
    store: Store, record: Callable[..., RunRecord], location: Path | str
) -> None:
    store.create_run(record(RUN, num_samples=4), [TestCase(id=f"case-{at}", input="x") for at in range(3)])
    samples = (
        sample("case-0", 0, judge_metrics={"clarity": GOOD}, scores={"exact": EXACT, "skipped": SKIPPED}),
        sample("case-0", 1, judge_metrics={"clarity": BAD}, scores={"exact": FAILED, "ü": TWICE}),
        sample("case-0", 2, judge_metrics={"clarity": FREE}, judge_repeats=repeated(2.0, None, 4.0), scores={}),
        failed_sample("case-0", 3),
    )
    case = case_result("case-0", samples=samples, per_metric_stats={"clarity": stats(5.0, 1.0, 3.0)})
    broken = case_result("case-1", samples=(failed_sample("case-1", 0),), per_metric_stats={})
    store.replace_results(RUN, [(0, case), (1, broken)], run_result, judges=JUDGES)
    before = [store.case_detail(RUN, f"case-{at}") for at in range(3)]
    flat, passed = list(store.flat_rows(RUN)), store.passed_samples(RUN)
    sums = store.judged_sums(RUN)
    store.close()
    give_scores_rows(location)
    sql(location, "UPDATE alembic_version SET version_num = '0013'")

    with closing(UpkeepStore.open(location, upgrade="always")) as upgraded:
        made = [FinishedCase(0, case, JUDGES), FinishedCase(1, broken, JUDGES)]
        assert upgraded.different_rows(RUN, range(3), made) == set()
        after = [upgraded.case_detail(RUN, f"case-{at}") for at in range(3)]
        assert after == before
        assert list(upgraded.flat_rows(RUN)) == flat
        assert (upgraded.passed_samples(RUN), upgraded.judged_sums(RUN)) == (passed, sums)
    assert len(before[0].samples[1].scores) == 3
    assert passed == 1
