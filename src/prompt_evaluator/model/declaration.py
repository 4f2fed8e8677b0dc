"""How an option is declared, so that flags, settings and the Python API can be made from one declaration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from prompt_evaluator.model.bounds import SCORE, SHARE, Bound


class Kind(msgspec.Struct, frozen=True):
    """What a value may be."""

    type: Any
    words: str
    """After "has to be"."""
    bound: Bound | None = None
    """Of a number, or of each number in a mapping."""


_FULL_TEXT = Annotated[str, Meta(min_length=1)]

TEXT = Kind(_FULL_TEXT, "a text that is not empty")
NOTE = Kind(str, "a text")
DATASET = Kind(_FULL_TEXT, "the path or the short name of a dataset")
FILE = Kind(_FULL_TEXT, "the path or the short name of a file")
"""A short name is one of `prompt_templates`."""
PATH = Kind(_FULL_TEXT, "the path of a file")
FOLDER = Kind(_FULL_TEXT, "the path of a folder")
RUBRIC = Kind(_FULL_TEXT, "the name or the path of a rubric, or `none`")
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
"""Of names to any JSON. Sources add to each other key by key, where those of other kinds replace each other."""
METRICS = Kind(str | dict[str, Any] | list[str | dict[str, Any]], "a text, a mapping, or a list of these")
"""As somebody wrote them: what they mean is for who builds the metrics."""

PROBLEM = Kind(Literal["failing", "flaky", "errors"], "`failing`, `flaky` or `errors`")
"""What cases of a run may have."""


def number(bound: Bound) -> Kind:
    """A number within its bound."""
    return Kind(bound.type, bound.words, bound)


NO_RUBRIC = "none"
"""Where None cannot be written: on the command line, in a variable, in the file."""


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to know about one option. It stands beside the type of the field that it is about."""

    help: str
    kind: Kind
    flags: tuple[str, ...]
    """The long one first."""
    setting: str | None = None
    """As the file nests it: `judge.model` is `model:` under `judge:`. None where only a run can be told."""
    keyword: str = ""
    """In Python, where that is not the name of the field."""
    metavar: str | None = None
    otherwise: str | None = None
    """What happens when nobody says, where that is not a fixed value."""
    kept_in: str | None = None
    """The part of a run's plan that it goes into. Such an option cannot be changed when the run is resumed."""

    name: str = ""
    """Of the field. This and the next two are filled in by `declared`."""
    type: Any = None
    default: Any = None

    @property
    def flag(self) -> str:
        return self.flags[0]

    @property
    def default_text(self) -> str | None:
        """What happens when nobody says, for people; None where that is nothing."""
        fixed = isinstance(self.default, (str, int, float, Path)) and self.kind is not SWITCH
        return self.otherwise or (str(self.default) if fixed else None)


def declared(options: type[msgspec.Struct]) -> dict[str, Option]:
    """The options of a class, by the names of its fields. A field without declaration is not for users."""
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
