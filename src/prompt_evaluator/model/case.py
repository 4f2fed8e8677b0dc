"""One question, and what is known about a good answer."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from prompt_evaluator.model.message import Message


class MetricUse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request for a metric, by a run, a dataset or a case: the only form in which expectations travel."""

    metric: str
    """Which kind: a name from the catalogue, `python:module:function` or `command:program`."""
    name: str | None = None
    """What the score is called in all results; the metric's own name unless somebody says."""
    judge: str | None = None
    """The model that judges for this use, in place of the run's judge."""
    negated: bool | None = msgspec.field(default=None, name="not")
    """Whether the answer passes when the metric says it does not: the score is 1 minus the metric's."""
    options: dict[str, Any] = {}

    @property
    def key(self) -> str:
        """The name under which results are kept."""
        return self.name or self.metric


class TestCase(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One input, what is known about a good answer, and free metadata."""

    __test__: ClassVar[bool] = False  # keeps pytest from collecting a class with this name

    id: str
    input: str
    """The text that is asked; of a conversation, what the user said last."""
    description: str | None = None
    task: str | None = None
    """What is to be done; shown to a judge."""
    expected_constraints: str | None = None
    """What the answer has to respect; shown to a judge."""
    reference: str | None = None
    """An ideal answer. Metrics may compare with it; nothing requires it."""
    metadata: dict[str, Any] = {}
    """Every other field of the case, untouched. Metrics may use what has the right shape."""
    checks: tuple[MetricUse, ...] = ()
    """What must hold for this case alone."""
    messages: tuple[Message, ...] = ()
    """The conversation that is sent in place of `input`, if there is one."""
    references: tuple[str, ...] = ()
    """Further ideal answers, each as good as `reference`."""
    file: str | None = None
    """The file it was read from; None for a case that did not come from a file."""
    line: int | None = None
    """Where it begins in that file."""

    @property
    def all_references(self) -> tuple[str, ...]:
        """Every ideal answer there is, the first one first."""
        return self.references if self.reference is None else (self.reference, *self.references)

    @property
    def passages(self) -> tuple[str, ...]:
        """What a retrieval step found, best first: the field `context`, a text or a list of texts; none otherwise."""
        found = self.metadata.get("context")
        if found is None:
            return ()
        texts = (found,) if isinstance(found, str) else tuple(found) if isinstance(found, list) else ()
        if not all(isinstance(text, str) for text in texts) or not any(text.strip() for text in texts):
            return ()
        return texts
