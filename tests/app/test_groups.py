"""What the runs of a group are called, and which command makes one of them alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from entries import each

from prompt_evaluator.app.groups import command_alone, with_one_judge
from prompt_evaluator.app.matrix import ChosenPrompt, matrix_parts, short_names
from prompt_evaluator.model import CommandLine
from prompt_evaluator.model.options import EvaluateOptions


@each(
    ("files", "names"),
    [
        (["/p/a.txt", "/p/b.txt"], ["a.txt", "b.txt"]),
        (["/p/v1/a.txt", "/p/v2/a.txt", "/p/b.txt"], ["v1/a.txt", "v2/a.txt", "b.txt"]),
        (["/p/v1/x/a.txt", "/p/v2/x/a.txt"], ["v1/x/a.txt", "v2/x/a.txt"]),
        (["/p/a.txt", "/p/x/a.txt"], ["p/a.txt", "x/a.txt"]),
        (["/a.txt", "/x/a.txt"], ["/a.txt", "x/a.txt"]),
        (["/p/ba.txt", "/p/x/a.txt"], ["ba.txt", "a.txt"]),
    ],
)
def test_a_file_is_called_by_its_name_and_by_as_many_folders_as_tell_it_apart(
    files: list[str], names: list[str]
) -> None:
    assert list(short_names([Path(file) for file in files]).values()) == names


def typed(*options: tuple[str, ...], name: tuple[str, ...] = ("benchmark", "run")) -> CommandLine:
    return CommandLine(name=name, options=options, folder="/here")


@pytest.mark.parametrize(
    ("options", "alone"),
    [
        (
            (("--dataset", "data,other"), ("--model", "a/b,c/d"), ("--metrics", "length")),
            (("--dataset", "data"), ("--model", "a/b"), ("--metrics", "length")),
        ),
        (
            (("--dataset", "other"), ("--reuse",), ("--dataset", "data"), ("--model", "a/b")),
            (("--dataset", "data"), ("--reuse",), ("--model", "a/b")),
        ),
        ((("--dataset", "data"),), (("--model", "a/b"), ("--dataset", "data"))),
    ],
    ids=["commas", "repeated", "from the settings"],
)
def test_a_run_of_a_group_is_repeated_alone(
    options: tuple[tuple[str, ...], ...], alone: tuple[tuple[str, ...], ...]
) -> None:
    made = command_alone(typed(*options), {"--dataset": "data", "--model": "a/b"})

    assert made == typed(*alone)


def test_a_model_with_a_comma_is_quoted_in_the_command_of_its_run() -> None:
    options = EvaluateOptions(command=typed(("--generator-model", '"command:./a x,y",b/c'), name=("evaluate-dataset",)))
    prompt = ChosenPrompt("p.txt", Path("p.txt"), "p.txt")

    first, second = matrix_parts(options, [prompt], ["command:./a x,y", "b/c"])

    assert first.options.command is not None
    assert first.options.command.value("--generator-model") == '"command:./a x,y"'
    assert first.options.generator_model == "command:./a x,y"
    assert second.options.command is not None
    assert second.options.command.value("--generator-model") == "b/c"


def test_the_first_model_judges_all_runs_of_a_group_that_name_no_judge() -> None:
    prompt = ChosenPrompt("p.txt", Path("p.txt"), "p.txt")
    command = typed(name=("evaluate-dataset",))

    own, other = with_one_judge(matrix_parts(EvaluateOptions(command=command), [prompt], ["a/b", "c/d"]))
    named = with_one_judge(matrix_parts(EvaluateOptions(judge_model="e/f"), [prompt], ["a/b", "c/d"]))

    assert own.options.judge_model is None
    assert other.options.judge_model == "a/b"
    assert other.options.command is not None
    assert other.options.command.value("--judge-model") == "a/b"
    assert {part.options.judge_model for part in named} == {"e/f"}
