"""Which metrics apply to a case, and what a use makes of a score."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from applied import JUDGE, applied_use, plan, scorer, uses_of
from entries import each
from judging import RUBRIC
from scoring import answer, case
from scripted_provider import ScriptedProvider

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Failed, MetricUse, Scored, Scores, Skipped
from prompt_evaluator.pipeline.uses import expected_keys, rubric_key

OTHER_JUDGE = msgspec.structs.replace(JUDGE, model="other/m", identity="other", repeats=3)


def use(metric: str, name: str | None = None, **options: Any) -> MetricUse:
    return MetricUse(metric=metric, name=name, options=options)


def test_one_name_for_two_metrics_is_refused_in_a_sentence() -> None:
    uses = uses_of(plan(use("regex", "x")))

    with pytest.raises(ConfigurationError, match=r"^Two metrics, .*are called 'x': .*another name\.$"):
        uses.of(case(None, use("includes", "x")))


# What applies to a case


def test_the_rubric_comes_first_then_the_runs_metrics_then_those_of_the_case() -> None:
    of = plan(use("is_json"), rubric=RUBRIC)
    on = case(None, use("regex", pattern="a"), use("is_json", fences=True))

    keys = [each.key for each in uses_of(of).of(on)]

    assert keys == ["rubric house", "is_json", "regex"]
    assert expected_keys(of, on) == keys
    assert rubric_key(of) == "rubric house"


async def test_a_metric_of_the_run_is_made_with_the_options_of_the_case() -> None:
    on = case(None, use("includes", phrases=["tea"]))

    (found,) = uses_of(plan(use("includes", phrases=["coffee"], case_sensitive=True))).of(on)

    assert await found.metric.score(on, answer("tea"), None) == Scored(1.0)
    assert await found.metric.score(on, answer("Tea"), None) != Scored(1.0)


async def test_several_checks_of_one_kind_each_have_their_score() -> None:
    on = case(None, use("regex", "tea", pattern="tea"), use("regex", "coffee", pattern="coffee"))

    found = {each.key: await each.metric.score(on, answer("tea"), None) for each in uses_of(plan()).of(on)}

    assert found == {"tea": Scored(1.0, "found 'tea'"), "coffee": Scored(0.0, "no match for 'coffee'")}


def test_equal_uses_are_built_once() -> None:
    uses = uses_of(plan())

    first, second = (uses.of(case(None, use("regex", pattern="a")))[0] for _ in range(2))

    assert first is second


def test_a_use_that_names_a_judge_has_that_one() -> None:
    named, plain = MetricUse(metric="criteria", judge="other/m"), use("faithfulness")

    first, second = uses_of(plan(named, plain, judges={"other/m": OTHER_JUDGE})).common()

    assert (first.judge, first.repeats) == (OTHER_JUDGE, 3)
    assert (second.judge, second.repeats) == (JUDGE, 1)


def test_a_rule_has_no_judge_and_judges_once() -> None:
    found = applied_use(use("is_json"), OTHER_JUDGE)

    assert (found.judge, found.repeats) == (None, 1)


# What becomes of a score


def test_a_judgement_is_kept_under_the_name_of_the_use_with_its_threshold() -> None:
    judgement = applied_use(use("similarity", "close", threshold=0.7)).judgement(Scored(0.8, "so"))

    assert (judgement.metric, judgement.scores, judgement.pass_at) == (
        "close",
        {"close": Scored(0.8, "so")},
        {"close": 0.7},
    )


def test_a_failure_of_a_rubric_is_a_failure_of_each_criterion() -> None:
    (applied,) = uses_of(plan(rubric=RUBRIC)).common()

    assert applied.judgement(Failed("no")).scores == {"clarity": Failed("no"), "trust": Failed("no")}


def test_a_judgement_made_with_another_pass_mark_passes_by_the_current_one() -> None:
    before = applied_use(use("similarity", threshold=0.9)).judgement(Scored(0.8))

    after = applied_use(use("similarity", threshold=0.5)).marked(before)

    assert (after.scores, after.pass_at) == (before.scores, {"similarity": 0.5})


# Negation


def negated(**options: Any) -> Any:
    return applied_use(MetricUse(metric="similarity", negated=True, options=options))


def test_a_negated_score_is_one_minus_the_score() -> None:
    judgement = negated().judgement(Scored(0.25, "so", {"a": 1}))

    assert judgement.scores == {"similarity": Scored(0.75, "so", {"a": 1})}


@each("value", [0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.8, 0.9, 1.0])
@each("threshold", [0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.8, 1.0])
def test_a_negated_metric_passes_exactly_where_the_metric_does_not(threshold: float, value: float) -> None:
    plain = applied_use(use("similarity", threshold=threshold)).judgement(Scored(value))
    other = negated(threshold=threshold).judgement(Scored(value))

    passes = [
        each.scores["similarity"].value >= each.pass_at["similarity"]  # type: ignore[union-attr]
        for each in (plain, other)
    ]

    assert passes in ([True, False], [False, True])


@pytest.mark.parametrize("outcome", [Skipped("no reference"), Failed("broken", kind="ValueError")], ids=str)
def test_a_skipped_or_failed_score_stays_so_when_negated(outcome: Skipped | Failed) -> None:
    assert negated().judgement(outcome).scores == {"similarity": outcome}


async def test_a_negated_metric_is_scored_like_any_other() -> None:
    applied = applied_use(MetricUse(metric="includes", negated=True, options={"phrases": ["tea"]}))

    judgement = await scorer(ScriptedProvider([])).score(applied, case(), answer("tea"), 0)

    assert judgement.scores == {"includes": Scored(0.0)}
    assert judgement.pass_at["includes"] > 0


def test_several_scores_at_once_keep_flags_and_comment() -> None:
    (applied,) = uses_of(plan(rubric=RUBRIC)).common()
    said = Scores(scores={"clarity": Scored(4.0)}, flags={"invented": True}, comment="Fine.")

    judgement = applied.judgement(said)

    assert (judgement.scores, judgement.flags, judgement.comment) == (said.scores, said.flags, said.comment)
