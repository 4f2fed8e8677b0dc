"""What units are called: golden values, because every other name would be paid for again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from applied import JUDGE, applied, applied_rubric, applied_use, plan
from entries import each
from judging import RUBRIC

from prompt_evaluator.model import (
    Answer,
    Criterion,
    JudgeConfig,
    Message,
    MetricUse,
    PromptRef,
    Rubric,
    Target,
    TestCase,
    ToolCall,
)
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.naming import generation_name, preparation_name, unit_name

if TYPE_CHECKING:
    from prompt_evaluator.pipeline.uses import AppliedMetric

CASE = TestCase(
    id="tea",
    input="How long should green tea steep?",
    description="Brewing.",
    task="Answer in one sentence.",
    expected_constraints="No brand names.",
    reference="Two to three minutes.",
    references=("Up to three minutes.",),
    metadata={"context": ["Green tea steeps for three minutes."], "owner": "ann"},
    file="/data/tea.yaml",
    line=7,
)
ANSWER = Answer(text="Three minutes.", latency_ms=12.0, model="m")
TARGET = Target(
    model="openai/m",
    identity="openai|https://x",
    temperature=0.7,
    max_tokens=100,
    seed=10,
    params={"top_p": 0.9},
    prompt=PromptRef(path=None, hash="0", text="Be brief."),
)
RULE = applied("includes", phrases=["three"])
JUDGED = applied("correctness", steps=["Compare.", "Weigh."])
RUBRIC_METRIC = applied_rubric(RUBRIC)
ALL = {"rule": RULE, "judged": JUDGED, "rubric": RUBRIC_METRIC}
ASKING_A_JUDGE = {"judged": JUDGED, "rubric": RUBRIC_METRIC}


def asked(case: TestCase = CASE, sample: int = 0, attempt: int = 0, **target: Any) -> str:
    changed = msgspec.structs.replace(TARGET, **target)
    request = RequestBuilder(changed, "m").request(case, sample, attempt)
    return generation_name(plan(target=changed), request).hex()


def named(applied: AppliedMetric, case: TestCase = CASE, answer: Answer = ANSWER, *place: int) -> str:
    return applied.name(case, answer, *(place or (0, 0, 0))).hex()


def case_with(**changes: Any) -> TestCase:
    return msgspec.structs.replace(CASE, **changes)


# Golden values


def test_the_name_of_an_answer() -> None:
    assert asked() == "e79fa5440c6395070455ff4eeed74d1f"


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("rule", "51880cfb6248fd94bd18a02d4e326286"),
        ("judged", "98ea4609288010cff8755d8c8fca0356"),
        ("rubric", "8ae83cfa0252d461946c10d2abfcf7e3"),
    ],
)
def test_the_name_of_a_judgement(metric: str, name: str) -> None:
    assert named(ALL[metric]) == name


def test_the_name_of_a_named_and_negated_use() -> None:
    use = MetricUse(metric="includes", name="short", negated=True, options={"phrases": ["three"]})

    assert named(applied_use(use)) == "88b58b1fa02b974c300d0322ea954229"


def test_the_name_of_a_preparation() -> None:
    kind = applied("criteria", criteria="Is it kind?")

    assert preparation_name(kind.metric, JUDGE).hex() == "c13af5f2335e654e14367cab3cec180d"


def test_the_name_of_a_reply() -> None:
    request = RequestBuilder(TARGET, "m").request(CASE, 0)

    assert unit_name("reply to 00ff", "scripted", request).hex() == "99bf872629a693cdbb353e07b090da1a"


# What names an answer


@pytest.mark.parametrize(
    "changes",
    [
        {"input": "How hot?"},
        {"messages": (Message("user", "How hot?"),)},
        {"metadata": CASE.metadata | {"tools": [{"name": "brew"}]}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_another_question_is_another_answer(changes: dict[str, Any]) -> None:
    assert asked(case_with(**changes)) != asked()


@each(
    "target",
    [
        {"identity": "openai|https://y"},
        {"temperature": 0.1},
        {"max_tokens": 101},
        {"seed": 11},
        {"params": {"top_p": 0.8}},
        {"params": {"top_p": 0.9, "stop": ["x"]}},
        {"prompt": None},
        {"template": "Please: {{input}}"},
        {"context_template": "{{context}} {{input}}"},
    ],
    ids=lambda target: next(iter(target)),
)
def test_another_way_to_ask_is_another_answer(target: dict[str, Any]) -> None:
    assert asked(**target) != asked()


def test_each_sample_and_each_attempt_is_another_answer() -> None:
    names = {asked(sample=sample, attempt=attempt) for sample in range(3) for attempt in range(3)}

    assert len(names) == 9


@each(
    "changes",
    [
        {"id": "other"},
        {"description": "Other."},
        {"reference": "Other."},
        {"references": ()},
        {"file": None},
        {"line": 8},
        {"metadata": CASE.metadata | {"owner": "bob"}},
        {"checks": (MetricUse(metric="is_json"),)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_fields_that_are_not_sent_are_not_part_of_an_answers_name(changes: dict[str, Any]) -> None:
    assert asked(case_with(**changes)) == asked()


# What names a judgement


@pytest.mark.parametrize("metric", ALL)
def test_the_file_and_line_of_a_case_do_not_matter(metric: str) -> None:
    assert named(ALL[metric], case_with(file="/elsewhere.yaml", line=70)) == named(ALL[metric])


@each("metric", ALL)
@each(
    "changes",
    [
        {"input": "Other?"},
        {"task": "Other."},
        {"expected_constraints": None},
        {"reference": "Other."},
        {"references": ()},
        {"messages": (Message("user", "Hot?"), Message("assistant", "Yes."), Message("user", CASE.input))},
        {"metadata": CASE.metadata | {"context": ["Other."]}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_a_metric_sees_of_a_case_is_part_of_the_name(metric: str, changes: dict[str, Any]) -> None:
    assert named(ALL[metric], case_with(**changes)) != named(ALL[metric])


@each("metric", ASKING_A_JUDGE)
@each(
    "changes",
    [
        {"id": "other"},
        {"description": "Other."},
        {"metadata": CASE.metadata | {"owner": "bob"}},
        {"checks": (MetricUse(metric="is_json"),)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_fields_a_judge_is_not_shown_are_not_part_of_the_name(metric: str, changes: dict[str, Any]) -> None:
    assert named(ALL[metric], case_with(**changes)) == named(ALL[metric])


@each("metric", ALL)
@each(
    "changes",
    [{"text": "Four."}, {"tool_calls": (ToolCall(name="brew", arguments={}),)}],
    ids=lambda changes: next(iter(changes)),
)
def test_the_answer_is_part_of_the_name(metric: str, changes: dict[str, Any]) -> None:
    assert named(ALL[metric], CASE, msgspec.structs.replace(ANSWER, **changes)) != named(ALL[metric])


@pytest.mark.parametrize("metric", ASKING_A_JUDGE)
def test_latency_is_not_part_of_the_name_for_a_judge(metric: str) -> None:
    slow = msgspec.structs.replace(ANSWER, latency_ms=99.0, tries=3, cost=1.0)

    assert named(ALL[metric], CASE, slow) == named(ALL[metric])


@pytest.mark.parametrize("metric", ALL)
def test_sample_attempt_and_repeat_are_part_of_the_name(metric: str) -> None:
    places = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]

    assert len({named(ALL[metric], CASE, ANSWER, *place) for place in places}) == 4


@each(
    "judge",
    [
        {"model": "other/m"},
        {"identity": "other"},
        {"temperature": 0.5},
        {"max_tokens": 7},
        {"seed": 41},
        {"params": {"top_p": 0.5}},
    ],
    ids=lambda judge: next(iter(judge)),
)
def test_the_judge_and_its_settings_are_part_of_the_name(judge: dict[str, Any]) -> None:
    other = msgspec.structs.replace(JUDGE, **judge)

    assert named(applied("correctness", other, steps=["Compare.", "Weigh."])) != named(JUDGED)
    assert named(applied_rubric(RUBRIC, **judge)) != named(RUBRIC_METRIC)


def test_the_number_of_repeats_is_not_part_of_the_name() -> None:
    assert named(applied_rubric(RUBRIC, repeats=5)) == named(RUBRIC_METRIC)


def test_a_judges_instructions_name_judgements_by_a_rubric_alone() -> None:
    told = JudgeConfig(**msgspec.structs.asdict(JUDGE) | {"system_prompt": "Be harsh."})

    assert named(applied_rubric(RUBRIC, system_prompt="Be harsh.")) != named(RUBRIC_METRIC)
    assert named(applied("correctness", told, steps=["Compare.", "Weigh."])) == named(JUDGED)


def test_the_judge_is_not_part_of_a_rules_name() -> None:
    assert named(applied("includes", None, phrases=["three"])) == named(RULE)


def test_an_option_is_part_of_the_name_and_a_threshold_is_not() -> None:
    assert named(applied("includes", phrases=["three"], whole_words=True)) != named(RULE)
    assert named(applied("includes", phrases=["three"], threshold=0.5)) == named(RULE)
    assert named(applied("correctness", steps=["Compare.", "Weigh."], threshold=0.9)) == named(JUDGED)


def changed_rubric(**criterion: Any) -> Rubric:
    first, *rest = RUBRIC.metrics
    changed: Criterion = msgspec.structs.replace(first, **criterion)
    return msgspec.structs.replace(RUBRIC, metrics=(changed, *rest))


def test_a_pass_mark_is_not_part_of_the_name() -> None:
    assert named(applied_rubric(changed_rubric(pass_at=2))) == named(RUBRIC_METRIC)


def test_a_rubrics_name_is_not_part_of_the_name_but_its_words_are() -> None:
    assert named(applied_rubric(msgspec.structs.replace(RUBRIC, name="other", hash="1"))) == named(RUBRIC_METRIC)
    assert named(applied_rubric(changed_rubric(guidelines="Other."))) != named(RUBRIC_METRIC)


def test_two_uses_of_one_metric_have_two_names() -> None:
    options = {"phrases": ["three"]}
    uses = [
        MetricUse(metric="includes", options=options),
        MetricUse(metric="includes", name="loose", options=options | {"threshold": 0.5}),
        MetricUse(metric="includes", name="strict", options=options | {"threshold": 1.0}),
        MetricUse(metric="includes", negated=True, options=options),
    ]

    assert len({named(applied_use(use)) for use in uses}) == 4


def test_a_use_that_spells_out_the_metrics_own_name_is_the_same() -> None:
    assert named(applied_use(MetricUse(metric="includes", name="includes", options={"phrases": ["three"]}))) == named(
        RULE
    )


# What names a preparation and a reply


def test_a_preparation_is_named_by_definition_and_judge_and_not_by_threshold() -> None:
    kind, loose = applied("criteria", criteria="Kind?"), applied("criteria", criteria="Kind?", threshold=0.1)
    short, other = applied("criteria", criteria="Short?"), msgspec.structs.replace(JUDGE, model="other/m")

    name = preparation_name(kind.metric, JUDGE)

    assert preparation_name(loose.metric, JUDGE) == name
    assert preparation_name(short.metric, JUDGE) != name
    assert preparation_name(kind.metric, other) != name


def test_a_reply_is_named_by_its_judgement_who_is_asked_and_the_question() -> None:
    request = RequestBuilder(TARGET, "m").request(CASE, 0)
    other = RequestBuilder(TARGET, "m").request(CASE, 1)

    names = {
        unit_name("reply to 00", "scripted", request),
        unit_name("reply to 01", "scripted", request),
        unit_name("reply to 00", "other", request),
        unit_name("reply to 00", "scripted", other),
    }

    assert len(names) == 4
