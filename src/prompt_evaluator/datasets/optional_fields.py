"""The structured fields of a case: `checks`, `references` and `messages`.

For `load_dataset`, a field of any other structure is the author's own and stays in `metadata`. Commands that evaluate
report it if it looks like a mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.datasets.conversations import is_meant_as_conversation, last_question, parse_messages
from prompt_evaluator.datasets.fields import check_text
from prompt_evaluator.model import Message, MetricUse, merged_uses
from prompt_evaluator.syntax.metric_uses import is_meant_as_uses, parse_uses
from prompt_evaluator.syntax.wording import described

if TYPE_CHECKING:
    from prompt_evaluator.datasets.positions import Position, Report
    from prompt_evaluator.errors import InputError

CHECKS_ADVICE = "Write a list of metrics: names, or mappings with `metric` and its options."


class Question(NamedTuple):
    """The question of a case: one text, or a conversation whose last user message it is."""

    input: str
    messages: tuple[Message, ...] = ()

    @property
    def read(self) -> frozenset[str]:
        """The fields that were understood."""
        return frozenset(("input", "messages") if self.messages else ("input",))


class Expectations(NamedTuple):
    """What a case expects of a good answer, in addition to its texts."""

    checks: tuple[MetricUse, ...]
    references: tuple[str, ...]
    read: frozenset[str]
    """The fields that were understood; all others are metadata."""
    doubts: tuple[InputError, ...]
    """Fields that look like a mistake, but may be the author's own."""

    def accepted(self, report: Report, *, strict: bool) -> bool:
        """Return whether the case can be used. If `strict`, report the doubts and refuse the case."""
        for doubt in self.doubts if strict else ():
            report(doubt)
        return not (strict and self.doubts)


def read_expectations(record: dict[str, Any], where: Position, implied: tuple[MetricUse, ...] = ()) -> Expectations:
    """Read `references`, and `checks`, which override those that the dialect's own fields imply."""
    checks, references = implied, ()
    read, doubts = set(), []
    if "checks" in record:
        try:
            checks = merged_uses(implied, parse_uses(record["checks"]))
            read.add("checks")
        except ValueError as error:
            if is_meant_as_uses(record["checks"]):
                doubts.append(where.invalid("checks", str(error), CHECKS_ADVICE))
    given = record.get("references")
    if isinstance(given, list):
        odd = next((position for position, item in enumerate(given) if not _is_full_text(item)), None)
        if odd is None:
            references = tuple(given)
            read.add("references")
        else:
            why = f"item {odd} is {described(given[odd])}, not a text with content"
            doubts.append(where.invalid("references", why, "Correct or remove the item."))
    return Expectations(checks, references, frozenset(read), tuple(doubts))


def read_question(record: dict[str, Any], where: Position, report: Report, *, strict: bool) -> Question | None:
    """Read `input` or, without one, `messages`; None after reporting a problem."""
    written = record.get("messages")
    if record.get("input") is None and written is not None:
        return _conversation(written, where, report)
    if not check_text("input", record, where, report):
        return None
    if strict and is_meant_as_conversation(written):
        why = "there is an input too, and only one of them can be used"
        report(where.invalid("messages", why, "Remove input, and end the conversation with it; or remove messages."))
        return None
    return Question(record["input"])


def _conversation(written: object, where: Position, report: Report) -> Question | None:
    try:
        turns = parse_messages(written)
    except ValueError as error:
        advice = "Correct messages, or add input, a non-empty text."
        report(where.missing("input", advice, instead="messages", note=f"messages cannot be used: {error}"))
        return None
    return Question(last_question(turns), turns)


def _is_full_text(item: object) -> bool:
    return isinstance(item, str) and bool(item.strip())
