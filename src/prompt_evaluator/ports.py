"""What the rooms promise each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prompt_evaluator.model import Answer, Request


class Provider(Protocol):
    """Turns a request into an answer."""

    @property
    def name(self) -> str:
        """What stands before the slash of a model's name."""

    @property
    def structured_output(self) -> bool:
        """Whether `response_schema` is a promise of the service, not a wish."""

    async def complete(self, request: Request) -> Answer:
        """Raise `ProviderError`, and nothing else, when there is no answer.

        May be called many times at once. Cancelling it takes effect at once and leaves nothing behind.
        """

    async def close(self) -> None:
        """Let go of connections and processes. No call may be under way or follow."""
