"""What scripted judges say: verdicts, marks and log-probabilities, in no metric's own spelling.

Each script goes to DeepEval (`deepeval_oracle.py`) and, in our shapes, to our metrics (`tests/metrics`). A script with
`differs` is one where we differ on purpose: it says why, and docs/decisions/0006-llm-metrics.md lists it.
"""

from __future__ import annotations

import math
from random import Random
from typing import Any

Script = dict[str, Any]

_VERDICTS = {
    "faithfulness": ("yes", "no", "idk"),
    "answer_relevancy": ("yes", "no", "idk"),
    "contextual_precision": ("yes", "no"),
    "contextual_recall": ("yes", "no"),
    "contextual_relevancy": ("yes", "no"),
}
_RANDOM_SCRIPTS = 10
_EMPTY_REPLY = "an empty list is no verdict on a text that is there: asked again, then a failure"
_VOCABULARY = "a verdict outside the vocabulary is not dropped: asked again, then a failure"
_COUNT = "every text needs its verdict: asked again, then a failure"
_SCALE = "a mark outside the scale is asked again, then a failure"


def scripts() -> dict[str, list[Script]]:
    """By metric."""
    listed = {metric: _hand_written(metric) + _drawn(metric) for metric in _VERDICTS}
    return listed | {"correctness": _marks() + _drawn_marks()}


def _hand_written(metric: str) -> list[Script]:
    found = [
        _judged("all yes", "yes yes yes"),
        _judged("all no", "no no no"),
        _judged("one yes", "yes"),
        _judged("one no", "no"),
        _judged("good first", "yes yes no no"),
        _judged("good last", "no no yes yes"),
        _judged("in turns", "yes no yes no yes"),
        _judged("in capitals and with blanks", "Yes| NO |YES|yes "),
        _judged("sevenths", "yes no no yes no no no"),
        _judged("out of the vocabulary", "yes maybe no", differs=_VOCABULARY),
        _judged("a verdict with its reason", "yes|no, it is about tea|yes", differs=_VOCABULARY),
    ]
    more = {
        "faithfulness": _faithfulness,
        "answer_relevancy": _answer_relevancy,
        "contextual_precision": _contextual_precision,
        "contextual_recall": _contextual_recall,
        "contextual_relevancy": _contextual_relevancy,
    }
    return found + more[metric]()


def _faithfulness() -> list[Script]:
    strict = {"strict_idk": True}
    return [
        _judged("no claims", ""),
        _judged("no claims, strict", "", options=strict),
        _judged("all idk", "idk idk idk"),
        _judged("all idk, strict", "idk idk idk", options=strict),
        _judged("mixed", "yes idk no idk yes"),
        _judged("mixed, strict", "yes idk no idk yes", options=strict),
        _judged("borderline is idk", "yes borderline no"),
        _judged("borderline is idk, strict", "yes Borderline no", options=strict),
        _judged("no truths", "idk yes", truths=[]),
        _judged("few truths", "yes no", options={"truths_limit": 1}),
        _judged("fewer verdicts than claims", "yes no", texts=3, differs=_COUNT),
    ]


def _answer_relevancy() -> list[Script]:
    return [
        _judged("no statements", ""),
        _judged("all idk", "idk idk idk"),
        _judged("mixed", "yes idk no idk yes"),
        _judged("borderline is idk", "yes Borderline no"),
        _judged("more verdicts than statements", "yes no no", texts=2, differs=_COUNT),
    ]


def _contextual_precision() -> list[Script]:
    return [
        _judged("only the last", "no no no no yes"),
        _judged("only the first", "yes no no no no"),
        _judged("first and last", "yes no no no yes"),
        _judged("no verdicts", "", texts=2, differs=_EMPTY_REPLY),
        _judged("fewer verdicts than passages", "yes", texts=2, differs=_COUNT),
    ]


def _contextual_recall() -> list[Script]:
    return [_judged("no verdicts", "", differs=_EMPTY_REPLY)]


def _contextual_relevancy() -> list[Script]:
    return [
        _judged("no statements", ""),
        _judged("two passages", "yes no", "no no yes"),
        _judged("a passage without statements", "yes no no", "", "yes"),
        _judged("three passages without statements", "", "", ""),
    ]


def _judged(name: str, *groups: str, **more: Any) -> Script:
    """Verdicts as words, or between bars where a verdict is more than a word; several groups for several passages."""
    said = [group.split("|") if "|" in group else group.split() for group in groups]
    return {"name": name, "verdicts": said[0] if len(said) == 1 else said, **more}


def _drawn(metric: str) -> list[Script]:
    rng = Random(f"scripts of {metric}")
    drawn = []
    for number in range(1, _RANDOM_SCRIPTS + 1):
        verdicts = rng.choices(_VERDICTS[metric], k=rng.randint(2, 40))
        options = {"strict_idk": True} if metric == "faithfulness" and number % 2 else {}
        drawn.append({"name": f"drawn {number}", "verdicts": verdicts} | ({"options": options} if options else {}))
    return drawn


def _marks() -> list[Script]:
    most = math.log(0.01)
    return [
        *({"name": f"{mark} without log-probabilities", "score": mark} for mark in (0, 1, 5, 7, 10, 7.5, 8.0)),
        _weighted("sure", 8, {"8": 0.0}),
        _weighted("two digits", 8, {"8": -0.3, "7": -1.6}),
        _weighted("several digits", 7, {"7": -0.9, "8": -1.1, "6": -2.0, "9": -3.0, "5": -4.0}),
        _weighted("ten", 10, {"10": -0.5, "9": -1.2, "8": -2.5}),
        _weighted("zero", 0, {"0": -0.1, "1": -2.6}),
        _weighted("words beside digits", 6, {"6": -0.4, " six": -1.5, "six": -2.0, "5": -2.2}),
        _weighted("digits with a blank do not count", 6, {"6": -0.4, " 7": -1.2, "7 ": -2.0}),
        _weighted("below one per cent", 6, {"6": -0.05, "1": -4.7, "0": -9.0}),
        _weighted("at one per cent", 6, {"6": -0.05, "1": most}),
        _weighted("just below one per cent", 6, {"6": -0.05, "1": math.nextafter(most, -9)}),
        _weighted("only noise", 6, {"6": -5.0, "7": -6.0}),
        _weighted("only words", 6, {"six": -0.1}),
        _weighted("no alternatives", 6, {}),
        _weighted("the token itself is not among them", 6, {"7": -0.7, "5": -1.0}),
        _weighted("other digits of the same number", 8, {"8": -0.7, "08": -2.0, "\uff18": -2.5, "7": -1.5}),
        _weighted("a fraction is no token", 7.5, {"7.5": -0.1, "8": -2.0}, token="7"),
        _weighted("a whole number with a point is no token", 8.0, {"8": -0.1, "7": -2.4}, token="8"),
        _weighted("the token has a blank", 8, {" 8": -0.1, "7": -2.4}, token=" 8"),
        _weighted("negative and signed", 3, {"3": -0.6, "-1": -1.0, "+4": -1.5}),
        _weighted("the mark stands in the reason too", 4, {"4": -0.4, "5": -1.2}, before="All 4 points; "),
        _weighted("the mark stands in the reason twice", 2, {"2": -0.4, "3": -1.2}, before="2 of 2: "),
        _weighted(
            "beyond the scale",
            9,
            {"9": -0.5, "10": -1.5, "11": -2.5, "100": -3.0},
            differs="a number that cannot be a mark does not count",
        ),
        _weighted(
            "the mark stands in prose behind",
            4,
            {"4": -0.4, "5": -1.2},
            behind="\nThat is 4 of 10.",
            differs="the token behind the score's key counts, not the last one like it",
        ),
        {"name": "above the scale", "score": 12, "differs": _SCALE},
        {"name": "below the scale", "score": -1, "differs": _SCALE},
    ]


def _weighted(name: str, score: float, top: dict[str, float], **more: Any) -> Script:
    """A reply of one token per word, where `top` might have stood in the mark's place."""
    token, before, behind = more.pop("token", str(score)), more.pop("before", ""), more.pop("behind", "")
    lead = [*_tokens(f'{{"reason": "{before}Fine.", "score":'), *([" "] if not token.startswith(" ") else [])]
    written = f" {score}" if token.startswith(" ") else str(score)
    rest = _tokens(written.removeprefix(token) + "}" + behind)
    tokens = [[each, {each: -0.01, "4": -1.0}] for each in lead] + [[token, top]]
    return {
        "name": name,
        "score": score,
        "tokens": tokens + [[each, {each: -0.01, "9": -2.0}] for each in rest],
        **more,
    }


def _tokens(text: str) -> list[str]:
    """Digits stand alone, as real tokenisers have it."""
    tokens: list[str] = []
    for character in text:
        if tokens and not character.isdigit() and not tokens[-1].isdigit() and not character.isspace():
            tokens[-1] += character
        else:
            tokens.append(character)
    return tokens


def _drawn_marks() -> list[Script]:
    rng = Random("scripts of correctness")
    drawn = []
    for number in range(1, 2 * _RANDOM_SCRIPTS + 1):
        score = rng.randint(0, 10)
        others = rng.sample([n for n in range(11) if n != score], rng.randint(0, 8))
        left, top = 1.0, {}
        for mark in (score, *others):
            chance = left * rng.uniform(0.1, 0.9)
            left -= chance
            top[str(mark)] = math.log(chance)
        drawn.append(_weighted(f"drawn {number}", score, top))
    return drawn
