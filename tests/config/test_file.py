"""What the configuration file may say, and the sentence about what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest
from entries import each

from prompt_evaluator.config.loading import Settings, load_settings
from prompt_evaluator.errors import InputError, UnknownNameError
from prompt_evaluator.model import Limits, Price, ProviderSettings, Rule

OPENAI = ProviderSettings(kind="openai", base_url="https://openai.example", api_key_env="OPENAI_API_KEY")

WRONG = {
    "an unknown key": ("num_sample: 3", 1, "There is no setting `num_sample`", "Did you mean `num_samples`?"),
    "an unknown key of a group": (
        "judge:\n  model: a/b\n  temprature: 1",
        3,
        "`judge.temprature`",
        "Known here: effort, max_tokens, model",
    ),
    "a key like no other": ("zzz: 1", 1, "`zzz`", "Known here: assume_price, benchmark, dataset_paths, engine, "),
    "a dotted key": ("generator.model: a/b", 1, "written as one key", "Write `model:` below `generator:`"),
    "an unknown field of a provider": (
        "providers:\n  x:\n    kind: openai\n    base_urls: y",
        4,
        "`providers.x.base_urls`",
        "Known here: api, api_key_command, api_key_env",
    ),
    "an unknown limit": (
        "providers:\n  x:\n    kind: openai\n    limits:\n      max_try: 2\n",
        5,
        "`providers.x.limits.max_try`",
        "Known here: ",
    ),
    "an unknown field of a price": (
        "providers:\n  x:\n    kind: mock\n    prices:\n      m:\n        input: 1\n        ouput: 3\n",
        7,
        "`providers.x.prices.m.ouput`",
        "Known here: ",
    ),
    "an unfinished price": (
        "providers:\n  x:\n    kind: mock\n    prices:\n      m: {input: 1}\n",
        5,
        "`providers.x.prices.m` has no `output`",
        "",
    ),
    "no kind": ("providers:\n  x:\n    base_url: y", 2, "`providers.x` has no `kind`", "configure-providers"),
    "a key in the file": (
        "providers:\n  openai:\n    api_key: sk-canary",
        3,
        "keys do not belong in the file",
        "`api_key_env`",
    ),
    "a key in place of its variable": (
        "providers:\n  openai:\n    api_key_env: sk-canary",
        3,
        "is not the name of an environment variable",
        "OPENAI_API_KEY",
    ),
    "a key that could be a variable": (
        "providers:\n  openai:\n    api_key_env: gsk_canary0123456789abcdef",
        3,
        "is not the name of an environment variable",
        "OPENAI_API_KEY",
    ),
    "a text for a number": ("\nnum_samples: many", 2, "a whole number from 1 to 10,000, not the text 'many'", ""),
    "a number in quotes": ('num_samples: "3"', 1, "a whole number from 1 to 10,000, not the text '3'", ""),
    "too small a number": ("judge:\n  repeats: 0", 2, "`judge.repeats` has to be", "not the number 0"),
    "true for a number": ("max_calls: true", 1, "not true", ""),
    "a number for a text": ("rubric: 5", 1, "`rubric` has to be the name or path of a rubric", ""),
    "an empty text": ("generator: {model: ''}", 1, "`generator.model` has to be a non-empty text", ""),
    "a list for a group": ("generator: [a]", 1, "`generator` has to be a mapping, not a list", "model, temperature"),
    "a text for a group": ("generator: mock/default", 1, "`generator` has to be a mapping, not a text", "model"),
    "a text for the providers": ("providers: openai", 1, "`providers` has to be a mapping", ""),
    "a text for a provider": ("providers:\n  x: openai", 2, "`providers.x` has to be a mapping", ""),
    "a text for a limit": (
        "providers:\n  x:\n    kind: mock\n    limits: {max_tries: six}",
        4,
        "`providers.x.limits.max_tries` has to be a whole number from 1 to 100, not a text",
        "",
    ),
    "a limit of nothing": (
        "providers:\n  x:\n    kind: mock\n    limits:\n      max_concurrency: 0",
        5,
        "has to be a whole number from 1 to 10,000, not the number 0",
        "",
    ),
    "a negative price": (
        "providers:\n  x:\n    kind: mock\n    prices:\n      m: {input: -1, output: 1}",
        5,
        "has to be a number from 0 to 1,000,000, not the number -1",
        "",
    ),
    "another protocol": (
        "providers:\n  openai:\n    api: grpc",
        3,
        "`providers.openai.api` has to be chat or responses, not a text",
        "",
    ),
    "a text for rules": (
        "providers:\n  openai:\n    rules: none",
        3,
        "`providers.openai.rules` has to be a list, not a text",
        "",
    ),
    "an unknown part of a rule": (
        "providers:\n  openai:\n    rules: [{drip: [seed]}]",
        3,
        "There is no setting `providers.openai.rules.1.drip`",
        "drop",
    ),
    "a pattern that is none": (
        "providers:\n  openai:\n    rules: [{match: '('}]",
        3,
        "`providers.openai.rules.1.match` is not a regular expression",
        "",
    ),
    "a path that is none": ("dataset_paths:\n  a: 3", 2, "`dataset_paths.a` has to be the path of a file", ""),
    "a path that is empty": ("rubrics:\n  a:", 2, "`rubrics.a` has to be the path of a file, not empty", ""),
    "another version": ("version: 2", 1, "`version` has to be 1, not the number 2", "Another version"),
    "a list": ("- a", None, "The configuration is not a mapping", "name: value"),
    "a key twice": ("rubric: a\nrubric: b", 2, "appears twice", ""),
    "no YAML": ("rubric: [a", 2, "Invalid YAML", ""),
}


def load(folder: Path, text: str) -> Settings:
    (folder / "prompt_evaluator.yaml").write_text(text, encoding="utf-8")
    return load_settings(None, {}, {}, folder, {"openai": OPENAI})


@each(("text", "line", "what", "advice"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_with_its_line(
    text: str, line: int | None, what: str, advice: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)

    assert what in str(caught.value)
    assert advice in str(caught.value)
    assert caught.value.line == line
    assert "prompt_evaluator.yaml" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_lines_are_those_of_an_editor_also_after_an_unusual_character(tmp_path: Path) -> None:
    settings = load(tmp_path, 'store: "a\u2028b"\nnum_samples: 3\n')

    assert settings.origin("num_samples") == "prompt_evaluator.yaml, line 2"


@pytest.mark.parametrize("text", ["", "# only a comment\n", "generator:\njudge: {}\nproviders:\nnum_samples:\n"])
def test_what_is_left_empty_is_built_in(text: str, tmp_path: Path) -> None:
    settings = load(tmp_path, text)

    assert settings.value("num_samples") == 5
    assert settings.origin("generator.model") == "built-in"
    assert settings.providers == {}


def test_an_entry_without_kind_changes_what_is_built_in(tmp_path: Path) -> None:
    text = "providers:\n  openai:\n    limits: {max_tries: 2}\n    prices: {m: {input: 1, output: 2}}\n"

    changed = load(tmp_path, text).providers["openai"]

    assert changed.base_url == OPENAI.base_url
    assert changed.api_key_env == "OPENAI_API_KEY"
    assert changed.limits == Limits(max_tries=2)
    assert changed.prices == {"m": Price(input=1, output=2)}


def test_rules_and_a_protocol_are_read(tmp_path: Path) -> None:
    rules = "[{match: thinker-.*, drop: [seed], thinks: always}, {cap: {max_tokens: 8192}}]"
    found = load(tmp_path, f"providers:\n  openai:\n    api: chat\n    rules: {rules}\n").providers["openai"]

    assert found.api == "chat"
    assert found.rules == (Rule(match="thinker-.*", drop=("seed",), thinks="always"), Rule(cap={"max_tokens": 8192}))


def test_an_entry_with_kind_stands_alone(tmp_path: Path) -> None:
    alone = load(tmp_path, "providers:\n  openai:\n    kind: mock\n    options: {quality: null}\n").providers["openai"]

    assert alone == ProviderSettings(kind="mock", options={"quality": None})


def test_short_names_stand_for_paths_beside_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, "dataset_paths:\n  support: data/support.yaml\nrubrics: {mine: r.yaml}\nrubric: mine\n")

    assert settings.named("dataset_paths", "support") == tmp_path / "data" / "support.yaml"
    assert settings.named("dataset_paths", Path("other.yaml")) == Path("other.yaml")
    assert settings.rubrics == {"mine": str(tmp_path / "r.yaml")}
    assert settings.value("rubric") == str(tmp_path / "r.yaml")


def test_a_short_name_that_is_mistyped_is_refused_with_the_nearest(tmp_path: Path) -> None:
    settings = load(tmp_path, "dataset_paths: {support: a.yaml}\n")

    with pytest.raises(UnknownNameError, match=r"There is no dataset 'suport'\. Did you mean 'support'"):
        settings.named("dataset_paths", "suport")


def test_a_file_without_extension_is_no_mistyped_name(tmp_path: Path) -> None:
    (tmp_path / "prompt").write_text("x")
    settings = load(tmp_path, "prompt_templates: {system: a.txt}\n")

    assert settings.named("prompt_templates", "prompt") == Path("prompt")


def test_the_judges_prompt_may_be_a_short_name_and_the_rubric_a_path(tmp_path: Path) -> None:
    settings = load(
        tmp_path, "prompt_templates: {strict: p/strict.txt}\njudge: {system_prompt: strict}\nrubric: r/mine.yaml\n"
    )

    assert settings.value("judge.system_prompt") == tmp_path / "p" / "strict.txt"
    assert settings.value("rubric") == str(tmp_path / "r" / "mine.yaml")


def test_a_file_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_settings(Path("missing.yaml"), {}, {}, tmp_path)
