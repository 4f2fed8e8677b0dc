"""Every declared option can be given by flag, by setting, by variable and in Python, and means the same everywhere."""

from __future__ import annotations

import inspect
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import pytest
from entries import each

from prompt_evaluator import evaluate
from prompt_evaluator.app.planning.options import evaluate_options, given_options, run_limits
from prompt_evaluator.cli.benchmark import run_command
from prompt_evaluator.cli.command_line import typed_command
from prompt_evaluator.cli.compare import compare_command
from prompt_evaluator.cli.evaluate_dataset import evaluate_dataset_command
from prompt_evaluator.cli.main import cli
from prompt_evaluator.cli.options import option
from prompt_evaluator.cli.score import score_command
from prompt_evaluator.config.loading import Settings, load_settings
from prompt_evaluator.config.settings import flags_of
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import JudgeConfig, RunPlan, Target
from prompt_evaluator.model.options import OPTIONS, EvaluateOptions
from prompt_evaluator.model.run_limits import LIMITS
from prompt_evaluator.model.several import REPEATED, SEVERAL

if TYPE_CHECKING:
    from workspace import Workspace

EVERY = OPTIONS | LIMITS
TAGS = {"candidate": "true", "night": "true", "team": "docs,web"}


class Example(NamedTuple):
    """One value, in every way of writing it."""

    flags: tuple[str, ...]
    python: Any
    value: Any
    """What the run is told. A path is meant from the working directory."""


EXAMPLES = {
    "dataset": Example(("-d", "cases.yaml"), None, Path("cases.yaml")),
    "system_prompt": Example(("-s", "prompt.txt"), None, Path("prompt.txt")),
    "template": Example(("--template", "t.txt"), "t.txt", Path("t.txt")),
    "prompt_version": Example(("--prompt-version", "v2"), "v2", "v2"),
    "generator_model": Example(("--generator-model", "a/b"), "a/b", "a/b"),
    "temperature": Example(("-t", "0.25"), 0.25, 0.25),
    "max_tokens": Example(("--max-tokens", "9"), 9, 9),
    "effort": Example(("--effort", "low"), "low", "low"),
    "seed": Example(("--seed", "-3"), -3, -3),
    "schema": Example(("--schema", "s.json"), Path("s.json"), Path("s.json")),
    "strict_params": Example(("--strict-params",), python=True, value=True),
    "params": Example(
        ("--param", "top_p=0.5", "--param", 'stop=["x"]', "--param", "verbosity=low"),
        {"top_p": 0.5, "stop": ["x"], "verbosity": "low"},
        {"top_p": 0.5, "stop": ["x"], "verbosity": "low"},
    ),
    "render_prompt": Example(("--render-prompt",), python=True, value=True),
    "judge_model": Example(("--judge-model", "a/b"), "a/b", "a/b"),
    "judge_temperature": Example(("--judge-temperature", "1"), 1, 1.0),
    "judge_max_tokens": Example(("--judge-max-tokens", "900"), 900, 900),
    "judge_effort": Example(("--judge-effort", "low"), "low", "low"),
    "judge_params": Example(("--judge-param", "top_p=0.5"), {"top_p": 0.5}, {"top_p": 0.5}),
    "judge_repeats": Example(("--judge-repeats", "3"), 3, 3),
    "judge_system_prompt": Example(("--judge-system-prompt", "j.txt"), "j.txt", Path("j.txt")),
    "allow_mock_judge": Example(("--allow-mock-judge",), python=True, value=True),
    "rubric": Example(("--rubric", "none"), "none", None),
    "metrics": Example(
        ("--metrics", "length,is_json", "--metrics", "regex(pattern=a,b)"),
        ["length,is_json", "regex(pattern=a,b)"],
        ("length,is_json", "regex(pattern=a,b)"),
    ),
    "metrics_file": Example(("--metrics-file", "m.yaml"), Path("m.yaml"), Path("m.yaml")),
    "reducers": Example(("--reducers", "pass@2, majority"), ["pass@2", "majority"], ("pass@2", "majority")),
    "fail_under": Example(("--fail-under", "a=4", "--fail-under", "b=.5"), {"a": 4, "b": 0.5}, {"a": 4.0, "b": 0.5}),
    "fail_over": Example(("--fail-over", "a=0.5, b=1"), {"a": 0.5, "b": 1}, {"a": 0.5, "b": 1.0}),
    "num_samples": Example(("-n", "7"), 7, 7),
    "case_ids": Example(("--case-ids", "a, b"), ("a", "b"), ("a", "b")),
    "where": Example(("--where", "a=b,c", "--where", "d>1"), ["a=b,c", "d>1"], ("a=b,c", "d>1")),
    "max_cases": Example(("--max-cases", "2"), 2, 2),
    "only": Example(("--only", "flaky"), "flaky", "flaky"),
    "of": Example(("--of", "2d65"), "2d65", "2d65"),
    "output_dir": Example(("-o", "out"), Path("out"), Path("out")),
    "reuse": Example(("--reuse",), python=True, value=True),
    "run_note": Example(("--run-note", "x"), "x", "x"),
    "tags": Example(("--tag", "a=b=c", "--tag", "d="), {"a": "b=c", "d": ""}, {"a": "b=c", "d": ""}),
    "max_concurrency": Example(("-j", "4"), 4, 4),
    "max_cost": Example(("--max-cost", "0.5"), 0.5, 0.5),
    "assume_price": Example(("--assume-price", "2.5/10"), "2.5/10", "2.5/10"),
    "max_calls": Example(("--max-calls", "4"), 4, 4),
    "engine": Example(("--engine", "ray"), "ray", "ray"),
    "ray_address": Example(("--ray-address", "10.0.0.1:6379"), "10.0.0.1:6379", "10.0.0.1:6379"),
    "ray_workers": Example(("--ray-workers", "8"), 8, 8),
    "ray_gpus": Example(("--ray-gpus", "0.5"), 0.5, 0.5),
}
IN_PYTHON = [name for name, example in EXAMPLES.items() if example.python is not None]


def told(name: str, settings: Settings, given: dict[str, Any]) -> Any:
    """What the run is told in the end."""
    return getattr(run_limits(settings) if name in LIMITS else evaluate_options(settings, given), name)


def expected(name: str, folder: Path) -> Any:
    value = EXAMPLES[name].value
    return folder / value if isinstance(value, Path) and OPTIONS[name].setting else value


def test_there_is_an_example_of_every_option() -> None:
    assert set(EXAMPLES) == set(EVERY)


@each("name", EXAMPLES)
def test_a_flag_reaches_the_run(name: str, tmp_path: Path) -> None:
    given = parsed(*EXAMPLES[name].flags)

    assert told(name, load_settings(None, flags_of(given), {}, tmp_path), given) == expected(name, tmp_path)


@each(("name", "how"), product(IN_PYTHON, ["keyword", "name of the flag"]))
def test_a_keyword_reaches_the_run(name: str, how: str, tmp_path: Path) -> None:
    word = EVERY[name].keyword if how == "keyword" else name
    given = given_options({word: EXAMPLES[name].python})

    assert told(name, load_settings(None, flags_of(given), {}, tmp_path), given) == expected(name, tmp_path)


def test_what_nobody_says_is_what_is_declared(tmp_path: Path) -> None:
    found = evaluate_options(load_settings(None, {}, {}, tmp_path), parsed())

    assert found == EvaluateOptions(output_dir=tmp_path / "runs")


def test_python_shows_every_option_in_the_signature_and_the_docstring() -> None:
    parameters = inspect.signature(evaluate).parameters

    assert set(parameters) - {"workspace"} == {option.keyword for option in EVERY.values()}
    assert list(parameters)[:3] == ["dataset", "target", "system_prompt"]
    assert parameters["samples"].default == 5
    assert parameters["samples"].annotation is int
    for declared in EVERY.values():
        assert f"    {declared.keyword}: " in (inspect.getdoc(evaluate) or "")


def test_what_a_resumed_run_keeps_is_a_part_of_its_plan() -> None:
    kept = {option.kept_in for option in EVERY.values() if option.kept_in}
    of_target = {name.split(".")[1] for name in kept if name.startswith("target.")}
    of_judge = {name.removeprefix("judge.") for name in kept if name.startswith("judge.")}
    own = {name for name in kept if "." not in name}

    assert own <= set(RunPlan.__struct_fields__)
    found_out = {"left_out", "ignored"}
    assert of_target == set(Target.__struct_fields__) - {"identity", "context_template", "attempts"} - found_out
    assert of_judge == set(JudgeConfig.__struct_fields__) - {"identity", "seed", "strict_params"} - found_out
    assert not kept & {"fail_under", "fail_over"}
    assert not {option.kept_in for option in LIMITS.values()} - {None}


@pytest.mark.parametrize("command", [evaluate_dataset_command, run_command, score_command])
def test_no_two_flags_of_a_command_are_the_same(command: click.Command) -> None:
    flags = [flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)]

    assert len(flags) == len(set(flags))


@each(
    ("arguments", "flag"),
    [
        (("--param", "top_p"), "--param"),
        (("--param", "=1"), "--param"),
        (("--param", f"a={'[' * 100_000}"), "--param"),
        (("--tag", "=docs"), "--tag"),
        (("--tag", "good one"), "--tag"),
    ],
)
def test_a_flag_that_cannot_be_right_is_refused_by_its_name(arguments: tuple[str, ...], flag: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        parsed(*arguments)

    assert flag in caught.value.format_message()


@each(
    ("text", "value"),
    [("1", 1), ("true", True), ("null", None), ('"1"', "1"), ("low", "low"), ("", ""), ("{1", "{1"), ("NaN", "NaN")],
)
def test_a_parameter_is_json_where_it_is_json_and_else_text(text: str, value: object) -> None:
    assert parsed("--param", f"x={text}")["params"] == {"x": value}


def test_a_flag_can_switch_off_what_a_setting_switches_on(tmp_path: Path) -> None:
    (tmp_path / "prompt_evaluator.yaml").write_text("generator: {render_prompt: true}\n")
    given = parsed("--no-render-prompt")

    assert evaluate_options(load_settings(None, {}, {}, tmp_path), {}).render_prompt
    assert not evaluate_options(load_settings(None, flags_of(given), {}, tmp_path), given).render_prompt


def test_parameters_of_the_file_the_environment_and_the_flags_are_merged_key_by_key(tmp_path: Path) -> None:
    (tmp_path / "prompt_evaluator.yaml").write_text("generator:\n  params: {a: 1, b: 1, c: 1}\n")
    environment = {"PROMPT_EVALUATOR_GENERATOR_PARAMS": '{"b": 2, "c": 2}'}
    given = parsed("--param", "c=3", "--param", "d=3")

    settings = load_settings(None, flags_of(given), environment, tmp_path)

    assert evaluate_options(settings, given).params == {"a": 1, "b": 2, "c": 3, "d": 3}
    origins = "--param and PROMPT_EVALUATOR_GENERATOR_PARAMS and prompt_evaluator.yaml, line 2"
    assert settings.origin("generator.params") == origins


def test_a_path_that_starts_with_a_dot_is_no_short_name(tmp_path: Path) -> None:
    (tmp_path / "prompt_evaluator.yaml").write_text(
        "dataset_paths: {support: data.yaml}\nprompt_templates: {strict: p.txt}\n"
    )
    given = parsed("-d", "./support", "--judge-system-prompt", "./strict")
    options = evaluate_options(load_settings(None, flags_of(given), {}, tmp_path), given)

    assert options.dataset == Path("support")
    assert options.judge_system_prompt == tmp_path / "strict"


@each(
    ("keywords", "sentence"),
    [
        ({"sampels": 3}, "There is no option 'sampels'. Did you mean 'samples'?"),
        ({"samples": 3, "num_samples": 3}, "samples and num_samples are the same option. Give one of them."),
        ({"samples": 0}, "samples has to be a whole number from 1 to 10,000, not the number 0."),
        ({"case_ids": "a,b"}, "case_ids has to be a list of texts, not the text 'a,b'."),
        ({"reuse": 1}, "reuse has to be true or false, not the number 1."),
        (
            {"fail_under": {"a": float("nan")}},
            "fail_under has to be a mapping of names to numbers from -1,000,000,000 to 1,000,000,000, not one with",
        ),
        ({"fail_over": {"a": 1.1}}, "fail_over has to be a mapping of names to numbers from 0 to 1, not one with"),
        ({"params": {"a": object()}}, "params has to be a mapping of names to JSON values"),
        ({"params": {"a": [float("nan")]}}, "params has to be a mapping of names to JSON values"),
        ({"params": {"a": {"b": float("-inf")}}}, "params has to be a mapping of names to JSON values"),
        ({"judge": object()}, "judge has to be a non-empty text, not a value of the type object."),
    ],
)
def test_a_keyword_that_cannot_be_right_is_refused_by_its_name(keywords: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        given_options(keywords)

    assert str(caught.value).startswith(sentence)


def test_none_is_not_given_but_for_the_rubric() -> None:
    assert given_options(dict.fromkeys(("samples", "judge", "tags", "max_calls"))) == {}
    assert given_options({"rubric": None}) == {"rubric": "none"}


def test_a_command_can_say_otherwise_about_an_option() -> None:
    @click.command()
    @option("num_samples", default=1, help="Samples per task.")
    @option("judge_model", otherwise="the run's own")
    def command(**_given: Any) -> None: ...

    text = " ".join(command.get_help(click.Context(command)).split())

    assert "Samples per task. [default: 1; 1<=x<=10000]" in text
    assert "[default: the run's own]" in text


def test_structured_settings_are_shown_as_json(offline: Workspace) -> None:
    offline.configure(generator={"params": {"top_p": 0.5}}, metrics="length")

    shown = offline.run("config", "show").words

    assert 'generator.params {"top_p":0.5} prompt_evaluator.yaml, line 2' in shown
    assert "generator.render_prompt false built-in" in shown
    assert 'metrics ["length"] prompt_evaluator.yaml, line 4' in shown


def parsed(*arguments: str) -> dict[str, Any]:
    """What `evaluate-dataset` makes of its arguments, with one prompt and one model."""
    found = evaluate_dataset_command.make_context("evaluate-dataset", list(arguments)).params
    one = {name: found[name][0] for name in ("system_prompt", "generator_model") if found[name]}
    return {**found, **one}


def options_of(command: click.Command, name: str = "") -> list[tuple[str, click.Option]]:
    """Every option of a command and of those below it, with the command's name."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        below = [(each, command.get_command(context, each)) for each in command.list_commands(context)]
        return [found for each, sub in below if sub for found in options_of(sub, f"{name} {each}".strip())]
    return [(name, parameter) for parameter in command.params if isinstance(parameter, click.Option)]


def test_every_option_of_several_values_says_so_in_the_same_words() -> None:
    several = [(name, flag) for name, flag in options_of(cli) if flag.multiple]

    named = {flag.opts[0] for _, flag in several}
    assert {"--model", "--dataset", "--metrics", "--case-ids", "--where", "--tag", "--param", "--reducers"} <= named
    for name, flag in several:
        words = REPEATED if isinstance(flag.type, click.Path) else SEVERAL
        assert words in (flag.help or ""), f"{name} {flag.opts[0]}"
    for name, flag in options_of(cli):
        assert flag.multiple or "comma" not in (flag.help or ""), f"{name} {flag.opts[0]}"


@each(
    ("together", "apart", "name"),
    [
        (("--case-ids", "a,b"), ("--case-ids", "a", "--case-ids", "b"), "case_ids"),
        (("--reducers", "pass@2,majority"), ("--reducers", "pass@2", "--reducers", "majority"), "reducers"),
        (("--where", "a=b,c>1"), ("--where", "a=b", "--where", "c>1"), "where"),
        (("--tag", "a=b,c=d"), ("--tag", "a=b", "--tag", "c=d"), "tags"),
        (("--fail-under", "a=4,b=.5"), ("--fail-under", "a=4", "--fail-under", "b=.5"), "fail_under"),
        (("--param", 'x=[1,2],y="a,z=1"'), ("--param", "x=[1,2]", "--param", 'y="a,z=1"'), "params"),
    ],
)
def test_values_are_repeated_or_separated_by_commas_alike(
    together: tuple[str, ...], apart: tuple[str, ...], name: str
) -> None:
    assert parsed(*together)[name] == parsed(*apart)[name]
    assert len(parsed(*together)[name]) == 2


@each(
    ("arguments", "name", "value"),
    [
        (("--where", "city=Paris, France"), "where", ("city=Paris, France",)),
        (("--tag", "note=slow, but fine"), "tags", {"note": "slow, but fine"}),
        (("--tag", '"note=a, b=c"'), "tags", {"note": "a, b=c"}),
        (("--tag", "candidate,night", "--tag", "team=docs,web"), "tags", TAGS),
        (("--case-ids", '"a,b",c'), "case_ids", ("a,b", "c")),
    ],
)
def test_a_value_that_has_a_comma_is_not_broken(arguments: tuple[str, ...], name: str, value: object) -> None:
    assert parsed(*arguments)[name] == value


@pytest.mark.parametrize("arguments", [("--case-ids", ","), ("--reducers", ""), ("--metrics", " ")])
def test_an_option_of_several_values_needs_one(arguments: tuple[str, ...]) -> None:
    with pytest.raises(click.BadParameter, match="name at least one"):
        parsed(*arguments)


def test_models_are_separated_by_commas_and_prompts_are_not() -> None:
    context = evaluate_dataset_command.make_context(
        "evaluate-dataset",
        ["-s", "a,b.txt", "-s", "c.txt", "--generator-model", 'a/b,"c/d,e"', "--generator-model", "f/g"],
    )

    assert context.params["system_prompt"] == ("a,b.txt", "c.txt")
    assert context.params["generator_model"] == ("a/b", "c/d,e", "f/g")


def test_the_command_of_a_pairwise_comparison_is_kept_as_it_was_typed() -> None:
    typed = ["compare", "tag:branch=main", "it's", "--show", "--pairwise", "--judge-model", "a/b"]
    root = cli.make_context("prompt-evaluator", list(typed))

    found = typed_command(compare_command.make_context("compare", typed[1:], parent=root))

    assert found.arguments == ("tag:branch=main", "it's")
    assert found.options == (("--pairwise",), ("--judge-model", "a/b"))
