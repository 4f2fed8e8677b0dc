"""`config show` shows each setting and where it is set, and never a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from entries import each
from workspace import Workspace

from prompt_evaluator.config.settings import SETTINGS

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary-4f9a8b7c6d5e"
UNREAD = "canary-4-that-nothing-reads"


@pytest.fixture
def folder(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def full_of_secrets(tmp_path: Path) -> Workspace:
    """A folder where a secret stands everywhere one can."""
    environment = {
        "OPENAI_API_KEY": CANARY,
        "ANTHROPIC_BASE_URL": f"https://someone:{CANARY}@host/?key={CANARY}",
        "HTTPS_PROXY": f"http://someone:{CANARY}@proxy.test:3128",
        "PROMPT_EVALUATOR_STORE": f"postgresql://someone:{CANARY}@127.0.0.1:1/runs?sslpassword={CANARY}",
    }
    workspace = Workspace(tmp_path, environment)
    workspace.write(".env", f"LOCAL_KEY={CANARY}\n")
    workspace.write("key.txt", CANARY)
    workspace.configure(
        providers={
            "local": {
                "kind": "openai",
                "base_url": f"http://someone:{CANARY}@host/v1?code={CANARY}",
                "api_key_env": "LOCAL_KEY",
                "proxy": f"http://someone:{CANARY}@proxy.test:8080",
                "headers": {"X-Key": CANARY},
                "query": {"sig": CANARY},
                "options": {"token": CANARY},
            },
            "wrong": {"kind": "openai", "base_url": "http://host", "proxy": f"socks5://someone:{CANARY}@proxy.test"},
            "file": {"kind": "openai", "base_url": "http://host", "api_key_file": str(tmp_path / "key.txt")},
        },
        generator={"model": "local/m", "params": {"api_key": UNREAD, "more": [{"Authorization": UNREAD}]}},
    )
    return workspace


def test_every_setting_is_shown_with_its_origin(folder: Workspace) -> None:
    folder.configure(num_samples=3, dataset_paths={"d": "data.jsonl", "gone": "gone.yaml"})
    folder.environment["PROMPT_EVALUATOR_JUDGE_MODEL"] = "openai/x"

    done = folder.run("config", "show")

    lines = {
        line.split()[0]: line.split(maxsplit=2)[1:]
        for line in done.out.splitlines()
        if line.strip()
        if len(line.split()) > 2
    }
    assert set(SETTINGS) <= set(lines)
    assert lines["num_samples"][0] == "3"
    assert lines["num_samples"][1].strip() == "prompt_evaluator.yaml, line 4"
    assert lines["judge.model"][1].strip() == "PROMPT_EVALUATOR_JUDGE_MODEL"
    assert lines["judge.repeats"][1].strip() == "built-in"
    assert "gone.yaml (not found)" in done.out
    assert "data.jsonl (not found)" not in done.out


@each("arguments", [("config", "show"), ("doctor",), ("list", "rubrics"), ("list", "providers")], ids=" ".join)
@each("how", [(), ("--json",)], ids=["text", "json"])
def test_no_secret_is_shown(arguments: tuple[str, ...], how: tuple[str, ...], full_of_secrets: Workspace) -> None:
    done = full_of_secrets.run(*arguments, *how)

    assert CANARY not in done.out + done.err
    assert CANARY[:8] not in done.out + done.err
    if arguments != ("list", "rubrics"):
        assert "LOCAL_KEY" in done.out


def test_keys_are_present_or_missing(full_of_secrets: Workspace) -> None:
    providers = full_of_secrets.run("config", "show", "--json").json["providers"]

    found = {provider["name"]: (provider["key"], provider["key_present"]) for provider in providers}
    assert found["openai"] == ("OPENAI_API_KEY", True)
    assert found["anthropic"] == ("ANTHROPIC_API_KEY", False)
    assert found["local"] == ("LOCAL_KEY", True)
    assert found["file"] == (str(full_of_secrets.folder / "key.txt"), True)
    assert found["mock"] == (None, None)


def test_proxies_are_shown_with_who_names_them_and_without_their_login(full_of_secrets: Workspace) -> None:
    done = full_of_secrets.run("config", "show", "--json")

    proxies = {provider["name"]: provider["proxy"] for provider in done.json["providers"]}
    assert proxies["openai"] == "http://proxy.test:3128 (HTTPS_PROXY)"
    assert proxies["local"] == "http://proxy.test:8080 (`proxy` of provider 'local')"
    assert proxies["wrong"].startswith("unusable (the proxy 'socks5://…@proxy.test'")
    assert proxies["file"] is None
    assert proxies["mock"] is None
    assert proxies["router"] is None, "it has no address"
    assert "through the proxy http://proxy.test:8080" in full_of_secrets.run("doctor").out
    assert "proxy http://proxy.test:3128 (HTTPS_PROXY)" in full_of_secrets.run("list", "providers").out


def test_the_path_of_the_file(folder: Workspace) -> None:
    assert folder.run("config", "path").code == 1

    folder.configure(num_samples=3)

    assert folder.run("config", "path").out == f"{folder.folder}/prompt_evaluator.yaml\n"


def test_a_mistake_in_the_file_is_a_sentence(folder: Workspace) -> None:
    folder.configure(num_sample=3)

    done = folder.run("config", "show")

    assert done.code == 2
    assert done.out == ""
    assert "`num_sample`" in done.err
    assert "Did you mean `num_samples`?" in done.err


def test_the_schema_is_printed(folder: Workspace) -> None:
    assert folder.run("config", "schema").json["title"] == "prompt_evaluator.yaml"
