"""Files and settings that cannot be used."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, ClassVar

from prompt_evaluator.errors.base import PromptEvaluatorError
from prompt_evaluator.hints import nearest, some_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


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
