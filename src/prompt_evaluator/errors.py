"""Everything that can go wrong on purpose.

PromptEvaluatorError
├── InputError (also a ValueError)               a file that somebody wrote cannot be used
│   └── InputNotFoundError (also a FileNotFoundError)
├── ConfigurationError                           a setting is missing or wrong
│   ├── UnknownNameError                         no provider, metric, … has that name
│   └── PluginError                              a plug-in cannot be loaded
├── StoreError                                   runs cannot be kept or read
│   ├── RunBusyError                             another process is working on this run
│   ├── LabelledRunError                         a run that is to be deleted has labels
│   └── PinnedRunError                           a run that is to be deleted is a baseline
├── BudgetSpentError                             the next call would go beyond --max-calls or --max-cost
├── StoppedError                                 the run is being stopped, so nothing new is begun
└── ProviderError                                a call gave no answer
    ├── RateLimitedError            retried      too many requests or tokens for now
    ├── UnavailableError            retried      the service is down or overloaded
    ├── ConnectionFailedError       retried      no connection, or one that broke
    │   └── UnreachableError        retried      …there never was one, so nothing was sent
    ├── TimedOutError               retried      one try took too long
    ├── BadReplyError               retried      a reply that is not what it claims to be
    │   ├── OversizedReplyError     final        more bytes than allowed
    │   └── RedirectedError         final        sent to another address
    ├── DeadlineError               final        the call with all its tries took too long
    ├── RequestRefusedError         final        the service rejects what was asked
    │   ├── FieldRefusedError       retried      …a part of it that the next try can do without
    │   └── TargetFailedError       final        the program or function under test failed
    └── HopelessError               final        no other call would fare better either
        ├── AuthenticationError                  the key is missing, wrong or not allowed to
        ├── ModelNotFoundError                   no such model or address
        ├── QuotaExhaustedError                  the account is out of money
        └── CircuitOpenError                     calls have stopped because all of them failed

A message is a sentence for people: what is wrong, where, what to do. The same facts are attributes for machines.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, ClassVar

from prompt_evaluator.hints import nearest, some_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class PromptEvaluatorError(Exception):
    """Base of every error this package raises on purpose; anything else is a bug."""

    exit_code: ClassVar[int] = 2
    """What a command exits with when this error ends it."""
    time_outs: int = 0
    """Tries of the call that it ended which had timed out, and may have been paid for."""


class InputError(PromptEvaluatorError, ValueError):
    """One thing that is wrong with a file that somebody wrote, a dataset above all, and where."""

    def __init__(  # noqa: PLR0913 - one keyword for each fact a reader of the error may need
        self,
        what: str,
        *,
        path: Path,
        advice: str = "",
        line: int | None = None,
        index: int | None = None,
        field: str | None = None,
        note: str = "",
    ) -> None:
        """Take what is wrong (without a full stop), where, and what to do about it.

        Args:
            what: The sentence without its end; texts that users were promised stand here word for word.
            path: The file.
            advice: A whole sentence.
            line: Physical line, counted from 1.
            index: Position in a list of cases, counted from 0.
            field: The field of the case, as its author wrote it.
            note: A second place that matters, such as the first of two equal ids.
        """
        self.what, self.advice, self.path, self.note = what, advice, path, note
        self.line, self.index, self.field = line, index, field
        place = f"in {path}"
        if line is not None and f"line {line}" not in what.lower():
            place += f", line {line}"
        if note:
            place += f"; {note}"
        super().__init__(f"{what} ({place}).{' ' if advice else ''}{advice}")

    def first_of(self, count: int) -> InputError:
        """The same problem, which says that it is the first of so many in its file."""
        if count > 1:
            every = f"`prompt-evaluator validate {quote(str(self.path))}` lists all"
            self.args = (f"{self.args[0]} This is the first of {count:,}; {every}.",)
        return self


class InputNotFoundError(InputError, FileNotFoundError):
    """The file is not there."""

    def __str__(self) -> str:  # OSError would print an errno of None
        return str(self.args[0])


class ConfigurationError(PromptEvaluatorError):
    """A setting is missing or wrong."""


class UnknownNameError(ConfigurationError):
    """Nothing of that kind has that name."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, total: int | None = None) -> None:
        """Take the kind of thing, the name that nothing has, and those that there are.

        Args:
            kind: As in "There is no metric".
            name: As it was written.
            known: All names, or as many as can be looked at.
            total: How many names there are, where `known` is only a part of them.
        """
        self.kind, self.name, self.known = kind, name, sorted(known)
        if near := nearest(name, self.known, cutoff=0.5):
            hint = f" Did you mean {near!r}?"
        else:
            hint = f" Known: {some_of(self.known, 20, total=total)}." if self.known else ""
        super().__init__(f"There is no {kind} {name!r}.{hint}")


class PluginError(ConfigurationError):
    """A plug-in cannot be loaded."""


class StoreError(PromptEvaluatorError):
    """Runs cannot be kept or read."""

    exit_code: ClassVar[int] = 3


class RunBusyError(StoreError):
    """Another process is working on this run."""

    exit_code: ClassVar[int] = 2


class LabelledRunError(StoreError):
    """A run that is to be deleted has labels, which are people's work."""

    exit_code: ClassVar[int] = 2

    def __init__(self, run_id: str, labels: int) -> None:
        """Take the run and how many labels it has.

        Args:
            run_id: The run.
            labels: How many labels it has.
        """
        self.run_id, self.labels = run_id, labels
        has = "1 label" if labels == 1 else f"{labels:,} labels"
        copy = f"`prompt-evaluator labels export {run_id}` keeps a copy"
        super().__init__(
            f"Run {run_id} has {has}. Labels are people's work: {copy}, and --with-labels deletes them with the run."
        )


class PinnedRunError(StoreError):
    """A run that is to be deleted is what others are compared with."""

    exit_code: ClassVar[int] = 2

    def __init__(self, run_id: str, names: Iterable[str]) -> None:
        """Take the run and the names of the baselines that it is."""
        self.run_id, self.names = run_id, sorted(names)
        known = " and ".join(map(repr, self.names))
        super().__init__(f"Run {run_id} is pinned as the baseline of {known}. Pin another run, or unpin it, first.")


class BudgetSpentError(PromptEvaluatorError):
    """The next call would go beyond what the user allowed."""

    exit_code: ClassVar[int] = 3


class StoppedError(PromptEvaluatorError):
    """The run is being stopped: what is under way is finished, and nothing new is begun."""

    exit_code: ClassVar[int] = 3


class ProviderError(PromptEvaluatorError):
    """A call gave no answer. Never to be read as a bad answer."""

    exit_code: ClassVar[int] = 3
    retried: ClassVar[bool] = False
    """Whether the same request may fare better a little later."""
    hopeless: ClassVar[bool] = False
    """Whether every other call would fail the same way."""

    def __init__(
        self, message: str, *, provider: str, status: int | None = None, retry_after: float | None = None
    ) -> None:
        """Take the sentence, the provider's name, and what the service said if it said anything.

        Args:
            message: A whole sentence.
            provider: The provider's name.
            status: The HTTP status, where there was one.
            retry_after: Seconds that the service asked us to wait.
        """
        self.provider, self.status, self.retry_after = provider, status, retry_after
        self.tries = 1
        super().__init__(f"{provider}: {message}")


class RateLimitedError(ProviderError):
    """Too many requests or tokens for now."""

    retried = True


class UnavailableError(ProviderError):
    """The service is down or overloaded."""

    retried = True


class ConnectionFailedError(ProviderError):
    """There was no connection, or it broke."""

    retried = True


class UnreachableError(ConnectionFailedError):
    """No connection could be made: the address is wrong, or nobody is there. Nothing was sent."""


class TimedOutError(ProviderError):
    """One try took too long."""

    retried = True


class BadReplyError(ProviderError):
    """The reply is not what it claims to be."""

    retried = True


class OversizedReplyError(BadReplyError):
    """The reply has more bytes than allowed, before or after decompression."""

    retried = False


class RedirectedError(BadReplyError):
    """The service sent us elsewhere; the key does not go there."""

    retried = False


class DeadlineError(ProviderError):
    """The call with all its tries and waits took too long."""


class RequestRefusedError(ProviderError):
    """The service rejects what was asked."""


class FieldRefusedError(RequestRefusedError):
    """The service does not take one field of the request; the next try goes without it."""

    retried = True


class TargetFailedError(RequestRefusedError):
    """The program or function under test failed."""


class HopelessError(ProviderError):
    """No other call would fare better either."""

    hopeless = True


class AuthenticationError(HopelessError):
    """The key is missing, wrong or not allowed to do this."""


class ModelNotFoundError(HopelessError):
    """There is no such model, or nothing at this address."""


class QuotaExhaustedError(HopelessError):
    """The account is out of money or of its quota."""


class CircuitOpenError(HopelessError):
    """Calls have stopped because all of them failed."""
