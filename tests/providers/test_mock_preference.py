"""The mock as a judge of two answers."""

from __future__ import annotations

from random import Random

import pytest

from prompt_evaluator.metrics.preference import Preference
from prompt_evaluator.model import Answer, Message, Request, Scored, TestCase
from prompt_evaluator.providers.mock.preference import is_preference
from prompt_evaluator.providers.mock.provider import MockOptions, MockProvider

CASE = TestCase(id="tea", input="How long should green tea steep?", reference="Two to three minutes at 80 degrees.")
GOOD = "It should steep two to three minutes at 80 degrees."
POOR = "It depends on several things that I cannot go into."


class Judge:
    """The mock, as metrics ask it."""

    def __init__(self, model: str = "default") -> None:
        self._provider, self._model = MockProvider("mock", MockOptions()), model

    async def ask(self, messages: tuple[Message, ...], *, schema: object = None, **_: object) -> Answer:
        request = Request(model=self._model, messages=messages, response_schema=schema, temperature=0.0, case=CASE)  # type: ignore[arg-type]
        return await self._provider.answer(request, 10)


def said(text: str) -> Answer:
    return Answer(text=text, latency_ms=1, model="m")


async def preferred(ours: str, theirs: str, first: str, model: str = "default") -> float:
    metric = Preference(first=first, rival=said(theirs))  # type: ignore[arg-type]
    score = await metric.score(CASE, said(ours), Judge(model))
    assert isinstance(score, Scored)
    return score.value


@pytest.mark.parametrize("first", ["candidate", "baseline"])
async def test_the_better_answer_is_preferred_in_either_place(first: str) -> None:
    assert await preferred(GOOD, POOR, first) == 1
    assert await preferred(POOR, GOOD, first) == 0


async def test_the_same_question_gets_the_same_reply() -> None:
    replies = {await preferred(f"{GOOD} Really.", GOOD, "candidate") for _ in range(5)}

    assert len(replies) == 1


async def test_neither_place_is_preferred() -> None:
    rng, firsts, pairs = Random(3), 0.0, 400
    for number in range(pairs):
        words = [f"word{rng.randint(0, 999)}" for _ in range(6)]
        firsts += await preferred(" ".join(words), f"{' '.join(reversed(words))} {number}", "candidate")

    assert 0.42 < firsts / pairs < 0.58


async def test_orders_usually_agree() -> None:
    agree = 0
    for number in range(200):
        ours, theirs = f"Answer {number} says this.", f"Something else is said in {number}."
        both = [await preferred(ours, theirs, first) for first in ("candidate", "baseline")]
        agree += both[0] == both[1]

    assert 120 < agree < 200


def test_other_questions_are_not_taken_for_a_preference() -> None:
    assert not is_preference({"properties": {"better": {"type": "string"}}})
    assert not is_preference({"properties": {"verdict": {"enum": ["1", "2", "tie"]}}})
    assert not is_preference({})
    assert is_preference({"properties": {"better": {"enum": ["1", "2", "tie"]}}})
