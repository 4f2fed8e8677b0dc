"""Every error this package raises on purpose.

PromptEvaluatorError
├── InputError (also a ValueError)               a file written by a user cannot be used
│   ├── InputNotFoundError (also a FileNotFoundError)
│   └── ResultsFileError                         a file of the harness's results cannot be read
├── ConfigurationError                           a setting is missing or wrong
│   ├── UnknownNameError                         no provider, metric, … with that name
│   ├── InvalidLabelError                        a label does not fit the run it is about
│   └── PluginError                              a plug-in cannot be loaded
├── StoreError                                   runs cannot be stored or read
│   ├── OutdatedStoreError                       a store has to be migrated before it can be used
│   ├── RunBusyError                             another process is working on this run
│   ├── OwnershipLostError                       this process may no longer work on its run
│   ├── StoreUnreachableError                    there is no connection to the store's server
│   ├── LabelledRunError                         a run to be deleted has labels
│   └── PinnedRunError                           a run to be deleted is a baseline
├── IncomparableError                            runs differ in what makes a comparison fair
├── BudgetSpentError                             the next call would exceed --max-calls, --max-cost or a shared budget
├── EngineError                                  the workers of a run cannot be started, or keep dying
├── StoppedError                                 the run is stopping, so nothing new is started
└── ProviderError                                a call gave no answer
    ├── RateLimitedError            retried      too many requests or tokens for now
    ├── UnavailableError            retried      the service is down or overloaded
    ├── ConnectionFailedError       retried      no connection, or one that broke
    │   └── UnreachableError        retried      …there never was one, so nothing was sent
    ├── TimedOutError               retried      one try took too long
    ├── BadReplyError               retried      the reply is malformed or incomplete
    │   ├── OversizedReplyError     final        more bytes than allowed
    │   └── RedirectedError         final        the service redirected to another address
    ├── DeadlineError               final        the call, with all its tries, took too long
    ├── RequestRefusedError         final        the service rejected the request
    │   ├── FieldRefusedError       retried      …because of a field that the next try omits
    │   └── TargetFailedError       final        the program or function under test failed
    └── HopelessError               final        every other call would fail as well
        ├── AuthenticationError                  the key is missing, wrong or lacks permission
        ├── ModelNotFoundError                   no such model or address
        ├── QuotaExhaustedError                  the account is out of money
        └── CircuitOpenError                     calls have stopped because all of them failed

Messages are sentences for people: where, what is wrong, what to do. The same facts are attributes, for programs.
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
    """Exit code of a command that ends with this error."""
    time_outs: int = 0
    """How many tries of the failed call had timed out; they may have been billed."""


class InputError(PromptEvaluatorError, ValueError):
    """One problem in a file written by a user (usually a dataset), and where it is."""

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
        """Compose the message from its parts.

        Args:
            what: What is wrong, without a full stop. Documented messages appear here word for word.
            path: The file.
            advice: What to do about it, as a full sentence.
            line: Physical line number, starting at 1.
            index: Position in a list of cases, starting at 0.
            field: The field of the case, as spelled in the file.
            note: A second location that matters, such as the first of two equal ids.
        """
        self.what, self.advice, self.path, self.note = what, advice, path, note
        self.line, self.index, self.field = line, index, field
        place = str(path)
        if line is not None and f"line {line}" not in what.lower():
            place += f":{line}"
        sentence = f"{what} ({note})" if note else what
        end = "" if sentence.endswith("?") else "."  # such as "Did you mean 'is_json'?"
        super().__init__(f"{place}: {sentence}{end}{' ' if advice else ''}{advice}")

    def first_of(self, count: int) -> InputError:
        """Return the same problem, saying that it is the first of `count` in its file."""
        if count > 1:
            every = f"`prompt-evaluator validate {quote(str(self.path))}` lists all"
            self.args = (f"{self.args[0]} This is the first of {count:,}; {every}.",)
        return self


class InputNotFoundError(InputError, FileNotFoundError):
    """The file does not exist."""

    def __str__(self) -> str:  # OSError would print `[Errno None]`
        return str(self.args[0])


class ResultsFileError(InputError):
    """A file of the harness's results cannot be read. It is left as it is."""

    exit_code: ClassVar[int] = 3


class ConfigurationError(PromptEvaluatorError):
    """A setting is missing or wrong."""


class InvalidLabelError(ConfigurationError):
    """A label that is not from a file does not fit its run."""

    def __init__(self, what: str, *, advice: str, field: str | None = None) -> None:
        """Compose the message.

        Args:
            what: What is wrong, without a full stop.
            advice: What to do about it, as a full sentence.
            field: The field of the label.
        """
        self.what, self.advice, self.field = what, advice, field
        super().__init__(f"{what}. {advice}")


class UnknownNameError(ConfigurationError):
    """There is nothing of this kind with that name."""

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
    """Runs cannot be stored or read."""

    exit_code: ClassVar[int] = 3


class OutdatedStoreError(StoreError):
    """An earlier version made the store, and it is migrated only on purpose."""

    exit_code: ClassVar[int] = 2

    def __init__(self, where: str, revision: str, newest: str) -> None:
        """Compose the message.

        Args:
            where: The store, without a password.
            revision: The schema revision that it has.
            newest: The schema revision that this version needs.
        """
        self.where, self.revision, self.newest = where, revision, newest
        super().__init__(
            f"The store {where} has schema revision {revision}, but this version of prompt-evaluator needs {newest}. "
            "Nothing was changed. Run `prompt-evaluator store migrate`; after that, everybody who shares the store "
            "needs this version or a newer one."
        )


class RunBusyError(StoreError):
    """Another process is working on this run."""

    exit_code: ClassVar[int] = 2


class OwnershipLostError(StoreError):
    """This process may no longer work on its run: its session on the server has ended, or another process has it."""


class StoreUnreachableError(StoreError):
    """There is no connection to the store's server."""


class LabelledRunError(StoreError):
    """A run to be deleted has labels, which are people's work."""

    exit_code: ClassVar[int] = 2

    def __init__(self, run_id: str, labels: int) -> None:
        """Compose the message.

        Args:
            run_id: The run.
            labels: How many labels it has.
        """
        self.run_id, self.labels = run_id, labels
        has = "1 label" if labels == 1 else f"{labels:,} labels"
        copy = f"Keep a copy with `prompt-evaluator labels export {run_id}`"
        super().__init__(f"Run {run_id} has {has}. {copy}, then pass --with-labels to delete the run and its labels.")


class PinnedRunError(StoreError):
    """A run to be deleted is a baseline for other runs."""

    exit_code: ClassVar[int] = 2

    def __init__(self, run_id: str, names: Iterable[str]) -> None:
        """Compose the message; `names` are the baselines pinned to the run."""
        self.run_id, self.names = run_id, sorted(names)
        pinned = " and ".join(map(repr, self.names))
        super().__init__(f"Run {run_id} is pinned as the baseline of {pinned}. Unpin it or pin another run first.")


class IncomparableError(PromptEvaluatorError):
    """Two runs differ in what makes a comparison fair, or have no case in common."""

    exit_code: ClassVar[int] = 3


class BudgetSpentError(PromptEvaluatorError):
    """The next call would exceed the user's budget."""

    exit_code: ClassVar[int] = 3


class EngineError(PromptEvaluatorError):
    """The processes that a run's work was sent to cannot be started, or keep dying. The run can be resumed."""

    exit_code: ClassVar[int] = 3


class StoppedError(PromptEvaluatorError):
    """The run is stopping: calls in flight finish, and nothing new is started."""

    exit_code: ClassVar[int] = 3


class ProviderError(PromptEvaluatorError):
    """A call gave no answer. Never treat this as a bad answer."""

    exit_code: ClassVar[int] = 3
    retried: ClassVar[bool] = False
    """Whether the same request may succeed a little later."""
    hopeless: ClassVar[bool] = False
    """Whether every other call would fail the same way."""

    def __init__(
        self, message: str, *, provider: str, status: int | None = None, retry_after: float | None = None
    ) -> None:
        """Prefix the message with the provider's name.

        Args:
            message: A full sentence.
            provider: The provider's name.
            status: The HTTP status, if there was one.
            retry_after: Seconds the service asked us to wait.
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
    """No connection could be made, or it broke."""

    retried = True


class UnreachableError(ConnectionFailedError):
    """No connection could be made: the address is wrong, or nobody is there. Nothing was sent."""


class TimedOutError(ProviderError):
    """One try took too long."""

    retried = True


class BadReplyError(ProviderError):
    """The reply is malformed or incomplete."""

    retried = True


class OversizedReplyError(BadReplyError):
    """The reply has more bytes than allowed, before or after decompression."""

    retried = False


class RedirectedError(BadReplyError):
    """The service redirected to another address, which must not receive the key."""

    retried = False


class DeadlineError(ProviderError):
    """The call, with all its tries and waits, took too long."""


class RequestRefusedError(ProviderError):
    """The service rejected the request."""


class FieldRefusedError(RequestRefusedError):
    """The service does not accept one field of the request; the next try omits it."""

    retried = True


class TargetFailedError(RequestRefusedError):
    """The program or function under test failed."""


class HopelessError(ProviderError):
    """Every other call would fail as well."""

    hopeless = True


class AuthenticationError(HopelessError):
    """The key is missing, wrong or lacks permission."""


class ModelNotFoundError(HopelessError):
    """No such model, or nothing at this address."""


class QuotaExhaustedError(HopelessError):
    """The account is out of money or over its quota."""


class CircuitOpenError(HopelessError):
    """Calls have stopped because all of them failed."""
