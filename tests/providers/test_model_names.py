"""What `openai/gpt-4o` means, and who answers to the name before the slash."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from entries import each

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.providers.catalogue import BUILT_IN, KINDS, parse_model_name

if TYPE_CHECKING:
    from pathlib import Path

PROVIDERS = [*BUILT_IN, "openrouter"]


@each(
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


def test_a_name_is_written_as_it_is_read() -> None:
    texts = ["openai/gpt-4o", "openrouter/meta/llama-3:free", "python:package.module:function", "command:./agent -x"]

    assert [str(parse_model_name(text, PROVIDERS)) for text in texts] == texts


@each("text", ["openai", "openai/", "openai:", "openai/  ", "python:", "command:"])
def test_a_provider_without_a_model_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ConfigurationError, match="names only a provider"):
        parse_model_name(text, PROVIDERS)


@each(
    ("text", "said"),
    [
        ("opnai/gpt-4o", r"Did you mean 'openai'\?"),
        ("OpenAI/gpt-4o", r"Did you mean 'openai'\?"),
        ("antropic:claude", r"Did you mean 'anthropic'\?"),
        ("gpt-4o", r"Did you mean 'openai/gpt-4o'\?"),
        ("claude-sonnet-4-0", r"Did you mean 'anthropic/claude-sonnet-4-0'\?"),
        ("o3", "openai/o3"),
        *((text, "Known: .*openai") for text in ("", "/", ":", "/gpt-4o", "zzzzzz/model", "zzzzzz")),
    ],
)
def test_an_unknown_name_suggests_the_nearest_or_lists_the_known_ones(text: str, said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        parse_model_name(text, PROVIDERS)


def test_every_built_in_provider_is_of_a_kind_that_can_be_loaded() -> None:
    assert all(callable(KINDS.get(settings.kind)) for settings in BUILT_IN.values())


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
    """What the code prints, in a process that finds the plug-ins; an error is printed as it is said."""
    start = "import sys\nfrom prompt_evaluator.errors import PromptEvaluatorError\n"
    catalogue = "from prompt_evaluator.providers.catalogue import KINDS\n"
    tried = f"try:\n    {code}\nexcept PromptEvaluatorError as error:\n    print(error)"
    environment = {**os.environ, "PYTHONPATH": str(plugins)}
    done = subprocess.run(
        [sys.executable, "-c", start + catalogue + tried],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_listing_the_kinds_imports_none_of_them(plugins: Path) -> None:
    heavy = {"a_plugin", "aiohttp", "prompt_evaluator.providers.service"}
    code = f"print(*KINDS.names()); print({heavy} & set(sys.modules))"

    names, imported = run(code, plugins).splitlines()

    assert {"acme", "broken", "openai", "mock"} <= set(names.split())
    assert imported == "set()"


@each(
    ("code", "said"),
    [
        ("print(KINDS.get('acme')('x', None, None))", "^acme as x$"),
        ("print(KINDS.get('openai').__module__)", "^prompt_evaluator.providers.service$"),
        ("KINDS.get('broken')", "^The kind of provider plug-in 'broken' cannot be loaded.*absent"),
        ("KINDS.get('raises')", "^The kind of provider plug-in 'raises' cannot be loaded.*no licence"),
        ("KINDS.get('acmee')", "Did you mean 'acme'"),
    ],
)
def test_a_plugin_adds_a_kind_replaces_none_and_is_named_with_the_reason_when_it_cannot_be_loaded(
    code: str, said: str, plugins: Path
) -> None:
    assert re.search(said, run(code, plugins))
