"""One question, and what is known about a good answer."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from prompt_evaluator.model.message import Message


class MetricUse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A metric requested by a run, a dataset or a case. Expectations are passed around in no other form."""

    metric: str
    """A name from the catalogue, `python:module:function` or `command:program`."""
    name: str | None = None
    """The score's name in all results; by default the metric's own name."""
    judge: str | None = None
    """The judge model for this use, instead of the run's judge."""
    negated: bool | None = msgspec.field(default=None, name="not")
    """Whether to invert the metric: the score is 1 minus the metric's, and an answer passes if the metric fails it."""
    options: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The name of its scores in results."""
        return self.name or self.metric


class TestCase(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One input, what is known about a good answer, and free metadata."""

    __test__: ClassVar[bool] = False  # keeps pytest from collecting this class

    id: str
    input: str
    """The question; for a conversation, the user's last message."""
    description: str | None = None
    task: str | None = None
    """What the answer should do; shown to judges."""
    expected_constraints: str | None = None
    """What the answer must respect; shown to judges."""
    reference: str | None = None
    """An ideal answer. Metrics may compare with it; nothing requires it."""
    metadata: dict[str, Any] = {}
    """All other fields of the case, unchanged. Metrics may use those with the right shape."""
    checks: tuple[MetricUse, ...] = ()
    """Metrics for this case alone."""
    messages: tuple[Message, ...] = ()
    """The conversation to send instead of `input`, if there is one."""
    references: tuple[str, ...] = ()
    """Further ideal answers, each as good as `reference`."""
    file: str | None = None
    """The file it was read from; None for a case that did not come from a file."""
    line: int | None = None
    """The line in that file where it begins."""

    @property
    def all_references(self) -> tuple[str, ...]:
        """All ideal answers, `reference` first."""
        return self.references if self.reference is None else (self.reference, *self.references)

    @property
    def passages(self) -> tuple[str, ...]:
        """Retrieved passages, best first: the field `context` if it is a text or a list of texts, otherwise empty."""
        found = self.metadata.get("context")
        if found is None:
            return ()
        texts = (found,) if isinstance(found, str) else tuple(found) if isinstance(found, list) else ()
        if not all(isinstance(text, str) for text in texts) or not any(text.strip() for text in texts):
            return ()
        return texts
