"""What a judge writes once for a metric."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from applied import JUDGE, applied, applied_rubric, applied_use
from entries import each
from judging import RUBRIC
from scripted_provider import ScriptedProvider, answer

from prompt_evaluator.errors import BadReplyError, RateLimitedError
from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.model import MetricUse, Preparation, Unit
from prompt_evaluator.pipeline.naming import preparation_name
from prompt_evaluator.pipeline.preparing import Preparer
from prompt_evaluator.pipeline.scoring import RecordedJudge

if TYPE_CHECKING:
    from prompt_evaluator.pipeline.uses import AppliedMetric

STEPS = ["Look for insults.", "Weigh them."]
WRITTEN = json.dumps({"steps": STEPS})
KIND = applied("criteria", criteria="Is it kind?")
DOWN = RateLimitedError("not now.", provider="scripted")


class Units:
    """A ledger that is found again by every run."""

    def __init__(self) -> None:
        self.put_units: list[Unit] = []

    def put(self, unit: Unit, done: object = None) -> None:  # noqa: ARG002 - the port's signature
        self.put_units.append(unit)

    async def wait_for_capacity(self) -> None:
        """There always is some."""

    def find(self, name: bytes) -> Unit | None:
        return next((unit for unit in self.put_units if unit.name == name), None)

    def preparations(self) -> list[Preparation]:
        return [msgspec.json.decode(unit.data, type=Preparation) for unit in self.put_units]


def preparer(*replies: Any, units: Units | None = None) -> tuple[Preparer, ScriptedProvider]:
    provider, units = ScriptedProvider(replies), units or Units()

    def judge(config: Any) -> RecordedJudge:
        return RecordedJudge(provider, config, "m", None)

    return Preparer(judge, build_metric, units.find, units), provider


def steps_of(made: AppliedMetric) -> list[str]:
    return list(made.metric.definition()["steps"])


async def test_steps_are_asked_for_once_however_often_the_metric_is_used() -> None:
    preparing, provider = preparer(WRITTEN)

    made = [await preparing.ready(KIND) for _ in range(3)]

    assert len(provider.asked) == 1
    assert [steps_of(each) for each in made] == [STEPS] * 3
    assert made[0] is made[2]


async def test_steps_are_asked_for_once_even_if_several_samples_need_them_at_once() -> None:
    preparing, provider = preparer(WRITTEN)

    made = await asyncio.gather(*(preparing.ready(KIND) for _ in range(5)))

    assert len(provider.asked) == 1
    assert all(steps_of(each) == STEPS for each in made)


async def test_two_uses_of_one_definition_and_judge_share_their_steps() -> None:
    preparing, provider = preparer(WRITTEN)
    uses = [
        applied_use(MetricUse(metric="criteria", name=name, options={"criteria": "Is it kind?"}))
        for name in ("kind", "polite")
    ]

    made = await asyncio.gather(*map(preparing.ready, uses))

    assert len(provider.asked) == 1
    assert [each.key for each in made] == ["kind", "polite"]
    assert all(steps_of(each) == STEPS for each in made)


async def test_the_threshold_of_each_use_stays_its_own() -> None:
    preparing, _ = preparer(WRITTEN)

    loose = await preparing.ready(applied("criteria", criteria="Is it kind?", threshold=0.2))
    strict = await preparing.ready(applied("criteria", criteria="Is it kind?", threshold=0.9))

    assert (loose.metric.threshold, strict.metric.threshold) == (0.2, 0.9)


@pytest.mark.parametrize(
    "other",
    [
        applied("criteria", criteria="Is it short?"),
        applied("correctness"),
        applied("criteria", msgspec.structs.replace(JUDGE, model="other/m"), criteria="Is it kind?"),
    ],
    ids=["criteria", "metric", "judge"],
)
async def test_another_definition_or_judge_gets_its_own_steps(other: AppliedMetric) -> None:
    preparing, provider = preparer(WRITTEN, WRITTEN)

    await preparing.ready(KIND)
    await preparing.ready(other)

    assert len(provider.asked) == 2


async def test_what_another_run_prepared_is_found_and_not_asked_for() -> None:
    units = Units()
    await preparer(WRITTEN, units=units)[0].ready(KIND)
    preparing, provider = preparer(units=units)

    made = await preparing.ready(KIND)

    assert provider.asked == []
    assert steps_of(made) == STEPS


async def test_what_was_found_is_kept_with_this_run_as_reused_and_unpaid() -> None:
    units = Units()
    await preparer(WRITTEN, units=units)[0].ready(KIND)
    await preparer(units=units)[0].ready(KIND)

    first, second = units.preparations()

    assert (first.reused, first.replies) == (False, (answer(""),))
    assert (second.reused, second.replies) == (True, ())
    assert first.options == second.options == {"steps": STEPS}


async def test_a_preparation_is_stored_under_its_name_without_a_case() -> None:
    units = Units()

    await preparer(WRITTEN, units=units)[0].ready(KIND)

    (unit,) = units.put_units
    assert (unit.case_id, unit.kind, unit.ok) == ("", "preparation", True)
    assert unit.name == preparation_name(KIND.metric, JUDGE)


async def test_judgements_are_named_by_what_was_prepared() -> None:
    preparing, _ = preparer(WRITTEN)

    made = await preparing.ready(KIND)

    assert made.digest != KIND.digest
    assert made.digest == applied("criteria", criteria="Is it kind?", steps=STEPS).digest


async def test_a_stored_preparation_is_known_without_asking() -> None:
    units = Units()
    preparing, provider = preparer(WRITTEN, units=units)

    before = preparing.known(KIND)
    made = await preparing.ready(KIND)

    assert before is KIND
    assert preparing.known(KIND) is made
    assert preparer(units=units)[0].known(KIND).digest == made.digest
    assert len(provider.asked) == 1


@each(
    "made",
    [applied_rubric(RUBRIC), applied("faithfulness"), applied("is_json"), applied("criteria", steps=STEPS)],
    ids=["rubric", "no steps", "rule", "steps given"],
)
async def test_a_metric_with_nothing_to_prepare_is_ready_as_it_is(made: AppliedMetric) -> None:
    units = Units()
    preparing, provider = preparer(units=units)

    assert await preparing.ready(made) is made
    assert preparing.known(made) is made
    assert (provider.asked, units.put_units) == ([], [])


async def test_a_judge_that_writes_nothing_usable_is_an_error_and_only_its_price_is_kept() -> None:
    units = Units()

    with pytest.raises(BadReplyError, match="No evaluation steps for criteria"):
        await preparer("No.", "No.", units=units)[0].ready(KIND)

    (unit,) = units.put_units
    assert not unit.ok
    assert len(msgspec.json.decode(unit.data, type=Preparation).replies) == 2


async def test_a_judge_that_writes_nothing_usable_is_not_asked_again_for_every_sample() -> None:
    preparing, provider = preparer("No.", "No.", WRITTEN)

    for _ in range(3):
        with pytest.raises(BadReplyError, match="No evaluation steps for criteria"):
            await preparing.ready(KIND)

    assert len(provider.asked) == 2


async def test_after_an_error_the_judge_is_asked_again() -> None:
    preparing, provider = preparer(DOWN, WRITTEN)
    with pytest.raises(RateLimitedError):
        await preparing.ready(KIND)

    assert steps_of(await preparing.ready(KIND)) == STEPS
    assert len(provider.asked) == 2
