from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from applied import applied_rubric, scorer
from entries import each
from hypothesis import given
from hypothesis import strategies as st
from judging import CASE, GOOD, RUBRIC, SCORES, as_reply, spoiled
from scripted_provider import ScriptedProvider

from prompt_evaluator.metrics.judge_reply import UnreadableReply, read_scores
from prompt_evaluator.model import UNREADABLE, Answer, Criterion, Failed, Judgement, Rubric, Scored, Scores

SCORE = ("metrics", "clarity", "score")
SHOWN_TWICE = GOOD.replace('"score": 4.5', '"score": 1, "score": 4.5')

GARBAGE = {
    "empty": ("", "the reply is empty"),
    "prose": ("I would say this is a decent answer.", "no JSON object"),
    "web page": ("<!DOCTYPE html><html><body>502 {}</body></html>", "web page"),
    "web page with objects": ("<html><script>x = {}</script></html>", "web page"),
    "flat scores": ('{"clarity": 4, "trust": 1}', 'no "metrics"'),
    "verdict inside another object": (f'{{"verdict": {GOOD}}}', 'no "metrics"'),
    "array": (f"[{GOOD}]", "array"),
    "array without an end": (f"[{GOOD}", "ends in the middle"),
    "JSON inside a JSON text": (json.dumps(GOOD), "no JSON object"),
    "Python literal": (str(as_reply()), "no JSON object"),
    "two verdicts": (f"{GOOD}\n{GOOD}", "2 objects"),
    "draft and correction": (f"{spoiled(*SCORE, value=1)}\nOn second thoughts:\n```json\n{GOOD}\n```", "2 objects"),
    "verdict and an empty imitation": (f'{GOOD} {{"metrics": {{}}}}', "2 objects"),
    "verdict after one that broke": (f'{{"metrics": ...}} {GOOD}', "broken at"),
    "verdict inside an object that breaks": (f'{{"draft": {GOOD}, "final": {GOOD[:40]}', "ends in the middle"),
    "cut off before the last brace": (GOOD[:-1], "ends in the middle"),
    "cut off in a fence": (f"```json\n{GOOD[:-30]}", "ends in the middle"),
    "trailing comma": (GOOD[:-1] + ",}", "broken at"),
    "line break in a text": (GOOD.replace("Plain.", "Plain.\nReally."), "control character"),
    "two scores for one metric": (SHOWN_TWICE, 'key "score" occurs twice'),
    "all there, and one flag twice": (GOOD.replace('"flags": {', '"flags": {"invented": true, '), "occurs twice"),
    "metrics twice": (GOOD[:-1] + ', "metrics": {}}', 'key "metrics" occurs twice'),
    "key twice, once escaped": (GOOD[:-1] + r', "\u006detrics": {}}', 'key "metrics" occurs twice'),
    "metric missing": (spoiled("metrics", "trust", drop=True), "metric 'trust' is missing"),
    "metric in other letters": (GOOD.replace('"trust"', '"Trust"'), "metric 'trust' is missing"),
    "metrics as a list": (spoiled("metrics", value=[{"name": "clarity", "score": 4}]), '"metrics" is a list'),
    "score missing": (spoiled(*SCORE, drop=True), "has no score"),
    "score null": (spoiled(*SCORE), "is null, not a number"),
    "score true": (spoiled(*SCORE, value=True), "is true, not a number"),
    "score as a text": (spoiled(*SCORE, value="4"), 'is "4", not a number'),
    "score NaN": (spoiled(*SCORE, value=float("nan")), "NaN"),
    "score Infinity": (spoiled(*SCORE, value=float("inf")), "Infinity"),
    "score beyond all numbers": (GOOD.replace("4.5", "1e999"), "outside its scale"),
    "score of 5,000 digits": (GOOD.replace("4.5", "9" * 5_000), "5,000 digits"),
    "score too high": (spoiled(*SCORE, value=5.01), "5.01, outside its scale of 1 to 5"),
    "score too low": (spoiled("metrics", "trust", "score", value=-2), "outside its scale of -1.5 to 1"),
    "rationale a number": (spoiled("metrics", "clarity", "rationale", value=4), "rationale of 'clarity' is 4"),
    "flags missing": (spoiled("flags", drop=True), "flag 'invented' is missing"),
    "flag missing": (spoiled("flags", "complete", drop=True), "flag 'complete' is missing"),
    "flag as a text": (spoiled("flags", "invented", value="false"), 'is "false", not true or false'),
    "flag as a number": (spoiled("flags", "invented", value=0), "is 0, not true or false"),
    "comment a list": (spoiled("overall_comment", value=[]), '"overall_comment" is a list'),
    "everything wrong": (json.dumps({"metrics": {}, "flags": {}}), "'clarity' is missing; the metric 'trust'"),
    "nested without end": ('{"a":' * 100_000, "levels deep"),
    "lists without end": ("[" * 100_000, "levels deep"),
    "deep in a part that nobody reads": (GOOD[:-1] + ', "x": ' + "[" * 60 + "]" * 60 + "}", "levels deep"),
    "too long": (GOOD + " " * 1_000_000, "longer than"),
    "NUL bytes": ("\0" * 40, "no JSON object"),
}

READABLE = {
    "bare": GOOD,
    "indented": json.dumps(as_reply(), indent=4),
    "fenced": f"```json\n{GOOD}\n```",
    "fenced without a language": f"```\n{GOOD}\n```",
    "in prose": f"Here is my verdict:\n\n{GOOD}\n\nI hope that helps!",
    "after a byte order mark": f"\ufeff{GOOD}",
    "with Windows line ends": json.dumps(as_reply(), indent=1).replace("\n", "\r\n"),
    "with braces in the prose": f"Apart from {{name}}, {{{{x}}}} and [1], [see below], [2, 3 ...]: {GOOD}",
    "beside an object without metrics": f'It called {{"tool": "x"}}. {GOOD}',
    "beside a list": f"Steps [1, 2] and {GOOD}",
    "with a metric and a flag that the rubric does not know": json.dumps(
        as_reply()
        | {
            "metrics": as_reply()["metrics"] | {"charm": {"score": 99}},
            "flags": as_reply()["flags"] | {"nice": "very"},
            "confidence": 0.9,
        }
    ),
}


async def judged(*replies: str) -> Judgement:
    output = Answer(text="Three minutes.", latency_ms=1, model="m")
    return await scorer(ScriptedProvider(replies)).score(applied_rubric(RUBRIC), CASE, output, 0)


@each(("reply", "why"), GARBAGE.values(), ids=GARBAGE)
async def test_a_reply_that_is_not_a_verdict_is_kept_and_explained_and_never_a_score(reply: str, why: str) -> None:
    judgement = await judged(reply, reply)

    assert list(judgement.scores) == [criterion.name for criterion in RUBRIC.metrics]
    assert judgement.raw == reply
    for score in judgement.scores.values():
        assert isinstance(score, Failed)
        assert score.kind == UNREADABLE
        assert why in score.reason
        assert len(score.reason) < 500


@each("reply", READABLE.values(), ids=READABLE)
async def test_text_around_a_verdict_does_not_matter(reply: str) -> None:
    judgement = await judged(reply)

    assert (judgement.scores, judgement.flags, judgement.comment) == (SCORES.scores, SCORES.flags, SCORES.comment)
    assert judgement.raw == reply


def test_a_missing_rationale_or_comment_is_empty() -> None:
    reply = {"metrics": {"clarity": {"score": 5}, "trust": {"score": 1}}, "flags": as_reply()["flags"]}

    found = read_scores(json.dumps(reply), RUBRIC)

    assert found.scores == {"clarity": Scored(5.0, ""), "trust": Scored(1.0, "")}
    assert found.comment == ""


def test_a_rubric_without_flags_needs_none() -> None:
    rubric = Rubric(name="r", metrics=(Criterion(name="c", description="?"),), hash="")

    assert read_scores('{"metrics": {"c": {"score": 3}}}', rubric).flags == {}


@pytest.mark.parametrize("edge", [1, 5, 1.0, 5.0, 4.999999])
def test_both_ends_of_a_scale_are_inside(edge: float) -> None:
    assert read_scores(spoiled(*SCORE, value=edge), RUBRIC).scores["clarity"].value == edge


def test_half_a_character_in_a_rationale_does_not_keep_a_verdict_from_being_stored() -> None:
    found = read_scores(GOOD.replace("Plain.", r"\ud83d and \ud83d\ude00"), RUBRIC)

    assert found.scores["clarity"].reason == "\ufffd and \U0001f600"
    assert msgspec.json.decode(msgspec.json.encode(found), type=Scores) == found


SLOW = {
    "braces": "{",
    "objects that break": '{"a" ',
    "nested objects": '{"a":',
    "brackets": "[1 ",
    "brackets with spaces": "[ ",
    "quotes": '["a ',
    "escapes": '{"\\',
    "empty objects": "{}",
    "small objects": '{"a":1}',
    "lists": "[1]",
    "spaces": "{ \n",
    "flat object": '"a":1,',
}


@each("piece", SLOW.values(), ids=SLOW)
def test_a_megabyte_of_anything_is_refused_soon(piece: str) -> None:
    text = "{" + piece * (999_000 // len(piece)) if piece.endswith(",") else piece * (999_000 // len(piece))

    with pytest.raises(UnreadableReply):
        read_scores(text, RUBRIC)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
near_misses = st.fixed_dictionaries(
    {"metrics": st.fixed_dictionaries({"clarity": json_values, "trust": json_values}) | json_values},
    optional={"flags": json_values, "overall_comment": json_values},
)
pieces = st.sampled_from(
    ["{", "}", "[", "]", '"', ":", ",", "\\", "metrics", '"metrics":', "clarity", "true", "NaN", "1", "-", " ", GOOD]
)
some_texts = (
    st.text()
    | st.lists(pieces, max_size=30).map("".join)
    | near_misses.map(json.dumps)
    | st.tuples(st.integers(0, len(GOOD)), st.integers(0, len(GOOD)), st.text(max_size=3)).map(
        lambda cut: GOOD[: cut[0]] + cut[2] + GOOD[cut[1] :]
    )
)


@given(some_texts)
def test_any_text_is_a_verdict_that_keeps_to_the_rubric_or_unreadable(text: str) -> None:
    try:
        found = read_scores(text, RUBRIC)
    except UnreadableReply:
        return

    assert list(found.scores) == [criterion.name for criterion in RUBRIC.metrics]
    for criterion in RUBRIC.metrics:
        value = found.scores[criterion.name].value
        assert type(value) is float
        assert criterion.min_score <= value <= criterion.max_score
    assert list(found.flags) == [flag.name for flag in RUBRIC.flags]
    assert all(type(value) is bool for value in found.flags.values())
    msgspec.json.encode(found)


@given(some_texts)
def test_a_word_before_the_reply_changes_nothing(text: str) -> None:
    outcomes: list[Scores | None] = []
    for reply in (text, f"Verdict: {text}"):
        try:
            outcomes.append(read_scores(reply, RUBRIC))
        except UnreadableReply:
            outcomes.append(None)

    assert outcomes[0] == outcomes[1]


names = st.text(min_size=1, max_size=12)


@st.composite
def rubrics_and_scores(draw: st.DrawFn) -> tuple[Rubric, Scores]:
    bounds = st.floats(-1e6, 1e6)
    metrics: list[Criterion] = []
    scores: dict[str, Scored] = {}
    for name in draw(st.lists(names, min_size=1, max_size=4, unique=True)):
        low, score, high = sorted(draw(st.tuples(bounds, bounds, bounds)))
        metrics.append(Criterion(name=name, description="?", min_score=low, max_score=high))
        scores[name] = Scored(score, draw(st.text(max_size=30)))
    flags = draw(st.dictionaries(names, st.booleans(), max_size=3))
    rubric: dict[str, Any] = {"name": "r", "metrics": metrics, "hash": ""}
    rubric["flags"] = [{"name": name, "description": "?"} for name in flags]
    found = Scores(scores=scores, flags=flags, comment=draw(st.text(max_size=30)))
    return msgspec.convert(rubric, Rubric), found


prose = st.text(st.characters(exclude_characters="{["), max_size=60) | st.sampled_from(
    ["{x} ", "[1] ", "[a]", "{{", "<b>"]
)
fences = st.sampled_from(
    [("", ""), ("```json\n", "\n```"), ("```\n", "```"), ("<answer>", "</answer>"), ("\n\n", "\n")]
)


spellings = st.fixed_dictionaries({"indent": st.sampled_from([None, 2]), "ensure_ascii": st.booleans()})


@given(rubrics_and_scores(), prose, prose, fences, spellings)
def test_a_verdict_reads_back_with_any_text_around_it(
    pair: tuple[Rubric, Scores], before: str, after: str, fence: tuple[str, str], spelling: dict[str, Any]
) -> None:
    rubric, scores = pair
    written = json.dumps(as_reply(scores), **spelling)

    assert read_scores(f"{before}{fence[0]}{written}{fence[1]}{after}", rubric) == scores
