"""A program as a metric: it reads JSON on standard input and writes JSON to standard output."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.options import Share
from prompt_evaluator.metrics.user_score import as_score
from prompt_evaluator.model import Answer, Failed, Score, TestCase
from prompt_evaluator.model.bounds import TIMEOUT
from prompt_evaluator.usercode import fingerprint
from prompt_evaluator.usercode.processes import Child, command_words, last_words, redacted, why_not

if TYPE_CHECKING:
    from prompt_evaluator.ports import JudgeClient

PREFIX = "command:"
_MOST_BYTES = 4 * 1024 * 1024
_SHOWN = 200


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    """The program's standard input."""

    output: str
    case: TestCase
    answer: Answer


class CommandMetric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Your own program: it reads `{output, case, answer}` and prints `{score, reason}`, a number, true or false.

    It is started once per answer, without a shell, and killed with all its child processes when it times out.
    Print `{"skipped": "why"}` if there is nothing to score. If the program fails, the metric fails, without a score.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    command: str
    """The program and its arguments, quoted as for a shell."""
    timeout: Annotated[float, TIMEOUT.meta] = 60.0
    """Seconds."""
    threshold: Share = 1.0
    """An answer passes at or above this score."""

    def __post_init__(self) -> None:
        try:
            command_words(self.command)
        except ConfigurationError as error:
            raise ValueError(str(error)) from error
        if problem := why_not(self.command):
            raise ValueError(problem)

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.command}"

    @property
    def needs_judge(self) -> bool:
        return False

    def definition(self) -> dict[str, Any]:
        return {"metric": self.name, "source": _source(self.command)}

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - only the program knows
        return None

    async def prepared(self, judge: JudgeClient | None) -> CommandMetric:  # noqa: ARG002 - the port's signature
        return self

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score:  # noqa: ARG002
        order = msgspec.json.encode(_Order(output=answer.text, case=case, answer=answer))
        child = Child(order, _MOST_BYTES)
        try:
            async with asyncio.timeout(self.timeout):
                await child.start(command_words(self.command))
                await child.finished
        except TimeoutError:
            # A program that has already failed did not time out, even if another process keeps its output open.
            if not child.exit_code:
                return Failed(f"timed out: the program did not answer within {self.timeout:g} s", kind="TimedOut")
        except OSError as error:
            return Failed(f"the program cannot be started: {error}", kind=type(error).__name__)
        finally:
            await child.stop()
        return _read(child)


def _read(child: Child) -> Score:
    if child.oversized:
        return Failed(f"the program printed more than {_MOST_BYTES:,} bytes", kind="InvalidScore")
    if child.exit_code:
        return Failed(last_words(child.exit_code, bytes(child.stderr)), kind="ProgramFailed")
    try:
        return as_score(msgspec.json.decode(bytes(child.stdout)), "the program")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        shown = redacted(bytes(child.stdout))[:_SHOWN]
        return Failed(f"the program did not print JSON: {error}. It began with {shown!r}.", kind="InvalidScore")


@lru_cache(maxsize=64)
def _source(command: str) -> str | None:
    return fingerprint.of_command(command_words(command))
