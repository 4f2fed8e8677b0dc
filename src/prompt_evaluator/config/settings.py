"""Every setting there is: its name, what it may be, what it is when nobody says, and where it can be sourced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "PROMPT_EVALUATOR_"
CONFIG_VARIABLE = PREFIX + "CONFIG"
"""Names the configuration file; the one variable of ours that is no setting."""
VERSION = 1
"""Of the file's format."""

NameTable = Literal["prompt_templates", "dataset_paths", "rubrics"]
NAME_TABLES: dict[NameTable, tuple[str, str]] = {
    "prompt_templates": ("prompt", "Short names for files with prompts."),
    "dataset_paths": ("dataset", "Short names for datasets."),
    "rubrics": ("rubric", "Short names for rubrics of your own; one of them may take the name of one that ships."),
}
"""Mappings of short names to paths: what one of them names, and its help."""


class Kind(msgspec.Struct, frozen=True):
    """What a value may be."""

    type: Any
    words: str
    """After "has to be"."""


TEXT = Kind(Annotated[str, Meta(min_length=1)], "a text that is not empty")
FILE = Kind(Annotated[str, Meta(min_length=1)], "the path or the short name of a file")
FOLDER = Kind(Annotated[str, Meta(min_length=1)], "the path of a folder")
RUBRIC = Kind(Annotated[str, Meta(min_length=1)], "the name or the path of a rubric")
STORE = Kind(Annotated[str, Meta(min_length=1)], "the path of a file or a postgresql:// address")
WHOLE = Kind(int, "a whole number")
COUNT = Kind(Annotated[int, Meta(ge=1)], "a whole number of at least 1")
AMOUNT = Kind(Annotated[float, Meta(ge=0)], "a number of at least 0")


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One value that can be set in the file, by a variable and, mostly, by a flag."""

    name: str
    """As the file nests it: `generator.model` is `model:` under `generator:`."""
    kind: Kind
    default: Any = None
    """A path is taken from beside the configuration file."""
    help: str
    flag: str | None = None

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper().replace(".", "_")

    @property
    def parameter(self) -> str | None:
        """The flag as a Python name."""
        return self.flag.removeprefix("--").replace("-", "_") if self.flag else None


SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            name="generator.model",
            kind=TEXT,
            default="mock/default",
            help="The model under test, as PROVIDER/MODEL.",
            flag="--generator-model",
        ),
        Setting(
            name="generator.temperature",
            kind=AMOUNT,
            default=0.7,
            help="How freely the model under test answers.",
            flag="--temperature",
        ),
        Setting(name="generator.max_tokens", kind=COUNT, help="Tokens of an answer at most.", flag="--max-tokens"),
        Setting(
            name="generator.seed",
            kind=WHOLE,
            help="Makes runs repeatable where the model can: sample k uses seed + k.",
            flag="--seed",
        ),
        Setting(
            name="judge.model",
            kind=TEXT,
            help="The model that judges; the generator's when nobody says.",
            flag="--judge-model",
        ),
        Setting(
            name="judge.temperature",
            kind=AMOUNT,
            default=0.0,
            help="How freely the judge answers.",
            flag="--judge-temperature",
        ),
        Setting(
            name="judge.repeats", kind=COUNT, default=1, help="Judge each answer so often.", flag="--judge-repeats"
        ),
        Setting(
            name="judge.system_prompt",
            kind=FILE,
            help="Instructions to the judge, in place of the built-in ones.",
            flag="--judge-system-prompt",
        ),
        Setting(
            name="rubric",
            kind=RUBRIC,
            default="default",
            help="What the judge looks for: a name or a file.",
            flag="--rubric",
        ),
        Setting(name="num_samples", kind=COUNT, default=5, help="Samples per case.", flag="--num-samples"),
        Setting(name="output_dir", kind=FOLDER, default="runs", help="Where results go.", flag="--output-dir"),
        Setting(
            name="max_concurrency",
            kind=COUNT,
            help="Calls in flight at most, per key.",
            flag="--max-concurrency",
        ),
        Setting(
            name="max_cost",
            kind=AMOUNT,
            help="US dollars that a run may cost; then it stops and can be resumed.",
            flag="--max-cost",
        ),
        Setting(
            name="max_calls",
            kind=COUNT,
            help="Calls that a run may make; then it stops and can be resumed.",
            flag="--max-calls",
        ),
        Setting(name="benchmark.datasets_dir", kind=FOLDER, default="benchmarks", help="Where benchmarks are."),
        Setting(
            name="store",
            kind=STORE,
            default=".prompt_evaluator/store.db",
            help="Where runs are kept: a file, or a PostgreSQL database.",
        ),
    )
}


def flags_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A command's parameters, such as `judge_model`, as settings, such as `judge.model`; others are left out."""
    return {
        setting.name: value
        for setting in SETTINGS.values()
        if setting.parameter and (value := parameters.get(setting.parameter)) is not None
    }
