"""Everything that can go wrong on purpose.

PromptEvaluatorError
└── DatasetError (also a ValueError)             cases cannot be read or used
    └── DatasetNotFoundError (also a FileNotFoundError)

A message is a sentence for people: what is wrong, where, what to do. The same facts are attributes for machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathlib import Path


class PromptEvaluatorError(Exception):
    """Base of every error this package raises on purpose; anything else is a bug."""

    exit_code: ClassVar[int] = 2
    """What a command exits with when this error ends it."""


class DatasetError(PromptEvaluatorError, ValueError):
    """One thing that is wrong with a dataset, and where."""

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


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """The file is not there."""

    def __str__(self) -> str:  # OSError would print an errno of None
        return str(self.args[0])
