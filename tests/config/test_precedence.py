"""Every setting from every source: flags go over the environment, that over `.env`, the file, and what is built in."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from entries import each

from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.config.settings import SETTINGS, STORE, flags_of
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.declaration import FILE, FOLDER

SOURCES = ("flag", "environment", "dotenv", "file", "built-in")


class SourcedValue(NamedTuple):
    """What each source says; built in is what the documentation promises."""

    flag: Any
    environment: Any
    dotenv: Any
    file: Any
    built_in: Any


TABLE = {
    "generator.model": SourcedValue("openai/a", "openai/b", "openai/c", "openai/d", "mock/default"),
    "generator.temperature": SourcedValue(0.1, 0.2, 0.3, 0.4, 0.7),
    "generator.max_tokens": SourcedValue(10, 20, 30, 40, None),
    "generator.seed": SourcedValue(-1, 2, 3, 4, None),
    "generator.effort": SourcedValue("none", "low", "medium", "high", None),
    "strict_params": SourcedValue(flag=True, environment=False, dotenv=True, file=True, built_in=False),
    "generator.params": SourcedValue({"top_p": 0.1}, {"top_p": 0.2}, {"top_p": 0.3}, {"top_p": 0.4}, None),
    "generator.render_prompt": SourcedValue(flag=True, environment=False, dotenv=True, file=True, built_in=False),
    "judge.model": SourcedValue("openai/a", "openai/b", "openai/c", "openai/d", None),
    "judge.temperature": SourcedValue(0.1, 0.2, 0.3, 0.4, 0.0),
    "judge.effort": SourcedValue("none", "low", "medium", "high", None),
    "judge.max_tokens": SourcedValue(10, 20, 30, 40, None),
    "judge.params": SourcedValue({"top_p": 0.1}, {"top_p": 0.2}, {"top_p": 0.3}, {"top_p": 0.4}, None),
    "judge.repeats": SourcedValue(2, 3, 4, 5, 1),
    "judge.system_prompt": SourcedValue("a.txt", "b.txt", "c.txt", "d.txt", None),
    "rubric": SourcedValue("code-review", "content-quality", "mine", "yours", "default"),
    "metrics": SourcedValue(
        ("a,b",), "regex(pattern=a,b)", [{"metric": "length", "max_words": 3}], ["c", {"metric": "d"}], None
    ),
    "num_samples": SourcedValue(1, 2, 3, 4, 5),
    "output_dir": SourcedValue("a", "b", "c", "d", "runs"),
    "max_concurrency": SourcedValue(1, 2, 3, 4, None),
    "max_cost": SourcedValue(0.0, 0.5, 1.5, 2.0, None),
    "assume_price": SourcedValue("0/0", "2.5/10", "1/5", "0.1/0.4", None),
    "max_calls": SourcedValue(1, 2, 3, 4, None),
    "engine": SourcedValue("ray", "local", "ray", "ray", "local"),
    "ray_address": SourcedValue("a:1", "b:2", "c:3", "d:4", None),
    "ray_workers": SourcedValue(1, 2, 3, 4, None),
    "ray_gpus": SourcedValue(0.5, 1.0, 2.0, 3.0, None),
    "benchmark.datasets_dir": SourcedValue("a", "b", "c", "d", "benchmarks"),
    "store": SourcedValue("a.db", "postgresql://host/b", "c.db", "d.db", ".prompt_evaluator/store.db"),
    "server.host": SourcedValue("0.0.0.0", "10.0.0.1", "::1", "evals.test", "127.0.0.1"),
    "server.port": SourcedValue(0, 1, 65_535, 8_000, 8_080),
    "server.allowed_hosts": SourcedValue(("a.test",), "b.test", "b.test:8443", ["c.test"], None),
    "server.public_url": SourcedValue("https://a.test", "http://b.test:81", "https://c.test", "https://d.test", None),
    "server.runs_at_once": SourcedValue(1, 2, 4, 5, 3),
    "server.resume": SourcedValue("wait", "auto", "wait", "wait", "auto"),
    "server.max_samples": SourcedValue(1, 2, 3, 4, 100),
    "server.max_cases": SourcedValue(1, 2, 3, 4, None),
    "server.max_cost": SourcedValue(0.0, 0.5, 1.5, 2.0, None),
    "server.max_calls": SourcedValue(1, 2, 3, 4, None),
    "server.max_concurrency": SourcedValue(1, 2, 3, 4, None),
    "server.max_queued": SourcedValue(1, 2, 3, 4, 100),
}


def test_the_table_has_every_setting() -> None:
    assert set(TABLE) == set(SETTINGS)


@each(("name", "source"), product(TABLE, SOURCES))
def test_a_source_holds_over_all_below_it(name: str, source: str, tmp_path: Path) -> None:
    said, setting = TABLE[name], SETTINGS[name]
    home, here = tmp_path, tmp_path / "below"
    here.mkdir(exist_ok=True)
    speaking = SOURCES[SOURCES.index(source) :]
    in_file = yaml.safe_dump(_nested(name, said.file)) if "file" in speaking else ""
    (home / "prompt_evaluator.yaml").write_text(in_file)
    in_dotenv = f"# comment\n{setting.variable}={_written(said.dotenv)}\n" if "dotenv" in speaking else ""
    (here / ".env").write_text(in_dotenv)
    environment = {setting.variable: _written(said.environment)} if "environment" in speaking else {}
    flags = {name: said.flag} if "flag" in speaking else {}

    settings = load_settings(None, flags, environment, here)

    value = said[SOURCES.index(source)]
    base = home if source in ("file", "built-in") else here
    assert settings.value(name) == _placed(name, value, base)
    assert type(settings.value(name)) is type(_placed(name, value, base))
    assert (
        settings.origin(name)
        == {
            "flag": setting.flag or name,
            "environment": setting.variable,
            "dotenv": f"{setting.variable} in .env, line 2",
            "file": f"prompt_evaluator.yaml, line {name.count('.') + 1}",
            "built-in": "built-in",
        }[source]
    )


def _nested(name: str, value: Any) -> Any:
    group, _, last = name.rpartition(".")
    return {group: {last: value}} if group else {last: value}


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _placed(name: str, value: Any, base: Path) -> Any:
    if name in ("metrics", "server.allowed_hosts") and value is not None:
        return (value,) if isinstance(value, str) else tuple(value)
    is_path = SETTINGS[name].kind in (FILE, FOLDER, STORE) and value is not None and "://" not in value
    return base / value if is_path else value


@each(
    ("name", "text"),
    [
        ("num_samples", "many"),
        ("num_samples", "0"),
        ("num_samples", "2.5"),
        ("generator.temperature", "-1"),
        ("generator.temperature", "nan"),
        ("max_cost", "inf"),
        ("assume_price", "2.5"),
        ("judge.repeats", "true"),
        ("generator.render_prompt", "perhaps"),
        ("generator.params", "top_p=0.9"),
        ("generator.params", "[0.9]"),
        ("generator.params", '{"top_p": '),
    ],
)
def test_a_variable_that_cannot_be_right_is_refused_by_its_name(name: str, text: str, tmp_path: Path) -> None:
    variable = SETTINGS[name].variable

    with pytest.raises(ConfigurationError, match=rf"^{variable} has to be {SETTINGS[name].kind.words}, not"):
        load_settings(None, {}, {variable: text}, tmp_path)


def test_an_empty_variable_is_the_same_as_none(tmp_path: Path) -> None:
    settings = load_settings(
        None, {}, {"PROMPT_EVALUATOR_GENERATOR_MODEL": "", "PROMPT_EVALUATOR_CONFIG": ""}, tmp_path
    )

    assert settings.origin("generator.model") == "built-in"


def test_a_flag_that_was_not_given_says_nothing(tmp_path: Path) -> None:
    assert load_settings(None, {"num_samples": None}, {}, tmp_path).value("num_samples") == 5


def test_a_flag_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'num_samples'"):
        load_settings(None, {"num_sample": 3}, {}, tmp_path)


def test_parameters_of_a_command_become_settings_and_back(tmp_path: Path) -> None:
    given = {"judge_model": "openai/x", "temperature": 0.0, "seed": None, "dataset": "d", "output_dir": Path("out")}

    flags = flags_of(given)
    settings = load_settings(None, flags, {}, tmp_path)

    assert flags == {"judge.model": "openai/x", "generator.temperature": 0.0, "output_dir": Path("out")}
    assert settings.parameters()["judge_model"] == "openai/x"
    assert settings.parameters()["temperature"] == 0.0
    assert settings.parameters()["output_dir"] == tmp_path / "out"
    assert "dataset" not in settings.parameters()


def test_the_file_is_found_upwards_and_may_be_named(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    for folder, samples in ((tmp_path, 7), (tmp_path / "a", 8)):
        (folder / "prompt_evaluator.yaml").write_text(f"num_samples: {samples}\n")
    other = tmp_path / "other.yaml"
    other.write_text("num_samples: 9\n")

    assert load_settings(None, {}, {}, deep).value("num_samples") == 8
    assert load_settings(None, {}, {"PROMPT_EVALUATOR_CONFIG": "../../other.yaml"}, deep).value("num_samples") == 9
    named = load_settings(Path("../prompt_evaluator.yaml"), {}, {"PROMPT_EVALUATOR_CONFIG": str(other)}, deep)
    assert named.value("num_samples") == 8
    assert named.home == tmp_path / "a"
    assert named.store == tmp_path / "a" / ".prompt_evaluator" / "store.db"


def test_without_a_file_state_belongs_to_the_working_directory(tmp_path: Path) -> None:
    settings = load_settings(None, {}, {}, tmp_path)

    assert settings.path is None
    assert settings.home == tmp_path
