"""Every number that a user can give has a bound, and every way in refuses what lies beyond it in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec
import pytest
import yaml
from bad_numbers import HUGE, bad_texts, bad_values, bad_values_of_python

import number_places
from prompt_evaluator.app.planning.options import given_options
from prompt_evaluator.cli.main import cli
from prompt_evaluator.config.gates import read_policy
from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.config.settings import SETTINGS
from prompt_evaluator.errors import ConfigurationError, InputError, PromptEvaluatorError
from prompt_evaluator.metrics.options import with_options
from prompt_evaluator.metrics.rubrics import load_rubric
from prompt_evaluator.model import Criterion, ProviderSettings
from prompt_evaluator.model.bounds import BOUNDS, SCORE, SERVICE_PORT, Bound, as_given
from prompt_evaluator.providers.mock.provider import MockOptions, options_from

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLAGS = list(number_places.flags())
BOUNDED_SETTINGS = {name: setting.kind.bound for name, setting in SETTINGS.items() if setting.kind.bound}
PROVIDER_FIELDS = dict(number_places.numbers(ProviderSettings))
MOCK_OPTIONS = dict(number_places.numbers(MockOptions))
POLICY_FIELDS = dict(number_places.policy_numbers())
RUBRIC_FIELDS = dict(number_places.numbers(Criterion))
METRIC_OPTIONS = {
    (name, option): bound
    for name, kind in number_places.metric_kinds().items()
    for option, bound in number_places.numbers(kind)
}


def known(bound: Bound | None) -> Bound:
    assert bound is not None
    return bound


def sentence_about(error: PromptEvaluatorError, bound: Bound, *places: str) -> bool:
    """Whether it is one short sentence with the place and the bound; what to do may follow."""
    text = str(error)
    return error.exit_code == 2 and bound.words in text and len(text) < 600 and all(place in text for place in places)


class TestTheTable:
    def test_every_place_that_takes_a_number_is_in_it(self) -> None:
        forgotten = [place.words for place in number_places.all_places() if place.bound is None]

        assert not forgotten

    def test_it_has_nothing_that_nobody_can_give(self) -> None:
        assert {place.bound for place in number_places.all_places()} == set(BOUNDS.values())

    def test_the_walk_finds_numbers_in_every_kind_of_place(self) -> None:
        assert {flag.flag for flag in FLAGS} >= {"--num-samples", "--limit", "--worst", "--max-cost", "--judge-repeats"}
        assert {"limits.try_timeout", "prices.NAME.input"} <= set(PROVIDER_FIELDS)
        assert {"faults.NAME", "latency_ms"} <= set(MOCK_OPTIONS)
        assert {"min_score", "max_score", "pass_at"} == set(RUBRIC_FIELDS)
        assert {"level", "metrics.NAME", "guardrails.flags.NAME", "case_minimum.NAME"} <= set(POLICY_FIELDS)
        assert {("python:module:function", "timeout"), ("numeric", "expected")} <= set(METRIC_OPTIONS)

    def test_a_number_without_a_bound_is_found(self) -> None:
        class Forgetful(msgspec.Struct):
            tries: dict[str, int | None]

        assert dict(number_places.numbers(Forgetful)) == {"tries.NAME": None}

    @pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)
    def test_both_ends_are_included_and_nothing_beyond_them(self, bound: Bound) -> None:
        for end in (bound.least, bound.most):
            assert bound.read(end) == bound.read_text(repr(end)) == end

        for value in bad_values_of_python(bound).values():
            with pytest.raises(ValueError, match=r"^$"):
                bound.read(value)
        for text in bad_texts(bound).values():
            with pytest.raises(ValueError, match=r"^$"):
                bound.read_text(text)

    @pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)
    def test_each_says_why_in_a_sentence(self, bound: Bound) -> None:
        assert bound.least < bound.most
        assert bound.why.endswith(".")

    def test_zero_below_zero_is_zero_where_numbers_go_below_it(self) -> None:
        assert str(SCORE.read(-0.0)) == str(SCORE.read_text("-0.0")) == "0.0"

    def test_a_number_that_python_cannot_write_is_described(self) -> None:
        assert as_given(HUGE) == "a number of about 5,001 digits"
        assert as_given(-HUGE) == "a number of about 5,001 digits"


def wrong_flags() -> Iterator[Any]:
    """Everything that can be wrong with one flag of each bound; of the others, one too large."""
    seen: set[Bound] = set()
    for command, flag, bound in FLAGS:
        texts = bad_texts(known(bound))
        for why in ["just above"] if bound in seen else texts:
            yield pytest.param(command, flag, bound, texts[why], id=f"{' '.join(command)} {flag} {why}")
        seen.add(known(bound))


@pytest.mark.parametrize(("command", "flag", "bound", "text"), list(wrong_flags()))
def test_a_flag_is_refused(command: tuple[str, ...], flag: str, bound: Bound, text: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        parse(command, f"{flag}={text}")

    message = caught.value.format_message()
    assert caught.value.exit_code == 2
    assert flag in message
    assert bound.words in message
    assert text[:40] in message
    assert len(message) < 300


def parse(command: tuple[str, ...], *arguments: str) -> None:
    found: click.Command = cli
    for name in command:
        assert isinstance(found, click.Group)
        found = known_command(found, name)
    found.make_context(command[-1], list(arguments))


def known_command(group: click.Group, name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert found
    return found


@pytest.mark.parametrize("text", ["1_000", "nan", "inf", "1e400", "1e308", "-1000000001", "four", ""])
def test_a_bar_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        parse(("evaluate-dataset",), "--fail-under", f"correct={text}")

    assert "--fail-under" in caught.value.format_message()
    assert SCORE.words in caught.value.format_message()


def test_a_bar_of_python_is_refused() -> None:
    for value in bad_values_of_python(SCORE).values():
        with pytest.raises(ConfigurationError, match=r"^fail_under has to be a mapping of names to numbers from"):
            given_options({"fail_under": {"correct": value}})


@pytest.mark.parametrize(("name", "bound"), BOUNDED_SETTINGS.items(), ids=BOUNDED_SETTINGS)
def test_a_setting_of_the_file_is_refused_with_its_line(name: str, bound: Bound, tmp_path: Path) -> None:
    group, _, last = name.rpartition(".")
    for value in bad_values(bound).values():
        problem = refused_file(tmp_path, {group: {last: value}} if group else {last: value})

        assert sentence_about(problem, bound, f"`{name}`", "prompt_evaluator.yaml")
        assert problem.line == (2 if group else 1)


@pytest.mark.parametrize(("name", "bound"), BOUNDED_SETTINGS.items(), ids=BOUNDED_SETTINGS)
def test_a_variable_is_refused_by_its_name(name: str, bound: Bound, tmp_path: Path) -> None:
    variable = SETTINGS[name].variable
    for text in bad_texts(bound).values():
        with pytest.raises(ConfigurationError) as caught:
            load_settings(None, {}, {variable: text}, tmp_path)

        assert sentence_about(caught.value, bound, variable, text[:40])


@pytest.mark.parametrize(("keyword", "bound"), list(number_places.options()))
def test_a_keyword_of_python_is_refused(keyword: str, bound: Bound) -> None:
    for value in bad_values_of_python(bound).values():
        with pytest.raises(ConfigurationError) as caught:
            given_options({keyword: value})

        assert sentence_about(caught.value, bound, keyword)


@pytest.mark.parametrize(("field", "bound"), PROVIDER_FIELDS.items(), ids=PROVIDER_FIELDS)
def test_a_field_of_a_provider_is_refused_with_its_line(field: str, bound: Bound, tmp_path: Path) -> None:
    for value in bad_values(bound).values():
        entry: dict[str, Any] = {"kind": "mock"}
        if field.startswith("prices."):
            entry["prices"] = {"NAME": {"input": 1, "output": 1, field.rpartition(".")[2]: value}}
        else:
            group, _, last = field.rpartition(".")
            entry |= {group: {last: value}} if group else {last: value}

        problem = refused_file(tmp_path, {"providers": {"x": entry}})

        assert sentence_about(problem, bound, f"`providers.x.{field}`")
        assert problem.line is not None


@pytest.mark.parametrize("port", ["0", "00", "65536", "9" * 5_000], ids=lambda port: port[:6])
@pytest.mark.parametrize(
    ("field", "address"),
    [
        ("base_url", "http://localhost:{}"),
        ("base_url", "https://[::1]:{}/v1?a=b"),
        ("base_url", "https://user:secret@localhost:{}/v1"),
        ("proxy", "http://localhost:{}"),
        ("proxy", "localhost:{}"),
    ],
)
def test_a_port_that_no_service_has_is_refused_with_its_line(
    field: str, address: str, port: str, tmp_path: Path
) -> None:
    entry = {"kind": "openai", field: address.format(port)}

    problem = refused_file(tmp_path, {"providers": {"x": entry}})

    assert sentence_about(problem, SERVICE_PORT, f"The port in `providers.x.{field}`")
    assert problem.line == 4
    assert "secret" not in str(problem)


@pytest.mark.parametrize(
    "address",
    ["http://localhost:1", "http://[::1]:65535/v1", "http://u:0@localhost", "http://[fe80::1]/v1", "http://a/b:0"],
)
def test_other_numbers_in_an_address_are_not_ports(address: str, tmp_path: Path) -> None:
    entry = {"kind": "openai", "base_url": address}
    (tmp_path / "prompt_evaluator.yaml").write_text(yaml.safe_dump({"providers": {"x": entry}}), encoding="utf-8")

    assert load_settings(None, {}, {}, tmp_path).providers["x"].base_url == address


def refused_file(folder: Path, settings: dict[str, Any]) -> InputError:
    (folder / "prompt_evaluator.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_settings(None, {}, {}, folder)
    return caught.value


@pytest.mark.parametrize("text", [".nan", ".inf", "-.inf", "1e400", "9" * 5_000], ids=lambda text: text[:6])
@pytest.mark.parametrize("where", ["num_samples: {}", "providers: {{x: {{kind: mock, limits: {{deadline: {}}}}}}}"])
def test_what_no_number_can_be_is_refused_with_its_line(where: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "prompt_evaluator.yaml").write_text(f"version: 1\n{where.format(text)}\n", encoding="utf-8")

    with pytest.raises(InputError) as caught:
        load_settings(None, {}, {}, tmp_path)

    assert caught.value.line == 2
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("option", "bound"), MOCK_OPTIONS.items(), ids=MOCK_OPTIONS)
def test_an_option_of_the_mock_is_refused(option: str, bound: Bound) -> None:
    for value in bad_values_of_python(bound).values():
        options = {"faults": {"timeout": value}} if option == "faults.NAME" else {option: value}
        with pytest.raises(ConfigurationError) as caught:
            options_from(ProviderSettings(kind="mock", options=options))

        assert sentence_about(caught.value, bound, option.replace("NAME", "timeout"))


@pytest.mark.parametrize(("field", "bound"), RUBRIC_FIELDS.items(), ids=RUBRIC_FIELDS)
def test_a_field_of_a_rubric_is_refused_with_its_line(field: str, bound: Bound, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for value in bad_values(bound).values():
        entry = {"name": "tone", "description": "How kind?", field: value}
        path.write_text(yaml.safe_dump({"metrics": [entry]}, sort_keys=False), encoding="utf-8")

        with pytest.raises(InputError) as caught:
            load_rubric(str(path))

        assert sentence_about(caught.value, bound, field, "'tone'", "mine.yaml")
        assert caught.value.line == 2


@pytest.mark.parametrize(("field", "bound"), POLICY_FIELDS.items(), ids=POLICY_FIELDS)
def test_a_number_of_a_gate_is_refused_with_its_line(field: str, bound: Bound, tmp_path: Path) -> None:
    path = tmp_path / "gates.yaml"
    for value in bad_values(bound).values():
        data = value
        for key in reversed(field.split(".")):
            data = {key: data}
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")

        with pytest.raises(InputError) as caught:
            read_policy(path)

        assert sentence_about(caught.value, bound, f"`{field}`", "gates.yaml")
        assert caught.value.line is not None


@pytest.mark.parametrize(("use", "bound"), METRIC_OPTIONS.items(), ids=map(".".join, METRIC_OPTIONS))
def test_an_option_of_a_metric_is_refused(use: tuple[str, str], bound: Bound) -> None:
    name, option = use
    for value in bad_values_of_python(bound).values():
        with pytest.raises(ConfigurationError) as caught:
            with_options(number_places.metric_kinds()[name], name, {option: value})

        assert sentence_about(caught.value, bound, repr(option), repr(name))
