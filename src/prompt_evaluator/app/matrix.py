"""Several prompts and models on one dataset, as parts of one group."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.planning.plans import read_prompt
from prompt_evaluator.model.group import Member
from prompt_evaluator.model.several import quoted_word
from prompt_evaluator.model.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.app.groups import Part
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.options import EvaluateOptions

_INPUT = "the input"
"""What a group is shown to be evaluated on if it has no dataset."""


class ChosenPrompt(NamedTuple):
    """A system prompt of the group."""

    word: str
    """As it was typed: a path or a short name."""
    path: Path
    label: str
    """Its file's name, with as many folders as tell it apart from the others."""


def choose_prompts(settings: Settings, words: Iterable[str]) -> tuple[list[ChosenPrompt], list[str]]:
    """Return the prompts, each file once, and warnings about those that are the same or empty.

    Raises:
        PromptEvaluatorError: A short name is unknown, or a file cannot be read.
    """
    found: dict[Path, tuple[str, Path]] = {}
    warnings, by_hash = [], dict[str, list[str]]()
    for word in words:
        path = settings.named("prompt_templates", word)
        if (file := path.resolve()) in found:
            warnings.append(f"{word} is given twice and evaluated once.")
            continue
        found[file] = word, path
        prompt = read_prompt(path, None)
        by_hash.setdefault(prompt.hash, []).append(word)
        if not prompt.text.strip():
            warnings.append(f"{word} is empty: it tells the model nothing.")
    warnings += [
        f"{listed(alike)} have the same content: their runs differ by chance alone."
        for alike in by_hash.values()
        if len(alike) > 1
    ]
    labels = short_names(list(found))
    return [ChosenPrompt(word, path, labels[file]) for file, (word, path) in found.items()], warnings


def short_names(files: Sequence[Path]) -> dict[Path, str]:
    """Return each file's name, with as many of the folders above it as tell it apart from the others."""
    return {file: next(name for name in _endings(file) if _is_only(name, file, files)) for file in files}


def matrix_parts(options: EvaluateOptions, prompts: Sequence[ChosenPrompt], models: Sequence[str]) -> list[Part]:
    """Every model with every prompt, as parts of one group."""
    from prompt_evaluator.app.groups import Part, command_alone  # noqa: PLC0415 - one run needs none of it

    return [
        Part(
            Member(
                dataset=options.dataset.name if options.dataset else _INPUT,
                model=model,
                prompt=prompt.label,
            ),
            msgspec.structs.replace(
                options,
                system_prompt=prompt.path,
                generator_model=model,
                command=command_alone(
                    options.command,
                    {
                        **({"--generator-model": quoted_word(model)} if len(models) > 1 else {}),
                        **({"--system-prompt": prompt.word} if len(prompts) > 1 else {}),
                    },
                ),
            ),
        )
        for prompt in prompts
        for model in models
    ]


def _endings(file: Path) -> Iterator[str]:
    """Return the name, then the name with its folder, and so on to the whole path."""
    yield from ("/".join(file.parts[-count:]) for count in range(1, len(file.parts)))
    yield str(file)


def _is_only(name: str, file: Path, files: Iterable[Path]) -> bool:
    return not any(other != file and f"/{other.as_posix()}".endswith(f"/{name}") for other in files)
