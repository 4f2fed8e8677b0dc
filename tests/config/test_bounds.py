"""Every number that a user can give has a bound, and every way in refuses what lies beyond it in a sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click
import pytest
import yaml
from bad_numbers import bad_values
from number_places import FIRST, flags, metric_kinds, numbers, options

from prompt_evaluator.app.planning.options import given_options
from prompt_evaluator.cli.main import cli
from prompt_evaluator.config.gates import read_policy
from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.config.settings import SETTINGS
from prompt_evaluator.errors import PromptEvaluatorError
from prompt_evaluator.metrics.options import with_options
from prompt_evaluator.metrics.rubrics import load_rubric
from prompt_evaluator.model import Criterion, ProviderSettings
from prompt_evaluator.model import bounds as declared
from prompt_evaluator.model.bounds import SCORE, SERVICE_PORT, Bound, as_given
from prompt_evaluator.model.gate import GatePolicy
from prompt_evaluator.providers.mock.provider import MockOptions, options_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import msgspec

    Give = Callable[[Any, Path], object]

BOUNDS = {name: bound for name, bound in vars(declared).items() if isinstance(bound, Bound)}


def ways_in() -> Iterator[tuple[str, Bound | None, Give]]:
    """The place that a refusal has to name, the bound, and how to give a value there."""
    for command, flag, bound in flags():
        yield flag, bound, _flag(command, flag)
    for keyword, bound in options():
        yield keyword, bound, _keyword(keyword)
    for field, bound in numbers(Criterion):
        yield field, bound, _rubric(field)
    for field, bound in numbers(MockOptions):
        yield field.replace("NAME", "timeout"), bound, _mock(field)
    for name, kind in metric_kinds().items():
        for option, bound in numbers(kind):
            yield f"{option!r} of the metric {name!r}", bound, _metric(kind, name, option)
    yield from _ways_of_files()


def _ways_of_files() -> Iterator[tuple[str, Bound | None, Give]]:
    for name, setting in SETTINGS.items():
        if setting.kind.bound:
            yield f"`{name}`", setting.kind.bound, _file(load_settings_of, "prompt_evaluator.yaml", name)
            yield setting.variable, setting.kind.bound, _variable(setting.variable)
    for field, bound in numbers(ProviderSettings):
        place = f"providers.x.{field}"
        yield f"`{place}`", bound, _file(load_settings_of, "prompt_evaluator.yaml", place)
    for field, bound in numbers(GatePolicy):
        place = field.replace("flag_margins", "flags")
        yield f"`{place}`", bound, _file(read_policy, "gates.yaml", place)


def _flag(command: tuple[str, ...], flag: str) -> Give:
    def give(value: Any, _folder: Path) -> None:
        found: click.Command = cli
        for name in command:
            assert isinstance(found, click.Group)
            subcommand = found.get_command(click.Context(found), name)
            assert subcommand
            found = subcommand
        found.make_context(command[-1], [f"{flag}={value}"])

    return give


def _variable(name: str) -> Give:
    return lambda value, folder: load_settings(None, {}, {name: str(value)}, folder)


def _keyword(name: str) -> Give:
    return lambda value, _folder: given_options({name: value})


def load_settings_of(path: Path) -> object:
    return load_settings(None, {}, {}, path.parent)


def _file(read: Callable[[Path], object], name: str, place: str) -> Give:
    def give(value: Any, folder: Path) -> None:
        data: Any = value
        for key in reversed(place.split(".")):
            data = [data] if key == FIRST else {key: data}
        if place.startswith("providers."):
            data["providers"]["x"]["kind"] = "mock"
        if ".prices." in place:
            data["providers"]["x"]["prices"]["NAME"] = {"input": 1, "output": 1} | data["providers"]["x"]["prices"][
                "NAME"
            ]
        path = folder / "beside variables" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
        read(path)

    return give


def _rubric(field: str) -> Give:
    def give(value: Any, folder: Path) -> None:
        entry = {"name": "tone", "description": "How kind?", field: value}
        (folder / "mine.yaml").write_text(yaml.safe_dump({"metrics": [entry]}), encoding="utf-8")
        load_rubric(str(folder / "mine.yaml"))

    return give


def _mock(option: str) -> Give:
    def give(value: Any, _folder: Path) -> None:
        given = {"faults": {"timeout": value}} if option == "faults.NAME" else {option: value}
        options_from(ProviderSettings(kind="mock", options=given))

    return give


def _metric(kind: type[msgspec.Struct], name: str, option: str) -> Give:
    return lambda value, _folder: with_options(kind, name, {option: value})


def test_every_way_in_refuses_a_number_out_of_bounds_with_its_place_and_its_bound(tmp_path: Path) -> None:
    wrong = []
    for place, bound, give in ways_in():
        assert bound, f"{place} has no bound"
        for why, value in bad_values(bound).items():
            try:
                give(value, tmp_path)
            except (PromptEvaluatorError, click.BadParameter) as error:
                text = error.format_message() if isinstance(error, click.BadParameter) else str(error)
                if error.exit_code == 2 and place in text and bound.words in text and len(text) < 600:
                    continue
                wrong.append((place, why, text[:300]))
            else:
                wrong.append((place, why, "taken"))

    assert not wrong


def test_the_ways_in_are_all_kinds_of_places() -> None:
    places = {place for place, _, _ in ways_in()}

    assert places >= {"--num-samples", "--judge-repeats", "`max_cost`", "PROMPT_EVALUATOR_MAX_COST", "max_cost"}
    assert places >= {"`providers.x.limits.try_timeout`", "`providers.x.prices.NAME.input`", "faults.timeout"}
    assert places >= {"`level`", "`guardrails.flags.NAME`", "pass_at", "'expected' of the metric 'numeric'"}


def test_both_ends_of_a_bound_are_included_and_nothing_beyond_them() -> None:
    assert BOUNDS
    for name, bound in BOUNDS.items():
        for end in (bound.least, bound.most):
            assert bound.read(end) == bound.read_text(repr(end)) == end, name
        for value in (*bad_values(bound).values(), math.nan, math.inf, 10**5_000, object()):
            with pytest.raises(ValueError, match=r"^$"):
                bound.read(value)
        for text in ("1_000", "1,000", "nan", "inf", "1e400", "true", "0x10", "\u0661", "1 2", "five", "9" * 5_000):
            with pytest.raises(ValueError, match=r"^$"):
                bound.read_text(text)


def test_zero_below_zero_is_zero_where_numbers_go_below_it() -> None:
    assert str(SCORE.read(-0.0)) == str(SCORE.read_text("-0.0")) == "0.0"


def test_a_number_that_python_cannot_write_is_described() -> None:
    assert as_given(10**5_000) == as_given(-(10**5_000)) == "a number of about 5,001 digits"


def test_a_port_that_no_service_has_is_refused_without_a_password(tmp_path: Path) -> None:
    for field, address in (
        ("base_url", "http://localhost:{}"),
        ("base_url", "https://[::1]:{}/v1?a=b"),
        ("base_url", "https://user:secret@localhost:{}/v1"),
        ("proxy", "localhost:{}"),
    ):
        give = _file(load_settings_of, "prompt_evaluator.yaml", f"providers.x.{field}")
        for port in ("0", "65536", "9" * 5_000):
            with pytest.raises(PromptEvaluatorError) as caught:
                give(address.format(port), tmp_path)

            assert f"The port in `providers.x.{field}` has to be {SERVICE_PORT.words}" in str(caught.value)
            assert "secret" not in str(caught.value)


def test_other_numbers_in_an_address_are_not_ports(tmp_path: Path) -> None:
    give = _file(load_settings_of, "prompt_evaluator.yaml", "providers.x.base_url")
    for address in ("http://localhost:1", "http://[::1]:65535/v1", "http://u:0@localhost", "http://a/b:0"):
        give(address, tmp_path)


def test_what_no_number_can_be_is_refused_with_its_line(tmp_path: Path) -> None:
    for where in ("num_samples: {}", "providers: {{x: {{kind: mock, limits: {{deadline: {}}}}}}}"):
        for text in (".nan", ".inf", "1e400", "9" * 5_000):
            (tmp_path / "prompt_evaluator.yaml").write_text(f"version: 1\n{where.format(text)}\n", encoding="utf-8")
            with pytest.raises(PromptEvaluatorError, match=r"prompt_evaluator\.yaml") as caught:
                load_settings(None, {}, {}, tmp_path)

            assert ":2" in str(caught.value) or "line 2" in str(caught.value)
            assert len(str(caught.value)) < 300
