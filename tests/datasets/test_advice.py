"""Help for authors of datasets: what to write instead, and how many problems there are."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest
from entries import each

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import InputError, InputNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.datasets.conftest import Write

SEVEN = """\
- id: a
  inptu: x
- id: b
  input: "   "
- id: c
  input: [a, b]
- id: 5
  input: x
- idd: d
  input: x
- id: b
  input: fine
- id: e
"""


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        open_dataset(path)
    return str(caught.value)


@pytest.mark.parametrize("blank", ["''", "'   '", "|\n    \n", '"\\t\\n"', '"\\u3000"'])
def test_a_blank_input_is_as_wrong_as_an_empty_one(write: Write, blank: str) -> None:
    assert "input field validation failed: it is " in refusal(write("d.yaml", f"- id: a\n  input: {blank}"))


def test_a_blank_input_is_refused_in_jsonl_too(write: Write) -> None:
    with pytest.raises(ValueError, match="line 1: input field validation failed: it is blank"):
        load_dataset(write("d.jsonl", '{"id": "a", "input": " \\n"}'))


@each(
    ("fields", "advice"),
    [
        ("input: [a, b]", "Write one text instead of the list; `messages` is for a conversation."),
        ("input: [a]", "Write the text alone, without a list around it; `messages` is for a conversation."),
        ("input: {a: b}", "Write one text instead of the mapping."),
        ("input: 7", "Write it in quotes."),
        (
            "input: x\n  reference: [a, b]",
            "Write one text instead of the list; `references` is for several good answers, or leave it out.",
        ),
        ("input: x\n  task: [a]", "Write the text alone, without a list around it, or leave it out."),
    ],
)
def test_advice_fits_what_was_written_in_the_place_of_a_text(write: Write, fields: str, advice: str) -> None:
    assert refusal(write("d.yaml", f"- id: a\n  {fields}")).endswith(advice)


def test_a_file_with_seven_problems_says_how_many_and_who_lists_them(write: Write) -> None:
    path = write("seven.yaml", SEVEN)
    whole = f"This is the first of 7; `prompt-evaluator validate {path}` lists all."

    with pytest.raises(InputError) as caught:
        load_dataset(path)

    assert survey(path).problem_count == 7
    assert refusal(path).endswith(f"Add input, a non-empty text. {whole}")
    assert str(caught.value) == refusal(path)


def test_a_file_with_one_problem_does_not_count(write: Write) -> None:
    assert "first of" not in refusal(write("one.yaml", "- id: a"))


def test_the_first_problem_is_the_first_in_the_file(write: Write) -> None:
    lines = ['{"id": "a", "input": "x"}', '{"id": "a", "input": "y"}', '{"id": "b"}']

    assert "d.jsonl: Duplicate test case ID 'a' found at line 2" in refusal(write("d.jsonl", "\n".join(lines)))


def test_counting_the_problems_of_a_large_file_takes_little_memory(write: Write) -> None:
    text = "".join(f'{{"id": "case-{n}", "input": "{"x" * 200}"}}\n' for n in range(50_000))
    path = write("d.jsonl", '{"id": "a"}\n' + text + '{"id": "b"}\n')
    tracemalloc.start()

    sentence = refusal(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert "first of 2;" in sentence
    assert most < 40 * 1024 * 1024  # two bitmaps of ids, 16 MB each, and a block of lines


@pytest.mark.parametrize("name", ["d.yaml", "d.jsonl"])
def test_a_duplicate_is_found_although_its_first_holder_is_invalid(write: Write, name: str) -> None:
    records = ['{"id": "a"}', '{"id": "b", "input": "x"}', '{"id": "a", "input": "y"}']
    text = "\n".join(records) if name == "d.jsonl" else "[" + ",\n".join(records) + "]"

    missing, twice = survey(write(name, text)).problems

    assert "missing required field: input" in str(missing)
    assert "Duplicate test case ID 'a' found at" in str(twice)
    assert twice.line == 3


def test_ids_that_are_wrong_themselves_are_no_duplicates(write: Write) -> None:
    found = survey(write("d.jsonl", '{"id": "", "input": "x"}\n{"id": "", "input": "x"}\n{"id": 7, "input": "x"}'))

    assert [problem.field for problem in found.problems] == ["id", "id", "id"]


def test_a_promptfoo_configuration_is_told_from_other_mappings(write: Write) -> None:
    theirs = refusal(write("p.yaml", "prompts: [p.txt]\nproviders: [openai:gpt-4o]\ntests:\n- vars: {q: x}"))
    other = refusal(write("d.yaml", "cases:\n- id: a"))

    assert "is a promptfoo configuration. Write each of its `tests` as a case with `id` and `input`" in theirs
    assert "a mapping with 'cases', not a list of cases. These shapes work: " in other


def test_a_mapping_names_five_of_its_keys_and_how_many_more(write: Write) -> None:
    text = "\n".join(f"k{n}: 1" for n in range(17))

    assert "a mapping with 'k0', 'k1', 'k2', 'k3', 'k4' and 12 more, not" in refusal(write("d.yaml", text))


def test_a_file_that_is_not_there_suggests_the_one_beside_it(write: Write, tmp_path: Path) -> None:
    path = write("support.yaml", "- id: a\n  input: x")

    with pytest.raises(InputNotFoundError) as caught:
        load_dataset(tmp_path / "suport.yaml")

    assert str(caught.value).endswith(f"Did you mean {path}?")


def test_a_required_signal_may_list_alternatives(write: Write) -> None:
    path = write("d.json", '[{"prompt": "x", "mustInclude": ["a", ["b", "c"]]}]')

    (case,) = open_dataset(path).cases

    assert case.checks[0].options == {"phrases": ["a", ["b", "c"]]}


@pytest.mark.parametrize(
    ("task", "why"),
    [
        ('"mustInclude": [[]]', "item 0 is an empty list of alternatives"),
        ('"mustInclude": ["a", ["b", " "]]', "item 1 has the alternative an empty text, not a text with content"),
        ('"mustInclude": [["b", ["c"]]]', "item 0 has the alternative a list"),
        ('"hallucinationTriggers": [["a"]]', "item 0 is a list, not a text with content"),
    ],
)
def test_alternatives_that_cannot_be_used_are_refused(write: Write, task: str, why: str) -> None:
    assert why in refusal(write("d.json", f'[{{"prompt": "x", {task}}}]'))
