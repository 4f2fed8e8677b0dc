from __future__ import annotations

from typing import Any, get_args

import pytest
from applied import applied_use, plan, scorer, uses_of
from entries import each
from hypothesis import assume, given
from hypothesis import strategies as st
from scoring import answer, case, metric
from scripted_judge import ScriptedJudge
from scripted_provider import ScriptedProvider

from prompt_evaluator.metrics.matching import check_matchers, matches
from prompt_evaluator.metrics.options import ExpectedTool
from prompt_evaluator.metrics.tools import Mode, decide
from prompt_evaluator.model import Failed, Message, MetricUse, Scored, Skipped, TestCase, ToolCall

MODES: tuple[Mode, ...] = get_args(Mode)


def want(name: str, args: dict[str, Any] | None = None) -> ExpectedTool:
    return ExpectedTool(name, args)


def call(name: str, arguments: dict[str, Any] | str | None = None) -> ToolCall:
    return ToolCall(name=name, arguments={} if arguments is None else arguments)


A, B, C = want("a"), want("b"), want("c")
BY_MODE: list[tuple[str, str, dict[str, float]]] = [
    # expected, made, and the score by mode; a letter is a tool
    ("ab", "ab", {"exact": 1, "ordered": 1, "unordered": 1, "subset": 1}),
    ("ab", "ba", {"exact": 0.5, "ordered": 0.5, "unordered": 1, "subset": 1}),
    ("ab", "axb", {"exact": 2 / 3, "ordered": 1, "unordered": 2 / 3, "subset": 1}),
    ("ab", "a", {"exact": 0.5, "ordered": 0.5, "unordered": 0.5, "subset": 0.5}),
    ("ab", "", {"exact": 0, "ordered": 0, "unordered": 0, "subset": 0}),
    ("", "", {"exact": 1, "ordered": 1, "unordered": 1, "subset": 1}),
    ("", "a", {"exact": 0, "ordered": 0, "unordered": 0, "subset": 0}),
    ("aa", "a", {"exact": 0.5, "ordered": 0.5, "unordered": 0.5, "subset": 0.5}),
    ("a", "aa", {"exact": 0.5, "ordered": 1, "unordered": 0.5, "subset": 1}),
    ("abc", "cab", {"exact": 2 / 3, "ordered": 2 / 3, "unordered": 1, "subset": 1}),
    ("abc", "xyz", {"exact": 0, "ordered": 0, "unordered": 0, "subset": 0}),
]


@each("mode", MODES)
@each(("expected", "made", "by_mode"), BY_MODE, ids=lambda each: each if isinstance(each, str) else "")
def test_a_mode_says_what_order_and_extra_calls_mean(
    expected: str, made: str, by_mode: dict[str, float], mode: Mode
) -> None:
    verdict = decide([want(name) for name in expected], [call(name) for name in made], mode)

    assert verdict.value == pytest.approx(by_mode["unordered" if mode == "any_order" else mode])
    assert bool(verdict.reason) == (verdict.value < 1)


ARGUMENTS: list[tuple[Any, Any, bool]] = [
    (1, 1.0, True),
    (1, 2, False),
    (True, 1, False),
    (0, False, False),
    ("1", 1, False),
    ("a", "a", True),
    ("a", "A", False),
    (None, None, True),
    (None, 0, False),
    ([1, 2], [1, 2], True),
    ([1, 2], [2, 1], False),
    ([1], [1, 2], False),
    ({"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 2}]}, True),
    ({"a": 1}, {"a": 1, "b": 2}, False),
    ({"a": 1, "b": 2}, {"a": 1}, False),
    ({}, {}, True),
    ({}, [], False),
    ({"$any": True}, None, True),
    ({"$any": True}, {"x": 1}, True),
    ({"a": {"$any": True}}, {}, False),
    ({"$contains": "ea"}, "tea", True),
    ({"$contains": "EA"}, "tea", False),
    ({"$contains": 2}, [1, 2], True),
    ({"$contains": {"$approx": 2}}, [1, 2.0], True),
    ({"$contains": "k"}, {"k": 1}, True),
    ({"$contains": "1"}, 1, False),
    ({"$approx": 3.1, "$tolerance": 0.1}, 3.2, True),
    ({"$approx": 3.1, "$tolerance": 0.1}, 3.3, False),
    ({"$approx": 3}, 3.0000001, True),
    ({"$approx": 3}, 3.1, False),
    ({"$approx": 1, "$tolerance": 5}, True, False),
    ({"$approx": 1}, "1", False),
    ({"$approx": 1.5}, 10**400, False),
    ({"$regex": r"^\d+$"}, "123", True),
    ({"$regex": r"^\d+$"}, "12a", False),
    ({"$regex": "1"}, 1, False),
    ({"$regex": "^t", "$contains": "ea"}, "tea", True),
    ({"$regex": "^x", "$contains": "ea"}, "tea", False),
    ({"$exact": {"$gt": 5}}, {"$gt": 5}, True),
    ({"$exact": {"$any": True}}, {"$any": True}, True),
    ({"$exact": {"$any": True}}, 1, False),
    ({"$exact": [1]}, [True], False),
    ([{"$any": True}, {"x": {"$contains": "a"}}], [5, {"x": "bab"}], True),
]


@each(("expected", "actual", "fits"), ARGUMENTS)
def test_arguments_are_compared_as_json_and_by_matchers(expected: Any, actual: Any, fits: bool) -> None:  # noqa: FBT001
    check_matchers(expected)

    assert matches(expected, actual) is fits


@each(
    ("wrong", "part"),
    [
        ({"$contians": "x"}, "Did you mean '\\$contains'"),
        ({"x": [{"$gt": 5}]}, "write {'\\$exact'"),
        ({"$approx": "3"}, "must be numbers"),
        ({"$approx": 3, "$tolerance": -1}, "must not be negative"),
        ({"$tolerance": 1}, "needs"),
        ({"$regex": "("}, "not a valid regular expression"),
        ({"$contains": {"$aprox": 1}}, "'\\$approx'"),
    ],
)
def test_a_mistake_in_a_matcher_is_found_before_it_is_used(wrong: Any, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        check_matchers(wrong)


def test_narrow_expectations_are_not_robbed_by_wide_ones() -> None:
    expected = [want("a"), want("a", {"x": 1})]

    assert decide(expected, [call("a", {"x": 1}), call("a", {"x": 2})], "unordered").value == 1
    assert decide(expected, [call("a", {"x": 2}), call("a", {"x": 1})], "exact").value == 1


@each(
    ("expected", "made", "mode", "reason"),
    [
        ([A, B], [call("a")], "ordered", "missing: 'b'"),
        ([A], [call("a"), call("x")], "exact", "extra: 'x'"),
        ([A, B], [call("b"), call("a")], "ordered", "out of order: 'a'"),
        ([], [call("x")], "ordered", "no call was expected; made: 'x'"),
        (
            [want("a", {"city": "Lisbon", "n": 1})],
            [call("a", {"city": "Porto"})],
            "ordered",
            "wrong arguments: 'a' (city: expected 'Lisbon', got 'Porto'; n: expected 1, got nothing)",
        ),
        (
            [want("a", {"x": 1})],
            [call("a", '{"x": 1')],
            "subset",
            "wrong arguments: 'a' (arguments: expected {'x': 1}, got '{\"x\": 1')",
        ),
        (
            [A, want("b", {"x": 1}), C],
            [call("b", {"x": 2}), call("c"), call("y")],
            "exact",
            "missing: 'a'; wrong arguments: 'b' (x: expected 1, got 2); extra: 'y'",
        ),
    ],
)
def test_the_reason_lists_what_is_missing_wrong_and_too_much(
    expected: list[ExpectedTool], made: list[ToolCall], mode: Mode, reason: str
) -> None:
    assert decide(expected, made, mode).reason == reason


def test_expected_without_arguments_takes_any_and_unreadable_ones_are_wrong_otherwise() -> None:
    assert decide([A], [call("a", {"x": 1})], "exact").value == 1
    assert decide([want("a", {})], [call("a", {"x": 1})], "exact").value == 0
    assert decide([want("a", {})], [call("a", "nope")], "exact").value == 0


def test_only_texts_that_differ_are_left_undecided() -> None:
    texts, numbers = want("a", {"q": "tea", "n": 1}), call("a", {"q": "tea", "n": 2})
    similar = call("a", {"q": "a tea", "n": 1})

    open_question = decide([texts, B], [similar], "ordered")

    assert open_question.undecided == [(texts, similar)]
    assert (open_question.value, open_question.best) == (0, 0.5)
    assert decide([texts], [numbers], "ordered").undecided == []
    assert decide([want("a", {"q": {"$contains": "x"}})], [call("a", {"q": "y"})], "ordered").undecided == []


ARGS = st.none() | st.dictionaries(st.sampled_from("xy"), st.integers(0, 1) | st.sampled_from(["p", "q"]), max_size=2)
CALLS = st.lists(
    st.tuples(st.sampled_from("abc"), st.dictionaries(st.sampled_from("xy"), st.integers(0, 1))), max_size=6
)


def _wanted(calls: list[tuple[str, dict[str, Any]]]) -> list[ExpectedTool]:
    return [want(name, args) for name, args in calls]


def _made(calls: list[tuple[str, dict[str, Any]]]) -> list[ToolCall]:
    return [call(name, args) for name, args in calls]


@given(CALLS, CALLS)
def test_the_strict_modes_are_symmetric(left: list[Any], right: list[Any]) -> None:
    assume(left and right)

    for mode in ("exact", "unordered"):
        assert decide(_wanted(left), _made(right), mode).value == decide(_wanted(right), _made(left), mode).value


@given(CALLS, CALLS)
def test_each_mode_is_1_exactly_when_its_words_hold(left: list[Any], right: list[Any]) -> None:
    assume(left)
    value = {mode: decide(_wanted(left), _made(right), mode).value for mode in MODES}
    rest = iter(right)
    same = len(left) == len(right) and all(left.count(item) == right.count(item) for item in left)

    assert (value["exact"] == 1) == (left == right)
    assert (value["ordered"] == 1) == all(item in rest for item in left)
    assert (value["unordered"] == 1) == same
    assert (value["subset"] == 1) == all(left.count(item) <= right.count(item) for item in left)
    assert value["exact"] <= value["ordered"] <= value["subset"]
    assert value["exact"] <= value["unordered"] <= value["subset"]


@given(st.lists(st.tuples(st.sampled_from("ab"), ARGS), max_size=5), CALLS, st.sampled_from(MODES))
def test_scores_are_between_0_and_1_and_judging_can_only_raise_them(
    expected: list[Any], made: list[Any], mode: Mode
) -> None:
    verdict = decide([want(*item) for item in expected], _made(made), mode)

    assert 0 <= verdict.value <= verdict.best <= 1


@given(CALLS, CALLS, st.randoms(use_true_random=False))
def test_order_does_not_matter_where_it_should_not(left: list[Any], right: list[Any], random: Any) -> None:
    shuffled = list(right)
    random.shuffle(shuffled)

    for mode in ("unordered", "subset"):
        assert decide(_wanted(left), _made(right), mode).value == decide(_wanted(left), _made(shuffled), mode).value


async def test_the_metric_reads_what_the_case_expects() -> None:
    plain = metric("tool_correctness")
    made = answer("", call("b"), call("a", {"x": 1}))

    assert await plain.score(case(expected_tools=["a"]), made, None) == Scored(
        1.0, "", {"decided_by": "rules", "mode": "ordered", "tools": "derived"}
    )
    assert await plain.score(case(), made, None) == Skipped("the case lists no expected tools")


async def test_calls_and_their_order_are_two_uses_side_by_side() -> None:
    calls = MetricUse(
        metric="tool_correctness", name="calls", options={"expected_tools": [{"name": "a", "args": {"x": 1}}]}
    )
    order = MetricUse(metric="tool_correctness", name="order", options={"expected_tools": ["a", "b"]})
    on = case(None, calls, order)
    made = answer("", call("b"), call("a", {"x": 1}))
    details = {"decided_by": "rules", "mode": "ordered", "tools": "derived"}

    found = {use.key: await use.metric.score(on, made, None) for use in uses_of(plan()).of(on)}

    assert found == {"calls": Scored(1.0, "", details), "order": Scored(0.5, "out of order: 'a'", details)}


async def test_a_pattern_that_explodes_on_arguments_is_a_failure() -> None:
    hard = metric("tool_correctness", expected_tools=[{"name": "a", "args": {"x": {"$regex": r"^(a|a)*$"}}}])

    found = await hard.score(case(), answer("", call("a", {"x": "a" * 60 + "b"})), None)

    assert isinstance(found, Failed)
    assert found.kind == "TimedOut"


def test_many_calls_are_compared_in_time() -> None:
    calls = [(name, {"x": number}) for number in range(150) for name in "ab"]

    assert decide(_wanted(calls), _made(calls[::-1]), "unordered").value == 1


WANTED = {"expected_tools": [{"name": "a", "args": {"q": "tea"}}, {"name": "b"}]}
OPEN = metric("tool_correctness", **WANTED, use_judge=True)
NEARLY = answer("", call("a", {"q": "green tea"}))


@pytest.mark.parametrize(("mark", "expected"), [(0, 0.0), (3, 0.3), (10, 0.5)])
async def test_a_judge_decides_within_what_the_rules_leave_open(mark: int, expected: float) -> None:
    judge = ScriptedJudge({"reason": "Much the same.", "score": mark})

    found = await OPEN.score(case(), NEARLY, judge)

    assert OPEN.needs_judge
    assert isinstance(found, Scored)
    assert found.value == pytest.approx(expected)
    assert found.reason.startswith("missing: 'b'; wrong arguments: 'a'")
    assert found.reason.endswith("Much the same.")
    assert found.details["decided_by"] == "judge"
    assert found.details["method"] == "samples"


async def test_a_judge_is_not_asked_what_the_rules_know() -> None:
    judge = ScriptedJudge()

    assert await OPEN.score(case(), answer("", call("a", {"q": "tea"}), call("b")), judge) == Scored(
        1.0, "", {"decided_by": "rules", "mode": "ordered"}
    )
    assert isinstance(await OPEN.score(case(), answer("", call("x")), judge), Scored)
    assert judge.asked == []


async def test_a_judge_that_gives_no_mark_is_a_failure_and_without_one_the_rules_decide() -> None:
    assert isinstance(await OPEN.score(case(), NEARLY, ScriptedJudge("no", "no")), Failed)
    assert isinstance(await OPEN.score(case(), NEARLY, None), Scored)


async def test_a_use_that_names_a_judge_asks_it() -> None:
    provider = ScriptedProvider(['{"reason": "Much the same.", "score": 10}'])
    use = MetricUse(metric="tool_correctness", judge="openai/gpt-4o", options=WANTED)

    judgement = await scorer(provider).score(applied_use(use), case(), NEARLY, 0)

    assert len(provider.asked) == 1
    assert isinstance(found := judgement.scores["tool_correctness"], Scored)
    assert found.details["decided_by"] == "judge"


async def test_a_judge_of_tool_calls_sees_the_whole_conversation() -> None:
    turns = (Message("user", "I like green tea."), Message("assistant", "Noted."), Message("user", "Order it."))
    judge = ScriptedJudge({"reason": "Yes.", "score": 10})

    await OPEN.score(TestCase(id="a", input="Order it.", messages=turns), NEARLY, judge)

    assert "user: I like green tea.\n\nassistant: Noted.\n\nuser: Order it." in judge.asked[0].messages[-1].content


async def test_a_judge_of_tool_calls_is_told_to_check_the_order() -> None:
    judge = ScriptedJudge({"reason": "Yes.", "score": 10})

    await OPEN.score(case(), NEARLY, judge)

    assert "4. Check the order where one call needs the result of another" in judge.asked[0].messages[0].content
