"""Markdown of models as data: what is understood, and that nothing is lost, clickable or slow."""

from __future__ import annotations

import pytest
from entries import each
from hostile import HOSTILE
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.reports.markdown_reading import Block, Line, Run, read_line, read_markdown

ANSWER = """# Your refund

You were **charged *twice*** for `order-42`.
See [the policy](https://example.test/policy).

1. Open *Orders*
   - press **Refund**
2. Wait

> Three to five
> working days.

| when | what |
| --- | :-: |
| today | refund |

```python
print("**not bold**")
```

---
"""


def words(line: Line) -> str:
    return "".join(run.text for run in line)


def every_line(blocks: list[Block]) -> list[Line]:
    lines = [line for block in blocks for line in (*block.lines, *(item.line for item in block.items))]
    return lines + [cell for block in blocks for row in block.rows for cell in row]


def test_an_answer_is_read_from_top_to_bottom() -> None:
    blocks = read_markdown(ANSWER)

    assert [block.kind for block in blocks] == ["heading", "paragraph", "list", "quote", "table", "code", "rule"]
    heading, paragraph, entries, quote, table, code, _ = blocks
    assert (heading.level, words(heading.lines[0])) == (1, "Your refund")
    assert [words(line) for line in paragraph.lines] == [
        "You were charged twice for order-42.",
        "See the policy (https://example.test/policy).",
    ]
    assert [(item.depth, item.marker, words(item.line)) for item in entries.items] == [
        (0, "1.", "Open Orders"),
        (1, "•", "press Refund"),
        (0, "2.", "Wait"),
    ]
    assert [words(line) for line in quote.lines] == ["Three to five", "working days."]
    assert [[words(cell) for cell in row] for row in table.rows] == [["when", "what"], ["today", "refund"]]
    assert code.text == 'print("**not bold**")'


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("a **b** c", [Run("a "), Run("b", frozenset({"strong"})), Run(" c")]),
        ("*a `b`*", [Run("a ", frozenset({"emphasis"})), Run("b", frozenset({"emphasis", "code"}))]),
        ("~~a~~", [Run("a", frozenset({"struck"}))]),
        ("snake_case_name and 2 * 3 * 4", [Run("snake_case_name and 2 * 3 * 4")]),
        (r"\*a\*", [Run("*"), Run("a"), Run("*")]),
        ("![x](https://example.test/t.png)", [Run("x"), Run(" (https://example.test/t.png)")]),
        ("`**a**`", [Run("**a**", frozenset({"code"}))]),
    ],
)  # fmt: skip
def test_styles_within_a_line(text: str, runs: list[Run]) -> None:
    assert [*read_line(text)] == runs


def test_code_that_was_cut_off_goes_on_to_the_end() -> None:
    assert read_markdown("```\na\n\nb") == [Block(kind="code", text="a\n\nb")]


@given(st.text(alphabet="ab *_`~#>|-[]()!\\\n\t1.", max_size=80))
def test_no_letter_is_lost(text: str) -> None:
    blocks = read_markdown(text)

    found = "".join([words(line) for line in every_line(blocks)] + [block.text for block in blocks])
    fences = sum(line.strip().startswith(("```", "~~~")) for line in text.split("\n"))
    if not fences:
        assert sorted(each for each in found if each in "ab") == sorted(each for each in text if each in "ab")


@each("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_is_too_strange_or_too_slow(text: str) -> None:
    assert bool(read_markdown(text[:100_000])) == bool(text.strip())


@pytest.mark.parametrize("piece", ["**a ", "*a", "_a ", "`a ", "[a](", "~~a", "| a ", "> ", "- a\n  ", "[[", "\\"])
def test_marks_that_are_never_closed_stay_quick(piece: str) -> None:
    assert read_markdown(piece * (50_000 // len(piece)))
