"""Several values in one text are told apart, and a value that has a comma is not broken."""

from __future__ import annotations

import json

from entries import each
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.model.several import split_pairs, split_words


@each(
    ("text", "words"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        (" a , b ,", ["a", "b"]),
        (",", []),
        ("", []),
        ('"a,b",c', ["a,b", "c"]),
        ('"a,b"', ["a,b"]),
        ('c, "a, \\"b\\""', ["c", 'a, "b"']),
        ('5" screen,b', ['5" screen', "b"]),
        ('"open,b', ['"open', "b"]),
        ("python:targets:bad,mock/b", ["python:targets:bad", "mock/b"]),
    ],
)
def test_words_are_separated_by_commas_outside_of_quotes(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@each(
    ("text", "pairs"),
    [
        ("topic=tea", ["topic=tea"]),
        ("topic=tea,level>=3", ["topic=tea", "level>=3"]),
        ("topic=tea , level!=3", ["topic=tea", "level!=3"]),
        ("city=Paris, France", ["city=Paris, France"]),
        ("city=Paris, France,level=3", ["city=Paris, France", "level=3"]),
        ("a=b,c", ["a=b,c"]),
        ("note=we like tea, and b=c", ["note=we like tea, and b=c"]),
        ('"note=a,b=c",team=x', ["note=a,b=c", "team=x"]),
        ('stop=["a","b=c"],top_p=0.5', ['stop=["a","b=c"]', "top_p=0.5"]),
        ('stop=["a", "x,y=1"]', ['stop=["a", "x,y=1"]']),
        ('bias={"1": 2, "k=": 3}', ['bias={"1": 2, "k=": 3}']),
        ('title="a, b=c",x=1', ['title="a, b=c"', "x=1"]),
        ("title=[draft],topic=tea", ["title=[draft]", "topic=tea"]),
        ("level", ["level"]),
        ("", []),
        ("stop=\n", ["stop=\n"]),
    ],
)
def test_pairs_are_separated_only_where_the_next_pair_follows(text: str, pairs: list[str]) -> None:
    assert split_pairs(text) == pairs


@given(st.lists(st.text(min_size=1).filter(lambda text: text == text.strip()), max_size=4))
def test_words_in_double_quotes_may_contain_anything(words: list[str]) -> None:
    assert split_words(",".join(map(json.dumps, words))) == words


@given(st.from_regex(r"\A[a-z.]{1,5}(=|!=|>=|<|~)[^\n]{0,12}\Z"))
def test_a_pair_in_double_quotes_stays_one(pair: str) -> None:
    assert split_pairs(json.dumps(pair)) == [pair]
