"""What `openai/gpt-4o` means, and who answers to the name before the slash."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.providers.catalogue import BUILT_IN, KINDS, parse_model_name

if TYPE_CHECKING:
    from pathlib import Path

PROVIDERS = [*BUILT_IN, "openrouter"]


@pytest.mark.parametrize(
    ("text", "provider", "model"),
    [
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("openai:gpt-4o", "openai", "gpt-4o"),
        (" openai / gpt-4o ", "openai", "gpt-4o"),
        ("openrouter/meta/llama-3:free", "openrouter", "meta/llama-3:free"),
        ("openai/ft:gpt-4o:team::id", "openai", "ft:gpt-4o:team::id"),
        ("python:package.module:function", "python", "package.module:function"),
        ("command:./agent --file a/b:c", "command", "./agent --file a/b:c"),
        ("mock/default", "mock", "default"),
        ("mock", "mock", "default"),
        ("mock/", "mock", "default"),
        ("router", "router", "default"),
    ],
)
def test_a_name_is_a_provider_and_a_model(text: str, provider: str, model: str) -> None:
    assert parse_model_name(text, PROVIDERS) == (provider, model)


@pytest.mark.parametrize(
    "text", ["openai/gpt-4o", "openrouter/meta/llama-3:free", "python:package.module:function", "command:./agent -x"]
)
def test_a_name_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_model_name(text, PROVIDERS)) == text


@pytest.mark.parametrize("text", ["openai", "openai/", "openai:", "openai/  ", "python:", "command:"])
def test_a_provider_without_a_model_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ConfigurationError, match="names only a provider"):
        parse_model_name(text, PROVIDERS)


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("opnai/gpt-4o", "Did you mean 'openai'?"),
        ("OpenAI/gpt-4o", "Did you mean 'openai'?"),
        ("antropic:claude", "Did you mean 'anthropic'?"),
        ("gpt-4o", "Did you mean 'openai/gpt-4o'?"),
        ("claude-sonnet-4-0", "Did you mean 'anthropic/claude-sonnet-4-0'?"),
        ("o3", "openai/o3"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(text: str, suggestion: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        parse_model_name(text, PROVIDERS)

    assert suggestion in str(caught.value)


@pytest.mark.parametrize("text", ["", "/", ":", "/gpt-4o", "zzzzzz/model", "zzzzzz"])
def test_a_name_without_a_close_match_lists_the_known_ones(text: str) -> None:
    with pytest.raises(UnknownNameError, match=r"Known: .*openai"):
        parse_model_name(text, PROVIDERS)


def test_every_built_in_provider_is_of_a_kind_that_exists() -> None:
    assert {settings.kind for settings in BUILT_IN.values()} <= set(KINDS.names())


@pytest.mark.parametrize("kind", sorted({settings.kind for settings in BUILT_IN.values()}))
def test_every_built_in_kind_can_be_loaded(kind: str) -> None:
    assert callable(KINDS.get(kind))


def test_an_unknown_kind_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"no kind of provider 'opnai'\. Did you mean 'openai'"):
        KINDS.get("opnai")


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A folder with an installed distribution that adds providers."""
    info = tmp_path / "a_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: a-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[prompt_evaluator.providers]\n"
        "acme = a_plugin:build\nopenai = a_plugin:build\n"
        "broken = a_plugin:absent\nraises = a_plugin_that_raises:build\n"
    )
    (tmp_path / "a_plugin.py").write_text("def build(name, settings, calls): return f'acme as {name}'\n")
    (tmp_path / "a_plugin_that_raises.py").write_text("raise RuntimeError('no licence')\n")
    return tmp_path


def run(code: str, plugins: Path) -> str:
    start = "import sys\nfrom prompt_evaluator.providers.catalogue import KINDS\n"
    environment = {**os.environ, "PYTHONPATH": str(plugins)}
    done = subprocess.run(
        [sys.executable, "-c", start + code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_plugin_adds_a_kind_of_provider(plugins: Path) -> None:
    assert run("print(KINDS.get('acme')('x', None, None))", plugins) == "acme as x"


def test_listing_the_kinds_imports_none_of_them(plugins: Path) -> None:
    heavy = {"a_plugin", "aiohttp", "prompt_evaluator.providers.service"}
    code = f"print(*KINDS.names()); print({heavy} & set(sys.modules))"

    names, imported = run(code, plugins).splitlines()

    assert {"acme", "broken", "openai", "mock"} <= set(names.split())
    assert imported == "set()"


def test_a_plugin_does_not_replace_a_built_in_kind(plugins: Path) -> None:
    assert run("print(KINDS.get('openai').__module__)", plugins) == "prompt_evaluator.providers.service"


@pytest.mark.parametrize(("name", "why"), [("broken", "absent"), ("raises", "no licence")])
def test_a_plugin_that_cannot_be_loaded_is_named_with_the_reason(name: str, why: str, plugins: Path) -> None:
    code = f"""
from prompt_evaluator.errors import PluginError
try:
    KINDS.get({name!r})
except PluginError as error:
    print(error)
"""
    said = run(code, plugins)

    assert said.startswith(f"The kind of provider plug-in '{name}' cannot be loaded")
    assert why in said


def test_a_plugin_is_suggested_like_any_other_name(plugins: Path) -> None:
    code = """
from prompt_evaluator.errors import UnknownNameError
try:
    KINDS.get("acmee")
except UnknownNameError as error:
    print(error)
"""

    assert "Did you mean 'acme'?" in run(code, plugins)
