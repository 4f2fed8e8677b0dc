"""One judgement: what is kept on the way, when judging stops, and what becomes of an exception."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from applied import JUDGE, applied, applied_rubric, scorer
from entries import each
from judging import CASE, GOOD, RUBRIC
from scoring import answer, case
from scripted_provider import ScriptedProvider
from scripted_provider import answer as reply

from prompt_evaluator.errors import BadReplyError, BudgetSpentError, CircuitOpenError, RateLimitedError, StoreError
from prompt_evaluator.model import Answer, Failed, MetricUse, Score, Scored, Scores, Secret, Skipped, TestCase, Unit
from prompt_evaluator.pipeline.scoring import Replies
from prompt_evaluator.pipeline.uses import AppliedMetric

OUTPUT = answer("Three minutes.")
BAD = ["Looks good!"] * 2
"""Two replies that cannot be read: one judgement."""
MARK = '{"reason": "Fine.", "score": 8}'
FAITHFUL = applied("faithfulness")
CONTEXT = case(context=["Green tea steeps for three minutes."])
STEPS = (
    '{"claims": ["It takes three minutes."]}',
    '{"truths": ["Three minutes."]}',
    '{"verdicts": [{"number": 1, "reason": "So.", "verdict": "yes"}]}',
)


class Custom:
    """Somebody's metric, which does what it is told."""

    name = "custom"
    needs_judge = False
    threshold = 1.0

    def __init__(self, does: Any) -> None:
        self._does = does

    def definition(self) -> dict[str, Any]:
        return {"metric": self.name}

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the port's signature
        return None

    async def prepared(self, judge: object) -> Custom:  # noqa: ARG002 - the port's signature
        return self

    async def score(self, case: TestCase, answer: Answer, judge: object) -> Score:  # noqa: ARG002 - the port's signature
        if isinstance(self._does, BaseException):
            raise self._does
        found: Score = self._does
        return found


async def custom(does: Any) -> Score:
    metric = Custom(does)
    used = AppliedMetric.of(MetricUse(metric="custom"), metric, None)
    return (await scorer(ScriptedProvider([])).score(used, CASE, OUTPUT, 0)).scores["custom"]


# What a metric does wrong


async def test_an_exception_is_a_failure_with_its_class_and_message() -> None:
    assert await custom(ValueError("no such thing")) == Failed("ValueError: no such thing", kind="ValueError")


async def test_an_exception_without_a_message_says_so() -> None:
    assert await custom(KeyError()) == Failed("KeyError: no message", kind="KeyError")


async def test_known_secrets_are_masked_in_a_failure() -> None:
    Secret("sk-very-secret-indeed")

    found = await custom(RuntimeError("refused key sk-very-secret-indeed"))

    assert found == Failed("RuntimeError: refused key [secret]", kind="RuntimeError")


async def test_a_providers_error_needs_no_class_before_its_sentence() -> None:
    found = await custom(RateLimitedError("not now.", provider="p"))

    assert found == Failed("p: not now.", kind="RateLimitedError")


@pytest.mark.parametrize(
    "error",
    [BudgetSpentError("spent"), StoreError("full"), CircuitOpenError("stopped", provider="p")],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_that_ends_the_run_is_not_a_failure_of_a_metric(error: Exception) -> None:
    with pytest.raises(type(error)):
        await custom(error)


@each(
    "returned",
    [Scored(float("nan")), Scored(1.5), Scored(-0.1), None, 0.5],
    ids=["nan", "above", "below", "none", "bare"],
)
async def test_anything_that_is_not_a_score_is_a_failure(returned: Any) -> None:
    found = await custom(returned)

    assert isinstance(found, Failed)
    assert found.kind == "InvalidScore"


@pytest.mark.parametrize("returned", [Scored(1.0, "\ud800"), Scored(1.0, "", {"a": object()})], ids=["text", "details"])
async def test_a_score_that_cannot_be_stored_is_a_failure(returned: Scored) -> None:
    assert isinstance(await custom(returned), Failed)


async def test_a_failure_can_be_stored_with_any_message() -> None:
    found = await custom(ValueError("half \ud83d"))

    assert found == Failed("ValueError: half ?", kind="ValueError")
    assert msgspec.json.encode(found)


# When judging has become pointless


async def test_twenty_unreadable_judgements_in_a_row_stop_the_run_and_say_why() -> None:
    judging = scorer(ScriptedProvider(BAD * 20))
    for _ in range(20):
        await judging.score(applied_rubric(RUBRIC), CASE, OUTPUT, 0)

    with pytest.raises(CircuitOpenError) as caught:
        await judging.score(applied_rubric(RUBRIC), CASE, OUTPUT, 0)

    assert str(caught.value) == (
        "scripted/m: stopped after 20 unreadable replies in a row, the last: The judge's reply cannot be "
        'used: there is no JSON object in the reply, which begins with "Looks good!". Try another judge model.'
    )


async def test_a_readable_judgement_resets_the_count() -> None:
    provider = ScriptedProvider([*BAD * 19, GOOD, *BAD * 19, GOOD])
    judging = scorer(provider)

    for _ in range(40):
        await judging.score(applied_rubric(RUBRIC), CASE, OUTPUT, 0)

    assert len(provider.asked) == 78


async def test_what_failed_calls_to_a_judge_have_cost_is_kept_with_the_judgement() -> None:
    billed = BadReplyError("no text.", provider="scripted")
    billed.cost = 0.25

    judgement = await scorer(ScriptedProvider([billed])).score(applied_rubric(RUBRIC), CASE, OUTPUT, 0)

    assert judgement.failed is not None
    assert judgement.failed_cost == 0.25


async def test_failures_of_another_kind_do_not_count() -> None:
    down = [RateLimitedError("not now.", provider="scripted")] * 30
    judging = scorer(ScriptedProvider([*BAD * 19, *down, GOOD]))

    judgements = [await judging.score(applied_rubric(RUBRIC), CASE, OUTPUT, 0) for _ in range(50)]

    assert judgements[-1].failed is None


async def test_failures_of_another_kind_do_not_reset_the_count() -> None:
    down = RateLimitedError("not now.", provider="scripted")
    judging = scorer(ScriptedProvider([*BAD * 10, down, *BAD * 10]))
    for _ in range(21):
        await judging.score(applied_rubric(RUBRIC), CASE, OUTPUT, 0)

    with pytest.raises(CircuitOpenError):
        await judging.score(applied_rubric(RUBRIC), CASE, OUTPUT, 0)


async def test_rules_go_on_while_a_judge_cannot_be_read() -> None:
    judging = scorer(ScriptedProvider(BAD * 20))
    for _ in range(20):
        await judging.score(applied_rubric(RUBRIC), CASE, OUTPUT, 0)

    judgement = await judging.score(applied("is_json"), CASE, answer("{}"), 0)

    assert judgement.scores == {"is_json": Scored(1.0)}


async def test_another_judge_has_its_own_count() -> None:
    judging = scorer(ScriptedProvider([*BAD * 20, GOOD]))
    for _ in range(20):
        await judging.score(applied_rubric(RUBRIC), CASE, OUTPUT, 0)

    judgement = await judging.score(applied_rubric(RUBRIC, model="other/m"), CASE, OUTPUT, 0)

    assert judgement.failed is None


async def test_metrics_of_one_judge_are_counted_together() -> None:
    judging = scorer(ScriptedProvider(BAD * 20))
    for _ in range(10):
        await judging.score(applied_rubric(RUBRIC), CASE, OUTPUT, 0)
        await judging.score(applied("correctness", steps=["Compare."]), CASE, OUTPUT, 0)

    with pytest.raises(CircuitOpenError):
        await judging.score(FAITHFUL, CONTEXT, OUTPUT, 0)


# What a judge is asked


async def test_several_questions_about_one_answer_have_numbers_and_seeds_of_their_own() -> None:
    provider = ScriptedProvider([MARK] * 3)

    await scorer(provider).score(applied("correctness", steps=["Compare."], samples=3), CASE, OUTPUT, 2)

    assert [request.sample for request in provider.asked] == [2, 1002, 2002]
    assert [request.seed for request in provider.asked] == [42, 1042, 2042]
    assert [request.top_logprobs for request in provider.asked] == [20, 20, 20]


async def test_a_judges_own_parameters_are_passed_on() -> None:
    provider = ScriptedProvider([MARK])
    config = msgspec.structs.replace(JUDGE, params={"top_p": 0.5})

    await scorer(provider).score(applied("correctness", config, steps=["Compare."]), CASE, OUTPUT, 0)

    assert provider.asked[0].options == {"top_p": 0.5}


async def test_every_reply_to_a_metric_in_steps_is_recorded_without_its_text() -> None:
    judgement = await scorer(ScriptedProvider(STEPS)).score(FAITHFUL, CONTEXT, OUTPUT, 0)

    assert judgement.replies == (reply(""),) * 3
    assert judgement.raw == STEPS[-1]
    assert isinstance(judgement.scores["faithfulness"], Scored)


# What is kept on the way


class Kept:
    """Replies as a run keeps them."""

    def __init__(self) -> None:
        self.units: dict[bytes, Unit] = {}

    def replies(self, judgement: str = "j") -> Replies:
        return Replies(judgement, self.units, self._put)

    def _put(self, name: bytes, data: bytes) -> None:
        self.units[name] = Unit(case_id="a", name=name, kind="reply", sample=0, ok=True, data=data)


async def test_a_metric_that_was_cut_off_between_two_questions_goes_on_where_it_was() -> None:
    kept = Kept()
    down = RateLimitedError("not now.", provider="scripted")
    broken = await scorer(ScriptedProvider([*STEPS[:2], down])).score(FAITHFUL, CONTEXT, OUTPUT, 0, kept.replies())
    provider = ScriptedProvider(STEPS[2:])

    judgement = await scorer(provider).score(FAITHFUL, CONTEXT, OUTPUT, 0, kept.replies())

    assert broken.failed is not None
    assert len(provider.asked) == 1
    assert isinstance(judgement.scores["faithfulness"], Scored)
    assert len(judgement.replies) == 3


async def test_the_last_reply_is_not_kept_because_the_score_follows_at_once() -> None:
    kept = Kept()

    await scorer(ScriptedProvider(STEPS)).score(FAITHFUL, CONTEXT, OUTPUT, 0, kept.replies())

    assert len(kept.units) == 2


async def test_replies_to_one_judgement_are_not_mistaken_for_those_to_another() -> None:
    kept = Kept()
    await scorer(ScriptedProvider(STEPS)).score(FAITHFUL, CONTEXT, OUTPUT, 0, kept.replies("one"))
    provider = ScriptedProvider(STEPS)

    await scorer(provider).score(FAITHFUL, CONTEXT, OUTPUT, 0, kept.replies("other"))

    assert len(provider.asked) == 3


@each(
    "returned",
    [
        Scored(0.5, None),  # type: ignore[arg-type]
        Scored(0.5, "x", [1]),  # type: ignore[arg-type]
        Skipped(None),  # type: ignore[arg-type]
        Failed(3),  # type: ignore[arg-type]
        Scores(scores={"custom": 0.5}),  # type: ignore[dict-item]
        Scores(scores={"other": Scored(0.5)}),
    ],
    ids=[
        "no reason",
        "a list of details",
        "skipped without words",
        "failed with a number",
        "bare",
        "other names",
    ],
)
async def test_a_score_that_could_not_be_read_back_is_a_failure_at_once(returned: Any) -> None:
    found = await custom(returned)

    assert isinstance(found, Failed)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Failed) == found


async def test_leaving_the_program_is_a_failure_of_the_metric() -> None:
    assert await custom(SystemExit(3)) == Failed("SystemExit: 3", kind="SystemExit")


async def test_an_exception_that_cannot_even_say_what_is_wrong_is_a_failure() -> None:
    class Mute(Exception):  # noqa: N818 - somebody's own
        def __str__(self) -> str:
            raise RuntimeError("never")

    assert await custom(Mute()) == Failed("Mute: its message cannot be read", kind="Mute")
