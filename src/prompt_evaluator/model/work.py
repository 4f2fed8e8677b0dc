"""Values passed to and from an engine, which can be sent to another process."""

from __future__ import annotations

from typing import Any, Literal, Self

import msgspec

from prompt_evaluator.errors import BudgetSpentError, CircuitOpenError
from prompt_evaluator.model.call import Answer
from prompt_evaluator.model.case import TestCase
from prompt_evaluator.model.run import Unit


class WorkItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One sample of one case, with its finished units."""

    case: TestCase
    sample: int
    own: tuple[Unit, ...] = ()
    """Units of this run."""
    linked: tuple[Unit, ...] = ()
    """Units of other runs with the same request, to be stored with this run instead of being paid for again."""
    rival: Answer | None = None
    """In a pairwise comparison, the baseline's answer to the same sample, if it has one."""
    until: Literal["answer", "scores"] = "scores"
    """Where to stop: after the answer, to be judged as a later item, or after all scores."""


class StopCause(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Why no further items can be worked on."""

    kind: str
    """The error class."""
    message: str
    provider: str = ""

    @classmethod
    def of(cls, error: BudgetSpentError | CircuitOpenError) -> Self:
        provider = error.provider if isinstance(error, CircuitOpenError) else ""
        return cls(kind=type(error).__name__, message=str(error), provider=provider)

    def error(self) -> BudgetSpentError | CircuitOpenError:
        """The error that it was made of."""
        if self.kind == BudgetSpentError.__name__:
            return BudgetSpentError(self.message)
        return CircuitOpenError(self.message.removeprefix(f"{self.provider}: "), provider=self.provider)


class ItemEnd(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How an item ended. Its finished units have already been delivered one by one."""

    case_id: str
    sample: int
    state: Literal["finished", "answered", "stopped", "lost"]
    """`answered` if the item was to stop after its answer; `stopped` if it could not be finished; `lost` if the process
    that worked on it died, so that what has not arrived has to be done again."""
    cause: StopCause | None = None
    """Why it was stopped; None if the run was stopping anyway."""
    time_outs: int = 0
    """Tries of a stopped call that timed out; they are counted nowhere else."""
    cost: float | None = None
    """US dollars for tries of a stopped call that the service has billed; counted nowhere else either."""


class WorkerSource(msgspec.Struct, frozen=True, kw_only=True):
    """How to make a worker in another process."""

    maker: str
    """The function that makes it, as `module:function`; see `ports.working.MakeRemote`."""
    spec: bytes
    """What it is made from."""
    folder: str
    """The working folder, if the other process has it too."""
    path: tuple[str, ...]
    """Where modules are looked up, after the other process's own folders."""
    private: bytes = b""
    """The part of the spec that may contain secrets: never log or store it."""
    objects: dict[str, Any] = {}
    """Objects that have no encoded form, such as a function from a notebook; the engine pickles them."""
