"""Declarations of options, from which flags, settings and the Python API are made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from prompt_evaluator.model.bounds import SCORE, SHARE, Bound


class Kind(msgspec.Struct, frozen=True):
    """The kind of value an option accepts."""

    type: Any
    words: str
    """Completes "has to be …"."""
    bound: Bound | None = None
    """For a number, or for each number in a mapping."""


_FULL_TEXT = Annotated[str, Meta(min_length=1)]

TEXT = Kind(_FULL_TEXT, "a non-empty text")
NOTE = Kind(str, "a text")
DATASET = Kind(_FULL_TEXT, "the path or short name of a dataset")
FILE = Kind(_FULL_TEXT, "the path or short name of a file")
"""Short names are defined in `prompt_templates`."""
PATH = Kind(_FULL_TEXT, "the path of a file")
FOLDER = Kind(_FULL_TEXT, "the path of a folder")
RUBRIC = Kind(_FULL_TEXT, "the name or path of a rubric, or `none`")
SWITCH = Kind(bool, "true or false")
WORDS = Kind(tuple[str, ...], "a list of texts")
"""Several in one flag, or a flag for each; see `model.several`."""
CONDITIONS = Kind(tuple[str, ...], "a list of conditions such as `topic=tea`")
LABELS = Kind(dict[str, str], "a mapping of names to texts")
NUMBERS = Kind(
    dict[str, Annotated[float, SCORE.meta]],
    f"a mapping of names to numbers from {SCORE.least:,} to {SCORE.most:,}",
    SCORE,
)
SHARES = Kind(
    dict[str, Annotated[float, SHARE.meta]], f"a mapping of names to numbers from {SHARE.least} to {SHARE.most}", SHARE
)
MAPPING = Kind(dict[str, Any], "a mapping of names to JSON values; in a variable, a JSON object")
"""Several sources are merged key by key; for other kinds, one source replaces another."""
METRICS = Kind(str | dict[str, Any] | list[str | dict[str, Any]], "a text, a mapping, or a list of these")
"""As written; interpreted when the metrics are built."""

PROBLEM = Kind(Literal["failing", "flaky", "errors"], "`failing`, `flaky` or `errors`")
"""A problem that a run's cases may have."""

PRICE = Kind(
    Annotated[str, Meta(pattern=r"^[0-9]{1,6}(\.[0-9]+)?/[0-9]{1,6}(\.[0-9]+)?$")],
    "two numbers from 0 to 999,999 as `IN/OUT`, such as `2.5/10`",
)
"""US dollars per million tokens of input and of output."""

ENGINE = Kind(Literal["local", "ray"], "`local` or `ray`")


def number(bound: Bound) -> Kind:
    """Make the kind for a number within a bound."""
    return Kind(bound.type, bound.words, bound)


NO_RUBRIC = "none"
"""Means None on the command line, in a variable and in the file, where None cannot be written."""


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one option. Annotates the field that holds its value."""

    help: str
    kind: Kind
    flags: tuple[str, ...]
    """The long flag comes first."""
    setting: str | None = None
    """Path in the configuration file: `judge.model` is `model:` under `judge:`. None for an option of a single run."""
    keyword: str = ""
    """Keyword argument in Python, if it differs from the field's name."""
    metavar: str | None = None
    otherwise: str | None = None
    """Describes the default if it is not a fixed value."""
    kept_in: str | None = None
    """The part of the run's plan that stores it. Such an option cannot change when the run is resumed."""

    name: str = ""
    """The field's name. `declared` fills in this and the next two."""
    type: Any = None
    default: Any = None

    @property
    def flag(self) -> str:
        return self.flags[0]

    @property
    def default_text(self) -> str | None:
        """The default, for display; None if there is none."""
        fixed = isinstance(self.default, (str, int, float, Path)) and self.kind is not SWITCH
        return self.otherwise or (str(self.default) if fixed else None)


def declared(options: type[msgspec.Struct]) -> dict[str, Option]:
    """Options of a class by field name. A field without a declaration is not for users."""
    return {
        field.name: msgspec.structs.replace(
            option,
            name=field.name,
            keyword=option.keyword or field.name,
            type=field.type.__origin__,
            default=field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory(),
        )
        for field in msgspec.structs.fields(options)
        for option in getattr(field.type, "__metadata__", ())
        if isinstance(option, Option)
    }
